//! A target with its history, its save and its journal.

use std::any::Any;
use std::fmt;
use std::hash::Hash;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;

use hashbrown::HashSet;

use super::{
    Beginning, Frames, Journal, JournalWriter, NextSave, RecorderState, Since, program,
    push_contents, stored,
};
use crate::codec::Reflect;
use crate::fields::{ChangeState, IntoFieldPath};
use crate::format::Digest;
use crate::history::journal::frame::FrameKind;
use crate::history::journal::stored::{fields_of, payload};
use crate::history::journal::{
    FiledEntries, FollowedSave, SaveIdentity, SavedContent, Session, StoredEntry, StoredStacks,
    spill, value_bytes,
};
#[cfg(feature = "world")]
use crate::history::world::World;
use crate::history::{
    Capacity, Changed, Command, Drag, Editable, History, HistoryEvent, Label, MergeWindow,
    Recording, Subscription, recorded_as,
};
use crate::platform::held;
use crate::save::{SaveOutcome, SlotInfo};
use crate::storage::SessionSave;
use crate::{Error, ErrorKind, Loaded, Peek, Persist, Result, Saves, Value};

impl<T: 'static> Session<T> {
    /// Returns the target, for reading.
    #[must_use]
    pub fn target(&self) -> &T {
        &self.target
    }

    /// Returns the history, for menus and views.
    #[must_use]
    pub fn history(&self) -> &History<T> {
        &self.history
    }

    /// Returns why the journal cannot be written, if it cannot.
    ///
    /// Each edit tries again, and is refused while the cause persists.
    #[must_use]
    pub fn journal_broken(&self) -> Option<String> {
        self.journal()?.broken().map(String::from)
    }

    /// Returns the path of the save.
    #[must_use]
    pub fn save_path(&self) -> &Path {
        &self.save
    }

    /// Returns the classes and settings of the saves.
    #[must_use]
    pub fn saves(&self) -> &Saves {
        &self.saves
    }

    /// Flushes the journal to disk now, whatever the [`Flush`](crate::history::Flush) policy. Retries a journal that
    /// could not be written.
    ///
    /// # Errors
    ///
    /// Returns an error if the journal cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        self.writer()?.flush()
    }

    /// Flushes the journal if [`Flush::Every`](crate::history::Flush::Every) says that it is time.
    ///
    /// Call it regularly, for example in each frame. It also retries a journal that could not be written.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`flush`](Self::flush).
    pub fn tick(&mut self) -> Result<()> {
        self.writer()?.tick()
    }

    /// Ends the session and returns its parts. The journal stays, and the next session continues there.
    #[must_use]
    pub fn into_parts(self) -> (Loaded<T>, History<T>, Saves) {
        let Self { target, mut history, saves, .. } = self;
        history.journal = None;
        history.support.is_journaled = false;
        (target, history, saves)
    }

    /// Ends the session and removes the journal. The next session begins with the save alone, without a history.
    ///
    /// # Errors
    ///
    /// Returns an error if the journal cannot be removed, and it may then still exist. Returns
    /// [`InUse`](crate::ErrorKind::InUse) if another session has written to it, on systems without file locks.
    pub fn discard(mut self) -> Result<()> {
        self.writer()?.remove()
    }

    fn journal(&self) -> Option<&JournalWriter> {
        self.history.journal.as_ref().map(|journal| &journal.writer)
    }

    fn writer(&mut self) -> Result<&mut JournalWriter> {
        writer(&mut self.history.journal)
    }
}

/// The writer of the journal, which a session has until it ends.
fn writer(journal: &mut Option<Box<Journal>>) -> Result<&mut JournalWriter> {
    let journal = journal.as_mut().map(|journal| &mut journal.writer);
    journal.ok_or_else(|| Error::new(ErrorKind::Io, "the session has no journal any more"))
}

