//! What a shared pointer may point at.
//!
//! `Rc<P>`, `Arc<P>` and the `Weak` of each have one impl each, for every
//! [`Pointee`]; how it becomes an object is said by its [`PointTo`], since
//! impls for values, for cells and for trait objects would overlap.

mod cell;
mod lengthy;
mod value;

pub(crate) use cell::{AsCell, OpenCell};
pub(crate) use lengthy::{AsLengthy, Lengthy, Unsized};

pub(super) use lengthy::{share_unsized_arc, share_unsized_rc};
pub(super) use value::value_draft;

use std::any::Any;
use std::rc::{self, Rc};
use std::sync::{self, Arc};

use super::{Decoder, Fail, Pointed, Prototypes, Shared, TypeSet};
use crate::Result;
use crate::reflect::{Cell, Pointer, Target};

/// What a shared pointer may point at: `Rc<P>`, `Arc<P>` and the `Weak` of each
/// are persistent for every pointee `P`.
///
/// `#[derive(Persist)]` implements it, and the library does for the standard
/// types and cells. A type that implements [`Persist`](crate::Persist) by hand says in one line that it
/// can be pointed at:
///
/// ```
/// # use persist::Persist;
/// # use persist::codec::{Decoder, Encoder, Fail, Prototypes, Stop};
/// # use persist::reflect::Kind;
/// # struct Colour(u32);
/// # impl Persist for Colour {
/// #     fn persist_kind() -> Kind { Kind::U32 }
/// #     fn persist_empty(_: &Prototypes<'_>) -> persist::Result<Self> { Ok(Colour(0)) }
/// #     fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> { out.value(&self.0) }
/// #     fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> { input.value().map(Colour) }
/// # }
/// impl persist::codec::Pointee for Colour {
///     type As = Self;
/// }
///
/// let red = std::rc::Rc::new(Colour(0xff0000));
/// let save = persist::to_vec(&red)?;
/// # Ok::<(), persist::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a shared `{Self}` cannot be saved",
    label = "not a pointee that `persist` knows",
    note = "if the type is yours, add `#[derive(Persist)]` to it, or `#[persist::dynamic]` to its trait"
)]
pub trait Pointee: 'static {
    /// The cell that it is.
    #[doc(hidden)]
    const CELL: Cell = Cell::None;

    /// How it is pointed at: `Self`, for a type that is `Persist`.
    type As: PointTo<Self>;
}

/// How a `P` is pointed at. The library implements it; see [`Pointee`].
pub trait PointTo<P: ?Sized> {
    /// What a reference to it leads to.
    fn target() -> Target;

    /// Enters the object type, and what it reaches.
    fn reach(pointer: Pointer, types: &mut TypeSet);

    /// What is known of the target without a look at it.
    fn pointed() -> Pointed;

    /// The address of the target, which identifies it while it is held.
    fn address(target: &P) -> usize {
        std::ptr::from_ref(target).cast::<()>().addr()
    }

    /// The pointer as one whose type is known at run time only.
    fn share_rc(this: &Rc<P>) -> Shared;

    /// Like [`share_rc`](Self::share_rc), for `Arc`.
    fn share_arc(this: &Arc<P>) -> Shared;

    /// A pointer with its type back.
    fn rc(object: &Shared, caster: Option<&dyn Any>) -> Option<Rc<P>>;

    /// Like [`rc`](Self::rc), for `Arc`.
    fn arc(object: &Shared, caster: Option<&dyn Any>) -> Option<Arc<P>>;

    /// A weak pointer whose target is gone.
    ///
    /// # Errors
    ///
    /// If no class is registered for the trait.
    fn gone_rc(prototypes: &Prototypes<'_>) -> Result<rc::Weak<P>>;

    /// Like [`gone_rc`](Self::gone_rc), for `Arc`.
    ///
    /// # Errors
    ///
    /// Those of [`gone_rc`](Self::gone_rc).
    fn gone_arc(prototypes: &Prototypes<'_>) -> Result<sync::Weak<P>>;

    /// An empty object.
    ///
    /// # Errors
    ///
    /// Those of [`Persist::prototype`](crate::Persist::persist_empty).
    fn empty_rc(prototypes: &Prototypes<'_>) -> Result<Rc<P>>;

    /// Like [`empty_rc`](Self::empty_rc), for `Arc`.
    ///
    /// # Errors
    ///
    /// Those of [`Persist::prototype`](crate::Persist::persist_empty).
    fn empty_arc(prototypes: &Prototypes<'_>) -> Result<Arc<P>>;
}

/// Reads over nothing: only what lies in a cell can be read over.
fn no_fill(_: &Shared, _: &mut Decoder<'_>) -> Result<(), Fail> {
    Err(Fail::Value)
}
