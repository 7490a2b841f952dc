//! How a session is opened: the save is loaded, and its journal is found, locked and replayed.
//!
//! A save replaces the journal by writing a new one under another name. So an interrupted save leaves two journals.
//! Only one of them follows the save. The digest of the save in the header of a journal decides. Any journal that has
//! edits and is not continued is copied, so that nothing is overwritten that somebody may need.

use std::any::TypeId;
use std::cmp::Reverse;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::HashSet;

use super::session::begin;
use super::{Journal, JournalWriter, RecorderState, program};
use crate::fields::EditedWorld as _;
use crate::format::Digest;
use crate::history::editable::check_recordable;
use crate::history::journal::evolution::Programs;
use crate::history::journal::evolution::replay::{self, reset};
use crate::history::journal::frame::{FrameKind as Frame, FrameReader, header};
use crate::history::journal::recovered::{JournalInfo, Recovered, ReplayStop};
use crate::history::journal::stored::StoredEvicted;
use crate::history::journal::writer::{cannot_write, in_use, keep};
use crate::history::journal::{
    Chosen, CommandClass, FiledEntries, Flush, FollowedSave, JournalScan, Locks, ReplayOutcome,
    SavedContent, Session, Spill, encode, saved_content,
};
use crate::history::{Command, History, HistoryEvent, world};
use crate::reflect::Kind;
use crate::sorting::sort_by;
use crate::storage::{Storage, has_no_lock, names, read_save};
use crate::{Error, ErrorKind, Loaded, Persist, Result, Saves, trace};

/// The settings of a [`Session`] that is about to be opened: see [`Session::with`].
pub struct SessionOptions<T: 'static> {
    saves: Saves,
    history: History<T>,
    flush: Flush,
    memory: Option<usize>,
}

impl<T: Persist + Default> Session<T> {
    /// Returns the settings of a session with the classes of these saves and this history.
    ///
    /// The history must have no entries; its limits and listeners are used. Register the component classes of a world
    /// in the saves, as for [`Slot::load`](crate::save::Slot::load), and the classes of commands by
    /// [`SessionOptions::register_command`]. Clones of the saves share their classes.
    #[must_use]
    pub fn with(saves: Saves, history: History<T>) -> SessionOptions<T> {
        SessionOptions { saves, history, flush: Flush::default(), memory: None }
    }
}

impl<T: 'static> SessionOptions<T> {
    /// Registers a class of commands, so that the journal can hold them and a later session can replay them.
    ///
    /// If a command has trait objects, register their classes by [`register_as`](Self::register_as). Commands cannot
    /// hold shared pointers.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Registry::register`](crate::graph::Registry::register).
    pub fn register_command<C: Command<T> + Persist>(mut self) -> Result<Self> {
        let History { support, commands, .. } = &mut self.history;
        let class = support.registry.register_value::<C>()?;
        support.commands.insert(TypeId::of::<C>(), (class, encode::<C>));
        commands.insert(class, CommandClass::new::<C>());
        Ok(self)
    }

    /// Registers class `C` as an implementor of a trait whose trait objects are fields of commands.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Registry::register_as`](crate::graph::Registry::register_as).
    pub fn register_as<C, D>(mut self) -> Result<Self>
    where
        C: Persist + crate::codec::Pointee,
        D: ?Sized + crate::codec::Implements<C>,
    {
        self.history.support.registry.register_as::<C, D>()?;
        Ok(self)
    }
}

impl<T: Persist + Default> SessionOptions<T> {
    /// Sets when the journal is flushed to disk. The default is [`Flush::EveryEdit`].
    #[must_use]
    pub fn flush(mut self, flush: Flush) -> Self {
        self.flush = flush;
        self
    }

