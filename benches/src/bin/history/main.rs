//! Compares a history with `undo` and `undo_2`: a field of one of a thousand objects is set, that is taken back and done again.
#![forbid(unsafe_code)]

#[path = "../../harness.rs"]
mod harness;

mod ours;
mod rivals;
mod subject;

use harness::{Contender, measure};
use ours::{ByCommand, Creature, OfWorld};
use rivals::{OfUndo, OfUndo2};
use subject::{EDITS, Subject, Transform, check};

fn main() {
    let rounds = std::env::args().nth(1).and_then(|rounds| rounds.parse().ok()).unwrap_or(31);
    harness::steady_heap();
    let mut few: Vec<(&str, Box<dyn Subject>)> = vec![
        ("undo, a command", Box::new(OfUndo::new())),
        ("undo_2, a command", Box::new(OfUndo2::new())),
        ("persist, a command", Box::new(ByCommand::new())),
        ("persist, `set` of a field", Box::new(OfWorld::<Transform>::by_path())),
        ("persist, `edit` of a component", Box::new(OfWorld::<Transform>::by_edit())),
    ];
    tables("one of 3 fields", &mut few, rounds);
    let mut many: Vec<(&str, Box<dyn Subject>)> = vec![
        ("persist, `set` of a field", Box::new(OfWorld::<Creature>::by_path())),
        ("persist, `edit` of a component", Box::new(OfWorld::<Creature>::by_edit())),
    ];
    tables("one of 20 fields", &mut many, rounds);
}

type Phase = fn(&mut (dyn Subject + 'static));

fn tables(what: &str, subjects: &mut [(&'static str, Box<dyn Subject>)], rounds: u32) {
    for (name, subject) in &mut *subjects {
        check(name, &mut **subject);
    }
    // Each begins where the run before has left off.
    let phases: [(&str, Phase, Phase); 4] = [
        ("apply", |subject| subject.clear(), |subject| subject.apply_all()),
        ("undo", |subject| subject.redo_all(), |subject| subject.undo_all()),
        ("redo", |subject| subject.undo_all(), |subject| subject.redo_all()),
        ("drag", |subject| subject.clear(), |subject| subject.drag()),
    ];
    for (phase, prepare, run) in phases {
        println!("| {phase}, {what}, ns | | ratio |\n|---|---|---|");
        let contenders = subjects
            .iter_mut()
            .map(|(name, subject)| Contender::prepared(name, &mut **subject, prepare, run))
            .collect();
        let mut first = None;
        for (name, micros) in measure(contenders, rounds) {
            let first = *first.get_or_insert(micros);
            let each = micros * 1000.0 / EDITS as f64;
            println!("| {name} | {each:.1} | {:.2} |", micros / first);
        }
        println!();
    }
}
