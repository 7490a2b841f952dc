//! The classes that implement each trait, and the program's own factories.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use crate::codec::{PrototypeTable, StandInClass, TypeSet};
use crate::reflect::{Holder, TraitName};
use crate::{Error, ErrorKind, Result};

/// What a load needs of a registry to make empty values and trait objects.
#[derive(Clone, Default)]
pub(crate) struct Implementors {
    traits: HashMap<TypeId, Trait>,
    pub(super) factories: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    /// By the index of their class.
    stand_ins: HashMap<usize, StandInClass>,
}

/// A trait whose trait objects can be saved.
#[derive(Clone)]
pub(super) struct Trait {
    pub(super) name: &'static str,
    /// The holders in which its trait objects stand behind pointers.
    pub(super) holders: Vec<Holder>,
    pub(super) classes: Vec<TraitClass>,
    /// Where each class is among them.
    pub(super) places: HashMap<usize, usize>,
    /// Place of the class that an empty trait object is of; found when all classes are [known](super::known).
    pub(super) empty: Option<usize>,
    /// The class that stands in for unknown ones.
    pub(super) stand_in: Option<usize>,
}

/// A class that is registered for a trait.
#[derive(Clone)]
pub(super) struct TraitClass {
    /// Index of the class.
    pub(super) class: usize,
    /// A `Caster` of the trait.
    pub(super) caster: Arc<dyn Any + Send + Sync>,
    /// Enters the object type of the class in a holder.
    pub(super) reach: fn(Holder, &mut TypeSet),
}

impl Implementors {
    /// Enters a trait; returns false if it is there.
    pub(super) fn enter(&mut self, of: TraitName) -> Result<bool> {
        let id = (of.id)();
        if self.traits.contains_key(&id) {
            return Ok(false);
        }
        if self.by_name(of.name).is_some() {
            return Err(Error::new(
                ErrorKind::DuplicateId,
                format!(
                    "two traits are named {} in saves; give one of them `#[persist::dynamic(name = \"another.Name\")]`",
                    of.name
                ),
            ));
        }
        let new = Trait {
            name: of.name,
            holders: Vec::new(),
            classes: Vec::new(),
            places: HashMap::new(),
            empty: None,
            stand_in: None,
        };
        self.traits.insert(id, new);
        Ok(true)
    }

    /// A trait that has been entered.
    pub(super) fn get_mut(&mut self, of: TypeId) -> Option<&mut Trait> {
        self.traits.get_mut(&of)
    }

    /// Says which class stands in for the unknown ones of a trait, for which it has been entered; returns the one
    /// that did before.
    pub(super) fn set_stand_in(
        &mut self,
        of: TypeId,
        class: usize,
        stand_in: &StandInClass,
    ) -> Option<usize> {
        self.stand_ins.entry(class).or_insert_with(|| stand_in.clone());
        self.traits.get_mut(&of)?.stand_in.replace(class)
    }

    /// Takes out a trait that has just been entered.
    pub(super) fn remove(&mut self, of: TypeId) {
        self.traits.remove(&of);
    }

    /// Undoes that a class stands in, which it has just begun to.
    pub(super) fn remove_stand_in(&mut self, of: TypeId, class: usize, before: Option<usize>) {
        if let Some(of) = self.traits.get_mut(&of) {
            of.stand_in = before;
        }
        if self.traits.values().all(|of| of.stand_in != Some(class)) {
            self.stand_ins.remove(&class);
        }
    }

    /// The stand-in of this class, if it is one.
    pub(crate) fn stand_in(&self, class: usize) -> Option<&StandInClass> {
        self.stand_ins.get(&class)
    }

    /// The class that stands in for the unknown ones of a trait.
    pub(crate) fn stand_in_of(&self, of: TypeId) -> Option<usize> {
        self.traits.get(&of)?.stand_in
    }

    pub(super) fn by_name(&self, name: &str) -> Option<&Trait> {
        self.traits.values().find(|of| of.name == name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Trait> {
        self.traits.values()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Trait> {
        self.traits.values_mut()
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
        let of = self.traits.get(&of)?;
        Some(&*of.classes[*of.places.get(&class)?].caster)
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
