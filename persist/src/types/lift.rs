//! Containers as adapters: they store their parts by adapters of their own.
//!
//! Kind and bytes are those of the same container of the stored parts: a `Vec<Option<m>>` is stored as a
//! `Vec<Option<m::Stored>>`.

use std::collections::{
    BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque, btree_map, hash_map,
};
use std::hash::{BuildHasher, Hash};

use super::sequence::{decode_lifted, decode_parts, encode_elements};
use super::{map, set};
use crate::codec::with::{Adapter, Lift};
use crate::codec::{Decoder, Encoder, Fail, Stop, TypeSet, count, is_bulky, unboxed};
use crate::reflect::Kind;

/// Creates an array in a box, without a copy on the stack.
pub(super) fn collect<T, E, const N: usize>(
    items: impl Iterator<Item = Result<T, E>>,
    missing: fn() -> E,
) -> Result<Box<[T; N]>, E> {
    // The list has exactly the capacity that it needs, so the array takes over its memory.
    let mut list = Vec::with_capacity(N);
    for item in items {
        list.push(item?);
    }
    list.try_into().map_err(|_| missing())
}

macro_rules! lifts {
    ($([$($param:ident),*] $container:ty as $lift:ty: $n:literal $part:ident;)*) => {$(
        impl<$($param),*> Lift<$container, $n> for $lift {
            type Part = $part;
        }
    )*};
}

lifts! {
    [T, A] Option<T> as Option<A>: 0 T;
    [T, A] Box<T> as Box<A>: 0 T;
    [T, A] Vec<T> as Vec<A>: 0 T;
    [T, A] VecDeque<T> as VecDeque<A>: 0 T;
    [T, A] LinkedList<T> as LinkedList<A>: 0 T;
    [T, A] BTreeSet<T> as BTreeSet<A>: 0 T;
    [T, S, A, B] HashSet<T, S> as HashSet<A, B>: 0 T;
    [K, V, A, B] BTreeMap<K, V> as BTreeMap<A, B>: 0 K;
    [K, V, A, B] BTreeMap<K, V> as BTreeMap<A, B>: 1 V;
    [K, V, S, A, B, C] HashMap<K, V, S> as HashMap<A, B, C>: 0 K;
    [K, V, S, A, B, C] HashMap<K, V, S> as HashMap<A, B, C>: 1 V;
}

/// Expands to the items that describe a container of these parts.
macro_rules! described {
    ($kind:expr, $name:literal; $($part:ident: $adapter:ident),+) => {
        fn kind() -> Kind {
            $kind
        }

        fn name() -> String {
            format!($name, $(<$adapter as Adapter<$part>>::name()),+)
        }

        fn reach(types: &mut TypeSet) {
            $(<$adapter as Adapter<$part>>::reach(types);)+
        }

        fn module() -> Option<&'static str> {
            None$(.or_else(<$adapter as Adapter<$part>>::module))+
        }
    };
}

impl<T: 'static, A: Adapter<T>> Adapter<Option<T>> for Option<A> {
    const MIN: usize = 1;

    described!(Kind::Option(A::kind), "Option<{}>"; T: A);

    #[inline]
    fn encode(value: &Option<T>, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.take(1)?[0] = u8::from(value.is_some());
        value.as_ref().map_or(Ok(()), |value| A::encode(value, out))
    }

    #[inline]
    fn decode(input: &mut Decoder<'_>) -> Result<Option<T>, Fail> {
        match input.take(1)?[0] {
            0 => Ok(None),
            1 if A::SKIPS => {
                let field = input.take_skipping();
                let start = (input.rest(), input.links().pending());
                match A::decode(input) {
                    Err(fail) => input.skip_failed(fail, field, None, start).map(|()| None),
                    result => result.map(Some),
                }
            }
            1 => A::decode(input).map(Some),
            _ => Err(Fail::Value),
        }
    }

    #[inline]
    fn decode_into(target: &mut Option<T>, input: &mut Decoder<'_>) -> Result<(), Fail> {
        match (input.rest().first(), target) {
            (Some(1), Some(value)) if !A::SKIPS => {
                input.take(1)?;
                A::decode_into(value, input)
            }
            (_, target) => {
                *target = Self::decode(input)?;
                Ok(())
            }
        }
    }
}

