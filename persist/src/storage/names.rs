//! The names of the files beside a save.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Maximum length of a file name to which suffixes can be added on all common systems.
const LONGEST: usize = 200;

/// Returns the name of the temporary file in which a save is written.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    hidden(path, ".tmp")
}

/// Returns the name of the old save while a new one is put in place.
pub(super) fn old(path: &Path) -> PathBuf {
    hidden(path, ".old")
}

/// Returns the name of a new journal, until the save that it follows is in place.
#[cfg(feature = "history")]
pub(crate) fn next_journal(path: &Path) -> PathBuf {
    hidden(path, ".new")
}

/// Returns the name of a journal that is kept for the user to inspect.
#[cfg(feature = "history")]
pub(crate) fn preserved_journal(path: &Path, number: u32) -> PathBuf {
    beside(path, ".kept", number)
}

/// Returns the name of the file that is locked while a save is written.
pub(crate) fn lock(path: &Path) -> PathBuf {
    hidden(path, ".lock")
}

/// Returns the name of the file that is locked while a session edits a save.
pub(crate) fn session(path: &Path) -> PathBuf {
    hidden(path, ".session")
}

/// Returns the name of a backup. The newest backup has number 1.
pub(crate) fn backup(path: &Path, number: u32) -> PathBuf {
    beside(path, ".bak", number)
}

/// Returns the name of a damaged save.
pub(super) fn damaged(path: &Path, number: u32) -> PathBuf {
    beside(path, ".damaged", number)
}

/// Returns the name of a save that the program refused.
pub(super) fn refused(path: &Path, number: u32) -> PathBuf {
    beside(path, ".refused", number)
}

/// Returns the save whose backup a file is, which may be the file itself. Returns `None` for a damaged or refused file,
/// which has such a name already.
pub(super) fn save_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name().and_then(|name| name.to_str());
    let Some((save, suffix)) = name.and_then(|name| name.rsplit_once('.')) else {
        return Some(path.to_owned());
    };
    match suffix.trim_end_matches(|digit: char| digit.is_ascii_digit()) {
        "damaged" | "refused" => None,
        "bak" if !save.is_empty() => Some(path.with_file_name(save)),
        _ => Some(path.to_owned()),
    }
}

fn beside(path: &Path, suffix: &str, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    if number > 1 {
        name.push(number.to_string());
    }
    name.into()
}

fn hidden(path: &Path, suffix: &str) -> PathBuf {
    let own = path.file_name().unwrap_or_default();
    let mut name = OsString::from(".");
    if own.len() <= LONGEST {
        name.push(own);
    } else {
        // Two names that begin alike may not share a file.
        name.push(format!("persist-{:08x}", crc32fast::hash(own.as_encoded_bytes())));
    }
    name.push(suffix);
    path.with_file_name(name)
}
