use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

// The saved state of a roguelike: a world of maps with monsters and items, a player, quests, and settings.

#[derive(DERIVE)]
pub struct Root { pub header: Header, pub world: World, pub player: Player, pub log: MessageLog, pub settings: Settings, pub statistics: Statistics, pub clock: Clock, pub random: RandomState, pub tutorials: Tutorials, pub achievements: Vec<Achievement> }

#[derive(DERIVE)]
pub struct Header { pub version: u32, pub name: String, pub difficulty: Difficulty, pub seed: u64, pub started: u64, pub played: u32, pub mods: Vec<ModInfo> }

#[derive(DERIVE)]
pub struct ModInfo { pub name: String, pub version: (u16, u16, u16), pub enabled: bool }

#[derive(DERIVE)]
pub enum Difficulty { Explorer, Easy, Normal, Hard, Custom(DifficultyTable) }

#[derive(DERIVE)]
pub struct DifficultyTable { pub monsters: f32, pub loot: f32, pub hunger: f32, pub permanent_death: bool }

#[derive(DERIVE)]
pub struct Clock { pub turn: u64, pub second: u32, pub day: u16, pub season: Season, pub weather: Weather }

#[derive(DERIVE)]
pub enum Season { Spring, Summer, Autumn, Winter }

#[derive(DERIVE)]
pub enum Weather { Clear, Rain { strength: u8 }, Snow { depth: u16 }, Storm { strength: u8, lightning: bool }, Fog(u8) }

#[derive(DERIVE)]
pub struct RandomState { pub state: u64, pub increment: u64, pub drawn: u64 }

#[derive(DERIVE)]
pub struct Position { pub x: i32, pub y: i32, pub level: i16 }

#[derive(DERIVE)]
pub struct Extent { pub left: i32, pub top: i32, pub width: u32, pub height: u32 }

#[derive(DERIVE)]
pub struct Colour { pub red: u8, pub green: u8, pub blue: u8, pub alpha: u8 }

#[derive(DERIVE)]
pub struct Glyph { pub code: u32, pub foreground: Colour, pub background: Option<Colour> }

#[derive(DERIVE)]
pub enum Direction { North, East, South, West, Up, Down }

#[derive(DERIVE)]
pub struct World { pub maps: Vec<Map>, pub overworld: Overworld, pub factions: Vec<Faction>, pub relations: BTreeMap<u16, Relation>, pub quests: Vec<Quest>, pub rumours: Vec<Rumour>, pub economy: Economy, pub ids: IdPool }

#[derive(DERIVE)]
pub struct IdPool { pub next: u64, pub free: Vec<u64> }

#[derive(DERIVE)]
pub struct Overworld { pub regions: Vec<Region>, pub roads: Vec<Road>, pub towns: Vec<Town>, pub discovered: BTreeSet<u32> }

#[derive(DERIVE)]
pub struct Region { pub name: String, pub biome: Biome, pub extent: Extent, pub danger: u8, pub visited: bool }

#[derive(DERIVE)]
pub enum Biome { Forest, Desert, Tundra, Swamp, Mountain, Plains, Coast, Volcanic }

#[derive(DERIVE)]
pub struct Road { pub from: u32, pub to: u32, pub points: Vec<Position>, pub paved: bool }

#[derive(DERIVE)]
pub struct Town { pub name: String, pub position: Position, pub shops: Vec<Shop>, pub population: u32, pub reputation: i16, pub faction: Option<u16> }

#[derive(DERIVE)]
pub struct Shop { pub owner: u64, pub kind: ShopKind, pub stock: Inventory, pub gold: u32, pub markup: f32, pub restock: u64 }

#[derive(DERIVE)]
pub enum ShopKind { General, Weapons, Armour, Magic, Food, Black(u8) }

#[derive(DERIVE)]
pub struct Economy { pub prices: BTreeMap<String, Price>, pub inflation: f64 }

#[derive(DERIVE)]
pub struct Price { pub base: u32, pub supply: f32, pub demand: f32, pub history: VecDeque<u32> }

#[derive(DERIVE)]
pub struct Map { pub id: u32, pub name: String, pub extent: Extent, pub tiles: Vec<Tile>, pub rooms: Vec<Room>, pub monsters: Vec<Monster>, pub items: Vec<PlacedItem>, pub traps: Vec<Trap>, pub doors: Vec<Door>, pub stairs: Vec<Stairs>, pub clouds: Vec<Cloud>, pub lights: Vec<Light>, pub scents: Vec<u16>, pub events: Vec<ScheduledEvent>, pub generator: Generator, pub last_visit: u64 }

