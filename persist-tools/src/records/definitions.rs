//! The definitions of a save that is read block by block.

use persist::__tools::{
    ClassSchema, Item, RecordLocation, StreamBlock, Trailer, check_count, damaged,
    read_definitions, too_many,
};
use persist::save::Compression;
use persist::{Limits, Result};

/// The definitions in the blocks that were read so far.
#[derive(Default)]
pub struct Definitions {
    /// All definitions with their heads, as the copy before the trailer has them.
    bytes: Vec<u8>,
    places: Vec<DefinitionPlace>,
    /// Number of records that were read so far.
    records: u64,
}

/// Where a definition was.
#[derive(Clone, Copy, Default)]
struct DefinitionPlace {
    /// The offset in the collected bytes.
    here: usize,
    /// The offset in the save.
    at: u64,
    is_compressed: bool,
    /// Number of records before it.
    records: u64,
}

impl Definitions {
    /// Returns the number of definitions.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Returns the bytes of all definitions.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the number of records before each definition.
    pub fn preceding(&self) -> Vec<usize> {
        let records = |place: &DefinitionPlace| usize::try_from(place.records);
        self.places.iter().map(|place| records(place).unwrap_or(usize::MAX)).collect()
    }

    /// Reads the items of a block. It collects the definitions, and passes each record with the definitions before it
    /// to `take`. The copy of the definitions is compared with those that were collected.
    ///
    /// # Errors
    ///
    /// Returns an error if a definition is damaged.
    pub fn items(
        &mut self,
        block: &StreamBlock<'_>,
        limits: &Limits,
        mut take: impl FnMut(&Self, RecordLocation) -> Result<()>,
    ) -> Result<()> {
        if block.compression.is_none() {
            if *block.content == *self.bytes {
                return Ok(());
            }
            let what = "the definitions are not the same the second time";
            return Err(damaged(0, what).moved_to(block.at));
        }
        block.items(limits, self.count(), |at, item| match item {
            Item::Definition(at, body) => {
                self.places.push(DefinitionPlace {
                    here: self.bytes.len(),
                    at: block.place(at as u64),
                    is_compressed: block.compression != Some(Compression::None),
                    records: self.records,
                });
                // The range includes the separator.
                self.bytes.extend_from_slice(&block.content[at..=body.end]);
                Ok(())
            }
            Item::Record(record) => {
                self.records += 1;
                if self.records > limits.objects {
                    return Err(too_many(limits.objects).at(block.place(at as u64)));
                }
                take(self, record)
            }
        })
    }

    /// Checks the counts of a trailer, which is at offset `at`.
    ///
    /// # Errors
    ///
    /// Returns an error if the trailer has other sums than the blocks.
    pub fn check(&self, trailer: Trailer, at: u64) -> Result<()> {
        check_count(0, trailer.records, self.records, "records")
            .and_then(|()| check_count(0, trailer.definitions, self.count() as u64, "definitions"))
            .map_err(|error| error.moved_to(at))
    }

    /// Decodes the definitions.
    ///
    /// # Errors
    ///
    /// Returns an error if the definitions contradict each other or exceed the limits.
    pub fn classes(&self, limits: &Limits) -> Result<Vec<ClassSchema>> {
        read_definitions(&self.bytes, limits).map_err(|error| match error.offset() {
            Some(offset) => {
                let next = self.places.partition_point(|place| place.here as u64 <= offset);
                let place = next.checked_sub(1).and_then(|place| self.places.get(place));
                let DefinitionPlace { here, at, is_compressed, .. } =
                    place.copied().unwrap_or_default();
                error.moved_to(if is_compressed { at } else { at + (offset - here as u64) })
            }
            None => error,
        })
    }
}
