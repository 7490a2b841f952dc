//! Deserializes the bytes of an [`Any`], without one in memory.
//!
//! A type may leave a value unread, or refuse it and continue with another one. So each place that hands out a value
//! skips the rest of it afterwards: see [`AnyReader::passed`].

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::{Any, SerdeError, Tag};
use crate::codec::text::is_equal;
use crate::codec::{Decoder, Fail, compact, count};

/// Number of names of fields that are remembered.
const NAMES: usize = 32;

/// The state of a read.
pub(super) struct Reading<'r, 'a> {
    /// Source of the bytes and of their depth. It stays at the beginning of the read.
    input: &'r mut Decoder<'a>,
    /// The bytes that are not read yet.
    rest: &'a [u8],
    /// Number of levels of nesting that are left.
    depth: u32,
    /// The fault of the bytes, if there is one. No type may continue after it.
    fail: Option<Fail>,
    /// Number of values that were begun.
    begun: u64,
    /// True if a value that was begun was refused, so that the position in the bytes is somewhere inside of it.
    is_lost: bool,
    /// The bytes from the outermost of the refused values on.
    lost: &'a [u8],
    /// Number of items for which memory may be reserved before they are read. All together they are no more than there
    /// are bytes.
    room: usize,
    /// Names of fields, by a hash of some of their bytes. All elements of a list have the same names, and comparing a
    /// name with the last one takes less time than checking its UTF-8.
    names: [&'a str; NAMES],
}

impl<'r, 'a> Reading<'r, 'a> {
    pub(super) fn new(input: &'r mut Decoder<'a>) -> Self {
        let (rest, depth) = (input.rest(), input.depth());
        let (room, names) = (rest.len(), [""; NAMES]);
        let (fail, begun, is_lost, lost) = (None, 0, false, &rest[..0]);
        Self { input, rest, depth, fail, begun, is_lost, lost, room, names }
    }

    /// Reads a value. The outer error is a fault of the bytes, the inner one a refusal by the type.
    pub(super) fn read<T: serde::de::DeserializeOwned>(
        mut self,
    ) -> Result<Result<T, SerdeError>, Fail> {
        let result = AnyReader { reading: &mut self }.passed(|reader| T::deserialize(reader));
        self.input.go_back(self.rest);
        self.input.set_depth(self.depth);
        match self.fail {
            Some(fail) => Err(fail),
            None => Ok(result),
        }
    }

