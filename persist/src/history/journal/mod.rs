//! The journal: the events of a history in a file, so that a crash loses nothing.
//!
//! A journal follows one save. It begins with the history at the time of that save, and continues with each event
//! since. A [`Session`] owns the save and its journal. `docs/reference/histories.md` describes the file.
//!
//! # Parts
//!
//! ```text
//!    Session ----- save ------> header, frames --------+   session, recorder
//!       |                                              |
//!    History -- edit, undo --> Journal -- frames --> JournalWriter --> the file
//!       ^                      recorder, stored        writer, frame       |
//!       |                                                                  |
//!       +--- same calls ---- replay <---- FrameReader <--------------------+
//!                            evolution    frame, open
//! ```
//!
//! - `frame` has the bytes: a header with the digest of the save, then frames with a checksum and a number each.
//!   `stored` has the values in the frames.
//! - The records that several of these files use are defined here, with private fields. So are the commands of the
//!   program as bytes, and the check that nobody else replaced the save.
//! - `writer` appends frames, and repairs the file after a failed write. Below it is `exchange`, which exchanges the
//!   journal at a save, then `recorder`, which turns an event into frames. Below that, `session` is what a program
//!   holds. `open` opens it: finds the journal that follows the save, and locks it.
//! - `evolution` migrates the steps of an older program. `replay`, below it, applies the frames of a journal.
//!   `recovered` has the report.
//! - `spill` moves entries out of memory into files of their own. They are not part of the journal.
//!
//! The crate `persist-tools` lists and replays a journal without the program's types.
//!
//! # The life of a record
//!
//! 1. The history executes an edit, then calls [`Journal::record_done`] before the edit enters the list.
//! 2. The recorder encodes the steps. If classes were registered since the last frame, it puts them first; so it does
//!    with the content of each component that is changed for the first time.
//! 3. The writer checks that the save is still the one that it follows, and appends the frames as one write.
//! 4. It flushes the file if the [`Flush`] policy says so. Only then does the call return to the program.
//! 5. If any of this fails, the bytes are cut off, the history rolls the edit back, and the program receives the error.
//!
//! Any other event, such as an undo or the begin of a transaction, is one frame without steps ([`Journal::record`]).
//! Evicted entries are recorded ahead of the next event.
//!
//! At a save, the new journal is written as another file, the save is replaced, and the new journal is renamed over the
//! old one. If most of the history has not changed since the last save, a new part is appended to the journal instead,
//! which names the entries where they are. Whenever this is interrupted, one journal or part follows the save that is
//! there, by its digest.
//!
//! At the next start, frames are replayed until the first one that is torn, damaged or refused. An open transaction at
//! the end is left out. A frame that leaves the target broken restarts the replay from the save, up to that frame.
//!
//! # Words
//!
//! - A **frame** is one record with a checksum. An **append** is the frames of one event, written together.
//! - The **beginning** of a journal is the frames with the state of the history at the save. All other frames are
//!   **events**. A **part** is a beginning with its events; a journal may have several, and the last one counts.
//! - A **content** is a whole component, resource or target, as encoded bytes. It serves to migrate steps.
//! - Bytes are **good** if they belong to whole frames that no one has to cut off. A journal is **torn** if it ends in
//!   an interrupted append, and **damaged** if whole frames follow the bad bytes.
//! - A save is **undecided** while nobody knows whether it is in place.
//! - An entry is **spilled** while it is in a file.

mod evolution;
pub(crate) mod frame;
mod recovered;
pub(super) mod spill;
pub(crate) mod stored;
mod writer;

use std::any::Any;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hashbrown::HashSet;

use super::change::step::{FinalState, restored_change};
use super::edit::command::Command;

use super::world::World;
use super::{Failure, History, Label, Performed, Poison, SpillPosition, Step, Support, world};
use crate::codec::Buffer;
use crate::env::Env;
use crate::fields::{ChangeState, FieldChange, FieldLinks, Owner, awaken};
use crate::format::{Compression, Digest, Header, Sealer, Writer, scan, unpacked};
use crate::graph::Registry;
use crate::platform::Timer;
use crate::save::{LoadReport, ReportRow};
use crate::storage::recover::is_between;
use crate::storage::{FileStamp, NewFile, Storage, StorageLock, StoredFile, read_save};
use crate::{Error, ErrorKind, Limits, Loaded, Persist, Result, Saves};

