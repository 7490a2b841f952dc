//! The text of a value back into the value.

mod number;
mod quoted;

use std::str::FromStr;

use number::infinite;

use super::text::{continues_word, starts_word};
use super::{HandleValue, NESTING, Record, Value, too_deep};
use crate::{Error, ErrorKind, ObjectId, Result};

/// Reads what [`Display`](std::fmt::Display) writes, in either form.
///
/// A number without its type is an `i64`, or the next wider integer that it fits, or an
/// `f64`.
///
/// # Errors
///
/// [`ErrorKind::InvalidValue`] with the offset in the text, or [`ErrorKind::TooDeep`].
impl FromStr for Value {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parser = Parser { text, at: 0, depth: NESTING };
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
    let mut parser = Parser { text, at: 0, depth: NESTING };
    let value = parser.value()?;
    Ok((value, parser.at))
}

/// The name in backticks that a text begins with, and where it ends.
///
/// # Errors
///
/// [`ErrorKind::InvalidValue`] if there is none.
pub(crate) fn first_name(text: &str) -> Result<(String, usize)> {
    let mut parser = Parser { text, at: 0, depth: NESTING };
    let name = parser.name()?;
    Ok((name, parser.at))
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    /// Levels that are left.
    depth: u32,
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

    /// Takes a character or more, if they are next behind spaces.
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

    fn value(&mut self) -> Result<Value> {
        self.space();
        match self.peek() {
            Some('(' | '[' | '{') => self.nested(Self::parts),
            Some('"') => self.quoted('"').map(Value::Text),
            Some('\'') => self.char(),
            Some('#') => self.reference(),
            Some('`') => self.nested(Self::record),
            Some(c) if c == '-' || c.is_ascii_digit() => self.number(),
            Some(c) if starts_word(c) => self.word(),
            _ => Err(self.expected("a value")),
        }
    }

    fn nested(&mut self, parse: fn(&mut Self) -> Result<Value>) -> Result<Value> {
        let left = self.depth.checked_sub(1);
        self.depth = left.ok_or_else(|| too_deep().at(self.at as u64))?;
        let value = parse(self);
        self.depth += 1;
        value
    }

    /// A tuple, sequence or map.
    fn parts(&mut self) -> Result<Value> {
        if self.take("[") {
            return self.sequence("]").map(|(values, _)| Value::Seq(values));
        }
        if self.take("{") {
            return self.map();
        }
        self.need("(")?;
        if self.take(",") {
            self.need(")")?;
            return Ok(Value::Tuple(Vec::new()));
        }
        let at = self.at;
        let (values, comma) = self.sequence(")")?;
        match values.len() {
            0 => Ok(Value::Unit),
            1 if !comma => Err(self.bad(at, "a tuple of one value is written `(value,)`")),
            _ => Ok(Value::Tuple(values)),
        }
    }

    /// Values up to the end, and whether a comma stood before it.
    fn sequence(&mut self, close: &str) -> Result<(Vec<Value>, bool)> {
        let mut values = Vec::new();
        let mut comma = false;
        while !self.take(close) {
            if !values.is_empty() && !comma {
                return Err(self.expected(&format!("`,` or `{close}`")));
            }
            values.push(self.value()?);
            comma = self.take(",");
        }
        Ok((values, comma))
    }

    fn map(&mut self) -> Result<Value> {
        let mut entries = Vec::new();
        let mut comma = true;
        while !self.take("}") {
            if !comma {
                return Err(self.expected("`,` or `}`"));
            }
            let key = self.value()?;
            self.need(":")?;
            entries.push((key, self.value()?));
            comma = self.take(",");
        }
        Ok(Value::Map(entries))
    }

    /// A struct or an enum; its class is next.
    fn record(&mut self) -> Result<Value> {
        let class = self.name()?;
        let variant = if self.take("::") { Some(self.name()?) } else { None };
        let is_enum = variant.is_some();
        let mut record = match variant {
            Some(variant) => Record::of_variant(class, variant),
            None => Record::new(class),
        };
        if self.take("{") {
            self.fields(&mut record)?;
        } else if !is_enum {
            return Err(self.expected("`::` or `{` behind the name of a class"));
        }
        Ok(Value::from(record))
    }

    fn fields(&mut self, record: &mut Record) -> Result<()> {
        let mut names = std::collections::HashSet::new();
        let mut comma = true;
        while !self.take("}") {
            if !comma {
                return Err(self.expected("`,` or `}`"));
            }
            let at = self.at;
            let name = self.name()?;
            self.need(":")?;
            let value = self.value()?;
            if !names.insert(name.clone()) {
                return Err(self.bad(at, &format!("the field {name} stands twice")));
            }
            record.push(name, value);
            comma = self.take(",");
        }
        Ok(())
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

    /// What begins with a word.
    fn word(&mut self) -> Result<Value> {
        let start = self.at;
        let word = self.take_while(continues_word);
        if word == "b" && self.peek() == Some('"') {
            return self.bytes();
        }
        if let Some(value) = infinite(word, false) {
            return Ok(value);
        }
        match word {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            "none" => Ok(Value::Option(None)),
            "some" => self.nested(Self::some),
            "nan" => self.nan(),
            "handle" => self.handle(),
            _ => {
                self.at = start;
                self.nested(Self::record)
            }
        }
    }

    fn some(&mut self) -> Result<Value> {
        self.need("(")?;
        let value = self.value()?;
        self.take(",");
        self.need(")")?;
        Ok(Value::Option(Some(Box::new(value))))
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
