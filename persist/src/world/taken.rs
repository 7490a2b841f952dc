//! Components that are out of their objects and may come back as they were.

use std::mem;
use std::sync::Arc;

use super::World;
use super::any_component::{AnyComponent, ComponentType};
use super::component::{Component, Movable};
use super::object::{Activity, KeptComponent};
use super::resources::AnyResource;
use super::world::missing;
use crate::codec::{
    AsTrait, BoxOf, Decoder, Pointee, Portable, TraitObject, Unknown, count, left_over,
};
use crate::fields::{FieldLinks, awaken, content_of, validate};
use crate::{Error, ErrorKind, ObjectId, Persist, Result};

/// A component that is out of its object, where nobody has released it. It may come back into another world, whose columns are others.
pub(crate) struct Taken {
    of: ComponentType,
    component: Box<dyn AnyComponent>,
    /// How many components were before it.
    position: usize,
    is_started: bool,
    /// How many components were before each one that the program does not know.
    before_unknown: Vec<usize>,
}

impl Taken {
    /// A component that has not been in an object.
    pub(crate) fn new<T: Component>(component: T) -> Self {
        Self::of(Box::new(component))
    }

    fn of(component: Box<dyn AnyComponent>) -> Self {
        let of = (*component).__component_type();
        let (position, before_unknown) = (usize::MAX, Vec::new());
        Self { of, component, position, is_started: false, before_unknown }
    }

    pub(crate) fn class(&self) -> String {
        (self.of.name)()
    }
}

/// Components of classes that the program did not have, which one of their class has replaced, with their indexes among those of their object.
#[derive(Default)]
pub(crate) struct Replaced(Vec<(usize, KeptComponent)>);

/// Resources that were replaced, with their unknown fields.
#[derive(Default)]
pub(crate) struct ReplacedResources(Vec<(usize, Unknown)>);

/// A detached resource.
pub(crate) type TakenResource = Box<dyn AnyResource>;

impl World {
    /// Index of the components of a type, which becomes known to the world.
    pub(crate) fn known_column<T: Component>(&mut self) -> Result<usize> {
        self.column_of::<T>()
    }

    /// An empty component of a class.
    pub(crate) fn empty_component(&self, class: &str) -> Result<Taken> {
        let column = self.column_of_class(class)?;
        Ok(Taken::of((self.columns[column].of.make)(&self.registry)?))
    }

    /// Lets the `validate` functions of a component run.
    pub(crate) fn check_component(&self, taken: &mut Taken) -> Result<()> {
        let checked = validate((*taken.component).portable_mut(), &self.registry);
        checked.map_err(|error| error.in_class(taken.class()))
    }

    /// Checks a resource.
    pub(crate) fn check_resource(&self, resource: &mut TakenResource) -> Result<()> {
        let checked = validate((**resource).portable_mut(), &self.registry);
        checked.map_err(|error| error.in_class((**resource).__name()))
    }

    /// Refuses an object if one of its classes, or of those of the objects below it, is refused.
    pub(crate) fn check_classes(
        &self,
        object: ObjectId,
        check: impl Fn(&Self, &str) -> Result<()>,
    ) -> Result<()> {
        for object in self.subtree(object) {
            for column in &*self.shape_of(object) {
                check(self, &(self.columns[*column].of.name)())
                    .map_err(|error| error.in_object(object.get()))?;
            }
        }
        Ok(())
    }

    /// Takes a component out without releasing it.
    pub(crate) fn take_component(&mut self, object: ObjectId, class: &str) -> Result<Taken> {
        self.check_idle()?;
        let found = self.check(object)?;
        let column = self.column_of_class(class)?;
        let columns = self.shapes.columns(found.shape);
        let position = columns.iter().position(|other| *other == column);
        let before_unknown = found.unknown().iter().map(|kept| kept.before).collect();
        let is_started = position.is_some_and(|position| position < usize::from(found.started));
        match position.and_then(|at| Some((at, self.take_out(object, column)?))) {
            Some((position, component)) => {
                Ok(Taken { position, is_started, before_unknown, ..Taken::of(component) })
            }
            None => Err(Error::new(
                ErrorKind::NotFound,
                format!("the object has no {class}; attach one"),
            )
            .in_object(object.get())),
        }
    }

