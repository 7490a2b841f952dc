//! The saved point.

use persist::{ErrorKind, Result};

use super::document::{Editor, Events, HistoryEvent, logged, refused};

/// Whether the document counts as modified, of each time that this changed.
fn told(events: &Events) -> Vec<bool> {
    let is_modified = |event| match event {
        HistoryEvent::Modified(is_modified) => Some(is_modified),
        _ => None,
    };
    events.take().into_iter().filter_map(is_modified).collect()
}

#[test]
fn a_new_history_is_saved_unless_it_is_said_not_to_be() -> Result<()> {
    let mut editor = Editor::new();
    assert!(!editor.history.is_modified());
    assert_eq!(editor.history.saved_position(), Some(0));
    editor.history.set_modified(true)?;
    assert!(editor.history.is_modified());
    assert_eq!(editor.history.saved_position(), None);
    editor.write("a")?;
    editor.undo()?;
    assert!(editor.history.is_modified());
    Ok(())
}

#[test]
fn the_saved_state_is_found_from_below_and_from_above() -> Result<()> {
    let mut editor = Editor::new();
    let events = editor.listen();
    editor.write("a")?;
    assert_eq!(told(&events), [true]);
    editor.history.set_modified(false)?;
    assert_eq!(told(&events), [false]);
    editor.undo()?;
    assert_eq!(told(&events), [true]);
    editor.redo()?;
    assert_eq!(told(&events), [false]);
    editor.write("b")?;
    assert_eq!(told(&events), [true]);
    editor.undo()?;
    assert_eq!(told(&events), [false]);
    assert_eq!(editor.history.saved_position(), Some(1));
    Ok(())
}

/// To look through the entries each time would take minutes.
#[test]
fn the_saved_state_is_found_at_once_in_a_long_history() -> Result<()> {
    const ENTRIES: usize = 30_000;
    let mut editor = Editor::new();
    for _ in 0..ENTRIES {
        editor.write("a")?;
        logged();
    }
    editor.history.set_modified(false)?;
    let begin = std::time::Instant::now();
    for position in (0..ENTRIES).rev() {
        editor.undo()?;
        logged();
        assert_eq!(editor.history.saved_position(), Some(ENTRIES));
        assert_eq!(editor.history.entries().next_back().map(|last| last.is_saved), Some(true));
        assert_eq!(editor.history.position(), position);
    }
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
    Ok(())
}

#[test]
fn a_saved_state_whose_branch_is_cut_is_never_reached_again() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    editor.history.set_modified(false)?;
    editor.undo()?;
    editor.write("c")?;
    assert_eq!(editor.history.saved_position(), None);
    for position in [0, 1, 2, 1, 0] {
        editor.go_to(position)?;
        assert!(editor.history.is_modified(), "at {position}");
    }
    editor.history.set_modified(false)?;
    assert!(!editor.history.is_modified());
    assert_eq!(editor.history.saved_position(), Some(0));
    Ok(())
}

#[test]
fn a_saved_state_among_what_is_undone_is_reached_by_redo() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    editor.history.set_modified(false)?;
    editor.go_to(0)?;
    assert_eq!(editor.history.saved_position(), Some(2));
    let is_saved: Vec<_> = editor.history.entries().map(|entry| entry.is_saved).collect();
    assert_eq!(is_saved, [false, true]);
    editor.redo()?;
    assert!(editor.history.is_modified());
    editor.redo()?;
    assert!(!editor.history.is_modified());
    Ok(())
}

#[test]
fn saving_twice_tells_once() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a")?;
    let events = editor.listen();
    editor.history.set_modified(false)?;
    editor.history.set_modified(false)?;
    assert_eq!(events.take(), [HistoryEvent::Modified(false)]);
    editor.undo()?;
    events.take();
    editor.history.set_modified(true)?;
    assert_eq!(events.take(), []);
    assert_eq!(editor.history.saved_position(), None);
    editor.redo()?;
    assert!(editor.history.is_modified());
    Ok(())
}

#[test]
fn the_saved_position_moves_down_as_the_oldest_fall_out() -> Result<()> {
    let mut editor = Editor::of(2);
    editor.write("a b")?;
    editor.history.set_modified(false)?;
    editor.write("c")?;
    assert_eq!(editor.history.saved_position(), Some(1));
    editor.write("d")?;
    assert_eq!(editor.history.saved_position(), Some(0));
    while editor.undo()? {}
    assert!(!editor.history.is_modified());
    assert_eq!(editor.text(), "a b");
    while editor.redo()? {}
    editor.write("e")?;
    assert_eq!(editor.history.saved_position(), None);
    while editor.undo()? {}
    assert!(editor.history.is_modified());
    Ok(())
}

