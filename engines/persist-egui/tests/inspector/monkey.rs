//! Thousands of random clicks, drags and keys: nothing panics, and undo, redo and a crash restore earlier states.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::time::Duration;

use egui::{Event, Key, Modifiers, PointerButton, Pos2, Vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use persist::{FieldPath, History, ObjectId, Persist, Saves, Session, World};
use persist_egui::Inspector;

use crate::support::{Bag, Deep, Even, Item, Lamp, Link, Numbers, Place, Score, Shade};

/// A component with the kinds of fields that the other components lack.
#[derive(Persist, Clone, Debug, Default, PartialEq)]
#[persist(component)]
struct Every {
    unit: (),
    nested: Option<Option<u8>>,
    non_zero: Option<NonZeroU32>,
    non_zeros: BTreeSet<NonZeroU32>,
    doors: Vec<Door>,
    door: Door,
    optional: VecDeque<Option<u16>>,
    switches: BTreeSet<bool>,
    letters: BTreeSet<char>,
    by_suit: BTreeMap<Suit, u8>,
    by_pair: BTreeMap<(u8, String), Option<f32>>,
    by_bytes: BTreeMap<Vec<u8>, Vec<u8>>,
    by_letter: BTreeMap<char, Shade>,
    by_big: BTreeMap<i128, Place>,
    by_object: BTreeMap<ObjectId, Option<ObjectId>>,
    #[persist(color)]
    color: [f32; 4],
    #[persist(color)]
    packed_color: u32,
    #[persist(color)]
    colors: Vec<[u8; 3]>,
    time: Duration,
    boxed: Option<Box<Item>>,
    #[persist(range = 1e300..)]
    distant: f64,
    #[persist(range = f64::NAN..=f64::NAN)]
    no_range: f64,
    #[persist(range = f64::NAN..=3.0)]
    no_integers: i32,
    small: i8,
    large: u128,
    #[persist(read_only)]
    fixed: Vec<Item>,
    #[persist(hidden)]
    secret: u32,
    #[persist(label = "Map of maps")]
    maps: BTreeMap<String, BTreeMap<u64, String>>,
    triple: (bool, char, Option<Suit>),
}

#[derive(Persist, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Suit {
    #[default]
    Clubs,
    Hearts(u8),
}

/// An enum that has a variant with a reference to an object.
#[derive(Persist, Clone, Debug, Default, PartialEq)]
enum Door {
    #[default]
    Shut,
    LeadsTo(ObjectId),
    Both {
        to: ObjectId,
        back: Option<ObjectId>,
    },
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
#[persist(component)]
enum Phase {
    #[default]
    Idle,
    Walk {
        speed: f32,
        target: Option<ObjectId>,
    },
}

struct Program {
    session: Option<Session>,
    inspectors: [Inspector; 2],
    folder: tempfile::TempDir,
}

fn open(folder: &std::path::Path) -> Session {
    let saves = Saves::new();
    saves.register_component::<Lamp>().unwrap();
    saves.register_component::<Bag>().unwrap();
    saves.register_component::<Link>().unwrap();
    saves.register_component::<Numbers>().unwrap();
    saves.register_component::<Even>().unwrap();
    saves.register_component::<Deep>().unwrap();
    saves.register_component::<Every>().unwrap();
    saves.register_component::<Phase>().unwrap();
    saves.register_resource::<Score>().unwrap();
    let session = Session::<World>::with(saves, History::new(1_000_000));
    session.open(folder.join("a.sav"), folder.join("a.journal")).unwrap().0
}

/// Describes the whole content of a world as text.
fn dump(world: &World) -> String {
    let mut text = String::new();
    let mut put = |owner: Option<ObjectId>| {
        for class in world.classes(owner) {
            let value = world.get_field(owner, FieldPath::new(class.clone()));
            writeln!(text, "  {class}: {value:?}").unwrap();
        }
        if let Some(object) = owner {
            let (name, children) = (world.name(object), world.children(object));
            let (parent, activity) = (world.parent(object), world.activity(object));
            writeln!(text, "{object:?} {name:?} {parent:?} {children:?} {activity:?}").unwrap();
        }
    };
    put(None);
    world.objects().for_each(|object| put(Some(object)));
    text
}

/// A generator of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % most.max(1)
    }

    fn one_of<T: Clone>(&mut self, items: &[T]) -> Option<T> {
        (!items.is_empty()).then(|| items[self.below(items.len())].clone())
    }
}

