//! Trait objects behind counted pointers: what is shared stays shared, whatever it
//! is pointed at as, and circles close again.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]
#![allow(clippy::arc_with_non_send_sync, reason = "such pointers are saved, too")]

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::{self, Arc, Mutex, RwLock};

use persist::save::LoadEvent;
use persist::{ErrorKind, Loaded, Persist, SaveManager};
use persist_tests::support::disarranged::check_objects;
use persist_tests::support::{Shared, shared};

#[persist::dynamic]
trait Item {
    fn price(&self) -> u32;
    fn wear(&mut self) {}
}

#[derive(Persist)]
struct Sword {
    sharp: u32,
}

impl Item for Sword {
    fn price(&self) -> u32 {
        10 * self.sharp
    }

    fn wear(&mut self) {
        self.sharp -= 1;
    }
}

#[derive(Persist)]
struct Gem;

impl Item for Gem {
    fn price(&self) -> u32 {
        1000
    }
}

fn sword(sharp: u32) -> Sword {
    Sword { sharp }
}

/// A manager that knows swords only.
fn older() -> SaveManager {
    let manager = SaveManager::new();
    manager.register_as::<Sword, dyn Item>().unwrap();
    manager.register_as::<Sword, dyn Item + Send>().unwrap();
    manager.register_as::<Sword, dyn Item + Send + Sync>().unwrap();
    manager
}

fn manager() -> SaveManager {
    let manager = older();
    manager.register_as::<Gem, dyn Item>().unwrap();
    manager
}

fn save<T: Persist>(value: T) -> Vec<u8> {
    let mut manager = manager();
    manager.add(&shared(value)).unwrap();
    manager.to_vec().unwrap()
}

fn load<T: Persist>(manager: &SaveManager, save: &[u8]) -> (Shared<T>, Loaded<SaveManager>) {
    manager.register::<T>().unwrap();
    let loaded = manager.from_slice(save).unwrap();
    (loaded.first::<T>().unwrap(), loaded)
}

fn manager_of<T: Persist>() -> SaveManager {
    let manager = manager();
    manager.register::<T>().unwrap();
    manager
}

/// Saves and loads a value in an object.
fn trip<T: Persist>(value: T) -> (Shared<T>, Loaded<SaveManager>) {
    let save = save(value);
    check_objects(&save, 0, || manager_of::<T>());
    let (value, loaded) = load(&manager(), &save);
    assert!(loaded.report().is_clean(), "{}", loaded.report());
    (value, loaded)
}

macro_rules! shared_twice {
    ($($name:ident: $strong:ident $weak:path, $object:ty, $value:expr, $price:expr;)*) => {$(
        #[test]
        fn $name() {
            let one: $strong<$object> = $value;
            let other: $strong<$object> = $value;
            let list = vec![one.clone(), other, one.clone()];
            let weak: Vec<$weak> = vec![$strong::downgrade(&one), $strong::downgrade(&list[1])];
            let (loaded, all) = trip((weak, list, Some(one)));
            assert_eq!(all.len(), 3);
            drop(all);
            let (weak, list, one) = &*loaded.borrow();
            let one = one.as_ref().unwrap();
            assert!($strong::ptr_eq(one, &list[0]) && $strong::ptr_eq(one, &list[2]));
            assert!(!$strong::ptr_eq(one, &list[1]));
            assert!($strong::ptr_eq(&weak[0].upgrade().unwrap(), one));
            assert!($strong::ptr_eq(&weak[1].upgrade().unwrap(), &list[1]));
            assert_eq!(($strong::strong_count(one), $strong::weak_count(one)), (3, 1));
            let price: fn(&$object) -> u32 = $price;
            assert_eq!(price(&**one), 70);
        }
    )*};
}

