//! [`Query`]: iteration over all objects that have certain components.

use std::any::TypeId;
use std::{mem, slice};

use hashbrown::HashMap;

use super::cursor::{Ids, InColumn, Maybe, QueryCursor};
use super::{Column, Page};
use crate::world::component::Component;
use crate::world::directory::{Directory, WIDTH, WORDS};
use crate::world::{ColumnEntry, Object, World};
use crate::{Error, ErrorKind, ObjectId, Result};

/// The types that [`World::query_mut`](crate::world::World::query_mut) accepts.
///
/// - `&T` and `&mut T` select the objects that have a component of type `T`.
/// - `Option<&T>` and `Option<&mut T>` yield a component if the object has one, and select all objects.
/// - [`ObjectId`] yields the id of the object.
/// - A tuple of up to eight of these selects the objects that all of them select.
pub trait Query {
    /// The value that the query yields for each object.
    type Item<'w>;

    #[doc(hidden)]
    type Cursor<'w>: QueryCursor<Item = Self::Item<'w>>;

    #[doc(hidden)]
    fn __cursor<'w>(columns: &mut Columns<'w>) -> Result<Self::Cursor<'w>>;
}

/// A [`Query`] without `&mut`, which [`World::query`](crate::world::World::query) accepts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` may change components",
    note = "use `query_mut`, which takes `&mut World`"
)]
pub trait SharedQuery: Query + Reads {}

/// Seals [`SharedQuery`]: only the queries of this library are certain to change nothing.
pub trait Reads {}

/// The columns of a world, which a query borrows: each once exclusively, or any number of times shared.
#[doc(hidden)]
pub struct Columns<'w> {
    columns: Vec<Borrow<'w>>,
    by_type: &'w HashMap<TypeId, usize>,
    /// Requested types without a column, and whether they were requested as `&mut`. A query with conflicting requests
    /// is an error even if the world has no such components.
    absent: Vec<(TypeId, bool)>,
}

enum Borrow<'w> {
    /// Not borrowed yet.
    Free(&'w mut ColumnEntry),
    Shared(&'w ColumnEntry),
    Taken,
}

impl<'w> Columns<'w> {
    fn shared<T: Component>(&mut self) -> Result<Option<&'w Column<T>>> {
        let Some(at) = self.by_type.get(&TypeId::of::<T>()) else {
            return self.absent::<T, _>(false);
        };
        let entry: &'w ColumnEntry = match mem::replace(&mut self.columns[*at], Borrow::Taken) {
            Borrow::Free(entry) => entry,
            Borrow::Shared(entry) => entry,
            Borrow::Taken => return Err(conflict::<T>()),
        };
        self.columns[*at] = Borrow::Shared(entry);
        Ok(entry.typed())
    }

    fn exclusive<T: Component>(&mut self) -> Result<Option<&'w mut Column<T>>> {
        let Some(at) = self.by_type.get(&TypeId::of::<T>()) else {
            return self.absent::<T, _>(true);
        };
        match mem::replace(&mut self.columns[*at], Borrow::Taken) {
            Borrow::Free(entry) => Ok(entry.typed_mut()),
            Borrow::Shared(_) | Borrow::Taken => Err(conflict::<T>()),
        }
    }

    fn absent<T: Component, C>(&mut self, is_exclusive: bool) -> Result<Option<C>> {
        let id = TypeId::of::<T>();
        let clashes = |(other, was): &(TypeId, bool)| *other == id && (is_exclusive || *was);
        if self.absent.iter().any(clashes) {
            return Err(conflict::<T>());
        }
        self.absent.push((id, is_exclusive));
        Ok(None)
    }
}

#[cold]
fn conflict<T: Component>() -> Error {
    error!(
        ErrorKind::Borrowed,
        "the query asks for one component twice, once or more to change it; ask for it once"
    )
    .in_class(T::persist_name())
}

/// An iterator over the objects that a query selects, in the order in which they were spawned.
struct QueryIter<'w, Q: Query> {
    run: QueryRun<'w, Q>,
    /// The rest is boxed so that a loop can keep the run in registers: no called function has its address.
    rest: Box<RemainingPages<'w, Q>>,
}

