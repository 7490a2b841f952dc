//! What happens to a history, as frames.

use std::cell::RefCell;
use std::rc::Rc;

use super::frame::Kind;
use super::stored::{
    StoredBegun, StoredDone, StoredDropped, StoredEntry, StoredLabel, StoredStacks, Storing,
    payload,
};
use super::writer::{Frames, Writer};
use super::{Around, Record, Recorder};
use crate::history::History;
use crate::history::step::End;
use crate::{ErrorKind, Result};

/// Tells a journal what happens to a history.
pub(super) struct JournalRecorder<T: 'static> {
    journal: Rc<RefCell<Writer>>,
    around: Rc<Around<T>>,
    /// How many classes the journal knows.
    known: usize,
    dropped: StoredDropped,
}

impl<T: 'static> JournalRecorder<T> {
    /// For a journal that knows the classes that there are.
    pub(super) fn new(journal: Rc<RefCell<Writer>>, around: Rc<Around<T>>) -> Self {
        let known = around.classes.borrow().len();
        Self { journal, around, known, dropped: StoredDropped { oldest: 0, undone: 0 } }
    }

    fn frames(&self, record: Record<'_, T>) -> Result<Frames> {
        let mut frames = Frames::new();
        if self.dropped.oldest + self.dropped.undone > 0 {
            frames.push((Kind::Dropped, payload(&self.dropped)?));
        }
        let frame = match record {
            Record::Done { target, label, steps, may_merge } => {
                let storing = Storing { around: &*self.around, is_done: true };
                let steps = storing.steps(steps, target)?;
                if self.around.classes.borrow().len() != self.known {
                    frames.push((Kind::Program, program(&self.around)?));
                }
                let label = StoredLabel::from(label);
                (Kind::Done, payload(&StoredDone { label, may_merge, steps })?)
            }
            Record::Undone => (Kind::Undone, Vec::new()),
            Record::Redone => (Kind::Redone, Vec::new()),
            Record::Begun(label) => (Kind::Begun, payload(&StoredBegun { label: label.into() })?),
            Record::Committed => (Kind::Committed, Vec::new()),
            Record::RolledBack => (Kind::RolledBack, Vec::new()),
            Record::Saved(state) => (Kind::Saved, payload(&state)?),
            Record::Cleared => (Kind::Cleared, Vec::new()),
            Record::Skipped(index) => (Kind::Skipped, payload(&(index as u64))?),
            Record::Floors(floors) => {
                let floors: Vec<u64> = floors.iter().map(|floor| *floor as u64).collect();
                (Kind::Floors, payload(&floors)?)
            }
        };
        frames.push(frame);
        Ok(frames)
    }
}

impl<T: 'static> Recorder<T> for JournalRecorder<T> {
    fn record(&mut self, record: Record<'_, T>) -> Result<()> {
        let must = matches!(record, Record::RolledBack);
        let frames = self.frames(record);
        let mut journal = self.journal.borrow_mut();
        let frames = frames.inspect_err(|error| {
            if !journal.is_strict() {
                journal.lose(error.kind(), error.message());
            }
        })?;
        let result = journal.append(&frames, must);
        if result.is_ok() || must || !journal.is_strict() {
            drop(journal);
            self.begun();
        }
        result
    }

    fn is_strict(&self) -> bool {
        self.journal.borrow().is_strict()
    }

    fn dropped(&mut self, end: End) {
        match end {
            End::Undone => self.dropped.undone += 1,
            End::Applied | End::Merged => self.dropped.oldest += 1,
        }
    }

    fn begun(&mut self) {
        self.dropped = StoredDropped { oldest: 0, undone: 0 };
        self.known = self.around.classes.borrow().len();
    }

    fn lose(&mut self, why: &str) {
        let why = format!("since the target was left half done, {why}");
        self.journal.borrow_mut().lose(ErrorKind::Poisoned, &why);
    }
}

/// What the frames behind it are written by.
pub(super) fn program<T: 'static>(around: &Around<T>) -> Result<Vec<u8>> {
    payload(&around.classes.borrow().program()?)
}

impl<T: 'static> History<T> {
    /// What a journal begins with: the history as it is, and as it is with the target saved in its state, if it is.
    pub(super) fn begin_journal(&mut self, target: &T, is_saved: bool) -> Result<Frames> {
        let storing = Storing { around: &*self.around, is_done: false };
        let mut frames = vec![(Kind::Program, program(&self.around)?)];
        let saved = if is_saved { Some(self.state()) } else { self.saved };
        let stacks = StoredStacks {
            entries: self.ring.len() as u64,
            position: self.position() as u64,
            base: self.base,
            last_state: self.last_state,
            saved,
            floors: self.floors.iter().map(|floor| *floor as u64).collect(),
            poison: self.poison.as_ref().map(Into::into),
        };
        frames.push((Kind::Stacks, payload(&stacks)?));
        for index in 0..self.ring.len() {
            let Some(entry) = self.ring.get_mut(index) else { continue };
            let label = (&entry.label).into();
            let steps = storing.steps(&mut entry.steps, target)?;
            let stored = StoredEntry { label, state: entry.state, steps };
            frames.push((Kind::Entry, payload(&stored)?));
        }
        Ok(frames)
    }
}
