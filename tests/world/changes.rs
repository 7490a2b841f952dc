//! What methods of components change takes effect at the end of the phase, in order.

use persist::world::Activity;
use std::cell::Cell;

use persist::{ErrorKind, ObjectId, Persist, Result, World};

use super::actor::{Actor, Prop, actor, enter, log, logged, logged_of, play, prop};
use super::park::Park as _;

#[test]
fn what_is_spawned_in_a_method_is_there_at_the_end_of_the_phase() {
    let mut world = World::new();
    enter(&mut world, "Ada");
    enter(&mut world, "Bob");
    thread_local!(static NEW: Cell<Option<ObjectId>> = const { Cell::new(None) });
    play(|line, scope| match line {
        "pre Ada" => {
            let id = scope.world.spawn("Cat");
            NEW.set(Some(id));
            assert!(!scope.world.contains(id));
            assert_eq!((scope.world.find("Cat"), scope.world.name(id)), (None, None));
        }
        "pre Bob" => {
            assert_eq!(scope.world.objects().len(), 2, "not before the end of the phase");
        }
        "update Ada" => assert_eq!(scope.world.find("Cat"), NEW.get()),
        _ => (),
    });
    world.update(0.1);
    assert_eq!(world.find("Cat"), NEW.get());
    assert_eq!(world.objects().last(), NEW.get());
}

#[test]
fn an_object_spawned_in_a_method_can_be_built_there() {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    play(move |line, scope| {
        if line == "update Ada" {
            let world = &mut *scope.world;
            let hand = world.spawn_in(ada, "hand").expect("Ada is there");
            let ring = world.spawn_in(hand, "ring").expect("the hand is about to come");
            world.attach(ring, prop("gold")).expect("so is the ring");
            world.attach_class(hand, "Actor").expect("and the class is known");
            let lost = world.spawn("lost");
            assert!(world.remove(lost), "it would have come");
            world.attach(lost, prop("lost")).expect("an order of changes, not a state");
        }
    });
    world.update(0.1);
    assert_eq!(world.objects().len(), 3);
    let hand = world.find("hand").expect("made");
    let ring = world.find("ring").expect("made");
    assert_eq!(world.parent(ring), Some(hand));
    assert_eq!(world.children(ada), [hand]);
    assert_eq!(world.get::<Prop>(ring).map(|prop| &*prop.name), Some("gold"));
    assert!(world.get::<Actor>(hand).is_some());
    assert_eq!(logged_of("release"), ["lost"]);
}

#[test]
fn attachments_and_detachments_wait_for_the_end_of_the_phase() -> Result<()> {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    let bob = enter(&mut world, "Bob");
    world.attach(bob, prop("hat"))?;
    play(move |line, scope| match line {
        "update Ada" => {
            scope.world.attach(ada, prop("cup")).expect("there");
            assert!(scope.world.detach::<Prop>(bob), "it is there");
            assert!(scope.world.get::<Prop>(ada).is_none());
            assert!(scope.world.get::<Prop>(bob).is_some());
        }
        "update Bob" => {
            assert!(scope.world.get::<Prop>(ada).is_none());
            assert!(scope.world.get::<Prop>(bob).is_some());
        }
        "post Ada" => {
            assert!(scope.world.get::<Prop>(ada).is_some());
            assert!(scope.world.get::<Prop>(bob).is_none());
        }
        _ => (),
    });
    world.update(0.1);
    assert_eq!(logged_of("release"), ["hat"]);
    assert!(world.get::<Prop>(ada).is_some());
    Ok(())
}

#[test]
fn changes_of_a_phase_take_effect_in_the_order_in_which_they_were_asked_for() {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    play(move |line, scope| {
        if line == "update Ada" {
            let world = &mut *scope.world;
            world.attach(ada, prop("first")).expect("there");
            world.detach::<Prop>(ada);
            world.attach(ada, prop("second")).expect("there");
            world.attach(ada, prop("third")).expect("there");
            world.spawn("orc");
            world.spawn("orc");
        }
    });
    world.update(0.1);
    assert_eq!(logged_of("release"), ["first", "second"]);
    assert_eq!(world.get::<Prop>(ada).map(|prop| &*prop.name), Some("third"));
    assert!(world.find("orc") < world.find("orc1"));
}

