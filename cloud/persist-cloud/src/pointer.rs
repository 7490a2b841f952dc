//! The object that names the current save of a slot and its backups.

use std::fmt::Write;

use persist::storage::SlotVersion;

/// The first line, with the version of this format.
const HEAD: &str = "persist slot 1";

/// The last line. A pointer without it is truncated.
const END: &str = "end";

/// The prefix of a line that names a write.
const WRITE: &str = "write ";

/// The maximum number of writes that a pointer names.
const WRITES: usize = 16;

/// The maximum size of a pointer in bytes, enough for a thousand backups.
pub(crate) const LONGEST: u64 = 128 << 10;

/// The list of the saves of a slot, newest first: the current one and its backups. A deleted slot has an empty list.
///
/// The pointer is a small object, and a writer replaces it only if it is still the one that the writer has read. This
/// makes a save of many megabytes visible atomically, and serializes the writers of the slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    pub(crate) slot: String,
    pub(crate) generations: Vec<Generation>,
    /// The unique names of the latest writes, newest first. A writer whose answer was lost finds its name here, and so
    /// knows that it has succeeded, even if others have replaced its save since.
    pub(crate) writes: Vec<String>,
}

/// A save in an object that is written once and never replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Generation {
    pub(crate) version: SlotVersion,
    /// The name of the object, unique for each put.
    pub(crate) object: String,
}

impl Pointer {
    /// Creates the pointer of a slot that has no save.
    pub(crate) fn new(slot: &str) -> Self {
        Self { slot: slot.to_owned(), generations: Vec::new(), writes: Vec::new() }
    }

    pub(crate) fn current(&self) -> Option<&Generation> {
        self.generations.first()
    }

    /// Records the name of a write, and drops the oldest one beyond [`WRITES`].
    pub(crate) fn note(&mut self, write: &str) {
        self.writes.insert(0, write.to_owned());
        self.writes.truncate(WRITES);
    }

    pub(crate) fn has_noted(&self, write: &str) -> bool {
        self.writes.iter().any(|noted| noted == write)
    }

    pub(crate) fn write(&self) -> String {
        let mut text = format!("{HEAD}\n{}\n", self.slot);
        for Generation { version, object } in &self.generations {
            let _ = writeln!(text, "{version} {object}");
        }
        for write in &self.writes {
            let _ = writeln!(text, "{WRITE}{write}");
        }
        text.push_str(END);
        text.push('\n');
        text
    }

    /// Parses a pointer; returns `None` for bytes that [`write`](Self::write) cannot have written.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut lines = text.strip_suffix('\n')?.split('\n');
        let slot = lines.next().filter(|head| *head == HEAD).and(lines.next())?.to_owned();
        lines.next_back().filter(|end| *end == END)?;
        let (mut generations, mut writes) = (Vec::new(), Vec::new());
        for line in lines {
            if let Some(write) = line.strip_prefix(WRITE) {
                writes.push(name(write)?);
            } else {
                let (version, object) = line.split_once(' ')?;
                generations
                    .push(Generation { version: version.parse().ok()?, object: name(object)? });
            }
        }
        persist::storage::check_slot_name(&slot).ok()?;
        Some(Self { slot, generations, writes })
    }
}

/// Checks the name of an object or a write: it must not lead to another path.
fn name(text: &str) -> Option<String> {
    let is_name = !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    is_name.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::*;

    fn pointer() -> Pointer {
        let generation = |n: u8| Generation {
            version: SlotVersion::from_save(&[n]),
            object: format!("{n}-abc"),
        };
        let generations = vec![generation(2), generation(1)];
        Pointer { slot: "Ada's farm".into(), generations, writes: vec!["2-abc".into()] }
    }

    #[test]
    fn a_pointer_is_read_as_it_was_written() {
        let deleted = Pointer { generations: Vec::new(), ..pointer() };
        for pointer in [pointer(), deleted] {
            assert_eq!(Pointer::read(pointer.write().as_bytes()), Some(pointer));
        }
    }

    #[test]
    fn a_pointer_that_is_cut_short_or_changed_is_none() {
        let text = pointer().write();
        for length in 0..text.len() {
            assert_eq!(Pointer::read(&text.as_bytes()[..length]), None, "{length}");
        }
        for other in [
            text.replace("slot 1", "slot 2"),
            text.replace("-abc", "/../abc"),
            text.replace("Ada's", "../"),
            text.replacen("0000", "+000", 1),
            format!("{text}end\n"),
        ] {
            assert_eq!(Pointer::read(other.as_bytes()), None, "{other}");
        }
    }
}
