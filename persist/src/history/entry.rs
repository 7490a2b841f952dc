//! What a history is a list of.

use std::time::Duration;

use super::Label;
use super::proof::Proved;
use super::step::{BoxedStep, End, Merge};

/// Something that is undone and redone at once.
pub(super) struct Entry<T: 'static> {
    pub(super) label: Label,
    pub(super) steps: Vec<BoxedStep<T>>,
    /// The state behind it; that before it, if it is not significant.
    pub(super) state: u64,
    pub(super) is_significant: bool,
    /// Bytes that it takes.
    pub(super) size: usize,
    /// When it was done, or last merged into.
    pub(super) time: Duration,
    /// What it was done to, if that is to be proved.
    pub(super) proved: Option<Box<Proved>>,
}

impl<T: 'static> Entry<T> {
    pub(super) fn new(label: Label, steps: Vec<BoxedStep<T>>, time: Duration) -> Self {
        let mut entry = Self {
            is_significant: steps.iter().any(|step| step.is_significant()),
            label,
            steps,
            state: 0,
            size: 0,
            time,
            proved: None,
        };
        entry.measure();
        entry
    }

    /// Counts its bytes anew.
    pub(super) fn measure(&mut self) {
        let steps: usize = self.steps.iter().map(|step| step.size()).sum();
        self.size = size_of::<Self>() + steps + self.steps.capacity() * size_of::<BoxedStep<T>>();
    }

    /// What it is called: as the program said, or by what it does.
    pub(super) fn label(&self) -> Label {
        match (&self.label, &*self.steps) {
            (Label::None, [only]) => only.label(),
            (Label::None, [first, rest @ ..]) => {
                Label::Several { first: Box::new(first.label()), more: rest.len() }
            }
            (given, _) => given.clone(),
        }
    }

    pub(super) fn finalize(&mut self, target: &mut T, end: End) {
        self.steps.iter_mut().for_each(|step| step.finalize(target, end));
    }

    /// Takes in the steps of one that was done right behind it; they stay if it does not.
    pub(super) fn merge(&mut self, next: &mut Vec<BoxedStep<T>>, target: &mut T) -> Merge {
        merge(&mut self.steps, next, target)
    }
}

/// Merges steps into those before them: one into one, or settings of fields into settings of which at least one is of
/// the same field.
pub(super) fn merge<T: 'static>(
    steps: &mut Vec<BoxedStep<T>>,
    next: &mut Vec<BoxedStep<T>>,
    target: &mut T,
) -> Merge {
    let are_settings = |steps: &[BoxedStep<T>]| steps.iter().all(|step| step.is_setting());
    let are_single = steps.len() == 1 && next.len() == 1;
    if !are_single && !(are_settings(steps) && are_settings(next)) {
        return Merge::No;
    }
    let mut result = Merge::No;
    // Behind these are those that stay steps of their own.
    let mut before = steps.len();
    for mut new in next.drain(..) {
        let mut outcome = Merge::No;
        // It cannot pass one that it meets.
        for at in (0..steps.len()).rev() {
            if at < before {
                // A merge that fails is none.
                outcome = steps[at].merge(&mut *new).unwrap_or(Merge::No);
            }
            if outcome == Merge::Annul {
                new.finalize(target, End::Merged);
                steps.remove(at).finalize(target, End::Merged);
                before -= 1;
            }
            if outcome != Merge::No || steps[at].meets(&*new) {
                break;
            }
        }
        match outcome {
            Merge::No | Merge::Both => steps.push(new),
            Merge::Yes => new.finalize(target, End::Merged),
            Merge::Annul => {}
        }
        if outcome != Merge::No {
            result = Merge::Yes;
        }
    }
    if result == Merge::No {
        *next = steps.split_off(before);
        return Merge::No;
    }
    if steps.is_empty() { Merge::Annul } else { Merge::Yes }
}
