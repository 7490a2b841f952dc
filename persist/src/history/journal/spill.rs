//! Moves entries that are far from the current one to files, until they are needed.
//!
//! The entries at both ends of the list are moved first, since the next undo or redo needs them last. A file has the
//! steps of an entry and its label, and a [`FarEntry`] of 32 bytes stays in memory. An entry is read back when it becomes
//! the current or the next one. If that fails, it stays where it is, and its undo fails and says why.

use std::collections::HashMap;
use std::io::{Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::stored::{StoredStep, payload, read as read_payload, wrong};
use super::writer::exchange::recorder;
use super::{Spill, restored};
use crate::fields::{ChangeState, FieldLinks};
use crate::history::change::step::{FinalState, ends};
use crate::history::{End, FarEntry, History, Label, SpillPosition, Step, UndoEntry, guarded};
use crate::platform::held;
use crate::storage::Storage;
use crate::{Error, ErrorKind, Result};

/// An entry as it is in a file.
#[derive(crate::Persist)]
#[persist(crate = crate)]
struct SpilledEntry {
    /// The label that the program has given.
    label: Label,
    /// The label that describes its steps, if the program gave none.
    shown: Label,
    steps: Vec<StoredStep>,
}

/// About how many bytes of entries one file holds.
const FILE: usize = 64 << 10;

/// Moves entries to files until those in memory are within the budget.
pub(in crate::history) fn spill<T: 'static>(history: &mut History<T>, target: &mut T) {
    for index in [history.ring.current(), history.ring.next()].into_iter().flatten() {
        // If it cannot be read, or code of the program panics, its undo says why.
        let _ = guarded(|| Ok(load_entry(history, index, target)?));
    }
    let Some(spill) = &mut history.spill else { return };
    let held = history.usage.bytes.saturating_sub(history.usage.held + spill.away);
    if held <= spill.budget || held < spill.retry {
        return;
    }
    spill.retry = 0;
    // Half of the budget is freed, so that the next edits do not each move one entry.
    let mut excess = held - spill.budget / 2;
    while excess > 0 {
        let (end, spare) = history.ring.spare(history.support.is_replayed);
        if spare == 0 {
            return;
        }
        match send_away(history, target, (end, spare), excess.min(FILE)) {
            Ok(freed) => excess = excess.saturating_sub(freed),
            Err(_) => return history.spill.iter_mut().for_each(|spill| spill.retry = held * 2),
        }
    }
}

/// Moves up to `spare` entries at an end of the list to a file, until that frees `excess` bytes. Returns how many bytes
/// it freed.
fn send_away<T: 'static>(
    history: &mut History<T>,
    target: &T,
    (end, spare): (End, usize),
    excess: usize,
) -> Result<usize> {
    let (mut freed, mut files, mut contents) = (0, Vec::new(), Vec::new());
    while freed < excess && files.len() < spare {
        let Some(entry) = history.ring.near_mut(end, files.len()) else { break };
        // An entry stays in memory if a command of it panics while it is encoded or asked for its label.
        let stored = guarded(|| {
            let (label, shown) = (entry.label.clone(), entry.label());
            let state = ChangeState::Spilled;
            let steps = recorder::stored(&mut entry.steps, target, &history.support, state)?;
            Ok(SpilledEntry { label, shown, steps })
        });
        let far = far_of(entry).filter(|_| stored.is_ok());
        freed += far.map_or(0, |far| far.size as usize);
        contents.extend(stored.ok().filter(|_| far.is_some()));
        files.push(far);
    }
    let Some(spill) = &mut history.spill else { return Ok(freed) };
    let mut written = spill.write(&contents)?.into_iter();
    for far in files {
        let far = far.and_then(|far| Some(FarEntry { at: written.next()?, ..far }));
        history.ring.send_far(end, far);
    }
    spill.away += freed;
    Ok(freed)
}

/// The form of an entry in a file that is still to be written. `None` for an entry of more than 4 GB.
fn far_of<T: 'static>(entry: &UndoEntry<T>) -> Option<FarEntry> {
    let held = entry.held();
    Some(FarEntry {
        state: entry.state,
        at: SpillPosition::default(),
        size: u32::try_from(entry.size - held).ok()?,
        held: u32::try_from(held).ok()?,
        is_significant: entry.is_significant,
        has_end: entry.steps.iter().any(Step::has_end),
    })
}

/// Makes an entry near, with those between it and the others, and reads back entries that are in files.
pub(in crate::history) fn load_entry<T: 'static>(
    history: &mut History<T>,
    index: usize,
    target: &mut T,
) -> Result<()> {
    while let Some((end, nearest)) = history.ring.nearest_far(index) {
        let read = history.ring.far(nearest).copied().map(|far| read_back(history, far, target));
        match read.transpose() {
            Ok(entry) => history.ring.load_near(end, entry),
            Err(error) if nearest == index => return Err(error),
            Err(_) => history.ring.pass(end),
        }
    }
    Ok(())
}

fn read_back<T: 'static>(
    history: &mut History<T>,
    far: FarEntry,
    target: &mut T,
) -> Result<UndoEntry<T>> {
    let spill = history.spill.as_ref().ok_or_else(|| wrong("an entry without a file"))?;
    let SpilledEntry { label, steps, .. } = spill.read(far.at)?;
    let mut entry = UndoEntry::new(label, restore_all(steps, target, history)?.into());
    (entry.state, entry.is_significant) = (far.state, far.is_significant);
    entry.measure();
    history.usage.bytes = history.usage.bytes - far.size as usize + entry.size;
    entry.hold(far.held as usize);
    if let Some(spill) = &mut history.spill {
        spill.away -= far.size as usize;
        spill.leave(far.at.file);
    }
    Ok(entry)
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
    fn write(&mut self, entries: &[SpilledEntry]) -> Result<Vec<SpillPosition>> {
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

    /// Reads the label of an entry, for a list of all. It is empty if the file cannot be read.
    pub(in crate::history) fn label(&self, at: SpillPosition) -> Label {
        self.read(at).map(|stored| stored.shown).unwrap_or_default()
    }

    fn read(&self, at: SpillPosition) -> Result<SpilledEntry> {
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
            _ => Err(error!(
                ErrorKind::Damaged,
                "{} does not hold the entries that were moved to it",
                path.display()
            )),
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

    /// Notes that an entry was dropped while it was in a file.
    pub(in crate::history) fn drop_entry(&mut self, far: FarEntry, end: FinalState) {
        self.away -= far.size as usize;
        match far.has_end {
            true => self.dropped.push((far.at, end)),
            false => self.leave(far.at.file),
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
