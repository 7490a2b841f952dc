//! Several edits as one entry, and what is rolled back.

use persist::{ErrorKind, Result};

use super::document::{Editor, Fault, HistoryEvent, Write, ends, fault, logged, panics, refused};

#[test]
fn while_a_transaction_is_open_nothing_can_be_undone_or_redone() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b c")?;
    editor.history.set_modified(false)?;
    editor.undo()?;
    let events = editor.listen();
    editor.history.begin("Build")?;
    assert_eq!(
        events.take(),
        [
            HistoryEvent::CanUndo(false),
            HistoryEvent::UndoText(String::new()),
            HistoryEvent::CanRedo(false),
            HistoryEvent::RedoText(String::new()),
        ]
    );
    let history = &editor.history;
    assert!(!history.can_undo() && !history.can_redo());
    assert_eq!(editor.place(), (2, 2));
    assert_eq!(history.entries().len(), 2);
    assert_eq!(history.saved_position(), None);
    editor.write("d e")?;
    refused(editor.undo(), ErrorKind::OpenTransaction);
    refused(editor.redo(), ErrorKind::OpenTransaction);
    refused(editor.go_to(0), ErrorKind::OpenTransaction);
    refused(editor.history.clear(&mut editor.document), ErrorKind::OpenTransaction);
    assert_eq!(editor.place(), (2, 2));
    assert_eq!(editor.text(), "a b d e");
    assert_eq!(events.take(), []);
    Ok(())
}

#[test]
fn a_transaction_is_one_entry_with_its_label() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    editor.history.set_modified(false)?;
    editor.undo()?;
    let events = editor.listen();
    editor.history.begin("Build")?;
    editor.write("c d")?;
    events.take();
    logged();
    editor.commit()?;
    assert_eq!(
        events.take(),
        [
            HistoryEvent::Position(2),
            HistoryEvent::State(editor.history.state()),
            HistoryEvent::CanUndo(true),
            HistoryEvent::UndoText("Undo Build".into()),
        ]
    );
    assert_eq!(ends(&logged()), ["b Undone"], "what was undone is cut");
    assert_eq!(editor.labels(), ["Write a", "Build"]);
    assert_eq!(editor.history.saved_position(), None);
    Ok(())
}

#[test]
fn a_document_is_modified_as_soon_as_an_open_transaction_has_changed_it() -> Result<()> {
    for end in ["commit", "rollback", "annulled"] {
        let mut editor = Editor::new();
        let events = editor.listen();
        editor.history.begin("Build")?;
        editor.select(3)?;
        editor.history.begin("Inner")?;
        assert!(!editor.history.is_modified(), "a selection does not count");
        assert_eq!(events.take(), []);
        editor.set("x", 1)?;
        assert!(editor.history.is_modified());
        assert_eq!(events.take(), [HistoryEvent::Modified(true)]);
        match end {
            "commit" => editor.commit()?,
            "rollback" => editor.rollback()?,
            _ => editor.set("x", 0)?,
        }
        assert_eq!(editor.history.is_modified(), end == "commit", "{end}");
        while editor.commit().is_ok() {}
        assert_eq!(editor.history.is_modified(), end == "commit", "{end}");
        let told = events.take();
        assert_eq!(told.contains(&HistoryEvent::Modified(false)), end != "commit", "{told:?}");
    }
    Ok(())
}

#[test]
fn inner_transactions_become_parts_of_the_outer() -> Result<()> {
    let mut editor = Editor::new();
    editor.history.begin("Outer")?;
    editor.write("a")?;
    let events = editor.listen();
    editor.history.begin("Inner")?;
    editor.write("b")?;
    editor.history.begin("Innermost")?;
    editor.write("c")?;
    editor.commit()?;
    editor.commit()?;
    assert_eq!(events.take(), []);
    assert!(editor.history.entries().len() == 0);
    editor.commit()?;
    assert_eq!(editor.labels(), ["Outer"]);
    Ok(())
}

