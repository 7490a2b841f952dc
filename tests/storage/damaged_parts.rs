//! Which part of a long value is damaged.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::RefCell;
use std::num::NonZeroU32;
use std::ops::Range;
use std::rc::Rc;

use persist::save::{Compression, DamagedPart, LoadPolicy, Salvage};
use persist::{ErrorKind, LoadOptions, Persist, SaveManager, SaveOptions, Saves};
use persist_tests::support::short_or_long;
use persist_tools::Document;

use rand::{Rng, SeedableRng};
use rand_pcg::Lcg64Xsh32;

#[derive(Persist, Clone)]
struct Terrain {
    seed: u64,
    heights: Vec<u32>,
    places: Vec<(f32, bool)>,
    names: Vec<String>,
}

const HEIGHTS: u32 = 100_000;
const PLACES: u32 = 60_000;

fn terrain() -> Terrain {
    Terrain {
        seed: 7,
        heights: (0..HEIGHTS).collect(),
        places: (0..PLACES).map(|i| (1.5, i % 2 == 0)).collect(),
        names: (0..20_000).map(|i| format!("place {i}")).collect(),
    }
}

/// Bytes of the value before the lists, and of those that take as many bytes for each element.
const SEED: usize = 8;
const COUNT: usize = 5;

fn word(save: &[u8], at: usize) -> usize {
    u32::from_le_bytes(save[at..at + 4].try_into().unwrap()) as usize
}

/// Where the value begins: after the header, the definitions and the head of the record.
fn payload(save: &[u8]) -> usize {
    let mut at = 20 + 5;
    while save[at] == 0 {
        at += 6 + word(save, at + 1);
    }
    at + 3 + 4
}

/// Where the sums of the pieces are, from the tag of their block, and where the definitions are once more.
fn sums(save: &[u8]) -> [usize; 2] {
    let block = |at: usize| at + 9 + word(save, at + 1);
    let sums = block(20);
    assert_eq!((save[20], save[sums], save[block(sums)]), (1, 5, 4));
    [sums, block(sums)]
}

/// The save with some objects, of which one is long.
fn objects() -> Vec<u8> {
    let mut manager = SaveManager::new();
    for number in 0..5000_u32 {
        manager.add(&Rc::new(RefCell::new((number, number)))).unwrap();
    }
    manager.add(&Rc::new(RefCell::new(terrain()))).unwrap();
    manager.to_vec().unwrap()
}

fn salvage(save: &[u8]) -> Salvage {
    Document::salvage(save).unwrap().1.unwrap()
}

/// The parts that the error of a lost value names, or the report of a rescued one.
fn message(save: &[u8]) -> String {
    match Document::salvage(save) {
        Ok((_, report)) => report.unwrap().to_string(),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Damaged);
            error.message().to_owned()
        }
    }
}

#[test]
#[allow(clippy::single_range_in_vec_init, reason = "one place with damage")]
fn the_part_of_a_lost_value_that_is_damaged_is_named() {
    let save = persist::to_vec(&terrain()).unwrap();
    let start = payload(&save);
    let lists = start + SEED;
    let [heights, places] = [COUNT - 1, COUNT + HEIGHTS as usize * 4 + COUNT - 2];
    let mut all = Vec::new();
    let mut damaged = |what: &str, ranges: &[Range<usize>]| {
        let mut save = save.clone();
        ranges.iter().for_each(|range| save[range.clone()].fill(0xa5));
        all.push(format!("{what}: {}", message(&save)));
    };
    let in_heights = lists + heights + 200_000;
    damaged("a byte", &[in_heights..in_heights + 1]);
    damaged(
        "two places",
        &[in_heights..in_heights + 1, in_heights + 130_000..in_heights + 130_002],
    );
    let in_places = lists + places + 70_000;
    damaged("pairs", &[in_places..in_places + 100_000]);
    damaged("two lists", &[lists + places - 9..lists + places + 9]);
    for places in [4, 5] {
        let range = |i: usize| start + 70_000 + i * 132_000..start + 70_001 + i * 132_000;
        damaged("several places", &(0..places).map(range).collect::<Vec<_>>());
    }
    damaged("names", &[save.len() - 180_000..save.len() - 179_000]);
    damaged(
        "names and a height",
        &[in_heights..in_heights + 9, save.len() - 60_000..save.len() - 59_000],
    );
    damaged("the definitions and the first heights", &[40..60]);
    insta::assert_snapshot!(all.join("\n"));
}

