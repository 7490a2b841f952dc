//! The registry: the classes of a program, checked, and looked up by name, type and number.

mod enter;
mod known;
mod lookup;
mod rules;

use std::any::{Any, TypeId};
use std::cell::RefCell;
#[cfg(any(feature = "history", feature = "world"))]
use std::collections::HashSet;
use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use self::enter::Entering;
use super::schemas::Schemas;
#[cfg(any(feature = "history", feature = "world"))]
use crate::Limits;
use crate::codec::{
    ArcFamily, Caster, Factory, Family, Implements, ObjectType, Persist, PointTo, Pointee,
    PrototypeTable, Prototypes, RcFamily, Shared, StandInClass, TypeSet, out_of_line, reach_holder,
    trait_name,
};
use crate::env::SharedContext;
#[cfg(any(feature = "history", feature = "world"))]
use crate::env::{Env, shared};
use crate::format::FirstNumbers;
use crate::reflect::{Class, ClassId, Holder, Pointer, TraitName};
use crate::schema::{Program, ProgramClass};
use crate::{ErrorKind, Result};
use hashbrown::HashMap;

/// The classes that a program saves and loads.
///
/// Registering a class also registers the classes that its fields reach. Nothing is registered before `main`.
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
    program: Program,
    pub(super) objects: Vec<ObjectEntry>,
    by_id: HashMap<ClassId, usize>,
    /// The first class of each name. Instances of one generic type may share a name.
    by_name: HashMap<String, usize>,
    /// Index and field table of each Rust type that is a struct or an enum. Types that differ only in markers, such as
    /// `Id<Hero>` and `Id<Orc>`, share a class: the type of a field says which one it holds. Where the class alone
    /// selects the type, only one of them may be registered.
    by_type: HashMap<TypeId, (usize, ProgramClass)>,
    /// The classes of the types that are saved on their own, such as a `Hero` or a `Vec<Hero>`.
    values: HashMap<TypeId, usize>,
    /// The index of the object type behind each pointer.
    pub(super) by_pointee: HashMap<(Pointer, TypeId), usize>,
    implementors: Implementors,
    /// The first class of each alias.
    aliases: std::collections::HashMap<&'static str, usize>,
    /// For each class, whether its empty value was found to end.
    ends: Vec<bool>,
    /// The facts that follow from all classes, computed on first use.
    known: OnceLock<ClassFacts>,
    pub(super) schemas: Schemas,
    pub(super) first_numbers: FirstNumbers,
    /// The context that the code of types reaches while values are saved, loaded or edited. It is in the registry
    /// because every manager and world has one, and a loaded world takes over that of its manager.
    pub(crate) context: Option<SharedContext>,
}

/// A type of object, and its class.
#[derive(Clone, Copy)]
pub(super) struct ObjectEntry {
    pub kind: ObjectType,
    pub class: usize,
}

/// The traits of the values of a class: what they contain, themselves or in classes inside.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    pub references: bool,
    /// References other than those in unknown data.
    pointers: bool,
    pub before_save: bool,
    pub after_load: bool,
    /// `validate` functions. `after_load` is true for these too.
    validate: bool,
    /// Trait objects by value. Their classes may have any of these traits.
    pub dynamic: bool,
    /// Values that may have pages.
    pub pages: bool,
}

impl Registry {
    /// Makes an empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers `T`, to be held by `Rc<RefCell<T>>`, and all classes that it reaches.
    ///
    /// # Errors
    ///
    /// Returns an error, and leaves the registry unchanged, if a type cannot be registered:
    ///
    /// - [`ErrorKind::DuplicateId`](crate::ErrorKind::DuplicateId) if another type has the class id. An object of the
    ///   same generic type that differs only in a marker has it, too.
    /// - `DuplicateId` also if an alias is the name or an alias of another class.
    /// - [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if a type cannot be loaded: keys of maps or elements
    ///   of sets with references or hooks, or a type whose empty value would never end.
    pub fn register<T: Persist>(&mut self) -> Result<()> {
        self.register_pointer::<Rc<RefCell<T>>>()
    }

