//! Saves in the background, written by another thread.
//!
//! The calling thread takes the snapshot: it runs the hooks and encodes every object into memory. The thread of the
//! [`Saves`](crate::Saves) computes checksums, compresses, writes and flushes.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use super::output::{Continued, SaveOutcome};
use super::{Destination, Output, UnwrittenSave};
use crate::codec::Buffer;
use crate::format::{CRC_SIZE, Checksums, EncodedSave, Sealer, write_again};
use crate::platform::{held, spawn};
use crate::{Error, ErrorKind, Result, trace};

/// A handle of a save that another thread is writing.
///
/// ```
/// use persist::Saves;
/// use persist::save::SaveOutcome;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("auto.sav");
/// let saves = Saves::new();
/// let save = saves.file(&path).save_in_background(&vec![7_u8; 1_000_000])?;
/// // The game continues, and may show a bar.
/// let progress = save.progress();
/// assert!(progress.done <= progress.total);
/// assert_eq!(save.wait()?, SaveOutcome::Saved);
/// assert_eq!(persist::load::<Vec<u8>>(&path)?.len(), 1_000_000);
/// # Ok::<(), persist::Error>(())
/// ```
///
/// Dropping the handle does not cancel the save. Dropping the last clone of the [`Saves`](crate::Saves) waits for its
/// background saves.
#[must_use = "an error is only seen by `wait`, or by `Saves::wait`"]
#[derive(Debug)]
pub struct BackgroundSave {
    ticket: Arc<Ticket>,
}

/// The progress of a save in the background, or of a load that is [watched](crate::Saves::watch_loads).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// For a save, the bytes of the snapshot that have been written; for a load, the objects that have been loaded.
    pub done: u64,
    /// For a save, the bytes of the snapshot; for a load, the objects of the world.
    ///
    /// The flush after the last byte is not counted, so a save may be at 100 % before it is done.
    pub total: u64,
}

impl Progress {
    /// Returns the fraction that is done, from 0.0 to 1.0; 1.0 if the total is 0.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a bar has fewer pixels")]
    pub fn fraction(self) -> f32 {
        if self.total == 0 { 1.0 } else { self.done as f32 / self.total as f32 }
    }
}

