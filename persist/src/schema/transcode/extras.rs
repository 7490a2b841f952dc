//! Results of rewriting a record besides its payload.

use std::ops::Range;

use crate::reflect::Holder;
use crate::schema::FieldPlace;

/// The results of rewriting a record besides its payload.
#[derive(Default)]
pub(crate) struct RecordExtras {
    /// Values that are kept of the object: the class of each, and where it is.
    pub(crate) unknown: Vec<(usize, UnknownLocation)>,
    /// The synthesized defaults of the object's fields, which are kept beside its unknown fields.
    pub(crate) synthesized: Vec<(usize, Vec<u8>)>,
    /// Values that are objects of their own now.
    pub(crate) shared: Vec<SharedValue>,
    /// Fields with defaults that are not read from the payload, in its order.
    pub(crate) defaulted: Vec<DefaultedField>,
}

/// A field that is stored by a module, and that the save does not have. It gets its default as that is: the module may
/// refuse it or make another value of it. The payload has its bytes too, for those who read it without the type.
pub(crate) struct DefaultedField {
    /// Where those are in the payload.
    pub(crate) bytes: Range<usize>,
    pub(crate) field: FieldPlace,
}

impl DefaultedField {
    /// Takes out of a list those whose bytes begin in a range, with what follows `start` moved to `to`.
    pub(super) fn moved(
        list: &[Self],
        bytes: Range<usize>,
        to: usize,
    ) -> impl Iterator<Item = Self> {
        // The list is in the order of the output. A scan instead of a search would make long lists of such elements
        // quadratic.
        let first = list.partition_point(|it| it.bytes.start < bytes.start);
        let end = list.partition_point(|it| it.bytes.start < bytes.end);
        list[first..end].iter().map(move |it| it.at(bytes.start, to))
    }

    /// Follows its bytes, where those from `from` on stand at `to` now.
    pub(super) fn at(&self, from: usize, to: usize) -> Self {
        let [start, end] = [self.bytes.start, self.bytes.end].map(|at| at - from + to);
        Self { bytes: start..end, field: self.field }
    }

    /// Lets those of a list follow their bytes, where those from `from` on stand at `to` now.
    pub(super) fn follow(list: &mut [Self], from: usize, to: usize) {
        // A count above 247 takes two bytes. When skipped elements brought it down to 247, the defaults after the list
        // were once read one byte off.
        let first = list.partition_point(|it| it.bytes.start < from);
        for field in &mut list[first..] {
            *field = field.at(from, to);
        }
    }

    /// Drops those whose bytes begin at `start` or after it.
    pub(super) fn truncate(list: &mut Vec<Self>, start: usize) {
        list.truncate(list.partition_point(|it| it.bytes.start < start));
    }
}

/// Where a value that is kept of an object lies.
pub(crate) enum UnknownLocation {
    /// In the payload of its record.
    Payload(Range<usize>),
    /// It is the one of this index of what was kept before.
    Original(usize),
}

/// A value that has become an object.
pub(crate) struct SharedValue {
    pub(crate) id: u64,
    /// The program's class.
    pub(crate) class: usize,
    pub(crate) holder: Holder,
    pub(crate) payload: Vec<u8>,
    pub(crate) defaulted: Vec<DefaultedField>,
}

impl SharedValue {
    /// How much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        // A default may have no bytes in the payload, so the entries count by their own size.
        self.payload.len() + self.defaulted.len() * size_of::<DefaultedField>()
    }
}
