//! Version 5, the newest.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::{Rc, Weak};

use persist::{Handle, Persist, Record, SaveManager, Unknown, Value};

use super::{Gone, Item, Places, Shared, Version, address, links, place, shared};

#[derive(Persist, Debug)]
pub struct World {
    author: Option<String>,
    rumors: BTreeSet<String>,
    name: String,
    day: u64,
    seed: u32,
    difficulty: Difficulty,
    start: Point,
    #[persist(default = 12)]
    clock: u8,
    weather: Vec<Weather>,
    heroes: Vec<Shared<Hero>>,
    monsters: Vec<Shared<Creature>>,
    treasure: Vec<Rc<RefCell<dyn Item>>>,
    marks: BTreeMap<String, Handle<Places>>,
    /// Minutes; once a text of hours and minutes.
    #[persist(convert = minutes)]
    played: u32,
    quests: Vec<Quest>,
}

fn minutes(text: String) -> Result<u32, String> {
    let (hours, minutes) = text.split_once(':').ok_or_else(|| format!("no colon in {text}"))?;
    let number = |text: &str| text.parse::<u32>().map_err(|error| error.to_string());
    Ok(60 * number(hours)? + number(minutes)?)
}

/// Once a text.
#[derive(Persist, Debug)]
enum Difficulty {
    Easy,
    #[persist(alias = "Hard")]
    Cruel,
}

#[derive(Persist, Debug)]
enum Weather {
    #[persist(alias = "Rainy")]
    Rain(u16),
    #[persist(alias = "Sunny")]
    Sun,
    #[persist(other)]
    Strange,
    Snow {
        depth: u8,
    },
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
    Find {
        #[persist(alias = "0")]
        what: String,
    },
    #[persist(alias = "Slay")]
    Hunt { count: u16, whom: Weak<RefCell<Creature>> },
    /// Escorts are to come back.
    #[persist(other)]
    Other(Unknown),
}

#[derive(Persist, Debug)]
#[persist(class = "game.Hero", alias = "Hero")]
#[persist(version = 3, migrate(1 = Hero::to_2, 2 = Hero::to_3))]
struct Hero {
    #[persist(unknown)]
    rest: Unknown,
    guild: Guild,
    banner: Rc<Banner>,
    rivals: Vec<Weak<RefCell<Hero>>>,
    pet: Option<Shared<Creature>>,
    relic: Option<Rc<RefCell<dyn Item>>>,
    bag: Vec<Box<dyn Item>>,
    skills: BTreeMap<String, u16>,
    calling: String,
    home: Option<String>,
    #[persist(id = 1)]
    coins: u64,
    at: Spot,
    vitals: Vitals,
    name: String,
}

#[derive(Persist, Debug)]
struct Vitals {
    hp: u16,
    max_hp: u16,
    mana: u8,
}

#[derive(Persist, Debug)]
struct Spot {
    x: f32,
    y: f32,
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

    /// `x` and `y` are in a struct of their own, and `mana` is with the vitals.
    fn to_3(hero: &mut Record, from: u32) -> Result<(), String> {
        let mut at = Record::new("Spot");
        for name in ["x", "y"] {
            at.set(name, hero.take(name).ok_or_else(|| format!("no {name} in version {from}"))?);
        }
        hero.set("at", at);
        let mana = hero.take("mana").unwrap_or(Value::U8(10));
        let vitals = hero.get_mut("vitals").and_then(Value::as_record_mut);
        vitals.ok_or("no vitals")?.set("mana", mana);
        Ok(())
    }
}

#[derive(Persist, Debug)]
struct Banner {
    motto: String,
    colour: Colour,
}

/// Once a tuple.
#[derive(Persist, Debug)]
struct Colour {
    #[persist(alias = "0")]
    red: u8,
    #[persist(alias = "1")]
    green: u8,
    #[persist(alias = "2")]
    blue: u8,
}

#[derive(Persist, Debug, Clone)]
#[persist(version = 2, migrate(1 = Guild::migrate))]
struct Guild {
    name: String,
    history: History,
}

#[derive(Persist, Debug, Clone)]
struct History {
    founded: u32,
    moved: bool,
}

impl Guild {
    /// Guilds that have a history are of version 2.
    fn migrate(guild: &mut Record, _: u32) -> Result<(), String> {
        let mut history = Record::new("History");
        history.set("founded", guild.take("founded").ok_or("not founded")?);
        history.set("moved", false);
        guild.set("history", history);
        Ok(())
    }
}

#[derive(Persist, Debug)]
#[persist(alias = "Monster")]
struct Creature {
    name: String,
    #[persist(alias = "health")]
    life: i32,
    speed: f64,
    loot: Vec<String>,
    target: Weak<RefCell<Hero>>,
    friend: Weak<RefCell<Creature>>,
}

#[derive(Persist, Debug)]
#[persist(class = "items.Sword", alias = "Sword")]
struct Sword {
    name: String,
    damage: u8,
    maker: Weak<RefCell<Hero>>,
}

impl Item for Sword {
    fn of(&self) -> Option<*const ()> {
        address(&self.maker)
    }
}

