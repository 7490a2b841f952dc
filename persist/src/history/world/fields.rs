//! Several fields that are set at once: what became of a change that another program recorded.

use std::any::Any;
use std::rc::Rc;

use super::stored::{StoredChange, StoredField, StoredKey, StoredWorldStep};
use super::{label, object_of};
use crate::history::journal::{StoredStep, Storing};
use crate::history::step::{Failure, Merge, Step, is_broken};
use crate::history::{Label, Verb};
use crate::world::{FieldChange, Owner};
use crate::{FieldPath, ObjectId, Result, World};

/// Fields of one component or resource, perhaps none, with their bytes before and after.
pub(in crate::history) struct FieldsChange {
    owner: Owner,
    /// What was changed where it was recorded.
    path: FieldPath,
    key: Option<StoredKey>,
    is_setting: bool,
    fields: Vec<FieldChange>,
    name: Option<Rc<str>>,
}

impl FieldsChange {
    pub(super) fn restored(
        (owner, name): (Owner, Option<Rc<str>>),
        path: FieldPath,
        key: Option<StoredKey>,
        is_setting: bool,
        fields: Vec<StoredField>,
    ) -> Result<Self> {
        let field = |field: StoredField| {
            let StoredField { path, old, new } = field;
            Ok(FieldChange { path: path.parse()?, old: old.into(), new: new.into() })
        };
        let fields = fields.into_iter().map(field).collect::<Result<_>>()?;
        Ok(Self { owner, path, key, is_setting, fields, name })
    }

    /// Puts the fields from one end to the other; if one refuses, those before it are put back.
    fn put(&self, world: &mut World, is_back: bool) -> Result<(), Failure> {
        let one = |world: &mut World, field: &FieldChange, is_back: bool| -> Result<(), Failure> {
            let bytes = if is_back { &field.old } else { &field.new };
            world.put_bytes(self.owner, &field.path, bytes)?;
            Ok(())
        };
        let mut order: Vec<&FieldChange> = self.fields.iter().collect();
        if is_back {
            order.reverse();
        }
        for (at, field) in order.iter().enumerate() {
            if let Err(mut failure) = one(world, field, is_back) {
                let mut done = order[..at].iter().rev();
                let back = done.try_for_each(|field| one(world, field, !is_back));
                is_broken(&mut failure, 0, back);
                return Err(failure);
            }
        }
        Ok(())
    }
}

impl Step<World> for FieldsChange {
    fn undo(&mut self, world: &mut World) -> Result<(), Failure> {
        self.put(world, true)
    }

    fn redo(&mut self, world: &mut World) -> Result<(), Failure> {
        self.put(world, false)
    }

    fn check(&self, world: &mut World) -> Result<()> {
        self.fields
            .first()
            .map_or(Ok(()), |field| world.check_valid(self.owner, field.path.class()))
    }

    /// As the settings where they were recorded.
    fn merge(&mut self, next: &mut dyn Step<World>) -> Result<Merge> {
        let next: &mut dyn Any = next;
        let Some(next) = next.downcast_mut::<Self>() else { return Ok(Merge::No) };
        let is_same = self.owner == next.owner && self.path == next.path;
        let is_setting = self.is_setting && next.is_setting;
        let (Some(key), Some(last)) = (&mut self.key, &mut next.key) else {
            return Ok(Merge::No);
        };
        if !is_same || !is_setting {
            return Ok(Merge::No);
        }
        key.new = std::mem::take(&mut last.new);
        let is_annulled = key.old == key.new;
        for field in next.fields.drain(..) {
            match self.fields.iter_mut().find(|known| known.path == field.path) {
                Some(known) => known.new = field.new,
                None => self.fields.push(field),
            }
        }
        Ok(if is_annulled { Merge::Annul } else { Merge::Yes })
    }

    fn is_setting(&self) -> bool {
        self.is_setting
    }

    fn meets(&self, other: &dyn Step<World>) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<Self>().is_none_or(|other| {
            let paths = || other.fields.iter().map(|field| &field.path);
            let meets = |field: &FieldChange| paths().any(|path| path.meets(&field.path));
            let is_met = self.path.meets(&other.path) || self.fields.iter().any(meets);
            self.owner == other.owner && is_met
        })
    }

    fn label(&self) -> Label {
        label(Verb::Set, Some(&self.path), self.name.as_ref())
    }

    fn has_end(&self) -> bool {
        false
    }

    fn size(&self) -> usize {
        let bytes = |field: &FieldChange| field.old.held() + field.new.held();
        let fields: usize = self.fields.iter().map(bytes).sum();
        size_of::<Self>() + size_of_val(&*self.fields) + fields
    }

    fn objects(&self, found: &mut Vec<ObjectId>) {
        found.extend(object_of(self.owner));
    }

    fn store(&mut self, _: &World, _: &Storing<'_, World>) -> Result<StoredStep> {
        let field = |field: &FieldChange| StoredField {
            path: field.path.to_string(),
            old: field.old.to_vec(),
            new: field.new.to_vec(),
        };
        let (path, is_setting) = (self.path.to_string(), self.is_setting);
        let fields = self.fields.iter().map(field).collect();
        let change = StoredChange::Fields { path, key: None, is_setting, fields };
        let name = self.name.as_ref().map(ToString::to_string);
        Ok(StoredStep::from(StoredWorldStep { object: object_of(self.owner), name, change }))
    }
}
