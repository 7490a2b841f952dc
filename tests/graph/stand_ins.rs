//! A class that a trait does not know is kept by the trait's stand-in, with what it
//! refers to, and goes back to the next save as it was: a player's chest while a
//! mod is switched off.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex};

use persist::save::{LoadEvent, LoadReport};
use persist::{Persist, SaveManager, Unknown};

#[persist::dynamic(unknown = MissingItem)]
trait Item {
    fn describe(&self) -> String;
}

#[derive(Persist)]
struct MissingItem {
    unknown: Unknown,
}

impl From<Unknown> for MissingItem {
    fn from(unknown: Unknown) -> Self {
        Self { unknown }
    }
}

impl AsRef<Unknown> for MissingItem {
    fn as_ref(&self) -> &Unknown {
        &self.unknown
    }
}

impl Item for MissingItem {
    fn describe(&self) -> String {
        format!("missing {}", self.unknown.class())
    }
}

type Hero = Rc<RefCell<Person>>;

#[derive(Persist)]
struct Person {
    name: String,
    chest: Vec<Box<dyn Item>>,
    hand: Option<Rc<RefCell<dyn Item>>>,
    back: Option<Arc<Mutex<dyn Item>>>,
    amulet: Option<Rc<dyn Item>>,
    watched: Option<Weak<RefCell<dyn Item>>>,
    by_name: HashMap<String, Rc<RefCell<dyn Item>>>,
}

#[derive(Persist)]
struct Sword {
    sharp: u8,
}

impl Item for Sword {
    fn describe(&self) -> String {
        format!("sword {}", self.sharp)
    }
}

/// What the mod adds; it refers to the game's objects and to its own.
#[derive(Persist)]
struct Laser {
    charge: u32,
    owner: Option<Hero>,
    maker: Weak<RefCell<Person>>,
    lens: Option<Rc<Lens>>,
    spare: Vec<Box<dyn Item>>,
    pair: Option<Rc<RefCell<dyn Item>>>,
    place: Place,
}

/// A class of the mod that no trait has.
#[derive(Persist)]
struct Lens {
    focus: f32,
    next: Option<Rc<Lens>>,
    names: HashMap<String, Rc<RefCell<Lens>>>,
}

#[derive(Persist, Clone, PartialEq, Debug)]
struct Place {
    x: i32,
    y: i32,
}

impl Item for Laser {
    fn describe(&self) -> String {
        let spare: Vec<_> = self.spare.iter().map(|item| item.describe()).collect();
        let lens = self.lens.as_ref().map_or(0.0, |lens| lens.focus);
        format!("laser {} {lens} {:?} [{}]", self.charge, self.place, spare.join(", "))
    }
}

fn game() -> SaveManager {
    let manager = SaveManager::new();
    manager.register::<Person>().unwrap();
    manager.register_as::<Sword, dyn Item>().unwrap();
    manager
}

fn modded() -> SaveManager {
    let manager = game();
    manager.register_as::<Laser, dyn Item>().unwrap();
    manager
}

fn person(name: &str) -> Hero {
    Rc::new(RefCell::new(Person {
        name: name.into(),
        chest: vec![],
        hand: None,
        back: None,
        amulet: None,
        watched: None,
        by_name: HashMap::new(),
    }))
}

fn laser(charge: u32) -> Laser {
    Laser {
        charge,
        owner: None,
        maker: Weak::new(),
        lens: None,
        spare: vec![],
        pair: None,
        place: Place { x: 1, y: -1 },
    }
}

/// Two people and their things, those of the mod in every place.
fn world() -> [Hero; 2] {
    let (ada, bob) = (person("Ada"), person("Bob"));
    let last = Rc::new(Lens { focus: 0.5, next: None, names: HashMap::new() });
    let inner = Lens { focus: 9.0, next: Some(last.clone()), names: HashMap::new() };
    let names = HashMap::from([("inner".to_owned(), Rc::new(RefCell::new(inner)))]);
    let lens = Rc::new(Lens { focus: 1.5, next: Some(last), names });
    let shared = Rc::new(RefCell::new(Laser { lens: Some(lens.clone()), ..laser(7) }));
    let other = Laser { pair: Some(shared.clone()), owner: Some(bob.clone()), ..laser(8) };
    shared.borrow_mut().pair = Some(Rc::new(RefCell::new(other)));
    {
        let mut ada = ada.borrow_mut();
        let spare: Vec<Box<dyn Item>> = vec![Box::new(Sword { sharp: 2 }), Box::new(laser(1))];
        let owner = Some(bob.clone());
        let maker = Rc::downgrade(&bob);
        let big = Laser { owner, maker, lens: Some(lens), spare, ..laser(400) };
        ada.chest = vec![Box::new(Sword { sharp: 1 }), Box::new(big), Box::new(laser(3))];
        ada.hand = Some(shared.clone());
        ada.watched = Some(Rc::downgrade(&shared) as Weak<RefCell<dyn Item>>);
        #[allow(clippy::arc_with_non_send_sync, reason = "nothing forbids it")]
        let back = Arc::new(Mutex::new(laser(5)));
        ada.back = Some(back);
        ada.amulet = Some(Rc::new(laser(6)));
    }
    let item: Rc<RefCell<dyn Item>> = shared;
    bob.borrow_mut().by_name = HashMap::from([("gun".to_owned(), item)]);
    [ada, bob]
}

