//! Measurements in a process of their own. Counting memory slows a program down, so times are measured elsewhere. A
//! graph at which a contender fails may overflow the stack, which ends the process.
#![forbid(unsafe_code)]

#[path = "../graph/mod.rs"]
mod graph;
#[path = "../history/ours.rs"]
mod ours;
#[allow(dead_code, reason = "the page is written by the benchmarks")]
#[path = "../report/mod.rs"]
mod report;
#[path = "../history/rivals.rs"]
mod rivals;
#[path = "../history/subject.rs"]
mod subject;

use std::cell::RefCell;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;
use std::thread;

use graph::data::{Shape, World, cut};
use graph::{Kind, SETS, Set};
use ours::{ByCommand, Creature, OfWorld};
use peak_alloc::PeakAlloc;
use persist::history::Proof;
use persist::{History, ObjectId, Persist, SaveManager, field};
use report::{Figures, Role, Row};
use rivals::{OfUndo, OfUndo2};
use subject::{Subject, Transform, check};

/// A block that grows counts twice while it does, as if it always had to move.
#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const USAGE: &str = "\
usage: probe memory FOLDER
       probe growth
       probe carry CONTENDER SHAPE COUNT
  memory  figures of the bytes that graphs and entries of histories take; FOLDER is for a file
  growth  figures of the bytes that objects and entries take, by how many there are
  carry   saves, loads and compares a graph of COUNT bodies, with a stack of 8 MiB
          CONTENDER is 'deep copy', fory, 'fory, weak', fyrox-core or persist
          SHAPE is random, local or earlier";

/// A power of two, so that lists that double have no spare capacity.
const ENTRIES: usize = 1 << 17;

const KINDS: [Kind; 5] = [Kind::DeepCopy, Kind::Fory, Kind::ForyWeak, Kind::Fyrox, Kind::Persist];

