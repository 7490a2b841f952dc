//! What holds for all commands.

use crate::support::Folder;

#[test]
fn help_lists_the_commands() {
    insta::assert_snapshot!(Folder::new().run("--help"));
}

#[test]
fn files_that_are_not_there_are_errors() {
    let folder = Folder::new();
    insta::assert_snapshot!(folder.transcript([
        "info none.sav",
        "dump none.sav",
        "verify none.sav"
    ]));
}
