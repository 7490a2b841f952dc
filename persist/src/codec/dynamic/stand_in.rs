//! What stands in for values of classes that the program does not have.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, RwLock};

use super::{Caster, Implements, TraitObject, Unknown, reach_holder};
use crate::codec::pointee::value_draft;
use crate::codec::{Made, Object, Persist, Pointee, Shared, TypeSet};
use crate::reflect::{Cell, Holder, Pointer};

/// The type that stands in for unknown classes of a trait.
pub struct StandIn<D: ?Sized> {
    pub(crate) class: StandInClass,
    /// In a box.
    pub(crate) boxed: fn(Unknown) -> Box<D>,
}

/// A class that stands in for unknown classes of objects.
#[derive(Clone)]
pub(crate) struct StandInClass {
    pub(crate) type_id: TypeId,
    /// Enters its class.
    pub(crate) enter: fn(&mut TypeSet),
    /// Enters its object type in a holder.
    pub(crate) reach: fn(Holder, &mut TypeSet),
    /// What a stand-in holds.
    pub(crate) unknown: fn(&dyn Any) -> Option<&Unknown>,
    /// An object that holds it.
    pub(crate) make: fn(Holder, Unknown) -> Made,
    /// A `Caster` to the trait.
    pub(crate) caster: Arc<dyn Any + Send + Sync>,
}

impl<D: ?Sized + TraitObject> StandIn<D> {
    /// That of type `T`.
    #[must_use]
    pub fn of<T>() -> Self
    where
        T: Persist + Pointee + From<Unknown> + AsRef<Unknown>,
        D: Implements<T>,
    {
        Self {
            class: StandInClass {
                type_id: TypeId::of::<T>(),
                enter: T::__reach,
                reach: reach_holder::<T>,
                unknown: |value| value.downcast_ref::<T>().map(AsRef::as_ref),
                make: make::<T>,
                caster: Arc::new(Caster::<D>::of::<T>()),
            },
            boxed: |unknown| D::boxed(Box::new(T::from(unknown))),
        }
    }
}

fn make<T: Persist + From<Unknown>>(holder: Holder, unknown: Unknown) -> Made {
    let value = T::from(unknown);
    let Some((pointer, cell)) = holder.parts() else { return Made::Nothing };
    match cell {
        Cell::None => Made::Draft(value_draft(value, pointer)),
        Cell::RefCell => Made::Shared(share(RefCell::new(value), pointer)),
        Cell::Mutex => Made::Shared(share(Mutex::new(value), pointer)),
        Cell::RwLock => Made::Shared(share(RwLock::new(value), pointer)),
        _ => Made::Nothing,
    }
}

fn share(object: impl Object, pointer: Pointer) -> Shared {
    match pointer {
        Pointer::Rc => Shared::from(Rc::new(object) as Rc<dyn Object>),
        Pointer::Arc => Shared::from(Arc::new(object) as Arc<dyn Object>),
    }
}
