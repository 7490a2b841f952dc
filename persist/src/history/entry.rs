//! What a history is a list of.

use std::mem;

use hashbrown::{HashMap, HashSet};

use super::Label;
use super::edit::{Step, Steps};
use super::failure::{Failure, guarded};
use super::merging::{MergeTarget, Merging};
use super::step::{End, Summary};
use crate::fields::Merge;
use crate::world::ObjectName;
use crate::{FieldPath, ObjectId};

/// Something that is undone and redone at once.
pub(super) struct UndoEntry<T: 'static> {
    pub(super) label: Label,
    pub(super) steps: Steps<T>,
    /// The state after it; the one before it, if it is not significant.
    pub(super) state: u64,
    pub(super) is_significant: bool,
    /// Bytes that it takes, with those that it holds.
    pub(super) size: usize,
    /// What few entries have: a million of them is read and written with each of these bytes.
    rare: Option<Box<EntryExtras>>,
}

#[derive(Default)]
struct EntryExtras {
    /// Bytes of what it keeps out of the target, if there is a limit.
    held: usize,
    /// Where its steps are, if they are not here.
    away: Option<SpilledEntry>,
    /// By which object its steps are found, if many were merged into it.
    order: Option<Order>,
}

/// Where an entry is: a file, and which bytes of it.
#[derive(Clone, Copy)]
pub(super) struct SpillPosition {
    pub(super) file: u64,
    pub(super) offset: usize,
    pub(super) length: usize,
}

/// Of an entry whose steps are in a file: where they are, and what it is called by them.
pub(super) struct SpilledEntry {
    pub(super) at: SpillPosition,
    pub(super) label: Label,
    /// Whether something is done when it is dropped for good.
    pub(super) has_end: bool,
    /// Bytes that its steps take in memory, and count in a limit: so the same entries are left in the next session.
    pub(super) size: usize,
}

