//! [`WorldChange`]: a change of the objects of a world, as data.

use super::Detached;
use crate::fields::{AsText, ChangeState, Direction, ObjectChange, ObjectName, Owner};
use crate::world::Activity;
use crate::world::World;
use crate::world::objects::parked::{self, Fragment, TreePosition};
use crate::{Error, ErrorKind, ObjectId, Result};

/// A change of an object, or of a list of components or resources.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.WorldChange")]
pub enum WorldChange {
    /// An object was spawned, with descendants. While this is undone, the object is parked in the world; a journal
    /// stores it as a fragment.
    Spawn(Option<Fragment>),
    /// An object was removed, with its descendants. While this is applied, the object is parked in the world; a journal
    /// stores it as a fragment.
    Delete(Option<Fragment>),
    /// A component was attached to an object, or a resource inserted into the world.
    Attach(Box<Detached>),
    /// A component was detached from an object, or a resource was removed from the world.
    Detach(Box<Detached>),
    /// An object has another name.
    Rename {
        /// The name before the change.
        #[persist(with = AsText)]
        old: ObjectName,
        /// The name after the change.
        #[persist(with = AsText)]
        new: ObjectName,
    },
    /// An object has another parent, or another place among its siblings.
    Move {
        /// The place before the change.
        old: TreePosition,
        /// The place after the change.
        new: TreePosition,
    },
    /// An object was activated or deactivated.
    Activity {
        /// The activity before the change.
        old: Activity,
        /// The activity after the change.
        new: Activity,
    },
}

impl WorldChange {
    /// Creates the record of an object that was just spawned without components.
    pub(crate) fn spawned(world: &World, object: ObjectId) -> Self {
        Self::Spawn(Some(Fragment::bare(world.parent(object))))
    }

    /// Creates the record of a copy of a prefab that was just placed.
    pub(crate) fn copied(world: &World, object: ObjectId, is_journaled: bool) -> Result<Self> {
        Ok(Self::Spawn(is_journaled.then(|| parked::fragment(world, object)).transpose()?))
    }

    /// Attaches a component or a resource, and returns the record. If this fails, the component was never attached, and
    /// is dropped without `on_release`.
    pub(crate) fn attach(
        world: &mut World,
        owner: Owner,
        mut detached: Detached,
        is_journaled: bool,
    ) -> Result<Self> {
        if is_journaled {
            detached.store_content(world)?;
        }
        detached.put(world, owner)?;
        Ok(Self::Attach(Box::new(detached)))
    }

    pub(crate) fn detach(world: &mut World, owner: Owner, class: String) -> Result<Self> {
        let mut detached = Detached::attached(class);
        detached.take(world, owner)?;
        Ok(Self::Detach(Box::new(detached)))
    }

    /// Returns the object that the change keeps parked, while it is applied or undone.
    fn parked(&self, owner: Owner, is_applied: bool) -> Option<ObjectId> {
        match self {
            Self::Spawn(_) if !is_applied => owner.object(),
            Self::Delete(_) if is_applied => owner.object(),
            _ => None,
        }
    }

    /// Returns the component or resource that is attached or detached.
    fn detached(&self) -> Option<&Detached> {
        match self {
            Self::Attach(detached) | Self::Detach(detached) => Some(detached),
            _ => None,
        }
    }

    fn detached_mut(&mut self) -> Option<&mut Detached> {
        match self {
            Self::Attach(detached) | Self::Detach(detached) => Some(detached),
            _ => None,
        }
    }
}

impl ObjectChange for WorldChange {
    type World = World;

    fn apply(&mut self, world: &mut World, owner: Owner, direction: Direction) -> Result<()> {
        let is_redo = direction == Direction::Redo;
        match self {
            Self::Spawn(_) if is_redo => parked::unpark(world, object(owner)?)?,
            Self::Spawn(_) => {
                let object = object(owner)?;
                parked::park(world, object)?;
                // After an undo, a new object may get the same name: the next edit removes this redo.
                parked::unreserve_names(world, object);
            }
            Self::Delete(_) if is_redo => parked::park(world, object(owner)?)?,
            Self::Delete(_) => parked::unpark(world, object(owner)?)?,
            Self::Attach(detached) if is_redo => detached.put(world, owner)?,
            Self::Attach(detached) => detached.take(world, owner)?,
            Self::Detach(detached) if is_redo => detached.take(world, owner)?,
            Self::Detach(detached) => detached.put(world, owner)?,
            Self::Rename { old, new } => {
                let name = if is_redo { &*new } else { &*old }.text();
                world.check_editable()?;
                world.rename_to(object(owner)?, &name)?;
            }
            Self::Move { old, new } => {
                let TreePosition { parent, index } = if is_redo { *new } else { *old };
                let index = usize::try_from(index).unwrap_or(usize::MAX);
                world.check_editable()?;
                world.set_parent_at(object(owner)?, parent, index)?;
            }
            Self::Activity { old, new } => {
                let activity = if is_redo { *new } else { *old };
                world.check_editable()?;
                world.set_activity(object(owner)?, activity)?;
            }
        }
        Ok(())
    }