const TEXTS: [&str; 16] = [
    "",
    "NaN",
    "-inf",
    "1e999",
    "-1",
    "0",
    "255",
    "18446744073709551615",
    "é",
    "odd",
    "a\nb",
    "3",
    "0.1",
    "-170141183460469231731687303715884105728",
    "Lamp",
    "\u{202e}\0\"]",
];

const KEYS: [Key; 10] = [
    Key::Enter,
    Key::Escape,
    Key::Tab,
    Key::ArrowUp,
    Key::ArrowDown,
    Key::Backspace,
    Key::Delete,
    Key::Space,
    Key::Home,
    Key::ArrowRight,
];

struct Monkey {
    window: Harness<'static, Program>,
    random: Random,
    size: Vec2,
}

impl Monkey {
    fn new(seed: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut session = open(folder.path());
        let ada = session
            .edit("Add", |edit| {
                let ada = edit.spawn("Ada")?;
                edit.insert_resource(Score { points: 3 })?;
                edit.attach(ada, Every::default())?;
                edit.attach(ada, Lamp::default())?;
                let bob = edit.spawn_in(ada, "Bob")?;
                edit.attach(bob, Link { to: ada, maybe: Some(bob), all: vec![] })?;
                // More than a page of each.
                let numbers = (0..130).collect();
                let prices = (0..60).map(|price| (format!("{price}"), price)).collect();
                edit.attach(bob, Bag { numbers, prices, bytes: vec![7; 70], ..Bag::default() })?;
                edit.attach(bob, Phase::default())?;
                let eve = edit.spawn("Eve")?;
                edit.attach(eve, Numbers::default())?;
                edit.attach(eve, Even::default())?;
                edit.attach(eve, Deep::default())?;
                Ok(ada)
            })
            .unwrap();
        session.save().unwrap();
        let mut inspectors = [Inspector::default(), Inspector::default()];
        inspectors[0].select(Some(ada));
        let program = Program { session: Some(session), inspectors, folder };
        let app = |ui: &mut egui::Ui, program: &mut Program| {
            let Program { session, inspectors, .. } = program;
            let Some(session) = session else { return };
            ui.columns(2, |columns| {
                for (at, inspector) in inspectors.iter_mut().enumerate() {
                    columns[at].push_id(at, |ui| inspector.show(ui, session));
                }
            });
        };
        let size = Vec2::new(800.0, 1000.0);
        let mut window = Harness::builder().with_size(size).build_ui_state(app, program);
        // The picker of egui has a character that some fonts lack.
        window.ctx.set_missing_glyph_policy(egui::MissingGlyphPolicy::Tofu);
        window.run_steps(3);
        Self { window, random: Random(seed), size }
    }

    fn session(&mut self) -> &mut Session {
        self.window.state_mut().session.as_mut().unwrap()
    }

    /// Returns the middle of a random widget, or a place beside it.
    fn place(&mut self) -> Pos2 {
        let screen = egui::Rect::from_min_size(Pos2::ZERO, self.size);
        let nodes = self.window.query_all(egui_kittest::kittest::By::new().predicate(|_| true));
        let places: Vec<Pos2> = nodes
            .filter(|node| node.accesskit_node().bounding_box().is_some())
            .map(|node| node.rect())
            .filter(|rect| rect.height() < 60.0 && screen.contains(rect.center()))
            .map(|rect| rect.center())
            .collect();
        let at = self.random.one_of(&places).unwrap_or(Pos2::ZERO);
        // The offset may hit the arrow of a header, or the end of a field.
        let beside = self.random.one_of(&[0.0, 0.0, 0.0, -30.0, 12.0]).unwrap_or_default();
        at + Vec2::new(beside, 0.0)
    }

    fn button(&mut self, pos: Pos2, button: PointerButton, pressed: bool) {
        let modifiers = Modifiers::NONE;
        self.window.event(Event::PointerButton { pos, button, pressed, modifiers });
        self.window.run_steps(1);
    }

