//! How a journal is replayed.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use persist::history::{CommandEdit, HistoryEvent};
use persist::{Command, Error, ErrorKind, Persist, Result, Session};

use super::document::{Document, Insert, Rename, history, session_of};
use super::driver::{Action, Driver, SCRIPT, check, open, options, saves_on};
use super::{JOURNAL, SAVE};
use persist_tests::support::disk::{Disk, Image};

thread_local! {
    /// What was done outside.
    static SENT: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    /// What commands that depend on something else depend on.
    static REFUSES: RefCell<bool> = const { RefCell::new(false) };
    static PANICS: RefCell<bool> = const { RefCell::new(false) };
}

fn sent() -> Vec<String> {
    SENT.with_borrow_mut(std::mem::take)
}

/// Tells somebody.
#[derive(Persist)]
struct Publish {
    is_direct: bool,
}

impl Command<Document> for Publish {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        let title = edit.title.clone();
        edit.external(|| SENT.with_borrow_mut(|sent| sent.push(title)));
        if self.is_direct {
            edit.target().lines.push(String::from("published"));
        }
        edit.apply(Rename { title: String::from("published") })
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        document.lines.pop();
        Ok(())
    }
}

/// Refuses or panics when the test says so.
#[derive(Persist)]
struct Moody;

impl Command<Document> for Moody {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        if REFUSES.with_borrow(|refuses| *refuses) {
            return Err(Error::new(ErrorKind::Refused, "not today"));
        }
        edit.target().lines.push(String::from("moody"));
        assert!(!PANICS.with_borrow(|panics| *panics), "in the middle");
        Ok(())
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        document.lines.pop();
        Ok(())
    }
}

fn moody(image: Image) -> Result<(Session<Document>, persist::history::Recovered, Disk)> {
    let disk = Disk::new(image);
    let options = session_of(saves_on(&disk), history(None))?;
    let options = options.register_command::<Moody>()?.register_command::<Publish>()?;
    let (session, recovered) = options.open(SAVE, JOURNAL)?;
    Ok((session, recovered, disk))
}

#[test]
fn what_is_external_is_not_done_again() -> Result<()> {
    let (mut session, _, disk) = moody(Image::new())?;
    for is_direct in [false, true] {
        session.apply(Rename { title: String::from("draft") })?;
        session.apply(Publish { is_direct })?;
        assert_eq!(sent(), ["draft"]);
    }
    session.undo()?;
    session.redo()?;
    // Done again by the user it is, where the command itself is.
    assert_eq!(sent(), ["draft"]);
    let image = disk.image();
    drop(session);
    let (session, recovered, _) = moody(image)?;
    assert_eq!((session.target().lines.len(), recovered.replayed), (1, 6));
    assert!(sent().is_empty());
    Ok(())
}

#[test]
fn listeners_learn_of_the_entries_of_a_session_when_it_is_opened() -> Result<()> {
    let script = [Action::Insert(1), Action::Save, Action::Insert(2), Action::Undo, Action::Look];
    let image = Driver::run(&Disk::default(), &script)?.log.pop().unwrap().image;
    let disk = Disk::new(image);
    let mut commands = history(None);
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&told);
    commands.subscribe(move |event, history| {
        assert_eq!(history.position(), 2);
        listener.lock().expect("nobody panicked").push(*event);
    });
    let (mut session, _) = session_of(saves_on(&disk), commands)?.open(SAVE, JOURNAL)?;
    let all = [
        HistoryEvent::Position(2),
        HistoryEvent::State(session.history().state()),
        HistoryEvent::CanUndo(true),
        HistoryEvent::UndoText,
        HistoryEvent::Recovered(2),
    ];
    assert_eq!(*told.lock().expect("nobody panicked"), all);
    told.lock().expect("nobody panicked").clear();
    let drag = session.begin_drag("");
    session.end_drag(drag);
    assert!(told.lock().expect("nobody panicked").is_empty());
    drop(session);

    // Nor where there is nothing to be recovered.
    let disk = Disk::default();
    let mut commands = history(None);
    commands.subscribe(|event, _| panic!("{event:?}"));
    drop(session_of(saves_on(&disk), commands)?.open(SAVE, JOURNAL)?);
    Ok(())
}

