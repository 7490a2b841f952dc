//! A journal that cannot be written.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use persist::history::CommandEdit;
use persist::storage::{NewFile, Storage, StoredFile};
use persist::{Command, ErrorKind, Result, Session};
use persist_tests::support::short_or_long;

use super::document::{Document, Insert, Rename, history, session_of};
use super::driver::{Action, Driver, SCRIPT, check, open, options, saves_on};
use super::{JOURNAL, SAVE};
use persist_tests::support::disk::{DEVICE_FAILS, Disk, Fault};

/// What the script leads to on a disk without faults, and how many operations each step takes.
fn clean() -> Result<(Driver, Vec<usize>)> {
    let disk = Disk::default();
    let mut driver = Driver::new(&disk)?;
    disk.fail(usize::MAX, Fault::Short);
    let mut counts = Vec::new();
    for action in SCRIPT {
        driver.act(*action)?;
        counts.push(disk.log().len());
    }
    Ok((driver, counts))
}

#[test]
fn an_edit_that_cannot_be_appended_is_taken_back() -> Result<()> {
    let (clean, counts) = clean()?;
    let last = counts.last().copied().unwrap_or(0);
    let (mut refused, mut redone) = (0, 0);
    for operation in (1..=last).step_by(short_or_long(3, 1)) {
        let disk = Disk::default();
        let mut driver = Driver::new(&disk)?;
        disk.fail(operation, Fault::Ever(io::ErrorKind::StorageFull));
        let mut failed = None;
        for (step, action) in SCRIPT.iter().enumerate() {
            let before = driver.seen();
            if let Err(error) = driver.act(*action) {
                assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
                let is_ended = *action == Action::Rollback;
                let is_part = matches!(action, Action::GoTo(_));
                if !is_ended && !is_part {
                    let what = format!("{action:?} of step {step}, operation {operation}");
                    assert_eq!(driver.seen(), before, "{what}");
                }
                assert!(driver.session.journal_broken().is_some() || *action == Action::Save);
                failed = Some((step, is_ended || is_part));
                break;
            }
        }
        assert!(disk.end_faults());
        let Some((step, is_other)) = failed else { continue };
        refused += 1;
        // Killed there, it leads to what was before, or to the edit whose frame may be on the disk.
        let image = disk.image();
        drop(driver);
        if !is_other {
            let disk = Disk::new(image.clone());
            let (session, _) = open(&disk)?;
            let found = super::driver::Seen::of(session.target(), session.history());
            let expected = [&clean.log[step].seen, &clean.log[step + 1].seen];
            assert!(expected.contains(&&found), "step {step}, operation {operation}: {found:#?}");
            redone += usize::from(found == *expected[1] && expected[0] != expected[1]);
        }
    }
    assert!(refused > short_or_long(33, 100), "{refused}");
    // Only if the disk failed while it was waited for.
    assert!(redone > 0 && redone < refused / 2, "{redone} of {refused}");
    Ok(())
}

#[test]
fn an_edit_that_failed_is_not_there_when_the_journal_is_opened_again() -> Result<()> {
    const FAILING: &[&[&str]] = &[
        &["sync", "sync folder"],
        &["sync"],
        &["write"],
        &["sync", "rename to"],
        &["sync", "create"],
        &["create", "write", "sync", "sync folder", "rename to", "remove", "open"],
    ];
    let (clean, counts) = clean()?;
    let last = counts.last().copied().unwrap_or(0);
    for calls in FAILING {
        let mut refused = 0;
        for operation in (1..=last).step_by(short_or_long(7, 1)) {
            let disk = Disk::default();
            let mut driver = Driver::new(&disk)?;
            disk.fail(operation, Fault::Calls(calls, io::ErrorKind::Other));
            for (step, action) in SCRIPT.iter().enumerate() {
                if driver.act(*action).is_ok() {
                    continue;
                }
                // These have happened in part, and that is what is there.
                if !matches!(action, Action::Rollback | Action::GoTo(_) | Action::Save) {
                    refused += 1;
                    assert!(disk.end_faults());
                    let killed = Disk::new(disk.image());
                    let (session, _) = open(&killed)?;
                    let found = super::driver::Seen::of(session.target(), session.history());
                    let expected = &clean.log[step].seen;
                    let what = format!("{action:?} of step {step}, operation {operation}");
                    assert_eq!(found, *expected, "{calls:?}, {what}");
                }
                break;
            }
        }
        assert!(refused > short_or_long(2, 20), "{calls:?} {refused}");
    }
    Ok(())
}

