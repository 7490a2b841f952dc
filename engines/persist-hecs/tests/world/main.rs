//! Tests of worlds of hecs: what a save keeps of them, and the laws that hold for them.

#![allow(clippy::unwrap_used, reason = "it is a test")]

mod laws;
mod saves;
