//! Encoding of a world, directly from its columns.
//!
//! [`StoredWorld`] defines the schema: a list of objects, each with its components. The code here writes the same bytes
//! as its derived implementation, without building that list; a test in `load.rs` compares the two.
//!
//! A large world writes its objects as pages, before the record that it is in, and its head names them.
//!
//! A save has the components object by object, but a world has them in columns. Three paths write objects, the fastest
//! first:
//!
//! 1. `encode_run` writes a run of plain objects of one shape, column by column.
//! 2. `encode_plain` writes the head of a plain object in one copy.
//! 3. `encode_object` writes any object.

use super::component::{AnyComponent, ErasedComponents};
use super::names::{Name, Names};
use super::resources::AnyResource;
use super::sibling_index::SiblingIndex;
use super::{Activity, ComponentIndex, Shape, Shapes};
use super::{ComponentType, Location, Object, ParkedObject, UnknownEntry, World, lasts};
use crate::codec::pages::{PageCut, PageEntry, PagedObjects};
use crate::codec::{AsTrait, BoxOf, Buffer, Encoder, Stop, UnknownPiece, count, trait_name};
use crate::format::{Compression, Header, Sealer};
use crate::graph::{SaveTables, SavedRoot, Saver, encode_unknown_at};
use crate::sorting::sort;
use crate::types::encode_text;
use crate::{Error, ErrorKind, ObjectId, Result};

/// The schema of a world in a save.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.World")]
pub(super) struct StoredWorld {
    last_id: u64,
    /// The objects, unless they are in pages.
    objects: Vec<StoredObject>,
    // Worlds of older saves have none.
    #[persist(default)]
    pages: Vec<StoredPageEntry>,
    resources: Vec<Box<dyn AnyResource>>,
}

/// The schema of an entry in the index of a world's pages.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.PageEntry")]
pub(super) struct StoredPageEntry {
    #[persist(compact)]
    first: u64,
    #[persist(compact)]
    objects: u32,
    #[persist(compact)]
    position: u64,
    digest: u32,
}

impl From<PageEntry> for StoredPageEntry {
    fn from(entry: PageEntry) -> Self {
        let PageEntry { first, objects, position, digest } = entry;
        Self { first, objects, position, digest }
    }
}

impl From<StoredPageEntry> for PageEntry {
    fn from(entry: StoredPageEntry) -> Self {
        let StoredPageEntry { first, objects, position, digest } = entry;
        Self { first, objects, position, digest }
    }
}

/// The schema of a page of a world. A class number in it counts in its list of classes.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.Page")]
pub(super) struct StoredPage {
    /// The ids of the classes.
    classes: Vec<u64>,
    objects: Vec<StoredObject>,
}

/// The schema of an object in a save.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.Object")]
pub(super) struct StoredObject {
    #[persist(compact)]
    id: u64,
    name: String,
    /// `None` for an object at the top, and for one whose parent is not among the objects that are written.
    parent: Option<StoredParent>,
    activity: Activity,
    /// The number of components that have not been started. They are the last ones.
    #[persist(compact)]
    waiting: u32,
    components: Vec<Box<dyn AnyComponent>>,
}

/// The schema of an object's place in the tree.
///
/// An object has its parent, and not a list of its children, so that a page depends on its own objects alone. The
/// parent is a number as the id of an object is: as a handle it would take nine bytes. A load remaps both as handles.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.Parent")]
pub(super) struct StoredParent {
    /// The id of the parent.
    #[persist(compact)]
    pub object: u64,
    /// The index among the children of the parent.
    #[persist(compact)]
    pub index: u32,
}

/// The parts of a world that are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EncodeScope {
    /// All objects and resources.
    World,
    /// Some objects, without resources. Their components are written as not started, so that `on_start` runs for a
    /// copy.
    Copy,
    /// Some objects, without resources.
    #[cfg_attr(
        not(feature = "history"),
        allow(dead_code, reason = "a history keeps removed objects")
    )]
    Objects,
}

