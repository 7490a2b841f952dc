//! What was done, to be undone and redone, and not lost when the program crashes.
//!
//! A [`History`] is a list of entries, each of steps that can be taken back. Those of a world are found by the field records; others are
//! commands of the program's own. The list knows nothing of what a step does.

mod command;
mod edit;
mod engine;
mod entry;
mod event;
#[expect(clippy::module_inception, reason = "the room is named after what is in it")]
mod history;
mod journal;
mod label;
mod order;
mod poison;
mod proof;
mod ring;
mod saved;
mod step;
mod transaction;
mod undo;
mod world;

#[doc(no_inline)]
pub use command::Command;
pub use command::CommandContext;
pub use edit::Edit;
pub use event::{HistoryEvent, Subscription};
#[doc(no_inline)]
pub use history::History;
pub use history::HistoryEntry;
#[doc(no_inline)]
pub use journal::Session;
pub use journal::{Flush, JournalInfo, Recovered, SessionOptions, Stopped, Torn};
pub use label::{Label, Verb};
pub use poison::Poison;
pub use proof::Proof;
pub use step::{End, Merge};
pub use transaction::Transaction;
pub use undo::OnMissing;
