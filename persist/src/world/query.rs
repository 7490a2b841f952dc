//! Going through all objects that have some components.

use std::any::TypeId;
use std::{slice, vec};

use hashbrown::HashMap;

use super::World;
use super::column::{Column, Page, WIDTH, WORDS};
use super::component::Component;
use super::directory::Directory;
use super::object::Object;
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

/// Goes through the pages of columns, the words of their masks, and the values of a page.
#[doc(hidden)]
pub trait Cursor {
    type Item;

    /// Goes to the next page.
    fn page(&mut self);

    /// Goes to the next word of the page, whose first id is `first`; the bits of objects that have what is asked for.
    fn word(&mut self, word: usize, first: u64) -> u64;

    /// The item of a bit; bits are asked for in ascending order, none twice.
    fn item(&mut self, bit: u32) -> Option<Self::Item>;

    /// The item of a bit where all of the word are asked for.
    fn next(&mut self, bit: u32) -> Option<Self::Item>;

    /// True if these bits are all that this has in the word.
    fn is_all(&self, wanted: u64) -> bool;

    /// Says that all of the word will be asked for, by [`next`](Self::next).
    fn take_all(&mut self);
}

/// The columns of a world, each to be taken once, if it is to be changed.
#[doc(hidden)]
pub struct Columns<'w> {
    columns: Vec<Borrow<'w>>,
    by_type: &'w HashMap<TypeId, usize>,
    /// Types without a column that were asked for, and whether to be changed: what is asked twice is wrong whatever is there.
    absent: Vec<(TypeId, bool)>,
}

enum Borrow<'w> {
    /// Not asked for yet, and may be changed.
    Free(&'w mut ColumnEntry),
    Shared(&'w ColumnEntry),
    Taken,
}

impl<'w> Columns<'w> {
    fn shared<T: Component>(&mut self) -> Result<Option<&'w Column<T>>> {
        let Some(at) = self.by_type.get(&TypeId::of::<T>()) else {
            return self.absent::<T, _>(false);
        };
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
        let Some(at) = self.by_type.get(&TypeId::of::<T>()) else {
            return self.absent::<T, _>(true);
        };
        match std::mem::replace(&mut self.columns[*at], Borrow::Taken) {
            Borrow::Free(entry) => Ok(entry.column.as_any_mut().downcast_mut()),
            Borrow::Shared(_) | Borrow::Taken => Err(twice::<T>()),
        }
    }

    fn absent<T: Component, C>(&mut self, is_exclusive: bool) -> Result<Option<C>> {
        let id = TypeId::of::<T>();
        let clashes = |(other, was): &(TypeId, bool)| *other == id && (is_exclusive || *was);
        if self.absent.iter().any(clashes) {
            return Err(twice::<T>());
        }
        self.absent.push((id, is_exclusive));
        Ok(None)
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
    pages: slice::Iter<'w, Page<Object>>,
    /// The page that is gone through.
    objects: Option<&'w Page<Object>>,
    page: usize,
    /// The word of it that is next.
    word: usize,
    directory: &'w Directory,
    /// Bits of the word before that are left.
    rest: u64,
    /// True if they are all that the columns have in it.
    is_all: bool,
}

impl<'w, Q: Query> QueryIter<'w, Q> {
    /// Goes to the next word; false behind the last.
    fn next_word(&mut self) -> bool {
        if self.word == WORDS {
            self.word = 0;
            self.page += 1;
            self.objects = None;
        }
        if self.objects.is_none() {
            self.objects = self.pages.next();
            self.cursor.page();
        }
        let Some(objects) = self.objects else { return false };
        let first = self.directory.first(self.page) + self.word as u64 * 64;
        self.rest = self.cursor.word(self.word, first) & objects.word(self.word);
        self.is_all = self.cursor.is_all(self.rest);
        if self.is_all {
            self.cursor.take_all();
        }
        self.word += 1;
        true
    }

    fn new(world: (&'w Column<Object>, &'w Directory), cursor: Q::Cursor<'w>) -> Self {
        let (objects, directory) = world;
        let pages = objects.pages.iter();
        Self { cursor, pages, objects: None, page: 0, word: 0, directory, rest: 0, is_all: false }
    }
}

impl<'w, Q: Query> Iterator for QueryIter<'w, Q> {
    type Item = Q::Item<'w>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while self.rest == 0 {
            if !self.next_word() {
                return None;
            }
        }
        let bit = self.rest.trailing_zeros();
        self.rest &= self.rest - 1;
        if self.is_all { self.cursor.next(bit) } else { self.cursor.item(bit) }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some((self.pages.len() + 1) * WIDTH))
    }

    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(mut self, init: B, mut add: F) -> B {
        let mut sum = init;
        loop {
            let mut rest = std::mem::take(&mut self.rest);
            if self.is_all && rest != 0 && (rest | (rest - 1)) == u64::MAX {
                // Without a hole the loop needs no search for the next bit.
                for bit in rest.trailing_zeros()..u64::BITS {
                    let Some(item) = self.cursor.next(bit) else { break };
                    sum = add(sum, item);
                }
                rest = 0;
            }
            while rest != 0 {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                let item = if self.is_all { self.cursor.next(bit) } else { self.cursor.item(bit) };
                if let Some(item) = item {
                    sum = add(sum, item);
                }
            }
            if !self.next_word() {
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
        let mut columns = Columns { columns, by_type: &self.by_type, absent: Vec::new() };
        let cursor = Q::__cursor(&mut columns);
        // What is only read may be read twice.
        let cursor = cursor.unwrap_or_else(|_| unreachable!("a shared query takes no column"));
        QueryIter::new((&self.objects, &self.directory), cursor)
    }

    /// The objects that have all the components of a query, and these, to be changed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Borrowed`] if it asks for one component twice, once of it to be changed.
    pub fn query_mut<Q: Query>(&mut self) -> Result<QueryIter<'_, Q>> {
        let columns = self.columns.iter_mut().map(Borrow::Free).collect();
        let mut columns = Columns { columns, by_type: &self.by_type, absent: Vec::new() };
        Ok(QueryIter::new((&self.objects, &self.directory), Q::__cursor(&mut columns)?))
    }
}