type QueryRun<'w, Q> = <<Q as Query>::Cursor<'w> as QueryCursor>::Run;

/// The part of an iteration after the current run.
struct RemainingPages<'w, Q: Query> {
    cursor: Q::Cursor<'w>,
    /// The objects of the pages after the current one.
    pages: slice::Iter<'w, Option<Box<Page<Object>>>>,
    objects: Option<&'w Page<Object>>,
    page: usize,
    /// The next word of the page.
    word: usize,
    directory: &'w Directory,
    /// The remaining bits of the previous word, if its items were not a run.
    bits: u64,
}

impl<'w, Q: Query> RemainingPages<'w, Q> {
    /// Returns the next item, and the run after it.
    ///
    /// It is not inlined: otherwise the loop over a run would not have enough registers.
    #[cold]
    #[inline(never)]
    fn advance(&mut self) -> (Option<Q::Item<'w>>, QueryRun<'w, Q>) {
        loop {
            if let Some(item) = self.next_item() {
                return (Some(item), Q::Cursor::empty());
            }
            let Some(mut run) = self.next_run() else { return (None, Q::Cursor::empty()) };
            if let Some(item) = run.next() {
                return (Some(item), run);
            }
        }
    }

    /// Returns the next item of the previous word.
    #[inline]
    fn next_item(&mut self) -> Option<Q::Item<'w>> {
        while self.bits != 0 {
            let bit = self.bits.trailing_zeros();
            self.bits &= self.bits - 1;
            if let Some(item) = self.cursor.item(bit) {
                return Some(item);
            }
        }
        None
    }

    /// Moves to the next page or word with items, and returns them as a run. If they are not a run, returns an empty
    /// run, and [`next_item`](Self::next_item) returns them. Returns `None` at the end.
    fn next_run(&mut self) -> Option<QueryRun<'w, Q>> {
        loop {
            if self.word == WORDS {
                self.objects = None;
                self.page += 1;
                self.word = 0;
            }
            let objects = match self.objects {
                Some(objects) => objects,
                None => {
                    let objects = self.pages.next()?.as_deref();
                    self.cursor.page();
                    let Some(objects) = objects else {
                        self.page += 1;
                        continue;
                    };
                    self.objects = Some(objects);
                    // A column only has components of objects. So if a page has as many components as objects, every
                    // object has one.
                    if self.cursor.has_page(objects.len()) {
                        self.word = WORDS;
                        return Some(self.cursor.run(0, objects.len()));
                    }
                    objects
                }
            };
            let first = self.directory.first(self.page) + self.word as u64 * 64;
            let bits = self.cursor.word(self.word, first) & objects.word(self.word);
            self.word += 1;
            if bits == 0 {
                continue;
            }
            if self.cursor.is_all(bits) {
                return Some(self.cursor.run(bits, bits.count_ones() as usize));
            }
            self.bits = bits;
            return Some(Q::Cursor::empty());
        }
    }
}

impl<'w, Q: Query> QueryIter<'w, Q> {
    fn new(world: (&'w Column<Object>, &'w Directory), cursor: Q::Cursor<'w>) -> Self {
        let (objects, directory) = world;
        let pages = objects.pages().iter();
        let rest =
            RemainingPages { cursor, pages, objects: None, page: 0, word: 0, directory, bits: 0 };
        Self { run: Q::Cursor::empty(), rest: Box::new(rest) }
    }
}

impl<'w, Q: Query> Iterator for QueryIter<'w, Q> {
    type Item = Q::Item<'w>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self.run.next() {
            Some(item) => Some(item),
            None => {
                let (item, run) = self.rest.advance();
                self.run = run;
                item
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some((self.rest.pages.len() + 1) * WIDTH))
    }

    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, mut add: F) -> B {
        let Self { run, mut rest } = self;
        let mut sum = run.fold(init, &mut add);
        loop {
            while let Some(item) = rest.next_item() {
                sum = add(sum, item);
            }
            match rest.next_run() {
                Some(run) => sum = run.fold(sum, &mut add),
                None => return sum,
            }
        }
    }
}

