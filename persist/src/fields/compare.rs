//! Which fields of a value are not what they were.

use std::any::Any;

use super::change::{FieldChange, How};
use super::part::{Part, Room};
use super::paths::{Paths, Trail};
use crate::Result;
use crate::codec::Portable;
use crate::graph::Registry;
use crate::schema::{Cursor, Target};

/// The bytes of a whole value.
pub(crate) fn content_of(registry: &Registry, root: &dyn Portable) -> Result<Vec<u8>> {
    let mut room = Room::default();
    Part::find(&mut room, registry, root, &[])?;
    Ok(room.into_bytes())
}

/// The fields of a value of a class in which two contents of it differ: the innermost ones that lie in structs. It has
/// one of the contents.
pub(crate) fn compared(
    registry: &Registry,
    paths: &Paths,
    class: &str,
    root: &dyn Any,
    (old, new): (&[u8], &[u8]),
) -> Result<Vec<FieldChange>> {
    if old == new {
        return Ok(Vec::new());
    }
    let trail = Trail::new(class);
    let mut comparison = Comparison { registry, paths, trail, found: Vec::new() };
    comparison.compare(root, old, new)?;
    Ok(comparison.found)
}

/// What of a value has changed.
struct Comparison<'w> {
    registry: &'w Registry,
    paths: &'w Paths,
    /// Where in the value it is.
    trail: Trail<'w>,
    found: Vec<FieldChange>,
}

impl Comparison<'_> {
    /// Compares the bytes of a value that is there with those that it had; they differ.
    fn compare(&mut self, value: &dyn Any, old: &[u8], new: &[u8]) -> Result<()> {
        let registry = self.registry;
        let entry = registry.entry(value);
        // Not a time, whose parts go together, nor an enum, whose fields change with the variant.
        let is_open = |target: &Target| {
            target.class.variants().is_empty() && target.access.field(value, 0).is_some()
        };
        let Some((index, target)) = entry.filter(|(_, target)| is_open(target)) else {
            self.find(old, new);
            return Ok(());
        };
        let layout = registry.program().layout();
        let mut before = Cursor::of_class(layout, index, old);
        let mut behind = Cursor::of_class(layout, index, new);
        for (field, record) in target.class.fields().iter().enumerate() {
            let old = &old[before.pass_field(index, field)?];
            // Bytes say where they end: what begins as the field was is that.
            if behind.pass_bytes(old) {
                continue;
            }
            let new = &new[behind.pass_field(index, field)?];
            self.trail.enter(field, record.name);
            match target.access.field(value, field) {
                Some(inner) if !record.has_module => self.compare(inner, old, new)?,
                _ => self.find(old, new),
            }
            self.trail.leave();
            if before.rest() == behind.rest() {
                break;
            }
        }
        Ok(())
    }

    fn find(&mut self, old: &[u8], new: &[u8]) {
        let how = How::Set { old: old.into(), new: new.into() };
        self.found.push(FieldChange { path: self.paths.at(&self.trail), how });
    }
}
