//! The public methods of [`World`]: objects, the tree, components, resources and copies.

use std::any::{Any, TypeId};

use super::bundle::Bundle;
use super::prefab::{ExternalIds, InstantiatedObject, Prefab};
use super::{missing, phases};
use crate::codec::Pointee;
use crate::fields::Sendable;
use crate::fields::shared_name::write_name;
use crate::graph::Registry;
use crate::sorting::sort;
use crate::world::column::query::{Query, SharedQuery};
use crate::world::column::{Page, query};
use crate::world::component::Component;
use crate::world::references::Reference;
use crate::world::touched::Touch;
use crate::world::{Activity, ComponentIndex, class_of};
use crate::world::{DeferredChange, World, references};
use crate::{ErrorKind, ObjectId, Persist, Result};

/// These methods spawn, name, update and remove objects.
impl World {
    /// Creates a world without objects.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Spawns an object with this name, and returns its id.
    ///
    /// If another object has the name, the lowest free number is appended. The names of removed objects that an undo
    /// may bring back count as used. An object with an empty name has no name: it takes no memory for one, and
    /// [`find`](Self::find) never returns it.
    ///
    /// While a method of a component is running, the object is added at the end of the phase, and gets its name then.
    ///
    /// # Example
    ///
    /// ```
    /// let mut world = persist::World::new();
    /// let doors = ["Door", "Door", "Door"].map(|name| world.spawn(name));
    /// assert_eq!(doors.map(|door| world.name(door).unwrap()), ["Door", "Door1", "Door2"]);
    /// world.remove(doors[1]);
    /// let door = world.spawn("Door");
    /// assert_eq!(world.name(door), Some("Door1"));
    /// assert_ne!(door, doors[1]);
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if all 2⁶² ids have been used.
    pub fn spawn(&mut self, name: &str) -> ObjectId {
        let id = self.new_id();
        if self.is_running() {
            self.deferred.commands.push_back(DeferredChange::Spawn(id, name.into()));
        } else {
            self.flush();
            self.spawn_now(id, name);
        }
        id
    }

    /// Spawns an object as the last child of another one, and returns its id.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if the parent is not in the world. No object is spawned then.
    pub fn spawn_in(&mut self, parent: ObjectId, name: &str) -> Result<ObjectId> {
        self.flush();
        self.check_or_expect(parent)?;
        let id = self.spawn(name);
        self.set_parent(id, Some(parent))?;
        Ok(id)
    }

    /// Spawns an object with components, and returns its id.
    ///
    /// The result is that of [`spawn`](Self::spawn) followed by [`attach`](Self::attach) for each component in order,
    /// but it is faster.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::AlreadyExists`] if the tuple has two components of one type. For the first component of a
    /// type, returns the same errors as [`register_component`](Self::register_component). No object is spawned then.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{Component, Persist, World};
    ///
    /// #[derive(Persist)]
    /// struct Transform { x: f32, y: f32 }
    /// #[derive(Persist)]
    /// struct Health(u32);
    ///
    /// impl Component for Transform {}
    /// impl Component for Health {}
    ///
    /// let mut world = World::new();
    /// let tank = world.spawn_with("Tank", (Transform { x: 1.0, y: 2.0 }, Health(9)))?;
    /// assert_eq!(world.get::<Health>(tank).map(|health| health.0), Some(9));
    ///
    /// // A bullet needs no name.
    /// let bullet = world.spawn_with("", (Transform { x: 1.0, y: 2.0 },))?;
    /// assert_eq!(world.name(bullet), None);
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if all 2⁶² ids have been used.
    pub fn spawn_with<B: Bundle>(&mut self, name: &str, components: B) -> Result<ObjectId> {
        let bundle = self.bundle::<B>()?;
        if !self.deferred.commands.is_empty() || self.is_running() {
            return Ok(self.spawn_later(name, bundle, components));
        }
        let id = self.new_id();
        self.spawn_bundle(id, name, bundle, components);
        Ok(id)
    }

