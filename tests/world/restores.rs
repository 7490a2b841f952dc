//! Snapshots of a world, compared with its saves at the same moments.

use std::cell::Cell;
use std::sync::Arc;

use persist::world::{Activity, ExternalIds, Snapshot};
use persist::{Component, ComponentScope, ErrorKind, ObjectId, Persist, Result, Saves, World};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use super::actor::{enter, logged, play};
use super::park::Park as _;

#[derive(Persist, Debug, PartialEq, Clone, Copy)]
#[persist(component)]
struct Place {
    x: f32,
    y: f32,
}

#[derive(Persist, Debug, PartialEq)]
#[persist(component)]
struct Note {
    text: String,
    whom: Option<ObjectId>,
}

/// A component that changes through a shared reference.
#[derive(Persist)]
#[persist(component)]
struct Counted(Cell<u32>);

/// A component with a field that is not saved, of a fixed width without it.
#[derive(Persist, Debug, PartialEq)]
#[persist(component)]
struct Cached {
    number: u32,
    #[persist(skip)]
    cache: u32,
}

#[derive(Persist, Debug, PartialEq)]
#[persist(after_load = Doubled::compute)]
struct Doubled {
    number: u32,
    #[persist(skip)]
    double: u32,
}

thread_local! {
    static LOADED: Cell<usize> = const { Cell::new(0) };
}

impl Doubled {
    fn compute(&mut self) {
        LOADED.set(LOADED.get() + 1);
        self.double = 2 * self.number;
    }
}

impl Component for Doubled {}

/// A component that spawns objects.
#[derive(Persist, Debug, PartialEq)]
struct Clock {
    ticks: u32,
    starts: u32,
}

impl Component for Clock {
    fn on_start(&mut self, _: &mut ComponentScope<'_>) {
        self.starts += 1;
    }

    fn on_update(&mut self, scope: &mut ComponentScope<'_>) {
        self.ticks += 1;
        if self.ticks.is_multiple_of(5) {
            let object = scope.world.spawn("");
            scope.world.attach(object, Place { x: 0.5, y: 1.5 }).expect("a new object");
        }
    }
}

#[derive(Persist, Debug, PartialEq)]
struct Score {
    points: u64,
    names: Vec<String>,
}

fn saves() -> Saves {
    let saves = Saves::new();
    saves.register_component::<Place>().expect("a component class");
    saves.register_component::<Note>().expect("a component class");
    saves.register_component::<Counted>().expect("a component class");
    saves.register_component::<Cached>().expect("a component class");
    saves.register_component::<Doubled>().expect("a component class");
    saves.register_component::<Clock>().expect("a component class");
    saves.register_resource::<Score>().expect("a resource class");
    saves
}

/// An object with its name, its children and the classes of its components.
type Seen = (ObjectId, Option<String>, Vec<ObjectId>, Vec<String>);

/// What a program sees of the objects; each is found by its name.
fn seen(world: &World) -> Vec<Seen> {
    let of = |id| {
        let name = world.name(id).map(String::from);
        assert_eq!(name.as_deref().and_then(|name| world.find(name)), name.as_ref().map(|_| id));
        (id, name, world.children(id).to_vec(), world.classes(id))
    };
    world.objects().map(of).collect()
}

const NAMES: [&str; 6] = ["orc", "orc", "orc1", "elf", "elf12", ""];

