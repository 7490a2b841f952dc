//! `slotmap`: a key is stored as its FFI number, with the version above the slot.
//!
//! Maps that create keys, such as `SlotMap`, are not supported: they hide the versions of their empty slots. Without
//! these, a load could issue keys of removed objects again.

use std::cmp::Ordering;
use std::hash::BuildHasher;

use slotmap::{DefaultKey, Key, KeyData, SecondaryMap, SparseSecondaryMap};

use super::stored_as;
use crate::Result;
use crate::codec::compact::Compact;
use crate::codec::with::{Adapter, Usual};
use crate::codec::{
    Decoder, Encoder, Fail, Generic, Layout, Persist, Pointee, Prototypes, Stop, TypeSet, Visitor,
};
use crate::reflect::{Kind, TypeCode};
use crate::types::sequence::{visit_each, visit_each_shared};
use crate::types::{compact_items, counted_items, map};

stored_as! {
    KeyData as u64 = DefaultKey::null().data(), |key| key.as_ffi() => ?key_data;
    DefaultKey as u64 = DefaultKey::null(), |key| key.data().as_ffi()
        => ?|bits| key_data(bits).map(DefaultKey::from);
}

/// Returns the key with this number.
fn key_data(bits: u64) -> Result<KeyData, String> {
    let key = KeyData::from_ffi(bits);
    // The crate turns an even version into an odd one, which changes the number.
    if key.as_ffi() == bits { Ok(key) } else { Err(format!("{bits:#x} is the number of no key")) }
}

/// A key of a secondary map. Two keys with the same slot are equal.
#[derive(Clone, Copy)]
struct SlotKey(KeyData);

impl SlotKey {
    #[expect(clippy::cast_possible_truncation, reason = "the slot is the lower half")]
    fn slot(self) -> u32 {
        self.0.as_ffi() as u32
    }
}

impl Ord for SlotKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.slot().cmp(&other.slot())
    }
}

impl PartialOrd for SlotKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Eq for SlotKey {}

impl PartialEq for SlotKey {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

stored_as! {
    SlotKey as u64 = SlotKey(DefaultKey::null().data()), |key| key.0.as_ffi()
        => ?|bits| match key_data(bits)? {
            key if DefaultKey::from(key).is_null() => Err(String::from("the null key has no value")),
            key => Ok(SlotKey(key)),
        };
}

/// Returns as how many elements without bytes the slots without a value count, up to the last slot that has one.
fn empty_slots<V>(last: Option<SlotKey>, values: usize) -> usize {
    let slots = last.map_or(0, |key| key.slot() as usize + 1);
    slots.saturating_sub(values).saturating_mul(1 + size_of::<V>() / 64)
}

/// Returns the entries of a map in the order of their slots.
fn in_order<K: Key, V>(entries: impl Iterator<Item = (K, V)>) -> Vec<(SlotKey, V)> {
    let mut entries: Vec<_> = entries.map(|(key, value)| (SlotKey(key.data()), value)).collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    entries
}

/// Implements `Persist` for a secondary map, in the order of the slots.
macro_rules! secondary_maps {
    ($({$($hasher:ident: $bound:path)?} $map:ident, $by_slot:ident;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<K: Key + 'static, V: Persist $(, $hasher: $bound + Default + 'static)?> Persist
            for $map<K, V $(, $hasher)?>
        {
            counted_items!(Kind::Map(u64::persist_kind, V::persist_kind));
            const __LAYOUT: Layout = Layout::collection::<Self>();
            const __CODE: &'static TypeCode = V::__CODE;

            compact_items!(true, Kind::Map(u64::__compact_kind, V::__compact_kind);
                this, out => this.encode::<Compact>(out);
                head, input => Self::decode::<Compact>(head, input));

            fn __reach(types: &mut TypeSet) {
                V::__reach(types);
            }

            fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
                Ok(Self::default())
            }

            fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                self.encode::<Usual>(out)
            }

            fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
                Self::decode::<Usual>(head, input)
            }

            fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
                if V::LEAF {
                    return Ok(());
                }
                visit_each(in_order(self.iter_mut()).into_iter().map(|(_, value)| value), visitor)
            }

            fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
                if V::LEAF {
                    return Ok(());
                }
                visit_each_shared(in_order(self.iter()).into_iter().map(|(_, value)| value), visitor)
            }
        }

        impl<K: Key + 'static, V: Persist $(, $hasher: $bound + Default + 'static)?> Secondary<V>
            for $map<K, V $(, $hasher)?>
        {
            fn encode<C: Adapter<SlotKey> + Adapter<V>>(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                let entries = in_order(self.iter());
                if $by_slot {
                    out.add_empty(empty_slots::<V>(entries.last().map(|(key, _)| *key), entries.len()));
                }
                map::encode_entries::<C, C, SlotKey, V>(entries.into_iter(), out)
            }

            fn decode<C: Adapter<SlotKey> + Adapter<V>>(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
                let entries = map::decode_entries::<C, SlotKey, SlotKey, V>(head, input, |key| key)?;
                if $by_slot {
                    let last = entries.iter().map(|(key, _)| *key).max();
                    input.charge(empty_slots::<V>(last, entries.len()), 0)?;
                }
                let mut map = Self::default();
                for (key, value) in entries {
                    map.insert(key.0.into(), value);
                }
                Ok(map)
            }
        }

        impl<K: Key + 'static, V: Persist $(, $hasher: $bound + Default + 'static)?> Pointee
            for $map<K, V $(, $hasher)?>
        {
            type As = Self;
        }
    )*};
}

/// The operations that both maps share, with and without compact numbers.
trait Secondary<V: 'static>: Sized {
    fn encode<C: Adapter<SlotKey> + Adapter<V>>(&self, out: &mut Encoder<'_>) -> Result<(), Stop>;

    fn decode<C: Adapter<SlotKey> + Adapter<V>>(
        head: &[u8],
        input: &mut Decoder<'_>,
    ) -> Result<Self, Fail>;
}

/// A `SecondaryMap` has a place in memory for each slot up to the last one.
const BY_SLOT: bool = true;
const HASHED: bool = false;

secondary_maps! {
    {} SecondaryMap, BY_SLOT;
    {S: BuildHasher} SparseSecondaryMap, HASHED;
}
