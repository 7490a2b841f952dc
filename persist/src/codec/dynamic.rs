//! Trait objects: values of classes that are known at run time only.
//!
//! `#[persist::dynamic]` on a trait implements [`TraitObject`] for `dyn Trait`,
//! and [`Implements<T>`](Implements) for every class `T` that has the trait. A
//! [`Caster`] is what the registry keeps of such a class.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::rc::{self, Rc};
use std::sync::{self, Arc, Mutex, RwLock};
use std::time::Duration;

use super::lock::Lock;
use super::pointee::{share_unsized_arc, share_unsized_rc};
use super::{
    BoxOf, Content, Decoder, Encoder, Fail, Implementor, Persist, PointTo, Pointed, Pointee,
    Prototypes, Shared, StandIn, Stop, TypeSet, Unsized, Visitor,
};
use crate::reflect::{Cell, Holder, Kind, Pointer, Target, TraitName};
use crate::{Error, ErrorKind, Result};

/// A persistent value of a type that is known at run time only.
pub trait Portable: Any {
    /// As [`Encoder::value`].
    ///
    /// # Errors
    ///
    /// As there.
    fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop>;

    /// As [`Persist::visit`].
    ///
    /// # Errors
    ///
    /// As there.
    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()>;

    /// As [`Persist::visit_shared`].
    ///
    /// # Errors
    ///
    /// As there.
    fn visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()>;

    /// As [`Persist::name`].
    fn class_name(&self) -> String;

    /// The type in such a cell.
    fn in_cell(&self, cell: Cell) -> TypeId;
}

