//! Comparison of two contents of a value, field by field.

use std::any::Any;
use std::ops::Range;

use hashbrown::HashMap;

use super::bytes::Bytes;
use super::change::{FieldChange, FieldEdit, check_end, key_of};
use super::path::{FieldPath, PathStep};
use super::{FieldPart, PartBuffers, Root, SchemaKey, Trail};
use crate::codec::{FieldAccess, ListAccess, MapAccess, Portable};
use crate::graph::Registry;
use crate::schema::{Cursor, ProgramClass};
use crate::{Result, Value};

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
    let mut comparison =
        ValueComparison { registry, trail: Trail::new(class, &[], 0), found: vec![] };
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
        let trail = Trail::new(path.class(), path.steps(), part.elements);
        let new = part.bytes();
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
            let list = access.and_then(FieldAccess::list);
            let map = access.and_then(FieldAccess::map);
            if let Some(key) = key
                && match (list, map) {
                    (Some(list), _) => self.list(value, list, key, old, new)?,
                    (None, Some(map)) => self.map(value, map, key, old, new)?,
                    (None, None) => self.array(key, old, new)?,
                }
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
        let cursor = |bytes| self.cursor((place, depth), bytes);
        let (Some(olds), Some(news)) = (cursor(old), cursor(new)) else { return Ok(false) };
        let (Some(olds), Some(news)) = (olds.last_elements(false)?, news.last_elements(false)?)
        else {
            return Ok(false);
        };
        let len = u32::try_from(olds.len()).unwrap_or(u32::MAX);
        let Some((first, olds, news)) = olds.differing(&news)? else { return Ok(false) };
        let ops = script(&olds, &news);
        let changes = ops.iter().map(|op| match op {
            Op::Keep => 0,
            Op::Change(..) => size_of::<FieldChange>(),
            Op::Insert(to) => size_of::<FieldChange>() + Bytes::held_of(news[*to]),
            Op::Remove(from) => size_of::<FieldChange>() + Bytes::held_of(olds[*from]),
        });
        let is_single = ops.iter().filter(|op| **op != Op::Keep).nth(1).is_none();
        if !is_single && changes.sum::<usize>() > Bytes::held_of(old) + Bytes::held_of(new) {
            return Ok(false);
        }
        let (mut at, outer) = (first as u64, self.trail.elements);
        self.trail.elements = outer.saturating_add(len);
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
                    self.trail.elements = self.trail.elements.saturating_add(1);
                }
                Op::Remove(from) => {
                    self.trail.elements = self.trail.elements.saturating_sub(1);
                    self.find(FieldEdit::Remove { index: at, element: olds[from].into() });
                }
            }
            at += u64::from(!matches!(op, Op::Remove(_)));
        }
        self.trail.elements = outer;
        Ok(true)
    }

    /// Compares a map by its keys. Returns false if recording the whole map takes less memory.
    fn map(
        &mut self,
        value: &dyn Any,
        map: &'static dyn MapAccess,
        (place, depth): SchemaKey,
        old: &[u8],
        new: &[u8],
    ) -> Result<bool> {
        let cursor = |bytes| self.cursor((place, depth), bytes);
        let (Some(olds), Some(news)) = (cursor(old), cursor(new)) else { return Ok(false) };
        let (Some(olds), Some(news)) = (olds.entries()?, news.entries()?) else {
            return Ok(false);
        };
        let Some((_, old_entries, new_entries)) = olds.differing(&news)? else { return Ok(false) };
        // The entries of a map may be in any order: a program may have another one than the one that it recorded.
        let mut rest = HashMap::with_capacity(old_entries.len());
        for entry in old_entries {
            let (_, key) = olds.key_of(entry)?;
            rest.insert(&entry[..key], &entry[key..]);
        }
        let (mut pairs, mut bytes) = (Vec::new(), 0);
        for entry in new_entries {
            let (key, at) = olds.key_of(entry)?;
            let (key_bytes, new) = entry.split_at(at);
            let old = rest.remove(key_bytes);
            if old != Some(new) {
                bytes += size_of::<FieldChange>() + old.map_or(Bytes::held_of(new), |_| 0);
                pairs.push((key, key_bytes, old, Some(new)));
            }
        }
        let mut removed: Vec<_> = rest.into_iter().collect();
        removed.sort_unstable();
        for (key_bytes, old) in removed {
            bytes += size_of::<FieldChange>() + Bytes::held_of(old);
            pairs.push((olds.key_of(key_bytes)?.0, key_bytes, Some(old), None));
        }
        if pairs.len() > 1 && bytes > Bytes::held_of(old) + Bytes::held_of(new) {
            return Ok(false);
        }
        // A change by a path must find its key again, whatever the kind of the key is.
        let is_in_path = |(key, key_bytes, ..): &(Value, &[u8], _, _)| {
            let step = [PathStep::from_key(key)];
            let found = key_of(&step).ok().and_then(|(key, _)| cursor(new)?.key_bytes(&key));
            found.as_deref() == Some(*key_bytes)
        };
        if !pairs.iter().all(is_in_path) {
            return Ok(false);
        }
        for (key, key_bytes, old, new) in pairs {
            self.trail.enter_key(&key);
            match (old, new) {
                (Some(old), Some(new)) => match map.get(value, key_bytes) {
                    Some(inner) => {
                        let key = Some((place, depth + 1));
                        self.value(inner, Some(map.value()), key, old, new)?;
                    }
                    None => self.find_set(old, new),
                },
                (None, Some(new)) => self.find(FieldEdit::InsertKey { value: new.into() }),
                (Some(old), None) => self.find(FieldEdit::RemoveKey { value: old.into() }),
                (None, None) => {}
            }
            self.trail.leave();
        }
        Ok(true)
    }

    /// Compares an array by its elements, or a list in an option whose length is the same. Returns false for anything
    /// else, and if recording it whole takes less memory.
    ///
    /// A byte of a memory of 2 KiB was recorded by 4 KiB.
    fn array(&mut self, key: SchemaKey, old: &[u8], new: &[u8]) -> Result<bool> {
        // An option without a value has no elements.
        let elements = |bytes| self.cursor(key, bytes)?.last_elements(true).ok()?;
        let (Some(olds), Some(news)) = (elements(old), elements(new)) else { return Ok(false) };
        let Some((first, olds, news)) = olds.differing(&news)? else { return Ok(false) };
        if olds.len() != news.len() {
            return Ok(false);
        }
        let pairs = || (first..).zip(olds.iter().zip(&news)).filter(|(_, (old, new))| old != new);
        let changes = pairs().map(|(_, (old, new))| {
            size_of::<FieldChange>() + Bytes::held_of(old) + Bytes::held_of(new)
        });
        if changes.sum::<usize>() > Bytes::held_of(old) + Bytes::held_of(new) {
            return Ok(false);
        }
        for (at, (old, new)) in pairs() {
            self.trail.enter_element(at as u64);
            self.find_set(old, new);
            self.trail.leave();
        }
        Ok(true)
    }

    /// At the list or the array of a field, or of its elements.
    fn cursor<'b>(&self, (place, depth): SchemaKey, bytes: &'b [u8]) -> Option<Cursor<'_, 'b>> {
        let cursor = Cursor::of_field(self.registry.program().layout(), place, bytes);
        (0..depth).fold(cursor, |cursor, _| cursor.and_then(Cursor::of_element))
    }

    fn find_set(&mut self, old: &[u8], new: &[u8]) {
        self.find(FieldEdit::Set { old: old.into(), new: new.into() });
    }

    fn find(&mut self, how: FieldEdit) {
        self.found.push(FieldChange {
            path: self.trail.path(),
            how,
            elements: self.trail.elements,
        });
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
/// more differences are cut at elements that both have once, and compared piece by piece.
const MAX_EDITS: usize = 64;

/// Lists of equal length with at most this many different elements are compared index by index, without a search for a
/// shorter script.
const FEW: usize = 4;

/// Lists of plain values, such as the memory of an emulator, are compared index by index if at most one in this many
/// differs. A search took longer than the rest of the edit.
const RARE: usize = 64;

/// Maximum bytes of a plain value.
const PLAIN: usize = 16;

/// Returns the operations that convert `old` to `new`. They are the fewest if at most [`MAX_EDITS`] are needed.
fn script(old: &[&[u8]], new: &[&[u8]]) -> Vec<Op> {
    // If few elements differ at their index, no element has moved.
    let differ = old.iter().zip(new).filter(|(one, other)| one != other).count();
    let is_plain = old.first().is_some_and(|element| element.len() <= PLAIN);
    let few = if is_plain { FEW.max(old.len() / RARE) } else { FEW };
    if old.len() == new.len() && differ <= few {
        let op = |at| if old[at] == new[at] { Op::Keep } else { Op::Change(at, at) };
        return (0..old.len()).map(op).collect();
    }
    let mut between = Vec::new();
    match shortest(old, new) {
        Some(ops) => between = ops,
        None => by_pieces(old, new, &mut between),
    }
    let mut ops = Vec::new();
    pair(&between, |from, to| old[from] == new[to], &mut ops);
    ops
}

/// Removes all elements of a piece of the old list, and inserts those of the new one.
fn replace((old, new): (Range<usize>, Range<usize>), ops: &mut Vec<Op>) {
    ops.extend(old.map(Op::Remove));
    ops.extend(new.map(Op::Insert));
}

/// Compares the pieces between elements that both lists have once and in the same order, which are kept.
///
/// The idea is that of the patience diff by Bram Cohen. A deletion of 200 of 100,000 elements was recorded as the whole
/// list before, 10 MB.
fn by_pieces(old: &[&[u8]], new: &[&[u8]], ops: &mut Vec<Op>) {
    let mut at = (0, 0);
    let ends = anchors(old, new).into_iter().chain([(old.len(), new.len())]);
    for (end, new_end) in ends {
        let mut piece = (at.0..end, at.1..new_end);
        while !piece.0.is_empty() && !piece.1.is_empty() && old[piece.0.start] == new[piece.1.start]
        {
            ops.push(Op::Keep);
            (piece.0.start, piece.1.start) = (piece.0.start + 1, piece.1.start + 1);
        }
        let is_one_sided = piece.0.is_empty() || piece.1.is_empty();
        match if is_one_sided {
            None
        } else {
            shortest(&old[piece.0.clone()], &new[piece.1.clone()])
        } {
            Some(found) => ops.extend(found.into_iter().map(|op| match op {
                Op::Remove(from) => Op::Remove(piece.0.start + from),
                Op::Insert(to) => Op::Insert(piece.1.start + to),
                other => other,
            })),
            None => replace(piece, ops),
        }
        if end < old.len() {
            ops.push(Op::Keep);
        }
        at = (end + 1, new_end + 1);
    }
}

/// Returns the indices of elements that both lists have once, as many as are in the same order in both.
fn anchors(old: &[&[u8]], new: &[&[u8]]) -> Vec<(usize, usize)> {
    let (olds, news) = (single(old), single(new));
    let pairs = new.iter().enumerate().filter_map(|(to, element)| {
        (*news.get(element)?)?;
        Some(((*olds.get(element)?)?, to))
    });
    // The longest rising sequence of old indices, by piles: each pile ends with the least index that a sequence of its
    // length may end with.
    let (mut piles, mut found) = (Vec::<usize>::new(), Vec::<(usize, usize, Option<usize>)>::new());
    for (from, to) in pairs {
        // Nearly all elements are in order, so each is looked for on the last pile first.
        let is_last = piles.last().is_none_or(|top| found[*top].0 < from);
        let below = |top: &usize| found[*top].0 < from;
        let pile = if is_last { piles.len() } else { piles.partition_point(below) };
        let previous = pile.checked_sub(1).map(|pile| piles[pile]);
        match piles.get_mut(pile) {
            Some(top) => *top = found.len(),
            None => piles.push(found.len()),
        }
        found.push((from, to, previous));
    }
    let mut sequence = Vec::with_capacity(piles.len());
    let mut last = piles.last().copied();
    while let Some(at) = last {
        let (from, to, previous) = found[at];
        sequence.push((from, to));
        last = previous;
    }
    sequence.reverse();
    sequence
}

/// Returns the index of each element that a list has once, and `None` for one that it has more often.
fn single<'b>(list: &[&'b [u8]]) -> HashMap<&'b [u8], Option<usize>> {
    let mut known = HashMap::with_capacity(list.len());
    for (at, element) in list.iter().enumerate() {
        known.entry(*element).and_modify(|known| *known = None).or_insert(Some(at));
    }
    known
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

    /// Random lists, with elements that stand once and ones that stand often: the operations convert one to the other,
    /// and keep at least what lies outside the pieces that differ.
    #[test]
    fn many_differences_are_found_by_pieces() {
        let mut state = 7_u64;
        let mut random = move |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).expect("31 bits") % below
        };
        for round in 0..60 {
            let len = 300 + random(700);
            let old: Vec<[u8; 8]> = (0..len)
                .map(|at| {
                    if round % 3 == 0 && random(4) == 0 {
                        [0; 8]
                    } else {
                        (at as u64 + 1).to_le_bytes()
                    }
                })
                .collect();
            let (mut new, mut edits) = (old.clone(), 0_u64);
            while edits < 100 {
                edits += 1;
                let at = random(new.len());
                match random(3) {
                    0 => _ = new.remove(at),
                    1 => new.insert(at, (5000 + edits).to_le_bytes()),
                    _ => new[at] = (7000 + edits).to_le_bytes(),
                }
            }
            let (a, b): (Vec<&[u8]>, Vec<&[u8]>) =
                (old.iter().map(|it| &it[..]).collect(), new.iter().map(|it| &it[..]).collect());
            let ops = script(&a, &b);
            assert_eq!(applied(&ops, &a, &b).concat(), new.concat());
            let count = ops.iter().filter(|op| **op != Op::Keep).count();
            assert!(count <= 200, "{count} operations for {edits} edits of {len} elements");
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
