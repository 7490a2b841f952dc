//! The links of a field that is encoded or decoded on its own: it may hold trait objects, but no shared pointers.

use std::any::TypeId;
use std::sync::Arc;

#[cfg(feature = "world")]
use crate::codec::Remapped;
use crate::codec::{
    Decoder, Fail, Implementor, Link, Linked, LoadLinks, Pointing, Prototypes, Referent, SaveLinks,
    Unknown, charge_empty, left_over,
};
use crate::graph::Registry;
use crate::reflect::TraitName;
#[cfg(feature = "world")]
use crate::types::WorldObjects;
use crate::{Error, ErrorKind, Limits, Result};

/// Links for encoding and decoding single fields. The number of a class is its index in the registry plus 1.
#[derive(Clone, Copy)]
pub(crate) struct FieldLinks<'r> {
    pub registry: &'r Registry,
    empty_elements: usize,
    advice: &'static str,
    /// For bytes that another program wrote: the class of this registry for each class number there.
    pub numbers: Option<&'r [Option<usize>]>,
    /// Returns the new id of an object for an old one; `None` clears it.
    #[cfg_attr(not(feature = "world"), expect(dead_code, reason = "a prefab has it"))]
    pub renumber: Option<&'r dyn Fn(u64) -> Option<u64>>,
}

impl<'r> FieldLinks<'r> {
    pub(crate) fn new(registry: &'r Registry) -> Self {
        const ADVICE: &str = "the field, which then cannot be reached by its path; take a path of a field beside it, or the component itself";
        Self { registry, empty_elements: 0, advice: ADVICE, numbers: None, renumber: None }
    }

    /// Creates the links for a command in a journal.
    #[cfg(feature = "history")]
    pub(crate) fn of_command(registry: &'r Registry) -> Self {
        const ADVICE: &str =
            "the command, which then cannot be in a journal; keep an id or a copy in its place";
        Self { advice: ADVICE, ..Self::new(registry) }
    }

    /// Creates the links for a snapshot of a world.
    #[cfg(feature = "world")]
    pub(crate) fn of_snapshot(registry: &'r Registry) -> Self {
        const ADVICE: &str = "a component or resource, which then cannot be in a snapshot; register its class in `World::registry_mut`, or save the world instead";
        Self { advice: ADVICE, ..Self::new(registry) }
    }

    /// Sets the indices that the classes of another program have here.
    #[cfg(feature = "history")]
    pub(crate) fn numbered(self, numbers: Option<&'r [Option<usize>]>) -> Self {
        Self { numbers, ..self }
    }

    /// Decodes a value from these bytes. Returns an error if bytes are left over.
    pub(crate) fn decode<V>(
        mut self,
        bytes: &[u8],
        read: impl FnOnce(&mut Decoder<'_>) -> Result<V, Fail>,
    ) -> Result<V> {
        let env = self.registry.env();
        let mut input = Decoder::new(bytes, &env, &mut self);
        match read(&mut input) {
            Ok(value) if input.rest().is_empty() => Ok(value),
            Ok(_) => Err(left_over(input.rest().len())),
            Err(fail) => Err(input.take_error().unwrap_or_else(|| fail.into())),
        }
    }

    #[cold]
    fn unsupported<T>(&self, what: &str) -> Result<T> {
        let message = format!("{what} lies in {}", self.advice);
        Err(Error::new(ErrorKind::Unsupported, message))
    }
}

const POINTER: &str = "a shared pointer";
const UNKNOWN: &str = "what the program does not know";

impl SaveLinks for FieldLinks<'_> {
    fn link(&mut self, _: usize, _: Link, _: &dyn Referent) -> Result<u64> {
        self.unsupported(POINTER)
    }

    fn class(&mut self, class: TypeId, of: TraitName, name: &dyn Fn() -> String) -> Result<u64> {
        match self.registry.implementor(class, (of.id)()) {
            Some(class) => Ok(class as u64 + 1),
            None => {
                self.unsupported(&format!("a {}, which is not registered for {},", name(), of.name))
            }
        }
    }

    fn unknown_class(&mut self, _: &Arc<dyn std::any::Any + Send + Sync>, _: usize) -> Result<u64> {
        self.unsupported(UNKNOWN)
    }

    fn charge(&mut self, empty: usize, _: u64, limits: &Limits) -> Result<()> {
        charge_empty(&mut self.empty_elements, empty, limits)
    }
}

impl LoadLinks for FieldLinks<'_> {
    fn link(&mut self, _: u64, _: Pointing) -> Result<Linked<'_>> {
        self.unsupported(POINTER)
    }

    fn class(&mut self, number: u64, of: TraitName) -> Result<Implementor<'_>> {
        let class = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let class = match self.numbers {
            Some(numbers) => class.and_then(|class| *numbers.get(class)?),
            None => class,
        };
        let classes = &self.registry.program().classes;
        let Some((class, known)) = class.and_then(|class| Some((class, classes.get(class)?)))
        else {
            return self.unsupported(UNKNOWN);
        };
        Ok(match self.registry.implementors().caster((of.id)(), class) {
            Some(caster) => Implementor::Known(caster),
            None => Implementor::Unknown(known.name.clone()),
        })
    }

    fn unknown(&mut self, _: u64, _: &[u8], _: bool) -> Result<(usize, Option<Unknown>)> {
        self.unsupported(UNKNOWN)
    }

    #[cfg(feature = "world")]
    fn handle(&mut self, arena: TypeId, bits: u64) -> Result<Remapped> {
        Ok(match self.renumber.filter(|_| arena == TypeId::of::<WorldObjects>()) {
            Some(renumber) => renumber(bits).map_or(Remapped::Null, Remapped::Live),
            None => Remapped::Live(bits),
        })
    }

    fn prototypes(&self) -> Prototypes<'_> {
        self.registry.prototypes()
    }

    fn charge(&mut self, empty: usize, _: u64, limits: &Limits) -> Result<()> {
        charge_empty(&mut self.empty_elements, empty, limits)
    }
}
