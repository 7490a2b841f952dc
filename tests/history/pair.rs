//! A history beside a naive one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use persist::history::{Drag, Edit, FinalState, MergeWindow};
use persist::{Error, ErrorKind, Result};
use proptest::sample;

use super::act::{Act, FADED};
use super::calls::How;
use super::document::{Document, Editor, Events, Fault, HistoryEvent, fault, panics, refused};
use super::model::Model;
use super::steps::{Leaf, Step};

/// A history beside its naive twin.
pub(super) struct Pair {
    pub(super) editor: Editor,
    pub(super) model: Model,
    last_id: usize,
    pub(super) time: Arc<AtomicU64>,
    pub(super) drag: Option<Drag>,
    pub(super) events: Events,
    /// The values that were told last.
    pub(super) told: Vec<HistoryEvent>,
    pub(super) states: BTreeMap<usize, u64>,
    pub(super) ended: BTreeSet<String>,
}

/// What came of an edit in the model.
pub(super) struct Edited {
    pub(super) steps: Vec<Step>,
    /// The number of each command.
    pub(super) ids: Vec<usize>,
    fails: bool,
}

impl Pair {
    pub(super) fn new(capacity: Option<usize>) -> Self {
        let mut editor = capacity.map_or_else(Editor::new, Editor::of);
        let (time, events) = (Arc::new(AtomicU64::new(0)), editor.listen());
        let clock = Arc::clone(&time);
        let clock = move || Duration::from_millis(clock.load(Ordering::Relaxed));
        editor.history.set_merge_window(MergeWindow::with_clock(Duration::MAX, clock));
        FADED.take();
        Self {
            told: values(&editor),
            editor,
            model: Model::new(capacity),
            last_id: 0,
            time,
            events,
            drag: None,
            states: BTreeMap::new(),
            ended: BTreeSet::new(),
        }
    }

    /// Does commands in the model.
    pub(super) fn perform(&mut self, leaves: &[Leaf], how: How) -> Edited {
        let before = self.model.document.clone();
        let (mut steps, mut ids, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        let kept = if let How::Parted = how { 1 } else { leaves.len() };
        let mut parted = None;
        for (at, leaf) in leaves.iter().enumerate() {
            if at == kept {
                parted = Some(self.model.document.clone());
            }
            // Nothing is asked of a command that does nothing, so that it cannot fail.
            let is_asked = !self.model.is_nothing(leaf);
            ids.push(self.last_id + 1);
            let step = self.model.perform(leaf, &mut self.last_id);
            let is_last = at + 1 == leaves.len();
            if is_last && is_asked && matches!(how, How::Refused | How::Panics) {
                self.model.end(&steps, FinalState::Undone);
                self.model.forget(&step);
                self.model.document = before;
                return Edited { steps: vec![], ids, fails: true };
            }
            if at < kept { steps.extend(step) } else { lost.extend(step) }
        }
        self.model.end(&lost, FinalState::Undone);
        if let Some(parted) = parted {
            self.model.document = parted;
        }
        Edited { steps, ids, fails: false }
    }

    pub(super) fn apply(&mut self, leaf: &Leaf, how: How) {
        let leaves = std::slice::from_ref(leaf);
        let how = if let How::Parted = how { How::Well } else { how };
        let edited = self.perform(leaves, how);
        self.run_edit(&edited, how, |editor| {
            let act = Act::of(&editor.document, leaf, edited.ids[0]);
            editor.apply(act)
        });
        self.model.enter("", edited.steps, false);
    }

    pub(super) fn edit(&mut self, key: Option<u8>, label: &str, leaves: &[Leaf], how: How) {
        let edited = self.perform(leaves, how);
        let ids = &edited.ids;
        self.run_edit(&edited, how, |editor| {
            let act = |edit: &mut Edit<'_, Document>| {
                let kept = if let How::Parted = how { 1.min(leaves.len()) } else { leaves.len() };
                act_all(edit, &leaves[..kept], ids)?;
                if kept < leaves.len() {
                    let part = edit.part(|part| {
                        act_all(part, &leaves[kept..], &ids[kept..])?;
                        Err::<(), _>(Error::new(ErrorKind::Refused, "the part"))
                    });
                    refused(part, ErrorKind::Refused);
                }
                Ok(())
            };
            let (history, document) = (&mut editor.history, &mut editor.document);
            match key {
                Some(key) => history.edit_merging(document, key, label, act),
                None => history.edit(document, label, act),
            }
        });
        self.model.enter_as(label, key, edited.steps, false);
    }

    fn run_edit(
        &mut self,
        edited: &Edited,
        how: How,
        edit: impl FnOnce(&mut Editor) -> Result<()>,
    ) {
        let line = edited.ids.last().map(|id| format!("apply {id}")).unwrap_or_default();
        match how {
            How::Refused if edited.fails => {
                fault(&line, Fault::Refuse);
                refused(edit(&mut self.editor), ErrorKind::Refused);
            }
            How::Panics if edited.fails => {
                fault(&line, Fault::Panic);
                panics(|| edit(&mut self.editor).unwrap());
            }
            _ => edit(&mut self.editor).unwrap(),
        }
    }

