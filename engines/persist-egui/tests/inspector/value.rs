//! Tests of values that are not worlds.

use egui::Vec2;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use persist::{History, Persist};
use persist_egui::inspect_value;

use crate::support::Item;

#[derive(Persist, Clone, Debug, Default, PartialEq)]
struct Settings {
    #[persist(label = "Name of the player")]
    name: String,
    sound: bool,
    items: Vec<Item>,
    mode: Mode,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
enum Mode {
    #[default]
    Easy,
    Hard {
        lives: u8,
    },
}

struct Program<T: 'static> {
    value: T,
    history: History<T>,
}

fn show<T: Persist + persist::codec::Reflect>(value: T) -> Harness<'static, Program<T>> {
    let app = |ui: &mut egui::Ui, program: &mut Program<T>| {
        inspect_value(ui, &mut (&mut program.value, &mut program.history));
    };
    let program = Program { value, history: History::new(100) };
    let mut window =
        Harness::builder().with_size(Vec2::new(400.0, 600.0)).build_ui_state(app, program);
    window.run_steps(3);
    window
}

fn click<T>(window: &mut Harness<'static, Program<T>>, label: &str) {
    window.get_by_label(label).click();
    window.run_steps(4);
}

#[test]
fn the_fields_of_a_value_are_edited_with_undo() {
    let mut window = show(Settings::default());
    click(&mut window, "Insert into items");
    click(&mut window, "Insert into items");
    let item = Item { name: String::new(), count: 1 };
    assert_eq!(window.state().value.items, [item.clone(), item.clone()]);
    click(&mut window, "Remove [0]");
    assert_eq!(window.state().value.items, [item]);
    let entries: Vec<String> =
        window.state().history.entries().map(|entry| entry.label.to_string()).collect();
    assert_eq!(entries, ["Insert into items", "Insert into items", "Remove from items"]);
    let Program { value, history } = window.state_mut();
    while history.undo(value).unwrap() {}
    assert_eq!(*value, Settings::default());
}

#[test]
fn a_value_may_be_an_enum() {
    let mut window = show(Mode::Hard { lives: 3 });
    window.get_by_label("lives");
    window.get_by_label("variant");
    window.run_steps(2);
    assert_eq!(window.state().value, Mode::Hard { lives: 3 });
    assert_eq!(window.state().history.entries().len(), 0);
}

#[test]
fn a_value_with_shared_pointers_is_refused_with_the_name_of_the_field() {
    #[derive(Persist, Default)]
    struct Shelf {
        owner: Option<std::rc::Rc<u32>>,
    }
    let window = show(Shelf::default());
    let said = window.query_all_by_label_contains("shared pointers").count();
    assert_eq!(said, 1);
}
