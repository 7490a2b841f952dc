//! One program in three versions. The last one knows hardly any class.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex};

use persist::{Arena, Handle, Persist, Record, Saves, Unknown, Value};

type Shared<T> = Rc<RefCell<T>>;

pub struct Things;

impl Arena for Things {
    type Key = u64;
    const NAME: &'static str = "things";

    fn to_bits(key: u64) -> u64 {
        key
    }

    fn from_bits(bits: u64) -> Option<u64> {
        (bits % 16 > 0).then_some(bits)
    }
}

#[persist::dynamic(unknown = Lost)]
pub trait Tool {}

#[derive(Persist)]
pub struct Lost {
    unknown: Unknown,
}

impl From<Unknown> for Lost {
    fn from(unknown: Unknown) -> Self {
        Self { unknown }
    }
}

impl AsRef<Unknown> for Lost {
    fn as_ref(&self) -> &Unknown {
        &self.unknown
    }
}

impl Tool for Lost {}

#[derive(Persist)]
pub struct Rope {
    number: i16,
    rope: Option<Box<dyn Tool>>,
    other: Weak<RefCell<Rope>>,
}

impl Tool for Rope {}

#[derive(Persist)]
pub struct Tree {
    number: u8,
    next: Vec<Tree>,
}

pub mod first {
    use super::*;

    #[derive(Persist)]
    pub struct Gem {
        carat: u16,
        name: String,
    }

    #[derive(Persist)]
    #[persist(class = "Side")]
    pub enum Side {
        North,
        South(u8, Option<Shared<Case>>),
        West { gem: Gem, number: i64 },
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub struct Case {
        number: u64,
        gems: Vec<Shared<Gem>>,
        gem: Gem,
        maybe: Option<u8>,
        sides: Vec<Side>,
        map: BTreeMap<String, u32>,
        other: Weak<RefCell<Case>>,
        next: Option<Shared<Case>>,
        tool: Option<Box<dyn Tool>>,
        tools: Vec<Rc<dyn Tool>>,
        handle: Handle<Things>,
        text: String,
        three: [u16; 3],
        pair: (u8, f32),
    }
}

pub mod second {
    use super::*;

    #[derive(Persist)]
    #[persist(version = 3, migrate(1 = rename_weight, 2 = drop_removed))]
    pub struct Gem {
        heavy: u32,
        #[persist(default = String::from("ruby"))]
        name: String,
    }

    fn rename_weight(record: &mut Record, _from: u32) {
        record.rename("carat", "heavy");
    }

    fn drop_removed(record: &mut Record, _from: u32) -> Result<(), String> {
        match record.take("gone") {
            Some(Value::Seq(_)) => Err("a gem with a list".into()),
            _ => Ok(()),
        }
    }

    #[derive(Persist)]
    #[persist(class = "Side")]
    pub enum Side {
        #[persist(alias = "Down")]
        South,
        North,
        #[persist(other)]
        Other(Unknown),
    }

    #[derive(Persist)]
    #[persist(class = "Level")]
    pub struct Level(u16);

    #[derive(Persist, PartialEq, Eq, Hash)]
    pub enum Plain {
        North,
        #[persist(alias = "Down")]
        South,
        #[persist(other)]
        Else,
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub struct Case {
        #[persist(default)]
        next: Option<Shared<Case>>,
        #[persist(default)]
        gems: Vec<Gem>,
        #[persist(alias = "jewel")]
        gem: Option<Shared<Gem>>,
        #[persist(id = 1)]
        number: Option<u16>,
        #[persist(default)]
        maybe: Vec<u16>,
        other: Weak<RefCell<Case>>,
        #[persist(default)]
        sides: Vec<Side>,
        #[persist(default)]
        map: Vec<(String, u8)>,
        #[persist(convert = length, default)]
        text: u64,
        #[persist(default = [7; 40])]
        three: [u64; 40],
        #[persist(default)]
        pair: HashSet<Plain>,
        #[persist(id = 2, default = Level(4))]
        level: Level,
        #[persist(default)]
        tool: HashMap<u8, Rc<RefCell<dyn Tool>>>,
        #[persist(default)]
        tools: Vec<Box<dyn Tool>>,
        #[persist(default)]
        handle: Vec<Handle<Things>>,
        #[persist(default)]
        rope: Option<Arc<Mutex<Vec<u32>>>>,
    }

    fn length(old: String) -> Result<u64, String> {
        if old == "x" { Err("no x".into()) } else { Ok(old.len() as u64) }
    }
}

pub mod little {
    use super::*;

    #[derive(Persist)]
    #[persist(class = "Gem")]
    pub struct Gem {
        #[persist(unknown)]
        rest: Unknown,
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub struct Case {
        #[persist(default)]
        next: Option<Shared<Case>>,
        #[persist(default)]
        gem: Option<Gem>,
        #[persist(default)]
        number: f64,
        #[persist(unknown)]
        rest: Unknown,
    }
}

/// A program whose objects may be of these classes.
pub fn saves<T: Persist>() -> Saves {
    let saves = Saves::new();
    saves.register_as::<Rope, dyn Tool>().expect("the classes are sound");
    saves.register::<Tree>().expect("the classes are sound");
    saves.register::<T>().expect("the classes are sound");
    saves
}
