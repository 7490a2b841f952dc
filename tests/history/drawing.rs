//! A drawing program: transactions by closures, elements of lists, and edits of parts that merge.

use std::panic::{AssertUnwindSafe, catch_unwind};

use persist::history::{Capacity, CommandEdit};
use persist::{Command, Error, ErrorKind, History, Persist, Result, Saves, Session, field};

use rand::{Rng, SeedableRng};
use rand_pcg::Lcg64Xsh32;

use crate::mirror::DocumentMirror;

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
            let mut history = History::new(200);
            let mirror = DocumentMirror::of(&Drawing::default(), &mut history);
            Session::<Drawing>::with(Saves::new(), history)
                .open(&paths.0, &paths.1)
                .map(|(session, _)| (session, mirror))
        };
        let (mut session, mut mirror) = open()?;
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
                    (session, mirror) = open()?;
                }
            }
            mirror.compare(session.target(), &format!("seed {seed}, step {number}"));
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

/// Shapes with a name each, and layers that have their names in common with two others.
fn selection() -> Drawing {
    let mut drawing = Drawing { shapes: (0..4000).map(shape).collect(), ..Drawing::default() };
    drawing.layers = (0..900).map(|layer| format!("layer {}", layer % 300)).collect();
    drawing
}

#[test]
fn an_edit_of_many_elements_is_recorded_by_what_it_changed() -> Result<()> {
    let (mut drawing, mut history) = (selection(), History::new(None));
    let mirror = DocumentMirror::of(&drawing, &mut history);
    let mut random = Lcg64Xsh32::seed_from_u64(5);
    let mut states = vec![drawing.clone()];
    for round in 0..30 {
        history.edit(&mut drawing, "Delete", |drawing| {
            drawing.shapes.retain(|_| !random.gen_bool(0.05));
            for number in 0..random.gen_range(0..90) {
                let at = random.gen_range(0..=drawing.shapes.len());
                drawing.shapes.insert(at, shape(10_000 * round + number));
            }
            for _ in 0..random.gen_range(0..90) {
                let at = random.gen_range(0..drawing.shapes.len());
                drawing.shapes[at].x += 1.0;
            }
            for _ in 0..random.gen_range(0..90) {
                let at = random.gen_range(0..drawing.layers.len());
                match round % 2 {
                    0 => _ = drawing.layers.remove(at),
                    _ => drawing.layers.insert(at, format!("layer {at}")),
                }
            }
            Ok(())
        })?;
        states.push(drawing.clone());
    }
    let sizes = history.entries().map(|entry| entry.bytes).max();
    assert!(sizes.is_some_and(|bytes| bytes < 150_000), "{sizes:?} bytes; a list has 80,000");
    for _ in 0..300 {
        let position = random.gen_range(0..states.len());
        history.go_to(&mut drawing, position)?;
        assert_eq!(drawing, states[position]);
        mirror.compare(&drawing, "after a jump");
    }
    Ok(())
}

thread_local! {
    /// The number of the element whose drop panics.
    static FRAGILE: std::cell::Cell<Option<u32>> = const { std::cell::Cell::new(None) };
}

#[derive(Persist, Default, Clone, Debug, PartialEq)]
struct Fragile(u32);

impl Drop for Fragile {
    fn drop(&mut self) {
        let fragile = FRAGILE.get().is_some_and(|number| number == self.0);
        assert!(!fragile || std::thread::panicking(), "the drop of {}", self.0);
    }
}

#[derive(Persist, Default, Debug, PartialEq)]
struct Shelf {
    glasses: Vec<Fragile>,
}

#[test]
fn a_panic_in_the_drop_of_one_of_many_elements_leaves_the_list_as_it_was() -> Result<()> {
    for count in [1, 2, 50] {
        let (mut shelf, mut history) = (Shelf::default(), History::new(100));
        history.edit(&mut shelf, "Fill", |shelf| {
            shelf.glasses.extend((0..count).map(Fragile));
            Ok(())
        })?;
        let numbers = |shelf: &Shelf| shelf.glasses.iter().map(|it| it.0).collect::<Vec<_>>();
        FRAGILE.set(Some(count / 2));
        let undone = catch_unwind(AssertUnwindSafe(|| history.undo(&mut shelf)));
        FRAGILE.set(None);
        assert!(undone.is_err(), "{count} glasses");
        assert_eq!(numbers(&shelf), (0..count).collect::<Vec<_>>());
        assert_eq!(history.poison().map(|poison| poison.why.clone()), Some("it panicked".into()));
        history.clear(&mut shelf)?;
        history.edit(&mut shelf, "Empty", |shelf| {
            shelf.glasses.clear();
            Ok(())
        })?;
        history.undo(&mut shelf)?;
        assert_eq!(numbers(&shelf), (0..count).collect::<Vec<_>>());
    }
    Ok(())
}