/// Iterates over the objects of a shared query.
pub(in crate::world) fn shared<Q: SharedQuery>(world: &World) -> impl Iterator<Item = Q::Item<'_>> {
    let columns = world.columns.iter().map(Borrow::Shared).collect();
    let mut columns = Columns { columns, by_type: &world.by_type, absent: Vec::new() };
    let cursor = Q::__cursor(&mut columns);
    // Shared borrows never conflict, so this cannot fail.
    let cursor = cursor.unwrap_or_else(|_| unreachable!("a shared query takes no column"));
    QueryIter::<Q>::new((&world.objects, &world.directory), cursor)
}

/// Iterates over the objects of a query that may change components.
pub(in crate::world) fn exclusive<Q: Query>(
    world: &mut World,
) -> Result<impl Iterator<Item = Q::Item<'_>>> {
    let columns = world.columns.iter_mut().map(Borrow::Free).collect();
    let mut columns = Columns { columns, by_type: &world.by_type, absent: Vec::new() };
    Ok(QueryIter::<Q>::new((&world.objects, &world.directory), Q::__cursor(&mut columns)?))
}

impl<T: Component> Query for &T {
    type Item<'w> = &'w T;
    type Cursor<'w> = InColumn<'w, slice::Iter<'w, Option<Box<Page<T>>>>>;

    fn __cursor<'w>(columns: &mut Columns<'w>) -> Result<Self::Cursor<'w>> {
        let pages = columns.shared::<T>()?.map_or(&[][..], Column::pages);
        Ok(InColumn::new(pages.iter()))
    }
}

impl<T: Component> SharedQuery for &T {}
impl<T: Component> Reads for &T {}

impl<T: Component> Query for &mut T {
    type Item<'w> = &'w mut T;
    type Cursor<'w> = InColumn<'w, slice::IterMut<'w, Option<Box<Page<T>>>>>;

    fn __cursor<'w>(columns: &mut Columns<'w>) -> Result<Self::Cursor<'w>> {
        let pages = columns.exclusive::<T>()?.map_or(&mut [][..], Column::pages_mut);
        Ok(InColumn::new(pages.iter_mut()))
    }
}

impl<Q: Query> Query for Option<Q> {
    type Item<'w> = Option<Q::Item<'w>>;
    type Cursor<'w> = Maybe<Q::Cursor<'w>>;

    fn __cursor<'w>(columns: &mut Columns<'w>) -> Result<Self::Cursor<'w>> {
        Ok(Maybe::new(Q::__cursor(columns)?))
    }
}

impl<Q: SharedQuery> SharedQuery for Option<Q> {}
impl<Q: SharedQuery> Reads for Option<Q> {}

impl Query for ObjectId {
    type Item<'w> = ObjectId;
    type Cursor<'w> = Ids;

    fn __cursor<'w>(_: &mut Columns<'w>) -> Result<Self::Cursor<'w>> {
        Ok(Ids::default())
    }
}

impl SharedQuery for ObjectId {}
impl Reads for ObjectId {}

macro_rules! tuple {
    ($($part:ident),+) => {
        impl<$($part: Query),+> Query for ($($part,)+) {
            type Item<'w> = ($($part::Item<'w>,)+);
            type Cursor<'w> = ($($part::Cursor<'w>,)+);

            fn __cursor<'w>(columns: &mut Columns<'w>) -> Result<Self::Cursor<'w>> {
                Ok(($($part::__cursor(columns)?,)+))
            }
        }

        impl<$($part: SharedQuery),+> SharedQuery for ($($part,)+) {}
        impl<$($part: SharedQuery),+> Reads for ($($part,)+) {}
    };
}

tuple!(A);
tuple!(A, B);
tuple!(A, B, C);
tuple!(A, B, C, D);
tuple!(A, B, C, D, E);
tuple!(A, B, C, D, E, F);
tuple!(A, B, C, D, E, F, G);
tuple!(A, B, C, D, E, F, G, H);