fn change(world: &mut World, random: &mut Pcg64) -> Result<()> {
    let ids: Vec<ObjectId> = world.objects().collect();
    let mut pick = || ids.choose(random).copied().unwrap_or(ObjectId::new(1).expect("not 0"));
    let [a, b] = [pick(), pick()];
    let name = *NAMES.choose(random).expect("there are some");
    let number = random.gen_range(0..9);
    let place = Place { x: number as f32, y: 0.25 };
    match random.gen_range(0..26) {
        0 => _ = world.spawn(name),
        1 => drop(world.spawn_in(a, name)),
        2 => drop(world.spawn_with(name, (place, Cached { number, cache: 7 }))),
        3 => _ = world.remove(a),
        4 | 5 => drop(world.attach(a, place)),
        6 => drop(world.attach(a, Note { text: "x".repeat(number as usize), whom: Some(b) })),
        7 => drop(world.attach(a, Counted(Cell::new(number)))),
        8 => drop(world.attach(a, Clock { ticks: number, starts: 0 })),
        9 => drop(world.attach(a, Doubled { number, double: 2 * number })),
        10 => _ = world.detach::<Place>(a),
        11 => _ = world.detach::<Note>(a),
        12 => drop(world.set_parent_at(a, Some(b), number as usize)),
        13 => drop(world.set_parent(a, None)),
        14 => drop(world.rename(a, name)),
        15 => drop(world.set_activity(a, Activity::Paused)),
        16 => drop(world.set_activity(a, Activity::Active)),
        17 => drop(world.set_activity(a, Activity::Expired)),
        18 => world.update(0.1),
        19 => world.query_mut::<&mut Place>()?.for_each(|place| place.x += 1.0),
        20 => world.get::<Counted>(a).into_iter().for_each(|it| it.0.set(it.0.get() + 1)),
        21 => world.get_mut::<Note>(a).into_iter().for_each(|note| note.text.push('!')),
        22 => match world.resource_mut::<Score>() {
            Some(score) => score.points += 1,
            None => drop(world.insert_resource(Score { points: 1, names: vec![name.into()] })?),
        },
        23 => _ = world.remove_resource::<Score>(),
        24 => {
            let prefab = world.contains(a).then(|| world.prefab(a)).transpose()?;
            prefab.map(|prefab| world.instantiate(&prefab, ExternalIds::Keep)).transpose()?;
        }
        _ => drop(world.park(a)),
    }
    Ok(())
}

#[test]
fn a_restore_in_any_order_leads_to_the_bytes_that_a_save_had_at_the_snapshot() -> Result<()> {
    let saves = saves();
    let (mut restored, mut compared) = (0, 0);
    for seed in 0..40 {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut world = World::new();
        // Some worlds have their objects in several blocks and pages.
        let count = if seed % 4 == 0 { 9_000 } else { 3 };
        for at in 0..count {
            let object = world.spawn(if at % 3 == 0 { "" } else { "orc" });
            if at % 2 == 0 {
                world.attach(object, Place { x: at as f32, y: 0.0 })?;
            }
        }
        let mut taken: Vec<(Snapshot, Vec<u8>, Vec<Seen>)> = Vec::new();
        for _ in 0..if count > 3 { 60 } else { 300 } {
            match random.gen_range(0..12) {
                0 | 1 => {
                    taken.push((world.snapshot()?, saves.to_vec(&world)?, seen(&world)));
                    // Without the last one, nothing is shared.
                    if random.gen_ratio(1, 4) {
                        taken.pop();
                    }
                }
                2 if !taken.is_empty() => {
                    let (snapshot, save, state) = &taken[random.gen_range(0..taken.len())];
                    world.restore(snapshot)?;
                    assert!(saves.to_vec(&world)? == *save, "the bytes, of seed {seed}");
                    assert_eq!(seen(&world), *state, "seed {seed}");
                    let doubled = world.query::<&Doubled>();
                    assert!(doubled.into_iter().all(|it| it.double == 2 * it.number));
                    restored += 1;
                    if random.gen_ratio(1, 3) {
                        // The next frames are those of a loaded world.
                        let mut loaded = saves.from_slice::<World>(save)?;
                        (0..3).for_each(|_| world.update(0.1));
                        (0..3).for_each(|_| loaded.update(0.1));
                        let twin = saves.to_vec(&*loaded)?;
                        assert!(saves.to_vec(&world)? == twin, "the frames after, of seed {seed}");
                        compared += 1;
                    }
                }
                _ => change(&mut world, &mut random)?,
            }
        }
    }
    assert!(restored > 300 && compared > 100, "{restored} restores, {compared} compared");
    Ok(())
}

fn world_of(count: u32) -> Result<World> {
    let mut world = World::new();
    for at in 0..count {
        let note = Note { text: format!("{at}"), whom: None };
        world.spawn_with("", (Place { x: at as f32, y: 0.0 }, note))?;
    }
    Ok(world)
}

