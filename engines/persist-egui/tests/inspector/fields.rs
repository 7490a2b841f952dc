//! Tests of every kind of field: edits by clicks, keys and drags, each with one entry in the history.

use egui::{Key, Vec2};
use persist::Value;

use crate::support::{Bag, Doors, Even, Item, Lamp, Link, Numbers, Program, Shade, Side, shared};

#[test]
fn a_number_is_dragged_in_one_entry_and_stays_in_its_range() {
    let (program, _) = Program::with("Lamp", Lamp { radius: 1.0, ..Lamp::default() });
    let mut window = program.show();
    let at = window.widget("radius");
    window.drag(at, at + Vec2::new(60.0, 0.0));
    let dragged = window.component::<Lamp>().radius;
    assert!(dragged > 2.0 && dragged < 20.0, "{dragged}");
    assert_eq!(window.entries(), ["Set radius of Lamp"]);
    let at = window.widget("radius");
    window.drag(at, at + Vec2::new(2000.0, 0.0));
    assert_eq!(window.component::<Lamp>().radius, 20.0);
    assert_eq!(window.entries().len(), 2);
    window.undo();
    assert_eq!(window.component::<Lamp>().radius, dragged);
    window.undo();
    assert_eq!(window.component::<Lamp>().radius, 1.0);
}

#[test]
fn a_number_is_typed() {
    let (program, _) = Program::with("Lamp", Lamp::default());
    let mut window = program.show();
    window.enter("radius", "3.25");
    assert_eq!(window.component::<Lamp>().radius, 3.25);
    // A typed number is limited to the range as well.
    window.enter("radius", "999");
    assert_eq!(window.component::<Lamp>().radius, 20.0);
    window.enter("radius", "no number");
    assert_eq!(window.component::<Lamp>().radius, 20.0);
    assert_eq!(window.entries(), ["Set radius of Lamp"; 2]);
}

#[test]
fn showing_a_field_records_nothing() {
    let lamp = Lamp { radius: 1.234_567, text: "x".into(), built: 7, ..Lamp::default() };
    let (program, _) = Program::with("Lamp", Lamp { radius: 500.0, ..lamp.clone() });
    let mut window = program.show();
    for field in ["radius", "text", "letter", "Name"] {
        let at = window.widget(field);
        window.click_at(at, egui::PointerButton::Primary);
        window.press(Key::Enter);
    }
    // Showing a number outside its range does not change it either.
    assert_eq!(window.component::<Lamp>(), Lamp { radius: 500.0, ..lamp });
    assert_eq!(window.entries(), [""; 0]);
}

#[test]
fn switches_texts_and_letters_are_edited() {
    let (program, _) = Program::with("Lamp", Lamp { letter: 'a', ..Lamp::default() });
    let mut window = program.show();
    let at = window.widget("Is lit");
    window.click_at(at, egui::PointerButton::Primary);
    assert!(window.component::<Lamp>().lit);
    window.enter("text", "brass");
    assert_eq!(window.component::<Lamp>().text, "brass");
    window.enter("letter", "ß");
    assert_eq!(window.component::<Lamp>().letter, 'ß');
    // A text that is typed without interruption is one entry.
    let entries = ["Set Is lit of Lamp", "Set text of Lamp", "Set letter of Lamp"];
    assert_eq!(window.entries(), entries);
    window.enter("text", "brasses");
    window.undo();
    assert_eq!(window.component::<Lamp>().text, "brass");
}

#[test]
fn hidden_fields_are_not_shown_and_read_only_ones_not_edited() {
    let (program, _) = Program::with("Lamp", Lamp { built: 7, ..Lamp::default() });
    let mut window = program.show();
    assert!(!window.has("secret"));
    assert!(window.has("Is lit") && !window.has("lit"));
    let at = window.widget("built");
    window.drag(at, at + Vec2::new(60.0, 0.0));
    assert_eq!(window.component::<Lamp>().built, 7);
    assert_eq!(window.entries(), [""; 0]);
}

