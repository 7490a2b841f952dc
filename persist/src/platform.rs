//! Functions that a target may lack: a clock, waiting, and threads. Also locks that a panic does not poison.
//!
//! wasm32-unknown-unknown has the functions of the standard library, but they panic. The lints refuse them everywhere
//! except here.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

/// True where the target has a clock and threads. The tests leave them out with `--cfg persist_bare`.
pub(crate) const IS_WHOLE: bool =
    !cfg!(any(persist_bare, all(target_family = "wasm", target_os = "unknown")));

/// Measures the time since its start. Without a clock, no time passes.
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

    /// True if this much time has passed. Without a clock it always has, so that nothing is postponed forever.
    #[cfg(feature = "history")]
    pub(crate) fn is_past(self, time: Duration) -> bool {
        self.0.is_none_or(|start| start.elapsed() >= time)
    }
}

/// Returns the system's time, if there is a clock.
#[expect(clippy::disallowed_methods, reason = "this is the place that asks whether it is there")]
pub(crate) fn now() -> Option<SystemTime> {
    IS_WHOLE.then(SystemTime::now)
}

/// Waits. Returns false at once on a target without threads, where nothing could change during the wait.
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
/// Returns [`io::ErrorKind::Unsupported`] if there are no threads, or an error of the system.
#[expect(clippy::disallowed_methods, reason = "this is the place that asks whether it is there")]
pub(crate) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    if !IS_WHOLE {
        return Err(io::ErrorKind::Unsupported.into());
    }
    thread::Builder::new().name(String::from(name)).spawn(run)
}

/// Locks data that is consistent whenever it is locked, also after a thread panicked while it held the lock.
pub(crate) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
