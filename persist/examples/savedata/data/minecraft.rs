//! The players of a block game: deep records, many of them optional.

use persist::Persist;
use rand::Rng;
use rand_pcg::Lcg64Xsh32;

use super::{all, coin, many, maybe, name};

/// Everyone on a server.
#[derive(Clone, Debug, PartialEq, Persist)]
#[cfg_attr(rivals, rivals::codecs_and_fory)]
pub struct Players {
    pub players: Vec<Player>,
}

/// One player.
#[derive(Clone, Debug, PartialEq, Persist)]
#[cfg_attr(rivals, rivals::codecs_and_fory)]
pub struct Player {
    pub game_type: GameType,
    pub previous_game_type: GameType,
    pub score: i64,
    pub dimension: String,
    pub selected_item_slot: u32,
    pub selected_item: Item,
    pub spawn_dimension: Option<String>,
    pub spawn_x: i64,
    pub spawn_y: i64,
    pub spawn_z: i64,
    pub spawn_forced: Option<bool>,
    pub sleep_timer: u16,
    pub food_exhaustion_level: f32,
    pub food_saturation_level: f32,
    pub food_tick_timer: u32,
    pub xp_level: u32,
    pub xp_p: f32,
    pub xp_total: i32,
    pub xp_seed: i32,
    pub inventory: Vec<Item>,
    pub ender_items: Vec<Item>,
    pub abilities: Abilities,
    pub entered_nether_position: Option<(f64, f64, f64)>,
    pub root_vehicle: Option<([u32; 4], Entity)>,
    pub shoulder_entity_left: Option<Entity>,
    pub shoulder_entity_right: Option<Entity>,
    pub seen_credits: bool,
    pub recipe_book: RecipeBook,
}

/// The rules for what a player may do to the world.
#[derive(Clone, Copy, Debug, PartialEq, Persist)]
#[cfg_attr(rivals, rivals::codecs_and_fory)]
#[repr(u8)]
pub enum GameType {
    Survival,
    Creative,
    Adventure,
    Spectator,
}

/// A stack in a bag.
#[derive(Clone, Debug, PartialEq, Persist)]
#[cfg_attr(rivals, rivals::codecs_and_fory)]
pub struct Item {
    pub count: i8,
    pub slot: u8,
    pub id: String,
}

/// How a player moves.
#[derive(Clone, Debug, PartialEq, Persist)]
#[cfg_attr(rivals, rivals::codecs_and_fory)]
pub struct Abilities {
    pub walk_speed: f32,
    pub fly_speed: f32,
    pub may_fly: bool,
    pub flying: bool,
    pub invulnerable: bool,
    pub may_build: bool,
    pub instabuild: bool,
}

/// An animal or a monster.
#[derive(Clone, Debug, PartialEq, Persist)]
#[cfg_attr(rivals, rivals::codecs_and_fory)]
pub struct Entity {
    pub id: String,
    pub pos: (f64, f64, f64),
    pub motion: (f64, f64, f64),
    pub rotation: (f32, f32),
    pub fall_distance: f32,
    pub fire: u16,
    pub air: u16,
    pub on_ground: bool,
    pub no_gravity: bool,
    pub invulnerable: bool,
    pub portal_cooldown: i32,
    pub uuid: [u32; 4],
    pub custom_name: Option<String>,
    pub custom_name_visible: bool,
    pub silent: bool,
    pub glowing: bool,
}

/// The recipes that a player has learnt.
#[derive(Clone, Debug, PartialEq, Persist)]
#[cfg_attr(rivals, rivals::codecs_and_fory)]
pub struct RecipeBook {
    pub recipes: Vec<String>,
    pub to_be_displayed: Vec<String>,
    pub is_filtering_craftable: bool,
    pub is_gui_open: bool,
    pub is_furnace_filtering_craftable: bool,
    pub is_furnace_gui_open: bool,
    pub is_blasting_furnace_filtering_craftable: bool,
    pub is_blasting_furnace_gui_open: bool,
    pub is_smoker_filtering_craftable: bool,
    pub is_smoker_gui_open: bool,
}

/// Makes the 500 players.
pub fn generate() -> Players {
    let mut rng = super::rng();
    Players { players: all(&mut rng, 500, player) }
}

