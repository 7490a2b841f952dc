//! Changes of objects and components, deferred until no method of a component runs.

use super::World;
use super::any_component::AnyComponent;
use super::parked::ParkedObject;
use crate::{Error, ErrorKind, ObjectId, Result};

/// A change that waits for the end of the phase.
pub(super) enum Command {
    /// Puts in an object of a base name.
    Spawn(ObjectId, Box<str>),
    /// Puts in objects of a prefab, in ascending order of their ids.
    Place(Vec<ParkedObject>),
    Attach(ObjectId, usize, Box<dyn AnyComponent>),
    Detach(ObjectId, usize),
    Remove(ObjectId),
    /// Below a parent or at the top, at a place among its children.
    SetParent(ObjectId, Option<ObjectId>, usize),
}

impl Command {
    /// True if it puts in this object.
    pub(super) fn brings(&self, id: ObjectId) -> bool {
        match self {
            Self::Spawn(new, _) => *new == id,
            Self::Place(objects) => objects.binary_search_by_key(&id, |object| object.id).is_ok(),
            _ => false,
        }
    }
}

impl World {
    /// Makes the changes that a component's method asked for before it panicked, in order.
    ///
    /// Every change of objects and components and every [`update`](Self::update) does so first; a save, which only reads,
    /// does not. While a method runs, it does nothing.
    pub fn settle(&mut self) {
        self.flush();
    }

    /// True if no component's method runs, and nothing waits for the end of one.
    #[inline]
    pub(crate) fn is_still(&self) -> bool {
        !self.is_running() && self.commands.is_empty()
    }

    /// Refuses what cannot wait for the end of a phase.
    pub(super) fn check_idle(&self) -> Result<()> {
        if self.is_running() {
            return Err(Error::new(
                ErrorKind::Borrowed,
                "a component's method runs, and this cannot wait for the end of the phase; do it after the update",
            ));
        }
        Ok(())
    }

    /// Readies the world for changes of objects and components.
    pub(crate) fn check_editable(&mut self) -> Result<()> {
        self.check_idle()?;
        self.flush();
        Ok(())
    }

    /// Makes the changes that wait, in order, and those that they bring about; not while a method of a
    /// component runs.
    pub(super) fn flush(&mut self) {
        // One by one: if a component panics, those behind it are made by the next flush.
        while !self.is_running()
            && let Some(command) = self.commands.pop_front()
        {
            self.apply(command);
        }
    }

    /// A change of an object that is gone meanwhile is none.
    fn apply(&mut self, command: Command) {
        match command {
            Command::Spawn(id, name) => {
                self.spawn_now(id, &name);
            }
            Command::Place(objects) => self.place_now(objects),
            Command::Attach(object, column, component) => {
                if self.contains(object) {
                    self.attach_now(object, column, component);
                } else {
                    self.release(object, column, component);
                }
            }
            Command::Detach(object, column) => drop(self.detach_now(object, column)),
            Command::Remove(object) => self.remove_now(object),
            Command::SetParent(object, parent, at) => {
                // It was checked when it was asked for; what has changed since may refuse it.
                let _ = self.set_parent_now(object, parent, at);
            }
        }
    }
}
