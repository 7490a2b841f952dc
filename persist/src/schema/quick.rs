//! Runs of small structs, such as the items in a bag, rewritten in a loop of their own: of
//! numbers and short texts, reordered or wider. All others are left to the general path.

use super::conversion::Conversion;
use super::number::Width;
use super::pass::Pass;
use super::plan::{Action, Plans, Step, Walked};
use crate::codec::text::copy;

/// How the records of a small struct are rewritten.
pub(super) struct Quick {
    /// What follows what in a stored record.
    pieces: Vec<Pass>,
    /// What follows what in the program's.
    parts: Vec<Part>,
    /// By how many bytes a record grows.
    growth: usize,
}

#[derive(Clone, Copy)]
enum Part {
    Copy(usize),
    Widen(usize, Width, Width),
}

/// A record has no more pieces.
const PIECES: usize = 24;

/// Bytes that are made room for at once.
const ROOM: usize = 512;

impl Quick {
    /// The quick way of a plan, if it has one.
    pub(super) fn of(walk: &[Walked], steps: &[Step], plans: &Plans<'_>) -> Option<Self> {
        let mut pieces = Vec::new();
        // For each place of the walk the first of its pieces, and how many they are.
        let mut places = Vec::new();
        for walked in walk {
            if let Action::Keep { .. } = walked.action {
                return None;
            }
            let first = pieces.len();
            for pass in walked.passes.as_deref()? {
                if let Pass::Flat(_) = pass {
                    return None;
                }
                pieces.push(*pass);
            }
            places.push(first..pieces.len());
        }
        let (mut parts, mut growth) = (Vec::new(), 0);
        for step in steps {
            let Step::Take(place) = *step else { return None };
            match walk[place].action {
                Action::Copy { .. } => parts.extend(places[place].clone().map(Part::Copy)),
                Action::Convert { conversion, .. } => match plans.conversions[conversion] {
                    Conversion::Number { from, to, .. } if to.widens(from) => {
                        parts.push(Part::Widen(places[place].start, from, to));
                        growth += to.bytes() - from.bytes();
                    }
                    _ => return None,
                },
                _ => return None,
            }
        }
        (pieces.len() <= PIECES && !parts.is_empty()).then_some(Self { pieces, parts, growth })
    }

    /// Rewrites at most `count` records; returns how many it has.
    pub(super) fn run(&self, count: u64, rest: &mut &[u8], out: &mut Vec<u8>) -> u64 {
        let mut at = out.len();
        let mut done = 0;
        let mut pieces: [&[u8]; PIECES] = [&[]; PIECES];
        while done < count {
            let mut behind = *rest;
            let mut length = self.growth;
            let mut is_whole = true;
            for (of, piece) in self.pieces.iter().zip(&mut pieces) {
                let width = of.length(behind).unwrap_or(usize::MAX);
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
                    Part::Copy(piece) => {
                        let (to, left) = free.split_at_mut(pieces[piece].len());
                        copy(to, pieces[piece]);
                        free = left;
                    }
                    Part::Widen(piece, from, to) => {
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
