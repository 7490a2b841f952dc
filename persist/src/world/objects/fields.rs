//! Fields of components and resources, read and changed by their paths.
//!
//! A path is followed through structs, enums, lists and maps in memory. Only the innermost part that can be borrowed is
//! encoded, and the rest of the path is followed in its bytes.

use std::any::Any;
use std::ops::Range;

use crate::codec::{Portable, TraitObject as _};
use crate::fields::{
    FieldChange, FieldPart, IntoFieldPath, NumberField, Owner, PartBuffers, ReplacedNumber,
    Request, Root,
};
use crate::types::{Arena as _, WorldObjects};
use crate::value::HandleValue;
use crate::world::{Location, World};
use crate::{Error, ErrorKind, FieldPath, ObjectId, Peek, Result, Value, names};

/// The maximum number of cached paths to numbers. Further paths take the general way, which is only slower.
const MAX_NUMBERS: usize = 1 << 16;

/// The number of a path that does not lead to a plain number. `FieldPath::know_in` adds 1, so `u32::MAX` would
/// overflow.
const NO_NUMBER: u32 = u32::MAX - 1;

/// These methods read and set fields by their paths.
impl World {
    /// Returns the value of a field of a component or resource; see [`FieldPath`].
    ///
    /// `None` in place of an object reads a resource. A path with only a class returns the whole component. Fields
    /// marked `skip` are not included.
    ///
    /// # Errors
    ///
    /// Returns an error if the field cannot be read:
    ///
    /// - [`ErrorKind::NotFound`] if an object, a component or a part of the path does not exist;
    /// - [`ErrorKind::InvalidValue`] if the text is not a valid path;
    /// - [`ErrorKind::Unsupported`] if the field holds a shared pointer, or an [`Unknown`](crate::Unknown) that is not
    ///   empty;
    /// - [`ErrorKind::Borrowed`] while a method of the component is running.
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
    ///
    /// world.insert_resource(Place { x: 0.0, y: 9.0 })?;
    /// assert_eq!(world.get_field(None, "Place:y")?, Value::F32(9.0));
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn get_field(
        &self,
        object: impl Into<Option<ObjectId>>,
        path: impl IntoFieldPath,
    ) -> Result<Value> {
        let (owner, path) = (Owner::from(object.into()), path.into_field_path()?);
        let read = || {
            let root = self.root(owner, path.class())?;
            let mut buffers = PartBuffers::default();
            FieldPart::find(&mut buffers, &self.registry, root, path.steps())?.value()
        };
        read().map_err(|error| owner.name(error, path.class()))
    }

    /// Reads a field like [`get_field`](Self::get_field), but only some elements of large containers.
    ///
    /// - If the path leads to a list, array, set or map, its elements in `range` are read. The range may end beyond the
    ///   last element.
    /// - A container inside the value is read if it has at most as many elements as `range`. A larger one comes empty:
    ///   peek again at its path to read a range of it.
    /// - Keys of maps and elements of sets are read whole.
    ///
    /// The time depends on what is read, and for a map or set on the start of the range. Containers in options, tuples
    /// and `with` modules are encoded as a whole first. If only a part of a `HashMap` is read, its entries are in the
    /// order of its table, which an insertion may change, and not in that of a save.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`get_field`](Self::get_field), for what is read.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{Component, Persist, Value, World, field};
    ///
    /// #[derive(Persist)]
    /// struct Bag { name: String, items: Vec<u32> }
    ///
    /// impl Component for Bag {}
    ///
    /// let mut world = World::new();
    /// let ada = world.spawn("Ada");
    /// world.attach(ada, Bag { name: "Purse".into(), items: (0..100_000).collect() })?;
    ///
    /// let bag = world.peek_field(ada, "Bag", 0..50)?;
    /// assert_eq!(bag.cut, [(field!(Bag.items).into(), 100_000)]);
    /// let page = world.peek_field(ada, "Bag:items", 50..52)?;
    /// assert_eq!(page.value, Value::from(vec![Value::U32(50), Value::U32(51)]));
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn peek_field(
        &self,
        object: impl Into<Option<ObjectId>>,
        path: impl IntoFieldPath,
        range: Range<usize>,
    ) -> Result<Peek> {
        let (owner, path) = (Owner::from(object.into()), path.into_field_path()?);
        let root = self.root(owner, path.class());
        let peek = root.and_then(|root| Peek::new(&self.registry, root, &path, range));
        peek.map_err(|error| owner.name(error, path.class()))
    }

