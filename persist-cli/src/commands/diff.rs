//! `persist diff`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use persist::Value;
use persist::debug::escape;
use serde::Serialize;

use crate::compare::{By, Change, Difference, compare, name};
use crate::exit::{Failure, Outcome, Result};
use crate::input::{Damage, Save, Source};
use crate::kinds::check_field;
use crate::mapped::Mapped;
use crate::output::{BAD, GOOD, HEADING, NAME, Out, WARNING};
use crate::path::push_name;
use crate::shown::short;
use crate::streamed::{ElementSink, Elements, Streamed};

/// Compare two saves, by object and field; exit code 1 if they differ
#[derive(clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{GIT}"))]
pub(crate) struct Args {
    /// The old save and the new one; one of them may be `-`.
    #[arg(required = true, num_args = 2..=9, value_names = ["OLD", "NEW"])]
    files: Vec<PathBuf>,
    /// How objects are paired: by id, or by name (their class and their field `name`).
    #[arg(long, value_enum, default_value_t)]
    by: By,
    /// Show only what changed in fields and keys of maps with this name, of objects that both saves have.
    #[arg(long, value_name = "NAME")]
    field: Option<String>,
    /// Show only how many objects and fields of each class differ.
    #[arg(long)]
    stat: bool,
    /// Take the arguments of git for a diff driver, and exit with 0.
    #[arg(long)]
    git: bool,
    #[command(flatten)]
    damage: Damage,
}

const EXAMPLES: &str = "\
Examples:
  persist diff autumn.sav.bak autumn.sav                since the last backup
  persist diff autumn.sav.bak autumn.sav --field gold   in fields and keys named `gold`";

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
    let (mut old, mut new) = (read(old)?, read(new)?);
    let ((mut old, old_read), (mut new, new_read)) =
        (old.save(&args.damage)?, new.save(&args.damage)?);
    let mut hops = Vec::new();
    if let Some(name) = &args.field {
        check_field(name, &mut [&mut old, &mut new])?;
        let mut field = String::new();
        push_name(&mut field, name);
        // The keys of maps are texts or variants.
        hops.extend([field, format!("[{}]", Value::from(name.as_str())), format!("::{name}]")]);
    }
    let differences = Differences { old: &mut old, new: &mut new, by: args.by, hops };
    let names = (old_name, new_name);
    let is_different = if out.is_json() {
        print_json(names, differences, out)?
    } else {
        print_all(names, differences, args.stat, out)?
    };
    Ok(Outcome::found(is_different && !args.git).and(old_read).and(new_read))
}

/// Reads the save of a file. For the empty device that git passes where there is no file, it is a save of nothing.
fn read(path: &Path) -> Result<Source> {
    let source = Source::open(path)?;
    if source.size == 0 && (path == Path::new("/dev/null") || path == Path::new("nul")) {
        let nothing = persist::SaveManager::new().allow_empty().to_vec()?;
        return Ok(source.with_bytes(nothing));
    }
    Ok(source)
}

/// The differences of two saves.
struct Differences<'d, 's> {
    old: &'d mut Save<'s>,
    new: &'d mut Save<'s>,
    by: By,
    /// The steps to the fields that are shown, as `.gold` and `["gold"]`; empty for all.
    hops: Vec<String>,
}

