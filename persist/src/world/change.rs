//! What was done to a world, as data.

use std::mem;
use std::sync::Arc;

use super::World;
use super::fields::Owner;
use super::fragment::Fragment;
use super::object::Activity;
use super::taken::{
    ComponentContent, Replaced, ReplacedResources, ResourceContent, Taken, TakenResource,
};
use crate::fields::{AsBytes, AsText, Bytes, FieldChange, Request, Way};
use crate::schema::Stored;
use crate::{Error, ErrorKind, FieldPath, ObjectId, Result, Value};

/// Something that was done to a world: what an edit records, what an undo reverts, and what a journal keeps.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.Change")]
pub(crate) struct Change {
    /// What it was done to.
    pub(crate) owner: Owner,
    /// The name of the object at that time.
    #[persist(with = "Option<AsText>")]
    pub(crate) name: Option<Arc<str>>,
    pub(crate) what: What,
    /// Whether the component is to be asked if it may be as it was made last.
    #[persist(skip)]
    is_asked: bool,
}

/// What was done.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.What")]
pub(crate) enum What {
    Field(FieldChange),
    /// Several fields of a component, perhaps none: what a change is on the types of a later program.
    Fields(Box<Migrated>),
    /// An object was made, with all below it.
    Spawn(Spawned),
    /// An object was removed, with all below it; while it is, the world has it parked. A journal gets it as it is.
    Delete(Option<Fragment>),
    Attach(Box<ComponentChange>),
    Detach(Box<ComponentChange>),
    Rename {
        #[persist(with = AsText)]
        old: Arc<str>,
        #[persist(with = AsText)]
        new: Arc<str>,
    },
    Move {
        old: Place,
        new: Place,
    },
    Activity {
        old: Activity,
        new: Activity,
    },
    InsertResource(Box<ResourceChange>),
    RemoveResource(Box<ResourceChange>),
}

/// Fields of one component or resource that are set at once.
#[derive(crate::Persist, Clone)]
#[persist(crate = crate, class = "persist.Migrated")]
pub(crate) struct Migrated {
    /// What was changed where it was recorded: by it, it is called and merged.
    #[persist(with = AsText, empty = FieldPath::new(""))]
    pub(crate) path: FieldPath,
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

/// How an object was made, for a journal.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.Spawned")]
pub(crate) enum Spawned {
    /// A bare one, below this one.
    Plain(Option<ObjectId>),
    /// A copy of a prefab, as it was then, until a journal has it.
    Copy(Option<Fragment>),
}

/// A place in the tree.
#[derive(crate::Persist, Clone, Copy, PartialEq, Eq)]
#[persist(crate = crate, class = "persist.Place")]
pub(crate) struct Place {
    pub(crate) parent: Option<ObjectId>,
    /// Among the children of the parent.
    pub(crate) index: u64,
}

/// A component that an object got or lost.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.ComponentChange")]
pub(crate) struct ComponentChange {
    pub(crate) class: String,
    /// While it is not in its object.
    #[persist(skip)]
    out: Option<Taken>,
    /// As it was when it was attached, until a journal has it.
    content: Option<ComponentContent>,
    /// What it has replaced while it is there.
    #[persist(skip)]
    replaced: Replaced,
}

/// A resource in the place of another, or of none.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.ResourceChange")]
pub(crate) struct ResourceChange {
    pub(crate) class: String,
    /// While they are not in the world.
    #[persist(skip)]
    old: Option<TakenResource>,
    #[persist(skip)]
    new: Option<TakenResource>,
    /// For a journal.
    old_content: Option<ResourceContent>,
    new_content: Option<ResourceContent>,
    /// What it has replaced while it is there.
    #[persist(skip)]
    replaced: ReplacedResources,
}

/// When a change is stored, which says what of it is in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// It has just been done, and must be redone where it has not been.
    Done,
    /// It is applied.
    Applied,
    /// It is undone.
    Undone,
    /// It is one or the other, and what is out of the world stays where it is, in this process.
    Spilled,
}

