//! What a remap does and reports, in objects, keys of maps and old saves.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use persist::save::{LoadEvent, Remap, UnmappedHandle};
use persist::{Arena, ErrorKind, Handle, Persist, SaveManager, Saves};

use crate::handles::{Items, Key, Monster, Monsters, at, dead, remapped, remapped_from};

/// Even slots have a new id.
fn even((slot, generation): Key) -> Option<Key> {
    slot.is_multiple_of(2).then_some((slot / 2 + 50, generation))
}

#[derive(Persist)]
struct Squad {
    members: Vec<Monster>,
    next: Option<Rc<RefCell<Squad>>>,
}

fn squads() -> SaveManager {
    let last = Rc::new(RefCell::new(Squad { members: vec![at(1), at(2)], next: None }));
    let next = Some(last);
    let first = Rc::new(RefCell::new(Squad { members: vec![at(4), at(5), at(7)], next }));
    let mut manager = SaveManager::new();
    manager.add(&first).unwrap();
    manager
}

#[test]
fn ids_without_an_object_are_null_or_dead_and_reported() {
    let manager = squads();
    let save = manager.to_vec().unwrap();
    for (missing, change) in
        [(UnmappedHandle::Null, LoadEvent::Nulled), (UnmappedHandle::Dead, LoadEvent::Dead)]
    {
        let mut remap = Remap::new();
        remap.arena::<Monsters>(missing, even);
        let loaded = remap.from_slice::<SaveManager>(manager.saves(), &save).unwrap();
        let squad = loaded.first::<Squad>().unwrap();
        let other = match missing {
            UnmappedHandle::Dead => dead,
            _ => |_| Handle::null(),
        };
        assert_eq!(squad.borrow().members, [at(52), other(5), other(7)]);
        let next = squad.borrow().next.clone().unwrap();
        assert_eq!(next.borrow().members, [other(1), at(51)]);

        let report = loaded.report();
        assert_eq!(report.remapped(), 2);
        let [finding] = report.rows() else { panic!("{report}") };
        assert_eq!((finding.event, finding.count), (change, 3));
        assert_eq!((&*finding.class, &finding.field), ("Squad", &None));
        assert_eq!(finding.object.map(persist::ObjectId::get), Some(1));
        assert!(finding.to_string().ends_with(": Squad, 3 times, first in object #1"), "{finding}");
    }
}

#[test]
fn an_id_without_an_object_may_be_an_error_that_says_where() {
    let manager = squads();
    let save = manager.to_vec().unwrap();
    let mut remap = Remap::new();
    remap.arena::<Monsters>(UnmappedHandle::Error, even);
    let error = remap.from_slice::<SaveManager>(manager.saves(), &save).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingObject);
    assert_eq!(
        (error.class(), error.object(), error.field()),
        (Some("Squad"), Some(1), Some("members[1]"))
    );
    assert!(
        error.message().starts_with(
            "the remap has no new id for handle 0x100000005 into arena monsters; give it one"
        ),
        "{error}"
    );
    // The save itself is as good as before.
    assert_eq!(manager.from_slice(&save).unwrap().len(), 2);
}

#[test]
fn every_way_to_load_takes_a_remap() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("squads.sav");
    let manager = squads();
    manager.save(&path).unwrap();
    let saves = manager.saves();
    let file = saves.file(&path);
    let mut asked = 0;
    let mut remap = Remap::new();
    remap.arena::<Monsters>(UnmappedHandle::Error, |key| {
        asked += 1;
        Some(key)
    });
    assert_eq!(remap.load::<SaveManager>(&file).unwrap().report().remapped(), 5);
    let save = std::fs::read(&path).unwrap();
    assert_eq!(remap.from_slice::<SaveManager>(saves, &save).unwrap().report().remapped(), 5);
    persist::save(&path, &at(1)).unwrap();
    let loaded = remap.load::<Monster>(&file).unwrap();
    assert_eq!((*loaded, loaded.report().remapped()), (at(1), 1));
    // The loads of the `Saves` itself know nothing of it.
    assert_eq!(file.load::<Monster>().unwrap().report().remapped(), 0);
    drop(remap);
    assert_eq!(asked, 11);
}

