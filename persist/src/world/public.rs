//! What a program does with a world.

use std::any::{Any, TypeId};

use super::bundle::Bundle;
use super::column::Page;
use super::object::{Activity, ComponentIndex};
use super::prefab::{Outside, Placed, Prefab};
use super::query::{self, Query, SharedQuery};
use super::references::{self, Reference};
use super::resources::Movable;
use super::shared_name::write_name;
use super::world::{Component, DeferredChange, World};
use super::{objects::missing, phases};
use crate::codec::Pointee;
use crate::graph::Registry;
use crate::sorting::sort;
use crate::{ErrorKind, ObjectId, Persist, Result};

/// Objects.
impl World {
    /// A world without objects.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes an object of this name. If an object has it, or one that may come back had it, the new name ends with the
    /// lowest free number.
    ///
    /// An empty name is none: such an object costs nothing for names, and [`find`](Self::find) never returns it.
    ///
    /// While a component's method runs, the object is there, and has its name, from the end of the phase on.
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
    /// If all of 2⁶² ids have been given.
    pub fn spawn(&mut self, name: &str) -> ObjectId {
        let id = self.new_id();
        if self.is_running() {
            self.commands.push_back(DeferredChange::Spawn(id, name.into()));
        } else {
            self.flush();
            self.spawn_now(id, name);
        }
        id
    }

    /// Makes an object below another one, as its last child.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the parent is not there; then no object is made.
    pub fn spawn_in(&mut self, parent: ObjectId, name: &str) -> Result<ObjectId> {
        self.flush();
        self.check_or_expect(parent)?;
        let id = self.spawn(name);
        self.set_parent(id, Some(parent))?;
        Ok(id)
    }

    /// Makes an object with components: as [`spawn`](Self::spawn), and [`attach`](Self::attach) for each of them, in their order.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`] if the tuple has a type twice, and those of [`register`](Self::register) for the first
    /// component of a type. No object is made then.
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
    /// If all of 2⁶² ids have been given.
    pub fn spawn_with<B: Bundle>(&mut self, name: &str, components: B) -> Result<ObjectId> {
        let bundle = self.bundle::<B>()?;
        if !self.commands.is_empty() || self.is_running() {
            return Ok(self.spawn_later(name, bundle, components));
        }
        let id = self.new_id();
        self.spawn_bundle(id, name, bundle, components);
        Ok(id)
    }

    /// Makes an object for each of these components, as [`spawn_with`](Self::spawn_with) does; returns them in their order.
    ///
    /// # Errors
    ///
    /// Those of [`spawn_with`](Self::spawn_with); no object is made then.
    ///
    /// # Panics
    ///
    /// If all of 2⁶² ids have been given.
    pub fn spawn_many<B: Bundle>(
        &mut self,
        name: &str,
        components: impl IntoIterator<Item = B>,
    ) -> Result<Vec<ObjectId>> {
        self.bundle::<B>()?;
        components.into_iter().map(|components| self.spawn_with(name, components)).collect()
    }

    /// Removes an object and all below it, the lowest first, and releases their components, of a
    /// parked one too; false if it is not there.
    /// While a component's method runs, it is removed at the end of the phase.
    pub fn remove(&mut self, object: ObjectId) -> bool {
        self.flush();
        if !self.is_parked(object) && self.check_or_expect(object).is_err() {
            return false;
        }
        self.make(DeferredChange::Remove(object));
        true
    }

    /// True if the object is parked: an edit of a history removed it, and it can come back. Not for one below it, which comes back with it.
    #[must_use]
    pub fn is_parked(&self, object: ObjectId) -> bool {
        self.parked.contains_key(&object)
    }

    /// True if the object is there.
    #[must_use]
    pub fn contains(&self, object: ObjectId) -> bool {
        self.object(object).is_some()
    }

