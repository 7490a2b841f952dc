//! Handles in what the program does not have: they get new ids with all others.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use persist::save::{Remap, UnmappedHandle};
use persist::{ErrorKind, Handle, Persist, SaveManager, Saves, Unknown};

use crate::handles::{Items, Key, Monster, Monsters, at, dead};

#[persist::dynamic(unknown = MissingItem)]
trait Item {}

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

impl Item for MissingItem {}

/// Of a mod that may be switched off.
#[derive(Persist)]
struct Bow {
    aims: Monster,
    count: u32,
    hit: HashMap<Monster, Vec<Option<Monster>>>,
    arrow: Handle<Items>,
    next: Option<Rc<RefCell<Bow>>>,
}

impl Item for Bow {}

impl Bow {
    fn new(aims: Monster, hit: &[(Monster, Monster)], next: Option<Rc<RefCell<Bow>>>) -> Self {
        let hit = hit.iter().map(|(key, value)| (*key, vec![None, Some(*value)])).collect();
        Self { aims, count: 7, hit, arrow: Handle::new((1, 1)), next }
    }

    fn all(&self) -> Vec<Monster> {
        let hit = |key: &Monster| self.hit.get(key).and_then(|found| found[1]);
        let mut all: Vec<Monster> =
            self.hit.keys().flat_map(|key| [Some(*key), hit(key)]).flatten().collect();
        all.sort();
        all.push(self.aims);
        all
    }
}

#[derive(Persist)]
struct Chest {
    items: Vec<Box<dyn Item>>,
    hand: Option<Rc<RefCell<dyn Item>>>,
}

/// Even slots have a new id, before the old ones.
fn even((slot, generation): Key) -> Option<Key> {
    slot.is_multiple_of(2).then_some((40 - slot, generation))
}

fn chest() -> Vec<u8> {
    let hit = [(at(2), at(4)), (at(4), at(3)), (at(3), at(2))];
    let last = Rc::new(RefCell::new(Bow::new(at(8), &[], None)));
    let bow = Bow::new(at(2), &hit, Some(last));
    let hand: Rc<RefCell<dyn Item>> = Rc::new(RefCell::new(Bow::new(at(4), &hit, None)));
    let chest = Chest { items: vec![Box::new(bow)], hand: Some(hand) };
    let mut manager = SaveManager::new();
    manager.register_as::<Bow, dyn Item>().unwrap();
    manager.add(&Rc::new(RefCell::new(chest))).unwrap();
    manager.to_vec().unwrap()
}

#[test]
fn handles_in_stand_ins_and_kept_objects_get_new_ids() {
    let saves = Saves::new();
    saves.register::<Chest>().unwrap();
    let mut remap = Remap::new();
    remap.arena::<Monsters>(UnmappedHandle::Dead, even);
    let loaded = remap.from_slice::<SaveManager>(&saves, &chest()).unwrap();
    assert_eq!(loaded.report().remapped(), 11);
    drop(remap);
    let save = loaded.to_vec().unwrap();

    let manager = SaveManager::new();
    manager.register_as::<Bow, dyn Item>().unwrap();
    manager.register::<Chest>().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    let hit = [at(36), dead(3), at(38), at(36), dead(3), at(38)];
    let mut expected = hit.to_vec();
    expected.sort();
    let bows: Vec<_> = loaded.iter::<Bow>().collect();
    let mut aims: Vec<Monster> = bows.iter().map(|bow| bow.borrow().aims).collect();
    aims.sort();
    assert_eq!(aims, [at(32), at(36)]);
    for bow in bows {
        let bow = bow.borrow();
        let mut all = bow.all();
        assert_eq!((bow.count, bow.arrow.key()), (7, Some((1, 1))));
        assert_eq!(all.pop(), Some(bow.aims));
        assert!(all.is_empty() || all == expected, "{all:?}");
    }
}

#[derive(Persist)]
struct Guard {
    name: String,
    hates: Monster,
    post: Post,
}

#[derive(Persist)]
enum Post {
    Gate(Monster),
}

#[derive(Persist)]
#[persist(class = "Guard")]
struct OldGuard {
    name: String,
    post: OldPost,
}

#[derive(Persist)]
#[persist(class = "Post")]
enum OldPost {
    #[persist(other)]
    Other(Unknown),
}

#[test]
fn handles_in_fields_and_variants_that_are_kept_get_new_ids() {
    let mut manager = SaveManager::new();
    let guard = Guard { name: String::from("Ada"), hates: at(2), post: Post::Gate(at(6)) };
    manager.add(&Rc::new(RefCell::new(guard))).unwrap();
    let save = manager.to_vec().unwrap();

    let old = Saves::new();
    old.register::<OldGuard>().unwrap();
    let mut remap = Remap::new();
    remap.arena::<Monsters>(UnmappedHandle::Error, even);
    let loaded = remap.from_slice::<SaveManager>(&old, &save).unwrap();
    drop(remap);
    let save = loaded.to_vec().unwrap();

    let loaded = manager.from_slice(&save).unwrap();
    let guard = loaded.first::<Guard>().unwrap();
    let Post::Gate(gate) = guard.borrow().post;
    assert_eq!((guard.borrow().hates, gate), (at(38), at(34)));
}

#[test]
fn a_kept_handle_without_a_new_id_may_be_an_error_that_says_where() {
    let saves = Saves::new();
    saves.register::<Chest>().unwrap();
    let mut remap = Remap::new();
    remap.arena::<Monsters>(UnmappedHandle::Error, even);
    let result = remap.from_slice::<SaveManager>(&saves, &chest());
    let error = result.map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingObject, "{error}");
    assert_eq!(error.class(), Some("Chest"));
    assert!(error.field().is_some_and(|field| field.starts_with("items[0].hit")), "{error}");
}
