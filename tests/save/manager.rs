//! What a `SaveManager` promises: registration, ids, loaded lists, limits, bytes.

#![allow(
    clippy::unwrap_used,
    clippy::mutable_key_type,
    reason = "helpers, and a key to be refused"
)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use persist::save::{Header, LoadEvent};
use persist::{
    Component, ErrorKind, Limits, LoadOptions, Loaded, ObjectId, Persist, SaveManager, Saves, World,
};
use persist_tests::support::{Shared, shared};

#[derive(Persist)]
struct Hero {
    name: String,
    friends: Vec<Shared<Hero>>,
    rival: Weak<RefCell<Hero>>,
    tools: HashMap<String, Shared<Tool>>,
}

#[derive(Persist)]
struct Tool {
    weight: u32,
}

fn hero(name: &str) -> Shared<Hero> {
    let (name, tools) = (name.to_owned(), HashMap::new());
    shared(Hero { name, friends: Vec::new(), rival: Weak::new(), tools })
}

fn name(hero: &Shared<Hero>) -> String {
    hero.borrow().name.clone()
}

fn numbers(ids: impl Iterator<Item = ObjectId>) -> Vec<u64> {
    ids.map(ObjectId::get).collect()
}

/// Saves and loads.
fn reload(manager: &SaveManager) -> Loaded<SaveManager> {
    let save = manager.to_vec().expect("it can be saved");
    manager.from_slice(&save).expect("it can be loaded")
}

/// Ada and Bors are friends of each other, both have the one hammer.
fn party() -> [Shared<Hero>; 2] {
    let heroes = [hero("Ada"), hero("Bors")];
    let hammer = shared(Tool { weight: 7 });
    for (one, other) in [(0, 1), (1, 0)] {
        let mut one = heroes[one].borrow_mut();
        one.friends.push(heroes[other].clone());
        one.rival = Rc::downgrade(&heroes[other]);
        one.tools.insert("hammer".into(), hammer.clone());
        for i in 0..20 {
            one.tools.insert(format!("nail {i}"), shared(Tool { weight: i }));
        }
    }
    heroes
}

mod twin {
    #[derive(persist::Persist)]
    #[persist(class = "Tool")]
    pub(crate) struct Hammer {
        pub(crate) heft: u32,
    }
}

#[test]
fn two_types_of_one_class_id_are_refused_by_both_names() {
    let mut manager = SaveManager::new();
    manager.register::<Tool>().unwrap();
    let error = manager.register::<twin::Hammer>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateId);
    assert!(error.message().contains("manager::Tool"), "{error}");
    assert!(error.message().contains("twin::Hammer"), "{error}");
    // The registry is as it was.
    manager.add(&shared(Tool { weight: 1 })).unwrap();
    let hammer = shared(twin::Hammer { heft: 1 });
    assert_eq!(manager.add(&hammer).unwrap_err().kind(), ErrorKind::DuplicateId);
    assert_eq!(hammer.borrow().heft, 1);
}

#[test]
fn a_class_may_be_registered_twice() {
    let saves = Saves::new();
    saves.register::<Hero>().unwrap();
    saves.register::<Hero>().unwrap();
    saves.register::<Tool>().unwrap();
    let names: Vec<String> =
        saves.registry().classes().map(persist::reflect::Class::name).collect();
    assert_eq!(names, ["Hero", "Tool"]);
}

#[derive(Persist)]
struct Window {
    title: String,
    #[persist(skip, default = 1)]
    zoom: u32,
}

#[test]
fn skipped_fields_keep_what_the_factory_put_there() {
    let mut manager = SaveManager::new();
    manager.add(&shared(Window { title: "map".into(), zoom: 5 })).unwrap();
    let save = manager.to_vec().unwrap();
    let zoom = |manager: &SaveManager| {
        let window = manager.from_slice(&save).unwrap().first::<Window>().unwrap();
        assert_eq!(window.borrow().title, "map");
        window.borrow().zoom
    };
    assert_eq!(zoom(&manager), 1);
    let made = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&made);
    let factory = move || {
        count.fetch_add(1, Ordering::Relaxed);
        Window { title: "empty".into(), zoom: 40 }
    };
    manager.saves().register_with(factory).unwrap();
    assert_eq!(zoom(&manager), 40);
    assert_eq!(made.load(Ordering::Relaxed), 1);
}

