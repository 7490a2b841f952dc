use std::io::ErrorKind as Io;

use persist::Saves;
use persist::save::{Keep, Lineage};

use super::{SAVE, load, path, saved, saves};
use persist_tests::support::disk::{Disk, Fault, Image};

const REMOTE: &str = "remote";

/// A disk with a save of level 2 and one of level 3 that another device has made of the save before.
fn diverged() -> Image {
    let on = |image: Image, device: &str, level: u32| {
        let disk = Disk::new(image);
        named(&disk, device).file(SAVE).save(&super::game(level)).unwrap();
        disk.image()
    };
    let first = on(saved([], 1), "deck", 1);
    let mut image = on(first.clone(), "deck", 2);
    let remote = on(first, "laptop", 3).remove(&path(SAVE)).unwrap();
    image.insert(path(REMOTE), remote);
    image
}

fn named(disk: &Disk, device: &str) -> Saves {
    saves(disk, 1).device(device).unwrap()
}

/// S18 with S1 and S9.
#[test]
fn a_choice_that_is_cut_off_or_fails_leaves_the_old_save_or_the_chosen_one() {
    let before = diverged();
    for keep in [Keep::Local, Keep::Remote] {
        for fault in [Fault::Once(Io::Other), Fault::Ever(Io::Other)] {
            for new in [Disk::new, Disk::without_links] {
                let mut number = 1;
                loop {
                    let disk = new(before.clone());
                    disk.fail(number, fault);
                    let result = named(&disk, "deck").file(SAVE).reconcile(REMOTE, keep);
                    if !disk.end_faults() {
                        result.unwrap();
                        assert!(number > 8, "{number}");
                        break;
                    }
                    let what = format!("{fault:?} at operation {number}: {result:?}");
                    let level = load(&disk).unwrap();
                    assert!(level == 2 || level == 3 && keep == Keep::Remote, "{what}: {level}");
                    // Nothing is gone, and it can be done once more.
                    let image = disk.image();
                    for bytes in [&before[&path(SAVE)], &before[&path(REMOTE)]] {
                        assert!(image.values().any(|file| file == bytes), "{what}");
                    }
                    let saves = named(&disk, "deck");
                    saves.file(SAVE).reconcile(REMOTE, keep).unwrap();
                    let lineage = saves.file(SAVE).compare(REMOTE).unwrap().lineage;
                    assert_eq!(lineage, Lineage::Newer, "{what}");
                    number += 1;
                }
            }
        }
    }
}
