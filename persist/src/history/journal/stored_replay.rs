//! The state of a save after some events of its journal, by the values that the listing of the journal has.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::sync::Arc;

use super::listing::{JournalListing, ListedEvent, ListedStep, Occurrence};
use super::stored::{place, wrong};
use crate::fields::{Direction, PathStep};
use crate::format::{RecordLocation, scan};
use crate::history::Verb;
use crate::history::merging::Merging;
use crate::schema::{ClassSchema, Reader as Values, Stored};
use crate::world::{ComponentPlace, TreePosition, UntypedTree, UntypedWorld};
use crate::{Document, Error, ErrorKind, FieldPath, Limits, ObjectId, Result, Value};

/// How far a save was brought by [`JournalListing::replay`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Replayed {
    /// After how many events of the journal the save is.
    pub events: usize,
    /// What the next event does that only its program can do, if the save is not as far as was asked for.
    pub stopped: Option<Error>,
}

impl JournalListing {
    /// Brings the save that the journal follows to the state after that many of its [`events`](Self::events).
    ///
    /// The types of the program are not needed. What only its code can do ends the replay before that event: direct
    /// commands, undos of edits of which only the program knows how it merged them, and changes that do not go with the
    /// save or that the listing has no values for. Whether the save is the one that the journal
    /// [follows](Self::follows) is not checked.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the journal has fewer events, or the save is none of one value;
    /// [`ErrorKind::InvalidValue`] if it is that of a world that no program loads.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::history::{History, JournalListing, Session};
    /// use persist::{Document, SaveManager, World};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (save, journal) = (folder.path().join("level.sav"), folder.path().join("level.journal"));
    /// let options = Session::<World>::with(SaveManager::new(), History::new(10));
    /// let (mut session, _) = options.open(&save, &journal)?;
    /// session.save()?;
    /// session.edit("Build", |edit| edit.spawn("House"))?;
    /// session.edit("Build", |edit| edit.spawn("Tower"))?;
    /// drop(session);
    ///
    /// // Another program, which wants the level as it was before the tower.
    /// let mut level = Document::open(&save)?;
    /// let replayed = JournalListing::read(&journal)?.replay(&mut level, 1)?;
    /// assert!(replayed.stopped.is_none());
    /// assert!(level.to_string().contains("House"));
    /// assert!(!level.to_string().contains("Tower"));
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn replay(&self, save: &mut Document, events: usize) -> Result<Replayed> {
        let Some(wanted) = self.events.get(..events) else {
            let count = self.events.len();
            let message = format!("the journal has {count} events, and not {events}");
            return Err(Error::new(ErrorKind::NotFound, message));
        };
        let mut replay = StoredReplay::new(self, ReplayTarget::of(save, self.bytes)?);
        let mut done = 0;
        let stopped = wanted.iter().find_map(|event| {
            let failed = replay.event(event).err();
            done += usize::from(failed.is_none());
            failed
        });
        replay.target.end();
        Ok(Replayed { events: done, stopped })
    }
}

/// An entry of the history: the edits that it is made of.
#[derive(Default)]
struct ReplayedEntry<'j> {
    edits: Vec<ReplayedEdit<'j>>,
    /// True if it may be no entry of its own, or more than one: how commands merge only the program knows.
    is_uncertain: bool,
    /// What it sets, once an edit is to be merged into it.
    fields: Option<SetFields<'j>>,
}

struct ReplayedEdit<'j> {
    event: &'j ListedEvent,
    /// In their order, once they were needed.
    changes: Option<Vec<ReplayedChange<'j>>>,
}

impl<'j> ReplayedEdit<'j> {
    fn changes(&mut self) -> Result<&mut Vec<ReplayedChange<'j>>> {
        if self.changes.is_none() {
            let mut changes = Vec::new();
            flatten(&self.event.steps, &self.event.classes, &mut changes)?;
            self.changes = Some(changes);
        }
        Ok(self.changes.get_or_insert_default())
    }
}

