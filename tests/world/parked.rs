//! Objects that are out of the world and come back, as an undo of a removal wants it.

use persist::world::Activity;
use persist::{ErrorKind, Result, World};

use super::actor::{Actor, Prop, enter, logged, logged_of, play, prop, saved_and_loaded};
use super::park::Park as _;

#[test]
fn a_parked_object_is_not_there_and_comes_back_as_it_was() -> Result<()> {
    let mut world = World::new();
    let [top, ada, bob, cat] = ["top", "Ada", "Bob", "Cat"].map(|name| enter(&mut world, name));
    for child in [ada, bob, cat] {
        world.set_parent(child, Some(top))?;
    }
    let hand = world.spawn_in(bob, "hand")?;
    world.attach(hand, prop("ring"))?;
    world.attach(bob, prop("hat"))?;
    world.set_activity(hand, Activity::Paused)?;

    world.park(bob)?;
    assert!(world.is_parked(bob));
    for object in [bob, hand] {
        assert!(!world.contains(object));
        assert!(world.get::<Prop>(object).is_none());
        assert_eq!((world.name(object), world.parent(object)), (None, None));
    }
    assert_eq!(world.objects().len(), 3);
    assert_eq!(world.children(top), [ada, cat]);
    assert_eq!(world.query::<&Prop>().count(), 0);
    assert_eq!(world.find("Bob"), None);

    world.unpark(bob)?;
    assert!(!world.is_parked(bob));
    assert_eq!(world.objects().len(), 5);
    assert_eq!(world.children(top), [ada, bob, cat]);
    assert_eq!((world.find("Bob"), world.find("hand")), (Some(bob), Some(hand)));
    assert_eq!(world.parent(hand), Some(bob));
    assert_eq!(world.classes(bob), ["Actor", "Prop"]);
    assert_eq!(world.get::<Prop>(hand).map(|prop| &*prop.name), Some("ring"));
    assert_eq!(world.activity(hand), Some(Activity::Paused));
    assert_eq!(logged(), [""; 0], "nothing was released, started or freed");
    Ok(())
}

#[test]
fn the_name_of_a_parked_object_is_not_given_away() -> Result<()> {
    let mut world = World::new();
    let [door, one] = [(); 2].map(|()| world.spawn("door"));
    world.park(door)?;
    world.park(one)?;
    let newcomer = world.spawn("door");
    assert_eq!(world.name(newcomer), Some("door2"));
    world.unpark(one)?;
    world.unpark(door)?;
    assert_eq!((world.name(door), world.name(one)), (Some("door"), Some("door1")));

    world.park(door)?;
    world.remove(door);
    let heir = world.spawn("door");
    assert_eq!(world.name(heir), Some("door"), "nobody comes back to it");
    Ok(())
}

#[test]
fn an_object_that_comes_back_keeps_its_name_and_the_newcomer_gets_another() -> Result<()> {
    let mut world = World::new();
    let door = world.spawn("door");
    world.park(door)?;
    let newcomer = world.spawn("gate");
    assert_eq!(world.rename(newcomer, "door")?, "door", "somebody wants it so");
    world.unpark(door)?;
    assert_eq!((world.name(door), world.name(newcomer)), (Some("door"), Some("door1")));
    assert_eq!((world.find("door"), world.find("door1")), (Some(door), Some(newcomer)));
    Ok(())
}

#[test]
fn a_component_is_not_started_twice_and_one_that_waits_is_started_when_it_is_back() -> Result<()> {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    world.update(0.1);
    let bob = enter(&mut world, "Bob");
    logged();
    for object in [ada, bob] {
        world.park(object)?;
    }
    world.update(0.1);
    assert_eq!(logged(), [""; 0]);
    for object in [ada, bob] {
        world.unpark(object)?;
    }
    world.update(0.1);
    assert_eq!(
        logged(),
        ["start Bob", "pre Ada", "pre Bob", "update Ada", "update Bob", "post Ada", "post Bob"]
    );
    Ok(())
}

