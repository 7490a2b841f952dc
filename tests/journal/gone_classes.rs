//! Journals of a program that had more classes and fields than today's: their steps are skipped, and what follows them
//! is replayed.

use std::time::Duration;

use persist::history::Recovered;
use persist::world::ExternalIds;
use persist::{
    Component, History, ObjectId, Persist, Result, SaveOptions, Saves, Session, Unknown, World,
};

use super::{JOURNAL, SAVE};
use persist_tests::support::disk::Disk;

#[derive(Persist, Default, Clone, Debug, PartialEq)]
struct Place {
    x: u32,
}

/// A class that today's program does not have.
#[derive(Persist, Default, Clone)]
struct Cart {
    load: u32,
}

impl Component for Place {}
impl Component for Cart {}

fn saves(disk: &Disk) -> Result<Saves> {
    let saves = Saves::new().storage(disk.clone());
    let saves = saves.save_options(SaveOptions::new().wait(Duration::ZERO));
    saves.register_component::<Place>()?;
    Ok(saves)
}

fn open(saves: Saves) -> Result<(Session<World>, Recovered)> {
    Session::with(saves, History::new(None)).open(SAVE, JOURNAL)
}

fn yesterday(disk: &Disk) -> Result<Session<World>> {
    let saves = saves(disk)?;
    saves.register_component::<Cart>()?;
    Ok(open(saves)?.0)
}

/// Edits of a component that today's program has, between edits of one that it does not have.
fn edit(session: &mut Session<World>, ada: ObjectId) -> Result<()> {
    session.edit("Load", |edit| edit.set(ada, "Cart:load", 7).map(drop))?;
    session.edit("Move", |edit| edit.set(ada, "Place:x", 2).map(drop))?;
    session.edit("Both", |edit| {
        edit.get_mut::<Cart>(ada)?.load = 8;
        edit.get_mut::<Place>(ada)?.x = 3;
        Ok(())
    })?;
    session.edit("Unload", |edit| edit.detach::<Cart>(ada).map(drop))?;
    session.edit("Again", |edit| edit.attach(ada, Cart { load: 9 }))?;
    session.edit("Last", |edit| edit.set(ada, "Place:x", 4).map(drop))?;
    session.undo()?;
    session.undo()?;
    session.redo()?;
    session.redo()?;
    Ok(())
}

fn spawn(session: &mut Session<World>) -> Result<ObjectId> {
    session.edit("Add", |edit| {
        let ada = edit.spawn("Ada")?;
        edit.attach(ada, Place { x: 1 })?;
        edit.attach(ada, Cart { load: 1 })?;
        Ok(ada)
    })
}

fn x(session: &Session<World>, ada: ObjectId) -> u32 {
    session.world().get::<Place>(ada).map_or(0, |place| place.x)
}

#[test]
fn steps_of_a_component_whose_class_is_gone_are_skipped() -> Result<()> {
    for is_saved in [false, true] {
        for is_removed in [false, true] {
            let disk = Disk::default();
            let mut session = yesterday(&disk)?;
            let ada = spawn(&mut session)?;
            if is_saved {
                session.save()?;
            }
            edit(&mut session, ada)?;
            drop(session);

            let today = saves(&disk)?;
            if is_removed {
                today.declare_removed_class("Cart")?;
            }
            let (mut session, recovered) = open(today)?;
            assert!(recovered.stopped.is_none(), "{recovered}");
            let rows: Vec<_> = recovered.skipped.iter().map(ToString::to_string).collect();
            let detail = if is_removed { ", as `removed` says" } else { "" };
            assert_eq!(rows, [format!("skipped, not registered: Cart{detail}, 5 times")]);
            assert_eq!(recovered.skipped[0].is_declared, is_removed);
            let text = recovered.to_string();
            assert!(text.contains("; what the game does not have was left out: Cart"));
            assert_eq!(recovered.kept.len(), usize::from(!is_removed), "{recovered}");
            assert_eq!(x(&session, ada), 4);
            let mut seen = Vec::new();
            while session.undo()? {
                seen.push(x(&session, ada));
            }
            assert_eq!(seen[..3], [3, 3, 3]);
            while session.redo()? {}
            assert_eq!(x(&session, ada), 4);
            session.save()?;
            session.edit("Today", |edit| edit.set(ada, "Place:x", 5).map(drop))?;
            drop(session);
            // The journal of today's program has no such step.
            let (session, recovered) = open(saves(&disk)?)?;
            assert!(recovered.stopped.is_none() && recovered.skipped.is_empty(), "{recovered}");
            assert_eq!(x(&session, ada), 5);
        }
    }
    Ok(())
}

mod bags {
    use super::*;

    #[derive(Persist, Default, Clone)]
    #[persist(class = "Bag")]
    pub(super) struct Modded {
        pub(super) gold: u32,
        pub(super) mana: u32,
    }

    /// Keeps what it does not know.
    #[derive(Persist, Default, Clone)]
    #[persist(class = "Bag")]
    pub(super) struct Bag {
        pub(super) gold: u32,
        #[persist(unknown)]
        pub(super) rest: Unknown,
    }

    impl Component for Modded {}
    impl Component for Bag {}
}

