//! The items of a block: definitions, and records by their heads.

use std::ops::Range;

use super::header::{damaged, newer};
use super::records::{RecordLocation, Records};
use super::{ADDED, MAX_ID, SEPARATOR};
use crate::codec::{Decoder, Fail, count};
use crate::reflect::Holder;
use crate::{Error, Result};

/// What stands in a block.
pub(crate) enum Item {
    /// Where it begins, with its head, and its body.
    Definition(usize, Range<usize>),
    /// By its head, with the place of its payload.
    Record(RecordLocation),
}

impl Item {
    /// Reads an item of a block whose content ends at that offset. `defined` is how many classes are defined before it,
    /// if a record must be of one of them.
    #[inline(always)]
    pub(crate) fn read(
        input: &mut Decoder<'_>,
        end: usize,
        defined: Option<usize>,
    ) -> Result<Self> {
        let at = end - input.rest().len();
        let malformed = |fail: Fail| {
            let what = Error::from(fail);
            damaged(at, &format!("the record here is malformed ({})", what.message()))
        };
        let number = count::decode(input).map_err(malformed)?;
        let head = match number.checked_sub(1) {
            Some(class) => Some(record_head(class, at, input, defined)?),
            None => None,
        };
        let length: u32 = input.value().map_err(malformed)?;
        let start = end - input.rest().len();
        input.take(length as usize).map_err(malformed)?;
        if input.take(1) != Ok(&[SEPARATOR]) {
            return Err(damaged(at, "the record here does not end with its separator"));
        }
        Ok(match head {
            None => Self::Definition(at, start..start + length as usize),
            Some(record) => Self::Record(RecordLocation { start, ..record }),
        })
    }
}

#[inline(always)]
fn record_head(
    class: u64,
    at: usize,
    input: &mut Decoder<'_>,
    defined: Option<usize>,
) -> Result<RecordLocation> {
    let malformed = |_| damaged(at, "the record here is malformed");
    if defined.is_some_and(|defined| class >= defined as u64) {
        let number = class + 1;
        return Err(damaged(
            at,
            &format!("the record here is of class number {number}, which is not defined before it"),
        ));
    }
    let code: u8 = input.value().map_err(malformed)?;
    let holder = Holder::from_code(code & !ADDED)
        .ok_or_else(|| newer(at as u64, "holder", u64::from(code & !ADDED)))?;
    let id = count::decode(input).map_err(malformed)?;
    if id == 0 || id > MAX_ID {
        let what = format!("the record here has object id {id}, ids are 1 to {MAX_ID}");
        return Err(damaged(at, &what));
    }
    // That many are not in memory.
    let class = u32::try_from(class).ok().filter(|class| *class < Records::MOST_CLASSES);
    let Some(class) = class else { return Err(damaged(at, "there are too many classes")) };
    Ok(RecordLocation { id, start: 0, class, holder, added: code & ADDED != 0 })
}
