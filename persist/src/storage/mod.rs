//! Where files live, and how to replace the file system.
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

pub(crate) mod commit;
mod files;
mod memory;
pub(crate) mod names;
mod past;
mod patient;
mod read;
pub(crate) mod recover;
mod slot_folder;
mod slot_name;
mod slot_store;
pub(crate) mod slots;
mod stamp;

use std::any::Any;
use std::io::{self, Read, Seek, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub(crate) use commit::{SaveOptions, SessionSave, has_no_lock, replace, replace_by};
pub use files::Files;
pub use memory::Memory;
pub(crate) use past::Past;
pub(crate) use patient::{FILES, Patient};
pub(crate) use read::{
    SlotAge, are_same, have_same_bytes, is_beginning, is_free, read_file, read_save, slot_age,
};
pub(crate) use recover::{ReadRequest, Recovery, keep_wreck, load, wrecks};
pub use slot_folder::SlotFolder;
pub(crate) use slot_name::{auto_name, auto_number, title_of};
pub use slot_name::{check_slot_name, slot_name};
pub use slot_store::{SlotStore, SlotVersion, StoredSlot};
pub(crate) use slots::SlotFiles;
pub use stamp::FileStamp;

use crate::platform;

/// Files in folders, as a save needs them.
///
/// [`Files`] are those of the system; [`Memory`] keeps them in memory. A path means what the
/// storage makes of it. What a commit relies on: a [`rename`](Storage::rename) is seen whole or not
/// at all, also after a crash; what was [synced](NewFile::sync) before it stays; and it stays itself
/// after [`sync_folder`](Storage::sync_folder).
///
/// # What a storage reports
///
/// An error of a storage says nothing about what a file holds, with two exceptions. Every call may return them, and every
/// storage gets the same answer to them:
///
/// - **Damaged**: [`InvalidData`](io::ErrorKind::InvalidData) from `open`, a read or a seek says that the bytes of the
///   file are not those that were written, as of a sealed file whose check fails. It becomes
///   [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): a load tries the backups, and the file is kept as
///   `name.damaged`.
/// - **Try again**: [`WouldBlock`](io::ErrorKind::WouldBlock), [`TimedOut`](io::ErrorKind::TimedOut),
///   [`ResourceBusy`](io::ErrorKind::ResourceBusy) and
///   [`StaleNetworkFileHandle`](io::ErrorKind::StaleNetworkFileHandle) say that the call has done nothing, and may
///   succeed soon. The call is repeated up to three times within 100 ms, whichever it is.
///   [`Interrupted`](io::ErrorKind::Interrupted) is repeated at once.
///
/// An open, a read, a seek, a `list` and a `resolve` are also repeated after the system's codes for a failing device: EIO
/// on Unix; 32, 33 and 1117 on Windows.
///
/// [`NewFile::sync`] is never repeated. After a flush that failed, the next one may succeed without the bytes.
///
/// A panic of a storage is an error of a save in the background, and unwinds through the others.
///
/// # Example
///
/// One that counts what it opens, and leaves the rest to another.
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
    /// Opens a file to be read.
    ///
    /// # Errors
    ///
    /// Whatever keeps the file from being opened; [`NotFound`](io::ErrorKind::NotFound) if there is none, which alone
    /// says that the name is free. What is no file, as a pipe, is refused at once.
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>>;

    /// Creates a file that must not be there yet, with at most the permissions of another if that is there.
    ///
    /// # Errors
    ///
    /// Whatever keeps the file from being created; [`AlreadyExists`](io::ErrorKind::AlreadyExists) if
    /// there is one.
    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>>;

    /// Opens a file that is there, to be written on after its first `length` bytes; the others are cut off.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](io::ErrorKind::Unsupported) where a file is written once: it is copied then. Whatever else keeps the
    /// file from being opened or cut.
    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn NewFile>> {
        let _ = (path, length);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Gives a file another name, in the same folder; a file of that name is replaced.
    ///
    /// # Errors
    ///
    /// Whatever keeps the file from being renamed; then both names are as they were.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file a second name, in the same folder, which is not there yet.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](io::ErrorKind::Unsupported) where files have one name; whatever else keeps it
    /// from being done.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let _ = (from, to);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// Whatever keeps the file from being removed; [`NotFound`](io::ErrorKind::NotFound) if there is none.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a folder last.
    ///
    /// # Errors
    ///
    /// If they may be lost in a crash.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// The names of the files in a folder, without the folder and in any order; no folders, pipes or other things that are no files.
    ///
    /// # Errors
    ///
    /// Whatever keeps the folder from being read; [`NotFound`](io::ErrorKind::NotFound) if there is none, or an empty list.
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>>;

    /// Locks a path against other programs and other users of the storage, by a file of this name
    /// which is removed when what is returned is dropped. `None` if another has it.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](io::ErrorKind::Unsupported) where there are no locks: saves then go without. Whatever else keeps
    /// the file from being created.
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send>>>;

    /// Locks a file that is there, by what it is: whoever comes to it by another name, as a hard link, finds it locked.
    /// It stays when what is returned is dropped. `None` if another has it.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](io::ErrorKind::Unsupported) where files have one name, or no locks; whatever else keeps the file
    /// from being locked. A session then goes without.
    fn lock_file(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send>>> {
        let _ = path;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Where a path leads, through links; the file need not be there. All paths of a file lead to the same, before
    /// it is there and after: by it saves in the background know of each other.
    ///
    /// # Errors
    ///
    /// If there is something else than a file, or no folder that it could be in.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }

    /// Identifies the content of a file, as cheaply as possible: it is called before every edit of a session.
    ///
    /// The stamp changes when the file is replaced or changed. It should stay the same when the file gets a second name or
    /// another one; if it does not, the session reads the save to compare it. By default the file is opened, and its length
    /// and 128 bytes of each end are read.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open); [`NotFound`](io::ErrorKind::NotFound) only if there is no file.
    fn stamp(&self, path: &Path) -> io::Result<FileStamp> {
        FileStamp::of_ends(&mut *self.open(path)?)
    }

    /// The time that is written into a save's [info](crate::save::SlotInfo::saved_at); `None` where there is no clock.
    ///
    /// By default it is the system's clock, and `None` on `wasm32-unknown-unknown`. No step of a save depends on it.
    fn now(&self) -> Option<SystemTime> {
        platform::now()
    }
}

/// Holds a lock until it is dropped: see [`Storage::lock`].
pub(crate) type StorageLock = Box<dyn Any + Send>;

/// A file that is read.
pub trait StoredFile: Read + Seek + Send {}

impl<F: Read + Seek + Send> StoredFile for F {}

/// A file that is written.
pub trait NewFile: Write + Send {
    /// Makes what was written last.
    ///
    /// # Errors
    ///
    /// If it may be lost in a crash; then nothing is known of the file, and asking again may lie.
    fn sync(&mut self) -> io::Result<()>;

    /// Cuts off what was written after the first `length` bytes; the next write goes there.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](io::ErrorKind::Unsupported) where nothing can be cut off; whatever else keeps it from being done.
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let _ = length;
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Cleans up; a panic of the storage while another one unwinds would end the program.
fn quietly(clean_up: impl FnOnce()) {
    if std::thread::panicking() {
        let _ = catch_unwind(AssertUnwindSafe(clean_up));
    } else {
        clean_up();
    }
}

/// The folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
