//! Worlds in pages as parts of other values, with pointers, and in unknown content.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::io::Cursor;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex};

use persist::{
    Component, History, Limits, ObjectId, Persist, Result, SaveManager, Saves, Session, World,
    field,
};
use persist_tools::{Document, verify};

use super::{Note, Place, grow, pages, saves, state, world_of};

#[derive(Persist)]
struct Places {
    first: World,
    inner: Option<Box<World>>,
    list: Vec<World>,
    by_name: BTreeMap<String, RefCell<World>>,
    once: OnceCell<World>,
    locked: Mutex<World>,
    shared: Rc<RefCell<World>>,
}

fn once(world: World) -> OnceCell<World> {
    let cell = OnceCell::new();
    assert!(cell.set(world).is_ok());
    cell
}

#[test]
fn worlds_have_pages_wherever_they_lie() -> Result<()> {
    let saves = saves();
    let value = Places {
        first: world_of(3_000)?,
        inner: Some(Box::new(world_of(3_500)?)),
        list: vec![world_of(10)?, world_of(4_000)?, world_of(4_000)?],
        by_name: BTreeMap::from([("a".into(), RefCell::new(world_of(5_000)?))]),
        once: once(world_of(2_900)?),
        locked: Mutex::new(world_of(100)?),
        shared: Rc::new(RefCell::new(world_of(9_000)?)),
    };
    let save = saves.to_vec(&value)?;
    let found = pages(&save);
    let paged = [3_000, 3_500, 4_000, 4_000, 5_000, 2_900, 9_000];
    assert_eq!(found.iter().map(|page| page.objects).sum::<u64>(), paged.iter().sum::<u64>());
    let loaded = saves.from_slice::<Places>(&save)?;
    assert!(saves.to_vec(&*loaded)? == save);
    assert_eq!(state(&loaded.list[1]), state(&loaded.list[2]));
    assert_eq!(state(&loaded.shared.borrow()), state(&world_of(9_000)?));
    assert_eq!(state(&loaded.locked.lock().expect("free")), state(&world_of(100)?));
    verify(Cursor::new(&save), &Limits::DEFAULT)?;
    // Each world has its objects in a document, which is cut into the same pages.
    let document = Document::from_slice(&save)?;
    assert_eq!(document.entries().count(), 2);
    assert!(document.to_vec()? == save);
    let again = Document::from_value(document.into_value())?;
    assert!(again.to_vec()? == save);
    Ok(())
}

/// Another thread could change a world behind a lock between its pages and its record.
#[test]
fn a_world_behind_a_lock_lies_in_its_record() -> Result<()> {
    let saves = saves();
    let locked = (Mutex::new(world_of(4_000)?), world_of(3_000)?);
    let save = saves.to_vec(&locked)?;
    assert_eq!(pages(&save).iter().map(|page| page.objects).sum::<u64>(), 3_000);
    let loaded = saves.from_slice::<(Mutex<World>, World)>(&save)?;
    assert_eq!(state(&loaded.0.lock().expect("free")), state(&world_of(4_000)?));
    verify(Cursor::new(&save), &Limits::DEFAULT)?;
    // A document does not know the lock.
    let document = Document::from_slice(&save)?.to_vec()?;
    let loaded = saves.from_slice::<(Mutex<World>, World)>(&document)?;
    assert_eq!(state(&loaded.0.lock().expect("free")), state(&world_of(4_000)?));
    Ok(())
}

#[test]
fn worlds_of_a_manager_have_pages_by_their_ids() -> Result<()> {
    let saves = saves();
    saves.register::<World>()?;
    let mut manager = saves.manager();
    for objects in [3_000, 20, 5_000] {
        manager.add(&Rc::new(RefCell::new(world_of(objects)?)))?;
    }
    let save = saves.to_vec(&manager)?;
    let loaded = saves.from_slice::<SaveManager>(&save)?;
    let worlds: Vec<Rc<RefCell<World>>> = loaded.iter::<World>().collect();
    let counts: Vec<usize> = worlds.iter().map(|world| world.borrow().objects().len()).collect();
    assert_eq!(counts, [3_000, 20, 5_000]);
    assert!(saves.to_vec(&*loaded)? == save);
    verify(Cursor::new(&save), &Limits::DEFAULT)?;
    Ok(())
}

/// Points to what others point to, from other pages.
#[derive(Persist)]
struct Bag {
    item: Arc<Mutex<Item>>,
    last: Option<Arc<Mutex<Item>>>,
}

