//! A value of the program's own that types reach while they are saved and loaded.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use persist::{ErrorKind, Loaded, ObjectId, Persist, Record, SaveManager, Saves, Value};
use persist_tests::support::items::{Item, Items, item};
use tempfile::tempdir;

/// What another part of the program gives in their place.
struct Quests;

fn old() -> Items {
    Items::new(&["rope", "lamp", "key"])
}

fn new() -> Items {
    Items::new(&["key", "map", "lamp", "rope"])
}

#[derive(Persist, Clone, Debug, PartialEq)]
struct Chest {
    gold: u32,
    items: Vec<Item>,
}

#[derive(Persist, Debug, PartialEq)]
struct Hero {
    name: String,
    chest: Chest,
    worn: HashMap<Item, u8>,
}

fn hero(items: [usize; 2]) -> Hero {
    let [first, second] = items.map(Item);
    let chest = Chest { gold: 7, items: vec![first, second] };
    Hero { name: "Ada".into(), chest, worn: [(first, 1), (second, 2)].into() }
}

fn saves(context: Option<Items>) -> Saves {
    let saves = Saves::new();
    match context {
        Some(context) => saves.context(Arc::new(context)),
        None => saves,
    }
}

/// A manager with one hero, and this context.
fn manager(context: Option<Items>) -> SaveManager {
    let mut manager = saves(context).manager();
    manager.add(&Rc::new(RefCell::new(hero([0, 1])))).unwrap();
    manager
}

#[test]
fn a_save_and_a_load_get_a_context_of_their_own() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.sav");
    let manager = manager(None);
    let with = |context: Items| manager.saves().clone().context(Arc::new(context)).file(&path);
    with(old()).save(&manager).unwrap();
    let loaded = with(new()).load::<SaveManager>().unwrap();
    assert_eq!(*loaded.first::<Hero>().unwrap().borrow(), hero([3, 2]));
    // The one that was cloned has none, as before.
    assert_eq!(manager.load(&path).unwrap_err().kind(), ErrorKind::WrongContext);
}

#[test]
fn the_context_of_the_saves_is_used_in_place_of_the_managers() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.sav");
    let manager = manager(Some(Items::new(&[])));
    let with = |context: Items| manager.saves().clone().context(Arc::new(context)).file(&path);
    with(old()).save(&manager).unwrap();
    let loaded = with(new()).load::<SaveManager>().unwrap();
    assert_eq!(*loaded.first::<Hero>().unwrap().borrow(), hero([3, 2]));
    // Saves without a context take the manager's.
    let error = saves(None).to_vec(&manager).unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidValue, "there is no item 0"));
}

#[test]
fn all_saves_and_loads_get_the_context() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.sav");
    let manager = manager(Some(old()));
    let saves = manager.saves();
    let next = saves.clone().context(Arc::new(new()));
    let is_hero = |loaded: Loaded<SaveManager>| {
        assert_eq!(*loaded.first::<Hero>().unwrap().borrow(), hero([3, 2]));
    };

    manager.save(&path).unwrap();
    is_hero(next.file(&path).load().unwrap());
    saves.file(&path).save_in_background(&manager).unwrap().wait().unwrap();
    is_hero(next.file(&path).load().unwrap());
    is_hero(next.manager().load(&path).unwrap());
    is_hero(next.from_slice(&manager.to_vec().unwrap()).unwrap());
    saves.slots(folder.path()).slot("slot").save(&manager).unwrap();
    is_hero(next.slots(folder.path()).slot("slot").load().unwrap());

    saves.file(&path).save(&hero([0, 1])).unwrap();
    assert_eq!(*next.file(&path).load::<Hero>().unwrap(), hero([3, 2]));
    saves.file(&path).save_in_background(&hero([0, 1])).unwrap().wait().unwrap();
    assert_eq!(*next.file(&path).load::<Hero>().unwrap(), hero([3, 2]));
    let save = saves.to_vec(&hero([0, 1])).unwrap();
    assert_eq!(*next.from_slice::<Hero>(&save).unwrap(), hero([3, 2]));
}

