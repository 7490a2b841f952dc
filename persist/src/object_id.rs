use std::fmt;
use std::num::NonZeroU64;

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

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectId({})", self.0)
    }
}
