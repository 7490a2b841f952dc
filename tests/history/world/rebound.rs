//! A history and the worlds that it is not of, or goes on with.

use persist::history::CommandContext;
use persist::{
    Command, Component, ErrorKind, History, ObjectId, Persist, Result, SaveManager, World,
};

use super::scene::{
    Homing, Pair, Speed, Tag, Transform, actor, empty, logged, saved_and_loaded, saves, text,
    transform,
};
use super::stage::{entries, kind};

#[test]
fn a_history_refuses_another_world_and_does_nothing_to_it() -> Result<()> {
    let (mut world, mut history) = empty();
    let door = history.edit(&mut world, "", |edit| {
        let door = edit.spawn("Door")?;
        edit.attach(door, transform(1.0, 1.0))?;
        Ok(door)
    })?;
    history.set(&mut world, door, "Transform:x", 2.0)?;
    history.undo(&mut world)?;
    // The same ids and names, and yet another one.
    let mut other = saved_and_loaded(&mut saves(), &world);
    let before = (text(&other), entries(&history));
    assert_eq!(kind(history.undo(&mut other)), ErrorKind::WrongTarget);
    assert_eq!(kind(history.redo(&mut other)), ErrorKind::WrongTarget);
    assert_eq!(kind(history.go_to(&mut other, 0)), ErrorKind::WrongTarget);
    assert_eq!(kind(history.set(&mut other, door, "Transform:x", 3.0)), ErrorKind::WrongTarget);
    assert_eq!(kind(history.edit(&mut other, "", |_| Ok(()))), ErrorKind::WrongTarget);
    assert_eq!((text(&other), entries(&history)), before);
    assert!(history.redo(&mut world)?);
    // A world that moves stays what it is.
    let mut moved = Box::new(world);
    assert!(history.undo(&mut moved)?);
    Ok(())
}

#[test]
fn a_transaction_is_committed_to_its_own_world_alone() -> Result<()> {
    let (mut world, mut history) = empty();
    history.begin("Build")?;
    history.edit(&mut world, "", |edit| edit.spawn("Door"))?;
    let mut other = World::new();
    assert_eq!(kind(history.commit(&mut other)), ErrorKind::WrongTarget);
    assert_eq!(kind(history.rollback(&mut other)), ErrorKind::WrongTarget);
    assert!(history.is_open() && other.objects().len() == 0);
    history.rollback(&mut world)?;
    assert!(world.objects().len() == 0);
    Ok(())
}

#[test]
fn a_history_that_is_cleared_is_still_that_of_its_world() -> Result<()> {
    let (mut world, mut history) = empty();
    let door = world.spawn("Door");
    history.edit(&mut world, "", |edit| edit.remove(door))?;
    let mut other = World::new();
    assert_eq!(kind(history.clear(&mut other)), ErrorKind::WrongTarget);
    assert!(world.is_parked(door));
    // What another world does not know falls out at the next edit of its own.
    history.edit(&mut world, "", |edit| edit.spawn("Wall"))?;
    history.set_capacity(&mut other, Some(1));
    history.set_max_bytes(&mut other, Some(1));
    assert_eq!(history.len(), 2);
    history.edit(&mut world, "", |edit| edit.spawn("Wall"))?;
    assert_eq!(history.len(), 1);
    assert!(!world.is_parked(door));
    history.clear(&mut world)?;
    Ok(())
}

/// Puts another world in place of its own.
struct Swap(World);

impl Command for Swap {
    fn apply(&mut self, context: &mut CommandContext<'_>) -> Result<()> {
        std::mem::swap(context.target(), &mut self.0);
        Ok(())
    }

    fn undo(&mut self, world: &mut World) -> Result<()> {
        std::mem::swap(world, &mut self.0);
        Ok(())
    }
}

