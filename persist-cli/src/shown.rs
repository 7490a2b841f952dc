//! Values as text for people: worlds as objects with components, long values cut.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::Write;

use persist::{Record, Value};

use crate::exit::Result;
use crate::found::{Found, worlds};
use crate::output::{DIM, NAME, Out};
use crate::values::parts_mut;
use crate::world::{self, Object, World, has_world};

/// How values are shown.
#[derive(Clone, Copy)]
pub(crate) struct How {
    /// Shows worlds as the tables that are stored.
    pub(crate) is_raw: bool,
    /// Levels of values.
    pub(crate) depth: Option<usize>,
}

/// Columns of a value on one line, where it is only mentioned.
const SHORT: usize = 60;

/// Returns a value on one line, cut if it is long.
pub(crate) fn short(value: &Value) -> String {
    let mut line = Line { text: String::new(), room: SHORT };
    // Writing fails where the line is full.
    if write!(line, "{:.4}", without_worlds(value)).is_err() {
        line.text.push_str("...");
    }
    line.text
}

/// The beginning of a text.
struct Line {
    text: String,
    /// Characters that still fit.
    room: usize,
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = text.char_indices().nth(self.room).map_or(text.len(), |(end, _)| end);
        self.text.push_str(&text[..end]);
        self.room -= text[..end].chars().count();
        if end < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Prints a value, and after it the objects of the worlds in it.
pub(crate) fn print(found: Found<'_>, how: How, out: &mut Out) -> Result<()> {
    if !how.is_raw
        && let Some(object) = Object::of(&found.value)
    {
        return object.components.iter().try_for_each(|component| part(component, how, out));
    }
    writeln!(out, "{}", text(&found.value, how))?;
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
    for line in text(value, how).lines() {
        writeln!(out, "    {line}")?;
    }
    Ok(())
}

/// Returns the text of a value, down to the levels to show.
fn text(value: &Value, how: How) -> String {
    let value = if how.is_raw { Cow::Borrowed(value) } else { without_worlds(value) };
    match how.depth {
        // Formatting panics beyond this.
        Some(depth) => format!("{value:#.depth$}", depth = depth.min(u16::MAX.into())),
        None => format!("{value:#}"),
    }
}

/// A value without the objects of worlds, which are shown elsewhere.
fn without_worlds(value: &Value) -> Cow<'_, Value> {
    if !has_world(value) {
        return Cow::Borrowed(value);
    }
    let mut copy = value.clone();
    let mut open = vec![&mut copy];
    while let Some(value) = open.pop() {
        if let Some(count) = World::of(value).map(|world| world.objects.len() as u64) {
            let mut record = Record::new(world::CLASS);
            record.set("objects", count);
            *value = record.into();
            continue;
        }
        open.extend(parts_mut(value));
    }
    Cow::Owned(copy)
}
