//! Changes of the bytes of a field, which are checked before they are made.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::World;
use super::bytes::Bytes;
use super::field_links::FieldLinks;
use super::fields::{Owner, Spot};
use super::part::{MOST_KEPT, Part, Room};
use super::path::{FieldPath, Steps};
use crate::codec::{Decoder, NoVisitLinks, Phase, Portable, Visitor, left_over};
use crate::graph::Registry;
use crate::schema::{KindSchema, Strict};
use crate::{Error, ErrorKind, Limits, ObjectId, Result, Value};

/// What is done to a field.
pub(crate) enum Splice<'v> {
    /// It gets a value.
    Set(&'v Value),
    /// A list gets an element before the one of this index, or at its end.
    Insert(u64, Element<'v>),
    /// A list loses the element of this index.
    Remove(u64),
    /// The element of a list that has the first index gets the second one.
    Move(u64, u64),
}

/// An element that is to be in a list.
pub(crate) enum Element<'v> {
    Value(&'v Value),
    Bytes(&'v [u8]),
}

/// What a change took away, and what it put there: bytes of the field, or of an element.
#[derive(Default)]
pub(crate) struct Spliced {
    /// What a field was that was set to a value.
    pub(crate) old_value: Option<Value>,
    pub(crate) old: Bytes,
    pub(crate) new: Bytes,
}

impl World {
    /// Changes a field; if it or the component refuses, it is put back.
    pub(crate) fn splice(
        &mut self,
        owner: Owner,
        path: &FieldPath,
        splice: &Splice<'_>,
    ) -> Result<Spliced> {
        self.splice_of(owner, path, splice, true)
    }

    /// Makes a change again, or takes it back. The component is not asked: with others that are to follow it may be valid again.
    pub(crate) fn splice_again(
        &mut self,
        owner: Owner,
        path: &FieldPath,
        splice: &Splice<'_>,
    ) -> Result<Spliced> {
        self.check_editable()?;
        self.splice_of(owner, path, splice, false)
    }

    /// Gives a field bytes that it had, as [`splice_again`](Self::splice_again); whether the component then is to be asked.
    pub(crate) fn put_bytes(
        &mut self,
        owner: Owner,
        path: &FieldPath,
        bytes: &[u8],
    ) -> Result<bool> {
        self.check_editable()?;
        let mut put = || {
            let spot = self.spot(owner, path.class())?;
            let Kept { room, mut new } = std::mem::take(&mut self.kept);
            let root = self.root_at(spot, path.class())?;
            let part = Part::find_in(room, &self.registry, root, path.steps())?;
            let range = part.range(&self.registry)?;
            let (before, behind) = (&part.bytes()[..range.start], &part.bytes()[range.end..]);
            new.clear();
            new.extend_from_slice(before);
            new.extend_from_slice(bytes);
            new.extend_from_slice(behind);
            let validates = self.validates(part.class);
            let change = Change { part, new, validates: false };
            let (registry, root) = self.root_mut_at(spot, path.class())?;
            change.make(registry, root)?;
            self.kept = change.keep();
            Ok(validates)
        };
        put().map_err(|error| owner.name(error, path.class()))
    }

    /// True if values of a class may have `validate` functions.
    fn validates(&self, class: usize) -> bool {
        let traits = self.registry.traits(class);
        traits.after_load || traits.dynamic
    }

    fn splice_of(
        &mut self,
        owner: Owner,
        path: &FieldPath,
        splice: &Splice<'_>,
        validates: bool,
    ) -> Result<Spliced> {
        let mut make = || {
            let spot = self.spot(owner, path.class())?;
            let kept = std::mem::take(&mut self.kept);
            let (mut change, spliced) = self.change(kept, spot, path, splice)?;
            change.validates &= validates;
            let (registry, root) = self.root_mut_at(spot, path.class())?;
            change.make(registry, root)?;
            self.kept = change.keep();
            Ok(spliced)
        };
        make().map_err(|error| owner.name(error, path.class()))
    }

    /// Works out what is to be done.
    fn change<'p>(
        &self,
        kept: Kept,
        spot: Spot,
        path: &'p FieldPath,
        splice: &Splice<'_>,
    ) -> Result<(Change<'p>, Spliced)> {
        let steps = path.steps();
        let in_path = |error: Error| error.in_field(&Steps(steps).to_string());
        let Kept { room, mut new } = kept;
        let root = self.root_at(spot, path.class())?;
        let part = Part::find_in(room, &self.registry, root, steps)?;
        let check_handle = |arena: &str, handle| self.check_handle(arena, handle);
        let layout = self.registry.program().layout();
        let target = || Strict::new(layout, &Limits::DEFAULT, &no_pointer).of_editor(&check_handle);
        let bytes = part.bytes();
        let mut spliced = Spliced::default();
        // What is before the part stays, and what is behind it.
        let begin = |new: &mut Vec<u8>, start: usize| {
            new.clear();
            new.extend_from_slice(&bytes[..start]);
        };
        let new = match splice {
            Splice::Set(value) => {
                let cursor = part.cursor(&self.registry)?;
                let (old_value, range) = cursor.read().map_err(in_path)?;
                begin(&mut new, range.start);
                cursor.write(&mut target(), value, &mut new).map_err(in_path)?;
                spliced.old_value = Some(old_value);
                spliced.old = bytes[range.clone()].into();
                spliced.new = new[range.start..].into();
                new.extend_from_slice(&bytes[range.end..]);
                new
            }
            Splice::Insert(index, element) => {
                let list = part.cursor(&self.registry)?.list().map_err(in_path)?;
                match element {
                    Element::Value(value) => {
                        let mut element = Vec::new();
                        list.write(&mut target(), value, &mut element).map_err(in_path)?;
                        spliced.new = element.into();
                    }
                    Element::Bytes(element) => spliced.new = (*element).into(),
                }
                list.inserted(*index, &spliced.new).map_err(in_path)?
            }
            Splice::Remove(index) => {
                let list = part.cursor(&self.registry)?.list().map_err(in_path)?;
                spliced.old = list.element(*index).map_err(in_path)?.into();
                list.removed(*index).map_err(in_path)?
            }
            Splice::Move(from, to) => {
                let list = part.cursor(&self.registry)?.list().map_err(in_path)?;
                list.moved(*from, *to).map_err(in_path)?
            }
        };
        let validates = self.validates(part.class);
        Ok((Change { part, new, validates }, spliced))
    }
}

fn no_pointer(_: &KindSchema, _: Option<ObjectId>) -> Result<()> {
    Err(Error::new(
        ErrorKind::Unsupported,
        "a shared pointer cannot be set by a path; change the component itself",
    ))
}

pub(super) fn validate(root: &mut dyn Portable, registry: &Registry) -> Result<()> {
    root.visit(&mut Visitor::new(Phase::Validate, &registry.env(), &mut NoVisitLinks))
}

/// Does what a load does with a value once it is read.
pub(super) fn awaken(root: &mut dyn Portable, registry: &Registry) -> Result<()> {
    validate(root, registry)?;
    root.visit(&mut Visitor::new(Phase::AfterLoad, &registry.env(), &mut NoVisitLinks))
}

/// Reads bytes whole.
pub(super) fn decode(
    bytes: &[u8],
    registry: &Registry,
    read: impl FnOnce(&mut Decoder<'_>) -> Result<(), crate::codec::Fail>,
) -> Result<()> {
    let mut links = FieldLinks::new(registry);
    let env = registry.env();
    let mut input = Decoder::new(bytes, &env, &mut links);
    match read(&mut input) {
        Ok(()) if input.rest().is_empty() => Ok(()),
        Ok(()) => Err(left_over(input.rest().len())),
        Err(fail) => Err(input.take_error().unwrap_or_else(|| fail.into())),
    }
}

/// Memory that a change takes, and leaves to the next one.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) room: Room,
    new: Vec<u8>,
}

/// A change that was checked.
struct Change<'p> {
    part: Part<'p>,
    new: Vec<u8>,
    /// True if the component may have `validate` functions.
    validates: bool,
}

