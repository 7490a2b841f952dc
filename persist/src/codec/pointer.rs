//! The targets of shared pointers: how a typed pointer becomes a [`Shared`], and a [`Shared`] the typed pointer.
//!
//! `Rc<P>`, `Arc<P>` and the `Weak` of each have one impl each, for every [`Pointee`]. The pointee's [`PointTo`] does
//! the conversion, since impls for values, for cells and for trait objects would overlap. The [`Family`] covers the
//! differences between `Rc` and `Arc`.

use std::any::{Any, TypeId};
use std::borrow::BorrowMut;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Deref;
use std::rc::{self, Rc};
use std::sync::{self, Arc};
use std::time::Duration;

use super::boxed::{boxed_with, is_bulky};
use super::decoder::Decoder;
use super::encoder::{Encoder, Stop};
use super::fail::Fail;
use super::links::{Pointed, Prototypes};
use super::object::{AnyObject, Shared};
use super::persist::Persist;
use super::type_set::{Draft, LoadedObject, ObjectType, TypeSet};
use super::visitor::Visitor;
use crate::Result;
use crate::reflect::{Cell, Holder, Pointer, Target, TypeCode};

/// `Rc` or `Arc`, with its `Weak`.
pub trait Family: Sized + 'static {
    /// Says which of the two pointers it is.
    const POINTER: Pointer;

    /// The pointer.
    type Strong<P: ?Sized + 'static>: Deref<Target = P> + Clone + 'static;

    /// Its `Weak`.
    type Weak<P: ?Sized + 'static>: 'static;

    /// Creates a pointer to a new object.
    fn new<X: 'static>(value: X) -> Self::Strong<X>;

    /// Creates a pointer to a new object, which moves there without a copy on the stack.
    fn from_box<X: 'static>(value: Box<X>) -> Self::Strong<X>;

    /// Creates a pointer to a value of any length.
    fn lengthy<P: ?Sized + Lengthy>(draft: P::Draft) -> Self::Strong<P>;

    /// Returns the pointer without its type.
    fn share<X: AnyObject>(pointer: Self::Strong<X>) -> Shared;

    /// Returns the typed pointer, if it is of this family and type.
    fn typed<X: Any>(shared: &Shared) -> Option<Self::Strong<X>>;

    /// Returns a weak pointer to nothing.
    fn dangling<X: 'static>() -> Self::Weak<X>;

    /// Returns a weak pointer to the same object.
    fn downgrade<P: ?Sized>(pointer: &Self::Strong<P>) -> Self::Weak<P>;

    /// Returns a strong pointer to the same object, if it is alive.
    fn upgrade<P: ?Sized>(pointer: &Self::Weak<P>) -> Option<Self::Strong<P>>;

    /// Returns how many pointers keep the object alive.
    fn strong_count<P: ?Sized>(pointer: &Self::Strong<P>) -> usize;
}

macro_rules! families {
    ($($family:ident: $strong:ident $weak:ident::Weak $method:ident;)*) => {$(
        #[doc = concat!("Pointers of type `", stringify!($strong), "`.")]
        pub struct $family;

        impl Family for $family {
            const POINTER: Pointer = Pointer::$strong;

            type Strong<P: ?Sized + 'static> = $strong<P>;
            type Weak<P: ?Sized + 'static> = $weak::Weak<P>;

            fn new<X: 'static>(value: X) -> $strong<X> {
                $strong::new(value)
            }

            fn from_box<X: 'static>(value: Box<X>) -> $strong<X> {
                value.into()
            }

            fn lengthy<P: ?Sized + Lengthy>(draft: P::Draft) -> $strong<P> {
                draft.into()
            }

            #[inline]
            fn share<X: AnyObject>(pointer: $strong<X>) -> Shared {
                Shared::from(pointer as $strong<dyn AnyObject>)
            }

            #[inline]
            fn typed<X: Any>(shared: &Shared) -> Option<$strong<X>> {
                shared.$method()
            }

            fn dangling<X: 'static>() -> $weak::Weak<X> {
                $weak::Weak::new()
            }

            #[inline]
            fn downgrade<P: ?Sized>(pointer: &$strong<P>) -> $weak::Weak<P> {
                $strong::downgrade(pointer)
            }

            #[inline]
            fn upgrade<P: ?Sized>(pointer: &$weak::Weak<P>) -> Option<$strong<P>> {
                pointer.upgrade()
            }

            fn strong_count<P: ?Sized>(pointer: &$strong<P>) -> usize {
                $strong::strong_count(pointer)
            }
        }
    )*};
}