/// Why a change was not made.
pub(crate) struct Refused {
    pub(crate) error: Error,
    /// What could not be put back then.
    pub(crate) left: Option<Error>,
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self { error, left: None }
    }
}

/// The bytes of a whole component or resource in a change.
type Content<'c> = (&'c mut String, &'c mut Vec<u8>);

impl World {
    /// Does something to a field; no change if that leaves it as it was. Also what a field was that was set.
    pub(crate) fn record(
        &mut self,
        owner: Owner,
        path: FieldPath,
        request: &Request<'_>,
    ) -> Result<(Option<Change>, Value)> {
        let (change, old) = self.change_field(owner, path, request)?;
        let change = (!change.does_nothing()).then(|| Change::found(self, owner, change));
        Ok((change, old.unwrap_or(Value::Unit)))
    }

    /// The place of an object in the tree.
    pub(crate) fn tree_place(&self, object: ObjectId) -> Place {
        let (parent, index) = self.place_of(object);
        Place { parent, index: index as u64 }
    }
}

impl Change {
    fn new(world: &World, owner: Owner, what: What) -> Self {
        Self { owner, name: name_of(world, owner), what, is_asked: false }
    }

    fn of_object(world: &World, object: ObjectId, what: What) -> Self {
        Self::new(world, Owner::Object(object), what)
    }

    /// A change of a field that was made.
    pub(crate) fn found(world: &World, owner: Owner, change: FieldChange) -> Self {
        Self::new(world, owner, What::Field(change))
    }

    /// Changes of fields of one owner.
    pub(crate) fn all_found(
        world: &World,
        owner: Owner,
        changes: Vec<FieldChange>,
    ) -> impl Iterator<Item = Self> {
        let name = name_of(world, owner);
        let change = move |change| {
            let what = What::Field(change);
            Self { owner, name: name.clone(), what, is_asked: false }
        };
        changes.into_iter().map(change)
    }

    /// An object that has just been made.
    pub(crate) fn spawned(world: &World, object: ObjectId) -> Self {
        Self::of_object(world, object, What::Spawn(Spawned::Plain(world.parent(object))))
    }

    /// A copy of a prefab that has just been placed.
    pub(crate) fn copied(world: &World, object: ObjectId, is_journaled: bool) -> Result<Self> {
        let fragment = is_journaled.then(|| world.fragment(object)).transpose()?;
        Ok(Self::of_object(world, object, What::Spawn(Spawned::Copy(fragment))))
    }

    /// Removes an object.
    pub(crate) fn delete(world: &mut World, object: ObjectId) -> Result<Self> {
        let change = Self::of_object(world, object, What::Delete(None));
        world.park(object)?;
        Ok(change)
    }

    /// Attaches a component. One that is refused was never in an object, and is not released.
    pub(crate) fn attach(
        world: &mut World,
        object: ObjectId,
        component: Taken,
        is_journaled: bool,
    ) -> Result<Self> {
        let class = component.class();
        let content = is_journaled.then(|| world.component_content(&component)).transpose()?;
        let replaced = world.put_component(object, component).map_err(|refused| refused.0)?;
        let change = ComponentChange { class, out: None, content, replaced };
        Ok(Self::of_object(world, object, What::Attach(Box::new(change))))
    }

    /// Detaches a component.
    pub(crate) fn detach(world: &mut World, object: ObjectId, class: String) -> Result<Self> {
        let out = Some(world.take_component(object, &class)?);
        let change = ComponentChange { class, out, content: None, replaced: Replaced::default() };
        Ok(Self::of_object(world, object, What::Detach(Box::new(change))))
    }

    /// Puts a resource in.
    pub(crate) fn insert_resource(
        world: &mut World,
        class: String,
        resource: TakenResource,
        is_journaled: bool,
    ) -> Result<Self> {
        let new_content = is_journaled.then(|| world.resource_content(&resource)).transpose()?;
        let replaced = world.replace_resources(&class);
        let old = world.put_resource(resource);
        let change = ResourceChange { old, new_content, replaced, ..ResourceChange::of(class) };
        Ok(Self::new(world, Owner::Resource, What::InsertResource(Box::new(change))))
    }

