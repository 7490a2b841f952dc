//! The state of a save after some events of its journal, by the values that the listing of the journal has.

use std::collections::{HashMap, VecDeque};
use std::mem;

use super::listing::{JournalListing, ListedEvent, ListedStep, Occurrence};
use super::stored::place;
use crate::fields::{Direction, PathStep};
use crate::history::Verb;
use crate::history::merging::Merging;
use crate::value::HandleValue;
use crate::{Document, Error, ErrorKind, FieldPath, ObjectId, Record, Result, Value};

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
    /// The types of the program are not needed, but what only its code can do ends the replay before that event: direct
    /// commands, and changes that the listing has no values for. Objects and components that come or go end it as well.
    /// Whether the save is the one that the journal [follows](Self::follows) is not checked.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the journal has fewer events, or the save is none of one value.
    pub fn replay(&self, save: &mut Document, events: usize) -> Result<Replayed> {
        let Some(wanted) = self.events.get(..events) else {
            let count = self.events.len();
            let message = format!("the journal has {count} events, and not {events}");
            return Err(Error::new(ErrorKind::NotFound, message));
        };
        let Some(root) = save.root_mut() else {
            let message = "the save has several values, and is not that of a session";
            return Err(Error::new(ErrorKind::NotFound, message));
        };
        let mut replay = StoredReplay::new(self, root);
        for (done, event) in wanted.iter().enumerate() {
            if let Err(error) = replay.event(event) {
                return Ok(Replayed { events: done, stopped: Some(error) });
            }
        }
        Ok(Replayed { events, stopped: None })
    }
}

/// An entry of the history: the edits that it is made of.
#[derive(Default)]
struct ReplayedEntry<'j> {
    edits: Vec<&'j ListedEvent>,
    /// True if it may be no entry of its own, or more than one: how commands merge only the program knows.
    is_uncertain: bool,
    /// What it sets, once an edit is to be merged into it.
    fields: Option<SetFields<'j>>,
}

