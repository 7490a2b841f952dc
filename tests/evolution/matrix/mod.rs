//! Every change that a type may go through, in both directions: by itself, and
//! wherever such a type can stand.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

mod enums;
pub(crate) mod harness;
mod kept;
mod kept_freed;
mod migrations;
mod nest;
mod numbers;
mod onward;
mod other_variants;
mod precedence;
mod refusals;
mod removed;
mod shapes;
mod strict;
mod unshared;