#[test]
fn a_cell_as_context_shows_what_the_program_changes() {
    #[derive(Persist)]
    #[persist(context = Mutex<Vec<u8>>, validate = Self::check)]
    struct Seen(u8);

    impl Seen {
        fn check(&self, seen: &Mutex<Vec<u8>>) {
            seen.lock().unwrap().push(self.0);
        }
    }

    let seen = Arc::new(Mutex::new(vec![1_u8]));
    let saves = Saves::new().context(Arc::clone(&seen));
    let save = saves.to_vec(&Seen(3)).unwrap();
    seen.lock().unwrap().push(2);
    saves.from_slice::<Seen>(&save).unwrap();
    assert_eq!(*seen.lock().unwrap(), [1, 3, 2, 3]);
}

#[test]
fn a_missing_context_names_the_object_its_class_and_the_field() {
    let error = manager(None).to_vec().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongContext);
    let place = (error.object(), error.class(), error.field());
    assert_eq!(place, (Some(1), Some("Hero"), Some("chest.items")));

    let save = manager(Some(old())).to_vec().unwrap();
    let error = manager(None).from_slice(&save).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongContext);
    let place = (error.object(), error.class(), error.field());
    assert_eq!(place, (Some(1), Some("Hero"), Some("chest.items")));
    insta::assert_snapshot!(error);
}

#[test]
fn a_context_of_another_type_is_an_error_that_names_both() {
    let save = manager(Some(old())).to_vec().unwrap();
    let mut other = Saves::new().context(Arc::new(Quests)).manager();
    other.add(&Rc::new(RefCell::new(hero([0, 1])))).unwrap();
    assert_eq!(other.to_vec().unwrap_err().kind(), ErrorKind::WrongContext);
    let error = other.from_slice(&save).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongContext);
    insta::assert_snapshot!(error);
}

#[test]
fn what_the_context_does_not_have_is_the_types_own_error() {
    let save = manager(Some(old())).to_vec().unwrap();
    let error = manager(Some(Items::new(&[]))).from_slice(&save).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
    assert_eq!((error.field(), error.message()), (Some("chest.items"), "there is no item `rope`"));
}

/// Runs all hooks with the context.
#[derive(Persist, Debug, Default)]
#[persist(
    context = Mutex<Vec<String>>,
    before_save = Self::tidy,
    validate = Self::check,
    after_load = Self::wake
)]
struct Hooked {
    number: u32,
}

impl Hooked {
    fn tidy(&mut self, log: &Mutex<Vec<String>>) {
        log.lock().unwrap().push(format!("tidy {}", self.number));
        self.number += 1;
    }

    fn check(&self, log: &Mutex<Vec<String>>) -> Result<(), String> {
        log.lock().unwrap().push(format!("check {}", self.number));
        if self.number < 5 { Ok(()) } else { Err("too large".into()) }
    }

    fn wake(&mut self, log: &Mutex<Vec<String>>) {
        log.lock().unwrap().push(format!("wake {}", self.number));
    }
}

/// Saves what a load as [`Hooked`] refuses.
#[derive(Persist)]
#[persist(class = "Hooked")]
struct Unchecked {
    number: u32,
}

#[test]
fn hooks_get_the_context() {
    let log = Arc::new(Mutex::new(Vec::<String>::new()));
    let mut manager = SaveManager::new();
    let hooked = Rc::new(RefCell::new(Hooked { number: 3 }));
    manager.add(&hooked).unwrap();

    let error = manager.to_vec().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongContext);
    assert_eq!((error.object(), error.class()), (Some(1), Some("Hooked")));
    insta::assert_snapshot!(error);
    let saves = manager.saves().clone().context(Arc::clone(&log));
    let save = saves.to_vec(&manager).unwrap();
    saves.from_slice::<SaveManager>(&save).unwrap();
    assert_eq!(*log.lock().unwrap(), ["tidy 3", "check 4", "check 4", "wake 4"]);

    let refused = "`validate` of Hooked refused: too large";
    assert_eq!(saves.to_vec(&manager).unwrap_err().message(), refused);
    let save = persist::to_vec(&Unchecked { number: 5 }).unwrap();
    assert_eq!(saves.from_slice::<Hooked>(&save).unwrap_err().message(), refused);
}

