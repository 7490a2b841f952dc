//! Behaviour of all commands.

use crate::support::Folder;

#[test]
fn help_lists_the_commands() {
    insta::assert_snapshot!(Folder::new().run("--help"));
}

#[test]
fn help_has_examples() {
    insta::assert_snapshot!(Folder::new().transcript(["get --help", "find --help", "set --help"]));
}

#[test]
fn missing_files_are_errors() {
    let folder = Folder::new();
    insta::assert_snapshot!(folder.transcript([
        "info none.sav",
        "dump none.sav",
        "verify none.sav",
        "find none.sav x"
    ]));
}

#[test]
fn every_command_is_in_the_manual_and_the_completions() {
    let folder = Folder::new();
    let help = folder.run("--help");
    let commands = help.split("Commands:").nth(1).and_then(|rest| rest.split("Options:").next());
    let is_command = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let commands = commands.unwrap_or_default().lines().filter(is_command);
    let commands: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(commands.len() > 15, "{commands:?}");
    let manual = folder.run("man");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let completions = folder.run(&format!("completions {shell}"));
        for command in &commands {
            assert!(completions.contains(command), "{command} for {shell}");
            assert!(manual.contains(&format!("persist\\-{command}(1)")), "{command} in {manual}");
        }
    }
    assert!(folder.run("man diff").contains("diff.persist.command"));
    let installed = folder.run("man --install deep/pages");
    assert_eq!(installed, format!("{} pages are in deep/pages\n", commands.len() + 1));
    for command in &commands {
        let page = folder.read(format!("deep/pages/persist-{command}.1"));
        assert_eq!(String::from_utf8_lossy(&page), folder.run(&format!("man {command}")));
    }
    assert!(folder.read("deep/pages/persist.1") == manual.as_bytes());
}

#[test]
fn colours_are_for_terminals_and_for_those_who_ask() {
    let folder = Folder::with(&["v1/graph.sav"]);
    assert!(!folder.run("info graph.sav").contains('\u{1b}'));
    assert!(folder.run("info graph.sav --color always").contains("\u{1b}[36mgraph.sav\u{1b}[0m"));
    assert!(!folder.run("info graph.sav --color always --json").contains('\u{1b}'));
    assert!(folder.run("info none.sav --color always").contains("\u{1b}[1m\u{1b}[31merror"));
    assert!(!folder.run("info none.sav").contains('\u{1b}'));
}
