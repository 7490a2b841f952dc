//! Sorts the keys of hashed maps and the elements of hashed sets by their encoded bytes. Equal maps and sets then have
//! equal bytes, whatever their hashers.

use crate::codec::with::Adapter;
use crate::codec::{Buffer, Encoder, KeyLinks, Stop};
use crate::env::Env;
use crate::{ErrorKind, Result};

/// The entries of a map, or the elements of a set with `()` as their values, in the order of their encoded keys.
pub(super) struct SortedEntries<'k, K, V> {
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

impl<'k, K: 'static, V> SortedEntries<'k, K, V> {
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
