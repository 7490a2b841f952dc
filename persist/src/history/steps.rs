//! The steps of an entry.

use std::ops::{Deref, DerefMut};

use super::step::Step;

/// The steps of an entry: mostly one, which then lies in the entry.
pub(super) enum Steps<T: 'static> {
    One(Step<T>),
    Many(Vec<Step<T>>),
}

/// What an entry keeps of its steps.
#[derive(Clone, Copy)]
pub(super) struct Summary {
    pub(super) is_significant: bool,
    /// [`Steps::size`].
    pub(super) size: usize,
}

impl<T: 'static> Steps<T> {
    pub(super) fn push(&mut self, step: Step<T>) {
        match self {
            Self::Many(steps) if steps.capacity() > 0 => steps.push(step),
            Self::Many(_) => *self = Self::One(step),
            Self::One(_) => {
                let mut steps = std::mem::take(self).into_vec();
                steps.push(step);
                *self = Self::Many(steps);
            }
        }
    }

    pub(super) fn pop(&mut self) -> Option<Step<T>> {
        match self {
            Self::Many(steps) => steps.pop(),
            Self::One(_) => std::mem::take(self).into_each().next(),
        }
    }

    /// The steps as a list.
    pub(super) fn into_vec(self) -> Vec<Step<T>> {
        match self {
            Self::One(step) => vec![step],
            Self::Many(steps) => steps,
        }
    }

    /// Each of the steps.
    pub(super) fn into_each(self) -> impl Iterator<Item = Step<T>> {
        let (one, many) = match self {
            Self::One(step) => (Some(step), Vec::new()),
            Self::Many(steps) => (None, steps),
        };
        one.into_iter().chain(many)
    }

    /// What an entry keeps of them. It asks commands, which may panic.
    #[inline]
    pub(super) fn summary(&self) -> Summary {
        Summary { is_significant: self.iter().any(Step::is_significant), size: self.size() }
    }

    /// Bytes of memory that they take besides their own size.
    pub(super) fn size(&self) -> usize {
        self.iter().map(Step::size).sum::<usize>() + self.places()
    }

    /// Bytes of memory of their list, if they have one.
    pub(super) fn places(&self) -> usize {
        match self {
            Self::One(_) => 0,
            Self::Many(steps) => steps.len() * size_of::<Step<T>>(),
        }
    }
}

impl<T: 'static> From<Step<T>> for Steps<T> {
    fn from(step: Step<T>) -> Self {
        Self::One(step)
    }
}

impl<T: 'static> From<Vec<Step<T>>> for Steps<T> {
    fn from(mut steps: Vec<Step<T>>) -> Self {
        match steps.pop() {
            Some(only) if steps.is_empty() => Self::One(only),
            last => {
                steps.extend(last);
                Self::Many(steps)
            }
        }
    }
}

impl<T: 'static> Default for Steps<T> {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl<T: 'static> Deref for Steps<T> {
    type Target = [Step<T>];

    fn deref(&self) -> &[Step<T>] {
        match self {
            Self::One(step) => std::slice::from_ref(step),
            Self::Many(steps) => steps,
        }
    }
}

impl<T: 'static> DerefMut for Steps<T> {
    fn deref_mut(&mut self) -> &mut [Step<T>] {
        match self {
            Self::One(step) => std::slice::from_mut(step),
            Self::Many(steps) => steps,
        }
    }
}
