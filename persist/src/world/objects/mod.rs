//! The private operations of a world: adding, connecting and removing objects and components.

mod bundle;
#[cfg(feature = "history")]
mod detached;
#[cfg(feature = "history")]
mod edits;
mod fields;
mod load;
#[cfg(feature = "history")]
mod parked;
mod phases;
mod prefab;
mod public;
mod saving;
mod snapshot;

use std::any::TypeId;
use std::cell::OnceCell;
use std::sync::Arc;

use hashbrown::HashMap;

use super::column::{Column, Page};
use super::component::{AnyComponent, Component};
use super::names::{Name, Names};
use super::resources::UnknownComponent;
use super::touched::Touch;
use super::{
    Activity, ColumnEntry, ComponentType, DeferredChange, FramePhase, LAST_ID, Location, Object,
    ParkedObject, Shape, Shapes, World,
};
use crate::codec::Caster;
use crate::env::SharedContext;
use crate::graph::Registry;
use crate::{Error, ErrorKind, ObjectId, Result, names};

pub use bundle::Bundle;
#[cfg(feature = "history")]
pub(crate) use detached::Detached;
pub use prefab::{ExternalIds, InstantiatedObject, Prefab};
pub use snapshot::Snapshot;
pub(super) use snapshot::SnapshotState;
#[cfg(feature = "history")]
pub use {
    detached::{ComponentPlace, WorldChange},
    parked::{Fragment, TreePosition},
};

impl World {
    /// The class of a world in saves.
    #[cfg(feature = "history")]
    #[doc(hidden)]
    pub const CLASS: &str = "persist.World";

    /// The names of the traits of components and resources in saves.
    #[doc(hidden)]
    pub const TRAITS: [&str; 2] = ["persist.Component", "persist.Resource"];
}

/// These methods take and restore snapshots.
impl World {
    /// Takes a snapshot: the state of the world in memory, for rewind, rollback, and playing in an editor.
    ///
    /// It has what a save has, also the fields and components that the program does not know. While the last snapshot of
    /// the world exists, the new one shares its memory where nothing was handed out mutably since. So a snapshot after
    /// a change of few neighbouring objects takes a fraction of the time and memory of the first one.
    ///
    /// `before_save` functions do not run.
    ///
    /// ```
    /// use persist::{Persist, World};
    ///
    /// #[derive(Persist)]
    /// #[persist(component)]
    /// struct Health(u32);
    ///
    /// let mut world = World::new();
    /// let rat = world.spawn_with("Rat", (Health(3),))?;
    /// let before = world.snapshot()?;
    /// world.remove(rat);
    /// world.restore(&before)?;
    /// assert_eq!(world.get::<Health>(rat).map(|health| health.0), Some(3));
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::Unsupported`] if a component or resource holds shared pointers, a world, or a stand-in for a value
    ///   of a class that the program lacks;
    /// - [`ErrorKind::Borrowed`] while a method of a component is running;
    /// - the errors of a save if a value cannot be encoded.
    pub fn snapshot(&self) -> Result<Snapshot> {
        Snapshot::take_of(self)
    }

    /// Returns to the state of a snapshot of this world: its objects with their ids, names, order, parents and
    /// activity, its components and resources.
    ///
    /// Only blocks of objects that may differ are decoded. A component or resource that is decoded keeps its fields
    /// with `skip` if the world has it. If it comes back, they get their defaults. Then its `after_load` functions run.
    /// No method of a component runs: those that leave are dropped without `on_release`, and those that come back are
    /// not started again.
    ///
    /// The next object gets the id that it would have got after the snapshot, so ids of objects that were spawned since
    /// are given again. Removed objects that an undo could bring back are dropped if the snapshot has them, or if they
    /// were spawned since. A history knows nothing of a restore: clear it, unless it has the entries that it had at the
    /// snapshot.
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::WrongTarget`] if the snapshot is one of another world;
    /// - [`ErrorKind::Borrowed`] while a method of a component is running;
    /// - the errors of a load if a value cannot be decoded, or if its `after_load` function refuses. After errors of
    ///   components and resources that come back, the world is unchanged. After others, it has the objects of the
    ///   snapshot, and all values that could be restored.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<()> {
        snapshot.restore_to(self)
    }
}