families! {
    RcFamily: Rc rc::Weak rc;
    ArcFamily: Arc sync::Weak arc;
}

impl<T: Persist> AnyObject for T {
    fn encode_object(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.value(self)
    }

    fn visit_object(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        self.__visit_shared(visitor)
    }

    fn inspect(&self, _: Duration, inspect: &mut dyn FnMut(&dyn Any)) {
        inspect(self);
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).cast::<()>().addr()
    }

    fn pointee(&self, _: Duration) -> Result<TypeId> {
        Ok(TypeId::of::<T>())
    }

    fn put_into(self: Arc<Self>, place: &mut dyn Any) {
        if let Some(place) = place.downcast_mut() {
            *place = Some(self);
        }
    }
}

/// Marks the types that a shared pointer may point at: `Rc<P>`, `Arc<P>` and the `Weak` of each can be saved for every
/// pointee `P`.
///
/// `#[derive(Persist)]` implements it, and the library does for the standard types and cells. A type that implements
/// [`Persist`](crate::Persist) by hand becomes a pointee in one line:
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
    /// The cell that the type is, if it is one.
    #[doc(hidden)]
    const CELL: Cell = Cell::None;

    /// The type whose `PointTo` impl converts pointers to this type: `Self`, for a type that is `Persist`.
    type As: PointTo<Self>;
}

/// Converts pointers to a `P`. The library implements it; see [`Pointee`].
pub trait PointTo<P: ?Sized + 'static> {
    /// Like [`Persist::__CODE`].
    const CODE: &'static TypeCode = &TypeCode::None;

    /// Returns the target of a reference to a `P`, for its kind.
    fn target() -> Target;

    /// Adds the object type, and the types that it reaches.
    fn reach<F: Family>(types: &mut TypeSet);

    /// Returns what the pointer's type says of the target.
    fn pointed() -> Pointed;

    /// Returns the address of the target, which identifies it while it is held.
    fn address(target: &P) -> usize {
        std::ptr::from_ref(target).cast::<()>().addr()
    }

    /// Returns the pointer as one whose type is known at run time only.
    fn share<F: Family>(this: &F::Strong<P>) -> Shared;

    /// Returns the typed pointer to an object; `None` if the object has another type.
    fn find<F: Family>(object: &Shared, caster: Option<&dyn Any>) -> Option<F::Strong<P>>;

    /// Returns a weak pointer that dangles.
    fn dangling<F: Family>(prototypes: &Prototypes<'_>) -> Result<F::Weak<P>>;

    /// Creates an empty object.
    fn empty<F: Family>(prototypes: &Prototypes<'_>) -> Result<F::Strong<P>>;
}

/// Expands to the items of a [`PointTo`] whose pointees have a size.
macro_rules! sized_items {
    ($pointee:ident) => {
        fn pointed() -> Pointed {
            Pointed::At(TypeId::of::<$pointee>())
        }

        fn share<F: Family>(this: &F::Strong<$pointee>) -> Shared {
            F::share::<$pointee>(this.clone())
        }

        #[inline]
        fn find<F: Family>(object: &Shared, _: Option<&dyn Any>) -> Option<F::Strong<$pointee>> {
            F::typed::<$pointee>(object)
        }

        fn dangling<F: Family>(_: &Prototypes<'_>) -> Result<F::Weak<$pointee>> {
            Ok(F::dangling::<$pointee>())
        }
    };
}

/// Describes the object type of a pointee `P` that holds a `V`.
fn object_type<F: Family, P: ?Sized + Pointee, V: Persist>(
    size: usize,
    name: fn() -> String,
    make: fn(&Prototypes<'_>, &mut Vec<LoadedObject>) -> Result<()>,
) -> ObjectType {
    ObjectType {
        pointee: TypeId::of::<P>(),
        value: TypeId::of::<V>(),
        size,
        holder: Holder::new(F::POINTER, P::CELL),
        kind: V::persist_kind,
        name,
        make,
        fill: no_fill,
        inspect: |_, _, _| {},
    }
}

/// Refuses to read over an object without a cell.
fn no_fill(_: &Shared, _: &mut Decoder<'_>) -> Result<(), Fail> {
    Err(Fail::Value)
}

/// A value that is shared after it is filled: either the value itself, or a large one in a box.
struct Unshared<V, H> {
    held: H,
    share: fn(H) -> Shared,
    value: PhantomData<V>,
}

impl<V: Persist, H: BorrowMut<V>> Draft for Unshared<V, H> {
    fn fill(&mut self, input: &mut Decoder<'_>) -> Result<(), Fail> {
        input.value_into(self.held.borrow_mut())
    }

    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        self.held.borrow_mut().__visit(visitor)
    }

    fn build(self: Box<Self>) -> Shared {
        (self.share)(self.held)
    }
}

/// The value of a new object: itself, or a large one in a box, which is on the stack only while it moves.
pub(super) trait NewValue<T>: BorrowMut<T> + Sized + 'static {
    /// Returns a pointer to the value.
    fn share<F: Family>(self) -> F::Strong<T>;

    /// Returns a pointer to the value in a cell.
    fn share_in<F: Family, X: 'static>(self, hold: fn(T) -> X) -> F::Strong<X>;
}

