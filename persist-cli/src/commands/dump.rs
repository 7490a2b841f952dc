//! `persist dump`.

use std::collections::{HashSet, VecDeque};
use std::io::Write;
use std::path::PathBuf;

use persist::debug::print::{How, Lines, Title};
use persist::{ObjectId, Value};
use serde::Serialize;

use crate::exit::{Outcome, Result};
use crate::found::{Found, Visit, each_object};
use crate::input::{Damage, Save, Source};
use crate::mapped::Mapped;
use crate::output::{Out, note};
use crate::path::Path;
use crate::streamed::{ElementSink, Elements, Streamed};
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
  .items[0:3]  .items[-1]     some elements of a list, the last one
  .prices[sword]  .at[-5]     a value of a map by its key
  'Item[name == \"sword\"].damage'  '.items[count > 1 && of != nails]'
                              those for which a condition holds
  .state::Fighting.0          a field, if the enum is at that variant
  World/House/Door            an object of a world, below another one
  World/Door:Transform.x      a field of its component
  World/**:Transform  World:Score
                              all components of a class; a resource
  '/**:Health[current < 5]'   components for which a condition holds
Names that are no words stand in backticks: `Slot<u8>`[0].";

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let mut source = Source::open(&args.file)?;
    let (mut save, read) = source.save(&args.damage)?;
    let path = args.path.as_ref().map(|text| Path::parse(text, &mut save)).transpose()?;
    let mut shown = Shown {
        path: path.as_ref(),
        save: &mut save,
        is_raw: args.raw,
        follows: args.follow,
        count: 0,
    };
    if out.is_json() {
        let matches = Streamed::new(shown);
        matches.result(out.json(&matches))?;
        shown = matches.into_elements();
    } else {
        let how = How { is_raw: args.raw, depth: args.depth, has_colours: out.has_colours() };
        let mut is_first = true;
        shown.each_value(&mut |found| {
            if !std::mem::take(&mut is_first) {
                writeln!(out)?;
            }
            let label = &*found.label;
            let object = found.hops.is_empty().then_some(found.object);
            write!(out, "{}", Title { label, object, how })?;
            write!(out, "{}", Lines { label, value: &found.value, how })?;
            Ok(true)
        })?;
    }
    let is_found = path.is_none() || shown.count > 0;
    if let (false, Some(path), Some(text)) = (is_found, &path, &args.path) {
        note(path.missing(text, &mut save));
    }
    Ok(Outcome::found(!is_found).and(read))
}

/// The values that are shown, one after another.
struct Shown<'p, 's> {
    /// `None` for all objects.
    path: Option<&'p Path>,
    save: &'p mut Save<'s>,
    is_raw: bool,
    /// True if the objects follow that the values refer to, directly and indirectly.
    follows: bool,
    count: u64,
}

impl Shown<'_, '_> {
    fn each_value(&mut self, visit: &mut Visit<'_>) -> Result<()> {
        let mut followed = Followed::default();
        let mut continues = true;
        let mut take = |found: Found<'_>| {
            self.count += 1;
            if self.follows {
                followed.note(&found);
            }
            continues = visit(found)?;
            Ok(continues)
        };
        match self.path {
            Some(path) => path.each(self.save, &mut take)?,
            None => each_object(self.save, &mut take)?,
        }
        while continues && let Some(id) = followed.open.pop_front() {
            if followed.seen.contains(&(id, false)) {
                continue;
            }
            let Some((position, entry)) = self.save.object(id)? else { continue };
            let found = Found::whole(&entry, position);
            followed.note(&found);
            continues = visit(found)?;
        }
        Ok(())
    }
}

impl Elements for Shown<'_, '_> {
    fn each(&mut self, to: &mut impl ElementSink) -> Result<()> {
        let is_raw = self.is_raw;
        self.each_value(&mut |found| Ok(to.put(&Match::of(&found, is_raw))))
    }
}

/// The objects that shown values refer to.
#[derive(Default)]
struct Followed {
    /// The ids of the whole objects that were shown, and whether they were unknown content.
    seen: HashSet<(ObjectId, bool)>,
    open: VecDeque<ObjectId>,
}

impl Followed {
    fn note(&mut self, found: &Found<'_>) {
        if found.hops.is_empty() {
            self.seen.insert((found.object.id(), found.object.is_kept()));
        }
        self.open.extend(references(&found.value));
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
    pub(super) fn of(found: &'d Found<'_>, is_raw: bool) -> Self {
        let entry = found.object;
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
