//! What a shared pointer may point at.
//!
//! `Rc<P>`, `Arc<P>` and the `Weak` of each have one impl each, for every
//! [`Pointee`]; how it becomes an object is said by its [`PointTo`], since
//! impls for values, for cells and for trait objects would overlap.

use std::any::{Any, TypeId};
use std::rc::{self, Rc};
use std::sync::{self, Arc};

use super::{
    Decoder, Draft, Encoder, Fail, Made, Object, ObjectType, Persist, Pointed, Prototypes, Shared,
    Stop, TypeSet, Visitor,
};
use crate::Result;
use crate::reflect::{Cell, Holder, Pointer, Target};

/// What a shared pointer may point at: `Rc<P>`, `Arc<P>` and the `Weak` of each
/// are persistent for every pointee `P`.
///
/// `#[derive(Persist)]` implements it, and the library does for the standard
/// types and cells. A type that implements [`Persist`] by hand says in one line that it
/// can be pointed at:
///
/// ```
/// # use persist::codec::{Decoder, Encoder, Fail, Prototypes, Stop};
/// # use persist::reflect::Kind;
/// # use persist::Persist;
/// # struct Colour(u32);
/// # impl Persist for Colour {
/// #     fn kind() -> Kind { Kind::U32 }
/// #     fn prototype(_: &Prototypes<'_>) -> persist::Result<Self> { Ok(Colour(0)) }
/// #     fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> { out.value(&self.0) }
/// #     fn decode(_: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> { input.value().map(Colour) }
/// # }
/// impl persist::Pointee for Colour {
///     type As = persist::codec::AsValue;
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
    const CELL: Cell = Cell::None;

    /// How it is pointed at.
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

    /// The pointer as one whose type is known at run time only.
    fn share_rc(this: &Rc<P>) -> Shared;

    /// The same of an `Arc`.
    fn share_arc(this: &Arc<P>) -> Shared;

    /// A pointer with its type back.
    fn rc(object: &Shared, caster: Option<&dyn Any>) -> Option<Rc<P>>;

    /// The same of an `Arc`.
    fn arc(object: &Shared, caster: Option<&dyn Any>) -> Option<Arc<P>>;

    /// A weak pointer whose target is gone.
    ///
    /// # Errors
    ///
    /// If no class is registered for the trait.
    fn gone_rc(prototypes: &Prototypes<'_>) -> Result<rc::Weak<P>>;

    /// The same of an `Arc`.
    ///
    /// # Errors
    ///
    /// As [`gone_rc`](Self::gone_rc).
    fn gone_arc(prototypes: &Prototypes<'_>) -> Result<sync::Weak<P>>;

    /// An empty object.
    ///
    /// # Errors
    ///
    /// As [`Persist::prototype`].
    fn empty_rc(prototypes: &Prototypes<'_>) -> Result<Rc<P>>;

    /// The same of an `Arc`.
    ///
    /// # Errors
    ///
    /// As [`Persist::prototype`].
    fn empty_arc(prototypes: &Prototypes<'_>) -> Result<Arc<P>>;
}

impl Made {
    /// The object, as it is.
    pub(crate) fn shared(self) -> Shared {
        match self {
            Self::Open(shared) => shared,
            Self::Draft(draft) => draft.build(),
        }
    }
}

/// Pointed at as a value that cannot change once it is shared.
pub struct AsValue;

struct ValueDraft<T> {
    value: T,
    pointer: Pointer,
}

impl<T: Persist> Draft for ValueDraft<T> {
    fn fill(&mut self, input: &mut Decoder<'_>) -> Result<(), Fail> {
        input.value_into(&mut self.value)
    }

    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        self.value.visit(visitor)
    }

    fn build(self: Box<Self>) -> Shared {
        share_value(self.value, self.pointer)
    }
}

/// A value that is shared when it is whole.
pub(super) fn value_draft<T: Persist>(value: T, pointer: Pointer) -> Box<dyn Draft> {
    Box::new(ValueDraft { value, pointer })
}

fn share_value<T: Persist>(value: T, pointer: Pointer) -> Shared {
    match pointer {
        Pointer::Rc => Shared::from(Rc::new(value) as Rc<dyn Object>),
        Pointer::Arc => Shared::from(Arc::new(value) as Arc<dyn Object>),
    }
}

fn draft_rc<T: Persist>(prototypes: &Prototypes<'_>) -> Result<Made> {
    let value: T = prototypes.object()?;
    Ok(Made::Draft(Box::new(ValueDraft { value, pointer: Pointer::Rc })))
}

fn draft_arc<T: Persist>(prototypes: &Prototypes<'_>) -> Result<Made> {
    let value: T = prototypes.object()?;
    Ok(Made::Draft(Box::new(ValueDraft { value, pointer: Pointer::Arc })))
}

/// Reads over nothing: only what lies in a cell can be read over.
fn no_fill(_: &Shared, _: &mut Decoder<'_>) -> Result<(), Fail> {
    Err(Fail::Value)
}

fn look_at<T: Any>(value: &dyn Any, look: &mut dyn FnMut(&dyn Any)) {
    if let Some(value) = value.downcast_ref::<T>() {
        look(value);
    }
}

impl<T: Persist + Pointee> PointTo<T> for AsValue {
    fn target() -> Target {
        Target::Value { kind: T::kind, name: T::name }
    }

    fn reach(pointer: Pointer, types: &mut TypeSet) {
        let object = ObjectType {
            pointee: TypeId::of::<T>(),
            value: TypeId::of::<T>(),
            size: size_of::<T>(),
            holder: Holder::new(pointer, T::CELL),
            kind: T::kind,
            name: T::name,
            make: if pointer == Pointer::Rc { draft_rc::<T> } else { draft_arc::<T> },
            fill: no_fill,
            look: look_at::<T>,
        };
        if types.object(object) {
            T::reach(types);
        }
    }

    fn pointed() -> Pointed {
        Pointed::At(TypeId::of::<T>())
    }

    fn share_rc(this: &Rc<T>) -> Shared {
        Shared::from(this.clone() as Rc<dyn Object>)
    }

    fn share_arc(this: &Arc<T>) -> Shared {
        Shared::from(this.clone() as Arc<dyn Object>)
    }

    #[inline]
    fn rc(object: &Shared, _: Option<&dyn Any>) -> Option<Rc<T>> {
        object.rc()
    }

    fn arc(object: &Shared, _: Option<&dyn Any>) -> Option<Arc<T>> {
        object.arc()
    }

    fn gone_rc(_: &Prototypes<'_>) -> Result<rc::Weak<T>> {
        Ok(rc::Weak::new())
    }

    fn gone_arc(_: &Prototypes<'_>) -> Result<sync::Weak<T>> {
        Ok(sync::Weak::new())
    }

    fn empty_rc(prototypes: &Prototypes<'_>) -> Result<Rc<T>> {
        prototypes.object().map(Rc::new)
    }

    fn empty_arc(prototypes: &Prototypes<'_>) -> Result<Arc<T>> {
        prototypes.object().map(Arc::new)
    }
}

/// A cell whose value can be replaced while it is shared.
pub trait OpenCell: Persist + Pointee {
    /// What is inside.
    type Value: Persist;

    /// A cell with this value.
    fn hold(value: Self::Value) -> Self;

    /// Reads over the value inside.
    ///
    /// # Errors
    ///
    /// A [`Fail`] if the bytes are not such a value, or if it is borrowed.
    fn fill(&self, input: &mut Decoder<'_>) -> Result<(), Fail>;

    /// Shows the value inside, unless it is mutably borrowed or locked.
    fn look(&self, look: &mut dyn FnMut(&dyn Any));
}

/// Pointed at as a cell; or in a box as a value.
pub struct AsCell;

fn open_rc<X: OpenCell>(prototypes: &Prototypes<'_>) -> Result<Made> {
    Ok(Made::Open(Shared::from(Rc::new(X::hold(prototypes.object()?)) as Rc<dyn Object>)))
}

fn open_arc<X: OpenCell>(prototypes: &Prototypes<'_>) -> Result<Made> {
    Ok(Made::Open(Shared::from(Arc::new(X::hold(prototypes.object()?)) as Arc<dyn Object>)))
}

fn fill_cell<X: OpenCell>(object: &Shared, input: &mut Decoder<'_>) -> Result<(), Fail> {
    let object: &dyn Any = object.object();
    object.downcast_ref::<X>().ok_or(Fail::Value)?.fill(input)
}

fn look_into<X: OpenCell>(object: &dyn Any, look: &mut dyn FnMut(&dyn Any)) {
    if let Some(cell) = object.downcast_ref::<X>() {
        OpenCell::look(cell, look);
    }
}

impl<X: OpenCell> PointTo<X> for AsCell {
    fn target() -> Target {
        Target::Value { kind: X::Value::kind, name: X::Value::name }
    }

    fn reach(pointer: Pointer, types: &mut TypeSet) {
        let object = ObjectType {
            pointee: TypeId::of::<X>(),
            value: TypeId::of::<X::Value>(),
            size: size_of::<X>(),
            holder: Holder::new(pointer, X::CELL),
            kind: X::Value::kind,
            name: X::Value::name,
            make: if pointer == Pointer::Rc { open_rc::<X> } else { open_arc::<X> },
            fill: fill_cell::<X>,
            look: look_into::<X>,
        };
        if types.object(object) {
            X::Value::reach(types);
        }
    }

    fn pointed() -> Pointed {
        Pointed::At(TypeId::of::<X>())
    }

    fn share_rc(this: &Rc<X>) -> Shared {
        Shared::from(this.clone() as Rc<dyn Object>)
    }

    fn share_arc(this: &Arc<X>) -> Shared {
        Shared::from(this.clone() as Arc<dyn Object>)
    }

    #[inline]
    fn rc(object: &Shared, _: Option<&dyn Any>) -> Option<Rc<X>> {
        object.rc()
    }

    fn arc(object: &Shared, _: Option<&dyn Any>) -> Option<Arc<X>> {
        object.arc()
    }

    fn gone_rc(_: &Prototypes<'_>) -> Result<rc::Weak<X>> {
        Ok(rc::Weak::new())
    }

    fn gone_arc(_: &Prototypes<'_>) -> Result<sync::Weak<X>> {
        Ok(sync::Weak::new())
    }

    fn empty_rc(prototypes: &Prototypes<'_>) -> Result<Rc<X>> {
        Ok(Rc::new(X::hold(prototypes.object()?)))
    }

    fn empty_arc(prototypes: &Prototypes<'_>) -> Result<Arc<X>> {
        Ok(Arc::new(X::hold(prototypes.object()?)))
    }
}

/// A pointee without a size of its own, such as `str`: the pointer acts as the
/// object.
pub trait Unsized: Pointee {
    /// Writes the value.
    ///
    /// # Errors
    ///
    /// As [`Object::encode_object`].
    fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop>;

    /// Visits what can be reached through a shared pointer.
    ///
    /// # Errors
    ///
    /// As [`Object::visit_object`].
    fn visit(&self, visitor: &mut Visitor<'_>) -> Result<()>;

    /// Shows the value.
    fn look(&self, look: &mut dyn FnMut(&dyn Any));

    /// The type behind the pointer.
    fn pointee(&self) -> Option<TypeId>;

    /// Name of the class of a trait object.
    fn class_name(&self) -> Option<String> {
        None
    }
}

/// An object that is reached through a pointer of its own.
struct Reached<Q>(Q);

macro_rules! reached {
    ($($counted:ident)*) => {$(
        impl<P: ?Sized + Unsized> Object for Reached<$counted<P>> {
            fn encode_object(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                Unsized::encode(&*self.0, out)
            }

            fn visit_object(&self, visitor: &mut Visitor<'_>) -> Result<()> {
                Unsized::visit(&*self.0, visitor)
            }

            fn look(&self, look: &mut dyn FnMut(&dyn Any)) {
                Unsized::look(&*self.0, look);
            }

            fn address(&self) -> usize {
                $counted::as_ptr(&self.0).cast::<()>().addr()
            }

            fn pointee(&self) -> Option<TypeId> {
                Unsized::pointee(&*self.0)
            }

            fn class_name(&self) -> Option<String> {
                Unsized::class_name(&*self.0)
            }

            fn seen_pointee(&self) -> Option<TypeId> {
                if P::CELL == Cell::None { Object::pointee(self) } else { None }
            }

            fn give(self: Arc<Self>, _: &mut dyn Any) {}

            fn strong_count(&self) -> usize {
                $counted::strong_count(&self.0)
            }

            fn downgrade(&self) -> Option<Rc<dyn Fn() -> Option<Shared>>> {
                let weak = $counted::downgrade(&self.0);
                Some(Rc::new(move || {
                    weak.upgrade().map(|target| Shared::boxed(Pointer::$counted, Reached(target)))
                }))
            }
        }
    )*};
}

reached! { Rc Arc }

pub(super) fn share_unsized_rc<P: ?Sized + Unsized>(this: &Rc<P>) -> Shared {
    Shared::boxed(Pointer::Rc, Reached(this.clone()))
}

pub(super) fn share_unsized_arc<P: ?Sized + Unsized>(this: &Arc<P>) -> Shared {
    Shared::boxed(Pointer::Arc, Reached(this.clone()))
}

fn reached<Q: Clone + 'static>(shared: &Shared) -> Option<Q> {
    let object: &dyn Any = shared.object();
    object.downcast_ref::<Reached<Q>>().map(|reached| reached.0.clone())
}

/// A value of any length that a pointer can hold by itself: `str`, `[T]`.
pub trait Lengthy: Unsized {
    /// What is filled before it is shared.
    type Draft: Persist;

    /// Name of the class of its records.
    #[must_use]
    fn name() -> String;

    /// Shares it.
    fn rc(draft: Self::Draft) -> Rc<Self>;

    /// Shares it.
    fn arc(draft: Self::Draft) -> Arc<Self>;
}

/// Pointed at as a value of any length that cannot change once it is shared.
pub struct AsLengthy;

struct LengthyDraft<P: ?Sized + Lengthy> {
    value: P::Draft,
    pointer: Pointer,
}

impl<P: ?Sized + Lengthy> Draft for LengthyDraft<P> {
    fn fill(&mut self, input: &mut Decoder<'_>) -> Result<(), Fail> {
        input.value_into(&mut self.value)
    }

    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        self.value.visit(visitor)
    }

    fn build(self: Box<Self>) -> Shared {
        match self.pointer {
            Pointer::Rc => share_unsized_rc(&P::rc(self.value)),
            Pointer::Arc => share_unsized_arc(&P::arc(self.value)),
        }
    }
}

fn lengthy<P: ?Sized + Lengthy>(pointer: Pointer, prototypes: &Prototypes<'_>) -> Result<Made> {
    let value = P::Draft::prototype(prototypes)?;
    Ok(Made::Draft(Box::new(LengthyDraft::<P> { value, pointer })))
}

impl<P: ?Sized + Lengthy> PointTo<P> for AsLengthy {
    fn target() -> Target {
        Target::Value { kind: P::Draft::kind, name: P::name }
    }

    fn reach(pointer: Pointer, types: &mut TypeSet) {
        let object = ObjectType {
            pointee: TypeId::of::<P>(),
            value: TypeId::of::<P>(),
            size: size_of::<P::Draft>(),
            holder: Holder::new(pointer, Cell::None),
            kind: P::Draft::kind,
            name: P::name,
            make: match pointer {
                Pointer::Rc => |prototypes| lengthy::<P>(Pointer::Rc, prototypes),
                Pointer::Arc => |prototypes| lengthy::<P>(Pointer::Arc, prototypes),
            },
            fill: no_fill,
            look: |_, _| {},
        };
        if types.object(object) {
            P::Draft::reach(types);
        }
    }

    fn pointed() -> Pointed {
        Pointed::Unsized(TypeId::of::<P>())
    }

    fn share_rc(this: &Rc<P>) -> Shared {
        share_unsized_rc(this)
    }

    fn share_arc(this: &Arc<P>) -> Shared {
        share_unsized_arc(this)
    }

    fn rc(object: &Shared, _: Option<&dyn Any>) -> Option<Rc<P>> {
        reached(object)
    }

    fn arc(object: &Shared, _: Option<&dyn Any>) -> Option<Arc<P>> {
        reached(object)
    }

    fn gone_rc(prototypes: &Prototypes<'_>) -> Result<rc::Weak<P>> {
        Ok(Rc::downgrade(&P::rc(P::Draft::prototype(prototypes)?)))
    }

    fn gone_arc(prototypes: &Prototypes<'_>) -> Result<sync::Weak<P>> {
        Ok(Arc::downgrade(&P::arc(P::Draft::prototype(prototypes)?)))
    }

    fn empty_rc(prototypes: &Prototypes<'_>) -> Result<Rc<P>> {
        P::Draft::prototype(prototypes).map(P::rc)
    }

    fn empty_arc(prototypes: &Prototypes<'_>) -> Result<Arc<P>> {
        P::Draft::prototype(prototypes).map(P::arc)
    }
}
