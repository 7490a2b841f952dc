//! Tests of actions and values that users do not intend.

use egui::{Key, PointerButton, Vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use persist::{ObjectId, World};

use crate::support::{Bag, Deep, Even, Lamp, Link, Numbers, Program, SEARCH};

#[test]
fn floats_that_are_no_numbers_are_shown_and_replaced() {
    for float in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE, -0.0] {
        let (program, _) = Program::with("Ada", Numbers { float, ..Numbers::default() });
        let mut window = program.show();
        let at = window.widget("float");
        window.click_at(at, PointerButton::Primary);
        window.press(Key::Enter);
        window.settle();
        assert_eq!(window.component::<Numbers>().float.to_bits(), float.to_bits());
        assert_eq!(window.entries(), [""; 0], "{float}");
        window.enter("float", "2.5");
        assert_eq!(window.component::<Numbers>().float, 2.5, "{float}");
        window.undo();
        assert_eq!(window.component::<Numbers>().float.to_bits(), float.to_bits());
        window.drag(at, at + Vec2::new(50.0, 0.0));
    }
}

#[test]
fn not_a_number_can_be_typed_and_undone() {
    let (program, _) = Program::with("Ada", Numbers::default());
    let mut window = program.show();
    window.enter("float", "NaN");
    assert_eq!(window.component::<Numbers>().float, 0.0);
    window.enter("float", "1");
    assert_eq!(window.component::<Numbers>().float, 1.0);
}

#[test]
fn a_huge_text_is_shown_and_not_laid_out() {
    let text = "é\n".repeat(4 << 20);
    let (program, _) = Program::with("Lamp", Lamp { text: text.clone(), ..Lamp::default() });
    let mut window = program.show();
    assert!(window.says("bytes: é"));
    window.enter("radius", "2");
    assert_eq!(window.component::<Lamp>().text, text);
}

#[test]
fn a_huge_list_is_shown_in_pages() {
    let (program, _) = Program::with("Ada", Bag { numbers: vec![7; 200_000], ..Bag::default() });
    let mut window = program.show();
    window.click_arrow("numbers");
    assert!(window.has("[49]") && !window.has("[50]"));
    window.click("The elements after");
    assert!(window.has("[50]") && !window.has("[49]"));
    window.click("Insert into numbers");
    assert_eq!(window.component::<Bag>().numbers.len(), 200_001);
}

#[test]
fn a_value_that_nests_deeply_is_shown_to_a_depth() {
    let mut nested = Deep::default();
    for level in 1..60 {
        nested = Deep { inner: Some(Box::new(nested)), level };
    }
    let (program, _) = Program::with("Ada", nested.clone());
    let mut window = program.show();
    for _ in 0..30 {
        let Some(closed) = window.last_closed() else { break };
        window.click_at(closed, PointerButton::Primary);
    }
    assert_eq!(window.component::<Deep>(), nested);
}

#[test]
fn a_value_that_nests_beyond_all_limits_is_named() {
    let mut nested = Deep::default();
    for level in 1..1_500 {
        nested = Deep { inner: Some(Box::new(nested)), level };
    }
    let (program, _) = Program::with("Ada", nested);
    let mut window = program.show();
    window.type_into(SEARCH, "level=7");
    window.settle();
    window.enter("level", "3");
    assert_eq!(window.component::<Deep>().level, 3);
}

#[test]
fn the_selected_object_may_go_and_come_back() {
    let (program, object) = Program::with("Lamp", Lamp::default());
    let mut window = program.show();
    window.program().world.remove(object);
    window.settle();
    assert!(window.says("not there any more"));
    let other = ObjectId::new(1 << 40);
    window.program().inspector.select(other);
    window.settle();
    assert!(window.says("not there any more"));
}

#[test]
fn the_spawn_of_the_selected_object_may_be_undone_and_redone() {
    let mut window = Program::new().show();
    window.click("Add an object");
    let object = window.program().inspector.selected();
    window.undo();
    assert!(window.says("not there any more"));
    let Program { world, history, .. } = window.program();
    assert!(history.redo(world).unwrap());
    window.settle();
    assert!(!window.says("not there any more"));
    assert_eq!(window.program().inspector.selected(), object);
}

