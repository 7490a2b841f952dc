//! Edits of worlds: of the fields of components and resources, of objects, and of what these are made of.

use std::any::TypeId;

use super::Edit;
use super::edit::Step;
use super::support::{ChangeTarget, PendingChange};
use crate::codec::Pointee;
use crate::fields::{IntoFieldPath, Request};
use crate::world::{
    Activity, Bundle, Change, ChangeKind, Detached, Movable, Outside, Owner, Prefab,
};
use crate::{Component, Error, ErrorKind, ObjectId, Persist, Result, Value, World};

/// Fields and resources.
impl Edit<'_, World> {
    /// A component of an object.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the object is not there, or has none.
    pub fn get<T: Component>(&self, object: ObjectId) -> Result<&T> {
        match self.target.get::<T>(object) {
            Some(component) => Ok(component),
            None => Err(self.lacks::<T>(object)),
        }
    }

    /// A component of an object, mutably.
    ///
    /// At the end of the edit, or before the next method that changes objects or components, its fields are compared with
    /// what they were. Nothing is recorded if none differs. `skip`ped fields are not recorded, and neither are changes inside
    /// a `Cell` without `&mut`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the object is not there, or has none; [`ErrorKind::Unsupported`] if the class holds shared pointers, or the
    /// component what the program does not know.
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

    /// Notes what is handed out, once.
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

    /// Readies what changes a field without comparing whole components.
    fn ready_to_change(&mut self) -> Result<()> {
        self.ready()?;
        self.target.check_editable()
    }

    /// Sets a field of a component, or of a resource if there is `None` in place of an object, as [`World::set_field`], and
    /// returns what it was. It costs what the field does, not what the component does.
    ///
    /// # Errors
    ///
    /// Those of [`World::set_field`].
    pub fn set(
        &mut self,
        object: impl Into<Option<ObjectId>>,
        path: impl IntoFieldPath,
        value: impl Into<Value>,
    ) -> Result<Value> {
        self.change(object.into().into(), path, &Request::Set(&value.into()))
    }

    /// Does something to a field; what that was, if it was set.
    fn change(
        &mut self,
        owner: Owner,
        path: impl IntoFieldPath,
        request: &Request<'_>,
    ) -> Result<Value> {
        self.ready_to_change()?;
        let path = path.into_field_path()?;
        let (change, old) = self.target.change_field(owner, path, request)?;
        let change = change.map(|change| Change::found(self.target, owner, change));
        self.record(change);
        Ok(old.unwrap_or(Value::Unit))
    }

    /// Puts an element into a list, before the one of this index, or at its end.
    ///
    /// # Errors
    ///
    /// Those of [`set`](Self::set); [`ErrorKind::NotFound`] if there is no list, or the index is beyond its end.
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

    /// Takes an element out of a list.
    ///
    /// # Errors
    ///
    /// Those of [`set`](Self::set); [`ErrorKind::NotFound`] if there is no such element.
    pub fn remove_element(
        &mut self,
        object: impl Into<Option<ObjectId>>,
        list: impl IntoFieldPath,
        index: usize,
    ) -> Result<()> {
        self.change(object.into().into(), list, &Request::Remove(index as u64)).map(drop)
    }

    /// Moves an element of a list, so that it has another index.
    ///
    /// # Errors
    ///
    /// Those of [`remove_element`](Self::remove_element), for both.
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

    /// The resource of a type.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there is none.
    pub fn resource<T: Persist + Pointee + Movable>(&self) -> Result<&T> {
        self.target.resource::<T>().ok_or_else(no_resource::<T>)
    }

    /// The resource of a type, to be changed, as [`get_mut`](Self::get_mut) does it with a component.
    ///
    /// # Errors
    ///
    /// Those of [`get_mut`](Self::get_mut).
    pub fn resource_mut<T: Persist + Pointee + Movable>(&mut self) -> Result<&mut T> {
        self.check_first()?;
        if self.target.resource::<T>().is_none() {
            return Err(no_resource::<T>());
        }
        self.hand_out(ChangeTarget::Resource(TypeId::of::<T>()), T::persist_name)?;
        self.target.resource_mut::<T>().ok_or_else(no_resource::<T>)
    }

    /// Puts a resource in; one of its type that was there is taken out first.
    ///
    /// # Errors
    ///
    /// Those of [`World::insert_resource`]; what its `validate` functions refuse; [`ErrorKind::Unsupported`] and [`ErrorKind::WrongClass`] if a journal that there is
    /// could not hold it.
    pub fn insert_resource<T: Persist + Pointee + Movable>(&mut self, value: T) -> Result<()> {
        self.ready_to_change()?;
        self.target.registry_mut().register_resource::<T>()?;
        self.attach_detached(Owner::Resource, Detached::resource(value))
    }

    /// Takes the resource of a type out.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there is none; as [`insert_resource`](Self::insert_resource) of a journal.
    pub fn remove_resource<T: Persist + Pointee + Movable>(&mut self) -> Result<()> {
        self.ready_to_change()?;
        if self.target.resource::<T>().is_none() {
            return Err(no_resource::<T>());
        }
        self.detach_of(Owner::Resource, T::persist_name())
    }
}

