//! Bugs by which other systems lost what players had saved, one test for each.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

mod wide;

use std::collections::HashMap;
use std::rc::Rc;

use persist::save::{LoadEvent, LoadReport};
use persist::{ErrorKind, Persist, Record, SaveManager, Saves, Unknown};
use persist_tests::support::{Shared, shared};

/// A save of one object.
fn save<T: Persist>(value: T) -> Vec<u8> {
    let mut manager = SaveManager::new();
    manager.add(&shared(value)).unwrap();
    manager.to_vec().unwrap()
}

/// What a program with this class makes of it.
fn load<T: Persist>(save: &[u8]) -> persist::Result<(Shared<T>, LoadReport)> {
    let manager = SaveManager::new();
    manager.register::<T>()?;
    let loaded = manager.from_slice(save)?;
    Ok((loaded.first()?, loaded.report().clone()))
}

/// What a program with this class saves after it has loaded a save.
fn pass<T: Persist>(save: &[u8]) -> Vec<u8> {
    let manager = SaveManager::new();
    manager.register::<T>().unwrap();
    manager.from_slice(save).unwrap().to_vec().unwrap()
}

/// SPUD, issue 126: the slow way of loading, for a class that has changed, stored offsets and did not
/// use them; every property behind a deleted or moved one got the bytes of another.
#[test]
fn fields_behind_a_deleted_one_keep_their_values() {
    wide::delete_each(&wide::saves());
}

/// savefile 0.20: fields are matched by place and type, their names are not compared; two of one type
/// that change places swap their values, without an error.
#[test]
fn two_reordered_fields_of_one_type_do_not_swap() {
    #[derive(Persist)]
    #[persist(class = "Player")]
    struct Old {
        hp: u32,
        gold: u32,
    }
    #[derive(Persist, Debug, PartialEq)]
    struct Player {
        gold: u32,
        hp: u32,
    }
    let old = || Old { hp: 10, gold: 999 };
    let new = || Player { gold: 999, hp: 10 };
    let (player, report) = load::<Player>(&save(old())).unwrap();
    assert_eq!(*player.borrow(), new());
    assert!(report.is_clean(), "{report}");
    assert_eq!(persist::from_slice::<Player>(&persist::to_vec(&old()).unwrap()).unwrap(), new());
    // Where values are many, where they are keyed, and on the way back.
    let list = persist::to_vec(&vec![(1_u8, old()), (2, old())]).unwrap();
    let list: Vec<(u8, Player)> = persist::from_slice(&list).unwrap();
    assert_eq!(list, [(1, new()), (2, new())]);
    let map = persist::to_vec(&HashMap::from([(3_u8, old())])).unwrap();
    assert_eq!(persist::from_slice::<HashMap<u8, Player>>(&map).unwrap()[&3], new());
    let (back, _) = load::<Old>(&pass::<Player>(&save(old()))).unwrap();
    assert_eq!((back.borrow().hp, back.borrow().gold), (10, 999));
}

mod newer {
    use super::*;

    #[derive(Persist, Debug, PartialEq)]
    pub(super) struct Hero {
        pub(super) mana: u32,
        pub(super) name: String,
        pub(super) pet: Option<Shared<Pet>>,
        pub(super) tools: Vec<Tool>,
    }

    #[derive(Persist, Debug, PartialEq)]
    pub(super) struct Pet {
        pub(super) tricks: Vec<String>,
    }

    #[derive(Persist, Debug, PartialEq)]
    pub(super) struct Tool {
        pub(super) name: String,
        pub(super) wear: u16,
    }

    pub(super) fn hero() -> Hero {
        let tool = |name: &str, wear| Tool { name: name.into(), wear };
        Hero {
            mana: 40,
            name: "Ada".into(),
            pet: Some(shared(Pet { tricks: vec!["sit".into()] })),
            tools: vec![tool("axe", 3), tool("saw", 400)],
        }
    }
}

