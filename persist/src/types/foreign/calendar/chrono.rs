//! `chrono`: points in time have the class of `SystemTime`, which has no leap seconds. A leap second is stored as the
//! second after it. Times of day keep leap seconds.

use chrono::Datelike;
use chrono::{
    DateTime, FixedOffset, Month, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike, Utc,
    Weekday,
};

use super::{
    CivilDate, CivilDateTime, CivilTime, Instant, NANOS_PER_SECOND, OffsetDateTime, SignedDuration,
};
use crate::types::foreign::stored_as;

stored_as! {
    DateTime<Utc> as Instant = DateTime::default(), |time| instant(time) => ?from_instant;
    DateTime<FixedOffset> as OffsetDateTime = DateTime::default(),
        |time| OffsetDateTime {
            instant: instant(&time.to_utc()),
            offset: time.offset().local_minus_utc(),
        }
        => ?|stored| Ok::<_, String>(
            from_instant(stored.instant)?.with_timezone(&from_seconds(stored.offset)?)
        );
    FixedOffset as i32 = chrono::Offset::fix(&Utc), FixedOffset::local_minus_utc => ?from_seconds;
    NaiveDate as CivilDate = NaiveDate::default(), |date| from_date(*date) => ?date;
    NaiveTime as CivilTime = NaiveTime::default(), |time| from_time(*time) => ?time;
    NaiveDateTime as CivilDateTime = NaiveDateTime::default(),
        |both| CivilDateTime { date: from_date(both.date()), time: from_time(both.time()) }
        => ?|stored| Ok::<_, String>(date(stored.date)?.and_time(time(stored.time)?));
    TimeDelta as SignedDuration = TimeDelta::zero(),
        |delta| SignedDuration {
            seconds: delta.num_seconds(),
            nanoseconds: delta.subsec_nanos(),
        }
        => ?time_delta;
    // The numbers of ISO 8601: Monday and January are 1.
    Weekday as u8 = Weekday::Mon, |day| *day as u8 + 1 => ?|day| {
        let day = day.checked_sub(1).and_then(|day| Weekday::try_from(day).ok());
        day.ok_or("a weekday is 1 to 7")
    };
    Month as u8 = Month::January, |month| *month as u8 + 1 => ?|month| {
        Month::try_from(month).map_err(|_| "a month is 1 to 12")
    };
}

fn instant(time: &DateTime<Utc>) -> Instant {
    let (seconds, nanoseconds) = (time.timestamp(), time.timestamp_subsec_nanos());
    match nanoseconds.checked_sub(NANOS_PER_SECOND) {
        Some(nanoseconds) => Instant { seconds: seconds + 1, nanoseconds },
        None => Instant { seconds, nanoseconds },
    }
}

fn from_instant(Instant { seconds, nanoseconds }: Instant) -> Result<DateTime<Utc>, String> {
    DateTime::from_timestamp(seconds, nanoseconds)
        .ok_or_else(|| format!("{seconds} s after 1970 is beyond the years of `chrono`"))
}

fn from_seconds(offset: i32) -> Result<FixedOffset, String> {
    FixedOffset::east_opt(offset).ok_or_else(|| format!("{offset} s is no offset from UTC"))
}

#[expect(clippy::cast_possible_truncation, reason = "months and days are small")]
fn from_date(date: NaiveDate) -> CivilDate {
    CivilDate { year: date.year(), month: date.month() as u8, day: date.day() as u8 }
}

fn date(CivilDate { year, month, day }: CivilDate) -> Result<NaiveDate, String> {
    NaiveDate::from_ymd_opt(year, month.into(), day.into())
        .ok_or_else(|| format!("{year}-{month}-{day} is no day of `chrono`"))
}

#[expect(clippy::cast_possible_truncation, reason = "hours, minutes and seconds are small")]
fn from_time(time: NaiveTime) -> CivilTime {
    CivilTime {
        hour: time.hour() as u8,
        minute: time.minute() as u8,
        second: time.second() as u8,
        nanosecond: time.nanosecond(),
    }
}

fn time(CivilTime { hour, minute, second, nanosecond }: CivilTime) -> Result<NaiveTime, String> {
    NaiveTime::from_hms_nano_opt(hour.into(), minute.into(), second.into(), nanosecond)
        .ok_or_else(|| format!("{hour}:{minute}:{second} and {nanosecond} ns is no time of day"))
}

fn time_delta(stored: SignedDuration) -> Result<TimeDelta, String> {
    let SignedDuration { seconds, nanoseconds } = stored.checked()?;
    // The nanoseconds are those above the whole seconds.
    let delta = match u32::try_from(nanoseconds) {
        Ok(above) => TimeDelta::new(seconds, above),
        Err(_) => seconds.checked_sub(1).and_then(|seconds| {
            TimeDelta::new(seconds, NANOS_PER_SECOND - nanoseconds.unsigned_abs())
        }),
    };
    delta.ok_or_else(|| format!("{seconds} s is more than a `TimeDelta` holds"))
}
