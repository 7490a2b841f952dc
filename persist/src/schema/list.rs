//! The elements of a list, by their place in the bytes of a value.

use std::ops::Range;

use super::cursor::{At, missing};
use super::{Cursor, KindSchema, WriteTarget};
use crate::Result;
use crate::codec::count;
use crate::value::Value;

/// A list in the bytes of a value.
pub(crate) struct ListPart<'s, 'b> {
    /// At the first element, if there is one.
    element: Cursor<'s, 'b>,
    node: usize,
    len: u64,
    /// Where its count begins.
    start: usize,
    elements: Range<usize>,
}

impl<'s, 'b> Cursor<'s, 'b> {
    /// The elements of the list that the part is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if it is none.
    pub(crate) fn list(&self) -> Result<ListPart<'s, 'b>> {
        let mut cursor = *self;
        cursor.open()?;
        let start = cursor.start;
        let At::Kind(KindSchema::List(inner), node) = cursor.at else {
            return Err(
                self.no_part("elements that can be put in, taken out or moved; only lists have")
            );
        };
        let len = cursor.take(count::decode)?;
        let first = cursor.part(node);
        let elements = cursor.start;
        let mut end = cursor;
        end.skip_many(first, len)?;
        cursor.at = At::of(inner, first);
        Ok(ListPart { element: cursor, node: first, len, start, elements: elements..end.start })
    }
}

impl<'b> ListPart<'_, 'b> {
    /// Where the element of this index begins, or, if it may be the end, where the last one ends.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there is none.
    fn place(&self, index: u64, may_end: bool) -> Result<usize> {
        if index > self.len || (index == self.len && !may_end) {
            return Err(missing(&format!("the list of {} has no element [{index}]", self.len)));
        }
        let mut cursor = self.element;
        cursor.skip_many(self.node, index)?;
        Ok(cursor.start)
    }

    /// The bytes of each element; `None` if they have none.
    ///
    /// # Errors
    ///
    /// If one cannot be a value.
    pub(crate) fn all(&self) -> Result<Option<Vec<&'b [u8]>>> {
        if self.len > self.elements.len() as u64 {
            return Ok(None);
        }
        let mut cursor = self.element;
        let elements = (0..self.len).map(|_| {
            let start = cursor.start;
            cursor.skip(self.node)?;
            Ok(&cursor.bytes[start..cursor.start])
        });
        elements.collect::<Result<_>>().map(Some)
    }

    /// The bytes of the element of this index.
    ///
    /// # Errors
    ///
    /// Those of [`place`](Self::place).
    pub(crate) fn element(&self, index: u64) -> Result<&[u8]> {
        let start = self.place(index, false)?;
        Ok(&self.element.bytes[start..self.place(index + 1, true)?])
    }

    /// All bytes with an element put in before the one of this index, or at the end.
    ///
    /// # Errors
    ///
    /// Those of [`place`](Self::place).
    pub(crate) fn inserted(&self, index: u64, element: &[u8]) -> Result<Vec<u8>> {
        let (bytes, place) = (self.element.bytes, self.place(index, true)?);
        let Range { start, end } = self.elements.clone();
        Ok(self.with(self.len + 1, &[&bytes[start..place], element, &bytes[place..end]]))
    }

    /// All bytes without the element of this index.
    ///
    /// # Errors
    ///
    /// Those of [`place`](Self::place).
    pub(crate) fn removed(&self, index: u64) -> Result<Vec<u8>> {
        let (bytes, place) = (self.element.bytes, self.place(index, false)?);
        let behind = self.place(index + 1, true)?;
        let Range { start, end } = self.elements.clone();
        Ok(self.with(self.len - 1, &[&bytes[start..place], &bytes[behind..end]]))
    }

    /// All bytes with the element of one index at another.
    ///
    /// # Errors
    ///
    /// Those of [`place`](Self::place).
    pub(crate) fn moved(&self, from: u64, to: u64) -> Result<Vec<u8>> {
        let (bytes, place) = (self.element.bytes, self.place(from, false)?);
        let behind = self.place(from + 1, true)?;
        self.place(to, false)?;
        // Before the element that is there, or behind it if that comes nearer.
        let target = self.place(if to > from { to + 1 } else { to }, true)?;
        let Range { start, end } = self.elements.clone();
        let element = &bytes[place..behind];
        Ok(if target >= behind {
            let between = &bytes[behind..target];
            self.with(self.len, &[&bytes[start..place], between, element, &bytes[target..end]])
        } else {
            let between = &bytes[target..place];
            self.with(self.len, &[&bytes[start..target], element, between, &bytes[behind..end]])
        })
    }

    /// All bytes with other elements.
    fn with(&self, len: u64, elements: &[&[u8]]) -> Vec<u8> {
        let bytes = self.element.bytes;
        let more: usize = elements.iter().map(|elements| elements.len()).sum();
        let mut new = Vec::with_capacity(bytes.len() + more + 9);
        new.extend_from_slice(&bytes[..self.start]);
        count::push(len, &mut new);
        elements.iter().for_each(|elements| new.extend_from_slice(elements));
        new.extend_from_slice(&bytes[self.elements.end..]);
        new
    }

    /// Appends a value as an element.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub(crate) fn write(
        &self,
        target: &mut dyn WriteTarget,
        value: &Value,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        self.element.write(target, value, out)
    }
}
