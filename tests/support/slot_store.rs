//! What every [`SlotStore`] keeps, as tests. Folders run them in `tests/storage`, and services in the workspace `cloud`.

use std::sync::Arc;
use std::thread;

use persist::storage::{SlotStore, SlotVersion, check_slot_name};
use persist::{ErrorKind, Saves};

/// A store without slots.
pub type Store = Arc<dyn SlotStore>;

/// The save of a number, as a device makes it after another one.
pub fn save(number: u32) -> Vec<u8> {
    let saves = Saves::new().application("suite", "1").unwrap();
    saves.to_vec(&number).unwrap()
}

/// The number in a slot, and the version.
pub fn read(store: &dyn SlotStore, slot: &str) -> Option<(u32, SlotVersion)> {
    let (save, version) = store.get(slot).unwrap()?;
    Some((persist::from_slice(&save).unwrap(), version))
}

fn put(store: &dyn SlotStore, slot: &str, after: Option<&SlotVersion>, number: u32) -> SlotVersion {
    store.put_if(slot, after, &save(number)).unwrap()
}

/// Runs the suite on empty stores.
pub fn check(empty: &dyn Fn() -> Store) {
    a_save_comes_back_byte_for_byte(&*empty());
    a_slot_is_created_once(&*empty());
    only_a_writer_that_has_seen_the_save_replaces_it(&*empty());
    of_two_writers_with_equal_saves_one_succeeds(&*empty());
    only_the_version_that_is_named_is_deleted(&*empty());
    a_slot_that_is_made_again_is_another_one(&*empty());
    slots_are_listed_by_name_with_their_headers(&*empty());
    what_is_no_whole_save_is_refused(&*empty());
    names_that_no_slot_can_have_are_refused(&*empty());
}

fn a_save_comes_back_byte_for_byte(store: &dyn SlotStore) {
    assert_eq!(store.get("Ada").unwrap(), None);
    for name in ["Ada", "Ada's farm", "Größe 2", "東京", "50% off", "a+b=c&d"] {
        let save = save(7);
        let version = store.put_if(name, None, &save).unwrap();
        assert_eq!(version, SlotVersion::from_save(&save));
        assert_eq!(store.get(name).unwrap(), Some((save, version)), "{name}");
    }
    assert_eq!(store.get("Bob").unwrap(), None);
}

/// Longer than what a service takes in one piece.
pub fn a_large_save_comes_back_byte_for_byte(store: &dyn SlotStore, size: usize) {
    let large = |seed: u32| {
        let words = u32::try_from(size / 4).expect("few bytes");
        let numbers = (0..words).map(|n| n.wrapping_mul(seed)).collect::<Vec<_>>();
        persist::to_vec(&numbers).unwrap()
    };
    let mut version = None;
    for seed in [0x9e37_79b9, 0x85eb_ca6b] {
        let save = large(seed);
        version = Some(store.put_if("large", version.as_ref(), &save).unwrap());
        assert!(store.get("large").unwrap() == Some((save, version.unwrap())));
    }
    assert_eq!(store.list().unwrap()[0].size, large(1).len() as u64);
}

fn a_slot_is_created_once(store: &dyn SlotStore) {
    put(store, "Ada", None, 1);
    assert_conflict(store.put_if("Ada", None, &save(2)));
    assert_eq!(read(store, "Ada").unwrap().0, 1);
}

fn only_a_writer_that_has_seen_the_save_replaces_it(store: &dyn SlotStore) {
    let first = put(store, "Ada", None, 1);
    let second = put(store, "Ada", Some(&first), 2);
    assert_conflict(store.put_if("Ada", Some(&first), &save(3)));
    assert_conflict(store.put_if("Bob", Some(&first), &save(3)));
    assert_eq!(store.get("Bob").unwrap(), None);
    assert_eq!(read(store, "Ada"), Some((2, second)));
    // Back to bytes that it had before.
    let first_again = put(store, "Ada", Some(&second), 1);
    assert_eq!(first_again, first);
    assert_conflict(store.put_if("Ada", Some(&second), &save(3)));
}

