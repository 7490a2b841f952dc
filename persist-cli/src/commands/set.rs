//! `persist set`.

use std::collections::{BTreeMap, HashMap, btree_map};
use std::io::Write;
use std::path::PathBuf;

use persist::{ObjectId, Value};
use persist_tools::__private::{ChangedWorld, EncodedValue, Position, write_file};
use persist_tools::Entry;
use serde::Serialize;

use super::diff::print_change;
use super::dump::EXAMPLES;
use super::info::keep_unsaved;
use crate::compare;
use crate::exit::{Failure, Outcome, Result};
use crate::found::each_world;
use crate::input::{Bar, Save, Source};
use crate::mapped::Mapped;
use crate::misfit;
use crate::output::{NAME, Out};
use crate::paged::{self, OBJECTS, PAGES, PagedWorld};
use crate::path::Path;
use crate::shown::short;
use crate::values::{Hop, part, replace, typed, with_entry};
use crate::world;

/// Change a value; the old save stays as a backup
#[derive(clap::Args)]
#[command(after_help = format!("{SET_EXAMPLES}\n\n{EXAMPLES}"))]
pub(crate) struct Args {
    /// A save.
    file: PathBuf,
    /// The path of the value to change.
    path: String,
    /// The new value, as `dump` shows it; numbers need no types, texts no quotes.
    #[arg(allow_hyphen_values = true)]
    value: String,
    /// Change all values that the path leads to, and say how many.
    #[arg(long)]
    all: bool,
    /// Show what would change, and write nothing.
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Change the save even if it is write-protected, or a journal beside it has unsaved changes, which are lost then.
    #[arg(long)]
    force: bool,
}

const SET_EXAMPLES: &str = "\
Examples:
  persist set autumn.sav 'Hero[0].gold' 500
  persist set autumn.sav 'Item[name == \"sword\"].damage' 9 --all --dry-run
  persist set town.sav '/**:Health[current < 5].current' 5 --all
  persist set town.sav '/Shop:Prices.of[pears]' 3         a new key of a map
  persist set town.sav '/Cat:Mood' 'Mood::Angry { since: 3 }'";

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let mut source = open(&args.file)?;
    let bar = source.bar().clone();
    let mut save = source.whole()?;
    if !args.dry_run {
        may_change(&args.file, args.force)?;
    }
    let path = Path::parse(&args.path, &mut save)?;
    let (targets, count) = targets(&path, &mut save, args.all)?;
    let changes = if count == 0 {
        new_entries(&path, args, &mut save)?
    } else {
        refuse_several(
            &targets,
            count,
            &args.path,
            args.all,
            "say which, or change all by `--all`",
        )?;
        let change = |target: Target| {
            let new = typed(&args.value, &target.value);
            let new = new.map_err(|what| misfit::explained(what, &target.value, &save))?;
            Ok(Change { target, new })
        };
        targets.into_iter().map(change).collect::<Result<Vec<_>>>()?
    };
    let file = (!args.dry_run).then_some(&*args.file);
    let changed = write_changes(changes, &mut save, file, &bar, out)?;
    if args.all && changed > 0 && !out.is_json() {
        let would = if args.dry_run { "would change" } else { "changed" };
        let values = if changed == 1 { "value" } else { "values" };
        writeln!(out, "{changed} {values} {would}")?;
    }
    Ok(Outcome::Done)
}

/// Returns the changes that put a new key into the maps to which a path with the key leads.
fn new_entries(path: &Path, args: &Args, save: &mut Save<'_>) -> Result<Vec<Change>> {
    let Some((maps, key)) = path.of_key() else {
        return Err(Failure::new(path.missing(&args.path, save)));
    };
    let (mut targets, _) = targets(&maps, save, args.all)?;
    targets.iter_mut().for_each(Target::pass_options);
    let list = targets.iter().find_map(|target| match &target.value {
        Value::Seq(values) => Some((target.label.clone(), values.len())),
        _ => None,
    });
    targets.retain(|target| matches!(target.value, Value::Map(_)));
    if targets.is_empty() {
        let missing = path.missing(&args.path, save);
        return Err(Failure::new(match list {
            Some((label, 1)) => {
                format!("{missing}; {label} has 1 element: to append, set the whole list")
            }
            Some((label, length)) => {
                format!("{missing}; {label} has {length} elements: to append, set the whole list")
            }
            None => missing,
        }));
    }
    let count = targets.len() as u64;
    refuse_several(&targets, count, &args.path, args.all, "say which, or add to all by `--all`")?;
    let change = |target: Target| {
        let new = with_entry(&target.value, key, &args.value);
        let new = new.map_err(|what| misfit::explained(what, &target.value, save))?;
        Ok(Change { target, new })
    };
    targets.into_iter().map(change).collect()
}