    /// Records a fault of the bytes.
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
        match self.rest.split_first_chunk() {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(*taken)
            }
            None => Err(self.failed(Fail::End)),
        }
    }

    /// Skips the tag of a value if it is this one, and begins the value.
    #[inline(always)]
    fn begins(&mut self, tag: u8) -> bool {
        match self.rest {
            [found, rest @ ..] if *found == tag => {
                self.rest = rest;
                self.begun += 1;
                true
            }
            _ => false,
        }
    }

    /// Reads with the decoder.
    #[inline]
    fn decoded<T>(
        &mut self,
        decode: impl FnOnce(&mut Decoder<'a>) -> Result<T, Fail>,
    ) -> Result<T, SerdeError> {
        self.input.go_back(self.rest);
        let result = decode(self.input);
        self.rest = self.input.rest();
        self.ok(result)
    }

    #[inline(always)]
    fn count(&mut self) -> Result<u64, SerdeError> {
        match self.rest {
            [count, rest @ ..] if u64::from(*count) <= count::SHORT => {
                self.rest = rest;
                Ok(u64::from(*count))
            }
            _ => self.long_count(),
        }
    }

    #[inline(never)]
    fn long_count(&mut self) -> Result<u64, SerdeError> {
        self.decoded(count::decode)
    }

    /// Reads the number of items, which take at least a byte each.
    #[inline]
    fn len(&mut self) -> Result<usize, SerdeError> {
        let count = self.count()?;
        match usize::try_from(count) {
            Ok(count) if count <= self.rest.len() => Ok(count),
            _ => Err(self.failed(Fail::Count)),
        }
    }

    #[inline]
    fn bytes(&mut self) -> Result<&'a [u8], SerdeError> {
        let len = self.len()?;
        let (bytes, rest) = self.rest.split_at(len);
        self.rest = rest;
        Ok(bytes)
    }

    #[inline]
    fn text(&mut self) -> Result<&'a str, SerdeError> {
        let bytes = self.bytes()?;
        self.checked(bytes)
    }

    fn checked(&mut self, bytes: &'a [u8]) -> Result<&'a str, SerdeError> {
        if bytes.len() as u64 > count::SHORT && bytes.len() > self.input.limits().text {
            return Err(self.failed(Fail::Limit));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text),
            Err(_) => Err(self.failed(Fail::Text)),
        }
    }

    /// Reads the name of a field.
    #[inline]
    fn name(&mut self) -> Result<&'a str, SerdeError> {
        let bytes = self.bytes()?;
        // The length and two bytes distinguish most field names; Fibonacci hashing spreads them over the table.
        let [first, .., last] = *bytes else { return self.checked(bytes) };
        let hash = u32::from_le_bytes([first, last, (bytes.len() as u64).to_le_bytes()[0], 0]);
        let place = hash.wrapping_mul(0x9e37_79b1) as usize >> 16 & (NAMES - 1);
        if is_equal(self.names[place].as_bytes(), bytes) {
            return Ok(self.names[place]);
        }
        let name = self.checked(bytes)?;
        self.names[place] = name;
        Ok(name)
    }

    /// Skips the rest of a refused value, if the type continues nevertheless.
    #[inline(always)]
    fn resume(&mut self) -> Result<(), SerdeError> {
        if self.is_lost { self.pass_from(self.lost) } else { Ok(()) }
    }

    /// Continues after the value that begins here.
    #[cold]
    fn pass_from(&mut self, start: &'a [u8]) -> Result<(), SerdeError> {
        if self.fail.is_some() {
            return Err(SerdeError::custom("the bytes are damaged"));
        }
        self.is_lost = false;
        self.rest = start;
        self.skip()
    }

    /// Skips a value.
    fn skip(&mut self) -> Result<(), SerdeError> {
        self.input.set_depth(self.depth);
        self.decoded(|input| input.value::<Any>().map(drop))
    }

    /// Returns the error of a type that does not accept the next value.
    #[cold]
    fn unexpected(&mut self, expected: &dyn serde::de::Expected) -> SerdeError {
        let start = self.rest;
        self.input.set_depth(self.depth);
        let any = self.decoded(|input| input.value::<Any>());
        self.rest = start;
        match any {
            Ok(any) => SerdeError::invalid_type(any.unexpected(), expected),
            Err(error) => error,
        }
    }
}

/// Deserializes the next value.
struct AnyReader<'s, 'r, 'a> {
    reading: &'s mut Reading<'r, 'a>,
}

