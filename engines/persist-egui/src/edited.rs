//! [`Edited`], a target with its history.

use std::ops::Range;
use std::sync::Arc;

use persist::codec::Reflect;
use persist::history::{Drag, Editable, Label};
use persist::save::Registry;
use persist::{FieldPath, History, Peek, Persist, Result, Session, Value};

/// A target with its history: a [`Session`], or a pair of a target and its [`History`].
///
/// ```
/// use persist::{History, World};
/// use persist_egui::Edited;
///
/// let (mut world, mut history) = (World::new(), History::new(100));
/// let mut edited = (&mut world, &mut history);
/// edited.edit("Add door".into(), |edit| edit.spawn("Door"))?;
/// assert_eq!(edited.history().undo_text(), "Undo Add door");
/// # Ok::<(), persist::Error>(())
/// ```
pub trait Edited {
    /// The type of the edited value: a [`World`](persist::World), or any other editable type.
    type Target: Editable + Persist;

    /// Returns the target in its current state.
    fn target(&self) -> &Self::Target;

    /// Returns the history of the target.
    fn history(&self) -> &History<Self::Target>;

    /// Returns the classes that are registered in the saves of the session; `None` if there are no saves.
    fn registry(&self) -> Option<Arc<Registry>> {
        None
    }

    /// Executes an edit as one entry of the history.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`History::edit`].
    fn edit<R>(
        &mut self,
        label: Label,
        edit: impl FnOnce(&mut <Self::Target as Editable>::Edit<'_>) -> Result<R>,
    ) -> Result<R>;

    /// Begins a drag, like [`History::begin_drag`].
    fn begin_drag(&mut self, label: Label) -> Drag;

    /// Ends a drag, like [`History::end_drag`].
    fn end_drag(&mut self, drag: Drag);

    /// Undoes one entry; returns false if there is none.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`History::undo`].
    fn undo(&mut self) -> Result<bool>;

    /// Redoes one entry; returns false if there is none.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`History::redo`].
    fn redo(&mut self) -> Result<bool>;

    /// Undoes or redoes until `position` entries are applied.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`History::go_to`].
    fn go_to(&mut self, position: usize) -> Result<()>;

    /// Reads a field of a target that is not a world, but only some elements of large containers.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`History::peek_field`].
    fn peek_field(&mut self, path: FieldPath, range: Range<usize>) -> Result<Peek>
    where
        Self::Target: Reflect;

    /// Sets a field of a target that is not a world, and returns its previous value.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`History::set_field`].
    fn set_field(&mut self, path: FieldPath, value: Value) -> Result<Value>
    where
        Self::Target: Reflect;

    /// Inserts an element into a list of a target that is not a world.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`History::insert_element`].
    fn insert_element(&mut self, list: FieldPath, index: usize, value: Value) -> Result<()>
    where
        Self::Target: Reflect;

    /// Removes an element from a list of a target that is not a world.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`History::remove_element`].
    fn remove_element(&mut self, list: FieldPath, index: usize) -> Result<()>
    where
        Self::Target: Reflect;

    /// Moves an element of a list of a target that is not a world.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`History::move_element`].
    fn move_element(&mut self, list: FieldPath, from: usize, to: usize) -> Result<()>
    where
        Self::Target: Reflect;

    /// Removes a key of a map of a target that is not a world, and returns the value that it had.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`History::remove_key`].
    fn remove_key(&mut self, key: FieldPath) -> Result<Value>
    where
        Self::Target: Reflect;

    /// Saves the target; returns false if there is no save to write to.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Session::save`].
    fn save(&mut self) -> Result<bool> {
        Ok(false)
    }

    /// Returns true if [`save`](Self::save) has a save to write to.
    fn can_save(&self) -> bool {
        false
    }

    /// Returns the reason why the journal cannot be written, if there is one.
    fn journal_broken(&self) -> Option<String> {
        None
    }
}

impl<T: Editable + Persist> Edited for Session<T> {
    type Target = T;

    fn target(&self) -> &T {
        Self::target(self)
    }

    fn history(&self) -> &History<T> {
        Self::history(self)
    }

