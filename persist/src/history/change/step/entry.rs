//! The entries of a history: their steps, labels and sizes, and how a following edit merges into one.
//!
//! An edit merges step by step. A step that sets a field may also merge into an earlier step of the same object. Steps
//! of other objects in between do not matter, since settings of different objects do not depend on each other, and
//! neither do those of other fields. [`Order`] finds these steps, so that a drag of a thousand objects, or one that
//! paints ten thousand elements of a list, does not compare each change with all steps. Any other step merges into the
//! last one alone.

use std::hash::{BuildHasher as _, Hash as _, Hasher as _};
use std::{iter, mem};

use hashbrown::{DefaultHashBuilder, HashMap, HashSet};

use super::FinalState;
use crate::fields::{Merge, ObjectName, PathStep};
use crate::history::merging::Merging;
use crate::history::{
    Failure, Label, MergeTarget, Step, Steps, Summary, Transaction, UndoEntry, guarded,
};
use crate::{FieldPath, ObjectId};

impl<T: 'static> UndoEntry<T> {
    /// Creates an entry that is not [weighed](Self::weigh) yet.
    pub(in crate::history) fn new(label: Label, steps: Steps<T>) -> Self {
        Self { label, steps, ..Self::default() }
    }

    /// Asks its commands whether they are significant and how large they are.
    ///
    /// A command may panic then. So this comes first, while the edit can still be rolled back.
    pub(in crate::history) fn weigh(&mut self) {
        self.is_significant = self.steps.iter().any(Step::is_significant);
        self.measure();
    }

    /// Joins several weighed entries into one, without another call of their commands, which are recorded already.
    pub(in crate::history) fn joined(label: Label, edits: Vec<Self>) -> Self {
        let is_significant = edits.iter().any(|edit| edit.is_significant);
        // Each edit has counted an entry and a list, and the joined entry has one of each.
        let size = |edit: &Self| edit.size - size_of::<Self>() - edit.steps.places();
        let size: usize = edits.iter().map(size).sum();
        let steps: Vec<_> = edits.into_iter().flat_map(|edit| edit.steps.into_each()).collect();
        let mut entry = Self { is_significant, ..Self::new(label, steps.into()) };
        entry.size = size_of::<Self>() + size + entry.steps.places();
        entry
    }

    /// Fills an empty entry.
    #[expect(
        clippy::inline_always,
        reason = "a change is made where it stays; a copy of it waits for its parts"
    )]
    #[inline(always)]
    pub(in crate::history) fn fill(&mut self, label: Label, steps: Steps<T>, summary: Summary) {
        self.label = label;
        self.steps = steps;
        self.is_significant = summary.is_significant;
        self.size = size_of::<Self>() + summary.size;
    }

    /// Counts its bytes again.
    pub(in crate::history) fn measure(&mut self) {
        self.size = size_of::<Self>() + self.steps.size() + self.held();
    }

    /// Bytes of what it keeps outside the target. 0 if there is no limit of bytes.
    pub(in crate::history) fn held(&self) -> usize {
        self.rare.as_ref().map_or(0, |rare| rare.held)
    }

    pub(in crate::history) fn hold(&mut self, held: usize) {
        self.size = self.size - self.held() + held;
        // Without a limit of bytes, `held` is 0 for every entry, and none needs the box.
        if held > 0 || self.rare.is_some() {
            self.rare.get_or_insert_default().held = held;
        }
    }

    /// Drops the index of its steps, after they changed.
    pub(in crate::history) fn forget_order(&mut self) {
        self.rare.iter_mut().for_each(|rare| rare.order = None);
    }

    /// Empties an entry whose changes were reverted by an edit that was merged into it.
    ///
    /// It keeps its label, and gets the number of the previous state.
    pub(in crate::history) fn annul(&mut self, label: Label, previous_state: u64) {
        (self.label, self.steps) = (label, Steps::default());
        self.forget_order();
        (self.state, self.is_significant) = (previous_state, false);
        self.measure();
    }

    /// Returns its label, or one that describes its steps if the program gave none.
    pub(in crate::history) fn label(&self) -> Label {
        match (&self.label, &*self.steps) {
            (Label::None, steps) => Steps::label(steps).unwrap_or_default(),
            (given, _) => given.clone(),
        }
    }

    /// The field and the object that name it, if it has no label and sets one field.
    #[inline]
    pub(in crate::history) fn set_field(&self) -> Option<(&FieldPath, Option<&ObjectName>)> {
        match (&self.label, &*self.steps) {
            (Label::None, [Step::Change(change)]) => change.set_field(),
            _ => None,
        }
    }

    /// Merges in the steps of the edit that immediately followed.
    ///
    /// Steps that do not merge stay in `next`, or are appended if the two edits join. Steps that are dropped by the
    /// merge go to `ended`. An error of a command's `merge` counts as [`Merge::No`]; the failure that is returned is a
    /// panic.
    pub(in crate::history) fn merge(
        &mut self,
        next: &mut Self,
        merging: Merging,
        ended: &mut Vec<(Step<T>, FinalState)>,
    ) -> Result<Merge, Failure> {
        let Self { label, steps: next, is_significant, .. } = next;
        let is_significant = *is_significant;
        let joins = merging == Merging::Join;
        let are_single = next.len() == 1 && self.steps.len() == 1;
        if !joins {
            let are_alike = self.label == *label && self.is_significant == is_significant;
            // Asked last, since it may look at every step.
            let are_settings = || self.has_settings() && next.iter().all(Step::is_setting);
            if !are_alike || !(are_single || are_settings()) {
                return Ok(Merge::No);
            }
        }
        let merge = self.merge_steps(next, joins, ended)?;
        self.is_significant |= merge != Merge::No && is_significant;
        Ok(merge)
    }

    /// True if each step sets a field.
    fn has_settings(&self) -> bool {
        let order = self.rare.as_ref().and_then(|rare| rare.order.as_ref());
        match order.filter(|order| order.is_of(&self.steps)) {
            Some(order) => order.first == 0,
            None => self.steps.iter().all(Step::is_setting),
        }
    }

    /// Merges each new step into an earlier one.
    ///
    /// A step that sets a field is offered to earlier settings of the same object, from the last one back; a single
    /// step of another kind to the last step alone. A step that merges with none is appended if the edits join, or if
    /// another step of the edit has merged.
    fn merge_steps(
        &mut self,
        next: &mut Steps<T>,
        joins: bool,
        ended: &mut Vec<(Step<T>, FinalState)>,
    ) -> Result<Merge, Failure> {
        let (old_len, first_ended) = (self.steps.len(), ended.len());
        let is_single = next.len() == 1;
        let are_settings =
            || [next.first(), self.steps.last()].into_iter().flatten().all(Step::is_setting);
        // A single step is only offered to the last one, which needs no index. Neither is one built if that is a
        // command.
        let mut order = (!is_single || (old_len > 1 && are_settings())).then(|| self.take_order());
        // The size is updated with each step. To measure all steps again made each move of a drag as long as the whole
        // drag.
        let mut size = self.size - self.steps.places();
        // Annulled steps stay in the list until the end, since `order` holds the places of all steps.
        let mut void = HashSet::new();
        let (mut is_merged, mut failed) = (joins, None);
        for mut new in mem::take(next).into_each() {
            let is_setting = new.is_setting();
            let mut place = match &order {
                None => old_len.checked_sub(1),
                Some(order) => order.last(&new).filter(|_| is_setting),
            };
            let (mut outcome, mut compared) = (Merge::No, 0);
            while let Some(at) = place {
                // Steps that were appended by this merge stay steps of their own.
                if at < old_len && !void.contains(&at) && failed.is_none() {
                    let old_size = self.steps[at].size();
                    match offer(&mut self.steps, at, &mut new) {
                        Ok(merge) => outcome = merge,
                        Err(failure) => failed = Some(failure),
                    }
                    size = size - old_size + self.steps[at].size();
                }
                // Order matters between steps that change the same field, so a new step cannot pass such a step.
                if outcome != Merge::No || (!void.contains(&at) && self.steps[at].overlaps(&new)) {
                    break;
                }
                compared += 1;
                place = order.as_mut().and_then(|order| match compared {
                    FEW => order.overlapping(&self.steps, &new, at),
                    _ => order.previous(at),
                });
            }
            is_merged |= outcome != Merge::No;
            if outcome == Merge::Annul {
                void.extend(place);
            }
            if outcome != Merge::No {
                ended.push((new, FinalState::Merged));
                continue;
            }
            if is_single && (!joins || failed.is_some()) {
                *next = new.into();
                return failed.map_or(Ok(Merge::No), Err);
            }
            size += new.size();
            match &mut order {
                // Settings after a command do not merge with those before it.
                order if !is_setting => *order = Some(Order::from(self.steps.len() + 1)),
                Some(order) => order.push(&new),
                None => {}
            }
            self.steps.push(new);
        }
        let is_refused = !is_merged || failed.is_some();
        // The failure counts places with the annulled steps, which are about to leave the list.
        if let Some(broken) = failed.as_mut().and_then(|failure| failure.broken.as_mut()) {
            broken.done = old_len - void.len();
            broken.step -= void.iter().filter(|void| **void < broken.step).count();
        }
        if is_refused || !void.is_empty() {
            let mut steps = mem::take(&mut self.steps).into_vec();
            if is_refused {
                *next = steps.split_off(old_len).into();
            }
            let mut at = 0..steps.len();
            let out = steps.extract_if(.., |_| at.next().is_some_and(|at| void.contains(&at)));
            ended.splice(first_ended..first_ended, out.map(|step| (step, FinalState::Merged)));
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

    /// The index of its settings by object. It is built again if steps were added since.
    fn take_order(&mut self) -> Order {
        let order = self.rare.as_mut().and_then(|rare| rare.order.take());
        let order = order.filter(|order| order.is_of(&self.steps));
        order.unwrap_or_else(|| Order::from_steps(&self.steps))
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

/// Offers a new step to an earlier one. A refusal counts as [`Merge::No`].
fn offer<T: 'static>(
    steps: &mut [Step<T>],
    at: usize,
    next: &mut Step<T>,
) -> Result<Merge, Failure> {
    let done = steps.len();
    let step = &mut steps[at];
    // `merge` is code of a command, which may panic.
    guarded(|| Ok(step.merge(next).unwrap_or(Merge::No))).map_err(|mut failure| {
        failure.broken.iter_mut().for_each(|broken| (broken.step, broken.done) = (at, done));
        failure
    })
}

/// How many settings of an object are compared with a new one before they are found by their paths. Most objects of a
/// drag have fewer.
const FEW: usize = 4;

/// An index of the last steps of an entry, those that set fields, by their objects.
///
/// Settings of different objects neither merge nor depend on each other. With this index, a move of a drag takes the
/// same time for each object, however many objects are dragged. It is kept with the entry.
pub(in crate::history) struct Order {
    /// Index of the first of these steps. The step before it does not set a field.
    first: usize,
    last: HashMap<Option<ObjectId>, usize>,
    /// For each of these steps, the index of the previous step of the same object.
    previous: Vec<Option<usize>>,
    /// Present once an object has more than a [few](FEW) of these steps.
    paths: Option<PathOrder>,
}

impl Order {
    /// Builds the index of the settings at the end of a list of steps.
    fn from_steps<T: 'static>(steps: &[Step<T>]) -> Self {
        let others = steps.iter().rposition(|step| !step.is_setting());
        let mut order = Self::from(others.map_or(0, |last| last + 1));
        steps[order.first..].iter().for_each(|step| order.push(step));
        order
    }

    /// An index without steps. The next one to be pushed has index `first`.
    fn from(first: usize) -> Self {
        Self { first, last: HashMap::new(), previous: Vec::new(), paths: None }
    }

    /// True if no steps were added since the index was built.
    fn is_of<T: 'static>(&self, steps: &[Step<T>]) -> bool {
        self.first + self.previous.len() == steps.len()
    }

    fn push<T: 'static>(&mut self, step: &Step<T>) {
        let at = self.first + self.previous.len();
        self.previous.push(self.last.insert(step.object(), at));
        self.paths.iter_mut().for_each(|paths| paths.push(step, at));
    }

    /// The index of the last setting of the object that a step changes.
    fn last<T: 'static>(&self, step: &Step<T>) -> Option<usize> {
        self.last.get(&step.object()).copied()
    }

    /// The index of the previous setting of the same object.
    fn previous(&self, at: usize) -> Option<usize> {
        self.previous.get(at - self.first).copied().flatten()
    }

    /// Returns the index of the last setting before `at` that may overlap the new step. The settings of the object in
    /// between do not.
    fn overlapping<T: 'static>(
        &mut self,
        steps: &[Step<T>],
        new: &Step<T>,
        at: usize,
    ) -> Option<usize> {
        let first = self.first;
        let paths = self.paths.get_or_insert_with(|| {
            let mut paths = PathOrder::default();
            let settings = steps.iter().enumerate().skip(first);
            settings.for_each(|(at, step)| paths.push(step, at));
            paths
        });
        match paths.last(new) {
            // It was compared: it is annulled, or another path has the same hash. So the one before it is unknown.
            Some(last) if last >= at => self.previous(at),
            last => last,
        }
    }
}