impl<T: 'static> UndoEntry<T> {
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
    #[expect(
        clippy::inline_always,
        reason = "a change is made where it stays; a copy of it waits for its parts"
    )]
    #[inline(always)]
    pub(super) fn fill(&mut self, label: Label, steps: Steps<T>, summary: Summary) {
        // What it had is empty, and costs a tenth of a small edit to be dropped.
        mem::forget(mem::replace(&mut self.label, label));
        mem::forget(mem::replace(&mut self.steps, steps));
        self.is_significant = summary.is_significant;
        self.size = size_of::<Self>() + summary.size;
    }

    /// Counts its bytes anew.
    pub(super) fn measure(&mut self) {
        let elsewhere = self.held() + self.away_size();
        self.size = size_of::<Self>() + self.steps.size() + elsewhere;
    }

    /// Bytes of its size that are in a file.
    pub(super) fn away_size(&self) -> usize {
        self.away().map_or(0, |away| away.size)
    }

    /// Bytes of what it keeps out of the target, if there is a limit.
    pub(super) fn held(&self) -> usize {
        self.rare.as_ref().map_or(0, |rare| rare.held)
    }

    pub(super) fn hold(&mut self, held: usize) {
        self.size = self.size - self.held() + held;
        if held > 0 || self.rare.is_some() {
            self.rare.get_or_insert_default().held = held;
        }
    }

    /// Where its steps are, if they are not here.
    pub(super) fn away(&self) -> Option<&SpilledEntry> {
        self.rare.as_ref()?.away.as_ref()
    }

    /// Takes the steps out, which are in a file.
    pub(super) fn send_away(&mut self, away: SpilledEntry) {
        self.steps = Steps::default();
        let held = self.held();
        self.rare = Some(Box::new(EntryExtras { held, away: Some(away), order: None }));
    }

    /// Puts the steps back that were in a file.
    pub(super) fn bring_back(&mut self, steps: Steps<T>) {
        self.steps = steps;
        self.rare.iter_mut().for_each(|rare| rare.away = None);
    }

    /// Forgets by which object its steps are found, since they are other ones now.
    pub(super) fn forget_order(&mut self) {
        self.rare.iter_mut().for_each(|rare| rare.order = None);
    }

    /// Makes it one that does nothing, as what was merged into it has taken it back. It is called as it was, and leaves the state before it.
    pub(super) fn annul(&mut self, label: Label, before: u64) {
        (self.label, self.steps) = (label, Steps::default());
        self.forget_order();
        (self.state, self.is_significant) = (before, false);
        self.measure();
    }

    /// What it is called: as the program said, or by what it does.
    pub(super) fn label(&self) -> Label {
        if let Some(away) = self.away() {
            return away.label.clone();
        }
        match (&self.label, &*self.steps) {
            (Label::None, steps) => Steps::label(steps).unwrap_or_default(),
            (given, _) => given.clone(),
        }
    }

    /// The field that it is called after, and the name of its object, if it sets one and has no label.
    #[inline]
    pub(super) fn set_field(&self) -> Option<(&FieldPath, Option<&ObjectName>)> {
        match (&self.label, &*self.steps) {
            (Label::None, [Step::Change(change)]) => change.set_field(),
            _ => None,
        }
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
        let merge = self.merge_steps(next, joins, ended)?;
        self.is_significant |= merge != Merge::No && is_significant;
        Ok(merge)
    }

    /// True if all steps are settings of fields.
    fn has_settings(&self) -> bool {
        let order = self.rare.as_ref().and_then(|rare| rare.order.as_ref());
        match order.filter(|order| order.is_of(&self.steps)) {
            Some(order) => order.first == 0,
            None => self.steps.iter().all(Step::is_setting),
        }
    }

    /// Merges settings of fields into those after the last other step, and any single step into the last one. What finds
    /// none is appended, if it joins or others are merged.
    fn merge_steps(
        &mut self,
        next: &mut Steps<T>,
        joins: bool,
        ended: &mut Vec<(Step<T>, End)>,
    ) -> Result<Merge, Failure> {
        let (before, first_ended) = (self.steps.len(), ended.len());
        let is_single = next.len() == 1;
        let are_settings =
            || [next.first(), self.steps.last()].into_iter().flatten().all(Step::is_setting);
        // Before a command, nothing is looked for.
        let mut order = (!is_single || (before > 1 && are_settings())).then(|| self.take_order());
        let mut size = self.size - self.steps.places();
        let mut gone = HashSet::new();
        let (mut is_merged, mut failed) = (joins, None);
        for mut new in mem::take(next).into_each() {
            let is_setting = new.is_setting();
            let mut place = match &order {
                None => before.checked_sub(1),
                Some(order) => order.last(&new).filter(|_| is_setting),
            };
            let mut outcome = Merge::No;
            while let Some(at) = place {
                // Those that were appended just now stay steps of their own.
                if at < before && !gone.contains(&at) && failed.is_none() {
                    let size_before = self.steps[at].size();
                    match offer(&mut self.steps, at, &mut new) {
                        Ok(merge) => outcome = merge,
                        Err(failure) => failed = Some(failure),
                    }
                    size = size - size_before + self.steps[at].size();
                }
                // It cannot pass one that it meets.
                if outcome != Merge::No || (!gone.contains(&at) && self.steps[at].meets(&new)) {
                    break;
                }
                place = order.as_ref().and_then(|order| order.before(at));
            }
            is_merged |= outcome != Merge::No;
            if outcome == Merge::Annul {
                gone.extend(place);
            }
            if outcome != Merge::No {
                ended.push((new, End::Merged));
                continue;
            }
            if is_single && (!joins || failed.is_some()) {
                *next = new.into();
                return failed.map_or(Ok(Merge::No), Err);
            }
            size += new.size();
            match &mut order {
                // A command begins the settings anew.
                order if !is_setting => *order = Some(Order::from(self.steps.len() + 1)),
                Some(order) => order.push(&new),
                None => {}
            }
            self.steps.push(new);
        }
        let is_refused = !is_merged || failed.is_some();
        if let Some(broken) = failed.as_mut().and_then(|failure| failure.broken.as_mut()) {
            broken.done = before - gone.len();
            broken.step -= gone.iter().filter(|gone| **gone < broken.step).count();
        }
        if is_refused || !gone.is_empty() {
            let mut steps = mem::take(&mut self.steps).into_vec();
            if is_refused {
                *next = steps.split_off(before).into();
            }
            let mut at = 0..steps.len();
            let out = steps.extract_if(.., |_| at.next().is_some_and(|at| gone.contains(&at)));
            ended.splice(first_ended..first_ended, out.map(|step| (step, End::Merged)));
            self.steps = Steps::Many(steps);
            self.forget_order();
            self.measure();
        } else {
            match order {
                Some(order) => self.rare.get_or_insert_default().order = Some(order),
                None => self.forget_order(),
            }
            self.size = size + self.steps.places();
        }
        match failed {
            Some(failure) => Err(failure),
            None if !is_merged => Ok(Merge::No),
            None => Ok(if self.steps.is_empty() { Merge::Annul } else { Merge::Yes }),
        }
    }

    /// By which object its steps are found.
    fn take_order(&mut self) -> Order {
        let order = self.rare.as_mut().and_then(|rare| rare.order.take());
        let order = order.filter(|order| order.is_of(&self.steps));
        order.unwrap_or_else(|| Order::of(&self.steps))
    }
}

