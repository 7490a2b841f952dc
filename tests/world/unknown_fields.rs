//! Unknown fields of components and resources.

use persist::world::ExternalIds;
use persist::{Component, History, ObjectId, Persist, Saves, World};

/// The game with a mod.
mod full {
    use super::*;

    #[derive(Persist, Debug, Clone, PartialEq)]
    #[persist(class = "Armor")]
    pub(super) struct Armor {
        pub(super) weight: u32,
        #[persist(default)]
        pub(super) shine: String,
    }

    #[derive(Persist, Debug, Clone, PartialEq)]
    #[persist(class = "Body")]
    pub(super) struct Body {
        pub(super) mass: u32,
        #[persist(default)]
        pub(super) aura: u64,
        #[persist(default)]
        pub(super) target: Option<ObjectId>,
        pub(super) armor: Option<Armor>,
    }

    #[derive(Persist, Debug, Clone, PartialEq)]
    #[persist(class = "Tag")]
    pub(super) struct Tag(pub(super) u8);

    #[derive(Persist, Debug, Clone, PartialEq)]
    #[persist(class = "Rules")]
    pub(super) struct Rules {
        pub(super) hard: bool,
        #[persist(default)]
        pub(super) magic: Vec<u8>,
    }

    impl Component for Body {}
    impl Component for Tag {}

    pub(super) fn saves() -> Saves {
        let saves = Saves::new();
        saves.register_component::<Body>().expect("a component class");
        saves.register_component::<Tag>().expect("a component class");
        saves.register_resource::<Rules>().expect("a resource class");
        saves
    }
}

/// The game without it.
mod plain {
    use super::*;

    #[derive(Persist, Debug, Clone, PartialEq)]
    #[persist(class = "Armor")]
    pub(super) struct Armor {
        pub(super) weight: u32,
    }

    #[derive(Persist, Debug, Clone, PartialEq)]
    #[persist(class = "Body")]
    pub(super) struct Body {
        pub(super) mass: u32,
        pub(super) armor: Option<Armor>,
    }

    #[derive(Persist, Debug, Clone, PartialEq)]
    #[persist(class = "Tag")]
    pub(super) struct Tag(pub(super) u8);

    #[derive(Persist, Debug, Clone, PartialEq)]
    #[persist(class = "Rules")]
    pub(super) struct Rules {
        pub(super) hard: bool,
    }

    impl Component for Body {}
    impl Component for Tag {}

    pub(super) fn saves() -> Saves {
        let saves = Saves::new();
        saves.register_component::<Body>().expect("a component class");
        saves.register_component::<Tag>().expect("a component class");
        saves.register_resource::<Rules>().expect("a resource class");
        saves
    }
}

fn body(number: u32, target: Option<ObjectId>) -> full::Body {
    full::Body {
        mass: number,
        aura: u64::from(number) * 1_000,
        target,
        armor: (!number.is_multiple_of(3))
            .then(|| full::Armor { weight: number, shine: format!("shine {number}") }),
    }
}

/// A world of this many objects: one in two has a tag before or after its body.
fn world(count: u32) -> (World, Vec<ObjectId>) {
    let mut world = World::new();
    let mut ids: Vec<ObjectId> = Vec::new();
    for number in 0..count {
        let id = world.spawn("o");
        if number.is_multiple_of(2) {
            world.attach(id, full::Tag(1)).expect("an object");
        }
        world.attach(id, body(number, ids.last().copied())).expect("an object");
        if number % 4 == 1 {
            world.attach(id, full::Tag(2)).expect("an object");
        }
        ids.push(id);
    }
    world.insert_resource(full::Rules { hard: true, magic: vec![1, 2, 3] }).expect("a resource");
    (world, ids)
}

/// Loads a save in the game without the mod, passes it to `change`, and saves it.
fn in_plain(save: &[u8], change: impl FnOnce(&mut World)) -> Vec<u8> {
    let saves = plain::saves();
    let mut world: World = saves.from_slice::<World>(save).expect("a world").into_inner();
    change(&mut world);
    saves.to_vec(&world).expect("a save")
}

