//! Sets: a count, then the elements.

use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasher, Hash};

use super::SortedEntries;
use super::sequence::{decode_parts, encode_elements};
use super::{compact_items, counted_items, skipping_items};
use crate::codec::compact::Compact;
use crate::codec::skip::Skipping;
use crate::codec::with::{Adapter, Same, Usual, clash};
use crate::codec::{
    Decoder, EditableItems, Encoder, Fail, Generic, Layout, Persist, Prototypes, Stop, TypeSet,
};
use crate::reflect::{Kind, TypeCode};
use crate::{ErrorKind, Result};

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
    const __LAYOUT: Layout = Layout {
        skips: true,
        ..Layout::collection::<Self>().with_items(EditableItems::elements::<Self, T, true>())
    };
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
    let encoded = SortedEntries::new::<A>(items.map(|item| (item, ())), &out.env_inside::<T>())
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
    const __LAYOUT: Layout = Layout {
        skips: true,
        ..Layout::collection::<Self>().with_items(EditableItems::elements::<Self, T, false>())
    };
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
