//! Sets: a count, then the elements.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasher, Hash};

use super::{compact_items, counted_items, skipping_items};
use crate::codec::compact::Compact;
use crate::codec::skip::Skipping;
use crate::codec::with::{Adapter, Same};
use crate::codec::{
    Buffer, Decoder, Encoder, Fail, KeyLinks, Persist, Prototypes, Stop, TypeSet, count,
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

impl<'k, K: Persist, V> Encoded<'k, K, V> {
    /// Encodes the keys and sorts the entries by their bytes.
    pub(super) fn new<C: Adapter<K>>(
        entries: impl Iterator<Item = (&'k K, V)>,
        env: &Env<'_>,
    ) -> Result<Self> {
        let count = entries.size_hint().0;
        let mut buffer = Buffer::with_size(count.saturating_mul(C::MIN));
        let mut links = KeyLinks::default();
        let mut unknown = Vec::new();
        let mut values = Vec::with_capacity(count);
        let mut ends = Vec::with_capacity(count);
        buffer.append(env, &mut links, |out| {
            for (key, value) in entries {
                C::encode(key, out)?;
                ends.push(out.position());
                values.push(Some(value));
                if !K::__LEAF {
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
            bail!(
                ErrorKind::InvalidValue,
                "two keys or elements of type {} differ only in what is not saved, so that one of them would be lost; save what tells them apart",
                K::persist_name()
            );
        };
        Ok(Self { keys, unknown, values, order, empty_elements: links.empty_elements() })
    }

    /// Writes each key, and its value by `value`.
    pub(super) fn write<C: Adapter<K>, T>(
        self,
        out: &mut Encoder<'_>,
        mut value: impl FnMut(&V, &mut Encoder<'_>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if self.unknown.is_empty() {
            out.add_empty(self.empty_elements);
        }
        out.nested_in::<T>(|out| {
            self.order.iter().try_for_each(|entry| {
                match self.unknown.get(*entry) {
                    Some(key) => C::encode(key, out)?,
                    None => out.bytes(self.keys.key(*entry))?,
                }
                self.values[*entry].as_ref().map_or(Ok(()), |entry| value(entry, out))
            })
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
pub(super) fn decode_key<C: Adapter<K>, K: Persist>(input: &mut Decoder<'_>) -> Result<K, Fail> {
    if K::__LEAF {
        return C::decode(input);
    }
    let start = input.links().pending();
    let key = C::decode(input)?;
    if input.links().pending() == start { Ok(key) } else { Err(refers(input)) }
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
            $item::__COMPACT, $crate::reflect::Kind::Set($item::__compact_kind);
            this, out => {
                out.take(1)?[0] = $crate::codec::count::head(this.len() as u64);
                $crate::types::set::encode_hashed::<Compact, $item>(this.iter(), out)
            };
            input => {
                let head = input.take(1)?;
                hashed_set_items!(@decode Compact, $item, head, input)
            }
        );

        fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
            $crate::types::set::encode_hashed::<Same, $item>(self.iter(), out)
        }

        fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
            hashed_set_items!(@decode Same, $item, head, input)
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
    const __CODE: &'static TypeCode = T::__CODE;
    hashed_set_items!(T);
    skipping_items!(HashSet<Skipping<Same>, ()>);
}

/// Writes the elements of a hashed set, after its head.
pub(super) fn encode_hashed<'s, C: Adapter<T>, T: Persist>(
    items: impl ExactSizeIterator<Item = &'s T>,
    out: &mut Encoder<'_>,
) -> Result<(), Stop> {
    let count = items.len();
    count::encode_tail(count as u64, out)?;
    out.count_elements::<T>(count, C::MIN);
    let encoded = Encoded::new::<C>(items.map(|item| (item, ())), &out.env_inside::<T>())
        .map_err(|error| out.refuse(error))?;
    out.filled(count, C::MIN, |out| encoded.write::<C, T>(out, |(), _| Ok(())))
}

/// Reads the elements of a set, after its head. `reserve` makes room for them, and `insert` returns false for a
/// duplicate.
pub(super) fn decode_in_any_order<C: Adapter<T>, T: Persist, S: Default>(
    head: &[u8],
    input: &mut Decoder<'_>,
    reserve: impl FnOnce(&mut S, usize) -> bool,
    insert: impl Fn(&mut S, T) -> bool,
) -> Result<S, Fail> {
    let count = input.elements_with::<T>(head[0], C::MIN)?;
    let mut set = S::default();
    if !reserve(&mut set, count) {
        return Err(Fail::Limit);
    }
    input.nested_in::<T, _>(|input| {
        for _ in 0..count {
            if !insert(&mut set, decode_key::<C, T>(input)?) {
                return Err(Fail::Duplicate);
            }
        }
        Ok(())
    })?;
    Ok(set)
}

/// Stored in the order of the set. A save does not detect elements that differ only in fields that are not saved; the
/// load refuses them.
impl<T: Persist + Ord> Persist for BTreeSet<T> {
    counted_items!(Kind::Set(T::persist_kind), "BTreeSet<{}>", T::persist_name());
    const __CODE: &'static TypeCode = T::__CODE;
    skipping_items!(BTreeSet<Skipping<Same>>);

    fn __reach(types: &mut TypeSet) {
        reach::<T>(types);
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(BTreeSet::new())
    }

    compact_items!(T::__COMPACT, Kind::Set(T::__compact_kind);
        this, out => {
            out.take(1)?[0] = count::head(this.len() as u64);
            encode_ordered::<Compact, T>(this.iter(), out)
        };
        input => decode_ordered::<Compact, T>(input.take(1)?, input));

    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_ordered::<Same, T>(self.iter(), out)
    }

    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode_ordered::<Same, T>(head, input)
    }
}

/// Writes the elements of an ordered set, after its head.
pub(super) fn encode_ordered<'s, C: Adapter<T>, T: Persist>(
    items: impl ExactSizeIterator<Item = &'s T>,
    out: &mut Encoder<'_>,
) -> Result<(), Stop> {
    let count = items.len();
    count::encode_tail(count as u64, out)?;
    out.count_elements::<T>(count, C::MIN);
    out.filled(count, C::MIN, |out| {
        out.nested_in::<T>(|out| items.into_iter().try_for_each(|item| C::encode(item, out)))
    })
}

/// Reads the elements of an ordered set, after its head.
fn decode_ordered<C: Adapter<T>, T: Persist + Ord>(
    head: &[u8],
    input: &mut Decoder<'_>,
) -> Result<BTreeSet<T>, Fail> {
    decode_in_any_order::<C, T, BTreeSet<T>>(head, input, |_, _| true, BTreeSet::insert)
}
