//! Serializes values with serde, tagged by their kinds as its derive does it.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Record, Value};

/// A [`Record`] as serde reads it.
#[derive(Deserialize)]
#[serde(rename = "Record")]
struct RecordData {
    class: String,
    variant: Option<String>,
    fields: OrderedFields<Vec<(String, Value)>>,
}

#[derive(Serialize)]
#[serde(rename = "Record")]
struct RecordRef<'r> {
    class: &'r str,
    variant: Option<&'r str>,
    fields: OrderedFields<&'r Record>,
}

/// A map that keeps its order.
struct OrderedFields<T>(T);

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (class, variant) = (self.class(), self.variant());
        RecordRef { class, variant, fields: OrderedFields(self) }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let RecordData { class, variant, fields } = RecordData::deserialize(deserializer)?;
        let mut record = match variant {
            Some(variant) => Self::with_variant(class, variant),
            None => Self::new(class),
        };
        for (name, value) in fields.0 {
            record.push(name, value);
        }
        Ok(record)
    }
}

impl Serialize for OrderedFields<&Record> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in self.0.fields() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for OrderedFields<Vec<(String, Value)>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Vec<(String, Value)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("fields by their names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let (mut fields, mut names) = (Vec::new(), HashSet::new());
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    if !names.insert(name.clone()) {
                        return Err(A::Error::custom(format!("the field {name} stands twice")));
                    }
                    fields.push((name, value));
                }
                Ok(fields)
            }
        }

        deserializer.deserialize_map(InOrder).map(Self)
    }
}

/// Serializes floats. In formats for people, infinities and NaN are texts.
macro_rules! float {
    ($name:ident, $ty:ty, $variant:ident, $serialize:ident) => {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            reason = "the nearest float is what is wanted"
        )]
        pub(super) mod $name {
            use super::*;

            pub(in crate::value) fn serialize<S: Serializer>(
                number: &$ty,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() && !number.is_finite() {
                    serializer.collect_str(&Value::$variant(*number))
                } else {
                    serializer.$serialize(*number)
                }
            }

            pub(in crate::value) fn deserialize<'de, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<$ty, D::Error> {
                struct NumberVisitor;

                impl Visitor<'_> for NumberVisitor {
                    type Value = $ty;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("a number, or the text of one that is not finite")
                    }

                    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<$ty, E> {
                        let nearest = number as $ty;
                        if nearest.is_finite() {
                            return Ok(nearest);
                        }
                        Err(E::custom(format!("{number:?} is too large for this float")))
                    }

                    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<$ty, E> {
                        Ok(number as $ty)
                    }

                    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<$ty, E> {
                        Ok(number as $ty)
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$ty, E> {
                        match text.parse::<Value>() {
                            Ok(Value::$variant(number)) => Ok(number),
                            Ok(_) => Err(E::custom(format!("{text} is of another type"))),
                            Err(error) => Err(E::custom(error)),
                        }
                    }
                }

                if deserializer.is_human_readable() {
                    deserializer.deserialize_any(NumberVisitor)
                } else {
                    <$ty>::deserialize(deserializer)
                }
            }
        }
    };
}

float!(float32, f32, F32, serialize_f32);
float!(float64, f64, F64, serialize_f64);
