//! Texts of other crates: a length and UTF-8.

use arrayvec::ArrayString;
use persist::codec::decode;
use proptest::prelude::*;

use crate::support::{golden, hostile, refuses, round_trip, same_kind};

const BYTES: &[u8] = b"\x05caf\xc3\xa9";

/// The tests of every text that grows.
macro_rules! texts {
    ($($name:ident: $ty:ty;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn a_text_is_its_length_and_its_bytes() {
                golden(&<$ty>::from("café"), BYTES);
                golden(&<$ty>::from(""), &[0]);
                same_kind(&<$ty>::from("café"), &String::from("café"));
                let long = "a text that does not fit into the value itself".repeat(10);
                same_kind(&<$ty>::from(long.as_str()), &long);
            }

            #[test]
            fn hostile_bytes() {
                hostile(&<$ty>::from("café"));
                assert!(decode::<$ty>(&[1, 0xff]).unwrap_err().to_string().contains("UTF-8"));
            }

            proptest! {
                #[test]
                fn texts_come_back(text: String) {
                    round_trip(&<$ty>::from(text.as_str()));
                }
            }
        }
    )*};
}

texts! {
    smol_str_0_2: ::smol_str_0_2::SmolStr;
    smol_str_0_3: ::smol_str_0_3::SmolStr;
    compact_str_0_8: ::compact_str_0_8::CompactString;
    compact_str_0_9: ::compact_str_0_9::CompactString;
    arcstr: ::arcstr::ArcStr;
}

#[test]
fn a_text_with_room_for_few_bytes_is_a_text() {
    let text = ArrayString::<8>::from("café").unwrap();
    golden(&text, BYTES);
    same_kind(&text, &String::from("café"));
    hostile(&text);
    refuses::<ArrayString<4>, _>(
        &String::from("café"),
        "5 bytes do not fit into an `ArrayString` with room for 4",
    );
    let error = decode::<ArrayString<4>>(&[253, 0, 0, 0, 0, 0, 1]).unwrap_err().to_string();
    assert!(error.contains("1099511627776 bytes do not fit"), "{error}");
}

proptest! {
    #[test]
    fn texts_with_room_come_back(text in "[a-zé]{0,16}") {
        round_trip(&ArrayString::<32>::from(&text).unwrap());
    }
}
