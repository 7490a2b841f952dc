//! Worlds that are opened again, behind what went wrong, or is like nothing else, before.

use std::panic::{AssertUnwindSafe, catch_unwind};

use persist::history::{CommandEdit, Flush, Label, Recovered};
use persist::{
    Command, Component, Error, ErrorKind, History, ObjectId, Persist, Result, Session, World,
};

use super::{JOURNAL, SAVE};
use persist_tests::support::disk::Disk;

#[derive(Persist, Default, Debug, PartialEq)]
struct Place {
    x: i32,
}

impl Component for Place {}

/// Makes an object, and changes the world itself.
#[derive(Persist)]
struct Make {
    made: Option<ObjectId>,
}

impl Command for Make {
    fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        let made = edit.spawn("Made")?;
        edit.attach(made, Place::default())?;
        self.made = Some(made);
        let _ = edit.target();
        Ok(())
    }

    fn undo(&mut self, _: &mut World) -> Result<()> {
        Ok(())
    }

    fn redo(&mut self, _: &mut CommandEdit<'_>) -> Result<()> {
        Ok(())
    }
}

/// Panics when it is undone.
#[derive(Persist)]
struct Once;

impl Command for Once {
    fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        let _ = edit.target();
        Ok(())
    }

    fn undo(&mut self, _: &mut World) -> Result<()> {
        panic!("it is not undone");
    }
}

/// Stays beside those before it.
#[derive(Persist)]
struct Stroke;

impl Command for Stroke {
    fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        let _ = edit.target();
        Ok(())
    }

    fn undo(&mut self, _: &mut World) -> Result<()> {
        Ok(())
    }

    fn label(&self) -> Label {
        "Draw".into()
    }
}

fn open(disk: &Disk) -> Result<(Session<World>, Recovered)> {
    let saves = super::driver::saves_on(disk);
    saves.register_component::<Place>()?;
    let options = Session::with(saves, History::new(None)).flush(Flush::OnIdle);
    let options = options
        .register_command::<Make>()?
        .register_command::<Once>()?
        .register_command::<Stroke>()?;
    options.open(SAVE, JOURNAL)
}

/// Opens what was left, all of which must be there.
fn reopen(disk: &Disk) -> Result<Session<World>> {
    let (session, recovered) = open(disk)?;
    assert!(recovered.stopped.is_none() && recovered.kept.is_empty(), "{recovered}");
    Ok(session)
}

#[test]
fn a_direct_command_behind_a_part_that_failed_makes_the_same_object() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    session.edit("Make", |edit| {
        let failed = edit.part(|edit| {
            edit.spawn("Never")?;
            Err::<(), _>(Error::new(ErrorKind::Refused, "no"))
        });
        assert!(failed.is_err());
        edit.apply(Make { made: None })
    })?;
    let made = session.world().find("Made");
    assert_eq!(made.map(ObjectId::get), Some(2));
    session.edit("Move", |edit| edit.set(made.unwrap(), "Place:x", 5).map(drop))?;
    drop(session);

    let mut session = reopen(&disk)?;
    assert_eq!(session.world().find("Made"), made);
    assert_eq!(session.world().get::<Place>(made.unwrap()), Some(&Place { x: 5 }));
    session.go_to(0)?;
    session.go_to(2)?;
    assert_eq!(session.world().find("Made"), made);
    Ok(())
}

#[test]
fn an_entry_that_was_left_half_undone_is_there_behind_a_save() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    let (first, second) =
        session.edit("Add", |edit| Ok((edit.spawn("First")?, edit.spawn("Second")?)))?;
    session.edit("Change", |edit| {
        edit.remove(first)?;
        edit.apply(Once)?;
        edit.remove(second)
    })?;
    assert!(catch_unwind(AssertUnwindSafe(|| session.undo())).is_err());
    let poison = session.history().poison().cloned().unwrap();
    assert!(!session.world().contains(first) && session.world().contains(second));
    session.save()?;
    drop(session);

    let mut session = reopen(&disk)?;
    assert_eq!(session.history().poison(), Some(&poison));
    assert_eq!((session.history().entries().len(), session.history().position()), (2, 2));
    assert!(!session.world().contains(first) && session.world().contains(second));
    session.drop_entry()?;
    // What was removed cannot come back any more; what had come back stays.
    assert_eq!((session.history().entries().len(), session.history().poison()), (1, None));
    assert!(!session.world().is_parked(first) && session.world().contains(second));
    Ok(())
}

