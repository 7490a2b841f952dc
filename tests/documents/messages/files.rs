//! Files: saves and loads on disks that fail, backups, saves in use, what stands in their place.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use persist::save::{Keep, LoadPolicy};
use persist::storage::{SlotFolder, SlotStore, SlotVersion};
use persist::{Document, Limits, LoadOptions, Persist, SaveManager, SaveOptions};

use crate::messages::disk::{Disk, sweep, sweep_all};
use crate::messages::table::Table;

#[derive(Persist)]
struct Game {
    level: u32,
    map: Vec<u8>,
}

fn game(level: u32) -> Game {
    Game { level, map: vec![7; 1200] }
}

const SAVE: &str = "saves/game.sav";
const BACKUP: &str = "saves/game.sav.bak";

fn manager(disk: &Disk) -> SaveManager {
    let mut saves = SaveManager::new();
    saves.set_storage(disk.clone());
    saves.set_save_options(SaveOptions { wait: Duration::ZERO, ..SaveOptions::default() });
    saves
}

/// A disk with so many saves of one file, one after the other.
fn disk(levels: u32) -> Disk {
    let disk = Disk::default();
    for level in 1..=levels {
        manager(&disk).save_value(SAVE, &game(level)).unwrap();
    }
    disk
}

fn load(disk: &Disk) -> persist::Result<(Game, persist::Loaded)> {
    manager(disk).load_value(SAVE)
}

#[test]
fn operations_that_fail() {
    let mut table = Table::new();
    sweep(&mut table, "a save", || disk(2), |disk| manager(disk).save_value(SAVE, &game(3)));
    sweep(
        &mut table,
        "a save that is read back",
        || disk(2),
        |disk| {
            let mut saves = manager(disk);
            saves.set_save_options(SaveOptions { verify: true, ..SaveOptions::default() });
            saves.save_value(SAVE, &game(3))
        },
    );
    sweep(
        &mut table,
        "a save in the background",
        || disk(2),
        |disk| manager(disk).save_value_in_background(SAVE, &game(3))?.wait(),
    );
    sweep(&mut table, "a load", || disk(2), load);
    let damaged = || {
        let disk = disk(2);
        disk.write(SAVE, &disk.read(SAVE)[..100]);
        disk
    };
    sweep(&mut table, "a load of a damaged save", damaged, load);
    let two = || {
        let disk = disk(2);
        let mut saves = manager(&disk);
        saves.set_device("here").unwrap();
        saves.save_value("saves/other.sav", &game(5)).unwrap();
        disk
    };
    sweep(&mut table, "a comparison", two, |disk| manager(disk).compare(SAVE, "saves/other.sav"));
    let same = || {
        let disk = disk(1);
        disk.write("saves/other.sav", &disk.read(SAVE));
        disk
    };
    sweep(&mut table, "a comparison of two that are the same", same, |disk| {
        manager(disk).compare(SAVE, "saves/other.sav")
    });
    sweep_all(
        &mut table,
        "a save, and all behind it",
        || disk(2),
        |disk| manager(disk).save_value(SAVE, &game(3)),
    );
    for (what, keep) in [("what is here", Keep::Local), ("what is there", Keep::Remote)] {
        sweep(&mut table, &format!("to keep {what}"), two, |disk| {
            manager(disk).reconcile(SAVE, "saves/other.sav", keep)
        });
    }
    insta::assert_snapshot!(table.text());
}

#[test]
fn slots_on_a_disk_that_fails() {
    let mut table = Table::new();
    let two = || {
        let disk = disk(2);
        manager(&disk).slots("saves").save_value("old", &game(1)).unwrap();
        disk.delete("saves/old.sav");
        disk
    };
    sweep(&mut table, "a list", two, |disk| {
        let slots = manager(disk).slots("saves").list()?;
        slots.into_iter().try_for_each(|slot| match slot.health {
            persist::save::Health::Unread(why) => {
                Err(persist::Error::new(persist::ErrorKind::Io, why))
            }
            _ => Ok(()),
        })
    });
    sweep(&mut table, "a copy", two, |disk| manager(disk).slots("saves").copy("game", "new"));
    sweep(&mut table, "a renaming", two, |disk| manager(disk).slots("saves").rename("game", "new"));
    sweep(&mut table, "a deletion", two, |disk| manager(disk).slots("saves").delete("game"));
    sweep(&mut table, "an automatic save", two, |disk| {
        manager(disk).slots("saves").auto_save_value(1, &game(1))
    });
    insta::assert_snapshot!(table.text());
}