/// These methods add, connect and remove objects.
impl World {
    fn new_id(&mut self) -> ObjectId {
        self.last_id += 1;
        assert!(self.last_id < LAST_ID, "the ids of a world are used up");
        ObjectId::new(self.last_id).expect("it is more than 0")
    }

    pub(super) fn object(&self, id: ObjectId) -> Option<&Object> {
        self.objects.get(self.directory.location(id)?)
    }

    fn object_mut(&mut self, id: ObjectId) -> Option<&mut Object> {
        self.objects.get_mut(self.directory.location(id)?)
    }

    /// Notes that an object has changed, for the reports of a history.
    #[cfg_attr(not(feature = "history"), expect(clippy::unused_self, reason = "nobody asks"))]
    fn touch(&mut self, object: ObjectId, touch: Touch) {
        #[cfg(feature = "history")]
        self.touched.note((object, touch), self.count);
        #[cfg(not(feature = "history"))]
        let _ = (object, touch);
    }

    /// Returns the object, or an error if it is not in the world.
    fn check(&self, id: ObjectId) -> Result<&Object> {
        self.object(id).ok_or_else(|| missing(id))
    }

    /// Returns an error unless the object is in the world, or a deferred change adds it.
    fn check_or_expect(&self, id: ObjectId) -> Result<()> {
        if self.deferred.is_dropped {
            bail!(ErrorKind::NotFound, "the world is being dropped");
        }
        // The object was mostly spawned just before, so the search starts at the end.
        let is_expected = || self.deferred.commands.iter().rev().any(|command| command.adds(id));
        if self.contains(id) || is_expected() { Ok(()) } else { Err(missing(id)) }
    }

    fn spawn_now(&mut self, id: ObjectId, name: &str) -> Location {
        let name = self.name_newcomer(id, name);
        self.enter(id, Object::new(name))
    }

    /// Assigns a name to a new object: the requested name, or that name with the lowest free number. An empty name is
    /// no name.
    fn name_newcomer(&mut self, id: ObjectId, name: &str) -> Option<Name> {
        if name.is_empty() {
            return None;
        }
        let name = self.names.hold_free(name);
        self.names.assign(name, id);
        Some(name)
    }

    /// Changes the name of an object. Its old name is free while `hold` chooses the new one.
    fn set_name(&mut self, object: ObjectId, hold: impl FnOnce(&mut Names) -> Option<Name>) {
        let old = self.object(object).and_then(|found| found.name);
        old.into_iter().for_each(|old| self.names.leave(old));
        let new = hold(&mut self.names);
        old.into_iter().for_each(|old| self.names.drop(old));
        if let Some(new) = new {
            self.names.assign(new, object);
        }
        if let Some(found) = self.object_mut(object) {
            found.set_name(new);
        }
        self.touch(object, Touch::Renamed);
    }

    fn enter(&mut self, id: ObjectId, object: Object) -> Location {
        self.touch(id, Touch::Entered);
        let (location, is_new) = self.directory.enter(id);
        if is_new {
            self.objects.insert_page(location.page);
            self.columns.iter_mut().for_each(|entry| entry.column.insert_page(location.page));
        }
        if self.objects.insert(location, object).is_none() {
            self.count += 1;
        }
        location
    }

    /// Adds an object with its components. Its name must be assigned already.
    fn put_in(&mut self, parked: ParkedObject) {
        let ParkedObject { id, object, components } = parked;
        if object.shape != Default::default() || object.activity == Activity::Expired {
            self.deferred.waiting.push(id);
        }
        if object.activity == Activity::Expired {
            self.deferred.expired.push_back(id);
        }
        self.enter(id, object);
        for (column, component) in components {
            self.put(column, id, component);
        }
    }

