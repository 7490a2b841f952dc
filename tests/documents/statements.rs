//! Lists in the pages against the code: features, kinds of errors, and how a program depends on the library.

use std::collections::BTreeSet;

use crate::repository::{files, pages, prose, read, root};

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

/// Folders with sources that the pages name.
const SOURCES: [&str; 10] = [
    "persist",
    "persist-derive",
    "persist-cli",
    "persist-tools",
    "engines",
    "cloud",
    "tests",
    "benches",
    "fuzz",
    "docs",
];

/// Types and modules of other crates, and of examples, whose items the pages name.
const FOREIGN: [&str; 13] = [
    "Rc",
    "Arc",
    "std",
    "mem",
    "sync",
    "Entity",
    "S3ConditionalPut",
    "undo",
    "undo_2",
    "inventory",
    "shop",
    "generic",
    "E",
];

/// A source file: its path, its words, and the names that it declares or implements something for.
struct Source {
    path: String,
    words: BTreeSet<String>,
    declared: BTreeSet<String>,
}

impl Source {
    fn new(path: String, text: &str) -> Self {
        const KEYWORDS: [&str; 10] = [
            "fn",
            "struct",
            "enum",
            "trait",
            "type",
            "const",
            "static",
            "mod",
            "for",
            "macro_rules",
        ];
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let (mut words, mut declared) = (BTreeSet::new(), BTreeSet::new());
        for line in code {
            let mut previous = "";
            for word in line.split(|letter| !is_word(letter)).filter(|word| !word.is_empty()) {
                if KEYWORDS.contains(&previous) || line.trim_start().starts_with("impl") {
                    declared.insert(word.to_owned());
                }
                words.insert(word.to_owned());
                previous = word;
            }
        }
        Self { path, words, declared }
    }

    /// Returns true if it is a file of the module, or of a folder of this name.
    fn is_in(&self, module: &str) -> bool {
        self.path.split(['/', '.']).any(|part| part == module)
    }
}

/// The names of a path such as `Type::method(..)`; none if a code span is something else.
fn segments(span: &str) -> Option<Vec<&str>> {
    let end = span.find(|letter: char| !letter.is_alphanumeric() && !"_:".contains(letter));
    let (path, rest) = span.split_at(end.unwrap_or(span.len()));
    let is_path = path.contains("::") && (rest.is_empty() || rest.starts_with(['(', '<']));
    is_path.then(|| path.split("::").filter(|name| !name.is_empty()).collect())
}

/// Returns true if the sources have an item of this name in that type, module or crate.
fn has_item(sources: &[Source], (owner, name): (&str, &str)) -> bool {
    if owner.starts_with(char::is_uppercase) {
        let mut owners = sources.iter().filter(|source| source.declared.contains(owner));
        return owners.any(|source| source.words.contains(name));
    }
    let is_crate = owner.starts_with("persist");
    let mut files = sources.iter().filter(|source| is_crate || source.is_in(owner));
    files.any(|source| source.words.contains(name) || source.is_in(name))
}

/// Returns true if the code span is the name of a file or folder rather than code.
fn is_file(span: &str) -> bool {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-./".contains(letter);
    let ends = [".rs", ".py", ".toml", ".csv", ".md"];
    span.chars().all(is_plain)
        && span.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '.')
        && (ends.iter().any(|end| span.ends_with(end) && span.len() > end.len())
            || span.contains('/') && !span.starts_with('/'))
}

#[test]
fn the_items_that_the_pages_name_are_there_and_so_are_the_files_of_the_pages_of_internals() {
    let mut sources = Vec::new();
    let mut paths = BTreeSet::new();
    for folder in SOURCES {
        for file in files(folder, "") {
            let path = file.strip_prefix(root()).expect("a file of the repository");
            let path = path.to_str().expect("a name in ASCII").replace('\\', "/");
            if path.split('/').any(|part| part == "target" || part == "snapshots") {
                continue;
            }
            if path.ends_with(".rs") {
                sources.push(Source::new(path.clone(), &read(&path)));
            }
            paths.insert(path);
        }
    }
    paths.extend(
        files(".ci", "")
            .iter()
            .filter_map(|file| Some(file.strip_prefix(root()).ok()?.to_str()?.to_owned())),
    );
    let has_file = |span: &str| {
        let (end, inside) = (format!("/{span}"), format!("/{}/", span.trim_end_matches('/')));
        let is_it = |path: &String| path == span || path.ends_with(&end);
        paths.iter().any(is_it) || paths.iter().any(|path| format!("/{path}").contains(&inside))
    };
    let (mut found, mut named) = (Vec::new(), 0);
    for page in pages() {
        let path = page.strip_prefix(root()).expect("a page").display().to_string();
        // Guides name files of a game.
        let names_sources = path.starts_with("docs/internals");
        let text = prose(&read(&path));
        for span in text.split('`').skip(1).step_by(2) {
            let names = segments(span).unwrap_or_default();
            let is_foreign = names.first().is_some_and(|owner| FOREIGN.contains(owner));
            let has_pair = |pair: &[&str]| is_foreign || has_item(&sources, (pair[0], pair[1]));
            let missing = !names.windows(2).all(has_pair);
            let is_file = names_sources && names.is_empty() && is_file(span);
            if missing || is_file && !has_file(span) {
                found.push(format!("{path}: `{span}`"));
            }
            named += usize::from(names.len() > 1 || is_file);
        }
    }
    assert!(found.is_empty(), "the sources have none of these:\n{}", found.join("\n"));
    assert!(named > 400, "{named} names");
}

#[test]
fn a_path_is_found_only_where_its_type_or_module_is() {
    let text = "pub struct Bag;\nimpl Bag {\n    pub fn put(&self) {}\n}\n// take\n";
    let sources = [
        Source::new("persist/src/things/bag.rs".to_owned(), text),
        Source::new("persist/src/other.rs".to_owned(), "fn take() { Bag.put() }"),
    ];
    assert!(has_item(&sources, ("Bag", "put")) && has_item(&sources, ("things", "Bag")));
    assert!(!has_item(&sources, ("Bag", "take")) && !has_item(&sources, ("other", "Box")));
    assert!(has_item(&sources, ("things", "bag")) && !has_item(&sources, ("Sack", "put")));
    assert_eq!(segments("Bag::put(0)"), Some(vec!["Bag", "put"]));
    assert!(segments("a Bag::put").is_none() && segments("put").is_none());
    assert!(is_file("things/bag.rs") && is_file(".ci/shape") && !is_file(".rs") && !is_file("1/2"));
}
