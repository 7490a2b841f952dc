//! `repair`.

use serde_json::Value as Json;

use crate::game;
use crate::support::Folder;

/// A quest, and the same save damaged in its middle.
fn quest() -> Folder {
    let folder = Folder::new();
    game::quest(&folder.path("quest.sav")).expect("a quest");
    folder.damage("quest.sav", "bad.sav", 100_000);
    folder
}

#[test]
fn repair_saves_what_is_whole_and_says_what_is_lost() {
    let folder = quest();
    folder.cut("quest.sav", "cut.sav", 150_000);
    let commands = [
        "repair bad.sav -o mended.sav",
        "info mended.sav",
        "diff quest.sav mended.sav --stat",
        "repair bad.sav -o again.sav --json",
        "repair cut.sav -o cut-mended.sav",
        "repair - -o stdin.sav < bad.sav",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
    assert_eq!(folder.read("mended.sav"), folder.read("stdin.sav"));
}

#[test]
fn a_lost_header_is_a_loss() {
    let folder = quest();
    folder.damage("quest.sav", "headless.sav", 17);
    let commands = [
        "info headless.sav",
        "repair headless.sav -o mended.sav",
        "repair headless.sav -o again.sav --json",
        "info mended.sav",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

/// `info` counts the objects without their values; the twin is a repair.
#[test]
fn info_counts_the_objects_that_a_repair_saves() {
    let folder = quest();
    folder.write("city.sav", &game::city().expect("a city"));
    folder.write("game.sav", &game::game_of_city().expect("a game"));
    let count = |json: &Json, key: &str| json[key].as_u64();
    let json = |command: &str| -> Json {
        let output = folder.output(command);
        serde_json::from_slice(&output.stdout).expect(command)
    };
    for save in ["quest.sav", "city.sav", "game.sav"] {
        let size = folder.read(save).len();
        for at in (12..size).step_by(size / 12) {
            folder.damage(save, "one.sav", at);
            let info = json("info one.sav --json");
            let repair = json("repair one.sav -o new.sav --force --json");
            let (info, pages) = (&info[0]["salvage"], repair["lost_pages"].as_array());
            let pages = pages.expect("a list").iter().filter_map(|page| count(page, "objects"));
            assert_eq!(count(info, "objects"), count(&repair, "objects"), "{save}, byte {at}");
            assert_eq!(count(info, "lost"), count(&repair, "lost"), "{save}, byte {at}");
            assert_eq!(count(info, "lost_in_worlds"), Some(pages.sum()), "{save}, byte {at}");
            for lost in ["lost_header", "lost_head"] {
                assert_eq!(info[lost], repair[lost], "{save}, byte {at}");
            }
        }
    }
}

#[derive(persist::Persist)]
struct Terrain {
    heights: Vec<u32>,
    names: Vec<String>,
}

#[test]
fn repair_names_the_damaged_fields_of_a_long_value() -> persist::Result<()> {
    let folder = Folder::new();
    let names = (0..20_000).map(|at| format!("place {at}")).collect();
    let terrain = Terrain { heights: (0..60_000).collect(), names };
    std::fs::write(folder.path("land.sav"), persist::to_vec(&terrain)?).expect("it is written");
    folder.damage("land.sav", "numbers.sav", 150_000);
    folder.damage("land.sav", "names.sav", 350_000);
    insta::assert_snapshot!(folder.transcript([
        "info numbers.sav",
        "repair numbers.sav -o mended.sav",
        "repair numbers.sav -o again.sav --json",
        "get mended.sav '#1.heights[20000]'",
        "get mended.sav '#1.heights[59999]'",
        "verify mended.sav",
        "repair names.sav -o mended.sav --force",
    ]));
    Ok(())
}

#[test]
fn a_damaged_save_is_read_as_far_as_it_goes() {
    let folder = quest();
    let commands = [
        "schema bad.sav",
        "get bad.sav 'Hero[0].name'",
        "get bad.sav 'Hero[0].name' --salvage",
        "get quest.sav 'Hero[0].name' --salvage",
        "schema bad.sav --salvage --json",
        "dump bad.sav '#3' --salvage",
        "diff quest.sav bad.sav --stat --salvage",
        "convert bad.sav --to plain -o whole.sav --salvage",
        "verify whole.sav",
        "graph bad.sav --from '#3' --salvage",
        "report bad.sav -o page.html --salvage",
        "stats bad.sav --depth 1 --salvage",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
    // A file that is no save is refused with the flag, too.
    folder.write("text.sav", b"mine");
    insta::assert_snapshot!(folder.transcript(["dump text.sav --salvage"]));
}

#[test]
fn repair_overwrites_files_only_on_request() {
    let folder = quest();
    folder.write("there.sav", b"mine");
    let original = folder.read("bad.sav");
    let commands = [
        "repair bad.sav",
        "repair bad.sav -o there.sav",
        "repair bad.sav -o no/such/folder.sav",
        "repair - --in-place < bad.sav",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
    assert_eq!(folder.read("there.sav"), b"mine");
    assert_eq!(folder.read("bad.sav"), original);
}

#[test]
fn repair_in_place_keeps_the_damaged_save_and_the_backup() {
    let folder = quest();
    folder.write("quest.sav", &folder.read("bad.sav"));
    let (damaged, backup) = (folder.read("quest.sav"), folder.read("quest.sav.bak"));
    insta::assert_snapshot!(folder.transcript(["repair quest.sav --in-place", "info quest.sav"]));
    assert_eq!(folder.read("quest.sav.damaged"), damaged);
    assert_eq!(folder.read("quest.sav.bak"), backup);
}

#[test]
fn what_is_not_damaged_is_not_repaired() {
    let folder = quest();
    let commands = ["repair quest.sav -o new.sav", "repair quest.sav --in-place --json"];
    insta::assert_snapshot!(folder.transcript(commands));
    assert!(!folder.path("new.sav").exists());
}

#[test]
fn what_nothing_is_left_of_is_an_error() {
    let folder = Folder::with(&["v1/graph.sav"]);
    folder.cut("graph.sav", "short.sav", 300);
    folder.write("text.sav", b"no save at all");
    let commands = ["repair short.sav -o new.sav", "repair text.sav -o new.sav"];
    insta::assert_snapshot!(folder.transcript(commands));
    assert!(!folder.path("new.sav").exists());
}

#[test]
fn repair_does_not_write_over_the_save_that_it_reads() {
    let folder = quest();
    let original = folder.read("bad.sav");
    let commands = [
        "repair bad.sav -o bad.sav --force",
        "repair ./bad.sav -o bad.sav",
        "repair quest.sav -o quest.sav",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
    assert_eq!(folder.read("bad.sav"), original);
}

#[test]
fn repair_warns_if_all_that_the_program_added_is_lost() {
    let folder = quest();
    folder.damage("quest.sav", "roots.sav", 400);
    insta::assert_snapshot!(
        folder
            .transcript(
                ["repair roots.sav -o mended.sav", "repair roots.sav -o again.sav --json",]
            )
    );
}
