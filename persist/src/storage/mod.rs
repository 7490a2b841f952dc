//! File storage: the file system, files in memory, and stores of slots.
//!
//! A [`Saves`](crate::Saves) reads and writes through a [`Storage`]. [`Files`] is the default; use
//! [`Memory`] in tests, or implement [`Storage`] for an archive, a console or a test that lets the disk fail.
//!
//! ```
//! use persist::Saves;
//! use persist::storage::Memory;
//!
//! let saves = Saves::new().storage(Memory::default());
//! saves.file("game.sav").save(&7_u32)?; // no file is written
//! assert_eq!(*saves.file("game.sav").load::<u32>()?, 7);
//! # Ok::<(), persist::Error>(())
//! ```
//!
//! | | |
//! | --- | --- |
//! | [`Storage`] | opens, creates, renames, locks and removes files |
//! | [`StoredFile`], [`NewFile`] | a file that is read, a file that is written |
//! | [`FileStamp`] | shows whether a file was replaced |
//! | [`Files`], [`Memory`] | the system's files, files in memory |
//! | [`SlotStore`], [`SlotVersion`], [`StoredSlot`] | slots by name, each replaced only by a writer that has seen it |
//! | [`SlotFolder`], [`check_slot_name`] | the slots of a folder as such a store, and which names slots have |
//! | `conformance` | tests a storage of your own, with the feature `conformance` |

// A map of the files that are not public.
//
// - `names`: the names of the files beside a save.
// - `save_files`: reads these files within limits, and finds backups, newest first. Below it are `past` (the headers of
//   earlier saves) and `commit` (the guard that writes, rotates backups and renames; locks and temporary files).
// - Below `commit`: `recover` (`load_for` tries the save, then each backup, until one is read whole, and preserves what
//   cannot be read) and `slots` (the files of a folder).
// - `patient` repeats calls that failed for a moment. `stamp` shows whether a file was replaced.
// - Slots: `slot_name`, `slot_store` and `slot_folder` (slots by name).
// - `conformance` tests a program's own storage against the rules of `contract.md`, which are in the documentation of
//   `Storage`.

#[cfg(feature = "conformance")]
mod conformance;
mod files;
mod memory;
pub(crate) mod names;
pub(crate) mod patient;
pub(crate) mod save_files;
mod slot_folder;
mod slot_name;
mod slot_store;
mod stamp;

