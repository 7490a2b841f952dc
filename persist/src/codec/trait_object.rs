//! Trait objects: values whose class is known at run time only.
//!
//! `#[persist::dynamic]` on a trait implements [`TraitObject`] for `dyn Trait`, and [`Implements<T>`](Implements) for
//! every class `T` that has the trait. The registry stores a [`Caster`] for each such class.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use super::boxed::is_bulky;
use super::content::{BoxOf, CellContent};
use super::count;
use super::decoder::{Decoder, Implementor};
use super::encoder::{Encoder, Stop};
use super::fail::Fail;
use super::links::{Pointed, Prototypes, Within};
use super::lock::LockCell;
use super::object::Shared;
use super::persist::Generic;
use super::persist::Persist;
use super::pointer::{
    ArcFamily, AsCell, Family, NewValue, PointTo, Pointee, RcFamily, Unsized, draft_of,
    share_unsized,
};
use super::type_set::{LoadedObject, StandInClass, TypeSet};
use super::unknown::Unknown;
use super::value::empty_box;
use super::visitor::{Phase, Visitor};
use crate::reflect::{Cell, Holder, Kind, Pointer, Target, TraitName};
use crate::{Error, ErrorKind, Result};

/// A persistent value of a type that is known at run time only.
pub trait Portable: Any {
    /// Writes the value, like [`Encoder::value`].
    fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop>;

    /// Reads over the value.
    fn decode_over(&mut self, input: &mut Decoder<'_>) -> Result<(), Fail>;

    /// Counts the value as one in a box.
    fn count_box(&self, out: &mut Encoder<'_>);

    /// Like [`Persist::__visit`].
    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()>;

    /// Like [`Persist::__visit_shared`].
    fn visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()>;

    /// Like [`Persist::persist_name`].
    fn class_name(&self) -> String;

    /// Returns the type of this cell around a value of the same class.
    fn in_cell(&self, cell: Cell) -> TypeId;
}

impl<T: Persist> Portable for T {
    fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.in_box::<T>(|out| out.value(self))
    }

    fn decode_over(&mut self, input: &mut Decoder<'_>) -> Result<(), Fail> {
        input.in_box::<T, _>(|input| input.value_into(self))
    }

    fn count_box(&self, out: &mut Encoder<'_>) {
        out.count_box::<T>(T::MIN);
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

/// The supertrait that `#[persist::dynamic]` gives a trait, so that its trait objects can be saved. Every [`Persist`]
/// type has it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` implements a `#[persist::dynamic]` trait, but not `Persist`",
    label = "not `Persist`",
    note = "add `#[derive(Persist)]` to it"
)]
pub trait Dynamic: 'static {
    /// Returns the value.
    #[doc(hidden)]
    fn __portable(&self) -> &dyn Portable;

    /// Returns the value mutably.
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
pub trait TraitObject: Dynamic {
    /// Name of the trait in a save.
    const NAME: &'static str;

    /// Returns the value.
    fn portable(&self) -> &dyn Portable {
        self.__portable()
    }

    /// Returns the value mutably.
    fn portable_mut(&mut self) -> &mut dyn Portable {
        self.__portable_mut()
    }

    /// Returns the stand-in for unknown classes, if the trait has one.
    #[must_use]
    fn stand_in() -> Option<StandIn<Self>> {
        None
    }
}

pub(crate) fn trait_name<D: ?Sized + TraitObject>() -> TraitName {
    TraitName { id: TypeId::of::<D>, name: D::NAME }
}

/// The stand-in for unknown classes of a trait: a type that holds an [`Unknown`].
pub struct StandIn<D: ?Sized> {
    class: StandInClass,
    /// Wraps unknown content in a boxed stand-in.
    boxed: fn(Unknown) -> Box<D>,
}

impl<D: ?Sized + TraitObject> StandIn<D> {
    /// Describes the stand-in type `T`.
    #[must_use]
    pub fn new<T>() -> Self
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
                make: |holder, unknown| in_holder::<T>(holder, T::from(unknown)),
                caster: Arc::new(Caster::<D>::new::<T>()),
            },
            boxed: |unknown| D::boxed(Box::new(T::from(unknown))),
        }
    }
}

