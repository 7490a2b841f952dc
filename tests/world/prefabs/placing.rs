//! Where copies stand, what they are called, when they start.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, Weak};

use persist::world::{Activity, ExternalIds, Prefab};
use persist::{Component, ComponentScope, ErrorKind, ObjectId, Persist, World};

use super::{Target, bytes};
use crate::park::Park as _;

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static REFUSED: Cell<bool> = const { Cell::new(false) };
}

/// Logs its life; may refuse to be loaded.
#[derive(Persist, Clone)]
#[persist(validate = accept)]
struct Noisy {
    name: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature of a hook")]
fn accept(_: &Noisy) -> Result<(), &'static str> {
    if REFUSED.get() { Err("not today") } else { Ok(()) }
}

impl Component for Noisy {
    fn on_start(&mut self, scope: &mut ComponentScope<'_>) {
        LOG.with_borrow_mut(|log| log.push(format!("start {}", scope.object())));
    }

    fn on_update(&mut self, scope: &mut ComponentScope<'_>) {
        LOG.with_borrow_mut(|log| log.push(format!("update {}", scope.object())));
    }

    fn on_release(&mut self, _: &mut ComponentScope<'_>) {
        LOG.with_borrow_mut(|log| log.push(format!("release {}", self.name)));
    }
}

fn names(world: &World, ids: &[ObjectId]) -> Vec<String> {
    ids.iter().map(|id| world.name(*id).unwrap().to_owned()).collect()
}

/// A house with two doors in the order in which they were not made, and a key in the first.
fn house() -> (World, ObjectId) {
    let mut world = World::new();
    let house = world.spawn("House");
    let left = world.spawn_in(house, "Door").unwrap();
    let right = world.spawn("Door");
    world.set_parent_at(right, Some(house), 0).unwrap();
    world.spawn_in(left, "Key9").unwrap();
    (world, house)
}

#[test]
fn copies_keep_their_order_and_get_numbers_for_names() {
    let (mut world, house) = house();
    let before = world.objects().max().unwrap();
    assert_eq!(names(&world, &world.subtree(house)), ["House", "Door1", "Door", "Key9"]);
    let prefab = world.prefab(house).unwrap();
    assert_eq!(prefab.object_count(), 4);
    let copy = world.instantiate(&prefab, ExternalIds::Clear).unwrap();
    assert_eq!(names(&world, &world.subtree(copy)), ["House1", "Door3", "Door2", "Key"]);
    let copy = world.instantiate(&prefab, ExternalIds::Clear).unwrap();
    assert_eq!(names(&world, &world.subtree(copy)), ["House2", "Door5", "Door4", "Key1"]);
    assert_eq!(world.objects().len(), 12);
    // Ids ascend as those of the originals do, behind all others.
    let ids = |root: ObjectId| -> Vec<u64> {
        world.subtree(root).iter().map(|id| id.get() - root.get()).collect()
    };
    assert_eq!(ids(copy), ids(house));
    assert_eq!(copy.get(), before.get() + 5);
    assert_eq!(world.find("Key1").and_then(|key| world.parent(key)), Some(world.children(copy)[1]));
    assert_eq!(world.roots().collect::<Vec<_>>().len(), 3);
}

#[test]
fn a_name_that_is_free_stays() {
    let (mut world, house) = house();
    let prefab = world.prefab(house).unwrap();
    world.remove(house);
    let copy = world.instantiate(&prefab, ExternalIds::Clear).unwrap();
    assert_ne!(copy, house);
    assert_eq!(names(&world, &world.subtree(copy)), ["House", "Door1", "Door", "Key9"]);
    // A parked object may want its name back.
    world.park(copy).unwrap();
    let copy = world.instantiate(&prefab, ExternalIds::Clear).unwrap();
    assert_eq!(world.name(copy), Some("House1"));
}

