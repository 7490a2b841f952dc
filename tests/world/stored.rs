//! A world in a save: what it looks like without its types, and where it may stand.

use persist::world::Activity;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use persist::{
    Component, ErrorKind, ObjectId, Persist, Record, Result, SaveManager, Saves, Value, World,
};
use persist_tests::support::Shared;
use persist_tests::support::forge::Forged;
use persist_tools::Document;

use super::actor::{log, logged};
use super::park::Park as _;

#[derive(Persist, Debug)]
struct Item {
    name: String,
}

/// Points to what others point to.
#[derive(Persist, Debug)]
struct Bag {
    items: Vec<Arc<Mutex<Item>>>,
    owner: ObjectId,
}

thread_local! {
    static TAKES_BRIBES: Cell<bool> = const { Cell::new(false) };
}

/// Points, too, and refuses a save or a load on demand.
#[derive(Persist, Debug)]
#[persist(validate = Guard::check, after_load = Guard::wake)]
struct Guard {
    watched: Option<Arc<Mutex<Item>>>,
    is_bribed: bool,
}

impl Guard {
    fn check(&self) -> Result<(), String> {
        log(format!("check {}", self.watched.is_some()));
        let is_refused = self.is_bribed && !TAKES_BRIBES.get();
        if is_refused { Err("the guard is bribed".into()) } else { Ok(()) }
    }

    fn wake(&mut self) {
        let watched = self.watched.as_ref().map(|item| item.lock().expect("free").name.clone());
        log(format!("wake {watched:?}"));
    }
}

impl Component for Bag {}
impl Component for Guard {}

fn saves() -> Saves {
    let saves = Saves::new();
    saves.register_component::<Bag>().expect("a component class");
    saves.register_component::<Guard>().expect("a component class");
    saves
}

fn item(name: &str) -> Arc<Mutex<Item>> {
    Arc::new(Mutex::new(Item { name: name.into() }))
}

/// A guard and two bags, one with the item that the guard watches and with one of its own.
fn vault(item: &Arc<Mutex<Item>>) -> World {
    let mut world = World::new();
    let [guard, bag, other] = ["guard", "bag", "other"].map(|name| world.spawn(name));
    let mine = self::item("mine");
    let bag_of = |items, owner| Bag { items, owner };
    world.attach(bag, bag_of(vec![mine.clone(), item.clone(), mine], guard)).expect("there");
    world.attach(guard, Guard { watched: Some(item.clone()), is_bribed: false }).expect("there");
    world.attach(guard, bag_of(vec![item.clone()], bag)).expect("there");
    world.attach(other, bag_of(vec![], other)).expect("there");
    world.set_parent(bag, Some(guard)).expect("there");
    world
}

/// Checks the pointers of a vault; returns the item that all share.
fn check(world: &World) -> Arc<Mutex<Item>> {
    let [guard, bag] = ["guard", "bag"].map(|name| world.find(name).expect("there"));
    let watched = world.get::<Guard>(guard).and_then(|guard| guard.watched.clone());
    let watched = watched.expect("watched");
    let bags = [bag, guard].map(|object| world.get::<Bag>(object).expect("there"));
    assert_eq!(bags[0].items.len(), 3);
    assert!(Arc::ptr_eq(&bags[0].items[0], &bags[0].items[2]));
    assert!(Arc::ptr_eq(&bags[0].items[1], &watched));
    assert!(Arc::ptr_eq(&bags[1].items[0], &watched));
    assert_eq!(bags[0].items[0].lock().expect("free").name, "mine");
    assert_eq!((bags[0].owner, bags[1].owner), (guard, bag));
    watched
}

#[test]
fn components_share_objects_with_each_other_and_with_what_is_around_the_world() -> Result<()> {
    #[derive(Persist)]
    struct Game {
        best: Arc<Mutex<Item>>,
        world: World,
        level: u32,
    }
    let gold = item("gold");
    let game = Game { best: gold.clone(), world: vault(&gold), level: 7 };
    let saves = saves();
    let save = saves.to_vec(&game)?;
    let game = saves.from_slice::<Game>(&save)?;
    assert!(game.report().is_clean(), "{}", game.report());
    assert!(Arc::ptr_eq(&check(&game.world), &game.best));
    assert_eq!((game.level, &*game.best.lock().expect("free").name), (7, "gold"));
    Ok(())
}

