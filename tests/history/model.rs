//! A naive history, which keeps the whole document of every state, and says what is to come of each call.

use std::collections::BTreeSet;

use persist::history::FinalState;

use super::document::Document;
use super::steps::{Entry, Key, Kind, Leaf, Merged, NAMES, Step, merge};

#[derive(Clone, Debug)]
struct Open {
    label: String,
    before: Document,
    edits: Vec<Entry>,
    may_merge: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub(super) document: Document,
    base: Document,
    base_state: usize,
    last_state: usize,
    saved: Option<usize>,
    pub(super) entries: Vec<Entry>,
    pub(super) position: usize,
    pub(super) capacity: Option<usize>,
    /// In commands.
    pub(super) budget: Option<usize>,
    may_merge: bool,
    pub(super) window: Option<u64>,
    drag: Option<(String, u64)>,
    drags: u64,
    pub(super) time: u64,
    open: Vec<Open>,
    /// Which commands were ever done.
    pub(super) done: BTreeSet<String>,
    /// Which commands ended in this call.
    pub(super) ends: Vec<(usize, FinalState)>,
}

impl Model {
    pub(super) fn new(capacity: Option<usize>) -> Self {
        Self { capacity, saved: Some(0), window: Some(u64::MAX), ..Self::default() }
    }

    /// Does a command; `None` if it does nothing.
    pub(super) fn perform(&mut self, leaf: &Leaf, id: &mut usize) -> Option<Step> {
        *id += 1;
        let own = *id;
        let kind = match leaf {
            Leaf::Put(name, new) => {
                if self.is_nothing(leaf) {
                    return None;
                }
                let old = self.document.number(NAMES[*name]);
                self.document.put(NAMES[*name], *new);
                Kind::Put { name: *name, old, new: *new }
            }
            Leaf::Plus(name, by) => {
                let sum = self.document.number(NAMES[*name]) + by;
                self.document.put(NAMES[*name], sum);
                Kind::Plus { name: *name }
            }
            Leaf::Push => {
                self.document.words.push(own.to_string());
                Kind::Push
            }
            Leaf::Pick(pick) => {
                self.document.selected = *pick;
                Kind::Pick
            }
            Leaf::Fade => Kind::Fade,
            Leaf::Pack(inner, is_direct) => {
                if *is_direct {
                    self.document.words.push(own.to_string());
                }
                let inner: Vec<_> =
                    inner.iter().filter_map(|leaf| self.perform(leaf, id)).collect();
                if !is_direct && inner.is_empty() {
                    return None;
                }
                Kind::Pack { is_direct: *is_direct, inner }
            }
        };
        self.done.insert(own.to_string());
        Some(Step { id: own, kind, is_faded: false })
    }

    /// A command was refused, and so was never done.
    pub(super) fn forget(&mut self, step: &Option<Step>) {
        for id in step.iter().flat_map(Step::ids) {
            self.done.remove(&id.to_string());
        }
    }

    /// Whether a command would change nothing, and so is not asked to.
    pub(super) fn is_nothing(&self, leaf: &Leaf) -> bool {
        matches!(leaf, Leaf::Put(name, new) if self.document.number(NAMES[*name]) == *new)
    }

    /// How many commands there are in the entries.
    pub(super) fn weight(&self) -> usize {
        self.entries.iter().map(Entry::weight).sum()
    }

    pub(super) fn end(&mut self, steps: &[Step], end: FinalState) {
        let ids = steps.iter().flat_map(Step::ids);
        self.ends.extend(ids.map(|id| (id, end)));
    }

    fn new_state(&mut self) -> usize {
        self.last_state += 1;
        self.last_state
    }

    /// Enters what was done.
    pub(super) fn enter(&mut self, label: &str, steps: Vec<Step>, merge_fails: bool) {
        self.enter_as(label, None, steps, merge_fails);
    }

    /// Enters what was done with a key.
    pub(super) fn enter_as(
        &mut self,
        label: &str,
        key: Option<u8>,
        steps: Vec<Step>,
        merge_fails: bool,
    ) {
        let (label, key) = match &self.drag {
            Some((of_drag, drag)) if of_drag.is_empty() => {
                (label.to_owned(), Some(Key::Drag(*drag)))
            }
            Some((of_drag, drag)) => (of_drag.clone(), Some(Key::Drag(*drag))),
            None => (label.to_owned(), key.map(Key::Given)),
        };
        self.enter_entry(label, key, steps, merge_fails);
    }

