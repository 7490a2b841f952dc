//! Every value type of the standard library: bytes as the naive twin has them,
//! and round trips on every path.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::OsString;
use std::fmt::Debug;
use std::hash::{BuildHasherDefault, Hasher};
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize, NonZeroU8,
    NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize, Saturating, Wrapping,
};
use std::ops::{
    ControlFlow, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive,
};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16,
    AtomicU32, AtomicU64, AtomicUsize,
};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, SystemTime};

use crate::naive::{by_bytes, check, naive};
use persist::codec::{Buffer, Decoder, Encoder, Fail, Parts, Prototypes, Stop, decode};
use persist::reflect::Kind;
use persist::{Limits, Persist, Saves};
use persist_tests::support::short_or_long;
use proptest::collection::vec;
use proptest::prelude::*;

/// A property for each type: values on their own, and in a list of tuples,
/// where those of fixed width share one segment.
macro_rules! round_trips {
    ($($name:ident: $ty:ty, $same:path, $strategy:expr;)*) => {
        proptest! {
            #![proptest_config(ProptestConfig {
                cases: short_or_long(24, 64),
                failure_persistence: None,
                ..ProptestConfig::default()
            })]
            $(
                #[test]
                fn $name(
                    values in vec(of::<$ty>($strategy), 2),
                    list in vec((any::<u8>(), of::<$ty>($strategy)), 0..5),
                    over in vec((any::<u8>(), of::<$ty>($strategy)), 0..5),
                ) {
                    let [value, other] = <[$ty; 2]>::try_from(values).expect("two");
                    check(&value, other, $same);
                    check(&list, over, by_bytes);
                }
            )*
        }
    };
}

/// Names the type that a strategy is for.
fn of<T: Debug>(strategy: impl Strategy<Value = T>) -> impl Strategy<Value = T> {
    strategy
}

fn text() -> impl Strategy<Value = String> {
    let char = prop_oneof![any::<char>(), proptest::char::range(' ', '~')];
    vec(char, 0..40).prop_map(|chars| chars.into_iter().collect())
}

fn f32s() -> impl Strategy<Value = f32> {
    prop_oneof![any::<u32>(), Just(0x7f80_0001), Just(0xffc1_2345), Just(1 << 31)]
        .prop_map(f32::from_bits)
}

fn f64s() -> impl Strategy<Value = f64> {
    prop_oneof![any::<u64>(), Just(0x7ff0_0000_0000_0001), Just(0xfff8_dead_beef_0001)]
        .prop_map(f64::from_bits)
}

fn duration() -> impl Strategy<Value = Duration> {
    let seconds = prop_oneof![any::<u64>(), Just(u64::MAX), Just(0)];
    (seconds, 0..1_000_000_000_u32).prop_map(|(seconds, nanos)| Duration::new(seconds, nanos))
}

fn time() -> impl Strategy<Value = SystemTime> {
    // Some 300,000 years to either side. Windows has times from 1601 on, which is 2^33 seconds before.
    const BITS: u32 = if cfg!(windows) { 33 } else { 43 };
    (any::<bool>(), 0..1_u64 << BITS, prop_oneof![Just(0), 0..1_000_000_000_u32]).prop_map(
        |(after, seconds, nanos)| {
            let distance = Duration::new(seconds, nanos);
            if after {
                SystemTime::UNIX_EPOCH + distance
            } else {
                SystemTime::UNIX_EPOCH - distance
            }
        },
    )
}

/// A ring whose elements lie in two pieces, unless it has fewer than two.
fn ring<T: Debug + Clone>(element: impl Strategy<Value = T>) -> impl Strategy<Value = VecDeque<T>> {
    (vec(element, 0..20), 0..20_usize).prop_map(|(items, turns)| {
        let mut ring = VecDeque::with_capacity(items.len());
        ring.extend(items);
        for _ in 0..turns {
            if let Some(first) = ring.pop_front() {
                ring.push_back(first);
            }
        }
        ring
    })
}

#[derive(Default)]
struct BackwardsHasher(u64);

impl Hasher for BackwardsHasher {
    fn finish(&self) -> u64 {
        !self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.wrapping_mul(31).wrapping_add(u64::from(*byte));
        }
    }
}