use frame::EntryRun;
pub(super) use frame::FrameKind;
pub use recovered::{JournalInfo, Recovered, ReplayStop, TornWrite};
use stored::place;

pub(super) use stored::{StoredStep, payload};
pub(super) use writer::exchange::recorder::Journal;
pub use writer::exchange::recorder::open::SessionOptions;

/// When journal entries are flushed to disk.
///
/// With each policy, an edit is handed to the operating system before its call returns, so **a program that is killed
/// or crashes loses nothing**. The policy decides what is lost if the machine itself stops, as in a power failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flush {
    /// Flushes in each edit, so that a power failure loses nothing. Each edit waits for one write of the disk, which
    /// takes some milliseconds.
    #[default]
    EveryEdit,
    /// Flushes in the first edit or [`Session::tick`] after an edit has waited for this long. A power failure loses the
    /// edits of about that time.
    Every(Duration),
    /// Flushes only when the program calls [`Session::flush`], for example while it is idle. A power failure loses the
    /// edits since then.
    OnIdle,
}

impl Flush {
    /// True if an edit has to flush the journal.
    fn is_due(self, unsynced: Option<Timer>) -> bool {
        match self {
            Self::EveryEdit => true,
            Self::Every(interval) => unsynced.unwrap_or_else(Timer::start).is_past(interval),
            Self::OnIdle => false,
        }
    }
}

/// The state of a history when its journal began, without its entries.
#[derive(crate::Persist, Default)]
#[persist(crate = crate)]
pub struct StoredStacks {
    entries: u64,
    /// The number of entries that are applied.
    pub position: u64,
    base: u64,
    last_state: u64,
    saved: Option<u64>,
    poison: Option<Poison>,
}

/// An entry of a history when its journal began. Its steps have the state that they have when applied or undone.
#[derive(crate::Persist)]
#[persist(crate = crate)]
pub struct StoredEntry {
    /// The label of the entry.
    pub label: Label,
    state: u64,
    /// The steps in the order in which they were done.
    pub steps: Vec<StoredStep>,
}

/// Identifies a component of an object, a resource, or another target, by its class in the recorded form.
type ComponentKey = (Owner, String);

/// The content of a component, a resource, or another target.
#[derive(crate::Persist)]
#[persist(crate = crate)]
struct StoredContent {
    owner: Owner,
    class: String,
    content: RecordedContent,
}

#[derive(crate::Persist)]
#[persist(crate = crate)]
enum RecordedContent {
    /// All bytes.
    Whole(Vec<u8>),
    /// The changes since the save that the journal follows, of a target that is not a world. Whole, a document of 5 MB
    /// was written again with the first edit after each save, and after each selection.
    SinceSave(Vec<FieldChange>),
}

impl RecordedContent {
    /// Maximum number of changes. A replay on other types passes through the content for each of them, which takes as
    /// long for this many as the migration of one step.
    const MAX_CHANGES: usize = 64;
}

/// Says whether the save that the journal follows has the content of the target. A world counts as unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SavedContent {
    /// Another content than the target had, such as that of an older version of its class.
    Unknown,
    /// The content that the target had when it was saved or loaded.
    Earlier,
    /// The content of the target.
    Current,
}

impl SavedContent {
    /// Compares the target with its save. `saved` reads the bytes of the value in it.
    fn of<T: 'static>(
        target: &T,
        support: &Support<T>,
        saved: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Self {
        let content = world(target).is_none().then(|| support.content(target).ok()).flatten();
        match content.is_some() && saved() == content {
            true => Self::Current,
            false => Self::Unknown,
        }
    }
}

/// The last id of a world before and after an edit.
#[derive(crate::Persist, Clone, Copy, PartialEq, Eq)]
#[persist(crate = crate)]
pub struct StoredIds {
    before: u64,
    // The field has this name in all journals so far.
    #[persist(rename = "behind")]
    pub after: u64,
}