    /// Takes a resource out; `None` if there is no such resource.
    pub(crate) fn remove_resource(world: &mut World, class: String) -> Option<Self> {
        let old = Some(world.take_resource(&class)?);
        let change = ResourceChange { old, ..ResourceChange::of(class) };
        Some(Self::new(world, Owner::Resource, What::RemoveResource(Box::new(change))))
    }

    /// What was done to an object besides its components; `None` if it is as it was.
    pub(crate) fn of_aspect(world: &World, object: ObjectId, what: What) -> Option<Self> {
        let is_same = match &what {
            What::Rename { old, new } => old == new,
            What::Move { old, new } => old == new,
            What::Activity { old, new } => old == new,
            _ => false,
        };
        (!is_same).then(|| Self::of_object(world, object, what))
    }

    fn object(&self) -> Result<ObjectId> {
        match self.owner {
            Owner::Object(object) => Ok(object),
            Owner::Resource => Err(wrong("a step of an object without one")),
        }
    }

    /// Redoes the change, or undoes it.
    pub(crate) fn apply(&mut self, world: &mut World, way: Way) -> Result<(), Refused> {
        let is_redo = way == Way::Redo;
        match &mut self.what {
            What::Field(change) => self.is_asked = world.make_change(self.owner, change, way)?,
            What::Fields(migrated) => {
                migrated.apply(world, self.owner, way)?;
                self.is_asked = true;
            }
            What::Spawn(_) if is_redo => world.unpark(self.object()?)?,
            What::Spawn(_) => {
                let object = self.object()?;
                world.park(object)?;
                // One that is made in its place is called as it was: it cannot come back behind that.
                world.give_names_away(object);
            }
            What::Delete(_) if is_redo => world.park(self.object()?)?,
            What::Delete(_) => world.unpark(self.object()?)?,
            What::Attach(_) | What::Detach(_) => {
                let object = self.object()?;
                let puts = matches!(self.what, What::Attach(_)) == is_redo;
                let (What::Attach(change) | What::Detach(change)) = &mut self.what else {
                    return Ok(());
                };
                if puts { change.put(world, object)? } else { change.take(world, object)? }
            }
            What::Rename { old, new } => {
                let name = if is_redo { new.clone() } else { old.clone() };
                world.check_editable()?;
                world.rename_to(self.object()?, &name)?;
            }
            What::Move { old, new } => {
                let Place { parent, index } = if is_redo { *new } else { *old };
                let index = usize::try_from(index).unwrap_or(usize::MAX);
                world.check_editable()?;
                world.set_parent_at(self.object()?, parent, index)?;
            }
            What::Activity { old, new } => {
                let activity = if is_redo { *new } else { *old };
                world.check_editable()?;
                world.put_activity(self.object()?, activity)?;
            }
            What::InsertResource(change) => {
                world.check_editable()?;
                match way {
                    Way::Redo => change.insert(world),
                    Way::Undo => {
                        change.new = Some(change.take(world)?);
                        change.put_back(world);
                    }
                }
            }
            What::RemoveResource(change) => {
                world.check_editable()?;
                match way {
                    Way::Redo => change.old = Some(change.take(world)?),
                    Way::Undo => {
                        change.new = world.take_resource(&change.class);
                        change.put_back(world);
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether the world may stay as it is after an undo or a redo of the whole entry.
    pub(crate) fn check(&self, world: &mut World) -> Result<()> {
        match self.class().filter(|_| self.is_asked) {
            Some(class) => world.check_valid(self.owner, class),
            None => Ok(()),
        }
    }

    /// Undoes or redoes the change of a number, without code of the program's; false if it is another change.
    pub(crate) fn put_number(&mut self, world: &mut World, way: Way) -> bool {
        let is_put = match (&self.what, self.owner) {
            (What::Field(change), Owner::Object(object)) if world.is_still() => {
                world.put_number(object, change, way)
            }
            _ => false,
        };
        // It is of a component that nobody is to be asked about.
        self.is_asked &= !is_put;
        is_put
    }

    /// True if [`check`](Self::check) may refuse.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Takes in a change that followed this one; true if both together do nothing, and `None` if they do not go
    /// together.
    pub(crate) fn merge(&mut self, next: &mut Self) -> Option<bool> {
        if self.owner != next.owner {
            return None;
        }
        match (&mut self.what, &mut next.what) {
            (What::Field(one), What::Field(next)) => one.merge(next),
            (What::Fields(one), What::Fields(next)) => one.merge(next),
            _ => None,
        }
    }

    /// True if it sets fields, which are independent of others but those that it [meets](Self::meets).
    pub(crate) fn is_setting(&self) -> bool {
        match &self.what {
            What::Field(change) => change.is_setting(),
            What::Fields(migrated) => migrated.set.is_some(),
            _ => false,
        }
    }

    /// True if it may change something that another one changes.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        match (&self.what, &other.what) {
            (What::Field(one), What::Field(other_field)) if other.is_setting() => {
                self.owner == other.owner && one.path.meets(&other_field.path)
            }
            (What::Fields(one), What::Fields(other_fields)) => {
                self.owner == other.owner && one.meets(other_fields)
            }
            _ => true,
        }
    }

    /// Releases what it holds out of the world, which does not come back.
    pub(crate) fn discard(&mut self, world: &mut World, is_applied: bool) {
        let Owner::Object(object) = self.owner else {
            if let What::InsertResource(change) | What::RemoveResource(change) = &mut self.what {
                (change.old, change.new) = (None, None);
            }
            return;
        };
        match &mut self.what {
            What::Spawn(_) if !is_applied && world.is_parked(object) => drop(world.remove(object)),
            What::Delete(_) if is_applied && world.is_parked(object) => drop(world.remove(object)),
            What::Attach(change) | What::Detach(change) => {
                if let Some(out) = change.out.take() {
                    world.discard_component(object, out);
                }
            }
            _ => {}
        }
    }

    /// Whether something may be released when it is dropped for good.
    pub(crate) fn has_end(&self) -> bool {
        !matches!(
            self.what,
            What::Field(_)
                | What::Fields(_)
                | What::Rename { .. }
                | What::Move { .. }
                | What::Activity { .. }
        )
    }

    /// Bytes of memory that it takes besides its own size, roughly.
    pub(crate) fn size(&self) -> usize {
        match &self.what {
            What::Field(change) => change.how.held(),
            What::Fields(migrated) => migrated.size(),
            What::Attach(_) | What::Detach(_) => size_of::<ComponentChange>(),
            What::InsertResource(change) | What::RemoveResource(change) => {
                size_of::<ResourceChange>() + change.class.len()
            }
            _ => 0,
        }
    }

    /// Bytes of what it keeps out of the world.
    pub(crate) fn held(&self, world: &World, is_applied: bool) -> usize {
        match (&self.what, self.owner) {
            // Else another change has parked it, which counts it.
            (What::Spawn(_), Owner::Object(object)) if !is_applied => world.parked_size(object),
            (What::Delete(_), Owner::Object(object)) if is_applied => world.parked_size(object),
            (What::Attach(change) | What::Detach(change), _) => {
                change.out.as_ref().map_or(0, |out| world.component_size(out))
            }
            (What::InsertResource(change) | What::RemoveResource(change), _) => {
                let held = [&change.old, &change.new].into_iter().flatten();
                held.map(|held| world.resource_size(held)).sum()
            }
            _ => 0,
        }
    }

    /// The class that it is about.
    pub(crate) fn class(&self) -> Option<&str> {
        match &self.what {
            What::Field(change) => Some(change.path.class()),
            // One without fields is about none any more.
            What::Fields(migrated) => migrated.fields.first().map(|field| field.path.class()),
            What::Attach(change) | What::Detach(change) => Some(&change.class),
            What::InsertResource(change) | What::RemoveResource(change) => Some(&change.class),
            _ => None,
        }
    }

    /// True if it changes fields of a component or a resource that stays.
    pub(crate) fn is_of_fields(&self) -> bool {
        matches!(self.what, What::Field(_) | What::Fields(_))
    }

    /// What a journal keeps of it, or a file.
    pub(crate) fn stored(&mut self, world: &World, moment: Moment) -> Result<Self> {
        let is_done = moment == Moment::Done;
        let what = match &mut self.what {
            What::Field(change) => What::Field(change.clone()),
            What::Fields(migrated) => What::Fields(migrated.clone()),
            What::Spawn(Spawned::Plain(parent)) if is_done => What::Spawn(Spawned::Plain(*parent)),
            What::Spawn(Spawned::Copy(content)) if is_done => {
                What::Spawn(Spawned::Copy(content.take()))
            }
            What::Spawn(_) => {
                let is_out = moment == Moment::Undone;
                let object = self.object()?;
                let content = is_out.then(|| world.fragment(object)).transpose()?;
                What::Spawn(Spawned::Copy(content))
            }
            What::Delete(_) => {
                let is_out = moment == Moment::Applied;
                let object = self.object()?;
                What::Delete(is_out.then(|| world.fragment(object)).transpose()?)
            }
            What::Attach(change) => {
                let known = if is_done { change.content.take() } else { None };
                What::Attach(change.stored(world, moment, known)?)
            }
            // What was detached a program needs that has its class in another form.
            What::Detach(change) => What::Detach(change.stored(world, moment, None)?),
            What::Rename { old, new } => What::Rename { old: old.clone(), new: new.clone() },
            What::Move { old, new } => What::Move { old: *old, new: *new },
            What::Activity { old, new } => What::Activity { old: *old, new: *new },
            What::InsertResource(change) => {
                let known = if is_done { change.new_content.take() } else { None };
                What::InsertResource(change.stored(world, moment, known)?)
            }
            What::RemoveResource(change) => {
                What::RemoveResource(change.stored(world, moment, None)?)
            }
        };
        Ok(Self { owner: self.owner, name: self.name.clone(), what, is_asked: false })
    }

    /// Makes it what it was when it was [stored](Self::stored); its bytes are of the program's own classes. One that was
    /// [done](Moment::Done) is ready to be redone.
    ///
    /// If this fails, the world may have parked objects more.
    pub(crate) fn restore(&mut self, world: &mut World, moment: Moment) -> Result<()> {
        // When it has just been done, what it took out is still there.
        let is_out = moment != Moment::Done;
        match &mut self.what {
            What::Spawn(Spawned::Plain(parent)) => {
                let parent = *parent;
                let name = self.name.clone().ok_or_else(|| wrong("an object without a name"))?;
                world.park_new(self.object()?, &name, parent)?;
                self.what = What::Spawn(Spawned::Copy(None));
            }
            What::Spawn(Spawned::Copy(content)) => {
                let content = content.take();
                if !matches!(moment, Moment::Applied | Moment::Spilled) {
                    let object = self.object()?;
                    park(world, object, content.as_ref())?;
                    world.give_names_away(object);
                }
            }
            What::Delete(content) => {
                let content = content.take();
                if moment == Moment::Applied {
                    park(world, self.object()?, content.as_ref())?;
                }
            }
            What::Attach(change) => change.restore(world, true)?,
            What::Detach(change) => change.restore(world, is_out)?,
            What::InsertResource(change) => {
                change.restore(world, is_out)?;
                if change.new.is_none() && moment != Moment::Applied {
                    return Err(wrong("a resource without its content"));
                }
            }
            What::RemoveResource(change) => {
                change.restore(world, is_out)?;
                if change.old.is_none() && moment == Moment::Applied {
                    return Err(wrong("a resource without its content"));
                }
            }
            _ => {}
        }
        // Of a resource it has none to be called by.
        match (&self.what, self.owner) {
            (What::InsertResource(_) | What::RemoveResource(_), Owner::Object(_)) => {
                Err(wrong("a resource of an object"))
            }
            (What::Field(_) | What::Fields(_), _)
            | (What::InsertResource(_) | What::RemoveResource(_), _) => Ok(()),
            _ => self.object().map(drop),
        }
    }

    /// The bytes of a component or a resource, of a class of a layout, with the changes of its fields made in them.
    pub(crate) fn in_bytes(
        &self,
        class: (&Stored, usize),
        bytes: &[u8],
        way: Way,
    ) -> Result<Vec<u8>> {
        match &self.what {
            What::Field(change) => change.in_bytes(class, bytes, way),
            What::Fields(migrated) => {
                let make = |bytes: Vec<u8>, field: &FieldChange| field.in_bytes(class, &bytes, way);
                migrated.ordered(way).into_iter().try_fold(bytes.to_vec(), make)
            }
            _ => Ok(bytes.to_vec()),
        }
    }

    /// Replaces a change of fields by what it is on today's types.
    pub(crate) fn migrate(&mut self, fields: Vec<FieldChange>) {
        let (path, set) = match &self.what {
            What::Field(change) => (change.path.clone(), Ends::of(change)),
            What::Fields(migrated) => (migrated.path.clone(), migrated.set.clone()),
            _ => return,
        };
        self.what = What::Fields(Box::new(Migrated { path, set, fields }));
    }

    /// What of whole components or resources is in it, by class and bytes: what it takes out, and what it puts in.
    pub(crate) fn contents(&mut self) -> (Option<Content<'_>>, Option<Content<'_>>) {
        fn component(content: &mut Option<ComponentContent>) -> Option<Content<'_>> {
            content.as_mut().map(|content| (&mut content.class, &mut content.bytes))
        }
        fn resource(content: &mut Option<ResourceContent>) -> Option<Content<'_>> {
            content.as_mut().map(|content| (&mut content.class, &mut content.bytes))
        }
        match &mut self.what {
            What::Attach(change) => (None, component(&mut change.content)),
            What::Detach(change) => (component(&mut change.content), None),
            What::InsertResource(change) | What::RemoveResource(change) => {
                (resource(&mut change.old_content), resource(&mut change.new_content))
            }
            _ => (None, None),
        }
    }

    /// Gives the class of a component or a resource that comes or goes the name that it has in the program.
    pub(crate) fn rename_class(&mut self, name: &str) {
        match &mut self.what {
            What::Attach(change) | What::Detach(change) => name.clone_into(&mut change.class),
            What::InsertResource(change) | What::RemoveResource(change) => {
                name.clone_into(&mut change.class);
            }
            _ => {}
        }
    }
}

/// The name of an object, for labels.
fn name_of(world: &World, owner: Owner) -> Option<Arc<str>> {
    match owner {
        Owner::Object(object) => world.shared_name(object),
        Owner::Resource => None,
    }
}

impl ComponentChange {
    fn put(&mut self, world: &mut World, object: ObjectId) -> Result<()> {
        let Some(out) = self.out.take() else {
            return Err(Error::new(ErrorKind::NotFound, "the component is in its object"));
        };
        match world.put_component(object, out) {
            Ok(replaced) => {
                self.replaced = replaced;
                Ok(())
            }
            Err(refused) => {
                let (error, out) = *refused;
                self.out = Some(out);
                Err(error)
            }
        }
    }

