//! Components that are out of their objects and may come back as they were.

use super::World;
use super::any_component::AnyComponent;
use super::component::Component;
use super::object::Activity;
use super::resources::AnyResource;
use super::world::missing;
use crate::codec::{Pointee, TraitObject as _};
use crate::{Error, ErrorKind, ObjectId, Persist, Result};

/// A component that is out of its object, where nobody has released it.
pub(crate) struct Taken {
    pub(crate) column: usize,
    component: Box<dyn AnyComponent>,
    /// How many components were before it.
    position: usize,
    is_started: bool,
    /// How many components were before each one that the program does not know.
    before_unknown: Vec<usize>,
}

impl Taken {
    /// A component that has not been in an object.
    pub(crate) fn new<T: Component>(column: usize, component: T) -> Self {
        let component = Box::new(component);
        let (position, before_unknown) = (usize::MAX, Vec::new());
        Self { column, component, position, is_started: false, before_unknown }
    }
}

/// A resource that is out of its world.
pub(crate) type TakenResource = Box<dyn AnyResource>;

impl World {
    /// Index of the components of a type, which becomes known to the world.
    pub(crate) fn known_column<T: Component>(&mut self) -> Result<usize> {
        self.column_of::<T>()
    }

    /// Index of the components of a class.
    pub(crate) fn named_column(&self, class: &str) -> Result<usize> {
        self.column_of_class(class)
    }

    pub(crate) fn class_name(&self, column: usize) -> String {
        self.columns.get(column).map_or(String::new(), |entry| (entry.of.name)())
    }

    /// An empty component of a class.
    pub(crate) fn empty_component(&self, column: usize) -> Result<Taken> {
        let component = (self.columns[column].of.make)(&self.registry)?;
        let (position, before_unknown) = (usize::MAX, Vec::new());
        Ok(Taken { column, component, position, is_started: false, before_unknown })
    }

    /// Takes a component out without releasing it.
    pub(crate) fn take_component(&mut self, object: ObjectId, column: usize) -> Result<Taken> {
        self.check_idle()?;
        let found = self.check(object)?;
        let columns = self.shapes.columns(found.shape);
        let position = columns.iter().position(|other| *other == column);
        let before_unknown = found.unknown.iter().map(|kept| kept.before).collect();
        let is_started = position.is_some_and(|position| position < found.started);
        match position.and_then(|at| Some((at, self.take_out(object, column)?))) {
            Some((position, component)) => {
                Ok(Taken { column, component, position, is_started, before_unknown })
            }
            None => Err(Error::new(
                ErrorKind::NotFound,
                format!("the object has no {}; attach one", self.class_name(column)),
            )
            .in_object(object.get())),
        }
    }

    /// Puts a component into its place, where none of its class may be.
    pub(crate) fn put_component(
        &mut self,
        object: ObjectId,
        taken: Taken,
    ) -> Result<(), (Error, Taken)> {
        let class = || self.class_name(taken.column);
        let error = match self.check_idle().and_then(|()| self.check(object)) {
            Err(error) => Some(error),
            Ok(found) if self.shapes.columns(found.shape).contains(&taken.column) => {
                let message = format!("the object has another {}; detach that first", class());
                Some(Error::new(ErrorKind::AlreadyExists, message).in_object(object.get()))
            }
            Ok(_) => None,
        };
        if let Some(error) = error {
            return Err((error, taken));
        }
        let Taken { column, component, position, is_started, before_unknown } = taken;
        let shapes = &mut self.shapes;
        let place = self.directory.place(object);
        if let Some(found) = place.and_then(|place| self.objects.get_mut(place)) {
            let mut columns = shapes.columns(found.shape).to_vec();
            let position = position.min(columns.len());
            columns.insert(position, column);
            found.shape = shapes.of(&columns);
            found.started += usize::from(is_started && position <= found.started);
            let kept = found.unknown.iter_mut();
            if kept.len() == before_unknown.len() {
                kept.zip(before_unknown).for_each(|(kept, before)| kept.before = before);
            }
            self.waiting.push(object);
        }
        (self.columns[column].of.put)(self, column, object, component.__into_any());
        Ok(())
    }

    /// Releases a component that does not come back.
    pub(crate) fn discard_component(&mut self, object: ObjectId, taken: Taken) {
        self.release(object, taken.column, taken.component);
    }

    /// The place of an object among the children of its parent.
    pub(crate) fn place_of(&self, object: ObjectId) -> (Option<ObjectId>, usize) {
        let parent = self.parent(object);
        let siblings = parent.map_or(&[][..], |parent| self.children(parent));
        (parent, siblings.iter().position(|sibling| *sibling == object).unwrap_or(0))
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

    pub(crate) fn shared_name(&self, object: ObjectId) -> Option<std::rc::Rc<str>> {
        self.object(object).map(|found| found.name.clone())
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
    pub(crate) fn boxed_resource<T: Persist + Pointee>(value: T) -> TakenResource {
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

    /// Refuses a class whose content is not all in it, since it holds shared pointers.
    pub(crate) fn check_recordable(&self, class: &str) -> Result<()> {
        let classes = &self.registry.program().classes;
        let Some(index) = classes.iter().position(|known| known.name == class) else {
            return Ok(());
        };
        if !self.registry.traits(index).references {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Unsupported,
            "the class holds shared pointers, and what is behind them is not recorded; keep an `ObjectId` in their place, or change it by a command of your own",
        )
        .in_class(class))
    }

    /// Readies the world for changes of what is there.
    pub(crate) fn check_editable(&mut self) -> Result<()> {
        self.check_idle()?;
        self.flush();
        Ok(())
    }

    /// Which classes of components there are in an object, by their columns.
    pub(crate) fn columns_of(&self, object: ObjectId) -> std::rc::Rc<[usize]> {
        self.shape_of(object)
    }

    /// The content of a component that is out of its object.
    pub(crate) fn taken_content(&self, taken: &Taken) -> Result<Vec<u8>> {
        super::compare::content_of(&self.registry, taken.component.portable())
    }
}
