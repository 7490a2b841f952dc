//! Automatic saves.

use std::io::Read;

use persist::save::Slots;
use persist::storage::{Memory, Storage};
use persist::{ErrorKind, SaveManager, Saves};

use crate::slots::{Game, read, write};

/// The levels in the automatic slots, by name.
fn levels(game: &Game) -> Vec<u32> {
    game.names().iter().map(|name| game.load(name).unwrap()).collect()
}

/// Saves into a rotation, and returns the slot that it took.
fn auto_save(game: &Game, keep: u32) -> String {
    game.slots.auto(keep).save(&game.manager).unwrap();
    newest(&game.slots, keep)
}

fn newest(slots: &Slots, keep: u32) -> String {
    let path = slots.auto(keep).path().unwrap();
    path.file_stem().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn a_save_of_a_slot_replaces_the_one_before() {
    let game = Game::new();
    for level in [1, 2] {
        game.slots.slot("quick").save(game.at(level)).unwrap();
    }
    assert_eq!(game.names(), ["quick"]);
    assert_eq!(game.load("quick").unwrap(), 2);
}

#[test]
fn automatic_saves_take_the_slots_in_turn() {
    let game = Game::new();
    let mut names = Vec::new();
    for level in 1..=7 {
        game.at(level);
        names.push(auto_save(&game, 3));
    }
    assert_eq!(names, ["auto1", "auto2", "auto3", "auto1", "auto2", "auto3", "auto1"]);
    assert_eq!(levels(&game), [7, 5, 6]);
    let slots = game.slots.list().unwrap();
    let generations: Vec<_> = slots.iter().map(|slot| slot.header.generation).collect();
    assert_eq!(generations, [7, 5, 6]);
}

#[test]
fn a_load_takes_the_newest() {
    let game = Game::new();
    let auto = game.slots.auto(3);
    assert_eq!(auto.load::<SaveManager>().map(drop).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(auto.path().unwrap_err().kind(), ErrorKind::NotFound);
    for level in 1..=5 {
        auto.save(game.at(level)).unwrap();
        let loaded = auto.load::<SaveManager>().unwrap();
        assert_eq!(*loaded.first::<u32>().unwrap().borrow(), level);
    }
    // Also with another number of slots, and in another run.
    let again = Game::on(game.disk.clone());
    let loaded = again.slots.auto(1).load::<SaveManager>().unwrap();
    assert_eq!(*loaded.first::<u32>().unwrap().borrow(), 5);
}

#[test]
fn a_rotation_is_deleted_as_a_whole() {
    let game = Game::new();
    game.save("quick", 1);
    (0..4).for_each(|_| drop(auto_save(&game, 3)));
    game.slots.auto(3).delete().unwrap();
    assert_eq!(game.names(), ["quick"]);
    assert_eq!(game.files(), ["quick.sav"]);
    assert_eq!(game.slots.auto(3).delete().unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn another_run_goes_on_with_the_oldest() {
    let game = Game::new();
    for level in 1..=4 {
        game.slots.auto(3).save(game.at(level)).unwrap();
    }
    let again = Game::on(game.disk.clone());
    again.at(5);
    assert_eq!(auto_save(&again, 3), "auto2");
    assert_eq!(levels(&again), [4, 5, 3]);
}

#[test]
fn other_slots_are_no_automatic_ones() {
    let game = Game::new();
    for name in ["auto", "auto01", "auto1b", "automatic", "quick"] {
        game.save(name, 1);
    }
    for keep in [1, 1, 0] {
        assert_eq!(auto_save(&game, keep), "auto1");
    }
}

#[test]
fn a_slot_that_was_deleted_is_taken_first() {
    let game = Game::new();
    (0..3).for_each(|_| drop(auto_save(&game, 3)));
    game.slots.slot("auto2").delete().unwrap();
    assert_eq!(auto_save(&game, 3), "auto2");
    assert_eq!(auto_save(&game, 3), "auto1");
}

#[test]
fn a_damaged_slot_is_the_oldest() {
    let game = Game::new();
    (0..3).for_each(|_| drop(auto_save(&game, 3)));
    write(&game.disk, "auto3.sav", &[0; 100]);
    assert_eq!(auto_save(&game, 3), "auto3");
    assert_eq!(auto_save(&game, 3), "auto1");
}

#[test]
fn fewer_and_more_slots_than_before_are_fine() {
    let game = Game::new();
    (0..4).for_each(|_| drop(auto_save(&game, 4)));
    let names: Vec<_> = (0..3).map(|_| auto_save(&game, 2)).collect();
    assert_eq!(names, ["auto1", "auto2", "auto1"]);
    // With more again the oldest of all come first.
    let names: Vec<_> = (0..3).map(|_| auto_save(&game, 4)).collect();
    assert_eq!(names, ["auto3", "auto4", "auto2"]);
}

#[test]
fn automatic_saves_in_the_background_take_turns_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut manager = SaveManager::new();
    let level = std::rc::Rc::new(std::cell::RefCell::new(0_u32));
    manager.add(&level).unwrap();
    let slots = manager.saves().slots(folder.path());
    for number in 1..=5 {
        *level.borrow_mut() = number;
        slots.auto(3).save_in_background(&manager).unwrap().wait().unwrap();
    }
    let levels: Vec<_> = slots
        .list()
        .unwrap()
        .iter()
        .map(|slot| *manager.load(&slot.path).unwrap().first::<u32>().unwrap().borrow())
        .collect();
    assert_eq!(levels, [4, 5, 3]);
}

/// Nobody waits for them.
#[test]
fn the_newest_of_many_automatic_saves_in_the_background_is_written() {
    let game = Game::new();
    for level in 1..=50 {
        drop(game.slots.auto(3).save_in_background(game.at(level)).unwrap());
    }
    game.saves().wait().unwrap();
    let loaded = game.slots.auto(3).load::<SaveManager>().unwrap();
    assert_eq!(*loaded.first::<u32>().unwrap().borrow(), 50);
    assert!(game.names().len() <= 3, "{:?}", game.names());
}

#[test]
fn one_value_takes_turns_too() {
    let game = Game::new();
    let auto = game.slots.auto(2);
    for level in 1..=3_u8 {
        auto.save(&level).unwrap();
    }
    assert_eq!(*game.slots.slot("auto1").load::<u8>().unwrap(), 3);
    let save = auto.save_in_background(&4_u8).unwrap();
    while !save.is_done() {
        std::thread::yield_now();
    }
    assert!(save.path().is_some_and(|path| path.ends_with("auto2.sav")));
    save.wait().unwrap();
    assert_eq!(*game.slots.slot("auto2").load::<u8>().unwrap(), 4);
}

#[test]
fn all_automatic_saves_may_be_kept() {
    let game = Game::new();
    for number in 1..4 {
        let save = game.slots.auto(u32::MAX).save_in_background(&game.manager).unwrap();
        save.wait().unwrap();
        assert_eq!(newest(&game.slots, u32::MAX), format!("auto{}", number * 2 - 1));
        assert_eq!(auto_save(&game, u32::MAX), format!("auto{}", number * 2));
    }
}

#[test]
fn slots_are_saved_in_the_background_by_name() {
    let game = Game::new();
    for level in [1, 2] {
        for name in ["ada", "quick"] {
            drop(game.slots.slot(name).save_in_background(game.at(level)).unwrap());
        }
    }
    drop(game.slots.slot("value").save_in_background(&7_u8).unwrap());
    game.saves().wait().unwrap();
    assert_eq!(game.names(), ["ada", "quick", "value"]);
    assert_eq!((game.load("ada").unwrap(), game.load("quick").unwrap()), (2, 2));
    assert_eq!(*game.slots.slot("value").load::<u8>().unwrap(), 7);
    let error = game.slots.slot("../x").save_in_background(&game.manager).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
}

#[test]
fn a_handle_has_its_own_number_of_backups() {
    let game = Game::new();
    let auto = game.slots.auto(1).backups(0);
    for level in 0..3 {
        auto.save(game.at(level)).unwrap();
    }
    assert_eq!(game.files(), ["auto1.sav"]);
    auto.backups(2).save(game.at(3)).unwrap();
    assert_eq!(game.files(), ["auto1.sav", "auto1.sav.bak"]);
}

/// What stands in for a damaged automatic save is the one before it, which is in another slot.
#[test]
fn a_damaged_newest_one_gives_way_to_the_newest_of_the_others() {
    for (damage, backups) in (0..4).flat_map(|damage| [(damage, 1), (damage, 0)]) {
        let game = Game::new();
        let slots = &game.slots;
        for level in 1..=4_u8 {
            slots.auto(3).backups(backups).save(&level).unwrap();
        }
        let path = slots.auto(3).path().unwrap();
        let mut save = Vec::new();
        game.disk.open(&path).unwrap().read_to_end(&mut save).unwrap();
        let middle = save.len() / 2;
        match damage {
            0 => save[middle] ^= 1,
            1 => save.truncate(middle),
            // Its header, by which the newest is found, and all of it.
            2 => save[12] ^= 1,
            _ => save.clear(),
        }
        write(&game.disk, path.file_name().unwrap().to_str().unwrap(), &save);
        for time in ["first", "second"] {
            let loaded = slots.auto(3).load::<u8>().unwrap();
            assert_eq!(*loaded, 3, "the {time} load, damage {damage}, {backups} backups");
            assert!(loaded.recovery().is_some() || time == "second", "damage {damage}");
        }
        assert_eq!(*slots.slot("auto3").load::<u8>().unwrap(), 3);
    }
}

/// Its generation is not known, so it may be the newest: it is no slot for the next save, and no older one stands in.
#[test]
fn an_automatic_save_of_a_newer_format_is_not_passed_over() {
    let game = Game::new();
    let auto = game.slots.auto(3);
    for level in 1..=3_u8 {
        auto.save(&level).unwrap();
    }
    let mut save = read(&game.disk, "auto3.sav");
    save[8] = 9;
    let end = 16 + u32::from_le_bytes(save[12..16].try_into().unwrap()) as usize;
    let crc = crc32fast::hash(&save[..end]).to_le_bytes();
    save[end..end + 4].copy_from_slice(&crc);
    write(&game.disk, "auto3.sav", &save);
    let error = auto.load::<u8>().map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NewerFormat);
    for level in 4..=9_u8 {
        auto.save(&level).unwrap();
    }
    assert_eq!(read(&game.disk, "auto3.sav"), save);
}

/// The folder that a program runs in.
#[test]
fn slots_of_a_folder_without_a_name_are_listed_and_take_turns() {
    let slots = Saves::new().storage(Memory::default()).slots("");
    for level in 1..=5_u8 {
        slots.auto(3).save(&level).unwrap();
    }
    let list = slots.list().unwrap();
    assert_eq!(
        list.iter().map(|slot| &*slot.name).collect::<Vec<_>>(),
        ["auto1", "auto2", "auto3"]
    );
    assert_eq!(*slots.auto(3).load::<u8>().unwrap(), 5);
}
