//! Measures contenders against each other.

use std::time::{Duration, Instant};

use cpu_time::ThreadTime;

use crate::report::Role;

/// Shorter batches would measure the clock and the interrupts.
const BATCH: Duration = Duration::from_millis(4);

/// A run so long needs no other before it: what it finds in the caches hardly matters.
const LONG: Duration = Duration::from_millis(20);

/// The clock: the CPU time of this thread, which other programs do not change, or the wall time where a disk is waited
/// for.
#[derive(Clone, Copy)]
pub(crate) enum Clock {
    Thread,
    Wall,
}

impl Clock {
    pub(crate) fn time(self, run: impl FnOnce()) -> Duration {
        match self {
            Self::Thread => {
                let start = ThreadTime::now();
                run();
                start.elapsed()
            }
            Self::Wall => {
                let start = Instant::now();
                run();
                start.elapsed()
            }
        }
    }
}

/// One thing to measure.
pub(crate) struct Contender<'a> {
    name: &'static str,
    role: Role,
    /// Runs that many times, and says how long that took.
    time: Box<dyn FnMut(u32) -> Duration + 'a>,
    /// Runs in a batch.
    runs: u32,
    is_long: bool,
    /// Microseconds of one run, a round each.
    times: Vec<f64>,
}

impl<'a> Contender<'a> {
    pub(crate) fn new(name: &'static str, role: Role, run: impl FnMut() + 'a) -> Self {
        Self::by(Clock::Thread, name, role, run)
    }

    pub(crate) fn by(clock: Clock, name: &'static str, role: Role, run: impl FnMut() + 'a) -> Self {
        // If it were inlined, the common work of the runs might be moved out of the loop.
        let mut run: Box<dyn FnMut() + 'a> = Box::new(run);
        Self::timed(name, role, move |runs| clock.time(|| (0..runs).for_each(|_| run())))
    }

    /// With something that comes before each run and is not timed; a run should last longer than the clock takes.
    pub(crate) fn prepared<S: ?Sized>(
        name: &'static str,
        role: Role,
        subject: &'a mut S,
        prepare: fn(&mut S),
        run: fn(&mut S),
    ) -> Self {
        Self::timed(name, role, move |runs| {
            let mut total = Duration::ZERO;
            for _ in 0..runs {
                prepare(subject);
                total += Clock::Thread.time(|| run(subject));
            }
            total
        })
    }

    /// Finds how many runs fill a batch, which also warms up.
    fn timed(name: &'static str, role: Role, mut time: impl FnMut(u32) -> Duration + 'a) -> Self {
        let (mut runs, mut batch) = (1, time(1));
        let is_long = batch > LONG;
        while batch < BATCH {
            runs *= 2;
            batch = time(runs);
        }
        Self { name, role, time: Box::new(time), runs, is_long, times: Vec::new() }
    }

    /// The others have emptied the caches, so the first run is not timed: it
    /// would weigh the more the fewer runs a batch has.
    fn batch(&mut self) {
        if !self.is_long {
            (self.time)(1);
        }
        let batch = (self.time)(self.runs);
        self.times.push(batch.as_secs_f64() * 1e6 / f64::from(self.runs));
    }
}

/// The result of one contender.
pub(crate) struct Measured {
    pub(crate) name: &'static str,
    pub(crate) role: Role,
    pub(crate) time: Spread,
}

/// The middle of several figures, and how far they lie apart as a part of it.
#[derive(Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) spread: f64,
}

impl Spread {
    /// From the tenth to the ninetieth of a hundred.
    pub(crate) fn of(figures: &mut [f64]) -> Self {
        let median = percentile(figures, 50);
        let spread = (percentile(figures, 90) - percentile(figures, 10)) / median;
        Self { median, spread }
    }
}

/// The figure that this part of them does not exceed.
pub(crate) fn percentile(figures: &mut [f64], percent: usize) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[(figures.len() * percent / 100).min(figures.len() - 1)]
}

/// Microseconds of each contender. A round is one batch of each in turn, so that a slow moment of the machine hits all
/// of them alike.
pub(crate) fn measure(
    mut contenders: Vec<Contender<'_>>,
    rounds: u32,
) -> impl Iterator<Item = Measured> {
    for _ in 0..rounds {
        contenders.iter_mut().for_each(Contender::batch);
    }
    contenders.into_iter().map(|Contender { name, role, mut times, .. }| Measured {
        name,
        role,
        time: Spread::of(&mut times),
    })
}

/// Makes glibc keep freed memory instead of giving it back to the system. Otherwise, a contender may pay for page
/// faults that the previous one caused: at 10^6 objects a deep copy took 166 or 251 nanoseconds for each. glibc reads
/// this at the start of a program, so the program starts itself again. Blocks over 32 MiB come from the system in any
/// case.
pub(crate) fn steady_heap() -> std::io::Result<()> {
    const SETTINGS: [(&str, &str); 2] =
        [("MALLOC_TRIM_THRESHOLD_", "17179869184"), ("MALLOC_MMAP_THRESHOLD_", "33554432")];
    if SETTINGS.iter().all(|(name, _)| std::env::var_os(name).is_some()) {
        return Ok(());
    }
    let mut command = std::process::Command::new(std::env::current_exe()?);
    command.args(std::env::args_os().skip(1)).envs(SETTINGS);
    Err(std::os::unix::process::CommandExt::exec(&mut command))
}
