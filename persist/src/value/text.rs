//! Values as text that people read and that [`parse`](super::parse) reads.

use std::fmt::{self, Formatter, Write};

use super::{HandleValue, PartIter, Record, Value};

/// Columns that a value on one line takes at most, where there are several lines.
const COLUMNS: usize = 96;

/// The least columns, however deep a value is nested.
const LEAST_COLUMNS: usize = 40;

const INDENT: usize = 4;

/// Words that are no names of classes.
const WORDS: [&str; 9] =
    ["true", "false", "none", "some", "inf", "inf_f32", "inf_f64", "nan", "handle"];

/// Looks like Rust; `{:#}` puts what does not fit on a line on several.
///
/// Nothing is lost: `parse` gives the same value back. A precision is the number of levels that are shown, as in
/// `{:.2}`; `..` stands for what lies deeper, and does not parse.
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

/// The text of the value; `{:#?}` is on several lines.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

struct Printer<'o> {
    out: &'o mut dyn Write,
    /// Columns before a line; `None` if all is on one.
    indent: Option<usize>,
    /// Levels that are shown; `None` if all are.
    levels: Option<usize>,
}

/// What is put on a line, as long as it fits.
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

/// A value some of whose parts are printed.
struct PrintFrame<'v> {
    value: &'v Value,
    parts: PartIter<'v>,
    printed: usize,
    /// Of its parts.
    level: usize,
}

impl Printer<'_> {
    fn value(&mut self, value: &Value, level: usize) -> fmt::Result {
        let mut open = Vec::new();
        self.begin(value, level, &mut open)?;
        while let Some(last) = open.last_mut() {
            match last.parts.next() {
                Some(part) => {
                    self.before_part(last.value, last.printed)?;
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
            let room = COLUMNS.saturating_sub(indent).max(LEAST_COLUMNS);
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

    /// Prints a value whose parts lie too deep.
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

    /// Prints what stands before a part.
    fn before_part(&mut self, value: &Value, part: usize) -> fmt::Result {
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

    /// Prints what follows the last part.
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

    /// Begins parts.
    fn open(&mut self, bracket: &str) -> fmt::Result {
        self.indent = self.indent.map(|indent| indent + INDENT);
        self.out.write_str(bracket)
    }

    /// Goes to the next part; `space` stands before the first one on a line.
    fn next(&mut self, i: usize, space: &str) -> fmt::Result {
        match (self.indent, i) {
            (Some(indent), 0) => write!(self.out, "\n{:indent$}", ""),
            (Some(indent), _) => write!(self.out, ",\n{:indent$}", ""),
            (None, 0) => self.out.write_str(space),
            (None, _) => self.out.write_str(", "),
        }
    }

    /// Ends parts; `some` says whether there are any.
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
        // The shortest that is read as the same number.
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

/// What a name is of, on which it depends whether it can stand without quotes.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum NameOf {
    Class,
    Variant,
    Field,
}

/// Writes a name: one that is no word in backticks, as `` `Slot<Sword>` ``.
pub(crate) fn write_name(name: &str, of: NameOf, out: &mut dyn Write) -> fmt::Result {
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

pub(super) fn starts_word(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

pub(super) fn continues_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}
