//! Ids in components: all that are stored as ids follow, wherever they stand.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};

use persist::world::ExternalIds;
use persist::{Component, ErrorKind, ObjectId, Persist, World};

use super::{Locked, Target, bytes, dead};

#[persist::dynamic]
trait Order: std::fmt::Debug + Send {
    fn whom(&self) -> ObjectId;
}

#[derive(Persist, Debug)]
struct Attack {
    whom: ObjectId,
}

impl Order for Attack {
    fn whom(&self) -> ObjectId {
        self.whom
    }
}

#[derive(Persist, Clone, Debug, PartialEq)]
enum Plan {
    Wait,
    Follow(ObjectId),
    Guard { whom: ObjectId, post: Option<ObjectId> },
}

/// Saved as a list.
#[derive(Clone, Debug, Default, PartialEq)]
struct Team(HashMap<ObjectId, u8>);

mod as_list {
    use super::{HashMap, ObjectId, Team};

    pub(crate) type Stored = Vec<ObjectId>;

    pub(crate) fn store(team: &Team) -> Vec<ObjectId> {
        let mut members: Vec<ObjectId> = team.0.keys().copied().collect();
        members.sort();
        members
    }

    pub(crate) fn restore(members: Vec<ObjectId>) -> Result<Team, String> {
        Ok(Team(members.into_iter().map(|member| (member, 1)).collect::<HashMap<_, _>>()))
    }
}

#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(transparent)]
struct Wrapped(ObjectId);

/// Ids in every place that there is.
#[derive(Persist, Clone, Debug, PartialEq)]
struct Everything {
    bare: ObjectId,
    nested: (u8, Target),
    plans: Vec<Plan>,
    option: Option<ObjectId>,
    twice: Option<Option<ObjectId>>,
    list: Vec<ObjectId>,
    queue: VecDeque<Option<ObjectId>>,
    array: [ObjectId; 3],
    boxed: Box<ObjectId>,
    slice: Box<[Target]>,
    keys: HashMap<ObjectId, u8>,
    values: BTreeMap<u8, ObjectId>,
    both: BTreeMap<ObjectId, ObjectId>,
    long_keys: HashMap<(ObjectId, String), Vec<ObjectId>>,
    set: HashSet<ObjectId>,
    sorted: BTreeSet<(ObjectId, bool)>,
    cell: Cell<ObjectId>,
    shared: Locked,
    bare_shared: Arc<Target>,
    wrapped: Wrapped,
    result: Result<ObjectId, String>,
    #[persist(with = as_list)]
    team: Team,
    nowhere: ObjectId,
    number: u64,
    numbers: Vec<u64>,
}

impl Component for Everything {}

/// Of two ids inside and one outside; `kept` is what becomes of that in an option.
fn everything(a: ObjectId, b: ObjectId, out: ObjectId, kept: Option<ObjectId>) -> Everything {
    let target = Target { whom: b, next: kept };
    Everything {
        bare: a,
        nested: (7, target.clone()),
        plans: vec![Plan::Wait, Plan::Follow(out), Plan::Guard { whom: a, post: kept }],
        option: Some(b),
        twice: Some(kept),
        list: vec![a, out, b, a],
        queue: [None, Some(a), kept].into(),
        array: [b, out, a],
        boxed: Box::new(b),
        slice: Box::new([target.clone(), Target { whom: out, next: Some(a) }]),
        keys: [(a, 1), (b, 2), (out, 3)].into(),
        values: [(1, a), (2, out)].into(),
        both: [(a, b), (out, a)].into(),
        long_keys: [((a, String::from("a")), vec![b]), ((out, String::from("b")), vec![])].into(),
        set: [a, out].into(),
        sorted: [(a, true), (b, false), (out, true)].into(),
        cell: Cell::new(b),
        shared: Locked::new(target.clone()),
        bare_shared: Arc::new(target),
        wrapped: Wrapped(a),
        result: Ok(a),
        team: Team([(a, 1), (out, 1)].into()),
        nowhere: ObjectId::NULL,
        number: 0,
        numbers: Vec::new(),
    }
}

/// A tower with a gun, and Ada, whom it looks at.
fn tower() -> (World, [ObjectId; 3]) {
    let mut world = World::new();
    let ada = world.spawn("Ada");
    let tower = world.spawn("Tower");
    let gun = world.spawn_in(tower, "Gun").unwrap();
    (world, [tower, gun, ada])
}

#[test]
fn ids_inside_follow_and_ids_outside_stay() {
    let (mut world, [tower, gun, ada]) = tower();
    world.attach(gun, everything(tower, gun, ada, Some(ada))).unwrap();
    let prefab = world.prefab(tower).unwrap();
    for _ in 0..3 {
        let copy = world.instantiate(&prefab, ExternalIds::Keep).unwrap();
        let gun = world.children(copy)[0];
        let found = world.get::<Everything>(gun).unwrap();
        assert_eq!(*found, everything(copy, gun, ada, Some(ada)));
    }
    let first = world.get::<Everything>(gun).unwrap();
    assert_eq!(*first, everything(tower, gun, ada, Some(ada)), "the original changed");
}

