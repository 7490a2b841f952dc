//! [`FieldChange`]: changes of fields as data, and their application to values.

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::bytes::{AsBytes, Bytes};
#[cfg(feature = "history")]
use super::follow;
use super::links::FieldLinks;
use super::path::{FieldPath, PathStep, located};
use super::paths::AsText;
use super::{FieldPart, PartBuffers, Root};
#[cfg(feature = "history")]
use crate::codec::ListSplice;
use crate::codec::{
    Buffer, Decoder, Encoder, Fail, FieldAccess, ListAccess, MapAccess, Phase, Portable,
    Prototypes, Visitor,
};
use crate::graph::Registry;
#[cfg(feature = "history")]
use crate::schema::Stored;
use crate::schema::{Cursor, KindSchema, Strict, has_key, no_key};
use crate::value::HandleValue;
use crate::{Error, ErrorKind, Limits, ObjectId, Result, Value};

/// A change of one field of a value.
#[derive(crate::Persist, Clone)]
#[persist(crate = crate, class = "persist.FieldChange")]
pub struct FieldChange {
    /// The path of the field.
    #[persist(with = AsText, empty = FieldPath::new(""))]
    pub path: FieldPath,
    /// The kind of the change, with the old and the new content.
    pub how: FieldEdit,
    /// The number of elements of the lists that the path leads through, without the one that is inserted or removed.
    ///
    /// An index leads to the same element in the same lists alone. Another history of the target, or the program, may
    /// have inserted one before it; an undo would then remove or change one that this history has nothing to do with.
    pub elements: u32,
}

/// The kind of a change, with the encoded old and new content. Both are kept, so that undo and redo do not depend on
/// each other.
#[derive(crate::Persist, Clone)]
#[persist(crate = crate, class = "persist.How")]
pub enum FieldEdit {
    /// The field was set to another value.
    Set {
        /// The encoded value before the change.
        #[persist(with = AsBytes)]
        old: Bytes,
        /// The encoded value after the change.
        #[persist(with = AsBytes)]
        new: Bytes,
    },
    /// An element was inserted into a list at this index.
    Insert {
        /// The index of the new element.
        index: u64,
        /// The encoded element.
        #[persist(with = AsBytes)]
        element: Bytes,
    },
    /// The element at this index was removed from a list.
    Remove {
        /// The index that the element had.
        index: u64,
        /// The encoded element.
        #[persist(with = AsBytes)]
        element: Bytes,
    },
    /// The element of a list at index `from` was moved to index `to`.
    Move {
        /// The index before the change.
        from: u64,
        /// The index after the change.
        to: u64,
    },
    /// A value was inserted into a map, under the new key at the end of the path.
    InsertKey {
        /// The encoded value.
        #[persist(with = AsBytes)]
        value: Bytes,
    },
    /// The key at the end of the path was removed from a map, with its value.
    RemoveKey {
        /// The encoded value.
        #[persist(with = AsBytes)]
        value: Bytes,
    },
}

/// The direction in which a change is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The change is reverted.
    Undo,
    /// The change is applied again.
    Redo,
}

impl Direction {
    /// Returns the other direction.
    pub fn reversed(self) -> Self {
        match self {
            Self::Undo => Self::Redo,
            Self::Redo => Self::Undo,
        }
    }
}

/// The state of a change when it is stored, which decides what of it is in the world.
#[cfg(feature = "history")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeState {
    /// The change was just made. A replay of the journal redoes it.
    Done,
    /// The change is applied.
    Applied,
    /// The change is undone.
    Undone,
    /// The change is applied or undone, and is moved to a spill file of this process. Its detached parts stay in
    /// memory.
    Spilled,
}

/// An operation on a field, or on the elements of a list.
pub(crate) enum Splice<V> {
    Set(V),
    Insert(u64, V),
    Remove(u64),
    Move(u64, u64),
    /// A value under a new key of a map. The key is at the end of the path.
    InsertKey(V),
    RemoveKey,
}

/// The result of merging a step into the previous one.
#[cfg(feature = "history")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// The steps were not merged: the new step remains a step of its own.
    No,
    /// The new step was merged into the previous one, which now undoes and redoes both. The new step is dropped.
    Yes,
    /// The two steps cancel out, and both are dropped.
    Annul,
}

