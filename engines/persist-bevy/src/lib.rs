#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod app;
mod builtin;
pub mod entity;
mod jobs;
mod saves;
mod types;

use bevy_ecs::component::Component;

pub use app::{PersistApp, PersistPlugin};
pub use jobs::{
    LoadFailed, LoadFinished, LoadRequested, SaveFailed, SaveFinished, SaveProgress, SaveRequested,
};
pub use saves::{PersistWorld, Saves};

/// Marks an entity that is saved, with its registered components.
///
/// `#[require(Saved)]` on a component says it of all entities that have that one.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saved;