#[test]
fn the_object_may_go_while_its_field_is_dragged_or_typed() {
    let (program, object) = Program::with("Lamp", Lamp::default());
    let mut window = program.show();
    window.type_into("text", "br");
    window.program().world.remove(object);
    window.0.event(egui::Event::Text("ass".into()));
    window.settle();
    window.press(Key::Enter);
    assert!(!window.program().world.contains(object));
}

#[test]
fn an_undo_while_a_text_is_typed_is_not_typed_over() {
    let (program, _) = Program::with("Lamp", Lamp::default());
    let mut window = program.show();
    window.enter("text", "brass");
    window.type_into("text", "iron");
    window.undo();
    assert_eq!(window.component::<Lamp>().text, "");
    window.0.event(egui::Event::Text("x".into()));
    window.press(Key::Enter);
    assert_eq!(window.component::<Lamp>().text, "x");
}

#[test]
fn typed_text_is_applied_before_the_click_that_ends_typing() {
    let (mut program, ada) = Program::with("Ada", Lamp::default());
    program.world.spawn("Bob");
    let mut window = program.show();
    window.type_into("Name", "Eve");
    window.click("Bob");
    assert_eq!(window.program().world.name(ada), Some("Eve"));
    window.program().inspector.select(Some(ada));
    window.settle();
    window.type_into("radius", "5");
    window.click("Bob");
    assert_eq!(window.program().world.get::<Lamp>(ada).unwrap().radius, 5.0);
    assert_eq!(window.entries(), ["Rename Ada", "Set radius of Eve"]);
    window.program().inspector.select(Some(ada));
    window.settle();
    window.type_into("radius", "7");
    // The button shows the previous entry until the mouse is pressed, which applies the typed text.
    window.click("Undo Set radius of Eve");
    assert_eq!(window.component::<Lamp>().radius, 5.0);
    assert_eq!(window.program().history.redo_text(), "Redo Set radius of Eve");
    assert_eq!(window.entries(), ["Rename Ada", "Set radius of Eve"]);
}

#[test]
fn what_the_program_does_is_no_part_of_what_is_typed() {
    let (program, object) = Program::with("Lamp", Lamp::default());
    let app = |ui: &mut egui::Ui, program: &mut Program| {
        let Program { world, history, inspector } = program;
        if ui.button("Spawn").clicked() {
            history.edit(world, "Spawn", |edit| edit.spawn("Door")).unwrap();
        }
        inspector.show(ui, &mut (world, history));
    };
    let size = Vec2::new(420.0, 1400.0);
    let mut window =
        crate::support::Window(Harness::builder().with_size(size).build_ui_state(app, program));
    window.settle();
    window.type_into("text", "brass");
    window.click("Spawn");
    assert_eq!(window.entries(), ["Set text of Lamp", "Spawn"]);
    window.undo();
    assert_eq!(window.program().world.get::<Lamp>(object).unwrap().text, "brass");
}

#[test]
fn colours_that_are_none_are_shown_and_picked() {
    for part in [f32::NAN, f32::INFINITY, -1.0, 1e30, f32::MIN_POSITIVE] {
        let (program, _) = Program::with("Lamp", Lamp { light: [part; 3], ..Lamp::default() });
        let mut window = program.show();
        window.0.ctx.set_missing_glyph_policy(egui::MissingGlyphPolicy::Tofu);
        let at = window.widget("light");
        window.click_at(at, PointerButton::Primary);
        assert_eq!(window.entries(), [""; 0], "{part}");
        let red = window.place("R");
        window.drag(red, red + Vec2::new(100.0, 0.0));
        window.click_at(red + Vec2::new(0.0, 60.0), PointerButton::Primary);
        while window.program().history.can_undo() {
            window.undo();
        }
        let light = window.component::<Lamp>().light;
        assert_eq!(light.map(f32::to_bits), [part.to_bits(); 3]);
    }
}

#[test]
fn an_undo_while_a_number_is_dragged_is_not_dragged_over() {
    let (program, _) = Program::with("Lamp", Lamp { radius: 1.0, ..Lamp::default() });
    let mut window = program.show();
    let at = window.widget("radius");
    let press = |window: &mut crate::support::Window, pressed| {
        let modifiers = egui::Modifiers::NONE;
        let button = PointerButton::Primary;
        window.0.event(egui::Event::PointerButton { pos: at, button, pressed, modifiers });
        window.0.run_steps(1);
    };
    window.0.event(egui::Event::PointerMoved(at));
    window.0.run_steps(1);
    press(&mut window, true);
    for by in [10.0, 20.0] {
        window.0.event(egui::Event::PointerMoved(at + Vec2::new(by, 0.0)));
        window.0.run_steps(1);
    }
    assert_eq!(window.entries(), ["Set radius of Lamp"]);
    window.undo();
    assert_eq!(window.component::<Lamp>().radius, 1.0);
    press(&mut window, false);
    window.settle();
    assert_eq!(window.component::<Lamp>().radius, 1.0);
    assert_eq!(window.entries(), [""; 0]);
}