/// The place of an object that is written.
#[derive(Clone, Copy)]
pub(super) enum ObjectSource<'w> {
    Live(Location),
    #[cfg_attr(
        not(feature = "history"),
        allow(dead_code, reason = "a history keeps removed objects")
    )]
    Parked(&'w ParkedObject),
}

impl<'w> ObjectSource<'w> {
    pub(super) fn object(self, world: &'w World) -> Option<&'w Object> {
        match self {
            Self::Live(location) => world.objects.get(location),
            Self::Parked(parked) => Some(&parked.object),
        }
    }
}

/// The objects that are written, in ascending order of their ids.
#[derive(Clone, Copy)]
pub(super) enum ObjectSelection<'o, 'w> {
    All,
    These(&'o [(ObjectId, ObjectSource<'w>)]),
}

impl<'w> ObjectSelection<'_, 'w> {
    /// Returns an object, if it is written.
    pub(super) fn find(self, id: ObjectId, world: &'w World) -> Option<&'w Object> {
        match self {
            Self::All => world.object(id),
            Self::These(objects) => {
                let place = objects.binary_search_by(|(other, _)| other.cmp(&id)).ok()?;
                objects[place].1.object(world)
            }
        }
    }
}

/// The state of a column while objects are written.
#[derive(Default)]
struct ColumnProgress<'w> {
    /// The number of its class in this save, once it has one.
    number: Option<u64>,
    /// The remaining components of the current page, if all objects of the page are written in order.
    items: Option<Box<dyn ErasedComponents + 'w>>,
}

/// The number of bytes that the components of a shape take on the current page, each with the number of its class.
#[derive(Clone, Copy)]
enum RowWidth {
    /// It has not been computed yet.
    Unknown,
    /// It differs between objects.
    Varies,
    /// It is the same for all objects.
    Fixed(usize),
}

/// About the bytes of most objects: id, name, parent, activity, two counts, and components.
pub(super) const SIZE: usize = 96;

/// The maximum number of objects in a run. Their offsets are in an array on the stack.
pub(super) const RUN: usize = 64;

/// Writes objects, and the resources if the scope is the whole world.
pub(super) fn encode_objects<'w>(
    world: &'w World,
    objects: ObjectSelection<'w, 'w>,
    content: EncodeScope,
    out: &mut Encoder<'_>,
) -> Result<(), Stop> {
    WorldWriter::new(world, objects, content).objects(out)
}

/// The next object that is written.
#[derive(Clone, Copy, Default)]
pub(super) struct NextObject {
    /// The row of ids, which is a page of the columns.
    pub row: usize,
    /// The number of objects before it in the row.
    pub place: usize,
}

/// Writes the objects of a world.
pub(super) struct WorldWriter<'w> {
    world: &'w World,
    objects: ObjectSelection<'w, 'w>,
    content: EncodeScope,
    siblings: SiblingIndex<'w>,
    /// The row, and the place in it, at which the cursors of the columns stand.
    cursor: (usize, usize),
    /// The state of each column.
    progress: Vec<ColumnProgress<'w>>,
    /// The row width of each shape in the current row.
    widths: Vec<RowWidth>,
    head: PlainHead,
}

impl<'w> WorldWriter<'w> {
    fn new(world: &'w World, objects: ObjectSelection<'w, 'w>, content: EncodeScope) -> Self {
        Self {
            world,
            objects,
            content,
            siblings: SiblingIndex::default(),
            cursor: (usize::MAX, 0),
            progress: world.columns.iter().map(|_| ColumnProgress::default()).collect(),
            widths: vec![RowWidth::Varies; world.shapes.len()],
            head: PlainHead::default(),
        }
    }

    /// Makes a writer of all objects.
    pub(super) fn of_all(world: &'w World) -> Self {
        Self::new(world, ObjectSelection::All, EncodeScope::World)
    }

