//! Entries that are far from the current one, in files until they are needed.

use std::any::Any;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use super::Around;
use super::commands::Reading;
use super::stored::{StoredStep, Storing, payload, read, wrong};
use crate::history::History;
use crate::history::entry::{Away, Entry};
use crate::history::step::{BoxedStep, End, ends};
use crate::history::world::Moment;
use crate::storage::{Files, Storage};
use crate::{Error, ErrorKind, Result, World};

/// Where entries go that there is no memory for.
pub(in crate::history) struct Spill {
    storage: Arc<dyn Storage>,
    /// What the names of the files begin with.
    path: PathBuf,
    /// Bytes of steps that may be in memory.
    budget: usize,
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

/// Where an entry is: a file, and which of those in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::history) struct Spilled {
    file: u64,
    place: usize,
}

/// What a file holds: for each entry its steps.
#[derive(crate::Persist)]
#[persist(crate = crate)]
struct StoredSpill {
    entries: Vec<StoredSteps>,
}

#[derive(crate::Persist)]
#[persist(crate = crate)]
struct StoredSteps {
    steps: Vec<StoredStep>,
}

impl Spill {
    fn file(&self, number: u64) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }

    fn write(&mut self, content: &[u8]) -> Result<u64> {
        self.last_file += 1;
        let path = self.file(self.last_file);
        let write = || -> std::io::Result<()> {
            let mut file = self.storage.create(&path, &path)?;
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

    fn read(&self, number: u64) -> Result<StoredSpill> {
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

    /// Notes that so many entries of a file are in it no more.
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

    /// Notes that an entry was taken out of a list of so many.
    pub(in crate::history) fn forget_index(&mut self, index: usize, len: usize) {
        self.front -= usize::from(index < self.front);
        self.back -= usize::from(len - index <= self.back);
    }

    /// Notes that an entry was dropped while it was in a file.
    pub(in crate::history) fn drop_entry(&mut self, spilled: Spilled, end: End) {
        self.dropped.push((spilled, end));
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

#[cold]
fn damaged(path: &Path) -> Error {
    Error::new(
        ErrorKind::Damaged,
        format!("{} does not hold the entries that were moved to it", path.display()),
    )
}

impl<T: 'static> History<T> {
    /// Keeps about so many bytes of entries in memory. Those that are the furthest from the current one move to files whose names begin with this path, and come
    /// back when an undo or a redo gets there. The files end with the history; there may be one history for a path.
    ///
    /// Components and resources that are out of the world stay in memory, and so do objects that are; and commands whose class is not
    /// [registered](Self::register). Of an entry that is in a file its label is in memory, and some hundred bytes besides.
    ///
    /// If a file cannot be written, the entries stay in memory. If one cannot be read, `undo` or `redo` fails and [`can_undo`](Self::can_undo) or [`can_redo`](Self::can_redo) is
    /// false from then on, until [`retry_spilled`](Self::retry_spilled) or [`clear`](Self::clear).
    pub fn spill_to(&mut self, path: impl Into<PathBuf>, bytes: usize) {
        self.spill_in(Arc::new(Files), path.into(), bytes);
    }

    pub(super) fn spill_in(&mut self, storage: Arc<dyn Storage>, path: PathBuf, budget: usize) {
        let spill = Spill {
            storage,
            path,
            budget,
            retry: 0,
            last_file: 0,
            files: HashMap::new(),
            front: 0,
            back: 0,
            dropped: Vec::new(),
        };
        spill.sweep();
        self.spill = Some(spill);
    }

    /// Why the next entry to undo or redo cannot be read from its file, if that was tried.
    #[must_use]
    pub fn lost(&self) -> Option<&str> {
        self.lost.as_ref().map(|(_, why)| &**why)
    }

    /// Lets entries that could not be read be tried again.
    pub fn retry_spilled(&mut self) {
        self.lost = None;
        self.tell();
    }

    /// True if an entry is in a file that could not be read.
    pub(in crate::history) fn is_lost(&self, index: usize) -> bool {
        let file = self.ring.get(index).and_then(Entry::spilled).map(|spilled| spilled.file);
        self.lost.as_ref().is_some_and(|(lost, _)| file == Some(*lost))
    }

    /// Moves entries to files until there are few enough in memory.
    pub(in crate::history) fn spill(&mut self, target: &T) {
        let of_entries = self.ring.len() * size_of::<Entry<T>>();
        let held = self.bytes.saturating_sub(of_entries + self.held);
        let Some(spill) = &mut self.spill else { return };
        if held <= spill.budget || held < spill.retry {
            return;
        }
        // So much that it is not done again at once.
        let most = held - spill.budget / 2;
        let (len, position) = (self.ring.len(), self.ring.position());
        let (mut front, mut back) = (spill.front, spill.back);
        let (mut freed, mut found) = (0, Vec::new());
        while freed < most {
            // The current entry and the next one stay.
            let before = position.saturating_sub(front + 1);
            let behind = (len - back).saturating_sub(position + 1);
            if before == 0 && behind == 0 {
                break;
            }
            if before >= behind {
                freed += self.gather(front, target, &mut found);
                front += 1;
            } else {
                back += 1;
                freed += self.gather(len - back, target, &mut found);
            }
        }
        let Some(spill) = &mut self.spill else { return };
        let (places, entries): (Vec<usize>, Vec<StoredSteps>) = found.into_iter().unzip();
        if places.is_empty() {
            (spill.front, spill.back) = (front, back);
            return;
        }
        let written = payload(&StoredSpill { entries }).and_then(|bytes| spill.write(&bytes));
        let Ok(file) = written else {
            spill.retry = held * 2;
            return;
        };
        (spill.front, spill.back, spill.retry) = (front, back, 0);
        spill.files.insert(file, places.len());
        for (place, index) in places.into_iter().enumerate() {
            if let Some(entry) = self.ring.get_mut(index) {
                let away = Away { at: Spilled { file, place }, label: entry.label() };
                (entry.steps, entry.proved) = (Vec::new(), None);
                entry.away = Some(Box::new(away));
            }
            self.measure(index);
        }
    }

    /// Stores an entry, unless it can only be in memory; returns how many bytes that frees.
    fn gather(&mut self, index: usize, target: &T, found: &mut Vec<(usize, StoredSteps)>) -> usize {
        let storing = Storing { around: &*self.around, moment: Moment::Spilled };
        let Some(entry) = self.ring.get_mut(index) else { return 0 };
        if entry.away.is_some() {
            return 0;
        }
        match storing.steps(&mut entry.steps, target) {
            Ok(steps) => {
                found.push((index, StoredSteps { steps }));
                entry.size - size_of::<Entry<T>>() - entry.held
            }
            Err(_) => 0,
        }
    }

    /// Brings an entry back from its file, with those beside it that are in the same one.
    pub(in crate::history) fn bring_back(&mut self, index: usize, target: &mut T) -> Result<()> {
        let Some(Spilled { file, .. }) = self.ring.get(index).and_then(Entry::spilled) else {
            return Ok(());
        };
        self.read_back(file, target).inspect_err(|error| {
            self.lost = Some((file, error.to_string()));
        })
    }

    /// Brings all entries back.
    pub(super) fn bring_all(&mut self, target: &mut T) -> Result<()> {
        (0..self.ring.len()).try_for_each(|index| self.bring_back(index, target))
    }

    fn read_back(&mut self, file: u64, target: &mut T) -> Result<()> {
        let Some(spill) = &self.spill else { return Err(wrong("no files, which")) };
        let mut stored: Vec<_> = spill.read(file)?.entries.into_iter().map(Some).collect();
        let indices: Vec<(usize, usize)> = self
            .ring
            .iter()
            .enumerate()
            .filter_map(|(index, entry)| {
                let spilled = entry.spilled().filter(|spilled| spilled.file == file)?;
                Some((index, spilled.place))
            })
            .collect();
        let mut restored = Vec::new();
        for (index, place) in &indices {
            let steps = stored.get_mut(*place).and_then(Option::take);
            let steps = steps.ok_or_else(|| wrong("fewer entries than were moved there, which"))?;
            restored.push((*index, restore_all(steps.steps, target, &self.around)?));
        }
        for (index, steps) in restored {
            if let Some(entry) = self.ring.get_mut(index) {
                (entry.steps, entry.away) = (steps, None);
            }
            self.measure(index);
        }
        let (len, position) = (self.ring.len(), self.ring.position());
        let Some(spill) = &mut self.spill else { return Ok(()) };
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
    pub(in crate::history) fn end_spilled(&mut self, target: &mut T) {
        let Some(spill) = &mut self.spill else { return };
        if spill.dropped.is_empty() {
            return;
        }
        let mut dropped = std::mem::take(&mut spill.dropped);
        dropped.sort_by_key(|(spilled, _)| spilled.file);
        for of_file in dropped.chunk_by(|(a, _), (b, _)| a.file == b.file) {
            let file = of_file[0].0.file;
            let Some(spill) = &mut self.spill else { return };
            // What cannot be read cannot be told of its end.
            let stored = spill.read(file).map(|stored| stored.entries).unwrap_or_default();
            spill.leave(file, of_file.len());
            let mut stored: Vec<_> = stored.into_iter().map(Some).collect();
            for (spilled, end) in of_file {
                let steps = stored.get_mut(spilled.place).and_then(Option::take);
                let steps = steps.map(|steps| restore_all(steps.steps, target, &self.around));
                if let Some(Ok(steps)) = steps {
                    let done = if *end == End::Applied { steps.len() } else { 0 };
                    self.released.extend(ends(steps, done));
                }
            }
        }
    }
}

/// Steps that were in a file of this process.
fn restore_all<T: 'static>(
    stored: Vec<StoredStep>,
    target: &mut T,
    around: &Rc<Around<T>>,
) -> Result<Vec<BoxedStep<T>>> {
    stored.into_iter().map(|step| restore(step, target, around)).collect()
}

fn restore<T: 'static>(
    stored: StoredStep,
    target: &mut T,
    around: &Rc<Around<T>>,
) -> Result<BoxedStep<T>> {
    match stored {
        StoredStep::World(step) => {
            let target: &mut dyn Any = target;
            let Some(world) = target.downcast_mut::<World>() else {
                return Err(wrong("a step of a world, which"));
            };
            // It is one of `T`, which is a world.
            let step: Box<dyn Any> = Box::new(step.restore(world, Moment::Spilled)?);
            step.downcast().map(|step| *step).map_err(|_| wrong("a step of a world, which"))
        }
        StoredStep::Command(mut command) => {
            let further = std::mem::take(&mut command.further);
            let mut further = restore_all(further, target, around)?;
            let (class, registry) = {
                let classes = around.classes.borrow();
                (classes.class(command.class as usize), classes.registry.clone())
            };
            let class = class.ok_or_else(|| wrong("a command of no class, which"))?;
            let reading = Reading { around, registry: &registry, numbers: None };
            class.restore(&command, &mut further, &reading)
        }
    }
}
