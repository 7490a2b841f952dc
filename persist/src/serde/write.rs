//! Serializes a value to the bytes of an [`Any`](super::Any), without one in memory.

use serde::Serialize;
use serde::ser::{
    Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::{SerdeError, Tag};
use crate::codec::text::copy;
use crate::codec::{compact, count};

type Written = Result<(), SerdeError>;

/// The bytes that are written but not passed on yet.
pub(super) struct AnyBytes<'b> {
    bytes: Vec<u8>,
    /// Takes bytes that no longer change; false if they were refused.
    pass_on: &'b mut dyn FnMut(&[u8]) -> bool,
    /// Number of calls of `pass_on`.
    passed: u64,
    /// Number of open lists, maps and structs whose number of items may still change.
    unsettled: usize,
    /// Length of the longest text, in bytes.
    longest_text: usize,
}

/// Number of bytes from which on final bytes are passed on. More bytes would leave the first-level cache before they
/// are copied, and take as much memory as the save.
const CHUNK: usize = 16 << 10;

/// Length of a text or name that is copied in a fixed number of steps.
const SHORT_TEXT: usize = 32;

impl<'b> AnyBytes<'b> {
    pub(super) fn new(pass_on: &'b mut dyn FnMut(&[u8]) -> bool) -> Self {
        Self { bytes: Vec::new(), pass_on, passed: 0, unsettled: 0, longest_text: 0 }
    }

    /// Passes on the remaining bytes, and returns the length of the longest text.
    pub(super) fn finish(mut self) -> Result<usize, SerdeError> {
        self.pass()?;
        Ok(self.longest_text)
    }

    #[cold]
    fn pass(&mut self) -> Written {
        self.passed += 1;
        let is_accepted = (self.pass_on)(&self.bytes);
        self.bytes.clear();
        // The receiver of the bytes knows the reason.
        if is_accepted { Ok(()) } else { Err(SerdeError::custom("the bytes were refused")) }
    }

    /// Appends the bytes that a function writes to the front of `N` bytes; it returns their number. Copies of fixed
    /// lengths need no call.
    #[inline(always)]
    fn put<const N: usize>(&mut self, write: impl FnOnce(&mut [u8; N]) -> usize) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; N]);
        let len = self.bytes[start..].first_chunk_mut().map_or(0, write);
        self.bytes.truncate(start + len);
    }

    /// Appends a tag and a count.
    #[inline(always)]
    fn tagged(&mut self, tag: u8, count: u64) {
        self.put::<10>(|to| {
            to[0] = tag;
            1 + count::store(count, &mut to[1..])
        });
    }

    /// Appends a text or a name.
    #[inline(always)]
    fn text(&mut self, text: &str) {
        match u8::try_from(text.len()) {
            Ok(len) if text.len() <= SHORT_TEXT => {
                self.put::<{ 1 + SHORT_TEXT }>(|to| {
                    to[0] = len;
                    copy(&mut to[1..=text.len()], text.as_bytes());
                    1 + text.len()
                });
            }
            _ => self.long_text(text),
        }
    }

    #[inline(never)]
    fn long_text(&mut self, text: &str) {
        self.longest_text = self.longest_text.max(text.len());
        self.run(text.as_bytes());
    }

    fn run(&mut self, bytes: &[u8]) {
        count::push(bytes.len() as u64, &mut self.bytes);
        self.bytes.extend_from_slice(bytes);
    }
}

#[cold]
fn depth_exceeded() -> SerdeError {
    SerdeError::custom("the value is nested deeper than `Limits::depth`; raise it")
}

/// Appends a value to the output, within a limit of depth.
pub(super) struct AnyWriter<'o, 'b> {
    out: &'o mut AnyBytes<'b>,
    depth: u32,
}

impl<'o, 'b> AnyWriter<'o, 'b> {
    pub(super) fn new(out: &'o mut AnyBytes<'b>, depth: u32) -> Self {
        Self { out, depth }
    }

    /// Returns a writer one level of nesting further in.
    #[inline(always)]
    fn inner(&mut self) -> Result<AnyWriter<'_, 'b>, SerdeError> {
        match self.depth.checked_sub(1) {
            Some(depth) => Ok(AnyWriter { out: self.out, depth }),
            None => Err(depth_exceeded()),
        }
    }

    #[inline]
    fn tag(&mut self, tag: u8) {
        self.out.bytes.push(tag);
    }

    /// Appends a tag and the bytes of a number.
    #[inline(always)]
    fn number<const N: usize>(mut self, tag: u8, bytes: [u8; N]) -> Written {
        self.tag(tag);
        self.out.bytes.extend_from_slice(&bytes);
        Ok(())
    }

    /// Appends an integer in the variant that holds it.
    fn integer(self, number: i128) -> Written {
        match (u64::try_from(number), i64::try_from(number)) {
            (Ok(number), _) => self.serialize_u64(number),
            (_, Ok(number)) => self.serialize_i64(number),
            _ => self.number(Tag::WIDE, number.to_le_bytes()),
        }
    }

