//! Sets: a count, then the elements.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasher, Hash};

use super::{compact_items, counted_items};
use crate::codec::compact::{Coding, Compact, Plain};
use crate::codec::{
    Buffer, Decoder, Encoder, Fail, NoLinks, Persist, Prototypes, Stop, TypeSet, count,
};
use crate::env::Env;
use crate::reflect::Kind;
use crate::{Error, ErrorKind, Result};

/// Entries in the order of their encoded keys.
pub(super) struct Encoded<V> {
    keys: Keys,
    /// The value of each, as they came.
    values: Vec<Option<V>>,
    /// The entries in the order of their keys.
    order: Vec<usize>,
    empty_elements: usize,
}

/// Encoded keys, one after the other, and where each ends.
struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    fn key(&self, entry: usize) -> &[u8] {
        let start = entry.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[entry]]
    }

    /// The first bytes of a key as a number: most keys differ there, and numbers are quickly compared.
    fn first(&self, entry: usize) -> u64 {
        let (key, mut first) = (self.key(entry), [0; 8]);
        let length = key.len().min(first.len());
        first[..length].copy_from_slice(&key[..length]);
        u64::from_le_bytes(first).swap_bytes()
    }

    /// The order of the keys; `None` if two of them are equal.
    fn in_order(&self) -> Option<Vec<usize>> {
        let mut order: Vec<_> = (0..self.ends.len()).map(|at| (self.first(at), at)).collect();
        order.sort_unstable_by(|(a, at), (b, bt)| {
            a.cmp(b).then_with(|| self.key(*at).cmp(self.key(*bt)))
        });
        let is_twice = |pair: &[(u64, usize)]| {
            pair[0].0 == pair[1].0 && self.key(pair[0].1) == self.key(pair[1].1)
        };
        let is_clear = !order.windows(2).any(is_twice);
        is_clear.then(|| order.into_iter().map(|(_, at)| at).collect())
    }
}

impl<V> Encoded<V> {
    /// Encodes the keys and puts the entries into the order of their bytes.
    pub(super) fn new<'k, C: Coding, K: Persist>(
        entries: impl Iterator<Item = (&'k K, V)>,
        env: &Env<'_>,
    ) -> Result<Self> {
        let count = entries.size_hint().0;
        let mut buffer = Buffer::with_size(count.saturating_mul(C::least::<K>()));
        let mut links = NoLinks::default();
        let mut values = Vec::with_capacity(count);
        let mut ends = Vec::with_capacity(count);
        buffer.append(env, &mut links, |out| {
            for (key, value) in entries {
                C::encode(key, out)?;
                ends.push(out.position());
                values.push(Some(value));
            }
            Ok(())
        })?;
        let keys = Keys { bytes: buffer.into_bytes(), ends };
        let Some(order) = keys.in_order() else {
            return Err(Error::new(
                ErrorKind::InvalidValue,
                format!(
                    "two keys or elements of type {} differ only in what is not saved, so that one of them would be lost; save what tells them apart",
                    K::persist_name()
                ),
            ));
        };
        Ok(Self { keys, values, order, empty_elements: links.empty_elements() })
    }

    /// Writes each key and, by `value`, what belongs to it.
    pub(super) fn write<T>(
        self,
        out: &mut Encoder<'_>,
        mut value: impl FnMut(&V, &mut Encoder<'_>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        out.add_empty(self.empty_elements);
        out.nested_in::<T>(|out| {
            self.order.iter().try_for_each(|entry| {
                out.bytes(self.keys.key(*entry))?;
                self.values[*entry].as_ref().map_or(Ok(()), |entry| value(entry, out))
            })
        })
    }

    /// The values, in the order of the encoded keys.
    pub(super) fn into_values(mut self) -> impl Iterator<Item = V> {
        self.order.into_iter().filter_map(move |entry| self.values[entry].take())
    }
}

/// The order of `count` entries; `None` if two of them are equal. It is compiled once, for entries of any type.
pub(super) fn in_order(
    count: usize,
    compare: &dyn Fn(usize, usize) -> Ordering,
) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| compare(*a, *b));
    let is_twice = |pair: &[usize]| compare(pair[0], pair[1]).is_eq();
    (!order.windows(2).any(is_twice)).then_some(order)
}

