//! Changes of fields, as data, and how they are made in a value.

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::bytes::{AsBytes, Bytes};
use super::links::FieldLinks;
use super::part::{FieldPart, PartBuffers, follow};
use super::path::{FieldPath, located};
use super::paths::AsText;
use crate::codec::ListAccess;
use crate::codec::{Buffer, Decoder, Encoder, Fail, Phase, Portable, Prototypes, Visitor};
use crate::graph::Registry;
use crate::schema::{Cursor, KindSchema, Stored, Strict};
use crate::value::HandleValue;
use crate::{Error, ErrorKind, Limits, ObjectId, Result, Value};

/// A change of one field of a value.
#[derive(crate::Persist, Clone)]
#[persist(crate = crate, class = "persist.FieldChange")]
pub(crate) struct FieldChange {
    #[persist(with = AsText, empty = FieldPath::new(""))]
    pub(crate) path: FieldPath,
    pub(crate) how: FieldEdit,
}

/// What was done to a field. The bytes of both ends are kept, so that undo and redo do not depend on each other.
#[derive(crate::Persist, Clone)]
#[persist(crate = crate, class = "persist.How")]
pub(crate) enum FieldEdit {
    /// It got another value.
    Set {
        #[persist(with = AsBytes)]
        old: Bytes,
        #[persist(with = AsBytes)]
        new: Bytes,
    },
    /// A list got an element before the one of this index, or at its end.
    Insert {
        index: u64,
        #[persist(with = AsBytes)]
        element: Bytes,
    },
    /// A list lost the element of this index.
    Remove {
        index: u64,
        #[persist(with = AsBytes)]
        element: Bytes,
    },
    /// The element of a list that had the first index got the second one.
    Move { from: u64, to: u64 },
}

/// Which way a change is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Undo,
    Redo,
}

impl Direction {
    pub(crate) fn reversed(self) -> Self {
        match self {
            Self::Undo => Self::Redo,
            Self::Redo => Self::Undo,
        }
    }
}

/// What is done to a field, or to the elements of a list.
pub(crate) enum Splice<V> {
    Set(V),
    Insert(u64, V),
    Remove(u64),
    Move(u64, u64),
}

/// What became of a step that was offered to the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// It stays one of its own.
    No,
    /// It is part of the one before, which undoes and redoes both, and is dropped.
    Yes,
    /// Together they do nothing: both are dropped.
    Annul,
}

/// What a program wants to do to a field.
pub(crate) type Request<'v> = Splice<&'v Value>;

impl FieldEdit {
    fn splice(&self, direction: Direction) -> Splice<&[u8]> {
        match (self, direction) {
            (Self::Set { new: bytes, .. }, Direction::Redo)
            | (Self::Set { old: bytes, .. }, Direction::Undo) => Splice::Set(bytes),
            (Self::Insert { index, element }, Direction::Redo)
            | (Self::Remove { index, element }, Direction::Undo) => Splice::Insert(*index, element),
            (Self::Insert { index, .. }, Direction::Undo)
            | (Self::Remove { index, .. }, Direction::Redo) => Splice::Remove(*index),
            (Self::Move { from, to }, Direction::Redo)
            | (Self::Move { from: to, to: from }, Direction::Undo) => Splice::Move(*from, *to),
        }
    }

    /// Bytes of memory that it takes besides its own size.
    pub(crate) fn held(&self) -> usize {
        match self {
            Self::Set { old, new } => old.held() + new.held(),
            Self::Insert { element, .. } | Self::Remove { element, .. } => element.held(),
            Self::Move { .. } => 0,
        }
    }
}

impl FieldChange {
    /// Takes in a change of the same field that followed this one.
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

    /// True if it leaves the field as it was.
    pub(crate) fn does_nothing(&self) -> bool {
        matches!(&self.how, FieldEdit::Set { old, new } if old == new)
    }

    /// True if it sets a field, whose order with settings of other fields does not matter.
    pub(crate) fn is_setting(&self) -> bool {
        matches!(self.how, FieldEdit::Set { .. })
    }