impl<'s, 'r, 'a> AnyReader<'s, 'r, 'a> {
    /// Hands out the value, one level of nesting further in, and continues after it.
    #[inline(always)]
    fn passed<T>(
        self,
        read: impl FnOnce(AnyReader<'_, 'r, 'a>) -> Result<T, SerdeError>,
    ) -> Result<T, SerdeError> {
        let reading = self.reading;
        let (start, begun) = (reading.rest, reading.begun);
        match reading.depth.checked_sub(1) {
            Some(depth) => reading.depth = depth,
            None => return Err(reading.failed(Fail::Depth)),
        }
        let result = read(AnyReader { reading });
        reading.depth += 1;
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

    /// Passes a value that was begun to the visitor, which may refuse it.
    #[inline(always)]
    fn given<T>(
        self,
        give: impl FnOnce(&mut Reading<'r, 'a>) -> Result<T, SerdeError>,
    ) -> Result<T, SerdeError> {
        let result = give(self.reading);
        self.reading.is_lost |= result.is_err();
        result
    }

    fn any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        let reading = self.reading;
        reading.begun += 1;
        let [tag] = reading.take()?;
        match tag {
            Tag::UNIT => visitor.visit_unit(),
            Tag::BOOL => match reading.take()? {
                [0] => visitor.visit_bool(false),
                [1] => visitor.visit_bool(true),
                _ => Err(reading.failed(Fail::Value)),
            },
            Tag::UNSIGNED => visitor.visit_u64(reading.count()?),
            Tag::NEGATIVE => visitor.visit_i64(compact::unzigzag(reading.count()?)),
            Tag::WIDE => visitor.visit_i128(i128::from_le_bytes(reading.take()?)),
            Tag::HUGE => visitor.visit_u128(u128::from_le_bytes(reading.take()?)),
            Tag::F32 => visitor.visit_f32(f32::from_le_bytes(reading.take()?)),
            Tag::F64 => visitor.visit_f64(f64::from_le_bytes(reading.take()?)),
            Tag::CHAR => match char::from_u32(u32::from_le_bytes(reading.take()?)) {
                Some(value) => visitor.visit_char(value),
                None => Err(reading.failed(Fail::Value)),
            },
            Tag::TEXT => visitor.visit_borrowed_str(reading.text()?),
            Tag::BYTES => visitor.visit_borrowed_bytes(reading.bytes()?),
            Tag::NONE => visitor.visit_none(),
            Tag::SOME => AnyReader { reading }.passed(|reader| visitor.visit_some(reader)),
            Tag::LIST => items(reading, visitor),
            Tag::MAP | Tag::STRUCT => entries(reading, tag == Tag::STRUCT, visitor),
            Tag::VARIANT | Tag::CONTENT => {
                let variant = reading.name()?;
                enumerated(reading, variant, tag == Tag::CONTENT, visitor)
            }
            _ => Err(reading.failed(Fail::Value)),
        }
    }
}

/// Reads a list.
#[inline]
fn items<'a, V: Visitor<'a>>(
    reading: &mut Reading<'_, 'a>,
    visitor: V,
) -> Result<V::Value, SerdeError> {
    let mut items = ReadItems::new(reading)?;
    let value = visitor.visit_seq(&mut items)?;
    items.end("in sequence")?;
    Ok(value)
}

/// Reads a map or a struct.
#[inline]
fn entries<'a, V: Visitor<'a>>(
    reading: &mut Reading<'_, 'a>,
    is_struct: bool,
    visitor: V,
) -> Result<V::Value, SerdeError> {
    let items = ReadItems::new(reading)?;
    let mut entries = ReadEntries { items, is_struct };
    let value = visitor.visit_map(&mut entries)?;
    entries.items.end("in map")?;
    Ok(value)
}

/// Reads a variant of an enum, with or without content.
#[inline]
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

/// Most types ask for the value that comes next. Then one comparison suffices, without a `match` over all kinds.
macro_rules! mostly {
    ($($method:ident($($argument:ty),*): $tag:expr => |$reading:ident, $visitor:ident| $give:expr;)*) => {$(
        #[inline]
        fn $method<V: Visitor<'a>>(self, $(_: $argument,)* $visitor: V) -> Result<V::Value, SerdeError> {
            if self.reading.begins($tag) {
                self.given(|$reading| $give)
            } else {
                self.deserialize_any($visitor)
            }
        }
    )*};
}

impl<'a> Deserializer<'a> for AnyReader<'_, '_, 'a> {
    type Error = SerdeError;

    #[inline(never)]
    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        self.given(|reading| AnyReader { reading }.any(visitor))
    }

    mostly! {
        deserialize_u8(): Tag::UNSIGNED => |reading, visitor| visitor.visit_u64(reading.count()?);
        deserialize_u16(): Tag::UNSIGNED => |reading, visitor| visitor.visit_u64(reading.count()?);
        deserialize_u32(): Tag::UNSIGNED => |reading, visitor| visitor.visit_u64(reading.count()?);
        deserialize_u64(): Tag::UNSIGNED => |reading, visitor| visitor.visit_u64(reading.count()?);
        deserialize_i8(): Tag::UNSIGNED => |reading, visitor| visitor.visit_u64(reading.count()?);
        deserialize_i16(): Tag::UNSIGNED => |reading, visitor| visitor.visit_u64(reading.count()?);
        deserialize_i32(): Tag::UNSIGNED => |reading, visitor| visitor.visit_u64(reading.count()?);
        deserialize_i64(): Tag::UNSIGNED => |reading, visitor| visitor.visit_u64(reading.count()?);
        deserialize_f32(): Tag::F32 => |reading, visitor| visitor.visit_f32(f32::from_le_bytes(reading.take()?));
        deserialize_f64(): Tag::F64 => |reading, visitor| visitor.visit_f64(f64::from_le_bytes(reading.take()?));
        deserialize_str(): Tag::TEXT => |reading, visitor| visitor.visit_borrowed_str(reading.text()?);
        deserialize_string(): Tag::TEXT => |reading, visitor| visitor.visit_borrowed_str(reading.text()?);
        deserialize_seq(): Tag::LIST => |reading, visitor| items(reading, visitor);
        deserialize_tuple(usize): Tag::LIST => |reading, visitor| items(reading, visitor);
        deserialize_tuple_struct(&'static str, usize): Tag::LIST => |reading, visitor| items(reading, visitor);
        deserialize_map(): Tag::MAP => |reading, visitor| entries(reading, false, visitor);
        deserialize_struct(&'static str, &'static [&'static str]):
            Tag::STRUCT => |reading, visitor| entries(reading, true, visitor);
    }

    #[inline]
    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        let reading = self.reading;
        if reading.begins(Tag::NONE) {
            AnyReader { reading }.given(|_| visitor.visit_none())
        } else if reading.begins(Tag::SOME) {
            AnyReader { reading }
                .given(|reading| AnyReader { reading }.passed(|reader| visitor.visit_some(reader)))
        } else {
            // The field became optional after the save.
            visitor.visit_some(AnyReader { reading })
        }
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        visitor.visit_newtype_struct(self)
    }

    #[inline]
    fn deserialize_enum<V: Visitor<'a>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        let reading = self.reading;
        match reading.rest.first() {
            // A text comes from a type that names its variants by itself.
            Some(&tag @ (Tag::TEXT | Tag::VARIANT | Tag::CONTENT)) => {
                reading.begins(tag);
                AnyReader { reading }.given(|reading| {
                    let variant = reading.name()?;
                    enumerated(reading, variant, tag == Tag::CONTENT, visitor)
                })
            }
            None => Err(reading.failed(Fail::End)),
            Some(_) => Err(reading.unexpected(&"a variant of an enum")),
        }
    }

    /// Skips a value that the type ignores. serde's default would read each variant as one with content.
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
        bool i128 u128 char bytes byte_buf unit unit_struct identifier
    }
}

