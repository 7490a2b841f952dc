//! Entries that are far from the current one, in files until they are needed.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::commands::{Reading, restored};
use super::recorder;
use super::stored::{StoredStep, payload, read, wrong};
use crate::history::edit::Step;
use crate::history::entry::{Away, Entry, Spilled};
use crate::history::failure::guarded;
use crate::history::step::{End, ends};
use crate::history::{History, Label};
use crate::storage::Storage;
use crate::world::Moment;
use crate::{Error, ErrorKind, Result};

/// Where entries go that there is no memory for.
pub(in crate::history) struct Spill {
    storage: Arc<dyn Storage>,
    /// What the names of the files begin with.
    path: PathBuf,
    /// A file whose permissions they have.
    like: PathBuf,
    /// Bytes of steps that may be in memory.
    budget: usize,
    /// Bytes of steps that are in files.
    pub(in crate::history) away: usize,
    /// Bytes at which it is tried again, if a file could not be written.
    retry: usize,
    last_file: u64,
    /// How many entries of each file are still in it.
    files: HashMap<u64, usize>,
    /// How many entries from the first on, and from the last on, are in files or can only be in memory.
    front: usize,
    back: usize,
    /// Entries that were dropped while they were in a file.
    dropped: Vec<(Spilled, End)>,
}

/// What a file holds: for each entry its steps.
type Stored = Vec<Vec<StoredStep>>;

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

    fn write(&mut self, content: &[u8]) -> Result<u64> {
        self.last_file += 1;
        let path = self.file(self.last_file);
        let write = || -> std::io::Result<()> {
            let mut file = self.storage.create(&path, &self.like)?;
            file.write_all(&crc32fast::hash(content).to_le_bytes())?;
            file.write_all(content)
        };
        write().map_err(|error| {
            // What is there of it is of no use.
            let _ = self.storage.remove(&path);
            Error::io("move entries of the history to", &path, error)
        })?;
        Ok(self.last_file)
    }

    fn read(&self, number: u64) -> Result<Stored> {
        let path = self.file(number);
        let mut bytes = Vec::new();
        let mut file = self.storage.open(&path).map_err(|error| Error::of_opening(&path, error))?;
        file.read_to_end(&mut bytes)
            .map_err(|error| Error::io("read entries of the history from", &path, error))?;
        let Some((sum, content)) = bytes.split_first_chunk::<4>() else {
            return Err(damaged(&path));
        };
        if u32::from_le_bytes(*sum) != crc32fast::hash(content) {
            return Err(damaged(&path));
        }
        read(content)
    }

    /// Notes that `count` entries of a file are no longer in it.
    fn leave(&mut self, number: u64, count: usize) {
        let left = self.files.get_mut(&number).map(|left| {
            *left = left.saturating_sub(count);
            *left
        });
        if left == Some(0) {
            self.files.remove(&number);
            // One that stays is removed with the others, or when the next session begins.
            let _ = self.storage.remove(&self.file(number));
        }
    }

    /// Notes that an entry was taken out of a list of `len`.
    pub(in crate::history) fn forget_index(&mut self, index: usize, len: usize) {
        self.front -= usize::from(index < self.front);
        self.back -= usize::from(len - index <= self.back);
    }

    /// Notes that an entry was dropped while it was in a file, and how it ends, if something is done then.
    pub(in crate::history) fn drop_entry(&mut self, spilled: Spilled, end: Option<End>) {
        match end {
            Some(end) => self.dropped.push((spilled, end)),
            None => self.leave(spilled.file, 1),
        }
    }

    /// Removes what a process that was killed has left.
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
        self.files.keys().for_each(|number| drop(self.storage.remove(&self.file(*number))));
    }
}

/// An entry that is to go into a file.
struct Gathered {
    index: usize,
    steps: Vec<StoredStep>,
    label: Label,
    size: usize,
}

/// About how many bytes of entries go into a file, which is read whole for one of them.
const FILE: usize = 64 << 10;

/// Moves entries to files until there are few enough in memory.
pub(in crate::history) fn spill<T: 'static>(history: &mut History<T>, target: &T) {
    let of_entries = history.ring.len() * size_of::<Entry<T>>();
    let Some(spill) = &mut history.spill else { return };
    let held = history.bytes.saturating_sub(of_entries + history.held + spill.away);
    if held <= spill.budget || held < spill.retry {
        return;
    }
    // So much that it is not done again at once.
    let most = held - spill.budget / 2;
    let (len, position) = (history.ring.len(), history.ring.position());
    let (mut front, mut back) = (spill.front, spill.back);
    let (mut freed, mut found) = (0, Vec::<Gathered>::new());
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
        let (mut size, mut places, mut entries) = (0, Vec::new(), Stored::new());
        while let Some(Gathered { index, steps, label, size: more }) =
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
            let at = Spilled { file, place };
            entry.send_away(Away { at, label, has_end, size });
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
    found: &mut Vec<Gathered>,
) -> usize {
    let Some(entry) = history.ring.get_mut(index) else { return 0 };
    if entry.away().is_some() {
        return 0;
    }
    // What a command panics in, when it is written or asked for its label, stays in memory.
    let stored = guarded(|| {
        let label = entry.label();
        let moment = Moment::Spilled;
        Ok((label, recorder::stored(&mut entry.steps, target, &history.support, moment)?))
    });
    let Ok((label, steps)) = stored else { return 0 };
    let size = entry.size - size_of::<Entry<T>>() - entry.held();
    found.push(Gathered { index, steps, label, size });
    size
}

/// Brings an entry back from its file, with those beside it that are in the same one.
pub(in crate::history) fn bring_back<T: 'static>(
    history: &mut History<T>,
    index: usize,
    target: &mut T,
) -> Result<()> {
    let Some(Spilled { file, .. }) =
        history.ring.get(index).and_then(Entry::away).map(|away| away.at)
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
    let reading = Reading { registry: &history.support.registry, numbers: None };
    restored(stored, target, Moment::Spilled, &mut |command| {
        let class = history.commands.get(&(command.class as usize));
        class.ok_or_else(|| wrong("a command of no class"))?.read(&command, &reading)
    })
}

#[cold]
fn damaged(path: &Path) -> Error {
    Error::new(
        ErrorKind::Damaged,
        format!("{} does not hold the entries that were moved to it", path.display()),
    )
}
