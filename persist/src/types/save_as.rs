//! Structs of references that are saved as the struct that owns their targets.
//!
//! The derive implements [`SaveAs`] for a struct with `save_as`. The compiler compares names, number, order and types
//! of its fields with those of the owned class. Only the owned class says how a field is stored: the bytes are those of
//! its own row.

use std::any::Any;

use super::encode_text;
use super::sequence::encode;
use crate::Error;
use crate::codec::field_access::{FieldAccess, FieldNames, FieldStep, is_same_name};
use crate::codec::type_set::FieldCodec;
use crate::codec::{Encoder, Persist, Reflect, Stop, Visitor};

/// Saves parts of a value like the whole value; never loaded.
pub trait SaveAs {
    /// The class that the parts are saved as.
    type Owned: Reflect + FieldNames;

    /// Name of the owned class in the program.
    const OWNED: &'static str;

    /// Names of the parts in the program, in their order.
    const PARTS: &'static [&'static str];

    /// The first mismatch of the parts with the owned class, if there is one.
    const FAULT: Fault = Fault::find(Self::OWNED, <Self::Owned as FieldNames>::STEPS, Self::PARTS);

    /// Codecs of the owned class's fields.
    const FIELDS: &'static [&'static [FieldCodec]] = <Self::Owned as Reflect>::__ROWS;

    /// True if the owned class has a `before_save` hook, which changes the value before it is saved.
    const HAS_BEFORE_SAVE: bool = <Self::Owned as Reflect>::CLASS.before_save;

    /// True if the owned class has a `validate` function of its own, which takes the whole value.
    const VALIDATES: bool = <Self::Owned as Reflect>::CLASS.validate;

    /// Returns the part in place of the owned class's stored field of this index.
    fn part(&self, field: usize) -> Option<SavedPart<'_>>;

    /// Visits the values inside of the parts, like a visit of the owned class.
    ///
    /// # Errors
    ///
    /// Returns an error if a hook of a part refuses.
    fn visit_parts(&self, visitor: &mut Visitor<'_>) -> Result<(), Error> {
        let fields = Self::FIELDS.first().copied().unwrap_or_default();
        for (index, field) in fields.iter().enumerate() {
            if let Some(part) = self.part(index) {
                let name = Self::PARTS.get(index).copied().unwrap_or_default();
                let visited = part.visit(field.access(), visitor);
                visited.map_err(|error| error.in_field(name))?;
            }
        }
        Ok(())
    }

    /// Writes the stored fields of the owned class, one after the other.
    ///
    /// # Errors
    ///
    /// Returns [`Stop`] if a part refuses.
    fn encode_parts(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let fields = Self::FIELDS.first().copied().unwrap_or_default();
        (0..fields.len()).try_for_each(|field| self.encode_part(field, out))
    }

    /// Writes the stored field of this index.
    ///
    /// # Errors
    ///
    /// Returns [`Stop`] if the part refuses.
    fn encode_part(&self, field: usize, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let codec = Self::FIELDS.first().and_then(|fields| fields.get(field));
        match (codec, self.part(field)) {
            (Some(codec), Some(part)) => part.encode(codec.access(), out),
            _ => Err(out.no_field()),
        }
    }
}

