//! `persist report`.

use std::cell::RefCell;
use std::rc::Rc;

use persist::{Persist, Saves, World};
use serde_json::Value as Json;

use crate::game;
use crate::support::Folder;

#[test]
fn the_data_of_a_report_is_stable() {
    insta::assert_snapshot!(pretty(
        &Folder::with(&["v1/graph.sav"]).run("report graph.sav --json")
    ));
}

#[test]
fn worlds_are_objects_with_components() {
    insta::assert_snapshot!(pretty(
        &Folder::with(&["journals/saved.sav"]).run("report saved.sav --json")
    ));
}

#[test]
fn a_report_has_title_times_thumbnail_and_value() {
    let folder = Folder::new();
    let farm = game::Farm { day: 3, coins: 90 };
    folder.write("farm.sav", &game::farm(&farm, 0, b"GIF89a").expect("a farm"));
    let report = pretty(&folder.run("report farm.sav --json"));
    let lines =
        report.lines().filter(|line| line.starts_with("facts") || line.starts_with("value"));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_report_on_two_saves_has_what_differs() {
    let folder = Folder::with(&["evolution/v1.sav", "evolution/v2.sav"]);
    let json = folder.run("report v1.sav --diff v2.sav --json");
    let report: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    insta::assert_snapshot!(serde_json::to_string(&report["diff"]).expect("JSON"));
}

#[test]
fn a_report_on_a_journal_has_its_entries() {
    let folder =
        Folder::with(&["journals/edits.sav", "journals/edits.journal", "journals/saved.journal"]);
    let size = folder.read("saved.journal").len();
    folder.cut("saved.journal", "torn.journal", size - 3);
    let journal = |file: &str| {
        let json = folder.run(&format!("report edits.sav --journal {file} --json"));
        let report: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let entries = report["journal"]["entries"].as_array().expect("entries");
        let lines: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
        format!("{} {}\n{lines}", report["journal"]["file"], report["journal"]["notes"])
    };
    insta::assert_snapshot!([journal("edits.journal"), journal("torn.journal")].join("\n"));
    insta::assert_snapshot!(folder.run("report edits.sav --journal edits.sav"));
}

#[test]
fn an_existing_page_is_refused_before_the_save_is_read() {
    let folder = Folder::with(&["v1/graph.sav"]);
    // If it were read, the error would be about its damage.
    folder.damage("graph.sav", "damaged.sav", 60);
    folder.write("page.html", b"a page");
    insta::assert_snapshot!(folder.run("report damaged.sav -o page.html"));
    assert_eq!(folder.read("page.html"), b"a page");
}

#[test]
fn the_page_is_one_file_that_allows_nothing_from_outside() {
    let folder = Folder::with(&["v1/graph.sav"]);
    assert!(folder.run("report graph.sav -o page.html").starts_with("wrote page.html, "));
    let page = String::from_utf8(folder.read("page.html")).expect("text");
    assert_eq!(page, folder.run("report graph.sav"));
    assert!(page.contains("default-src 'none'; script-src 'sha256-"));
    for outside in ["src=", "http://", "https://", "@import", "url(", "innerHTML", "import "] {
        assert!(!page.contains(outside), "the page has {outside}");
    }
    // Nothing of the save closes the element that its data is in.
    let data = page.split("<script type=\"application/json\"").skip(1);
    for element in data {
        let end = element.find("</script>").expect("an end");
        assert!(!element[..end].contains('<'));
    }
}

#[test]
fn a_damaged_save_has_no_page() {
    let folder = Folder::with(&["v1/graph.sav"]);
    folder.damage("graph.sav", "damaged.sav", 200);
    insta::assert_snapshot!(folder.transcript([
        "report damaged.sav -o page.html",
        "report graph.sav --diff damaged.sav -o page.html",
        "report graph.sav -o none/page.html",
    ]));
    assert!(!folder.path("page.html").exists());
}

/// JSON with a line for each value of the upper levels.
fn pretty(json: &str) -> String {
    let mut report: serde_json::Value = serde_json::from_str(json).expect("JSON");
    let save = report["saves"][0].take();
    let lines =
        save.as_object().expect("a save").iter().map(|(key, value)| format!("{key}: {value}\n"));
    lines.collect()
}

#[test]
fn a_report_overwrites_files_only_on_request() {
    let folder = Folder::with(&["v1/graph.sav", "journals/edits.journal"]);
    folder.write("page.html", b"mine");
    folder.write("other.sav", &folder.read("graph.sav"));
    let (save, journal) = (folder.read("graph.sav"), folder.read("edits.journal"));
    insta::assert_snapshot!(folder.transcript([
        "report graph.sav -o page.html",
        "report graph.sav -o graph.sav --force",
        "report graph.sav -o ./other.sav --diff other.sav --force",
        "report graph.sav -o edits.journal --journal edits.journal --force",
    ]));
    assert_eq!(folder.read("page.html"), b"mine");
    assert_eq!(folder.read("graph.sav"), save);
    assert_eq!(folder.read("other.sav"), save);
    assert_eq!(folder.read("edits.journal"), journal);
    assert!(folder.run("report graph.sav -o page.html --force").starts_with("wrote page.html, "));
}

/// A page of a long diary.
#[derive(Persist)]
#[persist(class = "Note")]
struct Note {
    name: String,
    text: String,
    next: Option<Rc<RefCell<Note>>>,
}

/// More bytes of values than a page of all objects may have.
const NOTES: usize = 2_400;

fn text_of(number: usize) -> String {
    format!("{number} ").repeat(4_000 / format!("{number} ").len())
}

fn diary(changed: usize) -> Vec<u8> {
    let mut next = None;
    for number in (0..NOTES).rev() {
        let text = if number % 500 < changed { String::from("torn") } else { text_of(number) };
        let note = Note { name: format!("Day {number}"), text, next: next.take() };
        next = Some(Rc::new(RefCell::new(note)));
    }
    let first = next.expect("a note");
    persist::to_vec(&first).expect("a save")
}

#[derive(Persist)]
#[persist(component)]
struct Sign {
    text: String,
}

fn signs() -> Vec<u8> {
    let saves = Saves::new();
    saves.register_component::<Sign>().expect("a class");
    let mut world = World::new();
    let road = world.spawn("Road");
    for number in 0..NOTES {
        let sign = world.spawn_in(road, &format!("Sign {number}")).expect("a road");
        world.attach(sign, Sign { text: text_of(number) }).expect("a sign");
    }
    saves.to_vec(&world).expect("a save")
}

fn report(folder: &Folder, command: &str) -> Json {
    serde_json::from_str(&folder.run(command)).expect(command)
}

fn count(of: &Json) -> usize {
    of.as_array().expect("a list").len()
}

#[test]
fn a_report_of_a_large_save_has_a_sample_and_counts_all() {
    let folder = Folder::new();
    folder.write("diary.sav", &diary(0));
    folder.write("signs.sav", &signs());
    for (save, objects, references, class) in
        [("diary.sav", NOTES + 1, NOTES, "Note"), ("signs.sav", NOTES + 2, NOTES, "Sign")]
    {
        let report = &report(&folder, &format!("report {save} --json"))["saves"][0];
        assert_eq!(report["totals"]["objects"], objects, "{save}");
        assert_eq!(report["totals"]["references"], references, "{save}");
        let shown = count(&report["objects"]["id"]);
        assert!(shown > 1_000 && shown < objects, "{save}: {shown}");
        let classes = report["classes"].as_array().expect("classes");
        let class = classes.iter().find(|it| it["name"] == class).expect(class);
        assert_eq!(class["records"], NOTES, "{save}");
        assert!(count(&class["objects"]) < NOTES, "{save}");
        // Objects know how many references they have, though their targets may not be there.
        let to = report["objects"]["to"].as_array().expect("counts");
        let all: u64 = to.iter().filter_map(Json::as_u64).sum();
        assert!(all > count(&report["references"]["to"]) as u64, "{save}");
    }
    folder.run("report diary.sav -o page.html");
    let size = folder.read("page.html").len();
    assert!(size < 20_000_000, "{size}");
    let all = &report(&folder, "report diary.sav --json --all")["saves"][0];
    assert_eq!(count(&all["objects"]["id"]), NOTES + 1);
    assert_eq!(count(&all["objects"]["to"]), 0);
}

#[test]
fn a_reference_to_what_a_sample_lacks_has_its_id() {
    let folder = Folder::new();
    folder.write("diary.sav", &diary(0));
    let report = &report(&folder, "report diary.sav --json")["saves"][0];
    let ids: Vec<&Json> = report["objects"]["id"].as_array().expect("ids").iter().collect();
    let note = report["tables"][0]["columns"].as_array().expect("columns");
    let next = note.iter().find(|column| column["name"] == "next").expect("next");
    let next = next["values"].as_array().expect("values");
    let elsewhere: Vec<&Json> = next.iter().filter_map(|value| value.get("o")).collect();
    assert!(elsewhere.len() > 10, "{}", elsewhere.len());
    assert!(elsewhere.iter().all(|id| !ids.contains(id)));
    // The last note alone refers to nothing.
    assert!(next.iter().filter(|value| **value == -1).count() <= 1);
}

#[test]
fn a_sample_has_what_is_found_and_what_differs() {
    let folder = Folder::new();
    folder.write("diary.sav", &diary(0));
    folder.write("later.sav", &diary(2));
    folder.write("signs.sav", &signs());
    for (save, text) in [("diary.sav", "Day 17"), ("signs.sav", "Sign 29")] {
        let report = report(&folder, &format!("report {save} --json --find '{text}'"));
        let found = &report["saves"][0]["find"];
        let expected = folder.run(&format!("find {save} '{text}'"));
        let paths: Vec<&str> =
            expected.lines().filter_map(|line| line.split(": ").next()).collect();
        assert_eq!(found["values"], paths.len());
        assert_eq!(found["total"], paths.len());
        assert_eq!(count(&found["objects"]), paths.len());
        assert_eq!(found["paths"], Json::from(paths));
    }
    let report = report(&folder, "report diary.sav --diff later.sav --json");
    let differing = 2 * NOTES.div_ceil(500);
    assert_eq!(report["diff"]["totals"]["changed"], differing);
    assert_eq!(report["diff"]["totals"]["gone"], 0);
    assert_eq!(count(&report["diff"]["a"]), differing);
    assert_eq!(report["diff"]["names"], serde_json::json!([["Note", "text"]]));
    assert!(count(&report["saves"][1]["objects"]["id"]) < NOTES);
}
