//! Folders as stores of slots, on every storage that the tests have.

use std::io::ErrorKind as Io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use persist::save::{Header, Lineage, Slots};
use persist::storage::{Files, Memory, SlotFolder, SlotStore, SlotVersion};
use persist::{ErrorKind, SaveOptions, Saves};

use persist_tests::support::disk::{Disk, Fault, Image};
use persist_tests::support::slot_store::{self, Store, read, save};

fn on(disk: &Disk) -> SlotFolder {
    let options = SaveOptions::new().wait(Duration::ZERO);
    SlotFolder::new(disk.clone(), "").options(options)
}

fn lockless() -> Disk {
    let disk = Disk::default();
    disk.never_lock();
    disk
}

#[test]
fn folders_keep_what_stores_of_slots_promise() {
    slot_store::check(&|| Arc::new(SlotFolder::new(Memory::default(), "saves")));
    slot_store::check(&|| Arc::new(on(&Disk::new(Image::new()))));
    slot_store::check(&|| Arc::new(on(&Disk::without_links(Image::new()))));
    slot_store::check(&|| Arc::new(on(&lockless())));
    let folder = tempfile::tempdir().unwrap();
    let number = std::cell::Cell::new(0);
    slot_store::check(&|| {
        number.set(number.get() + 1);
        let folder = folder.path().join(number.get().to_string());
        std::fs::create_dir(&folder).unwrap();
        Arc::new(SlotFolder::new(Files, folder))
    });
}

#[test]
fn large_saves_come_back_from_a_folder() {
    let memory = SlotFolder::new(Memory::default(), "saves");
    slot_store::a_large_save_comes_back_byte_for_byte(&memory, 2_000_000);
}

#[test]
fn no_writer_of_a_folder_overwrites_another() {
    let folder = tempfile::tempdir().unwrap();
    let patient = SaveOptions::new().wait(Duration::from_secs(60));
    let stores: [Store; 2] = [
        Arc::new(SlotFolder::new(Memory::default(), "saves").options(patient)),
        Arc::new(SlotFolder::new(Files, folder.path()).options(patient)),
    ];
    for store in stores {
        slot_store::no_writer_overwrites_another(&store, 4, 10);
    }
}

#[test]
fn a_folder_that_is_not_there_has_no_slots() {
    let store = SlotFolder::new(Files, "/nowhere/to/be/found");
    assert!(store.list().unwrap().is_empty());
    assert_eq!(store.get("Ada").unwrap(), None);
    assert_eq!(store.put_if("Ada", None, &save(1)).unwrap_err().kind(), ErrorKind::Io);
}

/// Both are the slots of one folder.
#[test]
fn slots_and_a_store_share_a_folder() {
    let disk = Disk::new(Image::new());
    let saves = Saves::new().storage(disk.clone());
    saves.slots("").slot("Ada").save(&1_u32).unwrap();
    let store = on(&disk);
    let (number, version) = read(&store, "Ada").unwrap();
    assert_eq!(number, 1);
    store.put_if("Ada", Some(&version), &save(2)).unwrap();
    let slots = saves.slots("").list().unwrap();
    assert_eq!(slots[0].backups.len(), 1, "the save before is a backup");
    assert_eq!(saves.slots("").slot("Ada").load::<u32>().unwrap().into_inner(), 2);
}

#[test]
fn a_damaged_slot_is_that_of_its_backup() {
    let disk = Disk::new(Image::new());
    let store = on(&disk);
    let first = store.put_if("Ada", None, &save(1)).unwrap();
    store.put_if("Ada", Some(&first), &save(2)).unwrap();
    disk.put("Ada.sav", &save(2)[..40]);
    assert_eq!(read(&store, "Ada"), Some((1, first)));
    store.put_if("Ada", Some(&first), &save(3)).unwrap();
    // Without one it is not listed, and says so.
    disk.put("Bob.sav", &save(2)[..40]);
    assert_eq!(store.list().unwrap().len(), 1);
    assert_eq!(store.get("Bob").unwrap_err().kind(), ErrorKind::Truncated);
}

