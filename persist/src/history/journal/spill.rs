//! Entries that are far from the current one, in files until they are needed.

use super::commands::restored;
use super::recorder;
use super::stored::{StoredStep, wrong};
use crate::Result;
use crate::fields::FieldLinks;
use crate::history::edit::Step;
use crate::history::entry::{SpilledEntry, UndoEntry};
use crate::history::failure::guarded;
use crate::history::step::{End, ends};
use crate::history::{History, Label};
use crate::world::ChangeState;

/// An entry that is to go into a file.
struct SpillCandidate {
    index: usize,
    steps: Vec<StoredStep>,
    label: Label,
    size: usize,
}

/// About how many bytes of entries go into a file.
const FILE: usize = 64 << 10;

/// Moves entries to files until there are few enough in memory.
pub(in crate::history) fn spill<T: 'static>(history: &mut History<T>, target: &T) {
    let of_entries = history.ring.len() * size_of::<UndoEntry<T>>();
    let Some(spill) = &mut history.spill else { return };
    let held = history.bytes.saturating_sub(of_entries + history.held + spill.away);
    if held <= spill.budget || held < spill.retry {
        return;
    }
    // So much that it is not redone at once.
    let most = held - spill.budget / 2;
    let (len, position) = (history.ring.len(), history.ring.position());
    let (mut front, mut back) = (spill.front, spill.back);
    let (mut freed, mut found) = (0, Vec::<SpillCandidate>::new());
    while freed < most {
        // The current entry and the next one stay.
        let before = position.saturating_sub(front + 1);
        let behind = (len - back).saturating_sub(position + 1);
        if before == 0 && behind == 0 {
            break;
        }
        if before >= behind {
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

/// Stores an entry, unless it can only be in memory; returns how many bytes that frees.
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
    // What a command panics in, when it is written or asked for its label, stays in memory.
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

/// Brings an entry back from its file.
pub(in crate::history) fn bring_back<T: 'static>(
    history: &mut History<T>,
    index: usize,
    target: &mut T,
) -> Result<()> {
    let Some(away) = history.ring.get(index).and_then(UndoEntry::away) else { return Ok(()) };
    let (at, size) = (away.at, away.size);
    let Some(spill) = &mut history.spill else { return Err(wrong("no files of moved entries")) };
    let stored = spill.read(at)?;
    let steps = restore_all(stored, target, history)?;
    let is_before = index < history.position();
    let behind = history.ring.len() - index - 1;
    if let (Some(entry), Some(spill)) = (history.ring.get_mut(index), &mut history.spill) {
        entry.bring_back(steps.into());
        spill.away -= size;
        spill.leave(at.file);
        match is_before {
            true => spill.front = spill.front.min(index),
            false => spill.back = spill.back.min(behind),
        }
    }
    history.measure(index);
    Ok(())
}

/// Lets entries end that were dropped while they were in a file.
pub(in crate::history) fn end_dropped<T: 'static>(history: &mut History<T>, target: &mut T) {
    let dropped = history.spill.as_mut().map(|spill| std::mem::take(&mut spill.dropped));
    for (at, end) in dropped.unwrap_or_default() {
        let Some(spill) = &mut history.spill else { return };
        // What cannot be read cannot be told of its end.
        let stored = spill.read(at);
        spill.leave(at.file);
        if let Ok(steps) = stored.and_then(|steps| restore_all(steps, target, history)) {
            let done = if end == End::Applied { steps.len() } else { 0 };
            history.released.extend(ends(steps, done));
        }
    }
}

/// Steps that were in a file of this process.
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
