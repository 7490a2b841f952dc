//! The bytes of saves that must never change: annotated dumps, and fixtures
//! that every later version loads.

use std::cell::RefCell;
use std::io::Write as _;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use crate::dump::dump;
use persist::codec::Buffer;
use persist::save::Header;
use persist::{ObjectId, SaveManager};
use persist_tests::support::fixture_types::{
    self, Hero, NAMES, Player, State, Stock, Values, load_and_save, make, manager, pointers, read,
    values,
};

#[test]
fn the_players_of_the_article_have_its_payloads() {
    let [first, second] = fixture_types::players();
    let mut buffer = Buffer::new();
    assert_eq!(buffer.encode(&first).unwrap(), [0x01, 0x00, 0x00, 0x00, 0x10]);
    assert_eq!(buffer.encode(&second).unwrap(), [0x06, 0x00, 0x00, 0x00, 0x20]);

    // Class 1, added and in an `Rc<RefCell<_>>`, the ids, five bytes each.
    let records = [
        0x01, 0x91, 0x01, 0x05, 0, 0, 0, 0x01, 0x00, 0x00, 0x00, 0x10, 0x1e, //
        0x01, 0x91, 0x02, 0x05, 0, 0, 0, 0x06, 0x00, 0x00, 0x00, 0x20, 0x1e,
    ];
    let save = make("players");
    assert_eq!(save[save.len() - 33 - records.len()..save.len() - 33], records);
}

#[test]
fn every_byte_of_a_save_has_its_meaning() {
    insta::assert_snapshot!("players", dump(&make("players")));
    insta::assert_snapshot!("values", dump(&make("values")));
    insta::assert_snapshot!("graph", dump(&make("graph")));
    insta::assert_snapshot!("pointers", dump(&make("pointers")));
    insta::assert_snapshot!("compact", dump(&make("compact")));
    let nothing = SaveManager::new().allow_empty().to_vec().unwrap();
    insta::assert_snapshot!("nothing", dump(&nothing));
}

#[test]
fn the_same_state_has_the_committed_bytes() {
    for name in NAMES {
        assert!(make(name) == read(name), "{name}: {}", dump(&make(name)));
    }
}

#[test]
fn what_a_fixture_holds_is_saved_as_the_committed_bytes_again() {
    for name in NAMES {
        let save = read(name);
        assert!(load_and_save(name, &save).unwrap() == save, "{name}");
    }
}

#[test]
fn the_players_come_back() {
    let loaded = manager("players", false).from_slice(&read("players")).unwrap();
    assert!(loaded.report().is_clean());
    assert_eq!(loaded.len(), 2);
    for (id, player) in [1, 2].into_iter().zip(fixture_types::players()) {
        let found = loaded.get::<Player>(ObjectId::new(id).unwrap()).unwrap();
        assert_eq!(*found.borrow(), player);
    }
}

#[test]
fn the_values_come_back() {
    let found: Values = persist::from_slice(&read("values")).unwrap();
    assert_eq!(found, values());
    assert_eq!(found.double.to_bits(), (-0.0_f64).to_bits());
    assert_eq!(found.signalling.0.to_bits(), 0x7f80_0001);
}

#[test]
fn the_stocks_come_back() {
    let loaded = manager("compact", false).from_slice(&read("compact")).unwrap();
    assert!(loaded.report().is_clean());
    for (id, stock) in (1..).zip(fixture_types::stocks()) {
        let found = loaded.get::<Stock>(ObjectId::new(id).unwrap()).unwrap();
        assert_eq!(*found.borrow(), stock);
    }
}

