//! While one change of a class broke, the lock called others safe that no sample had shown.

#![allow(clippy::unwrap_used, reason = "the helper is part of the tests")]

use persist::Persist;
use persist::save::Registry;
use persist_tools::lock::{Lock, LockReport, Verdict};

mod then {
    #[derive(persist::Persist)]
    pub(super) struct Hero {
        level: u32,
        name: Option<String>,
        pet: Pet,
    }

    #[derive(persist::Persist)]
    pub(super) struct Pet {
        age: u32,
    }
}

mod now {
    #[derive(persist::Persist)]
    pub(super) struct Hero {
        level: u8,
        name: String,
        pet: Pet,
        #[persist(default)]
        mana: f32,
    }

    #[derive(persist::Persist)]
    pub(super) struct Pet {
        age: u8,
    }
}

mod mended {
    #[derive(persist::Persist)]
    pub(super) struct Hero {
        level: u8,
        name: Option<String>,
        pet: Pet,
        #[persist(default)]
        mana: f32,
    }

    #[derive(persist::Persist)]
    pub(super) struct Pet {
        age: u32,
    }
}

fn report<Then: Persist, Now: Persist>() -> LockReport {
    let mut then = Registry::new();
    then.register::<Then>().unwrap();
    let mut now = Registry::new();
    now.register::<Now>().unwrap();
    let mut lock = Lock::new();
    lock.update("0.1.0", &then).unwrap();
    lock.compare(&now)
}

fn verdicts(report: &LockReport) -> Vec<(Verdict, String)> {
    let differences = report.differences().iter();
    let name = |class: &str, field: Option<&str>| format!("{class}.{}", field.unwrap_or_default());
    differences.map(|found| (found.verdict, name(&found.class, found.field.as_deref()))).collect()
}

#[test]
fn a_change_that_no_sample_has_shown_is_untested() {
    let found = verdicts(&report::<then::Hero, now::Hero>());
    let untested = |field: &str| (Verdict::Untested, field.to_owned());
    let [worst, rest @ ..] = &found[..] else { panic!("{found:?}") };
    assert_eq!(*worst, (Verdict::Breaks, "Hero.name".to_owned()), "{found:?}");
    assert_eq!(rest, ["Hero.level", "Hero.mana", "Pet.age"].map(untested));
}

#[test]
fn what_was_untested_is_tested_when_the_rest_is_mended() {
    let found = verdicts(&report::<then::Hero, mended::Hero>());
    let [level, mana] = &found[..] else { panic!("{found:?}") };
    assert_eq!(*level, (Verdict::Breaks, "Hero.level".to_owned()));
    assert_eq!(*mana, (Verdict::Safe, "Hero.mana".to_owned()));
}
