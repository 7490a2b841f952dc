//! Which journal belongs to which save, and saves that are cut off.

use std::path::PathBuf;

use persist::history::Flush;
use persist::{ErrorKind, Result};

use super::document::{Document, Insert, Rename};
use super::driver::{Action, Driver, SCRIPT, Seen, check, open, options, saves_on};
use super::{JOURNAL, SAVE};
use persist_tests::support::disk::{Disk, Fault, Image};

/// More unsynced sectors than this are tried in part.
const ALL: usize = 6;

fn selections(sectors: usize) -> Vec<u64> {
    if sectors <= ALL {
        return (0..1 << sectors).collect();
    }
    let single = (0..sectors.min(63)).flat_map(|bit| [1 << bit, !(1_u64 << bit)]);
    single.chain([0, u64::MAX, 0x5555_5555_5555_5555, 0xaaaa_aaaa_aaaa_aaaa]).collect()
}

fn recover(image: Image, what: &str) -> Seen {
    let disk = Disk::new(image);
    let opened =
        options(&disk).and_then(|options| options.flush(Flush::OnIdle).open(SAVE, JOURNAL));
    let (session, _) = opened.unwrap_or_else(|error| panic!("{what}: {error}"));
    Seen::of(session.target(), session.history())
}

/// Runs the script, and checks each moment at which the power may go: with `flushed`, each step behind which a flush returned is there.
fn cut_everywhere(flush: Flush, flushes: impl Fn(usize) -> bool) -> Result<usize> {
    let disk = Disk::default();
    let mut driver = Driver::with(&disk, options(&disk)?.flush(flush))?;
    let (mut flushed, mut count) = (0, 0);
    for (step, action) in SCRIPT.iter().enumerate() {
        if matches!(action, Action::GoTo(_)) {
            // Several undos in one step are checked below.
            driver.act(*action)?;
            driver.session.flush()?;
            flushed = step + 1;
            continue;
        }
        disk.note_cuts();
        driver.act(*action)?;
        let cuts = disk.cuts();
        assert!(
            cuts.len() > 1
                || flush != Flush::EveryEdit
                || matches!(action, Action::Barrier | Action::Drag | Action::Drop)
        );
        let log = &driver.log[flushed..];
        for cut in &cuts {
            for selection in selections(cut.pieces()) {
                for image in cut.images(|sector| selection >> (sector % 64) & 1 == 1) {
                    let what = format!("{action:?} of step {step}, cut after {}", cut.after);
                    let found = recover(image, &what);
                    let is_known = log.iter().any(|logged| logged.seen == found);
                    assert!(is_known, "{what}: {found:#?}");
                    count += 1;
                }
            }
        }
        if flushes(step) {
            driver.session.flush()?;
            flushed = step + 1;
        } else if flush == Flush::EveryEdit || *action == Action::Save {
            flushed = step + 1;
        }
    }
    Ok(count)
}

#[test]
fn a_power_cut_at_any_moment_loses_no_edit_that_returned() -> Result<()> {
    let count = cut_everywhere(Flush::EveryEdit, |_| false)?;
    assert!(count > 600, "{count}");
    Ok(())
}

#[test]
fn a_power_cut_loses_nothing_that_was_flushed() -> Result<()> {
    let count = cut_everywhere(Flush::OnIdle, |step| step % 5 == 4)?;
    assert!(count > 1_000, "{count}");
    Ok(())
}

#[test]
fn a_kill_loses_nothing_under_any_policy() -> Result<()> {
    for flush in [Flush::EveryEdit, Flush::Every(std::time::Duration::MAX), Flush::OnIdle] {
        let disk = Disk::default();
        let mut driver = Driver::with(&disk, options(&disk)?.flush(flush))?;
        for action in SCRIPT {
            driver.act(*action)?;
            if let Some(last) = driver.log.last() {
                check(&last.image, last, "killed");
            }
        }
    }
    Ok(())
}

/// Syncs of the journal since the faults were cleared.
fn syncs(disk: &Disk) -> usize {
    disk.log().iter().filter(|line| line.starts_with("sync ")).count()
}

