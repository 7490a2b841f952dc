//! Emits events for subscribers of `tracing`, with the feature of that name; without it, does nothing.
//!
//! The events are those that a program should hear of without asking, so that a log of a player's machine has them.
//! Their target is `persist`.

use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use crate::platform::Timer;

/// A save that takes longer than this is reported, unless the program sets another limit.
pub(crate) const SLOW: Duration = Duration::from_secs(1);

/// Reports how a load treated a damaged or refused save.
pub(crate) fn recovered(path: Option<&Path>, what: &dyn Display) {
    #[cfg(feature = "tracing")]
    tracing::warn!(target: "persist", path = shown(path), "{what}");
    #[cfg(not(feature = "tracing"))]
    let _ = (path, what);
}

/// Reports a load that lost or changed parts.
pub(crate) fn lossy(path: Option<&Path>, lost: u64, changed: u64, summary: &dyn Display) {
    #[cfg(feature = "tracing")]
    if lost > 0 || changed > 0 {
        tracing::warn!(target: "persist", path = shown(path), lost, changed, "{summary}");
    }
    #[cfg(not(feature = "tracing"))]
    let _ = (path, lost, changed, summary);
}

/// Reports a save in the background that failed.
pub(crate) fn failed_in_background(path: Option<&Path>, error: &dyn Display) {
    #[cfg(feature = "tracing")]
    tracing::error!(target: "persist", path = shown(path), "a save in the background failed: {error}");
    #[cfg(not(feature = "tracing"))]
    let _ = (path, error);
}

/// Reports a journal whose edits were replayed.
#[cfg(feature = "history")]
pub(crate) fn replayed(journal: &Path, steps: u64, what: &dyn Display) {
    #[cfg(feature = "tracing")]
    tracing::info!(target: "persist", path = shown(Some(journal)), steps, "{what}");
    #[cfg(not(feature = "tracing"))]
    let _ = (journal, steps, what);
}

/// Reports a save that took longer than a limit.
pub(crate) fn saved(path: Option<&Path>, start: Timer, limit: Duration) {
    #[cfg(feature = "tracing")]
    if start.elapsed() > limit {
        let took_ms = start.elapsed().as_millis();
        tracing::warn!(target: "persist", path = shown(path), took_ms, "a save took {took_ms} ms");
    }
    #[cfg(not(feature = "tracing"))]
    let _ = (path, start, limit);
}

#[cfg(feature = "tracing")]
fn shown(path: Option<&Path>) -> Option<String> {
    path.map(|path| path.display().to_string())
}
