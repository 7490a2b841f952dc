//! What is saved is the content, by whichever way.

use persist::save::{Compression, Content, Header, Loadable};
use persist::world::Prefab;
use persist::{Loaded, Persist, SaveManager, SaveOptions, Saves, World};

use super::{Counting, places};

#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(component)]
struct Purse {
    gold: u32,
    notes: Vec<String>,
}

impl Purse {
    fn new(gold: u32) -> Self {
        // Enough for two blocks, and for a compression to be of use.
        Self { gold, notes: (0..3_000).map(|note| format!("{gold} gold on day {note}")).collect() }
    }
}

fn world() -> World {
    let mut world = World::new();
    for gold in 0..3 {
        let name = format!("Ada {gold}");
        let ada = world.spawn(&name);
        world.attach(ada, Purse::new(gold)).expect("a purse");
    }
    world
}

/// Saves it in every way, and loads each save.
fn check<C: Content, L: Loadable>(content: impl Fn() -> C, is_it: impl Fn(&Loaded<L>) -> bool) {
    let compressions = [
        Compression::None,
        #[cfg(feature = "lz4")]
        Compression::Lz4,
    ];
    for compression in compressions {
        let storage = Counting::default();
        let options = SaveOptions::new().compression(compression);
        let saves = Saves::new().storage(storage.clone()).save_options(options);
        saves.register_component::<Purse>().expect("a component");
        saves.register::<Purse>().expect("a class");
        let same = |save: &[u8], way: &str| {
            let loaded = saves.from_slice::<L>(save).unwrap_or_else(|it| panic!("{way}: {it}"));
            assert!(is_it(&loaded), "{way}, {compression:?}");
        };
        same(&saves.to_vec(content()).expect("a save"), "in memory");
        same(&persist::to_vec(content()).expect("a save"), "by the function");
        let before = Header::default();
        same(&saves.to_vec_after(content(), Some(&before)).expect("a save"), "after another");
        for (name, place) in places(&saves, &storage) {
            let load = |way: &str| {
                let loaded = place.load::<L>().unwrap_or_else(|it| panic!("{name}, {way}: {it}"));
                assert!(is_it(&loaded), "{name}, {way}, {compression:?}");
            };
            place.save(content()).unwrap_or_else(|error| panic!("{name}: {error}"));
            load("now");
            place.save(&1_u8).unwrap_or_else(|error| panic!("{name}: {error}"));
            place.save_in_background(content()).expect("a copy").wait().expect("a save");
            load("in the background");
        }
    }
}

#[test]
fn every_way_saves_values() {
    let purse = Purse::new(1);
    check(|| &purse, |it: &Loaded<Purse>| **it == purse);
}

#[test]
fn every_way_saves_objects() {
    let mut manager = SaveManager::new();
    let purse = std::rc::Rc::new(std::cell::RefCell::new(Purse::new(1)));
    let id = manager.add(&purse).expect("an object");
    check(
        || &manager,
        |it: &Loaded<SaveManager>| {
            it.get::<Purse>(id).is_ok_and(|it| *it.borrow() == *purse.borrow())
        },
    );
}

#[test]
fn every_way_saves_worlds_and_prefabs() {
    let world = world();
    let purses = |it: &World| -> Vec<(String, Purse)> {
        let objects = it.objects();
        let objects = objects.map(|id| (it.name(id).expect("a name").into(), it.get::<Purse>(id)));
        objects.filter_map(|(name, purse)| Some((name, purse?.clone()))).collect()
    };
    check(|| &world, |it: &Loaded<World>| purses(it) == purses(&world));
    let first = world.objects().find(|id| world.get::<Purse>(*id).is_some()).expect("Ada");
    let prefab = world.prefab(first).expect("a copy");
    check(|| &prefab, |it: &Loaded<World>| purses(it) == [("Ada 0".to_owned(), Purse::new(0))]);
    check(|| &prefab, |it: &Loaded<Prefab>| it.object_count() == 1);
}
