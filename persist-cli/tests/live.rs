//! `persist::debug::tree`, whose twin is `persist dump` of a save of the same value.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::rc::{Rc, Weak};

use persist::debug::tree;
use persist::world::Prefab;
use persist::{Loaded, ObjectId, Persist, SaveManager, Saves, World};

use crate::game::{self, Game};
use crate::library::fixture_types;
use crate::support::Folder;

/// Compares the text of a live value with the dump of its save.
fn check(folder: &Folder, shown: &impl Display, save: &[u8]) {
    folder.write("live.sav", save);
    let is_equal = |text: String, options: &str| {
        let dump = folder.run(&format!("dump live.sav {options}"));
        let differs = text.lines().zip(dump.lines()).find(|(one, other)| one != other);
        assert!(text == dump, "{options}: {differs:?}");
    };
    is_equal(format!("{shown}"), "");
    is_equal(format!("{shown:#}"), "--color always");
    is_equal(format!("{shown:.2}"), "--depth 2");
}

fn check_value(folder: &Folder, saves: &Saves, value: &impl Persist) {
    check(folder, &tree(value).saves(saves), &saves.to_vec(value).expect("it is saved"));
}

#[test]
fn fixtures_and_games_are_shown_like_their_dumps() {
    let folder = Folder::new();
    check_value(&folder, &Saves::new(), &fixture_types::values());
    for name in ["players", "graph", "pointers", "compact"] {
        let manager = fixture_types::manager(name, true);
        check(&folder, &tree(&manager), &manager.to_vec().expect("it is saved"));
        let loaded: Loaded<SaveManager> =
            manager.from_slice(&manager.to_vec().expect("it is saved")).expect("it is loaded");
        check(&folder, &tree(&loaded), &loaded.to_vec().expect("it is saved"));
    }
    let saves = game::saves_of_city().expect("classes");
    for save in [game::town(), game::city(), game::large_city(), game::city_after_a_day()] {
        let world = saves.from_slice::<World>(&save.expect("a save")).expect("a world");
        check_value(&folder, &Saves::new(), &*world);
    }
    let game = saves.from_slice::<Game>(&game::game_of_city().expect("a save")).expect("a game");
    check(&folder, &tree(&game).saves(&saves), &saves.to_vec(&game).expect("it is saved"));
    let world = saves.from_slice::<World>(&game::town().expect("a save")).expect("a world");
    let house = world.find("House").expect("it is there");
    let prefab: Prefab = world.prefab(house).expect("a prefab");
    check(&folder, &tree(&prefab), &saves.to_vec(&prefab).expect("it is saved"));
    check_value(&folder, &Saves::new(), &());
    check_value(&folder, &Saves::new(), &World::new());
}

#[test]
fn unknown_content_that_was_loaded_is_shown() {
    let folder = Folder::new();
    let save = game::loaded_without_mod().expect("a save");
    let loaded = SaveManager::new().from_slice(&save).expect("it is loaded");
    check(&folder, &tree(&loaded), &loaded.to_vec().expect("it is saved"));
    assert!(tree(&loaded).to_string().contains("mana"));
}

#[persist::dynamic]
trait Thing {}

#[derive(Persist)]
struct Lamp {
    watts: f32,
}

#[derive(Persist)]
struct Crate(Vec<Box<dyn Thing>>);

impl Thing for Lamp {}

impl Thing for Crate {}

#[derive(Persist)]
#[persist(component)]
enum State {
    Calm,
    Angry { at: ObjectId, words: Vec<String> },
    Far(f32, Option<i64>),
}

