//! Panics while something is written to a journal.

use std::any::Any;
use std::cell::Cell;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use persist::history::CommandEdit;
use persist::storage::{NewFile, Storage, StoredFile};
use persist::{Command, Persist, Result, SaveOptions, Saves, Session};

use super::document::{Document, Rename, history, session_of};
use super::driver::{open, saves_on};
use super::{JOURNAL, SAVE};
use persist_tests::support::disk::Disk;

thread_local! {
    static PANICS: Cell<bool> = const { Cell::new(false) };
}

/// Panics once if it was told to.
fn fuse() {
    if PANICS.take() {
        std::panic::resume_unwind(Box::new("on purpose"));
    }
}

fn panics(run: impl FnOnce() -> Result<()>) {
    PANICS.set(true);
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    assert!(!PANICS.get());
}

mod fused {
    pub(super) type Stored = bool;

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "so it is called")]
    pub(super) fn store(value: &bool) -> bool {
        if *value {
            super::fuse();
        }
        *value
    }

    #[allow(clippy::unnecessary_wraps, reason = "as it is called")]
    pub(super) fn restore(value: bool) -> Result<bool, String> {
        Ok(value)
    }
}

/// Panics when it is written behind its change.
#[derive(Persist)]
struct Brittle {
    #[persist(with = fused)]
    is_done: bool,
}

impl Command<Document> for Brittle {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        self.is_done = true;
        edit.target().lines.push(String::from("brittle"));
        Ok(())
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        self.is_done = false;
        document.lines.pop();
        Ok(())
    }
}

#[test]
fn a_command_that_panics_when_it_is_written_is_rolled_back() -> Result<()> {
    let disk = Disk::default();
    let options = || session_of(saves_on(&disk), history(None))?.register_command::<Brittle>();
    let (mut session, _) = options()?.open(SAVE, JOURNAL)?;
    session.apply(Rename { title: "before".into() })?;
    panics(|| session.apply(Brittle { is_done: false }));
    assert!(session.target().lines.is_empty() && session.history().poison().is_none());
    assert_eq!(session.history().entries().len(), 1);
    session.apply(Brittle { is_done: false })?;
    drop(session);
    let (mut session, recovered) = options()?.open(SAVE, JOURNAL)?;
    assert!(recovered.stopped.is_none(), "{recovered}");
    assert_eq!(session.target().lines, ["brittle"]);
    assert!(session.undo()? && session.undo()?);
    Ok(())
}

/// A disk whose files panic in the middle of a write.
#[derive(Clone)]
struct Frail(Disk);

struct File(Box<dyn NewFile>);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if PANICS.get() {
            self.0.write_all(&bytes[..bytes.len() / 2])?;
        }
        fuse();
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl NewFile for File {
    fn sync(&mut self) -> io::Result<()> {
        self.0.sync()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.truncate(length)
    }
}

impl Storage for Frail {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.0.open(path)
    }

    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        Ok(Box::new(File(self.0.create(path, like)?)))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn NewFile>> {
        Ok(Box::new(File(self.0.append(path, length)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.0.sync_folder(folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.0.list(folder)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send>>> {
        self.0.lock(path)
    }
}

#[test]
fn behind_a_storage_that_panicked_the_journal_is_whole() -> Result<()> {
    let disk = Disk::default();
    let options = SaveOptions::new().wait(std::time::Duration::ZERO);
    let saves = Saves::new().storage(Frail(disk.clone())).save_options(options);
    let (mut session, _) = session_of(saves, history(None))?.open(SAVE, JOURNAL)?;
    let rename = |session: &mut Session<Document>, title: &str| {
        session.apply(Rename { title: title.into() })
    };
    rename(&mut session, "one")?;
    panics(|| rename(&mut session, "two"));
    assert_eq!((session.target().title.as_str(), session.history().position()), ("one", 1));
    rename(&mut session, "three")?;
    panics(|| session.undo().map(drop));
    assert_eq!((session.target().title.as_str(), session.history().position()), ("three", 2));
    session.begin("Both")?;
    rename(&mut session, "four")?;
    panics(|| session.rollback());
    assert_eq!(session.target().title, "three");
    rename(&mut session, "five")?;
    drop(session);
    let (mut session, recovered) = open(&Disk::new(disk.image()))?;
    assert!(recovered.stopped.is_none() && recovered.rolled_back == 0, "{recovered}");
    assert_eq!((session.target().title.as_str(), session.history().position()), ("five", 3));
    session.go_to(0)?;
    assert_eq!(session.target().title, "");
    Ok(())
}