impl<T: 'static> NewValue<T> for T {
    fn share<F: Family>(self) -> F::Strong<T> {
        F::new(self)
    }

    #[inline]
    fn share_in<F: Family, X: 'static>(self, hold: fn(T) -> X) -> F::Strong<X> {
        F::new(hold(self))
    }
}

impl<T: 'static> NewValue<T> for Box<T> {
    fn share<F: Family>(self) -> F::Strong<T> {
        F::from_box(self)
    }

    fn share_in<F: Family, X: 'static>(self, hold: fn(T) -> X) -> F::Strong<X> {
        F::from_box(boxed_with(self, hold))
    }
}

/// Wraps a value that is shared after it is filled.
fn unshared<V: Persist, H: BorrowMut<V> + 'static>(
    held: H,
    share: fn(H) -> Shared,
) -> LoadedObject {
    LoadedObject::Draft(Box::new(Unshared { held, share, value: PhantomData::<V> }))
}

/// Wraps a value that is shared after it is filled.
pub(super) fn draft_of<F: Family, T: Persist>(held: impl NewValue<T>) -> LoadedObject {
    unshared::<T, _>(held, |held| F::share::<T>(held.share::<F>()))
}

fn draft<F: Family, T: Persist>(
    prototypes: &Prototypes<'_>,
    objects: &mut Vec<LoadedObject>,
) -> Result<()> {
    objects.push(if const { is_bulky::<T>() } {
        draft_of::<F, T>(prototypes.boxed_object::<T>()?)
    } else {
        draft_of::<F, T>(prototypes.object::<T>()?)
    });
    Ok(())
}

fn inspect_value<T: Any>(value: &dyn Any, _: Duration, inspect: &mut dyn FnMut(&dyn Any)) {
    if let Some(value) = value.downcast_ref::<T>() {
        inspect(value);
    }
}

/// A value that cannot change once it is shared.
impl<T: Persist + Pointee> PointTo<T> for T {
    const CODE: &'static TypeCode = T::__CODE;

    sized_items!(T);

    fn target() -> Target {
        Target::Value { kind: T::persist_kind, name: T::persist_name }
    }

    fn reach<F: Family>(types: &mut TypeSet) {
        let object = object_type::<F, T, T>(size_of::<T>(), T::persist_name, draft::<F, T>);
        let object = ObjectType { inspect: inspect_value::<T>, ..object };
        if types.object(object) {
            T::__reach(types);
        }
    }

