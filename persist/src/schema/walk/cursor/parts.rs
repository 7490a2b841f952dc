//! Parts of a value, read or passed one after another.

use super::Cursor;
use crate::Result;
use crate::codec::{Fail, count};
use crate::schema::{FieldSchema, Form, KindSchema, fault, tag};
use crate::value::Value;

/// The parts that a value consists of.
pub(crate) enum CursorParts<'s> {
    /// The content of an option that has one.
    Content,
    Elements {
        len: usize,
        is_set: bool,
    },
    /// Keys and values of a map with this number of them.
    Entries(usize),
    Tuple(usize),
    Fields {
        class: &'s str,
        variant: Option<&'s str>,
        fields: &'s [FieldSchema],
    },
}

impl<'s, 'b> Cursor<'s, 'b> {
    /// Makes the bytes those of a key of the map that it is at; `None` if it is none.
    pub(crate) fn of_key(self) -> Option<Self> {
        matches!(self.kind(), KindSchema::Map(_)).then(|| Self { node: self.part(), ..self })
    }

    /// At a value of the same kind, in other bytes.
    pub(crate) fn over<'o>(&self, bytes: &'o [u8]) -> Cursor<'s, 'o> {
        Cursor { stored: self.stored, node: self.node, bytes, start: 0 }
    }

    pub(crate) fn is_set(&self) -> bool {
        matches!(self.kind(), KindSchema::Set(_))
    }

    pub(crate) fn is_byte(&self) -> bool {
        matches!(self.kind(), KindSchema::U8)
    }

    /// Reads the part, and goes to its end.
    pub(crate) fn pass(&mut self) -> Result<Value> {
        let (value, range) = self.read()?;
        self.start = range.end;
        Ok(value)
    }

    /// Goes to the first part of the value that it is at. `None` for a value without parts, and for a trait object.
    pub(crate) fn open_parts(&mut self) -> Result<Option<CursorParts<'s>>> {
        let stored = self.stored;
        let count = |this: &mut Self| {
            usize::try_from(this.take(count::decode)?).map_err(|_| fault(Fail::Count))
        };
        let parts = match self.kind() {
            KindSchema::Class(class) => {
                let known = &stored[*class];
                if let Form::Value(_) = known.form {
                    self.node = stored.first(*class, 0);
                    return self.open_parts();
                }
                let (mut tag_of, mut variant) = (0, None);
                if let Form::Enum(variants) = &known.form {
                    tag_of = self.take(|input| tag(&known.form, input))?;
                    variant = variants.get(tag_of).map(|variant| &*variant.name);
                }
                let (class, name) = (*class, &*known.name);
                self.node = stored.first(class, tag_of);
                let fields = stored.fields(class, tag_of);
                return Ok(Some(CursorParts::Fields { class: name, variant, fields }));
            }
            KindSchema::Option(_) if self.rest().first() == Some(&1) => {
                self.start += 1;
                CursorParts::Content
            }
            KindSchema::List(_) => CursorParts::Elements { len: count(self)?, is_set: false },
            KindSchema::Set(_) => CursorParts::Elements { len: count(self)?, is_set: true },
            KindSchema::Array(_, len) => CursorParts::Elements { len: *len, is_set: false },
            KindSchema::Map(_) => CursorParts::Entries(count(self)?),
            KindSchema::Tuple(parts) => CursorParts::Tuple(parts.len()),
            _ => return Ok(None),
        };
        self.node = self.part();
        Ok(Some(parts))
    }

    /// At the part of this index, by its node, where the part before it ends.
    pub(crate) fn part_at(self, index: usize) -> Self {
        Self { node: self.node + index, ..self }
    }

    /// Goes to the place of a cursor over the same bytes.
    pub(crate) fn go_after(&mut self, part: &Self) {
        self.start = part.start;
    }

    /// Passes that many elements.
    pub(crate) fn pass_elements(&mut self, count: usize) -> Result<()> {
        self.skip_many(self.node, count as u64)
    }

    /// Passes that many entries of a map.
    pub(crate) fn pass_entries(&mut self, count: usize) -> Result<()> {
        (0..count).try_for_each(|_| {
            self.skip(self.node)?;
            self.skip(self.node + 1)
        })
    }
}
