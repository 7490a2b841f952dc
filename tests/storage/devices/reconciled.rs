//! Two saves that have diverged become one line again.

use std::path::Path;

use persist::save::{Keep, Lineage, SlotInfo};
use persist::storage::Storage;
use persist::{ErrorKind, SaveOptions, Saves};

use crate::devices::{Device, LOCAL, REMOTE, diverged, two};

const BACKUP: &str = "saves/game.sav.bak";

#[test]
fn devices_that_take_turns_never_diverge() {
    let (mut deck, mut laptop) = two();
    assert_eq!(laptop.compare(&deck), Lineage::Same);
    for level in 2..5 {
        deck.save(level);
        assert_eq!(
            (deck.compare(&laptop), laptop.compare(&deck)),
            (Lineage::Newer, Lineage::Older)
        );
        laptop.reconcile(&deck, Keep::Remote);
        assert_eq!((laptop.compare(&deck), laptop.level()), (Lineage::Same, level));
        std::mem::swap(&mut deck, &mut laptop);
    }
}

#[test]
fn two_devices_that_go_on_from_one_save_are_told() {
    let (deck, laptop) = diverged();
    assert_eq!(
        (deck.compare(&laptop), laptop.compare(&deck)),
        (Lineage::Diverged, Lineage::Diverged)
    );
    // The generations tell another story.
    deck.save(4);
    assert!(deck.header().generation > laptop.header().generation);
    assert_eq!(deck.compare(&laptop), Lineage::Diverged);
}

#[test]
fn the_save_that_is_kept_is_newer_than_both() {
    for keep in [Keep::Local, Keep::Remote] {
        let (deck, laptop) = diverged();
        let before = Device::unnamed();
        before.write(LOCAL, &deck.read(LOCAL).unwrap());
        deck.reconcile(&laptop, keep);
        assert_eq!(deck.level(), if keep == Keep::Local { 2 } else { 3 });
        for other in [&before, &laptop] {
            assert_eq!(
                (deck.compare(other), other.compare(&deck)),
                (Lineage::Newer, Lineage::Older)
            );
        }
        // The other device brings it, and both go on from there.
        laptop.reconcile(&deck, Keep::Remote);
        assert_eq!(laptop.compare(&deck), Lineage::Same);
        laptop.save(4);
        assert_eq!(deck.compare(&laptop), Lineage::Older);
    }
}

#[test]
fn the_save_that_is_not_kept_is_not_lost() {
    let (deck, laptop) = diverged();
    let local = deck.read(LOCAL).unwrap();
    let deck = deck.options(SaveOptions::new().backups(0));
    deck.reconcile(&laptop, Keep::Remote);
    assert!(deck.read(BACKUP).unwrap() == local);

    let (deck, laptop) = diverged();
    let (local, remote) = (deck.read(LOCAL).unwrap(), laptop.read(LOCAL).unwrap());
    deck.reconcile(&laptop, Keep::Local);
    assert!(deck.read(BACKUP).unwrap() == local && deck.read(REMOTE).unwrap() == remote);
}

/// A backup of the same generation may be that of another device.
#[test]
fn a_save_that_another_program_put_into_the_slot_becomes_a_backup() {
    let (deck, laptop) = two();
    deck.save(2);
    laptop.save(3);
    deck.save(4);
    let brought = laptop.read(LOCAL).unwrap();
    let backup = persist::save::Header::read(&deck.read(BACKUP).unwrap()).unwrap();
    assert_eq!(backup.generation, laptop.header().generation);
    deck.write(LOCAL, &brought);
    deck.save(5);
    assert!(deck.read(BACKUP).unwrap() == brought);
}

#[test]
fn a_third_device_joins() {
    let (deck, laptop) = diverged();
    let phone = Device::new("phone");
    phone.reconcile(&laptop, Keep::Remote);
    phone.save(4);
    assert_eq!((phone.compare(&laptop), phone.compare(&deck)), (Lineage::Newer, Lineage::Diverged));
    laptop.reconcile(&deck, Keep::Local);
    assert_eq!(phone.compare(&laptop), Lineage::Diverged);
    // Whoever reconciles what is reconciled has all of it.
    phone.reconcile(&laptop, Keep::Local);
    assert_eq!((phone.compare(&laptop), phone.compare(&deck)), (Lineage::Newer, Lineage::Newer));
    deck.reconcile(&phone, Keep::Remote);
    assert_eq!((deck.compare(&phone), deck.level()), (Lineage::Same, 4));
}

#[test]
fn both_devices_may_reconcile_at_once() {
    let (deck, laptop) = diverged();
    let before = Device::unnamed();
    before.write(LOCAL, &laptop.read(LOCAL).unwrap());
    laptop.reconcile(&deck, Keep::Local);
    deck.reconcile(&before, Keep::Local);
    // Two choices, which are asked about again.
    assert_eq!(deck.compare(&laptop), Lineage::Diverged);
    deck.reconcile(&laptop, Keep::Local);
    assert_eq!(deck.compare(&laptop), Lineage::Newer);
}