#[test]
fn fields_that_are_not_saved_stay_where_the_component_stays() -> Result<()> {
    let mut world = World::new();
    let [stays, leaves, other] = [1, 2, 3].map(|number| {
        let object = world.spawn("");
        world.attach(object, Cached { number, cache: 10 * number }).expect("there");
        object
    });
    let before = world.snapshot()?;
    for object in [stays, leaves] {
        let cached = world.get_mut::<Cached>(object).expect("there");
        *cached = Cached { number: 9, cache: 90 };
    }
    world.restore(&before)?;
    let read = |world: &World, object| {
        let cached = world.get::<Cached>(object).expect("there");
        (cached.number, cached.cache)
    };
    assert_eq!([stays, leaves, other].map(|id| read(&world, id)), [(1, 90), (2, 90), (3, 30)]);
    // Objects that come and go in the same block change nothing of that.
    world.remove(leaves);
    world.spawn("New");
    world.get_mut::<Cached>(stays).expect("there").number = 8;
    world.restore(&before)?;
    assert_eq!([stays, leaves, other].map(|id| read(&world, id)), [(1, 90), (2, 0), (3, 30)]);
    Ok(())
}

#[test]
fn components_that_did_not_change_are_not_decoded() -> Result<()> {
    let mut world = World::new();
    let ids = world.spawn_many("", (0..5_000).map(|number| (Doubled { number, double: 0 },)))?;
    let before = world.snapshot()?;
    LOADED.set(0);
    world.restore(&before)?;
    assert_eq!(LOADED.get(), 0);
    world.get_mut::<Doubled>(ids[2_000]).expect("there").number = 9;
    world.restore(&before)?;
    assert_eq!(LOADED.take(), 256);
    assert_eq!(world.get(ids[2_000]), Some(&Doubled { number: 2_000, double: 4_000 }));
    Ok(())
}

#[derive(Persist)]
#[persist(after_load = Refusing::check)]
struct Refusing {
    number: u32,
}

impl Refusing {
    fn check(&mut self) -> std::result::Result<(), &'static str> {
        if self.number == 7 { Err("7 is refused") } else { Ok(()) }
    }
}

impl Component for Refusing {}

#[test]
fn after_a_component_that_refuses_the_rest_is_restored() -> Result<()> {
    let mut world = World::new();
    let [a, b] = [7, 1].map(|number| {
        let object = world.spawn("");
        world.attach(object, Refusing { number }).expect("there");
        object
    });
    world.insert_resource(Score { points: 1, names: vec![] })?;
    let before = world.snapshot()?;
    world.get_mut::<Refusing>(a).expect("there").number = 2;
    world.remove(b);
    world.resource_mut::<Score>().expect("there").points = 2;
    let error = world.restore(&before).expect_err("it refuses");
    assert_eq!(error.kind(), ErrorKind::Refused);
    let number = |object| world.get::<Refusing>(object).map(|it| it.number);
    assert_eq!([number(a), number(b)], [Some(7), Some(1)]);
    assert_eq!(world.resource::<Score>().map(|score| score.points), Some(1));
    Ok(())
}

#[test]
fn no_method_runs_in_a_restore_and_what_was_started_is_not_started_again() -> Result<()> {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    world.update(0.1);
    let started = world.snapshot()?;
    let bob = enter(&mut world, "Bob");
    let waiting = world.snapshot()?;
    world.remove(ada);
    world.update(0.1);
    logged();
    // Values are dropped, and nothing else happens.
    let ran = || logged().iter().any(|line| !line.starts_with("drop "));
    world.restore(&waiting)?;
    assert!(!ran() && world.contains(ada) && world.contains(bob));
    world.update(0.1);
    let log = logged();
    assert!(log.contains(&"start Bob".into()) && !log.contains(&"start Ada".into()), "{log:?}");
    world.restore(&started)?;
    assert!(!ran() && !world.contains(bob));
    // The id and the name are given again.
    assert_eq!(enter(&mut world, "Bob"), bob);
    Ok(())
}

