//! Writes a save with 100,000 objects, or that many times `<times>`, to try the tools on: a graph, or a world.
//!
//! ```text
//! cargo run -p persist-cli --example large <path> [<times> [world]]
//! ```

#![allow(missing_docs)]
#![expect(clippy::cast_possible_truncation, reason = "the dice have few sides")]

use std::cell::RefCell;
use std::process::ExitCode;
use std::rc::{Rc, Weak};

use persist::{ObjectId, Persist, SaveManager, World};

type Shared<T> = Rc<RefCell<T>>;

const REGIONS: usize = 20;
const TOWNS: usize = 979;
const PEOPLE: usize = 60_000;
const ITEMS: usize = 39_000;

#[derive(Persist)]
#[persist(class = "realm.Realm")]
struct Realm {
    name: String,
    year: u32,
    regions: Vec<Shared<Region>>,
}

#[derive(Persist)]
#[persist(class = "realm.Region")]
struct Region {
    name: String,
    towns: Vec<Shared<Town>>,
}

#[derive(Persist)]
#[persist(class = "realm.Town")]
struct Town {
    name: String,
    x: f32,
    y: f32,
    people: Vec<Shared<Person>>,
}

#[derive(Persist)]
#[persist(class = "realm.Person")]
struct Person {
    name: String,
    age: u8,
    coins: u32,
    health: f32,
    trade: Trade,
    home: Weak<RefCell<Town>>,
    friends: Vec<Shared<Person>>,
    items: Vec<Shared<Item>>,
}

#[derive(Persist)]
#[persist(class = "realm.Trade")]
enum Trade {
    Farmer,
    Smith { skill: u8 },
    Merchant { routes: Vec<u16> },
}

#[derive(Persist)]
#[persist(class = "realm.Item")]
struct Item {
    name: String,
    weight: f32,
    made: u32,
}

/// Marsaglia's xorshift64: the same save each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap_or_default()
    }

    fn of<'n>(&mut self, names: &[&'n str]) -> &'n str {
        names[self.below(names.len())]
    }
}

const FIRST: [&str; 12] =
    ["Ada", "Bran", "Cora", "Dorn", "Edda", "Finn", "Gwen", "Hale", "Ida", "Jory", "Kara", "Lorn"];
const LAST: [&str; 8] = ["Ash", "Brook", "Crane", "Dale", "Elm", "Frost", "Gray", "Hollow"];
const THINGS: [&str; 6] = ["Lantern", "Knife", "Book", "Rope", "Cup", "Cloak"];

const HOSTILE: &str = "<img src=x onerror=\"document.body.remove()\"></script><!--";

fn shared<T>(value: T) -> Shared<T> {
    Rc::new(RefCell::new(value))
}

fn realm(times: usize) -> Shared<Realm> {
    let (town_count, person_count) = (TOWNS * times, PEOPLE * times);
    let mut dice = Dice(42);
    let regions: Vec<_> = (0..REGIONS)
        .map(|number| shared(Region { name: format!("Region {number}"), towns: Vec::new() }))
        .collect();
    let mut towns = Vec::new();
    for number in 0..town_count {
        let (x, y) = (dice.below(9000), dice.below(9000));
        let (x, y) = (x as f32 / 10.0, y as f32 / 10.0);
        let town = shared(Town { name: format!("Town {number}"), x, y, people: Vec::new() });
        regions[number % REGIONS].borrow_mut().towns.push(town.clone());
        towns.push(town);
    }
    let mut people: Vec<Shared<Person>> = Vec::new();
    for number in 0..person_count {
        let home = &towns[dice.below(town_count)];
        let trade = match dice.below(5) {
            0 => Trade::Smith { skill: (number % 100) as u8 },
            1 => Trade::Merchant {
                routes: (0..dice.below(5)).map(|_| dice.below(900) as u16).collect(),
            },
            _ => Trade::Farmer,
        };
        let person = shared(Person {
            name: format!("{} {}", dice.of(&FIRST), dice.of(&LAST)),
            age: dice.below(90) as u8,
            coins: dice.below(5000) as u32,
            health: dice.below(1000) as f32 / 10.0,
            trade,
            home: Rc::downgrade(home),
            friends: Vec::new(),
            items: Vec::new(),
        });
        for _ in 0..dice.below(3) {
            let neighbours = &home.borrow().people;
            // A few people have friends outside of their town.
            let others = if dice.below(50) == 0 { &people } else { neighbours };
            if let Some(friend) = others.get(dice.below(others.len().max(1))) {
                person.borrow_mut().friends.push(friend.clone());
            }
        }
        home.borrow_mut().people.push(person.clone());
        people.push(person);
    }
    for number in 0..ITEMS * times {
        let name = format!("{} {}", dice.of(&THINGS), number % 100);
        // Names are text, whatever they look like.
        let name = if number == 0 { HOSTILE.to_owned() } else { name };
        let item =
            Item { name, weight: dice.below(90) as f32 / 8.0, made: dice.below(1400) as u32 };
        people[dice.below(person_count)].borrow_mut().items.push(shared(item));
    }
    shared(Realm { name: "Realm".into(), year: 1402, regions })
}

#[derive(Persist)]
#[persist(component, class = "level.Transform")]
struct Transform {
    x: f32,
    y: f32,
    turn: f32,
}

#[derive(Persist)]
#[persist(component, class = "level.Health")]
struct Health(u32);

#[derive(Persist)]
#[persist(component, class = "level.Target")]
struct Target {
    object: ObjectId,
    patience: u16,
}

/// A world of houses with their people, of whom every second one has a target.
fn level(times: usize) -> persist::Result<World> {
    const IN_HOUSE: usize = 9;
    let mut dice = Dice(42);
    let mut world = World::new();
    let mut people = Vec::new();
    for number in 0..10_000 * times {
        let house = world.spawn(&format!("House {number}"));
        let (x, y) = (dice.below(9000) as f32 / 10.0, dice.below(9000) as f32 / 10.0);
        world.attach(house, Transform { x, y, turn: 0.0 })?;
        for _ in 0..IN_HOUSE {
            let person = world.spawn_in(house, "")?;
            world.attach(person, Transform { x, y, turn: dice.below(360) as f32 })?;
            world.attach(person, Health(dice.below(100) as u32))?;
            if number % 2 == 0
                && let Some(object) = people.get(dice.below(people.len().max(1)))
            {
                world
                    .attach(person, Target { object: *object, patience: dice.below(50) as u16 })?;
            }
            people.push(person);
        }
    }
    Ok(world)
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    // An option is no name for a save.
    let path = args.next().filter(|path| !path.starts_with('-'));
    let times = args.next().map_or(Ok(1), |times| times.parse::<usize>());
    let (Some(path), Ok(times)) = (path, times) else {
        eprintln!("usage: large <path> [<times> [world]]");
        return ExitCode::from(2);
    };
    let saved = if args.next().is_some_and(|what| what == "world") {
        level(times).and_then(|world| persist::save(path, &world))
    } else {
        let realm = realm(times);
        let mut manager = SaveManager::new();
        let added = manager.add(&realm).map(drop);
        added.and_then(|()| manager.save(path))
    };
    match saved {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("large: {error}");
            ExitCode::FAILURE
        }
    }
}
