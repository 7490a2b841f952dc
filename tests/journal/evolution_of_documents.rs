//! Journals of a document that yesterday's program edited, in today's. They once were not replayed: their steps are of
//! fields, and a migration takes a whole value.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use persist::history::{CommandEdit, Recovered, SessionOptions};
use persist::{Command, ErrorKind, History, Persist, Result, Saves, Session, Value};

use rand::Rng;
use rand_pcg::Pcg64Mcg;

use super::driver;
use super::{JOURNAL, SAVE};
use persist_tests::support::disk::{Disk, Image};

/// Yesterday's classes.
mod old {
    use super::*;

    #[derive(Persist, Default, Debug)]
    #[persist(class = "Document")]
    pub(super) struct Document {
        pub(super) title: String,
        pub(super) gone: u8,
        pub(super) width: f32,
        pub(super) margins: Margins,
        pub(super) pages: Vec<Page>,
        pub(super) words: BTreeMap<String, Word>,
        pub(super) cover: Option<Page>,
    }

    #[derive(Persist, Default, Debug)]
    #[persist(class = "Margins")]
    pub(super) struct Margins {
        pub(super) left: u8,
        pub(super) right: u8,
    }

    #[derive(Persist, Default, Debug)]
    #[persist(class = "Page")]
    pub(super) struct Page {
        pub(super) lines: Vec<String>,
        pub(super) number: u16,
    }

    #[derive(Persist, Default, Debug)]
    #[persist(class = "Word")]
    pub(super) struct Word {
        pub(super) count: u8,
        pub(super) first: String,
        pub(super) last: String,
    }

    /// Changes the document itself.
    #[derive(Persist)]
    #[persist(class = "Widen")]
    pub(super) struct Widen {
        pub(super) by: f32,
    }

    impl Command<Document> for Widen {
        fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
            edit.target().width += self.by;
            Ok(())
        }

        fn undo(&mut self, document: &mut Document) -> Result<()> {
            document.width -= self.by;
            Ok(())
        }
    }

    pub(super) fn options(disk: &Disk) -> Result<SessionOptions<Document>> {
        Session::with(driver::saves_on(disk), history()).register_command::<Widen>()
    }
}

/// Today's.
mod new {
    use super::*;
    use persist::Record;

    #[derive(Persist, Default, Debug)]
    #[persist(class = "Document")]
    pub(super) struct Document {
        #[persist(default = 7)]
        pub(super) added: u32,
        pub(super) words: BTreeMap<String, Word>,
        pub(super) pages: Vec<Page>,
        #[persist(alias = "margins")]
        pub(super) border: Border,
        pub(super) width: f64,
        #[persist(alias = "title")]
        pub(super) name: String,
        pub(super) cover: Option<Page>,
    }

    #[derive(Persist, Default, Debug)]
    #[persist(class = "Border", alias = "Margins")]
    pub(super) struct Border {
        #[persist(alias = "right")]
        pub(super) end: u32,
        #[persist(alias = "left")]
        pub(super) start: u32,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Page", default)]
    pub(super) struct Page {
        pub(super) number: u64,
        #[persist(default = true)]
        pub(super) is_new: bool,
        pub(super) shade: u8,
        #[persist(alias = "lines")]
        pub(super) rows: Vec<String>,
    }

    impl Default for Page {
        fn default() -> Self {
            Self { number: 0, is_new: false, shade: 9, rows: Vec::new() }
        }
    }

    #[derive(Persist, Default, Debug)]
    #[persist(class = "Word", version = 2, migrate(1 = joined))]
    pub(super) struct Word {
        pub(super) both: String,
        pub(super) count: u32,
    }

    fn joined(record: &mut Record, _: u32) {
        let mut text = |name: &str| match record.take(name) {
            Some(Value::Text(text)) => text.to_string(),
            _ => String::new(),
        };
        let both = format!("{} to {}", text("first"), text("last"));
        record.set("both", both);
    }

    #[derive(Persist)]
    #[persist(class = "Widen")]
    pub(super) struct Widen {
        #[persist(default)]
        pub(super) why: String,
        pub(super) by: f64,
    }

    impl Command<Document> for Widen {
        fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
            edit.target().width += self.by;
            Ok(())
        }

        fn undo(&mut self, document: &mut Document) -> Result<()> {
            document.width -= self.by;
            Ok(())
        }
    }

    pub(super) fn options(disk: &Disk) -> Result<SessionOptions<Document>> {
        Session::with(driver::saves_on(disk), history()).register_command::<Widen>()
    }
}

fn history<T>() -> History<T> {
    let mut history = History::new(None);
    history.set_merge_window(Some(Duration::MAX));
    history
}

type Act = fn(&mut Session<old::Document>) -> Result<()>;

