use std::cell::RefCell;
use std::io::ErrorKind as Io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use persist::{ErrorKind, Persist};

use super::{Game, assert_no_strays, load, save, saved};
use persist_tests::support::disk::{Disk, Fault, Image};

/// Saves level 2 over level 1 with a fault at each operation in turn, until none fires.
pub(super) fn at_every_operation(
    backups: u32,
    disk: impl Fn(Image) -> Disk,
    fault: Fault,
    mut check: impl FnMut(&Disk, &persist::Result<()>, &str),
) {
    let before = saved([1], backups);
    let mut number = 1;
    loop {
        let disk = disk(before.clone());
        disk.fail(number, fault);
        let result = save(&disk, backups, 2);
        let has_fired = disk.end_faults();
        let what = format!("{fault:?} at operation {number}, {backups} backups: {result:?}");
        if !has_fired {
            result.unwrap();
            assert!(number > 8, "{number} operations are too few to be a save");
            return;
        }
        check(&disk, &result, &what);
        number += 1;
    }
}

pub(super) fn old_or_new(disk: &Disk, result: &persist::Result<()>, what: &str) {
    let in_place = result.as_ref().is_err_and(|error| error.message().contains("in place"));
    let level = load(disk).unwrap_or_else(|error| panic!("{what}: {error}"));
    match result {
        Ok(()) => assert_eq!(level, 2, "{what}"),
        Err(_) if in_place => assert_eq!(level, 2, "{what}"),
        Err(_) => assert_eq!(level, 1, "{what}"),
    }
    assert_no_strays(disk, what);
    // The next save is none the worse for it.
    save(disk, 1, 3).unwrap();
    assert_eq!(load(disk).unwrap(), 3, "{what}");
    assert_no_strays(disk, what);
}

/// S8 and S9, one-shot.
#[test]
fn an_operation_that_fails_leaves_the_old_save_and_no_stray_file() {
    for kind in [Io::Other, Io::StorageFull, Io::PermissionDenied] {
        for backups in [0, 1, 3] {
            at_every_operation(backups, Disk::new, Fault::Once(kind), |disk, result, what| {
                if result.is_err() {
                    // Not even before the next opening.
                    assert_no_strays(disk, what);
                }
                old_or_new(disk, result, what);
            });
            at_every_operation(backups, Disk::without_links, Fault::Once(kind), old_or_new);
        }
    }
}

/// S1: a program that is killed does nothing any more; S9, sticky.
#[test]
fn a_kill_at_any_operation_leaves_the_old_save_or_the_new_one() {
    let killed = |disk: &Disk, result: &persist::Result<()>, what: &str| {
        let level = load(disk).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(level == 2 || level == 1 && result.is_err(), "{what}: level {level}");
        assert_no_strays(disk, what);
        save(disk, 1, 3).unwrap();
        assert_eq!(load(disk).unwrap(), 3, "{what}");
    };
    for backups in [0, 1, 3] {
        at_every_operation(backups, Disk::new, Fault::Ever(Io::Other), killed);
        at_every_operation(backups, Disk::without_links, Fault::Ever(Io::Other), killed);
    }
}

/// The levels of the backups, newest first.
fn backups(image: &Image) -> Vec<u32> {
    let backups = image.iter().filter(|(name, _)| name.to_string_lossy().contains(".bak"));
    backups.map(|(_, save)| persist::from_slice::<Game>(save).unwrap().level).collect()
}

/// S8 and S9: the backups too.
#[test]
fn an_operation_that_fails_leaves_every_file_as_it_was() {
    for (most, links) in [(1, true), (1, false), (3, true), (3, false)] {
        let before = saved(1..6, most);
        for number in 1.. {
            let image = before.clone();
            let disk = if links { Disk::new(image) } else { Disk::without_links(image) };
            disk.fail(number, Fault::Once(Io::Other));
            let result = save(&disk, most, 6);
            if !disk.end_faults() {
                break;
            }
            let what = format!("operation {number}: {result:?}");
            match result {
                Err(error) if !error.message().contains("in place") => {
                    assert_eq!(disk.image(), before, "{what}");
                }
                _ => {
                    // It completes a rotation that was interrupted.
                    assert_eq!(load(&disk).unwrap(), 6, "{what}");
                    assert_eq!(backups(&disk.image())[0], 5, "{what}");
                }
            }
        }
    }
}

