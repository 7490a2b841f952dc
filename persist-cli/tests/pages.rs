//! Worlds whose objects lie in pages.

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
fn a_damaged_page_costs_its_objects() {
    let folder = city();
    folder.damage("city.sav", "bad.sav", 90_000);
    folder.cut("city.sav", "cut.sav", 129_500);
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