/// The values of a column, page by page.
#[doc(hidden)]
pub struct Shared<'w, T> {
    pages: slice::Iter<'w, Page<T>>,
    page: Option<&'w Page<T>>,
    items: slice::Iter<'w, T>,
    /// Bits of the word whose values `items` still has.
    mask: u64,
    /// The first bit of the word.
    first: u32,
}

#[doc(hidden)]
pub struct Exclusive<'w, T> {
    pages: slice::IterMut<'w, Page<T>>,
    /// The words of the page.
    words: [u64; WORDS],
    items: slice::IterMut<'w, T>,
    /// In place of `items` where a value is out of its place.
    ordered: Option<vec::IntoIter<&'w mut T>>,
    mask: u64,
}

/// How many values stand before that of a bit of a word; what was passed is no longer in the mask.
#[inline]
fn pass(mask: &mut u64, bit: u32) -> usize {
    let before = *mask & ((1 << bit) - 1);
    *mask &= !before & !(1 << bit);
    before.count_ones() as usize
}

impl<'w, T> Cursor for Shared<'w, T> {
    type Item = &'w T;

    #[inline]
    fn page(&mut self) {
        self.page = self.pages.next();
        self.items = self.page.map_or(&[][..], Page::items).iter();
        self.mask = 0;
    }

    #[inline]
    fn word(&mut self, word: usize, _: u64) -> u64 {
        // What was not asked for is passed.
        if self.mask != 0 {
            self.items.nth(self.mask.count_ones() as usize - 1);
        }
        self.mask = self.page.map_or(0, |page| page.word(word));
        self.first = word as u32 * 64;
        self.mask
    }

    #[inline]
    fn item(&mut self, bit: u32) -> Option<&'w T> {
        let page = self.page?;
        if page.is_in_order() {
            self.items.nth(pass(&mut self.mask, bit))
        } else {
            page.get(self.first + bit)
        }
    }

    #[inline]
    fn next(&mut self, _: u32) -> Option<&'w T> {
        self.items.next()
    }

    #[inline]
    fn take_all(&mut self) {
        self.mask = 0;
    }

    #[inline]
    fn is_all(&self, wanted: u64) -> bool {
        self.mask == wanted && self.page.is_some_and(Page::is_in_order)
    }
}

impl<'w, T> Cursor for Exclusive<'w, T> {
    type Item = &'w mut T;

    #[inline]
    fn page(&mut self) {
        self.mask = 0;
        (self.items, self.ordered) = Default::default();
        let Some(page) = self.pages.next() else {
            self.words = [0; WORDS];
            return;
        };
        self.words = std::array::from_fn(|word| page.word(word));
        if page.is_in_order() {
            self.items = page.items_mut().iter_mut();
        } else {
            self.ordered = Some(page.ordered_mut().into_iter());
        }
    }

