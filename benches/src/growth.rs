//! The cost of an object, an entry or a query in worlds and histories of a thousand to a million of them.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use persist::history::{Flush, Proof};
use persist::{FieldPath, History, ObjectId, Result, Saves, Session, World, field};

use crate::memory::absorb;
use crate::report::Role;
use crate::run::Run;
use crate::world::{Health, Position, components};

/// How many objects and entries.
const COUNTS: [(usize, &str); 4] =
    [(1_000, "1000"), (10_000, "10000"), (100_000, "100000"), (1_000_000, "1000000")];

/// Questions that are asked of each.
const ASKED: usize = 1_000;

/// Measures each count, and lets another program count bytes.
pub(crate) fn run(run: &mut Run) -> std::result::Result<(), String> {
    let folder = run.folder();
    run.one_round();
    for (count, set) in COUNTS {
        if run.is_quick() && count > 10_000 {
            break;
        }
        // With few objects a pass is short, so it is repeated more often.
        let rounds = (300_000 / count).clamp(3, 31);
        for (name, nanoseconds) in measure(count, rounds, &folder).map_err(|e| e.to_string())? {
            run.exact("ns each", name, set, Role::Ours, nanoseconds);
        }
    }
    let mut command = Command::new("cargo");
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command.args(["run", "--release", "--quiet", "--bin", "probe", "--", "growth"]);
    absorb(run, command)
}

/// The minimal time of each step, for one of its items.
struct Times(Vec<(&'static str, f64)>);

impl Times {
    fn take<R>(&mut self, name: &'static str, items: usize, step: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = black_box(step());
        let each = start.elapsed().as_secs_f64() * 1e9 / items as f64;
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, least)) => *least = least.min(each),
            None => self.0.push((name, each)),
        }
        result
    }
}

fn measure(count: usize, rounds: usize, folder: &Path) -> Result<Vec<(&'static str, f64)>> {
    let mut times = Times(Vec::new());
    for _ in 0..rounds {
        of_world(count, &mut times)?;
    }
    for _ in 0..rounds.min(5) {
        recovery(count, folder, &mut times)?;
    }
    Ok(times.0)
}

fn saves() -> Result<Saves> {
    let saves = Saves::new();
    saves.register_component::<Position>()?;
    saves.register_component::<crate::world::Velocity>()?;
    saves.register_component::<Health>()?;
    Ok(saves)
}

/// Returns the ids in an order other than that in memory.
fn shuffled(ids: &[ObjectId]) -> impl Iterator<Item = ObjectId> + '_ {
    // It has no divisor in common with a count, so that each comes once.
    (0..ids.len()).map(|at| ids[at.wrapping_mul(7_919) % ids.len()])
}

fn of_world(count: usize, times: &mut Times) -> Result<()> {
    let mut world = World::new();
    let mut ids = Vec::with_capacity(count);
    times.take("spawn with three components", count, || -> Result<()> {
        for n in 0..count {
            ids.push(world.spawn_with("Orc", components(n as u32))?);
        }
        Ok(())
    })?;
    let (mut history, path) = (History::new(None), field!(Position.x));
    history.set_proof(Proof::Off);
    times.take("set of a number", count, || set_all(&mut world, &mut history, &ids, &path))?;
    times.take("undo of a set", count, || history.go_to(&mut world, 0))?;
    times.take("redo of a set", count, || history.go_to(&mut world, count))?;
    history.set_modified(false)?;
    history.go_to(&mut world, count / 2)?;
    times.take("the middle of `entries`", ASKED, || {
        (0..ASKED).for_each(|_| drop(black_box(history.entries().nth(count / 2))));
    });
    times.take("`saved_position`", ASKED, || {
        (0..ASKED).for_each(|_| _ = black_box(history.saved_position()));
    });
    history.clear(&mut world)?;
    times.take("edit of two fields", count, || -> Result<()> {
        for id in shuffled(&ids) {
            history.edit(&mut world, "Move", |edit| {
                let position = edit.get_mut::<Position>(id)?;
                (position.y, position.z) = (position.y + 1.0, position.z - 1.0);
                Ok(())
            })?;
        }
        Ok(())
    })?;
    history.clear(&mut world)?;
    let parent = world.spawn("");
    times.take("append to a parent", count, || {
        ids.iter().try_for_each(|id| world.set_parent(*id, Some(parent)))
    })?;
    times.take("`set_parent_at` the front", count, || {
        ids.iter().try_for_each(|id| world.set_parent_at(*id, Some(parent), 0))
    })?;
    let saves = saves()?;
    let save = times.take("save of an object", count, || saves.to_vec(&world))?;
    let loaded = times.take("load of an object", count, || saves.from_slice::<World>(&save))?;
    assert_eq!(loaded.objects().count(), count + 1);
    Ok(())
}

fn set_all(
    world: &mut World,
    history: &mut History,
    ids: &[ObjectId],
    path: &FieldPath,
) -> Result<()> {
    for (n, id) in shuffled(ids).enumerate() {
        history.set(world, id, path, n as f32 + 0.5)?;
    }
    Ok(())
}

/// Measures a journal with as many edits as objects, and the journal that begins with a save of both.
fn recovery(count: usize, folder: &Path, times: &mut Times) -> Result<()> {
    let folder = folder.join("growth");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let open = || {
        let options = Session::<World>::with(saves()?, History::new(None)).flush(Flush::OnIdle);
        options.open(folder.join("world.sav"), folder.join("world.journal"))
    };
    let mut world = World::new();
    let mut ids = Vec::with_capacity(count);
    for n in 0..count {
        ids.push(world.spawn_with("", components(n as u32))?);
    }
    saves()?.file(folder.join("world.sav")).save(&world)?;
    let (mut session, _) = open()?;
    let path = field!(Position.x);
    times.take("set with a journal", count, || -> Result<()> {
        for (n, id) in shuffled(&ids).enumerate() {
            session.set(id, &path, n as f32 + 0.5)?;
        }
        Ok(())
    })?;
    drop(session);
    let (mut session, recovered) =
        times.take("recovery of an object and its entry", count, open)?;
    assert_eq!((recovered.entries, session.history().position()), (count, count));
    times.take("save of both", count, || session.save())?;
    drop(session);
    let (session, _) = times.take("recovery after that save", count, open)?;
    assert_eq!(session.history().position(), count);
    Ok(())
}
