//! Commands that do nothing, or have come to do nothing.

use persist::history::{CommandEdit, FinalState, Label};
use persist::{Command, Result};
use persist_tests::support::bytes;

use super::document::{Document, Editor, HistoryEvent, Set, Write, ends, logged, tell};

/// Appends a word; when it has been undone or redone as often, it says that it does nothing.
struct Fading {
    word: &'static str,
    left: usize,
    counts: bool,
}

impl Fading {
    fn new(word: &'static str, left: usize) -> Self {
        Self { word, left, counts: true }
    }
}

impl Command<Document> for Fading {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        edit.target().words.push(self.word.to_owned());
        Ok(())
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        self.left -= 1;
        document.words.pop();
        Ok(())
    }

    fn redo(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        self.left -= 1;
        if self.left > 0 {
            edit.target().words.push(self.word.to_owned());
        }
        Ok(())
    }

    fn label(&self) -> Label {
        self.word.into()
    }

    fn is_significant(&self) -> bool {
        self.counts
    }

    fn is_obsolete(&self) -> bool {
        self.left == 0
    }

    fn finalize(&mut self, _: &mut Document, end: FinalState) {
        tell(&format!("end {} {end:?}", self.word));
    }
}

#[test]
fn a_command_that_an_undo_makes_obsolete_is_removed() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a")?;
    editor.apply(Fading::new("b", 1))?;
    editor.write("c")?;
    editor.undo()?;
    logged();
    let events = editor.listen();
    editor.undo()?;
    assert_eq!(editor.place(), (2, 1));
    assert_eq!(editor.labels(), ["Write a", "Write c"]);
    assert_eq!(ends(&logged()), ["b Undone"]);
    let told = events.take();
    assert!(told.contains(&HistoryEvent::Position(1)), "{told:?}");
    assert!(!told.contains(&HistoryEvent::RedoText("Redo b".into())), "{told:?}");
    editor.redo()?;
    assert_eq!(editor.text(), "a c");
    Ok(())
}

#[test]
fn the_saved_point_is_lost_if_it_is_beyond_an_obsolete_command() -> Result<()> {
    for (saved, kept) in [(0, Some(0)), (1, Some(1)), (2, None), (3, None)] {
        let mut editor = Editor::new();
        for position in 0..=3 {
            match position {
                0 => {}
                2 => editor.apply(Fading::new("b", 1))?,
                _ => editor.write(if position == 1 { "a" } else { "c" })?,
            }
            if position == saved {
                editor.history.set_modified(false)?;
            }
        }
        editor.go_to(1)?;
        assert_eq!(editor.place(), (2, 1));
        assert_eq!(editor.history.saved_position(), kept, "saved at {saved}");
        editor.redo()?;
        assert!(editor.history.is_modified(), "saved at {saved}");
    }
    Ok(())
}

#[test]
fn the_saved_point_stays_if_the_obsolete_command_does_not_count() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a")?;
    editor.apply(Fading { counts: false, ..Fading::new("b", 1) })?;
    editor.write("c")?;
    editor.history.set_modified(false)?;
    editor.go_to(0)?;
    assert_eq!(editor.history.saved_position(), Some(2));
    editor.go_to(2)?;
    assert!(!editor.history.is_modified());
    Ok(())
}

#[test]
fn a_command_that_a_redo_makes_obsolete_is_removed_and_the_position_stays() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a")?;
    editor.apply(Fading::new("b", 2))?;
    editor.write("c")?;
    editor.history.set_modified(false)?;
    editor.go_to(1)?;
    logged();
    let events = editor.listen();
    assert!(editor.redo()?);
    assert_eq!((editor.place(), editor.text().as_str()), ((2, 1), "a"));
    assert_eq!(ends(&logged()), ["b Applied"]);
    assert_eq!(events.take(), [HistoryEvent::RedoText("Redo Write c".into())]);
    assert_eq!(editor.history.saved_position(), None);
    editor.redo()?;
    assert!(editor.history.is_modified());
    Ok(())
}

