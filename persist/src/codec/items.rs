//! Lists and maps whose elements and keys are edited one by one: those of the library, and those of a program.

use std::any::Any;
use std::borrow::Borrow;
use std::marker::PhantomData;
use std::ops::Range;

use super::decoder::Decoder;
use super::fail::Fail;
use super::field_access::{
    EditableItems, FieldAccess, ListAccess, ListSplice, MapAccess, VisitItem, WalkAccess,
};
use super::{Persist, decode};
use crate::Result;

impl EditableItems {
    /// A type that is edited as a whole.
    pub const NONE: Self = Self { list: None, map: None, walk: None };

    /// Describes a list, whose kind is [`Kind::List`](crate::reflect::Kind::List).
    #[must_use]
    pub const fn list<L: EditableList>() -> Self {
        Self { list: Some(&ListOf::<L>(PhantomData)), ..Self::NONE }
    }

    /// Describes a map, whose kind is [`Kind::Map`](crate::reflect::Kind::Map).
    #[must_use]
    pub const fn map<M: EditableMap>() -> Self {
        let map = &MapOf::<M>(PhantomData);
        Self { map: Some(map), walk: Some(map), ..Self::NONE }
    }

    /// Describes a set or an array that is edited as a whole, but whose elements are read one by one. They are stored
    /// in the order of the iteration, unless the set is `HASHED`.
    pub(crate) const fn elements<C, T, const HASHED: bool>() -> Self
    where
        C: 'static,
        T: Persist,
        for<'c> &'c C: IntoIterator<Item = &'c T, IntoIter: ExactSizeIterator>,
    {
        Self { walk: Some(&WalkOf::<C, T, HASHED>(PhantomData)), ..Self::NONE }
    }
}

/// A list that a program has written, whose elements are edited one by one.
///
/// An edit then costs the element, and not the list. Paths lead to the elements. The type says so by its
/// [`PERSIST_ITEMS`](Persist::PERSIST_ITEMS); [`EditableMap`] has an example.
pub trait EditableList: Persist {
    /// The type of the elements. They are stored as they are, in the order of their indices.
    type Element: Persist;

    /// Returns the number of elements.
    fn persist_len(&self) -> usize;

    /// Returns an element; `None` beyond the end.
    fn persist_get(&self, index: usize) -> Option<&Self::Element>;

    /// Returns an element mutably; `None` beyond the end.
    fn persist_get_mut(&mut self, index: usize) -> Option<&mut Self::Element>;

    /// Inserts an element before that of an index, or at the end.
    ///
    /// # Errors
    ///
    /// Returns an error if the list cannot have the element, as one of fixed length. It is then unchanged. An undo
    /// inserts elements that were removed, so a list can have again what it had.
    fn persist_insert(&mut self, index: usize, element: Self::Element) -> Result<()>;

    /// Removes an element; `None` beyond the end.
    fn persist_remove(&mut self, index: usize) -> Option<Self::Element>;

    /// Moves the element at index `from`, which there is, to index `to`, which there is.
    ///
    /// # Errors
    ///
    /// Returns the error of [`persist_insert`](Self::persist_insert).
    fn persist_shift(&mut self, from: usize, to: usize) -> Result<()> {
        match self.persist_remove(from) {
            Some(element) => self.persist_insert(to, element),
            None => Ok(()),
        }
    }

    /// See [`ListAccess::splice`]. Without it the edits are made one by one.
    #[doc(hidden)]
    fn __splice(&mut self, new: &mut Self, edits: &[ListSplice]) -> Option<()> {
        let _ = (new, edits);
        None
    }

    /// Returns an empty list for [`__splice`](Self::__splice).
    #[doc(hidden)]
    fn __empty() -> Option<Self> {
        None
    }
}

