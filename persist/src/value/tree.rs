use super::Record;
use crate::ObjectId;

/// A value without its type, as a save describes it.
///
/// Two are equal if their bytes in a save would be: floats are compared bit by bit.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Value {
    /// `()`.
    Unit,
    /// `bool`.
    Bool(bool),
    /// `char`.
    Char(char),
    /// `u8`.
    U8(u8),
    /// `u16`.
    U16(u16),
    /// `u32`.
    U32(u32),
    /// `u64`; `usize` too.
    U64(u64),
    /// `u128`.
    U128(u128),
    /// `i8`.
    I8(i8),
    /// `i16`.
    I16(i16),
    /// `i32`.
    I32(i32),
    /// `i64`; `isize` too.
    I64(i64),
    /// `i128`.
    I128(i128),
    /// `f32`.
    F32(#[cfg_attr(feature = "serde", serde(with = "super::serialize::float32"))] f32),
    /// `f64`.
    F64(#[cfg_attr(feature = "serde", serde(with = "super::serialize::float64"))] f64),
    /// A string.
    Text(String),
    /// A list or array of `u8`.
    Bytes(Vec<u8>),
    /// An `Option`.
    Option(Option<Box<Value>>),
    /// A list, set or array of other elements.
    Seq(Vec<Value>),
    /// A tuple.
    Tuple(Vec<Value>),
    /// A map, in stored order.
    Map(Vec<(Value, Value)>),
    /// A struct.
    Struct(Record),
    /// An enum, at one of its variants.
    Enum(Record),
    /// A pointer to an object of the save; a weak one may lead to none.
    Ref(Option<ObjectId>),
    /// A handle into an arena.
    Handle(HandleValue),
}

/// A [`Handle`](crate::Handle) without its arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum HandleValue {
    /// It leads nowhere.
    Null,
    /// It leads to what has a key of these bits.
    Live(u64),
    /// It has lost its target, and keeps the bits of its key.
    Dead(u64),
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Unit, Self::Unit) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Char(a), Self::Char(b)) => a == b,
            (Self::U8(a), Self::U8(b)) => a == b,
            (Self::U16(a), Self::U16(b)) => a == b,
            (Self::U32(a), Self::U32(b)) => a == b,
            (Self::U64(a), Self::U64(b)) => a == b,
            (Self::U128(a), Self::U128(b)) => a == b,
            (Self::I8(a), Self::I8(b)) => a == b,
            (Self::I16(a), Self::I16(b)) => a == b,
            (Self::I32(a), Self::I32(b)) => a == b,
            (Self::I64(a), Self::I64(b)) => a == b,
            (Self::I128(a), Self::I128(b)) => a == b,
            (Self::F32(a), Self::F32(b)) => a.to_bits() == b.to_bits(),
            (Self::F64(a), Self::F64(b)) => a.to_bits() == b.to_bits(),
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Option(a), Self::Option(b)) => a == b,
            (Self::Seq(a), Self::Seq(b)) | (Self::Tuple(a), Self::Tuple(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => a == b,
            (Self::Struct(a), Self::Struct(b)) | (Self::Enum(a), Self::Enum(b)) => a == b,
            (Self::Ref(a), Self::Ref(b)) => a == b,
            (Self::Handle(a), Self::Handle(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Value {}
