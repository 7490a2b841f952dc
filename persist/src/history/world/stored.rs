//! The steps of worlds as a journal has them.

use std::rc::Rc;

use super::component::ComponentChange;
use super::element::{ListChange, ListEdit};
use super::fields::FieldsChange;
use super::object::{Creation, Deletion, Made};
use super::place::{Aspect, ObjectChange};
use super::resource::ResourceChange;
use super::setting::Setting;
use crate::history::step::BoxedStep;
use crate::world::{Activity, ComponentContent, Fragment, Owner, ResourceContent};
use crate::{Error, ErrorKind, ObjectId, Result, World};

/// When a step is stored, which says what of it is in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::history) enum Moment {
    /// It has just been done, and must be redone where it has not been.
    Done,
    /// It is applied.
    Applied,
    /// It is undone.
    Undone,
    /// It is one or the other, and what is out of the world stays where it is, in this process.
    Spilled,
}

/// A step of a world.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.WorldStep")]
pub(in crate::history) struct StoredWorldStep {
    /// None is a resource.
    pub(in crate::history) object: Option<ObjectId>,
    /// Its name then.
    pub(in crate::history) name: Option<String>,
    pub(in crate::history) change: StoredChange,
}

/// What a step does.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.WorldChange")]
pub(in crate::history) enum StoredChange {
    Set { path: String, old: Vec<u8>, new: Vec<u8> },
    Insert { path: String, index: u64, bytes: Vec<u8> },
    Remove { path: String, index: u64, bytes: Vec<u8> },
    Move { path: String, from: u64, to: u64 },
    Spawn { parent: Option<ObjectId> },
    Create { content: Option<Fragment> },
    Delete { content: Option<Fragment> },
    Attach { class: String, content: Option<ComponentContent> },
    Detach { class: String, content: Option<ComponentContent> },
    Name { old: String, new: String },
    Place { old: StoredPlace, new: StoredPlace },
    Activity { old: Activity, new: Activity },
    InsertResource { class: String, old: Option<ResourceContent>, new: Option<ResourceContent> },
    RemoveResource { class: String, content: Option<ResourceContent> },
    Fields { path: String, key: Option<StoredKey>, is_setting: bool, fields: Vec<StoredField> },
}

/// A field with its bytes before and after.
#[derive(crate::Persist, Clone)]
#[persist(crate = crate, class = "persist.WorldField")]
pub(in crate::history) struct StoredField {
    pub(in crate::history) path: String,
    pub(in crate::history) old: Vec<u8>,
    pub(in crate::history) new: Vec<u8>,
}

/// What another program has changed, in its bytes: by it steps are merged as they were there.
#[derive(crate::Persist, Clone)]
#[persist(crate = crate, class = "persist.WorldKey")]
pub(in crate::history) struct StoredKey {
    pub(in crate::history) old: Vec<u8>,
    pub(in crate::history) new: Vec<u8>,
}

#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.WorldPlace")]
pub(in crate::history) struct StoredPlace {
    parent: Option<ObjectId>,
    index: u64,
}

fn stored(
    object: Option<ObjectId>,
    name: Option<&Rc<str>>,
    change: StoredChange,
) -> StoredWorldStep {
    StoredWorldStep { object, name: name.map(ToString::to_string), change }
}

impl Setting {
    pub(super) fn stored(&self) -> StoredWorldStep {
        let (path, old, new) = (self.path.to_string(), self.old.to_vec(), self.new.to_vec());
        let change = StoredChange::Set { path, old, new };
        stored(super::object_of(self.owner), self.name.as_ref(), change)
    }
}

impl ListChange {
    pub(super) fn stored(&self) -> StoredWorldStep {
        let path = self.path.to_string();
        let change = match &self.how {
            ListEdit::Insert(index, bytes) => {
                StoredChange::Insert { path, index: *index, bytes: bytes.to_vec() }
            }
            ListEdit::Remove(index, bytes) => {
                StoredChange::Remove { path, index: *index, bytes: bytes.to_vec() }
            }
            ListEdit::Move(from, to) => StoredChange::Move { path, from: *from, to: *to },
        };
        stored(super::object_of(self.owner), self.name.as_ref(), change)
    }
}

