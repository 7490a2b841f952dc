//! Components and resources of classes that the program does not have.

use persist::{Component, ErrorKind, History, ObjectId, Persist, Result, Saves, World};

use super::scene::{Score, Speed, Tag, brought_over, text_of};
use super::stage::kind;

/// Of a mod that is switched off at times.
#[derive(Persist, Debug, PartialEq)]
struct Magic {
    power: u32,
    from: ObjectId,
}

#[derive(Persist, Debug, PartialEq)]
struct Curse(u8);

#[derive(Persist, Debug, PartialEq)]
struct Moon {
    phase: u8,
}

impl Component for Magic {}
impl Component for Curse {}

fn poor() -> Saves {
    let saves = Saves::new();
    saves.register_component::<Speed>().expect("a component class");
    saves.register_component::<Tag>().expect("a component class");
    saves.register_resource::<Score>().expect("a class");
    saves
}

fn rich() -> Saves {
    let saves = poor();
    saves.register_component::<Magic>().expect("a component class");
    saves.register_component::<Curse>().expect("a component class");
    saves.register_resource::<Moon>().expect("a class");
    saves
}

/// A world with magic, as a program without magic knows it.
fn enchanted() -> (World, [ObjectId; 2]) {
    let mut world = World::new();
    let ada = world.spawn("Ada");
    let ring = world.spawn_in(ada, "ring").expect("there");
    world.attach(ada, Magic { power: 1, from: ring }).expect("there");
    world.attach(ada, Speed(1.0)).expect("there");
    world.update(0.1);
    world.attach(ada, Curse(9)).expect("there");
    world.attach(ada, Tag).expect("there");
    world.attach(ring, Magic { power: 2, from: ada }).expect("there");
    world.insert_resource(Moon { phase: 3 }).expect("a resource");
    (brought_over(&rich(), &poor(), &world), [ada, ring])
}

fn text(world: &World) -> String {
    text_of(&poor(), world)
}

#[test]
fn unknown_components_come_back_with_their_object_in_their_places() -> Result<()> {
    let (mut world, [ada, ring]) = enchanted();
    let mut history = History::new(100);
    assert_eq!(world.classes(ada), ["Magic", "Speed", "Curse", "Tag"]);
    let before = text(&world);
    history.edit(&mut world, "", |edit| edit.remove(ring))?;
    history.edit(&mut world, "", |edit| edit.remove(ada))?;
    history.go_to(&mut world, 0)?;
    assert_eq!(text(&world), before);
    history.edit(&mut world, "", |edit| edit.detach::<Speed>(ada))?;
    assert_eq!(world.classes(ada), ["Magic", "Curse", "Tag"]);
    history.edit(&mut world, "", |edit| edit.attach(ada, Speed(2.0)))?;
    assert_eq!(world.classes(ada), ["Magic", "Curse", "Tag", "Speed"]);
    history.edit(&mut world, "", |edit| edit.detach::<Tag>(ada))?;
    for position in [0, 3, 1, 2, 0] {
        history.go_to(&mut world, position)?;
    }
    assert_eq!(text(&world), before);
    // A program that has magic finds it all.
    let save = poor().to_vec(&world)?;
    let again = rich().from_slice::<World>(&save)?;
    assert_eq!(again.get(ada), Some(&Magic { power: 1, from: ring }));
    assert_eq!(again.get(ring), Some(&Magic { power: 2, from: ada }));
    assert_eq!(again.resource(), Some(&Moon { phase: 3 }));
    Ok(())
}

#[test]
fn unknown_components_can_be_neither_taken_nor_set() -> Result<()> {
    let (mut world, [ada, _]) = enchanted();
    let mut history = History::new(100);
    let before = text(&world);
    let detached = history.edit(&mut world, "", |edit| edit.detach_class(ada, "Magic"));
    assert_eq!(kind(detached), ErrorKind::NotFound);
    assert_eq!(kind(history.set(&mut world, ada, "Magic:power", 3)), ErrorKind::NotFound);
    assert_eq!(text(&world), before);
    Ok(())
}

#[test]
fn an_attachment_replaces_what_was_unknown_and_its_undo_brings_that_back() -> Result<()> {
    let (mut world, [ada, ring]) = enchanted();
    let mut history = History::new(100);
    let saves = rich();
    let before = text_of(&saves, &world);
    // The mod is switched on, without a load.
    world.register_component::<Magic>()?;
    world.register_component::<Curse>()?;
    history.edit(&mut world, "", |edit| edit.attach(ada, Magic { power: 5, from: ada }))?;
    assert_eq!(world.classes(ada), ["Speed", "Curse", "Tag", "Magic"]);
    history.edit(&mut world, "", |edit| edit.attach(ada, Curse(1)))?;
    assert_eq!(world.classes(ada), ["Speed", "Tag", "Magic", "Curse"]);
    let after = text_of(&saves, &world);
    for _ in 0..2 {
        history.undo(&mut world)?;
        assert_eq!(world.classes(ada), ["Speed", "Curse", "Tag", "Magic"]);
        history.undo(&mut world)?;
        assert_eq!(text_of(&saves, &world), before);
        history.redo(&mut world)?;
        history.redo(&mut world)?;
        assert_eq!(text_of(&saves, &world), after);
    }
    let save = saves.to_vec(&world)?;
    let again = saves.from_slice::<World>(&save)?;
    assert_eq!(again.get(ada), Some(&Magic { power: 5, from: ada }));
    assert_eq!(again.get(ring), Some(&Magic { power: 2, from: ada }));
    Ok(())
}

#[test]
fn a_failed_undo_of_an_attachment_keeps_what_it_replaced() -> Result<()> {
    let (mut world, [ada, _]) = enchanted();
    let mut history = History::new(100);
    let saves = rich();
    let before = text_of(&saves, &world);
    world.register_component::<Magic>()?;
    history.edit(&mut world, "", |edit| edit.attach(ada, Magic { power: 5, from: ada }))?;
    world.detach::<Magic>(ada);
    assert_eq!(kind(history.undo(&mut world)), ErrorKind::NotFound);
    world.attach(ada, Magic { power: 6, from: ada })?;
    assert!(history.undo(&mut world)?);
    assert_eq!(text_of(&saves, &world), before);

    history.edit(&mut world, "", |edit| edit.insert_resource(Moon { phase: 7 }))?;
    world.remove_resource::<Moon>();
    assert_eq!(kind(history.undo(&mut world)), ErrorKind::NotFound);
    world.insert_resource(Moon { phase: 8 })?;
    assert!(history.undo(&mut world)?);
    assert_eq!(text_of(&saves, &world), before);
    Ok(())
}

#[test]
fn an_inserted_resource_replaces_one_that_was_unknown_and_its_undo_brings_that_back() -> Result<()>
{
    let (mut world, _) = enchanted();
    let mut history = History::new(100);
    let saves = rich();
    let before = text_of(&saves, &world);
    history.edit(&mut world, "", |edit| edit.insert_resource(Moon { phase: 7 }))?;
    history.edit(&mut world, "", |edit| edit.remove_resource::<Moon>())?;
    history
        .edit(&mut world, "", |edit| edit.insert_resource(Score { points: 1, names: vec![] }))?;
    for _ in 0..2 {
        history.go_to(&mut world, 0)?;
        assert_eq!(text_of(&saves, &world), before);
        history.go_to(&mut world, 1)?;
        let save = saves.to_vec(&world)?;
        let again = saves.from_slice::<World>(&save)?;
        assert_eq!(again.resource(), Some(&Moon { phase: 7 }));
        history.go_to(&mut world, 3)?;
    }
    Ok(())
}
