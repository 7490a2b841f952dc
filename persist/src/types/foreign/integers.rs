//! Reads the state of random generators that show it through serde alone, as integers.

use serde::de::value::{Error, MapDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::ser::{Error as _, Impossible, Serialize, SerializeStruct, SerializeTuple, Serializer};

/// Returns the integers in a field of a generator: one, or those of an array.
///
/// # Panics
///
/// Panics if the integers are missing. The version of the crate is fixed, and a test compares each generator with its
/// bytes.
pub(super) fn field<W: TryFrom<u128>, const N: usize>(
    generator: &impl Serialize,
    name: &str,
) -> [W; N] {
    let mut integers = Vec::with_capacity(N);
    let found = generator.serialize(Fields { name, integers: &mut integers });
    let words: Option<Vec<W>> = integers.into_iter().map(|word| W::try_from(word).ok()).collect();
    match words.and_then(|words| words.try_into().ok()) {
        Some(words) if found.is_ok() => words,
        _ => unreachable!("the generator has {N} integers in `{name}`"),
    }
}

/// Builds a generator with these fields.
pub(super) fn generator<'de, T: DeserializeOwned>(
    fields: impl IntoIterator<Item = (&'static str, impl IntoDeserializer<'de, Error>)>,
) -> Result<T, Error> {
    T::deserialize(MapDeserializer::new(fields.into_iter()))
}

fn other<T>() -> Result<T, Error> {
    Err(Error::custom("the generator is no struct of integers"))
}

/// Collects the integers of one field of a struct.
struct Fields<'a> {
    name: &'a str,
    integers: &'a mut Vec<u128>,
}

/// Collects integers, alone or in an array.
struct Integers<'a>(&'a mut Vec<u128>);

impl SerializeStruct for Fields<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T>(&mut self, name: &'static str, value: &T) -> Result<(), Error>
    where
        T: Serialize + ?Sized,
    {
        if name == self.name { value.serialize(Integers(self.integers)) } else { Ok(()) }
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

impl SerializeTuple for Integers<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(Integers(self.0))
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

/// Expands to the methods of a serializer for types that no generator has; they return an error.
macro_rules! refused {
    ($($method:ident($($ty:ty),*))*) => {$(
        fn $method(self, $(_: $ty),*) -> Result<(), Error> {
            other()
        }
    )*};
}

macro_rules! serializer {
    ($name:ident { $($given:tt)* } refuses $($method:ident($($ty:ty),*))*) => {
        impl<'a> Serializer for $name<'a> {
            type Ok = ();
            type Error = Error;
            type SerializeSeq = Impossible<(), Error>;
            type SerializeTupleStruct = Impossible<(), Error>;
            type SerializeTupleVariant = Impossible<(), Error>;
            type SerializeMap = Impossible<(), Error>;
            type SerializeStructVariant = Impossible<(), Error>;

            $($given)*

            refused! {
                $($method($($ty),*))*
                serialize_bool(bool) serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64)
                serialize_u8(u8) serialize_u16(u16) serialize_f32(f32) serialize_f64(f64) serialize_char(char)
                serialize_str(&str) serialize_bytes(&[u8]) serialize_none() serialize_unit()
                serialize_unit_struct(&'static str) serialize_unit_variant(&'static str, u32, &'static str)
            }

            fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<(), Error> {
                other()
            }

            fn serialize_newtype_struct<T: Serialize + ?Sized>(
                self,
                _: &'static str,
                _: &T,
            ) -> Result<(), Error> {
                other()
            }

            fn serialize_newtype_variant<T: Serialize + ?Sized>(
                self,
                _: &'static str,
                _: u32,
                _: &'static str,
                _: &T,
            ) -> Result<(), Error> {
                other()
            }

            fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Error> {
                other()
            }

            fn serialize_tuple_struct(
                self,
                _: &'static str,
                _: usize,
            ) -> Result<Self::SerializeTupleStruct, Error> {
                other()
            }

            fn serialize_tuple_variant(
                self,
                _: &'static str,
                _: u32,
                _: &'static str,
                _: usize,
            ) -> Result<Self::SerializeTupleVariant, Error> {
                other()
            }

            fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Error> {
                other()
            }

            fn serialize_struct_variant(
                self,
                _: &'static str,
                _: u32,
                _: &'static str,
                _: usize,
            ) -> Result<Self::SerializeStructVariant, Error> {
                other()
            }
        }
    };
}

serializer! { Fields {
    type SerializeStruct = Self;
    type SerializeTuple = Impossible<(), Error>;

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Error> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Error> {
        other()
    }
} refuses serialize_u32(u32) serialize_u64(u64) serialize_u128(u128) }

serializer! { Integers {
    type SerializeStruct = Impossible<(), Error>;
    type SerializeTuple = Self;

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, Error> {
        other()
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Error> {
        Ok(self)
    }

    fn serialize_u32(self, integer: u32) -> Result<(), Error> {
        self.serialize_u128(integer.into())
    }

    fn serialize_u64(self, integer: u64) -> Result<(), Error> {
        self.serialize_u128(integer.into())
    }

    fn serialize_u128(self, integer: u128) -> Result<(), Error> {
        self.0.push(integer);
        Ok(())
    }
} refuses }
