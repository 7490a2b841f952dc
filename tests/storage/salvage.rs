//! What comes back of a damaged save, if that is asked for.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use persist::save::LoadPolicy;
use persist::{ErrorKind, LoadOptions, Loaded, Persist, SaveManager, Saves};
use persist_tests::support::Shared;

use rand::{Rng, SeedableRng};
use rand_pcg::Lcg64Xsh32;

#[derive(Persist)]
struct Item {
    number: u32,
    text: String,
}

#[derive(Persist, Default)]
struct Room {
    number: u32,
    next: Option<Shared<Room>>,
    items: Vec<Shared<Item>>,
    by_name: HashMap<String, Shared<Item>>,
    back: Weak<RefCell<Room>>,
    text: String,
}

/// What cannot be without its item.
#[derive(Persist)]
struct Hand {
    holds: Shared<Item>,
    holder: u32,
}

fn item(number: u32) -> Shared<Item> {
    Rc::new(RefCell::new(Item { number, text: format!("item {number} ").repeat(8) }))
}

const ROOMS: u32 = 2_000;

/// Rooms in a row, with two items each, over several blocks.
fn world() -> (SaveManager, Vec<Shared<Room>>) {
    world_of(ROOMS)
}

fn world_of(rooms: u32) -> (SaveManager, Vec<Shared<Room>>) {
    let rooms: Vec<Shared<Room>> = (0..rooms)
        .map(|number| {
            let items = vec![item(number * 2), item(number * 2 + 1)];
            let by_name = [("first".into(), items[0].clone())].into();
            let text = format!("room {number}");
            Rc::new(RefCell::new(Room { number, items, by_name, text, ..Room::default() }))
        })
        .collect();
    for pair in rooms.windows(2) {
        pair[0].borrow_mut().next = Some(pair[1].clone());
        pair[1].borrow_mut().back = Rc::downgrade(&pair[0]);
    }
    let mut manager = SaveManager::new();
    for room in &rooms {
        manager.add(room).unwrap();
    }
    (manager, rooms)
}

fn unlink(rooms: &[Shared<Room>]) {
    rooms.iter().for_each(|room| room.borrow_mut().next = None);
}

fn salvaging() -> SaveManager {
    let saves = Saves::new().load_options(LoadOptions::new().policy(LoadPolicy::Salvage));
    saves.register::<Room>().unwrap();
    saves.register::<Hand>().unwrap();
    saves.manager()
}

/// Checks everything that came back; returns how many rooms and items that are.
fn check(loaded: &Loaded<SaveManager>) -> (u64, u64) {
    let (mut rooms, mut items) = (0, 0);
    let check_item = |item: &Shared<Item>| {
        let item = item.borrow();
        assert_eq!(item.text, format!("item {} ", item.number).repeat(8));
        item.number
    };
    for room in loaded.iter::<Room>() {
        let room = room.borrow();
        assert_eq!(room.text, format!("room {}", room.number));
        if let Some(next) = &room.next {
            assert_eq!(next.borrow().number, room.number + 1);
        }
        if let Some(back) = room.back.upgrade() {
            assert_eq!(back.borrow().number + 1, room.number);
        }
        for item in &room.items {
            assert_eq!(check_item(item) / 2, room.number);
        }
        for item in room.by_name.values() {
            assert_eq!(check_item(item), room.number * 2);
        }
        rooms += 1;
    }
    for item in loaded.iter::<Item>() {
        check_item(&item);
        items += 1;
    }
    (rooms, items)
}

/// Where the content of each block begins, and where it ends.
fn blocks(save: &[u8]) -> Vec<(usize, usize)> {
    let word = |at: usize| u32::from_le_bytes(save[at..at + 4].try_into().unwrap()) as usize;
    let mut at = 16 + word(12) + 4;
    let mut blocks = Vec::new();
    while save[at] == 1 {
        let end = at + 5 + word(at + 1);
        blocks.push((at + 5, end));
        at = end + 4;
    }
    blocks
}