/// A map that a program has written, whose keys are edited one by one.
///
/// An edit of a document or a component then costs the key and its value, and not the map. Paths lead to the values.
///
/// # Example
///
/// A table that gives out numbers. It is stored as a map from numbers to values.
///
/// ```
/// # #[cfg(feature = "history")] {
/// use std::borrow::Borrow;
///
/// use persist::codec::{Decoder, EditableMap, Encoder, Fail, EditableItems, Parts, Prototypes, Stop};
/// use persist::reflect::Kind;
/// use persist::{History, Persist, Result, field};
///
/// struct Table<T> { slots: Vec<Option<T>> }
///
/// impl<T: Persist> EditableMap for Table<T> {
///     type Key = u32;
///     type Value = T;
///
///     fn persist_get(&self, key: &u32) -> Option<&T> {
///         self.slots.get(*key as usize)?.as_ref()
///     }
///
///     fn persist_get_mut(&mut self, key: &u32) -> Option<&mut T> {
///         self.slots.get_mut(*key as usize)?.as_mut()
///     }
///
///     fn persist_insert(&mut self, key: u32, value: T) -> Result<()> {
///         // A key may come from a malicious save, and must not allocate any amount of memory.
///         if key >= 65_536 {
///             return Err("the table has at most 65,536 slots".into());
///         }
///         let key = key as usize;
///         self.slots.resize_with(self.slots.len().max(key + 1), || None);
///         self.slots[key] = Some(value);
///         Ok(())
///     }
///
///     fn persist_remove(&mut self, key: &u32) -> Option<T> {
///         self.slots.get_mut(*key as usize)?.take()
///     }
///
///     fn persist_entries(&self) -> impl Iterator<Item = (impl Borrow<u32>, &T)> {
///         (0..).zip(&self.slots).filter_map(|(key, slot)| Some((key, slot.as_ref()?)))
///     }
/// }
///
/// impl<T: Persist> Persist for Table<T> {
///     const PERSIST_ITEMS: EditableItems = EditableItems::map::<Self>();
///
///     fn persist_kind() -> Kind {
///         Kind::Map(u32::persist_kind, T::persist_kind)
///     }
///
///     fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
///         Ok(Table { slots: Vec::new() })
///     }
///
///     fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
///         out.count(self.persist_entries().count())?;
///         self.persist_entries().try_for_each(|(key, value)| {
///             out.value(key.borrow())?;
///             out.value(value)
///         })
///     }
///
///     fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
///         let mut table = Table { slots: Vec::new() };
///         for (key, value) in input.value::<std::collections::BTreeMap<u32, T>>()? {
///             table.persist_insert(key, value).map_err(|error| input.refuse(error))?;
///         }
///         Ok(table)
///     }
///
///     fn persist_parts(parts: &mut Parts<'_, Self>) -> Result<()> {
///         parts.each::<T>(
///             "",
///             |table, visit| table.slots.iter().flatten().try_for_each(visit),
///             |table, visit| table.slots.iter_mut().flatten().try_for_each(visit),
///         )
///     }
/// }
///
/// #[derive(Persist)]
/// struct City { roads: Table<String> }
///
/// let mut city = City { roads: Table { slots: vec![Some("Main Street".into())] } };
/// let mut history = History::new(100);
/// let road = |key| field!(City.roads).at(key);
/// history.set_field(&mut city, road(1), "Mill Road")?;
/// history.edit(&mut city, "Rename", |city| {
///     *city.roads.persist_get_mut(&0).unwrap() = "High Street".into();
///     Ok(())
/// })?;
/// assert_eq!(history.undo_text(), "Undo Rename");
/// history.undo(&mut city)?;
/// history.undo(&mut city)?;
/// assert_eq!(city.roads.slots.iter().flatten().collect::<Vec<_>>(), ["Main Street"]);
/// # }
/// # Ok::<(), persist::Error>(())
/// ```
pub trait EditableMap: Persist {
    /// The type of the keys. They are stored as they are, each once, before their values.
    type Key: Persist;
    /// The type of the values. They are stored as they are.
    type Value: Persist;

    /// Returns the value of a key.
    fn persist_get(&self, key: &Self::Key) -> Option<&Self::Value>;

    /// Returns the value of a key mutably.
    fn persist_get_mut(&mut self, key: &Self::Key) -> Option<&mut Self::Value>;

    /// Inserts a value under a key that the map does not have.
    ///
    /// # Errors
    ///
    /// Returns an error if the map cannot have the key. It is then unchanged.
    fn persist_insert(&mut self, key: Self::Key, value: Self::Value) -> Result<()>;

    /// Removes the value of a key. If it is inserted again, the map is stored as before.
    fn persist_remove(&mut self, key: &Self::Key) -> Option<Self::Value>;

    /// Iterates over the entries, in the order in which they are stored.
    fn persist_entries(&self) -> impl Iterator<Item = (impl Borrow<Self::Key>, &Self::Value)>;

    /// True if [`persist_entries`](Self::persist_entries) has the order of a hash table instead.
    #[doc(hidden)]
    const __HASHED: bool = false;
}

/// Accesses lists of type `L`.
struct ListOf<L>(PhantomData<fn() -> L>);

impl<L: EditableList> ListAccess for ListOf<L> {
    fn len(&self, list: &dyn Any) -> Option<usize> {
        Some(list.downcast_ref::<L>()?.persist_len())
    }

    fn get<'v>(&self, list: &'v dyn Any, index: usize) -> Option<&'v dyn Any> {
        Some(list.downcast_ref::<L>()?.persist_get(index)?)
    }

    fn get_mut<'v>(&self, list: &'v mut dyn Any, index: usize) -> Option<&'v mut dyn Any> {
        Some(list.downcast_mut::<L>()?.persist_get_mut(index)?)
    }

    fn element(&self) -> &'static FieldAccess {
        const { &FieldAccess::new::<L::Element>() }
    }

    fn insert(
        &self,
        list: &mut dyn Any,
        index: usize,
        input: &mut Decoder<'_>,
    ) -> Result<(), Fail> {
        let list = list.downcast_mut::<L>().ok_or(Fail::Value)?;
        if index > list.persist_len() {
            return Err(Fail::Value);
        }
        let element = input.value()?;
        list.persist_insert(index, element).map_err(|error| input.refuse(error))
    }

    fn remove(&self, list: &mut dyn Any, index: usize) -> Option<()> {
        list.downcast_mut::<L>()?.persist_remove(index).map(drop)
    }

    fn shift(&self, list: &mut dyn Any, from: usize, to: usize) -> Option<()> {
        let list = list.downcast_mut::<L>()?;
        if from.max(to) >= list.persist_len() {
            return None;
        }
        list.persist_shift(from, to).ok()
    }

    fn splice(&self, list: &mut dyn Any, new: &mut dyn Any, edits: &[ListSplice]) -> Option<()> {
        let (list, new) = (list.downcast_mut::<L>()?, new.downcast_mut::<L>()?);
        is_in_order(edits, list.persist_len(), new.persist_len()).then_some(())?;
        list.__splice(new, edits)
    }

    fn empty(&self) -> Option<Box<dyn Any>> {
        Some(Box::new(L::__empty()?))
    }
}

