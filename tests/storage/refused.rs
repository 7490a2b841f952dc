//! Saves that are whole and that the program cannot load: they are kept, whatever is saved later.

use std::cell::RefCell;
use std::rc::Rc;

use persist::save::{Content, LoadPolicy, Recovery, Slot};
use persist::storage::{SlotFolder, SlotStore};
use persist::{ErrorKind, Limits, LoadOptions, Persist, Result, SaveManager, Saves};
use persist_tests::support::disk::{DEVICE_FAILS, Disk, Image};

use super::{Game, SAVE, game, path, saved, saves};

/// A value that the program accepts up to level 9.
#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(validate = Self::check)]
struct Checked {
    level: u32,
}

impl Checked {
    fn check(&self) -> Result<(), String> {
        if self.level < 10 { Ok(()) } else { Err(format!("there is no level {}", self.level)) }
    }
}

/// The value as an older program had it, which accepted any level.
#[derive(Persist)]
#[persist(class = "Checked")]
struct Unchecked {
    level: u32,
}

/// Saves by the older program, what the program of today refuses.
fn save_unchecked(disk: &Disk, levels: impl IntoIterator<Item = u32>) {
    for level in levels {
        saves(disk, 1).file(SAVE).save(&Unchecked { level }).unwrap();
    }
}

/// One with the name of another class: the program's types refuse it.
#[derive(Persist)]
struct Other {
    title: String,
}

/// How a save is made and loaded.
#[derive(Clone, Copy, Debug)]
struct Way {
    is_object: bool,
    is_slot: bool,
    is_background: bool,
}

impl Way {
    fn all() -> impl Iterator<Item = Self> {
        (0..8).map(|bits| Self {
            is_object: bits & 1 > 0,
            is_slot: bits & 2 > 0,
            is_background: bits & 4 > 0,
        })
    }

    fn place(self, saves: &Saves) -> Slot {
        if self.is_slot { saves.slots("").slot("game") } else { saves.file(SAVE) }
    }

    fn save<T: Persist>(self, saves: &Saves, value: T) -> Result<()> {
        if self.is_object {
            let mut manager = saves.manager();
            manager.add(&Rc::new(RefCell::new(value))).unwrap();
            return self.put(saves, &manager);
        }
        self.put(saves, &value)
    }

    fn put(self, saves: &Saves, content: impl Content) -> Result<()> {
        let place = self.place(saves);
        if self.is_background {
            return place.save_in_background(content)?.wait().map(drop);
        }
        place.save(content).map(drop)
    }

    /// The level that is loaded, and what is reported of the load.
    fn load(self, saves: &Saves) -> Result<(u32, Option<Recovery>)> {
        if self.is_object {
            saves.register::<Checked>()?;
            let loaded = self.place(saves).load::<SaveManager>()?;
            let level = loaded.first::<Checked>()?.borrow().level;
            return Ok((level, loaded.recovery().cloned()));
        }
        let loaded = self.place(saves).load::<Checked>()?;
        Ok((loaded.level, loaded.recovery().cloned()))
    }
}

fn disk(has_links: bool, image: Image) -> Disk {
    if has_links { Disk::new(image) } else { Disk::without_links(image) }
}