    fn objects(&mut self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.value(&self.world.last_id)?;
        let mut index: Vec<StoredPageEntry> = Vec::new();
        match self.objects {
            ObjectSelection::All => {
                let address = std::ptr::from_ref(self.world).addr();
                match out.take_pages(address)? {
                    Some(PagedObjects::Index(pages)) => {
                        count::encode(0, out)?;
                        index = pages.into_iter().map(StoredPageEntry::from).collect();
                    }
                    Some(PagedObjects::Encoded(count, bytes)) => {
                        count::encode(count as u64, out)?;
                        out.bytes(&bytes)?;
                    }
                    None => {
                        count::encode(self.world.count as u64, out)?;
                        out.nested_in::<StoredObject>(|out| self.encode_all(usize::MAX, out))?;
                    }
                }
            }
            ObjectSelection::These(selected) => {
                count::encode(selected.len() as u64, out)?;
                out.nested_in::<StoredObject>(|out| {
                    selected.iter().try_for_each(|(id, source)| match source.object(self.world) {
                        Some(object) => self.encode_object(*id, object, *source, out),
                        None => Err(out.no_field()),
                    })
                })?;
            }
        }
        out.value(&index)?;
        let resources = &self.world.resources;
        let count = match self.content {
            EncodeScope::World => {
                let unknown = resources.unknown.iter().filter(|it| resources.lasts(it));
                resources.values.len() + unknown.count()
            }
            EncodeScope::Copy | EncodeScope::Objects => 0,
        };
        count::encode(count as u64, out)?;
        if count == 0 {
            return Ok(());
        }
        out.nested_in::<Box<dyn AnyResource>>(|out| {
            // A load meets the unknown fields of a resource before the resource.
            let (of_parts, whole): (Vec<_>, Vec<_>) =
                resources.unknown.iter().partition(|unknown| unknown.component().is_some());
            let mut of_parts = of_parts.into_iter().filter(|unknown| resources.lasts(unknown));
            of_parts.try_for_each(|unknown| encode_unknown(unknown, out))?;
            for (.., value) in &resources.values {
                <AsTrait as BoxOf<dyn AnyResource>>::encode(&**value, out)?;
            }
            whole.into_iter().try_for_each(|unknown| encode_unknown(unknown, out))
        })
    }

    /// Writes all objects. It ends after the object with which they take `room` bytes.
    pub(super) fn encode_all(&mut self, room: usize, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let end = out.position().saturating_add(room);
        for row in 0..self.world.directory.len() {
            let room = end.saturating_sub(out.position());
            if room == 0 {
                break;
            }
            self.encode_row(row, 0, room, out)?;
        }
        Ok(())
    }

    /// Writes the objects of the next page. Returns the id of the first object and their number, which is 0 after the
    /// last page.
    pub(super) fn encode_page(
        &mut self,
        next: &mut NextObject,
        out: &mut Encoder<'_>,
    ) -> Result<(u64, u32), Stop> {
        // Each page numbers the classes itself.
        self.progress.iter_mut().for_each(|progress| progress.number = None);
        self.widths.fill(RowWidth::Unknown);
        let (world, start) = (self.world, out.position());
        let (mut first, mut last, mut count) = (0, 0, 0);
        while next.row < world.directory.len() {
            let objects = world.objects.page(next.row);
            let Some(objects) = objects.filter(|objects| next.place < objects.items().len()) else {
                *next = NextObject { row: next.row + 1, place: 0 };
                continue;
            };
            let (row, place) = (next.row, next.place);
            let id_at = |place| {
                let bit = objects.bits().nth(place).unwrap_or_default();
                world.directory.first(row) + u64::from(bit)
            };
            let (begin, bytes) = (id_at(place), out.position() - start);
            if count > 0 && PageCut::is_between(last, begin, bytes) {
                break;
            }
            first = if count == 0 { begin } else { first };
            let room = PageCut::room(bytes);
            out.nested_in::<StoredObject>(|out| {
                next.place = self.encode_row(row, place, room, out)?;
                Ok(())
            })?;
            count += next.place - place;
            last = id_at(next.place - 1);
            if PageCut::is_full(out.position() - start) {
                break;
            }
        }
        // A page has at most the objects of a cell.
        Ok((first, u32::try_from(count).unwrap_or(u32::MAX)))
    }

