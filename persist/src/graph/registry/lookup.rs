//! The lookup of classes by name and type, for editors.

use std::any::{Any, TypeId};

use super::Registry;
use super::enter::Entering;
use crate::reflect::{Class, Holder};
use crate::schema::ProgramClass;

/// Methods that inspect classes, for editors.
impl Registry {
    /// Iterates over the registered structs and enums, in the order of registration.
    pub fn classes(&self) -> impl Iterator<Item = &'static Class> + use<'_> {
        self.program.targets.iter().flatten().map(|target| target.class)
    }

    /// Returns the class of this name, or `None` if there is none.
    #[must_use]
    pub fn class(&self, name: &str) -> Option<&'static Class> {
        self.program.targets[self.named(name)?].map(|target| target.class)
    }

    /// Returns the index of the class of this name.
    pub(crate) fn named(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Returns true if the class of this name has the other name, or has it as an alias.
    #[cfg(feature = "world")]
    pub(crate) fn is_called(&self, name: &str, other: &str) -> bool {
        let is_alias = || self.class(name).is_some_and(|class| class.aliases.contains(&other));
        name == other || is_alias()
    }

    /// Returns the class of a value, or `None` if its type is not registered as a struct or an enum.
    #[must_use]
    pub fn class_of(&self, value: &dyn Any) -> Option<&'static Class> {
        self.entry(value).map(|(_, target)| target.class)
    }

    /// Returns true if the program registered a type as an implementor of a trait, and not only another type reached
    /// it.
    pub(crate) fn is_registered_as(&self, class: TypeId, of: TypeId) -> bool {
        let known = self.implementor(class, of);
        known.is_some_and(|class| self.program.implementors.contains(&class))
    }

    /// Returns the index of the class of a type, if the type is registered for a trait.
    pub(crate) fn implementor(&self, class: TypeId, of: TypeId) -> Option<usize> {
        let (index, _) = self.by_type.get(&class)?;
        self.implementors.has(of, *index, class).then_some(*index)
    }

    /// Returns the index of the class of a type.
    pub(crate) fn class_of_type(&self, of: TypeId) -> Option<usize> {
        self.by_type.get(&of).map(|(index, _)| *index)
    }

    /// Iterates over the classes and holders of all object types but stand-ins, which are saved as the data that they
    /// hold.
    #[doc(hidden)]
    pub fn object_types(&self) -> impl Iterator<Item = (usize, Holder)> {
        let objects = self.objects.iter().map(|entry| (entry.class, entry.kind.holder));
        objects.filter(|(class, _)| self.implementors.stand_in(*class).is_none())
    }

    /// Iterates over the names of all traits, each with the classes that are registered for it except stand-ins.
    #[cfg(feature = "history")]
    #[doc(hidden)]
    pub fn trait_classes(&self) -> impl Iterator<Item = (&'static str, Vec<usize>)> {
        self.implementors.traits.values().map(|of| {
            let classes = of.classes.iter().map(|class| class.class);
            (of.name, classes.filter(|class| !of.is_stand_in(*class)).collect())
        })
    }

    /// Returns true if trait objects of this trait keep values of unknown classes.
    #[doc(hidden)]
    pub fn has_stand_in(&self, of: &str) -> bool {
        self.implementors.by_name(of).is_some_and(|of| of.stand_in.is_some())
    }

    /// Returns a copy of the registry in which the classes of these traits can be objects in a holder, too.
    #[doc(hidden)]
    pub fn with_objects_of(&self, traits: &[&str], holder: Holder) -> Self {
        let mut next = self.clone();
        for of in traits.iter().filter_map(|name| self.implementors.by_name(name)) {
            for class in of.classes.iter().filter(|class| !of.is_stand_in(class.class)) {
                let entering = Entering::new(&mut next, &mut |types| (class.reach)(holder, types));
                // A class without an empty value cannot be an object, and is left out.
                drop(entering.and_then(Entering::finish));
            }
        }
        next
    }

    /// Returns the index of the class of a value, and the access to its fields.
    pub(crate) fn entry(&self, value: &dyn Any) -> Option<(usize, ProgramClass)> {
        self.by_type.get(&value.type_id()).copied()
    }
}
