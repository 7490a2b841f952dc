//! What is set of a session that is open.

use std::time::Duration;

use persist::history::{CommandEdit, Proof};
use persist::save::{Header, SlotInfo};
use persist::{Command, Error, ErrorKind, Persist, Result, Session};

use super::document::{Document, Insert, Type, history, session_of};
use super::driver::{Seen, open, saves_on};
use super::{JOURNAL, SAVE};
use persist_tests::support::disk::Disk;

/// Its undo does not find what it looks for, or forgets what it is to take back.
#[derive(Persist)]
struct Lose {
    is_told: bool,
}

impl Command<Document> for Lose {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        edit.target().title = String::from("lost");
        Ok(())
    }

    fn undo(&mut self, _: &mut Document) -> Result<()> {
        match self.is_told {
            true => Err(Error::new(ErrorKind::NotFound, "it is gone")),
            false => Ok(()),
        }
    }
}

fn losing(disk: &Disk) -> Result<Session<Document>> {
    let options = session_of(saves_on(disk), history(None))?.register_command::<Lose>()?;
    Ok(options.open(SAVE, JOURNAL)?.0)
}

#[test]
fn the_merge_window_of_a_session_is_set() -> Result<()> {
    let (mut session, _) = open(&Disk::default())?;
    let write = |session: &mut Session<Document>| session.apply(Type { text: "a".into() });
    session.set_merge_window(Some(Duration::ZERO));
    write(&mut session)?;
    write(&mut session)?;
    assert_eq!(session.history().entries().len(), 2);
    session.set_merge_window(Some(Duration::MAX));
    write(&mut session)?;
    assert_eq!(session.history().entries().len(), 2);
    Ok(())
}

#[test]
fn an_entry_that_was_skipped_or_dropped_is_so_after_a_crash() -> Result<()> {
    for is_dropped in [false, true] {
        let disk = Disk::default();
        let mut session = losing(&disk)?;
        session.apply(Insert { at: 0, line: "a".into() })?;
        session.apply(Lose { is_told: true })?;
        session.save()?;
        assert_eq!(session.undo().unwrap_err().kind(), ErrorKind::NotFound);
        if is_dropped {
            session.drop_entry()?;
        } else {
            session.skip_entry()?;
        }
        let seen = Seen::of(session.target(), session.history());
        assert_eq!((seen.position, seen.is_modified), (1, true));
        let mut session = losing(&Disk::new(disk.image()))?;
        assert_eq!(Seen::of(session.target(), session.history()), seen);
        assert!(session.undo()?);
    }
    Ok(())
}

#[test]
fn what_the_history_of_a_session_proves_is_set_before_it_is_opened() -> Result<()> {
    for proof in [Proof::Off, Proof::Whole] {
        let mut history = history(None);
        history.set_proof(proof);
        let disk = Disk::default();
        let options = session_of(saves_on(&disk), history)?.register_command::<Lose>()?;
        let (mut session, _) = options.open(SAVE, JOURNAL)?;
        session.apply(Lose { is_told: false })?;
        let undone = session.undo().map_err(|error| error.kind());
        let expected = if proof == Proof::Off { Ok(true) } else { Err(ErrorKind::NotInverse) };
        assert_eq!(undone, expected);
    }
    Ok(())
}

#[test]
fn each_save_of_a_session_has_the_info_that_it_is_made_with() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    for minutes in [90_u32, 91] {
        session.save_with_info(SlotInfo::new("The Mill").value(&minutes)?)?;
        let header = Header::from_reader(&disk.image()[std::path::Path::new(SAVE)][..])?;
        let info = header.info();
        assert_eq!((&*info.title, info.get::<u32>()?), ("The Mill", Some(minutes)));
    }
    session.save()?;
    let info = Header::from_reader(&disk.image()[std::path::Path::new(SAVE)][..])?.info();
    assert_eq!((&*info.title, info.get::<u32>()?), ("", None));
    Ok(())
}
