//! Trait objects in boxes: they come back as what they were, and classes that a
//! program does not have are `None` or an error, never silent.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Mutex;

use persist::save::LoadEvent;
use persist::{Error, ErrorKind, Loaded, Persist, SaveManager, Saves};
use persist_tests::support::disarranged::check_objects;
use persist_tests::support::{Shared, shared};

#[persist::dynamic]
trait Item {
    fn price(&self) -> u32;
}

#[persist::dynamic(name = "quest.Weapon")]
trait Weapon {
    fn strike(&mut self) -> u32;
}

#[derive(Persist)]
struct Sword {
    sharp: u32,
}

#[derive(Persist)]
enum Gem {
    Ruby,
    Opal { carat: u32, note: String },
}

/// May hold more of itself.
#[derive(Persist)]
struct Bag {
    name: String,
    items: Vec<Box<dyn Item>>,
}

impl Item for Sword {
    fn price(&self) -> u32 {
        10 * self.sharp
    }
}

impl Weapon for Sword {
    fn strike(&mut self) -> u32 {
        self.sharp -= 1;
        self.sharp
    }
}

impl Item for Gem {
    fn price(&self) -> u32 {
        match self {
            Self::Ruby => 1000,
            Self::Opal { carat, note } => carat * 100 + u32::try_from(note.len()).unwrap(),
        }
    }
}

impl Item for Bag {
    fn price(&self) -> u32 {
        self.items.iter().map(|item| item.price()).sum()
    }
}

fn sword(sharp: u32) -> Box<dyn Item> {
    Box::new(Sword { sharp })
}

fn bag(name: &str, items: Vec<Box<dyn Item>>) -> Box<Bag> {
    Box::new(Bag { name: name.into(), items })
}

fn opal(carat: u32) -> Gem {
    Gem::Opal { carat, note: "milky".into() }
}

/// A manager with all classes of items.
fn manager() -> SaveManager {
    let manager = SaveManager::new();
    manager.register_as::<Sword, dyn Item>().unwrap();
    manager.register_as::<Gem, dyn Item>().unwrap();
    manager.register_as::<Bag, dyn Item>().unwrap();
    manager
}

/// A manager that knows swords only.
fn older() -> SaveManager {
    let manager = SaveManager::new();
    manager.register_as::<Sword, dyn Item>().unwrap();
    manager
}

fn save<T: Persist>(value: T) -> Vec<u8> {
    let mut manager = manager();
    manager.add(&shared(value)).unwrap();
    manager.to_vec().unwrap()
}

fn load<T: Persist>(manager: &SaveManager, save: &[u8]) -> Result<Loaded<SaveManager>, Error> {
    manager.register::<T>().unwrap();
    manager.from_slice(save)
}

fn manager_of<T: Persist>() -> SaveManager {
    let manager = manager();
    manager.register::<T>().unwrap();
    manager
}

/// Saves and loads a value in an object.
fn trip<T: Persist>(value: T) -> Shared<T> {
    let save = save(value);
    check_objects(&save, 0, || manager_of::<T>());
    let loaded = load::<T>(&manager(), &save).unwrap();
    assert!(loaded.report().is_clean(), "{}", loaded.report());
    loaded.first::<T>().unwrap()
}

#[derive(Persist)]
struct Shop {
    sign: Box<dyn Item>,
    shelf: Vec<Box<dyn Item>>,
    window: Option<Box<dyn Item>>,
    safe: Option<Box<dyn Item>>,
    orders: HashMap<String, Box<dyn Item>>,
    rows: BTreeMap<u8, (u32, [Box<dyn Item>; 2])>,
    hidden: RefCell<Box<dyn Item>>,
    sent: Box<dyn Item + Send>,
    kept: Mutex<Box<dyn Item + Send + Sync>>,
    till: u32,
}

fn shop() -> Shop {
    Shop {
        sign: Box::new(Gem::Ruby),
        shelf: vec![sword(3), Box::new(opal(2)), bag("empty", vec![])],
        window: Some(sword(4)),
        safe: None,
        orders: HashMap::from([("Ada".into(), sword(5)), ("Bob".into(), Box::new(opal(7)) as _)]),
        rows: BTreeMap::from([(1, (8, [sword(6), Box::new(Gem::Ruby)]))]),
        hidden: RefCell::new(bag("one", vec![sword(7)])),
        sent: Box::new(Sword { sharp: 8 }),
        kept: Mutex::new(Box::new(Sword { sharp: 9 })),
        till: 99,
    }
}

