//! What is not merged: over the time that has passed, and over the borders of transactions.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use persist::Result;
use persist::history::MergeWindow;

use super::document::{Add, Document, Editor, logged};

/// A clock.
#[derive(Clone)]
struct Time(Arc<Mutex<Duration>>);

impl Time {
    fn get(&self) -> Duration {
        *self.0.lock().expect("nobody panicked")
    }

    fn set(&self, time: Duration) {
        *self.0.lock().expect("nobody panicked") = time;
    }
}

/// A history whose clock is this one.
fn timed(window: Option<Duration>) -> (Editor, Time) {
    let mut editor = Editor::new();
    let time = Time(Arc::new(Mutex::new(Duration::from_secs(1))));
    let clock = time.clone();
    let measured = MergeWindow::with_clock(Duration::MAX, move || clock.get());
    editor.history.set_merge_window(measured);
    editor.history.set_merge_window(window);
    (editor, time)
}

#[test]
fn edits_within_the_window_since_the_last_one_are_merged() -> Result<()> {
    let (mut editor, time) = timed(Some(Duration::from_millis(500)));
    for (milliseconds, len) in [(0, 1), (499, 1), (499, 1), (500, 2), (100, 2)] {
        time.set(time.get() + Duration::from_millis(milliseconds));
        editor.set("x", editor.document.number("x") + 1)?;
        assert_eq!(editor.history.entries().len(), len);
    }
    // A clock that goes back ends nothing.
    time.set(Duration::ZERO);
    editor.set("x", 100)?;
    assert_eq!(editor.history.entries().len(), 2);
    Ok(())
}

#[test]
fn without_a_window_and_with_one_of_zero_nothing_is_merged() -> Result<()> {
    for window in [None, Some(Duration::ZERO)] {
        let (mut editor, _) = timed(window);
        editor.set("x", 1)?;
        editor.set("x", 2)?;
        assert_eq!(editor.history.entries().len(), 2);
    }
    Ok(())
}

#[test]
fn what_was_done_before_a_window_is_set_is_not_merged() -> Result<()> {
    let (mut editor, _) = timed(None);
    editor.set("x", 1)?;
    editor.history.set_merge_window(Some(Duration::MAX));
    editor.set("x", 2)?;
    editor.set("x", 3)?;
    assert_eq!(editor.history.entries().len(), 2);
    Ok(())
}

#[test]
fn the_window_holds_in_transactions_as_well() -> Result<()> {
    let (mut editor, time) = timed(Some(Duration::from_millis(500)));
    editor.history.begin("")?;
    editor.set("x", 1)?;
    time.set(time.get() + Duration::from_secs(1));
    editor.set("x", 2)?;
    editor.set("x", 3)?;
    editor.commit()?;
    logged();
    editor.undo()?;
    assert_eq!(logged(), ["undo x=3", "undo x=1"]);
    Ok(())
}

#[test]
fn edits_in_a_transaction_are_merged() -> Result<()> {
    let mut editor = Editor::new();
    editor.history.begin("Drag")?;
    for new in 1..100 {
        editor.set("x", new)?;
    }
    editor.set("y", 1)?;
    editor.set("y", 0)?;
    editor.apply(Add("z", 1))?;
    editor.commit()?;
    logged();
    editor.undo()?;
    assert_eq!(logged(), ["undo z+1", "undo x=99"]);
    assert_eq!(editor.document, Document::default());
    Ok(())
}

#[test]
fn nothing_is_merged_over_the_border_of_a_transaction() -> Result<()> {
    let mut editor = Editor::new();
    editor.set("x", 1)?;
    editor.history.begin("")?;
    editor.set("x", 2)?;
    editor.commit()?;
    assert_eq!(editor.place(), (2, 2));
    editor.set("x", 3)?;
    assert_eq!(editor.place(), (3, 3));
    editor.history.begin("")?;
    editor.commit()?;
    editor.set("x", 4)?;
    assert_eq!(editor.place(), (4, 4), "also if it was empty");
    Ok(())
}

#[test]
fn nothing_is_merged_over_the_border_of_an_inner_transaction() -> Result<()> {
    let mut editor = Editor::new();
    editor.history.begin("")?;
    editor.set("x", 1)?;
    editor.history.begin("")?;
    editor.set("x", 2)?;
    editor.commit()?;
    editor.set("x", 3)?;
    editor.commit()?;
    logged();
    editor.undo()?;
    assert_eq!(logged(), ["undo x=3", "undo x=2", "undo x=1"]);
    Ok(())
}

#[test]
fn the_end_of_a_drag_holds_in_a_transaction() -> Result<()> {
    let mut editor = Editor::new();
    editor.history.begin("")?;
    editor.set("x", 1)?;
    editor.apart();
    editor.set("x", 2)?;
    editor.commit()?;
    logged();
    editor.undo()?;
    assert_eq!(logged(), ["undo x=2", "undo x=1"]);
    Ok(())
}
