//! The events of a journal, read by the schemas in the journal, without the program's types.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use persist::__tools::{
    Change, ChangeKind, ClassSchema, ComponentPlace, Digest, FILES, FieldChange, FieldEdit,
    Fragment, Frame, FrameKind, FrameReader, JournalScan, Merging, Reader as Values, Stored,
    StoredCommand, StoredDone, StoredEntry, StoredEvicted, StoredProgram, StoredStacks, StoredStep,
    WorldChange, key_at, read, scan, value_at, wrong,
};
use persist::history::{Label, ReplayStop, TornWrite, Verb};
use persist::{Error, FieldPath, Limits, ObjectId, Result, Value};

/// The events of a journal, for tools that do not have the types of the program that wrote it.
///
/// # Example
///
/// ```
/// use persist::history::{History, Session};
/// use persist::{Persist, Saves, Value};
/// use persist_tools::{JournalListing, ListedStep};
///
/// #[derive(Default, Persist)]
/// struct Level { name: String, speed: u32 }
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let (save, journal) = (folder.path().join("level.sav"), folder.path().join("level.journal"));
/// let options = Session::<Level>::with(Saves::new(), History::new(10));
/// let (mut session, _) = options.open(&save, &journal)?;
/// session.edit("Go faster", |level: &mut Level| {
///     level.speed = 7;
///     Ok(())
/// })?;
/// drop(session);
///
/// // Another program, which does not know the type.
/// let listing = JournalListing::read(&journal)?;
/// let ListedStep::Change { path, new, .. } = &listing.events[0].steps[0] else { panic!() };
/// assert_eq!(path.as_ref().map(ToString::to_string).as_deref(), Some("Level:speed"));
/// assert_eq!(new, &Some(Value::U32(7)));
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct JournalListing {
    /// The number of bytes of the journal.
    pub bytes: u64,
    /// The entries that the history had when the journal began, from the oldest to the newest.
    pub entries: Vec<ListedEvent>,
    /// The number of these entries that were applied. The others were undone.
    pub applied: u64,
    /// The events since then.
    pub events: Vec<ListedEvent>,
    /// The number of nested transactions that are open at its end.
    pub open: usize,
    /// The end of the journal, if a crash interrupted the last write.
    pub torn: Option<TornWrite>,
    /// The place where reading stopped, if the journal could not be read to the end.
    pub stopped: Option<ReplayStop>,
    follows: Option<Digest>,
}

/// An event of a history.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ListedEvent {
    /// The offset of its frame in the journal.
    pub offset: u64,
    /// The kind of the event.
    pub what: Occurrence,
    /// The label of the entry or the transaction.
    pub label: Label,
    /// The steps of an entry.
    pub steps: Vec<ListedStep>,
    /// How it may have been merged into the previous entry.
    pub(super) merging: Merging,
    /// The last id that the world had used after it, unless that follows from the steps.
    pub(super) last_id: Option<u64>,
    /// The classes of the values in its steps.
    pub(super) classes: Arc<[ClassSchema]>,
}

/// The kind of an event of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Occurrence {
    /// The history had this entry when the journal began.
    Entry,
    /// An edit was made.
    Done,
    /// An edit was made that became no entry.
    Aside,
    /// The current entry was undone.
    Undone,
    /// The next entry was redone.
    Redone,
    /// A transaction began.
    Begun,
    /// The innermost transaction became an entry.
    Committed,
    /// The innermost transaction was rolled back.
    RolledBack,
    /// The target was saved. False if it was marked as modified.
    Saved(bool),
    /// All entries were dropped.
    Cleared,
    /// The current entry counts as undone after its undo failed. If true, the next entry counts as redone.
    Skipped(bool),
    /// The entry with this index was dropped. `None` for an edit that was not in the list yet.
    Dropped(Option<u64>),
    /// That many of the oldest entries were evicted, and that many of those that could be redone.
    Evicted(u64, u64),
}

