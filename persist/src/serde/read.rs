//! The bytes of an [`Any`] as a document of serde, without one in memory.
//!
//! Types may do with a value what they like: leave it, or refuse it and go on with another one. So each place that hands
//! one out afterwards stands behind it, whatever became of it: see [`AnyReader::passed`].

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::SerdeError;
use super::any::{Any, tag};
use crate::codec::{Decoder, Fail, compact, count};

/// What has been read so far.
pub(super) struct Reading<'r, 'a> {
    input: &'r mut Decoder<'a>,
    /// The fault of the bytes, if there is one: no type may go on after that.
    fail: Option<Fail>,
    /// How many values have been begun.
    begun: u64,
    /// A value that was begun has been refused, so that the place in the bytes is anywhere in it.
    is_lost: bool,
    /// Where the outermost value of those began.
    lost: &'a [u8],
    /// For how many items there is room before they are read: together no more than there are bytes.
    room: usize,
}

impl<'r, 'a> Reading<'r, 'a> {
    pub(super) fn new(input: &'r mut Decoder<'a>) -> Self {
        let room = input.rest().len();
        Self { input, fail: None, begun: 0, is_lost: false, lost: &[], room }
    }

    /// Reads a value, and says what is wrong with the bytes, or else what the type says.
    pub(super) fn read<T: serde::de::DeserializeOwned>(
        mut self,
    ) -> Result<Result<T, SerdeError>, Fail> {
        let result = AnyReader { reading: &mut self }.passed(|reader| T::deserialize(reader));
        match self.fail {
            Some(fail) => Err(fail),
            None => Ok(result),
        }
    }

    /// Notes a fault of the bytes.
    #[cold]
    fn failed(&mut self, fail: Fail) -> SerdeError {
        self.fail.get_or_insert(fail);
        SerdeError::custom("the bytes are damaged")
    }

    #[inline]
    fn ok<T>(&mut self, result: Result<T, Fail>) -> Result<T, SerdeError> {
        match result {
            Ok(value) => Ok(value),
            Err(fail) => Err(self.failed(fail)),
        }
    }

    #[inline]
    fn take<const N: usize>(&mut self) -> Result<[u8; N], SerdeError> {
        match self.input.rest().first_chunk() {
            Some(bytes) => {
                let taken = self.input.take(N).map(drop);
                self.ok(taken)?;
                Ok(*bytes)
            }
            None => Err(self.failed(Fail::End)),
        }
    }

    #[inline]
    fn count(&mut self) -> Result<u64, SerdeError> {
        let count = count::decode(self.input);
        self.ok(count)
    }

    /// The number of items that take a byte or more each.
    #[inline]
    fn len(&mut self) -> Result<usize, SerdeError> {
        let count = self.count()?;
        match usize::try_from(count) {
            Ok(count) if count <= self.input.rest().len() => Ok(count),
            _ => Err(self.failed(Fail::Count)),
        }
    }

    fn bytes(&mut self) -> Result<&'a [u8], SerdeError> {
        let len = self.len()?;
        let bytes = self.input.take(len);
        self.ok(bytes)
    }

    #[inline]
    fn text(&mut self) -> Result<&'a str, SerdeError> {
        let bytes = self.bytes()?;
        if bytes.len() as u64 > count::SHORT && bytes.len() > self.input.limits().text {
            return Err(self.failed(Fail::Limit));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text),
            Err(_) => Err(self.failed(Fail::Text)),
        }
    }

    /// Stands behind a value that was refused, if the type goes on nevertheless.
    #[inline]
    fn resume(&mut self) -> Result<(), SerdeError> {
        if self.is_lost { self.pass_from(self.lost) } else { Ok(()) }
    }

    /// Stands behind the value that begins here.
    #[cold]
    fn pass_from(&mut self, start: &'a [u8]) -> Result<(), SerdeError> {
        if self.fail.is_some() {
            return Err(SerdeError::custom("the bytes are damaged"));
        }
        self.is_lost = false;
        self.input.go_back(start);
        self.skip()
    }

    /// Passes a value.
    fn skip(&mut self) -> Result<(), SerdeError> {
        let any = self.input.value::<Any>().map(drop);
        self.ok(any)
    }

    /// The value that comes next, to say what it is.
    #[cold]
    fn unexpected(&mut self, expected: &dyn serde::de::Expected) -> SerdeError {
        let before = self.input.rest();
        let any = self.input.value::<Any>();
        self.input.go_back(before);
        match any {
            Ok(any) => SerdeError::invalid_type(any.unexpected(), expected),
            Err(fail) => self.failed(fail),
        }
    }
}

