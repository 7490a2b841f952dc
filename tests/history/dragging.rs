//! Drags, and edits with a key: what joins the entry before, whatever it is.

use persist::history::Drag;
use persist::{ErrorKind, History, Result};

use super::document::{
    Add, Document, Editor, Fault, HistoryEvent, Write, ends, fault, logged, refused,
};

/// Without a merge window.
fn editor() -> Editor {
    Editor { document: Document::default(), history: History::new(100) }
}

fn drag(editor: &mut Editor) -> Drag {
    editor.history.begin_drag("Drag")
}

#[test]
fn what_is_done_in_a_drag_is_one_entry_and_commands_decide_how_they_combine() -> Result<()> {
    let mut editor = editor();
    let events = editor.listen();
    let drag = drag(&mut editor);
    assert_eq!((events.take(), editor.place()), (vec![], (0, 0)), "a beginning is no entry");
    editor.set("x", 1)?;
    editor.set("x", 2)?;
    editor.apply(Add("y", 1))?;
    editor.apply(Add("y", 1))?;
    editor.set("x", 3)?;
    editor.history.edit(&mut editor.document, "Two words", |edit| {
        edit.apply(Write("a"))?;
        edit.apply(Write("b"))
    })?;
    assert_eq!((editor.place(), editor.labels()), ((1, 1), vec!["Drag".to_owned()]));
    editor.history.end_drag(drag);
    editor.set("x", 4)?;
    assert_eq!(editor.labels(), ["Drag", "Set x to 4"]);
    editor.undo()?;
    logged();
    editor.undo()?;
    assert_eq!(logged(), ["undo b", "undo a", "undo x=3", "undo y+1", "undo y+1", "undo x=2"]);
    assert_eq!(editor.document, Document::default());
    editor.redo()?;
    assert_eq!((editor.document.number("x"), editor.document.number("y")), (3, 2));
    Ok(())
}

#[test]
fn a_drag_without_a_label_is_called_after_the_first_edit() -> Result<()> {
    let mut editor = editor();
    let drag = editor.history.begin_drag("");
    for label in ["First", "Second"] {
        editor.history.edit(&mut editor.document, label, |edit| edit.apply(Write("a")))?;
    }
    editor.history.end_drag(drag);
    assert_eq!(editor.labels(), ["First"]);
    Ok(())
}

#[test]
fn a_drag_back_to_the_start_leaves_no_entry() -> Result<()> {
    let mut editor = editor();
    let drag = drag(&mut editor);
    editor.set("x", 1)?;
    editor.set("x", 0)?;
    assert_eq!((editor.place(), editor.history.is_modified()), ((0, 0), false));
    editor.set("x", 2)?;
    editor.history.end_drag(drag);
    assert_eq!(editor.labels(), ["Drag"]);
    Ok(())
}

/// A drag and key presses, each back to the start and past it, after an undo.
#[test]
fn a_drag_past_its_start_after_an_undo_is_one_entry() -> Result<()> {
    for is_drag in [true, false] {
        let mut editor = editor();
        editor.set("x", 5)?;
        editor.apply(Write("a"))?;
        editor.undo()?;
        let drag = is_drag.then(|| drag(&mut editor));
        for x in [6, 5, 4, 3, 5, 2] {
            editor.history.edit_merging(&mut editor.document, "x", "Drag", |edit| {
                let step = x - edit.number("x");
                edit.apply(Add("x", step))
            })?;
        }
        drag.into_iter().for_each(|drag| editor.history.end_drag(drag));
        assert_eq!(editor.labels(), ["Set x to 5", "Drag"]);
        editor.undo()?;
        assert_eq!(editor.document.number("x"), 5);
        editor.redo()?;
        assert_eq!((editor.document.number("x"), editor.place()), (2, (2, 2)));
    }
    Ok(())
}

#[test]
fn the_rest_of_a_drag_is_an_entry_of_its_own_behind_a_save() -> Result<()> {
    let mut editor = editor();
    let drag = drag(&mut editor);
    editor.set("x", 1)?;
    editor.history.set_modified(false)?;
    editor.set("x", 2)?;
    editor.set("x", 3)?;
    editor.history.end_drag(drag);
    assert_eq!(
        (editor.labels(), editor.history.saved_position()),
        (vec!["Drag".to_owned(), "Drag".to_owned()], Some(1))
    );
    editor.undo()?;
    assert_eq!((editor.document.number("x"), editor.history.is_modified()), (1, false));
    Ok(())
}

#[test]
fn a_drag_can_be_undone_while_it_lasts_and_its_rest_is_an_entry_of_its_own() -> Result<()> {
    let mut editor = editor();
    editor.write("a")?;
    let drag = drag(&mut editor);
    editor.set("x", 1)?;
    editor.set("x", 2)?;
    assert!(editor.undo()?);
    assert_eq!((editor.document.number("x"), editor.place()), (0, (2, 1)));
    editor.set("x", 5)?;
    editor.set("x", 6)?;
    assert_eq!(
        (editor.labels(), editor.place()),
        (vec!["Write a".to_owned(), "Drag".to_owned()], (2, 2))
    );
    // So it is behind an undo and a redo.
    editor.undo()?;
    editor.redo()?;
    editor.set("x", 7)?;
    editor.history.end_drag(drag);
    assert_eq!(editor.place(), (3, 3));
    Ok(())
}

