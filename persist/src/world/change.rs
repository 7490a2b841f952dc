//! What was done to a world, or to any other target, as data.

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

pub(crate) struct ChangeFailure {
    pub(crate) error: Error,
    /// What could not be put back then.
    pub(crate) left: Option<Error>,
}

impl From<Error> for ChangeFailure {
    fn from(error: Error) -> Self {
        Self { error, left: None }
    }
}

/// Something that was done to a target: what an edit records, what an undo reverts, and what a journal keeps.
///
/// A target that is no world has changes of fields alone.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.Change")]
pub(crate) struct Change {
    pub(crate) owner: Owner,
    /// The name of the object at that time.
    #[persist(with = "Option<AsText>")]
    pub(crate) name: Option<ObjectName>,
    pub(crate) what: ChangeKind,
    /// Whether the component is to be asked if it may be as it was made last.
    #[persist(skip)]
    is_asked: bool,
}

#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.What")]
pub(crate) enum ChangeKind {
    Field(FieldChange),
    /// Several fields of a component, perhaps none: what a change is on the types of a later program.
    Fields(Box<Migrated>),
    /// An object was made, with all below it. While it is undone, the world has it parked; a journal gets it as it is.
    Spawn(Option<Fragment>),
    /// An object was removed, with all below it. While it is, the world has it parked; a journal gets it as it is.
    Delete(Option<Fragment>),
    /// A component was put into its object, or a resource into the world.
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

    /// A change of a field of a target that is no world.
    pub(crate) fn of_target(change: FieldChange) -> Self {
        Self {
            owner: Owner::Resource,
            name: None,
            what: ChangeKind::Field(change),
            is_asked: false,
        }
    }

    /// A change of a field that was made.
    #[inline]
    pub(crate) fn found(world: &World, owner: Owner, change: FieldChange) -> Self {
        Self::new(world, owner, ChangeKind::Field(change))
    }

    /// An object that has just been made.
    pub(crate) fn spawned(world: &World, object: ObjectId) -> Self {
        let bare = Fragment::bare(world.parent(object));
        Self::of_object(world, object, ChangeKind::Spawn(Some(bare)))
    }

    /// A copy of a prefab that has just been placed.
    pub(crate) fn copied(world: &World, object: ObjectId, is_journaled: bool) -> Result<Self> {
        let fragment = is_journaled.then(|| parked::fragment(world, object)).transpose()?;
        Ok(Self::of_object(world, object, ChangeKind::Spawn(fragment)))
    }

    pub(crate) fn delete(world: &mut World, object: ObjectId) -> Result<Self> {
        let change = Self::of_object(world, object, ChangeKind::Delete(None));
        parked::park(world, object)?;
        Ok(change)
    }

    /// Puts in a component or a resource. One that is refused was never there, and is not released.
    pub(crate) fn attach(
        world: &mut World,
        owner: Owner,
        mut detached: Detached,
        is_journaled: bool,
    ) -> Result<Self> {
        if is_journaled {
            detached.keep_content(world)?;
        }
        detached.put(world, owner)?;
        Ok(Self::new(world, owner, ChangeKind::Attach(Box::new(detached))))
    }

    pub(crate) fn detach(world: &mut World, owner: Owner, class: String) -> Result<Self> {
        let mut detached = Detached::there(class);
        detached.take(world, owner)?;
        Ok(Self::new(world, owner, ChangeKind::Detach(Box::new(detached))))
    }

    fn object(&self) -> Result<ObjectId> {
        self.owner.object().ok_or_else(|| wrong("a step of an object without one"))
    }

    /// Redoes the change, or undoes it.
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
                // One that is made in its place is called as it was: it cannot come back behind that.
                parked::give_names_away(world, object);
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

    /// Redoes a change of fields, or undoes it, in whatever has them.
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

    /// Whether the world may stay as it is after an undo or a redo of the whole entry.
    pub(crate) fn check(&self, world: &mut World) -> Result<()> {
        match self.class().filter(|_| self.is_asked) {
            Some(class) => world.check_valid(self.owner, class),
            None => Ok(()),
        }
    }

