//! The attributes that bring older saves to the program's types: what the derive writes into
//! the tables, and `convert` functions on bare bytes.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]
#![allow(clippy::needless_pass_by_value, reason = "a `convert` function owns what it gets")]

use persist::__private::{Env, convert};
use persist::codec::{self, Buffer, Decoder, Encoder, Fail, Prototypes, Reflect, Stop};
use persist::reflect::Kind;
use persist::save::Registry;
use persist::{Error, ErrorKind, Persist, Record, Unknown, Value};

/// Kinds have no `==`; what they are called says as much here.
fn kind_of(kind: Option<Kind>) -> Option<String> {
    kind.map(|kind| kind.to_string())
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
#[persist(version = 2, migrate(1 = migrate_shape))]
enum Shape {
    Circle(u8, #[persist(convert = <f32 as From<u8>>::from, id = 3)] f32),
    #[persist(empty)]
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
    assert_eq!(kind_of(name.old_kinds().next()), None);
    assert_eq!(kind_of(money.old_kinds().next()).unwrap(), "Gold");
    assert_eq!(kind_of(level.old_kinds().next()).unwrap(), "String");
    assert_eq!(kind_of(rest.old_kinds().next()), None);
    let records = [name, money, level, rest];
    assert_eq!(records.map(|record| record.keeps_unknown), [false, false, false, true]);
    assert_eq!(records.map(|record| record.has_default), [false, false, true, true]);
    assert!(matches!(rest.kind(), Kind::Unknown));
}

#[test]
fn variants_for_unknown_ones_are_in_the_table() {
    let others: Vec<bool> = Shape::VARIANTS.iter().map(|variant| variant.other).collect();
    assert_eq!(others, [false, false, true]);
    let [what] = Shape::VARIANTS[2].fields else { panic!("one field") };
    assert!(what.keeps_unknown && !what.has_default);
    let [_, radius] = Shape::VARIANTS[0].fields else { panic!("two fields") };
    assert_eq!((radius.id, radius.keeps_unknown), (Some(3), false));
    assert_eq!(kind_of(radius.old_kinds().next()).unwrap(), "u8");
    let others: Vec<bool> = Weather::VARIANTS.iter().map(|variant| variant.other).collect();
    assert_eq!(others, [false, true]);
    assert!(Weather::CLASS.migration.is_empty());
}

#[test]
fn steps_of_a_migration_are_in_the_table() {
    let [(1, first), (2, second)] = Hero::CLASS.migration else { panic!("two steps") };
    let mut record = Record::new("Hero");
    first(&mut record, 1, &Env::DEFAULT).unwrap().unwrap();
    assert_eq!(record.get("seen"), Some(&Value::U32(1)));
    second(&mut record, 2, &Env::DEFAULT).unwrap().unwrap();
    assert_eq!(record.get("seen"), None);
    let refused = second(&mut record, 2, &Env::DEFAULT).unwrap();
    assert_eq!(refused.unwrap_err(), "nothing seen in 2");

    let [(1, only)] = Shape::CLASS.migration else { panic!("one step") };
    only(&mut record, 7, &Env::DEFAULT).unwrap().unwrap();
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
    let new = convert::<Hero>(0, 1, &old).unwrap();
    let money: Money = codec::decode(&new).unwrap();
    assert_eq!(money, Money { silver: 120, owner: "Ada".into() });
    // In a variant.
    assert_eq!(convert::<Shape>(0, 1, &[3]).unwrap(), 3.0_f32.to_le_bytes());
    // Longer than the first buffer.
    let owner = "x".repeat(10_000);
    let old = buffer.encode(&Gold { gold: 1, owner: owner.clone() }).unwrap().to_vec();
    let money: Money = codec::decode(&convert::<Hero>(0, 1, &old).unwrap()).unwrap();
    assert_eq!(money.owner, owner);
}

#[test]
fn a_convert_function_may_refuse() {
    assert_eq!(convert::<Hero>(0, 2, b"\x0242").unwrap(), [42]);
    let error = convert::<Hero>(0, 2, b"\x03abc").unwrap_err();
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
    let error = convert::<Refusing>(0, 0, &[]).unwrap_err();
    assert_eq!(error.message(), "`convert` of Refusing::Never.why refused: never");
}

#[test]
fn bytes_that_are_not_the_older_type_are_refused() {
    let kind = |field, bytes: &[u8]| convert::<Hero>(0, field, bytes).unwrap_err().kind();
    assert_eq!(kind(1, &[12, 0, 0]), ErrorKind::Truncated);
    assert_eq!(kind(1, &[12, 0, 0, 0, 1, 0xff]), ErrorKind::InvalidValue);
    assert_eq!(kind(2, b"\x0142"), ErrorKind::Damaged);
    // Not converted at all, or not there.
    assert_eq!(kind(0, &[]), ErrorKind::NotFound);
    assert_eq!(kind(9, &[]), ErrorKind::NotFound);
    let error = convert::<Shape>(1, 1, &[3]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let error = convert::<Weather>(0, 0, &[]).unwrap_err();
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
    let old = convert::<Sorted<u8>>(0, 0, &[3, 2, 3, 1, 1]).unwrap();
    assert_eq!(old, [3, 3, 2, 1]);
    // A `Result` that is the field's own type is no refusal.
    assert_eq!(convert::<Sorted<u8>>(0, 1, &[9]).unwrap(), [0, 9]);
    assert_eq!(kind_of(Sorted::<u16>::FIELDS[0].old_kinds().next()).unwrap(), "(Vec<u16>, bool)");
    Registry::new().register::<Sorted<u16>>().unwrap();
}

/// Writes the default of a field, as a load does where a save lacks it.
struct DefaultOf(usize);

impl Persist for DefaultOf {
    fn persist_kind() -> Kind {
        Kind::Unit
    }

    fn persist_empty(_: &Prototypes<'_>) -> persist::Result<Self> {
        Ok(Self(0))
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        Hero::persist_make_field(0, self.0, None, out)
    }

    fn persist_decode(_: &mut Decoder<'_>) -> Result<Self, Fail> {
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