/// Reads the items of a list. After the last read, none may be left.
struct ReadItems<'s, 'r, 'a> {
    reading: &'s mut Reading<'r, 'a>,
    left: usize,
    count: usize,
    /// Number of items for which memory is reserved before they are read.
    room: usize,
    /// True if the key of an entry was read, and its value comes next.
    has_value: bool,
}

impl<'s, 'r, 'a> ReadItems<'s, 'r, 'a> {
    #[inline]
    fn new(reading: &'s mut Reading<'r, 'a>) -> Result<Self, SerdeError> {
        let left = reading.len()?;
        let room = left.min(reading.room);
        reading.room -= room;
        Ok(Self { reading, left, count: 0, room, has_value: false })
    }

    #[inline(always)]
    fn value(&mut self) -> AnyReader<'_, 'r, 'a> {
        AnyReader { reading: self.reading }
    }

    /// Moves to the next item, if there is one.
    #[inline(always)]
    fn next(&mut self) -> Result<bool, SerdeError> {
        self.reading.resume()?;
        if std::mem::take(&mut self.has_value) {
            self.reading.skip()?;
        }
        let has_next = self.left > 0;
        self.left -= usize::from(has_next);
        self.count += usize::from(has_next);
        Ok(has_next)
    }

    /// Checks that no items are left.
    #[inline]
    fn end(&mut self, place: &str) -> Result<(), SerdeError> {
        if self.left == 0 { self.next().map(drop) } else { Err(self.too_many(place)) }
    }

    #[cold]
    fn too_many(&self, place: &str) -> SerdeError {
        let (all, count) = (self.left + self.count, self.count);
        let noun = if count == 1 { "element" } else { "elements" };
        SerdeError::invalid_length(all, &&*format!("{count} {noun} {place}"))
    }
}

impl<'a> SeqAccess<'a> for &mut ReadItems<'_, '_, 'a> {
    type Error = SerdeError;

    #[inline]
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

/// Reads the entries of a map, or the fields of a struct by their names.
struct ReadEntries<'s, 'r, 'a> {
    items: ReadItems<'s, 'r, 'a>,
    is_struct: bool,
}

impl<'a> MapAccess<'a> for &mut ReadEntries<'_, '_, 'a> {
    type Error = SerdeError;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, SerdeError> {
        if !self.items.next()? {
            return Ok(None);
        }
        let key = if self.is_struct {
            let name = self.items.reading.name()?;
            self.items.has_value = true;
            seed.deserialize(BorrowedStrDeserializer::new(name))
        } else {
            self.items.has_value = true;
            self.items.value().passed(|reader| seed.deserialize(reader))
        };
        key.map(Some)
    }

    #[inline]
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

/// Reads a variant, whose content comes next if there is any.
struct Variant<'s, 'r, 'a> {
    reading: &'s mut Reading<'r, 'a>,
    variant: &'a str,
    has_content: bool,
    /// True if the content is not read yet.
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
