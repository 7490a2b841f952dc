//! Weak references to objects that nothing holds any more, since what held them was dropped: they dangle, and never lead
//! to another object of the same type.

#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "the helpers are part of the tests, and some fields are only saved"
)]

use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex, Weak as ArcWeak};

use persist::save::LoadEvent;
use persist::{LoadOptions, Persist, SaveManager, Saves};
use persist_tests::support::{Shared, shared};

/// Bob, whose friend is Cem. Cem's one owner is what the program drops; Ada and Dana are objects of the same type.
struct Town {
    ada: Shared<String>,
    bob: Npc,
    cem: Shared<String>,
    dana: Shared<String>,
}

#[derive(Persist)]
struct Npc {
    name: Shared<String>,
    friend: Weak<std::cell::RefCell<String>>,
}

impl Npc {
    fn friend(&self) -> Option<String> {
        self.friend.upgrade().map(|friend| friend.borrow().clone())
    }
}

fn town() -> Town {
    let [ada, bob, cem, dana] = ["Ada", "Bob", "Cem", "Dana"].map(|name| shared(name.to_owned()));
    let bob = Npc { name: bob, friend: Rc::downgrade(&cem) };
    Town { ada, bob, cem, dana }
}

#[derive(Persist)]
#[persist(class = "Tent")]
struct OldTent<T> {
    ada: Shared<String>,
    bob: Npc,
    /// Holds Cem.
    held: T,
    dana: Shared<String>,
}

#[derive(Persist)]
struct Tent<T> {
    ada: Shared<String>,
    bob: Npc,
    held: T,
    dana: Shared<String>,
}

#[derive(Persist)]
#[persist(alias = "Tent<Rc<RefCell<String>>>", removed = "held")]
struct Removed {
    ada: Shared<String>,
    bob: Npc,
    dana: Shared<String>,
}

#[derive(Persist)]
#[persist(alias = "Tent<Rc<RefCell<String>>>")]
struct Unknown {
    ada: Shared<String>,
    bob: Npc,
    dana: Shared<String>,
}

#[derive(Persist)]
#[persist(class = "Guest")]
enum OldGuest {
    Friend(Shared<String>),
    Nobody,
}

#[derive(Persist)]
enum Guest {
    #[persist(other)]
    Nobody,
}

#[derive(Persist, PartialEq, Eq, PartialOrd, Ord)]
#[persist(class = "Place")]
enum OldPlace {
    Hall,
    Attic,
    Cellar,
}

#[derive(Persist, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Hall,
    #[persist(other)]
    Other,
}

#[derive(Persist)]
#[persist(class = "Bed")]
struct OldBed {
    guest: Shared<String>,
    number: u16,
}

#[derive(Persist)]
struct Bed {
    guest: Shared<String>,
    number: u8,
}

#[persist::dynamic]
trait Tool {}

#[derive(Persist)]
struct Axe {
    owner: Shared<String>,
}

#[derive(Persist)]
struct Saw {
    owner: Shared<String>,
}

impl Tool for Axe {}
impl Tool for Saw {}

#[derive(Persist)]
#[persist(alias = "Tent<Vec<Bed>>")]
struct SkippedTent {
    ada: Shared<String>,
    bob: Npc,
    #[persist(skip_failed)]
    held: Vec<Bed>,
    dana: Shared<String>,
}

fn old<T>(held: impl FnOnce(&Shared<String>) -> T) -> OldTent<T> {
    let Town { ada, bob, cem, dana } = town();
    OldTent { ada, bob, held: held(&cem), dana }
}

/// Loads the save, and says whose friend Bob is, how many rows say `Dangling`, and whose friend he is after the next save.
fn load<T: Persist>(saves: &Saves, save: &[u8], bob: fn(&T) -> &Npc) -> [String; 3] {
    let loaded = saves.from_slice::<T>(save).unwrap();
    let rows = loaded.report().rows().iter().filter(|row| row.event == LoadEvent::Dangling);
    let dangling = rows.map(|row| row.count).sum::<u64>().to_string();
    assert_eq!(*bob(&loaded).name.borrow(), "Bob");
    let again = saves.to_vec(&*loaded).unwrap();
    let again = saves.from_slice::<T>(&again).unwrap();
    let friend = |npc: &Npc| npc.friend().unwrap_or_else(|| "nobody".into());
    [friend(bob(&loaded)), dangling, friend(bob(&again))]
}

const DANGLES: [&str; 3] = ["nobody", "1", "nobody"];

#[test]
fn a_weak_reference_to_what_a_removed_field_held_dangles() {
    let save = persist::to_vec(&old(Rc::clone)).unwrap();
    assert_eq!(load::<Removed>(&Saves::new(), &save, |tent| &tent.bob), DANGLES);
}

#[test]
fn a_weak_reference_leads_to_what_an_unknown_field_holds_until_that_is_given_up() {
    let save = persist::to_vec(&old(Rc::clone)).unwrap();
    let found = load::<Unknown>(&Saves::new(), &save, |tent| &tent.bob);
    assert_eq!(found, ["Cem", "0", "nobody"]);
}

