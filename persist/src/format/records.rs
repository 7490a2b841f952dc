use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian};

use super::header::{damaged, newer};
use super::{ADDED, MAX_ID, SEPARATOR};
use crate::codec::{Decoder, Fail, count};
use crate::reflect::Holder;
use crate::{Error, Result};

/// Where a record lies in the save, and what it says of itself.
#[derive(Clone, Copy)]
pub(crate) struct RecordLocation {
    pub(crate) id: u64,
    /// First byte of the payload, which follows its length.
    pub(crate) start: usize,
    /// Index of its class in the save.
    pub(crate) class: u32,
    pub(crate) holder: Holder,
    pub(crate) added: bool,
}

impl RecordLocation {
    /// True if it is the one value of the save.
    pub(crate) fn is_value(&self) -> bool {
        self.holder == Holder::VALUE && self.added
    }

    /// True if it is no object, but a value that a program kept of the one with its id.
    pub(crate) fn is_kept(&self) -> bool {
        self.holder == Holder::VALUE && !self.added
    }

    #[inline]
    pub(crate) fn payload<'s>(&self, save: &'s [u8]) -> &'s [u8] {
        // The scan has found the length and the payload inside the save.
        let length = save.get(..self.start).and_then(<[u8]>::last_chunk::<4>);
        let length = length.map_or(0, |length| LittleEndian::read_u32(length)) as usize;
        save.get(self.start..).and_then(|rest| rest.get(..length)).unwrap_or_default()
    }
}

/// Records in the order of the file.
#[derive(Clone, Default)]
pub(crate) struct Records {
    places: Vec<RecordLocation>,
    /// The largest id.
    last_id: u64,
    has_value: bool,
}

impl Records {
    /// Classes have smaller numbers than this, which leaves as many to who reads the records.
    pub(crate) const MAX_CLASSES: u32 = 1 << 25;

    /// With room for this many records.
    pub(super) fn with_capacity(records: usize) -> Self {
        Self { places: Vec::with_capacity(records), ..Self::default() }
    }

    #[inline]
    pub(crate) fn push(&mut self, record: RecordLocation) {
        self.has_value |= record.holder == Holder::VALUE;
        self.last_id = self.last_id.max(record.id);
        self.places.push(record);
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    #[inline]
    pub(crate) fn get(&self, record: usize) -> RecordLocation {
        self.places[record]
    }

    /// Reads a record as one in another holder.
    pub(crate) fn set_holder(&mut self, record: usize, holder: Holder) {
        self.places[record].holder = holder;
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = RecordLocation> + use<'_> {
        self.places.iter().copied()
    }

    /// The largest id; 0 if there is no record.
    pub(crate) fn last_id(&self) -> u64 {
        self.last_id
    }

    /// The first one that is a value, or kept.
    pub(crate) fn value(&self) -> Option<RecordLocation> {
        let mut records = self.has_value.then(|| self.iter())?;
        records.find(|record| record.holder == Holder::VALUE)
    }

    /// True if one is a value, or kept.
    pub(crate) fn has_value(&self) -> bool {
        self.has_value
    }

    /// How many begin before this offset.
    pub(crate) fn before(&self, offset: usize) -> usize {
        self.places.partition_point(|record| record.start < offset)
    }

    /// Takes out the records of what programs kept of objects.
    pub(crate) fn take_kept(&mut self) -> Vec<RecordLocation> {
        if !self.has_value || !self.iter().any(|record| record.is_kept()) {
            return Vec::new();
        }
        let (kept, others): (Vec<_>, Vec<_>) = self.iter().partition(RecordLocation::is_kept);
        *self = others.into_iter().collect();
        kept
    }

    /// The place of a record among those that are sorted: added ones before others, each by their ids.
    pub(crate) fn find(&self, is_added: bool, id: u64) -> Option<usize> {
        let key = |record: &RecordLocation| (!record.added, record.id);
        self.places.binary_search_by_key(&(!is_added, id), key).ok()
    }

    /// These of the records, in this order.
    pub(crate) fn select(&self, records: &[u32]) -> Self {
        records.iter().map(|record| self.get(*record as usize)).collect()
    }
}

impl FromIterator<RecordLocation> for Records {
    fn from_iter<I: IntoIterator<Item = RecordLocation>>(records: I) -> Self {
        let mut this = Self::default();
        records.into_iter().for_each(|record| this.push(record));
        this
    }
}

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
    let class = u32::try_from(class).ok().filter(|class| *class < Records::MAX_CLASSES);
    let Some(class) = class else { return Err(damaged(at, "there are too many classes")) };
    Ok(RecordLocation { id, start: 0, class, holder, added: code & ADDED != 0 })
}
