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
    /// Behind `Rc`.
    fn rc(value: Rc<T>) -> Rc<Self>;
    /// Behind `Arc`.
    fn arc(value: Arc<T>) -> Arc<Self>;
    /// In a `RefCell` behind `Rc`.
    fn rc_ref_cell(value: Rc<RefCell<T>>) -> Rc<RefCell<Self>>;
    /// In a `RefCell` behind `Arc`.
    fn arc_ref_cell(value: Arc<RefCell<T>>) -> Arc<RefCell<Self>>;
    /// In a `Mutex` behind `Rc`.
    fn rc_mutex(value: Rc<Mutex<T>>) -> Rc<Mutex<Self>>;
    /// In a `Mutex` behind `Arc`.
    fn arc_mutex(value: Arc<Mutex<T>>) -> Arc<Mutex<Self>>;
    /// In a `RwLock` behind `Rc`.
    fn rc_rw_lock(value: Rc<RwLock<T>>) -> Rc<RwLock<Self>>;
    /// In a `RwLock` behind `Arc`.
    fn arc_rw_lock(value: Arc<RwLock<T>>) -> Arc<RwLock<Self>>;
    /// Behind a `Weak`.
    fn weak(value: rc::Weak<T>) -> rc::Weak<Self>;
    /// Behind a `sync::Weak`.
    fn sync_weak(value: sync::Weak<T>) -> sync::Weak<Self>;
    /// In a `RefCell` behind a `Weak`.
    fn weak_ref_cell(value: rc::Weak<RefCell<T>>) -> rc::Weak<RefCell<Self>>;
    /// In a `RefCell` behind a `sync::Weak`.
    fn sync_weak_ref_cell(value: sync::Weak<RefCell<T>>) -> sync::Weak<RefCell<Self>>;
    /// In a `Mutex` behind a `Weak`.
    fn weak_mutex(value: rc::Weak<Mutex<T>>) -> rc::Weak<Mutex<Self>>;
    /// In a `Mutex` behind a `sync::Weak`.
    fn sync_weak_mutex(value: sync::Weak<Mutex<T>>) -> sync::Weak<Mutex<Self>>;
    /// In a `RwLock` behind a `Weak`.
    fn weak_rw_lock(value: rc::Weak<RwLock<T>>) -> rc::Weak<RwLock<Self>>;
    /// In a `RwLock` behind a `sync::Weak`.
    fn sync_weak_rw_lock(value: sync::Weak<RwLock<T>>) -> sync::Weak<RwLock<Self>>;
}

/// How the values of one class become `D`s.
pub struct Caster<D: ?Sized> {
    /// Reads a value behind its class number.
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
            empty: |prototypes| Ok(D::boxed(Box::new(T::prototype(prototypes)?))),
            make: |pointer, cell, prototypes| match cell {
                Cell::RefCell => empty::<RefCell<T>>(pointer, prototypes),
                Cell::Mutex => empty::<Mutex<T>>(pointer, prototypes),
                Cell::RwLock => empty::<RwLock<T>>(pointer, prototypes),
                _ => empty::<T>(pointer, prototypes),
            },
            bare: Pointers {
                rc: |shared| shared.rc().map(D::rc),
                arc: |shared| shared.arc().map(D::arc),
                gone_rc: || D::weak(rc::Weak::new()),
                gone_arc: || D::sync_weak(sync::Weak::new()),
            },
            ref_cell: Pointers {
                rc: |shared| shared.rc().map(D::rc_ref_cell),
                arc: |shared| shared.arc().map(D::arc_ref_cell),
                gone_rc: || D::weak_ref_cell(rc::Weak::new()),
                gone_arc: || D::sync_weak_ref_cell(sync::Weak::new()),
            },
            mutex: Pointers {
                rc: |shared| shared.rc().map(D::rc_mutex),
                arc: |shared| shared.arc().map(D::arc_mutex),
                gone_rc: || D::weak_mutex(rc::Weak::new()),
                gone_arc: || D::sync_weak_mutex(sync::Weak::new()),
            },
            rw_lock: Pointers {
                rc: |shared| shared.rc().map(D::rc_rw_lock),
                arc: |shared| shared.arc().map(D::arc_rw_lock),
                gone_rc: || D::weak_rw_lock(rc::Weak::new()),
                gone_arc: || D::sync_weak_rw_lock(sync::Weak::new()),
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
