//! Runs one path of the library, for `callgrind` to count its instructions: `persist-counts NAME`.
//!
//! Without a name it lists all. [`measured`] is what is counted; the code before it makes the data and warms the
//! buffers. Nothing here depends on the order of a hash map.

#[path = "../../../persist/examples/savedata/data/mod.rs"]
mod data;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::Cursor;
use std::rc::{Rc, Weak};

use data::{Players, log, mesh, minecraft, mk48};
use persist::codec::{Buffer, decode, decode_into};
use persist::history::Proof;
use persist::{Component, History, Limits, LoadOptions, Persist, SaveManager, Saves, World, field};
use persist_tools::Document;

/// Counted by its name.
#[inline(never)]
fn measured(run: &mut dyn FnMut()) {
    run();
}

fn main() {
    let paths: [(&str, fn()); 26] = [
        ("encode log", || encode(&log::generate())),
        ("decode log", || decoded(&log::generate())),
        ("into log", || into(&log::generate())),
        ("encode minecraft", || encode(&minecraft::generate())),
        ("decode minecraft", || decoded(&minecraft::generate())),
        ("decode mk48", || decoded(&mk48::generate())),
        ("save mesh", || saved(&mesh::generate())),
        ("save minecraft", || saved(&minecraft::generate())),
        ("first save minecraft", || first(&minecraft::generate())),
        ("load minecraft", || loaded::<Players>(&minecraft::generate())),
        ("load an older save", older),
        ("encode compact", || encode(&Numbers::some())),
        ("decode compact", || decoded(&Numbers::some())),
        ("save 10000 objects", || graph(10_000, false)),
        ("load 10000 objects", || graph(10_000, true)),
        ("save and load one object", one_object),
        ("save and load a world", world),
        ("save a world again", world_again),
        ("edit, undo and redo", history),
        ("edit a document", edit_of_document),
        ("edit a shape", edits_of_shapes),
        ("drag shapes", drag),
        ("transactions", transactions),
        ("verify 10000 objects", || verified(&graph_save(10_000))),
        ("verify minecraft", || verified(&value_save(&minecraft::generate()))),
        ("minecraft as values", || as_values(&value_save(&minecraft::generate()))),
    ];
    let Some(expected) = std::env::args().nth(1) else {
        paths.iter().for_each(|(name, _)| println!("{name}"));
        return;
    };
    let found = paths.iter().find(|(name, _)| *name == expected);
    found.unwrap_or_else(|| panic!("there is no path `{expected}`")).1();
}

/// Counts the second run.
fn count(mut run: impl FnMut()) {
    run();
    measured(&mut run);
}

fn encode<T: Persist>(value: &T) {
    let mut buffer = Buffer::new();
    count(|| {
        black_box(buffer.encode(value).unwrap());
    });
}

fn decoded<T: Persist>(value: &T) {
    let mut buffer = Buffer::new();
    let bytes = buffer.encode(value).unwrap();
    count(|| drop(black_box(decode::<T>(bytes).unwrap())));
}

fn into<T: Persist>(value: &T) {
    let mut buffer = Buffer::new();
    let bytes = buffer.encode(value).unwrap();
    let mut target = decode::<T>(bytes).unwrap();
    count(|| decode_into(&mut target, bytes).unwrap());
}

fn first<T: Persist>(value: &T) {
    count(|| drop(black_box(persist::to_vec(value).unwrap())));
}

fn saved<T: Persist>(value: &T) {
    let saves = Saves::new();
    count(|| drop(black_box(saves.to_vec(value).unwrap())));
}

fn loaded<T: Persist>(value: &T) {
    let saves = Saves::new();
    let save = saves.to_vec(value).unwrap();
    count(|| drop(black_box(saves.from_slice::<T>(&save).unwrap())));
}

/// The types of an older program: reordered fields, and narrower numbers.
mod then {
    use persist::Persist;

    #[derive(Persist)]
    pub(super) struct Item {
        pub(super) name: String,
        pub(super) count: u16,
        pub(super) marks: Vec<u8>,
        pub(super) worn: Option<f32>,
    }
}

