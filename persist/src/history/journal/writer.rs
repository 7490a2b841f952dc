//! The file of a journal that is written on.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Flush;
use super::frame::{self, Kind};
use crate::storage::{Lock, NewFile, Storage, exists, folder_of, names};
use crate::{Error, ErrorKind, Result};

/// Writes frames, each with the number behind that of the one before.
///
/// If an append fails, nobody knows what of it is on the disk, and it cannot be taken back there: the good part of the file then is
/// copied to a fresh one, which takes its place.
pub(super) struct Writer {
    pub(super) storage: Arc<dyn Storage>,
    /// Where the journal belongs.
    pub(super) path: PathBuf,
    /// Where it is: elsewhere while it is not known that the save that it follows will last.
    pub(super) live: PathBuf,
    flush: Flush,
    is_strict: bool,
    /// The number of the last frame.
    pub(super) sequence: u64,
    pub(super) state: State,
    /// Since when there is something that may not last.
    pub(super) unsynced: Option<Instant>,
    /// Held as long as the journal is written.
    _lock: Lock,
}

pub(super) enum State {
    /// A file of so many bytes.
    Good { file: Box<dyn NewFile>, length: u64 },
    /// An append failed. Bytes that are not in the file yet wait behind those that surely are.
    Broken { good: Good, pending: Vec<u8>, tried: usize, tried_at: Instant, why: String },
    /// What is done from now on cannot be done again behind what is in the file.
    Lost { kind: ErrorKind, why: String },
}

pub(super) enum Good {
    /// So many bytes of the file.
    File(u64),
    /// A journal that could not be written at all.
    Memory(Vec<u8>),
}

impl State {
    /// An append has failed just now, and nothing waits.
    pub(super) fn broken(good: Good, why: String) -> Self {
        Self::Broken { good, pending: Vec::new(), tried: 0, tried_at: Instant::now(), why }
    }
}

/// What waits is tried again in the next edit that comes so long after the last time, or when it is twice as much.
const PAUSE: Duration = Duration::from_secs(1);

/// What a journal without a file may keep in memory, while its edits go on.
const MOST_PENDING: usize = 64 << 20;

/// Frames in the order in which they are written.
pub(super) type Frames = Vec<(Kind, Vec<u8>)>;

/// How a [`Writer`] writes.
pub(super) struct Options {
    pub(super) flush: Flush,
    pub(super) is_strict: bool,
}

impl Writer {
    /// A journal at a path, which is locked; it goes on behind what `begin` writes.
    pub(super) fn new(
        storage: Arc<dyn Storage>,
        path: PathBuf,
        lock: Lock,
        options: &Options,
    ) -> Self {
        let why = String::from("it has not been begun");
        Self {
            storage,
            live: path.clone(),
            path,
            flush: options.flush,
            is_strict: options.is_strict,
            sequence: 0,
            state: State::Lost { kind: ErrorKind::Io, why },
            unsynced: None,
            _lock: lock,
        }
    }

    /// Begins with the first bytes of another journal, whose last frame has this number, and frames behind them.
    pub(super) fn go_on(
        &mut self,
        from: &Path,
        length: u64,
        sequence: u64,
        frames: &Frames,
    ) -> Result<()> {
        let mut tail = Vec::new();
        let last = encode(frames, sequence, &mut tail)?;
        let copy = |storage: &dyn Storage, out: &mut dyn Write| {
            copy_start(storage, from, length, out)?;
            out.write_all(&tail)
        };
        let file = self.write_fresh(copy).map_err(|error| self.failed(error))?;
        self.state = State::Good { file, length: length + tail.len() as u64 };
        self.sequence = last;
        Ok(())
    }

    /// Begins anew.
    pub(super) fn begin(&mut self, header: &[u8], frames: &Frames) -> Result<()> {
        let mut content = header.to_vec();
        let last = encode(frames, self.sequence, &mut content)?;
        let written = self.write_fresh(|_, out| out.write_all(&content));
        let file = written.map_err(|error| self.failed(error))?;
        self.state = State::Good { file, length: content.len() as u64 };
        self.sequence = last;
        Ok(())
    }

