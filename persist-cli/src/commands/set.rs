//! `persist set`.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use persist::save::Entry;
use persist::{Document, Value};
use serde::Serialize;

use super::dump::EXAMPLES;
use super::info::keep_unsaved;
use crate::exit::{Failure, Outcome, Result};
use crate::input::Input;
use crate::mapped::Mapped;
use crate::output::{BAD, GOOD, NAME, Out};
use crate::path::{Found, Path};
use crate::shown::short;
use crate::values::{Hop, part, replace, typed};

/// Change a value; the old save stays as a backup
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A save.
    file: PathBuf,
    /// What to change.
    path: String,
    /// The new value, as `dump` shows it; numbers need no types, texts no quotes.
    #[arg(allow_hyphen_values = true)]
    value: String,
    /// Change all values that the path leads to.
    #[arg(long)]
    all: bool,
    /// Show what would change, and write nothing.
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Change the save even if a journal beside it has unsaved changes, which are lost then.
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let input = Input::read(&args.file)?;
    let Some(file) = &input.path else {
        return Err(Failure::new("standard input cannot be changed; give a file"));
    };
    let mut save = input.document()?;
    if !args.dry_run {
        keep_unsaved(file, args.force)?;
    }
    let found = Path::parse(&args.path, &save)?.find(&save)?;
    one_of(&found, args.all, &args.path)?;
    let change = |found: &Found<'_>| -> Result<Change> {
        let new = typed(&args.value, &found.value)
            .map_err(|error| Failure::new(format!("`{}` is no value: {error}", args.value)))?;
        Ok(Change::of(found, new))
    };
    let changes = found.iter().map(change).collect::<Result<Vec<_>>>()?;
    drop(found);
    write_changes(changes, &mut save, (!args.dry_run).then_some(&**file), out)
}

/// Checks that a path leads to one value, or to some if there may be several.
pub(super) fn one_of(found: &[Found<'_>], may_be_more: bool, path: &str) -> Result<()> {
    match found.len() {
        0 => Err(Failure::new(format!("nothing is at {path}"))),
        1 => Ok(()),
        _ if may_be_more => Ok(()),
        count => Err(Failure::new(format!(
            "{path} leads to {count} values, the first of them {} and {}; say which",
            found[0].label, found[1].label,
        ))),
    }
}

/// A value that is replaced.
pub(super) struct Change {
    label: String,
    entry: usize,
    way: Vec<Hop>,
    old: Value,
    new: Value,
}

impl Change {
    pub(super) fn of(found: &Found<'_>, new: Value) -> Self {
        let (label, old) = (found.label.clone(), found.value.clone().into_owned());
        Self { label, entry: found.entry, way: found.way.clone(), old, new }
    }
}

#[derive(Serialize)]
struct ShownChange<'c> {
    path: &'c str,
    old: Mapped<'c>,
    new: Mapped<'c>,
}

/// Makes changes, writes the save if it goes to a file, and prints what has changed.
pub(super) fn write_changes(
    mut changes: Vec<Change>,
    save: &mut Document,
    file: Option<&std::path::Path>,
    out: &mut Out,
) -> Result<Outcome> {
    changes.retain(|change| change.old != change.new);
    let mut by_entry: HashMap<usize, Vec<&Change>> = HashMap::new();
    for change in &changes {
        by_entry.entry(change.entry).or_default().push(change);
    }
    for (place, entry) in save.entries_mut().enumerate() {
        for change in by_entry.remove(&place).unwrap_or_default() {
            if !replace(&mut entry.value, &change.way, change.new.clone()) {
                let (label, new) = (&change.label, short(&change.new));
                return Err(Failure::new(format!("{new} cannot be at {label}")));
            }
        }
    }
    // With what is wrong the file stays as it is.
    let written = Document::from_slice(&save.to_vec()?)?;
    if let Some(file) = file.filter(|_| !changes.is_empty()) {
        save.save(file)?;
        out.note_done(format!("{} is changed", file.display()));
    }
    // What was typed has the kinds of the save now.
    let entries: Vec<&Entry> = written.entries().collect();
    for change in &mut changes {
        let entry = entries.get(change.entry);
        if let Some(new) = entry.and_then(|entry| part(&entry.value, &change.way)) {
            change.new = new.clone();
        }
    }
    if out.is_json() {
        let shown = changes.iter().map(|change| ShownChange {
            path: &change.label,
            old: Mapped::shown(&change.old),
            new: Mapped::shown(&change.new),
        });
        out.json(&shown.collect::<Vec<_>>())?;
        return Ok(Outcome::Done);
    }
    for change in &changes {
        let (old, new) = (short(&change.old), short(&change.new));
        let label = out.styled(NAME, &change.label);
        writeln!(out, "{label}: {} -> {}", out.styled(BAD, old), out.styled(GOOD, new))?;
    }
    if changes.is_empty() {
        writeln!(out, "nothing changes")?;
    }
    Ok(Outcome::Done)
}
