//! Writes values as text that people read and that [`parse`](super::parse) parses.

use std::fmt::{self, Formatter, Write};

use super::{HandleValue, PartIter, Record, Value, continues_word, starts_word};

/// Largest number of columns of a value on one line, where the text has several lines.
const COLUMNS: usize = 96;

/// Number of columns that a value gets at least, however deep it is nested.
const MIN_COLUMNS: usize = 40;

const INDENT: usize = 4;

/// Words that cannot be names of classes without backticks.
const WORDS: [&str; 9] =
    ["true", "false", "none", "some", "inf", "inf_f32", "inf_f64", "nan", "handle"];

/// Writes the value like Rust code; `{:#}` splits a value that does not fit on a line.
///
/// Nothing is lost: `parse` returns the same value. A precision limits the number of levels, as in `{:.2}`; `..`
/// replaces deeper values, and such a text does not parse.
///
/// ```
/// use persist::{Record, Value};
///
/// let mut hero = Record::new("Hero");
/// hero.set("name", "Ada");
/// hero.set("level", 3_u32);
/// hero.set("friend", None::<String>);
/// let hero = Value::from(hero);
/// let text = hero.to_string();
/// assert_eq!(text, r#"Hero { name: "Ada", level: 3u32, friend: none }"#);
/// assert_eq!(text.parse::<Value>()?, hero);
/// assert_eq!(format!("{hero:.0}"), "Hero { .. }");
/// # Ok::<(), persist::Error>(())
/// ```
impl fmt::Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (indent, levels) = (f.alternate().then_some(0), f.precision());
        Printer { out: f, indent, levels }.value(self, 0)
    }
}

/// Writes the text of the value; `{:#?}` is on several lines.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

struct Printer<'o> {
    out: &'o mut dyn Write,
    /// Indentation in columns; `None` if all is on one line.
    indent: Option<usize>,
    /// Number of levels that are shown; `None` for all.
    levels: Option<usize>,
}

/// The text of a line, up to a number of bytes.
struct Line {
    text: String,
    room: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.room = self.room.checked_sub(text.len()).ok_or(fmt::Error)?;
        self.text.push_str(text);
        Ok(())
    }
}

/// A value with some parts printed.
struct PrintFrame<'v> {
    value: &'v Value,
    parts: PartIter<'v>,
    printed: usize,
    /// Level of its parts.
    level: usize,
}

impl Printer<'_> {
    fn value(&mut self, value: &Value, level: usize) -> fmt::Result {
        let mut open = Vec::new();
        self.begin(value, level, &mut open)?;
        while let Some(last) = open.last_mut() {
            match last.parts.next() {
                Some(part) => {
                    self.separator(last.value, last.printed)?;
                    last.printed += 1;
                    let level = last.level;
                    self.begin(part, level, &mut open)?;
                }
                None => {
                    self.end(last.value)?;
                    open.pop();
                }
            }
        }
        Ok(())
    }

    /// Prints a value up to its first part, or all of one that fits on the line.
    fn begin<'v>(
        &mut self,
        value: &'v Value,
        level: usize,
        open: &mut Vec<PrintFrame<'v>>,
    ) -> fmt::Result {
        let is_open = match value {
            Value::Struct(record) | Value::Enum(record) => {
                record.variant().is_none() || !record.is_empty()
            }
            value => value.may_have_parts(),
        };
        if let Some(indent) = self.indent.filter(|_| is_open) {
            let room = COLUMNS.saturating_sub(indent).max(MIN_COLUMNS);
            let mut line = Line { text: String::new(), room };
            let levels = self.levels;
            if (Printer { out: &mut line, indent: None, levels }).value(value, level).is_ok() {
                return self.out.write_str(&line.text);
            }
        }
        let is_option = matches!(value, Value::Option(_));
        let is_cut = !is_option && self.levels.is_some_and(|levels| level >= levels);
        if is_cut && value.parts().next().is_some() {
            return self.cut(value);
        }
        match value {
            Value::Option(Some(_)) => self.out.write_str("some(")?,
            Value::Seq(_) => self.open("[")?,
            Value::Tuple(_) => self.open("(")?,
            Value::Map(_) => self.open("{")?,
            Value::Struct(record) | Value::Enum(record) => {
                self.head(record)?;
                if is_open {
                    self.open(" {")?;
                }
            }
            scalar => write_scalar(scalar, self.out)?,
        }
        if is_open {
            let level = level + usize::from(!is_option);
            open.push(PrintFrame { value, parts: value.parts(), printed: 0, level });
        }
        Ok(())
    }

    /// Prints a value whose parts lie below the last level that is shown.
    fn cut(&mut self, value: &Value) -> fmt::Result {
        let cut = match value {
            Value::Seq(_) => "[..]",
            Value::Tuple(_) => "(..)",
            Value::Struct(record) | Value::Enum(record) => {
                self.head(record)?;
                " { .. }"
            }
            _ => "{ .. }",
        };
        self.out.write_str(cut)
    }

    fn head(&mut self, record: &Record) -> fmt::Result {
        write_name(record.class(), NameOf::Class, self.out)?;
        let Some(variant) = record.variant() else { return Ok(()) };
        self.out.write_str("::")?;
        write_name(variant, NameOf::Variant, self.out)
    }

    /// Prints the text before a part: a comma, a new line, a name.
    fn separator(&mut self, value: &Value, part: usize) -> fmt::Result {
        match value {
            Value::Option(_) => Ok(()),
            Value::Map(_) if part % 2 == 1 => self.out.write_str(": "),
            Value::Map(_) => self.next(part / 2, " "),
            Value::Struct(record) | Value::Enum(record) => {
                self.next(part, " ")?;
                let name = record.fields.get(part).map_or("", |field| &field.name);
                write_name(name, NameOf::Field, self.out)?;
                self.out.write_str(": ")
            }
            _ => self.next(part, ""),
        }
    }

    /// Prints the text after the last part.
    fn end(&mut self, value: &Value) -> fmt::Result {
        match value {
            Value::Seq(values) => self.close(!values.is_empty(), "", "]"),
            Value::Tuple(values) => {
                let one = self.indent.is_none() && values.len() < 2;
                self.close(!values.is_empty(), "", if one { ",)" } else { ")" })
            }
            Value::Map(entries) => self.close(!entries.is_empty(), " ", "}"),
            Value::Struct(record) | Value::Enum(record) => self.close(!record.is_empty(), " ", "}"),
            _ => self.out.write_str(")"),
        }
    }

    /// Begins the parts of a value.
    fn open(&mut self, bracket: &str) -> fmt::Result {
        self.indent = self.indent.map(|indent| indent + INDENT);
        self.out.write_str(bracket)
    }

    /// Begins the next part. `space` is printed before the first one on a line.
    fn next(&mut self, i: usize, space: &str) -> fmt::Result {
        match (self.indent, i) {
            (Some(indent), 0) => write!(self.out, "\n{:indent$}", ""),
            (Some(indent), _) => write!(self.out, ",\n{:indent$}", ""),
            (None, 0) => self.out.write_str(space),
            (None, _) => self.out.write_str(", "),
        }
    }

    /// Ends the parts of a value; `some` is true if there are any.
    fn close(&mut self, some: bool, space: &str, bracket: &str) -> fmt::Result {
        self.indent = self.indent.map(|indent| indent - INDENT);
        match self.indent {
            Some(indent) if some => write!(self.out, ",\n{:indent$}", "")?,
            None if some => self.out.write_str(space)?,
            _ => {}
        }
        self.out.write_str(bracket)
    }
}

