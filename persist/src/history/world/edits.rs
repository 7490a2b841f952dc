//! Edits of worlds: fields of components and resources, objects, and their lists of components.

use std::any::TypeId;

use crate::codec::Pointee;
use crate::fields::{
    Direction, EditedWorld as _, FieldChange, IntoFieldPath, Owner, Request, Sendable,
};
use crate::history::change::{Change, ChangeKind};
use crate::history::{ChangeTarget, Edit, Editable, History, PendingChange, Step, Support};
use crate::world::{Activity, Bundle, Detached, ExternalIds, Prefab, WorldChange};
use crate::{Component, Error, ErrorKind, ObjectId, Persist, Result, Value, World};

impl Editable for World {
    type Edit<'e> = Edit<'e, Self>;

    fn persist_edit<'e, R>(
        edit: &mut Edit<'e, Self>,
        run: impl FnOnce(&mut Self::Edit<'e>) -> Result<R>,
    ) -> Result<R> {
        run(edit)
    }
}

/// Fields and resources.
impl Edit<'_, World> {
    /// Returns a component of an object.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if the object does not exist, or has no such component.
    pub fn get<T: Component>(&self, object: ObjectId) -> Result<&T> {
        match self.target.get::<T>(object) {
            Some(component) => Ok(component),
            None => Err(self.lacks::<T>(object)),
        }
    }

    /// Returns a component of an object, mutably.
    ///
    /// At the end of the edit, or before the next method that changes objects or components, its fields are compared
    /// with their old values, and the differences are recorded. Fields with `skip`, and changes inside a `Cell` without
    /// `&mut`, are not recorded.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if the object does not exist, or has no such component, and
    /// [`ErrorKind::Unsupported`] if the class holds shared pointers, or the component has unknown fields.
    pub fn get_mut<T: Component>(&mut self, object: ObjectId) -> Result<&mut T> {
        self.check_first()?;
        let column = self.target.column_of::<T>()?;
        if self.target.get::<T>(object).is_none() {
            return Err(self.lacks::<T>(object));
        }
        self.hand_out(ChangeTarget::Component(column, object), T::persist_name)?;
        match self.target.get_mut::<T>(object) {
            Some(component) => Ok(component),
            None => Err(error!(ErrorKind::NotFound, "the component is not there")),
        }
    }

    /// Keeps the current content of a component or resource, unless that was done in this edit already.
    fn hand_out(&mut self, place: ChangeTarget, class: fn() -> String) -> Result<()> {
        if self.is_pending(&place) {
            return Ok(());
        }
        self.target.check_editable()?;
        self.pending.push(PendingChange::new(self.target, self.support, place, class)?);
        Ok(())
    }

    #[cold]
    fn lacks<T: Component>(&self, object: ObjectId) -> Error {
        let message = match self.target.name(object) {
            Some(name) => format!("the object `{name}` has no {}; attach one", T::persist_name()),
            None => {
                String::from("the object is not in the world; it was removed, or never made here")
            }
        };
        Error::new(ErrorKind::NotFound, message).in_object(object.get()).in_class(T::persist_name())
    }

    /// Prepares a change that is recorded at once: records pending changes, and checks that the world can be edited.
    fn ready_to_change(&mut self) -> Result<()> {
        self.ready()?;
        self.target.check_editable()
    }

    /// Sets a field of a component, or of a resource if `object` is `None`, and returns the old value.
    ///
    /// It works like [`World::set_field`], and takes the time of the field, not of the whole component.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`World::set_field`].
    pub fn set(
        &mut self,
        object: impl Into<Option<ObjectId>>,
        path: impl IntoFieldPath,
        value: impl Into<Value>,
    ) -> Result<Value> {
        self.change(object.into().into(), path, &Request::Set(&value.into()))
    }

    /// Changes a field, and returns its old value if it was set.
    fn change(
        &mut self,
        owner: Owner,
        path: impl IntoFieldPath,
        request: &Request<'_>,
    ) -> Result<Value> {
        self.ready_to_change()?;
        let path = path.into_field_path()?;
        let (change, old) = self.target.change_field(owner, path, request)?;
        if let Some(change) = change {
            let change = Change::found(self.target, owner, change);
            self.record(change);
        }
        Ok(old.unwrap_or(Value::Unit))
    }

    /// Inserts an element into a list before the element at `index`, or at the end.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`set`](Self::set), and [`ErrorKind::NotFound`] if there is no such list, or `index`
    /// is beyond its end.
    pub fn insert_element(
        &mut self,
        object: impl Into<Option<ObjectId>>,
        list: impl IntoFieldPath,
        index: usize,
        value: impl Into<Value>,
    ) -> Result<()> {
        let value = value.into();
        let request = Request::Insert(index as u64, &value);
        self.change(object.into().into(), list, &request).map(drop)
    }

    /// Removes an element from a list.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`set`](Self::set), and [`ErrorKind::NotFound`] if there is no such element.
    pub fn remove_element(
        &mut self,
        object: impl Into<Option<ObjectId>>,
        list: impl IntoFieldPath,
        index: usize,
    ) -> Result<()> {
        self.change(object.into().into(), list, &Request::Remove(index as u64)).map(drop)
    }

    /// Moves an element of a list from index `from` to index `to`.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`remove_element`](Self::remove_element), for either index.
    pub fn move_element(
        &mut self,
        object: impl Into<Option<ObjectId>>,
        list: impl IntoFieldPath,
        from: usize,
        to: usize,
    ) -> Result<()> {
        if from == to {
            return self.ready_to_change();
        }
        let request = Request::Move(from as u64, to as u64);
        self.change(object.into().into(), list, &request).map(drop)
    }

    /// Removes a key of a map, and returns the value that it had. [`set`](Self::set) with a key that the map does not
    /// have inserts it.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`set`](Self::set), and [`ErrorKind::NotFound`] if the path does not end with a key
    /// of a map.
    pub fn remove_key(
        &mut self,
        object: impl Into<Option<ObjectId>>,
        key: impl IntoFieldPath,
    ) -> Result<Value> {
        self.change(object.into().into(), key, &Request::RemoveKey)
    }

    /// Returns the resource of a type.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if there is none.
    pub fn resource<T: Persist + Pointee + Sendable>(&self) -> Result<&T> {
        self.target.resource::<T>().ok_or_else(no_resource::<T>)
    }

    /// Returns the resource of a type, mutably. Changes are recorded like those of [`get_mut`](Self::get_mut).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`get_mut`](Self::get_mut).
    pub fn resource_mut<T: Persist + Pointee + Sendable>(&mut self) -> Result<&mut T> {
        self.check_first()?;
        if self.target.resource::<T>().is_none() {
            return Err(no_resource::<T>());
        }
        self.hand_out(ChangeTarget::Resource(TypeId::of::<T>()), T::persist_name)?;
        self.target.resource_mut::<T>().ok_or_else(no_resource::<T>)
    }

    /// Inserts a resource. A resource of the same type is removed first.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`World::insert_resource`], and an error if a `validate` function refuses the value.
    /// If the history has a journal that could not record it, returns [`ErrorKind::Unsupported`] if it holds shared
    /// pointers, and [`ErrorKind::WrongClass`] if its class is not registered with the saves.
    pub fn insert_resource<T: Persist + Pointee + Sendable>(&mut self, value: T) -> Result<()> {
        self.ready_to_change()?;
        self.target.registry_mut().register_resource::<T>()?;
        self.attach_detached(Owner::Resource, Detached::resource(value))
    }

    /// Removes the resource of a type.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if there is none. If the history has a journal, also returns the errors that
    /// [`insert_resource`](Self::insert_resource) returns for it.
    pub fn remove_resource<T: Persist + Pointee + Sendable>(&mut self) -> Result<()> {
        self.ready_to_change()?;
        if self.target.resource::<T>().is_none() {
            return Err(no_resource::<T>());
        }
        self.detach_of(Owner::Resource, T::persist_name())
    }
}

