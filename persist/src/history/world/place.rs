//! Names of objects, places in the tree, and whether they are updated.

use std::rc::Rc;

use super::label;
use crate::history::journal::{StoredStep, Storing};
use crate::history::step::{Failure, Step};
use crate::history::{Label, Verb};
use crate::world::Activity;
use crate::{ObjectId, Result, World};

/// A property of an object that is no component, before and after.
pub(in crate::history) struct ObjectChange {
    pub(in crate::history) object: ObjectId,
    pub(in crate::history) old: Aspect,
    pub(in crate::history) new: Aspect,
    pub(super) name: Option<Rc<str>>,
}

/// What an object has besides its components.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::history) enum Aspect {
    Name(Rc<str>),
    /// Its parent, and its index there.
    Place(Option<ObjectId>, usize),
    Activity(Activity),
}

impl Aspect {
    fn put(&self, world: &mut World, object: ObjectId) -> Result<(), Failure> {
        world.check_editable()?;
        match self {
            Self::Name(name) => world.rename_to(object, name)?,
            Self::Place(parent, index) => world.set_parent_at(object, *parent, *index)?,
            Self::Activity(activity) => world.put_activity(object, *activity)?,
        }
        Ok(())
    }
}

impl ObjectChange {
    /// What has been done to an object; `None` if it is as it was.
    pub(in crate::history) fn of(
        world: &World,
        object: ObjectId,
        old: Aspect,
        new: Aspect,
    ) -> Option<Self> {
        let name = world.shared_name(object);
        (old != new).then_some(Self { object, old, new, name })
    }
}

impl Step<World> for ObjectChange {
    fn undo(&mut self, world: &mut World) -> Result<(), Failure> {
        self.old.put(world, self.object)
    }

    fn redo(&mut self, world: &mut World) -> Result<(), Failure> {
        self.new.put(world, self.object)
    }

    fn label(&self) -> Label {
        let verb = match self.new {
            Aspect::Name(_) => Verb::Rename,
            Aspect::Place(..) => Verb::Reparent,
            Aspect::Activity(Activity::Active) => Verb::Resume,
            Aspect::Activity(_) => Verb::Pause,
        };
        label(verb, None, self.name.as_ref())
    }

    fn has_end(&self) -> bool {
        false
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }

    fn objects(&self, found: &mut Vec<ObjectId>) {
        found.push(self.object);
    }

    fn store(&mut self, _: &World, _: &Storing<'_, World>) -> Result<StoredStep> {
        Ok(StoredStep::from(self.stored()))
    }
}
