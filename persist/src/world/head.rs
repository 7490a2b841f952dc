//! What a save has of an object before its components, for those that are as most are.

use super::names::{Name, Names};
use crate::codec::count;

/// The most digits of the number of a name.
const DIGITS: usize = 10;

/// The longest base of a name that is written here.
const SHORT_BASE: usize = 40;

/// Bytes of the longest name.
const TEXT: usize = SHORT_BASE + DIGITS;

/// Bytes of the longest head: id, name, and what follows that.
pub(super) const PLAIN: usize = 9 + 1 + TEXT + 4;

/// The head of a plain object: active, without children, with a short name. It keeps the text of the last name:
/// the next one is mostly its successor.
pub(super) struct PlainHead {
    name: Option<Name>,
    text: [u8; TEXT],
    /// Where the number begins in the text, and where it ends.
    base: usize,
    end: usize,
    /// False for a name that is too long.
    fits: bool,
}

impl Default for PlainHead {
    fn default() -> Self {
        Self { name: None, text: [0; TEXT], base: 0, end: 0, fits: true }
    }
}

impl PlainHead {
    /// Takes the name of the next object; false if it is too long.
    #[inline]
    pub(super) fn set_name(&mut self, name: Option<Name>, names: &Names) -> bool {
        if name != self.name {
            let follows = self.name.zip(name).is_some_and(|(last, name)| name.follows(last));
            if !(follows && self.count_up()) {
                self.enter(name, names);
            }
            self.name = name;
        }
        self.fits
    }

    /// Adds one to the number; false if it gets more digits.
    #[inline]
    fn count_up(&mut self) -> bool {
        let Some(digits) = self.text.get_mut(self.base..self.end) else { return false };
        for digit in digits.iter_mut().rev() {
            if *digit < b'9' {
                *digit += 1;
                return true;
            }
            *digit = b'0';
        }
        false
    }

    #[inline(never)]
    fn enter(&mut self, name: Option<Name>, names: &Names) {
        let (base, number) = name.map_or(("", 0), |name| names.parts(name));
        let (mut digits, mut at, mut rest) = ([0; DIGITS], DIGITS, number);
        while rest > 0 {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        let digits = &digits[at..];
        self.fits = base.len() <= SHORT_BASE;
        (self.base, self.end) = (0, 0);
        if self.fits {
            (self.base, self.end) = (base.len(), base.len() + digits.len());
            self.text[..self.base].copy_from_slice(base.as_bytes());
            self.text[self.base..self.end].copy_from_slice(digits);
        }
    }

    /// Writes the head of the object with that name, which ends with two counts: how many components wait to be started,
    /// and how many there are. Returns its length; bytes after it change, too.
    #[inline]
    pub(super) fn store(&self, id: u64, counts: [u8; 2], out: &mut [u8; PLAIN]) -> usize {
        let at = count::store(id, out) + 1;
        out[at - 1] = u8::try_from(self.end).unwrap_or(u8::MAX);
        // All of the memory: a copy of a length that is known is a few instructions.
        out[at..][..TEXT].copy_from_slice(&self.text);
        let at = at + self.end;
        // No children, and active.
        out[at..][..4].copy_from_slice(&[0, 0, counts[0], counts[1]]);
        at + 4
    }
}
