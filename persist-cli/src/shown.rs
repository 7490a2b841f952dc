//! Values as text for people: worlds as objects with components, deep values cut.

use std::borrow::Cow;
use std::io::Write;

use persist::{Record, Value};

use crate::exit::Result;
use crate::output::{DIM, NAME, Out};
use crate::path::{Found, worlds};
use crate::world::{self, Object, World, has_world};

/// How values are shown.
#[derive(Clone, Copy)]
pub(crate) struct How {
    /// Worlds as the tables that they are stored as.
    pub(crate) is_raw: bool,
    /// Levels of values.
    pub(crate) depth: Option<usize>,
}

/// Columns of a value on one line, where it is only mentioned.
const SHORT: usize = 60;

/// A value on one line; the beginning of a long one.
pub(crate) fn short(value: &Value) -> String {
    let value = cut(value, How { is_raw: false, depth: Some(4) });
    let text = value.to_string();
    match text.char_indices().nth(SHORT) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// Prints a value, and after it the objects of the worlds in it.
pub(crate) fn print(found: Found<'_>, how: How, out: &mut Out) -> Result<()> {
    if !how.is_raw
        && let Some(object) = Object::of(&found.value)
    {
        return object.components.iter().try_for_each(|component| part(component, how, out));
    }
    let shown = cut(&found.value, how);
    writeln!(out, "{shown:#}")?;
    drop(shown);
    if how.is_raw {
        return Ok(());
    }
    for world in worlds(found) {
        let Some(table) = World::of(&world.value) else { continue };
        for (place, object) in table.objects.iter().enumerate() {
            let path = format!("{}{}", world.label, table.path(place));
            write!(out, "\n{}", out.styled(NAME, path))?;
            write!(out, "{}", out.styled(DIM, format_args!("  #{}", object.id)))?;
            if object.activity != "Active" {
                write!(out, "  {}", object.activity)?;
            }
            writeln!(out)?;
            object.components.iter().try_for_each(|component| part(component, how, out))?;
        }
        if !table.resources.is_empty() {
            let title = format!("{} resources", world.label);
            writeln!(out, "\n{}", out.styled(NAME, title.trim_start()))?;
            table.resources.iter().try_for_each(|resource| part(resource, how, out))?;
        }
    }
    Ok(())
}

/// Prints a component, indented.
fn part(value: &Value, how: How, out: &mut Out) -> Result<()> {
    let text = format!("{:#}", cut(value, how));
    for line in text.lines() {
        writeln!(out, "    {line}")?;
    }
    Ok(())
}

/// A value without what is shown elsewhere or lies too deep.
fn cut(value: &Value, how: How) -> Cow<'_, Value> {
    if how.depth.is_none() && (how.is_raw || !has_world(value)) {
        return Cow::Borrowed(value);
    }
    let mut copy = value.clone();
    let mut open = vec![(&mut copy, 0)];
    while let Some((value, level)) = open.pop() {
        if !how.is_raw
            && let Some(world) = World::of(value)
        {
            let count = world.objects.len() as u64;
            drop(world);
            let mut record = Record::new(world::CLASS);
            record.set("objects", count);
            *value = record.into();
            continue;
        }
        let is_deep = how.depth.is_some_and(|depth| level >= depth);
        let is_list = match value {
            Value::Seq(values) | Value::Tuple(values) => !values.is_empty(),
            Value::Map(entries) => !entries.is_empty(),
            _ => false,
        };
        if is_deep && is_list {
            *value = Value::from("...");
            continue;
        }
        match value {
            Value::Option(Some(inner)) => open.push((inner, level)),
            Value::Seq(values) | Value::Tuple(values) => {
                open.extend(values.iter_mut().map(|value| (value, level + 1)));
            }
            Value::Map(entries) => {
                open.extend(entries.iter_mut().map(|(_, value)| (value, level + 1)));
            }
            Value::Struct(record) | Value::Enum(record) if !record.is_empty() => {
                if is_deep {
                    let name = record.class().to_owned();
                    *record = match record.variant() {
                        Some(variant) => Record::of_variant(name, variant),
                        None => Record::new(name),
                    };
                } else {
                    open.extend(record.fields_mut().map(|(_, value)| (value, level + 1)));
                }
            }
            _ => {}
        }
    }
    Cow::Owned(copy)
}