#[derive(DERIVE)]
pub struct Tile { pub terrain: Terrain, pub seen: bool, pub lit: bool, pub blood: u8, pub memory: Option<Glyph> }

#[derive(DERIVE)]
pub enum Terrain { Void, Floor, Wall, Water { depth: u8 }, Lava, Grass(u8), Bridge, Rubble, Altar(u16), Custom { glyph: Glyph, walkable: bool } }

#[derive(DERIVE)]
pub struct Room { pub extent: Extent, pub kind: RoomKind, pub exits: Vec<Direction>, pub visited: bool }

#[derive(DERIVE)]
pub enum RoomKind { Plain, Vault { key: u64 }, Lair(u16), Shrine(u16), Library, Prison { captives: Vec<u64> } }

#[derive(DERIVE)]
pub enum Generator { Caves(CaveParameters), Rooms(RoomParameters), Template(String) }

#[derive(DERIVE)]
pub struct CaveParameters { pub fill: f32, pub rounds: u8, pub seed: u64 }

#[derive(DERIVE)]
pub struct RoomParameters { pub rooms: u16, pub least: u8, pub most: u8, pub loops: f32, pub seed: u64 }

#[derive(DERIVE)]
pub struct Trap { pub position: Position, pub kind: TrapKind, pub hidden: bool, pub armed: bool }

#[derive(DERIVE)]
pub enum TrapKind { Pit { depth: u8 }, Dart(Damage), Gas(CloudKind), Teleport(Position), Alarm }

#[derive(DERIVE)]
pub struct Door { pub position: Position, pub state: DoorState, pub strength: u8 }

#[derive(DERIVE)]
pub enum DoorState { Open, Closed, Locked { key: u64, difficulty: u8 }, Broken }

#[derive(DERIVE)]
pub struct Stairs { pub position: Position, pub to: Position, pub map: u32, pub direction: Direction }

#[derive(DERIVE)]
pub struct Cloud { pub kind: CloudKind, pub position: Position, pub density: f32, pub turns: u16 }

#[derive(DERIVE)]
pub enum CloudKind { Smoke, Poison, Fire, Sleep, Healing }

#[derive(DERIVE)]
pub struct Light { pub position: Position, pub colour: Colour, pub radius: f32, pub flicker: f32 }

#[derive(DERIVE)]
pub struct ScheduledEvent { pub turn: u64, pub event: Event, pub repeat: Option<u32> }

#[derive(DERIVE)]
pub enum Event { Spawn { monster: u16, at: Position }, Weather(Weather), Message(String), Quest(u32), Restock(u64), Collapse(Extent) }

#[derive(DERIVE)]
pub struct Monster { pub id: u64, pub species: u16, pub name: Option<String>, pub position: Position, pub body: Body, pub mind: Mind, pub inventory: Inventory, pub faction: u16, pub level: u8, pub experience: u32, pub glyph: Glyph }

#[derive(DERIVE)]
pub struct Body { pub health: Meter, pub mana: Meter, pub stamina: Meter, pub attributes: Attributes, pub resistances: Resistances, pub conditions: Vec<Condition>, pub wounds: Vec<Wound>, pub size: Size, pub speed: i16 }

#[derive(DERIVE)]
pub struct Meter { pub now: i32, pub most: i32, pub regeneration: f32 }

#[derive(DERIVE)]
pub struct Attributes { pub strength: u8, pub dexterity: u8, pub constitution: u8, pub intelligence: u8, pub wisdom: u8, pub charisma: u8 }

#[derive(DERIVE)]
pub struct Resistances { pub fire: i8, pub cold: i8, pub poison: i8, pub lightning: i8, pub magic: i8 }

#[derive(DERIVE)]
pub enum Size { Tiny, Small, Medium, Large, Huge }

#[derive(DERIVE)]
pub struct Condition { pub kind: ConditionKind, pub turns: u32, pub strength: i16, pub source: Option<u64> }

#[derive(DERIVE)]
pub enum ConditionKind { Poisoned, Blind, Confused, Hasted, Slowed, Invisible, Burning(Damage), Cursed { by: u16 }, Blessed { by: u16 }, Shape(u16) }

#[derive(DERIVE)]
pub struct Wound { pub limb: Limb, pub severity: u8, pub bleeding: bool, pub treated: bool }

#[derive(DERIVE)]
pub enum Limb { Head, Torso, LeftArm, RightArm, LeftLeg, RightLeg, Other(u8) }

#[derive(DERIVE)]
pub struct Mind { pub state: MindState, pub target: Option<u64>, pub memory: Vec<Memory>, pub morale: i16, pub path: Vec<Position>, pub home: Option<Position> }

