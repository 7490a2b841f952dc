//! The quest example, as its users run it: one process saves, another loads
//! and compares. Also that its comparison sees what it is there to see.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

const SEED: &str = "11";
const TURNS: &str = "40";

/// Builds the example once and returns its program.
fn quest() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let build = Command::new(env!("CARGO"))
            // As `cargo test --workspace` does, so that it is built already.
            .args(["build", "--workspace", "--example", "quest", "--message-format=json"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("cargo runs");
        assert!(build.status.success(), "{}", String::from_utf8_lossy(&build.stderr));
        let messages = String::from_utf8(build.stdout).expect("cargo writes UTF-8");
        executable(&messages).expect("cargo names the program that it has built")
    })
}

/// The last `"executable":"..."` of cargo's messages; others are `null`.
fn executable(messages: &str) -> Option<PathBuf> {
    let (_, rest) = messages.rsplit_once(r#""executable":""#)?;
    let (path, _) = rest.split_once('"')?;
    // Windows separators are escaped.
    Some(PathBuf::from(path.replace(r"\\", r"\")))
}

fn run(args: &[&str]) -> Output {
    Command::new(quest()).args(args).output().expect("the example runs")
}

fn error_of(output: &Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A save of the example in a folder of its own.
struct Saved {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Saved {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("world.sav");
        let saved = Self { _folder: folder, path };
        let output = run(&["save", saved.name(), SEED, TURNS]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        saved
    }

    fn name(&self) -> &str {
        self.path.to_str().expect("the folder's name is UTF-8")
    }

    fn load(&self) -> Output {
        run(&["load", self.name(), SEED, TURNS])
    }

    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = std::fs::read(&self.path).expect("the save is there");
        change(&mut bytes);
        std::fs::write(&self.path, bytes).expect("the save can be written");
    }
}

fn word(bytes: &[u8], at: usize) -> usize {
    let word = bytes[at..at + 4].try_into().expect("four bytes");
    usize::try_from(u32::from_le_bytes(word)).expect("a length")
}

/// Puts the right checksum behind every block again.
fn seal(bytes: &mut [u8]) {
    // Magic, version and flags, length, content, checksum.
    let mut at = 16 + word(bytes, 12) + 4;
    while bytes[at] == 1 {
        let end = at + 5 + word(bytes, at + 1);
        let sum = crc32fast::hash(&bytes[at..end]).to_le_bytes();
        bytes[end..end + 4].copy_from_slice(&sum);
        at = end + 4;
    }
    assert_eq!(bytes[at], 0x7f, "the trailer follows the blocks");
}

fn find(bytes: &[u8], what: &[u8]) -> usize {
    let mut found = bytes.windows(what.len()).enumerate().filter(|(_, window)| *window == what);
    let (at, _) = found.next().expect("it is in the save");
    assert!(found.next().is_none(), "it is in the save once");
    at
}

/// Where the world's list of heroes begins: behind its turn and the dice.
fn heroes(bytes: &[u8]) -> usize {
    // Object 1, added, in `Rc<RefCell<_>>`; then the length, and the turn.
    let turn: u32 = TURNS.parse().expect("a number");
    let head = (0..bytes.len() - 12).find(|at| {
        bytes[at + 1..at + 3] == [0x91, 1] && bytes[at + 7..at + 11] == turn.to_le_bytes()
    });
    head.expect("the world has a record") + 7 + 4 + 8
}

#[test]
fn another_process_loads_an_equal_world() {
    let output = Saved::new().load();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(printed.lines().last(), Some("the worlds are equal"), "{printed}");
}

#[test]
fn without_a_command_it_saves_and_starts_the_process_that_loads() {
    let output = run(&["5", "30"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.contains("class quest.Hero, id 0x"), "{printed}");
    assert!(printed.contains("another process: quest load "), "{printed}");
    assert!(printed.lines().count() < 25, "{printed}");
    assert_eq!(printed.lines().last(), Some("the worlds are equal"), "{printed}");
}

#[test]
fn two_runs_write_the_same_bytes_behind_the_header() {
    // The header has the time of the save.
    let [a, b] = [Saved::new(), Saved::new()].map(|saved| {
        let bytes = std::fs::read(&saved.path).expect("the save is there");
        bytes[16 + word(&bytes, 12) + 4..].to_vec()
    });
    assert!(a == b, "the saves differ");
}

#[test]
fn a_world_of_another_seed_is_not_equal() {
    let saved = Saved::new();
    let error = error_of(&run(&["load", saved.name(), "12", TURNS]));
    assert!(error.contains("world.fate.state: expected"), "{error}");
}

#[test]
fn a_changed_field_is_named() {
    let saved = Saved::new();
    saved.change(|bytes| {
        let at = find(bytes, b"The Crooked Lantern");
        bytes[at + 4] = b'B';
        seal(bytes);
    });
    let error = error_of(&saved.load());
    let expected =
        r#"world.guild.name: expected "The Crooked Lantern", found "The Brooked Lantern""#;
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_pointer_to_another_object_is_named() {
    let saved = Saved::new();
    saved.change(|bytes| {
        let heroes = heroes(bytes);
        assert!(bytes[heroes] >= 2, "there are two heroes");
        // The second pointer now leads to the first hero.
        bytes[heroes + 2] = bytes[heroes + 1];
        seal(bytes);
    });
    let error = error_of(&saved.load());
    let expected = "world.heroes[1]: leads to the object of world.heroes[0], not to another";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_pointer_to_another_class_is_refused_by_the_load() {
    let saved = Saved::new();
    saved.change(|bytes| {
        let heroes = heroes(bytes);
        let count = usize::from(bytes[heroes]);
        // The count of monsters, then the first of them.
        bytes[heroes + 2] = bytes[heroes + 1 + count + 1];
        seal(bytes);
    });
    let error = error_of(&saved.load());
    assert!(error.contains("Rc<RefCell<quest.Monster>>, where"), "{error}");
    assert!(error.contains("object #1, class quest.World"), "{error}");
}

#[test]
fn a_world_that_breaks_the_rules_is_refused_by_its_check() {
    let saved = Saved::new();
    saved.change(|bytes| {
        // A member leaves the guild, and its bytes the file.
        let name = find(bytes, b"The Crooked Lantern");
        let members = name + b"The Crooked Lantern".len();
        let count = usize::from(bytes[members]);
        bytes[members] -= 1;
        bytes.remove(members + count);
        // The lengths of its record, in front of the name, and of its block.
        for length in [name - 5, block_of(bytes, name)] {
            let shorter = u32::try_from(word(bytes, length) - 1).expect("a length");
            bytes[length..length + 4].copy_from_slice(&shorter.to_le_bytes());
        }
        seal(bytes);
        let trailer = bytes.len() - 29;
        let total = (bytes.len() as u64).to_le_bytes();
        bytes[trailer + 17..trailer + 25].copy_from_slice(&total);
        let sum = crc32fast::hash(&bytes[trailer..trailer + 25]).to_le_bytes();
        bytes[trailer + 25..].copy_from_slice(&sum);
    });
    let error = error_of(&saved.load());
    assert!(error.contains("`validate` of quest.World refused: there are"), "{error}");
    assert!(error.contains("object #1, class quest.World"), "{error}");
}

/// Where the length of the block around a place stands.
fn block_of(bytes: &[u8], place: usize) -> usize {
    let mut at = 16 + word(bytes, 12) + 4;
    while at + 5 + word(bytes, at + 1) < place {
        at += 5 + word(bytes, at + 1) + 4;
    }
    at + 1
}

#[test]
fn damage_is_found_by_the_checksum() {
    let saved = Saved::new();
    saved.change(|bytes| {
        let at = find(bytes, b"The Crooked Lantern");
        bytes[at + 4] = b'B';
    });
    let error = error_of(&saved.load());
    assert!(error.contains("the save is damaged: the checksum of the block"), "{error}");
}

#[test]
fn a_save_that_is_cut_short_is_refused() {
    let saved = Saved::new();
    saved.change(|bytes| bytes.truncate(bytes.len() / 2));
    let error = error_of(&saved.load());
    assert!(error.contains("cut short"), "{error}");
}

#[test]
fn a_missing_file_is_named() {
    let error = error_of(&run(&["load", "no/such/world.sav", SEED, TURNS]));
    assert!(error.contains("no/such/world.sav"), "{error}");
}

#[test]
fn wrong_arguments_show_the_usage() {
    for args in [&["many"][..], &["1", "2", "3"], &["load", "path"]] {
        let error = error_of(&run(args));
        assert!(error.contains("usage: quest"), "{args:?}: {error}");
    }
}
