//! The lock said of a text that became an enum that no sample loads: the text of its sample was the name of no variant. Then
//! it called the change safe, although any other text breaks.

#![allow(clippy::unwrap_used, reason = "the helper is part of the tests")]

use std::collections::BTreeMap;

use persist::save::Registry;
use persist::{Persist, Record, SaveManager};
use persist_tools::lock::{Lock, LockReport, Values};

fn report<Then: Persist, Now: Persist>() -> LockReport {
    let registry = |register: &dyn Fn(&mut Registry) -> persist::Result<()>| {
        let mut registry = Registry::new();
        register(&mut registry).unwrap();
        registry
    };
    let mut lock = Lock::new();
    lock.update("0.1.0", &registry(&Registry::register::<Then>)).unwrap();
    lock.compare(&registry(&Registry::register::<Now>))
}

fn changes(report: &LockReport) -> Vec<&str> {
    report.differences().iter().map(|difference| &*difference.change).collect()
}

#[derive(Persist)]
#[persist(class = "Hero")]
struct OldHero {
    mood: String,
    moods: Vec<Option<String>>,
    days: BTreeMap<String, (u8, String)>,
}

#[derive(Persist, PartialEq, Eq, PartialOrd, Ord)]
enum Mood {
    Furious {
        since: u32,
    },
    Calm,
    #[persist(alias = "Sorrowful")]
    Sad,
}

#[derive(Persist)]
struct Hero {
    mood: Mood,
    moods: Vec<Option<Mood>>,
    days: BTreeMap<Mood, (u8, Mood)>,
}

#[test]
fn a_text_that_became_a_variant_breaks_and_its_condition_is_told() {
    let report = report::<OldHero, Hero>();
    assert!(!report.loads() && report.notes().is_empty(), "{report}");
    let condition = "; a text that is the name of no variant does not load: give the field a `convert` that takes every text";
    let told = changes(&report).into_iter().filter_map(|change| change.strip_suffix(condition));
    let told: Vec<_> = told.collect();
    assert_eq!(
        told,
        [
            "String became Mood",
            "Vec<Option<String>> became Vec<Option<Mood>>",
            "Map<String, (u8, String)> became Map<Mood, (u8, Mood)>",
        ]
    );
}

#[derive(Persist)]
#[persist(class = "Pet")]
struct OldPet {
    mood: String,
    level: u8,
}

#[derive(Persist)]
#[persist(version = 2, migrate(1 = rename))]
struct Pet {
    temper: Mood,
    level: u8,
}

fn rename(pet: &mut Record, _from: u32) {
    pet.rename("mood", "temper");
}

#[derive(Persist)]
#[persist(class = "Pet")]
struct SternPet {
    mood: Stern,
    level: u8,
}

#[derive(Persist)]
enum Stern {
    Never { since: u32 },
    Sleeping,
}

#[derive(Persist)]
#[persist(class = "Pet")]
struct LenientPet {
    mood: Lenient,
    level: u8,
}

#[derive(Persist)]
enum Lenient {
    Sleeping,
    #[persist(other)]
    Other,
}

#[test]
fn an_enum_that_takes_every_text_loses_some() {
    let report = report::<OldPet, LenientPet>();
    assert!(!report.loads(), "{report}");
    let change = "String became Lenient; old values become the `other` variant";
    assert!(changes(&report).iter().any(|found| found.starts_with(change)), "{report}");
}

#[test]
fn a_variant_with_fields_is_no_name() {
    // The samples themselves load.
    let report = report::<OldPet, SternPet>();
    assert_eq!(changes(&report).len(), 2, "{report}");
    assert!(changes(&report)[0].contains("the name of no variant"), "{report}");
}

#[test]
fn the_sample_of_the_lock_itself_is_of_any_text() {
    let mut registry = Registry::new();
    registry.register::<OldPet>().unwrap();
    let mut lock = Lock::new();
    lock.update("0.1.0", &registry).unwrap();
    let manager = SaveManager::new();
    manager.register::<OldPet>().unwrap();
    let loaded = manager.from_slice(&lock.sample("0.1.0", Values::Plain).unwrap()).unwrap();
    assert!(loaded.iter::<OldPet>().any(|pet| pet.borrow().mood == "a"));
}

#[test]
fn a_text_that_a_migration_renames_is_of_a_variant() {
    let report = report::<OldPet, Pet>();
    assert!(report.loads(), "{report}");
}
