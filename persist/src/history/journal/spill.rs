//! Entries that are far from the current one, in files until they are needed.

use std::path::PathBuf;
use std::sync::Arc;

use super::commands::Reading;
use super::recorder;
use super::spill_files::{Spill, Spilled, StoredSpill, StoredSteps};
use super::stored::{StoredStep, payload, wrong};
use crate::Result;
use crate::history::History;
use crate::history::Label;
use crate::history::entry::{Away, Entry};
use crate::history::step::{End, Step, ends, guarded, restored_change};
use crate::history::steps::Steps;
use crate::history::support::Support;
use crate::storage::Storage;
use crate::world::Moment;

/// An entry that is to go into a file.
struct Gathered {
    index: usize,
    steps: StoredSteps,
    label: Label,
    size: usize,
}

/// About how many bytes of entries go into a file, which is read whole for one of them.
const FILE: usize = 64 << 10;

impl<T: 'static> History<T> {
    /// Moves entries to files beside `path`, with the permissions of `like`.
    pub(super) fn spill_in(
        &mut self,
        storage: Arc<dyn Storage>,
        path: PathBuf,
        like: PathBuf,
        budget: usize,
    ) {
        self.spill = Some(Spill::new(storage, path, like, budget));
    }

    /// Moves entries to files until there are few enough in memory.
    pub(in crate::history) fn spill(&mut self, target: &T) {
        let of_entries = self.ring.len() * size_of::<Entry<T>>();
        let Some(spill) = &mut self.spill else { return };
        let held = self.bytes.saturating_sub(of_entries + self.held + spill.away);
        if held <= spill.budget || held < spill.retry {
            return;
        }
        // So much that it is not done again at once.
        let most = held - spill.budget / 2;
        let (len, position) = (self.ring.len(), self.ring.position());
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
                freed += self.gather(front, target, &mut found);
                front += 1;
            } else {
                back += 1;
                freed += self.gather(len - back, target, &mut found);
            }
        }
        let Some(spill) = &mut self.spill else { return };
        let mut found = found.into_iter().peekable();
        while found.peek().is_some() {
            let (mut size, mut places, mut entries) = (0, Vec::new(), Vec::new());
            while let Some(Gathered { index, steps, label, size: more }) =
                found.next_if(|_| size < FILE)
            {
                size += more;
                places.push((index, label, more));
                entries.push(steps);
            }
            let written = payload(&StoredSpill { entries }).and_then(|bytes| spill.write(&bytes));
            let Ok(file) = written else {
                spill.retry = held * 2;
                return;
            };
            spill.files.insert(file, places.len());
            for (place, (index, label, size)) in places.into_iter().enumerate() {
                let Some(entry) = self.ring.get_mut(index) else { continue };
                let has_end = entry.steps.iter().any(Step::has_end);
                let at = Spilled { file, place };
                (entry.steps, entry.proved, entry.order) = (Steps::default(), None, None);
                entry.away = Some(Box::new(Away { at, label, has_end, size }));
                spill.away += size;
            }
        }
        (spill.front, spill.back, spill.retry) = (front, back, 0);
    }

    /// Stores an entry, unless it can only be in memory; returns how many bytes that frees.
    fn gather(&mut self, index: usize, target: &T, found: &mut Vec<Gathered>) -> usize {
        let Some(entry) = self.ring.get_mut(index) else { return 0 };
        if entry.away.is_some() {
            return 0;
        }
        // What a command panics in, when it is written or asked for its label, stays in memory.
        let stored = guarded(|| {
            let label = entry.label();
            let moment = Moment::Spilled;
            Ok((label, recorder::stored(&mut entry.steps, target, &self.support, moment)?))
        });
        let Ok((label, steps)) = stored else { return 0 };
        let size = entry.size - size_of::<Entry<T>>() - entry.held;
        found.push(Gathered { index, steps: StoredSteps { steps }, label, size });
        size
    }

    /// Brings an entry back from its file, with those beside it that are in the same one.
    pub(in crate::history) fn bring_back(&mut self, index: usize, target: &mut T) -> Result<()> {
        let Some(Spilled { file, .. }) = self.ring.get(index).and_then(Entry::spilled) else {
            return Ok(());
        };
        self.read_back(file, target)
    }

    /// Brings all entries back.
    pub(super) fn bring_all(&mut self, target: &mut T) -> Result<()> {
        (0..self.ring.len()).try_for_each(|index| self.bring_back(index, target))
    }

    fn read_back(&mut self, file: u64, target: &mut T) -> Result<()> {
        let Some(spill) = &self.spill else { return Err(wrong("no files of moved entries")) };
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
            let steps = steps.ok_or_else(|| wrong("fewer entries than were moved there"))?;
            restored.push((*index, restore_all(steps.steps, target, &self.support)?));
        }
        for (index, steps) in restored {
            if let Some(entry) = self.ring.get_mut(index) {
                let away = entry.away_size();
                self.spill.iter_mut().for_each(|spill| spill.away -= away);
                (entry.steps, entry.away) = (steps.into(), None);
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
                let steps = steps.map(|steps| restore_all(steps.steps, target, &self.support));
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
    support: &Support<T>,
) -> Result<Vec<Step<T>>> {
    stored.into_iter().map(|step| restore(step, target, support)).collect()
}

fn restore<T: 'static>(
    stored: StoredStep,
    target: &mut T,
    support: &Support<T>,
) -> Result<Step<T>> {
    match stored {
        StoredStep::Change(change) => restored_change(*change, target, Moment::Spilled),
        StoredStep::Command(mut command) => {
            let further = std::mem::take(&mut command.further);
            let further = restore_all(further, target, support)?;
            let class = support.classes.class(command.class as usize);
            let class = class.ok_or_else(|| wrong("a command of no class"))?;
            let reading = Reading { registry: &support.classes.registry, numbers: None };
            let mut command = class.read(&command, &reading)?;
            command.further = further;
            Ok(Step::Command(command))
        }
    }
}
