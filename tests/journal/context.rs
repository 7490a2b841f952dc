//! Components whose fields are names in the save, and indices into the running game's table in memory.

use std::sync::Arc;

use persist::history::{CommandEdit, Recovered};
use persist::{
    Command, Component, ErrorKind, History, ObjectId, Persist, Result, Saves, Session, World, field,
};
use persist_tests::support::disk::Disk;
use persist_tests::support::items::{Item, Items, item};

use super::{JOURNAL, SAVE};

#[derive(Persist, Default, Debug, PartialEq)]
struct Bag {
    worn: Item,
    #[persist(with = "Vec<item>", context = Items, default)]
    items: Vec<usize>,
}

impl Component for Bag {}

/// Puts an item on: a command that has one itself.
#[derive(Persist)]
struct Wear {
    object: ObjectId,
    #[persist(with = item, context = Items)]
    item: usize,
}

impl Command for Wear {
    fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        if let Some(bag) = edit.target().get_mut::<Bag>(self.object) {
            std::mem::swap(&mut bag.worn.0, &mut self.item);
        }
        Ok(())
    }

    fn undo(&mut self, world: &mut World) -> Result<()> {
        if let Some(bag) = world.get_mut::<Bag>(self.object) {
            std::mem::swap(&mut bag.worn.0, &mut self.item);
        }
        Ok(())
    }
}

const OLD: [&str; 3] = ["rope", "lamp", "key"];
const NEW: [&str; 4] = ["key", "map", "lamp", "rope"];

fn saves(disk: &Disk, items: &[&str]) -> Result<Saves> {
    let saves = super::driver::saves_on(disk).context(Arc::new(Items::new(items)));
    saves.register_component::<Bag>()?;
    Ok(saves)
}

fn open(disk: &Disk, items: &[&str]) -> Result<(Session<World>, Recovered)> {
    let options = Session::with(saves(disk, items)?, History::new(None));
    options.register_command::<Wear>()?.open(SAVE, JOURNAL)
}

/// What the only object wears, and what it has, by their names.
fn names(session: &Session<World>, items: &[&'static str]) -> (&'static str, Vec<&'static str>) {
    let world = session.world();
    let bag = world.get::<Bag>(world.find("Ada").unwrap()).unwrap();
    (items[bag.worn.0], bag.items.iter().map(|item| items[*item]).collect())
}

#[test]
fn a_world_is_edited_undone_redone_saved_and_recovered_with_another_table() -> Result<()> {
    let disk = Disk::default();
    let (mut session, _) = open(&disk, &OLD)?;
    let ada = session.edit("Add", |edit| {
        let ada = edit.spawn("Ada")?;
        edit.attach(ada, Bag { worn: Item(0), items: vec![1] })?;
        Ok(ada)
    })?;
    session.save()?;
    session.edit("Set", |edit| edit.set(ada, field!(Bag.worn), "key"))?;
    session.edit("Fill", |edit| edit.insert_element(ada, field!(Bag.items), 0, "rope"))?;
    session.edit("Change", |edit| {
        edit.get_mut::<Bag>(ada)?.items.push(2);
        Ok(())
    })?;
    session.apply(Wear { object: ada, item: 1 })?;
    assert_eq!(names(&session, &OLD), ("lamp", vec!["rope", "lamp", "key"]));
    session.undo()?;
    session.undo()?;
    session.undo()?;
    assert_eq!(names(&session, &OLD), ("key", vec!["lamp"]));
    session.redo()?;
    session.redo()?;
    assert_eq!(names(&session, &OLD), ("key", vec!["rope", "lamp", "key"]));
    session.redo()?;
    drop(session);

    // The save and the journal are read with another table.
    let (mut session, recovered) = open(&disk, &NEW)?;
    assert!(recovered.stopped.is_none(), "{recovered}");
    assert_eq!(names(&session, &NEW), ("lamp", vec!["rope", "lamp", "key"]));
    session.undo()?;
    assert_eq!(names(&session, &NEW), ("key", vec!["rope", "lamp", "key"]));
    session.undo()?;
    session.undo()?;
    session.undo()?;
    assert_eq!(names(&session, &NEW), ("rope", vec!["lamp"]));
    while session.redo()? {}
    assert_eq!(names(&session, &NEW), ("lamp", vec!["rope", "lamp", "key"]));
    session.save()?;
    drop(session);

    let (session, _) = open(&disk, &OLD)?;
    assert_eq!(names(&session, &OLD), ("lamp", vec!["rope", "lamp", "key"]));
    Ok(())
}

#[test]
fn an_edit_of_a_world_without_a_context_is_refused_and_rolled_back() -> Result<()> {
    let disk = Disk::default();
    let saves = saves(&disk, &OLD)?;
    let mut world = World::new();
    let mut history = History::new(None);
    let ada = history.edit(&mut world, "Add", |edit| {
        let ada = edit.spawn("Ada")?;
        edit.attach(ada, Bag::default())?;
        Ok(ada)
    })?;
    let error =
        history.edit(&mut world, "Set", |edit| edit.set(ada, field!(Bag.worn), "key")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongContext);
    assert_eq!((error.class(), error.field()), (Some("Bag"), Some("worn")));
    assert_eq!(error.object(), Some(ada.get()));

    world.registry_mut().set_context(Arc::new(Items::new(&OLD)));
    history.edit(&mut world, "Set", |edit| edit.set(ada, field!(Bag.worn), "key"))?;
    assert_eq!(world.get::<Bag>(ada), Some(&Bag { worn: Item(2), items: vec![] }));

    // The context of the world serves where the saves have none.
    let save = super::driver::saves_on(&disk).to_vec(&world)?;
    let world = saves.from_slice::<World>(&save)?.into_inner();
    assert_eq!(world.get::<Bag>(ada), Some(&Bag { worn: Item(2), items: vec![] }));
    Ok(())
}
