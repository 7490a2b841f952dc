//! The programs whose saves the tests look into.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use persist::save::{Header, SlotInfo};
use persist::storage::{Memory, NewFile, Storage, StoredFile};
use persist::{Persist, SaveManager, Saves, World};

/// A game whose save has several blocks.
#[derive(Persist)]
#[persist(class = "quest.Hero")]
struct Hero {
    name: String,
    level: u32,
    gold: u32,
    items: Vec<Rc<RefCell<Item>>>,
    rival: Weak<RefCell<Hero>>,
}

#[derive(Persist)]
#[persist(class = "quest.Item")]
struct Item {
    name: String,
    worth: f32,
    lore: String,
}

/// A save of two heroes with 150 items each, in four blocks and two generations. It has no time, so that it is the same
/// in each run.
pub(crate) fn quest(path: &Path) -> persist::Result<()> {
    let items = |of: &str| {
        let item = |number: u16| {
            let (name, lore) = (format!("{of} {number}"), lore(u64::from(number)));
            Rc::new(RefCell::new(Item { name, worth: f32::from(number) / 2.0, lore }))
        };
        (0..150).map(item).collect::<Vec<_>>()
    };
    let hero = |name: &str, level, items| {
        let (name, rival) = (String::from(name), Weak::new());
        Rc::new(RefCell::new(Hero { name, level, gold: 250, items, rival }))
    };
    let (ada, bob) = (hero("Ada", 7, items("sword")), hero("Bob", 3, items("scroll")));
    ada.borrow_mut().rival = Rc::downgrade(&bob);
    bob.borrow_mut().rival = Rc::downgrade(&ada);
    let saves = Saves::new().application("Quest", "1.4.0")?;
    let mut manager = saves.manager();
    manager.add(&ada)?;
    manager.add(&bob)?;
    let first = saves.to_vec_after(&manager, None)?;
    ada.borrow_mut().level = 8;
    ada.borrow_mut().gold = 90;
    let second = saves.to_vec_after(&manager, Some(&Header::read(&first)?))?;
    std::fs::write(path.with_extension("sav.bak"), first).expect("the folder can be written");
    std::fs::write(path, second).expect("the folder can be written");
    Ok(())
}

/// Some 600 bytes that do not compress to nothing.
fn lore(seed: u64) -> String {
    let words = ["once", "a", "dragon", "slept", "under", "the", "old", "gate", "of", "Tarn"];
    let mut state = seed + 1;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        words[usize::try_from(state >> 33).unwrap_or(0) % words.len()]
    };
    (0..120).map(|_| next()).collect::<Vec<_>>().join(" ")
}

#[derive(Persist)]
#[persist(component)]
struct Transform {
    x: f32,
    y: f32,
}

#[derive(Persist)]
#[persist(component, class = "town.Bag")]
struct Bag {
    items: Vec<Stack>,
    prices: BTreeMap<String, u32>,
    by_day: BTreeMap<i16, Option<u64>>,
}

#[derive(Persist)]
struct Stack {
    of: String,
    count: u16,
}

#[derive(Persist)]
#[persist(component)]
enum Mood {
    Calm,
    Angry { at: persist::ObjectId, since: u64 },
}

/// A component that refers to an object of its world.
#[cfg(feature = "sqlite")]
#[derive(Persist)]
#[persist(component)]
pub(crate) struct Leads {
    pub(crate) to: persist::ObjectId,
}

/// A resource of the town.
#[derive(Persist)]
struct Score {
    points: u32,
    digest: Vec<u8>,
    odd: f64,
}

/// A world in a save of one value: a house with a door in it, a cart, an object without a name.
pub(crate) fn town() -> persist::Result<Vec<u8>> {
    let saves = Saves::new().application("Town", "0.3")?;
    saves.to_vec(&world()?)
}

/// A time for saves whose bytes are the same in each run.
struct Noon(Memory);

impl Storage for Noon {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.0.open(path)
    }
    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        self.0.create(path, like)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.link(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.0.sync_folder(folder)
    }
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.0.list(folder)
    }
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send>>> {
        self.0.lock(path)
    }
    fn now(&self) -> Option<SystemTime> {
        None
    }
}

/// The value that the farm's list of saves shows besides title and times.
#[derive(Persist)]
#[persist(class = "farm.Shown")]
struct Shown {
    difficulty: String,
    deaths: u32,
}