#[test]
fn removals_and_moves_wait_for_the_end_of_the_phase() -> Result<()> {
    let mut world = World::new();
    let [ada, bob, cat] = ["Ada", "Bob", "Cat"].map(|name| enter(&mut world, name));
    play(move |line, scope| match line {
        "pre Ada" => {
            assert!(scope.world.remove(cat));
            scope.world.set_parent(bob, Some(ada)).expect("both are there");
        }
        "pre Cat" => {
            assert!(scope.world.contains(cat));
            assert_eq!(scope.world.parent(bob), None);
        }
        "update Cat" => panic!("it is gone"),
        "update Ada" => assert_eq!(scope.world.children(ada), [bob]),
        _ => (),
    });
    world.update(0.1);
    assert!(!world.contains(cat));
    assert_eq!(world.parent(bob), Some(ada));
    Ok(())
}

#[test]
fn a_component_is_absent_while_its_own_method_runs_and_there_again_afterwards() -> Result<()> {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    let bob = enter(&mut world, "Bob");
    world.attach(ada, prop("hat"))?;
    play(move |line, scope| {
        if line == "update Ada" {
            assert!(scope.world.get::<Actor>(ada).is_none());
            assert!(scope.world.get::<Prop>(ada).is_some(), "the others are there");
            assert!(scope.world.get::<Actor>(bob).is_some());
            assert_eq!(scope.world.query::<&Actor>().count(), 1);
            scope.world.get_mut::<Prop>(ada).expect("there").name = "cap".into();
        }
    });
    world.update(0.1);
    assert_eq!(world.query::<&Actor>().count(), 2);
    assert_eq!(world.get::<Prop>(ada).map(|prop| &*prop.name), Some("cap"));
    Ok(())
}

#[test]
fn a_component_can_replace_or_detach_itself() {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    let bob = enter(&mut world, "Bob");
    play(move |line, scope| match line {
        "update Ada" => scope.world.attach(ada, actor("Eve")).expect("there"),
        "update Bob" => drop(scope.world.detach::<Actor>(bob)),
        _ => (),
    });
    world.update(0.1);
    assert_eq!(world.get::<Actor>(ada).map(|actor| &*actor.name), Some("Eve"));
    assert!(world.get::<Actor>(bob).is_none());
    assert_eq!(
        logged().split_off(6),
        ["release Ada", "drop Ada", "release Bob", "drop Bob", "start Eve", "post Eve"]
    );
}

#[test]
fn what_waits_to_be_attached_to_an_object_that_vanished_is_released() -> Result<()> {
    let mut world = World::new();
    enter(&mut world, "Ada");
    let door = world.spawn("door");
    play(move |line, scope| {
        if line == "update Ada" {
            scope.world.remove(door);
            scope.world.attach(door, prop("lock")).expect("still there");
        }
    });
    world.update(0.1);
    assert_eq!(logged_of("release"), ["lock"]);
    assert_eq!(world.query::<&Prop>().count(), 0);
    Ok(())
}

#[test]
fn a_circle_of_moves_that_wait_is_refused_when_it_would_close() {
    let mut world = World::new();
    let [ada, bob] = ["Ada", "Bob"].map(|name| enter(&mut world, name));
    play(move |line, scope| {
        if line == "update Ada" {
            scope.world.set_parent(ada, Some(bob)).expect("no circle yet");
            scope.world.set_parent(bob, Some(ada)).expect("no circle yet");
        }
    });
    world.update(0.1);
    assert_eq!((world.parent(ada), world.parent(bob)), (Some(bob), None));
    assert_eq!(world.children(ada), []);
}