/// Objects, and their lists of components.
impl Edit<'_, World> {
    /// Makes an object, as [`World::spawn`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Borrowed`] while a component's method runs.
    pub fn spawn(&mut self, name: &str) -> Result<ObjectId> {
        self.ready_to_change()?;
        let object = self.target.spawn(name);
        self.record([Change::spawned(self.target, object)]);
        Ok(object)
    }

    /// Makes an object below another one, as its last child.
    ///
    /// # Errors
    ///
    /// Those of [`World::spawn_in`].
    pub fn spawn_in(&mut self, parent: ObjectId, name: &str) -> Result<ObjectId> {
        self.ready_to_change()?;
        let object = self.target.spawn_in(parent, name)?;
        self.record([Change::spawned(self.target, object)]);
        Ok(object)
    }

    /// Makes an object with components, as [`World::spawn_with`], in one step.
    ///
    /// # Errors
    ///
    /// Those of [`World::spawn_with`] and [`attach`](Self::attach). No object is made then, and the components are released.
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

    /// Makes an object for each of these components, as [`spawn_with`](Self::spawn_with) does; returns them in their order.
    ///
    /// # Errors
    ///
    /// Those of [`spawn_with`](Self::spawn_with). No object is made then.
    pub fn spawn_many<B: Bundle>(
        &mut self,
        name: &str,
        components: impl IntoIterator<Item = B>,
    ) -> Result<Vec<ObjectId>> {
        self.part(|edit| components.into_iter().map(|one| edit.spawn_with(name, one)).collect())
    }

    /// Puts a copy of a prefab into the world, as [`World::instantiate`].
    ///
    /// # Errors
    ///
    /// Those of [`World::instantiate`]; as [`attach`](Self::attach) of a journal.
    pub fn instantiate(&mut self, prefab: &Prefab, outside: Outside) -> Result<ObjectId> {
        self.ready_to_change()?;
        let object = self.target.instantiate(prefab, outside)?;
        self.record_copy(object)
    }

    /// Removes an object and its descendants.
    ///
    /// Until that can no longer be undone they are parked, not released. An undo restores them as they were,
    /// with their ids, so that references to them are valid again.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the object is not there; as [`attach`](Self::attach) of a journal, if a component in it could not be held.
    pub fn remove(&mut self, object: ObjectId) -> Result<()> {
        self.ready_to_change()?;
        self.check_all_journaled(object)?;
        let change = Change::delete(self.target, object)?;
        self.record([change]);
        Ok(())
    }

    /// Attaches a component to an object, after its others; one of its type that the object had is detached.
    ///
    /// # Errors
    ///
    /// Those of [`World::attach`]; what the component's `validate` functions refuse. If there is a journal, which could not hold it:
    /// [`ErrorKind::Unsupported`] if it holds shared pointers, [`ErrorKind::WrongClass`] if its class is not registered with the saves.
    pub fn attach<T: Component>(&mut self, object: ObjectId, component: T) -> Result<()> {
        self.ready_to_change()?;
        self.target.register::<T>()?;
        self.attach_detached(Owner::Object(object), Detached::component(component))
    }

    /// Attaches an empty component of a registered class, as [`World::attach_class`].
    ///
    /// # Errors
    ///
    /// Those of [`World::attach_class`].
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
            let detached = Change::detach(self.target, owner, class)?;
            self.record([detached]);
        }
        let is_journaled = self.support.is_journaled;
        let attached = Change::attach(self.target, owner, detached, is_journaled)?;
        self.record([attached]);
        Ok(())
    }

    /// Detaches a component; it is not released until that can no longer be undone.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the object is not there, or has none; as [`attach`](Self::attach) of a journal.
    pub fn detach<T: Component>(&mut self, object: ObjectId) -> Result<()> {
        self.ready_to_change()?;
        self.target.register::<T>()?;
        self.detach_of(Owner::Object(object), T::persist_name())
    }

    /// Detaches the component of a class.
    ///
    /// # Errors
    ///
    /// Those of [`detach`](Self::detach).
    pub fn detach_class(&mut self, object: ObjectId, class: &str) -> Result<()> {
        self.ready_to_change()?;
        self.detach_of(Owner::Object(object), class.to_owned())
    }

    fn detach_of(&mut self, owner: Owner, class: String) -> Result<()> {
        if self.target.has(owner, &class) {
            self.check_journaled(&class).map_err(|error| owner.locate(error))?;
        }
        let detached = Change::detach(self.target, owner, class)?;
        self.record([detached]);
        Ok(())
    }

    /// Refuses what a journal that there is cannot hold.
    fn check_journaled(&self, class: &str) -> Result<()> {
        self.support.check_journaled(self.target, class)
    }

    /// Checks all components of an object and of its descendants.
    fn check_all_journaled(&self, object: ObjectId) -> Result<()> {
        if !self.support.is_journaled {
            return Ok(());
        }
        self.target.check_classes(object, |world, class| self.support.check_journaled(world, class))
    }

    /// Gives an object another name, as [`World::rename`]; returns what it got.
    ///
    /// # Errors
    ///
    /// Those of [`World::rename`].
    pub fn rename(&mut self, object: ObjectId, name: &str) -> Result<&str> {
        self.name_by(object, |world| world.rename(object, name).map(drop))?;
        Ok(self.target.name(object).unwrap_or_default())
    }

    /// Gives an object a name that others may have, too, as [`World::share_name`].
    ///
    /// # Errors
    ///
    /// Those of [`World::share_name`].
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
            self.record_aspect(object, old == new, ChangeKind::Rename { old, new });
        }
        Ok(())
    }

    /// Puts an object below another one as its last child, or below none, as [`World::set_parent`].
    ///
    /// # Errors
    ///
    /// Those of [`World::set_parent`].
    pub fn set_parent(&mut self, object: ObjectId, parent: Option<ObjectId>) -> Result<()> {
        self.set_parent_at(object, parent, usize::MAX)
    }

    /// Puts an object below another one, at an index among its children, as [`World::set_parent_at`].
    ///
    /// # Errors
    ///
    /// Those of [`World::set_parent_at`].
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
        self.record_aspect(object, old == new, ChangeKind::Move { old, new });
        Ok(())
    }

    /// Pauses, resumes or expires an object, as [`World::set_activity`].
    ///
    /// # Errors
    ///
    /// Those of [`World::set_activity`].
    pub fn set_activity(&mut self, object: ObjectId, activity: Activity) -> Result<()> {
        self.ready_to_change()?;
        let old = self.target.activity(object);
        self.target.set_activity(object, activity)?;
        if let Some(old) = old {
            let what = ChangeKind::Activity { old, new: activity };
            self.record_aspect(object, old == activity, what);
        }
        Ok(())
    }

    fn record_copy(&mut self, object: ObjectId) -> Result<ObjectId> {
        let checked = self.check_all_journaled(object);
        match checked.and_then(|()| Change::copied(self.target, object, self.support.is_journaled))
        {
            Ok(change) => {
                self.record([change]);
                Ok(object)
            }
            Err(error) => {
                self.target.remove(object);
                Err(error)
            }
        }
    }

    /// Records what was done to an object besides its components, unless it is as it was.
    fn record_aspect(&mut self, object: ObjectId, is_same: bool, what: ChangeKind) {
        let change = (!is_same).then(|| Change::of_object(self.target, object, what));
        self.record(change);
    }

    fn record(&mut self, changes: impl IntoIterator<Item = Change>) {
        changes.into_iter().for_each(|change| self.steps.push(Step::Change(change)));
    }
}

#[cold]
fn no_resource<T: Persist>() -> Error {
    error!(ErrorKind::NotFound, "there is no resource {}; insert one", T::persist_name())
}
