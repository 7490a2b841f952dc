//! Containers whose elements are skipped if they cannot be rewritten.

use super::{DefaultedField, EntriesFrame, TranscodeFrame, Transcoder, path};
use crate::codec::{Decoder, NoLinks, count, is_of_value};
use crate::env::Env;
use crate::schema::walk::skip;
use crate::schema::{FieldPlace, FrameParts, WalkFrame, fault, push_name};
use crate::{Error, Result};

/// A list, set, map or option of a field, whose own frame follows this one, after that of the object that it was.
pub(super) struct SkippingFrame<'t> {
    field: FieldPlace,
    /// The node of its first part; of an option that of the whole.
    node: usize,
    is_option: bool,
    /// How many elements the save has.
    total: u64,
    /// Where it begins in the output.
    start: usize,
    /// The lengths of outputs when the element began.
    mark: ElementMark<'t>,
    skipped: u64,
}

/// The state of a run.
struct ElementMark<'t> {
    rest: &'t [u8],
    out: usize,
    pieces: usize,
    waiting: usize,
    early: usize,
    records: u64,
    inlined: usize,
    shared: usize,
    shared_bytes: usize,
    defaulted: usize,
    early_defaulted: usize,
    distinct: usize,
    replaced: usize,
    synthesized: usize,
    /// The element, and how many marks of distinct ones there were.
    next: u64,
    marks: usize,
}

impl<'t> ElementMark<'t> {
    fn new(run: &Transcoder<'t, '_, '_>, next: u64, marks: usize) -> Self {
        Self {
            rest: run.input.rest(),
            out: run.out.len(),
            pieces: run.pieces.len(),
            waiting: run.waiting.len(),
            early: run.early.len(),
            records: run.records,
            inlined: run.inlined.len(),
            shared: run.extras.shared.len(),
            shared_bytes: run.shared_bytes,
            defaulted: run.extras.defaulted.len(),
            early_defaulted: run.early_defaulted.len(),
            distinct: run.distinct,
            replaced: run.replaced.len(),
            synthesized: run.synthesized.len(),
            next,
            marks,
        }
    }

    fn restore(&self, run: &mut Transcoder<'t, '_, '_>) {
        // Restores everything to which a part of an element may add. Defaults of skipped elements once stayed in the
        // lists, for bytes that no longer existed.
        run.input.go_back(self.rest);
        run.out.truncate(self.out);
        run.pieces.truncate(self.pieces);
        run.waiting.truncate(self.waiting);
        run.early.truncate(self.early);
        run.records = self.records;
        run.inlined.truncate(self.inlined);
        run.extras.shared.truncate(self.shared);
        run.shared_bytes = self.shared_bytes;
        run.extras.defaulted.truncate(self.defaulted);
        run.early_defaulted.truncate(self.early_defaulted);
        run.distinct = self.distinct;
        run.replaced.truncate(self.replaced);
        run.synthesized.truncate(self.synthesized);
    }
}

impl<'t> SkippingFrame<'t> {
    pub(super) fn open(
        run: &mut Transcoder<'t, '_, '_>,
        node: usize,
        is_option: bool,
        field: FieldPlace,
    ) -> Self {
        run.skipping += 1;
        let mark = ElementMark::new(run, 0, 0);
        Self { field, node, is_option, total: 0, start: run.out.len(), mark, skipped: 0 }
    }