#[test]
fn classes_that_a_long_value_turns_out_to_hold_are_defined_before_it_wherever_a_buffer_is_full() {
    // Values of the first class fill several windows before the next one is met.
    let swords = || (0..300).map(sword).chain([Box::new(opal(3)) as _, Box::new(Gem::Ruby) as _]);
    let bags = || vec![shared(*bag("swords", swords().collect())), shared(*bag("", vec![]))];
    let objects = bags();
    let save = |size: usize| {
        let mut manager = manager();
        // Its windows are as large as what was saved before.
        manager.saves().to_vec(&vec![0_u8; size]).unwrap();
        for bag in &objects {
            manager.add(bag).unwrap();
        }
        manager.add(&shared(Sword { sharp: 7 })).unwrap();
        manager.to_vec().unwrap()
    };
    let whole = save(1 << 20);
    for size in [0, 1030, 1064, 1300, 1301, 1302, 2000] {
        assert!(save(size) == whole, "after {size} bytes");
    }
    let loaded = load::<Bag>(&manager(), &whole).unwrap();
    let prices: Vec<_> = loaded.iter::<Bag>().map(|bag| bag.borrow().price()).collect();
    assert_eq!(prices, [objects[0].borrow().price(), 0]);
}

#[test]
fn boxes_come_back_wherever_they_are_kept() {
    let mut manager = manager();
    manager.register_as::<Sword, dyn Item + Send>().unwrap();
    manager.register_as::<Sword, dyn Item + Send + Sync>().unwrap();
    manager.add(&shared(shop())).unwrap();
    let save = manager.to_vec().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    assert!(loaded.report().is_clean(), "{}", loaded.report());
    let shop = loaded.first::<Shop>().unwrap();
    let shop = shop.borrow();
    let prices: Vec<u32> = shop.shelf.iter().map(|item| item.price()).collect();
    assert_eq!((shop.sign.price(), &prices[..]), (1000, &[30, 205, 0][..]));
    assert_eq!(shop.window.as_ref().map(|item| item.price()), Some(40));
    assert!(shop.safe.is_none());
    assert_eq!((shop.orders["Ada"].price(), shop.orders["Bob"].price()), (50, 705));
    let (number, row) = &shop.rows[&1];
    assert_eq!((*number, row[0].price(), row[1].price()), (8, 60, 1000));
    assert_eq!(shop.hidden.borrow().price(), 70);
    assert_eq!((shop.sent.price(), shop.kept.lock().unwrap().price()), (80, 90));
    assert_eq!(shop.till, 99);
}

#[test]
fn bags_in_bags_come_back() {
    let inner = bag("inner", vec![sword(1), bag("innermost", vec![Box::new(Gem::Ruby)])]);
    let loaded = trip(Bag { name: "outer".into(), items: vec![inner, sword(2)] });
    let loaded = loaded.borrow();
    assert_eq!((&*loaded.name, loaded.items.len(), loaded.price()), ("outer", 2, 1030));
}

#[test]
fn bags_are_nested_only_as_deep_as_the_limit() {
    let nested = |depth| (0..depth).fold(bag("", vec![]), |inner, _| bag("", vec![inner]));
    let depth = usize::try_from(persist::Limits::default().depth).unwrap();
    assert_eq!(trip(*nested(depth / 4)).borrow().items.len(), 1);
    let mut manager = manager();
    manager.add(&shared(*nested(depth + 1))).unwrap();
    assert_eq!(manager.to_vec().unwrap_err().kind(), ErrorKind::TooDeep);
}

#[test]
fn a_class_that_is_not_registered_is_none_in_an_option() {
    type Row = (u8, Option<Box<dyn Item>>, u8);
    let rows: Vec<Row> = vec![
        (1, Some(sword(1)), 2),
        (3, Some(Box::new(opal(2))), 4),
        (5, Some(bag("b", vec![Box::new(Gem::Ruby), sword(3)])), 6),
        (7, Some(Box::new(Gem::Ruby)), 8),
        (9, None, 10),
    ];
    let loaded = load::<Vec<Row>>(&older(), &save(rows)).unwrap();
    let rows = loaded.first::<Vec<Row>>().unwrap();
    let seen: Vec<_> = rows
        .borrow()
        .iter()
        .map(|(before, item, after)| (*before, item.as_ref().map(|item| item.price()), *after))
        .collect();
    assert_eq!(seen, [(1, Some(10), 2), (3, None, 4), (5, None, 6), (7, None, 8), (9, None, 10)]);
    let findings = loaded.report().rows();
    let found: Vec<_> =
        findings.iter().map(|found| (found.event, &*found.class, found.count)).collect();
    assert_eq!(found, [(LoadEvent::Unregistered, "Bag", 1), (LoadEvent::Unregistered, "Gem", 2)]);
    assert!(findings.iter().all(|found| found.object.map(persist::ObjectId::get) == Some(1)));
}

