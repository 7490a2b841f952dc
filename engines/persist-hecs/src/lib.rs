#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod entity;
mod saves;

pub use saves::Saves;

/// The page of the guide, whose code is tested.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/12-hecs.md")]
mod guide {}
