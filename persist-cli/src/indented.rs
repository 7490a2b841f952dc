//! JSON on several lines, whose indentation is written in one piece.
//!
//! A third of the JSON of a world is indentation. The formatter of `serde_json` writes it two bytes at a time: with
//! it, a `convert` of 3,000,000 objects takes a quarter longer.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// A comma, the end of a line, and the indentation of the next one, down to 32 levels.
const LINE: &[u8; 66] = b",\n                                                                ";

/// Writes a value as JSON, as [`serde_json::to_writer_pretty`] does.
pub(crate) fn to_writer(to: impl Write, value: &impl Serialize) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(to, Indented::default()))
}

#[derive(Default)]
struct Indented {
    depth: usize,
    /// True if the innermost list or object has an element.
    has_element: bool,
}

impl Indented {
    fn begin(&mut self, to: &mut (impl ?Sized + Write), bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.has_element = false;
        to.write_all(bracket)
    }

    fn end(&mut self, to: &mut (impl ?Sized + Write), bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.has_element {
            self.line(to, true)?;
        }
        self.has_element = true;
        to.write_all(bracket)
    }

    fn line(&self, to: &mut (impl ?Sized + Write), is_first: bool) -> io::Result<()> {
        let line = &LINE[usize::from(is_first)..];
        let indentation = 2 * self.depth;
        let spaces = LINE.len() - 2;
        let (at_once, rest) = (indentation.min(spaces), indentation.saturating_sub(spaces));
        to.write_all(&line[..line.len() - spaces + at_once])?;
        if rest == 0 { Ok(()) } else { write!(to, "{:rest$}", "") }
    }
}

impl Formatter for Indented {
    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.begin(to, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.end(to, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.line(to, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_element = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.begin(to, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.end(to, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.line(to, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_element = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_lines_are_those_of_serde_json() {
        let mut value = serde_json::json!({ "a": [], "b": {}, "c": [1, [2, {}], { "d": null }] });
        for _ in 0..40 {
            let ours = {
                let mut text = Vec::new();
                super::to_writer(&mut text, &value).expect("memory");
                String::from_utf8(text).expect("text")
            };
            assert_eq!(ours, serde_json::to_string_pretty(&value).expect("memory"));
            value = serde_json::json!({ "e": [value, "f"] });
        }
    }
}
