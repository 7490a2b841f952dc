//! Compares a history with `undo` and `undo_2`: a field of one of a thousand objects is set, undone and redone. Then
//! measures the edits of a document that grows.

mod documents;
mod ours;
mod rivals;
mod subject;

use ours::{ByCommand, Creature, OfWorld};
use rivals::{OfUndo, OfUndo2};
use subject::{EDITS, Subject, Transform, check};

use crate::harness::Contender;
use crate::report::Role;
use crate::run::Run;

/// Measures objects of 3 fields and of 20, and documents.
pub(crate) fn run(run: &mut Run) -> Result<(), String> {
    let mut few: Vec<(&str, Role, Box<dyn Subject>)> = vec![
        ("undo", Role::Rival, Box::new(OfUndo::new())),
        ("undo_2", Role::Rival, Box::new(OfUndo2::new())),
        ("persist, command", Role::Ours, Box::new(ByCommand::new())),
        ("persist, `set` by a path", Role::Ours, Box::new(OfWorld::<Transform>::by_path())),
        ("persist, `edit`", Role::Ours, Box::new(OfWorld::<Transform>::by_edit())),
    ];
    tables(run, "3 fields", &mut few);
    let mut many: Vec<(&str, Role, Box<dyn Subject>)> = vec![
        ("persist, `set` by a path", Role::Ours, Box::new(OfWorld::<Creature>::by_path())),
        ("persist, `edit`", Role::Ours, Box::new(OfWorld::<Creature>::by_edit())),
    ];
    tables(run, "20 fields", &mut many);
    documents::run(run)
}

type Phase = fn(&mut (dyn Subject + 'static));

fn tables(run: &mut Run, set: &str, subjects: &mut [(&'static str, Role, Box<dyn Subject>)]) {
    for (name, _, subject) in &mut *subjects {
        check(name, &mut **subject);
    }
    // Each begins where the run before has left off.
    let phases: [(&str, Phase, Phase); 4] = [
        ("apply, ns", |subject| subject.clear(), |subject| subject.apply_all()),
        ("undo, ns", |subject| subject.redo_all(), |subject| subject.undo_all()),
        ("redo, ns", |subject| subject.undo_all(), |subject| subject.redo_all()),
        ("drag, ns", |subject| subject.clear(), |subject| subject.drag()),
    ];
    let rounds = run.rounds(31);
    for (table, prepare, step) in phases {
        let contenders = subjects
            .iter_mut()
            .map(|(name, role, subject)| {
                Contender::prepared(name, *role, &mut **subject, prepare, step)
            })
            .collect();
        run.measure(table, set, EDITS as f64 / 1000.0, contenders, rounds);
    }
}
