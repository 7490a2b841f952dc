//! Done, undone and redone, one after the other.

use std::sync::{Arc, Mutex};

use persist_tests::support::bytes;

use persist::history::CommandEdit;
use persist::{Command, Error, ErrorKind, History, Result};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use super::document::{Document, Editor, Fault, HistoryEvent, ask, ends, fault, logged, refused};

#[test]
fn an_empty_history_undoes_and_redoes_nothing() -> Result<()> {
    for history in [History::new(5), History::new(0), History::new(None)] {
        let mut editor = Editor::with(history);
        let events = editor.listen();
        assert!(!editor.undo()?);
        assert!(!editor.redo()?);
        editor.go_to(0)?;
        let history = &editor.history;
        assert!(!history.is_modified() && !history.can_undo() && !history.can_redo());
        assert_eq!((history.undo_text(), history.redo_text()), (String::new(), String::new()));
        assert_eq!((history.entries().len(), history.position(), bytes(history)), (0, 0, 0));
        assert!(history.entries().len() == 0 && history.entries().next().is_none());
        assert_eq!(events.take(), []);
        assert_eq!(editor.document, Document::default());
    }
    Ok(())
}

#[test]
fn a_command_is_done_once_and_is_the_current_entry() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a")?;
    assert_eq!(logged(), ["apply a", "half a"]);
    assert_eq!(editor.place(), (1, 1));
    assert!(editor.history.is_modified() && editor.history.can_undo());
    assert_eq!(editor.text(), "a");
    Ok(())
}

#[test]
fn undo_and_redo_run_one_command_each() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    logged();
    assert!(editor.undo()?);
    assert_eq!(logged(), ["undo b"]);
    assert_eq!((editor.text().as_str(), editor.place()), ("a", (2, 1)));
    assert!(editor.redo()?);
    assert_eq!(logged(), ["redo b"]);
    assert_eq!((editor.text().as_str(), editor.place()), ("a b", (2, 2)));
    let events = editor.listen();
    assert!(!editor.redo()?);
    assert_eq!(logged(), [""; 0]);
    assert_eq!(events.take(), []);
    Ok(())
}

#[test]
fn a_new_edit_cuts_what_was_undone() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b c")?;
    editor.undo()?;
    editor.undo()?;
    logged();
    editor.write("d")?;
    assert_eq!(editor.place(), (2, 2));
    assert_eq!(editor.labels(), ["Write a", "Write d"]);
    assert!(!editor.history.can_redo());
    let log = logged();
    assert_eq!(ends(&log), ["c Undone", "b Undone"]);
    assert_eq!(log.len(), 4, "only `apply d` and `half d` besides: {log:?}");
    Ok(())
}

#[test]
fn entries_are_undone_in_reverse_and_redone_in_order() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b c")?;
    logged();
    while editor.undo()? {}
    assert_eq!(logged(), ["undo c", "undo b", "undo a"]);
    while editor.redo()? {}
    assert_eq!(logged(), ["redo a", "redo b", "redo c"]);
    Ok(())
}

#[test]
fn undoing_all_and_redoing_all_leads_back_to_every_state() -> Result<()> {
    for seed in 0..50 {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut editor = Editor::new();
        let mut states = vec![editor.document.clone()];
        for _ in 0..random.gen_range(0..30) {
            match random.gen_range(0..3) {
                0 => editor.write(["a", "b", "c"][random.gen_range(0..3)])?,
                1 => editor.set(["x", "y"][random.gen_range(0..2)], random.gen_range(0..5))?,
                _ => editor.history.edit(&mut editor.document, "", |edit| {
                    edit.apply(super::document::Add("x", 2))?;
                    edit.apply(super::document::Add("y", -3))
                })?,
            }
            editor.apart();
            if editor.history.position() == states.len() {
                states.push(editor.document.clone());
            }
        }
        assert_eq!(editor.history.entries().len() + 1, states.len());
        for state in states.iter().rev().skip(1) {
            assert!(editor.undo()?);
            assert_eq!(editor.document, *state);
        }
        for state in &states[1..] {
            assert!(editor.redo()?);
            assert_eq!(editor.document, *state);
        }
    }
    Ok(())
}

#[test]
fn go_to_does_what_as_many_undos_and_redos_do() -> Result<()> {
    for (from, to) in (0..=4).flat_map(|from| (0..=4).map(move |to| (from, to))) {
        let mut stepped = Editor::new();
        stepped.write("a b c d")?;
        while stepped.history.position() > from {
            stepped.undo()?;
        }
        logged();
        while stepped.history.position() > to {
            stepped.undo()?;
        }
        while stepped.history.position() < to {
            stepped.redo()?;
        }
        let steps = logged();

        let mut editor = Editor::new();
        editor.write("a b c d")?;
        editor.go_to(from)?;
        logged();
        let events = editor.listen();
        editor.go_to(to)?;
        assert_eq!(logged(), steps);
        assert_eq!(editor.state(), stepped.state());
        let events = events.take();
        let positions: Vec<_> =
            events.iter().filter(|event| matches!(event, HistoryEvent::Position(_))).collect();
        if from == to {
            assert_eq!(events, []);
        } else {
            assert_eq!(positions, [&HistoryEvent::Position(to)], "from {from}");
        }
    }
    Ok(())
}

