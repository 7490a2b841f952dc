//! The files of slots: saves in one folder, each with its backups.

use std::io;
use std::path::{Path, PathBuf};

use super::recover::{ReadRequest, read_current};
use super::{Temporary, check_no_session, lock, tidy};
use crate::format::check;
use crate::sorting::{sort, sort_by};
use crate::storage::save_files::{CopyName, free_name, is_free};
use crate::storage::{SaveOptions, Storage, folder_of, names};
use crate::{Error, ErrorKind, Limits, Result};

/// Suffix of the file of a slot.
const ENDING: &str = ".sav";

/// The files that belong to a slot, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct SlotFiles {
    pub has_save: bool,
    backups: Vec<u32>,
    damaged: Vec<u32>,
    refused: Vec<u32>,
}

impl SlotFiles {
    pub(crate) fn backups(&self, path: &Path) -> Vec<PathBuf> {
        self.backups.iter().map(|number| names::backup(path, *number)).collect()
    }

    pub(crate) fn damaged(&self, path: &Path) -> Vec<PathBuf> {
        self.damaged.iter().map(|number| names::damaged(path, *number)).collect()
    }

    pub(crate) fn refused(&self, path: &Path) -> Vec<PathBuf> {
        self.refused.iter().map(|number| names::refused(path, *number)).collect()
    }

    /// Returns the files that belong to a save with any suffix.
    fn all_of(storage: &dyn Storage, path: &Path) -> io::Result<Self> {
        let names = match storage.list(folder_of(path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            names => names?,
        };
        let own = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let mut all = Self::default();
        for rest in names.iter().filter_map(|name| name.to_str()?.strip_prefix(own)) {
            all.has_save |= rest.is_empty();
            let numbered = |suffix| number(rest.strip_prefix(suffix)?);
            all.backups.extend(numbered(".bak"));
            all.damaged.extend(numbered(".damaged"));
            all.refused.extend(numbered(".refused"));
        }
        [&mut all.backups, &mut all.damaged, &mut all.refused].into_iter().for_each(|of| sort(of));
        Ok(all)
    }
}

/// Returns the path of the file of a slot.
pub(crate) fn path(folder: &Path, slot: &str) -> PathBuf {
    folder.join(format!("{slot}{ENDING}"))
}

/// Returns the slots of a folder, sorted by name. The list is empty if there is no such folder.
pub(crate) fn list(storage: &dyn Storage, folder: &Path) -> io::Result<Vec<(String, SlotFiles)>> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let names = match storage.list(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        names => names?,
    };
    // Each file gets an entry first. The entries of one slot are joined below.
    let mut slots: Vec<(String, SlotFiles)> = Vec::new();
    for name in names.iter().filter_map(|name| name.to_str()) {
        // Hidden files belong to no slot, except for the old save: if files can have only one name, it may be the only
        // file left of a slot.
        if let Some(slot) = name.strip_prefix('.').and_then(|name| name.strip_suffix(".sav.old")) {
            slots.push((slot.to_owned(), SlotFiles::default()));
        }
        let Some((slot, rest)) = name.rsplit_once(ENDING) else { continue };
        if slot.is_empty() || slot.starts_with('.') {
            continue;
        }
        let number = |suffix| number(rest.strip_prefix(suffix)?);
        let files = SlotFiles {
            has_save: rest.is_empty(),
            backups: Vec::from_iter(number(".bak")),
            damaged: Vec::from_iter(number(".damaged")),
            refused: Vec::from_iter(number(".refused")),
        };
        if files.has_save
            || [&files.backups, &files.damaged, &files.refused].iter().any(|of| !of.is_empty())
        {
            slots.push((slot.to_owned(), files));
        }
    }
    sort_by(&mut slots, |(a, _), (b, _)| a.cmp(b));
    slots.dedup_by(|(next, files), (slot, all)| {
        let is_same = next == slot;
        if is_same {
            all.has_save |= files.has_save;
            all.backups.append(&mut files.backups);
            all.damaged.append(&mut files.damaged);
            all.refused.append(&mut files.refused);
        }
        is_same
    });
    for (_, files) in &mut slots {
        sort(&mut files.backups);
        sort(&mut files.damaged);
        sort(&mut files.refused);
    }
    Ok(slots)
}

fn number(digits: &str) -> Option<u32> {
    match digits.as_bytes() {
        [] => Some(1),
        [b'1'..=b'9', ..] => digits.parse().ok().filter(|number| *number > 1),
        _ => None,
    }
}

/// Removes a save and all its files, the save last. After a crash, the remaining files are still a slot.
///
/// `is_expected` runs under the lock, and returns an error if the save is not the one that was meant.
pub(crate) fn delete(
    storage: &dyn Storage,
    path: &Path,
    options: &SaveOptions,
    is_expected: &dyn Fn() -> Result<()>,
) -> Result<()> {
    let failed = |error| Error::io("delete", path, error);
    let _lock = lock(storage, path, options.wait)?;
    check_no_session(storage, path)?;
    tidy(storage, path, u32::MAX).map_err(failed)?;
    is_expected()?;
    let files = SlotFiles::all_of(storage, path).map_err(failed)?;
    let beside = [files.damaged(path), files.refused(path), files.backups(path)].concat();
    if !files.has_save && beside.is_empty() {
        return Err(no_slot(path));
    }
    beside.iter().try_for_each(|file| storage.remove(file)).map_err(failed)?;
    if files.has_save {
        storage.remove(path).map_err(failed)?;
    }
    storage.sync_folder(folder_of(path)).map_err(failed)
}

