//! Measures contenders against each other.

use std::time::{Duration, Instant};

/// Shorter batches would measure the clock and the interrupts.
const BATCH: Duration = Duration::from_millis(4);

/// One thing to measure.
pub(crate) struct Contender<'a> {
    name: &'static str,
    /// Runs so many times, and says how long that took.
    time: Box<dyn FnMut(u32) -> Duration + 'a>,
    /// Runs in a batch.
    runs: u32,
    /// Microseconds of one run, a round each.
    times: Vec<f64>,
}

#[allow(dead_code, reason = "a program needs one or the other")]
impl<'a> Contender<'a> {
    pub(crate) fn new(name: &'static str, run: impl FnMut() + 'a) -> Self {
        // Were it inlined, what runs have in common might leave the loop.
        let mut run: Box<dyn FnMut() + 'a> = Box::new(run);
        Self::timed(name, move |runs| {
            let start = Instant::now();
            for _ in 0..runs {
                run();
            }
            start.elapsed()
        })
    }

    /// With something that comes before each run and is not timed; a run should last longer than the clock takes.
    pub(crate) fn prepared<S: ?Sized>(
        name: &'static str,
        subject: &'a mut S,
        prepare: fn(&mut S),
        run: fn(&mut S),
    ) -> Self {
        Self::timed(name, move |runs| {
            let mut taken = Duration::ZERO;
            for _ in 0..runs {
                prepare(subject);
                let start = Instant::now();
                run(subject);
                taken += start.elapsed();
            }
            taken
        })
    }

    /// Finds how many runs fill a batch, which also warms up.
    fn timed(name: &'static str, time: impl FnMut(u32) -> Duration + 'a) -> Self {
        let mut contender = Self { name, time: Box::new(time), runs: 1, times: Vec::new() };
        while contender.batch() < BATCH {
            contender.runs *= 2;
        }
        contender
    }

    /// The others have emptied the caches, so the first run is not timed: it
    /// would weigh the more the fewer runs a batch has.
    fn batch(&mut self) -> Duration {
        (self.time)(1);
        (self.time)(self.runs)
    }

    fn median(&mut self) -> f64 {
        self.times.sort_by(f64::total_cmp);
        self.times[self.times.len() / 2]
    }
}

/// Makes glibc keep freed memory instead of giving it back to the system. It
/// learns to from the largest block freed so far, up to 32 MiB; whether a decode
/// pays for page faults would else depend on what ran before it.
pub(crate) fn steady_heap() {
    drop(std::hint::black_box(vec![1_u8; (32 << 20) - (64 << 10)]));
}

/// The name of each contender and the median of its microseconds. A round is
/// one batch of each in turn, so that a slow moment of the machine hits all of
/// them alike.
pub(crate) fn measure(
    mut contenders: Vec<Contender<'_>>,
    rounds: u32,
) -> impl Iterator<Item = (&'static str, f64)> {
    for _ in 0..rounds {
        for contender in &mut contenders {
            let batch = contender.batch();
            contender.times.push(batch.as_secs_f64() * 1e6 / f64::from(contender.runs));
        }
    }
    contenders.into_iter().map(|mut contender| (contender.name, contender.median()))
}
