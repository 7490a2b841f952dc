//! What a roguelike keeps: maps of tiles, items and characters by ids that are short texts, and the state of its dice.
//!
//! Every field is stored as it is: not one needs a `with`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::num::{NonZeroU8, NonZeroU16, NonZeroU32};
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::time::Duration;

use arrayvec::{ArrayString, ArrayVec};
use bitflags::bitflags;
use enum_map::{Enum, EnumMap};
use fixedbitset::FixedBitSet;
use glam::{IVec2, IVec3, Vec2, Vec3};
use indexmap::{IndexMap, IndexSet};
use jiff::Timestamp;
use ordered_float::OrderedFloat;
use persist::Persist;
use rand_chacha_0_9::ChaCha8Rng;
use rand_pcg::Pcg64Mcg;
use smallvec::SmallVec;
use smol_str_0_3::SmolStr;
use uuid::Uuid;

/// Tiles of a map in each direction.
pub const SIDE: usize = 24;

/// Declares ids that are stored as the short text that they are.
macro_rules! ids {
    ($($(#[$doc:meta])* $id:ident)*) => {$(
        $(#[$doc])*
        #[derive(Persist, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[persist(transparent)]
        pub struct $id(pub SmolStr);

        impl From<&str> for $id {
            fn from(id: &str) -> Self {
                Self(id.into())
            }
        }
    )*};
}

ids! { ItemTypeId TerrainId FurnitureId SpeciesId SkillId RecipeId FactionId FaultId FlagId SpellId QuestId TraitId }

/// The number of an item, by which all others know it.
#[derive(Persist, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[persist(transparent)]
pub struct ItemKey(pub u32);

/// The number of a character.
#[derive(Persist, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[persist(transparent)]
pub struct CharacterKey(pub u32);

// --- Units ---------------------------------------------------------------------------------------------------------

#[derive(Persist, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[persist(transparent)]
pub struct Gram(pub u32);

#[derive(Persist, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[persist(transparent)]
pub struct Millilitre(pub u32);

#[derive(Persist, Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
#[persist(transparent)]
pub struct Celsius(pub f32);

#[derive(Persist, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[persist(transparent)]
pub struct Turn(pub u64);

#[derive(Persist, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[persist(transparent)]
pub struct Coins(pub i64);

#[derive(Persist, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dice {
    pub count: NonZeroU8,
    pub sides: NonZeroU8,
    pub bonus: i8,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
pub struct Meter {
    pub now: i32,
    pub most: i32,
    pub growth: f32,
}

#[derive(Persist, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    pub map: u32,
    pub at: IVec2,
}

// --- Items ---------------------------------------------------------------------------------------------------------

bitflags! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct ItemFlags: u16 {
        const CURSED = 1;
        const KNOWN = 1 << 1;
        const STOLEN = 1 << 2;
        const FAVOURITE = 1 << 3;
        const WET = 1 << 4;
    }
}

persist::bitflags!(ItemFlags: u16);

