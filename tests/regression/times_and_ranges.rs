//! A range loaded as another sort of range, and a time as a duration, since their parts were alike.

use std::ops::{Range, RangeFrom, RangeInclusive, RangeTo, RangeToInclusive};
use std::time::{Duration, SystemTime};

use persist::{ErrorKind, Persist};

/// The error of a load of a field of the one type as the other.
macro_rules! refused {
    ($value:expr, $old:ty => $new:ty) => {{
        #[derive(Persist)]
        #[persist(class = "Plan")]
        struct Old {
            value: $old,
        }
        #[derive(Persist)]
        #[persist(class = "Plan")]
        struct New {
            value: $new,
        }
        let save = persist::to_vec(&Old { value: $value }).unwrap();
        let error =
            persist::from_slice::<New>(&save).map(|plan| format!("{:?}", plan.value)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KindMismatch, "{error}");
        error.message().to_owned()
    }};
}

#[test]
fn a_range_or_a_time_is_no_other_one() {
    let errors = [
        refused!(1..5, Range<u8> => RangeInclusive<u8>),
        refused!(1..=5, RangeInclusive<u8> => Range<u8>),
        refused!(1.., RangeFrom<u8> => RangeTo<u8>),
        refused!(..5, RangeTo<u8> => RangeToInclusive<u8>),
        refused!(SystemTime::UNIX_EPOCH, SystemTime => Duration),
        refused!(Duration::ZERO, Duration => SystemTime),
        refused!(vec![Duration::ZERO], Vec<Duration> => Vec<SystemTime>),
        refused!((1, 2), (u64, u32) => Duration),
        refused!(Duration::ZERO, Duration => (u64, u32)),
        refused!((1, 2), (u8, u8) => Range<u8>),
        refused!(1.., RangeFrom<u8> => u8),
    ];
    insta::assert_snapshot!("times_and_ranges", errors.join("\n"));
}

#[test]
fn the_bounds_of_a_range_change_as_any_number() {
    let save = persist::to_vec(&vec![1..5_u8, 7..200]).unwrap();
    let wide: Vec<Range<u64>> = persist::from_slice(&save).unwrap();
    assert_eq!(wide, [1..5, 7..200]);
    let save = persist::to_vec(&(1..=5_i8, 3_u16.., ..9_u8)).unwrap();
    type Wide = (RangeInclusive<i64>, RangeFrom<u32>, RangeTo<u128>);
    let wide: Wide = persist::from_slice(&save).unwrap();
    assert_eq!(wide, (1..=5, 3.., ..9));
    let save = persist::to_vec(&vec![Some(4..300_u16)]).unwrap();
    let error = persist::from_slice::<Vec<Option<Range<u8>>>>(&save).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidValue, "{error}");
    assert_eq!(error.field(), Some("[0].end"));
    let save = persist::to_vec(&vec![Duration::from_secs(3)]).unwrap();
    let times: Vec<Option<Duration>> = persist::from_slice(&save).unwrap();
    assert_eq!(times, [Some(Duration::from_secs(3))]);
}

#[derive(Persist)]
#[persist(class = "Race")]
struct OldRace {
    start: Duration,
    lap: (u64, u32),
    legs: Range<u8>,
}

#[derive(Persist, Debug, PartialEq)]
#[persist(class = "Race")]
struct Race {
    #[persist(convert = since_1970)]
    start: SystemTime,
    #[persist(convert = lasting)]
    lap: Duration,
    #[persist(convert = inclusive)]
    legs: RangeInclusive<u8>,
}

fn since_1970(old: Duration) -> SystemTime {
    SystemTime::UNIX_EPOCH + old
}

fn lasting((seconds, nanoseconds): (u64, u32)) -> Duration {
    Duration::new(seconds, nanoseconds)
}

fn inclusive(old: Range<u8>) -> RangeInclusive<u8> {
    old.start..=old.end - 1
}

#[test]
fn a_range_or_a_time_becomes_another_by_a_convert() {
    let old = OldRace { start: Duration::from_secs(60), lap: (2, 5), legs: 1..4 };
    let race: Race = persist::from_slice(&persist::to_vec(&old).unwrap()).unwrap();
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(60);
    assert_eq!(race, Race { start, lap: Duration::new(2, 5), legs: 1..=3 });
}
