//! [`Changed`]: what a call through a history changed, for views that follow its target.

use std::fmt;
use std::sync::Arc;

use super::change::{Direction, FieldChange, Splice, key_of};
use super::path::{FieldPath, PathStep};
use crate::schema::{Form, KindSchema, Reader, Stored, Strict, write_value};
use crate::{Limits, ObjectId, Value};

/// A part of a target that a call through a [`History`](crate::History) changed.
///
/// Each call reports the difference that it makes. Objects and components are read from the target, which has its new
/// content already; fields come with their old and new values. A part that is reported as a whole, such as a spawned
/// object, has no reports of the parts in it.
///
/// See [`History::subscribe_changes`](crate::History::subscribe_changes).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Changed<'a> {
    /// Anything in the target may differ. A session was opened, a command that names no
    /// [objects](crate::Command::objects) changed its target directly, or a rollback failed.
    All,
    /// Anything in this object may differ, and it may be new or gone. A command that names it changed it directly.
    Object(ObjectId),
    /// An object is new in the world, or was brought back. Each of its descendants is reported too.
    Spawned(ObjectId),
    /// An object is no longer in the world. Each of its descendants is reported too.
    Removed(ObjectId),
    /// An object has another name.
    Renamed(ObjectId),
    /// An object has another parent, or another place among its siblings.
    Moved(ObjectId),
    /// An object was paused or activated.
    Activity(ObjectId),
    /// A component was attached to an object, or a resource was inserted if `object` is `None`. It may have replaced
    /// another one of its class.
    Attached {
        /// The object of the component.
        object: Option<ObjectId>,
        /// The class of the component or the resource.
        class: &'a str,
    },
    /// A component was detached from an object, or a resource was removed if `object` is `None`.
    Detached {
        /// The object that the component was attached to.
        object: Option<ObjectId>,
        /// The class of the component or the resource.
        class: &'a str,
    },
    /// A field was set, or a list in it has another element. Fields are reported last, in the order of their changes.
    Field(ChangedField<'a>),
}

/// A field of a component, a resource or a document that was changed.
#[derive(Clone)]
pub struct ChangedField<'a> {
    object: Option<ObjectId>,
    change: &'a FieldChange,
    direction: Direction,
    layout: Arc<Stored>,
}

/// A change of the elements of a list, or of the keys of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementEdit {
    /// An element was inserted at this index.
    Insert(u64),
    /// The element at this index was removed.
    Remove(u64),
    /// The element at the first index was moved to the second one.
    Move(u64, u64),
    /// A value was inserted into a map, under the new key at the end of the path.
    InsertKey,
    /// The key at the end of the path was removed from a map.
    RemoveKey,
}

impl<'a> ChangedField<'a> {
    pub(crate) fn new(
        object: Option<ObjectId>,
        (change, direction): (&'a FieldChange, Direction),
        layout: &Arc<Stored>,
    ) -> Self {
        Self { object, change, direction, layout: Arc::clone(layout) }
    }

    /// Returns the object of the component. `None` for a resource, and for a field of a document.
    #[must_use]
    pub fn object(&self) -> Option<ObjectId> {
        self.object
    }

    /// Returns the path of the field, or of the list.
    #[must_use]
    pub fn path(&self) -> &'a FieldPath {
        &self.change.path
    }

    /// Returns how the list or the map has changed. `None` if the field was set.
    #[must_use]
    pub fn element_edit(&self) -> Option<ElementEdit> {
        match self.change.how.splice(self.direction) {
            Splice::Set(_) => None,
            Splice::Insert(index, _) => Some(ElementEdit::Insert(index)),
            Splice::Remove(index) => Some(ElementEdit::Remove(index)),
            Splice::Move(from, to) => Some(ElementEdit::Move(from, to)),
            Splice::InsertKey(_) => Some(ElementEdit::InsertKey),
            Splice::RemoveKey => Some(ElementEdit::RemoveKey),
        }
    }

    /// Returns the value before the change. `None` for an element that was inserted or moved.
    ///
    /// It is also `None` if the path does not tell the kind of the value, as inside a trait object.
    #[must_use]
    pub fn old_value(&self) -> Option<Value> {
        self.value(self.direction.reversed())
    }

    /// Returns the value after the change. `None` for an element that was removed or moved, and like [`old_value`](Self::old_value).
    #[must_use]
    pub fn new_value(&self) -> Option<Value> {
        self.value(self.direction)
    }

    /// Returns the key that was inserted into a map or removed from it. `None` for any other change.
    #[must_use]
    pub fn key(&self) -> Option<Value> {
        let edit = self.element_edit()?;
        matches!(edit, ElementEdit::InsertKey | ElementEdit::RemoveKey).then_some(())?;
        let path = &self.change.path;
        let class = self.layout.iter().position(|class| class.name == path.class())?;
        key_at(&mut Reader::new(&Limits::DEFAULT, 0), &self.layout, (class, path.steps()))
    }

