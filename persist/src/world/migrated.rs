//! What a recorded change of a field is on the types of a later program.

use std::mem;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::FieldPath;
use crate::fields::{AsText, Bytes, FieldChange, FieldEdit, Merge};

/// Fields of one component or resource that are set at once.
#[derive(crate::Persist, Clone)]
#[persist(crate = crate, class = "persist.Migrated")]
pub(crate) struct Migrated {
    /// What was changed where it was recorded, and how, without the bytes of elements: so it is called and merged.
    #[persist(with = AsText, empty = FieldPath::new(""))]
    path: FieldPath,
    how: FieldEdit,
    fields: Vec<FieldChange>,
    /// What was recorded, while its journal is replayed: an undo there is one of these.
    recorded: Vec<FieldChange>,
}

impl Migrated {
    /// What a change is on today's types.
    pub(super) fn of(change: &FieldChange, fields: Vec<FieldChange>) -> Self {
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

    /// A change of a component or a resource whose class the program does not have: it does nothing.
    pub(super) fn skipped(class: &str) -> Self {
        // The two differ, so that two of them do not annul each other.
        let how = FieldEdit::Set { old: Bytes::from(&[0][..]), new: Bytes::from(&[1][..]) };
        let (path, fields, recorded) = (FieldPath::new(class.to_owned()), Vec::new(), Vec::new());
        Self { path, how, fields, recorded }
    }

    /// What it is on the types of a program that is later again.
    pub(super) fn with(&self, fields: Vec<FieldChange>) -> Self {
        let (path, how, recorded) = (self.path.clone(), self.how.clone(), self.fields.clone());
        Self { path, how, fields, recorded }
    }

    /// What a journal keeps of it, which begins with it.
    pub(super) fn stored(&self) -> Self {
        Self { recorded: Vec::new(), ..self.with(self.fields.clone()) }
    }

    pub(crate) fn fields(&self) -> &[FieldChange] {
        &self.fields
    }

    /// What was changed where it was recorded, and how.
    pub(crate) fn named(&self) -> (&FieldPath, &FieldEdit) {
        (&self.path, &self.how)
    }

    /// What was recorded, by the program that did, if that is known.
    pub(super) fn recorded(&self) -> &[FieldChange] {
        &self.recorded
    }

    pub(super) fn is_setting(&self) -> bool {
        matches!(self.how, FieldEdit::Set { .. })
    }

    /// As the changes where they were recorded.
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
        // Of two of a path it is the first.
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

    pub(super) fn meets(&self, other: &Self) -> bool {
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
