//! What a history is a list of.

use std::time::Duration;

use super::Label;
use super::journal::Spilled;
use super::proof::Proved;
use super::step::{BoxedStep, End, Failure, Merge, Step, guarded};

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
    /// Whether its steps were edits of their own, of which each was merged into the one before.
    is_chain: bool,
    /// What it was done to, if that is to be proved.
    pub(super) proved: Option<Box<Proved>>,
    /// Where its steps are, if they are not here, and what it is called then.
    pub(super) spilled: Option<Spilled>,
    pub(super) shown: Option<Label>,
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
            is_chain: false,
            proved: None,
            spilled: None,
            shown: None,
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
        if let Some(shown) = &self.shown {
            return shown.clone();
        }
        match (&self.label, &*self.steps) {
            (Label::None, [first, rest @ ..]) if self.is_chain || rest.is_empty() => first.label(),
            (Label::None, [first, rest @ ..]) => {
                Label::Several { first: Box::new(first.label()), more: rest.len() }
            }
            (given, _) => given.clone(),
        }
    }

    /// Takes in the steps of an edit that was done right behind it: one into one, or settings of fields into settings of which at least one is
    /// of the same field. They stay where they are if it does not; what has ended by it is appended.
    ///
    /// A merge that is refused is none; the failure is that of a panic.
    pub(super) fn merge(
        &mut self,
        label: &Label,
        next: &mut Vec<BoxedStep<T>>,
        ended: &mut Vec<(BoxedStep<T>, End)>,
    ) -> Result<Merge, Failure> {
        let is_significant = next.iter().any(|step| step.is_significant());
        if self.label != *label || self.is_significant != is_significant {
            return Ok(Merge::No);
        }
        let are_settings = |steps: &[BoxedStep<T>]| steps.iter().all(|step| step.is_setting());
        let are_settings = are_settings(&self.steps) && are_settings(next);
        let are_single = next.len() == 1 && (self.is_chain || self.steps.len() == 1);
        if !are_settings && !are_single {
            return Ok(Merge::No);
        }
        let mut is_merged = false;
        // Those before it stay steps of their own.
        let mut at_new = 0;
        while at_new < next.len() {
            let (own, rest) = next.split_at_mut(at_new);
            let new = &mut *rest[0];
            let mut outcome = (0, Merge::No);
            // It cannot pass one that it meets.
            if !own.iter().any(|step| step.meets(new)) {
                for at in (0..self.steps.len()).rev() {
                    outcome = (at, offer(&mut self.steps, at, new)?);
                    if outcome.1 != Merge::No || self.steps[at].meets(new) {
                        break;
                    }
                }
            }
            is_merged |= outcome.1 != Merge::No;
            match outcome {
                (_, Merge::No) => at_new += 1,
                (_, Merge::Yes) => ended.push((next.remove(at_new), End::Merged)),
                (_, Merge::Both) => {
                    self.is_chain = !are_settings;
                    at_new += 1;
                }
                (at, Merge::Annul) => {
                    ended.push((self.steps.remove(at), End::Merged));
                    ended.push((next.remove(at_new), End::Merged));
                }
            }
        }
        if !is_merged {
            return Ok(Merge::No);
        }
        self.steps.append(next);
        Ok(if self.steps.is_empty() { Merge::Annul } else { Merge::Yes })
    }
}

/// Offers a step to one of those before it. A refusal is no merge.
fn offer<T: 'static>(
    steps: &mut [BoxedStep<T>],
    at: usize,
    next: &mut dyn Step<T>,
) -> Result<Merge, Failure> {
    let done = steps.len();
    let step = &mut *steps[at];
    guarded(|| Ok(step.merge(next).unwrap_or(Merge::No))).map_err(|mut failure| {
        failure.broken.iter_mut().for_each(|broken| (broken.step, broken.done) = (at, done));
        failure
    })
}