#[test]
fn after_an_edit_that_is_too_large_for_the_disk_smaller_ones_work() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    session.apply(Insert { at: 0, line: String::from("first") })?;
    disk.leave_room(200);
    let large = session.apply(Insert { at: 0, line: "x".repeat(500) });
    assert_eq!(large.unwrap_err().kind(), ErrorKind::NoSpace);
    assert_eq!(session.journal_broken(), None);
    session.apply(Insert { at: 0, line: String::from("second") })?;
    drop(session);
    let (session, recovered) = open(&disk)?;
    assert_eq!(session.target().lines, ["second", "first"]);
    assert!(recovered.torn.is_none());
    Ok(())
}

#[test]
fn a_session_is_opened_and_read_on_a_disk_that_cannot_be_written() -> Result<()> {
    for is_full in [true, false] {
        let disk = Disk::default();
        let (mut session, _) = open(&disk)?;
        session.apply(Insert { at: 0, line: String::from("first") })?;
        drop(session);
        // A power cut in the next edit.
        let mut image = disk.image();
        image.get_mut(Path::new(JOURNAL)).unwrap().extend([200, 0, 0, 0, 1]);
        let disk = Disk::new(image.clone());
        if is_full {
            disk.leave_room(0);
        } else {
            disk.never_write();
        }
        let (mut session, _) = open(&disk)?;
        assert_eq!(session.target().lines, ["first"]);
        let refused = session.apply(Insert { at: 0, line: String::from("second") });
        let kind = if is_full { ErrorKind::NoSpace } else { ErrorKind::Io };
        assert_eq!(refused.unwrap_err().kind(), kind);
        if !is_full {
            assert_eq!(disk.image(), image);
        }
        disk.leave_room(usize::MAX);
        drop(session);
        let (session, _) = open(&Disk::new(disk.image()))?;
        assert_eq!(session.target().lines, ["first"]);
    }
    Ok(())
}

#[test]
fn a_journal_is_not_copied_when_it_is_opened() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    session.apply(Insert { at: 0, line: String::from("first") })?;
    drop(session);
    let before = disk.image();
    disk.fail(usize::MAX, Fault::Short);
    drop(open(&disk)?);
    assert!(disk.log().iter().all(|step| !step.starts_with("write")), "{:?}", disk.log());
    assert_eq!(disk.image(), before);
    Ok(())
}

#[test]
fn a_last_frame_that_was_damaged_is_kept() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    for line in ["first", "second"] {
        session.apply(Insert { at: 0, line: String::from(line) })?;
    }
    drop(session);
    let mut image = disk.image();
    *image.get_mut(Path::new(JOURNAL)).unwrap().last_mut().unwrap() ^= 1;
    let damaged = image[Path::new(JOURNAL)].clone();
    let disk = Disk::new(image);
    let (session, recovered) = open(&disk)?;
    assert_eq!(session.target().lines, ["first"]);
    assert!(recovered.torn.is_some());
    assert_eq!(recovered.kept.len(), 1);
    assert_eq!(disk.image()[&recovered.kept[0]], damaged);
    Ok(())
}

