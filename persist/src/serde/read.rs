//! An [`Any`] as a document of serde.

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::SerdeError;
use super::any::Any;

impl IntoDeserializer<'_, SerdeError> for Any {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Any {
    type Error = SerdeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self {
            Self::Unit => visitor.visit_unit(),
            Self::Bool(value) => visitor.visit_bool(value),
            Self::Unsigned(number) => visitor.visit_u64(number),
            Self::Negative(number) => visitor.visit_i64(number),
            Self::Wide(number) => visitor.visit_i128(number),
            Self::Huge(number) => visitor.visit_u128(number),
            Self::F32(number) => visitor.visit_f32(number),
            Self::F64(number) => visitor.visit_f64(number),
            Self::Char(value) => visitor.visit_char(value),
            Self::Text(text) => visitor.visit_string(text),
            Self::Bytes(bytes) => visitor.visit_byte_buf(bytes),
            Self::None => visitor.visit_none(),
            Self::Some(value) => visitor.visit_some(*value),
            Self::List(items) => {
                let mut items = SeqDeserializer::new(items.into_iter());
                let value = visitor.visit_seq(&mut items)?;
                items.end()?;
                Ok(value)
            }
            Self::Map(entries) => {
                let mut entries = MapDeserializer::new(entries.into_iter());
                let value = visitor.visit_map(&mut entries)?;
                entries.end()?;
                Ok(value)
            }
            Self::Struct(fields) => {
                let mut fields = MapDeserializer::new(fields.into_iter());
                let value = visitor.visit_map(&mut fields)?;
                fields.end()?;
                Ok(value)
            }
            Self::Variant(_) | Self::Content(..) => visitor.visit_enum(self),
        }
    }

    /// A field that was none yet when it was saved, or that no longer is.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self {
            Self::None | Self::Some(_) => self.deserialize_any(visitor),
            // A field has become optional.
            value => visitor.visit_some(value),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        match self {
            Self::Variant(_) | Self::Content(..) => visitor.visit_enum(self),
            // Of a type that names its variants by itself.
            Self::Text(variant) => visitor.visit_enum(Self::Variant(variant)),
            value => Err(SerdeError::invalid_type(value.unexpected(), &"a variant of an enum")),
        }
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
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

impl<'de> EnumAccess<'de> for Any {
    type Error = SerdeError;
    type Variant = VariantContent;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, VariantContent), SerdeError> {
        let (variant, content) = match self {
            Self::Variant(variant) => (variant, None),
            Self::Content(variant, content) => (variant, Some(*content)),
            value => {
                return Err(SerdeError::invalid_type(value.unexpected(), &"a variant of an enum"));
            }
        };
        let variant = seed.deserialize(Self::Text(variant))?;
        Ok((variant, VariantContent(content)))
    }
}

/// The content of a variant.
pub(super) struct VariantContent(Option<Any>);

impl VariantContent {
    fn get(self) -> Result<Any, SerdeError> {
        self.0.ok_or_else(|| {
            SerdeError::invalid_type(Unexpected::UnitVariant, &"a variant with content")
        })
    }
}

impl<'de> VariantAccess<'de> for VariantContent {
    type Error = SerdeError;

    fn unit_variant(self) -> Result<(), SerdeError> {
        match self.0 {
            None => Ok(()),
            Some(content) => {
                Err(SerdeError::invalid_type(content.unexpected(), &"a variant without content"))
            }
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, SerdeError> {
        seed.deserialize(self.get()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, SerdeError> {
        self.get()?.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        self.get()?.deserialize_any(visitor)
    }
}
