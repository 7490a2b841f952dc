//! Fields of components and resources, read and set by their paths.
//!
//! Structs and enums are gone through where they lie; only the innermost field that is reached so is
//! encoded, and what a path asks for further in is found in its bytes.

use super::World;
use super::change::Splice;
use super::directory::Place;
use super::part::Part;
use super::path::{FieldPath, IntoFieldPath};
use crate::codec::{Portable, TraitObject as _};
use crate::graph::Registry;
use crate::types::{Arena as _, WorldObjects};
use crate::value::HandleValue;
use crate::{Error, ErrorKind, ObjectId, Result, Value, names};

/// Whose field a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The object's component of the path's class.
    Object(ObjectId),
    /// The resource of the path's class.
    Resource,
}

/// Where a component or a resource is, until the next one comes or goes.
#[derive(Clone, Copy)]
pub(super) enum Spot {
    /// In a column.
    Component(usize, Place),
    /// Among the resources.
    Resource(usize),
}

impl Owner {
    /// An error that says where it happened.
    pub(super) fn name(self, error: Error, class: &str) -> Error {
        let error = error.in_class(class);
        match self {
            Self::Object(object) => error.in_object(object.get()),
            Self::Resource => error,
        }
    }
}

impl World {
    /// The value of a field of a component, of the field's own kind; see [`FieldPath`](crate::FieldPath).
    ///
    /// The path of a class alone gives the whole component. Fields that are `skip`ped are not there.
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::NotFound`] with object, class and the part of the path that is missing at the time;
    /// - [`ErrorKind::InvalidValue`] if a text is no path;
    /// - [`ErrorKind::Unsupported`] if a shared pointer lies in the field, or an [`Unknown`](crate::Unknown) that is not empty;
    /// - [`ErrorKind::Borrowed`] while a method of the component runs.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{Component, Persist, Value, World, field};
    ///
    /// #[derive(Persist)]
    /// struct Transform { position: Place }
    ///
    /// #[derive(Persist)]
    /// struct Place { x: f32, y: f32 }
    ///
    /// impl Component for Transform {}
    ///
    /// let mut world = World::new();
    /// let ada = world.spawn("Ada");
    /// world.attach(ada, Transform { position: Place { x: 1.0, y: 2.0 } })?;
    ///
    /// let old = world.set_field(ada, "Transform:position.x", 0.1)?;
    /// assert_eq!(old, Value::F32(1.0));
    /// assert_eq!(world.get_field(ada, field!(Transform.position.x))?, Value::F32(0.1));
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn get_field(&self, object: ObjectId, path: impl IntoFieldPath) -> Result<Value> {
        self.value_at(Owner::Object(object), &path.into_field_path()?)
    }

    /// Sets a field of a component, and returns what it was.
    ///
    /// The value is checked against the kind of the field before anything changes. An integer of any width must fit. A float
    /// is rounded to the width of the field, as an editor has its numbers in `f64`; one too large for it is refused. What
    /// is not an option becomes the `Some` of one; a struct needs all its fields, an enum without fields is given by the name of the variant. An
    /// [`ObjectId`] must be of this world.
    ///
    /// Then the `validate` functions of the component run, if it has some; no other hook does. If they or the type refuse, the field is put
    /// back. What is `skip`ped in the values of options and maps inside of the field is as after a load then, and after a set.
    ///
    /// # Errors
    ///
    /// Those of [`get_field`](Self::get_field), and the field then is as it was:
    ///
    /// - [`ErrorKind::KindMismatch`] if the value is not one of the kind of the field, or does not fit;
    /// - [`ErrorKind::NotFound`] if it leads to an object that is not in the world;
    /// - [`ErrorKind::InvalidValue`] if the type does not have it, such as 0 for a `NonZeroU8`;
    /// - [`ErrorKind::Refused`] if a `validate` function or a `with` module refuses it.
    pub fn set_field(
        &mut self,
        object: ObjectId,
        path: impl IntoFieldPath,
        value: impl Into<Value>,
    ) -> Result<Value> {
        self.set_at(Owner::Object(object), &path.into_field_path()?, &value.into())
    }

    /// The value of a field of a resource, like [`get_field`](Self::get_field).
    ///
    /// # Errors
    ///
    /// Those of [`get_field`](Self::get_field).
    ///
    /// # Example
    ///
    /// ```
    /// # use persist::{Persist, Value, World};
    /// #[derive(Persist)]
    /// struct Score(u32);
    ///
    /// let mut world = World::new();
    /// world.insert_resource(Score(1))?;
    /// world.set_resource_field("Score:0", 7)?;
    /// assert_eq!(world.get_resource_field("Score:0")?, Value::U32(7));
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn get_resource_field(&self, path: impl IntoFieldPath) -> Result<Value> {
        self.value_at(Owner::Resource, &path.into_field_path()?)
    }

    /// Sets a field of a resource, like [`set_field`](Self::set_field), and returns the old value.
    ///
    /// # Errors
    ///
    /// Those of [`set_field`](Self::set_field).
    pub fn set_resource_field(
        &mut self,
        path: impl IntoFieldPath,
        value: impl Into<Value>,
    ) -> Result<Value> {
        self.set_at(Owner::Resource, &path.into_field_path()?, &value.into())
    }

