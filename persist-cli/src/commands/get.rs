//! `persist get`.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use persist::Value;
use persist_tools::{Document, Entry};
use serde::ser::{Error as _, SerializeSeq};
use serde::{Serialize, Serializer};

use super::dump::{EXAMPLES, Match};
use crate::exit::{Outcome, Result};
use crate::found::Found;
use crate::input::{Damage, Input};
use crate::output::{NAME, Out, note};
use crate::path::Path;

/// Show one value, or one of each object
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A save, or `-` for standard input.
    file: PathBuf,
    /// The path of the values to show.
    path: String,
    /// Print texts without quotes and escapes.
    #[arg(short, long)]
    raw: bool,
    #[command(flatten)]
    damage: Damage,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Outcome> {
    let (save, read) = Input::read(&args.file)?.open(&args.damage)?;
    let path = Path::parse(&args.path, &save)?;
    let matches = Matches { path: &path, save: &save, is_found: Cell::new(false) };
    if out.is_json() {
        out.json(&matches)?;
    } else {
        matches.print(args.raw, out)?;
    }
    let is_found = matches.is_found.get();
    if !is_found {
        note(path.missing(&args.path, &save));
    }
    Ok(Outcome::found(!is_found).and(read))
}

/// The values that a path leads to. They may be too many to hold all in memory.
struct Matches<'d> {
    path: &'d Path,
    save: &'d Document,
    /// Whether a value was found while printing.
    is_found: Cell<bool>,
}

impl<'d> Matches<'d> {
    /// Calls `visit` with each value until one fails.
    fn each<E>(&self, mut visit: impl FnMut(Found<'d>) -> Result<(), E>) -> Result<Result<(), E>> {
        let mut result = Ok(());
        self.path.each(self.save, |found| {
            self.is_found.set(true);
            result = visit(found);
            result.is_ok()
        })?;
        Ok(result)
    }

    fn print(&self, is_raw: bool, out: &mut Out) -> Result<()> {
        // A single value is printed without its path, and on several lines.
        let mut first = None;
        let mut is_single = true;
        self.each(|found| {
            if is_single && first.is_none() {
                first = Some(found);
                return Ok(());
            }
            is_single = false;
            if let Some(first) = first.take() {
                print(&first, is_raw, false, out)?;
            }
            print(&found, is_raw, false, out)
        })??;
        first.map_or(Ok(()), |found| print(&found, is_raw, true, out))
    }
}

impl Serialize for Matches<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let entries: Vec<&Entry> = self.save.entries().collect();
        let mut list = to.serialize_seq(None)?;
        let done = self
            .each(|found| list.serialize_element(&Match::of(&found, entries[found.entry], false)));
        done.map_err(S::Error::custom)??;
        list.end()
    }
}

fn print(found: &Found<'_>, is_raw: bool, is_single: bool, out: &mut Out) -> Result<()> {
    if !is_single && !is_raw {
        write!(out, "{} = ", out.styled(NAME, &found.label))?;
    }
    match &*found.value {
        // A program gets the text as it is. For a terminal, control characters are escaped.
        Value::Text(text) if is_raw && !io::stdout().is_terminal() => {
            out.write_all(text.as_bytes())?;
            writeln!(out)?;
        }
        Value::Text(text) if is_raw => writeln!(out, "{text}")?,
        value if is_single => writeln!(out, "{value:#}")?,
        value => writeln!(out, "{value}")?,
    }
    Ok(())
}