/// Objects, and their lists of components.
impl Edit<'_, World> {
    /// Creates an object, like [`World::spawn`].
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Borrowed`] while a component's method runs.
    pub fn spawn(&mut self, name: &str) -> Result<ObjectId> {
        self.ready_to_change()?;
        let object = self.target.spawn(name);
        self.record_of(Owner::Object(object), WorldChange::spawned(self.target, object));
        Ok(object)
    }

    /// Creates an object below another one, as its last child.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`World::spawn_in`].
    pub fn spawn_in(&mut self, parent: ObjectId, name: &str) -> Result<ObjectId> {
        self.ready_to_change()?;
        let object = self.target.spawn_in(parent, name)?;
        self.record_of(Owner::Object(object), WorldChange::spawned(self.target, object));
        Ok(object)
    }

    /// Creates an object with components, like [`World::spawn_with`], in one step.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`World::spawn_with`] and [`attach`](Self::attach). Then no object is created, and
    /// the components are released.
    pub fn spawn_with<B: Bundle>(&mut self, name: &str, components: B) -> Result<ObjectId> {
        self.ready_to_change()?;
        self.part(|edit| {
            let object = edit.target.spawn_with(name, components)?;
            edit.record_copy(object)?;
            let mut classes = edit.target.classes(object).into_iter();
            classes.try_for_each(|class| edit.target.validate(Owner::Object(object), &class))?;
            Ok(object)
        })
    }

    /// Creates an object for each bundle of components, like [`spawn_with`](Self::spawn_with). Returns the ids in their
    /// order.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`spawn_with`](Self::spawn_with). Then no object is created.
    pub fn spawn_many<B: Bundle>(
        &mut self,
        name: &str,
        components: impl IntoIterator<Item = B>,
    ) -> Result<Vec<ObjectId>> {
        self.part(|edit| components.into_iter().map(|one| edit.spawn_with(name, one)).collect())
    }

    /// Puts a copy of a prefab into the world, like [`World::instantiate`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`World::instantiate`]. If the history has a journal, also returns the errors that
    /// [`attach`](Self::attach) returns for it.
    pub fn instantiate(&mut self, prefab: &Prefab, external: ExternalIds) -> Result<ObjectId> {
        self.ready_to_change()?;
        let object = self.target.instantiate(prefab, external)?;
        self.record_copy(object)
    }

    /// Removes an object and its descendants.
    ///
    /// While this can be undone, the objects are kept outside the world and are not released. An undo restores them
    /// with their ids, so that references to them are valid again.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if the object does not exist. If the history has a journal, also returns the
    /// errors that [`attach`](Self::attach) returns for it, for each component in the subtree.
    pub fn remove(&mut self, object: ObjectId) -> Result<()> {
        self.ready_to_change()?;
        self.check_all_journaled(object)?;
        // Created before, while the object has its name.
        let owner = Owner::Object(object);
        let mut change =
            Change::new(self.target, owner, ChangeKind::World(WorldChange::Delete(None)));
        change.apply(self.target, Direction::Redo).map_err(|failure| failure.error)?;
        self.record(change);
        Ok(())
    }

    /// Attaches a component to an object, after its others. A component of the same type is detached first.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`World::attach`], and an error if a `validate` function of the component refuses it.
    /// If the history has a journal that could not record it, returns [`ErrorKind::Unsupported`] if it holds shared
    /// pointers, and [`ErrorKind::WrongClass`] if its class is not registered with the saves.
    pub fn attach<T: Component>(&mut self, object: ObjectId, component: T) -> Result<()> {
        self.ready_to_change()?;
        self.target.register_component::<T>()?;
        self.attach_detached(Owner::Object(object), Detached::component(component))
    }

    /// Attaches an empty component of a registered class, like [`World::attach_class`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`World::attach_class`].
    pub fn attach_class(&mut self, object: ObjectId, class: &str) -> Result<()> {
        self.ready_to_change()?;
        let component = Detached::empty_component(self.target, class)?;
        self.attach_detached(Owner::Object(object), component)
    }

    fn attach_detached(&mut self, owner: Owner, mut detached: Detached) -> Result<()> {
        let class = detached.class().to_owned();
        self.check_journaled(&class).map_err(|error| owner.locate(error))?;
        detached.check(self.target).map_err(|error| owner.locate(error))?;
        if self.target.has(owner, &class) {
            let detached = WorldChange::detach(self.target, owner, class)?;
            self.record_of(owner, detached);
        }
        let is_journaled = self.support.is_journaled;
        let attached = WorldChange::attach(self.target, owner, detached, is_journaled)?;
        self.record_of(owner, attached);
        Ok(())
    }

    /// Detaches a component. It is kept, and not released while this can be undone.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if the object does not exist, or has no such component. If the history has a
    /// journal, also returns the errors that [`attach`](Self::attach) returns for it.
    pub fn detach<T: Component>(&mut self, object: ObjectId) -> Result<()> {
        self.ready_to_change()?;
        self.target.register_component::<T>()?;
        self.detach_of(Owner::Object(object), T::persist_name())
    }

    /// Detaches the component of a class.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`detach`](Self::detach).
    pub fn detach_class(&mut self, object: ObjectId, class: &str) -> Result<()> {
        self.ready_to_change()?;
        self.detach_of(Owner::Object(object), class.to_owned())
    }

    fn detach_of(&mut self, owner: Owner, class: String) -> Result<()> {
        if self.target.has(owner, &class) {
            self.check_journaled(&class).map_err(|error| owner.locate(error))?;
        }
        let detached = WorldChange::detach(self.target, owner, class)?;
        self.record_of(owner, detached);
        Ok(())
    }

    /// Returns an error for a class that the journal, if there is one, could not record.
    fn check_journaled(&self, class: &str) -> Result<()> {
        check_journaled(self.support, self.target, class)
    }

    /// Checks all components of an object and of its descendants.
    fn check_all_journaled(&self, object: ObjectId) -> Result<()> {
        if !self.support.is_journaled {
            return Ok(());
        }
        let support = &*self.support;
        self.target.check_classes(object, |world, class| check_journaled(support, world, class))
    }

    /// Renames an object, like [`World::rename`], and returns the name that it got.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`World::rename`].
    pub fn rename(&mut self, object: ObjectId, name: &str) -> Result<&str> {
        self.name_by(object, |world| world.rename(object, name).map(drop))?;
        Ok(self.target.name(object).unwrap_or_default())
    }

    /// Gives an object a name that other objects may share, like [`World::share_name`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`World::share_name`].
    #[doc(hidden)]
    pub fn share_name(&mut self, object: ObjectId, name: &str) -> Result<()> {
        self.name_by(object, |world| world.share_name(object, name))
    }

    fn name_by(
        &mut self,
        object: ObjectId,
        give: impl FnOnce(&mut World) -> Result<()>,
    ) -> Result<()> {
        self.ready_to_change()?;
        let old = self.target.object_name(object);
        give(self.target)?;
        if let (Some(old), Some(new)) = (old, self.target.object_name(object)) {
            self.record_aspect(object, old == new, WorldChange::Rename { old, new });
        }
        Ok(())
    }

    /// Moves an object below another parent as its last child, or to the top level, like [`World::set_parent`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`World::set_parent`].
    pub fn set_parent(&mut self, object: ObjectId, parent: Option<ObjectId>) -> Result<()> {
        self.set_parent_at(object, parent, usize::MAX)
    }

    /// Moves an object below another parent, at an index among its children, like [`World::set_parent_at`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`World::set_parent_at`].
    pub fn set_parent_at(
        &mut self,
        object: ObjectId,
        parent: Option<ObjectId>,
        index: usize,
    ) -> Result<()> {
        self.ready_to_change()?;
        let old = self.target.tree_place(object);
        self.target.set_parent_at(object, parent, index)?;
        let new = self.target.tree_place(object);
        self.record_aspect(object, old == new, WorldChange::Move { old, new });
        Ok(())
    }

    /// Pauses, resumes or expires an object, like [`World::set_activity`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`World::set_activity`].
    pub fn set_activity(&mut self, object: ObjectId, activity: Activity) -> Result<()> {
        self.ready_to_change()?;
        let old = self.target.activity(object);
        self.target.set_activity(object, activity)?;
        if let Some(old) = old {
            let what = WorldChange::Activity { old, new: activity };
            self.record_aspect(object, old == activity, what);
        }
        Ok(())
    }

    fn record_copy(&mut self, object: ObjectId) -> Result<ObjectId> {
        let checked = self.check_all_journaled(object);
        let is_journaled = self.support.is_journaled;
        match checked.and_then(|()| WorldChange::copied(self.target, object, is_journaled)) {
            Ok(change) => {
                self.record_of(Owner::Object(object), change);
                Ok(object)
            }
            Err(error) => {
                self.target.remove(object);
                Err(error)
            }
        }
    }

    /// Records a change of an object other than of its components, unless it changed nothing.
    fn record_aspect(&mut self, object: ObjectId, is_same: bool, change: WorldChange) {
        if !is_same {
            self.record_of(Owner::Object(object), change);
        }
    }

    fn record_of(&mut self, owner: Owner, change: WorldChange) {
        let change = Change::new(self.target, owner, ChangeKind::World(change));
        self.record(change);
    }

    fn record(&mut self, change: Change) {
        self.steps.push(Step::Change(change));
    }
}

impl History<World> {
    /// Sets a field of a component, or of a resource if `object` is `None`, and returns the old value.
    ///
    /// The entry is named after the field.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`World::set_field`] and [`edit`](Self::edit).
    pub fn set(
        &mut self,
        world: &mut World,
        object: impl Into<Option<ObjectId>>,
        path: impl IntoFieldPath,
        value: impl Into<Value>,
    ) -> Result<Value> {
        let (object, value) = (object.into(), value.into());
        let path = path.into_field_path()?;
        self.check_usable(world)?;
        if let Some(object) = object.filter(|_| world.is_still())
            // The fast path runs no code of the program that could fail halfway.
            && let Some(replaced) = world.set_number(object, &path, &value)
        {
            let old = replaced.old();
            if replaced.is_other() {
                let field = FieldChange { path, how: replaced.how(), elements: 0 };
                let change = Change::found(world, Some(object).into(), field);
                self.enter_change(world, change)?;
            }
            return Ok(old);
        }
        self.edit(world, "", |edit| edit.set(object, path, value))
    }
}

/// Returns an error for a class of a world that the journal, if there is one, could not hold.
fn check_journaled(support: &Support<World>, world: &World, class: &str) -> Result<()> {
    if !support.is_journaled {
        return Ok(());
    }
    world.check_recordable(class)?;
    let number = world.registry().named(class);
    if number.is_some_and(|number| number < support.registered) {
        return Ok(());
    }
    Err(error!(
        ErrorKind::WrongClass,
        "the class is not registered with the saves, and the journal could not be replayed without it; register it before the session is opened"
    )
    .in_class(class))
}

#[cold]
fn no_resource<T: Persist>() -> Error {
    error!(ErrorKind::NotFound, "there is no resource {}; insert one", T::persist_name())
}