#[test]
fn slots_that_are_not_there_or_cannot_be() {
    let mut table = Table::new();
    let disk = disk(2);
    let mut saves = manager(&disk);
    let mut slots = saves.slots("saves");
    slots.save_value("other", &game(1)).unwrap();
    table.add("no slot to copy", slots.copy("none", "new"));
    table.add("no slot to rename", slots.rename("none", "new"));
    table.add("no slot to delete", slots.delete("none"));
    table.add("no slot to load", slots.load("none"));
    table.add("a slot that is there", slots.copy("game", "other"));
    let long = "x".repeat(101);
    for name in ["", &*long, "a/b", ".a", "con"] {
        table.add("a name", slots.path(name));
    }
    disk.write("saves/.killed.sav.old", &disk.read(SAVE));
    disk.write("saves/killed.sav.bak", &disk.read(SAVE));
    disk.write("saves/short.sav", &disk.read(SAVE)[..200]);
    for slot in saves.slots("saves").list().unwrap() {
        table.line(&slot.name, &format!("{:?}", slot.health));
    }
    insta::assert_snapshot!(table.text());
}

#[test]
fn slots_that_others_have_saved() {
    let mut table = Table::new();
    let disk = disk(2);
    let store = SlotFolder::new(disk.clone(), "saves");
    let save = persist::to_vec(&game(3)).unwrap();
    let version = SlotVersion::of(&save);
    table.add("a slot of another version", store.put_if("game", Some(&version), &save));
    table.add("a slot to be created that exists", store.put_if("game", None, &save));
    table.add("a slot that is gone", store.put_if("none", Some(&version), &save));
    table.add("a deletion of another version", store.delete("game", &version));
    table.add("a choice without a device", store.reconcile_if("game", None, &save, &save));
    table.add("the text of a version", "0123-+9".parse::<SlotVersion>());
    disk.fail(0);
    table.add("a list on a disk that fails", store.list());
    insta::assert_snapshot!(table.text());
}

/// A save in which one byte is another.
fn damage(disk: &Disk, path: &str, at: usize) {
    let mut save = disk.read(path);
    save[at] ^= 1;
    disk.write(path, &save);
}

#[test]
fn backups() {
    let mut table = Table::new();
    let alone = disk(1);
    damage(&alone, SAVE, 300);
    table.add("a damaged save without a backup", load(&alone));
    let both = disk(2);
    damage(&both, SAVE, 300);
    damage(&both, BACKUP, 3);
    table.add("a damaged backup", load(&both));
    let removed = disk(2);
    removed.delete(SAVE);
    table.add("a save that was removed", load(&removed));
    table.add("a save that never was", load(&Disk::default()));
    let shown = |table: &mut Table, what: &str, disk: &Disk| {
        let loaded = load(disk).unwrap().1;
        table.line(what, &loaded.report().recovery().unwrap().to_string());
    };
    let recovered = disk(2);
    damage(&recovered, SAVE, 300);
    shown(&mut table, "a backup in its place", &recovered);
    let recovered = disk(2);
    recovered.write(SAVE, &[]);
    shown(&mut table, "a backup of which nothing is known", &recovered);
    let recovered = disk(2);
    damage(&recovered, SAVE, 300);
    let lock = recovered.lock_it("saves/.game.sav.lock");
    shown(&mut table, "a backup while another program saves", &recovered);
    drop(lock);
    let recovered = disk(2);
    let old = recovered.read(BACKUP);
    for level in 3..6 {
        manager(&recovered).save_value(SAVE, &game(level)).unwrap();
    }
    damage(&recovered, SAVE, 300);
    recovered.write(BACKUP, &old);
    shown(&mut table, "an old backup", &recovered);
    let recovered = disk(2);
    let save = recovered.read(SAVE);
    damage(&recovered, SAVE, 300);
    recovered.write(BACKUP, &save);
    shown(&mut table, "a backup that is the save", &recovered);
    insta::assert_snapshot!(table.text());
}

#[test]
fn wrecks() {
    let mut table = Table::new();
    let salvage = |disk: &Disk| {
        let mut saves = manager(disk);
        let options = LoadOptions { policy: LoadPolicy::Salvage, ..LoadOptions::default() };
        saves.set_load_options(options);
        saves.load_value::<Game>(SAVE)
    };
    let lost = disk(1);
    damage(&lost, SAVE, 300);
    table.add("nothing that is whole", salvage(&lost));
    let cut = disk(1);
    cut.write(SAVE, &cut.read(SAVE)[..200]);
    table.add("nothing that is whole, of who knows how much", salvage(&cut));
    let mut bytes = disk(1).read(SAVE);
    bytes[300] ^= 1;
    let mut saves = SaveManager::new();
    let options = LoadOptions { policy: LoadPolicy::Salvage, ..LoadOptions::default() };
    saves.set_load_options(options);
    table.add("a save in memory", saves.from_slice(&bytes));
    let few: Vec<_> = (0..3).map(|level| Rc::new(RefCell::new(game(level)))).collect();
    let mut three = SaveManager::new();
    few.iter().for_each(|game| drop(three.add(game)));
    let mut bytes = three.to_vec().unwrap();
    bytes[300] ^= 1;
    table.add("a save of several objects", saves.from_slice(&bytes));
    let texts: Vec<_> = (0..4).map(|_| Rc::new(RefCell::new("x".repeat(80_000)))).collect();
    texts.iter().for_each(|text| drop(saves.add(text)));
    let mut bytes = saves.to_vec().unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let loaded = saves.from_slice(&bytes).unwrap();
    table.line("one of several objects", &loaded.report().salvage().unwrap().to_string());
    let wreck = disk(1);
    let save = wreck.read(SAVE);
    wreck.write(SAVE, &save[..save.len() - 29]);
    let loaded = salvage(&wreck).unwrap().1;
    table.line("a save without its end", &loaded.report().salvage().unwrap().to_string());
    let wreck = disk(1);
    damage(&wreck, SAVE, 13);
    let loaded = salvage(&wreck).unwrap().1;
    table.line("a save without its header", &loaded.report().salvage().unwrap().to_string());
    insta::assert_snapshot!(table.text());
}

