//! What an entry is made of.

use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Label;
use super::failure::{Failure, Panic, guarded};
use super::journal::StoredStep;
use super::support::Support;
use super::support::{world, world_mut};
use crate::fields::{Direction, Merge};
use crate::world::{Change, ChangeState, Owner};
use crate::{ObjectId, Result};

/// One thing that was done to a target, and can be undone and redone.
///
/// If it cannot, the target is as before it, unless the failure says that it is broken.
pub(super) enum StepOf<C: ?Sized> {
    /// A change of a world, or of a field of any other target.
    Change(Change),
    Command(Box<C>),
}

/// A command that was done, with what it did through its context.
pub(super) trait Perform {
    type Target: 'static;

    /// What it did through its context.
    fn further(&self) -> &[StepOf<Self>];

    fn run(
        &mut self,
        target: &mut Self::Target,
        support: &mut Support<Self::Target>,
        direction: Direction,
    ) -> Result<(), Failure>;

    fn merge(&mut self, next: &mut Self) -> Result<Merge>;

    fn label(&self) -> Label;

    fn is_significant(&self) -> bool;

    fn is_obsolete(&self) -> bool;

    fn finalize(&mut self, target: &mut Self::Target, end: End);

    /// Bytes of memory that it takes, roughly.
    fn size(&self) -> usize;

    /// The first of the objects that it changes itself.
    fn object(&self) -> Option<ObjectId>;

    fn store(
        &mut self,
        target: &Self::Target,
        support: &Support<Self::Target>,
        change_state: ChangeState,
    ) -> Result<StoredStep>;
}

/// A change that was stored, as a step.
pub(super) fn restored_change<C: Perform + ?Sized>(
    mut change: Change,
    target: &mut C::Target,
    change_state: ChangeState,
) -> Result<StepOf<C>> {
    change.restore(world_mut(target), change_state)?;
    Ok(StepOf::Change(change))
}

impl<C: Perform + ?Sized> StepOf<C> {
    pub(super) fn run(
        &mut self,
        target: &mut C::Target,
        support: &mut Support<C::Target>,
        direction: Direction,
    ) -> Result<(), Failure> {
        match self {
            Self::Change(change) => {
                let applied = match world_mut(target) {
                    Some(world) => change.apply(world, direction),
                    None => change.apply_fields(direction, |field, direction| {
                        let part = (Owner::Resource, field.path.class());
                        support.with_root(target, part, |root| root.make(field, direction))
                    }),
                };
                applied.map_err(Failure::from)
            }
            Self::Command(command) => command.run(target, support, direction),
        }
    }

    /// Whether the target may stay as it is after an undo or a redo of the whole entry. A failure is rolled back unasked.
    pub(super) fn check(
        &self,
        target: &mut C::Target,
        support: &mut Support<C::Target>,
    ) -> Result<()> {
        match self {
            Self::Change(change) if !change.is_asked() => Ok(()),
            Self::Change(change) => match world_mut(target) {
                Some(world) => change.check(world),
                None => {
                    let part = (Owner::Resource, change.class().unwrap_or_default());
                    support.with_root(target, part, |root| root.check_valid())
                }
            },
            Self::Command(command) => {
                command.further().iter().try_for_each(|step| step.check(target, support))
            }
        }
    }

    /// True if [`check`](Self::check) may refuse.
    pub(super) fn is_asked(&self) -> bool {
        match self {
            Self::Change(change) => change.is_asked(),
            Self::Command(command) => command.further().iter().any(Self::is_asked),
        }
    }

    /// Merges in the step that immediately followed this one.
    pub(super) fn merge(&mut self, next: &mut Self) -> Result<Merge> {
        match (self, next) {
            (Self::Change(one), Self::Change(next)) => Ok(one.merge(next)),
            (Self::Command(one), Self::Command(next)) => one.merge(next),
            _ => Ok(Merge::No),
        }
    }

    /// True if it sets a field, which is independent of others but those that it [meets](Self::meets).
    pub(super) fn is_setting(&self) -> bool {
        match self {
            Self::Change(change) => change.is_setting(),
            Self::Command(_) => false,
        }
    }

