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
//! | [`JournalListing`], [`ListedEvent`], [`Occurrence`], [`ListedStep`], [`Replayed`] | a journal without the program's types; needs the feature `tools` |

// Three layers, each above the one before:
// - a list (`ring`), which knows no target, and what is known of it (`history`): the numbers of its states, the saved
//   point, its limits;
// - an engine over `step::Step`, an enum of changes and commands: `edit` and `world` make steps, `engine` enters them,
//   `entry` merges them, `undo` runs them. What they are made with is `support::Support`, which none of them holds. A
//   step knows of a command that it can be run (`step::Perform`); how it works, through an edit, only `edit` knows;
// - a `journal` that appends those steps, and a replay that makes the engine do them again.

mod edit;
mod editable;
mod engine;
mod entries;
mod entry;
mod event;
mod failure;
mod group;
#[expect(clippy::module_inception, reason = "the room is named after what is in it")]
mod history;
mod journal;
mod label;
mod merging;
mod proof;
mod ring;
mod step;
mod support;
mod undo;
mod world;

pub use crate::fields::Merge;
pub use edit::{CommandContext, Edit};
pub use editable::Editable;
pub use entries::{Entries, HistoryEntry};
pub use event::{HistoryEvent, Subscription};
pub use failure::Poison;
pub use group::{Histories, HistoryId};
pub use journal::{Flush, JournalInfo, Recovered, SessionOptions, Stopped, Torn};
#[cfg(feature = "tools")]
pub use journal::{JournalListing, ListedEvent, ListedStep, Occurrence, Replayed};
pub use label::{Label, Verb};
pub use merging::{Drag, MergeWindow};
pub use proof::Proof;
pub use ring::Capacity;
pub use step::End;

// The root shows these.
#[doc(hidden)]
pub use {edit::Command, history::History, journal::Session};
