//! Escapes text of saves and names of files, so that they cannot steer a terminal, and styles the rest.

use std::borrow::Cow;
use std::fmt::{self, Display, Write};

/// The style of names: of files, classes, objects.
pub const NAME: &str = "\u{1b}[36m";

/// The style of details of less importance.
pub const DIM: &str = "\u{1b}[2m";

/// The end of a style.
const END: &str = "\u{1b}[0m";

/// The styles of the command, and the end of one.
const STYLES: [&str; 7] = [END, DIM, NAME, "\u{1b}[1m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m"];

/// Text in a style. Control characters in the text are escaped, line ends too.
pub struct Styled<T> {
    style: &'static str,
    text: T,
}

impl<T: Display> Styled<T> {
    /// Puts a text into a style, if there are colours.
    pub fn new(has_colours: bool, style: &'static str, text: T) -> Self {
        Self { style: if has_colours { style } else { "" }, text }
    }
}

impl<T: Display> Display for Styled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.style)?;
        // With the width that is asked for.
        line(&self.text.to_string()).fmt(f)?;
        f.write_str(if self.style.is_empty() { "" } else { END })
    }
}

/// Returns text of a save on one line: control characters are escaped, line ends too.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
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
pub struct Escaping<W> {
    pub to: W,
    pub has_styles: bool,
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
