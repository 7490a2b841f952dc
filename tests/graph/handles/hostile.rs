//! Handles whose bytes were made by hand.

use std::collections::HashMap;

use persist::{Arena, ErrorKind, Handle, Persist};
use persist_tests::support::forge::{self, Load, bare, class, one, refused, text};
use slotmap::Key;

use crate::handles::merged::Slots;
use crate::handles::{Monster, at};

#[derive(Persist, Debug)]
struct Pack {
    name: String,
    leader: Monster,
    others: Vec<Monster>,
}

/// The kind of a handle into an arena.
fn handle(arena: &str) -> Vec<u8> {
    [&[0x1a], &text(arena)[..]].concat()
}

fn pack(leader: &[u8], others: &[u8]) -> Vec<u8> {
    let kind = handle("monsters");
    let fields: [(&str, &[u8]); 3] =
        [("name", &[0x0f]), ("leader", &kind), ("others", &[&[0x11], &kind[..]].concat())];
    one(class("Pack", &fields), &[&text("wolves"), leader, others].concat())
}

const NULL: [u8; 9] = [0; 9];
const LIVE: [u8; 9] = [1, 5, 0, 0, 0, 1, 0, 0, 0];

#[test]
fn a_handle_made_by_the_rules_loads() {
    let pack: Pack = persist::from_slice(&pack(&LIVE, &[&[2][..], &NULL, &LIVE].concat())).unwrap();
    assert_eq!((pack.name.as_str(), pack.leader), ("wolves", at(5)));
    assert_eq!(pack.others, [Handle::null(), at(5)]);
}

#[test]
fn bytes_that_are_no_handle_are_refused() {
    let with = |at: usize, byte: u8, mut handle: [u8; 9]| {
        handle[at] = byte;
        handle
    };
    let list = |handle: [u8; 9]| [&[2][..], &NULL, &handle].concat();
    let load: Load = forge::value::<Pack>;
    let others = [
        (with(0, 3, LIVE), "a state that there is not"),
        (with(0, 255, NULL), "a state that there is not"),
        (with(8, 1, NULL), "null with bits"),
        (with(1, 1, NULL), "null with bits"),
        (with(5, 0, LIVE), "of generation 0"),
    ];
    for (handle, why) in others {
        let leader = refused(pack(&handle, &[0]), load);
        assert_eq!(leader.kind(), ErrorKind::InvalidValue, "{why}: {leader}");
        assert_eq!((leader.class(), leader.field()), (Some("Pack"), Some("leader")), "{why}");
        let other = refused(pack(&LIVE, &list(handle)), load);
        assert_eq!(other.kind(), ErrorKind::InvalidValue, "{why}: {other}");
        assert_eq!(other.field(), Some("others[1]"), "{why}: {other}");
        assert!(other.offset() > leader.offset(), "{why}");
    }
    let error = refused(pack(&with(5, 0, LIVE), &[0]), load);
    assert!(
        error.message().starts_with("the save holds handle 0x5 into arena monsters, which are"),
        "{error}"
    );
}

#[test]
fn handles_cut_short_are_refused() {
    let load: Load = forge::value::<Pack>;
    let error = refused(pack(&LIVE[..4], &[]), load);
    assert_eq!((error.kind(), error.field()), (ErrorKind::Truncated, Some("leader")));
    // A count that the bytes cannot hold is refused before room is made for it.
    let error = refused(pack(&LIVE, &[&[255, 0, 0, 0, 0, 0, 0, 0, 1], &LIVE[..]].concat()), load);
    assert_eq!((error.kind(), error.field()), (ErrorKind::InvalidValue, Some("others")));
    let error = refused(pack(&LIVE, &[&[2], &LIVE[..]].concat()), load);
    assert_eq!(error.field(), Some("others"));
    let left = refused(pack(&LIVE, &[0, 0]), load);
    assert_eq!(left.kind(), ErrorKind::Damaged);
}

#[test]
fn a_key_in_two_forms_is_refused() {
    // slotmap reads versions as odd ones, so that two numbers would be one key.
    let mut keys = slotmap::SlotMap::<slotmap::DefaultKey, ()>::new();
    let key = keys.insert(());
    let bits = Slots::to_bits(key);
    assert_eq!(bits, key.data().as_ffi());
    let make = |bits: u64| {
        let bytes = [&[1], &bits.to_le_bytes()[..]].concat();
        one(bare("Handle<props>", &handle("props")), &bytes)
    };
    let found: Handle<Slots> = persist::from_slice(&make(bits)).unwrap();
    assert_eq!(found.key(), Some(key));
    let error = refused(make(bits & !(1 << 32)), forge::value::<Handle<Slots>>);
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
    assert!(error.message().contains("`from_bits` must undo `to_bits`"), "{error}");
}

#[test]
fn a_key_that_stands_twice_is_refused() {
    let kind = [&[0x13], &handle("monsters")[..], &[0x03]].concat();
    let entries = [&[2][..], &LIVE, &[1], &LIVE, &[2]].concat();
    let save = one(bare("HashMap<Handle<monsters>, u8>", &kind), &entries);
    let error = refused(save, forge::value::<HashMap<Monster, u8>>);
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
    let message =
        "handle(live 4294967301) stands twice, where a Map<Handle<monsters>, u8> has it once";
    assert!(error.message().starts_with(message), "{error}");
}

#[test]
fn many_kinds_of_handles_take_time_in_proportion() {
    let names: Vec<String> = (0..20_000).map(|arena| format!("f{arena}")).collect();
    let kinds: Vec<Vec<u8>> = names.iter().map(|name| handle(name)).collect();
    let fields: Vec<(&str, &[u8])> =
        names.iter().zip(&kinds).map(|(name, kind)| (name.as_str(), kind.as_slice())).collect();
    let error = refused(one(class("Pack", &fields), &[]), forge::value::<Pack>);
    assert_eq!(error.kind(), ErrorKind::MissingField, "{error}");
}

/// An arena whose two functions are not each other's inverse.
struct Broken;

impl Arena for Broken {
    type Key = u32;
    const NAME: &'static str = "broken";

    fn to_bits(key: u32) -> u64 {
        u64::from(key) + 1
    }

    fn from_bits(bits: u64) -> Option<u32> {
        bits.try_into().ok()
    }
}

#[test]
fn an_arena_that_does_not_find_its_keys_again_is_told_so() {
    let save = persist::to_vec(&Handle::<Broken>::new(1)).unwrap();
    let error = persist::from_slice::<Handle<Broken>>(&save).unwrap_err();
    assert!(error.message().contains("`from_bits` must undo `to_bits`"), "{error}");
}