    #[inline]
    fn word(&mut self, word: usize, _: u64) -> u64 {
        if self.mask != 0 {
            let passed = self.mask.count_ones() as usize - 1;
            match &mut self.ordered {
                None => drop(self.items.nth(passed)),
                Some(ordered) => drop(ordered.nth(passed)),
            }
        }
        self.mask = self.words[word];
        self.mask
    }

    #[inline]
    fn item(&mut self, bit: u32) -> Option<&'w mut T> {
        let passed = pass(&mut self.mask, bit);
        match &mut self.ordered {
            None => self.items.nth(passed),
            Some(ordered) => ordered.nth(passed),
        }
    }

    #[inline]
    fn next(&mut self, _: u32) -> Option<&'w mut T> {
        self.items.next()
    }

    #[inline]
    fn take_all(&mut self) {
        self.mask = 0;
    }

    #[inline]
    fn is_all(&self, wanted: u64) -> bool {
        self.mask == wanted && self.ordered.is_none()
    }
}

impl<T: Component> Query for &T {
    type Item<'w> = &'w T;
    type Cursor<'w> = Shared<'w, T>;

    fn __cursor<'w>(columns: &mut Columns<'w>) -> Result<Self::Cursor<'w>> {
        let pages = columns.shared::<T>()?.map_or(&[][..], |column| &column.pages);
        Ok(Shared { pages: pages.iter(), page: None, items: [].iter(), mask: 0, first: 0 })
    }
}

impl<T: Component> SharedQuery for &T {}

impl<T: Component> Query for &mut T {
    type Item<'w> = &'w mut T;
    type Cursor<'w> = Exclusive<'w, T>;

    fn __cursor<'w>(columns: &mut Columns<'w>) -> Result<Self::Cursor<'w>> {
        let pages = columns.exclusive::<T>()?.map_or(&mut [][..], |column| &mut column.pages);
        let (words, items) = ([0; WORDS], [].iter_mut());
        Ok(Exclusive { pages: pages.iter_mut(), words, items, ordered: None, mask: 0 })
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
    fn page(&mut self) {
        self.cursor.page();
    }

    #[inline]
    fn word(&mut self, word: usize, first: u64) -> u64 {
        self.mask = self.cursor.word(word, first);
        u64::MAX
    }

    #[inline]
    fn item(&mut self, bit: u32) -> Option<Self::Item> {
        Some(if self.mask >> bit & 1 == 1 { self.cursor.item(bit) } else { None })
    }

    #[inline]
    fn next(&mut self, bit: u32) -> Option<Self::Item> {
        Some(if self.mask >> bit & 1 == 1 { self.cursor.next(bit) } else { None })
    }

    #[inline]
    fn is_all(&self, wanted: u64) -> bool {
        self.cursor.is_all(wanted & self.mask)
    }

    #[inline]
    fn take_all(&mut self) {
        self.cursor.take_all();
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
    fn page(&mut self) {}

    #[inline]
    fn word(&mut self, _: usize, first: u64) -> u64 {
        self.first = first;
        u64::MAX
    }

    #[inline]
    fn item(&mut self, bit: u32) -> Option<ObjectId> {
        ObjectId::new(self.first + u64::from(bit))
    }

    #[inline]
    fn next(&mut self, bit: u32) -> Option<ObjectId> {
        self.item(bit)
    }

    #[inline]
    fn is_all(&self, _: u64) -> bool {
        true
    }

    #[inline]
    fn take_all(&mut self) {}
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
            fn page(&mut self) {
                $(self.$at.page();)+
            }

            #[inline]
            fn word(&mut self, word: usize, first: u64) -> u64 {
                // Each goes on, whatever the others have.
                u64::MAX $(& self.$at.word(word, first))+
            }

            #[inline]
            fn item(&mut self, bit: u32) -> Option<Self::Item> {
                Some(($(self.$at.item(bit)?,)+))
            }

            #[inline]
            fn next(&mut self, bit: u32) -> Option<Self::Item> {
                Some(($(self.$at.next(bit)?,)+))
            }

            #[inline]
            fn is_all(&self, wanted: u64) -> bool {
                true $(&& self.$at.is_all(wanted))+
            }

            #[inline]
            fn take_all(&mut self) {
                $(self.$at.take_all();)+
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