    /// Keeps about `bytes` bytes of entries in memory, and moves other entries to files beside the journal.
    ///
    /// The entries that are furthest from the current one are moved. An undo or a redo that reaches them reads them
    /// back. The files are removed at the end of the session. 32 bytes of a moved entry stay in memory, and so do
    /// detached components, resources and objects. [`History::entries`] reads the labels of moved entries.
    ///
    /// If a file cannot be written, the entries stay in memory. If one cannot be read, the `undo` or `redo` that needs
    /// it returns an error, and the next call tries again.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Loads the save and replays the journal, so that target and history are as they were.
    ///
    /// If there is no save, the session begins with an empty target. The journal is locked until the session ends.
    /// Edits that cannot be replayed are not lost: see [`Recovered`].
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::InUse`] if another session has the journal open; [`inspect`](Self::inspect) still reads it;
    /// - [`ErrorKind::Unsupported`] if the type of the target holds shared pointers, with the name of the field;
    /// - the errors of a load, if the save cannot be loaded;
    /// - [`ErrorKind::NewerFormat`] or [`ErrorKind::NotASave`] if the journal is one of a newer program, or not a
    ///   journal;
    /// - an error if the journal cannot be read or written. But on a full or read-only disk the session opens, and the
    ///   first edit is refused.
    ///
    /// After an error, all files are as before.
    pub fn open(
        self,
        save: impl AsRef<Path>,
        journal: impl AsRef<Path>,
    ) -> Result<(Session<T>, Recovered)> {
        let Self { saves, mut history, flush, memory } = self;
        if history.len() > 0 || history.is_open() || history.journal.is_some() {
            return Err(Error::new(
                ErrorKind::InvalidValue,
                "the history of a session begins without entries; give it a new one",
            ));
        }
        history.support.registry.context = saves.shared_context();
        if let Kind::Class(class) = T::persist_kind()
            && history.support.know_fields().is_ok()
        {
            // Commands need no fields of their target. A target without field records is refused at its first edit.
            check_recordable(&history.support.registry, &class().name())?;
        }
        let storage = saves.disk();
        let (save, journal) = resolve(&*storage, save.as_ref(), journal.as_ref())?;
        // A save in the background would find the save locked.
        saves.settle(&save);
        let locks = lock(&*storage, &save, &journal)?;
        // If this fails, the first write of the journal removes it.
        let _ = storage.remove(&names::temporary(&journal));

        if let Some(bytes) = memory {
            let mut path = journal.as_os_str().to_owned();
            path.push(".spill");
            history.spill =
                Some(Spill::new(Arc::clone(&storage), path.into(), save.clone(), bytes));
        }
        let mut followed = FollowedSave::new(Arc::clone(&storage), save.clone(), saves.bounds());
        let (mut target, digest) = saves.load_followed::<T>(&save)?;
        let report = digest.map(|_| target.report().clone());
        followed.loaded(digest, report.as_ref());
        let content = || saved_content(&*storage, &save, &digest?, saves.bounds());
        let mut saved = SavedContent::of(&*target, &history.support, content);
        let mut recovered = Recovered { report, ..Recovered::default() };
        let (chosen, mut unkept) = choose(&*storage, &journal, digest.as_ref(), &mut recovered)?;
        // The journal that could not be read is not the one that is replayed.
        let stopped = recovered.stopped.take();
        let end = match &chosen {
            Some(chosen) => {
                let target = (&mut target, digest);
                recover(&saves, &mut history, &save, target, chosen, &mut recovered)?
            }
            None => None,
        };
        if end.is_none() {
            // A replay reports the loaded target when it begins.
            history.report_all(&mut target);
        }
        let is_stopped = recovered.stopped.is_some() || end.is_none();
        // A later program may be able to replay the skipped steps: this one may have forgotten to register a class.
        let is_skipped = recovered.skipped.iter().any(|row| !row.is_declared);
        if let Some(Chosen { path, .. }) = chosen.as_ref().filter(|_| is_stopped || is_skipped) {
            keep_if_room(&*storage, path, &journal, &mut recovered, &mut unkept)?;
        }
        recovered.stopped = recovered.stopped.or(stopped);
        let are_all_copied = unkept.is_empty();
        let traced = journal.clone();
        let paths = (journal, save.clone());
        let mut writer =
            JournalWriter::new(Arc::clone(&storage), paths, locks, unkept, followed, flush);
        let mut filed = FiledEntries::default();
        let recorded = match (&chosen, end) {
            (Some(Chosen { path, scan }), Some(outcome)) => {
                let own = program(&history.support, &target)?;
                let mut frames = Vec::new();
                if own == outcome.program {
                    filed = outcome.filed;
                } else {
                    frames.push((Frame::Program, own));
                }
                let length = (outcome.length, scan.size);
                let is_marked = scan.is_in_place || scan.events > 0;
                writer.resume(path, length, (outcome.sequence, is_marked), &frames)?;
                if saved == SavedContent::Current && recovered.events > 0 {
                    saved = SavedContent::Earlier;
                }
                HashSet::new()
            }
            _ => {
                let begun = begin(&mut history, &target, (false, saved), FiledEntries::default())?;
                writer.begin(&header(digest.as_ref()), &begun.frames)?;
                begun.recorded
            }
        };
        let next = names::next_journal(writer.path());
        if are_all_copied && !writer.is_at(&next) {
            // If it cannot be removed, it does no harm: it follows no save, and the next save overwrites it.
            let _ = storage.remove(&next);
        }

        let known = world::<T>(&target);
        let known = known.map_or(0, |world| world.class_registry().program().classes.len());
        let support = &mut history.support;
        (support.is_journaled, support.registered) = (true, known);
        let state = RecorderState::new((&*target, &*support), (recorded, saved, filed));
        let journal = Journal { writer, state, evicted: StoredEvicted::default(), undecided: None };
        history.journal = Some(Box::new(journal));
        history.count_all_held(&target);
        history.trim();
        // Listeners learn of entries that the save or the journal had, as of those of a call.
        history.end(&mut target);
        recovered.entries = history.len();
        if recovered.events > 0 || recovered.stopped.is_some() {
            trace::replayed(&traced, recovered.replayed, &recovered);
        }
        if recovered.events > 0 || recovered.entries > 0 {
            history.send(&[HistoryEvent::Recovered(recovered.entries)]);
        }
        let session = Session { target, history, saves, save };
        Ok((session, recovered))
    }

    /// Returns a summary of a journal, without locking or changing it. `None` if there is none.
    ///
    /// It works while another program has the journal open. If the journal has changes or commands of a class that is
    /// not registered here, [`stopped`](JournalInfo::stopped) has the place where [`open`](Self::open) would stop as
    /// well. Errors of the program's own code during a replay are only found by `open`.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be read, and [`ErrorKind::NewerFormat`] or [`ErrorKind::NotASave`] if the
    /// journal is one of a newer program, or not a journal.
    pub fn inspect(
        &self,
        save: impl AsRef<Path>,
        journal: impl AsRef<Path>,
    ) -> Result<Option<JournalInfo>> {
        let storage = self.saves.disk();
        let (save, journal) = resolve(&*storage, save.as_ref(), journal.as_ref())?;
        let digest = match read_save(&*storage, &save, self.saves.bounds()) {
            Ok(bytes) => Some(Digest::from_save(&bytes)?),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let mut recovered = Recovered::default();
        let (chosen, others) = find(&*storage, &journal, digest.as_ref(), &mut recovered)?;
        let follows_save = chosen.is_some();
        let Some(Chosen { path, scan }) = chosen.or_else(|| others.into_iter().next()) else {
            let stopped = recovered.stopped;
            return Ok(stopped
                .is_some()
                .then(|| JournalInfo { stopped, ..JournalInfo::default() }));
        };
        let unknown = self.unknown_command(&*storage, &path, &scan)?;
        Ok(Some(JournalInfo {
            follows_save,
            bytes: scan.size,
            frames: scan.frames,
            events: scan.events,
            torn: scan.torn(),
            stopped: unknown.or(scan.stopped()),
            open: scan.depth(),
        }))
    }

    /// The place of the first command in a journal whose class is not registered.
    fn unknown_command(
        &self,
        storage: &dyn Storage,
        path: &Path,
        scan: &JournalScan,
    ) -> Result<Option<ReplayStop>> {
        let support = &self.history.support;
        let mut commands = support.registry.clone();
        if T::__LAYOUT.class_holder.is_none() {
            // A type without field records only has changes by commands.
            let _ = commands.register_value::<T>();
        }
        let target = self.saves.new_followed::<T>();
        let classes = world(&target).map(|world| world.class_registry());
        let mut programs = Programs::new(&commands, classes, self.saves.loading());
        let mut reader = FrameReader::open_part(storage, path, scan)?;
        while reader.scan.end < scan.end {
            let next = reader.next_frame().map_err(|error| Error::io("read", path, error))?;
            let Some(frame) = next else { break };
            if let Err(error) = programs.check(&frame, &self.history.commands) {
                return Ok(Some(ReplayStop::new(frame.offset, &error.moved_to(frame.offset))));
            }
        }
        Ok(None)
    }
}

/// Replays a journal. Returns how far it could be replayed, or `None` if nothing of it can be used.
///
/// A frame that fails may leave target and history broken. Then the save is loaded again, and only the frames before
/// that one are replayed.
fn recover<T: Persist + Default>(
    saves: &Saves,
    history: &mut History<T>,
    save: &Path,
    (target, digest): (&mut Loaded<T>, Option<Digest>),
    Chosen { path, scan }: &Chosen,
    recovered: &mut Recovered,
) -> Result<Option<ReplayOutcome>> {
    let storage = saves.disk();
    (recovered.torn, recovered.stopped) = (scan.torn(), scan.stopped());
    recovered.rolled_back = scan.depth();
    let mut until = scan.open.map_or(scan.end, |open| open.offset);
    loop {
        let source = digest.as_ref().map(|digest| (save, digest));
        let reader = FrameReader::open_part(&*storage, path, scan)?;
        let mut outcome = replay(history, target, saves, (reader, path, source), until)?;
        recovered.skipped = std::mem::take(&mut outcome.skipped);
        (recovered.events, recovered.replayed) = (outcome.events, outcome.steps);
        let Some(error) = &outcome.failed else { return Ok(Some(outcome)) };
        let offset = error.offset().unwrap_or(outcome.length);
        recovered.stopped.get_or_insert_with(|| ReplayStop::new(offset, error));
        if !outcome.is_broken {
            return Ok(Some(outcome));
        }
        reset(history, target);
        let (again, found) = saves.load_followed(save)?;
        if found != digest {
            let message = format!("the save {} was replaced meanwhile; try again", save.display());
            return Err(Error::new(ErrorKind::InUse, message));
        }
        *target = again;
        until = outcome.length;
        if until == 0 {
            (recovered.events, recovered.replayed) = (0, 0);
            return Ok(None);
        }
    }
}

/// Replays the frames of a journal before an offset, without listeners and limits. Contents in it may be changes since
/// the save.
fn replay<T: Persist>(
    history: &mut History<T>,
    target: &mut T,
    saves: &Saves,
    (mut reader, path, save): (FrameReader, &Path, Option<(&Path, &Digest)>),
    until: u64,
) -> Result<ReplayOutcome> {
    let storage = saves.disk();
    let commands = history.support.registry.clone();
    let classes = world(&*target).map(|world| world.class_registry().clone());
    let mut programs = Programs::new(&commands, classes.as_ref(), saves.loading());
    let listeners = std::mem::take(&mut history.listeners);
    let (capacity, max_bytes) = (history.ring.capacity.take(), history.usage.max.take());
    history.support.is_replayed = true;
    let saved = || {
        let (save, digest) = save?;
        saved_content(&*storage, save, digest, saves.bounds())
    };
    let source = (&mut reader, &saved as &dyn Fn() -> Option<Vec<u8>>);
    let outcome = replay::replay(history, target, source, &mut programs, until);
    history.support.is_replayed = false;
    (history.ring.capacity, history.usage.max) = (capacity, max_bytes);
    history.listeners = listeners;
    history.merges.last = None;
    outcome.map_err(|error| Error::io("read", path, error))
}

impl<T: 'static> fmt::Debug for SessionOptions<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionOptions")
            .field("saves", &self.saves)
            .field("history", &self.history)
            .field("flush", &self.flush)
            .field("memory", &self.memory)
            .finish()
    }
}

fn resolve(storage: &dyn Storage, save: &Path, journal: &Path) -> Result<(PathBuf, PathBuf)> {
    let of = |path: &Path| storage.resolve(path).map_err(|e| Error::io("open", path, e));
    let (save, journal) = (of(save)?, of(journal)?);
    if save == journal {
        let message = format!(
            "{} cannot be both the save and its journal; give the journal another path",
            save.display()
        );
        return Err(Error::new(ErrorKind::InvalidValue, message));
    }
    Ok((save, journal))
}

/// Locks a journal, and its save against sessions with other journals.
///
/// Without support for locks, or on a full disk, the session continues without them.
fn lock(storage: &dyn Storage, save: &Path, journal: &Path) -> Result<Locks> {
    let take = |of: &Path, name: PathBuf| match storage.lock(&name) {
        Ok(Some(lock)) => Ok(Some(lock)),
        Ok(None) => Err(in_use(of)),
        Err(error) if has_no_lock(&error) || cannot_write(&error) => Ok(None),
        Err(error) => Err(Error::io("lock", of, error)),
    };
    let locked = take(journal, names::lock(journal))?;
    let save = take(save, names::session(save))?;
    let file = match storage.lock_file(journal) {
        Ok(None) => return Err(in_use(journal)),
        lock => lock.ok().flatten(),
    };
    Ok(Locks { journal: locked, _save: save, file })
}

/// Finds the journal that follows a save, and the other journals.
///
/// A journal whose header is damaged is listed in `recovered`, since it cannot be read at all.
fn find(
    storage: &dyn Storage,
    journal: &Path,
    digest: Option<&Digest>,
    recovered: &mut Recovered,
) -> Result<(Option<Chosen>, Vec<Chosen>)> {
    let mut found = Vec::new();
    for path in [journal.to_owned(), names::next_journal(journal)] {
        match JournalScan::read(storage, &path) {
            Ok(scan) => found.push(Chosen { path, scan: scan.of(digest) }),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            // A damaged new journal can only be an unfinished write, whose first sector still has older bytes of the
            // disk.
            Err(error) if error.is_damage() && path != journal => {}
            Err(error) if error.is_damage() && error.kind() != ErrorKind::NotASave => {
                recovered.stopped = Some(ReplayStop::new(0, &error));
                recovered.kept.push(path);
            }
            Err(error) => return Err(error),
        }
    }
    let follows = |found: &Chosen| match (&found.scan.follows, digest) {
        (Some(follows), Some(digest)) => follows.has_content_of(digest),
        (None, None) => true,
        _ => false,
    };
    let is_of_generation = |found: &Chosen| {
        found.scan.follows.map(|follows| follows.generation()) == digest.map(Digest::generation)
    };
    // A new journal is flushed before its save is put in place. So one that is not whole belongs to a save that never
    // was, and its edits are in the previous journal.
    let is_unfinished = |found: &Chosen| {
        let is_whole = !found.scan.is_torn && found.scan.damage.is_none();
        found.path != journal && found.scan.events == 0 && !is_whole && !is_of_generation(found)
    };
    found.retain(|found| !is_unfinished(found));
    let (mut chosen, mut others): (Vec<_>, Vec<_>) = found.into_iter().partition(follows);
    // If both follow it, the one of the same generation is chosen, then the longer one, then the first.
    let key = |found: &Chosen| Reverse((is_of_generation(found), found.scan.sequence));
    sort_by(&mut chosen, |a, b| key(a).cmp(&key(b)));
    let rest = chosen.split_off(chosen.len().min(1));
    others.extend(rest);
    Ok((chosen.pop(), others))
}

/// Chooses the journal of the save, and copies the others if they have edits.
///
/// Returns the paths that could not be copied because the disk is full. They must be copied before anything is written.
fn choose(
    storage: &dyn Storage,
    journal: &Path,
    digest: Option<&Digest>,
    recovered: &mut Recovered,
) -> Result<(Option<Chosen>, Vec<PathBuf>)> {
    let (chosen, others) = find(storage, journal, digest, recovered)?;
    let mut unkept = Vec::new();
    for damaged in std::mem::take(&mut recovered.kept) {
        keep_if_room(storage, &damaged, journal, recovered, &mut unkept)?;
    }
    let next = names::next_journal(journal);
    // The previous journal is part of the save that its successor follows.
    let has_successor = chosen.as_ref().is_some_and(|chosen| chosen.path == next);
    for other in others {
        let is_unfinished = other.path == next && other.scan.events == 0;
        let is_in_save = has_successor && other.path == journal;
        if !is_unfinished && !is_in_save {
            // The part that follows the save may be behind the damage.
            recovered.stopped = recovered.stopped.take().or(other.scan.stopped());
            keep_if_room(storage, &other.path, journal, recovered, &mut unkept)?;
        }
    }
    if let Some(chosen) = chosen.as_ref().filter(|chosen| chosen.scan.is_garbled) {
        keep_if_room(storage, &chosen.path, journal, recovered, &mut unkept)?;
    }
    Ok((chosen, unkept))
}

/// Copies a journal, unless the disk is full.
fn keep_if_room(
    storage: &dyn Storage,
    from: &Path,
    journal: &Path,
    recovered: &mut Recovered,
    unkept: &mut Vec<PathBuf>,
) -> Result<()> {
    match keep(storage, from, journal) {
        Ok(name) => recovered.kept.push(name),
        Err(error) if cannot_write(&error) => unkept.push(from.to_owned()),
        Err(error) => return Err(Error::io("keep a copy of", from, error)),
    }
    Ok(())
}
