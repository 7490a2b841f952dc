//! Objects of types that are known at run time only.

use std::any::{Any, TypeId};
use std::rc::{Rc, Weak};
use std::sync;
use std::time::Duration;

use super::encoder::{Encoder, Stop};
use super::links::{Pointed, Referent};
use super::visitor::Visitor;
use crate::Result;
use crate::reflect::Pointer;

/// The target of a counted pointer: a value, or a cell around one.
///
/// Every [`Persist`](super::Persist) type is one; a program does not need to implement it.
pub trait AnyObject: Any {
    /// Writes the value.
    fn encode_object(&self, out: &mut Encoder<'_>) -> Result<(), Stop>;

    /// Visits the values that can be reached through a shared pointer.
    fn visit_object(&self, visitor: &mut Visitor<'_>) -> Result<()>;

    /// Passes the value to `inspect`, unless it stays mutably borrowed or locked for the time `wait`.
    fn inspect(&self, wait: Duration, inspect: &mut dyn FnMut(&dyn Any));

    /// Returns the address of the object.
    fn address(&self) -> usize;

    /// Returns the type of the pointer's target, cell included. Waits up to `wait` for the lock around a trait object,
    /// whose class is known only inside of the lock.
    fn pointee(&self, wait: Duration) -> Result<TypeId>;

    /// Returns the name of the class of a trait object, for an error.
    fn class_name(&self) -> Option<String> {
        None
    }

    /// Like [`pointee`](Self::pointee), if the type is known without opening a cell.
    fn seen_pointee(&self) -> Option<TypeId> {
        self.pointee(Duration::ZERO).ok()
    }

    /// Puts the pointer into `place` if that is an `Option<Arc<Self>>`. The standard library downcasts only those
    /// `Arc`s that may be sent to other threads.
    fn put_into(self: sync::Arc<Self>, place: &mut dyn Any);

    /// Returns how many pointers keep the object alive, if this value is itself a pointer to the object.
    fn strong_count(&self) -> usize {
        0
    }

    /// Returns a function that restores the pointer while the object is alive, if this value is itself a pointer to the
    /// object.
    fn downgrade(&self) -> Option<Rc<dyn Fn() -> Option<Shared>>> {
        None
    }
}

/// A counted pointer to an object of a type that is known at run time only.
#[derive(Clone)]
pub struct Shared(Repr);

/// No variant has a small field, so that the tag takes a whole word: a `Shared` is then copied as three words.
#[derive(Clone)]
enum Repr {
    Rc(Rc<dyn AnyObject>),
    Arc(sync::Arc<dyn AnyObject>),
    /// An `Rc` to a value without a size of its own. Such an `Rc` cannot become one to an `AnyObject`, so it is kept in
    /// a box.
    BoxedRc(Rc<dyn AnyObject>),
    /// An `Arc` to a value without a size of its own.
    BoxedArc(Rc<dyn AnyObject>),
}

impl From<Rc<dyn AnyObject>> for Shared {
    fn from(object: Rc<dyn AnyObject>) -> Self {
        Self(Repr::Rc(object))
    }
}

impl From<sync::Arc<dyn AnyObject>> for Shared {
    fn from(object: sync::Arc<dyn AnyObject>) -> Self {
        Self(Repr::Arc(object))
    }
}

impl Shared {
    /// Creates a pointer from a value that is itself a pointer to the object.
    pub(crate) fn boxed(pointer: Pointer, object: impl AnyObject) -> Self {
        let object = Rc::new(object);
        Self(match pointer {
            Pointer::Rc => Repr::BoxedRc(object),
            Pointer::Arc => Repr::BoxedArc(object),
        })
    }

    /// Returns the object.
    #[must_use]
    #[inline]
    pub fn object(&self) -> &dyn AnyObject {
        match &self.0 {
            Repr::Rc(object) | Repr::BoxedRc(object) | Repr::BoxedArc(object) => &**object,
            Repr::Arc(object) => &**object,
        }
    }

    /// Returns the pointer itself if it is an `Rc` to an object that has a size.
    #[inline]
    pub(crate) fn into_rc(self) -> Result<Rc<dyn AnyObject>, Self> {
        match self.0 {
            Repr::Rc(object) => Ok(object),
            other => Err(Self(other)),
        }
    }

    /// Returns the sort of pointer.
    #[must_use]
    pub fn pointer(&self) -> Pointer {
        match &self.0 {
            Repr::Rc(_) | Repr::BoxedRc(_) => Pointer::Rc,
            Repr::Arc(_) | Repr::BoxedArc(_) => Pointer::Arc,
        }
    }

    /// Returns the address of the object, which is its identity while this pointer is held.
    #[must_use]
    pub fn address(&self) -> usize {
        match &self.0 {
            Repr::Rc(object) => Rc::as_ptr(object).cast::<()>().addr(),
            Repr::Arc(object) => sync::Arc::as_ptr(object).cast::<()>().addr(),
            Repr::BoxedRc(object) | Repr::BoxedArc(object) => object.address(),
        }
    }

    /// True if the object has no size of its own, so that the type of its target is lost.
    pub(crate) fn is_boxed(&self) -> bool {
        matches!(self.0, Repr::BoxedRc(_) | Repr::BoxedArc(_))
    }

    /// Returns how many pointers keep the object alive.
    pub(crate) fn strong_count(&self) -> usize {
        match &self.0 {
            Repr::Rc(object) => Rc::strong_count(object),
            Repr::Arc(object) => sync::Arc::strong_count(object),
            Repr::BoxedRc(object) | Repr::BoxedArc(object) => object.strong_count(),
        }
    }

    pub(crate) fn downgrade(&self) -> WeakShared {
        match &self.0 {
            Repr::Rc(object) => WeakShared::Rc(Rc::downgrade(object)),
            Repr::Arc(object) => WeakShared::Arc(sync::Arc::downgrade(object)),
            Repr::BoxedRc(object) | Repr::BoxedArc(object) => {
                WeakShared::Boxed(object.downgrade().unwrap_or_else(|| Rc::new(|| None)))
            }
        }
    }

    /// Returns the typed pointer, if it is an `Rc<X>`.
    #[must_use]
    #[inline]
    pub fn rc<X: Any>(&self) -> Option<Rc<X>> {
        let Repr::Rc(object) = &self.0 else { return None };
        let any: Rc<dyn Any> = object.clone();
        any.downcast().ok()
    }

    /// Returns the typed pointer, if it is an `Arc<X>`.
    #[must_use]
    pub fn arc<X: Any>(&self) -> Option<sync::Arc<X>> {
        let Repr::Arc(object) = &self.0 else { return None };
        let mut place: Option<sync::Arc<X>> = None;
        object.clone().put_into(&mut place);
        place
    }
}

/// A [`Shared`] that does not keep its object alive.
#[derive(Clone)]
pub(crate) enum WeakShared {
    Rc(Weak<dyn AnyObject>),
    Arc(sync::Weak<dyn AnyObject>),
    Boxed(Rc<dyn Fn() -> Option<Shared>>),
}

impl WeakShared {
    pub(crate) fn upgrade(&self) -> Option<Shared> {
        Some(match self {
            Self::Rc(object) => object.upgrade()?.into(),
            Self::Arc(object) => object.upgrade()?.into(),
            Self::Boxed(upgrade) => upgrade()?,
        })
    }
}

impl Referent for Shared {
    fn pointed(&self) -> Pointed {
        self.object().seen_pointee().map_or(Pointed::Anything, Pointed::At)
    }

    fn share(&self, place: &mut dyn Any) {
        put_shared(self.clone(), place);
    }
}

/// Returns the pointer to a target.
pub(crate) fn shared(target: &dyn Referent) -> Shared {
    let mut place = None;
    target.share(&mut place);
    place.unwrap_or_else(|| unreachable!("each target gives its pointer"))
}

/// Puts a pointer into the `place` of a [`Referent::share`].
pub(crate) fn put_shared(pointer: Shared, place: &mut dyn Any) {
    if let Some(place) = place.downcast_mut() {
        *place = Some(pointer);
    }
}
