//! Two devices go on from one save: row S18 of `docs/internals/reliability.md`.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

mod counted;
mod hostile;
mod reconciled;
mod twin;

use std::any::Any;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use persist::save::{Header, Keep, Lineage};
use persist::storage::{Memory, NewFile, Storage, StoredFile};
use persist::{SaveOptions, Saves};

const LOCAL: &str = "saves/game.sav";
const REMOTE: &str = "saves/remote";

/// A device with a slot whose one value is a number.
struct Device {
    saves: Saves,
    disk: Clockless,
}

impl Device {
    fn new(name: &str) -> Self {
        let Self { saves, disk } = Self::unnamed();
        Self { saves: saves.device(name).unwrap(), disk }
    }

    fn unnamed() -> Self {
        let disk = Clockless::default();
        Self { saves: Saves::new().storage(disk.clone()), disk }
    }

    /// With other options from then on.
    fn options(self, options: SaveOptions) -> Self {
        Self { saves: self.saves.save_options(options), ..self }
    }

    fn save(&self, level: u32) {
        self.saves.file(LOCAL).save(&level).unwrap();
    }

    fn level(&self) -> u32 {
        *self.saves.file(LOCAL).load::<u32>().unwrap()
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
        let found = self.saves.file(LOCAL).compare(REMOTE).unwrap();
        assert_eq!((&found.local, &found.remote), (&self.header(), &other.header()));
        found.lineage
    }

    fn reconcile(&self, other: &Self, keep: Keep) -> Header {
        self.fetch(other);
        let header = self.saves.file(LOCAL).reconcile(REMOTE, keep).unwrap();
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
}

/// Memory without a clock, so that equal saves have equal headers.
#[derive(Clone, Default)]
struct Clockless(Memory);

impl Storage for Clockless {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.0.open(path)
    }

    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        self.0.create(path, like)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.0.sync_folder(folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.0.list(folder)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send>>> {
        self.0.lock(path)
    }

    fn now(&self) -> Option<SystemTime> {
        None
    }
}

/// Two devices, of which the second has the first save of the first.
fn two() -> (Device, Device) {
    let (deck, laptop) = (Device::new("deck"), Device::new("laptop"));
    deck.save(1);
    laptop.reconcile(&deck, Keep::Remote);
    (deck, laptop)
}

/// Two devices that have gone on from one save, to the levels 2 and 3.
fn diverged() -> (Device, Device) {
    let (deck, laptop) = two();
    deck.save(2);
    laptop.save(3);
    (deck, laptop)
}
