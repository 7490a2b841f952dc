//! Worlds: objects, their components, names, tree and life cycle, and how all of it is saved.

mod actor;
mod changes;
mod components;
#[path = "../forge.rs"]
#[expect(dead_code, reason = "shared with the saves made by hand")]
mod forge;
mod hostile_saves;
mod kept;
mod life_cycle;
mod model;
mod naive;
mod names;
mod objects;
mod panics;
mod parked;
mod queries;
mod releases;
mod resources;
mod saves;
mod stored;
mod tree;
