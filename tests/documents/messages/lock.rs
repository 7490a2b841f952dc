//! The lock: texts that are none, and what the check of a project says.

use std::fs;
use std::path::Path;

use persist::Persist;
use persist::save::Registry;
use persist_tools::__private::{Mode, check_file};
use persist_tools::lock::{Lock, Values};

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
    let file = path.join("0.1.0.txt");
    fs::rename(&file, path.join("0.1.1.txt")).unwrap();
    table.add("a file of another version", Lock::load(&path));
    fs::remove_file(path.join("0.1.1.txt")).unwrap();
    fs::write(&file, b"# persist.lock, \xff").unwrap();
    table.add("bytes that are no text", Lock::load(&path));
    table.add("a file and no folder", Lock::load(&file));
    table.add("a file where the folder goes", Lock::new().save(&file));
    lock.update("beta 2", &registry::<Hero>()).unwrap();
    table.add("a version that is no name", lock.save(&path));
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

#[test]
fn texts_that_are_no_lock() {
    let mut table = Table::new();
    for (what, text) in [
        ("nothing", ""),
        ("another text", "# another file\n"),
        ("another value", "Save { format: 3 }"),
        ("a format that is no number", "Lock { format: \"one\", versions: [] }"),
        ("format 0", "Lock { format: 0, versions: [] }"),
        ("a newer format", "Lock { format: 9, versions: [] }"),
        ("an older format", "Lock { format: 2, versions: [] }"),
        ("no versions", "Lock { format: 3 }"),
        ("a version without a name", "Lock { format: 3, versions: [Version { after: [] }] }"),
        (
            "a version that stands there twice",
            "Lock { format: 3, versions: [Version { name: \"1\", after: [], schemas: [] }, Version { name: \"1\", after: [], schemas: [] }] }",
        ),
        (
            "a version that came after itself",
            "Lock { format: 3, versions: [Version { name: \"1\", after: [\"1\"], schemas: [] }] }",
        ),
        (
            "another part of a version",
            "Lock { format: 3, versions: [Version { name: \"1\", gone: [] }] }",
        ),
    ] {
        table.add(what, text.parse::<Lock>());
    }
    let class = "Class { name: \"A\", id: \"0x1\", version: 1, fields: {} }";
    let of = |form: &str| format!("Class {{ name: \"A\", id: \"0x1\", version: 1, {form} }}");
    let kind = |kind: &str| of(&format!("fields: {{ \"a\": {kind} }}"));
    for (what, text) in [
        ("another entry", String::from("3")),
        ("an entry that stands there twice", format!("{class}, {class}")),
        ("an id that stands there twice", format!("{class}, {}", class.replace("\"A\"", "\"B\""))),
        ("no id", class.replace("0x1", "1")),
        ("no version of a class", class.replace("version: 1", "version: 0")),
        ("a class that no program may read", class.replace("version: 1", "version: 1, since: 2")),
        ("no form", class.replace("fields: {}", "")),
        ("no fields", of("fields: 3")),
        ("a field without a name", of("fields: { 3: \"u8\" }")),
        ("two fields of a name", of("fields: { \"a\": \"u8\", (\"a\", 1): \"u8\" }")),
        ("an enum without variants", of("variants: {}")),
        ("a class in itself", kind("A {}")),
        ("a word", kind("\"u9\"")),
        ("a value that is no kind", kind("3")),
        ("a class that is not there", kind("B {}")),
        ("one of several classes", format!("{}, {}", kind("[A {}]"), class.replace("0x1", "0x2"))),
        ("an array without a length", kind("[\"u8\", \"u8\"]")),
        ("a pointer to a number", kind("kind::Strong { holder: \"Rc\", to: \"u8\" }")),
        ("another pointer", kind("kind::Strong { holder: \"Box\", to: A {} }")),
        ("a deep kind", kind(&format!("{}\"u8\"{}", "some(".repeat(64), ")".repeat(64)))),
        ("an object of no class", String::from("Object { holder: \"Rc\" }")),
        ("an object of another value", String::from("Object { class: 3, holder: \"Rc\" }")),
        (
            "an object that stands there twice",
            format!(
                "{class}, Object {{ class: A {{}}, holder: \"Rc\" }}, Object {{ class: A {{ id: \"0x1\" }}, holder: \"Rc\" }}"
            ),
        ),
        ("code of no fields", format!("{class}, Code {{ class: A {{}}, fields: 3 }}")),
        (
            "a function until no version",
            format!(
                "{class}, Code {{ class: A {{}}, fields: {{ \"a\": [Convert {{ takes: \"u8\", until: \"x\" }}] }} }}"
            ),
        ),
        (
            "a class of a trait twice",
            format!("{class}, Trait {{ name: \"T\", classes: [A {{}}, A {{}}] }}"),
        ),
    ] {
        let text = format!(
            "Lock {{ format: 3, versions: [Version {{ name: \"1\", after: [], schemas: [{text}] }}] }}"
        );
        table.add(what, text.parse::<Lock>());
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
    let checked = persist_tools::__private::check(folder.path(), "0.1.0", &registry::<Hero>());
    println!("said: {}", checked.map(drop).unwrap_err());
}
