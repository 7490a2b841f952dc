//! What is kept of a value went with any other of its class, and nothing said so: it goes with every
//! one, as autosaves need it, until the manager is cleared.

use persist::{Persist, SaveManager};

mod modded {
    #[derive(persist::Persist)]
    pub(super) struct Game {
        pub(super) level: u32,
        #[persist(default)]
        pub(super) mana: u32,
    }
}

#[derive(Persist)]
struct Game {
    level: u32,
}

#[test]
fn what_is_kept_of_a_value_goes_with_every_save_until_the_manager_is_cleared() {
    let save = persist::to_vec(&modded::Game { level: 1, mana: 9 }).unwrap();
    let mut saves = SaveManager::new();
    let (mut game, loaded) = saves.value_from_slice::<Game>(&save).unwrap();
    saves.adopt(loaded);
    let mana = |save: &[u8]| persist::from_slice::<modded::Game>(save).unwrap().mana;
    for level in 2..4 {
        game.level = level;
        assert_eq!(mana(&saves.value_to_vec(&game).unwrap()), 9);
    }
    saves.clear();
    assert_eq!(mana(&saves.value_to_vec(&Game { level: 1 }).unwrap()), 0);
}
