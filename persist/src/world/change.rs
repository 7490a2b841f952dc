//! [`Change`]: a change of a world, or of any other target, as data.

use std::slice;

use super::detached::{ChangeState, Detached};
use super::migrated::Migrated;
use super::names::ObjectName;
use super::object::{Activity, Owner};
use super::parked::{self, Fragment, TreePosition};
use super::world::World;
use crate::fields::{AsText, Direction, FieldChange, Merge};
use crate::schema::Stored;
use crate::{Error, ErrorKind, FieldPath, ObjectId, Result};

/// The error of a change that could not be applied.
pub(crate) struct ChangeFailure {
    pub(crate) error: Error,
    /// The error of restoring the fields that were changed before, if that failed too.
    pub(crate) left: Option<Error>,
}

impl From<Error> for ChangeFailure {
    fn from(error: Error) -> Self {
        Self { error, left: None }
    }
}

/// One change of a target. An edit records it, an undo reverts it, and a journal stores it.
///
/// A target that is not a world has only changes of fields.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.Change")]
pub(crate) struct Change {
    pub(crate) owner: Owner,
    /// The name of the object at that time.
    #[persist(with = "Option<AsText>")]
    pub(crate) name: Option<ObjectName>,
    pub(crate) what: ChangeKind,
    /// True if the `validate` functions of the component must run at the end of the entry, for the last undo or redo.
    #[persist(skip)]
    is_asked: bool,
}

#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.What")]
pub(crate) enum ChangeKind {
    Field(FieldChange),
    /// Several fields of a component, or none: a change of a field, migrated to the types of a later program.
    Fields(Box<Migrated>),
    /// An object was spawned, with descendants. While this is undone, the object is parked in the world; a journal
    /// stores it as a fragment.
    Spawn(Option<Fragment>),
    /// An object was removed, with its descendants. While this is applied, the object is parked in the world; a journal
    /// stores it as a fragment.
    Delete(Option<Fragment>),
    /// A component was attached to an object, or a resource inserted into the world.
    Attach(Box<Detached>),
    Detach(Box<Detached>),
    Rename {
        #[persist(with = AsText)]
        old: ObjectName,
        #[persist(with = AsText)]
        new: ObjectName,
    },
    Move {
        old: TreePosition,
        new: TreePosition,
    },
    Activity {
        old: Activity,
        new: Activity,
    },
}