#[test]
fn migrations_get_the_context() {
    #[derive(Persist)]
    #[persist(class = "Slot")]
    struct Before {
        item: u32,
    }

    #[derive(Persist, Debug, PartialEq)]
    #[persist(class = "Slot", version = 2, context = Items, migrate(1 = Self::migrate))]
    struct Slot {
        name: String,
    }

    impl Slot {
        fn migrate(record: &mut Record, _: u32, items: &Items) -> Result<(), String> {
            let Some(Value::U32(item)) = record.take("item") else {
                return Err("no item".into());
            };
            record.set("name", &*items.names[item as usize]);
            Ok(())
        }
    }

    let save = persist::to_vec(&Before { item: 1 }).unwrap();
    let saves = Saves::new();
    let error = saves.from_slice::<Slot>(&save).unwrap_err();
    assert_eq!((error.kind(), error.class()), (ErrorKind::WrongContext, Some("Slot")));
    insta::assert_snapshot!(error);
    let saves = saves.context(Arc::new(old()));
    let slot = saves.from_slice::<Slot>(&save).unwrap().into_inner();
    assert_eq!(slot, Slot { name: "lamp".into() });
}

#[test]
fn the_default_of_a_new_field_is_made_with_the_context() {
    #[derive(Persist)]
    #[persist(class = "Bag")]
    struct Before {
        size: u32,
    }

    #[derive(Persist, Debug, PartialEq)]
    struct Bag {
        size: u32,
        #[persist(default = Item(2))]
        item: Item,
    }

    let save = persist::to_vec(&Before { size: 3 }).unwrap();
    let saves = Saves::new();
    let error = saves.from_slice::<Bag>(&save).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongContext);
    let saves = saves.context(Arc::new(old()));
    let bag = saves.from_slice::<Bag>(&save).unwrap().into_inner();
    assert_eq!(bag, Bag { size: 3, item: Item(2) });
}

/// An entry of a list, beside variants.
#[derive(Persist, Debug, PartialEq)]
enum Loot {
    Gold(u32),
    Item {
        #[persist(with = item, context = Items)]
        item: usize,
    },
}

#[derive(Persist, Debug, PartialEq)]
#[persist(transparent)]
struct Worn(#[persist(with = "Option<item>", context = Items)] Option<usize>);

#[derive(Persist, Debug, PartialEq)]
struct Knight {
    loot: Vec<Loot>,
    worn: Worn,
    #[persist(with = "HashMap<item, _>", context = Items)]
    counts: HashMap<usize, u8>,
}

fn knight([first, second]: [usize; 2]) -> Knight {
    Knight {
        loot: vec![Loot::Gold(3), Loot::Item { item: first }],
        worn: Worn(Some(second)),
        counts: [(first, 1), (second, 2)].into(),
    }
}

#[test]
fn modules_get_the_context() {
    let saves = Saves::new().context(Arc::new(old()));
    let save = saves.to_vec(&knight([0, 1])).unwrap();
    let saves = saves.context(Arc::new(new()));
    assert_eq!(saves.from_slice::<Knight>(&save).unwrap().into_inner(), knight([3, 2]));
    let saves = saves.context(Arc::new(Items::new(&["lamp"])));
    let error = saves.from_slice::<Knight>(&save).unwrap_err();
    insta::assert_snapshot!(error);
}

#[test]
fn a_module_without_its_context_names_the_field() {
    let mut manager = SaveManager::new();
    manager.add(&Rc::new(RefCell::new(Worn(Some(1))))).unwrap();
    manager.add(&Rc::new(RefCell::new(knight([0, 1])))).unwrap();
    let error = manager.to_vec().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongContext);
    let first = manager.ids().next().unwrap();
    manager.remove(first);
    let error = manager.to_vec().unwrap_err();
    insta::assert_snapshot!(error);
}

/// A link of a chain, whose context comes before its pointer.
#[derive(Persist)]
struct Link {
    item: Item,
    next: Option<Rc<RefCell<Link>>>,
}

#[test]
fn cycles_of_objects_that_need_the_context_are_found() {
    let links = [0, 1].map(|item| Rc::new(RefCell::new(Link { item: Item(item), next: None })));
    links[0].borrow_mut().next = Some(Rc::clone(&links[1]));
    links[1].borrow_mut().next = Some(Rc::clone(&links[0]));
    let mut manager = Saves::new().context(Arc::new(old())).manager();
    manager.add(&links[0]).unwrap();
    let save = manager.to_vec().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    assert_eq!(loaded.strong_cycles(), [manager.ids().chain(ObjectId::new(2)).collect::<Vec<_>>()]);
    loaded.dismantle();
    links[0].borrow_mut().next = None;
}
