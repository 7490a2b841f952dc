//! The players of the block game as older programs of it might have had them: what a load of a
//! save of another schema costs.

use std::hint::black_box;

use persist::Saves;

use crate::added;
use crate::data::minecraft;
use crate::harness::{Contender, measure};
use crate::report::Role;
use crate::run::Run;

/// Every field has a new name.
mod renamed {
    use persist::Persist;

    #[derive(Persist)]
    #[allow(dead_code, reason = "loaded only")]
    #[persist(class = "Players")]
    pub(super) struct Players {
        #[persist(alias = "players")]
        _players: Vec<Player>,
    }

    #[derive(Persist)]
    #[allow(dead_code, reason = "loaded only")]
    #[persist(class = "Player")]
    pub(super) struct Player {
        #[persist(alias = "game_type")]
        _game_type: GameType,
        #[persist(alias = "previous_game_type")]
        _previous_game_type: GameType,
        #[persist(alias = "score")]
        _score: i64,
        #[persist(alias = "dimension")]
        _dimension: String,
        #[persist(alias = "selected_item_slot")]
        _selected_item_slot: u32,
        #[persist(alias = "selected_item")]
        _selected_item: Item,
        #[persist(alias = "spawn_dimension")]
        _spawn_dimension: Option<String>,
        #[persist(alias = "spawn_x")]
        _spawn_x: i64,
        #[persist(alias = "spawn_y")]
        _spawn_y: i64,
        #[persist(alias = "spawn_z")]
        _spawn_z: i64,
        #[persist(alias = "spawn_forced")]
        _spawn_forced: Option<bool>,
        #[persist(alias = "sleep_timer")]
        _sleep_timer: u16,
        #[persist(alias = "food_exhaustion_level")]
        _food_exhaustion_level: f32,
        #[persist(alias = "food_saturation_level")]
        _food_saturation_level: f32,
        #[persist(alias = "food_tick_timer")]
        _food_tick_timer: u32,
        #[persist(alias = "xp_level")]
        _xp_level: u32,
        #[persist(alias = "xp_p")]
        _xp_p: f32,
        #[persist(alias = "xp_total")]
        _xp_total: i32,
        #[persist(alias = "xp_seed")]
        _xp_seed: i32,
        #[persist(alias = "inventory")]
        _inventory: Vec<Item>,
        #[persist(alias = "ender_items")]
        _ender_items: Vec<Item>,
        #[persist(alias = "abilities")]
        _abilities: Abilities,
        #[persist(alias = "entered_nether_position")]
        _entered_nether_position: Option<(f64, f64, f64)>,
        #[persist(alias = "root_vehicle")]
        _root_vehicle: Option<([u32; 4], Entity)>,
        #[persist(alias = "shoulder_entity_left")]
        _shoulder_entity_left: Option<Entity>,
        #[persist(alias = "shoulder_entity_right")]
        _shoulder_entity_right: Option<Entity>,
        #[persist(alias = "seen_credits")]
        _seen_credits: bool,
        #[persist(alias = "recipe_book")]
        _recipe_book: RecipeBook,
    }

    #[derive(Persist)]
    #[allow(dead_code, reason = "loaded only")]
    #[persist(class = "GameType")]
    pub(super) enum GameType {
        Survival,
        Creative,
        Adventure,
        Spectator,
    }

    #[derive(Persist)]
    #[allow(dead_code, reason = "loaded only")]
    #[persist(class = "Item")]
    pub(super) struct Item {
        #[persist(alias = "count")]
        _count: i8,
        #[persist(alias = "slot")]
        _slot: u8,
        #[persist(alias = "id")]
        _id: String,
    }

    #[derive(Persist)]
    #[allow(dead_code, reason = "loaded only")]
    #[persist(class = "Abilities")]
    pub(super) struct Abilities {
        #[persist(alias = "walk_speed")]
        _walk_speed: f32,
        #[persist(alias = "fly_speed")]
        _fly_speed: f32,
        #[persist(alias = "may_fly")]
        _may_fly: bool,
        #[persist(alias = "flying")]
        _flying: bool,
        #[persist(alias = "invulnerable")]
        _invulnerable: bool,
        #[persist(alias = "may_build")]
        _may_build: bool,
        #[persist(alias = "instabuild")]
        _instabuild: bool,
    }

    #[derive(Persist)]
    #[allow(dead_code, reason = "loaded only")]
    #[persist(class = "Entity")]
    pub(super) struct Entity {
        #[persist(alias = "id")]
        _id: String,
        #[persist(alias = "pos")]
        _pos: (f64, f64, f64),
        #[persist(alias = "motion")]
        _motion: (f64, f64, f64),
        #[persist(alias = "rotation")]
        _rotation: (f32, f32),
        #[persist(alias = "fall_distance")]
        _fall_distance: f32,
        #[persist(alias = "fire")]
        _fire: u16,
        #[persist(alias = "air")]
        _air: u16,
        #[persist(alias = "on_ground")]
        _on_ground: bool,
        #[persist(alias = "no_gravity")]
        _no_gravity: bool,
        #[persist(alias = "invulnerable")]
        _invulnerable: bool,
        #[persist(alias = "portal_cooldown")]
        _portal_cooldown: i32,
        #[persist(alias = "uuid")]
        _uuid: [u32; 4],
        #[persist(alias = "custom_name")]
        _custom_name: Option<String>,
        #[persist(alias = "custom_name_visible")]
        _custom_name_visible: bool,
        #[persist(alias = "silent")]
        _silent: bool,
        #[persist(alias = "glowing")]
        _glowing: bool,
    }

