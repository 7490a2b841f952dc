//! The three ways in which a field with a container is coded: its elements in their usual form, compact, or through an
//! adapter. Bytes, limits and refusals are those of one naive twin.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "it is a test")]

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::fmt::{Debug, Write as _};
use std::hash::Hash;
use std::num::NonZeroU32;

use persist::codec::{Buffer, decode, decode_into};
use persist::{Limits, Persist, Saves};
use persist_tests::support::forge::{Forged, Item};
use proptest::prelude::*;

use super::naive::count;

/// A number of another crate, stored by [`id`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Id(NonZeroU32);

mod id {
    use std::num::NonZeroU32;

    use super::Id;

    pub(super) type Stored = NonZeroU32;

    pub(super) fn store(id: &Id) -> Stored {
        id.0
    }

    pub(super) fn restore(stored: Stored) -> Result<Id, &'static str> {
        if stored.get() == 13 { Err("13 is no id") } else { Ok(Id(stored)) }
    }
}

trait Part: Copy + Debug + Eq + Hash + Ord {
    fn of(number: u32) -> Self;
}

impl Part for NonZeroU32 {
    fn of(number: u32) -> Self {
        Self::new(number).unwrap()
    }
}

impl Part for Id {
    fn of(number: u32) -> Self {
        Self(Part::of(number))
    }
}

type List<P> = Vec<P>;
type Queue<P> = VecDeque<P>;
type Chain<P> = LinkedList<P>;
type Hashed<P> = HashSet<P>;
type Ordered<P> = BTreeSet<P>;
type HashedMap<P> = HashMap<P, P>;
type OrderedMap<P> = BTreeMap<P, P>;
type Lists<P> = HashMap<P, Vec<Option<P>>>;
type Array<P> = [P; 3];
type Pair<P> = (P, Option<P>);

/// How a number is stored.
type Number = fn(u32) -> Vec<u8>;

fn usual(number: u32) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

fn compact(number: u32) -> Vec<u8> {
    counted(number as usize, &[])
}

fn counted(number: usize, parts: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    count(number, &mut bytes);
    bytes.extend(parts.concat());
    bytes
}

/// A count and the elements.
fn list(numbers: &[u32], number: Number) -> Vec<u8> {
    let parts: Vec<_> = numbers.iter().map(|n| number(*n)).collect();
    counted(parts.len(), &parts)
}

/// A count and the entries, in the order of the numbers or of their bytes. The keys are not repeated in it.
fn map(
    numbers: &[u32],
    number: Number,
    by_bytes: bool,
    value: fn(u32, Number) -> Vec<u8>,
) -> Vec<u8> {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable_by(|a, b| match by_bytes {
        true => number(*a).cmp(&number(*b)),
        false => a.cmp(b),
    });
    let parts: Vec<_> = numbers.iter().map(|n| [number(*n), value(*n, number)].concat()).collect();
    counted(parts.len(), &parts)
}

fn nothing(_: u32, _: Number) -> Vec<u8> {
    Vec::new()
}

fn itself(key: u32, number: Number) -> Vec<u8> {
    number(key)
}

/// An absent number and the key.
fn optional(key: u32, number: Number) -> Vec<u8> {
    [vec![2, 0, 1], number(key)].concat()
}

/// Takes a value through every path and holds it against its bytes.
fn check<T: Persist + PartialEq + Debug>(value: &T, mut other: T, bytes: &[u8]) {
    assert_eq!(Buffer::new().encode(value).unwrap(), bytes);
    assert_eq!(decode::<T>(bytes).unwrap(), *value);
    for end in (0..bytes.len()).step_by(1 + bytes.len() / 40) {
        assert!(decode::<T>(&bytes[..end]).is_err(), "{end} of {} bytes", bytes.len());
        assert!(decode_into(&mut other, &bytes[..end]).is_err());
    }
    decode_into(&mut other, bytes).unwrap();
    assert_eq!(other, *value);
    assert!(decode::<T>(&[bytes, &[0]].concat()).is_err());
    assert_eq!(persist::from_slice::<T>(&persist::to_vec(value).unwrap()).unwrap(), *value);
}

/// The smallest limit with which something succeeds.
fn least(succeeds: impl Fn(usize) -> bool) -> usize {
    (0..100).find(|limit| succeeds(*limit)).expect("a limit below 100")
}

