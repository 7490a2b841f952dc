//! Sessions, histories and savers on several threads.

use std::sync::Arc;
use std::thread;

use persist::save::{Registry, ValueSaver};
use persist::world::Prefab;
use persist::{Component, History, Persist, Result, SaveManager, Session, Unknown, World, field};

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
    may_be_shared::<ValueSaver>();
};

fn open(disk: &Disk) -> Result<Session> {
    let mut saves = SaveManager::new();
    saves.set_storage(disk.clone());
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
    let pet = Arc::new(std::sync::Mutex::new(pet));
    persist::to_vec(&newer::Hero { name: "Ada".into(), mana: 7, pet })
}

#[test]
fn a_saver_keeps_what_the_program_does_not_know_of_a_value_on_its_thread() -> Result<()> {
    let mut saver = ValueSaver::from(SaveManager::new());
    let (hero, report) = saver.value_from_slice::<older::Hero>(&newer_save()?)?;
    assert!(report.summary().contains("kept"), "{}", report.summary());
    // As a manager again, and back, it still knows.
    let mut saver = ValueSaver::from(SaveManager::from(saver));
    let save = saver.value_to_vec(&hero)?;
    let back: newer::Hero = persist::from_slice(&save)?;
    let tricks = back.pet.lock().expect("nobody panicked").tricks;
    assert_eq!((back.name.as_str(), back.mana, tricks), ("Ada", 7, 3));

    // Another thread refuses to save without it, and is told so.
    let (error, saver, hero) = thread::spawn(move || {
        let error = saver.value_to_vec(&hero).expect_err("an error");
        (error, saver, hero)
    })
    .join()
    .expect("it does not panic");
    insta::assert_snapshot!(error);
    let mut saver = saver;
    drop(hero);
    // Gone with the objects, it keeps nothing from being saved.
    let (hero, _) = persist::SaveManager::new().value_from_slice::<older::Hero>(&save)?;
    let back: newer::Hero = persist::from_slice(&saver.value_to_vec(&hero)?)?;
    let tricks = back.pet.lock().expect("nobody panicked").tricks;
    assert_eq!((back.mana, tricks), (7, 0));
    Ok(())
}

#[test]
fn a_manager_made_of_a_saver_saves_objects_if_it_has_any() -> Result<()> {
    let mut saves = SaveManager::from(ValueSaver::from(SaveManager::new()));
    insta::assert_snapshot!(saves.to_vec().expect_err("the values are not in it"));
    // Values and objects are saved as by any other.
    saves.value_to_vec(&7_u8)?;
    saves.add(&std::rc::Rc::new(7_u8))?;
    saves.to_vec()?;
    let loaded = saves.from_slice(&SaveManager::new().to_vec()?)?;
    let mut saves = SaveManager::from(ValueSaver::from(saves));
    saves.adopt(loaded);
    saves.to_vec().map(drop)
}

#[test]
fn a_fork_has_the_settings_and_classes_of_a_saver_and_nothing_that_was_loaded() -> Result<()> {
    let mut saves = SaveManager::new();
    saves.set_application("Mill", "1.0")?;
    saves.set_metadata(&7_u8)?;
    let mut saver = ValueSaver::from(saves);
    let (hero, _) = saver.value_from_slice::<older::Hero>(&newer_save()?)?;
    let mut fork = saver.fork();
    let header = persist::save::Header::read(&fork.value_to_vec(&hero)?)?;
    assert_eq!(header.application.as_deref(), Some("Mill"));
    let lacking = persist::from_slice::<newer::Hero>(&fork.value_to_vec(&hero)?);
    assert_eq!(
        lacking.map(|hero| hero.mana).expect_err("it has no mana").kind(),
        persist::ErrorKind::MissingField
    );
    assert_eq!(fork.registry().classes().count(), saver.registry().classes().count());

    // Metadata is cleared, or set aside for one save.
    let metadata = |saver: &mut ValueSaver| {
        persist::save::Header::read(&saver.value_to_vec(&7_u8)?)?.metadata::<u8>()
    };
    let before = fork.replace_metadata(Some(persist::to_vec(&9_u8)?))?;
    assert_eq!(metadata(&mut fork)?, Some(9));
    fork.replace_metadata(before)?;
    assert_eq!(metadata(&mut fork)?, Some(7));
    fork.set_metadata(None::<&()>)?;
    assert_eq!(metadata(&mut fork)?, None);
    Ok(())
}