#[test]
fn a_colour_is_picked() {
    let (program, _) = Program::with("Lamp", Lamp { light: [1.0, 0.0, 0.0], ..Lamp::default() });
    let mut window = program.show();
    // The picker of egui has a character that some fonts lack.
    window.0.ctx.set_missing_glyph_policy(egui::MissingGlyphPolicy::Tofu);
    let at = window.widget("light");
    window.click_at(at, egui::PointerButton::Primary);
    // The picker is open now.
    let red = window.place("R");
    window.drag(red, red - Vec2::new(100.0, 0.0));
    let light = window.component::<Lamp>().light;
    assert!(light[0] < 0.9 && light[1..] == [0.0, 0.0], "{light:?}");
    assert_eq!(window.entries(), ["Set light of Lamp"]);
    window.undo();
    assert_eq!(window.component::<Lamp>().light, [1.0, 0.0, 0.0]);
}

#[test]
fn an_enum_gets_another_variant_and_keeps_what_both_have() {
    let shade = Shade::Paper { thickness: 2.5 };
    let (program, _) = Program::with("Lamp", Lamp { shade, ..Lamp::default() });
    let mut window = program.show();
    let at = window.widget("shade");
    window.click_at(at, egui::PointerButton::Primary);
    window.click("Glass");
    let glass = Shade::Glass { thickness: 2.5, tint: String::new() };
    assert_eq!(window.component::<Lamp>().shade, glass);
    window.enter("tint", "green");
    let glass = Shade::Glass { thickness: 2.5, tint: "green".into() };
    assert_eq!(window.component::<Lamp>().shade, glass);
    assert_eq!(window.entries(), ["Set shade of Lamp", "Set shade.tint of Lamp"]);
    window.undo();
    window.undo();
    assert_eq!(window.component::<Lamp>().shade, Shade::Paper { thickness: 2.5 });
}

#[test]
fn an_option_is_switched_on_and_off() {
    let (program, _) = Program::with("Lamp", Lamp::default());
    let mut window = program.show();
    let at = window.place_of_switch("watts");
    window.click_at(at, egui::PointerButton::Primary);
    assert_eq!(window.component::<Lamp>().watts, Some(0));
    window.enter("watts", "5");
    assert_eq!(window.component::<Lamp>().watts, Some(5));
    let at = window.place_of_switch("watts");
    window.click_at(at, egui::PointerButton::Primary);
    assert_eq!(window.component::<Lamp>().watts, None);
    assert_eq!(window.entries(), ["Set watts of Lamp"; 3]);
    window.undo();
    assert_eq!(window.component::<Lamp>().watts, Some(5));
}

#[test]
fn elements_are_inserted_moved_and_removed() {
    let items = ["axe", "bow"].map(|name| Item { name: name.into(), count: 2 });
    let (program, _) = Program::with("Ada", Bag { items: items.to_vec(), ..Bag::default() });
    let mut window = program.show();
    window.click("Insert into items");
    let names = |window: &crate::support::Window| {
        let bag = window.component::<Bag>();
        bag.items.into_iter().map(|item| item.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&window), ["axe", "bow", ""]);
    // The new element has the default values of the program.
    assert_eq!(window.component::<Bag>().items[2].count, 1);
    window.click("Move [0] down");
    assert_eq!(names(&window), ["bow", "axe", ""]);
    window.click("Remove [1]");
    assert_eq!(names(&window), ["bow", ""]);
    window.click("Move [1] up");
    assert_eq!(names(&window), ["", "bow"]);
    let entries = [
        "Insert into items of Ada",
        "Move in items of Ada",
        "Remove from items of Ada",
        "Move in items of Ada",
    ];
    assert_eq!(window.entries(), entries);
    for _ in entries {
        window.undo();
    }
    assert_eq!(window.component::<Bag>().items, items);
}

