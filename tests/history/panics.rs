//! Commands and listeners that panic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use persist::history::{CommandEdit, FinalState, Label, MergeWindow};
use persist::{Command, ErrorKind, Result};

use super::document::{
    Document, Editor, Fault, HistoryEvent, Write, build, ends, fault, logged, no_fault_is_left,
    panics, refused, tell,
};

#[test]
fn a_panic_before_anything_is_changed_leaves_all_as_it_was() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    editor.undo()?;
    let (before, events) = (editor.state(), editor.listen());
    fault("apply c", Fault::Panic);
    panics(|| editor.write("c").unwrap());
    panics(|| {
        let panic = editor.history.edit(&mut editor.document, "", |edit| -> Result<()> {
            edit.apply(Write("c"))?;
            edit.apply(Write("d"))?;
            panic!("on purpose");
        });
        panic.unwrap();
    });
    assert_eq!(editor.state(), before);
    assert!(editor.history.poison().is_none());
    assert_eq!(events.take(), []);
    editor.redo()?;
    assert_eq!(editor.text(), "a b");
    Ok(())
}

#[test]
fn a_panic_of_a_command_that_has_changed_the_document_poisons_the_history() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a")?;
    let events = editor.listen();
    fault("half b", Fault::Panic);
    panics(|| editor.write("b").unwrap());
    let poison = editor.history.poison().expect("a poison");
    assert_eq!((poison.entry, poison.step), (None, 0));
    assert_eq!((poison.label.to_string(), &*poison.why), ("Write b".into(), "it panicked"));
    assert_eq!(events.take().len(), 2 + usize::from(false), "it cannot be undone any more");
    refused(editor.write("c"), ErrorKind::Poisoned);
    editor.document.words.truncate(1);
    editor.history.drop_entry(&mut editor.document)?;
    assert!(events.take().contains(&HistoryEvent::CanUndo(true)), "the listener is still there");
    editor.write("c")?;
    assert!(editor.undo()? && editor.undo()?);
    assert_eq!(editor.text(), "");
    Ok(())
}

#[test]
fn a_panic_in_an_edit_names_the_step_and_ends_the_others_as_they_are() -> Result<()> {
    let mut editor = Editor::new();
    fault("half c", Fault::Panic);
    panics(|| build(&mut editor).unwrap());
    let poison = editor.history.poison().expect("a poison");
    assert_eq!((poison.entry, poison.step, poison.label.to_string()), (None, 2, "Build".into()));
    assert_eq!(editor.text(), "a b c");
    assert_eq!(ends(&logged()), ["a Applied", "b Applied"]);
    Ok(())
}

#[test]
fn a_panic_that_the_edit_catches_poisons_all_the_same() -> Result<()> {
    let mut editor = Editor::new();
    fault("half b", Fault::Panic);
    let edit = editor.history.edit(&mut editor.document, "Edit", |edit| {
        edit.apply(Write("a"))?;
        let caught = catch_unwind(AssertUnwindSafe(|| edit.apply(Write("b"))));
        assert!(caught.is_err());
        edit.apply(Write("c"))
    });
    refused(edit, ErrorKind::Poisoned);
    assert_eq!(editor.history.poison().expect("a poison").step, 1);
    Ok(())
}

#[test]
fn a_panic_of_an_undo_poisons_the_history() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    let events = editor.listen();
    fault("undo b", Fault::Panic);
    panics(|| drop(editor.undo()));
    assert_eq!(editor.history.poison().expect("a poison").entry, Some(1));
    assert!(events.take().contains(&HistoryEvent::CanUndo(false)));
    assert_eq!(editor.place(), (2, 2));
    editor.history.clear(&mut editor.document)?;
    fault("half c", Fault::Panic);
    editor.history.begin("Build")?;
    editor.write("d")?;
    panics(|| editor.write("c").unwrap());
    refused(editor.rollback(), ErrorKind::Poisoned);
    refused(editor.rollback(), ErrorKind::OpenTransaction);
    assert!(editor.history.poison().is_some());
    assert_eq!(editor.text(), "a b d c", "and what cannot be known is not touched");
    assert!(ends(&logged()).contains(&"d Applied"));
    Ok(())
}

#[test]
fn a_panic_of_a_jump_keeps_the_listeners() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b c")?;
    let events = editor.listen();
    fault("undo b", Fault::Panic);
    panics(|| editor.go_to(0).unwrap());
    assert_eq!(editor.place(), (3, 2));
    assert!(events.take().contains(&HistoryEvent::Position(2)));
    editor.history.drop_entry(&mut editor.document)?;
    assert!(!events.take().is_empty());
    Ok(())
}

