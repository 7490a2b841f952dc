//! Edits that become one entry, and what keeps them apart.

use persist::history::{Capacity, CommandEdit, Merge};
use persist::{Command, Result};
use persist_tests::support::bytes;

use super::document::{Add, Document, Editor, HistoryEvent, Set, ask, ends, logged};

#[test]
fn edits_of_the_same_field_are_one_entry() -> Result<()> {
    let mut editor = Editor::new();
    editor.set("x", 1)?;
    let state = editor.history.state();
    let events = editor.listen();
    logged();
    editor.set("x", 2)?;
    assert_eq!(logged(), ["apply x=2", "merge x=2", "end x=2 Merged"]);
    assert_eq!(editor.place(), (1, 1));
    assert_ne!(editor.history.state(), state);
    assert_eq!(
        events.take(),
        [
            HistoryEvent::State(editor.history.state()),
            HistoryEvent::UndoText("Undo Set x to 2".into())
        ]
    );
    editor.set("x", 3)?;
    editor.undo()?;
    assert_eq!(editor.document, Document::default(), "as before the first");
    editor.redo()?;
    assert_eq!(editor.document.number("x"), 3);
    Ok(())
}

#[test]
fn edits_that_do_not_go_together_are_entries_of_their_own() -> Result<()> {
    let mut editor = Editor::new();
    editor.set("x", 1)?;
    editor.set("y", 1)?;
    editor.write("a a")?;
    editor.apply(Add("y", 1))?;
    assert_eq!(editor.place(), (5, 5));
    Ok(())
}

#[test]
fn edits_of_different_labels_are_entries_of_their_own() -> Result<()> {
    let mut editor = Editor::new();
    let mut set = |label: &str, new| {
        let set = Set::of(&editor.document, "x", new);
        editor.history.edit(&mut editor.document, label, |edit| edit.apply(set))
    };
    set("Move", 1)?;
    set("Move", 2)?;
    set("Turn", 3)?;
    set("", 4)?;
    assert_eq!(editor.labels(), ["Move", "Turn", "Set x to 4"]);
    Ok(())
}

#[test]
fn nothing_is_merged_into_the_saved_state() -> Result<()> {
    let mut editor = Editor::new();
    editor.set("x", 1)?;
    editor.history.set_modified(false)?;
    editor.set("x", 2)?;
    assert_eq!(editor.place(), (2, 2));
    editor.undo()?;
    editor.set("x", 3)?;
    assert_eq!(editor.place(), (2, 2));
    assert_eq!(editor.history.saved_position(), Some(1));
    editor.undo()?;
    assert_eq!(editor.document.number("x"), 1);
    Ok(())
}

#[test]
fn nothing_is_merged_behind_an_undo_a_redo_or_a_jump() -> Result<()> {
    type Move = fn(&mut Editor) -> Result<()>;
    let moves: [(Move, usize); 4] = [
        (|editor| editor.undo().map(|_| ()), 2),
        (|editor| editor.undo().and_then(|_| editor.redo()).map(|_| ()), 3),
        (|editor| editor.go_to(1), 2),
        (|editor| editor.go_to(0).and_then(|()| editor.go_to(2)), 3),
    ];
    for (at, (go, len)) in moves.into_iter().enumerate() {
        let mut editor = Editor::new();
        editor.set("x", 1)?;
        editor.apart();
        editor.set("x", 2)?;
        go(&mut editor)?;
        logged();
        editor.set("x", 5)?;
        assert_eq!(editor.place(), (len, len), "move {at}");
        let cut = if len == 2 { vec!["x=2 Undone"] } else { vec![] };
        assert_eq!(ends(&logged()), cut, "move {at}");
        assert!(!editor.history.can_redo());
    }
    Ok(())
}

#[test]
fn a_merge_back_to_the_start_removes_the_entry() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a")?;
    editor.history.set_modified(false)?;
    let state = editor.history.state();
    editor.set("x", 1)?;
    editor.set("x", 2)?;
    logged();
    let events = editor.listen();
    editor.set("x", 0)?;
    assert_eq!(editor.place(), (1, 1));
    assert_eq!(
        events.take(),
        [
            HistoryEvent::Position(1),
            HistoryEvent::State(state),
            HistoryEvent::UndoText("Undo Write a".into()),
            HistoryEvent::Modified(false),
        ]
    );
    assert_eq!(ends(&logged()), ["x=0 Merged", "x=0 Merged"], "both have ended");
    assert_eq!(editor.document.numbers.len(), 0);
    // The entry before is not merged into.
    editor.set("x", 4)?;
    assert_eq!(editor.place(), (2, 2));
    Ok(())
}

#[test]
fn what_comes_behind_a_removed_entry_is_not_merged_into_the_one_before_it() -> Result<()> {
    let mut editor = Editor::new();
    editor.set("x", 1)?;
    editor.apart();
    editor.set("x", 2)?;
    editor.set("x", 1)?;
    assert_eq!(editor.place(), (1, 1));
    editor.set("x", 3)?;
    assert_eq!(editor.place(), (2, 2));
    editor.undo()?;
    assert_eq!(editor.document.number("x"), 1);
    Ok(())
}

