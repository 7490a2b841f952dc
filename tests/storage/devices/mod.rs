//! Two devices go on from one save: row S18 of `docs/internals/reliability.md`.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

mod counted;
mod hostile;
mod reconciled;
mod twin;

use std::io::Write;
use std::path::Path;

use persist::save::{Header, Keep, Lineage};
use persist::storage::{Memory, Storage};
use persist::{SaveManager, SaveOptions};

const LOCAL: &str = "saves/game.sav";
const REMOTE: &str = "saves/remote";

/// A device with a slot whose one value is a number.
struct Device {
    saves: SaveManager,
    disk: Memory,
}

impl Device {
    fn new(name: &str) -> Self {
        let mut device = Self::unnamed();
        device.saves.set_device(name).unwrap();
        device
    }

    fn unnamed() -> Self {
        let (mut saves, disk) = (SaveManager::new(), Memory::default());
        saves.set_storage(disk.clone());
        Self { saves, disk }
    }

    fn save(&mut self, level: u32) {
        self.saves.save_value(LOCAL, &level).unwrap();
    }

    fn level(&mut self) -> u32 {
        self.saves.load_value::<u32>(LOCAL).unwrap().0
    }

    fn header(&self) -> Header {
        Header::read(&self.read(LOCAL).unwrap()).unwrap()
    }

    fn devices(&self) -> Vec<(String, u64)> {
        self.header().devices().map(|(name, count)| (name.to_owned(), count)).collect()
    }

    /// How the save here stands to that of another device.
    fn compare(&self, other: &Self) -> Lineage {
        self.fetch(other);
        let found = self.saves.compare(LOCAL, REMOTE).unwrap();
        assert_eq!((&found.local, &found.remote), (&self.header(), &other.header()));
        found.lineage
    }

    fn reconcile(&mut self, other: &Self, keep: Keep) -> Header {
        self.fetch(other);
        let header = self.saves.reconcile(LOCAL, REMOTE, keep).unwrap();
        assert_eq!(header, self.header());
        assert_eq!(self.read(REMOTE), other.read(LOCAL), "the remote save was changed");
        header
    }

    /// Brings the save of another device beside that of this one.
    fn fetch(&self, other: &Self) {
        self.write(REMOTE, &other.read(LOCAL).unwrap());
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        self.disk.open(Path::new(path)).ok()?.read_to_end(&mut bytes).unwrap();
        Some(bytes)
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = Path::new(path);
        let _ = self.disk.remove(path);
        self.disk.create(path, path).unwrap().write_all(bytes).unwrap();
    }

    fn set_backups(&mut self, backups: u32) {
        self.saves.set_save_options(SaveOptions { backups, ..SaveOptions::default() });
    }
}

/// Two devices, of which the second has the first save of the first.
fn two() -> (Device, Device) {
    let (mut deck, mut laptop) = (Device::new("deck"), Device::new("laptop"));
    deck.save(1);
    laptop.reconcile(&deck, Keep::Remote);
    (deck, laptop)
}

/// Two devices that have gone on from one save, to the levels 2 and 3.
fn diverged() -> (Device, Device) {
    let (mut deck, mut laptop) = two();
    deck.save(2);
    laptop.save(3);
    (deck, laptop)
}
