//! Backups beyond the number that is kept, from a time when more were.

use persist::{ErrorKind, Saves};
use persist_tests::support::disk::{Disk, Fault, Image};

use super::{SAVE, game, load, path, save, saved, saves};

/// Saves now, or on another thread.
fn save_by(saves: &Saves, is_background: bool, level: u32) -> persist::Result<()> {
    if is_background {
        saves.file(SAVE).save_in_background(&game(level))?.wait().map(drop)
    } else {
        saves.file(SAVE).save(&game(level)).map(drop)
    }
}

fn levels(disk: &Disk) -> Vec<(String, u32)> {
    let image = disk.image().into_iter();
    let level = |save: Vec<u8>| persist::from_slice::<super::Game>(&save).unwrap().level;
    image.map(|(name, save)| (name.display().to_string(), level(save))).collect()
}

#[test]
fn the_next_save_removes_surplus_backups_oldest_first_when_it_is_durable() {
    for is_background in [false, true] {
        let disk = Disk::new(saved([1, 2, 3, 4, 5], 4));
        disk.fail(usize::MAX, Fault::Once(std::io::ErrorKind::Other));
        save_by(&saves(&disk, 1), is_background, 6).unwrap();
        let log = disk.log();
        let durable = log.iter().rposition(|step| step.starts_with("sync folder")).unwrap();
        let removed = log[durable..].iter().filter(|step| step.starts_with("remove game"));
        assert_eq!(
            removed.collect::<Vec<_>>(),
            ["remove game.sav.bak4", "remove game.sav.bak3", "remove game.sav.bak2"]
        );
        assert!(!log[..durable].iter().any(|step| step.starts_with("remove game")), "{log:?}");
        assert_eq!(levels(&disk), [("game.sav".into(), 6), ("game.sav.bak".into(), 5)]);
    }
}

#[test]
fn no_backups_are_left_if_none_are_asked_for() {
    let disk = Disk::new(saved([1, 2, 3], 2));
    save(&disk, 0, 4).unwrap();
    assert_eq!(levels(&disk), [("game.sav".into(), 4)]);
}

#[test]
fn surplus_backups_that_cannot_be_removed_are_no_error_of_the_save() {
    let disk = Disk::new(saved([1, 2, 3], 2));
    disk.fail(1, Fault::Calls(&["remove"], std::io::ErrorKind::PermissionDenied));
    save(&disk, 1, 4).unwrap();
    assert!(disk.end_faults());
    assert_eq!(disk.names(), ["game.sav", "game.sav.bak", "game.sav.bak2"]);
    save(&disk, 1, 5).unwrap();
    assert_eq!(levels(&disk), [("game.sav".into(), 5), ("game.sav.bak".into(), 4)]);
}

#[test]
fn a_file_of_such_a_name_that_is_no_save_is_not_removed() {
    let mut image = saved([1], 1);
    image.insert(path("game.sav.bak2"), b"notes of the player".to_vec());
    let disk = Disk::new(image);
    save(&disk, 1, 2).unwrap();
    assert_eq!(disk.image()[&path("game.sav.bak2")], b"notes of the player");
}

/// A disk on which a save fails for want of room at one operation, until a file is removed.
#[test]
fn on_a_full_disk_surplus_backups_go_before_the_save_is_tried_once_more() {
    for is_background in [false, true] {
        let mut number = 1;
        loop {
            let disk = Disk::new(saved([1, 2, 3, 4], 3));
            disk.fail(number, Fault::Once(std::io::ErrorKind::StorageFull));
            let result = save_by(&saves(&disk, 1), is_background, 5);
            let log = disk.log();
            if !disk.end_faults() {
                break;
            }
            let what = format!("operation {number}: {result:?}, {log:?}");
            let in_place =
                |name: &str| load(&disk).unwrap_or_else(|error| panic!("{name}: {error}"));
            let level = in_place(&what);
            assert!(level == 5 || level == 4, "{what}");
            assert_eq!(result.is_ok(), level == 5 && result.is_ok(), "{what}");
            if log.iter().filter(|step| *step == "create .game.sav.tmp").count() == 2 {
                result.unwrap_or_else(|error| panic!("{what}: {error}"));
                let left: Vec<_> = levels(&disk);
                assert_eq!(left, [("game.sav".into(), 5), ("game.sav.bak".into(), 4)], "{what}");
            }
            number += 1;
        }
        assert!(number > 8, "{number}");
    }
}

#[test]
fn the_backups_within_the_number_stay_on_a_full_disk() {
    let before = saved([1, 2, 3], 2);
    for backups in [1, 2] {
        let disk = Disk::new(before.clone());
        disk.leave_room(10);
        let error = save(&disk, backups, 4).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSpace);
        let mut left = before.clone();
        // The surplus one went, and did not help.
        if backups == 1 {
            left.remove(&path("game.sav.bak2"));
        }
        assert_eq!(disk.image(), left);
    }
}

#[test]
fn a_full_disk_is_tried_again_only_where_a_backup_could_be_removed() {
    let disk = Disk::new(Image::new());
    disk.leave_room(10);
    disk.fail(usize::MAX, Fault::Once(std::io::ErrorKind::Other));
    assert_eq!(save(&disk, 1, 1).unwrap_err().kind(), ErrorKind::NoSpace);
    let created = disk.log().iter().filter(|step| step.starts_with("create")).count();
    assert_eq!(created, 1);
}