    pub(super) fn is_strict(&self) -> bool {
        self.is_strict
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Why what was done last is not in the journal.
    pub(super) fn broken(&self) -> Option<&str> {
        match &self.state {
            State::Good { .. } => None,
            State::Broken { why, .. } | State::Lost { why, .. } => Some(why),
        }
    }

    /// True if it lacks some of the history, of a target that is whole: the next one can hold what is left behind a clear.
    pub(super) fn lacks_history(&self) -> bool {
        matches!(&self.state, State::Lost { kind, .. } if *kind != ErrorKind::Poisoned)
    }

    /// Notes that nothing can be done again from now on, until the next save; what to do about it is a part of why.
    pub(super) fn lose(&mut self, kind: ErrorKind, why: &str) {
        if !matches!(self.state, State::Lost { .. }) {
            self.state = State::Lost { kind, why: why.to_owned() };
        }
    }

    /// Appends frames, all or none. Those that `must` be in the journal, as what they say has happened, wait for the next time if they cannot be written.
    pub(super) fn append(&mut self, frames: &Frames, must: bool) -> Result<()> {
        let mut bytes = Vec::new();
        let last = encode(frames, self.sequence, &mut bytes)?;
        let waits = must || !self.is_strict;
        let (good, why) = match &mut self.state {
            State::Good { file, length } => match write(file, &bytes, self.flush, self.unsynced) {
                Ok(is_synced) => {
                    *length += bytes.len() as u64;
                    self.sequence = last;
                    let since = self.unsynced.unwrap_or_else(Instant::now);
                    self.unsynced = (!is_synced).then_some(since);
                    return Ok(());
                }
                Err(error) => (Good::File(*length), error.to_string()),
            },
            State::Lost { kind, why } => {
                return Err(Error::new(
                    *kind,
                    format!(
                        "what is done now cannot be in the journal {}, {why}",
                        self.path.display()
                    ),
                ));
            }
            State::Broken { pending, tried, tried_at, .. } => {
                let is_small = pending.len() + bytes.len() < *tried * 2;
                if waits && is_small && tried_at.elapsed() < PAUSE {
                    // A disk that is full is not written in each edit.
                    pending.extend_from_slice(&bytes);
                    self.sequence = last;
                    return Err(self.is_broken());
                }
                return self.mend(&bytes, waits, last);
            }
        };
        self.state = State::broken(good, why);
        self.mend(&bytes, waits, last)
    }

    /// Makes a fresh file of what is good, what waits and these bytes.
    fn mend(&mut self, bytes: &[u8], waits: bool, last: u64) -> Result<()> {
        let before = std::mem::replace(
            &mut self.state,
            State::Lost { kind: ErrorKind::Io, why: String::new() },
        );
        let State::Broken { good, mut pending, .. } = before else {
            self.state = before;
            return Ok(());
        };
        let source = self.live.clone();
        let written = self.write_fresh(|storage, out| {
            match &good {
                Good::File(length) => copy_start(storage, &source, *length, out)?,
                Good::Memory(content) => out.write_all(content)?,
            }
            out.write_all(&pending)?;
            out.write_all(bytes)
        });
        let error = match written {
            Ok(file) => {
                let good = match good {
                    Good::File(length) => length,
                    Good::Memory(content) => content.len() as u64,
                };
                let length = good + (pending.len() + bytes.len()) as u64;
                self.state = State::Good { file, length };
                self.sequence = last;
                self.unsynced = None;
                return Ok(());
            }
            Err(error) => error,
        };
        if waits {
            pending.extend_from_slice(bytes);
            self.sequence = last;
        }
        let why = error.to_string();
        self.state = if pending.len() > MOST_PENDING {
            let why = format!(
                "which could not be written for too long, {why}; save, which begins a new one"
            );
            State::Lost { kind: ErrorKind::of(&error), why }
        } else {
            let tried = pending.len();
            State::Broken { good, pending, tried, tried_at: Instant::now(), why }
        };
        Err(self.failed(error))
    }

    /// Writes a file beside the journal, which takes its place when it is on the disk.
    fn write_fresh(
        &self,
        content: impl FnOnce(&dyn Storage, &mut dyn Write) -> io::Result<()>,
    ) -> io::Result<Box<dyn NewFile>> {
        let (storage, temporary) = (&*self.storage, names::temporary(&self.path));
        remove_if_there(storage, &temporary)?;
        let mut file = storage.create(&temporary, &self.path)?;
        let result = content(storage, &mut file).and_then(|()| file.sync());
        let result = result.and_then(|()| storage.rename(&temporary, &self.live));
        if let Err(error) = result {
            drop(file);
            // The error that counts is the first.
            let _ = storage.remove(&temporary);
            return Err(error);
        }
        storage.sync_folder(folder_of(&self.live))?;
        Ok(file)
    }

    /// Makes what is in the journal last, and mends it if it is broken.
    pub(super) fn flush(&mut self) -> Result<()> {
        match &mut self.state {
            State::Good { file, length } if self.unsynced.is_some() => {
                let Err(error) = file.sync() else {
                    self.unsynced = None;
                    return Ok(());
                };
                let (good, why) = (Good::File(*length), error.to_string());
                self.state = State::broken(good, why);
                self.mend(&[], false, self.sequence)
            }
            State::Broken { .. } => self.mend(&[], false, self.sequence),
            _ => Ok(()),
        }
    }

    /// Flushes if it is time.
    pub(super) fn tick(&mut self) -> Result<()> {
        let is_due = match (self.flush, self.unsynced) {
            (Flush::Every(interval), Some(since)) => since.elapsed() >= interval,
            _ => false,
        };
        if is_due || matches!(self.state, State::Broken { .. }) { self.flush() } else { Ok(()) }
    }

    /// Removes the journal, so that the next session begins with the save.
    pub(super) fn remove(&mut self) -> Result<()> {
        self.state = State::Lost { kind: ErrorKind::Io, why: String::from("it was removed") };
        let next = names::next_journal(&self.path);
        for file in [&self.path, &next] {
            remove_if_there(&*self.storage, file).map_err(|e| Error::io("remove", file, e))?;
        }
        self.storage.sync_folder(folder_of(&self.path)).map_err(|error| self.failed(error))
    }

    fn is_broken(&self) -> Error {
        let why = self.broken().unwrap_or_default();
        let path = self.path.display();
        Error::new(ErrorKind::Io, format!("the journal {path} cannot be written, {why}"))
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::io("write the journal", &self.path, error)
    }
}

/// What waits is tried once more.
impl Drop for Writer {
    fn drop(&mut self) {
        if matches!(self.state, State::Broken { .. }) {
            let _ = self.flush();
        }
    }
}

/// Appends frames; returns the number of the last.
pub(super) fn encode(frames: &Frames, mut sequence: u64, out: &mut Vec<u8>) -> Result<u64> {
    for (kind, payload) in frames {
        sequence += 1;
        frame::push(*kind, sequence, payload, out)?;
    }
    Ok(sequence)
}

/// Writes to the file, and says whether it was made to last.
fn write(
    file: &mut Box<dyn NewFile>,
    bytes: &[u8],
    flush: Flush,
    unsynced: Option<Instant>,
) -> io::Result<bool> {
    file.write_all(bytes)?;
    let is_due = match flush {
        Flush::EveryEdit => true,
        Flush::Every(interval) => {
            unsynced.map_or(Duration::ZERO, |since| since.elapsed()) >= interval
        }
        Flush::OnIdle => false,
    };
    if is_due {
        file.sync()?;
    }
    Ok(is_due)
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

pub(super) fn remove_if_there(storage: &dyn Storage, path: &Path) -> io::Result<()> {
    if exists(storage, path) { storage.remove(path) } else { Ok(()) }
}
