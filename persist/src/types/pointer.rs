//! Counted pointers: the id of the target, which has a record of its own.

use std::any::{Any, TypeId};
use std::rc::{self, Rc};
use std::sync::{self, Arc};
use std::time::Duration;

use crate::codec::{
    ArcFamily, AsLengthy, Decoder, Encoder, Fail, Family, Layout, Lengthy, Linked, Persist,
    PointTo, Pointed, Pointee, Prototypes, RcFamily, ReferenceSlot, Referent, Stop, TypeSet,
    Unsized, Visitor, count, put_shared,
};
use crate::reflect::{Holder, Kind, Pointer, Reference, TypeCode};
use crate::{ErrorKind, Result};

/// Returns the kind of a pointer to a `P`.
fn kind<P: ?Sized + Pointee>(pointer: Pointer, weak: bool) -> Kind {
    let holder = Holder::new(pointer, P::CELL);
    Kind::Reference(Reference { holder, weak, target: P::As::target() })
}

fn name<P: ?Sized + Pointee>(pointer: Pointer, weak: bool) -> String {
    kind::<P>(pointer, weak).to_string()
}

/// Writes the id of the object at `address`, the target of a pointer to a `P`.
#[inline]
fn encode_link<P: ?Sized + Pointee>(
    address: usize,
    weak: bool,
    target: &dyn Referent,
    out: &mut Encoder<'_>,
) -> Result<(), Stop> {
    let id = out.link(address, weak, P::As::pointed().is_typed(), target)?;
    count::encode(id, out)
}

/// Reads a pointer of the target's type; the reference itself is set aside.
#[inline]
fn decode_link<P: ?Sized + Pointee, F: Family>(
    weak: bool,
    input: &mut Decoder<'_>,
) -> Result<Option<F::Strong<P>>, Fail> {
    let id = count::decode(input)?;
    if let Pointed::At(pointee) = P::As::pointed()
        && let Some(object) = input.plain_link(id, pointee, weak)
    {
        match P::As::find::<F>(object, None) {
            Some(found) => return Ok(Some(found)),
            None => input.links().unlink(),
        }
    }
    decode_other::<P, F>(id, weak, input)
}

/// Resolves a reference to a trait object, a dangling one, or one to an object of another type.
#[inline(never)]
fn decode_other<P: ?Sized + Pointee, F: Family>(
    id: u64,
    weak: bool,
    input: &mut Decoder<'_>,
) -> Result<Option<F::Strong<P>>, Fail> {
    let pointed = P::As::pointed();
    let unregistered = match input.link(id, weak, pointed) {
        Ok(Linked::To { object, caster }) => match P::As::find::<F>(object, caster) {
            Some(found) => return Ok(Some(found)),
            None => return Err(wrong(id, &name::<P>(F::POINTER, false), input)),
        },
        Ok(Linked::Nobody) => None,
        Ok(Linked::Unregistered { class, error }) => Some((class, error)),
        Err(error) => return Err(input.refuse(error)),
    };
    let holder = Holder::new(F::POINTER, P::CELL);
    if input.links().is_elsewhere(id, holder, pointed.of().is_some()) {
        return Err(wrong(id, &name::<P>(F::POINTER, false), input));
    }
    match unregistered {
        Some((class, error)) => Err(input.unregistered(class, error)),
        None => Ok(None),
    }
}

/// Refuses a reference to an object to which such a pointer cannot lead.
#[cold]
fn wrong(id: u64, expected: &str, input: &mut Decoder<'_>) -> Fail {
    let found = input.links().describe(id);
    input.refuse(error!(
        ErrorKind::WrongClass,
        "the reference is to object #{id}, {found}, where {expected} is expected"
    ))
}

/// Returns the typed pointer to the target of a slot.
#[inline]
fn find<P: ?Sized + Pointee, F: Family>(
    object: &dyn Any,
    caster: Option<&dyn Any>,
) -> Option<F::Strong<P>> {
    P::As::find::<F>(object.downcast_ref()?, caster)
}

