//! The differences between two lists: inserted, removed and changed elements.

/// An operation of a script that converts one list to another, from the first element to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
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
pub(super) fn script(old: &[&[u8]], new: &[&[u8]]) -> Vec<Op> {
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
