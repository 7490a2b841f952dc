//! `docs/reference/laws.md`: each law is one sentence and has a cell for every column, and each test it names exists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, mem};

use crate::repository::{files, read, root};

const PAGE: &str = "docs/reference/laws.md";

/// More laws than this are not read.
const MOST: usize = 20;

const COLUMNS: [&str; 10] = [
    "values",
    "objects",
    "worlds",
    "documents",
    "journals",
    "prefabs",
    "old saves",
    "storages",
    "engines",
    "cloud",
];

/// Packages beside `tests`, and where their tests are. A module of the sources may have tests as well.
const PACKAGES: [(&str, [&str; 2]); 6] = [
    ("persist-cli", ["persist-cli/tests", "persist-cli/src"]),
    ("persist-bevy", ["engines/persist-bevy/tests", "engines/persist-bevy/src"]),
    ("persist-hecs", ["engines/persist-hecs/tests", "engines/persist-hecs/src"]),
    ("persist-egui", ["engines/persist-egui/tests", "engines/persist-egui/src"]),
    ("persist-mirror", ["engines/persist-mirror/src", "engines/persist-mirror/src"]),
    ("persist-cloud", ["cloud/persist-cloud/tests", "cloud/persist-cloud/src"]),
];

/// Programs that run their tests themselves, and print the names.
const WITHOUT_HARNESS: [&str; 2] = ["system", "history_crash"];

/// The tests of a source file that run: functions with `#[test]` and without `#[ignore]`.
fn tests_of(source: &str) -> Vec<&str> {
    let (mut is_test, mut found) = (false, Vec::new());
    for line in source.lines().map(str::trim_start) {
        if line == "#[test]" {
            is_test = true;
        } else if line.starts_with("#[ignore") {
            is_test = false;
        } else if let Some(function) = line.strip_prefix("fn ") {
            let name = function.split_once(['(', '<']).map(|(name, _)| name);
            found.extend(name.filter(|_| mem::take(&mut is_test)));
        }
    }
    found
}

/// The names that a program without a harness prints.
fn printed(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| {
        let line = line.trim_start();
        let name = line.strip_prefix("(\"").or_else(|| line.strip_prefix("println!(\"test "))?;
        name.split_once(['"', ' ']).map(|(name, _)| name)
    })
}

/// Adds the tests of a folder to those of a program, each as `module::name`.
fn add(found: &mut BTreeSet<String>, folder: &str, is_program: bool) {
    for path in files(folder, ".rs") {
        let inside = path.strip_prefix(root().join(folder)).expect("a file of the folder");
        let mut modules: Vec<_> =
            inside.with_extension("").iter().map(|name| name.to_owned()).collect();
        // A package has its programs in folders of their own.
        if !is_program && root().join(folder).join(&modules[0]).join("main.rs").exists() {
            modules.remove(0);
        }
        modules.retain(|name| *name != "main" && *name != "mod");
        let source = fs::read_to_string(&path).expect("a source that can be read");
        let mut names = tests_of(&source);
        if WITHOUT_HARNESS.iter().any(|program| folder.ends_with(program)) {
            names.extend(printed(&source));
        }
        found.extend(names.into_iter().map(|name| {
            let modules = modules.iter().map(|name| name.to_string_lossy());
            modules.chain([name.into()]).collect::<Vec<_>>().join("::")
        }));
    }
}

/// The tests of each program of `tests`, and of each package.
fn all_tests() -> BTreeMap<String, BTreeSet<String>> {
    let mut all = BTreeMap::<_, BTreeSet<String>>::new();
    for entry in fs::read_dir(root().join("tests")).expect("the folder of the tests") {
        let path = entry.expect("a file of the tests").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if path.join("main.rs").exists() {
            add(all.entry(name.clone()).or_default(), &format!("tests/{name}"), true);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).expect("a source that can be read");
            all.entry(name).or_default().extend(tests_of(&source).into_iter().map(str::to_owned));
        }
    }
    for (package, folders) in PACKAGES {
        for folder in folders.into_iter().filter(|folder| root().join(folder).is_dir()) {
            add(all.entry(package.to_owned()).or_default(), folder, false);
        }
    }
    all
}

