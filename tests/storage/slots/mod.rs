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

use persist::storage::{Memory, Storage};
use persist::{Persist, SaveManager};

const FOLDER: &str = "saves";

#[derive(Persist, Clone, Debug, PartialEq)]
struct Shown {
    title: String,
    minutes: u32,
}

/// A manager whose one object is a number.
struct Game {
    saves: SaveManager,
    level: Rc<RefCell<u32>>,
    disk: Memory,
}

impl Game {
    fn new() -> Self {
        Self::on(Memory::default())
    }

    fn on(disk: Memory) -> Self {
        let (mut saves, level) = (SaveManager::new(), Rc::new(RefCell::new(0)));
        saves.set_storage(disk.clone());
        saves.set_application("Quest", "1.0").unwrap();
        saves.add(&level).unwrap();
        Self { saves, level, disk }
    }

    fn save(&mut self, name: &str, level: u32) {
        *self.level.borrow_mut() = level;
        self.saves.set_metadata(&Shown { title: name.to_uppercase(), minutes: level }).unwrap();
        self.saves.slots(FOLDER).save(name).unwrap();
    }

    fn load(&mut self, name: &str) -> persist::Result<u32> {
        let loaded = self.saves.slots(FOLDER).load(name)?;
        Ok(*loaded.first::<u32>()?.borrow())
    }

    fn names(&mut self) -> Vec<String> {
        self.saves.slots(FOLDER).list().unwrap().into_iter().map(|slot| slot.name).collect()
    }

    fn files(&self) -> Vec<String> {
        let mut files: Vec<_> = self.disk.list(Path::new(FOLDER)).unwrap();
        files.sort();
        files.into_iter().map(|name| name.to_str().unwrap().to_owned()).collect()
    }
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