use std::any::Any;
use std::io::{self, Read, Seek, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[cfg(feature = "conformance")]
pub use conformance::conformance;
pub use files::Files;
pub use memory::Memory;
pub(crate) use patient::{FILES, Patient};
#[cfg(feature = "history")]
pub(crate) use save_files::commit::has_no_lock;
pub(crate) use save_files::commit::recover::{
    ReadRequest, Recovery, keep_copies, load, salvage_candidates,
};
pub(crate) use save_files::commit::{SaveOptions, SessionSave, begin, recover, slots};
#[cfg(feature = "history")]
pub(crate) use save_files::is_free;
pub(crate) use save_files::past::Past;
pub(crate) use save_files::{SlotAge, have_same_bytes, read_save, slot_age};
#[cfg(feature = "history")]
pub(crate) use save_files::{are_same, is_beginning};
pub use slot_folder::SlotFolder;
pub(crate) use slot_name::{auto_name, auto_number, title_of};
pub use slot_name::{check_slot_name, slot_name};
pub use slot_store::{SlotStore, SlotVersion, StoredSlot};
pub(crate) use slots::SlotFiles;
pub use stamp::FileStamp;

use crate::platform;

/// A file system, as far as saves need one.
///
/// [`Files`] are the files of the operating system, and [`Memory`] keeps files in memory. The storage decides what a
/// path means.
///
/// # Contract
///
/// Saves rely on these rules. With the feature `conformance`, the function `conformance` of this module tests a storage
/// against them. `append`, `link`, `lock`, `lock_file` and `truncate` may return
/// [`Unsupported`](io::ErrorKind::Unsupported) instead; saves then do without them.
///
#[doc = include_str!("contract.md")]
///
/// # What a storage reports
///
/// An error of a storage says nothing about the content of a file, with three exceptions. Every call may return them, and
/// they are handled in the same way for every storage:
///
/// - **Damaged**: [`InvalidData`](io::ErrorKind::InvalidData) from `open`, a read or a seek says that the bytes of the
///   file are not those that were written. An example is an encrypted file whose check fails. The error becomes
///   [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): a load tries the backups, and the file is kept as
///   `name.damaged`.
/// - **Try again**: [`WouldBlock`](io::ErrorKind::WouldBlock), [`TimedOut`](io::ErrorKind::TimedOut) and
///   [`StaleNetworkFileHandle`](io::ErrorKind::StaleNetworkFileHandle) say that the call has done nothing, and may
///   succeed soon. Any such call is repeated up to three times within 100 ms. After
///   [`Interrupted`](io::ErrorKind::Interrupted) it is repeated at once.
/// - **Held**: [`ResourceBusy`](io::ErrorKind::ResourceBusy) says that another program has the file open, so that the
///   call has done nothing. It is repeated for [`SaveOptions::wait`](crate::SaveOptions::wait). On Windows, so are calls
///   that return 5 (access denied), 32 (sharing violation) or 33 (lock violation).
///
/// Calls of `open`, `list` and `resolve`, reads and seeks are also repeated after the system's codes for a failing
/// device: EIO on Unix, 1117 on Windows.
///
/// [`NewFile::sync`] is never repeated: after a failed flush, the next one may succeed without the bytes.
///
/// A panic of a storage becomes an error of a save in the background. It unwinds through all other calls.
///
/// # Example
///
/// This storage counts the files that it opens, and leaves everything else to another storage.
///
/// ```
/// use std::any::Any;
/// use std::io;
/// use std::path::{Path, PathBuf};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use persist::Saves;
/// use persist::storage::{Memory, NewFile, Storage, StoredFile};
///
/// #[derive(Clone, Default)]
/// struct Counting { files: Memory, opened: Arc<AtomicUsize> }
///
/// impl Storage for Counting {
///     fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
///         self.opened.fetch_add(1, Ordering::Relaxed);
///         self.files.open(path)
///     }
///     fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
///         self.files.create(path, like)
///     }
///     fn rename(&self, from: &Path, to: &Path) -> io::Result<()> { self.files.rename(from, to) }
///     fn link(&self, from: &Path, to: &Path) -> io::Result<()> { self.files.link(from, to) }
///     fn remove(&self, path: &Path) -> io::Result<()> { self.files.remove(path) }
///     fn sync_folder(&self, folder: &Path) -> io::Result<()> { self.files.sync_folder(folder) }
///     fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> { self.files.list(folder) }
///     fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send>>> { self.files.lock(path) }
///     fn resolve(&self, path: &Path) -> io::Result<PathBuf> { self.files.resolve(path) }
/// }
///
/// let storage = Counting::default();
/// let saves = Saves::new().storage(storage.clone());
/// saves.file("game.sav").save(&7_u32)?;
/// assert_eq!(*saves.file("game.sav").load::<u32>()?, 7);
/// assert!(storage.opened.load(Ordering::Relaxed) > 0);
/// # Ok::<(), persist::Error>(())
/// ```
pub trait Storage: Send + Sync {
    /// Opens a file for reading.
    ///
    /// # Errors
    ///
    /// Returns the error that prevents the open. [`NotFound`](io::ErrorKind::NotFound) means that there is no file; no
    /// other error says that the name is free. Anything but a file, such as a pipe, is refused at once.
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>>;

    /// Creates a file that must not exist yet, with at most the permissions of the file `like`, if that exists.
    ///
    /// # Errors
    ///
    /// Returns the error that prevents the creation, and [`AlreadyExists`](io::ErrorKind::AlreadyExists) if there is a
    /// file.
    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>>;

    /// Opens an existing file for writing after its first `length` bytes, and cuts off all later ones.
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`](io::ErrorKind::Unsupported) if files can be written only once; the file is then copied.
    /// Otherwise returns the error that prevents the open or the cut.
    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn NewFile>> {
        let _ = (path, length);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Renames a file within its folder. A file with the new name is replaced.
    ///
    /// # Errors
    ///
    /// Returns the error that prevents the rename. Both names then are unchanged.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file a second name in the same folder. The name must be free.
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`](io::ErrorKind::Unsupported) if files can have only one name. Otherwise returns the error
    /// that prevents the link.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let _ = (from, to);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// Returns the error that prevents the removal, and [`NotFound`](io::ErrorKind::NotFound) if there is no file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Flushes the names in a folder to disk, so that renames survive a crash.
    ///
    /// # Errors
    ///
    /// Returns an error if the names may be lost in a crash.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Lists the names of the files in a folder, without the folder and in any order. The list has no folders, pipes or
    /// other things that are not files.
    ///
    /// # Errors
    ///
    /// Returns the error that prevents the listing. For a missing folder, it returns
    /// [`NotFound`](io::ErrorKind::NotFound) or an empty list.
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>>;

    /// Locks a path against other programs and other users of the storage, by a file of this name. Dropping the
    /// returned value removes the file. Returns `None` if the path is locked already.
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`](io::ErrorKind::Unsupported) if there are no locks; saves then work without. Otherwise
    /// returns the error that prevents the creation of the file.
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send>>>;

    /// Locks an existing file itself, not its name: the file is also locked under any other name, such as a hard link.
    /// Dropping the returned value unlocks the file and does not remove it. Returns `None` if the file is locked
    /// already.
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`](io::ErrorKind::Unsupported) if files can have only one name, or there are no locks.
    /// Otherwise returns the error that prevents the lock. A session works without it.
    fn lock_file(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send>>> {
        let _ = path;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Resolves a path through links. The file may be missing. All paths of a file must resolve to the same path,
    /// before and after the file is created: saves in the background recognize each other by it.
    ///
    /// # Errors
    ///
    /// Returns an error if the path leads to anything but a file, or its folder does not exist.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }

    /// Identifies the content of a file, as cheaply as possible: it is called before every edit of a session.
    ///
    /// The stamp changes when the file is replaced or changed. It should not change when the file gets a second or
    /// another name. If it does, the session reads the save to compare it. By default the file is opened, and its
    /// length and 128 bytes of each end are read.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`open`](Self::open), and [`NotFound`](io::ErrorKind::NotFound) only if there is no
    /// file.
    fn stamp(&self, path: &Path) -> io::Result<FileStamp> {
        FileStamp::of_ends(&mut *self.open(path)?)
    }

    /// Returns the time that is written into a save's [info](crate::save::SlotInfo::saved_at), or `None` without a
    /// clock.
    ///
    /// The default is the system's clock, and `None` on `wasm32-unknown-unknown`. No step of a save depends on the
    /// time.
    fn now(&self) -> Option<SystemTime> {
        platform::now()
    }
}

/// A lock, which is released when it is dropped. See [`Storage::lock`].
pub(crate) type StorageLock = Box<dyn Any + Send>;

/// A file that is open for reading.
pub trait StoredFile: Read + Seek + Send {}

impl<F: Read + Seek + Send> StoredFile for F {}

/// A file that is open for writing.
pub trait NewFile: Write + Send {
    /// Flushes the written bytes to disk.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes may be lost in a crash. The state of the file then is unknown, and a second flush
    /// may falsely succeed.
    fn sync(&mut self) -> io::Result<()>;

    /// Cuts off all bytes after the first `length`. The next write continues there.
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`](io::ErrorKind::Unsupported) if files cannot be cut. Otherwise returns the error that
    /// prevents it.
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let _ = length;
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Runs a cleanup. It catches a panic of the storage while another panic unwinds, which would abort the program.
fn quietly(clean_up: impl FnOnce()) {
    if std::thread::panicking() {
        let _ = catch_unwind(AssertUnwindSafe(clean_up));
    } else {
        clean_up();
    }
}

/// Returns the folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
