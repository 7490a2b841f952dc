//! The cost of an edit of a document of a thousand to a million shapes, with a journal.

use std::collections::HashMap;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use persist::history::{CommandEdit, Flush, Proof};
use persist::{Command, History, Persist, Result, Saves, Session, field};

use crate::report::Role;
use crate::run::Run;

/// How many shapes.
const COUNTS: [(usize, &str); 4] =
    [(1_000, "1000"), (10_000, "10000"), (100_000, "100000"), (1_000_000, "1000000")];

/// How many shapes are deleted, painted or set in one measurement.
const SOME: usize = 200;

#[derive(Persist, Default, Clone)]
struct Shape {
    name: String,
    x: f32,
    y: f32,
    points: Vec<[f32; 2]>,
}

#[derive(Persist, Default)]
struct Drawing {
    title: String,
    selected: Vec<u32>,
    layers: Vec<Vec<Shape>>,
    /// As many entries as there are shapes.
    names: HashMap<u32, String>,
}

/// Selects a shape, by code of the program.
#[derive(Persist)]
struct Select(u32);

impl Command<Drawing> for Select {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Drawing>) -> Result<()> {
        edit.target().selected.push(self.0);
        Ok(())
    }

    fn undo(&mut self, drawing: &mut Drawing) -> Result<()> {
        drawing.selected.pop();
        Ok(())
    }
}

/// Measures each count.
pub(super) fn run(run: &mut Run) -> std::result::Result<(), String> {
    let folder = run.folder().join("drawing");
    for (count, set) in COUNTS {
        if run.is_quick() && count > 10_000 {
            break;
        }
        let mut least: Vec<(&str, f64, f64)> = Vec::new();
        for _ in 0..(300_000 / count).clamp(3, 9) {
            for (name, nanoseconds, bytes) in measured(count, &folder).map_err(|e| e.to_string())? {
                match least.iter_mut().find(|(known, ..)| *known == name) {
                    Some((_, known, _)) => *known = known.min(nanoseconds),
                    None => least.push((name, nanoseconds, bytes)),
                }
            }
        }
        for (name, nanoseconds, bytes) in least {
            run.exact("documents, us", name, set, Role::Ours, nanoseconds / 1000.0);
            // A save begins a new journal.
            if bytes > 0.0 {
                run.exact("documents, bytes of the journal", name, set, Role::Ours, bytes);
            }
        }
    }
    Ok(())
}

/// A session, and the time and the bytes in its journal of each thing that was done with it.
struct Measured<'f> {
    session: Session<Drawing>,
    folder: &'f Path,
    found: Vec<(&'static str, f64, f64)>,
}

impl Measured<'_> {
    fn take(
        &mut self,
        name: &'static str,
        act: impl FnOnce(&mut Session<Drawing>) -> Result<()>,
    ) -> Result<()> {
        let bytes = |folder: &Path| fs::metadata(folder.join("a.journal")).map_or(0, |it| it.len());
        let before = bytes(self.folder);
        let start = Instant::now();
        black_box(act(&mut self.session)?);
        let nanoseconds = start.elapsed().as_secs_f64() * 1e9;
        let grown = bytes(self.folder).saturating_sub(before);
        self.found.push((name, nanoseconds, grown as f64));
        Ok(())
    }
}

fn measured(count: usize, folder: &Path) -> Result<Vec<(&'static str, f64, f64)>> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).expect("a folder");
    let layer = |from: usize| {
        let shape = |number: usize| Shape {
            name: format!("shape {number}"),
            x: number as f32,
            y: 1.0,
            points: vec![[1.0, 2.0]; 4],
        };
        (from..from + count / 4).map(shape).collect()
    };
    let layers = (0..4).map(|number| layer(number * count / 4)).collect();
    let names = (0..count as u32).map(|number| (number, format!("name {number}"))).collect();
    let drawing = Drawing { title: String::from("Plan"), selected: Vec::new(), layers, names };
    let save = folder.join("a.sav");
    Saves::new().file(&save).save(&drawing)?;
    drop(drawing);
    let mut history = History::new(None);
    history.set_proof(Proof::Off);
    let open = |history| {
        let options = Session::<Drawing>::with(Saves::new(), history);
        let options = options.register_command::<Select>()?.flush(Flush::OnIdle);
        options.open(&save, folder.join("a.journal")).map(|(session, _)| session)
    };
    let mut it = Measured { session: open(history)?, folder, found: Vec::new() };

    it.take("save, without a history", |session| session.save().map(drop))?;
    it.take("first edit after a save", |session| {
        session.set_field(field!(Drawing.layers[0][7].x), 7.5_f32).map(drop)
    })?;
    it.take("`set_field`", |session| {
        session.set_field(field!(Drawing.layers[0][8].x), 7.5_f32).map(drop)
    })?;
    it.take("`edit_at` of a shape", |session| {
        session.edit_at(field!(Drawing.layers[1][8]), "Move", |shape: &mut Shape| {
            (shape.x, shape.y) = (5.5, 6.5);
            Ok(())
        })
    })?;
    it.take("key press", |session| {
        session.set_field_merging("typing", field!(Drawing.title), "Plans").map(drop)
    })?;
    it.take("`edit` of the whole, one number", |session| {
        session.edit("Move", |drawing| {
            drawing.layers[2][9].x = 9.5;
            Ok(())
        })
    })?;
    it.take("selection `aside`, then a move", |session| {
        let selected = persist::to_value(&vec![9_u32])?;
        session.aside(|session| session.set_field(field!(Drawing.selected), selected))?;
        session.set_field(field!(Drawing.layers[0][9].x), 6.5_f32).map(drop)
    })?;
    it.take("selection by a command", |session| session.apply(Select(5)))?;
    it.take("edit after a selection", |session| {
        session.set_field(field!(Drawing.layers[0][9].x), 7.5_f32).map(drop)
    })?;
    let every = count / 4 / SOME;
    it.take("deletion of 200 shapes", |session| {
        session.edit("Delete", |drawing| {
            let mut number = 0;
            drawing.layers[3].retain(|_| {
                number += 1;
                number % every.max(1) != 0
            });
            Ok(())
        })
    })?;
    it.take("its undo", |session| session.undo().map(drop))?;
    it.take("move of a layer of a quarter", |session| {
        session.move_element(field!(Drawing.layers), 0, 2)
    })?;
    it.take("drag that sets 200 shapes", |session| {
        let drag = session.begin_drag("Paint");
        for index in 0..SOME {
            session.set_field(field!(Drawing.layers[1][index].y), 3.5_f32)?;
        }
        session.end_drag(drag);
        Ok(())
    })?;
    it.take("its undo and redo", |session| session.undo().and(session.redo()).map(drop))?;
    let key = count as u32;
    it.take("new key of a map", |session| {
        session.set_field(field!(Drawing.names[&key]), "new").map(drop)
    })?;
    it.take("removal of a key", |session| session.remove_key(field!(Drawing.names[&5])).map(drop))?;
    it.session.save()?;
    drop(it.session);
    let mut history = History::new(None);
    history.set_proof(Proof::Off);
    // As a view that draws what has changed.
    let view = history.subscribe_changes(|_, changes| _ = black_box(changes.len()));
    it.session = open(history)?;
    it.take("`set_field`, reported", |session| {
        session.set_field(field!(Drawing.layers[0][8].y), 7.5_f32).map(drop)
    })?;
    it.take("undo of a move of a layer, reported", |session| {
        session.move_element(field!(Drawing.layers), 0, 2)?;
        session.undo().map(drop)
    })?;
    view.end();
    Ok(it.found)
}
