//! Access to fields whose type is known at run time only.

use std::any::Any;
use std::ops::Range;

use super::decoder::Decoder;
use super::encoder::{Encoder, Stop};
use super::fail::Fail;
use super::visitor::Visitor;
use crate::Result;

/// Visits the values inside of a field whose type is known at run time only.
type VisitField = fn(&dyn Any, &mut Visitor<'_>) -> Result<()>;

/// Writes and reads a field by itself.
#[derive(Clone, Copy)]
pub struct FieldAccess {
    pub(super) encode: fn(&dyn Any, &mut Encoder<'_>) -> Result<(), Stop>,
    pub(super) decode: fn(Option<&mut dyn Any>, &mut Decoder<'_>) -> Result<(), Fail>,
    #[cfg_attr(
        not(any(feature = "history", feature = "world")),
        allow(dead_code, reason = "only an edit of fields asks for it")
    )]
    pub(super) list: Option<&'static dyn ListAccess>,
    #[cfg_attr(
        not(any(feature = "history", feature = "world")),
        allow(dead_code, reason = "only an edit of fields asks for it")
    )]
    pub(super) map: Option<&'static dyn MapAccess>,
    #[cfg_attr(
        not(any(feature = "history", feature = "world")),
        allow(dead_code, reason = "only a read of fields asks for it")
    )]
    pub(super) walk: Option<&'static dyn WalkAccess>,
    #[cfg_attr(
        not(any(feature = "history", feature = "world")),
        allow(dead_code, reason = "only an edit of fields asks for it")
    )]
    pub(super) has_adapter: bool,
    /// True if the field is stored as its own type, and not in its compact form.
    pub(super) is_plain: bool,
    /// Visits the values inside of a field that is stored as its own type.
    pub(super) visit: Option<VisitField>,
}

impl FieldAccess {
    /// True if the field is stored as another type, by an adapter.
    #[cfg(any(feature = "history", feature = "world"))]
    pub(crate) fn has_adapter(&self) -> bool {
        self.has_adapter
    }

    /// Returns access to the elements, if the field is a list whose elements are stored as they are.
    #[cfg(any(feature = "history", feature = "world"))]
    pub(crate) fn list(&self) -> Option<&'static dyn ListAccess> {
        self.list
    }

    /// Returns access to the values, if the field is a map whose keys and values are stored as they are.
    #[cfg(any(feature = "history", feature = "world"))]
    pub(crate) fn map(&self) -> Option<&'static dyn MapAccess> {
        self.map
    }

    /// Returns access to the entries or elements, if the field is a map, a set or an array, stored as they are.
    #[cfg(any(feature = "history", feature = "world"))]
    pub(crate) fn walk(&self) -> Option<&'static dyn WalkAccess> {
        self.walk
    }

    /// Writes a field.
    pub fn encode(&self, field: &dyn Any, out: &mut Encoder<'_>) -> Result<(), Stop> {
        (self.encode)(field, out)
    }

    /// Visits the values inside of the field. A field that an adapter stores has none.
    pub(crate) fn visit_shared(&self, field: &dyn Any, visitor: &mut Visitor<'_>) -> Result<()> {
        self.visit.map_or(Ok(()), |visit| visit(field, visitor))
    }

    /// Reads a field over the given one. Without one, the value is read and dropped.
    pub fn decode(&self, field: Option<&mut dyn Any>, input: &mut Decoder<'_>) -> Result<(), Fail> {
        (self.decode)(field, input)
    }
}

/// Accesses the elements of a type of list.
///
/// The methods return `None` or an error for a value of another type, and for an index beyond the end.
pub trait ListAccess: Sync {
    /// Returns the number of elements.
    fn len(&self, list: &dyn Any) -> Option<usize>;