#[derive(Persist)]
struct Hero {
    name: String,
    tools: Vec<Tool>,
}

#[derive(Persist)]
struct Tool {
    name: String,
    #[persist(unknown)]
    rest: Unknown,
}

/// fory 1.7: what a newer program added is dropped when an older one loads the save and saves it again.
#[test]
fn fields_of_a_newer_program_survive_an_older_one() {
    let saved = pass::<Hero>(&save(newer::hero()));
    let (hero, report) = load::<newer::Hero>(&saved).unwrap();
    assert_eq!(*hero.borrow(), newer::hero());
    assert!(report.is_clean(), "{report}");
    // Also through several days, on which something is done.
    let manager = SaveManager::new();
    manager.register::<Hero>().unwrap();
    let loaded = manager.from_slice(&pass::<Hero>(&saved)).unwrap();
    let hero = loaded.first::<Hero>().unwrap();
    hero.borrow_mut().name = "Eve".into();
    hero.borrow_mut().tools.swap(0, 1);
    hero.borrow_mut().tools[0].name += "!";
    let (hero, _) = load::<newer::Hero>(&pass::<Hero>(&loaded.to_vec().unwrap())).unwrap();
    let mut expected = newer::Hero { name: "Eve".into(), ..newer::hero() };
    expected.tools.swap(0, 1);
    expected.tools[0].name += "!";
    assert_eq!(*hero.borrow(), expected);
}

/// The same of a save of one value.
#[test]
fn fields_of_a_newer_value_survive_an_older_program() {
    let saved = persist::to_vec(&newer::hero()).unwrap();
    let hero = Saves::new().from_slice::<Hero>(&saved).unwrap();
    let again = persist::to_vec(&hero).unwrap();
    assert_eq!(persist::from_slice::<newer::Hero>(&again).unwrap(), newer::hero());
    // The value alone can give back only what has a field of its own; the newer program is told.
    let hero: Hero = persist::from_slice(&saved).unwrap();
    let error = persist::from_slice::<newer::Hero>(&persist::to_vec(&hero).unwrap()).unwrap_err();
    assert_eq!((error.kind(), error.field()), (ErrorKind::MissingField, Some("mana")));
}

/// postcard, issue 159: variants are stored by their place; a new one in between, or another order, makes
/// others of them.
#[test]
fn a_variant_in_between_makes_no_other_of_those_behind() {
    #[derive(Persist)]
    #[persist(class = "Rank")]
    enum Old {
        Page,
        Knight,
        King,
    }
    #[derive(Persist, Debug, PartialEq)]
    enum Rank {
        King,
        Page,
        Squire,
        Knight,
    }
    let save = persist::to_vec(&vec![Old::Page, Old::Knight, Old::King, Old::Page]).unwrap();
    let ranks: Vec<Rank> = persist::from_slice(&save).unwrap();
    assert_eq!(ranks, [Rank::Page, Rank::Knight, Rank::King, Rank::Page]);
}

/// revision, issue 72: a value cannot go from an old field to a new one.
#[test]
fn a_value_moves_from_one_field_to_others() {
    #[derive(Persist)]
    #[persist(class = "Person")]
    struct Old {
        name: String,
        age: u8,
    }
    #[derive(Persist, Debug, PartialEq)]
    #[persist(version = 2, migrate(1 = split))]
    struct Person {
        first: String,
        last: String,
        age: u8,
    }
    fn split(person: &mut Record, _: u32) -> Result<(), String> {
        let name = person.take("name").ok_or("no name")?;
        let name = name.as_text().ok_or("the name is no text")?;
        let (first, last) = name.split_once(' ').ok_or("one name only")?;
        person.set("first", first);
        person.set("last", last);
        Ok(())
    }
    let (person, report) =
        load::<Person>(&save(Old { name: "Ada Byron".into(), age: 36 })).unwrap();
    let expected = Person { first: "Ada".into(), last: "Byron".into(), age: 36 };
    assert_eq!(*person.borrow(), expected);
    assert_eq!(report.rows().len(), 1, "{report}");
    let error = load::<Person>(&save(Old { name: "Ada".into(), age: 36 })).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.message().ends_with("refused: one name only"), "{error}");
}

