//! The way of docs/guide/10-moving-from-serde.md, with the files that an earlier release left.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use persist::save::Header;
use persist::{Error, ErrorKind, Persist, Result, Saves};

/// The types of the release that wrote JSON.
mod json {
    use serde::{Deserialize, Serialize};

    #[derive(persist::Persist, Serialize, Deserialize, Debug, PartialEq)]
    pub(super) struct Game {
        pub(super) level: u16,
        pub(super) party: Vec<Hero>,
    }

    #[derive(persist::Persist, Serialize, Deserialize, Debug, PartialEq)]
    pub(super) struct Hero {
        pub(super) name: String,
        pub(super) hp: i32,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(super) mood: Option<Mood>,
    }

    #[derive(persist::Persist, Serialize, Deserialize, Debug, PartialEq)]
    pub(super) enum Mood {
        Calm,
        Angry { at: String },
    }
}

#[derive(Persist, Debug, PartialEq)]
struct Game {
    level: u32,
    party: Vec<Hero>,
    #[persist(default = 10)]
    gold: u64,
}

#[derive(Persist, Debug, PartialEq)]
struct Hero {
    name: String,
    #[persist(alias = "hp")]
    health: i32,
    mood: Option<Mood>,
}

#[derive(Persist, Debug, PartialEq)]
enum Mood {
    Calm,
    Angry { at: String },
}

fn old_game() -> json::Game {
    let hero = |name: &str, hp, mood| json::Hero { name: name.into(), hp, mood };
    let angry = json::Mood::Angry { at: "Bob".into() };
    let party = vec![
        hero("Ada", 20, Some(angry)),
        hero("Bob", -3, None),
        hero("Zoë", 1, Some(json::Mood::Calm)),
    ];
    json::Game { level: 3, party }
}

fn game() -> Game {
    let hero = |name: &str, health, mood| Hero { name: name.into(), health, mood };
    let angry = Mood::Angry { at: "Bob".into() };
    let party =
        vec![hero("Ada", 20, Some(angry)), hero("Bob", -3, None), hero("Zoë", 1, Some(Mood::Calm))];
    Game { level: 3, party, gold: 10 }
}

/// A file as the earlier release left it.
fn write_old(path: &Path) {
    let file = File::create(path).expect("a folder that can be written");
    serde_json::to_writer_pretty(file, &old_game()).expect("JSON");
}

fn load_game(path: &Path) -> Result<Game> {
    match read_old(path) {
        Ok(Some(game)) => Ok(game),
        Ok(None) => persist::load(path),
        Err(error) => persist::load(path).or(Err(error)),
    }
}

fn read_old(path: &Path) -> Result<Option<Game>> {
    let Ok(file) = File::open(path) else { return Ok(None) };
    if !Header::from_reader(file).is_err_and(|error| error.kind() == ErrorKind::NotASave) {
        return Ok(None);
    }
    from_json(&fs::read(path)?).map(Some).map_err(|error| {
        let path = path.display();
        let message = format!("{path} is neither a save nor JSON of this game: {error}");
        Error::new(ErrorKind::NotASave, message)
    })
}

fn from_json(bytes: &[u8]) -> Result<Game, Box<dyn std::error::Error>> {
    let old: json::Game = serde_json::from_slice(bytes)?;
    Ok(persist::from_slice(&persist::to_vec(&old)?)?)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(OsStr::new(suffix));
    name.into()
}

#[test]
fn a_json_file_is_loaded_saved_and_loaded_again() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("slot1.sav");
    write_old(&path);
    let loaded = load_game(&path)?;
    assert_eq!(loaded, game());

    persist::save(&path, &loaded)?;
    assert_eq!(Header::from_reader(File::open(&path)?)?.format, 1);
    assert!(read_old(&path)?.is_none());
    assert_eq!(load_game(&path)?, game());
    assert_eq!(persist::load::<Game>(&path)?, game());
    Ok(())
}

#[test]
fn the_old_file_is_kept_when_the_first_save_takes_its_place() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("slot1.sav");
    write_old(&path);
    let before = fs::read(&path)?;
    for level in 4..7 {
        persist::save(&path, &Game { level, ..load_game(&path)? })?;
    }
    assert_eq!(fs::read(beside(&path, ".damaged"))?, before);
    assert_eq!(load_game(&path)?.level, 6);
    assert_eq!(persist::load::<Game>(beside(&path, ".bak"))?.level, 5);
    Ok(())
}

#[test]
fn a_damaged_save_is_replaced_by_its_backup_and_not_taken_for_an_old_file() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("slot1.sav");
    write_old(&path);
    let mut found = load_game(&path)?;
    for level in 4..6 {
        found.level = level;
        persist::save(&path, &found)?;
    }
    let save = fs::read(&path)?;
    let zeroed = [vec![0; 64], save[64..].to_vec()].concat();
    for damaged in [zeroed, save[..save.len() / 2].to_vec(), Vec::new()] {
        fs::write(&path, &damaged)?;
        assert_eq!(load_game(&path)?.level, 4);
        fs::write(&path, &save)?;
    }
    Ok(())
}

#[test]
fn a_file_of_neither_format_is_an_error_that_says_so() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("slot1.sav");
    let kind = |path: &Path| load_game(path).map(drop).map_err(|error| error.kind());
    assert_eq!(kind(&path), Err(ErrorKind::NotFound));
    for (bytes, reason) in [
        (&b"{ \"level\": 3, \"party\": ["[..], "EOF while parsing a list at line 1 column 24"),
        (b"[]", "invalid length 0, expected struct Game with 2 elements at line 1 column 2"),
        (b"level = 3", "expected value at line 1 column 1"),
    ] {
        fs::write(&path, bytes)?;
        assert_eq!(kind(&path), Err(ErrorKind::NotASave));
        let message = load_game(&path).map_err(|error| error.to_string());
        let expected =
            format!("{} is neither a save nor JSON of this game: {reason}", path.display());
        assert_eq!(message, Err(expected));
        assert_eq!(fs::read(&path)?, bytes);
    }
    Ok(())
}

#[test]
fn a_slot_of_the_old_format_is_listed_once_it_is_converted() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (old, new) = (folder.path().join("Ada.json"), folder.path().join("Ada.sav"));
    write_old(&old);
    let saves = Saves::new();
    assert!(saves.slots(folder.path()).list()?.is_empty());

    saves.file(&new).save(&load_game(&old)?)?;
    let slots = saves.slots(folder.path()).list()?;
    assert_eq!(slots.iter().map(|slot| &*slot.name).collect::<Vec<_>>(), ["Ada"]);
    assert!(slots[0].damaged.is_empty());
    assert_eq!(saves.file(&new).load::<Game>()?.into_inner(), game());
    assert!(read_old(&old)?.is_some(), "the old file is as it was");
    Ok(())
}
