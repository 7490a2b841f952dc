use std::any::{Any, TypeId};

use super::{Factory, Persist};
use crate::Result;

/// What is needed to make an empty value: the classes of each trait, and the
/// program's own factories.
#[derive(Clone, Copy)]
pub struct Prototypes<'p>(&'p dyn PrototypeTable);

pub(crate) trait PrototypeTable {
    /// The `Caster` of the class that an empty trait object of this type is of.
    fn implementor(&self, of: TypeId) -> Option<&dyn Any>;

    /// The program's `Factory` of this type.
    fn factory(&self, of: TypeId) -> Option<&dyn Any>;
}

struct NoTable;

impl PrototypeTable for NoTable {
    fn implementor(&self, _: TypeId) -> Option<&dyn Any> {
        None
    }

    fn factory(&self, _: TypeId) -> Option<&dyn Any> {
        None
    }
}

impl<'p> Prototypes<'p> {
    pub(crate) fn new(table: &'p dyn PrototypeTable) -> Self {
        Self(table)
    }

    /// Without a registry: enough for types that hold no trait objects.
    #[must_use]
    pub fn bare() -> Prototypes<'static> {
        Prototypes(&NoTable)
    }

    pub(crate) fn implementor(&self, of: TypeId) -> Option<&'p dyn Any> {
        self.0.implementor(of)
    }

    /// An empty value of an object: by the program's factory, if it gave one.
    pub(crate) fn object<T: Persist>(&self) -> Result<T> {
        let factory = self.0.factory(TypeId::of::<T>());
        match factory.and_then(|factory| factory.downcast_ref::<Factory<T>>()) {
            Some(factory) => Ok((factory.0)()),
            None => T::persist_empty(self),
        }
    }
}
