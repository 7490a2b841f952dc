//! Who holds the id of an object.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use persist::world::{ExternalIds, Prefab};
use persist::{Component, ObjectId, Persist, Saves, World};

#[derive(Persist)]
enum Order {
    Wait,
    Guard { whom: ObjectId },
}

#[derive(Persist)]
struct Captain {
    orders: Vec<Order>,
    by_id: HashMap<ObjectId, (u8, Option<ObjectId>)>,
    note: u64,
}

#[derive(Persist)]
struct Node {
    whom: Vec<ObjectId>,
    next: Option<Arc<Mutex<Node>>>,
    back: Weak<Mutex<Node>>,
}

#[derive(Persist)]
struct Chain(Arc<Mutex<Node>>);

#[derive(Persist)]
struct Quest {
    hero: Option<ObjectId>,
}

impl Component for Captain {}
impl Component for Chain {}

fn found(world: &World, id: ObjectId) -> Vec<(Option<ObjectId>, String, String)> {
    let found = world.references_to(id).expect("it encodes");
    found.into_iter().map(|place| (place.object, place.class, place.path)).collect()
}

fn place(object: ObjectId, class: &str, path: &str) -> (Option<ObjectId>, String, String) {
    (Some(object), class.into(), path.into())
}

#[test]
fn every_place_is_told_by_object_class_and_path() -> persist::Result<()> {
    let mut world = World::new();
    let [ada, bob] = ["Ada", "Bob"].map(|name| world.spawn(name));
    world.set_parent(bob, Some(ada))?;
    assert_eq!(found(&world, bob), [], "the tree holds no references");
    let captain = Captain {
        orders: vec![Order::Wait, Order::Guard { whom: bob }],
        by_id: [(bob, (1, Some(bob)))].into(),
        note: ada.get(),
    };
    world.attach(bob, captain)?;
    world.insert_resource(Quest { hero: Some(bob) })?;
    let resource = (None, String::from("Quest"), String::from("hero"));
    let paths = ["orders[1].whom", "by_id[0].key", "by_id[0].1"];
    let mut expected: Vec<_> = paths.map(|path| place(bob, "Captain", path)).to_vec();
    expected.push(resource);
    assert_eq!(found(&world, bob), expected);
    assert_eq!(found(&world, ada), [], "a plain number is none");
    Ok(())
}

#[test]
fn places_behind_pointers_are_told_as_part_of_what_leads_there() -> persist::Result<()> {
    let mut world = World::new();
    let [ada, bob] = ["Ada", "Bob"].map(|name| world.spawn(name));
    let node = |whom, next| Arc::new(Mutex::new(Node { whom, next, back: Weak::new() }));
    let last = node(vec![ada, bob], None);
    let first = node(vec![], Some(node(vec![], Some(last.clone()))));
    last.lock().unwrap().back = Arc::downgrade(&first);
    // A circle.
    last.lock().unwrap().next = Some(first.clone());
    world.attach(bob, Chain(first.clone()))?;
    world.attach(ada, Chain(node(vec![bob], None)))?;
    let expected = [place(ada, "Chain", "0.whom[0]"), place(bob, "Chain", "0.next.next.whom[1]")];
    let mut places = found(&world, bob);
    places.sort();
    assert_eq!(places, expected);
    last.lock().unwrap().next = None;
    Ok(())
}

#[test]
fn places_in_classes_that_the_program_does_not_have_are_told() -> persist::Result<()> {
    let mut world = World::new();
    let [ada, bob] = ["Ada", "Bob"].map(|name| world.spawn(name));
    let orders = vec![Order::Guard { whom: ada }];
    world.attach(bob, Captain { orders, by_id: HashMap::new(), note: 0 })?;
    world.set_parent(ada, Some(bob))?;
    let save = world.prefab(bob)?.as_bytes().to_vec();
    let prefab = Saves::new().from_slice::<Prefab>(&save)?;
    let mut world = World::new();
    let copy = world.instantiate(&prefab, ExternalIds::Clear)?;
    let inner = world.children(copy)[0];
    assert_eq!(found(&world, inner), [place(copy, "Captain", "orders[0].whom")]);
    Ok(())
}
