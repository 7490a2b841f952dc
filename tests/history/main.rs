//! Undo and redo, behaviour by behaviour: the numbers are those of the list of behaviours that histories of other
//! programs have, or lack. Here the target is a document with commands of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "the helpers are part of the tests")]

mod act;
mod calls;
mod document;
mod dragging;
mod drawing;
mod events;
mod failure;
mod fields;
mod groups;
mod half_done;
mod joined;
mod limits;
mod linear;
mod maps;
mod merging;
mod merging_borders;
mod mirror;
mod model;
mod obsolete;
mod pair;
mod panics;
mod peek;
mod proof;
mod property;
mod queues;
mod saved;
mod spill;
mod steps;
mod subject;
mod transactions;
mod users;
mod world;
