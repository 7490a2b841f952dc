//! What an encode and a decode ask of the save around them.

use std::any::{Any, TypeId};
use std::sync::Arc;

use super::{Prototypes, Shared, Unknown};
use crate::reflect::{Holder, TraitName};
use crate::{Error, ErrorKind, Limits, Result};

/// Gives ids to the shared objects that an encode meets, and numbers to classes.
pub(crate) trait SaveLinks {
    /// The id of the object at `address`, which is `target`. A weak pointer reserves an id but does not make its
    /// target part of the save.
    fn link(&mut self, address: usize, link: Link, target: &dyn Referent) -> Result<u64>;

    /// The number of the class of type `class`, which is registered for trait `of`; its
    /// `name` is for an error.
    fn class(&mut self, class: TypeId, of: TraitName, name: &dyn Fn() -> String) -> Result<u64>;

    /// The number of a class of the save that an unknown value comes from; `schema`
    /// is that save's.
    fn foreign_class(&mut self, schema: &Arc<dyn Any + Send + Sync>, index: usize) -> Result<u64>;

    /// Counts elements without bytes, within [`Limits::empty_elements`], and the memory of elements that are large for
    /// the fewest bytes that they can take, within [`Limits::expansion`]; the bare codec does not count the latter.
    fn charge(&mut self, empty: usize, memory: u64, limits: &Limits) -> Result<()>;
}

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

    /// A counted pointer to it.
    fn share(&self) -> Shared;
}

/// A reference as a load meets it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointing {
    /// True if it does not keep its target alive.
    pub weak: bool,
    /// What is known of the target.
    pub pointed: Pointed,
    /// Where the reference is in the object that holds it.
    pub within: Within,
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

/// Knows the objects that the references of a save name.
///
/// A decode gets a stand-in of the right type at once; the real target is put
/// in its place by the pass that connects, which meets the references in the
/// order in which they were decoded.
///
/// What only a whole save has, such as cells and new ids for handles, is left out where it is not implemented.
pub(crate) trait LoadLinks {
    /// Sets a reference to `id` aside and returns an object of its target's type.
    fn link(&mut self, id: u64, pointing: Pointing) -> Result<Linked<'_>>;

    /// Like [`link`](Self::link), for a pointer to a `pointee`, if nothing is amiss. If what this returns is of
    /// another type, [`unlink`](Self::unlink) and [`link`](Self::link) are called.
    fn plain_link(
        &mut self,
        id: u64,
        pointee: TypeId,
        weak: bool,
        within: Within,
    ) -> Option<&Shared> {
        let _ = (id, pointee, weak, within);
        None
    }

    /// Forgets the reference that was set aside last.
    fn unlink(&mut self) {}

    /// How to make trait objects of class number `number` of the save for trait `of`.
    fn class(&mut self, number: u64, of: TraitName) -> Result<Implementor<'_>>;

    /// How many of these bytes a value of class number `number` takes, which the program does not have; and the value,
    /// if it is to be kept.
    fn foreign(&mut self, number: u64, rest: &[u8], keep: bool)
    -> Result<(usize, Option<Unknown>)>;

    /// The new id of an old handle into the arena of type `arena`.
    fn handle(&mut self, arena: TypeId, bits: u64) -> Result<Remapped> {
        let _ = arena;
        Ok(Remapped::Live(bits))
    }

    /// Says that a value became `None`: its class, of this number, is not registered for the trait that was asked for.
    fn became_none(&mut self, class: u64) {
        let _ = class;
    }

    /// Says that a handle ends the decode, whose error can name its field.
    fn refuse_handle(&mut self, arena: &'static str, bits: u64) {
        let _ = (arena, bits);
    }

    /// What makes empty values.
    fn prototypes(&self) -> Prototypes<'_>;

    /// Counts elements, as [`SaveLinks::charge`] does.
    fn charge(&mut self, empty: usize, memory: u64, limits: &Limits) -> Result<()>;

    /// What the object with this id is, for an error.
    fn describe(&self, id: u64) -> String {
        let _ = id;
        String::new()
    }

    /// True if the object with this id is there, and is none that a pointer with this holder leads to: of another
    /// holder, or of another class, unless the pointer is to trait objects of any.
    fn is_elsewhere(&self, id: u64, holder: Holder, of_trait: bool) -> bool {
        let _ = (id, holder, of_trait);
        false
    }

