//! `#[persist(compact)]`: integers in as few bytes as they need, and everything else as it is.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "it is a test")]

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};
use std::num::{NonZeroI32, NonZeroU16, Wrapping};
use std::rc::Rc;

use persist::codec::{Buffer, Reflect, decode, decode_into};
use persist::{Component, ErrorKind, LoadOptions, Persist, Saves, Value, World};
use persist_tools::Document;
use proptest::prelude::*;

#[derive(Persist, Clone, Debug, Default, PartialEq)]
#[persist(compact)]
struct Numbers {
    a: u16,
    b: u32,
    c: u64,
    d: i16,
    e: i32,
    f: i64,
    size: usize,
    offset: isize,
    byte: u8,
    wide: u128,
    float: f32,
    name: String,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
struct Held {
    #[persist(compact)]
    list: Vec<u32>,
    plain: Vec<u32>,
    #[persist(compact)]
    queue: VecDeque<i16>,
    #[persist(compact)]
    slice: Box<[u64]>,
    #[persist(compact)]
    maybe: Option<i64>,
    #[persist(compact)]
    array: [u32; 4],
    #[persist(compact)]
    long: Box<[[u16; 3000]]>,
    #[persist(compact)]
    pair: (u16, String, Option<(i32, u8)>),
    #[persist(compact)]
    map: BTreeMap<u32, Vec<i32>>,
    #[persist(compact)]
    names: HashMap<String, u64>,
    #[persist(compact)]
    set: HashSet<i32>,
    #[persist(compact)]
    ordered: BTreeSet<u64>,
    #[persist(compact)]
    wrapped: Wrapping<u32>,
    #[persist(compact)]
    cell: Cell<i16>,
    #[persist(compact)]
    id: Id,
    #[persist(compact)]
    items: Vec<(u32, Plain)>,
}

#[derive(Persist, Clone, Copy, Debug, Default, PartialEq)]
#[persist(transparent)]
struct Id(u32);

/// A class of its own, whose numbers stay as they are.
#[derive(Persist, Clone, Debug, Default, PartialEq)]
struct Plain {
    number: u32,
}

#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(compact)]
enum Shape {
    Dot,
    Box { width: u32, name: String, height: i32 },
    Line(Vec<u16>, f32),
}

fn encode<T: Persist>(value: &T) -> Vec<u8> {
    Buffer::new().encode(value).unwrap().to_vec()
}

/// A count, as the page on the format has it.
fn count(number: u64) -> Vec<u8> {
    if number <= 247 {
        return vec![u8::try_from(number).unwrap()];
    }
    let mut digits = Vec::new();
    let mut rest = number;
    while rest > 0 {
        digits.push((rest % 256) as u8);
        rest /= 256;
    }
    let mut bytes = vec![247 + u8::try_from(digits.len()).unwrap()];
    bytes.append(&mut digits);
    bytes
}

/// A signed number, likewise.
fn signed(number: i64) -> Vec<u8> {
    let twice = i128::from(number) * 2;
    count(u64::try_from(if number < 0 { -twice - 1 } else { twice }).unwrap())
}

fn numbers() -> impl Strategy<Value = Numbers> {
    // Of all lengths: a random number of bits is cut off.
    let bits = || (any::<u64>(), 0..64_u32).prop_map(|(number, cut)| number >> cut);
    (
        bits(),
        bits(),
        bits(),
        bits(),
        bits(),
        bits(),
        bits(),
        any::<(u8, u128, bool)>(),
        "[a-z]{0,4}",
    )
        .prop_map(|(a, b, c, d, e, f, size, (byte, wide, negative), name)| {
            let sign =
                |number: u64| number.cast_signed().wrapping_mul(if negative { -1 } else { 1 });
            Numbers {
                a: a as u16,
                b: b as u32,
                c,
                d: sign(d) as i16,
                e: sign(e) as i32,
                f: sign(f),
                // A machine of 32 bits has no larger ones.
                size: usize::try_from(size).unwrap_or(usize::MAX),
                offset: isize::try_from(sign(b)).unwrap_or(isize::MIN),
                byte,
                wide,
                float: f32::from(byte),
                name,
            }
        })
}

proptest! {
    #[test]
    fn integers_have_the_bytes_that_the_format_says(numbers in numbers()) {
        let mut wanted = Vec::new();
        wanted.extend(count(numbers.a.into()));
        wanted.extend(count(numbers.b.into()));
        wanted.extend(count(numbers.c));
        wanted.extend(signed(numbers.d.into()));
        wanted.extend(signed(numbers.e.into()));
        wanted.extend(signed(numbers.f));
        wanted.extend(count(numbers.size as u64));
        wanted.extend(signed(numbers.offset as i64));
        wanted.push(numbers.byte);
        wanted.extend(numbers.wide.to_le_bytes());
        wanted.extend(numbers.float.to_le_bytes());
        wanted.extend(count(numbers.name.len() as u64));
        wanted.extend(numbers.name.as_bytes());
        let bytes = encode(&numbers);
        prop_assert_eq!(&bytes, &wanted);
        prop_assert_eq!(&decode::<Numbers>(&bytes).unwrap(), &numbers);
        let mut old = Numbers { name: String::from("old"), ..Numbers::default() };
        decode_into(&mut old, &bytes).unwrap();
        prop_assert_eq!(&old, &numbers);
        prop_assert_eq!(
            &persist::from_slice::<Numbers>(&persist::to_vec(&numbers).unwrap()).unwrap(),
            &numbers
        );
    }

    #[test]
    fn bytes_that_are_changed_are_refused_or_another_value(
        numbers in numbers(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = encode(&numbers);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(found) = decode::<Numbers>(&bytes) {
            // Only the shortest form is valid, so that equal values have equal bytes.
            prop_assert_eq!(encode(&found), bytes);
        }
    }
}

fn held() -> Held {
    Held {
        list: vec![1, 300, u32::MAX, 0],
        plain: vec![1, 300, u32::MAX, 0],
        queue: [-1, i16::MIN, i16::MAX].into(),
        slice: [0, u64::MAX].into(),
        maybe: Some(i64::MIN),
        array: [7, 8, 1 << 20, 9],
        long: vec![[247; 3000], [248; 3000]].into(),
        pair: (1, String::from("one"), Some((-1, 200))),
        map: BTreeMap::from([(1, vec![-1, 2]), (70_000, vec![])]),
        names: HashMap::from([(String::from("gold"), 12), (String::from("wood"), 1 << 40)]),
        set: HashSet::from([-5, 5, 1 << 30]),
        ordered: BTreeSet::from([1, u64::MAX]),
        wrapped: Wrapping(6),
        cell: Cell::new(-3),
        id: Id(9),
        items: vec![(1, Plain { number: 1 }), (2, Plain { number: 2 })],
    }
}

#[test]
fn it_goes_through_collections_and_wrappers_but_not_into_classes() {
    let held = held();
    let bytes = encode(&held);
    assert_eq!(decode::<Held>(&bytes).unwrap(), held);
    assert_eq!(persist::from_slice::<Held>(&persist::to_vec(&held).unwrap()).unwrap(), held);
    let kinds: Vec<String> = Held::FIELDS.iter().map(|field| field.kind().to_string()).collect();
    insta::assert_snapshot!(kinds.join("\n"));
    // The first list takes a byte for its length and one to five for each number.
    assert_eq!(bytes[..11], [4, 1, 249, 44, 1, 251, 255, 255, 255, 255, 0]);
    assert_eq!(bytes[11..16], [4, 1, 0, 0, 0]);
    for fields in [&[][..], &[1, 2, 3][..]] {
        let map: HashMap<u32, u32> = fields.iter().map(|number| (*number, *number)).collect();
        let held =
            Held { set: fields.iter().map(|number| *number as i32).collect(), ..held.clone() };
        assert_eq!(decode::<Held>(&encode(&held)).unwrap(), held);
        assert_eq!(decode::<HashMap<u32, u32>>(&encode(&map)).unwrap(), map);
    }
}

#[test]
fn the_fields_of_variants_are_compact() {
    let shapes = [
        (Shape::Dot, vec![0]),
        (
            Shape::Box { width: 300, name: String::from("x"), height: -2 },
            vec![1, 249, 44, 1, 1, b'x', 3],
        ),
        (Shape::Line(vec![5, 6], 0.0), vec![2, 2, 5, 6, 0, 0, 0, 0]),
    ];
    for (shape, bytes) in shapes {
        assert_eq!(encode(&shape), bytes);
        assert_eq!(decode::<Shape>(&bytes).unwrap(), shape);
        assert_eq!(persist::from_slice::<Shape>(&persist::to_vec(&shape).unwrap()).unwrap(), shape);
    }
}

/// Objects behind pointers, by keys whose order differs between the two forms.
#[derive(Persist, Default)]
struct Cave {
    #[persist(compact)]
    rooms: HashMap<u32, Rc<RefCell<Plain>>>,
    #[persist(compact)]
    doors: BTreeMap<i32, Option<Rc<RefCell<Plain>>>>,
}

#[test]
fn pointers_in_compact_maps_lead_to_their_targets() {
    let keys = [1, 2, 255, 256, 257, 65_536, 1 << 24, 3, u32::MAX];
    let mut cave = Cave::default();
    for key in keys {
        let room = Rc::new(RefCell::new(Plain { number: key }));
        cave.doors.insert(key.cast_signed(), Some(room.clone()));
        cave.rooms.insert(key, room);
    }
    cave.doors.insert(0, None);
    let loaded: Cave = persist::from_slice(&persist::to_vec(&cave).unwrap()).unwrap();
    assert_eq!((loaded.rooms.len(), loaded.doors.len()), (keys.len(), keys.len() + 1));
    for key in keys {
        assert_eq!(loaded.rooms[&key].borrow().number, key);
        let door = loaded.doors[&key.cast_signed()].as_ref().unwrap();
        assert!(Rc::ptr_eq(door, &loaded.rooms[&key]));
    }
}

#[derive(Persist, Debug, PartialEq)]
struct NonZero {
    #[persist(compact)]
    number: NonZeroU16,
    #[persist(compact)]
    signed: NonZeroI32,
}

#[test]
fn numbers_that_the_type_does_not_have_are_refused() {
    let good =
        NonZero { number: NonZeroU16::new(7).unwrap(), signed: NonZeroI32::new(-7).unwrap() };
    let bytes = encode(&good);
    assert_eq!(bytes, [7, 13]);
    assert_eq!(decode::<NonZero>(&bytes).unwrap(), good);
    for bad in [[0, 13], [7, 0]] {
        let error = decode::<NonZero>(&bad).unwrap_err();
        insta::assert_snapshot!(format!("refused_{}_{}", bad[0], bad[1]), error);
    }
}

#[derive(Persist, Debug, PartialEq)]
struct Short {
    #[persist(compact)]
    number: i16,
}

/// The save of a `Short`, with other bytes for its number.
fn forged(number: &[u8]) -> persist::Error {
    let mut save = persist::to_vec(&Short { number: -1000 }).unwrap();
    let at = save.windows(3).position(|bytes| bytes == [249, 207, 7]).unwrap();
    assert_eq!(number.len(), 3);
    save[at..at + 3].copy_from_slice(number);
    persist_tests::support::forge::restamp(&mut save);
    persist::from_slice::<Short>(&save).unwrap_err()
}

#[test]
fn a_save_with_a_bad_form_of_a_number_names_its_field() {
    insta::assert_snapshot!(
        "bad_forms",
        [
            // 200 in three bytes, and 2 as well.
            forged(&[249, 200, 0]).to_string(),
            forged(&[249, 2, 0]).to_string(),
            // It ends inside of the number.
            forged(&[250, 2, 9]).to_string(),
        ]
        .join("\n")
    );
}

/// What an older program had, and what it has now, each with the same numbers.
macro_rules! conversions {
    ($($name:ident: $old:ty => $(#[$new_attribute:meta])* $new:ty, $from:expr, $to:expr;)*) => {$(
        #[test]
        fn $name() {
            mod then {
                #[allow(unused_imports, reason = "not all need them")]
                use std::collections::*;
                #[derive(persist::Persist)]
                pub(super) struct Class { pub(super) before: u8, pub(super) field: $old, pub(super) after: u8 }
            }
            mod then_compact {
                #[allow(unused_imports, reason = "not all need them")]
                use std::collections::*;
                #[derive(persist::Persist)]
                pub(super) struct Class {
                    pub(super) before: u8,
                    #[persist(compact)] pub(super) field: $old,
                    pub(super) after: u8,
                }
            }
            #[derive(Persist)]
            struct Class { before: u8, field: $new, after: u8 }
            let plain = persist::to_vec(&then::Class { before: 1, field: $from, after: 2 }).unwrap();
            let compact = persist::to_vec(&then_compact::Class { before: 1, field: $from, after: 2 }).unwrap();
            let loaded: Class = persist::from_slice(&compact).unwrap();
            assert_eq!((loaded.before, loaded.field, loaded.after), (1, $to, 2));
            {
                #[derive(Persist)]
                struct Class { before: u8, #[persist(compact)] field: $new, after: u8 }
                for save in [plain, compact] {
                    let loaded: Class = persist::from_slice(&save).unwrap();
                    assert_eq!((loaded.before, loaded.field, loaded.after), (1, $to, 2));
                }
            }
        }
    )*};
}

conversions! {
    compact_and_plain_numbers_convert: u32 => u32, 70_000, 70_000;
    compact_numbers_become_wider: u16 => u64, 65_535, 65_535;
    compact_numbers_become_signed: u16 => i32, 65_535, 65_535;
    compact_numbers_become_narrower_where_they_fit: i64 => i16, -32_768, -32_768;
    compact_lists_convert: Vec<u16> => Vec<u32>, vec![1, 300, 65_535], vec![1, 300, 65_535];
    compact_options_convert: Option<i32> => Option<i64>, Some(-70_000), Some(-70_000);
    compact_maps_convert: BTreeMap<u16, i16> => BTreeMap<u32, i32>, BTreeMap::from([(1, -1), (999, -999)]), BTreeMap::from([(1, -1), (999, -999)]);
    compact_tuples_convert: (u16, i64) => (u32, i64), (9, -9), (9, -9);
    compact_arrays_convert: [u16; 3] => [i32; 3], [1, 2, 999], [1, 2, 999];
}

#[test]
fn a_compact_number_that_does_not_fit_is_refused_or_clamped() {
    mod then {
        #[derive(persist::Persist)]
        #[persist(compact)]
        pub(super) struct Hero {
            pub(super) health: i64,
        }
    }
    #[derive(Persist, Debug)]
    struct Hero {
        #[persist(compact)]
        health: u16,
    }
    for (health, clamped) in [(70_000, u16::MAX), (-1, 0)] {
        let save = persist::to_vec(&then::Hero { health }).unwrap();
        let error = persist::from_slice::<Hero>(&save).unwrap_err();
        insta::assert_snapshot!(format!("does_not_fit_{}", health.abs()), error);
        let saves = Saves::new().load_options(LoadOptions::new().clamp(true));
        let loaded = saves.from_slice::<Hero>(&save).unwrap();
        assert_eq!(loaded.health, clamped);
        insta::assert_snapshot!(format!("clamped_{}", health.abs()), loaded.report());
    }
}

#[derive(Persist, Default)]
struct Stats {
    #[persist(compact)]
    strength: u32,
    #[persist(compact)]
    levels: Vec<i32>,
}

impl Component for Stats {}

#[test]
fn fields_of_components_are_set_by_their_paths() {
    let mut world = World::new();
    let ada = world.spawn("Ada");
    world.attach(ada, Stats { strength: 5, levels: vec![1, -1] }).unwrap();
    assert_eq!(world.set_field(ada, "Stats:strength", 70_000).unwrap(), Value::U32(5));
    assert_eq!(world.set_field(ada, "Stats:levels[1]", -300).unwrap(), Value::I32(-1));
    let stats = world.get::<Stats>(ada).unwrap();
    assert_eq!((stats.strength, &*stats.levels), (70_000, &[1, -300][..]));
    let error = world.set_field(ada, "Stats:strength", -1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KindMismatch);
    insta::assert_snapshot!("set_to_less_than_it_holds", error);
}

#[test]
fn documents_show_and_change_compact_numbers() {
    let save = persist::to_vec(&Numbers { b: 300, e: -2, ..Numbers::default() }).unwrap();
    let mut document = Document::from_slice(&save).unwrap();
    let record = document.root_mut().unwrap().as_record_mut().unwrap();
    assert_eq!(record.get("b"), Some(&Value::U32(300)));
    record.set("e", 70_000_i32);
    let changed: Numbers = persist::from_slice(&document.to_vec().unwrap()).unwrap();
    assert_eq!(changed, Numbers { b: 300, e: 70_000, ..Numbers::default() });
}

#[derive(Persist, Debug, Default, PartialEq)]
struct Later {
    #[persist(compact, default = 500)]
    gold: u32,
    #[persist(compact, convert = from_text)]
    level: i64,
}

#[expect(clippy::needless_pass_by_value, reason = "a `convert` takes the older value")]
fn from_text(text: String) -> Result<i64, std::num::ParseIntError> {
    text.parse()
}

#[test]
fn defaults_and_converted_fields_are_compact() {
    mod then {
        #[derive(persist::Persist)]
        pub(super) struct Later {
            pub(super) level: String,
        }
    }
    let save = persist::to_vec(&then::Later { level: String::from("-12345") }).unwrap();
    let loaded: Later = persist::from_slice(&save).unwrap();
    assert_eq!(loaded, Later { gold: 500, level: -12_345 });
}

#[derive(Persist)]
struct Heap {
    #[persist(compact)]
    heap: BinaryHeap<u32>,
}

#[test]
fn compact_heaps_are_stored_in_order() {
    let heap = Heap { heap: [300, 2, 70_000].into_iter().collect() };
    let bytes = encode(&heap);
    assert_eq!(bytes[..2], [3, 2]);
    assert_eq!(decode::<Heap>(&bytes).unwrap().heap.into_sorted_vec(), [2, 300, 70_000]);
}

/// Generic: whether it holds integers is known only where it is used.
#[derive(Persist, Debug, PartialEq)]
struct Slot<T> {
    #[persist(compact)]
    item: T,
    count: u8,
}

#[test]
fn the_parameter_of_a_generic_type_may_have_integers_or_none() {
    assert_eq!(encode(&Slot { item: 5_u64, count: 1 }), [5, 1]);
    assert_eq!(encode(&Slot { item: String::from("a"), count: 1 }), [1, b'a', 1]);
    assert_eq!(encode(&Slot { item: 5_u8, count: 1 }), [5, 1]);
    let slot = Slot { item: -5_i64, count: 1 };
    assert_eq!(decode::<Slot<i64>>(&encode(&slot)).unwrap(), slot);
    let slot = Slot { item: String::from("a"), count: 1 };
    assert_eq!(decode::<Slot<String>>(&encode(&slot)).unwrap(), slot);
}
