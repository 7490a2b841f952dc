//! Replays a journal: rebuilds target and history by doing its events again.
//!
//! The beginning of a journal has the entries that the history had. They are restored as data. Each later frame is an
//! event, which goes through the same code as the original call. The engine enters and merges an edit, and an undo runs
//! the steps of an entry. So merges, limits and states come out the same. The numbers in a journal are checked against
//! what a history can be, since a corrupt or malicious journal must not break the program.

use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hashbrown::HashSet;

use super::{Programs, RecordedComponents};
use crate::fields::{ChangeState, Direction, EditedWorld as _, Owner};
use crate::history::change::step::{FinalState, restored_change, run_all, unrefreshed};
use crate::history::change::{Change, all_in_bytes};
use crate::history::journal::frame::{Frame, FrameKind, FrameReader};
use crate::history::journal::stored::{
    StoredDone, StoredEvicted, StoredStep, fields_of, place, read, wrong,
};
use crate::history::journal::{
    ComponentKey, FiledEntries, RecordedContent, ReplayOutcome, StoredContent, StoredEntry,
    StoredStacks, restored, spill,
};
use crate::history::{
    Failure, History, Label, MergeTarget, Recording, StateNumbers, Step, UndoEntry, guarded, world,
    world_mut,
};
use crate::{ErrorKind, Result};

/// More states than any history can reach. It keeps sums with a state from overflowing.
const MAX_STATES: u64 = 1 << 62;

/// How much of the beginning of a journal was read.
enum ReplayStart {
    No,
    /// Some entries were read. If they have to be migrated, they wait until all are there.
    Entries(Box<StoredStacks>, Vec<StoredEntry>),
    Yes,
}

struct Replay<'r, 'p, T: 'static> {
    history: &'r mut History<T>,
    target: &'r mut T,
    programs: &'r mut Programs<'p>,
    contents: RecordedComponents,
    /// Reads the content that the save has of a target that is not a world.
    saved: &'r dyn Fn() -> Option<Vec<u8>>,
    begun: ReplayStart,
    /// The components whose fields the entries at the beginning change.
    needed: HashSet<ComponentKey>,
    /// The components and resources that changed since their `after_load` functions ran. They run once for many edits.
    stale: HashSet<(Owner, String)>,
}

