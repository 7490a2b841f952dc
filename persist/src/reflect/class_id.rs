//! The number by which a save knows a class: a hash of its name, and numbered ones if several share that.

use std::fmt;

/// Identifies a class in a save.
///
/// By default it is the 64-bit FNV-1a hash of the class's name (<http://www.isthe.com/chongo/tech/comp/fnv/>), else the
/// number that the program gave with `#[persist(id = n)]`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassId(pub u64);

impl ClassId {
    /// Returns the id of a class that has this name and no number of its own.
    ///
    /// ```
    /// use persist::reflect::ClassId;
    ///
    /// const HERO: ClassId = ClassId::from_name("quest.Hero");
    /// assert_ne!(HERO, ClassId::from_name("quest.Monster"));
    /// ```
    #[must_use]
    pub const fn from_name(name: &str) -> Self {
        let bytes = name.as_bytes();
        let mut id = Self(0xcbf2_9ce4_8422_2325);
        let mut i = 0;
        while i < bytes.len() {
            id = id.followed_by(bytes[i]);
            i += 1;
        }
        id
    }

    /// Returns the id of the name with one more byte.
    const fn followed_by(self, byte: u8) -> Self {
        Self((self.0 ^ byte as u64).wrapping_mul(0x0000_0100_0000_01b3))
    }

    /// The most digits of a number in an id. A save that holds the unknown data of many others may need thousands of
    /// numbers. A load tries all of them for a class that has the name of one of the program's, but another id.
    const MAX_DIGITS: u32 = 5;

    /// Returns the id of a class whose own id another class has in a save, or `None` if the number is too large.
    pub(crate) fn numbered(name: &str, number: u32) -> Option<Self> {
        let is_small = number < 10_u32.pow(Self::MAX_DIGITS);
        is_small.then(|| Self::from_name(&format!("{name}#{number}")))
    }

    /// Returns true if this is the id of that name with one of the numbers.
    pub(crate) fn is_numbered(self, name: &str) -> bool {
        self.continues(Self::from_name(name).followed_by(b'#'), Self::MAX_DIGITS)
    }

    /// Returns true if this is the id of the other's name with one to `digits` more digits.
    fn continues(self, other: Self, digits: u32) -> bool {
        /// The inverse of the factor in `followed_by`. It saves the search for the last digit, which is 90 % of all.
        const INVERSE: u64 = 0xce96_5057_aff6_957b;
        let last = self.0.wrapping_mul(INVERSE) ^ other.0;
        (u64::from(b'0')..=u64::from(b'9')).contains(&last)
            || digits > 1
                && (b'0'..=b'9').any(|digit| self.continues(other.followed_by(digit), digits - 1))
    }
}

impl fmt::Display for ClassId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for ClassId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClassId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::ClassId;

    #[test]
    fn the_numbers_that_a_save_uses_are_recognised_and_no_others() {
        for number in [1, 9, 10, 1_000, 1_001, 54_321, 99_999] {
            let id = ClassId::numbered("Ore", number).expect("a number of a save");
            assert!(id.is_numbered("Ore"), "{number}");
        }
        assert_eq!(ClassId::numbered("Ore", 100_000), None);
        for other in ["Ore", "Ore#", "Ore#x", "Or#1", "Ore#1#1", "Ore#100000"] {
            assert!(!ClassId::from_name(other).is_numbered("Ore"), "{other}");
        }
    }
}
