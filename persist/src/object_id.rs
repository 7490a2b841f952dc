use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use crate::{Error, ErrorKind, Result};

/// Identifies an object in a save or a [`World`](crate::World); never 0.
///
/// A component may hold ids of other objects of its world in any field. Ids are saved as ids, not as numbers. When a
/// part of a world is inserted into another one, its objects get new ids, and the ids inside of it are updated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct ObjectId(NonZeroU64);

impl ObjectId {
    /// An id that no object ever has, used as the empty value of a field.
    pub const NULL: Self = Self(NonZeroU64::MAX);

    /// The bit of dead ids, whose object is missing from the world.
    pub(crate) const DEAD: u64 = 1 << 63;

    /// Returns the id with this number, unless the number is 0.
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        match NonZeroU64::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// Returns the number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0.get()
    }

    /// True if no object ever has this id: [`NULL`](Self::NULL), and ids that pointed out of a part when it was
    /// inserted into a world.
    #[must_use]
    pub fn is_dead(self) -> bool {
        self.get() & Self::DEAD != 0
    }

    /// Returns the dead id for a live one.
    pub(crate) fn dead(number: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add((number | Self::DEAD) - 1))
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Parses the text that [`Display`](fmt::Display) writes, with or without the `#`.
///
/// ```
/// use persist::ObjectId;
///
/// let id: ObjectId = "#7".parse()?;
/// assert_eq!(id.to_string(), "#7");
/// assert_eq!("7".parse::<ObjectId>()?, id);
/// assert!("0".parse::<ObjectId>().is_err());
/// # Ok::<(), persist::Error>(())
/// ```
impl FromStr for ObjectId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let digits = text.strip_prefix('#').unwrap_or(text);
        // An id has no sign.
        let number = digits.parse().ok().filter(|_| !digits.starts_with('+'));
        number.and_then(Self::new).ok_or_else(|| {
            error!(
                ErrorKind::InvalidValue,
                "{text:.100?} is not the id of an object; write a number from 1 on, such as #7"
            )
        })
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectId({})", self.0)
    }
}
