//! Queries: which objects they give, in which order, whatever has holes.

use persist::{Component, ErrorKind, ObjectId, Persist, Result, World};
use rand::{Rng, SeedableRng};
use rand_pcg::Lcg64Xsh32;

#[derive(Persist, Debug, PartialEq, Clone)]
struct Health(u64);

#[derive(Persist, Debug, PartialEq, Clone)]
struct Poison(u64);

#[derive(Persist, Debug, PartialEq, Clone)]
struct Rare(u64);

impl Component for Health {}
impl Component for Poison {}
impl Component for Rare {}

/// Each has health, every third is poisoned, and few are rare.
fn world(count: u64) -> World {
    let mut world = World::new();
    for n in 0..count {
        let object = world.spawn("Orc");
        world.attach(object, Health(n)).expect("there");
        if n % 3 == 0 {
            world.attach(object, Poison(n)).expect("there");
        }
        if n % 1_000 == 999 {
            world.attach(object, Rare(n)).expect("there");
        }
    }
    world
}

/// What every form of query must give, asked of the objects one by one.
fn check(world: &mut World) -> Result<()> {
    let ids: Vec<ObjectId> = world.objects().collect();
    assert!(ids.is_sorted());
    let health = |world: &World, id| world.get::<Health>(id).cloned();
    let poison = |world: &World, id| world.get::<Poison>(id).cloned();
    let rare = |world: &World, id| world.get::<Rare>(id).cloned();

    let one: Vec<Health> = world.query::<&Health>().cloned().collect();
    let in_a_tuple: Vec<Health> = world.query::<(&Health,)>().map(|(one,)| one.clone()).collect();
    assert_eq!(one, in_a_tuple);
    let expected: Vec<Health> = ids.iter().filter_map(|id| health(world, *id)).collect();
    assert_eq!(one, expected);

    let both = world.query::<(ObjectId, &Health, &Poison)>();
    let both: Vec<_> = both.map(|(id, a, b)| (id, a.clone(), b.clone())).collect();
    let expected =
        ids.iter().filter_map(|id| Some((*id, health(world, *id)?, poison(world, *id)?)));
    assert_eq!(both, expected.collect::<Vec<_>>());

    let maybe = world.query::<(&Poison, Option<&Rare>, ObjectId, Option<&Health>)>();
    let maybe: Vec<_> =
        maybe.map(|(a, b, id, c)| (a.clone(), b.cloned(), id, c.cloned())).collect();
    let expected = ids
        .iter()
        .filter_map(|id| Some((poison(world, *id)?, rare(world, *id), *id, health(world, *id))));
    assert_eq!(maybe, expected.collect::<Vec<_>>());

    let grouped = world.query::<(ObjectId, Option<(&Rare, &Poison)>)>();
    let grouped: Vec<_> = grouped.map(|(id, both)| (id, both.map(|(a, _)| a.clone()))).collect();
    let rare_and_poisoned = |id| poison(world, id).and(rare(world, id));
    let expected: Vec<_> = ids.iter().map(|id| (*id, rare_and_poisoned(*id))).collect();
    assert_eq!(grouped, expected);

    // The same, item by item and as a fold, and to be changed.
    let mut sum = 0;
    for (health, poison) in world.query_mut::<(&mut Health, Option<&Poison>)>()? {
        health.0 += 1;
        sum += poison.map_or(0, |poison| poison.0);
    }
    let folded = world.query_mut::<(&Poison, &mut Health)>()?.map(|(poison, health)| {
        health.0 += 1;
        poison.0
    });
    assert_eq!(folded.sum::<u64>(), sum);
    let changed: Vec<Health> = ids.iter().filter_map(|id| health(world, *id)).collect();
    for (before, after) in one.iter().zip(&changed) {
        assert!(after.0 == before.0 + 1 || after.0 == before.0 + 2);
    }
    for (health, poison) in world.query_mut::<(&mut Health, Option<&mut Poison>)>()? {
        health.0 -= if poison.is_some() { 2 } else { 1 };
    }
    assert_eq!(world.query::<&Health>().cloned().collect::<Vec<_>>(), one);

    let (least, most) = world.query::<&Poison>().size_hint();
    let count = world.query::<&Poison>().count();
    assert!(least <= count && most.is_some_and(|most| most >= count));
    Ok(())
}

#[test]
fn queries_give_what_the_objects_have_in_the_order_of_their_creation() -> Result<()> {
    for count in [0, 1, 63, 64, 65, 200, 5_000] {
        check(&mut world(count))?;
    }
    Ok(())
}

#[test]
fn queries_are_right_with_holes_and_after_many_removals() -> Result<()> {
    let mut random = Lcg64Xsh32::seed_from_u64(7);
    let mut world = world(5_000);
    for _ in 0..12 {
        let ids: Vec<ObjectId> = world.objects().collect();
        for id in ids {
            match random.gen_range(0..10) {
                0..3 => drop(world.remove(id)),
                3 => drop(world.detach::<Health>(id)),
                4 => drop(world.detach::<Poison>(id)),
                5 => world.attach(id, Poison(random.gen_range(0..99)))?,
                _ => (),
            }
        }
        check(&mut world)?;
    }
    assert!(world.objects().len() < 500, "so that pages were dropped: {}", world.objects().len());
    let new = world.spawn("new");
    world.attach(new, Health(1))?;
    check(&mut world)?;
    assert_eq!(world.query::<(ObjectId, &Health)>().last(), Some((new, &Health(1))));
    Ok(())
}

#[test]
fn a_query_for_what_nobody_has_gives_nothing() -> Result<()> {
    let mut world = World::new();
    world.spawn("Orc");
    assert_eq!(world.query::<&Health>().count(), 0);
    assert_eq!(world.query_mut::<&mut Health>()?.count(), 0);
    assert_eq!(world.query::<Option<&Health>>().collect::<Vec<_>>(), [None]);
    assert_eq!(world.query_mut::<(ObjectId, Option<&mut Health>)>()?.count(), 1);
    assert_eq!(world.query::<ObjectId>().count(), 1);
    Ok(())
}

#[test]
fn a_query_may_go_on_behind_items_that_were_taken() {
    let world = world(300);
    let mut query = world.query::<&Poison>();
    let first = query.by_ref().take(30).map(|poison| poison.0).collect::<Vec<_>>();
    let rest = query.map(|poison| poison.0).fold(Vec::new(), |mut all, n| {
        all.push(n);
        all
    });
    assert_eq!([first, rest].concat(), (0..300).step_by(3).collect::<Vec<u64>>());
    assert_eq!(world.query::<&Poison>().nth(50), Some(&Poison(150)));
}

#[test]
fn one_component_cannot_be_asked_for_twice_if_it_is_to_be_changed() -> Result<()> {
    // Whether anybody has one or not.
    for mut world in [World::new(), world(3)] {
        let kinds = [
            world.query_mut::<(&mut Health, &mut Health)>().err(),
            world.query_mut::<(&mut Health, &Health)>().err(),
            world.query_mut::<(&Health, &mut Health)>().err(),
            world.query_mut::<(&mut Health, Option<&Health>)>().err(),
            world.query_mut::<(Option<(&Poison, &Health)>, &mut Health)>().err(),
        ];
        for error in kinds {
            let error = error.expect("an error");
            assert_eq!(error.kind(), ErrorKind::Borrowed);
            assert_eq!(error.class(), Some("Health"));
        }
        let read = world.query_mut::<(&Health, &Health, &mut Poison)>()?.count();
        assert_eq!(read, world.query::<(&Health, &Health, &Poison)>().count());
    }
    Ok(())
}
