//! What a world knows of each object besides its components.

use std::rc::Rc;

use hashbrown::HashMap;

use super::children::Children;
use crate::ObjectId;
use crate::codec::Unknown;

/// An object without its components.
#[derive(Default)]
pub(super) struct Object {
    pub(super) name: Rc<str>,
    pub(super) parent: Option<ObjectId>,
    pub(super) children: Children,
    /// Which components it has, in which order.
    pub(super) shape: Shape,
    /// How many of them, from the first on, have been started; the others follow these.
    pub(super) started: usize,
    pub(super) activity: Activity,
    /// True if it or an object above it is not active.
    pub(super) is_held: bool,
    pub(super) unknown: Vec<KeptComponent>,
}

/// A component of a class that the program does not have.
pub(super) struct KeptComponent {
    /// How many components that it has are before it.
    pub(super) before: usize,
    pub(super) is_started: bool,
    pub(super) content: Unknown,
}

impl Object {
    /// Notes that the component of a column is gone.
    pub(super) fn lose(&mut self, column: usize, shapes: &mut Shapes) {
        let position = shapes.columns(self.shape).iter().position(|at| *at == column);
        let Some(position) = position else { return };
        self.started -= usize::from(position < self.started);
        self.unknown.iter_mut().for_each(|kept| kept.before -= usize::from(position < kept.before));
        self.shape = shapes.without(self.shape, column);
    }
}

/// Whether an object is updated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, crate::Persist)]
#[persist(crate = crate, class = "persist.Activity")]
pub enum Activity {
    /// It is.
    #[default]
    #[persist(default)]
    Active,
    /// It is not, nor are the objects below it, until it is resumed.
    Paused,
    /// It is not, and is removed at the end of the frame.
    Expired,
}

/// The columns of an object, in the order in which its components were attached; most objects share theirs with many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Shape(usize);

/// All shapes that were met; the first is that without a component.
pub(super) struct Shapes {
    shapes: Vec<Rc<[usize]>>,
    by_columns: HashMap<Rc<[usize]>, Shape>,
    /// The shape with one more column at the end.
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
    /// The shape of these columns.
    pub(super) fn of(&mut self, columns: &[usize]) -> Shape {
        if let Some(shape) = self.by_columns.get(columns) {
            return *shape;
        }
        let columns: Rc<[usize]> = columns.into();
        let shape = Shape(self.shapes.len());
        self.shapes.push(columns.clone());
        self.by_columns.insert(columns, shape);
        shape
    }

    pub(super) fn columns(&self, shape: Shape) -> &[usize] {
        self.shapes.get(shape.0).map_or(&[], |columns| columns)
    }

    /// The columns of a shape, to be held while objects change.
    pub(super) fn share(&self, shape: Shape) -> Rc<[usize]> {
        self.shapes.get(shape.0).cloned().unwrap_or_default()
    }

    /// The shape with one more column at the end.
    pub(super) fn with(&mut self, shape: Shape, column: usize) -> Shape {
        if let Some(wider) = self.wider.get(&(shape, column)) {
            return *wider;
        }
        let columns: Vec<usize> = self.columns(shape).iter().copied().chain([column]).collect();
        let wider = self.of(&columns);
        self.wider.insert((shape, column), wider);
        wider
    }

    /// The shape without a column.
    pub(super) fn without(&mut self, shape: Shape, column: usize) -> Shape {
        let columns = self.columns(shape).iter().copied();
        let columns: Vec<usize> = columns.filter(|other| *other != column).collect();
        self.of(&columns)
    }

    /// For each shape, whether one of its columns is among these.
    pub(super) fn any(&self, wanted: impl Fn(usize) -> bool) -> Vec<bool> {
        self.shapes.iter().map(|columns| columns.iter().any(|column| wanted(*column))).collect()
    }

    pub(super) fn index(shape: Shape) -> usize {
        shape.0
    }
}