#[test]
fn the_graph_comes_back() {
    let loaded = manager("graph", false).from_slice(&read("graph")).unwrap();
    assert!(loaded.report().is_clean(), "{}", loaded.report());
    assert_eq!(loaded.len(), 5);
    let header = Header::read(&read("graph")).unwrap();
    assert_eq!(&header, loaded.report().header());
    assert_eq!(header.application.as_deref(), Some("Quest"));
    assert_eq!(header.application_version.as_deref(), Some("1.0.2"));

    let shared = loaded.first::<Hero>().unwrap();
    let ada = shared.borrow();
    assert_eq!((&*ada.name, ada.level), ("Ada", 7));
    let (sword, spare) = (ada.sword.as_ref().unwrap(), ada.spare.as_ref().unwrap());
    assert!(Rc::ptr_eq(sword, spare));
    assert_eq!(sword.borrow().name, "Sting");
    assert!(Rc::ptr_eq(&sword.borrow().owner.upgrade().unwrap(), &shared));

    let [wolf, bear, again] = &ada.pets[..] else { panic!("three pets") };
    assert!(Rc::ptr_eq(wolf, again) && !Rc::ptr_eq(wolf, bear));
    assert_eq!((&*wolf.borrow().name, wolf.borrow().hp), ("wolf", 12));
    assert_eq!((&*bear.borrow().name, bear.borrow().hp), ("bear", -1));
    assert!(Rc::ptr_eq(wolf.borrow().target.as_ref().unwrap(), &shared));
    assert!(bear.borrow().target.is_none());
    assert!(Rc::ptr_eq(&wolf.borrow().friend.upgrade().unwrap(), bear));
    assert!(Rc::ptr_eq(&bear.borrow().friend.upgrade().unwrap(), wolf));
    assert!(matches!(&ada.state, State::Fighting(enemy, 9) if Rc::ptr_eq(enemy, bear)));
    let seen: Vec<_> = ada.last_seen.iter().map(|(day, weak)| (*day, weak.upgrade())).collect();
    let [(-5, Some(first)), (0, None), (5, Some(last))] = &seen[..] else { panic!("{seen:?}") };
    assert!(Rc::ptr_eq(first, wolf) && Rc::ptr_eq(last, bear));

    assert_eq!(ada.rivals.len(), 2);
    assert!(Rc::ptr_eq(&ada.rivals["Ada herself"], &shared));
    let bob = ada.rivals["Bob"].borrow();
    assert_eq!((&*bob.name, bob.level), ("Bob", 3));
    assert!(matches!(bob.state, State::Walking { x: 1.5, y: -2.0 }));
    assert!(Rc::ptr_eq(&bob.rivals["first"], &shared));
}

#[test]
fn the_pointers_come_back() {
    let loaded = manager("pointers", false).from_slice(&read("pointers")).unwrap();
    assert!(loaded.report().is_clean(), "{}", loaded.report());
    let vault = loaded.first::<pointers::Vault>().unwrap();
    vault.borrow().check();
    let chest = loaded.first_pointer::<Arc<Mutex<pointers::Chest>>>().unwrap();
    chest.lock().unwrap().check();
    let id = |id| ObjectId::new(id).unwrap();
    let root = loaded.pointer::<Rc<pointers::Node>>(id(3)).unwrap();
    let watch = loaded.pointer::<Arc<Mutex<pointers::Watch>>>(id(4)).unwrap();
    pointers::check_circles(&root, &watch);
    let [circle] = &loaded.strong_cycles()[..] else { panic!("one circle") };
    assert!(circle.len() == 3 && circle.contains(&id(4)));
}

#[test]
fn a_buffer_writes_the_same_bytes_whatever_it_held_before() {
    for name in ["players", "graph", "pointers"] {
        for size in [0, 1030, 1031, 2000, 9000, 1 << 20] {
            let manager = manager(name, true);
            manager.saves().to_vec(&vec![0_u8; size]).unwrap();
            assert!(manager.to_vec().unwrap() == read(name), "{name} after {size} bytes");
        }
    }
}

/// Writes the fixtures where there are none: `cargo test -p persist-tests --test derive -- --ignored golden::`.
///
/// What is there is never replaced; a new format gets a folder of its own.
#[test]
#[ignore = "writes into the source tree"]
fn write_fixtures() {
    for name in NAMES {
        match std::fs::File::create_new(fixture_types::path(name)) {
            Ok(mut file) => file.write_all(&make(name)).unwrap(),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists),
        }
    }
}

/// A save of several blocks has one definition and the records in order.
#[test]
fn a_block_ends_with_the_item_that_fills_it() {
    let mut manager = SaveManager::new();
    for i in 0..5_u32 {
        manager.add(&Rc::new(RefCell::new(vec![i; 10_000]))).unwrap();
    }
    let save = manager.to_vec().unwrap();
    let blocks = dump(&save).lines().filter(|line| line.contains("block of")).count();
    // 40,000 bytes each: two records fill a block. The last has the definitions once more.
    assert_eq!(blocks, 4);
    let word = |at: usize| u32::from_le_bytes(save[at..at + 4].try_into().unwrap()) as usize;
    let (first, length) = (20 + 5, 6 + word(20 + 5 + 1));
    let last = save.len() - 29 - 4 - length;
    assert_eq!(save[last - 5], 4);
    assert_eq!(word(last - 4), length);
    assert_eq!(save[last..last + length], save[first..first + length]);
    let loaded = manager.from_slice(&save).unwrap();
    let firsts: Vec<u32> = loaded.iter::<Vec<u32>>().map(|list| list.borrow()[0]).collect();
    assert_eq!(firsts, [0, 1, 2, 3, 4]);
}
