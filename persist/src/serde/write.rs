//! What serde says of a value, as the bytes of an [`Any`](super::any::Any), without one in memory.

use serde::Serialize;
use serde::ser::{
    Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::SerdeError;
use super::any::tag;
use crate::codec::{compact, count};

type Written = Result<(), SerdeError>;

/// What has been written so far.
#[derive(Default)]
pub(super) struct AnyBytes {
    pub(super) bytes: Vec<u8>,
    /// Bytes of the longest text.
    pub(super) longest_text: usize,
}

/// Appends a value to the output, within a limit of depth.
pub(super) struct AnyWriter<'o> {
    out: &'o mut AnyBytes,
    depth: u32,
}

impl<'o> AnyWriter<'o> {
    pub(super) fn new(out: &'o mut AnyBytes, depth: u32) -> Self {
        Self { out, depth }
    }

    /// One level further in.
    fn inner(&mut self) -> Result<AnyWriter<'_>, SerdeError> {
        match self.depth.checked_sub(1) {
            Some(depth) => Ok(AnyWriter { out: self.out, depth }),
            None => {
                Err(SerdeError::custom("the value is nested deeper than `Limits::depth`; raise it"))
            }
        }
    }

    #[inline]
    fn tag(&mut self, tag: u8) {
        self.out.bytes.push(tag);
    }

    /// A text or a name.
    #[inline]
    fn text(&mut self, text: &str) {
        self.out.longest_text = self.out.longest_text.max(text.len());
        self.run(text.as_bytes());
    }

    #[inline]
    fn run(&mut self, bytes: &[u8]) {
        self.count(bytes.len() as u64);
        self.out.bytes.extend_from_slice(bytes);
    }

    #[inline]
    fn count(&mut self, count: u64) {
        count::push(count, &mut self.out.bytes);
    }

    /// A tag, and the bytes of a number.
    fn number<const N: usize>(self, tag: u8, bytes: [u8; N]) -> Written {
        self.out.bytes.push(tag);
        self.out.bytes.extend_from_slice(&bytes);
        Ok(())
    }

    /// An integer in the variant that holds it.
    #[inline]
    fn integer(mut self, number: i128) -> Written {
        match (u64::try_from(number), i64::try_from(number)) {
            (Ok(number), _) => {
                self.tag(tag::UNSIGNED);
                self.count(number);
            }
            (_, Ok(number)) => {
                self.tag(tag::NEGATIVE);
                self.count(compact::zigzag(number));
            }
            _ => return self.number(tag::WIDE, number.to_le_bytes()),
        }
        Ok(())
    }

    fn variant(&mut self, variant: &str) {
        self.tag(tag::CONTENT);
        self.text(variant);
    }

    /// Begins a list, map or struct. What serde says of its length is a guess, and may be none.
    fn many(mut self, tag: u8, len: Option<usize>) -> Result<ManyWriter<'o>, SerdeError> {
        let depth = self.inner()?.depth;
        self.tag(tag);
        let start = self.out.bytes.len();
        let guess = len.unwrap_or(0);
        self.count(guess as u64);
        let begin = self.out.bytes.len();
        let writer = Self { out: self.out, depth };
        Ok(ManyWriter { writer, start, begin, guess, items: 0 })
    }
}

impl<'o> Serializer for AnyWriter<'o> {
    type Ok = ();
    type Error = SerdeError;
    type SerializeSeq = ManyWriter<'o>;
    type SerializeTuple = ManyWriter<'o>;
    type SerializeTupleStruct = ManyWriter<'o>;
    type SerializeTupleVariant = ManyWriter<'o>;
    type SerializeMap = MapWriter<'o>;
    type SerializeStruct = ManyWriter<'o>;
    type SerializeStructVariant = ManyWriter<'o>;

    #[inline]
    fn serialize_u64(mut self, number: u64) -> Written {
        self.tag(tag::UNSIGNED);
        self.count(number);
        Ok(())
    }