    /// Notes where an element begins, if one does.
    pub(super) fn begin(frames: &mut [TranscodeFrame<'t>], run: &Transcoder<'t, '_, '_>) {
        let Some((container, previous)) = frames.split_last_mut() else { return };
        let mut previous = previous.iter_mut().rev();
        let previous = previous.find(|frame| !matches!(frame, TranscodeFrame::Inlined { .. }));
        let Some(TranscodeFrame::Skipping(skipping)) = previous else { return };
        if skipping.is_option {
            return;
        }
        let Some((parts, marks)) = container_parts(container) else { return };
        if parts.next.is_multiple_of(step(parts)) {
            skipping.total = parts.count / step(parts);
            skipping.mark = ElementMark::new(run, parts.next, marks);
        }
    }

    /// Skips the element in which an error is, if there is one; else returns the error.
    #[cold]
    pub(super) fn recover(
        run: &mut Transcoder<'t, '_, '_>,
        frames: &mut Vec<TranscodeFrame<'t>>,
        error: Error,
    ) -> Result<()> {
        // Damage and exceeded limits end the load, in such a field as in any other.
        if run.skipping == 0 || !is_of_value(error.kind()) {
            return Err(error);
        }
        // The innermost container that can skip an element loses the least.
        let place = (0..frames.len()).rev().find_map(|at| match &frames[at] {
            TranscodeFrame::Skipping(skipping) if skipping.is_option => Some((at, at + 1)),
            TranscodeFrame::Skipping(_) => {
                let is_other = |frame: &_| !matches!(frame, TranscodeFrame::Inlined { .. });
                let container = at + 1 + frames[at + 1..].iter().position(is_other)?;
                container_parts(&frames[container]).map(|_| (at, container + 1))
            }
            _ => None,
        });
        let Some((at, end)) = place else { return Err(error) };
        let inner = path(&frames[end..], &run.skipped, run.stored);
        run.skipped.clear();
        for frame in &frames[end..] {
            run.skipping -= usize::from(matches!(frame, TranscodeFrame::Skipping(_)));
        }
        frames.truncate(end);
        let (head, container) = frames.split_at_mut(at + 1);
        let Some(TranscodeFrame::Skipping(skipping)) = head.last_mut() else { return Err(error) };
        let is_option = skipping.is_option;
        skipping.mark.restore(run);
        let mut part = String::new();
        let mut nodes = skipping.node..skipping.node + 1;
        match container.last_mut() {
            Some(
                TranscodeFrame::Parts(parts) | TranscodeFrame::Entries(EntriesFrame { parts, .. }),
            ) => {
                nodes.end += usize::try_from(step(parts) - 1).unwrap_or(0);
                parts.next = skipping.mark.next + step(parts);
                part = format!("[{}]", skipping.mark.next / step(parts));
            }
            Some(TranscodeFrame::Distinct(distinct)) => {
                let parts = &mut distinct.parts;
                nodes.end += usize::try_from(step(parts) - 1).unwrap_or(0);
                parts.next = skipping.mark.next + step(parts);
                part = format!("[{}]", skipping.mark.next / step(parts));
                // `DistinctParts` finds the keys by the number of marks before them, so those of the element go too.
                distinct.marks.truncate(skipping.mark.marks);
            }
            _ => {}
        }
        // Damage is no element that cannot be loaded.
        for node in nodes {
            skip(node, run.stored, &mut run.input, &mut run.skipped).map_err(fault)?;
        }
        skipping.skipped += 1;
        push_name(&inner, &mut part);
        let field = skipping.field;
        run.plans.skipped(field, &part, error.message(), run.id);
        if is_option {
            run.out.push(0);
            run.skipping -= 1;
            frames.pop();
        }
        Ok(())
    }

    /// Ends the container: corrects its count.
    pub(super) fn end(&self, run: &mut Transcoder<'t, '_, '_>) {
        run.skipping -= 1;
        if self.skipped == 0 {
            return;
        }
        let mut links = NoLinks::default();
        let mut input = Decoder::new(&run.out[self.start..], &Env::DEFAULT, &mut links);
        let Ok(written) = count::decode(&mut input) else { return };
        if written != self.total {
            // Duplicates have been dropped, too, and all others counted.
            return;
        }
        let end = run.out.len() - input.rest().len();
        let mut new = Vec::new();
        count::push(written - self.skipped, &mut new);
        // A shorter count moves what follows it.
        DefaultedField::follow(&mut run.extras.defaulted, end, self.start + new.len());
        run.out.splice(self.start..end, new);
    }
}

/// The parts of a container, and how many marks there are of distinct ones.
fn container_parts<'f>(frame: &'f TranscodeFrame<'_>) -> Option<(&'f WalkFrame, usize)> {
    match frame {
        TranscodeFrame::Parts(parts) | TranscodeFrame::Entries(EntriesFrame { parts, .. }) => {
            Some((parts, 0))
        }
        TranscodeFrame::Distinct(distinct) => Some((&distinct.parts, distinct.marks.len())),
        _ => None,
    }
}

/// How many parts an element has.
fn step(parts: &WalkFrame) -> u64 {
    if parts.parts == FrameParts::Entries { 2 } else { 1 }
}