/// Returns the least depth and number of empty elements with which a value is saved, and with which it is loaded.
fn limits<T: Persist>(value: &T) -> [usize; 4] {
    let save = persist::to_vec(value).unwrap();
    let depth = |most: usize| Saves::new().limits(Limits::DEFAULT.depth(most as u32));
    let empty = |most: usize| Saves::new().limits(Limits::DEFAULT.empty_elements(most));
    [
        least(|most| depth(most).to_vec(value).is_ok()),
        least(|most| depth(most).from_slice::<T>(&save).is_ok()),
        least(|most| empty(most).to_vec(value).is_ok()),
        least(|most| empty(most).from_slice::<T>(&save).is_ok()),
    ]
}

/// Why a save of a value is refused that has these bytes instead.
fn refusal<T: Persist>(value: &T, bytes: &[u8]) -> String {
    let mut save = Forged::parse(&persist::to_vec(value).unwrap());
    for item in &mut save.items {
        if let Item::Record { payload, .. } = item {
            *payload = bytes.to_vec();
        }
    }
    match persist::from_slice::<T>(&save.build()) {
        Ok(_) => String::from("loads"),
        Err(error) => format!("{:?}: {error}", error.kind()),
    }
}

/// What is refused of a container, one fault in each line.
fn faults<T: Persist>(
    name: &str,
    value: &T,
    has_count: bool,
    naive: fn(&[u32], Number) -> Vec<u8>,
    number: Number,
    report: &mut String,
) {
    let good = naive(&[1, 300, 70_000], number);
    let [saved, loaded, ..] = limits(value);
    writeln!(report, "{name}: depth {saved} to save, {loaded} to load").unwrap();
    let mut fault = |what: &str, bytes: &[u8]| {
        writeln!(report, "  {what}: {}", refusal(value, bytes)).unwrap();
    };
    if has_count {
        fault("one element more", &[&[good[0] + 1], &good[1..]].concat());
        fault("a hundred elements", &[&[100], &good[1..]].concat());
        fault("2^64 - 1 elements", &[&[255; 9], &good[1..]].concat());
        fault("a long form of the count", &[&[248, good[0]], &good[1..]].concat());
    }
    fault("an equal element", &naive(&[1, 300, 300], number));
    fault("a number that the stored type lacks", &naive(&[1, 300, 0], number));
    fault("a number that the adapter refuses", &naive(&[1, 300, 13], number));
    fault("two such numbers", &naive(&[1, 13, 13], number));
}

macro_rules! containers {
    ($($name:ident: $container:ident, $with:tt, $has_count:literal, $make:expr, $naive:expr;)*) => {$(
        mod $name {
            use super::*;

            #[derive(Persist, Debug, PartialEq)]
            #[persist(class = "Usual")]
            struct Usual {
                #[persist(default = make(&[1, 2, 3]))]
                field: $container<NonZeroU32>,
            }

            #[derive(Persist, Debug, PartialEq)]
            #[persist(class = "Compact")]
            struct Compact {
                #[persist(compact, default = make(&[1, 2, 3]))]
                field: $container<NonZeroU32>,
            }

            #[derive(Persist, Debug, PartialEq)]
            #[persist(class = "Lifted")]
            struct Lifted {
                #[persist(with = $with, default = make(&[1, 2, 3]))]
                field: $container<Id>,
            }

            fn make<P: Part>(numbers: &[u32]) -> $container<P> {
                let make: fn(Vec<P>) -> $container<P> = $make;
                make(numbers.iter().map(|number| P::of(*number)).collect())
            }

            fn naive(numbers: &[u32], number: Number) -> Vec<u8> {
                let naive: fn(&[u32], Number) -> Vec<u8> = $naive;
                naive(numbers, number)
            }

            pub(super) fn faults(report: &mut String) {
                let name = stringify!($name);
                let numbers = [1, 300, 70_000];
                let value = Usual { field: make(&numbers) };
                super::faults(&format!("{name}, usual"), &value, $has_count, naive, usual, report);
                let value = Compact { field: make(&numbers) };
                super::faults(&format!("{name}, compact"), &value, $has_count, naive, compact, report);
                let value = Lifted { field: make(&numbers) };
                super::faults(&format!("{name}, lifted"), &value, $has_count, naive, usual, report);
            }

            proptest! {
                #![proptest_config(ProptestConfig {
                    cases: 24,
                    failure_persistence: None,
                    ..ProptestConfig::default()
                })]
                #[test]
                fn has_the_bytes_of_the_twin(numbers in super::numbers(), other in super::numbers()) {
                    let bytes = naive(&numbers, usual);
                    check(&Usual { field: make(&numbers) }, Usual { field: make(&other) }, &bytes);
                    check(&Lifted { field: make(&numbers) }, Lifted { field: make(&other) }, &bytes);
                    let bytes = naive(&numbers, compact);
                    check(&Compact { field: make(&numbers) }, Compact { field: make(&other) }, &bytes);
                }
            }
        }
    )*

        /// Messages and limits of each container in each way.
        #[test]
        fn hostile_containers_are_refused_alike() {
            $({
                let mut report = String::new();
                $name::faults(&mut report);
                insta::assert_snapshot!(stringify!($name), report);
            })*
        }
    };
}

