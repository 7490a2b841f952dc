mod access;
mod check;
mod enter;
mod evolution;
mod implementors;
mod names;

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use hashbrown::HashMap;

pub(crate) use self::implementors::Implementors;
use self::implementors::TraitClass;
use super::schemas::Schemas;
use crate::codec::{
    ArcFamily, Caster, Factory, Family, Implements, ObjectType, Persist, PointTo, Pointee,
    Prototypes, RcFamily, Shared, TypeSet, reach_holder, trait_name,
};
use crate::env::{Env, SharedContext, shared};
use crate::format::FirstNumbers;
use crate::reflect::{ClassId, Holder, Pointer};
use crate::schema::{KindSchema, Program, Target};
use crate::{Error, ErrorKind, Limits, Result};

/// The classes that a program saves and loads.
///
/// Classes reached through the fields of a registered class come along by
/// themselves. Nothing is registered before `main`.
///
/// # Example
///
/// ```
/// use persist::Persist;
/// use persist::save::Registry;
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
    /// The first class of each name.
    by_name: HashMap<String, usize>,
    /// Index and fields of each Rust type that is a struct or an enum. Types
    /// that differ in markers alone, `Id<Hero>` and `Id<Orc>`, share a class.
    by_type: HashMap<TypeId, (usize, Target)>,
    /// The classes of other types that are saved on their own, such as a `Vec<Hero>`.
    values: HashMap<TypeId, usize>,
    /// The object type behind each pointer.
    pub(super) by_pointee: HashMap<(Pointer, TypeId), usize>,
    pub(crate) implementors: Arc<Implementors>,
    /// Classes that have been entered in a holder for a trait.
    entered: HashSet<(&'static str, Holder, TypeId)>,
    traits: Vec<Traits>,
    pub(super) schemas: Schemas,
    pub(super) first_numbers: FirstNumbers,
    /// What types reach while values of the program are saved, loaded or edited. It is here since every manager and
    /// world has a registry, and a loaded world takes over that of its manager.
    pub(crate) context: Option<SharedContext>,
}

/// A type of object, and its class.
#[derive(Clone, Copy)]
pub(super) struct ObjectEntry {
    pub(super) kind: ObjectType,
    pub(super) class: usize,
    /// Bytes in memory of an empty one, with its boxes and the targets of
    /// its bare pointers; up to about twice as much as that.
    pub(super) footprint: u64,
}

