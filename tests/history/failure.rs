//! Commands that fail or panic, and what is left then.

use std::panic::{AssertUnwindSafe, catch_unwind};

use persist::{
    Command, CommandContext, End, ErrorKind, HistoryEvent, Label, Merge, OnMissing, Result,
};

use super::document::{
    Add, Document, Editor, Fault, Set, Write, ask, ends, fault, logged, no_fault_is_left, panics,
    refused, tell,
};

#[test]
fn f52_a_command_that_fails_leaves_history_and_document_as_they_were() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    editor.undo()?;
    let (before, events) = (editor.state(), editor.listen());
    fault("apply c", Fault::Refuse);
    refused(editor.write("c"), ErrorKind::Refused);
    let edit = editor.history.edit(&mut editor.document, "Edit", |edit| {
        edit.apply(Write("d"))?;
        ask("no".into())?;
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
fn f52_a_command_that_fails_keeps_what_may_be_merged() -> Result<()> {
    let mut editor = Editor::new();
    editor.set("x", 1)?;
    fault("apply x=2", Fault::Refuse);
    refused(editor.set("x", 2), ErrorKind::Refused);
    editor.set("x", 3)?;
    assert_eq!(editor.place(), (1, 1));
    Ok(())
}

#[test]
fn f53_an_undo_that_fails_leaves_the_entry_and_can_be_tried_again() -> Result<()> {
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

/// Three words as one entry.
fn build(editor: &mut Editor) -> Result<()> {
    editor.history.edit(&mut editor.document, "Build", |edit| {
        edit.apply(Write("a"))?;
        edit.apply(Write("b"))?;
        edit.apply(Write("c"))
    })
}

#[test]
fn f54_an_entry_that_is_half_undone_is_done_again() -> Result<()> {
    let mut editor = Editor::new();
    build(&mut editor)?;
    let before = editor.state();
    logged();
    fault("undo a", Fault::Refuse);
    assert_eq!(refused(editor.undo(), ErrorKind::Refused), "step 0 of 3: no undo a today");
    assert_eq!(logged(), ["undo c", "undo b", "undo a", "redo b", "redo c"]);
    assert_eq!(editor.state(), before);
    assert!(editor.undo()?);
    fault("redo c", Fault::Refuse);
    assert_eq!(refused(editor.redo(), ErrorKind::Refused), "step 2 of 3: no redo c today");
    assert_eq!((editor.text().as_str(), editor.place()), ("", (1, 0)));
    assert!(editor.redo()?);
    assert_eq!(editor.text(), "a b c");
    Ok(())
}

#[test]
fn f54_an_entry_that_cannot_be_done_again_poisons_the_history() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("d")?;
    editor.history.mark_saved()?;
    build(&mut editor)?;
    editor.history.mark_saved()?;
    let events = editor.listen();
    fault("undo a", Fault::Refuse);
    fault("redo c", Fault::Refuse);
    refused(editor.undo(), ErrorKind::Refused);
    let poison = editor.history.poison().expect("a poison");
    assert_eq!((poison.entry, poison.step, poison.object), (Some(1), 2, None));
    assert_eq!((poison.label.to_string(), &*poison.why), ("Build".into(), "no redo c today"));
    assert_eq!(editor.text(), "d a b");
    assert_eq!(
        events.take(),
        [
            HistoryEvent::CanUndo(false),
            HistoryEvent::UndoText(String::new()),
            HistoryEvent::Modified(true),
        ]
    );
    let message = refused(editor.undo(), ErrorKind::Poisoned);
    assert_eq!(
        message,
        "step 2 of `Build` could not be put back, no redo c today; skip the entry or clear the history, and look at the target"
    );
    refused(editor.redo(), ErrorKind::Poisoned);
    refused(editor.go_to(0), ErrorKind::Poisoned);
    refused(editor.write("e"), ErrorKind::Poisoned);
    refused(editor.history.begin(""), ErrorKind::Poisoned);
    editor.history.mark_saved()?;
    assert!(editor.history.is_modified(), "until it is known what is there");
    Ok(())
}

#[test]
fn f54_a_poisoned_entry_is_skipped_and_the_rest_can_be_undone() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("d")?;
    build(&mut editor)?;
    editor.write("e")?;
    editor.undo()?;
    fault("undo a", Fault::Refuse);
    fault("redo c", Fault::Refuse);
    refused(editor.undo(), ErrorKind::Refused);
    logged();
    editor.history.skip_entry(&mut editor.document)?;
    let log = logged();
    assert_eq!(ends(&log), ["a Applied", "b Applied", "c Undone"], "each as it was left");
    assert!(editor.history.poison().is_none());
    assert_eq!(
        (editor.place(), editor.labels()),
        ((2, 1), vec!["Write d".into(), "Write e".into()])
    );
    for position in 0..=editor.history.len() {
        assert_ne!(editor.history.saved_position(), Some(position));
    }
    editor.document.words.truncate(1);
    assert!(editor.undo()? && editor.redo()? && editor.redo()?);
    assert!(editor.history.is_modified());
    assert_eq!(editor.text(), "d e");
    refused(editor.history.skip_entry(&mut editor.document), ErrorKind::NotFound);
    Ok(())
}

#[test]
fn f54_a_poisoned_redo_is_skipped() -> Result<()> {
    let mut editor = Editor::new();
    build(&mut editor)?;
    editor.undo()?;
    fault("redo c", Fault::Refuse);
    fault("undo a", Fault::Refuse);
    refused(editor.redo(), ErrorKind::Refused);
    let poison = editor.history.poison().expect("a poison");
    assert_eq!((poison.entry, poison.step), (Some(0), 0));
    logged();
    editor.history.skip_entry(&mut editor.document)?;
    assert_eq!(ends(&logged()), ["a Applied", "b Undone", "c Undone"]);
    assert_eq!((editor.place(), editor.text().as_str()), ((0, 0), "a"));
    assert!(editor.history.is_modified());
    Ok(())
}

#[test]
fn f54_a_poisoned_history_can_be_cleared() -> Result<()> {
    let mut editor = Editor::new();
    build(&mut editor)?;
    fault("undo a", Fault::Refuse);
    fault("redo c", Fault::Refuse);
    refused(editor.undo(), ErrorKind::Refused);
    editor.history.clear(&mut editor.document)?;
    assert!(editor.history.is_modified() && editor.history.poison().is_none());
    assert_eq!(editor.place(), (0, 0));
    editor.write("d")?;
    editor.undo()?;
    assert!(editor.history.is_modified());
    Ok(())
}

#[test]
fn f54_a_poisoned_entry_is_found_when_others_have_fallen_out() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("d e")?;
    build(&mut editor)?;
    fault("undo a", Fault::Refuse);
    fault("redo c", Fault::Refuse);
    refused(editor.undo(), ErrorKind::Refused);
    editor.history.set_capacity(&mut editor.document, Some(2));
    assert_eq!(editor.labels(), ["Write e", "Build"]);
    assert_eq!(editor.history.poison().expect("still").entry, Some(1));
    editor.history.skip_entry(&mut editor.document)?;
    assert_eq!(editor.labels(), ["Write e"]);
    Ok(())
}