    /// Sets a field of a component or resource, and returns its old value.
    ///
    /// `None` in place of an object sets a field of a resource. The value is checked against the kind of the field
    /// before anything changes:
    ///
    /// - An integer may have any width, and must fit.
    /// - A float is rounded to the width of the field. A float that is too large for the field is an error.
    /// - For an option, a value that is not an option is wrapped in `Some`.
    /// - A path that ends with a new key of a map inserts it, and the old value is [`Value::Unit`].
    /// - A struct needs all its fields. A variant without fields can be given by its name.
    /// - An [`ObjectId`] must belong to an object of this world.
    ///
    /// Then the `validate` functions of the component run, and no other hooks. If they or the type refuse the value,
    /// the field is restored. After a set and after a refusal, skipped fields inside options and maps of the field have
    /// the values that they have after a load.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`get_field`](Self::get_field), and these. The field is then unchanged:
    ///
    /// - [`ErrorKind::KindMismatch`] if the value has another kind than the field, or does not fit;
    /// - [`ErrorKind::NotFound`] if the value is the id of an object that is not in the world;
    /// - [`ErrorKind::InvalidValue`] if the type does not allow the value, such as 0 for a `NonZeroU8`;
    /// - [`ErrorKind::Refused`] if a `validate` function or a `with` module refuses the value.
    pub fn set_field(
        &mut self,
        object: impl Into<Option<ObjectId>>,
        path: impl IntoFieldPath,
        value: impl Into<Value>,
    ) -> Result<Value> {
        let path = path.into_field_path()?;
        let (_, old) =
            self.change_field(object.into().into(), path, &Request::Set(&value.into()))?;
        Ok(old.unwrap_or(Value::Unit))
    }

    /// Applies a request to a field, and returns the change; `None` if the field has the same value as before. For a
    /// set, also returns the old value. If the field or the component refuses, the field is restored.
    pub(crate) fn change_field(
        &mut self,
        owner: Owner,
        path: FieldPath,
        request: &Request<'_>,
    ) -> Result<(Option<FieldChange>, Option<Value>)> {
        if let (Request::Set(value), Owner::Object(object)) = (request, owner)
            && let Some(replaced) = self.set_number(object, &path, value)
        {
            let how = replaced.is_other().then(|| replaced.how());
            return Ok((
                how.map(|how| FieldChange { path, how, elements: 0 }),
                Some(replaced.old()),
            ));
        }
        let class = path.clone();
        let result = self
            .root_mut(owner, class.class())
            .and_then(|(mut root, objects)| root.record(path, request, &objects));
        let (change, old) = result.map_err(|error| owner.name(error, class.class()))?;
        Ok((Some(change).filter(|change| !change.does_nothing()), old))
    }

    /// Sets a number in place, without running code of the program. Returns `None` if the field is not a plain number,
    /// or the value does not fit.
    pub(crate) fn set_number(
        &mut self,
        object: ObjectId,
        path: &FieldPath,
        value: &Value,
    ) -> Option<ReplacedNumber> {
        let (root, field) = self.number_field(object, path)?;
        field.set(root, value)
    }

    /// Returns the component and the number that a path leads to; `None` if it does not lead to a plain number.
    pub(super) fn number_field(
        &mut self,
        object: ObjectId,
        path: &FieldPath,
    ) -> Option<(&mut dyn Any, &NumberField)> {
        let world = u32::try_from(self.identity.0).ok()?;
        let number = match path.known_in(world) {
            Some(number) => number,
            None => self.resolve(object, path, world)?,
        };
        let (column, field) = self.numbers.known.get(number as usize)?;
        let location = self.directory.location(object)?;
        let component = self.columns.get_mut(*column)?.column.get_mut(location)?;
        Some((component.portable_mut(), field))
    }