/// An edit of a field that a program requests.
pub(crate) type Request<'v> = Splice<&'v Value>;

impl FieldEdit {
    pub(super) fn splice(&self, direction: Direction) -> Splice<&[u8]> {
        match (self, direction) {
            (Self::Set { new: bytes, .. }, Direction::Redo)
            | (Self::Set { old: bytes, .. }, Direction::Undo) => Splice::Set(bytes),
            (Self::Insert { index, element }, Direction::Redo)
            | (Self::Remove { index, element }, Direction::Undo) => Splice::Insert(*index, element),
            (Self::Insert { index, .. }, Direction::Undo)
            | (Self::Remove { index, .. }, Direction::Redo) => Splice::Remove(*index),
            (Self::Move { from, to }, Direction::Redo)
            | (Self::Move { from: to, to: from }, Direction::Undo) => Splice::Move(*from, *to),
            (Self::InsertKey { value }, Direction::Redo)
            | (Self::RemoveKey { value }, Direction::Undo) => Splice::InsertKey(value),
            (Self::InsertKey { .. }, Direction::Undo)
            | (Self::RemoveKey { .. }, Direction::Redo) => Splice::RemoveKey,
        }
    }

    /// Returns the bytes of heap memory in use.
    #[cfg(feature = "history")]
    pub(crate) fn held(&self) -> usize {
        match self {
            Self::Set { old, new } => old.held() + new.held(),
            Self::Insert { element, .. } | Self::Remove { element, .. } => element.held(),
            Self::InsertKey { value } | Self::RemoveKey { value } => value.held(),
            Self::Move { .. } => 0,
        }
    }
}

impl FieldChange {
    /// Merges the change that followed this one, if it sets the same field.
    #[cfg(feature = "history")]
    pub(crate) fn merge(&mut self, next: &mut Self) -> Merge {
        match (&mut self.how, &mut next.how) {
            (FieldEdit::Set { old, new }, FieldEdit::Set { new: last, .. })
                if self.path.is(&next.path) =>
            {
                *new = mem::take(last);
                if old == new { Merge::Annul } else { Merge::Yes }
            }
            _ => Merge::No,
        }
    }

    /// Returns true if the change sets a field to the value that it had.
    pub(crate) fn does_nothing(&self) -> bool {
        matches!(&self.how, FieldEdit::Set { old, new } if old == new)
    }

    /// Returns true if the change sets a field. Changes that set different fields can be applied in any order.
    #[cfg(feature = "history")]
    pub(crate) fn is_setting(&self) -> bool {
        matches!(self.how, FieldEdit::Set { .. })
    }

    /// Applies the change to the encoded bytes of a value of a class. Returns an error if the path leads nowhere.
    #[cfg(feature = "history")]
    pub(crate) fn in_bytes(
        &self,
        stored: &Stored,
        class: usize,
        bytes: &[u8],
        direction: Direction,
    ) -> Result<Vec<u8>> {
        let (steps, splice) = (self.path.steps(), self.how.splice(direction));
        let begin = Cursor::of_class(stored, class, bytes);
        let value = match splice {
            Splice::InsertKey(value) => Some(value),
            Splice::RemoveKey => None,
            _ => {
                let mut new = Vec::with_capacity(bytes.len());
                let cursor = follow(begin, steps, 0)?;
                spliced(cursor, bytes, &splice, &mut new).map_err(located(steps))?;
                return Ok(new);
            }
        };
        let (key, map) = key_of(steps)?;
        follow(begin, map, 0)?.with_key(&key, value).map_err(located(steps))
    }
}

fn spliced(
    cursor: Cursor<'_, '_>,
    bytes: &[u8],
    splice: &Splice<&[u8]>,
    new: &mut Vec<u8>,
) -> Result<()> {
    match splice {
        Splice::Set(value) => {
            let range = cursor.range()?;
            new.extend_from_slice(&bytes[..range.start]);
            new.extend_from_slice(value);
            new.extend_from_slice(&bytes[range.end..]);
        }
        Splice::Insert(index, element) => *new = cursor.list()?.inserted(*index, element)?,
        Splice::Remove(index) => *new = cursor.list()?.removed(*index)?,
        Splice::Move(from, to) => *new = cursor.list()?.moved(*from, *to)?,
        // Maps are changed by their keys.
        Splice::InsertKey(_) | Splice::RemoveKey => return Err(Fail::Value.into()),
    }
    Ok(())
}

