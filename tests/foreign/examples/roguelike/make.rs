//! A state of a roguelike, made from a seed.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::num::{NonZeroU8, NonZeroU16, NonZeroU32};
use std::time::Duration;

use arrayvec::{ArrayString, ArrayVec};
use enum_map::EnumMap;
use fixedbitset::FixedBitSet;
use glam::{IVec2, IVec3, Vec2, Vec3};
use indexmap::{IndexMap, IndexSet};
use jiff::Timestamp;
use ordered_float::OrderedFloat;
use rand_chacha_0_9::ChaCha8Rng;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{RngCore, SeedableRng};
use smallvec::{SmallVec, smallvec};
use smol_str_0_3::SmolStr;
use uuid::Uuid;

use super::state::*;

/// How large a state is.
#[derive(Clone, Copy)]
pub struct Size {
    pub maps: u32,
    pub items: u32,
    pub characters: u32,
}

struct Maker {
    dice: Pcg64Mcg,
    turn: u64,
}

const ITEMS: [&str; 12] = [
    "rock",
    "rope_30",
    "knife_small",
    "apple",
    "water_clean",
    "torch_lit",
    "scroll_blank",
    "arrow_wood",
    "tin_soup",
    "helmet_leather",
    "ring_plain",
    "coin_purse_old_and_worn",
];
const SPECIES: [&str; 6] = ["human", "rat", "wolf", "skeleton", "giant_spider", "cat"];
const TERRAINS: [&str; 8] = [
    "t_floor",
    "t_wall_stone",
    "t_grass_long",
    "t_water_deep",
    "t_door_wood",
    "t_rubble",
    "t_bridge",
    "t_lava",
];
const SKILLS: [&str; 6] = ["melee", "cooking", "lockpicking", "archery", "spellcraft", "swimming"];

impl Maker {
    /// A number below `most`.
    fn below(&mut self, most: u32) -> u32 {
        self.dice.next_u32() % most
    }

    fn small(&mut self, most: u8) -> u8 {
        self.below(u32::from(most)) as u8
    }

