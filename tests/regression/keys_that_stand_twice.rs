//! A document took maps with a key twice, which it then refused to write; a save with one could
//! not be salvaged.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use persist::save::LoadPolicy;
use persist::{ErrorKind, LoadOptions, Persist, SaveManager, Saves};
use persist_tools::Document;

#[derive(Persist)]
struct Bag {
    counts: BTreeMap<String, u8>,
    bytes: BTreeSet<u8>,
    pairs: BTreeSet<(u8, u8)>,
}

/// Saves a bag, with these bytes in place of others; the checksums are right.
fn changed(from: &[u8], to: &[u8]) -> Vec<u8> {
    let bag = || {
        Rc::new(RefCell::new(Bag {
            counts: [("one".into(), 1), ("two".into(), 2)].into(),
            bytes: [5, 6, 7].into(),
            pairs: [(8, 8), (9, 9)].into(),
        }))
    };
    let mut manager = SaveManager::new();
    manager.add(&bag()).unwrap();
    manager.add(&bag()).unwrap();
    let mut save = manager.to_vec().unwrap();
    let place = save.windows(from.len()).rposition(|bytes| bytes == from).unwrap();
    save[place..place + to.len()].copy_from_slice(to);
    let end = save.len() - 29 - 4;
    let crc = crc32fast::hash(&save[20..end]).to_le_bytes();
    save[end..end + 4].copy_from_slice(&crc);
    save
}

#[test]
fn are_refused_when_a_document_is_read() {
    assert!(Document::from_slice(&changed(b"\x03two", b"\x03two")).is_ok());
    for (from, to, field) in [
        (&b"\x03two"[..], &b"\x03one"[..], "counts"),
        (&[3, 5, 6, 7], &[3, 5, 7, 7], "bytes"),
        (&[2, 8, 8, 9, 9], &[2, 8, 8, 8, 8], "pairs"),
    ] {
        let error = Document::from_slice(&changed(from, to)).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidValue, "{error}");
        assert_eq!(error.field(), Some(field), "{error}");
        assert!(error.message().contains("twice"), "{error}");
    }
}

#[test]
fn cost_a_wreck_their_own_object_alone() {
    let mut save = changed(b"\x03two", b"\x03one");
    save.truncate(save.len() - 3);
    let saves = Saves::new().load_options(LoadOptions::new().policy(LoadPolicy::Salvage));
    saves.register::<Bag>().unwrap();
    let loaded = saves.from_slice::<SaveManager>(&save).unwrap();
    assert_eq!(loaded.len(), 1);
    assert_eq!(loaded.first::<Bag>().unwrap().borrow().counts["two"], 2);
}
