//! What of a graph must not be measured where times are: the memory it takes,
//! for counting slows it down, and the sizes at which a contender fails, for an
//! overflow of the stack ends the process.
#![forbid(unsafe_code)]

#[path = "../graph/mod.rs"]
mod graph;

use std::process::ExitCode;
use std::thread;

use graph::data::{Shape, cut};
use graph::{Contender, Kind, SETS, Set};
use peak_alloc::PeakAlloc;

/// A block that grows counts twice while it does, as if it always had to move.
#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const USAGE: &str = "\
usage: graph-probe memory
       graph-probe carry CONTENDER SHAPE COUNT
  memory  bytes per object that saving and loading take
  carry   saves, loads and compares a graph of COUNT bodies, with a stack of 8 MiB
          CONTENDER is deep-copy, fory, fory-weak or persist
          SHAPE is random, local or earlier";

/// What the main thread of a program mostly has.
const STACK: usize = 8 << 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["memory"] => {
            memory();
            ExitCode::SUCCESS
        }
        ["carry", contender, shape, count] => {
            let kind = Kind::ALL.into_iter().find(|kind| kind.name() == contender);
            let shape = SETS.iter().map(|set| set.shape).find(|it| it.name() == shape);
            match (kind, shape, count.parse()) {
                (Some(kind), Some(shape), Ok(count)) => carry(kind, shape, count),
                _ => usage(),
            }
        }
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::FAILURE
}

/// Says each step before it comes, since none may return.
fn carry(kind: Kind, shape: Shape, count: u32) -> ExitCode {
    let work = move || {
        let world = shape.generate(count);
        let mut contender = kind.contender(&world);
        println!("saves");
        contender.save();
        println!("loads {} bytes", contender.size().unwrap_or_default());
        contender.load();
        println!("compares");
        let result = contender.check();
        contender.free();
        cut(&world);
        result
    };
    let thread = thread::Builder::new().stack_size(STACK).spawn(work);
    match thread.map(thread::JoinHandle::join) {
        Ok(Ok(Ok(()))) => {
            println!("is the same");
            ExitCode::SUCCESS
        }
        Ok(Ok(Err(what))) => {
            println!("differs: {what}");
            ExitCode::FAILURE
        }
        // A panic has been printed.
        Ok(Err(_)) => ExitCode::FAILURE,
        Err(error) => {
            println!("no thread: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Bytes per object.
struct Bytes {
    size: f64,
    save: f64,
    load: f64,
    stays: f64,
}

fn memory() {
    println!("| bytes per object | size | save, peak | load, peak | load, stays |");
    println!("|---|---|---|---|---|");
    for set in &SETS {
        for kind in set.kinds() {
            let Bytes { size, save, load, stays } = measure(*set, kind);
            let (set, kind) = (set.title(), kind.name());
            println!("| {set}, {kind} | {size:.0} | {save:.0} | {load:.0} | {stays:.0} |");
        }
    }
}

/// All of a contender's first run: some keep their tables for the next one.
fn measure(set: Set, kind: Kind) -> Bytes {
    let world = set.shape.generate(set.count);
    let mut contender = kind.contender(&world);
    let per_object = |bytes: usize| bytes_of(bytes) / f64::from(set.count);
    let save = peak(&mut *contender, |contender| contender.save());
    let live = HEAP.current_usage();
    let load = peak(&mut *contender, |contender| contender.load());
    let stays = HEAP.current_usage().saturating_sub(live);
    let size = contender.size().unwrap_or_default();
    contender.free();
    contender.forget();
    cut(&world);
    Bytes {
        size: per_object(size),
        save: per_object(save),
        load: per_object(load),
        stays: per_object(stays),
    }
}

/// The most bytes that a step has allocated at a time, without those that were
/// before.
fn peak(contender: &mut dyn Contender, step: impl FnOnce(&mut dyn Contender)) -> usize {
    let live = HEAP.current_usage();
    HEAP.reset_peak_usage();
    step(contender);
    HEAP.peak_usage().saturating_sub(live)
}

#[expect(clippy::cast_precision_loss, reason = "no graph has 2^52 bytes")]
fn bytes_of(bytes: usize) -> f64 {
    bytes as f64
}
