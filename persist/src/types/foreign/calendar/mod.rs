//! The stored forms of points in time, dates and durations of other crates.

#[cfg(feature = "chrono-0_4")]
mod chrono;
#[cfg(feature = "jiff-0_2")]
mod jiff;
#[cfg(feature = "time-0_3")]
mod time;

use std::time::SystemTime;

use crate::Persist;
use crate::codec::row::cut;
use crate::codec::{Decoder, Fail, Layout, Prototypes, TypeSet};
use crate::reflect::Kind;
use crate::types::number::fixed_items;
use crate::types::time::nanos;

const NANOS_PER_SECOND: u32 = crate::types::time::NANOS_PER_SECOND;

/// A point in time, of the class and with the bytes of `SystemTime`, but with the range of an `i64` of seconds on every
/// system.
#[derive(Clone, Copy)]
pub struct Instant {
    pub seconds: i64,
    /// Nanoseconds above the whole seconds.
    pub nanoseconds: u32,
}

impl Instant {
    /// Converts from nanoseconds since 1970; `None` if the seconds exceed 64 bits.
    #[cfg(any(feature = "jiff-0_2", feature = "time-0_3"))]
    fn from_nanoseconds(all: i128) -> Option<Self> {
        let (seconds, above) =
            (all.div_euclid(NANOS_PER_SECOND.into()), all.rem_euclid(NANOS_PER_SECOND.into()));
        Some(Self { seconds: seconds.try_into().ok()?, nanoseconds: above.try_into().ok()? })
    }

    #[cfg(any(feature = "jiff-0_2", feature = "time-0_3"))]
    fn nanoseconds(self) -> i128 {
        i128::from(self.seconds) * i128::from(NANOS_PER_SECOND) + i128::from(self.nanoseconds)
    }
}

#[diagnostic::do_not_recommend]
impl Persist for Instant {
    const __LAYOUT: Layout = Layout::number::<Self>(12);

    fixed_items!();

    fn persist_kind() -> Kind {
        SystemTime::persist_kind()
    }

    fn __reach(types: &mut TypeSet) {
        SystemTime::__reach(types);
    }

    fn persist_empty(_: &Prototypes<'_>) -> crate::Result<Self> {
        Ok(Self { seconds: 0, nanoseconds: 0 })
    }

    #[inline(always)]
    fn __encode_head(&self, head: &mut [u8]) {
        (self.seconds, self.nanoseconds).__encode_head(head);
    }

    #[inline(always)]
    fn __decode_fixed(mut head: &[u8], bad: &mut bool) -> Self {
        let seconds = i64::__decode_fixed(cut(&mut head, 8), bad);
        Self { seconds, nanoseconds: nanos(head, bad) }
    }
}

/// A point in time, and the offset of the local clock from UTC.
#[cfg(any(feature = "chrono-0_4", feature = "time-0_3"))]
#[derive(Clone, Copy, Persist)]
#[persist(crate = crate)]
pub struct OffsetDateTime {
    pub instant: Instant,
    /// Offset in seconds.
    pub offset: i32,
}

/// A point in time, and its time zone.
#[cfg(feature = "jiff-0_2")]
#[derive(Persist)]
#[persist(crate = crate)]
struct ZonedDateTime {
    instant: Instant,
    /// Name in the IANA database, or an offset such as `+02:00`, or a POSIX time zone.
    zone: String,
}

/// A day of the Gregorian calendar, also before the calendar was introduced.
#[derive(Clone, Copy, Persist)]
#[persist(crate = crate)]
pub struct CivilDate {
    pub year: i32,
    /// Counted from 1.
    pub month: u8,
    /// Counted from 1.
    pub day: u8,
}

/// A time of day.
#[derive(Clone, Copy, Persist)]
#[persist(crate = crate)]
pub struct CivilTime {
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    /// Nanoseconds; in a leap second, a thousand million more.
    pub nanosecond: u32,
}

/// A day and a time of day, without a time zone.
#[derive(Clone, Copy, Persist)]
#[persist(crate = crate)]
pub struct CivilDateTime {
    pub date: CivilDate,
    pub time: CivilTime,
}

/// A duration that may be negative. Its parts have the same sign.
#[derive(Clone, Copy, Persist)]
#[persist(crate = crate)]
pub struct SignedDuration {
    pub seconds: i64,
    pub nanoseconds: i32,
}

impl SignedDuration {
    /// Returns the duration, if its parts have the same sign.
    fn checked(self) -> Result<Self, String> {
        let Self { seconds, nanoseconds } = self;
        let one_sign = seconds.signum() * i64::from(nanoseconds.signum()) >= 0;
        if one_sign && nanoseconds.unsigned_abs() < NANOS_PER_SECOND {
            return Ok(self);
        }
        Err(format!("{seconds} s and {nanoseconds} ns are not the parts of a duration"))
    }
}
