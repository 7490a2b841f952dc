use super::{assert_no_strays, load, save, saved};
use persist_tests::support::disk::{Cut, Disk};

/// More unsynced sectors than this are tried in part.
const ALL: usize = 10;

/// The selections of so many sectors: all of them, or a thousand.
pub(super) fn selections(sectors: usize) -> Vec<u64> {
    if sectors <= ALL {
        return (0..1 << sectors).collect();
    }
    // A generator of Marsaglia's, for numbers without a pattern.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..1_000).map(|_| next()).chain([0, u64::MAX]).collect()
}

pub(super) fn each_image(cut: &Cut, mut check: impl FnMut(&Disk, &str)) {
    for selection in selections(cut.pieces()) {
        for (names, image) in
            cut.images(|sector| selection >> (sector % 64) & 1 == 1).into_iter().enumerate()
        {
            let what = format!("a cut after {}, sectors {selection:b}, {names} names", cut.after);
            check(&Disk::new(image), &what);
        }
    }
}

/// S2 and S3.
#[test]
fn a_power_cut_at_any_moment_leaves_the_old_save_or_the_new_one() {
    for (backups, links) in [(0, true), (1, true), (3, true), (0, false), (1, false), (3, false)] {
        let before = saved([8, 9, 1], backups);
        let disk = if links { Disk::new(before) } else { Disk::without_links(before) };
        disk.note_cuts();
        save(&disk, backups, 2).unwrap();
        let cuts = disk.cuts();
        assert!(cuts.len() > 8);
        let mut found = [0; 3];
        for cut in &cuts {
            each_image(cut, |disk, what| {
                let level = load(disk).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(level == 1 || level == 2, "{what}: level {level}");
                found[level as usize] += 1;
                assert_no_strays(disk, what);
            });
        }
        assert!(found[1] > 0 && found[2] > 0, "{found:?}");
        // What was promised to be there is.
        if let Some(last) = cuts.last() {
            each_image(last, |disk, what| assert_eq!(load(disk).unwrap(), 2, "{what}"));
        }
    }
}

/// Names without a journal: each change may last without those before it.
#[test]
fn a_power_cut_leaves_a_save_where_names_last_in_any_order() {
    for (backups, links) in [(1, true), (3, true), (1, false), (3, false)] {
        let before = saved([8, 9, 1], backups);
        let disk = if links { Disk::new(before) } else { Disk::without_links(before) };
        disk.note_cuts();
        save(&disk, backups, 2).unwrap();
        let mut states = 0;
        for cut in disk.cuts() {
            for image in cut.images_in_any_order(|_| true) {
                let what = format!("{backups} backups, a cut after {}", cut.after);
                let level =
                    load(&Disk::new(image)).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(level == 1 || level == 2, "{what}: level {level}");
                states += 1;
            }
        }
        assert!(states > 35, "{states}");
    }
}

/// The first save of a slot is there or not.
#[test]
fn a_power_cut_in_a_first_save_leaves_none_or_a_whole_one() {
    let disk = Disk::new(saved([], 1));
    disk.note_cuts();
    save(&disk, 1, 2).unwrap();
    for cut in disk.cuts() {
        each_image(&cut, |disk, what| match load(disk) {
            Ok(level) => assert_eq!(level, 2, "{what}"),
            Err(error) => {
                let is_missing = error.message().contains("not found");
                assert!(is_missing, "{what}: {error}");
                assert_no_strays(disk, what);
            }
        });
    }
}
