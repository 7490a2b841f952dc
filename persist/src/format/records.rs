//! The places of the records in a save.

use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian};

use super::{ADDED, BLOCK_HEAD, BLOCK_RECORDS, Block, MAX_ID, SEPARATOR, damaged, newer};
use crate::codec::{Decoder, Fail, count};
use crate::reflect::Holder;
use crate::{Error, Result};

/// The place of a record in the save, and the fields of its head.
#[derive(Clone, Copy)]
pub struct RecordLocation {
    /// The id of the object.
    pub id: u64,
    /// Offset of the payload, which comes after its length.
    pub start: usize,
    /// Index of its class in the save.
    pub class: u32,
    /// The pointer and the cell that hold the object.
    pub holder: Holder,
    /// True if the program added the object itself.
    pub added: bool,
}

impl RecordLocation {
    /// Returns true if this is the root value of the save.
    pub(crate) fn is_value(&self) -> bool {
        self.holder == Holder::VALUE && self.added
    }

    /// Returns true if this is no object, but unknown data of the object with its id.
    pub fn is_kept(&self) -> bool {
        self.holder == Holder::VALUE && !self.added
    }

    /// Returns true if this is no object, but a page of the record with its id.
    pub fn is_page(&self) -> bool {
        self.holder == Holder::PAGE
    }

    /// Returns true if this is an object, or the root value.
    pub fn is_object(&self) -> bool {
        !self.is_kept() && !self.is_page()
    }

    /// Returns the bytes of the record with a payload of this length.
    pub fn whole_length(&self, payload: usize) -> usize {
        let mut head = Vec::new();
        count::push(u64::from(self.class) + 1, &mut head);
        head.push(self.holder.code());
        count::push(self.id, &mut head);
        head.len() + size_of::<u32>() + payload + 1
    }

    /// Returns the checksum of the block whose only item this is, in a save without compression; `None` if the block
    /// has others.
    pub fn page_digest(&self, save: &[u8]) -> Option<u32> {
        let payload = self.payload(save).len();
        let end = self.start + payload + 1;
        let content = end.checked_sub(self.whole_length(payload))?;
        let head = Block::head(save, content.checked_sub(BLOCK_HEAD)?);
        let crc = save.get(end..)?.first_chunk()?;
        (head == Some((BLOCK_RECORDS, end))).then_some(u32::from_le_bytes(*crc))
    }

    /// Returns the bytes of the value.
    #[inline]
    pub fn payload<'s>(&self, save: &'s [u8]) -> &'s [u8] {
        // The scan has checked that the length and the payload are inside the save.
        let length = save.get(..self.start).and_then(<[u8]>::last_chunk::<4>);
        let length = length.map_or(0, |length| LittleEndian::read_u32(length)) as usize;
        save.get(self.start..).and_then(|rest| rest.get(..length)).unwrap_or_default()
    }
}

/// Records in the order of the file.
#[derive(Clone, Default)]
pub struct Records {
    places: Vec<RecordLocation>,
    /// The largest id of a record.
    last_id: u64,
    /// True if some record is not held by a pointer.
    has_value: bool,
}

impl Records {
    /// Classes have indices below this one. A load uses indices from here on for classes of the program.
    pub(crate) const MAX_CLASSES: u32 = 1 << 25;

    /// Makes an empty list with memory for `records` records.
    pub(super) fn with_capacity(records: usize) -> Self {
        Self { places: Vec::with_capacity(records), ..Self::default() }
    }

    #[inline]
    pub(crate) fn push(&mut self, record: RecordLocation) {
        self.has_value |= record.holder.code() <= Holder::PAGE.code();
        self.last_id = self.last_id.max(record.id);
        self.places.push(record);
    }

    /// Returns true if there is no record.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    #[inline]
    pub(crate) fn get(&self, record: usize) -> RecordLocation {
        self.places[record]
    }

    /// Changes the holder of a record.
    pub(crate) fn set_holder(&mut self, record: usize, holder: Holder) {
        self.places[record].holder = holder;
    }

    /// Returns the records in the order of the file.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = RecordLocation> + use<'_> {
        self.places.iter().copied()
    }

    /// Returns the largest id, or 0 if there is no record.
    pub(crate) fn last_id(&self) -> u64 {
        self.last_id
    }

    /// Returns the first record that is a value or unknown data.
    pub(crate) fn value(&self) -> Option<RecordLocation> {
        let mut records = self.has_value.then(|| self.iter())?;
        records.find(|record| record.holder == Holder::VALUE)
    }

    /// Returns true if some record is a value, unknown data or a page.
    pub(crate) fn has_value(&self) -> bool {
        self.has_value
    }

    /// Returns the number of records that begin before this offset.
    pub(crate) fn count_until(&self, offset: usize) -> usize {
        self.places.partition_point(|record| record.start < offset)
    }

    /// Removes the records that are no objects, and returns them: unknown data and pages.
    pub(crate) fn take_parts(&mut self) -> Vec<RecordLocation> {
        if !self.has_value || self.iter().all(|record| record.is_object()) {
            return Vec::new();
        }
        let (others, parts): (Vec<_>, Vec<_>) = self.iter().partition(RecordLocation::is_object);
        *self = others.into_iter().collect();
        parts
    }

    /// Finds a record by binary search. The records must be sorted: added ones first, then by id.
    pub(crate) fn find(&self, is_added: bool, id: u64) -> Option<usize> {
        let key = |record: &RecordLocation| (!record.added, record.id);
        self.places.binary_search_by_key(&(!is_added, id), key).ok()
    }

    /// Returns the selected records, in this order.
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

/// An item in a block.
pub enum Item {
    /// A definition: the offset of its head, and the range of its body.
    Definition(usize, Range<usize>),
    /// A record, with the place of its payload.
    Record(RecordLocation),
}

impl Item {
    /// Reads an item of a block whose content ends at `end`. `defined` is the number of classes that are defined before
    /// the item, if a record must be of one of them.
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
        .filter(|holder| *holder != Holder::PAGE || code & ADDED == 0)
        .ok_or_else(|| newer(at as u64, "holder", u64::from(code & !ADDED)))?;
    let id = count::decode(input).map_err(malformed)?;
    if id == 0 || id > MAX_ID {
        let what = format!("the record here has object id {id}, ids are 1 to {MAX_ID}");
        return Err(damaged(at, &what));
    }
    // More definitions than this do not fit in memory.
    let class = u32::try_from(class).ok().filter(|class| *class < Records::MAX_CLASSES);
    let Some(class) = class else { return Err(damaged(at, "there are too many classes")) };
    Ok(RecordLocation { id, start: 0, class, holder, added: code & ADDED != 0 })
}
