//! `time`: points in time have the class of `SystemTime`.

use time::{
    Date, Duration, Month, OffsetDateTime, PrimitiveDateTime, Time, UtcDateTime, UtcOffset, Weekday,
};

use super::{CivilDate, CivilDateTime, CivilTime, Instant, SignedDuration};
use crate::types::foreign::calendar;
use crate::types::foreign::stored_as;

stored_as! {
    UtcDateTime as Instant = UtcDateTime::UNIX_EPOCH, |time| instant(time.unix_timestamp_nanos())
        => ?|stored| UtcDateTime::from_unix_timestamp_nanos(stored.nanoseconds());
    OffsetDateTime as calendar::OffsetDateTime = OffsetDateTime::UNIX_EPOCH,
        |time| calendar::OffsetDateTime {
            instant: instant(time.unix_timestamp_nanos()),
            offset: time.offset().whole_seconds(),
        }
        => ?offset_date_time;
    UtcOffset as i32 = UtcOffset::UTC, |offset| offset.whole_seconds()
        => ?UtcOffset::from_whole_seconds;
    Date as CivilDate = OffsetDateTime::UNIX_EPOCH.date(), |date| from_date(*date) => ?date;
    Time as CivilTime = Time::MIDNIGHT, |time| from_time(*time) => ?time;
    PrimitiveDateTime as CivilDateTime
        = PrimitiveDateTime::new(OffsetDateTime::UNIX_EPOCH.date(), Time::MIDNIGHT),
        |both| CivilDateTime { date: from_date(both.date()), time: from_time(both.time()) }
        => ?|stored| {
            Ok::<_, String>(PrimitiveDateTime::new(date(stored.date)?, time(stored.time)?))
        };
    Duration as SignedDuration = Duration::ZERO,
        |duration| SignedDuration {
            seconds: duration.whole_seconds(),
            nanoseconds: duration.subsec_nanoseconds(),
        }
        => ?|stored| {
            stored.checked().map(|stored| Duration::new(stored.seconds, stored.nanoseconds))
        };
    // The numbers of ISO 8601: Monday and January are 1.
    Weekday as u8 = Weekday::Monday, |day| day.number_from_monday()
        => ?|day| match day {
            1..=7 => Ok(Weekday::Monday.nth_next(day - 1)),
            _ => Err("a weekday is 1 to 7"),
        };
    Month as u8 = Month::January, |month| u8::from(*month)
        => ?|month| Month::try_from(month).map_err(|_| "a month is 1 to 12");
}

fn instant(nanoseconds: i128) -> Instant {
    // The crate supports a few hundred thousand years at most.
    Instant::from_nanoseconds(nanoseconds).unwrap_or(Instant { seconds: 0, nanoseconds: 0 })
}

fn offset_date_time(stored: calendar::OffsetDateTime) -> Result<OffsetDateTime, String> {
    let offset = UtcOffset::from_whole_seconds(stored.offset).map_err(|error| error.to_string())?;
    OffsetDateTime::from_unix_timestamp_nanos(stored.instant.nanoseconds())
        .map_err(|error| error.to_string())?
        .checked_to_offset(offset)
        .ok_or_else(|| String::from("the local time is beyond the years of `time`"))
}

fn from_date(date: Date) -> CivilDate {
    CivilDate { year: date.year(), month: date.month().into(), day: date.day() }
}

fn date(CivilDate { year, month, day }: CivilDate) -> Result<Date, String> {
    Month::try_from(month)
        .and_then(|month| Date::from_calendar_date(year, month, day))
        .map_err(|error| format!("{year}-{month}-{day} is no day of `time`: {error}"))
}

fn from_time(time: Time) -> CivilTime {
    let (hour, minute, second, nanosecond) = time.as_hms_nano();
    CivilTime { hour, minute, second, nanosecond }
}

fn time(CivilTime { hour, minute, second, nanosecond }: CivilTime) -> Result<Time, String> {
    Time::from_hms_nano(hour, minute, second, nanosecond).map_err(|error| {
        format!("{hour}:{minute}:{second} and {nanosecond} ns is no time of day: {error}")
    })
}