    fn discard(&mut self, world: &mut World, owner: Owner, is_applied: bool) {
        let parked = self.parked(owner, is_applied);
        if let Some(object) = parked.filter(|object| world.is_parked(*object)) {
            world.remove(object);
        }
        if let Some(detached) = self.detached_mut() {
            detached.discard(world, owner);
        }
    }

    fn has_end(&self) -> bool {
        matches!(self, Self::Spawn(_) | Self::Delete(_) | Self::Attach(_) | Self::Detach(_))
    }

    fn size(&self) -> usize {
        self.detached().map_or(0, |_| size_of::<Detached>())
    }

    fn held(&self, world: &World, owner: Owner, is_applied: bool) -> usize {
        match self.detached() {
            Some(detached) => detached.held(world),
            // If this change did not park the object, the change that did counts it.
            None => {
                let parked = self.parked(owner, is_applied);
                parked.map_or(0, |object| parked::parked_size(world, object))
            }
        }
    }

    fn class(&self) -> Option<&str> {
        self.detached().map(Detached::class)
    }

    fn set_class(&mut self, class: &str) {
        if let Some(detached) = self.detached_mut() {
            detached.set_class(class);
        }
    }

    fn puts(&self, direction: Direction) -> bool {
        match self {
            Self::Attach(_) => direction == Direction::Redo,
            Self::Detach(_) => direction == Direction::Undo,
            _ => false,
        }
    }

    fn content_mut(&mut self) -> Option<&mut Vec<u8>> {
        self.detached_mut()?.content_mut()
    }

    fn stored(&mut self, world: &World, owner: Owner, state: ChangeState) -> Result<Self> {
        let parked = match state {
            ChangeState::Applied | ChangeState::Undone => {
                self.parked(owner, state == ChangeState::Applied)
            }
            ChangeState::Done | ChangeState::Spilled => None,
        };
        let fragment = parked.map(|object| parked::fragment(world, object)).transpose()?;
        Ok(match self {
            Self::Spawn(content) if state == ChangeState::Done => Self::Spawn(content.take()),
            Self::Spawn(_) => Self::Spawn(fragment),
            Self::Delete(_) => Self::Delete(fragment),
            Self::Attach(detached) => Self::Attach(detached.stored(world, state)?),
            // The content of a detached component is stored, so that a later program can migrate it.
            Self::Detach(detached) => Self::Detach(detached.stored(world, state)?),
            Self::Rename { old, new } => Self::Rename { old: old.clone(), new: new.clone() },
            Self::Move { old, new } => Self::Move { old: *old, new: *new },
            Self::Activity { old, new } => Self::Activity { old: *old, new: *new },
        })
    }

    fn restore(
        &mut self,
        world: &mut World,
        (owner, name): (Owner, Option<&ObjectName>),
        state: ChangeState,
    ) -> Result<()> {
        let is_out = matches!(self, Self::Detach(_)) == (state == ChangeState::Applied);
        let park = |world: &mut World, content: Option<Fragment>| {
            let content = content.ok_or_else(|| wrong("an object without its content"))?;
            let name = name.ok_or_else(|| wrong("an object without a name"))?;
            parked::park_fragment(world, object(owner)?, &name.text(), &content)
        };
        match self {
            Self::Spawn(content) => {
                let content = content.take();
                if !matches!(state, ChangeState::Applied | ChangeState::Spilled) {
                    let is_bare = content.as_ref().is_some_and(|it| it.save().is_none());
                    park(world, content)?;
                    if !is_bare {
                        parked::unreserve_names(world, object(owner)?);
                    }
                }
            }
            Self::Delete(content) => {
                let content = content.take();
                if state == ChangeState::Applied {
                    park(world, content)?;
                }
            }
            Self::Attach(detached) | Self::Detach(detached) => {
                // A change that was just done is going to be redone, so a detached component is still in the world.
                let is_whole = detached.restore(world, owner, is_out)?;
                return is_whole
                    .then_some(())
                    .ok_or_else(|| wrong("a component without its content"));
            }
            _ => {}
        }
        // Only changes of resources have no object.
        object(owner).map(drop)
    }
}

fn object(owner: Owner) -> Result<ObjectId> {
    owner.object().ok_or_else(|| wrong("a step of an object without one"))
}

#[cold]
fn wrong(what: &str) -> Error {
    error!(ErrorKind::Damaged, "the journal has {what}; it is damaged or malicious")
}
