//! The names of the files beside a save.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The longest file name that still has room for more in all common systems.
const LONGEST: usize = 200;

/// The file that a save is written to before it takes its place.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    hidden(path, ".tmp")
}

/// The old save while a new one takes its place.
pub(super) fn aside(path: &Path) -> PathBuf {
    hidden(path, ".old")
}

/// A new journal, until the save that it follows is in place.
pub(crate) fn next_journal(path: &Path) -> PathBuf {
    hidden(path, ".new")
}

/// A journal that is kept for the user to look at.
pub(crate) fn kept_journal(path: &Path, number: u32) -> PathBuf {
    beside(path, ".kept", number)
}

/// The file that is locked while a save is written.
pub(crate) fn lock(path: &Path) -> PathBuf {
    hidden(path, ".lock")
}

/// The file that is locked while a session edits a save.
pub(crate) fn session(path: &Path) -> PathBuf {
    hidden(path, ".session")
}

/// A backup; the newest has number 1.
pub(crate) fn backup(path: &Path, number: u32) -> PathBuf {
    beside(path, ".bak", number)
}

/// A damaged save that is kept.
pub(super) fn damaged(path: &Path, number: u32) -> PathBuf {
    beside(path, ".damaged", number)
}

/// A save that the program refused, and that is kept.
pub(super) fn refused(path: &Path, number: u32) -> PathBuf {
    beside(path, ".refused", number)
}

/// The save that a file belongs to as a backup, which may be the file itself; `None` for one that is kept already, as
/// damaged or refused.
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
