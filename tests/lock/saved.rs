//! Saves against the locked versions.

use persist::Persist;
use persist::save::Registry;
use persist_tools::Document;
use persist_tools::lock::Lock;

versions! {
    locked {
        pub(super) struct Hero { pub name: String, pub hp: u32, pub mana: f32, pub size: Option<u64>, pub mood: Mood }
        pub(super) enum Mood { Calm }
        #[persist(version = 2)]
        pub(super) struct Item { pub name: String }
        pub(super) struct Tool { pub name: String }
        pub(super) struct Shape { pub name: String }
    }
    saved {
        pub(super) struct Root { pub hero: Hero, pub item: Item, pub tool: Tool, pub shape: Shape }
        pub(super) struct Hero { pub name: String, pub hp: u64, pub gone: u8, pub size: u64, pub mood: Mood }
        pub(super) enum Mood { Calm, Angry }
        pub(super) struct Item { pub name: String }
        #[persist(version = 2)]
        pub(super) struct Tool { pub name: String }
        pub(super) enum Shape { Round }
    }
}

fn lock() -> Lock {
    let mut registry = Registry::new();
    registry.register::<locked::Hero>().unwrap();
    registry.register::<locked::Item>().unwrap();
    registry.register::<locked::Tool>().unwrap();
    registry.register::<locked::Shape>().unwrap();
    let mut lock = Lock::new();
    lock.update("1.0.0", &registry).unwrap();
    lock
}

fn document<T: Persist>(value: &T) -> Document {
    Document::from_slice(&persist::to_vec(value).unwrap()).unwrap()
}

fn root() -> saved::Root {
    let name = String::from("Ada");
    saved::Root {
        hero: saved::Hero { name: name.clone(), hp: 3, gone: 1, size: 4, mood: saved::Mood::Angry },
        item: saved::Item { name: name.clone() },
        tool: saved::Tool { name },
        shape: saved::Shape::Round,
    }
}

#[test]
fn a_save_of_a_locked_version_is_found() {
    let hero =
        locked::Hero { name: "Ada".into(), hp: 3, mana: 0.5, size: None, mood: locked::Mood::Calm };
    let found = lock().check_save(&document(&hero));
    assert_eq!(found.versions, ["1.0.0"]);
    assert!(found.is_locked() && found.may_load());
    insta::assert_snapshot!(found, @"of version 1.0.0");
}

#[test]
fn what_differs_from_the_newest_version_is_listed() {
    let found = lock().check_save(&document(&root()));
    assert!(!found.is_locked() && !found.may_load(), "{found}");
    insta::assert_snapshot!(found);
}

#[test]
fn a_lock_without_versions_has_none() {
    let found = Lock::new().check_save(&document(&root()));
    insta::assert_snapshot!(found, @"of no locked version");
}

#[test]
fn a_save_without_classes_is_of_no_version() {
    let found = lock().check_save(&document(&vec![1_u8]));
    assert!(!found.is_locked() && found.may_load(), "{found}");
}
