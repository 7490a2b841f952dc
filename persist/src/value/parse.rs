//! Parses the text of a value.

use std::collections::HashSet;
use std::str::FromStr;

use super::{HandleValue, Record, Value, levels};
use super::{continues_word, starts_word};
use crate::{Error, ErrorKind, Limits, ObjectId, Result};

/// Parses the text that [`Display`](std::fmt::Display) writes, on one line or on several.
///
/// A number without its type becomes an `i64`, or the next wider integer that it fits, or an `f64`.
///
/// # Errors
///
/// Returns [`ErrorKind::InvalidValue`] with the offset in the text, or [`ErrorKind::TooDeep`] for a value that no save
/// may hold within the default [`Limits::depth`].
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

/// Parses the value at the beginning of a text, and returns it with its end.
///
/// # Errors
///
/// Returns the same errors as [`Value::from_str`].
#[cfg(any(feature = "history", feature = "world"))]
pub(crate) fn first_value(text: &str) -> Result<(Value, usize)> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value()?;
    Ok((value, parser.at))
}

/// Parses the name in backticks at the beginning of a text, and returns it with its end.
///
/// # Errors
///
/// Returns [`ErrorKind::InvalidValue`] if there is none.
#[cfg(any(feature = "history", feature = "world"))]
pub(crate) fn first_name(text: &str) -> Result<(String, usize)> {
    let mut parser = Parser { text, at: 0 };
    let name = parser.name()?;
    Ok((name, parser.at))
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

/// A value with some parts parsed.
struct ParseFrame {
    of: OpenValue,
    /// The parts so far; for a map, keys and values in turn.
    parts: Vec<Value>,
    /// True if the last token was a comma.
    comma: bool,
    /// Offset of the first part.
    at: usize,
}

enum OpenValue {
    Some,
    Seq,
    Tuple,
    Map,
    /// A record, with the names of its fields; the last name waits for its value.
    Record(Record, Vec<String>, HashSet<String>),
}

impl ParseFrame {
    fn new(of: OpenValue, parser: &Parser<'_>) -> Self {
        Self { of, parts: Vec::new(), comma: false, at: parser.at }
    }

    /// True if the key of an entry waits for its value.
    fn has_key(&self) -> bool {
        matches!(self.of, OpenValue::Map) && !self.parts.len().is_multiple_of(2)
    }

    /// Consumes the text before the next part. Returns true if there is no further part.
    fn ends(&mut self, parser: &mut Parser<'_>) -> Result<bool> {
        let close = match self.of {
            OpenValue::Some if self.parts.is_empty() => return Ok(false),
            OpenValue::Some => return parser.need(")").map(|()| true),
            OpenValue::Map if self.has_key() => return Ok(false),
            OpenValue::Seq => "]",
            OpenValue::Tuple => ")",
            OpenValue::Map | OpenValue::Record(..) => "}",
        };
        if parser.take(close) {
            return Ok(true);
        }
        if !self.parts.is_empty() && !self.comma {
            return Err(parser.expected(&format!("`,` or `{close}`")));
        }
        if let OpenValue::Record(_, names, known) = &mut self.of {
            let (at, name) = (parser.at, parser.name()?);
            if !known.insert(name.clone()) {
                return Err(parser.bad(at, &format!("the field {name} stands twice")));
            }
            names.push(name);
            parser.need(":")?;
        }
        Ok(false)
    }

    /// Adds the next part.
    fn put(&mut self, part: Value, parser: &mut Parser<'_>) -> Result<()> {
        self.parts.push(part);
        if self.has_key() {
            return parser.need(":");
        }
        self.comma = parser.take(",");
        Ok(())
    }

    /// Builds the value after the last part.
    fn whole(self, parser: &Parser<'_>) -> Result<Value> {
        let Self { of, mut parts, comma, at } = self;
        Ok(match of {
            OpenValue::Some => Value::Option(parts.pop().map(Box::new)),
            OpenValue::Seq => Value::Seq(parts),
            OpenValue::Tuple if parts.is_empty() => Value::Unit,
            OpenValue::Tuple if parts.len() == 1 && !comma => {
                return Err(parser.bad(at, "a tuple of one value is written `(value,)`"));
            }
            OpenValue::Tuple => Value::Tuple(parts),
            OpenValue::Map => {
                let mut parts = parts.into_iter();
                let entries = std::iter::from_fn(|| parts.next().zip(parts.next()));
                Value::Map(entries.collect())
            }
            OpenValue::Record(mut record, names, _) => {
                names.into_iter().zip(parts).for_each(|(name, part)| record.push(name, part));
                Value::from(record)
            }
        })
    }
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

    /// Consumes this text, if it comes next after spaces.
    fn take(&mut self, expected: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    fn need(&mut self, expected: &str) -> Result<()> {
        if self.take(expected) { Ok(()) } else { Err(self.expected(&format!("`{expected}`"))) }
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

    /// Consumes characters as long as they match.
    fn take_while(&mut self, is_match: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !is_match(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn word(&mut self) -> &'t str {
        self.take_while(continues_word)
    }

    /// Parses the next value.
    ///
    /// Without recursion: open values are on a stack of their own.
    fn value(&mut self) -> Result<Value> {
        let mut open = Vec::new();
        let mut whole = self.begin(&mut open)?;
        loop {
            let Some(last) = open.last_mut() else {
                // No value is open: the first value had no parts, or has ended.
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

    /// Consumes a value without parts, or opens one whose parts come next.
    fn begin(&mut self, open: &mut Vec<ParseFrame>) -> Result<Option<Value>> {
        self.space();
        let begun = match self.peek() {
            Some('(' | '[' | '{' | '`') => None,
            Some('"') => Some(self.quoted('"').map(Value::Text)?),
            Some('\'') => Some(self.char()?),
            Some('#') => Some(self.reference()?),
            Some(c) if c == '-' || c.is_ascii_digit() => Some(self.number()?),
            Some(c) if starts_word(c) => self.scalar()?,
            _ => return Err(self.expected("a value")),
        };
        if begun.is_some() {
            return Ok(begun);
        }
        let max = levels(&Limits::DEFAULT);
        if open.len() >= max {
            let message = format!("the value is nested deeper than {max} levels");
            return Err(Error::new(ErrorKind::TooDeep, message).at(self.at as u64));
        }
        let of = if self.take("[") {
            OpenValue::Seq
        } else if self.take("{") {
            OpenValue::Map
        } else if self.take("(") {
            if self.take(",") {
                self.need(")")?;
                return Ok(Some(Value::Tuple(Vec::new())));
            }
            OpenValue::Tuple
        } else if self.some() {
            self.need("(")?;
            OpenValue::Some
        } else {
            let class = self.name()?;
            let record = match self.take("::") {
                true => Record::with_variant(class, self.name()?),
                false => Record::new(class),
            };
            if !self.take("{") {
                if record.variant().is_some() {
                    return Ok(Some(Value::from(record)));
                }
                return Err(self.expected("`::` or `{` after the name of a class"));
            }
            OpenValue::Record(record, Vec::new(), HashSet::new())
        };
        open.push(ParseFrame::new(of, self));
        Ok(None)
    }

    /// Consumes the word `some`, unless it is a name in backticks or the beginning of a name.
    fn some(&mut self) -> bool {
        let start = self.at;
        let found = self.word() == "some";
        if !found {
            self.at = start;
        }
        found
    }

    /// Parses a name, plain or in backticks.
    fn name(&mut self) -> Result<String> {
        self.space();
        if self.peek() == Some('`') {
            return self.quoted('`');
        }
        match self.word() {
            "" => Err(self.expected("a name")),
            name => Ok(name.to_owned()),
        }
    }

    /// Parses a value that begins with a word. Returns `None`, and consumes nothing, for a value with parts.
    fn scalar(&mut self) -> Result<Option<Value>> {
        let start = self.at;
        Ok(Some(match self.word() {
            "b" if self.peek() == Some('"') => self.bytes()?,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "none" => Value::Option(None),
            "nan" => self.nan()?,
            "handle" => self.handle()?,
            word => match infinite(word, 1.0) {
                Some(value) => value,
                None => {
                    self.at = start;
                    return Ok(None);
                }
            },
        }))
    }

    fn handle(&mut self) -> Result<Value> {
        self.need("(")?;
        self.space();
        let at = self.at;
        let handle = match self.word() {
            "null" => HandleValue::Null,
            "live" => HandleValue::Live(self.key()?),
            "dead" => HandleValue::Dead(self.key()?),
            _ => return Err(self.bad(at, "a handle is null, live or dead")),
        };
        self.need(")")?;
        Ok(Value::Handle(handle))
    }

    fn key(&mut self) -> Result<u64> {
        self.space();
        let at = self.at;
        let digits = self.take_while(|c| c.is_ascii_digit());
        digits.parse().map_err(|_| self.bad(at, "expected the 64 bits of a key, as a number"))
    }

    fn reference(&mut self) -> Result<Value> {
        let at = self.at;
        self.need("#")?;
        let id = self.word();
        if id == "none" {
            return Ok(Value::Ref(None));
        }
        match id.parse().ok().and_then(ObjectId::new) {
            Some(id) => Ok(Value::Ref(Some(id))),
            None => Err(self.bad(at, "expected the id of an object, `#1` or more, or `#none`")),
        }
    }

    fn bytes(&mut self) -> Result<Value> {
        let at = self.at;
        let text = self.quoted('"')?;
        let bad = || self.bad(at, "bytes are pairs of hexadecimal digits");
        if !text.len().is_multiple_of(2) || !text.bytes().all(|c| c.is_ascii_hexdigit()) {
            return Err(bad());
        }
        let byte =
            |pair| text.get(pair..pair + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        let bytes: Option<Vec<u8>> = (0..text.len()).step_by(2).map(byte).collect();
        bytes.map(Value::Bytes).ok_or_else(bad)
    }

    fn char(&mut self) -> Result<Value> {
        let at = self.at;
        let text = self.quoted('\'')?;
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) => Ok(Value::Char(c)),
            _ => Err(self.bad(at, "expected one character between the quotes")),
        }
    }

    /// Parses text between quotes, with Rust's escapes.
    fn quoted(&mut self, quote: char) -> Result<String> {
        self.at += quote.len_utf8();
        let mut text = String::new();
        loop {
            text.push_str(self.take_while(|c| c != quote && c != '\\'));
            match self.peek() {
                Some(c) if c == quote => {
                    self.at += c.len_utf8();
                    return Ok(text);
                }
                Some(_) => text.push(self.escape()?),
                None => return Err(self.expected(&format!("the closing `{quote}`"))),
            }
        }
    }

    fn escape(&mut self) -> Result<char> {
        let at = self.at;
        self.at += 1;
        let letter = self.peek();
        self.at += letter.map_or(0, char::len_utf8);
        let escaped = match letter {
            Some('n') => Some('\n'),
            Some('r') => Some('\r'),
            Some('t') => Some('\t'),
            Some('0') => Some('\0'),
            Some('\\' | '"' | '\'' | '`') => letter,
            Some('u') => {
                let end = self.rest().find('}').unwrap_or_default();
                let digits = self.rest().get(..end).and_then(|digits| digits.strip_prefix('{'));
                let digits = digits.filter(|it| it.bytes().all(|c| c.is_ascii_hexdigit()));
                self.at += digits.map_or(0, |_| end + 1);
                let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                code.and_then(char::from_u32)
            }
            _ => None,
        };
        escaped.ok_or_else(|| self.bad(at, "there is no such escape"))
    }

    /// Parses the bits of a NaN, and its type.
    fn nan(&mut self) -> Result<Value> {
        self.need("(")?;
        self.need("0x")?;
        let at = self.at;
        let digits = self.take_while(|c| c.is_ascii_hexdigit());
        self.need(")")?;
        let ty = self.word().trim_start_matches('_');
        let narrow = u32::from_str_radix(digits, 16).map(f32::from_bits);
        let wide = u64::from_str_radix(digits, 16).map(f64::from_bits);
        match (ty, narrow, wide) {
            ("f32", Ok(number), _) if number.is_nan() => Ok(Value::F32(number)),
            ("f64", _, Ok(number)) if number.is_nan() => Ok(Value::F64(number)),
            _ => Err(self.bad(at, &format!("{digits} are not the bits of a NaN of {ty:?}"))),
        }
    }

    fn number(&mut self) -> Result<Value> {
        let start = self.at;
        if self.rest().starts_with('-') {
            self.at += 1;
            if self.peek().is_some_and(starts_word) {
                return infinite(self.word(), -1.0)
                    .ok_or_else(|| self.bad(start, "expected a number after `-`"));
            }
        }
        let digits = |c: char| c.is_ascii_digit() || c == '_';
        self.take_while(digits);
        let whole = self.at;
        if self.rest().starts_with('.') {
            self.at += 1;
            self.take_while(digits);
        }
        if let Some(rest) = self.rest().strip_prefix(['e', 'E']) {
            self.at += 1 + usize::from(rest.starts_with(['+', '-']));
            self.take_while(digits);
        }
        let is_float = self.at > whole;
        let number: String = self.text[start..self.at].chars().filter(|c| *c != '_').collect();
        let value = match self.word() {
            "" if !is_float => number
                .parse()
                .map(Value::I64)
                .or_else(|_| number.parse().map(Value::U64))
                .or_else(|_| number.parse().map(Value::I128))
                .or_else(|_| number.parse().map(Value::U128))
                .ok(),
            "" | "f64" => number.parse().ok().filter(|it: &f64| it.is_finite()).map(Value::F64),
            "f32" => number.parse().ok().filter(|it: &f32| it.is_finite()).map(Value::F32),
            "u8" => number.parse().ok().map(Value::U8),
            "u16" => number.parse().ok().map(Value::U16),
            "u32" => number.parse().ok().map(Value::U32),
            "u64" => number.parse().ok().map(Value::U64),
            "u128" => number.parse().ok().map(Value::U128),
            "i8" => number.parse().ok().map(Value::I8),
            "i16" => number.parse().ok().map(Value::I16),
            "i32" => number.parse().ok().map(Value::I32),
            "i64" => number.parse().ok().map(Value::I64),
            "i128" => number.parse().ok().map(Value::I128),
            _ => None,
        };
        value.ok_or_else(|| {
            let short: String = self.text[start..self.at].chars().take(60).collect();
            self.bad(start, &format!("{short} is no number, or does not fit its type"))
        })
    }
}

/// Returns the infinity that a word names: `inf`, `inf_f32` or `inf_f64`.
fn infinite(word: &str, sign: f32) -> Option<Value> {
    match word {
        "inf_f32" => Some(Value::F32(f32::INFINITY * sign)),
        "inf" | "inf_f64" => Some(Value::F64(f64::INFINITY * f64::from(sign))),
        _ => None,
    }
}
