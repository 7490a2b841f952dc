//! All saves in `fixtures`.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use persist_tests::support::disarranged::{Tally, check, check_objects, check_value};
use persist_tests::support::fixture_types::{self, Values};
use persist_tests::support::game::{Version, v1, v2, v3, v4, v5};

use super::seeds;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

fn read(path: &str) -> Vec<u8> {
    std::fs::read(folder().join(path)).unwrap()
}

/// The same save without compression: by docs/reference/format.md, from the tag of the one block on.
fn unpacked(save: &[u8]) -> Vec<u8> {
    let word = |at: usize| u32::from_le_bytes(save[at..at + 4].try_into().unwrap()) as usize;
    let start = 16 + word(12) + 4;
    let frame = &save[start + 9..start + 5 + word(start + 1)];
    let mut content = Vec::new();
    match save[start] {
        2 => drop(lz4_flex::frame::FrameDecoder::new(frame).read_to_end(&mut content).unwrap()),
        3 => content = zstd::decode_all(frame).unwrap(),
        tag => panic!("block {tag}"),
    }
    assert_eq!(content.len(), word(start + 5));
    let mut out = save[..start].to_vec();
    out.push(1);
    out.extend(u32::try_from(content.len()).unwrap().to_le_bytes());
    out.extend(content);
    out.extend(crc32fast::hash(&out[start..]).to_le_bytes());
    let trailer = out.len();
    out.extend(&save[save.len() - 29..save.len() - 12]);
    out.extend((trailer as u64 + 29).to_le_bytes());
    out.extend(crc32fast::hash(&out[trailer..]).to_le_bytes());
    out
}

/// What is kept has other lengths under another schema.
fn without_lengths(state: &str) -> String {
    let parts =
        state.split(" bytes)").map(|part| part.trim_end_matches(|c: char| c.is_ascii_digit()));
    parts.collect()
}

/// Loads the save of a version in another one, and compares all values and where every pointer leads.
fn in_version<W: Version>(since: u32, seed: u64) -> Tally {
    check(&read(&format!("evolution/v{since}.sav")), seed, |save| {
        let loaded = W::manager().from_slice(save)?;
        let state = without_lengths(&loaded.first::<W>()?.borrow().describe());
        Ok((state.into_bytes(), vec![loaded.report().clone()]))
    })
}

#[test]
fn all_fixtures_come_back() {
    let mut found = String::new();
    let mut enter = |name: &str, tally: Tally| writeln!(found, "{name}: {tally:?}").unwrap();
    for name in ["players", "graph", "pointers", "compact"] {
        let save = read(&format!("v1/{name}.sav"));
        enter(
            name,
            seeds(|seed| check_objects(&save, seed, || fixture_types::manager(name, false))),
        );
    }
    enter("values", seeds(|seed| check_value::<Values>(&read("v1/values.sav"), seed)));
    for name in ["lz4", "zstd"] {
        let save = unpacked(&read(&format!("compressed/{name}.sav")));
        enter(name, seeds(|seed| check_value::<Vec<u16>>(&save, seed)));
    }
    enter("v1", seeds(|seed| in_version::<v1::World>(1, seed)));
    enter("v2", seeds(|seed| in_version::<v2::World>(2, seed)));
    enter("v3", seeds(|seed| in_version::<v3::World>(3, seed)));
    enter("v4", seeds(|seed| in_version::<v4::World>(4, seed)));
    enter("v5", seeds(|seed| in_version::<v5::World>(5, seed)));
    insta::assert_snapshot!(found);
}

#[test]
fn saves_of_older_versions_come_back_in_the_newest() {
    for since in 1..5 {
        let tally = seeds(|seed| in_version::<v5::World>(since, seed));
        assert!(tally.moved > 100 && tally.wider > 50 && tally.narrower > 50, "{since}: {tally:?}");
    }
}

#[test]
fn every_folder_of_fixtures_is_known() {
    let saves = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "sav")).count()
    };
    let folders = std::fs::read_dir(folder()).unwrap().map(|entry| {
        let entry = entry.unwrap();
        (entry.file_name().into_string().unwrap(), saves(entry.path()))
    });
    let mut folders: Vec<_> = folders.collect();
    folders.sort();
    let known = [("compressed", 2), ("evolution", 5), ("journals", 4), ("v1", 5), ("worlds", 1)];
    assert_eq!(folders, known.map(|(name, saves)| (name.to_owned(), saves)));
}
