//! Points in time, dates and durations of chrono, time and jiff.

use std::time::{Duration, SystemTime};

use chrono::{
    DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike, Utc,
};
use jiff::{SignedDuration, Span, Timestamp, Zoned, civil, tz};
use persist::codec::decode;
use persist::{ErrorKind, Persist};
use proptest::prelude::*;
use time::{OffsetDateTime, PrimitiveDateTime, UtcDateTime, UtcOffset};

use crate::support::{bytes_of, golden, hostile, refuses, round_trip, round_trip_by, same_kind};

/// 2009-02-13 23:31:30 UTC.
const SECONDS: i64 = 1_234_567_890;
const INSTANT: [u8; 12] = [0xd2, 0x02, 0x96, 0x49, 0, 0, 0, 0, 5, 0, 0, 0];

fn chrono_utc() -> DateTime<Utc> {
    DateTime::from_timestamp(SECONDS, 5).unwrap()
}

fn time_utc() -> UtcDateTime {
    UtcDateTime::from_unix_timestamp(SECONDS).unwrap() + time::Duration::nanoseconds(5)
}

fn timestamp() -> Timestamp {
    Timestamp::new(SECONDS, 5).unwrap()
}

#[test]
fn a_point_in_time_is_that_of_the_standard_library() {
    let std = SystemTime::UNIX_EPOCH + Duration::new(SECONDS.unsigned_abs(), 5);
    golden(&std, &INSTANT);
    golden(&chrono_utc(), &INSTANT);
    golden(&time_utc(), &INSTANT);
    golden(&timestamp(), &INSTANT);
    same_kind(&chrono_utc(), &std);
    same_kind(&time_utc(), &std);
    same_kind(&timestamp(), &std);
    // Before 1970 the seconds are rounded down.
    let before = [255, 255, 255, 255, 255, 255, 255, 255, 0, 0xca, 0x9a, 0x3b - 1];
    let half = bytes_of(&(SystemTime::UNIX_EPOCH - Duration::from_millis(500)));
    assert_eq!(half[..8], before[..8]);
    assert_eq!(bytes_of(&DateTime::from_timestamp_millis(-500).unwrap()), half);
    assert_eq!(bytes_of(&Timestamp::from_millisecond(-500).unwrap()), half);
    assert_eq!(bytes_of(&(UtcDateTime::UNIX_EPOCH - Duration::from_millis(500))), half);
}

#[derive(Persist, Debug, PartialEq)]
#[persist(class = "Saved")]
struct ByStd {
    at: SystemTime,
    times: Vec<Option<SystemTime>>,
}

#[derive(Persist, Debug, PartialEq)]
#[persist(class = "Saved")]
struct ByChrono {
    #[persist(default = 9)]
    added: u8,
    at: DateTime<Utc>,
    times: Vec<Option<DateTime<Utc>>>,
    #[persist(default = chrono_utc())]
    also_added: DateTime<Utc>,
}

#[test]
fn a_class_may_change_the_crate_of_its_times_and_more() {
    let at = SystemTime::UNIX_EPOCH + Duration::new(SECONDS.unsigned_abs(), 5);
    let save = persist::to_vec(&ByStd { at, times: vec![Some(at), None] }).unwrap();
    let loaded: ByChrono = persist::from_slice(&save).unwrap();
    let expected = ByChrono {
        added: 9,
        at: chrono_utc(),
        times: vec![Some(chrono_utc()), None],
        also_added: chrono_utc(),
    };
    assert_eq!(loaded, expected);
    let save = persist::to_vec(&loaded).unwrap();
    let back: ByStd = persist::from_slice(&save).unwrap();
    assert_eq!(back, ByStd { at, times: vec![Some(at), None] });
}

#[test]
fn a_leap_second_of_a_point_in_time_is_the_second_after_it() {
    let second =
        NaiveDate::from_ymd_opt(2016, 12, 31).unwrap().and_hms_nano_opt(23, 59, 59, 1_500_000_000);
    let loaded: DateTime<Utc> = decode(&bytes_of(&second.unwrap().and_utc())).unwrap();
    assert_eq!(loaded.to_rfc3339(), "2017-01-01T00:00:00.500+00:00");
}

