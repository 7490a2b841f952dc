//! How long a game stands still while a save in the background begins: the call takes the snapshot.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use persist::save::{BackgroundSave, Slot};
use persist::{SaveManager, Saves};

use crate::graph::data::{Shape, World as Graph, cut};
use crate::harness::{Spread, percentile};
use crate::report::Role;
use crate::run::Run;
use crate::world::ours;

/// Measures graphs and worlds.
pub(crate) fn run(run: &mut Run) -> Result<(), String> {
    for objects in [10_000, 100_000, 1_000_000] {
        let graph = Shape::Random.generate(objects);
        let mut manager = SaveManager::new();
        let root = Graph { bodies: graph.bodies.clone() };
        manager.add(&Rc::new(RefCell::new(root))).expect("its class can be registered");
        let saves = manager.saves().clone();
        measure(run, "graph", objects, &saves, |file| file.save_in_background(&manager), || {});
        drop(manager);
        cut(&graph);

        let world = RefCell::new(ours::spawn(objects));
        let save = |file: &Slot| file.save_in_background(&*world.borrow());
        let all = || ours::step(&mut world.borrow_mut());
        measure(run, "world", objects, &ours::saves(), save, all);
        let last = world.borrow().objects().last().expect("there are some");
        let one = || drop(world.borrow_mut().rename(last, "Boss"));
        measure(run, "world, one changed", objects, &ours::saves(), save, one);
    }
    Ok(())
}

/// Measures many saves, each after a change. Each save is written before the next one begins.
fn measure(
    run: &mut Run,
    name: &'static str,
    objects: u32,
    saves: &Saves,
    save: impl Fn(&Slot) -> persist::Result<BackgroundSave>,
    change: impl Fn(),
) {
    let (folder, set) = (run.folder(), objects.to_string());
    let file = saves.file(folder.join("stall.sav"));
    // At least a hundred, since the 99th percentile of fewer rounds would be the slowest.
    let rounds = run.rounds(if objects < 1_000_000 { 200 } else { 100 });
    let (mut calls, mut written) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        change();
        let start = Instant::now();
        let save = save(&file).expect("it can be saved");
        let call = start.elapsed();
        save.wait().expect("it is written");
        // The first one grows the buffers.
        if round > 0 {
            calls.push(call.as_secs_f64() * 1e3);
            written.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    run.timed("p50, ms", name, &set, Role::Ours, Spread::of(&mut calls));
    run.exact("p99, ms", name, &set, Role::Ours, percentile(&mut calls, 99));
    run.timed("until written, ms", name, &set, Role::Ours, Spread::of(&mut written));
    std::fs::remove_dir_all(&folder).expect("it can be removed");
}
