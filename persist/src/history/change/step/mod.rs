//! The steps of an entry: changes and commands that were executed, and how they are undone and redone together.
//!
//! A step is a [`Change`], which is data, or a command, which is the program's code. This module only needs that a
//! command can be run ([`Perform`]); `edit` has commands, which work through an [`Edit`](crate::history::Edit) and so create
//! steps themselves. `entry` has the entries that are made of steps.

pub(in crate::history) mod entry;

use std::ops::{Deref, DerefMut, Range};
use std::panic::{AssertUnwindSafe, catch_unwind};

use hashbrown::HashSet;

use super::Change;
use crate::fields::{ChangeState, Direction, EditedWorld as _, Merge, Owner, Root};
use crate::history::journal::StoredStep;
use crate::history::{Failure, Label, Panic, Summary, Support, guarded, world, world_mut};
use crate::{ObjectId, Result};

/// Something that was done to a target, and can be undone and redone.
///
/// If an undo or redo of a step fails, the target is as before, unless the failure says that it is broken.
pub(in crate::history) enum StepOf<C: ?Sized> {
    /// A change of a world, or of a field of any other target.
    Change(Change),
    Command(Box<C>),
}

/// A command that was executed, with the steps that it did through its edit.
pub(in crate::history) trait Perform {
    type Target: 'static;

    /// The steps that it did through its edit.
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

    fn finalize(&mut self, target: &mut Self::Target, end: FinalState);

    /// Bytes of memory that it takes, roughly.
    fn size(&self) -> usize;

    /// The objects that it says it changes directly. `None` if it changed nothing directly.
    fn direct_objects(&self) -> Option<Vec<ObjectId>>;

    /// The first object that the command itself says it changes.
    fn object(&self) -> Option<ObjectId>;

    fn store(
        &mut self,
        target: &Self::Target,
        support: &Support<Self::Target>,
        change_state: ChangeState,
    ) -> Result<StoredStep>;
}

/// Restores a change that was read from a journal, as a step.
pub(in crate::history) fn restored_change<C: Perform + ?Sized>(
    mut change: Change,
    target: &mut C::Target,
    change_state: ChangeState,
) -> Result<StepOf<C>> {
    change.restore(world_mut(target), change_state)?;
    Ok(StepOf::Change(change))
}

impl<C: Perform + ?Sized> StepOf<C> {
    pub(crate) fn run(
        &mut self,
        target: &mut C::Target,
        support: &mut Support<C::Target>,
        direction: Direction,
    ) -> Result<(), Failure> {
        match self {
            Self::Change(change) => {
                if let Some(world) = world_mut(target) {
                    return change.apply(world, direction);
                }
                change.apply_fields(direction, |field, direction| {
                    let part = (Owner::Resource, field.path.class());
                    support.with_root(target, part, |root| root.make(field, direction))
                })
            }
            Self::Command(command) => command.run(target, support, direction),
        }
    }

    /// Passes the components and resources that it has undone or redone, if they have `validate` or `after_load`
    /// functions.
    fn unrefreshed<'s>(&'s self, pass: &mut dyn FnMut(Owner, &'s str)) {
        match self {
            Self::Change(change) => {
                change.unrefreshed().into_iter().for_each(|(owner, class)| pass(owner, class));
            }
            Self::Command(command) => {
                command.further().iter().for_each(|step| step.unrefreshed(pass));
            }
        }
    }

    /// Merges in the step that immediately followed this one.
    fn merge(&mut self, next: &mut Self) -> Result<Merge> {
        match (self, next) {
            (Self::Change(one), Self::Change(next)) => Ok(one.merge(next)),
            (Self::Command(one), Self::Command(next)) => one.merge(next),
            _ => Ok(Merge::No),
        }
    }

    /// True if it sets a field. Such steps depend only on steps that they [overlap](Self::overlaps).
    fn is_setting(&self) -> bool {
        match self {
            Self::Change(change) => change.is_setting(),
            Self::Command(_) => false,
        }
    }