    #[inline]
    fn variant(&mut self, variant: &str) {
        self.tag(Tag::CONTENT);
        self.out.text(variant);
    }

    /// Begins a list, map or struct. The length that serde gives is a guess, and may be missing.
    #[inline]
    fn many(
        mut self,
        tag: u8,
        len: Option<usize>,
        is_counted: bool,
    ) -> Result<ManyWriter<'o, 'b>, SerdeError> {
        let depth = self.inner()?.depth;
        let start = self.out.bytes.len() + 1;
        let guess = len.unwrap_or(0);
        self.out.tagged(tag, guess as u64);
        let begin = self.out.bytes.len();
        self.out.unsettled += usize::from(!is_counted);
        let passed = self.out.passed;
        let writer = Self { out: self.out, depth };
        Ok(ManyWriter { writer, start, begin, guess, items: 0, is_counted, passed })
    }
}

impl<'o, 'b> Serializer for AnyWriter<'o, 'b> {
    type Ok = ();
    type Error = SerdeError;
    type SerializeSeq = ManyWriter<'o, 'b>;
    type SerializeTuple = ManyWriter<'o, 'b>;
    type SerializeTupleStruct = ManyWriter<'o, 'b>;
    type SerializeTupleVariant = ManyWriter<'o, 'b>;
    type SerializeMap = MapWriter<'o, 'b>;
    type SerializeStruct = ManyWriter<'o, 'b>;
    type SerializeStructVariant = ManyWriter<'o, 'b>;

    #[inline]
    fn serialize_u64(self, number: u64) -> Written {
        self.out.tagged(Tag::UNSIGNED, number);
        Ok(())
    }

    #[inline]
    fn serialize_i64(self, number: i64) -> Written {
        match u64::try_from(number) {
            Ok(number) => self.out.tagged(Tag::UNSIGNED, number),
            Err(_) => self.out.tagged(Tag::NEGATIVE, compact::zigzag(number)),
        }
        Ok(())
    }

    #[inline]
    fn serialize_u8(self, number: u8) -> Written {
        self.serialize_u64(number.into())
    }

    #[inline]
    fn serialize_u16(self, number: u16) -> Written {
        self.serialize_u64(number.into())
    }

    #[inline]
    fn serialize_u32(self, number: u32) -> Written {
        self.serialize_u64(number.into())
    }

    #[inline]
    fn serialize_i8(self, number: i8) -> Written {
        self.serialize_i64(number.into())
    }

    #[inline]
    fn serialize_i16(self, number: i16) -> Written {
        self.serialize_i64(number.into())
    }

    #[inline]
    fn serialize_i32(self, number: i32) -> Written {
        self.serialize_i64(number.into())
    }

    fn serialize_i128(self, number: i128) -> Written {
        self.integer(number)
    }

    fn serialize_u128(self, number: u128) -> Written {
        match i128::try_from(number) {
            Ok(number) => self.integer(number),
            Err(_) => self.number(Tag::HUGE, number.to_le_bytes()),
        }
    }

    #[inline]
    fn serialize_bool(self, value: bool) -> Written {
        self.number(Tag::BOOL, [value.into()])
    }

    #[inline]
    fn serialize_f32(self, number: f32) -> Written {
        self.number(Tag::F32, number.to_le_bytes())
    }

    #[inline]
    fn serialize_f64(self, number: f64) -> Written {
        self.number(Tag::F64, number.to_le_bytes())
    }

    #[inline]
    fn serialize_char(self, value: char) -> Written {
        self.number(Tag::CHAR, u32::from(value).to_le_bytes())
    }

    #[inline]
    fn serialize_str(mut self, text: &str) -> Written {
        self.tag(Tag::TEXT);
        self.out.text(text);
        Ok(())
    }

    fn serialize_bytes(mut self, bytes: &[u8]) -> Written {
        self.tag(Tag::BYTES);
        self.out.run(bytes);
        Ok(())
    }

    #[inline]
    fn serialize_none(mut self) -> Written {
        self.tag(Tag::NONE);
        Ok(())
    }

    #[inline]
    fn serialize_some<T: ?Sized + Serialize>(mut self, value: &T) -> Written {
        self.tag(Tag::SOME);
        value.serialize(self.inner()?)
    }

    #[inline]
    fn serialize_unit(mut self) -> Written {
        self.tag(Tag::UNIT);
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Written {
        self.serialize_unit()
    }

    #[inline]
    fn serialize_unit_variant(mut self, _: &'static str, _: u32, variant: &'static str) -> Written {
        self.tag(Tag::VARIANT);
        self.out.text(variant);
        Ok(())
    }

    #[inline]
    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        mut self,
        _: &'static str,
        value: &T,
    ) -> Written {
        value.serialize(self.inner()?)
    }

    #[inline]
    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        mut self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Written {
        self.variant(variant);
        value.serialize(self.inner()?)
    }

    #[inline]
    fn serialize_seq(self, len: Option<usize>) -> Result<ManyWriter<'o, 'b>, SerdeError> {
        self.many(Tag::LIST, len, len.is_some())
    }