    /// True if it may change something that another one changes, so that their order matters.
    pub(super) fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Change(one), Self::Change(other)) => one.meets(other),
            _ => true,
        }
    }

    pub(super) fn label(&self) -> Label {
        match self {
            Self::Change(change) => Label::of_change(change),
            Self::Command(command) => command.label(),
        }
    }

    /// What the steps in it are called.
    pub(super) fn children(&self) -> Vec<Label> {
        match self {
            Self::Command(command) => command.further().iter().map(Self::label).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether it makes the target differ from its save.
    pub(super) fn is_significant(&self) -> bool {
        match self {
            Self::Command(command) => command.is_significant(),
            _ => true,
        }
    }

    /// True if it has become one that does nothing.
    pub(super) fn is_obsolete(&self) -> bool {
        matches!(self, Self::Command(command) if command.is_obsolete())
    }

    /// Whether something is done when it is dropped for good.
    pub(super) fn has_end(&self) -> bool {
        match self {
            Self::Change(change) => change.has_end(),
            Self::Command(_) => true,
        }
    }

    /// It is dropped, for good.
    pub(super) fn finalize(&mut self, target: &mut C::Target, end: End) {
        match self {
            Self::Change(change) if end != End::Merged => {
                if let Some(world) = world_mut(target) {
                    change.discard(world, end == End::Applied);
                }
            }
            Self::Change(_) => {}
            Self::Command(command) => command.finalize(target, end),
        }
    }

    /// Bytes of memory that it takes besides its own size, roughly.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Change(change) => change.size(),
            Self::Command(command) => command.size(),
        }
    }

    /// Bytes of what it keeps out of the target while it is applied, or undone: objects, components, resources.
    pub(super) fn held(&self, target: &C::Target, is_applied: bool) -> usize {
        match self {
            Self::Change(change) => world(target).map_or(0, |world| change.held(world, is_applied)),
            Self::Command(command) => {
                command.further().iter().map(|step| step.held(target, is_applied)).sum()
            }
        }
    }

    /// The object that it changes, or the first of them.
    pub(super) fn object(&self) -> Option<ObjectId> {
        match self {
            Self::Change(change) => change.owner.object(),
            Self::Command(command) => {
                command.object().or_else(|| command.further().iter().find_map(Self::object))
            }
        }
    }

    /// What a journal keeps of it, as it is.
    pub(super) fn store(
        &mut self,
        target: &C::Target,
        support: &Support<C::Target>,
        change_state: ChangeState,
    ) -> Result<StoredStep> {
        match self {
            Self::Change(change) => {
                Ok(StoredStep::Change(Box::new(change.stored(world(target), change_state)?)))
            }
            Self::Command(command) => command.store(target, support, change_state),
        }
    }
}

/// The steps of an entry: mostly one, which then lies in the entry.
pub(super) enum StepsOf<C: ?Sized> {
    One(StepOf<C>),
    Many(Vec<StepOf<C>>),
}

/// What an entry keeps of its steps.
#[derive(Clone, Copy)]
pub(super) struct Summary {
    pub(super) is_significant: bool,
    /// [`StepsOf::size`].
    pub(super) size: usize,
}

impl<C: Perform + ?Sized> StepsOf<C> {
    pub(super) fn push(&mut self, step: StepOf<C>) {
        match self {
            Self::Many(steps) if steps.capacity() > 0 => steps.push(step),
            Self::Many(_) => *self = Self::One(step),
            Self::One(_) => {
                let mut steps = std::mem::take(self).into_vec();
                steps.push(step);
                *self = Self::Many(steps);
            }
        }
    }

    /// What they are called by what they do; `None` if there are none.
    pub(super) fn label(steps: &[StepOf<C>]) -> Option<Label> {
        let (first, rest) = steps.split_first()?;
        Some(match rest.len() {
            0 => first.label(),
            more => Label::Several { first: Box::new(first.label()), more },
        })
    }

    pub(super) fn into_vec(self) -> Vec<StepOf<C>> {
        match self {
            Self::One(step) => vec![step],
            Self::Many(steps) => steps,
        }
    }

    pub(super) fn into_each(self) -> impl Iterator<Item = StepOf<C>> {
        let (one, many) = match self {
            Self::One(step) => (Some(step), Vec::new()),
            Self::Many(steps) => (None, steps),
        };
        one.into_iter().chain(many)
    }

    /// What an entry keeps of them. It asks commands, which may panic.
    #[inline]
    pub(super) fn summary(&self) -> Summary {
        Summary { is_significant: self.iter().any(StepOf::is_significant), size: self.size() }
    }

