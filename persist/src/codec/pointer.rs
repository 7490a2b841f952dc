//! What a shared pointer may lead to, and how it becomes an object and an object the pointer.
//!
//! `Rc<P>`, `Arc<P>` and the `Weak` of each have one impl each, for every [`Pointee`]; how it becomes an object is said
//! by its [`PointTo`], since impls for values, for cells and for trait objects would overlap. What differs between `Rc`
//! and `Arc` is in their [`Family`].

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
    /// Which of the two it is.
    const POINTER: Pointer;

    /// The pointer.
    type Strong<P: ?Sized + 'static>: Deref<Target = P> + Clone + 'static;

    /// Its `Weak`.
    type Weak<P: ?Sized + 'static>: 'static;

    /// A pointer to a new object.
    fn new<X: 'static>(value: X) -> Self::Strong<X>;

    /// A pointer to a new object, which moves there without a copy on the stack.
    fn from_box<X: 'static>(value: Box<X>) -> Self::Strong<X>;

    /// A value of any length behind a pointer.
    fn lengthy<P: ?Sized + Lengthy>(draft: P::Draft) -> Self::Strong<P>;

    /// The pointer without its type.
    fn share<X: AnyObject>(pointer: Self::Strong<X>) -> Shared;

    /// The pointer with its type back, if it is of this family and type.
    fn typed<X: Any>(shared: &Shared) -> Option<Self::Strong<X>>;

    /// A weak pointer to nothing.
    fn gone<X: 'static>() -> Self::Weak<X>;

    /// A weak pointer to the same object.
    fn downgrade<P: ?Sized>(pointer: &Self::Strong<P>) -> Self::Weak<P>;

    /// A strong pointer to the same object, if it is there.
    fn upgrade<P: ?Sized>(pointer: &Self::Weak<P>) -> Option<Self::Strong<P>>;

    /// How many pointers keep the object alive.
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

            fn gone<X: 'static>() -> $weak::Weak<X> {
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

    fn look(&self, _: Duration, look: &mut dyn FnMut(&dyn Any)) {
        look(self);
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).cast::<()>().addr()
    }

    fn pointee(&self, _: Duration) -> Result<TypeId> {
        Ok(TypeId::of::<T>())
    }

    fn give(self: Arc<Self>, place: &mut dyn Any) {
        if let Some(place) = place.downcast_mut() {
            *place = Some(self);
        }
    }
}

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
pub trait PointTo<P: ?Sized + 'static> {
    /// Like [`Persist::__CODE`].
    const CODE: &'static TypeCode = &TypeCode::None;

    /// What a reference to it leads to.
    fn target() -> Target;

    /// Enters the object type, and what it reaches.
    fn reach<F: Family>(types: &mut TypeSet);

    /// What is known of the target without a look at it.
    fn pointed() -> Pointed;

    /// The address of the target, which identifies it while it is held.
    fn address(target: &P) -> usize {
        std::ptr::from_ref(target).cast::<()>().addr()
    }

    /// The pointer as one whose type is known at run time only.
    fn share<F: Family>(this: &F::Strong<P>) -> Shared;

    /// A pointer with its type back.
    fn find<F: Family>(object: &Shared, caster: Option<&dyn Any>) -> Option<F::Strong<P>>;

    /// A weak pointer whose target is gone.
    fn gone<F: Family>(prototypes: &Prototypes<'_>) -> Result<F::Weak<P>>;

    /// An empty object.
    fn empty<F: Family>(prototypes: &Prototypes<'_>) -> Result<F::Strong<P>>;
}

/// The items of a [`PointTo`] whose pointees have a size.
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

        fn gone<F: Family>(_: &Prototypes<'_>) -> Result<F::Weak<$pointee>> {
            Ok(F::gone::<$pointee>())
        }
    };
}

/// The type of the objects in which a `V` lies.
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
        look: |_, _, _| {},
    }
}

/// Reads over nothing: only what lies in a cell can be read over.
fn no_fill(_: &Shared, _: &mut Decoder<'_>) -> Result<(), Fail> {
    Err(Fail::Value)
}

/// A value that is shared when it is whole: itself, or a large one in a box.
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