#[test]
fn a_point_in_time_with_an_offset_has_that_beside_it() {
    let bytes = [&INSTANT[..], &[0x20, 0x1c, 0, 0]].concat();
    let chrono = chrono_utc().with_timezone(&FixedOffset::east_opt(7200).unwrap());
    let time = OffsetDateTime::from(time_utc()).to_offset(UtcOffset::from_hms(2, 0, 0).unwrap());
    golden(&chrono, &bytes);
    golden(&time, &bytes);
    same_kind(&chrono, &time);
    let loaded: DateTime<FixedOffset> = decode(&bytes).unwrap();
    assert_eq!(loaded.to_rfc3339(), "2009-02-14T01:31:30.000000005+02:00");
    golden(&FixedOffset::east_opt(-3600).unwrap(), &(-3600_i32).to_le_bytes());
    same_kind(&FixedOffset::east_opt(-3600).unwrap(), &UtcOffset::from_hms(-1, 0, 0).unwrap());
    same_kind(&tz::offset(-1), &-3600_i32);
    refuses::<FixedOffset, _>(&86_400, "86400 s is no offset from UTC");
    refuses::<UtcOffset, _>(&1_000_000, "range");
    refuses::<tz::Offset, _>(&1_000_000, "");
    hostile(&chrono);
    hostile(&time);
}

#[test]
fn a_date_is_a_year_a_month_and_a_day() {
    let chrono = NaiveDate::from_ymd_opt(2024, 2, 29).unwrap();
    golden(&chrono, &[0xe8, 7, 0, 0, 2, 29]);
    same_kind(&chrono, &time::Date::from_calendar_date(2024, time::Month::February, 29).unwrap());
    same_kind(&chrono, &civil::date(2024, 2, 29));
    golden(&civil::date(-1, 1, 1), &[255, 255, 255, 255, 1, 1]);
    let no_day = [0xe7, 7, 0, 0, 2, 29];
    for error in [
        decode::<NaiveDate>(&no_day).unwrap_err(),
        decode::<time::Date>(&no_day).unwrap_err(),
        decode::<civil::Date>(&no_day).unwrap_err(),
    ] {
        assert!(error.to_string().contains("2023-2-29 is no day of"), "{error}");
    }
    // A year that only one of them has.
    let far = bytes_of(&NaiveDate::from_ymd_opt(99_999, 1, 1).unwrap());
    assert!(decode::<time::Date>(&far).is_err());
    assert!(decode::<civil::Date>(&far).is_err());
    hostile(&chrono);
}

#[test]
fn a_time_of_day_is_four_numbers() {
    let chrono = NaiveTime::from_hms_nano_opt(23, 59, 58, 0x0102_0304).unwrap();
    golden(&chrono, &[23, 59, 58, 4, 3, 2, 1]);
    same_kind(&chrono, &time::Time::from_hms_nano(23, 59, 58, 0x0102_0304).unwrap());
    same_kind(&chrono, &civil::time(23, 59, 58, 0x0102_0304));
    let leap = NaiveTime::from_hms_nano_opt(23, 59, 59, 1_500_000_000).unwrap();
    round_trip(&leap);
    assert!(decode::<time::Time>(&bytes_of(&leap)).is_err());
    assert!(decode::<civil::Time>(&bytes_of(&leap)).is_err());
    let error = decode::<NaiveTime>(&[24, 0, 0, 0, 0, 0, 0]).unwrap_err();
    assert!(error.to_string().contains("24:0:0 and 0 ns is no time of day"), "{error}");
    hostile(&chrono);
}