#[test]
fn adding_gives_ids_and_adding_again_the_same() {
    let mut manager = SaveManager::new();
    let (ada, bors) = (hero("Ada"), hero("Bors"));
    let first = manager.add(&ada).unwrap();
    let second = manager.add(&bors).unwrap();
    assert_eq!((first.get(), second.get()), (1, 2));
    assert_eq!(manager.add(&ada.clone()).unwrap(), first);
    assert_eq!(numbers(manager.ids()), [1, 2]);
}

#[test]
fn a_removed_object_is_saved_only_where_another_points_to_it() {
    let [ada, bors] = party();
    let loner = hero("Loner");
    let mut manager = SaveManager::new();
    manager.add(&ada).unwrap();
    let [id, loner] = [manager.add(&bors).unwrap(), manager.add(&loner).unwrap()];
    assert!(manager.remove(id) && manager.remove(loner));
    assert!(!manager.remove(id));
    let loaded = reload(&manager);
    let names: Vec<String> = loaded.iter::<Hero>().map(|hero| name(&hero)).collect();
    assert_eq!(names, ["Ada", "Bors"]);
    // Its number is not given to another.
    assert_eq!(manager.add(&hero("Cuthwin")).unwrap().get(), 4);
}

#[test]
fn a_new_manager_of_the_same_saves_has_the_classes_and_no_objects() {
    let mut manager = SaveManager::new();
    manager.add(&hero("Ada")).unwrap();
    let full = manager.to_vec().unwrap();
    let next = manager.saves().manager();
    assert!(next.is_empty());
    assert_eq!(next.ids().count(), 0);
    assert_eq!(next.from_slice(&full).unwrap().iter::<Hero>().count(), 1);
}

#[test]
fn a_save_without_objects_is_refused_before_a_file_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("heroes.sav");
    let mut manager = SaveManager::new();
    let id = manager.add(&hero("Ada")).unwrap();
    manager.save(&path).unwrap();
    let full = std::fs::read(&path).unwrap();
    manager.remove(id);

    let saves = manager.saves();
    let slots = saves.slots(folder.path());
    let loaded = saves.manager().allow_empty().to_vec().unwrap();
    let loaded = saves.from_slice::<SaveManager>(&loaded).unwrap();
    let errors = [
        manager.to_vec().unwrap_err(),
        saves.to_vec(&manager).unwrap_err(),
        persist::to_vec(&loaded).unwrap_err(),
        persist::save(&path, &manager).unwrap_err(),
        manager.save(&path).unwrap_err(),
        saves.file(&path).save(&loaded).unwrap_err(),
        saves.file(&path).save_in_background(&manager).unwrap_err(),
        slots.slot("heroes").save(&manager).unwrap_err(),
        slots.auto(3).save(&manager).unwrap_err(),
        slots.auto(3).save_in_background(&manager).unwrap_err(),
    ];
    for error in &errors {
        assert_eq!(error.kind(), ErrorKind::NoContent);
    }
    insta::assert_snapshot!(errors[0]);
    assert_eq!(std::fs::read(&path).unwrap(), full);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);

    let manager = manager.allow_empty();
    manager.save(&path).unwrap();
    assert!(manager.load(&path).unwrap().is_empty());
}