#[test]
fn the_first_entry_is_removed_by_a_merge_back_to_the_start() -> Result<()> {
    let mut editor = Editor::new();
    editor.set("x", 1)?;
    let events = editor.listen();
    editor.set("x", 0)?;
    assert_eq!(editor.place(), (0, 0));
    assert!(!editor.history.is_modified() && !editor.history.can_undo());
    assert_eq!(bytes(&editor.history), 0);
    assert!(events.take().contains(&HistoryEvent::CanUndo(false)));
    assert!(!editor.undo()?);
    Ok(())
}

#[test]
fn an_entry_that_cut_others_stays_behind_a_merge_back_to_the_start() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    editor.undo()?;
    editor.history.set_modified(false)?;
    let state = editor.history.state();
    editor.set("x", 1)?;
    assert!(!editor.history.can_redo());
    editor.set("x", 0)?;
    assert_eq!(editor.labels(), ["Write a", "Set x to 1"], "else the next undo took back `a`");
    assert_eq!((editor.history.state(), editor.history.is_modified()), (state, false));
    assert_eq!(editor.history.saved_position(), Some(2));
    logged();
    assert!(editor.undo()?);
    assert_eq!((editor.text(), logged()), ("a".into(), vec![]));
    assert!(editor.redo()?);
    assert_eq!((editor.text(), logged()), ("a".into(), vec![]));
    // Another one has cut nothing, and goes.
    editor.set("x", 1)?;
    editor.set("x", 0)?;
    assert_eq!(editor.place(), (2, 2));
    let sum: usize = editor.history.entries().map(|entry| entry.bytes).sum();
    assert_eq!(bytes(&editor.history), sum);
    Ok(())
}

#[test]
fn another_field_in_between_breaks_the_chain() -> Result<()> {
    let mut editor = Editor::new();
    for name in ["x", "y", "x", "x"] {
        editor.set(name, editor.document.number(name) + 1)?;
    }
    assert_eq!(editor.labels(), ["Set x to 1", "Set y to 1", "Set x to 3"]);
    Ok(())
}

#[test]
fn a_merge_keeps_the_first_old_and_the_last_new_value() -> Result<()> {
    let mut editor = Editor::new();
    editor.set("x", 7)?;
    editor.apart();
    for new in [8, 3, 9] {
        editor.set("x", new)?;
    }
    logged();
    editor.undo()?;
    assert_eq!((editor.document.number("x"), logged()), (7, vec!["undo x=9".to_owned()]));
    editor.redo()?;
    assert_eq!((editor.document.number("x"), logged()), (9, vec!["apply x=9".to_owned()]));
    Ok(())
}

#[test]
fn a_drag_of_ten_thousand_moves_is_one_entry_of_one_size() -> Result<()> {
    let mut editor = Editor::new();
    editor.set("x", 1)?;
    let before = bytes(&editor.history);
    logged();
    let memory = allocation_counter::measure(|| {
        for new in 2..10_000 {
            editor.set("x", new).unwrap();
            logged();
        }
    });
    assert_eq!((editor.place(), bytes(&editor.history)), ((1, 1), before));
    assert!(memory.bytes_current < 1_000, "{memory:?}");
    assert_eq!(editor.document.number("x"), 9_999);
    editor.undo()?;
    assert_eq!(editor.document, Document::default());
    Ok(())
}

/// A word that grows by what is typed.
struct Type(String);

impl Command<Document> for Type {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        edit.target().words.push(self.0.clone());
        Ok(())
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        document.words.truncate(document.words.len() - self.0.len());
        Ok(())
    }

    fn redo(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        edit.target().words.extend(self.0.chars().map(String::from));
        Ok(())
    }

    fn merge(&mut self, next: &Self) -> Result<Merge> {
        ask("merge")?;
        if self.0.len() == 3 {
            return Ok(Merge::No);
        }
        self.0.push_str(&next.0);
        Ok(Merge::Yes)
    }

    fn held_bytes(&self) -> usize {
        self.0.len() * 1_000
    }
}

#[test]
fn a_command_decides_how_much_it_takes_in() -> Result<()> {
    let mut editor = Editor::new();
    for letter in ["a", "b", "c", "d", "e"] {
        editor.apply(Type(letter.into()))?;
    }
    assert_eq!(editor.place(), (2, 2));
    editor.undo()?;
    assert_eq!(editor.text(), "a b c");
    editor.redo()?;
    assert_eq!(editor.text(), "a b c d e");
    Ok(())
}

#[test]
fn what_is_merged_counts_in_the_budget_of_bytes() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a")?;
    editor
        .history
        .set_capacity(&mut editor.document, Capacity { bytes: Some(2_900), ..Capacity::default() });
    editor.apply(Type("b".into()))?;
    assert_eq!(editor.place(), (2, 2));
    editor.apply(Type("c".into()))?;
    assert_eq!(editor.place(), (2, 2));
    editor.apply(Type("d".into()))?;
    assert_eq!(editor.place(), (1, 1));
    assert!(bytes(&editor.history) > 3_000);
    Ok(())
}