#[test]
fn go_to_where_there_is_nothing_is_an_error_and_does_nothing() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b")?;
    editor.undo()?;
    let (before, events) = (editor.state(), editor.listen());
    let message = refused(editor.go_to(3), ErrorKind::NotFound);
    assert_eq!(message, "there is no position 3; there are those from 0 to 2");
    refused(editor.go_to(usize::MAX), ErrorKind::NotFound);
    assert_eq!(editor.state(), before);
    assert_eq!(events.take(), []);
    Ok(())
}

#[test]
fn redo_on_a_fresh_history_does_nothing_and_the_next_edit_is_the_first_entry() -> Result<()> {
    for capacity in 1..5 {
        let mut editor = Editor::of(capacity);
        assert!(!editor.redo()?);
        assert!(!editor.undo()?);
        editor.write("a")?;
        assert_eq!(editor.place(), (1, 1));
        assert_eq!(editor.labels(), ["Write a"]);
        editor.undo()?;
        // All undone is not the same as empty.
        assert_eq!(editor.place(), (1, 0));
        assert!(editor.redo()?);
        assert_eq!(editor.text(), "a");
        editor.undo()?;
        assert_eq!(editor.text(), "");
    }
    Ok(())
}

/// Makes the last word upper case; what it was is captured when it is done first.
#[derive(Default)]
struct Shout {
    was: Option<String>,
}

impl Command<Document> for Shout {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        let gone = || Error::new(ErrorKind::NotFound, "there is no word");
        let last = edit.target().words.last_mut().ok_or_else(gone)?;
        let loud = last.to_uppercase();
        self.was = Some(std::mem::replace(last, loud));
        ask("captured")
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        document.words.pop();
        document.words.extend(self.was.clone());
        Ok(())
    }

    fn redo(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        let loud = self.was.as_ref().map(|was| was.to_uppercase());
        let words = &mut edit.target().words;
        words.pop();
        words.extend(loud);
        ask("not captured")
    }
}

#[test]
fn a_redo_of_its_own_does_not_capture_what_was_there_again() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a")?;
    editor.apply(Shout::default())?;
    logged();
    for _ in 0..3 {
        assert_eq!(editor.text(), "A");
        editor.undo()?;
        assert_eq!(editor.text(), "a");
        editor.redo()?;
    }
    assert_eq!(logged(), ["not captured"; 3]);
    Ok(())
}

#[test]
fn clear_drops_the_entries_and_leaves_the_document() -> Result<()> {
    let mut editor = Editor::new();
    let events = editor.listen();
    editor.history.clear(&mut editor.document)?;
    assert_eq!(events.take(), []);
    editor.write("a b c")?;
    editor.undo()?;
    logged();
    events.take();
    editor.history.clear(&mut editor.document)?;
    assert_eq!(editor.place(), (0, 0));
    assert_eq!((editor.text().as_str(), bytes(&editor.history)), ("a b", 0));
    let mut log = logged();
    log.sort();
    assert_eq!(log, ["end a Applied", "end b Applied", "end c Undone"]);
    assert_eq!(
        events.take(),
        [
            HistoryEvent::Position(0),
            HistoryEvent::CanUndo(false),
            HistoryEvent::UndoText(String::new()),
            HistoryEvent::CanRedo(false),
            HistoryEvent::RedoText(String::new()),
        ]
    );
    editor.history.clear(&mut editor.document)?;
    assert_eq!(events.take(), []);
    Ok(())
}

/// Asks the history, in which it is done itself, to do something.
struct Reenter(Arc<Mutex<History<Document>>>);

impl Command<Document> for Reenter {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        let Ok(mut history) = self.0.try_lock() else {
            return Err(Error::new(ErrorKind::Borrowed, "the history is in use"));
        };
        history.undo(edit.target()).map(|_| ())
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        document.words.clear();
        Ok(())
    }
}

/// That a program without a `Mutex` does not even compile is tested at `History::edit`.
#[test]
fn a_command_cannot_use_the_history_that_runs_it() -> Result<()> {
    let history = Arc::new(Mutex::new(History::new(10)));
    let mut document = Document::default();
    let locked = || history.lock().expect("nobody panicked");
    locked().apply(&mut document, super::document::Write("a"))?;
    let before: Vec<_> = locked().entries().collect();
    let refusal = locked().apply(&mut document, Reenter(Arc::clone(&history)));
    refused(refusal, ErrorKind::Borrowed);
    assert_eq!(locked().entries().collect::<Vec<_>>(), before);
    assert_eq!(document.text(), "a");
    assert!(locked().undo(&mut document)?);
    Ok(())
}

#[test]
fn an_error_that_a_command_meets_leaves_no_trace_in_the_next_call() -> Result<()> {
    let mut editor = Editor::new();
    fault("apply a", Fault::Refuse);
    refused(editor.write("a"), ErrorKind::Refused);
    editor.write("a")?;
    assert_eq!((editor.text().as_str(), editor.place()), ("a", (1, 1)));
    Ok(())
}
