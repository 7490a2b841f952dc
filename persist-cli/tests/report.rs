//! `persist report`.

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
