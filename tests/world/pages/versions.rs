//! Pages that another version of the program has written.

use persist::{Component, Persist, Result, Saves, World};

use super::{Place, grow, pages, saves, world_of};

mod newer {
    use super::{Component, Persist};
    use persist::ObjectId;

    /// Wider, with another order and a new field.
    #[derive(Persist, Debug, PartialEq)]
    pub(crate) struct Place {
        pub(crate) y: f64,
        pub(crate) x: f64,
        #[persist(default = 9)]
        pub(crate) z: u32,
    }

    #[derive(Persist, Debug, PartialEq)]
    pub(crate) struct Note {
        pub(crate) text: String,
        pub(crate) whom: Option<ObjectId>,
    }

    impl Component for Place {}
    impl Component for Note {}
}

fn newer() -> Saves {
    let saves = Saves::new();
    saves.register_component::<newer::Place>().expect("a component class");
    saves.register_component::<newer::Note>().expect("a component class");
    saves.register_resource::<newer::Note>().expect("a resource class");
    saves
}

#[test]
fn components_in_pages_are_converted() -> Result<()> {
    let world = world_of(9_000)?;
    let save = saves().to_vec(&world)?;
    assert!(pages(&save).len() > 3);
    let loaded = newer().from_slice::<World>(&save)?;
    assert_eq!(loaded.objects().len(), 9_000);
    for id in world.objects() {
        let old = world.get::<Place>(id).map(|it| (f64::from(it.x), f64::from(it.y), 9));
        let new = loaded.get::<newer::Place>(id).map(|it| (it.x, it.y, it.z));
        assert_eq!(old, new);
        let note = world.get::<super::Note>(id).map(|it| (&*it.text, it.whom));
        assert_eq!(note, loaded.get::<newer::Note>(id).map(|it| (&*it.text, it.whom)));
        assert_eq!(world.parent(id), loaded.parent(id));
    }
    let again = newer().to_vec(&*loaded)?;
    assert!(newer().to_vec(&*newer().from_slice::<World>(&again)?)? == again);
    Ok(())
}

#[test]
fn components_that_the_program_lacks_stay_in_their_pages() -> Result<()> {
    let save = saves().to_vec(&world_of(9_000)?)?;
    let poor = Saves::new();
    poor.register_component::<Place>()?;
    let kept = poor.from_slice::<World>(&save)?;
    let between = poor.to_vec(&kept)?;
    let back = saves().from_slice::<World>(&between)?;
    assert!(saves().to_vec(&*back)? == save);
    Ok(())
}

/// A save from before pages has the objects of a world in its record.
#[test]
fn a_large_world_in_one_record_is_loaded() -> Result<()> {
    #[derive(Persist)]
    #[persist(class = "persist.World")]
    struct OldWorld {
        last_id: u64,
        objects: Vec<OldObject>,
        resources: Vec<Box<dyn AnyValue>>,
    }

    #[derive(Persist)]
    #[persist(class = "persist.Object")]
    struct OldObject {
        #[persist(compact)]
        id: u64,
        name: String,
        parent: Option<OldParent>,
        activity: persist::world::Activity,
        #[persist(compact)]
        waiting: u32,
        components: Vec<Box<dyn AnyPart>>,
    }

    #[derive(Persist)]
    #[persist(class = "persist.Parent")]
    struct OldParent {
        #[persist(compact)]
        object: u64,
        #[persist(compact)]
        index: u32,
    }

    #[persist::dynamic(name = "persist.Component")]
    trait AnyPart {}
    impl AnyPart for Place {}

    #[persist::dynamic(name = "persist.Resource")]
    trait AnyValue {}
    impl AnyValue for Place {}

    let objects = (1..=5_000_u32).map(|id| OldObject {
        id: id.into(),
        name: format!("Orc{id}"),
        parent: (id > 1).then(|| OldParent { object: 1, index: 5_000 - id }),
        activity: persist::world::Activity::Active,
        waiting: 1,
        components: vec![Box::new(super::place(id as usize))],
    });
    let old = OldWorld { last_id: 5_000, objects: objects.collect(), resources: Vec::new() };
    let writer = Saves::new();
    writer.register_as::<Place, dyn AnyPart>()?;
    writer.register_as::<Place, dyn AnyValue>()?;
    let save = writer.to_vec(&old)?;
    assert!(pages(&save).is_empty() && save.len() > 64 << 10);
    let loaded = saves().from_slice::<World>(&save)?;
    assert_eq!(loaded.objects().len(), 5_000);
    let last = loaded.objects().last().expect("objects");
    assert_eq!(
        (loaded.name(last), loaded.get::<Place>(last)),
        (Some("Orc5000"), Some(&super::place(5_000)))
    );
    let first = loaded.roots().next().expect("a root");
    assert_eq!((loaded.children(first).len(), loaded.children(first)[0]), (4_999, last));
    assert!(!pages(&saves().to_vec(&*loaded)?).is_empty());
    Ok(())
}

/// A prefab of a large world comes from its pages.
#[test]
fn a_prefab_is_read_from_pages() -> Result<()> {
    let saves = saves();
    let mut level = World::new();
    let root = level.spawn("root");
    let ids = grow(&mut level, 4_000)?;
    for id in ids.iter().filter(|id| level.parent(**id).is_none()).copied().collect::<Vec<_>>() {
        level.set_parent(id, Some(root))?;
    }
    let save = saves.to_vec(&level)?;
    assert!(!pages(&save).is_empty());
    let prefab = saves.from_slice::<persist::world::Prefab>(&save)?;
    let mut world = World::new();
    world.spawn("another");
    let copy = world.instantiate(&prefab, persist::world::ExternalIds::Clear)?;
    assert_eq!(world.subtree(copy).len(), 4_001);
    Ok(())
}

mod owned {
    use persist::{Persist, World};

    #[derive(Persist)]
    pub(crate) struct Level {
        pub(crate) name: String,
        pub(crate) world: World,
    }
}

mod shared {
    use std::cell::RefCell;
    use std::rc::Rc;

    use persist::{Persist, World};

    #[derive(Persist)]
    pub(crate) struct Level {
        pub(crate) name: String,
        pub(crate) world: Rc<RefCell<World>>,
    }
}

/// The pages go with the world when it becomes an object of its own, and back.
#[test]
fn a_world_in_pages_may_move_behind_a_pointer_and_back() -> Result<()> {
    let owned = owned::Level { name: "one".into(), world: world_of(5_000)? };
    let save = saves().to_vec(&owned)?;
    assert!(!pages(&save).is_empty());
    let shared = saves().from_slice::<shared::Level>(&save)?;
    assert_eq!(super::state(&shared.world.borrow()), super::state(&owned.world));
    let again = saves().to_vec(&*shared)?;
    assert!(!pages(&again).is_empty());
    let back = saves().from_slice::<owned::Level>(&again)?;
    assert_eq!(super::state(&back.world), super::state(&owned.world));
    assert_eq!(back.name, shared.name);
    Ok(())
}

/// An index of more entries than one byte can count is converted, too.
#[test]
fn a_world_of_many_pages_is_converted() -> Result<()> {
    let mut world = World::new();
    for _ in 0..300 {
        let object = world.spawn("");
        world.attach(object, super::Note { text: "n".repeat(66_000), whom: None })?;
        world.attach(object, super::place(1))?;
    }
    let save = saves().to_vec(&world)?;
    assert_eq!(pages(&save).len(), 300);
    let loaded = newer().from_slice::<World>(&save)?;
    assert_eq!(loaded.objects().len(), 300);
    Ok(())
}
