//! Pointers that stay on the thread that loaded them, whoever holds their keys.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::codec::{Shared, WeakShared};
use crate::{Error, ErrorKind, Result};

/// A pointer to an object, or a weak one.
#[derive(Clone)]
enum Kept {
    Strong(Shared),
    Weak(WeakShared),
}

/// What a kept reference leads to.
///
/// The pointer may be an `Rc`, so it lies in a table of the thread that loaded it. This is its key, which may go to any
/// thread: an `Unknown` is `Send` and `Sync`.
pub(crate) struct Held(Arc<Key>);

struct Key {
    home: Arc<Home>,
    number: u64,
}

/// The thread of a table.
#[derive(Default)]
struct Home {
    /// Keys that were dropped on other threads.
    gone: Mutex<Vec<u64>>,
}

#[derive(Default)]
struct Table {
    home: Arc<Home>,
    pointers: RefCell<HashMap<u64, Kept>>,
    last: Cell<u64>,
}

thread_local! {
    static TABLE: Table = Table::default();
}

impl Table {
    fn hold(&self, pointer: Kept) -> Held {
        // What is dropped may drop keys of its own.
        let gone = std::mem::take(&mut *lock(&self.home.gone));
        for number in gone {
            drop(self.take(number));
        }
        let number = self.last.get() + 1;
        self.last.set(number);
        self.pointers.borrow_mut().insert(number, pointer);
        Held(Arc::new(Key { home: Arc::clone(&self.home), number }))
    }

    fn take(&self, number: u64) -> Option<Kept> {
        self.pointers.borrow_mut().remove(&number)
    }
}

fn lock(gone: &Mutex<Vec<u64>>) -> std::sync::MutexGuard<'_, Vec<u64>> {
    gone.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Held {
    pub(crate) fn new(object: &Shared, weak: bool) -> Self {
        let pointer = match weak {
            true => Kept::Weak(object.downgrade()),
            false => Kept::Strong(object.clone()),
        };
        TABLE.with(|table| table.hold(pointer))
    }

    /// The pointer in the table, if this is its thread.
    fn look<R>(&self, look: impl FnOnce(&Table, &Kept) -> R) -> Option<R> {
        let found = TABLE.try_with(|table| {
            if !Arc::ptr_eq(&table.home, &self.0.home) {
                return None;
            }
            let pointer = table.pointers.borrow().get(&self.0.number).cloned();
            pointer.map(|pointer| look(table, &pointer))
        });
        found.ok().flatten()
    }

    /// The object; `None` if it is gone.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] on another thread.
    pub(crate) fn object(&self) -> Result<Option<Shared>> {
        let object = self.look(|_, pointer| match pointer {
            Kept::Strong(object) => Some(object.clone()),
            Kept::Weak(object) => object.upgrade(),
        });
        object.ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                "a value of an unknown class refers to a shared object, which stays on the thread that loaded it; save on that thread, or register the class",
            )
        })
    }
}

/// Each holds the object on its own, or it would not be seen how many do.
impl Clone for Held {
    fn clone(&self) -> Self {
        let again = self.look(|table, pointer| table.hold(pointer.clone()));
        again.unwrap_or_else(|| Self(Arc::clone(&self.0)))
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        let pointer = TABLE.try_with(|table| {
            let is_home = Arc::ptr_eq(&table.home, &self.home);
            if is_home {
                table.take(self.number)
            } else {
                lock(&self.home.gone).push(self.number);
                None
            }
        });
        drop(pointer);
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Held({})", self.0.number)
    }
}
