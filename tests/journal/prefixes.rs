//! What is recovered is what was, as far as the journal goes.

use std::path::PathBuf;

use persist::Result;

use super::driver::{Action, Driver, Logged, SCRIPT, Seen, check, open};
use super::{JOURNAL, SAVE};
use persist_tests::support::disk::Disk;
use persist_tests::support::short_or_long;

fn journal(logged: &Logged) -> &[u8] {
    &logged.image[&PathBuf::from(JOURNAL)]
}

fn run() -> Result<Vec<Logged>> {
    Ok(Driver::run(&Disk::default(), SCRIPT)?.log)
}

#[test]
fn behind_each_step_target_stacks_texts_and_saved_point_come_back() -> Result<()> {
    for (step, logged) in run()?.iter().enumerate() {
        check(&logged.image, logged, &format!("behind step {step}"));
    }
    Ok(())
}

#[test]
fn cut_at_any_byte_the_journal_leads_to_the_last_step_that_is_whole() -> Result<()> {
    let log = run()?;
    let mut torn = 0;
    for pair in log.windows(2) {
        let [before, after] = pair else { continue };
        let (old, new) = (journal(before), journal(after));
        let save = PathBuf::from(SAVE);
        if before.image.get(&save) != after.image.get(&save) {
            // A save has begun a new journal, or part of one.
            continue;
        }
        for length in (old.len()..new.len()).step_by(short_or_long(3, 1)) {
            let mut image = after.image.clone();
            image.insert(PathBuf::from(JOURNAL), new[..length].to_vec());
            // A jump is several undos.
            let is_between = before.seen.position.abs_diff(after.seen.position) > 1;
            if is_between && length > old.len() {
                continue;
            }
            // Undone and redone it is behind some of them.
            let what = format!("cut at byte {length}");
            let recovered = match length % 20 {
                0 => check(&image, before, &what),
                _ => {
                    let (session, recovered) = open(&Disk::new(image))?;
                    assert_eq!(
                        Seen::of(session.target(), session.history()),
                        before.seen,
                        "{what}"
                    );
                    recovered
                }
            };
            assert_eq!(recovered.torn.is_some(), length > old.len(), "cut at byte {length}");
            if let Some(cut) = recovered.torn {
                let found = (cut.offset, cut.bytes);
                assert_eq!(found, (old.len() as u64, (length - old.len()) as u64));
                torn += 1;
            }
            assert!(recovered.stopped.is_none() && recovered.kept.is_empty());
        }
    }
    assert!(torn > 500, "{torn}");
    Ok(())
}

#[test]
fn a_transaction_that_is_open_is_rolled_back_whatever_was_done_in_it() -> Result<()> {
    let log = run()?;
    let mut depths = [0; 3];
    let (mut depth, mut steps) = (0, SCRIPT.iter());
    for logged in &log[1..] {
        match steps.next() {
            Some(Action::Begin) => depth += 1,
            Some(Action::Commit | Action::Rollback) => depth -= 1,
            _ => {}
        }
        let recovered = check(&logged.image, logged, "in a transaction or not");
        assert_eq!(recovered.rolled_back, depth);
        depths[depth] += 1;
    }
    assert!(depths.iter().all(|count| *count > 2), "{depths:?}");
    Ok(())
}

#[test]
fn a_session_goes_on_where_the_last_one_was_killed_again_and_again() -> Result<()> {
    let disk = Disk::default();
    let mut driver = Driver::new(&disk)?;
    let mut depth = 0;
    for action in SCRIPT {
        if depth == 0 {
            let image = disk.image();
            let logged = driver.log.last().cloned();
            let logged = logged.unwrap();
            drop(driver);
            check(&image, &logged, "killed");
            driver = Driver::go_on(&disk, logged)?;
        }
        match action {
            Action::Begin => depth += 1,
            Action::Commit | Action::Rollback => depth -= 1,
            _ => {}
        }
        driver.act(*action)?;
    }
    Ok(())
}
