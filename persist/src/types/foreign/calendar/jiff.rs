//! `jiff`: points in time have the class of `SystemTime`. A `Zoned` also has the name of its time zone; the rules of
//! the zone are those of the machine that loads.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::fmt::temporal::{DateTimeParser, DateTimePrinter};
use jiff::tz::{Offset, TimeZone};
use jiff::{Error, SignedDuration, Span, Timestamp, Zoned};

use super::{CivilDate, CivilDateTime, CivilTime, Instant, ZonedDateTime};
use crate::Persist;
use crate::codec::{Decoder, Encoder, Fail, Generic, Layout, Pointee, Prototypes, Stop, TypeSet};
use crate::reflect::Kind;
use crate::types::foreign::calendar;
use crate::types::foreign::{refuse, stored_as};

stored_as! {
    Timestamp as Instant = Timestamp::UNIX_EPOCH, |time| instant(*time) => ?from_instant;
    Offset as i32 = Offset::UTC, |offset| offset.seconds() => ?Offset::from_seconds;
    Date as CivilDate = epoch(), |date| from_date(*date) => ?date;
    Time as CivilTime = Time::midnight(), |time| from_time(*time) => ?time;
    DateTime as CivilDateTime = epoch().to_datetime(Time::midnight()),
        |both| CivilDateTime { date: from_date(both.date()), time: from_time(both.time()) }
        => ?|stored| Ok::<_, String>(date(stored.date)?.to_datetime(time(stored.time)?));
    SignedDuration as calendar::SignedDuration = SignedDuration::ZERO,
        |duration| calendar::SignedDuration {
            seconds: duration.as_secs(),
            nanoseconds: duration.subsec_nanos(),
        }
        => ?|stored| {
            stored.checked().map(|stored| SignedDuration::new(stored.seconds, stored.nanoseconds))
        };
    Span as CalendarSpan = Span::new(), CalendarSpan::from_span => ?CalendarSpan::span;
    // The number of ISO 8601: Monday is 1.
    Weekday as u8 = Weekday::Monday, |day| day.to_monday_one_offset().unsigned_abs()
        => ?|day| i8::try_from(day)
            .ok()
            .and_then(|day| Weekday::from_monday_one_offset(day).ok())
            .ok_or("a weekday is 1 to 7");
}

fn epoch() -> Date {
    Date::constant(1970, 1, 1)
}

fn instant(time: Timestamp) -> Instant {
    // The crate supports years up to 9999.
    Instant::from_nanoseconds(time.as_nanosecond())
        .unwrap_or(Instant { seconds: 0, nanoseconds: 0 })
}

fn from_instant(stored: Instant) -> Result<Timestamp, Error> {
    Timestamp::from_nanosecond(stored.nanoseconds())
}

fn from_date(date: Date) -> CivilDate {
    CivilDate {
        year: date.year().into(),
        month: date.month().unsigned_abs(),
        day: date.day().unsigned_abs(),
    }
}

fn date(CivilDate { year, month, day }: CivilDate) -> Result<Date, String> {
    let small = |part: u8| i8::try_from(part).ok();
    let parts = (i16::try_from(year).ok()).zip(small(month)).zip(small(day));
    parts
        .and_then(|((year, month), day)| Date::new(year, month, day).ok())
        .ok_or_else(|| format!("{year}-{month}-{day} is no day of `jiff`"))
}

fn from_time(time: Time) -> CivilTime {
    CivilTime {
        hour: time.hour().unsigned_abs(),
        minute: time.minute().unsigned_abs(),
        second: time.second().unsigned_abs(),
        nanosecond: time.subsec_nanosecond().unsigned_abs(),
    }
}

fn time(CivilTime { hour, minute, second, nanosecond }: CivilTime) -> Result<Time, String> {
    let small = |part: u8| i8::try_from(part).ok();
    let parts = small(hour).zip(small(minute)).zip(small(second)).zip(nanosecond.try_into().ok());
    parts
        .and_then(|(((hour, minute), second), nanosecond)| {
            Time::new(hour, minute, second, nanosecond).ok()
        })
        .ok_or_else(|| format!("{hour}:{minute}:{second} and {nanosecond} ns is no time of day"))
}

