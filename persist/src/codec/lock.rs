//! Cells whose content may be borrowed or locked for a while.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, RwLock, TryLockError};
use std::time::Duration;

use crate::platform::{Timer, pause};
use crate::{Error, ErrorKind, Result};

/// A cell that lends its content.
pub(crate) trait LockCell<T: ?Sized> {
    /// True if another thread may change the content between two calls. So a visit that writes pages leaves it out: its
    /// record, which is encoded after that, could not fit them.
    const IS_LOCK: bool = true;

    /// Borrows the content for reading; waits up to `wait` for a lock.
    fn open(&self, wait: Duration) -> Result<impl Deref<Target = T>>;

    /// Borrows the content for writing; waits up to `wait` for a lock.
    fn open_mut(&self, wait: Duration) -> Result<impl DerefMut<Target = T>>;

    /// Forgets that a thread panicked while it held the lock.
    fn clear(&self) {}
}

impl<T: ?Sized> LockCell<T> for RefCell<T> {
    const IS_LOCK: bool = false;

    #[inline]
    fn open(&self, _: Duration) -> Result<impl Deref<Target = T>> {
        self.try_borrow().map_err(|_| refused("RefCell", "is mutably borrowed; end the borrow"))
    }

    #[inline]
    fn open_mut(&self, _: Duration) -> Result<impl DerefMut<Target = T>> {
        self.try_borrow_mut().map_err(|_| refused("RefCell", "is borrowed; end the borrow"))
    }
}

impl<T: ?Sized> LockCell<T> for Mutex<T> {
    fn open(&self, wait: Duration) -> Result<impl Deref<Target = T>> {
        open_in(wait, "Mutex", || self.try_lock())
    }

    fn open_mut(&self, wait: Duration) -> Result<impl DerefMut<Target = T>> {
        open_in(wait, "Mutex", || self.try_lock())
    }

    fn clear(&self) {
        self.clear_poison();
    }
}

impl<T: ?Sized> LockCell<T> for RwLock<T> {
    fn open(&self, wait: Duration) -> Result<impl Deref<Target = T>> {
        open_in(wait, "RwLock", || self.try_read())
    }

    fn open_mut(&self, wait: Duration) -> Result<impl DerefMut<Target = T>> {
        open_in(wait, "RwLock", || self.try_write())
    }

    fn clear(&self) {
        self.clear_poison();
    }
}

/// Tries to lock until the time is over, since the locks of the standard library have no wait with a timeout.
fn open_in<G>(
    wait: Duration,
    cell: &str,
    open: impl Fn() -> Result<G, TryLockError<G>>,
) -> Result<G> {
    let mut start = None;
    loop {
        match open() {
            Ok(guard) => return Ok(guard),
            Err(error) => {
                try_again(&mut start, wait, cell, matches!(error, TryLockError::Poisoned(_)))?;
            }
        }
    }
}

/// Pauses before the next try. Returns an error if the lock is poisoned or the time is over. Compiled once, for locks
/// of all types.
#[cold]
fn try_again(
    start: &mut Option<Timer>,
    wait: Duration,
    cell: &str,
    is_poisoned: bool,
) -> Result<()> {
    if is_poisoned {
        let how = "is poisoned, a thread panicked while it held the lock; clear the poison";
        return Err(refused(cell, how));
    }
    let waited = start.get_or_insert_with(Timer::start).elapsed();
    // The first pauses are short, because most locks are held briefly.
    let step = (waited / 4).clamp(Duration::from_micros(20), Duration::from_millis(5));
    if waited < wait && pause(step) {
        return Ok(());
    }
    let wait = wait.as_millis();
    let how = format!("stayed locked for {wait} ms; release it, or raise `Limits::lock_wait`");
    Err(refused(cell, &how))
}

#[cold]
fn refused(cell: &str, how: &str) -> Error {
    error!(ErrorKind::Borrowed, "a `{cell}` {how}")
}