    /// Registers the target of a pointer of type `Q`, such as `Arc<Mutex<Hero>>`, and all classes that it reaches.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`register`](Self::register).
    pub fn register_pointer<Q: SharedPointer>(&mut self) -> Result<()> {
        if self.by_pointee.contains_key(&(Q::Family::POINTER, TypeId::of::<Q::Pointee>())) {
            return Ok(());
        }
        let reach = &mut <Q::Pointee as Pointee>::As::reach::<Q::Family>;
        Entering::new(self, reach)?.finish()
    }

    /// Registers class `T` as an implementor of the trait `D`, and all classes that it reaches.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`register`](Self::register), and [`ErrorKind::Unsupported`] if `T` is neither a
    /// struct nor an enum.
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
        if self.is_registered_as(TypeId::of::<T>(), TypeId::of::<D>()) {
            return Ok(());
        }
        let mut entering = Entering::new(self, &mut |types| {
            T::__reach(types);
            types.implementors::<D>(None);
        })?;
        let Some(class) = entering.class_of(TypeId::of::<T>()) else {
            bail!(
                ErrorKind::Unsupported,
                "{} is neither a struct nor an enum and cannot be registered for a trait; wrap it in a struct",
                T::persist_name()
            );
        };
        let found = TraitClass {
            class,
            type_id: TypeId::of::<T>(),
            caster: Arc::new(Caster::<D>::new::<T>()),
            reach: reach_holder::<T>,
        };
        entering.implementor_of(trait_name::<D>(), found)?;
        entering.finish()
    }

    /// Sets the context of saves, loads and edits: a value of the program that hooks, `with` modules and hand-written
    /// types can read.
    pub fn set_context<C: Any + Send + Sync>(&mut self, context: Arc<C>) {
        self.context = Some(context);
    }

    /// Registers `T` with a function that creates an empty one.
    ///
    /// The function creates objects, and the value of a save of one value. A `T` inside another value is created by its
    /// type.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`register`](Self::register).
    pub fn register_with<T: Persist>(
        &mut self,
        make: impl Fn() -> T + Send + Sync + 'static,
    ) -> Result<()> {
        // The factory comes first, since the check of prototypes skips classes with a factory: the class's own
        // prototype may not end.
        let (of, make) = (TypeId::of::<T>(), Arc::new(Factory::<T>(Box::new(make))));
        let previous = self.implementors.factories.insert(of, make);
        self.changed();
        self.register::<T>().inspect_err(|_| {
            self.implementors.factories.remove(&of);
            self.implementors.factories.extend(previous.map(|previous| (of, previous)));
        })
    }

    /// Declares that a class was removed from the program. Its objects in older saves are dropped, not kept as unknown
    /// data, and the lock no longer asks for the class.
    ///
    /// The name is the one in the saves. If kept data refers to an object of the class, that object is kept too.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Unsupported`] if a registered class has the name, or has it as an alias.
    ///
    /// # Example
    ///
    /// ```
    /// let mut registry = persist::save::Registry::new();
    /// registry.declare_removed_class("quest.Cart")?;
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn declare_removed_class(&mut self, name: &str) -> Result<()> {
        if self.program.removed.insert(name.to_owned()) {
            self.changed();
            if let Err(error) = rules::check_removed_classes(&self.program, 0) {
                self.program.removed.remove(name);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Returns true for the name of a class that was declared as removed.
    #[doc(hidden)]
    pub fn is_removed_class(&self, name: &str) -> bool {
        self.program.removed.contains(name)
    }

    /// Registers the type of a value that is saved on its own, and returns the class of its record.
    pub(crate) fn register_value<T: Persist>(&mut self) -> Result<usize> {
        if let Some(class) = self.value_class::<T>() {
            return Ok(class);
        }
        let type_id = TypeId::of::<T>();
        let mut entering = Entering::new(self, &mut T::__reach)?;
        let class = entering.class_of_kind(T::persist_kind(), T::persist_name)?;
        if T::__CODE.is_some() {
            entering.restored(class);
        }
        entering.check_value(type_id, class)?;
        entering.finish()?;
        self.values.insert(type_id, class);
        Ok(class)
    }

    /// Returns the object type of a class in a holder.
    pub(super) fn object(&self, class: usize, holder: Holder) -> Option<usize> {
        self.objects.iter().position(|entry| entry.class == class && entry.kind.holder == holder)
    }

    /// Takes the skipped fields of a value from an empty one of the program's factory, if `T` has a factory.
    pub(super) fn fill_skipped<T: Persist>(&self, value: &mut T) {
        let factory = self.implementors.factories.get(&TypeId::of::<T>());
        if let Some(factory) = factory.and_then(|factory| factory.downcast_ref::<Factory<T>>()) {
            // The value may be large, so only this call puts it on the stack.
            out_of_line(|| value.__keep_skipped(&mut (factory.0)()));
        }
    }

    /// Returns the factories and classes that create empty values.
    pub(crate) fn prototypes(&self) -> Prototypes<'_> {
        Prototypes::new(&**self.implementors())
    }

    /// Returns the classes of each trait, with those of empty trait objects.
    pub(crate) fn implementors(&self) -> &Arc<Implementors> {
        &self.known().implementors
    }

    /// Returns the bytes of memory of an empty object of a type.
    pub(super) fn footprint(&self, object: usize) -> u64 {
        self.known().footprints[object]
    }

    fn known(&self) -> &ClassFacts {
        self.known.get_or_init(|| ClassFacts::new(&self.program, &self.implementors, &self.objects))
    }

    /// Drops all results that were computed from the classes before this change.
    fn changed(&mut self) {
        self.program.changed();
        self.known.take();
        self.schemas = Schemas::default();
        self.first_numbers = FirstNumbers::default();
    }

    /// Returns an environment with the default limits and the context.
    #[cfg(any(feature = "history", feature = "world"))]
    pub(crate) fn env(&self) -> Env<'_> {
        Env::new(&Limits::DEFAULT, shared(&self.context))
    }

    /// Returns the traits of the values of a class.
    pub(crate) fn traits(&self, class: usize) -> Traits {
        self.known().traits[class]
    }

    /// Returns the class of the record of a value that is saved on its own, if its type is registered for that.
    pub(crate) fn value_class<T: Persist>(&self) -> Option<usize> {
        self.values.get(&TypeId::of::<T>()).copied()
    }

    /// Returns true if a save of a value of the class calls `validate` functions.
    pub(crate) fn validates_saves(&self, class: usize) -> bool {
        let traits = self.traits(class);
        traits.validate || (traits.dynamic && self.any_traits(|traits| traits.validate))
    }

    /// Returns the caster of an object to a trait, if its class is registered for the trait.
    pub(crate) fn caster_of(&self, of: TypeId, object: &Shared) -> Option<&dyn Any> {
        let pointee = object.object().pointee(Duration::ZERO).ok()?;
        let entry = self.by_pointee.get(&(object.pointer(), pointee))?;
        let class = self.implementor(self.objects[*entry].kind.value, of)?;
        self.implementors().caster(of, class)
    }

    /// Returns the index of a class.
    pub(crate) fn class_index(&self, class: &Class) -> Option<usize> {
        self.by_type.get(&class.type_id()).map(|(index, _)| *index)
    }

    /// Returns true if values of the class may contain `validate` or `after_load` functions.
    #[cfg(any(feature = "history", feature = "world"))]
    pub(crate) fn has_hooks(&self, class: usize) -> bool {
        let traits = self.traits(class);
        traits.after_load || traits.dynamic
    }

    /// Returns the path of a field of a class that holds shared pointers, and the name of the class that has the field.
    #[cfg(any(feature = "history", feature = "world"))]
    pub(crate) fn shared_field(&self, class: usize) -> Option<(String, &str)> {
        let (mut visited, mut next) = (HashSet::from([class]), vec![(class, String::new())]);
        while let Some((class, path)) = next.pop() {
            let schema = &self.program.classes[class];
            for (name, kind) in schema.named_kinds().filter(|_| self.traits(class).references) {
                let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                // For a trait object, one of its classes may hold them.
                if kind.refers() {
                    return Some((path, &schema.name));
                }
                let inside = kind.classes().into_iter().filter(|class| visited.insert(*class));
                next.extend(inside.map(|class| (class, path.clone())));
            }
        }
        None
    }

    /// Returns true if `is_match` is true for the traits of some class.
    fn any_traits(&self, is_match: impl Fn(Traits) -> bool) -> bool {
        self.known().traits.iter().any(|traits| is_match(*traits))
    }

    /// Returns the traits of the objects of a type.
    pub(super) fn traits_of(&self, object: usize) -> Traits {
        self.traits(self.objects[object].class)
    }

    /// Returns true if some class has an `after_load` hook.
    #[doc(hidden)]
    pub fn has_after_load(&self) -> bool {
        self.any_traits(|traits| traits.after_load)
    }

    /// Returns the registered classes as schemas.
    #[doc(hidden)]
    pub fn program(&self) -> &Program {
        &self.program
    }
}

