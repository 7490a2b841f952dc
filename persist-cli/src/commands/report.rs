//! `persist report`.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::compare::By;
use crate::exit::{Failure, Outcome, Result};
use crate::input::{Damage, Input};
use crate::output::{Out, is_same_file, note, write_file};
use crate::report::{Report, Timeline, page};

/// Write a page that shows all of a save, for a browser.
///
/// The page is one file, which works without a network. It shows where the bytes go, the graph of objects, tables of
/// their fields, what differs from another save, and what a journal has.
#[derive(clap::Args)]
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

    /// A journal, to show as a timeline.
    #[arg(long)]
    journal: Option<PathBuf>,

    #[command(flatten)]
    damage: Damage,
}

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
    if output.is_none() && !out.is_json() && io::stdout().is_terminal() {
        return Err(Failure::new("a page is nothing for a terminal; give `-o PAGE`"));
    }
    let (save, read) = Input::read(&args.file)?.salvaged(&args.damage)?;
    let other = args.diff.as_deref().map(|path| Input::read(path)?.salvaged(&args.damage));
    let (other, other_read) = other.transpose()?.unzip();
    let read = read.and(other_read.unwrap_or(Outcome::Done));
    let journal = args.journal.as_deref();
    let journal = journal.map(|path| Timeline::read(path, &save.bytes)).transpose()?;
    let report = Report::of(&save, other.as_ref().map(|other| (other, args.by)), journal)?;
    if out.is_json() {
        out.json_line(&report)?;
        return Ok(read);
    }
    let page = page(report)?;
    match output {
        Some(path) => {
            write_file(path, page.as_bytes(), args.force)?;
            note(format!("wrote {}, {}", path.display(), crate::output::bytes(page.len() as u64)));
        }
        None => out.write_all(page.as_bytes())?,
    }
    Ok(read)
}
