//! When the methods of components run, and in which order.

use persist::world::Activity;
use persist::{Component, ComponentScope, ErrorKind, Persist, Result, World};

use super::actor::{actor, enter, logged, logged_of, play, saved_and_loaded};

#[test]
fn a_component_is_started_once_and_before_its_first_update() {
    let mut world = World::new();
    enter(&mut world, "Ada");
    assert!(logged().is_empty());
    world.update(0.1);
    assert_eq!(logged(), ["start Ada", "pre Ada", "update Ada", "post Ada"]);
    world.update(0.1);
    assert_eq!(logged(), ["pre Ada", "update Ada", "post Ada"]);
}

#[test]
fn a_component_attached_after_the_first_update_is_started_too() {
    let mut world = World::new();
    enter(&mut world, "Ada");
    world.update(0.1);
    enter(&mut world, "Cat");
    logged();
    world.update(0.1);
    let expected =
        ["start Cat", "pre Ada", "pre Cat", "update Ada", "update Cat", "post Ada", "post Cat"];
    assert_eq!(logged(), expected);
}

#[test]
fn a_component_that_comes_within_a_frame_is_started_before_the_next_phase() {
    let mut world = World::new();
    enter(&mut world, "Ada");
    play(|line, scope| {
        if line == "pre Ada" && scope.world.objects().len() == 1 {
            let cat = scope.world.spawn("Cat");
            scope.world.attach(cat, actor("Cat")).expect("about to come");
        }
    });
    world.update(0.1);
    let expected =
        ["start Ada", "pre Ada", "start Cat", "update Ada", "update Cat", "post Ada", "post Cat"];
    assert_eq!(logged(), expected);
}

#[test]
fn each_phase_passes_all_objects_in_the_order_of_their_creation() -> Result<()> {
    let mut world = World::new();
    let ids = ["a", "b", "c"].map(|name| world.spawn(name));
    for (at, name) in [(2, "c"), (0, "a"), (1, "b")] {
        world.attach(ids[at], actor(name))?;
    }
    world.set_parent(ids[0], Some(ids[2]))?;
    world.update(0.1);
    let phases = ["start", "pre", "update", "post"];
    let expected = phases.map(|phase| ["a", "b", "c"].map(|name| format!("{phase} {name}")));
    assert_eq!(logged(), expected.concat());

    let mut again = saved_and_loaded(&world);
    logged();
    again.update(0.1);
    assert_eq!(logged_of("update"), ["a", "b", "c"]);
    Ok(())
}

/// Writes its letter in every update.
#[derive(Persist)]
struct Letter<const L: char>;

impl<const L: char> Component for Letter<L> {
    fn on_update(&mut self, _: &mut ComponentScope<'_>) {
        super::actor::log(format!("update {L}"));
    }
}

#[test]
fn components_of_an_object_are_updated_in_the_order_of_their_attachment() -> Result<()> {
    let mut world = World::new();
    let first = world.spawn("first");
    world.attach(first, Letter::<'b'>)?;
    world.attach(first, Letter::<'a'>)?;
    let second = world.spawn("second");
    world.attach(second, Letter::<'a'>)?;
    world.attach(second, Letter::<'b'>)?;
    world.update(0.1);
    assert_eq!(logged_of("update"), ["b", "a", "a", "b"]);

    // One that is replaced is behind the others.
    world.attach(first, Letter::<'b'>)?;
    world.update(0.1);
    assert_eq!(logged_of("update"), ["a", "b", "a", "b"]);
    Ok(())
}

#[test]
fn a_method_gets_the_step_and_its_own_object() {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    play(move |line, scope| {
        assert_eq!(scope.object(), ada);
        let step = if line.starts_with("release") { 0.0 } else { 0.25 };
        assert_eq!(scope.step().to_bits(), f64::to_bits(step), "{line}");
    });
    world.update(0.25);
    world.remove(ada);
    assert_eq!(logged().len(), 6, "four methods, the release and the drop");
}

#[test]
fn a_component_is_not_started_again_after_a_load_and_one_that_waits_is() -> Result<()> {
    let mut world = World::new();
    enter(&mut world, "Ada");
    world.update(0.1);
    let bob = enter(&mut world, "Bob");
    world.attach(bob, super::actor::prop("hat"))?;
    let mut again = saved_and_loaded(&world);
    logged();
    again.update(0.1);
    assert_eq!(logged_of("start"), ["Bob"]);
    again.update(0.1);
    assert_eq!(logged_of("start"), [""; 0]);
    Ok(())
}

#[test]
fn a_paused_object_and_what_is_below_it_are_not_updated_until_it_is_resumed() -> Result<()> {
    let mut world = World::new();
    let [ada, bob, cat] = ["Ada", "Bob", "Cat"].map(|name| enter(&mut world, name));
    world.set_parent(bob, Some(ada))?;
    world.set_parent(cat, Some(bob))?;
    world.update(0.1);
    logged();
    world.set_activity(ada, Activity::Paused)?;
    world.update(0.1);
    assert_eq!(logged(), [""; 0]);
    assert_eq!(world.activity(ada), Some(Activity::Paused));
    assert_eq!(world.activity(cat), Some(Activity::Active), "it is held, not paused itself");

    world.set_activity(bob, Activity::Paused)?;
    world.set_activity(ada, Activity::Active)?;
    world.update(0.1);
    assert_eq!(logged_of("update"), ["Ada"], "the one below is paused itself by now");
    world.set_activity(bob, Activity::Active)?;
    world.update(0.1);
    assert_eq!(logged_of("update"), ["Ada", "Bob", "Cat"]);
    Ok(())
}

