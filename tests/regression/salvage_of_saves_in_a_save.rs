//! A salvage took the blocks of a save in the metadata or in a field for those of the save, and its trailer
//! for the end.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use persist::save::{Compression, LoadPolicy, SlotInfo};
use persist::storage::{Memory, Storage};
use persist::{LoadOptions, Loaded, Result, SaveManager, SaveOptions, Saves};
use persist_tests::support::Shared;
use persist_tests::support::short_or_long;

fn numbers(from: u32, many: u32) -> Vec<Shared<u32>> {
    (from..from + many).map(|number| Rc::new(RefCell::new(number))).collect()
}

fn saved(objects: &[Shared<u32>], manager: &mut SaveManager) -> Vec<u8> {
    add(objects, manager);
    manager.to_vec().unwrap()
}

fn add(objects: &[Shared<u32>], manager: &mut SaveManager) {
    for object in objects {
        manager.add(object).unwrap();
    }
}

fn salvage(save: &[u8]) -> Result<Loaded<SaveManager>> {
    let saves = Saves::new().load_options(LoadOptions::new().policy(LoadPolicy::Salvage));
    saves.register::<u32>().unwrap();
    saves.register::<Vec<u8>>().unwrap();
    saves.from_slice(save)
}

#[test]
fn a_damaged_header_costs_the_metadata_alone() {
    let disk = Memory::default();
    let mut manager = Saves::new().storage(disk.clone()).manager();
    add(&numbers(1, 100), &mut manager);
    let info = SlotInfo::new("seven").value(&(7_u32, String::from("seven"))).unwrap();
    manager.saves().file("a.sav").info(info).save(&manager).unwrap();
    let mut save = Vec::new();
    disk.open(Path::new("a.sav")).unwrap().read_to_end(&mut save).unwrap();
    let header = 20 + u32::from_le_bytes(save[12..16].try_into().unwrap()) as usize;
    for bit in 0..header * 8 {
        let mut save = save.clone();
        save[bit / 8] ^= 1 << (bit % 8);
        let loaded = salvage(&save).unwrap_or_else(|error| panic!("bit {bit}: {error}"));
        assert_eq!((loaded.iter::<u32>().count(), loaded.len()), (100, 100), "bit {bit}");
    }
    // Together with the end nobody says whether something is missing, and nothing is.
    let mut save = save[..save.len() - 4].to_vec();
    save[20] ^= 1;
    assert_eq!(salvage(&save).unwrap().len(), 100);
}

/// Many objects with saves as their bytes, and a hundred numbers behind them.
fn world(compression: Compression) -> Vec<u8> {
    let inner = saved(&numbers(1_000, 50), &mut SaveManager::new());
    let mut manager =
        Saves::new().save_options(SaveOptions::new().compression(compression)).manager();
    let chunks: Vec<Shared<Vec<u8>>> =
        (0..400).map(|_| Rc::new(RefCell::new(inner.clone()))).collect();
    for chunk in &chunks {
        manager.add(chunk).unwrap();
    }
    saved(&numbers(1, 100), &mut manager)
}

fn check(save: &[u8], what: &str) -> (usize, usize) {
    let Ok(loaded) = salvage(save) else { return (0, 0) };
    for number in loaded.iter::<u32>() {
        assert!(*number.borrow() <= 100, "{what}: {} is of a save inside", number.borrow());
    }
    let numbers = loaded.iter::<u32>().count();
    let chunks = loaded.iter::<Vec<u8>>();
    let whole = chunks.filter(|chunk| chunk.borrow().starts_with(b"\x89PST")).count();
    assert_eq!(numbers + whole, loaded.len(), "{what}");
    (numbers, whole)
}

#[test]
fn a_damaged_block_costs_its_objects_alone() {
    let mut kinds = vec![Compression::None];
    #[cfg(feature = "lz4")]
    kinds.push(Compression::Lz4);
    for compression in kinds {
        let save = world(compression);
        let all = check(&save, "whole");
        assert_eq!(all, (100, 400));
        for at in (20..save.len() - 29).step_by(save.len() / short_or_long(12, 50)) {
            for bit in [0, 7] {
                let mut changed = save.clone();
                changed[at] ^= 1 << bit;
                let what = format!("{compression:?}, bit {bit} of byte {at}");
                let (numbers, chunks) = check(&changed, &what);
                // The classes are defined in the first block, the numbers are in the last.
                assert!(
                    numbers == 100 || chunks > 200 || at < 70_000,
                    "{what}: {numbers}, {chunks}"
                );
            }
            let before = check(&save[..at], &format!("{compression:?}, cut off at {at}"));
            assert!(before.0 <= all.0 && before.1 <= all.1);
        }
    }
}

/// The length of the damaged block is wrong, too, so that a search begins in it.
#[test]
fn a_block_with_a_wrong_length_does_not_end_in_another_save() {
    let save = world(Compression::None);
    let length = u32::from_le_bytes(save[21..25].try_into().unwrap()) as usize;
    let second = 20 + 5 + length + 4;
    for change in [1, 0x80] {
        for byte in 0..4 {
            let mut save = save.clone();
            save[second + 1 + byte] ^= change;
            let (numbers, chunks) = check(&save, "a wrong length");
            assert!(numbers == 100 && chunks > 250, "{numbers}, {chunks}");
        }
    }
}
