//! Completion of paths and classes from the save on the line.

use std::fmt::Write as _;
use std::process::Command;

use crate::game;
use crate::support::Folder;

/// Returns the completions of a line. The shell replaces the word after the last space, quote or colon.
fn completions(folder: &Folder, shell: &str, line: &str) -> String {
    let word = line.rsplit([' ', '\'', '"', ':']).next().unwrap_or_default();
    let output = Command::new(env!("CARGO_BIN_EXE_persist"))
        .args(["__complete", shell, line, word])
        .current_dir(folder.path(""))
        .output()
        .expect("the command runs");
    assert!(output.stderr.is_empty(), "{line}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

fn saves() -> Folder {
    let folder = Folder::with(&["v1/graph.sav", "v1/values.sav"]);
    for (name, save) in [
        ("town.sav", game::town()),
        ("game.sav", game::game()),
        ("city.sav", game::large_city()),
        ("goblins.sav", game::goblins()),
    ] {
        folder.write(name, &save.expect("a save"));
    }
    game::quest(&folder.path("quest.sav")).expect("a save");
    folder
}

#[test]
fn paths_and_classes_are_completed_from_the_save() {
    let folder = saves();
    let mut text = String::new();
    for line in [
        "persist get quest.sav ",
        "persist get quest.sav q",
        "persist get quest.sav quest.Her",
        "persist get quest.sav 'Hero[",
        "persist get quest.sav 'Hero[gold < 100].",
        "persist get quest.sav 'Hero[0].rival.na",
        "persist dump graph.sav Hero[0].ri",
        "persist dump graph.sav 'Hero[0].rivals[",
        "persist dump graph.sav \"Hero[0].rivals[",
        "persist dump values.sav .on",
        "persist set town.sav ",
        "persist set town.sav /",
        "persist set town.sav '/Ca",
        "persist set town.sav /House/",
        "persist set town.sav /House/Door:",
        "persist set town.sav '/**:Bag.",
        "persist edit game.sav ",
        "persist edit game.sav .level/House/",
        "persist edit game.sav World:",
        "persist get goblins.sav /",
        "persist --json find town.sav --count -i x --class ",
        "persist find town.sav x --class tow",
        "persist find town.sav x --class Bag '/**:Ba",
        "cat list; ./persist get --raw quest.sav It",
        // Other arguments, and saves that are none.
        "persist get quest",
        "persist get quest.sav .gold -",
        "persist info quest.sav He",
        "persist get none.sav He",
        "persist get . He",
        "persist set town.sav /House x",
        "persist get quest.sav 'Hero[items[0].",
        "persist get quest.sav 'Hero]]][[[``\"",
        "persist",
        "",
    ] {
        let found = completions(&folder, "bash", line);
        writeln!(text, "$ {line}\n{found}").expect("a string takes it");
    }
    insta::assert_snapshot!(text);
    let people = completions(&folder, "bash", "persist get city.sav /Street/");
    assert_eq!(people.lines().count(), 200);
}

/// A completion continues what was typed, so it is a path for the command, too.
#[test]
fn completions_are_paths_that_the_command_takes() {
    let folder = saves();
    for save in ["quest.sav", "graph.sav", "values.sav", "town.sav", "game.sav", "goblins.sav"] {
        let mut open = vec![String::new()];
        for _ in 0..3 {
            let mut next = Vec::new();
            for path in open.iter().take(40) {
                for step in ["", ".", "/", ":", "["] {
                    let line = format!("persist get {save} '{}{step}", path.replace('\'', "'\\''"));
                    let found = completions(&folder, "fish", &line);
                    next.extend(found.lines().map(String::from));
                }
            }
            next.retain(|path| !path.ends_with(['/', ' ']));
            next.sort_unstable();
            next.dedup();
            for path in next.iter().filter(|path| !path.contains('\'')) {
                let found = folder.run(&format!("get {save} '{path}' --count"));
                let is_found = found.trim().parse().is_ok_and(|count: u64| count > 0);
                assert!(is_found, "{save} {path}: {found}");
            }
            open = next;
        }
        assert!(!open.is_empty(), "{save}");
    }
}

#[test]
fn bash_completes_paths_and_files() {
    if Command::new("bash").arg("--version").output().is_err() {
        eprintln!("no bash: its completion is not tested");
        return;
    }
    let folder = saves();
    folder.write("completions", folder.run("completions bash").as_bytes());
    let program = env!("CARGO_BIN_EXE_persist");
    let complete = |line: &str, word: &str| {
        let script = "source completions\n\
            COMP_LINE=\"$1\" COMP_POINT=${#1} COMP_WORDS=($1) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n\
            _persist_of_save \"$3\" \"$2\" ''\n\
            printf '%s\\n' \"${COMPREPLY[@]}\"";
        let output = Command::new("bash")
            .args(["--norc", "-c", script, "bash", line, word, program])
            .current_dir(folder.path(""))
            .output()
            .expect("bash runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(complete("persist get graph.sav 'Hero[0].la", "Hero[0].la"), "Hero[0].last_seen\n");
    assert_eq!(complete("persist get town.sav /House/Door:Tr", "Tr"), "Transform\n");
    // The words of the command itself are completed as before.
    assert!(complete(&format!("{program} inf"), "inf").contains("info"));
    for shell in ["zsh", "fish"] {
        assert!(folder.run(&format!("completions {shell}")).contains("_persist_of_save"));
    }
}
