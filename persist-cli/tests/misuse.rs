//! Commands with input of the wrong sort.

use crate::game;
use crate::support::{Folder, fixture_bytes};

#[test]
fn one_file_that_cannot_be_read_does_not_stop_the_others() {
    let folder = Folder::with(&["v1/graph.sav", "v1/players.sav"]);
    folder.cut("graph.sav", "cut.sav", 300);
    let commands = [
        "info none.sav players.sav",
        "info none.sav cut.sav --json",
        "verify none.sav graph.sav players.sav",
        "verify graph.sav none.sav cut.sav",
        "verify --quiet graph.sav none.sav",
        "verify none.sav players.sav --json",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[cfg(unix)]
#[test]
fn folders_are_searched_for_capitals_and_links() {
    let folder = Folder::new();
    let saves = folder.path("saves");
    std::fs::create_dir(&saves).expect("a folder");
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(to, saves.join(name)).expect("a link");
    };
    std::fs::write(saves.join("A.SAV"), "no save").expect("a file");
    std::fs::write(saves.join("b.sav"), fixture_bytes("v1/graph.sav")).expect("a file");
    link("b.sav", "linked");
    link("gone.sav", "lost.sav");
    link(".", "itself");
    insta::assert_snapshot!(folder.transcript(["verify saves"]));
}

#[test]
fn a_path_to_nothing_lists_the_parts_that_exist() {
    let folder = Folder::with(&["v1/graph.sav", "v1/players.sav"]);
    let commands = [
        "get graph.sav #1.armour",
        "get graph.sav #99",
        "get graph.sav #1.armour --json",
        "dump graph.sav #1.sword.worth",
        "get players.sav .nope",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn journals_and_saves_are_distinguished() {
    let folder = Folder::with(&["journals/edits.sav", "journals/edits.journal"]);
    let commands = [
        "info edits.journal edits.sav",
        "dump edits.journal",
        "schema edits.journal",
        "verify edits.journal",
        "stats edits.journal",
        "journal edits.sav",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn endings_say_what_to_write_or_are_refused() {
    let folder = Folder::with(&["v1/graph.sav"]);
    let commands = [
        "convert graph.sav -o G.JSON",
        "convert G.JSON -o G.SAV",
        "diff graph.sav G.SAV",
        "convert graph.sav -o g.xml",
        "convert graph.sav -o g.xml --to save",
        "convert graph.sav -o g",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
    assert!(folder.read("G.JSON").starts_with(b"{"));
    assert_eq!(folder.read("G.SAV"), folder.read("graph.sav"));
}

#[test]
fn shares_are_from_0_to_100() {
    let folder = Folder::with(&["v1/graph.sav"]);
    let commands = [
        "stats graph.sav --least nan",
        "stats graph.sav --least 500",
        "stats graph.sav --least 50 --depth 1",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn levels_are_those_of_zstd() {
    let folder = Folder::with(&["v1/graph.sav"]);
    let commands = [
        "convert graph.sav -o a.sav --to zstd --level 99",
        "convert graph.sav -o a.sav --to zstd --level 0",
        "convert graph.sav -o a.sav --to lz4 --level 5",
        "convert graph.sav -o a.sav --level 5",
        "convert graph.sav -o a.sav --to zstd --level 22",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn a_repair_says_where_it_can_write() {
    let folder = Folder::new();
    game::quest(&folder.path("quest.sav")).expect("a quest");
    folder.damage("quest.sav", "bad.sav", 100_000);
    insta::assert_snapshot!(folder.transcript(["repair bad.sav"]));
}

#[test]
fn standard_input_and_output_are_used_once() {
    let folder = Folder::with(&["v1/graph.sav"]);
    insta::assert_snapshot!(folder.transcript([
        "diff - - < graph.sav",
        "merge graph.sav - - < graph.sav",
        "merge graph.sav graph.sav graph.sav -o -",
        "convert - -o copy.sav < graph.sav",
        "diff graph.sav copy.sav",
    ]));
    folder.write("edits.journal", &crate::support::fixture_bytes("journals/edits.journal"));
    let named = folder.run("journal edits.journal");
    assert_eq!(folder.run("journal - < edits.journal").lines().nth(1), named.lines().nth(1));
    assert!(!folder.path("-").exists());
    let converted = folder.output("convert graph.sav -o -").stdout;
    assert_eq!(converted, folder.read("graph.sav"));
}

#[test]
fn folders_and_long_paths_are_refused_in_few_words() {
    let folder = Folder::with(&["v1/graph.sav"]);
    std::fs::create_dir(folder.path("saves")).expect("a folder");
    let long = format!("get graph.sav {}", "x".repeat(5000));
    let commands = ["info saves", "dump saves", "stats saves"];
    insta::assert_snapshot!(folder.transcript(commands) + &folder.run(&long));
}

#[test]
fn usage_errors_have_the_colours_that_are_asked_for() {
    let folder = Folder::new();
    let always = folder.run("info --color always");
    assert!(always.contains("\u{1b}["), "{always}");
    for command in ["info --color never", "--color=never info"] {
        let never = folder.run(command);
        assert!(!never.contains('\u{1b}'), "{never}");
    }
}

#[test]
fn a_lock_check_continues_after_a_file_that_cannot_be_read() {
    let folder = Folder::with(&["v1/graph.sav"]);
    let mut lock = persist_tools::lock::Lock::new();
    lock.update("1.0.0", &persist::save::Registry::new()).expect("a version");
    lock.save(folder.path("persist.lock")).expect("a lock");
    insta::assert_snapshot!(
        folder
            .transcript(["lock check none.sav graph.sav", "lock check none.sav graph.sav --json",])
    );
}

#[test]
fn json_is_printed_or_refused() {
    let folder = Folder::with(&["v1/graph.sav"]);
    insta::assert_snapshot!(folder.transcript([
        "schema graph.sav --rust --json",
        "convert graph.sav --json",
        "convert graph.sav -o graph.json --json",
        "report graph.sav -o page.html --json",
        "man diff --json",
        "completions bash --json",
    ]));
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_of_any_size_is_read() {
    let folder = Folder::with(&["v1/graph.sav"]);
    let file = std::fs::OpenOptions::new().write(true).open(folder.path("graph.sav"));
    // It takes no room on the disk.
    file.and_then(|file| file.set_len(5 << 30)).expect("a long file");
    insta::assert_snapshot!(folder.transcript(["verify graph.sav", "stats graph.sav"]));
}

#[test]
fn a_replay_replaces_only_saves() {
    let folder = Folder::with(&[
        "journals/saved.sav",
        "journals/saved.journal",
        "journals/edits.sav",
        "journals/edits.journal",
    ]);
    folder.write("notes.txt", b"to do");
    folder.write("locked.sav", &folder.read("saved.sav"));
    let path = folder.path("locked.sav");
    let mut permissions = path.metadata().expect("a file").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).expect("permissions");
    insta::assert_snapshot!(folder.transcript([
        "journal saved.journal --to 1 -o -",
        "journal saved.journal --to 1 -o notes.txt",
        "journal saved.journal --to 1 -o locked.sav",
        "journal saved.journal --to 1 -o edits.sav",
        "journal saved.journal --to 1 -o notes.txt --force",
        "journal saved.journal --to 1 -o locked.sav --force",
        "journal saved.journal --to 1 -o edits.sav --force",
    ]));
    assert!(!folder.path("-").exists());
}
