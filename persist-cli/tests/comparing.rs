//! `diff` and `merge`.

use persist::{Saves, World};
use serde_json::Value as Json;

use crate::game;
use crate::support::Folder;

fn changed_graph() -> Folder {
    let folder = Folder::with(&["v1/graph.sav"]);
    folder.write("new.sav", &folder.read("graph.sav"));
    let changes = [
        "set new.sav #1.level 8",
        "set new.sav #1.sword none",
        "set new.sav #1.pets '[#3, #3]'",
        "set new.sav '#1.rivals' '{ \"Bob\": #5, \"Cid\": #5 }'",
        "set new.sav #2.name Stinger",
    ];
    changes.iter().for_each(|change| assert!(!folder.run(change).contains("error"), "{change}"));
    folder
}

#[test]
fn diff_shows_fields_old_and_new() {
    let folder = changed_graph();
    let commands = [
        "diff graph.sav new.sav",
        "diff graph.sav new.sav --stat",
        "diff graph.sav new.sav --json",
        "diff graph.sav graph.sav",
        "diff graph.sav graph.sav --json",
        "diff graph.sav - < new.sav",
        "diff graph.sav none.sav",
        "diff graph.sav",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn diff_shows_the_changes_of_one_field() {
    let folder = changed_graph();
    insta::assert_snapshot!(folder.transcript([
        "diff graph.sav new.sav --field level",
        "diff graph.sav new.sav --field rivals --json",
        "diff graph.sav new.sav --field name --stat",
        "diff graph.sav new.sav --field leve",
    ]));
}

#[test]
fn diff_shows_objects_that_came_and_went() {
    let folder = Folder::with(&["v1/graph.sav", "v1/players.sav"]);
    insta::assert_snapshot!(folder.transcript([
        "diff players.sav graph.sav",
        "diff players.sav graph.sav --stat",
        "diff players.sav graph.sav --by name",
    ]));
}

#[test]
fn saves_without_objects_are_read_like_others() {
    let folder = Folder::with(&["v1/graph.sav"]);
    let empty = persist::SaveManager::new().allow_empty().to_vec().expect("a save");
    folder.write("empty.sav", &empty);
    for command in ["diff empty.sav empty.sav", "convert empty.sav -o copy.sav"] {
        assert_eq!(folder.run(command), "", "{command}");
    }
    assert_eq!(folder.read("copy.sav"), empty);
    let removed = folder.run("diff graph.sav empty.sav --stat");
    assert!(removed.contains("0 changed, 0 added, 5 removed"), "{removed}");
}

#[test]
fn the_order_of_objects_is_no_difference() {
    let folder = changed_graph();
    for name in ["graph", "new"] {
        folder.run(&format!("convert {name}.sav -o {name}.json"));
    }
    let mut save: Json = serde_json::from_slice(&folder.read("new.json")).expect("JSON");
    save["objects"].as_array_mut().expect("objects").reverse();
    // Every class comes before the first object.
    save.as_object_mut().expect("a map").remove("defined");
    folder.write("reversed.json", save.to_string().as_bytes());
    folder.run("convert reversed.json -o reversed.sav");
    let same = folder.run("diff new.sav reversed.sav");
    assert_eq!(same, "");
    let headless = |output: String| output.lines().skip(2).map(str::to_owned).collect::<Vec<_>>();
    let expected = headless(folder.run("diff graph.sav new.sav"));
    assert!(expected.len() > 5, "{expected:?}");
    assert_eq!(headless(folder.run("diff graph.sav reversed.sav")), expected);
}

#[test]
fn diff_shows_objects_and_components_of_worlds() {
    let folder = Folder::new();
    folder.write("town.sav", &game::town().expect("a town"));
    folder.write("new.sav", &folder.read("town.sav"));
    folder.run("set new.sav World/House/Door:Transform.x 9");
    folder.run("set new.sav World/House/Door.name Gate");
    folder.run("set new.sav World:Score.points 6");
    insta::assert_snapshot!(folder.transcript([
        "diff town.sav new.sav",
        "diff town.sav new.sav --stat",
        "diff town.sav new.sav --by name",
        "diff town.sav new.sav --json",
    ]));
}

#[test]
fn diff_shows_objects_of_worlds_that_moved() {
    let folder = Folder::new().with_editor("sed -i -e '/some/,$c none'");
    folder.write("town.sav", &game::town().expect("a town"));
    folder.write("new.sav", &folder.read("town.sav"));
    insta::assert_snapshot!(folder.transcript([
        "set new.sav World/#3.parent '`persist.Parent` { object: 1, index: 1 }'",
        "diff town.sav new.sav",
        "diff new.sav town.sav --stat",
        "diff new.sav town.sav --by name",
        "diff town.sav new.sav --json",
        "edit new.sav World/#3.parent",
        "diff town.sav new.sav",
    ]));
}

#[test]
fn diff_shows_children_that_moved_among_their_siblings() {
    let folder = Folder::new();
    for (file, children, removed) in [
        ("old.sav", &["Door", "Lamp", "Cart"][..], &[][..]),
        ("reordered.sav", &["Cart", "Door", "Lamp"], &[]),
        ("left.sav", &["Lamp", "Cart"], &[]),
        ("removed.sav", &["Lamp", "Cart"], &["Door"]),
        ("added.sav", &["Bell", "Door", "Lamp", "Cart"], &[]),
    ] {
        folder.write(file, &game::family(children, removed).expect("a world"));
    }
    insta::assert_snapshot!(folder.transcript([
        "diff old.sav reordered.sav",
        "diff old.sav reordered.sav --by name",
        "diff old.sav left.sav",
        "diff old.sav removed.sav",
        "diff old.sav added.sav",
    ]));
}

#[test]
fn merge_gives_children_one_order() {
    let folder = Folder::new();
    for (file, children, removed) in [
        ("base.sav", &["Door", "Lamp", "Cart"][..], &[][..]),
        ("reordered.sav", &["Cart", "Door", "Lamp"], &[]),
        ("left.sav", &["Lamp", "Cart", "Bell"], &["Door"]),
        ("lamp.sav", &["Door", "Cart"], &["Lamp"]),
        ("added.sav", &["Door", "Lamp", "Cart", "Bell"], &[]),
        ("empty.sav", &["Door", "Lamp", "Cart"], &["House"]),
    ] {
        folder.write(file, &game::family(children, removed).expect("a world"));
    }
    insta::assert_snapshot!(folder.transcript([
        // A sibling that leaves changes the indices of the others. It changes no other object.
        "merge base.sav reordered.sav left.sav -o merged.sav",
        "get merged.sav 'World/House/*.parent.index'",
        "merge base.sav left.sav lamp.sav -o merged.sav --force",
        "get merged.sav 'World/House/*.parent.index'",
        "merge base.sav added.sav reordered.sav -o merged.sav --force",
        "get merged.sav 'World/House/*.parent.index'",
        // One side removes a parent, and the other adds a child to it.
        "merge base.sav added.sav empty.sav -o merged.sav --force",
        "merge base.sav empty.sav added.sav -o merged.sav --force --theirs",
        "get merged.sav 'World/**'",
    ]));
}

#[test]
fn two_other_parents_of_one_object_are_a_conflict() {
    let folder = Folder::new();
    for side in ["base.sav", "ours.sav", "theirs.sav"] {
        folder.write(side, &game::family(&["Door", "Lamp"], &[]).expect("a world"));
    }
    insta::assert_snapshot!(folder.transcript([
        "set ours.sav World/House/Lamp.parent '`persist.Parent` { object: 5, index: 0 }'",
        "set theirs.sav World/House/Lamp.parent none",
        "merge base.sav ours.sav theirs.sav",
        "merge base.sav ours.sav theirs.sav --ours -o merged.sav",
        "get merged.sav World/Bell/Lamp.parent",
        "merge base.sav ours.sav theirs.sav --theirs -o merged.sav --force",
        "get merged.sav World/Lamp.parent",
    ]));
}

#[test]
fn diff_by_name_pairs_objects_whose_ids_changed() {
    let folder = Folder::with(&["v1/graph.sav"]);
    folder.run("convert graph.sav -o graph.json");
    // All ids move by ten.
    let mut text = String::from_utf8(folder.read("graph.json")).expect("text");
    for id in (1..=5).rev() {
        text = text.replace(&format!("\"#{id}\""), &format!("\"#{}\"", id + 10));
        text = text.replace(&format!("\"id\": {id},"), &format!("\"id\": {},", id + 10));
    }
    folder.write("moved.json", text.as_bytes());
    folder.run("convert moved.json -o moved.sav");
    folder.run("set moved.sav Hero[1].level 30");
    insta::assert_snapshot!(
        folder
            .transcript(["diff graph.sav moved.sav --by name", "diff graph.sav moved.sav --stat",])
    );
}

#[test]
fn diff_serves_git() {
    let folder = changed_graph();
    let hex = "0123456789abcdef0123456789abcdef01234567";
    let driver = format!("diff --git slot.sav graph.sav {hex} 100644 new.sav {hex} 100644");
    insta::assert_snapshot!(folder.transcript([&*driver, "diff --git graph.sav new.sav"]));
}

#[test]
fn merge_takes_the_changes_of_both() {
    let folder = Folder::with(&["v1/graph.sav"]);
    for side in ["ours.sav", "theirs.sav"] {
        folder.write(side, &folder.read("graph.sav"));
    }
    folder.run("set ours.sav #1.level 8");
    folder.run("set ours.sav #2.name Stinger");
    folder.run("set theirs.sav #1.name Eve");
    folder.run("set theirs.sav '#1.rivals' '{ \"Bob\": #5, \"Ada herself\": #1, \"Cid\": #5 }'");
    insta::assert_snapshot!(folder.transcript([
        "merge graph.sav ours.sav theirs.sav",
        "merge graph.sav ours.sav theirs.sav -o merged.sav",
        "diff graph.sav merged.sav",
        "merge graph.sav ours.sav theirs.sav -o merged.sav",
        "merge graph.sav ours.sav theirs.sav -o merged.sav --force --json",
    ]));
}

#[test]
fn merge_lists_conflicts_and_lets_a_side_win() {
    let folder = Folder::with(&["v1/graph.sav"]);
    for side in ["ours.sav", "theirs.sav"] {
        folder.write(side, &folder.read("graph.sav"));
    }
    folder.run("set ours.sav #1.level 8");
    folder.run("set theirs.sav #1.level 9");
    folder.run("set theirs.sav #5.level 4");
    insta::assert_snapshot!(folder.transcript([
        "merge graph.sav ours.sav theirs.sav -o merged.sav",
        "merge graph.sav ours.sav theirs.sav -o merged.sav --json",
        "merge graph.sav ours.sav theirs.sav -o merged.sav --theirs",
        "get merged.sav Hero[*].level",
        "merge graph.sav ours.sav theirs.sav -o merged.sav --force --ours",
        "get merged.sav Hero[*].level",
    ]));
}

#[test]
fn a_merged_save_has_the_info_of_the_side_that_was_saved_later() {
    let folder = Folder::new();
    let saved = |day, coins, seconds, picture: &[u8]| {
        game::farm(&game::Farm { day, coins }, seconds, picture).expect("a farm")
    };
    folder.write("base.sav", &saved(1, 5, 0, b"GIF"));
    folder.write("ours.sav", &saved(2, 5, 60, b"GIF89a"));
    folder.write("theirs.sav", &saved(1, 7, 120, b"\x89PNG"));
    insta::assert_snapshot!(folder.transcript([
        "merge base.sav ours.sav theirs.sav -o merged.sav",
        "info merged.sav",
        "get merged.sav .",
    ]));
}

#[test]
fn merge_descends_into_worlds() {
    let folder = Folder::new();
    for side in ["base.sav", "ours.sav", "theirs.sav"] {
        folder.write(side, &game::town().expect("a town"));
    }
    folder.run("set ours.sav World/House/Door:Transform.x 9");
    folder.run("set ours.sav World/#3:Bag.prices[nails] 3");
    folder.run("set theirs.sav World/House/Door:Transform.y 8");
    folder.run("set theirs.sav World/#3:Bag.prices[nails] 4");
    folder.run("set theirs.sav World:Score.points 6");
    insta::assert_snapshot!(folder.transcript([
        "merge base.sav ours.sav theirs.sav",
        "merge base.sav ours.sav theirs.sav --ours -o merged.sav",
        "diff base.sav merged.sav",
    ]));
}

#[test]
fn saves_of_two_versions_of_a_program_are_not_merged() {
    let folder = Folder::with(&["evolution/v1.sav", "evolution/v2.sav"]);
    insta::assert_snapshot!(
        folder.transcript(["merge v1.sav v1.sav v2.sav", "diff v1.sav v2.sav --stat"])
    );
}

#[test]
fn saves_of_different_programs_are_not_merged() {
    let folder = Folder::with(&["v1/graph.sav", "v1/players.sav"]);
    folder.write("town.sav", &game::town().expect("a town"));
    game::quest(&folder.path("quest.sav")).expect("a quest");
    insta::assert_snapshot!(folder.transcript([
        "merge graph.sav graph.sav players.sav",
        "merge quest.sav quest.sav town.sav --theirs -o new.sav",
    ]));
    assert!(!folder.path("new.sav").exists());
}

#[test]
fn a_merge_that_is_only_tried_says_how_to_write_it() {
    let folder = Folder::with(&["v1/graph.sav"]);
    for (side, level) in [("ours.sav", 8), ("theirs.sav", 9)] {
        folder.write(side, &folder.read("graph.sav"));
        folder.run(&format!("set {side} #1.level {level}"));
    }
    insta::assert_snapshot!(folder.transcript([
        "merge graph.sav ours.sav theirs.sav --ours",
        "merge graph.sav ours.sav theirs.sav --theirs",
    ]));
}

/// Components with fields that an older program does not have, and that program.
mod newer {
    use persist::{Component, Persist};

    #[derive(Persist, Clone, Debug, PartialEq)]
    #[persist(class = "Armor")]
    pub(super) struct Armor {
        pub(super) weight: u32,
        pub(super) shine: String,
    }

    #[derive(Persist, Clone, Debug, PartialEq)]
    #[persist(class = "Body")]
    pub(super) struct Body {
        pub(super) mass: u32,
        pub(super) aura: u64,
        pub(super) armor: Armor,
    }

    impl Component for Body {}

    pub(super) mod older {
        use super::*;

        #[derive(Persist)]
        #[persist(class = "Armor")]
        pub(in super::super) struct Armor {
            weight: u32,
        }

        #[derive(Persist)]
        #[persist(class = "Body")]
        pub(in super::super) struct Body {
            mass: u32,
            armor: Armor,
        }

        impl Component for Body {}
    }
}

#[test]
fn unknown_fields_of_components_stay_in_changed_and_merged_worlds() {
    let body = |number: u32| newer::Body {
        mass: number,
        aura: u64::from(number) + 100,
        armor: newer::Armor { weight: number, shine: format!("shine {number}") },
    };
    let mut world = World::new();
    for number in 0..3 {
        let object = world.spawn(&format!("Hero{number}"));
        world.attach(object, body(number)).expect("a body");
    }
    let save = Saves::new().to_vec(&world).expect("a save");
    let saves = Saves::new();
    saves.register_component::<newer::older::Body>().expect("a component");
    let world = saves.from_slice::<World>(&save).expect("a world").into_inner();
    let folder = Folder::new();
    for name in ["base.sav", "ours.sav", "theirs.sav"] {
        folder.write(name, &saves.to_vec(&world).expect("a save"));
    }
    assert_eq!(folder.run("diff base.sav ours.sav"), "");
    folder.run("set ours.sav World/Hero0:Body.mass 7");
    folder.run("set theirs.sav World/Hero1:Body.armor.weight 8");
    let difference = folder.run("diff base.sav ours.sav");
    assert!(!difference.contains("UnknownAt"), "{difference}");
    folder.run("merge base.sav ours.sav theirs.sav -o merged.sav");
    let saves = Saves::new();
    saves.register_component::<newer::Body>().expect("a component");
    let merged = folder.read("merged.sav");
    let merged = saves.from_slice::<World>(&merged).expect("a world").into_inner();
    let bodies: Vec<_> =
        merged.objects().filter_map(|object| merged.get::<newer::Body>(object)).cloned().collect();
    let mut expected = [body(0), body(1), body(2)];
    expected[0].mass = 7;
    expected[1].armor.weight = 8;
    assert_eq!(bodies, expected);
}

#[test]
fn diff_by_field_knows_keys_of_maps_and_misspelled_names() {
    let folder = Folder::new();
    folder.write("old.sav", &game::purse(3).expect("a purse"));
    folder.write("new.sav", &game::purse(5).expect("a purse"));
    let commands = [
        "diff old.sav new.sav --field Gold",
        "diff old.sav new.sav --field Ada",
        "diff old.sav new.sav --field Silver",
        "diff old.sav new.sav --field coins",
        "diff old.sav new.sav --field gold",
        "diff old.sav new.sav --field nosuch",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}