    /// Puts a component into its place, where none of its class may be, but what the program did not have when it was loaded: this is replaced.
    pub(crate) fn put_component(
        &mut self,
        object: ObjectId,
        taken: Taken,
    ) -> Result<Replaced, Box<(Error, Taken)>> {
        let column = self.new_column(taken.of);
        let error = match self.check_idle().and_then(|()| self.check(object)) {
            Err(error) => Some(error),
            Ok(found) if self.shapes.columns(found.shape).contains(&column) => {
                let class = taken.class();
                let message = format!("the object has another {class}; detach that first");
                Some(Error::new(ErrorKind::AlreadyExists, message).in_object(object.get()))
            }
            Ok(_) => None,
        };
        if let Some(error) = error {
            return Err(Box::new((error, taken)));
        }
        let class = taken.class();
        let Taken { component, position, is_started, before_unknown, .. } = taken;
        let (shapes, registry) = (&mut self.shapes, &self.registry);
        let mut replaced = Replaced::default();
        let place = self.directory.place(object);
        if let Some(found) = place.and_then(|place| self.objects.get_mut(place)) {
            let mut columns = shapes.columns(found.shape).to_vec();
            // What has been started is before what has not, also if others were while it was away.
            let position = match is_started {
                true => position.min(found.started.into()),
                false => position.clamp(found.started.into(), columns.len()),
            };
            columns.insert(position, column);
            found.shape = shapes.of(&columns);
            found.started += u16::from(is_started);
            replaced.0 = taken_out(found.unknown_list(), |kept| {
                registry.is_called(&class, kept.content.class())
            });
            let kept = found.unknown_mut().iter_mut();
            if kept.len() == before_unknown.len() {
                kept.zip(before_unknown).for_each(|(kept, before)| kept.before = before);
            }
            self.waiting.push(object);
        }
        (self.columns[column].of.put)(self, column, object, component.__into_any());
        Ok(replaced)
    }

    /// Puts back what a component had replaced that is out again.
    pub(crate) fn put_replaced(&mut self, object: ObjectId, replaced: Replaced) {
        if let Some(found) = self.object_mut(object) {
            put_in(found.unknown_list(), replaced.0);
        }
    }

    /// Releases a component that does not come back.
    pub(crate) fn discard_component(&mut self, object: ObjectId, taken: Taken) {
        let column = self.new_column(taken.of);
        self.release(object, column, taken.component);
    }

    /// The place of an object among the children of its parent.
    pub(crate) fn place_of(&self, object: ObjectId) -> (Option<ObjectId>, usize) {
        let parent = self.parent(object);
        let above = parent.and_then(|parent| self.object(parent));
        let index = above.and_then(|above| above.position(object));
        (parent, index.unwrap_or(0))
    }

    /// Gives an object just this name.
    pub(crate) fn rename_to(&mut self, object: ObjectId, name: &str) -> Result<()> {
        self.check(object)?;
        if let Some(other) = self.find(name).filter(|other| *other != object) {
            let message = format!("object {other} is called `{name}` by now; rename that first");
            return Err(Error::new(ErrorKind::AlreadyExists, message).in_object(object.get()));
        }
        self.rename(object, name).map(drop)
    }

    /// The name of an object that is there, for labels and changes; empty if it has none.
    pub(crate) fn shared_name(&self, object: ObjectId) -> Option<Arc<str>> {
        let found = self.object(object)?;
        Some(match found.name {
            None => Arc::default(),
            Some(name) => match self.names.base(name) {
                Some(base) => Arc::clone(base),
                None => Arc::clone(found.text(|| self.names.text(name))),
            },
        })
    }