/// Replays the frames before an offset. Listeners are not notified.
pub(in crate::history::journal) fn replay<T: 'static>(
    history: &mut History<T>,
    target: &mut T,
    (reader, saved): (&mut FrameReader, &dyn Fn() -> Option<Vec<u8>>),
    programs: &mut Programs<'_>,
    until: u64,
) -> io::Result<ReplayOutcome> {
    let contents = RecordedComponents::default();
    let (begun, stale) = (ReplayStart::No, HashSet::new());
    history.report_all(target);
    let needed = HashSet::new();
    let mut replay = Replay { history, target, programs, contents, saved, begun, needed, stale };
    let mut outcome = ReplayOutcome { length: until, ..ReplayOutcome::default() };
    let (mut position, mut is_renewed, mut end) = (None, false, 0);
    while reader.scan.end < until {
        let open = reader.scan.open;
        end = reader.scan.end;
        let Some(frame) = reader.next_frame()? else { break };
        let was_poisoned = replay.history.poison.is_some();
        let result = catch_unwind(AssertUnwindSafe(|| replay.frame(&frame)));
        let (error, is_broken) = match result {
            Ok(Ok(())) => {
                use FrameKind::{Committed, Done, Insignificant, Program, Redone, Undone};
                if frame.kind == Program {
                    is_renewed |= !outcome.program.is_empty();
                    outcome.program = frame.payload.to_vec();
                }
                let is_step =
                    matches!(frame.kind, Done | Insignificant | Committed | Undone | Redone);
                if reader.scan.open.is_none() {
                    // An edit that was merged or rolled back is not a step of its own.
                    let previous = position.replace(replay.history.ring.position());
                    outcome.steps += u64::from(is_step && previous != position);
                }
                (outcome.events, outcome.sequence) = (reader.scan.events, reader.scan.sequence);
                continue;
            }
            Ok(Err(failure)) => {
                let is_poisoned = replay.history.poison.is_some() && !was_poisoned;
                (failure.error, failure.broken.is_some() || is_poisoned)
            }
            Err(_) => (error!(ErrorKind::Poisoned, "a command panicked when it was redone"), true),
        };
        outcome.failed = Some(error.moved_to(frame.offset));
        outcome.is_broken = is_broken || open.is_some();
        outcome.length = frame.offset;
        if let Some(open) = open {
            (outcome.length, outcome.sequence) = (open.offset, open.previous);
        }
        break;
    }
    if let Err(failure) = guarded(|| Ok(replay.refresh()?)) {
        outcome.failed.get_or_insert(failure.error.moved_to(outcome.length));
    }
    outcome.skipped = replay.programs.skipped();
    if let Some(error) = reader.scan.damage.take() {
        // A frame names entries that are not there.
        outcome.failed.get_or_insert(error);
        (outcome.length, outcome.is_broken) = (end, reader.scan.open.is_some());
    }
    if !is_renewed {
        let runs = mem::take(&mut reader.runs);
        outcome.filed = FiledEntries { runs, needed: mem::take(&mut replay.needed) };
    }
    if !matches!(replay.begun, ReplayStart::Yes) {
        let none = || wrong("no whole beginning").moved_to(reader.scan.end);
        outcome.failed.get_or_insert_with(none);
        (outcome.length, outcome.is_broken) = (0, true);
    }
    Ok(outcome)
}

/// Clears a history whose replay failed, for another replay.
pub(in crate::history::journal) fn reset<T: 'static>(history: &mut History<T>, target: &mut T) {
    // If its commands panic while they are finalized, nothing more can be done for them.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        history.drop_all();
        history.end(target);
    }));
    history.open.clear();
    history.states = StateNumbers { base: 0, last: 0, saved: Some(0) };
    (history.usage.bytes, history.usage.held) = (0, 0);
    (history.merges.last, history.usage.has_grown, history.poison, history.world) =
        (None, false, None, None);
}