#[test]
fn a_class_that_is_registered_but_not_for_the_trait_is_none_too() {
    let save = save(Some(Box::new(opal(2)) as Box<dyn Item>));
    let manager = older();
    manager.register::<Gem>().unwrap();
    let loaded = load::<Option<Box<dyn Item>>>(&manager, &save).unwrap();
    assert!(loaded.first::<Option<Box<dyn Item>>>().unwrap().borrow().is_none());
    assert_eq!(loaded.report().rows()[0].event, LoadEvent::Unregistered);
}

#[test]
fn without_an_option_it_is_an_error_that_names_class_and_trait() {
    let save = save(vec![sword(1), Box::new(Gem::Ruby)]);
    let error = load::<Vec<Box<dyn Item>>>(&older(), &save).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongClass);
    assert!(error.message().starts_with("class Gem is not registered for trait Item"), "{error}");
    assert!(error.message().contains("`register_as::<Gem, dyn Item>()`"), "{error}");
    assert_eq!((error.object(), error.class()), (Some(1), Some("Vec<Box<dyn Item>>")));
}

#[test]
fn saving_a_class_that_is_not_registered_for_the_trait_names_both() {
    let refused = |mut manager: SaveManager| {
        manager.add(&shared(vec![sword(1), Box::new(opal(1))])).unwrap();
        let error = manager.to_vec().unwrap_err();
        assert_eq!((error.kind(), error.object()), (ErrorKind::WrongClass, Some(1)), "{error}");
        assert!(
            error.message().starts_with("class Gem is not registered for trait Item"),
            "{error}"
        );
    };
    refused(older());
    let manager = older();
    manager.register::<Gem>().unwrap();
    refused(manager);
}

#[test]
fn a_trait_is_saved_by_its_given_name() {
    let mut manager = SaveManager::new();
    manager.register_as::<Sword, dyn Weapon + Send>().unwrap();
    let object: Box<dyn Weapon> = Box::new(Sword { sharp: 1 });
    manager.add(&shared(object)).unwrap();
    let error = manager.to_vec().unwrap_err();
    assert!(error.message().contains("trait quest.Weapon;"), "{error}");
}

#[test]
fn two_traits_of_one_name_are_refused() {
    mod other {
        #[persist::dynamic(name = "quest.Weapon")]
        pub(crate) trait Bow {}
    }
    #[derive(Persist)]
    struct Long;
    impl other::Bow for Long {}
    let saves = Saves::new();
    saves.register_as::<Long, dyn other::Bow>().unwrap();
    let error = saves.register_as::<Sword, dyn Weapon>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateId);
    assert!(error.message().contains("quest.Weapon"), "{error}");
    assert!(saves.registry().class("Sword").is_none());
}

/// Its alias is the name of another class, which shows when all that it reaches has been entered.
#[derive(Persist)]
#[persist(alias = "Bag")]
struct Rack {
    hooks: Vec<Hook>,
    items: Vec<Shared<dyn Item>>,
    weapons: Vec<Shared<dyn Weapon>>,
}

#[derive(Persist)]
struct Hook(u8);

impl Item for Rack {
    fn price(&self) -> u32 {
        self.hooks.iter().map(|hook| u32::from(hook.0)).sum()
    }
}

#[test]
fn a_registration_that_is_refused_leaves_nothing() {
    let register = |manager: &mut SaveManager| {
        manager.register_as::<Sword, dyn Item>().unwrap();
        manager.register_as::<Bag, dyn Item>().unwrap();
    };
    let (mut manager, mut twin) = (SaveManager::new(), SaveManager::new());
    register(&mut manager);
    register(&mut twin);
    for _ in 0..2 {
        let refused = [manager.register::<Rack>(), manager.register_as::<Rack, dyn Item>()];
        for error in refused.map(Result::unwrap_err) {
            assert_eq!(error.kind(), ErrorKind::DuplicateId);
            assert!(error.message().contains("`Bag` is an alias of Rack"), "{error}");
        }
        let registries = [&manager, &twin].map(|manager| manager.saves().registry());
        assert_eq!(format!("{:?}", registries[0]), format!("{:?}", registries[1]));
        assert!(registries[0].class("Hook").is_none());
    }
    // Neither is the rack of the trait, nor do swords lie in its pointers.
    let rack = || Rack { hooks: vec![Hook(3)], items: Vec::new(), weapons: Vec::new() };
    let items: [Box<dyn Item>; 2] = [Box::new(rack()), sword(2)];
    for (item, is_known) in items.into_iter().zip([false, true]) {
        let bag = shared(Bag { name: "sack".into(), items: vec![item] });
        let saved = [&mut manager, &mut twin].map(|manager| {
            let id = manager.add(&bag).unwrap();
            let saved = manager.to_vec();
            manager.remove(id);
            saved.map_err(|error| error.to_string())
        });
        assert_eq!(saved[0], saved[1]);
        assert_eq!(saved[0].is_ok(), is_known);
    }
    let object: Shared<dyn Item> = shared(Sword { sharp: 1 });
    let refused = [&mut manager, &mut twin].map(|manager| {
        manager.add(&object).unwrap();
        manager.to_vec().map_err(|error| error.to_string())
    });
    assert_eq!(refused[0], refused[1]);
}