#[derive(Persist)]
struct Node {
    name: String,
    to: Vec<Rc<RefCell<Self>>>,
    from: Weak<RefCell<Self>>,
    things: Vec<Box<dyn Thing>>,
    by_place: BTreeMap<(u8, char), Option<Option<u64>>>,
    by_name: BTreeMap<String, i128>,
    bytes: Vec<u8>,
    state: State,
    level: Option<World>,
    levels: BTreeMap<String, World>,
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % end.max(1)
    }

    fn text(&mut self) -> String {
        const PARTS: [&str; 10] =
            ["a", "Ada ", "\"", "\n", "\u{1b}[31m", "\u{202e}", "/", "é", "`", "a long text "];
        (0..self.below(6)).map(|_| PARTS[self.below(PARTS.len())]).collect()
    }

    fn thing(&mut self, depth: usize) -> Box<dyn Thing> {
        match self.below(2) {
            0 if depth > 0 => {
                Box::new(Crate((0..self.below(3)).map(|_| self.thing(depth - 1)).collect()))
            }
            _ => Box::new(Lamp { watts: [0.5, f32::NAN, f32::INFINITY, -0.0][self.below(4)] }),
        }
    }

    fn state(&mut self) -> State {
        match self.below(3) {
            0 => State::Calm,
            1 => State::Angry {
                at: ObjectId::new(self.below(4) as u64).unwrap_or(ObjectId::NULL),
                words: (0..self.below(9)).map(|_| self.text()).collect(),
            },
            _ => State::Far(1.5, (self.below(2) == 0).then_some(-7)),
        }
    }

    fn world(&mut self) -> World {
        let (mut world, mut ids) = (World::new(), Vec::new());
        for _ in 0..self.below(6) {
            let name = self.text();
            let object = match ids.get(self.below(ids.len() + 1)) {
                Some(parent) => world.spawn_in(*parent, &name).expect("it is there"),
                None => world.spawn(&name),
            };
            if self.below(2) == 0 {
                world.attach(object, self.state()).expect("it is there");
            }
            ids.push(object);
        }
        if self.below(2) == 0 {
            world.insert_resource(Lamp { watts: 1.0 }).expect("a class");
        }
        world
    }

    /// A graph in which any object may refer to any other.
    fn graph(&mut self) -> Vec<Rc<RefCell<Node>>> {
        let nodes: Vec<_> = (0..1 + self.below(5))
            .map(|_| {
                let node = Node {
                    name: self.text(),
                    to: Vec::new(),
                    from: Weak::new(),
                    things: (0..self.below(4)).map(|_| self.thing(3)).collect(),
                    by_place: [
                        ((3, '\''), None),
                        ((4, 'x'), Some(None)),
                        ((4, 'y'), Some(Some(1))),
                    ][..self.below(4)]
                        .iter()
                        .copied()
                        .collect(),
                    by_name: (0..self.below(4)).map(|_| (self.text(), i128::MIN)).collect(),
                    bytes: vec![7; self.below(70)],
                    state: self.state(),
                    level: (self.below(3) == 0).then(|| self.world()),
                    levels: (0..self.below(3)).map(|_| (self.text(), self.world())).collect(),
                };
                Rc::new(RefCell::new(node))
            })
            .collect();
        for node in &nodes {
            for _ in 0..self.below(4) {
                node.borrow_mut().to.push(nodes[self.below(nodes.len())].clone());
            }
            node.borrow_mut().from = Rc::downgrade(&nodes[self.below(nodes.len())]);
        }
        nodes
    }
}

#[test]
fn random_graphs_and_worlds_are_shown_like_their_dumps() {
    let (folder, saves) = (Folder::new(), Saves::new());
    saves.register_as::<Lamp, dyn Thing>().expect("a class");
    saves.register_as::<Crate, dyn Thing>().expect("a class");
    saves.register_component::<State>().expect("a class");
    saves.register_resource::<Lamp>().expect("a class");
    for seed in 0..25 {
        let mut random = Random(seed);
        check_value(&folder, &saves, &random.world());
        let nodes = random.graph();
        check_value(&folder, &saves, &nodes);
        check_value(&folder, &saves, &nodes[0]);
        let mut manager = saves.manager();
        for node in &nodes {
            manager.add(node).expect("it is new");
        }
        check(&folder, &tree(&manager), &manager.to_vec().expect("it is saved"));
        // Cycles would leak.
        nodes.iter().for_each(|node| node.borrow_mut().to.clear());
    }
}

#[derive(Persist)]
#[persist(validate = Self::check, before_save = Self::count)]
struct Odd(u32);

impl Odd {
    fn check(&self) -> Result<(), String> {
        Err(format!("{} is even", self.0))
    }

    fn count(&mut self) {
        self.0 += 1;
    }
}

/// A list in a list in a list.
#[derive(Persist)]
struct Deep(Vec<Self>);

#[test]
fn values_that_no_save_takes_have_a_text() {
    assert_eq!(tree(&Odd(2)).to_string(), ". Odd\nOdd { 0: 2u32 }\n");
    let lamp: Box<dyn Thing> = Box::new(Lamp { watts: 1.0 });
    insta::assert_snapshot!(tree(&lamp));
    let shared = Rc::new(RefCell::new(5_u32));
    let borrowed = shared.borrow_mut();
    insta::assert_snapshot!(tree(&shared));
    drop(borrowed);
    insta::assert_snapshot!(tree(&vec![(); 2_000_000]));
    let deep = (0..1_000).fold(Deep(Vec::new()), |inner, _| Deep(vec![inner]));
    insta::assert_snapshot!(tree(&deep));
    assert_eq!(tree(&SaveManager::new()).to_string(), "");
}