    /// All objects, in the order in which they were made. How many they are, `objects().len()` says in constant time.
    #[expect(clippy::missing_panics_doc, reason = "as many ids follow as were counted")]
    pub fn objects(&self) -> impl ExactSizeIterator<Item = ObjectId> + use<'_> {
        let mut ids = (0..self.directory.len()).flat_map(move |page| {
            let bits = self.objects.page(page).into_iter().flat_map(Page::bits);
            bits.filter_map(move |bit| self.directory.id(page, bit))
        });
        (0..self.count).map(move |_| ids.next().expect("they were counted"))
    }

    /// The object of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<ObjectId> {
        self.names.find(name)
    }

    /// The name of an object, if it is there and has one.
    #[must_use]
    pub fn name(&self, object: ObjectId) -> Option<&str> {
        let found = self.object(object)?;
        let name = found.name?;
        Some(self.names.base(name).unwrap_or_else(|| found.text(|| self.names.name(name))))
    }

    /// Gives an object this name, or this name with the lowest free number if another has it; returns what it got. The
    /// name of a parked object it can have until that one comes back. An empty name takes its name away.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the object is not there.
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

    /// Gives an object a name that others may have, too, as entities of an engine do: for the crates of engines.
    /// [`find`](Self::find) returns the one that had it first. The others differ by a mark and a number, which are no part
    /// of their name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the object is not there.
    #[doc(hidden)]
    pub fn share_name(&mut self, object: ObjectId, name: &str) -> Result<()> {
        self.check(object)?;
        if self.name(object).unwrap_or_default() != name {
            self.set_name(object, |names| (!name.is_empty()).then(|| names.hold_shared(name)));
        }
        Ok(())
    }

    /// Whether an object is updated.
    #[must_use]
    pub fn activity(&self, object: ObjectId) -> Option<Activity> {
        self.object(object).map(|object| object.activity)
    }

    /// Says whether an object and its descendants are updated: [paused](Activity::Paused) ones are not until they are
    /// [active](Activity::Active) again, and [expired](Activity::Expired) ones are removed at the end of the frame. That
    /// is the frame of the next [`update`](Self::update), or of the one that runs.
    ///
    /// An object below another one that is paused waits for that one, too.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the object is not there.
    pub fn set_activity(&mut self, object: ObjectId, activity: Activity) -> Result<()> {
        let found = self.object_mut(object).ok_or_else(|| missing(object))?;
        if found.activity == activity {
            return Ok(());
        }
        found.activity = activity;
        if activity == Activity::Expired {
            self.expired.push_back(object);
        }
        self.hold(object);
        Ok(())
    }

    /// Makes the changes that a component's method asked for before it panicked, in order.
    ///
    /// Every change of objects and components and every [`update`](Self::update) does so first; a save, which only reads,
    /// does not. While a method runs, it does nothing.
    pub fn settle(&mut self) {
        self.flush();
    }

    /// Runs one frame: starts what has not been started, then runs [`on_pre_update`](Component::on_pre_update) of all
    /// components, then [`on_update`](Component::on_update), then [`on_post_update`](Component::on_post_update), and removes
    /// the objects that have [expired](Activity::Expired). `step` is what the components get from [`Context::step`](crate::world::Context::step), mostly seconds.
    ///
    /// Objects come in the order in which they were made, and the components of each in that in which they were
    /// attached. What components make, attach, detach and remove is so at the end of the phase, in that order.
    ///
    /// A panic of a component leaves the world whole, and the rest of the frame undone. While a component's method
    /// runs, nothing is updated.
    pub fn update(&mut self, step: f64) {
        phases::update(self, step);
    }
}

/// The tree of objects.
impl World {
    /// The object above an object.
    #[must_use]
    pub fn parent(&self, object: ObjectId) -> Option<ObjectId> {
        self.object(object)?.parent
    }

    /// The objects right below an object, in their order.
    #[must_use]
    pub fn children(&self, object: ObjectId) -> &[ObjectId] {
        self.object(object).map_or(&[], |object| object.children())
    }

    /// The objects below no other, in the order in which they were made.
    pub fn roots(&self) -> impl Iterator<Item = ObjectId> + use<'_> {
        self.objects().filter(|object| self.parent(*object).is_none())
    }

    /// An object and all below it, each before those below it, in their order.
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

    /// Puts an object, with what is below it, below another one as its last child, or below none.
    ///
    /// While a component's method runs, it is moved at the end of the phase.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if one of the objects is not there; [`ErrorKind::Circular`] if the parent is the object itself or
    /// below it.
    pub fn set_parent(&mut self, object: ObjectId, parent: Option<ObjectId>) -> Result<()> {
        self.set_parent_at(object, parent, usize::MAX)
    }

    /// Puts an object below another one, at an index among its children; one that is too large is the last.
    ///
    /// Moved one after the other, each of a million children takes a few microseconds, unless [`children`](Self::children)
    /// is called in between.
    ///
    /// # Errors
    ///
    /// Those of [`set_parent`](Self::set_parent).
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
            self.commands.push_back(DeferredChange::SetParent(object, parent, index));
            return Ok(());
        }
        self.flush();
        self.set_parent_now(object, parent, index)
    }
}

/// Components.
impl World {
    /// Attaches a component to an object, after its other components.
    ///
    /// A component of the same type that the object had is released first.
    ///
    /// While a component's method runs, it is attached at the end of the phase; if the object is gone by then, it is released.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the object is not there, and as [`register`](Self::register) for the first of a
    /// type; the component then is dropped.
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