#[test]
fn loaded_objects_are_found_by_type_and_id() {
    let [ada, _bors] = party();
    let mut manager = SaveManager::new();
    let id = manager.add(&ada).unwrap();
    let loaded = reload(&manager);
    assert_eq!(name(&loaded.first::<Hero>().unwrap()), "Ada");
    assert!(Rc::ptr_eq(&loaded.first::<Hero>().unwrap(), &loaded.get::<Hero>(id).unwrap()));
    assert_eq!((loaded.iter::<Hero>().count(), loaded.iter::<Tool>().count()), (2, 41));
    assert_eq!(loaded.len(), 43);

    let error = loaded.get::<Tool>(id).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongClass);
    assert_eq!(error.message(), "object #1 is not of type Rc<RefCell<Tool>>");
    let error = loaded.get::<Hero>(ObjectId::new(999).unwrap()).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.message(), "the save has no object #999");
    let error = loaded.first::<Window>().map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.message(), "the save has no object of type Rc<RefCell<Window>>");
}

#[test]
fn loaded_objects_are_in_id_order_those_added_first() {
    let [ada, bors] = party();
    let mut manager = SaveManager::new();
    manager.add(&ada).unwrap();
    let mut loaded = reload(&manager);
    // Objects 1, and 2 to 43 that were met; then 44 is added.
    loaded.add(&bors).unwrap();
    let loaded = reload(&loaded);
    let ids = numbers(loaded.ids());
    assert_eq!(ids[..4], [1, 44, 2, 3]);
    assert!(ids[2..].is_sorted());
}

#[test]
fn loaded_objects_keep_their_ids_and_bytes() {
    let [ada, _bors] = party();
    let mut manager = SaveManager::new();
    let id = manager.add(&ada).unwrap();
    let save = manager.to_vec().unwrap();

    let saves = Saves::new();
    saves.register::<Hero>().unwrap();
    let mut loaded = saves.from_slice::<SaveManager>(&save).unwrap();
    let bors = loaded.iter::<Hero>().nth(1).unwrap();
    let loaded_ada = loaded.get::<Hero>(id).unwrap();
    let all = numbers(loaded.ids());
    assert_eq!(loaded.to_vec().unwrap(), save);
    assert_eq!(saves.to_vec(&loaded).unwrap(), save);

    // A new object takes a new id, whether it is added or met.
    let tool = shared(Tool { weight: 99 });
    assert_eq!(loaded.add(&tool).unwrap().get(), all.iter().max().unwrap() + 1);
    loaded_ada.borrow_mut().tools.insert("new".into(), shared(Tool { weight: 100 }));
    let again = reload(&loaded);
    assert_eq!(again.len(), all.len() + 2);
    assert_eq!(again.get::<Tool>(ObjectId::new(45).unwrap()).unwrap().borrow().weight, 100);
    // One that was met keeps its id when it is added.
    assert_eq!(name(&bors), "Bors");
    assert_eq!(loaded.add(&bors).unwrap().get(), 2);
    assert_eq!(numbers(loaded.ids())[..3], [1, 2, 44]);
}

#[test]
fn loaded_objects_that_were_met_live_no_longer_than_the_game_lets_them_after_a_save() {
    let [ada, _bors] = party();
    let mut manager = SaveManager::new();
    manager.add(&ada).unwrap();
    let loaded = reload(&manager);
    let ada = loaded.first::<Hero>().unwrap();
    loaded.to_vec().unwrap();
    let bors = Rc::downgrade(&ada.borrow_mut().friends.pop().unwrap());
    ada.borrow_mut().tools.clear();
    assert!(bors.upgrade().is_none());
    assert!(ada.borrow().rival.upgrade().is_none());
    let loaded = reload(&loaded);
    assert_eq!(loaded.len(), 1);
    assert!(loaded.report().is_clean(), "{}", loaded.report());
}

