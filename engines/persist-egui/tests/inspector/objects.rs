//! Tests of the tree: objects are selected, searched, added, moved, copied and removed.

use egui::{Key, PointerButton, Vec2};
use egui_kittest::kittest::Queryable as _;
use persist::ObjectId;
use persist::world::Activity;

use crate::support::{Bag, Lamp, Program, SEARCH, Window};

/// Creates a level with a house that has a lamp, and a garden.
fn level() -> (Program, [ObjectId; 3]) {
    let mut program = Program::new();
    let world = &mut program.world;
    let house = world.spawn("House");
    let lamp = world.spawn_in(house, "Lamp").unwrap();
    world.attach(lamp, Lamp { radius: 4.5, text: "brass".into(), ..Lamp::default() }).unwrap();
    let garden = world.spawn("Garden");
    (program, [house, lamp, garden])
}

/// Opens the menu of an object, and clicks on an entry.
fn choose(window: &mut Window, object: &str, entry: &str) {
    let at = window.place(object);
    window.click_at(at, PointerButton::Secondary);
    window.click(entry);
}

#[test]
fn an_object_is_selected_by_a_click_and_by_the_program() {
    let (program, [house, lamp, _]) = level();
    let mut window = program.show();
    window.click("House");
    assert_eq!(window.program().inspector.selected(), Some(house));
    // Children are shown once the object is open.
    assert!(!window.has("Lamp"));
    window.click("Children of House");
    window.click("Lamp");
    assert_eq!(window.program().inspector.selected(), Some(lamp));
    assert!(window.has("radius"));
    window.program().inspector.select(Some(house));
    window.settle();
    assert!(!window.has("radius"));
    assert_eq!(window.entries(), [""; 0]);
}

#[test]
fn an_object_that_the_program_selects_is_shown_in_the_tree() {
    let (program, [_, lamp, _]) = level();
    let mut window = program.show();
    window.program().inspector.select(Some(lamp));
    window.settle();
    // The tree has opened its parent.
    assert!(window.has("Lamp"));
}

#[test]
fn objects_are_found_by_name_class_and_value() {
    let (program, _) = level();
    let mut window = program.show();
    let found = |window: &mut Window, query: &str| {
        window.type_into(SEARCH, query);
        window.settle();
        ["House", "Lamp", "Garden"].into_iter().filter(|name| window.has(name)).collect::<Vec<_>>()
    };
    assert_eq!(found(&mut window, "gard"), ["Garden"]);
    assert_eq!(found(&mut window, "lamp"), ["Lamp"]);
    assert_eq!(found(&mut window, "radius=4.5"), ["Lamp"]);
    assert_eq!(found(&mut window, "=BRASS l"), ["Lamp"]);
    assert_eq!(found(&mut window, "radius=9"), [""; 0]);
    assert_eq!(found(&mut window, "text=brass garden"), [""; 0]);
    assert_eq!(found(&mut window, ""), ["House", "Garden"]);
}

#[test]
fn escape_empties_the_search_and_a_vain_search_says_so() {
    let (program, _) = level();
    let mut window = program.show();
    window.type_into(SEARCH, "castle");
    window.settle();
    assert!(window.has("nothing found"));
    window.press(Key::Escape);
    assert!(!window.has("nothing found"));
    assert!(window.has("Garden"));
}

#[test]
fn names_of_siblings_stand_below_each_other_and_children_further_right() {
    let (program, _) = level();
    let mut window = program.show();
    window.click("Children of House");
    let left = |name: &str| window.0.get_all_by_label(name).next().unwrap().rect().left().round();
    assert_eq!(left("House"), left("Garden"));
    assert_eq!(left("Lamp"), left("House") + 12.0);
}

#[test]
fn the_border_below_the_tree_is_dragged() {
    let (program, [house, ..]) = level();
    let mut window = program.show();
    window.program().inspector.select(Some(house));
    window.settle();
    let place = window.widget("Name");
    // A tree of two rows is only as high as it needs to be.
    assert!(place.y < 200.0, "{place:?}");
    let border = place - Vec2::new(0.0, 17.0);
    window.drag(border, border + Vec2::new(0.0, 100.0));
    let after = window.widget("Name");
    assert!((after.y - place.y - 100.0).abs() < 10.0, "{place:?} {after:?}");
}

#[test]
fn an_object_is_added_renamed_and_removed() {
    let (program, _) = level();
    let mut window = program.show();
    window.click("Add an object");
    let new = window.program().inspector.selected().unwrap();
    window.enter("Name", "Tree");
    assert_eq!(window.program().world.name(new), Some("Tree"));
    // A name that another object has gets a number.
    window.enter("Name", "House");
    assert_eq!(window.program().world.name(new), Some("House1"));
    choose(&mut window, "House1", "Remove");
    assert!(!window.program().world.contains(new));
    assert!(window.says("not there any more"));
    let entries = ["Add object", "Rename Object", "Rename Tree", "Remove House1"];
    assert_eq!(window.entries(), entries);
    window.undo();
    assert!(!window.says("not there any more"));
    for _ in 0..3 {
        window.undo();
    }
    assert!(!window.program().world.contains(new));
}