#[test]
fn the_last_function_for_an_arena_counts() {
    let mut remap = Remap::new();
    remap.arena::<Monsters>(UnmappedHandle::Error, |_| None);
    remap
        .arena::<Items>(UnmappedHandle::Dead, Some)
        .arena::<Monsters>(UnmappedHandle::Null, |_| None);
    assert_eq!(format!("{remap:?}"), r#"{"items": Dead, "monsters": Null}"#);
    let save = persist::to_vec(&at(1)).unwrap();
    let found = remap.from_slice::<Monster>(&Saves::new(), &save);
    assert!(found.unwrap().is_null());
}

#[test]
fn two_keys_of_a_map_that_become_one_are_refused() {
    let one = |_| Some((1, 1));
    let keys = [at(1), at(2)];
    let errors = [
        remapped(&HashMap::from(keys.map(|key| (key, 0))), UnmappedHandle::Null, one).map(drop),
        remapped(&BTreeMap::from(keys.map(|key| (key, 0))), UnmappedHandle::Null, one).map(drop),
        remapped(&HashSet::from(keys), UnmappedHandle::Null, one).map(drop),
        remapped(&HashSet::from(keys), UnmappedHandle::Null, |_| None).map(drop),
    ];
    for error in errors.map(Result::unwrap_err) {
        assert_eq!(error.kind(), ErrorKind::InvalidValue);
        assert!(error.message().contains("stands there twice, since the remap made"), "{error}");
    }
    // Dead ones stay apart.
    let (found, _) = remapped(&HashSet::from(keys), UnmappedHandle::Dead, |_| None).unwrap();
    assert_eq!(found, HashSet::from([dead(1), dead(2)]));
}

#[derive(Persist, Debug, PartialEq)]
struct Named {
    slot: u32,
    name: String,
    friend: Option<Rc<RefCell<Named>>>,
}

/// Maps from handles to objects that know which slot they had.
#[derive(Persist)]
struct World {
    hashed: HashMap<Monster, Rc<RefCell<Named>>>,
    ordered: BTreeMap<Monster, Rc<RefCell<Named>>>,
    lists: HashMap<(u8, Monster), Vec<Rc<RefCell<Named>>>>,
}

#[test]
fn keys_with_new_ids_keep_the_objects_that_they_had() {
    let named: Vec<_> = (0..100)
        .map(|slot| {
            let name = format!("monster {slot}");
            Rc::new(RefCell::new(Named { slot, name, friend: None }))
        })
        .collect();
    let entry = |slot: u32| (at(slot), named[slot as usize].clone());
    let world = World {
        hashed: (0..100).map(entry).collect(),
        ordered: (0..100).map(entry).collect(),
        lists: (0..99)
            .map(|slot| {
                (
                    (7, at(slot)),
                    vec![named[slot as usize].clone(), named[slot as usize + 1].clone()],
                )
            })
            .collect(),
    };
    // Back to front, and others than the least byte.
    let turned = |slot: u32| (99 - slot) * 37 + 5;
    let find = |(slot, generation)| (slot != 13).then(|| (turned(slot), generation + slot));
    let (world, _) = remapped(&world, UnmappedHandle::Dead, find).unwrap();
    let expected = |slot: u32| {
        if slot == 13 { dead(13) } else { Handle::new((turned(slot), 1 + slot)) }
    };
    for slot in 0..100 {
        let found = &world.hashed[&expected(slot)];
        assert_eq!(found.borrow().slot, slot);
        assert!(Rc::ptr_eq(found, &world.ordered[&expected(slot)]));
    }
    for slot in 0..99 {
        let list = &world.lists[&(7, expected(slot))];
        let slots: Vec<u32> = list.iter().map(|named| named.borrow().slot).collect();
        assert_eq!(slots, [slot, slot + 1]);
    }
}

mod old {
    use super::*;

    #[derive(Persist)]
    pub(super) struct Nest {
        pub(super) queen: Monster,
        pub(super) left: Monster,
        pub(super) eggs: HashMap<Monster, Egg>,
        pub(super) all: Vec<Egg>,
    }

    #[derive(Persist)]
    pub(super) struct Egg {
        pub(super) weight: u16,
        pub(super) parents: [Monster; 2],
    }

    pub(super) fn nest() -> Nest {
        let egg = |slot| Egg { weight: 3, parents: [at(slot), at(slot + 2)] };
        let eggs = [(at(10), egg(20)), (at(30), egg(40))].into();
        Nest { queen: at(2), left: at(1), eggs, all: vec![egg(50), egg(60)] }
    }
}

mod new {
    use super::*;

    #[derive(Persist, Debug, PartialEq)]
    pub(super) struct Nest {
        pub(super) all: Vec<Egg>,
        pub(super) eggs: HashMap<Monster, Egg>,
        #[persist(default)]
        pub(super) king: Monster,
        pub(super) queen: Monster,
    }

    #[derive(Persist, Debug, PartialEq)]
    pub(super) struct Egg {
        #[persist(default)]
        pub(super) colour: String,
        pub(super) parents: [Monster; 2],
    }
}

#[test]
fn handles_of_an_old_save_are_remapped_once() {
    let mut asked: Vec<u32> = Vec::new();
    let find = |(slot, generation)| {
        asked.push(slot);
        Some((slot + 2, generation))
    };
    let (nest, report) = remapped_from::<new::Nest>(
        &persist::to_vec(&old::nest()).unwrap(),
        UnmappedHandle::Error,
        find,
    )
    .unwrap();
    let egg = |slot: u32| new::Egg { colour: String::new(), parents: [at(slot + 2), at(slot + 4)] };
    let eggs = [(at(12), egg(20)), (at(32), egg(40))].into();
    let all = vec![egg(50), egg(60)];
    assert_eq!(nest, new::Nest { all, eggs, king: Handle::null(), queen: at(4) });
    // The one in the field that the program does not have is kept, and goes to the next save.
    asked.sort_unstable();
    assert_eq!(asked, [1, 2, 10, 20, 22, 30, 40, 42, 50, 52, 60, 62]);
    assert_eq!(report.remapped(), 12);
}

#[test]
fn the_default_of_a_field_counts_as_saved() {
    #[derive(Persist)]
    #[persist(class = "Nest")]
    struct Nest {
        #[persist(default = at(3))]
        king: Monster,
    }
    let save = persist::to_vec(&old::nest()).unwrap();
    let (nest, report) =
        remapped_from::<Nest>(&save, UnmappedHandle::Error, |_| Some((9, 9))).unwrap();
    // With those in the fields that are kept.
    assert_eq!((nest.king, report.remapped()), (Handle::new((9, 9)), 1 + 12));
}

#[test]
fn a_class_may_be_generic_over_its_arena() {
    #[derive(Persist, Debug, PartialEq)]
    #[persist(bound = "A: Arena", class = "Link")]
    struct Link<A: Arena>(Handle<A>);
    let save = persist::to_vec(&Link::<Monsters>(at(1))).unwrap();
    let (link, _) =
        remapped_from::<Link<Monsters>>(&save, UnmappedHandle::Error, |_| Some((2, 2))).unwrap();
    assert_eq!(link.0, Handle::new((2, 2)));
}

#[test]
fn an_error_in_an_old_save_names_the_field() {
    let save = persist::to_vec(&old::nest()).unwrap();
    let find = |key: Key| (key.0 != 52).then_some(key);
    let error =
        remapped_from::<new::Nest>(&save, UnmappedHandle::Error, find).map(drop).unwrap_err();
    assert_eq!((error.class(), error.field()), (Some("Nest"), Some("all[0].parents[1]")));
}

#[test]
fn a_handle_into_another_arena_is_another_kind() {
    #[derive(Persist)]
    #[persist(class = "Bag")]
    struct Old {
        best: Option<Handle<Items>>,
    }
    #[derive(Persist)]
    #[persist(class = "Bag")]
    struct Bag {
        best: Option<Monster>,
    }
    let save = persist::to_vec(&Old { best: None }).unwrap();
    let error = persist::from_slice::<Bag>(&save).map(|bag| bag.best).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KindMismatch);
    assert!(error.message().contains("Option<Handle<items>>"), "{error}");
    assert!(error.message().contains("Option<Handle<monsters>>"), "{error}");
    assert_eq!(error.field(), Some("best"));
    let save = persist::to_vec(&Handle::<Items>::new((1, 1))).unwrap();
    let error = persist::from_slice::<Monster>(&save).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongClass);
    insta::assert_snapshot!(
        error.message(),
        @"the save holds a value of type Handle<items>, and one of type Handle<monsters> was asked for; load it as Handle<items>"
    );
}
