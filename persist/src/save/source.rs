//! Where a load reads: a file, whose backups stand in for it, or memory; of a damaged save what is whole, if asked for.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::path::Path;

use super::Salvage;
use super::output::Output;
use super::salvage::{is_wreck, salvage};
use crate::options::LoadPolicy;
use crate::storage::{ReadRequest, Recovery, keep_wreck, wrecks};
use crate::{Error, Result, storage};

/// A save that is loaded.
#[derive(Clone, Copy)]
pub(super) enum SaveSource<'s> {
    File(&'s Path),
    Memory(&'s [u8]),
}

/// How a save came back that was damaged.
#[derive(Clone, Debug, Default)]
pub(super) struct Rescue {
    pub(super) recovery: Option<Recovery>,
    pub(super) salvage: Option<Salvage>,
}

impl SaveSource<'_> {
    pub(super) fn read<T>(
        self,
        output: &Output,
        policy: LoadPolicy,
        mut read: impl FnMut(&[u8]) -> Result<T>,
    ) -> Result<(T, Rescue)> {
        let salvages = policy == LoadPolicy::Salvage;
        match self {
            Self::Memory(save) => {
                let (mut save, mut rescue) = (Cow::Borrowed(save), Rescue::default());
                if salvages && is_wreck(&save, &output.limits) {
                    let (whole, found) = salvage(&save, &output.limits)?;
                    (save, rescue.salvage) = (Cow::Owned(whole), Some(found));
                }
                Ok((read(&save)?, rescue))
            }
            Self::File(path) => {
                let Output { storage, options, limits, .. } = output;
                let request = ReadRequest { storage: &**storage, limits, wait: options.wait };
                match storage::load(request, path, &mut read) {
                    Ok((value, recovery)) => Ok((value, Rescue { recovery, salvage: None })),
                    Err(error) if salvages && error.is_damage() => {
                        let (value, salvage) = salvage_file(request, path, error, read)?;
                        Ok((value, Rescue { recovery: None, salvage: Some(salvage) }))
                    }
                    Err(error) => Err(error),
                }
            }
        }
    }
}

/// Loads what is whole of the save or of a backup, whichever has more.
fn salvage_file<T>(
    request: ReadRequest<'_>,
    path: &Path,
    error: Error,
    mut read: impl FnMut(&[u8]) -> Result<T>,
) -> Result<(T, Salvage)> {
    let (mut found, mut failed) = (Vec::new(), None);
    for (file, wreck) in wrecks(request, path) {
        if !is_wreck(&wreck, request.limits) {
            continue;
        }
        match salvage(&wreck, request.limits) {
            Ok((save, salvage)) => found.push((file, save, salvage)),
            Err(error) => drop(failed.get_or_insert(error)),
        }
    }
    // Of equal ones the newest is the first.
    found.sort_by_key(|(.., salvage)| Reverse(salvage.objects));
    for (file, save, salvage) in found {
        match read(&save) {
            Ok(value) => {
                let kept = keep_wreck(request, path, &file);
                return Ok((value, Salvage { file: Some(file), kept, ..salvage }));
            }
            Err(error) => drop(failed.get_or_insert(error)),
        }
    }
    let Some(failed) = failed else { return Err(error) };
    let message = format!("{}; nor can it be salvaged, {}", error.message(), failed.cause());
    Err(error.reworded(message))
}
