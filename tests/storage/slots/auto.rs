//! Automatic saves.

use persist::SaveManager;

use crate::slots::{FOLDER, Game, write};

/// The levels in the automatic slots, by name.
fn levels(game: &mut Game) -> Vec<u32> {
    game.names().iter().map(|name| game.load(name).unwrap()).collect()
}

#[test]
fn a_save_of_a_slot_replaces_the_one_before() {
    let mut game = Game::new();
    for level in [1, 2] {
        *game.level.borrow_mut() = level;
        game.saves.slots(FOLDER).save("quick").unwrap();
    }
    assert_eq!(game.names(), ["quick"]);
    assert_eq!(game.load("quick").unwrap(), 2);
}

#[test]
fn automatic_saves_take_the_slots_in_turn() {
    let mut game = Game::new();
    let mut names = Vec::new();
    for level in 1..=7 {
        *game.level.borrow_mut() = level;
        names.push(game.saves.slots(FOLDER).auto_save(3).unwrap().0);
    }
    assert_eq!(names, ["auto1", "auto2", "auto3", "auto1", "auto2", "auto3", "auto1"]);
    assert_eq!(levels(&mut game), [7, 5, 6]);
    let generations: Vec<_> = game
        .saves
        .slots(FOLDER)
        .list()
        .unwrap()
        .iter()
        .map(|slot| slot.header.generation)
        .collect();
    assert_eq!(generations, [7, 5, 6]);
}

#[test]
fn another_run_goes_on_with_the_oldest() {
    let mut game = Game::new();
    for level in 1..=4 {
        *game.level.borrow_mut() = level;
        game.saves.slots(FOLDER).auto_save(3).unwrap();
    }
    let mut again = Game::on(game.disk.clone());
    *again.level.borrow_mut() = 5;
    assert_eq!(again.saves.slots(FOLDER).auto_save(3).unwrap().0, "auto2");
    assert_eq!(levels(&mut again), [4, 5, 3]);
}

#[test]
fn other_slots_are_no_automatic_ones() {
    let mut game = Game::new();
    for name in ["auto", "auto01", "auto1b", "automatic", "quick"] {
        game.save(name, 1);
    }
    assert_eq!(game.saves.slots(FOLDER).auto_save(1).unwrap().0, "auto1");
    assert_eq!(game.saves.slots(FOLDER).auto_save(1).unwrap().0, "auto1");
    assert_eq!(game.saves.slots(FOLDER).auto_save(0).unwrap().0, "auto1");
}

#[test]
fn a_slot_that_was_deleted_is_taken_first() {
    let mut game = Game::new();
    (0..3).for_each(|_| drop(game.saves.slots(FOLDER).auto_save(3).unwrap()));
    game.saves.slots(FOLDER).delete("auto2").unwrap();
    assert_eq!(game.saves.slots(FOLDER).auto_save(3).unwrap().0, "auto2");
    assert_eq!(game.saves.slots(FOLDER).auto_save(3).unwrap().0, "auto1");
}

#[test]
fn a_damaged_slot_is_the_oldest() {
    let mut game = Game::new();
    (0..3).for_each(|_| drop(game.saves.slots(FOLDER).auto_save(3).unwrap()));
    write(&game.disk, "auto3.sav", &[0; 100]);
    assert_eq!(game.saves.slots(FOLDER).auto_save(3).unwrap().0, "auto3");
    assert_eq!(game.saves.slots(FOLDER).auto_save(3).unwrap().0, "auto1");
}

#[test]
fn fewer_and_more_slots_than_before_are_fine() {
    let mut game = Game::new();
    (0..4).for_each(|_| drop(game.saves.slots(FOLDER).auto_save(4).unwrap()));
    let names: Vec<_> = (0..3).map(|_| game.saves.slots(FOLDER).auto_save(2).unwrap().0).collect();
    assert_eq!(names, ["auto1", "auto2", "auto1"]);
    // With more again the oldest of all come first.
    let names: Vec<_> = (0..3).map(|_| game.saves.slots(FOLDER).auto_save(4).unwrap().0).collect();
    assert_eq!(names, ["auto3", "auto4", "auto2"]);
}

#[test]
fn automatic_saves_in_the_background_take_turns_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut saves = SaveManager::new();
    let level = std::rc::Rc::new(std::cell::RefCell::new(0_u32));
    saves.add(&level).unwrap();
    for number in 1..=5 {
        *level.borrow_mut() = number;
        let _ = saves.slots(folder.path()).auto_save_in_background(3).unwrap();
    }
    saves.wait_for_saves().unwrap();
    let slots = saves.slots(folder.path()).list().unwrap();
    let levels: Vec<_> = slots
        .iter()
        .map(|slot| *saves.load(&slot.path).unwrap().first::<u32>().unwrap().borrow())
        .collect();
    assert_eq!(levels, [4, 5, 3]);
}

#[test]
fn one_value_takes_turns_too() {
    let mut game = Game::new();
    for level in 1..=3_u8 {
        game.saves.slots(FOLDER).auto_save_value(2, &level).unwrap();
    }
    assert_eq!(game.saves.slots(FOLDER).load_value::<u8>("auto1").unwrap().0, 3);
    let save = game.saves.slots(FOLDER).auto_save_value_in_background(2, &4_u8).unwrap();
    assert!(save.path().ends_with("auto2.sav"));
    save.wait().unwrap();
    assert_eq!(game.saves.slots(FOLDER).load_value::<u8>("auto2").unwrap().0, 4);
}

#[test]
fn all_automatic_saves_may_be_kept() {
    let mut game = Game::new();
    for number in 1..4 {
        let save = game.saves.slots(FOLDER).auto_save_in_background(u32::MAX).unwrap();
        assert!(save.path().ends_with(format!("auto{}.sav", number * 2 - 1)));
        save.wait().unwrap();
        assert_eq!(
            game.saves.slots(FOLDER).auto_save(u32::MAX).unwrap().0,
            format!("auto{}", number * 2)
        );
    }
}

#[test]
fn slots_are_saved_in_the_background_by_name() {
    let mut game = Game::new();
    for level in [1, 2] {
        *game.level.borrow_mut() = level;
        let _ = game.saves.slots(FOLDER).save_in_background("ada").unwrap();
        let _ = game.saves.slots(FOLDER).save_in_background("quick").unwrap();
    }
    let _ = game.saves.slots(FOLDER).save_value_in_background("value", &7_u8).unwrap();
    game.saves.wait_for_saves().unwrap();
    assert_eq!(game.names(), ["ada", "quick", "value"]);
    assert_eq!((game.load("ada").unwrap(), game.load("quick").unwrap()), (2, 2));
    assert_eq!(game.saves.slots(FOLDER).load_value::<u8>("value").unwrap().0, 7);
    let error = game.saves.slots(FOLDER).save_in_background("../x").unwrap_err();
    assert_eq!(error.kind(), persist::ErrorKind::InvalidValue);
}
