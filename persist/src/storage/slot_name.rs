//! The names that slots can have.

use crate::{ErrorKind, Result};

/// Bytes of a name; with all endings added, it is short enough for every system.
const LONGEST: usize = 100;

/// The devices of Windows, which a file cannot be named after, whatever its ending.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Returns an error for a name that no slot can have.
///
/// [`Slots`](crate::save::Slots) and every [`SlotStore`](super::SlotStore) call it, so that a slot can be copied from one
/// to the other. An implementation of `SlotStore` calls it first.
///
/// # Errors
///
/// [`ErrorKind::InvalidValue`] for a name that no file can have on some system. A name has 1 to 100
/// bytes, without `/ \ : * ? " < > |` and control characters. It begins with no dot or space, ends
/// with neither, and is none of the devices of Windows, such as `con` or `lpt1`.
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
    let is_bad = |c: char| c.is_control() || "/\\:*?\"<>|".contains(c);
    let is_edge = |c: char| c == '.' || c.is_whitespace();
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

fn is_device(name: &str) -> bool {
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