    /// Adds the objects of a prefab under free names, with no component started.
    fn place_now(&mut self, mut part: Box<World>) {
        let (columns, shapes) = self.adopt_columns(&part);
        self.has_unknown |= part.has_unknown;
        for (location, mut object) in part.objects.drain() {
            let Some(id) = part.directory.id(location.page, location.bit) else { continue };
            object.shape = shapes[Shapes::index(object.shape)];
            object.started = 0;
            object.unknown_mut().iter_mut().for_each(|unknown| unknown.is_started = false);
            if let Some(requested) = object.name {
                let name = self.names.hold_for_copy(&part.names.text(requested));
                self.names.assign(name, id);
                object.set_name(Some(name));
            }
            self.put_in(ParkedObject { id, object, components: Vec::new() });
        }
        for (entry, column) in part.columns.iter_mut().zip(columns) {
            let places = (&part.directory, &self.directory);
            self.columns[column].column.append(&mut *entry.column, places);
        }
    }

    /// Adds a copy of the objects of a prefab under free names, each after its requested name.
    fn place_copies(&mut self, objects: Vec<(ParkedObject, Arc<str>)>) {
        for (mut copy, requested) in objects {
            if !requested.is_empty() {
                let name = self.names.hold_for_copy(&requested);
                self.names.assign(name, copy.id);
                copy.object.set_name(Some(name));
            }
            self.put_in(copy);
        }
    }

    /// Takes an object out of its column, without its components.
    fn take_object(&mut self, location: Location) -> Option<Object> {
        let object = self.objects.remove(location)?;
        self.count -= 1;
        self.emptied += usize::from(self.objects.page(location.page).is_some_and(Page::is_empty));
        Some(object)
    }

    /// Takes an object out of the world, with its components.
    fn take_whole(&mut self, id: ObjectId) -> Option<ParkedObject> {
        let location = self.directory.location(id)?;
        let mut components = Vec::new();
        for column in &*self.shape_of(id) {
            let component = self.columns[*column].column.remove(location);
            components.extend(component.map(|component| (*column, component)));
        }
        Some(ParkedObject { id, object: self.take_object(location)?, components })
    }

    fn remove_now(&mut self, object: ObjectId) {
        self.discard(object);
        let subtree = self.subtree(object);
        // Descendants are removed first, so that the remaining objects still form a tree if a component panics.
        for object in subtree.into_iter().rev() {
            for column in self.shape_of(object).iter().copied() {
                self.detach_now(object, column);
            }
            self.unlink(object);
            self.leave(object);
        }
        self.compact();
    }

    /// Removes an object that has no components.
    fn leave(&mut self, object: ObjectId) {
        let Some(location) = self.directory.location(object) else { return };
        self.touch(object, Touch::Left);
        if let Some(name) = self.take_object(location).and_then(|found| found.name) {
            self.names.leave(name);
            self.names.drop(name);
        }
    }

    /// Releases a parked object and its descendants, descendants first. If a component panics, the remaining ones stay
    /// parked.
    fn discard(&mut self, object: ObjectId) {
        while let Some(parked) = self.parking.parked.get_mut(&object) {
            let Some(ParkedObject { id, object: last, components }) = parked.objects.last_mut()
            else {
                self.parking.parked.remove(&object);
                return;
            };
            if components.is_empty() {
                if let Some(name) = last.name {
                    if parked.keeps_names {
                        self.names.unreserve(name);
                    }
                    self.names.drop(name);
                }
                self.parking.topmost.remove(id);
                parked.objects.pop();
                continue;
            }
            let id = *id;
            let (column, component) = components.remove(0);
            last.lose(column, &mut self.shapes);
            self.release(id, column, component);
        }
    }

    /// Drops the pages without objects, once they are more than half of all pages.
    fn compact(&mut self) {
        if self.emptied < 16 || self.emptied * 2 < self.directory.len() {
            return;
        }
        let keep: Vec<bool> = (0..self.directory.len())
            .map(|page| self.objects.page(page).is_some_and(|page| !page.is_empty()))
            .collect();
        // `emptied` is an upper bound: some pages may have been filled again.
        self.emptied = keep.iter().filter(|keep| !**keep).count();
        if self.emptied * 2 < keep.len() {
            return;
        }
        self.emptied = 0;
        self.directory.retain_pages(&keep);
        self.objects.retain_pages(&keep);
        self.columns.iter_mut().for_each(|entry| entry.column.retain_pages(&keep));
    }