/// A value of a new object: itself, or a large one in a box, which is on the stack only while it moves.
pub(super) trait NewValue<T>: BorrowMut<T> + Sized + 'static {
    /// A pointer to the value.
    fn share<F: Family>(self) -> F::Strong<T>;

    /// A pointer to the value in a cell.
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

/// A value that is shared when it is whole.
fn unshared<V: Persist, H: BorrowMut<V> + 'static>(
    held: H,
    share: fn(H) -> Shared,
) -> LoadedObject {
    LoadedObject::Draft(Box::new(Unshared { held, share, value: PhantomData::<V> }))
}

/// A value that is shared when it is whole.
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

fn look_at<T: Any>(value: &dyn Any, _: Duration, look: &mut dyn FnMut(&dyn Any)) {
    if let Some(value) = value.downcast_ref::<T>() {
        look(value);
    }
}

/// Pointed at as a value that cannot change once it is shared.
impl<T: Persist + Pointee> PointTo<T> for T {
    const CODE: &'static TypeCode = T::__CODE;

    sized_items!(T);

    fn target() -> Target {
        Target::Value { kind: T::persist_kind, name: T::persist_name }
    }

    fn reach<F: Family>(types: &mut TypeSet) {
        let object = object_type::<F, T, T>(size_of::<T>(), T::persist_name, draft::<F, T>);
        let object = ObjectType { look: look_at::<T>, ..object };
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
    /// What is inside.
    type Value: Persist;

    /// A cell with this value.
    fn hold(value: Self::Value) -> Self;

    /// Reads over the value inside.
    fn fill(&self, input: &mut Decoder<'_>) -> Result<(), Fail>;

    /// Shows the value inside, unless it stays mutably borrowed or locked for so long.
    fn look(&self, wait: Duration, look: &mut dyn FnMut(&dyn Any));
}

/// Pointed at as a cell; or in a box as a value.
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

fn look_into<X: OpenCell>(object: &dyn Any, wait: Duration, look: &mut dyn FnMut(&dyn Any)) {
    if let Some(cell) = object.downcast_ref::<X>() {
        OpenCell::look(cell, wait, look);
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
        let object = ObjectType { fill: fill_cell::<X>, look: look_into::<X>, ..object };
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

/// A pointee without a size of its own, such as `str`: the pointer acts as the
/// object.
pub trait Unsized: Pointee {
    /// Writes the value.
    fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop>;

    /// Visits what can be reached through a shared pointer.
    fn visit(&self, visitor: &mut Visitor<'_>) -> Result<()>;

    /// Shows the value.
    fn look(&self, wait: Duration, look: &mut dyn FnMut(&dyn Any));

    /// The type behind the pointer.
    fn pointee(&self, wait: Duration) -> Result<TypeId>;

    /// Name of the class of a trait object.
    fn class_name(&self) -> Option<String> {
        None
    }
}

/// An object that is reached through a pointer of its own.
struct Reached<F: Family, P: ?Sized + 'static>(F::Strong<P>);

impl<F: Family, P: ?Sized + Unsized> AnyObject for Reached<F, P> {
    fn encode_object(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        Unsized::encode(&*self.0, out)
    }

    fn visit_object(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        Unsized::visit(&*self.0, visitor)
    }

    fn look(&self, wait: Duration, look: &mut dyn FnMut(&dyn Any)) {
        Unsized::look(&*self.0, wait, look);
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

    fn give(self: Arc<Self>, _: &mut dyn Any) {}

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

/// A value of any length that a pointer can hold by itself: `str`, `[T]`.
pub trait Lengthy: Unsized {
    /// What is filled before it is shared.
    type Draft: Persist + Into<Rc<Self>> + Into<Arc<Self>>;

    /// Name of the class of its records.
    #[must_use]
    fn name() -> String;
}

/// Pointed at as a value of any length that cannot change once it is shared.
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

    /// Empty ones of several types may share an allocation of the standard library:
    /// an odd number, which is the address of no object, distinguishes them.
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

    fn gone<F: Family>(prototypes: &Prototypes<'_>) -> Result<F::Weak<P>> {
        let empty = <Self as PointTo<P>>::empty::<F>(prototypes)?;
        Ok(F::downgrade::<P>(&empty))
    }

    fn empty<F: Family>(prototypes: &Prototypes<'_>) -> Result<F::Strong<P>> {
        P::Draft::persist_empty(prototypes).map(F::lengthy::<P>)
    }
}
