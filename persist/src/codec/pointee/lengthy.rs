use std::any::{Any, TypeId};
use std::hash::{Hash, Hasher};
use std::rc::{self, Rc};
use std::sync::{self, Arc};
use std::time::Duration;

use super::{PointTo, Pointee, no_fill};
use crate::Result;
use crate::codec::{
    Decoder, Draft, Encoder, Fail, Made, Object, ObjectType, Persist, Pointed, Prototypes, Shared,
    Stop, TypeSet, Visitor,
};
use crate::reflect::{Cell, Holder, Pointer, Target};

/// A pointee without a size of its own, such as `str`: the pointer acts as the
/// object.
pub trait Unsized: Pointee {
    /// Writes the value.
    ///
    /// # Errors
    ///
    /// Those of [`Object::encode_object`].
    fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop>;

    /// Visits what can be reached through a shared pointer.
    ///
    /// # Errors
    ///
    /// Those of [`Object::visit_object`].
    fn visit(&self, visitor: &mut Visitor<'_>) -> Result<()>;

    /// Shows the value.
    fn look(&self, wait: Duration, look: &mut dyn FnMut(&dyn Any));

    /// The type behind the pointer.
    ///
    /// # Errors
    ///
    /// Those of [`Object::pointee`].
    fn pointee(&self, wait: Duration) -> Result<TypeId>;

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

            fn look(&self, wait: Duration, look: &mut dyn FnMut(&dyn Any)) {
                Unsized::look(&*self.0, wait, look);
            }

            fn address(&self) -> usize {
                <P::As as PointTo<P>>::address(&self.0)
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
                Object::pointee(self, Duration::ZERO).ok()
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

pub(in crate::codec) fn share_unsized_rc<P: ?Sized + Unsized>(this: &Rc<P>) -> Shared {
    Shared::boxed(Pointer::Rc, Reached(this.clone()))
}

pub(in crate::codec) fn share_unsized_arc<P: ?Sized + Unsized>(this: &Arc<P>) -> Shared {
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
        self.value.__visit(visitor)
    }

    fn build(self: Box<Self>) -> Shared {
        match self.pointer {
            Pointer::Rc => share_unsized_rc(&P::rc(self.value)),
            Pointer::Arc => share_unsized_arc(&P::arc(self.value)),
        }
    }
}

fn lengthy<P: ?Sized + Lengthy>(
    pointer: Pointer,
    prototypes: &Prototypes<'_>,
    objects: &mut Vec<Made>,
) -> Result<()> {
    let value = P::Draft::persist_empty(prototypes)?;
    objects.push(Made::Draft(Box::new(LengthyDraft::<P> { value, pointer })));
    Ok(())
}

impl<P: ?Sized + Lengthy> PointTo<P> for AsLengthy {
    fn target() -> Target {
        Target::Value { kind: P::Draft::persist_kind, name: P::name }
    }

    fn reach(pointer: Pointer, types: &mut TypeSet) {
        let object = ObjectType {
            pointee: TypeId::of::<P>(),
            value: TypeId::of::<P>(),
            size: size_of::<P::Draft>(),
            holder: Holder::new(pointer, Cell::None),
            kind: P::Draft::persist_kind,
            name: P::name,
            make: match pointer {
                Pointer::Rc => |prototypes, to| lengthy::<P>(Pointer::Rc, prototypes, to),
                Pointer::Arc => |prototypes, to| lengthy::<P>(Pointer::Arc, prototypes, to),
            },
            fill: no_fill,
            look: |_, _, _| {},
        };
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
        let mut hasher = std::hash::DefaultHasher::new();
        TypeId::of::<P>().hash(&mut hasher);
        let of_type = usize::try_from(hasher.finish() >> 33).unwrap_or_default();
        address ^ (of_type << 1 | 1)
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
        Ok(Rc::downgrade(&P::rc(P::Draft::persist_empty(prototypes)?)))
    }

    fn gone_arc(prototypes: &Prototypes<'_>) -> Result<sync::Weak<P>> {
        Ok(Arc::downgrade(&P::arc(P::Draft::persist_empty(prototypes)?)))
    }

    fn empty_rc(prototypes: &Prototypes<'_>) -> Result<Rc<P>> {
        P::Draft::persist_empty(prototypes).map(P::rc)
    }

    fn empty_arc(prototypes: &Prototypes<'_>) -> Result<Arc<P>> {
        P::Draft::persist_empty(prototypes).map(P::arc)
    }
}
