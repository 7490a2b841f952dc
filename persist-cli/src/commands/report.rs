//! `persist report`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::compare::By;
use crate::exit::{Failure, Outcome, Result};
use crate::input::Input;
use crate::output::{Out, note};
use crate::report::{Report, Timeline, page};

/// Write a page that shows all of a save, for a browser.
///
/// The page is one file, which works without a network. It shows where the bytes go, the graph of objects, tables of
/// their fields, what differs from another save, and what a journal has.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A save, or `-` for standard input.
    file: PathBuf,

    /// Where to write the page; to standard output by default.
    #[arg(short, long, value_name = "PAGE")]
    output: Option<PathBuf>,

    /// Another save, to show what differs in it.
    #[arg(long, value_name = "OTHER")]
    diff: Option<PathBuf>,

    /// Which objects of the two saves are the same: those with one id, or those of a class with one name.
    #[arg(long, value_enum, default_value = "id", requires = "diff")]
    by: By,

    /// A journal, to show as a timeline.
    #[arg(long)]
    journal: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let save = Input::read(&args.file)?;
    let other = args.diff.as_deref().map(Input::read).transpose()?;
    let journal = args.journal.as_deref();
    let journal = journal.map(|path| Timeline::read(path, &save.bytes)).transpose()?;
    let report = Report::of(&save, other.as_ref().map(|other| (other, args.by)), journal)?;
    if out.is_json() {
        out.json_line(&report)?;
        return Ok(Outcome::Done);
    }
    let page = page(report)?;
    match args.output.as_deref().filter(|path| *path != Path::new("-")) {
        Some(path) => {
            fs::write(path, &page).map_err(|error| {
                Failure::new(format!("cannot write {}: {error}", path.display()))
            })?;
            note(format!("wrote {}, {}", path.display(), crate::output::bytes(page.len() as u64)));
        }
        None => out.write_all(page.as_bytes())?,
    }
    Ok(Outcome::Done)
}