    /// Undoes or redoes the change of a number, without code of the program's; false if it is another change.
    pub(crate) fn put_number(&mut self, world: &mut World, direction: Direction) -> bool {
        let is_put = match (&self.what, self.owner) {
            (ChangeKind::Field(change), Owner::Object(object)) if world.is_still() => {
                world.put_number(object, change, direction)
            }
            _ => false,
        };
        // It is of a component that nobody is to be asked about.
        self.is_asked &= !is_put;
        is_put
    }

    /// The field that was set, and the name of its object at that time.
    pub(crate) fn set_field(&self) -> Option<(&FieldPath, Option<&ObjectName>)> {
        match &self.what {
            ChangeKind::Field(change) if change.is_setting() => {
                Some((&change.path, self.name.as_ref()))
            }
            _ => None,
        }
    }

    /// True if [`check`](Self::check) may refuse.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Takes in a change that followed this one.
    pub(crate) fn merge(&mut self, next: &mut Self) -> Merge {
        match (&mut self.what, &mut next.what) {
            _ if self.owner != next.owner => Merge::No,
            (ChangeKind::Field(one), ChangeKind::Field(next)) => one.merge(next),
            (ChangeKind::Fields(one), ChangeKind::Fields(next)) => one.merge(next),
            _ => Merge::No,
        }
    }

    /// True if it sets fields, which are independent of others but those that it [meets](Self::meets).
    pub(crate) fn is_setting(&self) -> bool {
        match &self.what {
            ChangeKind::Field(change) => change.is_setting(),
            ChangeKind::Fields(migrated) => migrated.is_setting(),
            _ => false,
        }
    }

