//! Worlds: objects, their components, names, tree and life cycle, and how all of it is saved.

mod actor;
mod changes;
mod components;
mod context;
mod fields;
mod hostile_saves;
mod kept;
mod life_cycle;
mod model;
mod naive;
mod names;
mod objects;
mod pages;
mod panics;
mod park;
mod parked;
mod prefabs;
mod queries;
mod references;
mod releases;
mod resources;
mod saves;
mod spawn_with;
mod stored;
mod threads;
mod tree;