#[test]
fn a_world_may_be_an_object_among_others_and_there_may_be_two() -> Result<()> {
    #[derive(Persist)]
    struct Player {
        here: Shared<World>,
        holds: Arc<Mutex<Item>>,
    }
    let gold = item("gold");
    let worlds = [&gold, &gold].map(|item| Rc::new(RefCell::new(vault(item))));
    worlds[1].borrow_mut().spawn("only here");
    let player = Player { here: worlds[1].clone(), holds: gold };
    let player = Rc::new(RefCell::new(player));
    let mut manager = saves().manager();
    manager.add(&worlds[0])?;
    manager.add(&player)?;
    let save = manager.to_vec()?;
    let loaded = manager.from_slice(&save)?;
    assert!(loaded.report().is_clean(), "{}", loaded.report());
    let player = loaded.first::<Player>()?;
    let holds = player.borrow().holds.clone();
    let found: Vec<Shared<World>> = loaded.iter::<World>().collect();
    assert_eq!(found.len(), 2);
    for world in &found {
        assert!(Arc::ptr_eq(&check(&world.borrow()), &holds));
    }
    let here = player.borrow().here.clone();
    assert!(here.borrow().find("only here").is_some());
    assert_eq!(found.iter().filter(|world| Rc::ptr_eq(world, &here)).count(), 1);
    Ok(())
}

#[test]
fn a_world_goes_round_in_circles_with_what_points_back_to_it() -> Result<()> {
    #[derive(Persist)]
    struct Portal {
        to: Arc<Mutex<World>>,
    }
    impl Component for Portal {}
    let worlds = [(); 2].map(|()| Arc::new(Mutex::new(World::new())));
    for (from, to) in [(0, 1), (1, 0), (1, 1)] {
        let mut world = worlds[from].lock().expect("free");
        let door = world.spawn("door");
        world.attach(door, Portal { to: worlds[to].clone() })?;
    }
    let mut manager = SaveManager::new();
    manager.saves().register_component::<Portal>()?;
    manager.add(&worlds[0])?;
    let save = manager.to_vec()?;
    let loaded = manager.from_slice(&save)?;
    let here = loaded.first_pointer::<Arc<Mutex<World>>>()?;
    let through = |world: &Arc<Mutex<World>>, name| {
        let world = world.lock().expect("free");
        world.get::<Portal>(world.find(name).expect("there")).expect("there").to.clone()
    };
    let there = through(&here, "door");
    assert!(!Arc::ptr_eq(&here, &there));
    assert!(Arc::ptr_eq(&through(&there, "door"), &here));
    assert!(Arc::ptr_eq(&through(&there, "door1"), &there));
    loaded.dismantle();
    for world in worlds {
        *world.lock().expect("free") = World::new();
    }
    Ok(())
}

#[test]
fn hooks_of_components_run_with_their_pointers_in_place() -> Result<()> {
    let world = vault(&item("gold"));
    let saves = saves();
    let save = saves.to_vec(&world)?;
    logged();
    saves.from_slice::<World>(&save)?;
    assert_eq!(logged(), ["check true", "wake Some(\"gold\")"]);
    Ok(())
}

#[test]
fn a_component_that_refuses_a_save_or_a_load_is_named() -> Result<()> {
    let mut world = vault(&item("gold"));
    let guard = world.find("guard").expect("there");
    world.get_mut::<Guard>(guard).expect("there").is_bribed = true;
    let saves = saves();
    TAKES_BRIBES.set(true);
    let save = saves.to_vec(&world)?;
    TAKES_BRIBES.set(false);
    let refused = [saves.to_vec(&world).map(drop), saves.from_slice::<World>(&save).map(drop)];
    for error in refused.map(|refused| refused.expect_err("bribed")) {
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(error.message().contains("the guard is bribed"), "{error}");
        assert_eq!(error.field(), Some("guard:Guard"), "{error}");
    }
    Ok(())
}

