//! The words of a lock: names, quoted where they are not plain, and a line that is being read.

use crate::reflect::{Cell, Holder, Pointer};
use crate::{Error, ErrorKind, Result};

/// The pointers, as words.
pub(super) const POINTERS: [(&str, Pointer); 2] = [("Rc", Pointer::Rc), ("Arc", Pointer::Arc)];

/// The cells, as words.
pub(super) const CELLS: [(&str, Cell); 6] = [
    ("RefCell", Cell::RefCell),
    ("Cell", Cell::Cell),
    ("Mutex", Cell::Mutex),
    ("RwLock", Cell::RwLock),
    ("OnceCell", Cell::OnceCell),
    ("OnceLock", Cell::OnceLock),
];

/// The newest format of locks.
const FORMAT: u32 = 1;
const HEADER_START: &str = "# persist.lock, format ";
const HEADER_END: &str =
    "; written by the test with PERSIST_LOCK=update, the versions before stay as they are";
/// The first line.
pub(super) const HEADER: &str = "# persist.lock, format 1; written by the test with PERSIST_LOCK=update, the versions before stay as they are";

/// The kinds that are words.
pub(super) const SCALARS: [(&str, crate::schema::KindSchema); 16] = {
    use crate::schema::KindSchema as K;
    [
        ("bool", K::Bool),
        ("char", K::Char),
        ("u8", K::U8),
        ("u16", K::U16),
        ("u32", K::U32),
        ("u64", K::U64),
        ("u128", K::U128),
        ("i8", K::I8),
        ("i16", K::I16),
        ("i32", K::I32),
        ("i64", K::I64),
        ("i128", K::I128),
        ("f32", K::F32),
        ("f64", K::F64),
        ("String", K::Text),
        ("Unknown", K::Unknown),
    ]
};

/// The other words of kinds.
const WORDS: [&str; 10] =
    ["compact", "Option", "Vec", "Set", "Map", "Weak", "sync", "Box", "Handle", "dyn"];

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '+')
}

/// A name, in quotes if it is not plain.
pub(super) fn quoted(name: &str) -> String {
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.to_owned();
    }
    format!("\"{}\"", name.escape_debug())
}

/// The name of a class, in quotes if it could be another kind.
pub(super) fn quoted_in_kind(name: &str) -> String {
    let is_word = WORDS.contains(&name)
        || SCALARS.iter().any(|(word, _)| *word == name)
        || POINTERS.iter().any(|(word, _)| *word == name)
        || CELLS.iter().any(|(word, _)| *word == name);
    if is_word { format!("\"{name}\"") } else { quoted(name) }
}

/// A line that is being read.
#[derive(Clone)]
pub(super) struct Line<'t> {
    /// From 1.
    pub(super) number: usize,
    rest: &'t str,
}

impl<'t> Line<'t> {
    pub(super) fn new(number: usize, text: &'t str) -> Self {
        Self { number, rest: text }
    }

    /// The error for this line.
    #[cold]
    pub(super) fn error(&self, what: impl std::fmt::Display) -> Error {
        Error::new(
            ErrorKind::Damaged,
            format!(
                "line {} of the lock: {what}; restore it from version control, or mend it by hand",
                self.number
            ),
        )
    }

    #[cold]
    fn expected(&self, what: &str) -> Error {
        let found = match self.rest.chars().next() {
            None => String::from("the line ends"),
            Some(_) => {
                let found: String = self.rest.chars().take(30).collect();
                format!("there is `{}`", found.escape_debug())
            }
        };
        self.error(format!("expected {what}, but {found}"))
    }

