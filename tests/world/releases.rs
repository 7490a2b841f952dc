//! Every component is released once, whatever it goes by, and freed.

use persist::{Component, ComponentScope, Persist, Result, World};

use super::actor::{
    Actor, actor, enter, log, logged, logged_of, play, prop, saved_and_loaded, saves,
};
use super::park::Park as _;

/// What was released and freed, each in order.
fn ends() -> (Vec<String>, Vec<String>) {
    let log = logged();
    let of = |word: &str| {
        log.iter().filter_map(|line| Some(line.strip_prefix(word)?.to_owned())).collect()
    };
    (of("release "), of("drop "))
}

fn both(names: &[&str]) -> (Vec<String>, Vec<String>) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    (names.clone(), names)
}

#[test]
fn a_component_that_is_replaced_is_released_before_the_new_one_is_there() -> Result<()> {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    play(move |_, scope| assert!(scope.world.get::<Actor>(ada).is_none()));
    world.attach(ada, actor("Eve"))?;
    assert_eq!(ends(), both(&["Ada"]));
    world.attach_class(ada, "Actor")?;
    assert_eq!(ends(), both(&["Eve"]));
    Ok(())
}

#[test]
fn a_component_that_is_detached_is_released() -> Result<()> {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    let bob = enter(&mut world, "Bob");
    assert!(world.detach::<Actor>(ada));
    assert_eq!(ends(), both(&["Ada"]));
    assert!(!world.detach::<Actor>(ada), "it is gone");
    assert!(world.detach_class(bob, "Actor")?);
    assert!(!world.detach_class(bob, "Actor")?);
    assert_eq!(ends(), both(&["Bob"]));
    Ok(())
}

#[test]
fn a_removal_releases_the_lowest_first_and_each_while_its_object_is_there() -> Result<()> {
    let mut world = World::new();
    let [ada, bob, cat] = ["Ada", "Bob", "Cat"].map(|name| enter(&mut world, name));
    world.set_parent(ada, Some(bob))?;
    world.set_parent(cat, Some(ada))?;
    play(|line, scope| {
        let name = scope.world.name(scope.object()).expect("still there");
        assert_eq!(line, format!("release {name}"));
        assert!(name == "Bob" || scope.world.parent(scope.object()).is_some());
    });
    assert!(world.remove(bob));
    assert_eq!(ends(), both(&["Cat", "Ada", "Bob"]));
    assert!(!world.remove(bob));
    assert_eq!(ends(), both(&[]));
    Ok(())
}

#[test]
fn the_drop_of_a_world_releases_and_frees_all_in_order() {
    let mut world = World::new();
    let names = ["Ada", "Bob", "Cat"];
    for name in names {
        enter(&mut world, name);
    }
    drop(world);
    assert_eq!(ends(), both(&names));
}

#[test]
fn a_loaded_world_releases_what_was_loaded() {
    let mut world = World::new();
    enter(&mut world, "Ada");
    let again = saved_and_loaded(&world);
    drop(world);
    assert_eq!(ends(), both(&["Ada"]));
    drop(again);
    assert_eq!(ends(), both(&["Ada"]));
}

#[test]
fn a_failed_load_releases_nothing() {
    let mut world = World::new();
    enter(&mut world, "Ada");
    enter(&mut world, "Bob");
    let save = saves().to_vec(&world).expect("a save");
    drop(world);
    logged();
    let mut forged = persist_tests::support::forge::Forged::parse(&save);
    let payload = forged.items.last_mut().expect("a record").content();
    let at = payload.windows(3).position(|bytes| bytes == b"Bob").expect("the name");
    payload[at] = 0xff;
    saves().from_slice::<World>(&forged.build()).expect_err("no text");
    assert_eq!(logged_of("release"), [""; 0]);
}

#[test]
fn a_removal_in_a_release_takes_effect_behind_it_and_ends() {
    let mut world = World::new();
    let [ada, bob, cat] = ["Ada", "Bob", "Cat"].map(|name| enter(&mut world, name));
    play(move |line, scope| {
        let next = match line {
            "release Ada" => bob,
            "release Bob" => cat,
            _ => ada,
        };
        log(format!("ask {}", scope.world.remove(next)));
    });
    assert!(world.remove(ada));
    assert!(world.objects().len() == 0);
    let log = logged();
    let asked = log.iter().filter(|line| line.starts_with("ask")).collect::<Vec<_>>();
    assert_eq!(asked, ["ask true", "ask true", "ask false"]);
    assert_eq!(log.iter().filter(|line| line.starts_with("release")).count(), 3);
}

#[test]
fn a_release_may_remove_objects_of_the_subtree_that_goes() -> Result<()> {
    let mut world = World::new();
    let [ada, bob, cat] = ["Ada", "Bob", "Cat"].map(|name| enter(&mut world, name));
    world.set_parent(bob, Some(ada))?;
    world.set_parent(cat, Some(bob))?;
    play(move |_, scope| {
        for object in [ada, bob, cat] {
            scope.world.remove(object);
            scope.world.detach::<Actor>(object);
        }
    });
    world.remove(bob);
    assert!(world.objects().len() == 0);
    assert_eq!(ends(), both(&["Cat", "Bob", "Ada"]));
    Ok(())
}

#[test]
fn a_release_may_attach_and_spawn() {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    play(move |line, scope| {
        if line == "release Ada" {
            let smoke = scope.world.spawn("smoke");
            scope.world.attach(smoke, prop("smoke")).expect("about to come");
            scope.world.attach(ada, actor("ghost")).expect("still there");
        }
    });
    world.detach::<Actor>(ada);
    assert_eq!(world.get::<Actor>(ada).map(|actor| &*actor.name), Some("ghost"));
    assert!(world.find("smoke").is_some());
    world.remove(ada);
    assert_eq!(ends(), both(&["Ada", "ghost"]));
}

#[test]
fn nothing_can_be_attached_to_a_world_that_is_dropped() {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    play(move |line, scope| {
        if line == "release Ada" {
            let smoke = scope.world.spawn("smoke");
            for object in [smoke, ada] {
                let result = scope.world.attach(object, actor("late"));
                log(format!("error {}", result.expect_err("there is no end to it").message()));
            }
        }
    });
    drop(world);
    let log = logged();
    assert_eq!(log.iter().filter(|line| line.starts_with("error")).count(), 2);
    assert_eq!(log.iter().filter(|line| line.starts_with("release")).count(), 1);
}

/// Has other methods, but no release.
#[derive(Persist)]
struct Quiet {
    name: String,
}

impl Component for Quiet {
    fn on_update(&mut self, _: &mut ComponentScope<'_>) {
        log("update");
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        log(format!("drop {}", self.name));
    }
}

#[test]
fn a_component_without_a_release_is_freed_all_the_same() -> Result<()> {
    let mut world = World::new();
    for name in ["a", "b", "c", "d", "e"] {
        let object = world.spawn(name);
        world.attach(object, Quiet { name: name.into() })?;
    }
    let find = |world: &World, name| world.find(name).expect("there");
    world.detach::<Quiet>(find(&world, "a"));
    world.remove(find(&world, "b"));
    world.attach(find(&world, "c"), Quiet { name: "c2".into() })?;
    world.park(find(&world, "d"))?;
    assert_eq!(logged_of("drop"), ["a", "b", "c"]);
    drop(world);
    let mut rest = logged_of("drop");
    rest.sort();
    assert_eq!(rest, ["c2", "d", "e"]);
    Ok(())
}
