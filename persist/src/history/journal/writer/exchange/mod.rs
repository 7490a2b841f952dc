//! The exchange of the journal at a save.
//!
//! The new journal is written beside the old one, under another name. Then the save is replaced, which the new journal
//! follows. Then the new journal is renamed over the old one. Whenever this is interrupted, one of the two journals
//! follows the current save, and the next session finds it by the digest in its header.
//!
//! A history of 75 MB took 0.4 s in each save. So if most of the history is unchanged, a part with the digest of the
//! save is appended to the journal instead, which names the entries where they are. After the save a frame follows that
//! says that the save is in place. Then the part before is not continued, even if its save comes back from a backup.

pub(in crate::history::journal) mod recorder;

use std::io;

use hashbrown::HashSet;

use super::{Frames, JournalWriter, WriterState, encode};
use crate::Result;
use crate::format::Digest;
use crate::history::Unchanged;
use crate::history::journal::frame::{self, FrameKind};
use crate::history::journal::{ComponentKey, EntryRun, FiledEntries, SavedContent};
use crate::storage::{FileStamp, NewFile, folder_of, names};

/// A new journal, or part of one, whose save is not in place yet.
struct NextJournal {
    content: Vec<u8>,
    sequence: u64,
    written: WrittenNext,
}

enum WrittenNext {
    /// It is another file beside the journal.
    File(io::Result<Box<dyn NewFile>>),
    /// It is a part at the end of the journal.
    Part(io::Result<()>),
}

/// A save of the session, with the journal that follows it.
struct NextSave {
    digest: Digest,
    stamp: Option<FileStamp>,
    /// An error if the journal cannot hold the history.
    journal: Result<NextJournal>,
    state: RecorderState,
}

/// All that follows from the journal so far.
struct RecorderState {
    /// The numbers of classes, of commands and of a world.
    classes: (usize, usize),
    last_id: Option<u64>,
    /// The components and resources whose contents follow from it.
    recorded: HashSet<ComponentKey>,
    /// Says whether the save has the content of the target.
    saved: SavedContent,
    filed: FiledEntries,
}

/// The beginning of a journal, or of a part of one.
struct Beginning {
    /// The state of the history, the contents that its entries need, and the entries that are not named.
    frames: Frames,
    /// The number of entries among the frames, which are the last.
    entries: usize,
    /// The contents in it.
    recorded: HashSet<ComponentKey>,
    /// The entries that the journal has, then those of the frames.
    filed: FiledEntries,
}

impl JournalWriter {
    /// Returns the runs of entries that a save can name. Empty if the journal has to be written as a whole, also since
    /// more than half of it is no longer of use.
    fn named(&self, filed: &FiledEntries, unchanged: Unchanged) -> Vec<EntryRun> {
        let is_good = matches!(self.state, WriterState::Good) && self.pending.is_empty();
        if !is_good || !self.is_marked || self.live != self.path || self.waiting > 0 {
            return Vec::new();
        }
        let (mut skipped, mut left) = (unchanged.removed as u64, unchanged.len as u64);
        let (mut named, mut bytes) = (Vec::new(), 0);
        for run in &filed.runs {
            let first = skipped.min(run.count);
            let count = left.min(run.count - first);
            (skipped, left) = (skipped - first, left - count);
            if count > 0 {
                named.push(EntryRun { skipped: run.skipped + first, count, ..*run });
                bytes +=
                    u128::from(run.bytes) * u128::from(count) / u128::from(run.skipped + run.count);
            }
        }
        // A file that is mostly of use grows with the history, and is written again at most when that doubles.
        if u128::from(self.good) <= 2 * bytes && left == 0 { named } else { Vec::new() }
    }