/// The next value.
pub(super) struct AnyReader<'s, 'r, 'a> {
    reading: &'s mut Reading<'r, 'a>,
}

impl<'s, 'r, 'a> AnyReader<'s, 'r, 'a> {
    /// Hands the value out, one level further in, and then stands behind it.
    #[inline]
    fn passed<T>(
        self,
        read: impl FnOnce(AnyReader<'_, 'r, 'a>) -> Result<T, SerdeError>,
    ) -> Result<T, SerdeError> {
        let reading = self.reading;
        let (start, begun) = (reading.input.rest(), reading.begun);
        let level = reading.input.descend();
        reading.ok(level)?;
        let result = read(AnyReader { reading });
        reading.input.ascend();
        match result {
            Ok(value) => {
                if reading.is_lost || reading.begun == begun {
                    reading.pass_from(start)?;
                }
                Ok(value)
            }
            Err(error) => {
                (reading.is_lost, reading.lost) = (true, start);
                Err(error)
            }
        }
    }

    fn any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        let reading = self.reading;
        reading.begun += 1;
        let [tag] = reading.take()?;
        match tag {
            tag::UNIT => visitor.visit_unit(),
            tag::BOOL => match reading.take()? {
                [0] => visitor.visit_bool(false),
                [1] => visitor.visit_bool(true),
                _ => Err(reading.failed(Fail::Value)),
            },
            tag::UNSIGNED => visitor.visit_u64(reading.count()?),
            tag::NEGATIVE => visitor.visit_i64(compact::unzigzag(reading.count()?)),
            tag::WIDE => visitor.visit_i128(i128::from_le_bytes(reading.take()?)),
            tag::HUGE => visitor.visit_u128(u128::from_le_bytes(reading.take()?)),
            tag::F32 => visitor.visit_f32(f32::from_le_bytes(reading.take()?)),
            tag::F64 => visitor.visit_f64(f64::from_le_bytes(reading.take()?)),
            tag::CHAR => match char::from_u32(u32::from_le_bytes(reading.take()?)) {
                Some(value) => visitor.visit_char(value),
                None => Err(reading.failed(Fail::Value)),
            },
            tag::TEXT => visitor.visit_borrowed_str(reading.text()?),
            tag::BYTES => visitor.visit_borrowed_bytes(reading.bytes()?),
            tag::NONE => visitor.visit_none(),
            tag::SOME => AnyReader { reading }.passed(|reader| visitor.visit_some(reader)),
            tag::LIST => {
                let mut items = ReadItems::new(reading)?;
                let value = visitor.visit_seq(&mut items)?;
                items.end("in sequence")?;
                Ok(value)
            }
            tag::MAP | tag::STRUCT => {
                let items = ReadItems::new(reading)?;
                let mut entries = ReadEntries { items, is_struct: tag == tag::STRUCT };
                let value = visitor.visit_map(&mut entries)?;
                entries.items.end("in map")?;
                Ok(value)
            }
            tag::VARIANT | tag::CONTENT => {
                let variant = reading.text()?;
                enumerated(reading, variant, tag == tag::CONTENT, visitor)
            }
            _ => Err(reading.failed(Fail::Value)),
        }
    }
}

