//! Maps: a count, then key and value of each entry. A hashed map is written in the order of its encoded keys, which
//! [`SortedEntries`] sorts.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};
use std::ops::Range;

use super::SortedEntries;
use super::sequence::{decode_parts, visit_each, visit_each_shared};
use super::set::{decode_key, pending};
use super::{compact_items, counted_items};
use crate::Result;
use crate::codec::compact::Compact;
use crate::codec::skip::Skipping;
use crate::codec::with::{Adapter, Usual, clash};
use crate::codec::{
    Buffer, Decoder, EditableItems, Encoder, Fail, Generic, KeyLinks, Layout, LoadLinks, Persist,
    Prototypes, Stop, TypeSet, Visitor,
};
use crate::reflect::{Kind, TypeCode};
use crate::sorting::{order, sort_by};

pub(super) fn reach<K: Persist, V: Persist>(types: &mut TypeSet) {
    K::__reach(types);
    V::__reach(types);
    types.unvisited("the key of a map", K::persist_kind, K::persist_name);
}

// The following functions do not depend on the types, and are compiled once.

/// Reorders the references of entries, which lie in `ranges`, by the keys of the entries.
fn reorder(links: &mut dyn LoadLinks, start: usize, ranges: &[Range<usize>], order: &[usize]) {
    let ranges: Vec<_> = order.iter().map(|entry| ranges[*entry].clone()).collect();
    links.reorder(start, &ranges);
}

/// Returns the order of `count` entries; `None` if two of them are equal. Compiled once, for entries of all types.
fn in_order(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Option<Vec<usize>> {
    let order = order(count, compare);
    let is_duplicate = |pair: &[usize]| compare(pair[0], pair[1]).is_eq();
    (!order.windows(2).any(is_duplicate)).then_some(order)
}

/// Reorders references by the encoded keys of their entries. For each entry, `places` holds the range of its key and of
/// its references.
fn reorder_by_keys(
    links: &mut dyn LoadLinks,
    start: usize,
    keys: &[u8],
    mut places: Vec<(Range<usize>, Range<usize>)>,
) {
    let encoded = |key: &Range<usize>| &keys[key.clone()];
    if !places.is_sorted_by(|(a, _), (b, _)| encoded(a) <= encoded(b)) {
        sort_by(&mut places, |(a, _), (b, _)| encoded(a).cmp(encoded(b)));
        let ranges: Vec<_> = places.into_iter().map(|(_, range)| range).collect();
        links.reorder(start, &ranges);
    }
}

/// Expands to the items of a hashed map, of the standard library or of another crate.
///
/// The map is stored in ascending order of the encoded keys, so that equal maps have equal bytes whatever their hasher.
macro_rules! hashed_map_items {
    ($key:ident, $value:ident) => {
        fn __reach(types: &mut $crate::codec::TypeSet) {
            $crate::types::map::reach::<$key, $value>(types);
        }

        fn persist_empty(_: &$crate::codec::Prototypes<'_>) -> $crate::Result<Self> {
            Ok(Self::default())
        }

        $crate::types::compact_items!(
            <$key as $crate::codec::Generic>::COMPACT || <$value as $crate::codec::Generic>::COMPACT,
            $crate::reflect::Kind::Map($key::__compact_kind, $value::__compact_kind);
            this, out =>
                $crate::types::map::encode_hashed::<Compact, Compact, $key, $value>(this.iter(), out);
            head, input => hashed_map_items!(@decode Compact, $key, $value, head, input)
        );

        fn __decode_skipping(input: &mut Decoder<'_>) -> Result<Self, Fail> {
            use $crate::codec::skip::Skipping;
            let head = input.take(1)?;
            hashed_map_items!(@decode Skipping<Usual>, $key, $value, head, input)
        }

        fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
            $crate::types::map::encode_hashed::<Usual, Usual, $key, $value>(self.iter(), out)
        }

        fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
            hashed_map_items!(@decode Usual, $key, $value, head, input)
        }

        // A visit goes in the order of the encoded keys, which is the order on disk and does not depend on the hasher.
        fn __visit(&mut self, visitor: &mut Visitor<'_>) -> $crate::Result<()> {
            $crate::types::map::visit_hashed::<$key, $value>(self.iter_mut(), visitor)
        }

        fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> $crate::Result<()> {
            $crate::types::map::visit_hashed_shared::<$key, $value>(self.iter(), visitor)
        }
    };
    (@decode $coding:ty, $key:ident, $value:ident, $head:ident, $input:ident) => {
        $crate::types::map::decode_in_any_order::<$coding, $coding, $key, $value, Self>(
            $head,
            $input,
            |map, count| map.try_reserve(count).is_ok(),
            |map, key, value| map.insert(key, value).is_none(),
        )
    };
}
#[cfg(any(
    feature = "hashbrown-0_15",
    feature = "hashbrown-0_16",
    feature = "hashbrown-0_17"
))]
pub(super) use hashed_map_items;