#[test]
fn a_save_that_the_types_refuse_is_kept_once_and_no_later_save_rotates_it_away() {
    for (way, has_links) in Way::all().flat_map(|way| [(way, true), (way, false)]) {
        let disk = disk(has_links, Image::new());
        let program = saves(&disk, 1);
        // A value of another class, or none of its class where there are objects.
        program.file(SAVE).save(&Other { title: "other".into() }).unwrap();
        let bytes = disk.image()[&path(SAVE)].clone();
        for _ in 0..2 {
            let error = saves(&disk, 1).file(SAVE).load::<Checked>().map(drop).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WrongClass);
            insta::allow_duplicates! { insta::assert_snapshot!(error, @r#"game.sav: the save holds a value of type Other, and one of type Checked was asked for; load it as Other, or put `#[persist(alias = "Other")]` on Checked; the file is kept as game.sav.refused (at byte 313)"#); }
            assert_eq!(disk.names(), ["game.sav", "game.sav.refused"], "{way:?}");
        }
        for level in 1..=4 {
            way.save(&program, Checked { level }).unwrap();
        }
        assert_eq!(disk.image()[&path("game.sav.refused")], bytes, "{way:?}");
        let (level, recovery) = way.load(&saves(&disk, 1)).unwrap();
        let recovery = recovery.unwrap();
        assert_eq!((level, &recovery.backup), (4, &None));
        assert_eq!(recovery.refused, [path("game.sav.refused")]);
    }
}

#[test]
fn a_save_that_cannot_be_kept_leaves_the_error_as_it_is() {
    let image = saved([1], 1);
    let disk = Disk::new(image.clone());
    disk.never_write();
    let error = saves(&disk, 1).file(SAVE).load::<u8>().map(drop).unwrap_err();
    assert_eq!((error.kind(), disk.image()), (ErrorKind::WrongClass, image));
    assert!(!error.message().contains("kept"), "{error}");
}

#[test]
fn a_save_over_a_limit_or_of_a_newer_format_is_kept() {
    for has_links in [true, false] {
        let disk = disk(has_links, saved([1], 1));
        let program = saves(&disk, 1);
        let program = program.limits(Limits::new().bytes(200));
        let error = program.file(SAVE).load::<Game>().map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        insta::allow_duplicates! { insta::assert_snapshot!(error, @"game.sav: the save is over the limit of 200 bytes; raise `Limits::bytes`; the file is kept as game.sav.refused"); }
        assert_eq!(disk.image()[&path("game.sav.refused")], disk.image()[&path(SAVE)]);
    }
    let mut image = saved([1], 1);
    let newer = image.get_mut(&path(SAVE)).unwrap();
    newer[8] = 9;
    let end = 16 + u32::from_le_bytes(newer[12..16].try_into().unwrap()) as usize;
    let crc = crc32fast::hash(&newer[..end]);
    newer[end..end + 4].copy_from_slice(&crc.to_le_bytes());
    let disk = Disk::new(image);
    let error = saves(&disk, 1).file(SAVE).load::<Game>().map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NewerFormat);
    assert_eq!(disk.names(), ["game.sav", "game.sav.refused"]);
}

#[test]
fn an_error_of_the_system_and_a_missing_save_keep_nothing() {
    let disk = Disk::new(saved([1], 1));
    disk.fail_reads(SAVE, DEVICE_FAILS);
    assert_eq!(
        saves(&disk, 1).file(SAVE).load::<u8>().map(drop).unwrap_err().kind(),
        ErrorKind::Io
    );
    assert_eq!(disk.names(), [SAVE]);
    let error = saves(&disk, 1).file("none.sav").load::<u8>().map(drop).unwrap_err();
    assert_eq!((error.kind(), disk.names()), (ErrorKind::NotFound, vec![String::from(SAVE)]));
}

#[test]
fn reads_that_are_no_load_of_the_program_keep_nothing() {
    let disk = Disk::new(saved([1], 1));
    let names = disk.names();
    let small = Limits::new().bytes(200);
    let store = SlotFolder::new(disk.clone(), "").limits(small);
    assert_eq!(store.get("game").unwrap_err().kind(), ErrorKind::TooLarge);
    assert!(store.list().unwrap().is_empty());
    let program = saves(&disk, 1).limits(small);
    assert_eq!(program.slots("").copy("game", "copy").unwrap_err().kind(), ErrorKind::TooLarge);
    program.file(SAVE).compare(SAVE).unwrap();
    assert_eq!(disk.names(), names);
    // Nor is a file kept a second time that is kept already.
    saves(&disk, 1).file(SAVE).load::<u8>().map(drop).unwrap_err();
    saves(&disk, 1).file("game.sav.refused").load::<u8>().map(drop).unwrap_err();
    assert_eq!(disk.names(), ["game.sav", "game.sav.refused"]);
}

