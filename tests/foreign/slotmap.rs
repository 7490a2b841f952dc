//! Keys and secondary maps of slotmap.

use std::collections::HashMap;

use persist::codec::decode;
use persist::{ErrorKind, Persist};
use proptest::prelude::*;
use slotmap::{DefaultKey, Key, KeyData, SecondaryMap, SlotMap, SparseSecondaryMap, new_key_type};

use crate::support::{bytes_of, golden, hostile, refuses, round_trip, round_trip_by, same_kind};

new_key_type! {
    #[derive(Persist)]
    #[persist(transparent)]
    struct MonsterKey;
}

fn key(slot: u32, version: u32) -> DefaultKey {
    KeyData::from_ffi(u64::from(version) << 32 | u64::from(slot)).into()
}

#[test]
fn a_key_is_its_slot_and_its_version() {
    golden(&key(7, 0x0103), &[7, 0, 0, 0, 3, 1, 0, 0]);
    golden(&key(7, 0x0103).data(), &[7, 0, 0, 0, 3, 1, 0, 0]);
    golden(&DefaultKey::null(), &[255, 255, 255, 255, 1, 0, 0, 0]);
    golden(&MonsterKey::from(key(7, 1).data()), &[7, 0, 0, 0, 1, 0, 0, 0]);
    same_kind(&key(7, 1), &(1_u64 << 32 | 7));
    // An empty slot has an even version.
    refuses::<DefaultKey, _>(&(2_u64 << 32 | 7), "0x200000007 is the number of no key");
    hostile(&key(7, 1));
}

#[test]
fn keys_that_a_game_holds_lead_to_the_same_values_of_a_secondary_map() {
    let mut monsters: SlotMap<MonsterKey, ()> = SlotMap::with_key();
    let first = monsters.insert(());
    monsters.remove(first);
    let [orc, elf] = [(); 2].map(|()| monsters.insert(()));
    let names: SecondaryMap<MonsterKey, String> =
        [(elf, "elf".into()), (orc, "orc".into())].into_iter().collect();
    let save = persist::to_vec(&(names, orc, first)).unwrap();
    let (names, orc, first): (SecondaryMap<MonsterKey, String>, MonsterKey, MonsterKey) =
        persist::from_slice(&save).unwrap();
    assert_eq!(names[orc], "orc");
    assert!(!names.contains_key(first));
}

#[test]
fn a_secondary_map_is_a_map_in_the_order_of_its_slots() {
    let entries = [(key(9, 1), 90_u8), (key(2, 5), 20)];
    let bytes = [2, 2, 0, 0, 0, 5, 0, 0, 0, 20, 9, 0, 0, 0, 1, 0, 0, 0, 90];
    let map: SecondaryMap<DefaultKey, u8> = entries.into_iter().collect();
    assert_eq!(bytes_of(&map), bytes);
    round_trip_by(&map, |a, b| assert!(a.iter().eq(b.iter())));
    let sparse: SparseSecondaryMap<DefaultKey, u8> = entries.into_iter().collect();
    assert_eq!(bytes_of(&sparse), bytes);
    round_trip_by(&sparse, |a, b| {
        assert!(a.len() == b.len() && a.iter().all(|(k, v)| b.get(k) == Some(v)));
    });

    // In whichever order they are stored.
    let plain: HashMap<DefaultKey, u8> = entries.into();
    let loaded: SecondaryMap<DefaultKey, u8> =
        persist::from_slice(&persist::to_vec(&plain).unwrap()).unwrap();
    assert!(loaded.iter().eq(map.iter()));
}

#[test]
fn two_keys_of_one_slot_and_a_null_key_are_refused() {
    let twice = [(key(2, 1), 1_u8), (key(2, 3), 2)];
    let bytes = bytes_of(&twice.to_vec());
    for error in [
        decode::<SecondaryMap<DefaultKey, u8>>(&bytes).unwrap_err(),
        decode::<SparseSecondaryMap<DefaultKey, u8>>(&bytes).unwrap_err(),
    ] {
        assert!(error.to_string().contains("twice"), "{error}");
    }
    let error =
        decode::<SecondaryMap<DefaultKey, u8>>(&bytes_of(&vec![(DefaultKey::null(), 1_u8)]));
    assert!(error.unwrap_err().to_string().contains("the null key has no value"));
}

#[test]
fn a_key_of_a_late_slot_does_not_take_memory_out_of_proportion() {
    let bytes = bytes_of(&vec![(key(u32::MAX - 1, 1), [0_u64; 8])]);
    let error = decode::<SecondaryMap<DefaultKey, [u64; 8]>>(&bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    assert_eq!(decode::<SparseSecondaryMap<DefaultKey, [u64; 8]>>(&bytes).unwrap().len(), 1);
}

#[test]
fn hostile_bytes() {
    let entries = [(key(9, 1), String::from("nine")), (key(2, 5), String::from("two"))];
    hostile(&entries.clone().into_iter().collect::<SecondaryMap<DefaultKey, String>>());
    hostile(&entries.into_iter().collect::<SparseSecondaryMap<DefaultKey, String>>());
}

proptest! {
    #[test]
    fn keys_and_maps_come_back(entries: Vec<(u8, u32, String)>) {
        let entries = entries.iter().map(|(slot, version, text)| {
            (key(u32::from(*slot), version | 1), text.clone())
        });
        let map: SecondaryMap<DefaultKey, String> = entries.clone().collect();
        map.keys().for_each(|key| round_trip(&key));
        round_trip_by(&map, |a, b| assert!(a.iter().eq(b.iter())));
        let sparse: SparseSecondaryMap<DefaultKey, String> = entries.collect();
        assert_eq!(bytes_of(&sparse), bytes_of(&map));
    }
}

/// serde is shown the versions of the empty slots, which the map shows to nobody else.
#[test]
fn a_slot_map_that_serde_stores_gives_no_key_out_again() {
    #[derive(persist::Persist)]
    struct Level {
        #[persist(serde)]
        monsters: SlotMap<DefaultKey, String>,
        prey: Option<DefaultKey>,
    }

    let mut monsters = SlotMap::new();
    let gone = monsters.insert("orc".to_owned());
    let elf = monsters.insert("elf".to_owned());
    monsters.remove(gone);
    let level = Level { monsters, prey: Some(elf) };
    let mut loaded: Level = persist::from_slice(&persist::to_vec(&level).unwrap()).unwrap();
    assert_eq!(loaded.prey.and_then(|key| loaded.monsters.get(key)).unwrap(), "elf");
    let mut monsters = level.monsters;
    let next = loaded.monsters.insert("new".to_owned());
    assert_eq!(next, monsters.insert("new".to_owned()));
    assert_ne!(next, gone);
}
