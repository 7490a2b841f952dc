//! The documents, examples and messages against the code that they describe.

#![recursion_limit = "256"]

mod attributes;
mod conversions;
mod format;
mod history;
mod laws;
mod links;
mod messages;
mod moving_from_serde;
mod performance;
mod quest;
mod reliability;
mod repository;
mod statements;
mod words;
