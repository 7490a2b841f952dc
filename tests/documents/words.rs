//! The prose of pages and of doc comments has none of the words that `docs/internals/style.md` replaces.

use std::fs;
use std::path::Path;

use crate::repository::{files, pages, prose, read, root};

/// Words of the style page's table, and what to write instead.
const WORDS: [(&[&str], &str); 21] = [
    (&["behind"], "after; only a pointer has something behind it"),
    (&["brought on", "bring on", "brings on", "bringing on"], "migrated, upgrade"),
    (&["made to last", "make it last"], "flushed to disk, durable"),
    (&["circle", "circles"], "cycle"),
    (&["so many", "so much", "so deep"], "n, that many, or a number"),
    (&["taken back", "takes back", "take back", "took back"], "rolled back, undone"),
    (&["done again", "does again"], "redone, replayed"),
    (&["put aside", "puts aside", "kept aside"], "moved aside, set aside"),
    (&["gives way to", "give way to", "given way to", "gave way to"], "is replaced by"),
    (&["falls out", "fall out", "fell out"], "is evicted"),
    (&["another order", "another form"], "reordered, converted"),
    (&["is told", "are told", "was told", "tells"], "reports, notifies"),
    (&["what is there", "had by"], "the current state, belongs to"),
    (&["goes on", "go on", "went on", "going on", "gone on"], "continues"),
    (&["wreck", "wrecks"], "damaged save"),
    (&["out of its world", "out of their world"], "detached"),
    (&["of which", "that of which", "as there"], "whose, or name it"),
    (&["made to harm"], "corrupt or malicious"),
    (&["no flags of"], "unknown bits"),
    (&["its name away"], "removes the name"),
    (&["hears on", "hear on"], "stays subscribed"),
];

/// What may stand after "behind": pointers have something behind them.
const BEHIND: [&str; 15] = [
    "a pointer",
    "a shared pointer",
    "a weak pointer",
    "another pointer",
    "each pointer",
    "either pointer",
    "pointers",
    "shared pointers",
    "the pointer",
    "a reference",
    "each reference",
    "a shared reference",
    "``",
    "a ``",
    "an ``",
];

/// How the first line of a doc comment may not begin, since it stands alone in every index.
const OPENINGS: [&str; 7] = ["The same", "As there", "As [", "As `", "Likewise", "Then", "Those "];

/// A page whose table names the words.
const STYLE: &str = "docs/internals/style.md";

/// Text between two empty lines, with the number of each of its lines.
struct Paragraph {
    text: String,
    first: usize,
}

/// The text with the contents of its code spans taken out.
fn without_code(text: &str) -> String {
    let mut spans = text.split('`');
    let mut plain = spans.next().unwrap_or_default().to_owned();
    while let Some(_code) = spans.next() {
        plain.push_str("``");
        plain.push_str(spans.next().unwrap_or_default());
    }
    plain
}

fn paragraphs<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<Paragraph> {
    let mut found = vec![Paragraph { text: String::new(), first: 0 }];
    for (number, line) in lines {
        let is_end = line.trim().is_empty() || line.starts_with(['|', '#']);
        let last = found.last_mut().expect("there is one");
        if !line.trim().is_empty() && !is_end {
            if last.text.is_empty() {
                last.first = number;
            }
            last.text += line.trim();
            last.text.push('\n');
            continue;
        }
        found.push(Paragraph { text: line.to_owned(), first: number });
        found.push(Paragraph { text: String::new(), first: number });
    }
    found
}

/// The doc comments of a file, one after the other, each line with its number; code is left out.
fn doc_comments(source: &str) -> Vec<Vec<(usize, String)>> {
    let mut found = vec![Vec::new()];
    let mut is_code = false;
    for (i, line) in source.lines().enumerate() {
        let line = line.trim_start();
        let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let block: &mut Vec<_> = found.last_mut().expect("there is one");
        match text {
            Some(text) if text.trim_start().starts_with("```") => {
                is_code = !is_code;
                block.push((i + 1, String::new()));
            }
            Some(_) if is_code => {}
            Some(text) => block.push((i + 1, text.strip_prefix(' ').unwrap_or(text).to_owned())),
            None if block.is_empty() => {}
            None => {
                is_code = false;
                found.push(Vec::new());
            }
        }
    }
    found.retain(|block| !block.is_empty());
    found
}

/// Where a phrase stands as words of its own.
fn places<'t>(text: &'t str, phrase: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_word = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric());
    text.match_indices(phrase).map(|(at, _)| at).filter(move |at| {
        !is_word(text[..*at].chars().next_back())
            && !is_word(text[at + phrase.len()..].chars().next())
    })
}