    /// The bytes of a value of a class of a layout, with the change made in it, unless the path leads nowhere.
    pub(crate) fn in_bytes(
        &self,
        (stored, class): (&Stored, usize),
        bytes: &[u8],
        direction: Direction,
    ) -> Result<Vec<u8>> {
        let steps = self.path.steps();
        let cursor = follow(Cursor::of_class(stored, class, bytes), steps, 0)?;
        let mut new = Vec::with_capacity(bytes.len());
        spliced(cursor, bytes, &self.how.splice(direction), &mut new).map_err(located(steps))?;
        Ok(new)
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
    }
    Ok(())
}

/// A value whose fields are read and changed.
pub(crate) struct Root<'r> {
    pub(crate) registry: &'r Registry,
    pub(crate) value: &'r mut dyn Portable,
    pub(crate) buffers: &'r mut PartBuffers,
}

impl Root<'_> {
    /// Does what a program wants; if the field or the value refuses, it is put back. Also what a field was that was set.
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
        let validates = self.registry.validates(part.class);
        // A `validate` that refuses needs the whole list to be put back.
        if let Some(list) = part.whole_list().filter(|_| !validates)
            && let Some(how) =
                part.how_in_list(request, (list, value), &mut target).map_err(located(steps))?
        {
            let made = catch_unwind(AssertUnwindSafe(|| {
                part.change_list(self.value, list, &how.splice(Direction::Redo))
            }));
            // An element that panics when it is dropped has left the list by then.
            if made.is_err() && matches!(how, FieldEdit::Remove { .. }) {
                part.change_list(self.value, list, &how.splice(Direction::Undo))?;
            }
            made.unwrap_or_else(|panic| resume_unwind(panic))?;
            return Ok((FieldChange { path, how }, None));
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
            })
        };
        let how = how().map_err(located(steps))?;
        part.change(self.value, &how.splice(Direction::Redo), validates)?;
        self.buffers.trim();
        Ok((FieldChange { path, how }, old_value))
    }

    /// Makes a change again, or takes it back; true if the value then is to be asked whether it is valid, which may need
    /// others that are to follow.
    pub(crate) fn make(&mut self, change: &FieldChange, direction: Direction) -> Result<bool> {
        let steps = change.path.steps();
        let (mut part, value) = FieldPart::reach(self.buffers, self.registry, &*self.value, steps)?;
        let validates = self.registry.validates(part.class);
        let splice = change.how.splice(direction);
        if let Some(list) = part.whole_list()
            && splice.is_in(list, value)
        {
            part.change_list(self.value, list, &splice)?;
            return Ok(validates);
        }
        part.encode(&*self.value, value)?;
        part.change(self.value, &splice, false)?;
        self.buffers.trim();
        Ok(validates)
    }

    /// The bytes of a part that lies somewhere.
    pub(crate) fn content_at(&mut self, path: &FieldPath) -> Result<Bytes> {
        let part = FieldPart::find(self.buffers, self.registry, &*self.value, path.steps())?;
        check_end(&part, path)?;
        let content = part.bytes().into();
        self.buffers.trim();
        Ok(content)
    }

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

    /// Puts a part back to a content that it had, unless it has it.
    pub(crate) fn put_at(&mut self, path: &FieldPath, content: &[u8]) -> Result<()> {
        let root = &*self.value;
        let (mut part, value) = FieldPart::reach(self.buffers, self.registry, root, path.steps())?;
        check_end(&part, path)?;
        // What is put back is read anew, without what is skipped in it. What cannot be encoded is not what it was.
        if part.encode(root, value).is_ok() && part.bytes() == content {
            return Ok(());
        }
        part.put(content, self.value)
    }

    /// Lets the `validate` functions of the value run, if it may have some.
    pub(crate) fn check_valid(&mut self) -> Result<()> {
        let any: &dyn Any = &*self.value;
        let validates =
            self.registry.entry(any).is_none_or(|(index, _)| self.registry.validates(index));
        if validates { validate(self.value, self.registry) } else { Ok(()) }
    }
}