impl<K, V, S> Persist for HashMap<K, V, S>
where
    K: Persist + Eq + Hash,
    V: Persist,
    S: BuildHasher + Default + 'static,
{
    counted_items!(
        Kind::Map(K::persist_kind, V::persist_kind),
        "HashMap<{}, {}>",
        K::persist_name(),
        V::persist_name()
    );
    const __LAYOUT: Layout = Layout {
        skips: true,
        ..Layout::collection::<Self>().with_items(EditableItems::map::<Self>())
    };
    const __CODE: &'static TypeCode = &TypeCode::Parts(&[K::__CODE, V::__CODE]);
    hashed_map_items!(K, V);
}

/// Visits the values in the order of their encoded keys.
pub(super) fn visit_hashed<'m, K: Persist, V: Persist>(
    entries: impl Iterator<Item = (&'m K, &'m mut V)>,
    visitor: &mut Visitor<'_>,
) -> Result<()> {
    if V::LEAF {
        return Ok(());
    }
    visit_each(SortedEntries::new::<Usual>(entries, visitor.env())?.into_values(), visitor)
}

/// Visits the values in the order of their encoded keys, through shared pointers.
pub(super) fn visit_hashed_shared<'m, K: Persist, V: Persist>(
    entries: impl Iterator<Item = (&'m K, &'m V)>,
    visitor: &mut Visitor<'_>,
) -> Result<()> {
    if V::LEAF {
        return Ok(());
    }
    visit_each_shared(SortedEntries::new::<Usual>(entries, visitor.env())?.into_values(), visitor)
}

/// Writes the entries of a hashed map, after its head.
pub(super) fn encode_hashed<'m, A: Adapter<K>, B: Adapter<V>, K: 'static, V: 'static>(
    entries: impl ExactSizeIterator<Item = (&'m K, &'m V)>,
    out: &mut Encoder<'_>,
) -> Result<(), Stop> {
    let count = entries.len();
    let encoded = SortedEntries::new::<A>(entries, &out.env_inside::<(K, V)>())
        .map_err(|error| out.refuse(error))?;
    out.elements::<(K, V)>(count, A::MIN + B::MIN, false, |out| {
        encoded.write::<A>(out, |value, out| B::encode(*value, out))
    })
}

/// Reads the entries of a map whose keys have no order of their own, after its head. `reserve` makes room for them, and
/// `insert` returns false for a duplicate key.
pub(super) fn decode_in_any_order<A, B, K, V, M>(
    head: &[u8],
    input: &mut Decoder<'_>,
    reserve: impl FnOnce(&mut M, usize) -> bool,
    insert: impl Fn(&mut M, K, V) -> bool,
) -> Result<M, Fail>
where
    A: Adapter<K>,
    B: Adapter<V>,
    K: 'static,
    V: 'static,
    M: Default,
{
    let start = input.links().pending();
    // The keys of entries with references, encoded again, and the ranges of those references. The connecting pass uses
    // the bytes that the program would write now. These may differ from the stored bytes, for example if variants were
    // reordered.
    let mut keys = Buffer::new();
    let mut places: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    let reserve = |count| {
        let mut map = M::default();
        reserve(&mut map, count).then_some(map)
    };
    let entry = |map: &mut M, at, input: &mut Decoder<'_>| {
        let key = decode_key::<A, K>(input)?;
        let first = pending::<B, V>(input);
        let value = B::decode(input)?;
        let references = first..pending::<B, V>(input);
        if !references.is_empty() {
            let begin = keys.len();
            let key: &K = &key;
            keys.append(input.env(), &mut KeyLinks::default(), |out| A::encode_key(key, out))
                .map_err(|error| input.refuse(error))?;
            places.push((begin..keys.len(), references));
        }
        if insert(map, key, value) { Ok(()) } else { Err(clash(A::module(), "key", at, input)) }
    };
    let map = decode_parts::<(A, B), (K, V), _>(head[0], false, input, reserve, entry)?;
    reorder_by_keys(input.links(), start, keys.gather(), places);
    Ok(map)
}

/// Stored in the order of the map. A save does not detect keys that differ only in fields that are not saved; the load
/// refuses them.
impl<K: Persist + Ord, V: Persist> Persist for BTreeMap<K, V> {
    counted_items!(
        Kind::Map(K::persist_kind, V::persist_kind),
        "BTreeMap<{}, {}>",
        K::persist_name(),
        V::persist_name()
    );
    const __LAYOUT: Layout = Layout {
        skips: true,
        ..Layout::collection::<Self>().with_items(EditableItems::map::<Self>())
    };
    const __CODE: &'static TypeCode = &TypeCode::Parts(&[K::__CODE, V::__CODE]);