#[test]
fn a_copy_may_stand_below_an_object_also_in_itself() {
    let (mut world, house) = house();
    let street = world.spawn("Street");
    world.spawn_in(street, "Lamp").unwrap();
    let prefab = world.prefab(house).unwrap();
    let copy = world.instantiate(&prefab, ExternalIds::Clear).unwrap();
    world.set_parent(copy, Some(street)).unwrap();
    assert_eq!(world.children(street)[1], copy);
    let inner = world.instantiate(&prefab, ExternalIds::Clear).unwrap();
    world.set_parent(inner, Some(house)).unwrap();
    assert_eq!(world.parent(inner), Some(house));
    assert_eq!(prefab.object_count(), 4, "the prefab is not the house");
    world.remove(street);
    let before = bytes(&world);
    let error = world.set_parent(house, Some(street)).unwrap_err();
    assert_eq!((error.kind(), error.object()), (ErrorKind::NotFound, Some(street.get())));
    assert_eq!(world.prefab(street).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(bytes(&world), before);
}

#[test]
fn copies_are_held_by_what_is_above_and_what_they_were() {
    let (mut world, house) = house();
    let noisy = Noisy { name: String::from("a") };
    world.attach(house, noisy).unwrap();
    let prefab = world.prefab(house).unwrap();
    world.set_activity(house, Activity::Paused).unwrap();
    let paused = world.prefab(house).unwrap();
    let below = world.instantiate(&prefab, ExternalIds::Clear).unwrap();
    world.set_parent(below, Some(house)).unwrap();
    let copy = world.instantiate(&paused, ExternalIds::Clear).unwrap();
    assert_eq!(world.activity(below), Some(Activity::Active));
    assert_eq!(world.activity(copy), Some(Activity::Paused));
    LOG.take();
    world.update(1.0);
    assert!(LOG.take().is_empty());
    world.set_parent(below, None).unwrap();
    world.update(1.0);
    assert_eq!(LOG.take(), [format!("start {below}"), format!("update {below}")]);

    world.set_activity(copy, Activity::Expired).unwrap();
    let expired = world.prefab(copy).unwrap();
    let count = world.objects().len();
    world.instantiate(&expired, ExternalIds::Clear).unwrap();
    world.update(1.0);
    assert_eq!(world.objects().len(), count - 4);
}

#[test]
fn components_of_copies_are_not_started() {
    let mut world = World::new();
    let first = world.spawn("Orc");
    world.attach(first, Noisy { name: String::from("orc") }).unwrap();
    world.update(1.0);
    let prefab = world.prefab(first).unwrap();
    LOG.take();
    let second = world.instantiate(&prefab, ExternalIds::Clear).unwrap();
    assert!(LOG.take().is_empty(), "nothing runs while a copy is made");
    world.update(1.0);
    let expected =
        [format!("start {second}"), format!("update {first}"), format!("update {second}")];
    assert_eq!(LOG.take(), expected);
    drop(prefab);
    assert!(LOG.take().is_empty(), "a prefab has no components to release");
    world.remove(second);
    assert_eq!(LOG.take(), ["release orc"]);
}

#[test]
fn an_error_leaves_the_world_as_it_was() {
    let (mut world, house) = house();
    world.attach(house, Noisy { name: String::from("a") }).unwrap();
    world.attach(house, Target { whom: house, next: None }).unwrap();
    let prefab = world.prefab(house).unwrap();
    let (before, mut other) = (bytes(&world), World::new());
    LOG.take();
    REFUSED.set(true);
    for world in [&mut world, &mut other] {
        let error = world.instantiate(&prefab, ExternalIds::Clear).unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::Refused, "`validate` of Noisy refused: not today")
        );
    }
    REFUSED.set(false);
    assert_eq!(LOG.take(), [""; 0], "components that never were anybody's were released");
    assert_eq!(bytes(&world), before);
    assert!(other.objects().len() == 0);
    let next = world.spawn("New");
    assert_eq!(next.get(), house.get() + 4);
}

#[derive(Persist)]
struct Wheel {
    turns: Arc<Mutex<u32>>,
    other: Weak<Mutex<u32>>,
}

impl Component for Wheel {}

