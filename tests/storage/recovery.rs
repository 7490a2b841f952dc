use std::io::ErrorKind as Io;

use persist::{ErrorKind, Saves};
use persist_tests::support::short_or_long;

use super::power_cuts::each_image;
use super::{Game, SAVE, assert_no_strays, game, load, path, save, saved, saves};
use persist_tests::support::disk::{Disk, Fault, Image};

/// The disk with a file damaged in one way or another.
fn damaged(mut image: Image, name: &str, how: usize) -> Image {
    let bytes = image.get_mut(&path(name)).unwrap();
    match how {
        0 => bytes.clear(),
        1 => bytes.truncate(bytes.len() / 2),
        2 => bytes.fill(0),
        3 => bytes.truncate(bytes.len() - 1),
        4 => {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 4;
        }
        _ => bytes.truncate(10),
    }
    image
}

const WAYS: usize = 6;

/// S6.
#[test]
fn a_damaged_save_gives_way_to_its_newest_good_backup() {
    for how in 0..WAYS {
        let image = damaged(saved([1, 2, 3], 3), SAVE, how);
        let bytes = image[&path(SAVE)].clone();
        let disk = Disk::new(image);
        let found = saves(&disk, 3).file(SAVE).load::<Game>().unwrap();
        assert_eq!(*found, game(2), "way {how}");
        let recovery = found.recovery().expect("it was recovered");
        assert_eq!(recovery.backup, Some(path("game.sav.bak")));
        assert_eq!(recovery.damaged, Some(path("game.sav.damaged")));
        assert!(!found.report().is_clean());
        // What is left of the header says how many.
        let lost = match how {
            0 | 2 | 5 => "it is not known how many saves are lost",
            _ => "1 save is lost",
        };
        assert_eq!(
            found.report().summary(),
            format!(
                "the save was damaged, a backup was loaded in its place; {lost}; the damaged file is kept as game.sav.damaged"
            )
        );
        // Nothing is lost, and the next load finds nothing to do.
        assert_eq!(disk.image()[&path("game.sav.damaged")], bytes);
        let found = saves(&disk, 3).file(SAVE).load::<Game>().unwrap();
        assert_eq!((&*found, found.recovery()), (&game(2), None));
        assert_no_strays(&disk, "a recovery");
        // The next save has a generation of its own.
        save(&disk, 3, 4).unwrap();
        assert_eq!(load(&disk).unwrap(), 4);
        assert_eq!(disk.names(), ["game.sav", "game.sav.bak", "game.sav.bak2", "game.sav.damaged"]);
    }
}

/// Whatever bit it is, that of the format's number too.
#[test]
fn a_save_with_any_flipped_bit_gives_way_to_its_backup() {
    let image = saved([1, 2], 1);
    // Each byte, and in the long form each of its bits.
    for bit in (0..image[&path(SAVE)].len() * 8).step_by(short_or_long(7, 1)) {
        let mut image = image.clone();
        image.get_mut(&path(SAVE)).unwrap()[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(load(&Disk::new(image)).unwrap(), 1, "bit {} of byte {}", bit % 8, bit / 8);
    }
}

/// S16.
#[test]
fn a_save_whose_backups_are_damaged_too_names_all_causes_and_keeps_all_files() {
    for how in 0..WAYS {
        let image = damaged(saved([1, 2], 1), SAVE, how);
        let image = damaged(image, "game.sav.bak", (how + 1) % WAYS);
        let disk = Disk::new(image.clone());
        let error = saves(&disk, 1).file(SAVE).load::<Game>().map(drop).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::NotASave | ErrorKind::Truncated | ErrorKind::Damaged),
            "{error}"
        );
        for name in [SAVE, "game.sav.bak"] {
            let cause = persist::from_slice::<Game>(&image[&path(name)]).unwrap_err();
            let cause = cause.message().split("; ").next().unwrap();
            assert!(error.message().contains(cause), "{error} without {cause}");
        }
        assert!(error.message().starts_with("game.sav cannot be loaded, "), "{error}");
        // There is none to be restored.
        assert!(!error.message().contains("restore a backup"), "{error}");
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(error.message().contains(cause.split("; ").next().unwrap()), "{error}");
        assert!(error.message().contains("game.sav.bak"), "{error}");
        assert!(error.message().contains("all files are kept"), "{error}");
        let found = disk.image();
        assert!(image.iter().all(|(name, bytes)| found[name] == *bytes));
        assert!(found.keys().all(|name| image.contains_key(name) || is_kept(name)));
    }
}

