//! Events of `tracing`: what a log has without being asked.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use persist::{History, Persist, Saves, Session};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::Counting;

/// The events, one line each.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {}={value:?}", field.name()).expect("a text");
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "persist"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().expect("no panic").push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The events of what a function does on this thread.
fn events(run: impl FnOnce()) -> Vec<String> {
    let log = Log::default();
    tracing::subscriber::with_default(log.clone(), run);
    let events = log.0.lock().expect("no panic");
    events.clone()
}

#[derive(Persist, Default)]
#[persist(class = "events.Game")]
struct Game {
    day: u32,
}

#[derive(Persist)]
#[persist(class = "events.Game")]
struct Newer {
    day: u32,
    weather: u8,
}

#[test]
fn a_good_save_and_load_report_nothing() {
    let saves = Saves::new().storage(Counting::default());
    let events = events(|| {
        saves.file("saves/a.sav").save(&Game { day: 1 }).expect("a save");
        saves.file("saves/a.sav").load::<Game>().expect("the save");
    });
    assert!(events.is_empty(), "{events:?}");
}

#[test]
fn a_load_with_losses_a_backup_and_a_slow_save_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.sav");
    let newer = Saves::new();
    newer.file(&path).save(&Newer { day: 1, weather: 3 }).expect("a save");
    newer.file(&path).save(&Newer { day: 2, weather: 3 }).expect("a save");
    std::fs::File::options().write(true).open(&path).expect("the file").set_len(60).expect("cut");
    let saves = Saves::new().load_options(persist::LoadOptions::new().drop_unknown(true));
    let loaded = events(|| drop(saves.file(&path).load::<Game>().expect("the backup")));
    assert_eq!(loaded.len(), 2, "{loaded:?}");
    assert!(
        loaded[0].starts_with("WARN") && loaded[0].contains("a backup was loaded"),
        "{loaded:?}"
    );
    assert!(loaded[1].starts_with("WARN") && loaded[1].contains("lost=1"), "{loaded:?}");
    let slow = Saves::new().slow_after(Duration::ZERO);
    let saved = events(|| {
        slow.file(&path).save(&Game { day: 3 }).expect("a save");
    });
    assert_eq!(saved.len(), 1, "{saved:?}");
    assert!(saved[0].starts_with("WARN") && saved[0].contains("took_ms="), "{saved:?}");
}

#[test]
fn a_journal_that_is_replayed_is_reported() {
    let storage = Counting::default();
    let open = || {
        let saves = Saves::new().storage(storage.clone());
        let session = Session::<Game>::with(saves, History::new(8));
        session.open("saves/a.sav", "saves/a.journal").expect("a session").0
    };
    let mut session = open();
    session.set_field(persist::field!(Game.day), 1_u32).expect("an edit");
    drop(session);
    let events = events(|| drop(open()));
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(events[0].starts_with("INFO") && events[0].contains("steps=1"), "{events:?}");
}