    fn enter_entry(
        &mut self,
        label: String,
        key: Option<Key>,
        steps: Vec<Step>,
        merge_fails: bool,
    ) {
        if steps.is_empty() {
            return;
        }
        let is_significant = steps.iter().any(Step::is_significant);
        let mut entry = Entry {
            label,
            steps,
            key,
            has_cut: false,
            is_significant,
            time: self.time,
            state: 0,
            behind: self.document.clone(),
        };
        let (time, window) = (self.time, self.window);
        let may_go_with = |before: &Entry| {
            let is_recent = window.is_some_and(|window| time - before.time < window);
            before.key == key && (key.is_some() || is_recent)
        };
        let joins = key.is_some();
        if let Some(open) = self.open.last_mut() {
            let before = open.edits.last_mut().filter(|_| open.may_merge);
            let before = before.filter(|_| joins || !merge_fails);
            let merged = match before.filter(|before| may_go_with(before)) {
                Some(before) => merge(before, &entry, joins, merge_fails, &mut self.ends),
                None => Merged::No,
            };
            if merged == Merged::No {
                open.edits.push(entry);
            } else if merged == Merged::Annul {
                open.edits.pop();
            }
            open.may_merge = merged != Merged::Annul;
            return;
        }
        entry.has_cut = self.position < self.entries.len();
        self.cut();
        let saved = self.saved;
        let may_merge = self.may_merge && (joins || !merge_fails) && self.position > 0;
        let before = self.entries.last_mut().filter(|before| {
            let is_saved = before.is_significant && saved == Some(before.state);
            may_merge && may_go_with(before) && !is_saved
        });
        let text = before.as_ref().map(|before| before.text());
        let merged = before.map(|before| merge(before, &entry, joins, merge_fails, &mut self.ends));
        match merged.unwrap_or(Merged::No) {
            Merged::No => {
                // One without effect makes room.
                if self.position > 0 && self.entries[self.position - 1].steps.is_empty() {
                    self.entries.pop();
                    self.position -= 1;
                    entry.has_cut = true;
                }
                entry.state = if is_significant { self.new_state() } else { self.state() };
                self.entries.push(entry);
                self.position += 1;
                self.may_merge = true;
            }
            Merged::Yes => {
                let state = self.new_state();
                let last = self.entries.last_mut().unwrap();
                last.behind = self.document.clone();
                if is_significant {
                    last.state = state;
                }
            }
            Merged::Annul => {
                let state = self.state_at(self.position - 1);
                let last = self.entries.last_mut().unwrap();
                if last.has_cut {
                    (last.label, last.state) = (text.unwrap(), state);
                    last.is_significant = false;
                    last.behind = self.document.clone();
                } else {
                    self.entries.pop();
                    self.position -= 1;
                }
                self.may_merge = false;
            }
        }
        self.trim();
    }

    fn cut(&mut self) {
        for entry in self.entries.split_off(self.position) {
            self.end(&entry.steps, FinalState::Undone);
        }
    }

    pub(super) fn trim(&mut self) {
        while self.open.is_empty() {
            let is_heavy = self.budget.is_some_and(|budget| self.weight() > budget);
            let is_long = self.capacity.is_some_and(|capacity| self.entries.len() > capacity);
            let is_heavy = is_heavy && self.entries.len() > 1;
            if !is_long && !is_heavy {
                return;
            }
            let is_behind = self.entries.len() > self.position;
            if self.position > 1 || (self.position == 1 && !is_behind) {
                let oldest = self.entries.remove(0);
                self.end(&oldest.steps, FinalState::Applied);
                (self.base, self.base_state) = (oldest.behind, oldest.state);
                self.position -= 1;
            } else {
                let last = self.entries.pop().unwrap();
                self.end(&last.steps, FinalState::Undone);
            }
        }
    }

    pub(super) fn state(&self) -> usize {
        self.state_at(self.position)
    }

