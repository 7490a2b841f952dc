//! Trait objects: values of classes that are known at run time only.
//!
//! `#[persist::dynamic]` on a trait implements [`TraitObject`] for `dyn Trait`,
//! and [`Implements<T>`](Implements) for every class `T` that has the trait. A
//! [`Caster`] is what the registry keeps of such a class.

mod as_trait;
mod caster;
mod cells;
mod code;
mod held;
mod stand_in;
mod unknown;

pub use as_trait::AsTrait;
pub(crate) use caster::Caster;
pub use caster::{ArcTo, Implements, RcTo};
pub(crate) use cells::TraitCell;
pub(crate) use held::Held;
pub use stand_in::StandIn;
pub use unknown::Unknown;

pub(crate) use as_trait::{not_registered, not_registered_yet};
pub(crate) use caster::reach_holder;
pub(crate) use stand_in::StandInClass;
pub(crate) use unknown::{Content as UnknownContent, ForeignClass, Part, Piece};

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::sync::{Mutex, RwLock};

use super::{Decoder, Encoder, Fail, Persist, Stop, Visitor};
use crate::Result;
use crate::reflect::{Cell, TraitName};

/// A persistent value of a type that is known at run time only.
pub trait Portable: Any {
    /// Like [`Encoder::value`].
    ///
    /// # Errors
    ///
    /// Those of that method.
    fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop>;

    /// Reads over the value.
    ///
    /// # Errors
    ///
    /// Those of [`Persist::__decode_into`].
    fn decode_over(&mut self, input: &mut Decoder<'_>) -> Result<(), Fail>;

    /// Counts it as a value in a box.
    fn count_box(&self, out: &mut Encoder<'_>);

    /// Like [`Persist::__visit`].
    ///
    /// # Errors
    ///
    /// Those of that method.
    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()>;

    /// Like [`Persist::__visit_shared`].
    ///
    /// # Errors
    ///
    /// Those of that method.
    fn visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()>;

    /// Like [`Persist::persist_name`].
    fn class_name(&self) -> String;

    /// The type in such a cell.
    fn in_cell(&self, cell: Cell) -> TypeId;
}

impl<T: Persist> Portable for T {
    fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.nested_in::<T>(|out| out.value(self))
    }

    fn decode_over(&mut self, input: &mut Decoder<'_>) -> Result<(), Fail> {
        input.nested_in::<T, _>(|input| input.value_into(self))
    }

    fn count_box(&self, out: &mut Encoder<'_>) {
        out.count_box::<T>();
    }

    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        Persist::__visit(self, visitor)
    }

    fn visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        Persist::__visit_shared(self, visitor)
    }

    fn class_name(&self) -> String {
        T::persist_name()
    }

    fn in_cell(&self, cell: Cell) -> TypeId {
        match cell {
            Cell::RefCell => TypeId::of::<RefCell<T>>(),
            Cell::Mutex => TypeId::of::<Mutex<T>>(),
            Cell::RwLock => TypeId::of::<RwLock<T>>(),
            _ => TypeId::of::<T>(),
        }
    }
}

/// What `#[persist::dynamic]` puts above a trait, so that its trait objects can be
/// saved: every type that is [`Persist`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` implements a `#[persist::dynamic]` trait, but not `Persist`",
    label = "not `Persist`",
    note = "add `#[derive(Persist)]` to it"
)]
pub trait Dynamic: 'static {
    /// The value.
    #[doc(hidden)]
    fn __portable(&self) -> &dyn Portable;

    /// The value, to be changed.
    #[doc(hidden)]
    fn __portable_mut(&mut self) -> &mut dyn Portable;
}

impl<T: Persist> Dynamic for T {
    fn __portable(&self) -> &dyn Portable {
        self
    }

    fn __portable_mut(&mut self) -> &mut dyn Portable {
        self
    }
}

/// A `dyn Trait` whose trait is `#[persist::dynamic]`.
pub trait TraitObject: 'static {
    /// Name of the trait in a save.
    const NAME: &'static str;

    /// The value.
    fn portable(&self) -> &dyn Portable;

    /// The value, to be changed.
    fn portable_mut(&mut self) -> &mut dyn Portable;

    /// What stands in for unknown classes.
    #[must_use]
    fn stand_in() -> Option<StandIn<Self>> {
        None
    }
}

pub(crate) fn trait_name<D: ?Sized + TraitObject>() -> TraitName {
    TraitName { id: TypeId::of::<D>, name: D::NAME }
}
