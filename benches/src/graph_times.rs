//! How long saving, loading and freeing a graph takes.

use std::time::Duration;

use crate::graph::data::{Shape, World, cut, deep_copy};
use crate::graph::{Contender, Kind, SETS, Set};
use crate::harness::{self, Clock, Spread};
use crate::report::Role;
use crate::run::Run;

/// Objects in a batch, at least: of a small graph, a single run would measure
/// the interrupts.
const BATCH: u32 = 200_000;

/// A step that takes so long is measured once in a batch, and seldom: rivals are quadratic.
const LONG: Duration = Duration::from_millis(500);

/// Graphs so small that the fixed cost of a save matters.
const SMALL: [Set; 2] = [
    Set { shape: Shape::Random, count: 1, rivals: &[Kind::ForyWeak, Kind::Fyrox] },
    Set { shape: Shape::Random, count: 100, rivals: &[Kind::ForyWeak, Kind::Fyrox] },
];

/// Measures all graphs.
pub(crate) fn run(run: &mut Run) -> Result<(), String> {
    for set in SETS {
        let title = set.title();
        for Measured { name, role, size, steps } in measure(run, set) {
            let each = |time: Spread| Spread { median: time.median / f64::from(set.count), ..time };
            // The floor of a save is the floor of a load: each reads every object and follows every reference.
            let save = if role == Role::Floor { steps[1] } else { steps[0] };
            run.timed("save, ns per object", name, &title, role, each(save));
            run.timed("load, ns per object", name, &title, role, each(steps[1]));
            run.timed("free, ns per object", name, &title, role, each(steps[2]));
            if let Some(size) = size {
                let size = size / f64::from(set.count);
                run.exact("size, bytes per object", name, &title, role, size);
            }
        }
    }
    for set in SMALL {
        small(run, set);
    }
    Ok(())
}

/// Measures whole graphs, many in a batch, since their steps are too short for a clock.
fn small(run: &mut Run, set: Set) {
    let (title, rounds) = (set.count.to_string(), run.rounds(31));
    let world = set.shape.generate(set.count);
    let kinds = || set.kinds().filter(|kind| *kind != Kind::DeepCopy);
    let mut contenders: Vec<_> =
        kinds().map(|kind| (kind, Runner::new(kind, &world).contender)).collect();
    let savers = contenders.iter_mut().map(|(kind, contender)| {
        harness::Contender::new(kind.name(), kind.role(), || contender.save())
    });
    run.measure("small, save, us", &title, 1.0, savers.collect(), rounds);
    let loaders = contenders.iter_mut().map(|(kind, contender)| {
        harness::Contender::new(kind.name(), kind.role(), || {
            contender.load();
            contender.free();
        })
    });
    run.measure("small, load and free, us", &title, 1.0, loaders.collect(), rounds);
    drop(contenders);
    cut(&world);
}

/// Nanoseconds of a save, a load and a free.
struct Measured {
    name: &'static str,
    role: Role,
    size: Option<f64>,
    steps: [Spread; 3],
}

/// One contender and the seconds of its batches, by step.
struct Runner<'w> {
    kind: Kind,
    contender: Box<dyn Contender + 'w>,
    size: Option<usize>,
    is_long: bool,
    times: [Vec<f64>; 3],
}

fn measure(run: &mut Run, set: Set) -> Vec<Measured> {
    let rounds = run.rounds(11);
    let world = set.shape.generate(set.count);
    let lid = hold_heap(&world);
    let mut runners: Vec<_> = set.kinds().map(|kind| Runner::new(kind, &world)).collect();
    let runs = if run.is_quick() { BATCH / 10 } else { BATCH }.div_ceil(set.count);
    for round in 0..rounds {
        for runner in &mut runners {
            match runner.is_long {
                true if round < 3 => runner.batch(1),
                true => {}
                false => runner.batch(runs),
            }
        }
    }
    let measured = runners.into_iter().map(Runner::measured).collect();
    cut(&world);
    drop(lid);
    measured
}

/// Keeps glibc from giving the end of the heap back to the system whenever a graph is freed: a block stays after the
/// place of one more graph. Otherwise, the previous contender would decide whether a load pays for page faults.
fn hold_heap(world: &World) -> Vec<u8> {
    let copy = deep_copy(world);
    let lid = vec![1; 64 << 10];
    cut(&copy);
    lid
}

impl<'w> Runner<'w> {
    /// Shows that the contender gives the graph back before it is measured.
    fn new(kind: Kind, world: &'w World) -> Self {
        let mut contender = kind.contender(world);
        contender.save();
        let load = Clock::Thread.time(|| contender.load());
        if let Err(what) = contender.check() {
            panic!("{} lost something: {what}", kind.name());
        }
        let (size, is_long) = (contender.size(), load > LONG && kind == Kind::Fyrox);
        contender.free();
        contender.forget();
        Self { kind, contender, size, is_long, times: Default::default() }
    }

    /// As in `harness`, the first run is not timed. Here it leaves the heap as
    /// the contender's own graphs do, not as those of the one before.
    fn batch(&mut self, runs: u32) {
        if !self.is_long {
            self.run();
        }
        let mut sums = [Duration::ZERO; 3];
        for _ in 0..runs {
            for (sum, time) in sums.iter_mut().zip(self.run()) {
                *sum += time;
            }
        }
        for (times, sum) in self.times.iter_mut().zip(sums) {
            times.push(sum.as_secs_f64() * 1e9 / f64::from(runs));
        }
    }

    /// Saves, loads and frees once.
    fn run(&mut self) -> [Duration; 3] {
        let contender = &mut self.contender;
        let clock = Clock::Thread;
        let times = [
            clock.time(|| contender.save()),
            clock.time(|| contender.load()),
            clock.time(|| contender.free()),
        ];
        contender.forget();
        times
    }

    #[expect(clippy::cast_precision_loss, reason = "no save has 2^52 bytes")]
    fn measured(self) -> Measured {
        let steps = self.times.map(|mut times| Spread::of(&mut times));
        let size = self.size.map(|size| size as f64);
        Measured { name: self.kind.name(), role: self.kind.role(), size, steps }
    }
}