#[test]
fn a_weak_reference_to_what_a_variant_held_that_is_another_one_now_dangles() {
    let save = persist::to_vec(&old(|cem| OldGuest::Friend(cem.clone()))).unwrap();
    assert_eq!(load::<Tent<Guest>>(&Saves::new(), &save, |tent| &tent.bob), DANGLES);
}

#[test]
fn a_weak_reference_to_what_a_skipped_element_held_dangles() {
    let beds = |cem: &Shared<String>| {
        let number = 300;
        let guest = cem.clone();
        vec![OldBed { guest: shared("Eve".into()), number: 1 }, OldBed { guest, number }]
    };
    let save = persist::to_vec(&old(beds)).unwrap();
    assert_eq!(load::<SkippedTent>(&Saves::new(), &save, |tent| &tent.bob), DANGLES);
}

#[test]
fn a_weak_reference_to_what_a_dropped_key_held_dangles() {
    let places = |cem: &Shared<String>| {
        let guest = shared("Eve".to_owned());
        BTreeMap::from([
            (OldPlace::Hall, shared("Finn".to_owned())),
            (OldPlace::Attic, guest),
            (OldPlace::Cellar, cem.clone()),
        ])
    };
    let save = persist::to_vec(&old(places)).unwrap();
    let places = load::<Tent<BTreeMap<Place, Shared<String>>>>;
    assert_eq!(places(&Saves::new(), &save, |tent| &tent.bob), DANGLES);
}

#[test]
fn a_weak_reference_leads_to_what_a_trait_object_of_an_unknown_class_holds_until_that_is_given_up()
{
    let saves = Saves::new();
    saves.register_as::<Axe, dyn Tool>().unwrap();
    saves.register_as::<Saw, dyn Tool>().unwrap();
    let saw = |cem: &Shared<String>| Some(Box::new(Saw { owner: cem.clone() }) as Box<dyn Tool>);
    let save = saves.to_vec(&old(saw)).unwrap();
    let saves = Saves::new();
    saves.register_as::<Axe, dyn Tool>().unwrap();
    let tents = load::<Tent<Option<Box<dyn Tool>>>>;
    assert_eq!(tents(&saves, &save, |tent| &tent.bob), ["Cem", "0", "nobody"]);
    let dropping = saves.load_options(LoadOptions::new().drop_unknown(true));
    assert_eq!(tents(&dropping, &save, |tent| &tent.bob), DANGLES);
}

#[test]
fn a_weak_reference_between_objects_behind_locks_dangles_also_in_a_cycle() {
    #[derive(Persist)]
    struct Person {
        name: String,
        friends: Vec<ArcWeak<Mutex<Self>>>,
    }
    #[derive(Persist)]
    #[persist(class = "Seat")]
    struct OldSeat {
        person: Arc<Mutex<Person>>,
        number: u16,
    }
    #[derive(Persist)]
    struct Seat {
        person: Arc<Mutex<Person>>,
        number: u8,
    }
    #[derive(Persist)]
    #[persist(class = "Bus")]
    struct OldBus {
        seats: Vec<OldSeat>,
    }
    #[derive(Persist)]
    struct Bus {
        #[persist(skip_failed)]
        seats: Vec<Seat>,
    }
    let names = ["Ada", "Bob", "Cem", "Dana"];
    let people =
        names.map(|name| Arc::new(Mutex::new(Person { name: name.into(), friends: Vec::new() })));
    for person in &people {
        person.lock().unwrap().friends = people.iter().map(Arc::downgrade).collect();
    }
    let numbers = [1, 300, 2, 301];
    let seats = people.iter().cloned().zip(numbers);
    let seats = seats.map(|(person, number)| OldSeat { person, number }).collect();
    let save = persist::to_vec(&OldBus { seats }).unwrap();
    let bus = Saves::new().from_slice::<Bus>(&save).unwrap();
    let people: Vec<_> = bus.seats.iter().map(|seat| seat.person.lock().unwrap()).collect();
    assert_eq!(people.iter().map(|it| &*it.name).collect::<Vec<_>>(), ["Ada", "Cem"]);
    for person in &people {
        let friends = person.friends.iter().map(|friend| {
            let friend = friend.upgrade()?;
            (0..2).find(|seat| Arc::ptr_eq(&friend, &bus.seats[*seat].person))
        });
        assert_eq!(friends.collect::<Vec<_>>(), [Some(0), None, Some(1), None]);
    }
}

#[test]
fn an_object_that_has_an_id_of_its_own_stays_and_weak_references_lead_to_it() {
    let Town { ada, bob, cem, dana } = town();
    let mut manager = SaveManager::new();
    manager.add(&cem).unwrap();
    manager.add(&shared(OldTent { ada, bob, held: cem.clone(), dana })).unwrap();
    let save = manager.to_vec().unwrap();
    let manager = SaveManager::new();
    manager.register::<Removed>().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    let tent = loaded.first::<Removed>().unwrap();
    assert_eq!(tent.borrow().bob.friend().as_deref(), Some("Cem"));
}
