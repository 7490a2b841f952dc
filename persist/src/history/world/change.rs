//! A change of a world as a step of a history.

use std::any::Any;
use std::sync::Arc;

use crate::fields::{FieldChange, How, Way};
use crate::history::journal::{StoredStep, Storing, wrong};
use crate::history::step::{BoxedStep, End, Failure, Merge, Step, is_broken};
use crate::history::{Label, Verb};
use crate::world::{Activity, Change, Moment, Owner, Refused, What};
use crate::{FieldPath, ObjectId, Result, World};

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        let mut failure = Self::from(refused.error);
        if let Some(left) = refused.left {
            is_broken(&mut failure, 0, Err(left.into()));
        }
        failure
    }
}

/// A change that was stored, as a step of a target that must be a world.
pub(in crate::history) fn restored<T: 'static>(
    mut change: Box<Change>,
    target: &mut T,
    moment: Moment,
) -> Result<BoxedStep<T>> {
    let not_of_it = || wrong("a step of a world, and the target is none");
    let target: &mut dyn Any = target;
    change.restore(target.downcast_mut().ok_or_else(not_of_it)?, moment)?;
    // It is one of `T`, which is a world.
    let step: BoxedStep<World> = change;
    let step: Box<dyn Any> = Box::new(step);
    step.downcast().map(|step| *step).map_err(|_| not_of_it())
}

/// Whether a change took in another one, and both then do nothing.
impl From<Option<bool>> for Merge {
    fn from(merged: Option<bool>) -> Self {
        match merged {
            None => Self::No,
            Some(false) => Self::Yes,
            Some(true) => Self::Annul,
        }
    }
}

impl Label {
    /// What a change of a field is called, perhaps one of an object of this name.
    pub(in crate::history) fn of_field(change: &FieldChange, object: Option<&Arc<str>>) -> Self {
        let verb = match change.how {
            How::Set { .. } => Verb::Set,
            How::Insert { .. } => Verb::Insert,
            How::Remove { .. } => Verb::Remove,
            How::Move { .. } => Verb::Move,
        };
        Self::Change { verb, field: Some(change.path.clone()), object: object.cloned() }
    }
}

impl Step<World> for Change {
    fn undo(&mut self, world: &mut World) -> Result<(), Failure> {
        Ok(self.apply(world, Way::Undo)?)
    }

    fn redo(&mut self, world: &mut World) -> Result<(), Failure> {
        Ok(self.apply(world, Way::Redo)?)
    }

    fn check(&self, world: &mut World) -> Result<()> {
        self.check(world)
    }

    fn merge(&mut self, next: &mut dyn Step<World>) -> Result<Merge> {
        let next: &mut dyn Any = next;
        Ok(next.downcast_mut::<Self>().and_then(|next| self.merge(next)).into())
    }

    fn is_setting(&self) -> bool {
        self.is_setting()
    }

    fn meets(&self, other: &dyn Step<World>) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<Self>().is_none_or(|other| self.meets(other))
    }

    fn label(&self) -> Label {
        let of_class = |class: &str| Some(FieldPath::new(class.to_owned()));
        let (verb, field) = match &self.what {
            What::Field(change) => return Label::of_field(change, self.name.as_ref()),
            What::Fields(migrated) => (Verb::Set, Some(migrated.path().clone())),
            What::Spawn(_) => (Verb::Create, None),
            What::Delete(_) => (Verb::Delete, None),
            What::Attach(detached) => (Verb::Attach, of_class(detached.class())),
            What::Detach(detached) => (Verb::Detach, of_class(detached.class())),
            What::Rename { .. } => (Verb::Rename, None),
            What::Move { .. } => (Verb::Reparent, None),
            What::Activity { new: Activity::Active, .. } => (Verb::Resume, None),
            What::Activity { .. } => (Verb::Pause, None),
        };
        let object = self.name.clone().filter(|name| !name.is_empty());
        Label::Change { verb, field, object }
    }

    fn has_end(&self) -> bool {
        self.has_end()
    }

    fn finalize(&mut self, world: &mut World, end: End) {
        if end != End::Merged {
            self.discard(world, end == End::Applied);
        }
    }

    fn size(&self) -> usize {
        self.size()
    }

    fn held(&self, world: &World, is_applied: bool) -> usize {
        self.held(world, is_applied)
    }

    fn objects(&self, found: &mut Vec<ObjectId>) {
        if let Owner::Object(object) = self.owner {
            found.push(object);
        }
    }

    fn store(&mut self, world: &World, storing: &Storing<'_, World>) -> Result<StoredStep> {
        Ok(StoredStep::World(Box::new(self.stored(world, storing.moment)?)))
    }
}