    /// Spawns an object for each tuple of components, like [`spawn_with`](Self::spawn_with), and returns their ids in
    /// order.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`spawn_with`](Self::spawn_with). No object is spawned then.
    ///
    /// # Panics
    ///
    /// Panics if all 2⁶² ids have been used.
    pub fn spawn_many<B: Bundle>(
        &mut self,
        name: &str,
        components: impl IntoIterator<Item = B>,
    ) -> Result<Vec<ObjectId>> {
        self.bundle::<B>()?;
        components.into_iter().map(|components| self.spawn_with(name, components)).collect()
    }

    /// Removes an object and its descendants; returns false if it is not in the world.
    ///
    /// Descendants are removed first. [`on_release`](Component::on_release) runs for each component. An object that an
    /// edit of a history has removed can be removed too: an undo then cannot bring it back. While a method of a
    /// component is running, the object is removed at the end of the phase.
    pub fn remove(&mut self, object: ObjectId) -> bool {
        self.flush();
        if !self.is_parked(object) && self.check_or_expect(object).is_err() {
            return false;
        }
        self.make(DeferredChange::Remove(object));
        true
    }

    /// Returns true if an edit of a history removed the object, so that an undo can bring it back.
    ///
    /// It is false for the descendants of such an object, which come back with it.
    #[must_use]
    pub fn is_parked(&self, object: ObjectId) -> bool {
        self.parking.parked.contains_key(&object)
    }

    /// Returns true if the object is in the world.
    #[must_use]
    pub fn contains(&self, object: ObjectId) -> bool {
        self.object(object).is_some()
    }

