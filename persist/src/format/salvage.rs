//! A damaged save: what of it is whole.

use std::ops::Range;

use super::blocks::{Block, Trailer};
use super::plain::Unpacker;
use super::scan::definitions_in;
use super::{
    BLOCK_DEFINITIONS, BLOCK_HEAD, BLOCK_RECORDS, CRC_SIZE, Compression, Header, MAGIC, Plain,
    Scan, TRAILER_SIZE, weight,
};
use crate::schema::ClassSchema;
use crate::{Error, ErrorKind, Limits, Result};

/// How many bytes a search for the next whole block may look at, for each byte of the save.
const EFFORT: u64 = 16;

/// What is whole of a damaged save.
pub(crate) struct Wreck<'s> {
    save: &'s [u8],
    header: Option<Header>,
    /// Its whole blocks, without compression.
    unpacker: Unpacker<'s>,
    blocks: Vec<WholeBlock>,
    /// Where a block has all definitions, if it is right before the trailer.
    definitions: Option<Range<usize>>,
    trailer: Option<Trailer>,
    /// Bytes that are not whole, and in how many places they are.
    pub(crate) lost_bytes: u64,
    pub(crate) places: usize,
    /// How many bytes the search may still look at.
    effort: u64,
}

/// The content of a whole block, among the plain ones.
struct WholeBlock {
    start: usize,
    end: usize,
    is_after_damage: bool,
}

impl<'s> Wreck<'s> {
    /// Finds the whole blocks of a save.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] or that of the header if nothing is whole; [`ErrorKind::Unsupported`] for a compression
    /// that this program was built without.
    pub(crate) fn read(save: &'s [u8], limits: &Limits) -> Result<Self> {
        let parsed = Header::parse(save);
        let mut this = Self {
            save,
            header: None,
            unpacker: Unpacker::new(save),
            blocks: Vec::new(),
            definitions: None,
            trailer: None,
            lost_bytes: 0,
            places: 0,
            effort: (save.len() as u64).saturating_mul(EFFORT),
        };
        let start = match &parsed {
            Ok((_, at)) => Some(*at),
            // A header that ends where it says has taken no block with it.
            Err(_) => Header::length(save).filter(|at| this.is_whole(*at)),
        };
        if parsed.is_err() {
            (this.places, this.lost_bytes) = (1, start.unwrap_or(0) as u64);
        }
        this.search(start, limits)?;
        if this.blocks.is_empty() {
            return Err(parsed.err().unwrap_or_else(|| nothing_whole(this.records())));
        }
        this.header = parsed.ok().map(|(header, _)| header);
        Ok(this)
    }

    /// How many records there were, if the trailer is whole.
    pub(crate) fn records(&self) -> Option<u64> {
        self.trailer.map(|trailer| trailer.records)
    }

