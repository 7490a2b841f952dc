//! Where a load reads: a file, whose backups stand in for it, or memory; of a damaged save what is whole, if asked for.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::Salvage;
use super::output::Output;
use super::salvage::{is_wreck, salvage};
use crate::options::LoadPolicy;
use crate::storage::{ReadRequest, Recovery, keep_copies, salvage_candidates};
use crate::{Error, Result, storage, trace};

/// A save that is loaded.
#[derive(Clone, Copy)]
pub(super) enum SaveSource<'s> {
    /// A file, and others that stand in for it as its backups do.
    File(&'s Path, &'s [PathBuf]),
    Memory(&'s [u8]),
}

/// How a save came back that was damaged.
#[derive(Clone, Debug, Default)]
pub(super) struct Rescue {
    pub(super) recovery: Option<Recovery>,
    pub(super) salvage: Option<Salvage>,
}

impl Rescue {
    /// Reports to a log what was done about a damaged save.
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
    /// The file, if it is one.
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

    /// Compiled once, for values of any type.
    fn read_by(
        self,
        output: &Output,
        policy: LoadPolicy,
        read: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Rescue> {
        let salvages = policy == LoadPolicy::Salvage;
        match self {
            Self::Memory(save) => {
                let (mut save, mut rescue) = (Cow::Borrowed(save), Rescue::default());
                if salvages && is_wreck(&save, &output.limits) {
                    let (whole, found) = salvage(&save, &output.limits)?;
                    (save, rescue.salvage) = (Cow::Owned(whole), Some(found));
                }
                read(&save)?;
                Ok(rescue)
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

/// Loads what is whole of the save or of a backup, whichever has more.
fn salvage_file(
    request: ReadRequest<'_>,
    path: &Path,
    error: Error,
    read: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<Salvage> {
    let (mut found, mut failed) = (Vec::new(), None);
    for (file, wreck) in salvage_candidates(request, path) {
        if !is_wreck(&wreck, request.limits) {
            continue;
        }
        match salvage(&wreck, request.limits) {
            Ok((save, salvage)) => found.push((file, save, salvage)),
            Err(error) => drop(failed.get_or_insert(error)),
        }
    }
    // Of equal ones the newest is the first.
    let objects = |found: &[(_, _, Salvage)], place: usize| found[place].2.objects;
    while let Some(most) = (0..found.len()).rev().max_by_key(|place| objects(&found, *place)) {
        let (file, save, salvage) = found.remove(most);
        match read(&save) {
            Ok(()) => {
                let kept = keep_copies(request, path, &file);
                return Ok(Salvage { file: Some(file), kept, ..salvage });
            }
            Err(error) => drop(failed.get_or_insert(error)),
        }
    }
    let Some(failed) = failed else { return Err(error) };
    let message = format!("{}; nor can it be salvaged, {}", error.message(), failed.cause());
    Err(error.reworded(message))
}
