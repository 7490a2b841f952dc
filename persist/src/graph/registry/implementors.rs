//! The classes that implement each trait, and the program's own factories.

use hashbrown::HashMap;
use std::any::{Any, TypeId};
use std::sync::Arc;

use crate::codec::{PrototypeTable, StandInClass, TypeSet};
use crate::reflect::{Holder, TraitName};
use crate::{ErrorKind, Result};

/// What a load needs of a registry to make empty values and trait objects.
#[derive(Clone, Default)]
pub(crate) struct Implementors {
    pub(super) traits: HashMap<TypeId, Trait>,
    pub(super) factories: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
}

/// A trait whose trait objects can be saved.
#[derive(Clone, Default)]
pub(super) struct Trait {
    pub(super) name: &'static str,
    /// The holders in which its trait objects stand behind pointers.
    pub(super) holders: Vec<Holder>,
    pub(super) classes: Vec<TraitClass>,
    /// Where each class is among them.
    pub(super) places: HashMap<usize, usize>,
    /// Place of the class that an empty trait object is of; found when all classes are [known](super::known).
    pub(super) empty: Option<usize>,
    /// The class that stands in for unknown ones, and its index.
    pub(super) stand_in: Option<(usize, StandInClass)>,
}

/// A class that is registered for a trait.
#[derive(Clone)]
pub(super) struct TraitClass {
    /// Index of the class.
    pub(super) class: usize,
    /// The type that a load makes of it. Others may share the class, as `Id<Hero>` and `Id<Orc>` do.
    pub(super) type_id: TypeId,
    /// A `Caster` of the trait.
    pub(super) caster: Arc<dyn Any + Send + Sync>,
    /// Enters the object type of the class in a holder.
    pub(super) reach: fn(Holder, &mut TypeSet),
}

impl Trait {
    /// A class that is registered for the trait.
    pub(super) fn class(&self, class: usize) -> Option<&TraitClass> {
        Some(&self.classes[*self.places.get(&class)?])
    }

    /// True for the class that stands in for unknown ones.
    pub(super) fn is_stand_in(&self, class: usize) -> bool {
        self.stand_in.as_ref().is_some_and(|(index, _)| *index == class)
    }
}

impl Implementors {
    /// Enters a trait; returns false if it is there.
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

    /// The stand-in of this class, if it is one.
    pub(crate) fn stand_in(&self, class: usize) -> Option<&StandInClass> {
        let mut stand_ins = self.traits.values().filter_map(|of| of.stand_in.as_ref());
        stand_ins.find(|(index, _)| *index == class).map(|(_, stand_in)| stand_in)
    }

    /// The class that stands in for the unknown ones of a trait.
    pub(crate) fn stand_in_of(&self, of: TypeId) -> Option<usize> {
        self.traits.get(&of)?.stand_in.as_ref().map(|(class, _)| *class)
    }

    pub(super) fn by_name(&self, name: &str) -> Option<&Trait> {
        self.traits.values().find(|of| of.name == name)
    }

    /// The casters of all classes of a trait.
    pub(crate) fn casters(&self, of: TypeId) -> impl Iterator<Item = &dyn Any> {
        self.traits.get(&of).into_iter().flat_map(|of| &of.classes).map(|class| {
            let caster: &dyn Any = &*class.caster;
            caster
        })
    }

    /// How a class becomes trait objects of a trait; a `Caster`.
    pub(crate) fn caster(&self, of: TypeId, class: usize) -> Option<&dyn Any> {
        Some(&*self.traits.get(&of)?.class(class)?.caster)
    }

    /// True if this type of a class is the one that is registered for a trait.
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
