//! Which steps of an entry another one may meet.

use hashbrown::HashMap;

use super::step::{BoxedStep, Step};
use crate::ObjectId;

/// Where settings of fields are, by their objects: those of different ones neither merge nor meet. So a drag of many objects
/// costs each no more than a drag of one.
pub(super) struct Order {
    last: HashMap<Option<ObjectId>, usize>,
    /// For each the one before it of the same object.
    previous: Vec<Option<usize>>,
    /// The objects of the step that was asked for them last.
    objects: Vec<ObjectId>,
}

impl Order {
    pub(super) fn of<T: 'static>(steps: &[BoxedStep<T>]) -> Self {
        let last = HashMap::with_capacity(steps.len());
        let mut order = Self { last, previous: Vec::with_capacity(steps.len()), objects: vec![] };
        steps.iter().for_each(|step| order.push(&**step));
        order
    }

    /// Appends a step.
    pub(super) fn push<T: 'static>(&mut self, step: &dyn Step<T>) {
        let object = self.object(step);
        self.previous.push(self.last.insert(object, self.previous.len()));
    }

    /// The last one of the object of a step.
    pub(super) fn last<T: 'static>(&mut self, step: &dyn Step<T>) -> Option<usize> {
        let object = self.object(step);
        self.last.get(&object).copied()
    }

    /// The one before this one of the same object.
    pub(super) fn before(&self, at: usize) -> Option<usize> {
        self.previous.get(at).copied().flatten()
    }

    fn object<T: 'static>(&mut self, step: &dyn Step<T>) -> Option<ObjectId> {
        self.objects.clear();
        step.objects(&mut self.objects);
        self.objects.first().copied()
    }
}
