//! Saves of whole games: the worlds of the examples, and the data sets of the benchmark.

#[path = "../../../persist/examples/savedata/data/mod.rs"]
mod data;
#[path = "../../../persist/examples/town/people.rs"]
#[allow(dead_code, missing_docs, unreachable_pub, reason = "the example uses the rest")]
mod people;
#[path = "../../../persist/examples/town/places.rs"]
#[allow(dead_code, missing_docs, unreachable_pub, reason = "the example uses the rest")]
mod places;
#[path = "../../../persist/examples/town/town.rs"]
#[allow(dead_code, missing_docs, unreachable_pub, reason = "the example uses the rest")]
mod town;

use persist::{Persist, SaveManager, Saves, World};
use persist_tests::support::disarranged::{Tally, check, check_objects, check_value};

use super::{shared, world};

#[test]
fn heroes_and_monsters_who_know_each_other_come_back() {
    for seed in 0..3 {
        let mut manager = SaveManager::new();
        let mut world = world::World::new(seed);
        world.play(60);
        manager.add(&shared(world)).unwrap();
        let tally = check_objects(&manager.to_vec().unwrap(), seed, || {
            let saves = Saves::new();
            saves.register::<world::World>().unwrap();
            saves.manager()
        });
        assert!(tally.moved > 30 && tally.wider > 5 && tally.narrower > 5, "{tally:?}");
    }
}

#[test]
fn a_town_of_objects_and_components_comes_back() {
    let mut world = town::found().unwrap();
    for seed in 0..3 {
        (0..100).for_each(|_| world.update(1.0));
        let save = persist::to_vec(&world).unwrap();
        let tally = check(&save, seed, |save| {
            let saves = town::saves().expect("its classes");
            let loaded = saves.from_slice::<World>(save)?;
            Ok((saves.to_vec(&*loaded)?, vec![loaded.report().clone()]))
        });
        assert!(tally.moved > 15 && tally.wider > 5 && tally.narrower > 5, "{tally:?}");
    }
}

/// A save of one value.
fn trip<T: Persist>(value: &T) -> Tally {
    check_value::<T>(&persist::to_vec(value).unwrap(), 1)
}

#[test]
fn the_data_sets_of_the_benchmark_come_back() {
    // Several blocks each, and few enough for a test without optimization.
    let mut logs = data::log::generate();
    logs.logs.truncate(2000);
    let mut mesh = data::mesh::generate();
    mesh.triangles.truncate(2000);
    let mut players = data::minecraft::generate();
    players.players.truncate(60);
    let mut updates = data::mk48::generate();
    updates.updates.truncate(60);
    for tally in [trip(&logs), trip(&mesh), trip(&players), trip(&updates)] {
        assert!(tally.moved > 0 && tally.wider > 0, "{tally:?}");
    }
}
