//! Where a walk is.

use std::fmt::Write;

use super::FieldSchema;

/// What is being walked through: kinds by their nodes, the next one counted on
/// from the first.
pub(super) enum Frame<'s> {
    Fields { fields: &'s [FieldSchema], first: usize, next: u32 },
    Parts { first: usize, len: usize, next: usize },
    Elements { node: usize, next: u64, count: u64 },
    Entries { key: usize, next: u64, count: u64 },
}

impl Frame<'_> {
    /// The node of the next part.
    pub(super) fn next(&mut self) -> Option<usize> {
        match self {
            Self::Fields { fields, first, next } => {
                let i = *next as usize;
                // A definition has fewer bytes, hence fewer fields.
                *next += 1;
                (i < fields.len()).then_some(*first + i)
            }
            Self::Parts { first, len, next } => {
                *next += 1;
                (*next <= *len).then_some(*first + *next - 1)
            }
            Self::Elements { node, next, count } => {
                *next += 1;
                (*next <= *count).then_some(*node)
            }
            Self::Entries { key, next, count } => {
                *next += 1;
                let part = if *next % 2 == 1 { *key } else { *key + 1 };
                (*next <= count.saturating_mul(2)).then_some(part)
            }
        }
    }

    /// Adds the part that is being walked to a path.
    pub(super) fn name(&self, path: &mut String) {
        // Writing to a `String` cannot fail.
        let _ = match self {
            Self::Fields { fields, next, .. } => {
                let field = (*next as usize).checked_sub(1).and_then(|next| fields.get(next));
                return push_name(field.map_or("", |field| &field.name), path);
            }
            Self::Parts { next, .. } => {
                return push_name(&next.saturating_sub(1).to_string(), path);
            }
            Self::Elements { next, .. } => write!(path, "[{}]", next.saturating_sub(1)),
            Self::Entries { next, .. } if next % 2 == 1 => write!(path, "[{}].key", (next - 1) / 2),
            Self::Entries { next, .. } => write!(path, "[{}]", next.saturating_sub(1) / 2),
        };
    }
}

/// Adds the name of a field to a path.
pub(super) fn push_name(name: &str, path: &mut String) {
    if !path.is_empty() && !name.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

/// Bytes of a path that is made; an error keeps fewer.
pub(super) const LONGEST_PATH: usize = 1000;

/// The path of the part that is being walked.
pub(super) fn path(frames: &[Frame<'_>]) -> String {
    let mut path = String::new();
    for frame in frames {
        if path.len() <= LONGEST_PATH {
            frame.name(&mut path);
        }
    }
    path
}

/// Is shown where a walk is.
pub(super) type Behind<'t> = dyn FnMut(&[Frame<'_>]) + 't;