/// A variant of an enum, with content or without.
fn enumerated<'a, V: Visitor<'a>>(
    reading: &mut Reading<'_, 'a>,
    variant: &'a str,
    has_content: bool,
    visitor: V,
) -> Result<V::Value, SerdeError> {
    let mut is_left = has_content;
    let value =
        visitor.visit_enum(Variant { reading, variant, has_content, is_left: &mut is_left })?;
    reading.resume()?;
    if is_left {
        reading.skip()?;
    }
    Ok(value)
}

impl<'a> Deserializer<'a> for AnyReader<'_, '_, 'a> {
    type Error = SerdeError;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        let reading = self.reading;
        let result = AnyReader { reading }.any(visitor);
        reading.is_lost |= result.is_err();
        result
    }

    /// A field that was none yet when it was saved, or that no longer is.
    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self.reading.input.rest().first() {
            // A field has become optional.
            Some(&tag) if tag != tag::NONE && tag != tag::SOME => visitor.visit_some(self),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        let reading = self.reading;
        match reading.input.rest().first() {
            // Of a type that names its variants by itself.
            Some(&tag::TEXT) => {
                reading.begun += 1;
                let result = reading.take::<1>().and_then(|_| reading.text());
                let result =
                    result.and_then(|variant| enumerated(reading, variant, false, visitor));
                reading.is_lost |= result.is_err();
                result
            }
            None | Some(&(tag::VARIANT | tag::CONTENT)) => {
                AnyReader { reading }.deserialize_any(visitor)
            }
            Some(_) => Err(reading.unexpected(&"a variant of an enum")),
        }
    }

    /// A value that nobody asks for: what serde has for those takes each variant for one with content.
    fn deserialize_ignored_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        self.reading.begun += 1;
        self.reading.skip()?;
        visitor.visit_unit()
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    forward_to_deserialize_any! {
        <V: Visitor<'a>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier
    }
}

/// ReadItems of a list, of which none is left in the end.
struct ReadItems<'s, 'r, 'a> {
    reading: &'s mut Reading<'r, 'a>,
    left: usize,
    count: usize,
    /// For how many there is room before they are read.
    room: usize,
    /// The value of an entry comes next, and its key has been read.
    has_value: bool,
}

impl<'s, 'r, 'a> ReadItems<'s, 'r, 'a> {
    fn new(reading: &'s mut Reading<'r, 'a>) -> Result<Self, SerdeError> {
        let left = reading.len()?;
        let room = left.min(reading.room);
        reading.room -= room;
        Ok(Self { reading, left, count: 0, room, has_value: false })
    }

    fn value(&mut self) -> AnyReader<'_, 'r, 'a> {
        AnyReader { reading: self.reading }
    }

    /// Goes to the next item, if there is one.
    #[inline]
    fn next(&mut self) -> Result<bool, SerdeError> {
        self.reading.resume()?;
        if std::mem::take(&mut self.has_value) {
            self.reading.skip()?;
        }
        let is_there = self.left > 0;
        self.left -= usize::from(is_there);
        self.count += usize::from(is_there);
        Ok(is_there)
    }

    /// Checks that there are no more.
    fn end(&mut self, place: &str) -> Result<(), SerdeError> {
        if self.left == 0 {
            return self.next().map(drop);
        }
        let (all, count) = (self.left + self.count, self.count);
        let noun = if count == 1 { "element" } else { "elements" };
        Err(SerdeError::invalid_length(all, &&*format!("{count} {noun} {place}")))
    }
}

impl<'a> SeqAccess<'a> for &mut ReadItems<'_, '_, 'a> {
    type Error = SerdeError;

    fn next_element_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, SerdeError> {
        if !self.next()? {
            return Ok(None);
        }
        self.value().passed(|reader| seed.deserialize(reader)).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.min(self.room))
    }
}

