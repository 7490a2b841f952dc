//! `docs/internals/reliability.md` names tests that are there.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Functions, and what the tests that have no harness are called; files and folders as modules.
fn names(module: &str, folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let inner = if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") };
        if path.is_dir() {
            names(&inner, &path, found);
            found.insert(inner);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.insert(inner);
            for line in fs::read_to_string(&path).unwrap().lines() {
                let function = line.trim_start().strip_prefix("fn ");
                let name = function
                    .and_then(|rest| rest.split_once(['(', '<']))
                    .or_else(|| line.trim_start().strip_prefix("(\"")?.split_once('"'));
                found.extend(name.map(|(name, _)| name.to_owned()));
            }
        }
    }
}

#[test]
fn every_test_that_the_page_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut there = BTreeSet::new();
    names("", &root.join("tests"), &mut there);
    names("", &root.join("fuzz").join("fuzz_targets"), &mut there);
    let page = fs::read_to_string(root.join("docs/internals/reliability.md")).unwrap();
    let (mut rows, mut named) = (0, 0);
    let items = page.split("\n- **").filter(|item| item.starts_with(['S', 'H', 'F']));
    for item in items.filter_map(|item| item.split("\n\n").next()) {
        rows += 1;
        let is_name = |name: &&str| {
            name.bytes().all(|byte| {
                b"_:".contains(&byte) || byte.is_ascii_lowercase() || byte.is_ascii_digit()
            })
        };
        for name in item.split('`').skip(1).step_by(2).filter(is_name) {
            assert!(there.contains(name), "no test is called `{name}`: {item}");
            named += 1;
        }
    }
    assert!(rows > 45 && named > 110, "{named} names in {rows} rows");
}
