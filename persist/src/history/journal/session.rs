//! A target with its history, its save and its journal.

use std::cell::RefCell;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::frame::header;
use super::writer::Writer;
use crate::history::{Command, Edit, History, HistoryEvent, Label, Subscription, Transaction};
use crate::{IntoFieldPath, ObjectId, Persist, Result, SaveManager, Value, World};

/// A `T` that is edited, of which a crash loses nothing.
///
/// It is loaded from a save, and every edit, undo and redo since is in a journal beside that. If the program is killed, the next
/// session has the target, what can be undone and redone, and where the save is in it, as they were. When it ends, the journal stays: the next session begins where
/// this one was, with its history. [`discard`](Self::discard) ends it without what was not saved.
///
/// It leads to its [`History`] for reading.
///
/// # Example
///
/// ```
/// use persist::{Command, CommandContext, History, Persist, Result, SaveManager, Session};
///
/// #[derive(Persist, Default)]
/// struct Document { title: String }
///
/// #[derive(Persist)]
/// struct Rename { title: String }
///
/// impl Command<Document> for Rename {
///     fn apply(&mut self, context: &mut CommandContext<'_, Document>) -> Result<()> {
///         std::mem::swap(&mut context.target().title, &mut self.title);
///         Ok(())
///     }
///     fn undo(&mut self, document: &mut Document) -> Result<()> {
///         std::mem::swap(&mut document.title, &mut self.title);
///         Ok(())
///     }
/// }
///
/// fn open(folder: &std::path::Path) -> Result<Session<Document>> {
///     let mut history = History::new(256);
///     history.register::<Rename>()?;
///     let session = Session::with(SaveManager::new(), history);
///     let (session, recovered) = session.open(folder.join("plan.sav"), folder.join("plan.journal"))?;
///     println!("{recovered}");
///     Ok(session)
/// }
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path();
/// let mut session = open(folder)?;
/// session.apply(Rename { title: "Plan".into() })?;
/// session.save()?;
/// session.apply(Rename { title: "Better plan".into() })?;
/// drop(session); // Or a crash.
///
/// let mut session = open(folder)?;
/// assert_eq!(session.target().title, "Better plan");
/// assert!(session.is_modified());
/// session.undo()?;
/// assert!(!session.is_modified());
/// session.undo()?;
/// assert_eq!(session.target().title, "");
/// # Ok::<(), persist::Error>(())
/// ```
pub struct Session<T: 'static = World> {
    pub(super) target: T,
    pub(super) history: History<T>,
    pub(super) saves: SaveManager,
    pub(super) journal: Rc<RefCell<Writer>>,
    /// Where the save is.
    pub(super) save: PathBuf,
}

impl<T: 'static> Session<T> {
    /// What is edited.
    #[must_use]
    pub fn target(&self) -> &T {
        &self.target
    }

    /// Its history, which the session also leads to.
    #[must_use]
    pub fn history(&self) -> &History<T> {
        &self.history
    }

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

    /// Why what was done last is not in the journal, if so. In a strict session nothing then can be done until that has passed; each edit
    /// tries again.
    #[must_use]
    pub fn journal_broken(&self) -> Option<String> {
        self.journal.borrow().broken().map(String::from)
    }

    /// Where the save is.
    #[must_use]
    pub fn save_path(&self) -> &Path {
        &self.save
    }

    /// The classes and settings of the saves.
    #[must_use]
    pub fn saves(&self) -> &SaveManager {
        &self.saves
    }

    /// Makes all that was done last on the disk, whatever the [`Flush`](super::Flush) policy is; a journal that could not be written is tried
    /// again.
    ///
    /// # Errors
    ///
    /// What keeps the journal from being written.
    pub fn flush(&mut self) -> Result<()> {
        self.journal.borrow_mut().flush()
    }

    /// To be called now and then, as in each frame: flushes when [`Flush::Every`](super::Flush::Every) says that it is time, and tries a journal again that could not be
    /// written.
    ///
    /// # Errors
    ///
    /// As [`flush`](Self::flush).
    pub fn tick(&mut self) -> Result<()> {
        self.journal.borrow_mut().tick()
    }

    /// Ends the session and gives back what it was made of. The journal stays as it is, and the next session begins there.
    #[must_use]
    pub fn into_parts(self) -> (T, History<T>, SaveManager) {
        let Self { target, mut history, saves, journal, .. } = self;
        history.recorder = None;
        history.around.end_journal();
        drop(journal);
        (target, history, saves)
    }

    /// Ends the session and removes the journal: the next one begins with the save as it is, and without a history.
    ///
    /// # Errors
    ///
    /// What keeps the journal from being removed; it then may still be there.
    pub fn discard(self) -> Result<()> {
        self.journal.borrow_mut().remove()
    }
}

impl<T: Persist> Session<T> {
    /// Saves the target, as [`SaveManager::save_value`] does, and begins a new journal that follows the save; the history stays.
    ///
    /// The new journal is written beside the old one before the save takes its place, and gets its name behind that: whenever the program is
    /// killed or the power goes, there are a save and a journal that belong together. If the journal cannot be written, the save is made all the same.
    ///
    /// # Errors
    ///
    /// [`OpenTransaction`](crate::ErrorKind::OpenTransaction) while a transaction is open; as [`SaveManager::save`]: the old save then is as it was, with its journal, but
    /// for a folder that cannot be flushed, which the message says.
    pub fn save(&mut self) -> Result<()> {
        self.history.check_no_transaction()?;
        let save = self.saves.encode_followed(&mut self.target)?;
        let frames = self.history.begin_journal(&self.target, true);
        let mut journal = self.journal.borrow_mut();
        // If it fails, the new journal cannot be written beside it, and waits in memory.
        let _ = journal.settle(Some(&self.save));
        let mut prepared = None;
        let replaced = self.saves.replace_followed(&self.save, &save, |digest| {
            let next = frames.and_then(|frames| journal.prepare(&header(Some(digest)), &frames));
            prepared = Some((next, *digest));
        });
        let Some((next, digest)) = prepared else { return replaced };
        let is_in_place = replaced.is_ok() || self.saves.is_in_place(&self.save, &digest);
        match next {
            Ok(next) if is_in_place => journal.adopt(next, replaced.is_ok()),
            Ok(next) => journal.give_up(next),
            Err(error) if is_in_place => {
                journal.lose(error.kind(), &format!("as it cannot hold the history, {error}"));
            }
            Err(_) => {}
        }
        drop(journal);
        if replaced.is_ok() {
            self.history.saved_here();
        }
        replaced
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

impl<T: 'static> Deref for Session<T> {
    type Target = History<T>;

    fn deref(&self) -> &History<T> {
        &self.history
    }
}

impl<T: 'static> fmt::Debug for Session<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("save", &self.save)
            .field("journal", &self.journal.borrow().path())
            .field("history", &self.history)
            .finish_non_exhaustive()
    }
}