    /// True if it may change something that another one changes.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        match (&self.what, &other.what) {
            (ChangeKind::Field(one), ChangeKind::Field(other_field)) if other.is_setting() => {
                self.owner == other.owner && one.path.overlaps(&other_field.path)
            }
            (ChangeKind::Fields(one), ChangeKind::Fields(other_fields)) => {
                self.owner == other.owner && one.meets(other_fields)
            }
            _ => true,
        }
    }

    /// Releases what it holds out of the world, which does not come back.
    pub(crate) fn discard(&mut self, world: &mut World, is_applied: bool) {
        if let Some(object) = self.parked(is_applied).filter(|object| world.is_parked(*object)) {
            world.remove(object);
        }
        let owner = self.owner;
        if let Some(detached) = self.detached_mut() {
            detached.discard(world, owner);
        }
    }

    /// The object that it keeps out of the world while it is applied, or undone.
    fn parked(&self, is_applied: bool) -> Option<ObjectId> {
        match self.what {
            ChangeKind::Spawn(_) if !is_applied => self.owner.object(),
            ChangeKind::Delete(_) if is_applied => self.owner.object(),
            _ => None,
        }
    }

    /// Whether something may be released when it is dropped for good.
    pub(crate) fn has_end(&self) -> bool {
        matches!(
            self.what,
            ChangeKind::Spawn(_)
                | ChangeKind::Delete(_)
                | ChangeKind::Attach(_)
                | ChangeKind::Detach(_)
        )
    }

    /// Bytes of memory that it takes besides its own size, roughly.
    pub(crate) fn size(&self) -> usize {
        match &self.what {
            ChangeKind::Field(change) => change.how.held(),
            ChangeKind::Fields(migrated) => migrated.size(),
            ChangeKind::Attach(_) | ChangeKind::Detach(_) => size_of::<Detached>(),
            _ => 0,
        }
    }

    /// Bytes of what it keeps out of the world.
    pub(crate) fn held(&self, world: &World, is_applied: bool) -> usize {
        match &self.what {
            ChangeKind::Attach(detached) | ChangeKind::Detach(detached) => detached.held(world),
            // Else another change has parked it, which counts it.
            _ => self.parked(is_applied).map_or(0, |object| parked::parked_size(world, object)),
        }
    }

    /// The class that it is about.
    pub(crate) fn class(&self) -> Option<&str> {
        match &self.what {
            ChangeKind::Attach(detached) | ChangeKind::Detach(detached) => Some(detached.class()),
            // One without fields is about none any more.
            _ => self.fields().first().map(|field| field.path.class()),
        }
    }

    /// What it is about: an object's component or a resource, by its class where it was recorded.
    pub(crate) fn key(&self) -> Option<(Owner, String)> {
        Some((self.owner, self.class()?.to_owned()))
    }

    /// True if it changes a field, and was recorded by this program.
    pub(crate) fn is_as_recorded(&self) -> bool {
        matches!(self.what, ChangeKind::Field(_))
    }

    /// True if it changes fields of a component or a resource that stays.
    pub(crate) fn is_of_fields(&self) -> bool {
        matches!(self.what, ChangeKind::Field(_) | ChangeKind::Fields(_))
    }

    /// What a journal keeps of it, or a file.
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
            // What was detached a program needs that has its class in another form.
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

    /// Makes it what it was when it was [stored](Self::stored), also of a target that is no world; its bytes are of the
    /// program's own classes. One that was [done](ChangeState::Done) is ready to be redone.
    ///
    /// If this fails, the world may have parked objects more.
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
                        parked::give_names_away(world, self.object()?);
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
                // What has just been done is to be redone: what it took out is still there.
                let is_whole = detached.restore(world, owner, is_out)?;
                is_whole.then_some(()).ok_or_else(|| wrong("a component without its content"))?;
            }
            _ => {}
        }
        // A resource has none to be called by.
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

    /// The changes that the program recorded, if it was migrated since and they are known.
    pub(crate) fn recorded(&self) -> Option<&[FieldChange]> {
        match &self.what {
            ChangeKind::Fields(migrated) => Some(migrated.recorded()).filter(|it| !it.is_empty()),
            _ => None,
        }
    }

    /// Replaces a change of fields by what it is on today's types.
    pub(crate) fn migrate(&mut self, fields: Vec<FieldChange>) {
        let migrated = match &self.what {
            ChangeKind::Field(change) => Migrated::of(change, fields),
            ChangeKind::Fields(migrated) => migrated.with(fields),
            _ => return,
        };
        self.what = ChangeKind::Fields(Box::new(migrated));
    }

    /// Makes it a change that does nothing, since the program does not have the class that it is about.
    pub(crate) fn skip(&mut self) {
        match &self.what {
            ChangeKind::Attach(detached) | ChangeKind::Detach(detached) => {
                self.what = ChangeKind::Fields(Box::new(Migrated::skipped(detached.class())));
            }
            _ => self.migrate(Vec::new()),
        }
    }

    /// True if, on this way, a component or a resource comes into the world.
    pub(crate) fn puts(&self, direction: Direction) -> bool {
        match &self.what {
            ChangeKind::Attach(_) => direction == Direction::Redo,
            ChangeKind::Detach(_) => direction == Direction::Undo,
            _ => false,
        }
    }

    /// The component or resource that comes or goes.
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

/// Changes in the order in which they are made.
fn ordered(fields: &[FieldChange], direction: Direction) -> impl Iterator<Item = &FieldChange> {
    let count = fields.len();
    let place = move |at| if direction == Direction::Undo { count - 1 - at } else { at };
    (0..count).map(move |at| &fields[place(at)])
}

/// The bytes of a component or a resource, of a class of a layout, with the changes of its fields made in them.
pub(crate) fn all_in_bytes(
    fields: &[FieldChange],
    class: (&Stored, usize),
    bytes: &[u8],
    direction: Direction,
) -> Result<Vec<u8>> {
    let make = |bytes: Vec<u8>, field: &FieldChange| field.in_bytes(class, &bytes, direction);
    ordered(fields, direction).try_fold(bytes.to_vec(), make)
}

#[cold]
fn no_world() -> Error {
    wrong("a step of a world, and the target is none")
}

#[cold]
fn wrong(what: &str) -> Error {
    error!(ErrorKind::Damaged, "the journal has {what}; it is damaged or made to harm")
}