/// Returns the key at the end of a path, and the steps to its map.
pub(super) fn key_of(steps: &[PathStep]) -> Result<(Value, &[PathStep])> {
    let key = match steps.split_last() {
        Some((PathStep::Index(index), map)) => Some((Value::U64(*index), map)),
        Some((PathStep::Key(key), map)) => key.parse().ok().map(|key| (key, map)),
        Some((PathStep::Field(_), _)) | None => None,
    };
    key.ok_or_else(|| {
        error!(
            ErrorKind::NotFound,
            "the path does not end with a key of a map, as in `Class:map[key]`"
        )
    })
}

impl Root<'_> {
    /// Applies a requested edit, and returns the change to record. For a field that was set, also returns its old
    /// value. If the field or a `validate` function refuses, the value is restored.
    pub(crate) fn record(
        &mut self,
        path: FieldPath,
        request: &Request<'_>,
        check_handle: &dyn Fn(&str, HandleValue) -> Result<()>,
    ) -> Result<(FieldChange, Option<Value>)> {
        let steps = path.steps();
        let (mut part, value) = FieldPart::reach(self.buffers, self.registry, &*self.value, steps)?;
        let layout = self.registry.program().layout();
        let mut target = Strict::new(layout, &Limits::DEFAULT, &no_pointer).of_editor(check_handle);
        let is_new_key = matches!(request, Request::Set(_)) && part.lacks_last_key();
        if is_new_key || matches!(request, Request::RemoveKey) {
            return self.record_key(path, request, &mut target);
        }
        let (has_hooks, elements) =
            (self.registry.has_hooks(part.class), part.elements(value, request));
        // With a `validate` or `after_load` function the whole list is encoded, so that it can be restored after a refusal.
        if let Some(list) = part.whole_list().filter(|_| !has_hooks)
            && let Some(how) =
                part.how_in_list(request, list, value, &mut target).map_err(located(steps))?
        {
            part.change_list(self.value, list, &how, Direction::Redo)?;
            return Ok((FieldChange { path, how, elements }, None));
        }
        part.encode(&*self.value, value)?;
        let cursor = part.cursor()?;
        let (mut old_value, mut new) = (None, Vec::new());
        let how = || {
            Ok(match *request {
                Request::Set(value) => {
                    let (old, range) = cursor.read()?;
                    cursor.write(&mut target, value, &mut new)?;
                    old_value = Some(old);
                    FieldEdit::Set { old: part.bytes()[range].into(), new: new.into() }
                }
                Request::Insert(index, value) => {
                    cursor.list()?.write(&mut target, value, &mut new)?;
                    FieldEdit::Insert { index, element: new.into() }
                }
                Request::Remove(index) => {
                    let element = cursor.list()?.element(index)?.into();
                    FieldEdit::Remove { index, element }
                }
                Request::Move(from, to) => FieldEdit::Move { from, to },
                Request::InsertKey(_) | Request::RemoveKey => return Err(Fail::Value.into()),
            })
        };
        let how = how().map_err(located(steps))?;
        part.change(self.value, &how.splice(Direction::Redo), has_hooks)?;
        self.buffers.trim();
        Ok((FieldChange { path, how, elements }, old_value))
    }

    /// Inserts a value under the key at the end of a path, or removes the key. See [`record`](Self::record).
    fn record_key(
        &mut self,
        path: FieldPath,
        request: &Request<'_>,
        target: &mut Strict<'_>,
    ) -> Result<(FieldChange, Option<Value>)> {
        let root = &*self.value;
        let (part, value, key) = FieldPart::reach_map(self.buffers, self.registry, root, &path)?;
        let (how, old) = match request {
            Request::Set(new) => {
                let mut bytes = Vec::new();
                let cursor = part.start_of(&[])?.of_element().ok_or(Fail::Value)?;
                cursor.write(target, new, &mut bytes).map_err(located(path.steps()))?;
                (FieldEdit::InsertKey { value: bytes.into() }, None)
            }
            _ => {
                let (mut buffer, mut links) = (Buffer::new(), FieldLinks::new(self.registry));
                let found = key.map.get(value, &key.bytes).ok_or_else(|| no_key(&key.value));
                let found = found.map_err(located(path.steps()))?;
                let write = |out: &mut Encoder<'_>| key.map.value().encode(found, out);
                let bytes = buffer.encode_with(&self.registry.env(), &mut links, write)?;
                let cursor = part.start_of(bytes)?.of_element().ok_or(Fail::Value)?;
                (FieldEdit::RemoveKey { value: bytes.into() }, Some(cursor.read()?.0))
            }
        };
        let elements = part.elements(value, request);
        let change = |root: &mut dyn Portable, direction| {
            part.change_key(root, &key, &how, direction).map_err(located(path.steps()))
        };
        change(&mut *self.value, Direction::Redo)?;
        if self.registry.has_hooks(part.class) {
            let checked =
                catch_unwind(AssertUnwindSafe(|| awaken(&mut *self.value, self.registry)));
            if !matches!(checked, Ok(Ok(()))) {
                change(&mut *self.value, Direction::Undo)?;
            }
            checked.unwrap_or_else(|panic| resume_unwind(panic))?;
        }
        Ok((FieldChange { path, how, elements }, old))
    }

    /// Redoes or undoes a change. Returns true if the value has `validate` or `after_load` functions. The caller runs
    /// them later, since the value may be valid only after the other changes of the step.
    #[cfg(feature = "history")]
    pub(crate) fn make(&mut self, change: &FieldChange, direction: Direction) -> Result<bool> {
        let (steps, splice) = (change.path.steps(), change.how.splice(direction));
        if matches!(splice, Splice::InsertKey(_) | Splice::RemoveKey) {
            let (root, path) = (&*self.value, &change.path);
            let (part, value, key) = FieldPart::reach_map(self.buffers, self.registry, root, path)?;
            part.check_elements(value, &splice, change.elements).map_err(located(steps))?;
            part.change_key(self.value, &key, &change.how, direction).map_err(located(steps))?;
            return Ok(self.registry.has_hooks(part.class));
        }
        let (mut part, value) = FieldPart::reach(self.buffers, self.registry, &*self.value, steps)?;
        let has_hooks = self.registry.has_hooks(part.class);
        part.check_elements(value, &splice, change.elements).map_err(located(steps))?;
        if let Some(list) = part.whole_list()
            && splice.is_in(list, value)
        {
            if let (Splice::Remove(at), Splice::Insert(_, element)) =
                (&splice, change.how.splice(direction.reversed()))
            {
                part.check_element(list, value, *at, element).map_err(located(steps))?;
            }
            part.change_list(self.value, list, &change.how, direction)?;
            return Ok(has_hooks);
        }
        part.encode(&*self.value, value)?;
        part.check_set(change, direction).map_err(located(steps))?;
        part.change(self.value, &splice, false)?;
        self.buffers.trim();
        Ok(has_hooks)
    }

    /// Redoes or undoes insertions and removals of the elements of one list, which were found from its beginning to its
    /// end, in one pass. Returns true if the value has `validate` or `after_load` functions, as [`make`](Self::make)
    /// does, and `None` if they must be made one by one; the list is then as before.
    ///
    /// One by one, each of them would move the rest of the list.
    #[cfg(feature = "history")]
    pub(crate) fn make_all(
        &mut self,
        changes: &[&FieldChange],
        direction: Direction,
    ) -> Option<bool> {
        let path = &changes.first()?.path;
        let (mut edits, mut elements) = (Vec::with_capacity(changes.len()), Vec::new());
        let (mut inserted, mut removed) = (0, 0);
        for change in changes {
            // The changes before it have moved the element in the list that was.
            let (index, element, is_insert) = match &change.how {
                FieldEdit::Insert { index, element } => (index, element, true),
                FieldEdit::Remove { index, element } => (index, element, false),
                _ => return None,
            };
            elements.push(element);
            let after = usize::try_from(*index).ok()?;
            let before = after.checked_add(removed)?.checked_sub(inserted)?;
            *(if is_insert { &mut inserted } else { &mut removed }) += 1;
            edits.push(match (direction, is_insert) {
                (Direction::Redo, true) => ListSplice::Insert(before),
                (Direction::Redo, false) => ListSplice::Remove(before),
                (Direction::Undo, true) => ListSplice::Remove(after),
                (Direction::Undo, false) => ListSplice::Insert(after),
            });
        }
        let root = &*self.value;
        let (part, value) =
            FieldPart::reach(self.buffers, self.registry, root, path.steps()).ok()?;
        let list = part.whole_list()?;
        let next = if direction == Direction::Undo { changes.last()? } else { changes.first()? };
        part.check_elements(value, &next.how.splice(direction), next.elements).ok()?;
        let mut new = list.empty()?;
        for (element, edit) in elements.into_iter().zip(&edits) {
            if let ListSplice::Remove(at) = *edit {
                part.check_element(list, value, at as u64, element).ok()?;
                continue;
            }
            let len = list.len(&*new)?;
            let insert = |input: &mut Decoder<'_>| list.insert(&mut *new, len, input);
            FieldLinks::new(self.registry).decode(element, insert).ok()?;
        }
        let has_hooks = self.registry.has_hooks(part.class);
        let (_, value) = part.reach_mut(self.value)?;
        list.splice(value, &mut *new, &edits)?;
        // The `Drop` of a removed element may panic. One by one, the failure says which.
        if catch_unwind(AssertUnwindSafe(|| drop(new))).is_err() {
            self.make_all(changes, direction.reversed());
            return None;
        }
        Some(has_hooks)
    }

    /// Returns the encoded bytes of the part at a path, which must be one that can be borrowed.
    #[cfg(feature = "history")]
    pub(crate) fn content_at(&mut self, path: &FieldPath) -> Result<Bytes> {
        let part = FieldPart::find(self.buffers, self.registry, &*self.value, path.steps())?;
        // An element or a key that is missing is `NotFound`.
        part.cursor()?;
        check_end(&part, path)?;
        let content = part.bytes().into();
        self.buffers.trim();
        Ok(content)
    }

    #[cfg(feature = "history")]
    pub(crate) fn part_mut(&mut self, path: &FieldPath) -> Result<&mut dyn Any> {
        let (part, _) = FieldPart::reach(self.buffers, self.registry, &*self.value, path.steps())?;
        check_end(&part, path)?;
        if part.is_whole() {
            return Ok(self.value);
        }
        match part.reach_mut(self.value) {
            Some((_, value)) => Ok(value),
            None => Err(Fail::Value.into()),
        }
    }

    /// Restores a part to content that it had, unless its content is the same.
    #[cfg(feature = "history")]
    pub(crate) fn put_at(&mut self, path: &FieldPath, content: &[u8]) -> Result<()> {
        let root = &*self.value;
        let (mut part, value) = FieldPart::reach(self.buffers, self.registry, root, path.steps())?;
        check_end(&part, path)?;
        // Decoding resets skipped fields, so equal content is left alone. A part that cannot be encoded has changed.
        if part.encode(root, value).is_ok() && part.bytes() == content {
            return Ok(());
        }
        part.put(content, self.value)?;
        // The value was whole with this content, so an error is not news: the one that led here may be the same.
        let _ = self.refresh(false);
        Ok(())
    }

    /// Returns true if the class of the value has `validate` or `after_load` functions, or is not registered.
    #[cfg(feature = "history")]
    fn has_hooks(&self) -> bool {
        let any: &dyn Any = &*self.value;
        self.registry.entry(any).is_none_or(|(index, _)| self.registry.has_hooks(index))
    }

    /// Runs the `validate` functions of the value.
    #[cfg(all(feature = "history", feature = "world"))]
    pub(crate) fn check_valid(&mut self) -> Result<()> {
        if self.has_hooks() { validate(self.value, self.registry) } else { Ok(()) }
    }

    /// Runs the `after_load` functions of the value, which has changed, so that what they compute is right. Runs its
    /// `validate` functions before, if it is to be `checked`.
    ///
    /// A debug build returns an error if an `after_load` function changes what is saved: no entry records that.
    #[cfg(feature = "history")]
    pub(crate) fn refresh(&mut self, checked: bool) -> Result<()> {
        if !self.has_hooks() {
            return Ok(());
        }
        if checked {
            validate(self.value, self.registry)?;
        }
        let saved = |root: &mut Self| {
            if !cfg!(debug_assertions) {
                return None;
            }
            let whole = FieldPart::find(root.buffers, root.registry, &*root.value, &[]).ok()?;
            Some(whole.bytes().to_vec())
        };
        let before = saved(self);
        after_load(self.value, self.registry)?;
        if saved(self) != before {
            bail!(
                ErrorKind::NotInverse,
                "an `after_load` function changed a saved field after an edit, an undo or a redo, and no entry records that; let it set skipped fields alone"
            );
        }
        Ok(())
    }
}

