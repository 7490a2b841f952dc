//! `Id<Hero>` and `Id<Orc>`, which differ in a marker alone, were two classes of one id. When they shared a class, two
//! components that differ so were saved and never loaded, and one loaded as the other.

use std::any::type_name;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use persist::history::{Command, CommandEdit, History, Session};
use persist::save::Registry;
use persist::{Component, ErrorKind, Persist, Result, SaveManager, Saves, World};

#[derive(Persist, Debug, PartialEq)]
struct Id<T> {
    number: u32,
    of: PhantomData<fn() -> T>,
}

#[derive(Persist, Debug, PartialEq)]
struct Hero;

#[derive(Persist, Debug, PartialEq)]
struct Orc;

#[derive(Persist, Debug, PartialEq)]
struct Duel {
    hero: Id<Hero>,
    orc: Id<Orc>,
}

impl<T: 'static> Component for Id<T> {}

fn id<T>(number: u32) -> Id<T> {
    Id { number, of: PhantomData }
}

#[test]
fn types_that_differ_in_a_marker_share_a_class() {
    let duel = Duel { hero: id(1), orc: id(2) };
    let save = persist::to_vec(&duel).unwrap();
    assert_eq!(persist::from_slice::<Duel>(&save).unwrap(), duel);

    let mut registry = Registry::new();
    registry.register::<Duel>().unwrap();
    assert_eq!(registry.classes().count(), 2);
    // As a value of its own, one of the two is told from the other by nobody.
    registry.register::<Id<Orc>>().unwrap();
    assert_eq!(registry.class("Id").map(|class| class.fields().len()), Some(2));
}

#[persist::dynamic]
trait Item {}

impl<T: 'static> Item for Id<T> {}

type Register = fn(&mut Registry) -> Result<()>;

/// Registers one after the other, in both orders, in a registry that knows both as fields, and in one that does not.
fn are_refused(hero: Register, orc: Register) {
    for knows_both in [false, true] {
        for (first, second) in [(hero, orc), (orc, hero)] {
            let mut registry = Registry::new();
            if knows_both {
                registry.register::<Duel>().expect("fields of one class");
            }
            first(&mut registry).expect("the first of a class");
            let before = format!("{registry:?}");
            let error = second(&mut registry).expect_err("the second of a class");
            assert_eq!(error.kind(), ErrorKind::DuplicateId, "{error}");
            for part in [type_name::<Id<Hero>>(), type_name::<Id<Orc>>(), "name_markers"] {
                assert!(error.to_string().contains(part), "{error}");
            }
            assert_eq!(format!("{registry:?}"), before);
            first(&mut registry).expect("the first of a class");
            assert!(second(&mut registry).is_err());
        }
    }
}

#[test]
fn two_of_one_class_are_refused_as_implementors_resources_and_objects() {
    are_refused(
        Registry::register_as::<Id<Hero>, dyn Item>,
        Registry::register_as::<Id<Orc>, dyn Item>,
    );
    are_refused(Registry::register_resource::<Id<Hero>>, Registry::register_resource::<Id<Orc>>);
    are_refused(Registry::register::<Id<Hero>>, Registry::register::<Id<Orc>>);
    are_refused(
        Registry::register_pointer::<Rc<RefCell<Id<Hero>>>>,
        Registry::register_pointer::<Arc<Mutex<Id<Orc>>>>,
    );
    are_refused(
        Registry::register_pointer::<Rc<Id<Hero>>>,
        Registry::register_pointer::<Rc<RefCell<Id<Orc>>>>,
    );
}

#[test]
fn two_components_of_one_class_are_refused_before_they_are_saved() {
    let mut world = World::new();
    let object = world.spawn("Ada");
    world.attach(object, id::<Hero>(1)).unwrap();
    assert_eq!(world.attach(object, id::<Orc>(2)).unwrap_err().kind(), ErrorKind::DuplicateId);
    let other = world.spawn("Bob");
    assert!(world.attach(other, id::<Orc>(2)).is_err());
    assert!(world.spawn_with("Cid", (id::<Orc>(2),)).is_err());
    world.insert_resource(id::<Hero>(3)).unwrap();
    assert!(world.insert_resource(id::<Orc>(4)).is_err());
    let save = persist::to_vec(&world).unwrap();

    let saves = Saves::new();
    saves.register_component::<Id<Hero>>().unwrap();
    assert!(saves.register_component::<Id<Orc>>().is_err());
    saves.register_resource::<Id<Hero>>().unwrap();
    assert!(saves.register_resource::<Id<Orc>>().is_err());
    let world = saves.from_slice::<World>(&save).unwrap();
    assert_eq!(world.get::<Id<Hero>>(object), Some(&id(1)));
    assert_eq!(world.resource::<Id<Hero>>(), Some(&id(3)));

    // Nor does another world bring the other one into the same saves.
    let mut world = World::new();
    world.spawn_with("Dan", (id::<Orc>(5),)).unwrap();
    assert_eq!(saves.to_vec(&world).unwrap_err().kind(), ErrorKind::DuplicateId);
}

#[derive(Persist)]
struct Bag {
    item: Box<dyn Item>,
    owner: Id<Orc>,
}

