//! The state of a roguelike: types of a dozen crates in a hundred of its own, and not one that needs a line by hand.

#[allow(unreachable_pub, reason = "the example has it too")]
#[path = "examples/roguelike/make.rs"]
mod make;
#[allow(unreachable_pub, reason = "the example has it too")]
#[path = "examples/roguelike/state.rs"]
mod state;

use persist::Saves;
use rand_pcg::rand_core::RngCore;

use make::Size;
use state::{Game, Slot};

const SMALL: Size = Size { maps: 4, items: 400, characters: 20 };

#[test]
fn the_state_of_a_roguelike_comes_back_whole() {
    let saves = Saves::new();
    let game = make::game(7, SMALL);
    let save = saves.to_vec(&game).unwrap();
    let loaded = saves.from_slice::<Game>(&save).unwrap();
    assert!(loaded.report().is_clean());
    assert_eq!(saves.to_vec(&loaded).unwrap(), save, "the same state has the same bytes");
    // What equal bytes do not show: that keys and hashed maps still find what they found.
    let weapon = |game: &Game| {
        let player = &game.characters[&game.player.unwrap()];
        game.items[&player.equipment.worn[Slot::Weapon].unwrap()].clone()
    };
    assert_eq!(weapon(&loaded), weapon(&game));
    assert_eq!(loaded.maps[0].items, game.maps[0].items);
    assert_eq!(loaded.maps[1].tiles, game.maps[1].tiles);
    assert_eq!(loaded.started, game.started);
    assert_eq!(loaded.settings.keys, game.settings.keys);
}

#[test]
fn the_dice_fall_as_if_the_game_had_never_ended() {
    let mut game = make::game(9, SMALL);
    for _ in 0..37 {
        game.dice.world.next_u32();
        game.dice.loot.next_u64();
    }
    let mut loaded: Game = persist::from_slice(&persist::to_vec(&game).unwrap()).unwrap();
    for _ in 0..100 {
        assert_eq!(loaded.dice.world.next_u32(), game.dice.world.next_u32());
        assert_eq!(loaded.dice.loot.next_u64(), game.dice.loot.next_u64());
    }
}

#[test]
fn no_type_of_it_needs_a_line_by_hand() {
    let state = include_str!("examples/roguelike/state.rs");
    let attributes: Vec<&str> =
        state.lines().map(str::trim).filter(|line| line.starts_with("#[persist(")).collect();
    assert!(attributes.iter().all(|line| *line == "#[persist(transparent)]"), "{attributes:?}");
    assert!(!state.contains("impl Persist"));
    let types = state.matches("#[derive(Persist").count() - 1 + 12; // the ids are made by a macro
    assert!(types >= 96, "{types} types");
}
