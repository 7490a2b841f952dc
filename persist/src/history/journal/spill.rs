//! Moves entries that are far from the current one to files, until they are needed.
//!
//! The entries at both ends of the list are moved first, since the next undo or redo needs them last. `front` and
//! `back` of [`Spill`](super::Spill) count the entries at each end that were moved, or cannot be moved.

use std::collections::HashMap;
use std::io::{Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::stored::{StoredStep, payload, read as read_payload, wrong};
use super::writer::exchange::recorder;
use super::{Spill, restored};
use crate::fields::{ChangeState, FieldLinks};
use crate::history::change::step::{FinalState, ends};
use crate::history::{History, Label, SpillPosition, SpilledEntry, Step, UndoEntry, guarded};
use crate::storage::Storage;
use crate::{Error, ErrorKind, Result};

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
    let held = history.usage.bytes.saturating_sub(of_entries + history.usage.held + spill.away);
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

/// The files. This does not know histories.
impl Spill {
    pub(super) fn new(
        storage: Arc<dyn Storage>,
        path: PathBuf,
        like: PathBuf,
        budget: usize,
    ) -> Self {
        let spill = Self {
            storage,
            path,
            like,
            budget,
            away: 0,
            retry: 0,
            last_file: 0,
            files: HashMap::new(),
            open: None,
            front: 0,
            back: 0,
            dropped: Vec::new(),
        };
        spill.sweep();
        spill
    }

    fn file(&self, number: u64) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }

    /// Writes entries to a new file. Returns the position of each.
    fn write(&mut self, entries: &[Vec<StoredStep>]) -> Result<Vec<SpillPosition>> {
        let (mut content, mut places) = (Vec::new(), Vec::new());
        self.last_file += 1;
        for steps in entries {
            let (offset, bytes) = (content.len(), payload(steps)?);
            content.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
            content.extend_from_slice(&bytes);
            let length = content.len() - offset;
            places.push(SpillPosition { file: self.last_file, offset, length });
        }
        let path = self.file(self.last_file);
        let write = || self.storage.create(&path, &self.like)?.write_all(&content);
        write().map_err(|error| {
            // A file that was written in part is of no use.
            let _ = self.storage.remove(&path);
            Error::io("move entries of the history to", &path, error)
        })?;
        self.files.insert(self.last_file, places.len());
        Ok(places)
    }

    fn read(&mut self, at: SpillPosition) -> Result<Vec<StoredStep>> {
        let path = self.file(at.file);
        let file = match self.open.take().filter(|(open, _)| *open == at.file) {
            Some((_, file)) => file,
            None => self.storage.open(&path).map_err(|error| Error::of_opening(&path, error))?,
        };
        let (_, file) = self.open.insert((at.file, file));
        let mut bytes = Vec::new();
        let mut read = || {
            file.seek(SeekFrom::Start(at.offset as u64))?;
            (&mut **file).take(at.length as u64).read_to_end(&mut bytes)
        };
        read().map_err(|error| Error::io("read entries of the history from", &path, error))?;
        match bytes.split_first_chunk::<4>() {
            Some((sum, content)) if u32::from_le_bytes(*sum) == crc32fast::hash(content) => {
                read_payload(content)
            }
            _ => Err(damaged(&path)),
        }
    }

    /// Notes that an entry is no longer in its file. The file is removed with its last entry.
    fn leave(&mut self, number: u64) {
        let left = self.files.get_mut(&number);
        let Some(left) = left else { return };
        *left -= 1;
        if *left == 0 {
            self.files.remove(&number);
            self.open.take_if(|(open, _)| *open == number);
            // If this fails, the file is removed when the next session begins.
            let _ = self.storage.remove(&self.file(number));
        }
    }

    /// Notes that an entry was removed from a list of length `len`.
    pub(in crate::history) fn forget_index(&mut self, index: usize, len: usize) {
        self.front -= usize::from(index < self.front);
        self.back -= usize::from(len - index <= self.back);
    }

    /// Notes that an entry was dropped while it was in a file. `end` is present if it has to be finalized.
    pub(in crate::history) fn drop_entry(
        &mut self,
        spilled: SpillPosition,
        end: Option<FinalState>,
    ) {
        match end {
            Some(end) => self.dropped.push((spilled, end)),
            None => self.leave(spilled.file),
        }
    }

    /// Removes the files of a process that was killed.
    fn sweep(&self) {
        let folder = match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let Some(name) = self.path.file_name().and_then(|name| name.to_str()) else { return };
        for file in self.storage.list(folder).unwrap_or_default() {
            let number = file.to_str().and_then(|file| file.strip_prefix(name)?.strip_prefix('.'));
            if number.is_some_and(|number| number.parse::<u64>().is_ok()) {
                let _ = self.storage.remove(&folder.join(&file));
            }
        }
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        self.open = None;
        self.files.keys().for_each(|number| drop(self.storage.remove(&self.file(*number))));
    }
}

#[cold]
fn damaged(path: &Path) -> Error {
    Error::new(
        ErrorKind::Damaged,
        format!("{} does not hold the entries that were moved to it", path.display()),
    )
}
