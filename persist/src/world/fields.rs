//! Fields of components and resources, read and set by their paths.
//!
//! Structs and enums are gone through where they lie; only the innermost field that is reached so is
//! encoded, and what a path asks for further in is found in its bytes.

use std::any::Any;

use super::World;
use super::directory::Place;
use super::field_links::FieldLinks;
use super::path::{IntoFieldPath, Step, Steps};
use crate::codec::{
    Buffer, ClassAccess, Decoder, NoVisitLinks, Phase, Portable, TraitObject as _, Visitor,
    left_over,
};
use crate::schema::{Cursor, Strict};
use crate::types::{Arena as _, WorldObjects};
use crate::{Error, ErrorKind, HandleValue, Limits, ObjectId, Registry, Result, Value};

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
        let path = path.into_field_path()?;
        let read = || {
            let (column, place) = self.component_place(object, path.class())?;
            let component = self.columns[column].column.get(place);
            let component = component.ok_or_else(|| running(path.class()))?;
            Part::find(&self.registry, component.portable(), path.steps())?.value(&self.registry)
        };
        read().map_err(|error| error.in_object(object.get()).in_class(path.class()))
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
    /// As [`get_field`](Self::get_field), and the field then is as it was:
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
        let path = path.into_field_path()?;
        let value = value.into();
        let mut set = || {
            let (column, place) = self.component_place(object, path.class())?;
            let component = self.columns[column].column.get(place);
            let component = component.ok_or_else(|| running(path.class()))?;
            let edit = self.edit(component.portable(), path.steps(), &value)?;
            let Self { columns, registry, .. } = &mut *self;
            let component = columns[column].column.get_mut(place);
            let component = component.ok_or_else(|| running(path.class()))?;
            edit.make(registry, component.portable_mut())
        };
        set().map_err(|error| error.in_object(object.get()).in_class(path.class()))
    }

    /// The value of a field of a resource, as [`get_field`](Self::get_field).
    ///
    /// # Errors
    ///
    /// As there.
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
        let path = path.into_field_path()?;
        let read = || {
            let resource = &self.resources.values[self.resource_place(path.class())?].2;
            let resource = (**resource).portable();
            Part::find(&self.registry, resource, path.steps())?.value(&self.registry)
        };
        read().map_err(|error| error.in_class(path.class()))
    }

    /// Sets a field of a resource, as [`set_field`](Self::set_field), and returns what it was.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn set_resource_field(
        &mut self,
        path: impl IntoFieldPath,
        value: impl Into<Value>,
    ) -> Result<Value> {
        let path = path.into_field_path()?;
        let value = value.into();
        let mut set = || {
            let place = self.resource_place(path.class())?;
            let resource = &self.resources.values[place].2;
            let edit = self.edit((**resource).portable(), path.steps(), &value)?;
            let resource = &mut self.resources.values[place].2;
            edit.make(&self.registry, (**resource).portable_mut())
        };
        set().map_err(|error| error.in_class(path.class()))
    }

    /// The column of a class, and the place there of an object that has such a component.
    fn component_place(&self, object: ObjectId, class: &str) -> Result<(usize, Place)> {
        let found = self.check(object)?;
        let column = self.column_of_class(class)?;
        let place = self.directory.place(object);
        match place.filter(|_| self.shapes.columns(found.shape).contains(&column)) {
            Some(place) => Ok((column, place)),
            None => Err(Error::new(
                ErrorKind::NotFound,
                format!("the object `{}` has no {class}; attach one", found.name),
            )),
        }
    }

    fn resource_place(&self, class: &str) -> Result<usize> {
        let mut values = self.resources.values.iter();
        values.position(|(_, name, _)| name == class).ok_or_else(|| {
            let message = format!("there is no resource {class}; insert one");
            Error::new(ErrorKind::NotFound, message)
        })
    }

    /// Works out what is to be done to set a field.
    fn edit<'p>(&self, root: &dyn Portable, steps: &'p [Step], value: &Value) -> Result<Edit<'p>> {
        let part = Part::find(&self.registry, root, steps)?;
        let check_handle = |arena: &str, handle| self.check_handle(arena, handle);
        let check_reference = |_: &_, _| {
            Err(Error::new(
                ErrorKind::Unsupported,
                "a shared pointer cannot be set by a path; change the component itself",
            ))
        };
        let in_path = |error: Error| error.in_field(&Steps(steps).to_string());
        let cursor = part.cursor(&self.registry)?;
        let (old_value, range) = cursor.read().map_err(in_path)?;
        let layout = self.registry.program().layout();
        let mut target =
            Strict::new(layout, &Limits::DEFAULT, &check_reference).of_editor(&check_handle);
        let mut new = part.bytes[..range.start].to_vec();
        cursor.write(&mut target, value, &mut new).map_err(in_path)?;
        new.extend_from_slice(&part.bytes[range.end..]);
        let traits = self.registry.traits(part.class);
        Ok(Edit {
            steps,
            path: part.path,
            old: part.bytes,
            new,
            old_value,
            validates: traits.after_load || traits.dynamic,
        })
    }

    /// Refuses the id of an object that is not there.
    fn check_handle(&self, arena: &str, handle: HandleValue) -> Result<()> {
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

#[cold]
fn running(class: &str) -> Error {
    Error::new(
        ErrorKind::Borrowed,
        format!("a method of {class} runs, and it is out of its place; use it there"),
    )
}

/// A way from a value inwards: each class with the index of a field.
type Way = Vec<(&'static dyn ClassAccess, usize)>;

/// The innermost field on a path that can be reached where it lies.
struct Part<'p> {
    /// Index of the class of the component.
    class: usize,
    path: Way,
    /// Class, variant and index of the field; `None` if it is the component itself.
    place: Option<(usize, usize, usize)>,
    bytes: Vec<u8>,
    steps: &'p [Step],
    /// How many steps led to it.
    taken: usize,
}

impl<'p> Part<'p> {
    fn find(registry: &Registry, root: &dyn Portable, steps: &'p [Step]) -> Result<Self> {
        let mut owner: &dyn Any = root;
        let Some((root_class, _)) = registry.entry(owner) else {
            return Err(Error::new(ErrorKind::NotFound, "its class is not registered"));
        };
        let mut value = owner;
        let (mut path, mut place) = (Way::new(), None);
        for step in steps {
            // A `with` module stores something else.
            let Some((class, target)) = registry.entry(value) else { break };
            let Step::Field(name) = step else { break };
            let variant = target.access.variant(value).unwrap_or(0);
            let of_variant = target.class.variants().get(variant);
            let fields = of_variant.map_or(target.class.fields(), |variant| variant.fields);
            let found = fields.iter().position(|field| field.name == name);
            let field = found.and_then(|field| Some((field, target.access.field(value, field)?)));
            let Some((field, inner)) = field else {
                let variant = of_variant.map_or(String::new(), |of| format!("::{}", of.name));
                let class = target.class.name();
                let message = format!("{class}{variant} has no field `{name}`");
                let missing = Steps(&steps[..=path.len()]).to_string();
                return Err(Error::new(ErrorKind::NotFound, message).in_field(&missing));
            };
            path.push((target.access, field));
            place = Some((class, variant, field));
            (owner, value) = (value, inner);
            if fields[field].flags.with {
                break;
            }
        }
        let mut buffer = Buffer::with_size(64);
        let mut links = FieldLinks::new(registry);
        let write = |out: &mut crate::codec::Encoder<'_>| match path.last() {
            Some((access, field)) => access.encode_field(owner, *field, out),
            None => root.encode(out),
        };
        let taken = path.len();
        let end = buffer
            .append(0, &Limits::DEFAULT, &mut links, write)
            .map_err(|error| error.in_field(&Steps(&steps[..taken]).to_string()))?;
        let mut bytes = buffer.into_bytes();
        bytes.truncate(end);
        Ok(Self { class: root_class, path, place, bytes, steps, taken })
    }

    /// At what the rest of the path leads to.
    fn cursor<'c>(&'c self, registry: &'c Registry) -> Result<Cursor<'c, 'c>> {
        let layout = registry.program().layout();
        let cursor = match self.place {
            Some(place) => Cursor::of_field(layout, place, &self.bytes),
            None => Some(Cursor::of_class(layout, self.class, &self.bytes)),
        };
        let mut cursor =
            cursor.ok_or_else(|| Error::new(ErrorKind::NotFound, "the class has no such field"))?;
        for (i, step) in self.steps.iter().enumerate().skip(self.taken) {
            let result = match step {
                Step::Field(name) => cursor.field(name),
                Step::Index(index) => cursor.index(*index),
                Step::Key(key) => key.parse().and_then(|key| cursor.key(&key)),
            };
            result.map_err(|error| error.in_field(&Steps(&self.steps[..=i]).to_string()))?;
        }
        Ok(cursor)
    }

    fn value(&self, registry: &Registry) -> Result<Value> {
        let value = self.cursor(registry)?.read();
        value
            .map(|(value, _)| value)
            .map_err(|error| error.in_field(&Steps(self.steps).to_string()))
    }
}

