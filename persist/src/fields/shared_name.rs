//! The text of names in saves. If several objects share a name, the text is the name, a mark and a number of the
//! library.
//!
//! If a name of the program ends like such a text, its marks are doubled, so that every text has one meaning:
//!
//! | name | number | text, with `^` for the mark |
//! | --- | --- | --- |
//! | `Goblin` | none | `Goblin` |
//! | `Goblin` | 1 | `Goblin^1` |
//! | `Goblin1` | none | `Goblin1` |
//! | `Goblin^1` | none | `Goblin^^1` |
//! | `Goblin^` | 1 | `Goblin^^^1` |

use std::borrow::Cow;

/// The mark: a control character that names in existing saves are unlikely to contain.
pub(crate) const MARK: char = '\u{1f}';

/// Returns the text of a name with a number of the library, or 0 for none.
#[must_use]
pub fn write_name(name: &str, number: u32) -> Cow<'_, str> {
    if number > 0 {
        let doubled = marks(name);
        return format!("{name}{doubled}{MARK}{number}").into();
    }
    let (base, own) = split(name);
    let doubled = marks(base);
    if own == 0 || doubled.is_empty() {
        return name.into();
    }
    format!("{base}{doubled}{own}").into()
}

/// Returns the name and the number of a text. It is the inverse of [`write_name`].
#[must_use]
pub fn read_name(text: &str) -> (Cow<'_, str>, u32) {
    let (base, number) = split(text);
    let marks = marks(base).len();
    if number == 0 || marks == 0 {
        return (text.into(), 0);
    }
    let name = &base[..base.len() - marks.div_ceil(2)];
    if marks % 2 == 1 {
        return (name.into(), number);
    }
    (format!("{name}{number}").into(), 0)
}

/// Returns the marks at the end of a text.
fn marks(text: &str) -> &str {
    &text[text.trim_end_matches(MARK).len()..]
}

/// The largest number of a name. Nine digits fit into a `u32`; further digits belong to the base.
pub(crate) const LAST_NUMBER: u32 = 999_999_999;

pub(crate) const DIGITS: usize = 9;

/// Splits a text into its base and number. The number is the longest suffix of at most nine digits that does not begin
/// with a zero, so that every text splits in one way. The base is never empty.
pub(crate) fn split(text: &str) -> (&str, u32) {
    let is_digit = |at: &usize| text.as_bytes()[*at].is_ascii_digit();
    let first = text.len().saturating_sub(DIGITS).max(1);
    let digits = (first..text.len()).rev().take_while(is_digit);
    let Some(at) = digits.filter(|at| text.as_bytes()[*at] != b'0').last() else {
        return (text, 0);
    };
    match text.split_at_checked(at) {
        Some((base, number)) => (base, number.parse().unwrap_or(0)),
        None => (text, 0),
    }
}
