//! The sources of a load: a file with its backups, or memory. Damaged saves are salvaged here if the policy asks for
//! it.

use std::path::{Path, PathBuf};

use super::salvage::{is_damaged, salvage};
use super::{Output, Rescue, Salvage};
use crate::options::LoadPolicy;
use crate::storage::{ReadRequest, keep_copies, salvage_candidates};
use crate::{Error, Result, storage, trace};

/// The source that a save is loaded from.
#[derive(Clone, Copy)]
pub(super) enum SaveSource<'s> {
    /// A file, and other files that serve as its backups.
    File(&'s Path, &'s [PathBuf]),
    Memory(&'s [u8]),
}

impl Rescue {
    /// Sends `tracing` events about the recovery of a damaged save.
    pub(super) fn trace(&self, path: Option<&Path>) {
        if let Some(recovery) = &self.recovery {
            trace::recovered(path, recovery);
        }
        if let Some(salvage) = &self.salvage {
            trace::recovered(path, salvage);
        }
    }
}

impl<'s> SaveSource<'s> {
    /// Returns the path if the source is a file.
    pub(super) fn path(self) -> Option<&'s Path> {
        match self {
            Self::File(path, _) => Some(path),
            Self::Memory(_) => None,
        }
    }

    pub(super) fn read<T>(
        self,
        output: &Output,
        policy: LoadPolicy,
        mut read: impl FnMut(&[u8]) -> Result<T>,
    ) -> Result<(T, Rescue)> {
        let mut value = None;
        let mut read = |save: &[u8]| read(save).map(|read| value = Some(read));
        let rescue = self.read_by(output, policy, &mut read)?;
        Ok((value.unwrap_or_else(|| unreachable!("a save was read")), rescue))
    }

    /// Reads through a closure without a type parameter, so that this code is compiled once.
    fn read_by(
        self,
        output: &Output,
        policy: LoadPolicy,
        read: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Rescue> {
        let salvages = policy == LoadPolicy::Salvage;
        match self {
            Self::Memory(save) => {
                if !salvages || !is_damaged(save, &output.limits) {
                    return read(save).map(|()| Rescue::default());
                }
                let mut salvaged = |zeros_numbers| {
                    let (whole, found) = salvage(save, zeros_numbers, &output.limits)?;
                    read(&whole).map(|()| found)
                };
                // A program may refuse a zero: where it has a `NonZeroU32`, for example.
                let salvage = Some(salvaged(true).or_else(|_| salvaged(false))?);
                Ok(Rescue { recovery: None, salvage })
            }
            Self::File(path, others) => {
                let Output { storage, options, limits, .. } = output;
                let wait = options.wait;
                let request = ReadRequest { storage: &**storage, limits, wait, others };
                match storage::load(request, path, read) {
                    Ok(recovery) => Ok(Rescue { recovery, salvage: None }),
                    Err(error) if salvages && error.is_damage() => {
                        let salvage = Some(salvage_file(request, path, error, read)?);
                        Ok(Rescue { recovery: None, salvage })
                    }
                    Err(error) => Err(error),
                }
            }
        }
    }
}

/// Salvages the save or a backup, whichever has more intact objects.
fn salvage_file(
    request: ReadRequest<'_>,
    path: &Path,
    error: Error,
    read: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<Salvage> {
    let (mut found, mut failed) = (Vec::new(), None);
    for (file, bytes) in salvage_candidates(request, path) {
        if !is_damaged(&bytes, request.limits) {
            continue;
        }
        // A program may refuse a zero, so there is a version without the records that have some.
        for zeros_numbers in [true, false] {
            match salvage(&bytes, zeros_numbers, request.limits) {
                Ok((save, salvage)) => {
                    let is_last = !salvage.damaged_parts.iter().any(|part| part.is_zeroed);
                    found.push((file.clone(), save, salvage));
                    if is_last {
                        break;
                    }
                }
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
    }
    // `found` has the newest first. `max_by_key` returns the last maximum, so the reversed order prefers the newest.
    let objects = |found: &[(_, _, Salvage)], place: usize| found[place].2.objects;
    while let Some(best) = (0..found.len()).rev().max_by_key(|place| objects(&found, *place)) {
        let (file, save, salvage) = found.remove(best);
        match read(&save) {
            Ok(()) => {
                let copy = keep_copies(request, path, &file);
                return Ok(Salvage { file: Some(file), kept: copy, ..salvage });
            }
            Err(error) => drop(failed.get_or_insert(error)),
        }
    }
    let Some(failed) = failed else { return Err(error) };
    let message = format!("{}; nor can it be salvaged, {}", error.message(), failed.cause());
    Err(error.reworded(message))
}
