//! The page of the guide: its commands print what stands there, and the game loads what they wrote.

use std::fmt::Write;
use std::path::Path;

use crate::game;
use crate::support::Folder;

const PAGE: &str = "../docs/guide/9-look-inside.md";

/// The page with the output of the commands as it is now.
fn run(page: &str, folder: &Folder) -> String {
    let (mut written, mut is_console) = (String::new(), false);
    for line in page.lines() {
        match line.strip_prefix("$ persist ") {
            Some(command) if is_console => {
                writeln!(written, "{line}\n{}", folder.run(command).trim_end())
                    .expect("a string takes it");
            }
            _ if is_console && line != "```" => {}
            _ => {
                is_console = line == "```console";
                writeln!(written, "{line}").expect("a string takes it");
            }
        }
    }
    written
}

#[test]
fn the_guide_shows_what_the_commands_print() {
    let folder = Folder::new();
    game::quest(&folder.path("autumn.sav")).expect("a quest");
    folder.damage("autumn.sav", "autumn.sav", 150_000);
    folder.write("town.sav", &game::town().expect("a town"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = std::fs::read_to_string(&path).expect("the page");
    let now = run(&page, &folder);
    // As with snapshots: reviewed, and never written by CI.
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&path, &now).expect("the page can be written");
    }
    assert!(page == now, "run this test with INSTA_UPDATE=always, and review {PAGE}:\n{now}");
    assert_eq!(game::gold(&folder.path("mended.sav")).expect("the game loads it"), [500, 250]);
}