    /// True if both may change the same thing, so that their order matters.
    fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Change(one), Self::Change(other)) => one.overlaps(other),
            _ => true,
        }
    }

    pub(crate) fn label(&self) -> Label {
        match self {
            Self::Change(change) => change.label(),
            Self::Command(command) => command.label(),
        }
    }

    /// The labels of the steps in it.
    pub(crate) fn children(&self) -> Vec<Label> {
        match self {
            Self::Command(command) => command.further().iter().map(Self::label).collect(),
            _ => Vec::new(),
        }
    }

    /// True if it makes the target differ from its save.
    pub(crate) fn is_significant(&self) -> bool {
        match self {
            Self::Command(command) => command.is_significant(),
            _ => true,
        }
    }

    /// True if it no longer has an effect.
    pub(crate) fn is_obsolete(&self) -> bool {
        matches!(self, Self::Command(command) if command.is_obsolete())
    }

    /// True if [`finalize`](Self::finalize) does something.
    pub(crate) fn has_end(&self) -> bool {
        match self {
            Self::Change(change) => change.has_end(),
            Self::Command(_) => true,
        }
    }

    /// Releases what it holds, before it is dropped.
    pub(crate) fn finalize(&mut self, target: &mut C::Target, end: FinalState) {
        match self {
            Self::Change(change) if end != FinalState::Merged => {
                if let Some(world) = world_mut(target) {
                    change.discard(world, end == FinalState::Applied);
                }
            }
            Self::Change(_) => {}
            Self::Command(command) => command.finalize(target, end),
        }
    }

    /// Bytes of memory that it takes besides its own size, roughly.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Change(change) => change.size(),
            Self::Command(command) => command.size(),
        }
    }

    /// Bytes of the objects, components and resources that it keeps outside the target.
    pub(crate) fn held(&self, target: &C::Target, is_applied: bool) -> usize {
        match self {
            Self::Change(change) => world(target).map_or(0, |world| change.held(world, is_applied)),
            Self::Command(command) => {
                command.further().iter().map(|step| step.held(target, is_applied)).sum()
            }
        }
    }

    /// The object that it changes. If there are several, the first one.
    fn object(&self) -> Option<ObjectId> {
        match self {
            Self::Change(change) => change.owner.object(),
            Self::Command(command) => {
                command.object().or_else(|| command.further().iter().find_map(Self::object))
            }
        }
    }

    /// Returns it in the form that a journal stores.
    pub(crate) fn store(
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

/// The steps of an entry. Most entries have one, which is stored without an allocation.
pub(in crate::history) enum StepsOf<C: ?Sized> {
    One(StepOf<C>),
    Many(Vec<StepOf<C>>),
}

impl<C: Perform + ?Sized> StepsOf<C> {
    pub(crate) fn push(&mut self, step: StepOf<C>) {
        match self {
            // An empty list without memory becomes `One`; one with memory is about to be filled with several steps.
            Self::Many(steps) if steps.capacity() > 0 => steps.push(step),
            Self::Many(_) => *self = Self::One(step),
            Self::One(_) => {
                let mut steps = std::mem::take(self).into_vec();
                steps.push(step);
                *self = Self::Many(steps);
            }
        }
    }

    /// A label that describes the steps. `None` if there are none.
    pub(crate) fn label(steps: &[StepOf<C>]) -> Option<Label> {
        let (first, rest) = steps.split_first()?;
        Some(match rest.len() {
            0 => first.label(),
            more => Label::Several { first: Box::new(first.label()), more },
        })
    }

    pub(crate) fn into_vec(self) -> Vec<StepOf<C>> {
        match self {
            Self::One(step) => vec![step],
            Self::Many(steps) => steps,
        }
    }

    pub(crate) fn into_each(self) -> impl Iterator<Item = StepOf<C>> {
        let (one, many) = match self {
            Self::One(step) => (Some(step), Vec::new()),
            Self::Many(steps) => (None, steps),
        };
        one.into_iter().chain(many)
    }

    /// Returns the properties that their entry keeps. It calls commands, which may panic.
    #[inline]
    pub(crate) fn summary(&self) -> Summary {
        Summary { is_significant: self.iter().any(StepOf::is_significant), size: self.size() }
    }

    /// Bytes of memory that they take besides their own size.
    fn size(&self) -> usize {
        self.iter().map(StepOf::size).sum::<usize>() + self.places()
    }

    /// Bytes of memory of the list. A list of one step counts like a step without a list: what an entry weighs depends
    /// on its steps alone, so that the next session keeps the same entries.
    fn places(&self) -> usize {
        match self.len() {
            1 => 0,
            count => count * size_of::<StepOf<C>>(),
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

/// The final state of an entry, with which it leaves the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalState {
    /// The entry was applied and can no longer be undone: a full history evicted it, or the history was cleared.
    Applied,
    /// The entry was undone and can no longer be redone.
    Undone,
    /// The entry was merged into the step before it.
    Merged,
}

/// Undoes or redoes one step, and notes its index in the failure.
fn one<C: Perform + ?Sized>(
    steps: &mut [StepOf<C>],
    at: usize,
    target: &mut C::Target,
    support: &mut Support<C::Target>,
    direction: Direction,
) -> Result<(), Failure> {
    let step = &mut steps[at];
    // Fast path: a number is set without code of the program, so no panic has to be caught.
    if let StepOf::Change(change) = step
        && world_mut(target).is_some_and(|world| change.put_number(world, direction))
    {
        return Ok(());
    }
    guarded(|| step.run(target, support, direction)).map_err(|mut failure| {
        failure.step = at;
        // A step that failed is still done if it was to be undone. One that is broken counts as done.
        failure.done = at + usize::from(direction == Direction::Undo || failure.broken.is_some());
        if let Some(broken) = &mut failure.broken {
            broken.step = at;
            broken.done = failure.done;
            broken.object = broken.object.or_else(|| steps[at].object());
        }
        failure
    })
}

/// Undoes steps, the last one first, or redoes them in order. If a step fails, the steps before it are reverted.
pub(in crate::history) fn run_all<C: Perform + ?Sized>(
    steps: &mut [StepOf<C>],
    target: &mut C::Target,
    support: &mut Support<C::Target>,
    direction: Direction,
) -> Result<(), Failure> {
    let count = steps.len();
    // The index of the step that is run as number `at`.
    let place = |at: usize| if direction == Direction::Undo { count - 1 - at } else { at };
    // How many of the next steps are run, and how many of these one by one.
    let (mut at, mut single) = (0, 0);
    while at < count {
        if single == 0 {
            let run = run_of_elements(steps, place(at), direction);
            single = run.len().max(1);
            if single > 1 && all_at_once(&mut steps[run], target, support, direction) {
                (at, single) = (at + single, 0);
                continue;
            }
        }
        let Err(mut failure) = one(steps, place(at), target, support, direction) else {
            (at, single) = (at + 1, single - 1);
            continue;
        };
        // The steps that were run are reverted below, so that all are as before.
        if failure.broken.is_none() {
            failure.done = if direction == Direction::Undo { count } else { 0 };
        }
        let back = |at| one(steps, place(at), target, support, direction.reversed());
        return Err(failure.after(|| (0..at).rev().try_for_each(back)));
    }
    Ok(())
}

/// Returns the steps that insert and remove elements of one list, from this step in the direction.
fn run_of_elements<C: Perform + ?Sized>(
    steps: &[StepOf<C>],
    first: usize,
    direction: Direction,
) -> Range<usize> {
    let edited = |step: &StepOf<C>| match step {
        StepOf::Change(change) => change.edited_list().map(|path| (change.owner, path.clone())),
        StepOf::Command(_) => None,
    };
    let Some((owner, list)) = edited(&steps[first]) else { return first..first };
    let is_next = |step: &&StepOf<C>| match step {
        StepOf::Change(change) => {
            change.owner == owner && change.edited_list().is_some_and(|path| path.is(&list))
        }
        StepOf::Command(_) => false,
    };
    match direction {
        Direction::Redo => first..first + steps[first..].iter().take_while(is_next).count(),
        Direction::Undo => {
            first + 1 - steps[..=first].iter().rev().take_while(is_next).count()..first + 1
        }
    }
}

/// Undoes or redoes steps of one list in one pass. Returns false if that cannot be done; the target is then as before.
fn all_at_once<C: Perform + ?Sized>(
    steps: &mut [StepOf<C>],
    target: &mut C::Target,
    support: &mut Support<C::Target>,
    direction: Direction,
) -> bool {
    let mut changes: Vec<&mut Change> = steps
        .iter_mut()
        .filter_map(|step| match step {
            StepOf::Change(change) => Some(change),
            StepOf::Command(_) => None,
        })
        .collect();
    let Some(owner) = changes.first().map(|change| change.owner) else { return false };
    let made = guarded(|| {
        let fields: Vec<_> = changes.iter().flat_map(|change| change.fields()).collect();
        let Some(first) = fields.first() else { return Ok(None) };
        let class = first.path.class();
        let make = |root: &mut Root<'_>| Ok(root.make_all(&fields, direction));
        Ok(match world_mut(target) {
            Some(world) => world.make(owner, class, make)?,
            None => support.with_root(target, (owner, class), make)?,
        })
    });
    let Ok(Some(has_hooks)) = made else { return false };
    changes.iter_mut().for_each(|change| change.has_hooks = has_hooks);
    true
}

/// Returns the values that these steps have undone or redone, each once, if they have `validate` or `after_load`
/// functions.
pub(in crate::history) fn unrefreshed<C: Perform + ?Sized>(
    steps: &[StepOf<C>],
) -> Vec<(Owner, &str)> {
    let (mut known, mut values) = (HashSet::new(), Vec::new());
    for step in steps {
        step.unrefreshed(&mut |owner, class| {
            if known.insert((owner, class)) {
                values.push((owner, class));
            }
        });
    }
    values
}

/// Runs the `validate` and `after_load` functions of what these steps have undone or redone. They run at the end, since
/// a value may be valid only after all of its changes.
///
/// # Errors
///
/// Returns the first error of a `validate` function.
pub(in crate::history) fn refresh_all<C: Perform + ?Sized>(
    steps: &[StepOf<C>],
    target: &mut C::Target,
    support: &mut Support<C::Target>,
) -> Result<()> {
    unrefreshed(steps).into_iter().try_for_each(|value| support.refresh(target, value, true))
}

/// Rolls steps back, and runs the `after_load` functions of the values that they had changed. See [`run_all`].
pub(in crate::history) fn run_back<C: Perform + ?Sized>(
    steps: &mut [StepOf<C>],
    target: &mut C::Target,
    support: &mut Support<C::Target>,
    direction: Direction,
) -> Result<(), Failure> {
    run_all(steps, target, support, direction)?;
    let mut values = unrefreshed(steps).into_iter();
    // The state that is restored was whole before, so errors and panics are not news.
    drop(guarded(|| Ok(values.try_for_each(|value| support.refresh(target, value, false))?)));
    Ok(())
}

/// Pairs each step with its end, if the first `done` of them are applied and the others undone.
pub(in crate::history) fn ends<C: ?Sized>(
    steps: impl IntoIterator<Item = StepOf<C>>,
    done: usize,
) -> impl Iterator<Item = (StepOf<C>, FinalState)> {
    let end = move |at| if at < done { FinalState::Applied } else { FinalState::Undone };
    steps.into_iter().enumerate().map(move |(at, step)| (step, end(at)))
}

/// Finalizes and drops steps. Each of them is, even if another one panics; returns the first panic.
pub(in crate::history) fn finalize_all<C: Perform + ?Sized>(
    steps: impl IntoIterator<Item = (StepOf<C>, FinalState)>,
    target: &mut C::Target,
) -> Option<Panic> {
    let mut first = None;
    for (mut step, end) in steps {
        let ended = catch_unwind(AssertUnwindSafe(|| step.finalize(target, end)));
        // The drop is caught separately: a panic in a drop during another panic would abort the program.
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(step)));
        first = first.or(ended.err()).or(dropped.err());
    }
    first
}
