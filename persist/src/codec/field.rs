//! Fields whose type is known at run time only.

use std::any::Any;

use super::decoder::Decoder;
use super::encoder::{Encoder, Stop};
use super::fail::Fail;
use super::visitor::Visitor;
use crate::Result;

/// Visits what is inside of a field whose type is known at run time only.
pub(super) type VisitField = fn(&dyn Any, &mut Visitor<'_>) -> Result<()>;

/// How a field is written and read by itself.
#[derive(Clone, Copy)]
pub struct FieldAccess {
    pub(super) encode: fn(&dyn Any, &mut Encoder<'_>) -> Result<(), Stop>,
    pub(super) decode: fn(Option<&mut dyn Any>, &mut Decoder<'_>) -> Result<(), Fail>,
    pub(super) list: Option<&'static dyn ListAccess>,
    pub(super) map: Option<&'static dyn MapAccess>,
    pub(super) has_adapter: bool,
    /// True if the field is stored as its own type, and not in its compact form.
    pub(super) is_plain: bool,
    /// Visits what is inside of a field that is stored as its own type.
    pub(super) visit: Option<VisitField>,
}

impl FieldAccess {
    /// True if the field is stored as another type.
    pub(crate) fn has_adapter(&self) -> bool {
        self.has_adapter
    }

    /// How its elements are reached, if it is a list whose elements are stored as they are.
    pub(crate) fn list(&self) -> Option<&'static dyn ListAccess> {
        self.list
    }

    /// How its values are reached, if it is a map whose keys and values are stored as they are.
    pub(crate) fn map(&self) -> Option<&'static dyn MapAccess> {
        self.map
    }

    /// Writes a field.
    pub fn encode(&self, field: &dyn Any, out: &mut Encoder<'_>) -> Result<(), Stop> {
        (self.encode)(field, out)
    }

    /// Visits what is inside of the field; a field that an adapter stores has nothing inside.
    pub(crate) fn visit_shared(&self, field: &dyn Any, visitor: &mut Visitor<'_>) -> Result<()> {
        self.visit.map_or(Ok(()), |visit| visit(field, visitor))
    }

    /// Reads over a field; reads and drops one if there is none to read over.
    pub fn decode(&self, field: Option<&mut dyn Any>, input: &mut Decoder<'_>) -> Result<(), Fail> {
        (self.decode)(field, input)
    }
}

/// A type of lists, by its elements. Whatever is asked of a value of another type, or of an element that is not there,
/// has no answer.
pub trait ListAccess: Sync {
    /// How many elements there are.
    fn len(&self, list: &dyn Any) -> Option<usize>;

    /// The element of an index.
    fn get<'v>(&self, list: &'v dyn Any, index: usize) -> Option<&'v dyn Any>;

    /// The element of an index, to be changed.
    fn get_mut<'v>(&self, list: &'v mut dyn Any, index: usize) -> Option<&'v mut dyn Any>;

    /// How an element is written and read.
    fn element(&self) -> &'static FieldAccess;

    /// Reads an element and puts it in before the one of an index, or at the end.
    fn insert(&self, list: &mut dyn Any, index: usize, input: &mut Decoder<'_>)
    -> Result<(), Fail>;

    /// Drops the element of an index.
    fn remove(&self, list: &mut dyn Any, index: usize) -> Option<()>;

    /// Gives the element of an index another one.
    fn shift(&self, list: &mut dyn Any, from: usize, to: usize) -> Option<()>;
}

/// A type of maps, by its values. Whatever is asked of a value of another type, or by a key that is not there, has no
/// answer.
pub trait MapAccess: Sync {
    /// The value of a key, which is given as it is stored.
    fn get<'v>(&self, map: &'v dyn Any, key: &[u8]) -> Option<&'v dyn Any>;

    /// The value of a key, to be changed.
    fn get_mut<'v>(&self, map: &'v mut dyn Any, key: &[u8]) -> Option<&'v mut dyn Any>;

    /// How a value is written and read.
    fn value(&self) -> &'static FieldAccess;
}

/// A type with named fields, as in `value.field`; the derive and the library implement it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no fields with names in saves",
    label = "not a struct that derives `Persist`",
    note = "if the type is yours, add `#[derive(Persist)]` to it"
)]
pub trait FieldNames {
    /// For each field, what the program calls it, and the step to it in a path.
    const STEPS: &'static [(&'static str, FieldStep)];
}

/// True for the same name; `==` is not for constants.
pub(crate) const fn is_same_name(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// The step of a path that leads to a field.
#[derive(Clone, Copy)]
pub enum FieldStep {
    /// This name.
    Name(&'static str),
    /// None: the field is stored in place of its owner.
    Here,
    /// It is not stored.
    Skipped,
}

impl<T: FieldNames> FieldNames for Box<T> {
    const STEPS: &'static [(&'static str, FieldStep)] = T::STEPS;
}
