//! Undo, redo, and a journal from which a crashed program recovers.
//!
//! A [`History`] records edits as entries. An entry holds changes of a value or of a [`World`](crate::World), and
//! [`Command`]s of the program. A [`Session`] is a target with its history, its save and a journal on disk.
//!
//! ```
//! use persist::{History, Persist, Saves, Session, field};
//!
//! #[derive(Persist, Default)]
//! struct Document { title: String, pages: Vec<String> }
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let (save, journal) = (folder.path().join("plan.sav"), folder.path().join("plan.journal"));
//! let open = || Session::<Document>::with(Saves::new(), History::new(256)).open(&save, &journal);
//!
//! let (mut session, _) = open()?;
//! session.set_field(field!(Document.title), "Plan")?;
//! session.edit("Add page", |document| {
//!     document.pages.push("Once upon a time".into());
//!     Ok(())
//! })?;
//! drop(session); // a crash: the edits are in the journal, but were never saved
//!
//! let (mut session, _) = open()?;
//! assert_eq!(session.target().pages.len(), 1);
//! session.undo()?;
//! assert!(session.target().pages.is_empty());
//! assert_eq!(session.history().undo_text(), "Undo Set Document.title");
//! # Ok::<(), persist::Error>(())
//! ```
//!
//! With the feature `world`, the target may be a `World`, whose objects and components are edited:
//!
//! ```
//! # #[cfg(feature = "world")] {
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
//! # }
//! # Ok::<(), persist::Error>(())
//! ```
//!
//! | | |
//! | --- | --- |
//! | [`History`], [`Entries`], [`HistoryEntry`], [`Label`], [`Verb`] | the list of entries, and their labels |
//! | [`Capacity`] | the limits of a history |
//! | [`Editable`] | the targets of a history: a world, or any type with field records |
//! | [`Edit`] | the target of an edit, which records its changes |
//! | [`Drag`], [`MergeWindow`] | several edits that become one entry |
//! | [`Command`], [`CommandEdit`], [`Merge`] | edits by code of the program |
//! | [`HistoryEvent`], [`Subscription`], [`FinalState`] | notifications for menus and views |
//! | [`Histories`], [`HistoryId`] | the histories of several documents, with one menu |
//! | [`Proof`], [`Poison`] | checks of undos, and failures of rollbacks |
//! | [`Session`], [`SessionOptions`], [`Flush`], [`JournalInfo`] | the journal, and when it is flushed |
//! | [`Recovered`], [`TornWrite`], [`ReplayStop`] | the report of a recovery after a crash |

// A map of this module.
//
// # Parts
//
//                        program
//                           | edit, apply, undo, redo, begin, commit
//                           v
//     +--------------------------------------------------------------------+
//     | History        engine, undo: order of each call                    |
//     |   Ring         ring: the list of entries and the position          |
//     |     UndoEntry  entry: label, state number, steps; merges           |
//     |       StepOf   step: a Change (data) or a command (code)           |
//     |   Support      support: classes, buffers, field access, lent out   |
//     |   Listeners    event, group: notified at the end of a call         |
//     |   Journal      journal: the same steps as frames of a file         |
//     +--------------------------------------------------------------------+
//                           | Change::apply, Command::apply
//                           v
//                 target: a World, or any value
//
// - `history` has the state numbers, the saved point, the limits and the eviction (`trim`, `make_room`, `drop_one`).
//   `ring` is a list that knows no target.
// - `edit` has the `Edit` that a closure receives, and commands; `world` has the edits of worlds, `editable` those of
//   other types. All of them produce steps.
// - `change` has changes of fields, and takes those of objects from the room `world`. `target` says whether a target is
//   a world. Without the feature `world`, `no_world` has types without values in its place.
// - `engine` enters steps into the list, `entry` and `merging` merge them, `undo` runs them back and ends each call.
// - `migrated` converts recorded changes of fields to the types of a later program.
// - `failure` and `proof` handle errors, panics and wrong undos; `label`, `event` and `group` serve menus.
//
// # An edit
//
// 1. The closure runs with an `Edit`. `get_mut` encodes the component first and hands out the reference (a pending
//    change). Other methods execute a change and push its step.
// 2. At the end, pending changes are compared with the current values. Each difference becomes a step.
// 3. The journal records the steps. Up to here, any error or panic rolls the steps back.
// 4. Undone entries are cut. The steps merge into the current entry, or a new entry is appended with a new state
//    number.
// 5. Entries over the limits are evicted. Dropped steps are finalized, listeners notified, and a caught panic resumes.
//
// # An undo
//
// 1. If the steps of the current entry are in a file, they are read.
// 2. The steps are undone, the last one first. If one fails, those before it are redone, and the entry stays.
// 3. `validate` functions check the result, then the journal records the event. If either fails, the steps are redone.
// 4. The position moves, and the call ends as that of an edit.
//
// If a rollback fails, the target is in a state that no entry describes. The history is then poisoned: it refuses
// everything until the entry is dropped. The code of the program runs under `guarded`, so that a panic cannot skip
// these steps.
//
// # Words
//
// - An *entry* is what one undo reverts. It has *steps*. An *edit* is a call that produces steps; several may merge
//   into an entry.
// - The *current* entry is the last applied one. The entries after it are undone, and can be redone.
// - A *state* is the number of what the target holds. A new edit gives a new number, an undo returns to the previous
//   one. An entry that is not *significant* keeps the number. The *saved point* is the number at the last save.
// - A command is *direct* if it changed its target itself. Only its own code can undo and redo that. Changes and
//   commands through its edit are *further* steps.
// - A step is *finalized* when it can no longer be undone, can no longer be redone, or was merged.
// - *Held* bytes belong to objects, components and resources that steps keep outside the target.

pub(crate) mod change;
mod edit;
mod editable;
mod engine;
mod entries;
mod entry;
mod event;
mod failure;
mod group;
#[expect(clippy::module_inception, reason = "the module is named after the type in it")]
mod history;
pub(crate) mod journal;
mod label;
pub(crate) mod merging;
mod migrated;
mod proof;
mod ring;
mod step;
mod support;
mod target;
mod undo;
#[cfg(feature = "world")]
mod world;
#[cfg(not(feature = "world"))]
#[path = "no_world.rs"]
mod world;

pub use crate::fields::Merge;
pub use edit::{CommandEdit, Edit};
pub use editable::Editable;
pub use entries::{Entries, HistoryEntry};
pub use event::{HistoryEvent, Subscription};
pub use failure::Poison;
pub use group::{Histories, HistoryId};
pub use journal::{Flush, JournalInfo, Recovered, ReplayStop, SessionOptions, TornWrite};
pub use label::{Label, Verb};
pub use merging::{Drag, MergeWindow};
pub use proof::Proof;
pub use ring::Capacity;
pub use step::FinalState;

// These are documented at the root of the crate.
#[doc(hidden)]
pub use {crate::fields::Sendable, edit::Command, history::History, journal::Session};