#[derive(DERIVE)]
pub enum MindState { Sleeping, Wandering(Direction), Hunting { last_seen: Position }, Fleeing { from: u64, turns: u16 }, Guarding(Position), Following(u64), Trading }

#[derive(DERIVE)]
pub struct Memory { pub of: u64, pub kind: MemoryKind, pub turn: u64 }

#[derive(DERIVE)]
pub enum MemoryKind { Saw(Position), HurtBy(Damage), HelpedBy, Heard { loudness: u8 } }

#[derive(DERIVE)]
pub struct Damage { pub kind: DamageKind, pub dice: Dice, pub bonus: i16 }

#[derive(DERIVE)]
pub enum DamageKind { Blunt, Edged, Pierce, Fire, Cold, Lightning, Poison, Holy }

#[derive(DERIVE)]
pub struct Dice { pub count: u8, pub sides: u8 }

#[derive(DERIVE)]
pub struct Inventory { pub items: Vec<Item>, pub equipped: BTreeMap<u8, u64>, pub capacity: u16, pub gold: u32 }

#[derive(DERIVE)]
pub struct PlacedItem { pub item: Item, pub position: Position, pub seen: bool }

#[derive(DERIVE)]
pub struct Item { pub id: u64, pub name: String, pub kind: ItemKind, pub count: u16, pub weight: u16, pub value: u32, pub glyph: Glyph, pub quality: Quality, pub enchantments: Vec<Enchantment>, pub identified: bool, pub cursed: bool, pub inscription: Option<String> }

#[derive(DERIVE)]
pub enum ItemKind { Weapon(Weapon), Armour(Armour), Potion(Effect), Scroll(Effect), Wand { effect: Effect, charges: u8 }, Food { nutrition: u16, rot: u64 }, Book(Book), Key(u64), Tool(ToolKind), Corpse { species: u16, died: u64 }, Container(Container), Gem }

#[derive(DERIVE)]
pub struct Weapon { pub damage: Damage, pub range: u8, pub hands: u8, pub skill: Skill, pub ammunition: Option<Ammunition> }

#[derive(DERIVE)]
pub struct Ammunition { pub kind: u16, pub loaded: u8, pub capacity: u8 }

#[derive(DERIVE)]
pub struct Armour { pub slot: Slot, pub protection: u8, pub encumbrance: u8, pub resistances: Resistances }

#[derive(DERIVE)]
pub enum Slot { Head, Body, Hands, Feet, Cloak, Ring, Amulet, Shield }

#[derive(DERIVE)]
pub struct Book { pub title: String, pub spells: Vec<Spell>, pub pages: u16, pub read: u16 }

#[derive(DERIVE)]
pub struct Container { pub contents: Vec<u64>, pub lock: Option<u8>, pub trapped: Option<TrapKind> }

#[derive(DERIVE)]
pub enum ToolKind { Torch { fuel: u16 }, Pick, Rope(u8), Lockpick { quality: u8 }, Compass, Instrument(String) }

#[derive(DERIVE)]
pub enum Quality { Broken, Poor, Common, Fine, Rare, Artefact(u16) }

#[derive(DERIVE)]
pub struct Enchantment { pub effect: Effect, pub trigger: Trigger, pub charges: Option<u8> }

#[derive(DERIVE)]
pub enum Trigger { Always, OnHit, OnUse, OnDamage { at_least: u16 }, EachTurns(u16) }

#[derive(DERIVE)]
pub enum Effect { Heal(Dice), Harm(Damage), Inflict(Condition), Teleport { range: u16 }, Summon { species: u16, count: Dice }, Identify, Light { radius: f32, turns: u16 }, Attribute { which: u8, by: i8 } }

#[derive(DERIVE)]
pub struct Spell { pub name: String, pub school: School, pub cost: u16, pub effect: Effect, pub cooldown: u16, pub level: u8 }

#[derive(DERIVE)]
pub enum School { Fire, Water, Earth, Air, Life, Death, Mind }

#[derive(DERIVE)]
pub struct Player { pub creature: Monster, pub class: Class, pub skills: Vec<SkillLevel>, pub spells: Vec<Spell>, pub hunger: Hunger, pub quests: Vec<QuestState>, pub known_items: BTreeSet<u16>, pub kills: HashMap<u16, u32>, pub discovered: HashMap<u32, MapMemory>, pub keys: Vec<KeyBinding>, pub deity: Option<Deity>, pub companions: Vec<Companion>, pub notes: Vec<Note> }

#[derive(DERIVE)]
pub enum Class { Warrior, Ranger { companion: Option<u64> }, Mage(School), Priest(u16), Thief }

