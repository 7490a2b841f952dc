//! [`Target`], the destination of copied components: a world, or an edit of one that a history records.

use persist::codec::Pointee;
use persist::history::Edit;
use persist::{Component, Loaded, ObjectId, Persist, Result, World};

use crate::entities::{Mode, in_mode};

/// The destination of copied components: a world, or an edit of one.
pub trait Target {
    /// Whether references to an entity are copied again after its object was removed.
    ///
    /// An edit does so: an undo then restores references to the entity, if it still exists. A save does not, since it
    /// would take as long as the first one.
    const RENEWS_REFERENCES: bool;

    /// Returns the current world.
    fn world(&self) -> &World;

    /// Spawns an object without a name.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Edit::spawn`].
    fn spawn(&mut self) -> Result<ObjectId>;

    /// Removes an object and its descendants.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Edit::remove`].
    fn remove(&mut self, object: ObjectId) -> Result<()>;

    /// Sets the parent of an object, and its index among the parent's children.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`World::set_parent_at`].
    fn set_parent_at(
        &mut self,
        object: ObjectId,
        parent: Option<ObjectId>,
        index: usize,
    ) -> Result<()>;

    /// Names an object. Several objects may share a name, and an empty name removes it.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`World::rename`].
    fn share_name(&mut self, object: ObjectId, name: &str) -> Result<()>;

    /// Sets the component of an object.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Edit::attach`].
    fn put<S: Component>(&mut self, object: ObjectId, component: S) -> Result<()>;

    /// Detaches the component of an object.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Edit::detach`].
    fn detach<S: Component>(&mut self, object: ObjectId) -> Result<()>;

    /// Sets a resource.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Edit::insert_resource`].
    fn put_resource<R: Persist + Pointee + Send>(&mut self, resource: R) -> Result<()>;

    /// Removes a resource, if there is one.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Edit::remove_resource`].
    fn remove_resource<R: Persist + Pointee + Send>(&mut self) -> Result<()>;
}

impl Target for Loaded<World> {
    const RENEWS_REFERENCES: bool = false;

    fn world(&self) -> &World {
        self
    }

    fn spawn(&mut self) -> Result<ObjectId> {
        Ok(World::spawn(self, ""))
    }

    fn remove(&mut self, object: ObjectId) -> Result<()> {
        World::remove(self, object);
        Ok(())
    }

    fn set_parent_at(
        &mut self,
        object: ObjectId,
        parent: Option<ObjectId>,
        index: usize,
    ) -> Result<()> {
        World::set_parent_at(self, object, parent, index)
    }

    fn share_name(&mut self, object: ObjectId, name: &str) -> Result<()> {
        World::share_name(self, object, name)
    }

    #[inline]
    fn put<S: Component>(&mut self, object: ObjectId, component: S) -> Result<()> {
        match self.get_mut::<S>(object) {
            Some(place) => {
                *place = component;
                Ok(())
            }
            None => self.attach(object, component),
        }
    }

    fn detach<S: Component>(&mut self, object: ObjectId) -> Result<()> {
        World::detach::<S>(self, object);
        Ok(())
    }

    fn put_resource<R: Persist + Pointee + Send>(&mut self, resource: R) -> Result<()> {
        self.insert_resource(resource).map(drop)
    }

    fn remove_resource<R: Persist + Pointee + Send>(&mut self) -> Result<()> {
        World::remove_resource::<R>(self);
        Ok(())
    }
}

/// An edit of a world, recorded by a history.
pub struct Recorded<'r, 'e>(pub &'r mut Edit<'e, World>);

impl Target for Recorded<'_, '_> {
    const RENEWS_REFERENCES: bool = true;

    fn world(&self) -> &World {
        self.0
    }

    fn spawn(&mut self) -> Result<ObjectId> {
        self.0.spawn("")
    }

    fn remove(&mut self, object: ObjectId) -> Result<()> {
        // The object may have been removed already, as a descendant of another one.
        if self.0.contains(object) { self.0.remove(object) } else { Ok(()) }
    }

    fn set_parent_at(
        &mut self,
        object: ObjectId,
        parent: Option<ObjectId>,
        index: usize,
    ) -> Result<()> {
        self.0.set_parent_at(object, parent, index)
    }

    fn share_name(&mut self, object: ObjectId, name: &str) -> Result<()> {
        self.0.share_name(object, name)
    }

    fn put<S: Component>(&mut self, object: ObjectId, component: S) -> Result<()> {
        // An edit encodes the old component for its undo. The handles of that are not those of the engine.
        in_mode(Mode::Within, || {
            if World::get::<S>(self.0, object).is_some() {
                *self.0.get_mut::<S>(object)? = component;
                return Ok(());
            }
            self.0.attach(object, component)
        })
    }

    fn detach<S: Component>(&mut self, object: ObjectId) -> Result<()> {
        self.0.detach::<S>(object)
    }

    fn put_resource<R: Persist + Pointee + Send>(&mut self, resource: R) -> Result<()> {
        if World::resource::<R>(self.0).is_some() {
            *self.0.resource_mut::<R>()? = resource;
            return Ok(());
        }
        self.0.insert_resource(resource)
    }

    fn remove_resource<R: Persist + Pointee + Send>(&mut self) -> Result<()> {
        if World::resource::<R>(self.0).is_some() { self.0.remove_resource::<R>() } else { Ok(()) }
    }
}