#[test]
fn a_transaction_whose_world_was_put_away_stays_open() -> Result<()> {
    let (mut world, mut history) = empty();
    history.begin("Build")?;
    history.edit(&mut world, "", |edit| edit.spawn("Door"))?;
    history.apply(&mut world, Swap(World::new()))?;
    let edited = history.edit(&mut world, "", |edit| edit.spawn("Wall"));
    assert_eq!(kind(edited), ErrorKind::WrongTarget);
    assert!(history.is_open() && world.objects().len() == 0);
    assert_eq!(kind(history.rollback(&mut world)), ErrorKind::WrongTarget);
    Ok(())
}

/// A level in which much has been done, and some of it undone.
fn level() -> Result<(World, History, [ObjectId; 3])> {
    let (mut world, mut history) = empty();
    // The order of the columns is that in which they are met.
    let [ada, bob, eve] = ["Ada", "Bob", "Eve"].map(|name| world.spawn(name));
    for object in [ada, bob, eve] {
        world.attach(object, Tag)?;
        world.attach(object, Speed(1.0))?;
        world.attach(object, transform(0.0, 0.0))?;
    }
    world.attach(bob, actor("Bob"))?;
    world.attach(ada, Homing { target: Some(bob), others: vec![eve] })?;
    history.edit(&mut world, "", |edit| edit.attach(ada, Pair(1, "one".into())))?;
    history.edit(&mut world, "", |edit| edit.detach::<Speed>(ada))?;
    history.edit(&mut world, "", |edit| edit.attach(ada, Pair(2, "two".into())))?;
    history.edit(&mut world, "", |edit| edit.remove(bob))?;
    history.set(&mut world, eve, "Transform:x", 5.0)?;
    history.edit(&mut world, "", |edit| edit.rename(eve, "Eva").map(drop))?;
    history.edit(&mut world, "", |edit| edit.attach(eve, super::scene::Light::Off))?;
    history.edit(&mut world, "", |edit| {
        let dan = edit.spawn("Dan")?;
        edit.attach(dan, super::scene::Span { low: 0, high: 1, steps: vec![] })
    })?;
    history.undo(&mut world)?;
    history.undo(&mut world)?;
    Ok((world, history, [ada, bob, eve]))
}

/// All states that a history leads to.
fn states(world: &mut World, history: &mut History) -> Result<Vec<String>> {
    let position = history.position();
    let mut states = Vec::new();
    for at in 0..=history.len() {
        history.go_to(world, at)?;
        states.push(text(world));
    }
    history.go_to(world, position)?;
    Ok(states)
}

#[test]
fn after_play_and_stop_a_history_goes_on_with_the_world_that_is_loaded_again() -> Result<()> {
    let (mut world, mut history, [ada, bob, eve]) = level()?;
    let expected = states(&mut world, &mut history)?;
    let mut saves = saves();
    let mut level = saved_and_loaded(&mut saves, &world);
    // Play: everything is turned upside down.
    world.update(0.1);
    world.remove(ada);
    world.rename(eve, "Bob")?;
    for _ in 0..5 {
        let orc = world.spawn("Orc");
        world.attach(orc, Tag)?;
    }
    // Stop.
    history.rebind(&mut world, &mut level)?;
    assert_eq!(kind(history.undo(&mut world)), ErrorKind::WrongTarget);
    assert!(level.is_parked(bob) && !world.is_parked(bob));
    drop(world);
    logged();
    assert_eq!(states(&mut level, &mut history)?, expected);
    let new = history.edit(&mut level, "", |edit| edit.spawn("New"))?;
    assert!(new.get() > 9, "the ids of the play are not given again");
    history.go_to(&mut level, 0)?;
    assert_eq!(level.get::<Homing>(ada).and_then(|homing| homing.target), Some(bob));
    history.clear(&mut level)?;
    drop(level);
    assert_eq!(logged(), ["release Bob"], "once, and only by the world that has it");
    Ok(())
}