#[test]
fn an_object_moved_below_a_paused_one_is_held_and_moved_away_is_not() -> Result<()> {
    let mut world = World::new();
    let [ada, bob, cat] = ["Ada", "Bob", "Cat"].map(|name| enter(&mut world, name));
    world.set_parent(cat, Some(bob))?;
    world.set_activity(ada, Activity::Paused)?;
    world.set_parent(bob, Some(ada))?;
    world.update(0.1);
    assert_eq!(logged_of("update"), [""; 0]);
    world.set_parent(bob, None)?;
    world.update(0.1);
    assert_eq!(logged_of("update"), ["Bob", "Cat"]);
    Ok(())
}

#[test]
fn a_component_of_a_paused_object_is_started_when_it_is_resumed() -> Result<()> {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    world.set_activity(ada, Activity::Paused)?;
    world.update(0.1);
    world.update(0.1);
    assert_eq!(logged(), [""; 0]);
    let mut again = saved_and_loaded(&world);
    for world in [&mut world, &mut again] {
        world.set_activity(ada, Activity::Active)?;
        logged();
        world.update(0.1);
        assert_eq!(logged(), ["start Ada", "pre Ada", "update Ada", "post Ada"]);
    }
    Ok(())
}

#[test]
fn pauses_are_as_they_were_after_a_load_also_below_objects_that_are_active() -> Result<()> {
    let mut world = World::new();
    let [ada, bob, cat] = ["Ada", "Bob", "Cat"].map(|name| enter(&mut world, name));
    world.set_parent(cat, Some(bob))?;
    world.set_parent(bob, Some(ada))?;
    world.set_activity(bob, Activity::Paused)?;
    let mut again = saved_and_loaded(&world);
    logged();
    again.update(0.1);
    assert_eq!(logged_of("update"), ["Ada"]);
    again.set_activity(bob, Activity::Active)?;
    again.update(0.1);
    assert_eq!(logged_of("update"), ["Ada", "Bob", "Cat"]);
    Ok(())
}

#[test]
fn an_object_that_pauses_itself_does_nothing_more_in_that_frame() {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    play(move |line, scope| {
        if line == "update Ada" {
            scope.world.set_activity(ada, Activity::Paused).expect("there");
        }
    });
    world.update(0.1);
    assert_eq!(logged(), ["start Ada", "pre Ada", "update Ada"]);
}

#[test]
fn an_expired_object_is_removed_with_what_is_below_it_at_the_end_of_the_frame() -> Result<()> {
    let mut world = World::new();
    let [ada, bob, cat] = ["Ada", "Bob", "Cat"].map(|name| enter(&mut world, name));
    world.set_parent(bob, Some(ada))?;
    play(move |line, scope| {
        if line == "pre Cat" {
            scope.world.set_activity(ada, Activity::Expired).expect("there");
            scope.world.set_activity(cat, Activity::Expired).expect("there");
        }
        if line == "post Cat" || line == "post Bob" {
            panic!("{line}, though it has expired");
        }
    });
    world.update(0.1);
    assert!(world.objects().len() == 0);
    let expected =
        ["release Bob", "drop Bob", "release Ada", "drop Ada", "release Cat", "drop Cat"];
    assert!(logged().ends_with(&expected.map(str::to_owned)));
    Ok(())
}

#[test]
fn an_object_that_is_resumed_in_the_frame_of_its_expiry_stays() -> Result<()> {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    world.set_activity(ada, Activity::Expired)?;
    world.set_activity(ada, Activity::Active)?;
    world.update(0.1);
    assert_eq!(logged_of("update"), ["Ada"]);
    world.set_activity(ada, Activity::Expired)?;
    world.set_activity(ada, Activity::Paused)?;
    world.update(0.1);
    assert_eq!(world.activity(ada), Some(Activity::Paused));
    Ok(())
}

#[test]
fn an_object_that_has_expired_when_it_is_saved_is_removed_by_the_first_update() -> Result<()> {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    world.update(0.1);
    world.set_activity(ada, Activity::Expired)?;
    let mut again = saved_and_loaded(&world);
    assert_eq!(again.activity(ada), Some(Activity::Expired));
    logged();
    again.update(0.1);
    assert_eq!(logged(), ["release Ada", "drop Ada"]);
    assert!(!again.contains(ada));
    Ok(())
}

#[test]
fn the_activity_of_an_object_that_is_not_there_cannot_be_changed() {
    let mut world = World::new();
    let ada = world.spawn("Ada");
    world.remove(ada);
    for result in [
        world.set_activity(ada, Activity::Paused),
        world.set_activity(ada, Activity::Active),
        world.set_activity(ada, Activity::Expired),
    ] {
        assert_eq!(result.map_err(|error| error.kind()), Err(ErrorKind::NotFound));
    }
    assert_eq!(world.activity(ada), None);
}