/// A law, as the page says it.
#[derive(Debug)]
struct Law {
    number: usize,
    sentence: String,
}

/// Lines up to an empty one, as one.
fn joined<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.take_while(|line| !line.is_empty()).map(str::trim).collect::<Vec<_>>().join(" ")
}

fn numbered(line: &str) -> Option<(usize, &str)> {
    let (number, sentence) = line.split_once(". ")?;
    Some((number.parse().ok()?, sentence))
}

fn laws(page: &str) -> Vec<Law> {
    let (text, _) = page.split_once("\n## The table\n").expect("a table");
    let lines: Vec<&str> = text.lines().collect();
    let laws = lines.iter().enumerate().filter_map(|(at, line)| {
        let (number, first) = numbered(line)?;
        let rest = lines[at + 1..].iter().copied();
        Some(Law { number, sentence: joined([first].into_iter().chain(rest)) })
    });
    laws.collect()
}

fn is_one_sentence(text: &str) -> bool {
    let plain: String = text.split('`').step_by(2).collect();
    let words = plain.split_whitespace().count();
    let inner = plain.trim_end_matches('.');
    plain.starts_with("**")
        && plain.ends_with('.')
        && inner.len() + 1 == plain.len()
        && !inner.contains(['!', '?', ';'])
        && !inner.contains(". ")
        && !inner.contains(".*")
        && (5..=30).contains(&words)
}

/// The rows of the table: the number of a law, its short name, and its cells.
fn rows(page: &str) -> BTreeMap<usize, (&str, Vec<&str>)> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let rows = rows.filter_map(|row| {
        let mut cells = row.split(" | ");
        let (number, name) = cells.next()?.split_once(' ')?;
        Some((number.parse().ok()?, (name, cells.collect())))
    });
    rows.collect()
}

/// The names of the columns in the row of headings of the table.
fn headings(page: &str) -> Vec<&str> {
    let row = page.lines().find_map(|line| line.strip_prefix("| law | ")?.strip_suffix(" |"));
    row.unwrap_or_default().split(" | ").collect()
}

/// The items of the list under a heading, each as the name of its column and the cell.
fn cells(page: &str, heading: &str) -> Vec<(String, String)> {
    let Some((_, section)) = page.split_once(&format!("\n{heading}\n\n")) else { return vec![] };
    let list = section.split_once("\n\n").map_or(section.trim_end(), |(list, _)| list);
    let items = list.strip_prefix("- ").unwrap_or_default().split("\n- ");
    let items = items.filter_map(|item| {
        let (column, cell) = item.split_once(": ")?;
        Some((column.to_owned(), joined(cell.lines())))
    });
    items.collect()
}

/// What the table says of a cell, and what is wrong with the cell.
fn kind(cell: &str, all: &BTreeMap<String, BTreeSet<String>>) -> Result<&'static str, String> {
    if cell == "gap" {
        return Ok("gap");
    }
    if let Some(why) = cell.strip_prefix("not promised: ") {
        let is_why = why.split_whitespace().count() > 2;
        return if is_why { Ok("no") } else { Err("it does not say why".into()) };
    }
    for span in cell.split(", ") {
        let name = span.strip_prefix('`').and_then(|span| span.strip_suffix('`'));
        let name = name.and_then(|name| name.split_once(": "));
        let (program, test) = name.ok_or_else(|| format!("this is no cell: {span}"))?;
        if !all.get(program).is_some_and(|tests| tests.contains(test)) {
            return Err(format!("{program} has no test {test}"));
        }
    }
    Ok("test")
}

