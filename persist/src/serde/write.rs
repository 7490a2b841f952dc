//! What serde says of a value, as an [`Any`].

use serde::Serialize;
use serde::ser::{
    Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::SerdeError;
use super::any::Any;
use crate::Limits;

type AnyResult = Result<Any, SerdeError>;

/// Makes an [`Any`] of a value, within the limit of depth.
#[derive(Clone, Copy)]
pub(super) struct AnyWriter {
    depth: u32,
}

impl AnyWriter {
    pub(super) fn within(limits: &Limits) -> Self {
        Self { depth: limits.depth }
    }

    /// One level further in.
    fn inner(self) -> Result<Self, SerdeError> {
        let depth = self.depth.checked_sub(1);
        depth.map(|depth| Self { depth }).ok_or_else(|| {
            SerdeError::custom("the value is nested deeper than `Limits::depth`; raise it")
        })
    }

    fn write<T: ?Sized + Serialize>(self, value: &T) -> AnyResult {
        value.serialize(self.inner()?)
    }

    fn list(self, variant: Option<&'static str>) -> Result<SeqWriter, SerdeError> {
        Ok(SeqWriter { writer: self.inner()?, variant, items: Vec::new() })
    }

    fn fields(self, variant: Option<&'static str>) -> Result<StructWriter, SerdeError> {
        Ok(StructWriter { writer: self.inner()?, variant, fields: Vec::new() })
    }
}

/// The content of a variant, or of no enum.
fn of_variant(variant: Option<&'static str>, content: Any) -> Any {
    match variant {
        Some(variant) => Any::Content(variant.to_owned(), Box::new(content)),
        None => content,
    }
}

macro_rules! integers {
    ($($name:ident: $ty:ty),*) => {$(
        fn $name(self, number: $ty) -> AnyResult {
            Ok(Any::integer(number.into()))
        }
    )*};
}

impl Serializer for AnyWriter {
    type Ok = Any;
    type Error = SerdeError;
    type SerializeSeq = SeqWriter;
    type SerializeTuple = SeqWriter;
    type SerializeTupleStruct = SeqWriter;
    type SerializeTupleVariant = SeqWriter;
    type SerializeMap = MapWriter;
    type SerializeStruct = StructWriter;
    type SerializeStructVariant = StructWriter;

    integers!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64
    );

    fn serialize_u128(self, number: u128) -> AnyResult {
        Ok(i128::try_from(number).map_or(Any::Huge(number), Any::integer))
    }

    fn serialize_bool(self, value: bool) -> AnyResult {
        Ok(Any::Bool(value))
    }

    fn serialize_f32(self, number: f32) -> AnyResult {
        Ok(Any::F32(number))
    }

    fn serialize_f64(self, number: f64) -> AnyResult {
        Ok(Any::F64(number))
    }

    fn serialize_char(self, value: char) -> AnyResult {
        Ok(Any::Char(value))
    }

    fn serialize_str(self, text: &str) -> AnyResult {
        Ok(Any::Text(text.to_owned()))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> AnyResult {
        Ok(Any::Bytes(bytes.to_owned()))
    }

    fn serialize_none(self) -> AnyResult {
        Ok(Any::None)
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> AnyResult {
        self.write(value).map(|value| Any::Some(Box::new(value)))
    }

    fn serialize_unit(self) -> AnyResult {
        Ok(Any::Unit)
    }

    fn serialize_unit_struct(self, _: &'static str) -> AnyResult {
        Ok(Any::Unit)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> AnyResult {
        Ok(Any::Variant(variant.to_owned()))
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        value: &T,
    ) -> AnyResult {
        self.write(value)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> AnyResult {
        self.write(value).map(|content| of_variant(Some(variant), content))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<SeqWriter, SerdeError> {
        self.list(None)
    }

    fn serialize_tuple(self, _: usize) -> Result<SeqWriter, SerdeError> {
        self.list(None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<SeqWriter, SerdeError> {
        self.list(None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<SeqWriter, SerdeError> {
        self.list(Some(variant))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<MapWriter, SerdeError> {
        Ok(MapWriter { writer: self.inner()?, key: None, entries: Vec::new() })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<StructWriter, SerdeError> {
        self.fields(None)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<StructWriter, SerdeError> {
        self.fields(Some(variant))
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// A list or tuple that is being made.
pub(super) struct SeqWriter {
    writer: AnyWriter,
    variant: Option<&'static str>,
    items: Vec<Any>,
}

macro_rules! items {
    ($($of:ident: $add:ident),*) => {$(
        impl $of for SeqWriter {
            type Ok = Any;
            type Error = SerdeError;

            fn $add<T: ?Sized + Serialize>(&mut self, item: &T) -> Result<(), SerdeError> {
                self.items.push(self.writer.write(item)?);
                Ok(())
            }

            fn end(self) -> AnyResult {
                Ok(of_variant(self.variant, Any::List(self.items)))
            }
        }
    )*};
}

items! {
    SerializeSeq: serialize_element, SerializeTuple: serialize_element, SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field
}

/// A struct that is being made.
pub(super) struct StructWriter {
    writer: AnyWriter,
    variant: Option<&'static str>,
    fields: Vec<(String, Any)>,
}

macro_rules! fields {
    ($($of:ident),*) => {$(
        impl $of for StructWriter {
            type Ok = Any;
            type Error = SerdeError;

            fn serialize_field<T: ?Sized + Serialize>(
                &mut self,
                name: &'static str,
                field: &T,
            ) -> Result<(), SerdeError> {
                self.fields.push((name.to_owned(), self.writer.write(field)?));
                Ok(())
            }

            fn end(self) -> AnyResult {
                Ok(of_variant(self.variant, Any::Struct(self.fields)))
            }
        }
    )*};
}

fields! { SerializeStruct, SerializeStructVariant }

/// A map that is being made.
pub(super) struct MapWriter {
    writer: AnyWriter,
    key: Option<Any>,
    entries: Vec<(Any, Any)>,
}

impl SerializeMap for MapWriter {
    type Ok = Any;
    type Error = SerdeError;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<(), SerdeError> {
        self.key = Some(self.writer.write(key)?);
        Ok(())
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), SerdeError> {
        let key = self
            .key
            .take()
            .ok_or_else(|| SerdeError::custom("a map gives a value without its key"))?;
        self.entries.push((key, self.writer.write(value)?));
        Ok(())
    }

    fn end(self) -> AnyResult {
        Ok(Any::Map(self.entries))
    }
}
