//! Fields that were renamed in a class whose bytes did not change: a journal knows fields by their names. It once took the
//! names of another program for its own, where equal bytes meant equal programs: fields that had exchanged their names,
//! by their numbers, were written to each other.

use persist::history::Recovered;
use persist::{Component, History, ObjectId, Persist, Result, Saves, Session, World};

use super::driver;
use super::{JOURNAL, SAVE};
use persist_tests::support::disk::Disk;

macro_rules! programs {
    ($($program:ident { $($item:item)* })*) => {
        $(mod $program {
            $(#[derive(persist::Persist, Clone, Debug, PartialEq)] $item)*

            impl persist::Component for Case {}
        })*
    };
}

programs! {
    before {
        pub(super) struct Case { pub(super) hp: u32, pub(super) inside: Inside }
        pub(super) struct Inside { #[persist(id = 1)] pub(super) a: u32, #[persist(id = 2)] pub(super) b: u32 }
    }
    now {
        pub(super) struct Case { #[persist(alias = "hp")] pub(super) health: u32, pub(super) inside: Inside }
        pub(super) struct Inside { #[persist(id = 1)] pub(super) b: u32, #[persist(id = 2)] pub(super) a: u32 }
    }
}

fn saves<T: Component>(disk: &Disk) -> Result<Saves> {
    let saves = driver::saves_on(disk);
    saves.register_component::<T>()?;
    Ok(saves)
}

fn open<T: Component>(disk: &Disk) -> Result<(Session<World>, Recovered, ObjectId)> {
    let options = Session::with(saves::<T>(disk)?, History::new(None));
    let (session, recovered) = options.open(SAVE, JOURNAL)?;
    let it = session.world().find("it").expect("an object");
    Ok((session, recovered, it))
}

fn begin<T: Component + Persist>(case: T) -> Result<Disk> {
    let disk = Disk::default();
    let mut world = World::new();
    let it = world.spawn("it");
    world.attach(it, case)?;
    saves::<T>(&disk)?.file(SAVE).save(&world)?;
    Ok(disk)
}

fn now(session: &Session<World>, it: ObjectId) -> (u32, u32, u32) {
    let case = session.world().get::<now::Case>(it).expect("it is there");
    (case.health, case.inside.a, case.inside.b)
}

#[test]
fn renamed_fields_of_the_same_bytes_are_replayed_undone_and_redone() -> Result<()> {
    let inside = before::Inside { a: 1, b: 2 };
    let disk = begin(before::Case { hp: 100, inside })?;
    let (mut session, _, it) = open::<before::Case>(&disk)?;
    session.set(it, "Case:hp", 50)?;
    session.set(it, "Case:inside.a", 10)?;
    session.edit("Both", |edit| {
        let case = edit.get_mut::<before::Case>(it)?;
        (case.hp, case.inside.b) = (60, 20);
        Ok(())
    })?;
    session.undo()?;
    session.flush()?;
    drop(session);

    // `a` is number 1 before, and so is `b` now.
    let (mut session, recovered, it) = open::<now::Case>(&disk)?;
    assert!(recovered.stopped.is_none(), "{recovered:?}");
    assert_eq!((session.history().entries().len(), session.history().position()), (3, 2));
    assert_eq!(now(&session, it), (50, 2, 10));
    session.redo()?;
    assert_eq!(now(&session, it), (60, 20, 10));
    session.undo()?;
    session.undo()?;
    assert_eq!(now(&session, it), (50, 2, 1));
    session.undo()?;
    assert_eq!(now(&session, it), (100, 2, 1));
    session.redo()?;
    session.save()?;
    drop(session);

    // Entries that a journal begins with, too, and the way back.
    let (mut session, _, it) = open::<now::Case>(&disk)?;
    assert_eq!(now(&session, it), (50, 2, 1));
    session.undo()?;
    assert_eq!(now(&session, it), (100, 2, 1));
    session.set(it, "Case:inside.b", 7)?;
    session.save()?;
    Ok(())
}

#[test]
fn a_journal_that_was_begun_anew_by_a_save_is_undone_by_the_next_program() -> Result<()> {
    let inside = before::Inside { a: 1, b: 2 };
    let disk = begin(before::Case { hp: 100, inside })?;
    let (mut session, _, it) = open::<before::Case>(&disk)?;
    session.set(it, "Case:inside.a", 10)?;
    session.set(it, "Case:hp", 50)?;
    session.save()?;
    drop(session);
    let (mut session, _, it) = open::<now::Case>(&disk)?;
    assert_eq!(now(&session, it), (50, 2, 10));
    session.undo()?;
    session.undo()?;
    assert_eq!(now(&session, it), (100, 2, 1));
    Ok(())
}