/// All that is wrong with the page.
fn faults(page: &str, all: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let (laws, rows, mut found) = (laws(page), rows(page), Vec::new());
    if laws.is_empty() || laws.len() > MOST {
        found.push(format!("{} laws", laws.len()));
    }
    if headings(page) != COLUMNS {
        found.push(format!("other columns: {:?}", headings(page)));
    }
    if rows.len() != laws.len() || page.matches("\n### ").count() != laws.len() {
        found.push("not every law has one row and one list".into());
    }
    for (at, Law { number, sentence }) in laws.iter().enumerate() {
        if *number != at + 1 {
            found.push(format!("law {number} stands at {}", at + 1));
        }
        if !is_one_sentence(sentence) {
            found.push(format!("law {number} is not one sentence: {sentence}"));
        }
        let Some((name, row)) = rows.get(number) else {
            found.push(format!("law {number} has no row"));
            continue;
        };
        let cells = cells(page, &format!("### {number}: {name}"));
        let columns: Vec<&str> = cells.iter().map(|(column, _)| column.as_str()).collect();
        if columns != COLUMNS || row.len() != COLUMNS.len() {
            found.push(format!("law {number} has no cell for some column: {columns:?}, {row:?}"));
            continue;
        }
        for ((column, cell), said) in cells.iter().zip(row) {
            match kind(cell, all) {
                Ok(kind) if kind == *said => {}
                Ok(kind) => found.push(format!("law {number}, {column}: {said} is {kind}")),
                Err(fault) => found.push(format!("law {number}, {column}: {fault}")),
            }
        }
    }
    found
}

/// The first list of the README.
fn bullets(readme: &str) -> Vec<String> {
    let at = readme.find("\n- ").expect("a list");
    let list = readme[at..].split("\n\n").next().unwrap_or_default();
    list.split("\n- ").skip(1).map(|bullet| joined(bullet.lines())).collect()
}

#[test]
fn each_law_is_one_sentence_and_each_cell_names_a_test_or_says_why_there_is_none() {
    let faults = faults(&read(PAGE), &all_tests());
    assert!(faults.is_empty(), "{} faults of {PAGE}:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn the_bullets_of_the_readme_are_laws_word_for_word() {
    let laws: BTreeSet<String> = laws(&read(PAGE)).into_iter().map(|law| law.sentence).collect();
    let bullets = bullets(&read("README.md"));
    assert!(bullets.len() > 4, "{bullets:?}");
    for bullet in bullets {
        assert!(laws.contains(&bullet), "the README has no law of {PAGE}: {bullet}");
    }
}

#[test]
fn tests_are_found_in_every_program() {
    let all = all_tests();
    assert!(all.len() > 20, "{:?}", all.keys());
    for (program, tests) in &all {
        // The library of the package, without tests.
        assert!(program == "lib" || !tests.is_empty(), "{program}");
    }
    assert!(all["history_crash"].contains("a_killed_editor_loses_no_edit_that_it_reported"));
    assert!(!all["derive"].contains("golden::write_fixtures"), "it is ignored");
    assert!(Path::new(root()).join(PAGE).exists());
}

#[test]
fn faults_of_the_page_are_found() {
    let (page, all) = (read(PAGE), all_tests());
    let change = |from: &str, to: &str| {
        assert!(page.contains(from), "{from}");
        faults(&page.replacen(from, to, 1), &all)
    };
    assert_eq!(change("\n2. ", "\n3. ").len(), 1);
    assert_eq!(change(", and the edit", ". And the edit").len(), 1);
    let cell = "- engines: `persist-hecs: laws::any_bytes_are_a_world_or_an_error`";
    assert_eq!(change(&format!("{cell}\n"), "").len(), 1);
    assert_eq!(change(cell, "- engines: later").len(), 1);
    assert_eq!(change(cell, "- engines: gap").len(), 1);
    assert_eq!(change(cell, "- engines: not promised").len(), 1);
    assert_eq!(change(cell, "- objects: not promised: it is hard").len(), 1);
    assert_eq!(change("power_cuts::a_", "power_cuts::no_").len(), 1);
    assert_eq!(change("| law | values |", "| law | worlds |").len(), 1);
}
