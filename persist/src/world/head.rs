//! A fast path for the head of an object in a save: id, name, children, activity and counts, before its components.
//!
//! Most objects of a large world are active, have no children and a short numbered name. Their heads are written with
//! copies of fixed lengths.

use super::names::{Name, Names};
use crate::codec::count;

/// The maximum number of digits in a `u32`, so that any number of a name fits.
const DIGITS: usize = 10;

/// The maximum length of the base of a name on this path, in bytes. Longer names take the general path.
const SHORT_BASE: usize = 40;

/// The maximum length of a name on this path, in bytes.
const TEXT: usize = SHORT_BASE + DIGITS;

/// The maximum length of a head in bytes. The id takes up to 9, the length of the name 1, and the children, the
/// activity and the two counts 1 each.
pub(super) const PLAIN: usize = 9 + 1 + TEXT + 4;

/// Writes the heads of plain objects: active, without children, with a short name.
///
/// It keeps the text of the last name. Objects are often spawned in a row, as `Orc1`, `Orc2` and so on, so the next
/// text is often made by adding 1 to the digits.
pub(super) struct PlainHead {
    name: Option<Name>,
    text: [u8; TEXT],
    /// The offsets in the text at which the number begins and ends.
    base: usize,
    end: usize,
    /// False if the name is too long for this path.
    fits: bool,
}

impl Default for PlainHead {
    fn default() -> Self {
        Self { name: None, text: [0; TEXT], base: 0, end: 0, fits: true }
    }
}

impl PlainHead {
    /// Sets the name of the next object. Returns false if it is too long for this path.
    #[inline]
    pub(super) fn set_name(&mut self, name: Option<Name>, names: &Names) -> bool {
        if name != self.name {
            let follows = self.name.zip(name).is_some_and(|(last, name)| name.follows(last));
            if !(follows && self.count_up()) {
                self.format_name(name, names);
            }
            self.name = name;
        }
        self.fits
    }

    /// Adds 1 to the digits in place. Returns false if the number needs another digit.
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

    /// Formats a name from its base and number. It is not inlined, so that the common path stays small.
    #[inline(never)]
    fn format_name(&mut self, name: Option<Name>, names: &Names) {
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

    /// Writes the head of the object with the name that was set, and returns its length. `counts` are the number of
    /// components that wait to be started, and the number of all components. Bytes of `out` after the head change, too.
    #[inline]
    pub(super) fn store(&self, id: u64, counts: [u8; 2], out: &mut [u8; PLAIN]) -> usize {
        let at = count::store(id, out) + 1;
        out[at - 1] = u8::try_from(self.end).unwrap_or(u8::MAX);
        // The whole array is copied: a copy of a constant length is a few instructions, and the next write overwrites
        // the bytes after the name.
        out[at..][..TEXT].copy_from_slice(&self.text);
        let at = at + self.end;
        // No children, and active.
        out[at..][..4].copy_from_slice(&[0, 0, counts[0], counts[1]]);
        at + 4
    }
}
