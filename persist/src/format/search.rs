//! The search for what is whole in a damaged save.

use byteorder::{ByteOrder, LittleEndian};

use super::{
    BLOCK_DEFINITIONS, BLOCK_HEAD, BLOCK_RECORDS, BLOCK_TRAILER, CRC_SIZE, Compression, Header,
    MAGIC, TRAILER_SIZE,
};

/// How many bytes a search for the next whole block may look at, for each byte of the save.
const EFFORT: u64 = 16;

pub(super) struct Search<'s> {
    save: &'s [u8],
    effort: u64,
}

impl<'s> Search<'s> {
    pub(super) fn new(save: &'s [u8]) -> Self {
        Self { save, effort: (save.len() as u64).saturating_mul(EFFORT) }
    }

    /// Where the first block begins: after a header that is whole or ends where it says; else `None`.
    pub(super) fn start(&mut self) -> Option<usize> {
        if let Ok((_, at)) = Header::parse(self.save) {
            return Some(at);
        }
        Header::length(self.save).filter(|at| self.is_whole(*at))
    }

    /// The end of the content of a block, if there is a whole one.
    pub(super) fn block(&mut self, at: usize, is_block: impl Fn(u8) -> bool) -> Option<usize> {
        let head = self.save.get(at..)?.get(..BLOCK_HEAD).filter(|head| is_block(head[0]))?;
        let end = (at + BLOCK_HEAD).checked_add(LittleEndian::read_u32(&head[1..]) as usize)?;
        let crc = self.save.get(end..end.checked_add(CRC_SIZE)?)?;
        self.effort = self.effort.checked_sub((end - at) as u64)?;
        (crc32fast::hash(&self.save[at..end]) == LittleEndian::read_u32(crc)).then_some(end)
    }

    /// The counts of records and definitions in the trailer, if it is there: at the end of the file, or, if something
    /// was appended, where it says that it is. One that is elsewhere belongs to a save in a field of this one.
    pub(super) fn trailer(&self, at: usize) -> Option<[u64; 2]> {
        let [records, definitions, length] = whole_trailer(self.save, at)?;
        let end = at + TRAILER_SIZE;
        (end == self.save.len() || end as u64 == length).then_some([records, definitions])
    }

    /// Where to continue after a part at `at` that is not whole; a block `begins` there unless bytes are missing.
    pub(super) fn behind(&mut self, at: usize, begins: bool) -> usize {
        let block = if begins { self.behind_block(at) } else { None };
        block.or_else(|| self.behind_save(at)).unwrap_or(at + 1)
    }

    fn is_whole(&mut self, at: usize) -> bool {
        self.block(at, is_block).is_some() || self.trailer(at).is_some()
    }

    /// The end of damaged blocks that end where they say: something whole follows. What is in them is not looked at.
    fn behind_block(&mut self, mut at: usize) -> Option<usize> {
        loop {
            self.effort = self.effort.checked_sub(BLOCK_HEAD as u64)?;
            let head = self.save.get(at..)?.get(..BLOCK_HEAD).filter(|head| is_block(head[0]))?;
            let length = LittleEndian::read_u32(&head[1..]) as usize;
            at = at.checked_add(length)?.checked_add(BLOCK_HEAD + CRC_SIZE)?;
            if self.is_whole(at) {
                return Some(at);
            }
        }
    }

    /// The end of another save, which a field or the metadata holds: its blocks are none of this one.
    fn behind_save(&mut self, at: usize) -> Option<usize> {
        let inner = self.save.get(at..).filter(|rest| at > 0 && rest.starts_with(&MAGIC))?;
        self.effort = self.effort.checked_sub(Header::length(inner)?.min(inner.len()) as u64)?;
        let (_, length) = Header::parse(inner).ok()?;
        let mut end = at + length;
        loop {
            if let Some(next) = self.block(end, is_block) {
                end = next + CRC_SIZE;
            } else if let Some(next) = self.behind_block(end) {
                end = next;
            } else {
                break;
            }
        }
        Some(whole_trailer(self.save, end).map_or(end, |_| end + TRAILER_SIZE))
    }
}

pub(super) fn is_block(tag: u8) -> bool {
    tag == BLOCK_RECORDS || tag == BLOCK_DEFINITIONS || Compression::of(tag).is_some()
}

/// The three numbers of a whole trailer.
fn whole_trailer(save: &[u8], at: usize) -> Option<[u64; 3]> {
    let trailer = save.get(at..)?.get(..TRAILER_SIZE).filter(|found| found[0] == BLOCK_TRAILER)?;
    let (content, crc) = trailer.split_at(TRAILER_SIZE - CRC_SIZE);
    let word = |i: usize| LittleEndian::read_u64(&content[1 + 8 * i..]);
    (crc32fast::hash(content) == LittleEndian::read_u32(crc)).then(|| [word(0), word(1), word(2)])
}
