//! Objects that are made and removed.

use std::rc::Rc;

use super::label;
use crate::history::journal::{StoredStep, Storing};
use crate::history::step::{End, Failure, Step};
use crate::history::{Label, Verb};
use crate::world::Fragment;
use crate::{ObjectId, Result, World};

/// An object that was made, with all below it; undone, it is parked.
pub(in crate::history) struct Creation {
    pub(in crate::history) object: ObjectId,
    /// What was made.
    pub(super) made: Made,
    pub(super) name: Option<Rc<str>>,
}

/// What a journal records of an object that was made.
pub(super) enum Made {
    /// A bare one, below this one.
    Plain(Option<ObjectId>),
    /// A copy of a prefab, as it was then, until a journal knows.
    Copy(Option<Fragment>),
    /// What was made in another run.
    Known,
}

impl Creation {
    /// An object that has just been spawned.
    pub(super) fn plain(world: &World, object: ObjectId) -> Self {
        let made = Made::Plain(world.parent(object));
        Self { object, made, name: world.shared_name(object) }
    }

    /// A copy of a prefab that has just been placed.
    pub(super) fn copy(world: &World, object: ObjectId, is_journaled: bool) -> Result<Self> {
        let fragment = is_journaled.then(|| world.fragment(object)).transpose()?;
        Ok(Self { object, made: Made::Copy(fragment), name: world.shared_name(object) })
    }
}

impl Step<World> for Creation {
    fn undo(&mut self, world: &mut World) -> Result<(), Failure> {
        world.park(self.object)?;
        // One that is made in its place is called as it was: it cannot come back behind that.
        world.give_names_away(self.object);
        Ok(())
    }

    fn redo(&mut self, world: &mut World) -> Result<(), Failure> {
        Ok(world.unpark(self.object)?)
    }

    fn label(&self) -> Label {
        label(Verb::Create, None, self.name.as_ref())
    }

    fn finalize(&mut self, world: &mut World, end: End) {
        if end == End::Undone && world.is_parked(self.object) {
            world.remove(self.object);
        }
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }

    fn held(&self, world: &World, is_applied: bool) -> usize {
        // Else another step has parked it, which counts it.
        if is_applied { 0 } else { world.parked_size(self.object) }
    }

    fn objects(&self, found: &mut Vec<ObjectId>) {
        found.push(self.object);
    }

    fn store(&mut self, world: &World, storing: &Storing<'_, World>) -> Result<StoredStep> {
        Ok(StoredStep::from(self.stored(world, storing.moment)?))
    }
}

/// An object that was removed, with all below it: it is parked until that cannot be undone any more.
pub(in crate::history) struct Deletion {
    pub(in crate::history) object: ObjectId,
    pub(super) name: Option<Rc<str>>,
}

impl Deletion {
    pub(super) fn make(world: &mut World, object: ObjectId) -> Result<Self> {
        let name = world.shared_name(object);
        world.park(object)?;
        Ok(Self { object, name })
    }
}

impl Step<World> for Deletion {
    fn undo(&mut self, world: &mut World) -> Result<(), Failure> {
        Ok(world.unpark(self.object)?)
    }

    fn redo(&mut self, world: &mut World) -> Result<(), Failure> {
        Ok(world.park(self.object)?)
    }

    fn label(&self) -> Label {
        label(Verb::Delete, None, self.name.as_ref())
    }

    fn finalize(&mut self, world: &mut World, end: End) {
        if end == End::Applied && world.is_parked(self.object) {
            world.remove(self.object);
        }
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }

    fn held(&self, world: &World, is_applied: bool) -> usize {
        // Else another step has parked it, which counts it.
        if is_applied { world.parked_size(self.object) } else { 0 }
    }

    fn objects(&self, found: &mut Vec<ObjectId>) {
        found.push(self.object);
    }

    fn store(&mut self, world: &World, storing: &Storing<'_, World>) -> Result<StoredStep> {
        Ok(StoredStep::from(self.stored(world, storing.moment)?))
    }
}
