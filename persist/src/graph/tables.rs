//! What a save keeps of the objects that it meets.

use super::identity::AddressMap;
use super::queue::Queue;
use crate::codec::Shared;
use crate::format::ClassNumbers;

/// The tables of a save, by the numbers of its objects: 46 bytes for each.
///
/// A manager keeps them between its saves, so that those after the first find their memory there.
#[derive(Default)]
pub(crate) struct SaveTables {
    pub(super) map: AddressMap,
    /// Held, so that no address comes back for another object while the save runs.
    pub(super) objects: Vec<Shared>,
    /// Index of the object type of each that was written.
    pub(super) types: Vec<u32>,
    pub(super) queue: Queue,
    /// Of classes.
    pub(super) numbers: ClassNumbers,
}

/// Bytes of tables that are kept at most, which are those of more than a million objects.
const KEPT: usize = 64 << 20;

impl SaveTables {
    /// The tables without their content, for the next save.
    #[must_use]
    pub(super) fn cleared(mut self) -> Self {
        let size = self.map.size()
            + self.objects.capacity() * size_of::<Shared>()
            + self.types.capacity() * size_of::<u32>()
            + self.queue.size();
        if size > KEPT {
            return Self::default();
        }
        self.map.clear();
        self.objects.clear();
        self.types.clear();
        self.queue.clear();
        self.numbers.clear();
        self
    }
}
