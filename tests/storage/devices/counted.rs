//! What is counted, and what that tells.

use std::rc::Rc;

use persist::save::{Header, Keep, Lineage};
use persist::{ErrorKind, Saves, Value};
use persist_tools::Document;

use crate::devices::{Device, LOCAL, two};
use persist_tests::support::forge::Forged;

fn owned(devices: &[(&str, u64)]) -> Vec<(String, u64)> {
    devices.iter().map(|(name, count)| (String::from(*name), *count)).collect()
}

#[test]
fn every_save_counts_for_its_device() {
    let (deck, laptop) = two();
    laptop.save(2);
    laptop.save(3);
    assert_eq!(laptop.devices(), owned(&[("deck", 1), ("laptop", 2)]));
    deck.reconcile(&laptop, Keep::Remote);
    deck.save(4);
    assert_eq!(deck.devices(), owned(&[("deck", 2), ("laptop", 2)]));
    assert_eq!(deck.header().generation, 4);
}

#[test]
fn a_list_of_slots_and_a_load_show_the_devices() {
    let (_, laptop) = two();
    laptop.save(2);
    let slot = laptop.saves.slots("saves").list().unwrap().remove(0);
    let loaded = laptop.saves.file(LOCAL).load::<u32>().unwrap();
    for header in [&slot.header, loaded.report().header()] {
        assert!(header.devices().eq([("deck", 1), ("laptop", 1)]));
    }
}

#[test]
fn all_ways_to_save_a_file_count() {
    let deck = Device::new("deck");
    let mut manager = deck.saves.manager();
    manager.add(&Rc::new(std::cell::RefCell::new(1_u32))).unwrap();
    manager.save(LOCAL).unwrap();
    deck.saves.file(LOCAL).save_in_background(&manager).unwrap().wait().unwrap();
    deck.saves.file(LOCAL).save_in_background(&7_u32).unwrap().wait().unwrap();
    assert_eq!(deck.devices(), owned(&[("deck", 3)]));
    deck.saves.slots("saves").auto(3).save(&manager).unwrap();
    let slots = deck.saves.slots("saves").list().unwrap();
    let slot = slots.iter().find(|slot| slot.name == "auto1").unwrap();
    assert!(slot.header.devices().eq([("deck", 1)]));
    let in_memory = deck.saves.to_vec(&7_u32).unwrap();
    assert_eq!(Header::read(&in_memory).unwrap().devices().count(), 0);
}

/// The tags of the fields in the header of a save.
fn fields(save: &[u8]) -> Vec<u8> {
    let fields = Forged::parse(save).header_fields;
    let (mut at, mut tags) = (0, Vec::new());
    while let Some(tag) = fields.get(at) {
        tags.push(*tag);
        at += 5 + u32::from_le_bytes(fields[at + 1..at + 5].try_into().unwrap()) as usize;
    }
    tags
}

#[test]
fn without_a_device_nothing_is_counted() {
    let device = Device::unnamed();
    device.save(1);
    let named = Device::new("deck");
    named.save(1);
    let (plain, counted) = (device.read(LOCAL).unwrap(), named.read(LOCAL).unwrap());
    assert_eq!(device.devices(), owned(&[]));
    assert!(plain.len() < counted.len());
    // The info and the generation; the counts.
    assert_eq!((fields(&plain), fields(&counted)), (vec![3, 4], vec![3, 4, 5]));
}

#[test]
fn a_program_without_a_device_goes_on_counting() {
    let (deck, laptop) = two();
    let other = Device::unnamed();
    other.reconcile(&deck, Keep::Remote);
    other.save(2);
    assert_eq!(other.devices(), owned(&[("", 1), ("deck", 1)]));
    assert_eq!((other.compare(&deck), deck.compare(&other)), (Lineage::Newer, Lineage::Older));
    laptop.save(3);
    assert_eq!(laptop.compare(&other), Lineage::Diverged);
}

#[test]
fn a_changed_document_comes_after_the_save() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sav");
    let saves = Saves::new().device("deck").unwrap();
    saves.file(&path).save(&1_u32).unwrap();
    let before = Header::from_reader(std::fs::File::open(&path).unwrap()).unwrap();
    let mut document = Document::open(&path).unwrap();
    *document.root_mut().unwrap() = Value::from(2_u32);
    document.save(&path).unwrap();
    let after = Header::from_reader(std::fs::File::open(&path).unwrap()).unwrap();
    assert_eq!(after.compare(&before), Lineage::Newer);
    assert!(after.devices().eq([("", 1), ("deck", 1)]));
}