fn reach<T: Persist>(types: &mut TypeSet) {
    T::__reach(types);
    types.unvisited("an element of a set", T::persist_kind, T::persist_name);
}

/// Stored in ascending order of the encoded elements, so that equal sets have
/// equal bytes whatever their hasher.
impl<T, S> Persist for HashSet<T, S>
where
    T: Persist + Eq + Hash,
    S: BuildHasher + Default + 'static,
{
    counted_items!(Kind::Set(T::persist_kind), "HashSet<{}>", T::persist_name());

    fn __reach(types: &mut TypeSet) {
        reach::<T>(types);
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(HashSet::default())
    }

    compact_items!(T::__COMPACT, Kind::Set(T::__compact_kind);
        this, out => {
            out.take(1)?[0] = count::head(this.len() as u64);
            encode_hashed::<Compact, T, S>(this, out)
        };
        input => decode_hashed::<Compact, T, S>(input.take(1)?, input));

    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_hashed::<Plain, T, S>(self, out)
    }

    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode_hashed::<Plain, T, S>(head, input)
    }
}

/// Writes what follows the head of a hashed set.
fn encode_hashed<C: Coding, T: Persist, S>(
    set: &HashSet<T, S>,
    out: &mut Encoder<'_>,
) -> Result<(), Stop> {
    count::encode_tail(set.len() as u64, out)?;
    out.count_empty::<C, T>(set.len());
    let entries = set.iter().map(|item| (item, ()));
    let encoded =
        Encoded::new::<C, T>(entries, &out.env_inside::<T>()).map_err(|error| out.refuse(error))?;
    out.filled::<C, T>(set.len(), |out| encoded.write::<T>(out, |(), _| Ok(())))
}

/// Reads what follows the head of a hashed set.
fn decode_hashed<C, T, S>(head: &[u8], input: &mut Decoder<'_>) -> Result<HashSet<T, S>, Fail>
where
    C: Coding,
    T: Persist + Eq + Hash,
    S: BuildHasher + Default,
{
    let count = input.elements_in::<C, T>(head[0])?;
    let mut set = HashSet::with_hasher(S::default());
    set.try_reserve(count).map_err(|_| Fail::Limit)?;
    input.nested_in::<T, _>(|input| {
        for _ in 0..count {
            if !set.insert(C::decode(input)?) {
                return Err(Fail::Duplicate);
            }
        }
        Ok(())
    })?;
    Ok(set)
}

/// Stored in the order of the set. Elements that differ only in what is not saved
/// are not found when they are saved, but refused by the load.
impl<T: Persist + Ord> Persist for BTreeSet<T> {
    counted_items!(Kind::Set(T::persist_kind), "BTreeSet<{}>", T::persist_name());

    fn __reach(types: &mut TypeSet) {
        reach::<T>(types);
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(BTreeSet::new())
    }

    compact_items!(T::__COMPACT, Kind::Set(T::__compact_kind);
        this, out => {
            out.take(1)?[0] = count::head(this.len() as u64);
            encode_ordered::<Compact, T>(this, out)
        };
        input => decode_ordered::<Compact, T>(input.take(1)?, input));

    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_ordered::<Plain, T>(self, out)
    }

    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode_ordered::<Plain, T>(head, input)
    }
}

/// Writes what follows the head of an ordered set.
fn encode_ordered<C: Coding, T: Persist>(
    set: &BTreeSet<T>,
    out: &mut Encoder<'_>,
) -> Result<(), Stop> {
    count::encode_tail(set.len() as u64, out)?;
    out.count_empty::<C, T>(set.len());
    out.filled::<C, T>(set.len(), |out| {
        out.nested_in::<T>(|out| set.iter().try_for_each(|item| C::encode(item, out)))
    })
}

/// Reads what follows the head of an ordered set.
fn decode_ordered<C: Coding, T: Persist + Ord>(
    head: &[u8],
    input: &mut Decoder<'_>,
) -> Result<BTreeSet<T>, Fail> {
    let count = input.elements_in::<C, T>(head[0])?;
    let mut set = BTreeSet::new();
    input.nested_in::<T, _>(|input| {
        for _ in 0..count {
            if !set.insert(C::decode(input)?) {
                return Err(Fail::Duplicate);
            }
        }
        Ok(())
    })?;
    Ok(set)
}
