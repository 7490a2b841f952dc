//! `persist diff`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use persist::Value;
use persist_tools::Document;
use serde::Serialize;

use crate::compare::{By, Change, Difference, compare, name};
use crate::escape;
use crate::exit::{Failure, Outcome, Result};
use crate::input::{Damage, Input};
use crate::mapped::Mapped;
use crate::output::{BAD, GOOD, HEADING, NAME, Out, WARNING};
use crate::shown::short;

/// Compare two saves, by object and field; exit code 1 if they differ
#[derive(clap::Args)]
#[command(after_help = GIT)]
pub(crate) struct Args {
    /// The old save and the new one; one of them may be `-`.
    #[arg(required = true, num_args = 2..=9, value_names = ["OLD", "NEW"])]
    files: Vec<PathBuf>,
    /// How objects are paired: by id, or by name (their class and their field `name`).
    #[arg(long, value_enum, default_value_t)]
    by: By,
    /// Show only how many objects and fields of each class differ.
    #[arg(long)]
    stat: bool,
    /// Take the arguments of git for a diff driver, and exit with 0.
    #[arg(long)]
    git: bool,
    #[command(flatten)]
    damage: Damage,
}

const GIT: &str = "\
For `git diff` of saves, once in each clone:
  git config diff.persist.command 'persist diff --git'
and in .gitattributes:
  *.sav diff=persist
Or, for `git log -p` and merges, which take no command: git config diff.persist.textconv 'persist dump'";

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let files: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    let ((old_name, old), (new_name, new)) = match (args.git, &files[..]) {
        // path old-file old-hex old-mode new-file new-hex new-mode
        (true, [path, old, _, _, new, ..]) => ((*path, *old), (*path, *new)),
        (false, [old, new]) => ((*old, *old), (*new, *new)),
        (true, _) => return Err(Failure::new("git gives seven arguments to a diff driver")),
        (false, _) => return Err(Failure::new("give two saves, the old one and the new one")),
    };
    let ((old, old_read), (new, new_read)) = (read(old, args)?, read(new, args)?);
    let nothing = Document::from_slice(&persist::SaveManager::new().allow_empty().to_vec()?)?;
    let differences =
        compare(old.as_ref().unwrap_or(&nothing), new.as_ref().unwrap_or(&nothing), args.by);
    let is_different = !differences.is_empty();
    if out.is_json() {
        print_json((old_name, new_name), &differences, out)?;
    } else if is_different {
        writeln!(out, "{}", out.styled(HEADING, format_args!("--- {}", old_name.display())))?;
        writeln!(out, "{}", out.styled(HEADING, format_args!("+++ {}", new_name.display())))?;
        if args.stat {
            print_stat(&differences, out)?;
        } else {
            differences.iter().try_for_each(|difference| print(difference, out))?;
        }
        print_sum(&differences, out)?;
    }
    Ok(Outcome::found(is_different && !args.git).and(old_read).and(new_read))
}

/// Reads the save of a file. Returns `None` for the empty device that git passes where there is no file.
fn read(path: &Path, args: &Args) -> Result<(Option<Document>, Outcome)> {
    let input = Input::read(path)?;
    if input.bytes.is_empty() && (path == Path::new("/dev/null") || path == Path::new("nul")) {
        return Ok((None, Outcome::Done));
    }
    let (document, read) = input.open(&args.damage)?;
    Ok((Some(document), read))
}

fn print(difference: &Difference<'_>, out: &mut Out) -> Result<()> {
    let (sign, style) = match (difference.old, difference.new) {
        (Some(_), Some(_)) => ("~", WARNING),
        (Some(_), None) => ("-", BAD),
        _ => ("+", GOOD),
    };
    let Some(entry) = difference.new.or(difference.old) else { return Ok(()) };
    write!(out, "{} {}", out.styled(style, sign), out.styled(NAME, entry.id()))?;
    if let Some(old) = difference.old.filter(|old| old.id() != entry.id()) {
        write!(out, " (was {})", old.id())?;
    }
    write!(out, " {}", escape::line(entry.class()))?;
    match name(entry) {
        Some(name) => writeln!(out, " {name:?}")?,
        None => writeln!(out)?,
    }
    for change in &difference.changes {
        let at = if change.at.is_empty() { "." } else { &change.at };
        write!(out, "    {}: ", escape::line(at))?;
        print_change(change, out)?;
    }
    Ok(())
}

