//! Sessions under a limit of bytes: a session that is opened again has the entries that it had.

use persist::history::{Capacity, CommandEdit};
use persist::{
    Command, Component, History, ObjectId, Persist, Result, Saves, Session, World, field,
};

use rand::{Rng, SeedableRng};
use rand_pcg::Lcg64Xsh32;

#[derive(Persist, Default, Clone, Debug, PartialEq)]
struct Plan {
    title: String,
    number: u64,
    other: u64,
    shapes: Vec<u32>,
}

/// Pushes a shape directly, and sets a number by a further command.
#[derive(Persist)]
struct Push {
    shape: u32,
    number: u64,
}

#[derive(Persist)]
struct SetNumber {
    number: u64,
}

impl Command<Plan> for SetNumber {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Plan>) -> Result<()> {
        std::mem::swap(&mut edit.target().number, &mut self.number);
        Ok(())
    }

    fn undo(&mut self, plan: &mut Plan) -> Result<()> {
        std::mem::swap(&mut plan.number, &mut self.number);
        Ok(())
    }
}

impl Command<Plan> for Push {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Plan>) -> Result<()> {
        edit.apply(SetNumber { number: self.number })?;
        edit.target().shapes.push(self.shape);
        Ok(())
    }

    fn undo(&mut self, plan: &mut Plan) -> Result<()> {
        plan.shapes.pop();
        Ok(())
    }
}

/// The label, the bytes and the place of each entry, and how many are applied.
fn shown<T: 'static>(history: &History<T>) -> (usize, Vec<(String, usize)>) {
    let entries = history.entries();
    let all = entries.map(|entry| (format!("{:?}", entry.label), entry.bytes)).collect();
    (history.position(), all)
}

#[test]
fn a_document_has_the_entries_that_it_had() -> Result<()> {
    for seed in 0..30 {
        let mut rng = Lcg64Xsh32::seed_from_u64(seed);
        let folder = tempfile::tempdir().expect("a folder");
        let paths = (folder.path().join("plan.sav"), folder.path().join("plan.journal"));
        let bytes = rng.gen_range(500..4000);
        let open = |bytes: usize| {
            let limit = Capacity { entries: None, bytes: Some(bytes) };
            Session::<Plan>::with(Saves::new(), History::new(limit))
                .register_command::<Push>()?
                .register_command::<SetNumber>()?
                .open(&paths.0, &paths.1)
                .map(|(session, _)| session)
        };
        let mut session = open(bytes)?;
        let mut drag = None;
        for step in 0..150 {
            let count = rng.gen_range(0..3_usize);
            let number = count as u64;
            match rng.gen_range(0..15) {
                0 => drop(session.undo()?),
                1 => drop(session.redo()?),
                2 => session.edit("Type", |plan| {
                    plan.title = "x".repeat(rng.gen_range(0..300));
                    plan.shapes.extend([1, 2]);
                    Ok(())
                })?,
                3 => session.edit_merging("key", "Type", |plan| {
                    plan.title = "y".repeat(count * 40);
                    plan.number = number;
                    Ok(())
                })?,
                4 => drag = Some(session.begin_drag("Drag")),
                5 => drop(drag.take().map(|drag| session.end_drag(drag))),
                6 | 7 => drop(session.set_field(field!(Plan.number), number)?),
                8 | 9 => drop(session.set_field(field!(Plan.other), number)?),
                10 => session.apply(Push { shape: 7, number })?,
                11 => session.apply(SetNumber { number: number + 5 })?,
                12 => {
                    session.begin("Both")?;
                    session.set_field(field!(Plan.number), number)?;
                    session.edit_merging("key", "Type", |plan| {
                        plan.other += number;
                        Ok(())
                    })?;
                    session.commit()?;
                }
                13 if rng.gen_bool(0.3) => {
                    let bytes = rng.gen_range(0..bytes);
                    session.set_capacity(Capacity { entries: Some(9), bytes: Some(bytes) });
                }
                _ if rng.gen_bool(0.3) => drop(session.save()?),
                _ => {}
            }
            if rng.gen_bool(0.2) {
                let before = (shown(session.history()), session.target().clone());
                drop(session);
                session = open(bytes)?;
                let after = (shown(session.history()), session.target().clone());
                assert_eq!(after, before, "seed {seed}, step {step}");
                drag = None;
            }
        }
    }
    Ok(())
}

#[derive(Persist, Default)]
struct Place {
    x: u32,
    name: String,
}

impl Component for Place {}

#[test]
fn a_world_has_the_entries_that_it_had() -> Result<()> {
    for seed in 0..30 {
        let mut rng = Lcg64Xsh32::seed_from_u64(seed);
        let folder = tempfile::tempdir().expect("a folder");
        let paths = (folder.path().join("plan.sav"), folder.path().join("plan.journal"));
        let bytes = rng.gen_range(500..6000);
        let open = |bytes: usize| {
            let limit = Capacity { entries: None, bytes: Some(bytes) };
            let saves = Saves::new();
            saves.register_component::<Place>()?;
            Session::<World>::with(saves, History::new(limit))
                .open(&paths.0, &paths.1)
                .map(|(session, _)| session)
        };
        let mut session = open(bytes)?;
        let mut drag = None;
        for step in 0..150 {
            let number = rng.gen_range(0..3);
            let all: Vec<ObjectId> = session.world().objects().collect();
            let some = (!all.is_empty()).then(|| all[rng.gen_range(0..all.len())]);
            match (rng.gen_range(0..15), some) {
                (0, _) => drop(session.undo()?),
                (1, _) => drop(session.redo()?),
                (2..=4, _) => session.edit("Add", |edit| {
                    let id = edit.spawn("Orc")?;
                    edit.attach(id, Place { x: number, name: "z".repeat(number as usize * 30) })
                })?,
                (5, Some(id)) => session.edit("Delete", |edit| edit.remove(id))?,
                (6, _) => drag = Some(session.begin_drag("Drag")),
                (7, _) => drop(drag.take().map(|drag| session.end_drag(drag))),
                (8 | 9, Some(id)) => drop(session.set(id, field!(Place.x), number).ok()),
                (10, Some(id)) => drop(session.edit_merging("key", "Type", |edit| {
                    edit.get_mut::<Place>(id)?.name = "y".repeat(number as usize * 40);
                    edit.rename(id, if number == 0 { "Orc" } else { "Elf" }).map(drop)
                })),
                (11, Some(id)) => drop(session.edit("Lose", |edit| edit.detach::<Place>(id))),
                (13, _) if rng.gen_bool(0.2) => {
                    let bytes = rng.gen_range(0..bytes);
                    session.set_capacity(Capacity { entries: Some(9), bytes: Some(bytes) });
                }
                _ if rng.gen_bool(0.2) => drop(session.save()?),
                _ => {}
            }
            if rng.gen_bool(0.2) {
                let before = (shown(session.history()), session.world().objects().len());
                drop(session);
                session = open(bytes)?;
                let after = (shown(session.history()), session.world().objects().len());
                assert_eq!(after, before, "seed {seed}, step {step}");
                drag = None;
            }
        }
    }
    Ok(())
}