#[derive(Persist)]
#[persist(class = "farm.Farm")]
pub(crate) struct Farm {
    pub(crate) day: u32,
    pub(crate) coins: u32,
}

/// A save with a title, times and a thumbnail, saved some seconds after the noon of a day in 2026.
pub(crate) fn farm(farm: &Farm, seconds: u64, thumbnail: &[u8]) -> persist::Result<Vec<u8>> {
    let mut info = SlotInfo::new("The Mill").play_time(Duration::from_secs(5_430));
    info.saved_at = Some(UNIX_EPOCH + Duration::from_secs(1_795_867_200 + seconds));
    let info = info.thumbnail(thumbnail).value(&Shown { difficulty: "hard".into(), deaths: 3 })?;
    let files = Memory::default();
    let saves = Saves::new().storage(Noon(files.clone()));
    saves.file("farm.sav").info(info).save(farm)?;
    let mut save = Vec::new();
    let file = files.open(Path::new("farm.sav")).and_then(|mut file| file.read_to_end(&mut save));
    file.expect("the save is in memory");
    Ok(save)
}

/// A value with a world in a field.
#[derive(Persist)]
pub(crate) struct Game {
    day: u32,
    level: World,
}

/// A world that lies in a value.
pub(crate) fn game() -> persist::Result<Vec<u8>> {
    let saves = Saves::new();
    saves.register_component::<Transform>()?;
    saves.register_component::<Bag>()?;
    saves.register_component::<Mood>()?;
    saves.register_resource::<Score>()?;
    saves.to_vec(&Game { day: 4, level: world()? })
}

fn world() -> persist::Result<World> {
    let mut world = World::new();
    let house = world.spawn_with("House", (Transform { x: 1.0, y: 2.0 },))?;
    let door = world.spawn_in(house, "Door")?;
    world.attach(door, Transform { x: 1.5, y: 2.0 })?;
    world.attach(door, Mood::Angry { at: house, since: 1 << 60 })?;
    let cart = world.spawn_with("Cart \"one\"", (Mood::Calm,))?;
    world.attach(
        cart,
        Bag {
            items: vec![
                Stack { of: "apples".into(), count: 12 },
                Stack { of: "nails".into(), count: 400 },
            ],
            prices: [("apples".into(), 2), ("nails".into(), 1)].into(),
            by_day: [(-1, None), (3, Some(9))].into(),
        },
    )?;
    let nameless = world.spawn("");
    world.attach(nameless, Transform { x: -1.0, y: 0.1 })?;
    world.insert_resource(Score { points: 5, digest: vec![1, 2, 255], odd: f64::NAN })?;
    Ok(world)
}

/// A world of five objects. Some are children of the first, in this order, some are removed, the others are at the top.
pub(crate) fn family(children: &[&str], removed: &[&str]) -> persist::Result<Vec<u8>> {
    let mut world = World::new();
    let ids = ["House", "Door", "Lamp", "Cart", "Bell"].map(|name| world.spawn(name));
    for name in children {
        let child = world.find(name).expect("one of the five");
        world.set_parent(child, Some(ids[0]))?;
    }
    for name in removed {
        let object = world.find(name).expect("one of the five");
        world.remove(object);
    }
    persist::to_vec(&world)
}

/// A world that is large enough for pages.
pub(crate) fn city() -> persist::Result<Vec<u8>> {
    saves_of_city()?.to_vec(&world_of_city(4_000)?)
}

/// A city in three pages.
pub(crate) fn large_city() -> persist::Result<Vec<u8>> {
    saves_of_city()?.to_vec(&world_of_city(5_000)?)
}

/// The large city after a day in which objects were added, removed, renamed and moved.
pub(crate) fn city_after_a_day() -> persist::Result<Vec<u8>> {
    let mut world = world_of_city(5_000)?;
    let [street, house] = ["Street", "House"].map(|name| world.find(name).expect("it is there"));
    for at in [7, 8, 9, 2_500, 3_999] {
        let person = world.find(&format!("Person {at}")).expect("it is there");
        world.remove(person);
    }
    for at in 0..20 {
        world.spawn_in(house, &format!("Guest {at}"))?;
    }
    let moved = world.find("Person 1200").expect("it is there");
    world.set_parent(moved, Some(house))?;
    world.rename(house, "Inn")?;
    let first = world.find("Person 0").expect("it is there");
    world.set_parent_at(first, Some(street), 17)?;
    for at in [100, 3_000] {
        let person = world.find(&format!("Person {at}")).expect("it is there");
        world.get_mut::<Transform>(person).expect("it has one").y = 9.0;
        world.attach(person, Mood::Angry { at: street, since: 5 })?;
    }
    saves_of_city()?.to_vec(&world)
}

