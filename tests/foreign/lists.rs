//! Lists of other crates: a count, then the elements.

use arrayvec::ArrayVec;
use bytes::{Bytes, BytesMut};
use persist::Persist;
use persist::codec::{Buffer, decode, decode_into};
use proptest::prelude::*;
use smallvec::{SmallVec, smallvec};
use thin_vec::{ThinVec, thin_vec};
use tinyvec::TinyVec;

use crate::support::{bytes_of, golden, hostile, refuses, round_trip, same_kind};

const NUMBERS: [u16; 3] = [1, 2, 0x0304];
const BYTES: &[u8] = &[3, 1, 0, 2, 0, 4, 3];

#[test]
fn a_list_is_its_count_and_its_elements() {
    golden::<SmallVec<[u16; 4]>>(&smallvec![1, 2, 0x0304], BYTES);
    golden::<SmallVec<[u16; 2]>>(&smallvec![1, 2, 0x0304], BYTES);
    golden::<ArrayVec<u16, 4>>(&ArrayVec::from_iter(NUMBERS), BYTES);
    golden::<tinyvec::ArrayVec<[u16; 4]>>(&tinyvec::ArrayVec::from_iter(NUMBERS), BYTES);
    golden::<TinyVec<[u16; 2]>>(&TinyVec::from_iter(NUMBERS), BYTES);
    golden::<ThinVec<u16>>(&thin_vec![1, 2, 0x0304], BYTES);
    golden(&Bytes::from_static(&[7, 8]), &[2, 7, 8]);
    golden(&BytesMut::from(&[7, 8][..]), &[2, 7, 8]);
}

#[test]
fn a_list_loads_as_a_vec_and_back() {
    let vec = NUMBERS.to_vec();
    same_kind::<SmallVec<[u16; 4]>, _>(&smallvec![1, 2, 0x0304], &vec);
    same_kind::<ArrayVec<u16, 4>, _>(&ArrayVec::from_iter(NUMBERS), &vec);
    same_kind::<tinyvec::ArrayVec<[u16; 4]>, _>(&tinyvec::ArrayVec::from_iter(NUMBERS), &vec);
    same_kind::<TinyVec<[u16; 2]>, _>(&TinyVec::from_iter(NUMBERS), &vec);
    same_kind::<ThinVec<u16>, _>(&thin_vec![1, 2, 0x0304], &vec);
    same_kind(&Bytes::from_static(b"bytes"), &b"bytes".to_vec());
    same_kind(&BytesMut::from(&b"bytes"[..]), &b"bytes".to_vec());
}

#[test]
fn elements_without_room_are_refused() {
    let five = vec![0_u16; 5];
    let message = "5 elements do not fit into an `ArrayVec` with room for 4";
    refuses::<ArrayVec<u16, 4>, _>(&five, message);
    refuses::<tinyvec::ArrayVec<[u16; 4]>, _>(&five, message);
    refuses::<ArrayVec<String, 1>, _>(
        &vec![String::new(); 300],
        "300 elements do not fit into an `ArrayVec` with room for 1",
    );
}

#[test]
fn a_count_beyond_the_bytes_is_refused_by_the_room() {
    // A million million elements, of which none follows.
    let bytes = [253, 0, 0, 0, 0, 0, 1];
    let message = "1099511627776 elements do not fit into an `ArrayVec` with room for 4";
    for error in [
        decode::<ArrayVec<u16, 4>>(&bytes).unwrap_err(),
        decode::<tinyvec::ArrayVec<[u16; 4]>>(&bytes).unwrap_err(),
        decode_into(&mut ArrayVec::<u16, 4>::new(), &bytes).unwrap_err(),
        decode_into(&mut ArrayVec::<String, 4>::new(), &bytes).unwrap_err(),
    ] {
        assert!(error.to_string().contains(message), "{error}");
    }
    assert!(decode::<SmallVec<[u16; 4]>>(&bytes).is_err());
    assert!(decode::<TinyVec<[u16; 4]>>(&bytes).is_err());
    assert!(decode::<ThinVec<u16>>(&bytes).is_err());
    assert!(decode::<Bytes>(&bytes).is_err());
}

#[test]
fn hostile_bytes() {
    let texts = || ["", "a", "bc"].into_iter().map(String::from);
    hostile(&SmallVec::<[String; 2]>::from_iter(texts()));
    hostile(&ArrayVec::<String, 4>::from_iter(texts()));
    hostile(&tinyvec::ArrayVec::<[String; 4]>::from_iter(texts()));
    hostile(&TinyVec::<[String; 2]>::from_iter(texts()));
    hostile(&ThinVec::<String>::from_iter(texts()));
    hostile(&ArrayVec::<u16, 4>::from_iter(NUMBERS));
    hostile(&SmallVec::<[bool; 2]>::from_slice(&[true, false, true]));
    hostile(&Bytes::from_static(b"bytes"));
}

#[test]
fn what_is_read_over_keeps_the_allocations_of_its_elements() {
    let mut list: SmallVec<[String; 2]> = smallvec![String::with_capacity(100)];
    let before = list[0].as_ptr();
    let new: SmallVec<[String; 2]> = smallvec!["one".into(), "two".into(), "three".into()];
    decode_into(&mut list, &bytes_of(&new)).unwrap();
    assert_eq!(list, new);
    assert_eq!(list[0].as_ptr(), before);
    let fewer: SmallVec<[String; 2]> = smallvec!["one".into()];
    decode_into(&mut list, &bytes_of(&fewer)).unwrap();
    assert_eq!(list, fewer);
}

#[derive(Persist, Clone, Debug, PartialEq)]
struct Compact {
    #[persist(compact)]
    small: SmallVec<[u32; 2]>,
    #[persist(compact)]
    array: ArrayVec<Option<i64>, 2>,
}

#[test]
fn compact_numbers_go_through_lists() {
    let value = Compact { small: smallvec![1, 2, 300], array: ArrayVec::from([Some(-1), None]) };
    let mut buffer = Buffer::new();
    assert_eq!(buffer.encode(&value).unwrap(), [3, 1, 2, 249, 44, 1, 2, 1, 1, 0]);
    round_trip(&value);
    let error = decode::<Compact>(&[0, 3, 0, 0, 0]).unwrap_err().to_string();
    assert!(error.contains("3 elements do not fit into an `ArrayVec` with room for 2"), "{error}");
}

proptest! {
    #[test]
    fn lists_come_back(numbers: Vec<u32>, texts: Vec<String>) {
        round_trip(&SmallVec::<[u32; 3]>::from_slice(&numbers));
        round_trip(&SmallVec::<[String; 3]>::from_iter(texts.clone()));
        round_trip(&TinyVec::<[u32; 3]>::from_iter(numbers.clone()));
        round_trip(&TinyVec::<[String; 3]>::from_iter(texts.clone()));
        round_trip(&ThinVec::<u32>::from_iter(numbers.clone()));
        round_trip(&ThinVec::<String>::from_iter(texts.clone()));
        round_trip(&ArrayVec::<u32, 128>::from_iter(numbers.iter().copied().take(128)));
        round_trip(&ArrayVec::<String, 128>::from_iter(texts.iter().take(128).cloned()));
        round_trip(&tinyvec::ArrayVec::<[u32; 32]>::from_iter(numbers.into_iter().take(32)));
        round_trip(&tinyvec::ArrayVec::<[String; 32]>::from_iter(texts.into_iter().take(32)));
    }

    #[test]
    fn bytes_come_back(bytes: Vec<u8>) {
        round_trip(&BytesMut::from(&bytes[..]));
        round_trip(&Bytes::from(bytes));
    }
}
