//! Components and resources that are detached, and may come back as they were.

use std::mem;

use super::object::{KeptComponent, Owner};
use super::recorded::{content_size, decode_boxed};
use super::resources::{AnyResource, Movable};
use super::world::{AnyComponent, Component, World};
use crate::codec::{Pointee, Portable, TraitObject as _};
use crate::fields::{awaken, content_of, validate};
use crate::{Error, ErrorKind, ObjectId, Persist, Result};

/// The index of a component among those of its object, and whether it was started.
pub(crate) type ComponentPlace = (u64, bool);

/// When a change is stored, which says what of it is in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeState {
    /// It has just been done, and must be redone where it has not been.
    Done,
    Applied,
    Undone,
    /// It is one or the other, and what is out of the world stays where it is, in this process.
    Spilled,
}

/// A component or a resource that comes into a world or leaves it: alive while it is out, and as data for a journal.
///
/// It may come back into another world, whose columns are others.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.Detached")]
pub(crate) struct Detached {
    class: String,
    /// Its content for a journal: where it is out of the world, or has just come into it.
    content: Option<Vec<u8>>,
    slot: ComponentSlot,
    /// While it is out of the world.
    #[persist(skip)]
    live: Option<Live>,
    /// What of its class the program did not have when the world was loaded: out, with its indexes, while this is there.
    #[persist(skip)]
    replaced: Vec<(usize, KeptComponent)>,
}

/// Where a component is among those of its object.
#[derive(crate::Persist, Clone, Default)]
#[persist(crate = crate, class = "persist.Slot")]
struct ComponentSlot {
    /// How many are before it; none if it is to be the last.
    position: Option<u64>,
    is_started: bool,
    /// How many are before each one that the program does not know.
    before_unknown: Vec<u64>,
}

enum Live {
    Component(Box<dyn AnyComponent>),
    Resource(Box<dyn AnyResource>),
}

impl Live {
    fn portable(&self) -> &dyn Portable {
        match self {
            Self::Component(component) => (**component).portable(),
            Self::Resource(resource) => (**resource).portable(),
        }
    }

    fn portable_mut(&mut self) -> &mut dyn Portable {
        match self {
            Self::Component(component) => (**component).portable_mut(),
            Self::Resource(resource) => (**resource).portable_mut(),
        }
    }
}

impl Detached {
    fn new(class: String, live: Option<Live>) -> Self {
        Self { class, content: None, slot: ComponentSlot::default(), live, replaced: Vec::new() }
    }

    /// A component that has not been in an object.
    pub(crate) fn component<T: Component>(component: T) -> Self {
        Self::new(T::persist_name(), Some(Live::Component(Box::new(component))))
    }

    pub(crate) fn empty_component(world: &World, class: &str) -> Result<Self> {
        let of = &world.columns[world.column_of_class(class)?].of;
        Ok(Self::new((of.name)(), Some(Live::Component((of.make)(&world.registry)?))))
    }

    /// A resource that has not been in a world.
    pub(crate) fn resource<T: Persist + Pointee + Movable>(value: T) -> Self {
        Self::new(T::persist_name(), Some(Live::Resource(Box::new(value))))
    }

    /// What is in the world, to be taken out by [`take`](Self::take).
    pub(super) fn there(class: String) -> Self {
        Self::new(class, None)
    }

    pub(crate) fn class(&self) -> &str {
        &self.class
    }

    /// Gives its class the name that it has in the program.
    pub(crate) fn set_class(&mut self, class: &str) {
        class.clone_into(&mut self.class);
    }

    /// Its content, in the bytes of the program that recorded it.
    pub(crate) fn content(&self) -> Option<&[u8]> {
        self.content.as_deref()
    }

    /// Its place among all components of its object, if it was there.
    pub(crate) fn place(&self) -> Option<ComponentPlace> {
        let ComponentSlot { position, is_started, before_unknown } = &self.slot;
        let position = (*position)?;
        let unknown = before_unknown.iter().filter(|before| **before <= position).count();
        Some((position.saturating_add(unknown as u64), *is_started))
    }

    pub(crate) fn content_mut(&mut self) -> Option<&mut Vec<u8>> {
        self.content.as_mut()
    }

