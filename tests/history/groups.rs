//! Several histories, one of which is active.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, mpsc};

use persist::history::{Histories, HistoryEvent};
use persist::{Result, World, field};

use super::document::{Editor, Fault, fault, panics, tell};
use super::world::scene::{Transform, transform, with};

/// The events that were reported.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<HistoryEvent>>>);

impl Heard {
    fn take(&self) -> Vec<HistoryEvent> {
        std::mem::take(&mut *self.0.lock().expect("nobody panicked"))
    }
}

/// What a group reports from now on, with the texts that it has then.
fn listen(histories: &Rc<RefCell<Histories>>) -> Heard {
    let heard = Heard::default();
    let events = heard.clone();
    histories
        .borrow_mut()
        .subscribe(move |event| events.0.lock().expect("nobody panicked").push(*event));
    heard
}

#[test]
fn the_texts_and_events_of_a_group_are_those_of_its_active_history() -> Result<()> {
    let mut editor = Editor::new();
    let (mut world, mut history, door): (World, _, _) = with(transform(0.0, 0.0));
    editor.write("a")?;
    let histories = Rc::new(RefCell::new(Histories::new()));
    let (first, second) = {
        let mut histories = histories.borrow_mut();
        (histories.add(&mut editor.history), histories.add(&mut history))
    };
    let heard = listen(&histories);
    let group = || histories.borrow();
    assert_eq!((group().active(), group().undo_text()), (None, String::new()));
    editor.write("b")?;
    assert_eq!(heard.take(), [], "none is active");

    assert!(histories.borrow_mut().set_active(Some(first)));
    assert_eq!((group().undo_text(), group().can_undo()), ("Undo Write b".into(), true));
    assert!(group().is_modified() && !group().can_redo());
    assert_eq!(
        heard.take(),
        [
            HistoryEvent::Position(2),
            HistoryEvent::State(editor.history.state()),
            HistoryEvent::CanUndo(true),
            HistoryEvent::UndoText,
            HistoryEvent::Modified(true),
        ]
    );
    editor.undo()?;
    assert_eq!(
        (group().undo_text(), group().redo_text()),
        ("Undo Write a".into(), "Redo Write b".into())
    );
    let told = heard.take();
    assert_eq!((told.first(), told.len()), (Some(&HistoryEvent::Position(1)), 5));
    history.set(&mut world, door, field!(Transform.x), 1.0)?;
    assert_eq!(heard.take(), [], "that of the other is not shown");

    histories.borrow_mut().set_active(Some(second));
    assert_eq!(
        (group().undo_text(), group().redo_text()),
        ("Undo Set Transform.x of Ada".into(), String::new())
    );
    assert_eq!(
        heard.take(),
        [HistoryEvent::UndoText, HistoryEvent::CanRedo(false), HistoryEvent::RedoText]
    );
    assert!(histories.borrow_mut().set_active(Some(second)));
    assert_eq!(heard.take(), [], "it is already");
    Ok(())
}

#[test]
fn a_history_that_is_removed_or_gone_is_none_of_a_group() -> Result<()> {
    let mut editor = Editor::new();
    let mut histories = Histories::new();
    let id = histories.add(&mut editor.history);
    histories.set_active(Some(id));
    editor.write("a")?;
    assert!(histories.remove(id) && !histories.remove(id));
    assert!(!histories.set_active(Some(id)));
    assert_eq!((histories.active(), histories.undo_text()), (None, String::new()));
    editor.write("b")?;
    let id = histories.add(&mut editor.history);
    histories.set_active(Some(id));
    assert_eq!(histories.undo_text(), "Undo Write b");
    drop(histories);
    editor.write("c")?;
    Ok(())
}

#[test]
fn a_listener_of_a_group_that_panics_keeps_no_other_from_hearing() -> Result<()> {
    let mut editor = Editor::new();
    let histories = Rc::new(RefCell::new(Histories::new()));
    let id = histories.borrow_mut().add(&mut editor.history);
    histories.borrow_mut().set_active(Some(id));
    histories.borrow_mut().subscribe(|_| tell("hear"));
    let heard = listen(&histories);
    fault("hear", Fault::Panic);
    panics(|| editor.write("a").unwrap());
    assert_eq!((editor.text().as_str(), editor.place()), ("a", (1, 1)));
    assert_eq!(
        (heard.take().first(), histories.borrow().undo_text()),
        (Some(&HistoryEvent::Position(1)), "Undo Write a".into())
    );
    editor.write("b")?;
    assert_eq!(heard.take().first(), Some(&HistoryEvent::Position(2)));
    fault("hear", Fault::Panic);
    panics(|| {
        histories.borrow_mut().set_active(None);
    });
    assert_eq!(heard.take().first(), Some(&HistoryEvent::Position(0)));
    Ok(())
}