#[derive(Persist, Clone, Debug, PartialEq)]
pub struct Item {
    pub kind: ItemTypeId,
    pub count: NonZeroU16,
    pub flags: ItemFlags,
    pub damage: i16,
    pub birthday: Turn,
    pub temperature: Option<Celsius>,
    pub owner: Option<CharacterKey>,
    pub charges: Charges,
    pub contents: Contents,
    pub faults: SmallVec<[FaultId; 2]>,
    pub marks: BTreeMap<SmolStr, SmolStr>,
    pub note: Option<Rc<str>>,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
pub enum Charges {
    #[default]
    None,
    Uses(u16),
    Liquid {
        kind: ItemTypeId,
        amount: Millilitre,
    },
    Magazine(Vec<(ItemTypeId, u16)>),
    Rot {
        since: Turn,
        days: OrderedFloat<f32>,
    },
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
pub struct Contents {
    pub pockets: Vec<Pocket>,
    pub is_sealed: bool,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub struct Pocket {
    pub size: RangeInclusive<u16>,
    pub weight: Gram,
    pub items: Vec<ItemKey>,
    pub accepts: PocketRule,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
pub enum PocketRule {
    #[default]
    Anything,
    Only(SmallVec<[ItemTypeId; 4]>),
    Not(HashSet<FlagId>),
}

#[derive(Persist, Clone, Copy, Debug, PartialEq, Eq, Hash, Enum)]
pub enum Slot {
    Head,
    Body,
    Hands,
    Feet,
    Ring,
    Weapon,
}

#[derive(Persist, Clone, Debug, Default)]
pub struct Equipment {
    pub worn: EnumMap<Slot, Option<ItemKey>>,
    pub quick: ArrayVec<ItemKey, 9>,
    pub last_used: Option<ItemKey>,
}

#[derive(Persist, Clone, Debug)]
pub struct Recipe {
    pub id: RecipeId,
    pub result: (ItemTypeId, NonZeroU16),
    pub time: Duration,
    pub skill: Option<(SkillId, u8)>,
    pub parts: Vec<Vec<Ingredient>>,
    pub tools: IndexSet<ItemTypeId>,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub enum Ingredient {
    Item(ItemTypeId, u16),
    Liquid(ItemTypeId, Millilitre),
    Flag(FlagId, u16),
}

#[derive(Persist, Clone, Debug)]
pub struct Craft {
    pub recipe: RecipeId,
    pub done: Duration,
    pub used: Vec<ItemKey>,
    pub state: CraftState,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub enum CraftState {
    Waiting,
    Working { by: CharacterKey, since: Turn },
    Failed(Cow<'static, str>),
}

// --- Maps ----------------------------------------------------------------------------------------------------------

/// A tile, by numbers into the tables of its map.
#[derive(Persist, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tile {
    pub terrain: u16,
    pub furniture: u16,
    pub light: u8,
    pub scent: u8,
}

#[derive(Persist, Clone, Debug)]
pub struct Map {
    pub id: u32,
    pub name: SmolStr,
    pub position: IVec3,
    pub tiles: Box<[[Tile; SIDE]; SIDE]>,
    pub terrains: IndexSet<TerrainId>,
    pub furniture: IndexSet<FurnitureId>,
    pub seen: FixedBitSet,
    pub items: HashMap<IVec2, Vec<ItemKey>>,
    pub fields: Vec<Field>,
    pub traps: BTreeMap<u16, Trap>,
    pub vehicles: Vec<Vehicle>,
    pub zones: Vec<Zone>,
    pub weather: Weather,
    pub lights: Vec<Light>,
    pub sounds: VecDeque<Sound>,
    pub portals: Vec<Portal>,
    pub last_visit: Option<Turn>,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub struct Field {
    pub kind: FieldKind,
    pub at: IVec2,
    pub strength: NonZeroU8,
    pub age: Turn,
}

#[derive(Persist, Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    Blood,
    Fire,
    Smoke,
    Acid,
    Web,
    Gas { toxic: bool },
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub struct Trap {
    pub at: IVec2,
    pub kind: TrapKind,
    pub armed_by: Option<CharacterKey>,
    pub is_hidden: bool,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub enum TrapKind {
    Pit { depth: u8 },
    Dart(Dice),
    Snare,
    Teleport(Place),
    Alarm { loudness: u16 },
}

#[derive(Persist, Clone, Debug)]
pub struct Vehicle {
    pub id: Uuid,
    pub name: ArrayString<24>,
    pub at: IVec2,
    pub facing: f32,
    pub velocity: Vec2,
    pub parts: Vec<VehiclePart>,
    pub fuel: IndexMap<ItemTypeId, Millilitre>,
    pub driver: Option<CharacterKey>,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub struct VehiclePart {
    pub kind: ItemTypeId,
    pub mount: IVec2,
    pub health: Meter,
    pub cargo: Vec<ItemKey>,
    pub state: PartState,
}

#[derive(Persist, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartState {
    #[default]
    Whole,
    Open,
    Locked,
    Broken,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub struct Zone {
    pub name: SmolStr,
    pub corner: IVec2,
    pub size: IVec2,
    pub rule: ZoneRule,
    pub faction: FactionId,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub enum ZoneRule {
    Forbidden,
    Loot(BTreeSet<ItemTypeId>),
    Farm { plant: ItemTypeId, ripe: Option<Turn> },
    Camp,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
pub enum Weather {
    #[default]
    Clear,
    Rain {
        strength: u8,
        wind: Vec2,
    },
    Snow {
        depth: u16,
    },
    Storm(Vec<Turn>),
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub struct Light {
    pub at: Vec2,
    pub colour: Vec3,
    pub radius: f32,
    pub flicker: Option<Flicker>,
}

#[derive(Persist, Clone, Copy, Debug, PartialEq)]
pub struct Flicker {
    pub amount: f32,
    pub period: Duration,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub struct Sound {
    pub at: IVec2,
    pub loudness: u16,
    pub what: Cow<'static, str>,
    pub when: Turn,
}

#[derive(Persist, Clone, Debug, PartialEq, Eq)]
pub struct Portal {
    pub from: IVec2,
    pub to: Place,
    pub is_open: bool,
}

#[derive(Persist, Clone, Debug, Default)]
pub struct Overmap {
    pub regions: Vec<Region>,
    pub roads: Vec<Road>,
    pub cities: BTreeMap<SmolStr, City>,
    pub explored: FixedBitSet,
    pub notes: HashMap<IVec2, Note>,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub struct Region {
    pub biome: Biome,
    pub corner: IVec2,
    pub size: IVec2,
    pub danger: OrderedFloat<f32>,
}

#[derive(Persist, Clone, Copy, Debug, PartialEq, Eq, Hash, Enum)]
pub enum Biome {
    Forest,
    Swamp,
    Desert,
    Mountain,
    Plain,
}

#[derive(Persist, Clone, Debug, PartialEq, Eq)]
pub struct Road {
    pub points: SmallVec<[IVec2; 8]>,
    pub kind: RoadKind,
}

#[derive(Persist, Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoadKind {
    Path,
    Street,
    Bridge { length: u16 },
}

#[derive(Persist, Clone, Debug)]
pub struct City {
    pub centre: IVec2,
    pub population: u32,
    pub founded: Timestamp,
    pub shops: Vec<Shop>,
    pub reputation: EnumMap<Biome, i16>,
}

#[derive(Persist, Clone, Debug)]
pub struct Shop {
    pub owner: Option<CharacterKey>,
    pub stock: Vec<ItemKey>,
    pub prices: IndexMap<ItemTypeId, Coins>,
    pub opens: RangeInclusive<u8>,
    pub kind: ShopKind,
}

#[derive(Persist, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShopKind {
    General,
    Weapons,
    Food,
    Magic { level: NonZeroU8 },
}

#[derive(Persist, Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub text: String,
    pub symbol: char,
    pub colour: u32,
}

// --- Characters ----------------------------------------------------------------------------------------------------

bitflags! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct CharacterFlags: u32 {
        const ASLEEP = 1;
        const HOSTILE = 1 << 1;
        const TAME = 1 << 2;
        const IMMORTAL = 1 << 31;
    }
}

persist::bitflags!(CharacterFlags: u32);

#[derive(Persist, Clone, Debug)]
pub struct Character {
    pub id: Uuid,
    pub name: SmolStr,
    pub species: SpeciesId,
    pub flags: CharacterFlags,
    pub place: Place,
    pub offset: Vec2,
    pub body: EnumMap<BodyPart, BodyState>,
    pub stats: EnumMap<Stat, i16>,
    pub health: Meter,
    pub needs: Needs,
    pub skills: IndexMap<SkillId, Skill>,
    pub traits: BTreeSet<TraitId>,
    pub equipment: Equipment,
    pub inventory: Vec<ItemKey>,
    pub wallet: Coins,
    pub effects: Vec<Effect>,
    pub mind: Mind,
    pub memory: Memory,
    pub spells: Vec<Spell>,
    pub craft: Option<Box<Craft>>,
    pub faction: FactionId,
    pub dice: Pcg64Mcg,
}

#[derive(Persist, Clone, Copy, Debug, PartialEq, Eq, Hash, Enum)]
pub enum BodyPart {
    Head,
    Torso,
    Arms,
    Legs,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
pub struct BodyState {
    pub health: Meter,
    pub temperature: Celsius,
    pub wetness: u8,
    pub wounds: SmallVec<[Wound; 1]>,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub struct Wound {
    pub kind: WoundKind,
    pub depth: u8,
    pub since: Turn,
    pub is_dressed: bool,
}

#[derive(Persist, Clone, Copy, Debug, PartialEq, Eq)]
pub enum WoundKind {
    Cut,
    Bruise,
    Burn,
    Bite { is_infected: bool },
}

#[derive(Persist, Clone, Copy, Debug, PartialEq, Eq, Hash, Enum)]
pub enum Stat {
    Strength,
    Dexterity,
    Intelligence,
    Perception,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
pub struct Needs {
    pub hunger: i16,
    pub thirst: i16,
    pub fatigue: i16,
    pub pain: u16,
    pub morale: VecDeque<MoraleEvent>,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub struct MoraleEvent {
    pub why: Cow<'static, str>,
    pub bonus: i8,
    pub until: Turn,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
pub struct Skill {
    pub level: u8,
    pub progress: OrderedFloat<f32>,
    pub last_used: Option<Turn>,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub struct Effect {
    pub kind: EffectKind,
    pub strength: u8,
    pub ends: Option<Turn>,
    pub by: Option<CharacterKey>,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub enum EffectKind {
    Poison(Dice),
    Haste,
    Blind,
    Burning { on: Slot },
    Bonus(EnumMap<Stat, i8>),
}

#[derive(Persist, Clone, Debug, Default)]
pub enum Mind {
    #[default]
    Player,
    Idle,
    Hunting {
        target: CharacterKey,
        path: VecDeque<IVec2>,
    },
    Fleeing {
        from: Place,
    },
    Following(CharacterKey),
    Working(Job),
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub enum Job {
    Guard { post: Place, radius: u8 },
    Haul { items: Vec<ItemKey>, to: Place },
    Farm(u32),
}

#[derive(Persist, Clone, Debug, Default)]
pub struct Memory {
    pub met: HashMap<CharacterKey, Opinion>,
    pub places: IndexMap<Place, SmolStr>,
    pub rumours: Vec<Rumour>,
}

#[derive(Persist, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opinion {
    pub trust: i8,
    pub fear: i8,
    pub value: i8,
}

#[derive(Persist, Clone, Debug, PartialEq, Eq)]
pub struct Rumour {
    pub about: Subject,
    pub text: SmolStr,
    pub heard: Turn,
}

#[derive(Persist, Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Character(CharacterKey),
    Place(Place),
    Item(ItemTypeId),
    Nobody,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub struct Spell {
    pub id: SpellId,
    pub level: NonZeroU8,
    pub experience: u32,
    pub cooldown: Option<Duration>,
}

// --- The whole -----------------------------------------------------------------------------------------------------

#[derive(Persist, Clone, Debug, Default)]
pub struct Faction {
    pub name: SmolStr,
    pub relations: IndexMap<FactionId, Relation>,
    pub wealth: Coins,
    pub leader: Option<CharacterKey>,
    pub holds: HashSet<u32>,
}

#[derive(Persist, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Relation {
    Friend,
    #[default]
    Neutral,
    Enemy {
        since: Turn,
    },
}

#[derive(Persist, Clone, Debug)]
pub struct Quest {
    pub id: QuestId,
    pub giver: Option<CharacterKey>,
    pub state: QuestState,
    pub goals: Vec<Goal>,
    pub reward: Reward,
    pub deadline: Option<Turn>,
}

#[derive(Persist, Clone, Debug, Default, PartialEq, Eq)]
pub enum QuestState {
    #[default]
    Offered,
    Active {
        since: Turn,
    },
    Done(Turn),
    Failed {
        why: SmolStr,
    },
}

#[derive(Persist, Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    Reach(Place),
    Kill { species: SpeciesId, left: u16 },
    Bring(ItemTypeId, NonZeroU32),
    Talk(CharacterKey),
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
pub struct Reward {
    pub coins: Coins,
    pub items: Vec<(ItemTypeId, u16)>,
    pub standing: Option<(FactionId, i16)>,
}

#[derive(Persist, Clone, Debug)]
pub struct Event {
    pub at: Turn,
    pub what: EventKind,
    pub repeat: Option<Duration>,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub enum EventKind {
    Spawn { species: SpeciesId, at: Place, count: RangeInclusive<u8> },
    Weather(u32, Weather),
    Restock(SmolStr),
    Message(Rc<str>),
}

#[derive(Persist, Clone, Debug)]
pub struct Message {
    pub text: SmolStr,
    pub turn: Turn,
    pub tone: Tone,
    pub count: NonZeroU16,
}

#[derive(Persist, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    Good,
    Bad,
    #[default]
    Plain,
}

#[derive(Persist, Clone, Debug, PartialEq, Eq)]
pub struct Achievement {
    pub name: SmolStr,
    pub reached: Option<Turn>,
    pub secret: SecretRule,
}

#[derive(Persist, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecretRule {
    #[default]
    Shown,
    Hidden,
    Until(Turn),
}

#[derive(Persist, Clone, Copy, Debug, Default, PartialEq)]
pub struct Camera {
    pub at: Vec2,
    pub zoom: f32,
    pub follows: Option<CharacterKey>,
}

#[derive(Persist, Clone, Debug, PartialEq, Eq)]
pub struct Corpse {
    pub of: SpeciesId,
    pub name: Option<SmolStr>,
    pub place: Place,
    pub died: Turn,
}

#[derive(Persist, Clone, Debug)]
pub struct Statistics {
    pub kills: BTreeMap<SpeciesId, u32>,
    pub steps: u64,
    pub played: Duration,
    pub deepest: i16,
    pub crafted: HashMap<RecipeId, u32>,
}

#[derive(Persist, Clone, Debug)]
pub struct Settings {
    pub difficulty: Difficulty,
    pub keys: BTreeMap<char, ArrayString<16>>,
    pub volume: OrderedFloat<f32>,
    pub mods: Vec<ModInfo>,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
pub enum Difficulty {
    Easy,
    #[default]
    Normal,
    Custom {
        monsters: f32,
        loot: f32,
        is_permanent: bool,
    },
}

#[derive(Persist, Clone, Debug, PartialEq, Eq)]
pub struct ModInfo {
    pub name: SmolStr,
    pub version: (u16, u16, u16),
    pub is_on: bool,
}

/// Dice that must fall as if the game had never ended.
#[derive(Persist, Clone, Debug)]
pub struct AllDice {
    pub world: ChaCha8Rng,
    pub loot: Pcg64Mcg,
}

#[derive(Persist, Clone, Debug)]
pub struct Game {
    pub id: Uuid,
    pub started: Timestamp,
    pub turn: Turn,
    pub maps: Vec<Map>,
    pub overmap: Overmap,
    pub items: IndexMap<ItemKey, Item>,
    pub characters: IndexMap<CharacterKey, Character>,
    pub player: Option<CharacterKey>,
    pub factions: IndexMap<FactionId, Faction>,
    pub quests: Vec<Quest>,
    pub recipes: Vec<Recipe>,
    pub events: Vec<Event>,
    pub log: VecDeque<Message>,
    pub corpses: Vec<Corpse>,
    pub achievements: Vec<Achievement>,
    pub camera: Camera,
    pub statistics: Statistics,
    pub settings: Settings,
    pub dice: AllDice,
}
