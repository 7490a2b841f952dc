//! What was saved comes back.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use persist::save::Compression;
use persist::storage::Memory;
use persist::{Persist, SaveManager, Saves};
use persist_tools::Document;

use crate::compression::{
    BOTH, LZ4, ZSTD, blocks, by, inside, lz4, noise, packed, replaced, tags, zstd,
};
use persist_tests::support::disk::{Disk, Image};
use persist_tests::support::fixture_types::{load_and_save, read};

#[derive(Persist, Clone, Debug, PartialEq)]
struct World {
    name: String,
    tiles: Vec<u8>,
}

fn world(tiles: Vec<u8>) -> World {
    World { name: "Midgard".into(), tiles }
}

#[test]
fn a_compressed_value_comes_back_smaller_than_it_was() {
    let world = world([1, 2, 3, 4].repeat(50_000));
    for (compression, tag) in BOTH.into_iter().zip([LZ4, ZSTD]) {
        let save = packed(compression, &world);
        assert_eq!(tags(&save), [tag]);
        assert!(save.len() < 2_000, "{compression:?}: {}", save.len());
        assert_eq!(persist::from_slice::<World>(&save).unwrap(), world);
    }
}

#[test]
fn the_same_state_has_the_same_bytes() {
    let world = world([noise(300), vec![0; 100_000]].concat().repeat(3));
    for compression in BOTH {
        let saves = Saves::new().save_options(by(compression));
        let first = saves.to_vec(&world).unwrap();
        // The second is made by what is warm, a third by other saves.
        assert!(saves.to_vec(&world).unwrap() == first);
        assert!(packed(compression, &world) == first);
    }
}

#[test]
fn a_block_in_pieces_is_compressed_like_a_whole_one() {
    let names: Vec<_> = (0..40_000).map(|n| format!("{n} {}", "ab".repeat(n % 40))).collect();
    for compression in BOTH {
        let saves = Saves::new().save_options(by(compression));
        // What was saved before leaves one window for all of it.
        saves.to_vec(&vec![0_u8; 4 << 20]).unwrap();
        let whole = saves.to_vec(&names).unwrap();
        assert!(packed(compression, &names) == whole);
        assert_eq!(persist::from_slice::<Vec<String>>(&whole).unwrap(), names);
    }
}

#[test]
fn what_does_not_get_smaller_is_written_as_it_is() {
    let world = world(noise(200_000));
    let plain = persist::to_vec(&world).unwrap();
    for compression in BOTH {
        assert!(packed(compression, &world) == plain);
    }
    for compression in BOTH {
        assert_eq!(packed(compression, &7_u8), persist::to_vec(&7_u8).unwrap());
    }
}

#[test]
fn every_fixture_loads_from_compressed_blocks_too() {
    for name in ["players", "values", "graph", "pointers"] {
        let plain = read(name);
        for (tag, compress) in [(LZ4, lz4 as fn(&[u8]) -> Vec<u8>), (ZSTD, zstd)] {
            let mut smaller = true;
            let save = replaced(&plain, |content| {
                let inside = inside(content.len(), &compress(content));
                smaller &= inside.len() < content.len();
                Some((tag, inside))
            });
            match load_and_save(name, &save) {
                Ok(again) => assert!(smaller && again == plain, "{name}"),
                Err(error) => assert!(!smaller, "{name}: {error}"),
            }
        }
    }
}

#[test]
fn blocks_of_both_sorts_and_plain_ones_make_one_save() {
    let mut manager = SaveManager::new();
    let tiles = [vec![1; 70_000], noise(70_000), vec![2; 70_000], vec![3; 70_000]];
    for tiles in tiles.clone() {
        manager.add(&Rc::new(RefCell::new(world(tiles)))).unwrap();
    }
    let plain = manager.to_vec().unwrap();
    let mut blocks = 0;
    let save = replaced(&plain, |content| {
        blocks += 1;
        match blocks {
            1 => Some((ZSTD, inside(content.len(), &zstd(content)))),
            2 => None,
            _ => Some((LZ4, inside(content.len(), &lz4(content)))),
        }
    });
    assert_eq!(tags(&save), [ZSTD, 1, LZ4, LZ4]);
    let loaded = manager.from_slice(&save).unwrap();
    let found: Vec<_> = loaded.iter::<World>().map(|world| world.borrow().tiles.clone()).collect();
    assert!(found == tiles);

    // The library leaves the block that does not get smaller as it is, too.
    let saves = manager.saves().clone().save_options(by(Compression::Lz4));
    let save = saves.to_vec(&manager).unwrap();
    assert_eq!(tags(&save), [LZ4, 1, LZ4, LZ4]);
    assert!(saves.to_vec(&loaded).unwrap() == save);
}

