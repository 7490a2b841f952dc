//! The committed saves, byte for byte.

use persist::ErrorKind;
use persist_tests::support::fixture_types::{NAMES, load_and_save, make};
use persist_tools::Document;

/// The fixtures of the types that `fixture_types` has, in the order of their names there.
const OF_TYPES: [&[u8]; NAMES.len()] = [
    include_bytes!("../../fixtures/v1/players.sav"),
    include_bytes!("../../fixtures/v1/values.sav"),
    include_bytes!("../../fixtures/v1/graph.sav"),
    include_bytes!("../../fixtures/v1/pointers.sav"),
    include_bytes!("../../fixtures/v1/compact.sav"),
];

/// Those of older versions of types, and of a world in pages.
const OTHERS: [&[u8]; 6] = [
    include_bytes!("../../fixtures/evolution/v1.sav"),
    include_bytes!("../../fixtures/evolution/v2.sav"),
    include_bytes!("../../fixtures/evolution/v3.sav"),
    include_bytes!("../../fixtures/evolution/v4.sav"),
    include_bytes!("../../fixtures/evolution/v5.sav"),
    include_bytes!("../../fixtures/worlds/pages.sav"),
];

/// A `SystemTime` of a web page begins in 1970, and this fixture has one before.
fn lacks_times(name: &str) -> bool {
    cfg!(target_family = "wasm") && name == "values"
}

pub(crate) fn the_same_state_has_the_bytes_of_the_fixture() {
    for (name, bytes) in NAMES.into_iter().zip(OF_TYPES).filter(|(name, _)| !lacks_times(name)) {
        assert!(make(name) == bytes, "{name}");
    }
}

pub(crate) fn a_fixture_is_saved_as_its_bytes_again() {
    for (name, bytes) in NAMES.into_iter().zip(OF_TYPES) {
        match load_and_save(name, bytes) {
            Err(error) if lacks_times(name) => {
                assert_eq!(error.kind(), ErrorKind::InvalidValue, "{error}");
                assert_eq!(error.class(), Some("Values"), "{error}");
            }
            save => assert!(save.unwrap() == bytes, "{name}"),
        }
    }
}

pub(crate) fn tools_read_and_write_each_fixture() {
    for (number, bytes) in OF_TYPES.into_iter().chain(OTHERS).enumerate() {
        let document = Document::from_slice(bytes).unwrap();
        assert!(document.to_vec().unwrap() == bytes, "fixture {number}");
    }
}