#[test]
fn fields_of_elements_are_edited_where_they_are() {
    let items = vec![Item { name: "axe".into(), count: 2 }];
    let (program, _) = Program::with("Ada", Bag { items, ..Bag::default() });
    let mut window = program.show();
    window.enter("name", "hammer");
    assert_eq!(window.component::<Bag>().items[0].name, "hammer");
    assert_eq!(window.entries(), ["Set items[0].name of Ada"]);
}

#[test]
fn lists_of_bytes_and_empty_lists_get_elements() {
    let (program, _) = Program::with("Ada", Bag { bytes: vec![7, 8], ..Bag::default() });
    let mut window = program.show();
    window.click("Insert into bytes");
    window.click("Insert into numbers");
    window.click("Insert into numbers");
    let bag = window.component::<Bag>();
    assert_eq!((bag.bytes, bag.numbers), (vec![7, 8, 0], vec![0, 0]));
}

#[test]
fn sets_and_maps_get_lose_and_change_elements() {
    let bag = Bag {
        tags: ["red".to_owned()].into(),
        prices: [("axe".to_owned(), 9)].into(),
        ..Bag::default()
    };
    let (program, _) = Program::with("Ada", bag.clone());
    let mut window = program.show();
    window.click("Insert into tags");
    window.click("Insert into tags");
    let tags = window.component::<Bag>().tags;
    assert_eq!(tags.into_iter().collect::<Vec<_>>(), ["", "new1", "red"]);
    window.click("Insert into prices");
    let prices = window.component::<Bag>().prices;
    assert_eq!(prices, [(String::new(), 0), ("axe".to_owned(), 9)].into());
    window.click("Insert into counts");
    assert_eq!(window.component::<Bag>().counts, [(0, vec![])].into());
    assert_eq!(window.entries()[2..], ["Insert into prices of Ada", "Insert into counts of Ada"]);
    for _ in 0..4 {
        window.undo();
    }
    assert_eq!(window.component::<Bag>(), bag);
    // Change a value of the map, then its key.
    window.enter("[\"axe\"]", "12");
    assert_eq!(window.get("Bag:prices[\"axe\"]"), Value::U32(12));
    assert_eq!(window.entries(), ["Set prices[\"axe\"] of Ada"]);
    window.enter("key", "saw");
    assert_eq!(window.component::<Bag>().prices, [("saw".to_owned(), 12)].into());
    window.click("Remove [\"saw\"]");
    assert!(window.component::<Bag>().prices.is_empty());
    assert_eq!(window.entries().len(), 3);
}

#[test]
fn structs_tuples_and_arrays_are_edited() {
    let (program, _) = Program::with("Ada", Bag::default());
    let mut window = program.show();
    window.enter("x", "1.5");
    window.enter("y", "-2");
    let bag = window.component::<Bag>();
    assert_eq!((bag.place.x, bag.place.y), (1.5, -2.0));
    assert_eq!(window.entries(), ["Set place.x of Ada", "Set place.y of Ada"]);
}

#[test]
fn a_reference_is_picked_from_a_list_and_followed() {
    let mut program = Program::new();
    let [ada, bob] = ["Ada", "Bob"].map(|name| program.world.spawn(name));
    let link = Link { to: ada, maybe: None, all: vec![] };
    program.world.attach(ada, link).unwrap();
    program.inspector.select(Some(ada));
    let mut window = program.show();
    let at = window.widget("maybe");
    window.click_at(at, egui::PointerButton::Primary);
    // The search has the focus, and Enter picks the only object that was found.
    window.0.event(egui::Event::Text("bo".into()));
    window.settle();
    window.press(Key::Enter);
    assert_eq!(window.component::<Link>().maybe, Some(bob));
    assert_eq!(window.entries(), ["Set maybe of Ada"]);
    let at = window.widget("to");
    window.click_at(at, egui::PointerButton::Primary);
    window.click_last("Bob");
    assert_eq!(window.component::<Link>().to, bob);
    let at = window.widget("maybe");
    window.click_at(at, egui::PointerButton::Primary);
    window.click("nothing");
    assert_eq!(window.component::<Link>().maybe, None);
    window.click("Select Bob");
    assert_eq!(window.program().inspector.selected(), Some(bob));
}