impl Change {
    #[expect(
        clippy::inline_always,
        reason = "a change is made where it stays; a copy of it waits for its parts"
    )]
    #[inline(always)]
    fn new(world: &World, owner: Owner, what: ChangeKind) -> Self {
        Self { owner, name: name_of(world, owner), what, is_asked: false }
    }

    pub(crate) fn of_object(world: &World, object: ObjectId, what: ChangeKind) -> Self {
        Self::new(world, Owner::Object(object), what)
    }

    /// Creates a change of a field of a target that is not a world.
    pub(crate) fn of_target(change: FieldChange) -> Self {
        Self {
            owner: Owner::Resource,
            name: None,
            what: ChangeKind::Field(change),
            is_asked: false,
        }
    }

    /// Creates the record of a change of a field that has been made.
    #[inline]
    pub(crate) fn found(world: &World, owner: Owner, change: FieldChange) -> Self {
        Self::new(world, owner, ChangeKind::Field(change))
    }

    /// Creates the record of an object that was just spawned without components.
    pub(crate) fn spawned(world: &World, object: ObjectId) -> Self {
        let bare = Fragment::bare(world.parent(object));
        Self::of_object(world, object, ChangeKind::Spawn(Some(bare)))
    }

    /// Creates the record of a copy of a prefab that was just placed.
    pub(crate) fn copied(world: &World, object: ObjectId, is_journaled: bool) -> Result<Self> {
        let fragment = is_journaled.then(|| parked::fragment(world, object)).transpose()?;
        Ok(Self::of_object(world, object, ChangeKind::Spawn(fragment)))
    }

    pub(crate) fn delete(world: &mut World, object: ObjectId) -> Result<Self> {
        let change = Self::of_object(world, object, ChangeKind::Delete(None));
        parked::park(world, object)?;
        Ok(change)
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
        Ok(Self::new(world, owner, ChangeKind::Attach(Box::new(detached))))
    }

    pub(crate) fn detach(world: &mut World, owner: Owner, class: String) -> Result<Self> {
        let mut detached = Detached::attached(class);
        detached.take(world, owner)?;
        Ok(Self::new(world, owner, ChangeKind::Detach(Box::new(detached))))
    }

    fn object(&self) -> Result<ObjectId> {
        self.owner.object().ok_or_else(|| wrong("a step of an object without one"))
    }

    /// Redoes or undoes the change.
    pub(crate) fn apply(
        &mut self,
        world: &mut World,
        direction: Direction,
    ) -> Result<(), ChangeFailure> {
        let is_redo = direction == Direction::Redo;
        match &mut self.what {
            ChangeKind::Field(_) | ChangeKind::Fields(_) => {
                let owner = self.owner;
                self.apply_fields(direction, |field, direction| {
                    world.check_editable()?;
                    world.with_root(owner, field.path.class(), |root| root.make(field, direction))
                })?;
            }
            ChangeKind::Spawn(_) if is_redo => parked::unpark(world, self.object()?)?,
            ChangeKind::Spawn(_) => {
                let object = self.object()?;
                parked::park(world, object)?;
                // After an undo, a new object may get the same name: the next edit removes this redo.
                parked::unreserve_names(world, object);
            }
            ChangeKind::Delete(_) if is_redo => parked::park(world, self.object()?)?,
            ChangeKind::Delete(_) => parked::unpark(world, self.object()?)?,
            ChangeKind::Attach(detached) if is_redo => detached.put(world, self.owner)?,
            ChangeKind::Attach(detached) => detached.take(world, self.owner)?,
            ChangeKind::Detach(detached) if is_redo => detached.take(world, self.owner)?,
            ChangeKind::Detach(detached) => detached.put(world, self.owner)?,
            ChangeKind::Rename { old, new } => {
                let name = if is_redo { &*new } else { &*old }.text();
                world.check_editable()?;
                world.rename_to(self.object()?, &name)?;
            }
            ChangeKind::Move { old, new } => {
                let TreePosition { parent, index } = if is_redo { *new } else { *old };
                let index = usize::try_from(index).unwrap_or(usize::MAX);
                world.check_editable()?;
                world.set_parent_at(self.object()?, parent, index)?;
            }
            ChangeKind::Activity { old, new } => {
                let activity = if is_redo { *new } else { *old };
                world.check_editable()?;
                world.set_activity(self.object()?, activity)?;
            }
        }
        Ok(())
    }

    /// Redoes or undoes a change of fields. `make` changes one field. If one fails, the fields before it are restored.
    pub(crate) fn apply_fields(
        &mut self,
        direction: Direction,
        mut make: impl FnMut(&FieldChange, Direction) -> Result<bool>,
    ) -> Result<(), ChangeFailure> {
        if !self.is_of_fields() {
            return Err(no_world().into());
        }
        let mut is_asked = false;
        let fields: Vec<_> = ordered(self.fields(), direction).collect();
        for (at, field) in fields.iter().enumerate() {
            match make(field, direction) {
                Ok(asks) => is_asked |= asks,
                Err(error) => {
                    let back = |field: &&FieldChange| make(field, direction.reversed()).map(drop);
                    let left = fields[..at].iter().rev().try_for_each(back).err();
                    return Err(ChangeFailure { error, left });
                }
            }
        }
        self.is_asked = is_asked;
        Ok(())
    }

    pub(crate) fn fields(&self) -> &[FieldChange] {
        match &self.what {
            ChangeKind::Field(change) => slice::from_ref(change),
            ChangeKind::Fields(migrated) => migrated.fields(),
            _ => &[],
        }
    }

    /// Runs the `validate` functions that the change requires, after an undo or a redo of the whole entry.
    pub(crate) fn check(&self, world: &mut World) -> Result<()> {
        match self.class().filter(|_| self.is_asked) {
            Some(class) => world.check_valid(self.owner, class),
            None => Ok(()),
        }
    }

    /// Undoes or redoes a change of a number in place, without running code of the program. Returns false for other
    /// changes.
    pub(crate) fn put_number(&mut self, world: &mut World, direction: Direction) -> bool {
        let is_put = match (&self.what, self.owner) {
            (ChangeKind::Field(change), Owner::Object(object)) if world.is_still() => {
                world.put_number(object, change, direction)
            }
            _ => false,
        };
        // A component whose numbers are set in place has no `validate` function.
        self.is_asked &= !is_put;
        is_put
    }

    /// Returns the field that was set, and the name of its object at that time.
    pub(crate) fn set_field(&self) -> Option<(&FieldPath, Option<&ObjectName>)> {
        match &self.what {
            ChangeKind::Field(change) if change.is_setting() => {
                Some((&change.path, self.name.as_ref()))
            }
            _ => None,
        }
    }

    /// Returns true if [`check`](Self::check) may return an error.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Merges the change that immediately followed this one.
    pub(crate) fn merge(&mut self, next: &mut Self) -> Merge {
        match (&mut self.what, &mut next.what) {
            _ if self.owner != next.owner => Merge::No,
            (ChangeKind::Field(one), ChangeKind::Field(next)) => one.merge(next),
            (ChangeKind::Fields(one), ChangeKind::Fields(next)) => one.merge(next),
            _ => Merge::No,
        }
    }

    /// Returns true if the change sets fields. Such changes are independent of each other unless they
    /// [overlap](Self::overlaps).
    pub(crate) fn is_setting(&self) -> bool {
        match &self.what {
            ChangeKind::Field(change) => change.is_setting(),
            ChangeKind::Fields(migrated) => migrated.is_setting(),
            _ => false,
        }
    }

    /// Returns true if both changes may affect the same data.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        match (&self.what, &other.what) {
            (ChangeKind::Field(one), ChangeKind::Field(other_field)) if other.is_setting() => {
                self.owner == other.owner && one.path.overlaps(&other_field.path)
            }
            (ChangeKind::Fields(one), ChangeKind::Fields(other_fields)) => {
                self.owner == other.owner && one.is_overlapping(other_fields)
            }
            _ => true,
        }
    }

    /// Releases the objects and components that the change keeps out of the world, since they do not come back.
    pub(crate) fn discard(&mut self, world: &mut World, is_applied: bool) {
        if let Some(object) = self.parked(is_applied).filter(|object| world.is_parked(*object)) {
            world.remove(object);
        }
        let owner = self.owner;
        if let Some(detached) = self.detached_mut() {
            detached.discard(world, owner);
        }
    }

    /// Returns the object that the change keeps parked, while it is applied or undone.
    fn parked(&self, is_applied: bool) -> Option<ObjectId> {
        match self.what {
            ChangeKind::Spawn(_) if !is_applied => self.owner.object(),
            ChangeKind::Delete(_) if is_applied => self.owner.object(),
            _ => None,
        }
    }

    /// Returns true if [`discard`](Self::discard) may release something.
    pub(crate) fn has_end(&self) -> bool {
        matches!(
            self.what,
            ChangeKind::Spawn(_)
                | ChangeKind::Delete(_)
                | ChangeKind::Attach(_)
                | ChangeKind::Detach(_)
        )
    }

    /// Returns roughly the bytes of heap memory in use.
    pub(crate) fn size(&self) -> usize {
        match &self.what {
            ChangeKind::Field(change) => change.how.held(),
            ChangeKind::Fields(migrated) => migrated.size(),
            ChangeKind::Attach(_) | ChangeKind::Detach(_) => size_of::<Detached>(),
            _ => 0,
        }
    }

    /// Returns roughly the bytes of the objects and components that the change keeps out of the world.
    pub(crate) fn held(&self, world: &World, is_applied: bool) -> usize {
        match &self.what {
            ChangeKind::Attach(detached) | ChangeKind::Detach(detached) => detached.held(world),
            // If this change did not park the object, the change that did counts it.
            _ => self.parked(is_applied).map_or(0, |object| parked::parked_size(world, object)),
        }
    }

    /// Returns the class of the component or resource that is changed.
    pub(crate) fn class(&self) -> Option<&str> {
        match &self.what {
            ChangeKind::Attach(detached) | ChangeKind::Detach(detached) => Some(detached.class()),
            // A migrated change without fields has no class.
            _ => self.fields().first().map(|field| field.path.class()),
        }
    }

    /// Returns the component or resource that is changed: its owner, and its class at the time of the recording.
    pub(crate) fn key(&self) -> Option<(Owner, String)> {
        Some((self.owner, self.class()?.to_owned()))
    }

    /// Returns true for a change of a field that was not migrated.
    pub(crate) fn is_as_recorded(&self) -> bool {
        matches!(self.what, ChangeKind::Field(_))
    }

    /// Returns true if the change only sets or changes fields.
    pub(crate) fn is_of_fields(&self) -> bool {
        matches!(self.what, ChangeKind::Field(_) | ChangeKind::Fields(_))
    }

    /// Converts the change to the form that a journal or a spill file stores.
    pub(crate) fn stored(
        &mut self,
        world: Option<&World>,
        change_state: ChangeState,
    ) -> Result<Self> {
        let parked = match change_state {
            ChangeState::Applied | ChangeState::Undone => {
                self.parked(change_state == ChangeState::Applied)
            }
            ChangeState::Done | ChangeState::Spilled => None,
        };
        let fragment = |object| parked::fragment(world.ok_or_else(no_world)?, object);
        let fragment = parked.map(fragment).transpose()?;
        let what = match &mut self.what {
            ChangeKind::Field(change) => ChangeKind::Field(change.clone()),
            ChangeKind::Fields(migrated) if change_state == ChangeState::Spilled => {
                ChangeKind::Fields(migrated.clone())
            }
            ChangeKind::Fields(migrated) => ChangeKind::Fields(Box::new(migrated.stored())),
            ChangeKind::Spawn(content) if change_state == ChangeState::Done => {
                ChangeKind::Spawn(content.take())
            }
            ChangeKind::Spawn(_) => ChangeKind::Spawn(fragment),
            ChangeKind::Delete(_) => ChangeKind::Delete(fragment),
            ChangeKind::Attach(detached) => {
                ChangeKind::Attach(detached.stored(world.ok_or_else(no_world)?, change_state)?)
            }
            // The content of a detached component is stored, so that a later program can migrate it.
            ChangeKind::Detach(detached) => {
                ChangeKind::Detach(detached.stored(world.ok_or_else(no_world)?, change_state)?)
            }
            ChangeKind::Rename { old, new } => {
                ChangeKind::Rename { old: old.clone(), new: new.clone() }
            }
            ChangeKind::Move { old, new } => ChangeKind::Move { old: *old, new: *new },
            ChangeKind::Activity { old, new } => ChangeKind::Activity { old: *old, new: *new },
        };
        Ok(Self { owner: self.owner, name: self.name.clone(), what, is_asked: false })
    }

    /// Restores the state that the change had when it was [stored](Self::stored). Its bytes must have been converted to
    /// the classes of this program. A change that was just [done](ChangeState::Done) is then ready to be redone. The
    /// target may be one that is not a world.
    ///
    /// If this fails, the world may have additional parked objects.
    pub(crate) fn restore(
        &mut self,
        world: Option<&mut World>,
        change_state: ChangeState,
    ) -> Result<()> {
        if self.is_of_fields() {
            return Ok(());
        }
        let world = world.ok_or_else(no_world)?;
        let owner = self.owner;
        let is_out =
            matches!(self.what, ChangeKind::Detach(_)) == (change_state == ChangeState::Applied);
        match &mut self.what {
            ChangeKind::Spawn(content) => {
                let content = content.take();
                if !matches!(change_state, ChangeState::Applied | ChangeState::Spilled) {
                    let is_bare = content.as_ref().is_some_and(|it| it.save().is_none());
                    self.park(world, content)?;
                    if !is_bare {
                        parked::unreserve_names(world, self.object()?);
                    }
                }
            }
            ChangeKind::Delete(content) => {
                let content = content.take();
                if change_state == ChangeState::Applied {
                    self.park(world, content)?;
                }
            }
            ChangeKind::Attach(detached) | ChangeKind::Detach(detached) => {
                // A change that was just done is going to be redone, so a detached component is still in the world.
                let is_whole = detached.restore(world, owner, is_out)?;
                is_whole.then_some(()).ok_or_else(|| wrong("a component without its content"))?;
            }
            _ => {}
        }
        // Only changes of resources have no object.
        match &self.what {
            ChangeKind::Attach(_) | ChangeKind::Detach(_) => Ok(()),
            _ => self.object().map(drop),
        }
    }

    fn park(&self, world: &mut World, content: Option<Fragment>) -> Result<()> {
        let content = content.ok_or_else(|| wrong("an object without its content"))?;
        let name = self.name.as_ref().ok_or_else(|| wrong("an object without a name"))?;
        parked::park_fragment(world, self.object()?, &name.text(), &content)
    }

    /// Returns the changes as they were recorded, if the change was migrated since and they are known.
    pub(crate) fn recorded(&self) -> Option<&[FieldChange]> {
        match &self.what {
            ChangeKind::Fields(migrated) => Some(migrated.recorded()).filter(|it| !it.is_empty()),
            _ => None,
        }
    }

    /// Replaces a change of fields by its equivalent for the current types.
    pub(crate) fn migrate(&mut self, fields: Vec<FieldChange>) {
        let migrated = match &self.what {
            ChangeKind::Field(change) => Migrated::new(change, fields),
            ChangeKind::Fields(migrated) => migrated.with(fields),
            _ => return,
        };
        self.what = ChangeKind::Fields(Box::new(migrated));
    }

    /// Replaces the change by one that does nothing, since the program does not have its class.
    pub(crate) fn skip(&mut self) {
        match &self.what {
            ChangeKind::Attach(detached) | ChangeKind::Detach(detached) => {
                self.what = ChangeKind::Fields(Box::new(Migrated::skipped(detached.class())));
            }
            _ => self.migrate(Vec::new()),
        }
    }

    /// Returns true if the change puts a component or a resource into the world in this direction.
    pub(crate) fn puts(&self, direction: Direction) -> bool {
        match &self.what {
            ChangeKind::Attach(_) => direction == Direction::Redo,
            ChangeKind::Detach(_) => direction == Direction::Undo,
            _ => false,
        }
    }

    /// Returns the component or resource that is attached or detached.
    pub(crate) fn detached_mut(&mut self) -> Option<&mut Detached> {
        match &mut self.what {
            ChangeKind::Attach(detached) | ChangeKind::Detach(detached) => Some(detached),
            _ => None,
        }
    }
}