/// A part is the naive one: the elements whose bytes lie in damaged pieces of 64 KiB.
#[test]
fn every_damaged_height_is_in_the_part() {
    let save = objects();
    // The long record has a block of its own, after that of the others.
    let first = 20 + 9 + word(&save, 21);
    let heights = save.windows(8).position(|bytes| bytes == [1, 0, 0, 0, 2, 0, 0, 0]).unwrap();
    let heights = heights - 4;
    let mut rng = Lcg64Xsh32::seed_from_u64(11);
    for _ in 0..30 {
        // The head of the record is in the first piece.
        let at = rng.gen_range(heights + 65_536..heights + HEIGHTS as usize * 4 - 65_536);
        let mut save = save.clone();
        save[at] ^= 1 << rng.gen_range(0..8);
        let piece = (at - first) / 65_536 * 65_536 + first;
        let found = salvage(&save);
        let [part] = &found.damaged_parts[..] else { panic!("{found:?}") };
        let (from, to) = ((piece - heights) / 4, (piece + 65_536 - heights).div_ceil(4));
        assert_eq!(part.fields, format!("heights[{from}..{to}]"), "a flip at {at}");
        assert_eq!(part.bytes.end - part.bytes.start, 65_536);
        assert_eq!((part.record.get(), &*part.class, part.is_zeroed), (5001, "Terrain", true));
        assert_eq!((found.objects, found.lost, found.lost_bytes), (5001, Some(0), 65_536));
        let shown = found.to_string();
        assert!(shown.contains(&part.to_string()), "{shown}");
    }
}

#[test]
fn nothing_is_said_without_sums_definitions_or_the_head_of_the_record() {
    let save = persist::to_vec(&terrain()).unwrap();
    let ends = sums(&save);
    let in_heights = payload(&save) + 200_000;
    let mut whole = save.clone();
    whole[in_heights] ^= 1;
    assert!(message(&whole).contains("heights["), "{}", message(&whole));
    for at in ends.map(|end| end + 7).into_iter().chain([payload(&save) - 3]) {
        let mut save = whole.clone();
        save[at] ^= 1;
        assert!(!message(&save).contains("heights"), "{at}: {}", message(&save));
    }
    // Each byte of the sums has a checksum.
    for at in ends[0]..ends[1] {
        let mut save = save.clone();
        save[at] ^= 0x10;
        assert!(persist::from_slice::<Terrain>(&save).is_err(), "byte {at}");
    }
    let packed = SaveOptions::new().compression(Compression::Lz4);
    let zeros = Terrain { heights: vec![0; 100_000], ..terrain() };
    let mut save = Saves::new().save_options(packed).to_vec(&zeros).unwrap();
    let middle = save.len() / 2;
    save[middle] ^= 1;
    assert!(!message(&save).contains("damaged are"), "{}", message(&save));
}

/// Damaged numbers and booleans of a value are zeros, and all others are as they were.
#[test]
fn damage_costs_the_numbers_in_its_pieces() {
    let whole = terrain();
    let save = persist::to_vec(&whole).unwrap();
    // The counts take 4 and 3 bytes.
    let lists = payload(&save) + SEED + 4;
    let places = lists + HEIGHTS as usize * 4 + 3;
    let end = places + PLACES as usize * 5;
    let saves = Saves::new().load_options(LoadOptions::new().policy(LoadPolicy::Salvage));
    let mut rng = Lcg64Xsh32::seed_from_u64(12);
    let mut rescued = 0;
    for _ in 0..40 {
        let mut save = save.clone();
        let mut pieces = Vec::new();
        for _ in 0..rng.gen_range(1..4) {
            let at = rng.gen_range(lists..end);
            save[at] ^= 1 << rng.gen_range(0..8);
            pieces.push(20 + (at - 20) / 65_536 * 65_536);
        }
        // The first piece has the head of the record, and another one has the count of the places.
        let has_count = |piece: &usize| *piece < places && places - 3 < *piece + 65_536;
        let is_rescued = !pieces.iter().any(|piece| *piece == 20 || has_count(piece));
        let is_rescued = is_rescued && pieces.iter().all(|piece| piece + 65_536 <= end);
        let loaded = saves.from_slice::<Terrain>(&save);
        assert_eq!(loaded.is_ok(), is_rescued, "{pieces:?}");
        let Ok(loaded) = loaded else { continue };
        rescued += 1;
        assert!(loaded.report().salvage().unwrap().damaged_parts.iter().all(|it| it.is_zeroed));
        let is_damaged = |start: usize, bytes: usize| {
            pieces.iter().any(|piece| start < piece + 65_536 && *piece < start + bytes)
        };
        let heights = (0..HEIGHTS).map(|i| {
            if is_damaged(lists + i as usize * 4, 4) { 0 } else { whole.heights[i as usize] }
        });
        assert!(heights.eq(loaded.heights.iter().copied()), "{pieces:?}");
        let expected = (0..PLACES as usize).map(|i| {
            let (at, (x, is_open)) = (places + i * 5, whole.places[i]);
            let x = if is_damaged(at, 4) { 0.0 } else { x };
            (x, is_open && !is_damaged(at + 4, 1))
        });
        assert!(expected.eq(loaded.places.iter().copied()), "{pieces:?}");
        assert!(loaded.names == whole.names && loaded.seed == 7);
    }
    assert!(rescued > 10, "{rescued} of 40");
}

