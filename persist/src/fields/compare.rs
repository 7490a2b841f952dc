//! Comparison of two contents of a value, field by field.

use std::any::Any;

use super::bytes::Bytes;
use super::change::{FieldChange, FieldEdit, Root, check_end};
use super::diff::{Op, script};
use super::part::{FieldPart, PartBuffers, SchemaKey};
use super::path::FieldPath;
use super::paths::Trail;
use crate::Result;
use crate::codec::ListAccess;
use crate::codec::{FieldAccess, Portable};
use crate::graph::Registry;
use crate::schema::{Cursor, ProgramClass};

/// Encodes a whole value.
pub(crate) fn content_of(registry: &Registry, root: &dyn Portable) -> Result<Vec<u8>> {
    let mut buffers = PartBuffers::default();
    FieldPart::find(&mut buffers, registry, root, &[])?;
    Ok(buffers.into_bytes())
}

/// Returns the changes between two contents of a value, which has the second one now. They are changes of the innermost
/// fields of structs, and of the elements of lists.
pub(crate) fn compared(
    registry: &Registry,
    class: &str,
    root: &dyn Any,
    (old, new): (&[u8], &[u8]),
) -> Result<Vec<FieldChange>> {
    let mut comparison = ValueComparison { registry, trail: Trail::new(class, &[]), found: vec![] };
    if old != new {
        comparison.value(root, None, None, old, new)?;
    }
    Ok(comparison.found)
}

impl Root<'_> {
    /// Returns the changes of the fields of a part since it had this content.
    pub(crate) fn changes_at(&mut self, path: &FieldPath, old: &[u8]) -> Result<Vec<FieldChange>> {
        let root = &*self.value;
        let (mut part, value) = FieldPart::reach(self.buffers, self.registry, root, path.steps())?;
        check_end(&part, path)?;
        part.encode(root, value)?;
        let (trail, new) = (Trail::new(path.class(), path.steps()), part.bytes());
        let mut comparison = ValueComparison { registry: self.registry, trail, found: Vec::new() };
        if old != new {
            comparison.value(value, part.access(), part.key(), old, new)?;
        }
        let found = comparison.found;
        self.buffers.trim();
        Ok(found)
    }
}

/// A walk over a value that compares its two contents.
struct ValueComparison<'w> {
    registry: &'w Registry,
    /// The current place in the value.
    trail: Trail<'w>,
    found: Vec<FieldChange>,
}

impl ValueComparison<'_> {
    /// Compares the old and new bytes of a value, which differ. `value` has the new content.
    fn value(
        &mut self,
        value: &dyn Any,
        access: Option<&'static FieldAccess>,
        key: Option<SchemaKey>,
        old: &[u8],
        new: &[u8],
    ) -> Result<()> {
        if access.is_none_or(|access| !access.has_adapter()) {
            // A time is compared as a whole, since its parts belong together. An enum is, too: its fields depend on the
            // variant.
            let is_open = |target: &ProgramClass| {
                target.class.variants().is_empty() && target.access.field(value, 0).is_some()
            };
            let entry = self.registry.entry(value);
            if let Some((class, target)) = entry.filter(|(_, target)| is_open(target)) {
                return self.fields(value, class, target, old, new);
            }
            if let (Some(list), Some(key)) = (access.and_then(FieldAccess::list), key)
                && self.list(value, list, key, old, new)?
            {
                return Ok(());
            }
        }
        self.find_set(old, new);
        Ok(())
    }

    fn fields(
        &mut self,
        value: &dyn Any,
        class: usize,
        target: ProgramClass,
        old: &[u8],
        new: &[u8],
    ) -> Result<()> {
        let layout = self.registry.program().layout();
        let mut old_cursor = Cursor::of_class(layout, class, old);
        let mut new_cursor = Cursor::of_class(layout, class, new);
        for (field, record) in target.class.fields().iter().enumerate() {
            let old = &old[old_cursor.pass_field(class, field)?];
            // The encoding is prefix-free: if the new bytes begin with the bytes of the old field, the field is equal.
            if new_cursor.pass_bytes(old) {
                continue;
            }
            let new = &new[new_cursor.pass_field(class, field)?];
            self.trail.enter(record.name);
            match target.access.field(value, field) {
                Some(inner) => {
                    let (access, key) = (target.access.access(0, field), ((class, 0, field), 0));
                    self.value(inner, access, Some(key), old, new)?;
                }
                None => self.find_set(old, new),
            }
            self.trail.leave();
            if old_cursor.rest() == new_cursor.rest() {
                break;
            }
        }
        Ok(())
    }

    /// Compares a list by its elements. Returns false if recording the whole list takes less memory.
    fn list(
        &mut self,
        value: &dyn Any,
        list: &'static dyn ListAccess,
        (place, depth): SchemaKey,
        old: &[u8],
        new: &[u8],
    ) -> Result<bool> {
        let layout = self.registry.program().layout();
        let elements = |bytes| {
            let mut cursor = Cursor::of_field(layout, place, bytes);
            for _ in 0..depth {
                cursor = cursor.and_then(Cursor::of_element);
            }
            cursor.map(|cursor| cursor.last_list()).transpose()
        };
        let (Some(olds), Some(news)) = (elements(old)?, elements(new)?) else { return Ok(false) };
        let Some((first, olds, news)) = olds.differing(&news)? else { return Ok(false) };
        let ops = script(&olds, &news);
        let count = ops.iter().filter(|op| **op != Op::Keep).count();
        let whole = Bytes::held_of(old) + Bytes::held_of(new);
        if count > 1 && count * size_of::<FieldChange>() > whole {
            return Ok(false);
        }
        let mut at = first as u64;
        for op in ops {
            match op {
                Op::Keep => {}
                Op::Change(from, to) => {
                    self.trail.enter_element(at);
                    let (old, new) = (olds[from], news[to]);
                    match list.get(value, first + to) {
                        Some(element) => {
                            let key = Some((place, depth + 1));
                            self.value(element, Some(list.element()), key, old, new)?;
                        }
                        None => self.find_set(old, new),
                    }
                    self.trail.leave();
                }
                Op::Insert(to) => {
                    self.find(FieldEdit::Insert { index: at, element: news[to].into() });
                }
                Op::Remove(from) => {
                    self.find(FieldEdit::Remove { index: at, element: olds[from].into() });
                }
            }
            at += u64::from(!matches!(op, Op::Remove(_)));
        }
        Ok(true)
    }

    fn find_set(&mut self, old: &[u8], new: &[u8]) {
        self.find(FieldEdit::Set { old: old.into(), new: new.into() });
    }

    fn find(&mut self, how: FieldEdit) {
        self.found.push(FieldChange { path: self.trail.path(), how });
    }
}