    /// Iterates over the ids of all objects, in the order in which they were spawned.
    ///
    /// `objects().len()` returns the number of objects in constant time.
    #[expect(clippy::missing_panics_doc, reason = "as many ids follow as were counted")]
    pub fn objects(&self) -> impl ExactSizeIterator<Item = ObjectId> + use<'_> {
        let mut ids = (0..self.directory.len()).flat_map(move |page| {
            let bits = self.objects.page(page).into_iter().flat_map(Page::bits);
            bits.filter_map(move |bit| self.directory.id(page, bit))
        });
        (0..self.count).map(move |_| ids.next().expect("they were counted"))
    }

    /// Returns the object with this name; `None` if there is none.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<ObjectId> {
        self.names.find(name)
    }

    /// Returns the name of an object; `None` if it has no name or is not in the world.
    #[must_use]
    pub fn name(&self, object: ObjectId) -> Option<&str> {
        let found = self.object(object)?;
        let name = found.name?;
        Some(self.names.base(name).unwrap_or_else(|| found.text(|| self.names.name(name))))
    }

    /// Renames an object, and returns its new name.
    ///
    /// If another object has the name, the lowest free number is appended. The name of a removed object is accepted; if
    /// an undo brings that object back, this one gets a number. An empty name removes the name.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if the object is not in the world.
    pub fn rename(&mut self, object: ObjectId, name: &str) -> Result<&str> {
        self.check(object)?;
        if self.name(object).unwrap_or_default() != name {
            self.set_name(object, |names| match names.find(name) {
                _ if name.is_empty() => None,
                None => Some(names.hold(&write_name(name, 0))),
                Some(_) => Some(names.hold_free(name)),
            });
        }
        Ok(self.name(object).unwrap_or_default())
    }

    /// Gives an object a name that other objects may have too, as in an engine's world. It is for the crates of
    /// engines.
    ///
    /// [`find`](Self::find) returns the object that had the name first. The others differ in saves by a mark and a
    /// number, which are not part of the name.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if the object is not in the world.
    #[doc(hidden)]
    pub fn share_name(&mut self, object: ObjectId, name: &str) -> Result<()> {
        self.check(object)?;
        if self.name(object).unwrap_or_default() != name {
            self.set_name(object, |names| (!name.is_empty()).then(|| names.hold_shared(name)));
        }
        Ok(())
    }

    /// Returns whether an object is updated; `None` if it is not in the world.
    ///
    /// The activity of its ancestors is not taken into account.
    #[must_use]
    pub fn activity(&self, object: ObjectId) -> Option<Activity> {
        self.object(object).map(|object| object.activity)
    }

    /// Sets whether an object and its descendants are updated.
    ///
    /// [Paused](Activity::Paused) objects are not updated until they are [active](Activity::Active) again. An active
    /// object with a paused ancestor is not updated either. [Expired](Activity::Expired) objects are removed at the end
    /// of the current [`update`](Self::update), or of the next one if none is running.
    ///
    /// ```
    /// use persist::World;
    /// use persist::world::Activity;
    ///
    /// let mut world = World::new();
    /// let spark = world.spawn("Spark");
    /// world.set_activity(spark, Activity::Expired)?;
    /// assert!(world.contains(spark));
    /// world.update(0.1);
    /// assert!(!world.contains(spark));
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if the object is not in the world.
    pub fn set_activity(&mut self, object: ObjectId, activity: Activity) -> Result<()> {
        let found = self.object_mut(object).ok_or_else(|| missing(object))?;
        if found.activity == activity {
            return Ok(());
        }
        found.activity = activity;
        self.touch(object, Touch::Activity);
        if activity == Activity::Expired {
            self.deferred.expired.push_back(object);
        }
        self.hold(object);
        Ok(())
    }

    /// Makes the deferred changes that methods of components requested before one of them panicked.
    ///
    /// Changes of objects and components, and [`update`](Self::update), do so themselves. A save, which only reads,
    /// does not: call this before you save after a panic. While a method of a component is running, it does nothing.
    pub fn settle(&mut self) {
        self.flush();
    }

    /// Runs one frame. `step` is the time step that components read from
    /// [`ComponentScope::step`](crate::world::ComponentScope::step), usually in seconds.
    ///
    /// A frame has three phases: [`on_pre_update`](Component::on_pre_update) of all components,
    /// [`on_update`](Component::on_update) of all, and [`on_post_update`](Component::on_post_update) of all. Before
    /// each phase, [`on_start`](Component::on_start) runs for new components. After the last phase,
    /// [expired](Activity::Expired) objects are removed.
    ///
    /// Objects are visited in the order in which they were spawned, and the components of an object in the order in
    /// which they were attached. Objects and components that the methods add or remove are added or removed at the end
    /// of the phase, in the order of the calls.
    ///
    /// If a component panics, the rest of the frame is skipped, and the world stays valid. A call from a method of a
    /// component does nothing.
    pub fn update(&mut self, step: f64) {
        phases::update(self, step);
    }
}

/// These methods read and change the tree of objects.
impl World {
    /// Returns the parent of an object; `None` if it has none or is not in the world.
    #[must_use]
    pub fn parent(&self, object: ObjectId) -> Option<ObjectId> {
        self.object(object)?.parent
    }

    /// Returns the children of an object, in order; empty if it is not in the world.
    #[must_use]
    pub fn children(&self, object: ObjectId) -> &[ObjectId] {
        self.object(object).map_or(&[], |object| object.children())
    }

