//! The reports of what a call changed, for the listeners of [`History::subscribe_changes`](super::History::subscribe_changes).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hashbrown::{HashMap, HashSet};

use super::change::step::{Perform, StepOf};
use super::change::{Change, ChangeKind};
use super::{Panic, Subscription, Support, world, world_mut};
use crate::ObjectId;
use crate::fields::{Changed, ChangedField, Direction, EditedWorld as _, ObjectChange as _, Owner};

type ChangeListener<T> = Box<dyn FnMut(&mut T, &[Changed<'_>]) + Send>;

/// The listeners of changes, each with whether it has been unsubscribed.
pub(super) struct ChangeListeners<T> {
    all: Vec<(ChangeListener<T>, Arc<AtomicBool>)>,
}

impl<T> Default for ChangeListeners<T> {
    fn default() -> Self {
        Self { all: Vec::new() }
    }
}

impl<T: 'static> ChangeListeners<T> {
    #[inline]
    pub(super) fn are_present(&self) -> bool {
        !self.all.is_empty()
    }

    pub(super) fn push(
        &mut self,
        listener: impl FnMut(&mut T, &[Changed<'_>]) + Send + 'static,
    ) -> Subscription {
        let (has_ended, subscription) = Subscription::begin();
        self.all.push((Box::new(listener), has_ended));
        subscription
    }

    /// Reports to all listeners what these steps changed, which were just run in a direction. Returns the first panic.
    #[cold]
    pub(super) fn report<C: Perform<Target = T> + ?Sized>(
        &mut self,
        (target, support): (&mut T, &Support<T>),
        steps: &[StepOf<C>],
        direction: Direction,
    ) -> Option<Panic> {
        let changed = changed((target, support), steps, direction);
        self.notify(target, &changed)
    }

    /// Reports to all listeners that anything may have changed, and notes the objects that change from now on.
    pub(super) fn report_all(&mut self, target: &mut T) -> Option<Panic> {
        if let Some(world) = world_mut(target) {
            world.watch();
            world.take_touched();
        }
        self.notify(target, &[Changed::All])
    }

    /// Calls each listener, even if another one panics. Returns the first panic.
    fn notify(&mut self, target: &mut T, changed: &[Changed<'_>]) -> Option<Panic> {
        self.all.retain(|(_, has_ended)| !has_ended.load(Ordering::Relaxed));
        let mut panic = None;
        for (listener, _) in &mut self.all {
            let heard = catch_unwind(AssertUnwindSafe(|| listener(target, changed)));
            panic = panic.or(heard.err());
        }
        panic
    }
}

/// Returns what steps changed that were just run in a direction.
fn changed<'s, T: 'static, C: Perform<Target = T> + ?Sized>(
    (target, support): (&mut T, &Support<T>),
    steps: &'s [StepOf<C>],
    direction: Direction,
) -> Vec<Changed<'s>> {
    let mut found: Vec<Changed<'s>> =
        world_mut(target).map_or_else(Vec::new, |world| world.take_touched());
    let mut run = RunSteps { changes: Vec::new(), named: Vec::new(), is_known: true };
    run.visit(steps, direction, world(target).is_some());
    if !run.is_known || matches!(found[..], [Changed::All]) {
        return vec![Changed::All];
    }
    // The objects that are reported as a whole.
    let mut whole: HashSet<_> = found.iter().filter_map(whole_object).collect();
    for object in run.named {
        if whole.insert(object) {
            found.push(Changed::Object(object));
        }
    }
    run.changes
        .retain(|change| change.owner.object().is_none_or(|object| !whole.contains(&object)));
    // The components and resources that were attached or detached, each with where it is reported.
    let mut replaced: HashMap<(Owner, &str), usize> = HashMap::new();
    for change in &run.changes {
        let ChangeKind::World(what) = &change.what else { continue };
        let (Some(class), object) = (what.class(), change.owner.object()) else { continue };
        let at = *replaced.entry((change.owner, class)).or_insert(found.len());
        let report = match what.puts(direction) {
            true => Changed::Attached { object, class },
            false => Changed::Detached { object, class },
        };
        if at == found.len() {
            found.push(report);
        } else {
            found[at] = report;
        }
    }
    let registry = world(target).map_or(&support.registry, |world| world.class_registry());
    let layout = registry.program().layout();
    for change in run.changes {
        let owner = change.owner;
        let fields = change.ordered_fields(direction);
        let fields = fields.filter(|field| !replaced.contains_key(&(owner, field.path.class())));
        found.extend(fields.map(|field| {
            Changed::Field(ChangedField::new(owner.object(), (field, direction), layout))
        }));
    }
    found
}

fn whole_object(changed: &Changed<'_>) -> Option<ObjectId> {
    match changed {
        Changed::Spawned(object) | Changed::Removed(object) | Changed::Object(object) => {
            Some(*object)
        }
        _ => None,
    }
}

/// The parts of steps, in the order in which they were run.
struct RunSteps<'s> {
    changes: Vec<&'s Change>,
    /// The objects that direct commands name.
    named: Vec<ObjectId>,
    /// False if a direct command names nothing.
    is_known: bool,
}

impl<'s> RunSteps<'s> {
    fn visit<C: Perform + ?Sized>(
        &mut self,
        steps: &'s [StepOf<C>],
        direction: Direction,
        has_objects: bool,
    ) {
        let mut visit = |step: &'s StepOf<C>| match step {
            StepOf::Change(change) => self.changes.push(change),
            StepOf::Command(command) => {
                if let Some(named) = command.direct_objects() {
                    self.is_known &= has_objects && !named.is_empty();
                    self.named.extend(named);
                }
                self.visit(command.further(), direction, has_objects);
            }
        };
        match direction {
            Direction::Redo => steps.iter().for_each(&mut visit),
            Direction::Undo => steps.iter().rev().for_each(&mut visit),
        }
    }
}