const SCRIPT: &[Act] = &[
    |session| session.set_field("Document:title", "One").map(drop),
    |session| session.set_field("Document:gone", 3_u8).map(drop),
    |session| session.set_field("Document:margins.left", 200_u8).map(drop),
    // They merge.
    |session| session.set_field("Document:width", 1.5).map(drop),
    |session| session.set_field("Document:width", 2.25).map(drop),
    |session| {
        session.edit("Fill", |document| {
            for number in 0..4 {
                document.pages.push(old::Page { lines: vec![number.to_string()], number });
            }
            document.margins.right = 5;
            let (first, last) = ("a".into(), "b".into());
            document.words.insert("one".into(), old::Word { count: 1, first, last });
            Ok(())
        })
    },
    |session| {
        session.edit_at("Document:pages[2]", "Write", |page: &mut old::Page| {
            page.lines.insert(0, "begin".into());
            page.number = 65_000;
            Ok(())
        })
    },
    |session| session.set_field("Document:pages[1].number", 9_u16).map(drop),
    |session| session.undo().map(drop),
    |session| session.undo().map(drop),
    |session| session.redo().map(drop),
    // Behind an undo.
    |session| session.set_field("Document:pages[0].lines[0]", "zero").map(drop),
    |session| session.set_field("Document:words[\"one\"].count", 200_u8).map(drop),
    |session| session.set_field("Document:words[\"one\"].first", "x").map(drop),
    |session| {
        session.edit("Reorder", |document| {
            if document.pages.len() > 1 {
                document.pages.remove(1);
            }
            document.pages.insert(0, old::Page { lines: vec![], number: 77 });
            document.words.insert("two".into(), old::Word::default());
            document.cover = Some(old::Page { lines: vec!["c".into()], number: 1 });
            Ok(())
        })
    },
    |session| session.apply(old::Widen { by: 0.5 }),
    |session| session.set_field("Document:width", 10.0).map(drop),
    |session| session.undo().map(drop),
    |session| session.undo().map(drop),
    |session| session.redo().map(drop),
    |session| session.set_field("Document:margins.right", 6_u8).map(drop),
    |session| {
        session.begin("Gesture")?;
        session.set_field("Document:margins.left", 1_u8)?;
        session.set_field("Document:title", "Two")?;
        session.rollback()
    },
    |session| session.set_field("Document:title", "Three").map(drop),
    |session| session.save().map(drop),
    |session| session.undo().map(drop),
    |session| session.set_field("Document:gone", 4_u8).map(drop),
    |session| {
        while session.undo()? {}
        Ok(())
    },
    |session| session.redo().map(drop),
    |session| session.redo().map(drop),
    |session| session.save().map(drop),
    |session| session.redo().map(drop),
    |session| session.redo().map(drop),
];

struct Logged {
    image: Image,
    labels: Vec<String>,
    position: usize,
    /// At each position, what today's program makes of the saved document.
    documents: Vec<String>,
}

fn labels<T: Persist + Default>(session: &Session<T>) -> Vec<String> {
    session.history().entries().map(|entry| entry.label.to_string()).collect()
}

/// What today's program loads.
fn expected(document: &old::Document) -> Result<String> {
    let save = Saves::new().to_vec(document)?;
    let disk = Disk::default();
    disk.put(SAVE, &save);
    let document = driver::saves_on(&disk).file(SAVE).load::<new::Document>()?.into_inner();
    Ok(format!("{document:?}"))
}

fn run() -> Result<Vec<Logged>> {
    played(SCRIPT.iter().map(|act| (*act, false)))
}

/// Runs acts, before some of which the session is opened again.
fn played(acts: impl Iterator<Item = (Act, bool)>) -> Result<Vec<Logged>> {
    let disk = Disk::default();
    let (mut session, _) = old::options(&disk)?.open(SAVE, JOURNAL)?;
    // Without one, today's program begins with its own default.
    session.save()?;
    let mut documents = vec![expected(session.target())?];
    let mut log = Vec::new();
    for (act, reopens) in acts {
        if reopens {
            drop(session);
            session = old::options(&disk)?.open(SAVE, JOURNAL)?.0;
        }
        match act(&mut session) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            result => result?,
        }
        let (position, now) = (session.history().position(), expected(session.target())?);
        documents.truncate(session.history().entries().len() + 1);
        if documents.len() <= position {
            documents.push(now);
        } else {
            documents[position] = now;
        }
        let (image, labels) = (disk.image(), labels(&session));
        log.push(Logged { image, labels, position, documents: documents.clone() });
    }
    Ok(log)
}

fn open(disk: &Disk, what: &str) -> Result<(Session<new::Document>, Recovered)> {
    // All entries, or next to none, are in files.
    let memory = if what.len().is_multiple_of(2) { 0 } else { usize::MAX };
    let (session, recovered) = new::options(disk)?.memory(memory).open(SAVE, JOURNAL)?;
    assert!(recovered.stopped.is_none(), "{what}: {recovered}");
    Ok((session, recovered))
}

