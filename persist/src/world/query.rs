//! Going through all objects that have some components.

use std::any::TypeId;
use std::slice;

use super::World;
use super::column::{Column, Page};
use super::component::Component;
use super::world::ColumnEntry;
use crate::{Error, ErrorKind, ObjectId, Result};

/// What a query asks of each object: `&T` and `&mut T` for a component that it must have, `Option` of these for one that
/// it may have, [`ObjectId`] for the object itself, and tuples of up to eight of them.
pub trait Query {
    /// What it gives for each object.
    type Item<'w>;

    #[doc(hidden)]
    type Cursor<'w>: Cursor<Item = Self::Item<'w>>;

    #[doc(hidden)]
    fn __cursor<'w>(columns: &mut Columns<'w>) -> Result<Self::Cursor<'w>>;
}

/// A [`Query`] that changes nothing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` may change components",
    note = "use `query_mut`, which takes `&mut World`"
)]
pub trait SharedQuery: Query {}

/// Goes through the pages of columns, and through the values of a page.
#[doc(hidden)]
pub trait Cursor {
    type Item;

    /// Goes to the next page; the bits of the objects there that have what is asked for.
    fn page(&mut self, objects: u64, first: u64) -> u64;

    /// The item of a bit, of which there are `wanted` on this page; bits are asked for in ascending order, none twice.
    fn item(&mut self, bit: u32) -> Option<Self::Item>;

    /// Says which bits of the page will be asked for.
    fn want(&mut self, wanted: u64);
}

/// The columns of a world, each to be taken once, if it is to be changed.
#[doc(hidden)]
pub struct Columns<'w> {
    columns: Vec<Borrow<'w>>,
    by_type: &'w std::collections::HashMap<TypeId, usize>,
}

enum Borrow<'w> {
    /// Not asked for yet, and may be changed.
    Free(&'w mut ColumnEntry),
    Shared(&'w ColumnEntry),
    Taken,
}

impl<'w> Columns<'w> {
    fn shared<T: Component>(&mut self) -> Result<Option<&'w Column<T>>> {
        let Some(at) = self.by_type.get(&TypeId::of::<T>()) else { return Ok(None) };
        let entry: &'w ColumnEntry = match std::mem::replace(&mut self.columns[*at], Borrow::Taken)
        {
            Borrow::Free(entry) => entry,
            Borrow::Shared(entry) => entry,
            Borrow::Taken => return Err(twice::<T>()),
        };
        self.columns[*at] = Borrow::Shared(entry);
        Ok(entry.column.as_any().downcast_ref())
    }

    fn exclusive<T: Component>(&mut self) -> Result<Option<&'w mut Column<T>>> {
        let Some(at) = self.by_type.get(&TypeId::of::<T>()) else { return Ok(None) };
        match std::mem::replace(&mut self.columns[*at], Borrow::Taken) {
            Borrow::Free(entry) => Ok(entry.column.as_any_mut().downcast_mut()),
            Borrow::Shared(_) | Borrow::Taken => Err(twice::<T>()),
        }
    }
}

#[cold]
fn twice<T: Component>() -> Error {
    Error::new(
        ErrorKind::Borrowed,
        "the query asks for one component twice, once or more to change it; ask for it once",
    )
    .in_class(T::name())
}

/// The objects that have what a query asks for, in the order in which they were made.
pub struct QueryIter<'w, Q: Query> {
    cursor: Q::Cursor<'w>,
    /// The objects of the pages that are not begun.
    pages: slice::Iter<'w, Page<super::object::Object>>,
    page: usize,
    directory: &'w super::directory::Directory,
    /// Bits of this page that are left.
    rest: u64,
}

impl<'w, Q: Query> QueryIter<'w, Q> {
    /// Goes to the next page; false behind the last.
    fn next_page(&mut self) -> bool {
        let Some(objects) = self.pages.next() else { return false };
        let wanted = self.cursor.page(objects.mask, self.directory.first(self.page));
        self.page += 1;
        self.rest = wanted & objects.mask;
        self.cursor.want(self.rest);
        true
    }
}

