//! Components: attached to objects, found and detached.

use std::any::TypeId;
use std::marker::PhantomData;
use std::{cmp, fmt, hash};

use super::World;
use super::any_component::AnyComponent;
use super::commands::Command;
use super::component::{Component, Phase};
use super::directory::Place;
use super::fields::Owner;
use crate::{Error, ErrorKind, ObjectId, Result, names};

/// A component of type `T` of an object, whether it is there or not.
///
/// It is as large as an id, and may be copied and kept.
pub struct ComponentId<T> {
    object: ObjectId,
    of: PhantomData<fn() -> T>,
}

impl<T> ComponentId<T> {
    /// The id of the `T` of an object.
    #[must_use]
    pub fn of(object: ObjectId) -> Self {
        Self { object, of: PhantomData }
    }

    /// The object that owns the component.
    #[must_use]
    pub fn object(self) -> ObjectId {
        self.object
    }
}

impl<T: Component> ComponentId<T> {
    /// The component; `None` if it is not in the world.
    #[must_use]
    pub fn get(self, world: &World) -> Option<&T> {
        world.get(self.object)
    }

    /// The component, to be changed.
    #[must_use]
    pub fn get_mut(self, world: &mut World) -> Option<&mut T> {
        world.get_mut(self.object)
    }
}

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
        if self.is_running() {
            self.check_or_expect(object)?;
            self.commands.push_back(Command::Attach(object, column, Box::new(component)));
            return Ok(());
        }
        self.flush();
        self.check(object)?;
        self.detach_now(object, column);
        if let Some(place) = self.link(object, column) {
            self.put_at(column, place, component);
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
        if self.is_running() {
            self.check_or_expect(object)?;
            self.commands.push_back(Command::Attach(object, column, component));
            return Ok(());
        }
        self.flush();
        self.check(object)?;
        self.attach_now(object, column, component);
        self.flush();
        Ok(())
    }

    /// Attaches to an object that is there.
    pub(super) fn attach_now(
        &mut self,
        object: ObjectId,
        column: usize,
        component: Box<dyn AnyComponent>,
    ) {
        self.detach_now(object, column);
        self.link(object, column);
        (self.columns[column].of.put)(self, column, object, component.__into_any());
    }

    /// Notes that an object has a component more.
    pub(super) fn link(&mut self, object: ObjectId, column: usize) -> Option<Place> {
        let place = self.directory.place(object)?;
        let found = self.objects.get_mut(place)?;
        if !found.unknown().is_empty() {
            // What was loaded before the class was registered is replaced, too.
            let name = (self.columns[column].of.name)();
            found
                .unknown_list()
                .retain(|kept| !self.registry.is_called(&name, kept.content.class()));
        }
        found.shape = self.shapes.with(found.shape, column);
        if self.waiting.last() != Some(&object) {
            self.waiting.push(object);
        }
        Some(place)
    }

    /// Releases and drops a component; false if there is none.
    pub(super) fn detach_now(&mut self, object: ObjectId, column: usize) -> bool {
        self.take_out(object, column)
            .map(|component| self.release(object, column, component))
            .is_some()
    }

    /// Takes a component out of its object.
    pub(super) fn take_out(
        &mut self,
        object: ObjectId,
        column: usize,
    ) -> Option<Box<dyn AnyComponent>> {
        let place = self.directory.place(object)?;
        let component = self.columns.get_mut(column)?.column.remove(place)?;
        if let Some(found) = self.objects.get_mut(place) {
            found.lose(column, &mut self.shapes);
        }
        Some(component)
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

    fn detach_column(&mut self, object: ObjectId, column: usize) -> bool {
        if self.is_running() {
            // Also the one that runs, which is out of its place.
            let has = self.shape_of(object).contains(&column);
            self.commands.push_back(Command::Detach(object, column));
            return has;
        }
        self.flush();
        let was_there = self.detach_now(object, column);
        self.flush();
        was_there
    }

    /// A component of an object.
    #[must_use]
    #[inline]
    pub fn get<T: Component>(&self, object: ObjectId) -> Option<&T> {
        self.column::<T>()?.get(self.directory.place(object)?)
    }

    /// A component of an object, to be changed.
    #[must_use]
    #[inline]
    pub fn get_mut<T: Component>(&mut self, object: ObjectId) -> Option<&mut T> {
        let place = self.directory.place(object)?;
        self.column_mut::<T>()?.get_mut(place)
    }

    /// The names of the classes of an object's components, in the order in which they were attached; those of
    /// classes that the program does not have are among them.
    pub fn classes(&self, object: ObjectId) -> Vec<String> {
        let Some(found) = self.object(object) else { return Vec::new() };
        let columns = self.shapes.columns(found.shape).iter();
        let mut names: Vec<String> =
            columns.map(|column| (self.columns[*column].of.name)()).collect();
        for (at, unknown) in found.unknown().iter().enumerate() {
            let at = (unknown.before + at).min(names.len());
            names.insert(at, unknown.content.class().to_owned());
        }
        names
    }

    /// True if an object has a component of a class, or the world a resource.
    pub(crate) fn has(&self, owner: Owner, class: &str) -> bool {
        match owner {
            Owner::Object(object) => {
                let column = self.by_class.get(class);
                column.is_some_and(|column| self.shape_of(object).contains(column))
            }
            Owner::Resource => self.resources.position(class).is_some(),
        }
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

    /// The column of the component class of this name.
    pub(super) fn column_of_class(&self, class: &str) -> Result<usize> {
        self.by_class.get(class).copied().ok_or_else(|| {
            let known = self.by_class.keys().map(|known| &**known);
            let advice = match names::nearest(class, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => String::from("call `World::register` with it, or for a session `SaveManager::register_component`"),
            };
            let message = format!("no component class `{class}` is registered in this world; {advice}");
            Error::new(ErrorKind::NotFound, message)
        })
    }

    /// Lets `on_release` of a component that is out for good run.
    pub(super) fn release(
        &mut self,
        object: ObjectId,
        column: usize,
        component: Box<dyn AnyComponent>,
    ) {
        if self.columns[column].hooks & Phase::Release.bit() == 0 {
            return;
        }
        (self.columns[column].of.release)(self, column, object, component.__into_any());
    }
}

// By hand, since a derive would ask all of it of the component.

impl<T> Clone for ComponentId<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ComponentId<T> {}

impl<T> PartialEq for ComponentId<T> {
    fn eq(&self, other: &Self) -> bool {
        self.object == other.object
    }
}

impl<T> Eq for ComponentId<T> {}

impl<T> hash::Hash for ComponentId<T> {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.object.hash(state);
    }
}

impl<T> PartialOrd for ComponentId<T> {
    fn partial_cmp(&self, other: &Self) -> Option<cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for ComponentId<T> {
    fn cmp(&self, other: &Self) -> cmp::Ordering {
        self.object.cmp(&other.object)
    }
}

impl<T> fmt::Debug for ComponentId<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ComponentId({})", self.object)
    }
}