/// Undoes and redoes all that there is.
fn check(session: &mut Session<new::Document>, logged: &Logged, what: &str) -> Result<()> {
    assert_eq!(session.history().position(), logged.position, "{what}");
    assert_eq!(labels(session), logged.labels, "{what}");
    let len = logged.labels.len();
    for position in [logged.position].into_iter().chain((0..=len).rev()).chain(0..=len) {
        session.go_to(position)?;
        let found = format!("{:?}", session.target());
        assert_eq!(found, logged.documents[position], "{what}, position {position}");
    }
    session.go_to(logged.position)
}

#[test]
fn edits_of_a_document_of_yesterday_are_done_again_on_the_types_of_today() -> Result<()> {
    for (step, logged) in run()?.iter().enumerate() {
        let what = format!("behind step {step}");
        let disk = Disk::new(logged.image.clone());
        let (mut session, _) = open(&disk, &what)?;
        check(&mut session, logged, &what)?;
        drop(session);

        // It went on in today's form, and is saved in it.
        let what = format!("again behind step {step}");
        let (mut session, _) = open(&disk, &what)?;
        check(&mut session, logged, &what)?;
        session.set_field("Document:border.start", 70_000)?;
        session.undo()?;
        session.save()?;
        drop(session);
        let (mut session, _) = open(&disk, &what)?;
        let len = session.history().entries().len();
        for position in (0..len).rev().chain(0..len) {
            session.go_to(position)?;
            let found = format!("{:?}", session.target());
            assert!(position > logged.position || found == logged.documents[position], "{what}");
        }
    }
    Ok(())
}

#[test]
fn edits_in_any_order_are_done_again_on_the_types_of_today() -> Result<()> {
    for seed in 0..30_u8 {
        let random = &mut Pcg64Mcg::new(u128::from(seed) << 64 | 0x9e37_79b9_7f4a_7c15);
        // The act that fills the document comes first, since others change what it inserts. One that finds nothing to
        // change does nothing.
        let acts = (0..30).map(|step| {
            let index = if step == 0 { 5 } else { random.gen_range(0..SCRIPT.len()) };
            (SCRIPT[index], random.gen_bool(0.1))
        });
        let logged = played(acts)?;
        for (step, logged) in logged.iter().enumerate().skip(usize::from(seed % 3)).step_by(3) {
            let what = format!("seed {seed}, behind step {step}");
            check(&mut open(&Disk::new(logged.image.clone()), &what)?.0, logged, &what)?;
        }
    }
    Ok(())
}

/// A selection is a direct command, so the next edit once wrote the whole document.
#[test]
fn a_document_that_was_saved_is_in_the_journal_by_its_changes() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = old::options(&disk)?.open(SAVE, JOURNAL)?;
    session.set_field("Document:title", "x".repeat(10_000))?;
    let long = || old::Page { lines: vec!["y".repeat(50); 100], number: 1 };
    session.edit("Fill", |document| {
        document.pages.resize_with(20, long);
        Ok(())
    })?;
    session.save()?;
    let length = || disk.image()[Path::new(JOURNAL)].len();
    let acts: &[(&str, Act)] = &[
        ("a first edit", |session| session.set_field("Document:pages[3].number", 7_u16).map(drop)),
        ("a selection", |session| session.apply(old::Widen { by: 1.0 })),
        ("an edit after it", |session| session.set_field("Document:gone", 7_u8).map(drop)),
        ("undos of both", |session| session.undo().and(session.undo()).map(drop)),
        ("an edit after them", |session| session.set_field("Document:gone", 8_u8).map(drop)),
        ("an edit that is rolled back", |session| {
            session.begin("Gesture")?;
            session.set_field("Document:margins.left", 1_u8)?;
            session.rollback()
        }),
        ("an edit after that", |session| {
            session.set_field("Document:margins.left", 2_u8).map(drop)
        }),
    ];
    for (what, act) in acts {
        let before = length();
        act(&mut session)?;
        let grown = length() - before;
        assert!(grown < 600, "{what}: {grown} bytes");
    }
    drop(session);
    let (mut session, _) = old::options(&disk)?.open(SAVE, JOURNAL)?;
    let before = length();
    session.set_field("Document:pages[4].number", 8_u16)?;
    let grown = length() - before;
    assert!(grown < 600, "the first edit of the next session: {grown} bytes");
    let expected = expected(session.target())?;
    drop(session);
    let (session, _) = open(&disk, "")?;
    assert_eq!(format!("{:?}", session.target()), expected);
    Ok(())
}

