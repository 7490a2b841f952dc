//! Objects and components: made, found, asked for, saved.

use persist::world::Activity;
use std::sync::{Arc, Mutex};

use persist::{Component, Limits, ObjectId, Persist, SaveManager, Saves, World};

#[derive(Persist, Debug, PartialEq, Clone)]
struct Position {
    x: f32,
    y: f32,
}

#[derive(Persist, Debug, PartialEq)]
struct Target {
    whom: Option<ObjectId>,
    all: Vec<ObjectId>,
}

#[derive(Persist, Debug, PartialEq)]
struct Score(u32);

impl Component for Position {}
impl Component for Target {}

#[test]
fn a_world_comes_back_as_it_was() -> persist::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.sav");
    let mut world = World::new();
    let ids: Vec<ObjectId> = (0..200).map(|_| world.spawn("Orc")).collect();
    for (n, id) in ids.iter().enumerate() {
        world.attach(*id, Position { x: n as f32, y: 0.5 })?;
        if n % 3 == 0 {
            world.attach(*id, Target { whom: ids.get(n + 1).copied(), all: vec![ids[0], *id] })?;
        }
    }
    world.set_parent(ids[5], Some(ids[9]))?;
    world.set_parent(ids[4], Some(ids[9]))?;
    world.remove(ids[100]);
    world.set_activity(ids[9], Activity::Paused)?;
    world.insert_resource(Score(7))?;
    world.update(0.1);
    let gone = world.spawn("Gone");
    world.remove(gone);

    let saves = Saves::new();
    saves.file(&path).save(&world)?;
    let saves = Saves::new();
    saves.register_component::<Position>()?;
    saves.register_component::<Target>()?;
    saves.register_resource::<Score>()?;
    let mut again = saves.file(&path).load::<World>()?;
    assert!(again.report().is_clean(), "{}", again.report());
    assert_eq!(again.objects().len(), 199);
    assert_eq!(again.objects().collect::<Vec<_>>(), world.objects().collect::<Vec<_>>());
    for id in world.objects() {
        assert_eq!(again.name(id), world.name(id));
        assert_eq!(again.get::<Position>(id), world.get::<Position>(id));
        assert_eq!(again.get::<Target>(id), world.get::<Target>(id));
        assert_eq!(again.children(id), world.children(id));
        assert_eq!(again.parent(id), world.parent(id));
        assert_eq!(again.activity(id), world.activity(id));
    }
    assert_eq!(again.resource::<Score>(), Some(&Score(7)));
    assert!(again.spawn("New") > gone, "an id came back");
    world.spawn("New");
    assert_eq!(saves.to_vec(&again)?, saves.to_vec(&world)?);
    Ok(())
}

#[test]
fn what_the_program_does_not_have_stays_on_its_objects() -> persist::Result<()> {
    let mut world = World::new();
    let orc = world.spawn("Orc");
    let elf = world.spawn("Elf");
    world.attach(orc, Target { whom: Some(elf), all: vec![] })?;
    world.attach(orc, Position { x: 1.0, y: 2.0 })?;
    world.attach(elf, Position { x: 3.0, y: 4.0 })?;
    world.insert_resource(Score(9))?;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.sav");
    let saves = Saves::new();
    saves.file(&path).save(&world)?;

    let poor = Saves::new();
    poor.register_component::<Position>()?;
    let kept = poor.file(&path).load::<World>()?.into_inner();
    assert_eq!(kept.classes(orc), ["Target", "Position"]);
    poor.file(&path).save(&kept)?;

    let saves = Saves::new();
    saves.register_component::<Position>()?;
    saves.register_component::<Target>()?;
    saves.register_resource::<Score>()?;
    let again = saves.file(&path).load::<World>()?.into_inner();
    assert_eq!(again.get::<Target>(orc).and_then(|target| target.whom), Some(elf));
    assert_eq!(again.classes(orc), ["Target", "Position"]);
    assert_eq!(again.resource::<Score>(), Some(&Score(9)));
    Ok(())
}

#[derive(Persist)]
struct Alpha(Arc<Mutex<u32>>);

#[derive(Persist)]
struct Beta(Arc<Mutex<u32>>);

