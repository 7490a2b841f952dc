//! `persist graph`.

use crate::game;
use crate::support::Folder;

#[test]
fn trees_show_each_object_once() {
    insta::assert_snapshot!(Folder::with(&["v1/graph.sav"]).run("graph graph.sav"));
}

#[test]
fn a_graph_starts_at_an_object_and_ends_at_a_depth() {
    let folder = Folder::with(&["v1/graph.sav"]);
    insta::assert_snapshot!(folder.transcript([
        "graph graph.sav --from #3 --depth 1",
        "graph graph.sav --from #3 --depth 1 --dot",
        "graph graph.sav --from #2 --depth 1 --json",
        "graph graph.sav --from Hero[1] --depth 1",
        "graph graph.sav --from #1.sword --depth 1",
        "graph graph.sav --from #1.sword.name --depth 1",
        "graph graph.sav --from Hero",
        "graph graph.sav --from #99",
        "graph graph.sav --from Ada",
    ]));
}

#[test]
fn worlds_show_their_objects() {
    let folder = Folder::with(&["journals/saved.sav"]);
    insta::assert_snapshot!(folder.transcript([
        "graph saved.sav",
        "graph saved.sav --from World/Door",
        "graph saved.sav --from World/#1 --dot",
    ]));
}

#[test]
fn a_world_in_a_field_is_an_object_of_its_own() {
    let folder = Folder::new();
    folder.write("game.sav", &game::game().expect("a game"));
    insta::assert_snapshot!(folder.transcript([
        "graph game.sav",
        "graph game.sav --from Game.level --depth 1",
        "graph game.sav --from World/House/Door",
        "graph game.sav --from Game[0].day --depth 1",
    ]));
}

#[test]
fn a_graph_starts_at_the_object_that_a_part_is_in_or_that_it_names() {
    let folder = Folder::new();
    folder.write("town.sav", &game::town().expect("a town"));
    insta::assert_snapshot!(folder.transcript([
        "graph town.sav --from /House/Door:Transform --depth 1",
        "graph town.sav --from /House/Door:Transform.x --depth 1",
        "graph town.sav --from /House/Door:Mood.at --depth 0",
        "graph town.sav --from /House/Door.parent --depth 0",
        "graph town.sav --from :Score.points --depth 0",
    ]));
}

#[test]
fn a_damaged_save_has_no_graph() {
    let folder = Folder::with(&["v1/graph.sav"]);
    folder.damage("graph.sav", "damaged.sav", 200);
    insta::assert_snapshot!(folder.run("graph damaged.sav"));
}
