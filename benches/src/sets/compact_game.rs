//! The game with its integers in as few bytes as they need.

use std::collections::{BTreeMap, HashMap};

use persist::Persist;

#[derive(Clone, Debug, PartialEq, Persist)]
#[persist(compact)]
pub(crate) struct Game {
    turn: u64,
    seed: u64,
    season: Season,
    maps: BTreeMap<u32, Map>,
    items: HashMap<u32, Item>,
    characters: BTreeMap<u32, Character>,
    prices: BTreeMap<String, u32>,
}

#[derive(Clone, Debug, PartialEq, Persist)]
enum Season {
    Spring,
    Summer,
    Autumn,
    Winter,
}

#[derive(Clone, Debug, PartialEq, Persist)]
#[persist(compact)]
struct Map {
    kind: String,
    width: u32,
    height: u32,
    tiles: Vec<Tile>,
    exits: Vec<Exit>,
    visited: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Persist)]
#[persist(compact)]
struct Tile {
    terrain: Terrain,
    height: i32,
    light: u8,
    seen: bool,
    item: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Persist)]
#[persist(compact)]
enum Terrain {
    Floor,
    Wall,
    Grass(u8),
    Water { depth: u32 },
    Door { locked: bool, key: Option<u32> },
}

#[derive(Clone, Debug, PartialEq, Persist)]
#[persist(compact)]
struct Exit {
    at: (i32, i32),
    map: u32,
    to: (i32, i32),
}

#[derive(Clone, Debug, PartialEq, Persist)]
#[persist(compact)]
struct Item {
    kind: String,
    count: u32,
    wear: u32,
    place: Place,
    effects: Vec<Effect>,
    name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Persist)]
#[persist(compact)]
enum Place {
    Ground { map: u32, x: i32, y: i32 },
    Carried { by: u32, slot: Slot },
    Inside(u32),
}

#[derive(Clone, Debug, PartialEq, Persist)]
enum Slot {
    Bag,
    Hand,
    Head,
    Body,
    Feet,
}

#[derive(Clone, Debug, PartialEq, Persist)]
#[persist(compact)]
struct Effect {
    kind: String,
    strength: i32,
    turns: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Persist)]
#[persist(compact)]
struct Character {
    name: String,
    species: String,
    level: u32,
    health: i32,
    most_health: i32,
    attributes: [u32; 6],
    map: u32,
    position: (i32, i32),
    inventory: Vec<u32>,
    skills: BTreeMap<String, u32>,
    opinions: HashMap<u32, i32>,
    conditions: Vec<Effect>,
    goal: Goal,
    memories: Vec<Memory>,
}

#[derive(Clone, Debug, PartialEq, Persist)]
#[persist(compact)]
enum Goal {
    Idle,
    Walk { map: u32, x: i32, y: i32 },
    Attack(u32),
    Trade { with: u32, offer: Vec<u32>, gold: u32 },
}

#[derive(Clone, Debug, PartialEq, Persist)]
#[persist(compact)]
struct Memory {
    turn: u64,
    of: Option<u32>,
    weight: i32,
}