    #[inline]
    fn serialize_tuple(self, len: usize) -> Result<ManyWriter<'o, 'b>, SerdeError> {
        self.many(Tag::LIST, Some(len), false)
    }

    #[inline]
    fn serialize_tuple_struct(
        self,
        _: &'static str,
        len: usize,
    ) -> Result<ManyWriter<'o, 'b>, SerdeError> {
        self.many(Tag::LIST, Some(len), false)
    }

    #[inline]
    fn serialize_tuple_variant(
        mut self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<ManyWriter<'o, 'b>, SerdeError> {
        self.variant(variant);
        self.many(Tag::LIST, Some(len), false)
    }

    #[inline]
    fn serialize_map(self, len: Option<usize>) -> Result<MapWriter<'o, 'b>, SerdeError> {
        Ok(MapWriter { entries: self.many(Tag::MAP, len, len.is_some())?, has_key: false })
    }

    #[inline]
    fn serialize_struct(
        self,
        _: &'static str,
        len: usize,
    ) -> Result<ManyWriter<'o, 'b>, SerdeError> {
        self.many(Tag::STRUCT, Some(len), false)
    }

    #[inline]
    fn serialize_struct_variant(
        mut self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<ManyWriter<'o, 'b>, SerdeError> {
        self.variant(variant);
        self.many(Tag::STRUCT, Some(len), false)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// Writes items, entries or fields, one after the other.
pub(super) struct ManyWriter<'o, 'b> {
    writer: AnyWriter<'o, 'b>,
    /// Positions of the number of items, and of the first item.
    start: usize,
    begin: usize,
    /// Expected and actual number of items.
    guess: usize,
    items: usize,
    /// True if the type knows the number of items, so that they can be passed on before the last one is written. For
    /// structs with a hand-written `Serialize`, the number of fields is often wrong.
    is_counted: bool,
    /// Number of calls of `pass_on` before the first item.
    passed: u64,
}

impl ManyWriter<'_, '_> {
    #[inline]
    fn item<T: ?Sized + Serialize>(&mut self, item: &T) -> Written {
        self.items += 1;
        item.serialize(self.writer.inner()?)?;
        let out = &mut *self.writer.out;
        if self.is_counted && out.bytes.len() >= CHUNK && out.unsettled == 0 {
            out.pass()?;
        }
        Ok(())
    }

    #[inline]
    fn named<T: ?Sized + Serialize>(&mut self, name: &str, field: &T) -> Written {
        self.writer.out.text(name);
        self.item(field)
    }

    #[inline]
    fn finish(self) -> Written {
        self.writer.out.unsettled -= usize::from(!self.is_counted);
        if self.items == self.guess { Ok(()) } else { self.correct() }
    }

    /// Replaces the expected number of items by the actual one.
    #[cold]
    fn correct(self) -> Written {
        let Self { writer, start, begin, guess, items, passed, .. } = self;
        if writer.out.passed != passed {
            return Err(SerdeError::custom(format_args!(
                "a long list or map says that it has {guess} items, and gives {items}"
            )));
        }
        let mut number = Vec::new();
        count::push(items as u64, &mut number);
        writer.out.bytes.splice(start..begin, number);
        Ok(())
    }
}

macro_rules! items {
    ($($of:ident: $add:ident),*) => {$(
        impl $of for ManyWriter<'_, '_> {
            type Ok = ();
            type Error = SerdeError;

            #[inline]
            fn $add<T: ?Sized + Serialize>(&mut self, item: &T) -> Written {
                self.item(item)
            }

            #[inline]
            fn end(self) -> Written {
                self.finish()
            }
        }
    )*};
}

items! {
    SerializeSeq: serialize_element, SerializeTuple: serialize_element, SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field
}

macro_rules! fields {
    ($($of:ident),*) => {$(
        impl $of for ManyWriter<'_, '_> {
            type Ok = ();
            type Error = SerdeError;

            #[inline]
            fn serialize_field<T: ?Sized + Serialize>(
                &mut self,
                name: &'static str,
                field: &T,
            ) -> Written {
                self.named(name, field)
            }

            #[inline]
            fn end(self) -> Written {
                self.finish()
            }
        }
    )*};
}

fields! { SerializeStruct, SerializeStructVariant }

/// Writes the entries of a map.
pub(super) struct MapWriter<'o, 'b> {
    entries: ManyWriter<'o, 'b>,
    has_key: bool,
}

impl SerializeMap for MapWriter<'_, '_> {
    type Ok = ();
    type Error = SerdeError;

    #[inline]
    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Written {
        if std::mem::replace(&mut self.has_key, true) {
            return Err(SerdeError::custom(
                "a map gives a key without the value of the one before",
            ));
        }
        key.serialize(self.entries.writer.inner()?)
    }

    #[inline]
    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Written {
        if !std::mem::take(&mut self.has_key) {
            return Err(SerdeError::custom("a map gives a value without its key"));
        }
        self.entries.item(value)
    }

    #[inline]
    fn end(self) -> Written {
        if self.has_key {
            return Err(SerdeError::custom("a map gives a key without its value"));
        }
        self.entries.finish()
    }
}