#[derive(Persist)]
struct Item {
    marks: Vec<u32>,
    worn: Option<f32>,
    number: u64,
    #[persist(alias = "name")]
    title: String,
    #[persist(default)]
    count: u32,
}

fn older() {
    let items: Vec<then::Item> = (0..2000_u16)
        .map(|i| then::Item {
            name: format!("item {i}"),
            count: i,
            marks: vec![1, 2, 3],
            worn: (i % 2 == 0).then_some(0.5),
        })
        .collect();
    let save = persist::to_vec(&items).unwrap();
    let saves = Saves::new().load_options(LoadOptions::new().fill(true));
    count(|| drop(black_box(saves.from_slice::<Vec<Item>>(&save).unwrap())));
}

#[derive(Persist)]
#[persist(compact)]
struct Numbers {
    items: Vec<(u32, Option<i32>, u16)>,
    tiles: Vec<u16>,
    prices: BTreeMap<u32, i64>,
}

impl Numbers {
    fn some() -> Self {
        Self {
            items: (0..5000).map(|i| (i, (i % 3 == 0).then_some(-5), 300)).collect(),
            tiles: (0..20_000).map(|i| i % 200).collect(),
            prices: (0..1000).map(|i| (i, i64::from(i) * -7)).collect(),
        }
    }
}

#[derive(Persist, Default)]
struct Body {
    name: String,
    place: [f32; 3],
    mass: u64,
    near: Option<Rc<RefCell<Body>>>,
    seen: Weak<RefCell<Body>>,
}

impl Body {
    fn graph(count: usize) -> Vec<Rc<RefCell<Self>>> {
        let bodies: Vec<Rc<RefCell<Self>>> = (0..count).map(|_| Rc::default()).collect();
        for (i, body) in bodies.iter().enumerate() {
            let mut body = body.borrow_mut();
            body.name = format!("body {i}");
            body.mass = i as u64;
            body.near = Some(bodies[(i + 1) % count].clone());
            body.seen = Rc::downgrade(&bodies[i * 7919 % count]);
        }
        bodies
    }
}

fn graph(count_of: usize, load: bool) {
    let bodies = Body::graph(count_of);
    let mut saves = SaveManager::new();
    for body in &bodies {
        saves.add(body).unwrap();
    }
    if !load {
        return count(|| drop(black_box(saves.to_vec().unwrap())));
    }
    let save = saves.to_vec().unwrap();
    count(|| drop(black_box(saves.from_slice(&save).unwrap())));
}

fn graph_save(count: usize) -> Vec<u8> {
    let bodies = Body::graph(count);
    let mut saves = SaveManager::new();
    for body in &bodies {
        saves.add(body).unwrap();
    }
    saves.to_vec().unwrap()
}

fn value_save<T: Persist>(value: &T) -> Vec<u8> {
    persist::to_vec(value).unwrap()
}

fn verified(save: &[u8]) {
    count(|| drop(black_box(persist_tools::verify(Cursor::new(save), &Limits::DEFAULT).unwrap())));
}

fn as_values(save: &[u8]) {
    count(|| drop(black_box(Document::from_slice(save).unwrap())));
}

fn one_object() {
    let body = Rc::new(RefCell::new(Body { name: String::from("one"), ..Body::default() }));
    let mut saves = SaveManager::new();
    saves.add(&body).unwrap();
    count(|| {
        for _ in 0..100 {
            let save = saves.to_vec().unwrap();
            drop(black_box(saves.from_slice(&save).unwrap()));
        }
    });
}

#[derive(Persist, Clone, Copy)]
struct Place {
    x: f32,
    y: f32,
}

impl Component for Place {}

#[derive(Persist)]
struct Health(u32);

impl Component for Health {}

fn filled(objects: u16) -> World {
    let mut world = World::new();
    for i in 0..objects {
        let object = world.spawn("body");
        world.attach(object, Place { x: f32::from(i), y: 1.0 }).unwrap();
        world.attach(object, Health(u32::from(i))).unwrap();
    }
    world
}

fn world() {
    let world = filled(1_000);
    let saves = Saves::new();
    saves.register_component::<Place>().unwrap();
    saves.register_component::<Health>().unwrap();
    count(|| {
        let save = saves.to_vec(&world).unwrap();
        drop(black_box(saves.from_slice::<World>(&save).unwrap()));
    });
}