/// ReadEntries of a map, or fields of a struct by their names.
struct ReadEntries<'s, 'r, 'a> {
    items: ReadItems<'s, 'r, 'a>,
    is_struct: bool,
}

impl<'a> MapAccess<'a> for &mut ReadEntries<'_, '_, 'a> {
    type Error = SerdeError;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, SerdeError> {
        if !self.items.next()? {
            return Ok(None);
        }
        let key = if self.is_struct {
            let name = self.items.reading.text()?;
            self.items.has_value = true;
            seed.deserialize(BorrowedStrDeserializer::new(name))
        } else {
            self.items.has_value = true;
            self.items.value().passed(|reader| seed.deserialize(reader))
        };
        key.map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, SerdeError> {
        self.items.reading.resume()?;
        if !std::mem::take(&mut self.items.has_value) {
            return Err(SerdeError::custom("a type reads the value of an entry before its key"));
        }
        self.items.value().passed(|reader| seed.deserialize(reader))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.left.min(self.items.room))
    }
}

impl Any {
    fn unexpected(&self) -> Unexpected<'_> {
        match self {
            Self::Unit => Unexpected::Unit,
            Self::Bool(value) => Unexpected::Bool(*value),
            Self::Unsigned(number) => Unexpected::Unsigned(*number),
            Self::Negative(number) => Unexpected::Signed(*number),
            Self::Wide(_) | Self::Huge(_) => Unexpected::Other("an integer of 128 bits"),
            Self::F32(number) => Unexpected::Float((*number).into()),
            Self::F64(number) => Unexpected::Float(*number),
            Self::Char(value) => Unexpected::Char(*value),
            Self::Text(text) => Unexpected::Str(text),
            Self::Bytes(bytes) => Unexpected::Bytes(bytes),
            Self::None | Self::Some(_) => Unexpected::Option,
            Self::List(_) => Unexpected::Seq,
            Self::Map(_) => Unexpected::Map,
            Self::Struct(_) => Unexpected::Other("a struct"),
            Self::Variant(_) | Self::Content(..) => Unexpected::Enum,
        }
    }
}

/// A variant, whose content comes next if it has some.
struct Variant<'s, 'r, 'a> {
    reading: &'s mut Reading<'r, 'a>,
    variant: &'a str,
    has_content: bool,
    /// Whether nobody has read the content.
    is_left: &'s mut bool,
}

impl<'s, 'r, 'a> EnumAccess<'a> for Variant<'s, 'r, 'a> {
    type Error = SerdeError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'a>>(self, seed: V) -> Result<(V::Value, Self), SerdeError> {
        let variant = seed.deserialize(BorrowedStrDeserializer::new(self.variant))?;
        Ok((variant, self))
    }
}

impl<'s, 'r, 'a> Variant<'s, 'r, 'a> {
    fn content(self) -> Result<AnyReader<'s, 'r, 'a>, SerdeError> {
        if !self.has_content {
            let expected = &"a variant with content";
            return Err(SerdeError::invalid_type(Unexpected::UnitVariant, expected));
        }
        *self.is_left = false;
        Ok(AnyReader { reading: self.reading })
    }
}

impl<'a> VariantAccess<'a> for Variant<'_, '_, 'a> {
    type Error = SerdeError;

    fn unit_variant(self) -> Result<(), SerdeError> {
        if self.has_content {
            return Err(self.reading.unexpected(&"a variant without content"));
        }
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'a>>(self, seed: T) -> Result<T::Value, SerdeError> {
        self.content()?.passed(|reader| seed.deserialize(reader))
    }

    fn tuple_variant<V: Visitor<'a>>(self, _: usize, visitor: V) -> Result<V::Value, SerdeError> {
        self.content()?.passed(|reader| reader.deserialize_any(visitor))
    }

    fn struct_variant<V: Visitor<'a>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        self.content()?.passed(|reader| reader.deserialize_any(visitor))
    }
}