    pub(crate) fn plain(&self) -> Plain<'_> {
        let (bytes, stored) = (&*self.unpacker.plain, self.save.len());
        let weight = weight(bytes.len().max(stored) as u64, stored as u64);
        Plain { bytes, weight, compression: Compression::None }
    }

    /// Finds the records in the whole blocks whose classes are known.
    ///
    /// Classes are numbered in the order of their definitions. If the block that has all of them is not whole, those
    /// after a lost one are of no use: their numbers are in doubt.
    pub(crate) fn scan(&self, limits: &Limits) -> Result<(Scan<'_>, Vec<ClassSchema>)> {
        let plain = &*self.unpacker.plain;
        let content = |block: &WholeBlock| definitions_in(&plain[block.start..block.end]);
        let found: Vec<&[u8]> = self.blocks.iter().flat_map(content).collect();
        let counted = self.trailer.map(|trailer| trailer.definitions);
        let is_counted = |bodies: &Vec<&[u8]>| counted == Some(bodies.len() as u64);
        let mut scan = Scan::new(self.header.clone().unwrap_or_default(), 0);
        // Those of another save are others, or in another order.
        let holds_found = |all: &Vec<&[u8]>| {
            let mut all = all.iter();
            found.iter().all(|definition| all.any(|other| other == definition))
        };
        let all = self.definitions.clone().map(|all| definitions_in(&self.save[all]));
        if let Some(all) = all.filter(|all| is_counted(all) && holds_found(all)) {
            scan.define_all(&all);
        }
        for block in &self.blocks {
            if block.is_after_damage && !is_counted(&found) {
                scan.ignore_new_classes();
            }
            // What is malformed behind a true checksum was made so.
            let result = scan.items(plain, block.start..block.end, limits);
            result.map_err(|error| scan.first_fault(error, limits))?;
        }
        let classes = scan.classes(limits)?;
        Ok((scan, classes))
    }

    /// Looks for blocks from an offset on where one begins; if there is none, from the first byte on.
    fn search(&mut self, start: Option<usize>, limits: &Limits) -> Result<()> {
        let mut at = start.unwrap_or(0);
        let mut is_damaged = start.is_none();
        let mut is_after_damage = is_damaged;
        while at < self.save.len() {
            if let Some(block) = self.block(at)
                && self.take(&block, is_after_damage, limits)?
            {
                at = block.end + CRC_SIZE;
                is_damaged = false;
            } else if let Some(trailer) = self.trailer(at) {
                self.trailer = Some(trailer);
                self.definitions.take_if(|all| all.end + CRC_SIZE != at);
                return Ok(());
            } else {
                let next = self.after(at, !is_damaged);
                self.places += usize::from(!is_damaged);
                (is_damaged, is_after_damage) = (true, true);
                self.lost_bytes += (next - at) as u64;
                at = next;
            }
        }
        // It is cut off.
        self.places += usize::from(!is_damaged);
        Ok(())
    }

    /// Takes a whole block; false if its checksum is right and its content malformed.
    fn take(&mut self, block: &Block, is_after_damage: bool, limits: &Limits) -> Result<bool> {
        if block.tag == BLOCK_DEFINITIONS {
            self.definitions = Some(block.at + BLOCK_HEAD..block.end);
            return Ok(true);
        }
        let start = self.unpacker.plain.len() + BLOCK_HEAD;
        match self.unpacker.block(block, limits) {
            Err(error) if error.kind() == ErrorKind::Damaged => return Ok(false),
            result => result?,
        }
        let end = self.unpacker.plain.len() - CRC_SIZE;
        self.blocks.push(WholeBlock { start, end, is_after_damage });
        Ok(true)
    }

    /// The tag of a block at `at` and where its content ends, by its head.
    fn head(&self, at: usize) -> Option<(u8, usize)> {
        let is_block = |tag| {
            [BLOCK_RECORDS, BLOCK_DEFINITIONS].contains(&tag) || Compression::of(tag).is_some()
        };
        Block::head(self.save, at).filter(|(tag, _)| is_block(*tag))
    }

    /// The block at `at`, if it is whole.
    fn block(&mut self, at: usize) -> Option<Block> {
        let (tag, end) = self.head(at)?;
        self.save.get(end..end.checked_add(CRC_SIZE)?)?;
        self.effort = self.effort.checked_sub((end - at) as u64)?;
        Block::is_whole(self.save, at, end)?.then_some(Block { tag, at, end })
    }

    /// The trailer, if it is there: at the end of the file, or, if something was appended, where it says that it is. One
    /// that is elsewhere belongs to a save in a field of this one.
    fn trailer(&self, at: usize) -> Option<Trailer> {
        let end = at + TRAILER_SIZE;
        let is_own = |it: &Trailer| end == self.save.len() || end as u64 == it.length;
        self.any_trailer(at).filter(is_own)
    }

    fn any_trailer(&self, at: usize) -> Option<Trailer> {
        Trailer::read(self.save.get(at..)?.first_chunk()?)
    }

    /// Where to continue after a part at `at` that is not whole; a block `begins` there unless bytes are missing.
    fn after(&mut self, at: usize, begins: bool) -> usize {
        let block = if begins { self.after_block(at) } else { None };
        block.or_else(|| self.after_save(at)).unwrap_or(at + 1)
    }

    fn is_whole(&mut self, at: usize) -> bool {
        self.block(at).is_some() || self.trailer(at).is_some()
    }

    /// The end of damaged blocks that end where they say: something whole follows. What is in them is not looked at.
    fn after_block(&mut self, mut at: usize) -> Option<usize> {
        loop {
            self.effort = self.effort.checked_sub(BLOCK_HEAD as u64)?;
            at = self.head(at)?.1.checked_add(CRC_SIZE)?;
            if self.is_whole(at) {
                return Some(at);
            }
        }
    }

    /// The end of another save, which a field or the metadata holds: its blocks are none of this one.
    fn after_save(&mut self, at: usize) -> Option<usize> {
        let inner = self.save.get(at..).filter(|rest| at > 0 && rest.starts_with(&MAGIC))?;
        self.effort = self.effort.checked_sub(Header::length(inner)?.min(inner.len()) as u64)?;
        let (_, length) = Header::parse(inner).ok()?;
        let mut end = at + length;
        loop {
            if let Some(block) = self.block(end) {
                end = block.end + CRC_SIZE;
            } else if let Some(next) = self.after_block(end) {
                end = next;
            } else {
                break;
            }
        }
        Some(self.any_trailer(end).map_or(end, |_| end + TRAILER_SIZE))
    }
}

/// The error for a damaged save without a whole object.
pub(crate) fn nothing_whole(lost: Option<u64>) -> Error {
    let lost = match lost {
        Some(1) => String::from("its one object is lost"),
        Some(lost) => format!("all {lost} objects are lost"),
        None => String::from("it is not known how many objects are lost"),
    };
    let what = format!("nothing of the save is whole, {lost}; restore a backup");
    Error::new(ErrorKind::Damaged, what)
}
