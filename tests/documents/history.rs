//! `docs/internals/history-behaviours.md` names each behaviour once, and tests that are there.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The names of all tests: of functions that are marked as such, and those that tests without a harness print.
fn tests_of(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests_of(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let mut is_test = false;
            for line in fs::read_to_string(&path).unwrap().lines().map(str::trim_start) {
                is_test |= line == "#[test]";
                let function = line.strip_prefix("fn ").filter(|_| std::mem::take(&mut is_test));
                let name = function.or_else(|| line.strip_prefix("println!(\"test "));
                found.extend(name.and_then(|name| Some(name.split_once(['(', ' '])?.0.to_owned())));
            }
        }
    }
}

fn all_tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    tests_of(Path::new(env!("CARGO_MANIFEST_DIR")), &mut found);
    assert!(found.len() > 1_000, "{}", found.len());
    found
}

fn page() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::read_to_string(root.join("docs/internals/history-behaviours.md")).unwrap()
}

#[test]
fn every_behaviour_has_tests_of_its_own() {
    let (there, page) = (all_tests(), page());
    let mut named = BTreeSet::new();
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
        let tests: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
        assert!(!tests.is_empty(), "{line}");
        for test in tests {
            assert!(there.contains(test), "no test is called {test}: {line}");
            assert!(named.insert(test), "{test} is named for two behaviours: {line}");
        }
    }
    assert_eq!(numbers, (1..=111).collect::<Vec<u32>>());
    assert!(decided_otherwise <= 10);
}

#[test]
fn every_defect_has_tests_that_are_there() {
    let (there, page) = (all_tests(), page());
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