#[test]
fn resources_that_the_program_does_not_have_take_no_pointers_of_others() -> persist::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.sav");
    let mut world = World::new();
    world.insert_resource(Alpha(Arc::new(Mutex::new(1))))?;
    world.insert_resource(Beta(Arc::new(Mutex::new(2))))?;
    Saves::new().file(&path).save(&world)?;
    let poor = Saves::new();
    poor.register_resource::<Beta>()?;
    let world = poor.file(&path).load::<World>()?.into_inner();
    assert_eq!(world.resource::<Beta>().map(|beta| *beta.0.lock().expect("free")), Some(2));
    poor.file(&path).save(&world)?;
    let saves = Saves::new();
    saves.register_resource::<Alpha>()?;
    saves.register_resource::<Beta>()?;
    let world = saves.file(&path).load::<World>()?.into_inner();
    assert_eq!(world.resource::<Alpha>().map(|alpha| *alpha.0.lock().expect("free")), Some(1));
    assert_eq!(world.resource::<Beta>().map(|beta| *beta.0.lock().expect("free")), Some(2));
    Ok(())
}

#[test]
fn a_world_is_a_value_wherever_values_are_saved_and_loaded() -> persist::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.sav");
    let mut world = World::new();
    let orc = world.spawn("Orc");
    world.attach(orc, Position { x: 1.0, y: 2.0 })?;
    world.insert_resource(Score(9))?;

    let saves = Saves::new;
    let bytes = saves().to_vec(&world)?;
    assert!(persist::to_vec(&world)? == bytes);
    saves().file(&path).save_in_background(&world)?.wait()?;
    saves().slots(folder.path()).auto(1).save(&world)?;

    let saves = Saves::new();
    saves.register_component::<Position>()?;
    saves.register_resource::<Score>()?;
    let first = saves.from_slice::<World>(&bytes)?.into_inner();
    let second = saves.file(&path).load::<World>()?.into_inner();
    let third = saves.slots(folder.path()).slot("auto1").load::<World>()?.into_inner();
    for mut world in [first, second, third] {
        assert_eq!(world.get::<Position>(orc), Some(&Position { x: 1.0, y: 2.0 }));
        // It knows the classes by name, also for what comes later.
        let elf = world.spawn("Elf");
        world.attach_class(elf, "Position")?;
        assert!(saves.to_vec(&world)?.len() > bytes.len());
    }
    let error = saves.from_slice::<SaveManager>(&bytes).expect_err("a world is no list of objects");
    insta::assert_snapshot!(error);
    Ok(())
}

#[persist::dynamic]
trait Spell: Send {}

#[derive(Persist)]
struct Fireball {
    damage: u32,
}

impl Spell for Fireball {}

/// What is in it is met after the objects before it are written.
#[derive(Persist)]
struct Book {
    spells: Vec<Box<dyn Spell>>,
}

impl Component for Book {}

#[derive(Persist)]
struct Game {
    map: Vec<u8>,
    world: World,
    title: String,
}

#[test]
fn a_large_world_may_stand_anywhere_in_a_value() -> persist::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.sav");
    let saves = Saves::new();
    saves.register_component::<Position>()?;
    saves.register_component::<Book>()?;
    saves.register_as::<Fireball, dyn Spell>()?;
    for (map, has_books) in [(0, false), (1000, true), (100_000, false), (1_000_000, true)] {
        let mut world = World::new();
        for n in 0..20_000_u16 {
            let object = world.spawn("Orc");
            world.attach(object, Position { x: n.into(), y: 0.5 })?;
            if has_books && n == 15_000 {
                let spells: Vec<Box<dyn Spell>> = vec![Box::new(Fireball { damage: 7 })];
                world.attach(object, Book { spells })?;
            }
        }
        let game = Game { map: vec![7; map], world, title: "The Mill".repeat(100) };
        let save = saves.to_vec(&game)?;
        // With memory that is kept from other saves, in a file, and on another thread.
        assert!(saves.to_vec(&game)? == save);
        saves.file(&path).save(&game)?;
        let mut loaded = saves.file(&path).load::<Game>()?;
        assert_eq!(loaded.title, game.title);
        assert!(saves.to_vec(&loaded)? == save);
        saves.file(&path).save_in_background(&loaded)?.wait()?;
        loaded = saves.file(&path).load()?;
        assert!(saves.to_vec(&loaded)? == save);
    }
    Ok(())
}

#[test]
fn a_world_over_the_limit_of_bytes_is_refused() -> persist::Result<()> {
    let mut world = World::new();
    for _ in 0..20_000 {
        world.spawn("Orc");
    }
    let saves = Saves::new().limits(Limits::new().bytes(100_000));
    let error = saves.to_vec(&world).expect_err("it is larger");
    insta::assert_snapshot!(error);
    let saves = saves.limits(Limits::new());
    let save = saves.to_vec(&world)?;
    assert_eq!(saves.from_slice::<World>(&save)?.into_inner().objects().count(), 20_000);
    Ok(())
}