/// A change that was checked.
struct Edit<'p> {
    steps: &'p [Step],
    path: Way,
    old: Vec<u8>,
    new: Vec<u8>,
    old_value: Value,
    /// True if the component may have `validate` functions.
    validates: bool,
}

impl Edit<'_> {
    /// Makes the change, unless it is refused.
    fn make(self, registry: &Registry, root: &mut dyn Portable) -> Result<Value> {
        let made = self.put(&self.new, registry, root).and_then(|()| {
            if !self.validates {
                return Ok(());
            }
            root.visit(&mut Visitor::new(Phase::Validate, &Limits::DEFAULT, &mut NoVisitLinks))
        });
        match made {
            Ok(()) => Ok(self.old_value),
            Err(error) => {
                self.put(&self.old, registry, root)?;
                Err(error)
            }
        }
    }

    fn put(&self, bytes: &[u8], registry: &Registry, root: &mut dyn Portable) -> Result<()> {
        let mut links = FieldLinks::new(registry);
        let mut input = Decoder::new(bytes, &Limits::DEFAULT, &mut links);
        let result = match self.path.split_last() {
            None => root.decode_over(&mut input),
            Some(((access, field), owners)) => {
                let mut owner: Option<&mut dyn Any> = Some(root);
                for (access, field) in owners {
                    owner = owner.and_then(|owner| access.field_mut(owner, *field));
                }
                match owner {
                    Some(owner) => access.decode_field(owner, *field, &mut input),
                    None => Err(crate::codec::Fail::Value),
                }
            }
        };
        let error = match result {
            Ok(()) if input.rest().is_empty() => return Ok(()),
            Ok(()) => left_over(input.rest().len()),
            Err(fail) => input.take_error().unwrap_or_else(|| fail.into()),
        };
        Err(error.in_field(&Steps(self.steps).to_string()))
    }
}
