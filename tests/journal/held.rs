//! What a session refuses since its journal could not hold it, and what it does where it cannot hold the history.

use std::sync::{Arc, Mutex};

use persist::history::{Flush, Recovered};
use persist::world::ExternalIds;
use persist::{Component, ErrorKind, History, ObjectId, Persist, Result, Session, World};

use super::{JOURNAL, SAVE};
use persist_tests::support::disk::Disk;

#[derive(Persist, Default)]
#[persist(validate = Health::check, after_load = Health::wake)]
struct Health {
    points: u32,
    #[persist(skip)]
    doubled: u32,
}

impl Health {
    fn check(&self) -> std::result::Result<(), String> {
        if self.points > 100 { Err(format!("{} points", self.points)) } else { Ok(()) }
    }

    fn wake(&mut self) {
        self.doubled = self.points * 2;
    }
}

#[derive(Persist, Default)]
struct Shared {
    number: u32,
    rest: Option<Arc<Mutex<u32>>>,
}

/// Nobody registers it.
#[derive(Persist, Default)]
struct Light(u8);

impl Component for Health {}
impl Component for Shared {}
impl Component for Light {}

fn open(disk: &Disk) -> Result<(Session, Recovered)> {
    let saves = super::driver::saves_on(disk);
    saves.register_component::<Health>()?;
    saves.register_component::<Shared>()?;
    saves.register_resource::<Health>()?;
    Session::with(saves, History::new(None)).flush(Flush::OnIdle).open(SAVE, JOURNAL)
}

fn door(session: &mut Session) -> Result<ObjectId> {
    session.edit("Add", |edit| edit.spawn("Door"))
}

fn health(points: u32) -> Health {
    Health { points, doubled: 0 }
}

#[test]
fn what_validate_refuses_is_attached_and_inserted_nowhere() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    let door = door(&mut session)?;
    let error = session.edit("", |edit| edit.attach(door, health(500))).unwrap_err();
    assert_eq!((error.kind(), error.class()), (ErrorKind::Refused, Some("Health")), "{error}");
    let error = session.edit("", |edit| edit.insert_resource(health(500))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    assert_eq!((session.history().entries().len(), session.world().classes(door).len()), (1, 0));
    session.edit("", |edit| edit.attach(door, health(50)))?;
    let error = session.edit("", |edit| edit.attach(door, health(101))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    assert_eq!(session.world().get::<Health>(door).map(|health| health.points), Some(50));

    let (killed, recovered) = open(&Disk::new(disk.image()))?;
    assert!(recovered.stopped.is_none(), "{recovered}");
    assert_eq!(killed.world().get::<Health>(door).map(|health| health.points), Some(50));
    Ok(())
}

#[test]
fn a_history_without_a_journal_asks_validate_of_what_is_attached_as_well() -> Result<()> {
    let (mut world, mut history) = (World::new(), History::new(9));
    let door = world.spawn("Door");
    assert!(history.edit(&mut world, "", |edit| edit.attach(door, health(500))).is_err());
    assert!(world.get::<Health>(door).is_none() && history.entries().len() == 0);
    Ok(())
}

#[test]
fn hooks_run_of_what_a_journal_attaches_again() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    let door = door(&mut session)?;
    session.edit("", |edit| {
        edit.attach(door, health(4))?;
        edit.insert_resource(health(5))
    })?;
    let (killed, _) = open(&Disk::new(disk.image()))?;
    assert_eq!(killed.world().get::<Health>(door).map(|health| health.doubled), Some(8));
    assert_eq!(killed.world().resource::<Health>().map(|health| health.doubled), Some(10));
    Ok(())
}

#[test]
fn what_holds_shared_pointers_is_neither_attached_nor_removed_in_a_session() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    let door = door(&mut session)?;
    let error = session.edit("", |edit| edit.attach(door, Shared::default())).unwrap_err();
    assert_eq!((error.kind(), error.class()), (ErrorKind::Unsupported, Some("Shared")), "{error}");
    drop(session);

    // One that comes with the save.
    let saves = super::driver::saves_on(&disk);
    saves.register_component::<Shared>()?;
    let mut world = World::new();
    let door = world.spawn("Door");
    let parent = world.spawn("House");
    world.set_parent(door, Some(parent))?;
    world.attach(door, Shared { number: 1, rest: Some(Arc::default()) })?;
    let disk = Disk::default();
    let saves = saves.storage(disk.clone());
    saves.file(SAVE).save(&world)?;

    let (mut session, _) = open(&disk)?;
    session.set(door, "Shared:number", 3)?;
    let detached = session.edit("", |edit| edit.detach::<Shared>(door)).unwrap_err();
    let removed = session.edit("", |edit| edit.remove(parent)).unwrap_err();
    let prefab = session.world().prefab(parent)?;
    let copied = session.edit("", |edit| edit.instantiate(&prefab, ExternalIds::Keep)).unwrap_err();
    for error in [&detached, &removed, &copied] {
        assert_eq!((error.kind(), error.class()), (ErrorKind::Unsupported, Some("Shared")));
        assert!(error.message().contains("shared pointers"), "{error}");
    }
    assert_eq!(removed.object(), Some(door.get()));
    session.save()?;
    session.edit("", |edit| edit.rename(door, "Gate").map(drop))?;
    let (killed, recovered) = open(&Disk::new(disk.image()))?;
    assert!(recovered.stopped.is_none() && recovered.kept.is_empty(), "{recovered}");
    assert_eq!((killed.history().entries().len(), killed.world().name(door)), (2, Some("Gate")));
    Ok(())
}