#[test]
fn shared_objects_are_new_ones_in_each_copy() {
    let mut world = World::new();
    let cart = world.spawn("Cart");
    let turns = Arc::new(Mutex::new(5));
    let outside = Arc::new(Mutex::new(9));
    for name in ["Left", "Right"] {
        let wheel = world.spawn_in(cart, name).unwrap();
        let other = Arc::downgrade(&outside);
        world.attach(wheel, Wheel { turns: turns.clone(), other }).unwrap();
    }
    world.attach(cart, Wheel { turns: outside, other: Arc::downgrade(&turns) }).unwrap();
    let prefab = world.prefab(cart).unwrap();
    let copies = [(); 2].map(|()| world.instantiate(&prefab, ExternalIds::Keep).unwrap());
    *turns.lock().unwrap() += 1;
    let mut seen = vec![turns];
    for copy in copies {
        let wheels: Vec<ObjectId> = world.children(copy).to_vec();
        let [left, right] = [0, 1].map(|at| world.get::<Wheel>(wheels[at]).unwrap());
        let body = world.get::<Wheel>(copy).unwrap();
        assert!(Arc::ptr_eq(&left.turns, &right.turns));
        assert!(Arc::ptr_eq(&left.other.upgrade().unwrap(), &body.turns));
        assert!(Arc::ptr_eq(&body.other.upgrade().unwrap(), &left.turns));
        assert_eq!((*left.turns.lock().unwrap(), *body.turns.lock().unwrap()), (5, 9));
        assert!(seen.iter().all(|other| !Arc::ptr_eq(other, &left.turns)));
        seen.push(left.turns.clone());
    }
}

#[test]
fn a_prefab_may_go_to_other_threads() {
    fn takes(_: impl Send + Sync) {}
    let (world, house) = house();
    takes(world.prefab(house).unwrap());
}

#[test]
fn a_prefab_goes_into_a_world_that_knows_none_of_its_classes() {
    let (mut world, house) = house();
    let child = world.children(house)[1];
    world.attach(house, Target { whom: child, next: Some(house) }).unwrap();
    world.update(1.0);
    let prefab = world.prefab(house).unwrap();
    drop(world);
    let mut other = World::new();
    other.spawn("Door");
    let copy = other.instantiate(&prefab, ExternalIds::Clear).unwrap();
    let expected = Target { whom: other.children(copy)[1], next: Some(copy) };
    assert_eq!(other.get::<Target>(copy), Some(&expected));
    assert_eq!(names(&other, &other.subtree(copy)), ["House", "Door2", "Door1", "Key9"]);
    other.attach_class(other.children(copy)[0], "Target").unwrap();
}

/// What a gun shoots, and where to.
#[derive(Persist, Default)]
struct Shots {
    #[persist(skip)]
    bullet: Option<Prefab>,
    made: Vec<ObjectId>,
}

#[derive(Persist)]
struct Gun;

impl Component for Gun {
    fn on_update(&mut self, scope: &mut ComponentScope<'_>) {
        let gun = scope.object();
        let bullet = scope.world.resource::<Shots>().unwrap().bullet.clone().unwrap();
        let world = &mut *scope.world;
        let made = world.instantiate(&bullet, ExternalIds::Keep).unwrap();
        world.set_parent(made, Some(gun)).unwrap();
        assert!(!world.contains(made), "it is there from the end of the phase on");
        world.attach(made, Target { whom: gun, next: None }).unwrap();
        let shell = world.spawn_in(made, "Shell").unwrap();
        world.resource_mut::<Shots>().unwrap().made.extend([made, shell]);
        assert_eq!(world.prefab(gun).unwrap_err().kind(), ErrorKind::Borrowed);
    }
}

#[test]
fn copies_made_while_a_method_runs_are_there_at_the_end_of_the_phase() {
    let mut world = World::new();
    let bullet = world.spawn("Bullet");
    world.spawn_in(bullet, "Tip").unwrap();
    world.attach(bullet, Noisy { name: String::from("bullet") }).unwrap();
    let prefab = world.prefab(bullet).unwrap();
    world.insert_resource(Shots { bullet: Some(prefab), made: vec![] }).unwrap();
    world.remove(bullet);
    let gun = world.spawn("Gun");
    world.attach(gun, Gun).unwrap();
    LOG.take();
    world.update(1.0);
    world.update(1.0);
    let made = world.resource::<Shots>().unwrap().made.clone();
    assert_eq!(names(&world, &made), ["Bullet", "Shell", "Bullet1", "Shell1"]);
    assert_eq!(world.children(gun), [made[0], made[2]]);
    assert_eq!(names(&world, world.children(made[2])), ["Tip1", "Shell1"]);
    assert_eq!(world.get::<Target>(made[2]), Some(&Target { whom: gun, next: None }));
    let started: Vec<String> = LOG.take();
    assert_eq!(started.iter().filter(|line| line.starts_with("start")).count(), 2);
}
