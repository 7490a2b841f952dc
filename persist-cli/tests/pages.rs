//! Worlds whose objects lie in pages.

use serde_json::Value as Json;

use crate::game;
use crate::support::Folder;

fn city() -> Folder {
    let folder = Folder::new();
    folder.write("city.sav", &game::city().expect("a city"));
    folder
}

#[test]
fn worlds_in_pages_are_shown_and_changed_like_others() {
    let folder = city();
    let commands = [
        "info city.sav",
        "info city.sav --json",
        "verify city.sav",
        "get city.sav 'World/Street/Person 3999:Transform'",
        "dump city.sav 'World/House'",
        "set city.sav 'World/Street/Person 2000:Transform.x' -1",
        "diff city.sav.bak city.sav",
        "verify city.sav",
        "convert city.sav -o city.json",
        "convert city.json -o again.sav",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
    assert_eq!(folder.read("city.sav"), folder.read("again.sav"));
}

#[test]
fn what_is_in_a_world_is_shown_without_its_tables() {
    let folder = city();
    folder.write("game.sav", &game::game_of_city().expect("a game"));
    let mut crowd = persist::World::new();
    for number in 0..12 {
        crowd.spawn(&format!("Person {number}"));
    }
    folder.write("crowd.sav", &persist::to_vec(&crowd).expect("a save"));
    let commands = ["info game.sav", "info crowd.sav", "stats game.sav"];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn a_damaged_page_costs_its_objects() {
    let folder = city();
    folder.damage("city.sav", "bad.sav", 90_000);
    folder.cut("city.sav", "cut.sav", 129_400);
    let commands = [
        "info bad.sav",
        "repair bad.sav -o mended.sav",
        "info mended.sav",
        "repair bad.sav -o again.sav --json",
        "repair cut.sav -o cut-mended.sav",
        "verify cut-mended.sav",
        "get bad.sav 'World/House:Transform.x' --salvage",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

/// The twin is the save that a repair writes.
#[test]
fn a_damaged_world_is_read_as_far_as_it_goes() {
    let folder = city();
    folder.write("game.sav", &game::game_of_city().expect("a game"));
    folder.damage("city.sav", "bad.sav", 90_000);
    folder.damage("game.sav", "bad-game.sav", 90_000);
    folder.cut("city.sav", "cut.sav", 120_000);
    for (bad, whole) in [("bad", "city"), ("bad-game", "game"), ("cut", "city")] {
        folder.run(&format!("repair {bad}.sav -o mended.sav --force"));
        let commands = [
            "get FILE 'World/**:Transform.x'",
            "get FILE 'World/Street/Person 3999:Transform' --json",
            "dump FILE",
            "dump FILE 'World/Street/**'",
            "convert FILE --to json",
            "convert FILE --to plain",
            "diff WHOLE FILE",
            "diff FILE WHOLE --json",
        ];
        for command in commands {
            let command = command.replace("WHOLE", &format!("{whole}.sav"));
            let read = folder
                .output(&format!("{} --salvage", command.replace("FILE", &format!("{bad}.sav"))));
            let twin = folder.output(&command.replace("FILE", "mended.sav"));
            let [text, twin] = [&read.stdout, &twin.stdout].map(|it| String::from_utf8_lossy(it));
            let text = text.replace(&format!("{bad}.sav"), "mended.sav");
            assert!(text == twin && !twin.is_empty(), "{bad} {command}: {text:.500} {twin:.500}");
            assert_eq!(read.status.code(), Some(1), "{bad} {command}");
            let note = String::from_utf8_lossy(&read.stderr);
            assert!(note.contains("the save was damaged"), "{bad} {command}: {note}");
            // Without the flag a damaged save is refused.
            let refused = folder.output(&command.replace("FILE", &format!("{bad}.sav")));
            assert_eq!(
                (refused.status.code(), refused.stdout.len()),
                (Some(2), 0),
                "{bad} {command}"
            );
        }
    }
}

#[test]
fn objects_whose_parent_is_lost_come_below_a_new_one() {
    let folder = city();
    folder.damage("city.sav", "bad.sav", 10_000);
    let commands = [
        "repair bad.sav -o mended.sav",
        "get mended.sav 'World/Person 3999:Transform.x'",
        "repair bad.sav -o recovered.sav --recovered",
        "get recovered.sav 'World/Recovered'",
        "get recovered.sav 'World/Recovered/Person 3999:Transform.x'",
        "get recovered.sav 'World/Recovered/Person 3999.parent'",
        "get recovered.sav .last_id",
        "verify recovered.sav",
        "repair bad.sav -o again.sav --recovered --json",
        "repair city.sav -o whole.sav --recovered",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn worlds_in_pages_are_merged() {
    let folder = city();
    for side in ["ours.sav", "theirs.sav"] {
        folder.write(side, &folder.read("city.sav"));
    }
    let commands = [
        "set ours.sav 'World/Street/Person 7:Transform.x' 70",
        "set theirs.sav 'World/Street/Person 3900:Transform.x' 39",
        "merge city.sav ours.sav theirs.sav -o merged.sav",
        "diff city.sav merged.sav",
        "verify merged.sav",
        "info merged.sav",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

/// Reads a save as JSON, changes that, and writes it as a save.
fn rewrite(folder: &Folder, save: &str, new: &str, change: impl FnOnce(&mut Json)) {
    let text = folder.output(&format!("convert {save} --to json")).stdout;
    let mut json = serde_json::from_slice(&text).expect("JSON");
    change(&mut json);
    folder.write("rewritten.json", &serde_json::to_vec(&json).expect("JSON"));
    assert_eq!(folder.run(&format!("convert rewritten.json -o {new} --force")), "");
}

/// Takes the class of pages out of a save, whose worlds lie in their records then.
fn remove_pages(save: &mut Json) {
    let classes = save["classes"].as_array_mut().expect("a list");
    let is_page = |class: &Json| class.as_str().is_some_and(|it| it.contains("\"persist.Page\""));
    let page = classes.iter().position(is_page).expect("the class");
    classes.remove(page);
    if let Some(defined) = save.get_mut("defined") {
        defined.as_array_mut().expect("a list").remove(page);
    }
}

/// Asserts that a command prints the same of each of two saves of one content, which has pages or has not.
fn assert_alike(folder: &Folder, command: &str) {
    let in_record = |name: &str| name.replace(".sav", "-flat.sav");
    let flat = in_record(command);
    let (text, twin) = (folder.run(command), folder.run(&flat));
    assert_eq!(text, twin.replace("-flat.sav", ".sav"), "{command}");
    assert!(!text.is_empty(), "{command}");
}

/// A folder with a save of each of some worlds in pages, and one in which the world lies in its record.
fn twins() -> Folder {
    let folder = Folder::new();
    for (name, save) in [
        ("city", game::large_city()),
        ("after", game::city_after_a_day()),
        ("game", game::game_of_city()),
    ] {
        folder.write(format!("{name}.sav"), &save.expect("a save"));
        rewrite(&folder, &format!("{name}.sav"), &format!("{name}-flat.sav"), remove_pages);
    }
    assert!(folder.run("info city.sav").contains("3 pages"));
    assert!(!folder.run("info city-flat.sav").contains("pages"));
    folder
}

const PATHS: [&str; 31] = [
    "World",
    "World/*",
    "World/**",
    "World/Street/*:Transform.x",
    "World/Street/**:Mood",
    "World/Street/\"Person 17\"/**",
    "World/**:Transform",
    "World/#900",
    "World/#900:Transform.x",
    "World/#4:*",
    "World/House/Door:Mood::Angry.since",
    "World/*:Transform",
    "World:Score",
    "World:Score.points",
    ".last_id",
    ".objects",
    ".objects[3999].name",
    ".objects[*].parent",
    ".*",
    ".pages",
    ".resources[0]",
    ".",
    "World/**:Transform[x >= 3990]",
    "World/Street/*[:Transform.x < 3 || :Mood == Angry].name",
    "World/**[name == \"Person 17\"]:Transform.x",
    "World[last_id > 5]:Score",
    ".objects[-1].name",
    ".objects[2069:2073].id",
    ".objects[id == 900].name",
    ".objects[-9000:1].id",
    ".resources[points < 9]",
];

#[test]
fn paths_lead_into_pages_as_into_a_record() {
    let folder = twins();
    for (number, path) in PATHS.into_iter().enumerate() {
        let options = if number % 2 == 0 { "" } else { "--json" };
        assert_alike(&folder, &format!("get city.sav '{path}' {options}"));
        // The world is in the field `level` there.
        let inner = path.replacen('.', ".level.", usize::from(path.starts_with('.')));
        let inner = inner.strip_suffix("level.").map_or(&*inner, |_| ".level");
        if number % 3 == 0 {
            assert_alike(&folder, &format!("get game.sav '{inner}'"));
        }
    }
    for text in
        ["'Person 49'", "17.0 --json", "Calm World/Street --count", "5 --class Score", "Inn"]
    {
        for save in ["city.sav", "game.sav", "after.sav"] {
            assert_alike(&folder, &format!("find {save} {text}"));
        }
    }
    for path in ["World/Nobody", "World/Street/Nobody:Transform", ".objects[5000]", ".objekts"] {
        assert_alike(&folder, &format!("get city.sav '{path}'"));
    }
}

#[test]
fn a_set_in_a_page_writes_what_a_program_would() {
    let folder = twins();
    let values = [
        ("World/Street/Person 2000:Transform.x", "-1"),
        ("World/Street/Person 0", "x"),
        // The last object of a page and the first one of the next.
        (".objects[2070].name", &"long ".repeat(2_000)),
        (".objects[2071].name", &"long ".repeat(20_000)),
        (".objects[4004].name", "Last"),
        (".objects[4003].name", "Last"),
        (".objects[17].id", "18"),
        (".objects[17].components[0].x", "text"),
        (".last_id", "5"),
        (".last_id", "9000"),
        (".resources[0].points", "77"),
        ("World/Street/*:Transform.y", "2.5"),
        ("World/**:Mood", "Mood::Calm {}"),
        ("World/Street/*:Transform[x > 4000 && y != 2.5].y", "7"),
        ("World/#3:Bag.prices[pears]", "3"),
    ];
    assert_set_alike(&folder, &values);
}

/// A change of one object gives its siblings other indices, in whatever page they are.
#[test]
fn a_set_of_a_parent_numbers_all_siblings() {
    let folder = twins();
    let whole = folder.run("get city.sav '.objects[300]'").replace("Person 295", "Nobody");
    assert_set_alike(
        &folder,
        &[
            (".objects[20].parent.index", "4000000000"),
            (".objects[4900].parent.index", "0"),
            (".objects[40].parent.object", "1"),
            (".objects[21].parent", "none"),
            (".objects[22].parent.object", "9000000"),
            (".objects[4].parent", "some(`persist.Parent` { object: 6u64, index: 0u32 })"),
            ("World/Street/**.parent", "none"),
            (".objects[300]", whole.trim()),
            (".objects", "[]"),
            (".pages", "[]"),
        ],
    );
    let folder = twins();
    folder.write("old.sav", &folder.read("city.sav"));
    folder.write("old-flat.sav", &folder.read("city-flat.sav"));
    for (path, value) in
        [(".objects[20].parent.index", "5000"), (".objects[40].parent.object", "1")]
    {
        for save in ["city.sav", "city-flat.sav"] {
            folder.run(&format!("set {save} '{path}' {value}"));
        }
    }
    assert_alike(&folder, "diff old.sav city.sav");
    assert_alike(&folder, "diff city.sav old.sav --json");
}

/// Asserts that each change of a save in pages gives the same save as in a record, and is shown alike.
fn assert_set_alike(folder: &Folder, values: &[(&str, &str)]) {
    for (number, (path, value)) in values.iter().enumerate() {
        // The world is in the field `level` there.
        let inner = path.replacen('.', ".level.", usize::from(path.starts_with('.')));
        for (save, path) in [("city", *path), ("game", &inner)] {
            if save == "game" && number % 3 > 0 {
                continue;
            }
            let old = folder.read(format!("{save}.sav"));
            assert_alike(folder, &format!("set {save}.sav '{path}' '{value}' --all"));
            let set = folder.read(format!("{save}.sav"));
            if set == old {
                continue;
            }
            let json = |name: &str| {
                let text = folder.output(&format!("convert {name}.sav --to json")).stdout;
                String::from_utf8(text).expect("JSON")
            };
            let (text, twin) = (json(save), json(&format!("{save}-flat")));
            let objects = |text: &str| {
                let start = text.find("\n  \"objects\"").expect("the list is last");
                text[start..].to_owned()
            };
            assert!(objects(&text) == objects(&twin), "{save} {path} {value}");
            // All of it is cut into pages again.
            folder.write("set.json", text.as_bytes());
            assert_eq!(folder.run("convert set.json -o again.sav --force"), "");
            assert!(set == folder.read("again.sav"), "{save} {path} {value}");
        }
    }
}

#[test]
fn differences_in_pages_are_those_of_records() {
    let folder = twins();
    for names in ["city.sav after.sav", "after.sav city.sav", "city.sav city.sav"] {
        for options in ["", "--json", "--stat", "--by name"] {
            let (text, twin) = (
                folder.run(&format!("diff {names} {options}")),
                folder.run(&format!("diff {} {options}", names.replace(".sav", "-flat.sav"))),
            );
            assert_eq!(text, twin.replace("-flat.sav", ".sav"), "{names} {options}");
        }
    }
    for (path, value) in
        [(".level.day", "5"), ("World/House:Transform.x", "7"), ("World:Score.points", "1")]
    {
        folder.write("old.sav", &folder.read("game.sav"));
        folder.write("old-flat.sav", &folder.read("game-flat.sav"));
        let path = path.replace(".level.day", ".day");
        for save in ["game.sav", "game-flat.sav"] {
            folder.run(&format!("set {save} '{path}' {value}"));
        }
        assert_alike(&folder, "diff old.sav game.sav");
    }
}

/// No program loads such worlds, but the command shows them.
#[test]
fn worlds_of_pages_that_no_program_loads_are_shown_like_others() {
    let folder = Folder::new();
    folder.write("city.sav", &game::city().expect("a city"));
    let changes: [fn(&mut Vec<Json>); 4] = [
        |objects| objects.reverse(),
        |objects| objects[4_000]["name"] = "Person 3".into(),
        |objects| objects[20]["parent"] = objects[3]["parent"].clone(),
        |objects| objects[20]["parent"] = objects[3_990]["parent"].clone(),
    ];
    for change in changes {
        for (name, is_flat) in [("odd.sav", false), ("odd-flat.sav", true)] {
            rewrite(&folder, "city.sav", name, |save| {
                let world = &mut save["objects"][0]["value"];
                change(world["objects"].as_array_mut().expect("a list"));
                if is_flat {
                    remove_pages(save);
                }
            });
        }
        for command in [
            "get odd.sav 'World/**:Transform.x'",
            "get odd.sav 'World/Street/*' --json",
            "get odd.sav 'World/Street/Person 3/**'",
            "get odd.sav '.objects[700]'",
            "set odd.sav '.objects[700].name' Odd",
            "diff city.sav odd.sav",
        ] {
            let twin = folder.run(&command.replace("odd.sav", "odd-flat.sav"));
            assert_eq!(folder.run(command), twin.replace("-flat.sav", ".sav"), "{command}");
        }
    }
}

#[test]
fn reports_of_pages_are_those_of_records() {
    let folder = twins();
    let report = |command: &str| {
        let mut report: Json = serde_json::from_str(&folder.run(command)).expect(command);
        for save in report["saves"].as_array_mut().expect("saves") {
            for of_file in ["file", "size", "usage"] {
                save[of_file].take();
            }
            // The index of the pages is a field of a world, and has bytes.
            for class in save["classes"].as_array_mut().expect("classes") {
                if class["name"] == "persist.World" || class["name"] == "Game" {
                    class["fields"].take();
                    class["bytes"].take();
                }
            }
        }
        report
    };
    for command in [
        "report city.sav --json --find 17",
        "report game.sav --json",
        "report city.sav --diff after.sav --json",
    ] {
        let flat = report(&command.replace(".sav", "-flat.sav"));
        let found = report(command);
        let saves = (0..2).flat_map(|number| {
            found["saves"].get(number).and_then(Json::as_object).zip(flat["saves"].get(number))
        });
        for (save, flat) in saves {
            for (key, value) in save {
                assert!(*value == flat[key], "{command}: {key} differs\n{value}\n{}", flat[key]);
            }
        }
        assert!(found["diff"] == flat["diff"], "{command}");
    }
    let found = &report("report city.sav --json --find 17")["saves"][0]["find"];
    assert_eq!(found["values"].to_string(), folder.run("find city.sav 17 --count").trim());
}
