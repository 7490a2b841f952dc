//! What value types refuse: values that cannot be saved and bytes that no
//! value has.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroI16, NonZeroU8, NonZeroU128, NonZeroUsize};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, RwLock};
use std::time::{Duration, SystemTime};

use crate::naive::{self, by_bytes, check, naive};
use persist::codec::{Buffer, Prototypes, decode, decode_into};
use persist::{ErrorKind, Persist};

/// What encoding refuses, on every path.
fn unsaved<T: Persist>(value: &T) -> (ErrorKind, String) {
    let error = Buffer::new().encode(value).expect_err("cannot be saved");
    assert_eq!(persist::to_vec(value).expect_err("cannot be saved").kind(), error.kind());
    (error.kind(), error.to_string())
}

#[test]
fn an_inclusive_range_iterated_to_its_end_is_not_saved() {
    let mut range = 1..=3_u8;
    assert_eq!(range.by_ref().count(), 3);
    let (kind, message) = unsaved(&range);
    assert_eq!(kind, ErrorKind::InvalidValue);
    assert!(message.contains("store its bounds"), "{message}");
    #[expect(clippy::reversed_empty_ranges, reason = "an empty range by its bounds is saved")]
    check(&(5..=3_u8), 0..=0, PartialEq::eq);
}

#[test]
fn what_is_in_use_is_not_saved() {
    let cell = RefCell::new(String::from("x"));
    let borrow = cell.borrow_mut();
    let (kind, message) = unsaved(&cell);
    assert_eq!(kind, ErrorKind::Borrowed);
    assert!(message.contains("mutably borrowed"), "{message}");
    drop(borrow);
    let reader = cell.borrow();
    check(&cell, RefCell::default(), PartialEq::eq);
    drop(reader);

    let mutex = Mutex::new(1_u8);
    let guard = mutex.lock().unwrap();
    let (kind, message) = unsaved(&mutex);
    assert_eq!(kind, ErrorKind::Borrowed);
    assert!(message.contains("locked"), "{message}");
    drop(guard);

    let lock = RwLock::new(1_u8);
    let guard = lock.write().unwrap();
    assert_eq!(unsaved(&lock).0, ErrorKind::Borrowed);
    drop(guard);
    let _reader = lock.read().unwrap();
    check(&lock, RwLock::new(2), by_bytes);
}

#[test]
fn a_poisoned_lock_is_not_saved_but_can_be_loaded_over() {
    let mut mutex = Mutex::new(1_u8);
    std::thread::scope(|scope| {
        let holder = scope.spawn(|| {
            let _guard = mutex.lock().unwrap();
            std::panic::resume_unwind(Box::new("poison"));
        });
        assert!(holder.join().is_err());
    });
    let (kind, message) = unsaved(&mutex);
    assert_eq!(kind, ErrorKind::Borrowed);
    assert!(message.contains("poison"), "{message}");
    decode_into(&mut mutex, &[9]).unwrap();
    mutex.clear_poison();
    assert_eq!(mutex.into_inner().unwrap(), 9);
}

#[cfg(unix)]
#[test]
fn a_path_that_is_not_utf8_is_not_saved() {
    use std::os::unix::ffi::OsStringExt as _;
    let path = PathBuf::from(std::ffi::OsString::from_vec(vec![b'a', 0xff]));
    let (kind, message) = unsaved(&path);
    assert_eq!(kind, ErrorKind::InvalidValue);
    assert!(message.contains("not UTF-8"), "{message}");
}

#[test]
fn more_elements_without_bytes_than_the_limit_are_refused_on_both_sides() {
    let most = persist::Limits::DEFAULT.empty_elements;
    check(&vec![(); most], Vec::new(), PartialEq::eq);
    assert_eq!(unsaved(&vec![(); most + 1]).0, ErrorKind::TooLarge);
    assert_eq!(refusal::<Vec<()>>(&naive(&vec![(); most + 1])), ErrorKind::TooLarge);
    // A machine of 32 bits has no list that long, whatever the limit.
    let is_wide = usize::BITS == 64;
    let kind = if is_wide { ErrorKind::TooLarge } else { ErrorKind::InvalidValue };
    assert_eq!(refusal::<Vec<[u8; 0]>>(&[255; 9]), kind);
}

/// Why bytes are not a `T`: alone, over another value, in a list and as a part.
fn refusal<T: Persist>(bytes: &[u8]) -> ErrorKind {
    let alone = decode::<T>(bytes).err().expect("these bytes are no value").kind();
    let over =
        decode_into(&mut T::persist_empty(&Prototypes::bare()).expect("an empty value"), bytes)
            .expect_err("no value")
            .kind();
    assert_eq!(alone, over, "over another value");
    let list = [&[1], bytes].concat();
    assert_eq!(decode::<Vec<T>>(&list).err().expect("no list").kind(), alone, "in a list");
    let part = [&[5], bytes].concat();
    assert_eq!(decode::<(u8, T)>(&part).err().expect("no tuple").kind(), alone, "in a tuple");
    alone
}