macro_rules! pointers {
    ($($strong:ident $weak:path, $family:ident;)*) => {$(
        impl<P: ?Sized + Pointee> Persist for $strong<P> {
            const __LAYOUT: Layout = Layout { cost: 8, nullable: true, ..Layout::new::<Self>() };
            const __CODE: &'static TypeCode = P::As::CODE;

            fn persist_kind() -> Kind {
                kind::<P>(Pointer::$strong, false)
            }

            fn persist_name() -> String {
                name::<P>(Pointer::$strong, false)
            }

            fn __reach(types: &mut TypeSet) {
                P::As::reach::<$family>(types);
            }

            fn persist_empty(prototypes: &Prototypes<'_>) -> Result<Self> {
                P::As::empty::<$family>(prototypes)
            }

            #[inline]
            fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                let address = P::As::address(self);
                encode_link::<P>(address, false, self, out)
            }

            #[inline]
            fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
                decode_link::<P, $family>(false, input)?.ok_or(Fail::Value)
            }

            fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
                visitor.reference(self)
            }
        }

        impl<P: ?Sized + Pointee> Referent for $strong<P> {
            fn pointed(&self) -> Pointed {
                P::As::pointed()
            }

            fn share(&self, place: &mut dyn Any) {
                put_shared(P::As::share::<$family>(self), place);
            }
        }

        impl<P: ?Sized + Pointee> ReferenceSlot for $strong<P> {
            fn of(&self) -> Option<TypeId> {
                P::As::pointed().of()
            }

            fn connect(&mut self, object: &dyn Any, caster: Option<&dyn Any>) -> bool {
                match find::<P, $family>(object, caster) {
                    Some(target) => {
                        *self = target;
                        true
                    }
                    None => false,
                }
            }
        }

        /// A weak pointer does not make its target part of the save. It is stored as 0 if its target was dropped.
        impl<P: ?Sized + Pointee> Persist for $weak {
            const __LAYOUT: Layout = Layout { cost: 8, ..Layout::new::<Self>() };
            const __CODE: &'static TypeCode = P::As::CODE;

            fn persist_kind() -> Kind {
                kind::<P>(Pointer::$strong, true)
            }

            fn persist_name() -> String {
                name::<P>(Pointer::$strong, true)
            }

            fn __reach(types: &mut TypeSet) {
                P::As::reach::<$family>(types);
            }

            fn persist_empty(prototypes: &Prototypes<'_>) -> Result<Self> {
                P::As::dangling::<$family>(prototypes)
            }

            #[inline]
            fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
                let Some(target) = self.upgrade() else { return count::encode(0, out) };
                let address = P::As::address(&target);
                encode_link::<P>(address, true, &target, out)
            }

            #[inline]
            fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
                if let Some(target) = decode_link::<P, $family>(true, input)? {
                    return Ok($strong::downgrade(&target));
                }
                match P::As::dangling::<$family>(&input.links().prototypes()) {
                    Ok(weak) => Ok(weak),
                    Err(error) => Err(input.refuse(error)),
                }
            }

            fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
                visitor.reference(self)
            }
        }

        impl<P: ?Sized + Pointee> ReferenceSlot for $weak {
            fn of(&self) -> Option<TypeId> {
                P::As::pointed().of()
            }

            fn connect(&mut self, object: &dyn Any, caster: Option<&dyn Any>) -> bool {
                match find::<P, $family>(object, caster) {
                    Some(target) => {
                        *self = $strong::downgrade(&target);
                        true
                    }
                    None => false,
                }
            }

            fn dangle(&mut self, prototypes: &Prototypes<'_>) -> Result<()> {
                *self = P::As::dangling::<$family>(prototypes)?;
                Ok(())
            }
        }

        // A pointer may point to a pointer.
        impl<P: ?Sized + Pointee> Pointee for $strong<P> {
            type As = Self;
        }

        impl<P: ?Sized + Pointee> Pointee for $weak {
            type As = Self;
        }
    )*};
}

pointers! {
    Rc rc::Weak<P>, RcFamily;
    Arc sync::Weak<P>, ArcFamily;
}

#[diagnostic::do_not_recommend]
impl Pointee for str {
    type As = AsLengthy;
}

impl Unsized for str {
    fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        super::text::encode(self, out)
    }

    fn visit(&self, _: &mut Visitor<'_>) -> Result<()> {
        Ok(())
    }

    fn inspect(&self, _: Duration, _: &mut dyn FnMut(&dyn Any)) {}

    fn pointee(&self, _: Duration) -> Result<TypeId> {
        Ok(TypeId::of::<str>())
    }
}

impl Lengthy for str {
    type Draft = String;

    fn name() -> String {
        String::from("str")
    }
}

#[diagnostic::do_not_recommend]
impl<T: Persist> Pointee for [T] {
    type As = AsLengthy;
}

impl<T: Persist> Unsized for [T] {
    fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        super::sequence::encode(self, out)
    }

    fn visit(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        super::sequence::visit_each_shared(self, visitor)
    }

    fn inspect(&self, _: Duration, _: &mut dyn FnMut(&dyn Any)) {}

    fn pointee(&self, _: Duration) -> Result<TypeId> {
        Ok(TypeId::of::<[T]>())
    }
}

impl<T: Persist> Lengthy for [T] {
    type Draft = Vec<T>;

    fn name() -> String {
        format!("[{}]", T::persist_name())
    }
}
