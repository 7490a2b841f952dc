//! `persist repair`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use persist::debug::escape;
use persist::save::{DamagedPart, Header, LostPage, Salvage};
use persist_tools::Document;
use serde::Serialize;

use super::info::write_over;
use super::set::may_change;
use crate::exit::{Failure, Outcome, Result};
use crate::input::Input;
use crate::output::{GOOD, NAME, Out, WARNING, bytes, is_same_file, write_file};

/// Save what is whole of a damaged save; exit code 1 if something is lost
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A save, or `-` for standard input.
    file: PathBuf,
    /// The file to write the whole objects to.
    #[arg(short, long, value_name = "NEW")]
    output: Option<PathBuf>,
    /// Replace that file if it exists; with `--in-place`, repair even if it is write-protected or a journal has unsaved
    /// changes.
    #[arg(long)]
    force: bool,
    /// Replace the damaged save, which is kept as `FILE.damaged`.
    #[arg(long, conflicts_with = "output")]
    in_place: bool,
    /// Put the objects of a world whose parent is lost below a new object `Recovered`, instead of at the top.
    #[arg(long)]
    recovered: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    if args.output.is_none() && !args.in_place {
        return Err(Failure::new(
            "give `-o NEW` for a new file, or `--in-place` to replace the damaged save",
        ));
    }
    let input = Input::read(&args.file)?;
    input.bar().wait();
    let salvaged = match args.recovered {
        true => Document::salvage_under(&input.bytes, "Recovered"),
        false => Document::salvage(&input.bytes),
    };
    let (document, salvage) = salvaged.map_err(|error| {
        input.bar().clear();
        input.failure(error)
    })?;
    let Some(salvage) = salvage else {
        input.bar().clear();
        if out.is_json() {
            let classes = classes(&document);
            let objects = classes.iter().map(|class| class.objects).sum();
            out.json(&Shown { objects, classes, lost: Some(0), ..Shown::default() })?;
        } else {
            writeln!(out, "{} is not damaged; nothing is written", input.name)?;
        }
        return Ok(Outcome::Done);
    };
    if let (Some(new), Some(file)) = (&args.output, &input.path)
        && is_same_file(new, file)
    {
        input.bar().clear();
        let new = new.display();
        return Err(Failure::new(format!(
            "{new} is the save itself; `--in-place` replaces it and keeps the damaged one"
        )));
    }
    let placed = place(&document, &input, args);
    input.bar().clear();
    let damaged_copy = placed?;
    let written = args.output.as_ref().or(input.path.as_ref());
    let written = written.map(|path| path.display().to_string());
    if let Some(written) = &written {
        out.note_done(format!("the repaired save is written to {written}"));
    }
    let backup = input.path.as_deref().and_then(whole_backup);
    let outcome = Outcome::found(
        salvage.lost != Some(0)
            || salvage.lost_header
            || salvage.lost_head
            || !salvage.lost_pages.is_empty()
            || !salvage.damaged_parts.is_empty(),
    );
    if out.is_json() {
        let shown = Shown {
            damaged: true,
            written,
            kept: damaged_copy.map(|path| path.display().to_string()),
            objects: salvage.objects,
            classes: classes(&document),
            lost_roots: has_lost_roots(&document),
            lost: salvage.lost,
            incomplete: salvage.incomplete,
            cut: salvage.cut,
            lost_bytes: salvage.lost_bytes,
            places: salvage.places,
            lost_header: salvage.lost_header,
            lost_head: salvage.lost_head,
            lost_pages: lost_pages(&salvage),
            orphans: salvage.orphans,
            damaged_parts: damaged_parts(&salvage),
            backup: backup.map(|(path, _)| path.display().to_string()),
        };
        out.json(&shown)?;
        return Ok(outcome);
    }
    print(&salvage, &document, args.recovered, out)?;
    if let Some(copy) = damaged_copy {
        writeln!(out, "the damaged save is kept as {}", out.styled(NAME, copy.display()))?;
    }
    if let Some(written) = written {
        writeln!(out, "{} {}", out.styled(GOOD, "written to"), out.styled(NAME, written))?;
    }
    if let Some((backup, generation)) = backup {
        let generation =
            format!("generation {generation}, this one is {}", document.header().generation);
        writeln!(out, "a backup lies beside it: {} ({generation})", backup.display())?;
    }
    Ok(outcome)
}

/// Writes what is whole. Returns the copy of the damaged save, if that was replaced.
fn place(document: &Document, input: &Input, args: &Args) -> Result<Option<PathBuf>> {
    match (&args.output, &input.path) {
        (Some(new), _) => write_over(new, &document.to_vec()?, args.force).map(|()| None),
        (None, Some(file)) => {
            may_change(file, args.force)?;
            // A save makes a backup of the old one, and a damaged one would push out a good one.
            let damaged_copy = keep(file, &input.bytes)?;
            document.save(file)?;
            Ok(Some(damaged_copy))
        }
        (None, None) => Err(Failure::new("standard input has no place; give `-o NEW`")),
    }
}

/// A class, and how many whole objects it has.
#[derive(Serialize)]
struct Class {
    name: String,
    objects: u64,
}

fn classes(document: &Document) -> Vec<Class> {
    let mut counts = BTreeMap::new();
    for entry in document.entries().filter(|entry| !entry.is_kept()) {
        *counts.entry(entry.class()).or_default() += 1;
    }
    let class = |(name, objects): (&str, u64)| Class { name: name.into(), objects };
    counts.into_iter().map(class).collect()
}