    /// Returns the number of a column's class in this save, which is assigned on first use.
    fn number(&mut self, column: usize, out: &mut Encoder<'_>) -> Result<u64, Stop> {
        if let Some(number) = self.progress[column].number {
            return Ok(number);
        }
        let (entry, of) = (&self.world.columns[column], trait_name::<dyn AnyComponent>());
        let number = out.ask(|links| {
            let class = links.class(entry.of.id, of, &entry.of.name);
            class.map_err(|_| unregistered(&(entry.of.name)()))
        })?;
        self.progress[column].number = Some(number);
        Ok(number)
    }

    /// Writes the objects of a row from a place on, as runs where possible. It ends after the object with which they
    /// take `room` bytes. Returns the place after the last one.
    fn encode_row(
        &mut self,
        row: usize,
        from: usize,
        room: usize,
        out: &mut Encoder<'_>,
    ) -> Result<usize, Stop> {
        let Some(objects) = self.world.objects.page(row) else { return Ok(0) };
        let mut bits_of_row = objects.bits().skip(from).peekable();
        if self.cursor != (row, from) {
            // Widths hold for one row: where a component runs, its column has no cursor in the row.
            self.widths.fill(RowWidth::Unknown);
            let bit = bits_of_row.peek().copied().unwrap_or_default();
            for (progress, entry) in self.progress.iter_mut().zip(&self.world.columns) {
                // One cursor through each column, so that no component is searched for.
                progress.items = entry.column.items(row, bit);
            }
        }
        let end = out.position().saturating_add(room);
        // An error leaves the cursors somewhere in the row.
        self.cursor = (usize::MAX, 0);
        let mut place = from;
        if !objects.is_ordered() {
            for bit in bits_of_row {
                if out.position() >= end {
                    break;
                }
                self.encode_one((row, bit), None, out)?;
                place += 1;
            }
            self.cursor = (row, place);
            return Ok(place);
        }
        for objects in objects.items()[from..].chunks(RUN) {
            let mut bits = [0; RUN];
            bits.iter_mut().zip(&mut bits_of_row).for_each(|(to, bit)| *to = bit);
            let mut at = 0;
            while at < objects.len() {
                let room = end.saturating_sub(out.position());
                if room == 0 {
                    self.cursor = (row, place + at);
                    return Ok(place + at);
                }
                let run = self.encode_run(row, (&bits[at..], &objects[at..]), room, out)?;
                at += run;
                // No run begins at this object, so it is written by itself.
                if run == 0 {
                    self.encode_one((row, bits[at]), objects.get(at), out)?;
                    at += 1;
                }
            }
            place += at;
        }
        self.cursor = (row, place);
        Ok(place)
    }

    /// Writes one object, which is searched for if it is not passed.
    fn encode_one(
        &mut self,
        (page, bit): (usize, u32),
        object: Option<&Object>,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        let (world, location) = (self.world, Location { page, bit });
        match (world.directory.id(page, bit), object.or_else(|| world.objects.get(location))) {
            (Some(id), Some(object)) => {
                self.encode_object(id, object, ObjectSource::Live(location), out)
            }
            _ => Err(out.no_field()),
        }
    }