#[test]
fn a_before_save_hook_in_a_component_runs_where_the_world_may_be_changed() -> Result<()> {
    #[derive(Persist)]
    #[persist(before_save = Shy::hide)]
    struct Shy {
        saves: u32,
    }
    impl Shy {
        fn hide(&mut self) {
            self.saves += 1;
        }
    }
    impl Component for Shy {}
    let mut world = World::new();
    let shy = world.spawn("shy");
    world.attach(shy, Shy { saves: 0 })?;
    let saves = Saves::new();
    saves.register_component::<Shy>()?;
    let error = saves.to_vec(&world).expect_err("the hook needs `&mut`");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(world.get::<Shy>(shy).map(|shy| shy.saves), Some(0));

    let world = Rc::new(RefCell::new(world));
    let mut manager = saves.manager();
    manager.add(&world)?;
    let save = manager.to_vec()?;
    assert_eq!(world.borrow().get::<Shy>(shy).map(|shy| shy.saves), Some(1));
    let again = manager.from_slice(&save)?.first::<World>()?;
    assert_eq!(again.borrow().get::<Shy>(shy).map(|shy| shy.saves), Some(1));
    Ok(())
}

#[test]
fn a_class_that_is_not_registered_for_a_world_in_a_field_is_named() {
    #[derive(Persist)]
    struct Game {
        world: World,
    }
    let game = Game { world: vault(&item("gold")) };
    let error = Saves::new().to_vec(&game).expect_err("no class is registered");
    assert_eq!(error.kind(), ErrorKind::WrongClass);
    insta::assert_snapshot!(error);
}

#[test]
fn equal_worlds_have_equal_bytes_whatever_was_done_to_them() -> Result<()> {
    let gold = item("gold");
    let one = vault(&gold);
    let mut other = vault(&gold);
    let bag = other.find("bag").expect("there");
    let guard = other.find("guard").expect("there");
    other.set_parent(bag, None)?;
    other.set_parent(bag, Some(guard))?;
    other.rename(bag, "sack")?;
    other.rename(bag, "bag")?;
    other.park(guard)?;
    other.unpark(guard)?;
    other.set_activity(bag, Activity::Paused)?;
    other.set_activity(bag, Activity::Active)?;
    let saves = saves();
    assert_eq!(saves.to_vec(&one)?, saves.to_vec(&other)?);
    Ok(())
}

#[test]
fn a_world_can_be_read_and_changed_without_its_types() -> Result<()> {
    let world = vault(&item("gold"));
    let saves = saves();
    let save = saves.to_vec(&world)?;
    let mut document = Document::from_slice(&save)?;
    assert_eq!(document.to_vec()?, save, "byte for byte");
    let root = record(document.root_mut());
    assert_eq!(root.class(), "persist.World");
    assert_eq!(root.get("last_id").and_then(Value::as_u64), Some(3));
    let Some(Value::Seq(objects)) = root.get_mut("objects") else { panic!("a list") };
    let names: Vec<&str> = objects
        .iter()
        .filter_map(|object| match object {
            Value::Struct(object) => object.get("name")?.as_text(),
            _ => None,
        })
        .collect();
    assert_eq!(names, ["guard", "bag", "other"]);
    let guard = record(objects.first_mut());
    assert_eq!(guard.class(), "persist.Object");
    guard.set("name", "sentry");
    let bag = objects[1].as_record().expect("an object");
    assert_eq!(bag.get("parent"), Some(&persist_tests::support::parent(1, 0)));
    let again = saves.from_slice::<World>(&document.to_vec()?)?.into_inner();
    assert!(again.find("sentry").is_some() && again.find("guard").is_none());
    Ok(())
}

fn record(value: Option<&mut Value>) -> &mut Record {
    match value {
        Some(Value::Struct(record)) => record,
        other => panic!("a struct, not {other:?}"),
    }
}

#[test]
fn a_world_is_dumped_as_text() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.sav");
    saves().file(&path).save(&vault(&item("gold")))?;
    let text = persist_tools::dump(&path)?;
    for word in ["persist.World", "guard", "Bag", "gold", "is_bribed"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    Ok(())
}

#[test]
fn a_world_is_saved_in_the_background_too() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let [path, other] = ["a.sav", "b.sav"].map(|name| folder.path().join(name));
    let world = vault(&item("gold"));
    let saves = Saves::new();
    saves.file(&path).save(&world)?;
    saves.file(&other).save_in_background(&world)?.wait()?;
    // Their headers differ in the time.
    let read = |path| {
        let mut save = Forged::parse(&std::fs::read(path).expect("a save"));
        save.header_fields = Vec::new();
        save.build()
    };
    assert!(read(&path) == read(&other));
    let again = self::saves().file(&other).load::<World>()?.into_inner();
    check(&again);
    Ok(())
}
