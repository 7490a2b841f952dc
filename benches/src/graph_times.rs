//! How long saving, loading and freeing a graph takes.

use std::time::{Duration, Instant};

use crate::graph::data::{World, cut, deep_copy};
use crate::graph::{Contender, Kind, SETS, Set};

/// Objects in a batch, at least: of a small graph, a single run would measure
/// the interrupts.
const BATCH: u32 = 200_000;

/// What is measured of one object in one set.
struct Figures {
    kind: Kind,
    /// Nanoseconds.
    save: Option<f64>,
    load: Option<f64>,
    free: Option<f64>,
    /// Bytes.
    size: Option<f64>,
}

/// Measures all graphs and prints the tables.
pub(crate) fn run(rounds: u32, csv: bool) {
    let columns: Vec<(String, Vec<Figures>)> =
        SETS.iter().map(|set| (set.title(), measure(*set, rounds))).collect();
    let print = if csv { print_csv } else { markdown };
    print("graph, save, ns per object", &columns, |figures| figures.save);
    print("graph, load, ns per object", &columns, |figures| figures.load);
    print("graph, free, ns per object", &columns, |figures| figures.free);
    print("graph, size, bytes per object", &columns, |figures| figures.size);
}

/// One contender and the seconds of its batches, by step.
struct Runner<'w> {
    kind: Kind,
    contender: Box<dyn Contender + 'w>,
    size: Option<usize>,
    times: [Vec<f64>; 3],
}

fn measure(set: Set, rounds: u32) -> Vec<Figures> {
    let world = set.shape.generate(set.count);
    let lid = hold_heap(&world);
    let mut runners: Vec<_> = set.kinds().map(|kind| Runner::new(kind, &world)).collect();
    let runs = BATCH.div_ceil(set.count);
    for _ in 0..rounds {
        runners.iter_mut().for_each(|runner| runner.batch(runs));
    }
    let objects = f64::from(set.count);
    let figures = runners.into_iter().map(|runner| runner.figures(f64::from(runs), objects));
    let figures = figures.collect();
    cut(&world);
    drop(lid);
    figures
}

/// Keeps glibc from giving the end of the heap back to the system whenever a
/// graph is freed: there stays a block behind the place of one more graph. It
/// would depend on who ran before whether a load pays for page faults.
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
        contender.load();
        if let Err(what) = contender.check() {
            panic!("{} lost something: {what}", kind.name());
        }
        let size = contender.size();
        contender.free();
        contender.forget();
        Self { kind, contender, size, times: Default::default() }
    }

    /// As in `harness`, the first run is not timed. Here it leaves the heap as
    /// the contender's own graphs do, not as those of the one before.
    fn batch(&mut self, runs: u32) {
        self.run();
        let mut sums = [Duration::ZERO; 3];
        for _ in 0..runs {
            for (sum, time) in sums.iter_mut().zip(self.run()) {
                *sum += time;
            }
        }
        for (times, sum) in self.times.iter_mut().zip(sums) {
            times.push(sum.as_secs_f64());
        }
    }

    /// Saves, loads and frees once.
    fn run(&mut self) -> [Duration; 3] {
        let contender = &mut self.contender;
        let times =
            [time(|| contender.save()), time(|| contender.load()), time(|| contender.free())];
        contender.forget();
        times
    }

    #[expect(clippy::cast_precision_loss, reason = "no save has 2^52 bytes")]
    fn figures(self, runs: f64, objects: f64) -> Figures {
        let [save, load, free] = self.times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2] * 1e9 / runs / objects
        });
        // The floor of a save is the floor of a load: each reads every object
        // and follows every reference.
        let save = if self.kind == Kind::DeepCopy { load } else { save };
        Figures {
            kind: self.kind,
            save: Some(save),
            load: Some(load),
            free: Some(free),
            size: self.size.map(|size| size as f64 / objects),
        }
    }
}

fn time(step: impl FnOnce()) -> Duration {
    let start = Instant::now();
    step();
    start.elapsed()
}

type Pick = fn(&Figures) -> Option<f64>;

/// A figure, and its ratios to the floor and to the rival where there are such.
type Cell = (f64, Option<f64>, Option<f64>);

fn cell(figures: &[Figures], kind: Kind, pick: Pick) -> Option<Cell> {
    let find = |wanted: &[Kind]| figures.iter().find(|it| wanted.contains(&it.kind)).and_then(pick);
    let figure = find(&[kind])?;
    let ratio = |to: Option<f64>| to.map(|to| figure / to);
    let rival = find(&[Kind::Fory, Kind::ForyWeak]);
    Some((figure, ratio(find(&[Kind::DeepCopy])), ratio(rival)))
}

fn print_csv(title: &str, columns: &[(String, Vec<Figures>)], pick: Pick) {
    for (set, figures) in columns {
        for kind in Kind::ALL {
            if let Some((figure, to_floor, _)) = cell(figures, kind, pick) {
                let ratio = to_floor.map(|ratio| format!("{ratio:.4}")).unwrap_or_default();
                println!("\"{title}\",\"{}\",{set},{figure:.3},{ratio}", kind.name());
            }
        }
    }
}

fn markdown(title: &str, columns: &[(String, Vec<Figures>)], pick: Pick) {
    print!("| {title} (x floor, x fory) |");
    columns.iter().for_each(|(set, _)| print!(" {set} |"));
    println!("\n|---|{}", "---|".repeat(columns.len()));
    for kind in Kind::ALL {
        let cells: Vec<_> = columns.iter().map(|(_, it)| cell(it, kind, pick)).collect();
        if cells.iter().all(Option::is_none) {
            continue;
        }
        print!("| {} |", kind.name());
        for cell in cells {
            let ratio = |ratio: Option<f64>| match ratio {
                Some(ratio) => format!("{ratio:.2}"),
                None => String::from("-"),
            };
            match cell {
                Some((figure, floor, rival)) => {
                    print!(" {figure:.0} ({}, {}) |", ratio(floor), ratio(rival));
                }
                None => print!(" - |"),
            }
        }
        println!();
    }
    println!();
}
