//! What a lock says of a program that has changed: each verdict, and that it is true.

#![allow(dead_code, reason = "the fields of old classes are there to be compared")]
#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

/// Versions of a program, each in a module of its own.
macro_rules! versions {
    ($($version:ident { $($item:item)* })*) => {
        $(mod $version {
            #![allow(unused_imports)]
            use super::*;
            $(#[derive(persist::Persist)] $item)*
        })*
    };
}

mod alarms;
mod branches;
mod changes;
mod check;
mod classes;
mod code;
mod components;
mod covered;
mod cures;
mod downgrades;
mod format;
mod hostile;
mod losses;
mod migrations;
mod places;
mod proposals;
mod random;
mod round_trips;
mod samples;
mod saved;
mod untested;

use persist::save::Registry;
use persist::{ErrorKind, Persist, SaveManager, Saves};
use persist_tests::support::registry;
use persist_tools::lock::{Difference, Lock, LockReport, Values, Verdict};

fn locked(registry: &Registry) -> Lock {
    let mut lock = Lock::new();
    lock.update("0.1.0", registry).unwrap();
    lock
}

/// What the lock of one class says of another.
fn report<Then: Persist, Now: Persist>() -> LockReport {
    locked(&registry::<Then>()).compare(&registry::<Now>())
}

/// The verdicts that are not safe, with what they are of.
fn bad(report: &LockReport) -> Vec<String> {
    let bad = report.differences().iter().filter(|found| found.verdict > Verdict::Untested);
    bad.map(|found| {
        let field = found.field.as_deref().map_or_else(String::new, |field| format!(".{field}"));
        format!("{}: {}{field}", found.verdict, found.class)
    })
    .collect()
}

/// A lock of one version for each registry.
fn lock_of(registries: &[Registry]) -> Lock {
    let mut lock = Lock::new();
    for (i, registry) in registries.iter().enumerate() {
        lock.update(&format!("0.{}.0", i + 1), registry).unwrap();
    }
    lock
}

/// The one difference that is known to be bad; the report says that saves do not load.
fn worst(report: &LockReport) -> &Difference {
    assert!(!report.loads() && !report.is_current(), "{report}");
    let mut worse =
        report.differences().iter().filter(|difference| difference.verdict > Verdict::Untested);
    let worst = worse.next().unwrap();
    assert!(worse.next().is_none(), "{report}");
    worst
}

/// What old saves say by themselves: the error of loading a plain sample.
fn load<Then: Persist, Now: Persist>() -> Result<(), ErrorKind> {
    let sample = locked(&registry::<Then>()).sample("0.1.0", Values::Plain).unwrap();
    let saves = Saves::new();
    saves.register::<Now>().unwrap();
    saves.from_slice::<SaveManager>(&sample).map(drop).map_err(|error| error.kind())
}

/// Versions of one class: `hero! { then { hp: u32 } }` makes a `then::Hero`.
macro_rules! heroes {
    ($($version:ident { $($body:tt)* })*) => {
        $(mod $version {
            #[allow(unused_imports)]
            use super::*;
            #[derive(persist::Persist)]
            pub(crate) struct Hero { $($body)* }
        })*
    };
}

heroes! {
    plain { hp: u32, name: String }
    reordered { name: String, hp: u32 }
    with_mana { hp: u32, name: String, mana: f32 }
    with_default { hp: u32, name: String, #[persist(default)] mana: f32 }
    without_name { hp: u32 }
    renamed { health: u32, name: String }
    with_alias { #[persist(alias = "hp")] health: u32, name: String }
    two_of_a_kind { hp: u32, mp: u32, name: String }
    one_of_them { power: u32, name: String }
    renamed_with_default { #[persist(default)] health: u32, name: String }
    other_kind { hp: Vec<String>, name: String }
    compact { name: String, #[persist(compact)] hp: u32 }
    compact_wider { name: String, #[persist(compact)] hp: u64 }
    compact_narrower { name: String, #[persist(compact)] hp: u16 }
    narrower { hp: u8, name: String }
    two_kinds { hp: Vec<String>, name: (u8, u8) }
}

#[test]
fn nothing_is_said_of_what_did_not_change() {
    let report = report::<plain::Hero, plain::Hero>();
    assert!(report.loads() && report.is_current());
    assert!(report.differences().is_empty() && report.notes().is_empty());
    assert_eq!(report.to_string(), "the saves of 1 locked version load, up to 0.1.0\n");
}

#[test]
fn safe_changes_are_told_and_pass() {
    let safe = [
        (report::<plain::Hero, reordered::Hero>(), "Hero: the order of the fields changed"),
        (
            report::<plain::Hero, with_default::Hero>(),
            "Hero.mana: the field came; old saves get its default",
        ),
        (
            report::<plain::Hero, without_name::Hero>(),
            "Hero.name: the field went; its old values are kept as unknown with the object",
        ),
        (report::<plain::Hero, with_alias::Hero>(), "Hero.health: the field was hp"),
    ];
    for (report, wanted) in safe {
        assert!(report.loads() && !report.is_current(), "{report}");
        let [only] = report.differences() else { panic!("{report}") };
        assert_eq!((only.verdict, only.versions.len()), (Verdict::Safe, 1));
        let field = only.field.as_ref().map_or_else(String::new, |field| format!(".{field}"));
        assert_eq!(format!("{}{field}: {}", only.class, only.change), wanted);
        assert!(report.to_string().contains("PERSIST_LOCK=update"));
    }
}

#[test]
fn a_default_that_hides_a_rename_is_told() {
    let report = report::<plain::Hero, renamed_with_default::Hero>();
    assert!(!report.loads());
    let worst = worst(&report);
    assert_eq!((worst.verdict, worst.field.as_deref()), (Verdict::Loses, Some("hp")));
    assert_eq!(worst.attribute.as_deref(), Some("#[persist(alias = \"hp\")]"));
    assert_eq!(worst.above.as_deref(), Some("health: u32"));
    // That it is locked does not bring the old values back.
    let mut lock = locked(&registry::<plain::Hero>());
    lock.update("0.2.0", &registry::<renamed_with_default::Hero>()).unwrap();
    assert!(!lock.compare(&registry::<renamed_with_default::Hero>()).loads());
}

#[test]
fn a_new_field_needs_a_default() {
    let report = report::<plain::Hero, with_mana::Hero>();
    let worst = worst(&report);
    assert_eq!((worst.verdict, &*worst.class), (Verdict::NeedsDefault, "Hero"));
    assert_eq!(worst.field.as_deref(), Some("mana"));
    assert_eq!(worst.attribute.as_deref(), Some("#[persist(default)]"));
    assert_eq!(worst.above.as_deref(), Some("mana: f32"));
    assert_eq!(load::<plain::Hero, with_mana::Hero>(), Err(ErrorKind::MissingField));
    assert_eq!(load::<plain::Hero, with_default::Hero>(), Ok(()));
}

#[test]
fn a_new_field_of_a_struct_with_a_default_is_safe() {
    mod with_type_default {
        #[derive(persist::Persist, Default)]
        #[persist(default)]
        pub(crate) struct Hero {
            hp: u32,
            name: String,
            mana: f32,
        }
    }

    let report = report::<plain::Hero, with_type_default::Hero>();
    assert!(report.loads() && bad(&report).is_empty(), "{report}");
    let [only] = report.differences() else { panic!("{report}") };
    assert_eq!((only.verdict, only.field.as_deref()), (Verdict::Safe, Some("mana")));
    assert_eq!(only.change, "the field came; old saves get its default");
    assert_eq!(load::<plain::Hero, with_type_default::Hero>(), Ok(()));
}

#[test]
fn a_renamed_field_needs_an_alias() {
    let report = report::<plain::Hero, renamed::Hero>();
    let worst = worst(&report);
    assert_eq!((worst.verdict, worst.field.as_deref()), (Verdict::NeedsAlias, Some("health")));
    assert_eq!(worst.attribute.as_deref(), Some("#[persist(alias = \"hp\")]"));
    assert_eq!(worst.above.as_deref(), Some("health: u32"));
    assert_eq!(load::<plain::Hero, renamed::Hero>(), Err(ErrorKind::MissingField));
    assert_eq!(load::<plain::Hero, with_alias::Hero>(), Ok(()));
}

#[test]
fn a_field_that_may_be_either_of_two_is_not_guessed() {
    let report = report::<two_of_a_kind::Hero, one_of_them::Hero>();
    let worst = worst(&report);
    assert_eq!(worst.verdict, Verdict::NeedsDefault);
    let question = "if it is what hp was, give it `#[persist(alias = \"hp\")]`; if it is what mp was, give it `#[persist(alias = \"mp\")]`, else a default, and `#[persist(removed = \"hp\", removed = \"mp\")]` on struct Hero";
    assert!(worst.change.ends_with(question), "{}", worst.change);
}

#[test]
fn a_number_that_got_smaller_is_not_safe() {
    let report = report::<plain::Hero, narrower::Hero>();
    let worst = worst(&report);
    assert_eq!((worst.verdict, worst.field.as_deref()), (Verdict::Breaks, Some("hp")));
}

#[test]
fn compact_numbers_and_plain_ones_load_as_each_other() {
    assert!(report::<plain::Hero, compact::Hero>().loads());
    assert!(report::<compact::Hero, plain::Hero>().loads());
    assert!(report::<compact::Hero, compact_wider::Hero>().loads());
    assert!(report::<plain::Hero, compact_wider::Hero>().loads());
    let report = report::<compact::Hero, compact_narrower::Hero>();
    let worst = worst(&report);
    assert_eq!((worst.verdict, worst.field.as_deref()), (Verdict::Breaks, Some("hp")));
    assert_eq!(load::<plain::Hero, compact::Hero>(), Ok(()));
    assert_eq!(load::<compact::Hero, plain::Hero>(), Ok(()));
}

#[test]
fn every_field_of_another_kind_is_told() {
    let report = report::<plain::Hero, two_kinds::Hero>();
    let fields: Vec<_> = report
        .differences()
        .iter()
        .map(|difference| (difference.verdict, difference.field.as_deref().unwrap()))
        .collect();
    assert_eq!(fields, [(Verdict::Breaks, "hp"), (Verdict::Breaks, "name")]);
    assert_eq!(load::<plain::Hero, two_kinds::Hero>(), Err(ErrorKind::KindMismatch));
    assert_eq!(load::<plain::Hero, other_kind::Hero>(), Err(ErrorKind::KindMismatch));
}

mod enums {
    use super::*;

    macro_rules! moods {
        ($($version:ident { $($body:tt)* })*) => {
            $(pub(super) mod $version {
                #[derive(persist::Persist)]
                pub(crate) enum Mood { $($body)* }

                /// Where it stands by value.
                #[derive(persist::Persist)]
                pub(crate) struct Hero { mood: Vec<Mood> }
            })*
        };
    }

    moods! {
        plain { Calm, Angry { since: u32 }, Sad(u8) }
        more { Calm, Angry { since: u32 }, Sad(u8), Happy }
        without { Calm, Sad(u8) }
        renamed { Calm, Furious { since: u32 }, Sad(u8) }
        with_alias { Calm, #[persist(alias = "Angry")] Furious { since: u32 }, Sad(u8) }
        with_field { Calm, Angry { since: u32, at: String }, Sad(u8) }
    }

    #[test]
    fn a_new_variant_is_safe() {
        let report = report::<plain::Hero, more::Hero>();
        assert!(report.loads(), "{report}");
        let [only] = report.differences() else { panic!("{report}") };
        assert_eq!((&*only.class, only.field.as_deref()), ("Mood", Some("Happy")));
    }

    #[test]
    fn a_variant_that_went_breaks() {
        let report = report::<plain::Hero, without::Hero>();
        let broken = report.differences().iter().any(|difference| {
            (difference.verdict, &*difference.class, difference.field.as_deref())
                == (Verdict::Breaks, "Mood", Some("Angry"))
        });
        assert!(broken && !report.loads(), "{report}");
        assert_eq!(load::<plain::Hero, without::Hero>(), Err(ErrorKind::NotFound));
    }

    #[test]
    fn a_renamed_variant_needs_an_alias() {
        let report = report::<plain::Hero, renamed::Hero>();
        let found = report.differences().iter().find(|d| d.verdict == Verdict::NeedsAlias);
        let found = found.unwrap();
        assert_eq!((&*found.class, found.field.as_deref()), ("Mood", Some("Angry")));
        assert_eq!(found.attribute.as_deref(), Some("#[persist(alias = \"Angry\")]"));
        assert_eq!(found.above.as_deref(), Some("Furious"));
        assert!(!report.loads());
        assert_eq!(load::<plain::Hero, renamed::Hero>(), Err(ErrorKind::NotFound));
        assert_eq!(load::<plain::Hero, with_alias::Hero>(), Ok(()));
        assert!(super::report::<plain::Hero, with_alias::Hero>().loads());
    }

    #[test]
    fn a_field_of_a_variant_is_named_behind_it() {
        let report = report::<plain::Hero, with_field::Hero>();
        let worst = worst(&report);
        assert_eq!(worst.field.as_deref(), Some("Angry.at"));
        assert_eq!(worst.above.as_deref(), Some("at: String"));
        assert_eq!(load::<plain::Hero, with_field::Hero>(), Err(ErrorKind::MissingField));
    }
}

heroes! {
    v1 { name: String }
    v2 { name: String, #[persist(default)] level: u32 }
    v3 { #[persist(alias = "name")] title: String, #[persist(default)] level: u32 }
    v4 { #[persist(alias = "name")] title: String, #[persist(default)] level: u32, #[persist(default)] bag: Vec<u8> }
    v5 { #[persist(alias = "name")] title: String, #[persist(default)] bag: Vec<u8> }
    broken { #[persist(default)] bag: Vec<u8>, title: String }
}

/// Ten versions, the second half without a change.
fn ten_versions() -> Lock {
    let mut lock = Lock::new();
    let registries = [
        registry::<v1::Hero>(),
        registry::<v2::Hero>(),
        registry::<v3::Hero>(),
        registry::<v4::Hero>(),
        registry::<v5::Hero>(),
    ];
    for minor in 0..10 {
        let registry = registries.get(minor).unwrap_or(&registries[4]);
        lock.update(&format!("0.{minor}.0"), registry).unwrap();
    }
    lock.to_string().parse().unwrap()
}

#[test]
fn ten_versions_back_are_compared_and_loaded() {
    let lock = ten_versions();
    let report = lock.compare(&registry::<v5::Hero>());
    assert!(report.loads() && report.is_current(), "{report}");
    let saves = Saves::new();
    saves.register::<v5::Hero>().unwrap();
    for version in lock.versions() {
        for values in [Values::Plain, Values::Boundary] {
            saves.from_slice::<SaveManager>(&lock.sample(version, values).unwrap()).unwrap();
        }
    }
    // The name was `name` in the first two.
    let report = lock.compare(&registry::<broken::Hero>());
    let worst = worst(&report);
    assert_eq!((worst.verdict, worst.field.as_deref()), (Verdict::NeedsAlias, Some("title")));
    assert_eq!(worst.versions, ["0.0.0", "0.1.0"]);
}

#[test]
fn a_report_is_a_page_for_people() {
    let mut lock = locked(&registry::<two_of_a_kind::Hero>());
    lock.update("0.2.0", &registry::<plain::Hero>()).unwrap();
    insta::assert_snapshot!(lock.compare(&registry::<with_mana::Hero>()).to_string(), @r#"
    old saves are not safe: 1 of 2 changes, since 2 locked versions up to 0.2.0

    needs default: Hero.mana (since 0.1.0, 0.2.0): the field came without a default
        #[persist(default)]
        mana: f32

    safe: Hero.mp (since 0.1.0): the field went; its old values are kept as unknown with the object
    "#);
    insta::assert_snapshot!(lock.compare(&registry::<renamed::Hero>()).to_string(), @r#"
    old saves are not safe: 1 of 2 changes, since 2 locked versions up to 0.2.0

    needs alias: Hero.health (since 0.1.0, 0.2.0): the field came without a default, and hp of its kind went
        #[persist(alias = "hp")]
        health: u32

    safe: Hero.mp (since 0.1.0): the field went; its old values are kept as unknown with the object
    "#);
    insta::assert_snapshot!(lock.compare(&registry::<other_kind::Hero>()).to_string(), @r#"
    old saves are not safe: 1 of 2 changes, since 2 locked versions up to 0.2.0

    breaks: Hero.hp (since 0.1.0, 0.2.0): the save holds u32 where field hp of Hero is Vec<String>; give the field `#[persist(convert = function)]`, a function from the old type to the new one, or keep the old type

    safe: Hero.mp (since 0.1.0): the field went; its old values are kept as unknown with the object
    "#);
    let without = report::<enums::plain::Hero, enums::without::Hero>();
    insta::assert_snapshot!(without.to_string(), @r#"
    old saves are not safe: 1 of 1 changes, since 1 locked version up to 0.1.0

    breaks: Mood.Angry (since 0.1.0): the variant went; values of it load only into a variant `#[persist(other)]`

    note (0.1.0): a sample with Mood.Angry does not load: the program's Mood has no variant Angry; keep it, name it as an `alias` of another, or give the enum a variant `#[persist(other)] Other(persist::Unknown)`
    "#);
    let safe = report::<plain::Hero, with_default::Hero>();
    insta::assert_snapshot!(safe.to_string(), @"
    the saves of 1 locked version load, up to 0.1.0

    safe: Hero.mana (since 0.1.0): the field came; old saves get its default

    the program is not what the lock has of 0.1.0; before the release, give it a version of its own and run the test with PERSIST_LOCK=update
    ");
    let nothing = Lock::new().compare(&registry::<plain::Hero>());
    assert_eq!(nothing.to_string(), "the lock has no version yet\n");
}