    /// Writes a run of plain objects that have one shape and components of fixed widths. Returns how many it has
    /// written, which may be 0.
    ///
    /// First it writes the head of each object, and leaves a gap for its components. Then it fills the gaps column by
    /// column, with one virtual call for each column. The run ends after the object with which it takes `room` bytes.
    fn encode_run(
        &mut self,
        row: usize,
        (bits, objects): (&[u32], &[Object]),
        room: usize,
        out: &mut Encoder<'_>,
    ) -> Result<usize, Stop> {
        let world = self.world;
        let first = world.directory.first(row);
        let Some(Object { shape, .. }) = objects.first() else { return Ok(0) };
        let columns = world.shapes.columns(*shape);
        let (Some(width), Ok(all)) = (self.width(*shape), u8::try_from(columns.len())) else {
            return Ok(0);
        };
        // The space is enough for heads of maximum length. If the window of the encoder is smaller, the general path is
        // taken, which gets a new window.
        let Some(space) = out.ahead_of(objects.len() * (PLAIN + width)) else { return Ok(0) };
        let (mut rows, mut len, mut at) = ([0; RUN], 0, 0);
        for ((row, bit), object) in rows.iter_mut().zip(bits).zip(objects) {
            let is_plain = object.shape == *shape
                && object.is_plain()
                && self.head.set_name(object.name, &world.names);
            let ahead = space.get_mut(at..).and_then(<[u8]>::first_chunk_mut);
            let Some(ahead) = ahead.filter(|_| is_plain) else { break };
            let started = match self.content {
                EncodeScope::Copy => 0,
                _ => u8::try_from(object.started).unwrap_or(u8::MAX),
            };
            let id = first + u64::from(*bit);
            let parent = self.stored_parent(ObjectId::new(id), object);
            let counts = [all.saturating_sub(started), all];
            at += self.head.store((id, parent.as_ref()), counts, ahead);
            *row = at;
            at += width;
            len += 1;
            if at >= room {
                break;
            }
        }
        // `rows` has the offset of each object's components. `offset` is that of the column in each row.
        let mut offset = 0;
        for column in columns {
            // Both are there, or `width` would have returned `None`.
            if let ColumnProgress { items: Some(items), number: Some(number) } =
                &mut self.progress[*column]
            {
                offset += items.put_next(*number, &rows[..len], &mut space[offset..]);
            }
        }
        out.take(at)?;
        Ok(len)
    }

    /// Returns the bytes of a row of components of a shape on this page, if it is the same for all objects. All numbers
    /// of classes and the count of components must fit into one byte each.
    fn width(&mut self, shape: Shape) -> Option<usize> {
        let width = self.widths.get_mut(Shapes::index(shape))?;
        if let RowWidth::Unknown = width {
            let columns = self.world.shapes.columns(shape);
            // The first object of a shape, which is written by itself, numbers its classes.
            if columns.iter().any(|column| self.progress[*column].number.is_none()) {
                return None;
            }
            let mut widths = columns.iter().map(|column| {
                let ColumnProgress { number, items } = &self.progress[*column];
                number.filter(|number| *number <= count::SHORT)?;
                items.as_ref()?.width()
            });
            let sum = widths.try_fold(0, |sum, width| Some(sum + 1 + width?));
            // A plain head has room for one byte of the count of components.
            let sum = sum.filter(|_| columns.len() as u64 <= count::SHORT);
            *width = sum.map_or(RowWidth::Varies, RowWidth::Fixed);
        }
        match *width {
            RowWidth::Fixed(width) => Some(width),
            _ => None,
        }
    }

    /// Returns the parent of an object and its index there; `None` if the parent is not written.
    #[inline]
    fn stored_parent(&mut self, id: Option<ObjectId>, object: &Object) -> Option<StoredParent> {
        let (id, parent) = (id?, object.parent?);
        let (objects, world) = (self.objects, self.world);
        let index = self.siblings.find((id, parent), |id| objects.find(id, world))?;
        Some(StoredParent { object: parent.get(), index })
    }

