//! The fixture with every pointer, changed at random with its checksums made right
//! again: it is refused, or it loads to what can be saved and loaded again.

use persist::{ErrorKind, SaveManager};
use persist_tests::support::fixture_types::pointers::prepare;
use persist_tests::support::forge::{Forged, Item, counted, restamp};
use persist_tests::support::short_or_long;
use proptest::prelude::*;
use proptest::sample::Index;

fn original() -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/v1/pointers.sav");
    std::fs::read(path).expect("a fixture; `write_fixtures` in derive/golden.rs makes them")
}

thread_local! {
    // Made once: what takes longest in a debug build is to register everything.
    static MANAGER: SaveManager = {
        let mut manager = SaveManager::new();
        prepare(&mut manager, false).expect("every pointer");
        manager
    };
}

/// Loads, saves what came back, and does it again; `None` if it was refused.
fn load(save: &[u8]) -> Option<Vec<u8>> {
    MANAGER.with(|manager| {
        let loaded = match manager.from_slice(save) {
            Ok(loaded) => loaded,
            Err(error) => {
                assert!(!error.message().is_empty());
                let end = save.len() as u64;
                assert!(error.offset().is_none_or(|offset| offset <= end), "{error}");
                return None;
            }
        };
        assert!(loaded.strong_cycles().len() <= loaded.len());
        let first = loaded.to_vec().expect("what was loaded can be saved");
        let mut before = first.clone();
        // A weak pointer to what nothing else holds has an id once more, and then none.
        for may_dangle in [true, false] {
            let again = manager.from_slice(&before).expect("what was saved can be loaded");
            let mut findings = again.report().rows().iter();
            let dangles = findings.any(|found| found.event == persist::save::LoadEvent::Dangling);
            let after = again.to_vec().expect("once more");
            assert!(after == before || (may_dangle && dangles), "another graph comes back");
            before = after;
        }
        manager.from_slice(&first).expect("once more").dismantle();
        Some(first)
    })
}

#[test]
fn the_fixture_comes_back_as_it_is() {
    let save = original();
    assert!(Forged::parse(&save).build() == save, "it is forged as it is");
    assert!(load(&save).expect("the fixture") == save);
}

/// A change of a part of the save.
#[derive(Clone, Debug)]
enum Change {
    /// Of a byte inside of an item, whose length is made right.
    Set(Index, Index, u8),
    Flip(Index, Index, u8),
    Insert(Index, Index, u8),
    Remove(Index, Index, usize),
    Double(Index, Index, usize),
    /// Of the holder, the id or the class of a record.
    Holder(Index, u8),
    Id(Index, u64),
    Class(Index, u64),
    /// Two payloads, or two items.
    Exchange(Index, Index),
    Swap(Index, Index),
    Repeat(Index, Index),
    Drop(Index),
}

fn telling_byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        any::<u8>(),
        0_u8..60,
        prop::sample::select(vec![
            0x0f, 0x10, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1e, 0x7f, 0x80, 247, 248, 251, 255
        ]),
        (1_u8..3, 0_u8..7, any::<bool>()).prop_map(|(pointer, cell, weak)| {
            pointer << 4 | cell | if weak { 0x80 } else { 0 }
        }),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    prop_oneof![
        3 => (at(), at(), telling_byte()).prop_map(|(item, at, byte)| Change::Set(item, at, byte)),
        3 => (at(), at(), 0_u8..8).prop_map(|(item, at, bit)| Change::Flip(item, at, bit)),
        1 => (at(), at(), telling_byte()).prop_map(|(item, at, byte)| Change::Insert(item, at, byte)),
        1 => (at(), at(), 1_usize..9).prop_map(|(item, at, length)| Change::Remove(item, at, length)),
        1 => (at(), at(), 1_usize..9).prop_map(|(item, at, length)| Change::Double(item, at, length)),
        2 => (at(), telling_byte()).prop_map(|(item, holder)| Change::Holder(item, holder)),
        2 => (at(), 0_u64..60).prop_map(|(item, id)| Change::Id(item, id)),
        2 => (at(), 0_u64..60).prop_map(|(item, class)| Change::Class(item, class)),
        2 => (at(), at()).prop_map(|(one, other)| Change::Exchange(one, other)),
        1 => (at(), at()).prop_map(|(one, other)| Change::Swap(one, other)),
        1 => (at(), at()).prop_map(|(one, other)| Change::Repeat(one, other)),
        1 => at().prop_map(Change::Drop),
    ]
}