/// Else of two that add a coin to the same save both would be acknowledged, and one coin be lost.
fn of_two_writers_with_equal_saves_one_succeeds(store: &dyn SlotStore) {
    put(store, "Ada", None, 1);
    assert_conflict(store.put_if("Ada", None, &save(1)));
    let first = SlotVersion::from_save(&save(1));
    let second = put(store, "Ada", Some(&first), 2);
    assert_conflict(store.put_if("Ada", Some(&first), &save(2)));
    assert_eq!(put(store, "Ada", Some(&second), 2), second);
}

fn only_the_version_that_is_named_is_deleted(store: &dyn SlotStore) {
    let first = put(store, "Ada", None, 1);
    let second = put(store, "Ada", Some(&first), 2);
    assert_conflict(store.delete("Ada", &first).map(|()| first));
    store.delete("Ada", &second).unwrap();
    assert_eq!(store.get("Ada").unwrap(), None);
    assert!(store.list().unwrap().is_empty());
    store.delete("Ada", &second).unwrap();
}

fn a_slot_that_is_made_again_is_another_one(store: &dyn SlotStore) {
    let first = put(store, "Ada", None, 1);
    store.delete("Ada", &first).unwrap();
    assert_conflict(store.put_if("Ada", Some(&first), &save(2)));
    let third = put(store, "Ada", None, 3);
    assert_conflict(store.put_if("Ada", Some(&first), &save(2)));
    assert_conflict(store.delete("Ada", &first).map(|()| first));
    assert_eq!(read(store, "Ada"), Some((3, third)));
}

fn slots_are_listed_by_name_with_their_headers(store: &dyn SlotStore) {
    assert!(store.list().unwrap().is_empty());
    for (number, name) in [(1, "Bob"), (2, "Ada"), (3, "Ada 2"), (4, "Zoë")] {
        let first = put(store, name, None, 0);
        put(store, name, Some(&first), number);
    }
    let list = store.list().unwrap();
    let names: Vec<_> = list.iter().map(|slot| &*slot.name).collect();
    assert_eq!(names, ["Ada", "Ada 2", "Bob", "Zoë"]);
    for (slot, number) in list.iter().zip([2_u32, 3, 1, 4]) {
        assert_eq!(slot.header.application.as_deref(), Some("suite"));
        assert_eq!(slot.size, save(number).len() as u64);
        assert_eq!(slot.version, SlotVersion::from_save(&save(number)));
    }
}

fn what_is_no_whole_save_is_refused(store: &dyn SlotStore) {
    let whole = save(1);
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for bytes in [&[] as &[u8], b"not a save", &whole[..whole.len() - 1], &flipped] {
        let error = store.put_if("Ada", None, bytes).unwrap_err();
        use ErrorKind::{Damaged, NotASave, Truncated};
        assert!([Damaged, NotASave, Truncated].contains(&error.kind()), "{error}");
    }
    assert_eq!(store.get("Ada").unwrap(), None);
}

fn names_that_no_slot_can_have_are_refused(store: &dyn SlotStore) {
    let long = "x".repeat(101);
    let version = SlotVersion::from_save(&save(1));
    for name in ["", ".", "..", "a/b", "a\\b", "nul", " a", &long] {
        assert!(check_slot_name(name).is_err());
        let results = [
            store.get(name).map(drop),
            store.put_if(name, None, &save(1)).map(drop),
            store.delete(name, &version),
        ];
        for result in results {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::InvalidValue, "{name}");
        }
    }
}

/// Threads count in one slot, each from what it has read.
///
/// At the end the number is that of the puts that were acknowledged: none overwrote another.
pub fn no_writer_overwrites_another(store: &Store, writers: u32, counts: u32) {
    let writers: Vec<_> = (0..writers)
        .map(|_| {
            let store = Arc::clone(store);
            thread::spawn(move || (0..counts).for_each(|_| count(&*store)))
        })
        .collect();
    let all = counts * u32::try_from(writers.len()).unwrap();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    assert_eq!(read(&**store, "count").unwrap().0, all);
}

fn count(store: &dyn SlotStore) {
    loop {
        let (number, version) = read(store, "count").unzip();
        match store.put_if("count", version.as_ref(), &save(number.unwrap_or(0) + 1)) {
            Err(error) if error.kind() == ErrorKind::Conflict => {}
            result => {
                result.unwrap();
                return;
            }
        }
    }
}

#[track_caller]
fn assert_conflict(result: persist::Result<SlotVersion>) {
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Conflict);
}