#[test]
fn the_state_before_the_first_entry_is_lost_when_that_falls_out() -> Result<()> {
    let mut editor = Editor::of(1);
    editor.write("a")?;
    assert_eq!(editor.history.saved_position(), Some(0));
    editor.write("b")?;
    assert_eq!(editor.history.saved_position(), None);
    editor.undo()?;
    assert!(editor.history.is_modified());
    Ok(())
}

#[test]
fn another_edit_in_the_place_of_a_saved_one_is_not_saved() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a")?;
    editor.history.set_modified(false)?;
    let saved = editor.history.state();
    editor.undo()?;
    editor.write("b")?;
    assert_eq!(editor.place(), (1, 1));
    assert!(editor.history.is_modified());
    assert_ne!(editor.history.state(), saved);
    // Nor if it is the same edit: that is for the program to find out.
    editor.undo()?;
    editor.write("a")?;
    assert!(editor.history.is_modified());
    Ok(())
}

#[test]
fn an_edit_behind_the_saved_point_is_not_merged_into_it() -> Result<()> {
    let mut editor = Editor::new();
    editor.set("x", 1)?;
    editor.history.set_modified(false)?;
    editor.set("x", 2)?;
    assert_eq!(editor.place(), (2, 2));
    assert!(editor.history.is_modified());
    editor.undo()?;
    assert_eq!(editor.document.number("x"), 1);
    assert!(!editor.history.is_modified());
    Ok(())
}

#[test]
fn clear_keeps_whether_the_document_is_modified() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a")?;
    editor.history.clear(&mut editor.document)?;
    assert!(editor.history.is_modified());
    assert_eq!(editor.history.saved_position(), None);
    editor.history.set_modified(false)?;
    editor.write("b")?;
    editor.history.set_modified(false)?;
    let events = editor.listen();
    editor.history.clear(&mut editor.document)?;
    assert!(!editor.history.is_modified());
    assert_eq!(editor.history.saved_position(), Some(0));
    assert_eq!(told(&events), [false; 0]);
    editor.write("c")?;
    editor.undo()?;
    assert!(!editor.history.is_modified());
    Ok(())
}

#[test]
fn a_command_that_does_not_count_leaves_the_document_unmodified() -> Result<()> {
    let mut editor = Editor::new();
    let events = editor.listen();
    editor.select(3)?;
    editor.undo()?;
    editor.redo()?;
    assert!(!editor.history.is_modified());
    assert_eq!(told(&events), [false; 0]);
    assert_eq!((editor.place(), editor.document.selected), ((1, 1), 3));
    Ok(())
}

#[test]
fn several_commands_count_if_one_of_them_does() -> Result<()> {
    let mut editor = Editor::new();
    editor.history.begin("Look around")?;
    editor.select(1)?;
    editor.apart();
    editor.select(2)?;
    editor.commit()?;
    assert!(!editor.history.is_modified());
    editor.history.begin("Look around and write")?;
    editor.select(3)?;
    editor.write("a")?;
    editor.commit()?;
    assert!(editor.history.is_modified());
    editor.undo()?;
    assert!(!editor.history.is_modified());
    Ok(())
}

#[test]
fn undo_over_a_command_that_does_not_count_leaves_the_state_as_it_is() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a")?;
    editor.select(3)?;
    editor.history.set_modified(false)?;
    let state = editor.history.state();
    editor.undo()?;
    assert!(!editor.history.is_modified());
    assert_eq!(editor.history.state(), state);
    assert_eq!(editor.history.saved_position(), Some(1));
    editor.undo()?;
    assert!(editor.history.is_modified());
    assert_eq!(editor.history.saved_position(), Some(1));
    editor.redo()?;
    assert!(!editor.history.is_modified());
    Ok(())
}

#[test]
fn what_does_not_count_merges_behind_the_saved_point_as_elsewhere() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a")?;
    editor.history.set_modified(false)?;
    for selected in 1..10 {
        editor.select(selected)?;
    }
    assert_eq!(editor.labels(), ["Write a", "Select"]);
    assert!(!editor.history.is_modified());
    Ok(())
}

#[test]
fn a_document_is_not_saved_in_the_middle_of_a_transaction() -> Result<()> {
    let mut editor = Editor::new();
    editor.history.begin("Build")?;
    editor.write("a")?;
    let message = refused(editor.history.set_modified(false), ErrorKind::OpenTransaction);
    assert_eq!(message, "the transaction `Build` is open; commit it or roll it back first");
    editor.commit()?;
    assert!(editor.history.is_modified());
    Ok(())
}
