use std::collections::HashMap;

use super::pending::Pending;
use crate::format::Records;
use crate::{Error, ErrorKind, Result};

/// No record.
const NOBODY: u32 = u32::MAX;

/// Ids to record indices.
pub(super) enum Ids {
    /// Every record's is one more than that of the record before it.
    Ordered {
        first: u64,
        count: u64,
    },
    /// Ids that lie close together: by difference to the first.
    Dense {
        first: u64,
        records: Vec<u32>,
    },
    Sparse(HashMap<u64, u32>),
}

impl Ids {
    pub(super) fn new(records: &Records) -> Result<Self> {
        if records.len() >= Pending::MOST {
            return Err(Error::new(ErrorKind::TooLarge, "a save has at most 536870910 objects"));
        }
        if let Some(first) = records.first_id() {
            return Ok(Self::Ordered { first, count: records.len() as u64 });
        }
        let first = records.iter().map(|record| record.id).min().unwrap_or(1);
        let span = records.last_id() - first;
        let mut ids = if span < records.len() as u64 * 4 + 64 {
            let size = usize::try_from(span + 1).unwrap_or_default();
            Self::Dense { first, records: vec![NOBODY; size] }
        } else {
            Self::Sparse(HashMap::with_capacity(records.len()))
        };
        for (i, record) in records.iter().enumerate() {
            // There are fewer records than bytes in a block's length.
            let index = u32::try_from(i).unwrap_or(NOBODY);
            let taken = match &mut ids {
                Self::Dense { first, records } => {
                    let at = usize::try_from(record.id - *first).unwrap_or_default();
                    std::mem::replace(&mut records[at], index) != NOBODY
                }
                Self::Ordered { .. } => false,
                Self::Sparse(map) => map.insert(record.id, index).is_some(),
            };
            if taken {
                return Err(Error::new(
                    ErrorKind::DuplicateId,
                    format!(
                        "object id #{} is used by two records; the save is damaged or made to harm",
                        record.id
                    ),
                )
                .at(record.start as u64)
                .in_object(record.id));
            }
        }
        Ok(ids)
    }

    #[inline(always)]
    pub(super) fn find(&self, id: u64) -> Option<u32> {
        let Self::Ordered { first, count } = self else { return self.find_other(id) };
        let at = id.wrapping_sub(*first);
        if at < *count { u32::try_from(at).ok() } else { None }
    }

    #[inline(never)]
    fn find_other(&self, id: u64) -> Option<u32> {
        match self {
            Self::Ordered { .. } => None,
            Self::Dense { first, records } => {
                let at = usize::try_from(id.checked_sub(*first)?).ok()?;
                records.get(at).copied().filter(|record| *record != NOBODY)
            }
            Self::Sparse(map) => map.get(&id).copied(),
        }
    }
}
