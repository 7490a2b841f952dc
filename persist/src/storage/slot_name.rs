//! Checks the names of slots, and makes them from titles.

use twox_hash::XxHash3_128;

use crate::{ErrorKind, Result};

/// Maximum bytes of a name. With all suffixes added, it is short enough for every system.
const LONGEST: usize = 100;

/// The names of devices on Windows. No file can have such a name, whatever its suffix.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Returns an error for a name that no slot can have.
///
/// [`Slots`](crate::save::Slots) and every [`SlotStore`](super::SlotStore) call it, so that a slot can be copied from one
/// to the other. An implementation of `SlotStore` calls it first.
///
/// # Errors
///
/// Returns [`ErrorKind::InvalidValue`] for a name that no file can have on some system. A valid name has 1 to 100
/// bytes, without `/ \ : * ? " < > |` and control characters. It does not begin or end with a dot or space, and is not
/// the name of a device on Windows, such as `con` or `lpt1`.
pub fn check_slot_name(name: &str) -> Result<()> {
    match fault(name) {
        None => Ok(()),
        Some(what) => Err(error!(
            ErrorKind::InvalidValue,
            "{name:.100?} cannot be the name of a slot, {what}; choose another"
        )),
    }
}

fn fault(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("it is empty")
    } else if name.len() > LONGEST {
        Some("it has more than 100 bytes")
    } else if name.contains(is_bad) {
        Some("it has a separator or another character that file names cannot have")
    } else if name.starts_with(is_edge) || name.ends_with(is_edge) {
        Some("it begins or ends with a dot or a space")
    } else if is_device(name) {
        Some("it is that of a device of Windows")
    } else {
        None
    }
}

/// True for the name of a device on Windows, with any suffix.
pub(super) fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end().to_lowercase();
    let is_numbered = |of: &str| {
        let number = stem.strip_prefix(of).and_then(|number| {
            let mut chars = number.chars();
            chars.next().filter(|_| chars.next().is_none())
        });
        number.is_some_and(|number| "0123456789\u{b9}\u{b2}\u{b3}".contains(number))
    };
    DEVICES.contains(&&*stem) || is_numbered("com") || is_numbered("lpt")
}

/// Makes the name of a slot from any title, such as one that a player typed.
///
/// ```
/// use persist::save::slot_name;
///
/// assert_eq!(slot_name("Ada's farm"), "Ada's farm");
/// assert_eq!(slot_name("Ada: 3/4"), "Ada%3A 3%2F4");
/// assert!(persist::storage::check_slot_name(&slot_name("con")).is_ok());
/// ```
///
/// A title that is a valid name of a slot is returned unchanged, unless it has a `%`, or is the name of a rotating slot
/// such as `auto1`. In other titles, each invalid character and each `%` becomes a `%` and the hexadecimal digits of
/// its bytes, as in a URL. So different titles have different names.
///
/// A title whose name would be longer than 100 bytes is cut. Its name then ends in `%-` and a 128-bit hash of the whole
/// title, so two such titles collide with a chance of one in 2^128. Show the title from
/// [`SlotInfo::title`](crate::save::SlotInfo::title).
///
/// Titles that differ only in case have names that differ only in case. Some systems take such names for one file.
#[must_use]
pub fn slot_name(title: &str) -> String {
    // No other title has this name: the title `%` has the name `%25`.
    if title.is_empty() {
        return String::from("%");
    }
    let escaped = |c: char, name: &mut String| {
        let mut bytes = [0; 4];
        c.encode_utf8(&mut bytes).bytes().for_each(|byte| name.push_str(&format!("%{byte:02X}")));
    };
    let last = title.char_indices().next_back().map_or(0, |(at, _)| at);
    // Escape names of rotating slots too: these slots replace each other.
    let is_reserved = is_device(title) || auto_number(&title.to_lowercase()).is_some();
    let mut name = String::new();
    for (at, c) in title.char_indices() {
        let at_edge = (at == 0 || at == last) && is_edge(c);
        if is_bad(c) || c == '%' || at_edge || (at == 0 && is_reserved) {
            escaped(c, &mut name);
        } else {
            name.push(c);
        }
    }
    if name.len() <= LONGEST {
        return name;
    }
    let mut end = LONGEST - HASHED;
    while !name.is_char_boundary(end) || name[..end].ends_with(is_edge) {
        end -= 1;
    }
    name.truncate(end);
    format!("{name}%-{:032x}", XxHash3_128::oneshot(title.as_bytes()))
}

/// Returns the title from which a name was made. For a name that was cut, it is the rest of the title; for a name that
/// was not made from a title, it is the name itself.
pub(crate) fn title_of(name: &str) -> String {
    if name == "%" {
        return String::new();
    }
    let (start, is_cut) = match name.rfind("%-") {
        Some(at) if name.len() - at == HASHED => (&name[..at], true),
        _ => (name, false),
    };
    let (mut bytes, mut rest) = (Vec::new(), start.bytes());
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |digit: Option<u8>| char::from(digit?).to_digit(16);
        let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else {
            return name.to_owned();
        };
        bytes.extend(u8::try_from(high * 16 + low));
    }
    match String::from_utf8(bytes) {
        Ok(title) if is_cut => format!("{title}..."),
        Ok(title) => title,
        Err(_) => name.to_owned(),
    }
}

/// Prefix of the names of rotating slots.
const AUTO: &str = "auto";

/// Returns the number of a rotating slot.
pub(crate) fn auto_number(name: &str) -> Option<u32> {
    let number = name.strip_prefix(AUTO).and_then(|number| number.parse().ok())?;
    (name == auto_name(number)).then_some(number)
}

/// Returns the name of a rotating slot.
pub(crate) fn auto_name(number: u32) -> String {
    format!("{AUTO}{number}")
}

/// Bytes of the hash at the end of a name that was cut, including its `%-`, which no escaped name has.
const HASHED: usize = 34;

/// Returns true for a character that no file name can have on some system.
fn is_bad(c: char) -> bool {
    c.is_control() || "/\\:*?\"<>|".contains(c)
}

/// Returns true for a character that a name can neither begin nor end with.
fn is_edge(c: char) -> bool {
    c == '.' || c.is_whitespace()
}