    fn set_parent_now(
        &mut self,
        object: ObjectId,
        parent: Option<ObjectId>,
        index: usize,
    ) -> Result<()> {
        self.check(object)?;
        parent.map_or(Ok(()), |parent| self.check(parent).map(drop))?;
        self.check_above(object, parent)?;
        self.unlink(object);
        self.touch(object, Touch::Moved);
        if let Some(found) = self.object_mut(object) {
            found.parent = parent;
        }
        if let Some(above) = parent.and_then(|parent| self.object_mut(parent)) {
            above.children_mut().insert(index, object);
        }
        self.hold(object);
        Ok(())
    }

    /// Returns an error if the new parent is the object itself or a descendant.
    fn check_above(&self, object: ObjectId, parent: Option<ObjectId>) -> Result<()> {
        // An object without children has no descendants. This keeps it linear to build a chain from the top, which
        // would otherwise be walked up for each new object.
        let is_leaf = self.object(object).is_none_or(|found| !found.has_children());
        let mut above = parent.filter(|parent| !is_leaf || *parent == object);
        while let Some(found) = above {
            if found == object {
                let message = match parent == Some(object) {
                    true => String::from("an object cannot be its own parent"),
                    false => format!("the new parent {found} is below the object itself"),
                };
                return Err(Error::new(ErrorKind::Circular, message).in_object(object.get()));
            }
            above = self.parent(found);
        }
        Ok(())
    }

    fn unlink(&mut self, object: ObjectId) {
        let parent = self.parent(object);
        if let Some(above) = parent.and_then(|parent| self.object_mut(parent)) {
            above.remove_child(object);
        }
    }

    /// Updates whether an object and its descendants are held, after its activity or parent has changed.
    fn hold(&mut self, object: ObjectId) {
        let is_held =
            |world: &Self, object| world.object(object).is_some_and(|found| found.is_held);
        let above = self.parent(object);
        let mut rest = vec![(object, above.is_some_and(|above| is_held(self, above)))];
        while let Some((object, above)) = rest.pop() {
            let Some(found) = self.object_mut(object) else { continue };
            let held = above || found.activity != Activity::Active;
            if found.is_held != held {
                found.is_held = held;
                rest.extend(found.children().iter().map(|child| (*child, held)));
                if !held {
                    self.deferred.waiting.push(object);
                }
            }
        }
    }
}

/// These methods register component types, and attach and detach components.
impl World {
    /// Registers a component class in a registry that worlds are loaded with.
    fn register_component_in<T: Component>(registry: &mut Registry) -> Result<()> {
        registry.register_as::<T, dyn AnyComponent>()
    }

    /// Registers the classes of the world's components and resources.
    fn register_classes(&self, registry: &mut Registry) -> Result<()> {
        let used = self.columns.iter().filter(|entry| entry.column.pages() > 0);
        used.into_iter().try_for_each(|entry| (entry.of.register)(registry))?;
        let mut resources = self.resources.values.iter();
        resources.try_for_each(|(.., value)| (**value).__register(registry))
    }

    /// Returns true if a registry has all classes of the world. It is false for a world with resources, which are
    /// registered each time: the registry cannot be asked for them, since only the value knows its type.
    fn has_classes_in(&self, registry: &Registry) -> bool {
        let mut used = self.columns.iter().filter(|entry| entry.column.pages() > 0);
        let of = TypeId::of::<dyn AnyComponent>();
        self.resources.values.is_empty()
            && used.all(|entry| registry.is_registered_as(entry.of.id, of))
    }

