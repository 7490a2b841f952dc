//! Undo, redo, and a journal from which a crashed program recovers.
//!
//! A [`History`] records entries. An entry is a list of edits of a [`World`](crate::World) or of [`Command`]s that the
//! program wrote. A [`Session`] is a target with its history and a journal on disk.
//!
//! ```
//! use persist::{Component, History, Persist, World, field};
//!
//! #[derive(Persist)]
//! struct Door { is_open: bool }
//! impl Component for Door {}
//!
//! let mut world = World::new();
//! let door = world.spawn("Door");
//! world.attach(door, Door { is_open: false })?;
//!
//! let mut history = History::new(100);
//! history.set(&mut world, door, field!(Door.is_open), true)?;
//! history.undo(&mut world)?;
//! assert_eq!(world.get::<Door>(door).map(|door| door.is_open), Some(false));
//! # Ok::<(), persist::Error>(())
//! ```
//!
//! | | |
//! | --- | --- |
//! | [`History`], [`Entries`], [`HistoryEntry`], [`Label`], [`Verb`] | the list of entries, and their names in a menu |
//! | [`Capacity`] | how much a history keeps |
//! | [`Editable`] | what a history can edit: a world, or any type with field records |
//! | [`Edit`] | what changes a target while it is recorded |
//! | [`Drag`], [`MergeWindow`] | edits that are one entry |
//! | [`Command`], [`CommandContext`], [`Merge`] | edits that the program wrote itself |
//! | [`HistoryEvent`], [`Subscription`], [`End`] | callbacks for menus and views |
//! | [`Histories`], [`HistoryId`] | the histories of several documents, with one menu |
//! | [`Proof`], [`Poison`] | what happens if an entry cannot be undone |
//! | [`Session`], [`SessionOptions`], [`Flush`], [`JournalInfo`] | the journal, and when it is durable |
//! | [`Recovered`], [`Torn`], [`Stopped`] | what came back after a crash |

// A list, which knows no target: `ring`, with the numbers of states in `saved` and the limits in `capacity`. An engine over
// `step::Step`, an enum of changes and commands: `edit` makes steps, `engine` enters them, `entry` merges them, `undo` runs
// them. A journal that appends those steps. What they are all made with is `support::Support`, which none of them holds.

mod capacity;
mod command;
mod edit;
mod engine;
mod entry;
mod event;
mod fields;
mod group;
#[expect(clippy::module_inception, reason = "the room is named after what is in it")]
mod history;
mod journal;
mod label;
mod merging;
mod order;
mod poison;
mod proof;
mod ring;
mod saved;
mod step;
mod steps;
mod support;
mod transaction;
mod undo;
mod world;

pub use capacity::Capacity;
pub use command::CommandContext;
pub use edit::Edit;
pub use event::{HistoryEvent, Subscription};
pub use fields::Editable;
pub use group::{Histories, HistoryId};
pub use history::{Entries, HistoryEntry};
pub use journal::{Flush, JournalInfo, Recovered, SessionOptions, Stopped, Torn};
pub use label::{Label, Verb};
pub use merging::{Drag, MergeWindow};
pub use poison::Poison;
pub use proof::Proof;
pub use step::{End, Merge};

// The root shows these.
#[doc(hidden)]
pub use {command::Command, history::History, journal::Session};
