//! Sets: a count, then the elements.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasher, Hash};

use super::sequence::{decode_parts, encode_elements};
use super::{compact_items, counted_items, skipping_items};
use crate::codec::compact::Compact;
use crate::codec::skip::Skipping;
use crate::codec::with::{Adapter, Same, Usual, clash};
use crate::codec::{
    Buffer, Decoder, Encoder, Fail, Generic, KeyLinks, Layout, Persist, Prototypes, Stop, TypeSet,
};
use crate::env::Env;
use crate::reflect::{Kind, TypeCode};
use crate::sorting::order;
use crate::{ErrorKind, Result};

/// Holds entries in the order of their encoded keys.
pub(super) struct Encoded<'k, K, V> {
    keys: Keys,
    /// The keys themselves, if their bytes in the save differ from those that are compared.
    unknown: Vec<&'k K>,
    /// The values of the entries, in their original order.
    values: Vec<Option<V>>,
    /// The entries in the order of their keys.
    order: Vec<usize>,
    empty_elements: usize,
}

/// Encoded keys one after the other, and the end of each.
struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    fn key(&self, entry: usize) -> &[u8] {
        let start = entry.checked_sub(1).map_or(0, |previous| self.ends[previous]);
        &self.bytes[start..self.ends[entry]]
    }

    /// Returns the first bytes of a key as a number. Most keys differ there, and numbers are quick to compare.
    fn first(&self, entry: usize) -> u64 {
        let (key, mut first) = (self.key(entry), [0; 8]);
        let length = key.len().min(first.len());
        first[..length].copy_from_slice(&key[..length]);
        u64::from_le_bytes(first).swap_bytes()
    }

    /// Returns the order of the keys; `None` if two of them are equal.
    fn in_order(&self) -> Option<Vec<usize>> {
        let mut order: Vec<_> = (0..self.ends.len()).map(|at| (self.first(at), at)).collect();
        order.sort_unstable_by(|(a, at), (b, bt)| {
            a.cmp(b).then_with(|| self.key(*at).cmp(self.key(*bt)))
        });
        let is_duplicate = |pair: &[(u64, usize)]| {
            pair[0].0 == pair[1].0 && self.key(pair[0].1) == self.key(pair[1].1)
        };
        let is_clear = !order.windows(2).any(is_duplicate);
        is_clear.then(|| order.into_iter().map(|(_, at)| at).collect())
    }
}

impl<'k, K: 'static, V> Encoded<'k, K, V> {
    /// Encodes the keys and sorts the entries by their bytes.
    pub(super) fn new<A: Adapter<K>>(
        entries: impl Iterator<Item = (&'k K, V)>,
        env: &Env<'_>,
    ) -> Result<Self> {
        let count = entries.size_hint().0;
        let mut buffer = Buffer::with_size(count.saturating_mul(A::MIN));
        let mut links = KeyLinks::default();
        let mut unknown = Vec::new();
        let mut values = Vec::with_capacity(count);
        let mut ends = Vec::with_capacity(count);
        buffer.append(env, &mut links, |out| {
            for (key, value) in entries {
                A::encode(key, out)?;
                ends.push(out.position());
                values.push(Some(value));
                if !A::LEAF {
                    unknown.push(key);
                }
            }
            Ok(())
        })?;
        if !links.hold_unknown {
            unknown.clear();
        }
        let keys = Keys { bytes: buffer.into_bytes(), ends };
        let Some(order) = keys.in_order() else {
            let name = A::name();
            if A::IS_ADAPTER {
                bail!(
                    ErrorKind::InvalidValue,
                    "two keys or elements are stored as the same {name}, so that one of them would be lost; store what tells them apart"
                );
            }
            bail!(
                ErrorKind::InvalidValue,
                "two keys or elements of type {name} differ only in what is not saved, so that one of them would be lost; save what tells them apart"
            );
        };
        Ok(Self { keys, unknown, values, order, empty_elements: links.empty_elements() })
    }

    /// Writes each key, and its value by `value`.
    pub(super) fn write<A: Adapter<K>>(
        self,
        out: &mut Encoder<'_>,
        mut value: impl FnMut(&V, &mut Encoder<'_>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if self.unknown.is_empty() {
            out.add_empty(self.empty_elements);
        }
        self.order.iter().try_for_each(|entry| {
            match self.unknown.get(*entry) {
                Some(key) => A::encode(key, out)?,
                None => out.bytes(self.keys.key(*entry))?,
            }
            self.values[*entry].as_ref().map_or(Ok(()), |entry| value(entry, out))
        })
    }

    /// Returns the values, in the order of the encoded keys.
    pub(super) fn into_values(mut self) -> impl Iterator<Item = V> {
        self.order.into_iter().filter_map(move |entry| self.values[entry].take())
    }
}

/// Returns the order of `count` entries; `None` if two of them are equal. Compiled once, for entries of all types.
pub(super) fn in_order(
    count: usize,
    compare: &dyn Fn(usize, usize) -> Ordering,
) -> Option<Vec<usize>> {
    let order = order(count, compare);
    let is_duplicate = |pair: &[usize]| compare(pair[0], pair[1]).is_eq();
    (!order.windows(2).any(is_duplicate)).then_some(order)
}

