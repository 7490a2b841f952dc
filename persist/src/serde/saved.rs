use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

use crate::Persist;

/// Wraps a value that derives `Persist`, for a document of serde.
///
/// The document holds the bytes of a whole save, with schema and checksums, so that the value loads after its type has
/// changed. Formats for people, such as JSON, hold them as text: two hexadecimal digits for each byte.
///
/// ```
/// use persist::Persist;
/// use persist::serde::Saved;
///
/// #[derive(Persist, Debug, PartialEq)]
/// struct Hero { name: String, level: u32 }
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Upload { player: u64, hero: Saved<Hero> }
///
/// let hero = Saved(Hero { name: "Ada".into(), level: 3 });
/// let json = serde_json::to_string(&Upload { player: 7, hero })?;
/// let upload: Upload = serde_json::from_str(&json)?;
/// assert_eq!(upload.hero.level, 3);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Saved<T>(pub T);

impl<T> Deref for Saved<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Saved<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> From<T> for Saved<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T: Persist> Serialize for Saved<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let save = crate::to_vec(&self.0).map_err(ser::Error::custom)?;
        if serializer.is_human_readable() {
            serializer.collect_str(&Digits(&save))
        } else {
            serializer.serialize_bytes(&save)
        }
    }
}

/// Shows bytes as two hexadecimal digits each.
struct Digits<'b>(&'b [u8]);

impl fmt::Display for Digits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Parses such digits; `None` if the text is not that.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return None };
    let digit =
        |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

impl<'de, T: Persist> Deserialize<'de> for Saved<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BytesVisitor<T>(PhantomData<T>);

        impl<'de, T: Persist> Visitor<'de> for BytesVisitor<T> {
            type Value = Saved<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the bytes of a save")
            }

            fn visit_bytes<E: de::Error>(self, save: &[u8]) -> Result<Saved<T>, E> {
                crate::from_slice(save).map(Saved).map_err(E::custom)
            }

            fn visit_str<E: de::Error>(self, digits: &str) -> Result<Saved<T>, E> {
                let save = bytes_of(digits).ok_or_else(|| {
                    E::custom("the text is not two hexadecimal digits for each byte")
                })?;
                self.visit_bytes(&save)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut bytes: A) -> Result<Saved<T>, A::Error> {
                let mut save = Vec::new();
                while let Some(byte) = bytes.next_element()? {
                    save.push(byte);
                }
                self.visit_bytes(&save)
            }
        }

        if deserializer.is_human_readable() {
            deserializer.deserialize_str(BytesVisitor(PhantomData))
        } else {
            deserializer.deserialize_bytes(BytesVisitor(PhantomData))
        }
    }
}
