//! A drawing program: transactions by closures, elements of lists, and edits of parts that merge.

use std::panic::{AssertUnwindSafe, catch_unwind};

use persist::history::{Capacity, CommandEdit};
use persist::{Command, Error, ErrorKind, History, Persist, Result, Saves, Session, field};

use rand::{Rng, SeedableRng};
use rand_pcg::Lcg64Xsh32;

#[derive(Persist, Default, Clone, Debug, PartialEq)]
struct Drawing {
    title: String,
    shapes: Vec<Shape>,
    layers: Vec<String>,
}

#[derive(Persist, Default, Clone, Debug, PartialEq)]
struct Shape {
    x: f32,
    name: String,
}

#[derive(Persist)]
struct Retitle(String);

impl Command<Drawing> for Retitle {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Drawing>) -> Result<()> {
        std::mem::swap(&mut edit.target().title, &mut self.0);
        Ok(())
    }

    fn undo(&mut self, drawing: &mut Drawing) -> Result<()> {
        std::mem::swap(&mut drawing.title, &mut self.0);
        Ok(())
    }
}

fn shape(number: u32) -> Shape {
    Shape { x: 1.0, name: number.to_string() }
}

fn drawing() -> Drawing {
    Drawing { title: "Plan".into(), shapes: (0..9).map(shape).collect(), ..Drawing::default() }
}

/// Edits of each sort that a transaction may have.
fn paste(history: &mut History<Drawing>, drawing: &mut Drawing) -> Result<()> {
    history.set_field(drawing, field!(Drawing.shapes[0].x), 5.0)?;
    history.remove_element(drawing, field!(Drawing.shapes), 1)?;
    history.move_element(drawing, field!(Drawing.shapes), 0, 2)?;
    history.edit_at(drawing, field!(Drawing.shapes[1]), "", |shape: &mut Shape| {
        shape.name.push('!');
        Ok(())
    })?;
    history.apply(drawing, Retitle("New".into()))
}

#[test]
fn a_transaction_is_one_entry_or_nothing() -> Result<()> {
    let (mut drawing, mut history) = (drawing(), History::new(100));
    let before = drawing.clone();
    history.transaction(&mut drawing, "Paste", paste)?;
    let after = drawing.clone();
    assert_eq!((history.entries().len(), &*after.title), (1, "New"));
    assert_eq!(history.undo_text(), "Undo Paste");
    history.undo(&mut drawing)?;
    assert_eq!(drawing, before);
    history.redo(&mut drawing)?;
    assert_eq!(drawing, after);

    let failed = history.transaction(&mut drawing, "Paste", |history, drawing| {
        paste(history, drawing)?;
        Err::<(), Error>("no wood".into())
    });
    let error = failed.expect_err("there is no wood");
    assert_eq!((error.kind(), error.message()), (ErrorKind::Refused, "no wood"));
    assert_eq!((&drawing, history.entries().len()), (&after, 1));

    let panic = catch_unwind(AssertUnwindSafe(|| {
        history.transaction(&mut drawing, "Paste", |history, drawing| -> Result<()> {
            paste(history, drawing)?;
            panic!("half way")
        })
    }));
    assert!(panic.is_err());
    assert_eq!((&drawing, history.entries().len()), (&after, 1));
    assert!(history.poison().is_none());
    // An empty one leaves nothing, and the history can be used.
    history.transaction(&mut drawing, "Nothing", |_, _| Ok(()))?;
    assert_eq!(history.entries().len(), 1);
    Ok(())
}

#[test]
fn a_transaction_in_another_one_is_rolled_back_alone() -> Result<()> {
    let (mut drawing, mut history) = (drawing(), History::new(100));
    history.transaction(&mut drawing, "Both", |history, drawing| {
        history.set_field(drawing, field!(Drawing.title), "A")?;
        let inner = history.transaction(drawing, "Inner", |history, drawing| {
            history.set_field(drawing, field!(Drawing.title), "B")?;
            Err::<(), Error>(format!("no {}", drawing.title).into())
        });
        assert_eq!(inner.expect_err("it fails").message(), "no B");
        assert_eq!(drawing.title, "A");
        history.transaction(drawing, "Inner", paste)
    })?;
    assert_eq!((history.entries().len(), &*drawing.title), (1, "New"));
    history.undo(&mut drawing)?;
    assert_eq!(drawing.title, "Plan");
    Ok(())
}