#[test]
fn numbers_of_every_width_are_exact() {
    let long = u64::MAX - 1;
    let numbers = Numbers { long, longest: i128::MIN, short: -128, ..Numbers::default() };
    let (program, _) = Program::with("Ada", numbers);
    let mut window = program.show();
    window.enter("longest", "170141183460469231731687303715884105727");
    window.enter("long", "18446744073709551613");
    window.enter("short", "127");
    window.enter("packed", "-70000");
    let numbers = window.component::<Numbers>();
    assert_eq!((numbers.longest, numbers.long), (i128::MAX, u64::MAX - 2));
    assert_eq!((numbers.short, numbers.packed), (127, -70_000));
    // A number that does not fit is clamped or ignored.
    window.enter("short", "300");
    window.enter("long", "99999999999999999999999");
    let numbers = window.component::<Numbers>();
    assert_eq!((numbers.short, numbers.long), (127, u64::MAX - 2));
    window.enter("long", "5");
    window.enter("long", "9007199254740993");
    assert_eq!(window.component::<Numbers>().long, 9_007_199_254_740_993);
}

#[test]
fn an_element_of_a_type_without_zero_is_one() {
    let (program, _) = Program::with("Ada", Numbers::default());
    let mut window = program.show();
    window.click("Insert into signs");
    assert_eq!(window.component::<Numbers>().signs, [std::num::NonZeroU8::MIN]);
    assert_eq!(window.program().inspector.error(), None);
}

