//! `indexmap`: stored as maps and sets, in the order of their entries.

use std::hash::{BuildHasher, Hash};

use indexmap::{IndexMap, IndexSet};

use crate::Result;
use crate::codec::compact::Compact;
use crate::codec::with::{Adapter, Usual};
use crate::codec::{
    Decoder, Encoder, Fail, Generic, Layout, Persist, Pointee, Prototypes, Stop, TypeSet, Visitor,
};
use crate::reflect::{Kind, TypeCode};
use crate::types::sequence::{decode_parts, encode_elements, visit_each, visit_each_shared};
use crate::types::{compact_items, counted_items, map, set};

/// A save does not detect keys that differ only in fields that are not saved; the load refuses them.
#[diagnostic::do_not_recommend]
impl<K, V, S> Persist for IndexMap<K, V, S>
where
    K: Persist + Eq + Hash,
    V: Persist,
    S: BuildHasher + Default + 'static,
{
    counted_items!(Kind::Map(K::persist_kind, V::persist_kind));
    const __LAYOUT: Layout = Layout::collection::<Self>();
    const __CODE: &'static TypeCode = &TypeCode::Parts(&[K::__CODE, V::__CODE]);

    compact_items!(K::COMPACT || V::COMPACT, Kind::Map(K::__compact_kind, V::__compact_kind);
        this, out => map::encode_entries::<Compact, Compact, K, V>(this.iter(), out);
        head, input => decode::<Compact, K, V, S>(head, input));

    fn __reach(types: &mut TypeSet) {
        map::reach::<K, V>(types);
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Self::default())
    }

    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        map::encode_entries::<Usual, Usual, K, V>(self.iter(), out)
    }

    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode::<Usual, K, V, S>(head, input)
    }

    fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each(self.values_mut(), visitor)
    }

    fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each_shared(self.values(), visitor)
    }
}

/// Reads the entries of a map after its head, in stored order.
fn decode<C, K, V, S>(head: &[u8], input: &mut Decoder<'_>) -> Result<IndexMap<K, V, S>, Fail>
where
    C: Adapter<K> + Adapter<V>,
    K: Persist + Eq + Hash,
    V: Persist,
    S: BuildHasher + Default,
{
    let reserve = |count| {
        let mut map = IndexMap::with_hasher(S::default());
        map.try_reserve_exact(count).is_ok().then_some(map)
    };
    decode_parts::<(C, C), (K, V), _>(head[0], false, input, reserve, |map, _, input| {
        let key = set::decode_key::<C, K>(input)?;
        let is_new = map.insert(key, C::decode(input)?).is_none();
        if is_new { Ok(()) } else { Err(Fail::Duplicate) }
    })
}

impl<K, V, S> Pointee for IndexMap<K, V, S>
where
    K: Persist + Eq + Hash,
    V: Persist,
    S: BuildHasher + Default + 'static,
{
    type As = Self;
}

/// A save does not detect elements that differ only in fields that are not saved; the load refuses them.
#[diagnostic::do_not_recommend]
impl<T, S> Persist for IndexSet<T, S>
where
    T: Persist + Eq + Hash,
    S: BuildHasher + Default + 'static,
{
    counted_items!(Kind::Set(T::persist_kind));
    const __LAYOUT: Layout = Layout::collection::<Self>();
    const __CODE: &'static TypeCode = T::__CODE;

    compact_items!(T::COMPACT, Kind::Set(T::__compact_kind);
        this, out => encode_elements::<Compact, T>(this.iter(), false, out);
        head, input => decode_set::<Compact, T, S>(head, input));

    fn __reach(types: &mut TypeSet) {
        set::reach::<T>(types);
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Self::default())
    }

    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_elements::<Usual, T>(self.iter(), false, out)
    }

    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode_set::<Usual, T, S>(head, input)
    }
}

fn decode_set<C, T, S>(head: &[u8], input: &mut Decoder<'_>) -> Result<IndexSet<T, S>, Fail>
where
    C: Adapter<T>,
    T: Persist + Eq + Hash,
    S: BuildHasher + Default,
{
    set::decode_in_any_order::<C, T, IndexSet<T, S>>(
        head,
        input,
        |set, count| set.try_reserve_exact(count).is_ok(),
        IndexSet::insert,
    )
}

impl<T, S> Pointee for IndexSet<T, S>
where
    T: Persist + Eq + Hash,
    S: BuildHasher + Default + 'static,
{
    type As = Self;
}
