//! Sessions and their journals: behaviours K88 to K100, on a disk in memory that fails and loses power.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

mod acknowledged;
mod aside;
mod computed;
mod context;
mod document;
mod driver;
mod evolution;
mod evolution_of_documents;
mod failing;
mod going_back;
mod golden;
mod gone_classes;
mod held;
mod hostile;
mod identity;
mod limits;
mod order;
mod other_versions;
mod panics;
mod parts;
mod prefixes;
mod programs;
mod reopened;
mod replays;
mod same_bytes;
mod saves;
mod sentences;
mod settings;
mod sharing;
mod threads;
mod without_types;
mod worlds;

const SAVE: &str = "plan.sav";
const JOURNAL: &str = "plan.journal";
