//! The file of a journal that is written on.

use std::io::{self, Read, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Flush;
use super::files::{Locks, cannot_write, in_use, keep};
use super::frame::{self, CRC, Kind};
use crate::platform::Timer;
use crate::storage::{NewFile, Storage, folder_of, is_free, names};
use crate::{Error, ErrorKind, Result};

/// Writes frames, each with the number after that of the one before.
///
/// If an append fails, what of it is in the file is cut off again. After a flush that failed nobody knows what is on the
/// disk: the good part of the file is copied to a fresh one, which takes its place.
pub(super) struct Writer {
    storage: Arc<dyn Storage>,
    /// Where the journal belongs.
    path: PathBuf,
    /// The save, whose permissions the journal has.
    save: PathBuf,
    /// Where it is: elsewhere while it is not known that the save that it follows will last.
    live: PathBuf,
    flush: Flush,
    /// The number of the last frame.
    sequence: u64,
    state: State,
    /// Since when there is something that may not last.
    unsynced: Option<Timer>,
    /// The last checksum in the file, if this has written it: without locks, it shows whether another session has
    /// replaced the journal.
    last_crc: Option<[u8; CRC]>,
    /// Bytes after the good ones that are cut off when the file is opened.
    excess: u64,
    /// Journals that are copied before anything is written.
    unkept: Vec<PathBuf>,
    locks: Locks,
    /// Memory for the frames of an edit.
    scratch: Vec<u8>,
}

enum State {
    /// A file of `length` bytes. The first write opens it, and writes `waiting` first.
    Good { file: Option<Box<dyn NewFile>>, length: u64, waiting: Vec<u8> },
    /// An append failed. Bytes that are not in the file yet wait after those that surely are.
    Broken { good: Good, pending: Vec<u8>, why: String },
    /// What is done from now on cannot be replayed after what is in the file.
    Lost { kind: ErrorKind, why: String },
}

enum Good {
    /// The first bytes of the file, this many.
    File(u64),
    /// A journal that could not be written at all.
    Memory(Vec<u8>),
}

impl Good {
    fn length(&self) -> u64 {
        match self {
            Self::File(length) => *length,
            Self::Memory(content) => content.len() as u64,
        }
    }
}

impl State {
    /// An append has failed just now; `pending` waits.
    fn broken(good: Good, pending: Vec<u8>, why: String) -> Self {
        Self::Broken { good, pending, why }
    }

    fn good(file: Box<dyn NewFile>, length: u64) -> Self {
        Self::Good { file: Some(file), length, waiting: Vec::new() }
    }
}

/// Frames in the order in which they are written.
pub(super) type Frames = Vec<(Kind, Vec<u8>)>;

impl Writer {
    /// A journal at a path, beside a save.
    pub(super) fn new(
        storage: Arc<dyn Storage>,
        (path, save): (PathBuf, PathBuf),
        locks: Locks,
        unkept: Vec<PathBuf>,
        flush: Flush,
    ) -> Self {
        let why = String::from("it has not been begun");
        Self {
            storage,
            live: path.clone(),
            path,
            save,
            flush,
            sequence: 0,
            state: State::Lost { kind: ErrorKind::Io, why },
            unsynced: None,
            last_crc: None,
            excess: 0,
            unkept,
            locks,
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
        let mut waiting = Vec::new();
        self.sequence = encode(frames, sequence, &mut waiting)?;
        from.clone_into(&mut self.live);
        // If it cannot get its name it is found under the other one.
        let _ = self.settle(Some(&self.save.clone()));
        self.hold();
        let must_cut = size > length && self.unkept.is_empty();
        let file = if must_cut { self.storage.append(&self.live, length).ok() } else { None };
        self.excess = if file.is_some() { 0 } else { size.saturating_sub(length) };
        self.state = State::Good { file, length, waiting };
        Ok(())
    }

    /// Begins anew. On a full disk the journal waits in memory for the first edit.
    pub(super) fn begin(&mut self, header: &[u8], frames: &Frames) -> Result<()> {
        let mut content = header.to_vec();
        self.sequence = encode(frames, self.sequence, &mut content)?;
        let written = self.keep_all().and_then(|()| {
            let file = self.write_fresh(|_, out| out.write_all(&content))?;
            self.storage.sync_folder(folder_of(&self.live))?;
            Ok(file)
        });
        self.hold();
        self.last_crc = content.last_chunk().copied();
        self.state = match written {
            Ok(file) => State::good(file, content.len() as u64),
            Err(error) if cannot_write(&error) => {
                State::broken(Good::Memory(content), Vec::new(), error.to_string())
            }
            Err(error) => return Err(self.failed(error)),
        };
        Ok(())
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

    /// True if it is there now.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        self.live == path
    }

    /// Why what was done last is not in the journal.
    pub(super) fn broken(&self) -> Option<&str> {
        match &self.state {
            State::Good { .. } => None,
            State::Broken { why, .. } | State::Lost { why, .. } => Some(why),
        }
    }

    /// True if it lacks some of the history of a whole target: the next journal can hold what is left after a clear.
    pub(super) fn lacks_history(&self) -> bool {
        matches!(&self.state, State::Lost { kind, .. } if *kind != ErrorKind::Poisoned)
    }

    /// Notes that nothing can be replayed from now on, until the next save; `why` includes what to do.
    pub(super) fn lose(&mut self, kind: ErrorKind, why: &str) {
        if !matches!(self.state, State::Lost { .. }) {
            self.state = State::Lost { kind, why: why.to_owned() };
        }
    }

    /// Appends frames, all or none. Those that `must` be in the journal, as what they say has happened, wait for the next time if they cannot be written.
    ///
    /// If the storage panics, nobody knows what of them is in the file: it is mended before the next ones.
    pub(super) fn append(&mut self, frames: &Frames, must: bool) -> Result<()> {
        let mut bytes = std::mem::take(&mut self.scratch);
        bytes.clear();
        let last = encode(frames, self.sequence, &mut bytes)?;
        let appended = catch_unwind(AssertUnwindSafe(|| self.append_all(&bytes, must, last)));
        self.scratch = bytes;
        appended.unwrap_or_else(|panic| {
            if let State::Good { length, waiting, .. } = &mut self.state {
                let (good, mut pending) = (Good::File(*length), std::mem::take(waiting));
                if must {
                    pending.extend_from_slice(&self.scratch);
                    self.sequence = last;
                }
                self.state = State::broken(good, pending, String::from(PANICKED));
            }
            resume_unwind(panic)
        })
    }

    fn append_all(&mut self, bytes: &[u8], must: bool, last: u64) -> Result<()> {
        match &mut self.state {
            State::Good { .. } => self.append_bytes(bytes, must, last),
            State::Lost { kind, why } => {
                let path = self.path.display();
                let message = format!("what is done now cannot be in the journal {path}, {why}");
                Err(Error::new(*kind, message))
            }
            State::Broken { .. } => self.mend(bytes, must, last),
        }
    }

    /// Appends to a good file. If that fails they are cut off again, so that what is rolled back now is not replayed later.
    fn append_bytes(&mut self, bytes: &[u8], waits: bool, last: u64) -> Result<()> {
        let own = self.is_own();
        if matches!(own, Ok(false)) {
            return self.refuse(waits);
        }
        let kept = own.and_then(|_| self.keep_all());
        let State::Good { file, length, waiting } = &mut self.state else { return Ok(()) };
        let is_due = self.flush.is_due(self.unsynced);
        let written = kept.and_then(|()| {
            let file = open(file, &*self.storage, &self.live, *length)?;
            self.excess = 0;
            file.write_all(waiting)?;
            file.write_all(bytes)?;
            Ok(file)
        });
        let is_written = written.is_ok();
        let error = match written.and_then(|file| if is_due { file.sync() } else { Ok(()) }) {
            Ok(()) => {
                *length += (waiting.len() + bytes.len()) as u64;
                self.last_crc = bytes.last_chunk().or(waiting.last_chunk()).copied();
                waiting.clear();
                self.sequence = last;
                let since = self.unsynced.unwrap_or_else(Timer::start);
                self.unsynced = (!is_due).then_some(since);
                return Ok(());
            }
            Err(error) => error,
        };
        let is_cut = file.as_mut().is_none_or(|file| file.truncate(*length).is_ok());
        if !waits && !is_written && is_cut && cannot_write(&error) {
            // The next edit may be small enough.
            return Err(self.failed(error));
        }
        let (good, pending) = (Good::File(*length), std::mem::take(waiting));
        self.state = State::broken(good, pending, error.to_string());
        self.mend(bytes, waits, last)
    }

    /// Where the journal cannot be locked: false if another session has written to it, or replaced it.
    fn is_own(&self) -> io::Result<bool> {
        let (good, excess) = match &self.state {
            _ if self.locks.journal.is_some() => return Ok(true),
            State::Good { length, .. } => (*length, Some(self.excess)),
            // What could not be cut off may follow.
            State::Broken { good: Good::File(length), .. } => (*length, None),
            State::Broken { .. } => return Ok(true),
            State::Lost { kind, .. } => return Ok(*kind != ErrorKind::InUse),
        };
        let mut file = self.storage.open(&self.live)?;
        let size = file.seek(SeekFrom::End(0))?;
        if size < good || excess.is_some_and(|excess| size != good + excess) {
            return Ok(false);
        }
        let mut crc = [0; CRC];
        file.seek(SeekFrom::Start(good.saturating_sub(CRC as u64)))?;
        file.read_exact(&mut crc)?;
        Ok(self.last_crc.is_none_or(|last| last == crc))
    }

    /// Refuses to replace the journal of another session. One that cannot be looked at keeps no save from being made.
    pub(super) fn check_own(&self) -> Result<()> {
        if matches!(self.is_own(), Ok(false)) { Err(in_use(&self.path)) } else { Ok(()) }
    }

    /// The journal is that of another session now. What has happened all the same is in no journal.
    fn refuse(&mut self, waits: bool) -> Result<()> {
        if waits {
            let why = "another session has written to it; close that, and open this one again";
            self.lose(ErrorKind::InUse, why);
        }
        Err(in_use(&self.path))
    }

    /// Makes a fresh file of what is good, what waits and these bytes.
    fn mend(&mut self, bytes: &[u8], waits: bool, last: u64) -> Result<()> {
        let own = self.is_own();
        if matches!(own, Ok(false)) {
            return self.refuse(waits);
        }
        let before = std::mem::replace(
            &mut self.state,
            State::Lost {
                kind: ErrorKind::Io,
                why: format!("{PANICKED}; save, which begins a new one"),
            },
        );
        let State::Broken { mut good, mut pending, .. } = before else {
            self.state = before;
            return Ok(());
        };
        let source = self.live.clone();
        let written = own.and_then(|_| self.keep_all()).and_then(|()| {
            self.write_fresh(|storage, out| {
                match &good {
                    Good::File(length) => copy_start(storage, &source, *length, out)?,
                    Good::Memory(content) => out.write_all(content)?,
                }
                out.write_all(&pending)?;
                out.write_all(bytes)
            })
        });
        let error = match written {
            Ok(mut file) => {
                let kept = good.length() + pending.len() as u64;
                self.excess = 0;
                self.hold();
                if let Good::Memory(content) = &good {
                    self.last_crc = content.last_chunk().copied();
                }
                self.last_crc = pending.last_chunk().copied().or(self.last_crc);
                let with_bytes = bytes.last_chunk().copied().or(self.last_crc);
                let whole = kept + bytes.len() as u64;
                match self.storage.sync_folder(folder_of(&self.live)) {
                    Ok(()) => {
                        self.state = State::good(file, whole);
                        self.last_crc = with_bytes;
                        self.sequence = last;
                        self.unsynced = None;
                        return Ok(());
                    }
                    Err(error) => {
                        // The fresh file is in place already, and what is rolled back now must not be in it.
                        good = Good::File(if waits { whole } else { kept });
                        pending.clear();
                        if waits {
                            self.last_crc = with_bytes;
                            self.sequence = last;
                        } else {
                            let _ = file.truncate(kept);
                        }
                        error
                    }
                }
            }
            Err(error) => {
                if waits {
                    pending.extend_from_slice(bytes);
                    self.sequence = last;
                }
                error
            }
        };
        self.state = State::broken(good, pending, error.to_string());
        Err(self.failed(error))
    }

    /// Writes a file beside the journal, which takes its place when it is on the disk. The name lasts when the folder is
    /// flushed.
    fn write_fresh(
        &self,
        content: impl FnOnce(&dyn Storage, &mut dyn Write) -> io::Result<()>,
    ) -> io::Result<Box<dyn NewFile>> {
        let (storage, temporary) = (&*self.storage, names::temporary(&self.path));
        remove_if_there(storage, &temporary)?;
        let mut file = self.create(&temporary)?;
        let result = content(storage, &mut file).and_then(|()| file.sync());
        let result = result.and_then(|()| storage.rename(&temporary, &self.live));
        if let Err(error) = result {
            drop(file);
            // The error that counts is the first.
            let _ = storage.remove(&temporary);
            return Err(error);
        }
        Ok(file)
    }

    /// Creates a file with the permissions of the save; of the journal before there is a save.
    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        let storage = &*self.storage;
        let like = if is_free(storage, &self.save)? { &self.path } else { &self.save };
        storage.create(path, like)
    }

    /// Makes what is in the journal last, and mends it if it is broken.
    pub(super) fn flush(&mut self) -> Result<()> {
        match &mut self.state {
            State::Good { file: Some(file), length, waiting } if self.unsynced.is_some() => {
                let Err(error) = file.sync() else {
                    self.unsynced = None;
                    return Ok(());
                };
                let (good, pending) = (Good::File(*length), std::mem::take(waiting));
                self.state = State::broken(good, pending, error.to_string());
                self.mend(&[], false, self.sequence)
            }
            State::Broken { .. } => self.mend(&[], false, self.sequence),
            _ => Ok(()),
        }
    }

    /// Flushes if it is time.
    pub(super) fn tick(&mut self) -> Result<()> {
        let is_due = match (self.flush, self.unsynced) {
            (Flush::Every(interval), Some(since)) => since.is_past(interval),
            _ => false,
        };
        if is_due || matches!(self.state, State::Broken { .. }) { self.flush() } else { Ok(()) }
    }

    /// Removes the journal, so that the next session begins with the save.
    pub(super) fn remove(&mut self) -> Result<()> {
        self.check_own()?;
        self.keep_all().map_err(|error| self.failed(error))?;
        self.state = State::Lost { kind: ErrorKind::Io, why: String::from("it was removed") };
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
pub(super) struct Next {
    content: Vec<u8>,
    sequence: u64,
    file: io::Result<Box<dyn NewFile>>,
}

/// How a journal is replaced by the one of the next save.
///
/// It is written beside the old one before the save is replaced, and gets the name of the old one after that. Whenever
/// that is interrupted, one of the two follows the current save.
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

const PANICKED: &str = "the storage panicked";

/// What waits is tried once more.
impl Drop for Writer {
    fn drop(&mut self) {
        if matches!(self.state, State::Broken { .. }) {
            let _ = self.flush();
        }
    }
}

/// Appends frames; returns the number of the last.
fn encode(frames: &Frames, mut sequence: u64, out: &mut Vec<u8>) -> Result<u64> {
    for (kind, payload) in frames {
        sequence += 1;
        frame::push(*kind, sequence, payload, out)?;
    }
    Ok(sequence)
}

/// The file, which is opened the first time.
fn open<'f>(
    file: &'f mut Option<Box<dyn NewFile>>,
    storage: &dyn Storage,
    path: &Path,
    length: u64,
) -> io::Result<&'f mut Box<dyn NewFile>> {
    match file {
        Some(file) => Ok(file),
        None => Ok(file.insert(storage.append(path, length)?)),
    }
}

/// Copies the first bytes of a file.
fn copy_start(
    storage: &dyn Storage,
    from: &Path,
    length: u64,
    out: &mut dyn Write,
) -> io::Result<()> {
    let copied = io::copy(&mut storage.open(from)?.take(length), out)?;
    if copied == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn remove_if_there(storage: &dyn Storage, path: &Path) -> io::Result<()> {
    match storage.remove(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