impl TypeSet {
    /// Adds a trait whose trait objects are in boxes (`holder` is `None`) or behind pointers.
    pub fn implementors<D: ?Sized + TraitObject>(&mut self, holder: Option<Holder>) {
        let of = trait_name::<D>();
        if self.traits.iter().any(|(seen, at)| (seen.id)() == (of.id)() && *at == holder) {
            return;
        }
        self.traits.push((of, holder));
        if let Some(stand_in) = D::stand_in() {
            // The class of the stand-in is saved too, so it is added.
            (stand_in.class.enter)(self);
            self.stand_ins.push((of, stand_in.class));
        }
    }
}

/// Converts a `T` to a trait object. `#[persist::dynamic]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{T}` cannot become a `{Self}`",
    note = "implement the trait for it, and put `#[persist::dynamic]` above the trait"
)]
pub trait Implements<T: 'static>: TraitObject {
    /// Converts a boxed value.
    fn boxed(value: Box<T>) -> Box<Self>;

    /// Puts a pointer to the object into `place`: an `Option` of an `Rc<Self>`, of an `Arc<Mutex<Self>>` or of another
    /// strong pointer to a `Self` or to a cell around one.
    fn point(object: &Shared, place: &mut dyn Any);

    /// Puts a weak pointer to nothing into `place`, which is like that of [`point`](Self::point).
    fn dangle(place: &mut dyn Any);
}

/// Converts the values of one class to a trait object `D`. Pointers are put into places, as for [`Implements`].
pub(crate) struct Caster<D: ?Sized + 'static> {
    /// Reads a value, after its class number.
    decode: fn(&mut Decoder<'_>) -> Result<Box<D>, Fail>,
    /// Creates an empty value.
    empty: fn(&Prototypes<'_>) -> Result<Box<D>>,
    /// Creates an empty object in a holder.
    make: fn(&Prototypes<'_>, Holder) -> Result<LoadedObject>,
    /// Gives a pointer to an object.
    find: fn(&Shared, &mut dyn Any),
    /// Gives a weak pointer to nothing.
    dangling: fn(&mut dyn Any),
}

impl<D: ?Sized + TraitObject> Caster<D> {
    /// Creates an empty value.
    #[cfg(feature = "world")]
    pub(crate) fn empty(&self, prototypes: &Prototypes<'_>) -> Result<Box<D>> {
        (self.empty)(prototypes)
    }

    /// Creates the caster of class `T`.
    pub(crate) fn new<T: Persist + Pointee>() -> Self
    where
        D: Implements<T>,
    {
        Self {
            decode: |input| {
                input.charge_box::<T>(T::MIN)?;
                // Like the decode of a box. With a `?` there would be more copies of the value on the stack, at each
                // level of nesting.
                input.in_box::<T, _>(Decoder::boxed::<T>).map(D::boxed)
            },
            empty: |prototypes| empty_box::<T>(prototypes).map(D::boxed),
            make: |prototypes, holder| {
                Ok(if const { is_bulky::<T>() } {
                    in_holder::<T>(holder, prototypes.boxed_object::<T>()?)
                } else {
                    in_holder::<T>(holder, prototypes.object::<T>()?)
                })
            },
            find: D::point,
            dangling: D::dangle,
        }
    }
}

/// Adds the object type of class `T` in a holder that a trait object may have.
pub(crate) fn reach_holder<T: Persist + Pointee>(holder: Holder, types: &mut TypeSet) {
    match holder.parts() {
        Some((Pointer::Rc, cell)) => reach_cell::<RcFamily, T>(cell, types),
        Some((Pointer::Arc, cell)) => reach_cell::<ArcFamily, T>(cell, types),
        None => {}
    }
}

fn reach_cell<F: Family, T: Persist + Pointee>(cell: Cell, types: &mut TypeSet) {
    match cell {
        Cell::RefCell => <AsCell as PointTo<RefCell<T>>>::reach::<F>(types),
        Cell::Mutex => <AsCell as PointTo<Mutex<T>>>::reach::<F>(types),
        Cell::RwLock => <AsCell as PointTo<RwLock<T>>>::reach::<F>(types),
        _ => T::As::reach::<F>(types),
    }
}

/// Puts a value into a holder that a trait object may have.
fn in_holder<T: Persist>(holder: Holder, value: impl NewValue<T>) -> LoadedObject {
    match holder.parts() {
        Some((Pointer::Rc, cell)) => make_in::<RcFamily, T>(cell, value),
        Some((Pointer::Arc, cell)) => make_in::<ArcFamily, T>(cell, value),
        None => LoadedObject::Nothing,
    }
}

fn make_in<F: Family, T: Persist>(cell: Cell, value: impl NewValue<T>) -> LoadedObject {
    LoadedObject::Shared(match cell {
        Cell::None => return draft_of::<F, T>(value),
        Cell::RefCell => F::share::<RefCell<T>>(value.share_in::<F, _>(RefCell::new)),
        Cell::Mutex => F::share::<Mutex<T>>(value.share_in::<F, _>(Mutex::new)),
        Cell::RwLock => F::share::<RwLock<T>>(value.share_in::<F, _>(RwLock::new)),
        _ => return LoadedObject::Nothing,
    })
}

/// A `dyn Trait`, or a cell around one.
pub trait TraitCell: Unsized {
    /// The `dyn Trait`.
    type Trait: ?Sized + TraitObject;
}

impl<D: ?Sized + TraitObject + Pointee> Unsized for D {
    fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        self.portable().encode(out)
    }

    fn visit(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        self.portable().visit_shared(visitor)
    }

    fn inspect(&self, _: Duration, inspect: &mut dyn FnMut(&dyn Any)) {
        inspect(self.portable());
    }

    fn pointee(&self, _: Duration) -> Result<TypeId> {
        Ok(self.portable().in_cell(Cell::None))
    }

    fn class_name(&self) -> Option<String> {
        Some(self.portable().class_name())
    }
}

impl<D: ?Sized + TraitObject + Pointee> TraitCell for D {
    type Trait = D;
}

macro_rules! trait_cells {
    ($($cell:ident)*) => {$(
        impl<D: ?Sized + TraitObject + CellContent<As = AsTrait>> Unsized for $cell<D> {
            fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                match self.open(out.limits().lock_wait) {
                    Ok(value) => value.portable().encode(out),
                    Err(error) => Err(out.refuse(error)),
                }
            }

            fn visit(&self, visitor: &mut Visitor<'_>) -> Result<()> {
                let wait = visitor.limits().lock_wait;
                if visitor.phase() == Phase::Pages && <Self as LockCell<D>>::IS_LOCK {
                    return Ok(());
                }
                if matches!(visitor.phase(), Phase::Validate | Phase::Pages) {
                    // These only read, so the program may read at the same time.
                    let value = self.open(wait)?;
                    return visitor.inside(Within::Cell, |visitor| {
                        value.portable().visit_shared(visitor)
                    });
                }
                self.open_mut(wait)?.portable_mut().visit(visitor)
            }

            fn inspect(&self, wait: Duration, inspect: &mut dyn FnMut(&dyn Any)) {
                if let Ok(value) = self.open(wait) {
                    inspect(value.portable());
                }
            }

            fn pointee(&self, wait: Duration) -> Result<TypeId> {
                match self.open(wait) {
                    Ok(value) => Ok(value.portable().in_cell(Cell::$cell)),
                    // Only the trait is known here, not the class.
                    Err(error) => Err(error.in_class(format!("dyn {}", D::NAME))),
                }
            }

            fn class_name(&self) -> Option<String> {
                let value = self.open(Duration::ZERO).ok()?;
                Some(value.portable().class_name())
            }
        }

        impl<D: ?Sized + TraitObject + CellContent<As = AsTrait>> TraitCell for $cell<D> {
            type Trait = D;
        }
    )*};
}