#[test]
fn references_to_removed_objects_are_shown() {
    let mut program = Program::new();
    let [ada, bob] = ["Ada", "Bob"].map(|name| program.world.spawn(name));
    let link = Link { to: bob, maybe: Some(bob), all: vec![bob, ada] };
    program.world.attach(ada, link.clone()).unwrap();
    program.world.remove(bob);
    program.inspector.select(Some(ada));
    let mut window = program.show();
    let removed = format!("object {} (removed)", bob.get());
    assert_eq!(window.0.query_all_by_value(&removed).count(), 3);
    assert_eq!(window.component::<Link>(), link);
    window.click("Insert into all");
    assert_eq!(window.component::<Link>().all.len(), 3);
}

#[test]
fn a_refused_value_leaves_the_drag_usable() {
    let (program, _) = Program::with("Ada", Even { number: 2, ..Even::default() });
    let mut window = program.show();
    let at = window.widget("number");
    window.drag(at, at + Vec2::new(100.0, 0.0));
    assert_eq!(window.component::<Even>().number % 2, 0);
    assert!(window.entries().len() <= 1);
}

#[test]
fn names_may_be_empty_long_and_odd() {
    let mut program = Program::new();
    let object = program.world.spawn("");
    program.inspector.select(Some(object));
    let mut window = program.show();
    assert!(window.has(&format!("object {}", object.get())));
    let name = "a\n\0é".repeat(500);
    window.program().world.rename(object, &name).unwrap();
    window.settle();
    window.enter("Name", "");
    assert_eq!(window.program().world.name(object), None);
}

#[test]
fn a_tree_may_be_a_long_chain() {
    let mut program = Program::new();
    let mut last = program.world.spawn("0");
    for depth in 1..5_000 {
        last = program.world.spawn_in(last, &depth.to_string()).unwrap();
    }
    program.inspector.select(Some(last));
    let window = program.show();
    assert!(window.has("4999"));
}

#[test]
fn two_inspectors_of_one_world_do_not_disturb_each_other() {
    struct Pair {
        program: Program,
        other: persist_egui::Inspector,
    }
    let (program, object) = Program::with("Lamp", Lamp::default());
    let mut other = persist_egui::Inspector::default();
    other.select(Some(object));
    let app = |ui: &mut egui::Ui, pair: &mut Pair| {
        let Program { world, history, inspector } = &mut pair.program;
        ui.columns(2, |columns| {
            columns[0].push_id(1, |ui| inspector.show(ui, &mut (&mut *world, &mut *history)));
            columns[1].push_id(2, |ui| pair.other.show(ui, &mut (&mut *world, &mut *history)));
        });
    };
    let size = Vec2::new(900.0, 1200.0);
    let mut window =
        Harness::builder().with_size(size).build_ui_state(app, Pair { program, other });
    window.run_steps(4);
    let adders: Vec<_> = window.get_all_by_label("Add an object").collect();
    assert_eq!(adders.len(), 2);
    adders[1].click();
    window.run_steps(4);
    let pair = window.state();
    assert_eq!(pair.program.inspector.selected(), Some(object));
    assert_ne!(pair.other.selected(), Some(object));
    assert_eq!(pair.program.history.entries().len(), 1);
}

#[test]
fn unknown_components_are_not_lost() {
    let mut world = World::new();
    let lamp = world.spawn("Lamp");
    world.attach(lamp, Lamp::default()).unwrap();
    let save = persist::to_vec(&world).unwrap();
    let mut program = Program::new();
    program.world = persist::Saves::new().from_slice::<World>(&save).unwrap().into_inner();
    program.inspector.select(Some(lamp));
    let mut window = program.show();
    assert!(window.says("does not have this class"));
    assert!(!window.has("Detach Lamp"));
    assert_eq!(window.program().world.classes(lamp), ["Lamp"]);
}
