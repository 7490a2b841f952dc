//! How a session is opened.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use super::frame::header;
use super::programs::Programs;
use super::reader::{Reader, Scan, scan};
use super::recorder::{JournalRecorder, program, world};
use super::recovered::{JournalInfo, Recovered, Stopped, Torn};
use super::replay::Outcome;
use super::writer::{Options, Writer, remove_if_there};
use super::{Flush, Session, frame};
use crate::format::Digest;
use crate::history::{History, HistoryEvent, OnMissing};
use crate::storage::{Storage, exists, names, read_file};
use crate::{Error, ErrorKind, LoadReport, Persist, Result, SaveManager};

/// How a [`Session`] is opened: see [`Session::with`].
pub struct SessionOptions<T: 'static> {
    saves: SaveManager,
    history: History<T>,
    options: Options,
    memory: Option<usize>,
}

/// What a target is made of again, if a replay breaks it.
struct Loaded<T> {
    target: T,
    digest: Option<Digest>,
    report: Option<LoadReport>,
}

/// The journal that a session goes on with.
struct Chosen {
    path: PathBuf,
    scan: Scan,
}

impl<T: Persist + Default> Session<T> {
    /// A session that is to be opened, with the classes of these saves, and this history, which has no entries: its limits, listeners
    /// and [command classes](History::register) stay. Component classes of a world are registered in the saves, as for
    /// [`SaveManager::load_world`].
    #[must_use]
    pub fn with(saves: SaveManager, history: History<T>) -> SessionOptions<T> {
        let options = Options { flush: Flush::default(), is_strict: true };
        SessionOptions { saves, history, options, memory: None }
    }
}

impl<T: Persist + Default> SessionOptions<T> {
    /// When the journal is made to last on the disk; [`Flush::EveryEdit`] unless this is called.
    #[must_use]
    pub fn flush(mut self, flush: Flush) -> Self {
        self.options.flush = flush;
        self
    }

    /// Whether nothing may be done that is not in the journal, which is so unless this is called: an edit that cannot be written is taken back,
    /// and is an error. Else it stays, and [`Session::journal_broken`] says so until it could be written.
    #[must_use]
    pub fn strict(mut self, is_strict: bool) -> Self {
        self.options.is_strict = is_strict;
        self
    }

    /// How many bytes of entries are in memory; the others are in files beside the journal. See [`History::spill_to`].
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Loads the save, and does again what the journal says was done since, so that target and history are as they were. If there is no
    /// save, it begins with an empty target.
    ///
    /// The journal is locked until the session ends. What cannot be done again is not lost: see [`Recovered`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InUse`] if another session has the journal open, for which [`inspect`](Self::inspect) tells what is in it; what keeps
    /// the save from being loaded; [`ErrorKind::NewerFormat`] or [`ErrorKind::NotASave`] if the journal is a newer program's, or none; whatever keeps it
    /// from being read or written. All files then are as they were.
    pub fn open(
        self,
        save: impl AsRef<Path>,
        journal: impl AsRef<Path>,
    ) -> Result<(Session<T>, Recovered)> {
        let Self { mut saves, mut history, options, memory } = self;
        if !history.is_empty() || history.is_open() || history.recorder.is_some() {
            return Err(Error::new(
                ErrorKind::InvalidValue,
                "the history of a session begins without entries; give it a new one",
            ));
        }
        let storage = saves.disk();
        let (save, journal) = resolve(&*storage, save.as_ref(), journal.as_ref())?;
        let lock = storage.lock(&names::lock(&journal));
        let lock = lock.map_err(|error| Error::io("lock the journal", &journal, error))?;
        let Some(lock) = lock else { return Err(in_use(&journal)) };
        let temporary = names::temporary(&journal);
        remove_if_there(&*storage, &temporary)
            .map_err(|error| Error::io("remove", &temporary, error))?;

        if let Some(bytes) = memory {
            let mut path = journal.as_os_str().to_owned();
            path.push(".spill");
            history.spill_in(Arc::clone(&storage), path.into(), bytes);
        }
        let mut loaded = load::<T>(&mut saves, &save)?;
        let mut recovered = Recovered { report: loaded.report.take(), ..Recovered::default() };
        let chosen = choose(&*storage, &journal, loaded.digest.as_ref(), &mut recovered)?;
        let end = match &chosen {
            Some(chosen) => {
                recover(&mut saves, &mut history, &save, &mut loaded, chosen, &mut recovered)?
            }
            None => None,
        };
        let mut writer = Writer::new(Arc::clone(&storage), journal, lock, &options);
        match (&chosen, end) {
            (Some(chosen), Some((length, sequence))) => {
                if recovered.stopped.is_some() {
                    recovered.kept.push(keep(&*storage, &chosen.path, writer.path())?);
                }
                let frames =
                    vec![(frame::Kind::Program, program(&history.around, &loaded.target)?)];
                writer.go_on(&chosen.path, length, sequence, &frames)?;
            }
            _ => {
                if let Some(chosen) = &chosen {
                    recovered.kept.push(keep(&*storage, &chosen.path, writer.path())?);
                }
                let frames = history.begin_journal(&loaded.target, false)?;
                writer.begin(&header(loaded.digest.as_ref()), &frames)?;
            }
        }
        let next = names::next_journal(writer.path());
        remove_if_there(&*storage, &next).map_err(|error| Error::io("remove", &next, error))?;

        let writer = Rc::new(RefCell::new(writer));
        let recorder =
            JournalRecorder::new(Rc::clone(&writer), Rc::clone(&history.around), &loaded.target);
        history.around.journal.set(Some(options.is_strict));
        history.recorder = Some(Box::new(recorder));
        history.trim();
        history.tell_nothing();
        history.end(&mut loaded.target);
        recovered.entries = history.len();
        if recovered.replayed > 0 {
            history.send([HistoryEvent::Recovered(recovered.entries)]);
        }
        let session = Session { target: loaded.target, history, saves, journal: writer, save };
        Ok((session, recovered))
    }

