//! Limits, of saves and of loads.

use std::cell::RefCell;
use std::rc::Rc;

use persist::save::{Compression, SlotInfo};
use persist::{Limits, Persist, SaveManager, SaveOptions, Saves, Value};
use persist_tools::Document;

use crate::messages::disk::Disk;
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
fn crates(label: usize, depth: u32, parts: u32, nothing: usize) -> Shared<Crate> {
    let of = |label: usize, inside, parts, nothing| Crate {
        label: "x".repeat(label),
        inside,
        parts,
        nothing: vec![(); nothing],
    };
    let inside = (1..depth).fold(None, |inside, _| Some(Box::new(of(0, inside, vec![], 0))));
    let parts = (0..parts).map(|size| Rc::new(RefCell::new(Part { size }))).collect();
    Rc::new(RefCell::new(of(label, inside, parts, nothing)))
}

#[test]
fn what_is_beyond_a_limit_is_neither_saved_nor_loaded() {
    let mut table = Table::new();
    let none = Limits::default();
    for (what, crates, limits) in [
        ("bytes", crates(1000, 1, 0, 0), none.bytes(900)),
        ("a value's bytes", crates(1 << 20, 1, 0, 0), none.bytes(900).text(9 << 20)),
        ("text", crates(1000, 1, 0, 0), none.text(900)),
        ("depth", crates(1, 100, 0, 0), none.depth(40)),
        ("objects", crates(1, 1, 9, 0), none.objects(5)),
        ("empty elements", crates(1, 1, 0, 9), none.empty_elements(5)),
    ] {
        let within = |limits| {
            let mut manager = Saves::new().limits(limits).manager();
            manager.add(&crates).unwrap();
            manager
        };
        let save = within(none.expansion(u64::MAX).depth(1000)).to_vec().unwrap();
        let manager = within(limits);
        table.add(&format!("{what}, saved"), manager.to_vec());
        table.add(&format!("{what}, loaded"), manager.from_slice(&save));
        table.add(&format!("{what}, without types"), Document::within(&save, &limits));
    }
    insta::assert_snapshot!(table.text());
}

#[test]
fn objects_that_are_added() {
    let mut manager = Saves::new().limits(Limits::new().objects(2)).manager();
    for size in 0..3 {
        manager.add(&Rc::new(RefCell::new(Part { size }))).unwrap();
    }
    let mut table = Table::new();
    table.add("one too many", manager.to_vec());
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
    let mut manager = SaveManager::new();
    for id in 0..9000 {
        manager.add(&Rc::new(RefCell::new(Cached { id, cache: [1; 8192] }))).unwrap();
    }
    table.add("empty objects", manager.to_vec());
    drop(manager);

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
        Document::within(&forge::save(&items), &Limits::new().expansion(1)),
    );
    insta::assert_snapshot!(table.text());
}

#[test]
fn compressed_blocks() {
    let mut table = Table::new();
    let compression = Compression::Lz4;
    let options = SaveOptions::new().compression(compression);
    let saves = Saves::new().save_options(options);
    let map = vec![7_u8; 200_000];
    let save = saves.to_vec(&map).unwrap();
    let saves = saves.limits(Limits::new().decompressed(100_000));
    table.add("contents, saved", saves.to_vec(&map));
    table.add("contents, loaded", saves.from_slice::<Vec<u8>>(&save));
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
    let saves = Saves::new().limits(Limits::new().expansion(1));
    table.add("expansion", saves.manager().from_slice(&large));
    let saves = saves.limits(Limits::new().bytes(100));
    table.add("bytes", saves.manager().from_slice(&save));
    insta::assert_snapshot!(table.text());
}

#[test]
fn infos_and_names() {
    let mut table = Table::new();
    let disk = Disk::default();
    let saves = Saves::new().storage(disk.clone());
    let info = SlotInfo::new("a save").thumbnail(vec![1; 2 << 20]);
    let save = |saves: &Saves| saves.file("game.sav").info(info.clone()).save(&1_u8);
    table.add("an info", save(&saves));
    save(&saves.clone().limits(Limits::new().metadata(4 << 20))).unwrap();
    table.add("a header", persist::save::Header::from_reader(&disk.read("game.sav")[..]));
    let info = SlotInfo::new("a save").thumbnail(vec![1; (1 << 20) + 1_000]);
    let large = saves.clone().limits(Limits::new().metadata(4 << 20));
    large.file("game.sav").info(info).save(&1_u8).unwrap();
    table.add("the metadata", persist::save::Header::from_reader(&disk.read("game.sav")[..]));
    table.add("an application", saves.clone().application(&"x".repeat(70_000), "1"));
    table.add("a device", saves.clone().device(&"x".repeat(2000)));
    table.add("a device without a name", saves.device(""));
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
