//! Random values of the types of `tests/support/shapes.rs`, and of the standard library.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroI16, NonZeroU8};
use std::ops::{Range, RangeInclusive};
use std::time::{Duration, SystemTime};

use persist::{Persist, SaveManager, Saves};
use persist_tests::support::disarranged::{Tally, check_objects, check_value};
use persist_tests::support::shapes::{
    Attributes, Bare, Empty, Fixed, Grid, Mixed, Nothing, Pair, Player, Shape, Slot, Tree, Wide,
};
use proptest::collection::{btree_map, btree_set, hash_map, vec};
use proptest::prelude::*;

use super::shared;

/// The value comes back alone and as an object.
fn trip<T: Persist + Clone + 'static>(value: &T, seed: u64) -> Tally {
    let mut tally = check_value::<T>(&persist::to_vec(value).unwrap(), seed);
    let mut manager = SaveManager::new();
    manager.add(&shared(value.clone())).unwrap();
    tally += check_objects(&manager.to_vec().unwrap(), seed, || {
        let saves = Saves::new();
        saves.register::<T>().unwrap();
        saves.manager()
    });
    tally
}

/// Numbers near zero, in every range, and the last ones.
fn number<T: Arbitrary + Clone + Debug + From<u8> + 'static>() -> BoxedStrategy<T> {
    prop_oneof![any::<u8>().prop_map(T::from), any::<T>()].boxed()
}

/// Floats that are whole, those that an `f32` holds, and any bits.
fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<i16>().prop_map(f64::from),
        any::<u32>().prop_map(|bits| f64::from(f32::from_bits(bits))),
        Just(-0.0),
        // A NaN that Rust's conversions would change.
        Just(f64::from_bits(0x7ff0_0000_2000_0000)),
        any::<u64>().prop_map(f64::from_bits),
    ]
}

fn float32() -> impl Strategy<Value = f32> {
    prop_oneof![
        any::<i8>().prop_map(f32::from),
        any::<u32>().prop_map(f32::from_bits),
        Just(-0.0),
        Just(f32::from_bits(0x7f80_0001)),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "\\PC{0,12}", "[a-z]{248,260}"]
}

fn player() -> impl Strategy<Value = Player> {
    (prop_oneof![-200..200, any::<i32>()], any::<u8>())
        .prop_map(|(level, flag)| Player { level, flag })
}

fn mixed() -> impl Strategy<Value = Mixed> {
    let first = (text(), any::<u8>(), number::<u16>(), proptest::option::of(player()));
    let lists = (vec(prop_oneof![-9..9_i64, any::<i64>()], 0..6), any::<[u8; 3]>());
    let maps = (hash_map(any::<u8>(), text(), 0..5), btree_map(text(), vec(player(), 0..3), 0..4));
    (first, lists, maps, number::<u128>(), [text(), text()])
        .prop_map(|((a, b, c, d), (e, f), (g, j), h, i)| Mixed { a, b, c, d, e, f, g, h, i, j })
}

fn slot<T: Debug>(item: impl Strategy<Value = T>) -> impl Strategy<Value = Slot<T>> {
    (any::<u8>(), item, number::<u16>()).prop_map(|(before, item, after)| Slot {
        before,
        item,
        after,
    })
}

fn shape() -> impl Strategy<Value = Shape> {
    let corners = vec((-9..9_i16, any::<i16>()), 0..4);
    prop_oneof![
        Just(Shape::Point),
        float().prop_map(Shape::Circle),
        (text(), corners, any::<bool>()).prop_map(|(name, corners, closed)| Shape::Named {
            name,
            corners,
            closed
        }),
        (player(), slot(text()), any::<u8>())
            .prop_map(|(player, slot, end)| Shape::Inner(player, slot, end)),
        (number::<u32>(), 0..99_usize, any::<u8>()).prop_map(|(kept, length, end)| {
            Shape::Partly { kept, dropped: 0, length: "x".repeat(length), end }
        }),
    ]
}

fn attributes() -> impl Strategy<Value = Attributes> {
    let last = proptest::option::of(text());
    (number::<u16>(), 0..99_usize, any::<u8>(), last).prop_map(
        |(health_points, length, lives, last)| Attributes {
            health_points,
            cache: Vec::new(),
            name: "x".repeat(length),
            lives,
            frames: 9,
            last,
        },
    )
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = text().prop_map(|name| Tree { name, children: vec![], parent: None });
    leaf.prop_recursive(4, 24, 3, |inner| {
        (text(), vec(inner.clone(), 0..3), proptest::option::of(inner)).prop_map(
            |(name, children, parent)| Tree { name, children, parent: parent.map(Box::new) },
        )
    })
}

