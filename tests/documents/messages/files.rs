//! Files: saves and loads on disks that fail, backups, saves in use, what stands in their place.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use persist::save::{Health, Keep, LoadPolicy, SlotInfo};
use persist::storage::{SlotFolder, SlotStore, SlotVersion};
use persist::{Limits, LoadOptions, Loaded, Persist, SaveManager, SaveOptions, Saves};
use persist_tools::Document;

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

fn saves_on(disk: &Disk) -> Saves {
    Saves::new().storage(disk.clone()).save_options(SaveOptions::new().wait(Duration::ZERO))
}

/// A disk with so many saves of one file, one after the other.
fn disk(levels: u32) -> Disk {
    let disk = Disk::default();
    for level in 1..=levels {
        saves_on(&disk).file(SAVE).save(&game(level)).unwrap();
    }
    disk
}

fn load(disk: &Disk) -> persist::Result<Loaded<Game>> {
    saves_on(disk).file(SAVE).load()
}

#[test]
fn operations_that_fail() {
    let mut table = Table::new();
    sweep(&mut table, "a save", || disk(2), |disk| saves_on(disk).file(SAVE).save(&game(3)));
    sweep(
        &mut table,
        "a save that is read back",
        || disk(2),
        |disk| {
            let saves = saves_on(disk).save_options(SaveOptions::new().verify(true));
            saves.file(SAVE).save(&game(3))
        },
    );
    sweep(
        &mut table,
        "a save in the background",
        || disk(2),
        |disk| saves_on(disk).file(SAVE).save_in_background(&game(3))?.wait(),
    );
    sweep(&mut table, "a load", || disk(2), load);
    let damaged = || {
        let disk = disk(2);
        disk.write(SAVE, &disk.read(SAVE)[..700]);
        disk
    };
    sweep(&mut table, "a load of a damaged save", damaged, load);
    let two = || {
        let disk = disk(2);
        let saves = saves_on(&disk).device("here").unwrap();
        saves.file("saves/other.sav").save(&game(5)).unwrap();
        disk
    };
    sweep(&mut table, "a comparison", two, |disk| {
        saves_on(disk).file(SAVE).compare("saves/other.sav")
    });
    let same = || {
        let disk = disk(1);
        disk.write("saves/other.sav", &disk.read(SAVE));
        disk
    };
    sweep(&mut table, "a comparison of two that are the same", same, |disk| {
        saves_on(disk).file(SAVE).compare("saves/other.sav")
    });
    sweep_all(
        &mut table,
        "a save, and all behind it",
        || disk(2),
        |disk| saves_on(disk).file(SAVE).save(&game(3)),
    );
    for (what, keep) in [("what is here", Keep::Local), ("what is there", Keep::Remote)] {
        sweep(&mut table, &format!("to keep {what}"), two, |disk| {
            saves_on(disk).file(SAVE).reconcile("saves/other.sav", keep)
        });
    }
    insta::assert_snapshot!(table.text());
}

#[test]
fn slots_on_a_disk_that_fails() {
    let mut table = Table::new();
    let two = || {
        let disk = disk(2);
        saves_on(&disk).slots("saves").slot("old").save(&game(1)).unwrap();
        disk.delete("saves/old.sav");
        disk
    };
    sweep(&mut table, "a list", two, |disk| {
        let slots = saves_on(disk).slots("saves").list()?;
        slots.into_iter().try_for_each(|slot| match slot.health {
            Health::Unread(why) => Err(persist::Error::new(persist::ErrorKind::Io, why)),
            _ => Ok(()),
        })
    });
    sweep(&mut table, "a copy", two, |disk| saves_on(disk).slots("saves").copy("game", "new"));
    sweep(&mut table, "a renaming", two, |disk| {
        saves_on(disk).slots("saves").rename("game", "new")
    });
    sweep(&mut table, "a deletion", two, |disk| {
        saves_on(disk).slots("saves").slot("game").delete()
    });
    sweep(&mut table, "an automatic save", two, |disk| {
        saves_on(disk).slots("saves").auto(1).save(&game(1))
    });
    insta::assert_snapshot!(table.text());
}

#[test]
fn slots_that_are_not_there_or_cannot_be() {
    let mut table = Table::new();
    let disk = disk(2);
    let slots = saves_on(&disk).slots("saves");
    slots.slot("other").save(&game(1)).unwrap();
    table.add("no slot to copy", slots.copy("none", "new"));
    table.add("no slot to rename", slots.rename("none", "new"));
    table.add("no slot to delete", slots.slot("none").delete());
    table.add("no slot to load", slots.slot("none").load::<Game>());
    table.add("a slot that is there", slots.copy("game", "other"));
    let long = "x".repeat(101);
    for name in ["", &*long, "a/b", ".a", "con"] {
        table.add("a name", slots.slot(name).path());
    }
    disk.write("saves/.killed.sav.old", &disk.read(SAVE));
    disk.write("saves/killed.sav.bak", &disk.read(SAVE));
    disk.write("saves/short.sav", &disk.read(SAVE)[..700]);
    for slot in slots.list().unwrap() {
        table.line(&slot.name, &slot.health.to_string());
    }
    insta::assert_snapshot!(table.text());
}