    /// Iterates over the objects without a parent, in the order in which they were spawned.
    pub fn roots(&self) -> impl Iterator<Item = ObjectId> + use<'_> {
        self.objects().filter(|object| self.parent(*object).is_none())
    }

    /// Returns an object and its descendants, each before its own descendants; empty if it is not in the world.
    #[must_use]
    pub fn subtree(&self, object: ObjectId) -> Vec<ObjectId> {
        let mut found = Vec::new();
        let mut rest: Vec<ObjectId> = self.contains(object).then_some(object).into_iter().collect();
        while let Some(object) = rest.pop() {
            found.push(object);
            rest.extend(self.children(object).iter().rev());
        }
        found
    }

    /// Moves an object, with its descendants, to the end of another object's children; `None` makes it a root.
    ///
    /// While a method of a component is running, the object is moved at the end of the phase.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if one of the objects is not in the world, and [`ErrorKind::Circular`] if the
    /// parent is the object itself or a descendant.
    pub fn set_parent(&mut self, object: ObjectId, parent: Option<ObjectId>) -> Result<()> {
        self.set_parent_at(object, parent, usize::MAX)
    }

    /// Moves an object like [`set_parent`](Self::set_parent), to an index among the children of its parent.
    ///
    /// An index that is too large means the end. Among a million children, each of several moves in a row takes a few
    /// microseconds. A call of [`children`](Self::children) in between makes the next move slower.
    ///
    /// ```
    /// let mut world = persist::World::new();
    /// let tower = world.spawn("Tower");
    /// let gun = world.spawn_in(tower, "Gun")?;
    /// let flag = world.spawn("Flag");
    /// world.set_parent_at(flag, Some(tower), 0)?;
    /// assert_eq!(world.children(tower), [flag, gun]);
    /// assert_eq!(world.subtree(tower), [tower, flag, gun]);
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`set_parent`](Self::set_parent).
    pub fn set_parent_at(
        &mut self,
        object: ObjectId,
        parent: Option<ObjectId>,
        index: usize,
    ) -> Result<()> {
        if self.is_running() {
            self.check_or_expect(object)?;
            parent.map_or(Ok(()), |parent| self.check_or_expect(parent))?;
            self.check_above(object, parent)?;
            self.deferred.commands.push_back(DeferredChange::SetParent(object, parent, index));
            return Ok(());
        }
        self.flush();
        self.set_parent_now(object, parent, index)
    }
}

/// These methods attach, query and detach components.
impl World {
    /// Attaches a component to an object, after its other components.
    ///
    /// If the object has a component of this type, that one is released first.
    ///
    /// While a method of a component is running, the component is attached at the end of the phase. If the object was
    /// removed by then, the component is released instead.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if the object is not in the world. For the first component of a type, returns
    /// the same errors as [`register_component`](Self::register_component). The component is dropped then.
    pub fn attach<T: Component>(&mut self, object: ObjectId, component: T) -> Result<()> {
        let column = self.column_of::<T>()?;
        self.flush();
        self.check_or_expect(object)?;
        if self.is_running() {
            self.make(DeferredChange::Attach(object, column, Box::new(component)));
            return Ok(());
        }
        self.detach_now(object, column);
        if let (Some(location), Some(column)) = (self.link(object, column), self.column_mut::<T>())
        {
            column.insert(location, component);
        }
        self.flush();
        Ok(())
    }

    /// Attaches an empty component of a registered class, as an editor does to add a component by its name.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`attach`](Self::attach), and [`ErrorKind::NotFound`] if no component class of this
    /// name is registered.
    pub fn attach_class(&mut self, object: ObjectId, class: &str) -> Result<()> {
        let column = self.column_of_class(class)?;
        let component = (self.columns[column].of.make)(&self.registry)?;
        self.flush();
        self.check_or_expect(object)?;
        self.make(DeferredChange::Attach(object, column, component));
        Ok(())
    }

    /// Detaches, releases and drops a component; returns false if the object has none of this type.
    ///
    /// While a method of a component is running, the component is detached at the end of the phase.
    pub fn detach<T: Component>(&mut self, object: ObjectId) -> bool {
        let column = self.by_type.get(&TypeId::of::<T>()).copied();
        column.is_some_and(|column| self.detach_column(object, column))
    }

    /// Detaches the component of a class, like [`detach`](Self::detach).
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if no component class of this name is registered.
    pub fn detach_class(&mut self, object: ObjectId, class: &str) -> Result<bool> {
        let column = self.column_of_class(class)?;
        Ok(self.detach_column(object, column))
    }