/// A shared pointer: `Rc<P>` or `Arc<P>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an `Rc` or `Arc` to what can be saved",
    label = "not a shared pointer",
    note = "an object of a `SaveManager` is shared: put it into an `Rc<RefCell<_>>`; a value of its own is saved by `Saves` or `persist::save`"
)]
pub trait SharedPointer: Sized + 'static {
    /// The target type of the pointer.
    type Pointee: ?Sized + Pointee;

    /// The pointer family: `Rc` or `Arc`.
    #[doc(hidden)]
    type Family: Family<Strong<Self::Pointee> = Self>;

    /// Returns the pointer without its type, which is known only at run time.
    #[doc(hidden)]
    fn share(&self) -> Shared {
        <Self::Pointee as Pointee>::As::share::<Self::Family>(self)
    }

    /// Returns the trait, if the pointer is to a trait object.
    #[doc(hidden)]
    fn of() -> Option<TypeId> {
        <Self::Pointee as Pointee>::As::pointed().of()
    }

    /// Converts a pointer back to its type. Returns `None` for an object of another type.
    #[doc(hidden)]
    fn find(object: &Shared, caster: Option<&dyn Any>) -> Option<Self> {
        <Self::Pointee as Pointee>::As::find::<Self::Family>(object, caster)
    }
}