/// True if the edits are in the order of a list of this length, and insert this number of elements.
fn is_in_order(edits: &[ListSplice], len: usize, new: usize) -> bool {
    let (mut at, mut inserted) = (0, 0);
    let are_inside = edits.iter().all(|edit| {
        let (index, after) = match *edit {
            // Saturated, since the index may come from a malicious journal.
            ListSplice::Remove(index) => (index, index.saturating_add(1)),
            ListSplice::Insert(index) => (index, index),
        };
        let is_next = at <= index && after <= len;
        at = after;
        inserted += usize::from(matches!(edit, ListSplice::Insert(_)));
        is_next
    });
    are_inside && inserted == new
}

/// Accesses maps of type `M`.
struct MapOf<M>(PhantomData<fn() -> M>);

impl<M: EditableMap> MapAccess for MapOf<M> {
    fn get<'v>(&self, map: &'v dyn Any, key: &[u8]) -> Option<&'v dyn Any> {
        Some(map.downcast_ref::<M>()?.persist_get(&decode(key).ok()?)?)
    }

    fn get_mut<'v>(&self, map: &'v mut dyn Any, key: &[u8]) -> Option<&'v mut dyn Any> {
        Some(map.downcast_mut::<M>()?.persist_get_mut(&decode(key).ok()?)?)
    }

    fn value(&self) -> &'static FieldAccess {
        const { &FieldAccess::new::<M::Value>() }
    }

    fn insert(&self, map: &mut dyn Any, key: &[u8], input: &mut Decoder<'_>) -> Result<bool, Fail> {
        let map = map.downcast_mut::<M>().ok_or(Fail::Value)?;
        let key = decode(key).map_err(|_| Fail::Value)?;
        let value = input.value()?;
        if map.persist_get(&key).is_some() {
            return Ok(false);
        }
        map.persist_insert(key, value).map_err(|error| input.refuse(error))?;
        Ok(true)
    }

    fn remove(&self, map: &mut dyn Any, key: &[u8]) -> Option<()> {
        map.downcast_mut::<M>()?.persist_remove(&decode(key).ok()?).map(drop)
    }
}

impl<M: EditableMap> WalkAccess for MapOf<M> {
    fn len(&self, map: &dyn Any) -> Option<usize> {
        let entries = map.downcast_ref::<M>()?.persist_entries();
        Some(match entries.size_hint() {
            (len, Some(max)) if len == max => len,
            _ => entries.count(),
        })
    }

    fn visit(&self, map: &dyn Any, range: Range<usize>, visit: &mut VisitItem<'_>) -> Result<()> {
        let Some(map) = map.downcast_ref::<M>() else { return Err(Fail::Value.into()) };
        let mut entries = map.persist_entries().skip(range.start).take(range.len());
        entries.try_for_each(|(key, value)| visit(Some(key.borrow()), value))
    }

    fn key(&self) -> Option<&'static FieldAccess> {
        Some(const { &FieldAccess::new::<M::Key>() })
    }

    fn item(&self) -> &'static FieldAccess {
        MapAccess::value(self)
    }

    fn is_hashed(&self) -> bool {
        M::__HASHED
    }
}

/// Walks over the elements of type `T` of sets or arrays of type `C`.
struct WalkOf<C, T, const HASHED: bool>(PhantomData<fn() -> (C, T)>);

impl<C, T, const HASHED: bool> WalkAccess for WalkOf<C, T, HASHED>
where
    C: 'static,
    T: Persist,
    for<'c> &'c C: IntoIterator<Item = &'c T, IntoIter: ExactSizeIterator>,
{
    fn len(&self, elements: &dyn Any) -> Option<usize> {
        Some(elements.downcast_ref::<C>()?.into_iter().len())
    }

    fn visit(
        &self,
        elements: &dyn Any,
        range: Range<usize>,
        visit: &mut VisitItem<'_>,
    ) -> Result<()> {
        let Some(elements) = elements.downcast_ref::<C>() else { return Err(Fail::Value.into()) };
        let mut elements = elements.into_iter().skip(range.start).take(range.len());
        elements.try_for_each(|element| visit(None, element))
    }

    fn key(&self) -> Option<&'static FieldAccess> {
        None
    }

    fn item(&self) -> &'static FieldAccess {
        const { &FieldAccess::new::<T>() }
    }

    fn is_hashed(&self) -> bool {
        HASHED
    }
}
