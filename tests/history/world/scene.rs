//! The components of the tests, and a world as text.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use persist::{Component, ComponentScope, History, ObjectId, Persist, Result, Saves, Value, World};
use persist_tools::Document;

#[derive(Persist, Clone, Debug, Default, PartialEq)]
pub(crate) struct Transform {
    pub(crate) x: f32,
    pub(crate) y: f32,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub(crate) struct Homing {
    pub(crate) target: Option<ObjectId>,
    pub(crate) others: Vec<ObjectId>,
}

/// A field of many kinds each.
#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(class = "game.Thing")]
pub(crate) struct Thing {
    #[persist(rename = "place")]
    pub(crate) position: Place,
    pub(crate) level: u16,
    pub(crate) ratio: f64,
    pub(crate) name: String,
    pub(crate) mood: Mood,
    pub(crate) pet: Option<Pet>,
    pub(crate) items: Vec<Item>,
    pub(crate) grid: [[f64; 2]; 2],
    pub(crate) pair: (u8, Place),
    pub(crate) prices: BTreeMap<String, i64>,
    pub(crate) by_slot: HashMap<Slot, u8>,
    pub(crate) length: Metres,
    pub(crate) number: Number,
    #[persist(with = backwards)]
    pub(crate) secret: Secret,
    #[persist(skip)]
    pub(crate) cache: Vec<u8>,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) x: f32,
    pub(crate) y: f32,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub(crate) enum Mood {
    Calm,
    Angry { cause: Place, at: Option<ObjectId> },
    Tired(u8),
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub(crate) struct Pet {
    pub(crate) name: String,
    pub(crate) at: Place,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub(crate) count: u32,
    pub(crate) spots: Vec<i16>,
    #[persist(skip)]
    pub(crate) picture: u8,
}

#[derive(Persist, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Slot {
    Head,
    Hand,
}

#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(transparent)]
pub(crate) struct Metres(pub(crate) f32);

#[derive(Persist, Clone, Debug, PartialEq)]
pub(crate) struct Number(pub(crate) u64);

/// Stored as the text backwards.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Secret(pub(crate) String);

mod backwards {
    use super::Secret;

    pub(super) type Stored = String;

    pub(super) fn store(secret: &Secret) -> Stored {
        secret.0.chars().rev().collect()
    }

