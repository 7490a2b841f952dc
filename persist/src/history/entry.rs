//! What a history is a list of.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashSet;

use super::journal::Spilled;
use super::merging::{MergeKey, Merging};
use super::order::Order;
use super::proof::Proved;
use super::step::{End, Failure, Merge, Step, guarded};
use super::steps::{Steps, Summary};
use super::{Label, Verb};

/// Something that is undone and redone at once.
pub(super) struct Entry<T: 'static> {
    pub(super) label: Label,
    pub(super) steps: Steps<T>,
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
    /// By which object its steps are found, if many were merged into it.
    pub(super) order: Option<Box<Order>>,
}

/// Of an entry whose steps are in a file: where they are, and what it is called by them.
pub(super) struct Away {
    pub(super) at: Spilled,
    pub(super) label: Label,
    /// Whether something is done when it is dropped for good.
    pub(super) has_end: bool,
    /// Bytes that its steps take in memory, and count in a limit: so the same entries are left in the next session.
    pub(super) size: usize,
}

impl<T: 'static> Entry<T> {
    /// An entry that is not [weighed](Self::weigh) yet.
    pub(super) fn new(label: Label, steps: Steps<T>) -> Self {
        Self { label, steps, ..Self::default() }
    }

    /// Asks the commands in it what they are. A command may panic then, so this comes before anything else is done with it.
    pub(super) fn weigh(&mut self) {
        self.is_significant = self.steps.iter().any(Step::is_significant);
        self.measure();
    }

    /// One entry of several, which are weighed. Their commands are not asked again: they are recorded.
    pub(super) fn joined(label: Label, edits: Vec<Self>) -> Self {
        let is_significant = edits.iter().any(|edit| edit.is_significant);
        let size = |edit: &Self| edit.size - size_of::<Self>() - edit.steps.places();
        let size: usize = edits.iter().map(size).sum();
        let steps: Vec<_> = edits.into_iter().flat_map(|edit| edit.steps.into_each()).collect();
        let mut entry = Self { is_significant, ..Self::new(label, steps.into()) };
        entry.size = size_of::<Self>() + size + entry.steps.places();
        entry
    }

    /// Puts steps into an empty entry.
    #[inline]
    pub(super) fn fill(&mut self, label: Label, steps: Steps<T>, summary: Summary) {
        (self.label, self.steps) = (label, steps);
        self.is_significant = summary.is_significant;
        self.size = size_of::<Self>() + summary.size;
    }

    /// Counts its bytes anew.
    pub(super) fn measure(&mut self) {
        self.size = size_of::<Self>() + self.steps.size() + self.held + self.away_size();
    }

    /// Bytes of its size that are in a file.
    pub(super) fn away_size(&self) -> usize {
        self.away.as_ref().map_or(0, |away| away.size)
    }

    /// Makes it one that does nothing, as what was merged into it has taken it back. It is called as it was, and leaves the state before it.
    pub(super) fn annul(&mut self, label: Label, before: u64) {
        (self.label, self.steps, self.order) = (label, Steps::default(), None);
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

    /// Makes a label that of this entry, if both are of the same field that was set; true if it was another.
    pub(super) fn rename(&self, label: &mut Label) -> Option<bool> {
        if let (Label::None, [Step::Change(change)]) = (&self.label, &*self.steps)
            && let Some((path, name)) = change.set_field()
            && let Label::Change { verb: Verb::Set, field: Some(field), object } = label
            && field.is(path)
        {
            let is_same = match (&*object, name) {
                (Some(old), Some(new)) => Arc::ptr_eq(old, new) || old == new,
                (old, new) => old.is_none() && new.is_none(),
            };
            if !is_same {
                *object = name.cloned();
            }
            return Some(!is_same);
        }
        None
    }

    /// Merges in the steps of the edit that immediately followed. They stay in that if it does not; steps that end by it are appended.
    ///
    /// A merge that is refused is none; the failure is that of a panic.
    pub(super) fn merge(
        &mut self,
        next: &mut Self,
        merging: Merging,
        ended: &mut Vec<(Step<T>, End)>,
    ) -> Result<Merge, Failure> {
        let Self { label, steps: next, is_significant, .. } = next;
        let is_significant = *is_significant;
        let joins = merging == Merging::Join;
        let are_single = next.len() == 1 && self.steps.len() == 1;
        if !joins {
            let are_alike = self.label == *label && self.is_significant == is_significant;
            let are_settings = || self.has_settings() && next.iter().all(Step::is_setting);
            if !are_alike || !(are_single || are_settings()) {
                return Ok(Merge::No);
            }
        }
        let is_last = self.steps.last().is_some_and(|step| !step.is_setting());
        let merge = match &mut **next {
            // Before a command, nothing is looked for.
            [one] if are_single || !one.is_setting() || is_last => {
                self.merge_last(next, joins, ended)?
            }
            _ => self.merge_many(next, joins, ended)?,
        };
        self.is_significant |= merge != Merge::No && is_significant;
        Ok(merge)
    }

    /// True if all steps are settings of fields.
    fn has_settings(&self) -> bool {
        match self.order.as_ref().filter(|order| order.is_of(&self.steps)) {
            Some(order) => order.first() == 0,
            None => self.steps.iter().all(Step::is_setting),
        }
    }

    /// Offers the only step of an edit to the last one, and counts the bytes of these alone anew.
    fn merge_last(
        &mut self,
        next: &mut Steps<T>,
        joins: bool,
        ended: &mut Vec<(Step<T>, End)>,
    ) -> Result<Merge, Failure> {
        let (Some(last), [new]) = (self.steps.len().checked_sub(1), &mut **next) else {
            return Ok(Merge::No);
        };
        let before = self.size_from(last);
        let mut merge = offer(&mut self.steps, last, new)?;
        match merge {
            Merge::No if joins => {
                let is_setting = new.is_setting();
                mem::take(next).into_each().for_each(|step| self.steps.push(step));
                // A command begins the settings anew.
                self.order = (!is_setting).then(|| Box::new(Order::from(self.steps.len())));
                merge = Merge::Yes;
            }
            Merge::No => {}
            Merge::Yes => ended.extend(all_merged(mem::take(next))),
            Merge::Annul => {
                self.order = None;
                ended.extend(self.steps.pop().map(|step| (step, End::Merged)));
                ended.extend(all_merged(mem::take(next)));
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
        steps.iter().map(Step::size).sum::<usize>() + self.steps.places()
    }

    /// Merges settings of fields into those after the last other step; what finds none is appended.
    fn merge_many(
        &mut self,
        next: &mut Steps<T>,
        joins: bool,
        ended: &mut Vec<(Step<T>, End)>,
    ) -> Result<Merge, Failure> {
        let order = self.order.take().filter(|order| order.is_of(&self.steps));
        let mut order = order.unwrap_or_else(|| Box::new(Order::of(&self.steps)));
        let mut size = self.size - self.steps.places();
        let mut steps = mem::take(&mut self.steps).into_vec();
        // Behind these are those that stay steps of their own.
        let before = steps.len();
        let mut gone = HashSet::new();
        let (mut is_merged, mut failed) = (joins, None);
        for mut new in mem::take(next).into_each() {
            if !new.is_setting() {
                size += new.size();
                steps.push(new);
                *order = Order::from(steps.len());
                continue;
            }
            let mut outcome = Merge::No;
            let mut place = order.last(&new);
            while let Some(at) = place {
                if at < before && !gone.contains(&at) && failed.is_none() {
                    let size_before = steps[at].size();
                    match offer(&mut steps, at, &mut new) {
                        Ok(merge) => outcome = merge,
                        Err(failure) => failed = Some(failure),
                    }
                    size = size - size_before + steps[at].size();
                }
                // It cannot pass one that it meets.
                if outcome != Merge::No || (!gone.contains(&at) && steps[at].meets(&new)) {
                    break;
                }
                place = order.before(at);
            }
            is_merged |= outcome != Merge::No;
            match (outcome, place) {
                (Merge::Yes, _) => ended.push((new, End::Merged)),
                (Merge::Annul, Some(at)) => {
                    gone.insert(at);
                    ended.push((new, End::Merged));
                }
                _ => {
                    size += new.size();
                    order.push(&new);
                    steps.push(new);
                }
            }
        }
        let is_refused = !is_merged || failed.is_some();
        if is_refused {
            *next = steps.split_off(before).into();
        }
        if let Some(broken) = failed.as_mut().and_then(|failure| failure.broken.as_mut()) {
            broken.done = before - gone.len();
            broken.step -= gone.iter().filter(|gone| **gone < broken.step).count();
        }
        if is_refused || !gone.is_empty() {
            let mut at = 0..steps.len();
            let out = steps.extract_if(.., |_| at.next().is_some_and(|at| gone.contains(&at)));
            ended.extend(out.map(|step| (step, End::Merged)));
            self.steps = Steps::Many(steps);
            self.measure();
        } else {
            (self.steps, self.order) = (Steps::Many(steps), Some(order));
            self.size = size + self.steps.places();
        }
        match failed {
            Some(failure) => Err(failure),
            None if !is_merged => Ok(Merge::No),
            None => Ok(if self.steps.is_empty() { Merge::Annul } else { Merge::Yes }),
        }
    }
}

impl<T: 'static> Default for Entry<T> {
    #[inline]
    fn default() -> Self {
        Self {
            label: Label::None,
            steps: Steps::default(),
            state: 0,
            is_significant: true,
            size: 0,
            held: 0,
            time: Duration::ZERO,
            key: None,
            has_cut: false,
            proved: None,
            away: None,
            order: None,
        }
    }
}

fn all_merged<T: 'static>(steps: Steps<T>) -> impl Iterator<Item = (Step<T>, End)> {
    steps.into_each().map(|step| (step, End::Merged))
}

/// Offers a step to one of those before it. A refusal is no merge.
fn offer<T: 'static>(
    steps: &mut [Step<T>],
    at: usize,
    next: &mut Step<T>,
) -> Result<Merge, Failure> {
    let done = steps.len();
    let step = &mut steps[at];
    guarded(|| Ok(step.merge(next).unwrap_or(Merge::No))).map_err(|mut failure| {
        failure.broken.iter_mut().for_each(|broken| (broken.step, broken.done) = (at, done));
        failure
    })
}
