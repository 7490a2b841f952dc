//! Decoding of a world from a save, directly into its columns.

use std::any::{Any, TypeId};

use crate::codec::class_holder::HolderAccess;
use crate::codec::pages::PageEntry;
use crate::codec::{
    AsTrait, BoxOf, Decoder, Encoder, Fail, Generic, Layout, NoLinks, Persist, Phase, Pointee,
    Prototypes, Stop, TraitObject as _, TypeSet, Visitor, count,
};
use crate::env::{Env, shared};
use crate::format::unpacked;
use crate::graph::{Loader, Registry};
use crate::reflect::Kind;
use crate::sorting::sort_by;
use crate::types::{Remap, decode_text_bytes};
use crate::world::column::Column;
use crate::world::component::{AnyComponent, charge_pages};
use crate::world::resources::{AnyResource, UnknownComponent, UnknownResource};
use crate::world::stored::{
    EncodeScope, ObjectSelection, StoredObject, StoredPage, StoredPageEntry, StoredParent,
    StoredWorld, encode_objects,
};
use crate::world::{Activity, Shape};
use crate::world::{LAST_ID, Location, Object, UnknownEntry, World, visit};
use crate::{Error, ErrorKind, Limits, LoadOptions, ObjectId, Result};

struct WorldReader<'w> {
    world: &'w mut World,
    /// The column of each class number that was decoded so far.
    by_number: Vec<Option<usize>>,
    /// The previous object.
    last: Option<ObjectId>,
    /// How many objects are read, of how many.
    done: usize,
    all: usize,
    /// The columns of the current object's components so far.
    columns: Vec<usize>,
    /// The number of these components that have been started.
    started: u16,
    /// The shape of the previous object.
    shape: Shape,
    /// Objects that are not active.
    held: Vec<ObjectId>,
    /// Children that could not be appended to the list of their parent when they were read.
    unplaced: Vec<LoadedChild>,
}

/// An object with its parent, and its index among the children of the parent.
struct LoadedChild {
    child: ObjectId,
    parent: ObjectId,
    index: u32,
}

