//! What is refused of lists, texts, maps and times, and what the error says.

use std::fmt::{Debug, Write as _};

use arrayvec::{ArrayString, ArrayVec};
use chrono::{DateTime, FixedOffset, Month, NaiveDate, NaiveTime, TimeDelta, Utc, Weekday};
use jiff::{Span, civil};
use persist::Persist;
use persist::codec::decode;
use slotmap::{DefaultKey, SecondaryMap};
use thunderdome::Index;
use time::OffsetDateTime;

use crate::support::bytes_of;

fn refused<T: Persist + Debug>(stored: &impl Persist) -> String {
    decode::<T>(&bytes_of(stored)).unwrap_err().to_string()
}

/// The numbers of a date, and of a time of day.
type Date = (i32, u8, u8);
type Time = (u8, u8, u8, u32);

const NO_DAY: Date = (2023, 2, 29);
const NO_TIME: Time = (24, 0, 0, 0);

fn span(days: i32, nanoseconds: i64) -> (i16, [i32; 4], [i64; 5]) {
    (0, [0, 0, days, 0], [0, 0, 0, 0, nanoseconds])
}

#[test]
fn messages() {
    let epoch = (0_i64, 0_u32);
    let last_year = (253_402_300_799_i64, 0_u32);
    let mut text = String::new();
    for message in [
        refused::<ArrayVec<u8, 2>>(&vec![1_u8, 2, 3]),
        refused::<tinyvec::ArrayVec<[u8; 2]>>(&vec![1_u8, 2, 3]),
        refused::<ArrayString<2>>(&String::from("abc")),
        refused::<DefaultKey>(&(2_u64 << 32)),
        refused::<SecondaryMap<DefaultKey, u8>>(&vec![(DefaultKey::default(), 1_u8)]),
        refused::<Index>(&7_u64),
        refused::<DateTime<Utc>>(&(i64::MAX, 0_u32)),
        refused::<DateTime<FixedOffset>>(&(epoch, 86_400)),
        refused::<NaiveDate>(&NO_DAY),
        refused::<NaiveTime>(&NO_TIME),
        refused::<TimeDelta>(&(1_i64, -1)),
        refused::<TimeDelta>(&(i64::MAX, 0)),
        refused::<Weekday>(&8_u8),
        refused::<Month>(&13_u8),
        refused::<OffsetDateTime>(&(last_year, 3600)),
        refused::<time::Date>(&NO_DAY),
        refused::<time::Time>(&NO_TIME),
        refused::<civil::Date>(&NO_DAY),
        refused::<civil::Time>(&NO_TIME),
        refused::<Span>(&span(-1, 1)),
        refused::<Span>(&span(0, i64::MIN)),
        refused::<jiff::Zoned>(&(epoch, String::from("Moon/Mare"))),
    ] {
        writeln!(text, "{message}").unwrap();
    }
    insta::assert_snapshot!(text);
}