#[derive(DERIVE)]
pub struct SkillLevel { pub skill: Skill, pub level: u8, pub experience: u32 }

#[derive(DERIVE)]
pub enum Skill { Blades, Axes, Bows, Staves, Stealth, Locks, Magic, Trade, Craft(u8) }

#[derive(DERIVE)]
pub struct Hunger { pub food: u16, pub water: u16, pub sleep: u16 }

#[derive(DERIVE)]
pub struct Deity { pub id: u16, pub favour: i32, pub prayers: u32, pub angry: bool }

#[derive(DERIVE)]
pub struct Companion { pub monster: u64, pub loyalty: u8, pub order: Order }

#[derive(DERIVE)]
pub enum Order { Follow, Stay(Position), Attack(u64), Fetch { item: u64 } }

#[derive(DERIVE)]
pub struct MapMemory { pub tiles: Vec<u8>, pub marks: Vec<Mark>, pub turn: u64 }

#[derive(DERIVE)]
pub struct Mark { pub position: Position, pub text: String, pub colour: Colour }

#[derive(DERIVE)]
pub struct Note { pub text: String, pub turn: u64, pub pinned: bool }

#[derive(DERIVE)]
pub struct Quest { pub id: u32, pub title: String, pub giver: Option<u64>, pub stages: Vec<QuestStage>, pub rewards: Vec<Reward>, pub deadline: Option<u64> }

#[derive(DERIVE)]
pub struct QuestStage { pub text: String, pub goal: Goal, pub optional: bool }

#[derive(DERIVE)]
pub enum Goal { Kill { species: u16, count: u16 }, Fetch(u16), Reach(Position), Talk(u64), Escort { who: u64, to: Position }, Survive(u32) }

#[derive(DERIVE)]
pub enum Reward { Gold(u32), Item(Item), Experience(u32), Reputation { faction: u16, by: i16 }, Spell(Spell) }

#[derive(DERIVE)]
pub struct QuestState { pub quest: u32, pub stage: u8, pub progress: Vec<u16>, pub state: Progress }

#[derive(DERIVE)]
pub enum Progress { Offered, Active { since: u64 }, Done(u64), Failed { at: u64, why: String } }

#[derive(DERIVE)]
pub struct Rumour { pub text: String, pub about: u64, pub truth: f32 }

#[derive(DERIVE)]
pub struct Faction { pub id: u16, pub name: String, pub leader: Option<u64>, pub members: Vec<u64>, pub colours: (Colour, Colour), pub traits: Vec<Trait> }

#[derive(DERIVE)]
pub enum Trait { Warlike, Peaceful, Traders, Secretive, Devoted(u16) }

#[derive(DERIVE)]
pub struct Relation { pub standing: i16, pub treaty: Option<Treaty>, pub grudges: Vec<Grudge> }

#[derive(DERIVE)]
pub enum Treaty { Truce { until: u64 }, Alliance, Tribute { gold: u32, every: u32 } }

#[derive(DERIVE)]
pub struct Grudge { pub by: u64, pub against: u64, pub weight: i16, pub turn: u64 }

#[derive(DERIVE)]
pub struct MessageLog { pub messages: VecDeque<Message>, pub most: u32, pub unread: u32 }

#[derive(DERIVE)]
pub struct Message { pub turn: u64, pub text: String, pub colour: Colour, pub kind: MessageKind, pub count: u16 }

#[derive(DERIVE)]
pub enum MessageKind { Info, Combat, Loot, Danger, Quest(u32), Speech { by: u64 } }

#[derive(DERIVE)]
pub struct Settings { pub volume: f32, pub music: f32, pub fullscreen: bool, pub scale: u8, pub language: String, pub keys: Vec<KeyBinding>, pub theme: Theme, pub autosave: Option<u32> }

#[derive(DERIVE)]
pub struct KeyBinding { pub key: u32, pub modifiers: u8, pub action: String }

#[derive(DERIVE)]
pub struct Theme { pub name: String, pub colours: [Colour; 16], pub font: String, pub size: f32 }

#[derive(DERIVE)]
pub struct Statistics { pub turns: u64, pub steps: u64, pub damage_dealt: u64, pub damage_taken: u64, pub deepest: i16, pub deaths: Vec<Death>, pub crafted: BTreeMap<String, u32> }

#[derive(DERIVE)]
pub struct Death { pub cause: Damage, pub by: Option<String>, pub at: Position, pub turn: u64 }

#[derive(DERIVE)]
pub struct Tutorials { pub seen: BTreeSet<u16>, pub enabled: bool }

#[derive(DERIVE)]
pub struct Achievement { pub id: u16, pub at: u64, pub state: Progress }
