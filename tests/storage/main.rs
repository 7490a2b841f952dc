//! A save on a disk that fails: rows S1 to S18 of `docs/internals/reliability.md` on a disk in memory.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

#[cfg(all(feature = "lz4", feature = "zstd"))]
mod compression;
mod conformance;
mod contents;
mod damaged_parts;
mod devices;
mod failed_saves;
mod hosts;
mod lockless;
mod own_storage;
mod power_cuts;
mod profiles;
mod reading;
mod reconcile;
mod recovery;
mod refused;
mod salvage;
mod single_faults;
mod slot_folder;
mod slots;
mod surplus;
#[cfg(windows)]
mod windows;

use std::path::PathBuf;
use std::time::Duration;

use persist::{Persist, SaveOptions, Saves};

use persist_tests::support::disk::{Disk, Image, Profile};

#[derive(Persist, Clone, Debug, PartialEq)]
struct Game {
    level: u32,
    map: Vec<u8>,
}

const SAVE: &str = "game.sav";

fn game(level: u32) -> Game {
    // Two sectors and a half, so that a write can be torn.
    Game { level, map: vec![u8::try_from(level % 251).unwrap(); 1_200] }
}

fn saves(disk: &Disk, backups: u32) -> Saves {
    // Another program holds files for a moment there.
    let wait = if disk.profile() == Profile::Ntfs { 30 } else { 0 };
    let options = SaveOptions::new().backups(backups).wait(Duration::from_millis(wait));
    Saves::new().storage(disk.clone()).save_options(options)
}

fn save(disk: &Disk, backups: u32, level: u32) -> persist::Result<()> {
    saves(disk, backups).file(SAVE).save(&game(level)).map(drop)
}

fn load(disk: &Disk) -> persist::Result<u32> {
    let found = saves(disk, 1).file(SAVE).load::<Game>()?;
    assert_eq!(*found, game(found.level), "a mixture of two saves");
    Ok(found.level)
}

/// A disk with saves of these levels, one after the other.
fn saved(levels: impl IntoIterator<Item = u32>, backups: u32) -> Image {
    let disk = Disk::new(Image::new());
    levels.into_iter().for_each(|level| save(&disk, backups, level).unwrap());
    disk.image()
}

/// The files that may lie beside a save.
fn assert_no_strays(disk: &Disk, what: &str) {
    for name in disk.names() {
        let is_known = name == SAVE
            || name.starts_with("game.sav.bak")
            || name.starts_with("game.sav.damaged");
        assert!(is_known, "{name} is left after {what}");
    }
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(name)
}
