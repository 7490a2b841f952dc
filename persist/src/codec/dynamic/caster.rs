use std::cell::RefCell;
use std::rc::{self, Rc};
use std::sync::{self, Arc, Mutex, RwLock};

use super::TraitObject;
use crate::Result;
use crate::codec::{Decoder, Fail, Persist, PointTo, Pointee, Prototypes, Shared, TypeSet};
use crate::reflect::{Cell, Holder, Pointer};

/// A trait object that a `T` can become; `#[persist::dynamic]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{T}` cannot become a `{Self}`",
    note = "implement the trait for it, and put `#[persist::dynamic]` above the trait"
)]
pub trait Implements<T>: TraitObject {
    /// In a box.
    fn boxed(value: Box<T>) -> Box<Self>;
    /// Behind `Rc` or its `Weak`, in any cell; the variant stays.
    fn rc(pointer: RcTo<T>) -> RcTo<Self>;
    /// Behind `Arc` or its `Weak`, in any cell; the variant stays.
    fn arc(pointer: ArcTo<T>) -> ArcTo<Self>;
}

/// An `Rc` or its `Weak`, to a value or to a cell around one.
pub enum RcTo<T: ?Sized> {
    /// To a value.
    Bare(Rc<T>),
    /// To a `RefCell`.
    RefCell(Rc<RefCell<T>>),
    /// To a `Mutex`.
    Mutex(Rc<Mutex<T>>),
    /// To a `RwLock`.
    RwLock(Rc<RwLock<T>>),
    /// A weak one to a value.
    WeakBare(rc::Weak<T>),
    /// A weak one to a `RefCell`.
    WeakRefCell(rc::Weak<RefCell<T>>),
    /// A weak one to a `Mutex`.
    WeakMutex(rc::Weak<Mutex<T>>),
    /// A weak one to a `RwLock`.
    WeakRwLock(rc::Weak<RwLock<T>>),
}

/// An `Arc` or its `Weak`, to a value or to a cell around one.
pub enum ArcTo<T: ?Sized> {
    /// To a value.
    Bare(Arc<T>),
    /// To a `RefCell`.
    RefCell(Arc<RefCell<T>>),
    /// To a `Mutex`.
    Mutex(Arc<Mutex<T>>),
    /// To a `RwLock`.
    RwLock(Arc<RwLock<T>>),
    /// A weak one to a value.
    WeakBare(sync::Weak<T>),
    /// A weak one to a `RefCell`.
    WeakRefCell(sync::Weak<RefCell<T>>),
    /// A weak one to a `Mutex`.
    WeakMutex(sync::Weak<Mutex<T>>),
    /// A weak one to a `RwLock`.
    WeakRwLock(sync::Weak<RwLock<T>>),
}

/// The pointer of a family after its coercion, which leaves the variant as it was.
macro_rules! coerced {
    ($coerce:expr, $variant:path, $pointer:expr) => {
        match $coerce($variant($pointer)) {
            $variant(pointer) => pointer,
            _ => unreachable!("a coercion keeps the cell"),
        }
    };
}