    pub(super) fn state_at(&self, position: usize) -> usize {
        match position {
            0 => self.base_state,
            _ => self.entries[position - 1].state,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// As many entries as are told of.
    pub(super) fn len(&self) -> usize {
        if self.is_open() { self.position } else { self.entries.len() }
    }

    pub(super) fn can_undo(&self) -> bool {
        !self.is_open() && self.position > 0
    }

    pub(super) fn can_redo(&self) -> bool {
        !self.is_open() && self.position < self.entries.len()
    }

    pub(super) fn is_modified(&self) -> bool {
        let mut edits = self.open.iter().flat_map(|open| &open.edits);
        self.saved != Some(self.state()) || edits.any(|edit| edit.is_significant)
    }

    pub(super) fn saved_position(&self) -> Option<usize> {
        let is_saved = |position: &usize| Some(self.state_at(*position)) == self.saved;
        let found = (0..=self.len()).filter(is_saved);
        found.min_by_key(|position| position.abs_diff(self.position))
    }

    /// The entry that an undo or a redo would run.
    pub(super) fn next(&self, is_redo: bool) -> Option<usize> {
        match is_redo {
            true => self.can_redo().then_some(self.position),
            false => self.can_undo().then(|| self.position - 1),
        }
    }

    /// Undoes or redoes; nothing but the end of merging comes of it if it fails.
    pub(super) fn run(&mut self, is_redo: bool, fails: bool) {
        let Some(index) = self.next(is_redo) else { return };
        self.may_merge = false;
        if fails {
            return;
        }
        if is_redo {
            self.position += 1;
        } else {
            self.position -= 1;
        }
        self.document = match self.position {
            0 => self.base.clone(),
            position => self.entries[position - 1].behind.clone(),
        };
        let steps = std::mem::take(&mut self.entries[index].steps);
        let (faded, kept): (Vec<_>, Vec<_>) = steps.into_iter().partition(|step| step.is_faded);
        self.entries[index].steps = kept;
        if faded.is_empty() {
            return;
        }
        self.end(&faded, if is_redo { FinalState::Applied } else { FinalState::Undone });
        if self.entries[index].steps.is_empty() {
            self.entries.remove(index);
            self.position = index;
        }
        self.renew_states(index);
    }

    fn renew_states(&mut self, from: usize) {
        for index in from..self.entries.len() {
            let (before, new) = (self.state_at(index), self.new_state());
            let entry = &mut self.entries[index];
            entry.state = if entry.is_significant { new } else { before };
        }
    }

    pub(super) fn begin(&mut self, label: &str) {
        let before = self.document.clone();
        self.open.push(Open { label: label.into(), before, edits: vec![], may_merge: false });
    }

    pub(super) fn commit(&mut self) {
        let open = self.open.pop().unwrap();
        let label = match (open.label.as_str(), &*open.edits) {
            ("", [only]) => only.label.clone(),
            ("", [first, rest @ ..]) if !first.label.is_empty() => {
                format!("{} and {} more", first.label, rest.len())
            }
            (given, _) => given.to_owned(),
        };
        let may_merge = std::mem::take(&mut self.may_merge);
        let steps = open.edits.into_iter().flat_map(|edit| edit.steps).collect();
        if let Some(outer) = self.open.last_mut() {
            outer.may_merge = false;
        }
        self.enter_entry(label, None, steps, false);
        match self.open.last_mut() {
            Some(outer) => (outer.may_merge, self.may_merge) = (false, may_merge),
            None => self.may_merge = false,
        }
        self.trim();
    }

    pub(super) fn rollback(&mut self) {
        let open = self.open.pop().unwrap();
        open.edits.iter().for_each(|edit| self.end(&edit.steps, FinalState::Undone));
        self.document = open.before;
        self.trim();
    }

    fn end_merging(&mut self) {
        self.may_merge = false;
        self.open.iter_mut().last().into_iter().for_each(|open| open.may_merge = false);
    }

    pub(super) fn begin_drag(&mut self, label: &str) {
        self.drags += 1;
        self.drag = Some((label.to_owned(), self.drags));
        self.end_merging();
    }

    pub(super) fn end_drag(&mut self) {
        self.drag = None;
        self.end_merging();
    }

    pub(super) fn forget_drag(&mut self) {
        self.drag = None;
    }

    pub(super) fn mark_saved(&mut self, is_saved: bool) {
        self.saved = is_saved.then(|| self.state());
        self.may_merge &= !is_saved;
    }

    /// What was done before a window that is set where there was none is not merged.
    pub(super) fn set_window(&mut self, window: Option<u64>) {
        if self.window.is_none() {
            self.end_merging();
        }
        self.window = window;
    }

    pub(super) fn clear(&mut self, is_poisoned: bool) {
        if self.entries.is_empty() && !is_poisoned {
            return;
        }
        (self.base, self.base_state) = (self.document.clone(), self.state());
        let applied = std::mem::take(&mut self.position);
        for (index, entry) in std::mem::take(&mut self.entries).into_iter().enumerate() {
            self.end(
                &entry.steps,
                if index < applied { FinalState::Applied } else { FinalState::Undone },
            );
        }
        if is_poisoned {
            self.base_state = self.new_state();
        }
        self.may_merge = false;
    }

    /// An entry could not be put back, of which so many steps are done, and is skipped; what it left is put right.
    pub(super) fn skip(&mut self, index: usize, done: usize) {
        let entry = self.entries.remove(index);
        self.end(&entry.steps[..done], FinalState::Applied);
        self.end(&entry.steps[done..], FinalState::Undone);
        self.position = index;
        self.document = match index {
            0 => self.base.clone(),
            _ => self.entries[index - 1].behind.clone(),
        };
        self.may_merge = false;
        self.base_state = self.new_state();
        self.renew_states(0);
    }

    /// As `skip`, where all entries go.
    pub(super) fn clear_broken(&mut self, index: usize, done: usize) {
        let steps = std::mem::take(&mut self.entries[index].steps);
        self.end(&steps[..done], FinalState::Applied);
        self.end(&steps[done..], FinalState::Undone);
        self.clear(true);
    }
}
