//! Sets: a count, then the elements.

use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasher, Hash};
use std::ops::Range;

use super::counted_items;
use crate::codec::{
    Buffer, Decoder, Encoder, Fail, NoLinks, Persist, Prototypes, SaveLinks, Stop, TypeSet, count,
};
use crate::reflect::Kind;
use crate::{Error, ErrorKind, Limits, Result};

/// Entries in the order of their encoded keys.
pub(super) struct Encoded<V> {
    /// The encoded keys, one after the other.
    keys: Vec<u8>,
    /// Where each key lies, and its value.
    entries: Vec<(Range<usize>, V)>,
    empty_elements: usize,
}

impl<V> Encoded<V> {
    /// Encodes the keys and puts the entries into the order of their bytes.
    pub(super) fn new<'k, K: Persist>(
        entries: impl Iterator<Item = (&'k K, V)>,
        limits: &Limits,
    ) -> Result<Self> {
        let mut keys = Buffer::new();
        let mut links = NoLinks::default();
        let mut end = 0;
        let mut places = Vec::with_capacity(entries.size_hint().0);
        for (key, value) in entries {
            let start = end;
            end = keys.append(start, limits, &mut links, |out| out.value(key))?;
            places.push((start..end, value));
        }
        let keys = keys.into_bytes();
        places.sort_by(|(a, _), (b, _)| keys[a.clone()].cmp(&keys[b.clone()]));
        let same = |pair: &[(Range<usize>, V)]| keys[pair[0].0.clone()] == keys[pair[1].0.clone()];
        if places.windows(2).any(same) {
            return Err(Error::new(
                ErrorKind::InvalidValue,
                format!(
                    "two keys or elements of type {} differ only in what is not saved, so that one of them would be lost; save what tells them apart",
                    K::name()
                ),
            ));
        }
        Ok(Self { keys, entries: places, empty_elements: *SaveLinks::empty_elements(&mut links) })
    }

    /// Writes each key and, by `value`, what belongs to it.
    pub(super) fn write<T>(
        self,
        out: &mut Encoder<'_>,
        mut value: impl FnMut(&V, &mut Encoder<'_>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        out.add_empty(self.empty_elements);
        out.nested_in::<T>(|out| {
            self.entries.iter().try_for_each(|(key, entry)| {
                out.bytes(&self.keys[key.clone()])?;
                value(entry, out)
            })
        })
    }

    /// The values, in the order of the encoded keys.
    pub(super) fn into_values(self) -> impl Iterator<Item = V> {
        self.entries.into_iter().map(|(_, value)| value)
    }
}

fn reach<T: Persist>(types: &mut TypeSet) {
    T::reach(types);
    types.unvisited("an element of a set", T::kind, T::name);
}

/// Stored in ascending order of the encoded elements, so that equal sets have
/// equal bytes whatever their hasher.
impl<T, S> Persist for HashSet<T, S>
where
    T: Persist + Eq + Hash,
    S: BuildHasher + Default + 'static,
{
    counted_items!(Kind::Set(T::kind), "HashSet<{}>", T::name());

    fn reach(types: &mut TypeSet) {
        reach::<T>(types);
    }

    fn prototype(_: &Prototypes<'_>) -> Result<Self> {
        Ok(HashSet::default())
    }

    fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        count::encode_tail(self.len() as u64, out)?;
        out.count_empty::<T>(self.len());
        let entries = self.iter().map(|item| (item, ()));
        let encoded =
            Encoded::new(entries, &out.limits_inside::<T>()).map_err(|error| out.refuse(error))?;
        out.filled::<T>(self.len(), |out| encoded.write::<T>(out, |(), _| Ok(())))
    }

    fn decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        let count = input.elements::<T>(head)?;
        let mut set = Self::with_hasher(S::default());
        set.try_reserve(count).map_err(|_| Fail::Limit)?;
        input.nested_in::<T, _>(|input| {
            for _ in 0..count {
                if !set.insert(input.value()?) {
                    return Err(Fail::Duplicate);
                }
            }
            Ok(())
        })?;
        Ok(set)
    }
}

/// Stored in the order of the set. Elements that differ only in what is not saved
/// are not found when they are saved, but refused by the load.
impl<T: Persist + Ord> Persist for BTreeSet<T> {
    counted_items!(Kind::Set(T::kind), "BTreeSet<{}>", T::name());

    fn reach(types: &mut TypeSet) {
        reach::<T>(types);
    }

    fn prototype(_: &Prototypes<'_>) -> Result<Self> {
        Ok(BTreeSet::new())
    }

    fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        count::encode_tail(self.len() as u64, out)?;
        out.count_empty::<T>(self.len());
        out.filled::<T>(self.len(), |out| {
            out.nested_in::<T>(|out| self.iter().try_for_each(|item| out.value(item)))
        })
    }

    fn decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        let count = input.elements::<T>(head)?;
        let mut set = Self::new();
        input.nested_in::<T, _>(|input| {
            for _ in 0..count {
                if !set.insert(input.value()?) {
                    return Err(Fail::Duplicate);
                }
            }
            Ok(())
        })?;
        Ok(set)
    }
}