impl<T: Persist> Portable for T {
    fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.nested_in::<T>(|out| out.value(self))
    }

    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        Persist::visit(self, visitor)
    }

    fn visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        Persist::visit_shared(self, visitor)
    }

    fn class_name(&self) -> String {
        T::name()
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
    decode: fn(&mut Decoder<'_>) -> Result<Box<D>, Fail>,
    /// An empty value.
    empty: fn(&Prototypes<'_>) -> Result<Box<D>>,
    /// An empty object in such a holder.
    make: fn(Pointer, Cell, &Prototypes<'_>) -> Result<Shared>,
    bare: Pointers<D>,
    ref_cell: Pointers<RefCell<D>>,
    mutex: Pointers<Mutex<D>>,
    rw_lock: Pointers<RwLock<D>>,
}

/// How pointers to values of one class become pointers to a `P`.
struct Pointers<P: ?Sized> {
    rc: fn(&Shared) -> Option<Rc<P>>,
    arc: fn(&Shared) -> Option<Arc<P>>,
    gone_rc: fn() -> rc::Weak<P>,
    gone_arc: fn() -> sync::Weak<P>,
}

impl<D: ?Sized + TraitObject> Caster<D> {
    /// That of class `T`.
    pub(crate) fn of<T: Persist + Pointee>() -> Self
    where
        D: Implements<T>,
    {
        Self {
            decode: |input| {
                input.nested_in::<T, _>(|input| Ok(D::boxed(Box::new(input.value::<T>()?))))
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

/// Stands in a box or a cell, or behind a pointer, as a trait object.
pub struct AsTrait;

fn caster<'p, D: ?Sized + TraitObject>(prototypes: &Prototypes<'p>) -> Result<&'p Caster<D>> {
    let caster = prototypes.implementor(TypeId::of::<D>());
    caster.and_then(|caster| caster.downcast_ref()).ok_or_else(no_implementor::<D>)
}

#[cold]
fn no_implementor<D: ?Sized + TraitObject>() -> Error {
    let name = D::NAME;
    Error::new(
        ErrorKind::Unsupported,
        format!(
            "no class with an empty value is registered for trait {name}; call `register_as::<Class, dyn {name}>()`"
        ),
    )
}

/// Stored as the number of its class, then the value.
impl<D: ?Sized + TraitObject> BoxOf<D> for AsTrait {
    const MIN: usize = 1;
    const NULLABLE: bool = true;

    fn kind() -> Kind {
        Kind::Dynamic(trait_name::<D>())
    }

    fn name() -> String {
        format!("dyn {}", D::NAME)
    }

    fn reach(types: &mut TypeSet) {
        types.implementors::<D>(None);
    }

    fn prototype(prototypes: &Prototypes<'_>) -> Result<Box<D>> {
        (caster::<D>(prototypes)?.empty)(prototypes)
    }

    fn encode(content: &D, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let value = content.portable();
        if let Some(stand_in) = D::stand_in()
            && let Some(unknown) = (stand_in.class.unknown)(value)
        {
            unknown.encode_class(out)?;
            return unknown.encode(out);
        }
        match out.links().class(value.type_id(), trait_name::<D>(), &|| value.class_name()) {
            Ok(number) => super::count::encode(number, out)?,
            Err(error) => return Err(out.refuse(error)),
        }
        value.encode(out)
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Box<D>, Fail> {
        let number = super::count::decode(input)?;
        let decode = match input.links().class(number, trait_name::<D>()) {
            Ok(Implementor::Known(caster)) => {
                caster.downcast_ref::<Caster<D>>().ok_or(Fail::Value)?.decode
            }
            Ok(Implementor::Unknown(class)) => return keep::<D>(number, &class, input),
            Err(error) => return Err(input.refuse(error)),
        };
        decode(input)
    }

    fn visit(content: &mut D, visitor: &mut Visitor<'_>) -> Result<()> {
        visitor.nested(|visitor| content.portable_mut().visit(visitor))
    }

    fn visit_shared(content: &D, visitor: &mut Visitor<'_>) -> Result<()> {
        visitor.nested(|visitor| content.portable().visit_shared(visitor))
    }
}

/// Takes a value of a class that is not registered for the trait.
#[cold]
fn keep<D: ?Sized + TraitObject>(
    number: u64,
    class: &str,
    input: &mut Decoder<'_>,
) -> Result<Box<D>, Fail> {
    let Some(stand_in) = D::stand_in() else { return Err(skip::<D>(number, class, input)) };
    let rest = input.rest();
    match input.links().keep(number, rest) {
        Ok((unknown, length)) => {
            input.take(length)?;
            Ok((stand_in.boxed)(unknown))
        }
        Err(error) => Err(input.refuse(error)),
    }
}

/// Passes over a value of a class that is not registered for the trait.
fn skip<D: ?Sized + TraitObject>(number: u64, class: &str, input: &mut Decoder<'_>) -> Fail {
    let rest = input.rest();
    match input.links().skip(number, rest) {
        Ok(length) => match input.take(length) {
            Ok(_) => input.unregistered(number, not_registered(class, D::NAME)),
            Err(fail) => fail,
        },
        Err(error) => input.refuse(error),
    }
}

#[cold]
pub(crate) fn not_registered(class: &str, of: &str) -> Error {
    Error::new(
        ErrorKind::WrongClass,
        format!(
            "class {class} is not registered for trait {of}; call `register_as::<{class}, dyn {of}>()`, name a stand-in by `#[persist::dynamic(unknown = Type)]`, or make it an `Option`"
        ),
    )
}

/// The same when it is to be saved.
#[cold]
pub(crate) fn not_registered_yet(class: &str, of: &str) -> Error {
    Error::new(
        ErrorKind::WrongClass,
        format!(
            "class {class} is not registered for trait {of}; call `register_as::<{class}, dyn {of}>()` before the save"
        ),
    )
}

/// A `dyn Trait`, or a cell around one.
pub trait TraitCell: Unsized {
    /// The `dyn Trait`.
    type Trait: ?Sized + TraitObject;

    #[doc(hidden)]
    fn __rc(caster: &Caster<Self::Trait>, shared: &Shared) -> Option<Rc<Self>>;

    #[doc(hidden)]
    fn __arc(caster: &Caster<Self::Trait>, shared: &Shared) -> Option<Arc<Self>>;

    #[doc(hidden)]
    fn __gone_rc(caster: &Caster<Self::Trait>) -> rc::Weak<Self>;

    #[doc(hidden)]
    fn __gone_arc(caster: &Caster<Self::Trait>) -> sync::Weak<Self>;
}

macro_rules! pointers {
    ($field:ident) => {
        fn __rc(caster: &Caster<D>, shared: &Shared) -> Option<Rc<Self>> {
            (caster.$field.rc)(shared)
        }

        fn __arc(caster: &Caster<D>, shared: &Shared) -> Option<Arc<Self>> {
            (caster.$field.arc)(shared)
        }

        fn __gone_rc(caster: &Caster<D>) -> rc::Weak<Self> {
            (caster.$field.gone_rc)()
        }

        fn __gone_arc(caster: &Caster<D>) -> sync::Weak<Self> {
            (caster.$field.gone_arc)()
        }
    };
}

impl<D: ?Sized + TraitObject + Pointee> Unsized for D {
    fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        self.portable().encode(out)
    }

    fn visit(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        self.portable().visit_shared(visitor)
    }

    fn look(&self, look: &mut dyn FnMut(&dyn Any)) {
        look(self.portable());
    }

    fn pointee(&self) -> Option<TypeId> {
        Some(self.portable().in_cell(Cell::None))
    }

    fn class_name(&self) -> Option<String> {
        Some(self.portable().class_name())
    }
}

impl<D: ?Sized + TraitObject + Pointee> TraitCell for D {
    type Trait = D;

    pointers! { bare }
}

macro_rules! trait_cells {
    ($($cell:ident $field:ident)*) => {$(
        impl<D: ?Sized + TraitObject + Content<As = AsTrait>> Unsized for $cell<D> {
            fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                match self.open(out.limits().lock_wait) {
                    Ok(value) => value.portable().encode(out),
                    Err(error) => Err(out.refuse(error)),
                }
            }

            fn visit(&self, visitor: &mut Visitor<'_>) -> Result<()> {
                self.open_mut(visitor.limits().lock_wait)?.portable_mut().visit(visitor)
            }

            fn look(&self, look: &mut dyn FnMut(&dyn Any)) {
                if let Ok(value) = self.open(Duration::ZERO) {
                    look(value.portable());
                }
            }

            fn pointee(&self) -> Option<TypeId> {
                let value = self.open(Duration::ZERO).ok()?;
                Some(value.portable().in_cell(Cell::$cell))
            }

            fn class_name(&self) -> Option<String> {
                let value = self.open(Duration::ZERO).ok()?;
                Some(value.portable().class_name())
            }
        }

        impl<D: ?Sized + TraitObject + Content<As = AsTrait>> TraitCell for $cell<D> {
            type Trait = D;

            pointers! { $field }
        }
    )*};
}

trait_cells! { RefCell ref_cell  Mutex mutex  RwLock rw_lock }

impl<P: ?Sized + TraitCell> PointTo<P> for AsTrait {
    fn target() -> Target {
        Target::Trait(trait_name::<P::Trait>())
    }

    fn reach(pointer: Pointer, types: &mut TypeSet) {
        types.implementors::<P::Trait>(Some(Holder::new(pointer, P::CELL)));
    }

    fn pointed() -> Pointed {
        Pointed::As(trait_name::<P::Trait>())
    }

    fn share_rc(this: &Rc<P>) -> Shared {
        share_unsized_rc(this)
    }

    fn share_arc(this: &Arc<P>) -> Shared {
        share_unsized_arc(this)
    }

    fn rc(object: &Shared, caster: Option<&dyn Any>) -> Option<Rc<P>> {
        P::__rc(caster?.downcast_ref()?, object)
    }

    fn arc(object: &Shared, caster: Option<&dyn Any>) -> Option<Arc<P>> {
        P::__arc(caster?.downcast_ref()?, object)
    }

    fn gone_rc(prototypes: &Prototypes<'_>) -> Result<rc::Weak<P>> {
        Ok(P::__gone_rc(caster(prototypes)?))
    }

    fn gone_arc(prototypes: &Prototypes<'_>) -> Result<sync::Weak<P>> {
        Ok(P::__gone_arc(caster(prototypes)?))
    }

    fn empty_rc(prototypes: &Prototypes<'_>) -> Result<Rc<P>> {
        let caster = caster::<P::Trait>(prototypes)?;
        let shared = (caster.make)(Pointer::Rc, P::CELL, prototypes)?;
        P::__rc(caster, &shared).ok_or_else(no_implementor::<P::Trait>)
    }

    fn empty_arc(prototypes: &Prototypes<'_>) -> Result<Arc<P>> {
        let caster = caster::<P::Trait>(prototypes)?;
        let shared = (caster.make)(Pointer::Arc, P::CELL, prototypes)?;
        P::__arc(caster, &shared).ok_or_else(no_implementor::<P::Trait>)
    }
}
