//! Where the bytes live: files that are replaced whole or not at all.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::{Error, ErrorKind, Limits, Result};

/// Writes a file through a temporary one beside it: flushed to disk, renamed
/// over the target, and the folder flushed. A crash at any moment leaves the
/// old file or the new one.
pub(crate) fn replace_file<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T>,
) -> Result<T> {
    // Written through a link, which stays one.
    let path = &target(path);
    // A device or a pipe would be gone, with a file in its place.
    if fs::metadata(path).is_ok_and(|old| !old.is_file()) {
        return Err(Error::new(
            ErrorKind::Io,
            format!("cannot write the save to {}: it is not a file", path.display()),
        )
        .because(io::Error::from(io::ErrorKind::AlreadyExists)));
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        return Err(Error::new(
            ErrorKind::Io,
            format!(
                "cannot write the save to {}: there is no folder {}; create it with `std::fs::create_dir_all`",
                path.display(),
                folder.display()
            ),
        )
        .because(io::Error::from(io::ErrorKind::NotFound)));
    }
    let failed = |doing: &str| {
        let doing = doing.to_owned();
        move |error: io::Error| Error::io(&doing, path, error)
    };
    // Opened before anything changes; not every folder that may be written to
    // may be read.
    let opened = open_folder(folder);
    // Removed when dropped, so that an error leaves no stray file.
    let mut file = temporary(folder, path).map_err(failed("create a temporary file beside"))?;
    let result = write(&mut file)?;
    file.as_file().sync_all().map_err(failed("flush"))?;
    file.persist(path).map_err(|error| failed("replace")(error.error))?;
    if let Some(opened) = opened {
        opened
            .sync_all()
            .map_err(failed("flush the folder of the new save, which is in place,"))?;
    }
    Ok(result)
}

/// Where a path leads through links; the last need not lead to a file yet.
fn target(path: &Path) -> PathBuf {
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

fn temporary(folder: &Path, target: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut name = std::ffi::OsString::from(".");
    // A name near the system's limit leaves no room for more.
    name.push(target.file_name().filter(|name| name.len() < 200).unwrap_or("persist".as_ref()));
    name.push(".");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&name).suffix(".tmp");
    // The permissions of the old file, else those of any new file.
    let Ok(old) = fs::metadata(target) else {
        ordinary_permissions(&mut builder);
        return builder.tempfile_in(folder);
    };
    let old = old.permissions();
    let file = builder.permissions(old.clone()).tempfile_in(folder)?;
    // The system has taken the user's mask off them.
    if file.as_file().metadata()?.permissions() != old {
        file.as_file().set_permissions(old)?;
    }
    Ok(file)
}

#[cfg(unix)]
fn ordinary_permissions(builder: &mut tempfile::Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt;
    // The system takes the user's mask off it.
    builder.permissions(fs::Permissions::from_mode(0o666));
}

#[cfg(not(unix))]
fn ordinary_permissions(_: &mut tempfile::Builder<'_, '_>) {}

/// The folder, to make the rename itself durable, on systems that can open one.
#[cfg(unix)]
fn open_folder(folder: &Path) -> Option<File> {
    File::open(folder).ok()
}

#[cfg(not(unix))]
fn open_folder(_: &Path) -> Option<File> {
    None
}

/// Reads a file whole, if it is within the limit.
pub(crate) fn read_file(path: &Path, limits: &Limits) -> Result<Vec<u8>> {
    let failed = |error: io::Error| Error::io("read", path, error);
    let file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    read_whole(&file, size, limits).map_err(|error| match error {
        ReadError::Io(error) => failed(error),
        ReadError::TooLarge => too_large(limits),
    })
}

/// Reads a stream to its end, if it is within the limit.
pub(crate) fn read_stream(reader: impl Read, limits: &Limits) -> Result<Vec<u8>> {
    read_whole(reader, 0, limits).map_err(|error| match error {
        ReadError::Io(error) => {
            Error::new(ErrorKind::Io, format!("cannot read the save: {error}")).because(error)
        }
        ReadError::TooLarge => too_large(limits),
    })
}

enum ReadError {
    Io(io::Error),
    TooLarge,
}

fn read_whole(reader: impl Read, expected: u64, limits: &Limits) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    if expected <= limits.bytes {
        bytes.reserve_exact(usize::try_from(expected).unwrap_or_default());
    }
    // One byte more than allowed tells a save at the limit from one beyond it.
    let most = limits.bytes.saturating_add(1);
    reader.take(most).read_to_end(&mut bytes).map_err(ReadError::Io)?;
    if bytes.len() as u64 > limits.bytes { Err(ReadError::TooLarge) } else { Ok(bytes) }
}

fn too_large(limits: &Limits) -> Error {
    let limit = limits.bytes;
    Error::new(
        ErrorKind::TooLarge,
        format!("the save is over the limit of {limit} bytes; raise `Limits::bytes`"),
    )
}
