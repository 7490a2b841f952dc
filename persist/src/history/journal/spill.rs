//! Moves entries that are far from the current one to files, until they are needed.
//!
//! The entries at both ends of the list are moved first, since the next undo or redo needs them last. `front` and
//! `back` of [`Spill`](super::Spill) count the entries at each end that were moved, or cannot be moved.

use super::commands::restored;
use super::recorder;
use super::stored::{StoredStep, wrong};
use crate::Result;
use crate::fields::{ChangeState, FieldLinks};
use crate::history::change::step::{FinalState, ends};
use crate::history::{History, Label, SpilledEntry, Step, UndoEntry, guarded};

/// An entry that is about to be moved to a file.
struct SpillCandidate {
    index: usize,
    steps: Vec<StoredStep>,
    label: Label,
    size: usize,
}

/// About how many bytes of entries one file holds.
const FILE: usize = 64 << 10;

/// Moves entries to files until those in memory are within the budget.
pub(in crate::history) fn spill<T: 'static>(history: &mut History<T>, target: &T) {
    let of_entries = history.ring.len() * size_of::<UndoEntry<T>>();
    let Some(spill) = &mut history.spill else { return };
    let held = history.bytes.saturating_sub(of_entries + history.held + spill.away);
    if held <= spill.budget || held < spill.retry {
        return;
    }
    // Half of the budget is freed, so that the next edits do not each move one entry.
    let excess = held - spill.budget / 2;
    let (len, position) = (history.ring.len(), history.ring.position());
    let (mut front, mut back) = (spill.front, spill.back);
    let (mut freed, mut found) = (0, Vec::<SpillCandidate>::new());
    while freed < excess {
        // The current entry and the next one stay in memory.
        let undoable = position.saturating_sub(front + 1);
        let redoable = (len - back).saturating_sub(position + 1);
        if undoable == 0 && redoable == 0 {
            break;
        }
        if undoable >= redoable {
            freed += gather(history, front, target, &mut found);
            front += 1;
        } else {
            back += 1;
            freed += gather(history, len - back, target, &mut found);
        }
    }
    let Some(spill) = &mut history.spill else { return };
    let mut found = found.into_iter().peekable();
    while found.peek().is_some() {
        let (mut size, mut places, mut entries) = (0, Vec::new(), Vec::new());
        while let Some(next) = found.next_if(|_| size < FILE) {
            size += next.size;
            places.push((next.index, next.label, next.size));
            entries.push(next.steps);
        }
        let Ok(written) = spill.write(&entries) else {
            spill.retry = held * 2;
            return;
        };
        for ((index, label, size), at) in places.into_iter().zip(written) {
            let Some(entry) = history.ring.get_mut(index) else { continue };
            let has_end = entry.steps.iter().any(Step::has_end);
            entry.send_away(SpilledEntry { at, label, has_end, size });
            spill.away += size;
        }
    }
    (spill.front, spill.back, spill.retry) = (front, back, 0);
}

/// Encodes an entry, unless it can only be in memory. Returns how many bytes of memory that frees.
fn gather<T: 'static>(
    history: &mut History<T>,
    index: usize,
    target: &T,
    found: &mut Vec<SpillCandidate>,
) -> usize {
    let Some(entry) = history.ring.get_mut(index) else { return 0 };
    if entry.away().is_some() {
        return 0;
    }
    // An entry stays in memory if a command of it panics while it is encoded or asked for its label.
    let stored = guarded(|| {
        let label = entry.label();
        let change_state = ChangeState::Spilled;
        Ok((label, recorder::stored(&mut entry.steps, target, &history.support, change_state)?))
    });
    let Ok((label, steps)) = stored else { return 0 };
    let size = entry.size - size_of::<UndoEntry<T>>() - entry.held();
    found.push(SpillCandidate { index, steps, label, size });
    size
}

/// Reads an entry back from its file.
pub(in crate::history) fn load_entry<T: 'static>(
    history: &mut History<T>,
    index: usize,
    target: &mut T,
) -> Result<()> {
    let Some(away) = history.ring.get(index).and_then(UndoEntry::away) else { return Ok(()) };
    let (at, size) = (away.at, away.size);
    let Some(spill) = &mut history.spill else { return Err(wrong("no files of moved entries")) };
    let stored = spill.read(at)?;
    let steps = restore_all(stored, target, history)?;
    let is_applied = index < history.position();
    let rest = history.ring.len() - index - 1;
    if let (Some(entry), Some(spill)) = (history.ring.get_mut(index), &mut history.spill) {
        entry.restore_steps(steps.into());
        spill.away -= size;
        spill.leave(at.file);
        match is_applied {
            true => spill.front = spill.front.min(index),
            false => spill.back = spill.back.min(rest),
        }
    }
    history.measure(index);
    Ok(())
}

/// Finalizes entries that were dropped while they were in a file.
pub(in crate::history) fn end_dropped<T: 'static>(history: &mut History<T>, target: &mut T) {
    let dropped = history.spill.as_mut().map(|spill| std::mem::take(&mut spill.dropped));
    for (at, end) in dropped.unwrap_or_default() {
        let Some(spill) = &mut history.spill else { return };
        // The commands of an entry that cannot be read are not finalized.
        let stored = spill.read(at);
        spill.leave(at.file);
        if let Ok(steps) = stored.and_then(|steps| restore_all(steps, target, history)) {
            let done = if end == FinalState::Applied { steps.len() } else { 0 };
            history.released.extend(ends(steps, done));
        }
    }
}

/// Restores steps from a file of this process.
fn restore_all<T: 'static>(
    stored: Vec<StoredStep>,
    target: &mut T,
    history: &History<T>,
) -> Result<Vec<Step<T>>> {
    let links = FieldLinks::of_command(&history.support.registry);
    restored(stored, target, ChangeState::Spilled, &mut |command| {
        let class = history.commands.get(&(command.class as usize));
        class.ok_or_else(|| wrong("a command of no class"))?.read(&command, links)
    })
}