#[test]
fn a_panic_of_the_end_of_a_command_loses_nothing() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b c")?;
    editor.go_to(0)?;
    fault("end b Undone", Fault::Panic);
    logged();
    let events = editor.listen();
    panics(|| editor.write("d").unwrap());
    let log = logged();
    assert_eq!(ends(&log), ["c Undone", "b Undone", "a Undone"], "the others end as well");
    assert_eq!((editor.labels(), editor.text().as_str()), (vec!["Write d".into()], "d"));
    assert!(editor.history.poison().is_none());
    assert!(events.take().contains(&HistoryEvent::Position(1)));
    fault("end d Applied", Fault::Panic);
    panics(|| editor.history.clear(&mut editor.document).unwrap());
    assert_eq!(editor.place(), (0, 0));
    editor.write("e")?;
    editor.undo()?;
    assert_eq!(editor.text(), "d");
    Ok(())
}

#[test]
fn a_panic_behind_a_change_loses_nothing() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    editor.undo()?;
    let events = editor.listen();
    editor.history.subscribe_changes(|document, _| {
        document.selected = document.words.len();
        tell("changed");
    });
    fault("changed", Fault::Panic);
    panics(|| editor.write("c").unwrap());
    assert_eq!(
        (editor.labels(), editor.text().as_str()),
        (vec!["Write a".into(), "Write c".into()], "a c")
    );
    assert!(events.take().contains(&HistoryEvent::Position(2)));
    fault("changed", Fault::Panic);
    panics(|| drop(editor.undo()));
    assert_eq!((editor.place(), editor.document.selected), ((2, 1), 1));
    assert!(editor.history.poison().is_none() && no_fault_is_left());
    Ok(())
}

#[test]
fn a_merge_that_panics_leaves_two_entries_and_poisons_the_first() -> Result<()> {
    let mut editor = Editor::new();
    editor.set("x", 1)?;
    fault("merge x=2", Fault::Panic);
    let events = editor.listen();
    panics(|| editor.set("x", 2).unwrap());
    assert_eq!((editor.place(), editor.document.number("x")), ((2, 2), 2));
    let poison = editor.history.poison().expect("a poison");
    assert_eq!((poison.entry, poison.label.to_string()), (Some(0), "Set x to 1".into()));
    assert!(events.take().contains(&HistoryEvent::Position(2)));
    editor.history.drop_entry(&mut editor.document)?;
    assert_eq!(editor.labels(), ["Set x to 2"]);
    Ok(())
}

#[test]
fn a_merge_that_panics_in_a_transaction_poisons_it() -> Result<()> {
    let mut editor = Editor::new();
    editor.history.begin("Build")?;
    editor.set("x", 1)?;
    fault("merge x=2", Fault::Panic);
    panics(|| editor.set("x", 2).unwrap());
    assert!(editor.history.poison().is_some());
    refused(editor.rollback(), ErrorKind::Poisoned);
    let log = logged();
    assert_eq!(ends(&log), ["x=1 Applied", "x=2 Applied"]);
    Ok(())
}

/// Writes a word, and may panic when it is asked what it is, or is dropped.
struct Frail(Write);

impl Drop for Frail {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            tell("drop");
        }
    }
}

impl Command<Document> for Frail {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        self.0.apply(edit)
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        self.0.undo(document)
    }

    fn label(&self) -> Label {
        self.0.label()
    }

    fn is_significant(&self) -> bool {
        tell("significant");
        true
    }

    fn held_bytes(&self) -> usize {
        tell("held");
        8
    }

    fn finalize(&mut self, document: &mut Document, end: FinalState) {
        self.0.finalize(document, end);
    }
}