#[test]
fn objects_of_an_unregistered_class_are_kept_and_reported() {
    let mut manager = SaveManager::new();
    manager.add(&shared(Tool { weight: 1 })).unwrap();
    let first = manager.add(&shared(Window { title: "a".into(), zoom: 1 })).unwrap();
    manager.add(&shared(Window { title: "b".into(), zoom: 1 })).unwrap();
    let save = manager.to_vec().unwrap();
    let other = Saves::new();
    other.register::<Tool>().unwrap();
    let loaded = other.from_slice::<SaveManager>(&save).unwrap();
    assert_eq!(loaded.len(), 3);
    let [finding] = loaded.report().rows() else { panic!("{}", loaded.report()) };
    assert_eq!((finding.event, &*finding.class, finding.count), (LoadEvent::Kept, "Window", 2));
    assert_eq!((finding.object, &finding.field), (Some(first), &None));
    assert!(!loaded.report().is_clean());
    assert!(loaded.report().to_string().contains("kept as unknown: Window, 2 times"));
    // They go back to the next save as they were.
    assert_eq!(loaded.to_vec().unwrap(), save);
    assert_eq!(other.to_vec(&loaded).unwrap(), save);

    let other = other.load_options(LoadOptions::new().drop_unknown(true));
    let loaded = other.from_slice::<SaveManager>(&save).unwrap();
    assert_eq!(loaded.len(), 1);
    assert!(loaded.report().to_string().contains("skipped, not registered: Window, 2 times"));
}

#[test]
fn a_borrowed_object_is_named_while_saving() {
    let [ada, bors] = party();
    let mut manager = SaveManager::new();
    manager.add(&ada).unwrap();
    let borrow = bors.borrow_mut();
    let error = manager.to_vec().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Borrowed);
    assert_eq!((error.object(), error.class()), (Some(2), Some("Hero")));
    drop(borrow);
    let _shared_borrow = bors.borrow();
    assert!(manager.to_vec().is_ok());
}

#[test]
fn equal_graphs_have_equal_bytes_wherever_they_are_allocated() {
    let bytes = |heroes: &[Shared<Hero>; 2]| {
        let mut manager = SaveManager::new();
        for hero in heroes {
            manager.add(hero).unwrap();
        }
        (manager.to_vec().unwrap(), manager.to_vec().unwrap())
    };
    let (first, again) = bytes(&party());
    assert_eq!(first, again);
    // Other addresses and other hashers.
    let clutter: Vec<_> = (0..100).map(|_| hero("")).collect();
    let [bors, ada] = [hero("Bors"), hero("Ada")];
    let from = party();
    for (new, old, other) in [(&ada, &from[0], &bors), (&bors, &from[1], &ada)] {
        let (mut new, mut old) = (new.borrow_mut(), old.borrow_mut());
        new.friends.push(other.clone());
        new.rival = Rc::downgrade(other);
        new.tools = old.tools.drain().collect();
    }
    drop(clutter);
    assert_eq!(bytes(&[ada.clone(), bors.clone()]).0, first);
    let mut manager = SaveManager::new();
    manager.add(&ada).unwrap();
    manager.add(&bors).unwrap();
    assert_eq!(manager.to_vec().unwrap(), first);
}

#[test]
fn the_header_names_the_program() {
    let saves = Saves::new();
    assert_eq!(Header::read(&saves.to_vec(&7_u8).unwrap()).unwrap().application, None);
    let saves = saves.application("quest", "1.2 β").unwrap();
    let mut manager = saves.manager();
    manager.add(&hero("Ada")).unwrap();
    for save in [saves.to_vec(&hero("Bors")).unwrap(), manager.to_vec().unwrap()] {
        let header = Header::read(&save).unwrap();
        assert_eq!(header.application.as_deref(), Some("quest"));
        assert_eq!(header.application_version.as_deref(), Some("1.2 β"));
        let document = persist_tools::Document::from_slice(&save).unwrap();
        assert_eq!(document.header(), &header);
    }
    let save = manager.to_vec().unwrap();
    let header = Header::read(&save).unwrap();
    assert_eq!(manager.from_slice(&save).unwrap().report().header(), &header);
    let error = saves.application(&"x".repeat(65_536), "").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
}

#[derive(Persist)]
struct Keyed {
    map: std::collections::BTreeMap<Key, u32>,
}

#[derive(Persist)]
struct Key(u32, Option<Shared<Tool>>);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

#[test]
fn a_map_key_with_a_pointer_is_refused_by_name() {
    let saves = Saves::new();
    let error = saves.register::<Keyed>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(
        error.message().starts_with("Key holds a shared pointer and cannot be the key of a map"),
        "{error}"
    );
    assert_eq!(saves.registry().classes().count(), 0);
}