impl<'j> ReplayedEntry<'j> {
    /// Whether an edit became a part of it; `None` if only the program knows.
    fn merges(&mut self, event: &'j ListedEvent) -> Option<bool> {
        let joins = event.merging == Merging::Join;
        if self.is_uncertain {
            return None;
        }
        if !joins && self.edits.first().is_some_and(|first| first.label != event.label) {
            return Some(false);
        }
        let edits = &self.edits;
        let fields = self.fields.get_or_insert_with(|| {
            let mut fields = SetFields::default();
            edits.iter().for_each(|edit| fields.add(&edit.steps));
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
struct StoredReplay<'j, 'v> {
    root: &'v mut Value,
    entries: VecDeque<ReplayedEntry<'j>>,
    /// How many of them are applied.
    applied: usize,
    open: Vec<ReplayedEntry<'j>>,
}

/// A change of a value.
#[derive(Clone, Copy)]
struct ListedChange<'j> {
    verb: Verb,
    object: Option<ObjectId>,
    path: Option<&'j FieldPath>,
    index: Option<u64>,
    old: Option<&'j Value>,
    new: Option<&'j Value>,
}

impl<'j, 'v> StoredReplay<'j, 'v> {
    fn new(listing: &'j JournalListing, root: &'v mut Value) -> Self {
        let entry = |event| ReplayedEntry { edits: vec![event], ..ReplayedEntry::default() };
        let entries: VecDeque<_> = listing.entries.iter().map(entry).collect();
        let applied = place(listing.applied).unwrap_or(usize::MAX).min(entries.len());
        Self { root, entries, applied, open: Vec::new() }
    }

    fn event(&mut self, event: &'j ListedEvent) -> Result<()> {
        match event.what {
            Occurrence::Done => {
                self.run(&[event], Direction::Redo)?;
                if let Some(last) = event.last_id {
                    self.give_behind(last);
                }
                match self.open.last_mut() {
                    Some(open) => {
                        // Merged edits that cancel each other out leave an empty transaction, which is no entry.
                        open.is_uncertain |= event.merging != Merging::No;
                        open.edits.push(event);
                    }
                    None => self.enter(event),
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
                let open = self.open.last().ok_or_else(nothing)?;
                let edits = open.edits.clone();
                self.run(&edits, Direction::Undo)?;
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
        let entry = self.entries.get(index).filter(|_| self.open.is_empty());
        let entry = entry.ok_or_else(nothing)?;
        if entry.is_uncertain {
            return Err(uncertain());
        }
        let edits = entry.edits.clone();
        self.run(&edits, direction)
    }

    /// Enters an edit that was done, as a part of the entry before it if it was merged into that.
    fn enter(&mut self, event: &'j ListedEvent) {
        self.entries.truncate(self.applied);
        let last = self.entries.back_mut().filter(|_| event.merging != Merging::No);
        if let Some(last) = last {
            let is_merged = last.merges(event);
            last.is_uncertain |= is_merged.is_none();
            if is_merged != Some(false) {
                return last.edits.push(event);
            }
        }
        self.append(ReplayedEntry { edits: vec![event], ..ReplayedEntry::default() });
    }

    fn append(&mut self, entry: ReplayedEntry<'j>) {
        self.entries.truncate(self.applied);
        self.entries.push_back(entry);
        self.applied = self.entries.len();
    }

    /// Makes or undoes the changes of edits: all of them, or none.
    fn run(&mut self, edits: &[&'j ListedEvent], direction: Direction) -> Result<()> {
        let mut changes = Vec::new();
        for edit in edits {
            flatten(&edit.steps, &mut changes)?;
        }
        if direction == Direction::Undo {
            changes.reverse();
        }
        for (done, change) in changes.iter().enumerate() {
            if let Err(error) = change.make(self.root, direction) {
                for change in changes[..done].iter().rev() {
                    change.make(self.root, direction.reversed())?;
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Lets a world give no ids that were given.
    fn give_behind(&mut self, id: u64) {
        if let Some(last) = world(self.root).and_then(|world| world.get_mut("last_id"))
            && last.as_u64().is_some_and(|last| last < id)
        {
            *last = Value::U64(id);
        }
    }
}

/// The changes of steps, in their order.
fn flatten<'j>(steps: &'j [ListedStep], changes: &mut Vec<ListedChange<'j>>) -> Result<()> {
    for step in steps {
        match step {
            ListedStep::Command { class, is_direct: true, .. } => {
                let message = format!("only its program can run the command {class}");
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            ListedStep::Command { steps, .. } => flatten(steps, changes)?,
            ListedStep::Change { verb, object, path, index, old, new, .. } => {
                let (path, old, new) = (path.as_ref(), old.as_ref(), new.as_ref());
                let change =
                    ListedChange { verb: *verb, object: *object, path, index: *index, old, new };
                changes.push(change);
            }
        }
    }
    Ok(())
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

impl ListedChange<'_> {
    fn make(&self, root: &mut Value, direction: Direction) -> Result<()> {
        let is_redo = direction == Direction::Redo;
        let (old, new) = if is_redo { (self.old, self.new) } else { (self.new, self.old) };
        let made = match self.verb {
            Verb::Set if new.is_none() => return Err(self.refused()),
            Verb::Set => self.target(root).zip(new).and_then(|(target, new)| {
                let are_lists =
                    [&*target, new].map(|it| matches!(it, Value::Seq(_) | Value::Bytes(_)));
                // An empty list of bytes is one of no elements.
                let is_alike = are_lists == [true, true]
                    || mem::discriminant(&*target) == mem::discriminant(new);
                is_alike.then(|| *target = new.clone())
            }),
            Verb::Insert | Verb::Remove => {
                let inserts = (self.verb == Verb::Insert) == is_redo;
                let change = self.target(root).zip(self.index);
                change.and_then(|(target, index)| match inserts {
                    true => insert(opened(target)?, index, new?),
                    false => remove(opened(target)?, index).map(drop),
                })
            }
            Verb::Move => self.target(root).and_then(|target| {
                let (from, to) = (self.index?, self.new?.as_u64()?);
                let (from, to) = if is_redo { (from, to) } else { (to, from) };
                let list = opened(target)?;
                let element = remove(list, from)?;
                if insert(list, to, &element).is_none() {
                    insert(list, from, &element)?;
                    return None;
                }
                Some(())
            }),
            Verb::Rename => self.object(root).zip(new).and_then(|(object, name)| {
                *object.get_mut("name")? = name.clone();
                Some(())
            }),
            Verb::Pause | Verb::Resume => {
                self.object(root).zip(new).and_then(|(object, activity)| {
                    let Value::Enum(stored) = object.get_mut("activity")? else { return None };
                    stored.set_variant(activity.as_text()?);
                    Some(())
                })
            }
            Verb::Reparent => self.reparent(root, [old, new]),
            _ => return Err(self.refused()),
        };
        made.ok_or_else(|| self.lost())
    }

    /// The value that the path leads to, in the component or resource that it is of.
    fn target<'v>(&self, root: &'v mut Value) -> Option<&'v mut Value> {
        let path = self.path?;
        let start = match (self.object, world(root).is_some()) {
            (Some(_), _) => component(self.object(root)?.get_mut("components")?, path.class())?,
            (None, true) => component(world(root)?.get_mut("resources")?, path.class())?,
            (None, false) => root,
        };
        path.steps().iter().try_fold(start, step_into)
    }

    fn object<'v>(&self, root: &'v mut Value) -> Option<&'v mut Record> {
        find(objects(root)?, self.object?)
    }

    /// Moves an object in the tree.
    fn reparent(&self, root: &mut Value, [old, new]: [Option<&Value>; 2]) -> Option<()> {
        let child = self.object?;
        let objects = objects(root)?;
        let ([before, _], [parent, index]) = (tree_position(old?)?, tree_position(new?)?);
        find(objects, child)?;
        let index = place(index.as_u64()?).unwrap_or(usize::MAX);
        if let Some(parent) = parent.as_object() {
            children(find(objects, parent)?)?;
        }
        let of_child = |other: &Value| *other == Value::Handle(HandleValue::Live(child.get()));
        if let Some(before) = before.as_object() {
            let children = children(find(objects, before)?)?;
            children.remove(children.iter().position(of_child)?);
        }
        if let Some(parent) = parent.as_object() {
            let children = children(find(objects, parent)?)?;
            children
                .insert(index.min(children.len()), Value::Handle(HandleValue::Live(child.get())));
        }
        Some(())
    }

    /// What it changes, for messages.
    fn place(&self) -> String {
        let object = self.object.map(|object| format!(" of object {object}")).unwrap_or_default();
        let verb = self.verb.to_string().to_lowercase();
        match self.path {
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
            "the save has no such value for this change: {place}; let its program replay the journal"
        );
        Error::new(ErrorKind::Unsupported, message)
    }
}

/// The record of a world that a value is.
fn world(root: &mut Value) -> Option<&mut Record> {
    root.as_record_mut().filter(|record| record.class() == "persist.World")
}

fn objects(root: &mut Value) -> Option<&mut Vec<Value>> {
    list(world(root)?.get_mut("objects")?)
}

/// An object, by its id: they are in ascending order.
fn find(objects: &mut [Value], id: ObjectId) -> Option<&mut Record> {
    let id_of = |value: &Value| value.as_record()?.get("id")?.as_u64();
    let at = objects.binary_search_by_key(&Some(id.get()), id_of).ok()?;
    objects[at].as_record_mut()
}

fn children(object: &mut Record) -> Option<&mut Vec<Value>> {
    list(object.get_mut("children")?)
}

fn component<'v>(components: &'v mut Value, class: &str) -> Option<&'v mut Value> {
    let is_it = |value: &&mut Value| value.as_record().is_some_and(|it| it.class() == class);
    list(components)?.iter_mut().find(is_it)
}

fn list(value: &mut Value) -> Option<&mut Vec<Value>> {
    match value {
        Value::Seq(values) => Some(values),
        _ => None,
    }
}

/// The parent and the index that the listing has of a place in the tree.
fn tree_position(value: &Value) -> Option<&[Value; 2]> {
    match value {
        Value::Tuple(parts) => (&**parts).try_into().ok(),
        _ => None,
    }
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

fn insert(list: &mut Value, index: u64, element: &Value) -> Option<()> {
    let index = place(index).ok()?;
    match list {
        Value::Seq(parts) if index <= parts.len() => parts.insert(index, element.clone()),
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
    super::stored::wrong("an event that is not possible there")
}

#[cold]
fn uncertain() -> Error {
    let message =
        "only its program knows which edits were merged into the entry that is undone or redone";
    Error::new(ErrorKind::Unsupported, message)
}
