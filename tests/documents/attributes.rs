//! `docs/reference/attributes.md` has every attribute that the derive knows.

use crate::repository::read;

/// The attributes that a parser of the derive takes: the rows of its table.
fn parsed(source: &str, parser: &str) -> Vec<String> {
    let after =
        source.split(&format!("\n    {parser} at ")).nth(1).expect("the derive has that parser");
    let body = after.split("\n}\n").next().expect("it ends");
    let rows = body.lines().filter_map(|line| line.trim().strip_prefix('"')?.split_once("\": "));
    let mut names: Vec<_> = rows.map(|(name, _)| name.to_owned()).collect();
    names.sort();
    names
}

/// The headings below one of the page.
fn described(page: &str, heading: &str) -> Vec<String> {
    let after = page.split(&format!("\n## {heading}\n")).nth(1).expect("the page has that heading");
    let section = after.split("\n## ").next().expect("a section");
    let headings = section.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'));
    let mut names: Vec<_> = headings.map(str::to_owned).collect();
    names.sort();
    names
}

/// The attributes in the table of contents, in the order of the headings.
fn listed(page: &str, head: &str) -> Vec<String> {
    let after = page.split(&format!("\n| {head} | |\n")).nth(1).expect("the page has that table");
    let rows = after.lines().skip(1).take_while(|line| line.starts_with("| [`"));
    let name = |row: &str| {
        let name = row.trim_start_matches("| [`");
        name[..name.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(0)]
            .to_owned()
    };
    let mut names: Vec<_> = rows.map(name).collect();
    names.sort();
    names
}

#[test]
fn the_page_has_every_attribute_that_the_derive_knows() {
    let source = read("persist-derive/src/parse/attributes.rs");
    let page = read("docs/reference/attributes.md");
    let places = [
        ("TypeAttributes", "On a type", "on a type", 14),
        ("FieldAttributes", "On a field", "on a field", 8),
        ("VariantAttributes", "On a variant", "on a variant", 6),
        ("TraitOptions", "On a trait", "on a trait, in `#[persist::dynamic(...)]`", 3),
    ];
    for (parser, heading, table, at_least) in places {
        let known = parsed(&source, parser);
        assert!(known.len() >= at_least, "{parser}: {known:?}");
        assert_eq!(described(&page, heading), known, "{heading}");
        assert_eq!(listed(&page, table), known, "{table}");
    }
}

#[test]
fn every_attribute_has_an_example() {
    let page = read("docs/reference/attributes.md");
    for section in page.split("\n### ").skip(1) {
        let name = section.lines().next().unwrap_or_default();
        assert!(section.contains("```rust\n"), "{name} has no example that runs");
    }
}