/// typetag, issue 79, and fory: one value of a class that is not registered fails the whole load.
#[test]
fn one_unknown_class_does_not_fail_the_whole_load() {
    #[persist::dynamic(unknown = Missing)]
    trait Item {
        fn name(&self) -> String;
    }
    #[derive(Persist)]
    struct Missing {
        unknown: Unknown,
    }
    impl From<Unknown> for Missing {
        fn from(unknown: Unknown) -> Self {
            Self { unknown }
        }
    }
    impl AsRef<Unknown> for Missing {
        fn as_ref(&self) -> &Unknown {
            &self.unknown
        }
    }
    impl Item for Missing {
        fn name(&self) -> String {
            format!("missing {}", self.unknown.class())
        }
    }
    #[derive(Persist)]
    struct Named(String);
    impl Item for Named {
        fn name(&self) -> String {
            self.0.clone()
        }
    }
    #[derive(Persist)]
    struct Laser(u64);
    impl Item for Laser {
        fn name(&self) -> String {
            format!("laser {}", self.0)
        }
    }
    type Bag = Vec<Box<dyn Item>>;
    let saves = |lasers: bool| {
        let saves = Saves::new();
        saves.register_as::<Named, dyn Item>().unwrap();
        if lasers {
            saves.register_as::<Laser, dyn Item>().unwrap();
        }
        saves
    };
    let names = |bag: &Bag| bag.iter().map(|item| item.name()).collect::<Vec<_>>();
    let bag: Bag =
        vec![Box::new(Named("rope".into())), Box::new(Laser(9)), Box::new(Named("ink".into()))];
    let saved = saves(true).to_vec(&bag).unwrap();
    let without = saves(false);
    let bag = without.from_slice::<Bag>(&saved).unwrap();
    assert_eq!(names(&bag), ["rope", "missing Laser", "ink"]);
    let [row] = bag.report().rows() else { panic!("{}", bag.report()) };
    assert_eq!((row.event, &*row.class, row.count), (LoadEvent::Kept, "Laser", 1));
    let again = without.to_vec(&bag).unwrap();
    let bag = saves(true).from_slice::<Bag>(&again).unwrap().into_inner();
    assert_eq!(names(&bag), ["rope", "laser 9", "ink"]);
}

/// Godot, issues 86641 and 89961: objects in arrays that refer to each other come back as null.
#[test]
fn objects_in_lists_that_refer_to_each_other_are_there() {
    #[derive(Persist)]
    struct Node {
        name: String,
        next: Vec<Shared<Node>>,
    }
    let node = |name: &str| shared(Node { name: name.into(), next: vec![] });
    let (a, b) = (node("a"), node("b"));
    a.borrow_mut().next = vec![b.clone(), a.clone()];
    b.borrow_mut().next = vec![a.clone(), b.clone(), a.clone()];
    let mut manager = SaveManager::new();
    manager.add(&a).unwrap();
    let saved = manager.to_vec().unwrap();
    a.borrow_mut().next.clear();
    b.borrow_mut().next.clear();
    let loaded = manager.from_slice(&saved).unwrap();
    let a = loaded.first::<Node>().unwrap();
    let b = a.borrow().next[0].clone();
    assert_eq!((&*a.borrow().name, &*b.borrow().name), ("a", "b"));
    let is = |node: &Shared<Node>, expected: &[&Shared<Node>]| {
        let node = node.borrow();
        node.next.len() == expected.len()
            && node.next.iter().zip(expected).all(|(next, other)| Rc::ptr_eq(next, other))
    };
    assert!(is(&a, &[&b, &a]) && is(&b, &[&a, &b, &a]));
    loaded.dismantle();
}
