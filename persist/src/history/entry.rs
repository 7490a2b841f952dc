//! What a history is a list of.

use std::time::Duration;

use super::Label;
use super::journal::Spilled;
use super::merging::{MergeKey, Merging};
use super::order::Order;
use super::proof::Proved;
use super::step::{BoxedStep, End, Failure, Merge, Step, guarded};

/// Something that is undone and redone at once.
pub(super) struct Entry<T: 'static> {
    pub(super) label: Label,
    pub(super) steps: Vec<BoxedStep<T>>,
    /// The state after it; the one before it, if it is not significant.
    pub(super) state: u64,
    pub(super) is_significant: bool,
    /// Bytes that it takes, with those that it holds.
    pub(super) size: usize,
    /// Bytes of what it keeps out of the target, if there is a limit.
    pub(super) held: usize,
    /// When it was done, or last merged into.
    pub(super) time: Duration,
    /// What later edits must have in common with it to join it.
    pub(super) key: Option<MergeKey>,
    /// Whether it took the place of entries that could be redone.
    pub(super) has_cut: bool,
    /// What it was done to, if that is to be proved.
    pub(super) proved: Option<Box<Proved>>,
    /// Where its steps are, if they are not here.
    pub(super) away: Option<Box<Away>>,
}

/// Of an entry whose steps are in a file: where they are, and what it is called by them.
pub(super) struct Away {
    pub(super) at: Spilled,
    pub(super) label: Label,
    /// Whether something is done when it is dropped for good.
    pub(super) has_end: bool,
}

