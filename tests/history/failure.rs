//! Commands that fail, and merges that do.

use persist::history::{CommandEdit, Merge};
use persist::{Command, ErrorKind, Result};

use super::document::{
    Add, Document, Editor, Fault, HistoryEvent, Set, Write, ask, ends, fault, logged, refused,
};

#[test]
fn a_command_that_fails_leaves_history_and_document_as_they_were() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    editor.undo()?;
    let (before, events) = (editor.state(), editor.listen());
    fault("apply c", Fault::Refuse);
    refused(editor.write("c"), ErrorKind::Refused);
    let edit = editor.history.edit(&mut editor.document, "Edit", |edit| {
        edit.apply(Write("d"))?;
        ask("no")?;
        fault("apply e", Fault::Refuse);
        edit.apply(Write("e"))
    });
    refused(edit, ErrorKind::Refused);
    assert_eq!(editor.state(), before);
    assert_eq!(events.take(), []);
    assert!(editor.history.poison().is_none());
    assert!(editor.redo()?);
    assert_eq!(editor.text(), "a b");
    Ok(())
}

#[test]
fn a_command_that_fails_keeps_what_may_be_merged() -> Result<()> {
    let mut editor = Editor::new();
    editor.set("x", 1)?;
    fault("apply x=2", Fault::Refuse);
    refused(editor.set("x", 2), ErrorKind::Refused);
    editor.set("x", 3)?;
    assert_eq!(editor.place(), (1, 1));
    Ok(())
}

#[test]
fn an_undo_that_fails_leaves_the_entry_and_can_be_tried_again() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    let (before, events) = (editor.state(), editor.listen());
    fault("undo b", Fault::Refuse);
    assert_eq!(refused(editor.undo(), ErrorKind::Refused), "no undo b today");
    assert_eq!(editor.state(), before);
    assert_eq!(events.take(), []);
    assert!(editor.undo()?);
    let (before, _) = (editor.state(), events.take());
    fault("redo b", Fault::Refuse);
    refused(editor.redo(), ErrorKind::Refused);
    assert_eq!(editor.state(), before);
    assert_eq!(events.take(), []);
    assert!(editor.redo()?);
    assert_eq!(editor.text(), "a b");
    Ok(())
}

#[test]
fn a_jump_ends_before_the_entry_that_fails_and_says_how_far_it_came() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b c d")?;
    let events = editor.listen();
    fault("undo b", Fault::Refuse);
    let message = refused(editor.go_to(0), ErrorKind::Refused);
    assert_eq!(message, "stopped at position 2 on the way to 0: no undo b today");
    assert_eq!((editor.place(), editor.text().as_str()), ((4, 2), "a b"));
    assert!(events.take().contains(&HistoryEvent::Position(2)));
    fault("redo d", Fault::Refuse);
    let message = refused(editor.go_to(4), ErrorKind::Refused);
    assert_eq!(message, "stopped at position 3 on the way to 4: no redo d today");
    editor.go_to(4)?;
    editor.go_to(0)?;
    assert_eq!(editor.text(), "");
    Ok(())
}

#[test]
fn what_is_gone_beside_the_history_is_an_error() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    editor.document.words.clear();
    let message = refused(editor.undo(), ErrorKind::NotFound);
    assert_eq!(message, "the last word is another one");
    assert_eq!((editor.place(), editor.text().as_str()), ((2, 2), ""));
    Ok(())
}

#[test]
fn an_entry_whose_target_is_gone_can_be_skipped() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    editor.history.set_modified(false)?;
    editor.set("x", 1)?;
    editor.document.words.pop();
    editor.undo()?;
    refused(editor.undo(), ErrorKind::NotFound);
    let events = editor.listen();
    editor.history.skip_entry(&mut editor.document)?;
    assert_eq!((editor.place(), editor.text().as_str()), ((3, 1), "a"));
    assert!(events.take().contains(&HistoryEvent::UndoText("Undo Write a".into())));
    assert!(editor.undo()?);
    assert_eq!((editor.place(), editor.text().as_str()), ((3, 0), ""));
    // No state is what it was.
    editor.go_to(2)?;
    assert!(editor.history.is_modified());
    assert_eq!(editor.history.saved_position(), None);
    fault("apply x=1", Fault::Miss);
    refused(editor.redo(), ErrorKind::NotFound);
    editor.history.skip_entry(&mut editor.document)?;
    assert_eq!((editor.place(), editor.document.number("x")), ((3, 3), 0));
    Ok(())
}