    /// References set aside so far.
    fn pending(&self) -> usize {
        0
    }

    /// Reorders the references set aside since `start`: first those of
    /// `ranges[0]`, then those of `ranges[1]`, ...
    fn reorder(&mut self, start: usize, ranges: &[std::ops::Range<usize>]) {
        let _ = (start, ranges);
    }
}

/// What a decoded reference leads to.
pub(crate) enum Linked<'l> {
    /// Nothing: it is weak, and its target is not there.
    Nobody,
    /// An object of the target's type, or the target itself.
    To {
        /// The object.
        object: &'l Shared,
        /// How it becomes a trait object of the trait that was asked for, as
        /// [`Implementor::Known`] has it.
        caster: Option<&'l dyn Any>,
    },
    /// An object of a class that is not registered for the trait that was asked for.
    Unregistered {
        /// Number of the class.
        class: u64,
        /// Says so.
        error: Error,
    },
}

/// What is known of a class as the implementor of a trait.
pub(crate) enum Implementor<'l> {
    /// A `Caster` of the trait.
    Known(&'l dyn Any),
    /// The class is not registered for the trait; its name.
    Unknown(String),
}

/// What becomes of an old handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remapped {
    /// It has this new id.
    Live(u64),
    /// It leads nowhere.
    Null,
    /// It keeps its old id, and never leads anywhere again.
    Dead,
}

/// A reference that can be pointed at its target.
pub trait Slot {
    /// The trait whose trait objects it points at, if it does.
    fn of(&self) -> Option<TypeId> {
        None
    }

    /// Points it at its target, with the target's `Caster` if it asks for a trait;
    /// false if the target has another type.
    fn connect(&mut self, target: &Shared, caster: Option<&dyn Any>) -> bool;
}

/// Counts elements without bytes, within the limit.
pub(crate) fn charge_empty(total: &mut usize, count: usize, limits: &Limits) -> Result<()> {
    *total = total.saturating_add(count);
    let limit = limits.empty_elements;
    if *total <= limit {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::TooLarge,
        format!(
            "{total} elements that have no bytes are over the limit of {limit}; raise `Limits::empty_elements`"
        ),
    ))
}

/// The links of the bare codec, which has none.
#[derive(Default)]
pub(crate) struct NoLinks {
    empty_elements: usize,
}

impl NoLinks {
    /// Elements without bytes so far.
    pub(crate) fn empty_elements(&self) -> usize {
        self.empty_elements
    }

    #[cold]
    fn error<T>(what: &str) -> Result<T> {
        Err(Error::new(
            ErrorKind::Unsupported,
            format!("{what} only inside a whole save; use `persist::save` or a `SaveManager`"),
        ))
    }
}

impl SaveLinks for NoLinks {
    fn link(&mut self, _: usize, _: Link, _: &dyn Referent) -> Result<u64> {
        Self::error("a shared pointer has an id")
    }

    fn class(&mut self, _: TypeId, _: TraitName, _: &dyn Fn() -> String) -> Result<u64> {
        Self::error("the class of a trait object has a number")
    }

    fn foreign_class(&mut self, _: &Arc<dyn Any + Send + Sync>, _: usize) -> Result<u64> {
        Self::error("the class of a trait object has a number")
    }

    fn charge(&mut self, empty: usize, _: u64, limits: &Limits) -> Result<()> {
        charge_empty(&mut self.empty_elements, empty, limits)
    }
}

impl LoadLinks for NoLinks {
    fn link(&mut self, _: u64, _: Pointing) -> Result<Linked<'_>> {
        Self::error("a shared pointer has an id")
    }

    fn class(&mut self, _: u64, _: TraitName) -> Result<Implementor<'_>> {
        Self::error("the class of a trait object has a number")
    }

    fn foreign(&mut self, _: u64, _: &[u8], _: bool) -> Result<(usize, Option<Unknown>)> {
        Self::error("the class of a trait object has a number")
    }

    fn prototypes(&self) -> Prototypes<'_> {
        Prototypes::bare()
    }

    fn charge(&mut self, empty: usize, _: u64, limits: &Limits) -> Result<()> {
        charge_empty(&mut self.empty_elements, empty, limits)
    }
}