#[test]
fn what_is_newer_already_is_left_as_it_is() {
    let (deck, laptop) = two();
    deck.save(2);
    let save = deck.read(LOCAL).unwrap();
    deck.reconcile(&laptop, Keep::Local);
    assert!(deck.read(LOCAL).unwrap() == save);
    // To go back is a step on.
    deck.reconcile(&laptop, Keep::Remote);
    assert_eq!((deck.level(), deck.compare(&laptop)), (1, Lineage::Newer));
    assert!(deck.read(BACKUP).unwrap() == save);
}

#[test]
fn info_and_content_stay_those_of_the_save_that_is_kept() {
    let (deck, laptop) = two();
    let saves = laptop.saves.clone().application("Quest", "2").unwrap();
    let info = SlotInfo::new("The Mill").value(&String::from("rain")).unwrap();
    saves.file(LOCAL).info(info.clone()).save(&vec![7_u32; 100_000]).unwrap();
    deck.save(2);
    let header = deck.reconcile(&laptop, Keep::Remote);
    assert_eq!(header.info(), info);
    assert_eq!(header.application_version.as_deref(), Some("2"));
    assert_eq!(deck.saves.file(LOCAL).load::<Vec<u32>>().unwrap().into_inner(), [7; 100_000]);
}

#[test]
fn a_damaged_save_is_not_compared_and_not_kept() {
    let (deck, laptop) = diverged();
    let (local, remote) = (deck.read(LOCAL).unwrap(), laptop.read(LOCAL).unwrap());
    deck.write(REMOTE, &remote[..remote.len() - 1]);
    assert_eq!(deck.saves.file(LOCAL).compare(REMOTE).unwrap_err().kind(), ErrorKind::Truncated);
    let mut changed = remote.clone();
    let at = changed.len() - 35;
    changed[at] ^= 1;
    deck.write(REMOTE, &changed);
    let error = deck.saves.file(LOCAL).reconcile(REMOTE, Keep::Remote).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(error.message().starts_with("saves/remote: "), "{error}");
    assert!(deck.read(LOCAL).unwrap() == local);
    // The one in the slot gives way to a good one, and not unseen.
    deck.write(LOCAL, &local[..local.len() - 1]);
    deck.write(REMOTE, &remote);
    let error = deck.saves.file(LOCAL).reconcile(REMOTE, Keep::Remote).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated);
    assert!(error.message().contains("load it"), "{error}");
    assert_eq!(deck.level(), 1);
    deck.reconcile(&laptop, Keep::Remote);
    assert_eq!(deck.level(), 3);
}

#[test]
fn a_save_that_is_not_there_is_an_error_unless_another_takes_its_place() {
    let (deck, _) = two();
    let phone = Device::new("phone");
    let error = phone.saves.file(LOCAL).compare(REMOTE).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(phone.saves.file(LOCAL).reconcile(REMOTE, Keep::Remote).is_err());
    phone.fetch(&deck);
    assert!(phone.saves.file(LOCAL).reconcile(REMOTE, Keep::Local).is_err());
    phone.saves.file(LOCAL).reconcile(REMOTE, Keep::Remote).unwrap();
    assert!(phone.read(LOCAL) == deck.read(LOCAL));
}

/// A device of the same name that has forgotten what it counted does not count it again.
#[test]
fn a_device_that_was_set_up_anew_counts_in_an_epoch_of_its_own() {
    let (deck, laptop) = two();
    deck.save(2);
    let again = Device::new("deck");
    again.reconcile(&laptop, Keep::Remote);
    for level in 3..5 {
        again.save(level);
        assert_eq!(again.compare(&deck), Lineage::Diverged);
        assert_eq!(again.compare(&laptop), Lineage::Newer);
    }
}

#[test]
fn a_slot_in_use_is_left_alone() {
    let (deck, laptop) = diverged();
    deck.fetch(&laptop);
    let deck = deck.options(SaveOptions::new().wait(std::time::Duration::ZERO));
    let _lock = deck.disk.lock(Path::new("saves/.game.sav.lock")).unwrap().unwrap();
    let error = deck.saves.file(LOCAL).reconcile(REMOTE, Keep::Remote).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InUse);
}

#[test]
fn real_files_are_reconciled_too() {
    let folder = tempfile::tempdir().unwrap();
    let [local, remote] = ["local.sav", "remote.sav"].map(|name| folder.path().join(name));
    let [deck, laptop] = ["deck", "laptop"].map(|name| Saves::new().device(name).unwrap());
    deck.file(&local).save(&1_u32).unwrap();
    std::fs::copy(&local, &remote).unwrap();
    laptop.file(&remote).save(&2_u32).unwrap();
    let save = deck.file(&local).save_in_background(&3_u32).unwrap();
    assert_eq!(deck.file(&local).compare(&remote).unwrap().lineage, Lineage::Diverged);
    deck.file(&local).reconcile(&remote, Keep::Remote).unwrap();
    save.wait().unwrap();
    assert_eq!(deck.file(&local).compare(&remote).unwrap().lineage, Lineage::Newer);
    assert_eq!(deck.file(&local).load::<u32>().unwrap().into_inner(), 2);
    let backup = folder.path().join("local.sav.bak");
    assert_eq!(deck.file(backup).load::<u32>().unwrap().into_inner(), 3);
}
