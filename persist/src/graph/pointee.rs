use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::rc::{Rc, Weak};

use crate::codec::{
    Decoder, Encoder, Factory, Fail, Object, ObjectType, Persist, Shared, Slot, Stop, TypeSet,
    Visitor, count,
};
use crate::reflect::{Holder, Kind, Reference};
use crate::{Error, ErrorKind, Result};

/// What a shared pointer may point at: `Rc<P>` and `Weak<P>` are persistent for
/// every pointee `P`.
///
/// Implemented for `RefCell<T>` with `T: Persist`.
#[diagnostic::on_unimplemented(
    message = "a shared `{Self}` cannot be saved",
    label = "not a pointee that `persist` knows",
    note = "put the value in a cell: `Rc<RefCell<{Self}>>`"
)]
pub trait Pointee: Sized + 'static {
    /// The pointer and the cell, when it is held by `Rc`.
    const HOLDER: Holder;

    /// The value inside.
    type Value: Persist;

    /// A pointer whose type is known at run time only.
    fn share(this: &Rc<Self>) -> Shared;

    /// A cell with this value.
    fn hold(value: Self::Value) -> Rc<Self>;

    /// The object type, for the registry.
    #[must_use]
    fn object_type() -> ObjectType {
        ObjectType {
            cell: TypeId::of::<Self>(),
            value: TypeId::of::<Self::Value>(),
            size: size_of::<Self>(),
            holder: Self::HOLDER,
            kind: Self::Value::kind,
            name: Self::Value::name,
            make: make::<Self>,
        }
    }
}

fn make<P: Pointee>(factory: Option<&dyn Any>) -> Shared {
    P::share(&P::hold(empty(factory)))
}

/// An empty value, by the program's factory if it gave one.
fn empty<T: Persist>(factory: Option<&dyn Any>) -> T {
    let factory = factory.and_then(|factory| factory.downcast_ref::<Factory<T>>());
    factory.map_or_else(T::prototype, |factory| (factory.0)())
}

impl<T: Persist> Pointee for RefCell<T> {
    const HOLDER: Holder = Holder::RcRefCell;

    type Value = T;

    fn share(this: &Rc<Self>) -> Shared {
        Shared::Rc(this.clone())
    }

    fn hold(value: T) -> Rc<Self> {
        Rc::new(RefCell::new(value))
    }
}

impl<T: Persist> Object for RefCell<T> {
    fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        match self.try_borrow() {
            Ok(value) => out.value(&*value),
            Err(_) => Err(out.refuse(borrowed("mutably borrowed while it is saved"))),
        }
    }

    fn fill(&self, input: &mut Decoder<'_>) -> Result<(), Fail> {
        match self.try_borrow_mut() {
            Ok(mut value) => input.value_into(&mut *value),
            Err(_) => Err(input.refuse(borrowed("borrowed while it is loaded"))),
        }
    }

    fn visit(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        match self.try_borrow_mut() {
            Ok(mut value) => value.visit(visitor),
            Err(_) => Err(borrowed("borrowed while its hooks are to run")),
        }
    }

    fn look(&self, look: &mut dyn FnMut(&dyn Any)) {
        if let Ok(value) = self.try_borrow() {
            look(&*value);
        }
    }

    fn reset(&self, factory: Option<&dyn Any>) {
        if let Ok(mut value) = self.try_borrow_mut() {
            let old = std::mem::replace(&mut *value, empty(factory));
            // Dropped when this cell is no longer borrowed: a `Drop` of the
            // program's may look at it.
            drop(value);
            drop(old);
        }
    }
}

#[cold]
fn borrowed(how: &str) -> Error {
    Error::new(ErrorKind::Borrowed, format!("the object is {how}; end the borrow first"))
}

/// Stored as the id of its target, which has a record of its own.
impl<P: Pointee> Persist for Rc<P> {
    const MIN: usize = 1;
    const LEAF: bool = false;

    fn kind() -> Kind {
        Kind::Reference(Reference {
            holder: P::HOLDER,
            weak: false,
            target: P::Value::kind,
            name: P::Value::name,
        })
    }

    fn reach(types: &mut TypeSet) {
        if types.object(P::object_type()) {
            P::Value::reach(types);
        }
    }

    fn prototype() -> Self {
        P::hold(P::Value::prototype())
    }

    #[inline]
    fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_link(self, false, out)
    }

    #[inline]
    fn decode(_: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        match decode_link::<P>(false, input)? {
            Some(target) => Ok(target),
            None => Err(Fail::Value),
        }
    }

    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        visitor.reference(self)
    }
}

impl<P: Pointee> Slot for Rc<P> {
    fn address(&self) -> usize {
        Rc::as_ptr(self).cast::<()>().addr()
    }

    fn connect(&mut self, target: &Shared) -> bool {
        match target.downcast::<P>() {
            Some(target) => {
                *self = target;
                true
            }
            None => false,
        }
    }
}

/// Stored as the id of its target, which it does not make part of the save; 0
/// if the target is gone.
impl<P: Pointee> Persist for Weak<P> {
    const MIN: usize = 1;
    const LEAF: bool = false;

    fn kind() -> Kind {
        Kind::Reference(Reference {
            holder: P::HOLDER,
            weak: true,
            target: P::Value::kind,
            name: P::Value::name,
        })
    }

    fn reach(types: &mut TypeSet) {
        Rc::<P>::reach(types);
    }

    fn prototype() -> Self {
        Weak::new()
    }

    #[inline]
    fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        match self.upgrade() {
            Some(target) => encode_link(&target, true, out),
            None => count::encode(0, out),
        }
    }

    #[inline]
    fn decode(_: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode_link::<P>(true, input)?;
        Ok(Weak::new())
    }

    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        visitor.reference(self)
    }
}

impl<P: Pointee> Slot for Weak<P> {
    fn address(&self) -> usize {
        self.as_ptr().cast::<()>().addr()
    }

    fn connect(&mut self, target: &Shared) -> bool {
        match target.downcast::<P>() {
            Some(target) => {
                *self = Rc::downgrade(&target);
                true
            }
            None => false,
        }
    }
}

#[inline]
fn encode_link<P: Pointee>(target: &Rc<P>, weak: bool, out: &mut Encoder<'_>) -> Result<(), Stop> {
    let address = Rc::as_ptr(target).cast::<()>().addr();
    match out.links().link(address, weak, &|| P::share(target)) {
        Ok(id) => count::encode(id, out),
        Err(error) => Err(out.refuse(error)),
    }
}

/// A stand-in for the target, of its type; the reference itself is set aside.
#[inline]
fn decode_link<P: Pointee>(weak: bool, input: &mut Decoder<'_>) -> Result<Option<Rc<P>>, Fail> {
    let id = count::decode(input)?;
    let found = match input.links().link(id, weak) {
        Ok(None) => return Ok(None),
        Ok(Some(stand_in)) => stand_in.downcast::<P>(),
        Err(error) => return Err(input.refuse(error)),
    };
    if found.is_none() {
        let found = input.links().describe(id);
        let wanted = P::HOLDER.around(false, &P::Value::name());
        return Err(input.refuse(Error::new(
            ErrorKind::WrongClass,
            format!("the reference is to object #{id}, {found}, where {wanted} is expected"),
        )));
    }
    Ok(found)
}
