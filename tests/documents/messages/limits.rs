//! Limits, of saves and of loads.

use std::cell::RefCell;
use std::rc::Rc;

use persist::save::Compression;
use persist::{Document, Limits, Persist, SaveManager, SaveOptions, Value};

use crate::messages::table::Table;
use persist_tests::support::forge::{self, ADDED, bare, class, counted, one, record};

type Shared<T> = Rc<RefCell<T>>;

#[derive(Persist)]
struct Crate {
    label: String,
    inside: Option<Box<Crate>>,
    parts: Vec<Shared<Part>>,
    nothing: Vec<()>,
}

#[derive(Persist)]
struct Part {
    size: u32,
}

/// Crates in crates, with parts and a label.
fn manager(label: usize, depth: u32, parts: u32, nothing: usize) -> SaveManager {
    let of = |label: usize, inside, parts, nothing| Crate {
        label: "x".repeat(label),
        inside,
        parts,
        nothing: vec![(); nothing],
    };
    let inside = (1..depth).fold(None, |inside, _| Some(Box::new(of(0, inside, vec![], 0))));
    let parts = (0..parts).map(|size| Rc::new(RefCell::new(Part { size }))).collect();
    let mut saves = SaveManager::new();
    saves.add(&Rc::new(RefCell::new(of(label, inside, parts, nothing)))).unwrap();
    saves
}

#[test]
fn what_is_beyond_a_limit_is_neither_saved_nor_loaded() {
    let mut table = Table::new();
    let none = Limits::default();
    for (what, mut saves, limits) in [
        ("bytes", manager(1000, 1, 0, 0), Limits { bytes: 900, ..none }),
        (
            "a value's bytes",
            manager(1 << 20, 1, 0, 0),
            Limits { bytes: 900, text: 9 << 20, ..none },
        ),
        ("text", manager(1000, 1, 0, 0), Limits { text: 900, ..none }),
        ("depth", manager(1, 100, 0, 0), Limits { depth: 40, ..none }),
        ("objects", manager(1, 1, 9, 0), Limits { objects: 5, ..none }),
        ("empty elements", manager(1, 1, 0, 9), Limits { empty_elements: 5, ..none }),
    ] {
        saves.set_limits(Limits { expansion: u64::MAX, depth: 1000, ..none });
        let save = saves.to_vec().unwrap();
        saves.set_limits(limits);
        table.add(&format!("{what}, saved"), saves.to_vec());
        table.add(&format!("{what}, loaded"), saves.from_slice(&save));
        table.add(&format!("{what}, without types"), Document::within(&save, &limits));
    }
    insta::assert_snapshot!(table.text());
}

#[test]
fn objects_that_are_added() {
    let mut saves = SaveManager::new();
    saves.set_limits(Limits { objects: 2, ..Limits::default() });
    for size in 0..3 {
        saves.add(&Rc::new(RefCell::new(Part { size }))).unwrap();
    }
    let mut table = Table::new();
    table.add("one too many", saves.to_vec());
    insta::assert_snapshot!(table.text());
}

#[derive(Persist)]
struct Cached {
    id: u32,
    #[persist(skip, default = [0; 8192])]
    cache: [u8; 8192],
}

mod older {
    #[derive(persist::Persist)]
    #[persist(class = "Grown")]
    pub(super) struct Grown(pub(super) u8);
}

#[derive(Persist)]
struct Grown {
    #[persist(alias = "0")]
    id: u8,
    #[persist(default = String::from_utf8(vec![b'x'; 9000]).unwrap_or_default())]
    name: String,
}

#[test]
fn memory_out_of_proportion() {
    let mut table = Table::new();
    let mut saves = SaveManager::new();
    for id in 0..9000 {
        saves.add(&Rc::new(RefCell::new(Cached { id, cache: [1; 8192] }))).unwrap();
    }
    table.add("empty objects", saves.to_vec());
    drop(saves);

    let old: Vec<older::Grown> = (0..9000_u32).map(|_| older::Grown(7)).collect();
    let save = persist::to_vec(&old).unwrap();
    table.add("defaults of new fields", persist::from_slice::<Vec<Grown>>(&save));

    let mut items = Vec::new();
    for level in 1..200_u64 {
        let kind = [&[0x16], &counted(level + 1)[..]].concat();
        items.push(class(&format!("L{level}"), &[("a", &kind)]));
    }
    items.push(class("last", &[("a", &[0x03])]));
    items.push(bare("x", &[0x11, 0x16, 0x01]));
    let payload = [counted(1_000_000), vec![7; 1_000_000]].concat();
    items.push(record(201, ADDED, 1, &payload));
    table.add(
        "values without their types",
        Document::within(&forge::save(&items), &Limits { expansion: 1, ..Limits::default() }),
    );
    insta::assert_snapshot!(table.text());
}

#[test]
fn compressed_blocks() {
    let mut table = Table::new();
    let compression = Compression::Lz4;
    let options = SaveOptions { compression, ..SaveOptions::default() };
    let mut saves = SaveManager::new();
    saves.set_save_options(options);
    let map = vec![7_u8; 200_000];
    let save = saves.value_to_vec(&map).unwrap();
    saves.set_limits(Limits { decompressed: 100_000, ..Limits::default() });
    table.add("contents, saved", saves.value_to_vec(&map));
    table.add("contents, loaded", saves.value_from_slice::<Vec<u8>>(&save));
    // A block that says it holds 70 MB, which it cannot be asked for.
    let header = 16 + usize::from(save[12]) + 4;
    let mut large = save[..header].to_vec();
    let frame = vec![0; 300_000];
    large.push(2);
    large.extend((u32::try_from(frame.len()).unwrap() + 4).to_le_bytes());
    large.extend(70_000_000_u32.to_le_bytes());
    large.extend(frame);
    forge::stamp(&mut large, header);
    let total = large.len() as u64 + 29;
    forge::trailer(&mut large, [1, 1, total]);
    let mut saves = SaveManager::new();
    saves.set_limits(Limits { expansion: 1, ..Limits::default() });
    table.add("expansion", saves.from_slice(&large));
    saves.set_limits(Limits { bytes: 100, ..Limits::default() });
    table.add("bytes", saves.from_slice(&save));
    insta::assert_snapshot!(table.text());
}

#[test]
fn metadata_and_names() {
    let mut table = Table::new();
    let mut saves = SaveManager::new();
    let large = vec![1_u8; 2 << 20];
    table.add("metadata", saves.set_metadata(&large));
    let more = Limits { metadata: 4 << 20, ..Limits::default() };
    saves.set_limits(more);
    saves.set_metadata(&large).unwrap();
    let save = saves.value_to_vec(&1_u8).unwrap();
    table.add("a header", persist::save::Header::from_reader(&save[..]));
    table.add("an application", saves.set_application(&"x".repeat(70_000), "1"));
    table.add("a device", saves.set_device(&"x".repeat(2000)));
    table.add("a device without a name", saves.set_device(""));
    insta::assert_snapshot!(table.text());
}

#[test]
fn values_without_types() {
    let mut table = Table::new();
    let save = one(bare("x", &[0x11, 0x16, 0x01]), &[1].repeat(10_000));
    table.add("a list of itself", Document::from_slice(&save));
    let mut document = Document::from_slice(&persist::to_vec(&String::new()).unwrap()).unwrap();
    *document.root_mut().unwrap() = Value::from("x".repeat((64 << 20) + 1));
    table.add("a text", document.to_vec());
    insta::assert_snapshot!(table.text());
}