/// At least three numbers of all lengths, each once.
fn numbers() -> impl Strategy<Value = Vec<u32>> {
    let number = (1..=u32::MAX, 0..32_u32).prop_map(|(number, cut)| (number >> cut).max(1));
    let number = number.prop_filter("the adapter refuses it", |number| *number != 13);
    proptest::collection::hash_set(number, 3..300).prop_map(|numbers| numbers.into_iter().collect())
}

containers! {
    list: List, "Vec<id>", true, |parts| parts, list;
    queue: Queue, "VecDeque<id>", true, |parts| {
        // In two pieces.
        let mut queue: VecDeque<_> = parts[1..].iter().copied().collect();
        queue.push_front(parts[0]);
        queue
    }, list;
    chain: Chain, "LinkedList<id>", true, |parts| parts.into_iter().collect(), list;
    hashed: Hashed, "HashSet<id>", true, |parts| parts.into_iter().collect(),
        |numbers, number| map(numbers, number, true, nothing);
    ordered: Ordered, "BTreeSet<id>", true, |parts| parts.into_iter().collect(),
        |numbers, number| map(numbers, number, false, nothing);
    hashed_map: HashedMap, "HashMap<id, id>", true,
        |parts| parts.into_iter().map(|part| (part, part)).collect(),
        |numbers, number| map(numbers, number, true, itself);
    ordered_map: OrderedMap, "BTreeMap<id, id>", true,
        |parts| parts.into_iter().map(|part| (part, part)).collect(),
        |numbers, number| map(numbers, number, false, itself);
    lists: Lists, "HashMap<id, Vec<Option<id>>>", true,
        |parts| parts.into_iter().map(|part| (part, vec![None, Some(part)])).collect(),
        |numbers, number| map(numbers, number, true, optional);
    array: Array, [id], false, |parts| parts[..3].try_into().unwrap(),
        |numbers, number| numbers[..3].iter().flat_map(|n| number(*n)).collect();
    pair: Pair, (id, Option<id>), false, |parts| (parts[0], Some(parts[2])),
        |numbers, number| [number(numbers[0]), vec![1], number(numbers[2])].concat();
}

/// Elements without bytes count alike in all ways.
#[test]
fn elements_without_bytes_are_counted_alike() {
    type Empty = [u32; 0];

    macro_rules! ways {
        ($($way:ident: $list:meta, $set:meta, $map:meta;)*) => {$(
            #[derive(Persist)]
            struct $way {
                #[$list]
                list: Vec<Empty>,
                #[$list]
                again: Vec<Empty>,
                #[$set]
                set: HashSet<Empty>,
                #[$map]
                map: BTreeMap<Empty, Empty>,
            }

            let list = vec![[]; 20];
            let value = $way { again: vec![[]; 10], list, set: [[]].into(), map: [([], [])].into() };
            let [_, _, saved, loaded] = limits(&value);
            assert_eq!([saved, loaded], [32; 2], stringify!($way));
        )*};
    }

    ways! {
        Usual: doc = "A list.", doc = "A set.", doc = "A map.";
        Compact: persist(compact), persist(compact), persist(compact);
        Lifted: persist(with = "Vec<[_]>"), persist(with = "HashSet<[_]>"), persist(with = "BTreeMap<[_], _>");
    }
}
