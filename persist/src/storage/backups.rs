//! Which backups a save has.

use std::path::Path;

use super::rotate::{generation_of, is_free};
use super::{Storage, names};
use crate::{Error, Result};

/// How many backups may be missing between two; a rotation that is cut short leaves one.
const GAP: u32 = 2;

/// The numbers of the backups of a save, in ascending order.
pub(super) fn backups(storage: &dyn Storage, path: &Path) -> Result<Vec<u32>> {
    let (mut found, mut missing) = (Vec::new(), 0);
    for number in 1.. {
        let backup = names::backup(path, number);
        if !is_free(storage, &backup).map_err(|error| Error::io("open", &backup, error))? {
            found.push(number);
            missing = 0;
        } else {
            missing += 1;
            if missing == GAP {
                break;
            }
        }
    }
    Ok(found)
}

/// The backups of a save and their generations, the newest first. One that cannot be read may be the newest: that is an
/// error.
pub(super) fn backups_by_age(storage: &dyn Storage, path: &Path) -> Result<Vec<(u32, u64)>> {
    let numbers = backups(storage, path)?.into_iter();
    let generation = |number| generation_of(storage, &names::backup(path, number));
    let mut found =
        numbers.map(|number| Ok((number, generation(number)?))).collect::<Result<Vec<_>>>()?;
    found.sort_by_key(|(number, generation)| (std::cmp::Reverse(*generation), *number));
    Ok(found)
}
