//! The classes of a program: registered, checked, and looked up by name, type and number.

mod enter;
mod implementors;
mod known;
mod rules;

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hashbrown::HashMap;

use self::enter::Entering;
pub(crate) use self::implementors::Implementors;
use self::implementors::TraitClass;
use self::known::ClassFacts;
use super::schemas::Schemas;
use crate::codec::{
    ArcFamily, Caster, Factory, Family, Implements, ObjectType, Persist, PointTo, Pointee,
    Prototypes, RcFamily, Shared, apart, reach_holder, trait_name,
};
use crate::env::{Env, SharedContext, shared};
use crate::format::FirstNumbers;
use crate::reflect::{Class, ClassId, Holder, Pointer};
use crate::schema::{Program, ProgramClass};
use crate::{ErrorKind, Limits, Result};

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
    /// Index and fields of each Rust type that is a struct or an enum. Types that differ in markers alone, `Id<Hero>` and
    /// `Id<Orc>`, share a class: a field says which it holds. Where the class alone says it, only one of them may be.
    by_type: HashMap<TypeId, (usize, ProgramClass)>,
    /// The classes of the types that are saved on their own, such as a `Hero` or a `Vec<Hero>`.
    values: HashMap<TypeId, usize>,
    /// The object type behind each pointer.
    pub(super) by_pointee: HashMap<(Pointer, TypeId), usize>,
    implementors: Implementors,
    /// The first class of each alias.
    aliases: std::collections::HashMap<&'static str, usize>,
    /// By class, whether an empty value of it has been found to end.
    ends: Vec<bool>,
    /// What follows from all classes, once that was asked for.
    known: OnceLock<ClassFacts>,
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
}