    #[expect(clippy::unnecessary_wraps, clippy::needless_pass_by_value, reason = "so it is called")]
    pub(super) fn restore(stored: Stored) -> Result<Secret, String> {
        Ok(Secret(stored.chars().rev().collect()))
    }
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub(crate) struct Speed(pub(crate) f32);

#[derive(Persist, Clone, Debug, PartialEq)]
pub(crate) struct Pair(pub(crate) u8, pub(crate) String);

/// A component without fields.
#[derive(Persist, Clone, Debug, PartialEq)]
pub(crate) struct Tag;

/// A component that is an enum.
#[derive(Persist, Clone, Debug, PartialEq)]
pub(crate) enum Light {
    Off,
    On { brightness: f32 },
}

/// Valid while `low` is at most `high`.
#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(validate = Span::check)]
pub(crate) struct Span {
    pub(crate) low: i32,
    pub(crate) high: i32,
    pub(crate) steps: Vec<i32>,
}

impl Span {
    fn check(&self) -> Result<(), String> {
        if self.low > self.high {
            return Err(format!("{} > {}", self.low, self.high));
        }
        match self.steps.iter().find(|step| !(self.low..=self.high).contains(*step)) {
            Some(step) => Err(format!("step {step} is out of it")),
            None => Ok(()),
        }
    }
}

/// A component with lists.
#[derive(Persist, Clone, Debug, PartialEq)]
pub(crate) struct Route {
    pub(crate) name: String,
    pub(crate) stops: Vec<Stop>,
    pub(crate) legs: Vec<Vec<u8>>,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub(crate) struct Stop {
    pub(crate) x: u64,
    pub(crate) y: u64,
}

/// Notes what its methods are called for.
#[derive(Persist, Debug, PartialEq)]
pub(crate) struct Actor {
    pub(crate) name: String,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub(crate) struct Score {
    pub(crate) points: u32,
    pub(crate) names: Vec<String>,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub(crate) struct Weather(pub(crate) f32);

impl Component for Transform {}
impl Component for Homing {}
impl Component for Thing {}
impl Component for Speed {}
impl Component for Pair {}
impl Component for Tag {}
impl Component for Light {}
impl Component for Span {}
impl Component for Route {}

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn log(line: impl Into<String>) {
    LOG.with_borrow_mut(|log| log.push(line.into()));
}

/// What has been noted since it was asked for last.
pub(crate) fn logged() -> Vec<String> {
    LOG.take()
}

impl Component for Actor {
    fn on_start(&mut self, _: &mut ComponentScope<'_>) {
        log(format!("start {}", self.name));
    }

    fn on_update(&mut self, _: &mut ComponentScope<'_>) {
        log(format!("update {}", self.name));
    }

    fn on_release(&mut self, _: &mut ComponentScope<'_>) {
        log(format!("release {}", self.name));
    }
}

/// A second class with methods.
#[derive(Persist, Debug, PartialEq)]
pub(crate) struct Prop {
    pub(crate) name: String,
}

impl Component for Prop {
    fn on_start(&mut self, _: &mut ComponentScope<'_>) {
        log(format!("start {}", self.name));
    }

    fn on_release(&mut self, _: &mut ComponentScope<'_>) {
        log(format!("release {}", self.name));
    }
}

impl Drop for Prop {
    fn drop(&mut self) {
        // An empty one is what loads make to begin with.
        if !self.name.is_empty() {
            log(format!("drop {}", self.name));
        }
    }
}

pub(crate) fn actor(name: &str) -> Actor {
    Actor { name: name.into() }
}

pub(crate) fn transform(x: f32, y: f32) -> Transform {
    Transform { x, y }
}

impl Thing {
    pub(crate) fn sample() -> Self {
        let place = |x, y| Place { x, y };
        let item = |count, spots: &[i16]| Item { count, spots: spots.to_vec(), picture: 0 };
        Self {
            position: place(1.0, 2.0),
            level: 3,
            ratio: 0.5,
            name: "Ada".into(),
            mood: Mood::Angry { cause: place(3.0, 4.0), at: None },
            pet: Some(Pet { name: "Rex".into(), at: place(5.0, 6.0) }),
            items: vec![item(1, &[]), item(2, &[4, 5])],
            grid: [[1.0, 2.0], [3.0, 4.0]],
            pair: (1, place(11.0, 12.0)),
            prices: [("long sword".into(), 50), ("axe".into(), 20)].into(),
            by_slot: [(Slot::Head, 5), (Slot::Hand, 6)].into(),
            length: Metres(1.5),
            number: Number(9),
            secret: Secret("hidden".into()),
            cache: vec![1, 2, 3],
        }
    }
}

/// Where all classes are known.
pub(crate) fn saves() -> Saves {
    let saves = Saves::new();
    let register = || {
        saves.register_component::<Transform>()?;
        saves.register_component::<Homing>()?;
        saves.register_component::<Thing>()?;
        saves.register_component::<Speed>()?;
        saves.register_component::<Pair>()?;
        saves.register_component::<Tag>()?;
        saves.register_component::<Light>()?;
        saves.register_component::<Span>()?;
        saves.register_component::<Route>()?;
        saves.register_component::<Actor>()?;
        saves.register_component::<Prop>()?;
        saves.register_resource::<Score>()?;
        saves.register_resource::<Weather>()
    };
    register().expect("classes");
    saves
}

/// All that a save has of a world, but for the number of ids that were given: those of what was taken back stay used up.
pub(crate) fn text(world: &World) -> String {
    let saves = saves();
    text_of(&saves, world)
}

/// The same, of a world with other classes.
pub(crate) fn text_of(saves: &Saves, world: &World) -> String {
    let save = saves.to_vec(world).expect("a save");
    let mut document = Document::from_slice(&save).expect("a document");
    let root = document.root_mut().and_then(Value::as_record_mut).expect("a world");
    assert!(root.take("last_id").is_some());
    Value::from(root.clone()).to_string()
}

/// The world behind a save and a load.
pub(crate) fn saved_and_loaded(saves: &Saves, world: &World) -> World {
    let path = saved(saves, world);
    saves.file(&path.1).load::<World>().expect("a world").into_inner()
}

/// The world as another program loads it.
pub(crate) fn brought_over(from: &Saves, to: &Saves, world: &World) -> World {
    let path = saved(from, world);
    to.file(&path.1).load::<World>().expect("a world").into_inner()
}

fn saved(saves: &Saves, world: &World) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("world.sav");
    saves.file(&path).save(world).expect("a save");
    (folder, path)
}

/// A world with a history.
pub(crate) fn empty() -> (World, History) {
    (World::new(), History::new(1000))
}

/// A world with one object that has a component, and a history that does not know how it came.
pub(crate) fn with<T: Component>(component: T) -> (World, History, ObjectId) {
    let mut world = World::new();
    let ada = world.spawn("Ada");
    world.attach(ada, component).expect("it is there");
    (world, History::new(1000), ada)
}