impl<P: ?Sized + Pointee> SharedPointer for Rc<P> {
    type Pointee = P;
    type Family = RcFamily;
}

impl<P: ?Sized + Pointee> SharedPointer for Arc<P> {
    type Pointee = P;
    type Family = ArcFamily;
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.program.classes.iter().map(|class| &class.name)).finish()
    }
}

/// The facts that follow from the classes of a registry.
#[derive(Clone)]
struct ClassFacts {
    /// The traits of each class.
    traits: Vec<Traits>,
    /// The traits and their classes, with the class of each empty trait object.
    implementors: Arc<Implementors>,
    /// The bytes of memory of an empty object of each type, with its boxes and the targets of its bare pointers. The
    /// result may be up to about twice the real size.
    footprints: Vec<u64>,
}

/// The part of a registry that a load needs to create empty values and trait objects.
#[derive(Clone, Default)]
pub(crate) struct Implementors {
    traits: HashMap<TypeId, Trait>,
    factories: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
}

/// A trait whose trait objects can be saved.
#[derive(Clone, Default)]
struct Trait {
    name: &'static str,
    /// The holders of pointers to its trait objects.
    holders: Vec<Holder>,
    classes: Vec<TraitClass>,
    /// The index in `classes` of each class.
    places: HashMap<usize, usize>,
    /// Index in `classes` of the class of an empty trait object. It is set when [all facts are computed](self::known).
    empty: Option<usize>,
    /// The index of the class that stands in for unknown classes, and that class.
    stand_in: Option<(usize, StandInClass)>,
}