    fn is_rare(&mut self, one_in: u32) -> bool {
        self.below(one_in) == 0
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u32) as usize]
    }

    fn float(&mut self, most: f32) -> f32 {
        self.below(1 << 20) as f32 / (1 << 20) as f32 * most
    }

    fn turn(&mut self) -> Turn {
        self.turn += u64::from(self.below(9));
        Turn(self.turn)
    }

    fn at(&mut self) -> IVec2 {
        let side = SIDE as u32;
        IVec2::new(self.below(side) as i32, self.below(side) as i32)
    }

    fn place(&mut self, maps: u32) -> Place {
        Place { map: self.below(maps), at: self.at() }
    }

    fn count(&mut self, most: u8) -> NonZeroU8 {
        NonZeroU8::MIN.saturating_add(self.small(most))
    }

    fn counted(&mut self, most: u16) -> NonZeroU16 {
        NonZeroU16::MIN.saturating_add(self.below(u32::from(most)) as u16)
    }

    fn dice(&mut self) -> Dice {
        Dice { count: self.count(4), sides: self.count(12), bonus: self.small(3) as i8 - 1 }
    }

    fn meter(&mut self) -> Meter {
        let most = 20 + self.below(80) as i32;
        Meter { now: most - self.below(20) as i32, most, growth: self.float(1.0) }
    }

    fn uuid(&mut self) -> Uuid {
        let mut bytes = [0; 16];
        self.dice.fill_bytes(&mut bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    }

    fn item_type(&mut self) -> ItemTypeId {
        self.pick(&ITEMS).into()
    }

    fn item(&mut self) -> Item {
        let charges = match self.below(6) {
            0 => Charges::Uses(self.below(30) as u16),
            1 => Charges::Liquid {
                kind: "water_clean".into(),
                amount: Millilitre(self.below(2_000)),
            },
            2 => Charges::Rot { since: self.turn(), days: OrderedFloat(self.float(30.0)) },
            3 => Charges::Magazine(vec![("arrow_wood".into(), 12)]),
            _ => Charges::None,
        };
        let mut marks = BTreeMap::new();
        if self.is_rare(20) {
            marks
                .insert(SmolStr::new("maker"), SmolStr::new("Ada the smith of the northern hills"));
        }
        let faults: SmallVec<[FaultId; 2]> =
            (0..self.below(2)).map(|_| FaultId::from("fault_rust")).collect();
        Item {
            kind: self.item_type(),
            count: self.counted(5),
            flags: ItemFlags::from_bits_truncate(self.below(32) as u16),
            damage: self.small(4).into(),
            birthday: self.turn(),
            temperature: self.is_rare(4).then_some(Celsius(21.5)),
            owner: None,
            charges,
            contents: Contents::default(),
            faults,
            marks,
            note: self.is_rare(50).then(|| "do not touch".into()),
        }
    }

    fn pocket(&mut self, inside: ItemKey) -> Pocket {
        let accepts = match self.below(3) {
            0 => PocketRule::Anything,
            1 => PocketRule::Only(smallvec!["rock".into(), "rope_30".into()]),
            _ => PocketRule::Not(HashSet::from(["WET".into(), "SHARP".into()])),
        };
        Pocket { size: 0..=500, weight: Gram(2_000), items: vec![inside], accepts }
    }

    fn map(
        &mut self,
        id: u32,
        lying: &mut impl Iterator<Item = ItemKey>,
        people: &[CharacterKey],
    ) -> Map {
        let terrains: IndexSet<TerrainId> =
            TERRAINS.iter().map(|id| TerrainId::from(*id)).collect();
        let mut tiles = Box::new([[Tile::default(); SIDE]; SIDE]);
        for tile in tiles.iter_mut().flatten() {
            *tile = Tile {
                terrain: self.below(TERRAINS.len() as u32) as u16,
                furniture: if self.is_rare(9) { 1 } else { 0 },
                light: self.small(16),
                scent: 0,
            };
        }
        let mut seen = FixedBitSet::with_capacity(SIDE * SIDE);
        seen.insert_range(0..self.below(SIDE as u32) as usize * SIDE);
        let mut items: HashMap<IVec2, Vec<ItemKey>> = HashMap::new();
        for item in lying {
            items.entry(self.at()).or_default().push(item);
        }
        let mut fuel = IndexMap::new();
        fuel.insert(ItemTypeId::from("oil"), Millilitre(700));
        let vehicle = Vehicle {
            id: self.uuid(),
            name: ArrayString::from("cart").unwrap_or_default(),
            at: self.at(),
            facing: self.float(6.0),
            velocity: Vec2::new(self.float(2.0), 0.0),
            parts: vec![VehiclePart {
                kind: "wheel_wood".into(),
                mount: self.at(),
                health: self.meter(),
                cargo: vec![],
                state: PartState::Whole,
            }],
            fuel,
            driver: people.first().copied().filter(|_| self.is_rare(9)),
        };
        Map {
            id,
            name: SmolStr::new(format!("Cellar {id} of the old keep")),
            position: IVec3::new(id as i32 % 20, id as i32 / 20, -1),
            tiles,
            terrains,
            furniture: ["f_none", "f_table_oak"].map(FurnitureId::from).into_iter().collect(),
            seen,
            items,
            fields: vec![Field {
                kind: FieldKind::Gas { toxic: true },
                at: self.at(),
                strength: self.count(3),
                age: self.turn(),
            }],
            traps: BTreeMap::from([(
                3,
                Trap {
                    at: self.at(),
                    kind: TrapKind::Dart(self.dice()),
                    armed_by: None,
                    is_hidden: true,
                },
            )]),
            vehicles: vec![vehicle],
            zones: vec![Zone {
                name: "field".into(),
                corner: self.at(),
                size: IVec2::splat(4),
                rule: ZoneRule::Farm { plant: "wheat".into(), ripe: None },
                faction: "villagers".into(),
            }],
            weather: Weather::Rain {
                strength: self.small(9),
                wind: Vec2::new(0.5, self.float(3.0)),
            },
            lights: vec![Light {
                at: Vec2::new(self.float(24.0), self.float(24.0)),
                colour: Vec3::new(1.0, 0.8, 0.4),
                radius: 5.0,
                flicker: Some(Flicker { amount: 0.2, period: Duration::from_millis(120) }),
            }],
            sounds: VecDeque::from([Sound {
                at: self.at(),
                loudness: 12,
                what: "a drip".into(),
                when: self.turn(),
            }]),
            portals: vec![Portal {
                from: self.at(),
                to: Place { map: 0, at: IVec2::ONE },
                is_open: false,
            }],
            last_visit: (!id.is_multiple_of(3)).then(|| self.turn()),
        }
    }

    fn character(
        &mut self,
        maps: u32,
        inventory: Vec<ItemKey>,
        other: Option<CharacterKey>,
    ) -> Character {
        let mut equipment = Equipment::default();
        equipment.worn[Slot::Weapon] = inventory.first().copied();
        equipment.quick = inventory.iter().copied().take(9).collect::<ArrayVec<_, 9>>();
        let skills = SKILLS.iter().take(1 + self.below(5) as usize).map(|id| {
            let skill = Skill {
                level: self.small(10),
                progress: OrderedFloat(self.float(1.0)),
                last_used: Some(self.turn()),
            };
            (SkillId::from(*id), skill)
        });
        let skills = skills.collect();
        let mind = match (self.below(4), other) {
            (0, Some(target)) => {
                Mind::Hunting { target, path: VecDeque::from([self.at(), self.at()]) }
            }
            (1, Some(leader)) => Mind::Following(leader),
            (2, _) => Mind::Working(Job::Guard { post: self.place(maps), radius: 4 }),
            _ => Mind::Idle,
        };
        let mut memory = Memory::default();
        if let Some(other) = other {
            memory.met.insert(other, Opinion { trust: 3, fear: -1, value: self.small(9) as i8 });
        }
        memory.places.insert(self.place(maps), "home".into());
        let mut body: EnumMap<BodyPart, BodyState> = EnumMap::default();
        for (part, state) in &mut body {
            state.health = self.meter();
            state.temperature = Celsius(36.6);
            if part == BodyPart::Legs && self.is_rare(3) {
                let kind = WoundKind::Bite { is_infected: true };
                state.wounds.push(Wound { kind, depth: 2, since: self.turn(), is_dressed: false });
            }
        }
        Character {
            id: self.uuid(),
            name: SmolStr::new(format!("Villager {}", self.below(10_000))),
            species: self.pick(&SPECIES).into(),
            flags: CharacterFlags::from_bits_truncate(self.below(8)),
            place: self.place(maps),
            offset: Vec2::new(self.float(1.0), self.float(1.0)),
            body,
            stats: EnumMap::from_fn(|_| 8),
            health: self.meter(),
            needs: Needs {
                hunger: self.below(100) as i16,
                morale: VecDeque::from([MoraleEvent {
                    why: format!("heard rumour {}", self.below(100)).into(),
                    bonus: -2,
                    until: self.turn(),
                }]),
                ..Needs::default()
            },
            skills,
            traits: ["brave", "night_vision"].map(TraitId::from).into(),
            equipment,
            inventory,
            wallet: Coins(i64::from(self.below(500)) - 20),
            effects: vec![Effect {
                kind: EffectKind::Poison(self.dice()),
                strength: 2,
                ends: Some(self.turn()),
                by: other,
            }],
            mind,
            memory,
            spells: vec![Spell {
                id: "light".into(),
                level: self.count(4),
                experience: self.below(900),
                cooldown: Some(Duration::from_secs(6)),
            }],
            craft: None,
            faction: "villagers".into(),
            dice: Pcg64Mcg::seed_from_u64(self.dice.next_u64()),
        }
    }
}

