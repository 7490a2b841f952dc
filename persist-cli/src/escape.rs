//! Escapes text of saves and names of files, so that they cannot steer a terminal.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// The styles of `output`, and the end of one.
const STYLES: [&str; 7] =
    ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[36m"];

/// Text of a save on one line: control characters are escaped, line ends too.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_control) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_control(c) { line.extend(c.escape_default()) } else { line.push(c) }
    }
    Cow::Owned(line)
}

/// Returns whether a character steers a terminal, or reverses the order of the text after it.
fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A writer that escapes control characters, except line ends, tabs, and styles if there are colours.
pub(crate) struct Escaping<W> {
    pub(crate) to: W,
    pub(crate) has_styles: bool,
}

impl<W: Write> Write for Escaping<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_control(*c)) {
            self.to.write_str(&rest[..at])?;
            rest = &rest[at..];
            let style = STYLES.iter().find(|style| self.has_styles && rest.starts_with(**style));
            let length = style.map_or(c.len_utf8(), |style| style.len());
            if style.is_some() || c == '\n' || c == '\t' {
                self.to.write_str(&rest[..length])?;
            } else {
                write!(self.to, "{}", c.escape_default())?;
            }
            rest = &rest[length..];
        }
        self.to.write_str(rest)
    }
}
