//! The attributes that bring older saves to the program's types: what the derive writes into
//! the tables, `convert` functions on bare bytes, and what is refused at registration.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]
#![allow(clippy::needless_pass_by_value, reason = "a `convert` function owns what it gets")]

use std::cell::RefCell;
use std::rc::Rc;

use persist::codec::{self, Buffer, Decoder, Encoder, Fail, Prototypes, Stop};
use persist::reflect::{Body, Kind, Migrate, Migration, VariantRecord};
use persist::{
    Class, Error, ErrorKind, FieldRecord, Persist, Record, Reflect, Registry, Unknown, Value,
};

/// Kinds have no `==`; what they are called says as much here.
fn kind_of(inner: Option<persist::reflect::Inner>) -> Option<String> {
    inner.map(|kind| kind().to_string())
}

fn refused<T: Persist>() -> Error {
    let error = Registry::new().register::<T>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    error
}

#[derive(Persist)]
#[persist(version = 3, migrate(1 = Hero::to_2, 2 = to_3))]
struct Hero {
    #[persist(id = 1)]
    name: String,
    #[persist(id = 4_294_967_295, convert = from_gold)]
    money: Money,
    #[persist(convert = u8_of_text, default = 7)]
    level: u8,
    #[persist(unknown)]
    rest: Unknown,
}

#[derive(Persist, Debug, PartialEq)]
struct Money {
    silver: u64,
    owner: String,
}

#[derive(Persist)]
struct Gold {
    gold: u32,
    owner: String,
}

fn from_gold(old: Gold) -> Money {
    Money { silver: u64::from(old.gold) * 10, owner: old.owner }
}

fn u8_of_text(old: String) -> Result<u8, std::num::ParseIntError> {
    old.parse()
}

impl Hero {
    fn to_2(record: &mut Record, from: u32) {
        record.set("seen", from);
    }
}

fn to_3(record: &mut Record, from: u32) -> Result<(), String> {
    match record.take("seen") {
        Some(_) => Ok(()),
        None => Err(format!("nothing seen in {from}")),
    }
}

#[derive(Persist)]
#[persist(version = 2, migrate = migrate_shape)]
enum Shape {
    Circle(u8, #[persist(convert = <f32 as From<u8>>::from, id = 3)] f32),
    #[persist(default)]
    Dot,
    #[persist(other)]
    Other {
        what: Unknown,
    },
}

fn migrate_shape(record: &mut Record, from: u32) -> Result<(), Error> {
    record.set("radius", f64::from(from));
    Ok(())
}

#[derive(Persist)]
enum Weather {
    Sun,
    #[persist(other)]
    Strange,
}

#[test]
fn ids_conversions_and_the_unknown_are_in_the_table() {
    let [name, money, level, rest] = Hero::FIELDS else { panic!("four fields") };
    assert_eq!([name.id, money.id, level.id, rest.id], [Some(1), Some(u32::MAX), None, None]);
    assert_eq!(kind_of(name.convert), None);
    assert_eq!(kind_of(money.convert).unwrap(), "Gold");
    assert_eq!(kind_of(level.convert).unwrap(), "String");
    assert_eq!(kind_of(rest.convert), None);
    let flags = [name, money, level, rest].map(|record| record.flags);
    assert_eq!(flags.map(|flags| flags.unknown), [false, false, false, true]);
    assert_eq!(flags.map(|flags| flags.default), [false, false, true, true]);
    assert!(matches!(rest.kind(), Kind::Unknown));
}

#[test]
fn variants_for_unknown_ones_are_in_the_table() {
    let others: Vec<bool> = Shape::VARIANTS.iter().map(|variant| variant.other).collect();
    assert_eq!(others, [false, false, true]);
    let [what] = Shape::VARIANTS[2].fields else { panic!("one field") };
    assert!(what.flags.unknown && !what.flags.default);
    let [_, radius] = Shape::VARIANTS[0].fields else { panic!("two fields") };
    assert_eq!((radius.id, radius.flags.unknown), (Some(3), false));
    assert_eq!(kind_of(radius.convert).unwrap(), "u8");
    let others: Vec<bool> = Weather::VARIANTS.iter().map(|variant| variant.other).collect();
    assert_eq!(others, [false, true]);
    assert!(matches!(Weather::CLASS.migration, Migration::None));
}

#[test]
fn steps_of_a_migration_are_in_the_table() {
    let Migration::Steps([(1, first), (2, second)]) = Hero::CLASS.migration else {
        panic!("two steps")
    };
    let mut record = Record::new("Hero");
    first(&mut record, 1).unwrap();
    assert_eq!(record.get("seen"), Some(&Value::U32(1)));
    second(&mut record, 2).unwrap();
    assert_eq!(record.get("seen"), None);
    assert_eq!(second(&mut record, 2).unwrap_err(), "nothing seen in 2");

    let Migration::Every(every) = Shape::CLASS.migration else { panic!("one function") };
    every(&mut record, 7).unwrap();
    assert_eq!(record.get("radius"), Some(&Value::F64(7.0)));
}

#[test]
fn classes_with_these_attributes_are_registered_with_their_older_types() {
    let mut registry = Registry::new();
    registry.register::<Hero>().unwrap();
    registry.register::<Shape>().unwrap();
    registry.register::<Weather>().unwrap();
    let names: Vec<String> = registry.classes().map(|class| class.name()).collect();
    assert_eq!(names, ["Hero", "Money", "Gold", "Shape", "Weather"]);
}

#[test]
fn a_field_is_made_of_the_bytes_of_its_older_type() {
    let mut buffer = Buffer::new();
    let old = buffer.encode(&Gold { gold: 12, owner: "Ada".into() }).unwrap().to_vec();
    let new = codec::convert::<Hero>(0, 1, &old).unwrap();
    let money: Money = codec::decode(&new).unwrap();
    assert_eq!(money, Money { silver: 120, owner: "Ada".into() });
    // In a variant.
    assert_eq!(codec::convert::<Shape>(0, 1, &[3]).unwrap(), 3.0_f32.to_le_bytes());
    // Longer than the first buffer.
    let owner = "x".repeat(10_000);
    let old = buffer.encode(&Gold { gold: 1, owner: owner.clone() }).unwrap().to_vec();
    let money: Money = codec::decode(&codec::convert::<Hero>(0, 1, &old).unwrap()).unwrap();
    assert_eq!(money.owner, owner);
}

#[test]
fn a_convert_function_may_refuse() {
    assert_eq!(codec::convert::<Hero>(0, 2, b"\x0242").unwrap(), [42]);
    let error = codec::convert::<Hero>(0, 2, b"\x03abc").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!(error.message(), "`convert` of Hero.level refused: invalid digit found in string");
}

#[derive(Persist)]
enum Refusing {
    Never {
        #[persist(rename = "why", convert = never)]
        reason: u8,
    },
}

fn never(_: ()) -> Result<u8, &'static str> {
    Err("never")
}

