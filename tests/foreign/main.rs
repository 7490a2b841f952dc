//! Types of other crates: what they are stored as, byte by byte, and what is refused.
#![allow(clippy::unwrap_used, reason = "these are tests")]

mod support;
mod uuid;