    /// Takes over the classes of a registry, and the context, after a load.
    fn know(&mut self, registry: &Registry, context: Option<SharedContext>) {
        self.registry = registry.clone();
        self.registry.context = context.or_else(|| registry.context.clone());
        for caster in registry.implementors().casters(TypeId::of::<dyn AnyComponent>()) {
            let caster = caster.downcast_ref::<Caster<dyn AnyComponent>>();
            // The type of a class is found by an empty value. A class without one cannot be attached by name either.
            if let Some(Ok(empty)) = caster.map(|caster| caster.empty(&registry.prototypes())) {
                let of = (*empty).__component_type();
                if of.id != TypeId::of::<UnknownComponent>() {
                    self.new_column(of);
                }
            }
        }
    }

    /// Returns the index of the column of a type, which is registered if it is new.
    pub(crate) fn column_of<T: Component>(&mut self) -> Result<usize> {
        if let Some(column) = self.by_type.get(&TypeId::of::<T>()) {
            return Ok(*column);
        }
        Self::register_component_in::<T>(&mut self.registry)?;
        Ok(self.new_column(ComponentType::new::<T>()))
    }

    /// Returns the index of the column of the component class with this name.
    fn column_of_class(&self, class: &str) -> Result<usize> {
        self.by_class.get(class).copied().ok_or_else(|| {
            let known = self.by_class.keys().map(|known| &**known);
            let advice = match names::nearest(class, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => String::from(
                    "call `World::register_component` with it, or for a session `Saves::register_component`",
                ),
            };
            let message =
                format!("no component class `{class}` is registered in this world; {advice}");
            Error::new(ErrorKind::NotFound, message)
        })
    }

    /// Returns the index of the column of a registered type, which is added if there is none.
    fn new_column(&mut self, of: ComponentType) -> usize {
        *self.by_type.entry(of.id).or_insert_with(|| {
            let column = self.columns.len();
            let (new, is_frozen) = ((of.new_column)(), OnceCell::new());
            self.columns.push(ColumnEntry { column: new, of, hooks: u8::MAX, is_frozen });
            self.by_class.entry((of.name)()).or_insert(column);
            column
        })
    }

    fn column<T: Component>(&self) -> Option<&Column<T>> {
        let column = *self.by_type.get(&TypeId::of::<T>())?;
        self.columns[column].typed()
    }

    fn column_mut<T: Component>(&mut self) -> Option<&mut Column<T>> {
        let column = *self.by_type.get(&TypeId::of::<T>())?;
        self.columns[column].typed_mut()
    }

    /// Returns the columns of an object's components, in the order in which they were attached.
    fn shape_of(&self, object: ObjectId) -> Arc<[usize]> {
        self.object(object).map_or_else(Arc::default, |object| self.shapes.share(object.shape))
    }

    fn put(&mut self, column: usize, object: ObjectId, component: Box<dyn AnyComponent>) {
        if let Some(location) = self.directory.location(object) {
            self.columns[column].column.put(location, component);
        }
    }

    fn detach_column(&mut self, object: ObjectId, column: usize) -> bool {
        self.flush();
        // The shape includes a component whose method is running and which is out of its column.
        let has = self.shape_of(object).contains(&column);
        self.make(DeferredChange::Detach(object, column));
        has
    }

    /// Adds a column to the shape of an object; the caller then inserts the component.
    fn link(&mut self, object: ObjectId, column: usize) -> Option<Location> {
        let location = self.directory.location(object)?;
        let found = self.objects.get_mut(location)?;
        if !found.unknown().is_empty() {
            // A component of this class that was loaded as unknown, before the class was registered, is replaced.
            let name = (self.columns[column].of.name)();
            found
                .unknown_list()
                .retain(|unknown| !self.registry.is_called(&name, unknown.content.class()));
        }
        found.shape = self.shapes.with(found.shape, column);
        if self.deferred.waiting.last() != Some(&object) {
            self.deferred.waiting.push(object);
        }
        Some(location)
    }

    /// Detaches, releases and drops a component. Returns false if there is none.
    fn detach_now(&mut self, object: ObjectId, column: usize) -> bool {
        self.take_out(object, column)
            .map(|component| self.release(object, column, component))
            .is_some()
    }