impl Change<'_> {
    /// Makes the change, unless it is refused, or the program's own code in it panics.
    fn make(&self, registry: &Registry, root: &mut dyn Portable) -> Result<()> {
        let made = catch_unwind(AssertUnwindSafe(|| {
            self.put(&self.new, registry, root)?;
            if self.validates { validate(root, registry) } else { Ok(()) }
        }));
        if !matches!(made, Ok(Ok(()))) {
            self.put(self.part.bytes(), registry, root)?;
        }
        made.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn put(&self, bytes: &[u8], registry: &Registry, root: &mut dyn Portable) -> Result<()> {
        let read = |input: &mut Decoder<'_>| match self.part.path().split_last() {
            None => root.decode_over(input),
            Some(((access, field), owners)) => {
                let mut owner: Option<&mut dyn Any> = Some(root);
                for (access, field) in owners {
                    owner = owner.and_then(|owner| access.field_mut(owner, *field));
                }
                match owner {
                    Some(owner) => access.decode_field(owner, *field, input),
                    None => Err(crate::codec::Fail::Value),
                }
            }
        };
        decode(bytes, registry, read)
            .map_err(|error| error.in_field(&Steps(self.part.steps).to_string()))
    }

    fn keep(self) -> Kept {
        let new = if self.new.capacity() > MOST_KEPT { Vec::new() } else { self.new };
        Kept { room: self.part.into_room(), new }
    }
}