    fn __reach(types: &mut TypeSet) {
        reach::<K, V>(types);
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(BTreeMap::new())
    }

    compact_items!(K::COMPACT || V::COMPACT, Kind::Map(K::__compact_kind, V::__compact_kind);
        this, out => encode_entries::<Compact, Compact, K, V>(this.iter(), out);
        head, input => decode_ordered::<Compact, K, V>(head, input));

    fn __decode_skipping(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode_ordered::<Skipping<Usual>, K, V>(input.take(1)?, input)
    }

    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_entries::<Usual, Usual, K, V>(self.iter(), out)
    }

    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode_ordered::<Usual, K, V>(head, input)
    }

    fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each(self.values_mut(), visitor)
    }

    fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each_shared(self.values(), visitor)
    }
}

/// Writes the entries of a map, after its head.
pub(super) fn encode_entries<'v, A: Adapter<K>, B: Adapter<V>, K: 'static, V: 'static>(
    entries: impl ExactSizeIterator<Item = (impl Borrow<K>, &'v V)>,
    out: &mut Encoder<'_>,
) -> Result<(), Stop> {
    out.elements::<(K, V)>(entries.len(), A::MIN + B::MIN, false, |out| {
        let mut entries = entries;
        entries.try_for_each(|(key, value)| {
            A::encode(key.borrow(), out)?;
            B::encode(value, out)
        })
    })
}

/// Reads the entries of an ordered map, after its head.
fn decode_ordered<C: Adapter<K> + Adapter<V>, K: Persist + Ord, V: Persist>(
    head: &[u8],
    input: &mut Decoder<'_>,
) -> Result<BTreeMap<K, V>, Fail> {
    let mut map = BTreeMap::new();
    for (key, value) in decode_entries::<C, K, K, V>(head, input, |key| key)? {
        // An inconsistent `Ord` may show a duplicate only here.
        if map.insert(key, value).is_some() {
            return Err(Fail::Duplicate);
        }
    }
    Ok(map)
}

/// Reads the entries of a map, whose values will be visited in the order of the keys that `place` returns.
pub(super) fn decode_entries<C: Adapter<K> + Adapter<V>, K: Persist, P: Ord, V: Persist>(
    head: &[u8],
    input: &mut Decoder<'_>,
    place: fn(K) -> P,
) -> Result<Vec<(P, V)>, Fail> {
    let start = input.links().pending();
    // Ranges of the references of each entry.
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut sorted = true;
    let entry = |entries: &mut Vec<(P, V)>, _, input: &mut Decoder<'_>| {
        let key = place(decode_key::<C, K>(input)?);
        let first = pending::<C, V>(input);
        let value = C::decode(input)?;
        ranges.push(first..pending::<C, V>(input));
        if let Some((last, _)) = entries.last() {
            sorted &= *last < key;
        }
        entries.push((key, value));
        Ok(())
    };
    let reserve = |_| Some(Vec::new());
    let entries = decode_parts::<(C, C), (K, V), _>(head[0], false, input, reserve, entry)?;
    if !sorted {
        // The program that saved ordered its keys in another way.
        let order = in_order(entries.len(), &|a, b| entries[a].0.cmp(&entries[b].0));
        reorder(input.links(), start, &ranges, &order.ok_or(Fail::Duplicate)?);
    }
    Ok(entries)
}

/// Implements `EditableMap` for a map of the standard library, or of another crate.
macro_rules! editable_map {
    ($map:ty, $key:ident: $($bound:ident)+, $value:ident $(, $hasher:ident: $hashed:literal)?) => {
        impl<$key, $value $(, $hasher)?> $crate::codec::EditableMap for $map
        where
            $key: Persist $(+ $bound)+,
            $value: Persist,
            $($hasher: BuildHasher + Default + 'static,)?
        {
            type Key = $key;
            type Value = $value;

            fn persist_get(&self, key: &$key) -> Option<&$value> {
                self.get(key)
            }

            fn persist_get_mut(&mut self, key: &$key) -> Option<&mut $value> {
                self.get_mut(key)
            }

            fn persist_insert(&mut self, key: $key, value: $value) -> $crate::Result<()> {
                self.insert(key, value);
                Ok(())
            }

            fn persist_remove(&mut self, key: &$key) -> Option<$value> {
                self.remove(key)
            }

            fn persist_entries(
                &self,
            ) -> impl Iterator<Item = (impl std::borrow::Borrow<$key>, &$value)> {
                self.iter()
            }

            $(const __HASHED: bool = $hashed;)?
        }
    };
}
#[cfg(any(
    feature = "hashbrown-0_15",
    feature = "hashbrown-0_16",
    feature = "hashbrown-0_17"
))]
pub(super) use editable_map;

editable_map!(HashMap<K, V, S>, K: Eq Hash, V, S: true);
editable_map!(BTreeMap<K, V>, K: Ord, V);