impl WorldReader<'_> {
    fn enter(&mut self, column: usize, is_started: bool) {
        self.columns.push(column);
        self.started += u16::from(is_started);
    }

    fn decode_object(&mut self, input: &mut Decoder<'_>) -> Result<(), Fail> {
        let stored = count::decode(input)?;
        let id = remapped(stored, input)?;
        let name = decode_text_bytes(input)?;
        let parent = match input.rest() {
            [0, ..] => input.take(1).map(|_| None)?,
            _ => input.value::<Option<StoredParent>>()?,
        };
        let activity = input.value::<Activity>()?;
        let waiting = count::decode(input)?;
        let waiting = u32::try_from(waiting).map_err(|_| Fail::Value)? as usize;
        if id.is_dead() || stored > self.world.last_id {
            return Err(input.refuse(wrong(format!("object {id} has an id that was never given"))));
        }
        // References are connected later in the order of the ids, so that must be the order of the save.
        if let Some(last) = self.last.replace(id)
            && last >= id
        {
            return Err(
                input.refuse(wrong(format!("object {id} stands after {last}, and ids ascend")))
            );
        }
        let name = match name {
            [] => None,
            name => Some(self.world.names.hold_bytes(name).map_err(|_| Fail::Text)?),
        };
        if let Some(name) = name
            && self.world.names.assign(name, id).is_some()
        {
            let name = self.world.names.name(name);
            return Err(input.refuse(wrong(format!("two objects have the name `{name}`"))));
        }
        let mut object = Object::new(name);
        object.activity = activity;
        if let Some(StoredParent { object: parent, index }) = parent {
            let parent = remapped(parent, input)?;
            object.parent = Some(parent);
            self.append_child(LoadedChild { child: id, parent, index });
        }
        let location = self.world.enter(id, object);
        let head = input.take(1)?;
        let count = input.elements::<Box<dyn AnyComponent>>(head)?;
        let started = count.saturating_sub(waiting);
        self.columns.clear();
        self.started = 0;
        input.nested_in::<Box<dyn AnyComponent>, _>(|input| {
            for at in 0..count {
                self.decode_component(id, location, at < started, input)?;
            }
            Ok(())
        })?;
        if let Some(object) = self.world.objects.get_mut(location) {
            // Neighbouring objects mostly have the same shape.
            if *self.world.shapes.columns(self.shape) != *self.columns {
                self.shape = self.world.shapes.of(&self.columns);
            }
            object.shape = self.shape;
            object.started = self.started;
        }
        if activity != Activity::Active {
            self.held.push(id);
        }
        if count > started {
            self.world.deferred.waiting.push(id);
        }
        if activity == Activity::Expired {
            self.world.deferred.expired.push_back(id);
        }
        Ok(())
    }

    /// Appends a child to the list of its parent. This is done later if the parent or earlier siblings were not read
    /// yet.
    fn append_child(&mut self, loaded: LoadedChild) {
        let parent = self.world.object_mut(loaded.parent);
        let children = parent.map(|parent| parent.children_mut().list_mut());
        match children.filter(|children| children.len() == loaded.index as usize) {
            Some(children) => children.push(loaded.child),
            None => self.unplaced.push(loaded),
        }
    }

    fn decode_component(
        &mut self,
        id: ObjectId,
        location: Location,
        is_started: bool,
        input: &mut Decoder<'_>,
    ) -> Result<(), Fail> {
        let start = input.rest();
        // The number of the component's class in this save.
        let number = usize::try_from(input.class_number()?).map_err(|_| Fail::Value)?;
        if let Some(column) = self.by_number.get(number).copied().flatten() {
            self.enter(column, is_started);
            return match self.world.columns[column].column.decode(location, input)? {
                true => Ok(()),
                false => Err(input.refuse(self.duplicate_component(id, column))),
            };
        }
        input.go_back(start);
        let component = <AsTrait as BoxOf<dyn AnyComponent>>::decode(input)?;
        let of = (*component).__component_type();
        if of.id == TypeId::of::<UnknownComponent>() {
            let content = (component as Box<dyn Any>).downcast::<UnknownComponent>();
            let content = content.map_err(|_| Fail::Value)?.content;
            let Some(object) = self.world.objects.get_mut(location) else {
                return Err(Fail::Value);
            };
            let preceding = self.columns.len();
            object.unknown_list().push(UnknownEntry { preceding, is_started, content });
            self.world.has_unknown = true;
            return Ok(());
        }
        let column = match self.world.by_type.get(&of.id) {
            Some(column) => *column,
            None => self.world.new_column(of),
        };
        // Class numbers are consecutive, so a large one is from a malicious save. It must not allocate a large table.
        let by_number = &mut self.by_number;
        if number < 1 << 16 {
            by_number.resize(by_number.len().max(number + 1), None);
            by_number[number] = Some(column);
        }
        let entry = &self.world.columns[column];
        if entry.column.get(location).is_some() {
            return Err(input.refuse(self.duplicate_component(id, column)));
        }
        charge_pages(entry.column.pages(), location, input)?;
        self.enter(column, is_started);
        self.world.put(column, id, component);
        Ok(())
    }

    /// Reads that many objects, and reports the progress.
    fn decode_objects(&mut self, count: usize, input: &mut Decoder<'_>) -> Result<(), Fail> {
        input.nested_in::<StoredObject, _>(|input| {
            for start in (0..count).step_by(REPORTED) {
                input.env().report(self.done + start, self.all);
                (start..count.min(start + REPORTED)).try_for_each(|_| self.decode_object(input))?;
            }
            self.done += count;
            // A world in pages has no objects before them. Of none, all would be done: a bar jumped to its end and back.
            if self.all > 0 {
                input.env().report(self.done, self.all);
            }
            Ok(())
        })
    }

    /// Reads a page. Its classes were read before.
    fn decode_page(&mut self, entry: &PageEntry, input: &mut Decoder<'_>) -> Result<(), Fail> {
        let classes = input.count()?;
        input.take(classes.checked_mul(8).ok_or(Fail::Count)?)?;
        let head = input.take(1)?;
        let count = input.elements::<StoredObject>(head)?;
        let first = match input.rest() {
            [] => 0,
            rest => count::decode(&mut Decoder::new(rest, input.env(), &mut NoLinks::default()))?,
        };
        if count == 0 || count != entry.objects as usize || first != entry.first {
            let of_index = (entry.objects, entry.first);
            return Err(input.refuse(wrong(format!(
                "the page has {count} objects from {first} on, and the index says {} from {} on",
                of_index.0, of_index.1
            ))));
        }
        self.decode_objects(count, input)
    }

    #[cold]
    fn duplicate_component(&self, id: ObjectId, column: usize) -> Error {
        let name = (self.world.columns[column].of.name)();
        wrong(format!("object {id} has two components {name}"))
    }
}

