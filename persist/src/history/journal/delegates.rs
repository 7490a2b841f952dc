//! The methods of a history that a session has, each with its target.

use std::any::Any;
use std::hash::Hash;

use super::Session;
use crate::codec::Reflect;
use crate::fields::IntoFieldPath;
use crate::history::{
    Capacity, Command, Drag, Editable, History, HistoryEvent, Label, MergeWindow, Subscription,
};
use crate::{ObjectId, Persist, Result, Value, World};

/// Each as the method of this name, which gets the target if it wants one.
macro_rules! of_history {
    ($end:literal $($(#[$more:meta])* $name:ident $([$with:ident])? ($($value:ident: $of:ty),*) -> $result:ty;)*) => {
        $(
            #[doc = concat!("Like [`History::", stringify!($name), "`], with the target of the session.")]
            $(#[$more])*
            #[doc = $end]
            pub fn $name(&mut self, $($value: $of),*) -> $result {
                self.history.$name($(&mut self.$with,)? $($value),*)
            }
        )*
    };
}

/// The methods that change a session are those of its [`History`]. What cannot be written to the journal is rolled back, and is an error.
impl<T: 'static> Session<T> {
    of_history! {
        "\n# Errors\n\nThose of the method of the history; whatever keeps the journal from being written."
        /// The class of the command must be [registered](super::SessionOptions::register).
        apply[target](command: impl Command<T>) -> Result<()>;
        undo[target]() -> Result<bool>;
        redo[target]() -> Result<bool>;
        go_to[target](position: usize) -> Result<()>;
        /// A transaction that is open when the program ends is rolled back in the next session.
        begin(label: impl Into<Label>) -> Result<()>;
        commit[target]() -> Result<()>;
        rollback[target]() -> Result<()>;
        /// [`save`](Self::save) does this itself.
        set_modified(is_modified: bool) -> Result<()>;
        clear[target]() -> Result<()>;
        skip_entry[target]() -> Result<()>;
        /// Where the target was left half done, the journal does not know it: [save](Self::save) first.
        drop_entry[target]() -> Result<()>;
    }

    of_history! {
        ""
        /// What was done in it is kept in a crash, and the drag is over then.
        begin_drag(label: impl Into<Label>) -> Drag;
        end_drag(drag: Drag) -> ();
        set_capacity[target](capacity: impl Into<Capacity>) -> ();
        set_merge_window(window: impl Into<MergeWindow>) -> ();
        /// To hear of what is recovered, subscribe to the history before the session is opened.
        subscribe(listener: impl FnMut(&HistoryEvent, &History<T>) + Send + 'static) -> Subscription;
    }

    /// Like [`History::edit`], with the target of the session.
    ///
    /// # Errors
    ///
    /// Those of [`History::edit`]; whatever keeps the journal from being written. The edit is then rolled back.
    pub fn edit<R>(
        &mut self,
        label: impl Into<Label>,
        edit: impl FnOnce(&mut T::Edit<'_>) -> Result<R>,
    ) -> Result<R>
    where
        T: Editable,
    {
        self.history.edit(&mut self.target, label, edit)
    }

    /// Like [`History::edit_merging`], with the target of the session.
    ///
    /// # Errors
    ///
    /// Those of [`edit`](Self::edit).
    pub fn edit_merging<R>(
        &mut self,
        key: impl Hash,
        label: impl Into<Label>,
        edit: impl FnOnce(&mut T::Edit<'_>) -> Result<R>,
    ) -> Result<R>
    where
        T: Editable,
    {
        self.history.edit_merging(&mut self.target, key, label, edit)
    }

    /// Sets what stands in the headers of the saves from the next one on, as [`SaveManager::set_metadata`](crate::SaveManager::set_metadata).
    ///
    /// # Errors
    ///
    /// Those of [`SaveManager::set_metadata`](crate::SaveManager::set_metadata).
    pub fn set_metadata<M: Persist>(&mut self, metadata: &M) -> Result<()> {
        self.saves.set_metadata(metadata)
    }
}

impl<T: Reflect> Session<T> {
    /// Like [`History::set_field`].
    ///
    /// # Errors
    ///
    /// Those of [`History::set_field`] and of [`edit`](Self::edit).
    pub fn set_field(
        &mut self,
        path: impl IntoFieldPath,
        value: impl Into<Value>,
    ) -> Result<Value> {
        self.history.set_field(&mut self.target, path, value)
    }

    /// Like [`History::edit_at`].
    ///
    /// # Errors
    ///
    /// Those of [`History::edit_at`] and of [`edit`](Self::edit).
    pub fn edit_at<P: Any, R>(
        &mut self,
        path: impl IntoFieldPath,
        label: impl Into<Label>,
        edit: impl FnOnce(&mut P) -> Result<R>,
    ) -> Result<R> {
        self.history.edit_at(&mut self.target, path, label, edit)
    }
}

impl Session<World> {
    /// The world that is edited.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.target
    }

    /// Like [`History::set`], with the world of the session: sets a field of a component, or of a resource with `None`.
    ///
    /// # Errors
    ///
    /// Those of [`History::set`] and of [`edit`](Self::edit).
    pub fn set(
        &mut self,
        object: impl Into<Option<ObjectId>>,
        path: impl IntoFieldPath,
        value: impl Into<Value>,
    ) -> Result<Value> {
        self.history.set(&mut self.target, object, path, value)
    }
}
