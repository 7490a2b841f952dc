//! Disks without locks, as some network drives: saves go without, and look twice.

use std::cell::RefCell;
use std::rc::Rc;

use persist::save::SaveOutcome;
use persist::{ErrorKind, Persist};

use persist_tests::support::disk::Fault;

use super::{Disk, Image, SAVE, assert_no_strays, game, load, path, save, saved, saves};

thread_local! {
    /// What another program does while this one encodes its save.
    static MEANWHILE: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

#[derive(Persist)]
#[persist(before_save = Slow::encode_slowly)]
struct Slow {
    level: u32,
}

impl Slow {
    fn encode_slowly(&mut self) -> Result<(), String> {
        if let Some(act) = MEANWHILE.with_borrow_mut(Option::take) {
            act();
        }
        Ok(())
    }
}

fn lockless() -> Disk {
    let disk = Disk::new(Image::new());
    disk.never_lock();
    disk
}

/// Saves while another program does something.
fn save_beside(disk: &Disk, act: impl FnOnce() + 'static) -> persist::Result<SaveOutcome> {
    let slow = Rc::new(RefCell::new(Slow { level: 3 }));
    let mut manager = saves(disk, 1).manager();
    manager.add(&slow)?;
    MEANWHILE.set(Some(Box::new(act)));
    manager.save(SAVE)
}

#[test]
fn a_save_without_locks_is_made_and_says_so() {
    let disk = lockless();
    let slot = saves(&disk, 1).file(SAVE);
    for level in 1..=3 {
        let outcome = slot.save(&game(level)).unwrap();
        assert_eq!(outcome, SaveOutcome::SavedUnlocked);
    }
    assert_eq!(load(&disk).unwrap(), 3);
    assert_no_strays(&disk, "a save without locks");
    let outcome = saves(&Disk::new(Image::new()), 1).file(SAVE).save(&game(1)).unwrap();
    assert_eq!(outcome, SaveOutcome::Saved);
}

/// The file of a lock that another user has left cannot be opened.
#[test]
fn a_lock_that_another_user_has_left_blocks_nobody() {
    let disk = Disk::new(saved([1], 1));
    disk.fail(1, Fault::Calls(&["lock"], std::io::ErrorKind::PermissionDenied));
    let slot = saves(&disk, 1).file(SAVE);
    assert_eq!(slot.save(&game(2)).unwrap(), SaveOutcome::SavedUnlocked);
    assert_eq!(load(&disk).unwrap(), 2);
    assert!(disk.end_faults());
    assert_no_strays(&disk, "a save without the lock");
}

#[test]
fn an_automatic_save_without_locks_says_so() {
    let slots = saves(&lockless(), 1).slots("");
    for name in ["auto1", "auto2", "auto1"] {
        assert_eq!(slots.auto(2).save(&game(1)).unwrap(), SaveOutcome::SavedUnlocked);
        assert_eq!(slots.auto(2).path().unwrap(), path(&format!("{name}.sav")));
    }
    let mut manager = saves(&lockless(), 1).manager();
    manager.add(&Rc::new(RefCell::new(game(1)))).unwrap();
    let slots = manager.saves().slots("");
    assert_eq!(slots.auto(2).save(&manager).unwrap(), SaveOutcome::SavedUnlocked);
}

#[test]
fn a_save_that_came_meanwhile_is_not_replaced_without_locks() {
    let disk = lockless();
    save(&disk, 1, 1).unwrap();
    let other = disk.clone();
    let error = save_beside(&disk, move || save(&other, 1, 2).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InUse);
    insta::assert_snapshot!(error.message());
    assert_eq!(load(&disk).unwrap(), 2);
    assert_no_strays(&disk, "a save that came second");
    assert_eq!(save_beside(&disk, || {}).unwrap(), SaveOutcome::SavedUnlocked);
}

#[test]
fn a_file_that_another_program_is_writing_is_neither_taken_nor_removed() {
    let disk = lockless();
    save(&disk, 1, 1).unwrap();
    let other = disk.clone();
    let error = save_beside(&disk, move || other.put(".game.sav.tmp", b"half of theirs"));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::InUse);
    assert_eq!(load(&disk).unwrap(), 1);
    assert_eq!(disk.image()[&path(".game.sav.tmp")], b"half of theirs");
}

#[test]
fn a_copy_of_a_slot_does_not_replace_one_that_came_meanwhile_without_locks() {
    let disk = Disk::new(saved([1], 1));
    disk.never_lock();
    disk.put_after("sync .other.sav.tmp", "other.sav", b"theirs");
    let error = saves(&disk, 1).slots("").copy("game", "other").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(disk.image()[&path("other.sav")], b"theirs");
    disk.put_after("sync .third.sav.tmp", ".third.sav.tmp", b"half of theirs");
    let error = saves(&disk, 1).slots("").copy("game", "third").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InUse);
    assert_eq!(disk.image()[&path(".third.sav.tmp")], b"half of theirs");
}

#[test]
fn a_recovery_does_not_replace_a_save_that_came_meanwhile_without_locks() {
    let theirs = saved([1, 2, 3], 1)[&path(SAVE)].clone();
    let mut image = saved([1, 2], 1);
    image.get_mut(&path(SAVE)).unwrap()[900] ^= 1;
    let disk = Disk::new(image);
    disk.never_lock();
    disk.put_after("sync .game.sav.tmp", SAVE, &theirs);
    assert_eq!(load(&disk).unwrap(), 1);
    assert_eq!(disk.image()[&path(SAVE)], theirs);
    assert_eq!(load(&disk).unwrap(), 3);
    assert_no_strays(&disk, "a recovery that came second");
}
