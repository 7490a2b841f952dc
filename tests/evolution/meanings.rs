//! A value is taken as it is only where its meaning cannot have changed.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "some fields are only saved; helpers are part of the tests"
)]

use std::fmt::Debug;

use persist::save::LoadEvent;
use persist::{ErrorKind, Persist, Record, SaveManager, Saves, Value, World};
use persist_tests::support::shared;

/// Loads a value of a newer program as a value, and as an object; both are the same.
fn load<New: Persist + Debug>(
    old: impl Persist + Clone,
    value: fn(&New) -> String,
) -> Result<String, String> {
    let save = persist::to_vec(&old).unwrap();
    let as_value = Saves::new().from_slice::<New>(&save).map(|it| value(&it));
    let as_value = as_value.map_err(|error| error.message().to_owned());
    let mut manager = SaveManager::new();
    manager.add(&shared(old)).unwrap();
    let save = manager.to_vec().unwrap();
    let manager = SaveManager::new();
    manager.register::<New>().unwrap();
    let as_object = manager.from_slice(&save);
    let as_object = as_object.map(|it| value(&it.first::<New>().unwrap().borrow()));
    assert_eq!(as_value, as_object.map_err(|error| error.message().to_owned()));
    as_value
}

macro_rules! versions {
    ($($version:ident: $(#[$meta:meta])* { $($(#[$field:meta])* $name:ident: $ty:ty),* $(,)? })*) => {$(
        mod $version {
            #[allow(unused_imports, reason = "some versions have functions")]
            use super::*;
            #[derive(Persist, Clone, Debug, PartialEq)]
            #[persist(class = "Purse", component)]
            $(#[$meta])*
            pub(super) struct Purse { $($(#[$field])* pub(super) $name: $ty),* }
        }
    )*};
}

fn from_cents(cents: u64) -> u32 {
    u32::try_from(cents / 100).expect("little")
}

fn from_cents_wide(cents: u64) -> i64 {
    i64::from(from_cents(cents))
}

fn to_radians(degrees: i32) -> f64 {
    f64::from(degrees).to_radians()
}

#[derive(Persist, Clone, Debug)]
struct OldMood {
    name: String,
}

fn mood_name(mood: OldMood) -> String {
    mood.name
}

fn length(list: Vec<u8>) -> u64 {
    list.len() as u64
}

versions! {
    cents: { cents: u64 }
    gold: { #[persist(alias = "cents", convert = from_cents)] gold: u32 }
    wide: { #[persist(alias = "cents", convert = from_cents_wide)] gold: i64 }
    told: { #[persist(alias = "cents", convert(from_cents_wide, as u32))] gold: i64 }
    degrees: { angle: f32 }
    angle: { #[persist(convert = to_radians)] angle: f64 }
    mood: { mood: Mood }
    mood_text: { #[persist(convert = mood_name)] mood: String }
    counted: { #[persist(convert = length)] list: u64 }
    listed: { list: Vec<u8> }
    count: { list: u32 }
}

#[derive(Persist, Clone, Debug, PartialEq)]
struct Mood {
    name: String,
}

#[test]
fn a_kind_between_the_one_that_convert_takes_and_that_of_the_field_is_refused_by_name() {
    let cents = cents::Purse { cents: 2500 };
    let gold = gold::Purse { gold: 250 };
    assert_eq!(load::<gold::Purse>(cents.clone(), |it| it.gold.to_string()).unwrap(), "25");
    assert_eq!(load::<wide::Purse>(cents.clone(), |it| it.gold.to_string()).unwrap(), "25");
    let error = load::<wide::Purse>(gold.clone(), |it| it.gold.to_string()).unwrap_err();
    insta::assert_snapshot!(error);
    // The line that the message prints.
    assert!(error.contains("`#[persist(convert(from_cents_wide, as u32))]`"));
    assert_eq!(load::<told::Purse>(gold, |it| it.gold.to_string()).unwrap(), "250");
    assert_eq!(load::<told::Purse>(cents, |it| it.gold.to_string()).unwrap(), "25");
}

#[test]
fn a_convert_whose_argument_does_not_fit_is_not_passed_over() {
    let error = load::<angle::Purse>(degrees::Purse { angle: 180.0 }, |it| it.angle.to_string());
    assert!(error.unwrap_err().contains("the save holds f32"));
    // `class = "Mood"` was forgotten on what the function takes.
    let sad = mood::Purse { mood: Mood { name: "sad".into() } };
    let error = load::<mood_text::Purse>(sad, |it| it.mood.clone()).unwrap_err();
    assert!(error.contains("its `convert` takes OldMood"), "{error}");
    let error = load::<counted::Purse>(count::Purse { list: 7 }, |it| it.list.to_string());
    assert!(error.is_err());
}

#[test]
fn components_and_edits_of_journals_are_converted_by_the_same_rule() {
    let mut world = World::new();
    let ada = world.spawn("Ada");
    world.attach(ada, gold::Purse { gold: 250 }).unwrap();
    let save = persist::to_vec(&world).unwrap();
    let saves = Saves::new();
    saves.register_component::<wide::Purse>().unwrap();
    let error = saves.from_slice::<World>(&save).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KindMismatch);
    assert_eq!(error.field().unwrap(), "objects[0].components[0].gold");
    assert!(error.message().contains("convert(from_cents_wide, as u32)"), "{error}");
    let saves = Saves::new();
    saves.register_component::<told::Purse>().unwrap();
    let world = saves.from_slice::<World>(&save).unwrap();
    assert_eq!(world.get::<told::Purse>(ada).unwrap().gold, 250);
}

fn to_cents(purse: &mut Record, _: u32) {
    let gold = purse.take("gold").and_then(|gold| gold.as_u64()).unwrap();
    purse.set("cents", gold * 100);
}

fn note_whether_rich(purse: &mut Record, _: u32) {
    let is_rich = purse.get("gold").and_then(Value::as_u64).unwrap() > 1000;
    purse.set("rich", is_rich);
}

fn nothing(_: &mut Record, _: u32) {}

fn to_gold(cents: u64) -> i64 {
    i64::try_from(cents / 100).expect("little")
}

fn to_cents_of(gold: u32) -> u64 {
    u64::from(gold) * 100
}

fn to_silver(cents: u64) -> u64 {
    cents / 10
}

versions! {
    first: { gold: u32 }
    second: #[persist(version = 2, migrate(1 = to_cents))] { cents: u64 }
    third: #[persist(version = 2, migrate(1 = to_cents))]
        { #[persist(alias = "cents", convert = to_gold)] money: i64 }
    chained: #[persist(version = 3, migrate(1 = nothing, 2 = nothing))]
        { #[persist(convert(1 = to_cents_of, 2 = to_silver))] gold: u64 }
    chained_second: #[persist(version = 2, migrate(1 = nothing))]
        { #[persist(convert(1 = to_cents_of))] gold: u64 }
    unsaid: #[persist(version = 2, migrate(1 = note_whether_rich))]
        { #[persist(convert = to_cents_of)] gold: u64, rich: bool }
    text: { name: String }
    trimmed: #[persist(version = 2)] { #[persist(convert(1 = trim))] name: String }
    before: #[persist(version = 2, migrate(1 = note_whether_rich))]
        { #[persist(convert(1 = to_cents_of))] gold: u64, rich: bool }
    after: #[persist(version = 2, migrate(1 = note_whether_rich))]
        { #[persist(convert(2 = to_cents_of))] gold: u64, rich: bool }
}

#[test]
fn what_a_migration_makes_goes_through_a_convert_as_stored_values_do() {
    let gold = first::Purse { gold: 7 };
    let second =
        Saves::new().from_slice::<second::Purse>(&persist::to_vec(&gold).unwrap()).unwrap();
    assert_eq!(second.cents, 700);
    let one_by_one = load::<third::Purse>(second.into_inner(), |it| it.money.to_string()).unwrap();
    assert_eq!(
        (&*one_by_one, load::<third::Purse>(gold, |it| it.money.to_string()).as_deref()),
        ("7", Ok("7"))
    );
}

#[test]
fn functions_of_versions_follow_one_another() {
    let gold = first::Purse { gold: 7 };
    let save = persist::to_vec(&gold).unwrap();
    let second = persist::from_slice::<chained_second::Purse>(&save).unwrap();
    assert_eq!(second.gold, 700);
    assert_eq!(load::<chained::Purse>(second, |it| it.gold.to_string()).unwrap(), "70");
    assert_eq!(load::<chained::Purse>(gold, |it| it.gold.to_string()).unwrap(), "70");
    // The kind is the same in versions 2 and 3, and the version tells them apart.
    let third = persist::from_slice::<chained::Purse>(&save).unwrap();
    assert_eq!(load::<chained::Purse>(third, |it| it.gold.to_string()).unwrap(), "70");
}

fn trim(text: String) -> String {
    text.trim().to_owned()
}

#[test]
fn a_class_that_only_has_another_version_is_converted_where_a_field_says_so() {
    let old = text::Purse { name: " Ada ".into() };
    assert_eq!(load::<trimmed::Purse>(old, |it| it.name.clone()).unwrap(), "Ada");
    let new = trimmed::Purse { name: " Eva ".into() };
    assert_eq!(load::<trimmed::Purse>(new, |it| it.name.clone()).unwrap(), " Eva ");
}

#[test]
fn a_migration_does_not_look_at_a_value_whose_convert_may_come_before_it() {
    let rich = first::Purse { gold: 70 };
    let error = load::<unsaid::Purse>(rich.clone(), |it| it.rich.to_string()).unwrap_err();
    insta::assert_snapshot!(error);
    let error = load::<before::Purse>(rich.clone(), |it| it.rich.to_string()).unwrap_err();
    assert!(error.contains("convert(2 = to_cents_of)"), "{error}");
    let shown = |it: &after::Purse| format!("{} {}", it.gold, it.rich);
    assert_eq!(load::<after::Purse>(rich, shown).unwrap(), "7000 false");
}

#[derive(Persist, Debug, Clone, PartialEq)]
#[persist(class = "Body")]
struct FirstBody {
    hp: u32,
}

#[derive(Persist, Debug, Clone, PartialEq)]
#[persist(version = 2, migrate(1 = in_tenths))]
struct Body {
    hp: u32,
}

fn in_tenths(body: &mut Record, _: u32) {
    let hp = body.take("hp").and_then(|hp| hp.as_u64()).unwrap();
    body.set("hp", hp * 10);
}

fn put_into_body(hero: &mut Record, _: u32) {
    let hp = hero.take("hp").unwrap();
    let mut body = Record::new("Body");
    body.set("hp", hp);
    hero.set("body", body);
}

fn put_into_first_body(hero: &mut Record, _: u32) {
    let hp = hero.take("hp").unwrap();
    let mut body = Record::new("Body").at_version(1);
    body.set("hp", hp);
    hero.set("body", body);
}

#[test]
fn a_record_that_a_migration_makes_is_brought_on_from_its_version() {
    #[derive(Persist, Clone)]
    #[persist(class = "Hero")]
    struct OldHero {
        hp: u32,
    }
    #[derive(Persist, Debug, Clone)]
    #[persist(class = "Hero", version = 2, migrate(1 = put_into_body))]
    struct SecondHero {
        body: FirstBody,
    }
    #[derive(Persist, Debug)]
    #[persist(class = "Hero", version = 2, migrate(1 = put_into_body))]
    struct Unsaid {
        body: Body,
    }
    #[derive(Persist, Debug)]
    #[persist(version = 2, migrate(1 = put_into_first_body))]
    struct Hero {
        body: Body,
    }
    let hero = OldHero { hp: 7 };
    let second = persist::from_slice::<SecondHero>(&persist::to_vec(&hero).unwrap()).unwrap();
    let hp = |it: &Hero| it.body.hp.to_string();
    assert_eq!(load::<Hero>(second, hp).unwrap(), "70");
    assert_eq!(load::<Hero>(hero.clone(), hp).unwrap(), "70");
    let error = load::<Unsaid>(hero, |it| it.body.hp.to_string()).unwrap_err();
    insta::assert_snapshot!(error);
}

mod seconds {
    pub(super) type Stored = u32;

    pub(super) fn store(time: &std::time::Duration) -> u32 {
        u32::try_from(time.as_secs()).expect("short")
    }

    pub(super) fn restore(seconds: u32) -> Result<std::time::Duration, String> {
        Ok(std::time::Duration::from_secs(seconds.into()))
    }
}

mod milliseconds {
    pub(super) type Stored = u64;

    pub(super) fn store(time: &std::time::Duration) -> u64 {
        u64::try_from(time.as_millis()).expect("short")
    }

    pub(super) fn restore(milliseconds: u64) -> Result<std::time::Duration, String> {
        Ok(std::time::Duration::from_millis(milliseconds))
    }
}

#[test]
fn a_module_takes_what_it_stores_and_no_narrower_number() {
    use std::time::Duration;

    #[derive(Persist, Clone)]
    #[persist(class = "Clock")]
    struct OldClock {
        #[persist(with = seconds)]
        time: Duration,
    }
    #[derive(Persist, Debug)]
    struct Clock {
        #[persist(with = milliseconds)]
        time: Duration,
    }
    #[derive(Persist, Debug)]
    #[persist(class = "Clock")]
    struct Told {
        #[persist(with = milliseconds, convert(as u32))]
        time: Duration,
    }
    let old = OldClock { time: Duration::from_secs(7) };
    let error = load::<Clock>(old.clone(), |it| format!("{:?}", it.time)).unwrap_err();
    insta::assert_snapshot!(error);
    let told = load::<Told>(old, |it| format!("{:?}", it.time)).unwrap();
    assert_eq!(told, "7ms", "the program has said so");
}

/// A time as seconds, and as milliseconds of a wider type.
mod via {
    use persist::Persist;

    #[derive(Persist, Debug, Clone, PartialEq, Eq, Hash)]
    #[persist(via = u32)]
    pub(super) struct Seconds(pub(super) u64);

    impl From<&Seconds> for u32 {
        fn from(seconds: &Seconds) -> Self {
            Self::try_from(seconds.0).expect("short")
        }
    }

    impl From<u32> for Seconds {
        fn from(seconds: u32) -> Self {
            Self(seconds.into())
        }
    }

    #[derive(Persist, Debug, Clone, PartialEq, Eq, Hash)]
    #[persist(via = u64)]
    pub(super) struct Millis(pub(super) u64);

    impl From<&Millis> for u64 {
        fn from(millis: &Millis) -> Self {
            millis.0
        }
    }

    impl From<u64> for Millis {
        fn from(millis: u64) -> Self {
            Self(millis)
        }
    }
}

#[test]
fn a_type_that_is_stored_via_another_takes_no_narrower_number_wherever_it_stands() {
    use std::cell::RefCell;
    use std::collections::HashMap;
    use std::ops::Range;
    use std::rc::Rc;

    #[derive(Persist, Debug, Clone)]
    #[persist(class = "Clock")]
    struct OldClock<T: Persist> {
        time: T,
    }
    #[derive(Persist, Debug)]
    #[persist(class = "Clock")]
    struct Clock<T: Persist> {
        time: T,
    }
    fn refused<Old: Persist + Debug + Clone, New: Persist + Debug>(time: Old) -> String {
        let save = persist::to_vec(&OldClock { time }).unwrap();
        // Generic classes have their arguments in their names.
        let error = persist::from_slice::<Clock<New>>(&save).unwrap_err();
        error.message().to_owned()
    }
    #[derive(Persist, Debug, Clone)]
    #[persist(class = "Plain")]
    struct OldPlain {
        time: via::Seconds,
        all: Vec<via::Seconds>,
    }
    #[derive(Persist, Debug)]
    struct Plain {
        time: via::Millis,
        all: Vec<via::Millis>,
    }
    #[derive(Persist, Debug)]
    #[persist(class = "Plain")]
    struct Listed {
        #[persist(convert(as u32))]
        time: via::Millis,
        all: Vec<via::Millis>,
    }
    #[derive(Persist, Debug)]
    #[persist(class = "Plain")]
    struct Told {
        #[persist(convert(as u32))]
        time: via::Millis,
        #[persist(convert(as Vec<u32>))]
        all: Vec<via::Millis>,
    }
    let old = OldPlain { time: via::Seconds(7), all: vec![via::Seconds(8)] };
    let first = load::<Plain>(old.clone(), |it| format!("{it:?}")).unwrap_err();
    let second = load::<Listed>(old.clone(), |it| format!("{it:?}")).unwrap_err();
    insta::assert_snapshot!(format!("{first}\n{second}"));
    let told = load::<Told>(old, |it| format!("{:?} {:?}", it.time, it.all)).unwrap();
    assert_eq!(told, "Millis(7) [Millis(8)]", "the program has said so");
    #[derive(Persist, Debug, Clone)]
    #[persist(transparent)]
    struct Through<T>(T);
    #[derive(Persist, Debug)]
    struct Around(via::Millis);
    for message in [
        refused::<Option<via::Seconds>, Option<via::Millis>>(None),
        refused::<[via::Seconds; 1], [via::Millis; 1]>([via::Seconds(1)]),
        refused::<(u8, via::Seconds), (u8, via::Millis)>((1, via::Seconds(1))),
        refused::<HashMap<via::Seconds, u8>, HashMap<via::Millis, u8>>(HashMap::new()),
        refused::<Box<via::Seconds>, Box<via::Millis>>(Box::new(via::Seconds(1))),
        refused::<Through<via::Seconds>, Through<via::Millis>>(Through(via::Seconds(1))),
        refused::<Vec<Through<via::Seconds>>, Vec<Through<via::Millis>>>(Vec::new()),
        refused::<Result<via::Seconds, u8>, Result<via::Millis, u8>>(Ok(via::Seconds(1))),
        refused::<Range<via::Seconds>, Range<via::Millis>>(via::Seconds(1)..via::Seconds(2)),
        refused::<u32, Around>(1),
    ] {
        assert!(message.contains("restored by a function"), "{message}");
    }
    let message = refused::<HashMap<via::Seconds, u8>, HashMap<via::Millis, u8>>(HashMap::new());
    assert!(message.contains("convert(as HashMap<u32, u8>)"), "a type that there is: {message}");
    // What stands in a pointer is a value of its own.
    let second = || Rc::new(RefCell::new(via::Seconds(1)));
    for message in [
        refused::<Rc<via::Seconds>, Rc<via::Millis>>(Rc::new(via::Seconds(1))),
        refused::<Rc<[via::Seconds]>, Rc<[via::Millis]>>(Rc::new([via::Seconds(1)])),
        refused::<Vec<Rc<RefCell<via::Seconds>>>, Vec<Rc<RefCell<via::Millis>>>>(vec![second()]),
    ] {
        assert!(message.contains("restored by a function"), "{message}");
    }
}

#[test]
fn a_tuple_of_one_part_is_no_way_from_one_newtype_to_another() {
    #[derive(Persist, Clone, Debug)]
    struct Meters(f32);
    #[derive(Persist, Clone, Debug)]
    struct Feet(f32);

    #[derive(Persist, Clone, Debug)]
    #[persist(class = "Line")]
    struct Line<T> {
        length: T,
    }
    fn loads<Old: Persist + Clone, New: Persist + Debug>(old: Old) -> bool {
        let save = persist::to_vec(&(old,)).unwrap();
        persist::from_slice::<(New,)>(&save).is_ok()
    }
    assert!(!loads::<_, Feet>(Meters(1.0)));
    assert!(!loads::<_, (Feet,)>(Meters(1.0)));
    assert!(!loads::<_, (Option<Feet>,)>(Meters(1.0)));
    assert!(!loads::<_, Vec<(Feet,)>>(Meters(1.0)));
    assert!(!loads::<_, Feet>((Meters(1.0),)));
    assert!(loads::<_, (f32,)>(Meters(1.0)));
    assert!(loads::<_, (f64,)>(Meters(1.0)));
    assert!(loads::<_, (Meters,)>((Meters(1.0),)));
    assert!(loads::<_, Meters>((1.0_f32,)));
    assert!(loads::<_, (Feet,)>((1.0_f32,)));
}

#[test]
fn the_report_calls_a_value_that_a_function_took_converted() {
    let save = persist::to_vec(&cents::Purse { cents: 2500 }).unwrap();
    let loaded = Saves::new().from_slice::<told::Purse>(&save).unwrap();
    let rows: Vec<_> = loaded.report().rows().iter().map(|row| row.event).collect();
    assert_eq!(rows, [LoadEvent::Converted]);
}