impl Creation {
    pub(super) fn stored(&mut self, world: &World, moment: Moment) -> Result<StoredWorldStep> {
        let change = match (moment, &mut self.made) {
            (Moment::Done, Made::Plain(parent)) => StoredChange::Spawn { parent: *parent },
            (Moment::Done, Made::Copy(content)) => StoredChange::Create { content: content.take() },
            (Moment::Done, Made::Known) | (Moment::Applied | Moment::Spilled, _) => {
                StoredChange::Create { content: None }
            }
            (Moment::Undone, _) => {
                StoredChange::Create { content: Some(world.fragment(self.object)?) }
            }
        };
        Ok(stored(Some(self.object), self.name.as_ref(), change))
    }
}

impl Deletion {
    pub(super) fn stored(&self, world: &World, moment: Moment) -> Result<StoredWorldStep> {
        let is_out = moment == Moment::Applied;
        let content = is_out.then(|| world.fragment(self.object)).transpose()?;
        Ok(stored(Some(self.object), self.name.as_ref(), StoredChange::Delete { content }))
    }
}

impl ComponentChange {
    pub(super) fn stored(&mut self, world: &World, moment: Moment) -> Result<StoredWorldStep> {
        if moment == Moment::Spilled {
            return Err(stays());
        }
        let class = self.class.class().to_owned();
        let held = self.held.as_ref().map(|held| world.component_content(held));
        let content = match moment {
            Moment::Done if self.is_attached => self.content.take(),
            // What was detached a program needs that has its class in another form.
            _ => held.transpose()?,
        };
        let change = match self.is_attached {
            true => StoredChange::Attach { class, content },
            false => StoredChange::Detach { class, content },
        };
        Ok(stored(Some(self.object), self.name.as_ref(), change))
    }
}

impl ObjectChange {
    pub(super) fn stored(&self) -> StoredWorldStep {
        let change = match (&self.old, &self.new) {
            (Aspect::Name(old), Aspect::Name(new)) => {
                StoredChange::Name { old: old.to_string(), new: new.to_string() }
            }
            (Aspect::Activity(old), Aspect::Activity(new)) => {
                StoredChange::Activity { old: *old, new: *new }
            }
            (old, new) => StoredChange::Place { old: place(old), new: place(new) },
        };
        stored(Some(self.object), self.name.as_ref(), change)
    }
}

fn place(aspect: &Aspect) -> StoredPlace {
    match aspect {
        Aspect::Place(parent, index) => StoredPlace { parent: *parent, index: *index as u64 },
        _ => StoredPlace { parent: None, index: 0 },
    }
}

impl ResourceChange {
    pub(super) fn stored(&mut self, world: &World, moment: Moment) -> Result<StoredWorldStep> {
        if moment == Moment::Spilled {
            return Err(stays());
        }
        let class = self.class.clone();
        let content =
            |held: &Option<_>| held.as_ref().map(|held| world.resource_content(held)).transpose();
        let is_done = moment == Moment::Done;
        let old = content(&self.old)?;
        let change = match self.is_inserted {
            true => {
                let new = if is_done { self.content.take() } else { content(&self.new)? };
                StoredChange::InsertResource { class, old, new }
            }
            false => StoredChange::RemoveResource { class, content: old },
        };
        Ok(stored(None, None, change))
    }
}

