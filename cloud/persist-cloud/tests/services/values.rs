//! Tests of values and objects in a service, saved by blocking calls and by async ones.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use object_store::memory::InMemory;
use persist::save::{SaveOutcome, SlotInfo, Slots};
use persist::{ErrorKind, LoadOptions, Loaded, Persist, SaveManager, Saves};
use persist_cloud::{CloudOptions, CloudSlots};

use crate::block_on;
use crate::memory::slots_on;

#[derive(Persist, Debug, PartialEq)]
#[persist(validate = Self::check)]
struct Game {
    level: u32,
}

impl Game {
    fn check(&self) -> Result<(), String> {
        if self.level > 99 { Err(format!("there is no level {}", self.level)) } else { Ok(()) }
    }
}

/// The types of the program with a mod.
mod modded {
    #[derive(persist::Persist, Debug, PartialEq)]
    pub(super) struct Game {
        pub(super) level: u32,
        pub(super) mana: u32,
    }

    #[derive(persist::Persist)]
    pub(super) struct Hero {
        pub(super) name: String,
        pub(super) mana: u32,
    }
}

#[derive(Persist)]
struct Hero {
    name: String,
}

fn service() -> CloudSlots {
    slots_on(InMemory::new(), CloudOptions::new())
}

/// Wraps the slots of a service for a program that blocks.
fn blocking(service: &CloudSlots) -> Slots {
    Saves::new().store(Arc::new(service.clone()))
}

#[test]
fn a_service_is_used_as_a_folder_is() {
    let slots = blocking(&service());
    let info = SlotInfo::new("The Mill").thumbnail([1, 2, 3]);
    let saved = slots.slot("main").info(info).save(&Game { level: 1 }).unwrap();
    assert_eq!(saved, SaveOutcome::Saved);
    slots.slot("other").save(&Game { level: 9 }).unwrap();

    let list = slots.list_newest_first().unwrap();
    let main = list.iter().find(|slot| slot.name == "main").unwrap();
    assert_eq!((&*main.info.title, &*main.info.thumbnail), ("The Mill", &[1, 2, 3][..]));
    assert!(list.iter().all(|slot| slot.info.saved_at.is_some()));
    let other = list.iter().find(|slot| slot.name == "other").unwrap();
    assert_eq!(other.info.title, "", "the info is of one save");

    let mut game = slots.slot("main").load::<Game>().unwrap();
    assert_eq!((game.level, &*game.info().title), (1, "The Mill"));
    game.level = 2;
    slots.slot("main").save(&game).unwrap();
    game.level = 3;
    slots.slot("main").save(&game).unwrap();
    assert_eq!(*slots.slot("main").load::<Game>().unwrap(), Game { level: 3 });

    slots.copy("main", "copy").unwrap();
    slots.slot("main").delete().unwrap();
    let missing = slots.slot("main").load::<Game>().unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert_eq!(slots.slot("copy").load::<Game>().unwrap().level, 3);
}

#[test]
fn automatic_saves_rotate_in_a_service() {
    let slots = blocking(&service());
    let auto = slots.auto(2);
    for level in 1..=3 {
        auto.save(&Game { level }).unwrap();
    }
    auto.save_in_background(&Game { level: 4 }).unwrap().wait().unwrap();
    let names: Vec<_> = slots.list().unwrap().into_iter().map(|slot| slot.name).collect();
    assert_eq!(names, ["auto1", "auto2"]);
    assert_eq!(auto.load::<Game>().unwrap().level, 4);
}

#[test]
fn a_loaded_value_does_not_replace_what_another_server_has_saved() {
    let service = service();
    let slots = blocking(&service);
    slots.slot("main").save(&Game { level: 1 }).unwrap();
    let mut game = slots.slot("main").load::<Game>().unwrap();
    // Another server uses the async calls.
    let saves = Saves::new();
    let (mut theirs, stored) = block_on(service.load::<Game>("main", &saves)).unwrap().unwrap();
    theirs.level = 7;
    let saved = block_on(service.save("main", Some(&stored), &saves, &theirs)).unwrap();
    assert_eq!(saved.header.generation, 2);

    game.level = 2;
    let late = slots.slot("main").save(&game).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Conflict);
    assert_eq!(slots.slot("main").load::<Game>().unwrap().level, 7);
}

#[test]
fn a_manager_without_objects_replaces_no_save() {
    let service = service();
    let slots = blocking(&service);
    let mut manager = SaveManager::new();
    manager.add(&Rc::new(RefCell::new(Hero { name: "Ada".into() }))).unwrap();
    slots.slot("main").save(&manager).unwrap();
    let stored = service.list().wait().unwrap();

    let (none, saves) = (SaveManager::new(), Saves::new());
    let errors = [
        slots.slot("main").save(&none).unwrap_err(),
        slots.slot("main").save_in_background(&none).unwrap_err(),
        slots.auto(3).save(&none).unwrap_err(),
        service.save("main", Some(&stored[0]), &saves, &none).wait().unwrap_err(),
        service.save("new", None, &saves, &none).wait().unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::NoContent);
    }
    assert_eq!(service.list().wait().unwrap(), stored);

    // The program may allow a save without objects.
    let none = none.allow_empty();
    service.save("main", Some(&stored[0]), &saves, &none).wait().unwrap();
    slots.slot("main").save(&none).unwrap();
    assert!(slots.slot("main").load::<SaveManager>().unwrap().is_empty());
}

