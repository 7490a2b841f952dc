//! The classes that implement each trait, and the program's own factories.

use hashbrown::HashMap;
use std::any::{Any, TypeId};
use std::sync::Arc;

use crate::codec::{PrototypeTable, StandInClass, TypeSet};
use crate::reflect::{Holder, TraitName};
use crate::{ErrorKind, Result};

/// The part of a registry that a load needs to create empty values and trait objects.
#[derive(Clone, Default)]
pub(crate) struct Implementors {
    pub(super) traits: HashMap<TypeId, Trait>,
    pub(super) factories: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
}

/// A trait whose trait objects can be saved.
#[derive(Clone, Default)]
pub(super) struct Trait {
    pub(super) name: &'static str,
    /// The holders of pointers to its trait objects.
    pub(super) holders: Vec<Holder>,
    pub(super) classes: Vec<TraitClass>,
    /// The index in `classes` of each class.
    pub(super) places: HashMap<usize, usize>,
    /// Index in `classes` of the class of an empty trait object. It is set when [all facts are computed](super::known).
    pub(super) empty: Option<usize>,
    /// The index of the class that stands in for unknown classes, and that class.
    pub(super) stand_in: Option<(usize, StandInClass)>,
}

/// A class that is registered for a trait.
#[derive(Clone)]
pub(super) struct TraitClass {
    /// Index of the class in the program.
    pub(super) class: usize,
    /// The type that a load creates for the class. Other types may share the class, as `Id<Hero>` and `Id<Orc>` do.
    pub(super) type_id: TypeId,
    /// The `Caster` from the type to the trait.
    pub(super) caster: Arc<dyn Any + Send + Sync>,
    /// Function that enters the object type of the class in a holder.
    pub(super) reach: fn(Holder, &mut TypeSet),
}

impl Trait {
    /// Returns a class, if it is registered for the trait.
    pub(super) fn class(&self, class: usize) -> Option<&TraitClass> {
        Some(&self.classes[*self.places.get(&class)?])
    }

    /// Returns true for the class that stands in for unknown classes.
    pub(super) fn is_stand_in(&self, class: usize) -> bool {
        self.stand_in.as_ref().is_some_and(|(index, _)| *index == class)
    }
}

impl Implementors {
    /// Enters a trait. Returns false if it was entered before.
    pub(super) fn enter(&mut self, of: TraitName) -> Result<bool> {
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

    pub(super) fn by_name(&self, name: &str) -> Option<&Trait> {
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
    pub(super) fn has(&self, of: TypeId, class: usize, type_id: TypeId) -> bool {
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
