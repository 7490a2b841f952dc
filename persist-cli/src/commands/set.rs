//! `persist set`.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::PathBuf;

use persist::{ObjectId, Value};
use persist_tools::__private::{Position, write_file};
use serde::Serialize;

use super::diff::print_change;
use super::dump::EXAMPLES;
use super::info::keep_unsaved;
use crate::compare;
use crate::exit::{Failure, Outcome, Result};
use crate::found::each_world;
use crate::input::{Bar, Save, Source};
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
    let mut source = open(&args.file)?;
    let bar = source.bar().clone();
    let mut save = source.whole()?;
    if !args.dry_run {
        may_change(&args.file, args.force)?;
    }
    let targets = find(&mut save, &args.path, args.all)?;
    let change = |target: Target| {
        let new = typed(&args.value, &target.value).map_err(Failure::new)?;
        Ok(Change { target, new })
    };
    let changes = targets.into_iter().map(change).collect::<Result<Vec<_>>>()?;
    let file = (!args.dry_run).then_some(&*args.file);
    write_changes(changes, &mut save, file, &bar, out)
}

/// Opens a save to change it.
pub(super) fn open(file: &std::path::Path) -> Result<Source> {
    let source = Source::open(file)?;
    if source.path.is_none() {
        return Err(Failure::new("standard input cannot be changed; give a file"));
    }
    Ok(source)
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

/// A value that a path leads to, without the rest of the save.
pub(super) struct Target {
    /// The position of its object in the save, the id of that, and the index of its class.
    position: Position,
    pub(super) id: ObjectId,
    pub(super) class: usize,
    pub(super) is_kept: bool,
    pub(super) hops: Vec<Hop>,
    label: String,
    pub(super) value: Value,
}

/// Finds the one value that a path leads to, or several if there may be more.
pub(super) fn find(save: &mut Save<'_>, text: &str, may_be_more: bool) -> Result<Vec<Target>> {
    let path = Path::parse(text, save)?;
    let mut targets: Vec<Target> = Vec::new();
    let mut count = 0_u64;
    path.each(save, &mut |found| {
        count += 1;
        // Of more than one, the message names two.
        if may_be_more || targets.len() < 2 {
            targets.push(Target {
                position: found.position,
                id: found.object.id(),
                class: found.object.class_index(),
                is_kept: found.object.is_kept(),
                hops: found.hops,
                label: found.label,
                value: found.value.into_owned(),
            });
        }
        Ok(true)
    })?;
    match &targets[..] {
        [] => Err(Failure::new(path.missing(text, save))),
        [first, second, ..] if !may_be_more => Err(Failure::new(format!(
            "{text} leads to {count} values, the first of them {} and {}; say which",
            first.label, second.label,
        ))),
        _ => Ok(targets),
    }
}

/// A value that is replaced.
pub(super) struct Change {
    pub(super) target: Target,
    pub(super) new: Value,
}

impl Change {
    fn is_none(&self) -> bool {
        self.target.value == self.new
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
    save: &mut Save<'_>,
    file: Option<&std::path::Path>,
    bar: &Bar,
    out: &mut Out,
) -> Result<Outcome> {
    changes.retain(|change| !change.is_none());
    // In the order of the save.
    let mut by_object: BTreeMap<Position, Vec<&mut Change>> = BTreeMap::new();
    for change in &mut changes {
        by_object.entry(change.target.position).or_default().push(change);
    }
    // If a changed object is wrong, the file stays as it is.
    let mut written = HashMap::new();
    for (position, changes) in by_object {
        let Some(mut entry) = save.entry_at(position)? else { continue };
        for Change { target, new } in &*changes {
            if !replace(&mut entry.value, &target.hops, new.clone()) {
                let (label, new) = (&target.label, short(new));
                return Err(Failure::new(format!("{new} cannot be at {label}")));
            }
        }
        world::close_gaps(&mut entry.value);
        let id = entry.id();
        let (encoded, new) = save.encode(entry)?;
        world::check(&new, id)?;
        for change in changes {
            // The typed values now have the kinds of the save.
            if let Some(value) = part(&new, &change.target.hops) {
                change.new = value.clone();
            }
        }
        written.insert(position, encoded);
    }
    each_world(save, &|position| written.contains_key(&position), &mut |found| {
        world::check(&found.value, found.object.id())?;
        Ok(true)
    })?;
    changes.retain(|change| !change.is_none());
    if let Some(file) = file.filter(|_| !changes.is_empty()) {
        bar.resume();
        let (limits, header) = (*save.limits(), save.header().clone());
        let compression = save.compression();
        let replaced = write_file(file, &limits, &header, &mut |to, header| {
            save.write(to, (&header, compression), &written)
        });
        bar.clear();
        replaced?;
        out.note_done(format!("{} is changed", file.display()));
    }
    if out.is_json() {
        let shown = changes.iter().map(|change| ShownChange {
            path: if change.target.label.is_empty() { "." } else { &change.target.label },
            old: Mapped::shown(&change.target.value),
            new: Mapped::shown(&change.new),
        });
        out.json(&shown.collect::<Vec<_>>())?;
        return Ok(Outcome::Done);
    }
    for change in &changes {
        for part in compare::parts(&change.target.value, &change.new) {
            let label = format!("{}{}", change.target.label, part.at);
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
