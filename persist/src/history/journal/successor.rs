//! How a journal is replaced by the one of the next save.
//!
//! It is written beside the old one before the save is replaced, and gets the name of the old one after that. Whenever
//! that is interrupted, one of the two follows the current save.

use std::io;
use std::path::Path;

use super::writer::{Frames, Good, State, Writer, encode, remove_if_there};
use crate::Result;
use crate::storage::{NewFile, folder_of, names};

/// A new journal that waits for its save.
pub(super) struct Next {
    content: Vec<u8>,
    sequence: u64,
    file: io::Result<Box<dyn NewFile>>,
}

impl Writer {
    /// Writes a journal that follows a save which is not in place yet, beside the one that is.
    pub(super) fn prepare(&mut self, header: &[u8], frames: &Frames) -> Result<Next> {
        let mut content = header.to_vec();
        let sequence = encode(frames, self.sequence, &mut content)?;
        let file = self.keep_all().and_then(|()| self.create_next(&content));
        Ok(Next { content, sequence, file })
    }

    fn create_next(&self, content: &[u8]) -> io::Result<Box<dyn NewFile>> {
        let (storage, next) = (&*self.storage, names::next_journal(&self.path));
        if self.live == next {
            return Err(io::Error::other("the journal before it could not get its name"));
        }
        remove_if_there(storage, &next)?;
        let mut file = self.create(&next)?;
        let result = file.write_all(content).and_then(|()| file.sync());
        // Else the save could be there after a power cut, and its journal not.
        match result.and_then(|()| storage.sync_folder(folder_of(&next))) {
            Ok(()) => Ok(file),
            Err(error) => {
                drop(file);
                let _ = storage.remove(&next);
                Err(error)
            }
        }
    }

    /// Continues with a new journal, whose save is in place; `is_sure` if that is certainly durable.
    pub(super) fn adopt(&mut self, next: Next, is_sure: bool) {
        let Next { content, sequence, file } = next;
        self.sequence = sequence;
        self.unsynced = None;
        self.last_crc = content.last_chunk().copied();
        let length = content.len() as u64;
        match file {
            Ok(file) => {
                self.state = State::good(file, length);
                self.live = names::next_journal(&self.path);
                self.hold();
                if is_sure {
                    // If that fails it is found under the other name, and tried again.
                    let _ = self.settle(None);
                }
            }
            Err(error) => {
                let (good, why) = (Good::Memory(content), error.to_string());
                self.state = State::broken(good, Vec::new(), why);
                self.live.clone_from(&self.path);
            }
        }
    }

    /// Forgets a new journal whose save is not in place.
    pub(super) fn give_up(&self, next: Next) {
        if let Ok(file) = next.file {
            drop(file);
            let _ = self.storage.remove(&names::next_journal(&self.path));
        }
    }

    /// Gives the journal its name, if it does not have it; first the folder of the save must be known to last.
    pub(super) fn settle(&mut self, save: Option<&Path>) -> io::Result<()> {
        if self.live == self.path {
            return Ok(());
        }
        // Its name may be that of a journal that is not kept yet.
        self.keep_all()?;
        if let Some(save) = save {
            self.storage.sync_folder(folder_of(save))?;
        }
        self.storage.rename(&self.live, &self.path)?;
        self.live.clone_from(&self.path);
        self.storage.sync_folder(folder_of(&self.path))
    }
}