#[test]
fn a_journal_of_another_save_is_kept_once_there_is_room() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    session.apply(Insert { at: 0, line: String::from("first") })?;
    drop(session);
    let other = disk.image()[Path::new(JOURNAL)].clone();
    // The save is now one that this journal does not follow.
    saves_on(&disk).file(SAVE).save(&Document::default())?;
    disk.leave_room(0);
    let (mut session, recovered) = open(&disk)?;
    assert!(recovered.kept.is_empty() && session.target().lines.is_empty());
    assert_eq!(disk.image()[Path::new(JOURNAL)], other);
    disk.leave_room(usize::MAX);
    session.apply(Insert { at: 0, line: String::from("second") })?;
    let image = disk.image();
    assert_eq!(image.values().filter(|bytes| **bytes == other).count(), 1);
    assert_ne!(image[Path::new(JOURNAL)], other);
    Ok(())
}

#[test]
fn two_sessions_with_journals_of_their_own_do_not_edit_one_save() -> Result<()> {
    let disk = Disk::default();
    let (session, _) = open(&disk)?;
    let second = options(&disk)?.open(SAVE, "other.journal");
    assert_eq!(second.unwrap_err().kind(), ErrorKind::InUse);
    drop(session);
    options(&disk)?.open(SAVE, "other.journal").map(drop)
}

#[test]
fn a_journal_that_another_session_has_written_to_is_in_use_where_there_are_no_locks() -> Result<()>
{
    let disk = Disk::default();
    disk.never_lock();
    let (mut first, _) = open(&disk)?;
    first.apply(Insert { at: 0, line: String::from("first") })?;
    let (mut second, _) = open(&disk)?;
    second.apply(Insert { at: 0, line: String::from("second") })?;
    let refused = first.apply(Insert { at: 0, line: String::from("third") });
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InUse);
    assert_eq!(first.target().lines, ["first"]);
    drop((first, second));
    assert_eq!(open(&disk)?.0.target().lines, ["second", "first"]);

    // One that was replaced by another of the same length.
    let (mut first, _) = open(&disk)?;
    first.apply(Insert { at: 0, line: String::from("third") })?;
    let mut other = disk.image()[Path::new(JOURNAL)].clone();
    *other.last_mut().unwrap() ^= 1;
    disk.put(JOURNAL, &other);
    let refused = first.apply(Insert { at: 0, line: String::from("fourth") });
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InUse);
    Ok(())
}

#[test]
fn a_fault_that_passes_costs_nothing_but_the_save_that_met_it() -> Result<()> {
    let (clean, counts) = clean()?;
    let last = counts.last().copied().unwrap_or(0);
    let faults = |operation| {
        let mut faults = vec![Fault::Short, Fault::Once(io::ErrorKind::Other)];
        if operation == 1 {
            faults.push(Fault::EverShort);
        }
        faults
    };
    for operation in (1..=last).step_by(short_or_long(5, 1)) {
        for fault in faults(operation) {
            let disk = Disk::default();
            let mut driver = Driver::new(&disk)?;
            disk.fail(operation, fault);
            for action in SCRIPT {
                if let Err(error) = driver.act(*action) {
                    assert_eq!(*action, Action::Save, "{fault:?} at {operation}: {error}");
                    driver.act(*action)?;
                }
            }
            driver.session.flush()?;
            assert_eq!(driver.session.journal_broken(), None);
            let what = format!("{fault:?} at {operation}");
            let mut expected = clean.log.last().cloned().unwrap();
            let found = driver.log.last().unwrap();
            // Of what is outside of the transaction that is open.
            expected.seen.saved = found.seen.saved;
            check(&disk.image(), &expected, &what);
        }
    }
    Ok(())
}

