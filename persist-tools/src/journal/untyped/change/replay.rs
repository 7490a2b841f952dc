//! The replay of a journal on its save, without the program's types.
//!
//! It applies the values in the [listing](JournalListing) of the journal. It also keeps the list of entries, since an
//! undo reverts whichever entry is current: a wrong guess about which edits were merged would undo the wrong edit.
//! Where only the program knows, an entry is *uncertain*, and an undo of it stops the replay.

use std::collections::{BTreeMap, VecDeque};

use persist::__tools::{Direction, Merging, place, wrong};
use persist::history::Verb;
use persist::{Error, ErrorKind, ObjectId, Result, Value};

use super::{ReplayTarget, ReplayedChange, flatten};
use crate::Document;
use crate::journal::listing::{JournalListing, ListedEvent, ListedStep, Occurrence};

/// The result of [`JournalListing::replay`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Replayed {
    /// The number of events of the journal that were applied to the save.
    pub events: usize,
    /// Why the next event could not be applied, if that was asked for: only its program can.
    pub stopped: Option<Error>,
}

impl JournalListing {
    /// Changes the save that the journal follows to its state after the first `events` of its [events](Self::events).
    ///
    /// The types of the program are not needed. The replay stops before an event that only the code of the program can
    /// apply:
    ///
    /// - a command that changes its target directly;
    /// - an undo of edits that the program merged in a way of its own;
    /// - a change that does not fit the save, or whose values the listing does not have.
    ///
    /// It does not check whether the save is the one that the journal [follows](Self::follows).
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if the journal has fewer events, or the save does not have exactly one value.
    /// Returns [`ErrorKind::InvalidValue`] if the save is of a world that no program could load.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::history::{History, Session};
    /// use persist::{Saves, World};
    /// use persist_tools::{Document, JournalListing};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (save, journal) = (folder.path().join("level.sav"), folder.path().join("level.journal"));
    /// let options = Session::<World>::with(Saves::new(), History::new(10));
    /// let (mut session, _) = options.open(&save, &journal)?;
    /// session.save()?;
    /// session.edit("Build", |edit| edit.spawn("House"))?;
    /// session.edit("Build", |edit| edit.spawn("Tower"))?;
    /// drop(session);
    ///
    /// // Another program, which wants the level as it was before the tower.
    /// let mut level = Document::open(&save)?;
    /// let replayed = JournalListing::read(&journal)?.replay(&mut level, 1)?;
    /// assert!(replayed.stopped.is_none());
    /// assert!(level.to_string().contains("House"));
    /// assert!(!level.to_string().contains("Tower"));
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn replay(&self, save: &mut Document, events: usize) -> Result<Replayed> {
        let Some(expected) = self.events.get(..events) else {
            let count = self.events.len();
            let message = format!("the journal has {count} events, and not {events}");
            return Err(Error::new(ErrorKind::NotFound, message));
        };
        let mut replay = StoredReplay::new(self, Some(ReplayTarget::new(save, self.bytes)?));
        let mut done = 0;
        let stopped = expected.iter().find_map(|event| {
            let failed = replay.event(event).err();
            done += usize::from(failed.is_none());
            failed
        });
        replay.target.into_iter().for_each(ReplayTarget::end);
        Ok(Replayed { events: done, stopped })
    }

    /// Returns, for each event since the journal began, the event that made the entry which it undoes or redoes. `None`
    /// for other events, and after one whose entry only the program knows.
    #[doc(hidden)]
    #[must_use]
    pub fn subjects(&self) -> Vec<Option<&ListedEvent>> {
        let mut replay = StoredReplay::new(self, None);
        let mut is_known = true;
        let subject = |event: &'_ ListedEvent, replay: &StoredReplay<'_, '_>| match event.what {
            Occurrence::Undone | Occurrence::Skipped(false) => replay.applied.checked_sub(1),
            Occurrence::Redone | Occurrence::Skipped(true) => Some(replay.applied),
            _ => None,
        };
        let subjects = self.events.iter().map(|event| {
            let entry = subject(event, &replay).filter(|_| is_known);
            let labelled =
                entry.and_then(|entry| replay.entries.get(entry)).and_then(|it| it.labelled());
            is_known &= replay.event(event).is_ok();
            labelled
        });
        subjects.collect()
    }
}