/// A field of a random part, or the part that has it.
fn painted(
    random: &mut Lcg64Xsh32,
    drawing: &mut Drawing,
    history: &mut History<Drawing>,
) -> Result<()> {
    let index = random.gen_range(0..40_usize);
    let number = random.gen_range(0..5_u8);
    let name = format!("name {number}");
    match random.gen_range(0..7) {
        0 => history.edit_at(drawing, field!(Drawing.shapes[index]), "", |shape: &mut Shape| {
            *shape = Shape { x: f32::from(number), name };
            Ok(())
        }),
        1 => history.set_field(drawing, field!(Drawing.title), name).map(drop),
        2 => history.set_field(drawing, field!(Drawing.layers[index]), name).map(drop),
        3 => history.set_field(drawing, field!(Drawing.shapes[index].name), name).map(drop),
        _ => {
            history.set_field(drawing, field!(Drawing.shapes[index].x), f32::from(number)).map(drop)
        }
    }
}

#[test]
fn a_drag_that_paints_keeps_one_change_of_each_field() -> Result<()> {
    let mut random = Lcg64Xsh32::seed_from_u64(8);
    for round in 0..40 {
        let mut drawing = Drawing { shapes: (0..40).map(shape).collect(), ..Drawing::default() };
        drawing.layers = vec![String::new(); 40];
        let (before, mut history) = (drawing.clone(), History::new(100));
        let mirror = DocumentMirror::of(&drawing, &mut history);
        let drag = history.begin_drag("Paint");
        for _ in 0..300 {
            painted(&mut random, &mut drawing, &mut history)?;
        }
        history.end_drag(drag);
        let after = drawing.clone();
        assert_eq!(history.entries().len(), 1, "round {round}");
        history.undo(&mut drawing)?;
        assert_eq!(drawing, before, "round {round}");
        history.redo(&mut drawing)?;
        assert_eq!(drawing, after, "round {round}");
        mirror.compare(&drawing, "a drag, undone and redone");
    }
    // However often and in which order the same fields are painted, the entry is that of painting them once.
    let mut sizes = Vec::new();
    for times in [1_u8, 3] {
        let mut drawing = Drawing { shapes: (0..500).map(shape).collect(), ..Drawing::default() };
        let mut history = History::new(100);
        let drag = history.begin_drag("Paint");
        for time in 0..times {
            for index in 0..500_usize {
                let index = if time % 2 == 0 { index } else { 499 - index };
                let x = f32::from(time) + 2.0;
                history.set_field(&mut drawing, field!(Drawing.shapes[index].x), x)?;
            }
        }
        history.end_drag(drag);
        sizes.push(history.entries().map(|entry| entry.bytes).collect::<Vec<_>>());
    }
    assert_eq!(sizes[0], sizes[1]);
    Ok(())
}

#[derive(Persist, Clone, Debug, PartialEq)]
struct Console {
    memory: [u8; 2048],
    rows: [[u16; 40]; 30],
    cartridge: Option<Vec<u32>>,
}