type Backwards = BuildHasherDefault<BackwardsHasher>;
type Twelve = (u8, i16, String, bool, f32, char, (), u64, Option<u8>, [u8; 2], i128, Vec<u8>);

fn map<S: std::hash::BuildHasher + Default>() -> impl Strategy<Value = HashMap<String, u16, S>> {
    vec((text(), any::<u16>()), 0..12).prop_map(|entries| entries.into_iter().collect())
}

fn range<T: Arbitrary>() -> impl Strategy<Value = Range<T>> {
    any::<(T, T)>().prop_map(|(start, end)| start..end)
}

round_trips! {
    u8_bytes: u8, PartialEq::eq, any::<u8>();
    u16_bytes: u16, PartialEq::eq, any::<u16>();
    u32_bytes: u32, PartialEq::eq, any::<u32>();
    u64_bytes: u64, PartialEq::eq, any::<u64>();
    u128_bytes: u128, PartialEq::eq, any::<u128>();
    usize_is_a_u64: usize, PartialEq::eq, any::<usize>();
    i8_bytes: i8, PartialEq::eq, any::<i8>();
    i16_bytes: i16, PartialEq::eq, any::<i16>();
    i32_bytes: i32, PartialEq::eq, any::<i32>();
    i64_bytes: i64, PartialEq::eq, any::<i64>();
    i128_bytes: i128, PartialEq::eq, any::<i128>();
    isize_is_an_i64: isize, PartialEq::eq, any::<isize>();
    f32_keeps_every_bit: f32, by_bytes, f32s();
    f64_keeps_every_bit: f64, by_bytes, f64s();
    bool_is_0_or_1: bool, PartialEq::eq, any::<bool>();
    char_is_a_scalar_value: char, PartialEq::eq, any::<char>();
    unit_has_no_bytes: (), PartialEq::eq, Just(());
    phantom_data_has_no_bytes: PhantomData<str>, PartialEq::eq, Just(PhantomData);
    string_is_counted_utf8: String, PartialEq::eq, text();
    boxed_str: Box<str>, PartialEq::eq, text().prop_map(String::into_boxed_str);
    cow_str: Cow<'static, str>, PartialEq::eq,
        prop_oneof![text().prop_map(Cow::Owned), Just(Cow::Borrowed("static"))];
    path_is_text: PathBuf, PartialEq::eq, text().prop_map(PathBuf::from);
    text_of_the_system_is_text: OsString, PartialEq::eq, text().prop_map(OsString::from);
    order_is_a_number: Ordering, PartialEq::eq, any::<i8>().prop_map(|number| number.cmp(&0));

    vec_of_numbers: Vec<u32>, PartialEq::eq, vec(any::<u32>(), 0..300);
    vec_of_bools: Vec<bool>, PartialEq::eq, vec(any::<bool>(), 0..20);
    vec_of_strings: Vec<String>, PartialEq::eq, vec(text(), 0..6);
    vec_of_vecs: Vec<Vec<i16>>, PartialEq::eq, vec(vec(any::<i16>(), 0..6), 0..6);
    vec_of_units: Vec<()>, PartialEq::eq, vec(Just(()), 0..400);
    wrapped_ring_of_numbers: VecDeque<u16>, PartialEq::eq, ring(any::<u16>());
    wrapped_ring_of_strings: VecDeque<String>, PartialEq::eq, ring(text());
    boxed_slice: Box<[i64]>, PartialEq::eq,
        vec(any::<i64>(), 0..20).prop_map(Vec::into_boxed_slice);
    linked_list: LinkedList<String>, PartialEq::eq,
        vec(text(), 0..6).prop_map(LinkedList::from_iter);
    cow_of_numbers: Cow<'static, [u16]>, PartialEq::eq,
        prop_oneof![vec(any::<u16>(), 0..20).prop_map(Cow::Owned), Just(Cow::Borrowed(&[7][..]))];
    cow_of_strings: Cow<'static, [String]>, PartialEq::eq, vec(text(), 0..6).prop_map(Cow::Owned);
    heap_in_ascending_order: BinaryHeap<i32>, by_bytes,
        vec(any::<i32>(), 0..20).prop_map(BinaryHeap::from);
    heap_of_reversed: BinaryHeap<Reverse<u8>>, by_bytes,
        vec(any::<u8>().prop_map(Reverse), 0..20).prop_map(BinaryHeap::from);
    array_of_numbers: [u16; 5], PartialEq::eq, any::<[u16; 5]>();
    array_of_strings: [String; 3], PartialEq::eq, [text(), text(), text()];
    empty_array_of_numbers: [u64; 0], PartialEq::eq, Just([]);
    empty_array_of_strings: [String; 0], PartialEq::eq, Just([]);
    array_of_arrays: [[u8; 3]; 2], PartialEq::eq, any::<[[u8; 3]; 2]>();

    tuple_of_one: (String,), PartialEq::eq, (text(),);
    tuple_of_fixed_width: (u8, i32, char), PartialEq::eq, any::<(u8, i32, char)>();
    tuple_of_strings: (String, u8, String), PartialEq::eq, (text(), any::<u8>(), text());
    tuple_of_twelve: Twelve, by_bytes, (
        (any::<u8>(), any::<i16>(), text(), any::<bool>(), f32s(), any::<char>()),
        (any::<u64>(), any::<Option<u8>>(), any::<[u8; 2]>(), any::<i128>(), any::<Vec<u8>>()),
    ).prop_map(|((a, b, c, d, e, f), (g, h, i, j, k))| (a, b, c, d, e, f, (), g, h, i, j, k));
    option_of_number: Option<u32>, PartialEq::eq, any::<Option<u32>>();
    option_of_option: Option<Option<String>>, PartialEq::eq,
        proptest::option::of(proptest::option::of(text()));
    result_is_a_tag_and_a_value: Result<u16, String>, PartialEq::eq,
        prop_oneof![any::<u16>().prop_map(Ok), text().prop_map(Err)];
    boxed_value: Box<Option<Box<u8>>>, PartialEq::eq,
        any::<Option<u8>>().prop_map(|value| Box::new(value.map(Box::new)));

    hash_map: HashMap<String, u16>, PartialEq::eq, map();
    hash_map_with_another_hasher: HashMap<String, u16, Backwards>, PartialEq::eq, map();
    hash_map_with_long_keys: HashMap<(u8, Vec<u8>), String>, PartialEq::eq,
        vec(((0..3_u8, vec(0..3_u8, 0..4)), text()), 0..12)
            .prop_map(|entries| entries.into_iter().collect());
    hash_set: HashSet<i16>, PartialEq::eq,
        vec(any::<i16>(), 0..20).prop_map(|items| items.into_iter().collect());
    hash_set_of_strings: HashSet<String, Backwards>, PartialEq::eq,
        vec(text(), 0..12).prop_map(|items| items.into_iter().collect());
    btree_map: BTreeMap<i32, String>, PartialEq::eq,
        vec((any::<i32>(), text()), 0..12).prop_map(|entries| entries.into_iter().collect());
    btree_set: BTreeSet<String>, PartialEq::eq,
        vec(text(), 0..12).prop_map(|items| items.into_iter().collect());

    range_is_its_bounds: Range<i32>, PartialEq::eq, range();
    range_of_strings: Range<String>, PartialEq::eq,
        (text(), text()).prop_map(|(start, end)| start..end);
    range_from: RangeFrom<u8>, PartialEq::eq, any::<u8>().prop_map(|start| start..);
    range_to: RangeTo<char>, PartialEq::eq, any::<char>().prop_map(|end| ..end);
    range_to_inclusive: RangeToInclusive<u64>, PartialEq::eq, any::<u64>().prop_map(|end| ..=end);
    range_full: RangeFull, PartialEq::eq, Just(..);
    range_inclusive: RangeInclusive<i64>, PartialEq::eq,
        any::<(i64, i64)>().prop_map(|(start, end)| start..=end);
    duration_bytes: Duration, PartialEq::eq, duration();
    time_before_and_after_1970: SystemTime, PartialEq::eq, time();

    wrapping: Wrapping<i32>, PartialEq::eq, any::<i32>().prop_map(Wrapping);
    saturating: Saturating<u16>, PartialEq::eq, any::<u16>().prop_map(Saturating);
    reverse: Reverse<String>, PartialEq::eq, text().prop_map(Reverse);
    cell: Cell<i32>, PartialEq::eq, any::<i32>().prop_map(Cell::new);
    ref_cell: RefCell<String>, PartialEq::eq, text().prop_map(RefCell::new);
    mutex: Mutex<Vec<u8>>, by_bytes, any::<Vec<u8>>().prop_map(Mutex::new);
    rw_lock: RwLock<u64>, by_bytes, any::<u64>().prop_map(RwLock::new);
    atomic_bool: AtomicBool, by_bytes, any::<bool>().prop_map(AtomicBool::new);
    atomics_to_16_bits: (AtomicU8, AtomicI8, AtomicU16, AtomicI16), by_bytes,
        any::<(u8, i8, u16, i16)>()
            .prop_map(|(a, b, c, d)| (a.into(), b.into(), c.into(), d.into()));
    atomics_to_64_bits: (AtomicU32, AtomicI32, AtomicU64, AtomicI64), by_bytes,
        any::<(u32, i32, u64, i64)>()
            .prop_map(|(a, b, c, d)| (a.into(), b.into(), c.into(), d.into()));
    atomic_sizes: (AtomicUsize, AtomicIsize), by_bytes,
        any::<(usize, isize)>().prop_map(|(a, b)| (a.into(), b.into()));
    non_zero_unsigned: (NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize),
        PartialEq::eq, any::<(NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize)>();
    non_zero_signed: (NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize),
        PartialEq::eq, any::<(NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize)>();

    control_flow: ControlFlow<u16, String>, PartialEq::eq, prop_oneof![
        any::<u16>().prop_map(ControlFlow::Break),
        text().prop_map(ControlFlow::Continue),
    ];
    ip_v4: Ipv4Addr, PartialEq::eq, any::<Ipv4Addr>();
    ip_v6: Ipv6Addr, PartialEq::eq, any::<Ipv6Addr>();
    ip_of_either_version: IpAddr, PartialEq::eq, any::<IpAddr>();
    socket_v4: SocketAddrV4, PartialEq::eq, any::<SocketAddrV4>();
    socket_v6: SocketAddrV6, PartialEq::eq, any::<SocketAddrV6>();
    socket_of_either_version: SocketAddr, PartialEq::eq, any::<SocketAddr>();
}

