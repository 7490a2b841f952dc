//! Saves fields of type [`Timer`], with `#[persist(with = timer)]`.
//!
//! A loaded timer continues from the saved state: its duration, elapsed time and mode, whether it is paused, and how
//! often it has finished in the current tick.
//!
//! The module [lifts](https://docs.rs/persist/latest/persist/trait.With.html) into options, lists and maps:
//!
//! ```
//! use std::collections::HashMap;
//!
//! use bevy_ecs::prelude::*;
//! use bevy_time::Timer;
//! use persist::Persist;
//! use persist_bevy::timer;
//!
//! #[derive(Component, Persist, Clone)]
//! #[persist(component)]
//! struct Cooldowns {
//!     #[persist(with = timer)]
//!     attack: Timer,
//!     #[persist(with = "Option<timer>")]
//!     dash: Option<Timer>,
//!     #[persist(with = "HashMap<_, timer>")]
//!     spells: HashMap<String, Timer>,
//! }
//! ```

use std::convert::Infallible;
use std::time::Duration;

use bevy_time::{Timer, TimerMode};
use persist::Persist;

/// The stored form of a timer.
#[derive(Persist, Clone, Copy, Debug, PartialEq, Eq)]
#[persist(class = "Timer")]
pub struct Stored {
    duration: Duration,
    elapsed: Duration,
    is_repeating: bool,
    is_paused: bool,
    /// How often a finished timer has finished in the current tick: 0 if it has finished before. `None` if it runs.
    finished: Option<u32>,
}

/// Converts a timer to its stored form.
#[must_use]
pub fn store(timer: &Timer) -> Stored {
    Stored {
        duration: timer.duration(),
        elapsed: timer.elapsed(),
        is_repeating: timer.mode() == TimerMode::Repeating,
        is_paused: timer.is_paused(),
        finished: timer.is_finished().then(|| timer.times_finished_this_tick()),
    }
}

/// Converts a stored timer back.
///
/// # Errors
///
/// Never returns an error.
pub fn restore(stored: Stored) -> Result<Timer, Infallible> {
    // Only ticks of a repeating timer set the number of times that it has finished. This one finishes each nanosecond.
    let mut timer = Timer::new(Duration::from_nanos(1), TimerMode::Repeating);
    if let Some(times) = stored.finished {
        timer.tick(Duration::from_nanos(times.max(1).into()));
    }
    if !stored.is_repeating {
        timer.set_mode(TimerMode::Once);
        if stored.finished == Some(0) {
            timer.tick(Duration::ZERO);
        }
    }
    timer.set_duration(stored.duration);
    timer.set_elapsed(stored.elapsed);
    if stored.is_paused {
        timer.pause();
    }
    Ok(timer)
}

/// Returns the value of a field before a load fills it: [`Timer::default`].
#[must_use]
pub fn empty() -> Timer {
    Timer::default()
}