#[test]
fn a_date_and_a_time_are_one_after_the_other() {
    let bytes = [0xe8, 7, 0, 0, 2, 29, 1, 2, 3, 4, 0, 0, 0];
    let chrono =
        NaiveDate::from_ymd_opt(2024, 2, 29).unwrap().and_hms_nano_opt(1, 2, 3, 4).unwrap();
    golden(&chrono, &bytes);
    let time = PrimitiveDateTime::new(
        time::Date::from_calendar_date(2024, time::Month::February, 29).unwrap(),
        time::Time::from_hms_nano(1, 2, 3, 4).unwrap(),
    );
    golden(&time, &bytes);
    same_kind(&chrono, &time);
    same_kind(&chrono, &civil::date(2024, 2, 29).at(1, 2, 3, 4));
    hostile(&time);
}

#[test]
fn a_signed_duration_has_two_parts_of_one_sign() {
    let bytes = [&(-1_i64).to_le_bytes()[..], &(-500_000_000_i32).to_le_bytes()].concat();
    golden(&TimeDelta::milliseconds(-1500), &bytes);
    golden(&time::Duration::milliseconds(-1500), &bytes);
    golden(&SignedDuration::from_millis(-1500), &bytes);
    same_kind(&TimeDelta::milliseconds(1500), &time::Duration::milliseconds(1500));
    same_kind(&TimeDelta::milliseconds(1500), &SignedDuration::from_millis(1500));
    let mixed = [&1_i64.to_le_bytes()[..], &(-1_i32).to_le_bytes()].concat();
    for error in [
        decode::<TimeDelta>(&mixed).unwrap_err(),
        decode::<time::Duration>(&mixed).unwrap_err(),
        decode::<SignedDuration>(&mixed).unwrap_err(),
    ] {
        assert!(error.to_string().contains("1 s and -1 ns are not the parts"), "{error}");
    }
    golden(&TimeDelta::MIN, &bytes_of(&TimeDelta::MIN));
    golden(&time::Duration::MIN, &bytes_of(&time::Duration::MIN));
    golden(&SignedDuration::MAX, &bytes_of(&SignedDuration::MAX));
    hostile(&TimeDelta::milliseconds(-1500));
}

#[test]
fn days_of_the_week_and_months_count_from_one() {
    golden(&chrono::Weekday::Sun, &[7]);
    golden(&chrono::Month::December, &[12]);
    same_kind(&chrono::Weekday::Wed, &time::Weekday::Wednesday);
    same_kind(&chrono::Weekday::Wed, &civil::Weekday::Wednesday);
    same_kind(&chrono::Month::May, &time::Month::May);
    refuses::<chrono::Weekday, _>(&8_u8, "a weekday is 1 to 7");
    refuses::<time::Weekday, _>(&0_u8, "a weekday is 1 to 7");
    refuses::<civil::Weekday, _>(&200_u8, "a weekday is 1 to 7");
    refuses::<chrono::Month, _>(&0_u8, "a month is 1 to 12");
    refuses::<time::Month, _>(&13_u8, "a month is 1 to 12");
    for day in 1..=7_u8 {
        round_trip(&decode::<chrono::Weekday>(&[day]).unwrap());
        same_kind(&decode::<time::Weekday>(&[day]).unwrap(), &day);
        same_kind(&decode::<civil::Weekday>(&[day]).unwrap(), &day);
    }
    (1..=12_u8).for_each(|month| same_kind(&decode::<chrono::Month>(&[month]).unwrap(), &month));
}

#[test]
fn a_time_beyond_the_years_of_a_crate_is_refused() {
    let far = bytes_of(&(1_i64 << 60, 0_u32));
    for error in [
        decode::<DateTime<Utc>>(&far).unwrap_err(),
        decode::<UtcDateTime>(&far).unwrap_err(),
        decode::<Timestamp>(&far).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidValue, "{error}");
    }
    // Nanoseconds that are a second or more.
    let whole = bytes_of(&(0_i64, 1_000_000_000_u32));
    assert!(decode::<DateTime<Utc>>(&whole).is_err());
    assert!(decode::<UtcDateTime>(&whole).is_err());
    assert!(decode::<Timestamp>(&whole).is_err());
    hostile(&chrono_utc());
    hostile(&time_utc());
    hostile(&timestamp());
}

