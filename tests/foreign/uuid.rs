use proptest::prelude::*;
use uuid::Uuid;

use crate::support::{golden, hostile, round_trip, same_kind};

const ID: [u8; 16] = [
    0x67, 0xe5, 0x50, 0x44, 0x10, 0xb1, 0x42, 0x6f, 0x92, 0x47, 0xbb, 0x68, 0x0e, 0x5f, 0xe0, 0xc8,
];

#[test]
fn an_id_is_its_bytes_as_they_are_written() {
    let id: Uuid = "67e55044-10b1-426f-9247-bb680e5fe0c8".parse().unwrap();
    golden(&id, &ID);
    same_kind(&id, &ID);
}

#[test]
fn hostile_bytes() {
    hostile(&Uuid::from_bytes(ID));
}

proptest! {
    #[test]
    fn ids_come_back(bytes: [u8; 16]) {
        round_trip(&Uuid::from_bytes(bytes));
    }
}