/// A class that is registered for a trait.
#[derive(Clone)]
struct TraitClass {
    /// Index of the class in the program.
    class: usize,
    /// The type that a load creates for the class. Other types may share the class, as `Id<Hero>` and `Id<Orc>` do.
    type_id: TypeId,
    /// The `Caster` from the type to the trait.
    caster: Arc<dyn Any + Send + Sync>,
    /// Function that enters the object type of the class in a holder.
    reach: fn(Holder, &mut TypeSet),
}

impl Trait {
    /// Returns a class, if it is registered for the trait.
    fn class(&self, class: usize) -> Option<&TraitClass> {
        Some(&self.classes[*self.places.get(&class)?])
    }

    /// Returns true for the class that stands in for unknown classes.
    fn is_stand_in(&self, class: usize) -> bool {
        self.stand_in.as_ref().is_some_and(|(index, _)| *index == class)
    }
}

impl Implementors {
    /// Enters a trait. Returns false if it was entered before.
    fn enter(&mut self, of: TraitName) -> Result<bool> {
        let id = (of.id)();
        if self.traits.contains_key(&id) {
            return Ok(false);
        }
        if self.by_name(of.name).is_some() {
            bail!(
                ErrorKind::DuplicateId,
                "two traits are named {} in saves; give one of them `#[persist::dynamic(name = \"another.Name\")]`",
                of.name
            );
        }
        self.traits.insert(id, Trait { name: of.name, ..Trait::default() });
        Ok(true)
    }

    /// Returns the stand-in data of a class, if the class is a stand-in.
    pub(crate) fn stand_in(&self, class: usize) -> Option<&StandInClass> {
        let mut stand_ins = self.traits.values().filter_map(|of| of.stand_in.as_ref());
        stand_ins.find(|(index, _)| *index == class).map(|(_, stand_in)| stand_in)
    }

    /// Returns the class that stands in for the unknown classes of a trait.
    pub(crate) fn stand_in_of(&self, of: TypeId) -> Option<usize> {
        self.traits.get(&of)?.stand_in.as_ref().map(|(class, _)| *class)
    }

    fn by_name(&self, name: &str) -> Option<&Trait> {
        self.traits.values().find(|of| of.name == name)
    }

    /// Iterates over the casters of all classes of a trait.
    #[cfg(feature = "world")]
    pub(crate) fn casters(&self, of: TypeId) -> impl Iterator<Item = &dyn Any> {
        self.traits.get(&of).into_iter().flat_map(|of| &of.classes).map(|class| {
            let caster: &dyn Any = &*class.caster;
            caster
        })
    }

    /// Returns the `Caster` from a class to a trait.
    pub(crate) fn caster(&self, of: TypeId, class: usize) -> Option<&dyn Any> {
        Some(&*self.traits.get(&of)?.class(class)?.caster)
    }

    /// Returns true if this type is the one that is registered for its class and a trait.
    fn has(&self, of: TypeId, class: usize, type_id: TypeId) -> bool {
        let found = self.traits.get(&of).and_then(|of| of.class(class));
        found.is_some_and(|class| class.type_id == type_id)
    }
}

impl PrototypeTable for Implementors {
    fn implementor(&self, of: TypeId) -> Option<&dyn Any> {
        let of = self.traits.get(&of)?;
        Some(&*of.classes[of.empty?].caster)
    }

    fn factory(&self, of: TypeId) -> Option<&dyn Any> {
        let factory: &dyn Any = &**self.factories.get(&of)?;
        Some(factory)
    }
}
