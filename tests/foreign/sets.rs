//! `fixedbitset`, `bitflags` of both versions and `enum-map`.

use std::cell::RefCell;
use std::rc::Rc;

use enum_map::{Enum, EnumMap, enum_map};
use fixedbitset::FixedBitSet;
use persist::{Persist, SaveManager};
use proptest::prelude::*;

use crate::support::{golden, hostile, refuses, round_trip, same_kind};

fn set(bits: usize, ones: impl IntoIterator<Item = usize>) -> FixedBitSet {
    let mut set = FixedBitSet::with_capacity(bits);
    set.extend(ones);
    set
}

#[test]
fn a_bit_set_is_its_length_and_its_words() {
    golden(&set(10, [0, 9]), &[10, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 0, 0]);
    golden(&set(0, []), &[0, 0, 0, 0, 0, 0, 0, 0, 0]);
    same_kind(&set(65, [1, 64]), &(65_u64, vec![2_u64, 1]));
    hostile(&set(70, [3, 69]));
}

#[test]
fn a_bit_set_of_another_size_is_refused() {
    refuses::<FixedBitSet, _>(&(65_u64, vec![2_u64]), "65 bits are not 1 words of 64");
    refuses::<FixedBitSet, _>(&(u64::MAX, vec![2_u64]), "bits are not 1 words of 64");
    refuses::<FixedBitSet, _>(&(3_u64, vec![9_u64]), "a bit beyond the 3 bits of a set is on");
}

mod one {
    bitflags_1::bitflags! {
        pub struct Traits: u16 {
            const FLIES = 1;
            const SWIMS = 0x100;
        }
    }

    persist::bitflags!(Traits: u16);
}

mod two {
    bitflags::bitflags! {
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Traits: u16 {
            const FLIES = 1;
            const SWIMS = 0x100;
        }

        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Open: u16 {
            const FLIES = 1;
        }

        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Lossy: u16 {
            const FLIES = 1;
        }
    }

    persist::bitflags!(Traits: u16, unknown = refuse);
    persist::bitflags!(Open: u16, unknown = retain);
    persist::bitflags!(Lossy: u16, unknown = truncate);
}

#[test]
fn flags_are_their_bits() {
    golden(&one::Traits::all(), &[1, 1]);
    golden(&two::Traits::SWIMS, &[0, 1]);
    same_kind(&two::Traits::all(), &0x101_u16);
    hostile(&one::Traits::all());
    hostile(&two::Traits::all());
}

#[test]
fn unknown_flags_are_refused_unless_they_are_kept_or_dropped() {
    refuses::<one::Traits, _>(&0x301_u16, "the bits 0x200 are no flags of `Traits`; declare them");
    refuses::<two::Traits, _>(&0x301_u16, "the bits 0x200 are no flags of `Traits`; declare them");
    let save = persist::to_vec(&0x301_u16).unwrap();
    assert_eq!(persist::from_slice::<two::Open>(&save).unwrap().bits(), 0x301);
    assert_eq!(persist::from_slice::<two::Lossy>(&save).unwrap(), two::Lossy::FLIES);
    golden(&two::Open::from_bits_retain(0x301), &[1, 3]);
    golden(&two::Lossy::FLIES, &[1, 0]);
}

/// A compact field holds them in fewer bytes.
#[test]
fn compact_flags() {
    #[derive(Persist, Debug, PartialEq)]
    struct Monster {
        #[persist(compact)]
        traits: two::Traits,
    }

    let monster = Monster { traits: two::Traits::FLIES };
    assert_eq!(crate::support::bytes_of(&monster), [1]);
    let save = persist::to_vec(&monster).unwrap();
    assert_eq!(persist::from_slice::<Monster>(&save).unwrap(), monster);
}

mod old {
    use super::*;

    #[derive(Persist, Enum, Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub(super) enum Slot {
        Hand,
        Head,
    }
}

#[derive(Persist, Enum, Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Slot {
    Body,
    #[persist(alias = "Head")]
    Hat,
    Hand,
}

#[test]
fn an_enum_map_is_a_map() {
    let map: EnumMap<old::Slot, u8> = enum_map! { old::Slot::Hand => 7, old::Slot::Head => 9 };
    golden(&map, &[2, 0, 7, 1, 9]);
    let plain = std::collections::HashMap::from([(old::Slot::Hand, 7_u8), (old::Slot::Head, 9)]);
    same_kind(&map, &plain);
    hostile(&map);
}

#[test]
fn keys_may_be_added_renamed_and_reordered() {
    let map: EnumMap<old::Slot, u8> = enum_map! { old::Slot::Hand => 7, old::Slot::Head => 9 };
    let save = persist::to_vec(&map).unwrap();
    let map: EnumMap<Slot, u8> = persist::from_slice(&save).unwrap();
    assert_eq!(map, enum_map! { Slot::Body => 0, Slot::Hat => 9, Slot::Hand => 7 });
}

#[test]
fn a_key_that_stands_twice_is_refused() {
    let twice = [2, 0, 7, 0, 9];
    assert!(persist::codec::decode::<EnumMap<old::Slot, u8>>(&twice).is_err());
}

type Item = Rc<RefCell<String>>;

fn item(name: &str) -> Item {
    Rc::new(RefCell::new(name.into()))
}

/// The saved order of the keys is not that in which the new program visits their values.
#[test]
fn pointers_in_an_enum_map_are_connected_after_keys_moved() {
    mod older {
        use super::*;

        #[derive(Persist)]
        pub(super) struct Hero {
            pub(super) wears: EnumMap<old::Slot, Option<Item>>,
            pub(super) holds: Item,
        }
    }

    #[derive(Persist)]
    struct Hero {
        wears: EnumMap<Slot, Option<Item>>,
        holds: Item,
    }

    let sword = item("sword");
    let wears = enum_map! {
        old::Slot::Hand => Some(sword.clone()),
        old::Slot::Head => Some(item("hat")),
    };
    let mut manager = SaveManager::new();
    let hero = Rc::new(RefCell::new(older::Hero { wears, holds: sword }));
    manager.add(&hero).unwrap();
    let save = manager.to_vec().unwrap();

    let manager = SaveManager::new();
    manager.register::<Hero>().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    let hero = loaded.first::<Hero>().unwrap();
    let hero = hero.borrow();
    let hand = hero.wears[Slot::Hand].as_ref().unwrap();
    assert!(Rc::ptr_eq(hand, &hero.holds));
    assert_eq!(*hero.wears[Slot::Hat].as_ref().unwrap().borrow(), "hat");
    assert!(hero.wears[Slot::Body].is_none());
}

proptest! {
    #[test]
    fn sets_come_back(bits in 0..300_usize, ones in proptest::collection::vec(0..300_usize, 0..20)) {
        round_trip(&set(bits, ones.into_iter().filter(|one| *one < bits)));
    }

    #[test]
    fn maps_come_back(body: String, hat: String, hand: String) {
        round_trip(&enum_map! { Slot::Body => body.clone(), Slot::Hat => hat.clone(), Slot::Hand => hand.clone() });
    }
}
