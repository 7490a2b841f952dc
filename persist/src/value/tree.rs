use super::Record;
use super::parts::{Parts, PartsMut, next_part};
use crate::ObjectId;

/// A value without its type, as a save describes it.
///
/// Two are equal if their bytes in a save would be: floats are compared bit by bit.
///
/// Values that a save or a text holds nest no deeper than four times [`Limits::depth`](crate::Limits::depth). To drop a
/// value, or to give it to serde, takes stack for each level; to read, write, clone, compare and show it does not.
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

impl Value {
    /// True unless it is of a kind that no others lie in.
    pub(crate) fn may_have_parts(&self) -> bool {
        matches!(
            self,
            Self::Option(Some(_))
                | Self::Seq(_)
                | Self::Tuple(_)
                | Self::Map(_)
                | Self::Struct(_)
                | Self::Enum(_)
        )
    }

    /// The values right inside of this one.
    pub(crate) fn parts(&self) -> Parts<'_> {
        match self {
            Self::Option(Some(value)) => Parts::Values(std::slice::from_ref(&**value).iter()),
            Self::Seq(values) | Self::Tuple(values) => Parts::Values(values.iter()),
            Self::Map(entries) => Parts::entries(entries),
            Self::Struct(record) | Self::Enum(record) => Parts::Fields(record.fields.iter()),
            _ => Parts::Values([].iter()),
        }
    }

    /// The values right inside of this one, to be changed.
    pub(crate) fn parts_mut(&mut self) -> PartsMut<'_> {
        match self {
            Self::Option(Some(value)) => {
                PartsMut::Values(std::slice::from_mut(&mut **value).iter_mut())
            }
            Self::Seq(values) | Self::Tuple(values) => PartsMut::Values(values.iter_mut()),
            Self::Map(entries) => PartsMut::entries(entries),
            Self::Struct(record) | Self::Enum(record) => PartsMut::Fields(record.fields.iter_mut()),
            _ => PartsMut::Values([].iter_mut()),
        }
    }

    /// A copy whose parts are units.
    fn copy_of_head(&self) -> Self {
        let units = |values: &[Value]| values.iter().map(|_| Self::Unit).collect();
        match self {
            Self::Unit => Self::Unit,
            Self::Bool(value) => Self::Bool(*value),
            Self::Char(value) => Self::Char(*value),
            Self::U8(number) => Self::U8(*number),
            Self::U16(number) => Self::U16(*number),
            Self::U32(number) => Self::U32(*number),
            Self::U64(number) => Self::U64(*number),
            Self::U128(number) => Self::U128(*number),
            Self::I8(number) => Self::I8(*number),
            Self::I16(number) => Self::I16(*number),
            Self::I32(number) => Self::I32(*number),
            Self::I64(number) => Self::I64(*number),
            Self::I128(number) => Self::I128(*number),
            Self::F32(number) => Self::F32(*number),
            Self::F64(number) => Self::F64(*number),
            Self::Text(text) => Self::Text(text.clone()),
            Self::Bytes(bytes) => Self::Bytes(bytes.clone()),
            Self::Option(value) => Self::Option(value.as_ref().map(|_| Box::new(Self::Unit))),
            Self::Seq(values) => Self::Seq(units(values)),
            Self::Tuple(values) => Self::Tuple(units(values)),
            Self::Map(entries) => {
                Self::Map(entries.iter().map(|_| (Self::Unit, Self::Unit)).collect())
            }
            Self::Struct(record) => Self::Struct(record.copy_of_head()),
            Self::Enum(record) => Self::Enum(record.copy_of_head()),
            Self::Ref(id) => Self::Ref(*id),
            Self::Handle(handle) => Self::Handle(*handle),
        }
    }

    /// True if the values are equal, or would be if their parts were.
    fn has_head_of(&self, other: &Self) -> bool {
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
            (Self::Option(a), Self::Option(b)) => a.is_some() == b.is_some(),
            (Self::Seq(a), Self::Seq(b)) | (Self::Tuple(a), Self::Tuple(b)) => a.len() == b.len(),
            (Self::Map(a), Self::Map(b)) => a.len() == b.len(),
            (Self::Struct(a), Self::Struct(b)) | (Self::Enum(a), Self::Enum(b)) => a.has_head_of(b),
            (Self::Ref(a), Self::Ref(b)) => a == b,
            (Self::Handle(a), Self::Handle(b)) => a == b,
            _ => false,
        }
    }
}

/// Without recursion, so that a deep value takes no more stack than a flat one.
impl Clone for Value {
    fn clone(&self) -> Self {
        let mut copy = Self::Unit;
        let mut open = Vec::new();
        let mut pair = Some((self, &mut copy));
        while let Some((from, to)) = pair {
            *to = from.copy_of_head();
            if from.may_have_parts() {
                open.push(from.parts().zip(to.parts_mut()));
            }
            pair = next_part(&mut open);
        }
        copy
    }
}

/// Without recursion, as [`Clone`].
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        let mut open = Vec::new();
        let mut pair = Some((self, other));
        while let Some((a, b)) = pair {
            if !a.has_head_of(b) {
                return false;
            }
            if a.may_have_parts() {
                open.push(a.parts().zip(b.parts()));
            }
            pair = next_part(&mut open);
        }
        true
    }
}

impl Eq for Value {}