#[test]
fn nan_keeps_every_bit() {
    let bits = [0x7ff0_0000_0000_0001_u64, 0xfff8_0000_0000_0000, 0x7fff_ffff_ffff_ffff];
    for bits in bits {
        let back: f64 = decode(Buffer::new().encode(&f64::from_bits(bits)).unwrap()).unwrap();
        assert_eq!(back.to_bits(), bits);
        let list: Vec<f64> =
            persist::from_slice(&persist::to_vec(&vec![f64::from_bits(bits); 3]).unwrap()).unwrap();
        assert!(list.iter().all(|float| float.to_bits() == bits));
    }
    let signalling: f32 =
        decode(Buffer::new().encode(&f32::from_bits(0x7f80_0001)).unwrap()).unwrap();
    assert_eq!(signalling.to_bits(), 0x7f80_0001);
}

#[test]
fn text_of_every_length_around_a_boundary_comes_back() {
    let lengths = [0, 1, 2, 14, 15, 16, 17, 18, 30, 31, 32, 33, 34, 64, 246, 247, 248, 249, 254];
    for length in lengths.into_iter().chain([255, 256, 257, 65_534, 65_535, 65_536, 65_537]) {
        for last in ["x", "\u{e9}", "\u{20ac}", "\u{1f600}"] {
            if length < last.len() {
                continue;
            }
            let value = "a".repeat(length - last.len()) + last;
            let another = "\u{e9}".repeat(20);
            check(&value, another.clone(), PartialEq::eq);
            check(&Cow::from(value.clone()), "b".into(), PartialEq::eq);
            check(&(1_u8, value, 2_u8), (3, another, 4), PartialEq::eq);
        }
    }
}