    /// Returns the element at `index`.
    fn get<'v>(&self, list: &'v dyn Any, index: usize) -> Option<&'v dyn Any>;

    /// Returns the element at `index` mutably.
    fn get_mut<'v>(&self, list: &'v mut dyn Any, index: usize) -> Option<&'v mut dyn Any>;

    /// Returns how an element is written and read.
    fn element(&self) -> &'static FieldAccess;

    /// Reads an element and inserts it at `index`; the length appends it.
    fn insert(&self, list: &mut dyn Any, index: usize, input: &mut Decoder<'_>)
    -> Result<(), Fail>;

    /// Removes and drops the element at `index`.
    fn remove(&self, list: &mut dyn Any, index: usize) -> Option<()>;

    /// Moves the element at index `from` to index `to`.
    fn shift(&self, list: &mut dyn Any, from: usize, to: usize) -> Option<()>;

    /// Exchanges elements for those of `new`, another list of this type, in one pass. The edits are in the order of the
    /// list. Afterwards `new` has the elements that were removed.
    ///
    /// `None` if an edit is outside of the list, or must be made by itself; both lists are then as before.
    fn splice(&self, list: &mut dyn Any, new: &mut dyn Any, edits: &[ListSplice]) -> Option<()>;

    /// Returns an empty list of this type; `None` if it has no [`splice`](Self::splice).
    fn empty(&self) -> Option<Box<dyn Any>>;
}

/// An edit of one of several elements.
#[derive(Clone, Copy)]
pub enum ListSplice {
    /// The element at this index of the list before the edits is removed.
    Remove(usize),
    /// A new element is inserted before the one that had this index before the edits.
    Insert(usize),
}

/// Accesses the values of a type of map.
///
/// The methods return `None` for a value of another type, and for a missing key.
pub trait MapAccess: Sync {
    /// Returns the value of a key, whose bytes are as it is stored.
    fn get<'v>(&self, map: &'v dyn Any, key: &[u8]) -> Option<&'v dyn Any>;

    /// Returns the value of a key mutably.
    fn get_mut<'v>(&self, map: &'v mut dyn Any, key: &[u8]) -> Option<&'v mut dyn Any>;

    /// Returns how a value is written and read.
    fn value(&self) -> &'static FieldAccess;

    /// Reads a value and inserts it under a new key. Returns false if the map has the key.
    fn insert(&self, map: &mut dyn Any, key: &[u8], input: &mut Decoder<'_>) -> Result<bool, Fail>;

    /// Removes and drops the value of a key.
    fn remove(&self, map: &mut dyn Any, key: &[u8]) -> Option<()>;
}

/// Visits an entry of a map, its key first, or an element.
pub(super) type VisitItem<'v> = dyn FnMut(Option<&dyn Any>, &dyn Any) -> Result<()> + 'v;

/// Walks over the entries of a type of map, or over the elements of a set or an array.
pub trait WalkAccess: Sync {
    /// Returns the number of entries or elements; `None` for a value of another type.
    fn len(&self, container: &dyn Any) -> Option<usize>;

    /// Visits the entries or elements whose indices are in a range.
    fn visit(
        &self,
        container: &dyn Any,
        range: Range<usize>,
        visit: &mut VisitItem<'_>,
    ) -> Result<()>;

    /// Returns how a key of a map is written and read; `None` for elements.
    fn key(&self) -> Option<&'static FieldAccess>;

    /// Returns how an element, or the value of a key, is written and read.
    fn item(&self) -> &'static FieldAccess;

    /// True if the order of the walk is not that of the stored entries or elements.
    fn is_hashed(&self) -> bool;
}

/// The elements or keys of a type, for its [`PERSIST_ITEMS`](super::Persist::PERSIST_ITEMS).
#[derive(Clone, Copy)]
pub struct EditableItems {
    pub(super) list: Option<&'static dyn ListAccess>,
    pub(super) map: Option<&'static dyn MapAccess>,
    pub(super) walk: Option<&'static dyn WalkAccess>,
}

/// Lists the named fields of a type, as in `value.field`. The derive and the library implement it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no fields with names in saves",
    label = "not a struct that derives `Persist`",
    note = "if the type is yours, add `#[derive(Persist)]` to it"
)]
pub trait FieldNames {
    /// For each field, its name in the program and the step to it in a path.
    const STEPS: &'static [(&'static str, FieldStep)];
}

/// True if two names are equal; `==` cannot be called in constants.
pub(crate) const fn is_same_name(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// A step of a path, which leads to a field.
#[derive(Clone, Copy)]
pub enum FieldStep {
    /// The name of the field.
    Name(&'static str),
    /// No step: the field is stored in place of its owner, which is `transparent`.
    Here,
    /// The field is not stored.
    Skipped,
}

impl<T: FieldNames> FieldNames for Box<T> {
    const STEPS: &'static [(&'static str, FieldStep)] = T::STEPS;
}
