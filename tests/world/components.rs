//! Components: attached, found and detached, by type and by the name of their class.

use persist::save::Registry;
use persist::{Component, ErrorKind, Persist, Result, Saves, Value, World};

use super::actor::{Actor, Prop, actor, enter, logged, prop};

/// Is made with arguments only.
#[derive(Persist, Debug, PartialEq, Clone)]
struct Transform {
    x: f32,
    y: f32,
    scale: f32,
}

impl Transform {
    fn at(x: f32, y: f32) -> Self {
        Self { x, y, scale: 1.0 }
    }
}

impl Component for Transform {}

#[derive(Persist, Debug, PartialEq)]
struct Tag;

impl Component for Tag {}

fn kind<T>(result: Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

#[test]
fn a_component_is_there_from_its_attachment_to_its_detachment() -> Result<()> {
    let mut world = World::new();
    let ada = world.spawn("Ada");
    assert!(world.get::<Transform>(ada).is_none());
    world.attach(ada, Transform::at(1.0, 2.0))?;
    assert!(world.get::<Transform>(ada).is_some());
    assert_eq!(world.get(ada), Some(&Transform::at(1.0, 2.0)));
    world.get_mut::<Transform>(ada).expect("there").x = 3.0;
    assert_eq!(world.get(ada), Some(&Transform::at(3.0, 2.0)));
    assert!(world.detach::<Transform>(ada));
    assert_eq!(world.get::<Transform>(ada), None);
    Ok(())
}

#[test]
fn an_object_has_one_component_of_a_type() -> Result<()> {
    let mut world = World::new();
    let ada = enter(&mut world, "Ada");
    world.attach(ada, prop("hat"))?;
    world.attach(ada, actor("Eve"))?;
    assert_eq!(logged(), ["release Ada", "drop Ada"]);
    assert_eq!(world.get::<Actor>(ada).map(|actor| &*actor.name), Some("Eve"));
    assert_eq!(world.classes(ada), ["Prop", "Actor"], "the new one is behind the others");
    assert_eq!(world.query::<&Actor>().count(), 1);
    Ok(())
}

#[test]
fn components_of_one_object_do_not_touch_those_of_others() -> Result<()> {
    let mut world = World::new();
    let ids: Vec<_> = (0..300).map(|_| world.spawn("Orc")).collect();
    for (at, id) in (0_u16..).zip(&ids).filter(|(at, _)| at % 3 != 1) {
        world.attach(*id, Transform::at(f32::from(at), 0.0))?;
    }
    for id in ids.iter().step_by(3) {
        world.detach::<Transform>(*id);
    }
    for (at, id) in (0_u16..).zip(&ids) {
        let expected = (at % 3 == 2).then(|| Transform::at(f32::from(at), 0.0));
        assert_eq!(world.get(*id), expected.as_ref());
    }
    Ok(())
}

#[test]
fn a_component_is_attached_by_the_name_of_its_class() -> Result<()> {
    let mut world = World::new();
    let ada = world.spawn("Ada");
    assert_eq!(kind(world.attach_class(ada, "Transform")), Some(ErrorKind::NotFound));
    world.register_component::<Transform>()?;
    world.attach_class(ada, "Transform")?;
    assert_eq!(world.get(ada), Some(&Transform { x: 0.0, y: 0.0, scale: 0.0 }));
    assert!(world.detach_class(ada, "Transform")?);
    assert!(world.get::<Transform>(ada).is_none());
    let error = world.attach_class(ada, "Transfrom").expect_err("misspelt");
    assert!(error.message().contains("`Transfrom`"), "{error}");
    assert_eq!(kind(world.detach_class(ada, "Transfrom")), Some(ErrorKind::NotFound));
    let gone = world.spawn("gone");
    world.remove(gone);
    assert_eq!(kind(world.attach_class(gone, "Transform")), Some(ErrorKind::NotFound));
    Ok(())
}

#[test]
fn a_class_that_is_no_component_cannot_be_attached() -> Result<()> {
    #[derive(Persist)]
    struct Score(u32);
    let mut world = World::new();
    world.insert_resource(Score(1))?;
    let ada = world.spawn("Ada");
    assert_eq!(kind(world.attach_class(ada, "Score")), Some(ErrorKind::NotFound));
    Ok(())
}

#[test]
fn an_editor_lists_the_classes_that_it_can_attach_and_the_resources() -> Result<()> {
    #[derive(Persist)]
    struct Score(u32);
    #[derive(Persist)]
    #[persist(component)]
    struct Armour;
    let mut world = World::new();
    world.register_component::<Transform>()?;
    world.register_component::<Armour>()?;
    world.insert_resource(Score(1))?;
    assert_eq!(world.component_classes(), ["Armour", "Transform"]);
    assert_eq!(world.classes(None), ["Score"]);
    let ada = world.spawn("Ada");
    for class in ["Armour", "Transform"] {
        world.attach_class(ada, class)?;
    }
    assert_eq!(world.classes(ada), ["Armour", "Transform"]);
    Ok(())
}

#[test]
fn an_editor_gets_an_empty_value_of_a_class() -> Result<()> {
    #[derive(Persist)]
    struct Bag {
        #[persist(default = 3)]
        size: u8,
        #[persist(empty = vec![Slot::Full { item: "key".into() }])]
        slots: Vec<Slot>,
        first: Slot,
    }
    #[derive(Persist)]
    enum Slot {
        Full { item: String },
        Free,
    }
    #[derive(Persist)]
    struct Linked {
        next: std::rc::Rc<u8>,
    }
    let kind_of = |empty: Result<Value>| empty.expect_err("it has none").to_string();
    let mut registry = Registry::new();
    registry.register::<Bag>()?;
    registry.register::<Linked>()?;
    let bag = registry.empty("Bag")?;
    let errors = ["Bga", "Linked"].map(|class| kind_of(registry.empty(class)));
    insta::assert_snapshot!(format!("{bag}\n\n{}", errors.join("\n")));
    Ok(())
}

#[test]
fn the_program_says_what_an_empty_component_is() -> Result<()> {
    let mut world = World::new();
    let ada = world.spawn("Ada");
    world.registry_mut().register_with(|| Transform::at(7.0, 7.0))?;
    world.register_component::<Transform>()?;
    world.attach_class(ada, "Transform")?;
    assert_eq!(world.get(ada), Some(&Transform::at(7.0, 7.0)));
    world.registry_mut().register_with(|| Transform::at(8.0, 8.0))?;
    world.attach_class(ada, "Transform")?;
    assert_eq!(world.get(ada), Some(&Transform::at(8.0, 8.0)), "the last one says it");
    Ok(())
}

#[test]
fn a_loaded_world_knows_the_classes_and_factories_of_its_saves() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.sav");
    let mut world = World::new();
    let ada = world.spawn("Ada");
    world.attach(ada, Tag)?;
    Saves::new().file(&path).save(&world)?;

    let saves = Saves::new();
    saves.register_component::<Tag>()?;
    saves.register_component::<Transform>()?;
    saves.register_with(|| Transform::at(9.0, 9.0))?;
    let mut world = saves.file(&path).load::<World>()?.into_inner();
    assert!(world.get::<Tag>(ada).is_some());
    world.attach_class(ada, "Transform")?;
    assert_eq!(world.get(ada), Some(&Transform::at(9.0, 9.0)));
    assert!(world.registry().class("Transform").is_some());
    Ok(())
}

