//! `hashbrown`: stored like the standard library's hashed maps and sets.

use std::hash::{BuildHasher, Hash};

use crate::codec::compact::Compact;
use crate::codec::with::Usual;
use crate::codec::{
    Decoder, EditableItems, Encoder, Fail, Layout, Persist, Pointee, Stop, Visitor,
};
use crate::reflect::{Kind, TypeCode};
use crate::types::counted_items;
use crate::types::map::{editable_map, hashed_map_items};
use crate::types::set::hashed_set_items;

macro_rules! maps_and_sets {
    ($hashbrown:ident) => {
        #[diagnostic::do_not_recommend]
        impl<K, V, S> Persist for $hashbrown::HashMap<K, V, S>
        where
            K: Persist + Eq + Hash,
            V: Persist,
            S: BuildHasher + Default + 'static,
        {
            counted_items!(Kind::Map(K::persist_kind, V::persist_kind));
            const __LAYOUT: Layout = Layout {
                skips: true,
                ..Layout::collection::<Self>().with_items(EditableItems::map::<Self>())
            };
            const __CODE: &'static TypeCode = &TypeCode::Parts(&[K::__CODE, V::__CODE]);
            hashed_map_items!(K, V);
        }

        editable_map!($hashbrown::HashMap<K, V, S>, K: Eq Hash, V, S: true);

        impl<K, V, S> Pointee for $hashbrown::HashMap<K, V, S>
        where
            K: Persist + Eq + Hash,
            V: Persist,
            S: BuildHasher + Default + 'static,
        {
            type As = Self;
        }

        #[diagnostic::do_not_recommend]
        impl<T, S> Persist for $hashbrown::HashSet<T, S>
        where
            T: Persist + Eq + Hash,
            S: BuildHasher + Default + 'static,
        {
            counted_items!(Kind::Set(T::persist_kind));
            const __LAYOUT: Layout =
                Layout::collection::<Self>().with_items(EditableItems::elements::<Self, T, true>());
            const __CODE: &'static TypeCode = T::__CODE;
            hashed_set_items!(T);
        }

        impl<T, S> Pointee for $hashbrown::HashSet<T, S>
        where
            T: Persist + Eq + Hash,
            S: BuildHasher + Default + 'static,
        {
            type As = Self;
        }
    };
}

#[cfg(feature = "hashbrown-0_15")]
maps_and_sets!(hashbrown_0_15);

// The library depends on this version anyway.
#[cfg(feature = "hashbrown-0_16")]
maps_and_sets!(hashbrown);

#[cfg(feature = "hashbrown-0_17")]
maps_and_sets!(hashbrown_0_17);