#[test]
fn names_that_cannot_be_told_apart_or_are_too_long_are_refused() {
    let saves = Saves::new();
    let error = saves.clone().device("").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
    let error = saves.clone().device(&"x".repeat(256)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(error.message().contains("256") && error.message().contains("255"), "{error}");
    saves.device(&"x".repeat(255)).unwrap();
}

#[test]
fn without_devices_the_generation_decides() {
    let (one, other) = (Device::unnamed(), Device::unnamed());
    one.save(1);
    other.save(1);
    assert_eq!(one.compare(&other), Lineage::Same);
    other.save(2);
    assert_eq!((one.compare(&other), other.compare(&one)), (Lineage::Older, Lineage::Newer));
    one.save(3);
    // What is in them is another thing, though nothing in the headers is.
    assert_eq!(one.header(), other.header());
    assert_eq!(one.compare(&other), Lineage::Diverged);
}

#[test]
fn a_save_from_before_the_first_count_is_older() {
    let (old, deck) = (Device::unnamed(), Device::new("deck"));
    old.save(1);
    deck.reconcile(&old, Keep::Remote);
    assert_eq!(deck.compare(&old), Lineage::Same);
    deck.save(2);
    deck.save(3);
    assert_eq!((deck.compare(&old), old.compare(&deck)), (Lineage::Newer, Lineage::Older));
    // Its generation is less than that here, and it is no part of it all the same.
    old.save(4);
    assert_eq!((deck.compare(&old), old.compare(&deck)), (Lineage::Diverged, Lineage::Diverged));
    deck.reconcile(&old, Keep::Local);
    assert_eq!(deck.compare(&old), Lineage::Newer);
}

#[test]
fn a_save_that_was_not_made_for_a_file_is_in_no_line() {
    let (deck, laptop) = two();
    let save = laptop.saves.to_vec(&9_u32).unwrap();
    let header = Header::read(&save).unwrap();
    assert_eq!(deck.header().compare(&header), Lineage::Diverged);
    assert_eq!(header.compare(&deck.header()), Lineage::Diverged);
}

/// A slot that is deleted and begun again is another one, whatever its counts are.
#[test]
fn a_slot_begun_anew_is_not_taken_for_its_past() {
    let (deck, laptop) = two();
    laptop.save(2);
    deck.saves.slots("saves").slot("game").delete().unwrap();
    deck.save(9);
    assert_eq!(deck.devices(), owned(&[("deck", 1)]));
    assert_eq!(deck.compare(&laptop), Lineage::Diverged);
    deck.save(10);
    assert_eq!(deck.devices(), owned(&[("deck", 2)]));
    assert_eq!(deck.compare(&laptop), Lineage::Diverged);
}

/// What another device has of it is not lost to what is made after the backup.
#[test]
fn a_save_after_a_fall_back_to_a_backup_has_diverged_from_the_damaged_one() {
    let (deck, laptop) = two();
    deck.save(2);
    laptop.reconcile(&deck, Keep::Remote);
    deck.write(LOCAL, &[0; 200]);
    assert_eq!(deck.level(), 1);
    assert_eq!(deck.compare(&laptop), Lineage::Older);
    for level in 3..6 {
        deck.save(level);
        assert_eq!(deck.compare(&laptop), Lineage::Diverged);
    }
    // One epoch was begun, not one for each save.
    assert_eq!(deck.devices(), owned(&[("deck", 4)]));
    laptop.reconcile(&deck, Keep::Remote);
    assert_eq!((laptop.compare(&deck), laptop.level()), (Lineage::Newer, 5));
}

#[test]
fn more_devices_than_a_header_has_room_for_only_make_strangers() {
    let mut cloud = Device::new("0");
    for number in 1..=300_u32 {
        let device = Device::new(&number.to_string());
        device.reconcile_if_there(&cloud);
        device.save(number);
        if cloud.read(LOCAL).is_some() {
            // At the bound one that is forgotten is asked about, and none is hidden.
            let lineage = device.compare(&cloud);
            let expected = if number > 256 { Lineage::Diverged } else { Lineage::Newer };
            assert_eq!(lineage, expected, "{number}");
        }
        assert_eq!(device.devices().len(), number.min(256) as usize);
        cloud = device;
    }
    let before = Device::new("0");
    before.write(LOCAL, &cloud.read(LOCAL).unwrap());
    cloud.save(1000);
    assert_eq!(cloud.compare(&before), Lineage::Newer);
}

impl Device {
    fn reconcile_if_there(&self, other: &Self) {
        if other.read(LOCAL).is_some() {
            self.reconcile(other, Keep::Remote);
        }
    }
}
