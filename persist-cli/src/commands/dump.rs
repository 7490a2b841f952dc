//! `persist dump`.

use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;

use persist::save::Header;
use persist::{ObjectId, Value};
use persist_tools::{Document, Entry};
use serde::Serialize;

use crate::exit::{Outcome, Result};
use crate::found::{Found, all};
use crate::input::{Damage, Input};
use crate::mapped::Mapped;
use crate::output::{DIM, NAME, Out, note};
use crate::path::Path;
use crate::shown::{How, print};
use crate::values::parts;

/// Show values as text that parses back
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A save, or `-` for standard input.
    file: PathBuf,
    /// The path of the values to show; everything if it is left out.
    path: Option<String>,
    /// Show values down to this level.
    #[arg(long, value_name = "LEVELS")]
    depth: Option<usize>,
    /// Show the objects that the references lead to, too.
    #[arg(long)]
    follow: bool,
    /// Show worlds as the tables that are stored.
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    damage: Damage,
}

pub(super) const EXAMPLES: &str = "\
Paths:
  Hero                        all objects of a class; game.Hero is a Hero, too
  Hero[0].items[2].count      a field of the first one; options and references are followed
  Hero[*].name  '*.name'      a field of all of a class, of all objects
  '#17'                       an object by its id
  .level  [3]                 of a save of one value: a field, an element
  .prices[sword]  .at[-5]     a value of a map by its key
  .state::Fighting.0          a field, if the enum is at that variant
  World/House/Door            an object of a world, below another one
  World/Door:Transform.x      a field of its component
  World/**:Transform  World:Score
                              all components of a class; a resource
Names that are no words stand in backticks: `Slot<u8>`[0].";

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let (save, read) = Input::read(&args.file)?.open(&args.damage)?;
    let mut found = match &args.path {
        Some(text) => {
            let path = Path::parse(text, &save)?;
            let found = path.find(&save)?;
            if found.is_empty() {
                note(path.missing(text, &save));
            }
            found
        }
        None => all(&save),
    };
    let is_found = args.path.is_none() || !found.is_empty();
    if args.follow {
        follow(&mut found, &save);
    }
    if out.is_json() {
        let header = args.path.is_none().then(|| head(save.header()));
        let entries: Vec<&Entry> = save.entries().collect();
        let matches = found.iter().map(|found| Match::of(found, entries[found.entry], args.raw));
        out.json(&Dump { header, matches: matches.collect() })?;
        return Ok(Outcome::found(!is_found).and(read));
    }
    let how = How { is_raw: args.raw, depth: args.depth };
    let entries: Vec<&Entry> = save.entries().collect();
    for (number, found) in found.into_iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        title(&found, entries[found.entry], out)?;
        print(found, how, out)?;
    }
    Ok(Outcome::found(!is_found).and(read))
}

/// Prints the path and class of the value that follows.
fn title(found: &Found<'_>, entry: &Entry, out: &mut Out) -> Result<()> {
    let label = if found.label.is_empty() { "." } else { &*found.label };
    write!(out, "{}", out.styled(NAME, label))?;
    if found.hops.is_empty() {
        let is_held = entry.holder() != "_";
        let held = if is_held { format!(" in {}", entry.holder()) } else { String::new() };
        let unknown = if entry.is_kept() { " has kept" } else { "" };
        let added = if is_held && entry.is_added() { ", added" } else { "" };
        write!(
            out,
            "{}",
            out.styled(DIM, format_args!("{unknown} {}{held}{added}", entry.class()))
        )?;
    }
    Ok(writeln!(out)?)
}

/// Adds the objects that the found values refer to, directly and indirectly.
fn follow<'d>(found: &mut Vec<Found<'d>>, save: &'d Document) {
    let mut places = std::collections::HashMap::new();
    for (place, entry) in save.entries().enumerate().filter(|(_, entry)| !entry.is_kept()) {
        places.insert(entry.id(), place);
    }
    let is_whole = |found: &&Found<'_>| found.hops.is_empty();
    let mut seen: HashSet<usize> = found.iter().filter(is_whole).map(|it| it.entry).collect();
    let objects = all(save);
    let mut at = 0;
    while at < found.len() {
        for id in references(&found[at].value) {
            if let Some(place) = places.get(&id).filter(|place| seen.insert(**place)) {
                found.extend(objects.get(*place).cloned());
            }
        }
        at += 1;
    }
}

/// The references in a value, in order.
fn references(value: &Value) -> Vec<ObjectId> {
    let (mut found, mut open) = (Vec::new(), vec![value]);
    while let Some(next) = open.pop() {
        match next {
            Value::Ref(id) => found.extend(*id),
            Value::Map(entries) => {
                open.extend(entries.iter().rev().flat_map(|(key, value)| [value, key]));
            }
            other => open.extend(parts(other).into_iter().rev().map(|(_, part)| part)),
        }
    }
    found
}

#[derive(Serialize)]
struct Dump<'d> {
    #[serde(flatten)]
    header: Option<Head<'d>>,
    matches: Vec<Match<'d>>,
}

/// The header of a save, in the JSON of a dump.
#[derive(Serialize)]
pub(super) struct Head<'d> {
    format: u16,
    application: Option<&'d str>,
    version: Option<&'d str>,
    generation: u64,
}

pub(super) fn head(header: &Header) -> Head<'_> {
    Head {
        format: header.format,
        application: header.application.as_deref(),
        version: header.application_version.as_deref(),
        generation: header.generation,
    }
}

/// A value that a path leads to, as JSON.
#[derive(Serialize)]
pub(super) struct Match<'d> {
    path: &'d str,
    id: u64,
    class: &'d str,
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    added: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<bool>,
    value: Mapped<'d>,
}

impl<'d> Match<'d> {
    pub(super) fn of(found: &'d Found<'_>, entry: &'d Entry, is_raw: bool) -> Self {
        let is_whole = found.hops.is_empty();
        Self {
            path: if found.label.is_empty() { "." } else { &found.label },
            id: entry.id().get(),
            class: entry.class(),
            holder: is_whole.then(|| entry.holder()).filter(|holder| holder != "_"),
            added: is_whole.then(|| entry.is_added()),
            kept: (is_whole && entry.is_kept()).then_some(true),
            value: if is_raw { Mapped::exact(&found.value) } else { Mapped::shown(&found.value) },
        }
    }
}