#[test]
fn a_save_that_is_cut_off_gives_what_is_before() {
    let (manager, rooms) = world();
    let save = manager.to_vec().unwrap();
    let blocks = blocks(&save);
    assert!(blocks.len() > 5);
    let mut before = 0;
    for (i, (_, end)) in blocks.iter().enumerate() {
        for cut in [end + 4, end + 100, end + 20_000] {
            let cut = cut.min(save.len() - 1);
            // Never by itself.
            let strict = SaveManager::new().from_slice(&save[..cut]).map(drop).unwrap_err();
            assert_eq!(strict.kind(), ErrorKind::Truncated);
            let loaded = salvaging().from_slice(&save[..cut]).unwrap();
            let (found_rooms, found_items) = check(&loaded);
            let salvage = loaded.report().salvage().unwrap().clone();
            assert_eq!(salvage.objects, found_rooms + found_items, "block {i}");
            assert_eq!((salvage.places, salvage.lost), (1, None));
            assert!(salvage.objects >= before);
            before = salvage.objects;
            loaded.dismantle();
        }
    }
    assert_eq!(before, u64::from(ROOMS) * 3);
    unlink(&rooms);
}

#[test]
fn bit_rot_costs_the_objects_of_its_block_alone() {
    let (manager, rooms) = world();
    let save = manager.to_vec().unwrap();
    let whole = u64::from(ROOMS) * 3;
    // The classes are defined in the first, and once more at the end.
    for (start, end) in blocks(&save) {
        for at in [start - 5, start - 3, start, (start + end) / 2, end + 1] {
            let mut save = save.clone();
            save[at] ^= 0x10;
            let loaded = salvaging().from_slice(&save).unwrap();
            let (found_rooms, found_items) = check(&loaded);
            let salvage = loaded.report().salvage().unwrap().clone();
            assert_eq!(salvage.objects, found_rooms + found_items);
            assert_eq!(salvage.lost, Some(whole - salvage.objects), "a flip at {at}");
            assert_eq!(salvage.places, 1);
            assert!(salvage.lost_bytes >= (end - start) as u64, "{salvage:?}");
            assert!(salvage.objects > whole / 2 && salvage.objects < whole, "{salvage:?}");
            assert_eq!(salvage.incomplete, 0);
            assert!(loaded.report().summary().starts_with("the save was damaged, "));
            assert!(!loaded.report().is_clean());
            loaded.dismantle();
        }
    }
    unlink(&rooms);
}

#[test]
fn no_block_costs_the_definitions_of_the_others() {
    let (manager, rooms) = world();
    let save = manager.to_vec().unwrap();
    let blocks = blocks(&save);
    // Several at once, the first among them.
    let mut wreck = save.clone();
    for (start, end) in [blocks[0], blocks[3]] {
        wreck[start..end].fill(0xee);
    }
    let loaded = salvaging().from_slice(&wreck).unwrap();
    let (found_rooms, found_items) = check(&loaded);
    assert!(found_rooms + found_items > u64::from(ROOMS) * 3 / 2, "{found_rooms}, {found_items}");
    loaded.dismantle();
    // Nobody takes the second definitions for the first if they are damaged, or of another save.
    let second = blocks[blocks.len() - 1].1 + 4;
    assert_eq!(save[second], 4);
    for with_crc in [false, true] {
        let mut wreck = save.clone();
        wreck[second + 30] ^= 1;
        if with_crc {
            let end = wreck.len() - 33;
            let crc = crc32fast::hash(&wreck[second..end]);
            wreck[end..end + 4].copy_from_slice(&crc.to_le_bytes());
        }
        let error = SaveManager::new().from_slice(&wreck).map(drop).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::Damaged, Some(second as u64)));
        wreck[blocks[2].0] ^= 1;
        let loaded = salvaging().from_slice(&wreck).unwrap();
        assert!(check(&loaded).0 > u64::from(ROOMS) / 2);
        loaded.dismantle();
    }
    unlink(&rooms);
}

/// An empty game would go for a whole one.
#[test]
fn a_wreck_without_a_whole_object_is_an_error_that_counts_them() {
    let (manager, rooms) = world_of(40);
    let save = manager.to_vec().unwrap();
    let blocks = blocks(&save);
    assert_eq!(blocks.len(), 1);
    let mut wreck = save.clone();
    wreck[blocks[0].0] ^= 1;
    let error = salvaging().from_slice(&wreck).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    // Two blocks, and the objects of the one that is whole are of no class that is known.
    let (manager, more) = world_of(400);
    let mut wreck = manager.to_vec().unwrap();
    wreck[40] ^= 1;
    let second = wreck.len() - 40;
    wreck[second] ^= 1;
    let error = salvaging().from_slice(&wreck).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(error.message().contains("all 1200 objects are lost"), "{error}");
    unlink(&rooms);
    unlink(&more);
}