    fn empty<F: Family>(prototypes: &Prototypes<'_>) -> Result<F::Strong<T>> {
        if const { is_bulky::<T>() } {
            return Ok(prototypes.boxed_object::<T>()?.share::<F>());
        }
        prototypes.object().map(F::new::<T>)
    }
}

/// A cell whose value can be replaced while it is shared.
pub trait OpenCell: Persist + Pointee {
    /// The type of the value inside.
    type Value: Persist;

    /// Creates a cell with this value.
    fn hold(value: Self::Value) -> Self;

    /// Reads over the value inside.
    fn fill(&self, input: &mut Decoder<'_>) -> Result<(), Fail>;

    /// Passes the value inside to `inspect`, unless it stays mutably borrowed or locked for the time `wait`.
    fn inspect(&self, wait: Duration, inspect: &mut dyn FnMut(&dyn Any));
}

/// Marks a pointee that is a cell, and a value in a box.
pub struct AsCell;

fn open<F: Family, X: OpenCell>(
    prototypes: &Prototypes<'_>,
    objects: &mut Vec<LoadedObject>,
) -> Result<()> {
    let object = <AsCell as PointTo<X>>::empty::<F>(prototypes)?;
    objects.push(LoadedObject::Shared(F::share::<X>(object)));
    Ok(())
}

fn fill_cell<X: OpenCell>(object: &Shared, input: &mut Decoder<'_>) -> Result<(), Fail> {
    let object: &dyn Any = object.object();
    object.downcast_ref::<X>().ok_or(Fail::Value)?.fill(input)
}

fn inspect_cell<X: OpenCell>(object: &dyn Any, wait: Duration, inspect: &mut dyn FnMut(&dyn Any)) {
    if let Some(cell) = object.downcast_ref::<X>() {
        OpenCell::inspect(cell, wait, inspect);
    }
}

impl<X: OpenCell> PointTo<X> for AsCell {
    const CODE: &'static TypeCode = X::Value::__CODE;

    sized_items!(X);

    fn target() -> Target {
        Target::Value { kind: X::Value::persist_kind, name: X::Value::persist_name }
    }

    fn reach<F: Family>(types: &mut TypeSet) {
        let name = X::Value::persist_name;
        let object = object_type::<F, X, X::Value>(size_of::<X>(), name, open::<F, X>);
        let object = ObjectType { fill: fill_cell::<X>, inspect: inspect_cell::<X>, ..object };
        if types.object(object) {
            X::Value::__reach(types);
        }
    }

    fn empty<F: Family>(prototypes: &Prototypes<'_>) -> Result<F::Strong<X>> {
        if const { is_bulky::<X>() } {
            return Ok(prototypes.boxed_object::<X::Value>()?.share_in::<F, X>(X::hold));
        }
        Ok(F::new(X::hold(prototypes.object()?)))
    }
}

/// A pointee without a size of its own, such as `str`: the pointer itself becomes the object.
pub trait Unsized: Pointee {
    /// Writes the value.
    fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop>;

    /// Visits the values that can be reached through a shared pointer.
    fn visit(&self, visitor: &mut Visitor<'_>) -> Result<()>;

    /// Passes the value to `inspect`.
    fn inspect(&self, wait: Duration, inspect: &mut dyn FnMut(&dyn Any));

    /// Returns the type of the target.
    fn pointee(&self, wait: Duration) -> Result<TypeId>;

    /// Returns the name of the class of a trait object.
    fn class_name(&self) -> Option<String> {
        None
    }
}

/// An object without a size of its own, by the pointer to it.
struct Reached<F: Family, P: ?Sized + 'static>(F::Strong<P>);

impl<F: Family, P: ?Sized + Unsized> AnyObject for Reached<F, P> {
    fn encode_object(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        Unsized::encode(&*self.0, out)
    }

    fn visit_object(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        Unsized::visit(&*self.0, visitor)
    }

    fn inspect(&self, wait: Duration, inspect: &mut dyn FnMut(&dyn Any)) {
        Unsized::inspect(&*self.0, wait, inspect);
    }

    fn address(&self) -> usize {
        P::As::address(&self.0)
    }

