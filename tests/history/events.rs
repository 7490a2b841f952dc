//! What listeners are told, and what menus say.

use std::sync::{Arc, Mutex};

use persist::history::{CommandEdit, Label};
use persist::{Command, History, Result};

use super::document::{Document, Editor, Events, Fault, HistoryEvent, Write, fault, panics};

/// In the order in which events of one call come.
fn rank(event: &HistoryEvent) -> usize {
    match event {
        HistoryEvent::Position(_) => 0,
        HistoryEvent::State(_) => 1,
        HistoryEvent::CanUndo(_) => 2,
        HistoryEvent::UndoText(_) => 3,
        HistoryEvent::CanRedo(_) => 4,
        HistoryEvent::RedoText(_) => 5,
        HistoryEvent::Modified(_) => 6,
    }
}

/// Whether an event says what the getter says.
fn is_true(event: &HistoryEvent, history: &History<Document>) -> bool {
    match event {
        HistoryEvent::Position(position) => *position == history.position(),
        HistoryEvent::State(state) => *state == history.state(),
        HistoryEvent::CanUndo(can_undo) => *can_undo == history.can_undo(),
        HistoryEvent::UndoText(text) => *text == history.undo_text(),
        HistoryEvent::CanRedo(can_redo) => *can_redo == history.can_redo(),
        HistoryEvent::RedoText(text) => *text == history.redo_text(),
        HistoryEvent::Modified(is_modified) => *is_modified == history.is_modified(),
    }
}

/// Calls of every sort.
fn session(editor: &mut Editor, mut each: impl FnMut(&str, &Editor)) -> Result<()> {
    type Call = fn(&mut Editor) -> Result<()>;
    let calls: [(&str, Call); 16] = [
        ("write", |editor| editor.write("a")),
        ("set", |editor| editor.set("x", 1)),
        ("merge", |editor| editor.set("x", 2)),
        ("save", |editor| editor.history.set_modified(false)),
        ("undo", |editor| editor.undo().map(|_| ())),
        ("save nothing", |editor| editor.history.set_modified(true)),
        ("go to", |editor| editor.go_to(0)),
        ("redo", |editor| editor.redo().map(|_| ())),
        ("begin", |editor| editor.history.begin("Build")),
        ("write in it", |editor| editor.write("b")),
        ("commit", |editor| editor.commit()),
        ("begin again", |editor| editor.history.begin("Build")),
        ("write again", |editor| editor.write("b")),
        ("roll back", |editor| editor.rollback()),
        ("shrink", |editor| {
            editor.history.set_capacity(&mut editor.document, Some(1));
            Ok(())
        }),
        ("clear", |editor| editor.history.clear(&mut editor.document)),
    ];
    for (name, call) in calls {
        call(editor)?;
        each(name, editor);
    }
    Ok(())
}

#[test]
fn events_come_in_one_order_and_say_what_the_getters_say() -> Result<()> {
    let mut editor = Editor::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    editor.history.subscribe({
        let heard = Arc::clone(&heard);
        move |event, history| {
            let event = HistoryEvent::heard(event, history);
            assert!(is_true(&event, history), "{event:?} of {history:?}");
            heard.lock().expect("nobody panicked").push(rank(&event));
        }
    });
    let mut count = 0;
    session(&mut editor, |name, _| {
        let heard = std::mem::take(&mut *heard.lock().expect("nobody panicked"));
        assert!(heard.is_sorted_by(|a, b| a < b), "{name}: {heard:?}");
        count += heard.len();
    })?;
    assert!(count > 40, "{count}");
    Ok(())
}

#[test]
fn an_event_comes_only_if_its_value_is_another_one() -> Result<()> {
    let mut editor = Editor::new();
    let events = editor.listen();
    let mut last = [const { None }; 7];
    session(&mut editor, |name, _| {
        for event in events.take() {
            let rank = rank(&event);
            assert_ne!(last[rank].as_ref(), Some(&event), "{name}");
            last[rank] = Some(event);
        }
    })?;
    let mut editor = Editor::new();
    editor.write("a b c")?;
    let events = editor.listen();
    editor.undo()?;
    editor.undo()?;
    let can: Vec<_> =
        events.take().into_iter().filter(|event| [2, 4].contains(&rank(event))).collect();
    assert_eq!(can, [HistoryEvent::CanRedo(true)], "two undos, and it can still be undone");
    Ok(())
}