#[test]
fn what_is_saved_again_is_whole() {
    let (manager, rooms) = world();
    let mut save = manager.to_vec().unwrap();
    let (start, end) = blocks(&save)[2];
    save[start..end].fill(0);
    let loaded = salvaging().from_slice(&save).unwrap();
    let found = check(&loaded);
    let save = loaded.to_vec().unwrap();
    let loaded = salvaging().from_slice(&save).unwrap();
    assert_eq!(loaded.report().salvage(), None);
    assert_eq!(check(&loaded), found);
    loaded.dismantle();
    unlink(&rooms);
}

#[test]
fn a_damaged_header_costs_no_object() {
    let (manager, rooms) = world();
    let save = manager.to_vec().unwrap();
    for at in [0, 5, 13, 17] {
        let mut save = save.clone();
        save[at] ^= 0x20;
        let loaded = salvaging().from_slice(&save).unwrap();
        assert_eq!(check(&loaded), (u64::from(ROOMS), u64::from(ROOMS) * 2), "byte {at}");
        let salvage = loaded.report().salvage().unwrap();
        assert!(salvage.lost_header, "byte {at}");
        assert!(salvage.to_string().contains("the header is lost"), "{salvage}");
        loaded.dismantle();
    }
    unlink(&rooms);
}

#[test]
fn what_cannot_be_without_a_lost_object_is_lost_with_it() {
    let mut manager = SaveManager::new();
    let hands: Vec<Shared<Hand>> = (0..3_000)
        .map(|holder| Rc::new(RefCell::new(Hand { holds: item(holder), holder })))
        .collect();
    for hand in &hands {
        manager.add(hand).unwrap();
    }
    let mut save = manager.to_vec().unwrap();
    let blocks = blocks(&save);
    let last = blocks[blocks.len() - 2];
    save[last.0 + 10] ^= 1;
    let loaded = salvaging().from_slice(&save).unwrap();
    let salvage = loaded.report().salvage().unwrap();
    let found: Vec<_> = loaded.iter::<Hand>().collect();
    for hand in &found {
        let hand = hand.borrow();
        assert_eq!(hand.holds.borrow().number, hand.holder);
    }
    assert!(salvage.incomplete > 100, "{salvage:?}");
    assert_eq!(salvage.objects + salvage.lost.unwrap(), 6_000);
    assert_eq!(found.len() as u64, salvage.objects - loaded.iter::<Item>().count() as u64);
}

/// Classes are numbered as they are defined: if a definition is lost, what follows is known by the
/// count in the trailer, or not at all.
#[test]
fn objects_behind_a_lost_definition_are_never_of_another_class() {
    #[derive(Persist)]
    struct Early {
        text: String,
    }
    #[derive(Persist)]
    struct Middle {
        text: String,
    }
    #[derive(Persist)]
    struct Late {
        text: String,
    }
    let mut manager = SaveManager::new();
    let mut keep: Vec<Rc<dyn std::any::Any>> = Vec::new();
    let text = |of: &str| format!("{of} ").repeat(200);
    for _ in 0..100 {
        let object = Rc::new(RefCell::new(Early { text: text("early") }));
        manager.add(&object).unwrap();
        keep.push(object);
    }
    for _ in 0..100 {
        let object = Rc::new(RefCell::new(Middle { text: text("middle") }));
        manager.add(&object).unwrap();
        keep.push(object);
    }
    for _ in 0..100 {
        let object = Rc::new(RefCell::new(Late { text: text("late") }));
        manager.add(&object).unwrap();
        keep.push(object);
    }
    let save = manager.to_vec().unwrap();
    let blocks = blocks(&save);
    let load = |save: &[u8]| {
        let manager = salvaging();
        manager.register::<Early>().unwrap();
        manager.register::<Middle>().unwrap();
        manager.register::<Late>().unwrap();
        let loaded = manager.from_slice(save)?;
        let of = |text: &str, of: &str| assert!(text.starts_with(of), "{text} as {of}");
        loaded.iter::<Early>().for_each(|object| of(&object.borrow().text, "early"));
        loaded.iter::<Middle>().for_each(|object| of(&object.borrow().text, "middle"));
        loaded.iter::<Late>().for_each(|object| of(&object.borrow().text, "late"));
        Ok::<_, persist::Error>((
            loaded.iter::<Early>().count(),
            loaded.iter::<Middle>().count(),
            loaded.iter::<Late>().count(),
        ))
    };
    assert_eq!(load(&save).unwrap(), (100, 100, 100));
    let mut has_all_late = false;
    for (i, (start, end)) in blocks.iter().enumerate() {
        let mut damaged = save.clone();
        damaged[*start..*end].fill(0xee);
        let found = load(&damaged).unwrap_or((0, 0, 0));
        has_all_late |= i > 0 && found.2 == 100;
        // Without the trailer nobody knows.
        let cut = &damaged[..damaged.len() - 5];
        let without = load(cut).unwrap_or((0, 0, 0));
        assert!(without.0 <= found.0 && without.1 <= found.1 && without.2 <= found.2, "block {i}");
    }
    assert!(has_all_late);
}