/// Opens a save to change it.
pub(super) fn open(file: &std::path::Path) -> Result<Source> {
    let source = Source::open(file)?;
    // A change reads the save again to write it.
    source.bar().until(500);
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

impl Target {
    /// Follows options to their value.
    fn pass_options(&mut self) {
        while let Value::Option(Some(inner)) = &mut self.value {
            self.value = std::mem::replace(inner, Value::Unit);
            self.hops.push(Hop::Some);
        }
    }
}

/// Finds the one value that a path leads to.
pub(super) fn find(save: &mut Save<'_>, text: &str) -> Result<Target> {
    let path = Path::parse(text, save)?;
    let (mut targets, count) = targets(&path, save, false)?;
    refuse_several(&targets, count, text, false, "say which")?;
    targets.pop().ok_or_else(|| Failure::new(path.missing(text, save)))
}

/// Returns the values that a path leads to, or two of them if there may be one only, and how many there are.
fn targets(path: &Path, save: &mut Save<'_>, may_be_more: bool) -> Result<(Vec<Target>, u64)> {
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
    Ok((targets, count))
}

/// Returns an error if a path leads to several values and may not, with what to do then.
fn refuse_several(
    targets: &[Target],
    count: u64,
    text: &str,
    may_be_more: bool,
    advice: &str,
) -> Result<()> {
    match targets {
        [first, second, ..] if !may_be_more => Err(Failure::new(format!(
            "{text} leads to {count} values, the first of them {} and {}; {advice}",
            first.label, second.label,
        ))),
        _ => Ok(()),
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

    /// Puts the new value into a value, at the end of some hops.
    fn make(&self, value: &mut Value, hops: &[Hop]) -> Result<()> {
        if replace(value, hops, self.new.clone()) {
            return Ok(());
        }
        let (label, new) = (&self.target.label, short(&self.new));
        Err(Failure::new(format!("{new} cannot be at {label}")))
    }
}

/// An object with changes.
struct EncodedObject {
    value: EncodedValue,
    /// The new value of each change.
    values: Vec<Option<Value>>,
}

/// Makes changes in an object.
fn encode_whole(
    mut entry: Entry,
    changes: &[&mut Change],
    save: &Save<'_>,
) -> Result<EncodedObject> {
    for change in changes {
        change.make(&mut entry.value, &change.target.hops)?;
    }
    world::close_gaps(&mut entry.value);
    let id = entry.id();
    let (value, new) = save.encode(entry)?;
    world::check(&new, id)?;
    let values = changes.iter().map(|change| part(&new, &change.target.hops).cloned());
    let values = values.collect();
    Ok(EncodedObject { value, values })
}

/// Makes changes in the pages of worlds, if the objects of each world are in pages before and after the changes, and
/// programs load the changed worlds.
fn encode_pages(
    position: Position,
    changes: &[&mut Change],
    save: &mut Save<'_>,
) -> Result<Option<EncodedObject>> {
    let Some(mut head) = save.head_entry_at(position)? else { return Ok(None) };
    let id = head.id();
    if head.is_kept() || !save.has_pages(id) {
        return Ok(None);
    }
    // The worlds with the hops that lead to them, and their changes.
    let (mut read, mut worlds) = (Vec::<(&[Hop], PagedWorld)>::new(), Vec::new());
    // The world of each change in a page, the place of its object, and the hops from there on.
    let mut in_pages = Vec::new();
    for change in changes {
        let hops = &*change.target.hops;
        let mut number = read.iter().position(|(fields, _)| hops.starts_with(fields));
        // There may be millions of changes in a world, so it is found once.
        if number.is_none()
            && let Some((at, world)) = PagedWorld::on_way(&head.value, hops, id, save)
        {
            number = Some(worlds.len());
            let fields = hops[..at].iter().filter_map(Hop::in_message).collect();
            let (index, objects) = (world.index.clone(), BTreeMap::new());
            worlds.push(ChangedWorld { fields, index, objects });
            read.push((&hops[..at], world));
        }
        let in_world = number.map(|number| (number, &hops[read[number].0.len()..]));
        let (number, place, rest) = match in_world {
            // Another parent or index gives siblings in any page other indices.
            Some((number, [Hop::Field(field), Hop::Item(place), rest @ ..]))
                if **field == *OBJECTS
                    && rest.first().is_some_and(|hop| *hop != Hop::Field("parent".into())) =>
            {
                (number, *place, rest)
            }
            Some((_, [Hop::Field(field), ..])) if [OBJECTS, PAGES].contains(&&**field) => {
                return Ok(None);
            }
            _ => {
                if part(&head.value, hops).is_some_and(|value| paged::has_pages(value, save)) {
                    return Ok(None);
                }
                change.make(&mut head.value, hops)?;
                in_pages.push(None);
                continue;
            }
        };
        let object = match worlds[number].objects.entry(place) {
            btree_map::Entry::Occupied(object) => object.into_mut(),
            btree_map::Entry::Vacant(new) => match read[number].1.page(place, save)? {
                Some((page, at)) => new.insert(page[at].clone()),
                None => return Ok(None),
            },
        };
        change.make(object, rest)?;
        in_pages.push(Some((number, place, rest)));
    }
    let Some((value, new)) = save.encode_pages(head, &mut worlds)? else { return Ok(None) };
    if !paged::is_sound(&new, id, &worlds, save)? {
        return Ok(None);
    }
    let values = changes.iter().zip(in_pages).map(|(change, in_page)| match in_page {
        Some((world, place, rest)) => part(worlds[world].objects.get(&place)?, rest).cloned(),
        None => part(&new, &change.target.hops).cloned(),
    });
    let values = values.collect();
    Ok(Some(EncodedObject { value, values }))
}

#[derive(Serialize)]
struct ShownChange<'c> {
    path: &'c str,
    old: Mapped<'c>,
    new: Mapped<'c>,
}

/// Makes changes, writes the save if it goes to a file, and prints what has changed. Returns the number of changed
/// values.
pub(super) fn write_changes(
    mut changes: Vec<Change>,
    save: &mut Save<'_>,
    file: Option<&std::path::Path>,
    bar: &Bar,
    out: &mut Out,
) -> Result<usize> {
    for change in &changes {
        misfit::check(&change.target.label, &change.target.value, &change.new, save)?;
    }
    changes.retain(|change| !change.is_none());
    // In the order of the save.
    let mut by_object: BTreeMap<Position, Vec<&mut Change>> = BTreeMap::new();
    for change in &mut changes {
        by_object.entry(change.target.position).or_default().push(change);
    }
    // If a changed object is wrong, the file stays as it is.
    let mut written = HashMap::new();
    for (position, changes) in by_object {
        let encoded = match encode_pages(position, &changes, save)? {
            Some(encoded) => encoded,
            None => {
                let Some(entry) = save.entry_at(position)? else { continue };
                encode_whole(entry, &changes, save)?
            }
        };
        for (change, new) in changes.into_iter().zip(encoded.values) {
            // The typed values now have the kinds of the save.
            if let Some(new) = new {
                change.new = new;
            }
        }
        written.insert(position, encoded.value);
    }
    each_world(save, &|position| written.contains_key(&position), &mut |found, save| {
        let id = found.object.id();
        if !paged::is_sound(&found.value, id, &[], save)?
            && let Some(whole) = save.entry_at(found.position)?
        {
            world::check(&whole.value, id)?;
        }
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
        return Ok(changes.len());
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
    Ok(changes.len())
}