#[test]
fn the_default_limits_are_documented_numbers() {
    let Limits {
        bytes,
        decompressed,
        metadata,
        objects,
        expansion,
        depth,
        text,
        empty_elements,
        lock_wait,
        ..
    } = Limits::default();
    assert_eq!((bytes, objects, expansion, depth), (1 << 32, 16_777_216, 256, 128));
    assert_eq!((decompressed, metadata), (1 << 30, 1 << 20));
    assert_eq!((text, empty_elements), (1 << 26, 1_048_576));
    assert_eq!(lock_wait.as_millis(), 100);
}

#[persist::dynamic]
trait Item {}

#[derive(Persist)]
struct Sword {
    sharp: u32,
}

impl Item for Sword {}

#[derive(Persist)]
struct Health(u32);

impl Component for Health {}

/// Whatever classes other saves have, a save has every object, and a load loses nothing.
#[test]
fn saves_with_other_classes_make_no_wrong_saves() {
    let [ada, bors] = party();
    let sword: Rc<RefCell<dyn Item>> = shared(Sword { sharp: 7 });
    let mut manager = SaveManager::new();
    manager.register_as::<Sword, dyn Item>().unwrap();
    manager.saves().register_component::<Health>().unwrap();
    manager.add(&ada).unwrap();
    manager.add(&sword).unwrap();
    let save = manager.to_vec().unwrap();
    let mut world = World::new();
    let orc = world.spawn("Orc");
    world.attach(orc, Health(5)).unwrap();
    let world_save = manager.saves().to_vec(&world).unwrap();

    // The list knows the classes of its objects, and a world those of its components.
    assert_eq!(Saves::new().to_vec(&manager).unwrap(), save);
    assert_eq!(Saves::new().to_vec(&world).unwrap(), world_save);

    // What the other saves do not have is kept, and goes to the next save.
    let other = Saves::new();
    let kept = other.from_slice::<World>(&world_save).unwrap();
    assert_eq!(kept.classes(orc), ["Health"]);
    assert_eq!(manager.saves().to_vec(&kept).unwrap(), world_save);
    let kept = other.from_slice::<SaveManager>(&save).unwrap();
    assert_eq!(kept.len(), 44);
    assert_eq!(kept.to_vec().unwrap(), save);
    assert_eq!(manager.saves().to_vec(&kept).unwrap(), save);

    // A class that is registered between two loads has another number.
    other.register::<Tool>().unwrap();
    let loaded = other.from_slice::<SaveManager>(&save).unwrap();
    assert_eq!(loaded.iter::<Tool>().count(), 41);
    other.register::<Hero>().unwrap();
    other.register_as::<Sword, dyn Item>().unwrap();
    for list in [&kept, &loaded] {
        assert_eq!(list.to_vec().unwrap(), save);
        assert_eq!(manager.saves().to_vec(list).unwrap(), save);
        let loaded = reload(list);
        assert_eq!(name(&loaded.first::<Hero>().unwrap()), "Ada");
        assert_eq!(loaded.iter::<Hero>().count(), 2);
    }
    ada.borrow_mut().friends.clear();
    bors.borrow_mut().friends.clear();
}

#[test]
fn an_object_of_a_class_that_is_not_registered_is_refused_by_every_save() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("never.sav");
    let sword: Rc<RefCell<dyn Item>> = shared(Sword { sharp: 7 });
    let mut manager = SaveManager::new();
    manager.add(&sword).unwrap();
    let refused = [
        manager.to_vec().unwrap_err(),
        manager.save(&path).unwrap_err(),
        manager.saves().file(&path).save_in_background(&manager).unwrap_err(),
    ];
    for error in &refused {
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
    insta::assert_snapshot!(refused[0]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    // The list is as it was.
    assert_eq!(manager.ids().count(), 1);
    manager.register_as::<Sword, dyn Item>().unwrap();
    assert_eq!(manager.from_slice(&manager.to_vec().unwrap()).unwrap().len(), 1);
}
