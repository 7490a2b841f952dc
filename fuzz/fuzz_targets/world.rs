//! Types of every sort, to load arbitrary bytes as.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::{Rc, Weak};

use persist::save::LoadPolicy;
use persist::{LoadOptions, Loaded, Persist, SaveManager, Saves};

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

/// Loads the bytes; what loads must save, load and save again to equal bytes. No input may leak memory.
#[allow(dead_code, reason = "not every target is lenient")]
pub fn load(save: &[u8]) {
    load_by(LoadPolicy::Lenient, save);
}

/// Like [`load`], under a policy.
#[allow(dead_code, reason = "not every target has one")]
pub fn load_by(policy: LoadPolicy, save: &[u8]) {
    let saves = Saves::new().load_options(LoadOptions::new().policy(policy));
    saves.register::<Hero>().expect("the classes are sound");
    if let Ok(loaded) = saves.from_slice::<SaveManager>(save) {
        let cut = Cut::of(&loaded);
        if !loaded.is_empty() {
            let first = loaded.to_vec().expect("what loads can be saved");
            let again = saves.from_slice::<SaveManager>(&first).expect("what was saved loads");
            let cut_again = Cut::of(&again);
            assert_eq!(again.to_vec().expect("it can be saved again"), first);
            drop(cut_again);
        }
        drop(cut);
    }
    if let Ok(hero) = saves.from_slice::<Hero>(save) {
        let cut = Cut::reached_from(&hero);
        drop((hero, cut));
    }
}

/// Cuts the cycles of a loaded graph, which are the program's to cut.
struct Cut(Vec<Rc<RefCell<Hero>>>, Vec<Rc<RefCell<Monster>>>);

impl Cut {
    fn of(loaded: &Loaded<SaveManager>) -> Self {
        Self(loaded.iter().collect(), loaded.iter().collect())
    }
}

impl Cut {
    /// The objects that a hero leads to, also by weak pointers, since a cycle may lead through one.
    fn reached_from(hero: &Hero) -> Self {
        let mut cut = Self(Vec::new(), Vec::new());
        cut.take_of_hero(hero);
        let (mut heroes, mut monsters) = (0, 0);
        while heroes < cut.0.len() || monsters < cut.1.len() {
            if let Some(hero) = cut.0.get(heroes).cloned() {
                heroes += 1;
                cut.take_of_hero(&hero.borrow());
            } else {
                let monster = cut.1[monsters].clone();
                monsters += 1;
                monster
                    .borrow()
                    .prey
                    .values()
                    .flatten()
                    .for_each(|hero| cut.add_hero(hero.clone()));
            }
        }
        cut
    }

    fn take_of_hero(&mut self, hero: &Hero) {
        hero.friend.iter().for_each(|friend| self.add_hero(friend.clone()));
        hero.foes.values().cloned().chain(hero.home.upgrade()).for_each(|monster| {
            if !self.1.iter().any(|known| Rc::ptr_eq(known, &monster)) {
                self.1.push(monster);
            }
        });
        let mut moods = vec![&hero.mood];
        while let Some(mood) = moods.pop() {
            match mood {
                Mood::Calm => {}
                Mood::Angry { at, .. } => at.upgrade().into_iter().for_each(|at| self.add_hero(at)),
                Mood::Busy(inner, _) => moods.extend(inner),
            }
        }
    }

    fn add_hero(&mut self, hero: Rc<RefCell<Hero>>) {
        if !self.0.iter().any(|known| Rc::ptr_eq(known, &hero)) {
            self.0.push(hero);
        }
    }
}

impl Drop for Cut {
    fn drop(&mut self) {
        self.0.iter().for_each(|hero| {
            *hero.borrow_mut() = Hero::persist_empty(&persist::codec::Prototypes::bare()).unwrap()
        });
        self.1.iter().for_each(|monster| {
            *monster.borrow_mut() =
                Monster::persist_empty(&persist::codec::Prototypes::bare()).unwrap()
        });
    }
}
