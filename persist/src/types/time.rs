//! Durations and points in time.

use std::any::Any;
use std::time::{Duration, SystemTime};

use super::number::fixed_items;
use super::struct_tables;
use crate::Result;
use crate::codec::row::cut;
use crate::codec::{Decoder, Fail, Layout, Persist, Prototypes, Reflect, TypeSet};
use crate::reflect::Kind;

pub(super) const NANOS_PER_SECOND: u32 = 1_000_000_000;

/// Expands to the tables of a time. Seconds and nanoseconds cannot be accessed separately.
macro_rules! times {
    ($($time:ty, $name:literal, $seconds:ty;)*) => {$(
        impl Reflect for $time {
            struct_tables!($name [] "seconds": $seconds, "nanoseconds": u32);

            fn persist_field(&self, _: usize) -> Option<&dyn Any> {
                None
            }

            fn persist_field_mut(&mut self, _: usize) -> Option<&mut dyn Any> {
                None
            }
        }
    )*};
}

times! {
    Duration, "Duration", u64;
    SystemTime, "SystemTime", i64;
}

/// Stored as seconds as `u64`, then nanoseconds as `u32`.
#[diagnostic::do_not_recommend]
impl Persist for Duration {
    const __LAYOUT: Layout = Layout::number::<Self>(12);

    fixed_items!();

    fn persist_kind() -> Kind {
        Kind::Class(|| Self::CLASS)
    }

    fn __reach(types: &mut TypeSet) {
        types.class::<Self>();
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Duration::ZERO)
    }

    #[inline(always)]
    fn __encode_head(&self, head: &mut [u8]) {
        (self.as_secs(), self.subsec_nanos()).__encode_head(head);
    }

    #[inline(always)]
    fn __decode_fixed(mut head: &[u8], bad: &mut bool) -> Self {
        let seconds = u64::__decode_fixed(cut(&mut head, 8), bad);
        Duration::new(seconds, nanos(head, bad))
    }
}

#[inline(always)]
pub(super) fn nanos(head: &[u8], bad: &mut bool) -> u32 {
    let nanos = u32::__decode_fixed(head, bad);
    if nanos < NANOS_PER_SECOND {
        nanos
    } else {
        *bad = true;
        0
    }
}

/// Stored as whole seconds since 1970-01-01 UTC as `i64`, rounded down, then the remaining nanoseconds as `u32`.
#[diagnostic::do_not_recommend]
impl Persist for SystemTime {
    const __LAYOUT: Layout = Layout::number::<Self>(12);

    fixed_items!();

    fn persist_kind() -> Kind {
        Kind::Class(|| Self::CLASS)
    }

    fn __reach(types: &mut TypeSet) {
        types.class::<Self>();
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(SystemTime::UNIX_EPOCH)
    }

    fn __encode_head(&self, head: &mut [u8]) {
        // No system counts more seconds than an `i64` holds.
        let (seconds, nanos) = match self.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => (i64::try_from(after.as_secs()).unwrap_or(i64::MAX), after.subsec_nanos()),
            Err(error) => {
                let until = error.duration();
                let seconds = i64::try_from(until.as_secs()).map_or(i64::MIN, |seconds| -seconds);
                match until.subsec_nanos() {
                    0 => (seconds, 0),
                    nanos => (seconds.saturating_sub(1), NANOS_PER_SECOND - nanos),
                }
            }
        };
        (seconds, nanos).__encode_head(head);
    }

    fn __decode_fixed(mut head: &[u8], bad: &mut bool) -> Self {
        let seconds = i64::__decode_fixed(cut(&mut head, 8), bad);
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let time = if seconds < 0 {
            SystemTime::UNIX_EPOCH.checked_sub(whole)
        } else {
            SystemTime::UNIX_EPOCH.checked_add(whole)
        };
        let above = Duration::new(0, nanos(head, bad));
        time.and_then(|time| time.checked_add(above)).unwrap_or_else(|| {
            *bad = true;
            SystemTime::UNIX_EPOCH
        })
    }
}
