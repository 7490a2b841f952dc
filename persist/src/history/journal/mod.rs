//! The journal: what happens to a history, in a file, so that a crash loses nothing.
//!
//! A journal follows a save: it begins with the entries at the time of the save, and continues with what was done since. A
//! [`Session`] keeps both. `docs/reference/histories.md` has the file, and the order in which a save changes it.

mod commands;
mod evolution;
mod files;
mod frame;
mod identity;
#[cfg(feature = "tools")]
mod listing;
mod open;
mod recorder;
mod recovered;
mod replay;
mod session;
pub(super) mod spill;
mod spill_files;
mod stored;
#[cfg(feature = "tools")]
mod stored_change;
#[cfg(feature = "tools")]
mod stored_replay;
mod writer;

use std::time::Duration;

use crate::platform::Timer;

pub(super) use commands::CommandClasses;
pub(super) use frame::FrameKind;
#[cfg(feature = "tools")]
pub use listing::{JournalListing, ListedEvent, ListedStep, Occurrence};
pub use open::SessionOptions;
pub(super) use recorder::Journal;
pub use recovered::{JournalInfo, Recovered, Stopped, Torn};
pub use session::Session;
pub(super) use spill_files::Spill;
pub(super) use stored::{StoredCommand, StoredStep, payload};
#[cfg(feature = "tools")]
pub use stored_replay::Replayed;

/// When journal entries are flushed to disk.
///
/// In any case each edit is handed to the system before the call that makes it returns: **a program that is killed or
/// crashes loses nothing**. This setting decides what is lost if the machine itself stops, as in a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flush {
    /// Nothing: the disk is waited for in each edit. That takes about as long as a disk takes for one write, which is some milliseconds.
    #[default]
    EveryEdit,
    /// What was done since this long ago: the disk is waited for in the first call that comes so long after the last time, be it an edit or
    /// [`Session::tick`].
    Every(Duration),
    /// What was done since [`Session::flush`] was called last, which a program does when it has nothing else to do.
    OnIdle,
}

impl Flush {
    /// True if an edit waits for the disk.
    fn is_due(self, unsynced: Option<Timer>) -> bool {
        match self {
            Self::EveryEdit => true,
            Self::Every(interval) => unsynced.unwrap_or_else(Timer::start).is_past(interval),
            Self::OnIdle => false,
        }
    }
}