/// A command, with what an undo and a replay need.
#[derive(crate::Persist)]
#[persist(crate = crate)]
pub struct StoredCommand {
    /// The index of its class among the classes of commands.
    pub class: u32,
    /// The number of further steps before its first direct change of the target, if there is one.
    pub direct: Option<u64>,
    /// The encoded command before `apply`, if it changed its target directly just now, and is different afterwards.
    pub(in crate::history) before: Option<Vec<u8>>,
    /// The last id that the world had used before `apply`. Attempts that failed earlier in the edit may have used some.
    // Without it, a replay gave other ids to the objects that a direct command spawns, and lost all later edits of
    // them.
    pub(in crate::history) last_id: Option<u64>,
    /// The encoded command as it is now.
    pub bytes: Vec<u8>,
    /// The steps that it did by its own calls.
    pub further: Vec<StoredStep>,
}

/// A summary of a part of a journal, without a replay. A part is a beginning and the events after it.
#[derive(Default)]
pub struct JournalScan {
    /// The digest of the save that the journal follows.
    pub follows: Option<Digest>,
    /// Bytes of the file.
    pub size: u64,
    /// The offset of the first frame of the part.
    start: u64,
    /// The offset after the last good frame.
    pub end: u64,
    /// The number of good frames, and the sequence number of the last.
    frames: u64,
    sequence: u64,
    /// The number of events since the journal began.
    events: u64,
    /// True if the file ends in the middle of an append.
    is_torn: bool,
    /// True if the torn part may be a whole frame that was damaged later: its length fits, and its checksum does not.
    is_garbled: bool,
    /// Why the bytes after the good frames are neither a frame nor an interrupted append.
    damage: Option<Error>,
    /// The outermost transaction that is open at the end.
    open: Option<OpenTransaction>,
    /// True if the save that it follows was in its place for certain.
    is_in_place: bool,
    /// The part before it in the file.
    previous: Option<Box<Self>>,
}

/// A transaction without an end.
#[derive(Clone, Copy)]
struct OpenTransaction {
    /// The offset of its first frame, and the sequence number before it.
    offset: u64,
    previous: u64,
    /// The number of nested open transactions.
    depth: usize,
}

/// Where a journal has the entries that the history had at its beginning, so that a save need not write them again.
#[derive(Default)]
struct FiledEntries {
    /// The frames of all entries, in their order. Empty if a save has to write all of them.
    runs: Vec<EntryRun>,
    /// The components whose contents a replay of the entries may need.
    needed: HashSet<ComponentKey>,
}

impl FiledEntries {
    /// The number of entries.
    fn count(&self) -> usize {
        self.runs.iter().map(|run| place(run.count).unwrap_or(0)).sum()
    }
}

/// The locks of an open session: on its journal, and on its save against sessions with other journals.
struct Locks {
    journal: Option<StorageLock>,
    _save: Option<StorageLock>,
    /// The file of the journal itself, which may be reached by other names.
    file: Option<StorageLock>,
}

/// The journal that a session continues.
struct Chosen {
    path: PathBuf,
    scan: JournalScan,
}

/// The result of a replay.
#[derive(Default)]
struct ReplayOutcome {
    /// The number of events that were replayed.
    events: u64,
    /// The number of steps of the undo list among them, as a user counts them.
    steps: u64,
    /// The number of good bytes of the journal, and the number of their last frame.
    length: u64,
    sequence: u64,
    /// The classes of the last frames.
    program: Vec<u8>,
    filed: FiledEntries,
    /// The steps that were skipped.
    skipped: Vec<ReportRow>,
    /// Why the frame after the good ones could not be replayed.
    failed: Option<Error>,
    /// True if target and history are not in their state before that frame.
    is_broken: bool,
}

/// The command classes that a journal can hold, by their numbers.
pub(super) type CommandClasses<T> = HashMap<usize, CommandClass<T>>;

type ReadCommand<T> = fn(&[u8], FieldLinks<'_>) -> Result<Box<Performed<T>>>;

pub(super) struct CommandClass<T: 'static> {
    name: fn() -> String,
    read: ReadCommand<T>,
}