    fn press(&mut self, at: Pos2, button: PointerButton) {
        self.window.event(Event::PointerMoved(at));
        self.window.run_steps(1);
        self.button(at, button, true);
    }

    fn step(&mut self) {
        match self.random.below(20) {
            0..=8 => {
                let at = self.place();
                self.press(at, PointerButton::Primary);
                self.button(at, PointerButton::Primary, false);
            }
            9 => {
                let at = self.place();
                self.press(at, PointerButton::Secondary);
                self.button(at, PointerButton::Secondary, false);
            }
            10..=12 => {
                let (from, to) = (self.place(), self.place());
                self.press(from, PointerButton::Primary);
                let steps = 1 + self.random.below(4);
                for step in 1..=steps {
                    let by = to - from;
                    #[expect(clippy::cast_precision_loss, reason = "they are few")]
                    let part = step as f32 / steps as f32;
                    self.window.event(Event::PointerMoved(from + by * part));
                    self.window.run_steps(1);
                    if self.random.below(6) == 0 {
                        self.act();
                    }
                }
                self.button(to, PointerButton::Primary, false);
            }
            13..=15 => {
                if self.random.below(2) == 0 {
                    self.window.key_press_modifiers(Modifiers::COMMAND, Key::A);
                }
                let text = self.random.one_of(&TEXTS).unwrap_or_default();
                self.window.event(Event::Text(text.to_owned()));
                self.window.run_steps(1);
            }
            16..=18 => {
                let key = self.random.one_of(&KEYS).unwrap_or(Key::Enter);
                self.window.key_press(key);
                self.window.run_steps(1);
            }
            _ => self.act(),
        }
    }

    /// Makes a random change as the program itself would, without the inspector.
    fn act(&mut self) {
        let which = self.random.below(9);
        let session = self.window.state_mut().session.as_mut().unwrap();
        let objects: Vec<ObjectId> = session.target().objects().collect();
        let object = self.random.one_of(&objects);
        match (which, object) {
            (0, _) => drop(session.undo().unwrap()),
            (1, _) => drop(session.redo().unwrap()),
            (2, Some(object)) => session.edit("Remove", |edit| edit.remove(object)).unwrap(),
            (3, _) => drop(session.edit("Spawn", |edit| edit.spawn("Ada")).unwrap()),
            (4, Some(object)) => {
                drop(session.edit("Rename", |edit| edit.rename(object, "Bob").map(drop)));
            }
            (5, _) => {
                session.save().unwrap();
            }
            (6, _) => {
                let to = self.random.below(session.history().entries().len() + 1);
                session.go_to(to).unwrap();
            }
            (7, object) => self.window.state_mut().inspectors[1].select(object),
            (8, Some(object)) => {
                drop(session.edit("Attach", |edit| edit.attach(object, Every::default())));
                self.window.state_mut().inspectors[0].select(Some(object));
            }
            _ => {}
        }
        self.window.run_steps(1);
    }

    /// Asserts that undo, redo and a crash restore earlier states.
    fn check(&mut self, crashes: bool) {
        let session = self.session();
        assert!(session.history().poison().is_none(), "{:?}", session.history().poison());
        let (position, now) = (session.history().position(), dump(session.target()));
        session.go_to(0).unwrap();
        assert_eq!(dump(session.target()), "");
        let last = session.history().entries().len();
        session.go_to(last).unwrap();
        session.go_to(position).unwrap();
        assert_eq!(dump(session.target()), now);
        if crashes {
            let program = self.window.state_mut();
            drop(program.session.take());
            program.session = Some(open(program.folder.path()));
            let session = self.session();
            assert_eq!(session.history().entries().len(), last);
            assert_eq!((session.history().position(), dump(session.target())), (position, now));
        }
    }
}

#[test]
fn random_clicks_and_keys_can_be_undone_and_recovered() {
    for seed in 1..=2_u64 {
        let mut monkey = Monkey::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for step in 1..=300 {
            monkey.step();
            if step % 50 == 0 {
                monkey.check(step % 100 == 0);
            }
        }
    }
}
