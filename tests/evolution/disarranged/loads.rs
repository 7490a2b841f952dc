//! Other ways to load, of records that are rewritten.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use persist::save::{Header, LoadPolicy, Remap, SlotInfo, UnmappedHandle};
use persist::{Arena, Handle, LoadOptions, Persist, SaveManager, Saves};
use persist_tests::support::disarranged::{Change, check, check_objects, disarrange};

use super::{Shared, seeds, shared};

struct Monsters;

impl Arena for Monsters {
    type Key = u64;
    const NAME: &'static str = "monsters";

    fn to_bits(key: u64) -> u64 {
        key
    }

    fn from_bits(bits: u64) -> Option<u64> {
        Some(bits)
    }
}

type Monster = Handle<Monsters>;

#[derive(Persist)]
struct Nest {
    size: u32,
    queen: Monster,
    eggs: HashMap<Monster, (u16, Monster)>,
    order: BTreeMap<u8, Vec<Option<Monster>>>,
    target: Target,
}

#[derive(Persist)]
enum Target {
    _Nobody,
    Two { first: Monster, distance: f32, second: Monster },
}

#[test]
fn handles_get_their_new_ids() {
    let at = |key: u64| Handle::new(key);
    let nest = Nest {
        size: 70_000,
        queen: at(1),
        eggs: (2..30).map(|key| (at(key), (7, at(key + 1)))).collect(),
        order: [(3, vec![Some(at(40)), None]), (1, vec![])].into(),
        target: Target::Two { first: at(50), distance: 1.5, second: Handle::null() },
    };
    let save = persist::to_vec(&nest).unwrap();
    let tally = seeds(|seed| {
        check(&save, seed, |save| {
            let mut remap = Remap::new();
            remap.arena::<Monsters>(UnmappedHandle::Dead, |key| (key != 13).then_some(key * 1000));
            let saves = Saves::new();
            let loaded = remap.from_slice::<Nest>(&saves, save)?;
            assert_eq!(loaded.report().remapped(), 57);
            Ok((saves.to_vec(&*loaded)?, vec![loaded.report().clone()]))
        })
    });
    assert!(tally.moved > 50 && tally.wider > 15 && tally.narrower > 15, "{tally:?}");
}

#[derive(Persist)]
struct Room {
    number: u32,
    next: Option<Shared<Room>>,
    text: String,
    doors: Vec<u16>,
}

fn text(number: u32) -> String {
    format!("room {number} ").repeat(20)
}

fn rooms() -> Vec<u8> {
    let rooms: Vec<Shared<Room>> = (0..2000)
        .map(|number| shared(Room { number, next: None, text: text(number), doors: vec![1, 2] }))
        .collect();
    let mut manager = SaveManager::new();
    for (at, room) in rooms.iter().enumerate() {
        room.borrow_mut().next = rooms.get(at + 1).filter(|_| at % 5 > 0).cloned();
        manager.add(room).unwrap();
    }
    manager.to_vec().unwrap()
}

fn manager() -> SaveManager {
    let saves = Saves::new();
    saves.register::<Room>().unwrap();
    saves.manager()
}

#[test]
fn saves_of_several_blocks_come_back() {
    let tally = check_objects(&rooms(), 3, manager);
    assert!(tally.moved > 0 && tally.wider > 0 && tally.narrower > 0, "{tally:?}");
}

#[test]
fn a_salvage_converts_what_is_left() {
    for change in Change::ALL {
        let mut made = disarrange(&rooms(), change, 5);
        assert_eq!(made.rewritten, 2000);
        let middle = made.save.len() / 2;
        made.save[middle] ^= 1;
        let manager = manager();
        assert!(manager.from_slice(&made.save).is_err());
        let options = LoadOptions::new().policy(LoadPolicy::Salvage);
        let saves = manager.saves().clone().load_options(options);
        let loaded = saves.from_slice::<SaveManager>(&made.save).unwrap();
        let salvage = loaded.report().salvage().unwrap();
        assert!(salvage.places == 1 && salvage.lost_bytes > 0, "{salvage}");
        assert!((1000..2000).contains(&loaded.len()), "{}", loaded.len());
        for room in loaded.iter::<Room>() {
            let room = room.borrow();
            assert_eq!(room.text, text(room.number));
            assert_eq!(room.doors, [1, 2]);
            if let Some(next) = &room.next {
                assert_eq!(next.borrow().number, room.number + 1);
            }
        }
    }
}

#[derive(Persist, Debug, PartialEq)]
struct Card {
    title: String,
    minutes: u32,
    progress: f32,
}

#[test]
fn metadata_comes_back_with_its_save() {
    let card = Card { title: "Isle".into(), minutes: 300, progress: 0.5 };
    let info = SlotInfo::new("The Mill").play_time(Duration::from_secs(5400)).value(&card).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("isle.sav");
    let mut manager = manager();
    manager.add(&shared(Room { number: 1, next: None, text: text(1), doors: vec![] })).unwrap();
    manager.saves().file(&path).info(info.clone()).save(&manager).unwrap();
    let save = std::fs::read(&path).unwrap();
    for change in Change::ALL {
        let made = disarrange(&save, change, 2);
        let loaded = manager.from_slice(&made.save).unwrap();
        let header = Header::read(&save).unwrap();
        assert_ne!(loaded.report().header(), &header);
        assert!(loaded.info().saved_at.is_some());
        assert_eq!(loaded.info(), header.info());
        assert_eq!(
            (&*loaded.info().title, loaded.info().play_time),
            (&*info.title, info.play_time)
        );
        assert_eq!(loaded.info().get::<Card>().unwrap().unwrap(), card);
    }
}
