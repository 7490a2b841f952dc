//! Two that want one journal.

use persist::{ErrorKind, Result};

use super::document::Rename;
use super::driver::{open, options};
use super::{JOURNAL, SAVE};
use persist_tests::support::disk::Disk;

#[test]
fn a_second_opener_is_refused_and_may_look() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    session.apply(Rename { title: String::from("mine") })?;
    let before = disk.image();

    let error = open(&disk).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InUse);
    assert!(error.message().contains("plan.journal") && error.message().contains("inspect"));
    let info = options(&disk)?.inspect(SAVE, JOURNAL)?.unwrap();
    assert!(info.follows_save && info.events == 1 && info.stopped.is_none());
    assert_eq!((info.torn, info.open), (None, 0));
    assert_eq!(disk.image(), before);

    session.begin("Group")?;
    let info = options(&disk)?.inspect(SAVE, JOURNAL)?.unwrap();
    assert_eq!((info.events, info.open), (2, 1));
    session.rollback()?;
    session.apply(Rename { title: String::from("still mine") })?;
    drop(session);
    let (session, _) = open(&disk)?;
    assert_eq!(session.target().title, "still mine");
    Ok(())
}

#[test]
fn what_ends_a_session_gives_its_journal_free() -> Result<()> {
    let disk = Disk::default();
    let (session, _) = open(&disk)?;
    let _parts = session.into_parts();
    let (session, _) = open(&disk)?;
    session.discard()?;
    assert!(options(&disk)?.inspect(SAVE, JOURNAL)?.is_none());
    // One that fails to open lets go of it, too.
    let mut history = super::document::history(None);
    history.apply(&mut super::document::Document::default(), Rename { title: "x".into() })?;
    let options = persist::Session::with(super::driver::saves_on(&disk), history);
    assert_eq!(options.open(SAVE, JOURNAL).err().unwrap().kind(), ErrorKind::InvalidValue);
    drop(open(&disk)?);
    Ok(())
}

#[cfg(unix)]
#[test]
fn a_journal_that_is_reached_by_a_hard_link_is_in_use() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let open = |save: &str, journal: &str| {
        let history = super::document::history(None);
        super::document::session_of(persist::Saves::new(), history)?.open(at(save), at(journal))
    };
    let link = |to: &str| std::fs::hard_link(at(JOURNAL), at(to)).unwrap();
    let (mut session, _) = open(SAVE, JOURNAL)?;
    session.apply(Rename { title: String::from("mine") })?;
    link("link");
    assert_eq!(open("other.sav", "link").err().unwrap().kind(), ErrorKind::InUse);
    // So is the one that each save begins.
    session.save()?;
    link("second");
    assert_eq!(open("other.sav", "second").err().unwrap().kind(), ErrorKind::InUse);
    drop(open("other.sav", "link")?);
    drop(session);
    drop(open("other.sav", "second")?);
    assert_eq!(open(SAVE, JOURNAL)?.0.target().title, "mine");
    Ok(())
}

/// A save that waits for its turn is one that the session opens.
#[test]
fn an_open_waits_for_a_save_in_the_background() -> Result<()> {
    for _ in 0..20 {
        let disk = Disk::default();
        let saves = super::driver::saves_on(&disk);
        let document = super::document::Document { title: "new".into(), lines: Vec::new() };
        let slot = saves.file(SAVE);
        slot.save(&super::document::Document::default())?;
        let saving = slot.save_in_background(&document)?;
        let session = super::document::session_of(saves, super::document::history(None))?;
        let (session, _) = session.open(SAVE, JOURNAL)?;
        assert_eq!(session.target().title, "new");
        assert_eq!(saving.wait()?, persist::save::SaveOutcome::Saved);
    }
    Ok(())
}
