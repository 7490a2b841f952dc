#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod app;
mod builtin;
pub mod entity;
mod filter;
mod jobs;
mod keys;
#[cfg(feature = "state")]
mod states;
#[cfg(feature = "time")]
pub mod stopwatch;
#[cfg(feature = "time")]
pub mod timer;
mod types;
mod undo;
mod warnings;
mod world_saves;

use bevy_ecs::component::Component;

pub use app::{PersistApp, PersistPlugin};
pub use jobs::{
    LoadFailed, LoadFinished, LoadRequested, SaveFailed, SaveFinished, SaveProgress, SaveRequested,
};
pub use keys::EntityKeys;
pub use undo::EditSession;
pub use world_saves::{PersistWorld, WorldSaves};

/// Marks an entity that is saved, with its registered components.
///
/// `#[require(Saved)]` on a component marks all entities with that component, and
/// [`persist_entities`](PersistApp::persist_entities) marks all entities that pass a filter.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saved;

/// The page of the guide, included so that its code is tested.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/11-bevy.md")]
mod guide {}