impl Differences<'_, '_> {
    fn visit(&mut self, visit: &mut dyn FnMut(Difference<'_>) -> Result<bool>) -> Result<()> {
        if self.hops.is_empty() {
            return compare((self.old, self.new), self.by, visit);
        }
        let hops = &self.hops;
        compare((self.old, self.new), self.by, &mut |mut difference| {
            let is_shown =
                |change: &Change<'_>| hops.iter().any(|hop| is_in_field(&change.at, hop));
            difference.changes.retain(is_shown);
            if difference.changes.is_empty() { Ok(true) } else { visit(difference) }
        })
    }
}

/// Returns whether a path leads to a field or into it.
fn is_in_field(path: &str, field: &str) -> bool {
    path.match_indices(field).any(|(at, _)| {
        let rest = &path[at + field.len()..];
        rest.is_empty() || rest.starts_with(['.', '[', ':', '/'])
    })
}

impl Elements for Differences<'_, '_> {
    fn each(&mut self, to: &mut impl ElementSink) -> Result<()> {
        self.visit(&mut |difference| match ShownObject::of(&difference) {
            Some(object) => Ok(to.put(&object)),
            None => Ok(true),
        })
    }
}

/// Prints the differences as they are found, and returns whether there is one.
fn print_all(
    (old, new): (&Path, &Path),
    mut differences: Differences<'_, '_>,
    is_stat: bool,
    out: &mut Out,
) -> Result<bool> {
    let (mut stat, mut sum) = (BTreeMap::new(), Count::default());
    let mut is_different = false;
    differences.visit(&mut |difference| {
        if !std::mem::replace(&mut is_different, true) {
            writeln!(out, "{}", out.styled(HEADING, format_args!("--- {}", old.display())))?;
            writeln!(out, "{}", out.styled(HEADING, format_args!("+++ {}", new.display())))?;
        }
        sum.add(&difference);
        if is_stat {
            count(&difference, &mut stat);
        } else {
            print(&difference, out)?;
        }
        Ok(true)
    })?;
    if is_different {
        print_stat(&stat, out)?;
        let Count { changed, added, removed, .. } = sum;
        writeln!(out, "{changed} changed, {added} added, {removed} removed")?;
    }
    Ok(is_different)
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
    match (change.old.as_deref(), change.new.as_deref()) {
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

impl Count {
    fn add(&mut self, difference: &Difference<'_>) {
        match (difference.old, difference.new) {
            (Some(_), Some(_)) => self.changed += 1,
            (Some(_), None) => self.removed += 1,
            _ => self.added += 1,
        }
    }
}

/// Counts a difference by class; components of worlds count by their own.
fn count(difference: &Difference<'_>, counts: &mut BTreeMap<String, Count>) {
    let Some(entry) = difference.new.or(difference.old) else { return };
    counts.entry(entry.class().to_owned()).or_default().add(difference);
    for change in &difference.changes {
        let class = change.component.as_deref().unwrap_or_else(|| entry.class());
        counts.entry(class.to_owned()).or_default().fields += 1;
    }
}

fn print_stat(counts: &BTreeMap<String, Count>, out: &mut Out) -> Result<()> {
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

#[derive(Serialize)]
struct Shown<'d, 's> {
    old: String,
    new: String,
    same: bool,
    objects: Streamed<Differences<'d, 's>>,
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

impl<'d> ShownObject<'d> {
    fn of(difference: &'d Difference<'_>) -> Option<Self> {
        let word = |old: bool, new: bool| match (old, new) {
            (true, true) => "changed",
            (true, false) => "removed",
            _ => "added",
        };
        let entry = difference.new.or(difference.old)?;
        let is_pair = difference.old.is_some() && difference.new.is_some();
        let old_id = difference.old.map(|old| old.id()).filter(|old| *old != entry.id());
        let fields = difference.changes.iter().map(|change| ShownChange {
            path: &change.at,
            change: word(change.old.is_some(), change.new.is_some()),
            old: change.old.as_deref().map(Mapped::shown),
            new: change.new.as_deref().map(Mapped::shown),
        });
        Some(Self {
            change: word(difference.old.is_some(), difference.new.is_some()),
            id: entry.id().get(),
            old_id: old_id.map(persist::ObjectId::get),
            class: entry.class(),
            name: name(entry),
            value: (!is_pair).then(|| Mapped::shown(&entry.value)),
            fields: fields.collect(),
        })
    }
}

/// Prints the differences as they are found, and returns whether there is one.
fn print_json(
    (old, new): (&Path, &Path),
    mut differences: Differences<'_, '_>,
    out: &mut Out,
) -> Result<bool> {
    // Whether there is one stands before the first one.
    let mut is_different = false;
    differences.visit(&mut |_| {
        is_different = true;
        Ok(false)
    })?;
    let (old, new) = (old.display().to_string(), new.display().to_string());
    let objects = Streamed::new(differences);
    let shown = Shown { old, new, same: !is_different, objects };
    shown.objects.result(out.json(&shown))?;
    Ok(is_different)
}
