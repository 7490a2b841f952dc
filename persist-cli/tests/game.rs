//! The programs whose saves the tests look into.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use persist::{Persist, SaveManager, World};

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

/// A save of two heroes with 150 items each, in four blocks and two generations.
pub(crate) fn quest(path: &std::path::Path) -> persist::Result<()> {
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
    let mut saves = SaveManager::new();
    saves.set_application("Quest", "1.4.0")?;
    saves.add(&ada)?;
    saves.add(&bob)?;
    saves.save(path)?;
    ada.borrow_mut().level = 8;
    ada.borrow_mut().gold = 90;
    saves.save(path)?;
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

/// What a town knows beside its objects.
#[derive(Persist)]
struct Score {
    points: u32,
    digest: Vec<u8>,
    odd: f64,
}

/// A world in a save of one value: a house with a door in it, a cart, an object without a name.
pub(crate) fn town() -> persist::Result<Vec<u8>> {
    let mut saves = SaveManager::new();
    saves.set_application("Town", "0.3")?;
    saves.value_to_vec(&world()?)
}

/// A value with a world in a field.
#[derive(Persist)]
struct Game {
    day: u32,
    level: World,
}

/// A world that lies in a value.
pub(crate) fn game() -> persist::Result<Vec<u8>> {
    let mut saves = SaveManager::new();
    saves.register_component::<Transform>()?;
    saves.register_component::<Bag>()?;
    saves.register_component::<Mood>()?;
    saves.registry_mut().register_resource::<Score>()?;
    saves.value_to_vec(&Game { day: 4, level: world()? })
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

/// A save that went through a game without the mod that wrote it: what the game did not know is kept.
pub(crate) fn kept() -> persist::Result<Vec<u8>> {
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
    let mut saves = SaveManager::new();
    saves.add(&Rc::new(RefCell::new(hero)))?;
    saves.add(&Rc::new(RefCell::new(modded::Familiar { power: 2 })))?;
    let save = saves.to_vec()?;
    let mut saves = SaveManager::new();
    saves.register::<Hero>()?;
    let loaded = saves.from_slice(&save)?;
    saves.adopt(loaded);
    saves.to_vec()
}

/// What the heroes have when the game loads a save.
pub(crate) fn gold(path: &std::path::Path) -> persist::Result<Vec<u32>> {
    let mut saves = SaveManager::new();
    saves.register::<Hero>()?;
    saves.register::<Item>()?;
    let loaded = saves.load(path)?;
    assert!(loaded.report().is_clean(), "{}", loaded.report());
    Ok(loaded.iter::<Hero>().map(|hero| hero.borrow().gold).collect())
}