#[test]
fn older_backups_are_taken_if_newer_ones_are_damaged() {
    let image = damaged(saved([1, 2, 3, 4], 3), SAVE, 1);
    let image = damaged(image, "game.sav.bak", 4);
    assert_eq!(load(&Disk::new(image.clone())).unwrap(), 2);
    let image = damaged(image, "game.sav.bak2", 0);
    assert_eq!(load(&Disk::new(image)).unwrap(), 1);
}

/// What the program does not accept is not damage.
#[test]
fn a_save_of_another_kind_does_not_give_way() {
    let disk = Disk::new(saved([1], 1));
    saves(&disk, 1).file(SAVE).save(&7_u8).unwrap();
    let error = saves(&disk, 1).file(SAVE).load::<Game>().map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongClass);
    assert_eq!(saves(&disk, 1).file(SAVE).load::<u8>().unwrap().into_inner(), 7);
}

#[test]
fn a_save_that_was_removed_stays_removed() {
    let mut image = saved([1, 2], 1);
    image.remove(&path(SAVE));
    let error = load(&Disk::new(image.clone())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("not found"), "{error}");
    // The player may have deleted it, or not.
    assert!(error.message().contains("it has a backup: load game.sav.bak"), "{error}");
    image.get_mut(&path("game.sav.bak")).unwrap().clear();
    let error = load(&Disk::new(image)).unwrap_err();
    assert!(!error.message().contains("backup"), "{error}");
}

#[test]
fn a_damaged_save_without_a_backup_is_named() {
    for how in 0..WAYS {
        let image = damaged(saved([1], 1), SAVE, how);
        let disk = Disk::new(image.clone());
        let error = load(&disk).unwrap_err();
        let cause = persist::from_slice::<Game>(&image[&path(SAVE)]).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (cause.kind(), cause.offset()));
        assert!(error.message().starts_with("game.sav cannot be loaded, "), "{error}");
        assert!(error.message().contains("; it has no backup"), "{error}");
        assert!(!error.message().contains("restore a backup"), "{error}");
        // What may be salvaged is not rotated away.
        let was_kept = disk.names().iter().any(|name| name == "game.sav.damaged");
        assert_eq!(was_kept, error.message().ends_with("; the file is kept as game.sav.damaged"));
        (5..8).for_each(|level| save(&disk, 1, level).unwrap());
        if was_kept {
            assert_eq!(disk.image()[&path("game.sav.damaged")], image[&path(SAVE)], "damage {how}");
        }
        let begins_or_ends = image[&path(SAVE)].starts_with(b"\x89PST") || how == 4;
        assert!(was_kept || !begins_or_ends, "damage {how}");
    }
}

fn is_kept(name: &std::path::Path) -> bool {
    name.to_string_lossy().contains(".damaged")
}

/// Where a file has one name, it is without its own for a moment; then nothing can be written any more.
#[test]
fn what_a_killed_program_left_is_read_on_a_disk_that_cannot_be_written() {
    let (old, new) = (saved([1, 2], 1), saved([1, 2, 3], 1));
    let mut image = old;
    let save = image.remove(&path(SAVE)).unwrap();
    image.insert(path(".game.sav.old"), save);
    image.insert(path(".game.sav.tmp"), new[&path(SAVE)].clone());
    let disk = Disk::without_links(image.clone());
    disk.never_write();
    assert_eq!(load(&disk).unwrap(), 2);
    assert_eq!(disk.image(), image);
    // With room to write it is set right.
    let disk = Disk::without_links(image);
    assert_eq!(load(&disk).unwrap(), 2);
    assert_no_strays(&disk, "a load");
}

