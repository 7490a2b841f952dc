//! The state of a save after some events of its journal, by the values that the listing of the journal has.

use std::collections::{BTreeMap, VecDeque};

use super::listing::{JournalListing, ListedEvent, ListedStep, Occurrence};
use super::stored::{place, wrong};
use super::stored_change::{ReplayTarget, ReplayedChange, flatten};
use crate::fields::Direction;
use crate::history::Verb;
use crate::history::merging::Merging;
use crate::{Document, Error, ErrorKind, ObjectId, Result, Value};

/// How far a save was brought by [`JournalListing::replay`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Replayed {
    /// After how many events of the journal the save is.
    pub events: usize,
    /// What the next event does that only its program can do, if the save is not as far as was asked for.
    pub stopped: Option<Error>,
}

impl JournalListing {
    /// Brings the save that the journal follows to the state after that many of its [`events`](Self::events).
    ///
    /// The types of the program are not needed. What only its code can do ends the replay before that event: direct
    /// commands, undos of edits that the program merged in its own way, and changes that do not go with the
    /// save or that the listing has no values for. Whether the save is the one that the journal
    /// [follows](Self::follows) is not checked.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the journal has fewer events, or the save is none of one value;
    /// [`ErrorKind::InvalidValue`] if it is that of a world that no program loads.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::history::{History, JournalListing, Session};
    /// use persist::{Document, Saves, World};
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
        let Some(wanted) = self.events.get(..events) else {
            let count = self.events.len();
            let message = format!("the journal has {count} events, and not {events}");
            return Err(Error::new(ErrorKind::NotFound, message));
        };
        let mut replay = StoredReplay::new(self, ReplayTarget::of(save, self.bytes)?);
        let mut done = 0;
        let stopped = wanted.iter().find_map(|event| {
            let failed = replay.event(event).err();
            done += usize::from(failed.is_none());
            failed
        });
        replay.target.end();
        Ok(Replayed { events: done, stopped })
    }
}

/// An entry of the history: the edits that it is made of.
#[derive(Default)]
struct ReplayedEntry<'j> {
    edits: Vec<ReplayedEdit<'j>>,
    /// True if it may be no entry of its own, or more than one: how commands merge only the program knows.
    is_uncertain: bool,
    /// What it sets, once an edit is to be merged into it.
    fields: Option<SetFields<'j>>,
}

struct ReplayedEdit<'j> {
    event: &'j ListedEvent,
    /// In their order, once they were needed.
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
    fn of(event: &'j ListedEvent) -> Self {
        Self { edits: vec![ReplayedEdit { event, changes: None }], ..Self::default() }
    }

    /// Makes or undoes its changes: all of them, or none.
    fn run(&mut self, target: &mut ReplayTarget<'_>, direction: Direction) -> Result<()> {
        let mut changes = Vec::new();
        for edit in &mut self.edits {
            changes.extend(edit.changes()?);
        }
        if direction == Direction::Undo {
            changes.reverse();
        }
        for at in 0..changes.len() {
            if let Err(error) = changes[at].make(target, direction) {
                for change in changes[..at].iter_mut().rev() {
                    change.make(target, direction.reversed())?;
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Whether an edit became a part of it; `None` if only the program knows.
    fn merges(&mut self, event: &'j ListedEvent) -> Option<bool> {
        let joins = event.merging == Merging::Join;
        if self.is_uncertain {
            return None;
        }
        if !joins && self.edits.first().is_some_and(|first| first.event.label != event.label) {
            return Some(false);
        }
        let edits = &self.edits;
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
            // Elements and objects that come and go stay steps of their own.
            return is_known.then_some(joins);
        }
        if !joins && new.ends.keys().any(|field| fields.meets(field)) {
            return None;
        }
        if !joins && !new.ends.keys().any(|field| fields.ends.contains_key(field)) {
            return Some(false);
        }
        fields.add(&event.steps);
        // What is set back to what it was leaves nothing to be undone, and the entry goes.
        (fields.changed > 0).then_some(true)
    }
}

type FieldKey = (Option<ObjectId>, String);

/// What begins a step of a path.
const STEPS: [char; 3] = ['.', '[', ':'];

/// The fields that steps set.
#[derive(Default)]
struct SetFields<'j> {
    /// Their values before and after all steps.
    ends: BTreeMap<FieldKey, [&'j Value; 2]>,
    /// How many have another value after the steps.
    changed: usize,
    /// True if some steps do more than set fields.
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
            let before = ends[0] != ends[1];
            ends[1] = new;
            let after = ends[0] != ends[1];
            self.changed = self.changed + usize::from(after) - usize::from(before);
        }
    }

    /// True if a field is a part of one of these, or the other way around: their order counts.
    fn meets(&self, (object, path): &FieldKey) -> bool {
        let mut outer = path.match_indices(STEPS).map(|(at, _)| path[..at].to_owned());
        let is_below = |step: char| {
            let begin = format!("{path}{step}");
            let next = self.ends.range((*object, begin.clone())..).next();
            next.is_some_and(|((other, inner), _)| other == object && inner.starts_with(&begin))
        };
        outer.any(|outer| self.ends.contains_key(&(*object, outer)))
            || STEPS.into_iter().any(is_below)
    }
}

struct StoredReplay<'j, 's> {
    target: ReplayTarget<'s>,
    entries: VecDeque<ReplayedEntry<'j>>,
    /// How many of them are applied.
    applied: usize,
    open: Vec<ReplayedEntry<'j>>,
}

impl<'j, 's> StoredReplay<'j, 's> {
    fn new(listing: &'j JournalListing, target: ReplayTarget<'s>) -> Self {
        let entries: VecDeque<_> = listing.entries.iter().map(ReplayedEntry::of).collect();
        let applied = place(listing.applied).unwrap_or(usize::MAX).min(entries.len());
        Self { target, entries, applied, open: Vec::new() }
    }

    fn event(&mut self, event: &'j ListedEvent) -> Result<()> {
        match event.what {
            Occurrence::Done => {
                let mut entry = ReplayedEntry::of(event);
                entry.run(&mut self.target, Direction::Redo)?;
                if let Some(last) = event.last_id {
                    self.target.give_behind(last)?;
                }
                match self.open.last_mut() {
                    Some(open) => {
                        // Merged edits that cancel each other out leave an empty transaction, which is no entry.
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
            Occurrence::Begun => self.open.push(ReplayedEntry::default()),
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
                    // One that may be several stays: where it ends is not known.
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
        let entry = self.entries.get_mut(index).filter(|_| self.open.is_empty());
        let entry = entry.ok_or_else(nothing)?;
        if entry.is_uncertain {
            return Err(uncertain());
        }
        entry.run(&mut self.target, direction)
    }

    /// Enters an edit that was done, as a part of the entry before it if it was merged into that.
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
