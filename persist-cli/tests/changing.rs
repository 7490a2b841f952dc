//! `set` and `edit`.

use std::collections::BTreeMap;

use crate::game;
use crate::support::Folder;

fn graph() -> Folder {
    Folder::with(&["v1/graph.sav", "v1/values.sav", "compressed/lz4.sav"])
}

#[test]
fn set_changes_a_value_and_keeps_a_backup() {
    let folder = graph();
    let commands = [
        "set graph.sav Hero[0].level 8",
        "set graph.sav #1.name O'Hara",
        "set graph.sav #1.sword none",
        "set graph.sav #1.sword #2 --json",
        "set graph.sav #1.state Idle",
        "set graph.sav #5.state '`quest.State`::Walking { x: 1, y: 0.1 }'",
        "set graph.sav Monster[*].hp -3 --all",
        "set graph.sav Monster[*].hp -3 --all",
        "set graph.sav #1.level 50 --dry-run",
        "dump graph.sav Hero",
        "set lz4.sav [3] 77",
        "get lz4.sav [3]",
        "info lz4.sav",
    ];
    insta::assert_snapshot!(folder.transcript(commands).replace("O'Hara", "OHara"));
}

#[test]
fn set_changes_components_of_worlds() {
    let folder = Folder::new();
    folder.write("town.sav", &game::town().expect("a town"));
    let commands = [
        "set town.sav World/House/Door:Transform.x 0.1",
        "set town.sav World/#3:Bag.prices[nails] 3",
        "set town.sav World/#3:Bag.by_day[-1] 4",
        "set town.sav World:Score.digest[0] 9",
        "set town.sav World:Score.odd inf",
        "set town.sav World/House/Door:Mood Calm",
        "dump town.sav",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn set_changes_values_for_which_a_condition_holds() {
    let folder = graph();
    folder.write("town.sav", &game::town().expect("a town"));
    let commands = [
        "set graph.sav 'Hero[level < 5].level' 5",
        "set graph.sav 'Monster[hp < 100].hp' 1",
        "set graph.sav 'Monster[hp < 100].hp' 1 --all --dry-run",
        "set graph.sav 'Monster[hp < 100].hp' 1 --all",
        "set graph.sav 'Monster[hp == 1].hp' 1 --all",
        "set graph.sav 'Monster[hp > 100].hp' 1 --all",
        "set graph.sav #1.pets[-1].hp 3 --all",
        "set town.sav '/**:Transform[y == 2].x' 0 --all",
        "edit town.sav '/**:Transform[y == 2].x'",
        "set town.sav '/**:Bag[prices[. == 1] == 1].items[-1:].count' 9 --all --json",
        "verify graph.sav town.sav",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn set_adds_keys_to_maps() {
    let folder = graph();
    folder.write("town.sav", &game::town().expect("a town"));
    let commands = [
        "set graph.sav #1.rivals[Cleo] #5",
        "set graph.sav #1.rivals[Aaron] #5",
        "get graph.sav #1.rivals",
        "set graph.sav #5.rivals[Ada] #1",
        "set graph.sav #1.last_seen[7] #4",
        "set graph.sav #1.rivals[Dora] #4",
        "set graph.sav #1.pets[9] #4",
        "set graph.sav Hero.rivals[Emil] #1",
        "set graph.sav Hero.rivals[Emil] #1 --all --dry-run",
        "set town.sav /#3:Bag.prices[pears] 3",
        "set town.sav /#3:Bag.by_day[0] 7",
        "set town.sav /#3:Bag.by_day[x] 7",
        "set town.sav /#3:Bag.prices[plums] lots",
        "get town.sav /#3:Bag",
        "verify graph.sav town.sav",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn what_does_not_fit_is_explained() {
    let folder = graph();
    folder.write("town.sav", &game::town().expect("a town"));
    folder.write("kept.sav", &game::loaded_without_mod().expect("a save"));
    let commands = [
        "set town.sav /House:Transform 50",
        "set town.sav :Score many",
        "set kept.sav Familiar 50",
        "set town.sav /House/Door:Mood Nope",
        "set town.sav /House/Door:Mood 5",
        "set town.sav /House/Door:Mood 'Angry { at: handle(null), since: 3 }'",
        "set town.sav /House/Door:Mood 'Angry(3)'",
        "set town.sav /House/Door:Mood 'Mood::Angry { at: handle(null), since: 3 }'",
        "set graph.sav #1.state 'Fighting { 0: #4, 1: 9 }'",
        "set graph.sav #1.state 'Nowhere { x: 1 }'",
        "set graph.sav #1 none",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn worlds_that_no_program_loads_are_not_written() {
    let folder = Folder::with(&["journals/edits.sav"]);
    let object = |id: u8, name: &str| {
        format!(
            "`persist.Object` {{ id: {id}, name: \"{name}\", parent: none, activity: `persist.Activity`::Active, waiting: 0, components: [] }}"
        )
    };
    let objects = [object(1, "A"), object(2, "B"), object(3, "C")].join(", ");
    let world =
        format!("`persist.World` {{ last_id: 3, objects: [{objects}], pages: [], resources: [] }}");
    let written = folder.run(&format!("set edits.sav . '{world}'"));
    assert!(written.starts_with("/A: + "), "{written}");
    for copy in ["base.sav", "ours.sav", "theirs.sav"] {
        folder.write(copy, &folder.read("edits.sav"));
    }
    let parent = |id: u8, index: u8| format!("`persist.Parent` {{ object: {id}, index: {index} }}");
    let commands = [
        "set base.sav /A.name B",
        "set base.sav /#1.id 2",
        "set base.sav .last_id 0",
        &format!("set base.sav /A.parent '{}'", parent(9, 0)),
        &format!("set base.sav /A.parent '{}'", parent(1, 0)),
        &format!("set base.sav /B.parent '{}'", parent(1, 7)),
        "get base.sav /A/B.parent.index",
        &format!("set base.sav /C.parent '{}'", parent(1, 0)),
        "set base.sav /A/B.parent none",
        "set ours.sav /A.name X",
        "set theirs.sav /B.name X",
        "merge base.sav ours.sav theirs.sav -o merged.sav",
        "set ours.sav /#1.name A",
        &format!("set ours.sav /#2.parent '{}'", parent(1, 0)),
        "set theirs.sav /#2.name B",
        &format!("set theirs.sav /#1.parent '{}'", parent(2, 0)),
        "merge base.sav ours.sav theirs.sav -o merged.sav",
        "get merged.sav /*.name",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn what_does_not_fit_changes_nothing() {
    let folder = graph();
    let original = folder.read("graph.sav");
    let commands = [
        "set graph.sav #1.level -1",
        "set graph.sav #1.level lots",
        "set graph.sav #1.level 4294967296",
        "set graph.sav #1.spare #4",
        "set graph.sav #1.spare #99",
        "set graph.sav #1.state Dancing",
        "set graph.sav #1 7",
        "set graph.sav Hero[*].level 1",
        "set graph.sav #1.armour 1",
        "set - #1.level 1 < graph.sav",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
    assert_eq!(folder.read("graph.sav"), original);
    assert!(!folder.path("graph.sav.bak").exists());
}

#[test]
fn set_leaves_a_damaged_save_as_it_is() {
    let folder = graph();
    folder.damage("graph.sav", "bad.sav", 200);
    let original = folder.read("bad.sav");
    insta::assert_snapshot!(folder.transcript(["set bad.sav #1.level 8"]));
    assert_eq!(folder.read("bad.sav"), original);
}

/// The payloads of a save of one block without compression, by the ids of their objects.
fn payloads(save: &[u8]) -> BTreeMap<u64, Vec<u8>> {
    fn count(bytes: &[u8], at: &mut usize) -> u64 {
        let first = bytes[*at];
        *at += 1;
        if first <= 247 {
            return first.into();
        }
        let length = usize::from(first - 247);
        let mut number = [0; 8];
        number[..length].copy_from_slice(&bytes[*at..*at + length]);
        *at += length;
        u64::from_le_bytes(number)
    }
    fn length(bytes: &[u8], at: &mut usize) -> usize {
        *at += 4;
        u32::from_le_bytes(bytes[*at - 4..*at].try_into().expect("four bytes")) as usize
    }
    let header = length(save, &mut 12);
    let mut at = 16 + header + 4 + 1;
    let block = length(save, &mut at);
    let end = at + block;
    let mut found = BTreeMap::new();
    while at < end {
        let class = count(save, &mut at);
        let id = if class == 0 {
            None
        } else {
            at += 1;
            Some(count(save, &mut at))
        };
        let payload = length(save, &mut at);
        if let Some(id) = id {
            found.insert(id, save[at..at + payload].to_vec());
        }
        at += payload + 1;
    }
    found
}

#[test]
fn set_keeps_the_payloads_of_all_other_records() {
    let folder = graph();
    let original = payloads(&folder.read("graph.sav"));
    folder.run("set graph.sav #3.name bear");
    let after = payloads(&folder.read("graph.sav"));
    assert_eq!(original.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    for (id, payload) in &original {
        assert_eq!(payload == &after[id], *id != 3, "object {id}");
    }
    assert_eq!(folder.read("graph.sav.bak"), crate::support::fixture_bytes("v1/graph.sav"));
}

#[test]
fn edit_changes_a_part_in_an_editor() {
    let folder = graph();
    let commands = [
        "edit graph.sav #3",
        "dump graph.sav #3",
        "edit graph.sav #1.name",
        "edit graph.sav #5.pets",
        "edit graph.sav Hero[*].name",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn an_editor_that_fails_changes_nothing() {
    let folder = graph().with_editor("false");
    let original = folder.read("graph.sav");
    let mut said = folder.transcript(["edit graph.sav #3"]);
    let folder = folder.with_editor("no-such-editor --wait");
    said += &folder.transcript(["edit graph.sav #3"]);
    let folder = folder.with_editor("rm");
    said += &folder.transcript(["edit graph.sav #3"]);
    // Each shell has its own words, and the temporary file its own name.
    let lines = said.lines().filter(|line| !line.starts_with("no-such-editor"));
    let lines = lines.map(|line| match line.split_once(" left no text in ") {
        Some((editor, _)) => format!("{editor} left no text in ..\n"),
        None => format!("{line}\n"),
    });
    insta::assert_snapshot!(lines.collect::<String>());
    assert_eq!(folder.read("graph.sav"), original);
}

#[test]
fn edit_without_a_terminal_and_without_an_editor_ends_at_once() {
    let folder = graph().with_editor("");
    insta::assert_snapshot!(folder.transcript(["edit graph.sav #3"]));
}

#[test]
#[cfg(unix)]
fn the_shell_runs_the_editor_with_its_quotes() {
    let folder = graph().with_editor("sed -i -e 's/12i16/7i16 /; s/wolf/grey wolf/'");
    insta::assert_snapshot!(folder.transcript(["edit graph.sav #3", "get graph.sav #3"]));
}

#[test]
fn a_save_that_is_write_protected_is_only_changed_by_force() {
    let folder = graph();
    let path = folder.path("graph.sav");
    let mut permissions = path.metadata().expect("a file").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).expect("permissions");
    insta::assert_snapshot!(folder.transcript([
        "set graph.sav #1.level 9",
        "edit graph.sav #3",
        "set graph.sav #1.level 9 --dry-run",
        "set graph.sav #1.level 9 --force",
    ]));
}

#[test]
fn what_is_typed_needs_no_quotes_and_what_is_no_value_says_what_is_expected() {
    let folder = graph();
    insta::assert_snapshot!(folder.transcript([
        "set graph.sav #1.name none",
        "set graph.sav #1.name true",
        "set values.sav .letter x",
        "set values.sav .letter 7",
        "set values.sav .letter ab",
        "set values.sav .on yes",
        "set values.sav .nothing Ada",
        "set values.sav .list many",
        "set values.sav .text 'some(x)'",
        "set graph.sav #1.sword Sting",
        "set graph.sav #1.state 'Walking fast'",
    ]));
}

#[test]
fn a_text_that_is_no_value_is_kept() {
    let folder = graph().with_editor("sed -i s/hp/!/");
    let original = folder.read("graph.sav");
    let said = folder.run("edit graph.sav #3");
    let (what, text_file) = said.split_once("the text is kept in ").expect("a text that is kept");
    assert!(what.contains("the text is no value"), "{said}");
    let text_file = text_file.lines().next().unwrap_or_default();
    assert!(std::fs::read_to_string(text_file).expect("the text").contains("!: 12i16"), "{said}");
    assert_eq!(folder.read("graph.sav"), original);
}

/// A save with a journal that follows it, with unsaved changes.
fn with_unsaved_work() -> Folder {
    Folder::with(&["journals/saved.sav", "journals/saved.journal"])
}

#[test]
fn a_save_whose_journal_has_unsaved_changes_is_only_changed_by_force() {
    let folder = with_unsaved_work();
    let original = folder.read("saved.sav");
    let refused = folder.transcript([
        "info saved.sav",
        "set saved.sav World/*.name Gate --all",
        "edit saved.sav .",
    ]);
    assert_eq!(folder.read("saved.sav"), original);
    let forced = folder.transcript([
        "set saved.sav World/*.name Gate --all --dry-run",
        "set saved.sav World/*.name Gate --all --force",
    ]);
    assert_ne!(folder.read("saved.sav"), original);
    insta::assert_snapshot!(refused + &forced);
}

#[test]
fn edit_leaves_a_save_that_changed_meanwhile() {
    // The editor changes the save, too, like a game that runs.
    let folder = graph().with_editor("sed -i s/Ada/Eve/ graph.sav");
    let said = folder.run("edit graph.sav #1.name");
    let now = folder.read("graph.sav");
    assert_ne!(now, crate::support::fixture_bytes("v1/graph.sav"));
    let (_, text_file) = said.split_once("the text is kept in ").expect("a text that is kept");
    let text_file = text_file.lines().next().unwrap_or_default();
    assert_eq!(std::fs::read_to_string(text_file).expect("the text"), "\"Eve\"\n");
    insta::assert_snapshot!(said.replace(text_file, "FILE"));
    assert!(!folder.path("graph.sav.bak").exists());
}

#[test]
#[cfg(target_os = "linux")]
fn a_change_that_cannot_be_printed_is_applied_and_reported() {
    let folder = graph();
    insta::assert_snapshot!(folder.transcript([
        "set graph.sav Hero[0].level 8 > /dev/full",
        "get graph.sav Hero[0].level",
        "edit graph.sav #3 > /dev/full",
        "get graph.sav #3.hp",
        "get graph.sav #3.hp > /dev/full",
    ]));
}

#[test]
fn numbers_that_a_float_cannot_hold_are_refused() {
    let folder = Folder::new();
    folder.write("town.sav", &game::town().expect("a town"));
    let original = folder.read("town.sav");
    insta::assert_snapshot!(folder.transcript([
        "set town.sav World/House/Door:Transform.x 1e39",
        "set town.sav World/House/Door:Transform.x -1e39",
        "set town.sav World/House/Door:Transform.x 1e39f32",
        "set town.sav World:Score.odd 1e400",
    ]));
    assert_eq!(folder.read("town.sav"), original);
}

#[test]
#[cfg(unix)]
fn typed_text_that_cannot_be_used_is_saved_to_a_file() {
    let editors = [("printf '\\377' >", &b"\xff"[..]), ("sh -c 'echo 7 > \"$0\"; exit 3'", b"7\n")];
    let mut all = String::new();
    let mut folder = graph();
    for (editor, typed) in editors {
        folder = folder.with_editor(editor);
        let said = folder.run("edit graph.sav #3");
        let (_, text_file) = said.split_once("the text is kept in ").expect("a text that is kept");
        let text_file = text_file.lines().next().unwrap_or_default();
        assert_eq!(std::fs::read(text_file).expect("the text"), typed);
        all += &said.replace(text_file, "FILE");
    }
    assert_eq!(folder.read("graph.sav"), crate::support::fixture_bytes("v1/graph.sav"));
    insta::assert_snapshot!(all);
}

#[test]
#[cfg(target_os = "linux")]
fn a_text_may_begin_with_a_mark() {
    let folder = graph().with_editor("sed -i -e '1s/^/\\xef\\xbb\\xbf/; s/12i16/7i16/'");
    insta::assert_snapshot!(folder.transcript(["edit graph.sav #3"]));
}

#[test]
fn what_means_the_same_is_not_written() {
    let folder = Folder::new();
    folder.write("town.sav", &game::town().expect("a town"));
    let original = folder.read("town.sav");
    let said = folder.transcript([
        "set town.sav World/House/Door:Mood.at #1",
        "set town.sav World/House/Door.parent '`persist.Parent` { object: 1, index: 0 }'",
    ]);
    assert_eq!(folder.read("town.sav"), original);
    assert!(!folder.path("town.sav.bak").exists());
    let one = persist::to_vec(&7_u32).expect("a save");
    folder.write("one.sav", &one);
    insta::assert_snapshot!(
        said + &folder.transcript(["set one.sav . 8 --json", "set one.sav . 9"])
    );
}

#[test]
#[cfg(unix)]
fn a_link_to_a_save_leads_to_its_journal() {
    let folder = with_unsaved_work();
    let original = folder.read("saved.sav");
    std::fs::create_dir(folder.path("links")).expect("a folder");
    std::os::unix::fs::symlink("../saved.sav", folder.path("links/game.sav")).expect("a link");
    let said = folder.transcript([
        "set links/game.sav World/*.name Gate --all",
        "edit links/game.sav .",
        "set links/game.sav World/*.name Gate --all --force",
    ]);
    let whole = folder.path(".").canonicalize().expect("a folder");
    insta::assert_snapshot!(said.replace(&whole.display().to_string(), "FOLDER"));
    assert_ne!(folder.read("saved.sav"), original);
}

#[test]
fn a_save_whose_journal_has_unsaved_changes_is_only_replaced_by_force() {
    let folder = with_unsaved_work();
    let original = folder.read("saved.sav");
    let refused = folder.transcript([
        "convert saved.sav -o copy.sav --to zstd",
        "convert copy.sav -o saved.sav",
        "merge copy.sav copy.sav copy.sav -o saved.sav",
        "journal saved.journal --to 1 -o saved.sav",
        "journal saved.journal --to 1 -o saved.sav --force",
    ]);
    assert_eq!(folder.read("saved.sav"), original);
    let forced = folder.transcript([
        "merge saved.sav saved.sav saved.sav -o saved.sav --force",
        "convert copy.sav -o saved.sav --force",
    ]);
    assert_ne!(folder.read("saved.sav"), original);
    folder.write("saved.sav", &original);
    let merged = folder.run("merge copy.sav copy.sav copy.sav -o saved.sav --force");
    insta::assert_snapshot!(refused + &forced + &merged);
}

#[test]
fn set_by_a_name_changes_no_object_of_another_name() {
    let folder = Folder::new();
    folder.write("goblins.sav", &game::goblins().expect("a world"));
    let commands = [
        "get goblins.sav '/*:Transform.x'",
        "set goblins.sav /Goblin1:Transform.x 10",
        "set goblins.sav /Goblin#1:Transform.x 20",
        "set goblins.sav '/\"Goblin#1\":Transform.x' 30",
        "set goblins.sav '/\"a/b\"#1:Transform.x' 40",
        "set goblins.sav /Goblin11:Transform.x 50",
        "get goblins.sav /Goblin#one:Transform.x",
        "dump goblins.sav",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}
