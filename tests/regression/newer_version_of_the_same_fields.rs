//! A save of a newer version whose fields were the same was loaded as if it were the program's, also
//! under the strict policy.

use persist::save::{LoadEvent, LoadPolicy};
use persist::{ErrorKind, LoadOptions, Persist, Saves};

mod newer {
    #[derive(persist::Persist)]
    #[persist(class = "Purse", version = 2)]
    pub(super) struct Purse {
        pub(super) coins: u64,
    }
}

#[derive(Persist)]
struct Purse {
    coins: u64,
}

#[test]
fn a_newer_version_of_the_same_fields_is_noticed() {
    let save = persist::to_vec(&newer::Purse { coins: 200 }).unwrap();
    let saves = Saves::new();
    let purse = saves.from_slice::<Purse>(&save).unwrap();
    assert_eq!(purse.coins, 200);
    let [finding] = purse.report().rows() else { panic!("{}", purse.report()) };
    assert_eq!((finding.event, &*finding.class, finding.count), (LoadEvent::Newer, "Purse", 1));
    assert_eq!(finding.object.map(persist::ObjectId::get), Some(1));
    assert_eq!(finding.detail.as_deref(), Some("version 2 to 1"));

    let saves = saves.load_options(LoadOptions::new().policy(LoadPolicy::Strict));
    let error = saves.from_slice::<Purse>(&save).map(drop).unwrap_err();
    assert_eq!((error.kind(), error.class()), (ErrorKind::Refused, Some("Purse")));
}

#[derive(Persist)]
#[persist(class = "Purse")]
struct OldPurse {
    silver: u8,
}

#[test]
fn an_error_in_a_newer_version_says_so_first() {
    let save = persist::to_vec(&vec![newer::Purse { coins: 200 }]).unwrap();
    let error = persist::from_slice::<Vec<OldPurse>>(&save)
        .map(|purses| purses.iter().map(|purse| purse.silver).max())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingField);
    insta::assert_snapshot!("newer_version", error.to_string());
}
