//! Saves fields of type [`Stopwatch`], with their elapsed time and whether they are paused.
//!
//! The module lifts into options, lists and maps, like [`timer`](crate::timer):
//!
//! ```
//! use bevy_ecs::prelude::*;
//! use bevy_time::Stopwatch;
//! use persist::Persist;
//! use persist_bevy::stopwatch;
//!
//! #[derive(Resource, Persist, Clone)]
//! struct Race {
//!     #[persist(with = stopwatch)]
//!     total: Stopwatch,
//!     #[persist(with = "Vec<stopwatch>")]
//!     laps: Vec<Stopwatch>,
//! }
//! ```

use std::convert::Infallible;
use std::time::Duration;

use bevy_time::Stopwatch;
use persist::Persist;

/// The stored form of a stopwatch.
#[derive(Persist, Clone, Copy, Debug, PartialEq, Eq)]
#[persist(class = "Stopwatch")]
pub struct Stored {
    elapsed: Duration,
    is_paused: bool,
}

/// Converts a stopwatch to its stored form.
#[must_use]
pub fn store(stopwatch: &Stopwatch) -> Stored {
    Stored { elapsed: stopwatch.elapsed(), is_paused: stopwatch.is_paused() }
}

/// Converts a stored stopwatch back.
///
/// # Errors
///
/// Never returns an error.
pub fn restore(stored: Stored) -> Result<Stopwatch, Infallible> {
    let mut stopwatch = Stopwatch::new();
    stopwatch.set_elapsed(stored.elapsed);
    if stored.is_paused {
        stopwatch.pause();
    }
    Ok(stopwatch)
}

/// Returns the value of a field before a load fills it: [`Stopwatch::new`].
#[must_use]
pub fn empty() -> Stopwatch {
    Stopwatch::new()
}