shared_twice! {
    an_rc_stays_shared: Rc Weak<dyn Item>, dyn Item,
        Rc::new(sword(7)), |item| item.price();
    an_arc_stays_shared: Arc sync::Weak<dyn Item + Send + Sync>, dyn Item + Send + Sync,
        Arc::new(sword(7)), |item| item.price();
    an_rc_of_a_ref_cell_stays_shared: Rc Weak<RefCell<dyn Item>>, RefCell<dyn Item>,
        shared(sword(7)), |item| item.borrow().price();
    an_rc_of_a_mutex_stays_shared: Rc Weak<Mutex<dyn Item>>, Mutex<dyn Item>,
        Rc::new(Mutex::new(sword(7))), |item| item.lock().unwrap().price();
    an_rc_of_a_lock_stays_shared: Rc Weak<RwLock<dyn Item>>, RwLock<dyn Item>,
        Rc::new(RwLock::new(sword(7))), |item| item.read().unwrap().price();
    an_arc_of_a_ref_cell_stays_shared: Arc sync::Weak<RefCell<dyn Item>>, RefCell<dyn Item>,
        Arc::new(RefCell::new(sword(7))), |item| item.borrow().price();
    an_arc_of_a_mutex_stays_shared: Arc sync::Weak<Mutex<dyn Item>>, Mutex<dyn Item>,
        Arc::new(Mutex::new(sword(7))), |item| item.lock().unwrap().price();
    an_arc_of_a_mutex_for_threads_stays_shared:
        Arc sync::Weak<Mutex<dyn Item + Send>>, Mutex<dyn Item + Send>,
        Arc::new(Mutex::new(sword(7))), |item| item.lock().unwrap().price();
    an_arc_of_a_lock_for_threads_stays_shared:
        Arc sync::Weak<RwLock<dyn Item + Send + Sync>>, RwLock<dyn Item + Send + Sync>,
        Arc::new(RwLock::new(sword(7))), |item| item.read().unwrap().price();
}

#[test]
fn what_came_back_can_go_to_another_thread() {
    type Sent = Arc<Mutex<dyn Item + Send>>;
    let (loaded, _) = trip::<Sent>(Arc::new(Mutex::new(sword(3))));
    let item = loaded.borrow().clone();
    std::thread::spawn(move || item.lock().unwrap().wear()).join().unwrap();
    assert_eq!(loaded.borrow().lock().unwrap().price(), 20);
}

#[test]
fn an_object_seen_as_itself_and_as_its_trait_stays_one() {
    type Both = (Shared<dyn Item>, Shared<Sword>, Weak<RefCell<dyn Item>>, Weak<RefCell<Sword>>);
    type Turned = (Shared<Sword>, Shared<dyn Item>);
    let one = shared(sword(9));
    let weak: Weak<RefCell<Sword>> = Rc::downgrade(&one);
    let both: Both = (one.clone(), one.clone(), weak.clone(), weak);
    let turned: Turned = (one.clone(), one);
    let (loaded, all) = trip((both, turned));
    assert_eq!(all.len(), 2);
    let ((item, sword, weak_item, weak_sword), (other_sword, other_item)) = &*loaded.borrow();
    assert!(Rc::ptr_eq(sword, other_sword) && Rc::ptr_eq(item, other_item));
    assert!(Rc::ptr_eq(&weak_item.upgrade().unwrap(), item));
    assert!(Rc::ptr_eq(&weak_sword.upgrade().unwrap(), sword));
    item.borrow_mut().wear();
    assert_eq!(sword.borrow().sharp, 8);
}

#[test]
fn a_value_without_a_cell_stays_one_as_itself_and_as_its_trait() {
    let one = Rc::new(sword(4));
    let (loaded, all) = trip((one.clone() as Rc<dyn Item>, one.clone(), one as Rc<dyn Item>));
    assert_eq!(all.len(), 2);
    let (item, sword, other) = &*loaded.borrow();
    assert!(Rc::ptr_eq(item, other));
    assert_eq!(Rc::as_ptr(item).cast::<()>(), Rc::as_ptr(sword).cast());
}