#[test]
fn a_parked_object_that_is_removed_is_released_once() -> Result<()> {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    let hand = world.spawn_in(ada, "hand")?;
    world.attach(hand, prop("ring"))?;
    world.attach(ada, prop("hat"))?;
    world.park(ada)?;
    assert!(world.remove(ada));
    assert_eq!(logged(), ["release ring", "release Ada", "drop Ada", "release hat"]);
    assert!(!world.remove(ada));
    assert_eq!(world.unpark(ada).map_err(|error| error.kind()), Err(ErrorKind::NotFound));
    drop(world);
    assert_eq!(logged(), [""; 0]);
    Ok(())
}

#[test]
fn the_drop_of_a_world_releases_what_is_parked() -> Result<()> {
    let mut world = World::new();
    for name in ["Ada", "Bob", "Cat"] {
        let object = enter(&mut world, name);
        world.park(object)?;
    }
    enter(&mut world, "Dan");
    drop(world);
    assert_eq!(logged_of("release"), ["Dan", "Ada", "Bob", "Cat"]);
    Ok(())
}

#[test]
fn a_removal_of_a_parked_object_in_a_method_waits_for_the_end_of_the_phase() -> Result<()> {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    let bob = enter(&mut world, "Bob");
    world.park(bob)?;
    play(move |line, scope| {
        if line == "update Ada" {
            assert!(scope.world.remove(bob));
            assert!(scope.world.is_parked(bob));
        }
    });
    world.update(0.1);
    assert!(!world.is_parked(bob));
    let expected = ["update Ada", "release Bob", "drop Bob", "post Ada"];
    assert!(logged().ends_with(&expected.map(str::to_owned)));
    assert!(world.contains(ada));
    Ok(())
}

#[test]
fn a_parked_object_that_had_expired_stays_parked_and_goes_when_it_is_back() -> Result<()> {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    world.set_activity(ada, Activity::Expired)?;
    world.park(ada)?;
    world.update(0.1);
    assert!(world.is_parked(ada));
    world.unpark(ada)?;
    assert_eq!(world.activity(ada), Some(Activity::Expired));
    world.update(0.1);
    assert!(!world.contains(ada) && !world.is_parked(ada));
    Ok(())
}

#[test]
fn an_object_whose_parent_is_gone_comes_back_below_none() -> Result<()> {
    let mut world = World::new();
    let top = enter(&mut world, "top");
    let ada = enter(&mut world, "Ada");
    world.set_parent(ada, Some(top))?;
    world.set_activity(top, Activity::Paused)?;
    world.park(ada)?;
    world.remove(top);
    world.unpark(ada)?;
    assert_eq!(world.parent(ada), None);
    assert_eq!(world.roots().collect::<Vec<_>>(), [ada]);
    logged();
    world.update(0.1);
    assert_eq!(logged_of("update"), ["Ada"], "the pause went with the parent");
    Ok(())
}

#[test]
fn a_parent_that_was_parked_later_can_come_back_earlier() -> Result<()> {
    let mut world = World::new();
    let top = world.spawn("top");
    let [a, b, c] = ["a", "b", "c"].map(|name| world.spawn_in(top, name).expect("there"));
    world.park(b)?;
    world.park(top)?;
    assert_eq!(world.objects().len(), 0);
    world.unpark(top)?;
    assert_eq!(world.children(top), [a, c]);
    world.unpark(b)?;
    assert_eq!(world.children(top), [a, b, c]);

    world.park(b)?;
    world.park(top)?;
    world.unpark(b)?;
    world.unpark(top)?;
    assert_eq!((world.parent(b), world.children(top).len()), (None, 2));
    Ok(())
}

#[test]
fn a_save_has_no_parked_objects_and_their_ids_stay_theirs() -> Result<()> {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    world.park(ada)?;
    let mut again = saved_and_loaded(&world);
    assert!(again.objects().len() == 0);
    let new = again.spawn("Ada");
    assert!(new > ada);
    assert_eq!(again.name(new), Some("Ada"), "nobody comes back to it in this world");
    assert!(again.get::<Actor>(ada).is_none());
    Ok(())
}

#[test]
fn what_is_not_there_cannot_be_parked_or_come_back() {
    let mut world = World::new();
    let ada = world.spawn("Ada");
    assert_eq!(world.unpark(ada).map_err(|error| error.kind()), Err(ErrorKind::NotFound));
    world.remove(ada);
    assert_eq!(world.park(ada).map_err(|error| error.kind()), Err(ErrorKind::NotFound));
}