fn player(rng: &mut Lcg64Xsh32) -> Player {
    Player {
        game_type: game_type(rng),
        previous_game_type: game_type(rng),
        score: rng.r#gen(),
        dimension: name(rng, &DIMENSIONS),
        selected_item_slot: rng.r#gen(),
        selected_item: item(rng),
        spawn_dimension: maybe(rng, |rng| name(rng, &DIMENSIONS)),
        spawn_x: rng.r#gen(),
        spawn_y: rng.r#gen(),
        spawn_z: rng.r#gen(),
        spawn_forced: maybe(rng, coin),
        sleep_timer: rng.r#gen(),
        food_exhaustion_level: rng.r#gen(),
        food_saturation_level: rng.r#gen(),
        food_tick_timer: rng.r#gen(),
        xp_level: rng.r#gen(),
        xp_p: rng.r#gen(),
        xp_total: rng.r#gen(),
        xp_seed: rng.r#gen(),
        inventory: many(rng, 0..40, item),
        ender_items: many(rng, 0..27, item),
        abilities: Abilities {
            walk_speed: rng.r#gen(),
            fly_speed: rng.r#gen(),
            may_fly: coin(rng),
            flying: coin(rng),
            invulnerable: coin(rng),
            may_build: coin(rng),
            instabuild: coin(rng),
        },
        entered_nether_position: maybe(rng, Rng::r#gen),
        root_vehicle: maybe(rng, |rng| (rng.r#gen(), entity(rng))),
        shoulder_entity_left: maybe(rng, entity),
        shoulder_entity_right: maybe(rng, entity),
        seen_credits: coin(rng),
        recipe_book: RecipeBook {
            recipes: many(rng, 0..30, |rng| name(rng, &RECIPES)),
            to_be_displayed: many(rng, 0..10, |rng| name(rng, &RECIPES)),
            is_filtering_craftable: coin(rng),
            is_gui_open: coin(rng),
            is_furnace_filtering_craftable: coin(rng),
            is_furnace_gui_open: coin(rng),
            is_blasting_furnace_filtering_craftable: coin(rng),
            is_blasting_furnace_gui_open: coin(rng),
            is_smoker_filtering_craftable: coin(rng),
            is_smoker_gui_open: coin(rng),
        },
    }
}

fn game_type(rng: &mut Lcg64Xsh32) -> GameType {
    match rng.gen_range(0..4) {
        0 => GameType::Survival,
        1 => GameType::Creative,
        2 => GameType::Adventure,
        _ => GameType::Spectator,
    }
}

fn item(rng: &mut Lcg64Xsh32) -> Item {
    Item { count: rng.r#gen(), slot: rng.r#gen(), id: name(rng, &ITEMS) }
}

fn entity(rng: &mut Lcg64Xsh32) -> Entity {
    Entity {
        id: name(rng, &ANIMALS),
        pos: rng.r#gen(),
        motion: rng.r#gen(),
        rotation: rng.r#gen(),
        fall_distance: rng.r#gen(),
        fire: rng.r#gen(),
        air: rng.r#gen(),
        on_ground: coin(rng),
        no_gravity: coin(rng),
        invulnerable: coin(rng),
        portal_cooldown: rng.r#gen(),
        uuid: rng.r#gen(),
        custom_name: maybe(rng, |rng| name(rng, &PET_NAMES)),
        custom_name_visible: coin(rng),
        silent: coin(rng),
        glowing: coin(rng),
    }
}

const DIMENSIONS: [&str; 3] = ["overworld", "nether", "end"];
const ITEMS: [&str; 8] =
    ["dirt", "stone", "pickaxe", "sand", "gravel", "shovel", "chestplate", "steak"];
const ANIMALS: [&str; 8] =
    ["cow", "sheep", "zombie", "skeleton", "spider", "creeper", "parrot", "bee"];
const PET_NAMES: [&str; 8] =
    ["rainbow", "princess", "steve", "johnny", "missy", "coward", "fairy", "howard"];
const RECIPES: [&str; 8] =
    ["pickaxe", "torch", "bow", "crafting table", "furnace", "shears", "arrow", "tnt"];
