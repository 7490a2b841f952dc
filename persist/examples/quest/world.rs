//! The world of the game: every type that goes into a save.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::rc::{Rc, Weak};

use persist::Persist;

/// An object that others may point to.
pub type Shared<T> = Rc<RefCell<T>>;

pub fn shared<T>(value: T) -> Shared<T> {
    Rc::new(RefCell::new(value))
}

/// Everything. A save is made of this one object and what it leads to.
#[derive(Persist)]
#[persist(class = "quest.World", validate = World::check, after_load = World::count_gold)]
pub struct World {
    pub turn: u32,
    pub fate: Fate,
    pub heroes: Vec<Shared<Hero>>,
    pub monsters: Vec<Shared<Monster>>,
    pub guild: Shared<Guild>,
    /// Gold of all heroes together: worked out, never stored.
    #[persist(skip)]
    pub gold: u64,
}

/// The dice. They are part of the world, so that a loaded game continues
/// exactly as the saved one.
#[derive(Persist)]
#[persist(class = "quest.Fate")]
pub struct Fate {
    pub state: u64,
}

#[derive(Persist)]
#[persist(class = "quest.Hero")]
pub struct Hero {
    pub name: String,
    pub level: u32,
    pub health: i32,
    pub place: Place,
    pub task: Task,
    /// Taken from the guild's armoury, where others may take it too.
    pub weapon: Option<Shared<Item>>,
    pub bag: Vec<Shared<Item>>,
    pub purse: HashMap<Coin, u32>,
    /// The guild knows its members and they know the guild: a cycle.
    pub guild: Shared<Guild>,
    /// Someone to outdo. Rivals fall and are forgotten.
    pub rival: Weak<RefCell<Hero>>,
}

#[derive(Persist, Clone, Copy)]
#[persist(class = "quest.Place")]
pub struct Place {
    pub x: f32,
    pub y: f32,
}

#[derive(Persist, Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[persist(class = "quest.Coin")]
pub enum Coin {
    Copper,
    Silver,
    Gold,
}

#[derive(Persist)]
#[persist(class = "quest.Task")]
pub enum Task {
    Rest,
    Travel { to: Place, days: u32 },
    Hunt(Shared<Monster>),
}

#[derive(Persist)]
#[persist(class = "quest.Monster")]
pub struct Monster {
    pub name: String,
    pub kind: MonsterKind,
    pub health: i32,
    pub place: Place,
    /// The hero that it hunts, while that hero lives.
    pub prey: Weak<RefCell<Hero>>,
    /// The heroes that have struck it. It hates them even when they are dead.
    pub hates: Vec<Shared<Hero>>,
    pub hoard: Vec<Shared<Item>>,
}

#[derive(Persist)]
#[persist(class = "quest.MonsterKind")]
pub enum MonsterKind {
    Ghost,
    Wolf { pack: u8 },
    Dragon(Hide, f32),
}

#[derive(Persist)]
#[persist(class = "quest.Hide")]
pub struct Hide {
    pub scales: u32,
    pub colour: [u8; 3],
}

#[derive(Persist)]
#[persist(class = "quest.Item")]
pub struct Item {
    pub name: String,
    pub make: Make,
    /// Times that it has been used.
    pub worn: u32,
}

#[derive(Persist)]
#[persist(class = "quest.Make")]
pub enum Make {
    Sword { damage: i32 },
    Potion(i32),
    Map(Place, Option<String>),
}

#[derive(Persist)]
#[persist(class = "quest.Guild")]
pub struct Guild {
    pub name: String,
    pub members: Vec<Shared<Hero>>,
    pub armoury: Vec<Shared<Item>>,
    /// Wanted monsters by name, and the price on each.
    pub wanted: HashMap<String, (Shared<Monster>, u32)>,
    /// The last of the fallen, and the turn in which it happened.
    pub last_fallen: Option<(String, u32)>,
}

impl World {
    /// Refuses a world that these rules cannot have made. All pointers are in
    /// place when it is asked.
    fn check(&self) -> Result<(), String> {
        let (heroes, members) = (self.heroes.len(), self.guild.borrow().members.len());
        if heroes == members {
            return Ok(());
        }
        Err(format!("there are {heroes} heroes, but {members} members of the guild"))
    }

    pub fn count_gold(&mut self) {
        let gold = |hero: &Shared<Hero>| hero.borrow().purse.get(&Coin::Gold).map_or(0, |n| *n);
        self.gold = self.heroes.iter().map(|hero| u64::from(gold(hero))).sum();
    }
}

/// Pointers that go in circles are never freed by counting; someone has to cut.
impl Drop for World {
    fn drop(&mut self) {
        let mut guild = self.guild.borrow_mut();
        guild.members.clear();
        guild.wanted.clear();
        for hero in &self.heroes {
            hero.borrow_mut().task = Task::Rest;
        }
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guild = self.guild.borrow();
        write!(
            f,
            "turn {}: {} heroes with {} gold, {} monsters of whom {} are wanted; ",
            self.turn,
            self.heroes.len(),
            self.gold,
            self.monsters.len(),
            guild.wanted.len()
        )?;
        match &guild.last_fallen {
            Some((name, turn)) => write!(f, "{name} fell in turn {turn}"),
            None => write!(f, "nobody has fallen"),
        }
    }
}