/// Whatever happens to a save, numbers are what they were, or 0 where the report says so.
#[test]
fn no_damage_makes_up_a_number() {
    let save = objects();
    let whole = terrain();
    let saves = Saves::new().load_options(LoadOptions::new().policy(LoadPolicy::Salvage));
    saves.register::<Terrain>().unwrap();
    saves.register::<(u32, u32)>().unwrap();
    let mut rng = Lcg64Xsh32::seed_from_u64(13);
    let (mut zeroed, mut lost) = (0, 0);
    for _ in 0..short_or_long(60, 2000) {
        let mut save = save.clone();
        for _ in 0..rng.gen_range(1..4) {
            let at = rng.gen_range(0..save.len());
            let length = rng.gen_range(1..200_000_usize).min(save.len() - at);
            match rng.gen_range(0..8) {
                0 => save.truncate(at),
                1 => drop(save.drain(at..at + length)),
                2 => save[at..at + length].fill(0),
                3 => save.copy_within(at..at + length, rng.gen_range(0..=at)),
                _ => save[at] ^= 1 << rng.gen_range(0..8),
            }
        }
        let Ok(loaded) = saves.manager().from_slice(&save) else { continue };
        assert!(loaded.iter::<(u32, u32)>().all(|pair| pair.borrow().0 == pair.borrow().1));
        let parts = loaded.report().salvage().map(|found| found.damaged_parts.clone());
        let parts = parts.unwrap_or_default();
        let Some(found) = loaded.iter::<Terrain>().next() else {
            lost += 1;
            continue;
        };
        let found = found.borrow();
        let is_zeroed = parts.iter().any(|part| part.is_zeroed);
        zeroed += u32::from(is_zeroed);
        let of_numbers = || found.heights.iter().zip(&whole.heights);
        let is_zero = |found: u32, whole: u32| is_zeroed && found == 0 || found == whole;
        assert!(of_numbers().all(|(found, whole)| is_zero(*found, *whole)));
        assert_eq!((found.heights.len(), &found.names), (whole.heights.len(), &whole.names));
        for ((x, is_open), (whole_x, was_open)) in found.places.iter().zip(&whole.places) {
            assert!(
                is_zero(x.to_bits(), whole_x.to_bits())
                    && is_zero((*is_open).into(), (*was_open).into())
            );
        }
    }
    assert!(zeroed > 5 && lost > 5, "{zeroed} with zeros, {lost} lost");
}

#[derive(Persist)]
struct Ids {
    ids: Vec<NonZeroU32>,
}

/// A program that refuses a zero gets the other objects, in memory and from a file.
#[test]
fn a_value_that_refuses_zeros_is_lost() {
    let mut manager = SaveManager::new();
    manager.add(&Rc::new(RefCell::new((3_u8, 4_u8)))).unwrap();
    for number in 0..9000_u32 {
        manager.add(&Rc::new(RefCell::new((number, number)))).unwrap();
    }
    let ids = Ids { ids: (1..100_000).filter_map(NonZeroU32::new).collect() };
    manager.add(&Rc::new(RefCell::new(ids))).unwrap();
    let mut save = manager.to_vec().unwrap();
    let long = save.windows(8).position(|bytes| bytes == [1, 0, 0, 0, 2, 0, 0, 0]).unwrap();
    save[long + 200_000] ^= 1;

    let options = LoadOptions::new().policy(LoadPolicy::Salvage);
    let saves = Saves::new().load_options(options);
    saves.register::<Ids>().unwrap();
    saves.register::<(u8, u8)>().unwrap();
    saves.register::<(u32, u32)>().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ids.sav");
    std::fs::write(&path, &save).unwrap();
    let from_file = saves.file(&path).load::<SaveManager>().unwrap();
    for loaded in [saves.manager().from_slice(&save).unwrap(), from_file] {
        let found = loaded.report().salvage().unwrap();
        assert_eq!((found.objects, found.lost), (9001, Some(1)));
        assert!(found.damaged_parts.iter().all(|part| !part.is_zeroed));
        assert_eq!(loaded.iter::<(u32, u32)>().count(), 9000);
    }
    // Tools know of a number alone.
    let found = salvage(&save);
    assert_eq!((found.objects, found.lost), (9002, Some(0)));
}

