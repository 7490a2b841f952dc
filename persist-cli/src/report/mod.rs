//! The page of `persist report`: its data, and how it becomes one file.
//!
//! `docs/reference/command.md` has the form of the data, which `--json` prints.

mod columns;
mod data;
mod diff;
mod index;
mod journal;
mod page;
mod sample;
mod sizes;
mod value;

pub(crate) use data::{Report, WholeSave};
pub(crate) use journal::Timeline;