#[test]
fn a_time_in_a_zone_has_the_name_of_that() {
    let zone = tz::TimeZone::fixed(tz::offset(2));
    let zoned = timestamp().to_zoned(zone);
    let bytes = [&INSTANT[..], b"\x06+02:00"].concat();
    golden(&zoned, &bytes);
    let same = |a: &Zoned, b: &Zoned| {
        assert_eq!((a.timestamp(), a.time_zone()), (b.timestamp(), b.time_zone()));
    };
    round_trip_by(&zoned, same);
    golden(&timestamp().to_zoned(tz::TimeZone::UTC), &[&INSTANT[..], b"\x03UTC"].concat());
    if let Ok(berlin) = tz::TimeZone::get("Europe/Berlin") {
        let zoned = timestamp().to_zoned(berlin);
        assert_eq!(bytes_of(&zoned), [&INSTANT[..], b"\x0dEurope/Berlin"].concat());
        round_trip_by(&zoned, same);
    }
    let unknown = [&INSTANT[..], b"\x09Moon/Mare"].concat();
    let error = decode::<Zoned>(&unknown).unwrap_err().to_string();
    assert!(error.contains(r#"the time zone "Moon/Mare" is not known to this machine"#), "{error}");
    hostile(&zoned);
}

#[test]
fn a_span_keeps_its_units() {
    let span = Span::new().years(1).months(14).hours(-30).nanoseconds(7);
    let loaded: Span = decode(&bytes_of(&span)).unwrap();
    assert_eq!(loaded.fieldwise(), span.fieldwise());
    let bytes = bytes_of(&Span::new().years(1).days(2).nanoseconds(3));
    let mut expected = [0; 58];
    (expected[0], expected[10], expected[50]) = (1, 2, 3);
    assert_eq!(bytes, expected);
    expected[10..14].copy_from_slice(&(-2_i32).to_le_bytes());
    let error = decode::<Span>(&expected).unwrap_err().to_string();
    assert!(error.contains("the units of a span have different signs"), "{error}");
    expected[0..2].copy_from_slice(&[0, 0]);
    expected[50..].copy_from_slice(&i64::MIN.to_le_bytes());
    assert!(decode::<Span>(&expected).is_err());
    hostile(&span);
}

proptest! {
    #[test]
    fn points_in_time_come_back(seconds in -60_000_000_000_i64..=200_000_000_000, nanos in 0..1_000_000_000_u32) {
        let chrono = DateTime::<Utc>::from_timestamp(seconds, nanos).unwrap();
        round_trip(&chrono);
        let nanoseconds = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        let time = UtcDateTime::from_unix_timestamp_nanos(nanoseconds).unwrap();
        same_kind(&chrono, &time);
        same_kind(&chrono, &Timestamp::from_nanosecond(nanoseconds).unwrap());
        round_trip::<NaiveDateTime>(&chrono.naive_utc());
        same_kind(&chrono.naive_utc().date(), &time.date());
        same_kind(&chrono.naive_utc().time(), &time.time());
        prop_assert_eq!(chrono.naive_utc().nanosecond(), nanos);
    }

    #[test]
    fn durations_come_back(millis: i64, seconds: i64, nanos in -999_999_999..=999_999_999_i32) {
        if let Some(delta) = TimeDelta::try_milliseconds(millis) {
            round_trip(&delta);
        }
        round_trip(&time::Duration::new(seconds / 2, nanos));
        round_trip(&SignedDuration::new(seconds / 2, nanos));
    }

    #[test]
    fn spans_come_back(years in -9000..9000_i16, hours in 0..100_000_i32, nanos in 0..i64::MAX) {
        let hours = if years < 0 { -hours } else { hours };
        let nanos = if years < 0 { -nanos } else { nanos };
        let span = Span::new().years(years).hours(hours).nanoseconds(nanos);
        let loaded: Span = decode(&bytes_of(&span)).unwrap();
        prop_assert_eq!(loaded.fieldwise(), span.fieldwise());
    }
}