    /// Takes a component out of its object.
    fn take_out(&mut self, object: ObjectId, column: usize) -> Option<Box<dyn AnyComponent>> {
        let location = self.directory.location(object)?;
        let component = self.columns.get_mut(column)?.column.remove(location)?;
        if let Some(found) = self.objects.get_mut(location) {
            found.lose(column, &mut self.shapes);
        }
        Some(component)
    }

    /// Runs `on_release` of a detached component, and drops it.
    fn release(&mut self, object: ObjectId, column: usize, component: Box<dyn AnyComponent>) {
        if self.columns[column].hooks & FramePhase::Release.bit() == 0 {
            return;
        }
        (self.columns[column].of.release)(self, column, object, component);
    }

    /// Returns the columns and shapes in this world that correspond to those of another world.
    fn adopt_columns(&mut self, part: &World) -> (Vec<usize>, Vec<Shape>) {
        let columns = part.columns.iter().map(|entry| self.new_column(entry.of));
        let columns: Vec<usize> = columns.collect();
        let in_this = |shape: &Arc<[usize]>| {
            let shape: Vec<usize> = shape.iter().map(|column| columns[*column]).collect();
            self.shapes.of(&shape)
        };
        let shapes = part.shapes.shapes.iter().map(in_this).collect();
        (columns, shapes)
    }

    /// Takes all objects out of another world, and converts their columns and names to those of this world.
    fn adopt_objects(&mut self, mut part: Box<World>) -> Vec<ParkedObject> {
        let (columns, shapes) = self.adopt_columns(&part);
        let ids: Vec<ObjectId> = part.objects().collect();
        let mut objects = Vec::with_capacity(ids.len());
        // Objects are taken from the end, so that no column has to move later values.
        for id in ids.into_iter().rev() {
            let Some(mut found) = part.take_whole(id) else { continue };
            found.components.iter_mut().for_each(|(column, _)| *column = columns[*column]);
            found.object.shape = shapes[Shapes::index(found.object.shape)];
            let name = found.object.name.map(|name| self.names.hold(&part.names.text(name)));
            found.object.set_name(name);
            objects.push(found);
        }
        objects.reverse();
        objects
    }
}

/// These methods spawn objects with the components of a bundle.
impl World {
    #[inline]
    fn bundle<B: Bundle>(&mut self) -> Result<usize> {
        match self.bundles.known.get(self.bundles.last) {
            Some(known) if known.of == TypeId::of::<B>() => Ok(self.bundles.last),
            _ => self.find_bundle(TypeId::of::<B>(), B::__columns),
        }
    }

    fn find_bundle(
        &mut self,
        of: TypeId,
        columns: fn(&mut World) -> Result<Vec<usize>>,
    ) -> Result<usize> {
        if let Some(at) = self.bundles.by_type.get(&of) {
            self.bundles.last = *at;
            return Ok(*at);
        }
        let columns = columns(self)?;
        for (at, column) in columns.iter().enumerate() {
            if columns[..at].contains(column) {
                return Err(error!(
                    ErrorKind::AlreadyExists,
                    "an object has at most one component of each type, and the tuple has two of this; leave one out"
                )
                .in_class((self.columns[*column].of.name)()));
            }
        }
        let shape = self.shapes.of(&columns);
        let at = self.bundles.known.len();
        self.bundles.known.push(BundleShape { of, shape, columns: columns.into() });
        self.bundles.by_type.insert(of, at);
        self.bundles.last = at;
        Ok(at)
    }

    #[inline]
    fn spawn_bundle<B: Bundle>(&mut self, id: ObjectId, name: &str, bundle: usize, components: B) {
        let location = self.enter_bundle(id, name, bundle);
        let of = &self.bundles.known[bundle].columns;
        components.__put(BundleColumns { all: &mut self.columns, of, location });
    }

    /// Adds an object with the shape of a bundle; the caller then inserts its components.
    fn enter_bundle(&mut self, id: ObjectId, name: &str, bundle: usize) -> Location {
        let name = self.name_newcomer(id, name);
        let known = &self.bundles.known[bundle];
        let (shape, is_bare) = (known.shape, known.columns.is_empty());
        if !is_bare {
            self.deferred.waiting.push(id);
        }
        let mut object = Object::new(name);
        object.shape = shape;
        self.enter(id, object)
    }

