//! Every error that the library can make, provoked and shown as a program shows it.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

mod bytes;
mod coverage;
mod disk;
mod evolution;
mod files;
mod graphs;
mod histories;
mod journals;
mod limits;
mod lock;
mod names;
mod page;
mod registration;
mod sources;
mod table;
mod values;
mod world_pages;
mod worlds;