    #[derive(Persist)]
    #[allow(dead_code, reason = "loaded only")]
    #[persist(class = "RecipeBook")]
    pub(super) struct RecipeBook {
        #[persist(alias = "recipes")]
        _recipes: Vec<String>,
        #[persist(alias = "to_be_displayed")]
        _to_be_displayed: Vec<String>,
        #[persist(alias = "is_filtering_craftable")]
        _is_filtering_craftable: bool,
        #[persist(alias = "is_gui_open")]
        _is_gui_open: bool,
        #[persist(alias = "is_furnace_filtering_craftable")]
        _is_furnace_filtering_craftable: bool,
        #[persist(alias = "is_furnace_gui_open")]
        _is_furnace_gui_open: bool,
        #[persist(alias = "is_blasting_furnace_filtering_craftable")]
        _is_blasting_furnace_filtering_craftable: bool,
        #[persist(alias = "is_blasting_furnace_gui_open")]
        _is_blasting_furnace_gui_open: bool,
        #[persist(alias = "is_smoker_filtering_craftable")]
        _is_smoker_filtering_craftable: bool,
        #[persist(alias = "is_smoker_gui_open")]
        _is_smoker_gui_open: bool,
    }
}

/// Every field and variant stands elsewhere.
mod reordered {
    use persist::Persist;

    #[derive(Persist)]
    #[allow(dead_code, reason = "loaded only")]
    #[persist(class = "Players")]
    pub(super) struct Players {
        players: Vec<Player>,
    }

    #[derive(Persist)]
    #[allow(dead_code, reason = "loaded only")]
    #[persist(class = "Player")]
    pub(super) struct Player {
        xp_seed: i32,
        xp_total: i32,
        xp_p: f32,
        xp_level: u32,
        food_tick_timer: u32,
        food_saturation_level: f32,
        food_exhaustion_level: f32,
        sleep_timer: u16,
        spawn_forced: Option<bool>,
        spawn_z: i64,
        spawn_y: i64,
        spawn_x: i64,
        spawn_dimension: Option<String>,
        selected_item: Item,
        selected_item_slot: u32,
        dimension: String,
        score: i64,
        previous_game_type: GameType,
        game_type: GameType,
        recipe_book: RecipeBook,
        seen_credits: bool,
        shoulder_entity_right: Option<Entity>,
        shoulder_entity_left: Option<Entity>,
        root_vehicle: Option<([u32; 4], Entity)>,
        entered_nether_position: Option<(f64, f64, f64)>,
        abilities: Abilities,
        ender_items: Vec<Item>,
        inventory: Vec<Item>,
    }

    #[derive(Persist)]
    #[allow(dead_code, reason = "loaded only")]
    #[persist(class = "GameType")]
    pub(super) enum GameType {
        Spectator,
        Adventure,
        Creative,
        Survival,
    }

    #[derive(Persist)]
    #[allow(dead_code, reason = "loaded only")]
    #[persist(class = "Item")]
    pub(super) struct Item {
        slot: u8,
        count: i8,
        id: String,
    }

    #[derive(Persist)]
    #[allow(dead_code, reason = "loaded only")]
    #[persist(class = "Abilities")]
    pub(super) struct Abilities {
        invulnerable: bool,
        flying: bool,
        may_fly: bool,
        fly_speed: f32,
        walk_speed: f32,
        instabuild: bool,
        may_build: bool,
    }

    #[derive(Persist)]
    #[allow(dead_code, reason = "loaded only")]
    #[persist(class = "Entity")]
    pub(super) struct Entity {
        portal_cooldown: i32,
        invulnerable: bool,
        no_gravity: bool,
        on_ground: bool,
        air: u16,
        fire: u16,
        fall_distance: f32,
        rotation: (f32, f32),
        motion: (f64, f64, f64),
        pos: (f64, f64, f64),
        id: String,
        glowing: bool,
        silent: bool,
        custom_name_visible: bool,
        custom_name: Option<String>,
        uuid: [u32; 4],
    }

    #[derive(Persist)]
    #[allow(dead_code, reason = "loaded only")]
    #[persist(class = "RecipeBook")]
    pub(super) struct RecipeBook {
        is_blasting_furnace_filtering_craftable: bool,
        is_furnace_gui_open: bool,
        is_furnace_filtering_craftable: bool,
        is_gui_open: bool,
        is_filtering_craftable: bool,
        to_be_displayed: Vec<String>,
        recipes: Vec<String>,
        is_smoker_gui_open: bool,
        is_smoker_filtering_craftable: bool,
        is_blasting_furnace_gui_open: bool,
    }
}

