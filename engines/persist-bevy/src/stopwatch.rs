//! How a field of type [`Stopwatch`] is saved: with its elapsed time, paused or not.
//!
//! The module lifts into options, lists and maps, as [`timer`](crate::timer) does:
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

/// What is stored.
#[derive(Persist, Clone, Copy, Debug, PartialEq, Eq)]
#[persist(class = "Stopwatch")]
pub struct Stored {
    elapsed: Duration,
    is_paused: bool,
}

/// The parts of a stopwatch.
#[must_use]
pub fn store(stopwatch: &Stopwatch) -> Stored {
    Stored { elapsed: stopwatch.elapsed(), is_paused: stopwatch.is_paused() }
}

/// The stopwatch of these parts.
///
/// # Errors
///
/// None.
pub fn restore(stored: Stored) -> Result<Stopwatch, Infallible> {
    let mut stopwatch = Stopwatch::new();
    stopwatch.set_elapsed(stored.elapsed);
    if stored.is_paused {
        stopwatch.pause();
    }
    Ok(stopwatch)
}

/// What a field holds before a load fills it: [`Stopwatch::new`].
#[must_use]
pub fn empty() -> Stopwatch {
    Stopwatch::new()
}