#[test]
fn a_transaction_that_ends_others_or_leaves_some_open_is_rolled_back() {
    for ends in [true, false] {
        let (mut drawing, mut history) = (drawing(), History::new(100));
        let result = history.transaction(&mut drawing, "Odd", |history, drawing| {
            history.set_field(drawing, field!(Drawing.title), "A")?;
            if ends { history.rollback(drawing) } else { history.begin("Inner") }
        });
        assert_eq!(result.expect_err("not in pairs").kind(), ErrorKind::OpenTransaction);
        assert_eq!((&*drawing.title, history.entries().len()), ("Plan", 0));
        assert!(history.undo(&mut drawing).is_ok_and(|is_undone| !is_undone));
    }
}

/// Elements of a list that come, go and move, compared with a plain list; undone to the start and redone.
#[test]
fn elements_do_what_those_of_a_plain_list_do() -> Result<()> {
    for seed in 0..20 {
        let mut rng = Lcg64Xsh32::seed_from_u64(seed);
        let folder = tempfile::tempdir().expect("a folder");
        let paths = (folder.path().join("drawing.sav"), folder.path().join("drawing.journal"));
        let open = || {
            Session::<Drawing>::with(Saves::new(), History::new(200))
                .open(&paths.0, &paths.1)
                .map(|(session, _)| session)
        };
        let mut session = open()?;
        let mut states = vec![Vec::<String>::new()];
        for number in 0..60 {
            let mut plain = states[session.history().position()].clone();
            let count = plain.len();
            let list = || field!(Drawing.layers);
            let position = session.history().position();
            match rng.gen_range(0..10) {
                0..=3 => {
                    let at = rng.gen_range(0..=count);
                    session.insert_element(list(), at, format!("layer {number}"))?;
                    plain.insert(at, format!("layer {number}"));
                }
                4 if count > 0 => {
                    let at = rng.gen_range(0..count);
                    session.remove_element(list(), at)?;
                    plain.remove(at);
                }
                5 | 6 if count > 1 => {
                    let (from, to) = (rng.gen_range(0..count), rng.gen_range(0..count));
                    session.move_element(list(), from, to)?;
                    let moved = plain.remove(from);
                    plain.insert(to, moved);
                }
                7 => drop(session.undo()?),
                8 => drop(session.redo()?),
                _ => {
                    let error = session.remove_element(list(), count).expect_err("too far");
                    assert_eq!(error.kind(), ErrorKind::NotFound);
                    drop(session);
                    session = open()?;
                }
            }
            if session.history().position() > position && !session.history().can_redo() {
                let is_new = states.len() == position + 1 || states[position + 1] != plain;
                if is_new && plain != states[position] {
                    states.truncate(position + 1);
                    states.push(plain);
                }
            }
            let expected = &states[session.history().position()];
            assert_eq!(&session.target().layers, expected, "seed {seed}, step {number}");
        }
    }
    Ok(())
}

#[test]
fn fields_and_parts_with_a_key_are_one_entry() -> Result<()> {
    let (mut drawing, mut history) =
        (drawing(), History::new(Capacity { entries: Some(9), bytes: None }));
    for text in ["a", "ab", "abc"] {
        history.set_field_merging(&mut drawing, "title", field!(Drawing.title), text)?;
    }
    for x in [2.0, 3.0, 4.0] {
        let path = field!(Drawing.shapes[2]);
        history.edit_at_merging(&mut drawing, ("x", 2), path, "Move", |shape: &mut Shape| {
            shape.x = x;
            Ok(())
        })?;
    }
    assert_eq!((history.entries().len(), drawing.shapes[2].x), (2, 4.0));
    history.undo(&mut drawing)?;
    assert_eq!((drawing.shapes[2].x, &*drawing.title), (1.0, "abc"));
    history.undo(&mut drawing)?;
    assert_eq!(drawing.title, "Plan");
    assert_eq!(history.capacity(), Capacity { entries: Some(9), bytes: None });
    Ok(())
}