#[test]
fn saves_in_use() {
    let mut table = Table::new();
    let disk = disk(2);
    let lock = disk.lock_it("saves/.game.sav.lock");
    table.add("a lock", manager(&disk).save_value(SAVE, &game(3)));
    drop(lock);
    let mut saves = manager(&disk);
    saves.set_limits(Limits { bytes: 100, ..Limits::default() });
    table.add("a save over the limit", saves.save_value(SAVE, &game(3)));
    table.add("a load over the limit", saves.load_value::<Game>(SAVE));
    let garbled = Disk::default();
    garbled.garble();
    let mut saves = manager(&garbled);
    saves.set_save_options(SaveOptions { verify: true, ..SaveOptions::default() });
    table.add("a disk that writes other bytes", saves.save_value(SAVE, &game(3)));
    disk.panic();
    let save = manager(&disk).save_value_in_background(SAVE, &game(3)).unwrap();
    table.add("a panic", save.wait());
    insta::assert_snapshot!(table.text());
}

#[test]
fn saves_that_are_compared() {
    let mut table = Table::new();
    let disk = disk(2);
    disk.write("saves/short.sav", &disk.read(SAVE)[..200]);
    disk.write("saves/other.sav", b"another file, and no save");
    table.add("one cut short", manager(&disk).compare(SAVE, "saves/short.sav"));
    table.add("one that is none", manager(&disk).compare(SAVE, "saves/other.sav"));
    table.add("one that is not there", manager(&disk).compare(SAVE, "saves/none.sav"));
    insta::assert_snapshot!(table.text());
}

/// A game with a field that has no default, and one of another name.
mod other {
    #[derive(persist::Persist)]
    pub(super) struct Game {
        _boss: u32,
    }

    #[derive(persist::Persist)]
    pub(super) struct Score {
        _points: u32,
    }
}

#[test]
fn saves_that_the_program_cannot_load() {
    let mut table = Table::new();
    let disk = disk(1);
    table.add("another class", manager(&disk).load_value::<other::Score>(SAVE));
    table.add("a value that is no class", manager(&disk).load_value::<u32>(SAVE));
    table.add("a field without a default", manager(&disk).load_value::<other::Game>(SAVE));
    table.add("one value", manager(&disk).load(SAVE));
    disk.write(SAVE, b"another file, and no save");
    table.add("another file", load(&disk));
    insta::assert_snapshot!(table.text());
}

#[test]
fn documents_that_cannot_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = Table::within(folder.path());
    let path = folder.path().join("game.sav");
    table.add("no file", Document::open(&path));
    std::fs::write(&path, b"another file, and no save").unwrap();
    table.add("another file", Document::open(&path));
    persist::save(&path, &game(1)).unwrap();
    let mut save = std::fs::read(&path).unwrap();
    save[40] ^= 1;
    std::fs::write(&path, save).unwrap();
    table.add("a bit of a block", persist::save::dump(&path));
    insta::assert_snapshot!(table.text());
}

#[cfg(target_os = "linux")]
#[test]
fn what_stands_in_the_place_of_a_save() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().canonicalize().unwrap();
    let mut table = Table::within(&folder);
    let save = |path: &Path| persist::save(path, &game(1));
    let path = folder.join("game.sav");
    table.add("no folder", save(&folder.join("none").join("game.sav")));
    table.add("no file", persist::load::<Game>(&path));
    table.add("a long name", save(&folder.join("n".repeat(250))));
    std::fs::create_dir(&path).unwrap();
    table.add("a folder, saved to", save(&path));
    table.add("a folder, loaded", persist::load::<Game>(&path));
    std::fs::remove_dir(&path).unwrap();
    std::fs::write(&path, "text").unwrap();
    table.add("a file for a folder", save(&path.join("game.sav")));
    std::fs::remove_file(&path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    table.add("a pipe, saved to", save(&path));
    table.add("a pipe, loaded", persist::load::<Game>(&path));
    std::fs::remove_file(&path).unwrap();
    save(&path).unwrap();
    std::fs::create_dir(folder.join("game.sav.bak")).unwrap();
    table.add("a folder for a backup", save(&path));
    insta::assert_snapshot!(table.text());
}