    /// Spaces before the text.
    pub(super) fn indent(&mut self) -> usize {
        let text = self.rest.trim_start_matches(' ');
        let indent = self.rest.len() - text.len();
        self.rest = text;
        indent
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    pub(super) fn expect(&mut self, text: &str) -> Result<()> {
        if self.eat(text) { Ok(()) } else { Err(self.expected(&format!("`{text}`"))) }
    }

    pub(super) fn end(&self) -> Result<()> {
        if self.is_empty() { Ok(()) } else { Err(self.expected("the end of the line")) }
    }

    /// The word that follows; none if what follows is not plain.
    pub(super) fn word(&mut self) -> &'t str {
        let end = self.rest.find(|c| !is_plain(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// A name, which may be in quotes; `what` it is the name of.
    pub(super) fn name(&mut self, what: &str) -> Result<String> {
        if let Some(name) = self.quoted()? {
            return Ok(name);
        }
        match self.word() {
            "" => Err(self.expected(what)),
            word => Ok(word.to_owned()),
        }
    }

    /// A name in quotes, if one follows.
    pub(super) fn quoted(&mut self) -> Result<Option<String>> {
        if !self.eat("\"") {
            return Ok(None);
        }
        let mut name = String::new();
        let mut chars = self.rest.chars();
        loop {
            match chars.next() {
                Some('"') => break,
                Some('\\') => {
                    let escaped = match chars.next() {
                        Some('n') => Some('\n'),
                        Some('r') => Some('\r'),
                        Some('t') => Some('\t'),
                        Some('0') => Some('\0'),
                        Some(c @ ('\\' | '"' | '\'')) => Some(c),
                        Some('u') => {
                            let code = chars.as_str().strip_prefix('{');
                            let code = code.and_then(|code| code.split_once('}'));
                            code.and_then(|(code, rest)| {
                                chars = rest.chars();
                                let code = u32::from_str_radix(code, 16).ok()?;
                                char::from_u32(code)
                            })
                        }
                        _ => None,
                    };
                    match escaped {
                        Some(c) => name.push(c),
                        None => return Err(self.error("a name has an escape that does not exist")),
                    }
                }
                Some(c) => name.push(c),
                None => return Err(self.error("a name in quotes does not end")),
            }
        }
        self.rest = chars.as_str();
        Ok(Some(name))
    }

    /// A number in decimal digits; `what` it is.
    pub(super) fn number<T: std::str::FromStr>(&mut self, what: &str) -> Result<T> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        let number = digits.parse().map_err(|_| self.expected(what))?;
        self.rest = rest;
        Ok(number)
    }

    /// A class id, such as `0x7`.
    pub(super) fn id(&mut self) -> Result<u64> {
        let before = self.clone();
        let digits = if self.eat("0x") { self.word() } else { "" };
        let plain = !digits.starts_with('+');
        match u64::from_str_radix(digits, 16) {
            Ok(id) if plain => Ok(id),
            _ => Err(before.expected("a class id, such as `0x7`")),
        }
    }

    /// The first line of a lock.
    pub(super) fn header(&mut self) -> Result<()> {
        self.expect(HEADER_START)?;
        let format: u32 = self.number("the number of the format")?;
        if format > FORMAT {
            return Err(Error::new(
                ErrorKind::NewerFormat,
                format!(
                    "the lock has format {format}, this library reads up to {FORMAT}; use a newer version of it"
                ),
            ));
        }
        if format == 0 {
            return Err(self.error("format 0 does not exist"));
        }
        self.expect(HEADER_END)?;
        self.end()
    }

    /// A holder without a target: `Rc<RefCell>`.
    pub(super) fn holder(&mut self) -> Result<Holder> {
        let before = self.clone();
        let word = self.word();
        let Some((_, pointer)) = POINTERS.iter().find(|(name, _)| *name == word) else {
            return Err(before.expected("`Rc` or `Arc`"));
        };
        if !self.eat("<") {
            return Ok(Holder::new(*pointer, Cell::None));
        }
        let Some(cell) = self.cell() else { return Err(self.expected("a cell")) };
        self.expect(">")?;
        Ok(Holder::new(*pointer, cell))
    }

    /// The word of a cell, if one follows.
    pub(super) fn cell(&mut self) -> Option<Cell> {
        let before = self.clone();
        let word = self.word();
        let found = CELLS.iter().find(|(name, _)| *name == word).map(|(_, cell)| *cell);
        if found.is_none() {
            *self = before;
        }
        found
    }

    /// The pointer and whether it is weak, for one of the words of pointers.
    pub(super) fn pointer(&mut self, word: &str) -> Result<Option<(Pointer, bool)>> {
        Ok(Some(match word {
            "Rc" => (Pointer::Rc, false),
            "Arc" => (Pointer::Arc, false),
            "Weak" => (Pointer::Rc, true),
            "sync" => {
                self.expect("::Weak")?;
                (Pointer::Arc, true)
            }
            _ => return Ok(None),
        }))
    }
}
