//! Values that a program synthesizes for fields that it does not find in a save.
//!
//! The save of a newer program may have such a field under another name, which is unknown here and kept. A copy of the
//! synthesized default is kept with it. If the field still has that value when the save comes back, nobody has chosen
//! it, and the kept one wins. Such values are copied from the output, since a default may differ each time.

use std::ops::Range;

use crate::Limits;
use crate::schema::Stored;
use crate::schema::walk::{LocalValue, length};

/// The synthesized values of all open records.
#[derive(Default)]
pub(super) struct SynthesizedValues(Vec<SynthesizedValue>);

/// A synthesized value in the output, or the place for what is unknown.
struct SynthesizedValue {
    /// The field; `None` of that place.
    field: Option<usize>,
    bytes: Range<usize>,
}

/// The synthesized values of one record, and where its unknown fields go.
pub(super) struct SynthesizedFields {
    values: Vec<SynthesizedValue>,
    pub(super) room: Option<usize>,
}

impl SynthesizedValues {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Marks the output from here on as synthesized for this field.
    pub(super) fn begin(&mut self, field: usize, at: usize) {
        self.0.push(SynthesizedValue { field: Some(field), bytes: at..at });
    }

    pub(super) fn end(&mut self, at: usize) {
        self.0.last_mut().into_iter().for_each(|last| last.bytes.end = at);
    }

    /// Leaves a place for the unknown fields, which are written when all synthesized values are known.
    pub(super) fn leave_room(&mut self, at: usize) {
        self.0.push(SynthesizedValue { field: None, bytes: at..at });
    }

    /// Takes those of a record that is whole, the last one.
    pub(super) fn take_from(&mut self, first: usize) -> SynthesizedFields {
        let values = self.0.split_off(first);
        let room = values.iter().find(|it| it.field.is_none()).map(|it| it.bytes.start);
        SynthesizedFields { values, room }
    }
}

impl SynthesizedFields {
    /// The values with the classes of the program as which they are kept; `fields` is the node of its first field.
    pub(super) fn copies(
        self,
        layout: &Stored,
        fields: usize,
        out: &[u8],
        limits: &Limits,
    ) -> Vec<(usize, Vec<u8>)> {
        let copy = |it: SynthesizedValue| {
            let (class, bytes) = (layout.synthesized_field(fields + it.field?), &out[it.bytes]);
            // Live handles, ids of objects and numbers of classes are those of this save, and mean nothing in a copy.
            let mut is_same_anywhere = |visited: LocalValue<'_>, _, _| {
                matches!(visited, LocalValue::Reference { id: 0, weak: true, .. })
            };
            let length = length(class, layout, bytes, limits, &mut is_same_anywhere);
            // Without a copy, a later program cannot see whether the value was changed. It then counts as chosen, and
            // wins over a kept field.
            (length.ok() == Some(bytes.len())).then(|| (class, bytes.to_vec()))
        };
        self.values.into_iter().filter_map(copy).collect()
    }
}