#[test]
fn one_class_may_have_two_traits() {
    type Two = (Box<dyn Item>, Box<dyn Weapon>, Shared<dyn Item>, Shared<dyn Weapon>);
    let mut manager = manager();
    manager.register_as::<Sword, dyn Weapon>().unwrap();
    let one = shared(Sword { sharp: 5 });
    let two: Two = (sword(2), Box::new(Sword { sharp: 3 }), one.clone(), one);
    manager.add(&shared(two)).unwrap();
    let save = manager.to_vec().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    assert_eq!(loaded.len(), 2);
    let two = loaded.first::<Two>().unwrap();
    let (item, weapon, seen, other) = &mut *two.borrow_mut();
    assert_eq!((item.price(), weapon.strike()), (20, 2));
    assert_eq!(other.borrow_mut().strike(), 4);
    assert_eq!(seen.borrow().price(), 40);
}

/// The classes of an older program, and of the one that it became.
mod old {
    #[persist::dynamic(name = "Pet")]
    pub(crate) trait Pet {}

    #[derive(persist::Persist)]
    #[persist(class = "Cat")]
    pub(crate) struct Cat {
        pub(crate) lives: u8,
        pub(crate) whiskers: Vec<u16>,
    }

    impl Pet for Cat {}
}

#[persist::dynamic]
trait Pet {
    fn about(&self) -> (u8, &str);
}

#[derive(Persist)]
struct Cat {
    #[persist(default = "Tom".to_owned())]
    name: String,
    lives: u8,
}

impl Pet for Cat {
    fn about(&self) -> (u8, &str) {
        (self.lives, &self.name)
    }
}

#[test]
fn classes_behind_a_trait_change_as_others_do() {
    type Old = (Vec<Box<dyn old::Pet>>, Shared<dyn old::Pet>, Rc<dyn old::Pet>, u8);
    type New = (Vec<Box<dyn Pet>>, Shared<dyn Pet>, Rc<dyn Pet>, u8);
    let cat = |lives| old::Cat { lives, whiskers: vec![1; usize::from(lives)] };
    let mut manager = SaveManager::new();
    manager.register_as::<old::Cat, dyn old::Pet>().unwrap();
    let boxed: Vec<Box<dyn old::Pet>> = vec![Box::new(cat(9)), Box::new(cat(7))];
    let old: Old = (boxed, shared(cat(5)), Rc::new(cat(3)), 1);
    manager.add(&shared(old)).unwrap();
    let save = manager.to_vec().unwrap();

    let manager = SaveManager::new();
    manager.register_as::<Cat, dyn Pet>().unwrap();
    let loaded = load::<New>(&manager, &save).unwrap();
    let new = loaded.first::<New>().unwrap();
    let (boxes, cell, bare, end) = &*new.borrow();
    let boxes: Vec<_> = boxes.iter().map(|pet| pet.about()).collect();
    assert_eq!((&boxes[..], *end), (&[(9, "Tom"), (7, "Tom")][..], 1));
    assert_eq!((cell.borrow().about(), bare.about()), ((5, "Tom"), (3, "Tom")));
    let found: Vec<_> = loaded
        .report()
        .rows()
        .iter()
        .map(|found| (found.event, found.field.as_deref(), found.count))
        .collect();
    // Those in boxes are inside of the object, and have no ids to be kept by.
    let whiskers = Some("whiskers");
    assert_eq!(
        found,
        [
            (LoadEvent::Defaulted, Some("name"), 4),
            (LoadEvent::Kept, whiskers, 2),
            (LoadEvent::Dropped, whiskers, 2)
        ]
    );
}