#[test]
fn a_load_names_refused_saves_but_not_the_one_that_it_loads() {
    let disk = Disk::new(saved([1], 1));
    saves(&disk, 1).file(SAVE).load::<u8>().map(drop).unwrap_err();
    // The newer version of the program, perhaps.
    let loaded = saves(&disk, 1).file(SAVE).load::<Game>().unwrap();
    assert_eq!(loaded.report().recovery(), None);
    for (level, count) in [(2_u32, 1), (3, 2)] {
        saves(&disk, 1).file(SAVE).save(&game(level)).unwrap();
        let loaded = saves(&disk, 1).file(SAVE).load::<Game>().unwrap();
        let recovery = loaded.report().recovery().unwrap();
        assert!(loaded.report().is_clean());
        assert_eq!((recovery.refused.len(), &*recovery.cause), (count, ""));
        let text = format!("{}\n{}", loaded.report().summary(), loaded.report());
        insta::assert_snapshot!(format!("refused_{count}"), text);
        saves(&disk, 1).file(SAVE).load::<u8>().map(drop).unwrap_err();
    }
}

#[test]
fn refused_saves_are_listed_renamed_and_deleted_with_their_slot() {
    let disk = Disk::new(saved([1], 1));
    saves(&disk, 1).file(SAVE).load::<u8>().map(drop).unwrap_err();
    let program = saves(&disk, 1);
    let slots = program.slots("");
    assert_eq!(slots.list().unwrap()[0].refused, [path("game.sav.refused")]);
    slots.copy("game", "copy").unwrap();
    slots.rename("game", "other").unwrap();
    assert_eq!(disk.names(), ["copy.sav", "other.sav", "other.sav.refused"]);
    slots.slot("other").delete().unwrap();
    assert_eq!(disk.names(), ["copy.sav"]);
}

#[test]
fn a_save_that_the_programs_code_refuses_gives_the_newest_backup_that_passes_and_moves_no_file() {
    for (way, has_links) in Way::all().flat_map(|way| [(way, true), (way, false)]) {
        let disk = disk(has_links, Image::new());
        let (program, older) = (saves(&disk, 3), saves(&disk, 3));
        for level in [1, 2, 11, 12] {
            way.save(&older, Unchecked { level }).unwrap();
        }
        let before = disk.image();
        let (level, recovery) = way.load(&saves(&disk, 3)).unwrap();
        let recovery = recovery.unwrap();
        assert_eq!((level, &recovery.backup), (2, &Some(path("game.sav.bak2"))), "{way:?}");
        assert_eq!((&recovery.damaged, recovery.lost), (&None, Some(2)));
        // Later saves would drop the refused backup, too.
        assert_eq!(recovery.refused, [path("game.sav.refused"), path("game.sav.refused2")]);
        insta::allow_duplicates! { insta::assert_snapshot!(recovery, @"this program could not load the save, a backup was loaded; 2 saves are newer; the save is where it was; what this program could not load is kept as game.sav.refused and game.sav.refused2"); }
        assert!(recovery.cause.contains("there is no level 12"), "{}", recovery.cause);
        let mut after = before.clone();
        after.insert(path("game.sav.refused"), before[&path(SAVE)].clone());
        after.insert(path("game.sav.refused2"), before[&path("game.sav.bak")].clone());
        assert_eq!(disk.image(), after, "{way:?}");
        // Later saves continue, and the refused one stays.
        for level in 3..9 {
            way.save(&program, Checked { level }).unwrap();
        }
        assert_eq!(disk.image()[&path("game.sav.refused")], before[&path(SAVE)]);
    }
}

