//! Objects: their ids, their order, and that they go for good.

use persist::{ErrorKind, ObjectId, Result, World};

use super::actor::{Actor, actor, enter, saved_and_loaded};
use super::park::Park as _;

#[test]
fn an_id_is_never_given_twice() {
    let mut world = World::new();
    let mut last = world.spawn("first");
    for _ in 0..200 {
        world.remove(last);
        let next = world.spawn("next");
        assert!(next > last);
        last = next;
    }
}

#[test]
fn an_id_is_not_given_again_after_a_load_even_if_its_object_was_gone() {
    let mut world = World::new();
    let ids: Vec<ObjectId> = (0..100).map(|_| world.spawn("Orc")).collect();
    for id in &ids[50..] {
        world.remove(*id);
    }
    let mut again = saved_and_loaded(&world);
    assert_eq!(again.objects().len(), 50);
    let new = again.spawn("Orc");
    assert!(!ids.contains(&new));
    assert_eq!(new, world.spawn("Orc"), "both worlds go on alike");
}

#[test]
fn a_stale_id_leads_to_no_object() {
    let mut world = World::new();
    let stale = enter(&mut world, "stale");
    world.remove(stale);
    let new = enter(&mut world, "stale");
    assert!(!world.contains(stale));
    assert!(world.get::<Actor>(stale).is_none() && world.get_mut::<Actor>(stale).is_none());
    assert!(world.get::<Actor>(stale).is_none());
    assert!(world.name(stale).is_none() && world.parent(stale).is_none());
    assert!(world.children(stale).is_empty() && world.subtree(stale).is_empty());
    assert!(world.classes(stale).is_empty() && world.activity(stale).is_none());
    assert!(!world.remove(stale) && !world.detach::<Actor>(stale));
    let attached = world.attach(stale, actor("late")).map_err(|error| error.kind());
    assert_eq!(attached, Err(ErrorKind::NotFound));
    assert_eq!(world.find("stale"), Some(new));
    let nowhere = world.get::<Actor>(ObjectId::NULL);
    assert!(nowhere.is_none() && !world.contains(ObjectId::NULL));
}

#[test]
fn a_stale_id_in_a_save_stays_stale() -> Result<()> {
    let mut world = World::new();
    let stale = world.spawn("stale");
    world.remove(stale);
    let mut again = saved_and_loaded(&world);
    let new = again.spawn("stale");
    again.attach(new, actor("new"))?;
    assert_ne!(new, stale);
    assert!(again.get::<Actor>(stale).is_none());
    Ok(())
}

#[test]
fn objects_come_in_the_order_of_their_creation_whatever_has_gone() {
    let mut world = World::new();
    let mut ids: Vec<ObjectId> = (0..5_000).map(|_| world.spawn("Orc")).collect();
    assert_eq!(world.objects().collect::<Vec<_>>(), ids);
    let mut number = 0;
    ids.retain(|id| {
        number += 1;
        number % 700 == 3 || !world.remove(*id)
    });
    assert_eq!(world.objects().collect::<Vec<_>>(), ids);
    assert_eq!(world.objects().len(), ids.len());
    ids.extend((0..300).map(|_| world.spawn("Elf")));
    assert_eq!(world.objects().collect::<Vec<_>>(), ids);
    let again = saved_and_loaded(&world);
    assert_eq!(again.objects().collect::<Vec<_>>(), ids);
}

#[test]
fn pages_that_were_dropped_come_back_with_a_parked_object() -> Result<()> {
    let mut world = World::new();
    let ids: Vec<ObjectId> = (0..6_400).map(|_| enter(&mut world, "Orc")).collect();
    let parked = ids[3_000];
    world.park(parked)?;
    for id in ids.iter().filter(|id| **id != parked && **id != ids[6_399] && **id != ids[0]) {
        world.remove(*id);
    }
    world.unpark(parked)?;
    let left = [ids[0], parked, ids[6_399]];
    assert_eq!(world.objects().collect::<Vec<_>>(), left);
    let found: Vec<ObjectId> = world.query::<(ObjectId, &Actor)>().map(|(id, _)| id).collect();
    assert_eq!(found, left);
    Ok(())
}

#[test]
fn a_world_says_what_is_in_it() {
    let mut world = World::new();
    assert!(world.objects().len() == 0);
    enter(&mut world, "Ada");
    assert_eq!(format!("{world:?}"), "World { objects: 1, components: [\"Actor\"], .. }");
}
