//! Values nested to the limit, and far beyond it, on threads with a small stack: all that reads,
//! writes, migrates or shows them stays within it.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::{OnceCell, RefCell};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use persist::save::LoadPolicy;
use persist::{ErrorKind, Limits, LoadOptions, Persist, Record, SaveManager, Saves, Value};
use persist_tools::Document;
use persist_tools::lock::{Lock, Values};

use persist_tests::support::forge::{Item, bare, class, counted, fields, one, one_of, text};

/// What such a thread has: unoptimized code takes more.
const STACK: usize = if cfg!(debug_assertions) { 512 << 10 } else { 128 << 10 };

/// Levels of values that are read without their types.
const MOST: usize = 4 * Limits::DEFAULT.depth as usize;

fn on_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(STACK).spawn(run).unwrap().join().unwrap();
}

/// Does with a save what a tool would.
fn look(save: &[u8]) {
    let document = Document::from_slice(save).unwrap();
    assert!(document.to_vec().unwrap() == save);
    assert!(document.to_string().starts_with("save of format 1"));
    assert!(!format!("{document:?}{document:#?}").is_empty());
    let value = document.root().unwrap();
    assert!(value.to_string() == format!("{value:?}"));
    for text in [value.to_string(), format!("{value:#}")] {
        let parsed: Value = text.parse().unwrap();
        assert!(parsed == *value && parsed.clone() == *value);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.sav");
    document.save(&path).unwrap();
    assert!(persist_tools::dump(&path).unwrap() == document.to_string());
}

/// Values of a class that holds itself, through the kinds in which others may lie: kind, bytes of
/// a level, and how many levels of values that is.
fn classes() -> Vec<(Item, Vec<u8>, usize)> {
    let own: [(&[u8], &[u8], usize); 9] = [
        (&[0x10, 0x16, 1], &[1], 2),
        (&[0x11, 0x16, 1], &[1], 2),
        (&[0x11, 0x11, 0x16, 1], &[1, 1], 3),
        (&[0x12, 0x16, 1], &[1], 2),
        (&[0x13, 3, 0x16, 1], &[1, 7], 2),
        (&[0x13, 0x16, 1, 3], &[1], 2),
        (&[0x10, 0x15, 2, 3, 0x14, 1, 0x16, 1], &[1, 7], 4),
        (&[0x10, 0x18, 1, b'T'], &[1, 1], 2),
        (&[0x1b], &[1, 1], 2),
    ];
    let structs =
        own.iter().map(|(kind, step, levels)| (class("x", &[("a", kind)]), *step, *levels));
    // A bare value is no level of its own; as a trait object it lies in a record.
    let bares = own.iter().map(|(kind, step, levels)| {
        let is_dynamic = kind[..].contains(&0x18) || kind[..] == [0x1b];
        (bare("x", kind), *step, levels - 1 + usize::from(is_dynamic))
    });
    let variants = [&[0, 2][..], &text("Leaf"), &[0], &text("Branch")].concat();
    let branch = fields(&[("0", &[0x16, 1])]);
    let body = [&text("x")[..], &[1, 1, 2], &variants[2..], &branch];
    let tree = (Item::Definition(body.concat()), &[1][..], 1);
    let all = structs.chain(bares).chain([tree]);
    all.map(|(class, step, levels)| (class, step.to_vec(), levels)).collect()
}

#[test]
fn the_deepest_values_are_read_written_and_shown() {
    on_small_stack(|| {
        for (class, step, levels) in classes() {
            let save = |times: usize| {
                // A map from itself has its values behind all of its keys.
                let end =
                    vec![0; if class.clone().content().ends_with(&[1, 3]) { times } else { 0 }];
                one(class.clone(), &[step.repeat(times), vec![0], end].concat())
            };
            let deepest =
                (1..=MOST).rev().find(|times| Document::from_slice(&save(*times)).is_ok());
            let deepest = deepest.unwrap();
            assert!(
                (MOST - levels - 2..=MOST).contains(&(deepest * levels)),
                "{deepest} of {levels}"
            );
            look(&save(deepest));
            for times in [deepest + 1, 100_000] {
                let error = Document::from_slice(&save(times)).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::TooDeep, "{error}");
                assert!(error.message().contains("raise `Limits::depth`"), "{error}");
                assert!(error.offset().is_some() && error.object() == Some(1), "{error:?}");
            }
            // Deeper ones may be read, on a larger stack.
            let limits = Limits::new().depth(Limits::DEFAULT.depth + 1);
            Document::within(&save(deepest + 1), &limits).unwrap();
        }
    });
}

