//! Types of other crates: what they are stored as, byte by byte, and what is refused.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "these are tests")]

mod colours;
mod generators;
mod glam;
mod lists;
mod maps;
mod messages;
mod messages_of_data;
mod mint;
mod nalgebra;
mod numbers;
mod references;
mod roguelike;
mod sets;
mod slotmap;
mod support;
mod texts;
mod thunderdome;
mod times;
mod uuid;