    fn encode_object(
        &mut self,
        id: ObjectId,
        object: &Object,
        source: ObjectSource<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        let world = self.world;
        let columns = world.shapes.columns(object.shape);
        let unknown = object.unknown();
        // What is unknown of a component that was detached is not written.
        let is_present = |entry: &UnknownEntry| lasts(world, object, &entry.content);
        let started = usize::from(object.started);
        // Started components are stored as a prefix, so an unknown component before a started one counts as started.
        let is_started = |unknown: &&UnknownEntry| {
            unknown.preceding < started || (unknown.preceding == started && unknown.is_started)
        };
        let started = match self.content {
            EncodeScope::Copy => 0,
            _ => {
                let unknown = unknown.iter().filter(|entry| is_present(entry));
                started + unknown.filter(is_started).count()
            }
        };
        let all = columns.len() + unknown.iter().filter(|entry| is_present(entry)).count();
        let waiting = u32::try_from(all.saturating_sub(started)).unwrap_or(u32::MAX);
        let parent = self.stored_parent(Some(id), object);
        let counts = (waiting, all);
        if !self.encode_plain((id, parent.as_ref()), object, counts, out)? {
            count::encode(id.get(), out)?;
            self.encode_name(object, out)?;
            out.value(&parent)?;
            out.value(&object.activity)?;
            count::encode(waiting.into(), out)?;
            count::encode(all as u64, out)?;
        }
        out.nested_in::<Box<dyn AnyComponent>>(|out| {
            if unknown.is_empty() {
                let mut columns = columns.iter();
                return columns.try_for_each(|column| self.encode_component(*column, source, out));
            }
            world.shapes.parts(object).try_for_each(|part| match part {
                ComponentIndex::Known(column) => self.encode_component(column, source, out),
                ComponentIndex::Unknown(index) if is_present(&unknown[index]) => {
                    encode_unknown(&unknown[index].content, out)
                }
                ComponentIndex::Unknown(_) => Ok(()),
            })
        })
    }

    /// Writes the head of a plain object in one copy. Returns false, and writes nothing, if the object is not plain.
    #[inline]
    fn encode_plain(
        &mut self,
        (id, parent): (ObjectId, Option<&StoredParent>),
        object: &Object,
        (waiting, components): (u32, usize),
        out: &mut Encoder<'_>,
    ) -> Result<bool, Stop> {
        let (Ok(waiting), Ok(components)) = (u8::try_from(waiting), u8::try_from(components))
        else {
            return Ok(false);
        };
        let is_plain = object.is_plain()
            && u64::from(components.max(waiting)) <= count::SHORT
            && self.head.set_name(object.name, &self.world.names);
        // Near the end of a window, the general path writes the head in pieces.
        let Some(next) = out.ahead().filter(|_| is_plain) else { return Ok(false) };
        let len = self.head.store((id.get(), parent), [waiting, components], next);
        out.take(len)?;
        Ok(true)
    }

    /// Writes a name. The text of a name with a number is not stored anywhere, and is formatted here.
    fn encode_name(&self, object: &Object, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let names = &self.world.names;
        match object.name.map(|name| (name, names.base(name))) {
            None => encode_text("", out),
            Some((_, Some(base))) => encode_text(base, out),
            Some((name, None)) => encode_text(&names.text(name), out),
        }
    }

    /// Writes a component with the number of its class. It is an error if a method of the component is running, since
    /// the component is then out of its column.
    #[inline(never)]
    fn encode_component(
        &mut self,
        column: usize,
        source: ObjectSource<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        if let ObjectSource::Parked(parked) = source {
            // A parked object has left its columns, and holds its few components itself.
            let component = parked.components.iter().find(|(of, _)| *of == column);
            return match component {
                Some((_, component)) => {
                    <AsTrait as BoxOf<dyn AnyComponent>>::encode(&**component, out)
                }
                None => Err(out.no_field()),
            };
        }
        let number = self.number(column, out)?;
        let progress = &mut self.progress[column];
        let entry = &self.world.columns[column];
        let encoded = match (&mut progress.items, source) {
            (Some(items), _) => items.encode_next(number, out),
            (None, ObjectSource::Live(location)) => entry.column.encode(location, number, out),
            (None, ObjectSource::Parked(_)) => None,
        };
        encoded.unwrap_or_else(|| {
            Err(out.refuse(Error::new(
                ErrorKind::Borrowed,
                format!(
                    "a method of {} runs, and it is out of its place; save after the update",
                    (entry.of.name)()
                ),
            )))
        })
    }
}