/// The changes of steps, in their order.
fn flatten<'j>(
    steps: &'j [ListedStep],
    classes: &'j Arc<[ClassSchema]>,
    changes: &mut Vec<ReplayedChange<'j>>,
) -> Result<()> {
    for step in steps {
        match step {
            ListedStep::Command { class, is_direct: true, .. } => {
                let message = format!("only its program can run the command {class}");
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            ListedStep::Command { steps, .. } => flatten(steps, classes, changes)?,
            ListedStep::Change { .. } => changes.push(ReplayedChange { step, classes, held: None }),
        }
    }
    Ok(())
}

impl<'j> ReplayedEntry<'j> {
    fn of(event: &'j ListedEvent) -> Self {
        Self { edits: vec![ReplayedEdit { event, changes: None }], ..Self::default() }
    }

    /// Makes or undoes its changes: all of them, or none.
    fn run(&mut self, target: &mut ReplayTarget<'_>, direction: Direction) -> Result<()> {
        let mut changes = Vec::new();
        for edit in &mut self.edits {
            changes.extend(edit.changes()?);
        }
        if direction == Direction::Undo {
            changes.reverse();
        }
        for at in 0..changes.len() {
            if let Err(error) = changes[at].make(target, direction) {
                for change in changes[..at].iter_mut().rev() {
                    change.make(target, direction.reversed())?;
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Whether an edit became a part of it; `None` if only the program knows.
    fn merges(&mut self, event: &'j ListedEvent) -> Option<bool> {
        let joins = event.merging == Merging::Join;
        if self.is_uncertain {
            return None;
        }
        if !joins && self.edits.first().is_some_and(|first| first.event.label != event.label) {
            return Some(false);
        }
        let edits = &self.edits;
        let fields = self.fields.get_or_insert_with(|| {
            let mut fields = SetFields::default();
            edits.iter().for_each(|edit| fields.add(&edit.event.steps));
            fields
        });
        let mut new = SetFields::default();
        new.add(&event.steps);
        if fields.is_more || new.is_more {
            let is_known = !(fields.has_command && new.has_command);
            fields.add(&event.steps);
            // Elements and objects that come and go stay steps of their own.
            return is_known.then_some(joins);
        }
        if !joins && new.ends.keys().any(|field| fields.meets(field)) {
            return None;
        }
        if !joins && !new.ends.keys().any(|field| fields.ends.contains_key(field)) {
            return Some(false);
        }
        fields.add(&event.steps);
        // What is set back to what it was leaves nothing to be undone, and the entry goes.
        (fields.changed > 0).then_some(true)
    }
}

/// A field, by its object and path.
type FieldKey = (Option<ObjectId>, String);

/// The fields that steps set.
#[derive(Default)]
struct SetFields<'j> {
    /// Their values before and after all steps.
    ends: HashMap<FieldKey, [&'j Value; 2]>,
    /// How many have another value after the steps.
    changed: usize,
    /// True if some steps do more than set fields.
    is_more: bool,
    has_command: bool,
}

impl<'j> SetFields<'j> {
    fn add(&mut self, steps: &'j [ListedStep]) {
        for step in steps {
            let Some((field, [old, new])) = setting(step) else {
                self.is_more = true;
                self.has_command |= matches!(step, ListedStep::Command { .. });
                continue;
            };
            let ends = self.ends.entry(field).or_insert([old, old]);
            let before = ends[0] != ends[1];
            ends[1] = new;
            let after = ends[0] != ends[1];
            self.changed = self.changed + usize::from(after) - usize::from(before);
        }
    }

    /// True if a field is a part of one of these, or the other way around: their order counts.
    fn meets(&self, (object, path): &FieldKey) -> bool {
        let is_within = |inner: &str, outer: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with(['.', '[', ':']))
        };
        self.ends.keys().any(|(other, outer)| {
            other == object && (is_within(path, outer) || is_within(outer, path))
        })
    }
}

/// A replay on stored values.
struct StoredReplay<'j, 's> {
    target: ReplayTarget<'s>,
    entries: VecDeque<ReplayedEntry<'j>>,
    /// How many of them are applied.
    applied: usize,
    open: Vec<ReplayedEntry<'j>>,
}

impl<'j, 's> StoredReplay<'j, 's> {
    fn new(listing: &'j JournalListing, target: ReplayTarget<'s>) -> Self {
        let entries: VecDeque<_> = listing.entries.iter().map(ReplayedEntry::of).collect();
        let applied = place(listing.applied).unwrap_or(usize::MAX).min(entries.len());
        Self { target, entries, applied, open: Vec::new() }
    }

    fn event(&mut self, event: &'j ListedEvent) -> Result<()> {
        match event.what {
            Occurrence::Done => {
                let mut entry = ReplayedEntry::of(event);
                entry.run(&mut self.target, Direction::Redo)?;
                if let (Some(last), Some(world)) = (event.last_id, &mut self.target.world) {
                    world.give_behind(last).ok_or_else(|| wrong("ids that no world gives"))?;
                }
                match self.open.last_mut() {
                    Some(open) => {
                        // Merged edits that cancel each other out leave an empty transaction, which is no entry.
                        open.is_uncertain |= event.merging != Merging::No;
                        open.edits.append(&mut entry.edits);
                    }
                    None => self.enter(entry),
                }
            }
            Occurrence::Undone => {
                let index = self.applied.checked_sub(1).ok_or_else(nothing)?;
                self.move_entry(index, Direction::Undo)?;
                self.applied = index;
            }
            Occurrence::Redone => {
                self.move_entry(self.applied, Direction::Redo)?;
                self.applied += 1;
            }
            Occurrence::Begun => self.open.push(ReplayedEntry::default()),
            Occurrence::Committed => {
                let closed = self.open.pop().ok_or_else(nothing)?;
                match self.open.last_mut() {
                    Some(outer) => {
                        outer.is_uncertain |= closed.is_uncertain;
                        outer.edits.extend(closed.edits);
                    }
                    None if closed.edits.is_empty() => {}
                    None => self.append(closed),
                }
            }
            Occurrence::RolledBack => {
                let open = self.open.last_mut().ok_or_else(nothing)?;
                open.run(&mut self.target, Direction::Undo)?;
                self.open.pop();
            }
            Occurrence::Cleared => {
                self.entries.clear();
                self.applied = 0;
            }
            Occurrence::Skipped(false) => {
                self.applied = self.applied.checked_sub(1).ok_or_else(nothing)?;
            }
            Occurrence::Skipped(true) => {
                self.entries.get(self.applied).ok_or_else(nothing)?;
                self.applied += 1;
            }
            Occurrence::Dropped(Some(index)) => {
                let index = place(index)?;
                self.entries.get(index).ok_or_else(nothing)?;
                if self.entries.range(..=index).any(|entry| entry.is_uncertain) {
                    return Err(uncertain());
                }
                self.entries.remove(index);
                self.applied -= usize::from(index < self.applied);
            }
            Occurrence::Evicted(oldest, undone) => {
                for _ in 0..oldest {
                    // One that may be several stays: where it ends is not known.
                    match self.entries.front() {
                        Some(entry) if self.applied > 0 && !entry.is_uncertain => {
                            self.entries.pop_front();
                            self.applied -= 1;
                        }
                        _ => break,
                    }
                }
                let undone = place(undone)?.min(self.entries.len() - self.applied);
                self.entries.truncate(self.entries.len() - undone);
            }
            Occurrence::Dropped(None) | Occurrence::Saved(_) | Occurrence::Entry => {}
        }
        Ok(())
    }

    /// Undoes or redoes an entry.
    fn move_entry(&mut self, index: usize, direction: Direction) -> Result<()> {
        let entry = self.entries.get_mut(index).filter(|_| self.open.is_empty());
        let entry = entry.ok_or_else(nothing)?;
        if entry.is_uncertain {
            return Err(uncertain());
        }
        entry.run(&mut self.target, direction)
    }

    /// Enters an edit that was done, as a part of the entry before it if it was merged into that.
    fn enter(&mut self, mut entry: ReplayedEntry<'j>) {
        self.entries.truncate(self.applied);
        if let (Some(last), [edit]) = (self.entries.back_mut(), &entry.edits[..])
            && edit.event.merging != Merging::No
        {
            let is_merged = last.merges(edit.event);
            last.is_uncertain |= is_merged.is_none();
            if is_merged != Some(false) {
                return last.edits.append(&mut entry.edits);
            }
        }
        self.append(entry);
    }

    fn append(&mut self, entry: ReplayedEntry<'j>) {
        self.entries.truncate(self.applied);
        self.entries.push_back(entry);
        self.applied = self.entries.len();
    }
}

/// The field that a step sets, and its values before and after.
fn setting(step: &ListedStep) -> Option<(FieldKey, [&Value; 2])> {
    match step {
        ListedStep::Change {
            verb: Verb::Set,
            object,
            path: Some(path),
            old: Some(old),
            new: Some(new),
            ..
        } => Some(((*object, path.to_string()), [old, new])),
        _ => None,
    }
}

/// What a replay changes.
struct ReplayTarget<'s> {
    save: &'s mut Document,
    /// The value of the save, unless it is a world.
    root: Value,
    world: Option<UntypedWorld>,
    /// Reads the objects that the journal has.
    values: Values,
    /// The classes of the journal whose indices in the save are known, and those.
    known: (Option<Arc<[ClassSchema]>>, HashMap<usize, usize>),
}

impl<'s> ReplayTarget<'s> {
    fn of(save: &'s mut Document, bytes: u64) -> Result<Self> {
        let Some(root) = save.root_mut() else {
            let message = "the save has several values, and is not that of a session";
            return Err(Error::new(ErrorKind::NotFound, message));
        };
        let is_world = root.as_record().is_some_and(|root| root.class() == "persist.World");
        let world = if is_world { UntypedWorld::of(root) } else { None };
        if is_world && world.is_none() {
            let message = "no program loads the world of the save; it is damaged or made to harm";
            return Err(Error::new(ErrorKind::InvalidValue, message));
        }
        let root = mem::replace(root, Value::Unit);
        let values = Values::new(&Limits::DEFAULT, bytes);
        Ok(Self { save, root, world, values, known: (None, HashMap::new()) })
    }

    /// Puts the value back into the save.
    fn end(self) {
        if let Some(root) = self.save.root_mut() {
            *root = self.world.map_or(self.root, UntypedWorld::into_value);
        }
    }

    /// A value of the journal, as one of the save.
    fn adopted(&mut self, value: &Value, classes: &Arc<[ClassSchema]>) -> Result<Value> {
        let mut value = value.clone();
        let (of, known) = &mut self.known;
        if !of.as_ref().is_some_and(|of| Arc::ptr_eq(of, classes)) {
            *of = Some(Arc::clone(classes));
            known.clear();
        }
        self.save.adopt(&mut value, classes, known)?;
        Ok(value)
    }

    /// The objects of a journal's fragment.
    fn tree(&mut self, root: ObjectId, save: &[u8], place: TreePosition) -> Result<UntypedTree> {
        let limits = &Limits::DEFAULT;
        let (scan, classes) = scan(save, limits)?;
        let stored = Stored::new(classes);
        self.values.forget_classes();
        let mut read = |record: RecordLocation| {
            self.values.payload(&stored, record.class as usize, record.payload(save), limits)
        };
        let mut value = scan.records.iter().next().map_or(Ok(Value::Unit), &mut read)?;
        self.save.adopt(&mut value, &stored, &mut HashMap::new())?;
        let world = UntypedWorld::of(&mut value).filter(|_| scan.records.len() == 1);
        let tree = world.and_then(|world| {
            let last = world.last_id()?;
            self.world.as_mut()?.give_behind(last)?;
            world.into_tree(root, place)
        });
        tree.ok_or_else(|| wrong("objects that are not those that were named"))
    }

    /// The value that a path leads to, in the component or resource that it is of.
    fn value(&mut self, object: Option<ObjectId>, path: &FieldPath) -> Option<&mut Value> {
        let start = match &mut self.world {
            Some(world) => world.content_mut(object, path.class())?,
            None => &mut self.root,
        };
        path.steps().iter().try_fold(start, step_into)
    }
}

/// A change that is replayed, and what it holds out of the save.
struct ReplayedChange<'j> {
    step: &'j ListedStep,
    classes: &'j Arc<[ClassSchema]>,
    held: Option<Held>,
}

enum Held {
    Objects(UntypedTree),
    Content(Value, Option<ComponentPlace>),
}

impl ReplayedChange<'_> {
    fn make(&mut self, target: &mut ReplayTarget<'_>, direction: Direction) -> Result<()> {
        let step = self.step;
        let ListedStep::Change { verb, object, name, path, index, old, new, whole } = step else {
            return Ok(());
        };
        let is_redo = direction == Direction::Redo;
        let (old, new) = if is_redo { (old, new) } else { (new, old) };
        let puts = matches!(verb, Verb::Insert | Verb::Create | Verb::Attach) == is_redo;
        let (path, owner) = (path.as_ref(), *object);
        let new = new.as_ref().filter(|_| self.held.is_none());
        let new = new.map(|new| target.adopted(new, self.classes)).transpose()?;
        let made = match verb {
            Verb::Set if new.is_none() => return Err(self.refused()),
            Verb::Set => path.and_then(|path| {
                let (target, new) = (target.value(owner, path)?, new?);
                let are_lists =
                    [&*target, &new].map(|it| matches!(it, Value::Seq(_) | Value::Bytes(_)));
                // An empty list of bytes is one of no elements.
                let is_alike = are_lists == [true, true]
                    || mem::discriminant(&*target) == mem::discriminant(&new);
                is_alike.then(|| *target = new)
            }),
            Verb::Insert | Verb::Remove => path.and_then(|path| {
                let list = opened(target.value(owner, path)?)?;
                match puts {
                    true => insert(list, (*index)?, new?),
                    false => remove(list, (*index)?).map(drop),
                }
            }),
            Verb::Move => path.and_then(|path| {
                let list = opened(target.value(owner, path)?)?;
                let (from, to) = ((*index)?, old.as_ref().or(new.as_ref())?.as_u64()?);
                let (from, to) = if is_redo { (from, to) } else { (to, from) };
                let element = remove(list, from)?;
                if insert(list, to, element.clone()).is_none() {
                    insert(list, from, element)?;
                    return None;
                }
                Some(())
            }),
            _ if target.world.is_none() => None,
            Verb::Create | Verb::Delete if puts => {
                let tree = match (self.held.take(), owner, &whole.fragment) {
                    (Some(Held::Objects(tree)), ..) => tree,
                    (_, Some(object), Some(fragment)) => match fragment.save() {
                        Some(save) => target.tree(object, save, fragment.place())?,
                        None => {
                            let name = name.as_deref().unwrap_or_default();
                            UntypedTree::bare(object, name, fragment.place())
                        }
                    },
                    _ => return Err(self.refused()),
                };
                target.world.as_mut().and_then(|world| world.put(tree))
            }
            Verb::Attach | Verb::Detach if puts => {
                let content = match (self.held.take(), new) {
                    (Some(Held::Content(content, place)), _) => (content, place),
                    (_, Some(content)) => (content, whole.place),
                    _ => return Err(self.refused()),
                };
                target.world.as_mut().and_then(|world| world.attach(owner, content, self.classes))
            }
            verb => target.world.as_mut().and_then(|world| {
                let text = || new.as_ref()?.as_text();
                match verb {
                    Verb::Create | Verb::Delete => {
                        self.held = Some(Held::Objects(world.take(owner?)?));
                        Some(())
                    }
                    Verb::Attach | Verb::Detach => {
                        let (content, place) = world.detach(owner, path?.class())?;
                        self.held = Some(Held::Content(content, place));
                        Some(())
                    }
                    Verb::Rename => world.rename(owner?, text()?),
                    Verb::Pause | Verb::Resume => world.set_activity(owner?, text()?),
                    Verb::Reparent => {
                        let (from, to) =
                            (tree_position(old.as_ref()?)?, tree_position(new.as_ref()?)?);
                        world.set_parent(owner?, from.parent, to)
                    }
                    _ => None,
                }
            }),
        };
        made.ok_or_else(|| self.lost())
    }

    /// What it changes, for messages.
    fn place(&self) -> String {
        let ListedStep::Change { verb, object, path, .. } = self.step else {
            return String::new();
        };
        let object = object.map(|object| format!(" of object {object}")).unwrap_or_default();
        let verb = verb.to_string().to_lowercase();
        match path {
            Some(path) => format!("{verb} {path}{object}"),
            None => format!("{verb}{object}"),
        }
    }

    #[cold]
    fn refused(&self) -> Error {
        let message = format!("only its program can do this change: {}", self.place());
        Error::new(ErrorKind::Unsupported, message)
    }

    #[cold]
    fn lost(&self) -> Error {
        let place = self.place();
        let message = format!(
            "this change does not go with the save: {place}; let its program replay the journal"
        );
        Error::new(ErrorKind::Unsupported, message)
    }
}

