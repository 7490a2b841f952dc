//! What a save that fails leaves in memory: the objects, their ids, and what was kept of them.

use std::cell::RefCell;
use std::io::ErrorKind as Io;
use std::rc::Rc;

use persist::{Arena, ErrorKind, Handle, ObjectId, Persist, SaveManager};
use persist_tests::support::Shared;

use super::{SAVE, manager};
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

/// A manager that has adopted what it does not know, with objects that are added and met.
fn world(disk: &Disk) -> (SaveManager, Vec<Shared<Hero>>) {
    let collar = Some(Rc::new(RefCell::new(modded::Collar { color: 7 })));
    let pet = modded::Pet { name: "Rex".into(), collar };
    let mut saves = manager(disk, 1);
    saves.add(&Rc::new(RefCell::new(pet))).unwrap();
    let save = saves.to_vec().unwrap();

    let mut saves = manager(disk, 1);
    saves.register::<Pet>().unwrap();
    let loaded = saves.from_slice(&save).unwrap();
    let pet = loaded.first::<Pet>().unwrap();
    saves.adopt(loaded);
    let heroes: Vec<_> = (0..30)
        .map(|number| {
            let (name, arrow) = ("Ada".repeat(100), Handle::new(number));
            let pet = Some(pet.clone());
            Rc::new(RefCell::new(Hero { name, letters: 0, pet, arrow }))
        })
        .collect();
    for hero in &heroes {
        saves.add(hero).unwrap();
    }
    // It is met from now on, and keeps its id.
    let first = saves.ids().next().unwrap();
    assert!(saves.remove(first));
    (saves, heroes)
}

/// All that a save sees.
fn state(saves: &mut SaveManager) -> (Vec<ObjectId>, Vec<u8>) {
    (saves.ids().collect(), saves.to_vec().unwrap())
}

/// The save has all of it, also what the mod wrote.
fn assert_complete(saves: &SaveManager, disk: &Disk) {
    let loaded = saves.load(SAVE).unwrap();
    assert_eq!(loaded.iter::<Hero>().count(), 30);
    assert!(loaded.iter::<Hero>().all(|hero| hero.borrow().letters == 300));
    let mut modded = manager(disk, 1);
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
            let (mut saves, _heroes) = world(&disk);
            let before = state(&mut saves);
            let mut number = 1;
            loop {
                disk.fail(number, fault);
                let result = if in_background {
                    saves.save_in_background(SAVE).and_then(|save| save.wait()).map(drop)
                } else {
                    saves.save(SAVE).map(drop)
                };
                if !disk.end_faults() {
                    result.unwrap();
                    break;
                }
                assert!(state(&mut saves) == before, "operation {number}: {result:?}");
                number += 1;
            }
            assert!(number > 8, "{number}");
            assert_complete(&saves, &disk);
        }
    }
}

#[test]
fn a_save_that_an_object_refuses_half_way_leaves_the_others_as_they_were() {
    let disk = Disk::new(Image::new());
    let (mut saves, heroes) = world(&disk);
    let before = state(&mut saves);
    for hero in [&heroes[0], &heroes[15], &heroes[29]] {
        let borrow = hero.borrow_mut();
        assert_eq!(saves.to_vec().unwrap_err().kind(), ErrorKind::Borrowed);
        assert_eq!(saves.save(SAVE).unwrap_err().kind(), ErrorKind::Borrowed);
        assert_eq!(saves.save_in_background(SAVE).unwrap_err().kind(), ErrorKind::Borrowed);
        drop(borrow);
        assert!(state(&mut saves) == before);
        assert!(disk.names().is_empty(), "{:?}", disk.names());
    }
    saves.save(SAVE).unwrap();
    assert_complete(&saves, &disk);
}