/// A step of an entry.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ListedStep {
    /// A change of the target.
    Change {
        /// The kind of the change.
        verb: Verb,
        /// The object, if the target is a world. `None` for a resource.
        object: Option<ObjectId>,
        /// The name of the object at that time.
        name: Option<String>,
        /// The class or the field.
        path: Option<FieldPath>,
        /// The index of an element that was inserted, removed or moved.
        index: Option<u64>,
        /// The value before the change, if the journal has it.
        old: Option<Value>,
        /// The value after the change, if the journal has it.
        new: Option<Value>,
        #[doc(hidden)]
        whole: Box<ListedWhole>,
    },
    /// A command of the program.
    Command {
        /// The name of its class.
        class: String,
        /// The command itself after it was applied, if its class is known.
        value: Option<Value>,
        /// True if it changed its target by its own code. Then only its program can redo it.
        is_direct: bool,
        /// The steps that were done through its edit.
        steps: Vec<ListedStep>,
    },
}

/// The parts of a change that a replay needs for objects and components that were added or removed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListedWhole {
    pub(super) fragment: Option<Fragment>,
    pub(super) place: Option<ComponentPlace>,
    /// The key of a map that was inserted or removed.
    pub(super) key: Option<Value>,
}

impl JournalListing {
    /// Reads a journal. It is neither locked nor changed, so a session may have it open.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Io`](persist::ErrorKind::Io) if the file cannot be read, and the errors of a file that is not
    /// a journal. Damage after the header is not an error: see [`torn`](Self::torn) and [`stopped`](Self::stopped).
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::of(path, &JournalScan::read(&FILES, path)?)
    }

    /// Reads a journal as a session with this save, or without one, would continue it.
    ///
    /// [`read`](Self::read) lists the last beginning of the file. After a crash in a save, that may be of a save that
    /// was never in its place. Then this lists the one before it.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`read`](Self::read).
    pub fn for_save(path: impl AsRef<Path>, save: Option<&[u8]>) -> Result<Self> {
        let path = path.as_ref();
        let save = save.and_then(|save| Digest::from_save(save).ok());
        Self::of(path, &JournalScan::read(&FILES, path)?.of(save.as_ref()))
    }

    fn of(path: &Path, part: &JournalScan) -> Result<Self> {
        let mut reader = FrameReader::open_part(&FILES, path, part)?;
        let JournalScan { size, follows, end, .. } = *part;
        let mut listing = Self { bytes: size, follows, ..Self::default() };
        let mut schemas = ListedClasses { commands: None, world: None, size };
        while reader.scan.end < end
            && let Some(frame) =
                reader.next_frame().map_err(|error| Error::io("read", path, error))?
        {
            if let Err(error) = listing.frame(&frame, &mut schemas) {
                listing.stopped = Some(ReplayStop::new(frame.offset, &error));
                break;
            }
            listing.open = reader.scan.depth();
        }
        if listing.stopped.is_none() {
            (listing.torn, listing.stopped) =
                (part.torn(), reader.scan.stopped().or(part.stopped()));
        }
        Ok(listing)
    }

    /// Returns true if the journal follows this save: its events happened after the save.
    #[must_use]
    pub fn follows(&self, save: &[u8]) -> bool {
        self.follows.is_some() && Digest::from_save(save).ok() == self.follows
    }

    /// Returns true if the journal follows no save: nothing was saved before it began.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.follows.is_none()
    }

    fn frame(&mut self, frame: &Frame<'_>, schemas: &mut ListedClasses) -> Result<()> {
        let payload = frame.payload;
        let (mut label, mut steps) = (Label::None, Vec::new());
        let (mut merging, mut last_id) = (Merging::No, None);
        let what = match frame.kind {
            FrameKind::Program => return schemas.read(&read(payload)?),
            FrameKind::Stacks => {
                let stacks: StoredStacks = read(payload)?;
                self.applied = stacks.position;
                return Ok(());
            }
            // Contents are only needed by programs with other classes. The reader has entered the entries that are named.
            FrameKind::Content | FrameKind::Earlier | FrameKind::InPlace | FrameKind::Follows => {
                return Ok(());
            }
            FrameKind::Entry => {
                let entry: StoredEntry = read(payload)?;
                (label, steps) = (entry.label, schemas.steps(&entry.steps)?);
                Occurrence::Entry
            }
            FrameKind::Done | FrameKind::Insignificant | FrameKind::Aside => {
                let done: StoredDone = read(payload)?;
                (merging, last_id) = (done.merging, done.ids.map(|ids| ids.after));
                (label, steps) = (done.label, schemas.steps(&done.steps)?);
                match frame.kind {
                    FrameKind::Aside => Occurrence::Aside,
                    _ => Occurrence::Done,
                }
            }
            FrameKind::Undone => Occurrence::Undone,
            FrameKind::Redone => Occurrence::Redone,
            FrameKind::Begun => {
                label = read(payload)?;
                Occurrence::Begun
            }
            FrameKind::Committed => Occurrence::Committed,
            FrameKind::RolledBack => Occurrence::RolledBack,
            FrameKind::Saved => Occurrence::Saved(read::<Option<u64>>(payload)?.is_some()),
            FrameKind::Cleared => Occurrence::Cleared,
            FrameKind::Skipped => Occurrence::Skipped(read(payload)?),
            FrameKind::Dropped => Occurrence::Dropped(read(payload)?),
            FrameKind::Evicted => {
                let evicted: StoredEvicted = read(payload)?;
                Occurrence::Evicted(evicted.oldest, evicted.undone)
            }
        };
        let (offset, classes) = (frame.offset, schemas.all());
        let event = ListedEvent { offset, what, label, steps, merging, last_id, classes };
        if what == Occurrence::Entry {
            self.entries.push(event);
        } else {
            self.events.push(event);
        }
        Ok(())
    }
}

