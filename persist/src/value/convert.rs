//! Converts Rust's own types to values and back.

use super::{HandleValue, Record, Value};
use crate::ObjectId;

macro_rules! from {
    ($($ty:ty => $variant:ident),* $(,)?) => {$(
        impl From<$ty> for Value {
            fn from(value: $ty) -> Self {
                Self::$variant(value)
            }
        }

        /// Converts a key by which a map is indexed.
        impl From<&$ty> for Value {
            fn from(value: &$ty) -> Self {
                Self::$variant(value.clone())
            }
        }
    )*};
}

from! {
    bool => Bool, char => Char,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64, u128 => U128,
    i8 => I8, i16 => I16, i32 => I32, i64 => I64, i128 => I128,
    f32 => F32, f64 => F64, String => Text,
}

/// Converts to [`Value::U64`], as an index in a [`FieldPath`](crate::FieldPath) is.
impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::U64(value as u64)
    }
}

impl From<()> for Value {
    fn from((): ()) -> Self {
        Self::Unit
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<ObjectId> for Value {
    fn from(id: ObjectId) -> Self {
        Self::Ref(Some(id))
    }
}

/// Converts to an enum if the record has a variant, else to a struct.
impl From<Record> for Value {
    fn from(record: Record) -> Self {
        if record.variant().is_some() { Self::Enum(record) } else { Self::Struct(record) }
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        Self::Option(value.map(|value| Box::new(value.into())))
    }
}

/// Converts to [`Value::Bytes`] for bytes, else to [`Value::Seq`].
impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        values.into_iter().map(Into::into).collect()
    }
}

/// Collects to [`Value::Bytes`] if there is at least one element and all are bytes, else to [`Value::Seq`].
impl FromIterator<Value> for Value {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Self {
        let values: Vec<Value> = values.into_iter().collect();
        let byte = |value: &Value| match value {
            Value::U8(byte) => Some(*byte),
            _ => None,
        };
        match values.iter().map(byte).collect::<Option<Vec<u8>>>() {
            Some(bytes) if !bytes.is_empty() => Self::Bytes(bytes),
            _ => Self::Seq(values),
        }
    }
}

impl Value {
    /// Returns the `bool`; `None` for another kind of value.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// Returns the text; `None` for another kind of value.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Returns an integer of any width, if it fits an `i64`.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        i64::try_from(self.as_i128()?).ok()
    }

    /// Returns an integer of any width, if it fits a `u64`.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        u64::try_from(self.as_i128()?).ok()
    }

    fn as_i128(&self) -> Option<i128> {
        Some(match self {
            Self::U8(value) => (*value).into(),
            Self::U16(value) => (*value).into(),
            Self::U32(value) => (*value).into(),
            Self::U64(value) => (*value).into(),
            Self::U128(value) => i128::try_from(*value).ok()?,
            Self::I8(value) => (*value).into(),
            Self::I16(value) => (*value).into(),
            Self::I32(value) => (*value).into(),
            Self::I64(value) => (*value).into(),
            Self::I128(value) => *value,
            _ => return None,
        })
    }

    /// Returns the id of the object that a reference or a handle leads to, in a save or in a world.
    ///
    /// ```
    /// use persist::reflect::HandleValue;
    /// use persist::{ObjectId, Value};
    ///
    /// let id = ObjectId::new(7).unwrap();
    /// assert_eq!(Value::from(id).as_object_id(), Some(id));
    /// assert_eq!(Value::Handle(HandleValue::Live(7)).as_object_id(), Some(id));
    /// assert_eq!(Value::Handle(HandleValue::Null).as_object_id(), None);
    /// ```
    #[must_use]
    pub fn as_object_id(&self) -> Option<ObjectId> {
        let mut value = self;
        while let Self::Option(Some(inner)) = value {
            value = inner;
        }
        match value {
            Self::Ref(id) => *id,
            Self::Handle(HandleValue::Live(bits)) => ObjectId::new(*bits),
            _ => None,
        }
    }

    /// Returns a float, or an integer of at most 32 bits, as an `f64`.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        Some(match self {
            Self::F32(value) => (*value).into(),
            Self::F64(value) => *value,
            Self::U8(value) => (*value).into(),
            Self::U16(value) => (*value).into(),
            Self::U32(value) => (*value).into(),
            Self::I8(value) => (*value).into(),
            Self::I16(value) => (*value).into(),
            Self::I32(value) => (*value).into(),
            _ => return None,
        })
    }

    /// Returns the elements of a list, set, array or tuple; `None` for [`Bytes`](Self::Bytes) and all other kinds.
    #[must_use]
    pub fn as_seq(&self) -> Option<&[Value]> {
        match self {
            Self::Seq(values) | Self::Tuple(values) => Some(values),
            _ => None,
        }
    }

    /// Returns the record of a struct or enum.
    #[must_use]
    pub fn as_record(&self) -> Option<&Record> {
        match self {
            Self::Struct(record) | Self::Enum(record) => Some(record),
            _ => None,
        }
    }

    /// Returns the record of a struct or enum mutably.
    pub fn as_record_mut(&mut self) -> Option<&mut Record> {
        match self {
            Self::Struct(record) | Self::Enum(record) => Some(record),
            _ => None,
        }
    }
}
