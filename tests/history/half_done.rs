//! Entries that are half done when one of their commands fails, and what becomes of a history that cannot put them back.

use persist::history::{CommandEdit, FinalState, Label};
use persist::{Command, ErrorKind, Result};

use super::document::{
    Document, Editor, Fault, HistoryEvent, Write, ask, build, ends, fault, logged, panics, refused,
    tell,
};

#[test]
fn an_entry_that_is_half_undone_is_done_again() -> Result<()> {
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
fn an_entry_that_cannot_be_done_again_poisons_the_history() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("d")?;
    editor.history.set_modified(false)?;
    build(&mut editor)?;
    editor.history.set_modified(false)?;
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
        "step 2 of `Build` could not be put back, no redo c today; drop the entry or clear the history, and look at the target"
    );
    refused(editor.redo(), ErrorKind::Poisoned);
    refused(editor.go_to(0), ErrorKind::Poisoned);
    refused(editor.write("e"), ErrorKind::Poisoned);
    refused(editor.history.begin(""), ErrorKind::Poisoned);
    editor.history.set_modified(false)?;
    assert!(editor.history.is_modified(), "until it is known what is there");
    Ok(())
}

#[test]
fn a_poisoned_entry_is_skipped_and_the_rest_can_be_undone() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("d")?;
    build(&mut editor)?;
    editor.write("e")?;
    editor.undo()?;
    fault("undo a", Fault::Refuse);
    fault("redo c", Fault::Refuse);
    refused(editor.undo(), ErrorKind::Refused);
    logged();
    editor.history.drop_entry(&mut editor.document)?;
    let log = logged();
    assert_eq!(ends(&log), ["a Applied", "b Applied", "c Undone"], "each as it was left");
    assert!(editor.history.poison().is_none());
    assert_eq!(
        (editor.place(), editor.labels()),
        ((2, 1), vec!["Write d".into(), "Write e".into()])
    );
    for position in 0..=editor.history.entries().len() {
        assert_ne!(editor.history.saved_position(), Some(position));
    }
    editor.document.words.truncate(1);
    assert!(editor.undo()? && editor.redo()? && editor.redo()?);
    assert!(editor.history.is_modified());
    assert_eq!(editor.text(), "d e");
    refused(editor.history.drop_entry(&mut editor.document), ErrorKind::NotFound);
    Ok(())
}

#[test]
fn a_poisoned_redo_is_skipped() -> Result<()> {
    let mut editor = Editor::new();
    build(&mut editor)?;
    editor.undo()?;
    fault("redo c", Fault::Refuse);
    fault("undo a", Fault::Refuse);
    refused(editor.redo(), ErrorKind::Refused);
    let poison = editor.history.poison().expect("a poison");
    assert_eq!((poison.entry, poison.step), (Some(0), 0));
    logged();
    editor.history.drop_entry(&mut editor.document)?;
    assert_eq!(ends(&logged()), ["a Applied", "b Undone", "c Undone"]);
    assert_eq!((editor.place(), editor.text().as_str()), ((0, 0), "a"));
    assert!(editor.history.is_modified());
    Ok(())
}

#[test]
fn a_poisoned_history_can_be_cleared() -> Result<()> {
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
fn a_poisoned_entry_is_found_when_others_have_fallen_out() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("d e")?;
    build(&mut editor)?;
    fault("undo a", Fault::Refuse);
    fault("redo c", Fault::Refuse);
    refused(editor.undo(), ErrorKind::Refused);
    editor.history.set_capacity(&mut editor.document, Some(2));
    assert_eq!(editor.labels(), ["Write e", "Build"]);
    assert_eq!(editor.history.poison().expect("still").entry, Some(1));
    editor.history.drop_entry(&mut editor.document)?;
    assert_eq!(editor.labels(), ["Write e"]);
    Ok(())
}

/// Does three words through its edit, and a number directly.
struct Sign(&'static str);

impl Command<Document> for Sign {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        edit.apply(Write("a"))?;
        edit.target().selected += 1;
        let second = edit.apply(Write("b"));
        let is_last = second.is_err();
        if second.is_err() && self.0 == "swallow" {
            return Ok(());
        }
        second.and_then(|()| edit.apply(Write("c"))).inspect_err(|_| {
            assert!(is_last || self.0 != "swallow");
            edit.target().selected -= 1;
        })
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        ask("undo sign")?;
        document.selected -= 1;
        Ok(())
    }

    fn label(&self) -> Label {
        "Sign".into()
    }

    fn finalize(&mut self, _: &mut Document, end: FinalState) {
        tell(&format!("end sign {end:?}"));
    }
}

#[test]
fn a_command_that_performs_others_is_undone_and_redone_with_them() -> Result<()> {
    let mut editor = Editor::new();
    editor.apply(Sign(""))?;
    assert_eq!(
        (editor.text().as_str(), editor.document.selected, editor.place()),
        ("a b c", 1, (1, 1))
    );
    logged();
    editor.undo()?;
    assert_eq!(editor.document, Document::default());
    assert_eq!(logged(), ["undo c", "undo b", "undo sign", "undo a"]);
    editor.redo()?;
    assert_eq!((editor.text().as_str(), editor.document.selected), ("a b c", 1));
    assert_eq!(logged(), ["redo a", "redo b", "redo c"], "they are not made again");
    editor.history.clear(&mut editor.document)?;
    assert_eq!(ends(&logged()).len(), 4);
    Ok(())
}

#[test]
fn what_a_command_performed_ends_also_if_its_own_end_panics() -> Result<()> {
    let mut editor = Editor::new();
    editor.apply(Sign(""))?;
    logged();
    fault("end sign Applied", Fault::Panic);
    panics(|| editor.history.clear(&mut editor.document).unwrap());
    assert_eq!(ends(&logged()), ["sign Applied", "a Applied", "b Applied", "c Applied"]);
    Ok(())
}

#[test]
fn a_command_of_which_a_part_fails_is_as_before() -> Result<()> {
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
fn a_part_that_breaks_in_a_redo_poisons_also_if_the_command_goes_on() -> Result<()> {
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
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        edit.target().selected += 1;
        let inner = edit.apply(Inner);
        if inner.is_err() && self.0 == "swallow" {
            return Ok(());
        }
        inner.inspect_err(|_| edit.target().selected -= 1)
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        document.selected -= 1;
        Ok(())
    }
}

struct Inner;

impl Command<Document> for Inner {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        edit.apply(Write("b"))?;
        edit.apply(Write("c"))
    }

    fn undo(&mut self, _: &mut Document) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_part_that_breaks_poisons_also_if_the_command_goes_on() -> Result<()> {
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
fn a_rollback_that_fails_poisons_the_history() -> Result<()> {
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
    refused(editor.rollback(), ErrorKind::OpenTransaction);
    assert_eq!(editor.text(), "f a b c d");
    editor.history.drop_entry(&mut editor.document)?;
    assert!(editor.history.is_modified());
    assert_eq!(editor.labels(), ["Write f"]);
    Ok(())
}

#[test]
fn an_edit_whose_rollback_fails_poisons_the_history() -> Result<()> {
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
