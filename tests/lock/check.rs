//! The check of a lock in a project: what each mode does, and the variable.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::collections::BTreeMap;
use std::fs;
use std::panic::catch_unwind;
use std::path::Path;
use std::process::Command;

use persist::save::Registry;
use persist::{ErrorKind, Persist};
use persist_tests::support::registry;
use persist_tools::__private::{Mode, check, check_file};
use persist_tools::lock::{Lock, Verdict};

#[derive(Persist)]
#[persist(class = "Hero")]
struct OldHero {
    name: String,
}

#[derive(Persist)]
#[persist(class = "Hero")]
struct Hero {
    name: String,
    #[persist(default)]
    level: u32,
}

#[derive(Persist)]
#[persist(class = "Hero")]
struct BrokenHero {
    name: String,
    level: u32,
}

/// The files of a lock.
fn files(path: &Path) -> BTreeMap<String, String> {
    let files = fs::read_dir(path).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|file| file.extension().is_some_and(|ending| ending == "txt"));
    let name = |file: &Path| file.file_name().unwrap().to_str().unwrap().to_owned();
    files.map(|file| (name(&file), fs::read_to_string(&file).unwrap())).collect()
}

/// A folder with the lock of a version 0.1.0.
fn project() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("persist.lock");
    check_file(&path, "0.1.0", &registry::<OldHero>(), Mode::Update).unwrap();
    (folder, path)
}

#[test]
fn without_a_lock_the_check_says_how_to_begin_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("persist.lock");
    for mode in [Mode::Check, Mode::Locked] {
        let error = check_file(&path, "0.1.0", &registry::<Hero>(), mode).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.message().contains("PERSIST_LOCK=update"), "{error}");
    }
    assert!(!path.exists());
    // One without versions would let everything pass.
    Lock::new().save(&path).unwrap();
    let error = check_file(&path, "0.1.0", &registry::<Hero>(), Mode::Check).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn a_safe_change_passes_but_not_as_a_release() {
    let (_folder, path) = project();
    let before = files(&path);
    let report = check_file(&path, "0.2.0", &registry::<Hero>(), Mode::Check).unwrap();
    assert!(report.loads() && !report.is_current());
    assert_eq!(report.differences()[0].verdict, Verdict::Safe);
    let error = check_file(&path, "0.2.0", &registry::<Hero>(), Mode::Locked).unwrap_err();
    assert!(error.message().contains("version 0.2.0"), "{error}");
    assert_eq!(files(&path), before);

    check_file(&path, "0.2.0", &registry::<Hero>(), Mode::Update).unwrap();
    let report = check_file(&path, "0.2.0", &registry::<Hero>(), Mode::Locked).unwrap();
    assert!(report.is_current());
    // A new version without a change is recorded, too.
    let error = check_file(&path, "0.3.0", &registry::<Hero>(), Mode::Locked).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    check_file(&path, "0.3.0", &registry::<Hero>(), Mode::Update).unwrap();
    let after = files(&path);
    assert_eq!(after.keys().collect::<Vec<_>>(), ["0.1.0.txt", "0.2.0.txt", "0.3.0.txt"]);
    assert_eq!(after["0.1.0.txt"], before["0.1.0.txt"]);
}

#[test]
fn a_change_that_breaks_fails_with_the_whole_report() {
    let (_folder, path) = project();
    for mode in [Mode::Check, Mode::Update, Mode::Check] {
        // An update does not make the saves of 0.1.0 load.
        let result = check_file(&path, "0.2.0", &registry::<BrokenHero>(), mode);
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MissingField);
        let report = Lock::load(&path).unwrap().compare(&registry::<BrokenHero>());
        let before = if mode == Mode::Update { "the lock was not updated: " } else { "" };
        assert_eq!(error.message(), format!("{before}{report}"));
        assert!(error.message().contains("    #[persist(default)]\n    level: u32\n"), "{error}");
    }
}