/// What the values of a class hold, themselves or in classes inside.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    pub(crate) references: bool,
    pub(crate) before_save: bool,
    pub(crate) after_load: bool,
    /// Trait objects by value, whose classes may hold any of these.
    pub(crate) dynamic: bool,
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
    /// [`ErrorKind::DuplicateId`](crate::ErrorKind::DuplicateId) if another type has the class id, or
    /// an alias is also the name or an alias of another class;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if a type cannot be loaded: keys of maps or
    /// elements of sets with references or hooks, or a prototype without end.
    /// The registry then is as it was.
    pub fn register<T: Persist>(&mut self) -> Result<()> {
        self.register_pointer::<Rc<RefCell<T>>>()
    }

    /// Registers what a pointer of type `Q` leads to: `Arc<Mutex<Hero>>`, ...
    ///
    /// # Errors
    ///
    /// Those of [`register`](Self::register).
    pub fn register_pointer<Q: Counted>(&mut self) -> Result<()> {
        if self.by_pointee.contains_key(&(Q::Family::POINTER, TypeId::of::<Q::Pointee>())) {
            return Ok(());
        }
        let mut types = TypeSet::default();
        <Q::Pointee as Pointee>::As::reach::<Q::Family>(&mut types);
        self.enter(&types)
    }

    /// Registers class `T` as an implementor of a trait, and what it reaches.
    ///
    /// # Errors
    ///
    /// Those of [`register`](Self::register); [`ErrorKind::Unsupported`] if `T` is
    /// neither a struct nor an enum.
    ///
    /// # Example
    ///
    /// ```
    /// # use persist::Persist;
    /// # use persist::save::Registry;
    /// #[persist::dynamic]
    /// trait Item {
    ///     fn price(&self) -> u32;
    /// }
    ///
    /// #[derive(Persist)]
    /// struct Sword { sharp: u32 }
    ///
    /// impl Item for Sword {
    ///     fn price(&self) -> u32 { 10 * self.sharp }
    /// }
    ///
    /// let mut registry = Registry::new();
    /// registry.register_as::<Sword, dyn Item>()?;
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn register_as<T: Persist + Pointee, D: ?Sized + Implements<T>>(&mut self) -> Result<()> {
        let mut types = TypeSet::default();
        T::__reach(&mut types);
        types.implementors::<D>(None);
        let mut next = self.clone();
        next.enter_types(&types)?;
        let Some((class, _)) = next.by_type.get(&TypeId::of::<T>()) else {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "{} is neither a struct nor an enum and cannot be registered for a trait; wrap it in a struct",
                    T::persist_name()
                ),
            ));
        };
        let found = TraitClass {
            class: *class,
            type_id: TypeId::of::<T>(),
            caster: Arc::new(Caster::<D>::of::<T>()),
            reach: reach_holder::<T>,
        };
        next.program.implementors.insert(found.class);
        Arc::make_mut(&mut next.implementors).enter_class(trait_name::<D>(), found)?;
        next.complete()?;
        *self = next;
        Ok(())
    }

    /// Sets the context of what is saved, loaded or edited: a value of the program's own that hooks, `with` modules and
    /// types written by hand reach.
    pub fn set_context<C: Any + Send + Sync>(&mut self, context: Arc<C>) {
        self.context = Some(context);
    }

    /// Registers `T` with a function of the program that makes an empty one.
    ///
    /// The function makes objects, and a value that is loaded on its own. A `T` inside another value is made by its type.
    ///
    /// # Errors
    ///
    /// Those of [`register`](Self::register).
    pub fn register_with<T: Persist>(
        &mut self,
        make: impl Fn() -> T + Send + Sync + 'static,
    ) -> Result<()> {
        // The program's factory ends where the class's own prototype may not.
        let before = self.implementors.clone();
        let factory: Arc<dyn Any + Send + Sync> = Arc::new(Factory::<T>(Box::new(make)));
        Arc::make_mut(&mut self.implementors).factories.insert(TypeId::of::<T>(), factory);
        self.register::<T>().inspect_err(|_| self.implementors = before)
    }

    /// Says that a class is gone for good: objects of it in older saves are dropped instead of being kept as
    /// unknown, and the lock does not ask for it any more.
    ///
    /// The name is the one that the saves hold. An object that a kept one leads to is kept with it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] if a registered class has the name, also as an alias.
    ///
    /// # Example
    ///
    /// ```
    /// let mut registry = persist::save::Registry::new();
    /// registry.removed_class("quest.Cart")?;
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn removed_class(&mut self, name: &str) -> Result<()> {
        let mut next = self.clone();
        next.program.removed.insert(name.to_owned());
        next.check_removed_classes()?;
        *self = next;
        Ok(())
    }

    /// True for the name of a class that is gone for good.
    pub(crate) fn is_removed_class(&self, name: &str) -> bool {
        !self.program.removed.is_empty() && self.program.removed.contains(name)
    }

    /// Registers what a bare value reaches, and returns the class of its record.
    pub(crate) fn register_value<T: Persist>(&mut self) -> Result<usize> {
        let type_id = TypeId::of::<T>();
        let class = self.by_type.get(&type_id).map(|(class, _)| class);
        if let Some(class) = class.or_else(|| self.values.get(&type_id)) {
            return Ok(*class);
        }
        let mut types = TypeSet::default();
        T::__reach(&mut types);
        let mut next = self.clone();
        next.enter_types(&types)?;
        let class = next.class_of_kind(T::persist_kind(), T::persist_name)?;
        next.complete()?;
        next.values.insert(type_id, class);
        *self = next;
        Ok(class)
    }

    /// The object type of a class in a holder.
    pub(super) fn object(&self, class: usize, holder: Holder) -> Option<usize> {
        self.objects.iter().position(|entry| entry.class == class && entry.kind.holder == holder)
    }

    /// An empty value from the program's factory, if it gave one.
    pub(super) fn make<T: Persist>(&self) -> Option<T> {
        let factory = self.implementors.factories.get(&TypeId::of::<T>())?;
        factory.downcast_ref::<Factory<T>>().map(|factory| (factory.0)())
    }

    /// What makes empty values.
    pub(crate) fn prototypes(&self) -> Prototypes<'_> {
        Prototypes::new(&*self.implementors)
    }

    /// The default limits with the context.
    pub(crate) fn env(&self) -> Env<'_> {
        Env::new(&Limits::DEFAULT, shared(&self.context))
    }

    /// What the values of a class hold.
    pub(crate) fn traits(&self, class: usize) -> Traits {
        self.traits[class]
    }

    /// True if values of a class may have `validate` functions in them.
    pub(crate) fn validates(&self, class: usize) -> bool {
        let traits = self.traits(class);
        traits.after_load || traits.dynamic
    }

    /// The path of a field of a class that holds shared pointers, if there is one, and the class that has the field.
    pub(crate) fn shared_field(&self, class: usize) -> Option<(String, &str)> {
        let (mut met, mut next) = (HashSet::from([class]), vec![(class, String::new())]);
        while let Some((class, path)) = next.pop() {
            if !self.traits(class).references {
                continue;
            }
            for field in self.program.classes[class].named_kinds() {
                let dot = if path.is_empty() { "" } else { "." };
                let (name, kind) = field;
                let (path, mut is_shared) = (format!("{path}{dot}{name}"), false);
                kind.visit(&mut |kind| match kind {
                    KindSchema::Reference { .. } | KindSchema::TraitReference { .. } => {
                        is_shared = true;
                    }
                    KindSchema::Class(class) if met.insert(*class) => {
                        next.push((*class, path.clone()));
                    }
                    // One of its classes may.
                    KindSchema::Dynamic(_) => is_shared = true,
                    _ => {}
                });
                if is_shared {
                    return Some((path, &self.program.classes[class].name));
                }
            }
        }
        None
    }

    /// True if a class of the program has such traits.
    pub(crate) fn any_traits(&self, wanted: impl Fn(Traits) -> bool) -> bool {
        self.traits.iter().any(|traits| wanted(*traits))
    }

    pub(crate) fn program(&self) -> &Program {
        &self.program
    }
}