/// The large city in a field of a value.
pub(crate) fn game_of_city() -> persist::Result<Vec<u8>> {
    saves_of_city()?.to_vec(&Game { day: 4, level: world_of_city(5_000)? })
}

pub(crate) fn saves_of_city() -> persist::Result<Saves> {
    let saves = Saves::new();
    saves.register_component::<Transform>()?;
    saves.register_component::<Mood>()?;
    saves.register_resource::<Score>()?;
    saves.register_component::<Bag>()?;
    Ok(saves)
}

fn world_of_city(people: u16) -> persist::Result<World> {
    let mut world = world()?;
    let street = world.spawn("Street");
    for at in 0..people {
        let person = world.spawn_in(street, &format!("Person {at}"))?;
        world.attach(person, Transform { x: f32::from(at), y: 0.5 })?;
        if at % 3 == 0 {
            world.attach(person, Mood::Calm)?;
        }
    }
    Ok(world)
}

/// A save that went through a game without the mod that wrote it. The game has kept the unknown data.
pub(crate) fn loaded_without_mod() -> persist::Result<Vec<u8>> {
    mod modded {
        #[derive(persist::Persist)]
        #[persist(class = "quest.Hero")]
        pub(super) struct Hero {
            pub(super) name: String,
            pub(super) level: u32,
            pub(super) gold: u32,
            pub(super) items: Vec<std::rc::Rc<std::cell::RefCell<super::Item>>>,
            pub(super) rival: std::rc::Weak<std::cell::RefCell<Hero>>,
            pub(super) mana: u32,
        }

        #[derive(persist::Persist)]
        #[persist(class = "mod.Familiar")]
        pub(super) struct Familiar {
            pub(super) power: u32,
        }
    }
    let (name, items, rival) = (String::from("Ada"), Vec::new(), Weak::new());
    let hero = modded::Hero { name, level: 7, gold: 3, items, rival, mana: 9 };
    let mut manager = SaveManager::new();
    manager.add(&Rc::new(RefCell::new(hero)))?;
    manager.add(&Rc::new(RefCell::new(modded::Familiar { power: 2 })))?;
    let save = manager.to_vec()?;
    let manager = SaveManager::new();
    manager.register::<Hero>()?;
    manager.from_slice(&save)?.to_vec()
}

/// Returns the gold of each hero after the game has loaded a save.
pub(crate) fn gold(path: &Path) -> persist::Result<Vec<u32>> {
    let manager = SaveManager::new();
    manager.register::<Hero>()?;
    manager.register::<Item>()?;
    let loaded = manager.load(path)?;
    assert!(loaded.report().is_clean(), "{}", loaded.report());
    Ok(loaded.iter::<Hero>().map(|hero| hero.borrow().gold).collect())
}

/// A world of an engine, in which three have one name, and others have names that look like theirs.
pub(crate) fn goblins() -> persist::Result<Vec<u8>> {
    let mut world = World::new();
    for (x, name) in
        (0_u8..).zip(["Goblin", "Goblin", "Goblin", "Goblin1", "Goblin#1", "a/b", "a/b"])
    {
        let goblin = world.spawn_with("", (Transform { x: x.into(), y: 0.0 },))?;
        world.share_name(goblin, name)?;
    }
    Saves::new().to_vec(&world)
}

#[derive(Persist, PartialEq, Eq, PartialOrd, Ord)]
enum Coin {
    Copper,
    Silver,
    Gold,
}

#[derive(Persist)]
struct Purse {
    coins: u32,
    purse: BTreeMap<Coin, u32>,
    by_name: BTreeMap<String, u32>,
    favourite: Coin,
    spare: Option<u8>,
    is_open: bool,
}

/// A value with maps whose keys are variants and texts.
pub(crate) fn purse(gold: u32) -> persist::Result<Vec<u8>> {
    persist::to_vec(&Purse {
        coins: 7,
        purse: [(Coin::Copper, 12), (Coin::Silver, 1), (Coin::Gold, gold)].into(),
        by_name: [("Ada".into(), 9), ("Bob".into(), gold)].into(),
        favourite: Coin::Gold,
        spare: None,
        is_open: true,
    })
}