trait_cells! { RefCell Mutex RwLock }

/// Marks trait objects: in a box, in a cell, or behind a pointer.
pub struct AsTrait;

fn caster<'p, D: ?Sized + TraitObject>(prototypes: &Prototypes<'p>) -> Result<&'p Caster<D>> {
    let caster = prototypes.implementor(TypeId::of::<D>());
    caster.and_then(|caster| caster.downcast_ref()).ok_or_else(no_implementor::<D>)
}

#[cold]
fn no_implementor<D: ?Sized + TraitObject>() -> Error {
    let name = D::NAME;
    error!(
        ErrorKind::Unsupported,
        "no class with an empty value is registered for trait {name}; call `register_as::<Class, dyn {name}>()`"
    )
}

/// Stored as the number of the value's class, then the value.
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

    fn empty(prototypes: &Prototypes<'_>) -> Result<Box<D>> {
        (caster::<D>(prototypes)?.empty)(prototypes)
    }

    fn encode(content: &D, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let value = content.portable();
        if encode_class::<D>(value, out)? {
            value.count_box(out);
            value.encode(out)?;
        }
        Ok(())
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Box<D>, Fail> {
        let number = input.class_number()?;
        let decode = match input.links().class(number, trait_name::<D>()) {
            Ok(Implementor::Known(caster)) => {
                caster.downcast_ref::<Caster<D>>().ok_or(Fail::Value)?.decode
            }
            Ok(Implementor::Unknown(class)) => return keep::<D>(number, &class, input),
            Err(error) => return Err(input.refuse(error)),
        };
        decode(input).map_err(|fail| match fail {
            // The unregistered class is one inside of this value, which was not skipped as a whole.
            Fail::Unregistered => Fail::Refused,
            fail => fail,
        })
    }

    fn visit(content: &mut D, visitor: &mut Visitor<'_>) -> Result<()> {
        visitor.nested(|visitor| content.portable_mut().visit(visitor))
    }

    fn visit_shared(content: &D, visitor: &mut Visitor<'_>) -> Result<()> {
        visitor.nested(|visitor| content.portable().visit_shared(visitor))
    }
}

