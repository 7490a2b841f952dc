//! The values right inside of a value, one after another.
//!
//! Walks over a whole tree keep a stack of these iterators: no value is too deep for the
//! stack of the thread.

use std::slice::{Iter, IterMut};

use super::{Field, Value};

/// The parts of a value. Those of a map are each key, then its value.
pub(crate) enum Parts<'v> {
    Values(Iter<'v, Value>),
    Fields(Iter<'v, Field>),
    Entries { entries: Iter<'v, (Value, Value)>, value: Option<&'v Value> },
}

impl<'v> Parts<'v> {
    pub(super) fn entries(entries: &'v [(Value, Value)]) -> Self {
        Self::Entries { entries: entries.iter(), value: None }
    }
}

impl<'v> Iterator for Parts<'v> {
    type Item = &'v Value;

    fn next(&mut self) -> Option<&'v Value> {
        match self {
            Self::Values(values) => values.next(),
            Self::Fields(fields) => fields.next().map(|field| &field.value),
            Self::Entries { entries, value } => value.take().or_else(|| {
                let (key, behind) = entries.next()?;
                *value = Some(behind);
                Some(key)
            }),
        }
    }
}

/// Like [`Parts`], to be changed.
pub(crate) enum PartsMut<'v> {
    Values(IterMut<'v, Value>),
    Fields(IterMut<'v, Field>),
    Entries { entries: IterMut<'v, (Value, Value)>, value: Option<&'v mut Value> },
}

impl<'v> PartsMut<'v> {
    pub(super) fn entries(entries: &'v mut [(Value, Value)]) -> Self {
        Self::Entries { entries: entries.iter_mut(), value: None }
    }
}

impl<'v> Iterator for PartsMut<'v> {
    type Item = &'v mut Value;

    fn next(&mut self) -> Option<&'v mut Value> {
        match self {
            Self::Values(values) => values.next(),
            Self::Fields(fields) => fields.next().map(|field| &mut field.value),
            Self::Entries { entries, value } => value.take().or_else(|| {
                let (key, behind) = entries.next()?;
                *value = Some(behind);
                Some(key)
            }),
        }
    }
}

/// The next part of the innermost value that has one; those that have none any more are closed.
pub(crate) fn next_part<I: Iterator>(open: &mut Vec<I>) -> Option<I::Item> {
    loop {
        let part = open.last_mut()?.next();
        if part.is_some() {
            return part;
        }
        open.pop();
    }
}