/// A counted pointer: `Rc<P>` or `Arc<P>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an `Rc` or `Arc` to what can be saved",
    label = "not a counted pointer",
    note = "an object of a `SaveManager` is shared: put it into an `Rc<RefCell<_>>`; a value of its own is saved by `save_value` or `persist::save`"
)]
pub trait Counted: Sized + 'static {
    /// What it leads to.
    type Pointee: ?Sized + Pointee;

    /// Which of the two it is.
    #[doc(hidden)]
    type Family: Family<Strong<Self::Pointee> = Self>;

    /// The pointer as one whose type is known at run time only.
    #[doc(hidden)]
    fn share(&self) -> Shared {
        <Self::Pointee as Pointee>::As::share::<Self::Family>(self)
    }

    /// The trait whose trait objects it leads to.
    #[doc(hidden)]
    fn of() -> Option<TypeId> {
        <Self::Pointee as Pointee>::As::pointed().of()
    }

    /// A pointer with its type back.
    #[doc(hidden)]
    fn find(object: &Shared, caster: Option<&dyn Any>) -> Option<Self> {
        <Self::Pointee as Pointee>::As::find::<Self::Family>(object, caster)
    }
}

impl<P: ?Sized + Pointee> Counted for Rc<P> {
    type Pointee = P;
    type Family = RcFamily;
}

impl<P: ?Sized + Pointee> Counted for Arc<P> {
    type Pointee = P;
    type Family = ArcFamily;
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.program.classes.iter().map(|class| &class.name)).finish()
    }
}