#[test]
fn texts_and_values_beyond_the_limit_are_refused() {
    on_small_stack(|| {
        let brackets = [
            ("[", "]"),
            ("(", ",)"),
            ("some(", ")"),
            ("{0: ", "}"),
            ("{", ": 0}"),
            ("A { a: ", " }"),
        ];
        for (open, close) in brackets {
            let deep = |depth: usize| format!("{}0{}", open.repeat(depth), close.repeat(depth));
            let value: Value = deep(MOST).parse().unwrap();
            assert!(value.to_string().parse::<Value>().unwrap() == value.clone());
            assert!(!format!("{value:#?}").is_empty());
            for depth in [MOST + 1, 100_000] {
                let error = deep(depth).parse::<Value>().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::TooDeep, "{open}: {error}");
            }
        }
        // What an editor puts into a document is written within the same limit.
        let chain = class("x", &[("a", &[0x10, 0x16, 1])]);
        let mut document = Document::from_slice(&one(chain, &[0])).unwrap();
        for (levels, is_good) in [(MOST / 2 - 1, true), (MOST / 2, false)] {
            let mut value: Value = "x { a: none }".parse().unwrap();
            for _ in 0..levels {
                let mut outer = Record::new("x");
                outer.set("a", Some(value));
                value = Value::from(outer);
            }
            *document.root_mut().unwrap() = value;
            let written = document.to_vec().map_err(|error| error.kind());
            assert_eq!(written.map(drop), if is_good { Ok(()) } else { Err(ErrorKind::TooDeep) });
        }
    });
}