#[test]
fn what_a_load_would_refuse_is_not_sent() {
    let service = service();
    let (slots, saves) = (blocking(&service), Saves::new());
    let wrong = Game { level: 100 };
    let errors = [
        slots.slot("main").save(&wrong).unwrap_err(),
        slots.slot("main").save_in_background(&wrong).unwrap_err(),
        slots.auto(3).save(&wrong).unwrap_err(),
        service.save("main", None, &saves, &wrong).wait().unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert_eq!(error.message(), "`validate` of Game refused: there is no level 100");
    }
    assert_eq!(service.list().wait().unwrap(), []);
}

#[test]
fn unknown_content_travels_with_what_was_loaded_and_with_nothing_else() {
    let service = service();
    let (slots, saves) = (blocking(&service), Saves::new());
    let with_mod = blocking(&service);
    let first = modded::Game { level: 1, mana: 5 };
    let mana = |slot: &str| {
        let game = with_mod.slot(slot).load::<modded::Game>();
        game.map(|game| game.mana).map_err(|error| error.kind())
    };
    // Use the blocking calls.
    with_mod.slot("main").save(&first).unwrap();
    let mut game: Loaded<Game> = slots.slot("main").load().unwrap();
    game.level = 2;
    slots.slot("main").save(&game).unwrap();
    assert_eq!(mana("main"), Ok(5));
    slots.slot("new").save(&Game { level: 1 }).unwrap();
    assert_eq!(mana("new"), Err(ErrorKind::MissingField));
    slots.slot("bare").save(&*game).unwrap();
    assert_eq!(mana("bare"), Err(ErrorKind::MissingField));

    // Use the async calls.
    let (mut game, stored) = block_on(service.load::<Game>("main", &saves)).unwrap().unwrap();
    game.level = 3;
    let stored = block_on(service.save("main", Some(&stored), &saves, &game)).unwrap();
    assert_eq!(mana("main"), Ok(5));
    block_on(service.save("main", Some(&stored), &saves, &Game { level: 1 })).unwrap();
    assert_eq!(mana("main"), Err(ErrorKind::MissingField));
}

#[test]
fn what_a_load_from_a_service_changes_or_drops_is_in_its_report() {
    let service = service();
    let with_mod = blocking(&service);
    with_mod.slot("main").save(&modded::Game { level: 1, mana: 5 }).unwrap();
    let saves = Saves::new();
    let (game, _) = block_on(service.load::<Game>("main", &saves)).unwrap().unwrap();
    let counts = game.report().counts();
    assert_eq!((counts.kept, counts.lost), (1, 0), "{}", game.report());
    let dropping = Saves::new().load_options(LoadOptions::new().drop_unknown(true));
    let (game, _) = block_on(service.load::<Game>("main", &dropping)).unwrap().unwrap();
    let counts = game.report().counts();
    assert_eq!((counts.kept, counts.lost), (0, 1), "{}", game.report());
    assert!(game.report().to_string().contains("mana"), "{}", game.report());
    // The blocking calls say the same.
    let slots = dropping.store(Arc::new(service));
    let game = slots.slot("main").load::<Game>().unwrap();
    assert_eq!(game.report().counts().lost, 1);
}

#[test]
fn objects_are_loaded_with_what_is_unknown_of_them() {
    let service = service();
    let mut manager = SaveManager::new();
    let hero = modded::Hero { name: "Ada".into(), mana: 5 };
    manager.add(&Rc::new(RefCell::new(hero))).unwrap();
    let saves = manager.saves();
    service.save("main", None, saves, &manager).wait().unwrap();

    let saves = Saves::new();
    saves.register::<Hero>().unwrap();
    let loaded = block_on(service.load::<SaveManager>("main", &saves)).unwrap();
    let (loaded, stored) = loaded.unwrap();
    loaded.first::<Hero>().unwrap().borrow_mut().name = "Bob".into();
    block_on(service.save("main", Some(&stored), &saves, &loaded)).unwrap();

    let saves = Saves::new();
    saves.register::<modded::Hero>().unwrap();
    let slots = saves.store(Arc::new(service));
    let loaded = slots.slot("main").load::<SaveManager>().unwrap();
    let hero = loaded.first::<modded::Hero>().unwrap();
    assert_eq!((&*hero.borrow().name, hero.borrow().mana), ("Bob", 5));
}

#[test]
fn a_load_of_a_value_can_be_awaited_on_any_thread() {
    fn is_send<T: Send>(future: T) -> T {
        future
    }

    let (service, saves) = (service(), Saves::new());
    service.save("main", None, &saves, &Game { level: 1 }).wait().unwrap();
    let loaded = block_on(is_send(service.load::<Game>("main", &saves))).unwrap();
    assert_eq!(loaded.unwrap().0.level, 1);
}
