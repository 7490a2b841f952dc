//! The saves of a small game in five versions, in `fixtures/evolution`: each version loads all
//! that are older.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]
#![allow(clippy::needless_pass_by_value, reason = "a `convert` function owns what it gets")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use persist::save::LoadPolicy;
use persist::{LoadOptions, SaveManager};
use persist_tests::support::game::{Version, v1, v2, v3, v4, v5};

/// Where the save of a version lies.
fn path(version: u32) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/evolution"))
        .join(format!("v{version}.sav"))
}

/// The committed bytes.
fn read(version: u32) -> Vec<u8> {
    std::fs::read(path(version)).expect("a save; `write_saves` makes those of new versions")
}

/// The save of a version, made anew.
fn make(version: u32) -> Vec<u8> {
    fn save<W: Version>(version: u32) -> Vec<u8> {
        let saves = W::manager().saves().clone();
        let saves = saves.application("Isle", &format!("{version}.0")).unwrap();
        let mut manager = saves.manager();
        manager.add(&W::world(version)).unwrap();
        manager.to_vec().unwrap()
    }
    match version {
        1 => save::<v1::World>(1),
        2 => save::<v2::World>(2),
        3 => save::<v3::World>(3),
        4 => save::<v4::World>(4),
        _ => save::<v5::World>(5),
    }
}

/// The state of a world.
fn state<W: Version>(manager: &SaveManager) -> String {
    manager.first::<W>().unwrap().borrow().describe()
}

/// The state that a version makes of a save: versions from 4 on keep what went with it.
fn expected<W: Version>(since: u32) -> String {
    let state = W::world(since).borrow().describe();
    if since >= 4 {
        return state;
    }
    let state = state.replace("rest: Unknown(, 0 bytes)", "rest: Unknown(Hero.mood, 6 bytes)");
    state.replace(" Unknown(, 0 bytes)", " Unknown(Quest::Escort, 6 bytes)")
}

/// Compares line by line, so that a difference is found in a long state.
fn assert_same(found: &str, expected: &str, what: &str) {
    for (i, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "{what}, line {}", i + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "{what}");
}

#[test]
fn each_version_writes_the_committed_bytes() {
    for version in 1..=5 {
        let save = make(version);
        assert!(save == read(version), "version {version} writes other bytes than it did");
        assert!(save.len() < 20_000, "{} bytes", save.len());
    }
}

#[test]
fn each_version_loads_its_own_save_whole() {
    fn check<W: Version>(version: u32) {
        let strict = LoadOptions::new().policy(LoadPolicy::Strict);
        let saves = W::manager().saves().clone().load_options(strict);
        let loaded = saves.file(path(version)).load::<SaveManager>().unwrap();
        assert!(loaded.report().is_clean(), "{}", loaded.report());
        assert_eq!(loaded.report().summary(), "everything was loaded");
        assert_same(&state::<W>(&loaded), &expected::<W>(version), &format!("v{version}"));
        let version = format!("{version}.0");
        assert_eq!(loaded.report().header().application_version, Some(version));
    }
    check::<v1::World>(1);
    check::<v2::World>(2);
    check::<v3::World>(3);
    check::<v4::World>(4);
    check::<v5::World>(5);
}

#[test]
fn each_version_loads_all_older_saves() {
    fn check<W: Version>(version: u32) {
        for since in 1..version {
            let loaded = W::manager().load(path(since)).unwrap();
            let what = format!("v{since} in v{version}");
            assert_same(&state::<W>(&loaded), &expected::<W>(since), &what);
            assert!(!loaded.report().is_clean(), "{what}");
        }
    }
    check::<v2::World>(2);
    check::<v3::World>(3);
    check::<v4::World>(4);
    check::<v5::World>(5);
}

/// What the newest version says of a save: the report, the line for the player, and what a strict load says.
fn report(since: u32) -> String {
    let manager = v5::World::manager();
    let loaded = manager.load(path(since)).unwrap();
    let mut text = format!("{}\n{}\n", loaded.report(), loaded.report().summary());
    let strict = LoadOptions::new().policy(LoadPolicy::Strict);
    let saves = manager.saves().clone().load_options(strict);
    // From memory, since errors of a file name it.
    match saves.from_slice::<SaveManager>(&read(since)) {
        Ok(_) => text.push_str("strict: loaded\n"),
        Err(error) => writeln!(text, "strict: {error}").unwrap(),
    }
    text
}

#[test]
fn the_newest_version_reports_what_it_did_to_each() {
    for since in 1..=5 {
        insta::assert_snapshot!(format!("from_v{since}"), report(since));
    }
}

#[test]
fn a_save_goes_through_all_versions() {
    fn pass<W: Version>(save: &[u8], since: u32) -> Vec<u8> {
        let manager = W::manager();
        let loaded = manager.from_slice(save).unwrap();
        assert_same(&state::<W>(&loaded), &expected::<W>(since), &format!("v{since} on its way"));
        let save = loaded.to_vec().unwrap();
        // Once more, in the same version.
        let loaded = manager.from_slice(&save).unwrap();
        assert_same(&state::<W>(&loaded), &expected::<W>(since), &format!("v{since} again"));
        assert!(save == loaded.to_vec().unwrap());
        save
    }
    for since in 1..=5 {
        let mut save = read(since);
        if since < 2 {
            save = pass::<v2::World>(&save, since);
        }
        if since < 3 {
            save = pass::<v3::World>(&save, since);
        }
        if since < 4 {
            save = pass::<v4::World>(&save, since);
        }
        pass::<v5::World>(&save, since);
    }
}

/// Writes the saves where there are none: `cargo test -p persist-tests --test evolution -- --ignored game::`.
///
/// What is there is never replaced: a save of a version is what its players have.
#[test]
#[ignore = "writes into the source tree"]
fn write_saves() {
    for version in 1..=5 {
        match std::fs::File::create_new(path(version)) {
            Ok(mut file) => file.write_all(&make(version)).unwrap(),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists),
        }
    }
}
