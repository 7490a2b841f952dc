//! An element of a list that is put in, taken out or moved.

use std::rc::Rc;

use super::{label, name_of, object_of};
use crate::history::journal::{StoredStep, Storing};
use crate::history::step::{Failure, Step};
use crate::history::{Label, Verb};
use crate::world::{Bytes, Element, Owner, Splice};
use crate::{FieldPath, ObjectId, Result, Value, World};

/// A change of a list, which costs what the element does.
pub(in crate::history) struct ListChange {
    pub(in crate::history) owner: Owner,
    pub(in crate::history) path: FieldPath,
    pub(in crate::history) how: ListEdit,
    pub(super) name: Option<Rc<str>>,
}

/// How a list was changed.
pub(in crate::history) enum ListEdit {
    /// An element, by its bytes, was put in.
    Insert(u64, Bytes),
    /// An element was taken out.
    Remove(u64, Bytes),
    /// An element was moved from an index to another.
    Move(u64, u64),
}

impl ListChange {
    pub(super) fn insert(
        world: &mut World,
        owner: Owner,
        path: FieldPath,
        index: u64,
        value: &Value,
    ) -> Result<Self> {
        let splice = Splice::Insert(index, Element::Value(value));
        let bytes = world.splice(owner, &path, &splice)?.new;
        Ok(Self { owner, path, how: ListEdit::Insert(index, bytes), name: name_of(world, owner) })
    }

    pub(super) fn remove(
        world: &mut World,
        owner: Owner,
        path: FieldPath,
        index: u64,
    ) -> Result<Self> {
        let bytes = world.splice(owner, &path, &Splice::Remove(index))?.old;
        Ok(Self { owner, path, how: ListEdit::Remove(index, bytes), name: name_of(world, owner) })
    }

    pub(super) fn shift(
        world: &mut World,
        owner: Owner,
        path: FieldPath,
        from: u64,
        to: u64,
    ) -> Result<Self> {
        world.splice(owner, &path, &Splice::Move(from, to))?;
        Ok(Self { owner, path, how: ListEdit::Move(from, to), name: name_of(world, owner) })
    }

    fn splice(&self, world: &mut World, splice: &Splice<'_>) -> Result<(), Failure> {
        world.splice_again(self.owner, &self.path, splice)?;
        Ok(())
    }
}

impl Step<World> for ListChange {
    fn undo(&mut self, world: &mut World) -> Result<(), Failure> {
        self.splice(
            world,
            &match &self.how {
                ListEdit::Insert(index, _) => Splice::Remove(*index),
                ListEdit::Remove(index, bytes) => Splice::Insert(*index, Element::Bytes(bytes)),
                ListEdit::Move(from, to) => Splice::Move(*to, *from),
            },
        )
    }

    fn redo(&mut self, world: &mut World) -> Result<(), Failure> {
        self.splice(
            world,
            &match &self.how {
                ListEdit::Insert(index, bytes) => Splice::Insert(*index, Element::Bytes(bytes)),
                ListEdit::Remove(index, _) => Splice::Remove(*index),
                ListEdit::Move(from, to) => Splice::Move(*from, *to),
            },
        )
    }

    fn check(&self, world: &mut World) -> Result<()> {
        world.check_valid(self.owner, self.path.class())
    }

    fn label(&self) -> Label {
        let verb = match &self.how {
            ListEdit::Insert(..) => Verb::Insert,
            ListEdit::Remove(..) => Verb::Remove,
            ListEdit::Move(..) => Verb::Move,
        };
        label(verb, Some(&self.path), self.name.as_ref())
    }

    fn has_end(&self) -> bool {
        false
    }

    fn size(&self) -> usize {
        let bytes = match &self.how {
            ListEdit::Insert(_, bytes) | ListEdit::Remove(_, bytes) => bytes.held(),
            ListEdit::Move(..) => 0,
        };
        size_of::<Self>() + bytes
    }

    fn objects(&self, found: &mut Vec<ObjectId>) {
        found.extend(object_of(self.owner));
    }

    fn store(&mut self, _: &World, _: &Storing<'_, World>) -> Result<StoredStep> {
        Ok(StoredStep::from(self.stored()))
    }
}