#[test]
fn every_value_that_changes_is_told() -> Result<()> {
    let mut editor = Editor::new();
    let events = editor.listen();
    let mut told = [
        HistoryEvent::Position(0),
        HistoryEvent::State(0),
        HistoryEvent::CanUndo(false),
        HistoryEvent::UndoText(String::new()),
        HistoryEvent::CanRedo(false),
        HistoryEvent::RedoText(String::new()),
        HistoryEvent::Modified(false),
    ];
    session(&mut editor, |name, editor| {
        for event in events.take() {
            let rank = rank(&event);
            told[rank] = event;
        }
        for event in &told {
            assert!(is_true(event, &editor.history), "{name}: {event:?}");
        }
    })
}

#[test]
fn menus_say_undo_and_what() -> Result<()> {
    let mut editor = Editor::new();
    editor.apply(Write("a"))?;
    assert_eq!(editor.history.undo_text(), "Undo Write a");
    editor.undo()?;
    assert_eq!(editor.history.redo_text(), "Redo Write a");
    editor.apply(super::document::Add("x", 1))?;
    assert_eq!(editor.history.undo_text(), "Undo Add", "of a command without a label");
    editor.undo()?;
    assert_eq!(editor.history.redo_text(), "Redo Add");
    Ok(())
}

/// Has no label, and a type with a path of its own in what it is generic over.
struct Put<F>(usize, F);

impl<F: Fn(u8) -> Option<u8> + Send + 'static> Command<Document> for Put<F> {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        if self.1(0).is_some() {
            edit.target().selected += 1;
        }
        ["a", "b"].iter().take(self.0).try_for_each(|word| edit.apply(Write(word)))
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        document.selected -= 1;
        Ok(())
    }
}

#[test]
fn a_command_without_a_label_is_called_after_what_it_performs_or_its_type() -> Result<()> {
    let mut editor = Editor::new();
    let none: fn(u8) -> Option<u8> = |_| None;
    editor.apply(Put(1, none))?;
    editor.apply(Put(2, none))?;
    editor.apply(Put(1, Some::<u8> as fn(u8) -> Option<u8>))?;
    editor.history.edit(&mut editor.document, "", |edit| {
        edit.apply(Put(2, none))?;
        edit.apply(Put(0, Some))
    })?;
    assert_eq!(
        editor.labels(),
        ["Write a", "Write a and 1 more", "Put", "Write a and 1 more and 1 more"]
    );
    fault("apply a", Fault::Panic);
    panics(|| editor.apply(Put(1, |_| Some(0))).unwrap());
    let message = editor.undo().unwrap_err().to_string();
    assert!(message.starts_with("step 0 of `Put` could not be put back"), "{message}");
    Ok(())
}

#[test]
fn a_list_may_say_more_than_a_menu() -> Result<()> {
    let mut editor = Editor::new();
    let label = Label::from("Write `a` at the end").action("Write");
    editor.history.edit(&mut editor.document, label, |edit| edit.apply(Write("a")))?;
    assert_eq!(editor.history.undo_text(), "Undo Write");
    assert_eq!(editor.labels(), ["Write `a` at the end"]);
    let entry = editor.history.entries().next().unwrap();
    assert_eq!((entry.index, entry.is_applied, entry.is_saved), (0, true, false));
    assert_eq!(entry.state, editor.history.state());
    Ok(())
}

#[test]
fn a_merge_is_told() -> Result<()> {
    let mut editor = Editor::new();
    editor.set("x", 1)?;
    let events = editor.listen();
    editor.set("x", 2)?;
    let state = HistoryEvent::State(editor.history.state());
    assert_eq!(events.take(), [state, HistoryEvent::UndoText("Undo Set x to 2".into())]);
    Ok(())
}