    fn registry(&self) -> Option<Arc<Registry>> {
        Some(self.saves().registry())
    }

    fn edit<R>(
        &mut self,
        label: Label,
        edit: impl FnOnce(&mut T::Edit<'_>) -> Result<R>,
    ) -> Result<R> {
        Self::edit(self, label, edit)
    }

    fn begin_drag(&mut self, label: Label) -> Drag {
        Self::begin_drag(self, label)
    }

    fn end_drag(&mut self, drag: Drag) {
        Self::end_drag(self, drag);
    }

    fn undo(&mut self) -> Result<bool> {
        Self::undo(self)
    }

    fn redo(&mut self) -> Result<bool> {
        Self::redo(self)
    }

    fn go_to(&mut self, position: usize) -> Result<()> {
        Self::go_to(self, position)
    }

    fn peek_field(&mut self, path: FieldPath, range: Range<usize>) -> Result<Peek>
    where
        T: Reflect,
    {
        Self::peek_field(self, path, range)
    }

    fn set_field(&mut self, path: FieldPath, value: Value) -> Result<Value>
    where
        T: Reflect,
    {
        Self::set_field(self, path, value)
    }

    fn insert_element(&mut self, list: FieldPath, index: usize, value: Value) -> Result<()>
    where
        T: Reflect,
    {
        Self::insert_element(self, list, index, value)
    }

    fn remove_element(&mut self, list: FieldPath, index: usize) -> Result<()>
    where
        T: Reflect,
    {
        Self::remove_element(self, list, index)
    }

    fn move_element(&mut self, list: FieldPath, from: usize, to: usize) -> Result<()>
    where
        T: Reflect,
    {
        Self::move_element(self, list, from, to)
    }

    fn remove_key(&mut self, key: FieldPath) -> Result<Value>
    where
        T: Reflect,
    {
        Self::remove_key(self, key)
    }

    fn save(&mut self) -> Result<bool> {
        Self::save(self).map(|_| true)
    }

    fn can_save(&self) -> bool {
        true
    }

    fn journal_broken(&self) -> Option<String> {
        Self::journal_broken(self)
    }
}

impl<T: Editable + Persist> Edited for (&mut T, &mut History<T>) {
    type Target = T;

    fn target(&self) -> &T {
        self.0
    }

    fn history(&self) -> &History<T> {
        self.1
    }

    fn edit<R>(
        &mut self,
        label: Label,
        edit: impl FnOnce(&mut T::Edit<'_>) -> Result<R>,
    ) -> Result<R> {
        self.1.edit(self.0, label, edit)
    }

    fn begin_drag(&mut self, label: Label) -> Drag {
        self.1.begin_drag(label)
    }

    fn end_drag(&mut self, drag: Drag) {
        self.1.end_drag(drag);
    }

    fn undo(&mut self) -> Result<bool> {
        self.1.undo(self.0)
    }

    fn redo(&mut self) -> Result<bool> {
        self.1.redo(self.0)
    }

    fn go_to(&mut self, position: usize) -> Result<()> {
        self.1.go_to(self.0, position)
    }

    fn peek_field(&mut self, path: FieldPath, range: Range<usize>) -> Result<Peek>
    where
        T: Reflect,
    {
        self.1.peek_field(self.0, path, range)
    }

    fn set_field(&mut self, path: FieldPath, value: Value) -> Result<Value>
    where
        T: Reflect,
    {
        self.1.set_field(self.0, path, value)
    }

    fn insert_element(&mut self, list: FieldPath, index: usize, value: Value) -> Result<()>
    where
        T: Reflect,
    {
        self.1.insert_element(self.0, list, index, value)
    }

    fn remove_element(&mut self, list: FieldPath, index: usize) -> Result<()>
    where
        T: Reflect,
    {
        self.1.remove_element(self.0, list, index)
    }

    fn move_element(&mut self, list: FieldPath, from: usize, to: usize) -> Result<()>
    where
        T: Reflect,
    {
        self.1.move_element(self.0, list, from, to)
    }

    fn remove_key(&mut self, key: FieldPath) -> Result<Value>
    where
        T: Reflect,
    {
        self.1.remove_key(self.0, key)
    }
}
