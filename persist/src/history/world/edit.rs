//! Edits of the fields of a world, and of its resources.

use std::any::TypeId;

use super::pending::Handed;
use crate::codec::Pointee;
use crate::fields::{FieldChange, IntoFieldPath, Request};
use crate::history::edit::{Pending, Place};
use crate::history::step::Step;
use crate::history::{Edit, History};
use crate::world::{Change, Detached, Movable, Owner};
use crate::{Component, Error, ErrorKind, ObjectId, Persist, Result, Value, World};

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
        self.hand_out(Place::Component(column, object), Owner::Object(object), T::persist_name)?;
        match self.target.get_mut::<T>(object) {
            Some(component) => Ok(component),
            None => Err(Error::new(ErrorKind::NotFound, "the component is not there")),
        }
    }

    /// Notes what is handed out, once.
    fn hand_out(&mut self, place: Place, owner: Owner, class: fn() -> String) -> Result<()> {
        if self.is_pending(place) {
            return Ok(());
        }
        self.target.check_editable()?;
        if let Owner::Object(object) = owner {
            self.touch(object);
        }
        let handed = Handed::new(self.target, place, owner, class)?;
        self.pending.push(Pending::Handed(handed));
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
    pub(super) fn ready_to_change(&mut self) -> Result<()> {
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
        if let Owner::Object(object) = owner {
            self.touch(object);
        }
        let path = path.into_field_path(&self.target.paths)?;
        let (change, old) = self.target.record(owner, path, request)?;
        change.into_iter().for_each(|change| self.steps.push(Step::Change(change)));
        Ok(old)
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
        self.hand_out(Place::Resource(TypeId::of::<T>()), Owner::Resource, T::persist_name)?;
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

#[cold]
fn no_resource<T: Persist>() -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("there is no resource {}; insert one", T::persist_name()),
    )
}

impl History<World> {
    /// Sets a field of a component of an object, or of a resource if there is `None` in its place, as an entry that is
    /// called after it; returns what it was.
    ///
    /// # Errors
    ///
    /// Those of [`World::set_field`] and [`edit`](Self::edit).
    pub fn set(
        &mut self,
        world: &mut World,
        object: impl Into<Option<ObjectId>>,
        path: impl IntoFieldPath,
        value: impl Into<Value>,
    ) -> Result<Value> {
        let (object, value) = (object.into(), value.into());
        let path = path.into_field_path(&world.paths)?;
        self.check_usable(world)?;
        if let Some(object) = object.filter(|_| !self.is_watched() && world.is_still())
            // No code of the program runs that could fail halfway.
            && let Some((replaced, name)) = world.replace_number(object, &path, &value)
        {
            let old = replaced.old();
            if replaced.is_other() {
                let field = FieldChange { path, how: replaced.how() };
                self.enter_change(world, Change::set(object, name, field))?;
            }
            return Ok(old);
        }
        self.edit(world, "", |edit| edit.set(object, path, value))
    }
}
