//! Objects that refer to one another: who they are, how they are saved and how
//! they come back.

mod components;
mod connect;
mod fault;
mod handles;
mod identity;
mod kept;
mod links;
mod load;
mod loading;
mod object_list;
mod outcome;
mod references;
mod registry;
mod rewrite;
mod save;
mod schemas;
mod table;
mod tables;
mod targets;

pub use registry::{Counted, Registry};

pub(crate) use components::Edges;
pub(crate) use load::Loader;
pub(crate) use outcome::{LoadOutcome, LoadedObjects};
pub(crate) use registry::Implementors;
pub(crate) use save::Saver;
pub(crate) use tables::SaveTables;
pub(crate) use targets::{Targets, free_unheld, is_unknown};
