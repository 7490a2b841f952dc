//! Further copies of one prefab, which are made from a template, against copies that are loaded one by one.

use std::collections::{BTreeMap, HashMap};

use persist::world::{Activity, ExternalIds, Prefab};
use persist::{Component, ComponentScope, ErrorKind, ObjectId, Persist, Result, World};

use super::{Target, bytes};

/// Plain data with ids, and a field that is not saved.
#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(component)]
struct Plan {
    text: String,
    steps: Vec<(u8, Option<ObjectId>)>,
    keys: BTreeMap<ObjectId, Target>,
    #[persist(skip)]
    cache: u8,
}

#[derive(Persist)]
#[persist(component)]
struct Places(HashMap<Option<ObjectId>, u8>);

/// A camp with a paused guard, whose friend is outside.
fn camp() -> Result<(World, ObjectId, ObjectId)> {
    let mut world = World::new();
    let friend = world.spawn("Friend");
    let camp = world.spawn("Camp7");
    let [guard, tent] = ["Guard", ""].map(|name| world.spawn(name));
    world.set_parent(tent, Some(camp))?;
    world.set_parent_at(guard, Some(camp), 0)?;
    world.set_activity(guard, Activity::Paused)?;
    let below = world.spawn_in(guard, "Guard")?;
    let target = |whom| Target { whom, next: Some(friend) };
    world.attach(camp, target(tent))?;
    let steps = vec![(1, Some(camp)), (2, None), (3, Some(friend))];
    let keys = BTreeMap::from([(guard, target(camp)), (friend, target(friend))]);
    world.attach(below, Plan { text: "guard".into(), steps, keys, cache: 3 })?;
    world.attach(below, target(ObjectId::NULL))?;
    Ok((world, camp, friend))
}

/// A prefab that has placed no copy.
fn unplaced(world: &World, object: ObjectId) -> Prefab {
    world.prefab(object).expect("its components are data")
}

#[test]
fn further_copies_are_like_those_of_new_prefabs() -> Result<()> {
    for external in [ExternalIds::Keep, ExternalIds::Clear] {
        let (mut one, camp, _) = camp()?;
        let (mut twin, ..) = self::camp()?;
        let prefab = one.prefab(camp)?;
        for round in 0..5 {
            let copy = one.instantiate(&prefab.clone(), external)?;
            let unplaced = unplaced(&twin, camp);
            assert_eq!(twin.instantiate(&unplaced, external)?, copy);
            assert!(bytes(&one) == bytes(&twin), "round {round}");
            for world in [&mut one, &mut twin] {
                world.remove(world.children(copy)[1]);
                world.update(1.0);
                world.spawn("Guard");
            }
        }
        assert!(bytes(&one) == bytes(&twin));
        // Another world numbers its classes in another order.
        let [mut other, mut other_twin] = [World::new(), World::new()];
        for world in [&mut other, &mut other_twin] {
            world.register_component::<Places>()?;
            world.register_component::<Plan>()?;
        }
        for _ in 0..2 {
            other.instantiate(&prefab, external)?;
            other_twin.instantiate(&unplaced(&one, camp), external)?;
            assert!(bytes(&other) == bytes(&other_twin));
        }
        let plans = other.query::<&Plan>().map(|plan| plan.cache);
        assert_eq!(plans.collect::<Vec<_>>(), [0, 0]);
    }
    Ok(())
}

#[test]
fn a_further_copy_that_is_refused_leaves_the_world_as_it_was() -> Result<()> {
    let (mut world, camp, friend) = camp()?;
    let other = world.spawn("Other");
    world.attach(camp, Places([(Some(friend), 1), (Some(other), 2)].into()))?;
    let prefab = world.prefab(camp)?;
    for _ in 0..3 {
        world.instantiate(&prefab, ExternalIds::Keep)?;
        let before = bytes(&world);
        let error = world.instantiate(&prefab, ExternalIds::Clear).expect_err("two keys are none");
        assert_eq!(error.kind(), ErrorKind::InvalidValue, "{error}");
        assert!(bytes(&world) == before);
    }
    Ok(())
}

/// Places copies while it is updated.
#[derive(Persist)]
struct Spawner {
    of: ObjectId,
    is_renewed: bool,
    #[persist(skip)]
    prefab: Option<Prefab>,
}

impl Component for Spawner {
    fn on_update(&mut self, scope: &mut ComponentScope<'_>) {
        for _ in 0..3 {
            if self.is_renewed || self.prefab.is_none() {
                self.prefab = Some(unplaced(scope.world, self.of));
            }
            let Some(prefab) = &self.prefab else { return };
            let copy = scope.world.instantiate(prefab, ExternalIds::Keep).expect("a copy");
            let object = scope.object();
            scope.world.set_parent(copy, Some(object)).expect("it is expected");
            scope.world.attach(copy, Places([(Some(copy), 1)].into())).expect("it is expected");
        }
    }
}

#[test]
fn further_copies_are_placed_at_the_end_of_the_phase() -> Result<()> {
    let worlds = [false, true].map(|is_renewed| -> Result<World> {
        let (mut world, camp, _) = camp()?;
        let top = world.spawn("Top");
        world.attach(top, Spawner { of: camp, is_renewed, prefab: None })?;
        world.update(1.0);
        world.update(1.0);
        assert_eq!(world.children(top).len(), 6);
        // They differ in this alone.
        world.detach::<Spawner>(top);
        Ok(world)
    });
    let [one, twin] = worlds;
    assert!(bytes(&one?) == bytes(&twin?));
    Ok(())
}