#[test]
fn a_session_that_cannot_begin_its_journal_leaves_all_as_it_was() -> Result<()> {
    let before = {
        let disk = Disk::default();
        drop(Driver::run(&disk, &[Action::Insert(1), Action::Save, Action::Insert(2)])?);
        disk.image()
    };
    let expected =
        Driver::run(&Disk::default(), &[Action::Insert(1), Action::Save, Action::Insert(2)])?;
    let expected = expected.log.last().cloned().unwrap();
    let kinds =
        [Fault::Ever(io::ErrorKind::Other), Fault::Once(io::ErrorKind::Other), Fault::Short];
    for (image, fault) in [before, persist_tests::support::disk::Image::new()]
        .iter()
        .flat_map(|image| kinds.map(|fault| (image, fault)))
    {
        let mut count = 0;
        for operation in 1.. {
            let disk = Disk::new(image.clone());
            disk.fail(operation, fault);
            let opened = open(&disk);
            if !disk.end_faults() {
                // A short write may be none.
                if fault != Fault::Short || operation > 60 {
                    break;
                }
                continue;
            }
            match &opened {
                Ok((session, _)) => {
                    assert_eq!(
                        session.history().entries().len(),
                        if image.is_empty() { 0 } else { 2 }
                    );
                }
                Err(error) => {
                    // What kept it from looking for a save is a save that is not there.
                    let kinds = [ErrorKind::Io, ErrorKind::NotFound];
                    assert!(
                        kinds[..=usize::from(image.is_empty())].contains(&error.kind()),
                        "{error}"
                    );
                }
            }
            count += usize::from(opened.is_err());
            drop(opened);
            if image.is_empty() {
                assert!(open(&disk)?.0.history().entries().len() == 0);
            } else {
                let recovered = check(&disk.image(), &expected, &format!("operation {operation}"));
                assert!(recovered.kept.is_empty() && recovered.stopped.is_none());
            }
        }
        assert!(count > 5 || fault == Fault::Short, "{count}");
    }
    Ok(())
}

/// A disk that refuses what is not the save when it is told to.
#[derive(Clone)]
struct Refusing {
    disk: Disk,
    refuses: Arc<AtomicBool>,
}

impl Refusing {
    fn check(&self, path: &Path) -> io::Result<()> {
        let is_journal = path.to_string_lossy().contains(JOURNAL);
        if is_journal && self.refuses.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }
}

struct RefusingFile(Refusing, PathBuf, Box<dyn NewFile>);

impl Write for RefusingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.check(&self.1)?;
        self.2.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.2.flush()
    }
}

impl NewFile for RefusingFile {
    fn sync(&mut self) -> io::Result<()> {
        self.0.check(&self.1)?;
        self.2.sync()
    }
}

impl Storage for Refusing {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.disk.open(path)
    }

    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        self.check(path)?;
        let file = self.disk.create(path, like)?;
        Ok(Box::new(RefusingFile(self.clone(), path.to_owned(), file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check(from)?;
        self.disk.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.disk.sync_folder(folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.disk.list(folder)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn std::any::Any + Send>>> {
        self.disk.lock(path)
    }
}

#[test]
fn a_save_is_made_also_if_the_journal_cannot_be_written() -> Result<()> {
    let disk = Disk::default();
    let refuses = Arc::new(AtomicBool::new(false));
    let storage = Refusing { disk: disk.clone(), refuses: Arc::clone(&refuses) };
    let saves = saves_on(&disk).storage(storage);
    let (mut session, _) = session_of(saves, history(None))?.open(SAVE, JOURNAL)?;
    session.apply(Insert { at: 0, line: String::from("first") })?;
    refuses.store(true, Ordering::Relaxed);
    assert!(session.apply(Insert { at: 0, line: String::from("second") }).is_err());
    assert!(session.journal_broken().is_some());
    session.save()?;
    assert!(!session.history().is_modified() && session.journal_broken().is_some());

    // Killed here, the save has it all.
    let killed = Disk::new(disk.image());
    let (found, recovered) = open(&killed)?;
    assert_eq!((found.target().lines.len(), found.history().is_modified()), (1, false));
    assert_eq!(recovered.kept.len(), 1);

    refuses.store(false, Ordering::Relaxed);
    session.apply(Insert { at: 0, line: String::from("third") })?;
    assert_eq!(session.journal_broken(), None);
    drop(session);
    let (mut session, _) = open(&disk)?;
    assert_eq!(session.target().lines.len(), 2);
    session.go_to(0)?;
    assert_eq!(*session.target(), Document::default());
    Ok(())
}

/// Not registered, and not `Persist`.
struct Foreign;

impl Command<Document> for Foreign {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        edit.target().title.push('!');
        Ok(())
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        document.title.pop();
        Ok(())
    }
}

#[test]
fn a_command_that_is_not_registered_is_refused_or_ends_the_journal() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    let error = session.apply(Foreign).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongClass);
    assert!(error.message().contains("failing::Foreign is not registered"), "{error}");
    assert!(error.message().contains("`register::<Foreign>()`"), "{error}");
    assert_eq!(*session.target(), Document::default());
    session.apply(Rename { title: String::from("a") })?;
    assert_eq!(session.history().entries().len(), 1);
    drop(session);
    Ok(())
}