/// Writes a component or resource of an unknown class.
fn encode_unknown(unknown: &crate::Unknown, out: &mut Encoder<'_>) -> Result<(), Stop> {
    match unknown.value() {
        Ok(UnknownPiece { path: Some(path), .. }) => encode_unknown_at(path, &unknown.pieces, out),
        Ok(value) => value.encode_class(out).and_then(|()| value.encode(out)),
        Err(error) => Err(out.refuse(error)),
    }
}

#[cold]
fn unregistered(class: &str) -> Error {
    Error::new(
        ErrorKind::WrongClass,
        format!(
            "component class {class} is not registered; call `register_component::<{class}>()` on the `Saves`, or `register_component` with it on the world if it is this that saves"
        ),
    )
}

/// Encodes objects of the world, in ascending order of their ids, as a save of their own.
pub(super) fn save_of(
    world: &World,
    objects: &[(ObjectId, ObjectSource<'_>)],
    content: EncodeScope,
) -> Result<Vec<u8>> {
    let found = objects.iter().filter_map(|(_, source)| source.object(world));
    let mut shapes: Vec<Shape> = found.map(|object| object.shape).collect();
    // Neighbours mostly have one shape. Without this, each object of a level would add its columns to the list.
    shapes.dedup();
    let mut columns: Vec<usize> =
        shapes.iter().flat_map(|shape| world.shapes.columns(*shape)).copied().collect();
    sort(&mut columns);
    columns.dedup();
    columns.iter().try_for_each(|column| check_ids(&world.columns[*column].of))?;
    let mut clone;
    let (registry, class) = match world.registry.value_class::<World>() {
        Some(class) => (&world.registry, class),
        // The world is only borrowed.
        None => {
            clone = world.registry.clone();
            let class = clone.register_value::<World>()?;
            (&clone, class)
        }
    };
    if registry.traits(class).before_save {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "a component class has a `before_save` hook, which needs `&mut`; do in the component's methods what it does",
        ));
    }
    let mut save = Vec::new();
    let env = registry.env();
    let mut encode = |out: &mut crate::codec::Encoder<'_>| {
        encode_objects(world, ObjectSelection::These(objects), content, out)
    };
    // It has no pages: a history takes such a save apart, and keeps its parts.
    let value = SavedRoot { class, visit: &mut |_| Ok(()), encode: &mut encode };
    Saver::new(registry, &env, 1, &mut SaveTables::default()).save_root(
        value,
        |_| String::new(),
        &mut Sealer::new(&mut save, Compression::None, &env.limits),
        &Header::default(),
        &mut Buffer::new(),
    )?;
    Ok(save)
}

/// Returns the places of these objects in the world, without those that are not in it.
pub(super) fn live(world: &World, ids: &[ObjectId]) -> Vec<(ObjectId, ObjectSource<'static>)> {
    let location = |id: &ObjectId| Some((*id, ObjectSource::Live(world.directory.location(*id)?)));
    ids.iter().filter_map(location).collect()
}

/// Returns an error if a component class holds a world. A copy renumbers ids, and the ids of the inner world would be
/// mistaken for ids of the outer one.
pub(super) fn check_ids(of: &ComponentType) -> Result<()> {
    if !of.holds_world() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Unsupported,
        "the component class holds a world of its own, whose ids cannot be told from those of the world around it; keep that world beside this one",
    )
    .in_class((of.name)()))
}

/// The maximum number of digits in a `u32`, so that any number of a name fits.
const DIGITS: usize = 10;

/// The maximum length of the base of a name on this path, in bytes. Longer names take the general path.
const SHORT_BASE: usize = 40;

/// The maximum length of a name on this path, in bytes.
const TEXT: usize = SHORT_BASE + DIGITS;