impl<'w, Q: Query> Iterator for QueryIter<'w, Q> {
    type Item = Q::Item<'w>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while self.rest == 0 {
            if !self.next_page() {
                return None;
            }
        }
        let bit = self.rest.trailing_zeros();
        self.rest &= self.rest - 1;
        self.cursor.item(bit)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.pages.len() * 64 + self.rest.count_ones() as usize))
    }

    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(mut self, init: B, mut add: F) -> B {
        let mut sum = init;
        loop {
            while self.rest != 0 {
                let bit = self.rest.trailing_zeros();
                self.rest &= self.rest - 1;
                if let Some(item) = self.cursor.item(bit) {
                    sum = add(sum, item);
                }
            }
            if !self.next_page() {
                return sum;
            }
        }
    }
}

impl World {
    /// The objects that have all the components of a query, and these.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{Component, ObjectId, Persist, World};
    ///
    /// #[derive(Persist)]
    /// struct Health(u32);
    /// #[derive(Persist)]
    /// struct Poisoned;
    ///
    /// impl Component for Health {}
    /// impl Component for Poisoned {}
    ///
    /// let mut world = World::new();
    /// let [rat, cat] = ["Rat", "Cat"].map(|name| world.spawn(name));
    /// world.attach(rat, Health(3))?;
    /// world.attach(cat, Health(9))?;
    /// world.attach(rat, Poisoned)?;
    /// for (health, _) in world.query_mut::<(&mut Health, &Poisoned)>()? {
    ///     health.0 -= 1;
    /// }
    /// let health: Vec<(ObjectId, u32)> =
    ///     world.query::<(ObjectId, &Health)>().map(|(object, health)| (object, health.0)).collect();
    /// assert_eq!(health, [(rat, 2), (cat, 9)]);
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn query<Q: SharedQuery>(&self) -> QueryIter<'_, Q> {
        let columns = self.columns.iter().map(Borrow::Shared).collect();
        let mut columns = Columns { columns, by_type: &self.by_type };
        let cursor = Q::__cursor(&mut columns);
        // What is only read may be read twice.
        let cursor = cursor.unwrap_or_else(|_| unreachable!("a shared query takes no column"));
        QueryIter {
            cursor,
            pages: self.objects.pages.iter(),
            page: 0,
            directory: &self.directory,
            rest: 0,
        }
    }

    /// The objects that have all the components of a query, and these, to be changed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Borrowed`] if it asks for one component twice, once of it to be changed.
    pub fn query_mut<Q: Query>(&mut self) -> Result<QueryIter<'_, Q>> {
        let columns = self.columns.iter_mut().map(Borrow::Free).collect();
        let mut columns = Columns { columns, by_type: &self.by_type };
        Ok(QueryIter {
            cursor: Q::__cursor(&mut columns)?,
            pages: self.objects.pages.iter(),
            page: 0,
            directory: &self.directory,
            rest: 0,
        })
    }
}

/// The values of a column, page by page.
#[doc(hidden)]
pub struct Shared<'w, T> {
    pages: slice::Iter<'w, Page<T>>,
    items: slice::Iter<'w, T>,
    /// Bits of the values that `items` still has.
    mask: u64,
    /// True if all of them will be asked for.
    is_dense: bool,
}

#[doc(hidden)]
pub struct Exclusive<'w, T> {
    pages: slice::IterMut<'w, Page<T>>,
    items: slice::IterMut<'w, T>,
    mask: u64,
    is_dense: bool,
}

macro_rules! cursor {
    ($cursor:ident, $item:ty, $iter:ident) => {
        impl<'w, T> $cursor<'w, T> {
            /// How many values stand before that of a bit; it is passed, too.
            #[inline]
            fn skip_to(&mut self, bit: u32) -> usize {
                let before = self.mask & ((1 << bit) - 1);
                self.mask &= !before & !(1 << bit);
                before.count_ones() as usize
            }
        }

        impl<'w, T> Cursor for $cursor<'w, T> {
            type Item = $item;

            #[inline]
            fn page(&mut self, _: u64, _: u64) -> u64 {
                match self.pages.next() {
                    Some(page) => {
                        self.items = page.items.$iter();
                        self.mask = page.mask;
                    }
                    None => {
                        self.items = Default::default();
                        self.mask = 0;
                    }
                }
                self.mask
            }

            #[inline]
            fn item(&mut self, bit: u32) -> Option<Self::Item> {
                if self.is_dense {
                    return self.items.next();
                }
                let skipped = self.skip_to(bit);
                self.items.nth(skipped)
            }

            #[inline]
            fn want(&mut self, wanted: u64) {
                self.is_dense = self.mask == wanted;
            }
        }
    };
}