    #[cold]
    fn spawn_later<B: Bundle>(&mut self, name: &str, bundle: usize, components: B) -> ObjectId {
        self.flush();
        let id = self.new_id();
        if self.is_running() {
            self.deferred.commands.push_back(DeferredChange::Spawn(id, name.into()));
            let columns = Arc::clone(&self.bundles.known[bundle].columns);
            components.__wait(self, id, &columns);
        } else {
            self.spawn_bundle(id, name, bundle, components);
        }
        id
    }
}

/// These methods make changes, or defer them while a method of a component is running.
impl World {
    fn is_running(&self) -> bool {
        self.deferred.running > 0
    }

    /// Returns true if no method of a component is running, and no changes are deferred.
    #[cfg(feature = "history")]
    #[inline]
    pub(crate) fn is_still(&self) -> bool {
        !self.is_running() && self.deferred.commands.is_empty()
    }

    /// Returns an error while a method of a component is running, for operations that cannot be deferred.
    fn check_idle(&self) -> Result<()> {
        if self.is_running() {
            bail!(
                ErrorKind::Borrowed,
                "a component's method runs, and this cannot wait for the end of the phase; do it after the update"
            );
        }
        Ok(())
    }

    /// Prepares for a change that cannot be deferred: makes the deferred changes, and returns an error while a method
    /// of a component is running.
    pub(crate) fn check_editable(&mut self) -> Result<()> {
        self.check_idle()?;
        self.flush();
        Ok(())
    }

    /// Makes a change, or defers it while a method of a component is running.
    fn make(&mut self, change: DeferredChange) {
        self.deferred.commands.push_back(change);
        self.flush();
    }

    /// Makes the deferred changes in order, and the changes that these cause. Does nothing while a method of a
    /// component is running.
    fn flush(&mut self) {
        // Changes are taken from the queue one by one: after a panic of a component, the next flush makes the rest.
        while !self.is_running()
            && let Some(command) = self.deferred.commands.pop_front()
        {
            self.apply(command);
        }
    }

    /// Makes a deferred change. It is ignored if its object was removed before.
    fn apply(&mut self, command: DeferredChange) {
        match command {
            DeferredChange::Spawn(id, name) => {
                self.spawn_now(id, &name);
            }
            DeferredChange::Place(objects) => self.place_now(objects),
            DeferredChange::PlaceCopies(objects) => self.place_copies(objects),
            DeferredChange::Attach(object, column, component) => {
                if self.contains(object) {
                    self.detach_now(object, column);
                    self.link(object, column);
                    self.put(column, object, component);
                } else {
                    self.release(object, column, component);
                }
            }
            DeferredChange::Detach(object, column) => drop(self.detach_now(object, column)),
            DeferredChange::Remove(object) => self.remove_now(object),
            DeferredChange::SetParent(object, parent, at) => {
                // It was valid when it was requested, but earlier changes of the queue may have made it invalid.
                let _ = self.set_parent_now(object, parent, at);
            }
        }
    }
}

#[cold]
fn missing(id: ObjectId) -> Error {
    error!(
        ErrorKind::NotFound,
        "the object is not in the world; it was removed, or never made here"
    )
    .in_object(id.get())
}

/// The shapes of the bundles that objects were spawned with.
#[derive(Default)]
pub(super) struct Bundles {
    known: Vec<BundleShape>,
    by_type: HashMap<TypeId, usize>,
    /// The bundle that was used last. Many objects with the same bundle are spawned in a row.
    last: usize,
}

struct BundleShape {
    of: TypeId,
    shape: Shape,
    columns: Arc<[usize]>,
}

/// The columns and the place of the components of a bundle.
#[doc(hidden)]
pub struct BundleColumns<'w> {
    all: &'w mut [ColumnEntry],
    of: &'w [usize],
    location: Location,
}
