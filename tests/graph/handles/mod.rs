//! Handles into the program's arenas: saved wherever a value may be, given new ids
//! by a load, and never leading to an object that they did not mean.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

mod hostile;
mod kept;
mod merged;
mod remapped;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::rc::Rc;

use persist::save::{Remap, UnmappedHandle};
use persist::{Arena, Handle, Persist, Result, Saves};

/// An arena of monsters in slots with generations.
pub(crate) struct Monsters;

pub(crate) type Key = (u32, u32);

impl Arena for Monsters {
    type Key = Key;
    const NAME: &'static str = "monsters";

    fn to_bits((slot, generation): Key) -> u64 {
        u64::from(generation) << 32 | u64::from(slot)
    }

    fn from_bits(bits: u64) -> Option<Key> {
        let [slot, generation] = [bits & 0xffff_ffff, bits >> 32].map(|word| word.try_into());
        Some((slot.ok()?, generation.ok().filter(|generation| *generation > 0)?))
    }
}

/// Another arena, of the same keys.
pub(crate) struct Items;

impl Arena for Items {
    type Key = Key;
    const NAME: &'static str = "items";

    fn to_bits(key: Key) -> u64 {
        Monsters::to_bits(key)
    }

    fn from_bits(bits: u64) -> Option<Key> {
        Monsters::from_bits(bits)
    }
}

pub(crate) type Monster = Handle<Monsters>;

/// The handle of a slot in its first generation.
pub(crate) fn at(slot: u32) -> Monster {
    Handle::new((slot, 1))
}

/// Saves and loads a value with new ids for monsters.
pub(crate) fn remapped<T: Persist>(
    value: &T,
    missing: UnmappedHandle,
    find: impl FnMut(Key) -> Option<Key>,
) -> Result<(T, persist::save::LoadReport)> {
    remapped_from(&persist::to_vec(value)?, missing, find)
}

pub(crate) fn remapped_from<T: Persist>(
    save: &[u8],
    missing: UnmappedHandle,
    find: impl FnMut(Key) -> Option<Key>,
) -> Result<(T, persist::save::LoadReport)> {
    let mut remap = Remap::new();
    remap.arena::<Monsters>(missing, find);
    let loaded = remap.from_slice::<T>(&Saves::new(), save)?;
    let report = loaded.report().clone();
    Ok((loaded.into_inner(), report))
}

/// What the handle of a slot is after a load that found no object for it.
pub(crate) fn dead(slot: u32) -> Monster {
    let (handle, _) = remapped(&at(slot), UnmappedHandle::Dead, |_| None).unwrap();
    assert!(handle.is_dead());
    handle
}

/// Handles in every sort of place.
#[derive(Persist, Debug, PartialEq)]
struct Places {
    plain: Monster,
    item: Handle<Items>,
    maybe: Option<Monster>,
    nothing: Option<Monster>,
    list: Vec<Monster>,
    queue: VecDeque<Monster>,
    three: [Monster; 3],
    pair: (u8, Monster),
    bare: Bare,
    target: Target,
    boxed: Box<Monster>,
    by_hash: HashMap<Monster, u8>,
    by_order: BTreeMap<Monster, Monster>,
    set: HashSet<Monster>,
    ordered: BTreeSet<(Monster, bool)>,
    shared: Rc<Monster>,
}

/// Nothing but handles.
#[derive(Persist, Debug, PartialEq, Clone, Copy)]
struct Bare(Monster, Monster);

#[derive(Persist, Debug, PartialEq)]
enum Target {
    _Nobody,
    One(Monster),
    Two { first: Monster, second: Monster },
}

/// Every handle moved on by `by` slots.
fn places(by: u32) -> Places {
    let at = |slot| at(slot + by);
    Places {
        plain: at(1),
        item: Handle::new((1, 1)),
        maybe: Some(at(2)),
        nothing: None,
        list: vec![at(3), Handle::null(), at(4), at(3)],
        queue: [at(5), at(6)].into(),
        three: [at(7), at(8), at(9)],
        pair: (7, at(10)),
        bare: Bare(at(11), at(12)),
        target: Target::Two { first: at(13), second: at(14) },
        boxed: Box::new(at(15)),
        by_hash: (16..40).zip(0..).map(|(slot, n)| (at(slot), n)).collect(),
        by_order: [(at(41), at(42)), (at(40), Handle::null())].into(),
        set: (43..60).map(at).collect(),
        ordered: [(at(61), true), (at(60), false)].into(),
        shared: Rc::new(at(62)),
    }
}

