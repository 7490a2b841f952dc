//! Indices of thunderdome.

use proptest::prelude::*;
use thunderdome::{Arena, Index};

use crate::support::{golden, hostile, refuses, round_trip, same_kind};

#[test]
fn an_index_is_its_slot_and_its_generation() {
    let mut arena = Arena::new();
    arena.insert('a');
    let index = arena.insert('b');
    golden(&index, &[1, 0, 0, 0, 1, 0, 0, 0]);
    same_kind(&index, &(1_u64 << 32 | 1));
    refuses::<Index, _>(&7_u64, "0x7 are the bits of no index");
    hostile(&index);
}

proptest! {
    #[test]
    fn indices_come_back(slot: u32, generation in 1_u32..) {
        round_trip(&Index::from_bits(u64::from(generation) << 32 | u64::from(slot)).unwrap());
    }
}