/// Sums that are made to take long, or that say wrong things of a block.
#[test]
fn sums_that_are_made_to_harm_name_nothing() {
    let save = persist::to_vec(&terrain()).unwrap();
    let [start, end] = sums(&save);
    let entry = save[start + 5..end - 4].to_vec();
    let with = |content: &[u8]| {
        let mut forged = save[..start].to_vec();
        forged[payload(&save) + 200_000] ^= 1;
        let length = u32::try_from(content.len()).unwrap().to_le_bytes();
        let block = [&[5][..], &length, content].concat();
        forged.extend([&block[..], &crc32fast::hash(&block).to_le_bytes(), &save[end..]].concat());
        message(&forged)
    };
    assert!(with(&entry).contains("heights["));
    let position = |position: u64| [&position.to_le_bytes(), &entry[8..]].concat();
    for content in [
        entry.repeat(1000),
        position(9),
        position(u64::MAX),
        entry[..entry.len() - 1].to_vec(),
        [&entry[..8], &[0xff; 4], &entry[12..]].concat(),
        [&entry[..8], &[0; 4], &entry[12..]].concat(),
        Vec::new(),
    ] {
        assert!(!with(&content).contains("heights["), "{content:?}");
    }
}

/// Sums that call a whole block damaged change nothing of it.
#[test]
fn wrong_sums_of_a_whole_block_cost_nothing() {
    let save = objects();
    // The header is lost, so that there is something to salvage.
    let mut damaged = save.clone();
    damaged[17] ^= 1;
    let (expected, found) = Document::salvage(&damaged).unwrap();
    assert_eq!((found.unwrap().objects, expected.to_vec().unwrap().len()), (5001, save.len()));
    let first = 20 + 9 + word(&save, 21);
    let start = first + 9 + word(&save, first + 1);
    assert_eq!(save[start], 5);
    let end = start + 5 + word(&save, start + 1);
    for sum in (start + 17..end).step_by(4) {
        let mut forged = damaged.clone();
        forged[sum] ^= 1;
        let crc = crc32fast::hash(&forged[start..end]).to_le_bytes();
        forged[end..end + 4].copy_from_slice(&crc);
        let (document, found) = Document::salvage(&forged).unwrap();
        assert_eq!(found.unwrap().damaged_parts, []);
        assert_eq!(document.to_vec().unwrap(), expected.to_vec().unwrap());
    }
}

#[test]
fn a_long_value_is_one_save_for_all_writers_and_readers() {
    let (saves, terrain) = (Saves::new(), terrain());
    let save = saves.to_vec(&terrain).unwrap();
    let [start, end] = sums(&save);
    // Position, length, and a sum for each piece.
    assert_eq!((end - start - 9 - 12) / 4, (start - 4 - 20).div_ceil(65_536));
    let loaded = saves.from_slice::<Terrain>(&save).unwrap();
    assert_eq!(saves.to_vec(&*loaded).unwrap(), save);
    assert_eq!(Document::from_slice(&save).unwrap().to_vec().unwrap(), save);
    let limits = persist::Limits::DEFAULT;
    let verified = persist_tools::verify(std::io::Cursor::new(&save), &limits).unwrap();
    assert_eq!((verified.objects, verified.bytes), (1, save.len() as u64));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("terrain.sav");
    let slot = saves.file(&path);
    slot.save_in_background(&terrain).unwrap().wait().unwrap();
    let written = std::fs::read(&path).unwrap();
    let blocks = 16 + word(&written, 12) + 4..written.len() - 29;
    assert_eq!(written[blocks], save[20..save.len() - 29]);
}

#[test]
fn a_part_reads_as_words() {
    let mut save = objects();
    let at = save.len() - 500_000;
    save[at] ^= 1;
    let parts: Vec<DamagedPart> = salvage(&save).damaged_parts;
    assert_eq!(parts.len(), 1);
    insta::assert_snapshot!(format!("{}\n{}", parts[0], salvage(&save)));
}