#[test]
fn a_trait_object_is_saved_if_its_own_type_is_registered_for_the_trait() {
    let saves = Saves::new();
    saves.register_as::<Id<Hero>, dyn Item>().unwrap();
    saves.to_vec(&Bag { item: Box::new(id::<Hero>(1)), owner: id(2) }).unwrap();
    let error = saves.to_vec(&Bag { item: Box::new(id::<Orc>(1)), owner: id(2) }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongClass, "{error}");
}

#[test]
fn two_whole_values_of_one_class_are_refused_by_the_same_saves() {
    let saves = Saves::new();
    saves.to_vec(&Duel { hero: id(1), orc: id(2) }).unwrap();
    let save = saves.to_vec(&id::<Hero>(1)).unwrap();
    assert_eq!(saves.from_slice::<Id<Orc>>(&save).err().unwrap().kind(), ErrorKind::DuplicateId);
    assert_eq!(*saves.from_slice::<Id<Hero>>(&save).unwrap(), id(1));
    assert!(saves.to_vec(&id::<Orc>(1)).is_err());
}

#[test]
fn two_objects_of_one_class_are_refused_by_a_manager() {
    let mut manager = SaveManager::new();
    manager.add(&Rc::new(RefCell::new(id::<Hero>(1)))).unwrap();
    let error = manager.add(&Arc::new(Mutex::new(id::<Orc>(2)))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateId, "{error}");
}

#[derive(Persist, Default, Debug, PartialEq)]
struct Score(u32);

impl<T: Send + 'static> Command<Score> for Id<T> {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Score>) -> Result<()> {
        edit.target().0 += self.number;
        Ok(())
    }

    fn undo(&mut self, score: &mut Score) -> Result<()> {
        score.0 -= self.number;
        Ok(())
    }
}

#[test]
fn two_commands_of_one_class_are_refused_by_a_session() {
    let options = Session::<Score>::with(Saves::new(), History::new(8));
    let options = options.register_command::<Id<Hero>>().unwrap();
    let error = options.register_command::<Id<Orc>>().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::DuplicateId, "{error}");
}

/// The same as an `Id`, once its marker is in its name.
mod named {
    use std::marker::PhantomData;

    use persist::{Component, Persist};

    use super::Item;

    #[derive(Persist, Debug, PartialEq)]
    #[persist(name_markers, alias = "Id")]
    pub(super) struct Id<T> {
        pub(super) number: u32,
        pub(super) of: PhantomData<fn() -> T>,
    }

    impl<T: Persist> Component for Id<T> {}
    impl<T: Persist> Item for Id<T> {}

    #[derive(Persist, Debug, PartialEq)]
    pub(super) struct Duel {
        pub(super) hero: Id<super::Hero>,
        pub(super) orc: Id<super::Orc>,
    }

    pub(super) fn id<T>(number: u32) -> Id<T> {
        Id { number, of: PhantomData }
    }
}

#[test]
fn types_whose_class_names_their_markers_are_classes_of_their_own() {
    let mut world = World::new();
    let object = world.spawn("Ada");
    world.attach(object, named::id::<Hero>(1)).unwrap();
    world.attach(object, named::id::<Orc>(2)).unwrap();
    world.insert_resource(named::id::<Hero>(3)).unwrap();
    world.insert_resource(named::id::<Orc>(4)).unwrap();
    let saves = Saves::new();
    saves.register_component::<named::Id<Orc>>().unwrap();
    saves.register_component::<named::Id<Hero>>().unwrap();
    saves.register_resource::<named::Id<Orc>>().unwrap();
    saves.register_resource::<named::Id<Hero>>().unwrap();
    saves.register_as::<named::Id<Hero>, dyn Item>().unwrap();
    saves.register_as::<named::Id<Orc>, dyn Item>().unwrap();
    let world = saves.from_slice::<World>(&persist::to_vec(&world).unwrap()).unwrap();
    assert_eq!(world.get::<named::Id<Hero>>(object), Some(&named::id(1)));
    assert_eq!(world.get::<named::Id<Orc>>(object), Some(&named::id(2)));
    assert_eq!(world.resource::<named::Id<Hero>>(), Some(&named::id(3)));
    assert_eq!(world.resource::<named::Id<Orc>>(), Some(&named::id(4)));
    let names: Vec<String> = world.registry().classes().map(|class| class.name()).collect();
    assert!(["Id<Hero>", "Id<Orc>"].iter().all(|name| names.contains(&String::from(*name))));
}

#[test]
fn saves_from_before_a_class_named_its_markers_load_where_one_type_is_meant() {
    // A field says which it is.
    let save = persist::to_vec(&Duel { hero: id(1), orc: id(2) }).unwrap();
    let duel = persist::from_slice::<named::Duel>(&save).unwrap();
    assert_eq!(duel, named::Duel { hero: named::id(1), orc: named::id(2) });

    // A component is the one that is registered.
    let mut world = World::new();
    let object = world.spawn_with("Ada", (id::<Orc>(7),)).unwrap();
    let save = persist::to_vec(&world).unwrap();
    let saves = Saves::new();
    saves.register_component::<named::Id<Orc>>().unwrap();
    let world = saves.from_slice::<World>(&save).unwrap();
    assert_eq!(world.get::<named::Id<Orc>>(object), Some(&named::id(7)));

    // It might be either: nothing is guessed.
    saves.register_component::<named::Id<Hero>>().unwrap();
    let error = saves.from_slice::<World>(&save).err().unwrap().to_string();
    assert!(error.contains("Id<Orc>") && error.contains("Id<Hero>"), "{error}");
}
