//! Values on one line for people: long ones are cut.

use std::fmt::{self, Write as _};

use persist::Value;
use persist::debug::print::without_worlds;

/// Columns of a value on one line, where it is only mentioned.
const SHORT: usize = 60;

/// Returns a value on one line, cut if it is long.
pub(crate) fn short(value: &Value) -> String {
    let mut line = Line { text: String::new(), room: SHORT };
    // Writing fails where the line is full.
    if write!(line, "{:.4}", without_worlds(value)).is_err() {
        line.text.push_str("...");
    }
    line.text
}

/// The beginning of a text.
struct Line {
    text: String,
    /// Characters that still fit.
    room: usize,
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = text.char_indices().nth(self.room).map_or(text.len(), |(end, _)| end);
        self.text.push_str(&text[..end]);
        self.room -= text[..end].chars().count();
        if end < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}