/// The stack that the main thread of most programs has.
const STACK: usize = 8 << 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["memory", folder] => {
            memory(Path::new(folder));
            ExitCode::SUCCESS
        }
        ["growth"] => {
            growth().expect("a world");
            ExitCode::SUCCESS
        }
        ["carry", contender, shape, count] => {
            let kind = KINDS.into_iter().find(|kind| kind.name() == contender);
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

/// Prints each step before it runs, since it may not return.
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

/// Counts the bytes that graphs and entries of histories take, for `persist-benches`.
fn memory(folder: &Path) {
    let mut figures = Figures::default();
    let mut push = |what: &str, name: &str, set: &str, role, figure| {
        let table = format!("memory: {what}");
        let (name, set) = (name.to_owned(), set.to_owned());
        figures.push(Row { table, name, role, set, figure, spread: None });
    };
    for set in &SETS {
        let mut floor = 0.0;
        for kind in set.kinds() {
            let Bytes { save, load, live_after } = graph(*set, kind);
            let mut push = |what, bytes| push(what, kind.name(), &set.title(), kind.role(), bytes);
            match kind {
                Kind::DeepCopy => floor = live_after,
                _ => push("save, bytes per object", save),
            }
            push("load, bytes per object", load);
            push("stays, bytes per object", live_after);
            if kind == Kind::Persist {
                push("tables of a save, bytes per object", tables_of_save(*set, folder));
                push("tables of a load, bytes per object", load - floor);
            }
        }
    }
    let mut entry =
        |name: &str, set: &str, role, bytes| push("bytes of an entry", name, set, role, bytes);
    entry("undo", "3 fields", Role::Rival, entries(OfUndo::new));
    entry("undo_2", "3 fields", Role::Rival, entries(OfUndo2::new));
    entry("persist, command", "3 fields", Role::Ours, entries(ByCommand::new));
    for (name, set, bytes) in [
        ("persist, `set` by a path", "3 fields", entries(OfWorld::<Transform>::by_path)),
        ("persist, `edit`", "3 fields", entries(OfWorld::<Transform>::by_edit)),
        ("persist, `set` by a path", "20 fields", entries(OfWorld::<Creature>::by_path)),
        ("persist, `edit`", "20 fields", entries(OfWorld::<Creature>::by_edit)),
    ] {
        entry(name, set, Role::Ours, bytes);
    }
    print!("{figures}");
}

/// Bytes per object.
struct Bytes {
    save: f64,
    load: f64,
    live_after: f64,
}

/// Counts the whole first run of a contender, since some keep their tables for the next run.
fn graph(set: Set, kind: Kind) -> Bytes {
    let world = set.shape.generate(set.count);
    let mut contender = kind.contender(&world);
    let each = |bytes: usize| bytes_of(bytes) / f64::from(set.count);
    let save = each(peak(|| contender.save()));
    let live = HEAP.current_usage();
    let load = each(peak(|| contender.load()));
    let live_after = each(HEAP.current_usage().saturating_sub(live));
    contender.free();
    contender.forget();
    cut(&world);
    Bytes { save, load, live_after }
}

/// The memory of a save into a file, which holds one block of it and no more.
fn tables_of_save(set: Set, folder: &Path) -> f64 {
    let world = set.shape.generate(set.count);
    let mut manager = SaveManager::new();
    let root = World { bodies: world.bodies.clone() };
    manager.add(&Rc::new(RefCell::new(root))).expect("its class can be registered");
    let path = folder.join("tables.sav");
    let bytes = peak(|| {
        manager.save(&path).expect("it can be saved");
    });
    std::fs::remove_file(path).expect("it was saved");
    drop(manager);
    cut(&world);
    bytes_of(bytes) / f64::from(set.count)
}

/// The most bytes that a step has allocated at a time, without those that were
/// before.
fn peak(step: impl FnOnce()) -> usize {
    let live = HEAP.current_usage();
    HEAP.reset_peak_usage();
    step();
    HEAP.peak_usage().saturating_sub(live)
}

/// Bytes of an entry.
fn entries<S: Subject>(make: fn() -> S) -> f64 {
    check("a history", &mut make());
    // A new subject has no spare capacity from earlier runs.
    let mut subject = make();
    let start = HEAP.current_usage();
    subject.set_many(ENTRIES);
    bytes_of(HEAP.current_usage() - start) / bytes_of(ENTRIES)
}

#[expect(clippy::cast_precision_loss, reason = "nothing here has 2^52 bytes")]
fn bytes_of(bytes: usize) -> f64 {
    bytes as f64
}

#[derive(Persist)]
#[persist(component)]
struct Place {
    x: f32,
    y: f32,
    z: f32,
}

#[derive(Persist)]
#[persist(component)]
struct Life(u32, u32);

/// Counts the bytes that objects of a world and entries of a history take, for `persist-benches`. Each count is a power
/// of two, so that lists that double have no spare capacity.
fn growth() -> persist::Result<()> {
    let mut figures = Figures::default();
    for (power, set) in [(10, "1000"), (13, "10000"), (17, "100000"), (20, "1000000")] {
        let count = 1_usize << power;
        let start = HEAP.current_usage();
        let mut world = persist::World::new();
        for n in 0..count {
            let at = n as f32;
            let place = Place { x: at, y: at, z: at };
            world.spawn_with("", (place, Life(1, 2)))?;
        }
        let objects = HEAP.current_usage() - start;
        let ids: Vec<ObjectId> = world.objects().collect();
        let start = HEAP.current_usage();
        let (mut history, path) = (History::new(None), field!(Place.x));
        history.set_proof(Proof::Off);
        for id in &ids {
            history.set(&mut world, *id, &path, -1.0)?;
        }
        let entries = HEAP.current_usage() - start;
        for (name, bytes) in [("bytes of an object", objects), ("bytes of an entry", entries)] {
            let (table, name, set) = ("growth: ns each".into(), name.to_owned(), set.to_owned());
            let figure = bytes as f64 / count as f64;
            figures.push(Row { table, name, role: Role::Ours, set, figure, spread: None });
        }
    }
    print!("{figures}");
    Ok(())
}
