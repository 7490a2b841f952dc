//! [`Migrated`]: a recorded change of a field, converted to the types of a later program.

use std::mem;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::FieldPath;
use crate::fields::{AsText, Bytes, FieldChange, FieldEdit, Merge};

/// A change of a field that was migrated. On the current types it may be a change of several fields, or of none.
#[derive(crate::Persist, Clone)]
#[persist(crate = crate, class = "persist.Migrated")]
pub struct Migrated {
    /// The path and the kind of the recorded change, without the bytes of elements. Labels and merges use them.
    #[persist(with = AsText, empty = FieldPath::new(""))]
    path: FieldPath,
    how: FieldEdit,
    fields: Vec<FieldChange>,
    /// The recorded changes, while the journal is replayed: an undo in the journal refers to one of them.
    recorded: Vec<FieldChange>,
}

impl Migrated {
    /// Creates the migrated form of a change.
    pub(super) fn new(change: &FieldChange, fields: Vec<FieldChange>) -> Self {
        let recorded = vec![change.clone()];
        let how = match &change.how {
            FieldEdit::Insert { index, .. } => {
                FieldEdit::Insert { index: *index, element: Bytes::default() }
            }
            FieldEdit::Remove { index, .. } => {
                FieldEdit::Remove { index: *index, element: Bytes::default() }
            }
            how => how.clone(),
        };
        Self { path: change.path.clone(), how, fields, recorded }
    }

    /// Creates a change that does nothing, for a component or a resource whose class the program does not have.
    pub(super) fn skipped(class: &str) -> Self {
        // The old and new bytes differ, so that a merge of two such changes does not annul them.
        let how = FieldEdit::Set { old: Bytes::from(&[0][..]), new: Bytes::from(&[1][..]) };
        let (path, fields, recorded) = (FieldPath::new(class.to_owned()), Vec::new(), Vec::new());
        Self { path, how, fields, recorded }
    }

    /// Migrates it again, to the types of a still later program.
    pub(super) fn with(&self, fields: Vec<FieldChange>) -> Self {
        let (path, how, recorded) = (self.path.clone(), self.how.clone(), self.fields.clone());
        Self { path, how, fields, recorded }
    }

    /// Converts it to the form that a new journal stores, without the recorded changes.
    pub(super) fn stored(&self) -> Self {
        Self { recorded: Vec::new(), ..self.with(self.fields.clone()) }
    }

    pub(crate) fn fields(&self) -> &[FieldChange] {
        &self.fields
    }

    /// Returns the path and the kind of the recorded change.
    pub(crate) fn named(&self) -> (&FieldPath, &FieldEdit) {
        (&self.path, &self.how)
    }

    /// Returns the recorded changes, if they are known.
    pub(super) fn recorded(&self) -> &[FieldChange] {
        &self.recorded
    }

    pub(super) fn is_setting(&self) -> bool {
        matches!(self.how, FieldEdit::Set { .. })
    }

    /// Merges the next change if the recorded changes would merge.
    pub(super) fn merge(&mut self, next: &mut Self) -> Merge {
        let (FieldEdit::Set { old, new }, FieldEdit::Set { new: last, .. }) =
            (&mut self.how, &mut next.how)
        else {
            return Merge::No;
        };
        if self.path != next.path {
            return Merge::No;
        }
        *new = mem::take(last);
        let is_annulled = old == new;
        // `rev` makes the first of two changes with the same path win.
        let paths = self.fields.iter().enumerate().rev();
        let mut places: HashMap<FieldPath, usize> =
            paths.map(|(at, field)| (field.path.clone(), at)).collect();
        for mut field in next.fields.drain(..) {
            match places.entry(field.path.clone()) {
                Entry::Occupied(known) => _ = self.fields[*known.get()].merge(&mut field),
                Entry::Vacant(new) => {
                    new.insert(self.fields.len());
                    self.fields.push(field);
                }
            }
        }
        self.recorded.append(&mut next.recorded);
        if is_annulled { Merge::Annul } else { Merge::Yes }
    }

    pub(super) fn is_overlapping(&self, other: &Self) -> bool {
        let paths = || other.fields.iter().map(|field| &field.path);
        let overlaps = |field: &FieldChange| paths().any(|path| path.overlaps(&field.path));
        self.path.overlaps(&other.path) || self.fields.iter().any(overlaps)
    }

    pub(super) fn size(&self) -> usize {
        let fields = || self.fields.iter().chain(&self.recorded);
        let bytes: usize = fields().map(|field| field.how.held()).sum();
        size_of::<Self>() + fields().count() * size_of::<FieldChange>() + bytes
    }
}