/// The last settings by path: for the hash of each path, and of each path that leads to it.
///
/// Two paths overlap if one leads to the other. A hash that two paths share only costs a comparison.
#[derive(Default)]
struct PathOrder {
    last: HashMap<u64, LastSettings>,
    hasher: DefaultHashBuilder,
}

struct LastSettings {
    /// The last setting of the value at the path.
    of_value: Option<usize>,
    /// The last setting of the value or of a part of it.
    of_parts: usize,
}

impl PathOrder {
    fn push<T: 'static>(&mut self, step: &Step<T>, at: usize) {
        let mut value = None;
        for hash in hashes(&self.hasher, step) {
            let new = || LastSettings { of_value: None, of_parts: at };
            self.last.entry(hash).or_insert_with(new).of_parts = at;
            value = Some(hash);
        }
        if let Some(settings) = value.and_then(|hash| self.last.get_mut(&hash)) {
            settings.of_value = Some(at);
        }
    }

    /// Returns the last setting that may overlap a step.
    fn last<T: 'static>(&self, step: &Step<T>) -> Option<usize> {
        let (mut of_value, mut of_parts) = (None, None);
        for hash in hashes(&self.hasher, step) {
            let found = self.last.get(&hash);
            of_value = of_value.max(found.and_then(|found| found.of_value));
            of_parts = found.map(|found| found.of_parts);
        }
        of_value.max(of_parts)
    }
}

