//! What is edited: a target with its history.

use std::sync::Arc;

use persist::codec::Reflect;
use persist::history::{Drag, Editable, Label};
use persist::save::Registry;
use persist::{FieldPath, History, Persist, Result, Session, Value};

/// A target with its history: a [`Session`], or a target and a [`History`] that lie side by side.
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
    /// What is edited.
    type Target: Editable + Persist;

    /// The target, as it is now.
    fn target(&self) -> &Self::Target;

    /// The history of the target.
    fn history(&self) -> &History<Self::Target>;

    /// The classes that are registered with the saves, if there are saves.
    fn registry(&self) -> Option<Arc<Registry>> {
        None
    }

    /// Runs an edit as one entry of the history.
    ///
    /// # Errors
    ///
    /// Those of [`History::edit`].
    fn edit<R>(
        &mut self,
        label: Label,
        edit: impl FnOnce(&mut <Self::Target as Editable>::Edit<'_>) -> Result<R>,
    ) -> Result<R>;

    /// Begins a drag, as [`History::begin_drag`].
    fn begin_drag(&mut self, label: Label) -> Drag;

    /// Ends a drag, as [`History::end_drag`].
    fn end_drag(&mut self, drag: Drag);

    /// Undoes one entry; false if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`History::undo`].
    fn undo(&mut self) -> Result<bool>;

    /// Redoes one entry; false if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`History::redo`].
    fn redo(&mut self) -> Result<bool>;

    /// Undoes or redoes until `position` entries are applied.
    ///
    /// # Errors
    ///
    /// Those of [`History::go_to`].
    fn go_to(&mut self, position: usize) -> Result<()>;

    /// The value of a field of a target that is no world.
    ///
    /// # Errors
    ///
    /// Those of [`History::get_field`].
    fn get_field(&mut self, path: FieldPath) -> Result<Value>
    where
        Self::Target: Reflect;

    /// Sets a field of a target that is no world.
    ///
    /// # Errors
    ///
    /// Those of [`History::set_field`].
    fn set_field(&mut self, path: FieldPath, value: Value) -> Result<Value>
    where
        Self::Target: Reflect;

    /// Saves the target, if it knows where; false if it does not.
    ///
    /// # Errors
    ///
    /// Those of [`Session::save`].
    fn save(&mut self) -> Result<bool> {
        Ok(false)
    }

    /// True if [`save`](Self::save) saves.
    fn can_save(&self) -> bool {
        false
    }

    /// Why the journal cannot be written, if so.
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

    fn get_field(&mut self, path: FieldPath) -> Result<Value>
    where
        T: Reflect,
    {
        Self::get_field(self, path)
    }

    fn set_field(&mut self, path: FieldPath, value: Value) -> Result<Value>
    where
        T: Reflect,
    {
        Self::set_field(self, path, value)
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

    fn get_field(&mut self, path: FieldPath) -> Result<Value>
    where
        T: Reflect,
    {
        self.1.get_field(self.0, path)
    }

    fn set_field(&mut self, path: FieldPath, value: Value) -> Result<Value>
    where
        T: Reflect,
    {
        self.1.set_field(self.0, path, value)
    }
}
