//! What a session does by its history.

use std::time::Duration;

use super::Session;
use crate::history::{
    Command, Edit, History, HistoryEvent, Label, OnMissing, Proof, Subscription, Transaction,
};
use crate::world::IntoFieldPath;
use crate::{ObjectId, Persist, Result, Value, World};

impl<T: 'static> Session<T> {
    /// As [`History::edit`].
    ///
    /// # Errors
    ///
    /// As there; what keeps the journal from being written, and the edit then is taken back if the session is
    /// [strict](super::SessionOptions::strict).
    pub fn edit<R>(
        &mut self,
        label: impl Into<Label>,
        edit: impl FnOnce(&mut Edit<'_, T>) -> Result<R>,
    ) -> Result<R> {
        self.history.edit(&mut self.target, label, edit)
    }

    /// As [`History::apply`]. The class of the command must be [registered](History::register).
    ///
    /// # Errors
    ///
    /// As [`edit`](Self::edit).
    pub fn apply(&mut self, command: impl Command<T>) -> Result<()> {
        self.history.apply(&mut self.target, command)
    }

    /// As [`History::undo`].
    ///
    /// # Errors
    ///
    /// As there, and as [`edit`](Self::edit).
    pub fn undo(&mut self) -> Result<bool> {
        self.history.undo(&mut self.target)
    }

    /// As [`History::redo`].
    ///
    /// # Errors
    ///
    /// As there, and as [`edit`](Self::edit).
    pub fn redo(&mut self) -> Result<bool> {
        self.history.redo(&mut self.target)
    }

    /// As [`History::go_to`].
    ///
    /// # Errors
    ///
    /// As there, and as [`edit`](Self::edit).
    pub fn go_to(&mut self, position: usize) -> Result<()> {
        self.history.go_to(&mut self.target, position)
    }

    /// As [`History::begin`]. A transaction that is open when the program ends is rolled back in the next session.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn begin(&mut self, label: impl Into<Label>) -> Result<()> {
        self.history.begin(label)
    }

    /// As [`History::commit`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn commit(&mut self) -> Result<()> {
        self.history.commit(&mut self.target)
    }

    /// As [`History::rollback`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn rollback(&mut self) -> Result<()> {
        self.history.rollback(&mut self.target)
    }

    /// As [`History::transaction`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn transaction(&mut self, label: impl Into<Label>) -> Result<Transaction<'_, T>> {
        self.history.transaction(&mut self.target, label)
    }

    /// As [`History::set_barrier`].
    pub fn set_barrier(&mut self) {
        self.history.set_barrier();
    }

    /// As [`History::set_floor`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn set_floor(&mut self) -> Result<()> {
        self.history.set_floor()
    }

    /// As [`History::lift_floor`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn lift_floor(&mut self) -> Result<bool> {
        self.history.lift_floor()
    }

    /// As [`History::clear_floors`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn clear_floors(&mut self) -> Result<()> {
        self.history.clear_floors()
    }

    /// As [`History::mark_unsaved`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn mark_unsaved(&mut self) -> Result<()> {
        self.history.mark_unsaved()
    }

    /// As [`History::clear`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn clear(&mut self) -> Result<()> {
        self.history.clear(&mut self.target)
    }

    /// As [`History::skip_entry`]. What was done up to then cannot be in the journal: a session that is strict must [save](Self::save) first.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn skip_entry(&mut self) -> Result<()> {
        self.history.skip_entry(&mut self.target)
    }

    /// As [`History::set_capacity`].
    pub fn set_capacity(&mut self, capacity: Option<usize>) {
        self.history.set_capacity(&mut self.target, capacity);
    }

    /// As [`History::set_max_bytes`].
    pub fn set_max_bytes(&mut self, bytes: Option<usize>) {
        self.history.set_max_bytes(&mut self.target, bytes);
    }

    /// As [`History::set_merge_window`].
    pub fn set_merge_window(&mut self, window: Option<Duration>) {
        self.history.set_merge_window(window);
    }

    /// As [`History::set_on_missing`].
    pub fn set_on_missing(&mut self, on_missing: OnMissing) {
        self.history.set_on_missing(on_missing);
    }

    /// As [`History::retry_spilled`].
    pub fn retry_spilled(&mut self) {
        self.history.retry_spilled();
    }

    /// Sets what stands in the headers of the saves from the next one on, as [`SaveManager::set_metadata`](crate::SaveManager::set_metadata).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn set_metadata<M: Persist>(&mut self, metadata: &M) -> Result<()> {
        self.saves.set_metadata(metadata)
    }

    /// As [`History::subscribe`]; to hear of what is recovered, subscribe to the history before the session is opened.
    pub fn subscribe(
        &mut self,
        listener: impl FnMut(&HistoryEvent, &History<T>) + 'static,
    ) -> Subscription {
        self.history.subscribe(listener)
    }

    /// As [`History::unsubscribe`].
    pub fn unsubscribe(&mut self, subscription: Subscription) -> bool {
        self.history.unsubscribe(subscription)
    }
}

impl<T: Persist> Session<T> {
    /// As [`History::set_proof`].
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

    /// As [`History::set`].
    ///
    /// # Errors
    ///
    /// As there, and as [`edit`](Self::edit).
    pub fn set(
        &mut self,
        object: ObjectId,
        path: impl IntoFieldPath,
        value: impl Into<Value>,
    ) -> Result<Value> {
        self.history.set(&mut self.target, object, path, value)
    }
}
