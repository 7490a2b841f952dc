//! The state of a game: maps of tiles, items and characters. Most of it is small integers, options and enums, in maps
//! by id; kinds of things are ids in strings.

use std::collections::{BTreeMap, HashMap};

use persist::Persist;
use rand::Rng;
use rand_pcg::Lcg64Xsh32;

use super::{pick, seldom};
use crate::data;

/// How many maps of tiles there are, and so how many parts.
pub(crate) const MAPS: u32 = 300;
const SIDE: u32 = 64;
const ITEMS: u32 = 50_000;
const CHARACTERS: u32 = 400;

/// All that a save of the game has.
#[derive(Clone, Debug, PartialEq, Persist)]
#[rivals::codecs]
pub(crate) struct Game {
    turn: u64,
    seed: u64,
    season: Season,
    maps: BTreeMap<u32, Map>,
    items: HashMap<u32, Item>,
    characters: BTreeMap<u32, Character>,
    prices: BTreeMap<String, u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Persist)]
#[rivals::codecs]
enum Season {
    Spring,
    Summer,
    Autumn,
    Winter,
}

#[derive(Clone, Debug, PartialEq, Persist)]
#[rivals::codecs]
struct Map {
    kind: String,
    width: u32,
    height: u32,
    tiles: Vec<Tile>,
    exits: Vec<Exit>,
    visited: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Persist)]
#[rivals::codecs]
struct Tile {
    terrain: Terrain,
    height: i32,
    light: u8,
    seen: bool,
    item: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Persist)]
#[rivals::codecs]
enum Terrain {
    Floor,
    Wall,
    Grass(u8),
    Water { depth: u32 },
    Door { locked: bool, key: Option<u32> },
}

#[derive(Clone, Debug, PartialEq, Persist)]
#[rivals::codecs]
struct Exit {
    at: (i32, i32),
    map: u32,
    to: (i32, i32),
}

#[derive(Clone, Debug, PartialEq, Persist)]
#[rivals::codecs]
struct Item {
    kind: String,
    count: u32,
    wear: u32,
    place: Place,
    effects: Vec<Effect>,
    name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Persist)]
#[rivals::codecs]
enum Place {
    Ground { map: u32, x: i32, y: i32 },
    Carried { by: u32, slot: Slot },
    Inside(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Persist)]
#[rivals::codecs]
enum Slot {
    Bag,
    Hand,
    Head,
    Body,
    Feet,
}

#[derive(Clone, Debug, PartialEq, Persist)]
#[rivals::codecs]
struct Effect {
    kind: String,
    strength: i32,
    turns: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Persist)]
#[rivals::codecs]
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
#[rivals::codecs]
enum Goal {
    Idle,
    Walk { map: u32, x: i32, y: i32 },
    Attack(u32),
    Trade { with: u32, offer: Vec<u32>, gold: u32 },
}

#[derive(Clone, Debug, PartialEq, Persist)]
#[rivals::codecs]
struct Memory {
    turn: u64,
    of: Option<u32>,
    weight: i32,
}

/// Makes the game: 300 maps of 4096 tiles, 50 000 items, 400 characters.
pub(crate) fn generate() -> Game {
    let mut rng = data::rng();
    Game {
        turn: 1_234_567,
        seed: rng.r#gen(),
        season: Season::Autumn,
        maps: (0..MAPS).map(|id| (id, map(&mut rng))).collect(),
        items: (0..ITEMS).map(|id| (id, item(&mut rng))).collect(),
        characters: (0..CHARACTERS).map(|id| (id, character(&mut rng, id))).collect(),
        prices: KINDS.iter().map(|kind| ((*kind).to_owned(), rng.gen_range(1..500))).collect(),
    }
}

impl Game {
    /// The game in as many parts as it has maps: each a map with what belongs to it, to be saved alone.
    pub(crate) fn parts(&self) -> Vec<Game> {
        let part = |(id, map): (&u32, &Map)| {
            let is_here = |other: &u32| other % MAPS == *id;
            let items = self.items.iter().filter(|(id, _)| is_here(id));
            let characters = self.characters.iter().filter(|(id, _)| is_here(id));
            Game {
                turn: self.turn,
                seed: self.seed,
                season: self.season,
                maps: BTreeMap::from([(*id, map.clone())]),
                items: items.map(|(id, item)| (*id, item.clone())).collect(),
                characters: characters.map(|(id, one)| (*id, one.clone())).collect(),
                prices: BTreeMap::new(),
            }
        };
        self.maps.iter().map(part).collect()
    }
}

fn map(rng: &mut Lcg64Xsh32) -> Map {
    Map {
        kind: pick(rng, &["map/forest", "map/cave", "map/village", "map/tower"]).to_owned(),
        width: SIDE,
        height: SIDE,
        tiles: (0..SIDE * SIDE).map(|_| tile(rng)).collect(),
        exits: (0..4).map(|_| exit(rng)).collect(),
        visited: seldom(rng, 2, |rng| rng.gen_range(0..1_234_567)),
    }
}