#[test]
fn counts_of_every_width_come_back() {
    for count in [0, 1, 246, 247, 248, 255, 256, 257, 65_535, 65_536] {
        check(&vec![7_u8; count], vec![1; 300], PartialEq::eq);
        check(&vec![(); count], vec![(); 3], PartialEq::eq);
        check(&VecDeque::from(vec![-1_i32; count]), VecDeque::new(), PartialEq::eq);
    }
    let head = Buffer::new().encode(&vec![0_u8; 65_536]).unwrap()[..4].to_vec();
    assert_eq!(head, [250, 0, 0, 1]);
}

#[test]
fn a_ring_in_two_pieces_has_the_bytes_of_a_list() {
    let mut ring = VecDeque::with_capacity(8);
    ring.extend(0..8_u16);
    ring.rotate_left(3);
    ring.pop_back();
    ring.push_front(99);
    assert!(!ring.as_slices().1.is_empty(), "the ring is in one piece");
    let list: Vec<u16> = ring.iter().copied().collect();
    assert_eq!(Buffer::new().encode(&ring).unwrap(), Buffer::new().encode(&list).unwrap());
    let strings: VecDeque<String> = ring.iter().map(u16::to_string).collect();
    check(&strings, VecDeque::new(), PartialEq::eq);
}