#[test]
fn a_byte_of_an_array_is_recorded_by_itself() -> Result<()> {
    let mut random = Lcg64Xsh32::seed_from_u64(2);
    let mut console =
        Console { memory: [7; 2048], rows: [[0; 40]; 30], cartridge: Some(vec![1; 900]) };
    let (mut history, mut states) = (History::new(None), vec![console.clone()]);
    let mirror = DocumentMirror::of(&console, &mut history);
    for step in 0..300 {
        history.edit(&mut console, "Poke", |console| {
            let count = if step % 50 == 49 { 800 } else { random.gen_range(1..4) };
            for _ in 0..count {
                let at = random.gen_range(0..900_usize);
                match random.gen_range(0..3) {
                    0 => console.memory[2 * at] = console.memory[2 * at].wrapping_add(1),
                    1 => console.rows[at / 40][at % 40] += 1,
                    _ => console.cartridge.iter_mut().for_each(|words| words[at] += 1),
                }
            }
            match step {
                100 => console.cartridge = None,
                150 => console.cartridge = Some(vec![2; 900]),
                200 => console.cartridge.iter_mut().for_each(|words| words.insert(0, 3)),
                _ => {}
            }
            Ok(())
        })?;
        // Some pokes find no cartridge, and an edit without an effect is no entry.
        if states.last() != Some(&console) {
            states.push(console.clone());
        }
    }
    let bytes: Vec<_> = history.entries().map(|entry| entry.bytes).collect();
    let largest = (0..48).map(|step| bytes[step]).max();
    assert!(largest.is_some_and(|bytes| bytes < 1_200), "{largest:?}");
    for _ in 0..200 {
        let position = random.gen_range(0..states.len());
        history.go_to(&mut console, position)?;
        assert_eq!(console, states[position], "position {position}");
        mirror.compare(&console, "after a jump");
    }
    Ok(())
}

#[test]
fn a_drag_that_is_cancelled_leaves_nothing_behind() -> Result<()> {
    let (mut drawing, mut history) = (drawing(), History::new(100));
    history.set_field(&mut drawing, field!(Drawing.title), "Kept")?;
    let before = (drawing.clone(), history.state());
    let drag = history.begin_drag("Move");
    for x in 0..9_u8 {
        history.set_field(&mut drawing, field!(Drawing.shapes[1].x), f32::from(x))?;
        history.remove_element(&mut drawing, field!(Drawing.shapes), 5)?;
        history.insert_element(&mut drawing, field!(Drawing.shapes), 0, {
            let mut new = persist::Record::new("Shape");
            new.set("x", 2.0_f32);
            new.set("name", "new");
            new
        })?;
    }
    assert_eq!(history.entries().len(), 2);
    history.cancel_drag(&mut drawing, drag)?;
    assert_eq!((drawing.clone(), history.state()), before);
    assert_eq!((history.entries().len(), history.can_redo()), (1, false));

    // Without an edit, after its end, after an undo, and beside another drag there is nothing to revert.
    let drag = history.begin_drag("Move");
    history.cancel_drag(&mut drawing, drag)?;
    let first = history.begin_drag("First");
    history.set_field(&mut drawing, field!(Drawing.title), "One")?;
    let second = history.begin_drag("Second");
    history.cancel_drag(&mut drawing, first)?;
    assert_eq!(drawing.title, "One");
    history.set_field(&mut drawing, field!(Drawing.title), "Two")?;
    history.undo(&mut drawing)?;
    history.cancel_drag(&mut drawing, second)?;
    assert_eq!((&*drawing.title, history.can_redo()), ("One", true));

    let drag = history.begin_drag("Move");
    history.begin("Open")?;
    history.set_field(&mut drawing, field!(Drawing.title), "In it")?;
    let error = history.cancel_drag(&mut drawing, drag).expect_err("a transaction is open");
    assert_eq!(error.kind(), ErrorKind::OpenTransaction);
    history.rollback(&mut drawing)?;
    assert_eq!(drawing.title, "One");
    Ok(())
}

#[test]
fn a_cancelled_drag_is_not_in_the_next_session() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (save, journal) = (folder.path().join("a.sav"), folder.path().join("a.journal"));
    let open = || Session::<Drawing>::with(Saves::new(), History::new(9)).open(&save, &journal);
    let (mut session, _) = open()?;
    session.set_field(field!(Drawing.title), "Kept")?;
    let drag = session.begin_drag("Move");
    for title in ["a", "b", "c"] {
        session.set_field(field!(Drawing.title), title)?;
    }
    session.cancel_drag(drag)?;
    // The next session reads a copy, as after a crash: nothing of this one runs any more.
    let copy = folder.path().join("copy.journal");
    std::fs::copy(&journal, &copy)?;
    let saves = Session::<Drawing>::with(Saves::new(), History::new(9));
    let (next, _) = saves.open(folder.path().join("none.sav"), &copy)?;
    assert_eq!(next.target().title, "Kept");
    assert_eq!((next.history().entries().len(), next.history().can_redo()), (1, false));
    Ok(())
}