    /// Returns a component of an object; `None` if it has none of this type or is not in the world.
    #[must_use]
    #[inline]
    pub fn get<T: Component>(&self, object: ObjectId) -> Option<&T> {
        self.column::<T>()?.get(self.directory.location(object)?)
    }

    /// Returns a component of an object, to change it; `None` if it has none of this type or is not in the world.
    #[must_use]
    #[inline]
    pub fn get_mut<T: Component>(&mut self, object: ObjectId) -> Option<&mut T> {
        let location = self.directory.location(object)?;
        self.column_mut::<T>()?.get_mut(location)
    }

    /// Returns the class names of an object's components, in the order in which they were attached.
    ///
    /// `None` in place of an object returns the class names of the resources. Classes that the program does not have
    /// are included.
    pub fn classes(&self, object: impl Into<Option<ObjectId>>) -> Vec<String> {
        let Some(object) = object.into() else { return self.resources.classes() };
        let Some(found) = self.object(object) else { return Vec::new() };
        let parts = self.shapes.parts(found);
        let is_whole = |part: &ComponentIndex| match part {
            ComponentIndex::Known(_) => true,
            ComponentIndex::Unknown(index) => found.unknown()[*index].content.component().is_none(),
        };
        parts.filter(is_whole).map(|part| class_of(self, found, part)).collect()
    }

    /// Returns the names of all registered component classes, in alphabetical order.
    ///
    /// [`attach_class`](Self::attach_class) accepts these names.
    #[must_use]
    pub fn component_classes(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.by_class.keys().map(|name| &**name).collect();
        names.sort_unstable();
        names
    }

    /// Iterates over all objects that have the queried components, and yields those components.
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
    pub fn query<Q: SharedQuery>(&self) -> impl Iterator<Item = Q::Item<'_>> {
        query::shared::<Q>(self)
    }

    /// Iterates like [`query`](Self::query), with components that can be changed.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Borrowed`] if the query names a component type twice, and once as `&mut`.
    pub fn query_mut<Q: Query>(&mut self) -> Result<impl Iterator<Item = Q::Item<'_>>> {
        query::exclusive::<Q>(self)
    }

    /// Finds all fields of components and resources that hold the id of an object.
    ///
    /// An editor can show them before it removes the object. They are in the order of objects and components.
    /// Components of classes that the program does not have are included. Ids that are stored as plain numbers are not
    /// found. An object that is shared by pointers counts as part of the first component that leads to it.
    ///
    /// The call takes as long as saving the world into memory.
    ///
    /// # Errors
    ///
    /// Returns an error if a component cannot be saved.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{Component, ObjectId, Persist, World};
    ///
    /// #[derive(Persist)]
    /// struct Party { members: Vec<ObjectId> }
    ///
    /// impl Component for Party {}
    ///
    /// let mut world = World::new();
    /// let [ada, bob] = ["Ada", "Bob"].map(|name| world.spawn(name));
    /// world.attach(ada, Party { members: vec![ada, bob] })?;
    /// let found = &world.references_to(bob)?[0];
    /// assert_eq!(found.object, Some(ada));
    /// assert_eq!((&*found.class, &*found.path), ("Party", "members[1]"));
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn references_to(&self, id: ObjectId) -> Result<Vec<Reference>> {
        references::find(self, id)
    }

    /// Registers component class `T` in this world, for [`attach_class`](Self::attach_class), field paths and prefabs.
    ///
    /// The first [`attach`](Self::attach) of a `T` registers it, too.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Registry::register_as`].
    pub fn register_component<T: Component>(&mut self) -> Result<()> {
        self.column_of::<T>().map(drop)
    }

    /// Returns the registry of the world: its registered classes, and the context for hooks.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns the registry of the world, to register more classes.
    ///
    /// It can register:
    ///
    /// - a [resource](Registry::register_resource) that has not been inserted yet;
    /// - an [implementor](Registry::register_as) of a trait whose trait objects are in components;
    /// - a [factory](Registry::register_with) of empty values;
    /// - the [context](Registry::set_context) of hooks.
    ///
    /// Register component classes with [`register_component`](Self::register_component) instead, even if the registry
    /// has them already.
    ///
    /// A world that was loaded by a [`Saves`](crate::Saves) has the classes and the context of that `Saves`. A save
    /// uses those of the `Saves` that saves the world.
    ///
    /// Do not assign a new registry: it would lack the classes and the context of the old one.
    pub fn registry_mut(&mut self) -> &mut Registry {
        &mut self.registry
    }
}

