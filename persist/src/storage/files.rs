//! [`Files`]: the files of the operating system.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf, is_separator};

use super::slot_name::is_device;
use super::{FileStamp, NewFile, Storage, StorageLock, StoredFile, folder_of};

/// The files of the operating system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Files;

impl NewFile for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        self.seek(SeekFrom::Start(length)).map(drop)
    }
}

impl Storage for Files {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        Ok(Box::new(open_file(path, OpenOptions::new().read(true))?))
    }

    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // Elsewhere files get their permissions from the folder.
        #[cfg(unix)]
        let permissions = fs::metadata(like).map(|like| like.permissions()).ok();
        // The file must not have wider permissions even for a moment.
        #[cfg(unix)]
        if let Some(permissions) = &permissions {
            use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
            options.mode(permissions.mode() & 0o777);
        }
        #[cfg(not(unix))]
        let _ = like;
        let file = options.open(path)?;
        #[cfg(unix)]
        if let Some(permissions) = permissions {
            // The system has applied the user's umask to the permissions. If it refuses to restore them, as on a
            // network drive, the file has narrower permissions than it could have.
            let own = file.metadata().map(|own| own.permissions());
            if own.is_ok_and(|own| own != permissions) {
                let _ = file.set_permissions(permissions);
            }
        }
        Ok(Box::new(file))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn NewFile>> {
        let mut file = open_file(path, OpenOptions::new().write(true))?;
        if file.metadata()?.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.truncate(length)?;
        Ok(Box::new(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to).map_err(|error| read_only(to, error))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path).map_err(|error| read_only(path, error))
    }

    #[cfg(unix)]
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
        match File::open(folder).and_then(|folder| folder.sync_all()) {
            // Some folders can be written to but not read, and some network drives cannot flush folders.
            Err(error) if [InvalidInput, PermissionDenied, Unsupported].contains(&error.kind()) => {
                Ok(())
            }
            result => result,
        }
    }

    /// Windows documents the flush of a folder's handle (`NtFlushBuffersFileEx`), which commits the pending changes of its
    /// names. Some file systems and network drives refuse it; the system then writes them when it likes.
    #[cfg(windows)]
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        /// `FILE_FLAG_BACKUP_SEMANTICS`, without which a folder cannot be opened.
        const FOLDER: u32 = 0x0200_0000;
        let mut options = OpenOptions::new();
        std::os::windows::fs::OpenOptionsExt::custom_flags(&mut options, FOLDER);
        let _ = options.write(true).open(folder).and_then(|folder| folder.sync_all());
        Ok(())
    }

    /// Does nothing, where folders cannot be opened.
    #[cfg(not(any(unix, windows)))]
    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            // Opening a pipe would wait for a writer.
            let is_file = kind.is_file()
                || kind.is_symlink() && fs::metadata(entry.path()).is_ok_and(|of| of.is_file());
            if is_file {
                names.push(PathBuf::from(entry.file_name()));
            }
        }
        Ok(names)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<StorageLock>> {
        loop {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false);
            // The lock file must not be accessible to more users than the save.
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let file = match open_file(path, &mut options) {
                // On Windows this means that the file is being removed.
                Err(error) if cfg!(windows) && error.kind() == io::ErrorKind::PermissionDenied => {
                    return Ok(None);
                }
                result => result?,
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                // Network drives refuse locks with various errors. The file alone is no lock.
                Err(TryLockError::Error(error)) => {
                    drop(file);
                    let _ = fs::remove_file(path);
                    return Err(io::Error::new(io::ErrorKind::Unsupported, error));
                }
            }
            // If the file has another identity, its last holder has removed it since.
            if is_at(&file, path)? {
                let path = path.to_owned();
                return Ok(Some(Box::new(FileLock { path, file: Some(file) })));
            }
        }
    }

    /// Unix only: on other systems a lock prevents other programs from reading the file.
    #[cfg(unix)]
    fn lock_file(&self, path: &Path) -> io::Result<Option<StorageLock>> {
        let file = open_file(path, OpenOptions::new().read(true))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn stamp(&self, path: &Path) -> io::Result<FileStamp> {
        Ok(stamp_of(&fs::metadata(path)?))
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        use io::ErrorKind::{NotADirectory, NotFound};
        if cfg!(windows) {
            check_name(path)?;
        }
        let path = through_links(path);
        // A save would replace a device or a pipe by a file.
        if fs::metadata(&path).is_ok_and(|old| !old.is_file()) {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "it is a folder or a device, not a file; move it away",
            ));
        }
        let folder = folder_of(&path);
        let is_folder = match fs::metadata(folder).map(|folder| folder.is_dir()) {
            Err(error) if [NotFound, NotADirectory].contains(&error.kind()) => false,
            // For other errors, the folder may exist.
            is_folder => is_folder?,
        };
        if !is_folder {
            let folder = folder.display();
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!("there is no folder {folder}; create it with `std::fs::create_dir_all`"),
            ));
        }
        // Resolve to the path that the file will have, even if the current folder changes before it is created.
        let end = path.as_os_str().as_encoded_bytes().last();
        let ends_with_name = end.is_some_and(|end| !is_separator(*end as char));
        match (fs::canonicalize(folder), path.file_name()) {
            (Ok(folder), Some(name)) if ends_with_name => Ok(folder.join(name)),
            _ => Ok(path),
        }
    }
}

