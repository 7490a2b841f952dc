//! Bombs are refused before anything is allocated for them, and no save is written that would be one.

use std::cell::RefCell;
use std::rc::Rc;

use persist::save::{Compression, LoadPolicy};
use persist::{ErrorKind, Limits, LoadOptions, SaveManager, Saves};

use crate::compression::{BOTH, LZ4, ZSTD, blocks, by, inside, lz4, packed, replaced, tags, zstd};
use persist_tests::support::forge::{bare, one, refused, value};

const GIB: usize = 1 << 30;

/// A save whose block says that it holds so much.
fn bomb(tag: u8, says: usize, frame: &[u8]) -> Vec<u8> {
    let save = one(bare("Vec<u8>", &[0x11, 3]), &[0]);
    replaced(&save, |_| Some((tag, inside(says, frame))))
}

#[test]
fn a_bomb_is_refused_before_it_is_allocated() {
    // 4 MiB of zeros, of which the frames have parts: repeated, they hold a gibibyte.
    let zeros = vec![0; 4 << 20];
    let frame = zstd(&zeros);
    // Parts of a Zstandard frame: 128 KiB of zeros in four bytes each, the last marked.
    let head = [0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    let part = [0x02, 0x00, 0x10, 0x00];
    let mut parts = part.repeat(GIB / (128 << 10));
    let last = parts.len() - 4;
    parts[last] |= 1;
    let long = [&head[..], &u32::try_from(GIB).unwrap().to_le_bytes(), &parts].concat();
    // It is a true frame.
    let mut short = [&head[..], &(256_u32 << 10).to_le_bytes(), &part, &part].concat();
    short[13] |= 1;
    assert_eq!(::zstd::bulk::decompress(&short, 1 << 20).unwrap(), vec![0; 256 << 10]);

    for (what, tag, says, frame) in [
        ("a kibibyte", ZSTD, GIB, &frame[..]),
        ("a kibibyte of LZ4", LZ4, GIB, &lz4(&[0; 200_000])[..]),
        ("a true one", ZSTD, GIB, &long),
        ("four gibibytes", ZSTD, u32::MAX as usize, &long),
        ("64 MiB", ZSTD, 64 << 20, &frame[..]),
    ] {
        let error = refused(bomb(tag, says, frame), value::<Vec<u8>>);
        let expected = if what.contains("true") { ErrorKind::TooLarge } else { ErrorKind::Damaged };
        assert_eq!(error.kind(), expected, "{what}: {error}");
    }
}

#[test]
fn the_limit_holds_on_both_sides() {
    let map = vec![7_u8; 200_000];
    for compression in BOTH {
        let save = packed(compression, &map);
        let saves =
            Saves::new().save_options(by(compression)).limits(Limits::new().decompressed(100_000));
        for error in
            [saves.to_vec(&map).unwrap_err(), saves.from_slice::<Vec<u8>>(&save).unwrap_err()]
        {
            assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
            assert!(error.message().contains("`Limits::decompressed`"), "{error}");
        }
        let saves = saves.save_options(by(Compression::None));
        let plain = saves.to_vec(&map).unwrap();
        assert!(saves.from_slice::<Vec<u8>>(&plain).is_ok());
    }
}

#[test]
fn the_size_of_the_file_is_what_its_limit_is_about() {
    let map = vec![7_u8; 200_000];
    let mut manager = Saves::new()
        .limits(Limits::new().bytes(250_000))
        .save_options(by(Compression::Lz4))
        .manager();
    let maps: Vec<_> = (0..4).map(|_| Rc::new(RefCell::new(map.clone()))).collect();
    for map in &maps {
        manager.add(map).unwrap();
    }
    let save = manager.to_vec().unwrap();
    assert_eq!(manager.from_slice(&save).unwrap().iter::<Vec<u8>>().count(), 4);
    let plain = manager.saves().clone().save_options(by(Compression::None));
    assert_eq!(plain.to_vec(&manager).unwrap_err().kind(), ErrorKind::TooLarge);
}

#[test]
fn what_a_load_would_take_for_an_attack_is_written_as_it_is() {
    let mut manager = Saves::new().save_options(by(Compression::Zstd(3))).manager();
    for _ in 0..2 {
        manager.add(&Rc::new(RefCell::new("0".repeat(40 << 20)))).unwrap();
    }
    let save = manager.to_vec().unwrap();
    assert_eq!(tags(&save), [ZSTD, 1, 5]);
    let loaded = manager.from_slice(&save).unwrap();
    assert!(loaded.iter::<String>().all(|text| text.borrow().len() == 40 << 20));
    // With both compressed it is refused.
    drop(loaded);
    let both = replaced(&save, |content| {
        (content.len() > 1 << 20).then(|| (ZSTD, inside(content.len(), &zstd(content))))
    });
    let error = manager.from_slice(&both).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    assert!(error.message().contains("`Limits::expansion`"), "{error}");
    let saves = manager.saves().clone().limits(Limits::new().expansion(100_000));
    assert!(saves.from_slice::<SaveManager>(&both).is_ok());
}

#[test]
fn a_save_without_compressed_blocks_costs_nothing_more() {
    let save = persist::to_vec(&vec![7_u8; 1 << 20]).unwrap();
    let used = allocation_counter::measure(|| {
        persist::from_slice::<Vec<u8>>(&save).unwrap();
    });
    assert!(used.bytes_max < (1 << 20) + (64 << 10), "{}", used.bytes_max);
}

/// The content of the blocks, and the value that is made of it.
#[test]
fn a_compressed_save_takes_memory_for_its_content_and_for_its_value() {
    const CONTENT: usize = 48 << 20;
    for compression in BOTH {
        let save = packed(compression, &vec![7_u8; CONTENT]);
        assert!(save.len() < CONTENT / 200);
        let load = |limits: Limits| {
            let saves = Saves::new().limits(limits);
            let mut loaded = None;
            let used = allocation_counter::measure(|| {
                loaded = Some(saves.from_slice::<Vec<u8>>(&save).map(drop).map_err(|it| it.kind()));
            });
            (loaded.unwrap(), usize::try_from(used.bytes_max).unwrap())
        };
        let (loaded, used) = load(Limits::DEFAULT);
        assert_eq!(loaded, Ok(()));
        assert!(used < 2 * CONTENT + (5 << 20), "{used} bytes for {CONTENT}");
        let (refused, used) = load(Limits::new().decompressed(CONTENT as u64));
        assert_eq!(refused, Err(ErrorKind::TooLarge));
        assert!(used < 1 << 20, "{used} bytes for a refusal");
    }
}

#[test]
fn a_salvage_counts_what_compressed_blocks_hold() {
    let saves = Saves::new()
        .save_options(by(Compression::Lz4))
        .load_options(LoadOptions::new().policy(LoadPolicy::Salvage));
    let mut manager = saves.manager();
    let objects: Vec<_> = (0..8_u32)
        .map(|i| {
            Rc::new(RefCell::new(
                (0..100_000_u32).map(|j| Some(j % (40 + i) == 0 || j * 7919 % 1009 == 3)).collect(),
            ))
        })
        .collect();
    for object in &objects {
        manager.add::<Rc<RefCell<Vec<Option<bool>>>>>(object).unwrap();
    }
    let mut save = manager.to_vec().unwrap();
    let last = blocks(&save).0.pop().unwrap().1;
    save[last + 20] ^= 1;
    let loaded = manager.from_slice(&save).unwrap();
    assert_eq!(loaded.len(), 7, "of a save of {} bytes", save.len());
}