    fn take(&mut self, world: &mut World, object: ObjectId) -> Result<()> {
        self.out = Some(world.take_component(object, &self.class)?);
        world.put_replaced(object, mem::take(&mut self.replaced));
        Ok(())
    }

    fn stored(
        &self,
        world: &World,
        moment: Moment,
        known: Option<ComponentContent>,
    ) -> Result<Box<Self>> {
        if moment == Moment::Spilled {
            return Err(stays());
        }
        let content = match (&self.out, known) {
            (_, Some(known)) => Some(known),
            (Some(out), None) => Some(world.component_content(out)?),
            (None, None) => None,
        };
        let class = self.class.clone();
        Ok(Box::new(Self { class, out: None, content, replaced: Replaced::default() }))
    }

    fn restore(&mut self, world: &World, is_out: bool) -> Result<()> {
        let content = self.content.take().filter(|_| is_out);
        self.out = content.map(|content| world.component_from(&content)).transpose()?;
        match &self.out {
            Some(out) if out.class() != self.class => {
                Err(wrong("a component of another class than its step"))
            }
            _ => Ok(()),
        }
    }
}

impl ResourceChange {
    fn of(class: String) -> Self {
        let replaced = ReplacedResources::default();
        Self { class, old: None, new: None, old_content: None, new_content: None, replaced }
    }

