//! What is asked of every foreign type.

use std::fmt::Debug;

use persist::Persist;
use persist::codec::{Buffer, decode, decode_into};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

/// The bytes of a value alone.
pub(crate) fn bytes_of<T: Persist>(value: &T) -> Vec<u8> {
    Buffer::new().encode(value).unwrap().to_vec()
}

/// A value comes back from its bytes, from a save, over another value, and as a field, an element and a shared value.
pub(crate) fn round_trip<T: Persist + Debug + PartialEq + Clone>(value: &T) {
    round_trip_by(value, |a, b| assert_eq!(a, b));
}

/// Like [`round_trip`], for values that are compared in some other way.
pub(crate) fn round_trip_by<T: Persist + Clone>(value: &T, same: impl Fn(&T, &T)) {
    let bytes = bytes_of(value);
    same(&decode(&bytes).unwrap(), value);

    let mut other: T = persist::from_slice(&persist::to_vec(value).unwrap()).unwrap();
    same(&other, value);
    decode_into(&mut other, &bytes).unwrap();
    same(&other, value);

    let mixed = (7_u8, value.clone(), vec![value.clone(), value.clone()], String::from("end"));
    let mixed_bytes = bytes_of(&mixed);
    let expected = [&[7][..], &bytes, &[2], &bytes, &bytes, b"\x03end"].concat();
    assert_eq!(mixed_bytes, expected, "a value has the same bytes wherever it stands");
    let (first, alone, list, last): (u8, T, Vec<T>, String) = decode(&mixed_bytes).unwrap();
    assert_eq!((first, list.len(), last.as_str()), (7, 2, "end"));
    for found in [&alone, &list[0], &list[1]] {
        same(found, value);
    }

    let save = persist::to_vec(&mixed).unwrap();
    let (_, alone, list, _): (u8, T, Vec<T>, String) = persist::from_slice(&save).unwrap();
    for found in [&alone, &list[0], &list[1]] {
        same(found, value);
    }
}

/// A value has these bytes, today and in every later version.
pub(crate) fn golden<T: Persist + Debug + PartialEq + Clone>(value: &T, bytes: &[u8]) {
    assert_eq!(bytes_of(value), bytes, "{value:?}");
    round_trip(value);
}

/// The one type is stored as the other is: each loads what the other saved.
pub(crate) fn same_kind<A, B>(foreign: &A, plain: &B)
where
    A: Persist + Debug + PartialEq,
    B: Persist + Debug + PartialEq,
{
    assert_eq!(A::persist_kind().to_string(), B::persist_kind().to_string());
    let (save, plain_save) = (persist::to_vec(foreign).unwrap(), persist::to_vec(plain).unwrap());
    assert_eq!(bytes_of(foreign), bytes_of(plain), "{foreign:?} and {plain:?}");
    assert_eq!(&persist::from_slice::<A>(&plain_save).unwrap(), foreign);
    assert_eq!(&persist::from_slice::<B>(&save).unwrap(), plain);
}

/// The value of the plain type, stored where the foreign type is expected, is refused with this message.
pub(crate) fn refuses<T: Persist + Debug, B: Persist>(plain: &B, message: &str) {
    assert_eq!(T::persist_kind().to_string(), B::persist_kind().to_string());
    let bytes = bytes_of(plain);
    for error in [
        decode::<T>(&bytes).unwrap_err(),
        decode::<Vec<T>>(&[&[1], &bytes[..]].concat()).unwrap_err(),
        persist::from_slice::<T>(&persist::to_vec(plain).unwrap()).unwrap_err(),
    ] {
        assert!(error.to_string().contains(message), "{error}");
    }
}

/// Cut and arbitrary bytes give a value or an error, never a panic; what they give can be saved and loaded.
pub(crate) fn hostile<T: Persist>(value: &T) {
    let bytes = bytes_of(value);
    for end in 0..bytes.len() {
        assert!(decode::<T>(&bytes[..end]).is_err(), "cut at {end} of {}", bytes.len());
    }
    let save = persist::to_vec(value).unwrap();
    for end in 0..save.len() {
        assert!(persist::from_slice::<T>(&save[..end]).is_err());
    }
    let changed =
        (proptest::collection::vec(any::<(prop::sample::Index, u8)>(), 1..4)).prop_map(|changes| {
            let mut bytes = bytes.clone();
            for (at, byte) in changes {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
            }
            bytes
        });
    let random = proptest::collection::vec(any::<u8>(), 0..2 * bytes.len() + 16);
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    runner
        .run(&prop_oneof![changed, random], |bytes| {
            if let Ok(value) = decode::<T>(&bytes) {
                assert_eq!(bytes_of(&decode::<T>(&bytes_of(&value)).unwrap()), bytes_of(&value));
            }
            drop(decode::<Vec<T>>(&bytes));
            drop(decode::<Option<T>>(&bytes));
            Ok(())
        })
        .unwrap();
}

/// Values have the bytes and the kind of the plain values that they are made of, and come back from them.
pub(crate) fn is_stored_as<T, P>(from: impl Fn(P) -> T, to: impl Fn(&T) -> P)
where
    T: Persist + Debug + Clone,
    P: Persist + Arbitrary + Clone + Debug,
{
    assert_eq!(T::persist_kind().to_string(), P::persist_kind().to_string());
    let config = Config { failure_persistence: None, cases: 24, ..Config::default() };
    TestRunner::new(config)
        .run(&any::<P>(), |plain| {
            let value = from(plain.clone());
            let bytes = bytes_of(&plain);
            assert_eq!(bytes_of(&value), bytes, "{value:?}");
            let save = persist::to_vec(&plain).unwrap();
            assert_eq!(bytes_of(&to(&persist::from_slice(&save).unwrap())), bytes);
            round_trip_by(&value, |found, _| assert_eq!(bytes_of(&to(found)), bytes));
            Ok(())
        })
        .unwrap();
    let plain = any::<P>().new_tree(&mut TestRunner::deterministic()).unwrap().current();
    hostile(&from(plain));
}
