//! What only Windows has: files that another program holds, the read-only attribute, long paths, reserved names and names
//! that differ by case.

use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use persist::{ErrorKind, SaveOptions, Saves};

use super::{Game, game};

/// `FILE_SHARE_READ`, `FILE_SHARE_WRITE` and `FILE_SHARE_DELETE`: what a program lets others do with a file that it has
/// open. Programs that are not written in Rust rarely allow the last; with it, newer systems replace the file at once.
const MODES: [u32; 5] = [0, 1, 2, 3, 7];

const HELD: &str = "PERSIST_TEST_HOLDS";

fn saves(wait: u64) -> Saves {
    Saves::new().save_options(SaveOptions::DEFAULT.wait(Duration::from_millis(wait)))
}

fn level(path: &Path) -> u32 {
    saves(5_000).file(path).load::<Game>().unwrap().level
}

/// The other program: it opens a file, says so, and waits until its input ends.
#[test]
fn a_program_that_holds_a_file() {
    let Ok(held) = std::env::var(HELD) else { return };
    let (mode, path) = held.split_once('|').unwrap();
    let _file = OpenOptions::new().read(true).share_mode(mode.parse().unwrap()).open(path).unwrap();
    println!("it is held");
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().lock().read_line(&mut String::new());
}

/// Another process that has a file open until it is killed.
struct Holder(Child);

impl Holder {
    fn new(path: &Path, mode: u32) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["windows::a_program_that_holds_a_file", "--exact", "--nocapture"])
            .env(HELD, format!("{mode}|{}", path.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("it is held")));
        Self(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_save_waits_for_another_program_that_holds_the_file() {
    for mode in MODES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("game.sav");
        saves(0).file(&path).save(&game(1)).unwrap();
        let holder = Holder::new(&path, mode);
        let waiting = thread::spawn({
            let path = path.clone();
            move || saves(20_000).file(path).save(&game(2))
        });
        thread::sleep(Duration::from_millis(400));
        drop(holder);
        waiting.join().unwrap().unwrap_or_else(|error| panic!("mode {mode}: {error}"));
        assert_eq!(level(&path), 2, "mode {mode}");
        assert_eq!(names(folder.path()), ["game.sav", "game.sav.bak"], "mode {mode}");
    }
}

#[test]
fn a_file_that_stays_held_leaves_the_save_as_it_was() {
    for mode in MODES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("game.sav");
        saves(0).file(&path).save(&game(1)).unwrap();
        let holder = Holder::new(&path, mode);
        let saved = saves(100).file(&path).save(&game(2));
        drop(holder);
        match saved {
            Ok(_) => assert_eq!(level(&path), 2, "mode {mode}"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Io, "mode {mode}: {error}");
                assert_eq!(level(&path), 1, "mode {mode}");
            }
        }
        // The next save removes what the one before had to leave.
        saves(5_000).file(&path).save(&game(3)).unwrap();
        assert_eq!(level(&path), 3);
        assert_eq!(names(folder.path()), ["game.sav", "game.sav.bak"], "mode {mode}");
    }
}

#[test]
fn a_held_save_is_read_once_it_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.sav");
    saves(0).file(&path).save(&game(1)).unwrap();
    let holder = Holder::new(&path, 0);
    let error = saves(50).file(&path).load::<Game>().map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    let reading = thread::spawn({
        let path = path.clone();
        move || level(&path)
    });
    thread::sleep(Duration::from_millis(200));
    drop(holder);
    assert_eq!(reading.join().unwrap(), 1);
    assert_eq!(names(folder.path()), ["game.sav"]);
}

#[test]
fn a_read_only_save_is_refused_at_once_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.sav");
    saves(0).file(&path).save(&game(1)).unwrap();
    let set = |is_read_only| {
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(is_read_only);
        fs::set_permissions(&path, permissions).unwrap();
    };
    set(true);
    // A wait would not end before the test is given up.
    let saved = saves(3_600_000).file(&path).save(&game(2));
    set(false);
    if let Err(error) = saved {
        assert!(error.message().contains("read-only"), "{error}");
        assert_eq!(level(&path), 1);
    } else {
        // Newer systems replace it all the same.
        assert_eq!(level(&path), 2);
    }
    saves(0).file(&path).save(&game(3)).unwrap();
    assert_eq!(level(&path), 3);
}

#[test]
fn long_paths_and_paths_in_the_long_form_are_those_of_any_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut deep = folder.path().canonicalize().unwrap();
    assert!(deep.to_string_lossy().starts_with(r"\\?\"), "the long form");
    while deep.as_os_str().len() < 400 {
        deep.push("a folder with a long name");
    }
    fs::create_dir_all(&deep).unwrap();
    let long = deep.join("game.sav");
    let short = PathBuf::from(long.to_string_lossy().trim_start_matches(r"\\?\").to_owned());
    for (number, path) in (1..).zip([&long, &short, &long]) {
        saves(0).file(path).save(&game(number)).unwrap();
        assert_eq!((level(&long), level(&short)), (number, number));
    }
    let slots = saves(0).slots(&deep);
    slots.slot("Ada").save(&game(9)).unwrap();
    assert_eq!(slots.list().unwrap().len(), 2);
}

#[test]
fn names_that_differ_by_case_are_one_save() {
    let folder = tempfile::tempdir().unwrap();
    let [lower, upper] = ["game.sav", "GAME.SAV"].map(|name| folder.path().join(name));
    saves(0).file(&lower).save(&game(1)).unwrap();
    saves(0).file(&upper).save(&game(2)).unwrap();
    assert_eq!((level(&lower), level(&upper)), (2, 2));
    assert_eq!(names(folder.path()).len(), 2, "the save and its backup");
}

/// Names of devices, those that the system shortens, and a second stream of a file.
#[test]
fn reserved_names_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["CON", "aux.sav", "NUL", "nul.sav", "com1", "game.", "game ", "a:b", "a?b", "a|b"]
    {
        let path = folder.path().join(name);
        let error = saves(0).file(&path).save(&game(7)).map(drop).expect_err(name);
        assert_eq!(error.kind(), ErrorKind::Io, "{name}: {error}");
        let error =
            saves(0).slots(folder.path()).slot(name).save(&game(8)).map(drop).expect_err(name);
        assert_eq!(error.kind(), ErrorKind::InvalidValue, "{name}: {error}");
        assert_eq!(names(folder.path()), [] as [&str; 0], "{name}");
    }
}
