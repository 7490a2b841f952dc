//! [`Object`]: the name, parent, activity and shape of an object, without its components.

use std::cell::OnceCell;
use std::sync::Arc;

use hashbrown::HashMap;

use super::children::Children;
use super::names::Name;
use super::{Object, ObjectExtras, UnknownEntry};
use crate::ObjectId;

/// A component of an object: its column, or its index among the components of unknown classes.
#[derive(Clone, Copy)]
pub(super) enum ComponentIndex {
    Known(usize),
    Unknown(usize),
}

impl Object {
    pub(super) fn new(name: Option<Name>) -> Self {
        Self { name, ..Self::default() }
    }

    /// Returns the children, in order.
    pub(super) fn children(&self) -> &Vec<ObjectId> {
        static NONE: Vec<ObjectId> = Vec::new();
        self.rare.get().map_or(&NONE, |rare| rare.children.list())
    }

    pub(super) fn has_children(&self) -> bool {
        self.rare.get().is_some_and(|rare| !rare.children.is_empty())
    }

    /// Returns true if the object is active, and has no children and no components of unknown classes.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.activity == Activity::Active
            && self
                .rare
                .get()
                .is_none_or(|rare| rare.children.is_empty() && rare.unknown.is_empty())
    }

    #[cfg(feature = "history")]
    pub(super) fn position(&self, child: ObjectId) -> Option<usize> {
        self.rare.get()?.children.position(child)
    }

    pub(super) fn children_mut(&mut self) -> &mut Children {
        &mut self.rare_mut().children
    }

    pub(super) fn remove_child(&mut self, child: ObjectId) {
        if let Some(rare) = self.rare.get_mut() {
            rare.children.remove(child);
        }
    }

    /// Returns the components of classes that the program does not have.
    pub(super) fn unknown(&self) -> &[UnknownEntry] {
        self.rare.get().map_or(&[], |rare| &rare.unknown)
    }

    pub(super) fn unknown_mut(&mut self) -> &mut [UnknownEntry] {
        self.rare.get_mut().map_or(&mut [], |rare| &mut rare.unknown)
    }

    pub(super) fn unknown_list(&mut self) -> &mut Vec<UnknownEntry> {
        &mut self.rare_mut().unknown
    }

    /// Returns the cached text of the name.
    pub(super) fn text(&self, make: impl FnOnce() -> String) -> &Arc<str> {
        let rare = self.rare.get_or_init(Box::default);
        rare.text.get_or_init(|| make().into())
    }

    /// Sets or removes the name.
    pub(super) fn set_name(&mut self, name: Option<Name>) {
        self.name = name;
        if let Some(rare) = self.rare.get_mut() {
            rare.text = OnceCell::new();
        }
    }

    fn rare_mut(&mut self) -> &mut ObjectExtras {
        self.rare.get_or_init(Box::default);
        self.rare.get_mut().expect("it was made just now")
    }

    /// Removes a column from the shape, after its component was taken out.
    pub(super) fn lose(&mut self, column: usize, shapes: &mut Shapes) {
        let position = shapes.columns(self.shape).iter().position(|at| *at == column);
        let Some(position) = position else { return };
        self.started -= u16::from(position < usize::from(self.started));
        let unknown = self.unknown_mut().iter_mut();
        unknown.for_each(|entry| entry.preceding -= usize::from(position < entry.preceding));
        self.shape = shapes.without(self.shape, column);
    }
}

/// Whether an object is updated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, crate::Persist)]
#[persist(crate = crate, class = "persist.Activity")]
pub enum Activity {
    /// The object is updated in each frame, unless an ancestor is not active.
    #[default]
    #[persist(empty)]
    Active,
    /// Neither the object nor its descendants are updated, until it is active again.
    Paused,
    /// Neither the object nor its descendants are updated, and they are removed at the end of the frame.
    Expired,
}

/// The columns of an object's components, in the order in which they were attached. Objects with the same components
/// share a shape, which is the index of the list of columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Shape(u32);

/// All shapes of a world. The first is the shape without components.
pub(super) struct Shapes {
    shapes: Vec<Arc<[usize]>>,
    by_columns: HashMap<Arc<[usize]>, Shape>,
    /// The shape with one more column at the end, so that attaching a component needs one lookup.
    wider: HashMap<(Shape, usize), Shape>,
}

impl Default for Shapes {
    fn default() -> Self {
        let mut shapes =
            Self { shapes: Vec::new(), by_columns: HashMap::new(), wider: HashMap::new() };
        shapes.of(&[]);
        shapes
    }
}

impl Shapes {
    pub(super) fn of(&mut self, columns: &[usize]) -> Shape {
        if let Some(shape) = self.by_columns.get(columns) {
            return *shape;
        }
        let columns: Arc<[usize]> = columns.into();
        let shape = Shape(u32::try_from(self.shapes.len()).expect("each shape takes memory"));
        self.shapes.push(columns.clone());
        self.by_columns.insert(columns, shape);
        shape
    }

    pub(super) fn len(&self) -> usize {
        self.shapes.len()
    }

    pub(super) fn columns(&self, shape: Shape) -> &[usize] {
        self.shapes.get(Self::index(shape)).map_or(&[], |columns| columns)
    }

    /// Iterates over the components of an object, including unknown ones, in the order in which they were attached.
    pub(super) fn parts<'o>(
        &'o self,
        object: &'o Object,
    ) -> impl Iterator<Item = ComponentIndex> + 'o {
        let mut columns = self.columns(object.shape).iter();
        let (all, mut unknown) = (columns.len(), object.unknown().iter().enumerate().peekable());
        std::iter::from_fn(move || {
            let passed = all - columns.len();
            let is_next = |(_, entry): &(usize, &UnknownEntry)| entry.preceding <= passed;
            match unknown.next_if(is_next) {
                Some((index, _)) => Some(ComponentIndex::Unknown(index)),
                None => match columns.next() {
                    Some(column) => Some(ComponentIndex::Known(*column)),
                    None => unknown.next().map(|(index, _)| ComponentIndex::Unknown(index)),
                },
            }
        })
    }

    /// Returns the columns of a shape, shared so that objects can change meanwhile.
    pub(super) fn share(&self, shape: Shape) -> Arc<[usize]> {
        self.shapes.get(Self::index(shape)).cloned().unwrap_or_default()
    }

    /// Returns the shape with one more column at the end.
    pub(super) fn with(&mut self, shape: Shape, column: usize) -> Shape {
        if let Some(wider) = self.wider.get(&(shape, column)) {
            return *wider;
        }
        let columns: Vec<usize> = self.columns(shape).iter().copied().chain([column]).collect();
        let wider = self.of(&columns);
        self.wider.insert((shape, column), wider);
        wider
    }

    fn without(&mut self, shape: Shape, column: usize) -> Shape {
        let columns = self.columns(shape).iter().copied();
        let columns: Vec<usize> = columns.filter(|other| *other != column).collect();
        self.of(&columns)
    }

    /// Returns for each shape whether one of its columns fulfils a condition.
    pub(super) fn any(&self, test: impl Fn(usize) -> bool) -> Vec<bool> {
        self.shapes.iter().map(|columns| columns.iter().any(|column| test(*column))).collect()
    }

    pub(super) fn index(shape: Shape) -> usize {
        shape.0 as usize
    }
}
