use std::any::{Any, TypeId};
use std::rc::{self, Rc};
use std::sync::{self, Arc};
use std::time::Duration;

use super::{PointTo, Pointee, no_fill};
use crate::Result;
use crate::codec::{
    Decoder, Draft, Fail, Made, Object, ObjectType, Persist, Pointed, Prototypes, Shared, TypeSet,
    Visitor,
};
use crate::reflect::{Holder, Pointer, Target};

struct ValueDraft<T> {
    value: T,
    pointer: Pointer,
}

impl<T: Persist> Draft for ValueDraft<T> {
    fn fill(&mut self, input: &mut Decoder<'_>) -> Result<(), Fail> {
        input.value_into(&mut self.value)
    }

    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        self.value.__visit(visitor)
    }

    fn build(self: Box<Self>) -> Shared {
        share_value(self.value, self.pointer)
    }
}

/// A value that is shared when it is whole.
pub(in crate::codec) fn value_draft<T: Persist>(value: T, pointer: Pointer) -> Box<dyn Draft> {
    Box::new(ValueDraft { value, pointer })
}

fn share_value<T: Persist>(value: T, pointer: Pointer) -> Shared {
    match pointer {
        Pointer::Rc => Shared::from(Rc::new(value) as Rc<dyn Object>),
        Pointer::Arc => Shared::from(Arc::new(value) as Arc<dyn Object>),
    }
}

fn draft_rc<T: Persist>(prototypes: &Prototypes<'_>, objects: &mut Vec<Made>) -> Result<()> {
    let value: T = prototypes.object()?;
    objects.push(Made::Draft(Box::new(ValueDraft { value, pointer: Pointer::Rc })));
    Ok(())
}

fn draft_arc<T: Persist>(prototypes: &Prototypes<'_>, objects: &mut Vec<Made>) -> Result<()> {
    let value: T = prototypes.object()?;
    objects.push(Made::Draft(Box::new(ValueDraft { value, pointer: Pointer::Arc })));
    Ok(())
}

fn look_at<T: Any>(value: &dyn Any, _: Duration, look: &mut dyn FnMut(&dyn Any)) {
    if let Some(value) = value.downcast_ref::<T>() {
        look(value);
    }
}

/// Pointed at as a value that cannot change once it is shared.
impl<T: Persist + Pointee> PointTo<T> for T {
    fn target() -> Target {
        Target::Value { kind: T::persist_kind, name: T::persist_name }
    }

    fn reach(pointer: Pointer, types: &mut TypeSet) {
        let object = ObjectType {
            pointee: TypeId::of::<T>(),
            value: TypeId::of::<T>(),
            size: size_of::<T>(),
            holder: Holder::new(pointer, T::CELL),
            kind: T::persist_kind,
            name: T::persist_name,
            make: if pointer == Pointer::Rc { draft_rc::<T> } else { draft_arc::<T> },
            fill: no_fill,
            look: look_at::<T>,
        };
        if types.object(object) {
            T::__reach(types);
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