#[test]
fn the_classes_of_an_object_come_in_the_order_of_their_attachment_also_in_a_save() -> Result<()> {
    let mut world = World::new();
    let [ada, bob] = ["Ada", "Bob"].map(|name| world.spawn(name));
    world.attach(ada, Tag)?;
    world.attach(ada, Transform::at(0.0, 0.0))?;
    world.attach(ada, prop("hat"))?;
    world.attach(bob, Transform::at(0.0, 0.0))?;
    world.attach(bob, Tag)?;
    world.detach::<Transform>(ada);
    world.attach(ada, Transform::at(0.0, 0.0))?;
    let saves = super::actor::saves();
    saves.register_component::<Tag>()?;
    saves.register_component::<Transform>()?;
    let save = saves.to_vec(&world)?;
    let again = saves.from_slice::<World>(&save)?.into_inner();
    for world in [&world, &again] {
        assert_eq!(world.classes(ada), ["Tag", "Prop", "Transform"]);
        assert_eq!(world.classes(bob), ["Transform", "Tag"]);
    }
    Ok(())
}

#[test]
fn two_classes_of_one_name_are_refused_and_the_component_is_freed() -> Result<()> {
    mod other {
        #[derive(persist::Persist)]
        pub(super) struct Actor;
        impl persist::Component for Actor {}
    }
    let mut world = World::new();
    let ada = world.spawn("Ada");
    world.attach(ada, other::Actor)?;
    assert_eq!(kind(world.attach(ada, actor("Ada"))), Some(ErrorKind::DuplicateId));
    assert_eq!(logged(), ["drop Ada"]);
    assert_eq!(world.classes(ada), ["Actor"]);
    assert!(world.get::<Actor>(ada).is_none() && world.get::<other::Actor>(ada).is_some());
    assert!(world.get::<Prop>(ada).is_none());
    Ok(())
}