#[test]
fn a_snapshot_and_a_restore_wait_for_the_end_of_an_update() -> Result<()> {
    let mut world = World::new();
    enter(&mut world, "Ada");
    let before = world.snapshot()?;
    let taken = before.clone();
    play(move |line, scope| {
        if line == "update Ada" {
            let errors = [scope.world.snapshot().map(drop), scope.world.restore(&taken)];
            let kinds = errors.map(|result| result.map_err(|error| error.kind()));
            assert_eq!(kinds, [Err(ErrorKind::Borrowed); 2]);
        }
    });
    world.update(0.1);
    assert!(logged().contains(&"update Ada".into()));
    world.restore(&before)
}

#[test]
fn paused_objects_and_those_below_them_stay_paused() -> Result<()> {
    let mut world = World::new();
    let tower = world.spawn("Tower");
    let gun = world.spawn_in(tower, "Gun")?;
    world.attach(gun, Clock { ticks: 0, starts: 0 })?;
    world.set_activity(tower, Activity::Paused)?;
    let paused = world.snapshot()?;
    world.set_activity(tower, Activity::Active)?;
    world.update(0.1);
    world.restore(&paused)?;
    world.update(0.1);
    assert_eq!(world.get(gun), Some(&Clock { ticks: 0, starts: 0 }));
    world.set_activity(tower, Activity::Active)?;
    world.update(0.1);
    assert_eq!(world.get(gun), Some(&Clock { ticks: 1, starts: 1 }));
    Ok(())
}

#[test]
fn unknown_components_and_resources_come_back() -> Result<()> {
    let mut world = World::new();
    let object = world.spawn("Ada");
    world.attach(object, Place { x: 1.0, y: 2.0 })?;
    world.attach(object, Note { text: "of a mod".into(), whom: Some(object) })?;
    world.insert_resource(Score { points: 3, names: vec![] })?;
    let save = saves().to_vec(&world)?;
    let poor = Saves::new();
    poor.register_component::<Place>()?;
    let mut world = poor.from_slice::<World>(&save)?;
    let (before, bytes) = (world.snapshot()?, poor.to_vec(&*world)?);
    world.remove(object);
    world.spawn("Ada");
    world.restore(&before)?;
    assert!(poor.to_vec(&*world)? == bytes);
    let world = saves().from_slice::<World>(&bytes)?;
    assert_eq!(world.get::<Note>(object).map(|note| &*note.text), Some("of a mod"));
    Ok(())
}

#[derive(Persist)]
struct Shared(Option<Arc<u32>>);

impl Component for Shared {}

#[derive(Persist)]
#[persist(component)]
struct Inside {
    world: World,
}

#[test]
fn shared_pointers_and_worlds_in_components_and_resources_are_refused() -> Result<()> {
    let mut world = World::new();
    let object = world.spawn("");
    let refused = |world: &World| world.snapshot().map_err(|error| error.kind()).map(drop);
    world.attach(object, Shared(None))?;
    assert_eq!(refused(&world), Err(ErrorKind::Unsupported));
    world.detach::<Shared>(object);
    assert_eq!(refused(&world), Ok(()));
    world.insert_resource(Shared(Some(Arc::new(1))))?;
    assert_eq!(refused(&world), Err(ErrorKind::Unsupported));
    world.remove_resource::<Shared>();
    world.attach(object, Inside { world: World::new() })?;
    assert_eq!(refused(&world), Err(ErrorKind::Unsupported));
    Ok(())
}

#[test]
fn a_snapshot_of_another_world_is_refused_also_after_a_load() -> Result<()> {
    let saves = saves();
    let mut world = world_of(3)?;
    let snapshot = world.snapshot()?;
    let mut loaded = saves.from_slice::<World>(&saves.to_vec(&world)?)?;
    let error = loaded.restore(&snapshot).expect_err("another world");
    assert_eq!(error.kind(), ErrorKind::WrongTarget);
    world.restore(&snapshot)
}

#[test]
fn a_snapshot_is_taken_and_restored_on_different_threads() -> Result<()> {
    let mut world = world_of(1_000)?;
    let snapshot = world.snapshot()?;
    let first = world.objects().next().expect("there");
    let mut world = std::thread::spawn(move || {
        world.remove(first);
        world.restore(&snapshot).map(|()| world)
    })
    .join()
    .expect("no panic")?;
    assert_eq!(world.get::<Place>(first), Some(&Place { x: 0.0, y: 0.0 }));
    world.update(0.1);
    Ok(())
}
