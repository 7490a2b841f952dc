//! A player who goes back one release, saves, and comes forward again: nothing that either program knows better is lost.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

mod places;
mod renamed;
mod since;
mod table;
