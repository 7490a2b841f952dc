//! [`SlotInfo`]: the metadata of a save that a menu shows.

use std::fmt;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use super::Saves;
use crate::codec::Persist;
use crate::format::Header;
use crate::{Error, ErrorKind, Limits, Result};

/// The metadata of a save that a menu shows: title, time, play time, a thumbnail, and a value of the program's own.
///
/// ```
/// use std::time::Duration;
///
/// use persist::Saves;
/// use persist::save::SlotInfo;
///
/// # let folder = tempfile::tempdir().unwrap();
/// let slots = Saves::new().slots(folder.path());
/// let png = vec![0x89, b'P', b'N', b'G'];
/// let info = SlotInfo::new("The Mill").play_time(Duration::from_secs(5400)).thumbnail(png);
/// slots.slot("Ada").info(info).save(&7_u32)?;
///
/// let list = slots.list()?; // reads the headers alone
/// assert_eq!(list[0].info.title, "The Mill");
/// assert!(list[0].info.saved_at.is_some());
/// # Ok::<(), persist::Error>(())
/// ```
///
/// The info belongs to one save, and is stored in its header. [`Limits::metadata`] limits its size, by default to 1
/// MiB.
#[derive(Clone, Default, PartialEq, Eq, crate::Persist)]
#[persist(crate = crate, class = "persist.SlotInfo")]
#[non_exhaustive]
pub struct SlotInfo {
    /// A title for the player, such as the chapter or the place; may be empty.
    #[persist(default)]
    pub title: String,
    /// When the state was saved, by the clock of the [storage](crate::storage::Storage::now); each save sets it.
    #[persist(default)]
    pub saved_at: Option<SystemTime>,
    /// How long the player has played.
    #[persist(default)]
    pub play_time: Option<Duration>,
    /// A small picture, such as the bytes of a PNG; may be empty.
    #[persist(default)]
    pub thumbnail: Vec<u8>,
    /// The program's own value, encoded as a save of its own; empty if there is none.
    #[persist(default)]
    value: Vec<u8>,
}

/// The `Saves` that encodes all infos, so that their class is registered only once. The programs' own values are
/// encoded by a `Saves` of their own: two types of a program may use the same class name, which one registry would
/// reject.
static SAVES: LazyLock<Saves> = LazyLock::new(Saves::new);

impl SlotInfo {
    /// Creates an info with this title, and no play time, thumbnail or value.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Sets how long the player has played.
    #[must_use]
    pub fn play_time(self, time: Duration) -> Self {
        Self { play_time: Some(time), ..self }
    }

    /// Sets a small picture, such as the bytes of a PNG.
    #[must_use]
    pub fn thumbnail(self, picture: impl Into<Vec<u8>>) -> Self {
        Self { thumbnail: picture.into(), ..self }
    }

    /// Sets a value of the program's own. Its type may change between versions, like the type of any save.
    ///
    /// ```
    /// use persist::Persist;
    /// use persist::save::SlotInfo;
    ///
    /// #[derive(Persist, Debug, PartialEq)]
    /// struct Shown { difficulty: String, deaths: u32 }
    ///
    /// let info = SlotInfo::new("The Mill").value(&Shown { difficulty: "hard".into(), deaths: 3 })?;
    /// assert_eq!(info.get::<Shown>()?.unwrap().deaths, 3);
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Saves::to_vec`].
    pub fn value<T: Persist>(self, value: &T) -> Result<Self> {
        Ok(Self { value: Saves::new().to_vec(value)?, ..self })
    }

    /// Reads the program's own value; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Saves::from_slice`].
    pub fn get<T: Persist>(&self) -> Result<Option<T>> {
        if self.value.is_empty() {
            return Ok(None);
        }
        let wrong = |error: Error| {
            Error::new(
                error.kind(),
                format!("the value in the info of a save cannot be loaded: {error}"),
            )
        };
        Saves::new()
            .from_slice::<T>(&self.value)
            .map(|value| Some(value.into_inner()))
            .map_err(wrong)
    }

    /// Returns the program's own value as a save; empty if there is none.
    #[doc(hidden)]
    #[must_use]
    pub fn value_bytes(&self) -> &[u8] {
        &self.value
    }

    /// Creates a header with this info and the current time.
    pub(super) fn into_header(
        mut self,
        now: Option<SystemTime>,
        header: &Header,
        limits: &Limits,
    ) -> Result<Header> {
        self.saved_at = now.or(self.saved_at);
        let bytes = SAVES.to_vec(&self)?;
        if bytes.len() as u64 > u64::from(limits.metadata) {
            bail!(
                ErrorKind::TooLarge,
                "the info of the save has {} bytes, {} of them the thumbnail, over the limit of {}; make the picture smaller, or raise `Limits::metadata`",
                bytes.len(),
                self.thumbnail.len(),
                limits.metadata
            );
        }
        Ok(Header { metadata: Some(bytes.into()), ..header.clone() })
    }
}

impl Header {
    /// Decodes title, time, play time and thumbnail of the save; empty if the save has no info.
    #[must_use]
    pub fn info(&self) -> SlotInfo {
        let Some(bytes) = &self.metadata else { return SlotInfo::default() };
        let info = SAVES.from_slice::<SlotInfo>(&bytes.0);
        // A program that writes its headers itself may put a save of another type there; it becomes the own value.
        info.map_or_else(
            |_| SlotInfo { value: bytes.0.to_vec(), ..SlotInfo::default() },
            |info| info.into_inner(),
        )
    }
}

/// Shows the thumbnail and the value as their sizes.
impl fmt::Debug for SlotInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotInfo")
            .field("title", &self.title)
            .field("saved_at", &self.saved_at)
            .field("play_time", &self.play_time)
            .field("thumbnail", &format_args!("{} bytes", self.thumbnail.len()))
            .field("value", &format_args!("{} bytes", self.value.len()))
            .finish()
    }
}

/// Shows title, time and play time, separated by commas: `The Mill, 2026-11-28 09:30 UTC, 1 h 30 min played`.
impl fmt::Display for SlotInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if !self.title.is_empty() {
            parts.push(self.title.clone());
        }
        parts.extend(self.saved_at.map(date));
        parts.extend(self.play_time.map(|time| {
            let minutes = time.as_secs() / 60;
            match minutes / 60 {
                0 => format!("{minutes} min played"),
                hours => format!("{hours} h {} min played", minutes % 60),
            }
        }));
        f.write_str(&parts.join(", "))
    }
}

/// Formats a time in UTC, to the minute. The library has no data about time zones: a program that shows local time
/// formats [`SlotInfo::saved_at`] itself.
fn date(time: SystemTime) -> String {
    let seconds = match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
        Err(earlier) => {
            i64::try_from(earlier.duration().as_secs()).map_or(i64::MIN, |seconds| -seconds)
        }
    };
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days to a date of the proleptic Gregorian calendar: `civil_from_days` of Howard Hinnant's "chrono-Compatible
    // Low-Level Date Algorithms". Its years begin in March.
    let shifted = days.saturating_add(719_468);
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era.saturating_mul(400) + year_of_era + i64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates_in_utc() {
        let at = |seconds| date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01 00:00 UTC");
        assert_eq!(at(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(at(1_795_829_340), "2026-11-28 01:29 UTC");
        assert_eq!(at(4_107_542_400), "2100-03-01 00:00 UTC");
        let earlier = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(date(earlier), "1969-12-31 23:59 UTC");
    }
}
