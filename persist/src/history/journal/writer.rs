//! The file of a journal that is written on.

use std::io::{self, Read, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::Flush;
use super::files::{Locks, cannot_write, in_use, keep};
use super::frame::{self, CRC, FrameKind};
use super::identity::{FollowedSave, SaveIdentity};
use crate::platform::{Timer, held};
use crate::storage::{NewFile, Storage, folder_of, is_free, names};
use crate::{Error, ErrorKind, Result};

/// Writes frames, each with the number after that of the one before.
///
/// If an append fails, what of it is in the file is cut off again. After a flush that failed nobody knows what is on the
/// disk: the good part of the file is copied to a fresh one, which takes its place.
pub(super) struct JournalWriter {
    storage: Arc<dyn Storage>,
    /// Where the journal belongs.
    path: PathBuf,
    /// The save, whose permissions the journal has.
    save: PathBuf,
    /// Where it is: elsewhere while it is not known that the save that it follows will last.
    live: PathBuf,
    flush: Flush,
    /// The number of the last frame, with those that wait.
    sequence: u64,
    state: WriterState,
    /// The file, once something is written to it.
    file: Option<Box<dyn NewFile>>,
    /// How many of its bytes are good; 0 of a journal that could not be written at all.
    good: u64,
    /// Bytes that belong after the good ones, and wait for the next write.
    pending: Vec<u8>,
    /// How many frames an open left there: they and the first edit are one append.
    opening: usize,
    /// Bytes after the good ones that are cut off when the file is opened.
    excess: u64,
    /// Since when there is something that may not last.
    unsynced: Option<Timer>,
    /// The last checksum in the file, if this has written it: without locks, it shows whether another session has
    /// replaced the journal.
    last_crc: Option<[u8; CRC]>,
    /// Journals that are copied before anything is written.
    unkept: Vec<PathBuf>,
    locks: Locks,
    /// Also asked while a save replaces both.
    followed: Arc<Mutex<FollowedSave>>,
    /// False while a power cut may undo the rename of the save that the journal follows, or that of the journal.
    names_last: bool,
    /// Memory for the frames of an edit.
    scratch: Vec<u8>,
}

enum WriterState {
    Good,
    /// An append failed, since the file could not be written: the next one makes a fresh file.
    Broken(String),
    /// What is done from now on cannot be replayed after what is in the file.
    Lost {
        kind: ErrorKind,
        why: String,
    },
}

/// Frames in the order in which they are written.
pub(super) type Frames = Vec<(FrameKind, Vec<u8>)>;

impl JournalWriter {
    /// A journal at a path, beside a save.
    pub(super) fn new(
        storage: Arc<dyn Storage>,
        (path, save): (PathBuf, PathBuf),
        locks: Locks,
        unkept: Vec<PathBuf>,
        followed: FollowedSave,
        flush: Flush,
    ) -> Self {
        Self {
            storage,
            live: path.clone(),
            path,
            save,
            flush,
            sequence: 0,
            state: WriterState::Good,
            file: None,
            good: 0,
            pending: Vec::new(),
            opening: 0,
            excess: 0,
            unsynced: None,
            last_crc: None,
            unkept,
            locks,
            followed: Arc::new(Mutex::new(followed)),
            names_last: false,
            scratch: Vec::new(),
        }
    }

    /// Continues after the first bytes of a journal, whose last frame has this number.
    ///
    /// Nothing is written except to cut off the rest. If that fails, the next edit tries it again, and writes `frames`, too.
    pub(super) fn go_on(
        &mut self,
        from: &Path,
        (length, size): (u64, u64),
        sequence: u64,
        frames: &Frames,
    ) -> Result<()> {
        self.sequence = encode(frames, 0, sequence, &mut self.pending)?;
        self.opening = frames.len();
        from.clone_into(&mut self.live);
        // If it cannot get its name it is found under the other one.
        let _ = self.settle();
        self.hold();
        // The session before may not have flushed it, nor what it has cut off.
        self.unsynced = Some(Timer::start());
        (self.good, self.excess) = (length, size.saturating_sub(length));
        let is_to_last = matches!(self.flush, Flush::EveryEdit);
        // What follows the good bytes is cut off at once, unless a copy of it is to be kept first.
        let is_open =
            self.unkept.is_empty() && (is_to_last || self.excess > 0) && self.opened().is_ok();
        if is_open && is_to_last {
            match self.opened().and_then(|file| file.sync()) {
                Ok(()) => self.unsynced = None,
                Err(error) => self.break_off(error.to_string()),
            }
        }
        Ok(())
    }

    /// Begins anew. On a full disk the journal waits in memory for the first edit.
    pub(super) fn begin(&mut self, header: &[u8], frames: &Frames) -> Result<()> {
        let mut content = header.to_vec();
        self.sequence = encode(frames, 0, self.sequence, &mut content)?;
        let written = self.keep_all().and_then(|()| {
            let file = self.replace(|_, out| out.write_all(&content))?;
            self.settle()?;
            Ok(file)
        });
        self.hold();
        match written {
            Err(error) if !cannot_write(&error) => Err(self.failed(error)),
            written => {
                self.begun(content, written);
                Ok(())
            }
        }
    }

    /// Notes that this is the whole journal now: in a file, or waiting.
    fn begun(&mut self, content: Vec<u8>, file: io::Result<Box<dyn NewFile>>) {
        (self.opening, self.excess, self.unsynced) = (0, 0, None);
        self.note_end(&content);
        match file {
            Ok(file) => {
                (self.state, self.file) = (WriterState::Good, Some(file));
                (self.good, self.pending) = (content.len() as u64, Vec::new());
            }
            Err(error) => {
                self.break_off(error.to_string());
                (self.good, self.pending) = (0, content);
            }
        }
    }

    /// Notes that what waited is in the file, and these frames.
    fn wrote(&mut self, bytes: &[u8], last: u64) {
        let pending = std::mem::take(&mut self.pending);
        self.opening = 0;
        self.good += (pending.len() + bytes.len()) as u64;
        self.note_end(&pending);
        self.note_end(bytes);
        self.sequence = last;
    }

    /// Notes what the file ends with.
    fn note_end(&mut self, bytes: &[u8]) {
        self.last_crc = bytes.last_chunk().copied().or(self.last_crc);
    }

    /// Locks the file that is the journal now.
    fn hold(&mut self) {
        self.locks.file = self.storage.lock_file(&self.live).ok().flatten();
    }

    /// Keeps copies of what the next write replaces.
    fn keep_all(&mut self) -> io::Result<()> {
        while let Some(path) = self.unkept.last() {
            keep(&*self.storage, path, &self.path)?;
            self.unkept.pop();
        }
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn is_at(&self, path: &Path) -> bool {
        self.live == path
    }

    /// Why what was done last is not in the journal.
    pub(super) fn broken(&self) -> Option<&str> {
        match &self.state {
            WriterState::Good => None,
            WriterState::Broken(why) | WriterState::Lost { why, .. } => Some(why),
        }
    }

    /// True if it lacks some of the history of a whole target: the next journal can hold what is left after a clear.
    pub(super) fn lacks_history(&self) -> bool {
        matches!(&self.state, WriterState::Lost { kind, .. } if *kind != ErrorKind::Poisoned)
    }

    /// Notes that nothing can be replayed from now on, until the next save; `why` includes what to do.
    pub(super) fn lose(&mut self, kind: ErrorKind, why: &str) {
        if !matches!(self.state, WriterState::Lost { .. }) {
            self.state = WriterState::Lost { kind, why: why.to_owned() };
        }
    }

    /// Appends frames, all or none. Those that `must` be in the journal, as what they say has happened, wait for the next time if they cannot be written.
    ///
    /// If the storage panics, nobody knows what of them is in the file: it is mended before the next ones.
    pub(super) fn append(&mut self, frames: &Frames, must: bool) -> Result<()> {
        // What has happened all the same belongs into the journal, whatever the save is now.
        if !must && !matches!(self.state, WriterState::Lost { .. }) {
            // Where nobody knows, the edit is safe in the journal.
            if matches!(held(&self.followed).check(), SaveIdentity::Changed) {
                return Err(held(&self.followed).conflict());
            }
            // An edit that is acknowledged must not go with the save that it follows.
            self.make_names_last().map_err(|error| self.failed(error))?;
        }
        let mut bytes = std::mem::take(&mut self.scratch);
        bytes.clear();
        let last = encode(frames, self.opening, self.sequence, &mut bytes)?;
        let appended = catch_unwind(AssertUnwindSafe(|| match &self.state {
            WriterState::Good => self.append_bytes(&bytes, must, last),
            WriterState::Broken(_) => self.mend(&bytes, must, last),
            WriterState::Lost { kind, why } => {
                let path = self.path.display();
                let message = format!("what is done now cannot be in the journal {path}, {why}");
                Err(Error::new(*kind, message))
            }
        }));
        let appended = appended.unwrap_or_else(|panic| {
            if matches!(self.state, WriterState::Good) {
                self.break_off(PANICKED.into());
                if must {
                    self.wait_for(&bytes, last);
                }
            }
            resume_unwind(panic)
        });
        self.scratch = bytes;
        appended
    }

    /// Notes that an append failed.
    fn break_off(&mut self, why: String) {
        (self.state, self.file) = (WriterState::Broken(why), None);
    }

    /// Lets frames wait for the next write.
    fn wait_for(&mut self, bytes: &[u8], last: u64) {
        self.pending.extend_from_slice(bytes);
        self.sequence = last;
    }

    /// Appends to a good file. If that fails they are cut off again, so that what is rolled back now is not replayed later.
    fn append_bytes(&mut self, bytes: &[u8], must: bool, last: u64) -> Result<()> {
        let own = self.is_own();
        if matches!(own, Ok(false)) {
            return self.refuse(must);
        }
        let is_due = self.flush.is_due(self.unsynced);
        let kept = own.and_then(|_| self.keep_all());
        let written = kept.and_then(|()| self.write(bytes));
        let is_written = written.is_ok();
        let synced = written.and_then(|file| if is_due { file.sync() } else { Ok(()) });
        let Err(error) = synced else {
            self.wrote(bytes, last);
            let since = self.unsynced.unwrap_or_else(Timer::start);
            self.unsynced = (!is_due).then_some(since);
            return Ok(());
        };
        let good = self.good;
        let is_cut = self.file.as_mut().is_none_or(|file| file.truncate(good).is_ok());
        if !must && !is_written && is_cut && cannot_write(&error) {
            // The next edit may be small enough.
            return Err(self.failed(error));
        }
        self.break_off(error.to_string());
        self.mend(bytes, must, last)
    }

    /// The file, cut off after what is good.
    fn opened(&mut self) -> io::Result<&mut Box<dyn NewFile>> {
        let file = match self.file.take() {
            Some(file) => file,
            None => self.storage.append(&self.live, self.good)?,
        };
        self.excess = 0;
        Ok(self.file.insert(file))
    }

    /// Writes what waits, and these bytes.
    fn write(&mut self, bytes: &[u8]) -> io::Result<&mut Box<dyn NewFile>> {
        self.opened()?;
        let file = self.file.as_mut().ok_or(io::ErrorKind::NotFound)?;
        file.write_all(&self.pending)?;
        file.write_all(bytes)?;
        Ok(file)
    }

    /// Where the journal cannot be locked: false if another session has written to it, or replaced it.
    fn is_own(&self) -> io::Result<bool> {
        match &self.state {
            _ if self.locks.journal.is_some() => return Ok(true),
            WriterState::Lost { kind, .. } => return Ok(*kind != ErrorKind::InUse),
            WriterState::Broken(_) if self.good == 0 => return Ok(true),
            _ => {}
        }
        let mut file = self.storage.open(&self.live)?;
        let size = file.seek(SeekFrom::End(0))?;
        // What could not be cut off may follow in a broken one.
        let is_good = matches!(self.state, WriterState::Good);
        if size < self.good || (is_good && size != self.good + self.excess) {
            return Ok(false);
        }
        let mut crc = [0; CRC];
        file.seek(SeekFrom::Start(self.good.saturating_sub(CRC as u64)))?;
        file.read_exact(&mut crc)?;
        Ok(self.last_crc.is_none_or(|last| last == crc))
    }

    /// The save that it follows, which a save asks for, too.
    pub(super) fn followed(&self) -> Arc<Mutex<FollowedSave>> {
        Arc::clone(&self.followed)
    }

    /// Refuses to replace the journal of another session. One that cannot be looked at keeps no save from being made.
    pub(super) fn check_own(&self) -> Result<()> {
        if matches!(self.is_own(), Ok(false)) { Err(in_use(&self.path)) } else { Ok(()) }
    }

    /// The journal is that of another session now. What has happened all the same is in no journal.
    fn refuse(&mut self, must: bool) -> Result<()> {
        if must {
            let why = "another session has written to it; close that, and open this one again";
            self.lose(ErrorKind::InUse, why);
        }
        Err(in_use(&self.path))
    }

    /// Makes a fresh file of what is good, what waits and these bytes.
    fn mend(&mut self, bytes: &[u8], must: bool, last: u64) -> Result<()> {
        let own = self.is_own();
        if matches!(own, Ok(false)) {
            return self.refuse(must);
        }
        let why = format!("{PANICKED}; save, which begins a new one");
        self.state = WriterState::Lost { kind: ErrorKind::Io, why };
        let kept = own.and_then(|_| self.keep_all()).and_then(|()| self.make_names_last());
        let written = kept.and_then(|()| {
            self.replace(|storage, out| {
                copy_start(storage, &self.live, self.good, out)?;
                out.write_all(&self.pending)?;
                out.write_all(bytes)
            })
        });
        let error = match written {
            Ok(mut file) => {
                self.hold();
                // The fresh file is in place, and nothing waits any more.
                self.excess = 0;
                self.wrote(&[], self.sequence);
                let synced = self.storage.sync_folder(folder_of(&self.live));
                if synced.is_ok() || must {
                    self.wrote(bytes, last);
                } else {
                    // What is rolled back now must not be in it.
                    let _ = file.truncate(self.good).and_then(|()| file.sync());
                }
                let Err(error) = synced else {
                    (self.state, self.file, self.unsynced) = (WriterState::Good, Some(file), None);
                    return Ok(());
                };
                error
            }
            Err(error) => {
                if must {
                    self.wait_for(bytes, last);
                }
                error
            }
        };
        self.break_off(error.to_string());
        Err(self.failed(error))
    }

    /// Writes a fresh file beside the journal, which takes its place when it is on the disk. The name lasts when the
    /// folder is flushed.
    fn replace(
        &self,
        content: impl FnOnce(&dyn Storage, &mut dyn Write) -> io::Result<()>,
    ) -> io::Result<Box<dyn NewFile>> {
        let temporary = names::temporary(&self.path);
        self.write_new(&temporary, content, || self.storage.rename(&temporary, &self.live))
    }

    /// Writes a file to the disk, with the permissions of the save, or of the journal before there is a save; then does
    /// the rest. If something fails, the file is removed.
    fn write_new(
        &self,
        path: &Path,
        content: impl FnOnce(&dyn Storage, &mut dyn Write) -> io::Result<()>,
        rest: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<Box<dyn NewFile>> {
        let storage = &*self.storage;
        remove_if_there(storage, path)?;
        let like = if is_free(storage, &self.save)? { &self.path } else { &self.save };
        let mut file = storage.create(path, like)?;
        let result = content(storage, &mut file).and_then(|()| file.sync());
        if let Err(error) = result.and_then(|()| rest()) {
            drop(file);
            // The error that counts is the first.
            let _ = storage.remove(path);
            return Err(error);
        }
        Ok(file)
    }

    /// Makes what is in the journal last, and mends it if it is broken.
    pub(super) fn flush(&mut self) -> Result<()> {
        match &self.state {
            // What a save holds that may be taken back is in no other journal.
            WriterState::Good if self.unsynced.is_some() || !self.names_last => {
                let own = self.is_own();
                if matches!(own, Ok(false)) {
                    return self.refuse(false);
                }
                let named = own.and_then(|_| self.make_names_last());
                match named.and_then(|()| self.opened()?.sync()) {
                    Ok(()) => {
                        self.unsynced = None;
                        return Ok(());
                    }
                    Err(error) => self.break_off(error.to_string()),
                }
            }
            WriterState::Broken(_) => {}
            _ => return Ok(()),
        }
        self.mend(&[], false, self.sequence)
    }

    /// Flushes if it is time.
    pub(super) fn tick(&mut self) -> Result<()> {
        let is_due = match (self.flush, self.unsynced) {
            (Flush::Every(interval), Some(since)) => since.is_past(interval),
            _ => false,
        };
        if is_due || matches!(self.state, WriterState::Broken(_)) { self.flush() } else { Ok(()) }
    }

    /// Removes the journal, so that the next session begins with the save.
    pub(super) fn remove(&mut self) -> Result<()> {
        self.check_own()?;
        self.keep_all().map_err(|error| self.failed(error))?;
        self.state = WriterState::Lost { kind: ErrorKind::Io, why: String::from("it was removed") };
        let next = names::next_journal(&self.path);
        for file in [&self.path, &next] {
            remove_if_there(&*self.storage, file).map_err(|e| Error::io("remove", file, e))?;
        }
        self.storage.sync_folder(folder_of(&self.path)).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::io("write the journal", &self.path, error)
    }
}

/// A new journal that waits for its save.
pub(super) struct NextJournal {
    content: Vec<u8>,
    sequence: u64,
    file: io::Result<Box<dyn NewFile>>,
}

/// How a journal is replaced by the one of the next save.
///
/// It is written beside the old one before the save is replaced, and gets the name of the old one after that. Whenever
/// that is interrupted, one of the two follows the current save.
impl JournalWriter {
    /// Writes a journal that follows a save which is not in place yet, beside the one that is.
    pub(super) fn prepare(&mut self, header: &[u8], frames: &Frames) -> Result<NextJournal> {
        let mut content = header.to_vec();
        let sequence = encode(frames, 0, self.sequence, &mut content)?;
        let file = self.keep_all().and_then(|()| self.create_next(&content));
        Ok(NextJournal { content, sequence, file })
    }

    fn create_next(&self, content: &[u8]) -> io::Result<Box<dyn NewFile>> {
        let next = names::next_journal(&self.path);
        if self.live == next {
            return Err(io::Error::other("the journal before it could not get its name"));
        }
        // Else the save could be there after a power cut, and its journal not.
        let sync = || self.storage.sync_folder(folder_of(&next));
        self.write_new(&next, |_, out| out.write_all(content), sync)
    }

    /// Continues with a new journal, whose save is in place; `is_sure` if that is certainly durable.
    pub(super) fn adopt(&mut self, next: NextJournal, is_sure: bool) {
        let NextJournal { content, sequence, file } = next;
        (self.sequence, self.names_last) = (sequence, is_sure);
        let is_there = file.is_ok();
        self.live = if is_there { names::next_journal(&self.path) } else { self.path.clone() };
        self.begun(content, file);
        if is_there {
            self.hold();
            if is_sure {
                // If that fails it is found under the other name, and tried again.
                let _ = self.settle();
            }
        }
    }

    /// Forgets a new journal whose save is not in place.
    pub(super) fn give_up(&mut self, next: Option<NextJournal>) {
        // Names that were changed for the save are as before, and a power cut may change them again.
        self.names_last = false;
        if let Some(file) = next.and_then(|next| next.file.ok()) {
            drop(file);
            let _ = self.storage.remove(&names::next_journal(&self.path));
        }
    }

    /// Flushes the folders of the save and of the journal, unless their names are known to last.
    fn make_names_last(&mut self) -> io::Result<()> {
        if !self.names_last {
            self.settle()?;
        }
        Ok(())
    }

    /// Gives the journal its name, if it does not have it; first the names of the save and of the journal must be known to
    /// last.
    pub(super) fn settle(&mut self) -> io::Result<()> {
        if !self.names_last {
            let (folder, of_save) = (folder_of(&self.path), folder_of(&self.save));
            self.storage.sync_folder(of_save)?;
            if folder != of_save {
                self.storage.sync_folder(folder)?;
            }
            self.names_last = true;
        }
        if self.live == self.path {
            return Ok(());
        }
        // Its name may be that of a journal that is not kept yet.
        self.keep_all()?;
        self.storage.rename(&self.live, &self.path)?;
        self.live.clone_from(&self.path);
        // Until then it is found under either name.
        let _ = self.storage.sync_folder(folder_of(&self.path));
        Ok(())
    }
}

const PANICKED: &str = "the storage panicked";

/// What waits is tried once more.
impl Drop for JournalWriter {
    fn drop(&mut self) {
        if matches!(self.state, WriterState::Broken(_)) {
            let _ = self.flush();
        }
    }
}

/// Encodes frames of an append that begins with this many others; returns the number of the last.
fn encode(frames: &Frames, before: usize, mut sequence: u64, out: &mut Vec<u8>) -> Result<u64> {
    for (place, (kind, payload)) in (before..).zip(frames) {
        sequence += 1;
        frame::push(*kind, place, sequence, payload, out)?;
    }
    Ok(sequence)
}

/// Copies the first bytes of a file.
fn copy_start(
    storage: &dyn Storage,
    from: &Path,
    length: u64,
    out: &mut dyn Write,
) -> io::Result<()> {
    if length == 0 {
        return Ok(());
    }
    let copied = io::copy(&mut storage.open(from)?.take(length), out)?;
    if copied == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn remove_if_there(storage: &dyn Storage, path: &Path) -> io::Result<()> {
    match storage.remove(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
