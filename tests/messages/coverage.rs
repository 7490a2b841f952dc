//! Nothing that the library can say is without a snapshot.

use std::fs;
use std::path::Path;

use crate::sources::{Sentence, files_in, sentences};

/// Files whose sentences are no errors, and what they are.
const NO_ERRORS: &[(&str, &str)] = &[("lock/compare/", "differences of a lock's report")];

/// Sentences that no test can provoke, and why.
const UNPROVOKED: &[(&str, &str, &str)] = &[];

/// The lines of every snapshot of the tests.
pub(crate) fn snapshot_lines() -> Vec<String> {
    let mut files = Vec::new();
    files_in(Path::new(env!("CARGO_MANIFEST_DIR")), "snap", &mut files);
    let texts = files.iter().map(|file| fs::read_to_string(file).unwrap());
    texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn is_error(sentence: &Sentence) -> bool {
    !NO_ERRORS.iter().any(|(file, _)| sentence.file.starts_with(file))
}

fn reason(sentence: &Sentence) -> Option<&'static str> {
    let entry =
        UNPROVOKED.iter().find(|(file, text, _)| sentence.file == *file && sentence.text == *text);
    entry.map(|(.., reason)| *reason)
}

#[test]
fn every_sentence_of_the_library_is_in_a_snapshot() {
    let lines = snapshot_lines();
    let missing: Vec<String> = sentences()
        .iter()
        .filter(|sentence| is_error(sentence) && reason(sentence).is_none())
        .filter(|sentence| !lines.iter().any(|line| sentence.fits(line)))
        .map(Sentence::report)
        .collect();
    assert!(
        missing.is_empty(),
        "{} sentences are in no snapshot; provoke each, or say in UNPROVOKED why it cannot be:\n{}",
        missing.len(),
        missing.join("\n"),
    );
}
