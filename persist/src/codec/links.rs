//! The interface between the codec and the save around it: links, references and prototypes. Objects pass it as
//! `dyn Any`; the calling code knows their types.

use std::any::{Any, TypeId};
use std::fmt;

use crate::reflect::TraitName;
use crate::{ErrorKind, Limits, Result};

/// A reference as a save sees it. It fits a register: the rarely needed data is in [`Referent`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// True if the reference does not keep its target alive.
    pub weak: bool,
    /// True if the pointer says that its target is [of one type](Pointed::At).
    pub typed: bool,
    /// The place of the reference in the object that holds it.
    pub within: Within,
}

/// The target of a reference that is being saved.
pub(crate) trait Referent {
    /// Returns what the reference's type says of the target.
    fn pointed(&self) -> Pointed;

    /// Puts a counted pointer to the target into `place`, an `Option<Shared>`.
    fn share(&self, place: &mut dyn Any);
}

/// Describes what a pointer's type says of its target.
#[derive(Clone, Copy, Debug)]
pub enum Pointed {
    /// The target is of this type, cell included.
    At(TypeId),
    /// The target is of this type, which has no size of its own.
    Unsized(TypeId),
    /// The target's class implements this trait.
    As(TraitName),
    /// The target is of any type.
    Anything,
}

impl Pointed {
    /// True if the pointer's type names a type that has a size.
    #[inline(always)]
    pub(crate) fn is_typed(self) -> bool {
        matches!(self, Self::At(_))
    }

    /// Returns the type of the trait object, if the pointer is one to trait objects.
    pub(crate) fn of(self) -> Option<TypeId> {
        match self {
            Self::At(_) | Self::Unsized(_) | Self::Anything => None,
            Self::As(of) => Some((of.id)()),
        }
    }
}

/// The place of a reference in the object that holds it, as far as cells decide how it can be changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Within {
    /// Outside of cells, where only `&mut` reaches it.
    #[default]
    Bare,
    /// Inside of a cell that can be set once.
    Once,
    /// Inside of a cell that can be changed through `&`.
    Cell,
}

impl Within {
    /// Returns the place of a reference that lies in the place `inner` inside of this one. A cell that can be set once
    /// changes nothing inside of another cell.
    #[must_use]
    pub(crate) fn then(self, inner: Self) -> Self {
        if inner == Self::Once && self != Self::Bare { self } else { inner }
    }
}

/// A pointer that can be set to its target.
pub trait ReferenceSlot {
    /// Returns the trait object's type, if this is a pointer to trait objects.
    fn of(&self) -> Option<TypeId> {
        None
    }

    /// Points the reference at its target, a `Shared`. A reference to trait objects also needs the target's `Caster`.
    /// Returns false if the target has another type.
    fn connect(&mut self, target: &dyn Any, caster: Option<&dyn Any>) -> bool;

    /// Lets a weak reference dangle whose target is not loaded. Until then it points at a placeholder, which may be
    /// another object of the load.
    fn dangle(&mut self, prototypes: &Prototypes<'_>) -> Result<()> {
        let _ = prototypes;
        Ok(())
    }
}

/// Counts elements without bytes, and refuses more than the limit.
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

/// Creates empty values, for [`Persist::persist_empty`](super::Persist::persist_empty). It knows the classes of each
/// trait, and the program's own factories.
#[derive(Clone, Copy)]
pub struct Prototypes<'p>(Option<&'p dyn PrototypeTable>);

pub(crate) trait PrototypeTable {
    /// Returns the `Caster` of the class that an empty trait object of this type gets.
    fn implementor(&self, of: TypeId) -> Option<&dyn Any>;

    /// Returns the program's `Factory` of this type.
    fn factory(&self, of: TypeId) -> Option<&dyn Any>;
}

/// A program's own function that creates an empty `T`.
pub(crate) struct Factory<T>(pub(crate) Box<dyn Fn() -> T + Send + Sync>);

impl<'p> Prototypes<'p> {
    pub(crate) fn new(table: &'p dyn PrototypeTable) -> Self {
        Self(Some(table))
    }

    /// Creates prototypes without a registry: enough for types that hold no trait objects.
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