impl BackgroundSave {
    /// Returns the file that is written, as an absolute path with links resolved.
    ///
    /// It is `None` for a slot of a store, and for a rotation until the thread begins to write it. The file stem is the
    /// name of the slot.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.ticket.path.get().map(|path| &**path)
    }

    /// Returns how many bytes have been written.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.ticket.progress()
    }

    /// Returns true once the save has been written, superseded or cancelled, or has failed.
    #[must_use]
    pub fn is_done(&self) -> bool {
        !matches!(*held(&self.ticket.result), TicketState::Waiting)
    }

    /// Cancels the save, unless it has been written already.
    ///
    /// The saves that it [superseded](SaveOutcome::Superseded) are not written either.
    pub fn cancel(&self) {
        self.ticket.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Waits until the save is done, and returns its outcome.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Slot::save`](super::Slot::save).
    pub fn wait(self) -> Result<SaveOutcome> {
        let is_waiting = |outcome: &mut TicketState| matches!(outcome, TicketState::Waiting);
        let result = held(&self.ticket.result);
        let result = self.ticket.is_ready.wait_while(result, is_waiting);
        let mut result = result.unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *result, TicketState::Reported) {
            TicketState::Ready(result) => result,
            // Unreachable: there is one handle, and `wait` consumes it.
            TicketState::Waiting | TicketState::Reported => Err(cancelled()),
        }
    }
}

fn cancelled() -> Error {
    error!(ErrorKind::Cancelled, "the save was cancelled")
}

/// A save in the queue.
struct Job {
    target: Destination,
    continued: Option<Continued>,
    snapshot: UnwrittenSave,
    output: Output,
    ticket: Arc<Ticket>,
}

impl Job {
    fn run(&mut self) -> Result<SaveOutcome> {
        let Self { target, continued, snapshot, output, ticket } = self;
        let mut advance = |bytes| {
            ticket.done.fetch_add(bytes, Ordering::Relaxed);
            if ticket.is_cancelled() { Err(cancelled()) } else { Ok(()) }
        };
        let UnwrittenSave { header, save, pages, memory } = snapshot;
        let save = EncodedSave { bytes: save.gather(), checksums: Checksums::None, pages };
        let mut chosen = |path| drop(ticket.path.set(path));
        let result =
            output.put(target, continued.as_ref(), header, &mut chosen, &mut |out, header| {
                // This runs a second time if the disk was full and old backups were removed.
                ticket.done.store(0, Ordering::Relaxed);
                advance(0)?;
                let mut sealer = Sealer::new(out, output.options.compression, &output.limits);
                write_again(save, &header, *memory, &mut sealer, &mut advance).map(drop)
            });
        match result {
            Err(error) if error.kind() == ErrorKind::Cancelled => Ok(SaveOutcome::Cancelled),
            // The save was cancelled while it waited for another program to release the file.
            Err(error) if error.kind() == ErrorKind::InUse && ticket.is_cancelled() => {
                Ok(SaveOutcome::Cancelled)
            }
            result => result,
        }
    }

    /// Returns true if this save replaces another one in the queue, since both have the same destination.
    fn supersedes(&self, other: &Self) -> bool {
        self.output.storage.is_same(&other.output.storage)
            && match (&self.target, &other.target) {
                (Destination::One(location), Destination::One(other)) => location.is_same(other),
                (Destination::Rotation(home, _), Destination::Rotation(other, _)) => {
                    home.is_same(other)
                }
                _ => false,
            }
    }

    /// Returns true if the save may write this file. A rotation may write any file, since it chooses its file only when
    /// the save runs.
    fn may_write(&self, file: &Path) -> bool {
        match &self.target {
            Destination::One(location) => location.file() == Some(file),
            Destination::Rotation(..) => true,
        }
    }
}

/// The state of a save that its handle and the background thread share.
struct Ticket {
    /// The file; a rotation sets it when the save is written.
    path: OnceLock<PathBuf>,
    done: AtomicU64,
    total: u64,
    is_cancelled: AtomicBool,
    result: Mutex<TicketState>,
    is_ready: Condvar,
}

enum TicketState {
    Waiting,
    Ready(Result<SaveOutcome>),
    /// The handle has returned the result.
    Reported,
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ticket").field(&self.progress()).finish()
    }
}

impl Ticket {
    fn new(total: u64) -> Self {
        Self {
            path: OnceLock::new(),
            done: AtomicU64::new(0),
            total,
            is_cancelled: AtomicBool::new(false),
            result: Mutex::new(TicketState::Waiting),
            is_ready: Condvar::new(),
        }
    }

    fn progress(&self) -> Progress {
        Progress { done: self.done.load(Ordering::Relaxed), total: self.total }
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    fn finish(&self, result: Result<SaveOutcome>) {
        *held(&self.result) = TicketState::Ready(result);
        self.is_ready.notify_all();
    }

    /// Returns true if there is an error that has not been reported.
    fn has_error(&self) -> bool {
        matches!(*held(&self.result), TicketState::Ready(Err(_)))
    }

    /// Returns a copy of the error, unless it has been reported. The handle can still report it.
    fn error(&self) -> Option<Error> {
        match &*held(&self.result) {
            TicketState::Ready(Err(error)) => Some(Error::new(error.kind(), error.to_string())),
            _ => None,
        }
    }
}

/// The thread that writes saves, and its queue.
#[derive(Default)]
pub(super) struct Worker {
    queue: Arc<SaveQueue>,
    thread: OnceLock<JoinHandle<()>>,
    /// Locked while the thread is started. True while saves are written on the calling thread instead.
    starting: Mutex<bool>,
}

#[derive(Default)]
struct SaveQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<Job>,
    /// The destination that is being written; the inner option is `None` for a store or a rotation.
    current: Option<Option<PathBuf>>,
    /// Failed saves, until their errors are reported.
    failed: Vec<Arc<Ticket>>,
    /// The buffer of a written snapshot, reused by the next.
    spare: Buffer,
    ends: bool,
}

impl QueueState {
    /// Keeps a failed save until its error is reported.
    fn remember(&mut self, ticket: &Arc<Ticket>) {
        self.failed.retain(|failed| failed.has_error());
        // Only `Saves::wait` can report a save whose handle was dropped, and it reports only the first error. So one
        // such save is enough: a program that never waits must not collect failed saves without end.
        if self.failed.iter().all(|failed| Arc::strong_count(failed) > 1) {
            self.failed.push(Arc::clone(ticket));
        }
    }
}

impl Worker {
    pub(super) fn spare_buffer(&self) -> Buffer {
        std::mem::take(&mut held(&self.queue.state).spare)
    }

    /// Puts a save into the queue, in place of a waiting save with the same destination.
    pub(super) fn enqueue(
        &self,
        target: Destination,
        continued: Option<Continued>,
        snapshot: UnwrittenSave,
        output: Output,
    ) -> BackgroundSave {
        let pages = snapshot.pages.iter().map(|(_, page)| page.bytes.len() + CRC_SIZE);
        let total = snapshot.save.len() + pages.sum::<usize>();
        let ticket = Arc::new(Ticket::new(total as u64));
        if let Some(path) = target.file() {
            let _ = ticket.path.set(path.to_owned());
        }
        let save = BackgroundSave { ticket: Arc::clone(&ticket) };
        let job = Job { target, continued, snapshot, output, ticket };
        self.supersede(&job);
        held(&self.queue.state).waiting.push_back(job);
        self.queue.changed.notify_all();
        if self.is_new() {
            let mut is_starting = held(&self.starting);
            // Another thread may have started it before this one got the lock.
            if self.is_new() && !*is_starting {
                let queue = Arc::clone(&self.queue);
                match spawn("persist saves", move || while queue.run_next(true) {}) {
                    Ok(thread) => drop(self.thread.set(thread)),
                    // On platforms without threads, such as WebAssembly, the save is written now.
                    Err(_) => {
                        *is_starting = true;
                        drop(is_starting);
                        while self.queue.run_next(false) {}
                        *held(&self.starting) = false;
                    }
                }
            }
        }
        save
    }

    /// Returns true if the thread was never started.
    pub(super) fn is_new(&self) -> bool {
        self.thread.get().is_none()
    }

    /// Removes the waiting save that a newer save with the same destination replaces.
    fn supersede(&self, newer: &Job) {
        let mut state = held(&self.queue.state);
        if let Some(i) = state.waiting.iter().position(|job| newer.supersedes(job))
            && let Some(job) = state.waiting.remove(i)
        {
            state.spare = job.snapshot.save;
            job.ticket.finish(Ok(SaveOutcome::Superseded));
        }
    }

    /// Waits for all saves that may write a file.
    pub(super) fn settle(&self, path: &Path) {
        self.wait_while(|state| {
            let is_current =
                state.current.as_ref().is_some_and(|it| it.as_deref().is_none_or(|it| it == path));
            is_current || state.waiting.iter().any(|job| job.may_write(path))
        });
    }

    /// Waits for all saves.
    pub(super) fn settle_all(&self) {
        self.wait_while(|state| state.current.is_some() || !state.waiting.is_empty());
    }

    /// Waits for all saves; returns the first error that has not been reported.
    pub(super) fn wait_for_all(&self) -> Option<Error> {
        self.settle_all();
        let failed = std::mem::take(&mut held(&self.queue.state).failed);
        failed.iter().find_map(|ticket| ticket.error())
    }

    fn wait_while(&self, is_busy: impl Fn(&QueueState) -> bool) {
        if !self.is_new() {
            let state = held(&self.queue.state);
            drop(self.queue.changed.wait_while(state, |state| is_busy(state)));
        }
    }
}

impl SaveQueue {
    /// Writes the next save. Returns false if there is none and none will come.
    fn run_next(&self, waits: bool) -> bool {
        let mut state = held(&self.state);
        let mut job = loop {
            if let Some(job) = state.waiting.pop_front() {
                break job;
            }
            if state.ends || !waits {
                return false;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        state.current = Some(job.target.file().map(Path::to_owned));
        drop(state);
        // A storage of the program's own may panic. Without this, threads that wait for the save would wait for ever.
        let result = catch_unwind(AssertUnwindSafe(|| job.run())).unwrap_or_else(|_| {
            Err(error!(ErrorKind::Io, "the storage panicked while a save was written"))
        });
        if let Err(error) = &result {
            trace::failed_in_background(job.ticket.path.get().map(|path| &**path), error);
        }
        let has_failed = result.is_err();
        // The result is set before `current` is cleared: `wait_for_all` looks for errors as soon as the queue is idle.
        job.ticket.finish(result);
        let mut state = held(&self.state);
        state.current = None;
        if has_failed {
            state.remember(&job.ticket);
        }
        state.spare = job.snapshot.save;
        drop(state);
        self.changed.notify_all();
        true
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        held(&self.queue.state).ends = true;
        self.queue.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // The result of the thread is empty: errors are in the tickets.
            let _ = thread.join();
        }
    }
}