fn write_scalar(value: &Value, out: &mut dyn Write) -> fmt::Result {
    match value {
        Value::Bool(value) => write!(out, "{value}"),
        Value::Char(value) => write!(out, "{value:?}"),
        Value::U8(number) => write!(out, "{number}u8"),
        Value::U16(number) => write!(out, "{number}u16"),
        Value::U32(number) => write!(out, "{number}u32"),
        Value::U64(number) => write!(out, "{number}u64"),
        Value::U128(number) => write!(out, "{number}u128"),
        Value::I8(number) => write!(out, "{number}i8"),
        Value::I16(number) => write!(out, "{number}i16"),
        Value::I32(number) => write!(out, "{number}i32"),
        Value::I64(number) => write!(out, "{number}i64"),
        Value::I128(number) => write!(out, "{number}i128"),
        Value::F32(number) if number.is_nan() => {
            write!(out, "nan({:#x})f32", number.to_bits())
        }
        Value::F64(number) if number.is_nan() => {
            write!(out, "nan({:#x})f64", number.to_bits())
        }
        Value::F32(number) if number.is_infinite() => write!(out, "{number}_f32"),
        Value::F64(number) if number.is_infinite() => write!(out, "{number}_f64"),
        // `Debug` prints the shortest text that parses to the same number.
        Value::F32(number) => write!(out, "{number:?}f32"),
        Value::F64(number) => write!(out, "{number:?}f64"),
        Value::Text(text) => write!(out, "{text:?}"),
        Value::Bytes(bytes) => {
            out.write_str("b\"")?;
            for byte in bytes {
                write!(out, "{byte:02x}")?;
            }
            out.write_str("\"")
        }
        Value::Option(_) => out.write_str("none"),
        Value::Ref(Some(id)) => write!(out, "{id}"),
        Value::Ref(None) => out.write_str("#none"),
        Value::Handle(HandleValue::Null) => out.write_str("handle(null)"),
        Value::Handle(HandleValue::Live(bits)) => write!(out, "handle(live {bits})"),
        Value::Handle(HandleValue::Dead(bits)) => write!(out, "handle(dead {bits})"),
        _ => out.write_str("()"),
    }
}

/// The item that a name belongs to, on which it depends whether the name needs backticks.
#[derive(Clone, Copy, PartialEq)]
pub enum NameOf {
    /// The name of a class.
    Class,
    /// The name of a variant.
    Variant,
    /// The name of a field.
    Field,
}

/// Writes a name. A name that is not a plain word is put into backticks, as in `` `Slot<Sword>` ``.
///
/// # Errors
///
/// Returns an error if `out` does.
pub fn write_name(name: &str, of: NameOf, out: &mut dyn Write) -> fmt::Result {
    if is_plain(name, of) {
        return out.write_str(name);
    }
    out.write_str("`")?;
    for c in name.chars() {
        match c {
            '`' => out.write_str("\\`")?,
            '"' | '\'' => out.write_char(c)?,
            c => write!(out, "{}", c.escape_debug())?,
        }
    }
    out.write_str("`")
}

fn is_plain(name: &str, of: NameOf) -> bool {
    let number = of != NameOf::Class && name.chars().all(|c| c.is_ascii_digit());
    !name.is_empty()
        && (number || name.starts_with(starts_word))
        && name.chars().all(continues_word)
        && !(of == NameOf::Class && WORDS.contains(&name))
}
