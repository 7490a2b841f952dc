//! The classes behind the traits, and the program's own factories.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::rc::Rc;

use crate::codec::{PrototypeTable, TypeSet};
use crate::reflect::{Holder, TraitName};
use crate::{Error, ErrorKind, Result};

/// What a load needs of a registry to make empty values and trait objects.
#[derive(Clone, Default)]
pub(crate) struct Implementors {
    traits: HashMap<TypeId, Trait>,
    pub(super) factories: HashMap<TypeId, Rc<dyn Any>>,
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
    /// Index of the class that an empty trait object is of.
    pub(super) empty: Option<usize>,
}

/// A class that is registered for a trait.
#[derive(Clone)]
pub(super) struct TraitClass {
    /// Index of the class.
    pub(super) class: usize,
    pub(super) type_id: TypeId,
    /// A `Caster` of the trait.
    pub(super) caster: Rc<dyn Any>,
    /// Enters the object type of the class in a holder.
    pub(super) reach: fn(Holder, &mut TypeSet),
}

impl Implementors {
    /// The trait, entered if it is new.
    pub(super) fn enter(&mut self, of: TraitName) -> Result<&mut Trait> {
        let id = (of.id)();
        if !self.traits.contains_key(&id) && self.by_name(of.name).is_some() {
            return Err(Error::new(
                ErrorKind::DuplicateId,
                format!(
                    "two traits are named {} in saves; give one of them `#[persist::dynamic(name = \"another.Name\")]`",
                    of.name
                ),
            ));
        }
        Ok(self.traits.entry(id).or_insert_with(|| Trait {
            name: of.name,
            holders: Vec::new(),
            classes: Vec::new(),
            places: HashMap::new(),
            empty: None,
        }))
    }

    pub(super) fn get(&self, of: TypeId) -> Option<&Trait> {
        self.traits.get(&of)
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
        self.factories.get(&of).map(|factory| &**factory)
    }
}
