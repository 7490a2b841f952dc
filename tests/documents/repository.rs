//! The files of the repository.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// The folder with `Cargo.toml` and `README.md`.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests are a folder of the repository")
}

/// The text of a file, by its path in the repository.
pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The files of a folder and of all below it whose names end in this, sorted.
pub(crate) fn files(folder: &str, end: &str) -> Vec<PathBuf> {
    fn collect(folder: &Path, end: &str, found: &mut Vec<PathBuf>) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                collect(&path, end, found)?;
            } else if path.to_str().is_some_and(|path| path.ends_with(end)) {
                found.push(path);
            }
        }
        Ok(())
    }
    let mut found = Vec::new();
    collect(&root().join(folder), end, &mut found)
        .unwrap_or_else(|error| panic!("{folder}: {error}"));
    found.sort();
    found
}

/// The Markdown pages: README, changelog, and all in `docs`.
pub(crate) fn pages() -> Vec<PathBuf> {
    let mut pages = vec![
        root().join("README.md"),
        root().join("CHANGELOG.md"),
        root().join("benches/README.md"),
        root().join("cloud/persist-cloud/README.md"),
        root().join("engines/level-editor/README.md"),
        root().join("engines/persist-egui/README.md"),
        root().join("engines/persist-bevy/README.md"),
        root().join("engines/persist-hecs/README.md"),
        root().join("engines/persist-mirror/README.md"),
    ];
    pages.extend(files("docs", ".md"));
    pages
}

/// A page with its blocks of code made empty; each line keeps its number.
pub(crate) fn prose(page: &str) -> String {
    let mut fence: Option<String> = None;
    let mut prose = String::with_capacity(page.len());
    for line in page.lines() {
        let start = line.trim_start();
        let mark: String = start.chars().take_while(|letter| *letter == '`').collect();
        match &fence {
            Some(open) if mark.len() >= open.len() && start.len() == mark.len() => fence = None,
            None if mark.len() >= 3 => fence = Some(mark),
            None => prose.push_str(line),
            Some(_) => {}
        }
        prose.push('\n');
    }
    prose
}