    /// Attaches an empty component of a registered class: what an editor does to add a component by its name.
    ///
    /// # Errors
    ///
    /// Those of [`attach`](Self::attach); [`ErrorKind::NotFound`] if no component class of this name is registered.
    pub fn attach_class(&mut self, object: ObjectId, class: &str) -> Result<()> {
        let column = self.column_of_class(class)?;
        let component = (self.columns[column].of.make)(&self.registry)?;
        self.flush();
        self.check_or_expect(object)?;
        self.make(DeferredChange::Attach(object, column, component));
        Ok(())
    }

    /// Detaches a component, releases and drops it; false if there is none. While a component's method runs, it is detached at the end
    /// of the phase.
    pub fn detach<T: Component>(&mut self, object: ObjectId) -> bool {
        let column = self.by_type.get(&TypeId::of::<T>()).copied();
        column.is_some_and(|column| self.detach_column(object, column))
    }

    /// Detaches the component of a class, as [`detach`](Self::detach).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if no component class of this name is registered.
    pub fn detach_class(&mut self, object: ObjectId, class: &str) -> Result<bool> {
        let column = self.column_of_class(class)?;
        Ok(self.detach_column(object, column))
    }

    /// A component of an object.
    #[must_use]
    #[inline]
    pub fn get<T: Component>(&self, object: ObjectId) -> Option<&T> {
        self.column::<T>()?.get(self.directory.location(object)?)
    }

    /// A component of an object, to be changed.
    #[must_use]
    #[inline]
    pub fn get_mut<T: Component>(&mut self, object: ObjectId) -> Option<&mut T> {
        let location = self.directory.location(object)?;
        self.column_mut::<T>()?.get_mut(location)
    }

    /// The names of the classes of an object's components, in the order in which they were attached, or of the resources if
    /// there is `None` in place of an object; those of classes that the program does not have are among them.
    pub fn classes(&self, object: impl Into<Option<ObjectId>>) -> Vec<String> {
        let Some(object) = object.into() else { return self.resources.classes() };
        let Some(found) = self.object(object) else { return Vec::new() };
        let class = |part| match part {
            ComponentIndex::Known(column) => (self.columns[column].of.name)(),
            ComponentIndex::Unknown(index) => found.unknown()[index].content.class().to_owned(),
        };
        self.shapes.parts(found).map(class).collect()
    }

    /// The classes that [`attach_class`](Self::attach_class) takes, in the order of their names: those of all component types
    /// that the world knows.
    #[must_use]
    pub fn component_classes(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.by_class.keys().map(|name| &**name).collect();
        names.sort_unstable();
        names
    }

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
    pub fn query<Q: SharedQuery>(&self) -> impl Iterator<Item = Q::Item<'_>> {
        query::shared::<Q>(self)
    }

    /// The objects that have all the components of a query, and these, to be changed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Borrowed`] if it asks for one component twice, once of it to be changed.
    pub fn query_mut<Q: Query>(&mut self) -> Result<impl Iterator<Item = Q::Item<'_>>> {
        query::exclusive::<Q>(self)
    }

    /// All places in components and resources that hold the id of an object, in the order of objects and
    /// components: what an editor shows before it removes one. Ids as plain numbers are not found; those in components of
    /// classes that the program does not have are.
    ///
    /// An object that is shared by pointers is reported as part of the first component that leads to it.
    ///
    /// It takes as long as a save of the world into memory.
    ///
    /// # Errors
    ///
    /// What a component refuses, as when it is saved.
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

    /// Makes class `T` known, for [`attach_class`](Self::attach_class), field paths and prefabs; the first
    /// [`attach`](Self::attach) of a `T` does it, too.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::register_as`].
    pub fn register<T: Component>(&mut self) -> Result<()> {
        self.column_of::<T>().map(drop)
    }

    /// The classes that the world knows, and the context that hooks reach.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The classes that the world knows, to add to them: a [resource](Registry::register_resource) that has not been put
    /// in yet, an [implementor](Registry::register_as) of a trait whose trait objects components hold, a
    /// [factory](Registry::register_with), or the [context](Registry::set_context).
    ///
    /// A world that is loaded by a [`Saves`](crate::Saves) has its classes and context from the beginning, and a save uses
    /// those of the `Saves` that saves it. A component class needs [`register`](Self::register) also if the registry has it.
    ///
    /// Add to the registry rather than assign to it: a new one has neither the classes nor the context of the old one.
    pub fn registry_mut(&mut self) -> &mut Registry {
        &mut self.registry
    }
}

/// Resources.
impl World {
    /// Puts a value beside the objects, that is saved with them; returns the one of its type that was there.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::register_resource`].
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
    pub fn insert_resource<T: Persist + Pointee + Movable>(
        &mut self,
        value: T,
    ) -> Result<Option<T>> {
        if self.resource::<T>().is_none() {
            self.registry.register_resource::<T>()?;
        }
        let name = T::persist_name();
        self.resources.unknown.retain(|kept| !self.registry.is_called(&name, kept.class()));
        let old = self.resources.insert(Box::new(value));
        Ok(old.and_then(|old| (old as Box<dyn Any>).downcast().ok()).map(|old| *old))
    }

