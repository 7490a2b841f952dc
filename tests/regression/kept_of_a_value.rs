//! What is kept of a value went with any other of its class, and nothing said so: it goes with every save of the loaded
//! value, as autosaves need it, and with no other value.

use persist::{Loaded, Persist, Saves};

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
fn what_is_kept_of_a_value_goes_with_every_save_of_it_and_with_no_other() {
    let save = persist::to_vec(&modded::Game { level: 1, mana: 9 }).unwrap();
    let saves = Saves::new();
    let mut game = saves.from_slice::<Game>(&save).unwrap();
    let mana = |save: &[u8]| persist::from_slice::<modded::Game>(save).unwrap().mana;
    for level in 2..4 {
        game.level = level;
        assert_eq!(mana(&saves.to_vec(&game).unwrap()), 9);
        assert_eq!(mana(&saves.to_vec(&Game { level }).unwrap()), 0);
    }
    assert_eq!(mana(&saves.to_vec(&*game).unwrap()), 0);
    // A new game in the place of the old one.
    game = Loaded::from(Game { level: 1 });
    assert_eq!(mana(&saves.to_vec(&game).unwrap()), 0);
}