#[test]
fn a_refusal_names_the_variant() {
    let error = codec::convert::<Refusing>(0, 0, &[]).unwrap_err();
    assert_eq!(error.message(), "`convert` of Refusing::Never.why refused: never");
}

#[test]
fn bytes_that_are_not_the_older_type_are_refused() {
    let kind = |field, bytes: &[u8]| codec::convert::<Hero>(0, field, bytes).unwrap_err().kind();
    assert_eq!(kind(1, &[12, 0, 0]), ErrorKind::Truncated);
    assert_eq!(kind(1, &[12, 0, 0, 0, 1, 0xff]), ErrorKind::InvalidValue);
    assert_eq!(kind(2, b"\x0142"), ErrorKind::Damaged);
    // Not converted at all, or not there.
    assert_eq!(kind(0, &[]), ErrorKind::NotFound);
    assert_eq!(kind(9, &[]), ErrorKind::NotFound);
    let error = codec::convert::<Shape>(1, 1, &[3]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let error = codec::convert::<Weather>(0, 0, &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[derive(Persist)]
#[persist(bound = "T: Persist + Ord")]
struct Sorted<T: Ord> {
    #[persist(convert = sorted::<T>)]
    items: Vec<T>,
    #[persist(convert = <Result<u8, String>>::Ok)]
    result: Result<u8, String>,
}

fn sorted<T: Ord>((mut items, reverse): (Vec<T>, bool)) -> Vec<T> {
    items.sort();
    if reverse {
        items.reverse();
    }
    items
}

#[test]
fn generic_functions_and_constructors_can_convert() {
    let old = codec::convert::<Sorted<u8>>(0, 0, &[3, 2, 3, 1, 1]).unwrap();
    assert_eq!(old, [3, 3, 2, 1]);
    // A `Result` that is the field's own type is no refusal.
    assert_eq!(codec::convert::<Sorted<u8>>(0, 1, &[9]).unwrap(), [0, 9]);
    assert_eq!(kind_of(Sorted::<u16>::FIELDS[0].convert).unwrap(), "(Vec<u16>, bool)");
    Registry::new().register::<Sorted<u16>>().unwrap();
}

/// Writes the default of a field, as a load does where a save lacks it.
struct DefaultOf(usize);

impl Persist for DefaultOf {
    fn kind() -> Kind {
        Kind::Unit
    }

    fn prototype(_: &Prototypes<'_>) -> persist::Result<Self> {
        Ok(Self(0))
    }

    fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        Hero::encode_default(0, self.0, out)
    }

    fn decode(_: &[u8], _: &mut Decoder<'_>) -> Result<Self, Fail> {
        Err(Fail::Value)
    }
}

#[test]
fn a_missing_field_of_unknown_ones_is_empty() {
    let mut buffer = Buffer::new();
    assert_eq!(buffer.encode(&DefaultOf(3)).unwrap(), [0]);
    let hero = Hero {
        name: "Ada".into(),
        money: Money { silver: 1, owner: String::new() },
        level: 2,
        rest: Unknown::default(),
    };
    let bytes = buffer.encode(&hero).unwrap().to_vec();
    let hero: Hero = codec::decode(&bytes).unwrap();
    assert!(hero.rest.is_empty());
    assert_eq!(bytes.last(), Some(&0));
}

#[derive(Persist)]
struct Twice {
    #[persist(convert = doubled)]
    value: Vec<u32>,
}

fn doubled(old: std::collections::VecDeque<u32>) -> Vec<u32> {
    old.into_iter().map(|value| value * 2).collect()
}

#[test]
fn a_conversion_that_cannot_be_told_from_the_field_is_refused() {
    let error = refused::<Twice>();
    assert_eq!((error.class(), error.field()), (Some("Twice"), Some("value")));
    assert_eq!(
        error.message(),
        "`convert` takes Vec<u32>, which is stored as the field itself is, so that the two cannot be told apart; give the class a `version` and a `migrate`"
    );
}

#[derive(Persist)]
struct Linked {
    #[persist(convert = first)]
    next: Option<Rc<RefCell<Linked>>>,
}

fn first(mut old: Vec<Rc<RefCell<Linked>>>) -> Option<Rc<RefCell<Linked>>> {
    old.pop()
}

#[derive(Persist)]
struct Woken {
    #[persist(convert = slept)]
    hours: u8,
}

#[derive(Persist)]
#[persist(after_load = wake)]
struct Sleeper(u8);

fn wake(sleeper: &mut Sleeper) {
    sleeper.0 = 0;
}

fn slept(old: Sleeper) -> u8 {
    old.0
}

#[test]
fn a_conversion_of_pointers_or_hooks_is_refused() {
    let error = refused::<Linked>();
    assert!(error.message().contains("holds a shared pointer and cannot be taken by"), "{error}");
    let error = refused::<Woken>();
    assert_eq!(
        error.message(),
        "Sleeper holds a class with hooks and cannot be taken by a field's `convert`: an older value is not there to be connected or to run hooks; use `alias`, or `version` and `migrate`"
    );
}

#[derive(Persist)]
struct Bare {
    rest: Unknown,
}

#[derive(Persist)]
enum Inside {
    A,
    B { all: Vec<(u8, Option<Unknown>)> },
}

#[derive(Persist)]
struct Number {
    #[persist(unknown)]
    rest: u8,
}

#[derive(Persist)]
enum Text {
    Known,
    #[persist(other)]
    Other(String),
}

#[test]
fn an_unknown_that_no_load_fills_is_refused() {
    let error = refused::<Bare>();
    assert_eq!((error.class(), error.field()), (Some("Bare"), Some("rest")));
    let advice = "an `Unknown` is saved only in a field of its own marked `#[persist(unknown)]`";
    assert!(error.message().starts_with(advice), "{error}");
    let error = refused::<Inside>();
    assert_eq!((error.class(), error.field()), (Some("Inside"), Some("all")));
    assert!(error.message().starts_with(advice), "{error}");
}

#[test]
fn what_is_unknown_is_kept_in_an_unknown_only() {
    let error = refused::<Number>();
    assert_eq!((error.class(), error.field()), (Some("Number"), Some("rest")));
    assert_eq!(
        error.message(),
        "`unknown` keeps what the program does not have in a `persist::Unknown`, and the field is u8; change its type or remove `unknown`"
    );
    let error = refused::<Text>();
    assert_eq!((error.class(), error.field()), (Some("Text"), Some("0")));
    assert!(error.message().starts_with("`other` keeps what"), "{error}");
}

/// A class whose table is written by hand; nothing is ever saved of it.
macro_rules! by_hand {
    ($name:ident, $class:expr) => {
        struct $name;

        impl Persist for $name {
            fn kind() -> Kind {
                Kind::Class(|| <$name as Reflect>::CLASS)
            }

            fn reach(types: &mut codec::TypeSet) {
                types.class::<Self>();
            }

            fn prototype(_: &Prototypes<'_>) -> persist::Result<Self> {
                Ok(Self)
            }

            fn decode(_: &[u8], _: &mut Decoder<'_>) -> Result<Self, Fail> {
                Ok(Self)
            }
        }

        impl Reflect for $name {
            const CLASS: &'static Class = &$class;
            const FIELDS: &'static [FieldRecord] = &[];
            const VARIANTS: &'static [VariantRecord] = &[];

            fn variant(&self) -> usize {
                0
            }

            fn encode_field(&self, _: usize, out: &mut Encoder<'_>) -> Result<(), Stop> {
                Err(out.no_field())
            }

            fn decode_field(&mut self, _: usize, _: &mut Decoder<'_>) -> Result<(), Fail> {
                Err(Fail::Value)
            }

            fn encode_default(_: usize, _: usize, out: &mut Encoder<'_>) -> Result<(), Stop> {
                Err(out.no_field())
            }

            fn field(&self, _: usize) -> Option<&dyn std::any::Any> {
                None
            }

            fn field_mut(&mut self, _: usize) -> Option<&mut dyn std::any::Any> {
                None
            }
        }

        impl persist::Pointee for $name {
            type As = codec::AsValue;
        }
    };
}

const DONE: Migrate = |_, _| Ok(());

const fn class<T: 'static>(version: u32, migration: Migration) -> Class {
    Class::new::<T>("ByHand", Body::Struct(&[])).version(version).migration(migration)
}

by_hand!(Whole, class::<Whole>(3, Migration::Steps(&[(1, DONE), (2, DONE)])));
by_hand!(First, class::<First>(1, Migration::Every(DONE)));
by_hand!(Gap, class::<Gap>(4, Migration::Steps(&[(1, DONE), (3, DONE)])));
by_hand!(Late, class::<Late>(3, Migration::Steps(&[(2, DONE)])));
by_hand!(Short, class::<Short>(4, Migration::Steps(&[(1, DONE), (2, DONE)])));
by_hand!(Beyond, class::<Beyond>(2, Migration::Steps(&[(1, DONE), (2, DONE)])));
by_hand!(Zero, class::<Zero>(2, Migration::Steps(&[(0, DONE), (1, DONE)])));
by_hand!(Double, class::<Double>(3, Migration::Steps(&[(1, DONE), (1, DONE), (2, DONE)])));

#[test]
fn a_gap_in_a_migration_is_found_at_registration() {
    Registry::new().register::<Whole>().unwrap();
    let none = "add one, which may do nothing if field names say enough";
    assert_eq!(
        refused::<First>().message(),
        "ByHand has a `migrate` and is in version 1, before which there is none; give it `version = 2` or more"
    );
    for (error, from) in [(refused::<Gap>(), 2), (refused::<Late>(), 1), (refused::<Short>(), 3)] {
        let to = from + 1;
        let message =
            format!("`migrate` of ByHand has no step from version {from} to {to}; {none}");
        assert_eq!(error.message(), message);
    }
}

#[test]
fn steps_that_lead_nowhere_are_found_at_registration() {
    for (error, from) in [(refused::<Beyond>(), 2), (refused::<Zero>(), 0)] {
        let message = format!(
            "`migrate` of ByHand has a step from version {from}; steps begin at versions 1 to 1, below that of the class"
        );
        assert_eq!(error.message(), message);
    }
    assert_eq!(
        refused::<Double>().message(),
        "`migrate` of ByHand has the step from version 1 behind that from version 1; give one step for each version, in ascending order"
    );
}

const UNKNOWN: FieldRecord =
    FieldRecord::new::<Unknown>("rest", None, <Unknown as Persist>::kind).keeps_unknown();

const fn other(name: &'static str, fields: &'static [FieldRecord]) -> VariantRecord {
    VariantRecord { name, aliases: &[], fields, other: true }
}

by_hand!(Keepers, Class::new::<Keepers>("ByHand", Body::Struct(&[UNKNOWN, UNKNOWN])));
by_hand!(
    Others,
    Class::new::<Others>("ByHand", Body::Enum(&[other("A", &[]), other("B", &[UNKNOWN])]))
);
by_hand!(Crowd, Class::new::<Crowd>("ByHand", Body::Enum(&[other("A", &[UNKNOWN, UNKNOWN])])));

#[test]
fn several_places_for_what_is_unknown_are_found_at_registration() {
    let error = refused::<Keepers>();
    assert_eq!(error.message(), "`rest` holds all that is unknown already; remove one of the two");
    let error = refused::<Others>();
    assert_eq!(error.field(), Some("B"));
    assert!(error.message().starts_with("`A` stands for unknown variants already"), "{error}");
    let error = refused::<Crowd>();
    assert!(error.message().ends_with("this one has 2 fields; remove all but one"), "{error}");
}
