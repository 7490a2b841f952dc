//! Damaged saves without a good backup, from which a load takes what is whole.

use std::path::{Path, PathBuf};

use super::backups::backups_by_age;
use super::commit::{Locked, Temporary, lock};
use super::recover::Reading;
use super::rotate::{free_damaged, kept_as_damaged};
use super::{folder_of, names, read_save};

/// The save and its backups, the newest first, as far as they can be read.
pub(crate) fn wrecks<'s>(
    reading: Reading<'s>,
    path: &Path,
) -> impl Iterator<Item = (PathBuf, Vec<u8>)> + use<'s> {
    let Reading { storage, limits, .. } = reading;
    let path = storage.resolve(path).unwrap_or_else(|_| path.to_owned());
    // A backup that the system does not let be looked at is none that could help.
    let backups = backups_by_age(storage, &path).unwrap_or_default().into_iter();
    let backups: Vec<_> = backups.map(|(number, _)| names::backup(&path, number)).collect();
    std::iter::once(path)
        .chain(backups)
        .filter_map(move |file| read_save(storage, &file, limits).ok().map(|save| (file, save)))
}

/// Keeps the file that was salvaged, and the save if that is another file, as damaged saves.
///
/// The next saves get their names. Returns where the salvaged file is kept.
pub(crate) fn keep_wreck(reading: Reading<'_>, path: &Path, wreck: &Path) -> Option<PathBuf> {
    let Reading { storage, wait, .. } = reading;
    let path = storage.resolve(path).unwrap_or_else(|_| path.to_owned());
    let lock = lock(storage, &path, wait).ok()?;
    let kept = keep(reading, &path, wreck, &lock);
    if wreck != path {
        keep(reading, &path, &path, &lock);
    }
    // If it is not flushed, the next load keeps it again.
    let _ = storage.sync_folder(folder_of(&path));
    kept
}

/// Gives a file a second name as a damaged save, or a copy where files have one name.
fn keep(reading: Reading<'_>, path: &Path, file: &Path, lock: &Locked) -> Option<PathBuf> {
    let Reading { storage, limits, .. } = reading;
    if let Some(kept) = kept_as_damaged(storage, path, file) {
        return Some(kept);
    }
    let name = free_damaged(storage, path).ok()?;
    if storage.link(file, &name).is_err() {
        let save = read_save(storage, file, limits).ok()?;
        let mut copy = Temporary::create(storage, path, file, lock).ok()?;
        copy.write(|file| file.write_all(&save).map(Ok::<(), ()>)).ok()?.ok()?;
        copy.check_own(path).ok()?;
        copy.replace(&name).ok()?;
    }
    Some(name)
}
