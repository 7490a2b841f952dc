//! What the first save of a program costs beside the next one of the same manager.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hint::black_box;

use persist::{Persist, SaveManager};

use crate::harness::{Contender, measure};

/// Milliseconds of one value's saves.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) size: usize,
    pub(crate) first: f64,
    pub(crate) second: f64,
}

const ENTRIES: u32 = 1_000_000;

#[derive(Persist)]
struct Node {
    id: u32,
    name: String,
    children: Vec<Node>,
}

#[derive(Persist)]
struct Item {
    id: u32,
    name: String,
    tags: Vec<u8>,
    position: (f32, f32, f32),
}

/// A game in one value: lists, maps and a picture.
#[derive(Persist)]
struct Game {
    items: Vec<Item>,
    names: HashMap<String, u32>,
    explored: Vec<u8>,
    seen: HashSet<u32>,
    tree: Node,
}

pub(crate) fn run(rounds: u32) -> Vec<Row> {
    // Spread, so that the order of the numbers is not that of their bytes.
    let keys = || (0..ENTRIES).map(|key| key.wrapping_mul(2_654_435_761));
    vec![
        row(
            "`HashMap<u32, u32>` of 10^6",
            &keys().map(|key| (key, 1)).collect::<HashMap<u32, u32>>(),
            rounds,
        ),
        row(
            "`BTreeMap<u32, u32>` of 10^6",
            &keys().map(|key| (key, 1)).collect::<BTreeMap<u32, u32>>(),
            rounds,
        ),
        row("1000 maps of 1000", &maps(), rounds),
        row(
            "`Vec<String>` of 10^6",
            &keys().map(|key| key.to_string()).collect::<Vec<_>>(),
            rounds,
        ),
        row("`Vec<u8>` of 20 MB", &vec![7_u8; 20_000_000], rounds),
        row("a text of 20 MB", &"text".repeat(5_000_000), rounds),
        row("a tree of 270,000 structs", &tree(11, &mut 0), rounds),
        row("a game", &game(), rounds),
        row("`Vec<u8>` of 40 MB", &vec![7_u8; 40_000_000], rounds),
        copies("no save: a copy of 20 MB", 20_000_000, rounds),
        copies("no save: a copy of 40 MB", 40_000_000, rounds),
    ]
}

/// The least that a save of flat bytes can cost: a copy into memory that is fresh or not, its checksum, and a copy
/// into the save. More than 32 MiB come fresh from the system each time, less is memory that the heap has kept.
fn copies(name: &'static str, size: usize, rounds: u32) -> Row {
    let bytes = vec![7_u8; size];
    let copy = |window: &mut Vec<u8>, out: &mut Vec<u8>| {
        window.clear();
        window.extend_from_slice(black_box(&bytes));
        out.clear();
        out.extend_from_slice(window);
        black_box(crc32fast::hash(out));
    };
    let (mut kept, mut out, mut other) = (Vec::new(), Vec::new(), Vec::new());
    let contenders = vec![
        Contender::new("first", || copy(&mut Vec::new(), &mut other)),
        Contender::new("second", || copy(&mut kept, &mut out)),
    ];
    let times: Vec<_> = measure(contenders, rounds).map(|(_, us)| us / 1000.0).collect();
    Row { name, size, first: times[0], second: times[1] }
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

fn game() -> Game {
    let item = |id: u32| Item {
        id,
        name: format!("the item {id}"),
        tags: vec![1; id as usize % 13],
        position: (1.0, 2.0, 3.0),
    };
    Game {
        items: (0..200_000).map(item).collect(),
        names: (0..100_000).map(|id| (format!("the item {id}"), id)).collect(),
        explored: vec![3; 5_000_000],
        seen: (0..100_000).collect(),
        tree: tree(10, &mut 0),
    }
}

fn row<T: Persist>(name: &'static str, value: &T, rounds: u32) -> Row {
    let save =
        |manager: &mut SaveManager| manager.value_to_vec(black_box(value)).expect("it can be saved");
    let mut kept = SaveManager::new();
    let size = save(&mut kept).len();
    let contenders = vec![
        Contender::new("first", || {
            black_box(save(&mut SaveManager::new()));
        }),
        Contender::new("second", || {
            black_box(save(&mut kept));
        }),
    ];
    let times: Vec<_> = measure(contenders, rounds).map(|(_, us)| us / 1000.0).collect();
    Row { name, size, first: times[0], second: times[1] }
}
