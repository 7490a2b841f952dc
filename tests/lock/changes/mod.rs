//! The tables of `docs/reference/changes.md`: each row is tried with saves of both programs, in a value, an object, a
//! list and a map.

#![allow(
    unreachable_pub,
    reason = "the programs are written as on the page, where nothing of a module is outside of it"
)]

mod attributes;
mod fields;
mod harness;
mod kinds;
mod variants;

use std::fs;
use std::path::Path;

use self::harness::Row;

const PAGE: &str = "../docs/reference/changes.md";

const HEAD: &str = "\
| change | before | after | old save, new program | lock | new save, old program |
| --- | --- | --- | --- | --- | --- |
";

/// The tables, each with the heading that it stands under.
fn tables() -> Vec<(&'static str, Vec<Row>)> {
    vec![
        ("Fields", fields::rows()),
        ("Numbers", kinds::numbers::rows()),
        ("Text and enums", kinds::texts::rows()),
        ("Options, lists, sets, maps and arrays", kinds::collections::rows()),
        ("Tuples, structs and newtypes", kinds::tuples::rows()),
        ("Modules, functions and versions", attributes::rows()),
        ("Variants", variants::of_enums::rows()),
        ("Classes", variants::of_programs::rows()),
        ("Pointers and trait objects", kinds::pointers::rows()),
    ]
}

/// A page with these tables in place of its own.
fn with_tables(page: &str, tables: &[(&str, Vec<Row>)]) -> String {
    let mut sections = page.split("\n## ");
    let mut written = sections.next().unwrap_or_default().to_owned();
    let mut headings = Vec::new();
    for section in sections {
        let heading = section.lines().next().unwrap_or_default();
        headings.push(heading);
        let prose: Vec<&str> = section.lines().filter(|line| !line.starts_with('|')).collect();
        written += &format!("\n## {}\n", prose.join("\n").trim_end());
        if let Some((_, rows)) = tables.iter().find(|(known, _)| *known == heading) {
            let rows: Vec<String> = rows.iter().map(|row| row.text() + "\n").collect();
            written += &format!("\n{HEAD}{}", rows.concat());
        }
    }
    let known: Vec<&str> = tables.iter().map(|(heading, _)| *heading).collect();
    assert!(known.iter().all(|it| headings.contains(it)), "{PAGE} has {headings:?}, not {known:?}");
    written
}

#[test]
fn each_change_does_what_the_page_says() {
    let tables = tables();
    let faults: Vec<&String> =
        tables.iter().flat_map(|(_, rows)| rows).flat_map(|row| &row.faults).collect();
    assert!(faults.is_empty(), "{} faults:\n{faults:#?}", faults.len());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = fs::read_to_string(&path).unwrap();
    let now = with_tables(&page, &tables);
    // As with snapshots: reviewed, and never written by CI.
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&path, &now).unwrap();
    }
    assert!(page == now, "run this test with INSTA_UPDATE=always, and review {PAGE}:\n{now}");
}