    /// Returns the value that the field has when its change was last applied in this direction.
    fn value(&self, direction: Direction) -> Option<Value> {
        let (bytes, is_element) = match self.change.how.splice(direction) {
            Splice::Set(bytes) | Splice::InsertKey(bytes) => (bytes, false),
            Splice::Insert(_, element) => (element, true),
            Splice::Remove(_) | Splice::Move(..) | Splice::RemoveKey => return None,
        };
        let path = &self.change.path;
        let class = self.layout.iter().position(|class| class.name == path.class())?;
        let mut values = Reader::new(&Limits::DEFAULT, bytes.len() as u64);
        value_at(&mut values, &self.layout, (class, path.steps()), bytes, is_element)
    }
}

impl fmt::Debug for ChangedField<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangedField")
            .field("object", &self.object)
            .field("path", self.path())
            .field("element_edit", &self.element_edit())
            .field("old_value", &self.old_value())
            .field("new_value", &self.new_value())
            .finish()
    }
}

/// Reads the value of a field of a class, or of an element of the list in it, from its bytes.
///
/// `None` if the path leaves the kind open, as in a trait object, or in variants whose fields of that name have
/// different kinds.
pub fn value_at(
    values: &mut Reader,
    stored: &Stored,
    (class, steps): (usize, &[PathStep]),
    bytes: &[u8],
    is_element: bool,
) -> Option<Value> {
    let mut nodes = nodes_at(stored, (class, steps));
    if is_element {
        nodes.iter_mut().for_each(|node| *node = stored.node(opened(stored, *node)).first());
    }
    // Several variants may have a field of this name. If they read different values from the bytes, none is returned.
    let mut found = nodes
        .into_iter()
        .filter_map(|node| values.whole(stored, node, bytes, &Limits::DEFAULT).ok());
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// Reads the key at the end of a path of a class, with the kind that it has in its map.
///
/// `None` if the path does not end with a key of a map, or like [`value_at`].
pub fn key_at(
    values: &mut Reader,
    stored: &Stored,
    (class, steps): (usize, &[PathStep]),
) -> Option<Value> {
    let (key, map) = key_of(steps).ok()?;
    let typed = |node| {
        let node = opened(stored, node);
        matches!(stored.node(node).kind, KindSchema::Map(_)).then_some(())?;
        let (node, mut bytes) = (stored.node(node).first(), Vec::new());
        let mut target = Strict::new(stored, &Limits::DEFAULT, &|_, _| Ok(()));
        write_value(&mut target, stored, node, &key, &mut bytes).ok()?;
        values.whole(stored, node, &bytes, &Limits::DEFAULT).ok()
    };
    let mut found = nodes_at(stored, (class, map)).into_iter().filter_map(typed);
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// The nodes that a path of a class leads to. In an enum, several variants may have a field.
fn nodes_at(stored: &Stored, (class, steps): (usize, &[PathStep])) -> Vec<usize> {
    steps.iter().fold(vec![stored.root(class)], |nodes, step| {
        nodes.into_iter().flat_map(|node| parts(stored, node, step)).collect()
    })
}

/// The node inside options and newtypes, which paths pass through.
fn opened(stored: &Stored, mut node: usize) -> usize {
    loop {
        node = match &stored.node(node).kind {
            KindSchema::Option(_) => stored.node(node).first(),
            KindSchema::Class(class) if matches!(stored[*class].form, Form::Value(_)) => {
                stored.first(*class, 0)
            }
            _ => return node,
        };
    }
}

/// The nodes that a step of a path leads to. In an enum, several variants may have one.
fn parts(stored: &Stored, node: usize, step: &PathStep) -> Vec<usize> {
    let node = opened(stored, node);
    let at = stored.node(node);
    match (&at.kind, step) {
        (KindSchema::Class(class), PathStep::Field(name)) => {
            stored.nodes_named(*class, name).collect()
        }
        (KindSchema::Tuple(parts), step) => {
            let index = match step {
                PathStep::Field(name) => name.parse().ok(),
                PathStep::Index(index) => usize::try_from(*index).ok(),
                PathStep::Key(_) => None,
            };
            index
                .filter(|index| *index < parts.len())
                .map(|index| at.first() + index)
                .into_iter()
                .collect()
        }
        (KindSchema::List(_) | KindSchema::Array(..), PathStep::Index(_)) => vec![at.first()],
        (KindSchema::Map(_), PathStep::Index(_) | PathStep::Key(_)) => vec![at.first() + 1],
        _ => Vec::new(),
    }
}
