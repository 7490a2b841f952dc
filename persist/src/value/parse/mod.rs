//! The text of a value back into the value.

mod number;
mod open;
mod quoted;

use std::collections::HashSet;
use std::str::FromStr;

use number::infinite;
use open::Open;

use super::text::{continues_word, starts_word};
use super::{HandleValue, Record, Value, levels};
use crate::{Error, ErrorKind, Limits, ObjectId, Result};

/// Reads what [`Display`](std::fmt::Display) writes, in either form.
///
/// A number without its type is an `i64`, or the next wider integer that it fits, or an
/// `f64`.
///
/// # Errors
///
/// [`ErrorKind::InvalidValue`] with the offset in the text, or [`ErrorKind::TooDeep`] for a value
/// that no save may hold within the default [`Limits::depth`].
impl FromStr for Value {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parser = Parser { text, at: 0 };
        let value = parser.value()?;
        parser.space();
        if parser.at < text.len() {
            return Err(parser.expected("the end of the value"));
        }
        Ok(value)
    }
}

/// The value that a text begins with, and where it ends.
///
/// # Errors
///
/// As those of [`Value::from_str`].
pub(crate) fn first_value(text: &str) -> Result<(Value, usize)> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value()?;
    Ok((value, parser.at))
}

/// The name in backticks that a text begins with, and where it ends.
///
/// # Errors
///
/// [`ErrorKind::InvalidValue`] if there is none.
pub(crate) fn first_name(text: &str) -> Result<(String, usize)> {
    let mut parser = Parser { text, at: 0 };
    let name = parser.name()?;
    Ok((name, parser.at))
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Takes one or more characters, if they come next after spaces.
    fn take(&mut self, wanted: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len();
        }
        found
    }

    fn need(&mut self, wanted: &str) -> Result<()> {
        if self.take(wanted) { Ok(()) } else { Err(self.expected(&format!("`{wanted}`"))) }
    }

    #[cold]
    fn expected(&self, what: &str) -> Error {
        let found = match self.peek() {
            Some(c) => format!("{c:?}"),
            None => String::from("the end of the text"),
        };
        self.bad(self.at, &format!("expected {what}, found {found}"))
    }

    #[cold]
    fn bad(&self, at: usize, what: &str) -> Error {
        let line = 1 + self.text[..at].matches('\n').count();
        Error::new(ErrorKind::InvalidValue, format!("{what}, in line {line} of the value"))
            .at(at as u64)
    }

    /// Takes characters as long as they are wanted.
    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// The value that is next.
    ///
    /// Without recursion: what is open is on a stack of its own.
    fn value(&mut self) -> Result<Value> {
        let mut open = Vec::new();
        let mut whole = self.begin(&mut open)?;
        loop {
            let Some(last) = open.last_mut() else {
                // Nothing is open: the first value was one without parts, or has ended.
                return whole.ok_or_else(|| self.expected("a value"));
            };
            if let Some(part) = whole.take() {
                last.put(part, self)?;
            }
            if last.ends(self)? {
                whole = open.pop().map(|last| last.whole(self)).transpose()?;
            } else {
                whole = self.begin(&mut open)?;
            }
        }
    }

    /// Takes a value without parts, or opens one whose parts are next.
    fn begin(&mut self, open: &mut Vec<Open>) -> Result<Option<Value>> {
        self.space();
        let begun = match self.peek() {
            Some('(' | '[' | '{' | '`') => None,
            Some('"') => Some(self.quoted('"').map(Value::Text)?),
            Some('\'') => Some(self.char()?),
            Some('#') => Some(self.reference()?),
            Some(c) if c == '-' || c.is_ascii_digit() => Some(self.number()?),
            Some(c) if starts_word(c) => self.word()?,
            _ => return Err(self.expected("a value")),
        };
        if begun.is_some() {
            return Ok(begun);
        }
        let most = levels(&Limits::DEFAULT);
        if open.len() >= most {
            let message = format!("the value is nested deeper than {most} levels");
            return Err(Error::new(ErrorKind::TooDeep, message).at(self.at as u64));
        }
        let (begun, whole) = self.parts()?;
        open.extend(begun);
        Ok(whole)
    }

    /// Opens a value with parts, or takes an enum without any.
    fn parts(&mut self) -> Result<(Option<Open>, Option<Value>)> {
        let begun = if self.take("[") {
            Open::Seq { values: Vec::new(), comma: false }
        } else if self.take("{") {
            Open::Map { entries: Vec::new(), key: None, comma: true }
        } else if self.take("(") {
            if self.take(",") {
                self.need(")")?;
                return Ok((None, Some(Value::Tuple(Vec::new()))));
            }
            Open::Tuple { at: self.at, values: Vec::new(), comma: false }
        } else if self.some() {
            self.need("(")?;
            Open::Some { value: None }
        } else {
            let class = self.name()?;
            let variant = if self.take("::") { Some(self.name()?) } else { None };
            let is_enum = variant.is_some();
            let record = match variant {
                Some(variant) => Record::of_variant(class, variant),
                None => Record::new(class),
            };
            if self.take("{") {
                let (names, name) = (HashSet::new(), (0, String::new()));
                Open::Fields { record, names, name, comma: true }
            } else if is_enum {
                return Ok((None, Some(Value::from(record))));
            } else {
                return Err(self.expected("`::` or `{` after the name of a class"));
            }
        };
        Ok((Some(begun), None))
    }

    /// Takes the word `some`, unless it is a name in backticks or the beginning of one.
    fn some(&mut self) -> bool {
        let start = self.at;
        let found = self.take_while(continues_word) == "some";
        if !found {
            self.at = start;
        }
        found
    }

    /// A name, plain or in backticks.
    fn name(&mut self) -> Result<String> {
        self.space();
        if self.peek() == Some('`') {
            return self.quoted('`');
        }
        match self.take_while(continues_word) {
            "" => Err(self.expected("a name")),
            name => Ok(name.to_owned()),
        }
    }

    /// What begins with a word; of a value with parts nothing is taken.
    fn word(&mut self) -> Result<Option<Value>> {
        let start = self.at;
        let word = self.take_while(continues_word);
        if word == "b" && self.peek() == Some('"') {
            return self.bytes().map(Some);
        }
        if let Some(value) = infinite(word, false) {
            return Ok(Some(value));
        }
        Ok(Some(match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "none" => Value::Option(None),
            "nan" => self.nan()?,
            "handle" => self.handle()?,
            _ => {
                self.at = start;
                return Ok(None);
            }
        }))
    }

    fn handle(&mut self) -> Result<Value> {
        self.need("(")?;
        self.space();
        let at = self.at;
        let handle = match self.take_while(continues_word) {
            "null" => HandleValue::Null,
            "live" => HandleValue::Live(self.word_of_bits()?),
            "dead" => HandleValue::Dead(self.word_of_bits()?),
            _ => return Err(self.bad(at, "a handle is null, live or dead")),
        };
        self.need(")")?;
        Ok(Value::Handle(handle))
    }

    fn word_of_bits(&mut self) -> Result<u64> {
        self.space();
        let at = self.at;
        let digits = self.take_while(|c| c.is_ascii_digit());
        digits.parse().map_err(|_| self.bad(at, "expected the 64 bits of a key, as a number"))
    }

    fn reference(&mut self) -> Result<Value> {
        let at = self.at;
        self.need("#")?;
        let id = self.take_while(continues_word);
        if id == "none" {
            return Ok(Value::Ref(None));
        }
        match id.parse().ok().and_then(ObjectId::new) {
            Some(id) => Ok(Value::Ref(Some(id))),
            None => Err(self.bad(at, "expected the id of an object, `#1` or more, or `#none`")),
        }
    }
}
