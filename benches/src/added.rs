//! A load of a save from before a field was added to the players of the block game.

use std::hint::black_box;

use crate::data::minecraft;
use crate::harness::Contender;
use crate::report::Role;
use crate::run::Run;

mod newer {
    use persist::Persist;
    use savefile_derive::Savefile;

    use crate::data::minecraft::{Abilities, Entity, GameType, Item, RecipeBook};

    #[derive(Debug, PartialEq, Persist, Savefile)]
    pub(super) struct Players {
        pub(super) players: Vec<Player>,
    }

    #[derive(Debug, PartialEq, Persist, Savefile)]
    pub(super) struct Player {
        pub(super) game_type: GameType,
        pub(super) previous_game_type: GameType,
        pub(super) score: i64,
        pub(super) dimension: String,
        pub(super) selected_item_slot: u32,
        pub(super) selected_item: Item,
        pub(super) spawn_dimension: Option<String>,
        pub(super) spawn_x: i64,
        pub(super) spawn_y: i64,
        pub(super) spawn_z: i64,
        pub(super) spawn_forced: Option<bool>,
        pub(super) sleep_timer: u16,
        pub(super) food_exhaustion_level: f32,
        pub(super) food_saturation_level: f32,
        pub(super) food_tick_timer: u32,
        #[persist(default = 7)]
        #[savefile_versions = "1.."]
        #[savefile_default_val = "7"]
        pub(super) rank: u32,
        pub(super) xp_level: u32,
        pub(super) xp_p: f32,
        pub(super) xp_total: i32,
        pub(super) xp_seed: i32,
        pub(super) inventory: Vec<Item>,
        pub(super) ender_items: Vec<Item>,
        pub(super) abilities: Abilities,
        pub(super) entered_nether_position: Option<(f64, f64, f64)>,
        pub(super) root_vehicle: Option<([u32; 4], Entity)>,
        pub(super) shoulder_entity_left: Option<Entity>,
        pub(super) shoulder_entity_right: Option<Entity>,
        pub(super) seen_credits: bool,
        pub(super) recipe_book: RecipeBook,
    }
}

/// Measures loads of a save of `value` into the newer types, with what each codec checks by default.
///
/// savefile is the only rival on this data set that can load it: the bytes of wincode and bitcode do not say which
/// fields they hold.
pub(crate) fn measure(run: &mut Run, value: &minecraft::Players) {
    let persist_save = persist::to_vec(value).expect("it can be saved");
    let mut savefile_save = Vec::new();
    savefile::save(&mut savefile_save, 0, value).expect("it can be saved");
    let by_persist = || -> newer::Players {
        persist::from_slice(black_box(&persist_save)).expect("the added field has a default")
    };
    let by_savefile = || -> newer::Players {
        savefile::load(&mut black_box(savefile_save.as_slice()), 1)
            .expect("version 1 has the field")
    };
    let loaded = by_persist();
    assert!(loaded == by_savefile(), "persist and savefile load the same players");
    assert_eq!(loaded.players.len(), value.players.len());
    for (newer, older) in loaded.players.iter().zip(&value.players) {
        assert_eq!((newer.rank, newer.score), (7, older.score));
        assert_eq!(newer.recipe_book, older.recipe_book);
    }
    let contenders = vec![
        Contender::new("savefile", Role::Rival, || drop(black_box(by_savefile()))),
        Contender::new("persist", Role::Ours, || drop(black_box(by_persist()))),
    ];
    let rounds = run.rounds(31);
    run.measure("a field added, us", "minecraft_savedata", 1.0, contenders, rounds);
}
