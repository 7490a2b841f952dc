//! Journals with several parts: a save that appends what is new of the history, and names the rest.

use std::fs;
use std::path::PathBuf;

use persist::Result;
use persist_tests::support::disk::{Disk, Image};
use persist_tests::support::short_or_long;
use rand::{Rng, SeedableRng};
use rand_pcg::Lcg64Xsh32;

use super::document::Insert;
use super::driver::{Action, Driver, Logged, Seen, check, open};
use super::golden::path;
use super::hostile::{CRC, HEAD, frames, seal};
use super::{JOURNAL, SAVE};

/// The kinds of frames that parts have.
const FOLLOWS: u8 = 5;
const EARLIER: u8 = 6;
const IN_PLACE: u8 = 7;

fn journal(image: &Image) -> &Vec<u8> {
    &image[&PathBuf::from(JOURNAL)]
}

fn with(image: &Image, name: &str, bytes: Vec<u8>) -> Image {
    let mut image = image.clone();
    image.insert(PathBuf::from(name), bytes);
    image
}

fn kinds(journal: &[u8]) -> Vec<u8> {
    frames(journal).into_iter().map(|(at, _)| journal[at + 4]).collect()
}

/// Ten edits, a save, and an edit before and after each of two further saves.
pub(crate) fn run() -> Result<Vec<Logged>> {
    let mut script: Vec<Action> = (1..=10).map(Action::Insert).collect();
    script.extend([Action::Save, Action::Insert(11), Action::Save]);
    script.extend([Action::Insert(12), Action::Undo, Action::Save, Action::Insert(13)]);
    Ok(Driver::run(&Disk::default(), &script)?.log)
}

#[test]
fn the_bytes_of_a_journal_with_parts_are_those_of_its_fixture() -> Result<()> {
    let last = run()?.pop().expect("a script");
    let read = |ending| fs::read(path("parts", ending)).expect("`write_fixtures` makes it");
    let image = Image::from([(SAVE.into(), read("sav")), (JOURNAL.into(), read("journal"))]);
    for name in [SAVE, JOURNAL] {
        assert!(last.image[&PathBuf::from(name)] == image[&PathBuf::from(name)], "{name}");
    }
    let found = kinds(journal(&image));
    assert!([FOLLOWS, EARLIER, IN_PLACE].iter().all(|kind| found.contains(kind)), "{found:?}");
    check(&image, &last, "the fixture");
    Ok(())
}

/// The steps in front of which the script is at its second save.
const SECOND: usize = 12;

#[test]
fn a_save_writes_what_is_new_of_the_history() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    let insert = |number| Insert { at: 0, line: format!("line {number}{}", "x".repeat(700)) };
    (0..500).try_for_each(|number| session.apply(insert(number)))?;
    session.save()?;
    let whole = journal(&disk.image()).len();
    assert!(whole > 300_000, "{whole}");
    let mut most = 0;
    for number in 500..520 {
        session.apply(insert(number))?;
        let before = journal(&disk.image()).len();
        session.save()?;
        most = most.max(journal(&disk.image()).len().abs_diff(before));
    }
    // The state of the history, the classes, the new entry, and the changes of the document since its save.
    assert!(most < 2_500, "a save with one new entry wrote {most} bytes");
    let seen = Seen::of(session.target(), session.history());
    drop(session);
    let (session, _) = open(&disk)?;
    assert_eq!(Seen::of(session.target(), session.history()), seen);
    Ok(())
}

#[test]
fn a_journal_is_written_again_when_half_of_it_is_of_no_use() -> Result<()> {
    let disk = Disk::default();
    let mut driver = Driver::new(&disk)?;
    (0..30).try_for_each(|line| driver.act(Action::Insert(line)))?;
    let (mut parts, mut files, mut most) = (0, 0, 0.0_f64);
    for line in 0..120 {
        driver.act(Action::Insert(line))?;
        driver.act(Action::Undo)?;
        driver.act(Action::Save)?;
        let image = disk.image();
        let is_part = kinds(journal(&image)).contains(&FOLLOWS);
        (parts, files) = (parts + usize::from(is_part), files + usize::from(!is_part));
        let fresh = Disk::new(image.clone());
        let (mut session, _) = open(&fresh)?;
        // It changes all entries, so the next save writes them again.
        session.go_to(0)?;
        session.go_to(30)?;
        session.save()?;
        most = most.max(journal(&image).len() as f64 / journal(&fresh.image()).len() as f64);
    }
    assert!(parts > 60 && files > 3, "{parts} parts, {files} files");
    assert!(most < 3.5, "{most} times as long");
    Ok(())
}

#[test]
fn any_steps_saves_and_further_sessions_lead_to_what_was() -> Result<()> {
    let mut parts = 0;
    for seed in 0..short_or_long(12_u64, 200) {
        let mut rng = Lcg64Xsh32::seed_from_u64(seed);
        let disk = Disk::default();
        let mut driver = Driver::new(&disk)?;
        (0..12).try_for_each(|line| driver.act(Action::Insert(line)))?;
        for step in 0..60 {
            let action = match rng.gen_range(0..20) {
                0..4 => Action::Save,
                4..7 => Action::Insert(rng.gen_range(0..50)),
                7 => Action::Type(rng.gen_range(0..50)),
                8..11 => Action::Undo,
                11..13 => Action::Redo,
                13 => Action::GoTo(rng.gen_range(0..=driver.seen().labels.len())),
                14 => Action::Look,
                15 => Action::Chapter(rng.gen_bool(0.5)),
                16 if rng.gen_bool(0.2) => Action::Clear,
                17 => {
                    let logged = driver.log.pop().unwrap();
                    drop(driver);
                    driver = Driver::go_on(&disk, logged)?;
                    continue;
                }
                _ => Action::Rename(rng.gen_range(0..50)),
            };
            driver.act(action)?;
            let logged = driver.log.last().unwrap();
            check(&logged.image, logged, &format!("seed {seed}, step {step}, {action:?}"));
            parts += usize::from(kinds(journal(&logged.image)).contains(&FOLLOWS));
        }
    }
    assert!(parts > 100, "{parts}");
    Ok(())
}

