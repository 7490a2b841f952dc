//! What components are copied into: a world, or an edit of one that a history records.

use persist::codec::Pointee;
use persist::history::Edit;
use persist::{Component, Loaded, ObjectId, Persist, Result, World};

use crate::entities::{Way, turned};

/// A world that is saved, or an edit of one.
pub trait Target {
    /// Whether references to an entity are copied again after its object was removed, so that an undo leads back to the
    /// entity if that is still there. A save does without: it would take as long as the first one.
    const RENEWS_REFERENCES: bool;

    /// The world as it is.
    fn world(&self) -> &World;

    /// Makes an object without a name.
    ///
    /// # Errors
    ///
    /// Those of [`Edit::spawn`].
    fn spawn(&mut self) -> Result<ObjectId>;

    /// Removes an object and what is below it.
    ///
    /// # Errors
    ///
    /// Those of [`Edit::remove`].
    fn remove(&mut self, object: ObjectId) -> Result<()>;

    /// Puts an object below another one.
    ///
    /// # Errors
    ///
    /// Those of [`World::set_parent_at`].
    fn set_parent_at(
        &mut self,
        object: ObjectId,
        parent: Option<ObjectId>,
        index: usize,
    ) -> Result<()>;

    /// Gives an object a name, which it may share with others. An empty one is none.
    ///
    /// # Errors
    ///
    /// Those of [`World::rename`].
    fn share_name(&mut self, object: ObjectId, name: &str) -> Result<()>;

    /// Sets the component of an object.
    ///
    /// # Errors
    ///
    /// Those of [`Edit::attach`].
    fn put<S: Component>(&mut self, object: ObjectId, component: S) -> Result<()>;

    /// Detaches the component of an object.
    ///
    /// # Errors
    ///
    /// Those of [`Edit::detach`].
    fn detach<S: Component>(&mut self, object: ObjectId) -> Result<()>;

    /// Sets a resource.
    ///
    /// # Errors
    ///
    /// Those of [`Edit::insert_resource`].
    fn put_resource<R: Persist + Pointee + Send>(&mut self, resource: R) -> Result<()>;

    /// Removes a resource, if there is one.
    ///
    /// # Errors
    ///
    /// Those of [`Edit::remove_resource`].
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

/// An edit that a history records.
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
        // It may have been below another one that was removed.
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
        // An edit looks at the old component, whose handles are not those of the engine.
        turned(Way::Within, || {
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