impl<T: 'static> CommandClass<T> {
    fn new<C: Command<T> + Persist>() -> Self {
        Self {
            name: C::persist_name,
            read: |bytes, links| Ok(Performed::new(command::<C>(bytes, links)?)),
        }
    }

    /// Decodes a command, without the steps that it did through its edit.
    fn read(&self, stored: &StoredCommand, links: FieldLinks<'_>) -> Result<Box<Performed<T>>> {
        let mut command = (self.read)(&stored.bytes, links)?;
        command.direct = stored.direct.map(place).transpose()?;
        Ok(command)
    }

    /// Applies a command again that changes its target directly, in the state before it was first applied.
    fn replay(
        &self,
        stored: &StoredCommand,
        target: &mut T,
        support: &mut Support<T>,
        links: FieldLinks<'_>,
    ) -> Result<Step<T>, Failure> {
        let previous = stored.before.as_ref().unwrap_or(&stored.bytes);
        let mut command = (self.read)(previous, links)?;
        let after = stored.before.is_some().then(|| (self.read)(&stored.bytes, links));
        let after = after.transpose()?;
        if !command.perform(target, support)? {
            return Err(Error::new(
                ErrorKind::Refused,
                format!(
                    "{} did something when it was done first, and nothing when it was redone; what it does may depend on its fields and its target alone",
                    (self.name)()
                ),
            )
            .into());
        }
        Ok(Step::Command(match after {
            Some(mut after) => {
                after.further = std::mem::take(&mut command.further);
                after.direct = command.direct;
                after
            }
            None => command,
        }))
    }
}

/// Encodes a command, if it is of this type.
fn encode<C: Persist>(command: &dyn Any, registry: &Registry) -> Option<Result<Vec<u8>>> {
    let command: &C = command.downcast_ref()?;
    let (mut buffer, mut links) = (Buffer::new(), FieldLinks::of_command(registry));
    let encoded = buffer.append(&registry.env(), &mut links, |out| out.value(command));
    let encoded = encoded.map_err(|error| error.in_class(C::persist_name()));
    Some(encoded.map(|()| buffer.into_bytes()))
}

/// Restores stored steps. `read` decodes a command without its further steps.
fn restored<T: 'static>(
    stored: Vec<StoredStep>,
    target: &mut T,
    change_state: ChangeState,
    read: &mut dyn FnMut(StoredCommand) -> Result<Box<Performed<T>>>,
) -> Result<Vec<Step<T>>> {
    let restored = |step| match step {
        StoredStep::Change(change) => restored_change(*change, target, change_state),
        StoredStep::Command(mut command) => {
            let further =
                restored(std::mem::take(&mut command.further), target, change_state, read)?;
            let mut command = read(*command)?;
            command.further = further;
            Ok(Step::Command(command))
        }
    };
    stored.into_iter().map(restored).collect()
}

/// Decodes a command. If another version of the program wrote it, `links` has the classes of that version.
fn command<C: Persist>(bytes: &[u8], links: FieldLinks<'_>) -> Result<C> {
    let read = || {
        let mut command = links.decode(bytes, |input| input.value::<C>())?;
        awaken(&mut command, links.registry)?;
        Ok(command)
    };
    read().map_err(|error: Error| error.in_class(C::persist_name()))
}

/// Encodes all classes of a registry in their order, as a save without records.
fn definitions(registry: &Registry) -> Result<Vec<u8>> {
    let (mut save, limits, mut buffer) = (Vec::new(), Limits::DEFAULT, Buffer::new());
    let mut sealer = Sealer::new(&mut save, Compression::None, &limits);
    let mut writer = Writer::new(&mut sealer, &Header::default(), &Env::DEFAULT, &mut buffer)?;
    for class in &registry.program().classes {
        writer.definition(class)?;
    }
    writer.finish(0)?;
    Ok(save)
}

/// The files of entries that were moved out of memory.
pub(super) struct Spill {
    storage: Arc<dyn Storage>,
    /// The beginning of the names of the files.
    path: PathBuf,
    /// A file whose permissions the files get.
    like: PathBuf,
    /// The maximum number of bytes of entries in memory.
    budget: usize,
    /// Bytes of entries that are in files, and would be in memory.
    pub away: usize,
    /// After a file could not be written, the number of bytes in memory at which it is tried again.
    retry: usize,
    last_file: u32,
    /// The number of entries that are still in each file.
    files: HashMap<u32, usize>,
    /// The file that was read last.
    open: Mutex<Option<(u32, Box<dyn StoredFile>)>>,
    /// The file that was written last, and its length.
    writing: Option<(u32, Box<dyn NewFile>, usize)>,
    /// Entries that were dropped while they were in a file.
    dropped: Vec<(SpillPosition, FinalState)>,
}

