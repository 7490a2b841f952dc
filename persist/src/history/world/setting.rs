//! A field that is set.

use std::any::Any;
use std::rc::Rc;

use super::{label, name_of, object_of};
use crate::history::journal::{StoredStep, Storing};
use crate::history::step::{Failure, Merge, Step};
use crate::history::{Label, Verb};
use crate::world::{Bytes, FieldChange, Owner, Splice};
use crate::{FieldPath, ObjectId, Result, Value, World};

/// A field with its bytes before and after, so that doing and undoing it do not depend on each other.
pub(in crate::history) struct Setting {
    pub(in crate::history) owner: Owner,
    pub(in crate::history) path: FieldPath,
    pub(in crate::history) old: Bytes,
    pub(in crate::history) new: Bytes,
    /// The name of the object at that time.
    pub(super) name: Option<Rc<str>>,
    /// Whether the component is to be asked if it may be as it was made last.
    is_asked: bool,
}

impl Setting {
    /// What was found to have changed.
    pub(in crate::history) fn found(world: &World, owner: Owner, change: FieldChange) -> Self {
        let FieldChange { path, old, new } = change;
        Self::new(owner, path, (old, new), name_of(world, owner))
    }

    pub(super) fn new(
        owner: Owner,
        path: FieldPath,
        (old, new): (Bytes, Bytes),
        name: Option<Rc<str>>,
    ) -> Self {
        Self { owner, path, old, new, name, is_asked: false }
    }

    /// Sets a field; `None` instead of the step if that changes nothing. Also what it was.
    pub(super) fn make(
        world: &mut World,
        owner: Owner,
        path: FieldPath,
        value: &Value,
    ) -> Result<(Option<Self>, Value)> {
        let spliced = world.splice(owner, &path, &Splice::Set(value))?;
        let old_value = spliced.old_value.unwrap_or(Value::Unit);
        if spliced.old == spliced.new {
            return Ok((None, old_value));
        }
        let (bytes, name) = ((spliced.old, spliced.new), name_of(world, owner));
        Ok((Some(Self::new(owner, path, bytes, name)), old_value))
    }
}

impl Step<World> for Setting {
    fn undo(&mut self, world: &mut World) -> Result<(), Failure> {
        self.is_asked = world.put_bytes(self.owner, &self.path, &self.old)?;
        Ok(())
    }

    fn redo(&mut self, world: &mut World) -> Result<(), Failure> {
        self.is_asked = world.put_bytes(self.owner, &self.path, &self.new)?;
        Ok(())
    }

    fn check(&self, world: &mut World) -> Result<()> {
        if self.is_asked { world.check_valid(self.owner, self.path.class()) } else { Ok(()) }
    }

    fn merge(&mut self, next: &mut dyn Step<World>) -> Result<Merge> {
        let next: &mut dyn Any = next;
        let Some(next) = next.downcast_mut::<Self>() else { return Ok(Merge::No) };
        if next.owner != self.owner || next.path != self.path {
            return Ok(Merge::No);
        }
        self.new = std::mem::take(&mut next.new);
        Ok(if self.old == self.new { Merge::Annul } else { Merge::Yes })
    }

    fn is_setting(&self) -> bool {
        true
    }

    fn meets(&self, other: &dyn Step<World>) -> bool {
        let other: &dyn Any = other;
        other
            .downcast_ref::<Self>()
            .is_none_or(|other| other.owner == self.owner && other.path.meets(&self.path))
    }

    fn label(&self) -> Label {
        label(Verb::Set, Some(&self.path), self.name.as_ref())
    }

    fn has_end(&self) -> bool {
        false
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.old.held() + self.new.held()
    }

    fn objects(&self, found: &mut Vec<ObjectId>) {
        found.extend(object_of(self.owner));
    }

    fn store(&mut self, _: &World, _: &Storing<'_, World>) -> Result<StoredStep> {
        Ok(StoredStep::from(self.stored()))
    }
}
