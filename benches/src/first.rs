//! The cost of the first save of a program, next to a later save by the same `Saves`.

use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;

use persist::{Persist, Saves};

use crate::harness::{Contender, Spread, measure};
use crate::report::Role;
use crate::run::Run;

const ENTRIES: u32 = 1_000_000;

#[derive(Persist)]
struct Node {
    id: u32,
    name: String,
    children: Vec<Node>,
}

/// Measures both saves of each value.
pub(crate) fn run(run: &mut Run) -> Result<(), String> {
    // Spread, so that the order of the numbers is not that of their bytes.
    let keys = || (0..ENTRIES).map(|key| key.wrapping_mul(2_654_435_761));
    let hashed: HashMap<u32, u32> = keys().map(|key| (key, 1)).collect();
    saves(run, "`HashMap<u32, u32>` of 10^6", &hashed);
    let sorted: BTreeMap<u32, u32> = keys().map(|key| (key, 1)).collect();
    saves(run, "`BTreeMap<u32, u32>` of 10^6", &sorted);
    saves(run, "1000 maps of 1000", &maps());
    let texts: Vec<String> = keys().map(|key| key.to_string()).collect();
    saves(run, "`Vec<String>` of 10^6", &texts);
    saves(run, "`Vec<u8>` of 20 MB", &vec![7_u8; 20_000_000]);
    saves(run, "a text of 20 MB", &"text".repeat(5_000_000));
    saves(run, "a tree of 270,000 structs", &tree(11, &mut 0));
    saves(run, "`Vec<u8>` of 40 MB", &vec![7_u8; 40_000_000]);
    copies(run, "no save: a copy of 20 MB", 20_000_000);
    copies(run, "no save: a copy of 40 MB", 40_000_000);
    Ok(())
}

/// The least that a save of flat bytes can cost: a copy into memory that is fresh or not, its checksum, and a copy
/// into the save. More than 32 MiB come fresh from the system each time, less is memory that the heap has kept.
fn copies(run: &mut Run, name: &'static str, size: usize) {
    let bytes = vec![7_u8; size];
    let copy = |window: &mut Vec<u8>, out: &mut Vec<u8>| {
        window.clear();
        window.extend_from_slice(black_box(&bytes));
        out.clear();
        out.extend_from_slice(window);
        black_box(crc32fast::hash(out));
    };
    let (mut warm, mut out, mut other) = (Vec::new(), Vec::new(), Vec::new());
    let first = Contender::new(name, Role::Floor, || copy(&mut Vec::new(), &mut other));
    let second = Contender::new(name, Role::Floor, || copy(&mut warm, &mut out));
    both(run, [first, second]);
}

fn maps() -> HashMap<u32, HashMap<u32, u32>> {
    (0..1000).map(|key| (key, (0..1000).map(|inner| (inner, key)).collect())).collect()
}

fn tree(levels: u32, id: &mut u32) -> Node {
    *id += 1;
    let (own, name) = (*id, format!("node {id}"));
    let children = if levels == 0 { 0 } else { 3 };
    Node { id: own, name, children: (0..children).map(|_| tree(levels - 1, id)).collect() }
}

fn saves<T: Persist>(run: &mut Run, name: &'static str, value: &T) {
    let save = |saves: &Saves| {
        black_box(saves.to_vec(black_box(value)).expect("it can be saved"));
    };
    let warm = Saves::new();
    save(&warm);
    let first = Contender::new(name, Role::Ours, || save(&Saves::new()));
    let second = Contender::new(name, Role::Ours, || save(&warm));
    both(run, [first, second]);
}

fn both(run: &mut Run, contenders: [Contender<'_>; 2]) {
    let rounds = run.rounds(11);
    for (measured, set) in measure(contenders.into(), rounds).zip(["first", "second"]) {
        let Spread { median, spread } = measured.time;
        let time = Spread { median: median / 1000.0, spread };
        run.timed("save, ms", measured.name, set, measured.role, time);
    }
}