/// The progress of a load is reported after each group of this many objects.
const REPORTED: usize = 1024;

fn decode(world: &mut World, input: &mut Decoder<'_>) -> Result<(), Fail> {
    world.last_id = input.value::<u64>()?;
    // No program can have assigned so large an id. The limit also ensures that `spawn` does not run out of ids later.
    if world.last_id > LAST_ID / 2 {
        let message = format!("the world has given {} ids, more than there are", world.last_id);
        return Err(input.refuse(wrong(message)));
    }
    let head = input.take(1)?;
    let count = input.elements::<StoredObject>(head)?;
    let mut reading = WorldReader {
        world,
        by_number: Vec::new(),
        last: None,
        done: 0,
        all: count,
        columns: Vec::new(),
        started: 0,
        shape: Shape::default(),
        held: Vec::new(),
        unplaced: Vec::new(),
    };
    reading.decode_objects(count, input)?;
    let pages = input.value::<Vec<StoredPageEntry>>()?;
    let pages: Vec<PageEntry> = pages.into_iter().map(PageEntry::from).collect();
    if count > 0 && !pages.is_empty() {
        let message = format!("the world has {count} of its objects beside its pages");
        return Err(input.refuse(wrong(message)));
    }
    let objects = pages.iter().map(|entry| entry.objects as usize);
    reading.all = objects.fold(count, usize::saturating_add);
    for entry in &pages {
        input.page(entry, &mut |input| reading.decode_page(entry, input))?;
    }
    let WorldReader { unplaced, held, .. } = reading;
    if let Err(error) = place_children(world, &unplaced) {
        return Err(input.refuse(error));
    }
    held.into_iter().for_each(|object| world.hold(object));
    let head = input.take(1)?;
    let count = input.elements::<Box<dyn AnyResource>>(head)?;
    let start = input.links().pending();
    let mut places = Vec::new();
    input.nested_in::<Box<dyn AnyResource>, _>(|input| {
        for _ in 0..count {
            let first = input.links().pending();
            let value = <AsTrait as BoxOf<dyn AnyResource>>::decode(input)?;
            match insert_loaded(world, value) {
                Ok(name) => places.push((name, first..input.links().pending())),
                Err(error) => return Err(input.refuse(error)),
            }
        }
        Ok(())
    })?;
    // References are visited in the order in which the resources are now: by name, and then the unknown ones. It
    // differs from the order of the save if a class was renamed, or is registered again.
    sort_by(&mut places, |(a, _), (b, _)| (a.is_none(), a).cmp(&(b.is_none(), b)));
    let ranges: Vec<_> = places.into_iter().map(|(_, range)| range).collect();
    input.links().reorder(start, &ranges);
    Ok(())
}

