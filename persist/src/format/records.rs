use byteorder::{ByteOrder, LittleEndian};

use crate::reflect::Holder;

/// Where a record lies in the save, and what it says of itself.
#[derive(Clone, Copy)]
pub(crate) struct RecordPlace {
    pub(crate) id: u64,
    /// First byte of the payload, which follows its length.
    pub(crate) start: usize,
    /// Index of its class in the save.
    pub(crate) class: u32,
    pub(crate) holder: Holder,
    pub(crate) added: bool,
}

impl RecordPlace {
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
        let length = save.get(..self.start).and_then(<[u8]>::last_chunk::<LENGTH>);
        let length = length.map_or(0, |length| LittleEndian::read_u32(length)) as usize;
        save.get(self.start..).and_then(|rest| rest.get(..length)).unwrap_or_default()
    }
}

/// Bytes of the length of a payload.
const LENGTH: usize = 4;

/// Records in the order of the file: 8 bytes for each, as long as each id is one more than the id before it.
#[derive(Clone, Default)]
pub(crate) struct Records {
    starts: Starts,
    /// Class, holder and whether it was added, of each.
    heads: Vec<u32>,
    ids: RecordIds,
    /// The largest id.
    last_id: u64,
    /// How many of them are what a program kept of others, and whether one is a value.
    kept: usize,
    has_value: bool,
}

#[derive(Clone)]
enum Starts {
    Short(Vec<u32>),
    /// Of a save of 4 GiB or more.
    Long(Vec<usize>),
}

impl Default for Starts {
    fn default() -> Self {
        Self::Short(Vec::new())
    }
}

#[derive(Clone)]
enum RecordIds {
    /// Each is one more than that before it.
    From(u64),
    Each(Vec<u64>),
}

impl Default for RecordIds {
    fn default() -> Self {
        Self::From(1)
    }
}

fn head(class: u32, holder: Holder, added: bool) -> u32 {
    class << HEAD_BITS | holder.packed() << 1 | u32::from(added)
}

/// Bits of a head beside the class.
const HEAD_BITS: u32 = 6;

impl Records {
    /// Classes have smaller numbers than this, which leaves as many to who reads the records.
    pub(crate) const MOST_CLASSES: u32 = 1 << (32 - HEAD_BITS - 1);

    /// With room for this many records.
    pub(super) fn with_capacity(records: usize) -> Self {
        Self {
            starts: Starts::Short(Vec::with_capacity(records)),
            heads: Vec::with_capacity(records),
            ..Self::default()
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, record: RecordPlace) {
        let RecordPlace { id, start, class, holder, added } = record;
        if let (Starts::Short(starts), Ok(start)) = (&mut self.starts, u32::try_from(start))
            && let RecordIds::From(first) = self.ids
            && first + self.heads.len() as u64 == id
            && holder != Holder::VALUE
        {
            self.last_id = id;
            self.heads.push(head(class, holder, added));
            starts.push(start);
        } else {
            self.push_other(record);
        }
    }

    /// Appends any record.
    #[inline(never)]
    fn push_other(&mut self, record: RecordPlace) {
        let RecordPlace { id, start, class, holder, added } = record;
        match (&mut self.starts, u32::try_from(start)) {
            (Starts::Short(starts), Ok(start)) => starts.push(start),
            (Starts::Long(starts), _) => starts.push(start),
            (Starts::Short(_), Err(_)) => self.push_long(start),
        }
        match &mut self.ids {
            ids @ RecordIds::From(_) if self.heads.is_empty() => *ids = RecordIds::From(id),
            RecordIds::From(first) if *first + self.heads.len() as u64 == id => {}
            RecordIds::From(_) => self.push_id(id),
            RecordIds::Each(ids) => ids.push(id),
        }
        self.last_id = self.last_id.max(id);
        self.heads.push(head(class, holder, added));
        if holder == Holder::VALUE {
            self.has_value = true;
            self.kept += usize::from(!added);
        }
    }

    #[cold]
    fn push_long(&mut self, start: usize) {
        let before = (0..self.heads.len()).map(|record| self.start(record));
        let capacity = self.heads.capacity().max(self.heads.len() + 1);
        let mut starts = Vec::with_capacity(capacity);
        starts.extend(before.chain([start]));
        self.starts = Starts::Long(starts);
    }

    #[cold]
    fn push_id(&mut self, id: u64) {
        let before = (0..self.heads.len()).map(|record| self.id(record));
        let mut ids = Vec::with_capacity(self.heads.capacity());
        ids.extend(before.chain([id]));
        self.ids = RecordIds::Each(ids);
    }

    pub(crate) fn len(&self) -> usize {
        self.heads.len()
    }

    #[inline]
    pub(crate) fn get(&self, record: usize) -> RecordPlace {
        let (id, start, head) = (self.id(record), self.start(record), self.heads[record]);
        let holder = Holder::unpacked(head >> 1);
        RecordPlace { id, start, class: head >> HEAD_BITS, holder, added: head & 1 != 0 }
    }

    #[inline]
    pub(crate) fn id(&self, record: usize) -> u64 {
        match &self.ids {
            RecordIds::From(first) => first + record as u64,
            RecordIds::Each(ids) => ids[record],
        }
    }

    #[inline]
    pub(crate) fn class(&self, record: usize) -> u32 {
        self.heads[record] >> HEAD_BITS
    }

    #[inline]
    pub(crate) fn is_added(&self, record: usize) -> bool {
        self.heads[record] & 1 != 0
    }

    #[inline]
    fn start(&self, record: usize) -> usize {
        match &self.starts {
            Starts::Short(starts) => starts[record] as usize,
            Starts::Long(starts) => starts[record],
        }
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = RecordPlace> + use<'_> {
        (0..self.len()).map(|record| self.get(record))
    }

    /// The first id, if each is one more than that before it.
    pub(crate) fn first_id(&self) -> Option<u64> {
        match &self.ids {
            RecordIds::From(first) => Some(*first),
            RecordIds::Each(_) => None,
        }
    }

    /// The largest id; 0 if there is no record.
    pub(crate) fn last_id(&self) -> u64 {
        self.last_id
    }

    /// The first one that is a value, or kept.
    pub(crate) fn value(&self) -> Option<RecordPlace> {
        let mut records = self.has_value.then(|| self.iter())?;
        records.find(|record| record.holder == Holder::VALUE)
    }

    /// True if one is a value, or kept.
    pub(crate) fn has_value(&self) -> bool {
        self.has_value
    }

    /// How many begin before this offset.
    pub(crate) fn before(&self, offset: usize) -> usize {
        match &self.starts {
            Starts::Short(starts) => starts.partition_point(|start| (*start as usize) < offset),
            Starts::Long(starts) => starts.partition_point(|start| *start < offset),
        }
    }

    /// Takes out the records of what programs kept of objects.
    pub(crate) fn take_kept(&mut self) -> Vec<RecordPlace> {
        if self.kept == 0 {
            return Vec::new();
        }
        let all = std::mem::replace(self, Self::with_capacity(self.len() - self.kept));
        let (kept, others): (Vec<_>, Vec<_>) = all.iter().partition(RecordPlace::is_kept);
        others.into_iter().for_each(|record| self.push(record));
        kept
    }

    /// These of the records, in this order.
    pub(crate) fn select(&self, records: &[u32]) -> Self {
        let mut selected = Self::with_capacity(records.len());
        records.iter().for_each(|record| selected.push(self.get(*record as usize)));
        selected
    }
}
