//! What a session does by its history.

use std::time::Duration;

use super::Session;
use crate::fields::IntoFieldPath;
use crate::history::{Command, Edit, History, HistoryEvent, Label, Proof, Subscription};
use crate::{ObjectId, Persist, Result, Value, World};

impl<T: 'static> Session<T> {
    /// Like [`History::edit`].
    ///
    /// # Errors
    ///
    /// Those of [`History::edit`]; whatever keeps the journal from being written. The edit is then rolled back.
    pub fn edit<R>(
        &mut self,
        label: impl Into<Label>,
        edit: impl FnOnce(&mut Edit<'_, T>) -> Result<R>,
    ) -> Result<R> {
        self.history.edit(&mut self.target, label, edit)
    }

    /// Like [`History::apply`]. The class of the command must be [registered](History::register).
    ///
    /// # Errors
    ///
    /// Those of [`edit`](Self::edit).
    pub fn apply(&mut self, command: impl Command<T>) -> Result<()> {
        self.history.apply(&mut self.target, command)
    }

    /// Like [`History::undo`].
    ///
    /// # Errors
    ///
    /// Those of [`History::undo`] and of [`edit`](Self::edit).
    pub fn undo(&mut self) -> Result<bool> {
        self.history.undo(&mut self.target)
    }

    /// Like [`History::redo`].
    ///
    /// # Errors
    ///
    /// Those of [`History::redo`] and of [`edit`](Self::edit).
    pub fn redo(&mut self) -> Result<bool> {
        self.history.redo(&mut self.target)
    }

    /// Like [`History::go_to`].
    ///
    /// # Errors
    ///
    /// Those of [`History::go_to`] and of [`edit`](Self::edit).
    pub fn go_to(&mut self, position: usize) -> Result<()> {
        self.history.go_to(&mut self.target, position)
    }

    /// Like [`History::begin`]. A transaction that is open when the program ends is rolled back in the next session.
    ///
    /// # Errors
    ///
    /// Those of [`History::begin`].
    pub fn begin(&mut self, label: impl Into<Label>) -> Result<()> {
        self.history.begin(label)
    }

    /// Like [`History::commit`].
    ///
    /// # Errors
    ///
    /// Those of [`History::commit`].
    pub fn commit(&mut self) -> Result<()> {
        self.history.commit(&mut self.target)
    }

    /// Like [`History::rollback`].
    ///
    /// # Errors
    ///
    /// Those of [`History::rollback`].
    pub fn rollback(&mut self) -> Result<()> {
        self.history.rollback(&mut self.target)
    }

    /// Like [`History::set_barrier`].
    pub fn set_barrier(&mut self) {
        self.history.set_barrier();
    }

    /// Like [`History::mark_unsaved`].
    ///
    /// # Errors
    ///
    /// Those of [`History::mark_unsaved`].
    pub fn mark_unsaved(&mut self) -> Result<()> {
        self.history.mark_unsaved()
    }

    /// Like [`History::clear`].
    ///
    /// # Errors
    ///
    /// Those of [`History::clear`].
    pub fn clear(&mut self) -> Result<()> {
        self.history.clear(&mut self.target)
    }

    /// Like [`History::skip_entry`].
    ///
    /// # Errors
    ///
    /// Those of [`History::skip_entry`].
    pub fn skip_entry(&mut self) -> Result<()> {
        self.history.skip_entry(&mut self.target)
    }

    /// Like [`History::drop_entry`]. Where the target was left half done, the journal does not know it: [save](Self::save) first.
    ///
    /// # Errors
    ///
    /// Those of [`History::drop_entry`].
    pub fn drop_entry(&mut self) -> Result<()> {
        self.history.drop_entry(&mut self.target)
    }

    /// Like [`History::set_capacity`].
    pub fn set_capacity(&mut self, capacity: Option<usize>) {
        self.history.set_capacity(&mut self.target, capacity);
    }

    /// Like [`History::set_max_bytes`].
    pub fn set_max_bytes(&mut self, bytes: Option<usize>) {
        self.history.set_max_bytes(&mut self.target, bytes);
    }

    /// Like [`History::set_merge_window`].
    pub fn set_merge_window(&mut self, window: Option<Duration>) {
        self.history.set_merge_window(window);
    }

    /// Sets what stands in the headers of the saves from the next one on, as [`SaveManager::set_metadata`](crate::SaveManager::set_metadata).
    ///
    /// # Errors
    ///
    /// Those of [`SaveManager::set_metadata`](crate::SaveManager::set_metadata).
    pub fn set_metadata<M: Persist>(&mut self, metadata: &M) -> Result<()> {
        self.saves.set_metadata(metadata)
    }

    /// Like [`History::subscribe`]; to hear of what is recovered, subscribe to the history before the session is opened.
    pub fn subscribe(
        &mut self,
        listener: impl FnMut(&HistoryEvent, &History<T>) + 'static,
    ) -> Subscription {
        self.history.subscribe(listener)
    }

    /// Like [`History::unsubscribe`].
    pub fn unsubscribe(&mut self, subscription: Subscription) -> bool {
        self.history.unsubscribe(subscription)
    }
}

impl<T: Persist> Session<T> {
    /// Like [`History::set_proof`].
    pub fn set_proof(&mut self, proof: Proof) {
        self.history.set_proof(proof);
    }
}

impl Session<World> {
    /// The world that is edited.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.target
    }

    /// Like [`History::set`].
    ///
    /// # Errors
    ///
    /// Those of [`History::set`] and of [`edit`](Self::edit).
    pub fn set(
        &mut self,
        object: ObjectId,
        path: impl IntoFieldPath,
        value: impl Into<Value>,
    ) -> Result<Value> {
        self.history.set(&mut self.target, object, path, value)
    }
}