#[test]
fn unknown_fields_of_components_come_back() {
    // A small world, and one with pages.
    for count in [7, 10_000] {
        let (old, ids) = world(count);
        let save = full::saves().to_vec(&old).unwrap();
        let save = in_plain(&save, |world| {
            for (number, id) in (0..).zip(&ids) {
                world.get_mut::<plain::Body>(*id).unwrap().mass += 1;
                assert_eq!(world.classes(*id), old.classes(*id), "object {number}");
            }
        });
        // Once more, and the bytes stay.
        assert!(in_plain(&save, |_| {}) == save);
        let new: World = full::saves().from_slice::<World>(&save).unwrap().into_inner();
        assert_eq!(new.objects().count(), old.objects().count());
        for (number, id) in (0..).zip(&ids) {
            let mut expected = body(number, number.checked_sub(1).map(|at| ids[at as usize]));
            expected.mass += 1;
            assert_eq!(new.get::<full::Body>(*id), Some(&expected));
            assert_eq!(new.get::<full::Tag>(*id), old.get::<full::Tag>(*id));
            assert_eq!(new.classes(*id), old.classes(*id));
        }
        let rules = full::Rules { hard: true, magic: vec![1, 2, 3] };
        assert_eq!(new.resource::<full::Rules>(), Some(&rules));
    }
}

#[test]
fn they_go_with_the_component_or_the_object() {
    let (old, ids) = world(6);
    let save = full::saves().to_vec(&old).unwrap();
    let save = in_plain(&save, |world| {
        assert!(world.detach::<plain::Body>(ids[1]));
        world.get_mut::<plain::Body>(ids[2]).unwrap().armor = None;
        world.remove(ids[4]);
        world.remove_resource::<plain::Rules>();
    });
    let again = in_plain(&save, |_| {});
    for save in [save, again] {
        let mut new: World = full::saves().from_slice::<World>(&save).unwrap().into_inner();
        new.update(0.1);
        assert_eq!(new.get::<full::Body>(ids[1]), None);
        let mut expected = body(2, Some(ids[1]));
        expected.armor = None;
        assert_eq!(new.get::<full::Body>(ids[2]), Some(&expected));
        assert!(!new.contains(ids[4]));
        assert_eq!(new.resource::<full::Rules>(), None);
        assert_eq!(new.classes(None), Vec::<String>::new());
    }
}

#[test]
fn a_prefab_has_them_and_their_ids_follow() {
    let mut old = World::new();
    let tower = old.spawn("Tower");
    let gun = old.spawn_in(tower, "Gun").unwrap();
    old.attach(gun, body(4, Some(tower))).unwrap();
    let save = full::saves().to_vec(&old).unwrap();
    let mut copy = None;
    let save = in_plain(&save, |world| {
        let prefab = world.prefab(tower).unwrap();
        copy = Some(world.instantiate(&prefab, ExternalIds::Clear).unwrap());
    });
    let new: World = full::saves().from_slice::<World>(&save).unwrap().into_inner();
    let copy = copy.unwrap();
    let gun = new.children(copy)[0];
    assert_eq!(new.get::<full::Body>(gun), Some(&body(4, Some(copy))));
}

#[test]
fn undo_and_redo_bring_them_back() {
    let (old, ids) = world(3);
    let saves = plain::saves();
    let save = full::saves().to_vec(&old).unwrap();
    let world: World = saves.from_slice::<World>(&save).unwrap().into_inner();
    let mut history = History::new(None);
    let mut world = world;
    history.edit(&mut world, "Remove", |edit| edit.remove(ids[1])).unwrap();
    history
        .edit(&mut world, "Detach", |edit| edit.detach::<plain::Body>(ids[2]).map(drop))
        .unwrap();
    while history.undo(&mut world).unwrap() {}
    let new: World =
        full::saves().from_slice::<World>(&saves.to_vec(&world).unwrap()).unwrap().into_inner();
    assert_eq!(new.get::<full::Body>(ids[1]), Some(&body(1, Some(ids[0]))));
    assert_eq!(new.get::<full::Body>(ids[2]), Some(&body(2, Some(ids[1]))));
}
