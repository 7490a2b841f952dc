//! What the program does to values is part of the lock: what is dropped, and what another version did.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::collections::VecDeque;

use persist::save::Registry;
use persist::{Persist, Record};
use persist_tests::support::registry;
use persist_tools::lock::{Lock, LockReport, Verdict};

/// Types of one class, each with its fields.
macro_rules! purses {
    ($($(#[$attribute:meta])* $name:ident { $($fields:tt)* })*) => {
        $(
            #[derive(Persist)]
            #[persist(class = "Purse")]
            $(#[$attribute])*
            struct $name { $($fields)* }
        )*
    };
}

/// What a lock with these versions says of a program.
fn report(versions: &[Registry], now: &Registry) -> LockReport {
    let mut lock = Lock::new();
    for (at, registry) in versions.iter().enumerate() {
        lock.update(&format!("0.{}.0", at + 1), registry).unwrap();
    }
    // A lock is the same after it was written and read.
    lock.to_string().parse::<Lock>().unwrap().compare(now)
}

fn to_gold(cents: u32) -> u64 {
    u64::from(cents / 100)
}

fn migrated(record: &mut Record, _: u32) {
    let _ = record.get("cents");
}

mod seconds {
    pub(super) type Stored = u32;
    pub(super) fn store(time: &std::time::Duration) -> u32 {
        u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
    }
    pub(super) fn restore(seconds: u32) -> Result<std::time::Duration, std::convert::Infallible> {
        Ok(std::time::Duration::from_secs(seconds.into()))
    }
}

mod millis {
    pub(super) type Stored = u32;
    pub(super) fn store(time: &std::time::Duration) -> u32 {
        u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
    }
    pub(super) fn restore(millis: u32) -> Result<std::time::Duration, std::convert::Infallible> {
        Ok(std::time::Duration::from_millis(millis.into()))
    }
}

mod moved {
    pub(super) use super::seconds;
}

purses! {
    Cents { cents: u32 }
    Gold { #[persist(alias = "cents", convert = to_gold)] gold: u64 }
    GoldAsIs { #[persist(alias = "cents")] gold: u64 }
    GoldMeant { #[persist(alias = "cents", convert(as u32))] gold: u64 }
    GoldOther { #[persist(alias = "cents", convert = to_silver)] gold: u64 }
}

fn to_silver(cents: u32) -> u64 {
    u64::from(cents / 10)
}

#[test]
fn a_convert_that_is_dropped_is_a_question() {
    let versions = [registry::<Cents>(), registry::<Gold>()];
    let now = report(&versions, &registry::<GoldAsIs>());
    assert!(!now.loads());
    insta::assert_snapshot!(now.to_string());
    for now in [registry::<Gold>(), registry::<GoldMeant>()] {
        let now = report(&versions, &now);
        assert!(now.loads(), "{now}");
    }
    // Without the version in between nothing says that it was no number of gold.
    let first = report(&versions[..1], &registry::<GoldAsIs>());
    assert!(first.loads(), "{first}");
}

purses! {
    #[persist(version = 2, migrate(1 = migrated))]
    Migrated { cents: u32 }
    #[persist(version = 2)]
    NotMigrated { cents: u32 }
    #[persist(version = 3, migrate(1 = migrated, 2 = migrated))]
    MigratedTwice { cents: u32 }
}

purses! {
    Wide { gold: u16 }
    Narrow { #[persist(convert(as u16))] gold: u8 }
    NarrowByFunction { #[persist(convert = to_u8)] gold: u8 }
}

fn to_u8(gold: u16) -> u8 {
    u8::try_from(gold).unwrap_or(u8::MAX)
}

/// Only a function takes every value: a kind that is taken as it is may not fit.
#[test]
fn a_narrower_kind_is_not_accepted_by_saying_that_it_means_the_same() {
    let now = report(&[registry::<Wide>()], &registry::<Narrow>());
    assert!(!now.loads(), "{now}");
    let save = persist::to_vec(&Wide { gold: 700 }).unwrap();
    assert!(persist::from_slice::<Narrow>(&save).is_err());
    let now = report(&[registry::<Wide>()], &registry::<NarrowByFunction>());
    assert!(now.loads(), "{now}");
}

#[test]
fn a_migration_that_is_dropped_is_a_question() {
    let versions = [registry::<Cents>(), registry::<Migrated>()];
    let now = report(&versions, &registry::<NotMigrated>());
    assert!(!now.loads());
    insta::assert_snapshot!(now.to_string());
    for now in [registry::<Migrated>(), registry::<MigratedTwice>()] {
        let now = report(&versions, &now);
        assert!(now.loads(), "{now}");
    }
    // Nothing is due where no locked version is as old.
    let now = report(&versions[1..], &registry::<NotMigrated>());
    assert!(now.loads(), "{now}");
}

purses! {
    Fast { name: String, speed: f32 }
    #[persist(removed = "speed")]
    Slow { name: String }
    FastAgain { name: String, #[persist(default)] speed: f32 }
    #[persist(removed = "speed")]
    OtherSpeed { name: String, #[persist(rename = "new_speed", default)] speed: f32 }
    SameSpeed { name: String, #[persist(rename = "new_speed", alias = "speed", default)] speed: f32 }
}

#[test]
fn a_field_that_was_removed_does_not_come_back_unasked() {
    let versions = [registry::<Fast>(), registry::<Slow>()];
    let now = report(&versions, &registry::<FastAgain>());
    assert!(!now.loads());
    insta::assert_snapshot!(now.to_string());
    for now in [registry::<Slow>(), registry::<OtherSpeed>(), registry::<SameSpeed>()] {
        let now = report(&versions, &now);
        assert!(now.loads(), "{now}");
    }
}

mod moods {
    #[derive(persist::Persist)]
    pub(super) enum Mood {
        Calm,
        Angry,
        #[persist(other)]
        Other,
    }

    pub(super) mod without {
        #[derive(persist::Persist)]
        #[persist(removed = "Angry")]
        pub(crate) enum Mood {
            Calm,
            #[persist(other)]
            Other,
        }
    }
}

#[test]
fn a_variant_that_was_removed_does_not_come_back_unasked() {
    let with = registry::<moods::Mood>();
    let versions = [with, registry::<moods::without::Mood>()];
    let now = report(&versions, &registry::<moods::Mood>());
    assert!(!now.loads());
    insta::assert_snapshot!(now.to_string());
}

purses! {
    Seconds { #[persist(with = seconds)] time: std::time::Duration }
    SecondsMoved { #[persist(with = moved::seconds)] time: std::time::Duration }
    Millis { #[persist(with = millis)] time: std::time::Duration }
    MillisMeant { #[persist(with = millis, convert(as u32))] time: std::time::Duration }
    Plain { time: u32 }
    PlainMeant { #[persist(convert(as u32))] time: u32 }
    PlainWide { time: u64 }
}

#[test]
fn a_module_that_becomes_another_is_a_question() {
    let versions = [registry::<Seconds>()];
    let now = report(&versions, &registry::<Millis>());
    assert!(!now.loads());
    insta::assert_snapshot!("another", now.to_string());
    let now = report(&versions, &registry::<Plain>());
    assert!(!now.loads());
    insta::assert_snapshot!("none", now.to_string());
    let now = report(&versions, &registry::<PlainWide>());
    assert!(!now.loads(), "{now}");
    for now in [
        registry::<Seconds>(),
        registry::<SecondsMoved>(),
        registry::<MillisMeant>(),
        registry::<PlainMeant>(),
    ] {
        let now = report(&versions, &now);
        assert!(now.loads() && now.differences().is_empty(), "{now}");
    }
    // As of a newtype, nobody knows.
    let now = report(&[registry::<Plain>()], &registry::<Seconds>());
    assert_eq!(now.differences()[0].verdict, Verdict::Safe);
    insta::assert_snapshot!("first", now.to_string());
}

purses! {
    Empty { name: String }
    Five { name: String, #[persist(default = 5)] gold: u32 }
    Ten { name: String, #[persist(default = 10)] gold: u32 }
    #[persist(validate = check)]
    Checked { name: String }
    #[persist(validate = check_more)]
    CheckedMore { name: String }
}

impl Checked {
    fn check(&self) -> Result<(), &'static str> {
        if self.name.len() > 1 << 20 { Err("a long name") } else { Ok(()) }
    }
}

impl CheckedMore {
    fn check_more(&self) -> Result<(), &'static str> {
        if self.name.len() > 1 << 10 { Err("a long name") } else { Ok(()) }
    }
}

fn check(checked: &Checked) -> Result<(), &'static str> {
    checked.check()
}

fn check_more(checked: &CheckedMore) -> Result<(), &'static str> {
    checked.check_more()
}

#[test]
fn another_default_or_check_is_a_row_that_passes() {
    let now = report(&[registry::<Empty>(), registry::<Five>()], &registry::<Ten>());
    assert!(now.loads());
    insta::assert_snapshot!("defaults", now.to_string());
    let now = report(&[registry::<Empty>(), registry::<Checked>()], &registry::<CheckedMore>());
    assert!(now.loads());
    insta::assert_snapshot!("checks", now.to_string());
}

#[test]
fn the_code_of_a_version_is_in_its_file() {
    let mut lock = Lock::new();
    lock.update("0.1.0", &registry::<MigratedTwice>()).unwrap();
    lock.update("0.2.0", &registry::<Slow>()).unwrap();
    lock.update("0.3.0", &registry::<GoldOther>()).unwrap();
    lock.update("0.4.0", &registry::<Millis>()).unwrap();
    insta::assert_snapshot!(lock.to_string());
    // Code alone is a change of the program.
    assert!(!lock.is_current("0.4.0", &registry::<Seconds>()));
}

/// A time by seconds, and by minutes.
mod via {
    use persist::Persist;

    #[derive(Persist, Debug, Clone)]
    #[persist(via = u32)]
    pub(super) struct Seconds(u64);
    #[derive(Persist, Debug, Clone)]
    #[persist(via = u32)]
    pub(super) struct Minutes(u64);

    impl From<&Seconds> for u32 {
        fn from(seconds: &Seconds) -> Self {
            Self::try_from(seconds.0).unwrap_or(Self::MAX)
        }
    }
    impl From<u32> for Seconds {
        fn from(seconds: u32) -> Self {
            Self(seconds.into())
        }
    }
    impl From<&Minutes> for u32 {
        fn from(minutes: &Minutes) -> Self {
            Self::try_from(minutes.0 / 60).unwrap_or(Self::MAX)
        }
    }
    impl From<u32> for Minutes {
        fn from(minutes: u32) -> Self {
            Self(u64::from(minutes) * 60)
        }
    }
}

#[derive(Persist)]
#[persist(transparent)]
struct Through<T>(T);

#[derive(Persist)]
#[persist(transparent)]
struct OfSeconds(#[persist(with = seconds)] std::time::Duration);

purses! {
    ViaSeconds { time: via::Seconds }
    ViaMinutes { time: via::Minutes }
    ThroughSeconds { time: Through<via::Seconds> }
    Listed { time: Vec<via::Seconds> }
    ListedMinutes { time: VecDeque<via::Minutes> }
    Shared { time: std::rc::Rc<via::Seconds> }
    SharedMinutes { time: std::rc::Rc<via::Minutes> }
    OfType { time: OfSeconds }
    ListOfSeconds { #[persist(with = "Vec<seconds>")] time: Vec<std::time::Duration> }
    QueueOfSeconds {
        #[persist(with = "VecDeque<seconds>")] time: VecDeque<std::time::Duration>
    }
}

#[test]
fn the_code_of_a_type_is_that_of_the_fields_that_hold_it() {
    let ask = |was: Registry, is: Registry| {
        let now = report(&[was], &is);
        assert!(!now.loads(), "{now}");
        now.to_string()
    };
    insta::assert_snapshot!("type", ask(registry::<ViaSeconds>(), registry::<ViaMinutes>()));
    ask(registry::<ViaSeconds>(), registry::<Plain>());
    ask(registry::<ThroughSeconds>(), registry::<Plain>());
    ask(registry::<OfType>(), registry::<Plain>());
    ask(registry::<Listed>(), registry::<ListedMinutes>());
    ask(registry::<Shared>(), registry::<SharedMinutes>());
    let same = |was: Registry, is: Registry| {
        let now = report(&[was], &is);
        assert!(now.loads() && now.differences().is_empty(), "{now}");
    };
    same(registry::<ViaSeconds>(), registry::<ThroughSeconds>());
    same(registry::<Seconds>(), registry::<OfType>());
    same(registry::<ListOfSeconds>(), registry::<QueueOfSeconds>());
}

/// What stands on the fields of a newtype.
mod newtypes {
    use persist::Persist;

    use super::{migrated_gold, seconds, to_gold};

    #[derive(Persist)]
    #[persist(class = "Time")]
    pub(super) struct Time(#[persist(with = seconds)] std::time::Duration);
    #[derive(Persist)]
    #[persist(class = "Time")]
    pub(super) struct Number(u32);
    #[derive(Persist)]
    #[persist(class = "Time")]
    pub(super) struct Converted(#[persist(convert = to_gold)] u64);
    #[derive(Persist)]
    #[persist(class = "Time", version = 2, migrate(1 = migrated_gold))]
    pub(super) struct Migrated(u32);
    #[derive(Persist)]
    #[persist(class = "Time")]
    pub(super) struct Wide(u64);
}

fn migrated_gold(gold: &mut Record, _: u32) {
    let cents = gold.get("0").and_then(persist::Value::as_u64).unwrap_or_default();
    gold.set("0", cents / 100);
}

purses! {
    TimeAround { time: newtypes::Time }
    NumberAround { time: newtypes::Number }
    ConvertedAround { time: newtypes::Converted }
    MigratedAround { time: newtypes::Migrated }
    WideAround { time: newtypes::Wide }
    Pairs { time: Vec<(u8, u32)> }
    #[persist(version = 2, migrate(1 = keep_time))]
    Looked { time: u32 }
}

fn keep_time(record: &mut Record, _: u32) {
    let _ = record.get("time");
}

#[test]
fn the_code_of_a_newtype_is_that_of_what_is_inside() {
    let ask = |versions: &[Registry], is: Registry| {
        let now = report(versions, &is);
        assert!(!now.loads(), "{now}");
        now.to_string()
    };
    // It came without the code that the field had, and it went with its own.
    ask(&[registry::<Seconds>()], registry::<NumberAround>());
    insta::assert_snapshot!("went", ask(&[registry::<TimeAround>()], registry::<Plain>()));
    let now = report(&[registry::<Seconds>()], &registry::<TimeAround>());
    assert!(now.loads(), "{now}");
    let now = report(&[registry::<TimeAround>()], &registry::<Looked>());
    assert!(now.loads(), "{now}");
    // A version in between converted what is inside.
    let inside = [registry::<Plain>(), registry::<ConvertedAround>()];
    ask(&inside, registry::<PlainWide>());
    ask(&inside, registry::<WideAround>());
    let now = report(&inside, &registry::<ConvertedAround>());
    assert!(now.loads(), "{now}");
    let inside = [registry::<NumberAround>(), registry::<ConvertedAround>()];
    insta::assert_snapshot!("converted", ask(&inside, registry::<PlainWide>()));
    let inside = [registry::<NumberAround>(), registry::<MigratedAround>()];
    insta::assert_snapshot!("migrated_around", ask(&inside, registry::<Plain>()));
}

fn halved(gold: u64) -> u64 {
    gold / 2
}

purses! {
    Whole { gold: u64 }
    #[persist(version = 2)]
    Half { #[persist(convert(1 = halved))] gold: u64 }
    #[persist(version = 3)]
    Quarter { #[persist(convert(1 = halved, 2 = to_quarter))] gold: u64 }
    #[persist(version = 3)]
    OnlyQuarter { #[persist(convert(2 = to_quarter))] gold: u64 }
    #[persist(version = 3)]
    HalfAgain { #[persist(convert(2 = halved))] gold: u64 }
    #[persist(version = 3)]
    HalfStill { #[persist(convert(1 = halved))] gold: u64 }
    #[persist(version = 3, migrate(1 = migrated, 2 = migrated))]
    MigratedThen { gold: u64 }
    #[persist(version = 3, migrate(1 = as_before, 2 = migrated))]
    MigratedElse { gold: u64 }
}

fn as_before(_: &mut Record, _: u32) {}

fn to_quarter(half: u64) -> u64 {
    half / 2
}

#[test]
fn a_step_of_a_convert_that_is_dropped_or_runs_again_is_a_question() {
    let versions = [registry::<Whole>(), registry::<Half>(), registry::<Quarter>()];
    let now = report(&versions, &registry::<OnlyQuarter>());
    assert!(!now.loads(), "{now}");
    insta::assert_snapshot!("step", now.to_string());
    let now = report(&versions, &registry::<Quarter>());
    assert!(now.loads(), "{now}");
    let now = report(&versions[..2], &registry::<HalfAgain>());
    assert!(!now.loads(), "{now}");
    insta::assert_snapshot!("again", now.to_string());
    for now in [registry::<HalfStill>(), registry::<Quarter>()] {
        let now = report(&versions[..2], &now);
        assert!(now.loads(), "{now}");
    }
}

#[test]
fn another_function_for_the_same_values_is_a_row_that_passes() {
    let now = report(&[registry::<Cents>(), registry::<Gold>()], &registry::<GoldOther>());
    assert!(now.loads(), "{now}");
    insta::assert_snapshot!("function", now.to_string());
    let versions = [registry::<Whole>(), registry::<MigratedThen>()];
    let now = report(&versions, &registry::<MigratedElse>());
    assert!(now.loads(), "{now}");
    insta::assert_snapshot!("migration", now.to_string());
}

purses! {
    Held { gold: Inside }
    HeldWide { gold: InsideWide }
    HeldMeant { #[persist(convert(as u64))] gold: InsideWide }
}

#[derive(Persist)]
#[persist(class = "Inside")]
struct Inside(u32);

#[derive(Persist)]
#[persist(class = "Inside")]
struct InsideWide(#[persist(convert = to_gold)] u64);

/// A number stood without the newtype, then in one as another kind, which the newtype converts back to the first.
#[test]
fn a_number_of_its_own_kind_again_is_a_question_inside_of_a_newtype_too() {
    let versions = [registry::<Whole>(), registry::<Held>()];
    let now = report(&versions, &registry::<HeldWide>());
    assert!(!now.loads(), "{now}");
    insta::assert_snapshot!(now.to_string());
    let now = report(&versions, &registry::<HeldMeant>());
    assert!(now.loads(), "{now}");
    let now = report(&versions[1..], &registry::<HeldWide>());
    assert!(now.loads(), "{now}");
}

mod owners {
    use persist::{Persist, Record, Value};

    pub(super) fn into_purse(owner: &mut Record, _: u32) {
        let cents = owner.take("cents").unwrap_or(Value::U32(0));
        let mut purse = Record::new("Held");
        purse.set("money", cents);
        owner.set("purse", purse);
    }

    pub(super) fn to_gold(cents: u32) -> u16 {
        u16::try_from(cents / 100).unwrap_or(u16::MAX)
    }

    pub(super) fn to_gold_wide(cents: u32) -> u64 {
        u64::from(cents / 100)
    }

    #[derive(Persist)]
    #[persist(class = "Owner")]
    pub(super) struct Owner {
        pub(super) cents: u32,
    }

    /// Types whose owner is migrated, each with its purse.
    macro_rules! held {
        ($($name:ident: $of:ident { $($fields:tt)* })*) => {
            $(
                #[derive(Persist)]
                #[persist(class = "Owner", version = 2, migrate(1 = into_purse))]
                pub(super) struct $name {
                    purse: $of,
                }

                #[derive(Persist)]
                #[persist(class = "Held")]
                pub(super) struct $of { $($fields)* }
            )*
        };
    }

    held! {
        Gold: OfGold { #[persist(convert = to_gold)] money: u16 }
        Wide: OfWide { money: u64 }
        WideAgain: OfWideAgain { #[persist(convert(to_gold_wide, as u16))] money: u64 }
        WideMeant: OfWideMeant { #[persist(convert(as u32, as u16))] money: u64 }
    }
}

/// No locked version stored the kind in the field: a migration of another class makes it.
#[test]
fn a_convert_of_what_a_migration_makes_is_a_question_when_it_is_dropped() {
    let versions = [registry::<owners::Owner>(), registry::<owners::Gold>()];
    let save = persist::to_vec(&owners::Owner { cents: 250 }).unwrap();
    assert!(persist::from_slice::<owners::Gold>(&save).is_ok());
    let now = report(&versions, &registry::<owners::Wide>());
    assert!(!now.loads(), "{now}");
    insta::assert_snapshot!(now.to_string());
    for now in [registry::<owners::WideAgain>(), registry::<owners::WideMeant>()] {
        let now = report(&versions, &now);
        assert!(now.loads(), "{now}");
    }
}

mod tempers {
    #![allow(clippy::needless_pass_by_value, reason = "a `convert` function owns what it gets")]

    use persist::Persist;

    #[derive(Persist)]
    #[persist(class = "Mood")]
    pub(super) enum Mood {
        Angry,
        Calm,
    }

    #[derive(Persist)]
    #[persist(class = "Mood")]
    pub(super) enum Renamed {
        #[persist(alias = "Angry")]
        Mad,
        Calm,
    }

    pub(super) fn named(mood: Mood) -> String {
        String::from(match mood {
            Mood::Angry => "Mad",
            Mood::Calm => "Calm",
        })
    }
}

purses! {
    OfMood { mood: tempers::Mood }
    OfRenamed { mood: tempers::Renamed }
    OfText { mood: String }
    OfNamed { #[persist(convert = tempers::named)] mood: String }
}

/// The text would be the name of one variant in old saves and of another in those that a version in between wrote.
#[test]
fn variants_that_had_another_name_before_they_became_texts_are_a_question() {
    let versions = [registry::<OfMood>(), registry::<OfRenamed>()];
    let now = report(&versions, &registry::<OfText>());
    assert!(!now.loads(), "{now}");
    insta::assert_snapshot!(now.to_string());
    let now = report(&versions[..1], &registry::<OfText>());
    assert!(now.loads(), "{now}");
    let now = report(&versions[..1], &registry::<OfNamed>());
    assert!(now.loads(), "{now}");
}