/// What the values of a class hold, themselves or in classes inside.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    pub(crate) references: bool,
    /// References other than those that something unknown may hold.
    pub(crate) pointers: bool,
    pub(crate) before_save: bool,
    pub(crate) after_load: bool,
    /// `validate` functions, which `after_load` counts too.
    pub(crate) validate: bool,
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
    /// [`ErrorKind::DuplicateId`](crate::ErrorKind::DuplicateId) if another type has the class id, such as an object
    /// of the same generic type that differs in a marker alone, or an alias is also the name or an alias of another class;
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
        let reach = &mut <Q::Pointee as Pointee>::As::reach::<Q::Family>;
        Entering::of(self, reach)?.finish()
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
        if self.is_registered_as(TypeId::of::<T>(), TypeId::of::<D>()) {
            return Ok(());
        }
        let mut entering = Entering::of(self, &mut |types| {
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
            caster: Arc::new(Caster::<D>::of::<T>()),
            reach: reach_holder::<T>,
        };
        entering.implementor_of(trait_name::<D>(), found)?;
        entering.finish()
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
        let (of, make) = (TypeId::of::<T>(), Arc::new(Factory::<T>(Box::new(make))));
        let before = self.implementors.factories.insert(of, make);
        self.changed();
        self.register::<T>().inspect_err(|_| {
            self.implementors.factories.remove(&of);
            self.implementors.factories.extend(before.map(|before| (of, before)));
        })
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
        if self.program.removed.insert(name.to_owned()) {
            self.changed();
            if let Err(error) = rules::check_removed_classes(&self.program, 0) {
                self.program.removed.remove(name);
                return Err(error);
            }
        }
        Ok(())
    }

    /// True for the name of a class that is gone for good.
    pub(crate) fn is_removed_class(&self, name: &str) -> bool {
        self.program.removed.contains(name)
    }

    /// Registers what a bare value reaches, and returns the class of its record.
    pub(crate) fn register_value<T: Persist>(&mut self) -> Result<usize> {
        if let Some(class) = self.value_class::<T>() {
            return Ok(class);
        }
        let type_id = TypeId::of::<T>();
        let mut entering = Entering::of(self, &mut T::__reach)?;
        let class = entering.class_of_kind(T::persist_kind(), T::persist_name)?;
        if T::__CODE.is_some() {
            entering.restored(class);
        }
        entering.check_value(type_id, class)?;
        entering.finish()?;
        self.values.insert(type_id, class);
        Ok(class)
    }

    /// The object type of a class in a holder.
    pub(super) fn object(&self, class: usize, holder: Holder) -> Option<usize> {
        self.objects.iter().position(|entry| entry.class == class && entry.kind.holder == holder)
    }

    /// Takes the fields that are not stored from an empty value of the program's factory, if it gave one.
    pub(super) fn fill_skipped<T: Persist>(&self, value: &mut T) {
        let factory = self.implementors.factories.get(&TypeId::of::<T>());
        if let Some(factory) = factory.and_then(|factory| factory.downcast_ref::<Factory<T>>()) {
            // On the stack only then: the value may be large.
            apart(|| value.__keep_skipped(&mut (factory.0)()));
        }
    }

    /// What makes empty values.
    pub(crate) fn prototypes(&self) -> Prototypes<'_> {
        Prototypes::new(&**self.implementors())
    }

    /// The classes of each trait, with those that empty trait objects are of.
    pub(crate) fn implementors(&self) -> &Arc<Implementors> {
        &self.known().implementors
    }

    /// Bytes in memory of an empty object of a type.
    pub(super) fn footprint(&self, object: usize) -> u64 {
        self.known().footprints[object]
    }

    fn known(&self) -> &ClassFacts {
        self.known.get_or_init(|| ClassFacts::of(&self.program, &self.implementors, &self.objects))
    }

    /// Forgets what followed from the classes before there were others.
    fn changed(&mut self) {
        self.program.changed();
        self.known.take();
        self.schemas = Schemas::default();
        self.first_numbers = FirstNumbers::default();
    }

    /// The default limits with the context.
    pub(crate) fn env(&self) -> Env<'_> {
        Env::new(&Limits::DEFAULT, shared(&self.context))
    }

    /// What the values of a class hold.
    pub(crate) fn traits(&self, class: usize) -> Traits {
        self.known().traits[class]
    }

    /// The class of the record of a bare value, if it was registered.
    pub(crate) fn value_class<T: Persist>(&self) -> Option<usize> {
        self.values.get(&TypeId::of::<T>()).copied()
    }

    /// True if a save of a value of a class asks `validate` functions.
    pub(crate) fn validates_saves(&self, class: usize) -> bool {
        let traits = self.traits(class);
        traits.validate || (traits.dynamic && self.any_traits(|traits| traits.validate))
    }

    /// How an object becomes a trait object of a trait, if its class is registered for that.
    pub(crate) fn caster_of(&self, of: TypeId, object: &Shared) -> Option<&dyn Any> {
        let pointee = object.object().pointee(Duration::ZERO).ok()?;
        let entry = self.by_pointee.get(&(object.pointer(), pointee))?;
        let class = self.implementor(self.objects[*entry].kind.value, of)?;
        self.implementors().caster(of, class)
    }

    /// The index of a class.
    pub(crate) fn class_index(&self, class: &Class) -> Option<usize> {
        self.by_type.get(&class.type_id()).map(|(index, _)| *index)
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
            let schema = &self.program.classes[class];
            for (name, kind) in schema.named_kinds().filter(|_| self.traits(class).references) {
                let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                // One of the classes of a trait object may.
                if kind.refers() {
                    return Some((path, &schema.name));
                }
                let inside = kind.classes().into_iter().filter(|class| met.insert(*class));
                next.extend(inside.map(|class| (class, path.clone())));
            }
        }
        None
    }

    /// True if a class of the program has such traits.
    pub(crate) fn any_traits(&self, wanted: impl Fn(Traits) -> bool) -> bool {
        self.known().traits.iter().any(|traits| wanted(*traits))
    }

    /// What the objects of a type hold.
    pub(super) fn traits_of(&self, object: usize) -> Traits {
        self.traits(self.objects[object].class)
    }

    pub(crate) fn program(&self) -> &Program {
        &self.program
    }
}

