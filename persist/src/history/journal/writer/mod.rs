//! The writer of a journal: appends, failures, and the exchange of journals at a save.
//!
//! The writer guarantees:
//!
//! - An edit that was acknowledged is in the file, in the order of the edits. With [`Flush::EveryEdit`] it is flushed.
//! - An edit that was refused is not replayed: bytes of a failed append are cut off before the next one.
//! - Whenever the program or the machine stops, one journal on the disk follows the save on the disk.
//!
//! Each operation on a file can fail, or be lost in a power failure, on its own. These are a write, its flush, a
//! rename, and the flush of the folder that makes the rename durable. The writer counts the bytes that are known to be
//! *good*, and treats everything after them as absent. After a flush that failed, the system may have dropped the
//! written bytes and report success for the next flush. So the file is not flushed again; its good part is copied to a
//! fresh file.

pub(super) mod exchange;

use std::io::{self, Read, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::frame::{self, CRC, FrameKind};
use super::{Flush, FollowedSave, Locks, SaveIdentity};
use crate::platform::{Timer, held};
use crate::storage::{NewFile, Storage, are_same, folder_of, is_beginning, is_free, names};
use crate::{Error, ErrorKind, Result};

/// Appends frames to a journal, and numbers them.
///
/// If an append fails, the bytes of it that are in the file are cut off. After a flush that failed nobody knows what is
/// on the disk: the good part of the file is copied to a fresh one, which replaces it.
struct JournalWriter {
    storage: Arc<dyn Storage>,
    /// The path of the journal.
    path: PathBuf,
    /// The path of the save, whose permissions the journal gets.
    save: PathBuf,
    /// The path where the journal is now. It differs while its save may still be undone by a power failure.
    live: PathBuf,
    flush: Flush,
    /// The number of the last frame, including pending ones.
    sequence: u64,
    state: WriterState,
    /// The file, once it was opened for writing.
    file: Option<Box<dyn NewFile>>,
    /// The number of good bytes in the file. 0 for a journal that could not be written at all.
    good: u64,
    /// Bytes that belong after the good ones, and are written with the next append.
    pending: Vec<u8>,
    /// The number of pending frames of the open, and of edits that become no entries. They and the next edit are one
    /// append.
    opening: usize,
    /// True if edits that become no entries are pending.
    has_deferred: bool,
    /// The number of bytes after the good ones, which are cut off when the file is opened for writing.
    excess: u64,
    /// Since when something in the file is not flushed.
    unsynced: Option<Timer>,
    /// The last checksum that this session wrote. Without file locks, it shows whether another session has replaced the
    /// journal.
    last_crc: Option<[u8; CRC]>,
    /// Journals that are copied before anything is written.
    unkept: Vec<PathBuf>,
    locks: Locks,
    /// The save that the journal follows. Shared with the save that replaces both.
    followed: Arc<Mutex<FollowedSave>>,
    /// True if the names of save and journal are durable. False while a power failure may undo a rename of either.
    are_names_durable: bool,
    /// Bytes after the good ones of a part of the journal whose save is not in place, or may not be.
    waiting: u64,
    /// True if the last part of the journal shows that its save was in place.
    is_marked: bool,
    /// A buffer for the frames of an edit, which is reused.
    scratch: Vec<u8>,
}

enum WriterState {
    Good,
    /// An append failed, since the file could not be written. The next append writes a fresh file.
    Broken(String),
    /// The file lacks an edit that happened, so that nothing after it can be replayed.
    Lost {
        kind: ErrorKind,
        why: String,
    },
}

/// Frames in the order in which they are written.
type Frames = Vec<(FrameKind, Vec<u8>)>;

impl JournalWriter {
    /// Creates a writer for a journal at a path, which follows a save.
    fn new(
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
            has_deferred: false,
            excess: 0,
            unsynced: None,
            last_crc: None,
            unkept,
            locks,
            followed: Arc::new(Mutex::new(followed)),
            are_names_durable: false,
            waiting: 0,
            is_marked: true,
            scratch: Vec::new(),
        }
    }

    /// Continues after the first `length` bytes of a journal, whose last frame has number `sequence`.
    ///
    /// Nothing is written here, except that bytes after `length` are cut off. If that fails, the next edit tries it
    /// again. `frames` are written with that edit, too.
    fn resume(
        &mut self,
        from: &Path,
        (length, size): (u64, u64),
        (sequence, is_marked): (u64, bool),
        frames: &Frames,
    ) -> Result<()> {
        self.sequence = encode(frames, 0, sequence, &mut self.pending)?;
        self.opening = frames.len();
        from.clone_into(&mut self.live);
        // If the journal cannot be renamed, later sessions find it under its other name.
        let _ = self.settle();
        self.is_marked = is_marked;
        self.hold();
        // The previous session may have stopped before it flushed its last edit or its last cut.
        self.unsynced = Some(Timer::start());
        (self.good, self.excess) = (length, size.saturating_sub(length));
        let is_flushed = matches!(self.flush, Flush::EveryEdit);
        // Bytes after the good ones are cut off at once, unless a copy of them has to be kept first.
        let is_open =
            self.unkept.is_empty() && (is_flushed || self.excess > 0) && self.opened().is_ok();
        if is_open && is_flushed {
            match self.opened().and_then(|file| file.sync()) {
                Ok(()) => self.unsynced = None,
                Err(error) => self.break_off(error.to_string()),
            }
        }
        Ok(())
    }

    /// Begins a new journal. On a full disk, the journal waits in memory for the first edit.
    fn begin(&mut self, header: &[u8], frames: &Frames) -> Result<()> {
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

    /// Notes that `content` is the whole journal now, in a file or pending.
    fn begun(&mut self, content: Vec<u8>, file: io::Result<Box<dyn NewFile>>) {
        (self.opening, self.has_deferred, self.excess, self.unsynced) = (0, false, 0, None);
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

    /// Notes that the pending bytes and these ones are in the file.
    fn wrote(&mut self, bytes: &[u8], last: u64) {
        let pending = std::mem::take(&mut self.pending);
        (self.opening, self.has_deferred) = (0, false);
        // A part with an event is continued in any case.
        self.is_marked |= !bytes.is_empty();
        self.good += (pending.len() + bytes.len()) as u64;
        self.note_end(&pending);
        self.note_end(bytes);
        self.sequence = last;
    }

    /// Notes the checksum at the end of the file.
    fn note_end(&mut self, bytes: &[u8]) {
        self.last_crc = bytes.last_chunk().copied().or(self.last_crc);
    }

    /// Locks the file of the journal.
    fn hold(&mut self) {
        self.locks.file = self.storage.lock_file(&self.live).ok().flatten();
    }

    /// Copies the journals that the next write would replace.
    fn keep_all(&mut self) -> io::Result<()> {
        while let Some(path) = self.unkept.last() {
            keep(&*self.storage, path, &self.path)?;
            self.unkept.pop();
        }
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn is_at(&self, path: &Path) -> bool {
        self.live == path
    }

    /// Why the last edit is not in the journal.
    fn broken(&self) -> Option<&str> {
        match &self.state {
            WriterState::Good => None,
            WriterState::Broken(why) | WriterState::Lost { why, .. } => Some(why),
        }
    }

    /// True if the journal lacks an edit, but the state of the target is known. The next journal can then hold the
    /// history after a `clear`.
    fn lacks_history(&self) -> bool {
        matches!(&self.state, WriterState::Lost { kind, .. } if *kind != ErrorKind::Poisoned)
    }

    /// Notes that nothing can be replayed from now on, until the next save. `why` says what to do.
    fn lose(&mut self, kind: ErrorKind, why: &str) {
        if !matches!(self.state, WriterState::Lost { .. }) {
            self.state = WriterState::Lost { kind, why: why.to_owned() };
        }
    }

    /// Appends frames, all or none.
    ///
    /// Frames that `must` be in the journal report something that has already happened. If they cannot be written, they
    /// are kept and written with the next append. If the storage panics, nobody knows what it wrote: the file is
    /// replaced before the next append.
    fn append(&mut self, frames: &Frames, must: bool) -> Result<()> {
        // The save is not checked for frames that `must` be written: what they report has happened.
        if !must && !matches!(self.state, WriterState::Lost { .. }) {
            // `Unknown` counts as unchanged: the edit is safe in this journal in either case.
            if matches!(held(&self.followed).check(), SaveIdentity::Changed) {
                return Err(held(&self.followed).conflict());
            }
            // If a power failure undid the rename of the save, the save before it would be there, and this journal
            // would not follow it. So the rename is made durable before the first edit is acknowledged.
            self.make_names_durable().map_err(|error| self.failed(error))?;
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

    /// Keeps frames for the next append.
    fn wait_for(&mut self, bytes: &[u8], last: u64) {
        self.pending.extend_from_slice(bytes);
        self.sequence = last;
    }

    /// Keeps frames of an edit that becomes no entry for the next append, so that it waits for no disk.
    fn defer(&mut self, frames: &Frames) -> Result<()> {
        /// The most bytes that are kept. A camera that turns for some seconds takes as many.
        const MOST: usize = 64 << 10;
        if matches!(self.state, WriterState::Lost { .. }) {
            // The journal is of no use until the next save, which has the edit.
            return Ok(());
        }
        let mut bytes = Vec::new();
        let last = encode(frames, self.opening, self.sequence, &mut bytes)?;
        self.wait_for(&bytes, last);
        self.opening += frames.len();
        (self.has_deferred, self.unsynced) =
            (true, Some(self.unsynced.unwrap_or_else(Timer::start)));
        if self.pending.len() > MOST {
            self.write_deferred();
        }
        Ok(())
    }

    /// Writes the edits that become no entries, without a flush. If that fails, the next append writes them.
    fn write_deferred(&mut self) {
        let is_good = matches!(self.state, WriterState::Good) && self.waiting == 0;
        if self.has_deferred
            && is_good
            && matches!(self.is_own(), Ok(true))
            && self.keep_all().is_ok()
            && self.write_at_end(&[], false).is_ok()
        {
            self.wrote(&[], self.sequence);
        }
    }

    /// Appends to a good file. If it fails, the bytes are cut off, so that an edit that is rolled back now is not
    /// replayed later.
    fn append_bytes(&mut self, bytes: &[u8], must: bool, last: u64) -> Result<()> {
        let own = self.is_own();
        if matches!(own, Ok(false)) {
            return self.refuse(must);
        }
        let is_due = self.flush.is_due(self.unsynced);
        let copied = own.and_then(|_| self.keep_all());
        let written = copied.and_then(|()| self.write(bytes));
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
            // The disk is full, but the next edit may be small enough.
            return Err(self.failed(error));
        }
        self.break_off(error.to_string());
        self.mend(bytes, must, last)
    }

    /// The file, opened for writing and cut off after the good bytes.
    fn opened(&mut self) -> io::Result<&mut Box<dyn NewFile>> {
        let file = match self.file.take() {
            Some(file) => file,
            None => self.storage.append(&self.live, self.good)?,
        };
        self.excess = 0;
        Ok(self.file.insert(file))
    }

    /// Writes the pending bytes and these ones.
    fn write(&mut self, bytes: &[u8]) -> io::Result<&mut Box<dyn NewFile>> {
        self.opened()?;
        let file = self.file.as_mut().ok_or(io::ErrorKind::NotFound)?;
        file.write_all(&self.pending)?;
        file.write_all(bytes)?;
        Ok(file)
    }

    /// Without a file lock, checks the file itself. Returns false if another session has written to it, or replaced it.
    fn is_own(&self) -> io::Result<bool> {
        match &self.state {
            _ if self.locks.journal.is_some() => return Ok(true),
            WriterState::Lost { kind, .. } => return Ok(*kind != ErrorKind::InUse),
            WriterState::Broken(_) if self.good == 0 => return Ok(true),
            _ => {}
        }
        let mut file = self.storage.open(&self.live)?;
        let size = file.seek(SeekFrom::End(0))?;
        // A broken journal may be longer: the bytes of the failed append could not be cut off.
        let is_good = matches!(self.state, WriterState::Good);
        if size < self.good || (is_good && size != self.good + self.excess + self.waiting) {
            return Ok(false);
        }
        let mut crc = [0; CRC];
        file.seek(SeekFrom::Start(self.good.saturating_sub(CRC as u64)))?;
        file.read_exact(&mut crc)?;
        Ok(self.last_crc.is_none_or(|last| last == crc))
    }

    /// The save that the journal follows, for a save that replaces both.
    fn followed(&self) -> Arc<Mutex<FollowedSave>> {
        Arc::clone(&self.followed)
    }

    /// Returns an error if the journal now belongs to another session. If that cannot be checked, the save may proceed.
    fn check_own(&self) -> Result<()> {
        if matches!(self.is_own(), Ok(false)) { Err(in_use(&self.path)) } else { Ok(()) }
    }

    /// Returns the error for a journal that now belongs to another session. An event that `must` be recorded is lost.
    fn refuse(&mut self, must: bool) -> Result<()> {
        if must {
            let why = "another session has written to it; close that, and open this one again";
            self.lose(ErrorKind::InUse, why);
        }
        Err(in_use(&self.path))
    }

    /// Writes a fresh file with the good bytes, the pending ones and these.
    fn mend(&mut self, bytes: &[u8], must: bool, last: u64) -> Result<()> {
        let own = self.is_own();
        if matches!(own, Ok(false)) {
            return self.refuse(must);
        }
        // If the storage panics below, this state remains. A fresh file that is half in place must not be written on.
        let why = format!("{PANICKED}; save, which begins a new one");
        self.state = WriterState::Lost { kind: ErrorKind::Io, why };
        let copied = own.and_then(|_| self.keep_all()).and_then(|()| self.make_names_durable());
        let written = copied.and_then(|()| {
            self.replace(|storage, out| {
                copy_start(storage, &self.live, self.good, out)?;
                out.write_all(&self.pending)?;
                out.write_all(bytes)
            })
        });
        let error = match written {
            Ok(mut file) => {
                self.hold();
                // The fresh file is in place, and no bytes are pending.
                self.excess = 0;
                self.wrote(&[], self.sequence);
                let synced = self.storage.sync_folder(folder_of(&self.live));
                if synced.is_ok() || must {
                    self.wrote(bytes, last);
                } else {
                    // Its edit is rolled back now, so it must not be in the file.
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

    /// Writes a fresh file beside the journal, flushes it, and renames it to the journal.
    ///
    /// The new name is durable once the folder is flushed, which the caller does.
    fn replace(
        &self,
        content: impl FnOnce(&dyn Storage, &mut dyn Write) -> io::Result<()>,
    ) -> io::Result<Box<dyn NewFile>> {
        let temporary = names::temporary(&self.path);
        self.write_new(&temporary, content, || self.storage.rename(&temporary, &self.live))
    }

    /// Writes a new file and flushes it, then calls `rest`. If something fails, the file is removed.
    ///
    /// The file gets the permissions of the save, or those of the journal while there is no save.
    fn write_new(
        &self,
        path: &Path,
        content: impl FnOnce(&dyn Storage, &mut dyn Write) -> io::Result<()>,
        rest: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<Box<dyn NewFile>> {
        let storage = &*self.storage;
        remove_if_present(storage, path)?;
        let like = if is_free(storage, &self.save)? { &self.path } else { &self.save };
        let mut file = storage.create(path, like)?;
        let result = content(storage, &mut file).and_then(|()| file.sync());
        if let Err(error) = result.and_then(|()| rest()) {
            drop(file);
            // The first error is the one to report.
            let _ = storage.remove(path);
            return Err(error);
        }
        Ok(file)
    }

    /// Flushes the journal to disk. Repairs it if it is broken.
    fn flush(&mut self) -> Result<()> {
        match &self.state {
            // It was flushed with all that is before it.
            _ if self.waiting > 0 => return Ok(()),
            // The names also have to be durable: a save that a power failure may undo has its edits in no other
            // journal.
            WriterState::Good if self.unsynced.is_some() || !self.are_names_durable => {
                self.write_deferred();
                let own = self.is_own();
                if matches!(own, Ok(false)) {
                    return self.refuse(false);
                }
                // Frames that could not be written go to a fresh file, or the flush is an error.
                if !self.has_deferred {
                    let named = own.and_then(|_| self.make_names_durable());
                    match named.and_then(|()| self.opened()?.sync()) {
                        Ok(()) => {
                            self.unsynced = None;
                            return Ok(());
                        }
                        Err(error) => self.break_off(error.to_string()),
                    }
                }
            }
            WriterState::Broken(_) => {}
            _ => return Ok(()),
        }
        self.mend(&[], false, self.sequence)
    }

    /// Flushes the journal if the interval of its [`Flush`] policy is over.
    fn tick(&mut self) -> Result<()> {
        let is_due = match (self.flush, self.unsynced) {
            (Flush::Every(interval), Some(since)) => since.is_past(interval),
            _ => false,
        };
        if is_due || matches!(self.state, WriterState::Broken(_)) { self.flush() } else { Ok(()) }
    }

    /// Removes the journal, so that the next session begins with the save alone.
    fn remove(&mut self) -> Result<()> {
        self.check_own()?;
        self.keep_all().map_err(|error| self.failed(error))?;
        self.state = WriterState::Lost { kind: ErrorKind::Io, why: String::from("it was removed") };
        let next = names::next_journal(&self.path);
        for file in [&self.path, &next] {
            remove_if_present(&*self.storage, file).map_err(|e| Error::io("remove", file, e))?;
        }
        self.storage.sync_folder(folder_of(&self.path)).map_err(|error| self.failed(error))
    }

    /// Writes bytes after the good ones. If this fails, they are cut off, here or by the next append.
    fn write_at_end(&mut self, bytes: &[u8], is_flushed: bool) -> io::Result<()> {
        // If the storage panics, this state remains, and the next append writes a fresh file.
        self.state = WriterState::Broken(PANICKED.into());
        let written = self.write(bytes);
        let is_written = written.is_ok();
        let synced = written.and_then(|file| if is_flushed { file.sync() } else { Ok(()) });
        // After a flush that failed, nobody knows what is on the disk.
        match &synced {
            Err(error) if is_written || self.cut_off().is_err() => {
                self.break_off(error.to_string());
            }
            _ => self.state = WriterState::Good,
        }
        synced
    }

    /// Cuts off the bytes after the good ones.
    fn cut_off(&mut self) -> io::Result<()> {
        let good = self.good;
        self.file.as_mut().map_or(Err(io::ErrorKind::NotFound.into()), |file| file.truncate(good))
    }

    /// Flushes the folders of the save and of the journal, unless the names are durable already.
    fn make_names_durable(&mut self) -> io::Result<()> {
        if !self.are_names_durable {
            self.settle()?;
        }
        Ok(())
    }

    /// Renames the journal to its own path, if it has another name. The names of the save and of the journal are made
    /// durable first.
    fn settle(&mut self) -> io::Result<()> {
        if !self.are_names_durable {
            let (folder, of_save) = (folder_of(&self.path), folder_of(&self.save));
            self.storage.sync_folder(of_save)?;
            if folder != of_save {
                self.storage.sync_folder(folder)?;
            }
            self.are_names_durable = true;
        }
        self.mark();
        if self.live == self.path {
            return Ok(());
        }
        // The file at its path may be a journal that has to be copied first.
        self.keep_all()?;
        self.storage.rename(&self.live, &self.path)?;
        self.live.clone_from(&self.path);
        // If the folder is not flushed, the journal is found under either name.
        let _ = self.storage.sync_folder(folder_of(&self.path));
        Ok(())
    }

    /// Notes in the journal that the save of its last part is in place. An event after it says so as well.
    fn mark(&mut self) {
        let is_good = matches!(self.state, WriterState::Good) && self.pending.is_empty();
        if self.is_marked || !is_good || self.waiting > 0 {
            return;
        }
        let (frames, mut bytes) = (vec![(FrameKind::InPlace, Vec::new())], Vec::new());
        let Ok(last) = encode(&frames, 0, self.sequence, &mut bytes) else { return };
        if self.write_at_end(&bytes, false).is_ok() {
            self.wrote(&bytes, last);
            self.unsynced.get_or_insert_with(Timer::start);
        }
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::io("write the journal", &self.path, error)
    }
}

const PANICKED: &str = "the storage panicked";

/// The last append is tried once more when the session ends.
impl Drop for JournalWriter {
    fn drop(&mut self) {
        self.write_deferred();
        if matches!(self.state, WriterState::Broken(_)) {
            let _ = self.flush();
        }
    }
}

/// Encodes frames of an append that begins with `start` others. Returns the number of the last frame.
fn encode(
    frames: &[(FrameKind, Vec<u8>)],
    start: usize,
    mut sequence: u64,
    out: &mut Vec<u8>,
) -> Result<u64> {
    for (place, (kind, payload)) in (start..).zip(frames) {
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

fn remove_if_present(storage: &dyn Storage, path: &Path) -> io::Result<()> {
    match storage.remove(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cold]
fn in_use(journal: &Path) -> Error {
    Error::new(
        ErrorKind::InUse,
        format!(
            "the journal {} is in use, another session has it open; close that, or look at it with `inspect`",
            journal.display()
        ),
    )
}

/// Copies a journal to a free name, for the user to inspect.
///
/// An older copy that is a beginning of the journal is replaced: otherwise each session that continues the journal
/// would leave one more copy.
fn keep(storage: &dyn Storage, from: &Path, journal: &Path) -> io::Result<PathBuf> {
    let mut number = 1;
    let name = loop {
        let name = names::preserved_journal(journal, number);
        if is_free(storage, &name)? {
            break name;
        }
        if are_same(storage, from, &name) {
            return Ok(name);
        }
        if is_beginning(storage, &name, from) {
            storage.remove(&name)?;
            break name;
        }
        number += 1;
    };
    let mut file = storage.create(&name, from)?;
    let copied = storage.open(from).and_then(|mut from| io::copy(&mut from, &mut file));
    let result = copied.and_then(|_| file.sync());
    if let Err(error) = result {
        drop(file);
        let _ = storage.remove(&name);
        return Err(error);
    }
    Ok(name)
}

/// True if the disk is full or read-only, so that another file could not be written either.
fn cannot_write(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    [FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull].contains(&error.kind())
}