#[test]
fn what_is_brought_up_to_date_behind_a_change_is_so_in_a_replay() -> Result<()> {
    let script = [Action::Insert(1), Action::Undo, Action::Redo];
    let image = Driver::run(&Disk::default(), &script)?.log.pop().unwrap().image;
    let mut commands = history(None);
    let counts = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&counts);
    commands.subscribe_changes(move |document, _| {
        seen.lock().expect("nobody panicked").push(document.lines.len());
    });
    drop(session_of(saves_on(&Disk::new(image)), commands)?.open(SAVE, JOURNAL)?);
    assert_eq!(*counts.lock().expect("nobody panicked"), [0, 1, 0, 1]);
    Ok(())
}

#[test]
fn an_error_stops_the_replay_at_the_last_good_state() -> Result<()> {
    let (mut session, _, disk) = moody(Image::new())?;
    session.apply(Rename { title: String::from("good") })?;
    session.apply(Moody)?;
    session.apply(Rename { title: String::from("behind") })?;
    drop(session);
    let image = disk.image();
    let journal = image[&PathBuf::from(JOURNAL)].clone();
    for flag in [&REFUSES, &PANICS] {
        flag.set(true);
        let (session, recovered, disk) = moody(image.clone())?;
        assert_eq!(session.target().title, "good");
        assert_eq!(
            (session.target().lines.len(), session.history().entries().len(), recovered.replayed),
            (0, 1, 1)
        );
        assert!(session.history().poison().is_none());
        let stopped = recovered.stopped.as_ref().unwrap();
        assert!(stopped.offset > 52 && stopped.offset < journal.len() as u64, "{stopped:?}");
        assert!(stopped.cause.contains("not today") || stopped.cause.contains("panicked"));
        assert!(recovered.to_string().contains(&stopped.cause));
        // All of it is kept, and the session goes on from there.
        assert_eq!(disk.image()[&recovered.kept[0]], journal);
        flag.set(false);
        drop(session);
        let (session, recovered, _) = moody(disk.image())?;
        assert_eq!(session.target().title, "good");
        assert!(recovered.stopped.is_none() && recovered.kept.is_empty());
    }
    Ok(())
}

#[test]
fn an_error_in_a_transaction_stops_in_front_of_it() -> Result<()> {
    let (mut session, _, disk) = moody(Image::new())?;
    session.apply(Rename { title: String::from("good") })?;
    session.begin("Group")?;
    session.apply(Rename { title: String::from("half") })?;
    session.apply(Moody)?;
    session.commit()?;
    session.apply(Rename { title: String::from("behind") })?;
    drop(session);
    REFUSES.set(true);
    let (session, recovered, disk) = moody(disk.image())?;
    REFUSES.set(false);
    assert_eq!((session.target().title.as_str(), session.history().entries().len()), ("good", 1));
    assert!(recovered.stopped.is_some() && recovered.replayed == 1);
    drop(session);
    assert_eq!(moody(disk.image())?.0.target().title, "good");
    Ok(())
}

#[test]
fn a_journal_that_is_done_again_twice_leads_to_the_same() -> Result<()> {
    let log = Driver::run(&Disk::default(), SCRIPT)?.log;
    for logged in log.iter().step_by(7) {
        let mut image = logged.image.clone();
        for _ in 0..3 {
            let disk = Disk::new(image);
            drop(open(&disk)?);
            image = disk.image();
            check(&image, logged, "opened again");
        }
    }
    Ok(())
}

#[test]
fn frames_that_stand_there_twice_are_done_once() -> Result<()> {
    let log = Driver::run(&Disk::default(), &[Action::Insert(1), Action::Rename(2), Action::Undo])?;
    for start in 0..log.log.len() - 1 {
        let journal =
            |logged: &super::driver::Logged| logged.image[&PathBuf::from(JOURNAL)].clone();
        let last = log.log.last().unwrap();
        let (before, mut whole) = (journal(&log.log[start]).len(), journal(last));
        let again = whole[before..].to_vec();
        whole.extend_from_slice(&again);
        let mut image = last.image.clone();
        image.insert(PathBuf::from(JOURNAL), whole);
        let recovered = check(&image, last, "twice");
        assert!(recovered.stopped.is_none());
    }
    Ok(())
}

#[test]
fn what_fell_out_does_not_come_back_where_there_is_more_room_by_then() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = session_of(saves_on(&disk), history(Some(1)))?.open(SAVE, JOURNAL)?;
    for line in ["a", "b"] {
        session.apply(Insert { at: 0, line: line.into() })?;
    }
    session.set_capacity(5);
    assert_eq!(session.history().entries().len(), 1);
    drop(session);
    let (session, _) = session_of(saves_on(&disk), history(Some(5)))?.open(SAVE, JOURNAL)?;
    assert_eq!(session.history().entries().len(), 1);
    assert_eq!(session.target().lines, ["b", "a"]);
    Ok(())
}

