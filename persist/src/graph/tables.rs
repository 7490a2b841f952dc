//! What a save keeps of the objects that it meets.

use super::identity::AddressMap;
use super::object_list::ObjectList;
use super::queue::ObjectQueue;
use crate::format::ClassNumbers;

/// The tables of a save, by the numbers of its objects: 32 to 48 bytes for each.
///
/// A manager keeps them between its saves, so that those after the first find their memory there.
#[derive(Default)]
pub(crate) struct SaveTables {
    pub(super) map: AddressMap,
    pub(super) objects: ObjectList,
    pub(super) queue: ObjectQueue,
    /// Of classes.
    pub(super) numbers: ClassNumbers,
}

/// Bytes of tables that are kept at most, which are those of more than a million objects.
const KEPT: usize = 64 << 20;

impl SaveTables {
    /// The tables without their content, for the next save.
    #[must_use]
    pub(super) fn cleared(mut self) -> Self {
        let size = self.map.size() + self.objects.size() + self.queue.size();
        if size > KEPT {
            return Self::default();
        }
        self.map.clear();
        self.objects.clear();
        self.queue.clear();
        self.numbers.clear();
        self
    }
}
