//! Edits of the objects of a world, and of their list of components.

use crate::history::Edit;
use crate::history::step::Step;
use crate::world::{Activity, Bundle, Change, Detached, Outside, Owner, Prefab, What};
use crate::{Component, ObjectId, Result, World};

impl Edit<'_, World> {
    /// Makes an object, as [`World::spawn`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Borrowed`](crate::ErrorKind::Borrowed) while a component's method runs.
    pub fn spawn(&mut self, name: &str) -> Result<ObjectId> {
        self.ready_to_change()?;
        let object = self.target.spawn(name);
        self.touch_new(object);
        let change = Change::spawned(self.target, object);
        self.steps.push(Step::Change(change));
        Ok(object)
    }

    /// Makes an object below another one, as its last child.
    ///
    /// # Errors
    ///
    /// Those of [`World::spawn_in`].
    pub fn spawn_in(&mut self, parent: ObjectId, name: &str) -> Result<ObjectId> {
        self.ready_to_change()?;
        self.touch(parent);
        let object = self.target.spawn_in(parent, name)?;
        self.touch_new(object);
        let change = Change::spawned(self.target, object);
        self.steps.push(Step::Change(change));
        Ok(object)
    }

    /// Makes an object with components, as [`World::spawn_with`], in one step.
    ///
    /// # Errors
    ///
    /// Those of [`World::spawn_with`] and [`attach`](Self::attach). No object is made then, and the components are released.
    pub fn spawn_with<B: Bundle>(&mut self, name: &str, components: B) -> Result<ObjectId> {
        self.ready_to_change()?;
        self.part(|edit| {
            let object = edit.target.spawn_with(name, components)?;
            edit.record_copy(object)?;
            let mut classes = edit.target.classes(object).into_iter();
            classes.try_for_each(|class| edit.target.validate(Owner::Object(object), &class))?;
            Ok(object)
        })
    }

    /// Makes an object for each of these components, as [`spawn_with`](Self::spawn_with) does; returns them in their order.
    ///
    /// # Errors
    ///
    /// Those of [`spawn_with`](Self::spawn_with). No object is made then.
    pub fn spawn_many<B: Bundle>(
        &mut self,
        name: &str,
        components: impl IntoIterator<Item = B>,
    ) -> Result<Vec<ObjectId>> {
        self.part(|edit| components.into_iter().map(|one| edit.spawn_with(name, one)).collect())
    }

    /// Puts a copy of a prefab into the world, as [`World::instantiate`].
    ///
    /// # Errors
    ///
    /// Those of [`World::instantiate`]; as [`attach`](Self::attach) of a journal.
    pub fn instantiate(&mut self, prefab: &Prefab, outside: Outside) -> Result<ObjectId> {
        self.ready_to_change()?;
        let object = self.target.instantiate(prefab, outside)?;
        self.record_copy(object)
    }

    /// Removes an object and its descendants.
    ///
    /// Until that can no longer be undone they are parked, not released. An undo restores them as they were,
    /// with their ids, so that references to them are valid again.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if the object is not there; as [`attach`](Self::attach) of a journal, if a component in it could not be held.
    pub fn remove(&mut self, object: ObjectId) -> Result<()> {
        self.ready_to_change()?;
        self.check_all_journaled(object)?;
        let parent = self.target.parent(object);
        parent.into_iter().chain(self.target.subtree(object)).for_each(|object| self.touch(object));
        let change = Change::delete(self.target, object)?;
        self.steps.push(Step::Change(change));
        Ok(())
    }

    /// Attaches a component to an object, after its others; one of its type that the object had is detached.
    ///
    /// # Errors
    ///
    /// Those of [`World::attach`]; what the component's `validate` functions refuse. If there is a journal, which could not hold it:
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if it holds shared pointers, [`ErrorKind::WrongClass`](crate::ErrorKind::WrongClass) if its class is not registered with the saves.
    pub fn attach<T: Component>(&mut self, object: ObjectId, component: T) -> Result<()> {
        self.ready_to_change()?;
        self.touch(object);
        self.target.register::<T>()?;
        self.attach_detached(Owner::Object(object), Detached::component(component))
    }

    /// Attaches an empty component of a registered class, as [`World::attach_class`].
    ///
    /// # Errors
    ///
    /// Those of [`World::attach_class`].
    pub fn attach_class(&mut self, object: ObjectId, class: &str) -> Result<()> {
        self.ready_to_change()?;
        self.touch(object);
        let component = Detached::empty_component(self.target, class)?;
        self.attach_detached(Owner::Object(object), component)
    }

    pub(super) fn attach_detached(&mut self, owner: Owner, mut detached: Detached) -> Result<()> {
        let class = detached.class().to_owned();
        self.check_journaled(&class).map_err(|error| owner.locate(error))?;
        detached.check(self.target).map_err(|error| owner.locate(error))?;
        if self.target.has(owner, &class) {
            let detached = Change::detach(self.target, owner, class)?;
            self.steps.push(Step::Change(detached));
        }
        let is_journaled = self.is_journaled();
        let attached = Change::attach(self.target, owner, detached, is_journaled)?;
        self.steps.push(Step::Change(attached));
        Ok(())
    }

    /// Detaches a component; it is not released until that can no longer be undone.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if the object is not there, or has none; as [`attach`](Self::attach) of a journal.
    pub fn detach<T: Component>(&mut self, object: ObjectId) -> Result<()> {
        self.ready_to_change()?;
        self.touch(object);
        self.target.register::<T>()?;
        self.detach_of(Owner::Object(object), T::persist_name())
    }

    /// Detaches the component of a class.
    ///
    /// # Errors
    ///
    /// Those of [`detach`](Self::detach).
    pub fn detach_class(&mut self, object: ObjectId, class: &str) -> Result<()> {
        self.ready_to_change()?;
        self.touch(object);
        self.detach_of(Owner::Object(object), class.to_owned())
    }

    pub(super) fn detach_of(&mut self, owner: Owner, class: String) -> Result<()> {
        if self.target.has(owner, &class) {
            self.check_journaled(&class).map_err(|error| owner.locate(error))?;
        }
        let detached = Change::detach(self.target, owner, class)?;
        self.steps.push(Step::Change(detached));
        Ok(())
    }

    /// Refuses what a journal that there is cannot hold.
    fn check_journaled(&self, class: &str) -> Result<()> {
        self.support.check_journaled(self.target, class)
    }

    /// Checks all components of an object and of its descendants.
    fn check_all_journaled(&self, object: ObjectId) -> Result<()> {
        if !self.is_journaled() {
            return Ok(());
        }
        self.target.check_classes(object, |world, class| self.support.check_journaled(world, class))
    }

    /// Gives an object another name, as [`World::rename`]; returns what it got.
    ///
    /// # Errors
    ///
    /// Those of [`World::rename`].
    pub fn rename(&mut self, object: ObjectId, name: &str) -> Result<&str> {
        self.ready_to_change()?;
        self.touch(object);
        let old = self.target.shared_name(object);
        self.target.rename(object, name)?;
        if let (Some(old), Some(new)) = (old, self.target.shared_name(object)) {
            self.record_aspect(object, What::Rename { old, new });
        }
        Ok(self.target.name(object).unwrap_or_default())
    }

    /// Puts an object below another one as its last child, or below none, as [`World::set_parent`].
    ///
    /// # Errors
    ///
    /// Those of [`World::set_parent`].
    pub fn set_parent(&mut self, object: ObjectId, parent: Option<ObjectId>) -> Result<()> {
        self.set_parent_at(object, parent, usize::MAX)
    }

    /// Puts an object below another one, at an index among its children, as [`World::set_parent_at`].
    ///
    /// # Errors
    ///
    /// Those of [`World::set_parent_at`].
    pub fn set_parent_at(
        &mut self,
        object: ObjectId,
        parent: Option<ObjectId>,
        index: usize,
    ) -> Result<()> {
        self.ready_to_change()?;
        self.touch(object);
        let old = self.target.tree_place(object);
        parent.into_iter().chain(old.parent).for_each(|parent| self.touch(parent));
        self.target.set_parent_at(object, parent, index)?;
        let new = self.target.tree_place(object);
        self.record_aspect(object, What::Move { old, new });
        Ok(())
    }

    /// Pauses, resumes or expires an object, as [`World::set_activity`].
    ///
    /// # Errors
    ///
    /// Those of [`World::set_activity`].
    pub fn set_activity(&mut self, object: ObjectId, activity: Activity) -> Result<()> {
        self.ready_to_change()?;
        self.touch(object);
        let old = self.target.activity(object);
        self.target.set_activity(object, activity)?;
        if let Some(old) = old {
            self.record_aspect(object, What::Activity { old, new: activity });
        }
        Ok(())
    }

    fn record_copy(&mut self, object: ObjectId) -> Result<ObjectId> {
        self.target.subtree(object).into_iter().for_each(|object| self.touch_new(object));
        let checked = self.check_all_journaled(object);
        match checked.and_then(|()| Change::copied(self.target, object, self.is_journaled())) {
            Ok(change) => {
                self.steps.push(Step::Change(change));
                Ok(object)
            }
            Err(error) => {
                self.target.remove(object);
                Err(error)
            }
        }
    }

    /// An object has been made, which was not there before.
    fn touch_new(&mut self, object: ObjectId) {
        if let Some(watch) = &mut self.watch {
            watch.add_new(object);
        }
    }

    fn record_aspect(&mut self, object: ObjectId, what: What) {
        let change = Change::of_aspect(self.target, object, what);
        change.into_iter().for_each(|change| self.steps.push(Step::Change(change)));
    }
}
