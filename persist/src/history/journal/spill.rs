//! Entries that are far from the current one, in files until they are needed.

use super::commands::{CommandReader, restored};
use super::recorder;
use super::spill_files::SpilledSteps;
use super::stored::{StoredStep, payload, wrong};
use crate::Result;
use crate::history::edit::Step;
use crate::history::entry::{SpillPosition, SpilledEntry, UndoEntry};
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

/// About how many bytes of entries go into a file, which is read whole for one of them.
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
        let (mut size, mut places, mut entries) = (0, Vec::new(), SpilledSteps::new());
        while let Some(SpillCandidate { index, steps, label, size: more }) =
            found.next_if(|_| size < FILE)
        {
            size += more;
            places.push((index, label, more));
            entries.push(steps);
        }
        let written = payload(&entries).and_then(|bytes| spill.write(&bytes));
        let Ok(file) = written else {
            spill.retry = held * 2;
            return;
        };
        spill.files.insert(file, places.len());
        for (place, (index, label, size)) in places.into_iter().enumerate() {
            let Some(entry) = history.ring.get_mut(index) else { continue };
            let has_end = entry.steps.iter().any(Step::has_end);
            let at = SpillPosition { file, place };
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

/// Brings an entry back from its file, with those beside it that are in the same one.
pub(in crate::history) fn bring_back<T: 'static>(
    history: &mut History<T>,
    index: usize,
    target: &mut T,
) -> Result<()> {
    let Some(SpillPosition { file, .. }) =
        history.ring.get(index).and_then(UndoEntry::away).map(|away| away.at)
    else {
        return Ok(());
    };
    read_back(history, file, target)
}

/// Brings all entries back.
pub(super) fn bring_all<T: 'static>(history: &mut History<T>, target: &mut T) -> Result<()> {
    (0..history.ring.len()).try_for_each(|index| bring_back(history, index, target))
}

fn read_back<T: 'static>(history: &mut History<T>, file: u64, target: &mut T) -> Result<()> {
    let Some(spill) = &history.spill else { return Err(wrong("no files of moved entries")) };
    let mut stored: Vec<_> = spill.read(file)?.into_iter().map(Some).collect();
    let indices: Vec<(usize, usize)> = history
        .ring
        .iter()
        .enumerate()
        .filter_map(|(index, entry)| {
            let spilled = entry.away().map(|away| away.at).filter(|at| at.file == file)?;
            Some((index, spilled.place))
        })
        .collect();
    let mut restored = Vec::new();
    for (index, place) in &indices {
        let steps = stored.get_mut(*place).and_then(Option::take);
        let steps = steps.ok_or_else(|| wrong("fewer entries than were moved there"))?;
        restored.push((*index, restore_all(steps, target, history)?));
    }
    for (index, steps) in restored {
        if let Some(entry) = history.ring.get_mut(index) {
            let away = entry.away_size();
            history.spill.iter_mut().for_each(|spill| spill.away -= away);
            entry.bring_back(steps.into());
        }
        history.measure(index);
    }
    let (len, position) = (history.ring.len(), history.ring.position());
    let Some(spill) = &mut history.spill else { return Ok(()) };
    for (index, _) in &indices {
        if *index < position {
            spill.front = spill.front.min(*index);
        } else {
            spill.back = spill.back.min(len - index - 1);
        }
    }
    spill.leave(file, indices.len());
    Ok(())
}

/// Lets entries end that were dropped while they were in a file.
pub(in crate::history) fn end_dropped<T: 'static>(history: &mut History<T>, target: &mut T) {
    let Some(spill) = &mut history.spill else { return };
    if spill.dropped.is_empty() {
        return;
    }
    let mut dropped = std::mem::take(&mut spill.dropped);
    dropped.sort_by_key(|(spilled, _)| spilled.file);
    for of_file in dropped.chunk_by(|(a, _), (b, _)| a.file == b.file) {
        let file = of_file[0].0.file;
        let Some(spill) = &mut history.spill else { return };
        // What cannot be read cannot be told of its end.
        let stored = spill.read(file).unwrap_or_default();
        spill.leave(file, of_file.len());
        let mut stored: Vec<_> = stored.into_iter().map(Some).collect();
        for (spilled, end) in of_file {
            let steps = stored.get_mut(spilled.place).and_then(Option::take);
            let steps = steps.map(|steps| restore_all(steps, target, history));
            if let Some(Ok(steps)) = steps {
                let done = if *end == End::Applied { steps.len() } else { 0 };
                history.released.extend(ends(steps, done));
            }
        }
    }
}

/// Steps that were in a file of this process.
fn restore_all<T: 'static>(
    stored: Vec<StoredStep>,
    target: &mut T,
    history: &History<T>,
) -> Result<Vec<Step<T>>> {
    let reading = CommandReader { registry: &history.support.registry, numbers: None };
    restored(stored, target, ChangeState::Spilled, &mut |command| {
        let class = history.commands.get(&(command.class as usize));
        class.ok_or_else(|| wrong("a command of no class"))?.read(&command, &reading)
    })
}
