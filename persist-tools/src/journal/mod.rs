//! Journals without the types of their program: listed, and replayed on their saves.

mod change;
mod listing;
mod replay;
mod untyped;

pub use listing::{JournalListing, ListedEvent, ListedStep, Occurrence};
pub use replay::Replayed;