/// The classes of the frames that follow.
struct ListedClasses {
    commands: Option<ReadableClasses>,
    /// The classes of the components and resources, if the target is a world.
    world: Option<ReadableClasses>,
    /// The number of bytes of the journal.
    size: u64,
}

/// Classes, and a reader of their values.
///
/// All values of a journal together may take as much memory as those of a save of its size.
struct ReadableClasses {
    stored: Stored,
    all: Arc<[ClassSchema]>,
    /// The first class of each name.
    by_name: HashMap<String, usize>,
    values: RefCell<Values>,
}

impl ReadableClasses {
    fn new(previous: Option<Self>, definitions: &[u8], size: u64) -> Result<Option<Self>> {
        if definitions.is_empty() {
            return Ok(None);
        }
        let (_, classes) = scan(definitions, &Limits::DEFAULT)?;
        let mut values = match previous {
            Some(previous) => previous.values.into_inner(),
            None => Values::new(&Limits::DEFAULT, size),
        };
        values.forget_classes();
        let all = classes.as_slice().into();
        let names = classes.iter().enumerate().rev();
        let by_name = names.map(|(at, class)| (class.name.clone(), at)).collect();
        Ok(Some(Self { stored: Stored::new(classes), all, by_name, values: values.into() }))
    }

    fn value(&self, node: usize, bytes: &[u8]) -> Option<Value> {
        self.values.borrow_mut().whole(&self.stored, node, bytes, &Limits::DEFAULT).ok()
    }
}

impl ListedClasses {
    fn read(&mut self, program: &StoredProgram) -> Result<()> {
        self.commands = ReadableClasses::new(self.commands.take(), &program.commands, self.size)?;
        self.world = ReadableClasses::new(self.world.take(), &program.world, self.size)?;
        Ok(())
    }

    /// The classes of the values whose fields change.
    fn of_fields(&self) -> Option<&ReadableClasses> {
        self.world.as_ref().or(self.commands.as_ref())
    }

    fn all(&self) -> Arc<[ClassSchema]> {
        self.of_fields().map_or_else(|| [].into(), |classes| Arc::clone(&classes.all))
    }

    fn steps(&self, steps: &[StoredStep]) -> Result<Vec<ListedStep>> {
        let mut shown = Vec::with_capacity(steps.len());
        for step in steps {
            match step {
                StoredStep::Command(command) => shown.push(self.command(command)?),
                StoredStep::Change(change) => self.change(change, &mut shown),
            }
        }
        Ok(shown)
    }

    fn command(&self, command: &StoredCommand) -> Result<ListedStep> {
        let number = command.class as usize;
        let classes = self.commands.as_ref().filter(|classes| number < classes.stored.len());
        let Some(classes) = classes else {
            return Err(wrong("the number of a class that it does not define"));
        };
        Ok(ListedStep::Command {
            class: classes.stored[number].name.clone(),
            value: classes.value(classes.stored.root(number), &command.bytes),
            is_direct: command.direct.is_some(),
            steps: self.steps(&command.further)?,
        })
    }