/// The words of a paragraph that the style page replaces, each with its line.
fn faults(paragraph: &Paragraph) -> Vec<String> {
    let text = without_code(&paragraph.text).to_lowercase();
    // A phrase may go over the end of a line.
    let flat = text.replace('\n', " ");
    let mut found = Vec::new();
    for (phrases, instead) in WORDS {
        for phrase in phrases {
            for at in places(&flat, phrase) {
                let rest = flat[at + phrase.len()..].trim_start();
                if *phrase == "behind" && BEHIND.iter().any(|allowed| rest.starts_with(allowed)) {
                    continue;
                }
                let line = paragraph.first + text[..at].matches('\n').count();
                found.push(format!("{line}: \"{phrase}\"; write: {instead}"));
            }
        }
    }
    found
}

/// What is wrong with the doc comments of a source file.
fn faults_of_source(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for block in doc_comments(source) {
        let lines = block.iter().map(|(number, line)| (*number, line.as_str()));
        found.extend(paragraphs(lines).iter().flat_map(faults));
        let (number, first) = &block[0];
        if let Some(opening) = OPENINGS.iter().find(|opening| first.starts_with(**opening)) {
            found.push(format!(
                "{number}: the first line begins with \"{opening}\"; it must stand alone"
            ));
        }
    }
    found
}

fn check(faults: &[String]) {
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

fn named(path: &Path, faults: Vec<String>) -> impl Iterator<Item = String> {
    let name = path.strip_prefix(root()).unwrap_or(path).display().to_string();
    faults.into_iter().map(move |fault| format!("{name}:{fault}"))
}

#[test]
fn pages_have_none_of_the_words_that_the_style_page_replaces() {
    let mut found = Vec::new();
    for page in pages().into_iter().filter(|page| !page.ends_with(STYLE)) {
        let text = prose(&fs::read_to_string(&page).expect("a page that can be read"));
        let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line));
        found.extend(named(&page, paragraphs(lines).iter().flat_map(faults).collect()));
    }
    check(&found);
}

#[test]
fn doc_comments_have_none_of_the_words_that_the_style_page_replaces() {
    let mut found = Vec::new();
    let folders = ["persist/src", "persist-derive/src", "persist-tools/src"];
    for path in folders.iter().flat_map(|folder| files(folder, ".rs")) {
        let source = fs::read_to_string(&path).expect("a source that can be read");
        found.extend(named(&path, faults_of_source(&source)));
    }
    check(&found);
}

#[test]
fn every_row_of_the_style_page_is_checked_here() {
    let page = read(STYLE);
    let prose = page.split("\n## Prose").nth(1).and_then(|rest| rest.split("\n## ").next());
    let rows = prose.expect("the rules of prose").lines().filter(|line| line.starts_with('|'));
    let cells = rows.skip(2).map(|row| row.split('|').nth(1).expect("a cell").trim());
    let openings = OPENINGS.map(str::to_lowercase);
    let known: Vec<&str> = WORDS.iter().flat_map(|(phrases, _)| *phrases).copied().collect();
    let is_known = |phrase: &str| {
        known.iter().any(|word| phrase.contains(word) || word.contains(phrase))
            || openings.iter().any(|opening| opening == phrase)
    };
    let mut rows = 0;
    for phrase in cells.flat_map(|cell| cell.split(", ")) {
        let phrase = phrase.split(" (").next().unwrap_or(phrase);
        assert!(is_known(phrase), "`{phrase}` is a row of {STYLE}, but no test looks for it");
        rows += 1;
    }
    assert!(rows > 25, "{rows} phrases");
}

#[test]
fn lines_of_pages_have_at_most_120_columns() {
    let mut found = Vec::new();
    for page in pages() {
        let text = prose(&fs::read_to_string(&page).expect("a page that can be read"));
        // A row of a table cannot be wrapped.
        let long = |line: &&str| !line.starts_with('|') && line.chars().count() > 120;
        found.extend(named(&page, text.lines().filter(long).map(str::to_owned).collect()));
    }
    check(&found);
}

#[test]
fn words_of_the_table_are_found_and_pointers_may_have_something_behind_them() {
    let faults_of = |text: &str| {
        let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line));
        paragraphs(lines).iter().flat_map(faults).count()
    };
    assert_eq!(faults_of("It is flushed behind\neach save."), 1);
    assert_eq!(faults_of("What is behind a pointer, or behind `Rc`, is shared."), 0);
    assert_eq!(faults_of("A `behind` in code. A codebehind."), 0);
    assert_eq!(faults_of("It is made to\nlast."), 1);
    assert_eq!(faults_of("| a circle | goes on |"), 2);
    let source = "/// The same.\nfn a() {}\n/// Like [`a`].\n///\n/// ```\n/// // behind it\n/// ```\nfn b() {}\n";
    assert_eq!(faults_of_source(source).len(), 1);
    assert_eq!(faults_of_source("/// A wreck.\n// a wreck\nlet wreck = 1;\n").len(), 1);
}
