//! Files of objects, worlds and prefabs, and saves of an older program, keep the promises that files of values do.

use std::cell::RefCell;
use std::io::ErrorKind as Io;
use std::path::PathBuf;
use std::rc::Rc;

use persist::storage::Storage;
use persist::world::{ExternalIds, Prefab};
use persist::{ErrorKind, Persist, Result, SaveManager, Saves, World};

use super::power_cuts::each_image;
use super::{SAVE, assert_no_strays, saves};
use persist_tests::support::disk::{DEVICE_FAILS, Disk, Fault, Image};
use persist_tests::support::short_or_long;

#[derive(Persist, Clone)]
#[persist(component)]
struct Level {
    number: u32,
    map: Vec<u8>,
}

mod old {
    #[derive(persist::Persist)]
    pub(super) struct Level {
        pub(super) number: u16,
        pub(super) map: Vec<u8>,
    }
}

fn level(number: u32) -> Level {
    Level { number, map: vec![7; 700] }
}

fn world(number: u32) -> World {
    let mut world = World::new();
    let object = world.spawn("level");
    world.attach(object, level(number)).unwrap();
    world
}

fn number_of(world: &World) -> u32 {
    let mut levels = world.objects().filter_map(|object| world.get::<Level>(object));
    levels.next().unwrap().number
}

/// Something that is saved with a number in it.
struct Kind {
    name: &'static str,
    /// How the save before was made.
    save_before: fn(&Saves, u32) -> Result<()>,
    save: fn(&Saves, u32) -> Result<()>,
    load: fn(&Saves) -> Result<u32>,
}

fn save_objects(saves: &Saves, number: u32) -> Result<()> {
    let mut manager = SaveManager::new();
    manager.add(&Rc::new(RefCell::new(level(number))))?;
    saves.file(SAVE).save(&manager).map(drop)
}

fn load_objects(saves: &Saves) -> Result<u32> {
    let loaded = saves.file(SAVE).load::<SaveManager>()?;
    Ok(loaded.first::<Level>()?.borrow().number)
}

fn save_world(saves: &Saves, number: u32) -> Result<()> {
    saves.file(SAVE).save(&world(number)).map(drop)
}

fn load_world(saves: &Saves) -> Result<u32> {
    Ok(number_of(&*saves.file(SAVE).load::<World>()?))
}

fn save_prefab(saves: &Saves, number: u32) -> Result<()> {
    let world = world(number);
    let object = world.find("level").unwrap();
    saves.file(SAVE).save(&world.prefab(object)?).map(drop)
}

fn load_prefab(saves: &Saves) -> Result<u32> {
    let prefab = saves.file(SAVE).load::<Prefab>()?;
    let mut world = World::new();
    world.instantiate(&prefab, ExternalIds::Clear)?;
    Ok(number_of(&world))
}

fn save_old(saves: &Saves, number: u32) -> Result<()> {
    let level = old::Level { number: u16::try_from(number).unwrap(), map: vec![7; 700] };
    saves.file(SAVE).save(&level).map(drop)
}

fn save_value(saves: &Saves, number: u32) -> Result<()> {
    saves.file(SAVE).save(&level(number)).map(drop)
}

fn load_value(saves: &Saves) -> Result<u32> {
    Ok(saves.file(SAVE).load::<Level>()?.number)
}

const KINDS: [Kind; 4] = [
    Kind { name: "objects", save_before: save_objects, save: save_objects, load: load_objects },
    Kind { name: "a world", save_before: save_world, save: save_world, load: load_world },
    Kind { name: "a prefab", save_before: save_prefab, save: save_prefab, load: load_prefab },
    Kind { name: "an old save", save_before: save_old, save: save_value, load: load_value },
];

impl Kind {
    fn saves(&self, disk: &Disk) -> Saves {
        let saves = saves(disk, 1);
        saves.register::<Level>().unwrap();
        saves.register_component::<Level>().unwrap();
        saves
    }

    /// A disk with the save 1.
    fn before(&self) -> Image {
        let disk = Disk::default();
        // By a program of its own, which may have the older class.
        (self.save_before)(&saves(&disk, 1), 1).unwrap();
        disk.image()
    }

    fn save(&self, disk: &Disk, number: u32) -> Result<()> {
        (self.save)(&self.saves(disk), number)
    }

