//! Runs of small structs, such as the items in a bag, rewritten in a loop of their own: of
//! numbers and short texts, reordered or wider. All others are left to the general path.

use std::ops::Range;
use std::sync::Arc;

use super::Stored;
use super::number::Width;
use crate::codec::text::copy;

/// A stored field, or several that are taken over or skipped together.
pub(super) struct Piece {
    /// Of the first one.
    pub(super) name: Arc<str>,
    pub(super) nodes: Range<usize>,
    /// Its bytes, if all records have as many.
    pub(super) span: Option<usize>,
    /// Of one that is converted as it is read. Numbers of fixed width are converted where the program wants them.
    pub(super) conversion: Option<usize>,
}

/// How the records of a small struct are rewritten.
pub(super) struct Quick {
    /// What follows what in the program's.
    parts: Vec<QuickStep>,
    /// By how many bytes a record grows.
    growth: usize,
}

/// A part of the program's record, from a piece of the stored one.
#[derive(Clone, Copy)]
pub(super) enum QuickStep {
    Copy(usize),
    Widen(usize, Width, Width),
}

/// A record has no more pieces.
const PIECES: usize = 24;

/// Bytes that are made room for at once.
const ROOM: usize = 512;

impl Quick {
    /// Of parts, unless the record has too many pieces.
    pub(super) fn new(pieces: &[Piece], parts: Vec<QuickStep>) -> Option<Self> {
        let growth = parts.iter().map(|part| match part {
            QuickStep::Copy(_) => 0,
            QuickStep::Widen(_, from, to) => to.bytes() - from.bytes(),
        });
        let growth = growth.sum();
        (pieces.len() <= PIECES && !parts.is_empty()).then_some(Self { parts, growth })
    }

    /// Rewrites at most `count` records; returns how many it has.
    pub(super) fn run(
        &self,
        (stored, of): (&Stored, &[Piece]),
        count: u64,
        rest: &mut &[u8],
        out: &mut Vec<u8>,
    ) -> u64 {
        let mut at = out.len();
        let mut done = 0;
        let mut pieces: [&[u8]; PIECES] = [&[]; PIECES];
        while done < count {
            let mut behind = *rest;
            let mut length = self.growth;
            let mut is_whole = true;
            for (of, piece) in of.iter().zip(&mut pieces) {
                let width = of.span.or_else(|| stored.lengths(of.nodes.clone(), behind));
                let width = width.unwrap_or(usize::MAX);
                let Some((taken, left)) = behind.split_at_checked(width) else {
                    is_whole = false;
                    break;
                };
                (*piece, behind) = (taken, left);
                length = length.saturating_add(width);
            }
            if !is_whole {
                break;
            }
            if out.len() - at < length {
                // More than a little would be cleared for each list anew.
                out.resize(at + length.max(ROOM), 0);
            }
            let mut free = &mut out[at..];
            for part in &self.parts {
                match *part {
                    QuickStep::Copy(piece) => {
                        let (to, left) = free.split_at_mut(pieces[piece].len());
                        copy(to, pieces[piece]);
                        free = left;
                    }
                    QuickStep::Widen(piece, from, to) => {
                        let (wide, left) = free.split_at_mut(to.bytes());
                        to.widen(from, pieces[piece], wide);
                        free = left;
                    }
                }
            }
            // A piece that no part takes leaves room.
            let left = free.len();
            at = out.len() - left;
            *rest = behind;
            done += 1;
        }
        out.truncate(at);
        done
    }
}
