//! A panic of a component leaves its world whole.

use persist::world::Activity;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use persist::{Result, World};

use super::actor::{Actor, enter, logged, logged_of, play, prop, saved_and_loaded};
use super::park::Park as _;

/// Runs what a component panics in.
fn panics(run: impl FnOnce()) {
    let message = catch_unwind(AssertUnwindSafe(run)).expect_err("a panic");
    assert_eq!(message.downcast_ref(), Some(&"on purpose"));
}

/// Every actor panics in this method, once.
fn panic_in(method: &'static str) {
    let is_due = Cell::new(true);
    play(move |line, _| {
        if line == method && is_due.take() {
            panic!("on purpose");
        }
    });
}

#[test]
fn a_component_that_panics_goes_back_to_its_place_and_later_frames_run() {
    for method in ["start Bob", "pre Bob", "update Bob", "post Bob"] {
        let mut world = World::new();
        let _ = ["Ada", "Bob", "Cat"].map(|name| enter(&mut world, name));
        panic_in(method);
        panics(|| world.update(0.1));
        assert_eq!(world.query::<&Actor>().count(), 3, "{method}");
        logged();
        world.update(0.1);
        assert_eq!(logged_of("update"), ["Ada", "Bob", "Cat"], "{method}");
    }
}

#[test]
fn components_behind_one_that_panics_in_its_start_are_started_in_the_next_frame() -> Result<()> {
    let mut world = World::new();
    let [ada, bob, _] = ["Ada", "Bob", "Cat"].map(|name| enter(&mut world, name));
    world.attach(bob, prop("hat"))?;
    world.set_activity(ada, Activity::Paused)?;
    panic_in("start Bob");
    panics(|| world.update(0.1));
    assert_eq!(logged_of("start"), ["Bob"]);
    world.update(0.1);
    assert_eq!(logged_of("start"), ["Cat"]);
    world.set_activity(ada, Activity::Active)?;
    world.update(0.1);
    assert_eq!(logged_of("start"), ["Ada"]);
    Ok(())
}

#[test]
fn changes_that_wait_when_a_component_panics_are_made_by_the_next_frame() {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    play(move |line, scope| {
        if line == "pre Ada" && scope.world.get::<super::actor::Prop>(ada).is_none() {
            scope.world.attach(ada, prop("hat")).expect("there");
            scope.world.spawn("Bob");
            panic!("on purpose");
        }
    });
    panics(|| world.update(0.1));
    assert_eq!(world.objects().len(), 1);
    world.update(0.1);
    assert_eq!(world.classes(ada), ["Actor", "Prop"]);
    assert!(world.find("Bob").is_some());
}

#[test]
fn what_waits_to_be_attached_when_the_world_is_dropped_is_released() {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    play(move |line, scope| {
        if line == "update Ada" {
            scope.world.attach(ada, prop("hat")).expect("there");
            panic!("on purpose");
        }
    });
    panics(|| world.update(0.1));
    drop(world);
    assert_eq!(logged_of("release"), ["Ada", "hat"]);
}

#[test]
fn changes_behind_a_release_that_panics_are_made_by_the_next_frame() {
    let mut world = World::new();
    let [ada, bob, cat] = ["Ada", "Bob", "Cat"].map(|name| enter(&mut world, name));
    play(move |line, scope| match line {
        "update Ada" => {
            scope.world.remove(bob);
            scope.world.attach(cat, prop("hat")).expect("there");
        }
        "release Bob" => panic!("on purpose"),
        _ => (),
    });
    panics(|| world.update(0.1));
    play(|_, _| ());
    world.update(0.1);
    assert_eq!(world.classes(cat), ["Actor", "Prop"]);
    assert!(world.contains(ada));
}

