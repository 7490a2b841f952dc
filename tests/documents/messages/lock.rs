//! The lock: texts that are none, and what the check of a project says.

use std::fs;
use std::path::Path;

use persist::__private::{Mode, check_file};
use persist::Persist;
use persist::lock::{Lock, Values};
use persist::save::Registry;

use crate::messages::table::Table;

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

fn registry<T: Persist>() -> Registry {
    let mut registry = Registry::new();
    registry.register::<T>().unwrap();
    registry
}

fn check<T: Persist>(path: &Path, version: &str, mode: Mode) -> persist::Result<()> {
    check_file(path, version, &registry::<T>(), mode).map(drop)
}

#[test]
fn checks_of_a_project() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("persist.lock");
    let mut table = Table::within(folder.path());
    table.add("no lock", check::<Hero>(&path, "0.1.0", Mode::Check));
    check::<OldHero>(&path, "0.1.0", Mode::Update).unwrap();
    table.add("another program", check::<Hero>(&path, "0.2.0", Mode::Locked));
    table.add("a program that does not load", check::<BrokenHero>(&path, "0.2.0", Mode::Check));
    table.add("an update to it", check::<BrokenHero>(&path, "0.2.0", Mode::Update));
    table.add("an update of the version", check::<BrokenHero>(&path, "0.1.0", Mode::Update));
    let mut lock = Lock::load(&path).unwrap();
    lock.update("0.2.0", &registry::<Hero>()).unwrap();
    table.add("a version that is not the last", lock.update("0.1.0", &registry::<Hero>()));
    table.add("a version that is not there", lock.sample("9.9.9", Values::Plain));
    fs::write(&path, b"# persist.lock, \xff").unwrap();
    table.add("bytes that are no text", Lock::load(&path));
    #[cfg(unix)]
    {
        let cycle = folder.path().join("cycle");
        std::os::unix::fs::symlink(&cycle, &cycle).unwrap();
        let checked = check::<Hero>(&cycle.join("persist.lock"), "0.1.0", Mode::Check);
        table.add("a folder that cannot be looked at", checked);
    }
    table.add("a file that is not there", Lock::load(folder.path().join("none")));
    insta::assert_snapshot!(table.text());
}

const HEAD: &str = "# persist.lock, format 1; written by the test with PERSIST_LOCK=update, the versions before stay as they are\n";

#[test]
fn texts_that_are_no_lock() {
    let mut table = Table::new();
    for (what, text) in [
        ("nothing", String::new()),
        ("another text", "# another file\n".into()),
        ("a format that is no number", "# persist.lock, format one\n".into()),
        ("format 0", HEAD.replace("format 1", "format 0")),
        ("a newer format", HEAD.replace("format 1", "format 9")),
    ] {
        table.add(what, text.parse::<Lock>());
    }
    let class = "class A, id 0x1, version 1, struct\n";
    for (what, text) in [
        ("no version", "version \n".to_owned()),
        ("no trait", "version 1\ntrait \n".into()),
        ("a trait to remove", "version 1\n\nversion 2\nremoved trait \n".into()),
        ("something to remove", "version 1\n\nversion 2\nremoved sword A\n".into()),
        ("no class", "version 1\nclass \n".into()),
        ("no version of a class", "version 1\nclass A, id 0x1, version x, struct\n".into()),
        ("no variant", "version 1\nclass A, id 0x1, version 1, enum\n  variant \n".into()),
        ("no field", format!("version 1\n{class}  #\n")),
        ("a field without a name", format!("version 1\n{class}  : u8\n")),
        ("a trait object", format!("version 1\n{class}  a: Box<dyn >\n")),
        ("a pointer to a trait object", format!("version 1\n{class}  a: Rc<dyn >\n")),
        ("a handle", format!("version 1\n{class}  a: Handle<>\n")),
    ] {
        table.add(what, format!("{HEAD}\n{text}").parse::<Lock>());
    }
    insta::assert_snapshot!(table.text());
}

#[test]
fn the_variable_of_a_check() {
    // Apart: the environment belongs to all tests of the program.
    if std::env::var_os("PERSIST_LOCK").is_none() {
        let mut test = std::process::Command::new(std::env::current_exe().unwrap());
        test.args(["--exact", "messages::lock::the_variable_of_a_check", "--nocapture"]);
        let output = test.env("PERSIST_LOCK", "maybe").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let (_, message) = said.split_once("said: ").unwrap();
        let mut table = Table::new();
        table.line("a variable of another value", message.lines().next().unwrap());
        insta::assert_snapshot!(table.text());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let checked = persist::__private::check(folder.path(), "0.1.0", &registry::<Hero>());
    println!("said: {}", checked.map(drop).unwrap_err());
}