#[test]
fn escape_cancels_a_rename() {
    let (program, [house, ..]) = level();
    let mut window = program.show();
    window.click("House");
    window.type_into("Name", "Hut");
    window.press(Key::Escape);
    assert_eq!(window.program().world.name(house), Some("House"));
    assert_eq!(window.entries(), [""; 0]);
}

#[test]
fn an_object_is_moved_by_its_menu_by_a_drag_and_by_its_parent() {
    let (program, [house, lamp, garden]) = level();
    let mut window = program.show();
    window.click("Children of House");
    let (from, to) = (window.place("Lamp"), window.place("Garden"));
    window.drag(from, to);
    assert_eq!(window.program().world.parent(lamp), Some(garden));
    window.undo();
    choose(&mut window, "Lamp", "Move to the top level");
    assert_eq!(window.program().world.parent(lamp), None);
    // Drop the object outside the rows.
    window.undo();
    let from = window.place("Lamp");
    window.drag(from, from + Vec2::new(0.0, 45.0));
    assert_eq!(window.program().world.parent(lamp), None);
    window.click("Lamp");
    let at = window.widget("Parent");
    window.click_at(at, PointerButton::Primary);
    window.click_last("House");
    assert_eq!(window.program().world.parent(lamp), Some(house));
    assert_eq!(window.entries(), ["Move Lamp to the top level", "Move Lamp into House"]);
}

#[test]
fn an_object_cannot_be_moved_below_itself() {
    let (program, [house, lamp, _]) = level();
    let mut window = program.show();
    window.click("Children of House");
    let (from, to) = (window.place("House"), window.place("Lamp"));
    window.drag(from, to);
    assert_eq!(window.program().world.parent(house), None);
    assert_eq!(window.program().world.parent(lamp), Some(house));
    assert!(window.program().inspector.error().is_some());
    assert_eq!(window.entries(), [""; 0]);
    window.click("Close the message");
    assert_eq!(window.program().inspector.error(), None);
}

#[test]
fn children_change_their_order() {
    let (mut program, [house, lamp, _]) = level();
    let door = program.world.spawn_in(house, "Door").unwrap();
    let mut window = program.show();
    window.click("Children of House");
    choose(&mut window, "Door", "Move up");
    assert_eq!(window.program().world.children(house), [door, lamp]);
    choose(&mut window, "Door", "Move up");
    choose(&mut window, "Door", "Move down");
    assert_eq!(window.program().world.children(house), [lamp, door]);
    assert_eq!(window.entries(), ["Move Door in House"; 2]);
}

#[test]
fn components_are_attached_and_detached() {
    let (program, [house, ..]) = level();
    let mut window = program.show();
    window.click("House");
    window.click("+ Component");
    window.click("Bag");
    assert_eq!(window.program().world.get(house), Some(&Bag::default()));
    window.click("Detach Bag");
    assert_eq!(window.program().world.classes(house), [""; 0]);
    assert_eq!(window.entries(), ["Attach Bag to House", "Detach Bag from House"]);
    window.undo();
    assert_eq!(window.program().world.classes(house), ["Bag"]);
}

#[test]
fn an_object_is_paused() {
    let (program, [house, ..]) = level();
    let mut window = program.show();
    window.click("House");
    window.click("Activity");
    window.click("Paused");
    assert_eq!(window.program().world.activity(house), Some(Activity::Paused));
    assert_eq!(window.entries(), ["Make House paused"]);
}

#[test]
fn a_prefab_is_copied_and_placed() {
    let (program, [house, lamp, _]) = level();
    let mut window = program.show();
    choose(&mut window, "House", "Copy as prefab");
    assert_eq!(window.program().inspector.prefabs()[0].0, "House");
    assert_eq!(window.entries(), [""; 0]);
    window.click("Prefabs");
    window.click("Place House");
    let copy = window.program().inspector.selected().unwrap();
    assert_ne!(copy, house);
    assert_eq!(window.program().world.name(copy), Some("House1"));
    assert_eq!(window.program().world.children(copy).len(), 1);
    window.program().inspector.select(Some(lamp));
    window.settle();
    choose(&mut window, "Lamp", "Duplicate");
    let copy = window.program().inspector.selected().unwrap();
    assert_eq!(window.program().world.parent(copy), Some(house));
    assert_eq!(window.program().world.get::<Lamp>(copy).unwrap().radius, 4.5);
    choose(&mut window, "Garden", "Add object below");
    assert_eq!(window.entries(), ["Place House", "Duplicate Lamp", "Add object to Garden"]);
}

#[test]
fn the_toolbar_undoes_and_redoes() {
    let (program, _) = level();
    let mut window = program.show();
    window.click("Add an object");
    window.click("Undo Add object");
    assert_eq!(window.entries(), [""; 0]);
    window.click("Redo Add object");
    assert_eq!(window.entries(), ["Add object"]);
}