#[test]
fn what_is_held_finds_its_column_in_a_world_that_met_its_classes_in_another_order() -> Result<()> {
    let (mut world, mut history, _) = level()?;
    let expected = states(&mut world, &mut history)?;
    let mut saves = SaveManager::new();
    saves.register_component::<super::scene::Span>()?;
    saves.register_component::<super::scene::Light>()?;
    saves.register_component::<super::scene::Actor>()?;
    saves.register_component::<Homing>()?;
    saves.register_component::<Transform>()?;
    saves.register_component::<Pair>()?;
    saves.register_component::<Tag>()?;
    saves.register_component::<Speed>()?;
    let save = saves.value_to_vec(&world)?;
    for takes_all in [true, false] {
        let mut level: World = saves.value_from_slice(&save)?.0;
        if takes_all {
            level = saved_and_loaded(&mut saves, &level);
        }
        history.rebind(&mut world, &mut level)?;
        assert_eq!(states(&mut level, &mut history)?, expected);
        world = level;
    }
    drop(world);
    logged();
    Ok(())
}

#[test]
fn a_rebinding_of_what_is_no_copy_is_refused_and_nothing_is_done() -> Result<()> {
    let (mut world, mut history, [_, bob, _]) = level()?;
    let expected = states(&mut world, &mut history)?;
    let mut other = World::new();
    for _ in 0..3 {
        other.spawn("Orc");
    }
    let before = text(&other);
    let error = history.rebind(&mut world, &mut other).expect_err("it has the object Bob");
    assert_eq!((error.kind(), error.object()), (ErrorKind::AlreadyExists, Some(bob.get())));
    assert_eq!(text(&other), before);

    // Nor does a history leave a world that it is not of.
    let (mut stranger, mut fresh) = (World::new(), World::new());
    let gone = stranger.spawn("Gone");
    History::new(1).edit(&mut stranger, "", |edit| edit.remove(gone))?;
    assert_eq!(kind(history.rebind(&mut stranger, &mut fresh)), ErrorKind::WrongTarget);
    assert!(stranger.is_parked(gone) && !fresh.is_parked(gone));

    assert!(history.undo(&mut world)? && history.redo(&mut world)?);
    assert_eq!(states(&mut world, &mut history)?, expected);
    drop(world);
    logged();
    Ok(())
}

#[test]
fn a_history_goes_on_where_a_class_has_other_numbers_in_saves() -> Result<()> {
    #[persist::dynamic]
    trait Shape: Send {
        fn side(&self) -> u8;
    }
    #[derive(Persist)]
    struct Square(u8);
    #[derive(Persist)]
    struct Circle(u8);
    impl Shape for Square {
        fn side(&self) -> u8 {
            self.0
        }
    }
    impl Shape for Circle {
        fn side(&self) -> u8 {
            100 + self.0
        }
    }
    #[derive(Persist)]
    struct Drawing(Box<dyn Shape>);
    impl Component for Drawing {}

    let mut world = World::new();
    world.registry_mut().register_as::<Square, dyn Shape>()?;
    world.registry_mut().register_as::<Circle, dyn Shape>()?;
    let ada = world.spawn("Ada");
    world.attach(ada, Drawing(Box::new(Square(1))))?;
    let mut history = History::new(10);
    for shape in [Box::new(Circle(2)) as Box<dyn Shape>, Box::new(Square(3))] {
        history.edit(&mut world, "", |edit| {
            edit.get_mut::<Drawing>(ada)?.0 = shape;
            Ok(())
        })?;
    }
    let mut saves = SaveManager::new();
    saves.register_component::<Tag>()?;
    saves.register_as::<Circle, dyn Shape>()?;
    saves.register_as::<Square, dyn Shape>()?;
    saves.register_component::<Drawing>()?;
    let mut level = saved_and_loaded(&mut saves, &world);
    history.rebind(&mut world, &mut level)?;
    for (position, side) in [(0, 1), (1, 102), (2, 3), (0, 1)] {
        history.go_to(&mut level, position)?;
        assert_eq!(level.get::<Drawing>(ada).map(|drawing| drawing.0.side()), Some(side));
    }
    Ok(())
}