fn describe(person: &Hero) -> Vec<String> {
    let person = person.borrow();
    let mut all = vec![person.name.clone()];
    all.extend(person.chest.iter().map(|item| item.describe()));
    all.extend(person.hand.iter().map(|item| item.borrow().describe()));
    all.extend(person.back.iter().map(|item| item.lock().unwrap().describe()));
    all.extend(person.amulet.iter().map(|item| item.describe()));
    all.extend(person.by_name.values().map(|item| item.borrow().describe()));
    all
}

fn kept(report: &LoadReport) -> Vec<(String, u64)> {
    let kept = report.rows().iter().filter(|finding| finding.event == LoadEvent::Kept);
    kept.map(|finding| (finding.class.clone(), finding.count)).collect()
}

#[test]
fn a_chest_survives_a_day_without_the_mod() {
    let people = world();
    let mut manager = modded();
    for person in &people {
        manager.add(person).unwrap();
    }
    let first = manager.to_vec().unwrap();

    // The day without the mod.
    let manager = game();
    let loaded = manager.from_slice(&first).unwrap();
    let [ada, bob] = &loaded.iter::<Person>().collect::<Vec<_>>()[..] else { panic!("two people") };
    let missing = || "missing Laser".to_owned();
    let expected =
        ["Ada".into(), "sword 1".into(), missing(), missing(), missing(), missing(), missing()];
    assert_eq!(describe(ada), expected);
    assert_eq!(describe(bob), ["Bob".into(), missing()]);
    // What was one object is one stand-in.
    let hand = ada.borrow().hand.clone().unwrap();
    assert!(Rc::ptr_eq(&hand, &bob.borrow().by_name["gun"]));
    assert!(Rc::ptr_eq(&hand, &ada.borrow().watched.as_ref().unwrap().upgrade().unwrap()));
    assert_eq!(kept(loaded.report()), [("Laser".into(), 6), ("Lens".into(), 3)]);
    // The player plays on: something is dropped, something moves.
    let taken = ada.borrow_mut().chest.remove(2);
    bob.borrow_mut().chest.push(taken);
    ada.borrow_mut().chest[0] = Box::new(Sword { sharp: 9 });
    let second = loaded.to_vec().unwrap();
    // And another day.
    let loaded = manager.from_slice(&second).unwrap();
    let third = loaded.to_vec().unwrap();
    assert_eq!(second, third);

    // The mod is back.
    let loaded = modded().from_slice(&third).unwrap();
    assert!(loaded.report().is_clean(), "{}", loaded.report());
    let [ada, bob] = &loaded.iter::<Person>().collect::<Vec<_>>()[..] else { panic!("two people") };
    let place = "Place { x: 1, y: -1 }";
    assert_eq!(
        describe(ada),
        [
            "Ada".to_owned(),
            "sword 9".into(),
            format!("laser 400 1.5 {place} [sword 2, laser 1 0 {place} []]"),
            format!("laser 7 1.5 {place} []"),
            format!("laser 5 0 {place} []"),
            format!("laser 6 0 {place} []"),
        ]
    );
    assert_eq!(
        describe(bob),
        ["Bob".to_owned(), format!("laser 3 0 {place} []"), format!("laser 7 1.5 {place} []")]
    );
    let lasers: Vec<Rc<RefCell<Laser>>> = loaded.iter().collect();
    let by_charge =
        |charge| lasers.iter().find(|one| one.borrow().charge == charge).unwrap().clone();
    let (seven, eight) = (by_charge(7), by_charge(8));
    assert!(Rc::ptr_eq(eight.borrow().owner.as_ref().unwrap(), bob));
    let pair = eight.borrow().pair.clone().unwrap();
    assert!(std::ptr::addr_eq(Rc::as_ptr(&pair), Rc::as_ptr(&seven)));
    // The mod's own objects are what they were, shared ones one.
    let lens = seven.borrow().lens.clone().unwrap();
    let inner = lens.names["inner"].clone();
    assert_eq!((lens.focus, inner.borrow().focus), (1.5, 9.0));
    assert!(Rc::ptr_eq(lens.next.as_ref().unwrap(), inner.borrow().next.as_ref().unwrap()));
    assert_eq!(loaded.pointers::<Rc<Lens>>().count(), 2);
    loaded.dismantle();
    seven_and_eight_are_cut(&people);
}