    fn load(&self, disk: &Disk) -> Result<u32> {
        (self.load)(&self.saves(disk))
    }
}

#[test]
fn a_kill_at_any_operation_leaves_the_old_content_or_the_new_one() {
    for kind in &KINDS {
        let before = kind.before();
        for new in [Disk::new, Disk::without_links] {
            for number in 1.. {
                let disk = new(before.clone());
                disk.fail(number, Fault::Ever(Io::Other));
                let result = kind.save(&disk, 2);
                if !disk.end_faults() {
                    result.unwrap();
                    assert!(number > 8, "{number} operations are too few to be a save");
                    break;
                }
                let what = format!("{}, killed at operation {number}: {result:?}", kind.name);
                let found = kind.load(&disk).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(found == 2 || found == 1 && result.is_err(), "{what}: {found}");
                assert_no_strays(&disk, &what);
            }
        }
    }
}

#[test]
fn a_power_cut_at_any_moment_leaves_the_old_content_or_the_new_one() {
    for kind in &KINDS {
        let disk = Disk::new(kind.before());
        disk.note_cuts();
        kind.save(&disk, 2).unwrap();
        let cuts = disk.cuts();
        let mut found = [0; 3];
        for cut in &cuts {
            each_image(cut, |disk, what| {
                let name = kind.name;
                let number = kind.load(disk).unwrap_or_else(|it| panic!("{name}, {what}: {it}"));
                assert!(number == 1 || number == 2, "{name}, {what}: {number}");
                found[number as usize] += 1;
            });
        }
        assert!(found[1] > 0 && found[2] > 0, "{}: {found:?}", kind.name);
        // The save that returned is there.
        each_image(cuts.last().unwrap(), |disk, what| {
            assert_eq!(kind.load(disk).unwrap(), 2, "{}, {what}", kind.name);
        });
    }
}

#[test]
fn damaged_content_is_kept_and_replaced_by_its_backup() {
    for kind in &KINDS {
        let disk = Disk::new(kind.before());
        kind.save(&disk, 2).unwrap();
        let whole = disk.image();
        let length = whole[&PathBuf::from(SAVE)].len();
        for bit in (0..length * 8).step_by(short_or_long(7, 1)) {
            let mut image = whole.clone();
            image.get_mut(&PathBuf::from(SAVE)).unwrap()[bit / 8] ^= 1 << (bit % 8);
            let damaged = image[&PathBuf::from(SAVE)].clone();
            let disk = Disk::new(image);
            assert_eq!(kind.load(&disk).unwrap(), 1, "{}, bit {bit}", kind.name);
            let is_kept = disk.image().values().any(|bytes| *bytes == damaged);
            assert!(is_kept, "{}, bit {bit}: {:?}", kind.name, disk.names());
        }
    }
}

#[test]
fn content_that_cannot_be_read_at_the_moment_is_not_replaced_by_its_backup() {
    for kind in &KINDS {
        let disk = Disk::new(kind.before());
        kind.save(&disk, 2).unwrap();
        let before = disk.image();
        disk.fail_opens(SAVE, 4, DEVICE_FAILS);
        assert_eq!(kind.load(&disk).unwrap_err().kind(), ErrorKind::Io, "{}", kind.name);
        assert_eq!(disk.image(), before, "{}", kind.name);
        assert_eq!(kind.load(&disk).unwrap(), 2, "{}", kind.name);
    }
}

#[test]
fn content_that_another_program_is_writing_is_in_use_and_becomes_a_backup() {
    for kind in &KINDS {
        let disk = Disk::new(kind.before());
        let lock = disk.lock(&PathBuf::from(".game.sav.lock")).unwrap();
        assert_eq!(kind.save(&disk, 2).unwrap_err().kind(), ErrorKind::InUse, "{}", kind.name);
        assert_eq!(disk.image(), kind.before(), "{}", kind.name);
        drop(lock);
        // The other program has saved.
        kind.save(&disk, 3).unwrap();
        let theirs = disk.image()[&PathBuf::from(SAVE)].clone();
        kind.save(&disk, 2).unwrap();
        assert!(disk.image().values().any(|bytes| *bytes == theirs), "{}", kind.name);
    }
}