    /// Pauses or resumes an object.
    pub(crate) fn put_activity(&mut self, object: ObjectId, activity: Activity) -> Result<()> {
        self.activity(object).ok_or_else(|| missing(object))?;
        match activity {
            Activity::Active => self.resume(object),
            Activity::Paused => self.pause(object),
            Activity::Expired => self.expire(object),
        }
    }

    /// A resource as it is kept.
    pub(crate) fn boxed_resource<T: Persist + Pointee + Movable>(value: T) -> TakenResource {
        Box::new(value)
    }

    /// Takes the resource of a class out.
    pub(crate) fn take_resource(&mut self, class: &str) -> Option<TakenResource> {
        let at = self.resources.values.iter().position(|(_, name, _)| name == class)?;
        Some(self.resources.values.remove(at).2)
    }

    /// Puts a resource in; returns the one of its class that was there.
    pub(crate) fn put_resource(&mut self, resource: TakenResource) -> Option<TakenResource> {
        self.resources.insert(resource)
    }

    /// Takes out the resources of a class that the program did not have when they were loaded.
    pub(crate) fn replace_resources(&mut self, class: &str) -> ReplacedResources {
        let Self { registry, resources, .. } = self;
        let is_it = |kept: &Unknown| registry.is_called(class, kept.class());
        ReplacedResources(taken_out(&mut resources.unknown, is_it))
    }

    /// Puts such resources back.
    pub(crate) fn put_replaced_resources(&mut self, replaced: ReplacedResources) {
        put_in(&mut self.resources.unknown, replaced.0);
    }

