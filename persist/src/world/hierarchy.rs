//! Objects below objects, and how they go.

use super::World;
use super::commands::Command;
use super::object::Activity;
use super::parked::Place;
use super::world::missing;
use crate::{Error, ErrorKind, ObjectId, Result};

impl World {
    /// The object above an object.
    #[must_use]
    pub fn parent(&self, object: ObjectId) -> Option<ObjectId> {
        self.object(object)?.parent
    }

    /// The place of an object in the tree.
    pub(crate) fn tree_place(&self, object: ObjectId) -> Place {
        let parent = self.parent(object);
        let above = parent.and_then(|parent| self.object(parent));
        let index = above.and_then(|above| above.position(object));
        Place { parent, index: index.unwrap_or(0) as u64 }
    }

    /// The objects right below an object, in their order.
    #[must_use]
    pub fn children(&self, object: ObjectId) -> &[ObjectId] {
        self.object(object).map_or(&[], |object| object.children())
    }

    /// The objects below no other, in the order in which they were made.
    pub fn roots(&self) -> impl Iterator<Item = ObjectId> + use<'_> {
        self.objects().filter(|object| self.parent(*object).is_none())
    }

    /// An object and all below it, each before those below it, in their order.
    #[must_use]
    pub fn subtree(&self, object: ObjectId) -> Vec<ObjectId> {
        let mut found = Vec::new();
        let mut rest: Vec<ObjectId> = self.contains(object).then_some(object).into_iter().collect();
        while let Some(object) = rest.pop() {
            found.push(object);
            rest.extend(self.children(object).iter().rev());
        }
        found
    }

    /// Puts an object, with what is below it, below another one as its last child, or below none.
    ///
    /// While a component's method runs, it is moved at the end of the phase.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if one of the objects is not there; [`ErrorKind::Circular`] if the parent is the object itself or
    /// below it.
    pub fn set_parent(&mut self, object: ObjectId, parent: Option<ObjectId>) -> Result<()> {
        self.set_parent_at(object, parent, usize::MAX)
    }

    /// Puts an object below another one, at an index among its children; one that is too large is the last.
    ///
    /// Of many children, many that are moved one after the other take `n log n` in all, unless [`children`](Self::children) is called in between.
    ///
    /// # Errors
    ///
    /// Those of [`set_parent`](Self::set_parent).
    pub fn set_parent_at(
        &mut self,
        object: ObjectId,
        parent: Option<ObjectId>,
        index: usize,
    ) -> Result<()> {
        if self.is_running() {
            self.check_or_expect(object)?;
            parent.map_or(Ok(()), |parent| self.check_or_expect(parent))?;
            self.check_above(object, parent)?;
            self.commands.push_back(Command::SetParent(object, parent, index));
            return Ok(());
        }
        self.flush();
        self.set_parent_now(object, parent, index)
    }

    pub(super) fn set_parent_now(
        &mut self,
        object: ObjectId,
        parent: Option<ObjectId>,
        index: usize,
    ) -> Result<()> {
        self.check(object)?;
        parent.map_or(Ok(()), |parent| self.check(parent).map(drop))?;
        self.check_above(object, parent)?;
        self.unlink(object);
        if let Some(found) = self.object_mut(object) {
            found.parent = parent;
        }
        if let Some(above) = parent.and_then(|parent| self.object_mut(parent)) {
            above.children_mut().insert(index, object);
        }
        self.hold(object);
        Ok(())
    }

    /// Refuses a parent that is the object or below it.
    fn check_above(&self, object: ObjectId, parent: Option<ObjectId>) -> Result<()> {
        // Nothing is below an object without children; so a chain that grows at its end is not walked.
        let is_alone = self.object(object).is_none_or(|found| !found.has_children());
        let mut above = parent.filter(|parent| !is_alone || *parent == object);
        while let Some(found) = above {
            if found == object {
                let message = match parent == Some(object) {
                    true => String::from("an object cannot be its own parent"),
                    false => format!("the new parent {found} is below the object itself"),
                };
                return Err(Error::new(ErrorKind::Circular, message).in_object(object.get()));
            }
            above = self.parent(found);
        }
        Ok(())
    }

    /// Takes an object from its parent's list.
    pub(super) fn unlink(&mut self, object: ObjectId) {
        let parent = self.parent(object);
        if let Some(above) = parent.and_then(|parent| self.object_mut(parent)) {
            above.remove_child(object);
        }
    }

    /// Removes an object and all below it, the lowest first, and releases their components, of a
    /// parked one too; false if it is not there.
    /// While a component's method runs, it is removed at the end of the phase.
    pub fn remove(&mut self, object: ObjectId) -> bool {
        self.flush();
        if !self.is_parked(object) && self.check_or_expect(object).is_err() {
            return false;
        }
        if self.is_running() {
            self.commands.push_back(Command::Remove(object));
        } else {
            self.remove_now(object);
            self.flush();
        }
        true
    }

    pub(super) fn remove_now(&mut self, object: ObjectId) {
        self.discard(object);
        let subtree = self.subtree(object);
        // If a component panics, those that are left still make a tree.
        for object in subtree.into_iter().rev() {
            for column in self.shape_of(object).iter().copied() {
                self.detach_now(object, column);
            }
            self.unlink(object);
            self.leave(object);
        }
        self.compact();
    }

    /// Takes an object without components out.
    fn leave(&mut self, object: ObjectId) {
        let Some(place) = self.directory.place(object) else { return };
        if let Some(name) = self.take_object(place).and_then(|found| found.name) {
            self.names.leave(name);
            self.names.drop(name);
        }
    }

    /// Says whether an object and its descendants are updated: [paused](Activity::Paused) ones are not until they are
    /// [active](Activity::Active) again, and [expired](Activity::Expired) ones are removed at the end of the frame. That
    /// is the frame of the next [`update`](Self::update), or of the one that runs.
    ///
    /// An object below another one that is paused waits for that one, too.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the object is not there.
    pub fn set_activity(&mut self, object: ObjectId, activity: Activity) -> Result<()> {
        let found = self.object_mut(object).ok_or_else(|| missing(object))?;
        if found.activity == activity {
            return Ok(());
        }
        found.activity = activity;
        if activity == Activity::Expired {
            self.expired.push_back(object);
        }
        self.hold(object);
        Ok(())
    }

    /// Works out anew whether an object and those below it are updated.
    pub(super) fn hold(&mut self, object: ObjectId) {
        let is_held =
            |world: &Self, object| world.object(object).is_some_and(|found| found.is_held);
        let above = self.parent(object);
        let mut rest = vec![(object, above.is_some_and(|above| is_held(self, above)))];
        while let Some((object, above)) = rest.pop() {
            let Some(found) = self.object_mut(object) else { continue };
            let held = above || found.activity != Activity::Active;
            if found.is_held != held {
                found.is_held = held;
                rest.extend(found.children().iter().map(|child| (*child, held)));
                if !held {
                    self.waiting.push(object);
                }
            }
        }
    }
}