#[test]
fn a_part_without_its_save_counts_as_absent() -> Result<()> {
    let log = run()?;
    let (before, after) = (&log[SECOND - 1], &log[SECOND + 1]);
    let (old, new) = (journal(&log[SECOND].image), journal(&after.image));
    assert!(new.starts_with(old) && kinds(&new[..]).ends_with(&[IN_PLACE]));
    let marker = HEAD + CRC;
    // The machine stopped while the part was written, or before the save was in its place.
    for length in old.len()..=new.len() - marker {
        let image = with(&log[SECOND].image, JOURNAL, new[..length].to_vec());
        let what = format!("cut at byte {length} of {}", new.len());
        check(&image, &log[SECOND], &what);
        let recovered = open(&Disk::new(image))?.1;
        assert!(recovered.stopped.is_none() && recovered.kept.is_empty(), "{what}: {recovered}");
    }
    // It stopped right after that.
    let image = with(&after.image, JOURNAL, new[..new.len() - marker].to_vec());
    check(&image, after, "without the marker");
    assert_ne!(before.seen, after.seen);
    Ok(())
}

#[test]
fn the_save_before_which_a_player_has_put_back_is_as_it_was() -> Result<()> {
    let log = run()?;
    let first = &log[SECOND - 1].image[&PathBuf::from(SAVE)];
    for at in [SECOND + 1, SECOND + 2] {
        let image = with(&log[at].image, SAVE, first.clone());
        let (session, recovered) = open(&Disk::new(image))?;
        let found = Seen::of(session.target(), session.history());
        assert_eq!(found.document, log[SECOND - 1].seen.document);
        assert_eq!((found.labels.len(), recovered.kept.len()), (0, 1), "{recovered}");
    }
    Ok(())
}

#[test]
fn damage_in_front_of_a_part_loses_nothing_that_it_does_not_name() -> Result<()> {
    let log = run()?;
    let last = log.last().unwrap();
    let bytes = journal(&last.image);
    let all = frames(bytes);
    let begins = |at: &&(usize, usize)| bytes[at.0 + 4] == FOLLOWS;
    let part = all.iter().rfind(begins).expect("a part").0;
    let (mut whole, mut lost) = (0, 0);
    for (at, length) in all.iter().filter(|(at, _)| *at < part) {
        let mut damaged = bytes.clone();
        damaged[at + length - CRC - 1] ^= 1;
        let image = with(&last.image, JOURNAL, damaged);
        let (session, recovered) = open(&Disk::new(image))?;
        let found = Seen::of(session.target(), session.history());
        // Entries are named by the part.
        if bytes[at + 4] == 3 {
            lost += 1;
            assert!(recovered.stopped.is_some() && recovered.kept.len() == 1, "{recovered}");
            assert_eq!(found.labels, Vec::<String>::new());
        } else {
            whole += 1;
            assert_eq!(found, last.seen, "frame of kind {} at byte {at}", bytes[at + 4]);
        }
    }
    assert!(whole > 8 && lost > 9, "{whole} whole, {lost} lost");
    Ok(())
}

#[test]
fn a_flip_of_any_byte_leads_to_a_state_that_was() -> Result<()> {
    let log = run()?;
    let last = log.last().unwrap();
    let bytes = journal(&last.image);
    let documents: Vec<_> = log.iter().map(|logged| &logged.seen.document).collect();
    for byte in (0..bytes.len()).step_by(short_or_long(5, 1)) {
        let mut flipped = bytes.clone();
        flipped[byte] ^= 1 << (byte % 8);
        if let Ok((mut session, _)) = open(&Disk::new(with(&last.image, JOURNAL, flipped))) {
            assert!(documents.contains(&session.target()), "byte {byte}");
            while session.undo()? {}
            assert!(documents.contains(&session.target()), "byte {byte}, undone");
        }
    }
    Ok(())
}

#[test]
fn entries_that_are_named_wrongly_are_refused() -> Result<()> {
    let log = run()?;
    let last = log.last().unwrap();
    let bytes = journal(&last.image);
    let (at, length) =
        *frames(bytes).iter().rfind(|(at, _)| bytes[at + 4] == EARLIER).expect("named entries");
    let payload = at + HEAD..at + length - CRC;
    let mut refused = 0;
    for byte in payload {
        for value in [0, 1, 2, 40, 128, 255] {
            let mut changed = bytes.clone();
            if changed[byte] == value {
                continue;
            }
            changed[byte] = value;
            seal(&mut changed[at..at + length]);
            let image = with(&last.image, JOURNAL, changed);
            let (session, recovered) = open(&Disk::new(image))?;
            let found = Seen::of(session.target(), session.history());
            let is_refused = found.labels.is_empty() && recovered.kept.len() == 1;
            refused += usize::from(is_refused && recovered.stopped.is_some());
            let documents: Vec<_> = log.iter().map(|logged| &logged.seen.document).collect();
            assert!(documents.contains(&&found.document), "{recovered}");
        }
    }
    assert!(refused > 50, "{refused}");
    Ok(())
}
