use std::any::Any;
use std::rc::{Rc, Weak};

use super::{Decoder, Encoder, Fail, Stop, Visitor};
use crate::{Error, ErrorKind, Limits, Result};

/// A cell that holds one persistent value and can be shared: `RefCell<T>`.
///
/// The library implements it for the cells that a
/// [`Holder`](crate::reflect::Holder) names; a program does not need to.
pub trait Object: Any {
    /// Writes the value inside.
    ///
    /// # Errors
    ///
    /// [`Stop`] if it does not fit, or with a reason if it is borrowed.
    fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop>;

    /// Reads over the value inside.
    ///
    /// # Errors
    ///
    /// A [`Fail`] if the bytes are not such a value.
    fn fill(&self, input: &mut Decoder<'_>) -> Result<(), Fail>;

    /// Visits the value inside.
    ///
    /// # Errors
    ///
    /// What the visitor or a hook returns, or that the value is borrowed.
    fn visit(&self, visitor: &mut Visitor<'_>) -> Result<()>;

    /// Shows the value inside, unless it is mutably borrowed.
    fn look(&self, look: &mut dyn FnMut(&dyn Any));

    /// Replaces the value inside by an empty one, which frees what it held.
    fn reset(&self, factory: Option<&dyn Any>);
}

/// A counted pointer to an object of a type that is known at run time only.
#[derive(Clone)]
#[non_exhaustive]
pub enum Shared {
    /// Held by `Rc`.
    Rc(Rc<dyn Object>),
}

impl Shared {
    /// The object.
    #[must_use]
    pub fn object(&self) -> &dyn Object {
        match self {
            Self::Rc(object) => &**object,
        }
    }

    /// Where the object is, its identity while this pointer is held.
    #[must_use]
    pub fn address(&self) -> usize {
        match self {
            Self::Rc(object) => Rc::as_ptr(object).cast::<()>().addr(),
        }
    }

    /// How many pointers keep the object alive.
    pub(crate) fn strong_count(&self) -> usize {
        match self {
            Self::Rc(object) => Rc::strong_count(object),
        }
    }

    pub(crate) fn downgrade(&self) -> WeakShared {
        match self {
            Self::Rc(object) => WeakShared::Rc(Rc::downgrade(object)),
        }
    }

    /// The type of the cell.
    #[must_use]
    pub fn type_id(&self) -> std::any::TypeId {
        let object: &dyn Any = self.object();
        object.type_id()
    }

    /// The pointer with its type back, if it is a `P`.
    #[must_use]
    pub fn downcast<P: Any>(&self) -> Option<Rc<P>> {
        let Self::Rc(object) = self;
        let any: Rc<dyn Any> = object.clone();
        any.downcast().ok()
    }
}

/// A [`Shared`] that does not keep its object alive.
#[derive(Clone)]
pub(crate) enum WeakShared {
    Rc(Weak<dyn Object>),
}

impl WeakShared {
    pub(crate) fn upgrade(&self) -> Option<Shared> {
        match self {
            Self::Rc(object) => object.upgrade().map(Shared::Rc),
        }
    }
}

/// Gives ids to the shared objects that an encode meets.
pub trait SaveLinks {
    /// The id of the object at `address`; `target` makes a counted pointer to
    /// it, asked for when the object is new. A weak pointer reserves an id but
    /// does not make its target part of the save.
    ///
    /// # Errors
    ///
    /// If the target may not be part of this save.
    fn link(&mut self, address: usize, weak: bool, target: &dyn Fn() -> Shared) -> Result<u64>;

    /// The count of elements without bytes in the save so far.
    fn empty_elements(&mut self) -> &mut usize;

    /// Counts elements without bytes, within [`Limits::empty_elements`].
    ///
    /// # Errors
    ///
    /// If there are more.
    fn charge_empty(&mut self, count: usize, limits: &Limits) -> Result<()> {
        charge_empty(self.empty_elements(), count, limits)
    }

    /// Counts the memory of elements that are large for the fewest bytes that they
    /// can take, within [`Limits::expansion`]; the bare codec does not.
    ///
    /// # Errors
    ///
    /// If it is out of proportion to the save.
    fn charge_memory(&mut self, bytes: u64, limits: &Limits) -> Result<()> {
        let _ = (bytes, limits);
        Ok(())
    }
}

/// Knows the objects that the references of a save name.
///
/// A decode gets a stand-in of the right type at once; the real target is put
/// in its place by the pass that connects, which meets the references in the
/// order in which they were decoded.
pub trait LoadLinks {
    /// Sets a reference to `id` aside and returns an object of its target's
    /// type; `None` only for a weak reference whose target is not there.
    ///
    /// # Errors
    ///
    /// If the save has no such object.
    fn link(&mut self, id: u64, weak: bool) -> Result<Option<&Shared>>;

    /// The count of elements without bytes in the save so far.
    fn empty_elements(&mut self) -> &mut usize;

    /// Counts elements without bytes, within [`Limits::empty_elements`].
    ///
    /// # Errors
    ///
    /// If there are more.
    fn charge_empty(&mut self, count: usize, limits: &Limits) -> Result<()> {
        charge_empty(self.empty_elements(), count, limits)
    }

    /// Counts the memory of elements that are large for the fewest bytes that they
    /// can take, within [`Limits::expansion`]; the bare codec does not.
    ///
    /// # Errors
    ///
    /// If it is out of proportion to the save.
    fn charge_memory(&mut self, bytes: u64, limits: &Limits) -> Result<()> {
        let _ = (bytes, limits);
        Ok(())
    }

    /// What the object with this id is, for an error.
    fn describe(&self, id: u64) -> String;

    /// References set aside so far.
    fn pending(&self) -> usize;

    /// Reorders the references set aside since `start`: first those of
    /// `ranges[0]`, then those of `ranges[1]`, ...
    fn reorder(&mut self, start: usize, ranges: &[std::ops::Range<usize>]);
}

/// A reference that can be pointed at its target.
pub trait Slot {
    /// Where its target is; of no meaning if it has none.
    fn address(&self) -> usize;

    /// Points it at `target`; false if that is of another type.
    fn connect(&mut self, target: &Shared) -> bool;
}

fn charge_empty(total: &mut usize, count: usize, limits: &Limits) -> Result<()> {
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
pub struct NoLinks {
    empty_elements: usize,
}

impl NoLinks {
    #[cold]
    fn error() -> Error {
        Error::new(
            ErrorKind::Unsupported,
            "a shared pointer has an id only inside a whole save; use `persist::save` or a `SaveManager`",
        )
    }
}

impl SaveLinks for NoLinks {
    fn link(&mut self, _: usize, _: bool, _: &dyn Fn() -> Shared) -> Result<u64> {
        Err(Self::error())
    }

    fn empty_elements(&mut self) -> &mut usize {
        &mut self.empty_elements
    }
}

impl LoadLinks for NoLinks {
    fn link(&mut self, _: u64, _: bool) -> Result<Option<&Shared>> {
        Err(Self::error())
    }

    fn empty_elements(&mut self) -> &mut usize {
        &mut self.empty_elements
    }

    fn describe(&self, _: u64) -> String {
        String::new()
    }

    fn pending(&self) -> usize {
        0
    }

    fn reorder(&mut self, _: usize, _: &[std::ops::Range<usize>]) {}
}