/// S1, S8 and S9.
#[test]
fn a_fault_in_a_store_of_slots_leaves_one_of_the_two_versions() {
    let before = Disk::new(Image::new());
    let first = on(&before).put_if("Ada", None, &save(1)).unwrap();
    let second = SlotVersion::from_save(&save(2));
    for fault in [Fault::Once(Io::Other), Fault::Ever(Io::Other)] {
        for new in [Disk::new, Disk::without_links] {
            for deletes in [false, true] {
                let mut number = 1;
                loop {
                    let disk = new(before.image());
                    disk.fail(number, fault);
                    let result = match deletes {
                        false => on(&disk).put_if("Ada", Some(&first), &save(2)).map(drop),
                        true => on(&disk).delete("Ada", &first),
                    };
                    let has_fired = disk.end_faults();
                    let found = on(&disk).get("Ada").unwrap().map(|(_, version)| version);
                    let new = (!deletes).then_some(second);
                    let what = format!("{fault:?} at {number}: {result:?}, {found:?}");
                    match &result {
                        Ok(()) => assert_eq!(found, new, "{what}"),
                        Err(error) => {
                            assert_ne!(error.kind(), ErrorKind::Conflict, "{what}");
                            assert!([Some(first), new].contains(&found), "{what}");
                        }
                    }
                    // The writer looks, and does what is left.
                    if found == Some(first) {
                        on(&disk).put_if("Ada", Some(&first), &save(2)).unwrap();
                    }
                    if !has_fired {
                        assert!(number > 5, "{number}");
                        break;
                    }
                    number += 1;
                }
            }
        }
    }
}