impl<T: 'static, A: Adapter<T>> Adapter<Box<T>> for Box<A> {
    const MIN: usize = A::MIN;

    described!(A::kind(), "Box<{}>"; T: A);

    fn encode(value: &Box<T>, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.count_box::<T>(A::MIN);
        out.nested_in::<T>(|out| A::encode(value, out))
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Box<T>, Fail> {
        input.charge_box::<T>(A::MIN)?;
        input.nested_in::<T, _>(|input| A::decode(input).map(Box::new))
    }

    fn decode_into(target: &mut Box<T>, input: &mut Decoder<'_>) -> Result<(), Fail> {
        input.nested_in::<T, _>(|input| A::decode_into(target, input))
    }
}

/// Expands to the items of a container that begins with a count: what writes the parts after it, and what reads them.
macro_rules! counted {
    ($container:ty; $value:ident, $out:ident => $encode:expr; $head:ident, $input:ident => $decode:expr) => {
        const MIN: usize = 1;

        fn encode($value: &$container, $out: &mut Encoder<'_>) -> Result<(), Stop> {
            $out.take(1)?[0] = count::head($value.len() as u64);
            $encode
        }

        fn decode($input: &mut Decoder<'_>) -> Result<$container, Fail> {
            let $head = $input.take(1)?;
            $decode
        }
    };
}

/// Reads the elements of a list after its head, over those of `list`.
fn decode_over<A: Adapter<T>, T: 'static>(
    head: u8,
    list: &mut Vec<T>,
    input: &mut Decoder<'_>,
) -> Result<(), Fail> {
    let reserve = |count: usize| {
        // A skipped element has no place in the list.
        list.truncate(if A::SKIPS { 0 } else { count });
        list.try_reserve_exact(count - list.len()).ok().map(|()| list)
    };
    decode_parts::<A, T, _>(head, A::LEAF, input, reserve, |list, at, input| {
        match list.get_mut(at).filter(|_| !A::SKIPS) {
            Some(item) => A::decode_into(item, input),
            None => A::decode(input).map(|item| list.push(item)),
        }
    })
    .map(drop)
}

/// Expands to the adapters of lists, which are converted from and to a `Vec`.
macro_rules! lists {
    ($($list:ident $name:literal;)*) => {$(
        impl<T: 'static, A: Adapter<T>> Adapter<$list<T>> for $list<A> {
            described!(Kind::List(A::kind), $name; T: A);
            counted!($list<T>;
                list, out => encode_elements::<A, T>(list.iter(), A::LEAF, out);
                head, input => {
                    Ok(decode_lifted::<A, T>(head[0], input)?.into_iter().collect())
                });

            fn decode_into(target: &mut $list<T>, input: &mut Decoder<'_>) -> Result<(), Fail> {
                let head = input.take(1)?[0];
                let mut list = std::mem::take(target).into_iter().collect();
                let result = decode_over::<A, T>(head, &mut list, input);
                *target = list.into_iter().collect();
                result
            }
        }
    )*};
}

// Collecting a `Vec` or `VecDeque` from the iterator of a `Vec` reuses its memory.
lists! {
    Vec "Vec<{}>";
    VecDeque "VecDeque<{}>";
    LinkedList "LinkedList<{}>";
}

/// Stores an array of any length: `[m]` in the attribute `with`.
pub struct Items<A>(std::marker::PhantomData<A>);

impl<T, A, const N: usize> Lift<[T; N], 0> for Items<A> {
    type Part = T;
}