#[test]
fn a_class_that_the_next_session_would_not_know_is_refused() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    let door = door(&mut session)?;
    let errors = [
        session.edit("", |edit| edit.attach(door, Light(1))).unwrap_err(),
        session.edit("", |edit| edit.insert_resource(Light(1))).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(
            (error.kind(), error.class()),
            (ErrorKind::WrongClass, Some("Light")),
            "{error}"
        );
    }
    let error = session.edit("", |edit| edit.detach::<Light>(door)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    let error = session.edit("", |edit| edit.remove_resource::<Light>()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    // It is not in the way of others.
    session.edit("", |edit| edit.attach(door, health(5)))?;
    session.save()?;
    session.edit("", |edit| edit.detach::<Health>(door))?;
    let (killed, recovered) = open(&Disk::new(disk.image()))?;
    assert!(recovered.stopped.is_none(), "{recovered}");
    assert_eq!((killed.history().entries().len(), killed.world().classes(door).len()), (3, 0));
    Ok(())
}

#[test]
fn a_journal_does_not_grow_when_it_is_opened() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    let door = door(&mut session)?;
    session.edit("", |edit| edit.attach(door, health(5)))?;
    drop(session);
    let journal = |disk: &Disk| disk.image()[std::path::Path::new(JOURNAL)].len();
    let size = journal(&disk);
    for _ in 0..3 {
        let (session, recovered) = open(&disk)?;
        assert_eq!((session.history().entries().len(), recovered.replayed), (2, 2));
        drop(session);
        assert_eq!(journal(&disk), size);
    }
    // What is done then can still be redone.
    let (mut session, _) = open(&disk)?;
    session.set(door, "Health:points", 7)?;
    let (killed, recovered) = open(&Disk::new(disk.image()))?;
    assert_eq!((killed.history().entries().len(), recovered.replayed), (3, 3));
    assert_eq!(killed.world().get::<Health>(door).map(|health| health.points), Some(7));
    Ok(())
}

#[test]
fn a_save_is_made_also_if_entries_cannot_be_read_back() -> Result<()> {
    let disk = Disk::default();
    let saves = super::driver::saves_on(&disk);
    saves.register_component::<Health>()?;
    let options = Session::<World>::with(saves, History::new(None)).flush(Flush::OnIdle);
    let (mut session, _) = options.memory(2_000).open(SAVE, JOURNAL)?;
    let door = door(&mut session)?;
    session.edit("", |edit| edit.attach(door, health(0)))?;
    for points in 1..100 {
        session.edit("", |edit| {
            edit.set(door, "Health:points", points)?;
            edit.rename(door, &format!("Door with {points} points")).map(drop)
        })?;
    }
    let spilled: Vec<_> = disk.names().into_iter().filter(|name| name.contains("spill")).collect();
    assert!(!spilled.is_empty());
    for name in &spilled {
        disk.put(name, b"something else");
    }
    session.save()?;
    let broken = session.journal_broken().unwrap_or_default();
    assert!(broken.contains("clear"), "{broken}");
    let (killed, _) = open(&Disk::new(disk.image()))?;
    assert_eq!(killed.world().get::<Health>(door).map(|health| health.points), Some(99));

    // What to do then is in the message.
    assert!(session.set(door, "Health:points", 3).is_err());
    session.clear()?;
    session.save()?;
    assert_eq!(session.journal_broken(), None);
    session.set(door, "Health:points", 3)?;
    let (killed, _) = open(&Disk::new(disk.image()))?;
    assert_eq!(killed.world().get::<Health>(door).map(|health| health.points), Some(3));
    Ok(())
}

#[test]
fn a_field_of_a_resource_is_set_through_a_session() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    session.edit("", |edit| edit.insert_resource(health(5)))?;
    session.set(None, "Health:points", 7)?;
    let (mut killed, _) = open(&Disk::new(disk.image()))?;
    let points = |session: &Session| session.world().resource::<Health>().map(|it| it.points);
    assert_eq!(points(&killed), Some(7));
    killed.undo()?;
    assert_eq!(points(&killed), Some(5));
    Ok(())
}