macro_rules! invalid {
    ($($ty:ty: $($bytes:expr),+;)*) => {$($(
        assert_eq!(refusal::<$ty>(&$bytes), ErrorKind::InvalidValue, "{} {:x?}", <$ty>::persist_name(), $bytes);
    )+)*};
}

#[test]
fn values_that_the_type_cannot_have_are_refused() {
    invalid! {
        bool: [2], [255];
        AtomicBool: [2];
        char: 0xd800_u32.to_le_bytes(), 0xdfff_u32.to_le_bytes(), 0x11_0000_u32.to_le_bytes();
        NonZeroU8: [0];
        NonZeroI16: [0, 0];
        NonZeroU128: [0; 16];
        NonZeroUsize: [0; 8];
        Option<u8>: [2, 1];
        Option<()>: [255];
        Result<u8, u8>: [2, 1];
        IpAddr: [2, 1, 1, 1, 1];
        SocketAddr: [9; 20];
        Duration: naive(&(0_u64, 1_000_000_000_u32)), [255; 12];
        SystemTime: naive(&(0_i64, 1_000_000_000_u32)), naive(&(-1_i64, u32::MAX));
        [bool; 3]: [0, 1, 2];
        (u8, bool): [7, 3];
        Vec<bool>: [3, 1, 0, 2];
        Vec<char>: [1, 0, 0xd8, 0, 0];
        Vec<Duration>: [&[1_u8][..], &[255; 12]].concat();
    }
}

#[test]
fn text_that_is_not_utf8_is_refused() {
    // Bare continuation, cut character, overlong slash, surrogate, beyond the last.
    let bad: [&[u8]; 5] =
        [&[0x80], &[0xe2, 0x82], &[0xc0, 0xaf], &[0xed, 0xa0, 0x80], &[0xf4, 0x90, 0x80, 0x80]];
    for bad in bad {
        for before in [0, 3, 14, 15, 16, 28, 31, 32, 33, 300] {
            let mut text = vec![b'a'; before];
            text.extend(bad);
            let mut bytes = Vec::new();
            naive::count(text.len(), &mut bytes);
            bytes.extend(text);
            invalid! {
                String: bytes;
                Box<str>: bytes;
                Cow<'static, str>: bytes;
                PathBuf: bytes;
                HashMap<String, ()>: [&[1], &bytes[..]].concat();
                BTreeSet<String>: [&[1], &bytes[..]].concat();
            }
        }
    }
}

#[test]
fn counts_that_are_not_in_their_shortest_form_are_refused() {
    let content = vec![b'a'; 70_000];
    let heads: [&[u8]; 6] = [
        &[248, 200],
        &[248, 247],
        &[249, 248, 0],
        &[250, 255, 255, 0],
        &[255, 248, 0, 0, 0, 0, 0, 0, 0],
        &[251, 0, 0, 1, 0],
    ];
    for head in heads {
        let mut word = [0; 8];
        word[..head.len() - 1].copy_from_slice(&head[1..]);
        let count = usize::try_from(u64::from_le_bytes(word)).unwrap();
        let bytes = [head, &content[..count]].concat();
        invalid! {
            String: bytes;
            Vec<u8>: bytes;
            VecDeque<i8>: bytes;
            Box<[u8]>: bytes;
            Vec<()>: head;
        }
    }
}

#[test]
fn counts_of_more_than_the_bytes_can_hold_are_refused() {
    for count in [
        &[4][..],
        &[247],
        &[248, 255],
        &[251, 0, 0, 0, 128],
        &[255, 0, 0, 0, 0, 0, 0, 0, 128],
        &[255; 9],
    ] {
        let bytes = [count, &[1, 2, 3]].concat();
        invalid! {
            String: bytes;
            Vec<u8>: bytes;
            Vec<u64>: bytes;
            VecDeque<bool>: bytes;
            Box<[i8]>: bytes;
            BinaryHeap<u8>: bytes;
            HashMap<u8, u8>: bytes;
            BTreeMap<u8, ()>: bytes;
            HashSet<u8>: bytes;
            BTreeSet<u8>: bytes;
            PathBuf: bytes;
        }
    }
}

#[test]
fn a_key_or_element_that_stands_there_twice_is_refused() {
    invalid! {
        HashMap<u8, u8>: [2, 5, 1, 5, 2];
        BTreeMap<u8, u8>: [2, 5, 1, 5, 2], [3, 5, 1, 6, 1, 5, 2];
        HashMap<String, ()>: [2, 1, b'a', 1, b'a'];
        HashSet<u8>: [3, 5, 6, 5];
        BTreeSet<u8>: [2, 5, 5];
        HashSet<()>: [2];
        BTreeMap<(), ()>: [2];
    }
}
