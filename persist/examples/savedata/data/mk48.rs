//! The updates of a ship game: small records, bit lists and bytes.

use persist::Persist;
use rand::Rng;
use rand::distributions::{Distribution, WeightedIndex};
use rand_pcg::Lcg64Xsh32;

use super::{all, length};

/// Everything a server sends.
#[derive(Clone, Debug, PartialEq, Persist)]
#[cfg_attr(rivals, rivals::codecs_and_fory)]
pub struct Updates {
    pub updates: Vec<Update>,
}

/// A message of the server to one player.
#[derive(Clone, Debug, PartialEq, Persist)]
#[cfg_attr(rivals, rivals::codecs_and_fory)]
pub struct Update {
    pub contacts: Vec<Contact>,
    pub score: u32,
    pub world_radius: f32,
    pub terrain_updates: Vec<TerrainUpdate>,
}

/// A ship, seen or only heard.
#[derive(Clone, Debug, PartialEq, Persist)]
#[cfg_attr(rivals, rivals::codecs_and_fory)]
pub struct Contact {
    pub damage: u8,
    pub entity_id: u32,
    pub entity_type: Option<EntityType>,
    pub guidance: Guidance,
    pub player_id: Option<u16>,
    pub reloads: Vec<bool>,
    pub transform: Transform,
    pub turret_angles: Vec<u16>,
}

/// A class of ship.
#[derive(Clone, Copy, Debug, PartialEq, Persist)]
#[cfg_attr(rivals, rivals::codecs_and_fory)]
#[repr(u8)]
pub enum EntityType {
    ArleighBurke,
    Bismarck,
    Clemenceau,
    Fletcher,
    G5,
    Iowa,
    Kolkata,
    Osa,
    Yasen,
    Zubr,
}

/// The course that a player orders for a ship.
#[derive(Clone, Debug, PartialEq, Persist)]
#[cfg_attr(rivals, rivals::codecs_and_fory)]
pub struct Guidance {
    pub angle: u16,
    pub submerge: bool,
    pub velocity: i16,
}

/// Where a ship is.
#[derive(Clone, Debug, PartialEq, Persist)]
#[cfg_attr(rivals, rivals::codecs_and_fory)]
pub struct Transform {
    pub altitude: i8,
    pub angle: u16,
    pub position: (f32, f32),
    pub velocity: i16,
}

/// A piece of the map.
#[derive(Clone, Debug, PartialEq, Persist)]
#[cfg_attr(rivals, rivals::codecs_and_fory)]
pub struct TerrainUpdate {
    pub chunk_id: (i8, i8),
    pub data: Vec<u8>,
}

/// Makes the 1000 updates.
pub fn generate() -> Updates {
    let mut rng = super::rng();
    let classes = WeightedIndex::new(CLASSES.iter().map(|class| class.weight))
        .expect("the weights are all above zero");
    Updates { updates: all(&mut rng, 1000, |rng| update(rng, &classes)) }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "players are in 200..400, the radius is 2, the score in 0..5000"
)]
fn update(rng: &mut Lcg64Xsh32, classes: &WeightedIndex<f32>) -> Update {
    // An `i32`, since narrower types are drawn in another way.
    let players = rng.gen_range(200..400_i32) as u16;
    let world_radius = (f32::from(players) * 15_000.0).sqrt() + rng.gen_range(-50.0_f32..50.0);
    let terrain_radius = (world_radius / 1600.0).ceil() as i8;

    let count = rng.gen_range(20..40);
    let contacts = (0..count).map(|_| contact(rng, classes, players)).collect();

    // Most scores are low. Multiplied out, for the same bits on any machine.
    let luck: f32 = rng.r#gen();
    let luck = luck * luck;
    let score = (luck * luck * 5000.0) as u32 + rng.gen_range(0..50);

    let count = rng.gen_range(3..10);
    let terrain_updates = (0..count).map(|_| terrain(rng, terrain_radius)).collect();
    Update { contacts, score, world_radius, terrain_updates }
}

fn contact(rng: &mut Lcg64Xsh32, classes: &WeightedIndex<f32>, players: u16) -> Contact {
    let class = &CLASSES[classes.sample(rng)];
    let visible = rng.gen_bool(0.7);
    Contact {
        damage: if visible && rng.gen_bool(0.6) { 0 } else { rng.gen_range(0..200) },
        entity_id: rng.gen_range(0..u32::from(players) * 20),
        entity_type: visible.then_some(class.kind),
        guidance: Guidance {
            angle: rng.r#gen(),
            submerge: submerge(rng, class.kind),
            velocity: velocity(rng),
        },
        player_id: visible.then(|| rng.gen_range(0..players)),
        reloads: if visible {
            let ready = rng.gen_range(0.0..1.0);
            (0..class.weapons).map(|_| rng.gen_bool(ready)).collect()
        } else {
            Vec::new()
        },
        transform: Transform {
            altitude: if submerge(rng, class.kind) { rng.gen_range(-120..-35) } else { 0 },
            angle: rng.r#gen(),
            position: (rng.gen_range(-750.0..750.0), rng.gen_range(-750.0..750.0)),
            velocity: velocity(rng),
        },
        turret_angles: if visible {
            let base: u16 = rng.r#gen();
            (0..class.turrets).map(|_| turret(rng, base)).collect()
        } else {
            Vec::new()
        },
    }
}

/// Only submarines dive, and only they draw.
fn submerge(rng: &mut Lcg64Xsh32, kind: EntityType) -> bool {
    kind == EntityType::Yasen && rng.gen_bool(0.9)
}

/// Most ships go forward, some lie still, some go back.
fn velocity(rng: &mut Lcg64Xsh32) -> i16 {
    match rng.gen_range(0..100) {
        0..80 => rng.gen_range(140..900),
        80..90 => 0,
        _ => rng.gen_range(-225..-35),
    }
}

/// Most turrets aim close to where the others do.
fn turret(rng: &mut Lcg64Xsh32, base: u16) -> u16 {
    if rng.gen_bool(0.75) {
        base.wrapping_add_signed(rng.gen_range(-200..200))
    } else {
        rng.r#gen()
    }
}

fn terrain(rng: &mut Lcg64Xsh32, radius: i8) -> TerrainUpdate {
    let is_new = rng.gen_bool(0.02);
    let chunk_id = (rng.gen_range(-radius..radius), rng.gen_range(-radius..radius));
    let n = length(rng, if is_new { 900..1100 } else { 3..9 });
    TerrainUpdate { chunk_id, data: (0..n).map(|_| rng.r#gen()).collect() }
}

/// How common a class is, and what it carries.
struct Class {
    kind: EntityType,
    weight: f32,
    turrets: u8,
    weapons: u8,
}

const fn class(kind: EntityType, weight: f32, turrets: u8, weapons: u8) -> Class {
    Class { kind, weight, turrets, weapons }
}

static CLASSES: [Class; 10] = [
    class(EntityType::ArleighBurke, 2.14, 1, 20),
    class(EntityType::Bismarck, 0.52, 4, 10),
    class(EntityType::Clemenceau, 0.97, 4, 16),
    class(EntityType::Fletcher, 1.46, 4, 18),
    class(EntityType::G5, 13.16, 0, 2),
    class(EntityType::Iowa, 1.55, 3, 28),
    class(EntityType::Kolkata, 0.83, 1, 15),
    class(EntityType::Osa, 7.25, 2, 6),
    class(EntityType::Yasen, 4.06, 0, 14),
    class(EntityType::Zubr, 12.92, 3, 11),
];
