use super::Parser;
use crate::Result;
use crate::value::Value;

impl Parser<'_> {
    pub(super) fn bytes(&mut self) -> Result<Value> {
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

    pub(super) fn char(&mut self) -> Result<Value> {
        let at = self.at;
        let text = self.quoted('\'')?;
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) => Ok(Value::Char(c)),
            _ => Err(self.bad(at, "expected one character between the quotes")),
        }
    }

    /// Text between quotes, with Rust's escapes.
    pub(super) fn quoted(&mut self, quote: char) -> Result<String> {
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
