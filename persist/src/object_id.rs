use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use crate::{Error, ErrorKind, Result};

/// The number by which a save or a [`World`](crate::World) knows an object; never 0.
///
/// A component may hold ids of other objects of its world in any field. They are saved as what they are, not as
/// numbers: a part of a world that is put into another one gets new ids, and those inside of it follow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct ObjectId(NonZeroU64);

impl ObjectId {
    /// An id that no object ever has: the empty value of a field.
    pub const NOWHERE: Self = Self(NonZeroU64::MAX);

    /// The bit of ids whose object is not where they are.
    pub(crate) const DEAD: u64 = 1 << 63;

    /// The id with this number, unless it is 0.
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        match NonZeroU64::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0.get()
    }

    /// True if no object ever has this id: [`NOWHERE`](Self::NOWHERE), and ids that led out of what was put into a
    /// world.
    #[must_use]
    pub fn is_dead(self) -> bool {
        self.get() & Self::DEAD != 0
    }

    /// The dead id that belongs to a live one.
    pub(crate) fn dead(number: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add((number | Self::DEAD) - 1))
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Parses what [`Display`](fmt::Display) writes, with the `#` or without it.
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
        // A sign is none of an id.
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