/// How the values of one class become `D`s.
pub struct Caster<D: ?Sized> {
    /// Reads a value, after its class number.
    pub(super) decode: fn(&mut Decoder<'_>) -> Result<Box<D>, Fail>,
    /// An empty value.
    pub(super) empty: fn(&Prototypes<'_>) -> Result<Box<D>>,
    /// An empty object in such a holder.
    pub(super) make: fn(Pointer, Cell, &Prototypes<'_>) -> Result<Shared>,
    pub(super) bare: Pointers<D>,
    pub(super) ref_cell: Pointers<RefCell<D>>,
    pub(super) mutex: Pointers<Mutex<D>>,
    pub(super) rw_lock: Pointers<RwLock<D>>,
}

/// How pointers to values of one class become pointers to a `P`.
pub(super) struct Pointers<P: ?Sized> {
    pub(super) rc: fn(&Shared) -> Option<Rc<P>>,
    pub(super) arc: fn(&Shared) -> Option<Arc<P>>,
    pub(super) gone_rc: fn() -> rc::Weak<P>,
    pub(super) gone_arc: fn() -> sync::Weak<P>,
}

impl<D: ?Sized + TraitObject> Caster<D> {
    /// An empty value.
    pub(crate) fn empty(&self, prototypes: &Prototypes<'_>) -> Result<Box<D>> {
        (self.empty)(prototypes)
    }

    /// That of class `T`.
    pub(crate) fn of<T: Persist + Pointee>() -> Self
    where
        D: Implements<T>,
    {
        Self {
            decode: |input| {
                input.charge_box::<T>()?;
                // As a box does it: with a `?` there would be more copies of the value on
                // the stack, at each level of nesting.
                input.nested_in::<T, _>(|input| input.value::<T>().map(Box::new)).map(D::boxed)
            },
            empty: |prototypes| Ok(D::boxed(Box::new(T::persist_empty(prototypes)?))),
            make: |pointer, cell, prototypes| match cell {
                Cell::RefCell => empty::<RefCell<T>>(pointer, prototypes),
                Cell::Mutex => empty::<Mutex<T>>(pointer, prototypes),
                Cell::RwLock => empty::<RwLock<T>>(pointer, prototypes),
                _ => empty::<T>(pointer, prototypes),
            },
            bare: Pointers {
                rc: |shared| Some(coerced!(D::rc, RcTo::Bare, shared.rc()?)),
                arc: |shared| Some(coerced!(D::arc, ArcTo::Bare, shared.arc()?)),
                gone_rc: || coerced!(D::rc, RcTo::WeakBare, rc::Weak::new()),
                gone_arc: || coerced!(D::arc, ArcTo::WeakBare, sync::Weak::new()),
            },
            ref_cell: Pointers {
                rc: |shared| Some(coerced!(D::rc, RcTo::RefCell, shared.rc()?)),
                arc: |shared| Some(coerced!(D::arc, ArcTo::RefCell, shared.arc()?)),
                gone_rc: || coerced!(D::rc, RcTo::WeakRefCell, rc::Weak::new()),
                gone_arc: || coerced!(D::arc, ArcTo::WeakRefCell, sync::Weak::new()),
            },
            mutex: Pointers {
                rc: |shared| Some(coerced!(D::rc, RcTo::Mutex, shared.rc()?)),
                arc: |shared| Some(coerced!(D::arc, ArcTo::Mutex, shared.arc()?)),
                gone_rc: || coerced!(D::rc, RcTo::WeakMutex, rc::Weak::new()),
                gone_arc: || coerced!(D::arc, ArcTo::WeakMutex, sync::Weak::new()),
            },
            rw_lock: Pointers {
                rc: |shared| Some(coerced!(D::rc, RcTo::RwLock, shared.rc()?)),
                arc: |shared| Some(coerced!(D::arc, ArcTo::RwLock, shared.arc()?)),
                gone_rc: || coerced!(D::rc, RcTo::WeakRwLock, rc::Weak::new()),
                gone_arc: || coerced!(D::arc, ArcTo::WeakRwLock, sync::Weak::new()),
            },
        }
    }
}

/// An empty object.
fn empty<P: Pointee>(pointer: Pointer, prototypes: &Prototypes<'_>) -> Result<Shared> {
    Ok(match pointer {
        Pointer::Rc => P::As::share_rc(&P::As::empty_rc(prototypes)?),
        Pointer::Arc => P::As::share_arc(&P::As::empty_arc(prototypes)?),
    })
}

fn reach<P: Pointee>(pointer: Pointer, types: &mut TypeSet) {
    <P::As as PointTo<P>>::reach(pointer, types);
}

/// The object types of class `T` in the holders that a trait object may have.
pub(crate) fn reach_holder<T: Persist + Pointee>(holder: Holder, types: &mut TypeSet) {
    let Some((pointer, cell)) = holder.parts() else { return };
    match cell {
        Cell::RefCell => reach::<RefCell<T>>(pointer, types),
        Cell::Mutex => reach::<Mutex<T>>(pointer, types),
        Cell::RwLock => reach::<RwLock<T>>(pointer, types),
        _ => reach::<T>(pointer, types),
    }
}