/// A program that saves between the look and the end.
#[test]
fn a_save_that_comes_between_is_a_conflict() {
    let disk = Disk::new(Image::new());
    let store = on(&disk);
    let first = store.put_if("Ada", None, &save(1)).unwrap();
    assert!(disk.names().contains(&"Ada.sav".to_owned()), "{:?}", disk.names());
    disk.put("Ada.sav", &save(9));
    let error = store.put_if("Ada", Some(&first), &save(2)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let error = store.delete("Ada", &first).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(read(&store, "Ada").unwrap().0, 9);
    assert!(!disk.names().iter().any(|name| Path::new(name).ends_with(".Ada.sav.tmp")));
}

fn device(disk: &Disk, name: &str) -> Slots {
    let options = SaveOptions::new().wait(Duration::ZERO);
    let saves = Saves::new().storage(disk.clone()).save_options(options);
    saves.device(name).unwrap().slots("")
}

fn ada(disk: &Disk) -> Vec<u8> {
    on(disk).get("Ada").unwrap().unwrap().0
}

/// The save of a device that has seen no other.
fn save_of(device_name: &str, number: u32) -> Vec<u8> {
    let disk = Disk::new(Image::new());
    device(&disk, device_name).slot("Ada").save(&number).unwrap();
    ada(&disk)
}

/// A folder with one save, and two before it.
fn deck() -> Disk {
    let disk = Disk::new(Image::new());
    for number in 0..3_u32 {
        device(&disk, "deck").slot("Ada").save(&number).unwrap();
    }
    disk
}

fn lineage(save: &[u8], other: &[u8]) -> Lineage {
    Header::read(save).unwrap().compare(&Header::read(other).unwrap())
}

#[test]
fn a_slot_that_is_reconciled_is_newer_than_both_and_both_are_kept() {
    let remote = save_of("laptop", 7);
    let merged = save(9);
    for which in 0..3 {
        let disk = deck();
        let store = device(&disk, "deck").as_store().unwrap();
        let (local, version) = store.get("Ada").unwrap().unwrap();
        let kept = [&local, &remote, &merged][which];
        let written = store.reconcile_if("Ada", Some(&version), kept, &remote).unwrap();
        let (now, version) = store.get("Ada").unwrap().unwrap();
        assert_eq!(version, written);
        assert_eq!(
            persist::from_slice::<u32>(&now).unwrap(),
            persist::from_slice::<u32>(kept).unwrap()
        );
        for side in [&local, &remote] {
            assert_eq!(lineage(&now, side), Lineage::Newer);
            let content = persist::from_slice::<u32>(side).unwrap();
            let backups = store.backups("Ada").unwrap();
            let mut all = backups.iter().chain([&now]);
            assert!(all.any(|save| persist::from_slice::<u32>(save).unwrap() == content));
        }
        // The next save continues it.
        device(&disk, "deck").slot("Ada").save(&10_u32).unwrap();
        assert_eq!(lineage(&ada(&disk), &now), Lineage::Newer);
    }
}

#[test]
fn a_remote_save_that_continues_the_slot_is_taken_as_it_is() {
    let (deck, laptop) = (deck(), Disk::new(Image::new()));
    let store = device(&deck, "deck").as_store().unwrap();
    let (local, version) = store.get("Ada").unwrap().unwrap();
    laptop.put("Ada.sav", &local);
    device(&laptop, "laptop").slot("Ada").save(&7_u32).unwrap();
    let remote = ada(&laptop);
    let written = store.reconcile_if("Ada", Some(&version), &remote, &remote).unwrap();
    assert_eq!(written, SlotVersion::from_save(&remote));
    assert_eq!(store.backups("Ada").unwrap()[0], local);
    // A device that has forgotten its own saves counts anew.
    let empty = Disk::new(Image::new());
    let store = device(&empty, "deck").as_store().unwrap();
    store.reconcile_if("Ada", None, &remote, &remote).unwrap();
    assert_eq!(lineage(&ada(&empty), &remote), Lineage::Newer);
}

#[test]
fn a_slot_that_was_saved_since_is_not_reconciled() {
    let disk = deck();
    let store = device(&disk, "deck").as_store().unwrap();
    let (local, version) = store.get("Ada").unwrap().unwrap();
    device(&disk, "deck").slot("Ada").save(&8_u32).unwrap();
    let (remote, before) = (save_of("laptop", 7), disk.image());
    for kept in [&local, &remote] {
        let error = store.reconcile_if("Ada", Some(&version), kept, &remote).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
    }
    assert_eq!(disk.image(), before);
}

/// S1, S8 and S9.
#[test]
fn a_fault_in_a_reconciliation_loses_no_side() {
    let remote = save_of("laptop", 7);
    for fault in [Fault::Once(Io::Other), Fault::Ever(Io::Other)] {
        for new in [Disk::new, Disk::without_links] {
            for keeps_remote in [false, true] {
                for number in 1.. {
                    let disk = new(deck().image());
                    let store = device(&disk, "deck").as_store().unwrap();
                    let (local, version) = store.get("Ada").unwrap().unwrap();
                    let kept = if keeps_remote { &remote } else { &local };
                    disk.fail(number, fault);
                    let result = store.reconcile_if("Ada", Some(&version), kept, &remote);
                    let has_fired = disk.end_faults();
                    let (now, found) = store.get("Ada").unwrap().unwrap();
                    let what = format!("{fault:?} at {number}: {result:?}, {found:?}");
                    let is_new = lineage(&now, &local) == Lineage::Newer;
                    assert!(is_new || now == local, "{what}");
                    assert!(is_new || result.is_err(), "{what}");
                    // What a save leaves is tidied by the next look at the slot.
                    let backups = store.backups("Ada").unwrap();
                    if result.is_ok() {
                        assert!(backups.contains(&local), "{what}");
                        assert!(keeps_remote || backups.contains(&remote), "{what}");
                    }
                    // Again, from what is there.
                    if !is_new {
                        store.reconcile_if("Ada", Some(&found), kept, &remote).unwrap();
                        assert!(store.backups("Ada").unwrap().contains(&local), "{what}");
                    }
                    if !has_fired {
                        assert!(number > 5, "{number}");
                        break;
                    }
                }
            }
        }
    }
}
