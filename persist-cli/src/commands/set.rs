//! `persist set`.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use persist::Value;
use persist_tools::{Document, Entry};
use serde::Serialize;

use super::diff::print_change;
use super::dump::EXAMPLES;
use super::info::keep_unsaved;
use crate::compare;
use crate::exit::{Failure, Outcome, Result};
use crate::found::Found;
use crate::input::Input;
use crate::mapped::Mapped;
use crate::output::{NAME, Out};
use crate::path::Path;
use crate::shown::short;
use crate::values::{Hop, part, replace, typed};
use crate::world;

/// Change a value; the old save stays as a backup
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A save.
    file: PathBuf,
    /// The path of the value to change.
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
    /// Change the save even if it is write-protected, or a journal beside it has unsaved changes, which are lost then.
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let (input, mut save) = open(&args.file)?;
    if !args.dry_run {
        may_change(&args.file, args.force)?;
    }
    let found = find(&save, &args.path, args.all)?;
    let change = |found: &Found<'_>| -> Result<Change> {
        Ok(Change::of(found, typed(&args.value, &found.value).map_err(Failure::new)?))
    };
    let changes = found.iter().map(change).collect::<Result<Vec<_>>>()?;
    drop(found);
    write_changes(changes, &mut save, input.path.filter(|_| !args.dry_run).as_deref(), out)
}

/// Opens a save to change it.
pub(super) fn open(file: &std::path::Path) -> Result<(Input, Document)> {
    let input = Input::read(file)?;
    if input.path.is_none() {
        return Err(Failure::new("standard input cannot be changed; give a file"));
    }
    let save = input.document()?;
    Ok((input, save))
}

/// Refuses to change a save that is write-protected, or that a journal follows with unsaved changes.
pub(super) fn may_change(file: &std::path::Path, is_forced: bool) -> Result<()> {
    refuse_protected(file, is_forced)?;
    keep_unsaved(file, is_forced)
}

/// Refuses to change a file that is write-protected.
pub(super) fn refuse_protected(file: &std::path::Path, is_forced: bool) -> Result<()> {
    let is_protected = file.metadata().is_ok_and(|file| file.permissions().readonly());
    if is_protected && !is_forced {
        return Err(Failure::new(format!(
            "{} is write-protected; allow to write it, or use `--force`",
            file.display()
        )));
    }
    Ok(())
}

/// Finds the one value that a path leads to, or several if there may be more.
pub(super) fn find<'d>(
    save: &'d Document,
    text: &str,
    may_be_more: bool,
) -> Result<Vec<Found<'d>>> {
    let path = Path::parse(text, save)?;
    let found = path.find(save)?;
    match &found[..] {
        [] => Err(Failure::new(path.missing(text, save))),
        [first, second, ..] if !may_be_more => Err(Failure::new(format!(
            "{text} leads to {} values, the first of them {} and {}; say which",
            found.len(),
            first.label,
            second.label,
        ))),
        _ => Ok(found),
    }
}

/// A value that is replaced.
pub(super) struct Change {
    label: String,
    entry: usize,
    hops: Vec<Hop>,
    old: Value,
    new: Value,
}

impl Change {
    pub(super) fn of(found: &Found<'_>, new: Value) -> Self {
        let (label, old) = (found.label.clone(), found.value.clone().into_owned());
        Self { label, entry: found.entry, hops: found.hops.clone(), old, new }
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
            if !replace(&mut entry.value, &change.hops, change.new.clone()) {
                let (label, new) = (&change.label, short(&change.new));
                return Err(Failure::new(format!("{new} cannot be at {label}")));
            }
        }
    }
    // If the changed save is wrong, the file stays as it is.
    let written = Document::from_slice(&save.to_vec()?)?;
    world::check(&written)?;
    // The typed values now have the kinds of the save.
    let entries: Vec<&Entry> = written.entries().collect();
    for change in &mut changes {
        let entry = entries.get(change.entry);
        if let Some(new) = entry.and_then(|entry| part(&entry.value, &change.hops)) {
            change.new = new.clone();
        }
    }
    changes.retain(|change| change.old != change.new);
    if let Some(file) = file.filter(|_| !changes.is_empty()) {
        save.save(file)?;
        out.note_done(format!("{} is changed", file.display()));
    }
    if out.is_json() {
        let shown = changes.iter().map(|change| ShownChange {
            path: if change.label.is_empty() { "." } else { &change.label },
            old: Mapped::shown(&change.old),
            new: Mapped::shown(&change.new),
        });
        out.json(&shown.collect::<Vec<_>>())?;
        return Ok(Outcome::Done);
    }
    for change in &changes {
        for part in compare::parts(&change.old, &change.new) {
            let label = format!("{}{}", change.label, part.at);
            let label = if label.is_empty() { "." } else { &*label };
            write!(out, "{}: ", out.styled(NAME, label))?;
            print_change(&part, out)?;
        }
    }
    if changes.is_empty() {
        writeln!(out, "nothing changes")?;
    }
    Ok(Outcome::Done)
}
