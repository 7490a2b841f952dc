//! Moves entries that are far from the current one to files, until they are needed.
//!
//! The entries at both ends of the list are moved first, since the next undo or redo needs them last. `front` and
//! `back` of [`Spill`](super::Spill) count the entries at each end that were moved, or cannot be moved.
//!
//! A file has the steps of an entry and its label. An entry that was moved becomes a [`FarEntry`] of 32 bytes. When it
//! becomes the current or the next one, it gets its label back, for menus, and its steps when it is undone or redone.

use std::collections::HashMap;
use std::io::{Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::stored::{StoredStep, payload, read as read_payload, wrong};
use super::writer::exchange::recorder;
use super::{Spill, restored};
use crate::fields::{ChangeState, FieldLinks};
use crate::history::change::step::{FinalState, ends};
use crate::history::{
    Far, FarEntry, History, Label, SpillPosition, SpilledEntry, Step, UndoEntry, guarded,
};
use crate::platform::held;
use crate::storage::Storage;
use crate::{Error, ErrorKind, Result};

/// An entry that is about to be moved to a file.
struct SpillCandidate {
    index: usize,
    stored: SpilledEntryContent,
    size: usize,
}

/// An entry as it is in a file.
#[derive(crate::Persist)]
#[persist(crate = crate)]
struct SpilledEntryContent {
    /// The label that the program has given.
    label: Label,
    /// The label that describes its steps, if the program gave none.
    shown: Label,
    steps: Vec<StoredStep>,
}

/// About how many bytes of entries one file holds.
const FILE: usize = 64 << 10;

/// Moves entries to files until those in memory are within the budget.
pub(in crate::history) fn spill<T: 'static>(history: &mut History<T>, target: &T) {
    bring_near(history);
    let Some(spill) = &mut history.spill else { return };
    let held = history.usage.bytes.saturating_sub(history.usage.held + spill.away);
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
        // The beginning of a journal is read in the order of the entries, so its last ones are not at the end yet.
        let is_replayed = history.support.is_replayed;
        let redoable = if is_replayed { 0 } else { (len - back).saturating_sub(position + 1) };
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
            size += next.size + size_of::<UndoEntry<T>>();
            places.push((next.index, next.stored.shown.clone(), next.size));
            entries.push(next.stored);
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
    send_far(history);
}

/// Keeps 32 bytes of each entry at the ends of the list whose steps are in a file.
fn send_far<T: 'static>(history: &mut History<T>) {
    let Some(spill) = &mut history.spill else { return };
    let ring = &mut history.ring;
    // The current entry and the next one stay.
    let (position, len) = (ring.position(), ring.len());
    let front = spill.front.min(position.saturating_sub(1));
    let back = spill.back.min(len.saturating_sub(position + 1));
    while ring.front.len() < front
        && let Some(entry) = ring.entries.pop_front()
    {
        ring.front.push_back(spill.far(entry));
    }
    while ring.back.len() < back
        && let Some(entry) = ring.entries.pop_back()
    {
        ring.back.push_front(spill.far(entry));
    }
}

/// `None` for an entry whose steps are in memory.
fn far_of<T: 'static>(entry: &UndoEntry<T>) -> Option<FarEntry> {
    let away = entry.away()?;
    let held = entry.held();
    Some(FarEntry {
        state: entry.state,
        at: away.at,
        size: u32::try_from(entry.size - held).ok()?,
        held: u32::try_from(held).ok()?,
        is_significant: entry.is_significant,
        has_end: away.has_end,
    })
}

/// Gives the current entry and the next one back what menus show of them.
fn bring_near<T: 'static>(history: &mut History<T>) {
    for index in [history.ring.current(), history.ring.next()].into_iter().flatten() {
        bring(history, index);
    }
}

/// Makes a far entry, and those between it and the others, entries whose steps are in a file.
fn bring<T: 'static>(history: &mut History<T>, index: usize) {
    while history.ring.at_end(index).is_some() {
        let ring = &mut history.ring;
        let is_front = index < ring.front.len();
        let far = if is_front { ring.front.pop_back() } else { ring.back.pop_front() };
        let (Some(far), Some(spill)) = (far, &mut history.spill) else { return };
        let entry = match far {
            Far::Memory(entry) => *entry,
            Far::File(far) => spill.near(far),
        };
        match is_front {
            true => history.ring.entries.push_front(entry),
            false => history.ring.entries.push_back(entry),
        }
    }
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
        let (label, shown) = (entry.label.clone(), entry.label());
        let change_state = ChangeState::Spilled;
        let steps = recorder::stored(&mut entry.steps, target, &history.support, change_state)?;
        Ok(SpilledEntryContent { label, shown, steps })
    });
    let Ok(stored) = stored else { return 0 };
    let size = entry.size - size_of::<UndoEntry<T>>() - entry.held();
    found.push(SpillCandidate { index, stored, size });
    size + size_of::<UndoEntry<T>>()
}

/// Reads an entry back from its file, if it is in one.
#[inline]
pub(in crate::history) fn load_entry<T: 'static>(
    history: &mut History<T>,
    index: usize,
    target: &mut T,
) -> Result<()> {
    if history.spill.is_some() { load(history, index, target) } else { Ok(()) }
}

