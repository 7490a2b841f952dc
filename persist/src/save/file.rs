//! Loads from files: the save, else its newest good backup, else what is whole of a wreck.

use std::cmp::Reverse;
use std::path::Path;

use super::manager::Disk;
use super::salvage::{is_wreck, salvage};
use super::{Salvage, SaveManager};
use crate::options::LoadPolicy;
use crate::storage::{Reading, Recovery, SaveOptions, keep_wreck, wrecks};
use crate::{Error, Limits, Result, storage};

/// A file that is loaded.
pub(super) struct SaveFile<'p> {
    path: &'p Path,
    disk: Disk,
    limits: Limits,
    options: SaveOptions,
    salvages: bool,
}

/// How a save came back that was damaged.
#[derive(Clone, Debug, Default)]
pub(super) struct Rescue {
    pub(super) recovery: Option<Recovery>,
    pub(super) salvage: Option<Salvage>,
}

impl SaveManager {
    /// A file of the storage, when saves of it in the background are done.
    pub(super) fn file<'p>(&self, path: &'p Path) -> SaveFile<'p> {
        self.settle(path);
        SaveFile {
            path,
            disk: self.storage.clone(),
            limits: self.limits,
            options: self.save_options,
            salvages: self.options.policy == LoadPolicy::Salvage,
        }
    }
}

impl SaveFile<'_> {
    pub(super) fn load<T>(&self, mut read: impl FnMut(&[u8]) -> Result<T>) -> Result<(T, Rescue)> {
        let Self { path, disk, limits, options, salvages } = self;
        let reading = Reading { storage: &*disk.0, limits, wait: options.wait };
        match storage::load(reading, path, &mut read) {
            Ok((value, recovery)) => Ok((value, Rescue { recovery, salvage: None })),
            Err(error) if *salvages && error.is_damage() => {
                let (value, salvage) = self.salvage(reading, error, read)?;
                Ok((value, Rescue { recovery: None, salvage: Some(salvage) }))
            }
            Err(error) => Err(error),
        }
    }

    /// Loads what is whole of the save or of a backup, whichever has more.
    fn salvage<T>(
        &self,
        reading: Reading<'_>,
        error: Error,
        mut read: impl FnMut(&[u8]) -> Result<T>,
    ) -> Result<(T, Salvage)> {
        let (mut found, mut failed) = (Vec::new(), None);
        for (file, wreck) in wrecks(reading, self.path) {
            if !is_wreck(&wreck, reading.limits) {
                continue;
            }
            match salvage(&wreck, reading.limits) {
                Ok((save, salvage)) => found.push((file, save, salvage)),
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
        // Of equal ones the newest is the first.
        found.sort_by_key(|(.., salvage)| Reverse(salvage.objects));
        for (file, save, salvage) in found {
            match read(&save) {
                Ok(value) => {
                    let kept = keep_wreck(reading, self.path, &file);
                    return Ok((value, Salvage { file: Some(file), kept, ..salvage }));
                }
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
        let Some(failed) = failed else { return Err(error) };
        let message = format!("{}; nor can it be salvaged, {}", error.message(), failed.cause());
        Err(error.reworded(message))
    }
}