#[test]
fn a_document_is_in_the_journal_once_also_behind_undos() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = old::options(&disk)?.open(SAVE, JOURNAL)?;
    session.set_field("Document:title", "x".repeat(10_000))?;
    session.save()?;
    let length = || disk.image()[Path::new(JOURNAL)].len();
    session.set_field("Document:width", 1.0)?;
    let before = length();
    for number in 0..100_u8 {
        session.set_field("Document:gone", number)?;
        session.undo()?;
    }
    let grown = length() - before;
    assert!(grown < 20_000, "by {grown} bytes");
    Ok(())
}

#[test]
fn a_value_that_does_not_convert_ends_the_replay_and_the_journal_is_kept() -> Result<()> {
    mod narrow {
        #[derive(persist::Persist, Default, Debug)]
        #[persist(class = "Document")]
        pub(super) struct Document {
            pub(super) title: String,
            pub(super) width: f32,
            pub(super) margins: Margins,
        }

        #[derive(persist::Persist, Default, Debug)]
        #[persist(class = "Margins")]
        pub(super) struct Margins {
            pub(super) left: i8,
        }
    }
    let disk = Disk::default();
    let (mut session, _) = old::options(&disk)?.open(SAVE, JOURNAL)?;
    session.set_field("Document:title", "kept")?;
    session.set_field("Document:margins.left", 200_u8)?;
    drop(session);
    let before = disk.image()[Path::new(JOURNAL)].clone();
    let options = Session::<narrow::Document>::with(driver::saves_on(&disk), history());
    let (mut session, recovered) = options.open(SAVE, JOURNAL)?;
    let stopped = recovered.stopped.as_ref().unwrap();
    assert_eq!(stopped.kind, ErrorKind::InvalidValue);
    insta::assert_snapshot!(stopped.cause);
    assert_eq!((session.target().title.as_str(), session.target().margins.left), ("kept", 0));
    assert_eq!(recovered.kept.len(), 1);
    assert_eq!(disk.image()[Path::new(&recovered.kept[0])], before);
    session.undo()?;
    assert_eq!(session.target().title, "");
    Ok(())
}

#[test]
fn a_journal_of_a_document_with_any_byte_changed_is_no_panic() -> Result<()> {
    let log = run()?;
    for logged in [&log[20], &log[SCRIPT.len() - 1]] {
        let journal = &logged.image[Path::new(JOURNAL)];
        super::hostile::each_change(journal, 1_999, |bytes, what| {
            let mut image = logged.image.clone();
            image.insert(JOURNAL.into(), bytes);
            let played = std::panic::catch_unwind(|| {
                let disk = Disk::new(image);
                let options = new::options(&disk).expect("its classes are known");
                let Ok((mut session, _)) = options.open(SAVE, JOURNAL) else { return };
                while matches!(session.undo(), Ok(true)) {}
                while matches!(session.redo(), Ok(true)) {}
                let _ = session.save();
            });
            assert!(played.is_ok(), "{what} panicked");
        });
    }
    Ok(())
}

#[test]
fn a_document_is_in_a_journal_that_begins_with_entries_once() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = old::options(&disk)?.open(SAVE, JOURNAL)?;
    session.set_field("Document:title", "x".repeat(10_000))?;
    session.set_field("Document:width", 1.0)?;
    session.save()?;
    session.set_field("Document:width", 2.0)?;
    let length = disk.image()[Path::new(JOURNAL)].len();
    // Once as the title was set, and once as it is.
    assert!(length < 25_000, "{length} bytes");
    drop(session);
    let (mut session, _) = open(&disk, "again")?;
    assert_eq!(session.target().width, 2.0);
    while session.undo()? {}
    assert_eq!((session.target().name.as_str(), session.target().width), ("", 0.0));
    Ok(())
}

#[test]
fn edits_of_lists_of_yesterday_are_called_as_they_were() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = old::options(&disk)?.open(SAVE, JOURNAL)?;
    let page = || old::Page { lines: vec!["a".into()], number: 1 };
    session.edit("", |document| {
        document.pages.push(page());
        Ok(())
    })?;
    for number in 2..9 {
        session.set_field("Document:pages[0].number", number)?;
        session.edit("", |document| {
            document.pages.push(old::Page { lines: vec![number.to_string()], number });
            Ok(())
        })?;
    }
    session.edit("", |document| {
        document.pages.remove(3);
        Ok(())
    })?;
    let expected = labels(&session);
    assert!(
        expected.iter().any(|label| label.starts_with("Insert Document.pages")),
        "{expected:?}"
    );
    assert!(
        expected.iter().any(|label| label.starts_with("Remove Document.pages")),
        "{expected:?}"
    );
    drop(session);
    let (mut session, _) = open(&disk, "")?;
    assert_eq!(labels(&session), expected);
    session.save()?;
    drop(session);
    assert_eq!(labels(&open(&disk, "")?.0), expected);
    Ok(())
}
