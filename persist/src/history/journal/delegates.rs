//! What a session does by its history.

use std::time::Duration;

use super::Session;
use crate::fields::IntoFieldPath;
use crate::history::{
    Command, Edit, History, HistoryEvent, Label, OnMissing, Proof, Subscription, Transaction,
};
use crate::{ObjectId, Persist, Result, Value, World};

impl<T: 'static> Session<T> {
    /// Like [`History::edit`].
    ///
    /// # Errors
    ///
    /// Those of [`History::edit`]; whatever keeps the journal from being written. The edit is then rolled back if the
    /// session is [strict](super::SessionOptions::strict).
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

    /// Like [`History::transaction`].
    ///
    /// # Errors
    ///
    /// Those of [`History::transaction`].
    pub fn transaction(&mut self, label: impl Into<Label>) -> Result<Transaction<'_, T>> {
        self.history.transaction(&mut self.target, label)
    }

    /// Like [`History::set_barrier`].
    pub fn set_barrier(&mut self) {
        self.history.set_barrier();
    }

    /// Like [`History::set_floor`].
    ///
    /// # Errors
    ///
    /// Those of [`History::set_floor`].
    pub fn set_floor(&mut self) -> Result<()> {
        self.history.set_floor()
    }

    /// Like [`History::lift_floor`].
    ///
    /// # Errors
    ///
    /// Those of [`History::lift_floor`].
    pub fn lift_floor(&mut self) -> Result<bool> {
        self.history.lift_floor()
    }

    /// Like [`History::clear_floors`].
    ///
    /// # Errors
    ///
    /// Those of [`History::clear_floors`].
    pub fn clear_floors(&mut self) -> Result<()> {
        self.history.clear_floors()
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

    /// Like [`History::skip_entry`]. What was done up to then cannot be in the journal: a session that is strict must [save](Self::save) first.
    ///
    /// # Errors
    ///
    /// Those of [`History::skip_entry`].
    pub fn skip_entry(&mut self) -> Result<()> {
        self.history.skip_entry(&mut self.target)
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

    /// Like [`History::set_on_missing`].
    pub fn set_on_missing(&mut self, on_missing: OnMissing) {
        self.history.set_on_missing(on_missing);
    }

    /// Like [`History::retry_spilled`].
    pub fn retry_spilled(&mut self) {
        self.history.retry_spilled();
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