#[test]
fn handles_come_back_wherever_they_are() {
    let save = persist::to_vec(&places(0)).unwrap();
    assert_eq!(persist::from_slice::<Places>(&save).unwrap(), places(0));
    let one = persist::codec::decode::<Target>(&[1, 1, 5, 0, 0, 0, 1, 0, 0, 0]).unwrap();
    assert_eq!(one, Target::One(at(5)));
}

#[test]
fn handles_get_new_ids_wherever_they_are() {
    let save = persist::to_vec(&places(0)).unwrap();
    let moved = |(slot, generation)| Some((slot + 1000, generation));
    let (found, report) = remapped_from::<Places>(&save, UnmappedHandle::Error, moved).unwrap();
    assert_eq!(found, places(1000));
    assert_eq!(report.remapped(), 63);
    assert!(report.is_clean(), "{report}");
    assert!(report.to_string().contains("63 remapped handles\n"), "{report}");
}

#[test]
fn handles_of_other_arenas_stay() {
    let mut remap = Remap::new();
    remap.arena::<Items>(UnmappedHandle::Null, |_| None);
    let saves = Saves::new();
    let save = persist::to_vec(&places(0)).unwrap();
    let loaded = remap.from_slice::<Places>(&saves, &save).unwrap();
    assert_eq!(loaded.report().remapped(), 0);
    let found = loaded.into_inner();
    assert_eq!(found.item, Handle::null());
    assert_eq!(Places { item: Handle::new((1, 1)), ..found }, places(0));
}

#[test]
fn equal_states_give_equal_bytes() {
    let mut many: Vec<Monster> = (0..200).map(at).collect();
    let one: HashMap<Monster, u8> = many.iter().map(|handle| (*handle, 1)).collect();
    many.reverse();
    let other: HashMap<Monster, u8> = many.iter().map(|handle| (*handle, 1)).collect();
    assert_eq!(persist::to_vec(&one).unwrap(), persist::to_vec(&other).unwrap());
    assert_eq!(persist::to_vec(&places(3)).unwrap(), persist::to_vec(&places(3)).unwrap());
}

#[test]
fn a_handle_is_a_state_and_the_bits_of_its_key() {
    let bytes = |handle: Monster| persist::to_vec(&handle).unwrap();
    let payload = |save: &[u8]| save[save.len() - 29 - 4 - 1 - 9..][..9].to_vec();
    assert_eq!(payload(&bytes(at(0x0102))), [1, 2, 1, 0, 0, 1, 0, 0, 0]);
    assert_eq!(payload(&bytes(Handle::null())), [0; 9]);
    assert_eq!(payload(&bytes(dead(0x0102))), [2, 2, 1, 0, 0, 1, 0, 0, 0]);
}

#[test]
fn a_dead_handle_equals_no_live_one_and_stays_dead() {
    let (dead, live) = (dead(5), at(5));
    assert_eq!(dead.dead_bits(), Some(Monsters::to_bits((5, 1))));
    assert_eq!((dead.key(), live.key()), (None, Some((5, 1))));
    assert_ne!(dead, live);
    assert_ne!(dead, Handle::null());
    assert_eq!(HashSet::from([dead, live, Handle::null()]).len(), 3);
    assert!(Handle::null() < live && live < dead && at(9) < dead);
    assert_eq!(live.dead_bits(), None);
    assert_eq!(
        format!("{:?} {live:?} {dead:?}", Monster::default()),
        "Handle<monsters>(null) Handle<monsters>(live 0x100000005) Handle<monsters>(dead 0x100000005)"
    );

    // Not even a remap that knows its id wakes it.
    let (again, report) = remapped(&[dead, live], UnmappedHandle::Error, |_| Some((7, 7))).unwrap();
    assert_eq!(again, [dead, Handle::new((7, 7))]);
    assert_eq!(report.remapped(), 1);
    let save = persist::to_vec(&vec![dead, live]).unwrap();
    assert_eq!(persist::from_slice::<Vec<Monster>>(&save).unwrap(), [dead, live]);
}

#[test]
fn a_handle_asks_nothing_of_its_arena() {
    fn is_plain<T: Send + Sync + Copy + Ord + std::hash::Hash + Default>() {}
    is_plain::<Monster>();
    assert!(Monster::null().is_null() && at(1).is_live() && !at(1).is_dead());
}
