//! `enum-map`: stored as a map, so that keys may be renamed, reordered, added and removed. Keys missing from the save
//! get the default value.

use enum_map::{EnumArray, EnumMap};

use crate::codec::compact::Compact;
use crate::codec::with::{Adapter, Usual};
use crate::codec::{
    Buffer, Decoder, Encoder, Fail, Generic, Layout, NoLinks, Persist, Pointee, Prototypes, Stop,
    TypeSet, Visitor, count,
};
use crate::reflect::Kind;
use crate::types::map::{decode_entries, encode_entries, reach};
use crate::types::sequence::{visit_each, visit_each_shared};
use crate::types::{compact_items, whole_items};
use crate::{ErrorKind, Result};

#[diagnostic::do_not_recommend]
impl<K: Persist + EnumArray<V>, V: Persist + Default> Persist for EnumMap<K, V> {
    const __LAYOUT: Layout = Layout::collection::<Self>();

    whole_items!();

    fn persist_kind() -> Kind {
        Kind::Map(K::persist_kind, V::persist_kind)
    }

    fn __reach(types: &mut TypeSet) {
        reach::<K, V>(types);
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Self::default())
    }

    compact_items!(K::COMPACT || V::COMPACT, Kind::Map(K::__compact_kind, V::__compact_kind);
        this, out => encode_entries::<Compact, Compact, K, V>(this.iter(), out);
        head, input => decode::<Compact, K, V>(head, input));

    #[inline(always)]
    fn __encode_head(&self, head: &mut [u8]) {
        head[0] = count::head(self.len() as u64);
    }

    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_entries::<Usual, Usual, K, V>(self.iter(), out)
    }

    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode::<Usual, K, V>(head, input)
    }

    fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each(self.values_mut(), visitor)
    }

    fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        visit_each_shared(self.values(), visitor)
    }
}

fn decode<C: Adapter<K> + Adapter<V>, K: Persist + EnumArray<V>, V: Persist + Default>(
    head: &[u8],
    input: &mut Decoder<'_>,
) -> Result<EnumMap<K, V>, Fail> {
    let entries = decode_entries::<C, K, usize, V>(head, input, K::into_usize)?;
    let mut map = EnumMap::default();
    if !V::LEAF && entries.len() < map.len() {
        check_default::<V>(input)?;
    }
    for (key, value) in entries {
        map.as_mut_slice()[key] = value;
    }
    Ok(map)
}

/// Refuses a default value with pointers: they would be connected to the targets of the loaded values, since all are
/// visited together.
fn check_default<V: Persist + Default>(input: &mut Decoder<'_>) -> Result<(), Fail> {
    let value = V::default();
    let env = input.env();
    Buffer::new().append(env, &mut NoLinks::default(), |out| out.value(&value)).map_err(|_| {
        input.refuse(error!(
            ErrorKind::Unsupported,
            "a key of an `EnumMap` is not in the save, and its default value holds a pointer; use an `Option` whose default is `None`"
        ))
    })
}

impl<K: Persist + EnumArray<V>, V: Persist + Default> Pointee for EnumMap<K, V> {
    type As = Self;
}