    /// The resource of a type.
    #[must_use]
    pub fn resource<T: Persist + Pointee + Movable>(&self) -> Option<&T> {
        self.resources.get()
    }

    /// The resource of a type, to be changed.
    #[must_use]
    pub fn resource_mut<T: Persist + Pointee + Movable>(&mut self) -> Option<&mut T> {
        self.resources.get_mut()
    }

    /// Takes the resource of a type out.
    pub fn remove_resource<T: Persist + Pointee + Movable>(&mut self) -> Option<T> {
        self.resources.remove()
    }
}

/// Copies of objects.
impl World {
    /// Copies an object and all below it into a [`Prefab`]. Resources, and what is above the object, are not in it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the object is not there; [`ErrorKind::Borrowed`] while a method of one of its components runs;
    /// what a component refuses, as when it is saved.
    pub fn prefab(&self, object: ObjectId) -> Result<Prefab> {
        self.check(object)?;
        let mut ids = self.subtree(object);
        sort(&mut ids);
        Prefab::copy_of(self, object, ids)
    }

    /// Puts a copy of a prefab into the world, and returns the object at its top, which is below none:
    /// [`set_parent`](Self::set_parent) puts it below another one.
    ///
    /// New ids ascend in the order of those that the objects had, so that copies are updated in that order. A name stays if it
    /// is free; else the copy gets the name without its number, with the lowest free one. All components count as
    /// not started: [`on_start`](crate::Component::on_start) runs for each copy. Objects are paused, or have expired, as they were.
    ///
    /// Component classes that the world does not know become known to it; implementors of traits whose trait
    /// objects components hold must be [registered](Registry::register_as).
    ///
    /// While a component's method runs, the objects are there from the end of the phase on; components may be attached
    /// to the one at the top, and it may be put below another one, before that.
    ///
    /// # Errors
    ///
    /// What a component refuses when it is loaded; [`ErrorKind::DuplicateId`] if the world has another class of the id of one in
    /// the prefab; [`ErrorKind::TooLarge`] if all of 2⁶² ids have been given. The world then is as it was, but for classes
    /// that it knows.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::world::{Outside, Prefab};
    /// use persist::{Component, Context, Persist, World};
    ///
    /// #[derive(Persist)]
    /// struct Gun;
    ///
    /// /// What the gun shoots; no part of a save.
    /// #[derive(Persist, Default)]
    /// struct Ammunition {
    ///     #[persist(skip)]
    ///     bullet: Option<Prefab>,
    /// }
    ///
    /// impl Component for Gun {
    ///     fn on_update(&mut self, context: &mut Context<'_>) {
    ///         let ammunition = context.world.resource::<Ammunition>();
    ///         let bullet = ammunition.and_then(|ammunition| ammunition.bullet.clone());
    ///         if let Some(bullet) = bullet {
    ///             context.world.instantiate(&bullet, Outside::Clear).expect("it was made here");
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
    pub fn instantiate(&mut self, prefab: &Prefab, outside: Outside) -> Result<ObjectId> {
        self.flush();
        let first = prefab.place(self, outside)?;
        let root = prefab.renewed(prefab.root, first);
        root.ok_or_else(|| error!(ErrorKind::InvalidValue, "the prefab has no object at its top"))
    }

    /// Puts a copy of all objects of another world into this one, such as of a level that was loaded on another thread.
    /// Returns what became of each, in the order of the level.
    ///
    /// Ids, names and components are as [`instantiate`](Self::instantiate) says: new ids ascend in the order of the old
    /// ones, and every id in a component that is one of the level's objects becomes that of its copy. Other ids are
    /// [cleared](Outside::Clear). The tree stays as it is; objects at the top of the level are at the top of this world.
    /// The level's resources are not copied.
    ///
    /// # Errors
    ///
    /// Those of [`prefab`](Self::prefab) and [`instantiate`](Self::instantiate). The world then is as it was, but for
    /// classes that it knows.
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
    pub fn instantiate_level(&mut self, level: &World) -> Result<Vec<Placed>> {
        self.flush();
        let stored: Vec<ObjectId> = level.objects().collect();
        let Some(root) = stored.first() else { return Ok(Vec::new()) };
        let copy = Prefab::copy_of(level, *root, stored)?;
        let first = copy.place(self, Outside::Clear)?;
        let placed = |stored: &ObjectId| {
            Some(Placed { stored: *stored, object: copy.renewed(*stored, first)? })
        };
        Ok(copy.ids.iter().filter_map(placed).collect())
    }
}