#[derive(Persist, Debug)]
struct Potion {
    strength: Strength,
    #[persist(default = 1)]
    doses: u8,
}

#[derive(Persist, Debug)]
struct Strength(u8);

impl Item for Potion {}

impl Quest {
    /// The hero and the monster that it is about.
    fn about(&self) -> (Option<*const ()>, Option<*const ()>) {
        match self {
            Self::Find { .. } | Self::Other(_) => (None, None),
            Self::Hunt { whom, .. } => (None, address(whom)),
        }
    }
}

impl Version for World {
    fn world(since: u32) -> Shared<Self> {
        let history = History { founded: 1203, moved: since >= 4 };
        let guild = Guild { name: "Lamplighters".into(), history };
        let monster = |name: &str, life, loot: &str| {
            let (target, friend) = (Weak::new(), Weak::new());
            shared(Creature {
                name: name.into(),
                life,
                speed: 1.25,
                loot: vec![loot.into()],
                target,
                friend,
            })
        };
        let (wolf, bear) = (monster("wolf", 40, "fur"), monster("bear", -3, "claw"));
        let hero = |name: &str, hp, mana, calling: &str, colour| {
            shared(Hero {
                name: name.into(),
                vitals: Vitals { hp, max_hp: 100, mana: if since < 2 { 10 } else { mana } },
                at: Spot { x: 1.5, y: -2.0 },
                coins: 4_000_000_000,
                home: Some("Hill".into()),
                calling: calling.into(),
                skills: [("climb".into(), 3), ("swim".into(), 255)].into(),
                bag: Vec::new(),
                relic: None,
                pet: None,
                rivals: Vec::new(),
                banner: Rc::new(Banner { colour, motto: format!("for {name}") }),
                guild: guild.clone(),
                rest: Unknown::default(),
            })
        };
        let ada = hero("Ada", 64, 30, "Mage", Colour { red: 1, green: 2, blue: 255 });
        let bob = hero("Bob", 9, 5, "Knight", Colour { red: 0, green: 80, blue: 0 });
        let sword = |name: &str, damage, maker: &Shared<Hero>| Sword {
            name: name.into(),
            damage,
            maker: Rc::downgrade(maker),
        };
        let relic: Rc<RefCell<dyn Item>> = shared(sword("Sting", 200, &bob));
        {
            let mut ada = ada.borrow_mut();
            ada.bag.push(Box::new(sword("rapier", 7, &bob)));
            if since < 3 {
                ada.bag.push(Box::new(Gone("Scroll".into())));
            }
            ada.bag.push(Box::new(Potion {
                strength: Strength(5),
                doses: if since < 2 { 1 } else { 3 },
            }));
            ada.relic = Some(relic.clone());
            ada.pet = Some(wolf.clone());
            ada.rivals = vec![Rc::downgrade(&bob), Weak::new()];
        }
        if since >= 3 {
            let banner = ada.borrow().banner.clone();
            bob.borrow_mut().banner = banner;
        }
        bob.borrow_mut().rivals = vec![Rc::downgrade(&ada)];
        bob.borrow_mut().relic = Some(relic.clone());
        wolf.borrow_mut().target = Rc::downgrade(&bob);
        wolf.borrow_mut().friend = Rc::downgrade(&bear);
        bear.borrow_mut().friend = Rc::downgrade(&wolf);
        let mut quests = vec![
            Quest::Find { what: "the moon".into() },
            Quest::Hunt { count: 2, whom: Rc::downgrade(&bear) },
        ];
        let mut weather = vec![Weather::Sun, Weather::Rain(200), Weather::Strange];
        if since < 4 {
            quests.insert(1, Quest::Other(Unknown::default()));
        } else {
            weather.push(Weather::Snow { depth: 3 });
        }
        shared(Self {
            author: (since >= 5).then(|| "a bard".into()),
            name: "Isle".into(),
            day: 65_535,
            seed: 4_294_967_295,
            difficulty: Difficulty::Cruel,
            start: Point { x: -3, y: 12 },
            clock: if since < 2 { 12 } else { 9 },
            weather,
            heroes: vec![ada, bob],
            monsters: vec![wolf, bear],
            treasure: vec![relic, shared(Potion { strength: Strength(200), doses: 1 })],
            marks: [("cave".into(), Handle::new(17)), ("nowhere".into(), Handle::null())].into(),
            played: 205,
            quests,
            rumors: ["the king sleeps".into(), "a wolf speaks".into()].into(),
        })
    }

    fn manager() -> SaveManager {
        let saves = SaveManager::new();
        saves.register::<Self>().unwrap();
        saves.register_as::<Sword, dyn Item>().unwrap();
        saves.register_as::<Potion, dyn Item>().unwrap();
        saves
    }

    fn describe(&self) -> String {
        let mut lines = links!(self);
        let banner = |hero: usize| Rc::as_ptr(&self.heroes[hero].borrow().banner);
        lines.push(format!("one banner: {}", banner(0) == banner(1)));
        lines.join("\n")
    }
}