/// Stores each unit by itself, since a month has no fixed length. All units have the same sign.
#[derive(Persist)]
#[persist(crate = crate)]
pub struct CalendarSpan {
    years: i16,
    months: i32,
    weeks: i32,
    days: i32,
    hours: i32,
    minutes: i64,
    seconds: i64,
    milliseconds: i64,
    microseconds: i64,
    nanoseconds: i64,
}

impl CalendarSpan {
    fn from_span(span: &Span) -> Self {
        Self {
            years: span.get_years(),
            months: span.get_months(),
            weeks: span.get_weeks(),
            days: span.get_days(),
            hours: span.get_hours(),
            minutes: span.get_minutes(),
            seconds: span.get_seconds(),
            milliseconds: span.get_milliseconds(),
            microseconds: span.get_microseconds(),
            nanoseconds: span.get_nanoseconds(),
        }
    }

    fn span(self) -> Result<Span, String> {
        let small = [self.years.into(), self.months, self.weeks, self.days, self.hours];
        let large =
            [self.minutes, self.seconds, self.milliseconds, self.microseconds, self.nanoseconds];
        let mut units = small.into_iter().map(i64::from).chain(large);
        let is_negative = units.clone().any(i64::is_negative);
        if is_negative && units.any(i64::is_positive) {
            return Err(String::from("the units of a span have different signs"));
        }
        // A negative unit would make the others negative.
        let [years, months, weeks, days, hours] = small.map(i32::unsigned_abs);
        let large = large.map(i64::checked_abs);
        let [Some(minutes), Some(seconds), Some(millis), Some(micros), Some(nanos)] = large else {
            return Err(String::from("a unit of a span is out of range"));
        };
        let span = Span::new()
            .try_years(years)
            .and_then(|span| span.try_months(months))
            .and_then(|span| span.try_weeks(weeks))
            .and_then(|span| span.try_days(days))
            .and_then(|span| span.try_hours(hours))
            .and_then(|span| span.try_minutes(minutes))
            .and_then(|span| span.try_seconds(seconds))
            .and_then(|span| span.try_milliseconds(millis))
            .and_then(|span| span.try_microseconds(micros))
            .and_then(|span| span.try_nanoseconds(nanos))
            .map_err(|error| error.to_string())?;
        Ok(if is_negative { span.negate() } else { span })
    }
}

/// Refuses to save a time zone without a name, which only the system's own zone can be.
#[diagnostic::do_not_recommend]
impl Persist for Zoned {
    const __LAYOUT: Layout =
        Layout { min: ZonedDateTime::MIN, leaf: true, ..Layout::new::<Self>() };

    fn persist_kind() -> Kind {
        ZonedDateTime::persist_kind()
    }

    fn __reach(types: &mut TypeSet) {
        ZonedDateTime::__reach(types);
    }

    fn persist_empty(_: &Prototypes<'_>) -> crate::Result<Self> {
        Ok(Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC))
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let zone =
            DateTimePrinter::new().time_zone_to_string(self.time_zone()).map_err(|error| {
                out.refuse(crate::Error::new(
                    crate::ErrorKind::InvalidValue,
                    format!(
                        "the time zone has no name to be saved by, so store the timestamp: {error}"
                    ),
                ))
            })?;
        out.value(&ZonedDateTime { instant: instant(self.timestamp()), zone })
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        let ZonedDateTime { instant, zone } = input.value()?;
        let time = from_instant(instant).map_err(|why| refuse(&why, input))?;
        let zone = DateTimeParser::new().parse_time_zone(&zone).map_err(|why| {
            refuse(&format!("the time zone {zone:?} is not known to this machine: {why}"), input)
        })?;
        Ok(time.to_zoned(zone))
    }
}

impl Pointee for Zoned {
    type As = Self;
}