    /// Takes the resource out that must be there.
    fn take(&self, world: &mut World) -> Result<TakenResource> {
        world.take_resource(&self.class).ok_or_else(|| {
            let message = format!("there is no resource {} any more; insert one", self.class);
            Error::new(ErrorKind::NotFound, message)
        })
    }

    /// Puts in what it put in first.
    fn insert(&mut self, world: &mut World) {
        self.old = world.take_resource(&self.class);
        if let Some(new) = self.new.take() {
            self.replaced = world.replace_resources(&self.class);
            world.put_resource(new);
        }
    }

    /// Puts back what was there before.
    fn put_back(&mut self, world: &mut World) {
        if let Some(old) = self.old.take() {
            world.put_resource(old);
        }
        world.put_replaced_resources(mem::take(&mut self.replaced));
    }

    fn stored(
        &self,
        world: &World,
        moment: Moment,
        known: Option<ResourceContent>,
    ) -> Result<Box<Self>> {
        if moment == Moment::Spilled {
            return Err(stays());
        }
        let content = |held: &Option<TakenResource>| {
            held.as_ref().map(|held| world.resource_content(held)).transpose()
        };
        let old_content = content(&self.old)?;
        let new_content = match known {
            Some(known) => Some(known),
            None => content(&self.new)?,
        };
        Ok(Box::new(Self { old_content, new_content, ..Self::of(self.class.clone()) }))
    }