/// Renames a save and all its files, the save last. After a crash the save has one of the two names, and some backups
/// may have the other.
pub(crate) fn rename(
    storage: &dyn Storage,
    from: &Path,
    to: &Path,
    options: &SaveOptions,
) -> Result<()> {
    let failed = |error| Error::io("rename", from, error);
    // The order of locks is fixed, so that two programs that rename in opposite directions do not deadlock.
    let (first, second) = if from < to { (from, to) } else { (to, from) };
    let _first = lock(storage, first, options.wait)?;
    let _second = if from == to { None } else { Some(lock(storage, second, options.wait)?) };
    check_no_session(storage, from)?;
    check_no_session(storage, to)?;
    tidy(storage, from, u32::MAX).and_then(|()| tidy(storage, to, u32::MAX)).map_err(failed)?;
    let files = SlotFiles::all_of(storage, from).map_err(failed)?;
    if !files.has_save {
        return Err(no_slot(from));
    }
    if from == to {
        return Ok(());
    }
    check_free(storage, to)?;
    for number in &files.backups {
        // Check that these names can be opened. An existing file is preserved as a damaged file, and nothing else is
        // replaced.
        let name = names::backup(to, *number);
        is_free(storage, &name).map_err(|error| Error::io("open", &name, error))?;
    }
    preserve_backups(storage, to).map_err(failed)?;
    // A preserved file may get any free number.
    let any = |files: Vec<PathBuf>, name: CopyName| {
        files.into_iter().map(move |file| (file, NewName::Free(name)))
    };
    let mut moves: Vec<_> = any(files.damaged(from), names::damaged).collect();
    moves.extend(any(files.refused(from), names::refused));
    let of_backup = |n| (names::backup(from, n), NewName::Fixed(names::backup(to, n)));
    moves.extend(files.backups.iter().map(|number| of_backup(*number)));
    moves.push((from.to_owned(), NewName::Fixed(to.to_owned())));
    let mut moves = moves.into_iter();
    let renamed = moves.try_for_each(|(name, new)| {
        let new = match new {
            NewName::Free(name) => free_name(storage, to, name)?,
            NewName::Fixed(name) => name,
        };
        storage.rename(&name, &new)
    });
    renamed.and_then(|()| storage.sync_folder(folder_of(to))).map_err(failed)
}

/// The new name of a file of a slot that is renamed.
enum NewName {
    Fixed(PathBuf),
    Free(CopyName),
}

/// Copies a save, without its backups. Returns an error if the save is damaged.
pub(crate) fn copy(
    storage: &dyn Storage,
    from: &Path,
    to: &Path,
    options: &SaveOptions,
    limits: &Limits,
) -> Result<()> {
    let failed = |error| Error::io("copy the save to", to, error);
    let reading = ReadRequest { storage, limits, wait: options.wait, others: &[] };
    let save = read_current(reading, from, from).map_err(|error| match error.kind() {
        ErrorKind::NotFound => no_slot(from),
        _ => error,
    })?;
    check(&save, limits)?;
    let lock = lock(storage, to, options.wait)?;
    check_no_session(storage, to)?;
    tidy(storage, to, u32::MAX).map_err(failed)?;
    check_free(storage, to)?;
    preserve_backups(storage, to).map_err(failed)?;
    let mut file = Temporary::with(storage, to, from, &lock, &save).map_err(failed)?;
    file.check_own(to)?;
    check_free(storage, to)?;
    file.rename(to).and_then(|()| storage.sync_folder(folder_of(to))).map_err(failed)
}

/// Renames the backups of a deleted slot to damaged files. They are not backups of the slot that takes over the name,
/// so no load may fall back to them, and they must not be lost.
fn preserve_backups(storage: &dyn Storage, path: &Path) -> io::Result<()> {
    let backups = SlotFiles::all_of(storage, path)?.backups(path);
    // The newest gets the highest number, as if it had been damaged last.
    backups
        .iter()
        .rev()
        .try_for_each(|name| storage.rename(name, &free_name(storage, path, names::damaged)?))
}

fn no_slot(path: &Path) -> Error {
    let (slot, folder) = (name_of(path), folder_of(path).display());
    error!(ErrorKind::NotFound, "there is no slot `{slot}` in {folder}")
}

fn check_free(storage: &dyn Storage, path: &Path) -> Result<()> {
    // A name is used only if it is certainly free.
    if is_free(storage, path).map_err(|error| Error::io("open", path, error))? {
        return Ok(());
    }
    let (slot, folder) = (name_of(path), folder_of(path).display());
    let message = format!(
        "there is a slot `{slot}` in {folder} already; choose another name, or delete that first"
    );
    Err(Error::new(ErrorKind::AlreadyExists, message))
}

/// Returns the name of the slot of a file.
fn name_of(path: &Path) -> &str {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.strip_suffix(ENDING).unwrap_or(name)
}