impl<T: 'static> Default for UndoEntry<T> {
    #[inline]
    fn default() -> Self {
        Self {
            label: Label::None,
            steps: Steps::default(),
            state: 0,
            is_significant: true,
            size: 0,
            rare: None,
        }
    }
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

/// Where settings of fields are, by their objects: those of different ones neither merge nor meet. So a drag of many objects
/// costs each no more than a drag of one. It is kept with the entry.
pub(super) struct Order {
    /// Index of the first of these steps; the one before it is none.
    first: usize,
    last: HashMap<Option<ObjectId>, usize>,
    /// For each the one before it of the same object.
    previous: Vec<Option<usize>>,
}

impl Order {
    /// The settings of fields that are the last steps.
    pub(super) fn of<T: 'static>(steps: &[Step<T>]) -> Self {
        let others = steps.iter().rposition(|step| !step.is_setting());
        let mut order = Self::from(others.map_or(0, |last| last + 1));
        steps[order.first..].iter().for_each(|step| order.push(step));
        order
    }

    /// No settings yet; the next one has this index.
    pub(super) fn from(first: usize) -> Self {
        Self { first, last: HashMap::new(), previous: Vec::new() }
    }

    /// True if it is that of these steps, to which nothing has been added since.
    pub(super) fn is_of<T: 'static>(&self, steps: &[Step<T>]) -> bool {
        self.first + self.previous.len() == steps.len()
    }

    pub(super) fn push<T: 'static>(&mut self, step: &Step<T>) {
        let at = self.first + self.previous.len();
        self.previous.push(self.last.insert(step.object(), at));
    }

    /// The last one of the object of a step.
    pub(super) fn last<T: 'static>(&self, step: &Step<T>) -> Option<usize> {
        self.last.get(&step.object()).copied()
    }

    /// The one before this one of the same object.
    pub(super) fn before(&self, at: usize) -> Option<usize> {
        self.previous.get(at - self.first).copied().flatten()
    }
}

/// A transaction that has been begun.
pub(super) struct Transaction<T: 'static> {
    pub(super) label: Label,
    /// What was done in it, and is not merged.
    pub(super) edits: Vec<UndoEntry<T>>,
    /// The last of these, if the next edit may be merged into it.
    pub(super) last: Option<MergeTarget>,
}

impl<T: 'static> Transaction<T> {
    pub(super) fn new(label: Label) -> Self {
        Self { label, edits: Vec::new(), last: None }
    }

    /// Takes in an edit; the failure is that of a merge, and it is an edit of its own then.
    pub(super) fn enter(
        &mut self,
        mut edit: UndoEntry<T>,
        (merging, new): (Merging, MergeTarget),
        ended: &mut Vec<(Step<T>, End)>,
    ) -> Result<(), Failure> {
        let last = self.edits.last_mut().filter(|_| merging != Merging::No);
        let merge = last.map_or(Ok(Merge::No), |last| last.merge(&mut edit, merging, ended));
        match merge {
            Ok(Merge::Annul) => {
                self.edits.pop();
                self.last = None;
            }
            Ok(Merge::Yes) => self.last.iter_mut().for_each(|last| last.time = new.time),
            Ok(Merge::No) | Err(_) => {
                self.edits.push(edit);
                self.last = Some(new);
            }
        }
        merge.map(|_| ()).map_err(|mut failure| {
            let before = self.edits.iter().rev().skip(2);
            let before: usize = before.map(|edit| edit.steps.len()).sum();
            failure.broken.iter_mut().for_each(|broken| broken.step += before);
            failure
        })
    }

    /// What it is called: as the program said, or after what was done in it.
    pub(super) fn name(&self) -> Label {
        match (&self.label, &*self.edits) {
            (Label::None, [only]) => only.label.clone(),
            (Label::None, [first, rest @ ..]) if !first.label.is_none() => {
                Label::Several { first: Box::new(first.label.clone()), more: rest.len() }
            }
            (given, _) => given.clone(),
        }
    }
}