#[test]
fn a_crash_keeps_what_was_done_in_a_drag_and_the_drag_is_over() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    let ada = session.edit("Add", |edit| {
        let ada = edit.spawn("Ada")?;
        edit.attach(ada, Place { x: 0 })?;
        Ok(ada)
    })?;
    session.save()?;
    let drag = session.begin_drag("");
    for x in 1..4 {
        session.apply(Stroke)?;
        session.set(ada, "Place:x", x)?;
    }
    let texts = |session: &Session| {
        (
            session.history().undo_text(),
            session.history().redo_text(),
            session.history().entries().len(),
        )
    };
    let before = texts(&session);
    assert_eq!((&*before.0, before.2), ("Undo Draw and 5 more", 2));
    let killed = Disk::new(disk.image());
    let mut again = reopen(&killed)?;
    assert_eq!((texts(&again), again.history().is_modified()), (before, true));
    assert!(again.undo()? && !again.history().is_modified());
    assert_eq!(again.world().get(ada), Some(&Place { x: 0 }));
    again.redo()?;
    assert_eq!(again.world().get(ada), Some(&Place { x: 3 }));
    again.set(ada, "Place:x", 4)?;
    assert_eq!(again.history().entries().len(), 3);

    // A save in it keeps it open, and its rest is an entry of its own.
    session.save()?;
    session.set(ada, "Place:x", 5)?;
    session.set(ada, "Place:x", 6)?;
    session.end_drag(drag);
    let before = texts(&session);
    assert_eq!((&*before.0, before.2), ("Undo Set Place.x of Ada", 3));
    drop(session);
    let mut session = reopen(&disk)?;
    assert_eq!(texts(&session), before);
    session.undo()?;
    assert_eq!(session.world().get(ada), Some(&Place { x: 3 }));
    assert!(!session.history().is_modified());
    Ok(())
}

#[test]
fn four_thousand_removed_objects_come_back_behind_a_save() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    // It takes minutes if each is compared with all that are out of the world.
    let objects = session.edit("Add", |edit| {
        let add = |_| {
            let object = edit.spawn("Object")?;
            edit.attach(object, Place::default())?;
            Ok(object)
        };
        (0..4_000).map(add).collect::<Result<Vec<_>>>()
    })?;
    for object in &objects {
        session.edit("Remove", |edit| {
            edit.set(*object, "Place:x", 1)?;
            edit.remove(*object)
        })?;
    }
    session.save()?;
    drop(session);
    let mut session = reopen(&disk)?;
    assert_eq!((session.history().entries().len(), session.world().objects().len()), (4_001, 0));
    session.go_to(1)?;
    assert!(objects.iter().all(|object| session.world().get::<Place>(*object).is_some()));
    Ok(())
}

#[test]
fn what_a_rollback_could_not_put_back_is_refused_in_a_transaction() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk)?;
    session.edit("Add", |edit| edit.spawn("A"))?;
    session.save()?;
    session.begin("Group")?;
    let refused = session.set_modified(true).and_then(|()| session.save().map(drop));
    assert_eq!(refused.map_err(|error| error.kind()), Err(ErrorKind::OpenTransaction));
    session.edit("Add", |edit| edit.spawn("B"))?;
    let killed = Disk::new(disk.image());
    session.rollback()?;
    assert_eq!((session.history().entries().len(), session.history().is_modified()), (1, false));
    let session = reopen(&killed)?;
    assert_eq!((session.history().entries().len(), session.history().is_modified()), (1, false));
    Ok(())
}

/// Performs itself, so deep.
#[derive(Persist)]
struct Nest {
    depth: u32,
}

impl Command for Nest {
    fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        match self.depth.checked_sub(1) {
            Some(depth) => edit.apply(Nest { depth }),
            None => edit.spawn("Deep").map(drop),
        }
    }

    fn undo(&mut self, _: &mut World) -> Result<()> {
        Ok(())
    }
}

#[test]
fn commands_in_commands_come_back_on_a_small_stack() -> Result<()> {
    let session = |disk: &Disk| -> Result<Session> {
        let options = Session::with(super::driver::saves_on(disk), History::new(None));
        Ok(options.register_command::<Nest>()?.open(SAVE, JOURNAL)?.0)
    };
    let in_thread = |stack: usize, run: Box<dyn FnOnce() -> Disk + Send>| {
        std::thread::Builder::new().stack_size(stack).spawn(run).unwrap().join().unwrap()
    };
    let made = in_thread(
        64 << 20,
        Box::new(move || {
            let disk = Disk::default();
            session(&disk).unwrap().apply(Nest { depth: 60 }).unwrap();
            disk
        }),
    );
    in_thread(
        2 << 20,
        Box::new(move || {
            let mut opened = session(&made).unwrap();
            assert_eq!(
                (opened.history().entries().len(), opened.world().find("Deep").is_some()),
                (1, true)
            );
            assert!(opened.undo().unwrap());
            drop(opened);
            made
        }),
    );
    Ok(())
}