/// Types of the standard library, and numbers in every sort of place.
#[derive(Persist, Clone, Debug)]
struct Everything {
    counts: (usize, isize, NonZeroU8, Option<NonZeroI16>),
    signed: (i8, i16, i32, i64, i128),
    unsigned: (u8, u16, u32, u64, u128),
    times: (Duration, SystemTime),
    ranges: (Range<u16>, RangeInclusive<i64>),
    addresses: (IpAddr, SocketAddr),
    outcome: Result<u16, String>,
    keys: BTreeMap<i32, Option<u16>>,
    pairs: HashMap<(u8, i16), [f32; 2]>,
    set: BTreeSet<u64>,
    deep: Vec<Option<Vec<(u16, Bare)>>>,
    letters: (char, bool, ()),
    boxed: Box<(f64, Bare)>,
    grid: Grid<2, 3>,
}

fn everything() -> impl Strategy<Value = Everything> {
    let bare = || any::<bool>().prop_map(|on| if on { Bare::On } else { Bare::Off });
    let numbers = (any::<(usize, isize, NonZeroU8, Option<NonZeroI16>)>(), any::<[i8; 5]>());
    let wide = any::<((i8, i16, i32, i64, i128), (u8, u16, u32, u64, u128), bool)>();
    let times = (0..1_u64 << 40, 0..1_000_000_000_u32);
    let ranges = any::<(u16, u16, i64, i64)>();
    let addresses = any::<(IpAddr, IpAddr, u16)>();
    let outcome = prop_oneof![number::<u16>().prop_map(Ok), text().prop_map(Err)];
    let maps = (
        btree_map(-300..300_i32, proptest::option::of(number::<u16>()), 0..6),
        hash_map(any::<(u8, i16)>(), [float32(), float32()], 0..6),
        btree_set(number::<u64>(), 0..6),
    );
    let deep = vec(proptest::option::of(vec((number::<u16>(), bare()), 0..3)), 0..4);
    let rest = (any::<(char, bool, ())>(), float(), bare(), any::<[[u8; 2]; 3]>());
    ((numbers, wide, times), (ranges, addresses, outcome), (maps, deep), rest).prop_map(
        |(
            ((counts, small), (signed, unsigned, is_small), (seconds, nanoseconds)),
            (ranges, (first, second, port), outcome),
            ((keys, pairs, set), deep),
            (letters, float, bare, cells),
        )| {
            let [a, b, c, d, e] = small;
            let small = (a, b.into(), c.into(), d.into(), e.into());
            Everything {
                counts,
                signed: if is_small { small } else { signed },
                unsigned,
                times: (
                    Duration::new(seconds, nanoseconds),
                    SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds),
                ),
                ranges: (ranges.0..ranges.1, ranges.2..=ranges.3),
                addresses: (first, SocketAddr::new(second, port)),
                outcome,
                keys,
                pairs,
                set,
                deep,
                letters,
                boxed: Box::new((float, bare)),
                grid: Grid { cells, name: "grid".into() },
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 32,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn structs_come_back(value in mixed(), seed in any::<u64>()) {
        let tally = trip(&value, seed);
        prop_assert!(tally.moved >= 4 && tally.wider > 0);
    }

    #[test]
    fn structs_of_numbers_alone_come_back(players in vec(player(), 0..60), seed in any::<u64>()) {
        let fixed = |players: &[Player]| Fixed {
            on: true,
            position: (0.5, -2.0),
            letter: 'x',
            deep: [players[0].clone(), players[1].clone()],
        };
        let pairs: Vec<Fixed> = players.chunks_exact(2).map(fixed).collect();
        trip(&pairs, seed);
        trip(&(players, Pair("a".into(), 300)), seed);
    }

    #[test]
    fn generic_structs_come_back(value in vec(slot(slot(mixed())), 1..3), seed in any::<u64>()) {
        let tally = trip(&value, seed);
        prop_assert!(tally.moved >= 8);
    }

    #[test]
    fn enums_come_back(value in vec(slot(shape()), 1..20), seed in any::<u64>()) {
        let tally = trip(&value, seed);
        prop_assert!(tally.moved > 4);
    }

    #[test]
    fn fields_with_attributes_come_back(value in vec(attributes(), 1..9), seed in any::<u64>()) {
        let tally = trip(&value, seed);
        prop_assert!(tally.moved >= 4 && tally.wider > 0);
    }

    #[test]
    fn types_that_hold_themselves_come_back(value in tree(), seed in any::<u64>()) {
        let tally = trip(&value, seed);
        prop_assert!(tally.moved >= 4);
    }

    #[test]
    fn types_of_the_standard_library_come_back(value in everything(), seed in any::<u64>()) {
        let tally = trip(&value, seed);
        prop_assert!(tally.moved >= 8 && tally.wider >= 5 && tally.narrower >= 5);
    }
}

#[test]
fn an_enum_whose_tag_has_two_bytes_comes_back() {
    let value = vec![Wide::First, Wide::X00, Wide::Xff, Wide::Last(7, "end".into()), Wide::X80];
    for seed in 0..4 {
        let tally = trip(&value, seed);
        assert!(tally.moved > 400, "{tally:?}");
    }
}

#[test]
fn structs_without_fields_come_back() {
    let tally = trip(&vec![(Nothing, 7_u16, Empty {}), (Nothing, 300, Empty {})], 0);
    assert_eq!((tally.moved, tally.wider, tally.narrower), (0, 2, 2));
}
