//! What a save that fails leaves in memory: the objects, their ids, and what was kept of them.

use std::cell::RefCell;
use std::io::ErrorKind as Io;
use std::rc::Rc;

use persist::{Arena, ErrorKind, Handle, Loaded, ObjectId, Persist, SaveManager};
use persist_tests::support::Shared;

use super::{SAVE, saves};
use persist_tests::support::disk::{Disk, Fault, Image};

struct Arrows;

impl Arena for Arrows {
    type Key = u64;
    const NAME: &'static str = "arrows";

    fn to_bits(key: u64) -> u64 {
        key
    }

    fn from_bits(bits: u64) -> Option<u64> {
        Some(bits)
    }
}

/// With a mod.
mod modded {
    use super::*;

    #[derive(Persist)]
    pub(super) struct Pet {
        pub(super) name: String,
        pub(super) collar: Option<Shared<Collar>>,
    }

    #[derive(Persist)]
    pub(super) struct Collar {
        pub(super) color: u32,
    }
}

#[derive(Persist)]
struct Pet {
    name: String,
}

#[derive(Persist)]
#[persist(before_save = Hero::count)]
struct Hero {
    name: String,
    letters: usize,
    pet: Option<Shared<Pet>>,
    arrow: Handle<Arrows>,
}

impl Hero {
    /// The same however often it runs.
    fn count(&mut self) {
        self.letters = self.name.len();
    }
}

/// A loaded list with what it does not know, and objects that are added and met.
fn world(disk: &Disk) -> (Loaded<SaveManager>, Vec<Shared<Hero>>) {
    let collar = Some(Rc::new(RefCell::new(modded::Collar { color: 7 })));
    let pet = modded::Pet { name: "Rex".into(), collar };
    let mut manager = saves(disk, 1).manager();
    manager.add(&Rc::new(RefCell::new(pet))).unwrap();
    let save = manager.to_vec().unwrap();

    let saves = saves(disk, 1);
    saves.register::<Pet>().unwrap();
    let mut manager = saves.from_slice::<SaveManager>(&save).unwrap();
    let pet = manager.first::<Pet>().unwrap();
    let heroes: Vec<_> = (0..30)
        .map(|number| {
            let (name, arrow) = ("Ada".repeat(100), Handle::new(number));
            let pet = Some(pet.clone());
            Rc::new(RefCell::new(Hero { name, letters: 0, pet, arrow }))
        })
        .collect();
    for hero in &heroes {
        manager.add(hero).unwrap();
    }
    // It is met from now on, and keeps its id.
    let first = manager.ids().next().unwrap();
    assert!(manager.remove(first));
    (manager, heroes)
}

/// All that a save sees.
fn state(manager: &SaveManager) -> (Vec<ObjectId>, Vec<u8>) {
    (manager.ids().collect(), manager.to_vec().unwrap())
}

/// The save has all of it, also what the mod wrote.
fn assert_complete(manager: &SaveManager, disk: &Disk) {
    let loaded = manager.load(SAVE).unwrap();
    assert_eq!(loaded.iter::<Hero>().count(), 30);
    assert!(loaded.iter::<Hero>().all(|hero| hero.borrow().letters == 300));
    let modded = saves(disk, 1).manager();
    modded.register::<modded::Pet>().unwrap();
    let loaded = modded.load(SAVE).unwrap();
    let pet = loaded.iter::<modded::Pet>().next().unwrap();
    assert_eq!(pet.borrow().name, "Rex");
    assert_eq!(pet.borrow().collar.as_ref().unwrap().borrow().color, 7);
}

#[test]
fn a_save_that_fails_leaves_objects_ids_and_what_is_kept_as_they_were() {
    for in_background in [false, true] {
        for fault in [Fault::Once(Io::Other), Fault::Ever(Io::StorageFull)] {
            let disk = Disk::new(Image::new());
            let (manager, _heroes) = world(&disk);
            let before = state(&manager);
            let mut number = 1;
            loop {
                disk.fail(number, fault);
                let result = if in_background {
                    manager
                        .saves()
                        .file(SAVE)
                        .save_in_background(&manager)
                        .and_then(|save| save.wait())
                        .map(drop)
                } else {
                    manager.save(SAVE).map(drop)
                };
                if !disk.end_faults() {
                    result.unwrap();
                    break;
                }
                assert!(state(&manager) == before, "operation {number}: {result:?}");
                number += 1;
            }
            assert!(number > 8, "{number}");
            assert_complete(&manager, &disk);
        }
    }
}

#[test]
fn a_save_that_an_object_refuses_half_way_leaves_the_others_as_they_were() {
    let disk = Disk::new(Image::new());
    let (manager, heroes) = world(&disk);
    let before = state(&manager);
    for hero in [&heroes[0], &heroes[15], &heroes[29]] {
        let borrow = hero.borrow_mut();
        assert_eq!(manager.to_vec().unwrap_err().kind(), ErrorKind::Borrowed);
        assert_eq!(manager.save(SAVE).unwrap_err().kind(), ErrorKind::Borrowed);
        assert_eq!(
            manager.saves().file(SAVE).save_in_background(&manager).unwrap_err().kind(),
            ErrorKind::Borrowed
        );
        drop(borrow);
        assert!(state(&manager) == before);
        assert!(disk.names().is_empty(), "{:?}", disk.names());
    }
    manager.save(SAVE).unwrap();
    assert_complete(&manager, &disk);
}