/// Opens a session of a program whose bag is a `T`.
fn with_bag<T: Component + Persist>(disk: &Disk) -> Result<(Session<World>, Recovered)> {
    let saves = saves(disk)?;
    saves.register_component::<T>()?;
    open(saves)
}

#[test]
fn steps_that_hold_unknown_data_go_without_it() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = with_bag::<bags::Modded>(&disk)?;
    let ada = session.edit("Add", |edit| {
        let ada = edit.spawn("Ada")?;
        edit.attach(ada, bags::Modded { gold: 1, mana: 2 })?;
        edit.attach(ada, Place { x: 1 })?;
        Ok(ada)
    })?;
    session.edit("Gold", |edit| edit.set(ada, "Bag:gold", 5).map(drop))?;
    session.edit("Mana", |edit| edit.set(ada, "Bag:mana", 6).map(drop))?;
    session.edit("Away", |edit| edit.detach::<bags::Modded>(ada).map(drop))?;
    session.edit("Move", |edit| edit.set(ada, "Place:x", 2).map(drop))?;
    session.undo()?;
    session.undo()?;
    let prefab = session.world().prefab(ada)?;
    session.edit("Copy", |edit| edit.instantiate(&prefab, ExternalIds::Keep).map(drop))?;
    session.edit("Less", |edit| edit.remove(ada))?;
    session.undo()?;
    session.edit("Move", |edit| edit.set(ada, "Place:x", 3).map(drop))?;
    drop(session);

    let (mut session, recovered) = with_bag::<bags::Bag>(&disk)?;
    assert!(recovered.stopped.is_none(), "{recovered}");
    insta::assert_snapshot!(recovered);
    let gold = |session: &Session<World>| session.world().get::<bags::Bag>(ada).map(|it| it.gold);
    assert_eq!((x(&session, ada), gold(&session)), (3, Some(5)));
    while session.undo()? {}
    while session.redo()? {}
    assert_eq!((x(&session, ada), gold(&session)), (3, Some(5)));
    Ok(())
}

#[test]
fn the_copy_of_a_journal_that_is_kept_grows_with_it() -> Result<()> {
    let disk = Disk::default();
    let mut session = yesterday(&disk)?;
    let ada = spawn(&mut session)?;
    edit(&mut session, ada)?;
    drop(session);
    for number in 10..14 {
        let (mut session, recovered) = open(saves(&disk)?)?;
        assert_eq!(recovered.kept.len(), 1, "{recovered}");
        session.edit("Today", |edit| edit.set(ada, "Place:x", number).map(drop))?;
    }
    let kept = disk.names().into_iter().filter(|name| name.contains("kept"));
    assert_eq!(kept.count(), 1);
    // With the class again, before a save, all steps are there.
    let session = yesterday(&disk)?;
    assert_eq!(session.world().get::<Cart>(ada).map(|cart| cart.load), Some(9));
    assert_eq!(x(&session, ada), 13);
    Ok(())
}

mod sheets {
    use super::*;

    #[derive(Persist, Default)]
    #[persist(class = "Sheet")]
    pub(super) struct Sheet {
        pub(super) title: String,
        pub(super) note: String,
        pub(super) paper: Paper,
    }

    #[derive(Persist, Default)]
    #[persist(class = "Paper")]
    pub(super) struct Paper {
        pub(super) width: u32,
        pub(super) color: u32,
    }

    #[derive(Persist, Default)]
    #[persist(class = "Sheet")]
    pub(super) struct Less {
        pub(super) title: String,
        pub(super) paper: LessPaper,
    }

    #[derive(Persist, Default)]
    #[persist(class = "Paper")]
    pub(super) struct LessPaper {
        pub(super) width: u32,
    }
}

/// What a step of a document holds and the document has no room for, was once dropped without a word.
#[test]
fn fields_of_a_document_that_are_gone_are_named_and_the_journal_is_kept() -> Result<()> {
    let disk = Disk::default();
    let options = Session::<sheets::Sheet>::with(saves(&disk)?, History::new(None));
    let (mut session, _) = options.open(SAVE, JOURNAL)?;
    session.edit("Title", |sheet| {
        sheet.title.push_str("Map");
        Ok(())
    })?;
    session.edit("Note", |sheet| {
        sheet.note.push_str("torn");
        Ok(())
    })?;
    session.edit("Color", |sheet| {
        sheet.paper.color = 3;
        Ok(())
    })?;
    session.edit("Width", |sheet| {
        sheet.paper.width = 5;
        Ok(())
    })?;
    drop(session);
    let options = Session::<sheets::Less>::with(saves(&disk)?, History::new(None));
    let (session, recovered) = options.open(SAVE, JOURNAL)?;
    assert!(recovered.stopped.is_none(), "{recovered}");
    let rows: Vec<_> = recovered.skipped.iter().map(ToString::to_string).collect();
    assert_eq!(rows.len(), 2, "{rows:?}");
    insta::assert_snapshot!(recovered);
    assert_eq!(recovered.kept.len(), 1, "the fields are in the copy");
    assert_eq!((&*session.target().title, session.target().paper.width), ("Map", 5));
    Ok(())
}