#[test]
fn only_replace_changes_a_file_and_only_that_of_the_newest_version() {
    let (_folder, path) = project();
    let one = files(&path);
    let run = |version: &str, registry: &Registry, mode: Mode| {
        check_file(&path, version, registry, mode).map(drop)
    };
    run("0.2.0", &registry::<Hero>(), Mode::Update).unwrap();
    let two = files(&path);
    assert_eq!((two.len(), &two["0.1.0.txt"]), (2, &one["0.1.0.txt"]));
    run("0.2.0", &registry::<OldHero>(), Mode::Replace).unwrap();
    let again = files(&path);
    assert_eq!((again.len(), &again["0.1.0.txt"]), (2, &one["0.1.0.txt"]));
    assert_ne!(again["0.2.0.txt"], two["0.2.0.txt"]);
    run("0.2.0", &registry::<Hero>(), Mode::Replace).unwrap();
    assert_eq!(files(&path), two);
    // 0.1.0 is released, as another came after it.
    for mode in [Mode::Update, Mode::Replace] {
        run("0.1.0", &registry::<OldHero>(), mode).unwrap();
        let error = run("0.1.0", &registry::<Hero>(), mode).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
    assert_eq!(files(&path), two);
}

/// The version was not raised, and the lock forgot the released schemas: a later loss went unnoticed.
#[test]
fn an_update_keeps_the_schemas_of_a_version_that_is_there() {
    let (_folder, path) = project();
    let before = files(&path);
    let result = check_file(&path, "0.1.0", &registry::<Hero>(), Mode::Update);
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    insta::assert_snapshot!(error.message());
    assert_eq!(files(&path), before);
    let error = check_file(&path, "0.1.0", &registry::<Hero>(), Mode::Locked).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    check_file(&path, "0.1.0", &registry::<Hero>(), Mode::Replace).unwrap();
    check_file(&path, "0.1.0", &registry::<Hero>(), Mode::Locked).unwrap();
}

#[test]
fn a_damaged_lock_is_not_written_over() {
    let (_folder, path) = project();
    let file = path.join("0.1.0.txt");
    let text = fs::read_to_string(&file).unwrap().replace("String", "<<<<<<< HEAD");
    fs::write(&file, &text).unwrap();
    for mode in [Mode::Check, Mode::Update, Mode::Replace, Mode::Locked] {
        let error = check_file(&path, "0.2.0", &registry::<Hero>(), mode).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Damaged);
        assert!(
            error.message().contains("class Hero: name: there is no kind \"<<<<<<< HEAD\""),
            "{error}"
        );
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    fs::write(&file, b"\xff").unwrap();
    let error = check_file(&path, "0.2.0", &registry::<Hero>(), Mode::Update).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::Damaged, Some(0)));
}

#[test]
fn an_update_does_not_hide_that_a_released_version_breaks() {
    let (_folder, path) = project();
    let before = files(&path);
    let update = |version: &str| {
        check_file(&path, version, &registry::<BrokenHero>(), Mode::Update).unwrap_err()
    };
    let error = update("0.1.0");
    assert_eq!(error.kind(), ErrorKind::MissingField);
    assert!(error.message().contains("raise the version in `Cargo.toml`"), "{error}");
    assert!(error.message().contains("    #[persist(default)]\n    level: u32\n"), "{error}");
    assert_eq!(files(&path), before);
    // Nor is it recorded under a version of its own.
    let error = update("0.2.0");
    assert_eq!(error.kind(), ErrorKind::MissingField);
    assert!(error.message().starts_with("the lock was not updated: old saves"), "{error}");
    assert_eq!(files(&path), before);
}

/// Where the child process finds its lock.
const FOLDER: &str = "PERSIST_TESTS_LOCK_FOLDER";

/// What the child process does; without a folder it is not one.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    check(folder, "0.1.0", &registry::<Hero>()).unwrap();
}

fn run_child(folder: &Path, variable: Option<&str>) -> Result<(), String> {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "check::child"]).env(FOLDER, folder).env_remove("PERSIST_LOCK");
    let output = child.envs(variable.map(|value| ("PERSIST_LOCK", value))).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("running 1 test"), "{text}");
    if output.status.success() { Ok(()) } else { Err(text) }
}

#[test]
fn the_variable_says_what_the_check_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("persist.lock");
    for variable in [None, Some(""), Some("check"), Some("locked")] {
        let text = run_child(folder.path(), variable).unwrap_err();
        assert!(text.contains("there is no lock"), "{text}");
    }
    let text = run_child(folder.path(), Some("Update")).unwrap_err();
    assert!(text.contains("PERSIST_LOCK is Update, which is none of"), "{text}");
    assert!(!path.exists());
    run_child(folder.path(), Some("update")).unwrap();
    assert!(Lock::load(&path).unwrap().is_current("0.1.0", &registry::<Hero>()));
    for variable in [None, Some(""), Some("check"), Some("locked"), Some("update")] {
        run_child(folder.path(), variable).unwrap();
    }
}

#[test]
fn the_macro_looks_beside_the_cargo_toml_of_its_crate() {
    // There is none here.
    let failed = catch_unwind(|| persist_tools::assert_lock!(registry::<Hero>())).unwrap_err();
    let message = failed.downcast_ref::<String>().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("persist.lock");
    assert!(message.contains(&format!("there is no lock {}", path.display())), "{message}");
}

#[derive(Persist)]
#[persist(class = "Hero")]
struct HugeHero {
    name: String,
    #[persist(default = None)]
    map: Option<Box<[[u64; 4096]; 4096]>>,
}

/// The saves of the versions before load, and then those of this one do not: no sample of it can be made.
#[test]
fn an_update_that_fails_at_its_own_version_writes_nothing() {
    let (folder, path) = project();
    let before = files(&path);
    for path in [path, folder.path().join("another.lock")] {
        let result = check_file(&path, "0.2.0", &registry::<HugeHero>(), Mode::Update);
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
        assert!(
            error.message().starts_with("the lock was not updated: old saves are not safe"),
            "{error}"
        );
        match path.ends_with("persist.lock") {
            true => assert_eq!(files(&path), before),
            false => assert!(!path.exists()),
        }
    }
}