    pub(super) fn step(&mut self, is_redo: bool, fails: Option<sample::Index>) {
        if self.model.is_open() {
            let step = if is_redo { self.editor.redo() } else { self.editor.undo() };
            refused(step, ErrorKind::OpenTransaction);
            return;
        }
        let next = self.model.next(is_redo);
        let fails = next.and_then(|index| Some((index, fails?)));
        let fails = fails.filter(|(index, _)| self.may_fail(*index));
        if let Some((index, fails)) = fails {
            self.fault_in(index, is_redo, fails);
        }
        let step = if is_redo { self.editor.redo() } else { self.editor.undo() };
        match fails {
            Some(_) => drop(refused(step, ErrorKind::Refused)),
            None => assert_eq!(step.unwrap(), next.is_some()),
        }
        self.model.run(is_redo, fails.is_some());
    }

    /// Whether there is a command in an entry: one that was merged back to the start may have none.
    fn may_fail(&self, index: usize) -> bool {
        !self.model.entries[index].steps.is_empty()
    }

    /// One of the commands of an entry will be refused.
    fn fault_in(&self, index: usize, is_redo: bool, which: sample::Index) {
        let steps = &self.model.entries[index].steps;
        let running: Vec<_> = steps.iter().flat_map(Step::running).collect();
        let verb = if is_redo { "redo" } else { "undo" };
        fault(&format!("{verb} {}", which.get(&running)), Fault::Refuse);
    }

    pub(super) fn go_to(&mut self, to: usize, fails: Option<sample::Index>) {
        let (from, model) = (self.model.position, &self.model);
        if model.is_open() || to > model.entries.len() {
            let kind =
                if model.is_open() { ErrorKind::OpenTransaction } else { ErrorKind::NotFound };
            refused(self.editor.go_to(to), kind);
            return;
        }
        let is_redo = to > from;
        let path: Vec<_> = if is_redo { (from..to).collect() } else { (to..from).rev().collect() };
        let fails =
            fails.filter(|_| !path.is_empty()).map(|fails| (fails.index(path.len()), fails));
        let fails = fails.filter(|(at, _)| self.may_fail(path[*at]));
        if let Some((at, fails)) = fails {
            self.fault_in(path[at], is_redo, fails);
        }
        let gone = self.editor.go_to(to);
        assert_eq!(gone.is_err(), fails.is_some(), "{gone:?}");
        for at in 0..path.len() {
            let is_last = fails.is_some_and(|(last, _)| at == last);
            self.model.run(is_redo, is_last);
            if is_last {
                break;
            }
        }
    }

    /// An undo that fails, and is not redone either.
    pub(super) fn break_undo(&mut self, is_cleared: bool) {
        let Some(index) = self.model.next(false) else { return };
        let steps = &self.model.entries[index].steps;
        let ([first, .., last], false) = (&**steps, steps.iter().any(Step::is_pack)) else {
            return;
        };
        let done = steps.len() - 1;
        fault(&format!("undo {}", first.id), Fault::Refuse);
        fault(&format!("redo {}", last.id), Fault::Refuse);
        refused(self.editor.undo(), ErrorKind::Refused);
        let Editor { history, document } = &mut self.editor;
        let poison = history.poison().expect("a poison");
        assert_eq!((poison.entry, poison.step), (Some(index), done));
        assert!(history.is_modified() && !history.can_undo() && !history.can_redo());
        refused(history.undo(document), ErrorKind::Poisoned);
        // What can be redone was done to a document with what is skipped.
        if is_cleared || history.position() < history.entries().len() {
            history.clear(document).unwrap();
            self.model.clear_broken(index, done);
        } else {
            history.drop_entry(document).unwrap();
            self.model.skip(index, done);
        }
        self.editor.document = self.model.document.clone();
    }

    pub(super) fn scope(&mut self, label: &str, leaves: &[Leaf], is_committed: bool) {
        let middle = leaves.len() / 2;
        self.model.begin(label);
        let mut ids = Vec::new();
        for (at, leaf) in leaves.iter().enumerate() {
            if at == middle {
                self.model.begin("");
            }
            let edited = self.perform(std::slice::from_ref(leaf), How::Well);
            ids.extend(edited.ids);
            self.model.enter("", edited.steps, false);
        }
        if !leaves.is_empty() {
            self.model.commit();
        }
        if is_committed {
            self.model.commit();
        } else {
            self.model.rollback();
        }
        let Editor { history, document } = &mut self.editor;
        let mut scope = || -> Result<()> {
            history.begin(label)?;
            let acts = leaves.iter().zip(&ids);
            for (leaf, id) in acts.clone().take(middle) {
                let act = Act::of(document, leaf, *id);
                history.apply(document, act)?;
            }
            history.begin("")?;
            for (leaf, id) in acts.skip(middle) {
                let act = Act::of(document, leaf, *id);
                history.apply(document, act)?;
            }
            history.commit(document)?;
            if is_committed { history.commit(document) } else { history.rollback(document) }
        };
        scope().unwrap();
    }
}

/// Does commands with these numbers.
fn act_all(edit: &mut Edit<'_, Document>, leaves: &[Leaf], ids: &[usize]) -> Result<()> {
    leaves.iter().zip(ids).try_for_each(|(leaf, id)| {
        let act = Act::of(edit, leaf, *id);
        edit.apply(act)
    })
}

/// What events tell of.
pub(super) fn values(editor: &Editor) -> Vec<HistoryEvent> {
    let history = &editor.history;
    vec![
        HistoryEvent::Position(history.position()),
        HistoryEvent::State(history.state()),
        HistoryEvent::CanUndo(history.can_undo()),
        HistoryEvent::UndoText(history.undo_text()),
        HistoryEvent::CanRedo(history.can_redo()),
        HistoryEvent::RedoText(history.redo_text()),
        HistoryEvent::Modified(history.is_modified()),
    ]
}
