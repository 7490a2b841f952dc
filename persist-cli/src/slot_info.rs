//! The info in the header of a save, as text and as JSON.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use persist::save::{Header, SlotInfo};
use persist_tools::Document;
use serde::Serialize;

use crate::mapped::Mapped;
use crate::output::bytes;

/// The info in the header of a save.
pub(crate) struct ShownInfo {
    info: SlotInfo,
    /// The program's own value, or the reason why it cannot be read.
    value: Result<Option<Document>, String>,
}

impl ShownInfo {
    /// Returns the info of a header; `None` if the save has none.
    pub(crate) fn of(header: &Header) -> Option<Self> {
        let info = header.info();
        let value = Document::from_info(&info).map_err(|error| error.to_string());
        (info != SlotInfo::default()).then_some(Self { info, value })
    }

    /// Returns labels and texts of all fields except the program's own value.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        let SlotInfo { title, saved_at, play_time, thumbnail, .. } = &self.info;
        let mut facts = Vec::new();
        if !title.is_empty() {
            facts.push(("title", title.clone()));
        }
        facts.extend(saved_at.map(|time| ("saved", date(time))));
        facts.extend(play_time.map(|time| ("played", play(time))));
        if !thumbnail.is_empty() {
            let size = bytes(thumbnail.len() as u64);
            facts.push(("thumbnail", format!("{}, {size}", kind_of(thumbnail))));
        }
        facts
    }

    /// Returns the program's own value; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns the reason if the value cannot be read.
    pub(crate) fn value(&self) -> Result<Option<&persist::Value>, &str> {
        match &self.value {
            Ok(document) => Ok(document.as_ref().and_then(Document::root)),
            Err(error) => Err(error),
        }
    }
}

#[derive(Serialize)]
struct Thumbnail {
    kind: &'static str,
    bytes: u64,
}

impl Serialize for ShownInfo {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Keys<'i> {
            title: &'i str,
            saved_at: Option<i64>,
            play_time: Option<u64>,
            thumbnail: Option<Thumbnail>,
            value: Option<Mapped<'i>>,
        }
        let SlotInfo { title, saved_at, play_time, thumbnail, .. } = &self.info;
        let kind = kind_of(thumbnail);
        let thumbnail = Thumbnail { kind, bytes: thumbnail.len() as u64 };
        let keys = Keys {
            title,
            saved_at: saved_at.map(seconds),
            play_time: play_time.map(|time| time.as_secs()),
            thumbnail: Some(thumbnail).filter(|picture| picture.bytes > 0),
            value: self.value().ok().flatten().map(Mapped::shown),
        };
        keys.serialize(to)
    }
}

/// The format of a picture by its first bytes.
fn kind_of(picture: &[u8]) -> &'static str {
    match picture {
        [0x89, b'P', b'N', b'G', ..] => "PNG",
        [0xff, 0xd8, 0xff, ..] => "JPEG",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "WebP",
        [b'G', b'I', b'F', b'8', ..] => "GIF",
        _ => "bytes",
    }
}

/// The time in UTC, as the library shows it to players.
fn date(time: SystemTime) -> String {
    let mut only = SlotInfo::default();
    only.saved_at = Some(time);
    only.to_string()
}

/// The play time, as the library shows it to players.
fn play(time: Duration) -> String {
    let shown = SlotInfo::default().play_time(time).to_string();
    shown.trim_end_matches(" played").to_owned()
}

/// Whole seconds since 1970.
fn seconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
        Err(earlier) => i64::try_from(earlier.duration().as_secs()).map_or(i64::MIN, |secs| -secs),
    }
}
