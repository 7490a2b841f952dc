//! Where in a value something stands.

use std::cell::Cell;

use super::Stored;
use super::frames::{Frame, path};
use super::walk::{Met, Visit, fault, walk};
use crate::codec::{Decoder, NoLinks};
use crate::env::Env;
use crate::{Limits, Result};

/// The paths of what `wanted` picks of all that a walk over the payload of a record meets, in order.
pub(crate) fn paths(
    class: usize,
    stored: &Stored,
    payload: &[u8],
    limits: &Limits,
    mut wanted: impl FnMut(&Met<'_>) -> bool,
) -> Result<Vec<String>> {
    let mut links = NoLinks::default();
    let env = Env::bare(limits);
    let mut input = Decoder::new(payload, &env, &mut links);
    let mut found = Vec::new();
    let is_wanted = Cell::new(false);
    let mut meet = |met: Met<'_>, _: usize, _: usize| {
        is_wanted.set(is_wanted.get() || wanted(&met));
        true
    };
    let mut behind = |frames: &[Frame<'_>]| {
        if is_wanted.take() {
            found.push(path(frames));
        }
    };
    let visit = &mut Visit::showing(&mut meet, &mut behind);
    walk(stored.root(class), stored, &mut input, &mut Vec::new(), visit).map_err(fault)?;
    Ok(found)
}
