use std::any::{Any, TypeId};
use std::rc::{self, Rc};
use std::sync::{self, Arc};

use super::{Caster, Portable, TraitCell, TraitObject, trait_name};
use crate::codec::pointee::{share_unsized_arc, share_unsized_rc};
use crate::codec::{
    BoxOf, Decoder, Encoder, Fail, Implementor, PointTo, Pointed, Prototypes, Shared, Stop,
    TypeSet, Visitor, count,
};
use crate::reflect::{Holder, Kind, Pointer, Target};
use crate::{Error, ErrorKind, Result};

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
        let number = count::decode(input)?;
        let decode = match input.links().class(number, trait_name::<D>()) {
            Ok(Implementor::Known(caster)) => {
                caster.downcast_ref::<Caster<D>>().ok_or(Fail::Value)?.decode
            }
            Ok(Implementor::Unknown(class)) => return keep::<D>(number, &class, input),
            Err(error) => return Err(input.refuse(error)),
        };
        decode(input).map_err(|fail| match fail {
            // What is not registered is inside: this value has not been passed over.
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

/// Writes the class of a value, which is to follow; false if a stand-in has written what it stands for.
///
/// Not inlined: its frame is no part of those of values that nest.
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

/// Takes a value of a class that is not registered for the trait.
#[cold]
fn keep<D: ?Sized + TraitObject>(
    number: u64,
    class: &str,
    input: &mut Decoder<'_>,
) -> Result<Box<D>, Fail> {
    let Some(stand_in) = D::stand_in() else { return Err(skip::<D>(number, class, input)) };
    let rest = input.rest();
    match input.links().foreign(number, rest, true) {
        Ok((length, value)) => {
            input.take(length)?;
            Ok((stand_in.boxed)(value.unwrap_or_default()))
        }
        Err(error) => Err(input.refuse(error)),
    }
}

/// Passes over a value of a class that is not registered for the trait.
fn skip<D: ?Sized + TraitObject>(number: u64, class: &str, input: &mut Decoder<'_>) -> Fail {
    let rest = input.rest();
    match input.links().foreign(number, rest, false) {
        Ok((length, _)) => match input.take(length) {
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
            "class {class} is not registered for trait {of}; call `register_as::<{class}, dyn {of}>()` on the `SaveManager`, name a stand-in by `#[persist::dynamic(unknown = Type)]`, or make it an `Option`"
        ),
    )
}

/// Like [`not_registered`], for a value that is being saved.
#[cold]
pub(crate) fn not_registered_yet(class: &str, of: &str) -> Error {
    Error::new(
        ErrorKind::WrongClass,
        format!(
            "class {class} is not registered for trait {of}; call `register_as::<{class}, dyn {of}>()` on the `SaveManager` before the save"
        ),
    )
}

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