impl FieldPart<'_> {
    /// What is to be done to the elements of a list that is the part; `None` if it is another request, or an element is
    /// missing.
    fn how_in_list(
        &self,
        request: &Request<'_>,
        (list, value): (&dyn ListAccess, &dyn Any),
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
                    let (mut buffer, mut links) = (Buffer::new(), FieldLinks::new(self.registry));
                    let write = |out: &mut Encoder<'_>| list.element().encode(element, out);
                    let element =
                        buffer.encode_with(&self.registry.env(), &mut links, write)?.into();
                    Some(FieldEdit::Remove { index, element })
                }
                None => None,
            },
            Request::Move(from, to) => get(from).and(get(to)).map(|_| FieldEdit::Move { from, to }),
            Request::Set(_) | Request::Insert(..) => None,
        })
    }

    /// Makes a change, unless it is refused, or the program's own code in it panics.
    fn change(
        self,
        root: &mut dyn Portable,
        splice: &Splice<&[u8]>,
        validates: bool,
    ) -> Result<()> {
        let mut new = mem::take(&mut self.buffers.new);
        new.clear();
        spliced(self.cursor()?, self.bytes(), splice, &mut new).map_err(located(self.steps))?;
        let made = catch_unwind(AssertUnwindSafe(|| {
            self.put(&new, root)?;
            if validates { validate(root, self.registry) } else { Ok(()) }
        }));
        if !matches!(made, Ok(Ok(()))) {
            self.put(self.bytes(), root)?;
        }
        self.buffers.new = new;
        made.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Makes a change of the elements of a list that is the part.
    fn change_list(
        &self,
        root: &mut dyn Portable,
        list: &dyn ListAccess,
        splice: &Splice<&[u8]>,
    ) -> Result<()> {
        let Some((_, value)) = self.reach_mut(root) else { return Err(Fail::Value.into()) };
        let index = |index: &u64| usize::try_from(*index).unwrap_or(usize::MAX);
        let made = match splice {
            Splice::Set(_) => None,
            Splice::Insert(at, element) => {
                let insert = |input: &mut Decoder<'_>| list.insert(value, index(at), input);
                let inserted = FieldLinks::new(self.registry).decode(element, insert);
                return inserted.map_err(located(self.steps));
            }
            Splice::Remove(at) => list.remove(value, index(at)),
            Splice::Move(from, to) => list.shift(value, index(from), index(to)),
        };
        made.ok_or_else(|| Fail::Value.into())
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
    /// True if it is one of elements that a list has.
    fn is_in(&self, list: &dyn ListAccess, value: &dyn Any) -> bool {
        let Some(len) = list.len(value).map(|len| len as u64) else { return false };
        match self {
            Self::Set(_) => false,
            Self::Insert(index, _) => *index <= len,
            Self::Remove(index) => *index < len,
            Self::Move(from, to) => from.max(to) < &len,
        }
    }
}

/// Refuses a part that does not lie where it can be borrowed.
pub(super) fn check_end(part: &FieldPart<'_>, path: &FieldPath) -> Result<()> {
    if part.is_end() {
        return Ok(());
    }
    let message = "the part lies in an option, a tuple or an array, and cannot be edited by itself; take the path of what is around it";
    Err(path.locate(Error::new(ErrorKind::Unsupported, message)))
}

fn no_pointer(_: &KindSchema, _: Option<ObjectId>) -> Result<()> {
    Err(error!(
        ErrorKind::Unsupported,
        "a shared pointer cannot be set by a path; change the component itself"
    ))
}

/// Lets the `validate` functions of a value run.
pub(crate) fn validate(root: &mut dyn Portable, registry: &Registry) -> Result<()> {
    root.visit(&mut Visitor::new(Phase::Validate, &registry.env(), &mut Prototypes::bare()))
}

/// Does what a load does with a value once it is read.
pub(crate) fn awaken(root: &mut dyn Portable, registry: &Registry) -> Result<()> {
    validate(root, registry)?;
    root.visit(&mut Visitor::new(Phase::AfterLoad, &registry.env(), &mut Prototypes::bare()))
}