/// The maximum length of a parent in bytes: 1, then two counts. Each is stored as 9 bytes, and the next value overwrites
/// the surplus.
pub(super) const PARENT: usize = 1 + 9 + 9;

/// The maximum length of a head in bytes. The id takes up to 9, the length of the name 1, and the activity and the two
/// counts 1 each.
const PLAIN: usize = 9 + 1 + TEXT + PARENT + 3;

/// Writes the heads of plain objects: active, with a short name.
///
/// It keeps the text of the last name. Objects are often spawned in a row, as `Orc1`, `Orc2` and so on, so the next
/// text is often made by adding 1 to the digits.
struct PlainHead {
    name: Option<Name>,
    text: [u8; TEXT],
    /// The offsets in the text at which the number begins and ends.
    base: usize,
    end: usize,
    /// False if the name is too long for this path.
    fits: bool,
}

impl Default for PlainHead {
    fn default() -> Self {
        Self { name: None, text: [0; TEXT], base: 0, end: 0, fits: true }
    }
}

impl PlainHead {
    /// Sets the name of the next object. Returns false if it is too long for this path.
    #[inline]
    fn set_name(&mut self, name: Option<Name>, names: &Names) -> bool {
        if name != self.name {
            let follows = self.name.zip(name).is_some_and(|(last, name)| name.follows(last));
            if !(follows && self.count_up()) {
                self.format_name(name, names);
            }
            self.name = name;
        }
        self.fits
    }

    /// Adds 1 to the digits in place. Returns false if the number needs another digit.
    #[inline]
    fn count_up(&mut self) -> bool {
        let Some(digits) = self.text.get_mut(self.base..self.end) else { return false };
        for digit in digits.iter_mut().rev() {
            if *digit < b'9' {
                *digit += 1;
                return true;
            }
            *digit = b'0';
        }
        false
    }

    /// Formats a name from its base and number. It is not inlined, so that the common path stays small.
    #[inline(never)]
    fn format_name(&mut self, name: Option<Name>, names: &Names) {
        let (base, number) = name.map_or(("", 0), |name| names.parts(name));
        let (mut digits, mut at, mut rest) = ([0; DIGITS], DIGITS, number);
        while rest > 0 {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        let digits = &digits[at..];
        self.fits = base.len() <= SHORT_BASE;
        (self.base, self.end) = (0, 0);
        if self.fits {
            (self.base, self.end) = (base.len(), base.len() + digits.len());
            self.text[..self.base].copy_from_slice(base.as_bytes());
            self.text[self.base..self.end].copy_from_slice(digits);
        }
    }

    /// Writes the head of the object with the name that was set, and returns its length. `counts` are the number of
    /// components that wait to be started, and the number of all components. Bytes of `out` after the head change, too.
    #[inline]
    fn store(
        &self,
        (id, parent): (u64, Option<&StoredParent>),
        counts: [u8; 2],
        out: &mut [u8; PLAIN],
    ) -> usize {
        let at = count::store(id, out) + 1;
        out[at - 1] = u8::try_from(self.end).unwrap_or(u8::MAX);
        // The whole array is copied: a copy of a constant length is a few instructions, and the next write overwrites
        // the bytes after the name.
        put(out, at, self.text);
        let at = at + self.end;
        let Some(parent) = parent else {
            // No parent, and active.
            put(out, at, [0, 0, counts[0], counts[1]]);
            return at + 4;
        };
        out[at] = 1;
        let at = at + 1 + count::store(parent.object, &mut out[at + 1..]);
        let at = at + count::store(parent.index.into(), &mut out[at..]);
        put(out, at, [0, counts[0], counts[1]]);
        at + 3
    }
}

/// Puts an array into place. A `copy_from_slice` is a call where another codegen unit has it: heads took twice the time.
#[inline]
fn put<const N: usize>(out: &mut [u8; PLAIN], at: usize, bytes: [u8; N]) {
    if let Some(place) = out.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = bytes;
    }
}