fn tile(rng: &mut Lcg64Xsh32) -> Tile {
    let terrain = match rng.gen_range(0..32_u8) {
        0 => Terrain::Door {
            locked: rng.r#gen(),
            key: seldom(rng, 2, |rng| rng.gen_range(0..ITEMS)),
        },
        1..=3 => Terrain::Water { depth: rng.gen_range(1..12) },
        4..=9 => Terrain::Grass(rng.gen_range(0..8)),
        10..=16 => Terrain::Wall,
        _ => Terrain::Floor,
    };
    Tile {
        terrain,
        height: rng.gen_range(-20..20),
        light: rng.gen_range(0..16),
        seen: rng.r#gen(),
        item: seldom(rng, 32, |rng| rng.gen_range(0..ITEMS)),
    }
}

fn exit(rng: &mut Lcg64Xsh32) -> Exit {
    Exit { at: square(rng), map: rng.gen_range(0..MAPS), to: square(rng) }
}

/// A square of a map.
fn square(rng: &mut Lcg64Xsh32) -> (i32, i32) {
    (rng.gen_range(0..64), rng.gen_range(0..64))
}

fn item(rng: &mut Lcg64Xsh32) -> Item {
    let place = match rng.gen_range(0..4_u8) {
        0 | 1 => {
            let (x, y) = square(rng);
            Place::Ground { map: rng.gen_range(0..MAPS), x, y }
        }
        2 => Place::Carried {
            by: rng.gen_range(0..CHARACTERS),
            slot: pick(rng, &[Slot::Bag, Slot::Hand, Slot::Head, Slot::Body, Slot::Feet]),
        },
        _ => Place::Inside(rng.gen_range(0..ITEMS)),
    };
    Item {
        kind: pick(rng, &KINDS).to_owned(),
        count: rng.gen_range(1..30),
        wear: rng.gen_range(0..100),
        place,
        effects: (0..rng.gen_range(0..4_u8) / 2).map(|_| effect(rng)).collect(),
        name: seldom(rng, 50, |rng| format!("{} of the lost king", pick(rng, &NAMES))),
    }
}

fn effect(rng: &mut Lcg64Xsh32) -> Effect {
    Effect {
        kind: pick(rng, &EFFECTS).to_owned(),
        strength: rng.gen_range(-10..20),
        turns: seldom(rng, 2, |rng| rng.gen_range(1..200)),
    }
}

fn character(rng: &mut Lcg64Xsh32, id: u32) -> Character {
    let goal = match rng.gen_range(0..4_u8) {
        0 => Goal::Attack(rng.gen_range(0..CHARACTERS)),
        1 => Goal::Trade {
            with: rng.gen_range(0..CHARACTERS),
            offer: (0..3).map(|_| rng.gen_range(0..ITEMS)).collect(),
            gold: rng.gen_range(0..1000),
        },
        2 => {
            let (x, y) = square(rng);
            Goal::Walk { map: rng.gen_range(0..MAPS), x, y }
        }
        _ => Goal::Idle,
    };
    Character {
        name: format!("{} {id}", pick(rng, &NAMES)),
        species: pick(rng, &["species/human", "species/elf", "species/orc"]).to_owned(),
        level: rng.gen_range(1..40),
        health: rng.gen_range(0..120),
        most_health: 120,
        attributes: std::array::from_fn(|_| rng.gen_range(3..19)),
        map: rng.gen_range(0..MAPS),
        position: square(rng),
        inventory: (0..rng.gen_range(5..40)).map(|_| rng.gen_range(0..ITEMS)).collect(),
        skills: SKILLS.iter().map(|skill| ((*skill).to_owned(), rng.gen_range(0..100))).collect(),
        opinions: (0..40)
            .map(|_| (rng.gen_range(0..CHARACTERS), rng.gen_range(-100..100)))
            .collect(),
        conditions: (0..rng.gen_range(0..4_u8)).map(|_| effect(rng)).collect(),
        goal,
        memories: (0..60).map(|_| memory(rng)).collect(),
    }
}

fn memory(rng: &mut Lcg64Xsh32) -> Memory {
    Memory {
        turn: rng.gen_range(0..1_234_567),
        of: seldom(rng, 2, |rng| rng.gen_range(0..CHARACTERS)),
        weight: rng.gen_range(-50..50),
    }
}

const KINDS: [&str; 12] = [
    "item/weapon/short_sword",
    "item/weapon/long_bow",
    "item/weapon/oak_staff",
    "item/armour/leather_cap",
    "item/armour/chain_mail",
    "item/food/bread",
    "item/food/dried_meat",
    "item/potion/healing",
    "item/scroll/teleport",
    "item/key/iron",
    "item/coin/gold",
    "item/misc/torch",
];

const EFFECTS: [&str; 6] = [
    "effect/fire",
    "effect/poison",
    "effect/haste",
    "effect/strength",
    "effect/blindness",
    "effect/regeneration",
];

const NAMES: [&str; 8] = ["Ada", "Bertil", "Chiyo", "Dunya", "Emre", "Fen", "Gudrun", "Hakim"];

const SKILLS: [&str; 10] = [
    "skill/archery",
    "skill/cooking",
    "skill/dodging",
    "skill/fishing",
    "skill/lore",
    "skill/magic",
    "skill/smithing",
    "skill/stealth",
    "skill/swords",
    "skill/trading",
];