#[test]
fn f55_a_jump_ends_before_the_entry_that_fails_and_says_how_far_it_came() -> Result<()> {
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
fn f56_what_is_gone_beside_the_history_is_an_error() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    editor.document.words.clear();
    let message = refused(editor.undo(), ErrorKind::NotFound);
    assert_eq!(message, "the last word is another one");
    assert_eq!((editor.place(), editor.text().as_str()), ((2, 2), ""));
    Ok(())
}

#[test]
fn f56_an_entry_whose_target_is_gone_can_be_passed_over() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    editor.history.mark_saved()?;
    editor.set("x", 1)?;
    editor.document.words.pop();
    editor.history.set_on_missing(OnMissing::Skip);
    editor.undo()?;
    assert!(editor.undo()?, "the word is gone already");
    assert_eq!((editor.place(), editor.text().as_str()), ((3, 1), "a"));
    assert!(editor.undo()?);
    assert_eq!((editor.place(), editor.text().as_str()), ((3, 0), ""));
    // No state is what it was.
    editor.go_to(2)?;
    assert!(editor.history.is_modified());
    assert_eq!(editor.history.saved_position(), None);
    fault("apply x=1", Fault::Miss);
    editor.redo()?;
    assert_eq!(editor.place(), (3, 3));
    Ok(())
}

