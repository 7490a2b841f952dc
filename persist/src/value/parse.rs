//! The text of a value back into the value.

use std::str::FromStr;

use super::text::{continues_word, starts_word};
use super::{HandleValue, NESTING, Record, Value};
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
        self.depth = self.depth.checked_sub(1).ok_or_else(|| {
            let message = format!("values are nested deeper than {NESTING} levels");
            Error::new(ErrorKind::TooDeep, message).at(self.at as u64)
        })?;
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

    /// The bits of a float that is no number, and its type.
    fn nan(&mut self) -> Result<Value> {
        self.need("(")?;
        self.need("0x")?;
        let at = self.at;
        let digits = self.take_while(|c| c.is_ascii_hexdigit());
        self.need(")")?;
        let ty = self.take_while(continues_word).trim_start_matches('_');
        let narrow = u32::from_str_radix(digits, 16).map(f32::from_bits);
        let wide = u64::from_str_radix(digits, 16).map(f64::from_bits);
        match (ty, narrow, wide) {
            ("f32", Ok(number), _) if number.is_nan() => Ok(Value::F32(number)),
            ("f64", _, Ok(number)) if number.is_nan() => Ok(Value::F64(number)),
            _ => Err(self.bad(at, &format!("{digits} are not the bits of a NaN of {ty:?}"))),
        }
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

    fn number(&mut self) -> Result<Value> {
        let start = self.at;
        if self.peek() == Some('-') {
            self.at += 1;
            if self.peek().is_some_and(starts_word) {
                let word = self.take_while(continues_word);
                return infinite(word, true)
                    .ok_or_else(|| self.bad(start, "expected a number behind `-`"));
            }
        }
        let digits = |c: char| c.is_ascii_digit() || c == '_';
        self.take_while(digits);
        let mut is_float = false;
        if self.rest().starts_with('.') {
            is_float = true;
            self.at += 1;
            self.take_while(digits);
        }
        if let Some(rest) = self.rest().strip_prefix(['e', 'E']) {
            is_float = true;
            self.at += 1 + usize::from(rest.starts_with(['+', '-']));
            self.take_while(digits);
        }
        let number: String = self.text[start..self.at].chars().filter(|c| *c != '_').collect();
        let ty = self.take_while(continues_word);
        let value = match ty {
            "" if is_float => finite(number.parse().ok()).map(Value::F64),
            "" => whole(&number),
            "f32" => number.parse().ok().filter(|number: &f32| number.is_finite()).map(Value::F32),
            "f64" => finite(number.parse().ok()).map(Value::F64),
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
            let what = &self.text[start..self.at];
            let short: String = what.chars().take(60).collect();
            self.bad(start, &format!("{short} is no number of a type that there is"))
        })
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

    /// Text between quotes, with Rust's escapes.
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
        let bad = |parser: &Self| parser.bad(at, "there is no such escape");
        let Some(c) = self.peek() else { return Err(bad(self)) };
        self.at += c.len_utf8();
        Ok(match c {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '0' => '\0',
            '\\' | '"' | '\'' | '`' => c,
            'u' if self.rest().starts_with('{') => {
                self.at += 1;
                let digits = self.take_while(|c| c.is_ascii_hexdigit());
                let c = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                if !self.rest().starts_with('}') {
                    return Err(bad(self));
                }
                self.at += 1;
                c.ok_or_else(|| bad(self))?
            }
            _ => return Err(bad(self)),
        })
    }
}

/// The infinity that a word is: `inf`, `inf_f32` or `inf_f64`.
fn infinite(word: &str, negative: bool) -> Option<Value> {
    let sign = if negative { -1.0 } else { 1.0 };
    match word {
        "inf_f32" => Some(Value::F32(f32::INFINITY * sign)),
        "inf" | "inf_f64" => Some(Value::F64(f64::INFINITY * f64::from(sign))),
        _ => None,
    }
}

fn finite(number: Option<f64>) -> Option<f64> {
    number.filter(|number| number.is_finite())
}

/// An integer without its type.
fn whole(number: &str) -> Option<Value> {
    let narrow = number.parse().map(Value::I64).or_else(|_| number.parse().map(Value::U64));
    let wide = || number.parse().map(Value::I128).or_else(|_| number.parse().map(Value::U128));
    narrow.or_else(|_| wide()).ok()
}