/// These methods insert, read and remove resources.
impl World {
    /// Inserts a resource: a value that belongs to the world as a whole and is saved with it.
    ///
    /// A world has at most one resource of each type. The call returns the previous one.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Registry::register_resource`].
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{Persist, World};
    ///
    /// #[derive(Persist)]
    /// struct Score(u32);
    ///
    /// let mut world = World::new();
    /// world.insert_resource(Score(1))?;
    /// if let Some(score) = world.resource_mut::<Score>() {
    ///     score.0 += 1;
    /// }
    /// assert_eq!(world.resource::<Score>().map(|score| score.0), Some(2));
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn insert_resource<T: Persist + Pointee + Sendable>(
        &mut self,
        value: T,
    ) -> Result<Option<T>> {
        if self.resource::<T>().is_none() {
            self.registry.register_resource::<T>()?;
        }
        let name = T::persist_name();
        self.resources.unknown.retain(|unknown| !self.registry.is_called(&name, unknown.class()));
        let old = self.resources.insert(Box::new(value));
        Ok(old.and_then(|old| (old as Box<dyn Any>).downcast().ok()).map(|old| *old))
    }

    /// Returns the resource of a type; `None` if there is none.
    #[must_use]
    pub fn resource<T: Persist + Pointee + Sendable>(&self) -> Option<&T> {
        self.resources.get()
    }

    /// Returns the resource of a type, to change it; `None` if there is none.
    #[must_use]
    pub fn resource_mut<T: Persist + Pointee + Sendable>(&mut self) -> Option<&mut T> {
        self.resources.get_mut()
    }

    /// Removes and returns the resource of a type; `None` if there is none.
    pub fn remove_resource<T: Persist + Pointee + Sendable>(&mut self) -> Option<T> {
        self.resources.remove()
    }
}

/// These methods copy objects.
impl World {
    /// Copies an object and its descendants into a [`Prefab`]. Resources and ancestors are not copied.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if the object is not in the world, [`ErrorKind::Borrowed`] while a method of one
    /// of the components is running, and an error if a component cannot be saved.
    pub fn prefab(&self, object: ObjectId) -> Result<Prefab> {
        self.check(object)?;
        let mut ids = self.subtree(object);
        sort(&mut ids);
        Prefab::copy_of(self, object, ids)
    }