#[test]
fn edits_that_leave_the_drawing_unmodified_are_undone_and_reopened_like_others() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let paths = (folder.path().join("drawing.sav"), folder.path().join("drawing.journal"));
    let open = || {
        let options = Session::<Drawing>::with(Saves::new(), History::new(100));
        options.open(&paths.0, &paths.1).map(|(session, _)| session)
    };
    let seen = |session: &Session<Drawing>| {
        let history = session.history();
        let labels: Vec<_> = history.entries().map(|entry| entry.label.to_string()).collect();
        (labels, history.is_modified(), history.state(), history.saved_position())
    };
    let select = |session: &mut Session<Drawing>, title: &str| {
        session.insignificant(|session| session.set_field(field!(Drawing.title), title).map(drop))
    };
    let mut session = open()?;
    session.edit("Fill", |drawing| {
        *drawing = self::drawing();
        Ok(())
    })?;
    session.save()?;
    let state = session.history().state();
    select(&mut session, "A")?;
    session.insignificant(|session| {
        session.transaction("Both", |session| {
            session.set_field(field!(Drawing.title), "B")?;
            session.remove_element(field!(Drawing.shapes), 0)
        })
    })?;
    assert_eq!((session.history().is_modified(), session.history().state()), (false, state));
    // After a panic, edits count again.
    let panic = catch_unwind(AssertUnwindSafe(|| session.insignificant(|_| panic!("enough"))));
    assert!(panic.is_err());
    let before = seen(&session);
    drop(session);
    session = open()?;
    assert_eq!(seen(&session), before, "recovered from the edits");
    session.save()?;
    drop(session);
    session = open()?;
    assert_eq!(seen(&session), before, "recovered from the entries");
    session.undo()?;
    session.undo()?;
    assert_eq!((&*session.target().title, session.target().shapes.len()), ("Plan", 9));
    assert!(!session.history().is_modified());
    session.undo()?;
    assert!(session.history().is_modified());
    session.go_to(3)?;
    session.set_field(field!(Drawing.title), "C")?;
    assert!(session.history().is_modified());
    // One that joins another makes it no less significant, nor does a part of a transaction.
    let drag = session.begin_drag("Drag");
    session.set_field(field!(Drawing.shapes[0].x), 7.0)?;
    session.save()?;
    session.end_drag(drag);
    session.transaction("Mixed", |session| {
        select(session, "D")?;
        session.set_field(field!(Drawing.shapes[0].x), 8.0).map(drop)
    })?;
    assert!(session.history().is_modified());
    Ok(())
}

#[test]
fn a_splice_is_one_entry_or_nothing_and_a_command_is_found_in_its_entry() -> Result<()> {
    let mut random = Lcg64Xsh32::seed_from_u64(3);
    let mut drawing = Drawing { layers: vec!["a".into(), "b".into()], ..Drawing::default() };
    let mut history = History::new(None);
    let mut states = vec![drawing.layers.clone()];
    for step in 0..60 {
        let mut plain = drawing.layers.clone();
        let (one, two) = (random.gen_range(0..=plain.len()), random.gen_range(0..=plain.len()));
        let range = one.min(two)..one.max(two);
        let new: Vec<_> = (0..random.gen_range(0..5)).map(|at| format!("{step} {at}")).collect();
        let values = new.iter().map(|name| name.as_str().into());
        history.splice(&mut drawing, field!(Drawing.layers), range.clone(), values)?;
        plain.splice(range, new);
        assert_eq!(drawing.layers, plain);
        if history.position() == states.len() {
            states.push(plain);
        }
    }
    let count = drawing.layers.len();
    let too_far = history.splice(&mut drawing, field!(Drawing.layers), 0..count + 1, []);
    assert_eq!(too_far.expect_err("there are fewer").kind(), ErrorKind::NotFound);
    assert_eq!(drawing.layers.len(), count);
    for position in (0..states.len()).rev().chain(0..states.len()) {
        history.go_to(&mut drawing, position)?;
        assert_eq!(drawing.layers, states[position]);
    }
    history.apply(&mut drawing, Retitle("New".into()))?;
    let last = history.entries().len() - 1;
    assert_eq!(history.command::<Retitle>(last).map(|command| &*command.0), Some(""));
    assert!(history.command::<Retitle>(0).is_none() && history.command::<Retitle>(99).is_none());
    Ok(())
}