#[test]
fn ids_outside_are_cleared_and_stay_as_different_as_they_were() {
    let (mut world, [tower, gun, ada]) = tower();
    let bob = world.spawn("Bob");
    let mut before = everything(tower, gun, ada, Some(ada));
    before.keys.insert(bob, 4);
    before.set.insert(bob);
    world.attach(gun, before).unwrap();
    let prefab = world.prefab(tower).unwrap();
    let copy = world.instantiate(&prefab, ExternalIds::Clear).unwrap();
    let gun = world.children(copy)[0];
    let mut expected = everything(copy, gun, dead(ada), None);
    expected.keys.insert(dead(bob), 4);
    expected.set.insert(dead(bob));
    assert_eq!(*world.get::<Everything>(gun).unwrap(), expected);

    // What is dead stays so, in copies of the copy too.
    let prefab = world.prefab(copy).unwrap();
    let second = world.instantiate(&prefab, ExternalIds::Keep).unwrap();
    let gun = world.children(second)[0];
    let found = world.get::<Everything>(gun).unwrap();
    assert_eq!((found.bare, found.list[1], found.option), (second, dead(ada), Some(gun)));
}

#[test]
fn ids_kept_as_plain_numbers_are_left_alone() {
    let (mut world, [tower, gun, ada]) = tower();
    let mut numbers = everything(tower, gun, ada, None);
    numbers.number = tower.get();
    numbers.numbers = vec![gun.get(), ada.get()];
    world.attach(tower, numbers).unwrap();
    let prefab = world.prefab(tower).unwrap();
    let copy = world.instantiate(&prefab, ExternalIds::Clear).unwrap();
    let found = world.get::<Everything>(copy).unwrap();
    assert_eq!((found.number, &found.numbers), (tower.get(), &vec![gun.get(), ada.get()]));
}

#[derive(Persist)]
struct Orders(Vec<Box<dyn Order>>, Option<Arc<Mutex<dyn Order>>>);

impl Component for Orders {}

#[test]
fn ids_in_trait_objects_follow() {
    let (mut world, [tower, gun, _]) = tower();
    let shared: Arc<Mutex<dyn Order>> = Arc::new(Mutex::new(Attack { whom: gun }));
    world.attach(tower, Orders(vec![Box::new(Attack { whom: gun })], Some(shared))).unwrap();
    let error = world.prefab(tower).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongClass, "{error}");
    world.registry_mut().register_as::<Attack, dyn Order>().unwrap();
    let prefab = world.prefab(tower).unwrap();
    let copy = world.instantiate(&prefab, ExternalIds::Clear).unwrap();
    let Orders(boxed, shared) = world.get::<Orders>(copy).unwrap();
    let gun = world.children(copy)[0];
    assert_eq!([boxed[0].whom(), shared.as_ref().unwrap().lock().unwrap().whom()], [gun; 2]);
}

#[test]
fn ids_that_a_world_has_never_given_are_cleared_when_others_stay() {
    let (mut far, [tower, gun, ada]) = tower();
    for _ in 0..100 {
        far.spawn("Dust");
    }
    let late = far.spawn("Late");
    far.attach(gun, Target { whom: late, next: Some(ada) }).unwrap();
    let prefab = far.prefab(tower).unwrap();
    let mut world = World::new();
    world.spawn("Bob");
    let copy = world.instantiate(&prefab, ExternalIds::Keep).unwrap();
    let gun = world.children(copy)[0];
    // As documented: the id is Bob's here, and the late one nobody's, for ever.
    let expected = Target { whom: dead(late), next: Some(ada) };
    assert_eq!(world.get::<Target>(gun), Some(&expected));
}

#[derive(Persist)]
struct Places(HashMap<Option<ObjectId>, u8>);

impl Component for Places {}

#[test]
fn keys_that_all_would_be_none_are_refused() {
    let (mut world, [tower, gun, ada]) = tower();
    let bob = world.spawn("Bob");
    let keys = [(Some(ada), 1), (Some(bob), 2), (Some(gun), 3)];
    world.attach(tower, Places(keys.into())).unwrap();
    let prefab = world.prefab(tower).unwrap();
    let before = bytes(&world);
    let error = world.instantiate(&prefab, ExternalIds::Clear).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidValue, "{error}");
    assert_eq!(bytes(&world), before);
    let copy = world.instantiate(&prefab, ExternalIds::Keep).unwrap();
    let gun = world.children(copy)[0];
    let found = &world.get::<Places>(copy).unwrap().0;
    assert_eq!(*found, [(Some(ada), 1), (Some(bob), 2), (Some(gun), 3)].into());
}

#[derive(Persist)]
struct Room {
    inside: World,
}

impl Component for Room {}

#[test]
fn a_component_with_a_world_of_its_own_is_not_copied() -> persist::Result<()> {
    let mut world = World::new();
    let house = world.spawn("house");
    let mut inside = World::new();
    inside.spawn("chair");
    world.attach(house, Room { inside })?;
    let shed = world.spawn("shed");
    assert_eq!(world.prefab(house).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(world.references_to(shed).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(world.prefab(shed)?.object_count(), 1);
    assert_eq!(world.get::<Room>(house).map(|room| room.inside.objects().len()), Some(1));
    Ok(())
}
