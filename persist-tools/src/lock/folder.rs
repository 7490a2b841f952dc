//! The folder of a lock: a text file for each version.

use std::fs;
use std::path::Path;

use persist::__tools::{FILES, read_file, replace_file};
use persist::{Error, ErrorKind, Limits, Result};

use super::Lock;
use super::text;

/// The extension of a version's file.
const ENDING: &str = "txt";

/// Says to git that it joins no lines of two branches in a file of a version: they would be the schemas of no version
/// that was released. The same holds where it takes one file for another that was renamed.
const ATTRIBUTES: (&str, [&str; 2]) = (".gitattributes", ["*.txt", "-merge"]);

pub(super) fn load(folder: &Path) -> Result<Lock> {
    if folder.is_file() {
        bail!(
            ErrorKind::Unsupported,
            "{} is a file, and a lock is a folder with a file for each version; delete it, and update the lock at each version that you have released",
            folder.display()
        );
    }
    let failed = |error| Error::io("list", folder, error);
    let mut sections = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| Error::of_opening(folder, error))? {
        let path = entry.map_err(failed)?.path();
        // Others are of the system, an editor or version control.
        if path.extension().is_some_and(|ending| ending == ENDING) {
            sections.extend(file(&path)?.sections);
        }
    }
    let sections = text::in_order(sections);
    Ok(Lock { sections: sections.map_err(|what| damaged(folder, &what))? })
}

fn damaged(path: &Path, what: &str) -> Error {
    error!(
        ErrorKind::Damaged,
        "{}: {what}; restore it from version control, or mend it by hand",
        path.display()
    )
}

/// Reads the file of one version.
fn file(path: &Path) -> Result<Lock> {
    let bytes = read_file(&FILES, path, &Limits::DEFAULT)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to() as u64;
        damaged(path, "the lock is not UTF-8").at(at)
    })?;
    let lock: Lock = text.parse().map_err(|error: Error| error.in_file(path))?;
    let name = path.file_stem().unwrap_or_default();
    let mut versions = lock.versions();
    if let (Some(version), None) = (versions.next(), versions.next())
        && name == version
    {
        drop(versions);
        return Ok(lock);
    }
    Err(damaged(path, "a file has the one version that it is named after"))
}

pub(super) fn save(lock: &Lock, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
    let attributes = folder.join(ATTRIBUTES.0);
    if !lock.sections.is_empty() && !attributes.exists() {
        fs::write(&attributes, ATTRIBUTES.1.join(" ") + "\n")
            .map_err(|error| Error::io("write", &attributes, error))?;
    }
    for section in &lock.sections {
        let version = &section.version;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".+-_".contains(c);
        if !version.starts_with(|c: char| c.is_ascii_alphanumeric())
            || !version.chars().all(is_plain)
        {
            bail!(
                ErrorKind::Unsupported,
                "no file can be named after version {version:?}; a version begins with a letter or a digit, and has no other signs than `.`, `+`, `-`, `_`"
            );
        }
        let path = folder.join(format!("{version}.{ENDING}"));
        let text = format!("{:#}\n", text::write([section]));
        if fs::read(&path).is_ok_and(|known| known == text.as_bytes()) {
            continue;
        }
        replace_file(&path, text.as_bytes())?;
    }
    Ok(())
}
