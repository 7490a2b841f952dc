//! A load that may salvage took what was whole of the damaged save although its backup was good; and the next saves
//! pushed the wreck out.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use persist::save::LoadPolicy;
use persist::storage::{Memory, Storage};
use persist::{ErrorKind, LoadOptions, SaveManager, Saves};

const SAVE: &str = "game.sav";

fn manager(disk: &Memory) -> SaveManager {
    let saves = Saves::new()
        .storage(disk.clone())
        .load_options(LoadOptions::new().policy(LoadPolicy::Salvage));
    saves.register::<String>().unwrap();
    saves.manager()
}

/// Saves many objects with a text.
fn save(disk: &Memory, text: &str) {
    let mut manager = manager(disk);
    let objects: Vec<_> = (0..300).map(|_| Rc::new(RefCell::new(text.repeat(1_000)))).collect();
    for object in &objects {
        manager.add(object).unwrap();
    }
    manager.save(SAVE).unwrap();
}

fn read(disk: &Memory, name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    disk.open(Path::new(name)).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

/// Flips bits from one byte to another, in each block there.
fn damage(disk: &Memory, name: &str, bytes: std::ops::Range<usize>) -> Vec<u8> {
    let mut save = read(disk, name);
    for at in bytes.step_by(20_000) {
        save[at] ^= 1;
    }
    disk.remove(Path::new(name)).unwrap();
    disk.create(Path::new(name), Path::new(name)).unwrap().write_all(&save).unwrap();
    save
}

fn names(disk: &Memory) -> Vec<PathBuf> {
    let mut names = disk.list(Path::new(".")).unwrap();
    names.sort();
    names
}

#[test]
fn a_good_backup_goes_before_a_wreck() {
    let disk = Memory::default();
    save(&disk, "old");
    save(&disk, "new");
    damage(&disk, SAVE, 80_000..80_001);
    let loaded = manager(&disk).load(SAVE).unwrap();
    assert!(loaded.report().recovery().is_some() && loaded.report().salvage().is_none());
    assert_eq!(loaded.iter::<String>().count(), 300);
}

#[test]
fn the_wreck_with_the_most_objects_is_salvaged_and_kept() {
    let disk = Memory::default();
    save(&disk, "old");
    save(&disk, "new");
    let newer = damage(&disk, SAVE, 80_000..280_000);
    let older = damage(&disk, "game.sav.bak", 80_000..80_001);
    for _ in 0..2 {
        let loaded = manager(&disk).load(SAVE).unwrap();
        let salvage = loaded.report().salvage().unwrap().clone();
        assert_eq!(salvage.file.as_deref(), Some(Path::new("game.sav.bak")));
        assert_eq!(salvage.objects + salvage.lost.unwrap(), 300);
        assert!(salvage.objects > 200, "{salvage:?}");
        assert!(loaded.iter::<String>().all(|text| text.borrow().starts_with("old")));
        assert_eq!(salvage.kept.as_deref(), Some(Path::new("game.sav.damaged")));
        let summary = loaded.report().summary();
        assert!(summary.contains("could be rescued from game.sav.bak and "), "{summary}");
        // Kept once, however often it is loaded; and it is still the save.
        assert_eq!(read(&disk, "game.sav.damaged"), older);
        assert_eq!(read(&disk, "game.sav.damaged2"), newer);
        assert_eq!(names(&disk).len(), 4);
    }
    // The next saves find both kept, and no wreck becomes a backup of theirs.
    for text in ["one", "two", "three"] {
        save(&disk, text);
        assert_eq!(read(&disk, "game.sav.damaged"), older);
        assert_eq!(read(&disk, "game.sav.damaged2"), newer);
    }
    damage(&disk, SAVE, 80_000..80_001);
    let loaded = manager(&disk).load(SAVE).unwrap();
    assert!(loaded.report().recovery().is_some());
    assert!(loaded.iter::<String>().all(|text| text.borrow().starts_with("two")));
}

#[test]
fn a_wreck_without_objects_is_an_error_that_names_the_file() {
    let disk = Memory::default();
    save(&disk, "new");
    damage(&disk, SAVE, 1_000..900_000);
    let before = read(&disk, SAVE);
    let error = manager(&disk).load(SAVE).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(error.message().starts_with("game.sav cannot be loaded, "), "{error}");
    assert!(error.message().contains("all 300 objects are lost"), "{error}");
    assert_eq!(read(&disk, SAVE), before);
    // The next saves do not drop it.
    assert_eq!(read(&disk, "game.sav.damaged"), before);
    assert_eq!(names(&disk).len(), 2);
}