#[test]
fn f56_an_entry_whose_target_is_gone_can_be_dropped() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b c")?;
    editor.history.mark_saved()?;
    editor.document.words.truncate(1);
    editor.history.set_on_missing(OnMissing::Drop);
    logged();
    assert!(editor.undo()?);
    assert_eq!((editor.place(), editor.text().as_str()), ((2, 2), "a"));
    assert_eq!(ends(&logged()), ["c Applied"]);
    editor.go_to(0)?;
    assert_eq!((editor.place(), editor.text().as_str()), ((1, 0), ""));
    assert_eq!(editor.history.saved_position(), None);
    fault("redo a", Fault::Miss);
    logged();
    editor.redo()?;
    assert_eq!((editor.place(), editor.text().as_str()), ((0, 0), ""));
    assert_eq!(ends(&logged()), ["a Undone"]);
    Ok(())
}

#[test]
fn f56_another_error_stops_whatever_is_done_about_what_is_gone() -> Result<()> {
    for on_missing in [OnMissing::Stop, OnMissing::Skip, OnMissing::Drop] {
        let mut editor = Editor::new();
        editor.write("a")?;
        editor.history.set_on_missing(on_missing);
        let before = editor.state();
        fault("undo a", Fault::Refuse);
        refused(editor.undo(), ErrorKind::Refused);
        assert_eq!(editor.state(), before);
    }
    Ok(())
}

#[test]
fn f57_a_panic_before_anything_is_changed_leaves_all_as_it_was() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    editor.undo()?;
    let (before, events) = (editor.state(), editor.listen());
    fault("apply c", Fault::Panic);
    panics(|| editor.write("c").unwrap());
    panics(|| {
        let panic = editor.history.edit(&mut editor.document, "", |edit| {
            edit.apply(Write("c"))?;
            edit.apply(Write("d"))?;
            panic!("on purpose");
        });
        panic.unwrap()
    });
    assert_eq!(editor.state(), before);
    assert!(editor.history.poison().is_none());
    assert_eq!(events.take(), []);
    editor.redo()?;
    assert_eq!(editor.text(), "a b");
    Ok(())
}

#[test]
fn f57_a_panic_of_a_command_that_has_changed_the_document_poisons_the_history() -> Result<()> {
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
    editor.history.skip_entry(&mut editor.document)?;
    assert!(events.take().contains(&HistoryEvent::CanUndo(true)), "the listener is still there");
    editor.write("c")?;
    assert!(editor.undo()? && editor.undo()?);
    assert_eq!(editor.text(), "");
    Ok(())
}