/// Returns an error if a save would replace one that the journal does not follow, unless the program asked for that.
fn check_followed(followed: &Mutex<FollowedSave>, overwrites: bool) -> Result<()> {
    let mut followed = held(followed);
    match followed.check() {
        SaveIdentity::Same | SaveIdentity::Saved => Ok(()),
        SaveIdentity::Changed if overwrites => Ok(()),
        SaveIdentity::Changed => Err(followed.conflict()),
        SaveIdentity::Unknown(error) => Err(error),
    }
}

/// Encodes the frames at the beginning of a journal: the current history, its entries and the contents that these need.
///
/// `is_saved` is true if the target is saved in its current state, and `content` is what the save has of it. The first
/// entries are those that are `filed` already, if there are any.
pub(super) fn begin<T: 'static>(
    history: &mut History<T>,
    target: &T,
    (is_saved, content): (bool, SavedContent),
    mut filed: FiledEntries,
) -> Result<Beginning> {
    let mut frames = vec![(FrameKind::Program, program(&history.support, target)?)];
    let saved = if is_saved { Some(history.state()) } else { history.states.saved };
    let stacks = StoredStacks {
        entries: history.ring.len() as u64,
        position: history.position() as u64,
        base: history.states.base,
        last_state: history.states.last,
        saved,
        poison: history.poison.clone(),
    };
    frames.push((FrameKind::Stacks, payload(&stacks)?));
    let mut entries = Frames::new();
    let position = history.position();
    for index in filed.count()..history.ring.len() {
        let done = history.poison.as_ref().and_then(|poison| poison.done_of(index));
        let Some(entry) = history.ring.get_mut(index) else { continue };
        let (label, count) = (entry.label.clone(), entry.steps.len());
        let done = done.unwrap_or(if index < position { count } else { 0 }).min(count);
        let (first, rest) = entry.steps.split_at_mut(done);
        let mut steps = stored(first, target, &history.support, ChangeState::Applied)?;
        steps.append(&mut stored(rest, target, &history.support, ChangeState::Undone)?);
        filed.needed.extend(fields_of(&steps));
        let entry = StoredEntry { label, state: entry.state, steps };
        entries.push((FrameKind::Entry, payload(&entry)?));
    }
    // The contents come before the entries: the last entry ends the beginning of a journal.
    let since = match content {
        SavedContent::Current => Since::Changes(Vec::new()),
        _ => Since::Nothing,
    };
    let needed = filed.needed.clone();
    let recorded = push_contents((target, &history.support), needed, since, &mut frames)?;
    if !filed.runs.is_empty() {
        frames.push((FrameKind::Earlier, payload(&filed.runs)?));
    }
    let count = entries.len();
    frames.append(&mut entries);
    Ok(Beginning { frames, entries: count, recorded, filed })
}

impl<T: Persist> Session<T> {
    /// Saves the target like [`Slot::save`](crate::save::Slot::save), and begins a new journal that follows the save, or
    /// a new part of the journal.
    ///
    /// The history stays. If most of it has not changed since the last save, only the rest is written.
    ///
    /// The new journal is written beside the old one before the save is replaced, and is renamed after that. So
    /// whenever the program is killed or the power fails, the disk has a save with a journal that follows it. If the
    /// journal cannot be written, the save is written all the same.
    ///
    /// # Errors
    ///
    /// Returns
    ///
    /// - [`OpenTransaction`](crate::ErrorKind::OpenTransaction) while a transaction is open;
    /// - [`InUse`](crate::ErrorKind::InUse) if another session has written to the journal, on systems without file
    ///   locks;
    /// - [`Conflict`](crate::ErrorKind::Conflict) if the save is not the one that the journal follows;
    /// - the errors of [`Slot::save`](crate::save::Slot::save). The old save and its journal are then as before, unless
    ///   the error is that of a folder that cannot be flushed, as its message says.
    ///
    /// `Conflict` means that another program has replaced or deleted the save, or created one where there was none.
    /// Nothing is replaced, and edits are refused with the same error. To continue, do one of these:
    ///
    /// - **Overwrite** it: [`overwrite`](Self::overwrite) replaces it, and keeps it as a backup.
    /// - **Keep both**: take the session apart by [`into_parts`](Self::into_parts), and save the target elsewhere.
    /// - **Reload**: drop the session and open it again. It loads the new save, and keeps a copy of the journal as
    ///   [`Recovered::kept`](crate::history::Recovered::kept) describes.
    ///
    /// If the system does not let the save be read at the moment, returns the error of the system. Nothing is replaced.
    pub fn save(&mut self) -> Result<SaveOutcome> {
        self.save_over(SlotInfo::default(), false)
    }