/// Prints the old and the new value of a part.
pub(super) fn print_change(change: &Change<'_>, out: &mut Out) -> Result<()> {
    match (change.old, change.new) {
        (Some(old), Some(new)) => {
            let (old, new) = (out.styled(BAD, short(old)), out.styled(GOOD, short(new)));
            writeln!(out, "{old} -> {new}")?;
        }
        (Some(old), None) => writeln!(out, "{}", out.styled(BAD, format!("- {}", short(old))))?,
        (_, new) => {
            let new = new.map(short).unwrap_or_default();
            writeln!(out, "{}", out.styled(GOOD, format!("+ {new}")))?;
        }
    }
    Ok(())
}

/// Numbers of objects and fields of a class that differ.
#[derive(Default)]
struct Count {
    added: u64,
    removed: u64,
    changed: u64,
    fields: u64,
}

/// How many objects and fields of each class differ; components of worlds count by their own.
fn counts<'d>(differences: &[Difference<'d>]) -> BTreeMap<&'d str, Count> {
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    for difference in differences {
        let Some(entry) = difference.new.or(difference.old) else { continue };
        let count = counts.entry(entry.class()).or_default();
        match (difference.old, difference.new) {
            (Some(_), Some(_)) => count.changed += 1,
            (Some(_), None) => count.removed += 1,
            _ => count.added += 1,
        }
        for change in &difference.changes {
            let class = change.component.unwrap_or_else(|| entry.class());
            counts.entry(class).or_default().fields += 1;
        }
    }
    counts
}

fn print_stat(differences: &[Difference<'_>], out: &mut Out) -> Result<()> {
    let counts = counts(differences);
    let counts: Vec<_> = counts.iter().map(|(class, it)| (escape::line(class), it)).collect();
    let width = counts.iter().map(|(class, _)| class.chars().count()).max().unwrap_or_default();
    for (class, count) in counts {
        let mut parts = Vec::new();
        let mut part = |number: u64, what: &str| {
            if number > 0 {
                parts.push(format!("{number} {what}"));
            }
        };
        part(count.added, "added");
        part(count.removed, "removed");
        part(count.changed, "changed");
        part(count.fields, if count.fields == 1 { "field" } else { "fields" });
        writeln!(out, "  {class:width$} | {}", parts.join(", "))?;
    }
    Ok(())
}

fn print_sum(differences: &[Difference<'_>], out: &mut Out) -> Result<()> {
    let count = |is: fn(&Difference<'_>) -> bool| differences.iter().filter(|it| is(it)).count();
    let changed = count(|it| it.old.is_some() && it.new.is_some());
    let (added, removed) = (count(|it| it.old.is_none()), count(|it| it.new.is_none()));
    Ok(writeln!(out, "{changed} changed, {added} added, {removed} removed")?)
}

#[derive(Serialize)]
struct Shown<'d> {
    old: String,
    new: String,
    same: bool,
    objects: Vec<ShownObject<'d>>,
}

#[derive(Serialize)]
struct ShownObject<'d> {
    change: &'static str,
    id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_id: Option<u64>,
    class: &'d str,
    name: Option<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Mapped<'d>>,
    fields: Vec<ShownChange<'d>>,
}

#[derive(Serialize)]
struct ShownChange<'d> {
    path: &'d str,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<Mapped<'d>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<Mapped<'d>>,
}

fn print_json(names: (&Path, &Path), differences: &[Difference<'_>], out: &mut Out) -> Result<()> {
    let shown = |value: Option<&'_ Value>| -> bool { value.is_some() };
    let word = |old: bool, new: bool| match (old, new) {
        (true, true) => "changed",
        (true, false) => "removed",
        _ => "added",
    };
    let objects = differences.iter().filter_map(|difference| {
        let entry = difference.new.or(difference.old)?;
        let is_pair = difference.old.is_some() && difference.new.is_some();
        let old_id = difference.old.map(|old| old.id()).filter(|old| *old != entry.id());
        let field = |change: &'_ Change<'_>| (shown(change.old), shown(change.new));
        let fields = difference.changes.iter().map(|change| {
            let (old, new) = field(change);
            ShownChange {
                path: &change.at,
                change: word(old, new),
                old: change.old.map(Mapped::shown),
                new: change.new.map(Mapped::shown),
            }
        });
        Some(ShownObject {
            change: word(difference.old.is_some(), difference.new.is_some()),
            id: entry.id().get(),
            old_id: old_id.map(persist::ObjectId::get),
            class: entry.class(),
            name: name(entry),
            value: (!is_pair).then(|| Mapped::shown(&entry.value)),
            fields: fields.collect(),
        })
    });
    let objects = objects.collect::<Vec<_>>();
    let (old, new) = (names.0.display().to_string(), names.1.display().to_string());
    out.json(&Shown { old, new, same: objects.is_empty(), objects })
}
