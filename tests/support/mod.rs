//! What the tests of several rooms need.
#![allow(
    missing_docs,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::needless_pass_by_value,
    clippy::unwrap_used,
    reason = "it is part of the tests"
)]

pub mod disarranged;
pub mod disk;
pub mod fixture_types;
pub mod forge;
pub mod game;
pub mod shapes;
