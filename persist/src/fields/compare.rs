//! Comparison of two contents of a value, field by field.

use std::any::Any;

use super::bytes::Bytes;
use super::change::{FieldChange, FieldEdit, check_end};
use super::path::FieldPath;
use super::{FieldPart, PartBuffers, Root, SchemaKey, Trail};
use crate::Result;
use crate::codec::{FieldAccess, ListAccess, Portable};
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

/// An operation of a script that converts one list to another, from the first element to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Keep,
    /// The element at the first index of the old list becomes the one at the second index of the new list.
    Change(usize, usize),
    Insert(usize),
    Remove(usize),
}

/// The maximum length of a shortest script, since the time to find it grows with the square of its length. Lists with
/// more differences are compared index by index.
const MAX_EDITS: usize = 64;

/// Lists of equal length with at most this many different elements are compared index by index, without a search for a
/// shorter script.
const FEW: usize = 4;

/// Returns the operations that convert `old` to `new`. They are the fewest, unless more than [`MAX_EDITS`] are needed.
fn script(old: &[&[u8]], new: &[&[u8]]) -> Vec<Op> {
    // If few elements differ at their index, no element has moved.
    let differ = old.iter().zip(new).filter(|(one, other)| one != other).count();
    let is_in_place = old.len() == new.len() && differ <= FEW;
    let shortest = if is_in_place { None } else { shortest(old, new) };
    let between = shortest.unwrap_or_else(|| {
        let removed = (0..old.len()).map(Op::Remove);
        removed.chain((0..new.len()).map(Op::Insert)).collect()
    });
    let mut ops = Vec::new();
    pair(&between, |from, to| old[from] == new[to], &mut ops);
    ops
}

/// Pairs removed and inserted elements at the same place to changes.
fn pair(ops: &[Op], is_same: impl Fn(usize, usize) -> bool, paired: &mut Vec<Op>) {
    for run in ops.chunk_by(|one, other| (*one == Op::Keep) == (*other == Op::Keep)) {
        let removed =
            run.iter().filter_map(|op| if let Op::Remove(at) = op { Some(*at) } else { None });
        let inserted =
            run.iter().filter_map(|op| if let Op::Insert(at) = op { Some(*at) } else { None });
        let (mut removed, mut inserted) = (removed.peekable(), inserted.peekable());
        if run.first() == Some(&Op::Keep) {
            paired.extend(run);
        }
        while let (Some(old), Some(new)) = (removed.peek(), inserted.peek()) {
            paired.push(if is_same(*old, *new) { Op::Keep } else { Op::Change(*old, *new) });
            removed.next();
            inserted.next();
        }
        paired.extend(removed.map(Op::Remove));
        paired.extend(inserted.map(Op::Insert));
    }
}

/// Finds the shortest script of removals and insertions; `None` if it is longer than [`MAX_EDITS`]. The algorithm is
/// from Myers, "An O(ND) Difference Algorithm and Its Variations", 1986.
fn shortest(old: &[&[u8]], new: &[&[u8]]) -> Option<Vec<Op>> {
    let (n, m) = (old.len(), new.len());
    // The furthest index in `old` that is reached on each diagonal. Diagonals are shifted by `zero`, so that none is
    // negative.
    let mut furthest = vec![0_usize; 2 * MAX_EDITS + 3];
    let mut steps: Vec<Vec<usize>> = Vec::new();
    let zero = MAX_EDITS + 1;
    for d in 0..=MAX_EDITS {
        steps.push(furthest.clone());
        for diagonal in (zero - d..=zero + d).step_by(2) {
            let inserts = diagonal == zero - d
                || (diagonal != zero + d && furthest[diagonal - 1] < furthest[diagonal + 1]);
            let mut x = if inserts { furthest[diagonal + 1] } else { furthest[diagonal - 1] + 1 };
            // This diagonal is outside of the lists.
            let Some(mut y) = (x + zero).checked_sub(diagonal) else { continue };
            while x < n && y < m && old[x] == new[y] {
                (x, y) = (x + 1, y + 1);
            }
            furthest[diagonal] = x;
            if x >= n && y >= m {
                return Some(traced(&steps, n, m, zero));
            }
        }
    }
    None
}

/// Walks back from the ends of both lists, and collects the operations.
fn traced(steps: &[Vec<usize>], mut x: usize, mut y: usize, zero: usize) -> Vec<Op> {
    let mut ops = Vec::new();
    for (d, furthest) in steps.iter().enumerate().rev() {
        let diagonal = x + zero - y;
        let inserts = diagonal == zero - d
            || (diagonal != zero + d && furthest[diagonal - 1] < furthest[diagonal + 1]);
        let prior = if inserts { diagonal + 1 } else { diagonal - 1 };
        let from = if d == 0 { (0, 0) } else { (furthest[prior], furthest[prior] + zero - prior) };
        while x > from.0 && y > from.1 {
            ops.push(Op::Keep);
            (x, y) = (x - 1, y - 1);
        }
        if d > 0 {
            ops.push(if inserts { Op::Insert(y - 1) } else { Op::Remove(x - 1) });
        }
        (x, y) = from;
    }
    ops.reverse();
    ops
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(ops: &[Op], old: &[&[u8]], new: &[&[u8]]) -> Vec<Vec<u8>> {
        let (mut left, mut result) = (0, Vec::new());
        for op in ops {
            match op {
                Op::Keep => result.push(old[left].to_vec()),
                Op::Change(from, to) => {
                    assert_eq!(*from, left);
                    result.push(new[*to].to_vec());
                }
                Op::Insert(at) => result.push(new[*at].to_vec()),
                Op::Remove(at) => assert_eq!(*at, left),
            }
            left += usize::from(!matches!(op, Op::Insert(_)));
        }
        assert_eq!(left, old.len());
        result
    }

    #[test]
    fn a_script_converts_one_list_to_the_other() {
        // All pairs of lists of up to six elements, each 0 or 1.
        let lists: Vec<Vec<u8>> = (0..7_u32)
            .flat_map(|len| (0..1_u32 << len).map(move |bits| (len, bits)))
            .map(|(len, bits)| (0..len).map(|at| u8::from(bits >> at & 1 == 1)).collect())
            .collect();
        for old in &lists {
            for new in &lists {
                let (a, b): (Vec<&[u8]>, Vec<&[u8]>) =
                    (old.chunks(1).collect(), new.chunks(1).collect());
                assert_eq!(applied(&script(&a, &b), &a, &b).concat(), *new, "of {old:?}");
            }
        }
    }

    #[test]
    fn few_differences_are_few_operations() {
        let old: Vec<[u8; 2]> = (0..200_u8).map(|at| [at, 1]).collect();
        let mut new = old.clone();
        new.insert(150, [0, 2]);
        new.remove(100);
        new.insert(50, [0, 3]);
        new[7] = [0, 4];
        let (a, b): (Vec<&[u8]>, Vec<&[u8]>) =
            (old.iter().map(|it| &it[..]).collect(), new.iter().map(|it| &it[..]).collect());
        let ops = script(&a, &b);
        let edits: Vec<Op> = ops.into_iter().filter(|op| *op != Op::Keep).collect();
        assert_eq!(edits, [Op::Change(7, 7), Op::Insert(50), Op::Remove(100), Op::Insert(150)]);
    }
}
