//! The fast path against the path by index: for types of every shape, a value's
//! bytes are those of its fields one after the other, and the field records say
//! where each lies.

use std::fmt::Debug;
use std::mem::offset_of;

use persist::__private::FieldAccess;
use persist::codec::{self, Buffer, Decoder, Encoder, Fail, Prototypes, Reflect, Stop};
use persist::reflect::Kind;
use persist::{ErrorKind, Persist};
use persist_tests::support::shapes::{
    Attributes, Bare, Empty, Fixed, Grid, Mixed, Nothing, Pair, Player, Shape, Slot, Tree, Wide,
};

/// An empty value.
fn empty<T: Persist>() -> T {
    T::persist_empty(&Prototypes::bare()).expect("an empty value")
}

/// A value seen through one of its fields; it has no other public way to an
/// encoder or decoder.
struct Through<T> {
    value: T,
    field: usize,
}

impl<T: Reflect> Through<T> {
    /// How the field is written and read by itself.
    fn access(&self) -> Option<&'static FieldAccess> {
        Some(T::__ROWS.get(self.value.persist_variant())?.get(self.field)?.access())
    }
}

impl<T: Reflect> Persist for Through<T> {
    fn persist_kind() -> Kind {
        Kind::Unit
    }

    fn persist_empty(prototypes: &Prototypes<'_>) -> persist::Result<Self> {
        Ok(Self { value: T::persist_empty(prototypes)?, field: 0 })
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        match (self.access(), self.value.persist_field(self.field)) {
            (Some(access), Some(field)) => access.encode(field, out),
            _ => Err(out.no_field()),
        }
    }

    fn persist_decode(_: &mut Decoder<'_>) -> Result<Self, Fail> {
        Err(Fail::Value)
    }

    // Hidden, but nothing else has both a value and a decoder.
    fn __decode_into(&mut self, _: &[u8], input: &mut Decoder<'_>) -> Result<(), Fail> {
        let access = self.access().ok_or(Fail::Value)?;
        access.decode(self.value.persist_field_mut(self.field), input)
    }
}

/// How many fields the value's struct or variant has.
fn fields<T: Reflect>(value: &T) -> usize {
    T::VARIANTS.get(value.persist_variant()).map_or(T::FIELDS, |variant| variant.fields).len()
}

