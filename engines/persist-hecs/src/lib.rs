#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod entity;
mod world_saves;

pub use world_saves::WorldSaves;

/// The page of the guide, included so that its code is tested.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/12-hecs.md")]
mod guide {}
