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
