//! The journal: the events of a history in a file, so that a crash loses nothing.
//!
//! A journal follows one save. It begins with the history at the time of that save, and continues with each event
//! since. A [`Session`] owns the save and its journal. `docs/reference/histories.md` describes the file.
//!
//! # Parts
//!
//! ```text
//!    Session ----- save ------> header, frames --------+   session, recorder
//!       |                                              |
//!    History -- edit, undo --> Journal -- frames --> JournalWriter --> the file
//!       ^                      recorder, stored        writer, frame       |
//!       |                                                                  |
//!       +--- same calls ---- replay <---- FrameReader <--------------------+
//!                            replay,      frame, files                     |
//!                            evolution
//! ```
//!
//! - `frame` has the bytes: a header with the digest of the save, then frames with a checksum and a number each.
//!   `stored` has the values in the frames, and `commands` the commands of the program as bytes.
//! - `recorder` turns an event into frames. `writer` appends them, repairs the file after a failed write, and exchanges
//!   the journal at a save. `identity` checks that nobody else replaced the save.
//! - `open` opens a session. `files` finds the journal that follows the save, and locks it. `replay` applies its
//!   frames, `evolution` migrates the steps of an older program, and `recovered` has the report.
//! - `spill` and `spill_files` move entries out of memory into files of their own. They are not part of the journal.
//!
//! The crate `persist-tools` lists and replays a journal without the program's types.
//!
//! # The life of a record
//!
//! 1. The history executes an edit, then calls [`Journal::record_done`] before the edit enters the list.
//! 2. The recorder encodes the steps. If classes were registered since the last frame, it puts them first; so it does
//!    with the content of each component that is changed for the first time.
//! 3. The writer checks that the save is still the one that it follows, and appends the frames as one write.
//! 4. It flushes the file if the [`Flush`] policy says so. Only then does the call return to the program.
//! 5. If any of this fails, the bytes are cut off, the history rolls the edit back, and the program receives the error.
//!
//! Any other event, such as an undo or the begin of a transaction, is one frame without steps ([`Journal::record`]).
//! Evicted entries are recorded ahead of the next event.
//!
//! At a save, the new journal is written as another file, the save is replaced, and the new journal is renamed over the
//! old one. Whenever this is interrupted, one journal follows the save that is there, by the digest in its header.
//!
//! At the next start, frames are replayed until the first one that is torn, damaged or refused. An open transaction at
//! the end is left out. A frame that leaves the target broken restarts the replay from the save, up to that frame.
//!
//! # Words
//!
//! - A **frame** is one record with a checksum. An **append** is the frames of one event, written together.
//! - The **beginning** of a journal is the frames with the state of the history at the save. All other frames are
//!   **events**.
//! - A **content** is a whole component, resource or target, as encoded bytes. It serves to migrate steps.
//! - Bytes are **good** if they belong to whole frames that no one has to cut off. A journal is **torn** if it ends in
//!   an interrupted append, and **damaged** if whole frames follow the bad bytes.
//! - A save is **undecided** while nobody knows whether it is in place.
//! - An entry is **spilled**, or **away**, while its steps are in a file.

mod commands;
mod evolution;
mod files;
pub(crate) mod frame;
mod identity;
mod open;
mod recorder;
mod recovered;
mod replay;
mod session;
pub(super) mod spill;
mod spill_files;
pub(crate) mod stored;
mod writer;

use std::time::Duration;

use crate::platform::Timer;

pub(super) use commands::CommandClasses;
pub(super) use frame::FrameKind;
pub use open::SessionOptions;
pub(super) use recorder::Journal;
pub use recovered::{JournalInfo, Recovered, ReplayStop, TornWrite};
pub use session::Session;
pub(super) use spill_files::Spill;
pub(super) use stored::{StoredCommand, StoredStep, payload};

/// When journal entries are flushed to disk.
///
/// With each policy, an edit is handed to the operating system before its call returns, so **a program that is killed
/// or crashes loses nothing**. The policy decides what is lost if the machine itself stops, as in a power failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flush {
    /// Flushes in each edit, so that a power failure loses nothing. Each edit waits for one write of the disk, which
    /// takes some milliseconds.
    #[default]
    EveryEdit,
    /// Flushes in the first edit or [`Session::tick`] after an edit has waited for this long. A power failure loses the
    /// edits of about that time.
    Every(Duration),
    /// Flushes only when the program calls [`Session::flush`], for example while it is idle. A power failure loses the
    /// edits since then.
    OnIdle,
}

impl Flush {
    /// True if an edit has to flush the journal.
    fn is_due(self, unsynced: Option<Timer>) -> bool {
        match self {
            Self::EveryEdit => true,
            Self::Every(interval) => unsynced.unwrap_or_else(Timer::start).is_past(interval),
            Self::OnIdle => false,
        }
    }
}
