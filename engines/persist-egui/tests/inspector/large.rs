//! Tests with 100,000 objects: the cost of a frame depends on the visible rows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use egui::Vec2;
use egui_kittest::kittest::Queryable as _;
use persist::{History, Persist};
use persist_egui::Inspector;

use crate::support::{Bag, Lamp, Program, SEARCH};

fn large() -> Program {
    let mut program = Program::new();
    for number in 0_u16..1_000 {
        let house = program.world.spawn(&format!("House {number}"));
        for _ in 0..99 {
            let lamp = Lamp { radius: f32::from(number), ..Lamp::default() };
            let object = program.world.spawn_with("", (lamp,)).unwrap();
            program.world.set_parent(object, Some(house)).unwrap();
        }
    }
    program
}

#[test]
fn only_visible_rows_are_laid_out() {
    let program = large();
    assert_eq!(program.world.objects().len(), 100_000);
    let window = program.show();
    let rows = window.0.query_all_by_label_contains("House ").count();
    assert!((10..100).contains(&rows), "{rows}");
}

#[test]
fn a_search_of_values_is_spread_over_several_frames() {
    let program = large();
    let mut window = program.show();
    window.type_into(SEARCH, "radius=999");
    window.0.run_steps(250);
    assert!(window.0.query_all_by_label_contains("object ").count() > 10);
}

/// A value with a large container of each kind.
#[derive(Persist, Clone, Default)]
#[persist(component)]
struct Store {
    numbers: Vec<u32>,
    words: Vec<String>,
    bytes: Vec<u8>,
    prices: BTreeMap<String, u32>,
    codes: HashMap<u64, u32>,
    tags: BTreeSet<u32>,
}

impl Store {
    fn with(count: u32) -> Self {
        Self {
            numbers: (0..count).collect(),
            words: (0..count).map(|number| format!("word {number}")).collect(),
            bytes: vec![7; count as usize],
            prices: (0..count).map(|number| (format!("price {number:06}"), number)).collect(),
            codes: (0..count).map(|number| (u64::from(number), number)).collect(),
            tags: (0..count).collect(),
        }
    }
}

/// Leaves one field of a store.
type Part = fn(Store) -> Store;

/// Returns the mean time of a frame.
fn time_of_frames(count: u32, mut show: impl FnMut(&mut egui::Ui)) -> std::time::Duration {
    let context = egui::Context::default();
    let mut frames = |count| {
        let start = std::time::Instant::now();
        for _ in 0..count {
            let size = Vec2::new(420.0, 900.0);
            let screen_rect = Some(egui::Rect::from_min_size(egui::Pos2::ZERO, size));
            let output =
                context.run_ui(egui::RawInput { screen_rect, ..Default::default() }, |ui| show(ui));
            let shapes = context.tessellate(output.shapes.clone(), 1.0);
            output.drop_without_applying_deltas();
            drop(shapes);
        }
        start.elapsed()
    };
    frames(3);
    frames(count) / count
}

/// Run `cargo test --release -p persist-egui --test inspector -- --ignored --nocapture` to print the times.
#[test]
#[ignore = "it measures"]
fn the_time_of_a_frame_of_large_containers() {
    for count in [1_000, 10_000, 100_000] {
        let parts: [(&str, &str, Part); 7] = [
            ("numbers", "numbers", |it| Store { numbers: it.numbers, ..Store::default() }),
            ("words", "words", |it| Store { words: it.words, ..Store::default() }),
            ("bytes", "", |it| Store { bytes: it.bytes, ..Store::default() }),
            ("ordered map", "", |it| Store { prices: it.prices, ..Store::default() }),
            ("hashed map", "", |it| Store { codes: it.codes, ..Store::default() }),
            ("set", "tags", |it| Store { tags: it.tags, ..Store::default() }),
            ("all", "", |it| it),
        ];
        for (what, header, part) in parts {
            let store = part(Store::with(count));
            let Program { mut world, mut history, mut inspector } = Program::new();
            let object = world.spawn_with("Store", (store.clone(),)).unwrap();
            inspector.select(Some(object));
            let of_component = time_of_frames(10, |ui| {
                inspector.show(ui, &mut (&mut world, &mut history));
            });
            let component = store.clone();
            let (mut document, mut history) = (store, History::new(100));
            let mut inspector = Inspector::default();
            let of_document = time_of_frames(10, |ui| {
                inspector.show_value(ui, &mut (&mut document, &mut history));
            });
            println!("{count} {what}: component {of_component:.2?}, document {of_document:.2?}");
            if !header.is_empty() {
                let mut window = Program::with("Store", component).0.show();
                window.click_arrow(header);
                let start = std::time::Instant::now();
                window.0.run_steps(10);
                println!("{count} {what}, open: component {:.2?}", start.elapsed() / 10);
            }
        }
    }
}

/// Run `cargo test --release -p persist-egui --test inspector -- --ignored --nocapture` to print the times.
#[test]
#[ignore = "it measures"]
fn the_time_of_a_frame() {
    let mut program = large();
    let lamp = program.world.objects().nth(1);
    program.inspector.select(lamp);
    let context = egui::Context::default();
    let frame = |program: &mut Program, what: &str, count: u32| {
        let mut slowest = std::time::Duration::ZERO;
        let start = std::time::Instant::now();
        for _ in 0..count {
            let input = egui::RawInput {
                screen_rect: Some(egui::Rect::from_min_size(
                    egui::Pos2::ZERO,
                    Vec2::new(420.0, 900.0),
                )),
                ..Default::default()
            };
            let begun = std::time::Instant::now();
            let output = context.run_ui(input, |ui| {
                let Program { world, history, inspector } = &mut *program;
                inspector.show(ui, &mut (world, history));
            });
            let shapes = context.tessellate(output.shapes.clone(), 1.0);
            output.drop_without_applying_deltas();
            drop(shapes);
            slowest = slowest.max(begun.elapsed());
        }
        if !what.is_empty() {
            println!("{what}: {:?} a frame, slowest {slowest:?}", start.elapsed() / count);
        }
    };
    let edits = |program: &mut Program, what: &str| {
        for _ in 0..5 {
            let Program { world, history, .. } = &mut *program;
            history.edit(world, "Add", |edit| edit.spawn("More")).unwrap();
            frame(program, what, 1);
        }
    };
    frame(&mut program, "first frames", 5);
    frame(&mut program, "idle", 500);
    edits(&mut program, "after an edit");
    let houses: Vec<_> = program.world.roots().collect();
    for house in houses {
        program.inspector.select(program.world.children(house).first().copied());
        frame(&mut program, "", 1);
    }
    frame(&mut program, "idle, all rows open", 500);
    edits(&mut program, "after an edit, all rows open");
    let bag = program.world.spawn("Bag");
    let numbers = vec![7; 1_000_000];
    program.world.attach(bag, Bag { numbers, ..Bag::default() }).unwrap();
    program.inspector.select(Some(bag));
    frame(&mut program, "a list of a million", 20);
}