#[test]
fn an_entry_whose_target_is_gone_can_be_dropped() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b c")?;
    editor.history.set_modified(false)?;
    editor.document.words.truncate(1);
    let drop_entry = |editor: &mut Editor| editor.history.drop_entry(&mut editor.document);
    logged();
    refused(editor.undo(), ErrorKind::NotFound);
    drop_entry(&mut editor)?;
    assert_eq!((editor.place(), editor.text().as_str()), ((2, 2), "a"));
    assert_eq!(ends(&logged()), ["c Applied"]);
    refused(editor.go_to(0), ErrorKind::NotFound);
    drop_entry(&mut editor)?;
    editor.go_to(0)?;
    assert_eq!((editor.place(), editor.text().as_str()), ((1, 0), ""));
    assert_eq!(editor.history.saved_position(), None);
    fault("redo a", Fault::Miss);
    logged();
    refused(editor.redo(), ErrorKind::NotFound);
    drop_entry(&mut editor)?;
    assert_eq!((editor.place(), editor.text().as_str()), ((0, 0), ""));
    assert_eq!(ends(&logged()), ["a Undone"]);
    Ok(())
}

#[test]
fn only_an_entry_that_has_just_failed_can_be_skipped_or_dropped() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    let refuse = |editor: &mut Editor| {
        let (history, document) = (&mut editor.history, &mut editor.document);
        let message = refused(history.skip_entry(document), ErrorKind::NotFound);
        assert_eq!(message, "no undo or redo has just failed, there is no entry to be skipped");
        let message = refused(history.drop_entry(document), ErrorKind::NotFound);
        assert_eq!(message, "no undo or redo has just failed, there is no entry to be dropped");
    };
    refuse(&mut editor);
    let others: [fn(&mut Editor) -> Result<()>; 4] = [
        |editor| editor.undo().map(drop),
        |editor| editor.redo().map(drop),
        |editor| editor.write("c"),
        |editor| editor.history.clear(&mut editor.document),
    ];
    for other in others {
        let last = editor.text().split(' ').next_back().unwrap_or_default().to_owned();
        fault(&format!("undo {last}"), Fault::Refuse);
        refused(editor.undo(), ErrorKind::Refused);
        other(&mut editor)?;
        let before = editor.state();
        refuse(&mut editor);
        assert_eq!(editor.state(), before);
        editor.redo()?;
    }
    Ok(())
}

#[test]
fn a_merge_that_fails_leaves_two_entries() -> Result<()> {
    let mut editor = Editor::new();
    editor.set("x", 1)?;
    fault("merge x=2", Fault::Refuse);
    editor.set("x", 2)?;
    assert_eq!(editor.place(), (2, 2));
    editor.undo()?;
    assert_eq!(editor.document.number("x"), 1);
    editor.history.begin("")?;
    editor.set("x", 5)?;
    fault("merge x=6", Fault::Refuse);
    editor.set("x", 6)?;
    editor.commit()?;
    editor.undo()?;
    assert_eq!(editor.document.number("x"), 1);
    Ok(())
}

/// Its merges take in everything.
struct Greedy;

impl Command<Document> for Greedy {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        let set = Set::of(edit, "x", edit.number("x") + 1);
        edit.apply(set)
    }

    fn undo(&mut self, _: &mut Document) -> Result<()> {
        Ok(())
    }

    fn merge(&mut self, _: &Self) -> Result<Merge> {
        Ok(Merge::Yes)
    }
}

#[test]
fn commands_that_performed_others_are_not_merged() -> Result<()> {
    let mut editor = Editor::new();
    editor.apply(Greedy)?;
    editor.apply(Greedy)?;
    assert_eq!(editor.place(), (2, 2));
    editor.undo()?;
    assert_eq!(editor.document.number("x"), 1);
    editor.apply(Add("x", 1))?;
    assert_eq!(editor.place(), (2, 2));
    Ok(())
}