#[expect(clippy::inline_always, reason = "as that of `Change::new`")]
#[inline(always)]
fn name_of(world: &World, owner: Owner) -> Option<ObjectName> {
    match owner {
        Owner::Object(object) => world.object_name(object),
        Owner::Resource => None,
    }
}

/// Iterates over changes in the order in which they are applied: reversed for an undo.
fn ordered(fields: &[FieldChange], direction: Direction) -> impl Iterator<Item = &FieldChange> {
    let count = fields.len();
    let place = move |at| if direction == Direction::Undo { count - 1 - at } else { at };
    (0..count).map(move |at| &fields[place(at)])
}

/// Applies changes of fields to the encoded bytes of a component or a resource.
pub(crate) fn all_in_bytes(
    fields: &[FieldChange],
    class: (&Stored, usize),
    bytes: &[u8],
    direction: Direction,
) -> Result<Vec<u8>> {
    let (stored, class) = class;
    ordered(fields, direction)
        .try_fold(bytes.to_vec(), |bytes, field| field.in_bytes(stored, class, &bytes, direction))
}

#[cold]
fn no_world() -> Error {
    wrong("a step of a world, and the target is none")
}

#[cold]
fn wrong(what: &str) -> Error {
    error!(ErrorKind::Damaged, "the journal has {what}; it is damaged or malicious")
}