    /// Writes the journal of a save that is not in place yet, beside the current journal or at its end.
    ///
    /// Also returns where it has its entries.
    fn prepare(
        &mut self,
        save: &Digest,
        begun: &Beginning,
    ) -> Result<(NextJournal, Vec<EntryRun>)> {
        self.drop_waiting();
        let mut runs = begun.filed.runs.clone();
        let is_part = !runs.is_empty();
        let (mut content, mut sequence) = (Vec::new(), self.sequence);
        let start = match is_part {
            true => {
                let frames = vec![(FrameKind::Follows, save.0.to_vec())];
                sequence = encode(&frames, 0, sequence, &mut content)?;
                self.good
            }
            false => {
                content.extend(frame::header(Some(save)));
                0
            }
        };
        let (first, entries) = begun.frames.split_at(begun.frames.len() - begun.entries);
        let place = usize::from(is_part);
        sequence = encode(first, place, sequence, &mut content)?;
        let offset = start + content.len() as u64;
        sequence = encode(entries, place + first.len(), sequence, &mut content)?;
        if !entries.is_empty() {
            let (bytes, count) = (start + content.len() as u64 - offset, entries.len() as u64);
            runs.push(EntryRun { offset, bytes, skipped: 0, count });
        }
        let copied = self.keep_all();
        let written = match is_part {
            true => WrittenNext::Part(copied.and_then(|()| self.append_part(&content))),
            false => WrittenNext::File(copied.and_then(|()| self.create_next(&content))),
        };
        Ok((NextJournal { content, sequence, written }, runs))
    }

    /// Appends a part whose save is not in place yet.
    fn append_part(&mut self, content: &[u8]) -> io::Result<()> {
        if let Some(why) = self.broken() {
            return Err(io::Error::other(why.to_owned()));
        }
        self.write_at_end(content, true)?;
        (self.waiting, self.unsynced) = (content.len() as u64, None);
        Ok(())
    }

    /// Cuts off a part whose save is not in place.
    fn drop_waiting(&mut self) {
        if std::mem::take(&mut self.waiting) > 0
            && let Err(error) = self.cut_off()
        {
            self.break_off(error.to_string());
        }
    }

    fn create_next(&self, content: &[u8]) -> io::Result<Box<dyn NewFile>> {
        let next = names::next_journal(&self.path);
        if self.live == next {
            return Err(io::Error::other("the journal before it could not get its name"));
        }
        // Without this, a power failure might leave the new save without its journal.
        let sync = || self.storage.sync_folder(folder_of(&next));
        self.write_new(&next, |_, out| out.write_all(content), sync)
    }

    /// Continues with a new journal, whose save is in place. `is_sure` is true if the save is known to be durable.
    fn adopt(&mut self, next: NextJournal, is_sure: bool) {
        let NextJournal { content, sequence, written } = next;
        (self.sequence, self.are_names_durable) = (sequence, is_sure);
        (self.waiting, self.is_marked) = (0, matches!(written, WrittenNext::File(_)));
        match written {
            WrittenNext::Part(Ok(())) => {
                self.good += content.len() as u64;
                self.note_end(&content);
            }
            // The next append writes a fresh file, with the part.
            WrittenNext::Part(Err(error)) => {
                self.break_off(error.to_string());
                self.pending = content;
            }
            WrittenNext::File(file) => {
                let next = file.is_ok().then(|| names::next_journal(&self.path));
                let is_written = next.is_some();
                self.live = next.unwrap_or_else(|| self.path.clone());
                self.begun(content, file);
                if is_written {
                    self.hold();
                }
            }
        }
        if is_sure && matches!(self.state, WriterState::Good) {
            // If this fails, the journal is found under its other name, and the rename is tried again.
            let _ = self.settle();
        }
    }

    /// Discards a new journal whose save is not in place.
    fn discard_next(&mut self, next: Option<NextJournal>) {
        // The save may have been renamed back, which a power failure can undo as well.
        self.are_names_durable = false;
        match next.map(|next| next.written) {
            Some(WrittenNext::File(Ok(file))) => {
                drop(file);
                let _ = self.storage.remove(&names::next_journal(&self.path));
            }
            _ => self.drop_waiting(),
        }
    }
}
