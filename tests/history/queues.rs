//! Edits that are kept back until later, and checkpoints.

use persist::history::Edit;
use persist::{ErrorKind, Result};

use super::document::{Document, Editor, Fault, Write, fault, logged, no_fault_is_left, refused};

/// Edits that are kept for later are closures in a list, and done in one edit: nothing else is needed.
type Queued = Box<dyn FnOnce(&mut Edit<'_, Document>) -> Result<()>>;

fn queue(words: [&'static str; 3]) -> Vec<Queued> {
    words.map(|word| -> Queued { Box::new(move |edit| edit.apply(Write(word))) }).into()
}

#[test]
fn a_queue_does_nothing_until_it_is_committed_and_then_in_order() -> Result<()> {
    let mut editor = Editor::new();
    let queued = queue(["a", "b", "c"]);
    assert_eq!((editor.text().as_str(), editor.place()), ("", (0, 0)));
    drop(queue(["d", "e", "f"]));
    editor.history.edit(&mut editor.document, "Queue", |edit| {
        queued.into_iter().try_for_each(|queued| queued(edit))
    })?;
    assert_eq!((editor.text().as_str(), editor.place()), ("a b c", (1, 1)));
    editor.undo()?;
    assert_eq!(editor.text(), "");
    Ok(())
}

#[test]
fn a_queue_of_which_one_fails_is_taken_back_whole() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("d e")?;
    editor.undo()?;
    let before = editor.state();
    let queued = queue(["a", "b", "c"]);
    fault("apply b", Fault::Refuse);
    logged();
    let commit = editor.history.edit(&mut editor.document, "Queue", |edit| {
        queued.into_iter().try_for_each(|queued| queued(edit))
    });
    assert_eq!(refused(commit, ErrorKind::Refused), "step 1: no apply b today");
    assert_eq!(editor.state(), before);
    assert!(!logged().contains(&"apply c".to_owned()));
    Ok(())
}

#[test]
fn a_rollback_restores_what_can_be_redone_and_the_saved_point_also_with_merges() -> Result<()> {
    let mut editor = Editor::new();
    editor.set("x", 1)?;
    editor.apart();
    editor.set("x", 2)?;
    editor.history.set_modified(false)?;
    editor.undo()?;
    let before = editor.state();
    for same in ["x", "y"] {
        editor.history.begin("")?;
        for new in 5..8 {
            editor.set(same, new)?;
        }
        editor.rollback()?;
        assert_eq!(editor.state(), before);
    }
    editor.redo()?;
    assert!(!editor.history.is_modified());
    Ok(())
}

#[test]
fn a_rollback_restores_a_full_history() -> Result<()> {
    for undone in 0..=2 {
        let mut editor = Editor::of(2);
        editor.write("a b c")?;
        editor.go_to(2 - undone)?;
        let before = editor.state();
        editor.history.begin("")?;
        editor.write("d e f")?;
        editor.rollback()?;
        assert_eq!(editor.state(), before);
        assert!(no_fault_is_left());
    }
    Ok(())
}
