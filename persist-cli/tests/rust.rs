//! `schema --rust`: what it prints compiles, and loads the save.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use persist::Value;
use persist::reflect::ClassId;

use crate::game;
use crate::support::Folder;

/// Compiles a program against the library that this test is linked with.
fn rustc(folder: &Folder, arguments: &[&str]) -> Output {
    let deps = std::env::current_exe().expect("this program");
    let deps = deps.parent().expect("its folder");
    let files = std::fs::read_dir(deps).expect("a folder").map(|file| file.expect("a file"));
    let is_library = |name: &OsStr| {
        let name = name.to_string_lossy();
        name.starts_with("libpersist-") && name.ends_with(".rlib")
    };
    let built = files.filter(|file| is_library(&file.file_name()));
    let newest = built.max_by_key(|file| file.metadata().and_then(|it| it.modified()).ok());
    let library = |prefix: &str, path: &Path| {
        let mut argument = OsString::from(prefix);
        argument.push(path);
        argument
    };
    Command::new("rustc")
        .args(["--edition=2024", "--color=never", "--cap-lints=allow", "--extern"])
        .arg(library("persist=", &newest.expect("the library").path()))
        .arg("-L")
        .arg(library("dependency=", deps))
        .args(arguments)
        .current_dir(folder.path(""))
        .output()
        .expect("rustc runs")
}

fn assert_success(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The saves in a folder of fixtures and below it.
fn saves(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let found = paths.flat_map(|path| match path.is_dir() {
        true => saves(&path),
        false => Vec::from_iter(path.extension().is_some_and(|it| it == "sav").then_some(path)),
    });
    found.collect()
}

/// The text of a save that defines the classes of a file, each a line with its name and form.
fn text(classes: &str) -> String {
    let class = |line: &str| {
        let (name, form) = line.split_once("\" ").expect("a name and a form");
        let name: Value = format!("{name}\"").parse().expect("a name in quotes");
        let id = ClassId::from_name(name.as_text().expect("a text")).0;
        let version = if form.contains("version: ") { "" } else { "version: 1u32, " };
        let class = format!("Class {{ name: {name}, id: \"{id:#x}\", {version}{form} }}");
        Value::from(class).to_string()
    };
    let classes: Vec<String> = classes.lines().map(class).collect();
    format!("{{ \"save\": 1u32, \"classes\": [{}], \"objects\": [] }}", classes.join(", "))
}

/// Writes the types of a save as a module.
fn module(folder: &Folder, save: &str) -> String {
    let types = folder.run(&format!("schema --rust {save}"));
    format!("pub mod {} {{\n{types}}}\n", save.trim_end_matches(".sav"))
}

#[test]
fn the_types_of_every_save_compile() {
    let folder = Folder::new();
    folder.write("town.sav", &game::town().expect("a town"));
    folder.write("game.sav", &game::game().expect("a game"));
    folder.write("kept.sav", &game::loaded_without_mod().expect("a save"));
    folder.write("classes.txt", text(include_str!("classes.txt")).as_bytes());
    assert_eq!(folder.run("convert classes.txt -o classes.sav"), "");
    let mut names = ["town", "game", "kept", "classes"].map(|name| format!("{name}.sav")).to_vec();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    for (number, path) in saves(&fixtures).into_iter().enumerate() {
        let name = format!("fixture_{number}.sav");
        folder.write(&name, &std::fs::read(path).expect("a fixture"));
        names.push(name);
    }
    assert!(names.len() > 15, "{names:?}");
    let modules: String = names.iter().map(|save| module(&folder, save)).collect();
    folder.write("lib.rs", modules.as_bytes());
    assert_success(&rustc(&folder, &["--crate-type=lib", "--emit=metadata", "lib.rs"]));
}

#[test]
fn hostile_classes_have_types_with_other_names() {
    let folder = Folder::new();
    folder.write("classes.txt", text(include_str!("classes.txt")).as_bytes());
    folder.run("convert classes.txt -o classes.sav");
    insta::assert_snapshot!(folder.run("schema --rust classes.sav"));
}

/// The code that a person writes around the types to load the saves.
const MAIN: &str = r#"
fn main() -> persist::Result<()> {
    let saves = persist::Saves::new();
    saves.register::<graph::Hero>()?;
    saves.register::<graph::Item>()?;
    saves.register::<graph::Monster>()?;
    let loaded = saves.file("graph.sav").load::<persist::SaveManager>()?;
    assert!(loaded.report().is_clean(), "{}", loaded.report());
    let hero = loaded.first::<graph::Hero>().expect("a hero");
    assert_eq!(hero.borrow().sword.as_ref().expect("a sword").borrow().name, "Sting");

    let values: values::Values = persist::load("values.sav")?;
    assert_eq!(values.shapes.len(), 5);

    saves.register_component::<town::Transform>()?;
    saves.register_component::<town::Mood>()?;
    saves.register_component::<town::Bag>()?;
    saves.register_resource::<town::Score>()?;
    let world = saves.file("town.sav").load::<persist::World>()?;
    assert!(world.report().is_clean(), "{}", world.report());
    let door = world.find("Door").expect("a door");
    assert_eq!(world.get::<town::Transform>(door).expect("a place").x, 1.5);

    saves.register::<compact::Stock>()?;
    let loaded = saves.file("compact.sav").load::<persist::SaveManager>()?;
    assert!(loaded.report().is_clean(), "{}", loaded.report());
    Ok(())
}
"#;

#[test]
fn the_types_of_a_save_load_it() {
    let folder = Folder::with(&["v1/graph.sav", "v1/values.sav", "v1/compact.sav"]);
    folder.write("town.sav", &game::town().expect("a town"));
    let saves = ["graph.sav", "values.sav", "compact.sav", "town.sav"];
    let modules: String = saves.iter().map(|save| module(&folder, save)).collect();
    folder.write("main.rs", (modules + MAIN).as_bytes());
    assert_success(&rustc(&folder, &["--crate-type=bin", "main.rs"]));
    let main = folder.path(format!("main{}", std::env::consts::EXE_SUFFIX));
    let output = Command::new(main).current_dir(folder.path("")).output().expect("it runs");
    assert_success(&output);
}