#[test]
fn what_the_component_refuses_is_shown_and_not_done() {
    let (program, _) = Program::with("Ada", Even::default());
    let mut window = program.show();
    window.enter("number", "3");
    assert_eq!(window.component::<Even>().number, 0);
    assert!(window.program().inspector.error().unwrap().contains("it is odd"));
    assert!(window.says("it is odd"));
    assert_eq!(window.entries(), [""; 0]);
    window.enter("number", "4");
    assert_eq!(window.component::<Even>().number, 4);
    assert_eq!(window.program().inspector.error(), None);
    // A text is applied when it is complete: an incomplete one is not refused.
    window.enter("word", "odder");
    assert_eq!(window.component::<Even>().word, "odder");
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_edited() {
    let (program, _) = Program::with("Ada", shared("axe"));
    let window = program.show();
    assert!(window.says("a shared pointer lies in"));
    assert!(window.says("count"));
}

#[test]
fn resources_are_edited() {
    let mut program = Program::new();
    program.world.insert_resource(crate::support::Score { points: 3 }).unwrap();
    let mut window = program.show();
    window.enter("points", "8");
    assert_eq!(window.get("Score:points"), Value::U32(8));
    assert_eq!(window.entries(), ["Set points"]);
    window.undo();
    assert_eq!(window.get("Score:points"), Value::U32(3));
}

#[test]
fn a_text_that_is_refused_leaves_the_old_one_whole() {
    let (program, _) = Program::with("Ada", Even { word: "rats".into(), number: 0 });
    let mut window = program.show();
    let place = window.widget("word");
    window.type_into("word", "odd");
    // Typing alone changes nothing, and the field does not move.
    assert_eq!(window.component::<Even>().word, "rats");
    window.press(Key::Enter);
    assert!(window.says("it is odd"));
    assert_eq!(window.widget("word"), place);
    assert_eq!(window.component::<Even>().word, "rats");
    assert_eq!(window.entries(), [""; 0]);
    window.click("Close the message");
    assert!(!window.says("it is odd"));
}

#[test]
fn a_text_counts_once_another_field_is_clicked() {
    let (program, _) = Program::with("Ada", Even::default());
    let mut window = program.show();
    window.type_into("word", "cat");
    let at = window.widget("number");
    window.click_at(at, egui::PointerButton::Primary);
    assert_eq!(window.component::<Even>().word, "cat");
    assert_eq!(window.entries(), ["Set word of Ada"]);
}

#[test]
fn escape_cancels_typing() {
    let (program, _) = Program::with("Lamp", Lamp { text: "brass".into(), ..Lamp::default() });
    let mut window = program.show();
    for (field, typed) in [("text", "iron"), ("letter", "x"), ("radius", "7")] {
        window.type_into(field, typed);
        window.press(Key::Escape);
    }
    let lamp = window.component::<Lamp>();
    assert_eq!(lamp, Lamp { text: "brass".into(), ..Lamp::default() });
    assert_eq!(window.entries(), [""; 0]);
}

#[test]
fn escape_cancels_a_drag() {
    let (program, _) = Program::with("Lamp", Lamp { radius: 1.0, ..Lamp::default() });
    let mut window = program.show();
    let at = window.widget("radius");
    window.press_at(at, true);
    window.move_to(at + Vec2::new(30.0, 0.0));
    assert!(window.component::<Lamp>().radius > 1.0);
    window.press(Key::Escape);
    assert_eq!(window.component::<Lamp>().radius, 1.0);
    // The rest of the drag is ignored.
    window.move_to(at + Vec2::new(60.0, 0.0));
    window.press_at(at + Vec2::new(60.0, 0.0), false);
    assert_eq!(window.component::<Lamp>().radius, 1.0);
    assert_eq!(window.entries(), [""; 0]);
    window.drag(at, at + Vec2::new(60.0, 0.0));
    assert_eq!(window.entries(), ["Set radius of Lamp"]);
}

#[test]
fn what_is_inserted_does_not_hide_the_list_for_a_frame() {
    let items = vec![Item { name: "axe".into(), count: 2 }];
    let (program, _) = Program::with("Ada", Bag { items, ..Bag::default() });
    let mut window = program.show();
    let at = window.place("Insert into items");
    window.move_to(at);
    for pressed in [true, false] {
        window.press_at(at, pressed);
        assert!(window.has("Remove [0]"));
    }
    assert_eq!(window.component::<Bag>().items.len(), 2);
}

#[test]
fn keys_of_a_map_are_the_next_variants_until_none_is_left() {
    let mut program = Program::new();
    program.world.register_component::<Doors>().unwrap();
    let ada = program.world.spawn("Ada");
    program.world.attach(ada, Doors::default()).unwrap();
    program.inspector.select(Some(ada));
    let mut window = program.show();
    window.click("Insert into by_side");
    window.click("Insert into by_side");
    let by_side = [(Side::Left, 0), (Side::Right, 0)].into();
    assert_eq!(window.component::<Doors>().by_side, by_side);
    window.click("Insert into by_side");
    assert!(window.says("no other value to insert into by_side"));
    assert_eq!(window.entries().len(), 2);
}

#[test]
fn buttons_of_elements_stand_at_the_right_and_keep_the_width_of_the_panel() {
    let items = vec![Item { name: "axe".into(), count: 2 }];
    let (program, _) = Program::with("Ada", Bag { items, ..Bag::default() });
    let window = program.show();
    let (label, button) = (window.place("[0]"), window.place("Remove [0]"));
    assert!((label.y - button.y).abs() < 10.0, "{label:?} {button:?}");
    assert!(label.x < 100.0 && button.x > 380.0 && button.x < 420.0, "{label:?} {button:?}");
}

#[test]
fn shift_and_enter_break_a_line() {
    let (program, _) = Program::with("Lamp", Lamp::default());
    let mut window = program.show();
    window.type_into("text", "a");
    window.0.key_press_modifiers(egui::Modifiers::SHIFT, Key::Enter);
    window.settle();
    window.0.event(egui::Event::Text("b".into()));
    window.settle();
    assert_eq!(window.entries(), [""; 0]);
    let at = window.widget("radius");
    window.click_at(at, egui::PointerButton::Primary);
    assert_eq!(window.component::<Lamp>().text, "a\nb");
    assert_eq!(window.entries(), ["Set text of Lamp"]);
}