/// Holds the two paths against each other: for `value`, and over `other`, which
/// is of the same variant and has another value in every field.
fn check<T: Reflect + PartialEq + Debug>(value: T, other: T) {
    let mut buffer = Buffer::new();
    let whole = buffer.encode(&value).expect("encode").to_vec();
    let mut parts = Vec::new();
    if !T::VARIANTS.is_empty() {
        let tag = u16::try_from(value.persist_variant()).expect("a tag").to_le_bytes();
        parts.extend(&tag[..if T::VARIANTS.len() > 256 { 2 } else { 1 }]);
    }

    let again: T = codec::decode(&whole).expect("decode");
    assert_eq!(again, value);
    let count = fields(&value);
    let mut target = Through { value: other, field: 0 };
    assert_eq!(fields(&target.value), count, "the two are of one variant");
    let mut through = Through { value, field: 0 };
    for field in 0..count {
        (through.field, target.field) = (field, field);
        let bytes = buffer.encode(&through).expect("a field").to_vec();
        let before = buffer.encode(&target).expect("a field").to_vec();
        assert_ne!(before, bytes, "field {field} of the two values is the same");
        codec::decode_into(&mut target, &bytes).expect("a field");
        assert_eq!(buffer.encode(&target).expect("a field"), bytes, "field {field}");
        parts.extend(bytes);

        let type_id = through.value.persist_field(field).expect("a field").type_id();
        let mutable = through.value.persist_field_mut(field).expect("a field");
        assert_eq!((*mutable).type_id(), type_id);
    }
    assert_eq!(parts, whole, "the fast path and the fields one by one");
    assert_eq!(target.value, through.value, "every field was restored");

    assert!(through.value.persist_field(count).is_none());
    assert!(through.value.persist_field_mut(count).is_none());
    target.field = count;
    assert!(codec::decode_into(&mut target, &whole).is_err());
    through.field = count;
    let error = buffer.encode(&through).expect_err("no such field");
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

fn player(n: u8) -> Player {
    Player { level: i32::from(n) - 100, flag: n }
}

fn mixed(n: u8) -> Mixed {
    let text = |i: u8| "e\u{301}".repeat(usize::from(n % 20 + i));
    Mixed {
        a: text(0),
        b: n,
        c: u16::from(n) * 200,
        d: n.is_multiple_of(2).then(|| player(n)),
        e: vec![i64::from(n) << 40; usize::from(n)],
        f: [n, 1, 2],
        g: [(n, text(1)), (n + 1, text(2))].into(),
        h: u128::from(n) << 100,
        i: [text(3), text(4)],
        j: [(text(5), vec![player(n), player(n + 1)])].into(),
    }
}

#[test]
fn structs_of_every_shape_take_both_paths() {
    check(player(1), player(2));
    check(
        Fixed { on: true, position: (1.5, -0.0), letter: 'x', deep: [player(1), player(2)] },
        Fixed {
            on: false,
            position: (0.0, 7.0),
            letter: '\u{10ffff}',
            deep: [player(3), player(4)],
        },
    );
    check(mixed(3), mixed(6));
    check(mixed(250), mixed(7));
    check(Pair("a".into(), 1), Pair("b".into(), 2));
    check(Nothing, Nothing);
    check(Empty {}, Empty {});
}

#[test]
fn generic_structs_take_both_paths() {
    check(Slot { before: 1, item: 7_u64, after: 2 }, Slot { before: 3, item: 8, after: 4 });
    let slot = |n: u8| Slot { before: n, item: mixed(n), after: n.into() };
    check(slot(1), slot(2));
    check(
        Slot { before: 1, item: Slot { before: 2, item: Some(player(1)), after: 3 }, after: 4 },
        Slot { before: 5, item: Slot { before: 6, item: None, after: 7 }, after: 8 },
    );
    let grid = |n: u8| Grid { cells: [[n; 3], [n + 1; 3]], name: n.to_string() };
    check(grid(1), grid(3));
    assert_eq!(Grid::<3, 2>::CLASS.name(), "Grid<3, 2>");
    assert_ne!(Grid::<3, 2>::CLASS.id(), Grid::<2, 3>::CLASS.id());
}

#[test]
fn skipped_fields_have_no_record_and_keep_their_value() {
    let value = |n: u8| Attributes {
        health_points: n.into(),
        cache: Vec::new(),
        name: "x".repeat(n.into()),
        lives: n,
        frames: 9,
        last: Some(n.to_string()),
    };
    check(value(1), value(2));
    let names: Vec<_> = Attributes::FIELDS.iter().map(|field| field.name).collect();
    assert_eq!(names, ["hp", "name", "lives", "last"]);

    let mut target = Attributes { cache: vec![1], frames: 1, ..value(3) };
    let bytes = Buffer::new().encode(&value(4)).unwrap().to_vec();
    codec::decode_into(&mut target, &bytes).unwrap();
    assert_eq!(target, Attributes { cache: vec![1], frames: 1, ..value(4) });
    let fresh: Attributes = codec::decode(&bytes).unwrap();
    assert_eq!(fresh, value(4));
}

#[test]
fn a_with_module_refuses_on_both_paths() {
    let long = Attributes { name: "x".repeat(100), ..empty::<Attributes>() };
    let whole = Buffer::new().encode(&long).unwrap().to_vec();
    let error = codec::decode::<Attributes>(&whole).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("`as_length` refused: 100 is too long"), "{error}");
    let mut through = Through { value: empty::<Attributes>(), field: 1 };
    let error = codec::decode_into(&mut through, &[100, 0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
}

#[test]
fn variants_of_every_form_take_both_paths() {
    check(Shape::Point, Shape::Point);
    check(Shape::Circle(1.5), Shape::Circle(-1.5));
    let named =
        |n: i16| Shape::Named { name: n.to_string(), corners: vec![(n, -n)], closed: n > 1 };
    check(named(1), named(2));
    let inner = |n: u8| {
        Shape::Inner(player(n), Slot { before: n, item: n.to_string(), after: n.into() }, n)
    };
    check(inner(1), inner(2));
    let partly =
        |n: u8| Shape::Partly { kept: n.into(), dropped: 0, length: "x".repeat(n.into()), end: n };
    check(partly(1), partly(2));
    check(Bare::On, Bare::On);
    check(Ok::<u8, String>(1), Ok(2));
    check(Err::<u8, String>("a".into()), Err("b".into()));
}

#[test]
fn boxes_take_both_paths() {
    #[derive(Persist, Debug, PartialEq)]
    struct Boxed {
        one: Box<Player>,
        two: Option<Box<Player>>,
    }
    let boxed = |n: u8| Boxed { one: Box::new(player(n)), two: Some(Box::new(player(n + 1))) };
    check(boxed(1), boxed(5));
}

#[test]
fn nested_values_of_one_type_take_both_paths() {
    let tree = |n: u8, children: Vec<Tree>| Tree {
        name: n.to_string(),
        parent: (n > 1)
            .then(|| Box::new(Tree { name: String::new(), children: vec![], parent: None })),
        children,
    };
    check(tree(2, vec![tree(1, vec![]), tree(3, vec![tree(4, vec![])])]), tree(1, vec![]));
}

#[test]
fn more_than_256_variants_have_tags_of_two_bytes() {
    assert_eq!(Wide::VARIANTS.len(), 258);
    check(Wide::First, Wide::First);
    check(Wide::Xff, Wide::Xff);
    check(Wide::Last(1, "a".into()), Wide::Last(2, "b".into()));
    assert_eq!(Buffer::new().encode(&Wide::Xff).unwrap(), [0, 1]);
    assert_eq!(Buffer::new().encode(&Wide::Last(7, String::new())).unwrap(), [1, 1, 7, 0]);
    assert!(codec::decode::<Wide>(&[2, 1]).is_err());
}

/// Checks the records against what the compiler says.
macro_rules! records {
    ($ty:ty: $($field:tt: $of:ty = $name:literal),*) => {
        let expected = [$(($name, Some(offset_of!($ty, $field)), size_of::<$of>())),*];
        let found: Vec<_> =
            <$ty>::FIELDS.iter().map(|field| (field.name, field.offset, field.size)).collect();
        assert_eq!(found, expected);
        assert_eq!(<$ty>::CLASS.size, size_of::<$ty>());
    };
}

#[test]
fn records_say_where_the_compiler_put_the_fields() {
    records!(Player: level: i32 = "level", flag: u8 = "flag");
    records!(Pair: 0: String = "0", 1: u32 = "1");
    records!(Slot<u64>: before: u8 = "before", item: u64 = "item", after: u16 = "after");
    records!(Grid<3, 2>: cells: [[u8; 3]; 2] = "cells", name: String = "name");
    records!(
        Attributes: health_points: u16 = "hp", name: String = "name", lives: u8 = "lives",
        last: Option<String> = "last"
    );
    assert!(Shape::FIELDS.is_empty());
    let named = Shape::VARIANTS[2].fields;
    let found: Vec<_> = named.iter().map(|field| (field.name, field.offset, field.size)).collect();
    let (string, list) = (size_of::<String>(), size_of::<Vec<(i16, i16)>>());
    assert_eq!(found, [("name", None, string), ("corners", None, list), ("closed", None, 1)]);
    let flags: Vec<_> =
        Attributes::FIELDS.iter().map(|field| (field.has_default, field.has_module)).collect();
    assert_eq!(flags, [(false, false), (false, true), (true, false), (true, false)]);
}

#[test]
fn fields_are_reached_by_index() {
    let mut player = player(5);
    assert_eq!(player.persist_field(0).unwrap().downcast_ref::<i32>(), Some(&-95));
    *player.persist_field_mut(1).unwrap().downcast_mut::<u8>().unwrap() = 200;
    assert_eq!(player, Player { level: -95, flag: 200 });
    let mut shape = Shape::Circle(2.0);
    *shape.persist_field_mut(0).unwrap().downcast_mut::<f64>().unwrap() = 4.0;
    assert_eq!(shape, Shape::Circle(4.0));
    assert!(shape.persist_field(1).is_none());
    assert!(Bare::On.persist_field(0).is_none());
}

// The two structs are `repr(C)`, so that the offsets are no compiler's choice.
#[cfg(target_pointer_width = "64")]
#[test]
fn a_class_shows_as_a_table() {
    insta::assert_snapshot!(Player::CLASS.to_string(), @"
    class Player, id 0x333dc56ddffd8ea0, version 1, 8 bytes in memory
      level  offset    0  size    4  i32
      flag   offset    4  size    1  u8
    ");
    insta::assert_snapshot!(Attributes::CLASS.to_string(), @"
    class Attributes, id 0x4d, version 3, 96 bytes in memory
      hp     offset    0  size    2  u16
      name   offset   32  size   24  u16  with
      lives  offset   56  size    1  u8  default
      last   offset   72  size   24  Option<String>  default
    ");
    // The size of an enum is the compiler's choice.
    let table = Shape::CLASS.to_string();
    let table = table.replace(&format!("{} bytes", size_of::<Shape>()), "some bytes");
    insta::assert_snapshot!(table, @"
    class Shape, id 0x2de969afacdaa7a6, version 1, some bytes in memory
      Point
      Circle
        0  offset    -  size    8  f64
      Named
        name     offset    -  size   24  String
        corners  offset    -  size   24  Vec<(i16, i16)>
        closed   offset    -  size    1  bool
      Inner
        0  offset    -  size    8  Player
        1  offset    -  size   32  Slot<String>
        2  offset    -  size    1  u8
      Partly
        kept    offset    -  size    4  u32
        length  offset    -  size   24  u16  with
        end     offset    -  size    1  u8
    ");
}