/// Saves a world of which one object has changed since the pages of a save in the background.
fn world_again() {
    let mut world = filled(20_000);
    let object = world.objects().last().unwrap();
    let saves = Saves::new();
    let path = std::env::temp_dir().join(format!("persist-counts-{}.sav", std::process::id()));
    saves.file(&path).save_in_background(&world).unwrap().wait().unwrap();
    std::fs::remove_file(path).unwrap();
    count(|| {
        world.get_mut::<Health>(object).unwrap().0 += 1;
        drop(black_box(saves.to_vec(&world).unwrap()));
    });
}

fn history() {
    let mut world = filled(1_000);
    let objects: Vec<_> = world.objects().collect();
    let mut history = History::new(10_000);
    count(|| {
        for (i, object) in (0_u16..).zip(&objects) {
            history.set(&mut world, *object, field!(Place.x), f32::from(i) + 0.5).unwrap();
        }
        while history.undo(&mut world).unwrap() {}
        while history.redo(&mut world).unwrap() {}
        while history.undo(&mut world).unwrap() {}
    });
}

#[derive(Persist)]
struct Shape {
    name: String,
    place: Place,
    points: Vec<[f32; 2]>,
}

#[derive(Persist)]
struct Drawing {
    shapes: Vec<Shape>,
}

fn drawing(shapes: u16) -> (Drawing, History<Drawing>) {
    let shape = |number: u16| Shape {
        name: format!("shape {number}"),
        place: Place { x: f32::from(number), y: 1.0 },
        points: vec![[1.0, 2.0]; 4],
    };
    let mut history = History::new(None);
    // Debug builds prove each edit, which this is not about.
    history.set_proof(Proof::Off);
    (Drawing { shapes: (0..shapes).map(shape).collect() }, history)
}

/// Changes a number of one shape of 10,000 by an edit of the whole document.
fn edit_of_document() {
    let (mut drawing, mut history) = drawing(10_000);
    count(|| {
        let edit = |drawing: &mut Drawing| {
            drawing.shapes[5_000].place.x += 1.0;
            Ok(())
        };
        history.edit(&mut drawing, "Move", edit).unwrap();
    });
}

/// Changes a number of each of 1,000 shapes by an edit of the shape alone, and undoes them.
fn edits_of_shapes() {
    let (mut drawing, mut history) = drawing(1_000);
    count(|| {
        for index in 0..1_000_usize {
            let edit = |shape: &mut Shape| {
                shape.place.x += 1.0;
                Ok(())
            };
            history.edit_at(&mut drawing, field!(Drawing.shapes[index]), "Move", edit).unwrap();
        }
        while history.undo(&mut drawing).unwrap() {}
    });
}

/// Drags 100 shapes over 20 frames.
fn drag() {
    let (mut drawing, mut history) = drawing(1_000);
    count(|| {
        let drag = history.begin_drag("Move");
        for frame in 0..20_u8 {
            for index in 0..100_usize {
                let path = field!(Drawing.shapes[index].place.x);
                history.set_field(&mut drawing, path, f32::from(frame)).unwrap();
            }
        }
        history.cancel_drag(&mut drawing, drag).unwrap();
    });
}

/// Pastes and deletes a shape 100 times, each as a transaction.
fn transactions() {
    let (mut drawing, mut history) = drawing(1_000);
    let paste = |history: &mut History<Drawing>, drawing: &mut Drawing| {
        let mut pasted = history.get_field(drawing, field!(Drawing.shapes[7]))?;
        if let Some(record) = pasted.as_record_mut() {
            record.set("name", "pasted");
        }
        history.insert_element(drawing, field!(Drawing.shapes), 500, pasted)?;
        history.set_field(drawing, field!(Drawing.shapes[500].place.x), 3.0)?;
        history.remove_element(drawing, field!(Drawing.shapes), 500)
    };
    count(|| {
        for _ in 0..100 {
            history.transaction(&mut drawing, "Paste", paste).unwrap();
        }
        while history.undo(&mut drawing).unwrap() {}
    });
}