#[test]
fn the_policy_says_when_the_disk_is_waited_for() -> Result<()> {
    let edits = |flush: Flush, tick: bool| -> Result<usize> {
        let disk = Disk::default();
        let (mut session, _) = options(&disk)?.flush(flush).open(SAVE, JOURNAL)?;
        disk.fail(usize::MAX, Fault::Short);
        for line in 0..10 {
            session.apply(Insert { at: 0, line: line.to_string() })?;
            if tick {
                session.tick()?;
            }
        }
        Ok(syncs(&disk))
    };
    let (never, always) = (std::time::Duration::MAX, std::time::Duration::ZERO);
    assert_eq!(edits(Flush::EveryEdit, false)?, 10);
    assert_eq!(edits(Flush::Every(always), false)?, 10);
    assert_eq!(edits(Flush::Every(never), true)?, 0);
    assert_eq!(edits(Flush::OnIdle, true)?, 0);
    let interval = std::time::Duration::from_millis(20);
    let disk = Disk::default();
    let (mut session, _) = options(&disk)?.flush(Flush::Every(interval)).open(SAVE, JOURNAL)?;
    session.apply(Rename { title: String::from("a") })?;
    disk.fail(usize::MAX, Fault::Short);
    std::thread::sleep(interval);
    session.tick()?;
    session.tick()?;
    assert_eq!(syncs(&disk), 1);
    session.apply(Rename { title: String::from("b") })?;
    session.flush()?;
    assert_eq!(syncs(&disk), 2);
    Ok(())
}

#[test]
fn a_journal_of_another_save_is_not_done_again_and_is_kept() -> Result<()> {
    let disk = Disk::default();
    let driver = Driver::run(&disk, &[Action::Insert(1), Action::Save, Action::Insert(2)])?;
    drop(driver);
    let journal = disk.image()[&PathBuf::from(JOURNAL)].clone();
    let other = Document { title: String::from("other"), lines: Vec::new() };
    saves_on(&disk).file(SAVE).save(&other)?;

    let info = options(&disk)?.inspect(SAVE, JOURNAL)?.unwrap();
    assert_eq!((info.follows_save, info.events), (false, 1));
    let (session, recovered) = open(&disk)?;
    assert_eq!(*session.target(), other);
    assert!(session.history().entries().len() == 0 && !session.history().is_modified());
    assert_eq!(recovered.kept, [PathBuf::from("plan.journal.kept")]);
    assert_eq!(
        recovered.to_string(),
        "no step done since the last save was recovered; a journal that belongs to another save is kept as plan.journal.kept"
    );
    assert_eq!(disk.image()[&recovered.kept[0]], journal);
    drop(session);
    let (_, recovered) = open(&disk)?;
    assert!(recovered.kept.is_empty());
    Ok(())
}

#[test]
fn a_journal_whose_save_is_gone_or_came_from_elsewhere_is_kept() -> Result<()> {
    let disk = Disk::default();
    drop(Driver::run(&disk, &[Action::Insert(1)])?);
    saves_on(&disk).file(SAVE).save(&Document::default())?;
    let (session, recovered) = open(&disk)?;
    assert!(session.history().entries().len() == 0 && recovered.kept.len() == 1);
    drop(session);

    let mut image =
        Driver::run(&Disk::default(), &[Action::Save, Action::Insert(1)])?.log.pop().unwrap().image;
    image.remove(&PathBuf::from(SAVE));
    let disk = Disk::new(image);
    let (session, recovered) = open(&disk)?;
    assert!(
        session.history().entries().len() == 0
            && recovered.kept.len() == 1
            && recovered.report.is_none()
    );
    Ok(())
}

#[test]
fn a_save_that_is_missing_and_has_a_backup_is_an_error_that_names_it() -> Result<()> {
    let script = [Action::Insert(1), Action::Save, Action::Insert(2), Action::Save];
    let mut image = Driver::run(&Disk::default(), &script)?.log.pop().unwrap().image;
    image.remove(&PathBuf::from(SAVE));
    let disk = Disk::new(image.clone());
    let error = open(&disk).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("plan.sav.bak"), "{error}");
    assert_eq!(disk.image(), image);
    Ok(())
}

#[test]
fn a_file_that_is_no_journal_is_refused_and_stays() -> Result<()> {
    let disk = Disk::new([(PathBuf::from(JOURNAL), b"my novel".to_vec())].into());
    let before = disk.image();
    let error = open(&disk).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotASave);
    assert_eq!(disk.image(), before);
    let error = options(&disk)?.open(SAVE, SAVE).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
    Ok(())
}

#[test]
fn a_journal_of_a_save_of_the_same_content_is_not_done_twice() -> Result<()> {
    // The second save holds what the first does.
    let script = [Action::Insert(1), Action::Save, Action::Insert(2), Action::Undo, Action::Save];
    let disk = Disk::default();
    let mut driver = Driver::new(&disk)?;
    for action in script {
        disk.note_cuts();
        driver.act(action)?;
        for cut in disk.cuts() {
            for image in cut.images(|_| true) {
                let found = recover(image, &cut.after);
                assert!(driver.log.iter().rev().take(2).any(|logged| logged.seen == found));
            }
        }
    }
    Ok(())
}

