//! What a recorded change of a field is on the types of a later program.

use std::mem;

use super::World;
use super::change::Refused;
use super::fields::Owner;
use crate::fields::{AsBytes, AsText, Bytes, FieldChange, How, Way};
use crate::schema::Stored;
use crate::{FieldPath, Result};

/// Fields of one component or resource that are set at once.
#[derive(crate::Persist, Clone)]
#[persist(crate = crate, class = "persist.Migrated")]
pub(crate) struct Migrated {
    /// What was changed where it was recorded: by it, it is called and merged.
    #[persist(with = AsText, empty = FieldPath::new(""))]
    path: FieldPath,
    /// The bytes that were set there.
    set: Option<Ends>,
    fields: Vec<FieldChange>,
}

/// The bytes of a field before and after.
#[derive(crate::Persist, Clone)]
#[persist(crate = crate, class = "persist.Ends")]
struct Ends {
    #[persist(with = AsBytes)]
    old: Bytes,
    #[persist(with = AsBytes)]
    new: Bytes,
}

impl Ends {
    fn of(change: &FieldChange) -> Option<Self> {
        match &change.how {
            How::Set { old, new } => Some(Self { old: old.clone(), new: new.clone() }),
            _ => None,
        }
    }
}

impl Migrated {
    /// What a change is on today's types.
    pub(super) fn of(change: &FieldChange, fields: Vec<FieldChange>) -> Self {
        Self { path: change.path.clone(), set: Ends::of(change), fields }
    }

    /// What it is on the types of a program that is later again.
    pub(super) fn with(&self, fields: Vec<FieldChange>) -> Self {
        Self { path: self.path.clone(), set: self.set.clone(), fields }
    }

    pub(crate) fn path(&self) -> &FieldPath {
        &self.path
    }

    /// The class whose fields it sets; one without fields is about none any more.
    pub(super) fn class(&self) -> Option<&str> {
        self.fields.first().map(|field| field.path.class())
    }

    pub(super) fn is_setting(&self) -> bool {
        self.set.is_some()
    }

    /// The bytes of a value, with the fields set in them.
    pub(super) fn in_bytes(
        &self,
        class: (&Stored, usize),
        bytes: &[u8],
        way: Way,
    ) -> Result<Vec<u8>> {
        let make = |bytes: Vec<u8>, field: &FieldChange| field.in_bytes(class, &bytes, way);
        self.ordered(way).into_iter().try_fold(bytes.to_vec(), make)
    }

    /// The fields in the order in which they are set.
    fn ordered(&self, way: Way) -> Vec<&FieldChange> {
        let mut fields: Vec<&FieldChange> = self.fields.iter().collect();
        if way == Way::Undo {
            fields.reverse();
        }
        fields
    }

    /// Sets the fields; if one refuses, those before it are put back.
    pub(super) fn apply(&self, world: &mut World, owner: Owner, way: Way) -> Result<(), Refused> {
        let back = if way == Way::Undo { Way::Redo } else { Way::Undo };
        let fields = self.ordered(way);
        for (at, field) in fields.iter().enumerate() {
            if let Err(error) = world.make_change(owner, field, way) {
                let mut done = fields[..at].iter().rev();
                let left =
                    done.try_for_each(|field| world.make_change(owner, field, back).map(drop));
                return Err(Refused { error, left: left.err() });
            }
        }
        Ok(())
    }

    /// As the changes where they were recorded.
    pub(super) fn merge(&mut self, next: &mut Self) -> Option<bool> {
        let (Some(set), Some(last)) = (&mut self.set, &mut next.set) else { return None };
        if self.path != next.path {
            return None;
        }
        set.new = mem::take(&mut last.new);
        let is_annulled = set.old == set.new;
        for mut field in next.fields.drain(..) {
            let known = self.fields.iter_mut().find(|known| known.path == field.path);
            match known {
                Some(known) => drop(known.merge(&mut field)),
                None => self.fields.push(field),
            }
        }
        Some(is_annulled)
    }

    pub(super) fn meets(&self, other: &Self) -> bool {
        let paths = || other.fields.iter().map(|field| &field.path);
        let meets = |field: &FieldChange| paths().any(|path| path.meets(&field.path));
        self.path.meets(&other.path) || self.fields.iter().any(meets)
    }

    pub(super) fn size(&self) -> usize {
        let bytes: usize = self.fields.iter().map(|field| field.how.held()).sum();
        size_of::<Self>() + size_of_val(&*self.fields) + bytes
    }
}
