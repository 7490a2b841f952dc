use std::any::{Any, TypeId};
use std::rc::{self, Rc};
use std::sync::{self, Arc};
use std::time::Duration;

use super::{PointTo, Pointee};
use crate::Result;
use crate::codec::{
    Decoder, Fail, Made, Object, ObjectType, Persist, Pointed, Prototypes, Shared, TypeSet,
};
use crate::reflect::{Holder, Pointer, Target};

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

    /// Shows the value inside, unless it stays mutably borrowed or locked for so long.
    fn look(&self, wait: Duration, look: &mut dyn FnMut(&dyn Any));
}

/// Pointed at as a cell; or in a box as a value.
pub struct AsCell;

fn open_rc<X: OpenCell>(prototypes: &Prototypes<'_>, objects: &mut Vec<Made>) -> Result<()> {
    let object: Rc<dyn Object> = Rc::new(X::hold(prototypes.object()?));
    objects.push(Made::Shared(Shared::from(object)));
    Ok(())
}

fn open_arc<X: OpenCell>(prototypes: &Prototypes<'_>, objects: &mut Vec<Made>) -> Result<()> {
    let object: Arc<dyn Object> = Arc::new(X::hold(prototypes.object()?));
    objects.push(Made::Shared(Shared::from(object)));
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
    fn target() -> Target {
        Target::Value { kind: X::Value::persist_kind, name: X::Value::persist_name }
    }

    fn reach(pointer: Pointer, types: &mut TypeSet) {
        let object = ObjectType {
            pointee: TypeId::of::<X>(),
            value: TypeId::of::<X::Value>(),
            size: size_of::<X>(),
            holder: Holder::new(pointer, X::CELL),
            kind: X::Value::persist_kind,
            name: X::Value::persist_name,
            make: if pointer == Pointer::Rc { open_rc::<X> } else { open_arc::<X> },
            fill: fill_cell::<X>,
            look: look_into::<X>,
        };
        if types.object(object) {
            X::Value::__reach(types);
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