/// Writes the class of a value, before the value itself. Returns false if the value is a stand-in, whose unknown
/// content was written instead.
///
/// Not inlined, so that its frame does not add to those of nested values.
#[inline(never)]
fn encode_class<D: ?Sized + TraitObject>(
    value: &dyn Portable,
    out: &mut Encoder<'_>,
) -> Result<bool, Stop> {
    if let Some(stand_in) = D::stand_in()
        && let Some(unknown) = (stand_in.class.unknown)(value)
    {
        return match unknown.value() {
            Ok(value) => value.encode_class(out).and_then(|()| value.encode(out)).map(|()| false),
            Err(error) => Err(out.refuse(error)),
        };
    }
    let class = value.type_id();
    let number = out.ask(|links| links.class(class, trait_name::<D>(), &|| value.class_name()))?;
    count::encode(number, out)?;
    Ok(true)
}

/// Reads a value whose class is not registered for the trait: as a stand-in, if the trait has one.
#[cold]
fn keep<D: ?Sized + TraitObject>(
    number: u64,
    class: &str,
    input: &mut Decoder<'_>,
) -> Result<Box<D>, Fail> {
    let Some(stand_in) = D::stand_in() else { return Err(skip::<D>(number, class, input)) };
    let rest = input.rest();
    match input.links().unknown(number, rest, true) {
        Ok((length, value)) => {
            input.take(length)?;
            Ok((stand_in.boxed)(value.unwrap_or_default()))
        }
        Err(error) => Err(input.refuse(error)),
    }
}

/// Skips a value whose class is not registered for the trait.
fn skip<D: ?Sized + TraitObject>(number: u64, class: &str, input: &mut Decoder<'_>) -> Fail {
    let rest = input.rest();
    match input.links().unknown(number, rest, false) {
        Ok((length, _)) => match input.take(length) {
            Ok(_) => input.unregistered(number, not_registered(class, D::NAME)),
            Err(fail) => fail,
        },
        Err(error) => input.refuse(error),
    }
}

#[cold]
pub(crate) fn not_registered(class: &str, of: &str) -> Error {
    error!(
        ErrorKind::WrongClass,
        "class {class} is not registered for trait {of}; call `register_as::<{class}, dyn {of}>()` on the `Saves`, name a stand-in by `#[persist::dynamic(unknown = Type)]`, or make it an `Option`"
    )
}

/// Like [`not_registered`], for a value that is being saved.
#[cold]
pub(crate) fn not_registered_yet(class: &str, of: &str) -> Error {
    error!(
        ErrorKind::WrongClass,
        "class {class} is not registered for trait {of}; call `register_as::<{class}, dyn {of}>()` on the `Saves` before the save"
    )
}

impl<P: ?Sized + TraitCell> PointTo<P> for AsTrait {
    fn target() -> Target {
        Target::Trait(trait_name::<P::Trait>())
    }

    fn reach<F: Family>(types: &mut TypeSet) {
        types.implementors::<P::Trait>(Some(Holder::new(F::POINTER, P::CELL)));
    }

    fn pointed() -> Pointed {
        Pointed::As(trait_name::<P::Trait>())
    }

    fn share<F: Family>(this: &F::Strong<P>) -> Shared {
        share_unsized::<F, P>(this)
    }

    fn find<F: Family>(object: &Shared, caster: Option<&dyn Any>) -> Option<F::Strong<P>> {
        found::<F, P>(caster?.downcast_ref()?, object)
    }

    fn dangling<F: Family>(prototypes: &Prototypes<'_>) -> Result<F::Weak<P>> {
        let mut place = None::<F::Weak<P>>;
        (caster::<P::Trait>(prototypes)?.dangling)(&mut place);
        place.ok_or_else(no_implementor::<P::Trait>)
    }