#[test]
fn a_redo_of_the_last_command_that_becomes_obsolete_is_told() -> Result<()> {
    let mut editor = Editor::new();
    editor.apply(Fading::new("a", 2))?;
    editor.undo()?;
    let events = editor.listen();
    editor.redo()?;
    assert_eq!(
        events.take(),
        [HistoryEvent::CanRedo(false), HistoryEvent::RedoText(String::new())]
    );
    assert!(editor.history.entries().len() == 0);
    Ok(())
}

#[test]
fn a_jump_over_obsolete_commands_ends_behind_the_entry_that_was_meant() -> Result<()> {
    for to in 0..=4 {
        let mut editor = Editor::new();
        editor.apply(Fading::new("a", 2))?;
        editor.write("b")?;
        editor.apply(Fading::new("c", 2))?;
        editor.write("d")?;
        editor.go_to(0)?;
        editor.go_to(to)?;
        let behind = ["", "", "b", "b", "b d"];
        assert_eq!(editor.text(), behind[to], "to {to}");
        assert_eq!(editor.history.entries().len(), 4 - to.div_ceil(2), "to {to}");
    }
    for to in 0..=3 {
        let mut editor = Editor::new();
        editor.write("a")?;
        editor.apply(Fading::new("b", 1))?;
        editor.apply(Fading::new("c", 1))?;
        editor.go_to(to)?;
        assert_eq!(editor.text(), ["", "a", "a b", "a b c"][to]);
        assert_eq!(editor.place(), (to.max(1), to));
    }
    Ok(())
}

#[test]
fn a_command_that_does_nothing_is_not_done_and_cuts_nothing() -> Result<()> {
    let mut editor = Editor::new();
    editor.set("x", 3)?;
    editor.write("a")?;
    editor.undo()?;
    logged();
    let (before, events) = (editor.state(), editor.listen());
    editor.apply(Set::of(&editor.document, "x", 3))?;
    editor.history.edit(&mut editor.document, "Same", |edit| edit.apply(Set::of(edit, "x", 3)))?;
    editor.history.edit(&mut editor.document, "Nothing", |_| Ok(()))?;
    assert_eq!(editor.state(), before);
    assert_eq!((logged(), events.take()), (vec![], vec![]));
    assert!(editor.redo()?);
    Ok(())
}

/// Does so many of its words; none of them directly.
struct Several(usize);

impl Command<Document> for Several {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        (0..self.0).try_for_each(|_| edit.apply(Write("a")))
    }

    fn undo(&mut self, _: &mut Document) -> Result<()> {
        tell("undone though it did nothing itself");
        Ok(())
    }
}

#[test]
fn a_command_that_did_nothing_when_it_was_done_cuts_nothing() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    editor.undo()?;
    let before = editor.state();
    editor.apply(Several(0))?;
    assert_eq!(editor.state(), before);
    editor.apply(Several(2))?;
    assert_eq!(editor.place(), (2, 2));
    logged();
    editor.undo()?;
    assert_eq!(logged(), ["undo a", "undo a"]);
    editor.redo()?;
    assert_eq!(editor.text(), "a a a");
    Ok(())
}

#[test]
fn a_command_that_does_nothing_is_no_part_of_a_transaction() -> Result<()> {
    let mut editor = Editor::new();
    editor.history.begin("")?;
    editor.set("x", 0)?;
    editor.write("a")?;
    editor.apply(Several(0))?;
    editor.commit()?;
    assert_eq!(editor.history.undo_text(), "Undo Write a");
    logged();
    editor.undo()?;
    assert_eq!(logged(), ["undo a"]);
    Ok(())
}

#[test]
fn a_part_that_becomes_obsolete_is_dropped_and_the_rest_stays() -> Result<()> {
    let mut editor = Editor::new();
    editor.history.begin("Both")?;
    editor.apply(Fading::new("b", 1))?;
    editor.write("a")?;
    editor.commit()?;
    editor.history.set_modified(false)?;
    let before = bytes(&editor.history);
    editor.undo()?;
    assert_eq!(editor.place(), (1, 0));
    assert!(bytes(&editor.history) < before);
    editor.redo()?;
    assert_eq!(editor.text(), "a");
    assert!(editor.history.is_modified(), "it is another document than the saved one");
    Ok(())
}