    fn value_at(&self, owner: Owner, path: &FieldPath) -> Result<Value> {
        let read = || {
            let root = self.root(owner, path.class())?;
            Part::find(&self.registry, root, path.steps())?.value(&self.registry)
        };
        read().map_err(|error| owner.name(error, path.class()))
    }

    fn set_at(&mut self, owner: Owner, path: &FieldPath, value: &Value) -> Result<Value> {
        let spliced = self.splice(owner, path, &Splice::Set(value))?;
        Ok(spliced.old_value.unwrap_or(Value::Unit))
    }

    /// What has the fields of a path: a component of an object, or a resource.
    pub(super) fn root(&self, owner: Owner, class: &str) -> Result<&dyn Portable> {
        self.root_at(self.spot(owner, class)?, class)
    }

    pub(super) fn root_mut(
        &mut self,
        owner: Owner,
        class: &str,
    ) -> Result<(&Registry, &mut dyn Portable)> {
        self.root_mut_at(self.spot(owner, class)?, class)
    }

    /// Where the component or the resource of a class is.
    pub(super) fn spot(&self, owner: Owner, class: &str) -> Result<Spot> {
        Ok(match owner {
            Owner::Object(object) => {
                let (column, place) = self.component_place(object, class)?;
                Spot::Component(column, place)
            }
            Owner::Resource => Spot::Resource(self.resource_place(class)?),
        })
    }

    /// The component or resource at a place.
    pub(super) fn root_at(&self, spot: Spot, class: &str) -> Result<&dyn Portable> {
        match spot {
            Spot::Component(column, place) => {
                let component = self.columns[column].column.get(place);
                Ok(component.ok_or_else(|| running(class))?.portable())
            }
            Spot::Resource(place) => Ok((*self.resources.values[place].2).portable()),
        }
    }

    pub(super) fn root_mut_at(
        &mut self,
        spot: Spot,
        class: &str,
    ) -> Result<(&Registry, &mut dyn Portable)> {
        match spot {
            Spot::Component(column, place) => {
                let component = self.columns[column].column.get_mut(place);
                let component = component.ok_or_else(|| running(class))?;
                Ok((&self.registry, component.portable_mut()))
            }
            Spot::Resource(place) => {
                Ok((&self.registry, (*self.resources.values[place].2).portable_mut()))
            }
        }
    }

    /// The column of a class, and the place there of an object that has such a component.
    fn component_place(&self, object: ObjectId, class: &str) -> Result<(usize, Place)> {
        let (column, place) = (self.column_of_class(class), self.directory.place(object));
        if let (Ok(column), Some(place)) = (&column, place)
            && self.columns[*column].column.has(place)
        {
            return Ok((*column, place));
        }
        let found = self.check(object)?;
        let column = column
            .map_err(|error| with_colon(class, error, |class| self.by_class.contains_key(class)))?;
        // One that runs is out of its place.
        match place.filter(|_| self.shapes.columns(found.shape).contains(&column)) {
            Some(place) => Ok((column, place)),
            None => Err(Error::new(
                ErrorKind::NotFound,
                match self.name(object) {
                    Some(name) => format!("the object `{name}` has no {class}; attach one"),
                    None => format!("the object has no {class}; attach one"),
                },
            )),
        }
    }

    fn resource_place(&self, class: &str) -> Result<usize> {
        let mut values = self.resources.values.iter();
        values.position(|(_, name, _)| name == class).ok_or_else(|| {
            let known = self.resources.values.iter().map(|(_, name, _)| &**name);
            let message = match names::nearest(class, known) {
                Some(near) => format!("there is no resource {class}; did you mean `{near}`?"),
                None => format!("there is no resource {class}; insert one"),
            };
            let error = Error::new(ErrorKind::NotFound, message);
            with_colon(class, error, |class| {
                self.resources.values.iter().any(|(_, name, _)| name == class)
            })
        })
    }

    /// Refuses the id of an object that is not there.
    pub(super) fn check_handle(&self, arena: &str, handle: HandleValue) -> Result<()> {
        let HandleValue::Live(bits) = handle else { return Ok(()) };
        if arena != WorldObjects::NAME || ObjectId::new(bits).is_some_and(|id| self.contains(id)) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::NotFound,
            format!("object #{bits} is not in the world; set the id of one that is, or of none"),
        ))
    }
}

/// Says what is to be written where a class is followed by a dot, as menus have it, in place of the colon.
#[cold]
fn with_colon(class: &str, error: Error, is_class: impl Fn(&str) -> bool) -> Error {
    let mut dots = class.rmatch_indices('.').map(|(at, _)| (&class[..at], &class[at + 1..]));
    match dots.find(|(class, _)| is_class(class)) {
        Some((known, path)) => {
            let message = format!(
                "there is no class `{class}`, but there is `{known}`; write `{known}:{path}`, with a colon after the class"
            );
            error.reworded(message)
        }
        None => error,
    }
}

#[cold]
fn running(class: &str) -> Error {
    Error::new(
        ErrorKind::Borrowed,
        format!("a method of {class} runs, and it is out of its place; use it there"),
    )
}