#[test]
fn an_end_without_a_beginning_is_an_error() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    editor.undo()?;
    let before = editor.state();
    let message = refused(editor.commit(), ErrorKind::OpenTransaction);
    assert_eq!(message, "no transaction is open; begin one first");
    refused(editor.rollback(), ErrorKind::OpenTransaction);
    editor.history.begin("")?;
    editor.commit()?;
    refused(editor.commit(), ErrorKind::OpenTransaction);
    assert_eq!(editor.state(), before);
    Ok(())
}

#[test]
fn a_transaction_is_undone_in_reverse_and_redone_in_order() -> Result<()> {
    let mut editor = Editor::new();
    editor.history.begin("")?;
    editor.write("a")?;
    editor.history.begin("")?;
    editor.write("b c")?;
    editor.commit()?;
    editor.history.edit(&mut editor.document, "", |edit| {
        edit.apply(Write("d"))?;
        edit.apply(Write("e"))
    })?;
    editor.commit()?;
    logged();
    editor.undo()?;
    assert_eq!(logged(), ["undo e", "undo d", "undo c", "undo b", "undo a"]);
    editor.redo()?;
    assert_eq!(logged(), ["redo a", "redo b", "redo c", "redo d", "redo e"]);
    assert_eq!(editor.text(), "a b c d e");
    Ok(())
}

#[test]
fn an_empty_transaction_leaves_no_entry_and_cuts_nothing() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    editor.undo()?;
    let before = editor.state();
    editor.history.begin("Nothing")?;
    editor.history.begin("Within nothing")?;
    editor.commit()?;
    editor.history.edit(&mut editor.document, "No change", |_| Ok(()))?;
    editor.commit()?;
    assert_eq!(editor.state(), before);
    assert!(editor.redo()?);
    Ok(())
}

#[test]
fn a_transaction_that_merges_to_nothing_leaves_no_entry() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    editor.undo()?;
    let before = editor.state();
    editor.history.begin("There and back")?;
    editor.set("x", 5)?;
    editor.set("x", 0)?;
    editor.commit()?;
    assert_eq!(editor.state(), before);
    Ok(())
}

#[test]
fn a_rollback_leaves_all_as_before_the_beginning() -> Result<()> {
    let mut editor = Editor::of(3);
    editor.write("a b c")?;
    editor.history.set_modified(false)?;
    editor.undo()?;
    let before = editor.state();
    let events = editor.listen();
    editor.history.begin("Build")?;
    editor.write("d e")?;
    editor.history.begin("Inner")?;
    editor.write("f")?;
    editor.commit()?;
    editor.write("a b")?;
    logged();
    editor.rollback()?;
    let log = logged();
    assert_eq!(log[..5], ["undo b", "undo a", "undo f", "undo e", "undo d"]);
    assert_eq!(ends(&log).len(), 5);
    assert!(ends(&log).iter().all(|end| end.ends_with("Undone")), "{log:?}");
    assert_eq!(editor.state(), before);
    let told = events.take();
    assert!(!told.iter().any(|event| matches!(
        event,
        HistoryEvent::Position(_) | HistoryEvent::State(_) | HistoryEvent::Modified(_)
    )));
    editor.redo()?;
    assert_eq!((editor.text().as_str(), editor.history.is_modified()), ("a b c", false));
    Ok(())
}

#[test]
fn an_edit_that_fails_leaves_its_transaction_open_with_what_was_before_it() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a")?;
    let before = editor.state();
    editor.history.begin("Build")?;
    editor.write("b")?;
    fault("apply c", Fault::Refuse);
    refused(editor.write("c"), ErrorKind::Refused);
    fault("apply d", Fault::Panic);
    panics(|| editor.write("d").unwrap());
    assert!(editor.history.poison().is_none());
    assert_eq!(editor.text(), "a b");
    editor.rollback()?;
    assert_eq!(editor.state(), before);
    Ok(())
}

