//! A program of its own that saves, to be killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use persist::{Persist, SaveOptions, Saves};

/// The first argument of such a program.
pub(crate) const CHILD: &str = "child";

/// What it says when a save is done.
pub(crate) const SAVED: &str = "saved";

#[derive(Persist, Debug, PartialEq)]
struct Game {
    level: u32,
    map: Vec<u8>,
}

fn game(level: u32, size: usize) -> Game {
    Game { level, map: vec![u8::try_from(level).unwrap(); size] }
}

/// Bytes of a save, mostly.
pub(crate) const SIZE: usize = 100_000;

fn saves(verify: bool) -> Saves {
    saves_that_wait(verify, Duration::from_secs(20))
}

fn saves_that_wait(verify: bool, wait: Duration) -> Saves {
    Saves::new().save_options(SaveOptions::new().verify(verify).wait(wait))
}

/// `save`, `verify`, `hasty` or `load`, a path, a level and a size.
pub(crate) fn child(arguments: &[String]) {
    let [what, path, level, size] = arguments else { panic!("four arguments") };
    let game = game(level.parse().unwrap(), size.parse().unwrap());
    let result = match what.as_str() {
        "load" => saves(false).file(path).load::<Game>().map(drop),
        "hasty" => saves_that_wait(false, Duration::ZERO).file(path).save(&game).map(drop),
        what => saves(what == "verify").file(path).save(&game).map(drop),
    };
    match result {
        Ok(()) => println!("{SAVED}"),
        Err(error) => {
            println!("{error}");
            std::process::exit(3);
        }
    }
}

/// A call of the program, to be run as it is or by another one.
pub(crate) fn arguments(what: &str, path: &Path, level: u32, size: usize) -> Vec<String> {
    let program = std::env::current_exe().unwrap();
    let words = [program.to_str().unwrap(), CHILD, what, path.to_str().unwrap()];
    let numbers = [level.to_string(), size.to_string()];
    words.into_iter().map(String::from).chain(numbers).collect()
}

/// True if the program says that the save is done.
pub(crate) fn is_saved(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stdout).contains(SAVED)
}

/// Saves in this program.
pub(crate) fn save(path: &Path, level: u32) {
    saves(false).file(path).save(&game(level, SIZE)).unwrap();
}

/// The level of the save, which is whole.
pub(crate) fn load(path: &Path, what: &str) -> u32 {
    let loaded = saves(false).file(path).load::<Game>();
    let found = loaded.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(*found == game(found.level, found.map.len()), "{what}: a mixture");
    found.level
}

/// A load has swept the folder.
pub(crate) fn assert_no_strays(path: &Path, what: &str) {
    let own = path.file_name().unwrap().to_str().unwrap().to_owned();
    for entry in fs::read_dir(path.parent().unwrap()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_known = name == own
            || name.starts_with(&format!("{own}.bak"))
            || name.starts_with(&format!("{own}.damaged"))
            || name == "lost+found";
        assert!(is_known, "{name} is left after {what}");
    }
}

/// True if there is such a program.
pub(crate) fn has(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    found.is_ok_and(|found| found.status.success())
}

pub(crate) fn is_superuser() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n")
}

/// A folder on a file system of its own, until it is dropped.
pub(crate) struct Mount {
    pub(crate) folder: PathBuf,
}

impl Mount {
    pub(crate) fn new(folder: &Path, arguments: &[&str]) -> Option<Self> {
        fs::create_dir_all(folder).unwrap();
        let mounted = Command::new("mount").args(arguments).arg(folder).output();
        mounted.ok()?.status.success().then(|| Self { folder: folder.to_owned() })
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.folder).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            let _ = Command::new("umount").arg("-l").arg(&self.folder).status();
        }
    }
}