#[test]
fn a_document_that_is_not_changed_is_written_as_it_was() {
    let world = world([noise(200), vec![5; 400]].concat().repeat(300));
    for compression in BOTH {
        let save = packed(compression, &world);
        assert!(Document::from_slice(&save).unwrap().to_vec().unwrap() == save, "{compression:?}");
    }
    let small = packed(Compression::Zstd(22), &world);
    let usual = Document::from_slice(&small).unwrap().to_vec().unwrap();
    assert!(usual == packed(Compression::Zstd(3), &world));
}

#[test]
fn a_level_beyond_the_ends_is_that_of_the_end() {
    let world = world([noise(200), vec![5; 400]].concat().repeat(30));
    for (beyond, end) in [(i32::MIN, 1), (0, 1), (23, 22), (i32::MAX, 22)] {
        assert!(
            packed(Compression::Zstd(beyond), &world) == packed(Compression::Zstd(end), &world)
        );
    }
}

#[test]
fn a_damaged_compressed_file_gives_way_to_its_backup() {
    let storage = Memory::default();
    let saves =
        Saves::new().storage(storage.clone()).save_options(by(Compression::Lz4).verify(true));
    for level in [1, 2] {
        saves.file("game.sav").save(&world(vec![level; 1000])).unwrap();
    }
    let mut save = Vec::new();
    let path = Path::new("game.sav");
    use persist::storage::Storage;
    storage.open(path).unwrap().read_to_end(&mut save).unwrap();
    let at = blocks(&save).0[0].1;
    save[at + 12] ^= 1;
    storage.remove(path).unwrap();
    storage.create(path, path).unwrap().write_all(&save).unwrap();

    let found = saves.file("game.sav").load::<World>().unwrap();
    assert_eq!(*found, world(vec![1; 1000]));
    let recovery = found.recovery().unwrap();
    assert!(recovery.cause.contains("checksum"), "{}", recovery.cause);
}

/// `cargo test -p persist-tests --test storage -- --ignored compression::`
#[test]
#[ignore = "writes the fixtures that `compression_off.rs` reads"]
fn write_fixtures() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/compressed");
    for (name, compression) in [("lz4", Compression::Lz4), ("zstd", Compression::Zstd(3))] {
        let numbers: Vec<u16> = (0..300).map(|i| i % 7).collect();
        let save = packed(compression, &numbers);
        assert_ne!(tags(&save), [1]);
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(format!("{folder}/{name}.sav"), save).unwrap();
    }
}

#[test]
fn a_save_in_the_background_has_the_same_bytes() {
    let world = world([1, 2, 3, 4].repeat(50_000));
    for compression in BOTH {
        let disk = Disk::new(Image::new());
        let saves = Saves::new().storage(disk.clone()).save_options(by(compression));
        saves.file("front.sav").save(&world).unwrap();
        saves.file("back.sav").save_in_background(&world).unwrap().wait().unwrap();
        let image = disk.image();
        assert!(image[Path::new("front.sav")] == image[Path::new("back.sav")]);
    }
}

#[test]
fn what_is_whole_of_a_damaged_compressed_save_is_salvaged() {
    for compression in BOTH {
        let mut manager = Saves::new().save_options(by(compression)).manager();
        for tile in 0..5 {
            manager.add(&Rc::new(RefCell::new(world(vec![tile; 70_000])))).unwrap();
        }
        let mut save = manager.to_vec().unwrap();
        let places = blocks(&save).0;
        assert_eq!(places.len(), 5);
        save[places[2].1 + 20] ^= 1;
        assert_eq!(manager.from_slice(&save).unwrap_err().kind(), persist::ErrorKind::Damaged);
        let policy = persist::save::LoadPolicy::Salvage;
        let saves = manager.saves().clone();
        let saves = saves.load_options(persist::LoadOptions::new().policy(policy));
        let loaded = saves.from_slice::<SaveManager>(&save).unwrap();
        let found: Vec<_> = loaded.iter::<World>().map(|world| world.borrow().tiles[0]).collect();
        assert_eq!(found, [0, 1, 3, 4]);
        let salvage = loaded.report().salvage().unwrap();
        assert_eq!((salvage.places, salvage.lost), (1, Some(1)));
    }
}