/// An entry of the history, as the edits that were merged into it.
#[derive(Default)]
struct ReplayedEntry<'j> {
    edits: Vec<ReplayedEdit<'j>>,
    /// The beginning of the transaction that it was.
    begun: Option<&'j ListedEvent>,
    /// True if it may be part of another entry, or several entries: only the program knows how commands merge.
    is_uncertain: bool,
    /// The fields that its edits set. Present once an edit may merge into it.
    fields: Option<SetFields<'j>>,
}

struct ReplayedEdit<'j> {
    event: &'j ListedEvent,
    /// The changes in their order. Present once they were needed.
    changes: Option<Vec<ReplayedChange<'j>>>,
}

impl<'j> ReplayedEdit<'j> {
    fn changes(&mut self) -> Result<&mut Vec<ReplayedChange<'j>>> {
        if self.changes.is_none() {
            let mut changes = Vec::new();
            flatten(&self.event.steps, &self.event.classes, &mut changes)?;
            self.changes = Some(changes);
        }
        Ok(self.changes.get_or_insert_default())
    }
}

impl<'j> ReplayedEntry<'j> {
    fn from_event(event: &'j ListedEvent) -> Self {
        Self { edits: vec![ReplayedEdit { event, changes: None }], ..Self::default() }
    }

    /// Returns the event that has its label.
    fn labelled(&self) -> Option<&'j ListedEvent> {
        self.begun.or_else(|| self.edits.first().map(|edit| edit.event))
    }

    /// Applies or reverts its changes, all or none. Without a target there is nothing to do.
    fn run(&mut self, target: &mut Option<ReplayTarget<'_>>, direction: Direction) -> Result<()> {
        let Some(target) = target else { return Ok(()) };
        let mut changes = Vec::new();
        for edit in &mut self.edits {
            changes.extend(edit.changes()?);
        }
        if direction == Direction::Undo {
            changes.reverse();
        }
        for at in 0..changes.len() {
            if let Err(error) = changes[at].make(target, direction) {
                // A replay that stops leaves a state in which the program has been.
                for change in changes[..at].iter_mut().rev() {
                    change.make(target, direction.reversed())?;
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Returns whether an edit was merged into this entry. `None` if only the program knows.
    fn merges(&mut self, event: &'j ListedEvent) -> Option<bool> {
        let joins = event.merging == Merging::Join;
        if self.is_uncertain {
            return None;
        }
        if !joins && self.edits.first().is_some_and(|first| first.event.label != event.label) {
            return Some(false);
        }
        let edits = &self.edits;
        // Kept with the entry. To collect them for each edit of a long drag took quadratic time.
        let fields = self.fields.get_or_insert_with(|| {
            let mut fields = SetFields::default();
            edits.iter().for_each(|edit| fields.add(&edit.event.steps));
            fields
        });
        let mut new = SetFields::default();
        new.add(&event.steps);
        if fields.is_more || new.is_more {
            let is_known = !(fields.has_command && new.has_command);
            fields.add(&event.steps);
            // Changes other than of fields are not merged. If the edits join, they are further steps.
            return is_known.then_some(joins);
        }
        if !joins && new.ends.keys().any(|field| fields.overlaps(field)) {
            return None;
        }
        if !joins && !new.ends.keys().any(|field| fields.ends.contains_key(field)) {
            return Some(false);
        }
        fields.add(&event.steps);
        // If all fields have their old values again, nothing is left to undo, and the program may have dropped the
        // entry.
        (fields.changed > 0).then_some(true)
    }
}

type FieldKey = (Option<ObjectId>, String);

/// The characters that can begin a step of a path.
const STEPS: [char; 3] = ['.', '[', ':'];

/// The fields that steps set.
#[derive(Default)]
struct SetFields<'j> {
    /// For each field, the values before and after all steps.
    ends: BTreeMap<FieldKey, [&'j Value; 2]>,
    /// The number of fields whose value differs after the steps.
    changed: usize,
    /// True if some steps do something else than set a field.
    is_more: bool,
    has_command: bool,
}

impl<'j> SetFields<'j> {
    fn add(&mut self, steps: &'j [ListedStep]) {
        for step in steps {
            let Some((field, [old, new])) = setting(step) else {
                self.is_more = true;
                self.has_command |= matches!(step, ListedStep::Command { .. });
                continue;
            };
            let ends = self.ends.entry(field).or_insert([old, old]);
            let had_changed = ends[0] != ends[1];
            ends[1] = new;
            let has_changed = ends[0] != ends[1];
            self.changed = self.changed + usize::from(has_changed) - usize::from(had_changed);
        }
    }

    /// True if a field contains one of these, or is contained in one, so that their order matters.
    fn overlaps(&self, (object, path): &FieldKey) -> bool {
        let mut outer = path.match_indices(STEPS).map(|(at, _)| path[..at].to_owned());
        let is_below = |step: char| {
            // Fields inside of `path` follow it in the order of the keys, so one look-up finds one of them. A search
            // through all fields made a drag over many objects quadratic.
            let begin = format!("{path}{step}");
            let next = self.ends.range((*object, begin.clone())..).next();
            next.is_some_and(|((other, inner), _)| other == object && inner.starts_with(&begin))
        };
        outer.any(|outer| self.ends.contains_key(&(*object, outer)))
            || STEPS.into_iter().any(is_below)
    }
}

struct StoredReplay<'j, 's> {
    /// `None` if only the history is replayed.
    target: Option<ReplayTarget<'s>>,
    entries: VecDeque<ReplayedEntry<'j>>,
    /// The number of entries that are applied.
    applied: usize,
    open: Vec<ReplayedEntry<'j>>,
}

impl<'j, 's> StoredReplay<'j, 's> {
    fn new(listing: &'j JournalListing, target: Option<ReplayTarget<'s>>) -> Self {
        let entries: VecDeque<_> = listing.entries.iter().map(ReplayedEntry::from_event).collect();
        // A damaged journal may claim more entries than it has.
        let applied = place(listing.applied).unwrap_or(usize::MAX).min(entries.len());
        Self { target, entries, applied, open: Vec::new() }
    }

    fn event(&mut self, event: &'j ListedEvent) -> Result<()> {
        match event.what {
            Occurrence::Done | Occurrence::Aside => {
                let mut entry = ReplayedEntry::from_event(event);
                entry.run(&mut self.target, Direction::Redo)?;
                if let (Some(last), Some(target)) = (event.last_id, &mut self.target) {
                    target.reserve_ids(last)?;
                }
                if event.what == Occurrence::Aside {
                    return Ok(());
                }
                match self.open.last_mut() {
                    Some(open) => {
                        // Merged edits that cancel each other out may leave an empty transaction, which the program did
                        // not enter.
                        open.is_uncertain |= event.merging != Merging::No;
                        open.edits.append(&mut entry.edits);
                    }
                    None => self.enter(entry),
                }
            }
            Occurrence::Undone => {
                let index = self.applied.checked_sub(1).ok_or_else(nothing)?;
                self.move_entry(index, Direction::Undo)?;
                self.applied = index;
            }
            Occurrence::Redone => {
                self.move_entry(self.applied, Direction::Redo)?;
                self.applied += 1;
            }
            Occurrence::Begun => {
                self.open.push(ReplayedEntry { begun: Some(event), ..ReplayedEntry::default() });
            }
            Occurrence::Committed => {
                let closed = self.open.pop().ok_or_else(nothing)?;
                match self.open.last_mut() {
                    Some(outer) => {
                        outer.is_uncertain |= closed.is_uncertain;
                        outer.edits.extend(closed.edits);
                    }
                    None if closed.edits.is_empty() => {}
                    None => self.append(closed),
                }
            }
            Occurrence::RolledBack => {
                let open = self.open.last_mut().ok_or_else(nothing)?;
                open.run(&mut self.target, Direction::Undo)?;
                self.open.pop();
            }
            Occurrence::Cleared => {
                self.entries.clear();
                self.applied = 0;
            }
            Occurrence::Skipped(false) => {
                self.applied = self.applied.checked_sub(1).ok_or_else(nothing)?;
            }
            Occurrence::Skipped(true) => {
                self.entries.get(self.applied).ok_or_else(nothing)?;
                self.applied += 1;
            }
            Occurrence::Dropped(Some(index)) => {
                let index = place(index)?;
                self.entries.get(index).ok_or_else(nothing)?;
                if self.entries.range(..=index).any(|entry| entry.is_uncertain) {
                    return Err(uncertain());
                }
                self.entries.remove(index);
                self.applied -= usize::from(index < self.applied);
            }
            Occurrence::Evicted(oldest, undone) => {
                for _ in 0..oldest {
                    // An entry that may be several stays: how many of them were evicted is not known.
                    match self.entries.front() {
                        Some(entry) if self.applied > 0 && !entry.is_uncertain => {
                            self.entries.pop_front();
                            self.applied -= 1;
                        }
                        _ => break,
                    }
                }
                let undone = place(undone)?.min(self.entries.len() - self.applied);
                self.entries.truncate(self.entries.len() - undone);
            }
            Occurrence::Dropped(None) | Occurrence::Saved(_) | Occurrence::Entry => {}
        }
        Ok(())
    }

    /// Undoes or redoes an entry.
    fn move_entry(&mut self, index: usize, direction: Direction) -> Result<()> {
        // A history refuses undo and redo in a transaction, so no intact journal has them there.
        let entry = self.entries.get_mut(index).filter(|_| self.open.is_empty());
        let entry = entry.ok_or_else(nothing)?;
        if entry.is_uncertain {
            return Err(uncertain());
        }
        entry.run(&mut self.target, direction)
    }

    /// Enters an edit: merges it into the current entry if the program did, or appends it.
    fn enter(&mut self, mut entry: ReplayedEntry<'j>) {
        self.entries.truncate(self.applied);
        if let (Some(last), [edit]) = (self.entries.back_mut(), &entry.edits[..])
            && edit.event.merging != Merging::No
        {
            let is_merged = last.merges(edit.event);
            last.is_uncertain |= is_merged.is_none();
            if is_merged != Some(false) {
                return last.edits.append(&mut entry.edits);
            }
        }
        self.append(entry);
    }

    fn append(&mut self, entry: ReplayedEntry<'j>) {
        self.entries.truncate(self.applied);
        self.entries.push_back(entry);
        self.applied = self.entries.len();
    }
}

/// The field that a step sets, and its values before and after.
fn setting(step: &ListedStep) -> Option<(FieldKey, [&Value; 2])> {
    match step {
        ListedStep::Change {
            verb: Verb::Set,
            object,
            path: Some(path),
            old: Some(old),
            new: Some(new),
            ..
        } => Some(((*object, path.to_string()), [old, new])),
        _ => None,
    }
}

#[cold]
fn nothing() -> Error {
    wrong("an event that is not possible there")
}

#[cold]
fn uncertain() -> Error {
    let message =
        "only its program knows which edits were merged into the entry that is undone or redone";
    Error::new(ErrorKind::Unsupported, message)
}
