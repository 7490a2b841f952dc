//! What a target may lack: a clock, waiting, and threads; and locks that a panic does not poison.
//!
//! wasm32-unknown-unknown has the functions of the standard library, but they panic. The lints refuse them everywhere
//! but here.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

/// True where the target has a clock and threads. The tests leave them out with `--cfg persist_bare`.
pub(crate) const IS_WHOLE: bool =
    !cfg!(any(persist_bare, all(target_family = "wasm", target_os = "unknown")));

/// What measures the time since its start. Without a clock, no time passes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer(Option<Instant>);

impl Timer {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the place that asks whether it is there"
    )]
    pub(crate) fn start() -> Self {
        Self(IS_WHOLE.then(Instant::now))
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.map_or(Duration::ZERO, |start| start.elapsed())
    }

    /// True if this much time has passed. Without a clock it always has, so that nothing is put off for ever.
    pub(crate) fn is_past(self, time: Duration) -> bool {
        self.0.is_none_or(|start| start.elapsed() >= time)
    }
}

/// The system's clock, where there is one.
#[expect(clippy::disallowed_methods, reason = "this is the place that asks whether it is there")]
pub(crate) fn now() -> Option<SystemTime> {
    IS_WHOLE.then(SystemTime::now)
}

/// Waits; returns false at once where nobody else could do anything meanwhile.
#[expect(clippy::disallowed_methods, reason = "this is the place that asks whether it is there")]
pub(crate) fn pause(time: Duration) -> bool {
    if IS_WHOLE {
        thread::sleep(time);
    }
    IS_WHOLE
}

/// Starts a thread.
///
/// # Errors
///
/// [`io::ErrorKind::Unsupported`] where there are no threads, and the system's errors.
#[expect(clippy::disallowed_methods, reason = "this is the place that asks whether it is there")]
pub(crate) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    if !IS_WHOLE {
        return Err(io::ErrorKind::Unsupported.into());
    }
    thread::Builder::new().name(String::from(name)).spawn(run)
}

/// Locks what is whole whenever it is locked, also if a thread panicked while it held the lock.
pub(crate) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