    fn pointee(&self, wait: Duration) -> Result<TypeId> {
        Unsized::pointee(&*self.0, wait)
    }

    fn class_name(&self) -> Option<String> {
        Unsized::class_name(&*self.0)
    }

    fn seen_pointee(&self) -> Option<TypeId> {
        if P::CELL != Cell::None {
            return None;
        }
        AnyObject::pointee(self, Duration::ZERO).ok()
    }

    fn put_into(self: Arc<Self>, _: &mut dyn Any) {}

    fn strong_count(&self) -> usize {
        F::strong_count::<P>(&self.0)
    }

    fn downgrade(&self) -> Option<Rc<dyn Fn() -> Option<Shared>>> {
        let weak = F::downgrade::<P>(&self.0);
        Some(Rc::new(move || Some(share_unsized::<F, P>(&F::upgrade::<P>(&weak)?))))
    }
}

pub(super) fn share_unsized<F: Family, P: ?Sized + Unsized>(this: &F::Strong<P>) -> Shared {
    Shared::boxed(F::POINTER, Reached::<F, P>(this.clone()))
}

/// A value of any length that a pointer can hold by itself: `str` or `[T]`.
pub trait Lengthy: Unsized {
    /// The growable form that is filled before it is shared: `String` for `str`.
    type Draft: Persist + Into<Rc<Self>> + Into<Arc<Self>>;

    /// Returns the name of the class of its records.
    #[must_use]
    fn name() -> String;
}

/// Marks a pointee of any length that cannot change once it is shared.
pub struct AsLengthy;

fn lengthy<F: Family, P: ?Sized + Lengthy>(
    prototypes: &Prototypes<'_>,
    objects: &mut Vec<LoadedObject>,
) -> Result<()> {
    let value = P::Draft::persist_empty(prototypes)?;
    let share = |draft| share_unsized::<F, P>(&F::lengthy::<P>(draft));
    objects.push(unshared::<P::Draft, _>(value, share));
    Ok(())
}

impl<P: ?Sized + Lengthy> PointTo<P> for AsLengthy {
    const CODE: &'static TypeCode = P::Draft::__CODE;

    fn target() -> Target {
        Target::Value { kind: P::Draft::persist_kind, name: P::name }
    }

    fn reach<F: Family>(types: &mut TypeSet) {
        let size = size_of::<P::Draft>();
        let object = object_type::<F, P, P::Draft>(size, P::name, lengthy::<F, P>);
        let object = ObjectType { value: TypeId::of::<P>(), ..object };
        if types.object(object) {
            P::Draft::__reach(types);
        }
    }

    /// Returns the address of the target, or an odd number for an empty one. Empty values of several types may share an
    /// allocation of the standard library. An odd number for each type distinguishes them, and is the address of no
    /// object.
    fn address(target: &P) -> usize {
        let address = std::ptr::from_ref(target).cast::<()>().addr();
        if size_of_val(target) > 0 {
            return address;
        }
        let mut hasher = DefaultHasher::new();
        TypeId::of::<P>().hash(&mut hasher);
        let of_type = usize::try_from(hasher.finish() >> 33).unwrap_or_default();
        address ^ (of_type << 1 | 1)
    }

    fn pointed() -> Pointed {
        Pointed::Unsized(TypeId::of::<P>())
    }

    fn share<F: Family>(this: &F::Strong<P>) -> Shared {
        share_unsized::<F, P>(this)
    }

    fn find<F: Family>(object: &Shared, _: Option<&dyn Any>) -> Option<F::Strong<P>> {
        let object: &dyn Any = object.object();
        object.downcast_ref::<Reached<F, P>>().map(|reached| reached.0.clone())
    }

    fn dangling<F: Family>(prototypes: &Prototypes<'_>) -> Result<F::Weak<P>> {
        let empty = <Self as PointTo<P>>::empty::<F>(prototypes)?;
        Ok(F::downgrade::<P>(&empty))
    }

    fn empty<F: Family>(prototypes: &Prototypes<'_>) -> Result<F::Strong<P>> {
        P::Draft::persist_empty(prototypes).map(F::lengthy::<P>)
    }
}
