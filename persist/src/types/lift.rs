//! Containers as adapters: they store their parts by adapters of their own.
//!
//! Kind and bytes are those of the same container of the stored parts: a `Vec<Option<m>>` is stored as a
//! `Vec<Option<m::Stored>>`.

use std::collections::{
    BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque, btree_map, hash_map,
};
use std::hash::{BuildHasher, Hash};

use super::array::collect;
use crate::ErrorKind;
use crate::codec::with::{Adapter, Lift, clash};
use crate::codec::{
    Buffer, Decoder, Encoder, Fail, KeyLinks, Stop, TypeSet, count, is_bulky, unboxed,
};
use crate::reflect::Kind;

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
        let field = if A::SKIPS { input.take_skipping() } else { None };
        match input.take(1)?[0] {
            0 => Ok(None),
            1 => {
                let start = (input.rest(), if A::SKIPS { input.links().pending() } else { 0 });
                match A::decode(input) {
                    Err(fail) if A::SKIPS => {
                        input.skip_failed(fail, field, None, start).map(|()| None)
                    }
                    result => result.map(Some),
                }
            }
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

/// Writes a count and the elements, each by `element`.
fn encode_counted<T, I>(
    items: impl ExactSizeIterator<Item = I>,
    min: usize,
    out: &mut Encoder<'_>,
    element: impl Fn(I, &mut Encoder<'_>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut items = items;
    let count = items.len();
    count::encode(count as u64, out)?;
    out.count_elements::<T>(count, min);
    out.filled(count, min, |out| {
        out.nested_in::<T>(|out| out.fork(|out| items.try_for_each(|item| element(item, out))))
    })
}

/// Reads a count, calls `reserve` for all elements, and then `element` for each.
fn decode_counted<T, L>(
    min: usize,
    skips: bool,
    input: &mut Decoder<'_>,
    reserve: impl FnOnce(usize) -> Result<L, Fail>,
    element: impl Fn(&mut L, usize, &mut Decoder<'_>) -> Result<(), Fail>,
) -> Result<L, Fail> {
    let field = if skips { input.take_skipping() } else { None };
    let head = input.take(1)?[0];
    let count = input.elements_with::<T>(head, min)?;
    let mut items = reserve(count)?;
    input.nested_in::<T, _>(|input| {
        (0..count).try_for_each(|at| {
            let start = (input.rest(), if skips { input.links().pending() } else { 0 });
            match element(&mut items, at, input) {
                Err(fail) if skips && field.is_some() => {
                    input.skip_failed(fail, field, Some(at), start)
                }
                Err(fail) => Err(input.failed_element(fail, at)),
                result => result,
            }
        })
    })?;
    Ok(items)
}

/// Reads elements into a `Vec`, over its existing elements.
fn decode_list<T: 'static, A: Adapter<T>>(
    list: &mut Vec<T>,
    input: &mut Decoder<'_>,
) -> Result<(), Fail> {
    let reserve = |count: usize| {
        // A skipped element has no place in the list.
        list.truncate(if A::SKIPS { 0 } else { count });
        list.try_reserve_exact(count - list.len()).map_err(|_| Fail::Limit)?;
        Ok(list)
    };
    decode_counted::<T, _>(A::MIN, A::SKIPS, input, reserve, |list, at, input| {
        match list.get_mut(at).filter(|_| !A::SKIPS) {
            Some(item) => A::decode_into(item, input),
            None => {
                list.push(A::decode(input)?);
                Ok(())
            }
        }
    })
    .map(drop)
}

/// Expands to the adapters of lists, which are converted from and to a `Vec`.
macro_rules! lists {
    ($($list:ident $name:literal;)*) => {$(
        impl<T: 'static, A: Adapter<T>> Adapter<$list<T>> for $list<A> {
            const MIN: usize = 1;

            described!(Kind::List(A::kind), $name; T: A);

            fn encode(value: &$list<T>, out: &mut Encoder<'_>) -> Result<(), Stop> {
                encode_counted::<T, _>(value.iter(), A::MIN, out, A::encode)
            }

            fn decode(input: &mut Decoder<'_>) -> Result<$list<T>, Fail> {
                let mut list = Vec::new();
                decode_list::<T, A>(&mut list, input)?;
                Ok(list.into_iter().collect())
            }

            fn decode_into(target: &mut $list<T>, input: &mut Decoder<'_>) -> Result<(), Fail> {
                let mut list = std::mem::take(target).into_iter().collect();
                let result = decode_list::<T, A>(&mut list, input);
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

    fn kind() -> Kind {
        Kind::Array(A::kind, N)
    }

    fn name() -> String {
        format!("[{}; {N}]", A::name())
    }

    fn reach(types: &mut TypeSet) {
        A::reach(types);
    }

    fn module() -> Option<&'static str> {
        A::module()
    }

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

macro_rules! tuples {
    ($($($part:ident $adapter:ident $n:tt),+;)*) => {$(
        tuples!(@lifts ($($part $adapter),+) $($part $n),+);

        impl<$($part: 'static, $adapter: Adapter<$part>),+> Adapter<($($part,)+)> for ($($adapter,)+) {
            const MIN: usize = 0 $(+ $adapter::MIN)+;

            fn kind() -> Kind {
                Kind::Tuple(const { &[$($adapter::kind as fn() -> Kind),+] })
            }

            fn name() -> String {
                let names = [$($adapter::name()),+];
                let comma = if names.len() == 1 { "," } else { "" };
                format!("({}{comma})", names.join(", "))
            }

            fn reach(types: &mut TypeSet) {
                $($adapter::reach(types);)+
            }

            fn module() -> Option<&'static str> {
                None$(.or_else($adapter::module))+
            }

            #[inline]
            fn encode(value: &($($part,)+), out: &mut Encoder<'_>) -> Result<(), Stop> {
                $($adapter::encode(&value.$n, out)?;)+
                Ok(())
            }

            #[inline]
            fn decode(input: &mut Decoder<'_>) -> Result<($($part,)+), Fail> {
                Ok(($($adapter::decode(input)?,)+))
            }

            #[inline]
            fn decode_into(
                target: &mut ($($part,)+),
                input: &mut Decoder<'_>,
            ) -> Result<(), Fail> {
                $($adapter::decode_into(&mut target.$n, input)?;)+
                Ok(())
            }
        }
    )*};
    (@lifts $all:tt $($part:ident $n:tt),+) => {
        $(tuples!(@lift $all $part $n);)+
    };
    (@lift ($($part:ident $adapter:ident),+) $own:ident $n:tt) => {
        impl<$($part, $adapter),+> Lift<($($part,)+), $n> for ($($adapter,)+) {
            type Part = $own;
        }
    };
}

tuples! {
    A Aa 0;
    A Aa 0, B Ba 1;
    A Aa 0, B Ba 1, C Ca 2;
    A Aa 0, B Ba 1, C Ca 2, D Da 3;
    A Aa 0, B Ba 1, C Ca 2, D Da 3, E Ea 4;
    A Aa 0, B Ba 1, C Ca 2, D Da 3, E Ea 4, F Fa 5;
    A Aa 0, B Ba 1, C Ca 2, D Da 3, E Ea 4, F Fa 5, G Ga 6;
    A Aa 0, B Ba 1, C Ca 2, D Da 3, E Ea 4, F Fa 5, G Ga 6, H Ha 7;
}

/// Writes entries in ascending order of their encoded keys, so that equal maps have equal bytes whatever their hasher.
fn encode_hashed<'k, T, K: 'static, V, A: Adapter<K>>(
    entries: impl ExactSizeIterator<Item = (&'k K, V)>,
    min: usize,
    out: &mut Encoder<'_>,
    value: impl Fn(V, &mut Encoder<'_>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let count = entries.len();
    let (mut buffer, mut links) = (Buffer::new(), KeyLinks::default());
    let mut encoded = Vec::with_capacity(count);
    let keys = buffer.append(&out.env_inside::<T>(), &mut links, |out| {
        for (key, value) in entries {
            let start = out.position();
            A::encode(key, out)?;
            encoded.push((start..out.position(), key, value));
        }
        Ok(())
    });
    keys.map_err(|error| out.refuse(error))?;
    let keys = buffer.gather();
    encoded.sort_unstable_by(|(a, ..), (b, ..)| keys[a.clone()].cmp(&keys[b.clone()]));
    if encoded.windows(2).any(|pair| keys[pair[0].0.clone()] == keys[pair[1].0.clone()]) {
        return Err(out.refuse(error!(
            ErrorKind::InvalidValue,
            "two keys or elements are stored as the same {}, so that one of them would be lost; store what tells them apart",
            A::name()
        )));
    }
    if !links.hold_unknown {
        out.add_empty(links.empty_elements());
    }
    encode_counted::<T, _>(encoded.into_iter(), min, out, |(bytes, key, entry), out| {
        match links.hold_unknown {
            true => A::encode(key, out)?,
            false => out.bytes(&keys[bytes])?,
        }
        value(entry, out)
    })
}

/// Reads entries, which `insert` puts into the map. It returns false for a duplicate key.
fn decode_entries<K: 'static, V: 'static, A: Adapter<K>, B: Adapter<V>, M>(
    input: &mut Decoder<'_>,
    reserve: impl FnOnce(usize) -> Result<M, Fail>,
    insert: impl Fn(&mut M, K, V) -> bool,
) -> Result<M, Fail> {
    decode_counted::<(K, V), _>(
        A::MIN + B::MIN,
        A::SKIPS || B::SKIPS,
        input,
        reserve,
        |map, at, input| {
            let key = A::decode(input)?;
            let value = B::decode(input)?;
            if insert(map, key, value) { Ok(()) } else { Err(clash(A::module(), "key", at, input)) }
        },
    )
}

/// Reads elements, which `insert` puts into the set. It returns false for a duplicate.
fn decode_elements<T: 'static, A: Adapter<T>, M>(
    input: &mut Decoder<'_>,
    reserve: impl FnOnce(usize) -> Result<M, Fail>,
    insert: impl Fn(&mut M, T) -> bool,
) -> Result<M, Fail> {
    decode_counted::<T, _>(A::MIN, A::SKIPS, input, reserve, |set, at, input| {
        let item = A::decode(input)?;
        if insert(set, item) { Ok(()) } else { Err(clash(A::module(), "element", at, input)) }
    })
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
    const MIN: usize = 1;

    described!(Kind::Map(A::kind, B::kind), "HashMap<{}, {}>"; K: A, V: B);

    fn encode(map: &HashMap<K, V, S>, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_hashed::<(K, V), K, &V, A>(map.iter(), A::MIN + B::MIN, out, B::encode)
    }

    fn decode(input: &mut Decoder<'_>) -> Result<HashMap<K, V, S>, Fail> {
        let reserve = |count| {
            let mut map = HashMap::with_hasher(S::default());
            map.try_reserve(count).map_err(|_| Fail::Limit)?;
            Ok(map)
        };
        decode_entries::<K, V, A, B, _>(input, reserve, |map: &mut HashMap<K, V, S>, key, value| {
            match map.entry(key) {
                hash_map::Entry::Occupied(_) => false,
                hash_map::Entry::Vacant(entry) => {
                    entry.insert(value);
                    true
                }
            }
        })
    }
}

/// Stored in the order of the map, whatever its keys are stored as.
impl<K: Ord + 'static, V: 'static, A: Adapter<K>, B: Adapter<V>> Adapter<BTreeMap<K, V>>
    for BTreeMap<A, B>
{
    const MIN: usize = 1;

    described!(Kind::Map(A::kind, B::kind), "BTreeMap<{}, {}>"; K: A, V: B);

    fn encode(map: &BTreeMap<K, V>, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_counted::<(K, V), _>(map.iter(), A::MIN + B::MIN, out, |(key, value), out| {
            A::encode(key, out)?;
            B::encode(value, out)
        })
    }

    fn decode(input: &mut Decoder<'_>) -> Result<BTreeMap<K, V>, Fail> {
        decode_entries::<K, V, A, B, _>(
            input,
            |_| Ok(BTreeMap::new()),
            |map, key, value| match map.entry(key) {
                btree_map::Entry::Occupied(_) => false,
                btree_map::Entry::Vacant(entry) => {
                    entry.insert(value);
                    true
                }
            },
        )
    }
}

impl<T, S, A, B> Adapter<HashSet<T, S>> for HashSet<A, B>
where
    T: Eq + Hash + 'static,
    S: BuildHasher + Default + 'static,
    A: Adapter<T>,
    B: 'static,
{
    const MIN: usize = 1;

    described!(Kind::Set(A::kind), "HashSet<{}>"; T: A);

    fn encode(set: &HashSet<T, S>, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let entries = set.iter().map(|item| (item, ()));
        encode_hashed::<T, T, (), A>(entries, A::MIN, out, |(), _| Ok(()))
    }

    fn decode(input: &mut Decoder<'_>) -> Result<HashSet<T, S>, Fail> {
        let reserve = |count| {
            let mut set = HashSet::with_hasher(S::default());
            set.try_reserve(count).map_err(|_| Fail::Limit)?;
            Ok(set)
        };
        decode_elements::<T, A, _>(input, reserve, HashSet::<T, S>::insert)
    }
}

/// Stored in the order of the set, whatever its elements are stored as.
impl<T: Ord + 'static, A: Adapter<T>> Adapter<BTreeSet<T>> for BTreeSet<A> {
    const MIN: usize = 1;

    described!(Kind::Set(A::kind), "BTreeSet<{}>"; T: A);

    fn encode(set: &BTreeSet<T>, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_counted::<T, _>(set.iter(), A::MIN, out, A::encode)
    }

    fn decode(input: &mut Decoder<'_>) -> Result<BTreeSet<T>, Fail> {
        decode_elements::<T, A, _>(input, |_| Ok(BTreeSet::new()), BTreeSet::insert)
    }
}