/// A recovery leaves no such state: the player has deleted the save, and the program was killed in the next one.
#[test]
fn a_save_that_was_deleted_does_not_come_back_after_a_save_that_was_killed() {
    let mut image = saved([1, 2], 1);
    image.remove(&path(SAVE)).unwrap();
    image.insert(path(".game.sav.tmp"), b"not written to its end".to_vec());
    let disk = Disk::without_links(image);
    assert_eq!(load(&disk).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(disk.names(), ["game.sav.bak"]);
}

#[test]
fn a_load_waits_for_a_lock_as_long_as_a_save_does() {
    use persist::SaveOptions;
    use persist::storage::Storage;
    use std::time::{Duration, Instant};
    let disk = Disk::new(damaged(saved([1, 2], 1), SAVE, 1));
    let _lock = disk.lock(&path(".game.sav.lock")).unwrap();
    for wait in [0, 50] {
        let wait = Duration::from_millis(wait);
        let saves = saves(&disk, 1).save_options(SaveOptions::new().wait(wait));
        let start = Instant::now();
        let found = saves.file(SAVE).load::<Game>().unwrap();
        assert_eq!((&*found, &found.recovery().unwrap().damaged), (&game(1), &None));
        assert!(start.elapsed() >= wait && start.elapsed() < Duration::from_millis(900));
    }
}

/// A damaged save that nobody has loaded does not push out the good backup.
#[test]
fn a_damaged_save_never_becomes_a_backup() {
    for how in [0, 1, 2, 3, 5] {
        let disk = Disk::new(damaged(saved([1, 2], 1), SAVE, how));
        save(&disk, 1, 3).unwrap();
        assert_eq!(disk.names(), ["game.sav", "game.sav.bak", "game.sav.damaged"], "way {how}");
        let image = damaged(disk.image(), SAVE, 1);
        assert_eq!(load(&Disk::new(image)).unwrap(), 1);
    }
}

/// It may be salvaged, or loaded by a newer program.
#[test]
fn what_cannot_be_loaded_is_kept_by_a_save_in_its_place() {
    for how in [0, 1, 2, 3, 5] {
        let image = damaged(saved([1], 1), SAVE, how);
        let disk = Disk::new(image.clone());
        save(&disk, 1, 2).unwrap();
        assert_eq!(disk.image()[&path("game.sav.damaged")], image[&path(SAVE)], "way {how}");
    }
    let mut image = saved([1], 1);
    // A format that nobody knows yet; the checksum is after the fields.
    let newer = image.get_mut(&path(SAVE)).unwrap();
    newer[8] = 9;
    let end = 16 + u32::from_le_bytes(newer[12..16].try_into().unwrap()) as usize;
    let crc = crc32fast::hash(&newer[..end]);
    newer[end..end + 4].copy_from_slice(&crc.to_le_bytes());
    let disk = Disk::new(image.clone());
    save(&disk, 1, 2).unwrap();
    assert_eq!(disk.image()[&path("game.sav.bak")], image[&path(SAVE)]);
}

#[test]
fn any_number_of_backups_may_be_asked_for() {
    let disk = Disk::new(Image::new());
    for level in 1..6 {
        save(&disk, u32::MAX, level).unwrap();
    }
    let backups = ["game.sav.bak", "game.sav.bak2", "game.sav.bak3", "game.sav.bak4"];
    assert_eq!(disk.names()[1..], backups);
    let last = disk.image()[&path("game.sav.bak4")].clone();
    assert_eq!(persist::from_slice::<Game>(&last).unwrap(), game(1));
}

/// S14: killed in the middle of a recovery, any number of times.
#[test]
fn a_recovery_that_is_cut_short_is_done_again() {
    for (how, links) in [(1, true), (4, true), (1, false), (0, false)] {
        let before = damaged(saved([1, 2, 3], 3), SAVE, how);
        let mut number = 1;
        loop {
            let disk =
                if links { Disk::new(before.clone()) } else { Disk::without_links(before.clone()) };
            disk.fail(number, Fault::Ever(Io::Other));
            let first = load(&disk);
            if !disk.end_faults() {
                assert_eq!(first.unwrap(), 2);
                break;
            }
            let what = format!("way {how}, kill at operation {number}");
            // Where files have one name, too.
            assert!(disk.image().contains_key(&path(SAVE)), "{what}: the save has lost its name");
            let level = load(&disk).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(level, 2, "{what}");
            assert_no_strays(&disk, &what);
            number += 1;
        }
        assert!(number > 8, "{number}");
    }
}

/// The power goes in the middle of a recovery.
#[test]
fn a_power_cut_in_a_recovery_loses_nothing() {
    let before = damaged(saved([1, 2], 1), SAVE, 1);
    let disk = Disk::new(before);
    disk.note_cuts();
    assert_eq!(load(&disk).unwrap(), 1);
    for cut in disk.cuts() {
        each_image(&cut, |disk, what| {
            assert_eq!(load(disk).unwrap_or_else(|error| panic!("{what}: {error}")), 1, "{what}");
        });
    }
}

/// S13.
#[test]
fn a_save_that_another_program_is_writing_is_in_use() {
    use persist::storage::Storage;
    let disk = Disk::new(saved([1], 1));
    let lock = disk.lock(&path(".game.sav.lock")).unwrap();
    assert!(lock.is_some());
    let error = save(&disk, 1, 2).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InUse, "{error}");
    assert_eq!(load(&disk).unwrap(), 1);
    drop(lock);
    save(&disk, 1, 2).unwrap();
    assert_eq!(load(&disk).unwrap(), 2);
}