/// Inserts a loaded resource; returns its class name, or `None` if the class is unknown.
fn insert_loaded(world: &mut World, value: Box<dyn AnyResource>) -> Result<Option<String>> {
    if (&*value as &dyn Any).is::<UnknownResource>() {
        if let Ok(unknown) = (value as Box<dyn Any>).downcast::<UnknownResource>() {
            world.resources.unknown.push(unknown.content);
        }
        return Ok(None);
    }
    (*value).__register(&mut world.registry)?;
    let name = (*value).portable().class_name();
    match world.resources.insert(value) {
        None => Ok(Some(name)),
        Some(_) => Err(error!(
            ErrorKind::InvalidValue,
            "the world has resource {name} twice; the save is damaged or malicious"
        )),
    }
}

/// Removes the objects of a world that the program has never seen, so that dropping it runs no `on_release` methods.
pub(super) fn forget(world: &mut World) {
    world.objects = Column::default();
}

/// Puts the remaining children into the lists of their parents, and checks that the objects form a tree.
fn place_children(world: &mut World, unplaced: &[LoadedChild]) -> Result<()> {
    // Each list gets its length first. So each index must be that of a free place, and no place is left free.
    for LoadedChild { child, parent, .. } in unplaced {
        let found = world.object_mut(*parent).ok_or_else(|| {
            wrong(format!("object {child} has the parent {parent}, which is not there"))
        })?;
        found.children_mut().list_mut().push(ObjectId::NULL);
    }
    for LoadedChild { child, parent, index } in unplaced {
        let Some(found) = world.object_mut(*parent) else { continue };
        let children = found.children_mut().list_mut();
        let count = children.len();
        match children.get_mut(*index as usize) {
            Some(place) if *place == ObjectId::NULL => *place = *child,
            Some(other) => {
                return Err(wrong(format!(
                    "objects {other} and {child} are both child {index} of object {parent}"
                )));
            }
            None => {
                return Err(wrong(format!(
                    "object {child} is child {index} of object {parent}, whose children are numbered from 0 to {}",
                    count - 1
                )));
            }
        }
    }
    // In a cycle, one of the objects stands before its parent.
    if unplaced.iter().all(|loaded| loaded.parent < loaded.child) {
        return Ok(());
    }
    // Each object has at most one parent, so an object that no root reaches is in a cycle or below one.
    let mut rest: Vec<ObjectId> = world.roots().collect();
    let mut visited = 0;
    while let Some(object) = rest.pop() {
        visited += 1;
        rest.extend(world.children(object));
    }
    let count = world.objects().len();
    if visited < count {
        return Err(wrong(format!("{} objects are below each other", count - visited)));
    }
    Ok(())
}

/// Decodes the id of an object as a handle, so that the remap of the load can replace it.
fn remapped(stored: u64, input: &mut Decoder<'_>) -> Result<ObjectId, Fail> {
    let mut head = [1; ObjectId::HEAD];
    head[1..].copy_from_slice(&stored.to_le_bytes());
    ObjectId::__decode(&head, input)
}

#[cold]
fn wrong(mut message: String) -> Error {
    message.push_str("; the save is damaged or malicious");
    Error::new(ErrorKind::InvalidValue, message)
}

/// Decodes a world, which does not have its classes registered.
fn decode_part(input: &mut Decoder<'_>) -> Result<World, Fail> {
    let mut world = World::new();
    match decode(&mut world, input) {
        Ok(()) => Ok(world),
        Err(fail) => {
            forget(&mut world);
            Err(fail)
        }
    }
}