/// The graph of the test has a circle.
fn seven_and_eight_are_cut(people: &[Hero; 2]) {
    people[0].borrow_mut().hand.take();
    people[1].borrow_mut().by_name.clear();
}

#[test]
fn a_stand_in_that_is_moved_from_a_pointer_into_a_box_is_saved_there() {
    let ada = person("Ada");
    ada.borrow_mut().hand = Some(Rc::new(RefCell::new(laser(7))));
    let mut manager = modded();
    manager.add(&ada).unwrap();
    let save = manager.to_vec().unwrap();
    let loaded = game().from_slice(&save).unwrap();
    let ada = loaded.first::<Person>().unwrap();
    // From a pointer to a box needs the value; from a box to a pointer it has it.
    let boxed: Box<dyn Item> = {
        let hand = ada.borrow().hand.clone().unwrap();
        let hand = hand.borrow();
        let portable: &dyn std::any::Any = persist::__private::TraitObject::portable(&*hand);
        let missing = portable.downcast_ref::<MissingItem>().unwrap();
        Box::new(MissingItem { unknown: missing.unknown.clone() })
    };
    ada.borrow_mut().chest.push(boxed);
    ada.borrow_mut().hand = None;
    let save = loaded.to_vec().unwrap();
    let loaded = modded().from_slice(&save).unwrap();
    let ada = loaded.first::<Person>().unwrap();
    assert_eq!(describe(&ada), ["Ada", "laser 7 0 Place { x: 1, y: -1 } []"]);
}

#[test]
fn an_unknown_that_was_not_loaded_is_not_saved() {
    let ada = person("Ada");
    ada.borrow_mut().chest.push(Box::new(MissingItem::from(Unknown::default())));
    let mut manager = game();
    manager.add(&ada).unwrap();
    let error = manager.to_vec().unwrap_err();
    assert!(error.message().starts_with("an `Unknown` that was not loaded"), "{error}");
    assert_eq!((error.class(), error.field()), (Some("Person"), Some("chest")));
    let error = persist::to_vec(&MissingItem::from(Unknown::default())).unwrap_err();
    assert!(error.message().starts_with("an `Unknown` is saved only in"), "{error}");
}

#[test]
fn a_load_with_stand_ins_that_fails_leaves_nothing() {
    let [ada, bob] = world();
    let mut manager = modded();
    manager.add(&ada).unwrap();
    let save = manager.to_vec().unwrap();
    let alive = Rc::weak_count(&bob);
    for end in (save.len() / 2..save.len()).step_by(7) {
        assert!(game().from_slice(&save[..end]).is_err());
    }
    assert_eq!(Rc::weak_count(&bob), alive);
    seven_and_eight_are_cut(&[ada, bob]);
}

mod newer {
    use super::*;

    /// A class of the game that the mod's class holds, since changed.
    #[derive(Persist)]
    pub(super) struct Place {
        #[persist(default)]
        z: i64,
        pub(super) y: i32,
        pub(super) x: i32,
    }

    #[derive(Persist)]
    pub(super) struct Person {
        pub(super) chest: Vec<Box<dyn Item>>,
        pub(super) home: Option<Place>,
    }
}

#[test]
fn a_kept_value_holds_a_class_of_the_game_in_its_old_form() {
    let ada = person("Ada");
    ada.borrow_mut().chest.push(Box::new(laser(1)));
    let mut manager = modded();
    manager.add(&ada).unwrap();
    let save = manager.to_vec().unwrap();
    let manager = SaveManager::new();
    manager.register::<newer::Person>().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    let ada = loaded.first::<newer::Person>().unwrap();
    let place: newer::Place =
        persist::from_slice(&persist::to_vec(&Place { x: 5, y: 6 }).unwrap()).unwrap();
    assert_eq!((place.x, place.y), (5, 6));
    ada.borrow_mut().home = Some(place);
    let save = loaded.to_vec().unwrap();
    // With the mod again: both forms of the class are in one save.
    let manager = SaveManager::new();
    manager.register::<newer::Person>().unwrap();
    manager.register_as::<Laser, dyn Item>().unwrap_err();
    let loaded = manager.from_slice(&save).unwrap();
    let ada = loaded.first::<newer::Person>().unwrap();
    assert_eq!(ada.borrow().chest[0].describe(), "missing Laser");
    assert_eq!(ada.borrow().home.as_ref().unwrap().x, 5);
}