/// S17: by number, not by time.
#[test]
fn generations_grow_with_every_save_of_a_slot() {
    let disk = Disk::new(Image::new());
    for expected in 1..5 {
        save(&disk, 2, 1).unwrap();
        let loaded = saves(&disk, 2).file(SAVE).load::<Game>().unwrap();
        assert_eq!(loaded.report().header().generation, expected);
    }
    // Also after a fall back to a backup.
    let disk = Disk::new(damaged(disk.image(), SAVE, 3));
    assert_eq!(load(&disk).unwrap(), 1);
    save(&disk, 2, 1).unwrap();
    let loaded = saves(&disk, 2).file(SAVE).load::<Game>().unwrap();
    assert!(loaded.report().header().generation >= 4);
}

/// S13, where a file has one name: it has none for a moment.
#[test]
fn a_load_waits_for_a_save_that_has_moved_the_old_one_away() {
    use persist::storage::Storage;
    let mut image = saved([1, 2], 1);
    let new = image.remove(&path(SAVE)).unwrap();
    image.insert(path(".game.sav.tmp"), new);
    let disk = Disk::without_links(image);
    let lock = disk.lock(&path(".game.sav.lock")).unwrap();
    assert!(lock.is_some());
    let other = disk.clone();
    let writer = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(30));
        other.rename(&path(".game.sav.tmp"), &path(SAVE)).unwrap();
        drop(lock);
    });
    let saves = Saves::new().storage(disk.clone());
    assert_eq!(saves.file(SAVE).load::<Game>().unwrap().into_inner(), game(2));
    writer.join().unwrap();
}

/// S13: the save is there again before the load looks for those who write it.
#[test]
fn a_load_that_finds_no_save_looks_again() {
    let before = saved([1, 2], 1);
    for number in 1.. {
        let disk = Disk::without_links(before.clone());
        disk.fail(number, Fault::Once(Io::NotFound));
        assert_eq!(load(&disk).unwrap(), 2, "operation {number}");
        if !disk.end_faults() {
            break;
        }
    }
}

/// S14, one-shot: what was moved away while it was recovered comes back.
#[test]
fn an_error_in_a_recovery_loses_nothing() {
    for links in [true, false] {
        let before = damaged(saved([1, 2], 1), SAVE, 1);
        let mut number = 1;
        loop {
            let image = before.clone();
            let disk = if links { Disk::new(image) } else { Disk::without_links(image) };
            disk.fail(number, Fault::Once(Io::Other));
            let first = load(&disk);
            let has_fired = disk.end_faults();
            let what = format!("operation {number}: {first:?}");
            assert_eq!(load(&disk).unwrap_or_else(|error| panic!("{what}: {error}")), 1);
            if !has_fired {
                break;
            }
            number += 1;
        }
        assert!(number > 8);
    }
}

/// Too many files are open while backups rotate: what was set aside cannot be looked at, and is a save all the same.
#[test]
fn a_save_that_cannot_be_opened_while_backups_rotate_is_not_taken_for_damaged() {
    for backups in [1, 3] {
        for links in [true, false] {
            let image = saved([1, 2], backups);
            let disk = if links { Disk::new(image) } else { Disk::without_links(image) };
            disk.fail_opens(".game.sav.old", usize::MAX, 9);
            let slot = saves(&disk, backups).file(SAVE);
            let _ = slot.save(&game(3));
            disk.fail_opens(".game.sav.old", 0, 9);
            assert!(
                !disk.names().iter().any(|name| name.contains("damaged")),
                "{:?}",
                disk.names()
            );
            assert_eq!(load(&disk).unwrap(), 3);
            // The newest of what is left is the one that could not be looked at.
            let mut image = disk.image();
            image.insert(path(SAVE), b"damaged".to_vec());
            assert_eq!(load(&Disk::new(image)).unwrap(), 2, "{backups} backups, links: {links}");
            save(&disk, backups, 4).unwrap();
            let kept = disk.names().iter().filter(|name| name.contains(".bak")).count();
            assert!(kept <= backups as usize, "{:?}", disk.names());
            assert_eq!(load(&disk).unwrap(), 4);
        }
    }
}

/// Damaged ones, which may be salvaged, and refused ones.
#[test]
fn no_backup_that_could_not_be_loaded_is_dropped_by_later_saves() {
    let mut image = saved([1, 2, 3], 2);
    for name in [SAVE, "game.sav.bak", "game.sav.bak2"] {
        image = damaged(image, name, 4);
    }
    let disk = Disk::new(image.clone());
    load(&disk).unwrap_err();
    (5..10).for_each(|level| save(&disk, 2, level).unwrap());
    let after = disk.image();
    for bytes in image.values() {
        assert!(after.values().any(|after| after == bytes), "{:?}", disk.names());
    }
}