/// A state of this size, the same for each seed.
pub fn game(seed: u64, size: Size) -> Game {
    let mut maker = Maker { dice: Pcg64Mcg::seed_from_u64(seed), turn: 10_000 };
    let mut items: IndexMap<ItemKey, Item> =
        (0..size.items).map(|key| (ItemKey(key), maker.item())).collect();
    let keys: Vec<ItemKey> = items.keys().copied().collect();
    // Every seventh lies in the one before.
    for pair in keys.chunks(7).filter(|pair| pair.len() > 1) {
        let pocket = maker.pocket(pair[1]);
        items[&pair[0]].contents.pockets.push(pocket);
    }
    let mut characters = IndexMap::new();
    let mut people: Vec<CharacterKey> = Vec::new();
    for number in 0..size.characters {
        let inventory: Vec<_> = keys.iter().copied().skip(number as usize * 5).take(5).collect();
        let other = people.last().copied();
        let key = CharacterKey(number);
        characters.insert(key, maker.character(size.maps, inventory, other));
        people.push(key);
    }
    let player = people.first().copied();
    if let Some(player) = player
        && let Some(character) = characters.get_mut(&player)
    {
        character.craft = Some(Box::new(Craft {
            recipe: "soup".into(),
            done: Duration::from_secs(90),
            used: vec![],
            state: CraftState::Working { by: player, since: maker.turn() },
        }));
    }
    let mut lying = keys.iter().copied();
    let each = (size.items / size.maps.max(1)) as usize;
    let maps =
        (0..size.maps).map(|id| maker.map(id, &mut lying.by_ref().take(each), &people)).collect();
    let mut cities = BTreeMap::new();
    let shop = Shop {
        owner: people.last().copied(),
        stock: keys.iter().copied().take(9).collect(),
        prices: ITEMS.iter().map(|id| (ItemTypeId::from(*id), Coins(12))).collect(),
        opens: 8..=20,
        kind: ShopKind::Magic { level: maker.count(3) },
    };
    cities.insert(
        SmolStr::new("Westhaven"),
        City {
            centre: IVec2::new(-40, 12),
            population: 1_200,
            founded: Timestamp::constant(-3_600_000_000, 5),
            shops: vec![shop],
            reputation: EnumMap::from_fn(|biome| if biome == Biome::Swamp { -5 } else { 2 }),
        },
    );
    let mut explored = FixedBitSet::with_capacity(10_000);
    explored.extend((0..size.maps as usize).map(|map| map * 7));
    let faction = Faction {
        name: "Villagers of Westhaven".into(),
        relations: IndexMap::from([("rats".into(), Relation::Enemy { since: maker.turn() })]),
        wealth: Coins(90_000),
        leader: player,
        holds: HashSet::from([1, 2, 3]),
    };
    Game {
        id: maker.uuid(),
        started: Timestamp::constant(1_790_000_000, 123_456_789),
        turn: maker.turn(),
        maps,
        overmap: Overmap {
            regions: vec![Region {
                biome: Biome::Forest,
                corner: IVec2::ZERO,
                size: IVec2::splat(100),
                danger: OrderedFloat(0.25),
            }],
            roads: vec![Road {
                points: (0..12).map(|_| maker.at()).collect(),
                kind: RoadKind::Bridge { length: 3 },
            }],
            cities,
            explored,
            notes: HashMap::from([(
                IVec2::new(3, 4),
                Note { text: "buried here".into(), symbol: '☠', colour: 0xff_00_00 },
            )]),
        },
        items,
        characters,
        player,
        factions: IndexMap::from([("villagers".into(), faction)]),
        quests: vec![Quest {
            id: "rats_in_the_cellar".into(),
            giver: people.last().copied(),
            state: QuestState::Active { since: maker.turn() },
            goals: [
                Goal::Kill { species: "rat".into(), left: 7 },
                Goal::Bring("apple".into(), NonZeroU32::MIN),
            ]
            .into_iter()
            .chain(player.map(Goal::Talk))
            .collect(),
            reward: Reward {
                coins: Coins(50),
                items: vec![("ring_plain".into(), 1)],
                standing: Some(("villagers".into(), 10)),
            },
            deadline: None,
        }],
        recipes: vec![Recipe {
            id: "soup".into(),
            result: ("tin_soup".into(), maker.counted(3)),
            time: Duration::from_secs(600),
            skill: Some(("cooking".into(), 2)),
            parts: vec![vec![
                Ingredient::Item("apple".into(), 2),
                Ingredient::Liquid("water_clean".into(), Millilitre(250)),
                Ingredient::Flag("SPICE".into(), 1),
            ]],
            tools: ["pot", "spoon"].map(ItemTypeId::from).into_iter().collect(),
        }],
        events: vec![Event {
            at: maker.turn(),
            what: EventKind::Spawn {
                species: "wolf".into(),
                at: maker.place(size.maps),
                count: 1..=3,
            },
            repeat: Some(Duration::from_secs(86_400)),
        }],
        log: (0..200)
            .map(|number| Message {
                text: SmolStr::new(format!("You hear {number} footsteps")),
                turn: maker.turn(),
                tone: Tone::Plain,
                count: maker.counted(3),
            })
            .collect(),
        corpses: vec![Corpse {
            of: "rat".into(),
            name: None,
            place: maker.place(size.maps),
            died: maker.turn(),
        }],
        achievements: vec![Achievement {
            name: "First blood".into(),
            reached: Some(maker.turn()),
            secret: SecretRule::Hidden,
        }],
        camera: Camera { at: Vec2::new(1.5, 2.5), zoom: 1.0, follows: player },
        statistics: Statistics {
            kills: BTreeMap::from([("rat".into(), 31)]),
            steps: 123_456,
            played: Duration::from_secs(7_200),
            deepest: -4,
            crafted: HashMap::from([("soup".into(), 4)]),
        },
        settings: Settings {
            difficulty: Difficulty::Custom { monsters: 1.5, loot: 0.5, is_permanent: true },
            keys: BTreeMap::from([('i', ArrayString::from("inventory").unwrap_or_default())]),
            volume: OrderedFloat(0.7),
            mods: vec![ModInfo { name: "more_rats".into(), version: (1, 2, 3), is_on: true }],
        },
        dice: AllDice {
            world: ChaCha8Rng::seed_from_u64(seed),
            loot: Pcg64Mcg::seed_from_u64(seed + 1),
        },
    }
}