impl<T: 'static> Replay<'_, '_, T> {
    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), Failure> {
        let payload = frame.payload;
        if !frame.kind.is_beginning() && !matches!(self.begun, ReplayStart::Yes) {
            return Err(wrong("an edit before its beginning").into());
        }
        if !frame.kind.is_beginning() {
            // Evictions are frames of their own, ahead of the next event. So the replay evicts nothing by itself.
            self.history.usage.has_grown = false;
        }
        match frame.kind {
            FrameKind::Program => {
                self.programs.read(&read(payload)?)?;
                self.contents.clear();
            }
            FrameKind::Content => {
                let StoredContent { owner, class, content } = read(payload)?;
                if !self.programs.of_fields().is_same(&class)
                    && let Some(bytes) = self.content(&class, content)?
                {
                    self.contents.enter((owner, class), bytes);
                }
            }
            FrameKind::Stacks | FrameKind::Entry => self.begin(frame.kind, payload)?,
            // The reader has returned the entries that are named, and a replay ends in front of the next part.
            FrameKind::Earlier | FrameKind::InPlace | FrameKind::Follows => {}
            FrameKind::Done | FrameKind::Insignificant | FrameKind::Aside => {
                let StoredDone { label, merging, ids, mut steps } = read(payload)?;
                let is_direct = self.migrate(&mut steps)?;
                reserve_ids(self.target, ids.map(|ids| ids.before))?;
                // Code of the program is about to run, or a component to leave the world.
                let mut is_of_fields = !is_direct;
                let mut note = |change: &Change| is_of_fields &= change.is_of_fields();
                for step in &steps {
                    step.each(&mut note);
                }
                if !is_of_fields {
                    self.refresh()?;
                }
                let steps = self.redo_steps(steps)?;
                let changed = unrefreshed(&steps).into_iter();
                self.stale.extend(changed.map(|(owner, class)| (owner, class.to_owned())));
                reserve_ids(self.target, ids.map(|ids| ids.after))?;
                self.history.report(self.target, &steps, Direction::Redo);
                let mut entry = UndoEntry::new(label, steps.into());
                entry.weigh();
                entry.is_significant &= frame.kind == FrameKind::Done;
                if frame.kind == FrameKind::Aside {
                    self.history.recording = Recording::Aside;
                }
                self.history.enter(self.target, entry, (merging, MergeTarget::default()));
                self.history.recording = Recording::Entries;
                if is_direct {
                    self.contents.clear();
                }
            }
            FrameKind::Undone => self.undo_or_redo(Direction::Undo)?,
            FrameKind::Redone => self.undo_or_redo(Direction::Redo)?,
            FrameKind::Begun => self.history.begin(read::<Label>(payload)?)?,
            FrameKind::Committed => self.history.commit(self.target)?,
            FrameKind::RolledBack => {
                self.history.rollback(self.target)?;
                self.contents.clear();
            }
            FrameKind::Saved => {
                let saved: Option<u64> = read(payload)?;
                if saved.is_some_and(|state| state > self.history.states.last) {
                    return Err(wrong("a saved state that was never reached").into());
                }
                self.history.states.saved = saved;
            }
            FrameKind::Cleared => self.history.drop_all(),
            FrameKind::Skipped => {
                let direction = if read(payload)? { Direction::Redo } else { Direction::Undo };
                if !self.history.skip(direction) {
                    return Err(wrong("an entry to be skipped where there is none").into());
                }
            }
            FrameKind::Dropped => {
                let index = read::<Option<u64>>(payload)?.map(place).transpose()?;
                let poisoned = self.history.poison.as_ref().map(|poison| poison.entry);
                let is_match = match poisoned {
                    Some(poisoned) => poisoned == index,
                    None => index.is_some(),
                };
                if !is_match || !self.history.leave_out(index) {
                    return Err(wrong("the number of an entry that is not there").into());
                }
            }
            FrameKind::Evicted => {
                let StoredEvicted { oldest, undone } = read(payload)?;
                for (count, end) in [(oldest, FinalState::Applied), (undone, FinalState::Undone)] {
                    for _ in 0..count {
                        if !self.history.drop_one(end) {
                            return Err(wrong("more evicted entries than there are").into());
                        }
                    }
                }
            }
        }
        self.history.end(self.target);
        Ok(())
    }

    /// Returns all bytes of a content, or `None` if the program has no such class, the save cannot be read, or
    /// there are more changes than a journal has.
    fn content(&mut self, class: &str, content: RecordedContent) -> Result<Option<Vec<u8>>> {
        let changes = match content {
            RecordedContent::Whole(bytes) => return Ok(Some(bytes)),
            RecordedContent::SinceSave(changes) => changes,
        };
        let classes = self.programs.of_fields();
        let Ok((number, _)) = classes.known(class) else { return Ok(None) };
        if changes.len() > RecordedContent::MAX_CHANGES {
            return Ok(None);
        }
        let stored = classes.stored()?;
        let Some(saved) = (self.saved)() else { return Ok(None) };
        all_in_bytes(&changes, (&stored, number), &saved, Direction::Redo).map(Some)
    }

    /// Undoes or redoes an entry.
    fn undo_or_redo(&mut self, direction: Direction) -> Result<(), Failure> {
        let index = self.history.ring.toward(direction).filter(|_| !self.history.is_open());
        let Some(index) = index else {
            return Err(wrong("an undo or a redo where there is nothing to be done").into());
        };
        self.refresh()?;
        spill::load_entry(self.history, index, self.target)?;
        match self.history.ring.get(index).filter(|_| world(&*self.target).is_none()) {
            Some(entry) => self.contents.follow(&entry.steps, direction, self.programs.of_fields()),
            None => self.contents.clear(),
        }
        self.history.run_next(self.target, direction)?;
        Ok(())
    }

    /// Runs the `after_load` functions of what has changed, before code of the program may read what they compute.
    fn refresh(&mut self) -> Result<()> {
        let mut stale = mem::take(&mut self.stale).into_iter();
        stale.try_for_each(|(owner, class)| {
            self.history.support.refresh(self.target, (owner, &class), false)
        })
    }

    /// Migrates the steps of an edit. Returns true if a command in it changed its target directly.
    fn migrate(&mut self, steps: &mut [StoredStep]) -> Result<bool> {
        let mut is_direct = false;
        for step in &*steps {
            is_direct |= step.each(&mut |_| {});
        }
        let classes = self.programs.of_fields();
        if !classes.are_same() {
            let recorded = (&*self.target, &self.history.support);
            self.contents.migrate(steps, classes, recorded)?;
        }
        Ok(is_direct)
    }

    /// Does steps again. If one fails, those before it are undone.
    fn redo_steps(&mut self, stored: Vec<StoredStep>) -> Result<Vec<Step<T>>, Failure> {
        let mut done: Vec<Step<T>> = Vec::with_capacity(stored.len());
        for step in stored {
            match self.redo_step(step) {
                Ok(step) => done.push(step),
                Err(failure) => {
                    let support = &mut self.history.support;
                    return Err(
                        failure.after(|| run_all(&mut done, self.target, support, Direction::Undo))
                    );
                }
            }
        }
        Ok(done)
    }

    fn redo_step(&mut self, stored: StoredStep) -> Result<Step<T>, Failure> {
        match stored {
            StoredStep::Command(command) if command.direct.is_some() => {
                let (class, command) =
                    self.programs.migrated_command(*command, &self.history.commands)?;
                reserve_ids(self.target, command.last_id)?;
                let support = &mut self.history.support;
                class.replay(&command, self.target, support, self.programs.commands.links())
            }
            StoredStep::Change(change) => {
                let mut step: Step<T> = restored_change(*change, self.target, ChangeState::Done)?;
                match step.run(self.target, &mut self.history.support, Direction::Redo) {
                    Ok(()) => Ok(step),
                    Err(failure) => {
                        step.finalize(self.target, FinalState::Undone);
                        Err(failure)
                    }
                }
            }
            StoredStep::Command(mut command) => {
                let further = std::mem::take(&mut command.further);
                let mut further = self.redo_steps(further)?;
                match self.programs.read_command(*command, &self.history.commands) {
                    Ok(mut command) => {
                        command.further = further;
                        Ok(Step::Command(command))
                    }
                    Err(error) => {
                        let support = &mut self.history.support;
                        let back = || run_all(&mut further, self.target, support, Direction::Undo);
                        Err(Failure::from(error).after(back))
                    }
                }
            }
        }
    }

    /// Restores steps as data, without running them.
    fn restore_all(
        &mut self,
        stored: Vec<StoredStep>,
        change_state: ChangeState,
    ) -> Result<Vec<Step<T>>> {
        let programs = &mut self.programs;
        restored(stored, self.target, change_state, &mut |command| {
            programs.read_command(command, &self.history.commands)
        })
    }

    /// Reads the state of the history when the journal began.
    fn begin(&mut self, kind: FrameKind, payload: &[u8]) -> Result<()> {
        let begun = std::mem::replace(&mut self.begun, ReplayStart::No);
        let (mut stacks, mut waiting) = match (kind, begun) {
            (FrameKind::Stacks, ReplayStart::No) => {
                let stacks: Box<StoredStacks> = Box::new(read(payload)?);
                install(self.history, &stacks)?;
                (stacks, Vec::new())
            }
            (FrameKind::Entry, ReplayStart::Entries(stacks, mut waiting)) => {
                let entry = read(payload)?;
                if self.programs.of_fields().are_same() {
                    self.enter(&stacks, entry)?;
                } else {
                    waiting.push(entry);
                }
                (stacks, waiting)
            }
            _ => return Err(wrong("a beginning in another place")),
        };
        if ((self.history.ring.len() + waiting.len()) as u64) < stacks.entries {
            self.begun = ReplayStart::Entries(stacks, waiting);
            return Ok(());
        }
        let position = place(stacks.position)?;
        if !waiting.is_empty() {
            let steps = waiting.iter_mut().map(|entry| &mut entry.steps[..]);
            let recorded = (&*self.target, &self.history.support);
            let classes = self.programs.of_fields();
            self.contents.migrate_entries(steps, position, classes, recorded)?;
        }
        waiting.into_iter().try_for_each(|entry| self.enter(&stacks, entry))?;
        self.history.ring.set_position(position);
        self.history.ring.mark_unchanged();
        self.history.poison = stacks.poison.take();
        self.begun = ReplayStart::Yes;
        Ok(())
    }

    /// Enters the next entry that the history had when the journal began.
    fn enter(&mut self, stacks: &StoredStacks, stored: StoredEntry) -> Result<()> {
        let StoredEntry { label, state, mut steps } = stored;
        let at = self.history.ring.len();
        if state > stacks.last_state {
            return Err(wrong(NEVER_REACHED));
        }
        if state < self.history.state_at(at) {
            return Err(wrong("a state that is older than the one before it"));
        }
        let done = stacks.poison.as_ref().and_then(|poison| poison.done_of(at));
        let is_applied = (at as u64) < stacks.position;
        let done = done.unwrap_or(if is_applied { steps.len() } else { 0 });
        self.needed.extend(fields_of(&steps));
        let rest = steps.split_off(done.min(steps.len()));
        let mut steps = self.restore_all(steps, ChangeState::Applied)?;
        steps.append(&mut self.restore_all(rest, ChangeState::Undone)?);
        let mut entry = UndoEntry::new(label, steps.into());
        entry.weigh();
        // One that was made as insignificant has the state before it, whatever its steps are.
        entry.is_significant &= state != self.history.state_at(at);
        entry.state = state;
        self.history.usage.bytes += entry.size;
        self.history.ring.put(entry);
        if is_applied {
            // So entries that there is no memory for can be moved to files.
            self.history.ring.set_position(at + 1);
        }
        Ok(())
    }
}

/// Makes the world give only ids above this one.
fn reserve_ids<T: 'static>(target: &mut T, id: Option<u64>) -> Result<()> {
    let Some(id) = id else { return Ok(()) };
    let is_possible = world_mut(target).is_some_and(|world| world.continue_ids_after(id));
    if is_possible { Ok(()) } else { Err(wrong("ids that no world gives")) }
}

const NEVER_REACHED: &str = "a state that was never reached";

/// Sets the state of a history, except for its entries. Returns an error if no history can have that state.
fn install<T: 'static>(history: &mut History<T>, stacks: &StoredStacks) -> Result<()> {
    let StoredStacks { entries, position, base, last_state, saved, poison } = stacks;
    if position > entries {
        return Err(wrong("a position after its last entry"));
    }
    if *last_state > MAX_STATES || base.max(&saved.unwrap_or(0)) > last_state {
        return Err(wrong(NEVER_REACHED));
    }
    let poisoned = poison.as_ref().and_then(|poison| poison.entry);
    if poisoned.is_some_and(|at| at as u64 >= *entries) {
        return Err(wrong("the number of an entry that is not there"));
    }
    history.states = StateNumbers { base: *base, last: *last_state, saved: *saved };
    Ok(())
}
