//! Saves that a player sees as slots.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

mod auto;
mod files;
mod list;
mod names;

use std::cell::RefCell;
use std::io::Write;
use std::path::Path;
use std::rc::Rc;

use persist::save::{SlotInfo, Slots};
use persist::storage::{Memory, Storage};
use persist::{Persist, SaveManager, Saves};

const FOLDER: &str = "saves";

#[derive(Persist, Clone, Debug, PartialEq)]
struct Shown {
    title: String,
    minutes: u32,
}

/// A program that saves a list with one object, a number.
struct Game {
    manager: SaveManager,
    slots: Slots,
    level: Rc<RefCell<u32>>,
    disk: Memory,
}

impl Game {
    fn new() -> Self {
        Self::on(Memory::default())
    }

    fn on(disk: Memory) -> Self {
        Self::with(Saves::new().storage(disk.clone()), disk)
    }

    fn with(saves: Saves, disk: Memory) -> Self {
        let saves = saves.application("Quest", "1.0").unwrap();
        let (mut manager, level) = (saves.manager(), Rc::new(RefCell::new(0)));
        manager.add(&level).unwrap();
        Self { manager, slots: saves.slots(FOLDER), level, disk }
    }

    fn saves(&self) -> &Saves {
        self.manager.saves()
    }

    /// The list with this number.
    fn at(&self, level: u32) -> &SaveManager {
        *self.level.borrow_mut() = level;
        &self.manager
    }

    fn save(&self, name: &str, level: u32) {
        let shown = Shown { title: name.to_uppercase(), minutes: level };
        let info = SlotInfo::new(name.to_uppercase()).value(&shown).unwrap();
        self.slots.slot(name).info(info).save(self.at(level)).unwrap();
    }

    fn load(&self, name: &str) -> persist::Result<u32> {
        load(&self.slots, name)
    }

    fn names(&self) -> Vec<String> {
        self.slots.list().unwrap().into_iter().map(|slot| slot.name).collect()
    }

    fn files(&self) -> Vec<String> {
        let mut files: Vec<_> = self.disk.list(Path::new(FOLDER)).unwrap();
        files.sort();
        files.into_iter().map(|name| name.to_str().unwrap().to_owned()).collect()
    }
}

fn load(slots: &Slots, name: &str) -> persist::Result<u32> {
    let loaded = slots.slot(name).load::<SaveManager>()?;
    let level = loaded.first::<u32>()?;
    let level = *level.borrow();
    Ok(level)
}

fn write(disk: &impl Storage, name: &str, bytes: &[u8]) {
    let path = Path::new(FOLDER).join(name);
    let _ = disk.remove(&path);
    disk.create(&path, &path).unwrap().write_all(bytes).unwrap();
}

fn read(disk: &impl Storage, name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    disk.open(&Path::new(FOLDER).join(name)).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}