#[test]
fn a_panic_in_a_removal_leaves_a_tree_that_can_be_saved_and_removed() -> Result<()> {
    let mut world = World::new();
    let [top, ada, bob, cat] = ["top", "Ada", "Bob", "Cat"].map(|name| enter(&mut world, name));
    for (object, parent) in [(ada, top), (bob, ada), (cat, bob)] {
        world.set_parent(object, Some(parent))?;
    }
    panic_in("release Bob");
    panics(|| assert!(world.remove(ada)));
    assert_eq!(world.subtree(top), [top, ada, bob], "the lowest one is gone");
    assert!(world.get::<Actor>(bob).is_none());
    let again = saved_and_loaded(&world);
    assert_eq!(again.subtree(top), [top, ada, bob]);
    drop(again);
    logged();
    world.remove(ada);
    assert_eq!(world.children(top), []);
    assert_eq!(logged_of("release"), ["Ada"]);
    Ok(())
}

#[test]
fn a_panic_in_the_removal_of_expired_objects_leaves_the_rest_to_the_next_frame() -> Result<()> {
    let mut world = World::new();
    let ids = ["Ada", "Bob", "Cat"].map(|name| enter(&mut world, name));
    for id in ids {
        world.set_activity(id, Activity::Expired)?;
    }
    panic_in("release Ada");
    panics(|| world.update(0.1));
    assert_eq!(world.objects().len(), 3);
    world.update(0.1);
    assert!(world.objects().len() == 0);
    assert_eq!(logged_of("release"), ["Ada", "Bob", "Cat"]);
    Ok(())
}

#[test]
fn what_is_left_of_a_parked_object_whose_release_panics_stays_parked() -> Result<()> {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    world.attach(ada, prop("hat"))?;
    let hand = world.spawn_in(ada, "hand")?;
    world.attach(hand, prop("ring"))?;
    world.park(ada)?;
    panic_in("release Ada");
    panics(|| assert!(world.remove(ada)));
    assert_eq!(logged_of("release"), ["ring", "Ada"]);
    world.unpark(ada)?;
    assert_eq!(world.classes(ada), ["Prop"]);
    assert_eq!(world.children(ada), []);
    let again = saved_and_loaded(&world);
    assert_eq!(again.classes(ada), ["Prop"]);
    Ok(())
}

#[test]
fn a_release_that_panics_in_a_replacement_leaves_an_object_without_it() -> Result<()> {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    world.update(0.1);
    panic_in("release Ada");
    panics(|| world.attach(ada, super::actor::actor("Eve")).expect("there"));
    assert_eq!(world.classes(ada), [""; 0]);
    world.attach(ada, super::actor::actor("Eve"))?;
    logged();
    world.update(0.1);
    assert_eq!(logged_of("start"), ["Eve"]);
    Ok(())
}

#[test]
fn what_a_method_asked_for_before_it_panicked_is_done_before_the_next_change() -> Result<()> {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    let is_due = Cell::new(true);
    play(move |line, scope| {
        if line == "update Ada" && is_due.take() {
            let ada = scope.object();
            scope.world.attach(ada, prop("from the method")).expect("there");
            scope.world.spawn("Eve");
            panic!("on purpose");
        }
    });
    panics(|| world.update(0.1));
    world.attach(ada, prop("by hand"))?;
    let name = world.get::<super::actor::Prop>(ada).map(|prop| &*prop.name);
    assert_eq!(name, Some("by hand"));
    assert!(world.find("Eve").is_some(), "it was asked for first");
    Ok(())
}

#[test]
fn what_a_method_asked_for_before_it_panicked_is_in_a_save_behind_settle() {
    let mut world = World::new();
    enter(&mut world, "Ada");
    let is_due = Cell::new(true);
    play(move |line, scope| {
        if line == "update Ada" && is_due.take() {
            scope.world.spawn("Eve");
            panic!("on purpose");
        }
    });
    panics(|| world.update(0.1));
    assert!(world.find("Eve").is_none());
    world.settle();
    assert!(saved_and_loaded(&world).find("Eve").is_some());
}

#[test]
fn no_object_is_made_below_one_whose_removal_waits_behind_a_panic() {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    let is_due = Cell::new(true);
    play(move |line, scope| {
        if line == "update Ada" && is_due.take() {
            let ada = scope.object();
            scope.world.remove(ada);
            panic!("on purpose");
        }
    });
    panics(|| world.update(0.1));
    assert!(world.spawn_in(ada, "hand").is_err());
    assert_eq!(world.objects().len(), 0);
}
