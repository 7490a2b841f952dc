//! Sessions, histories and saves on several threads.

use std::sync::{Arc, Mutex};
use std::thread;

use persist::save::{Header, Registry};
use persist::world::Prefab;
use persist::{Component, History, Loaded, Persist, Result, Saves, Session, Unknown, World, field};

use persist_tests::support::disk::Disk;

#[derive(Persist, Debug, PartialEq)]
struct Door {
    width: f32,
}

impl Component for Door {}

const fn may_move<T: Send>() {}
const fn may_be_shared<T: Send + Sync>() {}

const _: () = {
    may_move::<World>();
    may_move::<History>();
    may_move::<History<String>>();
    may_move::<Session>();
    may_be_shared::<Registry>();
    may_be_shared::<Unknown>();
    may_be_shared::<Prefab>();
    may_be_shared::<Saves>();
    may_be_shared::<Loaded<String>>();
    may_move::<Loaded<World>>();
};

fn open(disk: &Disk) -> Result<Session> {
    let saves = Saves::new().storage(disk.clone());
    saves.register_component::<Door>()?;
    Ok(Session::with(saves, History::new(100)).open("town.sav", "town.journal")?.0)
}

#[test]
fn a_session_that_is_opened_on_one_thread_is_edited_saved_and_undone_on_another() -> Result<()> {
    let disk = Disk::default();
    let mut session = open(&disk)?;
    let door = session.edit("Add door", |edit| {
        let door = edit.spawn("Door")?;
        edit.attach(door, Door { width: 1.0 })?;
        Ok(door)
    })?;
    let mut session = thread::spawn(move || -> Result<Session> {
        session.set(door, field!(Door.width), 2.0)?;
        session.save()?;
        session.set(door, field!(Door.width), 3.0)?;
        session.undo()?;
        assert!(!session.history().is_modified());
        session.undo()?;
        Ok(session)
    })
    .join()
    .expect("it does not panic")?;
    assert_eq!(session.target().get::<Door>(door), Some(&Door { width: 1.0 }));
    assert!(session.redo()?);
    drop(session);

    // A crash on that thread would have lost nothing either.
    let again = thread::spawn(move || open(&disk)).join().expect("it does not panic")?;
    assert_eq!(again.target().get::<Door>(door), Some(&Door { width: 2.0 }));
    assert_eq!((again.history().entries().len(), again.history().position()), (3, 2));
    Ok(())
}

#[test]
fn a_history_keeps_removed_objects_when_it_goes_to_another_thread() -> Result<()> {
    let (mut world, mut history) = (World::new(), History::new(100));
    let door = world.spawn("Door");
    world.attach(door, Door { width: 1.0 })?;
    history.edit(&mut world, "Remove", |edit| edit.remove(door))?;
    let (world, history) =
        thread::spawn(move || history.undo(&mut world).map(|_| (world, history)))
            .join()
            .expect("it does not panic")?;
    assert_eq!(world.get::<Door>(door), Some(&Door { width: 1.0 }));
    assert!(history.can_redo());
    Ok(())
}

/// A value that an older version of the program had without its extra fields.
mod newer {
    use std::sync::{Arc, Mutex};

    use persist::Persist;

    #[derive(Persist)]
    pub(super) struct Hero {
        pub(super) name: String,
        pub(super) mana: u32,
        pub(super) pet: Arc<Mutex<Pet>>,
    }

    #[derive(Persist)]
    pub(super) struct Pet {
        pub(super) name: String,
        #[persist(default)]
        pub(super) tricks: u32,
    }
}

mod older {
    use std::sync::{Arc, Mutex};

    use persist::Persist;

    #[derive(Persist)]
    pub(super) struct Hero {
        pub(super) name: String,
        pub(super) pet: Arc<Mutex<Pet>>,
    }

    #[derive(Persist)]
    pub(super) struct Pet {
        pub(super) name: String,
    }
}

fn newer_save() -> Result<Vec<u8>> {
    let pet = newer::Pet { name: "Rex".into(), tricks: 3 };
    let pet = Arc::new(Mutex::new(pet));
    persist::to_vec(&newer::Hero { name: "Ada".into(), mana: 7, pet })
}

#[test]
fn a_loaded_value_keeps_what_the_program_does_not_know_of_it_on_its_thread() -> Result<()> {
    let saves = Saves::new();
    let hero = saves.from_slice::<older::Hero>(&newer_save()?)?;
    assert!(hero.report().summary().contains("kept"), "{}", hero.report().summary());
    let save = saves.to_vec(&hero)?;
    let back: newer::Hero = persist::from_slice(&save)?;
    let tricks = back.pet.lock().expect("nobody panicked").tricks;
    assert_eq!((back.name.as_str(), back.mana, tricks), ("Ada", 7, 3));

    // Another thread refuses to save without it, and reports that; it saves the value alone.
    let saves_there = saves.clone();
    let (error, hero) = thread::spawn(move || {
        let error = saves_there.to_vec(&hero).expect_err("an error");
        saves_there.to_vec(&*hero).expect("without what is unknown");
        (error, hero)
    })
    .join()
    .expect("it does not panic");
    insta::assert_snapshot!(error);
    // What is unknown of an object is dropped with the object.
    let mut hero = hero;
    hero.pet = Arc::new(Mutex::new(older::Pet { name: "Rex".into() }));
    let back: newer::Hero = persist::from_slice(&saves.to_vec(&hero)?)?;
    let tricks = back.pet.lock().expect("nobody panicked").tricks;
    assert_eq!((back.mana, tricks), (7, 0));
    Ok(())
}

#[test]
fn a_clone_has_the_classes_and_settings_of_its_saves_and_nothing_that_was_loaded() -> Result<()> {
    let saves = Saves::new().application("Mill", "1.0")?;
    let hero = saves.from_slice::<older::Hero>(&newer_save()?)?.into_inner();
    let clone = saves.clone();
    let application =
        |saves: &Saves| -> Result<_> { Ok(Header::read(&saves.to_vec(&hero)?)?.application) };
    assert_eq!(application(&clone)?.as_deref(), Some("Mill"));
    let lacking = persist::from_slice::<newer::Hero>(&clone.to_vec(&hero)?);
    assert_eq!(
        lacking.map(|hero| hero.mana).expect_err("it has no mana").kind(),
        persist::ErrorKind::MissingField
    );
    // Classes are shared, and a setting is the clone's own.
    clone.register_component::<Door>()?;
    assert!(saves.registry().class("Door").is_some());
    let clone = clone.application("Forge", "1.0")?;
    assert_eq!(application(&clone)?.as_deref(), Some("Forge"));
    assert_eq!(application(&saves)?.as_deref(), Some("Mill"));
    Ok(())
}