    fn restore(&mut self, world: &World, is_out: bool) -> Result<()> {
        let restore = |content: Option<ResourceContent>| {
            content.map(|content| world.resource_from(&content)).transpose()
        };
        self.old = restore(self.old_content.take().filter(|_| is_out))?;
        self.new = restore(self.new_content.take())?;
        Ok(())
    }
}

impl Ends {
    fn of(change: &FieldChange) -> Option<Self> {
        match &change.how {
            crate::fields::How::Set { old, new } => {
                Some(Self { old: old.clone(), new: new.clone() })
            }
            _ => None,
        }
    }
}

impl Migrated {
    /// The fields in the order in which they are set.
    fn ordered(&self, way: Way) -> Vec<&FieldChange> {
        let mut fields: Vec<&FieldChange> = self.fields.iter().collect();
        if way == Way::Undo {
            fields.reverse();
        }
        fields
    }

    /// Sets the fields; if one refuses, those before it are put back.
    fn apply(&self, world: &mut World, owner: Owner, way: Way) -> Result<(), Refused> {
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
    fn merge(&mut self, next: &mut Self) -> Option<bool> {
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

    fn meets(&self, other: &Self) -> bool {
        let paths = || other.fields.iter().map(|field| &field.path);
        let meets = |field: &FieldChange| paths().any(|path| path.meets(&field.path));
        self.path.meets(&other.path) || self.fields.iter().any(meets)
    }

    fn size(&self) -> usize {
        let bytes: usize = self.fields.iter().map(|field| field.how.held()).sum();
        size_of::<Self>() + size_of_val(&*self.fields) + bytes
    }
}

/// Parks what is not in the world.
fn park(world: &mut World, object: ObjectId, content: Option<&Fragment>) -> Result<()> {
    match content {
        Some(content) if content.object() == object => world.park_fragment(content),
        _ => Err(wrong("an object without its content")),
    }
}

#[cold]
fn stays() -> Error {
    Error::new(ErrorKind::Unsupported, "what it holds while it is out of the world stays in memory")
}

#[cold]
fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::Damaged, format!("the journal has {what}; it is damaged or made to harm"))
}