fn load<T: 'static>(history: &mut History<T>, index: usize, target: &mut T) -> Result<()> {
    bring(history, index);
    let Some(away) = history.ring.get(index).and_then(UndoEntry::away) else { return Ok(()) };
    let (at, size) = (away.at, away.size);
    let Some(spill) = &mut history.spill else { return Ok(()) };
    let stored = spill.read(at)?;
    let (label, steps) = (stored.label, restore_all(stored.steps, target, history)?);
    let is_applied = index < history.position();
    let rest = history.ring.len() - index - 1;
    if let (Some(entry), Some(spill)) = (history.ring.get_mut(index), &mut history.spill) {
        // It is missing if it could not be read before.
        entry.label = label;
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
        if let Ok(steps) = stored.and_then(|stored| restore_all(stored.steps, target, history)) {
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
            open: Mutex::new(None),
            writing: None,
            front: 0,
            back: 0,
            dropped: Vec::new(),
        };
        spill.sweep();
        spill
    }

    fn file(&self, number: u32) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }

    /// Writes entries to the last file, or to a new one if that is full. Returns the position of each.
    fn write(&mut self, entries: &[SpilledEntryContent]) -> Result<Vec<SpillPosition>> {
        let (number, file, start) = match self.writing.take().filter(|(.., len)| *len < FILE / 2) {
            Some((number, file, len)) => (number, Some(file), len),
            None => {
                self.last_file += 1;
                (self.last_file, None, 0)
            }
        };
        let (mut content, mut places) = (Vec::new(), Vec::new());
        for entry in entries {
            let (offset, bytes) = (content.len(), payload(entry)?);
            content.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
            content.extend_from_slice(&bytes);
            let small = |number: usize| u32::try_from(number).map_err(|_| wrong("a large entry"));
            let (offset, length) = (small(start + offset)?, small(content.len() - offset)?);
            places.push(SpillPosition { file: number, offset, length });
        }
        let path = self.file(number);
        let is_new = file.is_none();
        // A storage may give an open file the bytes that it had when it was opened.
        held(&self.open).take_if(|(open, _)| *open == number);
        let write = || {
            let mut file = file.map_or_else(|| self.storage.create(&path, &self.like), Ok)?;
            file.write_all(&content)?;
            Ok(file)
        };
        let file = write().map_err(|error| {
            // What was written in part is of no use, and the next entries go to another file.
            if is_new {
                let _ = self.storage.remove(&path);
            }
            Error::io("move entries of the history to", &path, error)
        })?;
        self.writing = Some((number, file, start + content.len()));
        *self.files.entry(number).or_default() += places.len();
        Ok(places)
    }

    /// Converts an entry to the form that it has far from the current one.
    fn far<T: 'static>(&mut self, entry: UndoEntry<T>) -> Far<UndoEntry<T>> {
        match far_of(&entry) {
            Some(far) => {
                self.away += size_of::<UndoEntry<T>>();
                Far::File(far)
            }
            None => Far::Memory(Box::new(entry)),
        }
    }

    /// Converts an entry back, without its steps. If its file cannot be read, its label is empty, and its undo says why.
    fn near<T: 'static>(&mut self, far: FarEntry) -> UndoEntry<T> {
        let FarEntry { state, at, size, held, is_significant, has_end } = far;
        let labels = self.read(at).map(|stored| (stored.label, stored.shown));
        let (label, shown) = labels.unwrap_or_default();
        let mut entry = UndoEntry { label, state, is_significant, ..UndoEntry::default() };
        let size = (size as usize).saturating_sub(size_of::<UndoEntry<T>>());
        entry.send_away(SpilledEntry { at, label: shown, has_end, size });
        entry.measure();
        entry.hold(held as usize);
        self.away -= size_of::<UndoEntry<T>>();
        entry
    }

    /// Reads the label of an entry, for a list of all. It is empty if the file cannot be read.
    pub(in crate::history) fn label(&self, at: SpillPosition) -> Label {
        self.read(at).map(|stored| stored.shown).unwrap_or_default()
    }

    fn read(&self, at: SpillPosition) -> Result<SpilledEntryContent> {
        let path = self.file(at.file);
        let mut open = held(&self.open);
        let file = match open.take().filter(|(open, _)| *open == at.file) {
            Some((_, file)) => file,
            None => self.storage.open(&path).map_err(|error| Error::of_opening(&path, error))?,
        };
        let (_, file) = open.insert((at.file, file));
        let mut bytes = Vec::new();
        let mut read = || {
            file.seek(SeekFrom::Start(at.offset.into()))?;
            (&mut **file).take(at.length.into()).read_to_end(&mut bytes)
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
    fn leave(&mut self, number: u32) {
        let left = self.files.get_mut(&number);
        let Some(left) = left else { return };
        *left -= 1;
        if *left == 0 {
            self.files.remove(&number);
            held(&self.open).take_if(|(open, _)| *open == number);
            self.writing.take_if(|(writing, ..)| *writing == number);
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
        *held(&self.open) = None;
        self.writing = None;
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