#[test]
fn a_save_that_the_programs_code_refuses_without_a_backup_that_passes_names_them_all() {
    let disk = Disk::new(Image::new());
    save_unchecked(&disk, [10, 11]);
    let error = saves(&disk, 1).file(SAVE).load::<Checked>().map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    insta::assert_snapshot!(error, @"game.sav cannot be loaded, `validate` of Checked refused: there is no level 11 (class Checked); nor can game.sav.bak, `validate` of Checked refused: there is no level 10 (class Checked); all files are kept, the save also as game.sav.refused");
    // Without one, it says what it would say of the save alone, and where that is kept.
    let disk = Disk::new(Image::new());
    save_unchecked(&disk, [12]);
    let error = saves(&disk, 1).file(SAVE).load::<Checked>().map(drop).unwrap_err();
    insta::assert_snapshot!(error, @"game.sav: `validate` of Checked refused: there is no level 12; the file is kept as game.sav.refused (class Checked)");
    // One that cannot be read may be the one that passes.
    let disk = Disk::new(Image::new());
    save_unchecked(&disk, [1, 11]);
    disk.fail_reads("game.sav.bak", DEVICE_FAILS);
    let error = saves(&disk, 1).file(SAVE).load::<Checked>().map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
}

#[test]
fn a_refused_save_on_a_disk_that_cannot_be_written_gives_its_backup_all_the_same() {
    let disk = Disk::new(Image::new());
    save_unchecked(&disk, [1, 11]);
    let before = disk.image();
    disk.never_write();
    let loaded = saves(&disk, 1).file(SAVE).load::<Checked>().unwrap();
    assert_eq!((loaded.level, disk.image()), (1, before));
    insta::assert_snapshot!(loaded.report().recovery().unwrap(), @"this program could not load the save, a backup was loaded; 1 save is newer; the save is where it was");
}

#[test]
fn a_strict_load_that_would_lose_something_does_not_fall_back() {
    #[derive(Persist)]
    #[persist(class = "refused.Hero")]
    struct Old {
        level: u32,
        gold: u32,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "refused.Hero")]
    struct Hero {
        level: u32,
    }

    let disk = Disk::new(Image::new());
    saves(&disk, 1).file(SAVE).save(&Hero { level: 1 }).unwrap();
    saves(&disk, 1).file(SAVE).save(&Old { level: 2, gold: 3 }).unwrap();
    let program = saves(&disk, 1);
    let program = program.load_options(LoadOptions::new().policy(LoadPolicy::Strict));
    let error = program.file(SAVE).load::<Hero>().map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    insta::assert_snapshot!(error, @"game.sav: the program does not have what is stored, which `LoadPolicy::Strict` refuses; load with `LoadPolicy::Lenient`; the file is kept as game.sav.refused (object #1, class refused.Hero, field gold)");
    assert_eq!(disk.names(), ["game.sav", "game.sav.bak", "game.sav.refused"]);
}

#[test]
fn a_damaged_save_beside_refused_ones_names_both() {
    let disk = Disk::new(saved([1, 2], 1));
    saves(&disk, 1).file(SAVE).load::<u8>().map(drop).unwrap_err();
    saves(&disk, 1).file(SAVE).save(&game(3)).unwrap();
    let mut save = disk.image()[&path(SAVE)].clone();
    save.truncate(40);
    disk.put(SAVE, &save);
    saves(&disk, 1).file("x.sav").save(&game(3)).unwrap();
    // The backup is the refused one itself, which is left out.
    let loaded = saves(&disk, 1).file(SAVE).load::<Game>().unwrap();
    assert!(loaded.report().recovery().unwrap().refused.is_empty());
    saves(&disk, 1).file(SAVE).save(&game(4)).unwrap();
    saves(&disk, 1).file(SAVE).save(&game(5)).unwrap();
    let mut save = disk.image()[&path(SAVE)].clone();
    save.truncate(save.len() - 1);
    disk.put(SAVE, &save);
    let loaded = saves(&disk, 1).file(SAVE).load::<Game>().unwrap();
    insta::assert_snapshot!(loaded.report().recovery().unwrap(), @"the save was damaged, a backup was loaded in its place; 1 save is lost; the damaged file is kept as game.sav.damaged2; what this program could not load is kept as game.sav.refused");
}
