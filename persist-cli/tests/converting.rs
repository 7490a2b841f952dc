//! `convert`.

use serde_json::Value as Json;

use crate::game;
use crate::support::{Folder, fixture_bytes};

const FIXTURES: [&str; 15] = [
    "compressed/lz4.sav",
    "compressed/zstd.sav",
    "evolution/v1.sav",
    "evolution/v2.sav",
    "evolution/v3.sav",
    "evolution/v4.sav",
    "evolution/v5.sav",
    "journals/edits.sav",
    "journals/format_1.sav",
    "journals/saved.sav",
    "v1/compact.sav",
    "v1/graph.sav",
    "v1/players.sav",
    "v1/pointers.sav",
    "v1/values.sav",
];

fn saves() -> Vec<(String, Vec<u8>)> {
    let folder = Folder::new();
    game::quest(&folder.path("quest.sav")).expect("a quest");
    let mut saves = vec![
        (String::from("town"), game::town().expect("a town")),
        (String::from("game"), game::game().expect("a game")),
        (String::from("quest"), folder.read("quest.sav")),
        (String::from("kept"), game::loaded_without_mod().expect("a save of a mod")),
    ];
    saves.extend(FIXTURES.iter().map(|name| (String::from(*name), fixture_bytes(name))));
    saves
}

#[test]
fn texts_become_the_same_saves() {
    for (name, save) in saves() {
        let folder = Folder::new();
        folder.write("a.sav", &save);
        for form in ["json", "ron", "txt"] {
            let output = folder.run(&format!("convert a.sav -o a.{form}"));
            let back = folder.run(&format!("convert a.{form} -o {form}.sav"));
            assert_eq!((&*output, &*back), ("", ""), "{name} {form}");
            assert_eq!(folder.read(format!("{form}.sav")), save, "{name} as {form}");
        }
    }
}

#[test]
fn compressed_saves_decompress_to_the_same_bytes() {
    for (name, save) in saves().into_iter().filter(|(name, _)| !name.starts_with("compressed")) {
        let folder = Folder::new();
        folder.write("a.sav", &save);
        for form in ["lz4", "zstd"] {
            folder.run(&format!("convert a.sav --to {form} -o {form}.sav"));
            folder.run(&format!("convert {form}.sav --to plain -o plain.sav --force"));
            assert_eq!(folder.read("plain.sav"), save, "{name} through {form}");
        }
    }
}

#[test]
fn the_texts_are_for_people() {
    let folder = Folder::with(&["v1/graph.sav", "v1/values.sav"]);
    folder.write("town.sav", &game::town().expect("a town"));
    let commands = [
        "convert graph.sav --to json",
        "convert town.sav --to ron",
        "convert values.sav --to text",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn a_text_that_is_changed_changes_the_save() {
    let folder = Folder::with(&["v1/graph.sav"]);
    folder.run("convert graph.sav -o graph.json");
    let text = String::from_utf8(folder.read("graph.json")).expect("text");
    folder.write("graph.json", text.replace("\"level\": 7", "\"level\": 8").as_bytes());
    folder.run("convert graph.json -o new.sav");
    insta::assert_snapshot!(folder.transcript(["diff graph.sav new.sav"]));
}

#[test]
fn texts_that_are_no_saves_say_why() {
    let folder = Folder::with(&["v1/graph.sav"]);
    folder.run("convert graph.sav -o graph.json");
    let text = String::from_utf8(folder.read("graph.json")).expect("text");
    let bad = |name: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        folder.write(format!("{name}.json"), text.replacen(from, to, 1).as_bytes());
    };
    bad("kind", "\"level\": 7", "\"level\": \"high\"");
    bad("range", "\"level\": 7", "\"level\": -7");
    bad("field", "\"level\": 7,", "");
    bad("object", "\"id\": 2", "\"id\": 1");
    bad("reference", "\"#2\"", "\"#9\"");
    bad("class", "\"class\": \"quest.Item\"", "\"class\": \"quest.Gem\"");
    bad("holder", "\"Rc<RefCell>\"", "\"Box\"");
    bad("form", "\"save\": 1", "\"save\": 2");
    bad("key", "\"$class\"", "\"$klass\"");
    bad("end", "\"save\"", "save");
    folder.write("deep.json", "[".repeat(1 << 20).as_bytes());
    folder.write("empty.json", b"{}");
    let names = ["kind", "range", "field", "object", "reference", "class", "holder", "form"];
    let names = names.iter().chain(&["key", "end", "deep", "empty"]);
    let commands: Vec<String> = names.map(|it| format!("convert {it}.json -o new.sav")).collect();
    insta::assert_snapshot!(folder.transcript(commands.iter().map(|it| &**it)));
}

/// Writes the JSON of a save with its keys in another order.
fn reorder(folder: &Folder, new: &str, change: impl FnOnce(&mut serde_json::Map<String, Json>)) {
    let mut save: Json = serde_json::from_slice(&folder.read("graph.json")).expect("JSON");
    change(save.as_object_mut().expect("a map"));
    folder.write(new, save.to_string().as_bytes());
}

#[test]
fn the_keys_of_a_text_may_stand_in_any_order() {
    let folder = Folder::with(&["v1/graph.sav"]);
    folder.run("convert graph.sav -o graph.json");
    reorder(&folder, "first.json", |save| {
        let (key, objects) = save.shift_remove_entry("objects").expect("objects");
        save.shift_insert(0, key, objects);
    });
    reorder(&folder, "middle.json", |save| {
        let (key, form) = save.shift_remove_entry("save").expect("the form");
        save.insert(key, form);
    });
    for name in ["first", "middle"] {
        assert_eq!(folder.run(&format!("convert {name}.json -o {name}.sav")), "");
        assert_eq!(folder.read(format!("{name}.sav")), folder.read("graph.sav"), "{name}");
    }
    assert_eq!(folder.run("convert - -o stdin.sav < graph.json"), "");
    assert_eq!(folder.read("stdin.sav"), folder.read("graph.sav"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named_whatever_is_written() {
    let folder = Folder::new();
    folder.write("big.sav", &persist::to_vec(&"x".repeat(1 << 20)).expect("a save"));
    for form in ["json", "ron", "text", "plain"] {
        let said = folder.run(&format!("convert big.sav --to {form} > /dev/full"));
        let expected = "error: cannot write standard output: No space left on device (os error 28)\n[exit code 2]\n";
        assert_eq!(said, expected, "{form}");
    }
}

#[test]
fn a_mark_at_the_beginning_of_a_text_is_no_part_of_it() {
    let folder = Folder::with(&["v1/graph.sav"]);
    folder.run("convert graph.sav -o graph.json");
    let marked = [b"\xef\xbb\xbf", &folder.read("graph.json")[..]].concat();
    folder.write("marked.json", &marked);
    folder.write("marked", &marked);
    assert_eq!(folder.run("convert marked.json -o one.sav"), "");
    assert_eq!(folder.run("convert marked -o two.sav"), "");
    assert_eq!(folder.read("one.sav"), folder.read("graph.sav"));
    assert_eq!(folder.read("two.sav"), folder.read("graph.sav"));
}

#[test]
fn duplicate_ids_are_named() {
    let folder = Folder::with(&["v1/compact.sav"]);
    folder.run("convert compact.sav -o once.txt");
    let text = String::from_utf8(folder.read("once.txt")).expect("a text");
    folder.write("twice.txt", text.replace("\"id\": 2u64", "\"id\": 1u64").as_bytes());
    insta::assert_snapshot!(folder.run("convert twice.txt -o twice.sav"));
}
