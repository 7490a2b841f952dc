//! The one question that code for any target asks: whether it is a world.
//!
//! A target may be of any type, also one without field records that only [commands](super::Command) change, so there is
//! no trait to ask. Once the compiler knows the type, it knows the answer.

use std::any::Any;

use super::world::World;

pub(super) fn world<T: 'static>(target: &T) -> Option<&World> {
    let target: &dyn Any = target;
    target.downcast_ref()
}

pub(super) fn world_mut<T: 'static>(target: &mut T) -> Option<&mut World> {
    let target: &mut dyn Any = target;
    target.downcast_mut()
}