/// Every field stands elsewhere, and every number that can is wider.
mod changed {
    use persist::Persist;

    #[derive(Persist)]
    #[allow(dead_code, reason = "loaded only")]
    #[persist(class = "Players")]
    pub(super) struct Players {
        players: Vec<Player>,
    }

    #[derive(Persist)]
    #[allow(dead_code, reason = "loaded only")]
    #[persist(class = "Player")]
    pub(super) struct Player {
        xp_seed: i64,
        xp_total: i64,
        xp_p: f64,
        xp_level: u64,
        food_tick_timer: u64,
        food_saturation_level: f64,
        food_exhaustion_level: f64,
        sleep_timer: u32,
        spawn_forced: Option<bool>,
        spawn_z: i64,
        spawn_y: i64,
        spawn_x: i64,
        spawn_dimension: Option<String>,
        selected_item: Item,
        selected_item_slot: u64,
        dimension: String,
        score: i64,
        previous_game_type: GameType,
        game_type: GameType,
        recipe_book: RecipeBook,
        seen_credits: bool,
        shoulder_entity_right: Option<Entity>,
        shoulder_entity_left: Option<Entity>,
        root_vehicle: Option<([u64; 4], Entity)>,
        entered_nether_position: Option<(f64, f64, f64)>,
        abilities: Abilities,
        ender_items: Vec<Item>,
        inventory: Vec<Item>,
    }

    #[derive(Persist)]
    #[allow(dead_code, reason = "loaded only")]
    #[persist(class = "GameType")]
    pub(super) enum GameType {
        Spectator,
        Adventure,
        Creative,
        Survival,
    }

    #[derive(Persist)]
    #[allow(dead_code, reason = "loaded only")]
    #[persist(class = "Item")]
    pub(super) struct Item {
        slot: u16,
        count: i16,
        id: String,
    }

    #[derive(Persist)]
    #[allow(dead_code, reason = "loaded only")]
    #[persist(class = "Abilities")]
    pub(super) struct Abilities {
        invulnerable: bool,
        flying: bool,
        may_fly: bool,
        fly_speed: f64,
        walk_speed: f64,
        instabuild: bool,
        may_build: bool,
    }

    #[derive(Persist)]
    #[allow(dead_code, reason = "loaded only")]
    #[persist(class = "Entity")]
    pub(super) struct Entity {
        portal_cooldown: i64,
        invulnerable: bool,
        no_gravity: bool,
        on_ground: bool,
        air: u32,
        fire: u32,
        fall_distance: f64,
        rotation: (f64, f64),
        motion: (f64, f64, f64),
        pos: (f64, f64, f64),
        id: String,
        glowing: bool,
        silent: bool,
        custom_name_visible: bool,
        custom_name: Option<String>,
        uuid: [u64; 4],
    }

    #[derive(Persist)]
    #[allow(dead_code, reason = "loaded only")]
    #[persist(class = "RecipeBook")]
    pub(super) struct RecipeBook {
        is_blasting_furnace_filtering_craftable: bool,
        is_furnace_gui_open: bool,
        is_furnace_filtering_craftable: bool,
        is_gui_open: bool,
        is_filtering_craftable: bool,
        to_be_displayed: Vec<String>,
        recipes: Vec<String>,
        is_smoker_gui_open: bool,
        is_smoker_filtering_craftable: bool,
        is_blasting_furnace_gui_open: bool,
    }
}

/// Measures loads of older saves: into types that have changed, and after a field was added.
pub(crate) fn run(run: &mut Run) -> Result<(), String> {
    let value = minecraft::generate();
    let save = persist::to_vec(&value).expect("it can be saved");
    loads::<renamed::Players>(run, "renamed", &save);
    loads::<reordered::Players>(run, "reordered", &save);
    loads::<changed::Players>(run, "reordered and widened", &save);
    added::measure(run, &value);
    Ok(())
}

fn loads<T: persist::Persist>(run: &mut Run, name: &'static str, save: &[u8]) {
    let value: T = persist::from_slice(save).expect("the types differ in what a load can mend");
    let own = persist::to_vec(&value).expect("it has just been loaded");
    let saves = Saves::new();
    let load = |save: &[u8]| {
        let value = saves.from_slice::<T>(black_box(save)).expect("it was loaded before");
        drop(black_box(value));
    };
    let load = &load;
    let contender = |save| Contender::new(name, Role::Ours, move || load(save));
    let rounds = run.rounds(31);
    let contenders = vec![contender(own.as_slice()), contender(save)];
    for (measured, set) in measure(contenders, rounds).zip(["own schema", "older schema"]) {
        run.timed("load, us", name, set, Role::Ours, measured.time);
    }
}
