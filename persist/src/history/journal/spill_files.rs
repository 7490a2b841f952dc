//! The files of entries that are not in memory. This module does not know histories.

use std::collections::HashMap;
use std::io::{Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Spill;
use super::stored::{StoredStep, payload, read as read_payload};
use crate::history::SpillPosition;
use crate::history::change::step::FinalState;
use crate::storage::Storage;
use crate::{Error, ErrorKind, Result};

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
    pub(super) fn write(&mut self, entries: &[Vec<StoredStep>]) -> Result<Vec<SpillPosition>> {
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

    pub(super) fn read(&mut self, at: SpillPosition) -> Result<Vec<StoredStep>> {
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
    pub(super) fn leave(&mut self, number: u64) {
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