#[test]
fn equal_maps_and_sets_have_equal_bytes_whatever_their_hasher() {
    let keys: Vec<String> = (0..500).map(|i| format!("key {}", i * 7919 % 500)).collect();
    let standard: HashMap<String, usize> = keys.iter().cloned().zip(0..).collect();
    let other: HashMap<String, usize, Backwards> =
        keys.iter().rev().cloned().zip((0..500).rev()).collect();
    assert_eq!(Buffer::new().encode(&standard).unwrap(), Buffer::new().encode(&other).unwrap());
    let standard: HashSet<String> = keys.iter().cloned().collect();
    let other: HashSet<String, Backwards> = keys.iter().rev().cloned().collect();
    assert_eq!(Buffer::new().encode(&standard).unwrap(), Buffer::new().encode(&other).unwrap());
}

#[test]
fn heaps_of_another_history_have_equal_bytes() {
    let up: BinaryHeap<u32> = (0..100).collect();
    let down: BinaryHeap<u32> = (0..100).rev().collect();
    assert_eq!(Buffer::new().encode(&up).unwrap(), Buffer::new().encode(&down).unwrap());
}

#[test]
fn entries_in_another_order_load() {
    let bytes = [3, 9, 90, 1, 10, 5, 50];
    let expected = [(1, 10), (5, 50), (9, 90)];
    assert_eq!(decode::<HashMap<u8, u8>>(&bytes).unwrap(), HashMap::from(expected));
    assert_eq!(decode::<BTreeMap<u8, u8>>(&bytes).unwrap(), BTreeMap::from(expected));
    assert_eq!(decode::<BTreeSet<u8>>(&[3, 9, 1, 5]).unwrap(), BTreeSet::from([1, 5, 9]));
}

/// The steps of the system's times, in nanoseconds. Between them, a time is rounded down.
const TICK: u32 = if cfg!(windows) { 100 } else { 1 };

#[test]
fn the_ends_of_time_come_back() {
    let ends = [(i64::MIN, 0), (i64::MIN, 1), (-1, 999_999_999), (-1, 0), (i64::MAX, 999_999_999)];
    for (seconds, nanos) in ends {
        let bytes = naive(&(seconds, nanos));
        // Not every system can tell times this far off.
        if let Ok(time) = decode::<SystemTime>(&bytes) {
            let whole = naive(&(seconds, nanos / TICK * TICK));
            assert_eq!(Buffer::new().encode(&time).unwrap(), whole, "{seconds} s {nanos} ns");
        }
    }
    check(&Duration::MAX, Duration::ZERO, PartialEq::eq);
}

/// A tree whose kind is a list of numbers, written by hand: its parts are of its own type.
#[derive(Debug, PartialEq)]
struct Tree {
    number: u32,
    branches: Vec<Tree>,
}

impl Persist for Tree {
    fn persist_kind() -> Kind {
        Kind::List(u32::persist_kind)
    }

    fn persist_empty(_: &Prototypes<'_>) -> persist::Result<Self> {
        Ok(Tree { number: 0, branches: Vec::new() })
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let numbers: Vec<u32> = self.branches.iter().map(|branch| branch.number).collect();
        out.count(1 + numbers.len())?;
        out.value(&self.number)?;
        numbers.iter().try_for_each(|number| out.value(number))
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        let numbers: Vec<u32> = input.value()?;
        let mut trees = numbers.into_iter().map(|number| Tree { number, branches: Vec::new() });
        let mut root = trees.next().ok_or(Fail::Value)?;
        root.branches = trees.collect();
        Ok(root)
    }

