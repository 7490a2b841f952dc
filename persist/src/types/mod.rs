//! Implements `Persist` for the standard library's types, one family in each file, for handles, and for types of other
//! crates.
//!
//! Types that are stored alike share a kind: a `VecDeque` can be loaded as a `Vec`, and a `Cell<u8>` as a `u8`.
//!
//! | files | part |
//! | --- | --- |
//! | `number`, `text`, `time`, `range`, `net`, `std_enum` | numbers, strings and small types of the standard library |
//! | `option`, `tuple`, `array`, `sequence`, `set`, `map` | containers |
//! | this file | the order of hashed keys in a save |
//! | `lift` | the same containers with adapters for their parts (`with`) |
//! | `cell`, `atomic`, `wrapper`, `pointer`, `pointee` | cells and thin wrappers, `Rc` and `Arc`, and types that they may point at |
//! | `handle`, `object_id`, `remap` | keys of arenas, ids of objects of worlds, and new ids for both |
//! | `save_as` | structs of references that are saved as owned ones |
//! | `foreign` | types of other crates, by feature |

mod array;
mod atomic;
mod cell;
pub(crate) mod foreign;
mod handle;
mod lift;
mod map;
mod net;
mod number;
mod object_id;
mod option;
mod pointee;
mod pointer;
mod range;
mod remap;
pub(crate) mod save_as;
mod sequence;
mod set;
mod std_enum;
mod text;
mod time;
mod tuple;
mod wrapper;

use crate::codec::with::Adapter;
use crate::codec::{Buffer, Encoder, KeyLinks, Stop};
use crate::env::Env;
use crate::{ErrorKind, Result};

pub use handle::BITS_OF_NO_KEY;
pub use handle::{Arena, Handle};
pub use lift::Items;
pub use remap::{Remap, UnmappedHandle};

pub use object_id::WorldObjects;
pub(crate) use remap::Renumber;
#[cfg(feature = "world")]
pub(crate) use sequence::encode as encode_list;
#[cfg(feature = "world")]
pub(crate) use text::decode_bytes as decode_text_bytes;
pub(crate) use text::encode as encode_text;

/// Expands to the items of types that have a head: a whole value is its head and its tail.
macro_rules! whole_items {
    () => {
        #[inline]
        fn persist_encode(
            &self,
            out: &mut $crate::codec::Encoder<'_>,
        ) -> Result<(), $crate::codec::Stop> {
            $crate::codec::persist::encode_row(self, out)
        }

        #[inline]
        fn persist_decode(
            input: &mut $crate::codec::Decoder<'_>,
        ) -> Result<Self, $crate::codec::Fail> {
            $crate::codec::persist::decode_row(input)
        }
    };
}
use whole_items;

/// Expands to the items of a type whose parts may have a compact form, by the adapter for that. Or by its kind and how
/// it is written and read: after the `head` of its count, or whole, with the `min` bytes of the form if it has one.
macro_rules! compact_items {
    ($compact:expr, $adapter:ty) => {
        $crate::types::compact_items!(
            min: if $compact {
                Some(<$adapter as $crate::codec::with::Adapter<Self>>::MIN)
            } else {
                None
            },
            <$adapter as $crate::codec::with::Adapter<Self>>::kind();
            this, out => <$adapter as $crate::codec::with::Adapter<Self>>::encode(this, out);
            input => <$adapter as $crate::codec::with::Adapter<Self>>::decode(input)
        );
    };
    (
        $compact:expr, $kind:expr;
        $this:ident, $out:ident => $encode:expr; $head:ident, $input:ident => $decode:expr
    ) => {
        $crate::types::compact_items!(
            min: if $compact { Some(<Self as $crate::codec::Generic>::MIN) } else { None },
            $kind;
            $this, $out => {
                $out.take(1)?[0] = $crate::codec::count::head($this.len() as u64);
                $encode
            };
            $input => {
                let $head = $input.take(1)?;
                $decode
            }
        );
    };
    (
        min: $min:expr, $kind:expr;
        $this:ident, $out:ident => $encode:expr; $input:ident => $decode:expr
    ) => {
        const __COMPACT: Option<usize> = $min;

        fn __compact_kind() -> $crate::reflect::Kind {
            $kind
        }

        fn __encode_compact(
            &self,
            $out: &mut $crate::codec::Encoder<'_>,
        ) -> Result<(), $crate::codec::Stop> {
            if !<Self as $crate::codec::Generic>::COMPACT {
                return $out.value(self);
            }
            let $this = self;
            $encode
        }

        fn __decode_compact(
            $input: &mut $crate::codec::Decoder<'_>,
        ) -> Result<Self, $crate::codec::Fail> {
            if !<Self as $crate::codec::Generic>::COMPACT {
                return $input.value();
            }
            $decode
        }
    };
}
use compact_items;

/// Expands to the items of a container that can skip elements which cannot be loaded, by the adapter for that.
macro_rules! skipping_items {
    ($adapter:ty) => {
        fn __decode_skipping(
            input: &mut $crate::codec::Decoder<'_>,
        ) -> Result<Self, $crate::codec::Fail> {
            <$adapter as $crate::codec::with::Adapter<Self>>::decode(input)
        }
    };
}
use skipping_items;

/// Expands to the tables of a struct of the standard library, from the names and types of its stored fields.
///
/// Times and ranges are classes, so that another type with the same bytes is not loaded as a duration.
macro_rules! struct_tables {
    ($name:literal [$($argument:ty)*] $($field:literal: $part:ty),+) => {
        const CLASS: &'static $crate::reflect::Class = &$crate::reflect::Class::new::<Self>(
            $name,
            $crate::reflect::Body::Struct(Self::FIELDS),
        )
        .arguments(&[
            $($crate::reflect::Argument::Type(<$argument as $crate::codec::Persist>::persist_name)),*
        ]);
        const FIELDS: &'static [$crate::reflect::FieldRecord] = &[
            $($crate::reflect::FieldRecord::new::<$part>(
                $field,
                None,
                <$part as $crate::codec::Persist>::persist_kind,
            )),+
        ];
        const VARIANTS: &'static [$crate::reflect::VariantRecord] = &[];
        const __ROWS: &'static [&'static [$crate::codec::type_set::FieldCodec]] =
            &[&[$(<$part as $crate::codec::Persist>::__FIELD.part()),+]];
    };
}
use struct_tables;

/// Expands to the items that collections share: a count as their head. Their consts do not inspect the element type, so
/// that a type may hold a collection of itself.
macro_rules! counted_items {
    ($kind:expr, $name:literal, $($argument:expr),+) => {
        $crate::types::counted_items!($kind);

        fn persist_name() -> String {
            format!($name, $($argument),+)
        }
    };
    ($kind:expr) => {
        $crate::types::whole_items!();

        fn persist_kind() -> $crate::reflect::Kind {
            $kind
        }

        #[inline(always)]
        fn __encode_head(&self, head: &mut [u8]) {
            head[0] = $crate::codec::count::head(self.len() as u64);
        }
    };
}
use counted_items;

/// The entries of a map, or the elements of a set with `()` as their values, in the order of their encoded keys. So equal
/// maps and sets have equal bytes, whatever their hashers.
struct SortedEntries<'k, K, V> {
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
    fn new<A: Adapter<K>>(
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
    fn write<A: Adapter<K>>(
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
    fn into_values(mut self) -> impl Iterator<Item = V> {
        self.order.into_iter().filter_map(move |entry| self.values[entry].take())
    }
}
