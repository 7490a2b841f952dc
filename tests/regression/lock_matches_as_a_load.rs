//! The lock once paired fields by rules of its own: it told of another field than old saves gave. Now both ask
//! one function, which refuses a field that number and name say different things of.

#![allow(clippy::unwrap_used, reason = "the helper is part of the tests")]

use persist::Persist;
use persist_tests::support::registry;
use persist_tools::lock::Lock;

#[derive(Persist)]
#[persist(class = "Hero")]
struct OldHero {
    #[persist(id = 1)]
    rank: u32,
    title: String,
}

#[derive(Persist)]
struct Hero {
    #[persist(id = 1, alias = "title")]
    name: String,
}

#[test]
fn the_lock_refuses_the_fields_that_a_load_refuses() {
    let save = persist::to_vec(&OldHero { rank: 3, title: "Ada".into() }).unwrap();
    let error = persist::from_slice::<Hero>(&save).map(|hero| hero.name).unwrap_err();

    let mut lock = Lock::new();
    lock.update("0.1.0", &registry::<OldHero>()).unwrap();
    let report = lock.compare(&registry::<Hero>());
    assert!(!report.loads(), "{report}");
    let changes: Vec<_> = report.differences().iter().map(|found| &*found.change).collect();
    assert_eq!(changes[0], error.message());
}

mod named {
    #[derive(persist::Persist)]
    pub(super) struct Hero {
        #[persist(alias = "title")]
        pub(super) name: String,
    }
}

#[test]
fn the_lock_finds_the_stored_field_that_a_load_takes() {
    let save = persist::to_vec(&OldHero { rank: 3, title: "Ada".into() }).unwrap();
    assert_eq!(persist::from_slice::<named::Hero>(&save).unwrap().name, "Ada");

    let mut lock = Lock::new();
    lock.update("0.1.0", &registry::<OldHero>()).unwrap();
    let report = lock.compare(&registry::<named::Hero>());
    let changes: Vec<_> =
        report.differences().iter().map(|found| (found.field.as_deref(), &*found.change)).collect();
    let went = "the field went; its old values are kept as unknown with the object";
    assert_eq!(changes, [(Some("name"), "the field was title"), (Some("rank"), went)]);
}
