//! [`Detached`]: components and resources that are detached, and that an undo may attach again. `change` has the changes
//! of a world, which attach and detach them.

mod change;

use std::mem;

use crate::codec::{Pointee, Portable, TraitObject as _};
use crate::fields::{ChangeState, Owner, Sendable, awaken, content_of, validate};
use crate::world::component::{AnyComponent, Component};
use crate::world::recorded::{content_size, decode_boxed};
use crate::world::resources::AnyResource;
use crate::world::{UnknownEntry, World};
use crate::{Error, ErrorKind, ObjectId, Persist, Result};

pub use change::WorldChange;

/// The index of a component among those of its object, and whether it was started.
pub type ComponentPlace = (u64, bool);

/// A component or a resource that is attached or detached: a live value while it is detached, and bytes in a journal.
///
/// It may be attached in another world, with other columns.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.Detached")]
pub struct Detached {
    class: String,
    /// The encoded content for a journal, if it is detached or was just attached.
    content: Option<Vec<u8>>,
    slot: ComponentSlot,
    /// The value, while it is detached.
    #[persist(skip)]
    live: Option<Live>,
    /// Unknown components of the same class, with their indices, which this one replaces while it is attached. They
    /// were loaded before the class was registered.
    #[persist(skip)]
    replaced: Vec<(usize, UnknownEntry)>,
}

/// The place of a component among those of its object.
#[derive(crate::Persist, Clone, Default)]
#[persist(crate = crate, class = "persist.Slot")]
struct ComponentSlot {
    /// The number of known components before it; `None` to put it at the end.
    position: Option<u64>,
    is_started: bool,
    /// The number of known components before each unknown component of the object.
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

    /// Creates a new component.
    pub(crate) fn component<T: Component>(component: T) -> Self {
        Self::new(T::persist_name(), Some(Live::Component(Box::new(component))))
    }

    pub(crate) fn empty_component(world: &World, class: &str) -> Result<Self> {
        let of = &world.columns[world.column_of_class(class)?].of;
        Ok(Self::new((of.name)(), Some(Live::Component((of.make)(&world.registry)?))))
    }

    /// Creates a new resource.
    pub(crate) fn resource<T: Persist + Pointee + Sendable>(value: T) -> Self {
        Self::new(T::persist_name(), Some(Live::Resource(Box::new(value))))
    }

    /// Creates the record of a component or resource that is attached; [`take`](Self::take) detaches it.
    fn attached(class: String) -> Self {
        Self::new(class, None)
    }

    pub fn class(&self) -> &str {
        &self.class
    }

    /// Sets the class name, to the one that the class has in this program.
    fn set_class(&mut self, class: &str) {
        class.clone_into(&mut self.class);
    }

    /// Returns the content, encoded by the program that recorded it.
    pub fn content(&self) -> Option<&[u8]> {
        self.content.as_deref()
    }

    /// Returns the place among all components of the object, including unknown ones; `None` if it was never attached.
    pub fn place(&self) -> Option<ComponentPlace> {
        let ComponentSlot { position, is_started, before_unknown } = &self.slot;
        let position = (*position)?;
        let unknown = before_unknown.iter().filter(|preceding| **preceding <= position).count();
        Some((position.saturating_add(unknown as u64), *is_started))
    }

    fn content_mut(&mut self) -> Option<&mut Vec<u8>> {
        self.content.as_mut()
    }

    pub(crate) fn check(&mut self, world: &World) -> Result<()> {
        match &mut self.live {
            Some(live) => validate(live.portable_mut(), &world.registry)
                .map_err(|error| error.in_class(&*self.class)),
            None => Ok(()),
        }
    }

    /// Encodes the content for a journal, before the component is attached.
    fn store_content(&mut self, world: &World) -> Result<()> {
        self.content = self.encoded(world)?;
        Ok(())
    }

    fn encoded(&self, world: &World) -> Result<Option<Vec<u8>>> {
        self.live.as_ref().map(|live| content_of(&world.registry, live.portable())).transpose()
    }

