//! Files that cannot be opened or read for a moment, or at all: an error of the system is never taken for an answer.

use persist::{ErrorKind, Saves};
use persist_tests::support::disk::{DEVICE_FAILS, REFUSED, TOO_MANY_FILES};

use super::{Disk, Image, SAVE, game, load, path, save, saved, saves};

/// More often than any operation tries.
const ALWAYS: usize = usize::MAX;

fn slots(names: &[&str]) -> (Disk, Saves) {
    let disk = Disk::new(Image::new());
    let saves = saves(&disk, 1);
    for (level, name) in (1..).zip(names) {
        saves.file(format!("{name}.sav")).save(&game(level)).unwrap();
    }
    (disk, saves)
}

#[test]
fn a_slot_that_cannot_be_opened_is_not_overwritten_by_a_rename_or_a_copy() {
    for code in [DEVICE_FAILS, TOO_MANY_FILES, REFUSED] {
        let (disk, saves) = slots(&["a", "b"]);
        let before = disk.image();
        disk.fail_opens("./b.sav", ALWAYS, code);
        disk.fail_opens("b.sav", ALWAYS, code);
        for result in [saves.slots("").rename("a", "b"), saves.slots("").copy("a", "b")] {
            let kind = result.unwrap_err().kind();
            assert!([ErrorKind::Io, ErrorKind::AlreadyExists].contains(&kind), "{kind:?}");
        }
        assert_eq!(disk.image(), before, "{code}");
    }
}

#[test]
fn an_automatic_save_does_not_take_an_unreadable_slot_for_the_oldest() {
    for code in [DEVICE_FAILS, TOO_MANY_FILES, REFUSED] {
        let (disk, saves) = slots(&[]);
        for level in 1..=3 {
            saves.slots("").auto(3).save(&game(level)).unwrap();
        }
        let before = disk.image();
        disk.fail_opens("auto3.sav", ALWAYS, code);
        let error = saves.slots("").auto(3).save(&game(4)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert_eq!(disk.image(), before);
    }
}

#[test]
fn a_damaged_save_is_not_kept_in_the_place_of_one_that_cannot_be_opened() {
    let mut image = saved([1, 2], 1);
    image.get_mut(&path(SAVE)).unwrap()[900] ^= 1;
    image.insert(path("game.sav.damaged"), b"kept before".to_vec());
    let disk = Disk::new(image);
    disk.fail_opens("game.sav.damaged", ALWAYS, REFUSED);
    assert_eq!(load(&disk).unwrap(), 1);
    let image = disk.image();
    assert_eq!(image[&path("game.sav.damaged")], b"kept before");
    assert!(image.contains_key(&path("game.sav.damaged2")));
}

#[test]
fn an_error_that_passes_within_three_tries_is_not_seen() {
    let disk = Disk::new(saved([1, 2, 3], 2));
    let before = disk.image();
    disk.fail_opens(SAVE, 3, DEVICE_FAILS);
    assert_eq!(load(&disk).unwrap(), 3);
    assert_eq!(disk.image(), before);

    let mut image = before;
    image.get_mut(&path(SAVE)).unwrap()[900] ^= 1;
    let disk = Disk::new(image);
    disk.fail_opens("game.sav.bak", 3, DEVICE_FAILS);
    assert_eq!(load(&disk).unwrap(), 2);
}

#[test]
fn a_save_that_cannot_be_read_does_not_give_way_to_its_backup() {
    let disk = Disk::new(saved([1, 2], 1));
    let before = disk.image();
    disk.fail_opens(SAVE, 4, DEVICE_FAILS);
    assert_eq!(load(&disk).unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(disk.image(), before);
    // The disk has come back.
    assert_eq!(load(&disk).unwrap(), 2);
}

#[test]
fn a_backup_that_cannot_be_read_does_not_give_way_to_an_older_one() {
    let mut image = saved([1, 2, 3], 2);
    image.get_mut(&path(SAVE)).unwrap()[900] ^= 1;
    let disk = Disk::new(image);
    let before = disk.image();
    disk.fail_opens("game.sav.bak", ALWAYS, DEVICE_FAILS);
    let error = load(&disk).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    insta::assert_snapshot!(error.message().replace(
        &std::io::Error::from_raw_os_error(DEVICE_FAILS).to_string(),
        "[the system's words]"
    ));
    assert_eq!(disk.image(), before);
    disk.fail_opens("game.sav.bak", 0, DEVICE_FAILS);
    assert_eq!(load(&disk).unwrap(), 2);
}

#[test]
fn a_save_put_there_by_another_program_becomes_a_backup_though_its_header_is_that_of_the_backup() {
    // Two devices without names: their saves of one generation have the same header.
    let here = Disk::new(saved([1, 2], 1));
    let there = saved([1], 1)[&path(SAVE)].clone();
    let other = {
        let disk = Disk::new(Image::new());
        save(&disk, 1, 7).unwrap();
        disk.image()[&path(SAVE)].clone()
    };
    assert_eq!(
        persist::save::Header::read(&there).unwrap(),
        persist::save::Header::read(&other).unwrap()
    );
    here.put(SAVE, &other);
    save(&here, 2, 9).unwrap();
    let image = here.image();
    assert_eq!(image[&path("game.sav.bak")], other);
    assert_eq!(image[&path("game.sav.bak2")], there);
}

#[test]
fn a_save_put_there_after_a_crash_does_not_cost_the_one_that_was_set_aside() {
    let mut image = saved([1, 2], 1);
    let old = image[&path(SAVE)].clone();
    // Killed between the link and the rename, then a synchronising program came.
    image.insert(path(".game.sav.old"), old.clone());
    image.insert(path(".game.sav.tmp"), b"half".to_vec());
    image.insert(path(SAVE), saved([1, 2, 3], 1)[&path(SAVE)].clone());
    let disk = Disk::new(image);
    save(&disk, 3, 9).unwrap();
    assert!(disk.image().values().any(|bytes| *bytes == old));
}

#[test]
fn a_save_whose_predecessor_cannot_be_read_is_an_error_and_changes_nothing() {
    for file in [SAVE, "game.sav.bak"] {
        let disk = Disk::new(saved([1, 2, 3], 1));
        let before = disk.image();
        disk.fail_reads(file, DEVICE_FAILS);
        assert_eq!(save(&disk, 1, 4).unwrap_err().kind(), ErrorKind::Io);
        assert_eq!(disk.image(), before);
    }
}
