//! `persist report`.

use std::hash::RandomState;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use persist_tools::usage;

use crate::compare::By;
use crate::exit::{Failure, Outcome, Result};
use crate::input::{Damage, Source};
use crate::output::{Out, is_same_file, note, refuse_present, write_file};
use crate::report::{Report, Timeline, WholeSave};

/// Write a page that shows a save, for a browser.
///
/// The page is one file, which works without a network. It shows where the bytes go, the graph of objects, tables of
/// their fields, what differs from another save, and what a journal has. Of a large save it shows some objects of each
/// class, and says so; its counts are those of all.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A save, or `-` for standard input.
    file: PathBuf,

    /// The file to write the page to; standard output by default.
    #[arg(short, long, value_name = "PAGE", conflicts_with = "json")]
    output: Option<PathBuf>,

    /// Replace that page if it exists.
    #[arg(long, requires = "output")]
    force: bool,

    /// Another save, to show what differs in it.
    #[arg(long, value_name = "OTHER")]
    diff: Option<PathBuf>,

    /// How objects are paired: by id, or by name (their class and their field `name`).
    #[arg(long, value_enum, default_value = "id", requires = "diff")]
    by: By,

    /// Show the objects in which a text, a key, a name or a number is, like `persist find`.
    #[arg(long, value_name = "TEXT", allow_negative_numbers = true)]
    find: Option<String>,

    /// Show all objects, however large the page becomes.
    #[arg(long)]
    all: bool,

    /// A journal, to show as a timeline.
    #[arg(long)]
    journal: Option<PathBuf>,

    #[command(flatten)]
    damage: Damage,
}

const EXAMPLES: &str = "\
Examples:
  persist report autumn.sav -o autumn.html
  persist report autumn.sav -o autumn.html --find sword     the objects with `sword`, however large the save is
  persist report monday.sav -o week.html --diff tuesday.sav";

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let output = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let inputs = [Some(&args.file), args.diff.as_ref(), args.journal.as_ref()];
    if let Some(page) = output
        && inputs.into_iter().flatten().any(|input| is_same_file(input, page))
    {
        let page = page.display();
        return Err(Failure::new(format!(
            "{page} is what the page is made of; use another name for the page"
        )));
    }
    // The page of a large save takes long.
    output.map_or(Ok(()), |page| refuse_present(page, args.force))?;
    if output.is_none() && !out.is_json() && io::stdout().is_terminal() {
        return Err(Failure::new("a page is nothing for a terminal; give `-o PAGE`"));
    }
    let mut sources = vec![Source::open(&args.file)?];
    sources.extend(args.diff.as_deref().map(Source::open).transpose()?);
    let mut read = Outcome::Done;
    let mut usages = Vec::new();
    for source in &mut sources {
        read = read.and(source.save(&args.damage)?.1);
        let found = source.read(|stream, limits| usage(stream, limits));
        usages.push(found.map_err(|error| source.failure(error))?.whole);
    }
    let journal = args.journal.as_deref();
    let journal = journal.map(|path| Timeline::read(path, &sources[0].bytes()?)).transpose()?;
    let hasher = RandomState::new();
    let saves = sources.iter_mut().zip(usages);
    let saves = saves.map(|(source, usage)| WholeSave::of(source, usage, &hasher));
    let mut saves = saves.collect::<Result<Vec<_>>>()?;
    if let Some(text) = &args.find {
        saves[0].find(text)?;
    }
    let (report, page) = Report::of(&mut saves, args.by, journal, args.all, &hasher)?;
    if out.is_json() {
        out.json_line(&report)?;
        return Ok(read);
    }
    match output {
        Some(path) => {
            write_file(path, page.as_bytes(), args.force)?;
            note(format!("wrote {}, {}", path.display(), crate::output::bytes(page.len() as u64)));
        }
        None => out.write_all(page.as_bytes())?,
    }
    Ok(read)
}