#[test]
fn a_pointer_to_a_class_that_is_not_registered_is_none_in_an_option() {
    type Row = (Option<Shared<dyn Item>>, Option<Rc<dyn Item>>, Option<Arc<Mutex<dyn Item>>>, u8);
    let gem = shared(Gem);
    let rows: Vec<Row> = vec![
        (Some(gem.clone()), Some(Rc::new(Gem)), Some(Arc::new(Mutex::new(Gem))), 1),
        (Some(shared(sword(1))), Some(Rc::new(sword(2))), Some(Arc::new(Mutex::new(sword(3)))), 2),
        (Some(gem), None, None, 3),
    ];
    let (loaded, all) = load::<Vec<Row>>(&older(), &save(rows));
    let rows = loaded.borrow();
    assert!(matches!(rows[0], (None, None, None, 1)));
    let (cell, bare, mutex, 2) = &rows[1] else { panic!("out of step") };
    assert_eq!(cell.as_ref().unwrap().borrow().price(), 10);
    assert_eq!(bare.as_ref().unwrap().price(), 20);
    assert_eq!(mutex.as_ref().unwrap().lock().unwrap().price(), 30);
    assert!(matches!(rows[2], (None, None, None, 3)));
    let found = all.report().rows().iter();
    let found: Vec<_> = found.map(|row| (row.event, &*row.class, row.count)).collect();
    assert_eq!(found, [(LoadEvent::Unregistered, "Gem", 4), (LoadEvent::Kept, "Gem", 3)]);
}

#[test]
fn a_weak_pointer_to_a_class_that_is_not_registered_dangles_and_is_reported() {
    type Pair = (u8, Weak<RefCell<dyn Item>>, u8);
    let gem: Shared<dyn Item> = shared(Gem);
    let mut manager = manager();
    manager.add(&shared::<Pair>((1, Rc::downgrade(&gem), 2))).unwrap();
    manager.add(&gem).unwrap();
    let save = manager.to_vec().unwrap();
    let (loaded, all) = load::<Pair>(&older(), &save);
    assert!(matches!(&*loaded.borrow(), (1, weak, 2) if weak.upgrade().is_none()));
    assert!(all.report().rows().iter().any(|found| found.event == LoadEvent::Dangling));
}

#[test]
fn without_an_option_it_is_an_error_that_names_class_and_trait() {
    let manager = older();
    manager.register::<Shared<dyn Item>>().unwrap();
    let error = manager.from_slice(&save::<Shared<dyn Item>>(shared(Gem))).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongClass);
    assert!(error.message().starts_with("class Gem is not registered for trait Item"), "{error}");
    assert_eq!(error.object(), Some(1));
}

#[test]
fn saving_a_class_that_is_not_registered_for_the_trait_names_both() {
    let refused = |mut manager: SaveManager| {
        manager.add(&shared(vec![shared(Gem) as Shared<dyn Item>])).unwrap();
        let error = manager.to_vec().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WrongClass, "{error}");
        let message = "class Gem is not registered for trait Item; call";
        assert!(error.message().starts_with(message), "{error}");
    };
    refused(older());
    let manager = older();
    manager.register::<Gem>().unwrap();
    refused(manager);

    let mut manager = older();
    manager.add(&(shared(Gem) as Shared<dyn Item>)).unwrap();
    let error = manager.to_vec().unwrap_err();
    assert!(error.message().starts_with("the object is of class Gem that is not"), "{error}");
}

#[test]
fn pointers_finds_all_objects_of_a_trait() {
    type World = (Vec<Shared<dyn Item>>, Vec<Rc<dyn Item>>, Arc<Mutex<dyn Item + Send>>);
    let mut manager = manager();
    let added: Shared<dyn Item> = shared(sword(5));
    let id = manager.add(&added).unwrap();
    let cells: Vec<Shared<dyn Item>> = vec![shared(Gem), added, shared(sword(6))];
    let world: World = (cells, vec![Rc::new(Gem)], Arc::new(Mutex::new(sword(8))));
    manager.add(&shared(world)).unwrap();
    let save = manager.to_vec().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    let mut prices: Vec<u32> =
        loaded.pointers::<Shared<dyn Item>>().map(|item| item.borrow().price()).collect();
    prices.sort_unstable();
    assert_eq!(prices, [50, 60, 1000]);
    assert_eq!(loaded.pointers::<Rc<dyn Item>>().count(), 1);
    assert_eq!(loaded.pointers::<Arc<Mutex<dyn Item + Send>>>().count(), 1);
    // By every trait that its class is registered for.
    assert_eq!(loaded.pointers::<Arc<Mutex<dyn Item>>>().count(), 1);
    assert_eq!(loaded.iter::<Sword>().count(), 2);
    assert_eq!(loaded.pointer::<Shared<dyn Item>>(id).unwrap().borrow().price(), 50);
    assert_eq!(loaded.first_pointer::<Shared<dyn Item>>().unwrap().borrow().price(), 50);
}
