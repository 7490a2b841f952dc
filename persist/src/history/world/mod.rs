//! The part of histories that is for worlds alone: edits of worlds, and the names of their changes.
//!
//! Without the feature `world`, `no_world` takes the place of this module.

mod edits;

use super::label::Verb;
use crate::world::Activity;

pub(super) use crate::World;
pub(super) use crate::world::WorldChange;

pub(super) fn verb_of(change: &WorldChange) -> Verb {
    match change {
        WorldChange::Spawn(_) => Verb::Create,
        WorldChange::Delete(_) => Verb::Delete,
        WorldChange::Attach(_) => Verb::Attach,
        WorldChange::Detach(_) => Verb::Detach,
        WorldChange::Rename { .. } => Verb::Rename,
        WorldChange::Move { .. } => Verb::Reparent,
        WorldChange::Activity { new: Activity::Active, .. } => Verb::Resume,
        WorldChange::Activity { .. } => Verb::Pause,
    }
}