/// Whatever has become of it: what comes back is true, and the loss is told.
#[test]
fn wrecks_of_every_sort_give_true_objects_or_an_error() {
    let (manager, rooms) = world_of(500);
    let save = manager.to_vec().unwrap();
    let mut random = Lcg64Xsh32::seed_from_u64(19);
    let mut came_back = 0;
    for _ in 0..150 {
        let mut wreck = save.clone();
        for _ in 0..random.gen_range(1..4) {
            let from = random.gen_range(0..wreck.len());
            let to = random.gen_range(from..wreck.len().min(from + 90_000)) + 1;
            match random.gen_range(0..6) {
                0 => wreck[from] ^= 1 << random.gen_range(0..8),
                1 => wreck[from..to].fill(0),
                2 => drop(wreck.drain(from..to)),
                3 => wreck.truncate(from.max(100)),
                4 => wreck.extend_from_within(from..to),
                _ => wreck[from..to].rotate_left((to - from) / 2),
            }
        }
        let Ok(loaded) = salvaging().from_slice(&wreck) else { continue };
        let (found_rooms, found_items) = check(&loaded);
        if let Some(salvage) = loaded.report().salvage() {
            assert_eq!(salvage.objects, found_rooms + found_items);
        }
        came_back += found_rooms + found_items;
        loaded.dismantle();
    }
    assert!(came_back > 30_000, "{came_back} objects");
    unlink(&rooms);
}

#[test]
fn a_save_of_a_newer_format_is_no_wreck() {
    let mut save = persist::to_vec(&7_u8).unwrap();
    save[8] = 2;
    let crc = crc32fast::hash(&save[..16]);
    save[16..20].copy_from_slice(&crc.to_le_bytes());
    let error = salvaging().from_slice(&save).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NewerFormat);
    // Without its checksum the number is damaged alone.
    save[8] = 3;
    save[16..20].copy_from_slice(&persist::to_vec(&7_u8).unwrap()[16..20]);
    assert_eq!(persist::from_slice::<u8>(&save).unwrap_err().kind(), ErrorKind::Damaged);
    let value = salvaging().saves().from_slice::<u8>(&save).unwrap();
    assert_eq!((*value, value.report().salvage().is_some()), (7, true));
}

/// A trailer that counts any number of definitions makes nobody believe that so many are lost.
#[test]
fn lost_definitions_are_no_more_than_the_lost_bytes_held() {
    let (manager, rooms) = world_of(500);
    let mut save = manager.to_vec().unwrap();
    let (start, _) = blocks(&save)[1];
    save[start] ^= 1;
    let trailer = save.len() - 29;
    save[trailer + 9..trailer + 17].copy_from_slice(&(1_u64 << 24).to_le_bytes());
    let crc = crc32fast::hash(&save[trailer..trailer + 25]);
    save[trailer + 25..].copy_from_slice(&crc.to_le_bytes());
    let used = allocation_counter::measure(|| {
        let loaded = salvaging().from_slice(&save).unwrap();
        assert!(check(&loaded).0 > 50);
        loaded.dismantle();
    });
    assert!(used.bytes_max < 64 * save.len() as u64, "{} bytes", used.bytes_max);
    unlink(&rooms);
}

#[test]
fn what_is_no_save_is_refused_as_ever() {
    for bytes in [&b""[..], b"something else", &[0; 5_000], &[1; 5_000]] {
        let error = salvaging().from_slice(bytes).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotASave, "{error}");
    }
}

#[test]
fn a_value_whose_block_is_whole_comes_back_without_what_is_lost() {
    let (_, rooms) = world();
    let mut save = persist::to_vec(&rooms[..1_000].to_vec()).unwrap();
    let blocks = blocks(&save);
    let (start, _) = blocks[blocks.len() - 1];
    save[start] ^= 1;
    let value = salvaging().saves().from_slice::<Vec<Shared<Room>>>(&save).unwrap();
    assert!(value.len() > 300 && value.len() <= 1_000, "{}", value.len());
    assert!(value.report().salvage().unwrap().cut > 0);
    unlink(&value);
    unlink(&rooms);
}