/// The result of comparing a save with the one that a journal follows.
enum SaveIdentity {
    Same,
    /// It is the last save of the session, although that save returned an error.
    Saved,
    /// It was replaced, or is certainly missing.
    Changed,
    /// The system does not let it be read at the moment, so nothing is known.
    Unknown(Error),
}

/// The save that a journal follows, as last seen.
struct FollowedSave {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    limits: Limits,
    expected: Expected,
    /// A save of the session that may or may not be in place: the system did not say.
    undecided: Option<Digest>,
    stamp: Option<FileStamp>,
    /// The stamp of a save that is known to be different, so that its content is read only once.
    other: Option<FileStamp>,
}

enum Expected {
    Missing,
    Save(Digest),
    /// A file that was not loaded, since it is damaged or refused, and a backup was. Only its stamp is known.
    Unloaded,
}

impl FollowedSave {
    /// Creates the state for a save that is about to be loaded.
    fn new(storage: Arc<dyn Storage>, path: PathBuf, limits: &Limits) -> Self {
        let stamp = storage.stamp(&path).ok();
        let (limits, expected) = (*limits, Expected::Missing);
        Self { storage, path, limits, expected, undecided: None, stamp, other: None }
    }

    /// Notes what was loaded.
    fn loaded(&mut self, digest: Option<Digest>, report: Option<&LoadReport>) {
        // A load that recovers has replaced the file. Any other program may have done so as well, so the stamp is only
        // trusted if it is the one from before the load.
        let stamp = self.storage.stamp(&self.path).ok();
        let is_unloaded = report.is_some_and(|report| {
            let is_left =
                report.recovery().is_some_and(|it| it.backup.is_some() && it.damaged.is_none());
            is_left || report.salvage().is_some()
        });
        self.expected = match digest {
            None => Expected::Missing,
            Some(_) if is_unloaded => Expected::Unloaded,
            Some(digest) => Expected::Save(digest),
        };
        self.stamp = match self.expected {
            Expected::Missing => None,
            Expected::Unloaded => stamp,
            Expected::Save(_) => stamp.filter(|stamp| self.stamp == Some(*stamp)),
        };
    }

    /// Notes that this save is in place now.
    fn follow(&mut self, digest: Digest, stamp: Option<FileStamp>) {
        (self.expected, self.stamp, self.other) = (Expected::Save(digest), stamp, None);
        self.undecided = None;
    }

    /// Notes that this save may be in place, or that the last such save is not.
    fn set_undecided(&mut self, digest: Option<Digest>) {
        (self.undecided, self.other) = (digest, None);
    }

    /// Compares the save with the one that the journal follows, by its stamp. If the stamp differs, by its content.
    fn check(&mut self) -> SaveIdentity {
        let stamp = match self.storage.stamp(&self.path) {
            Ok(stamp) if self.stamp == Some(stamp) => return SaveIdentity::Same,
            Ok(stamp) if self.other == Some(stamp) => return SaveIdentity::Changed,
            Ok(stamp) => stamp,
            Err(error) => return self.missing(error),
        };
        let expected = match &self.expected {
            Expected::Save(digest) => Some(*digest),
            Expected::Missing | Expected::Unloaded => None,
        };
        let identity = match (&self.expected, self.undecided) {
            // The system gave no stamp when the session was opened, so there is nothing to compare.
            (Expected::Unloaded, None) if self.stamp.is_none() => SaveIdentity::Same,
            (Expected::Missing | Expected::Unloaded, None) => SaveIdentity::Changed,
            (_, undecided) => {
                // The rename of a save may return an error and still have happened. Then only the content shows which
                // save is in place.
                let save = read_save(&*self.storage, &self.path, &self.limits);
                match save.and_then(|save| Digest::from_save(&save)) {
                    Ok(found) if expected == Some(found) => SaveIdentity::Same,
                    Ok(found) if undecided == Some(found) => SaveIdentity::Saved,
                    Err(error) if error.kind().is_of_system() => SaveIdentity::Unknown(error),
                    _ => SaveIdentity::Changed,
                }
            }
        };
        match identity {
            SaveIdentity::Same => self.stamp = Some(stamp),
            SaveIdentity::Changed => self.other = Some(stamp),
            SaveIdentity::Saved | SaveIdentity::Unknown(_) => {}
        }
        identity
    }