impl<T: 'static> Entry<T> {
    pub(super) fn new(label: Label, steps: Vec<BoxedStep<T>>, time: Duration) -> Self {
        let mut entry = Self {
            is_significant: steps.iter().any(|step| step.is_significant()),
            label,
            steps,
            state: 0,
            size: 0,
            held: 0,
            time,
            key: None,
            has_cut: false,
            proved: None,
            away: None,
        };
        entry.measure();
        entry
    }

    /// Counts its bytes anew.
    pub(super) fn measure(&mut self) {
        self.size = size_of::<Self>() + self.size_from(0) + self.held;
    }

    /// Makes it one that does nothing, as what was merged into it has taken it back. It is called as it was, and leaves the state before it.
    pub(super) fn annul(&mut self, label: Label, before: u64) {
        (self.label, self.steps) = (label, Vec::new());
        (self.state, self.is_significant) = (before, false);
        // It now is another entry than the one of which that is known.
        self.proved = None;
        self.measure();
    }

    /// Where its steps are, if they are not here.
    pub(super) fn spilled(&self) -> Option<Spilled> {
        self.away.as_ref().map(|away| away.at)
    }

    /// What it is called: as the program said, or by what it does.
    pub(super) fn label(&self) -> Label {
        if let Some(away) = &self.away {
            return away.label.clone();
        }
        match (&self.label, &*self.steps) {
            (Label::None, steps) => Label::of(steps).unwrap_or_default(),
            (given, _) => given.clone(),
        }
    }

    /// Merges in the steps of the edit that immediately followed. They stay where they are if it does not; steps that end by it are appended.
    ///
    /// A merge that is refused is none; the failure is that of a panic.
    pub(super) fn merge(
        &mut self,
        label: &Label,
        next: &mut Vec<BoxedStep<T>>,
        merging: Merging,
        ended: &mut Vec<(BoxedStep<T>, End)>,
    ) -> Result<Merge, Failure> {
        let is_significant = next.iter().any(|step| step.is_significant());
        let joins = merging == Merging::Join;
        let are_single = next.len() == 1 && self.steps.len() == 1;
        if !joins {
            let are_settings = |steps: &[BoxedStep<T>]| steps.iter().all(|step| step.is_setting());
            let are_alike = self.label == *label && self.is_significant == is_significant;
            if !are_alike || !(are_single || (are_settings(&self.steps) && are_settings(next))) {
                return Ok(Merge::No);
            }
        }
        let is_last = |steps: &[BoxedStep<T>]| steps.last().is_some_and(|step| !step.is_setting());
        let merge = match &next[..] {
            // Before a command, nothing is looked for.
            [one] if are_single || !one.is_setting() || is_last(&self.steps) => {
                self.merge_last(next, joins, ended)?
            }
            _ => {
                let merge = self.merge_many(next, joins, ended)?;
                self.measure();
                merge
            }
        };
        self.is_significant |= merge != Merge::No && is_significant;
        Ok(merge)
    }

    /// Offers a step to the last one, and counts the bytes of these alone anew.
    fn merge_last(
        &mut self,
        next: &mut Vec<BoxedStep<T>>,
        joins: bool,
        ended: &mut Vec<(BoxedStep<T>, End)>,
    ) -> Result<Merge, Failure> {
        let (Some(last), [new]) = (self.steps.len().checked_sub(1), &mut next[..]) else {
            return Ok(Merge::No);
        };
        let before = self.size_from(last);
        let mut merge = offer(&mut self.steps, last, &mut **new)?;
        match merge {
            Merge::No if joins => {
                self.steps.append(next);
                merge = Merge::Yes;
            }
            Merge::No => {}
            Merge::Yes => ended.extend(next.pop().map(|new| (new, End::Merged))),
            Merge::Annul => {
                let both = self.steps.pop().into_iter().chain(next.pop());
                ended.extend(both.map(|step| (step, End::Merged)));
                if !self.steps.is_empty() {
                    merge = Merge::Yes;
                }
            }
        }
        self.size = self.size - before + self.size_from(last);
        Ok(merge)
    }

    /// Bytes of the steps from one on, and of the places of all.
    fn size_from(&self, start: usize) -> usize {
        let steps = self.steps.get(start..).unwrap_or_default();
        let size: usize = steps.iter().map(|step| step.size()).sum();
        size + self.steps.capacity() * size_of::<BoxedStep<T>>()
    }

    /// Merges settings of fields into those after the last other step; what finds none is appended.
    fn merge_many(
        &mut self,
        next: &mut Vec<BoxedStep<T>>,
        joins: bool,
        ended: &mut Vec<(BoxedStep<T>, End)>,
    ) -> Result<Merge, Failure> {
        // Behind these are those that stay steps of their own.
        let before = self.steps.len();
        let others = self.steps.iter().rposition(|step| !step.is_setting());
        let mut first = others.map_or(0, |last| last + 1);
        let mut order = Order::of(&self.steps[first..]);
        let mut is_gone = vec![false; before];
        let (mut is_merged, mut failed) = (joins, None);
        for mut new in std::mem::take(next) {
            if !new.is_setting() {
                self.steps.push(new);
                first = self.steps.len();
                order = Order::of(&self.steps[first..]);
                continue;
            }
            let mut outcome = Merge::No;
            let mut place = order.last(&*new);
            while let Some(at) = place {
                let at = first + at;
                if at < before && !is_gone[at] && failed.is_none() {
                    match offer(&mut self.steps, at, &mut *new) {
                        Ok(merge) => outcome = merge,
                        Err(failure) => failed = Some(failure),
                    }
                }
                // It cannot pass one that it meets.
                let is_gone = is_gone.get(at).is_some_and(|is_gone| *is_gone);
                if outcome != Merge::No || (!is_gone && self.steps[at].meets(&*new)) {
                    break;
                }
                place = order.before(at - first);
            }
            is_merged |= outcome != Merge::No;
            match (outcome, place) {
                (Merge::Yes, _) => ended.push((new, End::Merged)),
                (Merge::Annul, Some(at)) => {
                    is_gone[first + at] = true;
                    ended.push((new, End::Merged));
                }
                _ => {
                    order.push(&*new);
                    self.steps.push(new);
                }
            }
        }
        if !is_merged || failed.is_some() {
            *next = self.steps.split_off(before);
        }
        if let Some(broken) = failed.as_mut().and_then(|failure| failure.broken.as_mut()) {
            let gone = |gone: &[bool]| gone.iter().filter(|is_gone| **is_gone).count();
            broken.done = before - gone(&is_gone);
            broken.step -= gone(&is_gone[..broken.step]);
        }
        let mut gone = is_gone.into_iter();
        let gone = self.steps.extract_if(.., |_| gone.next().unwrap_or(false));
        ended.extend(gone.map(|step| (step, End::Merged)));
        match failed {
            Some(failure) => Err(failure),
            None if !is_merged => Ok(Merge::No),
            None => Ok(if self.steps.is_empty() { Merge::Annul } else { Merge::Yes }),
        }
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