#[test]
fn an_inner_rollback_takes_back_the_inner_part_alone() -> Result<()> {
    let mut editor = Editor::new();
    editor.history.begin("Outer")?;
    editor.write("a")?;
    editor.history.begin("Inner")?;
    editor.write("b")?;
    editor.rollback()?;
    assert_eq!(editor.text(), "a");
    editor.write("c")?;
    editor.commit()?;
    assert_eq!(editor.text(), "a c");
    editor.undo()?;
    assert_eq!(editor.text(), "");
    Ok(())
}

#[test]
fn a_part_of_an_edit_is_taken_back_alone() -> Result<()> {
    let mut editor = Editor::new();
    editor.history.edit(&mut editor.document, "Edit", |edit| {
        edit.apply(Write("a"))?;
        let part = edit.part(|part| {
            part.apply(Write("b"))?;
            fault("apply c", Fault::Refuse);
            part.apply(Write("c"))
        });
        refused(part, ErrorKind::Refused);
        assert_eq!(edit.text(), "a");
        edit.apply(Write("d"))
    })?;
    assert_eq!(ends(&logged()), ["b Undone"]);
    editor.undo()?;
    editor.redo()?;
    assert_eq!(editor.text(), "a d");
    Ok(())
}

#[test]
fn a_command_that_fails_takes_those_before_it_back_and_is_named() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    editor.undo()?;
    let (before, events) = (editor.state(), editor.listen());
    logged();
    fault("apply e", Fault::Refuse);
    let edit = editor.history.edit(&mut editor.document, "Edit", |edit| {
        ["c", "d", "e", "f"].into_iter().try_for_each(|word| edit.apply(Write(of(word))))
    });
    let message = refused(edit, ErrorKind::Refused);
    assert_eq!(message, "step 2: no apply e today");
    assert_eq!(editor.state(), before);
    assert_eq!(events.take(), []);
    let log = logged();
    assert_eq!(log[4..7], ["apply e", "undo d", "undo c"]);
    assert_eq!(ends(&log).len(), 2);
    Ok(())
}

fn of(word: &str) -> &'static str {
    ["a", "b", "c", "d", "e", "f"].into_iter().find(|other| *other == word).unwrap()
}

#[test]
fn a_command_that_fails_in_a_transaction_is_named() -> Result<()> {
    let mut editor = Editor::new();
    editor.history.begin("Build")?;
    editor.write("a b")?;
    fault("apply c", Fault::Refuse);
    let message = refused(editor.write("c"), ErrorKind::Refused);
    assert_eq!(message, "step 2 of `Build`: no apply c today");
    editor.commit()?;
    assert_eq!(editor.text(), "a b", "what was before it stays if the program goes on");
    Ok(())
}

#[test]
fn a_transaction_without_a_label_is_called_as_what_is_in_it() -> Result<()> {
    let mut editor = Editor::new();
    editor.history.begin("")?;
    editor.write("a")?;
    editor.commit()?;
    assert_eq!(editor.history.undo_text(), "Undo Write a");
    editor.history.begin("")?;
    editor.history.edit(&mut editor.document, "Two words", |edit| {
        edit.apply(Write("a"))?;
        edit.apply(Write("b"))
    })?;
    editor.commit()?;
    assert_eq!(editor.history.undo_text(), "Undo Two words");
    editor.history.begin("")?;
    editor.history.begin("")?;
    editor.history.edit(&mut editor.document, "One word", |edit| edit.apply(Write("c")))?;
    editor.commit()?;
    editor.write("d e")?;
    editor.commit()?;
    assert_eq!(editor.history.undo_text(), "Undo One word and 2 more");
    editor.history.begin("")?;
    editor.history.begin("")?;
    editor.write("d e")?;
    editor.commit()?;
    editor.commit()?;
    assert_eq!(editor.history.undo_text(), "Undo Write d and 1 more");
    Ok(())
}