/// Reads the key of a map or an element of a set. No visit reaches it, so unknown content in it must not refer to
/// objects.
#[inline(always)]
pub(super) fn decode_key<A: Adapter<K>, K: 'static>(input: &mut Decoder<'_>) -> Result<K, Fail> {
    let start = pending::<A, K>(input);
    let key = A::decode(input)?;
    if pending::<A, K>(input) == start { Ok(key) } else { Err(refers(input)) }
}

/// Returns the number of references set aside so far, for a value that may hold references which a visit connects.
#[inline(always)]
pub(super) fn pending<A: Adapter<T>, T: 'static>(input: &mut Decoder<'_>) -> usize {
    if A::LEAF || A::IS_ADAPTER { 0 } else { input.links().pending() }
}

#[cold]
fn refers(input: &mut Decoder<'_>) -> Fail {
    input.refuse(error!(
        ErrorKind::Unsupported,
        "a variant or field that is kept in a key of a map or an element of a set refers to an object, which nothing there can; declare it `removed`, or load it into a list"
    ))
}

pub(super) fn reach<T: Persist>(types: &mut TypeSet) {
    T::__reach(types);
    types.unvisited("an element of a set", T::persist_kind, T::persist_name);
}

/// Expands to the items of a hashed set, of the standard library or of another crate.
///
/// The set is stored in ascending order of the encoded elements, so that equal sets have equal bytes whatever their
/// hasher.
macro_rules! hashed_set_items {
    ($item:ident) => {
        fn __reach(types: &mut $crate::codec::TypeSet) {
            $crate::types::set::reach::<$item>(types);
        }

        fn persist_empty(_: &$crate::codec::Prototypes<'_>) -> $crate::Result<Self> {
            Ok(Self::default())
        }

        $crate::types::compact_items!(
            <$item as $crate::codec::Generic>::COMPACT, $crate::reflect::Kind::Set($item::__compact_kind);
            this, out => $crate::types::set::encode_hashed::<Compact, $item>(this.iter(), out);
            head, input => hashed_set_items!(@decode Compact, $item, head, input)
        );

        fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
            $crate::types::set::encode_hashed::<Usual, $item>(self.iter(), out)
        }

        fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
            hashed_set_items!(@decode Usual, $item, head, input)
        }
    };
    (@decode $coding:ident, $item:ident, $head:ident, $input:ident) => {
        $crate::types::set::decode_in_any_order::<$coding, $item, Self>(
            $head,
            $input,
            |set, count| set.try_reserve(count).is_ok(),
            Self::insert,
        )
    };
}
#[cfg(any(
    feature = "hashbrown-0_15",
    feature = "hashbrown-0_16",
    feature = "hashbrown-0_17"
))]
pub(super) use hashed_set_items;

impl<T, S> Persist for HashSet<T, S>
where
    T: Persist + Eq + Hash,
    S: BuildHasher + Default + 'static,
{
    counted_items!(Kind::Set(T::persist_kind), "HashSet<{}>", T::persist_name());
    const __LAYOUT: Layout = Layout { skips: true, ..Layout::collection::<Self>() };
    const __CODE: &'static TypeCode = T::__CODE;
    hashed_set_items!(T);
    skipping_items!(HashSet<Skipping<Same>, ()>);
}

/// Writes the elements of a hashed set, after its head.
pub(super) fn encode_hashed<'s, A: Adapter<T>, T: 'static>(
    items: impl ExactSizeIterator<Item = &'s T>,
    out: &mut Encoder<'_>,
) -> Result<(), Stop> {
    let count = items.len();
    let encoded = Encoded::new::<A>(items.map(|item| (item, ())), &out.env_inside::<T>())
        .map_err(|error| out.refuse(error))?;
    out.elements::<T>(count, A::MIN, false, |out| encoded.write::<A>(out, |(), _| Ok(())))
}

/// Reads the elements of a set, after its head. `reserve` makes room for them, and `insert` returns false for a
/// duplicate.
pub(super) fn decode_in_any_order<A: Adapter<T>, T: 'static, S: Default>(
    head: &[u8],
    input: &mut Decoder<'_>,
    reserve: impl FnOnce(&mut S, usize) -> bool,
    insert: impl Fn(&mut S, T) -> bool,
) -> Result<S, Fail> {
    let reserve = |count| {
        let mut set = S::default();
        reserve(&mut set, count).then_some(set)
    };
    decode_parts::<A, T, _>(head[0], false, input, reserve, |set, at, input| {
        let item = decode_key::<A, T>(input)?;
        if insert(set, item) { Ok(()) } else { Err(clash(A::module(), "element", at, input)) }
    })
}

/// Stored in the order of the set. A save does not detect elements that differ only in fields that are not saved; the
/// load refuses them.
impl<T: Persist + Ord> Persist for BTreeSet<T> {
    counted_items!(Kind::Set(T::persist_kind), "BTreeSet<{}>", T::persist_name());
    const __LAYOUT: Layout = Layout { skips: true, ..Layout::collection::<Self>() };
    const __CODE: &'static TypeCode = T::__CODE;
    skipping_items!(BTreeSet<Skipping<Same>>);

    fn __reach(types: &mut TypeSet) {
        reach::<T>(types);
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(BTreeSet::new())
    }

    compact_items!(T::COMPACT, BTreeSet<Compact>);

    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_elements::<Usual, T>(self.iter(), false, out)
    }

    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode_in_any_order::<Usual, T, Self>(head, input, |_, _| true, Self::insert)
    }
}