    /// Reads the bytes of the value in the save that the journal follows.
    fn content(&self) -> Option<Vec<u8>> {
        let Expected::Save(digest) = &self.expected else { return None };
        saved_content(&*self.storage, &self.path, digest, &self.limits)
    }

    /// The result for a file without a stamp.
    fn missing(&self, error: io::Error) -> SaveIdentity {
        let is_missing = error.kind() == io::ErrorKind::NotFound;
        match self.expected {
            Expected::Missing if is_missing => SaveIdentity::Same,
            // On some systems, the save has no name for a moment while another program saves.
            _ if is_missing && !is_between(&*self.storage, &self.path) => SaveIdentity::Changed,
            _ if error.kind() == io::ErrorKind::InvalidData => SaveIdentity::Changed,
            _ => SaveIdentity::Unknown(Error::io("read", &self.path, error)),
        }
    }

    #[cold]
    fn conflict(&self) -> Error {
        let path = self.path.display();
        Error::new(
            ErrorKind::Conflict,
            format!(
                "the save {path} is not the one that this session follows, another program has replaced or deleted it; `overwrite` saves in its place and keeps it as a backup, or save elsewhere, or open the session again to continue with that save"
            ),
        )
    }
}

/// Reads the bytes of the value in a save. `None` if another save is there, or it cannot be read.
fn saved_content(
    storage: &dyn Storage,
    path: &Path,
    digest: &Digest,
    limits: &Limits,
) -> Option<Vec<u8>> {
    let save = read_save(storage, path, limits).ok()?;
    let found = Digest::from_save(&save).ok()?;
    if found == *digest { value_bytes(&save, limits).ok()? } else { None }
}

/// Returns the bytes of the value in a save, or `None` if it has objects instead.
fn value_bytes(save: &[u8], limits: &Limits) -> Result<Option<Vec<u8>>> {
    unpacked(save, limits, |save| {
        let (scan, _) = scan(save.bytes, limits)?;
        Ok(scan.records.value().map(|record| record.payload(save.bytes).to_vec()))
    })
}

/// An edited value with its undo history, recoverable after a crash.
///
/// The target is loaded from a save. Every edit, undo and redo since that save is recorded in a journal beside it. If
/// the program is killed, the next session has the same target, the same undo history and the same saved point.
///
/// The journal stays when a session ends, so that the next one continues with the same history.
/// [`discard`](Self::discard) removes it, with all unsaved changes.
///
/// A session has the methods of a [`History`], without the parameter for the target. [`history`](Self::history) and
/// [`target`](Self::target) give access for reading.
///
/// # Example
///
/// ```
/// use persist::history::CommandEdit;
/// use persist::{Command, History, Persist, Result, Saves, Session};
///
/// #[derive(Persist, Default)]
/// struct Document { title: String }
///
/// #[derive(Persist)]
/// struct Rename { title: String }
///
/// impl Command<Document> for Rename {
///     fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
///         std::mem::swap(&mut edit.target().title, &mut self.title);
///         Ok(())
///     }
///     fn undo(&mut self, document: &mut Document) -> Result<()> {
///         std::mem::swap(&mut document.title, &mut self.title);
///         Ok(())
///     }
/// }
///
/// fn open(folder: &std::path::Path) -> Result<Session<Document>> {
///     let session = Session::with(Saves::new(), History::new(256)).register_command::<Rename>()?;
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
/// assert!(session.history().is_modified());
/// session.undo()?;
/// assert!(!session.history().is_modified());
/// session.undo()?;
/// assert_eq!(session.target().title, "");
/// # Ok::<(), persist::Error>(())
/// ```
pub struct Session<T: 'static = World> {
    target: Loaded<T>,
    pub(super) history: History<T>,
    saves: Saves,
    save: PathBuf,
}