    /// Adds a copy of a prefab to the world, and returns the topmost object of the copy.
    ///
    /// That object has no parent; [`set_parent`](Self::set_parent) gives it one. The copies have new ids, in the order
    /// of the old ones, so that they are updated in the same order. A copy keeps its name if that is free. Otherwise
    /// the number at the end of the name is replaced by the lowest free number.
    /// [`on_start`](crate::Component::on_start) runs for all components of each copy. Paused and expired objects stay
    /// paused and expired.
    ///
    /// The component classes of the prefab are registered in the world. Implementors of traits must be
    /// [registered](Registry::register_as) before, if components hold trait objects.
    ///
    /// While a method of a component is running, the objects are added at the end of the phase. The method can already
    /// attach components to the topmost object, and set its parent.
    ///
    /// # Errors
    ///
    /// Returns an error if the prefab cannot be placed:
    ///
    /// - an error of a component that cannot be loaded;
    /// - [`ErrorKind::DuplicateId`] if the world has another class with the id of a class in the prefab;
    /// - [`ErrorKind::TooLarge`] if all 2⁶² ids have been used.
    ///
    /// The objects of the world are then unchanged; classes may have been registered.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::world::{ExternalIds, Prefab};
    /// use persist::{Component, ComponentScope, Persist, World};
    ///
    /// #[derive(Persist)]
    /// struct Gun;
    ///
    /// /// The prefab of a bullet. It is not saved.
    /// #[derive(Persist, Default)]
    /// struct Ammunition {
    ///     #[persist(skip)]
    ///     bullet: Option<Prefab>,
    /// }
    ///
    /// impl Component for Gun {
    ///     fn on_update(&mut self, scope: &mut ComponentScope<'_>) {
    ///         let ammunition = scope.world.resource::<Ammunition>();
    ///         let bullet = ammunition.and_then(|ammunition| ammunition.bullet.clone());
    ///         if let Some(bullet) = bullet {
    ///             scope.world.instantiate(&bullet, ExternalIds::Clear).expect("it was made here");
    ///         }
    ///     }
    /// }
    ///
    /// let mut world = World::new();
    /// let bullet = world.spawn("Bullet");
    /// world.insert_resource(Ammunition { bullet: Some(world.prefab(bullet)?) })?;
    /// world.remove(bullet);
    /// let gun = world.spawn("Gun");
    /// world.attach(gun, Gun)?;
    /// world.update(0.1);
    /// world.update(0.1);
    /// assert!(world.find("Bullet").is_some() && world.find("Bullet1").is_some());
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn instantiate(&mut self, prefab: &Prefab, external: ExternalIds) -> Result<ObjectId> {
        self.flush();
        let first = prefab.place(self, external)?;
        let root = prefab.renewed(prefab.root, first);
        root.ok_or_else(|| error!(ErrorKind::InvalidValue, "the prefab has no object at its top"))
    }

    /// Adds a copy of all objects of another world, such as a level that was loaded on another thread.
    ///
    /// It returns the old and the new id of each object, in the order of the level. Ids, names and components are
    /// treated like in [`instantiate`](Self::instantiate). Ids in components are replaced by the ids of the copied
    /// objects, and ids of objects that are not in the level are [cleared](ExternalIds::Clear). The copies have the
    /// same tree as the level. Resources of the level are not copied.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`prefab`](Self::prefab) and [`instantiate`](Self::instantiate). The objects of the
    /// world are then unchanged; classes may have been registered.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{Component, ObjectId, Persist, World};
    ///
    /// #[derive(Persist)]
    /// struct Door { key: ObjectId }
    ///
    /// impl Component for Door {}
    ///
    /// let mut level = World::new();
    /// let key = level.spawn("Key");
    /// let door = level.spawn_with("Door", (Door { key },))?;
    ///
    /// let mut world = World::new();
    /// world.spawn("Key");
    /// let placed = world.instantiate_level(&level)?;
    /// assert_eq!(placed.iter().map(|placed| placed.stored).collect::<Vec<_>>(), [key, door]);
    /// let [key, door] = [placed[0].object, placed[1].object];
    /// assert_eq!(world.name(key), Some("Key1"));
    /// assert_eq!(world.get::<Door>(door).map(|door| door.key), Some(key));
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn instantiate_level(&mut self, level: &World) -> Result<Vec<InstantiatedObject>> {
        self.flush();
        let stored: Vec<ObjectId> = level.objects().collect();
        let Some(root) = stored.first() else { return Ok(Vec::new()) };
        let copy = Prefab::copy_of(level, *root, stored)?;
        let first = copy.place(self, ExternalIds::Clear)?;
        let placed = |stored: &ObjectId| {
            Some(InstantiatedObject { stored: *stored, object: copy.renewed(*stored, first)? })
        };
        Ok(copy.ids.iter().filter_map(placed).collect())
    }
}