    #[inline]
    fn serialize_i64(mut self, number: i64) -> Written {
        match u64::try_from(number) {
            Ok(number) => self.serialize_u64(number),
            Err(_) => {
                self.tag(tag::NEGATIVE);
                self.count(compact::zigzag(number));
                Ok(())
            }
        }
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
            Err(_) => self.number(tag::HUGE, number.to_le_bytes()),
        }
    }

    #[inline]
    fn serialize_bool(self, value: bool) -> Written {
        self.number(tag::BOOL, [value.into()])
    }

    #[inline]
    fn serialize_f32(self, number: f32) -> Written {
        self.number(tag::F32, number.to_le_bytes())
    }

    #[inline]
    fn serialize_f64(self, number: f64) -> Written {
        self.number(tag::F64, number.to_le_bytes())
    }

    fn serialize_char(self, value: char) -> Written {
        self.number(tag::CHAR, u32::from(value).to_le_bytes())
    }

    #[inline]
    fn serialize_str(mut self, text: &str) -> Written {
        self.tag(tag::TEXT);
        self.text(text);
        Ok(())
    }

    fn serialize_bytes(mut self, bytes: &[u8]) -> Written {
        self.tag(tag::BYTES);
        self.run(bytes);
        Ok(())
    }

    fn serialize_none(mut self) -> Written {
        self.tag(tag::NONE);
        Ok(())
    }

    #[inline]
    fn serialize_some<T: ?Sized + Serialize>(mut self, value: &T) -> Written {
        self.tag(tag::SOME);
        value.serialize(self.inner()?)
    }

    fn serialize_unit(mut self) -> Written {
        self.tag(tag::UNIT);
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Written {
        self.serialize_unit()
    }

    fn serialize_unit_variant(mut self, _: &'static str, _: u32, variant: &'static str) -> Written {
        self.tag(tag::VARIANT);
        self.text(variant);
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

    fn serialize_seq(self, len: Option<usize>) -> Result<ManyWriter<'o>, SerdeError> {
        self.many(tag::LIST, len)
    }

    fn serialize_tuple(self, len: usize) -> Result<ManyWriter<'o>, SerdeError> {
        self.many(tag::LIST, Some(len))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        len: usize,
    ) -> Result<ManyWriter<'o>, SerdeError> {
        self.many(tag::LIST, Some(len))
    }

    fn serialize_tuple_variant(
        mut self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<ManyWriter<'o>, SerdeError> {
        self.variant(variant);
        self.many(tag::LIST, Some(len))
    }

    fn serialize_map(self, len: Option<usize>) -> Result<MapWriter<'o>, SerdeError> {
        Ok(MapWriter { entries: self.many(tag::MAP, len)?, has_key: false })
    }

    fn serialize_struct(self, _: &'static str, len: usize) -> Result<ManyWriter<'o>, SerdeError> {
        self.many(tag::STRUCT, Some(len))
    }

    fn serialize_struct_variant(
        mut self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<ManyWriter<'o>, SerdeError> {
        self.variant(variant);
        self.many(tag::STRUCT, Some(len))
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// Items, entries or fields, one after the other.
pub(super) struct ManyWriter<'o> {
    writer: AnyWriter<'o>,
    /// Where their number is, and where they begin.
    start: usize,
    begin: usize,
    /// How many there are to be, and how many there are.
    guess: usize,
    items: usize,
}

impl ManyWriter<'_> {
    #[inline]
    fn item<T: ?Sized + Serialize>(&mut self, item: &T) -> Written {
        self.items += 1;
        item.serialize(self.writer.inner()?)
    }

    #[inline]
    fn named<T: ?Sized + Serialize>(&mut self, name: &str, field: &T) -> Written {
        self.writer.text(name);
        self.item(field)
    }

    #[inline]
    fn finish(self) -> Written {
        if self.items != self.guess {
            let mut number = Vec::new();
            count::push(self.items as u64, &mut number);
            self.writer.out.bytes.splice(self.start..self.begin, number);
        }
        Ok(())
    }
}

macro_rules! items {
    ($($of:ident: $add:ident),*) => {$(
        impl $of for ManyWriter<'_> {
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
        impl $of for ManyWriter<'_> {
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

/// The entries of a map.
pub(super) struct MapWriter<'o> {
    entries: ManyWriter<'o>,
    has_key: bool,
}

impl SerializeMap for MapWriter<'_> {
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

    fn end(self) -> Written {
        if self.has_key {
            return Err(SerdeError::custom("a map gives a key without its value"));
        }
        self.entries.finish()
    }
}