    /// Tells what is in a journal, without locking it or changing anything: also while another program has it open. `None` if there is none.
    ///
    /// # Errors
    ///
    /// Whatever keeps a file from being read; [`ErrorKind::NewerFormat`] or [`ErrorKind::NotASave`] if the journal is a newer program's, or none.
    pub fn inspect(
        &self,
        save: impl AsRef<Path>,
        journal: impl AsRef<Path>,
    ) -> Result<Option<JournalInfo>> {
        let storage = self.saves.disk();
        let (save, journal) = resolve(&*storage, save.as_ref(), journal.as_ref())?;
        let digest = match read_file(&*storage, &save, self.saves.limits()) {
            Ok(bytes) => Some(Digest::of(&bytes)?),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let mut recovered = Recovered::default();
        let found = find(&*storage, &journal, digest.as_ref(), &mut recovered)?;
        let (scan, follows_save) = match found {
            Files { chosen: Some(chosen), .. } => (chosen.scan, true),
            Files { others, .. } => match others.into_iter().next() {
                Some(other) => (other.scan, false),
                None => {
                    let info = recovered.stopped.map(|stopped| JournalInfo {
                        stopped: Some(stopped),
                        ..JournalInfo::default()
                    });
                    return Ok(info);
                }
            },
        };
        let torn = torn(&scan);
        Ok(Some(JournalInfo {
            follows_save,
            bytes: scan.size,
            frames: scan.frames,
            has_events: scan.has_events,
            torn,
            stopped: scan.damage.as_ref().map(|error| stopped(scan.end, error)),
            open: scan.open.map_or(0, |open| open.depth),
        }))
    }
}

fn resolve(storage: &dyn Storage, save: &Path, journal: &Path) -> Result<(PathBuf, PathBuf)> {
    let of = |path: &Path| storage.resolve(path).map_err(|e| Error::io("open", path, e));
    let (save, journal) = (of(save)?, of(journal)?);
    if save == journal {
        let message = format!("{} cannot be the save and its journal", save.display());
        return Err(Error::new(ErrorKind::InvalidValue, message));
    }
    Ok((save, journal))
}

#[cold]
fn in_use(journal: &Path) -> Error {
    Error::new(
        ErrorKind::InUse,
        format!(
            "the journal {} is in use, another session has it open; close that, or look at it with `inspect`",
            journal.display()
        ),
    )
}

fn load<T: Persist + Default>(saves: &mut SaveManager, save: &Path) -> Result<Loaded<T>> {
    Ok(match saves.load_followed::<T>(save)? {
        Some((target, digest, report)) => {
            Loaded { target, digest: Some(digest), report: Some(report) }
        }
        None => Loaded { target: saves.new_followed(), digest: None, report: None },
    })
}

/// The journals that there are.
struct Files {
    /// That of the save.
    chosen: Option<Chosen>,
    /// Those that are in the way; of one whose header is damaged nothing is known.
    others: Vec<Chosen>,
}

/// Looks for the journal that follows a save.
fn find(
    storage: &dyn Storage,
    journal: &Path,
    digest: Option<&Digest>,
    recovered: &mut Recovered,
) -> Result<Files> {
    let mut found = Vec::new();
    for path in [journal.to_owned(), names::next_journal(journal)] {
        match scan(storage, &path) {
            Ok(scan) => found.push(Chosen { path, scan }),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            // Of the new one, only an unfinished write can have left that.
            Err(error) if error.is_damage() && error.kind() != ErrorKind::NotASave => {
                if path == journal {
                    recovered.stopped = Some(stopped(0, &error));
                    recovered.kept.push(path);
                }
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
        found.scan.follows.map(|follows| follows.generation)
            == digest.map(|digest| digest.generation)
    };
    let (mut chosen, mut others): (Vec<_>, Vec<_>) = found.into_iter().partition(follows);
    // Of two, that of the very save; else the one that goes further, and of those the first.
    chosen.sort_by_key(|found| std::cmp::Reverse((is_of_generation(found), found.scan.sequence)));
    let rest = chosen.split_off(chosen.len().min(1));
    others.extend(rest);
    Ok(Files { chosen: chosen.pop(), others })
}

/// Chooses the journal of the save; others that have something in them are kept aside.
fn choose(
    storage: &dyn Storage,
    journal: &Path,
    digest: Option<&Digest>,
    recovered: &mut Recovered,
) -> Result<Option<Chosen>> {
    let Files { chosen, others } = find(storage, journal, digest, recovered)?;
    for damaged in std::mem::take(&mut recovered.kept) {
        recovered.kept.push(keep(storage, &damaged, journal)?);
    }
    let next = names::next_journal(journal);
    // The journal before is in the save that its successor follows.
    let has_successor = chosen.as_ref().is_some_and(|chosen| chosen.path == next);
    for other in others {
        let is_unfinished = other.path == next && !other.scan.has_events;
        let is_in_save = has_successor && other.path == journal;
        if !is_unfinished && !is_in_save {
            recovered.kept.push(keep(storage, &other.path, journal)?);
        }
    }
    Ok(chosen)
}

/// Does a journal again; returns where its good frames end, and the number of the last, or `None` if nothing of it can be used.
fn recover<T: Persist + Default>(
    saves: &mut SaveManager,
    history: &mut History<T>,
    save: &Path,
    loaded: &mut Loaded<T>,
    chosen: &Chosen,
    recovered: &mut Recovered,
) -> Result<Option<(u64, u64)>> {
    let Chosen { path, scan } = chosen;
    let storage = saves.disk();
    let (mut until, mut sequence) = (scan.end, scan.sequence);
    recovered.torn = torn(scan);
    if let Some(error) = &scan.damage {
        recovered.stopped = Some(stopped(scan.end, error));
    }
    if let Some(open) = scan.open {
        recovered.rolled_back = open.depth;
        (until, sequence) = (open.offset, open.before);
    }
    loop {
        let outcome = replay(history, &mut loaded.target, saves, &*storage, path, until)?;
        recovered.replayed = outcome.events;
        let Some(failed) = outcome.failed else { return Ok(Some((until, sequence))) };
        recovered.stopped.get_or_insert_with(|| {
            stopped(failed.error.offset().unwrap_or(failed.offset), &failed.error)
        });
        let is_nothing = failed.offset == 0;
        if !failed.is_broken {
            return Ok(Some((failed.offset, failed.before)));
        }
        history.reset(&mut loaded.target);
        let again = load::<T>(saves, save)?;
        if again.digest != loaded.digest {
            let message = format!("the save {} was replaced meanwhile; try again", save.display());
            return Err(Error::new(ErrorKind::InUse, message));
        }
        *loaded = again;
        if is_nothing {
            recovered.replayed = 0;
            return Ok(None);
        }
        (until, sequence) = (failed.offset, failed.before);
    }
}

/// Does the frames of a journal again, with nobody told and nothing limited.
fn replay<T: Persist>(
    history: &mut History<T>,
    target: &mut T,
    saves: &SaveManager,
    storage: &dyn Storage,
    path: &Path,
    until: u64,
) -> Result<Outcome> {
    let mut reader = Reader::open(storage, path)?;
    let commands = history.around.classes.borrow().registry.clone();
    let classes = world(&*target).map(|world| world.registry().clone()).unwrap_or_default();
    let mut programs = Programs::new(&commands, &classes, saves.load_options());
    let listeners = std::mem::take(&mut history.listeners);
    let (capacity, max_bytes) = (history.ring.capacity(), history.max_bytes.take());
    history.ring.set_capacity(None);
    let on_missing = history.on_missing;
    if on_missing == OnMissing::Drop {
        // One that was dropped is said to be.
        history.on_missing = OnMissing::Stop;
    }
    history.around.is_replayed.set(true);
    let outcome = history.replay(target, &mut reader, &mut programs, until);
    history.around.is_replayed.set(false);
    history.ring.set_capacity(capacity);
    history.max_bytes = max_bytes;
    history.listeners = listeners;
    history.on_missing = on_missing;
    history.may_merge = false;
    outcome.map_err(|error| Error::io("read", path, error))
}

fn torn(scan: &Scan) -> Option<Torn> {
    scan.is_torn.then(|| Torn { offset: scan.end, bytes: scan.size - scan.end })
}

fn stopped(offset: u64, error: &Error) -> Stopped {
    Stopped { offset, kind: error.kind(), cause: error.to_string() }
}

/// Copies a journal to a name that is free, for the user to look at.
fn keep(storage: &dyn Storage, from: &Path, journal: &Path) -> Result<PathBuf> {
    let failed = |error| Error::io("keep a copy of", from, error);
    let free = (1..u32::MAX).map(|number| names::kept_journal(journal, number));
    let Some(name) = free.into_iter().find(|name| !exists(storage, name)) else {
        return Err(failed(std::io::ErrorKind::AlreadyExists.into()));
    };
    let mut file = storage.create(&name, from).map_err(failed)?;
    let copied = storage.open(from).and_then(|mut from| std::io::copy(&mut from, &mut file));
    let result = copied.and_then(|_| file.sync());
    if let Err(error) = result {
        drop(file);
        let _ = storage.remove(&name);
        return Err(failed(error));
    }
    Ok(name)
}