    /// Looks up a path, and caches the result in it: the index of its number field, or [`NO_NUMBER`].
    #[cold]
    fn resolve(&mut self, object: ObjectId, path: &FieldPath, world: u32) -> Option<u32> {
        let number = match self.numbers.by_path.get(path) {
            Some(number) => *number,
            None => {
                let (column, location) = self.component_location(object, path.class()).ok()?;
                let root: &dyn Any = self.columns[column].column.get(location)?.portable();
                let field = NumberField::find(&self.registry, root, path.steps());
                match field.filter(|_| self.numbers.known.len() < MAX_NUMBERS) {
                    Some(field) => {
                        let number = u32::try_from(self.numbers.known.len()).ok()?;
                        self.numbers.known.push((column, field));
                        self.numbers.by_path.insert(path.clone(), number);
                        number
                    }
                    None => NO_NUMBER,
                }
            }
        };
        path.know_in(world, number);
        Some(number)
    }

    /// Returns the component of an object or the resource with a class.
    pub(super) fn root(&self, owner: Owner, class: &str) -> Result<&dyn Portable> {
        match owner {
            Owner::Object(object) => {
                let (column, location) = self.component_location(object, class)?;
                let component = self.columns[column].column.get(location);
                Ok(component.ok_or_else(|| running(class))?.portable())
            }
            Owner::Resource => {
                let place = self.resource_place(class)?;
                Ok((*self.resources.values[place].2).portable())
            }
        }
    }

    /// Returns a component or resource like [`root`](Self::root), to change it. The second value is a function that
    /// refuses ids of objects that are not in the world.
    pub(super) fn root_mut(
        &mut self,
        owner: Owner,
        class: &str,
    ) -> Result<(Root<'_>, impl Fn(&str, HandleValue) -> Result<()>)> {
        let value = match owner {
            Owner::Object(object) => {
                let (column, location) = self.component_location(object, class)?;
                let component = self.columns[column].column.get_mut(location);
                component.ok_or_else(|| running(class))?.portable_mut()
            }
            Owner::Resource => {
                let place = self.resource_place(class)?;
                (*self.resources.values[place].2).portable_mut()
            }
        };
        let (directory, objects) = (&self.directory, &self.objects);
        let check = |arena: &str, handle| {
            let HandleValue::Live(bits) = handle else { return Ok(()) };
            let location = ObjectId::new(bits).and_then(|id| directory.location(id));
            if arena != WorldObjects::NAME || location.is_some_and(|at| objects.has(at)) {
                return Ok(());
            }
            Err(error!(
                ErrorKind::NotFound,
                "object #{bits} is not in the world; set the id of one that is, or of none"
            ))
        };
        Ok((Root { registry: &self.registry, value, buffers: &mut self.numbers.buffers }, check))
    }

    /// Returns the column of a class, and the place of the object's component in it.
    fn component_location(&self, object: ObjectId, class: &str) -> Result<(usize, Location)> {
        let (column, location) = (self.column_of_class(class), self.directory.location(object));
        if let (Ok(column), Some(location)) = (&column, location)
            && self.columns[*column].column.get(location).is_some()
        {
            return Ok((*column, location));
        }
        let found = self.check(object)?;
        let column = column
            .map_err(|error| with_colon(class, error, |class| self.by_class.contains_key(class)))?;
        // A component whose method is running is not in its column, but in the shape.
        match location.filter(|_| self.shapes.columns(found.shape).contains(&column)) {
            Some(location) => Ok((column, location)),
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
        self.resources.position(class).ok_or_else(|| {
            let known = self.resources.values.iter().map(|(_, name, _)| &**name);
            let message = match names::nearest(class, known) {
                Some(near) => format!("there is no resource {class}; did you mean `{near}`?"),
                None => format!("there is no resource {class}; insert one"),
            };
            let error = Error::new(ErrorKind::NotFound, message);
            with_colon(class, error, |class| self.resources.position(class).is_some())
        })
    }
}

/// Improves the error for a path such as `Transform.position.x`, which has a dot in place of the colon after the class.
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
    error!(
        ErrorKind::Borrowed,
        "a method of {class} runs, and it is out of its place; use it there"
    )
}