    fn persist_parts(parts: &mut Parts<'_, Self>) -> persist::Result<()> {
        parts.part("branches", |tree| &tree.branches, |tree| &mut tree.branches)
    }
}

#[test]
fn a_type_written_by_hand_may_hold_values_of_its_own_type() {
    let branches = vec![Tree { number: 2, branches: vec![] }, Tree { number: 3, branches: vec![] }];
    let tree = Tree { number: 1, branches };
    let save = persist::to_vec(&tree).unwrap();
    assert_eq!(persist::from_slice::<Tree>(&save).unwrap(), tree);
}

/// A box of a shared value, written by hand.
struct Shelf(Vec<Rc<RefCell<u32>>>);

impl Persist for Shelf {
    fn persist_kind() -> Kind {
        Vec::<Rc<RefCell<u32>>>::persist_kind()
    }

    fn persist_empty(_: &Prototypes<'_>) -> persist::Result<Self> {
        Ok(Shelf(Vec::new()))
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.count(self.0.len())?;
        self.0.iter().try_for_each(|item| out.value(item))
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        let count = input.count()?;
        (0..count).map(|_| input.value()).collect::<Result<_, _>>().map(Shelf)
    }

    fn persist_parts(parts: &mut Parts<'_, Self>) -> persist::Result<()> {
        parts.each(
            "",
            |shelf, visit| shelf.0.iter().try_for_each(visit),
            |shelf, visit| shelf.0.iter_mut().try_for_each(visit),
        )
    }
}

#[test]
fn the_references_in_a_type_written_by_hand_are_connected() {
    let item = Rc::new(RefCell::new(7));
    let save = persist::to_vec(&(Shelf(vec![item.clone(), item.clone()]), item)).unwrap();
    let (shelf, item) = persist::from_slice::<(Shelf, Rc<RefCell<u32>>)>(&save).unwrap();
    assert_eq!(*item.borrow(), 7);
    assert!(shelf.0.iter().all(|on_shelf| Rc::ptr_eq(on_shelf, &item)));
}

#[derive(Persist)]
#[persist(validate = is_whole)]
struct Plate(u8);

fn is_whole(plate: &Plate) -> Result<(), &'static str> {
    if plate.0 < 10 { Ok(()) } else { Err("it is broken") }
}

/// Plates in a type that lists them under a name.
struct Stack(Vec<Plate>);

impl Persist for Stack {
    fn persist_kind() -> Kind {
        <Vec<Plate>>::persist_kind()
    }

    fn persist_empty(_: &Prototypes<'_>) -> persist::Result<Self> {
        Ok(Stack(Vec::new()))
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.value(&self.0)
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        input.value().map(Stack)
    }

    fn persist_parts(parts: &mut Parts<'_, Self>) -> persist::Result<()> {
        parts.each(
            "plates",
            |stack, visit| stack.0.iter().try_for_each(visit),
            |stack, visit| stack.0.iter_mut().try_for_each(visit),
        )
    }
}

#[test]
fn an_error_names_the_list_and_the_index_in_a_type_written_by_hand() {
    let stack = |second| (Stack(vec![Plate(1), Plate(second)]), 7_u8);
    let save = persist::to_vec(&stack(9)).unwrap();
    let error = persist::to_vec(&stack(10)).unwrap_err();
    assert_eq!(error.field(), Some("0.plates[1]"), "{error}");
    persist::from_slice::<(Stack, u8)>(&save).unwrap();
}