/// Types of an older version, and the same types with migrations.
macro_rules! versions {
    ($name:ident, $($attribute:meta),*) => {
        mod $name {
            use super::*;

            #[derive(Persist)]
            $(#[$attribute])*
            pub(super) struct Chain {
                pub(super) next: Option<Box<Chain>>,
            }

            #[derive(Persist)]
            $(#[$attribute])*
            pub(super) enum Tree {
                Leaf,
                Branch(Box<Tree>),
            }

            #[derive(Persist)]
            $(#[$attribute])*
            pub(super) struct Nest {
                pub(super) parts: Vec<Nest>,
            }

            #[derive(Persist)]
            $(#[$attribute])*
            pub(super) struct Lists {
                pub(super) lists: Vec<Vec<Lists>>,
            }

            #[derive(Persist)]
            $(#[$attribute])*
            pub(super) struct Folder {
                pub(super) folders: BTreeMap<u8, Folder>,
            }

            #[derive(Persist)]
            $(#[$attribute])*
            pub(super) struct Node {
                pub(super) kind: Kind,
            }

            #[derive(Persist)]
            $(#[$attribute])*
            pub(super) enum Kind {
                End,
                Further(Option<Box<Node>>),
            }

            #[persist::dynamic]
            pub(super) trait Toy {}

            #[derive(Persist)]
            $(#[$attribute])*
            pub(super) struct Doll {
                pub(super) inside: Option<Box<dyn Toy>>,
            }

            impl Toy for Doll {}

            pub(super) fn saves() -> Saves {
                let saves = Saves::new();
                saves.register_as::<Doll, dyn Toy>().unwrap();
                saves
            }
        }
    };
}

versions!(old, persist(version = 1));
versions!(new, persist(version = 2, migrate(1 = unchanged)));

#[expect(clippy::unnecessary_wraps, reason = "a migration may fail")]
fn unchanged(_: &mut Record, _: u32) -> Result<(), String> {
    Ok(())
}

fn chain(depth: usize) -> old::Chain {
    let end = old::Chain { next: None };
    (0..depth).fold(end, |inner, _| old::Chain { next: Some(Box::new(inner)) })
}

fn tree(depth: usize) -> old::Tree {
    (0..depth).fold(old::Tree::Leaf, |inner, _| old::Tree::Branch(Box::new(inner)))
}

fn nest(depth: usize) -> old::Nest {
    (1..depth).fold(old::Nest { parts: vec![] }, |inner, _| old::Nest { parts: vec![inner] })
}

fn lists(depth: usize) -> old::Lists {
    let end = old::Lists { lists: vec![] };
    (1..depth / 2).fold(end, |inner, _| old::Lists { lists: vec![vec![inner]] })
}

fn folder(depth: usize) -> old::Folder {
    let end = old::Folder { folders: BTreeMap::new() };
    (1..depth).fold(end, |inner, _| old::Folder { folders: [(7, inner)].into() })
}

fn node(depth: usize) -> old::Node {
    let further = |inner| old::Kind::Further(Some(Box::new(inner)));
    let end = old::Node { kind: old::Kind::End };
    (0..depth).fold(end, |inner, _| old::Node { kind: further(inner) })
}

fn doll(depth: usize) -> old::Doll {
    let end = old::Doll { inside: None };
    (0..depth).fold(end, |inner, _| old::Doll { inside: Some(Box::new(inner)) })
}

/// Saves what is nested to the limit, and loads it as every type that there is for it.
fn goes_through<Old: Persist + 'static, New: Persist + 'static>(name: &str, old: fn(usize) -> Old) {
    let depth = Limits::DEFAULT.depth as usize;
    let save = old::saves().to_vec(&old(depth)).unwrap();
    old::saves().from_slice::<Old>(&save).unwrap();
    new::saves().from_slice::<New>(&save).unwrap_or_else(|error| panic!("{name}: {error}"));
    look(&save);
    let deeper = old(depth + 2);
    let error = old::saves().to_vec(&deeper).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooDeep, "{name}: {error}");
}

#[test]
fn the_deepest_typed_values_are_saved_loaded_and_migrated() {
    on_small_stack(|| goes_through::<old::Chain, new::Chain>("chain", chain));
    on_small_stack(|| goes_through::<old::Tree, new::Tree>("tree", tree));
    on_small_stack(|| goes_through::<old::Nest, new::Nest>("nest", nest));
    on_small_stack(|| goes_through::<old::Lists, new::Lists>("lists", lists));
    on_small_stack(|| goes_through::<old::Folder, new::Folder>("folder", folder));
    on_small_stack(|| goes_through::<old::Node, new::Node>("node", node));
    on_small_stack(|| goes_through::<old::Doll, new::Doll>("doll", doll));
}

/// 350 bytes, which took a thread of 256 KiB down.
#[test]
fn a_short_save_nested_deep_does_not_overflow_the_stack() {
    on_small_stack(|| {
        for depth in [255, 290, 100_000] {
            let payload = [vec![1; depth], vec![0]].concat();
            let save = one(class("Chain", &[("next", &[0x10, 0x16, 1])]), &payload);
            for result in [
                new::saves().from_slice::<new::Chain>(&save).map(drop),
                persist::from_slice::<old::Chain>(&save).map(drop),
            ] {
                assert_eq!(result.unwrap_err().kind(), ErrorKind::TooDeep, "{depth} levels");
            }
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("game.sav");
            std::fs::write(&path, &save).unwrap();
            let results = [Document::open(&path).map(drop), persist_tools::dump(&path).map(drop)];
            for result in results {
                let kind = result.map_err(|error| error.kind());
                assert_eq!(kind, if depth == 255 { Ok(()) } else { Err(ErrorKind::TooDeep) });
            }
        }
    });
}

/// What is whole of a damaged save is looked through for pointers to what is lost.
#[test]
fn deep_values_of_a_damaged_save_are_rescued() {
    on_small_stack(|| {
        let chain = std::rc::Rc::new(std::cell::RefCell::new(chain(128)));
        let mut manager = old::saves().manager();
        manager.add(&chain).unwrap();
        let mut save = manager.to_vec().unwrap();
        save.truncate(save.len() - 10);
        let saves = old::saves().load_options(LoadOptions::new().policy(LoadPolicy::Salvage));
        assert_eq!(saves.from_slice::<SaveManager>(&save).unwrap().len(), 1);
    });
}

/// The definitions of a save say what values become values of the program's types.
#[test]
fn deep_conversions_are_found_or_refused() {
    type Lists<T> = Vec<Option<Vec<Option<T>>>>;
    #[derive(Persist)]
    struct Wide {
        number: Lists<Lists<Vec<u16>>>,
    }
    on_small_stack(|| {
        // Newtypes of newtypes, each a class of its own.
        for depth in [10, 90, 200, 5_000] {
            let inner = |i: u64| [vec![0x16], counted(i)].concat();
            let mut items = vec![class("Wide", &[("number", &inner(2))])];
            for i in 2..depth {
                items.push(class(&format!("C{i}"), &[("0", &inner(i + 1))]));
            }
            items.push(class("last", &[("0", &[3])]));
            let result = persist::from_slice::<Wide>(&one_of(&items, &[7])).map(drop);
            assert_eq!(result.is_ok(), depth < 100, "{depth} newtypes: {result:?}");
        }
        // Kinds as deep as they may be.
        for sort in [&[0x10][..], &[0x11], &[0x13, 3], &[0x14, 2], &[0x15, 1]] {
            let kind = [&sort.repeat(63)[..], &[3]].concat();
            let save = one(class("Wide", &[("number", &kind)]), &[0; 64]);
            assert!(persist::from_slice::<Wide>(&save).is_err());
        }
    });
}

/// A lock is a text that anybody may have written.
#[test]
fn deep_samples_of_a_lock_are_made_or_refused() {
    on_small_stack(|| {
        let sample = |depth: usize, around: [&str; 2]| {
            let [open, close] = around;
            let class = |i: usize, kind: &str| {
                format!(
                    "Class {{ name: \"C{i}\", id: \"0x{i:x}\", version: 1, fields: {{ \"a\": {kind} }} }},"
                )
            };
            let chain = (1..depth).map(|i| class(i, &format!("{open}C{} {{}}{close}", i + 1)));
            let classes: String = chain.chain([class(depth, "\"u8\"")]).collect();
            let text = format!(
                "Lock {{ format: 3, versions: [Version {{ name: \"1\", after: [], schemas: [{classes} Object {{ class: C1 {{}}, holder: \"Rc\" }}] }}] }}"
            );
            text.parse::<Lock>().unwrap().sample("1", Values::Plain).map(drop)
        };
        for around in [["", ""], ["[", ", 1]"], ["(", ",)"]] {
            for depth in [100, 2_000] {
                let kind = sample(depth, around).map_err(|error| error.kind());
                let expected = if depth == 100 { Ok(()) } else { Err(ErrorKind::TooDeep) };
                assert_eq!(kind, expected, "{depth}, {around:?}");
            }
        }
        // An option need not be there where it would be too deep.
        let _ = sample(2_000, ["some(", ")"]);
    });
}

/// Bytes of a large array.
const BYTES: usize = 1 << 20;

/// An array of bytes, as a program has the memory of a small computer.
fn array() -> Box<[u8; BYTES]> {
    (0..=250_u8).cycle().take(BYTES).collect::<Vec<_>>().try_into().unwrap()
}

#[derive(Persist)]
struct Memory {
    cells: [u8; BYTES],
    name: String,
}

#[derive(Persist)]
struct Computer {
    memory: Memory,
    registers: [u16; 8],
}

#[derive(Persist)]
struct Words {
    #[persist(compact)]
    words: [u32; BYTES / 4],
}

#[derive(Persist)]
#[expect(clippy::large_enum_variant, reason = "a program may have one")]
enum Disk {
    Empty,
    Full([Option<u64>; BYTES / 16]),
}

/// Loads a value on a stack of some times its size: each function that returned it by value had copies of it.
fn fits<T: Persist>(make: impl FnOnce() -> T + Send + 'static) {
    fits_in(if cfg!(debug_assertions) { 4 } else { 2 }, make);
}

fn fits_in<T: Persist>(copies: usize, make: impl FnOnce() -> T + Send + 'static) {
    let make = || persist::to_vec(&make()).unwrap();
    let save = std::thread::Builder::new().stack_size(BYTES * 16).spawn(make).unwrap();
    let save = save.join().unwrap();
    let size = BYTES * copies + if cfg!(debug_assertions) { 128 << 10 } else { 96 << 10 };
    let load = move || assert!(persist::from_slice::<T>(&save).is_ok());
    std::thread::Builder::new().stack_size(size).spawn(load).unwrap().join().unwrap();
}

#[test]
fn arrays_by_value_take_a_few_times_their_size_of_stack() {
    let memory = || Memory { cells: *array(), name: "A".into() };
    fits(|| *array());
    fits(memory);
    fits(move || Computer { memory: memory(), registers: [7; 8] });
    fits(|| Words { words: [7; BYTES / 4] });
    fits(|| Disk::Full([Some(7); BYTES / 16]));
    fits(|| Disk::Empty);
    fits(|| (7_u8, [true; BYTES]));
    fits(|| Some([7_i16; BYTES / 2]));
    fits(|| vec![[7_u8; BYTES]]);
    fits(move || vec![Some(memory())]);
    fits(move || Rc::new(memory()));
    fits(|| Arc::new([7_u64; BYTES / 8]));
    fits(move || Reverse(memory()));
    fits(move || -> Result<Memory, u8> { Ok(memory()) });
    // Without optimization, each function of a cell on the way has a copy.
    let copies = if cfg!(debug_assertions) { 7 } else { 2 };
    fits_in(copies, move || RefCell::new(memory()));
    fits_in(copies, move || OnceCell::from(memory()));
    fits_in(copies, move || Rc::new(RefCell::new(memory())));
    fits_in(copies, move || Arc::new(Mutex::new(memory())));
}

#[persist::dynamic]
trait Device {}

impl Device for Memory {}

impl persist::Component for Memory {}

#[test]
fn boxed_arrays_are_made_on_the_heap_and_are_no_depth() {
    #[derive(Persist, PartialEq)]
    struct Chunk {
        voxels: Box<[u8; BYTES]>,
        light: Option<Box<[[u16; 256]; 512]>>,
        names: Box<[Option<String>; BYTES / 32]>,
    }
    on_small_stack(|| {
        let names = || (0..BYTES / 32).map(|at| (at % 3 == 0).then(|| String::from("x")));
        let chunk = || Chunk {
            voxels: array(),
            light: Some(vec![[7; 256]; 512].try_into().unwrap()),
            names: names().collect::<Vec<_>>().try_into().unwrap(),
        };
        let save = persist::to_vec(&chunk()).unwrap();
        assert!(persist::from_slice::<Chunk>(&save).unwrap() == chunk());
        let mut buffer = persist::codec::Buffer::new();
        let bytes = buffer.encode(&chunk()).unwrap();
        assert!(persist::codec::decode::<Chunk>(bytes).unwrap() == chunk());
        let mut old = chunk();
        old.voxels.fill(0);
        persist::codec::decode_into(&mut old, bytes).unwrap();
        assert!(old == chunk());
        // An object is made empty, and then read over.
        let mut manager = Saves::new().manager();
        let object = Rc::new(RefCell::new(chunk()));
        manager.add(&object).unwrap();
        let loaded = manager.from_slice(&manager.to_vec().unwrap()).unwrap();
        assert!(*loaded.first::<Chunk>().unwrap().borrow() == chunk());
        // A bad element is one, and is found.
        let mut bytes = vec![1; BYTES];
        assert!(persist::codec::decode::<Box<[bool; BYTES]>>(&bytes).is_ok());
        bytes[BYTES - 100] = 2;
        assert!(persist::codec::decode::<Box<[bool; BYTES]>>(&bytes).is_err());
        assert!(persist::codec::decode::<Box<[u8; BYTES]>>(&[2; BYTES - 1]).is_err());
    });
}

type Tile = [u8; 8192];

#[derive(Persist)]
struct Page {
    tile: Tile,
    next: Option<Box<Page>>,
}

#[derive(Persist)]
#[expect(clippy::large_enum_variant, reason = "a program may have one")]
enum Chain {
    End,
    Link(Tile, Box<Chain>),
}

#[derive(Persist)]
struct Pair(Option<Box<(Tile, Pair)>>);

type Tried = Result<(Tile, Option<Box<Cell>>), u8>;

#[derive(Persist)]
struct Cell(RefCell<Tried>);

/// Saves and loads a value of so many large levels: as deep as small ones may be, and no deeper.
fn nests<T: Persist>(make: fn(u32) -> T) {
    on_small_stack(move || {
        let save = persist::to_vec(&make(Limits::DEFAULT.depth)).unwrap();
        let loaded: T = persist::from_slice(&save).unwrap();
        assert!(persist::to_vec(&loaded).unwrap() == save);
        let error = persist::to_vec(&make(Limits::DEFAULT.depth + 1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooDeep, "{error}");
    });
}

/// What is inside of a large value in a box is read while no part of it is on the stack.
#[test]
fn large_values_in_boxes_nest_as_deep_as_small_ones() {
    const TILE: Tile = [7; 8192];
    nests(|depth| {
        let page = |page: Option<_>, _| Some(Box::new(Page { tile: TILE, next: page }));
        (0..depth).fold(None, page)
    });
    nests(|depth| {
        (1..depth).fold(Box::new(Chain::End), |chain, _| Box::new(Chain::Link(TILE, chain)))
    });
    nests(|depth| (0..depth).fold(Pair(None), |pair, _| Pair(Some(Box::new((TILE, pair))))));
    nests(|depth| {
        let cell = |cell: Option<_>, _| Some(Box::new(Cell(RefCell::new(Ok((TILE, cell))))));
        (0..depth).fold(None, cell)
    });
}

#[test]
fn trait_objects_and_components_may_be_large() {
    #[derive(Persist)]
    struct Slot {
        device: Box<dyn Device>,
    }
    let large = |run: fn()| {
        std::thread::Builder::new().stack_size(BYTES * 16).spawn(run).unwrap().join().unwrap();
    };
    large(|| {
        let saves = Saves::new();
        saves.register_as::<Memory, dyn Device>().unwrap();
        let memory = || Memory { cells: *array(), name: "A".into() };
        let save = saves.to_vec(&Slot { device: Box::new(memory()) }).unwrap();
        saves.from_slice::<Slot>(&save).unwrap();
        saves.register_component::<Memory>().unwrap();
        let mut world = persist::World::new();
        let object = world.spawn_with("", (memory(),)).unwrap();
        let save = saves.to_vec(&world).unwrap();
        let world = saves.from_slice::<persist::World>(&save).unwrap();
        assert!(world.get::<Memory>(object).unwrap().cells == *array());
    });
}