/// A key of a map, as the last step of a path.
struct MapKey {
    map: &'static dyn MapAccess,
    value: Value,
    bytes: Vec<u8>,
}

impl<'p> FieldPart<'p> {
    /// Follows a path to the map that has, or is to have, the key at its end.
    fn reach_map<'v>(
        buffers: &'p mut PartBuffers,
        registry: &'p Registry,
        root: &'v dyn Portable,
        path: &'p FieldPath,
    ) -> Result<(Self, &'v dyn Any, MapKey)> {
        let (key, steps) = key_of(path.steps()).map_err(located(path.steps()))?;
        let (mut part, value) = FieldPart::reach(buffers, registry, root, steps)?;
        let Some(map) = part.access.and_then(FieldAccess::map).filter(|_| part.is_end()) else {
            part.encode(root, value)?;
            // An element or a key that is missing is `NotFound`, and so is a key of something else.
            part.cursor()?.key(&key).map_err(located(path.steps()))?;
            return Err(not_by_itself(path));
        };
        let bytes = part.start_of(&[])?.checked_key(&key).map_err(located(path.steps()))?;
        Ok((part, value, MapKey { map, value: key, bytes }))
    }

    /// Redoes or undoes a change of a key of this map.
    fn change_key(
        &self,
        root: &mut dyn Portable,
        key: &MapKey,
        how: &FieldEdit,
        direction: Direction,
    ) -> Result<()> {
        let mut apply = |direction| {
            let Some((_, map)) = self.reach_mut(root) else { return Err(Fail::Value.into()) };
            match how.splice(direction) {
                Splice::InsertKey(value) => {
                    let insert = |input: &mut Decoder<'_>| key.map.insert(map, &key.bytes, input);
                    let is_new = FieldLinks::new(self.registry).decode(value, insert)?;
                    if is_new { Ok(()) } else { Err(has_key(&key.value)) }
                }
                _ => key.map.remove(map, &key.bytes).ok_or_else(|| no_key(&key.value)),
            }
        };
        let changed = catch_unwind(AssertUnwindSafe(|| apply(direction)));
        // As for an element of a list: a value whose `Drop` panics has left the map, and comes back.
        if changed.is_err() && matches!(how.splice(direction), Splice::RemoveKey) {
            apply(direction.reversed())?;
        }
        changed.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl FieldPart<'_> {
    /// Returns true if the last step of the path is a key that the map does not have.
    fn lacks_last_key(&self) -> bool {
        self.taken + 1 == self.steps.len()
            && self.access.is_some_and(|access| access.map().is_some())
    }

    /// Converts a request to a change of the elements of this list. Returns `None` if the request sets the whole field,
    /// or an index is out of range.
    fn how_in_list(
        &self,
        request: &Request<'_>,
        list: &dyn ListAccess,
        value: &dyn Any,
        target: &mut Strict<'_>,
    ) -> Result<Option<FieldEdit>> {
        let get = |index: u64| list.get(value, usize::try_from(index).ok()?);
        Ok(match *request {
            Request::Insert(index, new)
                if list.len(value).is_some_and(|len| index <= len as u64) =>
            {
                let mut element = Vec::new();
                let cursor = self.start()?.of_element();
                cursor.ok_or(Fail::Value)?.write(target, new, &mut element)?;
                Some(FieldEdit::Insert { index, element: element.into() })
            }
            Request::Remove(index) => match get(index) {
                Some(element) => {
                    let element = self.encoded(list, element)?;
                    Some(FieldEdit::Remove { index, element })
                }
                None => None,
            },
            Request::Move(from, to) => get(from).and(get(to)).map(|_| FieldEdit::Move { from, to }),
            _ => None,
        })
    }

    fn encoded(&self, list: &dyn ListAccess, element: &dyn Any) -> Result<Bytes> {
        let (mut buffer, mut links) = (Buffer::new(), FieldLinks::new(self.registry));
        let write = |out: &mut Encoder<'_>| list.element().encode(element, out);
        Ok(buffer.encode_with(&self.registry.env(), &mut links, write)?.into())
    }

    /// Returns the number of elements of the lists on the path, without the one that is inserted or removed.
    fn elements<V>(&self, value: &dyn Any, splice: &Splice<V>) -> u32 {
        let len = || self.whole_list().and_then(|list| list.len(value)).unwrap_or(0);
        let at_end = match splice {
            Splice::Set(_) | Splice::InsertKey(_) | Splice::RemoveKey => 0,
            Splice::Insert(..) | Splice::Move(..) => len(),
            Splice::Remove(_) => len().saturating_sub(1),
        };
        self.elements.saturating_add(u32::try_from(at_end).unwrap_or(u32::MAX))
    }

    /// Returns an error if the lists on the path have other [elements](FieldChange::elements) than a change left.
    #[cfg(feature = "history")]
    fn check_elements<V>(&self, value: &dyn Any, splice: &Splice<V>, left: u32) -> Result<()> {
        let found = self.elements(value, splice);
        if found == left {
            return Ok(());
        }
        let own = u32::from(matches!(splice, Splice::Remove(_)));
        bail!(
            ErrorKind::WrongTarget,
            "the lists on this path have {} elements, and this history left {}; an index may lead to another element by now, so skip the entry or drop it",
            found.saturating_add(own),
            left.saturating_add(own)
        )
    }

    /// Returns an error if the element that is to be removed is not the one that a change inserted.
    #[cfg(feature = "history")]
    fn check_element(
        &self,
        list: &dyn ListAccess,
        value: &dyn Any,
        index: u64,
        left: &[u8],
    ) -> Result<()> {
        let element = usize::try_from(index).ok().and_then(|index| list.get(value, index));
        let is_left = *self.encoded(list, element.ok_or(Fail::Value)?)? == *left;
        if is_left { Ok(()) } else { Err(other_element()) }
    }

    /// Returns an error if an element, or the part of one that is to be set, is not as a change left it.
    #[cfg(feature = "history")]
    fn check_set(&self, change: &FieldChange, direction: Direction) -> Result<()> {
        let left = match change.how.splice(direction.reversed()) {
            Splice::Set(left) if change.elements > 0 => left,
            _ => return Ok(()),
        };
        if self.bytes()[self.cursor()?.range()?] == *left { Ok(()) } else { Err(other_element()) }
    }

    /// Applies an operation to the encoded part and decodes the result into the value. If that is refused, or code of
    /// the program panics, the part is restored.
    fn change(
        self,
        root: &mut dyn Portable,
        splice: &Splice<&[u8]>,
        has_hooks: bool,
    ) -> Result<()> {
        let mut new = mem::take(&mut self.buffers.new);
        new.clear();
        spliced(self.cursor()?, self.bytes(), splice, &mut new).map_err(located(self.steps))?;
        let result = catch_unwind(AssertUnwindSafe(|| {
            self.put(&new, root)?;
            if has_hooks { awaken(root, self.registry) } else { Ok(()) }
        }));
        if !matches!(result, Ok(Ok(()))) {
            self.put(self.bytes(), root)?;
        }
        self.buffers.new = new;
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Redoes or undoes an operation on the elements of this list, without encoding the list.
    fn change_list(
        &self,
        root: &mut dyn Portable,
        list: &dyn ListAccess,
        how: &FieldEdit,
        direction: Direction,
    ) -> Result<()> {
        let splice = how.splice(direction);
        let changed = catch_unwind(AssertUnwindSafe(|| self.change_elements(root, list, &splice)));
        // If the `Drop` of a removed element panics, the element has left the list already. It is inserted again, since
        // what failed counts as not done.
        if changed.is_err() && matches!(splice, Splice::Remove(_)) {
            self.change_elements(root, list, &how.splice(direction.reversed()))?;
        }
        changed.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn change_elements(
        &self,
        root: &mut dyn Portable,
        list: &dyn ListAccess,
        splice: &Splice<&[u8]>,
    ) -> Result<()> {
        let Some((_, value)) = self.reach_mut(root) else { return Err(Fail::Value.into()) };
        let index = |index: &u64| usize::try_from(*index).unwrap_or(usize::MAX);
        let done = match splice {
            Splice::Set(_) | Splice::InsertKey(_) | Splice::RemoveKey => None,
            Splice::Insert(at, element) => {
                let insert = |input: &mut Decoder<'_>| list.insert(value, index(at), input);
                let inserted = FieldLinks::new(self.registry).decode(element, insert);
                return inserted.map_err(located(self.steps));
            }
            Splice::Remove(at) => list.remove(value, index(at)),
            Splice::Move(from, to) => list.shift(value, index(from), index(to)),
        };
        done.ok_or_else(|| Fail::Value.into())
    }

    fn put(&self, bytes: &[u8], root: &mut dyn Portable) -> Result<()> {
        let read = |input: &mut Decoder<'_>| {
            if self.is_whole() {
                return root.decode_over(input);
            }
            match self.reach_mut(root) {
                Some((access, part)) => access.decode(Some(part), input),
                None => Err(Fail::Value),
            }
        };
        FieldLinks::new(self.registry).decode(bytes, read).map_err(located(self.steps))
    }
}

impl<V> Splice<V> {
    /// Returns true if the operation is on elements and its indices are in range for this list.
    #[cfg(feature = "history")]
    fn is_in(&self, list: &dyn ListAccess, value: &dyn Any) -> bool {
        let Some(len) = list.len(value).map(|len| len as u64) else { return false };
        match self {
            Self::Set(_) | Self::InsertKey(_) | Self::RemoveKey => false,
            Self::Insert(index, _) => *index <= len,
            Self::Remove(index) => *index < len,
            Self::Move(from, to) => from.max(to) < &len,
        }
    }
}

/// Returns an error if the path ends inside a part that cannot be borrowed, such as the content of an option.
#[cfg(feature = "history")]
pub(super) fn check_end(part: &FieldPart<'_>, path: &FieldPath) -> Result<()> {
    if part.is_end() { Ok(()) } else { Err(not_by_itself(path)) }
}

#[cold]
fn not_by_itself(path: &FieldPath) -> Error {
    let message = "the part lies in an option, a tuple or an array, and cannot be edited by itself; take the path of what is around it";
    path.locate(Error::new(ErrorKind::Unsupported, message))
}

#[cfg(feature = "history")]
#[cold]
fn other_element() -> Error {
    error!(
        ErrorKind::WrongTarget,
        "the element is not as this history left it, and may be another one by now; skip the entry or drop it"
    )
}

fn no_pointer(_: &KindSchema, _: Option<ObjectId>) -> Result<()> {
    Err(error!(
        ErrorKind::Unsupported,
        "a shared pointer cannot be set by a path; change the component itself"
    ))
}

/// Runs the `validate` functions of a value.
pub(crate) fn validate(root: &mut dyn Portable, registry: &Registry) -> Result<()> {
    root.visit(&mut Visitor::new(Phase::Validate, &registry.env(), &mut Prototypes::bare()))
}

/// Runs the `validate` and `after_load` functions of a decoded or changed value, like a load.
pub(crate) fn awaken(root: &mut dyn Portable, registry: &Registry) -> Result<()> {
    validate(root, registry)?;
    after_load(root, registry)
}

/// Runs the `after_load` functions of a decoded value.
pub(crate) fn after_load(root: &mut dyn Portable, registry: &Registry) -> Result<()> {
    root.visit(&mut Visitor::new(Phase::AfterLoad, &registry.env(), &mut Prototypes::bare()))
}
