//! Maps and sets of other crates.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::BuildHasherDefault;

use indexmap::{IndexMap, IndexSet};
use persist::Persist;
use persist::codec::{Buffer, decode};
use proptest::prelude::*;

use crate::support::{bytes_of, golden, hostile, round_trip, same_kind};

type Seeded = BuildHasherDefault<std::hash::DefaultHasher>;

#[test]
fn an_index_map_keeps_its_order() {
    let map: IndexMap<u8, String> = [(9, "nine".into()), (1, "one".into())].into();
    golden(&map, b"\x02\x09\x04nine\x01\x03one");
    let loaded: IndexMap<u8, String> =
        persist::from_slice(&persist::to_vec(&map).unwrap()).unwrap();
    assert!(loaded.keys().eq(&[9, 1]));
    let seeded: IndexMap<u8, String, Seeded> = map.into_iter().collect();
    golden(&seeded, b"\x02\x09\x04nine\x01\x03one");
}

#[test]
fn an_index_set_keeps_its_order() {
    let set: IndexSet<u8> = [9, 1, 5].into();
    golden(&set, &[3, 9, 1, 5]);
    assert!(decode::<IndexSet<u8>>(&[3, 9, 1, 5]).unwrap().iter().eq(&[9, 1, 5]));
}

#[test]
fn maps_of_other_crates_load_as_those_of_the_standard_library() {
    let index: IndexMap<u8, u8> = [(1, 10), (2, 20)].into();
    same_kind(&index, &BTreeMap::from([(1_u8, 10_u8), (2, 20)]));
    same_kind(&index, &HashMap::from([(1_u8, 10_u8), (2, 20)]));
    same_kind(&IndexSet::<u8>::from([1, 2]), &BTreeSet::from([1_u8, 2]));

    // A map that is out of order loads as one that is in order.
    let save = persist::to_vec(&IndexMap::<u8, u8>::from([(2, 20), (1, 10)])).unwrap();
    let ordered: BTreeMap<u8, u8> = persist::from_slice(&save).unwrap();
    assert_eq!(ordered, BTreeMap::from([(1, 10), (2, 20)]));
}

#[derive(Persist, Clone, Debug, PartialEq)]
struct Compact {
    #[persist(compact)]
    map: IndexMap<u32, i32>,
    #[persist(compact)]
    set: IndexSet<u64>,
    #[persist(compact)]
    hashed: hashbrown_0_16::HashMap<u32, i32>,
}

#[test]
fn compact_numbers_go_through_maps() {
    let value = Compact {
        map: [(9, -1), (1, 1)].into(),
        set: [300].into(),
        hashed: [(2, 2)].into_iter().collect(),
    };
    let mut buffer = Buffer::new();
    assert_eq!(buffer.encode(&value).unwrap(), [2, 9, 1, 1, 2, 1, 249, 44, 1, 1, 2, 4]);
    round_trip(&value);
}

#[test]
fn keys_that_stand_twice_are_refused() {
    let twice = [2, 7, 1, 7, 2];
    let maps = [
        decode::<IndexMap<u8, u8>>(&twice).unwrap_err(),
        decode::<hashbrown_0_16::HashMap<u8, u8>>(&twice).unwrap_err(),
        decode::<IndexSet<u8>>(&[2, 7, 7]).unwrap_err(),
        decode::<hashbrown_0_17::HashSet<u8>>(&[2, 7, 7]).unwrap_err(),
    ];
    for error in maps {
        assert!(error.to_string().contains("twice"), "{error}");
    }
}

#[test]
fn hostile_bytes() {
    hostile(&IndexMap::<u8, String>::from([(9, "nine".into()), (1, "one".into())]));
    hostile(&IndexSet::<String>::from(["a".into(), "b".into()]));
    hostile(&hashbrown_0_16::HashMap::<u8, String>::from([(9, "nine".into())]));
    hostile(&hashbrown_0_16::HashSet::<u8>::from([9, 1]));
    // A count that no memory holds.
    let bytes = [253, 0, 0, 0, 0, 0, 1];
    assert!(decode::<IndexMap<u8, u8>>(&bytes).is_err());
    assert!(decode::<hashbrown_0_15::HashMap<u8, u8>>(&bytes).is_err());
}

/// Hashed maps and sets: sorted by their encoded keys.
macro_rules! hashed {
    ($($name:ident: $hashbrown:ident;)*) => {$(
        mod $name {
            use ::$hashbrown::{HashMap, HashSet};

            use super::*;

            #[test]
            fn equal_maps_have_equal_bytes() {
                let entries = [(3_u16, 1_u8), (0x0100, 2), (1, 3)];
                let bytes = [3, 0, 1, 2, 1, 0, 3, 3, 0, 1];
                golden(&HashMap::from(entries), &bytes);
                golden(&HashMap::<_, _, Seeded>::from_iter(entries), &bytes);
                golden(&HashSet::<u8>::from([9, 1, 5]), &[3, 1, 5, 9]);
                let std = std::collections::HashMap::from(entries);
                same_kind(&HashMap::from(entries), &std);
            }

            proptest! {
                #[test]
                fn maps_and_sets_come_back(entries: std::collections::HashMap<String, u32>) {
                    let map: HashMap<String, u32> = entries.clone().into_iter().collect();
                    assert_eq!(bytes_of(&map), bytes_of(&entries));
                    round_trip(&map);
                    round_trip(&map.into_keys().collect::<HashSet<String>>());
                }
            }
        }
    )*};
}

hashed! {
    hashed_0_15: hashbrown_0_15;
    hashed_0_16: hashbrown_0_16;
    hashed_0_17: hashbrown_0_17;
}

proptest! {
    #[test]
    fn index_maps_and_sets_come_back(entries: Vec<(u16, String)>) {
        let map: IndexMap<u16, String> = entries.into_iter().collect();
        round_trip(&map);
        let loaded: IndexMap<u16, String> = decode(&bytes_of(&map)).unwrap();
        assert!(loaded.iter().eq(map.iter()));
        round_trip(&map.into_values().collect::<IndexSet<String>>());
    }
}
