//! Which steps of an entry another one may meet.

use hashbrown::HashMap;

use super::step::Step;
use crate::ObjectId;

/// Where settings of fields are, by their objects: those of different ones neither merge nor meet. So a drag of many objects
/// costs each no more than a drag of one. It is kept with the entry.
pub(super) struct Order {
    /// Index of the first of these steps; the one before it is none.
    first: usize,
    last: HashMap<Option<ObjectId>, usize>,
    /// For each the one before it of the same object.
    previous: Vec<Option<usize>>,
}

impl Order {
    /// The settings of fields that are the last steps.
    pub(super) fn of<T: 'static>(steps: &[Step<T>]) -> Self {
        let others = steps.iter().rposition(|step| !step.is_setting());
        let mut order = Self::from(others.map_or(0, |last| last + 1));
        steps[order.first..].iter().for_each(|step| order.push(step));
        order
    }

    /// No settings yet; the next one has this index.
    pub(super) fn from(first: usize) -> Self {
        Self { first, last: HashMap::new(), previous: Vec::new() }
    }

    pub(super) fn first(&self) -> usize {
        self.first
    }

    /// True if it is that of these steps, to which nothing has been added since.
    pub(super) fn is_of<T: 'static>(&self, steps: &[Step<T>]) -> bool {
        self.first + self.previous.len() == steps.len()
    }

    /// Appends a step.
    pub(super) fn push<T: 'static>(&mut self, step: &Step<T>) {
        let at = self.first + self.previous.len();
        self.previous.push(self.last.insert(step.object(), at));
    }

    /// The last one of the object of a step.
    pub(super) fn last<T: 'static>(&self, step: &Step<T>) -> Option<usize> {
        self.last.get(&step.object()).copied()
    }

    /// The one before this one of the same object.
    pub(super) fn before(&self, at: usize) -> Option<usize> {
        self.previous.get(at - self.first).copied().flatten()
    }
}