/// The parent and the index that the listing has of a place in the tree.
fn tree_position(value: &Value) -> Option<TreePosition> {
    let [parent, index] = value.as_seq()? else { return None };
    Some(TreePosition { parent: parent.as_object(), index: index.as_u64()? })
}

/// What an option holds, which paths pass through.
fn opened(mut value: &mut Value) -> Option<&mut Value> {
    while let Value::Option(inner) = value {
        value = inner.as_deref_mut()?;
    }
    Some(value)
}

fn step_into<'v>(value: &'v mut Value, step: &PathStep) -> Option<&'v mut Value> {
    let is_key = |known: &Value, key: &Value| {
        known == key || known.as_i64().is_some_and(|known| Some(known) == key.as_i64())
    };
    match (opened(value)?, step) {
        (Value::Struct(record) | Value::Enum(record), PathStep::Field(name)) => {
            record.get_mut(name)
        }
        (Value::Tuple(parts), PathStep::Field(name)) => parts.get_mut(name.parse::<usize>().ok()?),
        (Value::Seq(parts) | Value::Tuple(parts), PathStep::Index(index)) => {
            parts.get_mut(place(*index).ok()?)
        }
        (Value::Map(entries), step) => {
            let key = match step {
                PathStep::Index(index) => Value::U64(*index),
                PathStep::Key(text) => text.parse().ok()?,
                PathStep::Field(_) => return None,
            };
            let mut entries = entries.iter_mut();
            entries.find(|(known, _)| is_key(known, &key)).map(|(_, value)| value)
        }
        _ => None,
    }
}

fn insert(list: &mut Value, index: u64, element: Value) -> Option<()> {
    let index = place(index).ok()?;
    match list {
        Value::Seq(parts) if index <= parts.len() => parts.insert(index, element),
        Value::Bytes(bytes) if index <= bytes.len() => {
            bytes.insert(index, u8::try_from(element.as_u64()?).ok()?);
        }
        _ => return None,
    }
    Some(())
}

fn remove(list: &mut Value, index: u64) -> Option<Value> {
    let index = place(index).ok()?;
    match list {
        Value::Seq(parts) if index < parts.len() => Some(parts.remove(index)),
        Value::Bytes(bytes) if index < bytes.len() => Some(Value::U8(bytes.remove(index))),
        _ => None,
    }
}

#[cold]
fn nothing() -> Error {
    wrong("an event that is not possible there")
}

#[cold]
fn uncertain() -> Error {
    let message =
        "only its program knows which edits were merged into the entry that is undone or redone";
    Error::new(ErrorKind::Unsupported, message)
}
