//! Types of other crates: what they are stored as, byte by byte, and what is refused.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "these are tests")]

mod colours;
mod generators;
mod glam;
mod mint;
mod nalgebra;
mod numbers;
mod sets;
mod support;
mod uuid;
