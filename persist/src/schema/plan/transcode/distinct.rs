//! Keys of maps and elements of sets that become one: those that hold variants that the program does not have, for
//! which one `other` variant without a field stands.

use std::collections::HashSet;

use super::Transcoder;
use crate::codec::count;
use crate::schema::{FrameParts, WalkFrame};

/// The entries of a map, or the elements of a set.
pub(super) struct DistinctParts {
    pub parts: WalkFrame,
    /// Where the output begins, with the count.
    start: usize,
    /// Where each part begins, and the last one ends.
    pub marks: Vec<PartMark>,
}

/// The lengths of outputs when a part began.
pub(super) struct PartMark {
    /// The length of the output.
    bytes: usize,
    /// Of values that became an `other` variant.
    replaced: usize,
    /// Of values that became objects.
    shared: usize,
    /// Of fields that have their defaults as they are.
    defaulted: usize,
}

impl DistinctParts {
    pub(super) fn open(
        parts: WalkFrame,
        start: usize,
        run: &mut Transcoder<'_, '_, '_>,
    ) -> Box<Self> {
        run.distinct += 1;
        Box::new(Self { parts, start, marks: Vec::new() })
    }

    /// The conversion of the next part; after the last one, drops those that another one stands for.
    pub(super) fn next(&mut self, run: &mut Transcoder<'_, '_, '_>) -> Option<usize> {
        self.marks.push(PartMark {
            bytes: run.out.len(),
            replaced: run.replaced.len(),
            shared: run.extras.shared.len(),
            defaulted: run.extras.defaulted.len(),
        });
        let next = self.parts.next();
        if next.is_none() {
            self.end(run);
        }
        next
    }

    fn end(&self, run: &mut Transcoder<'_, '_, '_>) {
        let Self { parts, start, marks } = self;
        run.distinct -= 1;
        let step = if parts.parts == FrameParts::Entries { 2 } else { 1 };
        let key = |entry: usize| (&marks[entry * step], &marks[entry * step + 1]);
        let is_replaced = |entry: usize| key(entry).0.replaced < key(entry).1.replaced;
        let entries = (marks.len() - 1) / step;
        let mut dropped = vec![false; entries];
        // Keys are hashed only if a variant was replaced, which is rare. Equal keys that the save has itself are left
        // to the decoder, which refuses them.
        if (0..entries).any(is_replaced) {
            // One that the save has itself stays, wherever it stands; else the first.
            let mut known: HashSet<&[u8]> = HashSet::new();
            let own = (0..entries).filter(|entry| !is_replaced(*entry));
            for entry in own.chain((0..entries).filter(|entry| is_replaced(*entry))) {
                let bytes = &run.out[key(entry).0.bytes..key(entry).1.bytes];
                let is_known = !known.insert(bytes);
                dropped[entry] = is_known && is_replaced(entry);
            }
        }
        if dropped.contains(&true) {
            let list = run.out.split_off(*start);
            count::push(dropped.iter().filter(|is_dropped| !**is_dropped).count() as u64, run.out);
            let first_shared = marks[0].shared;
            let mut shared = run.extras.shared.split_off(first_shared).into_iter();
            let mut defaulted = run.extras.defaulted.split_off(marks[0].defaulted).into_iter();
            for (entry, is_dropped) in dropped.into_iter().enumerate() {
                let (begin, end) = (&marks[entry * step], &marks[(entry + 1) * step]);
                let objects = shared.by_ref().take(end.shared - begin.shared);
                let fields = defaulted.by_ref().take(end.defaulted - begin.defaulted);
                if !is_dropped {
                    run.extras.shared.extend(objects);
                    let to = run.out.len();
                    run.extras.defaulted.extend(fields.map(|field| field.at(begin.bytes, to)));
                    run.out.extend_from_slice(&list[begin.bytes - start..end.bytes - start]);
                    continue;
                }
                // No object leads to them.
                fields.for_each(drop);
                run.shared_bytes -= objects.map(|object| object.bytes()).sum::<usize>();
                for row in begin.replaced..key(entry).1.replaced {
                    run.plans.rows.drop_replaced(run.replaced[row], run.id);
                }
            }
        }
        // The marks of an outer map or set are indices into `replaced`, so the outermost one clears it.
        if run.distinct == 0 {
            run.replaced.clear();
        }
    }
}
