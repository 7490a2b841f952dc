//! Lists and maps whose type is known at run time only: their elements are reached where they lie.

use std::any::Any;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;

use super::{Decoder, Fail, FieldAccess, Persist, decode};

/// A type of lists, by its elements. Whatever is asked of a value of another type, or of an element that is not there,
/// has no answer.
pub trait ListAccess: Sync {
    /// How many elements there are.
    fn len(&self, list: &dyn Any) -> Option<usize>;

    /// The element of an index.
    fn get<'v>(&self, list: &'v dyn Any, index: usize) -> Option<&'v dyn Any>;

    /// The element of an index, to be changed.
    fn get_mut<'v>(&self, list: &'v mut dyn Any, index: usize) -> Option<&'v mut dyn Any>;

    /// How an element is written and read.
    fn element(&self) -> &'static FieldAccess;

    /// Reads an element and puts it in before the one of an index, or at the end.
    fn insert(&self, list: &mut dyn Any, index: usize, input: &mut Decoder<'_>)
    -> Result<(), Fail>;

    /// Drops the element of an index.
    fn remove(&self, list: &mut dyn Any, index: usize) -> Option<()>;

    /// Gives the element of an index another one.
    fn shift(&self, list: &mut dyn Any, from: usize, to: usize) -> Option<()>;
}

/// A type of maps, by its values. Whatever is asked of a value of another type, or by a key that is not there, has no
/// answer.
pub trait MapAccess: Sync {
    /// The value of a key, which is given as it is stored.
    fn get<'v>(&self, map: &'v dyn Any, key: &[u8]) -> Option<&'v dyn Any>;

    /// The value of a key, to be changed.
    fn get_mut<'v>(&self, map: &'v mut dyn Any, key: &[u8]) -> Option<&'v mut dyn Any>;

    /// How a value is written and read.
    fn value(&self) -> &'static FieldAccess;
}

/// The maps of type `M`.
pub(crate) struct MapOf<M>(pub(crate) PhantomData<fn() -> M>);

macro_rules! map_access {
    ($($map:ident<K, V $(, $hasher:ident)?> where K: $($bound:ident)+;)+) => {
        $(impl<K, V $(, $hasher)?> MapAccess for MapOf<$map<K, V $(, $hasher)?>>
        where
            K: Persist $(+ $bound)+,
            V: Persist,
            $($hasher: BuildHasher + 'static,)?
        {
            fn get<'v>(&self, map: &'v dyn Any, key: &[u8]) -> Option<&'v dyn Any> {
                let map = map.downcast_ref::<$map<K, V $(, $hasher)?>>()?;
                Some(map.get(&decode::<K>(key).ok()?)?)
            }

            fn get_mut<'v>(&self, map: &'v mut dyn Any, key: &[u8]) -> Option<&'v mut dyn Any> {
                let map = map.downcast_mut::<$map<K, V $(, $hasher)?>>()?;
                Some(map.get_mut(&decode::<K>(key).ok()?)?)
            }

            fn value(&self) -> &'static FieldAccess {
                const { &FieldAccess::of::<V>() }
            }
        })+
    };
}

map_access! {
    HashMap<K, V, S> where K: Eq Hash;
    BTreeMap<K, V> where K: Ord;
}

/// The lists of type `L`.
pub(crate) struct ListOf<L>(pub(crate) PhantomData<fn() -> L>);

macro_rules! list_access {
    ($($list:ident: $rotate:expr;)+) => {
        $(impl<T: Persist> ListAccess for ListOf<$list<T>> {
            fn len(&self, list: &dyn Any) -> Option<usize> {
                Some(list.downcast_ref::<$list<T>>()?.len())
            }

            fn get<'v>(&self, list: &'v dyn Any, index: usize) -> Option<&'v dyn Any> {
                Some(list.downcast_ref::<$list<T>>()?.get(index)?)
            }

            fn get_mut<'v>(&self, list: &'v mut dyn Any, index: usize) -> Option<&'v mut dyn Any> {
                Some(list.downcast_mut::<$list<T>>()?.get_mut(index)?)
            }

            fn element(&self) -> &'static FieldAccess {
                const { &FieldAccess::of::<T>() }
            }

            fn insert(
                &self,
                list: &mut dyn Any,
                index: usize,
                input: &mut Decoder<'_>,
            ) -> Result<(), Fail> {
                let Some(list) = list.downcast_mut::<$list<T>>() else { return Err(Fail::Value) };
                if index > list.len() {
                    return Err(Fail::Value);
                }
                let element = T::persist_decode(input)?;
                list.insert(index, element);
                Ok(())
            }

            fn remove(&self, list: &mut dyn Any, index: usize) -> Option<()> {
                let list = list.downcast_mut::<$list<T>>()?;
                if index < list.len() {
                    drop(list.remove(index));
                    return Some(());
                }
                None
            }

            fn shift(&self, list: &mut dyn Any, from: usize, to: usize) -> Option<()> {
                let list = list.downcast_mut::<$list<T>>()?;
                if from >= list.len() || to >= list.len() {
                    return None;
                }
                ($rotate)(list, from, to);
                Some(())
            }
        })+
    };
}

list_access! {
    Vec: |list: &mut Vec<T>, from: usize, to: usize| match from < to {
        true => list[from..=to].rotate_left(1),
        false => list[to..=from].rotate_right(1),
    };
    VecDeque: |list: &mut VecDeque<T>, from: usize, to: usize| {
        if let Some(element) = list.remove(from) {
            list.insert(to, element);
        }
    };
}