#[test]
fn a_merge_back_to_the_start_tells_all_that_has_changed_by_it() -> Result<()> {
    let mut editor = Editor::new();
    editor.set("x", 1)?;
    let events = editor.listen();
    editor.set("x", 0)?;
    assert_eq!(editor.history.entries().len(), 0);
    let expected = [
        HistoryEvent::Position(0),
        HistoryEvent::State(editor.history.state()),
        HistoryEvent::CanUndo(false),
        HistoryEvent::UndoText(String::new()),
        HistoryEvent::Modified(false),
    ];
    assert_eq!(events.take(), expected);
    Ok(())
}

#[test]
fn a_listener_asks_the_history_and_cannot_change_it() -> Result<()> {
    let history = Arc::new(Mutex::new(History::new(10)));
    let mut document = Document::default();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let locked = || history.lock().expect("nobody panicked");
    locked().subscribe({
        let (history, seen) = (Arc::clone(&history), Arc::clone(&seen));
        move |_, now| {
            assert!(history.try_lock().is_err());
            let mut seen = seen.lock().expect("nobody panicked");
            seen.push((now.entries().len(), now.undo_text(), now.entries().count()));
        }
    });
    locked().apply(&mut document, Write("a"))?;
    let seen = seen.lock().expect("nobody panicked");
    assert_eq!(seen.len(), 5, "{seen:?}");
    assert!(seen.iter().all(|seen| *seen == (1, "Undo Write a".to_owned(), 1)));
    Ok(())
}

#[test]
fn a_listener_that_is_unsubscribed_hears_nothing_more() -> Result<()> {
    let mut editor = Editor::new();
    let first = editor.listen();
    let second = Events::default();
    let heard = second.clone();
    let subscription = editor
        .history
        .subscribe(move |event, history| heard.push(HistoryEvent::heard(event, history)));
    editor.write("a")?;
    assert_eq!(first.take(), second.take());
    subscription.end();
    editor.write("b")?;
    assert!(!first.take().is_empty());
    assert_eq!(second.take(), []);
    Ok(())
}

#[test]
fn a_listener_that_panics_loses_no_other_its_events() -> Result<()> {
    let mut editor = Editor::new();
    let mut is_due = true;
    editor.history.subscribe(move |_, _| {
        if std::mem::take(&mut is_due) {
            panic!("on purpose");
        }
    });
    let events = editor.listen();
    panics(|| editor.write("a").unwrap());
    assert_eq!(events.take().len(), 5);
    assert_eq!((editor.place(), editor.text().as_str()), ((1, 1), "a"));
    assert!(editor.history.poison().is_none());
    editor.undo()?;
    assert!(!events.take().is_empty());
    Ok(())
}

#[test]
fn the_children_of_an_entry_are_what_it_is_composed_of() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a")?;
    super::document::build(&mut editor)?;
    let children = |editor: &Editor, index| {
        let labels = editor.history.children(index);
        labels.into_iter().map(|label| label.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(children(&editor, 0), [""; 0], "one thing is not composed");
    assert_eq!(children(&editor, 1), ["Write a", "Write b", "Write c"]);
    assert_eq!(children(&editor, 2), [""; 0], "there is none");
    editor.undo()?;
    assert_eq!(children(&editor, 1).len(), 3, "as long as it can be redone");
    editor.history.begin("Dialog")?;
    assert_eq!(children(&editor, 1), [""; 0], "nothing can be redone");
    Ok(())
}

#[test]
fn any_entry_is_found_in_constant_time_from_both_ends() -> Result<()> {
    let mut editor = Editor::new();
    editor.write("a b c d e")?;
    editor.undo()?;
    let at = |n| editor.history.entries().nth(n).map(|entry| (entry.index, entry.is_applied));
    assert_eq!(
        (at(0), at(3), at(4), at(5)),
        (Some((0, true)), Some((3, true)), Some((4, false)), None)
    );
    let mut entries = editor.history.entries();
    assert_eq!(entries.nth_back(1).map(|entry| entry.index), Some(3));
    assert_eq!((entries.len(), entries.next().map(|entry| entry.index)), (3, Some(0)));
    assert_eq!(entries.map(|entry| entry.index).collect::<Vec<_>>(), [1, 2]);
    Ok(())
}
