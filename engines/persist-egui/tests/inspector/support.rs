//! A level with every kind of field in an inspector, and a simulated user.

use std::collections::{BTreeMap, BTreeSet};

use egui::{Event, Key, Modifiers, PointerButton, Pos2, Vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use persist::{History, ObjectId, Persist, Value, World};
use persist_egui::Inspector;

#[derive(Persist, Clone, Debug, Default, PartialEq)]
#[persist(component)]
pub(crate) struct Lamp {
    #[persist(range = 0.5..=20.0, help = "How far the light reaches")]
    pub(crate) radius: f32,
    #[persist(label = "Is lit")]
    pub(crate) lit: bool,
    pub(crate) text: String,
    pub(crate) letter: char,
    #[persist(color)]
    pub(crate) light: [f32; 3],
    pub(crate) shade: Shade,
    #[persist(range = 1..=9)]
    pub(crate) watts: Option<u8>,
    #[persist(hidden)]
    pub(crate) secret: u32,
    #[persist(read_only)]
    pub(crate) built: u32,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
pub(crate) enum Shade {
    #[default]
    None,
    Paper {
        thickness: f32,
    },
    Glass {
        thickness: f32,
        tint: String,
    },
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
#[persist(component)]
pub(crate) struct Bag {
    pub(crate) items: Vec<Item>,
    pub(crate) numbers: Vec<u16>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) tags: BTreeSet<String>,
    pub(crate) prices: BTreeMap<String, u32>,
    pub(crate) pair: (u8, String),
    pub(crate) place: Place,
    pub(crate) grid: [[i8; 2]; 2],
    pub(crate) counts: BTreeMap<i32, Vec<bool>>,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
pub(crate) struct Item {
    pub(crate) name: String,
    #[persist(empty = 1)]
    pub(crate) count: u32,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
pub(crate) struct Place {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(component)]
pub(crate) struct Link {
    #[persist(empty = ObjectId::new(1).unwrap())]
    pub(crate) to: ObjectId,
    pub(crate) maybe: Option<ObjectId>,
    pub(crate) all: Vec<ObjectId>,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
#[persist(component)]
pub(crate) struct Numbers {
    pub(crate) float: f64,
    pub(crate) long: u64,
    pub(crate) longest: i128,
    pub(crate) short: i8,
    #[persist(compact)]
    pub(crate) packed: i32,
    pub(crate) signs: Vec<std::num::NonZeroU8>,
}

/// A component whose `validate` function refuses odd values.
#[derive(Persist, Clone, Debug, Default, PartialEq)]
#[persist(component, validate = Even::check)]
pub(crate) struct Even {
    pub(crate) number: u8,
    pub(crate) word: String,
}

impl Even {
    fn check(&self) -> Result<(), &'static str> {
        if self.number % 2 == 1 || self.word == "odd" { Err("it is odd") } else { Ok(()) }
    }
}

/// A component with a shared pointer, whose target cannot be read by a path.
#[derive(Persist, Default)]
#[persist(component)]
pub(crate) struct Shared {
    pub(crate) count: u8,
    pub(crate) pointer: Option<std::sync::Arc<std::sync::Mutex<Item>>>,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
pub(crate) struct Score {
    pub(crate) points: u32,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
#[persist(component)]
pub(crate) struct Deep {
    pub(crate) inner: Option<Box<Deep>>,
    pub(crate) level: u32,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
#[persist(component)]
pub(crate) struct Doors {
    pub(crate) by_side: BTreeMap<Side, u8>,
}

#[derive(Persist, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    #[default]
    Left,
    Right,
}

/// The tooltip of the search, by which tests find it.
pub(crate) const SEARCH: &str = "Search objects. Each word is a part of a name or a class, or a field and a part of its value: radius=5, =wood";

/// A program with an inspector.
pub(crate) struct Program {
    pub(crate) world: World,
    pub(crate) history: History,
    pub(crate) inspector: Inspector,
}

impl Program {
    pub(crate) fn new() -> Self {
        let mut world = World::new();
        world.register_component::<Lamp>().unwrap();
        world.register_component::<Bag>().unwrap();
        world.register_component::<Link>().unwrap();
        world.register_component::<Numbers>().unwrap();
        world.register_component::<Even>().unwrap();
        world.register_component::<Deep>().unwrap();
        Self { world, history: History::new(100), inspector: Inspector::default() }
    }

    /// Creates a program with one selected object that has a component.
    pub(crate) fn with<C: persist::Component>(name: &str, component: C) -> (Self, ObjectId) {
        let mut program = Self::new();
        let object = program.world.spawn(name);
        program.world.attach(object, component).unwrap();
        program.inspector.select(Some(object));
        (program, object)
    }

    pub(crate) fn show(self) -> Window {
        let app = |ui: &mut egui::Ui, program: &mut Program| {
            let Program { world, history, inspector } = program;
            inspector.show(ui, &mut (world, history));
        };
        let size = Vec2::new(420.0, 1400.0);
        let mut window = Window(Harness::builder().with_size(size).build_ui_state(app, self));
        window.0.run_steps(3);
        window
    }
}

/// The window of a program, with the actions of a user.
pub(crate) struct Window(pub(crate) Harness<'static, Program>);

impl Window {
    pub(crate) fn program(&mut self) -> &mut Program {
        self.0.state_mut()
    }

    /// Returns the value of a field of the selected object.
    pub(crate) fn get(&self, path: &str) -> Value {
        let program = self.0.state();
        program.world.get_field(program.inspector.selected(), path).unwrap()
    }

    pub(crate) fn component<C: persist::Component + Clone>(&self) -> C {
        let program = self.0.state();
        program.world.get::<C>(program.inspector.selected().unwrap()).unwrap().clone()
    }

    /// Returns the labels of the entries that are not undone.
    pub(crate) fn entries(&self) -> Vec<String> {
        let history = &self.0.state().history;
        let applied = history.entries().filter(|entry| entry.is_applied);
        applied.map(|entry| entry.label.to_string()).collect()
    }

    pub(crate) fn settle(&mut self) {
        self.0.run_steps(4);
    }

    /// Returns the middle of the widget with a label or tooltip.
    pub(crate) fn place(&self, label: &str) -> Pos2 {
        self.0.get_all_by_label(label).next().unwrap().rect().center()
    }

    pub(crate) fn has(&self, label: &str) -> bool {
        self.0.query_all_by_label(label).next().is_some()
    }

    /// Returns true if any label contains a text.
    pub(crate) fn says(&self, text: &str) -> bool {
        self.0.query_all_by_label_contains(text).next().is_some()
    }

    pub(crate) fn click(&mut self, label: &str) {
        let at = self.place(label);
        self.click_at(at, PointerButton::Primary);
    }

    pub(crate) fn click_at(&mut self, at: Pos2, button: PointerButton) {
        self.0.event(Event::PointerMoved(at));
        self.0.run_steps(1);
        for pressed in [true, false] {
            self.0.event(Event::PointerButton {
                pos: at,
                button,
                pressed,
                modifiers: Modifiers::NONE,
            });
            self.0.run_steps(1);
        }
        self.settle();
    }

    /// Presses or releases the mouse, and runs one frame.
    pub(crate) fn press_at(&mut self, pos: Pos2, pressed: bool) {
        self.0.event(Event::PointerButton {
            pos,
            button: PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        });
        self.0.run_steps(1);
    }

    /// Moves the mouse, and runs one frame.
    pub(crate) fn move_to(&mut self, at: Pos2) {
        self.0.event(Event::PointerMoved(at));
        self.0.run_steps(1);
    }

    /// Drags from one place to another in steps of a few points.
    pub(crate) fn drag(&mut self, from: Pos2, to: Pos2) {
        let press = |pressed, pos| Event::PointerButton {
            pos,
            button: PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        };
        self.0.event(Event::PointerMoved(from));
        self.0.run_steps(1);
        self.0.event(press(true, from));
        self.0.run_steps(1);
        for step in 1_u8..=10 {
            self.0.event(Event::PointerMoved(from + (to - from) * (f32::from(step) / 10.0)));
            self.0.run_steps(1);
        }
        self.0.event(press(false, to));
        self.settle();
    }

    /// Replaces the whole text of a field.
    pub(crate) fn type_into(&mut self, label: &str, text: &str) {
        let at = self.widget(label);
        self.click_at(at, PointerButton::Primary);
        self.0.key_press_modifiers(Modifiers::COMMAND, Key::A);
        self.0.run_steps(1);
        for letter in text.chars() {
            self.0.event(Event::Text(letter.to_string()));
            self.0.run_steps(1);
        }
        if text.is_empty() {
            self.press(Key::Backspace);
        }
    }

    pub(crate) fn press(&mut self, key: Key) {
        self.0.key_press(key);
        self.settle();
    }

    /// Types into a field, and presses Enter.
    pub(crate) fn enter(&mut self, label: &str, text: &str) {
        self.type_into(label, text);
        self.press(Key::Enter);
    }

    pub(crate) fn undo(&mut self) {
        let Program { world, history, .. } = self.program();
        assert!(history.undo(world).unwrap());
        self.settle();
    }

    /// Returns the place of the checkbox of an option.
    pub(crate) fn place_of_switch(&self, label: &str) -> Pos2 {
        let is_switch = |node: &egui_kittest::Node<'_>| {
            node.accesskit_node().role() == egui::accesskit::Role::CheckBox
        };
        self.0.get_all_by_label(label).find(is_switch).unwrap().rect().center()
    }

    pub(crate) fn click_last(&mut self, label: &str) {
        let at = self.0.get_all_by_label(label).last().unwrap().rect().center();
        self.click_at(at, PointerButton::Primary);
    }

    /// Returns the place of the widget of a field, to the right of its label.
    pub(crate) fn widget(&self, label: &str) -> Pos2 {
        let mut nodes = self
            .0
            .get_all_by_label(label)
            .filter(|node| !matches!(node.accesskit_node().role(), egui::accesskit::Role::Label));
        nodes.next_back().unwrap().rect().center()
    }
}

pub(crate) fn shared(item: &str) -> Shared {
    let item = Item { name: item.into(), count: 1 };
    Shared { count: 3, pointer: Some(std::sync::Arc::new(std::sync::Mutex::new(item))) }
}

impl Window {
    /// Clicks the arrow of a header.
    pub(crate) fn click_arrow(&mut self, label: &str) {
        let at = self.place(label);
        let rect = self.0.get_all_by_label(label).next().unwrap().rect();
        self.click_at(Pos2::new(rect.left() - 9.0, at.y), PointerButton::Primary);
    }

    /// Returns the place of the arrow of the innermost header labelled `inner`.
    pub(crate) fn last_closed(&self) -> Option<Pos2> {
        let rect = self.0.query_all_by_label("inner").last()?.rect();
        Some(Pos2::new(rect.left() - 9.0, rect.center().y))
    }
}
