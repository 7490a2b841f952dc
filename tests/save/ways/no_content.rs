//! A save without content never replaces one.

use std::cell::RefCell;
use std::rc::Rc;

use persist::{ErrorKind, Persist, SaveManager, Saves};

use super::{Counting, refused};

#[derive(Persist)]
struct Hero {
    name: String,
}

fn hero(name: &str) -> Rc<RefCell<Hero>> {
    Rc::new(RefCell::new(Hero { name: name.into() }))
}

#[test]
fn a_manager_without_objects_replaces_nothing() {
    let storage = Counting::default();
    let saves = Saves::new().storage(storage.clone());
    let manager = saves.manager();
    for error in refused(&saves, &storage, true, || &manager) {
        assert_eq!(error.kind(), ErrorKind::NoContent, "{error}");
    }
    let error = manager.save("saves/path.sav").expect_err("it has no objects");
    assert_eq!(error.kind(), ErrorKind::NoContent);
    assert_eq!(manager.to_vec().expect_err("it has no objects").kind(), ErrorKind::NoContent);
}

#[test]
fn a_manager_whose_objects_were_removed_replaces_nothing() {
    let storage = Counting::default();
    let saves = Saves::new().storage(storage.clone());
    let mut manager = saves.manager();
    let ada = hero("Ada");
    let id = manager.add(&ada).expect("a hero");
    assert!(manager.remove(id));
    for error in refused(&saves, &storage, true, || &manager) {
        assert_eq!(error.kind(), ErrorKind::NoContent, "{error}");
    }
}

#[test]
fn a_loaded_list_whose_objects_were_removed_replaces_nothing() {
    let storage = Counting::default();
    let saves = Saves::new().storage(storage.clone());
    let mut manager = saves.manager();
    manager.add(&hero("Ada")).expect("a hero");
    let save = manager.to_vec().expect("a save");
    let mut loaded = manager.from_slice(&save).expect("the save");
    let ids: Vec<_> = loaded.ids().collect();
    assert!(ids.into_iter().all(|id| loaded.remove(id)));
    for error in refused(&saves, &storage, true, || &loaded) {
        assert_eq!(error.kind(), ErrorKind::NoContent, "{error}");
    }
}

#[test]
fn a_list_of_unknown_objects_is_content() {
    let mut manager = SaveManager::new();
    manager.add(&hero("Ada")).expect("a hero");
    let save = manager.to_vec().expect("a save");
    // No class is registered: the hero is of a mod that is off.
    let loaded = SaveManager::new().from_slice(&save).expect("the save");
    let again = loaded.to_vec().expect("the hero is content");
    let heroes = manager.from_slice(&again).expect("the save");
    assert_eq!(heroes.first::<Hero>().expect("the hero").borrow().name, "Ada");
}

#[test]
fn a_program_that_means_an_empty_list_says_so() {
    let storage = Counting::default();
    let saves = Saves::new().storage(storage);
    let manager = saves.manager().allow_empty();
    saves.slots("saves").slot("empty").save(&manager).expect("it is meant");
    let loaded = saves.slots("saves").slot("empty").load::<SaveManager>().expect("the save");
    assert!(loaded.is_empty());
    // The permission is the manager's own, and not that of what is loaded.
    assert_eq!(loaded.to_vec().expect_err("no objects").kind(), ErrorKind::NoContent);
}