/// Cannot be taken back.
#[derive(persist::Persist)]
struct Stuck;

impl Command<Document> for Stuck {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        edit.target().title = String::from("half done");
        panic!("in the middle");
    }

    fn undo(&mut self, _: &mut Document) -> Result<()> {
        Ok(())
    }
}

#[test]
fn behind_a_target_that_was_left_half_done_the_journal_waits_for_a_save() -> Result<()> {
    let disk = Disk::default();
    let options = session_of(saves_on(&disk), history(None))?.register_command::<Stuck>()?;
    let (mut session, _) = options.open(SAVE, JOURNAL)?;
    session.apply(Rename { title: String::from("a") })?;
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = session.apply(Stuck);
    }));
    assert!(panicked.is_err() && session.history().poison().is_some());
    assert_eq!(session.target().title, "half done");
    assert_eq!(session.clear().unwrap_err().kind(), ErrorKind::Poisoned);
    // Killed here, the target is as before.
    let (killed, _) = open(&Disk::new(disk.image()))?;
    assert_eq!(killed.target().title, "a");
    drop(killed);

    session.save()?;
    let (killed, _) = open(&Disk::new(disk.image()))?;
    assert_eq!(killed.target().title, "half done");
    assert_eq!(killed.history().poison(), session.history().poison());
    drop(killed);
    session.clear()?;
    session.apply(Rename { title: String::from("b") })?;
    let (killed, _) = open(&Disk::new(disk.image()))?;
    assert_eq!(killed.target().title, "b");
    assert_eq!((killed.history().entries().len(), killed.history().poison()), (1, None));
    Ok(())
}

/// Sessions of two programs on a disk without locks.
fn two_sessions() -> Result<(Disk, Session<Document>, Session<Document>)> {
    let disk = Disk::default();
    disk.never_lock();
    let (mut first, _) = open(&disk)?;
    first.apply(Insert { at: 0, line: String::from("first") })?;
    let (mut second, _) = open(&disk)?;
    second.apply(Insert { at: 0, line: String::from("second") })?;
    Ok((disk, first, second))
}

#[test]
fn a_save_or_a_discard_does_not_replace_the_journal_of_another_session_where_there_are_no_locks()
-> Result<()> {
    let (disk, mut first, second) = two_sessions()?;
    let before = disk.image();
    assert_eq!(first.save().unwrap_err().kind(), ErrorKind::InUse);
    assert_eq!(disk.image(), before);
    assert_eq!(first.discard().unwrap_err().kind(), ErrorKind::InUse);
    assert_eq!(disk.image(), before);
    drop(second);
    assert_eq!(open(&disk)?.0.target().lines, ["second", "first"]);
    Ok(())
}

#[test]
fn that_a_transaction_was_rolled_back_waits_while_the_journal_cannot_be_looked_at() -> Result<()> {
    let disk = Disk::default();
    disk.never_lock();
    let (mut session, _) = open(&disk)?;
    session.begin("part")?;
    session.apply(Insert { at: 0, line: String::from("first") })?;
    disk.fail_opens(JOURNAL, 4, DEVICE_FAILS);
    let _ = session.rollback();
    session.apply(Insert { at: 0, line: String::from("second") })?;
    let (session, recovered) = open(&Disk::new(disk.image()))?;
    assert_eq!(session.target().lines, ["second"]);
    assert_eq!((session.history().entries().len(), recovered.rolled_back), (1, 0));
    Ok(())
}