/// S1: the backups too.
#[test]
fn a_kill_at_any_operation_loses_no_backup() {
    for (most, links) in [(1, true), (1, false), (3, true), (3, false)] {
        for number in 1.. {
            let image = saved(1..6, most);
            let disk = if links { Disk::new(image) } else { Disk::without_links(image) };
            disk.fail(number, Fault::Ever(Io::Other));
            let _ = save(&disk, most, 6);
            if !disk.end_faults() {
                break;
            }
            let level = load(&disk).unwrap();
            let found = backups(&disk.image());
            let expected: Vec<u32> = (1..level).rev().take(found.len()).collect();
            assert!(found == expected && found.len() >= most as usize, "{number}: {found:?}");
        }
    }
}

/// S7, one-shot and sticky.
#[test]
fn short_and_interrupted_writes_are_completed() {
    let mut has_fired = 0;
    for number in 1..40 {
        for fault in [Fault::Short, Fault::EverShort] {
            let disk = Disk::new(saved([1], 1));
            disk.fail(number, fault);
            save(&disk, 1, 2).unwrap();
            has_fired += u32::from(disk.end_faults());
            assert_eq!(load(&disk).unwrap(), 2, "{fault:?} at operation {number}");
        }
    }
    assert!(has_fired >= 6, "{has_fired} writes");
}

/// S8.
#[test]
fn a_full_disk_is_told_apart() {
    let mut told = 0;
    at_every_operation(1, Disk::new, Fault::Once(Io::StorageFull), |_, result, what| {
        if let Err(error) = result {
            assert_eq!(error.kind(), ErrorKind::NoSpace, "{what}");
            told += 1;
        }
    });
    assert!(told > 5, "{told} errors");
}

/// S9.
#[test]
fn a_flush_that_failed_is_not_asked_again() {
    let mut flushes = Vec::new();
    at_every_operation(1, Disk::new, Fault::Once(Io::Other), |disk, result, what| {
        let Err(error) = result else { return };
        if let Some(of) = error.message().strip_prefix("cannot flush ") {
            // What fails is not in the log.
            let log = disk.log();
            let asked = log.iter().filter(|done| done.starts_with("sync")).count();
            let is_folder = of.starts_with("the folder");
            assert_eq!(asked, usize::from(is_folder), "{what}: {log:?}");
            flushes.push(is_folder);
        }
    });
    assert_eq!(flushes, [false, true]);
}

/// A damaged save is moved out of the way before the new one takes its place, or does not.
#[test]
fn an_error_while_a_damaged_save_is_replaced_loses_no_backup() {
    for links in [true, false] {
        let mut before = saved([1, 2], 1);
        before.get_mut(&super::path("game.sav")).unwrap().truncate(100);
        let mut number = 1;
        loop {
            let image = before.clone();
            let disk = if links { Disk::new(image) } else { Disk::without_links(image) };
            disk.fail(number, Fault::Once(Io::Other));
            let result = save(&disk, 1, 3);
            if !disk.end_faults() {
                break;
            }
            let what = format!("operation {number}: {result:?}");
            let level = load(&disk).unwrap_or_else(|error| panic!("{what}: {error}"));
            let may_be_new =
                result.is_ok() || result.is_err_and(|error| error.message().contains("in place"));
            assert_eq!(level, if may_be_new { 3 } else { 1 }, "{what}");
            number += 1;
        }
        assert!(number > 8);
    }
}

#[derive(Persist)]
#[persist(before_save = Bomb::check)]
struct Bomb {
    level: u32,
    text: Vec<String>,
}

impl Bomb {
    fn check(&mut self) {
        assert!(self.level < 3, "as it was told to");
    }
}

/// H17.
#[test]
fn a_panic_of_the_program_in_a_save_leaves_the_old_one() {
    let disk = Disk::new(Image::new());
    let mut manager = super::saves(&disk, 1).manager();
    // The last of many, met when some are written.
    let bombs: Vec<_> = (0..20)
        .map(|_| Rc::new(RefCell::new(Bomb { level: 1, text: vec!["x".repeat(100); 100] })))
        .collect();
    for bomb in &bombs {
        manager.add(bomb).unwrap();
    }
    manager.save("game.sav").unwrap();
    let (before, in_memory) = (disk.image(), manager.to_vec().unwrap());
    bombs[19].borrow_mut().level = 3;
    let panicked = catch_unwind(AssertUnwindSafe(|| manager.save("game.sav")));
    assert!(panicked.is_err());
    assert_eq!(disk.image(), before);
    // Nothing is locked or half done.
    bombs[19].borrow_mut().level = 1;
    assert!(manager.to_vec().unwrap() == in_memory);
    bombs[19].borrow_mut().level = 2;
    manager.save("game.sav").unwrap();
    let loaded = manager.load("game.sav").unwrap();
    assert_eq!(loaded.iter::<Bomb>().last().unwrap().borrow().level, 2);
    assert_no_strays(&disk, "a panic");
}
