//! The example data sets are the ones the `rust_serialization_benchmark` suite
//! measures: in a plain row format they have exactly its published sizes, and
//! the bytes whose zlib size (by `libflate` 2.3.0) was once seen to be its too.
//!
//! The row format is written out here, apart from the library: lengths as
//! `u64`, tags and bools as `u8`, numbers at their own width, little-endian.

#[path = "../../persist/examples/savedata/data/mod.rs"]
mod data;

use data::{log, mesh, minecraft, mk48};

/// The bytes of a data set, and how many strings and sequences they hold.
#[derive(Default)]
struct Rows {
    bytes: Vec<u8>,
    strings: usize,
    text: usize,
    sequences: usize,
}

impl Rows {
    fn length(&mut self, n: usize) {
        self.bytes.extend_from_slice(&(n as u64).to_le_bytes());
    }

    /// FNV-1a, to notice when the same number of other bytes is written.
    fn checksum(&self) -> u64 {
        let mix = |sum: u64, &byte: &u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
    }
}

trait Row {
    fn row(&self, out: &mut Rows);
}

fn rows(value: &impl Row) -> Rows {
    let mut out = Rows::default();
    value.row(&mut out);
    out
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Row for $type {
            fn row(&self, out: &mut Rows) {
                out.bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

numbers!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);

macro_rules! tags {
    ($($type:ty)*) => {$(
        impl Row for $type {
            fn row(&self, out: &mut Rows) {
                out.bytes.push(*self as u8);
            }
        }
    )*};
}

tags!(bool minecraft::GameType mk48::EntityType);

macro_rules! structs {
    ($($type:ty { $($field:tt)* })*) => {$(
        impl Row for $type {
            fn row(&self, out: &mut Rows) {
                $(self.$field.row(out);)*
            }
        }
    )*};
}

structs! {
    (f32, f32) { 0 1 }
    (f64, f64, f64) { 0 1 2 }
    (i8, i8) { 0 1 }
    ([u32; 4], minecraft::Entity) { 0 1 }

    log::Logs { logs }
    log::Log { address identity userid date request code size }
    log::Address { x0 x1 x2 x3 }

    mesh::Mesh { triangles }
    mesh::Triangle { v0 v1 v2 normal }
    mesh::Vector3 { x y z }

    minecraft::Players { players }
    minecraft::Player {
        game_type previous_game_type score dimension selected_item_slot selected_item
        spawn_dimension spawn_x spawn_y spawn_z spawn_forced sleep_timer
        food_exhaustion_level food_saturation_level food_tick_timer xp_level xp_p xp_total
        xp_seed inventory ender_items abilities entered_nether_position root_vehicle
        shoulder_entity_left shoulder_entity_right seen_credits recipe_book
    }
    minecraft::Item { count slot id }
    minecraft::Abilities {
        walk_speed fly_speed may_fly flying invulnerable may_build instabuild
    }
    minecraft::Entity {
        id pos motion rotation fall_distance fire air on_ground no_gravity invulnerable
        portal_cooldown uuid custom_name custom_name_visible silent glowing
    }
    minecraft::RecipeBook {
        recipes to_be_displayed is_filtering_craftable is_gui_open
        is_furnace_filtering_craftable is_furnace_gui_open
        is_blasting_furnace_filtering_craftable is_blasting_furnace_gui_open
        is_smoker_filtering_craftable is_smoker_gui_open
    }

    mk48::Updates { updates }
    mk48::Update { contacts score world_radius terrain_updates }
    mk48::Contact {
        damage entity_id entity_type guidance player_id reloads transform turret_angles
    }
    mk48::Guidance { angle submerge velocity }
    mk48::Transform { altitude angle position velocity }
    mk48::TerrainUpdate { chunk_id data }
}

impl Row for String {
    fn row(&self, out: &mut Rows) {
        out.strings += 1;
        out.text += self.len();
        out.length(self.len());
        out.bytes.extend_from_slice(self.as_bytes());
    }
}

impl<T: Row> Row for Vec<T> {
    fn row(&self, out: &mut Rows) {
        out.sequences += 1;
        out.length(self.len());
        for one in self {
            one.row(out);
        }
    }
}

impl<T: Row, const N: usize> Row for [T; N] {
    fn row(&self, out: &mut Rows) {
        for one in self {
            one.row(out);
        }
    }
}

impl<T: Row> Row for Option<T> {
    fn row(&self, out: &mut Rows) {
        self.is_some().row(out);
        if let Some(one) = self {
            one.row(out);
        }
    }
}

#[test]
fn log_has_the_published_size() {
    let out = rows(&log::generate());
    assert_eq!(out.bytes.len(), 1_045_784);
    assert_eq!(out.checksum(), 0x8cce_f662_ca69_584f);
}

#[test]
fn log_is_mostly_short_strings() {
    let logs = log::generate();
    let out = rows(&logs);
    assert_eq!(logs.logs.len(), 10_000);
    assert_eq!((out.strings, out.text), (40_000, 585_776));
    assert_eq!(out.sequences, 1);
}

#[test]
fn mesh_has_the_published_size() {
    let out = rows(&mesh::generate());
    assert_eq!(out.bytes.len(), 6_000_008);
    assert_eq!(out.checksum(), 0xc0c2_b715_6080_ebae);
}

#[test]
fn mesh_is_one_run_of_floats() {
    let mesh = mesh::generate();
    assert_eq!(mesh.triangles.len(), 125_000);
    assert_eq!(size_of::<mesh::Triangle>(), 48);
    assert_eq!(rows(&mesh).sequences, 1);
}

#[test]
fn minecraft_has_the_published_size() {
    let out = rows(&minecraft::generate());
    assert_eq!(out.bytes.len(), 566_975);
    assert_eq!(out.checksum(), 0xced4_40d7_fab4_379b);
}

#[test]
fn minecraft_players_hold_what_was_counted() {
    let players = minecraft::generate();
    let out = rows(&players);
    assert_eq!((out.strings, out.text), (28_094, 168_456));
    assert_eq!(out.sequences, 2001);

    let players = &players.players;
    assert_eq!(players.len(), 500);
    let sum = |of: fn(&minecraft::Player) -> usize| players.iter().map(of).sum::<usize>();
    assert_eq!(sum(|p| p.inventory.len()), 9370);
    assert_eq!(sum(|p| p.ender_items.len()), 6527);
    let recipes = sum(|p| p.recipe_book.recipes.len() + p.recipe_book.to_be_displayed.len());
    assert_eq!(recipes, 9892);
    assert_eq!(sum(|p| p.spawn_dimension.iter().len()), 237);
    assert_eq!(sum(|p| p.spawn_forced.iter().len()), 254);
    assert_eq!(sum(|p| p.entered_nether_position.iter().len()), 253);
    assert_eq!(sum(|p| p.root_vehicle.iter().len()), 246);
    assert_eq!(sum(|p| p.shoulder_entity_left.iter().len()), 239);
    assert_eq!(sum(|p| p.shoulder_entity_right.iter().len()), 248);
}

#[test]
fn mk48_has_the_published_size() {
    let out = rows(&mk48::generate());
    assert_eq!(out.bytes.len(), 1_791_489);
    assert_eq!(out.checksum(), 0x0696_e358_9a7f_6bbe);
}

#[test]
fn mk48_updates_hold_what_was_counted() {
    let updates = mk48::generate();
    // The outermost sequence, two for each update, two for each contact and
    // one for each piece of terrain.
    assert_eq!(rows(&updates).sequences, 1 + 2 * 1000 + 2 * 29_655 + 6064);

    let updates = &updates.updates;
    assert_eq!(updates.len(), 1000);
    let contacts: Vec<_> = updates.iter().flat_map(|u| &u.contacts).collect();
    assert_eq!(contacts.len(), 29_655);
    let sum = |of: fn(&mk48::Contact) -> usize| contacts.iter().map(|c| of(c)).sum::<usize>();
    assert_eq!(sum(|c| c.entity_type.iter().len()), 20_915);
    assert_eq!(sum(|c| c.player_id.iter().len()), 20_915);
    assert_eq!(sum(|c| c.reloads.len()), 193_984);
    assert_eq!(sum(|c| c.turret_angles.len()), 34_021);
    let terrain: Vec<_> = updates.iter().flat_map(|u| &u.terrain_updates).collect();
    assert_eq!(terrain.len(), 6064);
    assert_eq!(terrain.iter().map(|t| t.data.len()).sum::<usize>(), 166_215);
}
