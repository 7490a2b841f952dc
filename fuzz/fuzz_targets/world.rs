//! Types of every sort, to load arbitrary bytes as.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::{Rc, Weak};

use persist::save::LoadPolicy;
use persist::{LoadOptions, Loaded, Persist, SaveManager};

#[derive(Persist)]
pub struct Hero {
    name: String,
    #[persist(default)]
    level: u32,
    mood: Mood,
    bag: Vec<Item>,
    friend: Option<Rc<RefCell<Hero>>>,
    foes: HashMap<String, Rc<RefCell<Monster>>>,
    home: Weak<RefCell<Monster>>,
    units: Vec<()>,
    nested: Option<Box<Chain>>,
}

#[derive(Persist)]
pub struct Chain {
    next: Option<Box<Chain>>,
    rest: Vec<Chain>,
}

#[derive(Persist)]
pub enum Mood {
    Calm,
    Angry { at: Weak<RefCell<Hero>>, since: u64 },
    Busy(Vec<Mood>, char),
}

#[derive(Persist)]
pub struct Item {
    weight: f32,
    tags: HashSet<u16>,
    #[persist(skip)]
    _cache: u64,
}

#[derive(Persist)]
pub struct Monster {
    prey: BTreeMap<i8, Vec<Rc<RefCell<Hero>>>>,
    place: (bool, [u8; 3], Option<i128>),
    result: Result<u8, String>,
}

/// Loads the bytes; what loads must save, load and save again to equal bytes.
/// Whatever happens, nothing is leaked.
#[allow(dead_code, reason = "not every target is lenient")]
pub fn load(save: &[u8]) {
    load_by(LoadPolicy::Lenient, save);
}

/// The same under a policy.
#[allow(dead_code, reason = "not every target has one")]
pub fn load_by(policy: LoadPolicy, save: &[u8]) {
    let mut saves = SaveManager::new();
    saves.register::<Hero>().expect("the classes are sound");
    saves.set_load_options(LoadOptions { policy, ..LoadOptions::default() });
    if let Ok(loaded) = saves.from_slice(save) {
        let cut = Cut::of(&loaded);
        saves.adopt(loaded);
        let first = saves.to_vec().expect("what loads can be saved");
        let again = saves.from_slice(&first).expect("what was saved loads");
        let cut_again = Cut::of(&again);
        saves.adopt(again);
        assert_eq!(saves.to_vec().expect("it can be saved again"), first);
        drop((cut, cut_again));
    }
    if let Ok((hero, loaded)) = saves.value_from_slice::<Hero>(save) {
        let cut = Cut::of(&loaded);
        drop((hero, cut));
    }
}

/// Cuts the cycles of a loaded graph, which are the program's to cut.
struct Cut(Vec<Rc<RefCell<Hero>>>, Vec<Rc<RefCell<Monster>>>);

impl Cut {
    fn of(loaded: &Loaded) -> Self {
        Self(loaded.iter().collect(), loaded.iter().collect())
    }
}

impl Drop for Cut {
    fn drop(&mut self) {
        self.0.iter().for_each(|hero| {
            *hero.borrow_mut() = Hero::persist_empty(&persist::codec::Prototypes::bare()).unwrap()
        });
        self.1.iter().for_each(|monster| {
            *monster.borrow_mut() = Monster::persist_empty(&persist::codec::Prototypes::bare()).unwrap()
        });
    }
}
