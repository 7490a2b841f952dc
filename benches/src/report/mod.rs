//! The output for readers: the tables of the pages, and the picture.
//!
//! It needs the standard library alone, so that the library's own tests can build both and compare.

mod chart;
mod figures;
mod goals;
mod jobs;
mod page;
mod tables;

#[allow(unused_imports, reason = "the tests need fewer")]
pub(crate) use chart::draw;
#[allow(unused_imports, reason = "the tests need fewer")]
pub(crate) use figures::{Figures, Role, Row};
#[allow(unused_imports, reason = "the tests need fewer")]
pub(crate) use page::fill;

/// Lines of at most that many letters, that end at commas.
fn wrapped(text: &str, max: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in text.split_inclusive(", ") {
        match lines.last_mut() {
            Some(line) if line.len() + part.len() <= max => line.push_str(part),
            _ => lines.push(part.to_owned()),
        }
    }
    lines
}
