//! A small drawing program in the terminal, whose edits cost what they change, and which loses nothing when it crashes.
//!
//! ```text
//! cargo run --release --example draw [folder]
//! ```
//!
//! Type `help` for its commands. It prints the reports of changes, by which a canvas would repaint.

#![expect(clippy::print_stdout, reason = "it is a program to look at")]

mod drawing;

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use persist::history::{Changed, Flush, HistoryEvent};
use persist::{History, Result, Saves, Session, field, to_value};

use self::drawing::{Align, Drawing, Layer, Shape};

const HELP: &str = "\
add X Y W H INK LAYER, ink N INK, type N TEXT, raise N, delete N, copy N.., align
drag N X Y, and `drag N X Y esc`, which cancels it
layer NAME, hide NAME, drop NAME, select N.., zoom N
undo, redo, go N, list, save, crash, quit";

/// Opens the drawing in a folder, and does what is typed.
fn main() -> Result<()> {
    let folder = std::env::args().nth(1).map_or_else(|| PathBuf::from("drawing"), PathBuf::from);
    std::fs::create_dir_all(&folder)?;
    let mut history = History::new(1000);
    // Menu and canvas are right from the first event on, also after a crash.
    let menu = Arc::new(Mutex::new(String::new()));
    history.subscribe({
        let menu = Arc::clone(&menu);
        move |event, history| {
            if matches!(event, HistoryEvent::UndoText | HistoryEvent::Modified(_)) {
                let mark = if history.is_modified() { "*" } else { "" };
                *menu.lock().expect("nobody panics") = format!("{mark}[{}]", history.undo_text());
            }
        }
    });
    history.subscribe_changes(|drawing: &mut Drawing, changes| {
        for change in changes {
            match change {
                Changed::Field(field) => {
                    let edit =
                        field.element_edit().map_or("Set".into(), |edit| format!("{edit:?}"));
                    let value = field.new_value().map(|value| value.to_string());
                    println!("  {} {edit} {}", field.path(), value.unwrap_or_default());
                }
                _ => println!("  all {} shapes", drawing.shapes.len()),
            }
        }
    });
    let options = Session::<Drawing>::with(Saves::new(), history).flush(Flush::OnIdle);
    let options = options.register_command::<Align>()?;
    let (save, journal) = (folder.join("drawing.sav"), folder.join("drawing.journal"));
    let (mut session, recovered) = options.open(&save, &journal)?;
    println!("{recovered}");

    let mut input = io::stdin().lock();
    loop {
        print!("{}> ", menu.lock().expect("nobody panics"));
        io::stdout().flush()?;
        session.flush()?; // the program waits for a key, so it is idle
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 || line.trim() == "quit" {
            return Ok(());
        }
        if let Err(error) = run(&mut session, line.trim()) {
            println!("cannot: {error}");
        }
    }
}

fn run(session: &mut Session<Drawing>, line: &str) -> Result<()> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |at: usize| -> Result<usize> {
        let word = words.get(at).ok_or("a number is missing; type `help`")?;
        word.parse().map_err(|_| format!("{word} is no number").into())
    };
    let word = |at: usize| words.get(at).copied().ok_or("a word is missing; type `help`");
    let shapes = || field!(Drawing.shapes);
    match words.first().copied().unwrap_or_default() {
        "add" => {
            let shape = Shape {
                place: (number(1)?, number(2)?),
                size: (number(3)?, number(4)?),
                ink: word(5)?.chars().next().unwrap_or('#'),
                layer: word(6)?.to_owned(),
                name: String::new(),
            };
            let top = session.target().shapes.len();
            session.insert_element(shapes(), top, to_value(&shape)?)?;
        }
        "drag" => {
            let (index, to) = (number(1)?, (number(2)?, number(3)?));
            let drag = session.begin_drag("Move");
            let moved = drag_to(session, index, to);
            if moved.is_err() || words.get(4) == Some(&"esc") {
                session.cancel_drag(drag)?;
            } else {
                session.end_drag(drag);
            }
            moved?;
        }
        "ink" => {
            let (index, ink) = (number(1)?, word(2)?.chars().next().unwrap_or('#'));
            session.set_field(field!(Drawing.shapes[index].ink), ink)?;
        }
        "type" => {
            let index = number(1)?;
            for key in word(2)?.chars() {
                let name = field!(Drawing.shapes[index].name);
                session.edit_at_merging(("name", index), name, "Type", |name: &mut String| {
                    name.push(key);
                    Ok(())
                })?;
            }
        }
        "raise" => {
            let top = session.target().shapes.len().saturating_sub(1);
            session.move_element(shapes(), number(1)?, top)?;
        }
        "delete" => session.remove_element(shapes(), number(1)?)?,
        "copy" => {
            let copied = (1..words.len()).map(number).collect::<Result<Vec<_>>>()?;
            session.transaction("Paste", |session| {
                for index in copied {
                    let mut copy = session.target().shape(index)?.clone();
                    copy.place = (copy.place.0 + 2, copy.place.1 + 1);
                    let top = session.target().shapes.len();
                    session.insert_element(shapes(), top, to_value(&copy)?)?;
                }
                Ok(())
            })?;
        }
        "align" => session.apply(Align::default())?,
        "layer" => {
            let name = word(1)?;
            session.set_field(field!(Drawing.layers[name]), to_value(&Layer::default())?)?;
        }
        "hide" => {
            let name = word(1)?;
            session.edit_at(field!(Drawing.layers[name]), "Hide", |layer: &mut Layer| {
                layer.is_hidden = !layer.is_hidden;
                Ok(())
            })?;
        }
        "drop" => {
            let name = word(1)?;
            session.remove_key(field!(Drawing.layers[name]))?;
        }
        "select" => {
            let selected = (1..words.len()).map(number).collect::<Result<Vec<_>>>()?;
            session.insignificant(|session| {
                session.edit_at(field!(Drawing.selected), "Select", |old: &mut Vec<usize>| {
                    *old = selected;
                    Ok(())
                })
            })?;
        }
        "zoom" => {
            let zoom = number(1)?;
            session.aside(|session| session.set_field(field!(Drawing.zoom), zoom))?;
        }
        "undo" => _ = session.undo()?,
        "redo" => _ = session.redo()?,
        "go" => session.go_to(number(1)?)?,
        "list" => {
            for entry in session.history().entries() {
                let mark = if entry.is_applied { ' ' } else { '-' };
                println!("{mark} {} {}", entry.index + 1, entry.label);
            }
        }
        "save" => _ = session.save()?,
        "crash" => std::process::abort(),
        _ => println!("{HELP}"),
    }
    Ok(())
}

/// Moves a shape as a mouse does: many small edits, which the open drag makes one entry.
fn drag_to(session: &mut Session<Drawing>, index: usize, to: (usize, usize)) -> Result<()> {
    loop {
        let (x, y) = session.target().shape(index)?.place;
        if (x, y) == to {
            return Ok(());
        }
        let next = |from: usize, to: usize| from + usize::from(to > from) - usize::from(to < from);
        let place = field!(Drawing.shapes[index].place);
        session.edit_at(place, "", |place: &mut (usize, usize)| {
            *place = (next(x, to.0), next(y, to.1));
            Ok(())
        })?;
    }
}