fn apply(change: &Change, items: &mut Vec<Item>) {
    let bytes = |items: &mut [Item], item: &Index, apply: &dyn Fn(&mut Vec<u8>)| {
        let count = items.len();
        apply(items[item.index(count)].content());
    };
    let mut head = |item: &Index, change: &dyn Fn(&mut u64, &mut u8, &mut u64)| {
        let count = items.len();
        if let Item::Record { class, holder, id, .. } = &mut items[item.index(count)] {
            change(class, holder, id);
        }
    };
    match change {
        Change::Holder(item, to) => head(item, &|_, holder, _| *holder = *to),
        Change::Id(item, to) => head(item, &|_, _, id| *id = *to),
        // Class number 0 would begin a definition.
        Change::Class(item, to) => head(item, &|class, _, _| *class = (*to).max(1)),
        Change::Set(item, at, byte) => bytes(items, item, &|content| {
            if !content.is_empty() {
                let at = at.index(content.len());
                content[at] = *byte;
            }
        }),
        Change::Flip(item, at, bit) => bytes(items, item, &|content| {
            if !content.is_empty() {
                let at = at.index(content.len());
                content[at] ^= 1 << bit;
            }
        }),
        Change::Insert(item, at, byte) => bytes(items, item, &|content| {
            content.insert(at.index(content.len() + 1), *byte);
        }),
        Change::Remove(item, at, length) => bytes(items, item, &|content| {
            let at = at.index(content.len() + 1);
            content.drain(at..(at + length).min(content.len()));
        }),
        Change::Double(item, at, length) => bytes(items, item, &|content| {
            let at = at.index(content.len() + 1);
            let twice = content[at..(at + length).min(content.len())].to_vec();
            content.splice(at..at, twice);
        }),
        Change::Exchange(one, other) => {
            let (one, other) = (one.index(items.len()), other.index(items.len()));
            let content = items[one].content().clone();
            let content = std::mem::replace(items[other].content(), content);
            *items[one].content() = content;
        }
        Change::Swap(one, other) => {
            let count = items.len();
            items.swap(one.index(count), other.index(count));
        }
        Change::Repeat(one, other) => {
            let item = items[one.index(items.len())].clone();
            items.insert(other.index(items.len() + 1), item);
        }
        Change::Drop(item) => {
            if items.len() > 1 {
                items.remove(item.index(items.len()));
            }
        }
    }
}

/// Fails without words from shrinking for minutes.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, max_shrink_iters: 200, failure_persistence: None, ..Default::default() }
}

proptest! {
    #![proptest_config(config(short_or_long(100, 400)))]

    #[test]
    fn changed_items_are_survived(changes in prop::collection::vec(change(), 1..4)) {
        let mut forged = Forged::parse(&original());
        changes.iter().for_each(|change| apply(change, &mut forged.items));
        load(&forged.build());
    }

    #[test]
    fn changed_bytes_are_survived(
        changes in prop::collection::vec((any::<Index>(), telling_byte()), 1..4),
    ) {
        let mut save = original();
        for (at, byte) in changes {
            let at = at.index(save.len());
            save[at] = byte;
        }
        restamp(&mut save);
        load(&save);
    }
}

#[test]
fn a_weak_pointer_to_what_is_not_saved_leads_nowhere_in_the_next_save() {
    for (one, other) in [(55, 99), (55, 104)] {
        let mut forged = Forged::parse(&original());
        let content = forged.items[one].content().clone();
        let content = std::mem::replace(forged.items[other].content(), content);
        *forged.items[one].content() = content;
        assert!(load(&forged.build()).is_some());
    }
}

#[test]
fn every_reference_to_every_other_object_is_survived() {
    // A pointer to a pointer, and one to a weak pointer: each is an id.
    let forged = Forged::parse(&original());
    let (mut accepted, mut refused) = (0, 0);
    for (place, item) in forged.items.iter().enumerate() {
        let Item::Record { id: 32 | 33, .. } = item else { continue };
        for id in (0..60).chain([247, 248, 1 << 40]) {
            let mut changed = forged.clone();
            *changed.items[place].content() = counted(id);
            match load(&changed.build()) {
                Some(_) => accepted += 1,
                None => refused += 1,
            }
        }
    }
    assert!(accepted > 0 && refused > 50, "{accepted} of {}", accepted + refused);
}

#[test]
fn every_holder_of_every_record_is_survived() {
    let forged = Forged::parse(&original());
    for place in 0..forged.items.len() {
        let Item::Record { holder: found, .. } = forged.items[place] else { continue };
        for wanted in [0, 0x10, 0x11, 0x15, 0x23, 0x24, 0x26, 0x17, 0x30, 0x80, 0x90] {
            let mut changed = forged.clone();
            let Item::Record { holder, .. } = &mut changed.items[place] else { continue };
            *holder = wanted;
            let is_same = found & 0x7f == wanted & 0x7f;
            let back = MANAGER.with(|saves| saves.from_slice(&changed.build()));
            match back {
                Ok(loaded) => loaded.dismantle(),
                Err(error) if is_same => panic!("{found:02x}: {error}"),
                Err(error) => {
                    // Holder 00 makes it something that is kept of another.
                    let kinds = [
                        ErrorKind::WrongClass,
                        ErrorKind::MissingObject,
                        ErrorKind::NewerFormat,
                        ErrorKind::Damaged,
                    ];
                    assert!(kinds.contains(&error.kind()), "{found:02x} to {wanted:02x}: {error}");
                }
            }
        }
    }
}