#[test]
fn a_panic_of_the_clock_rolls_the_edit_back() -> Result<()> {
    let mut editor = Editor::new();
    let clock = || {
        tell("clock");
        Duration::ZERO
    };
    editor.history.set_merge_window(MergeWindow::with_clock(Duration::from_secs(9), clock));
    editor.write("a b")?;
    editor.undo()?;
    let (before, events) = (editor.state(), editor.listen());
    logged();
    fault("clock", Fault::Panic);
    panics(|| editor.write("c").unwrap());
    assert_eq!((editor.state(), editor.text().as_str()), (before, "a"));
    assert_eq!((ends(&logged()), events.take()), (vec!["c Undone"], vec![]));
    assert!(editor.history.poison().is_none());

    editor.history.begin("Build")?;
    editor.write("c")?;
    fault("clock", Fault::Panic);
    // It merges nothing, and needs no time.
    editor.commit()?;
    assert_eq!(
        (editor.labels(), editor.text().as_str()),
        (vec!["Write a".into(), "Build".into()], "a c")
    );
    panics(|| editor.write("d").unwrap());
    assert_eq!(editor.text(), "a c");
    assert!(editor.undo()? && no_fault_is_left());
    assert_eq!(editor.text(), "a");
    Ok(())
}

#[test]
fn a_panic_of_a_command_that_is_asked_what_it_is_rolls_it_back() -> Result<()> {
    for line in ["significant", "held"] {
        for window in [None, Some(Duration::MAX)] {
            let mut editor = Editor::new();
            editor.history.set_merge_window(window);
            editor.write("a")?;
            let before = editor.state();
            logged();
            fault(line, Fault::Panic);
            panics(|| editor.apply(Frail(Write("b"))).unwrap());
            assert_eq!(editor.state(), before);
            assert_eq!(ends(&logged()), ["b Undone"]);
            assert!(editor.history.poison().is_none() && no_fault_is_left());
            editor.apply(Frail(Write("c")))?;
            assert_eq!((editor.place(), editor.text().as_str()), ((2, 2), "a c"));
        }
    }
    Ok(())
}

#[test]
fn a_commit_asks_commands_nothing_that_could_panic() -> Result<()> {
    for line in ["significant", "held"] {
        let mut editor = Editor::new();
        editor.history.begin("Build")?;
        editor.apply(Frail(Write("a")))?;
        editor.history.begin("Roof")?;
        editor.apply(Frail(Write("b")))?;
        fault(line, Fault::Panic);
        editor.commit()?;
        editor.commit()?;
        assert!(!no_fault_is_left());
        assert_eq!((editor.labels(), editor.text().as_str()), (vec!["Build".into()], "a b"));
        assert!(editor.history.is_modified() && editor.undo()?);
        assert_eq!(editor.text(), "");
    }
    Ok(())
}

#[test]
fn a_command_that_panics_when_it_is_dropped_keeps_no_other_from_its_end() -> Result<()> {
    let mut editor = Editor::of(1);
    editor.history.begin("Build")?;
    editor.apply(Frail(Write("a")))?;
    editor.write("b")?;
    editor.commit()?;
    let events = editor.listen();
    logged();
    fault("drop", Fault::Panic);
    panics(|| editor.write("c").unwrap());
    assert_eq!(ends(&logged()), ["a Applied", "b Applied"]);
    assert!(events.take().contains(&HistoryEvent::UndoText("Undo Write c".into())));
    assert_eq!((editor.labels(), editor.text().as_str()), (vec!["Write c".into()], "a b c"));
    assert!(editor.history.poison().is_none());
    Ok(())
}

/// Writes a word, and may panic when it is asked for its name.
struct Nameless(Write);

impl Command<Document> for Nameless {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        self.0.apply(edit)
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        self.0.undo(document)
    }

    fn label(&self) -> Label {
        tell("label");
        "Nameless".into()
    }
}

#[test]
fn a_label_that_panics_costs_no_event() -> Result<()> {
    let mut editor = Editor::new();
    let events = editor.listen();
    fault("label", Fault::Panic);
    panics(|| editor.apply(Nameless(Write("a"))).unwrap());
    assert_eq!((editor.place(), editor.text().as_str()), ((1, 1), "a"));
    let told = events.take();
    assert!(
        told.contains(&HistoryEvent::Position(1)) && told.contains(&HistoryEvent::CanUndo(true))
    );
    assert!(told.contains(&HistoryEvent::UndoText("Undo Nameless".into())), "{told:?}");
    editor.write("b")?;
    editor.undo()?;
    assert!(events.take().contains(&HistoryEvent::RedoText("Redo Write b".into())));
    // An undo that leaves it half done poisons the history, whatever its name.
    fault("undo a", Fault::Panic);
    fault("label", Fault::Panic);
    panics(|| drop(editor.undo()));
    assert_eq!(editor.history.poison().expect("a poison").entry, Some(0));
    assert!(no_fault_is_left());
    Ok(())
}
