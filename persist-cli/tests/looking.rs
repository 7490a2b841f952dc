//! `info`, `dump` and `get`.

use crate::game;
use crate::support::Folder;

fn graph() -> Folder {
    Folder::with(&["v1/graph.sav", "v1/values.sav", "v1/players.sav", "compressed/zstd.sav"])
}

/// A folder with a town, and with a game that has a town in a field.
fn town() -> Folder {
    let folder = Folder::with(&["journals/saved.sav", "journals/saved.journal"]);
    folder.write("town.sav", &game::town().expect("a town"));
    folder.write("game.sav", &game::game().expect("a game"));
    folder
}

#[test]
fn info_shows_what_a_save_says_of_itself() {
    let commands = ["info graph.sav zstd.sav", "info graph.sav --json", "info - < players.sav"];
    insta::assert_snapshot!(graph().transcript(commands));
}

/// A farm whose list of saves has a PNG. Only the beginning of the picture matters here.
fn farm(seconds: u64, thumbnail: &[u8]) -> Vec<u8> {
    game::farm(&game::Farm { day: 3, coins: 90 }, seconds, thumbnail).expect("a farm")
}

#[test]
fn info_shows_title_times_thumbnail_and_value() {
    let folder = Folder::new();
    let png = [b"\x89PNG\r\n\x1a\n", &[0; 3_000][..]].concat();
    folder.write("png.sav", &farm(0, &png));
    folder.write("none.sav", &farm(0, b""));
    let commands = ["info png.sav none.sav", "info png.sav none.sav --json"];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn info_knows_the_kinds_of_thumbnails() {
    let folder = Folder::new();
    let kinds: [(&str, &[u8]); 5] = [
        ("PNG, 4 B", b"\x89PNG"),
        ("JPEG, 4 B", b"\xff\xd8\xff\xe0"),
        ("WebP, 12 B", b"RIFF\0\0\0\0WEBP"),
        ("GIF, 6 B", b"GIF89a"),
        ("bytes, 5 B", b"P6 \xff\xfe"),
    ];
    for (kind, picture) in kinds {
        folder.write("farm.sav", &farm(0, picture));
        let info = folder.run("info farm.sav");
        assert!(info.contains(&format!("  thumbnail   {kind}\n")), "{info}");
    }
}

#[test]
fn info_shows_what_lies_beside_a_save() {
    let folder = town();
    game::quest(&folder.path("quest.sav")).expect("a quest");
    folder.damage("quest.sav", "quest.sav.damaged", 9_000);
    folder.write("quest.sav.refused", &folder.read("quest.sav.bak"));
    let commands = ["info quest.sav saved.sav", "info quest.sav saved.sav --json"];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn info_shows_what_is_left_of_a_damaged_save() {
    let folder = graph();
    game::quest(&folder.path("quest.sav")).expect("a quest");
    folder.damage("quest.sav", "middle.sav", 100_000);
    folder.cut("quest.sav", "cut.sav", 150_000);
    folder.cut("graph.sav", "short.sav", 300);
    folder.damage("graph.sav", "head.sav", 12);
    folder.write("empty.sav", b"");
    folder.write("text.sav", b"no save at all");
    let commands = [
        "info middle.sav cut.sav short.sav head.sav empty.sav text.sav",
        "info middle.sav --json",
        "dump middle.sav",
        "get cut.sav Hero[0].name",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn dump_shows_objects_and_values() {
    insta::assert_snapshot!(graph().transcript(["dump graph.sav", "dump values.sav"]));
}

#[test]
fn get_and_dump_have_the_same_json() {
    let folder = graph();
    for path in ["#3", "Hero[0].name", "Hero[*].name", "#99"] {
        let [get, dump] = ["get", "dump"].map(|it| format!("{it} graph.sav {path} --json"));
        assert_eq!(folder.run(&get), folder.run(&dump), "{path}");
    }
}

#[test]
fn dump_shows_parts_by_path() {
    let commands = [
        "dump graph.sav Hero[0].state",
        "dump graph.sav Item --follow --depth 1",
        "dump graph.sav #3 --json",
        "dump graph.sav #99",
        "dump values.sav --depth 0",
    ];
    insta::assert_snapshot!(graph().transcript(commands));
}

#[test]
fn dump_shows_worlds_as_objects_with_components() {
    let commands = [
        "dump town.sav",
        "dump game.sav",
        "dump game.sav --json",
        "dump town.sav World/House/Door",
        "dump saved.sav --raw",
    ];
    insta::assert_snapshot!(town().transcript(commands));
}

#[test]
fn get_finds_values_by_path() {
    let commands = [
        "get graph.sav Hero[*].name",
        "get graph.sav quest.Hero[1].name",
        "get graph.sav Hero[1].name --raw",
        "get graph.sav Hero[*].level --raw",
        "get graph.sav #1.sword.owner.name",
        "get graph.sav #1.rivals[Bob].level",
        "get graph.sav '#1.rivals[\"Ada herself\"].level'",
        "get graph.sav #1.last_seen[-5].hp",
        "get graph.sav #1.pets[*]",
        "get graph.sav #1.pets[2].hp --json",
        "get graph.sav Hero[*].state::Fighting.1",
        "get graph.sav *.name",
        "get graph.sav quest.M*[*].hp",
        "get graph.sav #1.*",
        "get values.sav .text",
        "get zstd.sav [3]",
        "get zstd.sav '`Vec<u16>`[0][4]'",
    ];
    insta::assert_snapshot!(graph().transcript(commands));
}

#[test]
fn get_finds_objects_and_components_of_worlds() {
    let commands = [
        "get town.sav World/House/Door:Transform.x",
        "get town.sav /House/Door:Transform:x",
        "get town.sav World/House:Transform",
        "get town.sav World/**:Transform.x",
        "get town.sav World/*:Transform.x",
        "get town.sav 'World/\"Cart \\\"one\\\"\":Bag.items[1].count'",
        "get town.sav World/#3:Bag.prices[apples]",
        "get town.sav World/#3:`town.Bag`.by_day[-1]",
        "get town.sav World/#3:*",
        "get town.sav World/House/Door:Mood::Angry.since --json",
        "get town.sav World:Score.points",
        "get town.sav World:Score.digest[2]",
        "get game.sav .level/House/Door:Transform.x",
        "get game.sav World/House/Door:Transform.x",
        "get game.sav Game.day",
    ];
    insta::assert_snapshot!(town().transcript(commands));
}

#[test]
fn get_finds_values_by_conditions() {
    let commands = [
        "get graph.sav 'Hero[name == \"Bob\"].level'",
        "get graph.sav 'Hero[name == Bob].level'",
        "get graph.sav 'Hero[sword.name != \"Sting\"].name'",
        "get graph.sav 'Hero[level > 5 && state == Fighting || level <= 3].name'",
        "get graph.sav 'Monster[hp >= 3].hp'",
        "get graph.sav '#1.pets[hp < 100].hp'",
        "get graph.sav 'Hero[pets[hp > 0].hp < 100].name'",
        "get graph.sav '*[spare == none].name'",
        "get values.sav '.*[. > 1]'",
        "get graph.sav 'Hero[nam == \"Bob\"]'",
        "get graph.sav 'Hero[name == \"Bo\"]'",
    ];
    let mut shown = graph().transcript(commands);
    let commands = [
        "get town.sav '/**:Transform[x > 0]'",
        "get town.sav '/**[name == House]:Transform.x'",
        "get town.sav '/**[:Transform.x < 0].id'",
        "get town.sav '/*:Bag.items[count > 100].of'",
        "get town.sav '/*:Bag.prices[. == 1]'",
        "get game.sav 'World/**:Transform[y == 0.1]'",
    ];
    shown.push_str(&town().transcript(commands));
    insta::assert_snapshot!(shown);
}

/// A folder with a save of heroes who have purses, in which coins are keys, and one with a town.
fn adventure() -> Folder {
    let folder = town();
    game::quest(&folder.path("quest.sav")).expect("a quest");
    folder.write("purse.sav", &game::purse(3).expect("a purse"));
    folder
}

#[test]
fn names_in_paths_that_no_class_has_are_errors() {
    let commands = [
        "get quest.sav 'Hero[items[*].nam == x]'",
        "get quest.sav 'Hero[levle < 5 || level > 3]'",
        "get quest.sav 'Hero[nosuch > 20].level'",
        "get quest.sav Hero[0].rival.leve",
        "get quest.sav '*[helth < 5]' --json",
        "get quest.sav Hero[items.name==x]",
        "get purse.sav '.purse.Gold'",
        "get purse.sav '.purse[Gld]'",
        "get purse.sav '.purse[Gold]'",
        "get purse.sav '.by_name[adda]'",
        "get purse.sav '.favourite::Gld'",
        "get purse.sav 'Purse[favourite == Gld]'",
        "get purse.sav 'Purse[favourite == quest]'",
        "get purse.sav 'Purse[favourite > Gold]'",
        "get purse.sav '.coins::Gold'",
        "set quest.sav Hero[0].gould 5",
        "find quest.sav 5 Hero[0].gould",
        "get town.sav '/**:Transfrom[x > 0]'",
        "get town.sav '/**[:Bga.x > 0]'",
        "get town.sav /**:Transform.z",
        "get town.sav /Huose/Door",
        "get town.sav /House/Dor:Transform",
        "get game.sav /Nobody",
    ];
    insta::assert_snapshot!(adventure().transcript(commands));
}

#[test]
fn values_of_other_kinds_are_not_compared() {
    let commands = [
        "get quest.sav 'Hero[level != gold]'",
        "get quest.sav 'Hero[level > \"abc\"]'",
        "get quest.sav 'Hero[name < 5]'",
        "get quest.sav 'Hero[level == none]'",
        "get quest.sav 'Hero[items == 5]'",
        "get quest.sav 'Hero[rival == Bob]'",
        "get quest.sav 'Hero[rival != none].name'",
        "get quest.sav 'Hero[rival == #2].name'",
        "get quest.sav 'Hero[rival < #2].name'",
        "get quest.sav 'Item[. == 5]'",
        "get quest.sav '*[name == 5]'",
        "get graph.sav 'Hero[state == 5]'",
        "get town.sav '/**:Mood[at == 5]'",
        "get purse.sav 'Purse[spare == 5 || spare == none].coins'",
        "get purse.sav 'Purse[is_open == yes]'",
        "get purse.sav 'Purse[coins > 5 && favourite == Coin::Gold && favourite != Silver].coins'",
        "get purse.sav 'Purse[is_open == true].coins'",
    ];
    let folder = adventure();
    folder.write("graph.sav", &crate::support::fixture_bytes("v1/graph.sav"));
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn a_part_of_a_text_is_found_by_a_condition() {
    let commands = [
        "get quest.sav 'Hero[items[*].name ~ sword].name'",
        "get quest.sav 'Hero[*].items[name ~ \"d 14\"]' --count",
        "get quest.sav 'Hero[name ~ ADA]'",
        "get quest.sav 'Hero[name~d && level ~ 8]'",
        "get quest.sav 'Hero[name ~ 5]'",
        "get quest.sav 'Hero[name =~ Ada]'",
        "get town.sav '/**[name ~ oo]:Transform.x'",
    ];
    insta::assert_snapshot!(adventure().transcript(commands));
}

#[test]
fn find_searches_fields_and_keys_by_name() {
    let commands = [
        "find quest.sav 250 --field gold",
        "find quest.sav 250 --field Gold",
        "find quest.sav 250 --field nosuch",
        "find purse.sav 3 --field Gold",
        "find purse.sav 9 --field Ada",
        "find purse.sav 3 --field gold",
        "find quest.sav nothing Hero[0]",
    ];
    insta::assert_snapshot!(adventure().transcript(commands));
}

#[test]
fn get_finds_parts_of_lists() {
    let commands = [
        "get graph.sav #1.pets[0:2].hp",
        "get graph.sav #1.pets[1:].hp",
        "get graph.sav #1.pets[:-2].hp",
        "get graph.sav #1.pets[-1].hp",
        "get graph.sav #1.pets[-9].hp",
        "get graph.sav #1.last_seen[-5].hp",
        "get graph.sav Hero[-1].name",
        "get graph.sav Monster[1:].hp",
        "get graph.sav Monster[-9:9].hp",
        "get graph.sav Monster[7:].hp",
    ];
    let mut shown = graph().transcript(commands);
    shown.push_str(
        &town().transcript(["get town.sav :Score.digest[1:]", "get town.sav .objects[-1].id"]),
    );
    insta::assert_snapshot!(shown);
}

#[test]
fn values_are_counted() {
    let commands = [
        "get graph.sav Hero[*].name --count",
        "get graph.sav 'Monster[hp > 1]' --count --json",
        "get graph.sav #99 --count",
    ];
    insta::assert_snapshot!(graph().transcript(commands));
}

#[test]
fn find_shows_where_names_texts_and_numbers_are() {
    let commands = [
        "find graph.sav Bob",
        "find graph.sav 12",
        "find graph.sav 12.0",
        "find graph.sav -1",
        "find graph.sav Ada --count",
        "find graph.sav ada",
        "find graph.sav ada --ignore-case",
        "find graph.sav ada --ignore-case --count --json",
        "find graph.sav '^S.*g$' --regex",
        "find graph.sav '(' --regex",
        "find graph.sav Fight",
        "find graph.sav a --class Item",
        "find graph.sav a --class quest.M*",
        "find graph.sav a --class Dragon",
        "find graph.sav 7 --field level",
        "find graph.sav 12 --field level",
        "find graph.sav a 'Hero[level < 5]'",
        "find graph.sav Bob --json",
        "find values.sav Gr",
        "find values.sav two",
        "find values.sav 2",
        "find - 3 < players.sav",
    ];
    insta::assert_snapshot!(graph().transcript(commands));
}

#[test]
fn find_looks_into_worlds() {
    let folder = town();
    folder.write("goblins.sav", &game::goblins().expect("goblins"));
    let commands = [
        "find town.sav House",
        "find town.sav o -i",
        "find town.sav apples",
        "find town.sav 1.5",
        "find town.sav 5 --class Score",
        "find town.sav 2 --field y",
        "find town.sav Door --class Transform",
        "find game.sav Calm",
        "find game.sav 4",
        "find game.sav 0 World/#3",
        "find goblins.sav Gob",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn get_takes_the_paths_that_find_shows() {
    let folder = town();
    for name in ["v1/graph.sav", "v1/values.sav"] {
        let file = name.rsplit('/').next().unwrap_or(name);
        folder.write(file, &crate::support::fixture_bytes(name));
    }
    for file in ["graph.sav", "values.sav", "town.sav", "game.sav"] {
        let found = folder.run(&format!("find {file} ''"));
        assert!(found.lines().count() > 5, "{file}: {found}");
        for line in found.lines() {
            let (label, _) = line.split_once(": ").expect("a path and a value");
            let value = folder.run(&format!("get {file} '{label}' --count"));
            assert_eq!(value, "1\n", "{label}");
        }
    }
}

#[test]
fn find_shows_long_texts_around_the_match() {
    let folder = Folder::new();
    game::quest(&folder.path("quest.sav")).expect("a quest");
    let found = folder.run("find quest.sav dragon 'Item[0:2].lore' --color always");
    assert!(found.contains("\u{1b}[1m\u{1b}[31mdragon\u{1b}[0m"), "{found}");
    let plain = folder.run("find quest.sav dragon 'Item[0:2].lore'");
    insta::assert_snapshot!(plain);
    assert!(!plain.contains('\u{1b}'));
}

#[test]
fn find_shows_where_bytes_are() {
    let folder = town();
    let long: Vec<u8> = (0..=255).collect();
    folder.write("long.sav", &persist::to_vec(&vec![vec![11; 3], long]).expect("a save"));
    insta::assert_snapshot!(folder.transcript([
        "find town.sav 02FF --bytes",
        "find town.sav 02FF -b --json",
        "find town.sav 0102ff --bytes --field digest --count",
        "find town.sav 0b --bytes",
        "find long.sav 0b --bytes --color always",
        "find long.sav c8c9 --bytes",
        "find town.sav 2ff --bytes",
        "find town.sav '' --bytes",
        "find town.sav 00 --bytes --regex",
    ]));
}

/// Without references, no path leads to more values than a save has bytes.
#[test]
fn every_value_of_a_large_save_has_a_path() {
    let folder = Folder::new();
    let bytes = vec![vec![7_u8; 1 << 20]; 5];
    folder.write("large.sav", &persist::to_vec(&bytes).expect("a save"));
    assert_eq!(folder.run("get large.sav '[*][*]' --count"), "5242880\n");
}

#[test]
fn what_is_not_found_is_no_error_but_says_so() {
    let commands = [
        "get graph.sav #99",
        "get graph.sav Hero[7]",
        "get graph.sav #1.armour",
        "get graph.sav #1.pets[9]",
        "get graph.sav #2.owner.state::Idle",
        "get graph.sav World/Door",
    ];
    insta::assert_snapshot!(graph().transcript(commands));
}

#[test]
fn a_class_of_components_alone_leads_to_the_worlds() {
    let commands = [
        "dump town.sav Transform",
        "get town.sav Transform.x",
        "get town.sav 'Transform[x == 1.5].y'",
        "get town.sav Transform[7].x",
        "dump town.sav Score",
        "get town.sav town.Bag.items",
        "get game.sav Mood",
        "get town.sav Stack",
    ];
    insta::assert_snapshot!(town().transcript(commands));
}

#[test]
fn what_is_no_path_says_why() {
    let commands = [
        "get graph.sav Dragon.name",
        "get graph.sav #x",
        "get graph.sav Hero[first]",
        "get graph.sav #1.pets[",
        "get graph.sav ''",
    ];
    insta::assert_snapshot!(graph().transcript(commands));
}

#[test]
fn the_paths_that_are_shown_lead_to_the_same_values() {
    let folder = town();
    folder.write("graph.sav", &crate::support::fixture_bytes("v1/graph.sav"));
    let paths = [
        ("graph.sav", "*.*"),
        ("graph.sav", "#1.last_seen[*]"),
        ("town.sav", "World/**:*"),
        ("town.sav", "World/**:*.*"),
        ("game.sav", "World/**:Bag.by_day[*]"),
        ("game.sav", ".level:Score.*"),
    ];
    for (file, path) in paths {
        let found = folder.run(&format!("get {file} '{path}'"));
        assert!(found.lines().count() > 1, "{path}: {found}");
        for line in found.lines() {
            let (label, value) = line.split_once(" = ").expect("a path and a value");
            let again = folder.run(&format!("get {file} '{label}'"));
            let text = |text: &str| text.split_whitespace().collect::<String>().replace(",}", "}");
            let (again, value) = (text(&again), text(value));
            assert_eq!(
                again.replace(",]", "]").replace(",)", ")"),
                value.replace(",)", ")"),
                "{label}"
            );
        }
    }
}

#[test]
fn what_dump_shows_parses_back() {
    let folder = graph();
    for file in ["graph.sav", "values.sav", "players.sav"] {
        let dump = folder.run(&format!("dump {file}"));
        for part in dump.split("\n\n") {
            let (_, value) = part.split_once('\n').expect("a title");
            value.parse::<persist::Value>().unwrap_or_else(|error| panic!("{error}: {value}"));
        }
    }
}

#[test]
fn unknown_data_of_a_missing_mod_is_shown() {
    let folder = Folder::new();
    folder.write("kept.sav", &game::loaded_without_mod().expect("a save"));
    let commands = [
        "info kept.sav",
        "dump kept.sav",
        "get kept.sav Familiar.power",
        "get kept.sav #1.mana",
        "get kept.sav '#1[mana > 5].mana'",
        "set kept.sav Familiar.power 5",
        "set kept.sav Hero.gold 5",
        "dump kept.sav --json",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn any_depth_can_be_asked_for() {
    let folder = Folder::with(&["v1/graph.sav"]);
    let whole = folder.run("dump graph.sav");
    for depth in ["65535", "65536", "18446744073709551615"] {
        assert_eq!(folder.run(&format!("dump graph.sav --depth {depth}")), whole);
    }
}

#[test]
fn raw_values_are_raw_in_json_too() {
    let folder = Folder::with(&["journals/saved.sav"]);
    insta::assert_snapshot!(folder.run("dump saved.sav --raw --json"));
}