/// Returns what the system reports about a file without opening it. The time of the last change (`ctime`) is left out,
/// since adding a second name changes it too.
#[cfg(unix)]
fn stamp_of(found: &fs::Metadata) -> FileStamp {
    use std::os::unix::fs::MetadataExt;
    let time = (found.mtime(), found.mtime_nsec());
    let mut known = [0; 40];
    let parts =
        [found.dev(), found.ino(), found.size(), time.0.cast_unsigned(), time.1.cast_unsigned()];
    for (bytes, part) in known.chunks_exact_mut(8).zip(parts) {
        bytes.copy_from_slice(&part.to_le_bytes());
    }
    FileStamp::from_bytes(&known)
}

#[cfg(not(unix))]
fn stamp_of(found: &fs::Metadata) -> FileStamp {
    let times = [found.modified(), found.created()].map(Result::ok);
    FileStamp::from_bytes(format!("{} {times:?}", found.len()).as_bytes())
}

/// Refuses a name that Windows takes for another one: a device, a name without its last dots and spaces, or a second
/// stream of a file. A save would be written under the whole name, since its path is in the long form, and never found.
fn check_name(path: &Path) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.ends_with(['.', ' ']) || name.contains(':') || is_device(&name) {
        let message = "no file of Windows has this name; choose another";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    Ok(())
}

/// Windows neither replaces nor removes a file with the read-only attribute. The error is that of a file that is held, so
/// it is replaced by one that is not waited for.
fn read_only(path: &Path, error: io::Error) -> io::Error {
    let is_refused = cfg!(windows) && error.kind() == io::ErrorKind::PermissionDenied;
    if is_refused && fs::metadata(path).is_ok_and(|found| found.permissions().readonly()) {
        let message = "the file is read-only; remove this attribute, or use another name";
        return io::Error::new(io::ErrorKind::PermissionDenied, message);
    }
    error
}

/// Opens a regular file only. Opening a pipe would wait for its other end, and opening a device may have any effect.
fn open_file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, NONBLOCK);
    if NONBLOCK == 0 {
        // If the system has no such flag, or its number is unknown here, check before the open.
        check_file(fs::metadata(path).ok())?;
    }
    let file = options.open(path)?;
    check_file(Some(file.metadata()?))?;
    Ok(file)
}

fn check_file(found: Option<fs::Metadata>) -> io::Result<()> {
    match found.map(|found| found.file_type()) {
        Some(kind) if kind.is_dir() => Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "it is a folder, not a file; move it away",
        )),
        Some(kind) if !kind.is_file() => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a pipe or a device, not a file; move it away",
        )),
        _ => Ok(()),
    }
}

/// `O_NONBLOCK` of the system's `fcntl.h`, or 0 if it is unknown. With it, opening a pipe does not wait. It has no
/// effect on files.
const NONBLOCK: i32 = if cfg!(all(
    any(target_os = "linux", target_os = "android"),
    not(any(
        target_arch = "mips",
        target_arch = "mips64",
        target_arch = "sparc",
        target_arch = "sparc64"
    )),
)) {
    0o4000
} else if cfg!(any(
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "openbsd",
    target_os = "dragonfly"
)) {
    4
} else {
    0
};

struct FileLock {
    path: PathBuf,
    file: Option<File>,
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // On Unix a file can be removed while it is locked, so nobody can lock it in between. Elsewhere the lock must
        // end first.
        if !cfg!(unix) {
            self.file = None;
        }
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let place = |found: fs::Metadata| (found.dev(), found.ino());
    match fs::metadata(path) {
        Ok(named) => Ok(place(named) == place(file.metadata()?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// Follows the links of a path. The last link may lead to a file that does not exist yet.
fn through_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..40 {
        if let Ok(whole) = fs::canonicalize(&path) {
            return whole;
        }
        let Ok(link) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(link);
    }
    path
}
