//! Unknown content travels with the value that was loaded, and with nothing else.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use persist::storage::SlotFolder;
use persist::{Component, ErrorKind, Loaded, Persist, SaveManager, Saves, World};

use super::Counting;

mod newer {
    use std::cell::RefCell;
    use std::rc::Rc;

    use persist::Persist;

    #[derive(Persist, Debug, PartialEq)]
    pub(super) struct Game {
        pub(super) day: u32,
        pub(super) weather: String,
        pub(super) hero: Option<Rc<RefCell<Hero>>>,
    }

    #[derive(Persist, Debug, PartialEq)]
    pub(super) struct Hero {
        pub(super) name: String,
        pub(super) mana: u32,
    }
}

#[derive(Persist, Debug, PartialEq)]
struct Game {
    day: u32,
    hero: Option<Rc<RefCell<Hero>>>,
}

#[derive(Persist, Debug, PartialEq)]
struct Hero {
    name: String,
}

fn adas() -> newer::Game {
    let hero = newer::Hero { name: "Ada".into(), mana: 7 };
    newer::Game { day: 1, weather: "rain".into(), hero: Some(Rc::new(RefCell::new(hero))) }
}

fn bobs() -> Game {
    Game { day: 9, hero: Some(Rc::new(RefCell::new(Hero { name: "Bob".into() }))) }
}

/// What a program with the mod finds.
fn with_mod(save: &[u8]) -> persist::Result<newer::Game> {
    persist::from_slice(save)
}

#[test]
fn a_loaded_value_is_saved_with_its_unknown_content() {
    let saves = Saves::new();
    let save = persist::to_vec(&adas()).expect("a save");
    let mut game = saves.from_slice::<Game>(&save).expect("the save");
    game.day = 2;
    game.hero.as_ref().expect("a hero").borrow_mut().name = "Ada the Bold".into();
    for save in [
        saves.to_vec(&game).expect("a save"),
        saves.to_vec(&mut game).expect("a save"),
        Saves::new().to_vec(&game).expect("by other saves"),
        persist::to_vec(&game).expect("by the function"),
    ] {
        let game = with_mod(&save).expect("the save");
        assert_eq!((game.day, game.weather.as_str()), (2, "rain"));
        let hero = game.hero.expect("a hero");
        assert_eq!((hero.borrow().name.as_str(), hero.borrow().mana), ("Ada the Bold", 7));
    }
}

#[test]
fn unknown_content_does_not_leak_into_another_game() {
    let storage = Counting::default();
    let saves = Saves::new().storage(storage.clone());
    let save = persist::to_vec(&adas()).expect("a save");
    let ada = saves.from_slice::<Game>(&save).expect("the save");
    let new_game = Loaded::from(bobs());
    for save in [
        saves.to_vec(&bobs()).expect("a value"),
        saves.to_vec(&new_game).expect("a new one in the shape of a loaded one"),
        saves.to_vec(&*ada).expect("a plain reference"),
        saves.to_vec(&ada.into_inner()).expect("given up"),
    ] {
        assert_eq!(
            with_mod(&save).map(drop).expect_err("no weather").kind(),
            ErrorKind::MissingField
        );
    }
}

#[test]
fn it_travels_through_every_place() {
    let storage = Counting::default();
    let store = Arc::new(SlotFolder::new(storage.clone(), "saves"));
    let places = || {
        let saves = Saves::new().storage(storage.clone());
        [
            saves.file("saves/a path.sav"),
            saves.slots("saves").slot("a slot"),
            saves.slots("saves").auto(2),
            saves.store(store.clone()).slot("stored"),
        ]
    };
    // Each is a program of its own, with classes of its own.
    for (place, with_mod) in places().into_iter().zip(places()) {
        with_mod.save(&adas()).expect("a save");
        let mut game = place.load::<Game>().expect("the save");
        game.day += 1;
        place.save(&game).expect("a save");
        game.day += 1;
        place.save_in_background(&game).expect("a save").wait().expect("a save");
        let game = with_mod.load::<newer::Game>().expect("the save");
        assert_eq!((game.day, game.weather.as_str()), (3, "rain"));
    }
}

#[test]
fn a_list_keeps_unknown_objects_and_gives_them_up_on_purpose() {
    let mut manager = SaveManager::new();
    manager
        .add(&Rc::new(RefCell::new(newer::Hero { name: "Ada".into(), mana: 7 })))
        .expect("a hero");
    let save = manager.to_vec().expect("a save");
    let older = SaveManager::new();
    older.register::<Hero>().expect("the class");
    let mana = |save: &[u8]| {
        let loaded = manager.from_slice(save).map_err(|error| error.kind())?;
        let hero = loaded.first::<newer::Hero>().expect("a hero");
        Ok(hero.borrow().mana)
    };
    let mut loaded = older.from_slice(&save).expect("the save");
    loaded.add(&Rc::new(RefCell::new(Hero { name: "Bob".into() }))).expect("a hero");
    assert_eq!(loaded.len(), 2);
    let bob = loaded.iter::<Hero>().last().expect("Bob");
    assert_eq!(bob.borrow().name, "Bob");
    // Bob has none, which is an error: only Ada's is there.
    assert_eq!(mana(&loaded.to_vec().expect("a save")), Err(ErrorKind::MissingField));
    let id = loaded.ids().last().expect("Bob's id");
    assert!(loaded.remove(id));
    assert_eq!(mana(&loaded.to_vec().expect("a save")), Ok(7));
    let plain = loaded.into_inner();
    assert_eq!(mana(&plain.to_vec().expect("a save")), Err(ErrorKind::MissingField));
}

#[test]
fn a_list_gives_up_objects_of_unknown_classes_with_the_rest() {
    let mut manager = SaveManager::new();
    manager.add(&Rc::new(RefCell::new(Hero { name: "Ada".into() }))).expect("a hero");
    manager.add(&Rc::new(RefCell::new(7_u32))).expect("a number");
    let save = manager.to_vec().expect("a save");
    let older = SaveManager::new();
    older.register::<Hero>().expect("the class");
    let loaded = older.from_slice(&save).expect("the save");
    let again = manager.from_slice(&loaded.to_vec().expect("a save")).expect("the save");
    assert_eq!(*again.first::<u32>().expect("it was kept").borrow(), 7);
    let plain = loaded.into_inner();
    let again = manager.from_slice(&plain.to_vec().expect("a save")).expect("the save");
    assert_eq!(again.first::<u32>().map(drop).expect_err("given up").kind(), ErrorKind::NotFound);
    assert_eq!(again.first::<Hero>().expect("the hero").borrow().name, "Ada");
}

#[test]
fn a_loaded_world_keeps_unknown_components_and_a_new_one_has_none() {
    #[derive(Persist)]
    struct Glow(u32);
    impl Component for Glow {}
    let mut world = World::new();
    let lamp = world.spawn("Lamp");
    world.attach(lamp, Glow(3)).expect("a component");
    let save = persist::to_vec(&world).expect("a save");
    let older = Saves::new();
    let loaded = older.from_slice::<World>(&save).expect("the save");
    let newer = Saves::new();
    newer.register_component::<Glow>().expect("a component");
    let glow = |save: &[u8]| {
        let world = newer.from_slice::<World>(save).expect("the save");
        world.objects().find_map(|object| world.get::<Glow>(object).map(|glow| glow.0))
    };
    assert_eq!(glow(&older.to_vec(&loaded).expect("a save")), Some(3));
    let mut bobs = World::new();
    bobs.spawn("Lamp");
    assert_eq!(glow(&older.to_vec(&bobs).expect("a save")), None);
}
