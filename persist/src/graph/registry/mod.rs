mod access;
mod check;
mod enter;

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use super::Pointee;
use crate::Result;
use crate::codec::{Factory, ObjectType, Persist, TypeSet};
use crate::reflect::{ClassId, Holder};
use crate::schema::{Program, Target};

/// The classes that a program saves and loads.
///
/// Classes reached through the fields of a registered class come along by
/// themselves. Nothing is registered before `main`.
///
/// # Example
///
/// ```
/// use persist::{Persist, Registry};
///
/// #[derive(Persist)]
/// struct Hero { name: String, home: Place }
///
/// #[derive(Persist)]
/// struct Place { x: f32, y: f32 }
///
/// let mut registry = Registry::new();
/// registry.register::<Hero>()?;
/// let names: Vec<String> = registry.classes().map(|class| class.name()).collect();
/// assert_eq!(names, ["Hero", "Place"]);
/// print!("{}", registry.class("Place").unwrap());
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    pub(super) program: Program,
    pub(super) objects: Vec<ObjectEntry>,
    by_id: HashMap<ClassId, usize>,
    /// Index and fields of each Rust type that is a struct or an enum. Types
    /// that differ in markers alone, `Id<Hero>` and `Id<Orc>`, share a class.
    by_type: HashMap<TypeId, (usize, Target)>,
    pub(super) by_cell: HashMap<TypeId, usize>,
    factories: HashMap<TypeId, Rc<dyn Any>>,
    traits: Vec<Traits>,
}

/// A type of object, and its class.
#[derive(Clone, Copy)]
pub(super) struct ObjectEntry {
    pub(super) kind: ObjectType,
    pub(super) class: usize,
    /// Bytes in memory of an empty one, with its boxes and the objects behind
    /// its bare pointers; up to about twice as much as that.
    pub(super) footprint: u64,
}

/// What the values of a class hold, themselves or in classes inside.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    pub(crate) references: bool,
    pub(crate) before_save: bool,
    pub(crate) after_load: bool,
}

impl Registry {
    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers `T`, to be held by `Rc<RefCell<T>>`, and what it reaches.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DuplicateId`](crate::ErrorKind::DuplicateId) if another type has the class id;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if a type cannot be loaded: keys of maps or
    /// elements of sets with references or hooks, or a prototype without end.
    /// The registry then is as it was.
    pub fn register<T: Persist>(&mut self) -> Result<()> {
        self.register_pointee::<std::cell::RefCell<T>>()
    }

    /// Registers `T` with the program's own way to make an empty one, for objects
    /// and for a value that is loaded on its own; a `T` inside of another value
    /// is made by its type.
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register).
    pub fn register_with<T: Persist>(&mut self, make: impl Fn() -> T + 'static) -> Result<()> {
        // The program's factory ends where the class's own prototype may not.
        let factories = self.factories.clone();
        self.factories.insert(TypeId::of::<T>(), Rc::new(Factory::<T>(Box::new(make))));
        self.register::<T>().inspect_err(|_| self.factories = factories)
    }

    pub(crate) fn register_pointee<P: Pointee>(&mut self) -> Result<()> {
        if self.by_cell.contains_key(&TypeId::of::<P>()) {
            return Ok(());
        }
        let mut types = TypeSet::default();
        Rc::<P>::reach(&mut types);
        self.enter(&types)
    }

    /// Registers what a bare value reaches, and returns the class of its record.
    pub(crate) fn register_value<T: Persist>(&mut self) -> Result<usize> {
        if let Some((class, _)) = self.by_type.get(&TypeId::of::<T>()) {
            return Ok(*class);
        }
        let mut types = TypeSet::default();
        T::reach(&mut types);
        let mut next = self.clone();
        next.enter(&types)?;
        let class = next.class_of_kind(T::kind(), T::name)?;
        next.finish()?;
        *self = next;
        Ok(class)
    }

    /// The object type of a class in a holder.
    pub(super) fn object(&self, class: usize, holder: Holder) -> Option<usize> {
        self.objects.iter().position(|entry| entry.class == class && entry.kind.holder == holder)
    }

    /// An empty value from the program's factory, if it gave one.
    pub(super) fn make<T: Persist>(&self) -> Option<T> {
        let factory = self.factories.get(&TypeId::of::<T>())?;
        factory.downcast_ref::<Factory<T>>().map(|factory| (factory.0)())
    }

    pub(super) fn factory_of(&self, object: &ObjectType) -> Option<Rc<dyn Any>> {
        self.factories.get(&object.value).cloned()
    }

    pub(super) fn factory(&self, object: &ObjectType) -> Option<&dyn Any> {
        self.factories.get(&object.value).map(|factory| &**factory)
    }

    /// What the values of a class hold.
    pub(crate) fn traits(&self, class: usize) -> Traits {
        self.traits[class]
    }

    pub(crate) fn program(&self) -> &Program {
        &self.program
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.program.classes.iter().map(|class| &class.name)).finish()
    }
}
