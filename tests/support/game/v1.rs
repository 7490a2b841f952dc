//! Version 1 of the game.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use persist::{Handle, Persist, SaveManager};

use super::{Item, Places, Shared, Version, address, links, place, shared};

#[derive(Persist, Debug)]
pub struct World {
    name: String,
    day: u16,
    seed: u64,
    music: String,
    difficulty: String,
    start: (i16, i16),
    weather: Vec<Weather>,
    heroes: Vec<Shared<Hero>>,
    monsters: Vec<Shared<Monster>>,
    treasure: Vec<Rc<RefCell<dyn Item>>>,
    marks: BTreeMap<String, Handle<Places>>,
    played: String,
    quests: Vec<Quest>,
    rumors: Vec<String>,
}

#[derive(Persist, Debug)]
enum Weather {
    Sunny,
    Fog { density: f32 },
    Rainy(u8),
}

#[derive(Persist, Debug)]
enum Quest {
    Find(String),
    Escort { who: Weak<RefCell<Hero>>, fee: u32 },
    Slay { whom: Weak<RefCell<Monster>>, count: u8 },
}

#[derive(Persist, Debug)]
struct Hero {
    name: String,
    hp: u16,
    max_hp: u16,
    x: f32,
    y: f32,
    mood: String,
    #[persist(id = 1)]
    gold: u32,
    home: String,
    calling: Calling,
    skills: BTreeMap<String, u8>,
    bag: Vec<Box<dyn Item>>,
    relic: Option<Rc<RefCell<dyn Item>>>,
    pet: Option<Shared<Monster>>,
    rivals: Vec<Weak<RefCell<Hero>>>,
    banner: Banner,
    guild: Shared<Guild>,
}

#[derive(Persist, Debug)]
enum Calling {
    Knight,
    Mage,
}

#[derive(Persist, Debug)]
struct Banner {
    colour: (u8, u8, u8),
    motto: String,
}

#[derive(Persist, Debug)]
struct Guild {
    name: String,
    founded: u32,
}

#[derive(Persist, Debug)]
struct Monster {
    name: String,
    health: i16,
    speed: f32,
    loot: String,
    target: Weak<RefCell<Hero>>,
    friend: Weak<RefCell<Monster>>,
}

#[derive(Persist, Debug)]
struct Sword {
    name: String,
    damage: u16,
    maker: Weak<RefCell<Hero>>,
}

impl Item for Sword {
    fn of(&self) -> Option<*const ()> {
        address(&self.maker)
    }
}

#[derive(Persist, Debug)]
struct Potion {
    strength: u8,
}

impl Item for Potion {}

#[derive(Persist, Debug)]
struct Scroll {
    text: String,
    author: Weak<RefCell<Hero>>,
}

impl Item for Scroll {
    fn of(&self) -> Option<*const ()> {
        address(&self.author)
    }
}

impl Quest {
    /// The hero and the monster that it is about.
    fn about(&self) -> (Option<*const ()>, Option<*const ()>) {
        match self {
            Self::Find(_) => (None, None),
            Self::Escort { who, .. } => (address(who), None),
            Self::Slay { whom, .. } => (None, address(whom)),
        }
    }
}

impl Version for World {
    fn world(_: u32) -> Shared<Self> {
        let guild = shared(Guild { name: "Lamplighters".into(), founded: 1203 });
        let monster = |name: &str, health, loot: &str| {
            let (target, friend) = (Weak::new(), Weak::new());
            shared(Monster {
                name: name.into(),
                health,
                speed: 1.25,
                loot: loot.into(),
                target,
                friend,
            })
        };
        let (wolf, bear) = (monster("wolf", 40, "fur"), monster("bear", -3, "claw"));
        let hero = |name: &str, hp, calling, colour| {
            shared(Hero {
                name: name.into(),
                hp,
                max_hp: 100,
                x: 1.5,
                y: -2.0,
                mood: "brave".into(),
                gold: 4_000_000_000,
                home: "Hill".into(),
                calling,
                skills: [("climb".into(), 3), ("swim".into(), 255)].into(),
                bag: Vec::new(),
                relic: None,
                pet: None,
                rivals: Vec::new(),
                banner: Banner { colour, motto: format!("for {name}") },
                guild: guild.clone(),
            })
        };
        let ada = hero("Ada", 64, Calling::Mage, (1, 2, 255));
        let bob = hero("Bob", 9, Calling::Knight, (0, 80, 0));
        let sword = |name: &str, damage, maker: &Shared<Hero>| Sword {
            name: name.into(),
            damage,
            maker: Rc::downgrade(maker),
        };
        let relic: Rc<RefCell<dyn Item>> = shared(sword("Sting", 200, &bob));
        {
            let mut ada = ada.borrow_mut();
            ada.bag.push(Box::new(sword("rapier", 7, &bob)));
            ada.bag.push(Box::new(Scroll { text: "xyzzy".into(), author: Rc::downgrade(&bob) }));
            ada.bag.push(Box::new(Potion { strength: 5 }));
            ada.relic = Some(relic.clone());
            ada.pet = Some(wolf.clone());
            ada.rivals = vec![Rc::downgrade(&bob), Weak::new()];
        }
        bob.borrow_mut().rivals = vec![Rc::downgrade(&ada)];
        bob.borrow_mut().relic = Some(relic.clone());
        wolf.borrow_mut().target = Rc::downgrade(&bob);
        wolf.borrow_mut().friend = Rc::downgrade(&bear);
        bear.borrow_mut().friend = Rc::downgrade(&wolf);
        let quests = vec![
            Quest::Find("the moon".into()),
            Quest::Escort { who: Rc::downgrade(&bob), fee: 30 },
            Quest::Slay { whom: Rc::downgrade(&bear), count: 2 },
        ];
        shared(Self {
            name: "Isle".into(),
            day: 65_535,
            seed: 4_294_967_295,
            music: "harps".into(),
            difficulty: "Hard".into(),
            start: (-3, 12),
            weather: vec![Weather::Sunny, Weather::Rainy(200), Weather::Fog { density: 0.5 }],
            heroes: vec![ada, bob],
            monsters: vec![wolf, bear],
            treasure: vec![relic, shared(Potion { strength: 200 })],
            marks: [("cave".into(), Handle::new(17)), ("nowhere".into(), Handle::null())].into(),
            played: "3:25".into(),
            quests,
            rumors: vec!["the king sleeps".into(), "a wolf speaks".into()],
        })
    }

    fn manager() -> SaveManager {
        let saves = SaveManager::new();
        saves.register::<Self>().unwrap();
        saves.register_as::<Sword, dyn Item>().unwrap();
        saves.register_as::<Potion, dyn Item>().unwrap();
        saves.register_as::<Scroll, dyn Item>().unwrap();
        saves
    }

    fn describe(&self) -> String {
        let mut lines = links!(self);
        let guild = |hero: usize| Rc::as_ptr(&self.heroes[hero].borrow().guild);
        lines.push(format!("one guild: {}", guild(0) == guild(1)));
        lines.join("\n")
    }
}
