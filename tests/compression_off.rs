//! A program without the features still knows what it is that it cannot read; with them it reads it.

use persist::ErrorKind;

#[test]
fn a_save_of_a_feature_that_is_off_says_which() {
    for (feature, is_on) in [("lz4", cfg!(feature = "lz4")), ("zstd", cfg!(feature = "zstd"))] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/compressed");
        let save = std::fs::read(format!("{folder}/{feature}.sav")).expect("a fixture");
        match persist::from_slice::<Vec<u16>>(&save) {
            Ok(numbers) => {
                assert!(is_on && numbers == (0..300).map(|i| i % 7).collect::<Vec<u16>>());
            }
            Err(error) => {
                assert!(!is_on, "{feature}: {error}");
                assert_eq!(error.kind(), ErrorKind::Unsupported);
                assert!(error.message().contains(&format!("the feature `{feature}`")), "{error}");
                assert!(error.offset().is_some());
                // What does not need it can be read.
                assert_eq!(persist::save::Header::read(&save).expect("a header").format, 1);
            }
        }
    }
}
