//! `docs/internals/history-behaviours.md` names each behaviour once, and tests that are there.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Functions, and what tests without a harness say that they are called.
fn names(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            names(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            for behind in text.split("fn ").chain(text.split("test ")).skip(1) {
                let end = behind.find(|c: char| c != '_' && !c.is_ascii_alphanumeric());
                found.insert(behind[..end.unwrap_or(behind.len())].to_owned());
            }
        }
    }
}

#[test]
fn every_behaviour_has_tests_that_bear_its_number() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut there = BTreeSet::new();
    names(&root.join("tests"), &mut there);
    let page = fs::read_to_string(root.join("docs/internals/history-behaviours.md")).unwrap();
    let mut numbers = Vec::new();
    let mut decided_otherwise = 0;
    for line in page.lines() {
        let Some((code, rest)) = line.strip_prefix("| ").and_then(|line| line.split_once(" |"))
        else {
            continue;
        };
        let Some(number) = code.get(1..).and_then(|number| number.parse::<u32>().ok()) else {
            continue;
        };
        numbers.push(number);
        if rest.contains("decided otherwise") {
            assert!(!"ACEFK".contains(&code[..1]), "{line}");
            decided_otherwise += 1;
            continue;
        }
        let prefix = format!("{}{number:02}_", code[..1].to_lowercase());
        let tests: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
        assert!(!tests.is_empty(), "{line}");
        for test in tests {
            assert!(test.starts_with(&prefix) && there.contains(test), "{test}: {line}");
        }
    }
    assert_eq!(numbers, (1..=105).collect::<Vec<u32>>());
    assert!(decided_otherwise <= 10);
}

#[test]
fn every_defect_has_tests_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut there = BTreeSet::new();
    names(&root.join("tests"), &mut there);
    let page = fs::read_to_string(root.join("docs/internals/history-behaviours.md")).unwrap();
    let (_, defects) = page.split_once("\n## Defects\n").unwrap();
    for number in 1..=16 {
        let (_, behind) = defects.split_once(&format!("\n{number}. ")).unwrap();
        let defect = behind.split_once(&format!("\n{}. ", number + 1)).map_or(behind, |(it, _)| it);
        let tests = defect.split('`').skip(1).step_by(2).filter(|name| name.contains('_'));
        let tests: Vec<&str> = tests.collect();
        assert!(!tests.is_empty(), "{number}");
        for test in tests {
            assert!(there.contains(test), "{number}: {test}");
        }
    }
}