impl StoredWorldStep {
    /// The step, whose bytes are of the program's own classes. One that was [done](Moment::Done) is ready to be redone.
    ///
    /// If this fails, the world may have parked objects more.
    pub(in crate::history) fn restore(
        self,
        world: &mut World,
        moment: Moment,
    ) -> Result<BoxedStep<World>> {
        let name: Option<Rc<str>> = self.name.map(Rc::from);
        // When it has just been done, what it took out is still there.
        let is_out = moment != Moment::Done;
        let owner = self.object.map_or(Owner::Resource, Owner::Object);
        let object = || self.object.ok_or_else(|| wrong("a step of an object without one"));
        let list = |path: String, how, name| -> Result<BoxedStep<World>> {
            Ok(Box::new(ListChange { owner, path: path.parse()?, how, name }))
        };
        let aspects = |object, old, new, name| -> Result<BoxedStep<World>> {
            Ok(Box::new(ObjectChange { object, old, new, name }))
        };
        Ok(match self.change {
            StoredChange::Set { path, old, new } => {
                let bytes = (old.into(), new.into());
                Box::new(Setting::new(owner, path.parse()?, bytes, name))
            }
            StoredChange::Insert { path, index, bytes } => {
                list(path, ListEdit::Insert(index, bytes.into()), name)?
            }
            StoredChange::Remove { path, index, bytes } => {
                list(path, ListEdit::Remove(index, bytes.into()), name)?
            }
            StoredChange::Move { path, from, to } => list(path, ListEdit::Move(from, to), name)?,
            StoredChange::Spawn { parent } => {
                let object = object()?;
                let named = name.clone().ok_or_else(|| wrong("an object without a name"))?;
                world.park_new(object, &named, parent)?;
                Box::new(Creation { object, made: Made::Known, name })
            }
            StoredChange::Create { content } => {
                let object = object()?;
                if matches!(moment, Moment::Applied | Moment::Spilled) {
                    return Ok(Box::new(Creation { object, made: Made::Known, name }));
                }
                park(world, object, content.as_ref())?;
                world.give_names_away(object);
                Box::new(Creation { object, made: Made::Known, name })
            }
            StoredChange::Delete { content } => {
                let object = object()?;
                if moment == Moment::Applied {
                    park(world, object, content.as_ref())?;
                }
                Box::new(Deletion { object, name })
            }
            StoredChange::Attach { class, content } => {
                component(world, (object()?, name), (class, content), true)?
            }
            StoredChange::Detach { class, content } => {
                let content = content.filter(|_| is_out);
                component(world, (object()?, name), (class, content), false)?
            }
            StoredChange::Name { old, new } => {
                aspects(object()?, Aspect::Name(old.into()), Aspect::Name(new.into()), name)?
            }
            StoredChange::Place { old, new } => {
                aspects(object()?, old.aspect(), new.aspect(), name)?
            }
            StoredChange::Activity { old, new } => {
                aspects(object()?, Aspect::Activity(old), Aspect::Activity(new), name)?
            }
            StoredChange::InsertResource { class, old, new } => {
                let old = old.filter(|_| is_out);
                let old = old.map(|content| world.resource_from(&content)).transpose()?;
                let new = new.map(|content| world.resource_from(&content)).transpose()?;
                if new.is_none() && moment != Moment::Applied {
                    return Err(wrong("a resource without its content"));
                }
                Box::new(ResourceChange::restored(class, old, new, true))
            }
            StoredChange::RemoveResource { class, content } => {
                let content = content.filter(|_| is_out);
                let old = content.map(|content| world.resource_from(&content)).transpose()?;
                if old.is_none() && moment == Moment::Applied {
                    return Err(wrong("a resource without its content"));
                }
                Box::new(ResourceChange::restored(class, old, None, false))
            }
            StoredChange::Fields { path, key, is_setting, fields } => Box::new(
                FieldsChange::restored((owner, name), path.parse()?, key, is_setting, fields)?,
            ),
        })
    }
}

impl StoredPlace {
    fn aspect(self) -> Aspect {
        Aspect::Place(self.parent, usize::try_from(self.index).unwrap_or(usize::MAX))
    }
}

/// Parks what is not in the world.
fn park(world: &mut World, object: ObjectId, content: Option<&Fragment>) -> Result<()> {
    match content {
        Some(content) if content.object() == object => world.park_fragment(content),
        _ => Err(wrong("an object without its content")),
    }
}

fn component(
    world: &World,
    (object, name): (ObjectId, Option<Rc<str>>),
    (class, content): (String, Option<ComponentContent>),
    is_attached: bool,
) -> Result<BoxedStep<World>> {
    let held = content.map(|content| world.component_from(&content)).transpose()?;
    if held.as_ref().is_some_and(|held| held.class() != class) {
        return Err(wrong("a component of another class than its step"));
    }
    let change = ComponentChange::new(world, object, class, is_attached, held);
    Ok(Box::new(ComponentChange { name, ..change }))
}

#[cold]
fn stays() -> Error {
    Error::new(ErrorKind::Unsupported, "what it holds while it is out of the world stays in memory")
}

#[cold]
fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::Damaged, format!("the journal has {what}; it is damaged or made to harm"))
}