cursor!(Shared, &'w T, iter);
cursor!(Exclusive, &'w mut T, iter_mut);

impl<T: Component> Query for &T {
    type Item<'w> = &'w T;
    type Cursor<'w> = Shared<'w, T>;

    fn __cursor<'w>(columns: &mut Columns<'w>) -> Result<Self::Cursor<'w>> {
        let pages = columns.shared::<T>()?.map_or(&[][..], |column| &column.pages);
        Ok(Shared { pages: pages.iter(), items: [].iter(), mask: 0, is_dense: false })
    }
}

impl<T: Component> SharedQuery for &T {}

impl<T: Component> Query for &mut T {
    type Item<'w> = &'w mut T;
    type Cursor<'w> = Exclusive<'w, T>;

    fn __cursor<'w>(columns: &mut Columns<'w>) -> Result<Self::Cursor<'w>> {
        let pages = columns.exclusive::<T>()?.map_or(&mut [][..], |column| &mut column.pages);
        Ok(Exclusive { pages: pages.iter_mut(), items: [].iter_mut(), mask: 0, is_dense: false })
    }
}

/// A component that an object may have.
#[doc(hidden)]
pub struct Maybe<C> {
    cursor: C,
    mask: u64,
}

impl<C: Cursor> Cursor for Maybe<C> {
    type Item = Option<C::Item>;

    #[inline]
    fn page(&mut self, objects: u64, first: u64) -> u64 {
        self.mask = self.cursor.page(objects, first);
        u64::MAX
    }

    #[inline]
    fn item(&mut self, bit: u32) -> Option<Self::Item> {
        Some(if self.mask >> bit & 1 == 1 { self.cursor.item(bit) } else { None })
    }

    #[inline]
    fn want(&mut self, wanted: u64) {
        self.cursor.want(wanted & self.mask);
    }
}

impl<Q: Query> Query for Option<Q> {
    type Item<'w> = Option<Q::Item<'w>>;
    type Cursor<'w> = Maybe<Q::Cursor<'w>>;

    fn __cursor<'w>(columns: &mut Columns<'w>) -> Result<Self::Cursor<'w>> {
        Ok(Maybe { cursor: Q::__cursor(columns)?, mask: 0 })
    }
}

impl<Q: SharedQuery> SharedQuery for Option<Q> {}

/// The objects themselves.
#[doc(hidden)]
pub struct Ids {
    first: u64,
}

impl Cursor for Ids {
    type Item = ObjectId;

    #[inline]
    fn page(&mut self, objects: u64, first: u64) -> u64 {
        self.first = first;
        objects
    }

    #[inline]
    fn item(&mut self, bit: u32) -> Option<ObjectId> {
        ObjectId::new(self.first + u64::from(bit))
    }

    #[inline]
    fn want(&mut self, _: u64) {}
}

impl Query for ObjectId {
    type Item<'w> = ObjectId;
    type Cursor<'w> = Ids;

    fn __cursor<'w>(_: &mut Columns<'w>) -> Result<Self::Cursor<'w>> {
        Ok(Ids { first: 0 })
    }
}

impl SharedQuery for ObjectId {}

macro_rules! tuple {
    ($($part:ident $at:tt),+) => {
        impl<$($part: Cursor),+> Cursor for ($($part,)+) {
            type Item = ($($part::Item,)+);

            #[inline]
            fn page(&mut self, objects: u64, first: u64) -> u64 {
                // Each goes on, whatever the others have.
                u64::MAX $(& self.$at.page(objects, first))+
            }

            #[inline]
            fn item(&mut self, bit: u32) -> Option<Self::Item> {
                Some(($(self.$at.item(bit)?,)+))
            }

            #[inline]
            fn want(&mut self, wanted: u64) {
                $(self.$at.want(wanted);)+
            }
        }

        impl<$($part: Query),+> Query for ($($part,)+) {
            type Item<'w> = ($($part::Item<'w>,)+);
            type Cursor<'w> = ($($part::Cursor<'w>,)+);

            fn __cursor<'w>(columns: &mut Columns<'w>) -> Result<Self::Cursor<'w>> {
                Ok(($($part::__cursor(columns)?,)+))
            }
        }

        impl<$($part: SharedQuery),+> SharedQuery for ($($part,)+) {}
    };
}

tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