    /// Saves the target like [`save`](Self::save), with a title, a thumbnail and the like for a list of saves.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`save`](Self::save), and [`ErrorKind::TooLarge`] if the info is over
    /// [`Limits::metadata`](crate::Limits::metadata).
    pub fn save_with_info(&mut self, info: SlotInfo) -> Result<SaveOutcome> {
        self.save_over(info, false)
    }

    /// Saves the target like [`save`](Self::save), even if the save is not the one that the journal follows.
    ///
    /// The save that another program has put there becomes a backup, also where
    /// [`SaveOptions::backups`](crate::SaveOptions::backups) is 0.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`save`](Self::save), except for [`Conflict`](crate::ErrorKind::Conflict).
    pub fn overwrite(&mut self) -> Result<SaveOutcome> {
        self.save_over(SlotInfo::default(), true)
    }

    /// Saves the target. `overwrites` is true if a save of another program may be replaced.
    fn save_over(&mut self, info: SlotInfo, overwrites: bool) -> Result<SaveOutcome> {
        self.history.check_no_transaction()?;
        self.writer()?.check_own()?;
        if let Some(journal) = &mut self.history.journal {
            journal.decide()?;
        }
        check_followed(&self.writer()?.followed(), overwrites)?;
        let save = self.saves.encode_followed(&mut self.target)?;
        let history = &mut self.history;
        if let Some(journal) = &mut history.journal {
            // If this fails, the new journal cannot be written beside it, and waits in memory.
            let _ = journal.writer.settle();
            journal.writer.write_deferred();
        }
        let unchanged = history.ring.mark_unchanged();
        let support = (&*self.target, &history.support);
        let filed = history.journal.as_mut().map(|journal| journal.take_filed(support, unchanged));
        let filed = filed.unwrap_or_default();
        let mut entries = filed.count()..history.ring.len();
        let read =
            entries.try_for_each(|index| spill::load_entry(history, index, &mut self.target));
        let limits = self.saves.bounds();
        let content = || value_bytes(&save, limits).ok()?;
        let saved = SavedContent::of(&*self.target, &history.support, content);
        let begun = read.and_then(|()| begin(history, &self.target, (true, saved), filed));
        let journal = writer(&mut history.journal)?;
        let mut prepared = None;
        let followed = journal.followed();
        let mut check = || check_followed(&followed, overwrites);
        let mut session = SessionSave { check: &mut check, stamp: None, is_in_place: Some(false) };
        let backups = u32::from(overwrites);
        // It is called again after the disk was full and backups were removed.
        let mut prepare = |digest: &Digest| {
            let next = begun.as_ref().map(|begun| journal.prepare(digest, begun));
            prepared = Some((*digest, next.ok()));
        };
        let how = (info, backups);
        let replaced =
            self.saves.replace_followed(&self.save, &save, how, &mut session, &mut prepare);
        let SessionSave { stamp, is_in_place, .. } = session;
        let Some((digest, next)) = prepared else { return replaced };
        let begun = begun.and_then(|begun| {
            let (next, runs) = next.unwrap_or_else(|| unreachable!("there is a beginning"))?;
            let filed = FiledEntries { runs, needed: begun.filed.needed };
            Ok((next, (begun.recorded, saved, filed)))
        });
        let Some(journal) = &mut history.journal else { return replaced };
        let (next, recorded) = match begun {
            Ok((next, recorded)) => (Ok(next), recorded),
            Err(error) => (Err(error), (HashSet::new(), saved, FiledEntries::default())),
        };
        let state = RecorderState::new((&*self.target, &history.support), recorded);
        let save = NextSave { digest, stamp, journal: next, state };
        journal.finish_save(save, is_in_place, replaced.is_ok());
        // If it is still unknown whether the save is in place, the next edit checks again.
        let _ = journal.decide();
        if is_in_place != Some(false) {
            // The last edit is only known to the old journal, so nothing may be merged into it.
            history.merges.last = None;
        }
        let is_journaled = journal.writer.broken().is_none();
        if replaced.is_ok() {
            self.history.note_saved(Some(self.history.state()));
        }
        replaced.map(|outcome| if is_journaled { outcome } else { SaveOutcome::SavedUnjournaled })
    }
}

