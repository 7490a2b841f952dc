//! Objects that are made and removed.

use std::rc::Rc;

use super::label;
use crate::history::step::{End, Failure, Step};
use crate::history::{Label, Verb};
use crate::{ObjectId, Result, World};

/// An object that was made, with all below it; undone, it is parked.
pub(in crate::history) struct Creation {
    pub(in crate::history) object: ObjectId,
    name: Option<Rc<str>>,
}

impl Creation {
    pub(in crate::history) fn of(world: &World, object: ObjectId) -> Self {
        Self { object, name: world.shared_name(object) }
    }
}

impl Step<World> for Creation {
    fn undo(&mut self, world: &mut World) -> Result<(), Failure> {
        Ok(world.park(self.object)?)
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

    fn objects(&self, found: &mut Vec<ObjectId>) {
        found.push(self.object);
    }
}

/// An object that was removed, with all below it: it is parked until that cannot be undone any more.
pub(in crate::history) struct Deletion {
    pub(in crate::history) object: ObjectId,
    name: Option<Rc<str>>,
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

    fn objects(&self, found: &mut Vec<ObjectId>) {
        found.push(self.object);
    }
}