/// Returns the hashes of the paths to the value that a step sets, from its object down.
///
/// They end before the first key of a map: keys of different texts may be equal. A migrated setting may set several
/// fields, so it counts as one of the whole object.
fn hashes<'s, T: 'static>(
    hasher: &DefaultHashBuilder,
    step: &'s Step<T>,
) -> impl Iterator<Item = u64> + use<'s, T> {
    let mut hasher = hasher.build_hasher();
    let path = match step {
        Step::Change(change) => change.set_field().map(|(path, _)| path),
        Step::Command(_) => None,
    };
    step.object().hash(&mut hasher);
    let of_object = hasher.finish();
    let of_class = path.map(|path| {
        path.class().hash(&mut hasher);
        hasher.finish()
    });
    let steps = path.map_or(&[][..], FieldPath::steps);
    let of_parts = steps.iter().map_while(move |step| {
        match step {
            PathStep::Key(_) => return None,
            PathStep::Index(index) => index.hash(&mut hasher),
            // An element of a tuple has both forms.
            PathStep::Field(name) => match name.parse::<u64>() {
                Ok(index) => index.hash(&mut hasher),
                Err(_) => name.hash(&mut hasher),
            },
        }
        Some(hasher.finish())
    });
    iter::once(of_object).chain(of_class).chain(of_parts)
}

impl<T: 'static> Transaction<T> {
    pub(in crate::history) fn new(label: Label) -> Self {
        Self { label, edits: Vec::new(), last: None }
    }

    /// Merges an edit into the last one, or appends it. After a failed merge it is appended, and the failure is
    /// returned.
    pub(in crate::history) fn enter(
        &mut self,
        mut edit: UndoEntry<T>,
        (merging, new): (Merging, MergeTarget),
        ended: &mut Vec<(Step<T>, FinalState)>,
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
            // The last edit is the new one, and the one before it was merged into; `step` counts from the latter.
            let earlier = self.edits.iter().rev().skip(2);
            let earlier: usize = earlier.map(|edit| edit.steps.len()).sum();
            failure.broken.iter_mut().for_each(|broken| broken.step += earlier);
            failure
        })
    }

    /// Returns its label, or one that describes its edits if the program gave none.
    pub(in crate::history) fn name(&self) -> Label {
        match (&self.label, &*self.edits) {
            (Label::None, [only]) => only.label.clone(),
            (Label::None, [first, rest @ ..]) if !first.label.is_none() => {
                Label::Several { first: Box::new(first.label.clone()), more: rest.len() }
            }
            (given, _) => given.clone(),
        }
    }
}
