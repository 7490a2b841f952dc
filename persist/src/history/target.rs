//! What a target is.

use std::any::Any;

use crate::World;

/// The target, if it is a world.
pub(super) fn world<T: 'static>(target: &T) -> Option<&World> {
    let target: &dyn Any = target;
    target.downcast_ref()
}

pub(super) fn world_mut<T: 'static>(target: &mut T) -> Option<&mut World> {
    let target: &mut dyn Any = target;
    target.downcast_mut()
}