#[derive(Persist)]
struct Item {
    number: u64,
    next: Option<Arc<Mutex<Item>>>,
}

impl Component for Bag {}

#[test]
fn pointers_lead_from_pages_to_the_same_objects() -> Result<()> {
    let saves = saves();
    saves.register_component::<Bag>()?;
    let mut world = World::new();
    let ids = grow(&mut world, 6_000)?;
    let items: Vec<Arc<Mutex<Item>>> =
        (0..50).map(|number| Arc::new(Mutex::new(Item { number, next: None }))).collect();
    for (at, id) in ids.iter().enumerate().step_by(5) {
        let last = (at % 2 == 0).then(|| items[(at / 10) % 50].clone());
        world.attach(*id, Bag { item: items[at % 50].clone(), last })?;
    }
    items[0].lock().expect("free").next = Some(items[49].clone());
    world.insert_resource(Bag { item: items[7].clone(), last: None })?;
    saves.register_resource::<Bag>()?;
    let save = saves.to_vec(&world)?;
    assert!(pages(&save).len() > 2);
    let loaded = saves.from_slice::<World>(&save)?;
    let item = |world: &World, id: ObjectId| world.get::<Bag>(id).expect("a bag").item.clone();
    for at in (0..6_000).step_by(50) {
        assert!(Arc::ptr_eq(&item(&loaded, ids[at]), &item(&loaded, ids[0])));
        assert_eq!(item(&loaded, ids[at]).lock().expect("free").number, 0);
    }
    let number = |bag: &Bag| bag.item.lock().expect("free").number;
    assert_eq!(loaded.resource::<Bag>().map(number), Some(7));
    assert!(saves.to_vec(&*loaded)? == save);
    verify(Cursor::new(&save), &Limits::DEFAULT)?;
    Ok(())
}

/// Holds its world in a cell, and a component leads back to it.
#[derive(Persist)]
struct Game {
    world: RefCell<World>,
}

#[derive(Persist)]
struct OfGame {
    game: Weak<Game>,
}

#[test]
fn a_component_may_lead_back_to_what_holds_its_world() -> Result<()> {
    // Components are `Send`, so the pointer lies in a registry of its own: here only the cell matters.
    let saves = saves();
    let game = Rc::new(Game { world: RefCell::new(world_of(4_000)?) });
    let of = OfGame { game: Rc::downgrade(&game) };
    let save = saves.to_vec(&(game, of))?;
    assert!(!pages(&save).is_empty());
    let loaded = saves.from_slice::<(Rc<Game>, OfGame)>(&save)?;
    let (game, of) = &*loaded;
    assert!(of.game.upgrade().is_some_and(|found| Rc::ptr_eq(&found, game)));
    assert_eq!(state(&game.world.borrow()), state(&world_of(4_000)?));
    Ok(())
}

mod newer {
    use persist::{Persist, World};

    #[derive(Persist)]
    pub(crate) struct Level {
        pub(crate) name: String,
        pub(crate) world: World,
    }

    #[derive(Persist)]
    pub(crate) struct Held {
        pub(crate) name: String,
        pub(crate) world: World,
    }
}

/// Does not have the field.
#[derive(Persist)]
struct Level {
    name: String,
}

/// Keeps the field in itself.
#[derive(Persist)]
struct Held {
    name: String,
    #[persist(unknown)]
    rest: persist::Unknown,
}

#[test]
fn a_world_that_the_program_does_not_know_is_kept_with_its_objects() -> Result<()> {
    let saves = saves();
    let world = world_of(7_000)?;
    let save = saves.to_vec(&newer::Level { name: "one".into(), world })?;
    let kept = Saves::new().from_slice::<Level>(&save)?;
    assert_eq!(kept.name, "one");
    let between = Saves::new().to_vec(&kept)?;
    assert!(pages(&between).is_empty());
    verify(Cursor::new(&between), &Limits::DEFAULT)?;
    let back = saves.from_slice::<newer::Level>(&between)?;
    assert_eq!(state(&back.world), state(&world_of(7_000)?));

    let world = world_of(7_000)?;
    let save = saves.to_vec(&newer::Held { name: "two".into(), world })?;
    let kept = Saves::new().from_slice::<Held>(&save)?;
    assert!(kept.rest.size() > 64 << 10);
    let between = Saves::new().to_vec(&*kept)?;
    verify(Cursor::new(&between), &Limits::DEFAULT)?;
    let back = saves.from_slice::<newer::Held>(&between)?;
    assert_eq!(state(&back.world), state(&world_of(7_000)?));
    Ok(())
}