#[test]
fn f57_a_panic_in_an_edit_names_the_step_and_ends_the_others_as_they_are() -> Result<()> {
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
fn f57_a_panic_that_the_edit_catches_poisons_all_the_same() -> Result<()> {
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
fn f57_a_panic_of_an_undo_poisons_the_history() -> Result<()> {
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
    panics(|| {
        let mut build = editor.history.transaction(&mut editor.document, "Build").unwrap();
        build.apply(Write("d")).unwrap();
        build.apply(Write("c")).unwrap();
    });
    assert!(!editor.history.is_open(), "the transaction is over");
    assert!(editor.history.poison().is_some());
    assert_eq!(editor.text(), "a b d c", "and what cannot be known is not touched");
    assert!(ends(&logged()).contains(&"d Applied"));
    Ok(())
}

#[test]
fn f57_a_panic_of_a_jump_keeps_the_listeners() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b c")?;
    let events = editor.listen();
    fault("undo b", Fault::Panic);
    panics(|| editor.go_to(0).unwrap());
    assert_eq!(editor.place(), (3, 2));
    assert!(events.take().contains(&HistoryEvent::Position(2)));
    editor.history.skip_entry(&mut editor.document)?;
    assert!(!events.take().is_empty());
    Ok(())
}

#[test]
fn f57_a_panic_of_the_end_of_a_command_loses_nothing() -> Result<()> {
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
fn f57_a_panic_behind_a_change_loses_nothing() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    editor.undo()?;
    let events = editor.listen();
    editor.history.set_after_change(|document| {
        document.selected = document.words.len();
        tell("changed".into());
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

/// Does three words through its context, and a number directly.
struct Sign(&'static str);

impl Command<Document> for Sign {
    fn apply(&mut self, context: &mut CommandContext<'_, Document>) -> Result<()> {
        context.apply(Write("a"))?;
        context.target().selected += 1;
        let second = context.apply(Write("b"));
        let is_last = second.is_err();
        if second.is_err() && self.0 == "swallow" {
            return Ok(());
        }
        second.and_then(|()| context.apply(Write("c"))).inspect_err(|_| {
            assert!(is_last || self.0 != "swallow");
            context.target().selected -= 1;
        })
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        ask("undo sign".into())?;
        document.selected -= 1;
        Ok(())
    }

    fn label(&self) -> Label {
        "Sign".into()
    }

    fn finalize(&mut self, _: &mut Document, end: End) {
        tell(format!("end sign {end:?}"));
    }
}

#[test]
fn f54_a_command_that_performs_others_is_undone_and_redone_with_them() -> Result<()> {
    let mut editor = Editor::new();
    editor.apply(Sign(""))?;
    assert_eq!(
        (editor.text().as_str(), editor.document.selected, editor.place()),
        ("a b c", 1, (1, 1))
    );
    logged();
    editor.undo()?;
    assert_eq!(editor.document, Document::default());
    assert_eq!(logged(), ["undo c", "undo b", "undo a", "undo sign"]);
    editor.redo()?;
    assert_eq!((editor.text().as_str(), editor.document.selected), ("a b c", 1));
    assert_eq!(logged(), ["redo a", "redo b", "redo c"], "they are not made again");
    editor.history.clear(&mut editor.document)?;
    assert_eq!(ends(&logged()).len(), 4);
    Ok(())
}

#[test]
fn f54_a_command_of_which_a_part_fails_is_as_before() -> Result<()> {
    for line in ["apply b", "apply c"] {
        let mut editor = Editor::new();
        fault(line, Fault::Refuse);
        refused(editor.apply(Sign("")), ErrorKind::Refused);
        assert_eq!((&editor.document, editor.place()), (&Document::default(), (0, 0)));
    }
    let mut editor = Editor::new();
    editor.apply(Sign(""))?;
    let done = editor.state();
    for line in ["undo c", "undo b", "undo a", "undo sign"] {
        fault(line, Fault::Refuse);
        refused(editor.undo(), ErrorKind::Refused);
        assert_eq!(editor.state(), done, "{line}");
    }
    editor.undo()?;
    let undone = editor.state();
    for line in ["redo a", "redo b", "redo c"] {
        fault(line, Fault::Refuse);
        refused(editor.redo(), ErrorKind::Refused);
        assert_eq!(editor.state(), undone, "{line}");
    }
    editor.redo()?;
    assert_eq!(editor.state(), done);
    Ok(())
}

#[test]
fn f54_a_part_that_breaks_in_a_redo_poisons_also_if_the_command_goes_on() -> Result<()> {
    for how in ["", "swallow"] {
        let mut editor = Editor::new();
        editor.history.edit(&mut editor.document, "", |edit| edit.apply(Deep(how)))?;
        editor.undo()?;
        assert_eq!(editor.document, Document::default());
        fault("redo c", Fault::Refuse);
        fault("undo b", Fault::Refuse);
        let redone = editor.redo();
        assert!(redone.is_err(), "{how}");
        assert!(editor.history.poison().is_some(), "{how}: {:?}", editor.document);
        assert_eq!(editor.history.position(), 0);
    }
    Ok(())
}

/// Does a command that does two others, and something itself.
struct Deep(&'static str);

impl Command<Document> for Deep {
    fn apply(&mut self, context: &mut CommandContext<'_, Document>) -> Result<()> {
        context.target().selected += 1;
        let inner = context.apply(Inner);
        if inner.is_err() && self.0 == "swallow" {
            return Ok(());
        }
        inner.inspect_err(|_| context.target().selected -= 1)
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        document.selected -= 1;
        Ok(())
    }
}

struct Inner;

impl Command<Document> for Inner {
    fn apply(&mut self, context: &mut CommandContext<'_, Document>) -> Result<()> {
        context.apply(Write("b"))?;
        context.apply(Write("c"))
    }

    fn undo(&mut self, _: &mut Document) -> Result<()> {
        Ok(())
    }
}

#[test]
fn f54_a_part_that_breaks_poisons_also_if_the_command_goes_on() -> Result<()> {
    for how in ["", "swallow"] {
        let mut editor = Editor::new();
        fault("apply c", Fault::Refuse);
        fault("undo b", Fault::Refuse);
        assert!(editor.apply(Deep(how)).is_err());
        assert!(editor.history.poison().is_some(), "{how}: {:?}", editor.document);
        assert_eq!(editor.place(), (0, 0));
    }
    Ok(())
}

#[test]
fn f54_a_rollback_that_fails_poisons_the_history() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("f")?;
    editor.history.begin("Outer")?;
    editor.write("a")?;
    editor.history.begin("Build")?;
    editor.write("b c d")?;
    fault("undo c", Fault::Refuse);
    logged();
    refused(editor.rollback(), ErrorKind::Refused);
    let log = logged();
    assert_eq!(log[..3], ["undo d", "undo c", "redo d"]);
    assert_eq!(ends(&log), ["b Applied", "c Applied", "d Applied"]);
    let poison = editor.history.poison().expect("a poison");
    assert_eq!((poison.entry, poison.step, poison.label.to_string()), (None, 1, "Build".into()));
    refused(editor.commit(), ErrorKind::Poisoned);
    refused(editor.rollback(), ErrorKind::Poisoned);
    assert_eq!(ends(&logged()), ["a Applied"], "nothing below it is taken back either");
    assert!(!editor.history.is_open());
    assert_eq!(editor.text(), "f a b c d");
    editor.history.skip_entry(&mut editor.document)?;
    assert!(editor.history.is_modified());
    assert_eq!(editor.labels(), ["Write f"]);
    Ok(())
}

#[test]
fn f54_an_edit_whose_rollback_fails_poisons_the_history() -> Result<()> {
    let mut editor = Editor::new();
    fault("apply c", Fault::Refuse);
    fault("undo a", Fault::Refuse);
    logged();
    refused(build(&mut editor), ErrorKind::Refused);
    let poison = editor.history.poison().expect("a poison");
    assert_eq!((poison.entry, poison.step, &*poison.why), (None, 0, "no undo a today"));
    assert_eq!(editor.text(), "a b", "what could not be taken back is whole");
    assert_eq!(ends(&logged()), ["a Applied", "b Applied"]);
    Ok(())
}

#[test]
fn f59_a_merge_that_fails_leaves_two_entries() -> Result<()> {
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

#[test]
fn f59_a_merge_that_panics_leaves_two_entries_and_poisons_the_first() -> Result<()> {
    let mut editor = Editor::new();
    editor.set("x", 1)?;
    fault("merge x=2", Fault::Panic);
    let events = editor.listen();
    panics(|| editor.set("x", 2).unwrap());
    assert_eq!((editor.place(), editor.document.number("x")), ((2, 2), 2));
    let poison = editor.history.poison().expect("a poison");
    assert_eq!((poison.entry, poison.label.to_string()), (Some(0), "Set x to 1".into()));
    assert!(events.take().contains(&HistoryEvent::Position(2)));
    editor.history.skip_entry(&mut editor.document)?;
    assert_eq!(editor.labels(), ["Set x to 2"]);
    Ok(())
}

#[test]
fn f59_a_merge_that_panics_in_a_transaction_poisons_it() -> Result<()> {
    let mut editor = Editor::new();
    editor.history.begin("Build")?;
    editor.set("x", 1)?;
    fault("merge x=2", Fault::Panic);
    panics(|| editor.set("x", 2).unwrap());
    assert!(editor.history.poison().is_some() && editor.history.is_open());
    refused(editor.rollback(), ErrorKind::Poisoned);
    let log = logged();
    assert_eq!(ends(&log), ["x=1 Applied", "x=2 Applied"]);
    Ok(())
}

/// Its merges take in everything.
struct Greedy;

impl Command<Document> for Greedy {
    fn apply(&mut self, context: &mut CommandContext<'_, Document>) -> Result<()> {
        let set = Set::of(context, "x", context.number("x") + 1);
        context.apply(set)
    }

    fn undo(&mut self, _: &mut Document) -> Result<()> {
        Ok(())
    }

    fn merge(&mut self, _: &Self) -> Result<Merge> {
        Ok(Merge::Yes)
    }
}

#[test]
fn f59_commands_that_performed_others_are_not_merged() -> Result<()> {
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