    fn change(&self, change: &Change, shown: &mut Vec<ListedStep>) {
        let (object, none) = (change.owner.object(), ListedWhole::default);
        let text = |text: &str| Some(Value::from(text));
        let mut show = |verb, path, index, [old, new]: [Option<Value>; 2], whole| {
            let name = change.name.as_ref().map(ToString::to_string);
            let whole = Box::new(whole);
            shown.push(ListedStep::Change { verb, object, name, path, index, old, new, whole });
        };
        let verb = change.verb();
        match &change.what {
            ChangeKind::Field(_) | ChangeKind::Fields(_) => {
                for FieldChange { path, how, .. } in change.fields() {
                    let (index, ends) = self.ends(path, how);
                    let whole = ListedWhole { key: self.key(path, how), ..none() };
                    show(Verb::of_field(how), Some(path.clone()), index, ends, whole);
                }
            }
            ChangeKind::World(WorldChange::Spawn(fragment) | WorldChange::Delete(fragment)) => {
                let whole = ListedWhole { fragment: fragment.clone(), ..none() };
                show(verb, None, None, [None, None], whole);
            }
            ChangeKind::World(WorldChange::Attach(detached) | WorldChange::Detach(detached)) => {
                let class = FieldPath::new(detached.class().to_owned());
                let content = detached.content().and_then(|bytes| self.part(&class, bytes, false));
                let mut ends = [None, content];
                if verb == Verb::Detach {
                    ends.reverse();
                }
                let whole = ListedWhole { place: detached.place(), ..none() };
                show(verb, Some(class), None, ends, whole);
            }
            ChangeKind::World(WorldChange::Rename { old, new }) => {
                show(verb, None, None, [old, new].map(|name| text(&name.text())), none());
            }
            ChangeKind::World(WorldChange::Move { old, new }) => {
                let ends = [old, new].map(|place| {
                    let parts = vec![Value::Ref(place.parent), Value::U64(place.index)];
                    Some(Value::Tuple(parts))
                });
                show(verb, None, None, ends, none());
            }
            ChangeKind::World(WorldChange::Activity { old, new }) => {
                let ends = [old, new].map(|activity| text(&format!("{activity:?}")));
                show(verb, None, None, ends, none());
            }
        }
    }

    /// The index in a list where something changed, and the values before and after the change.
    fn ends(&self, path: &FieldPath, how: &FieldEdit) -> (Option<u64>, [Option<Value>; 2]) {
        let value = |bytes: &[u8], is_element| self.part(path, bytes, is_element);
        match how {
            FieldEdit::Set { old, new } => (None, [value(old, false), value(new, false)]),
            FieldEdit::Insert { index, element } => (Some(*index), [None, value(element, true)]),
            FieldEdit::Remove { index, element } => (Some(*index), [value(element, true), None]),
            FieldEdit::Move { from, to } => (Some(*from), [None, Some(Value::U64(*to))]),
            FieldEdit::InsertKey { value: new } => (None, [None, value(new, false)]),
            FieldEdit::RemoveKey { value: old } => (None, [value(old, false), None]),
        }
    }

    /// The key of a map that was inserted or removed.
    fn key(&self, path: &FieldPath, how: &FieldEdit) -> Option<Value> {
        if !matches!(how, FieldEdit::InsertKey { .. } | FieldEdit::RemoveKey { .. }) {
            return None;
        }
        let classes = self.of_fields()?;
        let class = *classes.by_name.get(path.class())?;
        key_at(&mut classes.values.borrow_mut(), &classes.stored, (class, path.steps()))
    }

    /// The value of a field, or of an element of the list in it, from its bytes.
    ///
    /// `None` if the path leaves the kind open, as in a trait object, or in variants whose fields of that name have
    /// different kinds.
    fn part(&self, path: &FieldPath, bytes: &[u8], is_element: bool) -> Option<Value> {
        let classes = self.of_fields()?;
        let class = *classes.by_name.get(path.class())?;
        let mut values = classes.values.borrow_mut();
        value_at(&mut values, &classes.stored, (class, path.steps()), bytes, is_element)
    }
}