/// A manager keeps objects of classes that the program does not have.
#[test]
fn an_unknown_object_with_a_world_is_kept() -> Result<()> {
    let saves = saves();
    saves.register::<newer::Level>()?;
    let mut manager = saves.manager();
    let world = world_of(4_000)?;
    manager.add(&Rc::new(RefCell::new(newer::Level { name: "one".into(), world })))?;
    let save = saves.to_vec(&manager)?;
    let poor = Saves::new();
    let kept = poor.from_slice::<SaveManager>(&save)?;
    let between = poor.to_vec(&*kept)?;
    verify(Cursor::new(&between), &Limits::DEFAULT)?;
    let back = saves.from_slice::<SaveManager>(&between)?;
    let level = back.first::<newer::Level>()?;
    assert_eq!(state(&level.borrow().world), state(&world_of(4_000)?));
    Ok(())
}

#[persist::dynamic]
trait Tool: Send {
    fn weight(&self) -> u32;
}

#[derive(Persist)]
struct Hammer(u32);

impl Tool for Hammer {
    fn weight(&self) -> u32 {
        self.0
    }
}

#[derive(Persist)]
struct Rope {
    length: u8,
}

impl Tool for Rope {
    fn weight(&self) -> u32 {
        self.length.into()
    }
}

#[derive(Persist)]
struct Tools(Vec<Box<dyn Tool>>);

impl Component for Tools {}

/// The numbers of classes inside of components are those of the page, too.
#[test]
fn trait_objects_in_components_have_the_numbers_of_the_page() -> Result<()> {
    let saves = saves();
    saves.register_component::<Tools>()?;
    saves.register_as::<Hammer, dyn Tool>()?;
    saves.register_as::<Rope, dyn Tool>()?;
    let mut world = World::new();
    let ids = grow(&mut world, 5_000)?;
    for (at, id) in ids.iter().enumerate().filter(|(at, _)| at % 4 == 1 || *at > 4_000) {
        let hammer = || Box::new(Hammer(u32::try_from(at).expect("small"))) as Box<dyn Tool>;
        let rope = || Box::new(Rope { length: 7 }) as Box<dyn Tool>;
        world.attach(
            *id,
            Tools(if at % 3 == 0 { vec![rope(), hammer()] } else { vec![hammer()] }),
        )?;
    }
    let save = saves.to_vec(&world)?;
    assert!(pages(&save).len() > 2);
    verify(Cursor::new(&save), &Limits::DEFAULT)?;
    let loaded = saves.from_slice::<World>(&save)?;
    for id in ids {
        let weights = |world: &World| {
            world
                .get::<Tools>(id)
                .map(|tools| tools.0.iter().map(|tool| tool.weight()).collect::<Vec<_>>())
        };
        assert_eq!(weights(&loaded), weights(&world));
    }
    assert!(saves.to_vec(&*loaded)? == save);
    assert!(Document::from_slice(&save)?.to_vec()? == save);
    let poor = super::saves();
    poor.register_component::<Place>()?;
    let kept = poor.from_slice::<World>(&save)?;
    let between = poor.to_vec(&kept)?;
    let back = saves.from_slice::<World>(&between)?;
    assert!(saves.to_vec(&*back)? == save);
    let _ = Note { text: String::new(), whom: None };
    Ok(())
}

#[test]
fn a_session_continues_from_a_save_in_pages() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let (save, journal) = (folder.path().join("level.sav"), folder.path().join("level.journal"));
    let open = || {
        let session = Session::<World>::with(saves(), History::new(64));
        session.open(&save, &journal).map(|(session, _)| session)
    };
    let mut session = open()?;
    let ids = session.edit("Fill", |edit| {
        let mut ids = Vec::new();
        for at in 0..4_000 {
            let object = edit.spawn("Orc")?;
            edit.attach(object, super::place(at))?;
            ids.push(object);
        }
        Ok(ids)
    })?;
    session.save()?;
    let saved = std::fs::read(&save).expect("it is written");
    assert!(pages(&saved).len() > 1);
    session.set(ids[3_000], field!(Place.x), 7.0)?;
    session.edit("Remove", |edit| edit.remove(ids[5]))?;
    let before = state(session.world());
    drop(session);

    let mut session = open()?;
    assert_eq!(state(session.world()), before);
    while session.undo()? {}
    assert_eq!(session.world().objects().len(), 0);
    while session.redo()? {}
    assert_eq!(state(session.world()), before);
    session.save()?;
    assert_eq!(state(&*saves().file(&save).load::<World>()?), before);
    Ok(())
}
