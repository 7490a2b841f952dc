//! [`EditedWorld`] and [`ObjectChange`]: what a history needs of a world.
//!
//! `World` and its changes implement them. In a program without the feature `world`, types without values do.

use super::Root;
use super::change::{ChangeState, Direction, FieldChange};
use super::changed::Changed;
use super::object_name::ObjectName;
use super::owner::Owner;
use super::prints::Print;
use crate::codec::Portable;
use crate::graph::Registry;
use crate::{ObjectId, Persist, Result};

/// Encoded bytes, and for each class of their program the class of this one.
pub(crate) type NumberedBytes<'b> = (&'b [u8], Option<&'b [Option<usize>]>);

/// A world whose edits a history records.
pub(crate) trait EditedWorld {
    /// The bits of a component that has only numbers.
    type Numbers;

    fn class_registry(&self) -> &Registry;

    /// A number that no other world of this process has.
    fn identity(&self) -> u64;

    fn last_id(&self) -> u64;

    /// Continues the assignment of ids after this one. Returns false if the id is too large.
    fn continue_ids_after(&mut self, id: u64) -> bool;

    /// Returns the name of an object, for labels and changes. It is empty for an object without a name, and `None` if
    /// the object is not in the world.
    fn object_name(&self, object: ObjectId) -> Option<ObjectName>;

    /// Returns an error for a class that holds shared pointers: the objects that they point to would not be recorded.
    fn check_recordable(&self, class: &str) -> Result<()>;

    /// Encodes a component or resource that is in the world.
    fn content(&self, owner: Owner, class: &str) -> Result<Vec<u8>>;

    /// Encodes the requested components of parked objects.
    fn parked_contents(
        &self,
        requested: Vec<(ObjectId, String)>,
    ) -> Result<Vec<(ObjectId, String, Vec<u8>)>>;

    /// Decodes a recorded component or resource of the class with this number.
    fn decoded<R>(
        &self,
        value: (Owner, usize),
        content: NumberedBytes<'_>,
        read: impl FnOnce(&dyn Portable) -> Result<R>,
    ) -> Result<R>;

    /// Calls a function with access to the fields of a component or resource.
    fn with_root<R>(
        &mut self,
        owner: Owner,
        class: &str,
        run: impl FnOnce(&mut Root<'_>) -> Result<R>,
    ) -> Result<R>;

    /// Calls a closure that undoes or redoes changes of the fields of a component or resource. Returns an error while a
    /// method of a component runs.
    fn make<R>(
        &mut self,
        owner: Owner,
        class: &str,
        make: impl FnOnce(&mut Root<'_>) -> Result<R>,
    ) -> Result<R>;

    /// Runs the `after_load` functions of a component or resource that has changed, if it exists. Runs its `validate`
    /// functions before, if it is to be `checked`.
    fn refresh(&mut self, value: (Owner, &str), checked: bool) -> Result<()>;

    /// Redoes or undoes a change of a number in place, without running code of the program. Returns false for other
    /// changes.
    fn put_number(&mut self, owner: Owner, change: &FieldChange, direction: Direction) -> bool;

    /// Returns the current numbers of a component that consists of plain numbers.
    fn numbers(&mut self, column: usize, object: ObjectId) -> Option<Self::Numbers>;

    /// Returns the changes since the numbers were [taken](Self::numbers); `None` without the component.
    fn number_changes(
        &mut self,
        at: (usize, ObjectId),
        old: &Self::Numbers,
    ) -> Option<Vec<FieldChange>>;

    fn put_numbers(&mut self, at: (usize, ObjectId), old: &Self::Numbers) -> Option<()>;

    /// Notes the objects that are spawned, removed, renamed, moved, paused or activated, from the first call on.
    fn watch(&self);

    /// Returns the objects that were noted since the last call, or [`Changed::All`] if that is not known.
    fn take_touched(&mut self) -> Vec<Changed<'static>>;

    /// Appends the hashes of these objects, or of the whole world. Components that cannot be encoded are left out.
    fn prints(&self, objects: Option<&[ObjectId]>, prints: &mut Vec<Print>);
}

/// A change of objects, or of their lists of components, or of the resources. Changes of fields are
/// [`FieldChange`]s.
pub(crate) trait ObjectChange: Persist {
    type World;

    /// Redoes or undoes the change.
    fn apply(&mut self, world: &mut Self::World, owner: Owner, direction: Direction) -> Result<()>;

    /// Releases the objects and components that the change keeps out of the world, since they do not come back.
    fn discard(&mut self, world: &mut Self::World, owner: Owner, is_applied: bool);

    /// Returns true if [`discard`](Self::discard) may release something.
    fn has_end(&self) -> bool;

    /// Returns roughly the bytes of heap memory in use.
    fn size(&self) -> usize;

    /// Returns roughly the bytes of the objects and components that the change keeps out of the world.
    fn held(&self, world: &Self::World, owner: Owner, is_applied: bool) -> usize;

    /// Returns the class of the component or resource that is attached or detached.
    fn class(&self) -> Option<&str>;

    fn set_class(&mut self, class: &str);

    /// Returns true if the change puts a component or a resource into the world in this direction.
    fn puts(&self, direction: Direction) -> bool;

    /// Returns the content of the component or resource, as a journal stores it.
    fn content_mut(&mut self) -> Option<&mut Vec<u8>>;

    /// Converts the change to the form that a journal stores.
    fn stored(&mut self, world: &Self::World, owner: Owner, state: ChangeState) -> Result<Self>;

    /// Restores the state that the change had when it was [stored](Self::stored). Its bytes must have been converted to
    /// the classes of this program. A change that was just [done](ChangeState::Done) is then ready to be redone.
    ///
    /// If this fails, the world may have additional parked objects.
    fn restore(
        &mut self,
        world: &mut Self::World,
        object: (Owner, Option<&ObjectName>),
        state: ChangeState,
    ) -> Result<()>;
}