#[test]
fn a_change_of_what_is_not_there_is_an_error_in_a_method_too() {
    let mut world = World::new();
    let gone = world.spawn("gone");
    world.remove(gone);
    let ada = enter(&mut world, "Ada");
    play(move |line, scope| {
        if line != "update Ada" {
            return;
        }
        let world = &mut *scope.world;
        let results = [
            world.attach(gone, prop("a")),
            world.attach_class(gone, "Prop"),
            world.attach_class(ada, "Porp"),
            world.set_parent(gone, None),
            world.set_parent(ada, Some(gone)),
            world.spawn_in(gone, "a").map(drop),
            world.rename(gone, "a").map(drop),
        ];
        for result in results {
            assert_eq!(result.map_err(|error| error.kind()), Err(ErrorKind::NotFound));
        }
        let circle = world.set_parent(ada, Some(ada)).map_err(|error| error.kind());
        assert_eq!(circle, Err(ErrorKind::Circular));
        assert!(!world.remove(gone));
    });
    world.update(0.1);
    assert_eq!(world.objects().len(), 1);
    assert_eq!(logged_of("update"), ["Ada"]);
}

#[test]
fn what_cannot_wait_for_the_end_of_a_phase_is_refused_in_a_method() {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    play(move |line, scope| {
        if line == "update Ada" {
            let kind = |result: Result<()>| result.map_err(|error| error.kind());
            assert_eq!(kind(scope.world.park(ada)), Err(ErrorKind::Borrowed));
            let save = super::actor::saves().to_vec(&*scope.world);
            let error = save.expect_err("the actor is not in its place");
            assert_eq!(error.kind(), ErrorKind::Borrowed, "{error}");
        }
    });
    world.update(0.1);
    assert_eq!(logged().len(), 4);
}

#[test]
fn an_update_inside_of_a_method_does_nothing() {
    let mut world = World::new();
    enter(&mut world, "Ada");
    let bob = enter(&mut world, "Bob");
    play(move |line, scope| {
        if line == "update Ada" {
            scope.world.set_activity(bob, Activity::Expired).expect("there");
            scope.world.update(0.1);
            assert!(scope.world.contains(bob));
        }
    });
    world.update(0.1);
    assert_eq!(logged_of("pre"), ["Ada", "Bob"]);
    assert!(!world.contains(bob));
}

#[derive(Persist)]
struct Level(u32);

#[test]
fn values_are_changed_at_once() -> Result<()> {
    let mut world = World::new();
    enter(&mut world, "Ada");
    let bob = enter(&mut world, "Bob");
    world.insert_resource(Level(1))?;
    play(move |line, scope| match line {
        "update Ada" => {
            scope.world.resource_mut::<Level>().expect("there").0 += 1;
            scope.world.get_mut::<Actor>(bob).expect("there").name = "Rob".into();
            assert_eq!(scope.world.rename(bob, "Rob").expect("there"), "Rob");
        }
        "update Rob" => {
            let level = scope.world.resource::<Level>().expect("there");
            log(format!("level {}", level.0));
        }
        _ => (),
    });
    world.update(0.1);
    assert_eq!(logged_of("level"), ["2"]);
    assert_eq!(world.find("Rob"), Some(bob));
    Ok(())
}

#[test]
fn a_method_may_put_another_world_in_place_of_its_own() -> Result<()> {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    for _ in 0..200 {
        enter(&mut world, "Orc");
    }
    play(|line, scope| {
        if line == "update Ada" {
            let mut other = World::new();
            enter(&mut other, "Eve");
            *scope.world = other;
        }
    });
    world.update(0.1);
    assert_eq!(world.find("Eve"), Some(ada), "ids are those of the other world");
    assert_eq!(world.get::<Actor>(ada).map(|actor| &*actor.name), Some("Eve"));
    assert_eq!(logged_of("release").len(), 200, "all but the one that ran");
    world.update(0.1);
    assert_eq!(logged_of("update"), ["Eve"]);
    Ok(())
}