    /// Refuses a class whose content is not all in it, since it holds shared pointers.
    pub(crate) fn check_recordable(&self, class: &str) -> Result<()> {
        let Some(index) = self.registry.named(class) else { return Ok(()) };
        if !self.registry.traits(index).references {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Unsupported,
            "the class holds shared pointers, and what is behind them is not recorded; keep an `ObjectId` in their place, or change it by a command of your own",
        )
        .in_class(class))
    }

    /// Readies the world for changes of objects and components.
    pub(crate) fn check_editable(&mut self) -> Result<()> {
        self.check_idle()?;
        self.flush();
        Ok(())
    }

    /// True if an object has a component of a class.
    pub(crate) fn has_class(&self, object: ObjectId, class: &str) -> bool {
        self.column_of_class(class).is_ok_and(|column| self.shape_of(object).contains(&column))
    }

    /// A component that is out of its object, as data.
    pub(crate) fn component_content(&self, taken: &Taken) -> Result<ComponentContent> {
        Ok(ComponentContent {
            class: taken.class(),
            bytes: content_of(&self.registry, taken.component.portable())?,
            position: (taken.position != usize::MAX).then_some(taken.position as u64),
            is_started: taken.is_started,
            before_unknown: taken.before_unknown.iter().map(|before| *before as u64).collect(),
        })
    }

    /// Bytes that a component takes, roughly.
    pub(crate) fn component_size(&self, taken: &Taken) -> usize {
        size_of::<Taken>() + self.size_of(taken.component.portable())
    }

    /// Bytes that a resource takes, roughly.
    pub(crate) fn resource_size(&self, resource: &TakenResource) -> usize {
        self.size_of((**resource).portable())
    }

    /// Its own, and as many as what it leads to takes in a save.
    pub(super) fn size_of(&self, value: &dyn Portable) -> usize {
        let content = content_of(&self.registry, value);
        size_of_val(value).max(content.map_or(0, |content| content.len()))
    }

    /// A component that was data; its bytes are of the program's own class.
    pub(crate) fn component_from(&self, content: &ComponentContent) -> Result<Taken> {
        let mut component =
            self.decode_boxed::<dyn AnyComponent>(&content.class, &content.bytes)?;
        awaken(component.portable_mut(), &self.registry)
            .map_err(|error| error.in_class(&content.class))?;
        let index = |index: &u64| usize::try_from(*index).unwrap_or(usize::MAX);
        Ok(Taken {
            position: content.position.as_ref().map_or(usize::MAX, index),
            is_started: content.is_started,
            before_unknown: content.before_unknown.iter().map(index).collect(),
            ..Taken::of(component)
        })
    }

    /// A resource, detached or in its world, as data.
    pub(crate) fn resource_content(&self, resource: &TakenResource) -> Result<ResourceContent> {
        let bytes = content_of(&self.registry, (**resource).portable())?;
        Ok(ResourceContent { class: (**resource).__name(), bytes })
    }

    /// A resource that was data; its bytes are of the program's own class.
    pub(crate) fn resource_from(&self, content: &ResourceContent) -> Result<TakenResource> {
        let mut resource = self.decode_boxed::<dyn AnyResource>(&content.class, &content.bytes)?;
        awaken((*resource).portable_mut(), &self.registry)
            .map_err(|error| error.in_class(&content.class))?;
        Ok(resource)
    }

    /// Reads a value of a class as a trait object.
    fn decode_boxed<D: ?Sized + TraitObject>(&self, class: &str, bytes: &[u8]) -> Result<Box<D>>
    where
        AsTrait: BoxOf<D>,
    {
        match self.registry.named(class) {
            Some(number) => self.decode_numbered(number, bytes, None),
            None => {
                let message = format!("class {class} is not registered; register it before");
                Err(Error::new(ErrorKind::WrongClass, message))
            }
        }
        .map_err(|error| error.in_class(class))
    }

    /// Decodes a value of a class with this number, in this program or another.
    pub(super) fn decode_numbered<D: ?Sized + TraitObject>(
        &self,
        number: usize,
        bytes: &[u8],
        numbers: Option<&[Option<usize>]>,
    ) -> Result<Box<D>>
    where
        AsTrait: BoxOf<D>,
    {
        let mut whole = Vec::with_capacity(bytes.len() + 9);
        count::push(number as u64 + 1, &mut whole);
        whole.extend_from_slice(bytes);
        let mut links = FieldLinks::new(&self.registry).numbered(numbers);
        let env = self.registry.env();
        let mut input = Decoder::new(&whole, &env, &mut links);
        let result = <AsTrait as BoxOf<D>>::decode(&mut input);
        match result {
            Ok(value) if input.rest().is_empty() => Ok(value),
            Ok(_) => Err(left_over(input.rest().len())),
            Err(fail) => Err(input.take_error().unwrap_or_else(|| fail.into())),
        }
    }
}

/// Takes out some values, with their indexes.
fn taken_out<T>(values: &mut Vec<T>, is_it: impl Fn(&T) -> bool) -> Vec<(usize, T)> {
    let (out, kept) =
        mem::take(values).into_iter().enumerate().partition(|(_, value)| is_it(value));
    let kept: Vec<(usize, T)> = kept;
    values.extend(kept.into_iter().map(|(_, value)| value));
    out
}

/// Puts values back to their indexes.
fn put_in<T>(values: &mut Vec<T>, out: Vec<(usize, T)>) {
    for (index, value) in out {
        values.insert(index.min(values.len()), value);
    }
}

/// A component as data, and where it is in its object.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.ComponentContent")]
pub(crate) struct ComponentContent {
    pub(crate) class: String,
    pub(crate) bytes: Vec<u8>,
    /// How many components are before it; none if it is to be the last.
    position: Option<u64>,
    is_started: bool,
    before_unknown: Vec<u64>,
}

/// A resource as data.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.ResourceContent")]
pub(crate) struct ResourceContent {
    pub(crate) class: String,
    pub(crate) bytes: Vec<u8>,
}