    /// Bytes of memory that they take besides their own size.
    pub(super) fn size(&self) -> usize {
        self.iter().map(StepOf::size).sum::<usize>() + self.places()
    }

    /// Bytes of memory of their list, if they have one.
    pub(super) fn places(&self) -> usize {
        match self {
            Self::One(_) => 0,
            Self::Many(steps) => steps.len() * size_of::<StepOf<C>>(),
        }
    }
}

impl<C: ?Sized> From<StepOf<C>> for StepsOf<C> {
    fn from(step: StepOf<C>) -> Self {
        Self::One(step)
    }
}

impl<C: ?Sized> From<Vec<StepOf<C>>> for StepsOf<C> {
    fn from(mut steps: Vec<StepOf<C>>) -> Self {
        match steps.pop() {
            Some(only) if steps.is_empty() => Self::One(only),
            last => {
                steps.extend(last);
                Self::Many(steps)
            }
        }
    }
}

impl<C: ?Sized> Default for StepsOf<C> {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl<C: ?Sized> Deref for StepsOf<C> {
    type Target = [StepOf<C>];

    fn deref(&self) -> &[StepOf<C>] {
        match self {
            Self::One(step) => std::slice::from_ref(step),
            Self::Many(steps) => steps,
        }
    }
}

impl<C: ?Sized> DerefMut for StepsOf<C> {
    fn deref_mut(&mut self) -> &mut [StepOf<C>] {
        match self {
            Self::One(step) => std::slice::from_mut(step),
            Self::Many(steps) => steps,
        }
    }
}

/// How an entry ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was done, and can no longer be undone: a full history evicted it, or the history was cleared.
    Applied,
    /// It was undone, and can no longer be redone.
    Undone,
    /// It was merged into the one before.
    Merged,
}

fn one<C: Perform + ?Sized>(
    steps: &mut [StepOf<C>],
    at: usize,
    target: &mut C::Target,
    support: &mut Support<C::Target>,
    direction: Direction,
) -> Result<(), Failure> {
    let step = &mut steps[at];
    // No code of the program runs that could panic.
    if let StepOf::Change(change) = step
        && world_mut(target).is_some_and(|world| change.put_number(world, direction))
    {
        return Ok(());
    }
    guarded(|| step.run(target, support, direction)).map_err(|mut failure| {
        failure.step = at;
        failure.done = at + usize::from(direction == Direction::Undo || failure.broken.is_some());
        if let Some(broken) = &mut failure.broken {
            broken.step = at;
            broken.done = failure.done;
            broken.object = broken.object.or_else(|| steps[at].object());
        }
        failure
    })
}

/// Undoes steps, the last first, or redoes them in order; if one fails, those before it are put back.
pub(super) fn run_all<C: Perform + ?Sized>(
    steps: &mut [StepOf<C>],
    target: &mut C::Target,
    support: &mut Support<C::Target>,
    direction: Direction,
) -> Result<(), Failure> {
    let count = steps.len();
    // The place of the first, the second and so on.
    let place = |at: usize| if direction == Direction::Undo { count - 1 - at } else { at };
    for at in 0..count {
        let Err(mut failure) = one(steps, place(at), target, support, direction) else { continue };
        if failure.broken.is_none() {
            failure.done = if direction == Direction::Undo { count } else { 0 };
        }
        let back = |at| one(steps, place(at), target, support, direction.reversed());
        return Err(failure.after(|| (0..at).rev().try_for_each(back)));
    }
    Ok(())
}

/// How steps end if `done` of them, from the first on, are done.
pub(super) fn ends<C: ?Sized>(
    steps: impl IntoIterator<Item = StepOf<C>>,
    done: usize,
) -> impl Iterator<Item = (StepOf<C>, End)> {
    let end = move |at| if at < done { End::Applied } else { End::Undone };
    steps.into_iter().enumerate().map(move |(at, step)| (step, end(at)))
}

/// Ends and drops steps, each of them also if others panic; the first panic is given back.
pub(super) fn finalize_all<C: Perform + ?Sized>(
    steps: impl IntoIterator<Item = (StepOf<C>, End)>,
    target: &mut C::Target,
) -> Option<Panic> {
    let mut first = None;
    for (mut step, end) in steps {
        let ended = catch_unwind(AssertUnwindSafe(|| step.finalize(target, end)));
        // Apart, as a second panic in a first one would abort.
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(step)));
        first = first.or(ended.err()).or(dropped.err());
    }
    first
}