/// True if nothing is left of what the program itself added, through which it finds the rest.
fn has_lost_roots(document: &Document) -> bool {
    !document.entries().any(|entry| entry.is_added() && !entry.is_kept())
}

fn print(salvage: &Salvage, document: &Document, is_gathered: bool, out: &mut Out) -> Result<()> {
    let objects =
        |count: u64| if count == 1 { "1 object".into() } else { format!("{count} objects") };
    let places =
        if salvage.places == 1 { "1 place" } else { &*format!("{} places", salvage.places) };
    writeln!(out, "damaged: {} in {places}", bytes(salvage.lost_bytes))?;
    writeln!(out, "whole: {}", objects(salvage.objects))?;
    for Class { name, objects } in classes(document) {
        writeln!(out, "    {objects:>8}  {}", escape::line(&name))?;
    }
    match salvage.lost {
        Some(lost) => writeln!(out, "lost: {}", objects(lost))?,
        None => writeln!(out, "lost: nobody knows how many, the end of the save is damaged")?,
    }
    if salvage.incomplete > 0 {
        let incomplete = objects(salvage.incomplete);
        writeln!(out, "of those, {incomplete} cannot be without a lost one")?;
    }
    if salvage.cut > 0 {
        let count = salvage.cut;
        writeln!(out, "references to lost objects that were taken out: {count}")?;
    }
    for page in &salvage.lost_pages {
        let (record, first) = (page.record, page.first);
        writeln!(
            out,
            "lost in the world of {record}: {} from {first} on",
            objects(page.objects.into())
        )?;
    }
    for part in &salvage.damaged_parts {
        writeln!(out, "damaged are {}", escape::line(&part.to_string()))?;
    }
    if salvage.orphans > 0 {
        let place = if is_gathered { "below a new one" } else { "at the top" };
        let orphans = objects(salvage.orphans);
        writeln!(out, "with a lost parent: {orphans}, now {place}")?;
    }
    if salvage.lost_head {
        let warning = "the head of the world is lost, with its resources";
        writeln!(out, "{}", out.styled(WARNING, warning))?;
    }
    if salvage.lost_header {
        let warning = "the header is lost: the application, the generation and the metadata";
        writeln!(out, "{}", out.styled(WARNING, warning))?;
    }
    if has_lost_roots(document) {
        let warning =
            "all objects that the program added itself are lost; it may find nothing in the save";
        writeln!(out, "{}", out.styled(WARNING, warning))?;
    }
    Ok(())
}

/// Copies a damaged save to a free name beside it, as a load does.
fn keep(file: &Path, bytes: &[u8]) -> Result<PathBuf> {
    for number in 1..u32::MAX {
        let mut name = file.as_os_str().to_owned();
        name.push(if number == 1 { ".damaged".into() } else { format!(".damaged{number}") });
        let path = PathBuf::from(name);
        match std::fs::read(&path) {
            Ok(copy) if copy == bytes => return Ok(path),
            Ok(_) => {}
            Err(_) if path.symlink_metadata().is_ok() => {}
            Err(_) => return write_file(&path, bytes, false).map(|()| path),
        }
    }
    Err(Failure::new("there is no free name for the damaged save"))
}

/// The newest backup, if it is a whole save, and its generation.
fn whole_backup(file: &Path) -> Option<(PathBuf, u64)> {
    let mut name = file.as_os_str().to_owned();
    name.push(".bak");
    let path = PathBuf::from(name);
    let bytes = std::fs::read(&path).ok()?;
    let generation = Header::read(&bytes).ok()?.generation;
    Document::from_slice(&bytes).is_ok().then_some((path, generation))
}

#[derive(Default, Serialize)]
struct Shown {
    damaged: bool,
    written: Option<String>,
    kept: Option<String>,
    objects: u64,
    classes: Vec<Class>,
    lost_roots: bool,
    lost: Option<u64>,
    incomplete: u64,
    cut: u64,
    lost_bytes: u64,
    places: usize,
    lost_header: bool,
    lost_head: bool,
    lost_pages: Vec<Page>,
    orphans: u64,
    damaged_parts: Vec<Part>,
    backup: Option<String>,
}

/// A damaged part of a lost object: the first of its damaged bytes, their number, and the fields, if they are known. If
/// it is zeroed, the object was rescued with zeros there.
#[derive(Serialize)]
struct Part {
    object: u64,
    class: String,
    first: u64,
    bytes: u64,
    fields: Option<String>,
    zeroed: bool,
}

fn damaged_parts(salvage: &Salvage) -> Vec<Part> {
    let part = |part: &DamagedPart| Part {
        object: part.record.get(),
        class: part.class.clone(),
        first: part.bytes.start,
        bytes: part.bytes.end - part.bytes.start,
        fields: Some(part.fields.clone()).filter(|fields| !fields.is_empty()),
        zeroed: part.is_zeroed,
    };
    salvage.damaged_parts.iter().map(part).collect()
}

/// A lost page of a world: the object that the world is in, the first of its objects, and their number.
#[derive(Serialize)]
struct Page {
    object: u64,
    first: u64,
    objects: u32,
}

fn lost_pages(salvage: &Salvage) -> Vec<Page> {
    let page = |page: &LostPage| Page {
        object: page.record.get(),
        first: page.first.get(),
        objects: page.objects,
    };
    salvage.lost_pages.iter().map(page).collect()
}
