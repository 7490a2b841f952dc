//! What an encode and a visit ask of the save around them. Objects stand here as `dyn Any`: they know what encodes them.

use std::any::{Any, TypeId};
use std::fmt;

use crate::reflect::TraitName;
use crate::{ErrorKind, Limits, Result};

/// A reference as a save meets it. It fits a register: what is rarely asked is in [`Referent`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// True if it does not keep its target alive.
    pub weak: bool,
    /// True if the pointer says that its target is [of one type](Pointed::At).
    pub typed: bool,
    /// Where the reference is in the object that holds it.
    pub within: Within,
}

/// The target of a reference that is saved.
pub(crate) trait Referent {
    /// What the reference says of it.
    fn pointed(&self) -> Pointed;

    /// Puts a counted pointer to it into `place`, an `Option<Shared>`.
    fn share(&self, place: &mut dyn Any);
}

/// What a pointer says of its target.
#[derive(Clone, Copy, Debug)]
pub enum Pointed {
    /// It is of this type, cell included.
    At(TypeId),
    /// It is of this type, which has no size of its own.
    Unsized(TypeId),
    /// It is of a class that implements this trait.
    As(TraitName),
    /// It is of any type.
    Anything,
}

impl Pointed {
    /// True for a type that has a size.
    #[inline(always)]
    pub(crate) fn is_typed(self) -> bool {
        matches!(self, Self::At(_))
    }

    /// The trait.
    pub(crate) fn of(self) -> Option<TypeId> {
        match self {
            Self::At(_) | Self::Unsized(_) | Self::Anything => None,
            Self::As(of) => Some((of.id)()),
        }
    }
}

/// Where a reference is in the object that holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Within {
    /// Where only `&mut` reaches it.
    #[default]
    Bare,
    /// In a cell that can be set once.
    Once,
    /// In a cell that can be changed through `&`.
    Cell,
}

impl Within {
    /// Where a reference in a cell is, if the cell is here.
    #[must_use]
    pub(crate) fn then(self, inner: Self) -> Self {
        if inner == Self::Once && self != Self::Bare { self } else { inner }
    }
}

/// A reference that can be pointed at its target.
pub trait ReferenceSlot {
    /// The trait whose trait objects it points at, if it does.
    fn of(&self) -> Option<TypeId> {
        None
    }

    /// Points it at its target, a `Shared`, with the target's `Caster` if it asks for a trait;
    /// false if the target has another type.
    fn connect(&mut self, target: &dyn Any, caster: Option<&dyn Any>) -> bool;

    /// Lets a weak one dangle, whose target is not loaded: until now it has led to a stand-in, which may be another object
    /// of the load.
    fn dangle(&mut self, prototypes: &Prototypes<'_>) -> Result<()> {
        let _ = prototypes;
        Ok(())
    }
}

/// Counts elements without bytes, within the limit.
pub(crate) fn charge_empty(total: &mut usize, count: usize, limits: &Limits) -> Result<()> {
    *total = total.saturating_add(count);
    let limit = limits.empty_elements;
    if *total <= limit {
        return Ok(());
    }
    Err(error!(
        ErrorKind::TooLarge,
        "{total} elements that have no bytes are over the limit of {limit}; raise `Limits::empty_elements`"
    ))
}

/// What is needed to make an empty value: the classes of each trait, and the
/// program's own factories.
#[derive(Clone, Copy)]
pub struct Prototypes<'p>(Option<&'p dyn PrototypeTable>);

pub(crate) trait PrototypeTable {
    /// The `Caster` of the class that an empty trait object of this type is of.
    fn implementor(&self, of: TypeId) -> Option<&dyn Any>;

    /// The program's `Factory` of this type.
    fn factory(&self, of: TypeId) -> Option<&dyn Any>;
}

/// A program's own way to make an empty `T`.
pub(crate) struct Factory<T>(pub(crate) Box<dyn Fn() -> T + Send + Sync>);

impl<'p> Prototypes<'p> {
    pub(crate) fn new(table: &'p dyn PrototypeTable) -> Self {
        Self(Some(table))
    }

    /// Without a registry: enough for types that hold no trait objects.
    #[must_use]
    pub fn bare() -> Prototypes<'static> {
        Prototypes(None)
    }

    pub(super) fn factory(&self, of: TypeId) -> Option<&'p dyn Any> {
        self.0?.factory(of)
    }

    pub(crate) fn implementor(&self, of: TypeId) -> Option<&'p dyn Any> {
        self.0?.implementor(of)
    }
}

impl fmt::Debug for Prototypes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prototypes").finish_non_exhaustive()
    }
}