#[test]
fn a_damaged_journal_is_kept_before_its_successor_gets_its_name() -> Result<()> {
    // A save was cut off before its journal got the name of the one before, and that has been damaged since.
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    session.apply(Insert { at: 0, line: String::from("first") })?;
    session.save()?;
    session.apply(Insert { at: 0, line: String::from("second") })?;
    drop(session);
    let mut image = disk.image();
    let next = image[Path::new(JOURNAL)].clone();
    let damaged = image.get_mut(Path::new(JOURNAL)).unwrap();
    damaged[20] ^= 1;
    let damaged = damaged.clone();
    image.insert(PathBuf::from(".plan.journal.new"), next.clone());
    let count = |disk: &Disk| disk.image().values().filter(|bytes| **bytes == damaged).count();

    for is_saved in [false, true] {
        let disk = Disk::new(image.clone());
        disk.leave_room(0);
        let (mut session, recovered) = open(&disk)?;
        assert_eq!(session.target().lines, ["second", "first"]);
        assert!(recovered.kept.is_empty());
        assert_eq!(count(&disk), 1, "nothing is renamed while there is no room for a copy");
        disk.leave_room(usize::MAX);
        if is_saved {
            session.save()?;
        } else {
            session.apply(Insert { at: 0, line: String::from("third") })?;
        }
        drop(session);
        let (session, _) = open(&disk)?;
        assert_eq!(session.target().lines.len(), if is_saved { 2 } else { 3 });
        assert_eq!(count(&disk), 1, "one copy is kept");
        assert_eq!(disk.image()[Path::new("plan.journal.kept")], damaged);
    }
    Ok(())
}

#[test]
fn a_journal_that_was_mended_is_its_own_where_there_are_no_locks() -> Result<()> {
    let disk = Disk::default();
    disk.never_lock();
    let (mut session, _) = open(&disk)?;
    session.apply(Insert { at: 0, line: String::from("first") })?;
    drop(session);
    let mut image = disk.image();
    image.get_mut(Path::new(JOURNAL)).unwrap().extend([200, 0, 0, 0, 1]);
    let disk = Disk::new(image);
    disk.never_lock();
    // The torn end cannot be cut off.
    disk.fail(1, Fault::Calls(&["append to"], io::ErrorKind::Other));
    let (mut session, _) = open(&disk)?;
    for line in ["second", "third"] {
        session.apply(Insert { at: 0, line: String::from(line) })?;
    }
    drop(session);
    assert_eq!(open(&disk)?.0.target().lines, ["third", "second", "first"]);
    Ok(())
}

#[test]
fn an_edit_that_found_no_room_leaves_the_journal_its_own_where_there_are_no_locks() -> Result<()> {
    let disk = Disk::default();
    disk.never_lock();
    let (mut session, _) = open(&disk)?;
    for line in ["first", "second"] {
        session.apply(Insert { at: 0, line: String::from(line) })?;
    }
    drop(session);
    let mut image = disk.image();
    let journal = image.get_mut(Path::new(JOURNAL)).unwrap();
    *journal.last_mut().unwrap() ^= 1;
    let length = journal.len();
    let disk = Disk::new(image);
    disk.never_lock();
    disk.leave_room(0);
    // No room to keep what would be cut off, which stays.
    let (mut session, _) = open(&disk)?;
    disk.leave_room(length + 20);
    let refused = session.apply(Insert { at: 0, line: String::from("third") });
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::NoSpace);
    disk.leave_room(usize::MAX);
    session.apply(Insert { at: 0, line: String::from("fourth") })?;
    drop(session);
    assert_eq!(open(&disk)?.0.target().lines, ["fourth", "first"]);
    Ok(())
}
