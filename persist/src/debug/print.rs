//! Prints values as text for people: worlds as objects with components.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter, Write};

use super::escape::{DIM, NAME, Styled};
use super::label::{Hop, parts, parts_mut, push_hop};
use super::world::{self, ObjectView, WorldView, has_world, record_of};
use crate::save::untyped::Entry;
use crate::{Record, Value};

/// How values are shown.
#[derive(Clone, Copy)]
pub struct How {
    /// Shows worlds as the tables that are stored.
    pub is_raw: bool,
    /// Levels of values.
    pub depth: Option<usize>,
    pub has_colours: bool,
}

/// The line with the path and class of a value.
pub struct Title<'v> {
    pub label: &'v str,
    /// The object that the value is; `None` for a part of one.
    pub object: Option<&'v Entry>,
    pub how: How,
}

impl Display for Title<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let label = if self.label.is_empty() { "." } else { self.label };
        self.how.styled(NAME, label).fmt(f)?;
        if let Some(object) = self.object {
            let is_held = object.holder() != "_";
            let held = if is_held { format!(" in {}", object.holder()) } else { String::new() };
            let unknown = if object.is_kept() { " has kept" } else { "" };
            let added = if is_held && object.is_added() { ", added" } else { "" };
            let of = format!("{unknown} {}{held}{added}", object.class());
            self.how.styled(DIM, of).fmt(f)?;
        }
        f.write_char('\n')
    }
}

/// The lines of a value, and after them the objects of the worlds in it.
pub struct Lines<'v> {
    pub label: &'v str,
    pub value: &'v Value,
    pub how: How,
}

impl Display for Lines<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { label, value, how } = *self;
        if !how.is_raw
            && let Some(object) = ObjectView::of(value)
        {
            return object.components.iter().try_for_each(|component| how.part(component, f));
        }
        how.value(value, f)?;
        f.write_char('\n')?;
        if how.is_raw {
            return Ok(());
        }
        for hops in worlds_in(value) {
            let (mut label, mut at) = (label.to_owned(), value);
            for hop in &hops {
                push_hop(&mut label, at, hop);
                let Some(next) = super::label::part(at, std::slice::from_ref(hop)) else { break };
                at = next;
            }
            how.world(&label, at, f)?;
        }
        Ok(())
    }
}

impl How {
    fn styled<T: Display>(self, style: &'static str, text: T) -> Styled<T> {
        Styled::new(self.has_colours, style, text)
    }

    /// Prints the objects and resources of a world.
    fn world(self, label: &str, value: &Value, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(world) = WorldView::of(value) else { return Ok(()) };
        for (place, object) in world.objects.iter().enumerate() {
            let path = self.styled(NAME, format!("{label}{}", world.path(place)));
            write!(f, "\n{path}{}", self.styled(DIM, format_args!("  #{}", object.id)))?;
            if object.activity != "Active" {
                write!(f, "  {}", object.activity)?;
            }
            f.write_char('\n')?;
            object.components.iter().try_for_each(|component| self.part(component, f))?;
        }
        if !world.resources.is_empty() {
            let title = format!("{label} resources");
            writeln!(f, "\n{}", self.styled(NAME, title.trim_start()))?;
            world.resources.iter().try_for_each(|resource| self.part(resource, f))?;
        }
        Ok(())
    }

    /// Prints a component, indented.
    fn part(self, value: &Value, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("    ")?;
        self.value(value, &mut Indenting { to: f })?;
        f.write_char('\n')
    }

    /// Prints a value, down to the levels to show.
    fn value(self, value: &Value, to: &mut dyn Write) -> fmt::Result {
        let value = if self.is_raw { Cow::Borrowed(value) } else { without_worlds(value) };
        match self.depth {
            // Formatting panics beyond this.
            Some(depth) => write!(to, "{value:#.depth$}", depth = depth.min(u16::MAX.into())),
            None => write!(to, "{value:#}"),
        }
    }
}

/// Indents all lines but the first.
struct Indenting<'t> {
    to: &'t mut dyn Write,
}

impl Write for Indenting<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for line in text.split_inclusive('\n') {
            self.to.write_str(line)?;
            if line.ends_with('\n') {
                self.to.write_str("    ")?;
            }
        }
        Ok(())
    }
}

/// Returns the hops to each world in a value, in order.
#[must_use]
pub fn worlds_in(value: &Value) -> Vec<Vec<Hop>> {
    // Most values have none, and a walk that knows where it is takes longer.
    if !has_world(value) {
        return Vec::new();
    }
    let (mut found, mut open) = (Vec::new(), vec![(Vec::new(), value)]);
    while let Some((hops, value)) = open.pop() {
        if record_of(value).is_some() {
            found.push(hops);
            continue;
        }
        let inner = parts(value).into_iter().rev().filter(|(_, part)| has_parts(part));
        open.extend(inner.map(|(hop, part)| ([&hops[..], &[hop]].concat(), part)));
    }
    found
}

fn has_parts(value: &Value) -> bool {
    matches!(
        value,
        Value::Option(Some(_))
            | Value::Seq(_)
            | Value::Tuple(_)
            | Value::Map(_)
            | Value::Struct(_)
            | Value::Enum(_)
    )
}

/// Returns a value without the objects of worlds, which are shown elsewhere.
#[must_use]
pub fn without_worlds(value: &Value) -> Cow<'_, Value> {
    if !has_world(value) {
        return Cow::Borrowed(value);
    }
    let mut copy = value.clone();
    let mut open = vec![&mut copy];
    while let Some(value) = open.pop() {
        if let Some(count) = WorldView::of(value).map(|world| world.objects.len() as u64) {
            let mut record = Record::new(world::CLASS);
            record.set("objects", count);
            *value = record.into();
            continue;
        }
        open.extend(parts_mut(value));
    }
    Cow::Owned(copy)
}
