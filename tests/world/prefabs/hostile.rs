//! Malicious prefabs: an error, or a copy.

use persist::world::{ExternalIds, Prefab};
use persist::{Component, ErrorKind, ObjectId, Persist, Saves, Value, World};
use persist_tests::support::{forge, parent};
use proptest::prelude::*;
use proptest::sample::Index;

use super::{Target, bytes};

#[derive(Persist)]
struct Bag(Vec<(ObjectId, String)>);

impl Component for Bag {}

fn saves() -> Saves {
    let saves = Saves::new();
    saves.register_component::<Target>().unwrap();
    saves.register_component::<Bag>().unwrap();
    saves
}

fn original() -> Vec<u8> {
    let mut world = World::new();
    let ada = world.spawn("Ada");
    let cart = world.spawn("Cart");
    let wheel = world.spawn_in(cart, "Wheel").unwrap();
    world.attach(cart, Target { whom: wheel, next: Some(ada) }).unwrap();
    world.attach(wheel, Bag(vec![(cart, "nail".into()), (ada, "grease".into())])).unwrap();
    world.prefab(cart).unwrap().as_bytes().to_vec()
}

/// Loads and places it; true if that goes.
fn place(save: &[u8]) -> persist::Result<()> {
    let prefab = saves().from_slice::<Prefab>(save)?;
    let mut world = World::new();
    let ada = world.spawn("Ada");
    world.attach(ada, Target { whom: ada, next: None })?;
    let before = bytes(&world);
    for outside in [ExternalIds::Keep, ExternalIds::Clear] {
        let copy = world.instantiate(&prefab, outside);
        match copy.and_then(|copy| world.set_parent(copy, Some(ada)).map(|()| copy)) {
            Ok(copy) => assert_eq!(world.subtree(copy).len(), prefab.object_count()),
            Err(error) => {
                assert_eq!(bytes(&world), before, "{error}");
                return Err(error);
            }
        }
        world.remove(world.children(ada)[0]);
        assert_eq!(world.objects().len(), 1);
        world.update(1.0);
    }
    Ok(())
}

/// The save with its objects changed as values.
fn changed(change: impl FnOnce(&mut Vec<Value>)) -> Vec<u8> {
    let mut document = persist_tools::Document::from_slice(&original()).unwrap();
    let world = document.root_mut().and_then(Value::as_record_mut).unwrap();
    let Some(Value::Seq(objects)) = world.get_mut("objects") else { panic!("objects") };
    change(objects);
    document.to_vec().unwrap()
}

fn set(object: &mut Value, field: &str, value: Value) {
    object.as_record_mut().unwrap().set(field, value);
}

#[test]
fn objects_that_are_no_tree_are_refused() {
    place(&changed(|_| ())).unwrap();
    // Without the one below, it is a whole prefab.
    place(&changed(|objects| drop(objects.pop()))).unwrap();
    let cases: [(&str, Vec<u8>); 8] = [
        ("swapped", changed(|objects| objects.swap(0, 1))),
        ("twice", changed(|objects| objects.push(objects[1].clone()))),
        ("no parent", changed(|objects| drop(objects.remove(0)))),
        ("its own child", changed(|objects| set(&mut objects[1], "parent", parent(3, 0)))),
        ("in a circle", changed(|objects| set(&mut objects[0], "parent", parent(3, 0)))),
        ("a parent outside", changed(|objects| set(&mut objects[1], "parent", parent(1, 0)))),
        ("an id never given", changed(|objects| set(&mut objects[1], "id", Value::from(9_u64)))),
        (
            "no names",
            changed(|objects| {
                objects.iter_mut().for_each(|object| set(object, "name", Value::from("x")));
            }),
        ),
    ];
    for (what, save) in cases {
        let error = place(&save).expect_err(what);
        assert_eq!(error.kind(), ErrorKind::InvalidValue, "{what}: {error}");
    }
}

#[test]
fn ids_that_are_none_are_refused() {
    for bits in [0_u64, u64::MAX, 1 << 63] {
        let save = changed(|objects| set(&mut objects[0], "id", Value::from(bits)));
        assert_eq!(place(&save).unwrap_err().kind(), ErrorKind::InvalidValue);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300, max_shrink_iters: 200, failure_persistence: None, ..Default::default()
    })]

    #[test]
    fn changed_bytes_are_survived(
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 1..4),
        cut in prop::option::weighted(0.1, any::<Index>()),
    ) {
        let mut save = original();
        for (at, byte) in changes {
            let at = at.index(save.len());
            save[at] = byte;
        }
        save.truncate(cut.map_or(save.len(), |cut| cut.index(save.len())));
        if save.len() > 100 {
            forge::restamp(&mut save);
        }
        let _ = place(&save);
    }
}
