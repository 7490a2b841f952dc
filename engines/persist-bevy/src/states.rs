//! Saves states as resources, and restores them by a transition.

use std::any::{TypeId, type_name};
use std::marker::PhantomData;

use bevy_ecs::change_detection::{DetectChanges, Tick};
use bevy_ecs::resource::Resource;
use bevy_ecs::world::World;
use bevy_state::state::{FreelyMutableState, NextState, State};
use persist::codec::Pointee;
use persist::{Persist, Result, Saves};
use persist_mirror::{Mirror, Target};

use crate::types::{Since, Type};

/// Describes how a state is saved and restored.
pub(crate) fn state<S: FreelyMutableState + Persist + Pointee>() -> Type {
    Type {
        id: TypeId::of::<State<S>>(),
        name: type_name::<State<S>>(),
        class: S::persist_name,
        register: Saves::register_resource::<S>,
        know: |world| world.registry_mut().register_resource::<S>(),
        copy: copy::<S>,
        record: |_, _, _| Ok(()),
        restore: |copies, _, _| {
            let state = copies.resource::<S>()?;
            Ok(Box::new(|world: &mut World| {
                if let Some(state) = state {
                    enter(world, state);
                }
            }))
        },
        touched: |_, _| (0, Some(Vec::new())),
        lost: |world, lost| lost.add_resource::<S>(world),
        enter: |_, _| Ok(()),
        lacks: |_, _| false,
        initial: |_| None,
        is_resource: true,
        is_edited: false,
    }
}

/// A transition that a load has requested. It is still pending while `NextState` has the change tick `set_at`.
#[derive(Resource)]
struct Entering<S: 'static> {
    set_at: Tick,
    state: PhantomData<fn() -> S>,
}

/// Requests the transition to a loaded state, which replaces a pending one.
fn enter<S: FreelyMutableState>(world: &mut World, state: S) {
    let is_current = world.get_resource::<State<S>>().is_some_and(|current| *current == state);
    let next = if is_current { NextState::Unchanged } else { NextState::PendingIfDifferent(state) };
    world.insert_resource(next);
    if let Some(next) = world.get_resource_ref::<NextState<S>>() {
        let set_at = next.last_changed();
        world.insert_resource(Entering::<S> { set_at, state: PhantomData });
    }
}

/// Returns the state to save: the current one, or the target of a pending transition that a load has requested.
///
/// Other pending transitions do not count: a game that saves while it leaves to the menu is saved as it was played.
fn saved_state<S: FreelyMutableState>(world: &World) -> Option<&S> {
    if let Some(entering) = world.get_resource::<Entering<S>>()
        && let Some(next) = world.get_resource_ref::<NextState<S>>()
        && next.last_changed() == entering.set_at
        && let NextState::Pending(state) | NextState::PendingIfDifferent(state) = next.into_inner()
    {
        return Some(state);
    }
    world.get_resource::<State<S>>().map(State::get)
}

fn copy<S: FreelyMutableState + Persist + Pointee>(
    world: &mut World,
    mirror: &mut Mirror,
    since: &Since,
) -> Result<()> {
    let exists = mirror.world().resource::<S>().is_some();
    let Some(state) = saved_state::<S>(world) else {
        return if exists { mirror.target().remove_resource::<S>() } else { Ok(()) };
    };
    let takes_all = since.renews_references && S::persist_kind().may_hold_ids();
    let current = world.get_resource_ref::<State<S>>().map(|state| state.last_changed());
    let next = world.get_resource_ref::<NextState<S>>().map(|next| next.last_changed());
    let is_changed = current.into_iter().chain(next).any(|tick| since.is_changed(tick));
    if !exists || takes_all || is_changed {
        mirror.copy_resource::<S>(state)?;
    }
    Ok(())
}
