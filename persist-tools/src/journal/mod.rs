//! Journals without the types of their program: listed, and replayed on their saves.

mod listing;
mod untyped;

pub use listing::{JournalListing, ListedEvent, ListedStep, Occurrence};
pub use untyped::change::replay::Replayed;