    /// Attaches the component or inserts the resource. Returns an error if there is one of the same class already. An
    /// unknown one of the class, which was loaded before the class was registered, is replaced.
    fn put(&mut self, world: &mut World, owner: Owner) -> Result<()> {
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
                let entry = |content| UnknownEntry { preceding: 0, is_started: false, content };
                let World { registry, resources, .. } = world;
                let replaced = extract(&mut resources.unknown, |unknown| {
                    registry.is_called(class, unknown.class())
                });
                resources.insert(resource);
                replaced.into_iter().map(|(at, content)| (at, entry(content))).collect()
            }
            _ => {
                let message = format!("{class} is in its place already");
                return Err(owner.locate(Error::new(ErrorKind::NotFound, message)));
            }
        };
        Ok(())
    }

    /// Detaches the component or resource without releasing it, and restores the unknown ones that it had replaced.
    fn take(&mut self, world: &mut World, owner: Owner) -> Result<()> {
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
                put_in(unknown, replaced.map(|(at, entry)| (at, entry.content)));
            }
        }
        Ok(())
    }

    /// Releases the component if it is detached, since it does not come back.
    fn discard(&mut self, world: &mut World, owner: Owner) {
        if let (Owner::Object(object), Some(Live::Component(component))) = (owner, self.live.take())
        {
            let column = world.new_column((*component).__component_type());
            world.release(object, column, component);
        }
    }

    /// Returns roughly the bytes that the value takes while it is detached.
    fn held(&self, world: &World) -> usize {
        self.live
            .as_ref()
            .map_or(0, |live| size_of::<Self>() + content_size(&world.registry, live.portable()))
    }

    /// Converts it to the form that a journal stores. A component that was just attached has the content from before
    /// that.
    fn stored(&mut self, world: &World, change_state: ChangeState) -> Result<Box<Self>> {
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
        Ok(Box::new(Self { content, slot, ..Self::attached(self.class.clone()) }))
    }

    /// Decodes the value if it is detached, from content of this program's class. Returns false if the content is
    /// missing.
    fn restore(&mut self, world: &World, owner: Owner, is_out: bool) -> Result<bool> {
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
    /// Takes a component out of its object, and records its place.
    fn take(
        world: &mut World,
        object: ObjectId,
        class: &str,
    ) -> Result<(Box<dyn AnyComponent>, Self)> {
        let found = world.check(object)?;
        let column = world.column_of_class(class)?;
        let columns = world.shapes.columns(found.shape);
        let position = columns.iter().position(|other| *other == column);
        let before_unknown = found.unknown().iter().map(|entry| entry.preceding as u64).collect();
        let is_started = position.is_some_and(|position| position < usize::from(found.started));
        let component = position.and_then(|_| world.take_out(object, column));
        let component = component.ok_or_else(|| {
            let message = format!("the object has no {class}; attach one");
            Error::new(ErrorKind::NotFound, message).in_object(object.get())
        })?;
        let position = position.map(|position| position as u64);
        Ok((component, Self { position, is_started, before_unknown }))
    }

    /// Puts a component into its place among those of an object; returns the unknown components that it replaces.
    fn put(
        &self,
        world: &mut World,
        object: ObjectId,
        component: Box<dyn AnyComponent>,
        class: &str,
    ) -> Vec<(usize, UnknownEntry)> {
        let column = world.new_column((*component).__component_type());
        let (shapes, registry) = (&mut world.shapes, &world.registry);
        let mut replaced = Vec::new();
        let location = world.directory.location(object);
        if let Some(found) = location.and_then(|location| world.objects.get_mut(location)) {
            let mut columns = shapes.columns(found.shape).to_vec();
            let position = self.position.and_then(|position| usize::try_from(position).ok());
            let position = position.unwrap_or(usize::MAX);
            // Started components come first. The number of started ones may have changed while this one was detached.
            let position = match self.is_started {
                true => position.min(found.started.into()),
                false => position.clamp(found.started.into(), columns.len()),
            };
            columns.insert(position, column);
            found.shape = shapes.of(&columns);
            found.started += u16::from(self.is_started);
            if !found.unknown().is_empty() {
                replaced = extract(found.unknown_list(), |entry| {
                    registry.is_called(class, entry.content.class())
                });
            }
            let entries = found.unknown_mut().iter_mut();
            if entries.len() == self.before_unknown.len() {
                let counts = self.before_unknown.iter();
                let counts = counts.map(|count| usize::try_from(*count).unwrap_or(usize::MAX));
                entries.zip(counts).for_each(|(entry, count)| entry.preceding = count);
            }
            world.deferred.waiting.push(object);
        }
        world.put(column, object, component);
        replaced
    }
}

/// Removes the values that match, and returns them with their indices.
fn extract<T>(values: &mut Vec<T>, is_match: impl Fn(&T) -> bool) -> Vec<(usize, T)> {
    let (out, rest): (Vec<_>, Vec<_>) =
        mem::take(values).into_iter().enumerate().partition(|(_, value)| is_match(value));
    values.extend(rest.into_iter().map(|(_, value)| value));
    out
}

/// Inserts values at their former indices.
fn put_in<T>(values: &mut Vec<T>, out: impl Iterator<Item = (usize, T)>) {
    for (index, value) in out {
        values.insert(index.min(values.len()), value);
    }
}
