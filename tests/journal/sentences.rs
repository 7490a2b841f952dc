//! What users are told when a session is opened.

use std::path::PathBuf;

use persist::Result;

use super::driver::{Action, Driver, open};
use super::{JOURNAL, SAVE};
use persist_tests::support::disk::{Disk, Image};

/// The files behind these steps.
fn image(script: &[Action]) -> Result<Image> {
    let disk = Disk::default();
    drop(Driver::run(&disk, script)?);
    Ok(disk.image())
}

/// What is said of these files.
fn said(image: Image) -> Result<String> {
    Ok(open(&Disk::new(image))?.1.to_string())
}

fn bytes<'i>(image: &'i mut Image, path: &str) -> &'i mut Vec<u8> {
    image.get_mut(&PathBuf::from(path)).unwrap()
}

#[test]
fn a_first_session_is_told_that_there_is_no_save_yet() -> Result<()> {
    assert_eq!(said(Image::default())?, "there is no save yet");
    let steps = image(&[Action::Insert(1), Action::Undo])?;
    assert_eq!(said(steps)?, "there is no save yet; 2 steps were recovered");
    Ok(())
}

#[test]
fn steps_are_counted_with_undos_and_redos() -> Result<()> {
    assert_eq!(said(image(&[Action::Save])?)?, "nothing was done since the last save");
    let script = [Action::Save, Action::Insert(1), Action::Undo, Action::Redo];
    assert_eq!(said(image(&script)?)?, "3 steps done since the last save were recovered");
    Ok(())
}

#[test]
fn a_transaction_and_edits_that_merged_are_one_step_each() -> Result<()> {
    let transaction = [
        Action::Save,
        Action::Begin,
        Action::Insert(1),
        Action::Begin,
        Action::Insert(2),
        Action::Commit,
        Action::Commit,
    ];
    assert_eq!(said(image(&transaction)?)?, "1 step done since the last save was recovered");
    let merged = [Action::Save, Action::Type(1), Action::Type(2), Action::Type(3), Action::Undo];
    assert_eq!(said(image(&merged)?)?, "2 steps done since the last save were recovered");
    let recovered = open(&Disk::new(image(&merged)?))?.1;
    assert_eq!(recovered.replayed, 2, "the number is that of the sentence");
    let rolled_back = [Action::Save, Action::Begin, Action::Insert(1), Action::Rollback];
    assert_eq!(said(image(&rolled_back)?)?, "nothing was done since the last save");
    Ok(())
}

#[test]
fn a_torn_end_is_told_as_the_step_that_it_was() -> Result<()> {
    let mut two = image(&[Action::Save, Action::Insert(1), Action::Insert(2)])?;
    bytes(&mut two, JOURNAL).pop();
    let torn = "the last step was only half written and is gone";
    assert_eq!(said(two)?, format!("1 step done since the last save was recovered; {torn}"));
    let mut one = image(&[Action::Insert(1)])?;
    bytes(&mut one, JOURNAL).pop();
    assert_eq!(said(one)?, format!("there is no save yet; no step was recovered; {torn}"));
    Ok(())
}

#[test]
fn an_open_transaction_is_told_as_half_done() -> Result<()> {
    let open = image(&[Action::Save, Action::Begin, Action::Insert(1)])?;
    assert_eq!(
        said(open)?,
        "no step done since the last save was recovered; an unfinished transaction was rolled back"
    );
    Ok(())
}

#[test]
fn a_journal_that_ends_early_is_said_to_be_kept_whole() -> Result<()> {
    let before = image(&[Action::Save, Action::Insert(1)])?[&PathBuf::from(JOURNAL)].len();
    let mut damaged =
        image(&[Action::Save, Action::Insert(1), Action::Insert(2), Action::Insert(3)])?;
    bytes(&mut damaged, JOURNAL)[before + 20] ^= 1;
    let said = said(damaged)?;
    assert!(said.starts_with("1 step done since the last save was recovered; the rest could not be recovered, the journal is damaged"), "{said}");
    assert!(said.ends_with("; the whole of the journal is kept as plan.journal.kept"), "{said}");
    Ok(())
}

#[test]
fn a_journal_without_its_save_is_told_to_be_another_ones() -> Result<()> {
    let mut gone = image(&[Action::Save, Action::Insert(1)])?;
    gone.remove(&PathBuf::from(SAVE));
    assert_eq!(
        said(gone)?,
        "there is no save; no step was recovered; a journal that belongs to another save is kept as plan.journal.kept"
    );
    Ok(())
}

#[test]
fn a_save_that_gave_way_to_its_backup_is_told_first() -> Result<()> {
    let script = [Action::Insert(1), Action::Save, Action::Insert(2), Action::Save];
    let mut damaged = image(&script)?;
    let save = bytes(&mut damaged, SAVE);
    let middle = save.len() / 2;
    save[middle] ^= 1;
    let said = said(damaged)?;
    assert!(
        said.starts_with("the save was damaged, a backup was loaded in its place; 1 save is lost"),
        "{said}"
    );
    assert!(said.contains("; no step done since the last save was recovered; a journal that belongs to another save is kept as plan.journal.kept"), "{said}");
    Ok(())
}

#[test]
fn a_journal_that_ends_in_its_header_is_told_with_the_place_once() -> Result<()> {
    for length in [0, 3] {
        let mut cut = image(&[Action::Save, Action::Insert(1)])?;
        bytes(&mut cut, JOURNAL).truncate(length);
        let why = format!("plan.journal: the journal ends in its header (at byte {length})");
        assert_eq!(
            said(cut)?,
            format!(
                "no step done since the last save was recovered; the journal could not be used, {why}; the whole of the journal is kept as plan.journal.kept"
            )
        );
    }
    Ok(())
}