    fn empty<F: Family>(prototypes: &Prototypes<'_>) -> Result<F::Strong<P>> {
        let caster = caster::<P::Trait>(prototypes)?;
        let object = (caster.make)(prototypes, Holder::new(F::POINTER, P::CELL))?.build();
        let pointer = object.and_then(|object| found::<F, P>(caster, &object));
        pointer.ok_or_else(no_implementor::<P::Trait>)
    }
}

fn found<F: Family, P: ?Sized + TraitCell>(
    caster: &Caster<P::Trait>,
    object: &Shared,
) -> Option<F::Strong<P>> {
    let mut place = None::<F::Strong<P>>;
    (caster.find)(object, &mut place);
    place
}

/// Expands to the impls that `#[persist::dynamic]` puts beside a trait, for each of its trait objects.
///
/// It expands where the library is imported as `_persist`, because tokens that were moved have no `$crate`.
#[doc(hidden)]
#[macro_export]
macro_rules! __dynamic {
    ($name:expr, ($($bounds:tt)*), $object:ty $(, unknown $stand_in:ty)?) => {
        $crate::__private::at_one_place! { ($object)
            impl _persist::TraitObject for $object {
                const NAME: &'static _persist::str = $name;
                $(
                    fn stand_in() -> _persist::Option<_persist::StandIn<Self>> {
                        _persist::Option::Some(
                            _persist::StandIn::new::<$stand_in>(),
                        )
                    }
                )?
            }

            impl _persist::CellContent for $object {
                type As = _persist::AsTrait;
            }

            impl _persist::Pointee for $object {
                type As = _persist::AsTrait;
            }

            impl<__T: _persist::Persist + _persist::Pointee + $($bounds)*> _persist::Implements<__T>
                for $object
            {
                fn boxed(value: _persist::std::boxed::Box<__T>) -> _persist::std::boxed::Box<Self> {
                    value
                }

                _persist::__coerce! { $object; rc::Rc rc; sync::Arc arc; }
            }
        }
    };
}

/// Expands to the functions of `Implements<__T>` that create pointers: to a value, and to each cell around one.
#[doc(hidden)]
#[macro_export]
macro_rules! __coerce {
    ($object:ty; $($module:ident::$pointer:ident $method:ident;)*) => {
        fn point(object: &$crate::__private::Shared, place: &mut dyn $crate::__private::Any) {
            $(
                $crate::__coerce!(@strong object $method place: ::std::$module::$pointer<$object> = __T);
                $crate::__coerce!(@strong object $method place: ::std::$module::$pointer<::std::cell::RefCell<$object>> = ::std::cell::RefCell<__T>);
                $crate::__coerce!(@strong object $method place: ::std::$module::$pointer<::std::sync::Mutex<$object>> = ::std::sync::Mutex<__T>);
                $crate::__coerce!(@strong object $method place: ::std::$module::$pointer<::std::sync::RwLock<$object>> = ::std::sync::RwLock<__T>);
            )*
        }

        fn dangle(place: &mut dyn $crate::__private::Any) {
            $(
                $crate::__coerce!(@put place: ::std::$module::Weak<$object> = ::std::$module::Weak::<__T>::new());
                $crate::__coerce!(@put place: ::std::$module::Weak<::std::cell::RefCell<$object>> = ::std::$module::Weak::<::std::cell::RefCell<__T>>::new());
                $crate::__coerce!(@put place: ::std::$module::Weak<::std::sync::Mutex<$object>> = ::std::$module::Weak::<::std::sync::Mutex<__T>>::new());
                $crate::__coerce!(@put place: ::std::$module::Weak<::std::sync::RwLock<$object>> = ::std::$module::Weak::<::std::sync::RwLock<__T>>::new());
            )*
        }
    };
    (@strong $object:ident $method:ident $place:ident: $pointer:ty = $class:ty) => {
        $crate::__coerce!(@put $place: $pointer = {
            let $crate::__private::Option::Some(pointer) = $object.$method::<$class>() else { return };
            pointer
        });
    };
    (@put $place:ident: $pointer:ty = $from:expr) => {
        if let $crate::__private::Option::Some(place) =
            $place.downcast_mut::<$crate::__private::Option<$pointer>>()
        {
            let pointer: $pointer = $from;
            *place = $crate::__private::Option::Some(pointer);
        }
    };
}
