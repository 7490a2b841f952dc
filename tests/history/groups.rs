//! Several histories, one of which is active.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use persist::history::{Histories, HistoryEvent};
use persist::{Result, World, field};

use super::document::Editor;
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
