//! Lists that are written as their elements are found, so that nobody holds them in memory.

use std::cell::{Cell, RefCell};

use serde::ser::{Error as _, SerializeSeq};
use serde::{Serialize, Serializer};

use crate::exit::{Failure, Result};

/// The elements of a list.
pub(crate) trait Elements {
    /// Returns the number of elements, if it is known. RON writes an empty list in another way.
    fn count(&self) -> Option<usize> {
        None
    }

    /// Passes each element on, as long as `put` returns true.
    fn each(&mut self, to: &mut impl ElementSink) -> Result<()>;
}

/// Takes the elements of a list.
pub(crate) trait ElementSink {
    /// Takes an element; returns whether to go on.
    fn put(&mut self, element: &impl Serialize) -> bool;
}

/// A list in a value that is serialized.
pub(crate) struct Streamed<T> {
    elements: RefCell<T>,
    failure: Cell<Option<Failure>>,
}

impl<T: Elements> Streamed<T> {
    pub(crate) fn new(elements: T) -> Self {
        Self { elements: RefCell::new(elements), failure: Cell::default() }
    }

    /// Returns the result of serializing it: what failed in the save says more than that the list has no end.
    pub(crate) fn result<R>(&self, written: Result<R>) -> Result<R> {
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => written,
        }
    }

    pub(crate) fn into_elements(self) -> T {
        self.elements.into_inner()
    }
}

impl<T: Elements> Serialize for Streamed<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let count = self.elements.borrow().count();
        let mut sink = ListSink { list: to.serialize_seq(count)?, written: Ok(()) };
        let found = self.elements.borrow_mut().each(&mut sink);
        sink.written?;
        if let Err(failure) = found {
            let what = failure.to_string();
            self.failure.set(Some(failure));
            return Err(S::Error::custom(what));
        }
        sink.list.end()
    }
}

struct ListSink<L: SerializeSeq> {
    list: L,
    written: Result<(), L::Error>,
}

impl<L: SerializeSeq> ElementSink for ListSink<L> {
    fn put(&mut self, element: &impl Serialize) -> bool {
        self.written = self.list.serialize_element(element);
        self.written.is_ok()
    }
}
