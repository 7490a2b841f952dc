//! Version 2: the first fields move.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use persist::{Handle, Persist, Record, SaveManager, Value};

use super::{Item, Places, Shared, Version, address, links, place, shared};

#[derive(Persist, Debug)]
pub struct World {
    name: String,
    day: u32,
    seed: u64,
    difficulty: String,
    start: Point,
    #[persist(default = 12)]
    clock: u8,
    weather: Vec<Weather>,
    heroes: Vec<Shared<Hero>>,
    monsters: Vec<Shared<Creature>>,
    treasure: Vec<Rc<RefCell<dyn Item>>>,
    marks: BTreeMap<String, Handle<Places>>,
    played: String,
    quests: Vec<Quest>,
    rumors: Vec<String>,
}

#[derive(Persist, Debug)]
enum Weather {
    #[persist(alias = "Rainy")]
    Rain(u16),
    #[persist(alias = "Sunny")]
    Sun,
    #[persist(other)]
    Strange,
}

/// Once a tuple.
#[derive(Persist, Debug)]
struct Point {
    #[persist(alias = "0")]
    x: i32,
    #[persist(alias = "1")]
    y: i32,
}

#[derive(Persist, Debug)]
enum Quest {
    Find(String),
    Escort { who: Weak<RefCell<Hero>>, fee: u32 },
    Slay { whom: Weak<RefCell<Creature>>, count: u8 },
}

#[derive(Persist, Debug)]
#[persist(version = 2, migrate(1 = Hero::to_2))]
struct Hero {
    name: String,
    vitals: Vitals,
    #[persist(default = 10)]
    mana: u8,
    x: f32,
    y: f32,
    mood: String,
    #[persist(id = 1)]
    gold: u64,
    home: String,
    calling: Calling,
    skills: BTreeMap<String, u8>,
    bag: Vec<Box<dyn Item>>,
    relic: Option<Rc<RefCell<dyn Item>>>,
    pet: Option<Shared<Creature>>,
    rivals: Vec<Weak<RefCell<Hero>>>,
    banner: Banner,
    guild: Shared<Guild>,
}

#[derive(Persist, Debug)]
struct Vitals {
    hp: u16,
    max_hp: u16,
}

impl Hero {
    /// `hp` and `max_hp` are in a struct of their own.
    fn to_2(hero: &mut Record, _: u32) {
        let mut vitals = Record::new("Vitals");
        for name in ["hp", "max_hp"] {
            vitals.set(name, hero.take(name).unwrap_or(Value::U16(1)));
        }
        hero.set("vitals", vitals);
    }
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
#[persist(alias = "Monster")]
struct Creature {
    name: String,
    #[persist(alias = "health")]
    life: i32,
    speed: f32,
    loot: String,
    target: Weak<RefCell<Hero>>,
    friend: Weak<RefCell<Creature>>,
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
    #[persist(default = 1)]
    doses: u8,
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
    fn world(since: u32) -> Shared<Self> {
        let new = since >= 2;
        let guild = shared(Guild { name: "Lamplighters".into(), founded: 1203 });
        let monster = |name: &str, life, loot: &str| {
            let (target, friend) = (Weak::new(), Weak::new());
            shared(Creature {
                name: name.into(),
                life,
                speed: 1.25,
                loot: loot.into(),
                target,
                friend,
            })
        };
        let (wolf, bear) = (monster("wolf", 40, "fur"), monster("bear", -3, "claw"));
        let hero = |name: &str, hp, mana, calling, colour| {
            shared(Hero {
                name: name.into(),
                vitals: Vitals { hp, max_hp: 100 },
                mana: if new { mana } else { 10 },
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
        let ada = hero("Ada", 64, 30, Calling::Mage, (1, 2, 255));
        let bob = hero("Bob", 9, 5, Calling::Knight, (0, 80, 0));
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
            ada.bag.push(Box::new(Potion { strength: 5, doses: if new { 3 } else { 1 } }));
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
            difficulty: "Hard".into(),
            start: Point { x: -3, y: 12 },
            clock: if new { 9 } else { 12 },
            weather: vec![Weather::Sun, Weather::Rain(200), Weather::Strange],
            heroes: vec![ada, bob],
            monsters: vec![wolf, bear],
            treasure: vec![relic, shared(Potion { strength: 200, doses: 1 })],
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