#[test]
fn behind_a_save_that_failed_anywhere_what_is_done_is_there() -> Result<()> {
    let script = [Action::Insert(1), Action::Save, Action::Insert(2)];
    let (mut failed, mut in_place) = (0, 0);
    for operation in 1.. {
        let disk = Disk::default();
        let mut driver = Driver::run(&disk, &script)?;
        disk.fail(operation, Fault::Once(std::io::ErrorKind::Other));
        let saved = driver.act(Action::Save);
        if !disk.end_faults_keeping_locks() {
            break;
        }
        failed += usize::from(saved.is_err());
        let is_in_place = saved.is_err_and(|error| error.message().contains("is in place"));
        in_place += usize::from(is_in_place);
        disk.note_cuts();
        driver.act(Action::Insert(3))?;
        let cuts = disk.cuts();
        let image = disk.image();
        let found = recover(image, "killed");
        let now = driver.seen();
        assert_eq!((found.document, found.labels), (now.document, now.labels));
        // If the power goes, what may be lost is what was done since a save of which it was said that it may be.
        let last = driver.log.len() - 1;
        let least = last - if is_in_place { 1 } else { 0 };
        if let Some(cut) = cuts.last() {
            for selection in selections(cut.pieces()) {
                for image in cut.images(|sector| selection >> (sector % 64) & 1 == 1) {
                    let found = recover(image, &cut.after);
                    let documents = driver.log[least..].iter().map(|logged| &logged.seen.document);
                    assert!(documents.into_iter().any(|document| *document == found.document));
                }
            }
        }
        driver.act(Action::Save)?;
        driver.act(Action::Insert(4))?;
        let last = driver.log.last().unwrap();
        let found = recover(last.image.clone(), "killed behind the next save");
        assert_eq!(found, last.seen);
        let recovered = check(&disk.image(), last, "killed behind the next save");
        assert!(recovered.kept.is_empty());
    }
    assert!(failed > 8 && in_place > 0, "{failed} {in_place}");
    Ok(())
}

#[test]
fn a_first_save_and_its_journal_belong_together() -> Result<()> {
    let disk = Disk::default();
    let (session, recovered) = open(&disk)?;
    assert!(!session.history().is_modified() && session.history().entries().len() == 0);
    assert!(recovered.report.is_none() && recovered.replayed == 0);
    assert_eq!(recovered.to_string(), "there is no save yet");
    drop(session);
    let driver = Driver::run(&disk, &[Action::Insert(1), Action::Save, Action::Insert(2)])?;
    drop(driver);
    let (mut session, recovered) = open(&disk)?;
    assert_eq!((recovered.replayed, recovered.entries), (1, 2));
    assert_eq!(recovered.to_string(), "1 step done since the last save was recovered");
    assert!(recovered.report.is_some());
    session.save()?;
    let mut names = disk.names();
    names.sort_unstable();
    assert_eq!(names, ["plan.journal", "plan.sav", "plan.sav.bak"]);
    Ok(())
}

#[test]
fn what_is_discarded_is_not_recovered() -> Result<()> {
    let disk = Disk::default();
    let driver = Driver::run(&disk, &[Action::Insert(1), Action::Save, Action::Insert(2)])?;
    let saved = driver.log[2].seen.document.clone();
    driver.session.discard()?;
    let (session, recovered) = open(&disk)?;
    assert_eq!(*session.target(), saved);
    assert!(
        session.history().entries().len() == 0
            && recovered.replayed == 0
            && recovered.kept.is_empty()
    );

    let (document, mut history, _) = session.into_parts();
    assert!(*document == saved && history.entries().len() == 0);
    let mut document = document;
    history.apply(&mut document, Rename { title: String::from("free") })?;
    let (session, _) = open(&disk)?;
    assert_eq!(*session.target(), saved);
    Ok(())
}

#[test]
fn copies_of_a_save_and_its_journal_are_a_session_with_the_history() -> Result<()> {
    let disk = Disk::default();
    let driver = Driver::run(&disk, &[Action::Insert(1), Action::Insert(2), Action::Save])?;
    let seen = Seen::of(driver.session.target(), driver.session.history());
    drop(driver);
    let mut image = disk.image();
    for (path, copy) in [(SAVE, "copy.sav"), (JOURNAL, "copy.journal")] {
        let bytes = image[&PathBuf::from(path)].clone();
        image.insert(PathBuf::from(copy), bytes);
    }
    let disk = Disk::new(image);
    let (mut session, recovered) = options(&disk)?.open("copy.sav", "copy.journal")?;
    assert_eq!(Seen::of(session.target(), session.history()), seen);
    assert!(recovered.kept.is_empty() && session.undo()? && session.undo()?);
    Ok(())
}
