//! What a field that is read or set on its own may hold of the world around it: trait objects, but no
//! shared pointers.

use std::any::TypeId;
use std::rc::Rc;

use crate::codec::{
    Implementor, Linked, LoadLinks, Pointed, Prototypes, SaveLinks, Shared, Unknown, Within,
};
use crate::reflect::TraitName;
use crate::{Error, ErrorKind, Registry, Result};

/// Classes have the numbers that they would have in a save of all of them.
pub(super) struct FieldLinks<'r> {
    registry: &'r Registry,
    empty_elements: usize,
}

impl<'r> FieldLinks<'r> {
    pub(super) fn new(registry: &'r Registry) -> Self {
        Self { registry, empty_elements: 0 }
    }
}

#[cold]
fn unsupported<T>(what: &str) -> Result<T> {
    Err(Error::new(
        ErrorKind::Unsupported,
        format!(
            "{what} lies in the field, which then cannot be reached by its path; take a path of a field beside it, or the component itself"
        ),
    ))
}

const POINTER: &str = "a shared pointer";
const UNKNOWN: &str = "what the program does not know";

impl SaveLinks for FieldLinks<'_> {
    fn link(&mut self, _: usize, _: bool, _: Pointed, _: &dyn Fn() -> Shared) -> Result<u64> {
        unsupported(POINTER)
    }

    fn class(&mut self, class: TypeId, of: TraitName, name: &dyn Fn() -> String) -> Result<u64> {
        match self.registry.implementor(class, (of.id)()) {
            Some(class) => Ok(class as u64 + 1),
            None => unsupported(&format!("a {}, which is not registered for {},", name(), of.name)),
        }
    }

    fn foreign_class(&mut self, _: &Rc<dyn std::any::Any>, _: usize) -> Result<u64> {
        unsupported(UNKNOWN)
    }

    fn enter_cell(&mut self, _: Within) -> Within {
        Within::Bare
    }

    fn leave_cell(&mut self, _: Within) {}

    fn empty_elements(&mut self) -> &mut usize {
        &mut self.empty_elements
    }
}

impl LoadLinks for FieldLinks<'_> {
    fn link(&mut self, _: u64, _: bool, _: Pointed) -> Result<Linked<'_>> {
        unsupported(POINTER)
    }

    fn class(&mut self, number: u64, of: TraitName) -> Result<Implementor<'_>> {
        let class = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let classes = &self.registry.program().classes;
        let Some((class, known)) = class.and_then(|class| Some((class, classes.get(class)?)))
        else {
            return unsupported(UNKNOWN);
        };
        Ok(match self.registry.implementors.caster((of.id)(), class) {
            Some(caster) => Implementor::Known(caster),
            None => Implementor::Unknown(known.name.clone()),
        })
    }

    fn skip(&mut self, _: u64, _: &[u8]) -> Result<usize> {
        unsupported(UNKNOWN)
    }

    fn keep(&mut self, _: u64, _: &[u8]) -> Result<(Unknown, usize)> {
        unsupported(UNKNOWN)
    }

    fn prototypes(&self) -> Prototypes<'_> {
        self.registry.prototypes()
    }

    fn empty_elements(&mut self) -> &mut usize {
        &mut self.empty_elements
    }
}