#[test]
fn lists_of_values_written_by_hand_that_have_no_bytes_are_refused() {
    struct Quiet(#[expect(dead_code, reason = "it has a size")] u8);
    impl Persist for Quiet {
        fn persist_kind() -> Kind {
            Kind::Unit
        }
        fn persist_empty(_: &Prototypes<'_>) -> persist::Result<Self> {
            Ok(Quiet(0))
        }
        fn persist_encode(&self, _: &mut Encoder<'_>) -> Result<(), Stop> {
            Ok(())
        }
        fn persist_decode(_: &mut Decoder<'_>) -> Result<Self, Fail> {
            Ok(Quiet(0))
        }
    }
    assert!(persist::to_vec(&Quiet(1)).is_ok());
    let error = persist::to_vec(&vec![Quiet(1), Quiet(2)]).unwrap_err();
    insta::assert_snapshot!(error.message(), @"a collection of 2 elements that are stored in no bytes cannot be saved; store their number");
}

/// A key whose order is a circle: 0 before 1, 1 before 2, and 2 the same as 0.
#[derive(Persist, Debug, Clone, Copy)]
#[persist(transparent)]
struct Circular(u8);

impl PartialEq for Circular {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Circular {}

impl PartialOrd for Circular {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Circular {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.0.abs_diff(other.0) == 2 { Ordering::Equal } else { self.0.cmp(&other.0) }
    }
}

#[test]
fn a_key_that_an_inconsistent_order_finds_twice_is_refused() {
    let stored = BTreeMap::from([(0_u8, "a"), (1, "b"), (2, "c")].map(|(k, v)| (k, v.to_owned())));
    let save = persist::to_vec(&stored).expect("a save");
    let error = persist::from_slice::<BTreeMap<Circular, String>>(&save).expect_err("lost a value");
    assert_eq!(error.kind(), persist::ErrorKind::InvalidValue, "{error}");
}

/// Does not pass a `Stop` on.
struct Lossy(Vec<String>);

impl Persist for Lossy {
    fn persist_kind() -> Kind {
        <(Vec<String>, u8)>::persist_kind()
    }

    fn persist_empty(_: &Prototypes<'_>) -> persist::Result<Self> {
        Ok(Self(Vec::new()))
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let _ = out.value(&self.0);
        if self.0.is_empty() {
            out.refuse(persist::Error::new(persist::ErrorKind::InvalidValue, "no words"));
        }
        out.value(&7_u8)
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        let words = input.value()?;
        if input.value::<u8>()? == 7 { Ok(Self(words)) } else { Err(Fail::Value) }
    }
}

#[test]
fn a_stop_that_is_not_passed_on_loses_nothing() {
    for count in [10, 1000, 9000] {
        let words = vec![String::from("abcdefghijkl"); count];
        let save = persist::to_vec(&Lossy(words.clone())).expect("a save");
        assert!(persist::from_slice::<Lossy>(&save).expect("what was saved").0 == words, "{count}");
    }
    let error = persist::to_vec(&Lossy(Vec::new())).expect_err("it was refused");
    assert_eq!(error.message(), "no words");
}

/// Counts how often it is encoded.
struct Counted(Cell<u32>);

impl Persist for Counted {
    fn persist_kind() -> Kind {
        Kind::Text
    }

    fn persist_empty(_: &Prototypes<'_>) -> persist::Result<Self> {
        Ok(Self(Cell::new(0)))
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        self.0.set(self.0.get() + 1);
        out.value(&"a text".to_owned())
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        input.value::<String>().map(|_| Self(Cell::new(0)))
    }
}

#[test]
fn the_first_save_of_a_value_encodes_it_once() {
    let value: (Vec<HashMap<u32, Counted>>, String) = (
        (0..50).map(|_| (0..100).map(|key| (key, Counted(Cell::new(0)))).collect()).collect(),
        "behind".repeat(1000),
    );
    let bytes = Buffer::new().encode(&value).unwrap().to_vec();
    assert!(value.0.iter().flat_map(HashMap::values).all(|counted| counted.0.get() == 1));
    let save = persist::to_vec(&value).unwrap();
    assert!(value.0.iter().flat_map(HashMap::values).all(|counted| counted.0.get() == 2));
    assert!(save.windows(64).any(|part| part == &bytes[bytes.len() - 64..]));
}

#[test]
fn a_value_has_the_same_bytes_wherever_a_buffer_is_full() {
    type Behind =
        (Vec<(u8, String)>, [Option<Box<u64>>; 2], HashMap<u16, Vec<String>>, VecDeque<u32>);
    let lists = |n: u16| (0..n).map(|i| i.to_string()).collect::<Vec<_>>();
    let behind: Behind = (
        (0..40).map(|i| (i, "text ".repeat(i.into()))).collect(),
        [Some(Box::new(1)), None],
        (0..20).map(|i| (i, lists(i))).collect(),
        (0..300).collect(),
    );
    let alone = Buffer::new().encode(&behind).unwrap().to_vec();
    let mut warm = Buffer::new();
    warm.encode(&vec![0_u8; 20_000]).unwrap();
    for len in 0..1200 {
        let value = (vec![7_u8; len], behind.clone());
        let mut first = Buffer::new();
        let bytes = first.encode(&value).unwrap().to_vec();
        assert_eq!(bytes[bytes.len() - alone.len()..], alone, "behind {len} bytes");
        assert_eq!(decode::<(Vec<u8>, Behind)>(&bytes).unwrap(), value);
        assert_eq!(first.encode(&value).unwrap(), bytes, "in the same buffer again");
        assert_eq!(warm.encode(&value).unwrap(), bytes, "in a large buffer");
    }
}

#[derive(Clone, Debug, PartialEq, Persist)]
enum Shape {
    Nothing,
    Texts(Vec<String>),
    Map { of: HashMap<u16, Option<Box<Shape>>>, behind: u64 },
    Bytes(Vec<u8>, (f32, bool)),
}

fn shapes() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        Just(Shape::Nothing),
        vec("[a-z]{0,400}", 0..6).prop_map(Shape::Texts),
        (vec(any::<u8>(), 0..3000), any::<bool>()).prop_map(|(b, is)| Shape::Bytes(b, (1.5, is))),
    ];
    leaf.prop_recursive(4, 60, 6, |inner| {
        let inner = proptest::option::of(inner.prop_map(Box::new));
        let of = proptest::collection::hash_map(any::<u16>(), inner, 0..6);
        (of, any::<u64>()).prop_map(|(of, behind)| Shape::Map { of, behind })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_save_has_the_same_bytes_whatever_the_size_of_the_buffer(
        value in vec(shapes(), 0..8),
        other in vec(any::<u64>(), 0..4000),
        sizes in vec(0..6000_usize, 12),
    ) {
        // What was saved before decides how large the windows of the buffer are.
        let after = |size| {
            let saves = Saves::new();
            saves.to_vec(&vec![0_u8; size]).unwrap();
            saves
        };
        let save = after(1 << 20).to_vec(&value).unwrap();
        for size in (0..2).chain(1020..1028).chain(sizes) {
            let saves = after(size);
            prop_assert!(saves.to_vec(&value).unwrap() == save, "after {size} bytes");
            saves.to_vec(&other).unwrap();
            prop_assert!(saves.to_vec(&value).unwrap() == save, "again, after {size} bytes");
        }
        prop_assert!(persist::from_slice::<Vec<Shape>>(&save).unwrap() == value);
    }
}

#[test]
fn a_buffer_holds_about_twice_its_largest_value_whatever_it_held_before() {
    // Each list is taken at once and a little too long for the memory that the last one left.
    let saves = Saves::new();
    let mut held = 0;
    for rounds in 0..60 {
        let value: Vec<Vec<u8>> = (0..rounds).map(|n| vec![1; 3000 + 517 * n % 9000]).collect();
        let taken = allocation_counter::measure(|| {
            drop(saves.to_vec(&value).unwrap());
        });
        held += taken.bytes_current;
    }
    let largest: i64 = (0..60).map(|n| 3000 + 517 * n % 9000).sum();
    assert!(held < largest * 3, "{held} bytes for values of at most {largest}");
}

#[test]
fn a_value_over_the_limit_of_bytes_is_refused_even_if_its_type_hides_it() {
    struct Hides(Vec<u8>);

    impl Persist for Hides {
        fn persist_kind() -> Kind {
            <Vec<u8>>::persist_kind()
        }

        fn persist_empty(_: &Prototypes<'_>) -> persist::Result<Self> {
            Ok(Self(Vec::new()))
        }

        fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
            let _ = out.value(&self.0);
            Ok(())
        }

        fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
            input.value().map(Self)
        }
    }

    let saves = Saves::new().limits(Limits::new().bytes(100_000));
    let error = saves.to_vec(&Hides(vec![1; 200_000])).unwrap_err();
    assert_eq!(error.kind(), persist::ErrorKind::TooLarge);
    let error = saves.to_vec(&vec![vec![1_u64; 20]; 10_000]).unwrap_err();
    assert_eq!(
        error.message(),
        "one value takes more than the limit of 100000 bytes; raise `Limits::bytes`"
    );
    saves.to_vec(&vec![1_u8; 90_000]).unwrap();
}