#[test]
fn entries_that_fall_out_of_a_full_history_fall_out_in_a_replay() -> Result<()> {
    for capacity in [0, 1, 2, 3, 5, 7] {
        let disk = Disk::default();
        let options = session_of(saves_on(&disk), history(Some(capacity)))?;
        let (mut session, _) = options.open(SAVE, JOURNAL)?;
        let mut now = capacity;
        let mut random = 7_u64;
        for step in 0..120_u32 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let journal = PathBuf::from(JOURNAL);
            let before = disk.image()[&journal].len();
            match (random >> 33) % 10 {
                0..5 => session.apply(Insert { at: 0, line: step.to_string() })?,
                5..7 => drop(session.undo()?),
                7..9 => drop(session.redo()?),
                _ if step % 3 == 0 => drop(session.save()?),
                _ => {
                    now = capacity + step as usize % 3;
                    session.set_capacity(Some(now));
                }
            }
            if disk.image()[&journal].len() == before {
                // It is written with what is done next that an entry fell out.
                continue;
            }
            let labels = |session: &Session<Document>| {
                session
                    .history()
                    .entries()
                    .map(|entry| (entry.label, entry.state))
                    .collect::<Vec<_>>()
            };
            let copy = Disk::new(disk.image());
            let (mut found, _) =
                session_of(saves_on(&copy), history(Some(now)))?.open(SAVE, JOURNAL)?;
            assert_eq!(found.target(), session.target());
            assert_eq!(labels(&found), labels(&session), "capacity {capacity}, step {step}");
            assert_eq!(found.history().position(), session.history().position());
            assert_eq!(found.history().is_modified(), session.history().is_modified());
            while found.undo()? {}
            // One with less room drops the rest, and goes on.
            drop(found);
            let (mut small, _) =
                session_of(saves_on(&copy), history(Some(1)))?.open(SAVE, JOURNAL)?;
            assert!(small.history().entries().len() <= 1);
            small.apply(Rename { title: String::from("small") })?;
        }
    }
    Ok(())
}

#[test]
fn a_command_class_that_is_missing_stops_the_replay_and_is_named() -> Result<()> {
    let (mut session, _, disk) = moody(Image::new())?;
    session.apply(Rename { title: String::from("good") })?;
    session.apply(Moody)?;
    session.apply(Rename { title: String::from("behind") })?;
    drop(session);
    let disk = Disk::new(disk.image());
    let info = options(&disk)?.inspect(SAVE, JOURNAL)?.unwrap();
    let (session, recovered) = open(&disk)?;
    assert_eq!((session.target().title.as_str(), session.history().entries().len()), ("good", 1));
    let stopped = recovered.stopped.unwrap();
    assert_eq!(info.stopped, Some(stopped.clone()), "a look says the same");
    assert_eq!(stopped.kind, ErrorKind::WrongClass);
    assert!(stopped.cause.contains("class Moody, which is not registered"), "{}", stopped.cause);
    drop(session);

    // With the plugin back, what was kept is the whole journal.
    let mut image = disk.image();
    let kept = image.remove(&recovered.kept[0]).unwrap();
    image.insert(PathBuf::from(JOURNAL), kept);
    let (session, recovered, _) = moody(image)?;
    assert_eq!(session.target().title, "behind");
    assert!(recovered.stopped.is_none());
    Ok(())
}

#[test]
fn what_a_missing_class_has_in_the_stacks_leaves_the_save() -> Result<()> {
    let (mut session, _, disk) = moody(Image::new())?;
    session.apply(Moody)?;
    session.save()?;
    session.apply(Rename { title: String::from("behind") })?;
    drop(session);
    let disk = Disk::new(disk.image());
    let (mut session, recovered) = open(&disk)?;
    assert_eq!((session.target().lines.len(), session.history().entries().len()), (1, 0));
    assert!(recovered.stopped.is_some() && recovered.kept.len() == 1);
    assert!(!session.history().is_modified());
    // It goes on from there.
    session.apply(Rename { title: String::from("next") })?;
    drop(session);
    let (session, recovered) = open(&disk)?;
    assert_eq!((session.target().title.as_str(), session.history().entries().len()), ("next", 1));
    assert!(recovered.stopped.is_none());
    Ok(())
}