/// A part in place of a field.
pub enum SavedPart<'p> {
    /// A value of the field's type.
    Value(&'p dyn Any),
    /// The elements of a field that is a `Vec`.
    Items(&'p dyn EncodeItems),
    /// The text of a field that is a `String`.
    Text(&'p str),
}

impl<'p> SavedPart<'p> {
    /// Returns the part, if it has the type of the field.
    pub(crate) fn value(&self) -> Option<&'p dyn Any> {
        match self {
            SavedPart::Value(value) => Some(*value),
            SavedPart::Items(_) | SavedPart::Text(_) => None,
        }
    }

    /// Visits the values inside of the part.
    fn visit(&self, access: &FieldAccess, visitor: &mut Visitor<'_>) -> Result<(), Error> {
        match self {
            SavedPart::Value(value) => access.visit_shared(*value, visitor),
            SavedPart::Items(items) => items.visit_items(visitor),
            SavedPart::Text(_) => Ok(()),
        }
    }

    /// Writes the part like the field.
    fn encode(&self, access: &FieldAccess, out: &mut Encoder<'_>) -> Result<(), Stop> {
        match self {
            SavedPart::Value(value) => access.encode(*value, out),
            SavedPart::Items(items) => items.encode_items(out),
            SavedPart::Text(text) => encode_text(text, out),
        }
    }
}

/// A slice of elements of any type.
pub trait EncodeItems {
    /// Writes a list of the elements.
    fn encode_items(&self, out: &mut Encoder<'_>) -> Result<(), Stop>;

    /// Visits the elements.
    fn visit_items(&self, visitor: &mut Visitor<'_>) -> Result<(), Error>;
}

impl<T: Persist> EncodeItems for &[T] {
    fn encode_items(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode(self, out)
    }

    fn visit_items(&self, visitor: &mut Visitor<'_>) -> Result<(), Error> {
        let mut items = self.iter();
        visitor.each(&mut |visitor| Some(items.next()?.__visit_shared(visitor)))
    }
}

impl<T: Persist> EncodeItems for &mut [T] {
    fn encode_items(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode(self, out)
    }

    fn visit_items(&self, visitor: &mut Visitor<'_>) -> Result<(), Error> {
        (&**self).visit_items(visitor)
    }
}

/// Implemented by the type of a field for the same type of the part in its place.
#[diagnostic::on_unimplemented(
    message = "the field of the owned struct is a `{Self}`, and this part of it a `{Part}`",
    label = "a part of another type",
    note = "a part is a `&T`, a `&mut T` or a `T` for a field of type `T`, a `&[T]` for a `Vec<T>`, or a `&str` for a `String`"
)]
pub trait IsType<Part> {}

impl<T> IsType<T> for T {}

/// Compiles if the field has the type of the part.
pub fn same_type<Part, Field: IsType<Part>>(_: &Field) {}

/// True if the field of this index is stored as its own type.
#[must_use]
pub const fn is_plain(rows: &[&[FieldCodec]], field: usize) -> bool {
    rows.is_empty() || field >= rows[0].len() || rows[0][field].is_plain()
}

/// A mismatch of the parts with a class: the index of the first wrong part, or their number if there are too few, and a
/// message.
pub struct Fault {
    at: usize,
    message: [u8; 400],
    len: usize,
}

impl Fault {
    /// Compares the names of the parts with the fields of the owned class, whose name is `owned`.
    #[must_use]
    pub const fn find(owned: &str, fields: &[(&str, FieldStep)], parts: &[&str]) -> Self {
        let (mut field, mut part) = (0, 0);
        loop {
            while field < fields.len() && matches!(fields[field].1, FieldStep::Skipped) {
                field += 1;
            }
            if field < fields.len()
                && part < parts.len()
                && is_same_name(fields[field].0, parts[part])
            {
                field += 1;
                part += 1;
                continue;
            }
            let fault = Self { at: part, message: [0; 400], len: 0 };
            if field == fields.len() && part == parts.len() {
                return Self { at: usize::MAX, ..fault };
            }
            if part < parts.len() {
                let place = position(fields, parts[part]);
                if place == fields.len() || field == fields.len() {
                    // The compiler reports the missing field itself, with more detail.
                    return Self { at: usize::MAX, ..fault };
                }
                if matches!(fields[place].1, FieldStep::Skipped) {
                    let fault = fault.with("`").with(owned).with("` does not save its field `");
                    return fault
                        .with(parts[part])
                        .with("`; remove it here, or mark it `#[persist(skip)]`");
                }
            }
            // A field that comes later is out of order, not missing.
            let mut later = part;
            while later < parts.len() && !is_same_name(fields[field].0, parts[later]) {
                later += 1;
            }
            let fault = fault.with("the field `").with(fields[field].0).with("` of `").with(owned);
            return if later < parts.len() {
                let fault = fault.with("` comes before `").with(parts[part]);
                fault.with("` there; put the parts in the order of its fields")
            } else {
                fault.with("` is missing here; add it, since all stored fields are saved")
            };
        }
    }

    /// True if the part of this index is the wrong one.
    #[must_use]
    pub const fn is_at(&self, part: usize) -> bool {
        self.at == part
    }

    /// Returns the message.
    #[must_use]
    pub const fn message(&self) -> &str {
        let (message, _) = self.message.split_at(self.len);
        match std::str::from_utf8(message) {
            Ok(message) => message,
            // The message was cut inside of a character.
            Err(_) => "the parts are not the stored fields of the owned struct, in their order",
        }
    }

    const fn with(mut self, text: &str) -> Self {
        let text = text.as_bytes();
        let mut i = 0;
        while i < text.len() && self.len < self.message.len() {
            self.message[self.len] = text[i];
            self.len += 1;
            i += 1;
        }
        self
    }
}

/// Returns the index of a field; the number of fields if none has this name.
const fn position(fields: &[(&str, FieldStep)], name: &str) -> usize {
    let mut i = 0;
    while i < fields.len() && !is_same_name(fields[i].0, name) {
        i += 1;
    }
    i
}