/// Looking at classes, as an editor does.
impl Registry {
    /// The registered structs and enums, in the order in which they were met.
    pub fn classes(&self) -> impl Iterator<Item = &'static Class> + use<'_> {
        self.program.targets.iter().flatten().map(|target| target.class)
    }

    /// The class of this name.
    #[must_use]
    pub fn class(&self, name: &str) -> Option<&'static Class> {
        self.program.targets[self.named(name)?].map(|target| target.class)
    }

    /// Index of the class of this name.
    pub(crate) fn named(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// True if the class of this name is, or was once, called as the other.
    pub(crate) fn is_called(&self, name: &str, other: &str) -> bool {
        let is_alias = || self.class(name).is_some_and(|class| class.aliases.contains(&other));
        name == other || is_alias()
    }

    /// The class of a value, if it is registered.
    #[must_use]
    pub fn class_of(&self, value: &dyn Any) -> Option<&'static Class> {
        self.entry(value).map(|(_, target)| target.class)
    }

    /// True if a type was registered as an implementor of a trait, and not only reached by another one.
    pub(crate) fn is_registered_as(&self, class: TypeId, of: TypeId) -> bool {
        let known = self.implementor(class, of);
        known.is_some_and(|class| self.program.implementors.contains(&class))
    }

    /// Index of the class of a type that is registered for a trait.
    pub(crate) fn implementor(&self, class: TypeId, of: TypeId) -> Option<usize> {
        let (index, _) = self.by_type.get(&class)?;
        self.implementors.has(of, *index, class).then_some(*index)
    }

    /// The classes and holders of the objects that can be saved, but for stand-ins, which are
    /// saved as what they stand for.
    pub(crate) fn object_types(&self) -> impl Iterator<Item = (usize, Holder)> {
        let objects = self.objects.iter().map(|entry| (entry.class, entry.kind.holder));
        objects.filter(|(class, _)| self.implementors.stand_in(*class).is_none())
    }

    /// The names of the traits, and the classes that are registered for each, but for stand-ins.
    pub(crate) fn trait_classes(&self) -> impl Iterator<Item = (&'static str, Vec<usize>)> {
        self.implementors.traits.values().map(|of| {
            let classes = of.classes.iter().map(|class| class.class);
            (of.name, classes.filter(|class| !of.is_stand_in(*class)).collect())
        })
    }

    /// True if values of unknown classes are kept where a trait object stands.
    pub(crate) fn has_stand_in(&self, of: &str) -> bool {
        self.implementors.by_name(of).is_some_and(|of| of.stand_in.is_some())
    }

    /// The registry with the classes of these traits as objects in a holder, too.
    pub(crate) fn with_objects_of(&self, traits: &[&str], holder: Holder) -> Self {
        let mut next = self.clone();
        for of in traits.iter().filter_map(|name| self.implementors.by_name(name)) {
            for class in of.classes.iter().filter(|class| !of.is_stand_in(class.class)) {
                let entering = Entering::of(&mut next, &mut |types| (class.reach)(holder, types));
                // One without an empty value cannot be an object.
                drop(entering.and_then(Entering::finish));
            }
        }
        next
    }

    /// Index of the class of a value, and how to reach its fields.
    pub(crate) fn entry(&self, value: &dyn Any) -> Option<(usize, ProgramClass)> {
        self.by_type.get(&value.type_id()).copied()
    }
}

/// A counted pointer: `Rc<P>` or `Arc<P>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an `Rc` or `Arc` to what can be saved",
    label = "not a counted pointer",
    note = "an object of a `SaveManager` is shared: put it into an `Rc<RefCell<_>>`; a value of its own is saved by `Saves` or `persist::save`"
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