impl<T: 'static, A: Adapter<T>, const N: usize> Adapter<[T; N]> for Items<A> {
    const MIN: usize = N * A::MIN;

    described!(Kind::Array(A::kind, N), "[{}; {N}]"; T: A);

    #[inline]
    fn encode(value: &[T; N], out: &mut Encoder<'_>) -> Result<(), Stop> {
        value.iter().try_for_each(|item| A::encode(item, out))
    }

    #[inline]
    fn decode(input: &mut Decoder<'_>) -> Result<[T; N], Fail> {
        if const { is_bulky::<[T; N]>() } {
            return unboxed(collect((0..N).map(|_| A::decode(input)), || Fail::Count));
        }
        let mut fail = None;
        let items: [Option<T>; N] = std::array::from_fn(|_| match fail {
            None => A::decode(input).map_err(|why| fail = Some(why)).ok(),
            Some(_) => None,
        });
        match fail {
            Some(fail) => Err(fail),
            None => Ok(items.map(|item| item.unwrap_or_else(|| unreachable!("all are there")))),
        }
    }

    #[inline]
    fn decode_into(target: &mut [T; N], input: &mut Decoder<'_>) -> Result<(), Fail> {
        target.iter_mut().try_for_each(|item| A::decode_into(item, input))
    }
}

/// Puts an entry into a map, unless it has the key.
macro_rules! insert {
    ($map:ident) => {
        |map, key, value| match map.entry(key) {
            $map::Entry::Occupied(_) => false,
            $map::Entry::Vacant(entry) => {
                entry.insert(value);
                true
            }
        }
    };
}

/// The hasher of the adapter is ignored, so that `with = "HashMap<_, m>"` fits maps with any hasher.
impl<K, V, S, A, B, C> Adapter<HashMap<K, V, S>> for HashMap<A, B, C>
where
    K: Eq + Hash + 'static,
    V: 'static,
    S: BuildHasher + Default + 'static,
    A: Adapter<K>,
    B: Adapter<V>,
    C: 'static,
{
    described!(Kind::Map(A::kind, B::kind), "HashMap<{}, {}>"; K: A, V: B);
    counted!(HashMap<K, V, S>;
    map, out => map::encode_hashed::<A, B, K, V>(map.iter(), out);
    head, input => {
        let reserve = |map: &mut HashMap<K, V, S>, count| map.try_reserve(count).is_ok();
        map::decode_in_any_order::<A, B, K, V, _>(head, input, reserve, insert!(hash_map))
    });
}

/// Stored in the order of the map, whatever its keys are stored as.
impl<K: Ord + 'static, V: 'static, A: Adapter<K>, B: Adapter<V>> Adapter<BTreeMap<K, V>>
    for BTreeMap<A, B>
{
    described!(Kind::Map(A::kind, B::kind), "BTreeMap<{}, {}>"; K: A, V: B);
    counted!(BTreeMap<K, V>;
    map, out => map::encode_entries::<A, B, K, V>(map.iter(), out);
    head, input => map::decode_in_any_order::<A, B, K, V, BTreeMap<K, V>>(
        head, input, |_, _| true, insert!(btree_map)
    ));
}

impl<T, S, A, B> Adapter<HashSet<T, S>> for HashSet<A, B>
where
    T: Eq + Hash + 'static,
    S: BuildHasher + Default + 'static,
    A: Adapter<T>,
    B: 'static,
{
    described!(Kind::Set(A::kind), "HashSet<{}>"; T: A);
    counted!(HashSet<T, S>;
    set, out => set::encode_hashed::<A, T>(set.iter(), out);
    head, input => {
        let reserve = |set: &mut HashSet<T, S>, count| set.try_reserve(count).is_ok();
        set::decode_in_any_order::<A, T, _>(head, input, reserve, HashSet::insert)
    });
}

/// Stored in the order of the set, whatever its elements are stored as.
impl<T: Ord + 'static, A: Adapter<T>> Adapter<BTreeSet<T>> for BTreeSet<A> {
    described!(Kind::Set(A::kind), "BTreeSet<{}>"; T: A);
    counted!(BTreeSet<T>;
    set, out => encode_elements::<A, T>(set.iter(), false, out);
    head, input => {
        set::decode_in_any_order::<A, T, _>(head, input, |_, _| true, BTreeSet::insert)
    });
}