    pub(crate) fn check(&mut self, world: &World) -> Result<()> {
        match &mut self.live {
            Some(live) => validate(live.portable_mut(), &world.registry)
                .map_err(|error| error.in_class(&*self.class)),
            None => Ok(()),
        }
    }

    /// Keeps its content for a journal, before it comes into the world.
    pub(super) fn keep_content(&mut self, world: &World) -> Result<()> {
        self.content = self.encoded(world)?;
        Ok(())
    }

    fn encoded(&self, world: &World) -> Result<Option<Vec<u8>>> {
        self.live.as_ref().map(|live| content_of(&world.registry, live.portable())).transpose()
    }

    /// Puts it into its place, where none of its class may be, but what the program did not have when it was loaded:
    /// this is replaced.
    pub(super) fn put(&mut self, world: &mut World, owner: Owner) -> Result<()> {
        world.check_idle()?;
        let class = &self.class;
        if let Owner::Object(object) = owner {
            world.check(object)?;
        }
        if world.has(owner, class) {
            let message = match owner {
                Owner::Object(_) => {
                    format!("the object has another {class}; detach that first")
                }
                Owner::Resource => format!("there is another resource {class}; remove that first"),
            };
            return Err(owner.locate(Error::new(ErrorKind::AlreadyExists, message)));
        }
        self.replaced = match (owner, self.live.take()) {
            (Owner::Object(object), Some(Live::Component(component))) => {
                self.slot.put(world, object, component, class)
            }
            (_, Some(Live::Resource(resource))) => {
                let kept = |content| KeptComponent { before: 0, is_started: false, content };
                let World { registry, resources, .. } = world;
                let replaced = taken_out(&mut resources.unknown, |kept| {
                    registry.is_called(class, kept.class())
                });
                resources.insert(resource);
                replaced.into_iter().map(|(at, content)| (at, kept(content))).collect()
            }
            _ => {
                let message = format!("{class} is in its place already");
                return Err(owner.locate(Error::new(ErrorKind::NotFound, message)));
            }
        };
        Ok(())
    }

    /// Takes it out without releasing it, and puts back what it had replaced.
    pub(super) fn take(&mut self, world: &mut World, owner: Owner) -> Result<()> {
        world.check_idle()?;
        match owner {
            Owner::Object(object) => {
                let (component, slot) = ComponentSlot::take(world, object, &self.class)?;
                (self.live, self.slot) = (Some(Live::Component(component)), slot);
                let replaced = mem::take(&mut self.replaced);
                if let Some(found) = world.object_mut(object).filter(|_| !replaced.is_empty()) {
                    put_in(found.unknown_list(), replaced.into_iter());
                }
            }
            Owner::Resource => {
                let at = world.resources.position(&self.class).ok_or_else(|| {
                    let message =
                        format!("there is no resource {} any more; insert one", self.class);
                    Error::new(ErrorKind::NotFound, message)
                })?;
                self.live = Some(Live::Resource(world.resources.values.remove(at).2));
                let replaced = mem::take(&mut self.replaced).into_iter();
                let unknown = &mut world.resources.unknown;
                put_in(unknown, replaced.map(|(at, kept)| (at, kept.content)));
            }
        }
        Ok(())
    }

    /// Releases it if it is out, since it does not come back.
    pub(super) fn discard(&mut self, world: &mut World, owner: Owner) {
        if let (Owner::Object(object), Some(Live::Component(component))) = (owner, self.live.take())
        {
            let column = world.new_column((*component).__component_type());
            world.release(object, column, component);
        }
    }

    /// Bytes that it takes while it is out, roughly.
    pub(super) fn held(&self, world: &World) -> usize {
        self.live
            .as_ref()
            .map_or(0, |live| size_of::<Self>() + content_size(&world.registry, live.portable()))
    }

    /// What a journal keeps of it; one that has just come into the world has its content from before that.
    pub(super) fn stored(&mut self, world: &World, change_state: ChangeState) -> Result<Box<Self>> {
        if change_state == ChangeState::Spilled {
            bail!(
                ErrorKind::Unsupported,
                "what it holds while it is out of the world stays in memory"
            );
        }
        let content = match self.content.take().filter(|_| change_state == ChangeState::Done) {
            Some(content) => Some(content),
            None => self.encoded(world)?,
        };
        let slot = self.slot.clone();
        Ok(Box::new(Self { content, slot, ..Self::there(self.class.clone()) }))
    }