/// Loads a save of some objects as a world of their own, to be taken out of it. It has no classes registered.
pub(super) fn load_part(
    save: &[u8],
    registry: &mut Registry,
    options: (&Limits, LoadOptions),
    remap: &mut Remap<'_>,
) -> Result<Box<World>> {
    let class = registry.register_value::<World>()?;
    registry.register_value::<StoredPage>()?;
    let (limits, options) = options;
    let registry = &*registry;
    let env = Env::new(limits, shared(&registry.context));
    let found = unpacked(save, limits, |save| {
        let loader = Loader::new(registry, &env, options, save, Some(remap), Some(class))?;
        loader.without_unknown().load_value(class, |input| decode_part(input).map(Box::new))
    });
    found.map(|(world, ..)| world)
}

#[diagnostic::do_not_recommend]
impl Persist for World {
    const __LAYOUT: Layout = Layout {
        min: 11,
        class_holder: Some(HolderAccess::new::<Self>()),
        ..Layout::new::<Self>()
    };

    fn persist_kind() -> Kind {
        StoredWorld::persist_kind()
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Self::new())
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_objects(self, ObjectSelection::All, EncodeScope::World, out)
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        let mut world = decode_part(input)?;
        let Self { columns, registry, .. } = &mut world;
        if let Err(error) = columns.iter().try_for_each(|entry| (entry.of.register)(registry)) {
            forget(&mut world);
            return Err(input.refuse(error));
        }
        Ok(world)
    }

    fn __reach(types: &mut TypeSet) {
        StoredWorld::__reach(types);
        StoredPage::__reach(types);
    }

    fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        let result = visit::visit(self, visitor);
        if result.is_err() && visitor.phase() != Phase::BeforeSave {
            forget(self);
        }
        result
    }

    fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        if visitor.phase() == Phase::Pages {
            return visitor.pages(self);
        }
        visit::visit_shared(self, visitor)
    }
}

#[diagnostic::do_not_recommend]
impl Pointee for World {
    type As = Self;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Component, Saves};

    #[derive(crate::Persist)]
    #[persist(crate = crate)]
    struct Health(u32);

    #[derive(crate::Persist)]
    #[persist(crate = crate)]
    struct Target {
        whom: Option<ObjectId>,
        name: String,
    }

    impl Component for Health {}
    impl Component for Target {}

    /// Creates objects of several shapes, with children, without names, and with names of all lengths.
    fn filled(objects: usize) -> Result<World> {
        let mut world = World::new();
        let long = "x".repeat(60);
        let names = ["Orc", "Orc", "Orc", "", "Elf9", "Orc", &long, "Orc97"];
        let ids: Vec<ObjectId> = (0..objects).map(|at| world.spawn(names[at / 50 % 8])).collect();
        for (at, id) in ids.iter().enumerate().filter(|(at, _)| at % 3 > 0 || at / 100 % 2 > 0) {
            world.attach(*id, Health(5))?;
            if at % 40 == 1 {
                world.set_parent(*id, Some(ids[at - 1]))?;
            }
            if at / 200 % 2 == 0 {
                world.attach(*id, Target { whom: Some(ids[0]), name: "x".repeat(at % 300) })?;
            }
        }
        world.update(0.1);
        world.attach(ids[3], Target { whom: None, name: String::new() })?;
        world.set_activity(ids[7], Activity::Paused)?;
        world.remove(ids[200]);
        world.insert_resource(Health(1))?;
        Ok(world)
    }

    #[test]
    fn a_world_is_written_and_read_as_its_derived_form() -> Result<()> {
        let saves = Saves::new();
        saves.register_component::<Health>()?;
        saves.register_component::<Target>()?;
        saves.register_resource::<Health>()?;
        // A larger one has pages, which the derived form has not.
        for objects in [300, 500] {
            let by_hand = saves.to_vec(&filled(objects)?)?;
            let derived = saves.from_slice::<StoredWorld>(&by_hand)?;
            let save = saves.to_vec(&*derived)?;
            assert!(save == by_hand, "{} bytes and {}", save.len(), by_hand.len());
            let again = saves.from_slice::<World>(&save)?;
            assert!(saves.to_vec(&*again)? == save);
        }
        Ok(())
    }
}