/// Defines methods that call the method of the history with the same name, with the target if it takes one.
macro_rules! of_history {
    ($end:literal $(
        $(#[$more:meta])*
        $name:ident $(<$($of:ident),*>)? $([$with:ident])? ($($value:ident: $type:ty),*) -> $result:ty
        $(where $what:ident: $is:path)?;
    )*) => {
        $(
            #[doc = concat!("Like [`History::", stringify!($name), "`], with the target of the session.")]
            $(#[$more])*
            #[doc = $end]
            pub fn $name $(<$($of),*>)? (&mut self, $($value: $type),*) -> $result
            $(where $what: $is)?
            {
                self.history.$name($(&mut self.$with,)? $($value),*)
            }
        )*
    };
}

/// The methods that change a session. Edits that cannot be written to the journal are rolled back, and return an error.
impl<T: 'static> Session<T> {
    of_history! {
        "\n# Errors\n\nReturns the same errors as the method of the history, and an error if the journal cannot be written."
        /// The class of the command must be [registered](crate::history::SessionOptions::register_command).
        apply[target](command: impl Command<T>) -> Result<()>;
        undo[target]() -> Result<bool>;
        redo[target]() -> Result<bool>;
        go_to[target](position: usize) -> Result<()>;
        /// A transaction that is open when the program ends is rolled back in the next session.
        begin(label: impl Into<Label>) -> Result<()>;
        commit[target]() -> Result<()>;
        rollback[target]() -> Result<()>;
        /// A [`save`](Self::save) calls this itself.
        set_modified(is_modified: bool) -> Result<()>;
        clear[target]() -> Result<()>;
        skip_entry[target]() -> Result<()>;
        /// If the target was left half done, the journal does not have its state: [save](Self::save) first.
        drop_entry[target]() -> Result<()>;
        cancel_drag[target](drag: Drag) -> Result<()>;
    }

    of_history! {
        ""
        /// Edits of the drag survive a crash, which ends the drag.
        begin_drag(label: impl Into<Label>) -> Drag;
        end_drag(drag: Drag) -> ();
        set_capacity[target](capacity: impl Into<Capacity>) -> ();
        set_merge_window(window: impl Into<MergeWindow>) -> ();
        /// To receive [`HistoryEvent::Recovered`], subscribe to the history before the session is opened.
        subscribe(listener: impl FnMut(&HistoryEvent, &History<T>) + Send + 'static) -> Subscription;
        subscribe_changes(listener: impl FnMut(&mut T, &[Changed<'_>]) + Send + 'static) -> Subscription;
    }

    of_history! {
        "\n# Errors\n\nReturns the same errors as the method of the history. If the journal cannot be written, the edit is rolled back."
        edit<R>[target](label: impl Into<Label>, edit: impl FnOnce(&mut T::Edit<'_>) -> Result<R>) -> Result<R> where T: Editable;
        edit_merging<R>[target](key: impl Hash, label: impl Into<Label>, edit: impl FnOnce(&mut T::Edit<'_>) -> Result<R>) -> Result<R> where T: Editable;
    }
}

impl<T: 'static> Session<T> {
    /// Runs a closure in a transaction, like [`History::transaction`]: all edits of the session in it become one entry.
    ///
    /// ```
    /// use persist::{History, Persist, Saves, Session, field};
    ///
    /// #[derive(Persist, Default)]
    /// struct Document { title: String, lines: Vec<String> }
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (save, journal) = (folder.path().join("plan.sav"), folder.path().join("plan.journal"));
    /// let session = Session::<Document>::with(Saves::new(), History::new(256));
    /// let (mut session, _) = session.open(&save, &journal)?;
    /// session.transaction("Paste", |session| {
    ///     session.set_field(field!(Document.title), "Plan")?;
    ///     session.insert_element(field!(Document.lines), 0, "Once upon a time")
    /// })?;
    /// session.undo()?;
    /// assert!(session.target().title.is_empty());
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error of the closure, and an error if the journal cannot be written. All edits are rolled back then.
    pub fn transaction<R>(
        &mut self,
        label: impl Into<Label>,
        run: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let depth = self.history.open.len();
        self.begin(label)?;
        let result = catch_unwind(AssertUnwindSafe(|| run(self)));
        self.history.end_transaction(&mut self.target, depth, result)
    }

    /// Runs edits that leave the target unmodified, such as those of a selection. See [`History::insignificant`].
    pub fn insignificant<R>(&mut self, run: impl FnOnce(&mut Self) -> R) -> R {
        recorded_as(self, |session| &mut session.history, Recording::Insignificant, run)
    }

    /// Runs edits that become no entries, such as those of a camera. See [`History::aside`].
    pub fn aside<R>(&mut self, run: impl FnOnce(&mut Self) -> R) -> R {
        recorded_as(self, |session| &mut session.history, Recording::Aside, run)
    }
}

impl<T: Reflect> Session<T> {
    of_history! {
        "\n# Errors\n\nReturns the same errors as the method of the history."
        get_field[target](path: impl IntoFieldPath) -> Result<Value>;
        peek_field[target](path: impl IntoFieldPath, range: Range<usize>) -> Result<Peek>;
    }

    of_history! {
        "\n# Errors\n\nReturns the same errors as the method of the history. If the journal cannot be written, the edit is rolled back."
        set_field[target](path: impl IntoFieldPath, value: impl Into<Value>) -> Result<Value>;
        edit_at<P, R>[target](path: impl IntoFieldPath, label: impl Into<Label>, edit: impl FnOnce(&mut P) -> Result<R>) -> Result<R> where P: Any;
        edit_at_merging<P, R>[target](key: impl Hash, path: impl IntoFieldPath, label: impl Into<Label>, edit: impl FnOnce(&mut P) -> Result<R>) -> Result<R> where P: Any;
        set_field_merging[target](key: impl Hash, path: impl IntoFieldPath, value: impl Into<Value>) -> Result<Value>;
        insert_element[target](list: impl IntoFieldPath, index: usize, value: impl Into<Value>) -> Result<()>;
        remove_element[target](list: impl IntoFieldPath, index: usize) -> Result<()>;
        remove_key[target](key: impl IntoFieldPath) -> Result<Value>;
        splice[target](list: impl IntoFieldPath, range: Range<usize>, values: impl IntoIterator<Item = Value>) -> Result<()>;
        move_element[target](list: impl IntoFieldPath, from: usize, to: usize) -> Result<()>;
    }
}

#[cfg(feature = "world")]
impl Session<World> {
    /// Returns the world, for reading.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.target
    }

    of_history! {
        "\n# Errors\n\nReturns the same errors as the method of the history. If the journal cannot be written, the edit is rolled back."
        set[target](object: impl Into<Option<crate::ObjectId>>, path: impl IntoFieldPath, value: impl Into<Value>) -> Result<Value>;
    }
}

impl<T: 'static> fmt::Debug for Session<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("save", &self.save)
            .field("journal", &self.journal().map(JournalWriter::path))
            .field("history", &self.history)
            .finish_non_exhaustive()
    }
}