#[test]
fn slots_that_others_have_saved() {
    let mut table = Table::new();
    let disk = disk(2);
    let store = SlotFolder::new(disk.clone(), "saves");
    let save = persist::to_vec(&game(3)).unwrap();
    let version = SlotVersion::from_save(&save);
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

#[test]
fn slots_in_a_list() {
    let mut table = Table::new();
    let disk = Disk::default();
    let slots = saves_on(&disk).slots("saves");
    slots.slot("game").save(&game(1)).unwrap();
    let mut slot = slots.list().unwrap().remove(0);
    slot.info = SlotInfo::new("The Mill").play_time(Duration::from_secs(4000));
    let backup = PathBuf::from(BACKUP);
    for (health, good_backup) in [
        (Health::Whole, None),
        (Health::Truncated("why".into()), None),
        (Health::Damaged("why".into()), None),
        (Health::Damaged("why".into()), Some(backup)),
        (Health::Newer("why".into()), None),
        (Health::TooLarge("why".into()), None),
        (Health::Unread("why".into()), None),
    ] {
        (slot.health, slot.good_backup) = (health, good_backup);
        table.line(&slot.health.to_string(), &slot.to_string());
    }
    insta::assert_snapshot!(table.text());
}

#[test]
fn slots_in_a_store() {
    let mut table = Table::new();
    let disk = Disk::default();
    let store = SlotFolder::new(disk.clone(), "cloud");
    let saves = saves_on(&disk);
    let slots = saves.store(Arc::new(store));
    let slot = slots.slot("game");
    slot.save(&game(1)).unwrap();
    let loaded = slot.load::<Game>().unwrap();
    slot.save(&game(2)).unwrap();
    table.add("a value of an older save", slot.save(&loaded));
    let save = slot.save_in_background(&loaded).unwrap();
    table.add("a value of an older save, in the background", save.wait());
    let loaded = slot.load::<Game>().unwrap();
    slot.delete().unwrap();
    table.add("a value of a deleted save", slot.save(&loaded));
    table.add("no slot to load", slot.load::<Game>());
    table.add("no automatic save to load", slots.auto(3).load::<Game>());
    table.add("no slot to delete", slot.delete());
    table.add("no automatic save to delete", slots.auto(3).delete());
    table.add("no slot to copy", slots.copy("game", "new"));
    slot.save(&game(1)).unwrap();
    slots.copy("game", "new").unwrap();
    table.add("a slot that is there", slots.copy("game", "new"));
    table.add("the path of a slot", slot.path());
    table.add("a folder of it", slots.as_store());
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
    damage(&alone, SAVE, 900);
    table.add("a damaged save without a backup", load(&alone));
    let both = disk(2);
    damage(&both, SAVE, 900);
    damage(&both, BACKUP, 3);
    table.add("a damaged backup", load(&both));
    let removed = disk(2);
    removed.delete(SAVE);
    table.add("a save that was removed", load(&removed));
    table.add("a save that never was", load(&Disk::default()));
    let shown = |table: &mut Table, what: &str, disk: &Disk| {
        let loaded = load(disk).unwrap();
        table.line(what, &loaded.report().recovery().unwrap().to_string());
    };
    let recovered = disk(2);
    damage(&recovered, SAVE, 900);
    shown(&mut table, "a backup in its place", &recovered);
    let recovered = disk(2);
    recovered.write(SAVE, &[]);
    shown(&mut table, "a backup of which nothing is known", &recovered);
    let recovered = disk(2);
    damage(&recovered, SAVE, 900);
    let lock = recovered.lock_it("saves/.game.sav.lock");
    shown(&mut table, "a backup while another program saves", &recovered);
    drop(lock);
    let recovered = disk(2);
    let old = recovered.read(BACKUP);
    for level in 3..6 {
        saves_on(&recovered).file(SAVE).save(&game(level)).unwrap();
    }
    damage(&recovered, SAVE, 900);
    recovered.write(BACKUP, &old);
    shown(&mut table, "an old backup", &recovered);
    let recovered = disk(2);
    let save = recovered.read(SAVE);
    damage(&recovered, SAVE, 900);
    recovered.write(BACKUP, &save);
    shown(&mut table, "a backup that is the save", &recovered);
    insta::assert_snapshot!(table.text());
}

#[test]
fn wrecks() {
    let mut table = Table::new();
    let salvage = |disk: &Disk| {
        let options = LoadOptions::new().policy(LoadPolicy::Salvage);
        saves_on(disk).load_options(options).file(SAVE).load::<Game>()
    };
    let lost = disk(1);
    damage(&lost, SAVE, 900);
    table.add("nothing that is whole", salvage(&lost));
    let cut = disk(1);
    cut.write(SAVE, &cut.read(SAVE)[..700]);
    table.add("nothing that is whole, of who knows how much", salvage(&cut));
    let mut bytes = disk(1).read(SAVE);
    bytes[900] ^= 1;
    let options = LoadOptions::new().policy(LoadPolicy::Salvage);
    let mut manager = Saves::new().load_options(options).manager();
    table.add("a save in memory", manager.from_slice(&bytes));
    let few: Vec<_> = (0..3).map(|level| Rc::new(RefCell::new(game(level)))).collect();
    let mut three = SaveManager::new();
    few.iter().for_each(|game| drop(three.add(game)));
    let mut bytes = three.to_vec().unwrap();
    bytes[900] ^= 1;
    table.add("a save of several objects", manager.from_slice(&bytes));
    let texts: Vec<_> = (0..4).map(|_| Rc::new(RefCell::new("x".repeat(80_000)))).collect();
    texts.iter().for_each(|text| drop(manager.add(text)));
    let mut bytes = manager.to_vec().unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let loaded = manager.from_slice(&bytes).unwrap();
    table.line("one of several objects", &loaded.report().salvage().unwrap().to_string());
    let wreck = disk(1);
    let save = wreck.read(SAVE);
    wreck.write(SAVE, &save[..save.len() - 29]);
    let loaded = salvage(&wreck).unwrap();
    table.line("a save without its end", &loaded.report().salvage().unwrap().to_string());
    let wreck = disk(1);
    damage(&wreck, SAVE, 13);
    let loaded = salvage(&wreck).unwrap();
    table.line("a save without its header", &loaded.report().salvage().unwrap().to_string());
    insta::assert_snapshot!(table.text());
}

#[test]
fn saves_in_use() {
    let mut table = Table::new();
    let disk = disk(2);
    let lock = disk.lock_it("saves/.game.sav.lock");
    table.add("a lock", saves_on(&disk).file(SAVE).save(&game(3)));
    drop(lock);
    let saves = saves_on(&disk).limits(Limits::new().bytes(1000));
    table.add("a save over the limit", saves.file(SAVE).save(&game(3)));
    table.add("a load over the limit", saves.file(SAVE).load::<Game>());
    let garbled = Disk::default();
    garbled.garble();
    let saves = saves_on(&garbled).save_options(SaveOptions::new().verify(true));
    table.add("a disk that writes other bytes", saves.file(SAVE).save(&game(3)));
    disk.panic();
    let save = saves_on(&disk).file(SAVE).save_in_background(&game(3)).unwrap();
    table.add("a panic", save.wait());
    insta::assert_snapshot!(table.text());
}

#[test]
fn saves_that_are_compared() {
    let mut table = Table::new();
    let disk = disk(2);
    disk.write("saves/short.sav", &disk.read(SAVE)[..700]);
    disk.write("saves/other.sav", b"another file, and no save");
    table.add("one cut short", saves_on(&disk).file(SAVE).compare("saves/short.sav"));
    table.add("one that is none", saves_on(&disk).file(SAVE).compare("saves/other.sav"));
    table.add("one that is not there", saves_on(&disk).file(SAVE).compare("saves/none.sav"));
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
    table.add("another class", saves_on(&disk).file(SAVE).load::<other::Score>());
    table.add("a value that is no class", saves_on(&disk).file(SAVE).load::<u32>());
    table.add("a field without a default", saves_on(&disk).file(SAVE).load::<other::Game>());
    table.add("one value", saves_on(&disk).manager().load(SAVE));
    disk.write(SAVE, b"another file, and no save");
    table.add("another file", load(&disk));
    insta::assert_snapshot!(table.text());
}

/// A value that the program accepts up to level 9.
#[derive(persist::Persist)]
#[persist(validate = Self::check)]
struct Level {
    level: u32,
}

impl Level {
    fn check(&self) -> Result<(), String> {
        if self.level < 10 { Ok(()) } else { Err(format!("there is no level {}", self.level)) }
    }
}

/// A level of a program that checks none.
#[derive(persist::Persist)]
#[persist(class = "Level")]
struct Unchecked {
    level: u32,
}

#[test]
fn saves_that_the_program_refuses() {
    let mut table = Table::new();
    let disk = Disk::default();
    table.add("a save", saves_on(&disk).file(SAVE).save(&Level { level: 10 }));
    let save = |level| {
        saves_on(&disk).file(SAVE).save(&Unchecked { level }).unwrap();
    };
    [10, 11].into_iter().for_each(save);
    table.add("save and backup", saves_on(&disk).file(SAVE).load::<Level>());
    [1, 12].into_iter().for_each(save);
    let loaded = saves_on(&disk).file(SAVE).load::<Level>().unwrap();
    table.line("a backup that passes", &loaded.report().summary());
    save(2);
    let loaded = saves_on(&disk).file(SAVE).load::<Level>().unwrap();
    table.line("a later save", &loaded.report().summary());
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
    table.add("a bit of a block", persist_tools::dump(&path));
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
