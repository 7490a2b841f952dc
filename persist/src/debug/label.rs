//! The paths of values: what the command prints, and reads as an argument.

use std::borrow::Cow;
use std::fmt::Display;

use crate::Value;
use crate::save::untyped::Entry;
use crate::world::read_name;

/// Returns the parts of a value, each with the hop that leads to it.
pub fn parts(value: &Value) -> Vec<(Hop, &Value)> {
    match value {
        Value::Option(Some(inner)) => vec![(Hop::Some, inner)],
        Value::Seq(values) | Value::Tuple(values) => {
            values.iter().enumerate().map(|(at, value)| (Hop::Item(at), value)).collect()
        }
        Value::Map(entries) => {
            entries.iter().enumerate().map(|(at, (_, value))| (Hop::Entry(at), value)).collect()
        }
        Value::Struct(record) | Value::Enum(record) => {
            record.fields().map(|(name, value)| (Hop::Field(name.into()), value)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the parts of a value, to change them.
pub fn parts_mut(value: &mut Value) -> Box<dyn Iterator<Item = &mut Value> + '_> {
    match value {
        Value::Option(Some(inner)) => Box::new(std::iter::once(&mut **inner)),
        Value::Seq(values) | Value::Tuple(values) => Box::new(values.iter_mut()),
        Value::Map(entries) => Box::new(entries.iter_mut().map(|(_, value)| value)),
        Value::Struct(record) | Value::Enum(record) => {
            Box::new(record.fields_mut().map(|(_, value)| value))
        }
        _ => Box::new(std::iter::empty()),
    }
}

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hop {
    Field(Box<str>),
    /// Through an option.
    Some,
    /// An element of a list or tuple.
    Item(usize),
    /// The value of an entry of a map.
    Entry(usize),
    /// A byte of a list of bytes.
    Byte(usize),
}

impl Hop {
    /// Returns the hop as it stands in a message of the library; `None` through an option.
    pub fn in_message(&self) -> Option<String> {
        match self {
            Self::Field(name) => Some(name.to_string()),
            Self::Some => None,
            Self::Item(at) | Self::Entry(at) | Self::Byte(at) => Some(format!("[{at}]")),
        }
    }
}

/// Returns the part of a value at the end of some hops; `None` if they lead nowhere, or to a byte.
pub fn part<'v>(value: &'v Value, hops: &[Hop]) -> Option<&'v Value> {
    hops.iter().try_fold(value, |value, hop| match (value, hop) {
        (Value::Struct(record) | Value::Enum(record), Hop::Field(name)) => record.get(name),
        (Value::Option(inner), Hop::Some) => inner.as_deref(),
        (Value::Seq(values) | Value::Tuple(values), Hop::Item(item)) => values.get(*item),
        (Value::Map(entries), Hop::Entry(entry)) => entries.get(*entry).map(|(_, value)| value),
        _ => None,
    })
}

/// Returns the path of an object; empty for the value of a save of one value.
#[must_use]
pub fn object_path(object: &Entry) -> String {
    if object.is_root() { String::new() } else { object.id().to_string() }
}

/// Appends a hop into a value to the path of the value.
pub fn push_hop(label: &mut String, value: &Value, hop: &Hop) {
    match (hop, value) {
        (Hop::Field(name), _) => push_name(label, name),
        (Hop::Item(at) | Hop::Byte(at), _) => push_key(label, at),
        (Hop::Entry(at), Value::Map(entries)) => push_key(label, &entries[*at].0),
        (Hop::Some | Hop::Entry(_), _) => {}
    }
}

fn push_key(label: &mut String, key: &impl Display) {
    label.extend(["[", &key.to_string(), "]"]);
}

/// Appends the name of a field to the path of a value.
pub fn push_name(label: &mut String, name: &str) {
    let is_plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    label.push('.');
    if is_plain {
        label.push_str(name);
    } else {
        label.extend(["`", &escaped(name), "`"]);
    }
}

fn escaped(name: &str) -> String {
    name.escape_debug().to_string().replace('`', "\\`")
}

/// The name of a class as it stands in a path.
pub fn class_text(name: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let is_word = !name.is_empty() && name.chars().all(is_plain);
    if is_word && !name.starts_with('.') && !name.contains("..") {
        name.into()
    } else {
        format!("`{}`", escaped(name)).into()
    }
}

/// The name of a class of components, which ends where a field begins.
pub fn component_text(name: &str) -> Cow<'_, str> {
    if name.contains('.') { format!("`{}`", escaped(name)).into() } else { class_text(name) }
}

/// Writes an object of a world as it stands in a path, by the text that the save has for its name. The
/// command reads it. A number that the library gave stands outside of the quotes, after a `#`.
pub fn child_text(text: &str) -> String {
    let (name, number) = read_name(text);
    let is_plain = |c: char| c.is_alphanumeric() || "_- ".contains(c);
    let is_plain = !name.is_empty() && name.chars().all(is_plain);
    let name = if is_plain { name } else { format!("{name:?}").into() };
    if number == 0 { name.into_owned() } else { format!("{name}#{number}") }
}