/// The position that a menu shows.
fn shown(histories: &Mutex<Histories>) -> Arc<Mutex<usize>> {
    let shown = Arc::new(Mutex::new(0));
    let menu = Arc::clone(&shown);
    histories.lock().expect("nobody panicked").subscribe(move |event| {
        if let HistoryEvent::Position(position) = event {
            *menu.lock().expect("nobody panicked") = *position;
        }
    });
    shown
}

#[test]
fn what_a_listener_makes_active_is_heard_after_what_it_hears() -> Result<()> {
    let (mut first, mut second) = (Editor::new(), Editor::new());
    second.write("a b c")?;
    let histories = Arc::new(Mutex::new(Histories::new()));
    let in_second = {
        let mut histories = histories.lock().expect("nobody panicked");
        let in_first = histories.add(&mut first.history);
        histories.set_active(Some(in_first));
        histories.add(&mut second.history)
    };
    let before = shown(&histories);
    let group = Arc::clone(&histories);
    histories.lock().expect("nobody panicked").subscribe(move |event| {
        if *event == HistoryEvent::Position(1) {
            group.lock().expect("nobody panicked").set_active(Some(in_second));
        }
    });
    let after = shown(&histories);
    first.write("a")?;
    assert_eq!((*before.lock().unwrap(), *after.lock().unwrap()), (3, 3));
    assert_eq!(histories.lock().expect("nobody panicked").undo_text(), "Undo Write c");
    Ok(())
}

#[test]
fn what_two_threads_report_is_heard_in_one_order() -> Result<()> {
    let (mut first, mut second) = (Editor::new(), Editor::new());
    second.write("a b c")?;
    let histories = Mutex::new(Histories::new());
    let in_second = {
        let mut histories = histories.lock().expect("nobody panicked");
        let in_first = histories.add(&mut first.history);
        histories.set_active(Some(in_first));
        histories.add(&mut second.history)
    };
    let (is_heard, hears) = mpsc::channel();
    let (go_on, goes_on) = mpsc::channel();
    histories.lock().expect("nobody panicked").subscribe(move |event| {
        if *event == HistoryEvent::Position(1) {
            is_heard.send(()).expect("it is waited for");
            goes_on.recv().expect("it is sent");
        }
    });
    let shown = shown(&histories);
    std::thread::scope(|scope| {
        let edit = scope.spawn(move || first.write("a"));
        hears.recv().expect("the first event");
        // The other thread is in a listener.
        histories.lock().expect("nobody panicked").set_active(Some(in_second));
        go_on.send(()).expect("it waits");
        edit.join().expect("no panic")
    })?;
    assert_eq!(*shown.lock().unwrap(), 3);
    Ok(())
}

#[test]
fn a_history_that_is_dropped_leaves_its_group() -> Result<()> {
    let (mut editor, mut other) = (Editor::new(), Editor::new());
    editor.write("a")?;
    other.write("b")?;
    let histories = Rc::new(RefCell::new(Histories::new()));
    let (id, in_other) = {
        let mut histories = histories.borrow_mut();
        (histories.add(&mut editor.history), histories.add(&mut other.history))
    };
    histories.borrow_mut().set_active(Some(id));
    let heard = listen(&histories);
    drop(other);
    assert!(!histories.borrow_mut().set_active(Some(in_other)));
    assert_eq!((heard.take(), histories.borrow().active()), (vec![], Some(id)));
    drop(editor);
    assert_eq!(
        heard.take(),
        [
            HistoryEvent::Position(0),
            HistoryEvent::State(0),
            HistoryEvent::CanUndo(false),
            HistoryEvent::UndoText,
            HistoryEvent::Modified(false),
        ]
    );
    let histories = histories.borrow();
    assert_eq!((histories.active(), histories.can_undo()), (None, false));
    assert_eq!((histories.undo_text(), histories.is_modified()), (String::new(), false));
    Ok(())
}