#[test]
fn a_transaction_in_a_drag_is_an_entry_of_its_own_and_a_drag_in_a_transaction_a_part() -> Result<()>
{
    let mut editor = editor();
    let first = drag(&mut editor);
    editor.set("x", 1)?;
    editor.history.begin("Dialog")?;
    editor.set("x", 2)?;
    editor.set("x", 3)?;
    editor.commit()?;
    editor.set("x", 4)?;
    editor.history.end_drag(first);
    assert_eq!(editor.labels(), ["Drag", "Dialog", "Drag"]);

    editor.history.begin("Dialog")?;
    let second = drag(&mut editor);
    editor.set("x", 5)?;
    editor.set("x", 6)?;
    editor.history.end_drag(second);
    editor.set("x", 7)?;
    editor.commit()?;
    logged();
    editor.undo()?;
    assert_eq!(logged(), ["undo x=7", "undo x=6"]);
    Ok(())
}

#[test]
fn a_drag_ends_with_its_token_or_with_the_next_one() -> Result<()> {
    let mut editor = editor();
    let dropped = drag(&mut editor);
    editor.set("x", 1)?;
    drop(dropped);
    editor.set("x", 2)?;
    let first = drag(&mut editor);
    editor.set("x", 3)?;
    let second = editor.history.begin_drag("Second");
    editor.set("x", 4)?;
    editor.history.end_drag(first);
    editor.set("x", 5)?;
    // Nor does the token of another history end it.
    let other = History::<Document>::new(1).begin_drag("");
    editor.history.end_drag(other);
    editor.set("x", 6)?;
    editor.history.end_drag(second);
    assert_eq!(editor.labels(), ["Drag", "Set x to 2", "Drag", "Second"]);
    Ok(())
}

#[test]
fn an_edit_that_fails_in_a_drag_is_taken_back_alone() -> Result<()> {
    let mut editor = editor();
    let drag = drag(&mut editor);
    editor.set("x", 1)?;
    let before = editor.state();
    fault("apply x=2", Fault::Refuse);
    refused(editor.set("x", 2), ErrorKind::Refused);
    assert_eq!(editor.state(), before);
    // A merge that is refused joins all the same.
    fault("merge x=3", Fault::Refuse);
    editor.set("x", 3)?;
    editor.history.end_drag(drag);
    assert_eq!(editor.place(), (1, 1));
    editor.undo()?;
    assert_eq!(editor.document, Document::default());
    Ok(())
}

#[test]
fn what_joins_a_selection_makes_its_entry_count() -> Result<()> {
    let mut editor = editor();
    editor.history.set_modified(false)?;
    let drag = drag(&mut editor);
    editor.select(1)?;
    assert!(!editor.history.is_modified());
    editor.set("x", 1)?;
    assert!(editor.history.is_modified());
    editor.select(2)?;
    editor.history.end_drag(drag);
    assert_eq!(editor.place(), (1, 1));
    editor.undo()?;
    assert!(!editor.history.is_modified());
    Ok(())
}

#[test]
fn edits_with_the_same_key_are_one_entry() -> Result<()> {
    let mut editor = editor();
    let write = |editor: &mut Editor, key: &str, word| {
        let (history, document) = (&mut editor.history, &mut editor.document);
        history.edit_merging(document, key, "Type", |edit| edit.apply(Write(word)))
    };
    write(&mut editor, "title", "a")?;
    write(&mut editor, "title", "b")?;
    write(&mut editor, "line", "c")?;
    write(&mut editor, "title", "d")?;
    assert_eq!((editor.place(), editor.text()), ((3, 3), "a b c d".into()));
    editor.write("e")?;
    write(&mut editor, "title", "f")?;
    assert_eq!(editor.place(), (5, 5), "what comes between ends it");
    write(&mut editor, "title", "a")?;
    editor.undo()?;
    assert_eq!(editor.text(), "a b c d e");
    write(&mut editor, "title", "b")?;
    assert_eq!(editor.place(), (5, 5), "as does an undo");
    editor.history.set_modified(false)?;
    write(&mut editor, "title", "c")?;
    assert_eq!(editor.place(), (6, 6), "and a save");
    Ok(())
}

#[test]
fn what_is_merged_is_told_as_a_new_state_of_one_entry() -> Result<()> {
    let mut editor = editor();
    let drag = drag(&mut editor);
    editor.set("x", 1)?;
    logged();
    let events = editor.listen();
    editor.set("x", 2)?;
    assert_eq!(events.take(), [HistoryEvent::State(editor.history.state())]);
    assert_eq!(ends(&logged()), ["x=2 Merged"]);
    editor.history.end_drag(drag);
    assert_eq!(events.take(), []);
    Ok(())
}
