//! Lists in the pages against the code: features, kinds of errors, and how a program depends on the library.

use std::collections::BTreeSet;

use crate::repository::{pages, read, root};

/// The names of the features in `persist/Cargo.toml`: those of the library, and those of other crates' types.
fn features() -> (BTreeSet<String>, BTreeSet<String>) {
    let manifest = read("persist/Cargo.toml");
    let section = manifest.split("[features]\n").nth(1).expect("a section of features");
    let section = section.split("\n[").next().expect("its text");
    let (own, foreign) = section.split_once("# Types of other crates").expect("two groups");
    let names = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(|line| line.split_once(" = ")).map(|(name, _)| name.to_owned()).collect()
    };
    (names(own), names(foreign))
}

/// The code spans of a text. `-0_9` after `rand-0_3` is short for `rand-0_9`.
fn spans(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut base = "";
    for span in text.split('`').skip(1).step_by(2) {
        if span.starts_with("-0_") {
            found.insert(format!("{base}{span}"));
        } else {
            base = span.rsplit_once("-0_").map_or(span, |(base, _)| base);
            found.insert(span.to_owned());
        }
    }
    found
}

/// The first cells of the rows of the table after this heading line.
fn first_cells(page: &str, heading: &str) -> String {
    let rows = page.split(heading).nth(1).unwrap_or_else(|| panic!("no {heading}"));
    let rows = rows.lines().skip_while(|line| !line.starts_with('|'));
    let cells = rows.take_while(|line| line.starts_with('|'));
    cells.filter_map(|row| row.split('|').nth(1)).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_readme_lists_all_features_of_the_library() {
    let (own, foreign) = features();
    assert!(own.len() > 5 && foreign.len() > 40, "{own:?} {foreign:?}");
    let listed = spans(&first_cells(&read("README.md"), "| feature |"));
    let listed: BTreeSet<String> = listed.difference(&foreign).cloned().collect();
    assert_eq!(listed, own);
}

#[test]
fn guide_8_lists_all_features_for_types_of_other_crates() {
    let (_, foreign) = features();
    let listed =
        spans(&first_cells(&read("docs/guide/8-types-that-are-not-yours.md"), "| feature |"));
    assert_eq!(listed, foreign);
}

#[test]
fn the_page_of_errors_lists_all_kinds() {
    let source = read("persist/src/error.rs");
    let variants =
        source.split("pub enum ErrorKind {").nth(1).and_then(|rest| rest.split("\n}").next());
    let variants = variants.expect("the enum").lines().map(str::trim);
    let variants = variants.filter(|line| !line.starts_with("//") && line.ends_with(','));
    let variants: BTreeSet<String> =
        variants.map(|line| line.trim_end_matches(',').to_owned()).collect();
    assert!(variants.len() > 25, "{variants:?}");
    let listed = spans(&first_cells(&read("docs/reference/errors.md"), "## The kinds"));
    assert_eq!(listed, variants);
}

#[test]
fn the_pages_depend_on_no_version_and_link_to_no_registry_while_nothing_is_published() {
    if !read("Cargo.toml").contains("publish = false") {
        return;
    }
    let mut found = Vec::new();
    for page in pages() {
        let path =
            page.strip_prefix(root()).expect("a page of the repository").display().to_string();
        for (number, line) in read(&path).lines().enumerate() {
            let dependency =
                line.split_once('=').filter(|(name, _)| name.trim().starts_with("persist"));
            let needs_version = dependency.is_some_and(|(_, rest)| {
                rest.contains("version =")
                    || rest.trim().starts_with("\"0")
                    || rest.trim().starts_with("\"1")
            });
            if needs_version
                || line.contains("docs.rs/persist")
                || line.contains("crates.io/crates/persist")
            {
                found.push(format!("{path}:{}: {line}", number + 1));
            }
        }
    }
    assert!(found.is_empty(), "nothing is published yet:\n{}", found.join("\n"));
}