    /// Makes it alive if it is out; its content is of the program's own class. False if it should be, and has none.
    pub(super) fn restore(&mut self, world: &World, owner: Owner, is_out: bool) -> Result<bool> {
        let Some(content) = self.content.take().filter(|_| is_out) else { return Ok(!is_out) };
        let class = &self.class;
        let mut live = match owner {
            Owner::Object(_) => Live::Component(decode_boxed(&world.registry, class, &content)?),
            Owner::Resource => Live::Resource(decode_boxed(&world.registry, class, &content)?),
        };
        awaken(live.portable_mut(), &world.registry).map_err(|error| error.in_class(&**class))?;
        self.live = Some(live);
        Ok(true)
    }
}

impl ComponentSlot {
    /// Takes a component out of its object, with its place there.
    fn take(
        world: &mut World,
        object: ObjectId,
        class: &str,
    ) -> Result<(Box<dyn AnyComponent>, Self)> {
        let found = world.check(object)?;
        let column = world.column_of_class(class)?;
        let columns = world.shapes.columns(found.shape);
        let position = columns.iter().position(|other| *other == column);
        let before_unknown = found.unknown().iter().map(|kept| kept.before as u64).collect();
        let is_started = position.is_some_and(|position| position < usize::from(found.started));
        let component = position.and_then(|_| world.take_out(object, column));
        let component = component.ok_or_else(|| {
            let message = format!("the object has no {class}; attach one");
            Error::new(ErrorKind::NotFound, message).in_object(object.get())
        })?;
        let position = position.map(|position| position as u64);
        Ok((component, Self { position, is_started, before_unknown }))
    }

    /// Puts a component into its place among those of an object; returns what it has replaced.
    fn put(
        &self,
        world: &mut World,
        object: ObjectId,
        component: Box<dyn AnyComponent>,
        class: &str,
    ) -> Vec<(usize, KeptComponent)> {
        let column = world.new_column((*component).__component_type());
        let (shapes, registry) = (&mut world.shapes, &world.registry);
        let mut replaced = Vec::new();
        let location = world.directory.location(object);
        if let Some(found) = location.and_then(|location| world.objects.get_mut(location)) {
            let mut columns = shapes.columns(found.shape).to_vec();
            let position = self.position.and_then(|position| usize::try_from(position).ok());
            let position = position.unwrap_or(usize::MAX);
            // What has been started is before what has not, also if others were while it was away.
            let position = match self.is_started {
                true => position.min(found.started.into()),
                false => position.clamp(found.started.into(), columns.len()),
            };
            columns.insert(position, column);
            found.shape = shapes.of(&columns);
            found.started += u16::from(self.is_started);
            if !found.unknown().is_empty() {
                replaced = taken_out(found.unknown_list(), |kept| {
                    registry.is_called(class, kept.content.class())
                });
            }
            let kept = found.unknown_mut().iter_mut();
            if kept.len() == self.before_unknown.len() {
                let before = self.before_unknown.iter();
                let before = before.map(|before| usize::try_from(*before).unwrap_or(usize::MAX));
                kept.zip(before).for_each(|(kept, before)| kept.before = before);
            }
            world.waiting.push(object);
        }
        world.put(column, object, component);
        replaced
    }
}

/// Takes out some values, with their indexes.
fn taken_out<T>(values: &mut Vec<T>, is_it: impl Fn(&T) -> bool) -> Vec<(usize, T)> {
    let (out, kept): (Vec<_>, Vec<_>) =
        mem::take(values).into_iter().enumerate().partition(|(_, value)| is_it(value));
    values.extend(kept.into_iter().map(|(_, value)| value));
    out
}

/// Puts values back to their indexes.
fn put_in<T>(values: &mut Vec<T>, out: impl Iterator<Item = (usize, T)>) {
    for (index, value) in out {
        values.insert(index.min(values.len()), value);
    }
}
