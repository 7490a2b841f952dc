//! Undo, redo and journals.

use persist::history::{Flush, Proof};
use persist::storage::Memory;
use persist::{History, Persist, Session, World};
use rand::Rng as _;

use crate::random;
use crate::worlds::{Place, any_object, saves, seen};

pub(crate) fn undo_and_redo_are_exact() {
    let mut random = random(6);
    let (mut world, mut history) = (World::new(), History::new(None));
    let mut states = vec![seen(&world)];
    for step in 0..300_u16 {
        let object = any_object(&world, &mut random);
        let number = random.r#gen::<f32>();
        history
            .edit(&mut world, "Change", |edit| match (object, step % 4) {
                (Some(object), 0) if step % 12 == 0 => edit.remove(object),
                (Some(object), 1) => edit.rename(object, &format!("Name {step}")).map(drop),
                (Some(object), 2) if edit.get::<Place>(object).is_ok() => {
                    edit.get_mut::<Place>(object)?.x = number;
                    Ok(())
                }
                _ => {
                    let object = edit.spawn("Thing")?;
                    edit.attach(object, Place { x: number, y: 1.0 })
                }
            })
            .unwrap();
        if history.position() == states.len() {
            states.push(seen(&world));
        }
    }
    for position in (0..states.len() - 1).rev() {
        assert!(history.undo(&mut world).unwrap());
        assert_eq!(seen(&world), states[position]);
    }
    for state in &states[1..] {
        assert!(history.redo(&mut world).unwrap());
        assert_eq!(&seen(&world), state);
    }
}

#[derive(Persist, Default, Clone, Debug, PartialEq)]
struct Text {
    lines: Vec<String>,
    title: String,
}

/// A page that is closed drops nothing: what the journal has is all that the next one finds.
pub(crate) fn a_session_in_memory_loses_no_edit() {
    let disk = Memory::default();
    let mut expected = Text::default();
    for round in 0..20_usize {
        let mut history = History::new(None);
        history.set_proof(Proof::Off);
        let saves = saves().storage(disk.clone());
        let options = Session::<Text>::with(saves, history).flush(Flush::EveryEdit);
        let (mut session, recovered) = options.open("text.sav", "text.journal").unwrap();
        assert!(recovered.stopped.is_none());
        assert_eq!(*session.target(), expected);
        for line in 0..5_usize {
            let text = format!("{round}.{line}");
            session.insert_element("Text:lines", line, &*text).unwrap();
            expected.lines.insert(line, text);
        }
        session.set_field("Text:title", format!("Round {round}")).unwrap();
        expected.title = format!("Round {round}");
        assert!(session.undo().unwrap() && session.redo().unwrap());
        match round % 3 {
            0 => drop(session.save().unwrap()),
            1 => drop(session),
            _ => session.flush().unwrap(),
        }
    }
}
