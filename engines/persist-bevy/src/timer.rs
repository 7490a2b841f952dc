//! How a field of type [`Timer`] is saved.
//!
//! A loaded timer continues where it was: with its duration, elapsed time and mode, paused or not, and as finished as it
//! was, also in the current tick.
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

/// What is stored.
#[derive(Persist, Clone, Copy, Debug, PartialEq, Eq)]
#[persist(class = "Timer")]
pub struct Stored {
    duration: Duration,
    elapsed: Duration,
    is_repeating: bool,
    is_paused: bool,
    /// If it is finished, how often in the current tick: 0 if it was finished before that.
    finished: Option<u32>,
}

/// The parts of a timer.
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

/// The timer of these parts.
///
/// # Errors
///
/// None.
pub fn restore(stored: Stored) -> Result<Timer, Infallible> {
    // It ends once in a nanosecond, since only ticks of a repeating timer set how often it has finished in one.
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

/// What a field holds before a load fills it: [`Timer::default`].
#[must_use]
pub fn empty() -> Timer {
    Timer::default()
}
